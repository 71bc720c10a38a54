"""The asyncio.Protocol: feeds the inbox, steps parsers, sends, drains. Never: an opcode, a value, a cursor.

Invariants:
1. Replies match expectations by order alone; `expect` comes before the bytes leave.
2. A cancelled waiter cancels a future, never a parser: the parser still reads its reply to the end.
3. When a parser raises, or the peer goes away, every waiter fails at once, and so does every later one.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar, cast

from aioifx.errors import ConnectError, ConnectionLost, DatabaseError, ProtocolError
from aioifx.wire.inbox import COMPACT_FROM, Inbox, Parser, Reader

T = TypeVar("T")

MAX_UNSOLICITED: Final = 16 * 1024 * 1024
"""Most bytes buffered while no reply is expected; a peer that sends more does not speak SQLI."""


RECV_BUFFER_SIZE: Final = 64 * 1024
"""Bytes for which asyncio makes room before it asks the system for what came.

asyncio's own 256 KiB are above glibc's threshold for mapping memory. So glibc maps and unmaps it for each use, unless
the process has freed a larger block before. The three system calls and the page fault for every reply cost more than
everything else in a small query.
"""


class PendingReply(Generic[T]):
    """A reply that is expected, in order."""

    # Without slots and __init__: one is made for every request, and most of what it may hold it does not.

    future: asyncio.Future[T]
    reader: Reader[T]
    """Takes it, or makes its parser; needed where there is no parser from the beginning."""
    parser: Parser[T] | None = None
    on_lost: Callable[[DatabaseError], None] | None = None
    """Called with what has kept the reply to a request that was sent from coming."""


class Channel(asyncio.Protocol):
    """One connection's bytes, in both directions. Either end may use it."""

    def __init__(self) -> None:
        self.inbox = Inbox()
        self.bytes_in = 0
        self.bytes_out = 0
        self.on_close: Callable[[], None] | None = None
        """Called once, when the channel has failed or was closed, and all waiting tasks have their error."""
        self.expected: deque[Any] = deque()
        """What is expected, `PendingReply`, in the order in which it will come; `ask` appends."""
        self.on_reply: Callable[[Any, Any], None] | None = None
        """Gets each of `expected` and what came for it, whether or not it has a waiter; what it raises is
        treated as the parser's error."""
        self._transport: asyncio.Transport | None = None
        self.failure: DatabaseError | None = None
        """Why the channel ended; None while it is open."""
        self._is_closing = False  # once nothing is expected any more
        self._writable: asyncio.Future[None] | None = None
        self._ended: asyncio.Future[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = os.getpid()

    def __repr__(self) -> str:
        state = "closed" if self.failure else "open" if self._transport else "new"
        return f"<Channel {state}, {len(self.expected)} replies expected, {self.inbox.unread} bytes unread>"

    # -- what the event loop calls ------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports do not inherit from asyncio's.
        self._transport = cast(asyncio.Transport, transport)
        # Only asyncio's for plain sockets has it; the others have buffers of their own.
        if hasattr(transport, "max_size"):
            cast(Any, transport).max_size = RECV_BUFFER_SIZE
        self._loop = asyncio.get_running_loop()
        self._ended = self._loop.create_future()

    def data_received(self, data: bytes) -> None:
        self.bytes_in += len(data)
        self.inbox.feed(data)
        self._parse_replies()
        if (
            len(self.inbox.data) > MAX_UNSOLICITED
            and not self.expected
            and self.inbox.unread > MAX_UNSOLICITED
        ):
            self._break(ProtocolError(f"more than {MAX_UNSOLICITED} unsolicited bytes arrived"))

    def eof_received(self) -> bool:
        self.inbox.eof = True
        self._parse_replies()
        if self.failure is None or self.expected:
            self._fail(ConnectionLost("the server closed the connection"))
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.inbox.eof = True
        self._parse_replies()
        if self.failure is None or self.expected:
            reason = f": {exc}" if exc else ""
            self._fail(ConnectionLost(f"the connection was lost{reason}"))
        self._resume()
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(None)

    def pause_writing(self) -> None:
        if self._writable is None:
            self._writable = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        self._resume()

    def _resume(self) -> None:
        writable, self._writable = self._writable, None
        if writable is not None and not writable.done():
            writable.set_result(None)

    # -- what sessions call -------------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        return self.failure is None and self._transport is not None

    @property
    def is_inherited(self) -> bool:
        """Whether this process is a fork of the one that has connected."""
        return os.getpid() != self._pid

    @property
    def pending(self) -> int:
        """Replies that are expected and not complete."""
        return len(self.expected)

    @property
    def transport(self) -> asyncio.Transport:
        assert self._transport is not None, "the channel was never connected"
        return self._transport

    def expect(self, parser: Parser[T]) -> asyncio.Future[T]:
        """Queue *parser* for the next reply that has no parser yet.

        Returns:  a future of what the parser returns; it may be cancelled, the reply is read all the same.
        """
        expected: PendingReply[T] = PendingReply()
        expected.parser = parser
        self.ask(expected, b"")
        return expected.future

    def ask(self, expected: PendingReply[Any], request: bytes | bytearray) -> None:
        """`expect` with a caller's own PendingReply, then `send` its request; sets its future."""
        expected.future = asyncio.Future(loop=self._loop)
        if self.failure is not None:
            _reject(expected, _again(self.failure), sent=False)
            return
        self.expected.append(expected)
        if len(self.inbox.data) > self.inbox.pos and len(self.expected) == 1:
            self._parse_replies()
            self.send(request)  # unless that has ended the channel
        elif request and self._transport is not None:
            self.bytes_out += len(request)
            self._transport.write(request)

    def send(self, data: bytes | bytearray) -> None:
        """Hand *data* to the transport; `drain` waits for room. Does nothing on a channel that has ended."""
        if self.failure is None and self._transport is not None:
            self.bytes_out += len(data)
            self._transport.write(data)

    @property
    def unsent(self) -> int:
        """Bytes that the transport has not given to the system yet."""
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    def send_urgent(self, byte: bytes) -> bool:
        """Send one byte of TCP urgent data, beside the stream: with TLS outside of its records.

        Returns:  False when there is no socket that could, or none any more.
        Source:   observed: it works inside and outside of TLS (14.10)
        """
        own = self._transport.get_extra_info("socket") if self.is_open and self._transport else None
        if own is None:
            return False
        try:
            # The transport's own object sends nothing, and uvloop's is not a socket. A copy of the descriptor is. On
            # Windows it is a handle, which os.dup does not take. That it works there is assumed (not tested).
            with socket.socket(fileno=socket.dup(own.fileno())) as beside:
                return beside.send(byte, socket.MSG_OOB) == len(byte)
        except OSError:
            return False

    async def drain(self) -> None:
        """Wait until the transport takes more."""
        while self._writable is not None:
            await asyncio.shield(self._writable)

    def abort(self, reason: DatabaseError | None = None) -> None:
        """Drop the connection at once, unsent bytes included. In a fork, the connection of the parent process stays."""
        if self.is_inherited or (self._loop is not None and self._loop.is_closed()):
            return self._let_go()
        if self.failure is None or self.expected:
            self._fail(reason or ConnectionLost("the connection was closed"))
        if self._transport is not None:
            self._transport.abort()
        return None

    def _let_go(self) -> None:
        """End the channel without its event loop; in a fork, also close this process's descriptor of the socket.

        The transport must not close it. It would unregister the socket from the selector, which both processes share,
        and shut TLS down. The number of the descriptor stays taken, because the transport closes it once more when it
        is garbage.
        """
        if self.failure is not None:
            return
        self.failure = ConnectionLost("the connection was closed")
        if self._transport is None or self.loop_is_closed():
            return  # the number may be another file's by now
        try:
            null = os.open(os.devnull, os.O_RDWR)
            try:
                os.dup2(null, self._transport.get_extra_info("socket").fileno(), inheritable=False)
            finally:
                os.close(null)
        except (AttributeError, OSError):
            pass  # there is no descriptor, or it is closed

    def close(self) -> None:
        """Close once everything is written. Waiters that are left fail with ConnectionLost."""
        if self.failure is None or self.expected:
            self._fail(ConnectionLost("the connection was closed"))
        # Once only: one with TLS that was closed twice cannot be dropped any more (CPython before 3.11.5 raises).
        if self._transport is not None and not self._transport.is_closing():
            self._transport.close()

    def close_when_answered(self) -> None:
        """`close` as soon as nothing is expected any more."""
        self._is_closing = True
        if not self.expected:
            self.close()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop that the channel belongs to."""
        assert self._loop is not None, "the channel was never connected"
        return self._loop

    def loop_is_closed(self) -> bool:
        """Whether the event loop is gone, so that nothing can be closed in order any more."""
        return self._loop is None or self._loop.is_closed()

    async def wait_closed(self) -> None:
        """Wait until the transport is gone."""
        if self._ended is not None and not self._ended.done():
            await asyncio.shield(self._ended)

    # -- parsers ------------------------------------------------------------------------------------------------------

    def _parse_replies(self) -> None:
        """Read what the head of the queue expects as far as the bytes reach, then what the next one does."""
        inbox, queue = self.inbox, self.expected
        while queue and (len(inbox.data) > inbox.pos or inbox.eof):
            expected = queue[0]
            try:
                parser, answer = expected.parser, None
                if parser is None:
                    answer = expected.reader.take(inbox)
                    if answer is None:
                        parser = expected.parser = expected.reader.parser(inbox)
                if parser is not None:
                    try:
                        parser.send(None)
                        return  # parked: it needs more bytes
                    except StopIteration as stop:
                        answer = stop.value
                if self.on_reply is not None:
                    self.on_reply(expected, answer)
            except (ConnectError, ConnectionLost, ProtocolError) as error:
                queue.popleft()
                _reject(expected, error)
                self._break(error)
                return
            except (
                Exception
            ) as error:  # a parser must not raise anything else: a defect, and the place is lost
                queue.popleft()
                defect = ProtocolError(f"a reply could not be read ({type(error).__name__})")
                defect.__cause__ = error
                _reject(expected, defect)
                self._break(defect)
                return
            queue.popleft()
            future = expected.future
            if not future.done():
                future.set_result(answer)
        if self._is_closing and not queue:
            self.close()
        elif inbox.pos > COMPACT_FROM:
            inbox.forget()

    def _break(self, error: DatabaseError) -> None:
        self._fail(error)
        if self._transport is not None:
            self._transport.abort()

    def _fail(self, error: DatabaseError) -> None:
        """Tell everybody who waits; keep the first reason for those who come later."""
        ended = self.failure is None
        self.failure = self.failure or error
        waiting = [*self.expected]
        self.expected.clear()
        for expected in waiting:
            _reject(expected, _again(error))
        if ended and self.on_close is not None:
            self.on_close()


def _reject(expected: PendingReply[Any], error: DatabaseError, *, sent: bool = True) -> None:
    """Set *error* on the future of a waiter. Without a waiter it must not be logged as never retrieved.

    Args:     sent: whether the request has left.
    """
    if expected.parser is not None:
        expected.parser.close()
    if sent and expected.on_lost is not None:
        expected.on_lost(error)
    future = expected.future
    if not future.done():
        future.set_exception(error)
        future.exception()


def _again(error: DatabaseError) -> DatabaseError:
    """The same error for another waiter; one exception object must not travel through two tracebacks."""
    copy = type(error)(str(error), sqlcode=error.sqlcode, isamcode=error.isamcode)
    copy.__cause__ = error.__cause__  # the error itself would say the same twice
    return copy
