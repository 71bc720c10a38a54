"""What JDBC does when a statement is cancelled or takes too long, and what we do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from aioifx import Connection, QueryTimeout
from aioifx.testing.messages import EOT, described, ints
from aioifx.testing.script import PREPARE, Delayed, Exchange, close, opening, release
from tests.scripted import C1, played, talking, time_out_at
from tests.wire.frames import frames

URGENT = {frame.case: frame.data for frame in frames("cancel") if frame.is_event and len(frame.data) == 1}
"""The bytes beside the stream, by case."""


def interrupted(case: str) -> tuple[list[Exchange], Delayed, list[Exchange]]:
    """A recorded case in three: up to what runs, its answer, held back until it is cancelled, and what follows."""
    script = played("cancel", case)
    index = next(index for index, (_, answer) in enumerate(script) if b"\xff\x2b" in bytes(answer))  # type: ignore[arg-type]
    request, answer = script[index]
    assert isinstance(answer, bytes)
    held = Delayed(answer)
    return [*script[:index], (request, held)], held, script[index + 1 :]


def query(sql: str) -> Callable[[Connection], Awaitable[object]]:
    return lambda conn: conn.fetch(sql)


@pytest.mark.parametrize(
    ("case", "call"),
    [
        ("cancel_select", query("select slow_6 from t")),
        ("querytimeout_select", query("select slow_6 from t")),
        ("cancel_update", lambda conn: conn.execute("update slow_6 set a=1")),
    ],
)
async def test_a_cancelled_call_sends_what_jdbc_sends(
    case: str, call: Callable[[Connection], Awaitable[object]]
) -> None:
    before, held, after = interrupted(case)
    # On purpose: JDBC keeps its statement until it is closed, ours is released; and it commits after a failed change.
    cleared: Sequence[Exchange] = [] if case == "cancel_update" else [close(2), release(2)]
    behind = [turn for turn in after if turn[0] != b"\0\x13\0\x0c"]
    if behind:
        behind[-1] = (behind[-1][0], bytes(behind[-1][1]).replace(b"\0\x0f\0", b"\0\x0a\0\x0f\0", 1))  # type: ignore[arg-type]
    async with talking(
        [*before], [*cleared], [*behind, *([release(3)] if behind else [])], fetch_size=4096
    ) as (conn, peer):
        sent: list[bytes] = []
        conn._session.channel.send_urgent = lambda byte: not sent.append(byte)  # type: ignore[method-assign, func-returns-value]
        task = asyncio.ensure_future(call(conn))
        await held.reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sent == [URGENT[case]] == [b"\x42"]
        held.release()
        if behind:
            assert await conn.fetch("select c1 from t") == [(1,)]
        assert not conn.is_closed()
        assert peer.failure is None


async def test_a_time_out_sends_the_same_as_a_cancellation() -> None:
    before, held, _ = interrupted("querytimeout_select")
    async with talking([*before], [close(2), release(2)], fetch_size=4096, command_timeout=60.0) as (
        conn,
        _peer,
    ):
        sent: list[bytes] = []
        conn._session.channel.send_urgent = lambda byte: not sent.append(byte)  # type: ignore[method-assign, func-returns-value]
        with pytest.raises(QueryTimeout):
            await time_out_at(held, conn, conn.fetch("select slow_6 from t"))
        assert sent == [URGENT["querytimeout_select"]]
        held.release()


async def test_an_idle_connection_is_never_interrupted() -> None:
    """On purpose: JDBC sends the byte even when nothing runs, and it would hit the next statement."""
    assert URGENT["cancel_idle"] == b"\x42"
    script: list[Exchange] = [
        (PREPARE, described(2, C1)),
        (opening(2, hold=True), ints(1, 2) + EOT),
        close(2),
        release(2),
    ]
    async with talking(script) as (conn, _):
        sent: list[bytes] = []
        conn._session.channel.send_urgent = lambda byte: not sent.append(byte)  # type: ignore[method-assign, func-returns-value]
        begun = asyncio.Event()

        async def consume() -> None:
            async with conn.stream("select c1 from t", prefetch=False) as stream:
                async for _ in stream:
                    begun.set()
                    await asyncio.Event().wait()  # busy with something else

        task = asyncio.ensure_future(consume())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sent == []
