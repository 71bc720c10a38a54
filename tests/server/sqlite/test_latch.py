from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.committed_transactions import path_beside
from aioifx.server.sqlite.lock_manager import TIMED_OUT, Kind, LockManager
from tests.server.sqlite.parties import MakeParty, Party, refused


def test_an_exclusive_transaction_keeps_the_latch(party: MakeParty) -> None:
    one, two, three = party(), party(), party()
    two.database.busy_timeout = 0.01
    two.transactions.begin()
    two.insert(1)
    three.transactions.begin()
    three.insert(3)
    one.transactions.begin()
    one.insert(2)
    one.create("u")
    assert one.transactions.is_exclusive
    assert refused(lambda: two.insert(4)) == (TIMED_OUT, Kind.LATCH)
    assert refused(two.transactions.rollback) == (TIMED_OUT, Kind.LATCH)
    two.transactions.commit()  # does not wait
    three.transactions.abandon()
    one.transactions.rollback()
    assert one.values() == [1]
    assert one.connection.execute("SELECT * FROM ifx_undo").fetchall() == []
    assert one.database.locks.locks() == []


def beside_an_exclusive_one(party: MakeParty) -> tuple[Party, Party]:
    """A transaction that is exclusive and has inserted 2, to be closed, and one that has inserted 1 before."""
    two = party()
    one = Party(two.database)
    two.transactions.begin()
    two.insert(1)
    one.transactions.begin()
    one.insert(2)
    one.create("u")
    return one, two


def killed(one: Party) -> Party:
    """A session of a server that is started after the one of *one* was killed."""
    one.connection.close()
    return Party(replace(one.database, locks=LockManager(), is_recovered=False))


@pytest.mark.parametrize(
    ("end", "values"),
    [(lambda two: two.transactions.commit(), [1]), (lambda two: two.transactions.abandon(), [])],
    ids=["commit", "abandon"],
)
def test_a_transaction_that_ended_beside_an_exclusive_one_has_ended_after_a_kill(
    party: MakeParty, end: Callable[[Party], None], values: list[int]
) -> None:
    one, two = beside_an_exclusive_one(party)
    end(two)
    three = killed(one)
    three.transactions.recover()
    assert three.values() == values
    four = killed(three)
    four.transactions.recover()
    four.transactions.begin()
    four.insert(3)
    five = killed(four)
    five.transactions.recover()
    assert five.values() == values
    five.connection.close()


def test_a_commit_that_cannot_be_written_is_refused_and_can_be_repeated(party: MakeParty) -> None:
    one, two = beside_an_exclusive_one(party)
    in_the_way = path_beside(two.database.path)
    in_the_way.mkdir()
    with pytest.raises(SqlError) as refusal:
        two.transactions.commit()
    assert (refusal.value.sqlcode, refusal.value.isamcode) == (-346, -131)
    in_the_way.rmdir()
    two.transactions.commit()
    three = killed(one)
    three.transactions.recover()
    assert three.values() == [1]
    three.connection.close()


def test_what_a_killed_server_has_left_is_rolled_back(party: MakeParty) -> None:
    one = party()
    one.insert(1)
    one.transactions.begin()
    one.insert(2)
    one.run("DELETE FROM t100 WHERE a = 1")
    again = replace(one.database, locks=LockManager(), is_recovered=False)
    two = Party(again)
    two.transactions.recover()
    assert two.values() == [1]
    two.transactions.recover()
    two.connection.close()


def test_a_statement_ends_what_could_not_end_while_it_ran(party: MakeParty) -> None:
    one, two = party(), party()
    one.database.busy_timeout = 0.01
    two.transactions.begin()
    two.insert(2)

    def attempt() -> None:
        with one.changing():
            one.connection.execute("INSERT INTO t100 VALUES (1)")
            two.transactions.abandon()

    one.transactions.run(attempt)
    assert one.values() == [1] and one.database.locks.locks() == []


def test_what_is_abandoned_as_the_latch_is_released_is_ended_at_once(
    party: MakeParty, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = beside_an_exclusive_one(party)
    latch: Any = one.transactions._latch  # pyright: ignore[reportPrivateUsage]
    end_others = latch._end_others

    def end_others_too_early() -> None:
        end_others()
        if two.transactions.is_open:
            two.transactions.abandon()

    monkeypatch.setattr(latch, "_end_others", end_others_too_early)
    one.transactions.commit()
    assert one.values() == [2] and one.database.locks.locks() == []
    one.connection.close()


def test_what_is_abandoned_after_the_latch_was_released_is_ended_at_once(
    party: MakeParty, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = beside_an_exclusive_one(party)

    def refused_too_late() -> bool:
        one.transactions.commit()
        return False

    latch: Any = two.transactions._latch  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(latch, "try_acquire", refused_too_late)
    two.transactions.abandon()
    assert one.values() == [2] and one.database.locks.locks() == []
    one.connection.close()
