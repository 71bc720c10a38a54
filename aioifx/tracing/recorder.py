"""The channel that records what it carries, and where its events go. Never: what a message means.

Invariants:
1. No exception of the decoder, the file or the callable reaches the connection: it is logged once, and ends the trace.
   KeyboardInterrupt and SystemExit are raised by the event loop afterwards.
2. A message is recorded before the client acts on it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable
from itertools import count
from typing import Any, Final, NoReturn, cast
from weakref import finalize

from aioifx.channel import Channel
from aioifx.errors import DatabaseError, InterfaceError
from aioifx.tracing.decoder import Decoder, Message
from aioifx.tracing.events import EventKind, TraceEvent, TraceTarget, event_line, header_line
from aioifx.tracing.fields import View, fields_of, without_bytes

logger: Final = logging.getLogger("aioifx.trace")

_numbers: Final = count(1)


class ChannelTracer:
    """The trace of any number of connections.

    Args:
        values: whether values, literals and passwords are recorded.
    """

    def __init__(self, target: TraceTarget, values: bool) -> None:
        self.values = values
        self._target = target
        self._file: TraceFile | None = None
        self._write: Callable[[TraceEvent], object] | None
        """None after it has failed."""
        if callable(target):
            self._write = target
        else:
            self._file = TraceFile(target, values=values)
            self._write = self._file.write
        self._channels = 0
        """Number of open channels."""

    def __reduce__(self) -> tuple[type[ChannelTracer], tuple[TraceTarget, bool]]:
        return ChannelTracer, (self._target, self.values)

    def check(self) -> None:
        """Open the file.

        Raises:
            InterfaceError: it cannot be written, and never could.
        """
        if self._file is None or self._write is None:
            return
        try:
            self._file.open()
        except OSError as error:
            if self._file.parts:
                self._stop(error)
                return
            self._file.close()
            raise InterfaceError(f"trace: cannot write to {self._file.path!r}: {error.strerror}") from error

    def channel(self, kind: type[Channel] = Channel) -> TracedChannel:
        """A channel of a class, or a subclass, that is recorded."""
        return _traced(kind)(self)

    def on_failure(self, address: str, error: DatabaseError) -> None:
        """A connection could not be opened."""
        fields = {"address": address, **_error_fields(error, values=self.values)}
        self.emit(TraceEvent(time.time(), 0, "failed", fields=fields))
        self._close_unless_used()

    def on_open(self) -> None:
        """Called once for each channel."""
        self._channels += 1

    def on_closed(self) -> None:
        """Called once for each channel that was open."""
        self._channels -= 1
        self._close_unless_used()

    def _close_unless_used(self) -> None:
        if not self._channels and self._file is not None:
            self._file.close()

    def emit(self, event: TraceEvent) -> None:
        """Write an event; does nothing once writing has failed."""
        if self._write is None:
            return
        try:
            self._write(event)
        except BaseException as error:
            self._stop(error)
            _pass_on(error)

    def _stop(self, error: BaseException) -> None:
        self._write = None
        if self._file is None:
            logger.error("trace: the callable raised, and is not called again", exc_info=error)
        else:
            self._file.close()
            reason = error.strerror if isinstance(error, OSError) else type(error).__name__
            logger.error("trace: no more events are written to %r: %s", self._file.path, reason)


class TraceFile:
    """A file of events. It is open while connections are, and each time it is opened, a header begins a part of it."""

    def __init__(self, path: str | os.PathLike[str], *, values: bool) -> None:
        self.path = os.fspath(path)
        self.parts = 0
        """How often it was opened."""
        self._values = values
        self._descriptor = -1
        self._close: Callable[[], object] | None = None

    def open(self) -> None:
        """Open it for appending, for its owner alone. Idempotent.

        Raises:
            OSError: it cannot be written.
        """
        if self._close is not None:
            return
        flags = (
            os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        )
        self._descriptor = os.open(self.path, flags, 0o600)
        self._close = finalize(self, os.close, self._descriptor)
        self._write_line(
            header_line(time.time(), version=_version(), process_id=os.getpid(), values=self._values)
        )
        self.parts += 1

    def write(self, event: TraceEvent) -> None:
        """Append an event, and open the file if it is closed.

        Raises:
            OSError: it cannot be written.
        """
        self.open()
        self._write_line(event_line(event))

    def _write_line(self, line: str) -> None:
        data = line.encode("utf-8", "backslashreplace")
        if os.write(self._descriptor, data) != len(data):
            raise OSError(None, "a line was written in part")

    def close(self) -> None:
        """Close it. Idempotent."""
        close, self._close = self._close, None
        if close is not None:
            close()


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # imported here because it is slow

    try:
        return version("aioifx")
    except PackageNotFoundError:  # run from its source, not installed
        return ""


class TracedChannel(Channel):
    """A channel that records what it carries."""

    def __init__(self, tracer: ChannelTracer) -> None:
        super().__init__()
        self.number = 0
        """Number of the connection, once it is open."""
        self._tracer = tracer
        self._decoder: Decoder | None = Decoder(keeps_rows=tracer.values)
        """None after a defect."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.number = next(_numbers)
        self._tracer.on_open()
        peer = transport.get_extra_info("peername")
        tls = transport.get_extra_info("ssl_object")
        fields = {
            "address": f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else "",
            "tls": tls.version() if tls is not None else None,
        }
        self._tracer.emit(TraceEvent(time.time(), self.number, "open", fields=fields))
        recorded = _RecordedTransport(cast(asyncio.Transport, transport), self._on_write)
        super().connection_made(cast(asyncio.BaseTransport, recorded))

    def data_received(self, data: bytes) -> None:
        if self._decoder is not None:
            self._record(self._decoder.received, data)
        super().data_received(data)

    def _on_write(self, data: bytes | bytearray) -> None:
        if self._decoder is not None:
            self._record(self._decoder.sent, data)

    def send_urgent(self, byte: bytes) -> bool:
        is_sent = super().send_urgent(byte)
        if is_sent:
            fields = {"byte": byte.hex()}
            self._tracer.emit(TraceEvent(time.time(), self.number, "urgent", size=len(byte), fields=fields))
        return is_sent

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if (decoder := self._decoder) is not None:
            self._record(lambda _: decoder.end(), b"")
        fields = _error_fields(self.failure, values=self._tracer.values) if self.failure is not None else {}
        self._tracer.emit(TraceEvent(time.time(), self.number, "closed", fields=fields))
        self._tracer.on_closed()

    def _record(self, decode: Callable[[bytes | bytearray], list[Message]], data: bytes | bytearray) -> None:
        decoder, now = self._decoder, time.time()
        assert decoder is not None
        try:
            messages = decode(data)
            view = View(decoder.code_set, self._tracer.values)
            for message in messages:
                kind: EventKind = "sent" if message.is_sent else "received"
                place = message.name, message.exchange, message.size, message.count
                event = TraceEvent(now, self.number, kind, *place, fields_of(message, view))
                self._tracer.emit(event)
        except BaseException as error:
            # Without the error's text, which may hold a value.
            self._decoder = None
            logger.error("trace: connection %d cannot be traced: %s", self.number, type(error).__name__)
            _pass_on(error)


_classes: Final[dict[type[Channel], type[TracedChannel]]] = {Channel: TracedChannel}


def _traced(kind: type[Channel]) -> type[TracedChannel]:
    """The class of recorded channels that are of *kind*, too."""
    if kind not in _classes:
        _classes[kind] = type(f"Traced{kind.__name__}", (TracedChannel, kind), {})
    return _classes[kind]


class _RecordedTransport:
    """A transport that shows what is written to it."""

    def __init__(self, transport: asyncio.Transport, on_write: Callable[[bytes | bytearray], None]) -> None:
        self._transport = transport
        self._on_write = on_write

    def write(self, data: bytes | bytearray) -> None:
        self._on_write(data)
        self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def _pass_on(error: BaseException) -> None:
    """Let the event loop raise an interrupt, once the connection has done what the trace was called for."""
    if isinstance(error, (KeyboardInterrupt, SystemExit)):
        asyncio.get_running_loop().call_soon(_raise, error)


def _raise(error: BaseException) -> NoReturn:
    raise error


def _error_fields(error: DatabaseError, *, values: bool) -> dict[str, Any]:
    reason = str(error) if values else without_bytes(str(error))
    shown: dict[str, Any] = {"error": type(error).__name__, "reason": reason}
    return {**shown, "sqlcode": error.sqlcode} if error.sqlcode else shown
