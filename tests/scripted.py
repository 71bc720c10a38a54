"""Connections to the scripted server of `aioifx.testing.script` in memory, and recorded conversations as scripts.

An example is in docs/development/testing.md.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any, TypeVar

import pytest

from aioifx.channel import Channel
from aioifx.client.api.connection import Connection
from aioifx.client.config.options import ConnectOptions
from aioifx.client.session.server_behavior import ServerBehavior
from aioifx.client.session.session import Session
from aioifx.errors import QueryTimeout
from aioifx.sqltypes import TypeCode
from aioifx.testing.messages import DIALECT, EOT, LOGGED, column
from aioifx.testing.script import Chunking, Delayed, Exchange, Peer, byte_by_byte, whole
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.completion import Done
from aioifx.wire.replies import Reply
from tests.feeding import random_cut
from tests.wire.frames import frames

C1 = column("c1", TypeCode.INTEGER, 4)
INTEGER = C1.type
TEXT = column("text", TypeCode.UDTVAR, 2048, extended_id=1, owner="informix", extended_name="lvarchar")
FLAG = column("flag", TypeCode.UDTFIXED, 1, extended_id=5, owner="informix", extended_name="boolean")


def played(file: str, case: str) -> list[Exchange]:
    """A recorded conversation as a script: JDBC's frames, each with the reply that JDBC was sent."""
    script: list[tuple[bytes, bytes]] = []
    for frame in frames(file):
        if frame.case != case or frame.is_event:
            continue
        if frame.side == "C":
            script.append((frame.data, b""))
        else:
            script[-1] = (script[-1][0], script[-1][1] + frame.data)
    assert script, f"{file}.json has no case {case!r}"
    return [*script]


def without_describe_input(script: list[Exchange]) -> list[Exchange]:
    """A deliberate difference: JDBC sends CIDESCRIBE even without parameters; we save the round trip."""
    return [turn for turn in script if turn[1] != b"\0\x7d\0\0" + EOT]


def in_one_group(script: list[Exchange]) -> list[Exchange]:
    """A deliberate difference: JDBC opens a cursor with a VARCHAR column in one group, and fetches in the next.

    It does so to add RET_TYPE. RET_TYPE changes nothing about a VARCHAR, and servers take OPEN and NFETCH in one group
    (observed: 12.10 to 15), so we save the round trip and the message.
    """
    merged: list[Exchange] = []
    for request, answer in script:
        assert isinstance(request, bytes)
        if (ret_type := request.find(b"\0\x64\0\1")) >= 0:
            request = request[:ret_type] + request[-10:]  # SQ_NFETCH, SQ_EOT
        before = merged[-1][0] if merged else None
        if isinstance(before, bytes) and before.endswith(b"\0\6" + EOT) and request[4:6] == b"\0\x09":
            merged[-1] = (before.removesuffix(EOT) + request, answer)
        else:
            merged.append((request, answer))
    return merged


# -- how a reply is split into chunks ---------------------------------------------------------------------------------


def at_random(data: bytes) -> list[bytes]:
    return [chunk for chunk in random_cut(data, 3) if chunk]


CHUNKINGS: tuple[Chunking, ...] = (whole, byte_by_byte, at_random)


# -- in memory --------------------------------------------------------------------------------------------------------


class MemoryTransport(asyncio.Transport):
    """One end of a pipe within one loop: each write arrives as a chunk of its own."""

    def __init__(self, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._protocol = protocol
        self._closing = False
        self._arrived: deque[bytes | None] = deque()  # while reading is paused; None for the end
        self._is_paused = False
        self.other: MemoryTransport | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        other = self.other
        if not self._closing and other is not None:
            self._loop.call_soon(other._deliver, bytes(data))

    def _deliver(self, data: bytes | None) -> None:
        self._arrived.append(data)
        self._hand_on()

    def _hand_on(self) -> None:
        while self._arrived and not self._is_paused and not self._closing:
            data = self._arrived.popleft()
            if data is not None:
                self._protocol.data_received(data)
            else:
                self._protocol.eof_received()
                self.close()

    def pause_reading(self) -> None:
        self._is_paused = True

    def resume_reading(self) -> None:
        self._is_paused = False
        self._loop.call_soon(self._hand_on)

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._loop.call_soon(self._protocol.connection_lost, None)
            if self.other is not None:
                self._loop.call_soon(self.other._deliver, None)

    def abort(self) -> None:
        self.close()


def pipe(client: asyncio.Protocol, server: asyncio.Protocol) -> None:
    """Connect two protocols."""
    ends = MemoryTransport(client), MemoryTransport(server)
    ends[0].other, ends[1].other = ends[1], ends[0]
    server.connection_made(ends[1])
    client.connection_made(ends[0])


def session_with(
    peer: Peer,
    *,
    warnings: int = LOGGED,
    locale: str = "en_US.8859-1",
    capabilities: Capabilities | None = None,
    **options: Any,
) -> Session:
    """A session after its login."""
    channel = Channel()
    pipe(channel, peer)
    own = {name: options.pop(name) for name in ("read_ahead", "autofree", "behavior") if name in options}
    found = options_with(db_locale=locale, **options)
    own.setdefault("behavior", ServerBehavior(done_ends_rows=True))  # as after a query of several blocks
    session = Session(channel, capabilities or Capabilities(encoding=found.code_set.codec), found, **own)
    session.on_database_opened("", Reply(done=Done(warnings)))
    return session


def options_with(**options: Any) -> ConnectOptions:
    """Options of a connection to a peer in memory."""
    defaults: dict[str, Any] = {"host": "memory", "server": "ol_memory", "user": "scripted"}
    return ConnectOptions(**(defaults | options))


@contextlib.asynccontextmanager
async def talking(
    *script: Exchange | Sequence[Exchange],
    chunks: Chunking = whole,
    row_factory: Any = None,
    peer_dialect: Capabilities = DIALECT,
    statement_cache_size: int = 0,
    **options: Any,
) -> AsyncIterator[tuple[Connection, Peer]]:
    """A connection to a peer with this script, which must have been played when the block ends.

    Without a statement cache, each call sends all of its messages.
    """
    async with talking_to(
        Peer,
        *script,
        chunks=chunks,
        row_factory=row_factory,
        peer_dialect=peer_dialect,
        statement_cache_size=statement_cache_size,
        **options,
    ) as pair:
        yield pair


AnyPeer = TypeVar("AnyPeer", bound=Peer)


@contextlib.asynccontextmanager
async def talking_to(
    kind: Callable[..., AnyPeer],
    *script: Exchange | Sequence[Exchange],
    chunks: Chunking = whole,
    row_factory: Any = None,
    peer_dialect: Capabilities = DIALECT,
    statement_cache_size: int = 0,
    **options: Any,
) -> AsyncIterator[tuple[Connection, AnyPeer]]:
    """`talking` to another kind of peer."""
    peer = kind(script, chunks=chunks, capabilities=peer_dialect)
    session = session_with(peer, **options)
    connection = Connection(
        session,
        statement_cache_size=statement_cache_size,
        address="memory:0",
        server_version="Scripted",
        row_factory=row_factory,
    )
    try:
        yield connection, peer
        await at_rest(session)
    finally:
        if peer.failure is not None:
            peer.check()  # the test's own failure would only be its consequence
        connection.terminate()
        await session.channel.wait_closed()
    peer.check()


async def at_rest(session: Session) -> None:
    """Wait until the session has sent its cleanup, or is closed."""
    for _ in range(1_000):
        if session.dispatcher.is_idle or not session.is_open:
            return
        await asyncio.sleep(0)


async def run_ready_tasks() -> None:
    """Let everything happen that is due."""
    for _ in range(10):
        await asyncio.sleep(0)


async def until(condition: Callable[[], bool]) -> None:
    """Run the loop until *condition* holds; for peers in memory, where nothing takes time."""
    for _ in range(10_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("the condition never held")


async def cancel_at(delayed: Delayed, call: Coroutine[Any, Any, Any]) -> None:
    """Start *call*, and cancel it when its request has arrived and the reply has not been sent."""
    task = asyncio.ensure_future(call)
    await asyncio.wait_for(delayed.reached.wait(), 10)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert task.cancelled()


async def cancelled(task: asyncio.Task[Any]) -> None:
    """Cancel *task*, and wait until it is."""
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def time_is_up(session: Session) -> None:
    """Let the oldest reply that is awaited have taken longer than command_timeout, which must be set."""
    dispatcher = session.dispatcher
    dispatcher._in_flight[0].deadline = 0.0
    dispatcher._on_timer()


async def time_out_at(delayed: Delayed, conn: Connection, call: Coroutine[Any, Any, Any]) -> None:
    """Start *call*, and let its time be up when its request has arrived and the reply has not been sent."""
    task = asyncio.ensure_future(call)
    await asyncio.wait_for(delayed.reached.wait(), 10)
    time_is_up(conn._session)
    await task


cancelled_or_late = pytest.mark.parametrize("end", ["cancelled", "timed out"])
"""For `end_early`, on a connection with a command_timeout."""


async def end_early(end: str, delayed: Delayed, conn: Connection, call: Coroutine[Any, Any, Any]) -> None:
    """Cancel *call*, or let its time be up, when its request has arrived; then send the reply."""
    if end == "cancelled":
        await cancel_at(delayed, call)
    else:
        with pytest.raises(QueryTimeout):
            await time_out_at(delayed, conn, call)
    delayed.release()
