"""Statements that stay prepared: which are cached, which are not, and what happens when one is stale."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.client.api.connection import Connection
from aioifx.client.execution.statement_cache import MAX_CACHED_TEXT
from aioifx.client.pool.lifecycle import PooledSession
from aioifx.errors import (
    DatabaseError,
    DataError,
    Deadlock,
    InterfaceError,
    UndefinedTable,
    UniqueViolation,
)
from aioifx.rows import tuple_row
from aioifx.testing.messages import (
    ANSI,
    CLOSED,
    EOT,
    LOGGED,
    UNLOGGED,
    described,
    done,
    error,
    executed,
    ints,
    takes,
)
from aioifx.testing.script import (
    BEGIN,
    COMMAND,
    COMMIT,
    PREPARE,
    Delayed,
    Exchange,
    close,
    closing,
    fetching,
    opening,
    release,
)
from aioifx.wire.opcodes import StatementType
from tests.scripted import C1, INTEGER, at_rest, cancelled_or_late, end_early, in_one_group, played, talking

QUERY = "select c1 from t"
INSERT = "insert into t values(?)"
STALE = [-710, -206, -217, -267, -410, -258]


def prepared(statement_id: int) -> Exchange:
    return (PREPARE, described(statement_id, C1))


def used(statement_id: int, *values: int) -> list[Exchange]:
    """A kept query's whole conversation."""
    return [(opening(statement_id), ints(*values) + done(len(values)) + EOT), close(statement_id)]


def first_use(statement_id: int, *values: int) -> list[Exchange]:
    return [prepared(statement_id), *used(statement_id, *values)]


def inserting(statement_id: int) -> list[Exchange]:
    return [
        (PREPARE, described(statement_id, C1, kind=StatementType.INSERT)),
        (f"Id({statement_id}) DescribeInput", takes(INTEGER)),
    ]


def inserted(statement_id: int, answer: bytes = done(1) + EOT) -> Exchange:
    return (f"Id({statement_id}) Bind(1) Execute", answer)


# -- what is kept -----------------------------------------------------------------------------------------------------


async def test_a_text_is_prepared_once_and_executed_often() -> None:
    async with talking(first_use(2, 1), used(2, 5), used(2), statement_cache_size=10) as (conn, _):
        assert [await conn.fetch(QUERY) for _ in range(3)] == [[(1,)], [(5,)], []]
        assert conn.stats.statements == 1


async def test_a_statement_with_parameters_costs_one_round_trip_from_the_second_call_on() -> None:
    async with talking(inserting(2), [inserted(2)] * 3, statement_cache_size=10) as (conn, _):
        trips = []
        for n in range(3):
            before = conn.stats.round_trips
            await conn.execute(INSERT, n)
            trips.append(conn.stats.round_trips - before)
        assert trips == [3, 1, 1]


async def test_a_query_whose_cursor_the_server_closes_costs_one_round_trip() -> None:
    answer = ints(1) + CLOSED + done(1) + EOT
    async with talking(prepared(2), [(opening(2), answer)] * 3, statement_cache_size=10) as (conn, _):
        for _ in range(3):
            assert await conn.fetch(QUERY) == [(1,)]
        assert conn.stats.round_trips == 4


async def test_every_way_to_run_a_text_shares_its_statement() -> None:
    block = ints(7) + done(1) + EOT
    async with talking(
        first_use(2, 7),
        [(opening(2, 4096), block), close(2)] * 2,
        used(2, 7),
        [(opening(2, hold=True), block), close(2)] * 2,
        used(2, 7),
        statement_cache_size=10,
    ) as (conn, _):
        assert await conn.fetch(QUERY) == [(7,)]
        assert await conn.fetchrow(QUERY) == (7,)
        assert await conn.fetchval(QUERY) == 7
        assert (await conn.execute(QUERY)).rowcount == 1
        assert [row async for row in conn.stream(QUERY)] == [(7,)]
        async with conn.cursor() as cursor:
            assert await (await cursor.execute(QUERY)).fetchall() == [(7,)]
        async with await conn.prepare(QUERY) as statement:
            assert await statement.fetch() == [(7,)]
        assert conn.stats.statements == 1


async def test_a_batch_of_a_text_shares_it_too() -> None:
    async with talking(
        inserting(2), inserted(2), [inserted(2)] * 3, warnings=UNLOGGED, statement_cache_size=10
    ) as (conn, _):
        await conn.execute(INSERT, 1)
        assert (await conn.executemany(INSERT, [(1,), (2,), (3,)])).rowcount == 3


async def test_the_least_recently_used_statement_goes_first() -> None:
    def text(n: int) -> str:
        return f"{QUERY}{n}"

    async with talking(
        first_use(1, 1),
        first_use(2, 2),
        used(1, 1),  # now 2 is the one that was not used for longest
        first_use(3, 3),
        release(2),
        used(1, 1),
        first_use(4, 4),
        release(3),
        statement_cache_size=2,
    ) as (conn, _):
        for n in (1, 2, 1, 3, 1, 4):
            assert await conn.fetch(text(n)) == [(n,)]


@given(calls=st.lists(st.integers(0, 5), max_size=30), size=st.integers(0, 4))
def test_no_more_than_so_many_are_ever_prepared_at_the_server(calls: list[int], size: int) -> None:
    """Law (LRU): the idle ones are those used last, each is prepared once while it is kept, and released once."""
    kept: list[int] = []
    script: list[Exchange] = []
    for n in calls:
        if n in kept:
            script += used(n, n)
            kept.remove(n)
        else:
            script += first_use(n, n)
        kept.append(n)
        if len(kept) > size:
            script.append(release(kept.pop(0)))

    async def run() -> None:
        async with talking(script, statement_cache_size=size) as (conn, _):
            for n in calls:
                assert await conn.fetch(f"{QUERY}{n}") == [(n,)]
                assert len(conn._statements) <= size

    asyncio.run(run())


async def test_with_size_0_nothing_is_kept() -> None:
    async with talking(first_use(2, 1), release(2), first_use(2, 1), release(2)) as (conn, _):
        for _ in range(2):
            assert await conn.fetch(QUERY) == [(1,)]
        assert len(conn._statements) == 0


async def test_a_text_that_is_too_long_is_not_kept() -> None:
    sql = QUERY + " " * (MAX_CACHED_TEXT - len(QUERY))
    async with talking(first_use(2, 1), used(2, 1), first_use(3, 1), release(3), statement_cache_size=10) as (
        conn,
        _,
    ):
        for text in (sql, sql, sql + " "):
            assert await conn.fetch(text) == [(1,)]


async def test_a_statement_in_use_is_prepared_a_second_time_and_one_of_the_two_is_kept() -> None:
    async with talking(
        prepared(2),
        (opening(2, hold=True), ints(1) + EOT),
        first_use(3, 7),
        (fetching(2), ints(2) + done(2) + EOT),
        closing(2),
        used(3, 7),
        statement_cache_size=10,
    ) as (conn, _):
        stream = conn.stream(QUERY, prefetch=False)
        assert await anext(stream) == (1,)
        assert await conn.fetch(QUERY) == [(7,)]
        assert [row async for row in stream] == [(2,)]
        assert await conn.fetch(QUERY) == [(7,)]


async def test_a_prepared_statement_is_not_shared_until_it_is_closed() -> None:
    async with talking(prepared(2), first_use(3, 1), release(2), used(3, 1), statement_cache_size=10) as (
        conn,
        _,
    ):
        statement = await conn.prepare(QUERY)
        assert await conn.fetch(QUERY) == [(1,)]
        await statement.close()
        assert await conn.fetch(QUERY) == [(1,)]
        with pytest.raises(InterfaceError, match="closed"):
            await statement.fetch()


async def test_a_prepared_statement_of_a_text_that_is_too_long_is_not_kept() -> None:
    async with talking(first_use(2, 1), release(2), statement_cache_size=10) as (conn, _):
        async with await conn.prepare(QUERY + " " * MAX_CACHED_TEXT) as statement:
            assert await statement.fetch() == [(1,)]
        assert len(conn._statements) == 0


async def test_a_prepared_statement_that_opens_a_database_is_not_kept() -> None:
    async with talking(
        (PREPARE, described(2, kind=StatementType.DATABASE)),
        ("Id(2) Execute", done(warnings=LOGGED) + EOT),
        release(2),
        statement_cache_size=10,
    ) as (conn, _):
        async with await conn.prepare("database other") as statement:
            await statement.execute()
        assert len(conn._statements) == 0


@pytest.mark.parametrize("args", [(), (1, 2)])
async def test_a_wrong_number_of_parameters_leaves_the_kept_statement_kept(args: tuple[int, ...]) -> None:
    async with talking(inserting(2), inserted(2), inserted(2), statement_cache_size=10) as (conn, peer):
        await conn.execute(INSERT, 1)
        with pytest.raises(InterfaceError, match=f"parameters?, got {len(args)}"):
            await conn.fetch(INSERT, *args)
        assert len(peer.groups) == 3
        await conn.execute(INSERT, 2)


# -- errors -----------------------------------------------------------------------------------------------------------


async def test_a_statement_that_fails_is_kept() -> None:
    duplicate = error(-268, -100, token="u") + EOT
    async with talking(
        inserting(2), inserted(2, duplicate), inserted(2, duplicate), inserted(2), statement_cache_size=10
    ) as (conn, _):
        for _ in range(2):
            with pytest.raises(UniqueViolation):
                await conn.execute(INSERT, 1)
        assert (await conn.execute(INSERT, 2)).rowcount == 1


async def test_a_query_that_fails_in_its_rows_is_closed_and_kept() -> None:
    failed: Exchange = (opening(2), ints(1) + error(-243, -143) + EOT)
    async with talking(prepared(2), failed, close(2), used(2, 1), statement_cache_size=10) as (conn, _):
        with pytest.raises(Deadlock):
            await conn.fetch(QUERY)
        assert await conn.fetch(QUERY) == [(1,)]


async def test_a_value_that_does_not_fit_does_not_cause_another_prepare() -> None:
    async with talking(inserting(2), inserted(2), statement_cache_size=10) as (conn, _):
        with pytest.raises(DataError):
            await conn.execute(INSERT, "\u20ac")
        await conn.execute(INSERT, 1)


async def test_a_statement_that_is_not_prepared_is_not_kept() -> None:
    missing: Exchange = (PREPARE, error(-206, token="t") + EOT)
    async with talking(missing, missing, first_use(2, 1), statement_cache_size=10) as (conn, _):
        for _ in range(2):
            with pytest.raises(UndefinedTable):
                await conn.fetch(QUERY)
        assert await conn.fetch(QUERY) == [(1,)]


@cancelled_or_late
async def test_one_that_was_cancelled_or_timed_out_is_released(end: str) -> None:
    held = Delayed(ints(1) + error(-213) + EOT)
    rest: list[Exchange] = [*closing(2), *first_use(2, 1), *used(2, 1)]
    async with talking(
        prepared(2), (opening(2), held), rest, statement_cache_size=10, command_timeout=60.0
    ) as (conn, _):
        await end_early(end, held, conn, conn.fetch(QUERY))
        assert await conn.fetch(QUERY) == [(1,)]
        assert await conn.fetch(QUERY) == [(1,)]


async def test_one_that_is_released_twice_is_kept_once() -> None:
    async with talking(first_use(2, 1), used(2, 1), statement_cache_size=10) as (conn, _):
        await conn.fetch(QUERY)
        async with conn._session:
            statement = await conn._statements.acquire(QUERY)
            conn._statements.release(statement)
            conn._statements.release(statement)
        assert len(conn._statements) == 1 and statement.is_usable
        await conn.fetch(QUERY)


async def test_one_that_fails_after_its_release_is_not_kept() -> None:
    async with talking(first_use(2, 1), release(2), first_use(3, 1), statement_cache_size=10) as (conn, _):
        await conn.fetch(QUERY)
        async with conn._session:
            statement = await conn._statements.acquire(QUERY)
            conn._statements.release(statement)
            conn._statements.on_failure(statement, asyncio.CancelledError())
        assert await conn.fetch(QUERY) == [(1,)]


# -- stale statements -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sqlcode", STALE)
async def test_a_cached_statement_that_is_stale_is_prepared_again_automatically(sqlcode: int) -> None:
    stale: Exchange = (opening(2), error(sqlcode) + EOT)
    async with talking(
        first_use(2, 1),
        stale,
        first_use(3, 8)[:-1],
        closing(2),
        close(3),
        used(3, 9),
        statement_cache_size=10,
    ) as (conn, _):
        assert await conn.fetch(QUERY) == [(1,)]
        assert await conn.fetch(QUERY) == [(8,)]
        await at_rest(conn._session)
        assert await conn.fetch(QUERY) == [(9,)]


@pytest.mark.parametrize("sqlcode", STALE)
async def test_an_execution_too(sqlcode: int) -> None:
    async with talking(
        inserting(2),
        inserted(2),
        inserted(2, error(sqlcode) + EOT),
        inserting(3),
        inserted(3),
        release(2),
        statement_cache_size=10,
    ) as (conn, _):
        await conn.execute(INSERT, 1)
        assert (await conn.execute(INSERT, 2)).rowcount == 1


@pytest.mark.parametrize("sqlcode", STALE)
async def test_that_of_a_call_that_waited_for_the_connection_too(sqlcode: int) -> None:
    async with talking(
        first_use(2, 1),
        (COMMAND, executed(9, StatementType.DELETE)),
        (opening(2), error(sqlcode) + EOT),
        first_use(3, 8)[:-1],
        closing(2),
        close(3),
        statement_cache_size=10,
    ) as (conn, _):
        assert await conn.fetch(QUERY) == [(1,)]
        _, rows = await asyncio.gather(conn.execute("delete from t where c1 = 1"), conn.fetch(QUERY))
        assert rows == [(8,)]


async def test_streams_and_cursors_too() -> None:
    stale: Exchange = (opening(2, hold=True), error(-710) + EOT)
    again: list[Exchange] = [prepared(3), (opening(3, hold=True), ints(8) + done(1) + EOT)]

    async def by_stream(conn: Connection) -> list[Any]:
        return [row async for row in conn.stream(QUERY)]

    async def by_cursor(conn: Connection) -> list[Any]:
        async with conn.cursor() as cursor:
            return await (await cursor.execute(QUERY)).fetchall()

    for call in (by_stream, by_cursor):
        async with talking(first_use(2, 1), stale, again, closing(2), close(3), statement_cache_size=10) as (
            conn,
            _,
        ):
            await conn.fetch(QUERY)
            assert await call(conn) == [(8,)]


async def test_it_is_retried_once_and_not_for_ever() -> None:
    stale = error(-710) + EOT
    async with talking(
        first_use(2, 1),
        (opening(2), stale),
        prepared(3),
        (opening(3), stale),
        closing(2),
        close(3),  # an error of a statement that is new; it is kept like any that failed
        statement_cache_size=10,
    ) as (conn, _):
        await conn.fetch(QUERY)
        with pytest.raises(DatabaseError) as caught:
            await conn.fetch(QUERY)
        assert caught.value.sqlcode == -710


async def test_the_second_try_may_fail_to_prepare() -> None:
    async with talking(
        first_use(2, 1),
        (opening(2), error(-206, token="t") + EOT),
        (PREPARE, error(-206, token="t") + EOT),
        closing(2),
        statement_cache_size=10,
    ) as (conn, _):
        await conn.fetch(QUERY)
        with pytest.raises(UndefinedTable):
            await conn.fetch(QUERY)


async def test_an_error_of_a_statement_that_was_prepared_for_this_call_is_the_callers() -> None:
    async with talking(prepared(2), (opening(2), error(-710) + EOT), close(2), statement_cache_size=10) as (
        conn,
        _,
    ):
        with pytest.raises(DatabaseError) as caught:
            await conn.fetch(QUERY)
        assert caught.value.sqlcode == -710


async def test_another_error_of_a_kept_statement_is_the_callers() -> None:
    async with talking(
        first_use(2, 1), (opening(2), error(-243, -143) + EOT), close(2), statement_cache_size=10
    ) as (conn, _):
        await conn.fetch(QUERY)
        with pytest.raises(Deadlock):
            await conn.fetch(QUERY)


async def test_inside_of_a_transaction_nothing_is_tried_twice() -> None:
    """What went before may depend on it; the transaction is its owner's to repeat."""
    async with talking(
        first_use(2, 1),
        BEGIN,
        (opening(2), error(-710) + EOT),
        closing(2),
        first_use(3, 8),
        COMMIT,
        statement_cache_size=10,
    ) as (conn, _):
        await conn.fetch(QUERY)
        async with conn.transaction():
            with pytest.raises(DatabaseError) as caught:
                await conn.fetch(QUERY)
            assert caught.value.sqlcode == -710
            assert any("execute it again" in note for note in caught.value.__notes__)
            assert await conn.fetch(QUERY) == [(8,)]  # it was released, so the next call prepares it again


async def test_nor_is_a_call_that_waited_for_the_connection() -> None:
    async with talking(
        first_use(2, 1),
        BEGIN,
        (COMMAND, executed(9, StatementType.DELETE)),
        (opening(2), error(-710) + EOT),
        closing(2),
        COMMIT,
        statement_cache_size=10,
    ) as (conn, _):
        await conn.fetch(QUERY)
        async with conn.transaction():
            _, caught = await asyncio.gather(
                conn.execute("delete from t where c1 = 1"), conn.fetch(QUERY), return_exceptions=True
            )
            assert isinstance(caught, DatabaseError) and caught.sqlcode == -710
            assert any("execute it again" in note for note in caught.__notes__)


async def test_a_batch_is_not_tried_twice_since_its_rows_come_but_once() -> None:
    async with talking(
        inserting(2), inserted(2), inserted(2, error(-710) + EOT), release(2),
        warnings=UNLOGGED, statement_cache_size=10,
    ) as (conn, _):  # fmt: skip
        await conn.execute(INSERT, 1)
        with pytest.raises(DatabaseError) as caught:
            await conn.executemany(INSERT, iter([(1,)]))
        assert (caught.value.sqlcode, caught.value.row_index) == (-710, 0)


async def test_in_an_ansi_database_the_transaction_of_a_failed_attempt_is_committed_too() -> None:
    async with talking(
        first_use(2, 1)[:-1], (fetching(2), EOT), close(2), COMMIT, (opening(2), error(-710) + EOT),
        first_use(3, 8)[:-1], (fetching(3), EOT),
        closing(2), COMMIT, close(3), COMMIT, warnings=ANSI, statement_cache_size=10,
    ) as (conn, _):  # fmt: skip
        await conn.fetch(QUERY)
        assert await conn.fetch(QUERY) == [(8,)]


async def test_in_an_ansi_database_a_querys_transaction_is_committed_on_release() -> None:
    query: list[Exchange] = [(PREPARE, described(2, C1)), (opening(2, hold=True), ints(1, 2) + EOT)]
    async with talking(query, closing(2), COMMIT, warnings=ANSI) as (conn, _):
        session = PooledSession(conn)
        acquired = session.connection_for_user()
        stream = acquired.stream(QUERY, prefetch=False)
        await anext(stream)
        session.reset_after(acquired)
        await session.wait_idle()


# -- what makes all of them stale -------------------------------------------------------------------------------------


def by_execute(conn: Connection, sql: str) -> Awaitable[Any]:
    return conn.execute(sql)


def by_cursor(conn: Connection, sql: str) -> Awaitable[Any]:
    return conn.cursor().execute(sql)


@pytest.mark.parametrize("call", [by_execute, by_cursor])
@pytest.mark.parametrize(
    "sql", ["alter table t add (c2 int)", "DROP TABLE t", "-- now\nrename column t.c1 to c2"]
)
async def test_a_ddl_statement_of_our_own_releases_all_cached_statements(
    sql: str, call: Callable[[Connection, str], Awaitable[Any]]
) -> None:
    changed: list[Exchange] = [(COMMAND, executed(9, 43))]
    if call is by_cursor:
        changed = [(PREPARE, described(9, kind=43)), ("Id(9) Execute", done() + EOT)]
    async with talking(
        first_use(2, 1), first_use(3, 2), changed, release(2), release(3), first_use(2, 5),
        statement_cache_size=10,
    ) as (conn, _):  # fmt: skip
        await conn.fetch(QUERY)
        await conn.fetch(f"{QUERY}2")
        await call(conn, sql)
        assert await conn.fetch(QUERY) == [(5,)]


async def test_one_that_fails_changes_nothing() -> None:
    async with talking(
        first_use(2, 1), (COMMAND, error(-206) + EOT), used(2, 1), statement_cache_size=10
    ) as (conn, _):
        await conn.fetch(QUERY)
        with pytest.raises(UndefinedTable):
            await conn.execute("drop table t")
        await conn.fetch(QUERY)


@pytest.mark.parametrize("sql", ["create table u (a int)", "delete from t where c1 = 1", "grant dba to u"])
async def test_a_statement_that_changes_no_table_keeps_the_cache(sql: str) -> None:
    async with talking(
        first_use(2, 1), (COMMAND, executed(9, StatementType.DELETE)), used(2, 1), statement_cache_size=10
    ) as (conn, _):
        await conn.fetch(QUERY)
        await conn.execute(sql)
        await conn.fetch(QUERY)


async def test_another_database_takes_its_statements_along_so_none_is_released() -> None:
    """Their ids may be others' by now (documented: a database that is closed takes its statements along)."""
    async with talking(
        first_use(2, 1),
        first_use(3, 1),
        (PREPARE, described(4, kind=StatementType.DATABASE)),
        ("Id(4) Execute", done(warnings=LOGGED) + EOT),
        release(4),
        first_use(2, 5),
        used(2, 5),
        statement_cache_size=10,
    ) as (conn, _):
        await conn.fetch(QUERY)
        await conn.fetch(f"{QUERY}2")
        await conn.execute("database other")
        assert [await conn.fetch(QUERY) for _ in range(2)] == [[(5,)], [(5,)]]


# -- law: what a kept statement sends is what JDBC sends for one of its own ------------------------------------------


def rows_of(count: int) -> list[tuple[int, str, str]]:
    """What the rig's tables of three columns hold."""
    return [(n, f"name{n}", f"row {n}".ljust(40)) for n in range(1, count + 1)]


@pytest.mark.parametrize("case", ["optofc_prepared", "optofc_server_closes_prepared"])
async def test_a_query_is_repeated_as_jdbc_repeats_a_prepared_one(case: str) -> None:
    script = in_one_group(played("select", case))
    async with talking(
        script, statement_cache_size=10, fetch_size=4096, row_factory=tuple_row
    ) as (conn, _):  # fmt: skip
        for n in range(2):
            assert await conn.fetch("select rows_5 from t where a=?", n) == rows_of(5)
        conn._statements.clear()


async def test_two_texts_alternate_as_jdbcs_two_prepared_statements_do() -> None:
    update, query = "update t set a=?", "select rows_5 from t where a=?"
    script = in_one_group(played("prepared", "two_prepared_interleaved"))
    async with talking(
        script, statement_cache_size=10, fetch_size=4096, row_factory=tuple_row
    ) as (conn, _):  # fmt: skip
        for sql in (update, query):  # JDBC prepares both before it executes one
            async with await conn.prepare(sql):
                pass
        for n in range(2):
            assert (await conn.execute(update, n)).rowcount == 1
            assert await conn.fetch(query, n) == rows_of(5)
        conn._statements.clear()
