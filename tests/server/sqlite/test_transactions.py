from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Isolation
from aioifx.server.sqlite.databases import Database, LogMode
from aioifx.server.sqlite.transactions import SessionDefaults, Transactions
from aioifx.server.sqlite.write_lock import LockRefused


class Party:
    """One session's connection and transactions."""

    def __init__(self, database: Database) -> None:
        self.connection = sqlite3.connect(database.path, timeout=0, isolation_level=None)
        self.defaults = SessionDefaults()
        self.transactions = Transactions(self.connection, database, self.defaults, lambda: False)

    def insert(self, value: int, *, alone: bool = True) -> None:
        with self.transactions.writing(alone=alone):
            self.connection.execute("INSERT INTO t VALUES (?)", (value,))

    def values(self) -> list[int]:
        self.transactions.on_query()
        return [row[0] for row in self.connection.execute("SELECT a FROM t ORDER BY a").fetchall()]


MakeParty = Callable[[], Party]


def make_database(path: Path, log_mode: LogMode) -> Database:
    database = Database("demo", path / "demo.sqlite", log_mode, "anna", date(2026, 1, 1), "en_US.819")
    connection = sqlite3.connect(database.path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE t (a INTEGER UNIQUE)")
    connection.close()
    return database


@pytest.fixture(params=[LogMode.LOGGED])
def party(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[MakeParty]:
    """Makes sessions in one database."""
    database = make_database(tmp_path, request.param)
    parties: list[Party] = []

    def make() -> Party:
        parties.append(Party(database))
        return parties[-1]

    yield make
    for each in parties:
        each.transactions.abandon()
        each.connection.close()


def sqlcode_of(work: Callable[[], object]) -> int:
    with pytest.raises(SqlError) as raised:
        work()
    return raised.value.sqlcode


def test_a_statement_outside_a_transaction_commits_itself(party: MakeParty) -> None:
    one, two = party(), party()
    one.insert(1)
    assert two.values() == [1]
    two.insert(2)
    assert one.values() == [1, 2]


def test_a_transaction_is_seen_by_others_when_it_commits(party: MakeParty) -> None:
    one, two = party(), party()
    one.transactions.begin()
    one.insert(1)
    assert (one.values(), two.values()) == ([1], [])
    one.transactions.commit()
    assert two.values() == [1]


def test_rollback_undoes_everything_since_begin(party: MakeParty) -> None:
    one = party()
    one.insert(1)
    one.transactions.begin()
    one.insert(2)
    one.insert(3, alone=False)
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
    assert two.values() == []
    one.transactions.commit()
    two.transactions.commit()
    assert two.values() == [1]
    assert sqlcode_of(one.transactions.begin) == -535
    assert one.transactions.isolation is Isolation.REPEATABLE_READ


def test_reads_before_the_first_write_see_what_others_commit(party: MakeParty) -> None:
    one, two = party(), party()
    one.transactions.begin()
    assert one.values() == []
    two.insert(1)
    assert one.values() == [1]


def test_repeatable_read_sees_the_same_rows_until_the_end(party: MakeParty) -> None:
    one, two = party(), party()
    one.defaults.isolation = Isolation.REPEATABLE_READ
    one.transactions.begin()
    assert one.values() == []
    two.insert(1)
    assert one.values() == []
    one.transactions.commit()
    assert one.values() == [1]


def test_a_second_writer_is_refused_until_the_first_is_done(party: MakeParty) -> None:
    one, two = party(), party()
    one.transactions.begin()
    one.insert(1)
    with pytest.raises(LockRefused):
        two.insert(2)
    one.transactions.commit()
    two.insert(2)
    assert one.values() == [1, 2]


@pytest.mark.parametrize("inside", [False, True])
def test_a_failing_statement_of_several_steps_is_undone_alone(party: MakeParty, inside: bool) -> None:
    one = party()
    if inside:
        one.transactions.begin()
    one.insert(1)
    with pytest.raises(sqlite3.IntegrityError), one.transactions.writing(alone=False):
        one.connection.execute("INSERT INTO t VALUES (2)")
        one.connection.execute("INSERT INTO t VALUES (1)")
    assert one.values() == [1]
    one.insert(3)
    assert one.transactions.is_open is inside
    if inside:
        one.transactions.commit()
    assert party().values() == [1, 3]


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


def test_an_explicit_lock_keeps_writers_out(party: MakeParty) -> None:
    one, two = party(), party()
    one.transactions.begin()
    one.transactions.lock()
    with pytest.raises(LockRefused):
        two.insert(1)
    one.transactions.rollback()
    two.insert(1)


@pytest.mark.parametrize("alone", [False, True])
def test_a_transaction_that_sqlite_gave_up_is_over(party: MakeParty, alone: bool) -> None:
    one, two = party(), party()
    one.transactions.begin()
    one.insert(1)
    with pytest.raises(sqlite3.OperationalError), one.transactions.writing(alone=alone):
        one.connection.execute("ROLLBACK")  # as when the disk is full
        raise sqlite3.OperationalError("database or disk is full")
    assert not one.transactions.is_open
    assert sqlcode_of(one.transactions.commit) == -255
    two.insert(2)
    assert one.values() == [2]
