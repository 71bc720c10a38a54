"""Cursors with PEP 249's names: blocks on demand, several side by side, what a failure leaves."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from aioifx import rows
from aioifx.errors import ConnectionLost, Deadlock, InterfaceError, UndefinedTable, UniqueViolation
from aioifx.sqltypes import SqlType, TypeCode
from aioifx.wire.opcodes import StatementType
from tests.scripted import (
    ANSI,
    BEGIN,
    C1,
    COMMIT,
    EOT,
    INTEGER,
    PREPARE,
    ROLLBACK,
    Cut,
    Held,
    Turn,
    cancel_at,
    closing,
    column,
    described,
    done,
    error,
    fetching,
    insert_done,
    ints,
    opening,
    raw_row,
    release,
    select_ints,
    takes,
    talking,
)

pytestmark = pytest.mark.usefixtures("tidy")

QUERY = "select c1 from t"
INSERT = "insert into t values(?)"
started: list[Turn] = [(PREPARE, described(2, C1)), (opening(2, hold=True), ints(1, 2) + EOT)]
ended: list[Turn] = [*started, (fetching(2), ints(3, 4, 5) + done(5) + EOT), *closing(2)]
insertion: list[Turn] = [
    (PREPARE, described(3, C1, kind=StatementType.INSERT)),
    ("Id(3) DescribeInput", takes(INTEGER)),
]


async def test_rows_are_fetched_one_by_one_some_at_a_time_and_all_the_rest() -> None:
    async with talking(ended) as (conn, _):
        async with conn.cursor() as cursor:
            assert await cursor.execute(QUERY) is cursor
            assert await cursor.fetchone() == (1,)
            assert await cursor.fetchmany(2) == [(2,), (3,)]
            assert await cursor.fetchall() == [(4,), (5,)]
            assert await cursor.fetchone() is None
            assert await cursor.fetchmany() == []
            assert await cursor.fetchall() == []


async def test_fetchmany_takes_arraysize_and_crosses_blocks() -> None:
    async with talking(ended) as (conn, _):
        cursor = conn.cursor()
        cursor.arraysize = 4
        await cursor.execute(QUERY)
        assert await cursor.fetchmany() == [(1,), (2,), (3,), (4,)]
        assert await cursor.fetchmany(0) == []
        assert await cursor.fetchmany() == [(5,)]
        with pytest.raises(InterfaceError, match="-1"):
            await cursor.fetchmany(-1)


async def test_a_cursor_is_iterated() -> None:
    async with talking(ended) as (conn, _):
        cursor = await conn.cursor(row_factory=rows.dict_row).execute(QUERY)
        assert [row["c1"] async for row in cursor] == [1, 2, 3, 4, 5]


async def test_the_description_is_pep_249s() -> None:
    columns = (
        column(
            "n",
            TypeCode.DECIMAL,
            10 * 256 + 2,
        ),
        column("name", TypeCode.VARCHAR, 20),
        C1,
    )
    row = b"\xc1\x0a\x19\0\0\0" + b"\3abc" + b"\0\0\0\7"
    async with talking(
        (PREPARE, described(2, *columns)), (opening(2, hold=True), raw_row(row) + done(1) + EOT), closing(2)
    ) as (conn, _):
        cursor = conn.cursor()
        assert cursor.description is None and cursor.columns == ()
        await cursor.execute("select n, name, c1 from t")
        description: Any = cursor.description
        assert [entry[0] for entry in description] == ["n", "name", "c1"]
        assert [len(entry) for entry in description] == [7, 7, 7]
        assert description[0][4:] == (10, 2, True)
        assert description[1][2:4] == (20, 20)
        assert description[2][1] == SqlType(TypeCode.INTEGER, 4)
        assert cursor.rowcount == -1 and cursor.lastrowid is None
        assert list(cursor.columns) == list(columns)


async def test_what_an_insert_did_is_told() -> None:
    answer = insert_done(0, 0) + done(1, serial=42) + EOT
    async with talking(insertion, ("Id(3) Bind(1) Execute", answer), release(3)) as (conn, _):
        cursor = await conn.cursor().execute(INSERT, (7,))
        assert (cursor.rowcount, cursor.lastrowid, cursor.description) == (1, 42, None)
        for fetch in (cursor.fetchone, cursor.fetchmany, cursor.fetchall):
            with pytest.raises(InterfaceError, match="no result"):
                await fetch()


async def test_executemany_tells_the_sum() -> None:
    row: Turn = ("Id(3) Bind(1) Execute", done(2) + EOT)
    async with talking(insertion, BEGIN, row, row, COMMIT, release(3)) as (conn, _):
        cursor = await conn.cursor().executemany(INSERT, [[1], [2]])
        assert cursor.rowcount == 4


async def test_several_cursors_are_read_side_by_side() -> None:
    async with talking(
        started,
        (PREPARE, described(3, C1)),
        (opening(3, hold=True), ints(10) + EOT),
        (fetching(2), done(2) + EOT),
        closing(2),
        (fetching(3), ints(20) + done(2) + EOT),
        closing(3),
    ) as (conn, _):
        one, other = await conn.cursor().execute(QUERY), await conn.cursor().execute("select c1 from u")
        assert (await one.fetchone(), await other.fetchone()) == ((1,), (10,))
        assert await one.fetchall() == [(2,)]
        assert await other.fetchall() == [(20,)]


async def test_executing_again_drops_what_was_left() -> None:
    async with talking(started, closing(2), select_ints(2, 9, hold=True)) as (conn, _):
        cursor = await conn.cursor().execute(QUERY)
        await cursor.execute("select c1 from u")
        assert await cursor.fetchall() == [(9,)]


async def test_closing_drops_what_was_left_and_ends_the_cursor() -> None:
    async with talking(started, closing(2)) as (conn, peer):
        async with conn.cursor() as cursor:
            await cursor.execute(QUERY)
        await cursor.close()
        calls: list[Any] = [
            lambda: cursor.execute(QUERY),
            lambda: cursor.executemany(INSERT, []),
            cursor.fetchone,
            cursor.fetchmany,
            cursor.fetchall,
        ]
        for call in calls:
            with pytest.raises(InterfaceError, match="closed"):
                await call()
        assert len(peer.groups) == 4
        assert "closed" in repr(cursor)


async def test_a_cursor_that_is_dropped_is_closed_by_the_next_turn() -> None:
    async with talking(started, closing(2), select_ints(2, 9)) as (conn, _):
        await (await conn.cursor().execute(QUERY)).fetchone()
        assert await conn.fetch(QUERY) == [(9,)]


async def test_tasks_that_share_a_cursor_lose_no_row() -> None:
    async with talking(ended) as (conn, _):
        cursor = await conn.cursor().execute(QUERY)
        got = await asyncio.gather(*(cursor.fetchone() for _ in range(7)))
        assert sorted(row for row in got if row is not None) == [(n,) for n in range(1, 6)]


@pytest.mark.parametrize("params", ["ab", b"ab", {"a": 1}, 7, None])
async def test_parameters_that_are_no_sequence_are_refused_before_anything_is_sent(params: Any) -> None:
    async with talking() as (conn, peer):
        with pytest.raises(InterfaceError, match="sequence"):
            await conn.cursor().execute(INSERT, params)
        assert peer.received == b""


# -- errors -----------------------------------------------------------------------------------------------------------


async def test_a_failed_execute_leaves_no_result() -> None:
    async with talking((PREPARE, error(-206, token="t") + EOT), select_ints(2, 9, hold=True)) as (conn, _):
        cursor = conn.cursor()
        with pytest.raises(UndefinedTable):
            await cursor.execute(QUERY)
        with pytest.raises(InterfaceError, match="no result"):
            await cursor.fetchone()
        assert await (await cursor.execute(QUERY)).fetchall() == [(9,)]


async def test_a_failed_open_leaves_no_result_and_no_statement() -> None:
    async with talking(
        (PREPARE, described(2, C1)),
        (opening(2, hold=True), error(-243, -143) + EOT),
        closing(2),
        select_ints(2, 9),
    ) as (conn, _):
        cursor = conn.cursor()
        with pytest.raises(Deadlock):
            await cursor.execute(QUERY)
        assert cursor.description is None
        with pytest.raises(InterfaceError, match="no result"):
            await cursor.fetchall()
        assert await conn.fetch(QUERY) == [(9,)]


async def test_an_ansi_database_is_committed_behind_a_failed_execute() -> None:
    failed: Turn = (opening(2, hold=True), error(-243, -143) + EOT)
    async with talking((PREPARE, described(2, C1)), failed, closing(2), COMMIT, warnings=ANSI) as (conn, _):
        with pytest.raises(Deadlock):
            await conn.cursor().execute(QUERY)


async def test_a_failed_fetch_does_not_look_like_the_end_of_rows() -> None:
    async with talking(started, (fetching(2), error(-243, -143) + EOT), closing(2)) as (conn, _):
        cursor = await conn.cursor().execute(QUERY)
        with pytest.raises(Deadlock):
            await cursor.fetchall()
        with pytest.raises(InterfaceError, match="a fetch failed"):
            await cursor.fetchone()


async def test_a_row_factory_that_does_not_fit_leaves_nothing_behind() -> None:
    def model(other: int) -> int:
        return other

    async with talking((PREPARE, described(2, C1)), release(2), select_ints(2, 9)) as (conn, _):
        with pytest.raises(InterfaceError, match="row_factory"):
            await conn.cursor(row_factory=rows.class_row(model)).execute(QUERY)
        assert await conn.fetch(QUERY) == [(9,)]


async def test_a_failed_executemany_is_rolled_back() -> None:
    failed: Turn = ("Id(3) Bind(1) Execute", error(-268, -100, token="u") + EOT)
    async with talking(insertion, BEGIN, failed, ROLLBACK, release(3)) as (conn, _):
        cursor = conn.cursor()
        with pytest.raises(UniqueViolation):
            await cursor.executemany(INSERT, [(1,)])
        assert cursor.rowcount == -1


async def test_a_connection_that_breaks_in_a_fetch_is_lost() -> None:
    async with talking(started, (fetching(2), Cut())) as (conn, _):
        cursor = await conn.cursor().execute(QUERY)
        with pytest.raises(ConnectionLost):
            await cursor.fetchall()
        await cursor.close()


# -- cancellation -----------------------------------------------------------------------------------------------------


async def test_a_cancelled_fetch_does_not_look_like_the_end_of_rows() -> None:
    held = Held(ints(3) + EOT)
    async with talking(started, (fetching(2), held), closing(2), select_ints(2, 9)) as (conn, _):
        cursor = await conn.cursor().execute(QUERY)
        await cursor.fetchmany(2)
        await cancel_at(held, cursor.fetchone())
        held.release()
        with pytest.raises(InterfaceError, match="a fetch failed"):
            await cursor.fetchone()
        assert await conn.fetch(QUERY) == [(9,)]


async def test_a_cancelled_execute_leaves_no_result() -> None:
    held = Held(ints(3) + EOT)
    async with talking(
        (PREPARE, described(2, C1)), (opening(2, hold=True), held), closing(2), select_ints(2, 9, hold=True)
    ) as (
        conn,
        _,
    ):
        cursor = conn.cursor()
        await cancel_at(held, cursor.execute(QUERY))
        held.release()
        with pytest.raises(InterfaceError, match="no result"):
            await cursor.fetchall()
        assert await (await cursor.execute(QUERY)).fetchall() == [(9,)]
