from __future__ import annotations

import sqlite3

import pytest

from aioifx.server.sql.model.plan import Isolation
from aioifx.server.sqlite.databases import LogMode
from aioifx.server.sqlite.undo_log import UndoLog
from tests.server.sqlite.parties import MakeParty, sqlcode_of


def test_a_statement_outside_a_transaction_commits_itself(party: MakeParty) -> None:
    one, two = party(), party()
    one.insert(1)
    assert two.values() == [1]
    two.insert(2)
    assert one.values() == [1, 2]


def test_a_committed_transaction_leaves_nothing_in_the_log(party: MakeParty) -> None:
    one, two = party(), party()
    one.transactions.begin()
    one.insert(1)
    assert one.transactions.number != 0
    one.transactions.commit()
    assert two.values() == [1]
    assert one.connection.execute("SELECT * FROM ifx_undo").fetchall() == []


def test_rollback_undoes_everything_since_begin(party: MakeParty) -> None:
    one = party()
    one.insert(1)
    one.transactions.begin()
    one.insert(2)
    one.insert(3)
    one.transactions.rollback()
    assert one.values() == [1]


def test_begin_commit_and_rollback_out_of_place_are_errors(party: MakeParty) -> None:
    one = party().transactions
    assert sqlcode_of(one.commit) == -255
    assert sqlcode_of(one.rollback) == -255
    one.begin()
    assert sqlcode_of(one.begin) == -535
    one.commit()
    assert sqlcode_of(one.commit) == -255


@pytest.mark.parametrize("party", [LogMode.UNLOGGED], indirect=True)
def test_without_a_log_there_are_no_transactions(party: MakeParty) -> None:
    one = party()
    for work in (one.transactions.begin, one.transactions.commit, one.transactions.rollback):
        assert sqlcode_of(work) == -256
    assert one.transactions.isolation is Isolation.DIRTY_READ


@pytest.mark.parametrize("party", [LogMode.ANSI], indirect=True)
def test_in_ansi_mode_a_transaction_is_always_open(party: MakeParty) -> None:
    one, two = party(), party()
    assert one.transactions.is_open
    assert not one.transactions.is_used
    one.insert(1)
    assert one.transactions.is_used
    assert two.values() == [1]  # uncommitted
    one.transactions.commit()
    two.transactions.commit()
    assert two.values() == [1]
    assert sqlcode_of(one.transactions.begin) == -535
    assert one.transactions.isolation is Isolation.REPEATABLE_READ


def test_a_rollback_restores_keys_that_rows_have_exchanged(party: MakeParty) -> None:
    one = party()
    one.insert(1, 2)
    one.transactions.begin()
    for change in ("a = -1 WHERE a = 1", "a = 1 WHERE a = 2", "a = 2 WHERE a = -1"):
        one.run(f"UPDATE t100 SET {change}")
    one.transactions.rollback()
    assert one.connection.execute("SELECT a FROM t100 ORDER BY rowid").fetchall() == [(1,), (2,)]


def test_a_savepoint_around_an_exclusive_part(party: MakeParty) -> None:
    one = party()
    one.transactions.begin()
    one.insert(1)
    one.transactions.set_savepoint("before", unique=False)
    one.insert(2)
    one.create("u")
    one.insert(3)
    one.transactions.set_savepoint("inside", unique=False)
    one.insert(4)
    one.transactions.rollback_to("inside")
    assert one.values() == [1, 2, 3]
    one.transactions.rollback_to("before")
    assert one.values() == [1]
    assert not one.transactions.is_exclusive
    one.create("u")
    one.insert(5)
    one.transactions.commit()
    assert party().values() == [1, 5]


def test_a_savepoint_keeps_what_came_before_it(party: MakeParty) -> None:
    one = party()
    one.transactions.begin()
    one.insert(1)
    one.transactions.set_savepoint("s", unique=False)
    one.insert(2)
    one.transactions.rollback_to("s")
    one.insert(3)
    one.transactions.rollback_to("")
    one.insert(4)
    one.transactions.commit()
    assert one.values() == [1, 4]


def test_a_row_inserted_after_a_savepoint_does_not_leave_its_number_to_another_session(
    party: MakeParty,
) -> None:
    one, two = party(), party()
    for each in (one, two):
        each.transactions.begin()
    one.transactions.set_savepoint("s", unique=False)
    one.insert(1)
    one.transactions.rollback_to("s")  # the lock on the row is kept
    two.insert(2)
    two.run("UPDATE main.t100 SET a = 3 WHERE a = 2")
    one.transactions.commit()
    two.transactions.commit()
    assert one.values() == [3]
    assert not one.database.locks.locks()


def test_a_rollback_that_fails_lets_other_sessions_write_and_can_be_repeated(
    party: MakeParty, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(log: UndoLog, transaction: int, mark: int = 0) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    one, two = party(), party()
    one.transactions.begin()
    one.insert(1)
    with monkeypatch.context() as patched:
        patched.setattr(UndoLog, "restore", fail)
        with pytest.raises(sqlite3.OperationalError):
            one.transactions.rollback()
    two.insert(2)
    one.transactions.rollback()
    assert two.values() == [2]


def test_a_savepoint_before_the_first_write_undoes_all_of_it(party: MakeParty) -> None:
    one = party()
    one.transactions.begin()
    one.transactions.set_savepoint("a", unique=False)
    one.transactions.set_savepoint("b", unique=False)
    one.insert(1)
    one.transactions.rollback_to("b")
    one.insert(2)
    one.transactions.rollback_to("a")
    assert sqlcode_of(lambda: one.transactions.rollback_to("b")) == -278
    one.insert(3)
    one.transactions.commit()
    assert one.values() == [3]


def test_the_same_name_moves_a_savepoint_unless_it_is_unique(party: MakeParty) -> None:
    one = party()
    one.transactions.begin()
    one.transactions.set_savepoint("s", unique=False)
    one.insert(1)
    one.transactions.set_savepoint("s", unique=False)
    one.insert(2)
    one.transactions.rollback_to("s")
    assert one.values() == [1]
    one.transactions.set_savepoint("only", unique=True)
    assert sqlcode_of(lambda: one.transactions.set_savepoint("only", unique=False)) == -743


def test_releasing_a_savepoint_forgets_it_and_all_later_ones(party: MakeParty) -> None:
    one = party()
    one.transactions.begin()
    one.insert(1)
    for name in ("a", "b", "c"):
        one.transactions.set_savepoint(name, unique=False)
    one.transactions.release_savepoint("b")
    assert sqlcode_of(lambda: one.transactions.release_savepoint("c")) == -278
    one.insert(2)
    one.transactions.rollback_to("a")
    assert one.values() == [1]


def test_savepoints_need_a_transaction(party: MakeParty) -> None:
    one = party().transactions
    assert sqlcode_of(lambda: one.set_savepoint("s", unique=False)) == -255
    assert sqlcode_of(lambda: one.rollback_to("s")) == -255
    assert sqlcode_of(lambda: one.release_savepoint("s")) == -255


def test_set_transaction_holds_for_one_transaction(party: MakeParty) -> None:
    one = party()
    assert sqlcode_of(lambda: one.transactions.set_terms(None, True)) == -255
    one.transactions.begin()
    one.transactions.set_terms(Isolation.REPEATABLE_READ, True)
    assert sqlcode_of(lambda: one.transactions.set_terms(None, False)) == -877
    levels = [one.transactions.isolation]
    assert sqlcode_of(lambda: one.insert(1)) == -878
    assert sqlcode_of(lambda: one.transactions.set_terms(None, False)) == -876
    one.transactions.commit()
    levels.append(one.transactions.isolation)
    assert levels == [Isolation.REPEATABLE_READ, Isolation.COMMITTED_READ]
    one.insert(1)
