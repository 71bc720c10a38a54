"""Cursors with PEP 249's names: blocks on demand, several side by side, what a failure leaves."""

from __future__ import annotations

import asyncio
import gc
import random
from collections import deque
from functools import partial
from typing import Any

import pytest

import aioifx
import aioifx.server
from aioifx import rows
from aioifx.client.api.connection import Connection
from aioifx.client.api.cursor import Cursor, fetch_block
from aioifx.client.execution.stream import Stream
from aioifx.errors import (
    ConnectionLost,
    DatabaseError,
    Deadlock,
    InterfaceError,
    ProgrammingError,
    UndefinedTable,
    UniqueViolation,
)
from aioifx.sqltypes import SqlType, TypeCode
from aioifx.testing.messages import (
    ANSI,
    EOT,
    LOGGED,
    UNLOGGED,
    column,
    described,
    done,
    error,
    executed,
    insert_done,
    ints,
    raw_row,
    takes,
)
from aioifx.testing.script import (
    BEGIN,
    COMMIT,
    PREPARE,
    ROLLBACK,
    Chunking,
    Delayed,
    Disconnect,
    Exchange,
    closing,
    fetching,
    opening,
    release,
    select_ints,
)
from aioifx.wire.opcodes import StatementType
from aioifx.wire.requests import CurName
from tests.scripted import C1, CHUNKINGS, INTEGER, cancel_at, in_one_group, played, talking, until

QUERY = "select c1 from t"
INSERT = "insert into t values(?)"
started: list[Exchange] = [(PREPARE, described(2, C1)), (opening(2, hold=True), ints(1, 2) + EOT)]
ended: list[Exchange] = [*started, (fetching(2), ints(3, 4, 5) + done(5) + EOT), *closing(2)]
insertion: list[Exchange] = [
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


async def test_a_block_is_what_is_left_of_it_or_the_next_one() -> None:
    async with talking(ended) as (conn, _):
        cursor = await conn.cursor().execute(QUERY)
        assert cursor.is_fetching and cursor.result is None
        assert await cursor.fetchone() == (1,)
        assert await fetch_block(cursor) == [(2,)]
        assert cursor.rownumber == 2
        assert await fetch_block(cursor) == [(3,), (4,), (5,)]
        assert not cursor.is_fetching
        assert await fetch_block(cursor) == []


async def test_a_cursor_is_iterated() -> None:
    async with talking(ended) as (conn, _):
        cursor = await conn.cursor(row_factory=rows.dict_row).execute(QUERY)
        assert [row["c1"] async for row in cursor] == [1, 2, 3, 4, 5]


async def test_the_description_is_pep_249s() -> None:
    columns = (column("n", TypeCode.DECIMAL, 10 * 256 + 2), column("name", TypeCode.VARCHAR, 20), C1)
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


async def test_the_result_of_an_insert_is_returned() -> None:
    answer = insert_done(0, 0) + done(1, serial=42) + EOT
    async with talking(insertion, ("Id(3) Bind(1) Execute", answer), release(3)) as (conn, _):
        cursor = await conn.cursor().execute(INSERT, (7,))
        assert (cursor.rowcount, cursor.lastrowid, cursor.description) == (1, 42, None)
        assert cursor.result is not None and cursor.result.serial == 42 and not cursor.is_fetching
        for fetch in (cursor.fetchone, cursor.fetchmany, cursor.fetchall, partial(fetch_block, cursor)):
            with pytest.raises(InterfaceError, match="no result"):
                await fetch()


async def test_executemany_returns_the_sum() -> None:
    row: Exchange = ("Id(3) Bind(1) Execute", done(2) + EOT)
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
    async with talking(started, closing(2)) as (conn, _):
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
        assert "closed" in repr(cursor)


async def test_a_cursor_that_is_dropped_is_closed_by_the_loop() -> None:
    async with talking(started, closing(2), select_ints(2, 9)) as (conn, peer):
        await (await conn.cursor().execute(QUERY)).fetchone()
        gc.collect()
        await until(lambda: len(peer.groups) == 4)
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


# -- which row comes next, and what the cursor is called ---------------------------------------------------------------


async def test_rownumber_is_that_of_the_next_row() -> None:
    async with talking(ended) as (conn, _):
        cursor = conn.cursor()
        assert cursor.rownumber is None
        await cursor.execute(QUERY)
        assert cursor.rownumber == 0
        await cursor.fetchone()
        assert cursor.rownumber == 1
        await cursor.fetchmany(2)
        assert cursor.rownumber == 3
        await cursor.fetchall()
        assert await cursor.fetchone() is None and cursor.rownumber == 5
        await cursor.close()
        assert cursor.rownumber is None


async def test_rownumber_begins_again_with_each_statement() -> None:
    async with talking(ended, ended) as (conn, _):
        cursor = conn.cursor()
        for _ in range(2):
            await cursor.execute(QUERY)
            assert cursor.rownumber == 0
            await cursor.fetchall()
            assert cursor.rownumber == 5


async def test_the_name_is_set_while_the_cursor_is_open_at_the_server() -> None:
    async with talking(ended) as (conn, peer):
        cursor = conn.cursor()
        assert cursor.name is None
        await cursor.execute(QUERY)
        assert cursor.name is not None
        assert peer.requests[1][1] == CurName(cursor.name.encode())
        await cursor.fetchall()
        assert cursor.name is None


@pytest.mark.parametrize("sql", ["select c1 from t for update", "SELECT c1 FROM t FOR\n UPDATE OF c1"])
async def test_a_cursor_for_update_stays_open_until_a_row_after_the_last_is_requested(sql: str) -> None:
    update: Exchange = ("Command Describe Execute Release", executed(0, StatementType.UPDATE_CURRENT, 1))
    row: Exchange = (opening(2), ints(1) + EOT)
    last: Exchange = (fetching(2), ints(2) + done(2) + EOT)
    end: Exchange = (fetching(2), done(2) + EOT)
    async with talking(BEGIN, (PREPARE, described(2, C1)), row, last, update, end, closing(2), COMMIT) as (
        conn,
        peer,
    ):
        async with conn.transaction():
            cursor = await conn.cursor().execute(sql)
            name = cursor.name
            assert await cursor.fetchmany(2) == [(1,), (2,)]
            assert cursor.name == name is not None
            await conn.execute(f"update t set c1 = 0 where current of {name}")
            assert await cursor.fetchone() is None
            assert cursor.name is None
        assert peer.statements[-1].endswith(b"current of _ifxc0000000000001")


@pytest.mark.parametrize("end", [EOT, done() + EOT, done(3) + EOT, error(100) + EOT])
async def test_rows_for_update_may_come_one_by_one_each_with_its_count(end: bytes) -> None:
    """JDBC stops at the first count."""
    rows: list[Exchange] = [(opening(2), ints(1) + done(1) + EOT), (fetching(2), ints(2) + done(2) + EOT)]
    script = [BEGIN, (PREPARE, described(2, C1)), *rows, (fetching(2), end), *closing(2), COMMIT]
    async with talking(script) as (conn, _):
        async with conn.transaction():
            assert await conn.fetch("select c1 from t for /* all of it */ update") == [(1,), (2,)]


async def test_a_cursor_for_update_that_the_server_has_closed_has_no_name() -> None:
    answer = ints(1) + b"\0\x0a" + done(1) + EOT
    async with talking((PREPARE, described(2, C1)), (opening(2, hold=True), answer), release(2)) as (conn, _):
        cursor = await conn.cursor().execute("select c1 from t for update")
        with pytest.raises(InterfaceError, match="optofc=False"):
            _ = cursor.name
        assert await cursor.fetchall() == [(1,)]


# -- hold -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("warnings", "hold", "in_transaction", "is_held"),
    [
        (LOGGED, False, False, True),
        (LOGGED, True, False, True),
        (LOGGED, False, True, False),
        (LOGGED, True, True, True),
        (ANSI, False, True, False),
        (ANSI, True, True, True),
        (UNLOGGED, False, False, False),
        (UNLOGGED, True, False, False),
    ],
)
@pytest.mark.parametrize("scroll", [False, True], ids=["forward", "scroll"])
async def test_hold_is_sent_where_a_transaction_may_end_before_the_cursor(
    warnings: int, hold: bool, in_transaction: bool, is_held: bool, scroll: bool
) -> None:
    words = f"CurName {'Scroll ' * scroll}{'Hold ' * is_held}Open"
    opened: Exchange = (f"Id(2) {words}", EOT) if scroll else (f"Id(2) {words} Id(2) Fetch", ints(1) + EOT)
    script: list[Exchange] = [(PREPARE, described(2, C1)), opened, *closing(2)]
    if in_transaction:
        script = [*([BEGIN] if warnings == LOGGED else []), *script, COMMIT]
    async with talking(script, warnings=warnings) as (conn, _):
        transaction = conn.transaction()
        if in_transaction:
            await transaction.start()
        async with conn.cursor(scroll=scroll, hold=hold) as cursor:
            await cursor.execute(QUERY)
        if in_transaction:
            await transaction.commit()


def _begun_first(script: list[Exchange]) -> list[Exchange]:
    """JDBC begins the transaction after the PREPARE, and reads VARCHAR columns in a group of their own."""
    prepare, begin, *rest = in_one_group(script)
    return [begin, prepare, *rest]


@pytest.mark.parametrize("chunks", CHUNKINGS, ids=lambda chunks: chunks.__name__)
async def test_a_held_cursor_survives_a_commit_as_jdbcs_does(chunks: Chunking) -> None:
    script = _begun_first(played("select", "holdable"))
    async with talking(script, chunks=chunks, fetch_size=4096) as (conn, _):
        cursor = conn.cursor(hold=True)
        async with conn.transaction():
            await cursor.execute("select rows_200 from t")
            assert (await cursor.fetchmany(1))[0][0] == 1
        assert [row[0] for row in await cursor.fetchall()] == [*range(2, 201)]


@pytest.mark.parametrize("chunks", CHUNKINGS, ids=lambda chunks: chunks.__name__)
async def test_a_held_cursor_of_one_block_is_closed_with_it(chunks: Chunking) -> None:
    """A deliberate difference: JDBC closes it with its result set, after the COMMIT; we do after its last block."""
    begin, prepare, opened, commit, *closed = _begun_first(played("select", "holdable_int"))
    async with talking(begin, prepare, opened, closed, commit, chunks=chunks, fetch_size=4096) as (conn, _):
        cursor = conn.cursor(hold=True)
        async with conn.transaction():
            await cursor.execute("select c1 from t")
        assert await cursor.fetchall() == [(1,)]


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


async def test_an_ansi_database_is_committed_after_a_failed_execute() -> None:
    failed: Exchange = (opening(2, hold=True), error(-243, -143) + EOT)
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
    failed: Exchange = ("Id(3) Bind(1) Execute", error(-268, -100, token="u") + EOT)
    async with talking(insertion, BEGIN, failed, ROLLBACK, release(3)) as (conn, _):
        cursor = conn.cursor()
        with pytest.raises(UniqueViolation):
            await cursor.executemany(INSERT, [(1,)])
        assert cursor.rowcount == -1


async def test_a_connection_that_breaks_in_a_fetch_is_lost() -> None:
    async with talking(started, (fetching(2), Disconnect())) as (conn, _):
        cursor = await conn.cursor().execute(QUERY)
        with pytest.raises(ConnectionLost):
            await cursor.fetchall()
        await cursor.close()


# -- cancellation -----------------------------------------------------------------------------------------------------


async def test_a_cancelled_fetch_does_not_look_like_the_end_of_rows() -> None:
    held = Delayed(ints(3) + EOT)
    async with talking(started, (fetching(2), held), closing(2), select_ints(2, 9)) as (conn, _):
        cursor = await conn.cursor().execute(QUERY)
        await cursor.fetchmany(2)
        await cancel_at(held, cursor.fetchone())
        held.release()
        with pytest.raises(InterfaceError, match="a fetch failed"):
            await cursor.fetchone()
        assert await conn.fetch(QUERY) == [(9,)]


async def test_a_cancelled_execute_leaves_no_result() -> None:
    held = Delayed(ints(3) + EOT)
    async with talking(
        (PREPARE, described(2, C1)), (opening(2, hold=True), held), closing(2), select_ints(2, 9, hold=True)
    ) as (conn, _):
        cursor = conn.cursor()
        await cancel_at(held, cursor.execute(QUERY))
        held.release()
        with pytest.raises(InterfaceError, match="no result"):
            await cursor.fetchall()
        assert await (await cursor.execute(QUERY)).fetchall() == [(9,)]


# -- on the embedded server -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["commit", "rollback"])
async def test_a_held_cursor_outlives_its_transaction_and_another_does_not(dsn: str, end: str) -> None:
    async with aioifx.connect(dsn, fetch_size=4096) as conn:
        await numbered(conn, 1500)
        transaction = conn.transaction()
        await transaction.start()
        held, bound = conn.cursor(hold=True), conn.cursor()
        for cursor in (held, bound):
            await cursor.execute("SELECT n FROM t ORDER BY n")
            assert await cursor.fetchone() == (0,)
        await getattr(transaction, end)()
        assert await held.fetchall() == [(n,) for n in range(1, 1500)]
        with pytest.raises(DatabaseError) as caught:
            await bound.fetchall()
        assert caught.value.sqlcode == -267


async def numbered(conn: Connection[Any], count: int) -> None:
    """Table t with the numbers below *count*."""
    await conn.execute("CREATE TABLE t (n INTEGER)")
    await conn.executemany("INSERT INTO t VALUES (?)", ((n,) for n in range(count)))


async def test_where_current_of_names_a_cursor(dsn: str) -> None:
    # Without OPTOFC: with it the server closes a cursor with its last row, which is then no longer current.
    async with aioifx.connect(dsn, environment={"OPTOFC": "0"}) as conn:
        await numbered(conn, 9)
        async with conn.transaction(), conn.cursor() as cursor:
            await cursor.execute("SELECT n FROM t FOR UPDATE")
            while (row := await cursor.fetchone()) is not None:
                if row[0] % 3:
                    await conn.execute(f"UPDATE t SET n = ? WHERE CURRENT OF {cursor.name}", row[0] * 10)
                else:
                    await conn.execute(f"DELETE FROM t WHERE CURRENT OF {cursor.name}")
            with pytest.raises(ProgrammingError) as caught:
                await conn.execute("DELETE FROM t WHERE CURRENT OF _ifxc0000000000001")
            assert caught.value.sqlcode == -507
        assert await conn.fetch("SELECT n FROM t ORDER BY n") == [(n * 10,) for n in (1, 2, 4, 5, 7, 8)]


async def test_the_name_of_a_cursor_that_the_server_has_closed_names_the_option(dsn: str) -> None:
    async with aioifx.connect(dsn) as conn:
        await numbered(conn, 2)
        async with conn.transaction(), conn.cursor() as cursor:
            assert cursor.name is None
            await cursor.execute("SELECT n FROM t FOR UPDATE")
            assert await cursor.fetchone() == (0,)
            await conn.execute(f"UPDATE t SET n = 10 WHERE CURRENT OF {cursor.name}")
            assert await cursor.fetchone() == (1,)
            with pytest.raises(InterfaceError, match="optofc=False"):
                _ = cursor.name
            await cursor.execute("SELECT n FROM t")
            assert cursor.name is None  # its rows cannot be changed, so nothing is lost
        assert cursor.name is None
        assert await conn.fetch("SELECT n FROM t ORDER BY n") == [(1,), (10,)]
    async with aioifx.connect(dsn, optofc=False) as conn:
        async with conn.transaction(), conn.cursor() as cursor:
            await cursor.execute("SELECT n FROM t FOR UPDATE")
            while await cursor.fetchone() is not None:
                await conn.execute(f"UPDATE t SET n = n + 1 WHERE CURRENT OF {cursor.name}")
        assert await conn.fetch("SELECT n FROM t ORDER BY n") == [(2,), (11,)]


@pytest.mark.parametrize("quirks", [["error-100"], ["error-100", "row-by-row"], ["done-with-each-block"]])
async def test_the_last_row_is_current_however_the_end_is_reported(quirks: list[str]) -> None:
    async with (
        aioifx.server.running(quirks=quirks) as dsn,
        aioifx.connect(dsn, environment={"OPTOFC": "0"}) as conn,
    ):
        await numbered(conn, 3)
        async with conn.transaction(), conn.cursor() as cursor:
            await cursor.execute("SELECT n FROM t FOR UPDATE")
            while await cursor.fetchone() is not None:
                await conn.execute(f"UPDATE t SET n = n * 10 WHERE CURRENT OF {cursor.name}")
        assert await conn.fetch("SELECT n FROM t ORDER BY n") == [(0,), (10,), (20,)]


@pytest.mark.parametrize("kind", ["SERIAL", "SERIAL8", "BIGSERIAL"])
async def test_the_serial_value_of_the_last_row_is_returned(dsn: str, kind: str) -> None:
    start = 7 if kind == "SERIAL" else 5_000_000_000
    async with aioifx.connect(dsn) as conn, conn.cursor() as cursor:
        await cursor.execute(f"CREATE TABLE s (id {kind}({start}), name VARCHAR(20))")
        assert rowcount_and_serial(cursor) == (0, None)
        await cursor.execute("INSERT INTO s (name) VALUES (?)", ("a",))
        assert rowcount_and_serial(cursor) == (1, start)
        await cursor.execute("INSERT INTO s (name) VALUES ('b')")
        assert cursor.lastrowid == start + 1
        await cursor.executemany("INSERT INTO s (name) VALUES (?)", [(name,) for name in "cdef"])
        assert rowcount_and_serial(cursor) == (4, start + 5)
        await cursor.execute("UPDATE s SET name = 'x'")
        assert rowcount_and_serial(cursor) == (6, None)
        await cursor.execute("SELECT id FROM s ORDER BY id")
        assert cursor.lastrowid is None
        assert [row[0] async for row in cursor] == [*range(start, start + 6)]


def rowcount_and_serial(cursor: Cursor[Any]) -> tuple[int, int | None]:
    return cursor.rowcount, cursor.lastrowid


def test_there_is_no_second_result_set() -> None:
    assert not hasattr(Cursor, "nextset")


class Reader:
    """A cursor or a stream, and the numbers that it still owes."""

    def __init__(self, rows: Cursor[Any] | Stream[Any], size: int, *, jumps: bool = False) -> None:
        self.rows = rows
        self.jumps = jumps
        self.owed = deque(range(size))

    async def read(self, wanted: int) -> None:
        """Take some rows; after the last there are none."""
        if isinstance(self.rows, Cursor):
            got = await self.rows.fetchmany(wanted)
        else:
            got = []
            while len(got) < wanted and (row := await anext(self.rows, None)) is not None:
                got.append(row)
        due = min(wanted, len(self.owed))
        assert got == [(self.owed.popleft(),) for _ in range(due)]

    async def jump(self, size: int, index: int) -> None:
        """Go elsewhere, if it can be done."""
        if isinstance(self.rows, Cursor) and self.jumps and index < size:
            await self.rows.scroll(index, "absolute")
            self.owed = deque(range(index, size))


NUMBERS = "SELECT n FROM t WHERE n < ? ORDER BY n"


async def reader(conn: Connection[Any], number: int, size: int) -> Reader:
    """A stream, or a cursor of one kind or another."""
    match number % 4:
        case 0:
            return Reader(conn.stream(NUMBERS, size), size)
        case 1:
            cursor = conn.cursor(scroll=True, hold=True)
            return Reader(await cursor.execute(NUMBERS, (size,)), size, jumps=True)
        case _:
            return Reader(await conn.cursor(hold=number % 4 == 2).execute(NUMBERS, (size,)), size)


@pytest.mark.exhaustive
@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("log_mode", ["logged", "ansi", "unlogged"])
async def test_fifty_cursors_and_streams_are_read_alternately_while_others_write(
    log_mode: str, seed: int
) -> None:
    chance = random.Random(seed)
    async with (
        aioifx.server.running(log_mode=log_mode) as dsn,
        aioifx.connect(dsn, fetch_size=4096, row_factory=rows.tuple_row) as conn,
    ):
        await numbered(conn, 1500)
        sizes = [chance.choice([0, 1, 40, chance.randrange(1500)]) for _ in range(50)]
        readers = [await reader(conn, number, size) for number, size in enumerate(sizes)]
        written = 0
        for _ in range(400):
            number = chance.randrange(50)
            await readers[number].read(chance.randrange(1, 60))
            if chance.random() < 0.1:
                await readers[number].jump(sizes[number], chance.randrange(1500))
            if chance.random() < 0.2:
                await conn.execute("INSERT INTO t VALUES (?)", 2000 + written)
                written += 1
            if chance.random() < 0.1 and log_mode != "unlogged":
                async with conn.transaction():
                    await conn.execute("DELETE FROM t WHERE n >= 2000")
                    written = 0
                    inside = await reader(conn, 3, 200)
                    for other in (inside, chance.choice(readers), inside):
                        await other.read(100)
        for every in readers:
            await every.read(1501)
            assert not every.owed
        assert await conn.fetchval("SELECT COUNT(*) FROM t WHERE n >= 2000") == written


async def test_tasks_that_share_a_connection_are_served_in_the_order_in_which_they_came(dsn: str) -> None:
    served: list[int] = []
    async with aioifx.connect(dsn, fetch_size=4096) as conn:
        await numbered(conn, 2000)

        async def call(number: int) -> None:
            async with conn.cursor(scroll=number % 3 == 0) as cursor:
                await cursor.execute(NUMBERS, (number * 97 % 2000,))
                served.append(number)

        await asyncio.gather(*map(call, range(30)))
    assert served == [*range(30)]
