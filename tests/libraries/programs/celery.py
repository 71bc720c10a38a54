"""Celery's result backend in a database: a worker stores results, and another process reads them."""

from __future__ import annotations

import pytest
from celery import Celery, states
from celery.contrib.testing.worker import start_worker


@pytest.fixture
def app(url):
    app = Celery("shop", broker="memory://", backend=f"db+{url}")
    app.conf.update(result_extended=True, database_create_tables_at_setup=True)

    @app.task(name="shop.total")
    def total(*prices):
        return {"total": sum(prices), "currency": "€"}

    @app.task(name="shop.refuse")
    def refuse():
        raise ValueError("out of stock")

    with start_worker(app, perform_ping_check=False, pool="solo"):
        yield app


def test_results_and_errors_are_stored_and_forgotten(app):
    good = app.tasks["shop.total"].delay(1, 2, 3)
    bad = app.tasks["shop.refuse"].delay()
    assert good.get(timeout=30) == {"total": 6, "currency": "€"}
    with pytest.raises(ValueError, match="out of stock"):
        bad.get(timeout=30)
    fresh = app.AsyncResult(good.id)
    assert (fresh.state, fresh.name, fresh.args) == (states.SUCCESS, "shop.total", [1, 2, 3])
    assert fresh.date_done is not None
    assert app.AsyncResult(bad.id).state == states.FAILURE
    good.forget()
    assert app.AsyncResult(good.id).state == states.PENDING


def test_a_group_is_saved_and_restored(app):
    from celery import group

    result = group(app.tasks["shop.total"].s(n) for n in range(3)).apply_async()
    result.save()
    assert [each["total"] for each in result.get(timeout=30)] == [0, 1, 2]
    restored = app.GroupResult.restore(result.id)
    assert restored.successful()
    app.backend.cleanup()
    restored.delete()
    assert app.GroupResult.restore(result.id) is None
