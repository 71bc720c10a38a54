from __future__ import annotations

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.interrupts import Interrupts


@pytest.fixture
def interrupts() -> Interrupts:
    return Interrupts()


def test_a_wish_is_noticed_once(interrupts: Interrupts) -> None:
    assert not interrupts.take()
    interrupts.request()
    assert interrupts.pending
    assert interrupts.take()
    assert not interrupts.pending
    assert not interrupts.take()


def test_several_wishes_count_as_one(interrupts: Interrupts) -> None:
    interrupts.request()
    interrupts.request()
    assert [interrupts.take(), interrupts.take()] == [True, False]


def test_a_check_ends_one_statement_with_minus_213(interrupts: Interrupts) -> None:
    interrupts.check()
    interrupts.request()
    with pytest.raises(SqlError) as raised:
        interrupts.check()
    assert (raised.value.sqlcode, raised.value.isamcode) == (-213, -157)
    interrupts.check()


def test_what_is_for_good_ends_everything(interrupts: Interrupts) -> None:
    interrupts.request(for_good=True)
    assert interrupts.for_good
    for _ in range(3):
        assert interrupts.take()
        with pytest.raises(SqlError):
            interrupts.check()


def test_sqlite_is_stopped_only_where_it_does_no_harm(interrupts: Interrupts) -> None:
    interrupts.request()
    assert not interrupts.stops()
    with interrupts.stopping_for_good():
        assert not interrupts.stops()
    with interrupts.stopping():
        with interrupts.stopping_for_good():
            assert not interrupts.stops()
        assert interrupts.stops()
        assert not interrupts.stops()
    interrupts.request()
    assert not interrupts.stops()


def test_with_nobody_there_a_transaction_may_be_lost_but_what_is_no_statement_goes_on(
    interrupts: Interrupts,
) -> None:
    interrupts.request(for_good=True)
    assert not interrupts.stops()
    with interrupts.stopping_for_good():
        assert interrupts.stops()
    with interrupts.stopping():
        assert interrupts.stops()
