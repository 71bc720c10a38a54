"""Readers of blocks: the block requested early, closing and cancellation at every point, what is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from aioifx import rows
from aioifx.client.api.connection import Connection, statements_of
from aioifx.client.execution.block_reader import BlockReader
from aioifx.client.execution.row_plan import RowPlan, RowPlans
from aioifx.client.execution.stream import Stream
from aioifx.errors import ConnectionLost, Deadlock, InterfaceError, QueryTimeout, UndefinedTable
from aioifx.testing.messages import CLOSED, EOT, LOGGED, UNLOGGED, described, done, error, executed, ints
from aioifx.testing.script import (
    BEGIN,
    COMMAND,
    COMMIT,
    PREPARE,
    Chunking,
    Delayed,
    Disconnect,
    Exchange,
    close,
    closing,
    fetching,
    opening,
    release,
    select_ints,
)
from aioifx.wire.opcodes import StatementType
from tests.scripted import C1, CHUNKINGS, at_rest, cancel_at, talking, until

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


@pytest.mark.parametrize("read_ahead", [True, False], ids=["in runs", "field by field"])
@pytest.mark.parametrize("chunks", CHUNKINGS, ids=lambda chunks: chunks.__name__)
async def test_rows_come_in_order_and_the_statement_is_closed_after_the_last(
    chunks: Chunking, read_ahead: bool
) -> None:
    async with talking(ended, deleted, chunks=chunks, read_ahead=read_ahead) as (conn, _):
        assert [row["c1"] async for row in conn.stream(QUERY)] == [1, 2, 3]
        await conn.execute(DELETE)


async def test_blocks_are_what_the_server_sent_at_a_time() -> None:
    async with talking(ended) as (conn, _):
        stream = conn.stream(QUERY, row_factory=rows.tuple_row)
        assert [block async for block in stream.blocks()] == [[(1,), (2,)], [(3,)]]


async def test_blocks_begin_with_what_is_left_of_the_block_at_hand() -> None:
    async with talking(ended) as (conn, _):
        stream = conn.stream(QUERY, row_factory=rows.dict_row)
        assert await anext(stream) == {"c1": 1}
        assert [block async for block in stream.blocks()] == [[{"c1": 2}], [{"c1": 3}]]


async def test_nothing_is_sent_before_the_first_row_is_requested() -> None:
    async with talking() as (conn, peer):
        stream = conn.stream(QUERY)
        assert stream.columns == ()
        await stream.aclose()
        assert [row async for row in stream] == []
        assert peer.received == b""


@ahead_or_not
async def test_other_statements_run_between_two_rows(prefetch: bool) -> None:
    last: Exchange = (fetching(2), ints(3) + done(3) + EOT)
    between = [last, deleted, deleted] if prefetch else [deleted, deleted, last]
    async with talking(started, between, closing(2), deleted) as (conn, _):
        async for _ in conn.stream(QUERY, prefetch=prefetch):
            await conn.execute(DELETE)


def of_database(kind: int) -> list[Exchange]:
    """CLOSE DATABASE or DATABASE."""
    return [
        (PREPARE, described(4, kind=kind)),
        ("Id(4) Execute", done(warnings=LOGGED) + EOT),
        release(4),
    ]


async def read_on(stream: Stream[Any], values: list[int]) -> None:
    """What has arrived can still be read."""
    assert [(await anext(stream))["c1"] for _ in values] == values
    with pytest.raises(InterfaceError, match="prepared before another database was opened"):
        await anext(stream)


async def leave(stream: Stream[Any], values: list[int]) -> None:
    await stream.aclose()


@ahead_or_not
@pytest.mark.parametrize("end", [read_on, leave])
async def test_a_stream_across_databases_has_no_cursor_left_and_its_text_is_prepared_again(
    prefetch: bool, end: Callable[[Stream[Any], list[int]], Awaitable[None]]
) -> None:
    """Nothing is sent for its statement, whose id may be another's by now."""
    script = [
        *of_database(StatementType.CLOSE_DATABASE),
        *of_database(StatementType.DATABASE),
        *[(PREPARE, described(3, C1)), (opening(3, 4096), ints(7) + done(1) + EOT), close(3)],
        *[(PREPARE, described(2, C1)), (opening(2, 4096), ints(8) + done(1) + EOT), close(2)],
    ]
    async with talking(started, [ahead] * prefetch, script, statement_cache_size=10) as (conn, _):
        stream = conn.stream(QUERY, prefetch=prefetch)
        assert (await anext(stream))["c1"] == 1
        await conn.execute("close database")
        await conn.execute("database other")
        assert await conn.fetchval(f"{QUERY}2") == 7  # from here on, the cache is the new database's
        await end(stream, [2, 3] if prefetch else [2])
        assert await conn.fetchval(QUERY) == 8


async def test_an_empty_result_is_an_empty_stream() -> None:
    async with talking((PREPARE, described(2, C1)), (opening(2, hold=True), done(0) + EOT), closing(2)) as (
        conn,
        _,
    ):
        stream = conn.stream(QUERY)
        assert [row async for row in stream] == []
        assert [column.name for column in stream.columns] == ["c1"]


@ahead_or_not
async def test_a_stream_left_early_is_closed_at_the_end_of_its_block(prefetch: bool) -> None:
    async with talking(started, [ahead] * prefetch, closing(2), deleted) as (conn, _):
        async with conn.stream(QUERY, prefetch=prefetch) as stream:
            async for row in stream:
                assert row == (1,)
                break
        assert [row async for row in stream] == []
        await conn.execute(DELETE)


@ahead_or_not
async def test_a_stream_that_is_dropped_is_closed_without_a_call(prefetch: bool) -> None:
    async with talking(started, [ahead] * prefetch, closing(2)) as (conn, peer):
        async for _ in conn.stream(QUERY, prefetch=prefetch):
            break
        assert len(peer.groups) == 2  # the finalizer itself, which may run in any thread, sends nothing
        await until(lambda: peer.said[-1] == "Id(2) Release")


async def test_a_stream_that_has_ended_releases_its_statement_once() -> None:
    """The id may be another statement's by then."""
    async with talking(
        ended, (PREPARE, described(2, C1)), (opening(2), ints(9) + done(1) + EOT), close(2), release(2)
    ) as (
        conn,
        _,
    ):
        async with conn.stream(QUERY) as stream:
            assert len([row async for row in stream]) == 3
            statement = await conn.prepare(QUERY)
        assert await statement.fetch() == [(9,)]
        await statement.close()


async def test_tasks_that_share_a_stream_lose_no_row() -> None:
    async with talking(ended) as (conn, _):
        stream = conn.stream(QUERY)
        got = await asyncio.gather(*(anext(stream, None) for _ in range(5)))
        assert sorted(row for row in got if row is not None) == [(1,), (2,), (3,)]


async def test_a_row_factory_that_does_not_fit_leaves_nothing_behind() -> None:
    def model(other: int) -> int:
        return other

    async with talking((PREPARE, described(2, C1)), release(2), deleted) as (conn, _):
        with pytest.raises(InterfaceError, match="row_factory"):
            await anext(conn.stream(QUERY, row_factory=rows.class_row(model)))
        await conn.execute(DELETE)


async def test_a_statement_without_rows_is_refused_and_released() -> None:
    async with talking((PREPARE, described(2, kind=StatementType.DELETE)), release(2)) as (conn, _):
        with pytest.raises(InterfaceError, match="returns rows"):
            await anext(conn.stream("delete from t"))


# -- errors -----------------------------------------------------------------------------------------------------------


async def test_an_error_at_prepare_is_raised_at_the_first_row() -> None:
    async with talking((PREPARE, error(-206, token="t") + EOT), deleted) as (conn, _):
        stream = conn.stream(QUERY)
        with pytest.raises(UndefinedTable):
            await anext(stream)
        assert [row async for row in stream] == []
        await conn.execute(DELETE)


async def test_an_error_in_a_later_block_closes_the_statement() -> None:
    async with talking(started, (fetching(2), ints(3) + error(-243, -143) + EOT), closing(2), deleted) as (
        conn,
        _,
    ):
        got: list[Any] = []
        with pytest.raises(Deadlock):
            async for row in conn.stream(QUERY):
                got.append(row)
        assert got == [(1,), (2,)]
        await conn.execute(DELETE)


async def test_a_connection_that_breaks_between_two_blocks_is_lost() -> None:
    async with talking(started, (fetching(2), Disconnect(ints(3)))) as (conn, _):
        got: list[Any] = []
        with pytest.raises(ConnectionLost):
            async for row in conn.stream(QUERY):
                got.append(row)
        assert got == [(1,), (2,)]


@ahead_or_not
async def test_closing_a_stream_of_a_connection_that_is_gone_raises_nothing(prefetch: bool) -> None:
    async with talking(started, [ahead] * prefetch) as (conn, _):
        stream = conn.stream(QUERY, prefetch=prefetch)
        await anext(stream)
        conn.terminate()
        await stream.aclose()


# -- transactions of others --------------------------------------------------------------------------------------------


@ahead_or_not
async def test_a_stream_outside_of_a_transaction_is_held_over_commits(prefetch: bool) -> None:
    last: Exchange = (fetching(2), done(2) + EOT)
    transaction: list[Exchange] = [BEGIN, (COMMAND, executed(3, StatementType.DELETE, 1)), COMMIT]
    between = [last, *transaction] if prefetch else [*transaction, last]
    async with talking(started, between, closing(2)) as (conn, _):
        stream = conn.stream(QUERY, prefetch=prefetch)
        assert await anext(stream) == (1,)
        async with conn.transaction():
            await conn.execute(DELETE)
        assert [row async for row in stream] == [(2,)]


async def test_a_stream_inside_of_a_transaction_ends_with_it() -> None:
    async with talking(BEGIN, select_ints(2, 1, 2), COMMIT) as (conn, _):
        async with conn.transaction():
            assert [row async for row in conn.stream(QUERY)] == [(1,), (2,)]


async def test_a_stream_of_an_unlogged_database_requests_nothing() -> None:
    async with talking(select_ints(2, 1, 2), warnings=UNLOGGED) as (conn, _):
        assert [row async for row in conn.stream(QUERY)] == [(1,), (2,)]


# -- streams of prepared statements -----------------------------------------------------------------------------------

streamed_again: Exchange = (opening(2, hold=True), ints(7) + done(1) + EOT)
fetched: Exchange = (opening(2), ints(7) + done(1) + EOT)


async def test_a_prepared_statement_is_streamed_and_stays_prepared() -> None:
    async with talking(
        (PREPARE, described(2, C1)), streamed_again, close(2), streamed_again, close(2), release(2)
    ) as (
        conn,
        _,
    ):
        async with await conn.prepare(QUERY) as statement:
            for _ in range(2):
                assert [row async for row in statement.stream()] == [(7,)]


async def test_a_prepared_statement_has_one_stream_at_a_time() -> None:
    async with talking(started, ahead, close(2), fetched, close(2), release(2)) as (conn, _):
        async with await conn.prepare(QUERY) as statement:
            one, other = statement.stream(), statement.stream()
            assert await anext(one) == (1,)
            with pytest.raises(InterfaceError, match="still open"):
                await anext(other)
            for call in (statement.fetch, statement.fetchrow, statement.execute):
                with pytest.raises(InterfaceError, match="still open"):
                    await call()
            await one.aclose()
            assert await statement.fetch() == [(7,)]


async def test_closing_a_stream_that_has_ended_leaves_its_successor_alone() -> None:
    async with talking(
        (PREPARE, described(2, C1)),
        streamed_again,
        close(2),
        started[1],
        (fetching(2), done(0) + EOT),
        close(2),
        release(2),
    ) as (conn, _):
        async with await conn.prepare(QUERY) as statement:
            one, other = statement.stream(), statement.stream()
            assert [row async for row in one] == [(7,)]
            assert await anext(other) == (1,)
            await one.aclose()
            del one
            assert [row async for row in other] == [(2,)]


async def test_a_stream_of_a_prepared_statement_that_is_dropped_frees_the_statement() -> None:
    async with talking(started, ahead, close(2), fetched, close(2), release(2)) as (conn, peer):
        async with await conn.prepare(QUERY) as statement:
            async for _ in statement.stream():
                break
            await until(lambda: peer.said[-1] == "Id(2) Close")
            assert await statement.fetch() == [(7,)]


async def test_a_cancelled_stream_of_a_prepared_statement_frees_it_too() -> None:
    held = Delayed(ints(3) + EOT)
    async with talking(started, (fetching(2), held), close(2), fetched, close(2), release(2)) as (
        conn,
        _,
    ):
        async with await conn.prepare(QUERY) as statement:
            stream = statement.stream()
            assert [await anext(stream), await anext(stream)] == [(1,), (2,)]
            await cancel_at(held, anext(stream))
            held.release()
            assert await statement.fetch() == [(7,)]


@ahead_or_not
async def test_closing_the_prepared_statement_ends_its_stream_with_an_error_rather_than_silently(
    prefetch: bool,
) -> None:
    async with talking(started, [ahead] * prefetch, closing(2)) as (conn, _):
        statement = await conn.prepare(QUERY)
        stream = statement.stream(prefetch=prefetch)
        assert [await anext(stream), await anext(stream)] == [(1,), (2,)]
        await statement.close()
        await at_rest(conn._session)
        if prefetch:
            assert await anext(stream) == (3,)  # it has come, so it is not kept back
        with pytest.raises(InterfaceError, match="closed"):
            await anext(stream)
