from __future__ import annotations

import sqlite3
import threading

import pytest

from aioifx.server.catalog import catalog
from aioifx.server.sqlite import write_statements
from aioifx.server.sqlite.lock_manager import ROW_LOCKED, TABLE_LOCKED, Kind, LockMode
from aioifx.server.sqlite.transactions import Transactions
from tests.server.sqlite.parties import TABLE, MakeParty, Party, refused


def test_writers_of_different_rows_do_not_meet(party: MakeParty) -> None:
    one, two = party(), party()
    one.transactions.begin()
    two.transactions.begin()
    one.insert(1)
    two.insert(2)
    one.run("UPDATE t100 SET a = 10 WHERE a = 1")
    two.run("UPDATE t100 SET a = 20 WHERE a = 2")
    one.transactions.rollback()
    two.transactions.commit()
    assert one.values() == [20]


def test_a_row_that_another_transaction_has_changed_is_locked(party: MakeParty) -> None:
    one, two = party(), party()
    one.insert(1, 2, 3)
    one.transactions.begin()
    one.run("UPDATE t100 SET a = 10 WHERE a = 1")
    one.run("DELETE FROM t100 WHERE a = 3")
    one.insert(4)
    assert refused(lambda: two.run("UPDATE t100 SET a = a + 100")) == (ROW_LOCKED, Kind.ROW)
    assert refused(lambda: two.run("DELETE FROM t100 WHERE a = 4")) == (ROW_LOCKED, Kind.ROW)
    for key in (1, 3):  # a rollback returns them
        assert refused(lambda key=key: two.insert(key)) == (ROW_LOCKED, Kind.KEY)  # type: ignore[misc]
    two.insert(5)
    one.transactions.rollback()
    assert one.values() == [1, 2, 3, 5]
    two.run("UPDATE t100 SET a = a + 100")
    assert one.values() == [101, 102, 103, 105]


def test_a_new_row_does_not_take_the_rowid_of_a_deleted_one(party: MakeParty) -> None:
    one, two = party(), party()
    one.insert(1, 2)
    one.transactions.begin()
    one.run("DELETE FROM t100 WHERE a = 2")
    two.insert(7, 8)
    one.transactions.rollback()
    found = one.connection.execute("SELECT rowid, a FROM t100 ORDER BY rowid").fetchall()
    assert found == [(1, 1), (2, 2), (3, 7), (4, 8)]


def test_a_statement_waits_for_a_lock_and_runs_again(party: MakeParty) -> None:
    one, two = party(), party()
    one.insert(1)
    one.transactions.begin()
    one.run("UPDATE t100 SET a = 10")
    two.defaults.lock_wait = None
    two.connection.close()
    done: list[object] = []

    def update() -> None:
        other = Party(two.database)
        other.defaults.lock_wait = None
        waiting.append(other.transactions)
        other.run("UPDATE t100 SET a = a + 1")
        done.append(other.values())
        other.connection.close()

    waiting: list[Transactions] = []
    thread = threading.Thread(target=update)
    thread.start()
    while not (waiting and waiting[0].is_waiting):
        pass
    one.insert(2)  # the latch is free meanwhile
    one.transactions.commit()
    thread.join(20)
    assert done == [[3, 11]]


def test_the_table_of_a_writer_cannot_be_locked(party: MakeParty) -> None:
    one, two = party(), party()
    one.transactions.begin()
    two.transactions.begin()
    one.insert(1)
    assert refused(lambda: two.transactions.lock_table(TABLE, LockMode.S)) == (TABLE_LOCKED, Kind.TABLE)
    one.transactions.commit()
    two.transactions.lock_table(TABLE, LockMode.S)
    assert refused(lambda: one.insert(2)) == (TABLE_LOCKED, Kind.TABLE)
    one.transactions.begin()
    one.transactions.lock_table(TABLE, LockMode.S)
    one.transactions.rollback()
    two.transactions.rollback()
    one.insert(2)


def test_a_failing_statement_of_several_steps_is_undone_alone(party: MakeParty) -> None:
    for inside, exclusive in ((False, False), (True, False), (True, True)):
        one = party()
        one.run("DELETE FROM t100")
        if inside:
            one.transactions.begin()
        if exclusive:
            one.create("u")
        one.insert(1)
        with pytest.raises(sqlite3.IntegrityError):
            one.insert(2, 1)
        assert one.values() == [1]
        one.insert(3)
        assert one.transactions.is_open is inside
        if inside:
            one.transactions.commit()
        assert party().values() == [1, 3]


@pytest.mark.parametrize("exclusive", [False, True])
def test_a_statement_that_sqlite_gave_up(party: MakeParty, exclusive: bool) -> None:
    one, two = party(), party()
    one.transactions.begin()
    one.insert(1)
    if exclusive:
        one.create("u")

    def attempt() -> None:
        with one.transactions.changing(TABLE, catalog.empty_schema()):
            one.connection.execute("ROLLBACK")  # as when the disk is full
            raise sqlite3.OperationalError("database or disk is full")

    with pytest.raises(sqlite3.OperationalError):
        one.transactions.run(attempt)
    assert (
        one.transactions.is_open is not exclusive
    )  # SQLite has undone the statement, or all of the transaction
    assert one.values() == ([] if exclusive else [1])
    two.insert(2)


def brief(party: Party, value: int) -> None:
    def attempt() -> None:
        with party.transactions.changing(TABLE, catalog.empty_schema()), party.transactions.step():
            party.connection.execute('INSERT INTO main."t100" ("a") VALUES (?)', (value,))

    party.transactions.run(attempt, brief=True)


def test_the_inserts_of_a_batch_share_a_transaction_of_sqlite(
    party: MakeParty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_statements, "monotonic", lambda: 0.0)
    one, two = party(), party()
    one.transactions.begin()
    with one.transactions.batch():
        brief(one, 1)
        assert one.transactions.is_inside
        with pytest.raises(sqlite3.IntegrityError):
            brief(one, 1)
        brief(one, 2)
        one.run("UPDATE t100 SET a = 20 WHERE a = 2")
        assert not one.transactions.is_inside
        one.transactions.set_savepoint("s", unique=False)
        brief(one, 3)
        one.transactions.rollback_to("s")
        brief(one, 4)
    assert not one.transactions.is_inside
    two.insert(7)
    assert refused(lambda: two.run("UPDATE t100 SET a = 0 WHERE a = 4")) == (ROW_LOCKED, Kind.ROW)
    assert one.values() == [1, 4, 7, 20]
    one.transactions.rollback()
    assert one.values() == [7]


def test_a_batch_lets_other_sessions_write_after_a_time(
    party: MakeParty, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter((0.0, 0.019, 0.021, 1.0, 1.0))
    monkeypatch.setattr(write_statements, "monotonic", lambda: next(clock))
    one, two = party(), party()
    one.transactions.begin()
    with one.transactions.batch():
        brief(one, 1)
        assert one.transactions.is_inside
        brief(one, 2)
        assert not one.transactions.is_inside
        two.insert(7)
        brief(one, 3)
        assert one.transactions.is_inside
    one.transactions.rollback()
    assert one.values() == [7]


def test_a_batch_that_meets_a_lock_keeps_what_came_before_it(party: MakeParty) -> None:
    one, two = party(), party()
    two.insert(5, 9)
    two.transactions.begin()
    two.run("DELETE FROM t100 WHERE a = 5")
    one.transactions.begin()
    with one.transactions.batch():
        brief(one, 1)
        assert refused(lambda: brief(one, 5)) == (ROW_LOCKED, Kind.KEY)
        two.insert(6)
    assert one.values() == [1, 6, 9]


def test_a_batch_that_sqlite_gave_up_ends_its_transaction(party: MakeParty) -> None:
    one = party()
    one.transactions.begin()
    one.insert(1)

    def attempt() -> None:
        with one.transactions.changing(TABLE, catalog.empty_schema()):
            one.connection.execute("ROLLBACK")  # as when the disk is full
            raise sqlite3.OperationalError("database or disk is full")

    with one.transactions.batch():
        brief(one, 2)
        with pytest.raises(sqlite3.OperationalError):
            one.transactions.run(attempt, brief=True)
    assert not one.transactions.is_open
    assert one.values() == []


@pytest.mark.parametrize("other_writes", [False, True])
def test_new_rows_are_watched_only_if_they_can_meet_a_lock(party: MakeParty, other_writes: bool) -> None:
    one, two = party(), party()
    two.insert(5)
    if other_writes:
        two.transactions.begin()
        two.run("DELETE FROM t100")

    def attempt() -> None:
        with one.transactions.changing(TABLE, catalog.empty_schema(), only_inserts=True):
            one.transactions.watch(TABLE, catalog.empty_schema())
            one.connection.execute('INSERT INTO main."t100" ("a") VALUES (5)')

    if other_writes:
        assert refused(lambda: one.transactions.run(attempt))[0] == ROW_LOCKED
    else:
        with pytest.raises(sqlite3.IntegrityError):
            one.transactions.run(attempt)
    triggers = one.connection.execute("SELECT count(*) FROM temp.sqlite_master WHERE type = 'trigger'")
    assert bool(triggers.fetchone()[0]) is other_writes
