"""Readers of blocks: the block requested early, closing and cancellation at every point, what is left behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from aioifx.client.api.connection import Connection, statements_of
from aioifx.client.execution.block_reader import BlockReader
from aioifx.client.execution.row_plan import RowPlan, RowPlans
from aioifx.errors import Deadlock, InterfaceError, QueryTimeout
from aioifx.testing.messages import CLOSED, EOT, UNLOGGED, described, done, error, executed, ints
from aioifx.testing.script import (
    COMMAND,
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
from tests.scripted import C1, at_rest, cancel_at, talking, until

pytestmark = pytest.mark.usefixtures("tidy")

QUERY = "select c1 from t"
DELETE = "delete from t where a = 1"
deleted: Exchange = (COMMAND, executed(9, StatementType.DELETE, 1))
started: list[Exchange] = [(PREPARE, described(2, C1)), (opening(2, hold=True), ints(1, 2) + EOT)]
ahead: Exchange = (fetching(2), ints(3) + EOT)  # requested as soon as the first block has arrived
ended: list[Exchange] = [*started, (fetching(2), ints(3) + done(3) + EOT), *closing(2)]
ahead_or_not = pytest.mark.parametrize("prefetch", [True, False], ids=["ahead", "when wanted"])


def reader_of(conn: Connection, **options: Any) -> BlockReader:
    return BlockReader(statements_of(conn), QUERY, (), RowPlans.plain, **options)


async def test_a_reader_yields_blocks_and_releases_the_statement_with_the_last_one() -> None:
    async with talking(*started, (fetching(2), ints(3) + done(3) + EOT), closing(2)) as (conn, _):
        reader = reader_of(conn)
        assert reader.columns == () and not reader.is_closed
        assert [block async for block in reader] == [[(1,), (2,)], [(3,)]]
        assert reader.is_closed and [column.name for column in reader.columns] == ["c1"]
        assert await reader.next_block() == []


async def test_the_plan_is_made_once_for_each_statement() -> None:
    made: list[RowPlans] = []

    def plan(plans: RowPlans) -> RowPlan:
        made.append(plans)
        return plans.plain()

    stale = [(PREPARE, described(2, C1)), (opening(2), ints(1) + done(1) + EOT), close(2)]
    again = [(opening(2, hold=True), error(-710) + EOT), (PREPARE, described(3, C1))]
    async with talking(
        *stale, *again, (opening(3, hold=True), ints(7) + done(1) + EOT), closing(2), closing(3),
        statement_cache_size=10,
    ) as (conn, _):  # fmt: skip
        await conn.fetch(QUERY)
        reader = reader_of(conn)
        reader.plan = plan
        assert [block async for block in reader] == [[(7,)]]
        assert [plans.fetching.statement_id for plans in made] == [2, 3]
        conn._statements.clear()


async def test_a_fetch_that_is_not_sent_in_time_releases_the_statement() -> None:
    async with talking(*started, closing(2)) as (conn, _):
        reader = reader_of(conn)
        assert await reader.next_block() == [(1,), (2,)]
        async with conn._session:
            conn._session.dispatcher.command_timeout = 0.01
            with pytest.raises(QueryTimeout, match="nothing was sent"):
                await asyncio.create_task(reader.next_block())
        assert reader.is_closed and await reader.next_block() == []


# -- prefetch ---------------------------------------------------------------------------------------------------------


async def test_the_next_block_is_requested_while_one_is_consumed() -> None:
    async with talking(ended) as (conn, peer):
        stream = conn.stream(QUERY)
        assert await anext(stream) == (1,)
        await until(lambda: peer.said[-1] == fetching(2))
        assert [row async for row in stream] == [(2,), (3,)]
        assert conn.stats.rows == 3


async def test_without_prefetch_it_is_requested_with_its_first_row() -> None:
    async with talking(ended) as (conn, peer):
        stream = conn.stream(QUERY, prefetch=False)
        assert [await anext(stream), await anext(stream)] == [(1,), (2,)]
        await at_rest(conn._session)
        assert len(peer.groups) == 2
        assert [row async for row in stream] == [(3,)]


async def test_nothing_is_prefetched_while_another_task_waits_for_the_session() -> None:
    held = Delayed(ints(1, 2) + EOT)
    async with talking(
        (PREPARE, described(2, C1)),
        (opening(2, hold=True), held),
        deleted,
        (fetching(2), ints(3) + done(3) + EOT),
        closing(2),
    ) as (conn, _):
        stream = conn.stream(QUERY)
        first = asyncio.ensure_future(anext(stream))
        await held.reached.wait()
        other = asyncio.ensure_future(conn.execute(DELETE))
        await asyncio.sleep(0)
        held.release()
        assert await first == (1,)
        await other
        assert [row async for row in stream] == [(2,), (3,)]


async def test_the_error_of_a_block_is_raised_after_the_rows_before_it() -> None:
    async with talking(started, (fetching(2), error(-243, -143) + EOT), closing(2)) as (conn, _):
        stream = conn.stream(QUERY)
        assert await anext(stream) == (1,)
        await at_rest(conn._session)
        assert await anext(stream) == (2,)
        with pytest.raises(Deadlock):
            await anext(stream)


async def test_rows_that_have_come_are_given_though_another_database_was_opened() -> None:
    held = Delayed(ints(3) + EOT)
    async with talking(
        started,
        (fetching(2), held),
        (PREPARE, described(3, kind=StatementType.DATABASE)),
        ("Id(3) Execute", done(warnings=UNLOGGED) + EOT),
        release(3),
    ) as (conn, _):
        stream = conn.stream(QUERY)
        assert [await anext(stream), await anext(stream)] == [(1,), (2,)]
        held.release()
        await conn.execute("database other")
        await at_rest(conn._session)
        assert await anext(stream) == (3,)
        with pytest.raises(InterfaceError, match="another database"):
            await anext(stream)


async def test_a_stream_that_is_closed_lets_the_block_that_is_on_its_way_come_without_an_interrupt() -> None:
    held = Delayed(ints(3) + EOT)
    async with talking(started, (fetching(2), held), closing(2), deleted) as (conn, peer):
        urgent: list[bytes] = []

        def recorded(byte: bytes) -> bool:
            urgent.append(byte)
            return True

        conn._session.channel.send_urgent = recorded  # type: ignore[method-assign]
        stream = conn.stream(QUERY)
        await anext(stream)
        await held.reached.wait()
        await stream.aclose()
        after = asyncio.ensure_future(conn.execute(DELETE))
        for _ in range(5):
            await asyncio.sleep(0)
        assert peer.said[-1] == fetching(2)
        held.release()
        await after
        assert urgent == []


async def test_no_close_is_sent_if_the_server_closed_the_cursor_with_its_last_block() -> None:
    closed_too = ints(3) + CLOSED + done(3) + EOT
    async with talking(started, (fetching(2), closed_too), release(2), deleted) as (conn, _):
        assert [row async for row in conn.stream(QUERY)] == [(1,), (2,), (3,)]
        await conn.execute(DELETE)


@pytest.mark.parametrize("at", ["prepare", "open", "fetch"])
async def test_a_stream_closed_by_one_task_while_another_fetches_leaves_nothing_behind(at: str) -> None:
    held = Delayed({"prepare": described(2, C1), "open": ints(1, 2) + EOT, "fetch": ints(3) + EOT}[at])
    script: list[Exchange] = [*started, (fetching(2), ints(3) + EOT)]
    turn = ["prepare", "open", "fetch"].index(at)
    script[turn] = (script[turn][0], held)
    # A statement that is prepared when its stream is closed is opened all the same: the call is on its way.
    reached = script[: max(turn, 1) + 1]
    async with talking(reached, closing(2), deleted) as (conn, _):
        stream = conn.stream(QUERY, prefetch=False)
        if at == "fetch":
            assert [await anext(stream), await anext(stream)] == [(1,), (2,)]
        fetching_ = asyncio.ensure_future(anext(stream, None))
        await held.reached.wait()
        await stream.aclose()
        held.release()
        assert await fetching_ is None
        await conn.execute(DELETE)


async def test_a_stream_closed_before_its_fetch_leaves_other_cursors_alone() -> None:
    held = Delayed(executed(9, StatementType.DELETE, 1))
    async with talking(
        started,
        (COMMAND, held),
        (PREPARE, described(3, C1)),
        (opening(3, hold=True), ints(7) + EOT),
        close(2),
        (fetching(3), ints(8) + done(2) + EOT),
        closing(3),
        statement_cache_size=5,
    ) as (conn, _):
        stream, other = conn.stream(QUERY, prefetch=False), conn.stream(QUERY, prefetch=False)
        assert [await anext(stream), await anext(stream)] == [(1,), (2,)]
        busy = asyncio.ensure_future(conn.execute(DELETE))
        await held.reached.wait()
        begun = asyncio.ensure_future(anext(other))
        queued = asyncio.ensure_future(anext(stream, None))
        await asyncio.sleep(0)
        await stream.aclose()
        held.release()
        await busy
        assert await begun == (7,)
        assert await queued is None
        assert [row async for row in other] == [(8,)]


async def test_a_fetch_that_fails_after_the_close_of_its_stream_leaves_the_cached_statement_usable() -> None:
    held = Delayed(error(-243, -143) + EOT)
    async with talking(
        started,
        (fetching(2), held),
        close(2),
        (opening(2), ints(7) + done(1) + EOT),
        close(2),
        statement_cache_size=5,
    ) as (conn, _):
        stream = conn.stream(QUERY)
        assert [await anext(stream), await anext(stream)] == [(1,), (2,)]
        task = asyncio.ensure_future(anext(stream))
        await held.reached.wait()
        await stream.aclose()
        held.release()
        with pytest.raises(Deadlock):
            await task
        assert await conn.fetch(QUERY) == [(7,)]


async def test_a_stream_begun_after_the_end_of_its_statement_sends_nothing() -> None:
    async with talking((PREPARE, described(2, C1)), release(2), select_ints(2, 1)) as (conn, _):
        statement = await conn.prepare(QUERY)
        stream = statement.stream()
        await statement.close()
        with pytest.raises(InterfaceError, match="closed"):
            await anext(stream)
        with pytest.raises(InterfaceError, match="closed"):
            statement.stream()
        assert await conn.fetch(QUERY) == [(1,)]


# -- cancellation -----------------------------------------------------------------------------------------------------


async def test_a_cancelled_fetch_interrupts_the_stream_and_says_so() -> None:
    held = Delayed(ints(3) + done(3) + EOT, first=4)
    async with talking(started, (fetching(2), held), closing(2), deleted) as (conn, _):
        stream = conn.stream(QUERY)
        assert [await anext(stream), await anext(stream)] == [(1,), (2,)]
        await cancel_at(held, anext(stream))
        held.release()
        with pytest.raises(InterfaceError, match="interrupted"):
            await anext(stream)
        await stream.aclose()
        await conn.execute(DELETE)


async def test_a_stream_cancelled_at_its_first_row_is_cleared() -> None:
    held = Delayed(described(2, C1))
    async with talking((PREPARE, held), release(2), deleted) as (conn, _):
        stream = conn.stream(QUERY)
        await cancel_at(held, anext(stream))
        held.release()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await conn.execute(DELETE)


@ahead_or_not
async def test_closing_a_stream_does_not_wait_and_is_sent_once_the_session_is_idle(prefetch: bool) -> None:
    held = Delayed(executed(9, StatementType.DELETE, 1))
    async with talking(started, [ahead] * prefetch, (COMMAND, held), closing(2), deleted) as (conn, peer):
        stream = conn.stream(QUERY, prefetch=prefetch)
        await anext(stream)
        busy = asyncio.ensure_future(conn.execute(DELETE))
        await held.reached.wait()
        stream.aclose().close()  # one that is never begun does no harm either
        with pytest.raises(StopIteration):
            stream.aclose().send(None)  # it ends without having waited once
        for _ in range(5):
            await asyncio.sleep(0)
        assert peer.said[-1].startswith("Command")
        held.release()
        await busy
        await until(lambda: peer.said[-1] == "Id(2) Release")
        await conn.execute(DELETE)
