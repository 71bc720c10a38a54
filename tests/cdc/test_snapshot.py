"""Rows of a snapshot and changes of writers, applied strictly: the copy is the table."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

import aioifx
import aioifx.server
from aioifx import Change, Changes, Column, InterfaceError, Position
from aioifx.cdc.records import CommittedTransaction, Table, utc
from aioifx.cdc.snapshot import Snapshot, _Chunk, _order_of, _Progress
from aioifx.codecs.cdc_rows import RowLayout
from aioifx.codecs.text import code_set_of
from aioifx.rows import record_maker
from aioifx.sqltypes import SqlType, TypeCode
from tests.codecs.samples import BOOLEAN, DATE, INTEGER, VARCHAR, decimal_type

LATIN1 = code_set_of("en_US.8859-1")
COLUMNS = (Column("id", INTEGER), Column("name", VARCHAR))
NAME = "demo:informix.t"
SEED = """
create table t (id integer, kind char(3), name varchar(40), primary key (kind, id));
create table u (name varchar(20) primary key, day date);
"""


@pytest.fixture
async def dsn() -> AsyncIterator[str]:
    async with aioifx.server.running(seed=SEED, server_name="ol_test") as address:
        yield address


class Copy:
    """Tables that changes are applied to: an insert must be new, an update and a delete must be known."""

    def __init__(self, **keys: tuple[str, ...]) -> None:
        self._keys = keys
        self.rows: dict[str, dict[Any, Any]] = {name: {} for name in keys}

    def apply(self, transaction: CommittedTransaction) -> None:
        for change in transaction:
            name = change.table.rpartition(".")[2]
            rows, key = self.rows[name], self._keys[name]
            if change.kind == "truncate":
                rows.clear()
            if change.before is not None:
                assert rows.pop(tuple(change.before[part] for part in key)) == change.before
            if change.after is not None:
                place = tuple(change.after[part] for part in key)
                assert place not in rows, change
                rows[place] = change.after


async def write(dsn: str, number: int, count: int, written: asyncio.Event) -> None:
    """Transactions of one writer, on all keys."""
    source = random.Random(number)
    async with aioifx.connect(dsn, lock_wait=30) as conn:
        for step in range(count):
            try:
                async with conn.transaction():
                    for _ in range(source.randint(1, 3)):
                        await change_one(conn, source, f"{number}.{step}")
                    if source.random() < 0.1:
                        raise ZeroDivisionError
            except (aioifx.IntegrityError, aioifx.LockError, ZeroDivisionError):
                pass
            written.set()


async def change_one(conn: Any, source: random.Random, name: str) -> None:
    kind, key = source.choice("abc"), source.randint(1, 60)
    match source.randrange(4):
        case 0:
            await conn.execute("insert into t values (?, ?, ?)", key, kind, name)
        case 1:
            await conn.execute("delete from t where id = ? and kind = ?", key, kind)
        case 2:
            await conn.execute("update t set name = ? where id = ? and kind = ?", name, key, kind)
        case _:
            other = source.randint(1, 60), source.choice("abc")
            await conn.execute("update t set id = ?, kind = ? where id = ? and kind = ?", *other, key, kind)


async def followed(changes: Changes, copy: Copy, until: Position | None = None) -> None:
    """Apply transactions up to the end of the snapshot, or up to a commit."""
    async for transaction in changes:
        copy.apply(transaction)
        reached = transaction.position
        if reached is not None and (until is None or reached.commit >= until.commit):
            return


@pytest.mark.exhaustive
@pytest.mark.parametrize(("size", "count"), [(5, 10), (7, 40), (60, 80)])
async def test_rows_and_changes_have_neither_gap_nor_double(dsn: str, size: int, count: int) -> None:
    written = asyncio.Event()
    async with aioifx.connect(dsn) as conn:
        await conn.executemany(
            "insert into t values (?, ?, ?)",
            [(key, kind, "old") for kind in "abc" for key in range(1, 61, 2)],
        )
        await conn.executemany("insert into u values (?, ?)", [(f"n{key}", None) for key in range(5)])
        tables = ["informix.t", "informix.u"]
        copy = Copy(t=("kind", "id"), u=("name",))
        async with aioifx.changes(dsn, tables, snapshot=True, chunk_size=size) as changes:
            writers = [asyncio.ensure_future(write(dsn, number, count, written)) for number in range(4)]
            await written.wait()
            await followed(changes, copy)
            await asyncio.gather(*writers)
            await conn.execute("insert into u values ('last', ?)", date(2026, 11, 28))
            async for transaction in changes:
                copy.apply(transaction)
                if ("last",) in copy.rows["u"]:
                    break
            position = transaction.position
        assert sorted(copy.rows["t"].values()) == sorted(await conn.fetch("select * from t"))
        assert sorted(copy.rows["u"].values()) == sorted(await conn.fetch("select * from u"))
        await conn.execute("delete from u where name = 'last'")
        async with aioifx.changes(dsn, tables, start=position) as changes:
            copy.apply(await anext(changes))
        assert sorted(copy.rows["u"].values()) == sorted(await conn.fetch("select * from u"))


@pytest.mark.exhaustive
async def test_an_empty_table_has_a_snapshot_and_a_position(dsn: str) -> None:
    async with aioifx.connect(dsn) as conn:
        async with aioifx.changes(dsn, ["informix.u"], snapshot=True) as changes:
            only = await anext(changes)
        assert (len(only), only.time) == (0, None) and only.position is not None
        await conn.execute("insert into u values ('a', null)")
        async with aioifx.changes(dsn, ["informix.u"], start=only.position) as changes:
            [change] = await anext(changes)
            assert (change.kind, change.after) == ("insert", ("a", None))


@pytest.mark.parametrize(
    ("sql", "capture", "message"),
    [
        ("create table k (id int)", "informix.k", "snapshot: demo:informix.k has no primary key"),
        ("create table k (id int, v int, primary key (id))", aioifx.Capture("informix.k", ["v"]),
         "expected the key 'id' of demo:informix.k among its columns"),
        ("create table k (id int, b blob, primary key (id))", "informix.k", "expected no BLOB"),
        ("create table k (id boolean, primary key (id))", "informix.k", "a key of BOOLEAN, 'id'"),
        ("create table k (id datetime month to day, primary key (id))", "informix.k", "a key of DATETIME"),
    ],
)  # fmt: skip
async def test_a_snapshot_needs_a_key(dsn: str, sql: str, capture: Any, message: str) -> None:
    async with aioifx.connect(dsn) as conn:
        await conn.execute(sql)
    with pytest.raises(InterfaceError, match=message):
        async with aioifx.changes(dsn, [capture], snapshot=True):
            raise AssertionError


# -- windows, without a server ----------------------------------------------------------------------------------------


def row(key: int, name: str = "old") -> Any:
    return record_maker(COLUMNS)((key, name))


def snapshot_of(
    *chunks: tuple[list[int], int | None], delivered: int | None = None
) -> tuple[Snapshot, _Progress]:
    """A snapshot with pending chunks: their keys, and the last one; they ended in the seconds 10, 20, ..."""
    table = Table(NAME, RowLayout(COLUMNS, LATIN1), record_maker(COLUMNS))
    progress = _Progress(None, table, ("id",), lambda each: (each[0],))  # type: ignore[arg-type]
    progress.delivered = None if delivered is None else (delivered,)
    for place, (keys, high) in enumerate(chunks, 1):
        rows = {(key,): row(key) for key in keys}
        progress.pending.append(_Chunk(rows, None if high is None else (high,), 10 * place, float(place)))
        progress.is_read = high is None
    return Snapshot([progress], 10, Position(1, 1, 1)), progress


def changed(seconds: int, *changes: Change) -> CommittedTransaction:
    return CommittedTransaction(Position(1, 2, 2), utc(seconds), changes)


def of(kind: Any, before: Any = None, after: Any = None) -> Change:
    return Change(kind, NAME, before, after, 5)


def delivered_by(snapshot: Snapshot) -> list[Any]:
    output = [
        (transaction.position is not None, [(each.kind, each.before, each.after) for each in transaction])
        for transaction in snapshot.output
    ]
    snapshot.output.clear()
    return output


def test_a_change_goes_where_its_key_is() -> None:
    snapshot, _ = snapshot_of(([5, 6], 6), ([7, 9], 10), delivered=4)
    snapshot.take(
        changed(
            10, of("insert", None, row(3)), of("update", row(5), row(5, "new")), of("delete", row(7)),
            of("insert", None, row(8)), of("insert", None, row(11)), of("delete", row(99)),
            of("update", row(2), row(12)), of("update", row(13), row(4)), of("update", row(1), row(1, "x")),
        )
    )  # fmt: skip
    assert delivered_by(snapshot) == [
        (False, [
            ("insert", None, row(3)), ("delete", row(2), None), ("insert", None, row(4)),
            ("update", row(1), row(1, "x")),
        ])
    ]  # fmt: skip
    snapshot.on_silence(2.0)
    assert delivered_by(snapshot) == [
        (False, [("read", None, row(5, "new")), ("read", None, row(6))]),
        (False, [("read", None, row(8)), ("read", None, row(9))]),
    ]


@pytest.mark.parametrize(
    ("steps", "rows"),
    [
        ([(1, 2), (2, 3)], [2, 3]),  # one UPDATE of both rows, each of which is like the next
        ([(2, 3), (3, 2)], [1, 2]),
        ([(None, 3), (3, None), (1, None)], [2]),
        ([(1, None), (None, 1), (1, 4), (4, None)], [2]),
        ([(None, 3), (3, 4), (4, 3)], [1, 2, 3]),
    ],
)
def test_a_transaction_may_use_a_key_several_times(
    steps: list[tuple[int | None, int | None]], rows: list[int]
) -> None:
    snapshot, _ = snapshot_of(([1, 2], None))
    images = [[None if key is None else row(key) for key in step] for step in steps]
    snapshot.take(changed(5, *(of("update", *pair) for pair in images)))
    snapshot.on_silence(9.0)
    assert delivered_by(snapshot) == [(True, [("read", None, row(key)) for key in rows])]


def test_a_later_commit_or_silence_ends_a_window() -> None:
    snapshot, _ = snapshot_of(([1], 1), ([2], None))
    assert not snapshot.wants_rows
    snapshot.take(changed(10, of("update", row(1), row(1, "a"))))
    snapshot.on_silence(0.5)
    assert delivered_by(snapshot) == []
    snapshot.take(changed(11, of("update", row(1, "a"), row(1, "b"))))
    assert delivered_by(snapshot) == [
        (False, [("read", None, row(1, "a"))]), (False, [("update", row(1, "a"), row(1, "b"))])
    ]  # fmt: skip
    assert not snapshot.is_done
    snapshot.take(changed(21, of("insert", None, row(3))))
    assert snapshot.is_done
    assert delivered_by(snapshot) == [
        (True, [("read", None, row(2))]), (True, [("insert", None, row(3))])
    ]  # fmt: skip


def test_the_last_chunk_has_the_position_before_the_transaction_after_it() -> None:
    snapshot, _ = snapshot_of(([1], None))
    first, second = changed(5, of("insert", None, row(2))), changed(11, of("insert", None, row(3)))
    second.position = Position(2, 4, 3)
    snapshot.take(first)
    snapshot.take(second)
    assert [each.position for each in snapshot.output] == [Position(1, 2, 2), Position(2, 4, 3)]


@pytest.mark.parametrize(("delivered", "kinds"), [(None, []), (0, ["truncate"])])
def test_a_truncated_table_has_no_rows(delivered: int | None, kinds: list[str]) -> None:
    snapshot, _ = snapshot_of(([1], 1), ([2], None), delivered=delivered)
    snapshot.take(changed(5, of("truncate")))
    assert [kind for _, changes in delivered_by(snapshot) for kind, _, _ in changes] == kinds
    snapshot.on_silence(9.0)
    assert delivered_by(snapshot) == [(True, [])]


def test_a_query_continues_behind_the_last_key() -> None:
    _, progress = snapshot_of()
    assert (progress.query(5), progress.parameters()) == (
        "select first 5 id, name from informix.t order by id", []
    )  # fmt: skip
    progress.keys, progress.last = ("id", "name"), (1, "a")
    assert progress.query(5) == (
        "select first 5 id, name from informix.t where (id > ?) or (id = ? and name > ?) order by id, name"
    )
    assert progress.parameters() == [1, 1, "a"]


@pytest.mark.parametrize(
    ("sql_type", "values"),
    [
        (INTEGER, [-1, 0, 5]),
        (decimal_type(10, 2), [Decimal("-1.5"), Decimal("2.25")]),
        (DATE, [date(1900, 1, 1), date(2026, 1, 1)]),
        (SqlType(TypeCode.CHAR, 3), ["A  ", "a\t ", "a  ", "b  ", "é  "]),
        (VARCHAR, ["", "a\n", "a", "ab"]),
    ],
)
def test_keys_are_in_the_order_of_the_server(sql_type: SqlType, values: list[Any]) -> None:
    table = Table(NAME, RowLayout(COLUMNS, LATIN1), record_maker(COLUMNS))
    order = _order_of(Column("k", sql_type), table, LATIN1)
    assert sorted(reversed(values), key=order) == values
    with pytest.raises(InterfaceError, match="a key of BOOLEAN"):
        _order_of(Column("k", BOOLEAN), table, LATIN1)
