"""Prepared statements: prepared once, executed often, released once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import aioifx
from aioifx import rows
from aioifx.client.api.prepared import PreparedStatement
from aioifx.errors import DatabaseError, Deadlock, InterfaceError, UndefinedTable, UniqueViolation
from aioifx.server import running
from aioifx.testing.messages import ANSI, EOT, described, done, error, ints, takes
from aioifx.testing.script import (
    BEGIN,
    COMMIT,
    PREPARE,
    Delayed,
    Exchange,
    close,
    closing,
    fetching,
    opening,
    release,
    select_ints,
)
from aioifx.wire.opcodes import StatementType
from tests.scripted import C1, INTEGER, cancel_at, talking, until

QUERY = "select c1 from t"
prepared: Exchange = (PREPARE, described(2, C1))


def block(*values: int, size: int = 32767, hold: bool = False) -> list[Exchange]:
    return [(opening(2, size, hold=hold), ints(*values) + done(len(values)) + EOT), close(2)]


async def test_it_knows_its_columns_and_parameters() -> None:
    async with talking(prepared, ("Id(2) DescribeInput", takes(INTEGER)), release(2)) as (conn, _):
        async with await conn.prepare("select c1 from t where c1 = ?") as statement:
            assert statement.columns == (C1,)
            assert statement.parameters == (INTEGER,)
            assert statement.sql == "select c1 from t where c1 = ?"
            assert "id 2" in repr(statement)
        assert "closed" in repr(statement)


async def test_every_way_to_run_it_closes_the_cursor_and_keeps_the_statement() -> None:
    async with talking(
        prepared,
        block(1, 2),
        block(3, size=4096),
        block(4, size=4096),
        block(5, 6, 7),
        block(8, hold=True),
        release(2),
    ) as (conn, _):
        async with await conn.prepare(QUERY) as statement:
            assert await statement.fetch() == [(1,), (2,)]
            assert await statement.fetchrow() == (3,)
            assert await statement.fetchval() == 4
            assert (await statement.execute()).rowcount == 3
            assert [row async for row in statement.stream()] == [(8,)]
            assert conn.stats.statements == 1


async def test_rows_take_the_form_that_is_requested() -> None:
    async with talking(
        prepared, block(1), block(2, size=4096), block(3), block(4, hold=True), release(2)
    ) as (conn, _):
        async with await conn.prepare(QUERY, row_factory=rows.dict_row) as statement:
            all_rows: list[Any] = await statement.fetch()
            assert all_rows == [{"c1": 1}]
            assert await statement.fetchrow(row_factory=rows.tuple_row) == (2,)
            assert await statement.fetch(row_factory=rows.tuple_row) == [(3,)]
            streamed: list[Any] = [row async for row in statement.stream()]
            assert streamed == [{"c1": 4}]


async def test_no_row_returns_none() -> None:
    async with talking(prepared, block(size=4096), block(size=4096), release(2)) as (conn, _):
        async with await conn.prepare(QUERY) as statement:
            assert await statement.fetchrow() is None
            assert await statement.fetchval() is None


async def test_a_column_that_is_not_there_is_refused_and_the_cursor_closed() -> None:
    async with talking(prepared, block(1, size=4096), block(2), release(2)) as (conn, _):
        async with await conn.prepare(QUERY) as statement:
            with pytest.raises(InterfaceError, match="column: index 3 is out of range; the row has 1 value"):
                await statement.fetchval(column=3)
            assert await statement.fetch() == [(2,)]


async def test_closing_twice_releases_once() -> None:
    async with talking(prepared, release(2), select_ints(2, 1)) as (conn, _):
        statement = await conn.prepare(QUERY)
        await statement.close()
        await statement.close()
        assert await conn.fetch(QUERY) == [(1,)]


async def test_one_that_is_dropped_is_released_without_a_call() -> None:
    async with talking(prepared, release(2), select_ints(2, 1)) as (conn, peer):
        await conn.prepare(QUERY)
        await until(lambda: peer.said[-1] == "Id(2) Release")
        assert await conn.fetch(QUERY) == [(1,)]


async def test_one_that_is_closed_runs_nothing() -> None:
    calls: list[Callable[[PreparedStatement], Awaitable[Any]]] = [
        lambda s: s.fetch(),
        lambda s: s.fetchrow(),
        lambda s: s.fetchval(),
        lambda s: s.execute(),
        lambda s: s.executemany([()]),
    ]
    async with talking(prepared, release(2)) as (conn, peer):
        statement = await conn.prepare(QUERY)
        await statement.close()
        for call in calls:
            with pytest.raises(InterfaceError, match="closed"):
                await call(statement)
        assert len(peer.groups) == 2


async def test_it_may_be_executed_again_after_an_error() -> None:
    failed: list[Exchange] = [(opening(2), ints(1) + error(-243, -143) + EOT), close(2)]
    async with talking(prepared, failed, block(1), release(2)) as (conn, _):
        async with await conn.prepare(QUERY) as statement:
            with pytest.raises(Deadlock):
                await statement.fetch()
            assert await statement.fetch() == [(1,)]


async def test_an_insert_may_be_executed_again_after_an_error() -> None:
    async with talking(
        (PREPARE, described(2, C1, kind=StatementType.INSERT)),
        ("Id(2) DescribeInput", takes(INTEGER)),
        ("Id(2) Bind(1) Execute", error(-268, -100, token="u") + EOT),
        ("Id(2) Bind(1) Execute", done(1) + EOT),
        release(2),
    ) as (conn, _):
        async with await conn.prepare("insert into t values(?)") as statement:
            with pytest.raises(UniqueViolation):
                await statement.execute(1)
            assert (await statement.execute(2)).rowcount == 1


async def test_two_tasks_use_one_statement_alternately() -> None:
    async with talking(prepared, block(1), block(2), release(2)) as (conn, _):
        async with await conn.prepare(QUERY) as statement:
            one, other = await asyncio.gather(statement.fetch(), statement.fetch())
            assert (one, other) == ([(1,)], [(2,)])


async def test_an_ansi_database_is_committed_after_a_failed_execution_too() -> None:
    failed: Exchange = (opening(2), error(-243, -143) + EOT)
    async with talking(prepared, failed, close(2), COMMIT, release(2), warnings=ANSI) as (conn, _):
        async with await conn.prepare(QUERY) as statement:
            with pytest.raises(Deadlock):
                await statement.fetch()


async def test_an_ansi_database_is_committed_after_each_execution() -> None:
    """Rows may come one by one there: only an empty reply ends them."""
    first, second = ([block(n)[0], (fetching(2), EOT), close(2), COMMIT] for n in (1, 2))
    async with talking(prepared, *first, *second, release(2), warnings=ANSI) as (conn, _):
        async with await conn.prepare(QUERY) as statement:
            await statement.fetch()
            await statement.fetch()


# -- cancellation -----------------------------------------------------------------------------------------------------


async def test_a_cancelled_fetch_returns_at_once_and_leaves_the_cursor_to_the_next_call() -> None:
    """It must not wait for a server that may never answer: that is what the caller's timeout is for."""
    held = Delayed(ints(1) + EOT)
    async with talking(prepared, (opening(2), held), close(2), block(2), release(2)) as (conn, peer):
        async with await conn.prepare(QUERY) as statement:
            await asyncio.wait_for(cancel_at(held, statement.fetch()), 10)
            assert len(peer.groups) == 2
            held.release()
            assert await statement.fetch() == [(2,)]


async def test_a_cancelled_execution_leaves_nothing_to_clear() -> None:
    held = Delayed(done(1) + EOT)
    async with talking(
        (PREPARE, described(2, kind=StatementType.DELETE)),
        ("Id(2) Execute", held),
        ("Id(2) Execute", done(1) + EOT),
        release(2),
    ) as (conn, _):
        async with await conn.prepare("delete from t") as statement:
            await cancel_at(held, statement.execute())
            held.release()
            assert (await statement.execute()).rowcount == 1


async def test_closing_one_does_not_wait_and_is_sent_once_the_session_is_idle() -> None:
    held = Delayed(ints(1) + done(1) + EOT)
    async with talking(
        prepared, (PREPARE, described(3, C1)), (opening(3), held), release(2), closing(3), select_ints(2, 1)
    ) as (conn, peer):
        statement = await conn.prepare(QUERY)
        busy = asyncio.ensure_future(conn.fetch(QUERY))
        await held.reached.wait()
        with pytest.raises(StopIteration):
            statement.close().send(None)  # it ends without having waited once
        assert len(peer.groups) == 3
        held.release()
        await busy
        assert await conn.fetch(QUERY) == [(1,)]


# -- stale statements -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sqlcode", [-710, -206, -410])
async def test_one_that_has_gone_stale_is_prepared_again_once(sqlcode: int) -> None:
    async with talking(
        prepared,
        (opening(2), error(sqlcode) + EOT),
        (PREPARE, described(3, C1)),
        (opening(3), ints(1) + done(1) + EOT),
        *closing(2),
        close(3),
        (opening(3), error(sqlcode) + EOT),
        (PREPARE, described(4, C1)),
        (opening(4), error(sqlcode) + EOT),
        *closing(3),
        close(4),
        release(4),
    ) as (conn, _):
        async with await conn.prepare(QUERY) as statement:
            assert await statement.fetch() == [(1,)]
            with pytest.raises(DatabaseError) as caught:
                await statement.fetch()
            assert caught.value.sqlcode == sqlcode


async def test_a_stream_of_one_that_has_gone_stale_too() -> None:
    async with talking(
        prepared,
        (opening(2, hold=True), error(-710) + EOT),
        (PREPARE, described(3, C1)),
        (opening(3, hold=True), ints(1) + done(1) + EOT),
        *closing(2),
        close(3),
        release(3),
    ) as (conn, _):
        async with await conn.prepare(QUERY) as statement:
            assert [row async for row in statement.stream()] == [(1,)]


async def test_inside_of_a_transaction_it_is_prepared_again_and_the_error_says_to_execute_it_again() -> None:
    async with talking(
        prepared,
        BEGIN,
        (opening(2), error(-710) + EOT),
        (PREPARE, described(3, C1)),
        *closing(2),
        (opening(3), ints(1) + done(1) + EOT),
        close(3),
        COMMIT,
        release(3),
    ) as (conn, _):
        async with await conn.prepare(QUERY) as statement, conn.transaction():
            with pytest.raises(DatabaseError) as caught:
                await statement.fetch()
            assert caught.value.sqlcode == -710
            assert any("execute it again" in note for note in caught.value.__notes__)
            assert await statement.fetch() == [(1,)]


async def test_a_table_of_a_stale_statement_may_be_gone() -> None:
    async with talking(
        prepared,
        (opening(2), error(-710) + EOT),
        (PREPARE, error(-206, token="t") + EOT),
        close(2),
        (opening(2), error(-710) + EOT),
        (PREPARE, described(3, C1)),
        (opening(3), ints(1) + done(1) + EOT),
        *closing(2),
        close(3),
        release(3),
    ) as (conn, _):
        async with await conn.prepare(QUERY) as statement:
            with pytest.raises(UndefinedTable):
                await statement.fetch()
            assert await statement.fetch() == [(1,)]


async def test_the_embedded_servers_stale_statement_is_not_noticed() -> None:
    async with running(seed="create table t (c1 int); insert into t values (1)") as dsn:
        async with aioifx.connect(dsn) as conn, aioifx.connect(dsn) as other:
            query = await conn.prepare("select * from t")
            insert = await conn.prepare("insert into t (c1) values (?)")
            assert await query.fetch() == [(1,)]
            await other.execute("alter table t add (c2 int)")
            assert await query.fetch() == [(1, None)]
            assert (await insert.executemany([(2,), (3,)])).rowcount == 2
            await other.execute("alter table t drop (c2)")
            assert [tuple(row) async for row in query.stream()] == [(1,), (2,), (3,)]
