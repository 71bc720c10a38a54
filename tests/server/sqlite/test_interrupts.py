from __future__ import annotations

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.interrupts import Interrupts


@pytest.fixture
def interrupts() -> Interrupts:
    return Interrupts()


def test_a_wish_is_noticed_once(interrupts: Interrupts) -> None:
    assert not interrupts.consume()
    interrupts.request()
    assert interrupts.is_pending
    assert interrupts.consume()
    assert not interrupts.is_pending
    assert not interrupts.consume()


def test_several_wishes_count_as_one(interrupts: Interrupts) -> None:
    interrupts.request()
    interrupts.request()
    assert [interrupts.consume(), interrupts.consume()] == [True, False]


def test_a_check_ends_one_statement_with_minus_213(interrupts: Interrupts) -> None:
    interrupts.check()
    interrupts.request()
    with pytest.raises(SqlError) as raised:
        interrupts.check()
    assert (raised.value.sqlcode, raised.value.isamcode) == (-213, -157)
    interrupts.check()


def test_what_is_for_good_ends_everything(interrupts: Interrupts) -> None:
    interrupts.request(permanent=True)
    assert interrupts.is_permanent
    for _ in range(3):
        assert interrupts.consume()
        with pytest.raises(SqlError):
            interrupts.check()


def test_sqlite_is_stopped_only_where_it_does_no_harm(interrupts: Interrupts) -> None:
    interrupts.request()
    assert not interrupts.stops()
    with interrupts.stopping_permanently():
        assert not interrupts.stops()
    with interrupts.stopping():
        with interrupts.stopping_permanently():
            assert not interrupts.stops()
        assert interrupts.stops()
        assert not interrupts.stops()
    interrupts.request()
    assert not interrupts.stops()


def test_a_permanent_interrupt_may_end_a_transaction_but_not_cleanup(interrupts: Interrupts) -> None:
    interrupts.request(permanent=True)
    assert not interrupts.stops()
    with interrupts.stopping_permanently():
        assert interrupts.stops()
    with interrupts.stopping():
        assert interrupts.stops()
