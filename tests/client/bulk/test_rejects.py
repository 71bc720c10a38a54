"""Rows that a load leaves out."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aioifx
from aioifx import CsvFormat, Reject
from aioifx.client.bulk.rejects import Rejects
from aioifx.client.execution.insert_cursor import InsertCursor
from aioifx.errors import DatabaseError, DataError, InterfaceError, UndefinedColumn
from aioifx.server import ServerOptions, serve
from aioifx.server.sqlite.databases import LogMode
from aioifx.sqltypes import Row
from tests.counting import lines_run
from tests.sampling import examples

HEADER = CsvFormat(header=True)


@given(st.sets(st.integers(0, 30), max_size=15))
@examples(50)
def test_positions_are_those_of_rows_that_are_not_left_out(left_out: set[int]) -> None:
    rejects = Rejects(lambda reject: None)
    for index in sorted(left_out, reverse=True):
        rejects.leave_out(DatabaseError(), index, ())
    kept = [index for index in range(60) if index not in left_out]
    assert [rejects.index_of(position) for position in range(len(kept))] == kept


def test_an_index_among_many_rows_left_out_is_found_by_search() -> None:
    rejects = Rejects(lambda reject: None)
    for index in range(20_000):
        rejects.leave_out(DatabaseError(), index, ())
    assert lines_run(lambda: rejects.index_of(5)) < 50


@pytest.fixture(params=["logged", "unlogged", "ansi"])
async def conn(request: pytest.FixtureRequest) -> AsyncIterator[aioifx.Connection]:
    """A connection to a database of each log mode, with a table."""
    async with (
        serve(ServerOptions(log_mode=LogMode(request.param))) as server,
        aioifx.connect(server.dsn) as conn,
    ):
        await conn.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR(4) NOT NULL)")
        if conn.is_ansi:
            await conn.commit()
        yield conn


@pytest.mark.parametrize("block", [None, 1, 3])
@pytest.mark.parametrize("source", ["file", "chunks"])
async def test_each_is_reported_once_with_its_reason(
    source: str, block: int | None, conn: aioifx.Connection
) -> None:
    lines = [f"{number},n" for number in range(40)]
    wrong = {2: "x,n", 3: "2", 9: '"9"9,n', 10: "1,n", 25: "25,toolong", 39: "39,"}
    for number, line in wrong.items():
        lines[number] = line
    text = "id,name\n" + "\n".join(lines)

    async def chunks() -> AsyncIterator[str]:
        for start in range(0, len(text), 7):
            yield text[start : start + 7]

    rejected: list[Reject] = []
    rows: Any = io.StringIO(text, newline="") if source == "file" else chunks()
    done = await conn.load("t", rows, format=HEADER, block=block, on_reject=rejected.append)
    assert done.rowcount == 34
    assert [row[0] for row in await conn.fetch("SELECT id FROM t ORDER BY id")] == [
        number for number in range(40) if number not in wrong
    ]
    rejected.sort(key=lambda reject: reject.error.row_index or 0)
    assert [reject.error.row_index for reject in rejected] == [*wrong]
    for reject in rejected:
        number = (reject.error.row_index or 0) + 2
        assert str(reject.error).startswith(
            (f"record {number}, line {number}: ", f"record {number}, line {number}, ")
        )
        assert [column.name for column in reject.columns] == ["id", "name"]
    assert [reject.row for reject in rejected] == [
        ["x", "n"], ["2"], ['"9"9,n'], ["1", "n"], ["25", "toolong"], ["39", None],
    ]  # fmt: skip


async def test_rows_that_are_values_are_reported_as_they_are(conn: aioifx.Connection) -> None:
    rejected: list[Reject] = []
    rows = [(1, "a"), ("x", "b"), (1, "c"), (2, "d")]
    assert (await conn.load("t", rows, on_reject=rejected.append)).rowcount == 2
    assert sorted((reject.error.row_index, *reject.row) for reject in rejected) == [
        (1, "x", "b"),
        (2, 1, "c"),
    ]


async def test_an_exception_ends_the_load(conn: aioifx.Connection) -> None:
    def refuse(reject: Reject) -> None:
        raise DataError("enough")

    rows: list[list[tuple[Any, str]]] = [[(1, "a"), ("x", "b")], [(1, "a"), (1, "b")]]
    for some in rows:
        with pytest.raises(DataError, match=r"^enough"):
            await conn.load("t", some, on_reject=refuse)
        left = 1 if conn.log_mode == "unlogged" else 0  # of the block before
        assert await conn.fetchval("SELECT COUNT(*) FROM t") == left
        await conn.execute("DELETE FROM t WHERE id > 0")
        if conn.is_ansi:
            await conn.commit()


async def test_all_rows_may_be_rejected(conn: aioifx.Connection) -> None:
    rejected: list[Reject] = []
    text = "id,name\n" + "x,y\n" * 3000
    done = await conn.load("t", io.StringIO(text, newline=""), format=HEADER, on_reject=rejected.append)
    assert (done.rowcount, len(rejected)) == (0, 3000)


async def test_rows_before_a_rejected_one_are_encoded_no_more_often_if_they_are_many(
    conn: aioifx.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode, encoded = InsertCursor.encode, 0

    def counted(self: InsertCursor, given: Sequence[Row], first: int, *more: Any) -> bytes | bytearray:
        nonlocal encoded
        end = first + len(given)
        try:
            return encode(self, given, first, *more)
        except DataError as error:
            end = (error.row_index or 0) + 1
            raise
        finally:
            encoded += end - first

    monkeypatch.setattr(InsertCursor, "encode", counted)
    rejected: list[Reject] = []
    source = [(number if number % 100 else "x", "a") for number in range(1000)]
    done = await conn.load("t", source, on_reject=rejected.append)
    assert (done.rowcount, [reject.error.row_index for reject in rejected]) == (990, [*range(0, 1000, 100)])
    assert await conn.fetchval("SELECT COUNT(*) FROM t") == 990
    assert encoded < 3 * 1000


async def test_it_is_a_function_that_is_not_async(conn: aioifx.Connection) -> None:
    async def wrong(reject: Reject) -> None: ...

    for function in (wrong, 1):
        with pytest.raises(InterfaceError, match=r"^on_reject: expected a function"):
            await conn.load("t", [(1, "a")], on_reject=function)  # type: ignore[arg-type]


async def test_an_unknown_column_is_named_with_a_similar_one(conn: aioifx.Connection) -> None:
    with pytest.raises(
        UndefinedColumn, match=r"^header: table t has no column nam; did you mean 'name'\? \(SQLCODE -217\)$"
    ):
        await conn.load("t", io.StringIO("id,nam\n1,a\n", newline=""), format=HEADER)
    with pytest.raises(UndefinedColumn, match=r"^columns: table t has no column zzz"):
        await conn.load("t", [(1,)], columns=["zzz"])
    assert (await conn.load("t", [(1, "a")])).rowcount == 1


async def test_large_values_before_a_rejected_one_are_read_once(conn: aioifx.Connection) -> None:
    await conn.execute("CREATE TABLE large (id INTEGER, body TEXT, data BYTE)")
    rejected: list[Reject] = []
    rows = [
        (1, io.StringIO("one"), io.BytesIO(b"1")),
        (2, "two", 5),  # no bytes
        (3, io.StringIO("three"), None),
        ("x", "four", b"4"),
        (5, None, io.BytesIO(b"5")),
    ]
    await conn.load("large", rows, on_reject=rejected.append)
    assert [(each.error.row_index, each.row) for each in rejected] == [(1, rows[1]), (3, rows[3])]
    assert await conn.fetch("SELECT id, body, data FROM large ORDER BY id") == [
        (1, "one", b"1"),
        (3, "three", None),
        (5, None, b"5"),
    ]
