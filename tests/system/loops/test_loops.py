"""Programs that choose their loop: `asyncio.Runner`, groups of tasks, timeouts and cancellation on each loop."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

import aioifx
from aioifx.server import running
from tests import test_asgi
from tests.client.connect import test_locks
from tests.client.session import test_client_files
from tests.injection import eventually
from tests.loops import LOOPS

ROWS = "SELECT FIRST 20 tabid, tabname FROM systables ORDER BY 1"


@pytest.fixture(params=[*LOOPS])
def runner(request: pytest.FixtureRequest) -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=LOOPS[request.param]) as runner:
        yield runner


def run(runner: asyncio.Runner, program: Callable[[str], Coroutine[Any, Any, None]]) -> None:
    """Run a program with the address of a server; nothing is left of it."""
    complaints: list[dict[str, Any]] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        async with running("d") as dsn:
            await program(dsn)
        gc.collect()
        await asyncio.sleep(0)

    runner.run(main())
    assert complaints == []


def test_a_group_of_tasks_shares_a_connection_and_a_pool(runner: asyncio.Runner) -> None:
    async def program(dsn: str) -> None:
        async with aioifx.connect(dsn) as conn, aioifx.create_pool(dsn, max_size=3) as pool:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(
                        source.fetchval("SELECT FIRST 1 tabid + ? FROM systables WHERE tabid = 1", n)
                    )
                    for n in range(20)
                    for source in (conn, pool)
                ]
            assert [task.result() for task in tasks] == [n + 1 for n in range(20) for _ in range(2)]
            assert pool.stats.opened <= 3

    run(runner, program)


def test_a_task_that_fails_cancels_the_others_and_their_connections_stay_usable(
    runner: asyncio.Runner,
) -> None:
    async def program(dsn: str) -> None:
        async with aioifx.create_pool(dsn, max_size=3) as pool:
            async with pool.acquire() as conn:
                rows = await conn.fetch(ROWS)
            with pytest.raises(ExceptionGroup) as raised:
                async with asyncio.TaskGroup() as group:
                    for _ in range(9):
                        group.create_task(pool.fetch(ROWS))
                    group.create_task(pool.fetch("SELECT nothing FROM systables"))
            assert raised.group_contains(aioifx.UndefinedColumn)
            assert await pool.fetch(ROWS) == rows
            await eventually(lambda: pool.stats.in_use == 0)  # the last one may be reset meanwhile

    run(runner, program)


def test_streams_in_tasks_of_their_own(runner: asyncio.Runner) -> None:
    async def read(pool: aioifx.Pool) -> list[aioifx.Record]:
        async with pool.acquire() as conn, conn.stream(ROWS) as stream:
            return [row async for row in stream]

    async def program(dsn: str) -> None:
        async with aioifx.create_pool(dsn, max_size=2) as pool:
            results = await asyncio.gather(*(read(pool) for _ in range(5)))
            assert len(results[0]) == 20 and all(rows == results[0] for rows in results)

    run(runner, program)


def test_a_limit_of_asyncio_ends_a_call_in_a_task(runner: asyncio.Runner) -> None:
    async def limited(conn: aioifx.Connection[Any]) -> None:
        async with asyncio.timeout_at(0):  # ends the first wait
            await conn.fetch(ROWS)

    async def program(dsn: str) -> None:
        async with aioifx.connect(dsn) as conn:
            for _ in range(3):
                with pytest.raises(TimeoutError):
                    await asyncio.create_task(limited(conn))
                assert len(await conn.fetch(ROWS)) == 20

    run(runner, program)


def test_a_cancelled_task_leaves_a_usable_connection(runner: asyncio.Runner) -> None:
    async def program(dsn: str) -> None:
        async with aioifx.connect(dsn) as conn:
            for steps in range(5):
                task = asyncio.create_task(conn.fetch(ROWS))
                for _ in range(steps):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                assert len(await conn.fetch(ROWS)) == 20

    run(runner, program)


def test_a_task_that_waits_for_itself_is_refused(runner: asyncio.Runner) -> None:
    async def call_again(conn: aioifx.Connection[Any]) -> None:
        async def rows() -> Any:
            yield (await conn.fetchval("SELECT COUNT(*) FROM t"),)

        with pytest.raises(aioifx.InterfaceError, match="this task already uses the connection"):
            await conn.executemany("INSERT INTO t VALUES (?)", rows())

    async def program(dsn: str) -> None:
        async with aioifx.connect(dsn) as conn:
            await conn.execute("CREATE TABLE t (a INTEGER)")
            await asyncio.create_task(call_again(conn))
            await call_again(conn)

    run(runner, program)


# --- eager tasks ----------------------------------------------------------------------------------------------------

NOT_OVERTAKEN: list[Callable[..., Coroutine[Any, Any, None]]] = [
    test_asgi.test_a_message_after_the_response_cancels_nothing,
    test_asgi.test_a_request_is_cancelled_when_its_client_has_gone,
    test_locks.test_those_who_ask_during_a_run_of_the_queries_share_the_next_one,
    test_client_files.test_a_reply_that_ends_before_the_answer_to_its_request_is_refused,
]


@pytest.mark.skipif("eager" not in LOOPS, reason="eager tasks are new in Python 3.12")
@pytest.mark.parametrize("test", NOT_OVERTAKEN)
def test_the_packages_own_tasks_wait_for_their_turn(test: Any, tmp_path: Any) -> None:
    with asyncio.Runner(loop_factory=LOOPS["eager"]) as runner:
        runner.run(test(**{"tmp_path": tmp_path} if "tmp_path" in test.__annotations__ else {}))
