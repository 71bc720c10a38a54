"""The fetch buffer: which size is requested, and what a session does when it is rejected."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

import aioifx
from aioifx.client.config.options import STANDARD_FETCH_SIZE
from aioifx.client.session.fetch_size import FetchBuffer
from aioifx.errors import DataError, InternalError, OperationalError, QueryCanceled, RowLocked
from aioifx.server import Server, ServerOptions, serve
from aioifx.testing.messages import EOT, described, done, error, ints
from aioifx.testing.script import PREPARE, Exchange, close, closing, fetching, opening, release
from aioifx.wire.completion import ServerError
from aioifx.wire.opcodes import StatementType
from aioifx.wire.replies import Reply
from tests.scripted import C1, talking

LARGE = 1_000_000
REFUSED = -406
"""14.10's mask without bit 63."""


# -- what an answer says -----------------------------------------------------------------------------------------------


def failed(sqlcode: int, isamcode: int = 0) -> Reply:
    return Reply(error=ServerError(sqlcode, isamcode))


@pytest.mark.parametrize("sqlcode", [-406, -208, -408, -999, -29_999])
def test_an_error_that_may_be_about_the_size_ends_large_fetches(sqlcode: int) -> None:
    buffer = FetchBuffer(LARGE)
    assert buffer.fall_back_if_rejected(LARGE, failed(sqlcode))
    assert buffer.size == STANDARD_FETCH_SIZE


@pytest.mark.parametrize(
    ("sqlcode", "isamcode"), [(-213, 0), (-244, -107), (-243, -143), (-1202, 0), (-201, 0), (-259, 0)]
)
def test_an_error_with_a_reason_of_its_own_does_not(sqlcode: int, isamcode: int) -> None:
    buffer = FetchBuffer(LARGE)
    assert not buffer.fall_back_if_rejected(LARGE, failed(sqlcode, isamcode))
    assert buffer.size == LARGE
    assert buffer.fall_back_if_rejected(LARGE, failed(REFUSED)), "nothing was learnt from it"


def test_a_size_that_was_accepted_once_is_not_checked_again() -> None:
    buffer = FetchBuffer(LARGE)
    assert not buffer.fall_back_if_rejected(LARGE, Reply(rows=[(1,)]))
    assert not buffer.fall_back_if_rejected(LARGE, failed(REFUSED))
    assert buffer.size == LARGE


def test_an_error_after_rows_is_about_a_row() -> None:
    buffer = FetchBuffer(LARGE)
    assert not buffer.fall_back_if_rejected(LARGE, Reply(rows=[(1,)], error=ServerError(REFUSED)))
    assert buffer.size == LARGE


def test_answers_to_small_fetches_say_nothing_of_large_ones() -> None:
    buffer = FetchBuffer(LARGE)
    assert not buffer.fall_back_if_rejected(4096, Reply(rows=[(1,)]))
    assert not buffer.fall_back_if_rejected(4096, failed(REFUSED))
    assert buffer.fall_back_if_rejected(LARGE, failed(REFUSED))


def test_the_standard_size_is_never_refused() -> None:
    buffer = FetchBuffer(STANDARD_FETCH_SIZE)
    assert not buffer.is_unconfirmed
    assert not buffer.fall_back_if_rejected(STANDARD_FETCH_SIZE, failed(REFUSED))
    assert not buffer.fall_back_if_rejected(100_000, failed(REFUSED)), (
        "a row of that size, and no smaller buffer for it"
    )


# -- what a session sends ----------------------------------------------------------------------------------------------


async def test_a_refused_query_is_opened_again_with_the_standard_size_and_so_are_all_that_follow(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with talking(
        (PREPARE, described(2, C1)),
        (opening(2, LARGE), error(REFUSED) + EOT),
        (opening(2), ints(1, 2) + EOT),
        (fetching(2), ints(3) + done(3) + EOT),
        closing(2),
        (PREPARE, described(2, C1)),
        (opening(2), ints(4) + done(1) + EOT),
        closing(2),
        fetch_size=LARGE,
    ) as (conn, _):
        with caplog.at_level(logging.WARNING, "aioifx.fetch"):
            assert await conn.fetch("select c1 from t") == [(1,), (2,), (3,)]
            assert await conn.fetch("select c1 from t") == [(4,)]
    assert [record.message for record in caplog.records] == [
        "a fetch of 1000000 bytes failed with -406; this connection now uses 32767"
    ]


async def test_a_stream_begins_again_too() -> None:
    async with talking(
        (PREPARE, described(2, C1)),
        (opening(2, LARGE, hold=True), error(REFUSED) + EOT),
        (opening(2, hold=True), ints(1) + EOT),
        (fetching(2), ints(2) + done(2) + EOT),
        closing(2),
        fetch_size=LARGE,
    ) as (conn, _):
        assert [row async for row in conn.stream("select c1 from t")] == [(1,), (2,)]


async def test_when_the_size_was_not_the_reason_the_error_is_raised_after_one_repetition() -> None:
    async with talking(
        (PREPARE, described(2, C1)),
        (opening(2, LARGE), error(REFUSED) + EOT),
        (opening(2), error(REFUSED) + EOT),
        closing(2),
        fetch_size=LARGE,
    ) as (conn, _):
        with pytest.raises(OperationalError) as caught:
            await conn.fetch("select c1 from t")
        assert caught.value.sqlcode == REFUSED


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (error(-213), QueryCanceled),
        (error(-244, -107), RowLocked),
        (error(-1202), DataError),
        (ints(1) + error(REFUSED), OperationalError),
    ],
)
async def test_an_error_with_a_reason_of_its_own_is_raised_at_once(
    answer: bytes, kind: type[Exception]
) -> None:
    async with talking(
        (PREPARE, described(2, C1)), (opening(2, LARGE), answer + EOT), closing(2), fetch_size=LARGE
    ) as (conn, _):
        with pytest.raises(kind):
            await conn.fetch("select c1 from t")


async def test_a_routine_is_not_run_twice_but_what_follows_requests_less() -> None:
    async with talking(
        (PREPARE, described(2, C1, kind=StatementType.EXECUTE_ROUTINE)),
        (opening(2, LARGE), error(-408) + EOT),
        closing(2),
        (PREPARE, described(2, C1)),
        (opening(2), ints(4) + done(1) + EOT),
        closing(2),
        fetch_size=LARGE,
    ) as (conn, _):
        with pytest.raises(InternalError):
            await conn.fetch("execute procedure p()")
        assert await conn.fetch("select c1 from t") == [(4,)]


async def test_a_statement_goes_with_its_cursor_only_when_it_need_not_be_opened_again() -> None:
    freed: list[Exchange] = [
        (PREPARE, described(3, C1)),
        (opening(3, LARGE, freed=True), ints(2) + done(1) + EOT),
        close(3),
    ]
    async with talking(
        (PREPARE, described(2, C1)),
        (opening(2, LARGE), ints(1) + done(1) + EOT),
        closing(2),
        freed,
        fetch_size=LARGE,
        autofree=True,
    ) as (conn, _):
        assert await conn.fetch("select c1 from t") == [(1,)]
        assert await conn.fetch("select c1 from t") == [(2,)]


async def test_the_first_row_is_requested_with_the_least_buffer_and_proves_nothing() -> None:
    async with talking(
        (PREPARE, described(2, C1)),
        (opening(2, 4096), ints(1) + EOT),
        closing(2),
        (PREPARE, described(2, C1)),
        (opening(2, LARGE), error(REFUSED) + EOT),
        (opening(2), ints(1) + done(1) + EOT),
        close(2),
        release(2),
        fetch_size=LARGE,
    ) as (conn, _):
        assert await conn.fetchrow("select c1 from t") == (1,)
        assert await conn.fetch("select c1 from t") == [(1,)]


# -- with the embedded server ------------------------------------------------------------------------------------------

COUNT = 6000
QUERY = "select id, text from wide order by id"


@contextlib.asynccontextmanager
async def wide_table(**options: Any) -> AsyncIterator[Server]:
    async with serve(ServerOptions(databases=("shop",), **options)) as server:
        async with aioifx.connect(server.dsn) as conn:
            await conn.execute("create table wide (id integer, text char(200))")
            await conn.executemany("insert into wide values (?, ?)", ((n, str(n)) for n in range(COUNT)))
        yield server


async def turns_of(server: Server, fetch_size: int) -> int:
    """How often a client that reads all rows in blocks of that size waits for them."""
    async with aioifx.connect(server.dsn, fetch_size=fetch_size, strip_char=True) as conn:
        await conn.fetchval("select count(*) from wide")
        before = server.stats.turns
        assert [tuple(row) for row in await conn.fetch(QUERY)] == [(n, str(n)) for n in range(COUNT)]
        return server.stats.turns - before


async def test_larger_buffers_mean_fewer_round_trips() -> None:
    async with wide_table() as server:
        small, large = await turns_of(server, 32767), await turns_of(server, 4 * 1024 * 1024)
    assert small > 35, "1,270,000 bytes of rows"
    assert large < 8


@pytest.mark.exhaustive
async def test_a_server_that_sends_less_is_asked_more_often() -> None:
    async with wide_table(fetch_limit=32767) as server:
        assert await turns_of(server, 4 * 1024 * 1024) > 35


async def test_after_a_server_rejects_a_size_smaller_blocks_are_requested() -> None:
    async with wide_table(fetch_limit=32767, fetch_refusal=REFUSED) as server:
        assert await turns_of(server, 4 * 1024 * 1024) > 35
