from __future__ import annotations

from dataclasses import replace

from aioifx.server.sqlite.lock_manager import (
    TIMED_OUT,
    Kind,
    LockManager,
)
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
