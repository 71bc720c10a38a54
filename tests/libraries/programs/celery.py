"""Celery's result backend: a worker in this process stores results in the database, and its clients read them."""

from __future__ import annotations

import datetime as dt

import pytest
import sqlalchemy as sa
from celery import Celery, chain, group, states
from celery.contrib.testing.worker import start_worker
from page import run_example
from suite_plugin import URL


@pytest.fixture(scope="module")
def app():
    app = Celery("shop", broker="memory://", backend=f"db+{URL}", set_as_current=False)
    app.conf.update(
        task_default_queue="tests",
        result_extended=True,
        result_expires=dt.timedelta(days=1),
        task_track_started=True,
    )

    @app.task(name="shop.total")
    def total(*prices):
        return {"total": sum(prices), "currency": "€"}

    @app.task(name="shop.tax")
    def tax(bill):
        return bill["total"] * 2

    @app.task(name="shop.refuse")
    def refuse():
        raise ValueError("out of stock")

    @app.task(name="shop.report", bind=True)
    def report(self):
        self.update_state(state="PROGRESS", meta={"done": 40})
        return app.AsyncResult(self.request.id).info

    @app.task(name="shop.retry", bind=True, max_retries=2)
    def retry(self):
        if self.request.retries < 2:
            raise self.retry(countdown=0)
        return self.request.retries

    with start_worker(app, perform_ping_check=False, pool="solo"):
        yield app


def test_results_are_stored_with_their_arguments(app):
    result = app.tasks["shop.total"].delay(1, 2, 3)
    assert result.get(timeout=30) == {"total": 6, "currency": "€"}
    fresh = app.AsyncResult(result.id)
    assert (fresh.state, fresh.name, fresh.args) == (states.SUCCESS, "shop.total", [1, 2, 3])
    assert abs(dt.datetime.now(dt.UTC).replace(tzinfo=None) - fresh.date_done) < dt.timedelta(minutes=5)
    fresh.forget()
    assert app.AsyncResult(result.id).state == states.PENDING


def test_an_error_is_stored_with_its_traceback(app):
    result = app.tasks["shop.refuse"].delay()
    with pytest.raises(ValueError, match="out of stock"):
        result.get(timeout=30)
    fresh = app.AsyncResult(result.id)
    assert fresh.state == states.FAILURE
    assert 'raise ValueError("out of stock")' in fresh.traceback


def test_states_of_a_running_task_are_read(app):
    assert app.tasks["shop.report"].delay().get(timeout=30) == {"done": 40}


def test_a_task_that_is_retried_succeeds(app):
    result = app.tasks["shop.retry"].delay()
    assert result.get(timeout=30) == 2
    assert app.AsyncResult(result.id).retries == 2


def test_a_chain_passes_results_on(app):
    result = chain(app.tasks["shop.total"].s(1, 2), app.tasks["shop.tax"].s()).apply_async()
    assert result.get(timeout=30) == 6
    assert result.parent.get(timeout=30)["total"] == 3


def test_a_group_is_saved_and_restored(app):
    result = group(app.tasks["shop.total"].s(n) for n in range(3)).apply_async()
    result.save()
    assert [each["total"] for each in result.get(timeout=30)] == [0, 1, 2]
    restored = app.GroupResult.restore(result.id)
    assert restored.successful()
    restored.delete()
    assert app.GroupResult.restore(result.id) is None


def test_a_large_result_is_stored_whole(app):
    result = app.tasks["shop.total"].delay(*range(20_000))
    assert result.get(timeout=30)["total"] == 199_990_000
    assert app.AsyncResult(result.id).args == [*range(20_000)]


def test_cleanup_deletes_what_has_expired(app, engine):
    old, new = app.tasks["shop.total"].delay(1), app.tasks["shop.total"].delay(2)
    assert [old.get(timeout=30)["total"], new.get(timeout=30)["total"]] == [1, 2]
    meta = sa.Table("celery_taskmeta", sa.MetaData(), autoload_with=engine)
    yesterday = dt.datetime.now(dt.UTC) - dt.timedelta(days=1, minutes=1)
    with engine.begin() as conn:
        conn.execute(meta.update().where(meta.c.task_id == old.id).values(date_done=yesterday))
    app.tasks["celery.backend_cleanup"].delay().get(timeout=30)
    assert [app.AsyncResult(old.id).state, app.AsyncResult(new.id).state] == [states.PENDING, states.SUCCESS]


def test_the_example_of_the_page_runs(monkeypatch):
    monkeypatch.setenv("CELERY_BROKER_URL", "memory://")  # in the place of the page's
    shop = run_example("Celery", 0, {"__name__": "page"}, URL)
    with start_worker(shop["app"], perform_ping_check=False, pool="solo"):
        run_example("Celery", 1, shop, URL)
