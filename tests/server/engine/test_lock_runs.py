from __future__ import annotations

import marshal
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.engine.cursors import Cursor
from aioifx.server.engine.engine import Engine
from aioifx.server.engine.lock_runs import Conflict, LockRuns
from aioifx.server.engine.reads import Reads
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Change, Isolation, Query
from aioifx.server.sql.model.schema import Table
from aioifx.server.sqlite.databases import Database, LogMode
from aioifx.server.sqlite.lock_manager import Kind, LockManager, LockMode, LockRefused, Owner, Resource
from aioifx.server.sqlite.row_changes import LockConflict
from tests.server.sql.workbench import Workbench
from tests.server.talking import run

OTHER = "other"
"""The owner of the locks of another transaction."""


@dataclass
class Me:
    """The transaction that reads."""

    isolation: Isolation = Isolation.COMMITTED_READ
    is_open: bool = True
    owner: Owner = "me"
    number: int = 1
    lock_wait: float | None = 0
    retains_update_locks: bool = False
    locks: LockManager = field(default_factory=LockManager)

    def wait(self, conflict: LockConflict) -> None:
        acquire = self.locks.acquire if conflict.is_kept else self.locks.wait_for
        try:
            acquire(
                self.owner, conflict.resource, conflict.mode, wait=self.lock_wait, interrupted=lambda: False
            )
        except LockRefused as refused:
            raise SqlError(conflict.sqlcode, refused.isamcode) from None


class Room:
    """A database in which another transaction has changed rows of the table t."""

    def __init__(self) -> None:
        self.bench = Workbench(
            "CREATE TABLE t (k INT PRIMARY KEY, g INT, v VARCHAR(10))",
            "CREATE INDEX t_g ON t (g)",
            "CREATE TABLE u (k INT, x INT)",
        )
        self.connection = self.bench.connection
        self.connection.execute(
            "CREATE TABLE ifx_undo (seq INTEGER PRIMARY KEY, tabid, row, op, image BLOB, txn)"
        )
        for number in range(1, 7):
            self.bench.run(f"INSERT INTO t VALUES ({number}, {number % 2}, 'v{number}')")
            self.bench.run(f"INSERT INTO u VALUES ({number}, {number * 10})")
        self.me = Me()
        self.locks = self.me.locks
        database = Database(
            "stores", Path(), LogMode.LOGGED, "ann", date(2026, 1, 1), "en_US.utf8", self.locks
        )
        self.runs = LockRuns(self.connection, database, {}, self.me)
        self.reads = Reads(self.connection, self.runs, self.me, lambda: None)

    def plan(self, text: str) -> Query | Change:
        action = self.bench.plan(text).action
        assert isinstance(action, Query | Change)
        return action

    @property
    def table(self) -> Table:
        return self.plan("SELECT * FROM t").locked_tables[0]

    def row(self, row: int) -> Resource:
        return Resource("stores", self.table.tabid, Kind.ROW, row)

    @property
    def whole(self) -> Resource:
        return Resource("stores", self.table.tabid, Kind.TABLE)

    def change(self, sql: str, row: int, *, is_new: bool = False) -> None:
        """Change a row as another transaction, which has not ended."""
        old = self.connection.execute("SELECT * FROM " + self.table.source + " WHERE rowid = ?", (row,))
        image = None if is_new else marshal.dumps(old.fetchone())
        assert self.locks.try_acquire(OTHER, self.whole, LockMode.IX)
        assert self.locks.try_acquire(OTHER, self.row(row), LockMode.X)
        self.connection.execute(sql.format(t=self.table.source), (row,))
        undo = "INSERT INTO ifx_undo (tabid, row, op, image, txn) VALUES (?, ?, '', ?, 2)"
        self.connection.execute(undo, (self.table.tabid, row, image))

    def update(self, row: int, to: str = "new") -> None:
        self.change(f"UPDATE {{t}} SET v = '{to}' WHERE rowid = ?", row)

    def move(self, row: int) -> None:
        self.change("UPDATE {t} SET g = 7, k = k + 100 WHERE rowid = ?", row)

    def delete(self, row: int) -> None:
        self.change("DELETE FROM {t} WHERE rowid = ?", row)

    def insert(self, row: int) -> None:
        self.change(f"INSERT INTO {{t}} (rowid, k, g, v) VALUES (?, {row}, 1, 'new')", row, is_new=True)

    def commit(self) -> None:
        self.connection.execute("DELETE FROM ifx_undo")
        self.locks.release_all(OTHER)

    def rows(self, text: str) -> list[tuple[object, ...]]:
        query = self.plan(text)
        assert isinstance(query, Query)
        source = self.reads.rows(query, query.sql, query.sql.bound(()))
        try:
            return source.fetchmany(1000)
        finally:
            source.close()

    def error(self, text: str) -> tuple[int, int]:
        with pytest.raises(SqlError) as caught:
            self.rows(text)
        return caught.value.sqlcode, caught.value.isamcode

    def changed(self, text: str, *values: int) -> int:
        """Run a change, as far as reading is concerned."""
        change = self.plan(text)
        assert isinstance(change, Change)
        with self.reads.changing(change, values) as ready:
            return self.connection.execute(ready.sql.text, ready.sql.bound(values)).rowcount


@pytest.fixture
def room() -> Iterator[Room]:
    yield Room()


CHANGES = (Room.update, Room.move, Room.delete)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    ("text", "sqlcode"),
    [
        ("SELECT * FROM t", -244),
        ("SELECT COUNT(*) FROM t WHERE v = 'v5'", -244),
        ("SELECT v FROM t WHERE k = 4", -243),
        ("SELECT v FROM t WHERE g = 0", -243),
        ("SELECT v FROM t WHERE k BETWEEN 3 AND 5", -246),
        ("SELECT u.x FROM u, t WHERE u.k = t.k", -243),
        ("SELECT k FROM u WHERE x IN (SELECT k * 10 FROM t)", -244),
        ("SELECT k FROM t WHERE g = 0 UNION SELECT x FROM u", -243),
    ],
)
def test_committed_read_meets_changed_rows(room: Room, change: object, text: str, sqlcode: int) -> None:
    change(room, 4)  # type: ignore[operator]
    assert room.error(text) == (sqlcode, -107)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    "text",
    [
        "SELECT v FROM t WHERE k = 3",
        "SELECT v FROM t WHERE g = 1",
        "SELECT COUNT(*) FROM t WHERE g = 1",
        "SELECT v FROM t WHERE k > 5 AND k < 100",
        "SELECT u.x FROM u, t WHERE u.k = t.k AND u.x < 40",
        "SELECT * FROM u",
        "SELECT FIRST 1 v FROM t WHERE g = 1",
    ],
)
def test_committed_read_reads_unchanged_rows(room: Room, change: object, text: str) -> None:
    expected = room.rows(text)
    change(room, 4)  # type: ignore[operator]
    assert room.rows(text) == expected


def test_an_inserted_row_is_met(room: Room) -> None:
    room.insert(9)
    assert room.error("SELECT * FROM t") == (-244, -107)
    assert room.error("SELECT * FROM t WHERE g = 1") == (-243, -107)
    assert len(room.rows("SELECT * FROM t WHERE g = 0")) == 3


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM t ORDER BY k",
        "SELECT COUNT(*), MAX(k) FROM t",
        "SELECT v FROM t WHERE k = 4",
        "SELECT g, COUNT(*) FROM t GROUP BY g",
        "SELECT u.x, t.v FROM u LEFT JOIN t ON u.k = t.k AND t.g = 0 ORDER BY 1",
        "SELECT rowid, v FROM t WHERE v = 'v4'",
        "SELECT k FROM t WHERE g = 0 INTERSECT SELECT k FROM u ORDER BY 1",
    ],
)
def test_last_committed_reads_the_versions_before(room: Room, change: object, text: str) -> None:
    expected = room.rows(text)
    room.me.isolation = Isolation.LAST_COMMITTED
    change(room, 4)  # type: ignore[operator]
    room.insert(9)
    assert room.rows(text) == expected


def test_dirty_read_reads_what_is_there(room: Room) -> None:
    room.me.isolation = Isolation.DIRTY_READ
    room.update(1)
    room.delete(2)
    room.insert(9)
    assert [row[0] for row in room.rows("SELECT v FROM t ORDER BY k")] == [
        "new", "v3", "v4", "v5", "v6", "new",
    ]  # fmt: skip


def test_a_read_waits_for_the_end_of_the_other_transaction(room: Room) -> None:
    room.me.lock_wait = None
    room.update(4)
    found: list[tuple[object, ...]] = []
    timer = threading.Timer(0, lambda: None)
    original = room.locks.wait_for

    def wait_for(*args: object, **options: object) -> None:
        room.commit()  # the other transaction ends while this one waits
        original(*args, **options)  # type: ignore[arg-type]

    room.locks.wait_for = wait_for  # type: ignore[method-assign]
    found = room.rows("SELECT v FROM t WHERE k = 4")
    timer.cancel()
    assert found == [("new",)]


def test_a_wait_ends_after_its_time(room: Room) -> None:
    room.me.lock_wait = 0.01
    room.update(4)
    assert room.error("SELECT v FROM t WHERE k = 4") == (-243, -154)


def test_a_wait_that_would_never_end_is_a_deadlock(room: Room) -> None:
    room.me.lock_wait = 60
    room.update(4)
    mine = Resource("stores", 999, Kind.ROW, 1)
    room.locks.try_acquire("me", mine, LockMode.X)
    waits = threading.Event()

    def wait() -> None:
        waits.set()
        room.locks.acquire(OTHER, mine, LockMode.X, wait=60, interrupted=lambda: False)

    other = threading.Thread(target=wait)
    other.start()
    while not room.locks.is_waiting(OTHER):
        waits.wait(0.001)
    assert room.error("SELECT v FROM t WHERE k = 4") == (-243, -143)
    room.locks.release_all("me")
    other.join()


def test_a_table_that_is_locked_as_a_whole_is_not_read(room: Room) -> None:
    room.locks.try_acquire(OTHER, room.whole, LockMode.X)
    for level in (Isolation.COMMITTED_READ, Isolation.LAST_COMMITTED, Isolation.REPEATABLE_READ):
        room.me.isolation = level
        assert room.error("SELECT * FROM t") == (-244, -113)
    room.me.isolation = Isolation.DIRTY_READ
    assert len(room.rows("SELECT * FROM t")) == 6


# -- REPEATABLE READ ---------------------------------------------------------------------------------------------------


def test_repeatable_read_locks_the_row_of_a_unique_key(room: Room) -> None:
    room.me.isolation = Isolation.REPEATABLE_READ
    assert room.rows("SELECT v FROM t WHERE k = 4") == [("v4",)]
    assert room.locks.mode_of("me", room.row(4)) is LockMode.S
    assert room.locks.mode_of("me", room.whole) is LockMode.IS


@pytest.mark.parametrize(
    "text", ["SELECT * FROM t", "SELECT * FROM t WHERE g = 1", "SELECT * FROM t WHERE k = 99"]
)
def test_repeatable_read_locks_the_table_otherwise(room: Room, text: str) -> None:
    room.me.isolation = Isolation.REPEATABLE_READ
    room.rows(text)
    assert room.locks.mode_of("me", room.whole) is LockMode.S


def test_repeatable_read_meets_changed_rows(room: Room) -> None:
    room.me.isolation = Isolation.REPEATABLE_READ
    room.update(4)
    assert room.error("SELECT * FROM t") == (-244, -113)
    assert room.error("SELECT * FROM t WHERE k = 4") == (-243, -107)
    assert room.rows("SELECT v FROM t WHERE k = 3") == [("v3",)]


# -- changes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE t SET g = 5 WHERE k = 4",
        "DELETE FROM t WHERE v = 'v4'",
        "INSERT INTO u SELECT k, g FROM t",
        "UPDATE u SET x = (SELECT g FROM t WHERE t.k = u.k)",
        "DELETE FROM u WHERE k IN (SELECT k FROM t)",
        "MERGE INTO u USING t ON u.k = t.k WHEN MATCHED THEN UPDATE SET x = t.g",
    ],
)
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_meets_rows_that_it_reads(room: Room, change: object, text: str) -> None:
    change(room, 4)  # type: ignore[operator]
    with pytest.raises(Conflict) as caught:
        room.changed(text)
    assert caught.value.resource == room.row(4)


def test_a_change_meets_its_own_table_at_any_level(room: Room) -> None:
    room.delete(4)
    for level in (Isolation.DIRTY_READ, Isolation.LAST_COMMITTED):
        room.me.isolation = level
        with pytest.raises(Conflict):
            room.changed("UPDATE t SET g = 5 WHERE k = 4")
        assert room.changed("UPDATE t SET g = 5 WHERE k = 3") == 1


def test_a_change_reads_last_committed_versions_of_other_tables(room: Room) -> None:
    room.me.isolation = Isolation.LAST_COMMITTED
    room.update(4)
    room.delete(5)
    assert room.changed("INSERT INTO u SELECT k + 100, LENGTH(v) FROM t") == 6
    assert room.rows("SELECT k, x FROM u WHERE k > 103 ORDER BY 1") == [(104, 2), (105, 2), (106, 2)]


def test_a_change_reads_other_tables_as_they_are_under_dirty_read(room: Room) -> None:
    room.me.isolation = Isolation.DIRTY_READ
    room.delete(5)
    assert room.changed("INSERT INTO u SELECT k + 100, g FROM t") == 5


def test_no_snapshot_is_left_open(room: Room) -> None:
    room.update(4)
    room.error("SELECT * FROM t")
    room.rows("SELECT * FROM t WHERE k = 3")
    assert not room.connection.in_transaction
    assert isinstance(room.connection, sqlite3.Connection)


# -- laws --------------------------------------------------------------------------------------------------------------

TEXTS = (
    "SELECT * FROM t",
    "SELECT k, v FROM t WHERE k = 3",
    "SELECT k FROM t WHERE g = 1",
    "SELECT k FROM t WHERE k BETWEEN 2 AND 4",
    "SELECT COUNT(*), MIN(v) FROM t WHERE g = 0",
    "SELECT DISTINCT g FROM t WHERE k > 2",
    "SELECT FIRST 2 k, v FROM t WHERE g = 1 ORDER BY k DESC",
    "SELECT u.x, t.v FROM u, t WHERE u.k = t.k AND u.x > 20",
    "SELECT u.x, t.v FROM u LEFT JOIN t ON u.k = t.k AND t.g = 1",
    "SELECT a.k, b.k FROM t a, t b WHERE a.k = b.g",
    "SELECT x FROM u WHERE EXISTS (SELECT 1 FROM t WHERE t.k = u.k AND t.g = 0)",
    "SELECT k FROM t WHERE k IN (1, 3, 5) UNION SELECT x FROM u WHERE k NOT IN (SELECT k FROM t WHERE g = 0)",
)

changes = st.lists(
    st.tuples(st.sampled_from((Room.update, Room.move, Room.delete, Room.insert)), st.integers(1, 9)),
    max_size=5,
    unique_by=lambda each: each[1],
)


@given(text=st.sampled_from(TEXTS), made=changes)
def test_what_is_read_has_been_committed(
    text: str, made: list[tuple[Callable[[Room, int], None], int]]
) -> None:
    room = Room()
    expected = Counter(room.rows(text))
    for change, row in made:
        if (change is Room.insert) == (row > 6):
            change(room, row)
    room.me.isolation = Isolation.LAST_COMMITTED
    assert Counter(room.rows(text)) == expected
    room.me.isolation = Isolation.COMMITTED_READ
    with suppress(SqlError):
        assert Counter(room.rows(text)) == expected
    room.connection.close()


def test_a_transaction_that_ends_while_the_snapshot_is_taken_is_noticed(room: Room) -> None:
    room.update(4)
    query = room.plan("SELECT v FROM t WHERE k = 4")
    assert isinstance(query, Query)
    asked = iter((False, False))

    def has_foreign(_: object) -> bool:
        answer = next(asked, None)
        if answer is False:
            room.locks.try_acquire("brief", Resource("stores", 999, Kind.ROW, 1), LockMode.X)
            room.locks.release_all("brief")  # between the first question and the check of releases
            return answer
        return True

    room.runs.has_foreign = has_foreign  # type: ignore[method-assign,assignment]
    assert room.error("SELECT v FROM t WHERE k = 4") == (-243, -107)


class TableLocks:
    """The locks of the table t of a session."""

    def __init__(self, engine: Engine) -> None:
        assert engine.database is not None
        self.locks: LockManager = engine.database.locks
        (table,) = engine.prepare("UPDATE t SET b = 0").plan.action.locked_tables  # type: ignore[union-attr]
        self._name = engine.database.name, table.tabid

    def row(self, number: int) -> Resource:
        return Resource(*self._name, Kind.ROW, number)

    @property
    def modes(self) -> dict[object, LockMode]:
        """The locks on rows by their numbers, and on the table as "t"."""
        return {
            "t" if held.resource.kind is Kind.TABLE else held.resource.key: held.mode
            for held in self.locks.locks()
            if held.owner != OTHER and held.resource.tabid == self._name[1]
        }

    def lock(self, number: int, mode: LockMode = LockMode.X, owner: Owner = OTHER) -> None:
        assert self.locks.try_acquire(owner, Resource(*self._name, Kind.TABLE), LockMode.IX)
        assert self.locks.try_acquire(owner, self.row(number), mode)


@pytest.fixture
def table(filled: Engine) -> TableLocks:
    return TableLocks(filled)


def opened(engine: Engine, text: str, **options: object) -> Cursor:
    return engine.open(engine.prepare(text), **options)  # type: ignore[arg-type]


def next_row(engine: Engine, cursor: Cursor) -> tuple[object, ...]:
    (row,), _ = engine.fetch(cursor, 1)
    return row


def code(engine: Engine, cursor: Cursor) -> tuple[int, int]:
    with pytest.raises(SqlError) as caught:
        engine.fetch(cursor, 1)
    return caught.value.sqlcode, caught.value.isamcode


# -- FOR UPDATE --------------------------------------------------------------------------------------------------------


def test_for_update_locks_the_row_that_was_fetched_last(filled: Engine, table: TableLocks) -> None:
    run(filled, "BEGIN WORK")
    cursor = opened(filled, "SELECT a FROM t WHERE a > 3 FOR UPDATE")
    assert next_row(filled, cursor) == (4,)
    assert table.modes == {"t": LockMode.IX, 4: LockMode.U}
    assert next_row(filled, cursor) == (5,)
    assert table.modes == {"t": LockMode.IX, 5: LockMode.U}
    filled.close_cursor(cursor)
    assert 5 not in table.modes


@pytest.mark.parametrize(
    "setting",
    [
        "SET ISOLATION TO COMMITTED READ RETAIN UPDATE LOCKS",
        "SET ENVIRONMENT RETAINUPDATELOCKS 'COMMITTED READ'",
        "SET ENVIRONMENT RETAINUPDATELOCKS 'ALL'",
    ],
)
def test_retained_update_locks_last_until_the_end_of_the_transaction(
    filled: Engine, table: TableLocks, setting: str
) -> None:
    run(filled, setting)
    run(filled, "BEGIN WORK")
    cursor = opened(filled, "SELECT a FROM t FOR UPDATE")
    for number in (1, 2):
        assert next_row(filled, cursor) == (number,)
    filled.close_cursor(cursor)
    assert table.modes == {"t": LockMode.IX, 1: LockMode.U, 2: LockMode.U}


def test_repeatable_read_retains_update_locks(filled: Engine, table: TableLocks) -> None:
    run(filled, "BEGIN WORK")
    run(filled, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    cursor = opened(filled, "SELECT a FROM t FOR UPDATE")
    for number in (1, 2):
        assert next_row(filled, cursor) == (number,)
    assert table.modes == {"t": LockMode.SIX, 1: LockMode.U, 2: LockMode.U}


def test_an_option_of_retained_locks_has_no_other_values(filled: Engine) -> None:
    for text in ("RETAINUPDATELOCKS 'SOME'", "USELASTCOMMITTED 'CURSOR STABILITY'"):
        with pytest.raises(SqlError) as caught:
            run(filled, f"SET ENVIRONMENT {text}")
        assert caught.value.sqlcode == -999


def test_a_locked_row_can_be_fetched_again_later(filled: Engine, table: TableLocks) -> None:
    run(filled, "BEGIN WORK")
    cursor = opened(filled, "SELECT a FROM t FOR UPDATE")
    table.lock(2, LockMode.U)
    assert next_row(filled, cursor) == (1,)
    assert code(filled, cursor) == (-244, -107)
    table.locks.release_all(OTHER)
    assert next_row(filled, cursor) == (2,)


def test_rows_are_read_again_under_their_lock(filled: Engine, table: TableLocks) -> None:
    run(filled, "BEGIN WORK")
    cursor = opened(filled, "SELECT a, b FROM t WHERE a < 5 FOR UPDATE", name="c")
    assert next_row(filled, cursor) == (1, 0)
    run(filled, "UPDATE t SET b = 7 WHERE a = 3")
    run(filled, "DELETE FROM t WHERE a = 2")
    assert next_row(filled, cursor) == (3, 7)
    run(filled, "UPDATE t SET b = 8 WHERE CURRENT OF c")
    run(filled, "UPDATE t SET a = 99 WHERE a = 4")
    assert filled.fetch(cursor, 1) == ([], True)
    assert [row for row in filled.fetch(opened(filled, "SELECT b FROM t WHERE a = 3"), 2)[0]] == [(8,)]


def test_for_update_outside_a_transaction_locks_nothing(filled: Engine, table: TableLocks) -> None:
    cursor = opened(filled, "SELECT a FROM t FOR UPDATE")
    assert next_row(filled, cursor) == (1,)
    assert table.modes == {}


# -- CURSOR STABILITY --------------------------------------------------------------------------------------------------


def test_cursor_stability_locks_the_last_row_of_a_block(filled: Engine, table: TableLocks) -> None:
    run(filled, "SET ISOLATION TO CURSOR STABILITY")
    cursor = opened(filled, "SELECT a FROM t")
    assert filled.fetch(cursor, 3) == ([(1,), (2,), (3,)], False)
    assert table.modes == {"t": LockMode.IS, 3: LockMode.S}
    assert filled.fetch(cursor, 2) == ([(4,), (5,)], False)
    assert table.modes == {"t": LockMode.IS, 5: LockMode.S}
    filled.close_cursor(cursor)
    assert 5 not in table.modes


def test_cursor_stability_reads_its_current_row_as_it_is(filled: Engine) -> None:
    run(filled, "SET ISOLATION TO CURSOR STABILITY")
    cursor = opened(filled, "SELECT a, b FROM t")
    run(filled, "UPDATE t SET b = 5 WHERE a = 2")
    run(filled, "DELETE FROM t WHERE a IN (4, 5)")
    assert filled.fetch(cursor, 2) == ([(1, 0), (2, 5)], False)
    assert filled.fetch(cursor, 3) == ([(3, 0)], False)  # the rest of the block has been deleted
    assert filled.fetch(cursor, 9)[0][-1] == (10, 0)


def test_cursor_stability_meets_the_lock_of_its_row(filled: Engine, table: TableLocks) -> None:
    run(filled, "SET ISOLATION TO CURSOR STABILITY")
    cursor = opened(filled, "SELECT a FROM t")
    table.lock(2)
    assert next_row(filled, cursor) == (1,)
    assert code(filled, cursor) == (-244, -107)
    table.locks.release_all(OTHER)
    assert next_row(filled, cursor) == (2,)


@pytest.mark.parametrize(
    "text", ["SELECT a FROM t ORDER BY a", "SELECT MAX(a) FROM t", "SELECT x.a FROM t x, t y"]
)
def test_results_that_are_not_rows_of_one_table_lock_no_row(
    filled: Engine, table: TableLocks, text: str
) -> None:
    run(filled, "SET ISOLATION TO CURSOR STABILITY")
    next_row(filled, opened(filled, text))
    assert table.modes == {}
