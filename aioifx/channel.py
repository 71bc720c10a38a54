"""The asyncio.Protocol: feeds the inbox, steps parsers, sends data and interrupts. Never: an opcode, a value, a cursor.

Invariants:
1. Replies match expectations by order alone; `request` queues an InFlight before it writes.
2. Cancelling a waiter cancels a future, never a parser: the parser still reads its reply to the end.
3. When a parser raises, or the peer goes away, every waiter fails at once, and so does every later one.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeVar, cast

from aioifx._speedups.round_trip import CoreChannel, InFlight
from aioifx.errors import ConnectError, ConnectionLost, DatabaseError, InterfaceError, ProtocolError
from aioifx.wire.inbox import Inbox, Parser

T = TypeVar("T")

MAX_UNSOLICITED: Final = 16 * 1024 * 1024
"""Most bytes buffered while no reply is expected; a peer that sends more does not speak SQLI."""

RECV_BUFFER_SIZE: Final = 64 * 1024
"""Bytes for which asyncio makes room before it asks the system for what came.

asyncio's own 256 KiB are above glibc's threshold for mapping memory. So glibc maps and unmaps it for each use, unless
the process has freed a larger block before. The three system calls and the page fault for every reply cost more than
everything else in a small query.
"""

PARSING_SHARE: Final = 0.005
"""Seconds in one iteration of the event loop after which parsing waits for the next one."""

_TAG: Final = 2
"""Bytes of a message's number."""

MAX_SHOWN: Final = 256
"""Bytes in the error of a message that cannot be read."""

_CLOSED: Final = ConnectionLost("the connection was closed")
"""Shared, since a channel's failure is copied before it is raised."""


def running_loop() -> asyncio.AbstractEventLoop:
    """The running event loop.

    Raises:
        InterfaceError: none runs, as under trio.
    """
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise InterfaceError("aioifx needs asyncio (anyio with the asyncio backend works)") from None


class Channel(CoreChannel, asyncio.Protocol):
    """One connection's bytes, in both directions. Either end may use it."""

    failure: DatabaseError | None
    """Why the channel ended; None while it is open."""
    inbox: Inbox

    def __init__(self) -> None:
        super().__init__(Inbox())
        self.on_close: Callable[[], None] | None = None
        """Called once the channel has failed or was closed, after all waiters have failed."""
        self.reject_unsolicited: Callable[[Inbox], Parser[Any]] | None = None
        """Reads bytes that came before a request, instead of its parser; None: they belong to the request's reply."""
        self._is_reading_paused = False
        self._is_transport_paused = False
        self._parsing_since: float | None = None
        """When a reply was first incomplete in this iteration of the event loop."""
        self.shows_values = False
        """Whether errors show the bytes of values."""
        self._writable: asyncio.Future[None] | None = None
        self._close_waiters: list[asyncio.Future[None]] | None = None  # while there is a transport
        self._pid = os.getpid()

    def __repr__(self) -> str:
        state = "closed" if self.failure else "open" if self._transport else "new"
        return f"<Channel {state}, {len(self.pending_replies)} replies expected, {self.inbox.unread} bytes unread>"

    # -- called by the event loop -------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports do not inherit from asyncio's.
        self._transport = cast(asyncio.Transport, transport)
        # Only asyncio's for plain sockets has it; the others have buffers of their own.
        if hasattr(transport, "max_size"):
            cast(Any, transport).max_size = RECV_BUFFER_SIZE
        self._loop = asyncio.get_running_loop()
        self._close_waiters = []

    def _check_unsolicited(self) -> None:
        """Called when bytes have arrived that no request expects."""
        if self.inbox.unread > MAX_UNSOLICITED:
            self._abort_with(ProtocolError(f"more than {MAX_UNSOLICITED} unsolicited bytes arrived"))

    def eof_received(self) -> bool:
        self.inbox.eof = True
        self.parse_replies()
        if self.failure is None or self.pending_replies:
            self._set_failed(ConnectionLost("the server closed the connection"))
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.inbox.eof = True
        try:
            self.parse_replies()
        finally:
            if self.failure is None or self.pending_replies:
                reason = f": {exc}" if exc else ""
                self._set_failed(ConnectionLost(f"the connection was lost{reason}"))
            self._resume()
            waiters, self._close_waiters = self._close_waiters or (), None
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)

    def pause_writing(self) -> None:
        if self._writable is None:
            self._writable = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        self._resume()

    def _resume(self) -> None:
        writable, self._writable = self._writable, None
        if writable is not None and not writable.done():
            writable.set_result(None)

    # -- called by sessions -------------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        return self.failure is None and self._transport is not None

    @property
    def is_inherited(self) -> bool:
        """Whether this process is a fork of the one that connected."""
        return os.getpid() != self._pid

    @property
    def pending(self) -> int:
        """Number of expected replies that are not complete."""
        return len(self.pending_replies)

    @property
    def transport(self) -> asyncio.Transport:
        assert self._transport is not None, "the channel was never connected"
        return self._transport

    def use_transport(self, transport: asyncio.Transport) -> None:
        """Send over *transport*, the one of TLS, from now on."""
        self._transport = transport

    def expect(self, parser: Parser[T], data: bytes = b"") -> asyncio.Future[T]:
        """Queue *parser* for the next reply that has no parser yet, then send *data*.

        Returns:
            The future of the reply; it may be cancelled, the reply is still read.
        """
        in_flight = InFlight()
        in_flight.parser = parser
        self.request(in_flight, data)
        future: asyncio.Future[T] = in_flight.future
        return future

    def _refuse(self, in_flight: InFlight) -> None:
        """Called for a request to a channel that has ended."""
        assert self.failure is not None
        _reject(in_flight, _copy_of(self.failure), sent=False)

    def _request_after(self, in_flight: InFlight, data: bytes | bytearray) -> None:
        """Called for the only request, where bytes came before it."""
        if self.reject_unsolicited is not None:
            in_flight.parser = self.reject_unsolicited(self.inbox)
        self.parse_replies()
        self.send(data)  # unless that has ended the channel

    @property
    def bytes_in(self) -> int:
        """Bytes received since the connection began."""
        return self.inbox.consumed + self.inbox.unread

    @property
    def peer(self) -> str:
        """Address of the other end, for log messages."""
        name = self._transport.get_extra_info("peername") if self._transport is not None else None
        return f"{name[0]}:{name[1]}" if isinstance(name, tuple) else "a peer without an address"

    @property
    def unsent(self) -> int:
        """Bytes in the transport's write buffer."""
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    def send_urgent(self, byte: bytes) -> bool:
        """Send one byte of TCP urgent data, outside the stream and outside TLS records.

        Source: observed: it works inside and outside TLS (14.10)

        Returns:
            False if no open socket can, and in a forked process: the statement is the parent's.
        """
        own = self._transport.get_extra_info("socket") if self.is_open and self._transport else None
        if own is None or self.is_inherited:
            return False
        try:
            # The transport's own object sends nothing, and uvloop's is not a socket. A copy of the descriptor is. On
            # Windows it is a handle, which os.dup does not take. That it works there is assumed (not tested).
            with socket.socket(fileno=socket.dup(own.fileno())) as beside:
                return beside.send(byte, socket.MSG_OOB) == len(byte)
        except OSError:
            return False

    def pause_reading(self) -> None:
        """Leave what arrives to the system's buffer, so that the peer stops sending. Idempotent."""
        if self.is_open:
            self._is_reading_paused = True
            self._pause_or_resume()

    def resume_reading(self) -> None:
        """Read again. Idempotent."""
        self._is_reading_paused = False
        self._pause_or_resume()

    def _pause_or_resume(self) -> None:
        paused = self._is_reading_paused or self._is_parsing_paused
        if paused != self._is_transport_paused and self.is_open:
            self._is_transport_paused = paused
            if paused:
                self.transport.pause_reading()
            else:
                self.transport.resume_reading()

    async def drain(self) -> None:
        """Wait until the transport accepts more bytes."""
        while self._writable is not None:
            await asyncio.shield(self._writable)

    def abort(self, reason: DatabaseError | None = None) -> None:
        """Drop the connection at once, with its unsent bytes. In a fork, the parent's connection stays open."""
        if self.is_inherited or (self._loop is not None and self._loop.is_closed()):
            return self._release_socket()
        if self.failure is None or self.pending_replies:
            self._set_failed(reason or _CLOSED)
        if self._transport is not None:
            self._transport.abort()
        return None

    def _release_socket(self) -> None:
        """End the channel without its event loop; in a fork, also close this process's descriptor of the socket.

        The transport must not close it: that would unregister the socket from the selector, which both processes share,
        and shut TLS down. The number of the descriptor stays in use, because the transport closes it again when it is
        collected.
        """
        if self.failure is not None:
            return
        self.failure = _CLOSED
        if self._transport is None or self.loop_is_closed():
            return  # the number may belong to another file by now
        try:
            null = os.open(os.devnull, os.O_RDWR)
            try:
                os.dup2(null, self._transport.get_extra_info("socket").fileno(), inheritable=False)
            finally:
                os.close(null)
        except (AttributeError, OSError):
            pass  # there is no descriptor, or it is closed

    def close(self) -> None:
        """Close once everything is written. Remaining waiters fail with ConnectionLost."""
        if self.failure is None or self.pending_replies:
            self._set_failed(_CLOSED)
        # Only once: a TLS transport that was closed twice cannot be aborted (CPython before 3.11.5 raises).
        if self._transport is not None and not self._transport.is_closing():
            self._transport.close()

    def close_when_answered(self) -> None:
        """`close` as soon as no reply is pending."""
        self.on_answered = self.close
        self.resume_reading()
        if not self.pending_replies:
            self.close()

    def loop_is_closed(self) -> bool:
        """Whether the event loop is closed, so that the connection can no longer be closed in order."""
        return self._loop is None or self._loop.is_closed()

    async def wait_closed(self) -> None:
        """Wait until the transport is closed."""
        if self._close_waiters is not None:
            waiter: asyncio.Future[None] = self.loop.create_future()
            self._close_waiters.append(waiter)
            await waiter

    # -- parsers ------------------------------------------------------------------------------------------------------

    def _on_parser_error(self, error: BaseException) -> None:
        """Called with what the parser or the handler of a reply has raised."""
        if isinstance(error, (ConnectError, ConnectionLost, ProtocolError)):
            self._fail_reading(error)
            return
        # A defect: a parser must not raise anything else. Or a signal's KeyboardInterrupt, at any place. The position
        # in the stream is lost.
        defect = ProtocolError(f"a reply could not be read ({type(error).__name__})")
        defect.__cause__ = error
        self._fail_reading(defect)
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise error

    def _must_give_way(self) -> bool:
        """Whether parsing is paused until the event loop has run other callbacks.

        That is so after a reply without an end has taken `PARSING_SHARE` of one iteration. uvloop reads many buffers in
        one iteration. Small messages take much longer to parse than to receive.
        """
        loop = self._loop
        if loop is None or self.inbox.eof:  # nothing more will come, so what is here is read to its end
            return False
        now = loop.time()
        if self._parsing_since is None:
            self._parsing_since = now
            loop.call_soon(self._on_next_iteration)
        elif now - self._parsing_since > PARSING_SHARE:
            self._is_parsing_paused = True
            self._pause_or_resume()
        return self._is_parsing_paused

    def _on_next_iteration(self) -> None:
        self._parsing_since = None
        if self._is_parsing_paused:
            self._is_parsing_paused = False
            self.parse_replies()
            self._pause_or_resume()

    def _fail_reading(self, error: DatabaseError) -> None:
        """End the channel with the error of its oldest reply."""
        if isinstance(error, ProtocolError) and error.position is not None:
            self._describe(error, error.position)
        if self.pending_replies:  # unless a decoder of the user has dropped the connection
            _reject(self.pending_replies.popleft(), error)
        self._abort_with(error)

    def _describe(self, error: ProtocolError, position: int) -> None:
        """Add the bytes that could not be read to their error."""
        begin = max(position, self.inbox.dropped)  # the first bytes of a long message may be dropped
        at = begin - self.inbox.dropped
        data = self.inbox.data[at : at + MAX_SHOWN]
        shown = len(data) if self.shows_values else max(position + _TAG - begin, 0)
        error.data = data[:shown].hex() + "".join(".." if byte else "00" for byte in data[shown:])
        error.add_note(
            f"message {error.tag} at byte {position} of the connection, its bytes from {begin - position} on: "
            f"{error.data}\nplease report it, if possible with a trace (option: trace)"
        )

    def _abort_with(self, error: DatabaseError) -> None:
        self._set_failed(error)
        if self._transport is not None:
            self._transport.abort()

    def _set_failed(self, error: DatabaseError) -> None:
        """Fail all waiters; keep the first reason for later ones."""
        ended = self.failure is None
        self.failure = self.failure or error
        while self.pending_replies:
            _reject(self.pending_replies.popleft(), _copy_of(error))
        if ended and self.on_close is not None:
            self.on_close()


def _reject(in_flight: InFlight, error: DatabaseError, *, sent: bool = True) -> None:
    """Set *error* on the future of a waiter. Without a waiter it must not be logged as never retrieved.

    Args:
        sent: whether the request has left.
    """
    if in_flight.parser is not None:
        with suppress(ValueError):  # it is running: a decoder of the user has dropped the connection
            in_flight.parser.close()
    if sent and in_flight.on_lost is not None:
        in_flight.on_lost(error)
    future = in_flight.future
    if not future.done():
        future.set_exception(error)
        future.exception()


def _copy_of(error: DatabaseError) -> DatabaseError:
    """The same error for another waiter, because one exception object must not get two tracebacks."""
    copy = type(error)(str(error), sqlcode=error.sqlcode, isamcode=error.isamcode)
    copy.__cause__ = error.__cause__  # the error itself would repeat the message
    if isinstance(error, ProtocolError) and isinstance(copy, ProtocolError):
        copy.tag, copy.position, copy.data = error.tag, error.position, error.data
        for note in getattr(error, "__notes__", ()):
            copy.add_note(note)
    return copy
