"""Large values of a stream's current row, read chunk by chunk in constant memory. Never: a whole value.

Invariants:
1. At most one value is being read. It has the session's lock; reading from the socket pauses while its chunks wait.
2. A row's values end with the next row. The rest of a value that was not read to its end is dropped as it arrives.
"""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any, Final, Self

from aioifx._speedups.round_trip import InFlight
from aioifx.client.execution.large_values import (
    Fetching,
    LargeColumn,
    LargeValues,
    ValueNotKept,
    check_kept,
)
from aioifx.client.lobs.lob import Lob
from aioifx.client.observation.observation import Watch
from aioifx.client.session.failures import raise_for
from aioifx.client.session.loop_binding import NotCopied
from aioifx.client.session.session import Session
from aioifx.codecs.large_objects import Descriptor, Locator
from aioifx.errors import DataError, InterfaceError
from aioifx.sqltypes import Row
from aioifx.wire.blob_replies import BlobReader
from aioifx.wire.replies import Reply

HIGH_WATER: Final = 256 * 1024
"""Bytes of a value that wait for the caller; with more, reading from the socket pauses."""


class _Buffer:
    """Chunks of one value that wait for the caller. It has no reference to the ValueStream, which may be collected."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._pieces: list[bytes] = []
        self._size = 0
        self._waiter: asyncio.Future[None] | None = None
        self.has_ended = False
        """Whether the value was read to its end, failed, or was closed: what still arrives is dropped."""

    def put(self, piece: bytes) -> None:
        """Called with each piece as it arrives."""
        if self.has_ended:
            return
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > HIGH_WATER:
            if self._session.is_open:
                self._session.channel.pause_reading()
            else:  # being closed, which waits for the reply
                self.take()
        self.wake()

    def take(self) -> bytes:
        """The waiting chunks as one."""
        data, self._pieces, self._size = b"".join(self._pieces), [], 0
        self._session.channel.resume_reading()
        return data

    def wake(self, _: object = None) -> None:
        """End `wait`."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self) -> None:
        """Wait for a piece, or the end of the reply, unless one waits already."""
        if not self._pieces:
            self._waiter = self._session.channel.loop.create_future()
            await self._waiter

    def end(self) -> None:
        """Drop what waits, and what still arrives."""
        self.has_ended = True
        self.take()


class ValueStream(NotCopied):
    """One large value: ``async for chunk in value``, bytes of a BYTE and str of a TEXT; once, until the next row.

    While it is read, no other statement of the connection runs.

    Args:
        timeout: seconds for each chunk; None: command_timeout.
        watch: the operation of the stream.
        is_cursor_closed: the server has closed the cursor of its row.

    Raises:
        InterfaceError: when iterated. The stream has gone on to another row, or was closed. Or another task waits for a
            chunk. Or an earlier chunk failed or was cancelled, so that the rest is lost.
    """

    def __init__(
        self,
        fetching: Fetching,
        large: LargeColumn,
        descriptor: Descriptor,
        timeout: float | None,
        watch: Watch | None = None,
        is_cursor_closed: bool = False,
    ) -> None:
        self._watch = watch
        self._fetching = fetching
        self._large = large
        self._descriptor = descriptor
        self._timeout = timeout
        self._session = fetching.session
        self._buffer = _Buffer(self._session)
        self._in_flight: InFlight | None = None
        self._is_valid = True
        self._is_reading = False  # a task waits for a chunk
        self._is_cut = False  # a chunk failed or was cancelled
        self._has_data = False
        self._is_cursor_closed = is_cursor_closed
        code_set = self._session.code_set
        self._decoder = (
            codecs.getincrementaldecoder(code_set.codec)(code_set.errors) if large.is_text else None
        )

    def __repr__(self) -> str:
        state = "closed" if self._buffer.has_ended else "open" if self._in_flight is None else "reading"
        return f"<ValueStream {self._large.column.type} {state}>"

    @property
    def size(self) -> int:
        """Bytes of the value, as announced by the server; 0 if it is empty or not announced."""
        return self._descriptor.size

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    def __anext__(self) -> Coroutine[Any, Any, bytes | str]:
        chunk = self._next_chunk()
        return chunk if self._watch is None else self._watch.run(chunk)

    async def _next_chunk(self) -> bytes | str:
        if self._is_reading:
            raise InterfaceError("the value is already read by another task")
        self._is_reading = True
        try:
            while not self._buffer.has_ended:
                if data := await self._next_data():
                    return data
        except BaseException:
            self._is_cut = self._in_flight is not None
            raise
        finally:
            self._is_reading = False
        if not self._is_valid:
            raise _not_current()
        if self._is_cut:
            raise InterfaceError("an earlier chunk of the value failed or was cancelled; the rest is lost")
        raise StopAsyncIteration

    async def _next_data(self) -> bytes | str:
        """The data received so far, or the next; empty at the end, or between two bytes of one character."""
        in_flight = self._in_flight or await self._start()
        if not in_flight.future.done():
            await self._wait(in_flight)
        if data := self._buffer.take():
            self._has_data = True
            return self._decoded(data)
        if self._buffer.has_ended:  # closed by another task, meanwhile
            return b""
        self._buffer.end()
        self._session.dispatcher.release()
        self._check(await in_flight.future)
        return self._decoded(b"", final=True)

    def _check(self, reply: Reply) -> None:
        """Raise the error in the reply."""
        if not self._is_cursor_closed:
            return raise_for(reply, self._fetching.sql)
        try:
            check_kept(self._fetching, reply, is_missing=not self._has_data and self.size > 0)
        except ValueNotKept as lost:
            self._session.behavior.learn("keeps_closed_values", False)
            raise lost.error from None

    async def _start(self) -> InFlight:
        """Acquire the lock and request the value."""
        session, fetching = self._session, self._fetching
        await session.acquire(self._timeout)
        try:
            if self._buffer.has_ended:  # closed by another task, meanwhile
                raise _not_current()
            session.dispatcher.note_holder()
            in_flight = session.conversation.send(
                fetching.request_maker()(self._descriptor),
                BlobReader(session.conversation.capabilities, self._buffer.put),
                interruptible=True,
                on_lost=fetching.on_lost,
            )
        except BaseException:
            session.dispatcher.release()
            raise
        _ = session.dispatcher.reply(in_flight)  # not awaited here: its future tells the end
        in_flight.future.add_done_callback(self._buffer.wake)
        self._in_flight = in_flight
        return in_flight

    async def _wait(self, in_flight: InFlight) -> None:
        """Wait for a piece or the end of the reply; only this wait has a time limit."""
        self._session.dispatcher.limit_wait(in_flight)
        try:
            await self._buffer.wait()
        except asyncio.CancelledError:
            self._drop(interrupt=True)
            raise
        finally:
            in_flight.deadline = None

    def _decoded(self, data: bytes, *, final: bool = False) -> bytes | str:
        if self._decoder is None:
            return data
        try:
            return self._decoder.decode(data, final)
        except UnicodeDecodeError:
            self._drop(interrupt=False)
            column, code_set = self._large.column, self._session.code_set
            raise DataError(
                f"column {column.name!r}: bytes that are not valid {code_set.name}", column=column.name
            ) from None

    def _drop(self, *, interrupt: bool) -> None:
        """Stop reading; what still arrives is dropped."""
        if not self._buffer.has_ended:
            self._buffer.end()
            if self._in_flight is not None:
                abandon(self._session, self._in_flight, interrupt=interrupt)

    def close(self) -> None:
        """End the value: its row is no longer the current one. Waits for nothing. Idempotent."""
        self._is_valid = False
        self._drop(interrupt=False)

    async def aclose(self) -> None:
        """Stop reading; the rest of the value is dropped as it arrives. Waits for nothing."""
        self._drop(interrupt=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __del__(self) -> None:
        in_flight = getattr(self, "_in_flight", None)
        if in_flight is not None and not self._buffer.has_ended:
            self._buffer.has_ended = True
            # Finalizers run in any thread.
            self._session.dispatcher.call_threadsafe(abandon, self._session, in_flight)


def _not_current() -> InterfaceError:
    return InterfaceError("the value's row is no longer the current row of its stream")


def abandon(session: Session, in_flight: InFlight, *, interrupt: bool = False) -> None:
    """Stop waiting for a value, and release the lock."""
    session.channel.resume_reading()
    session.dispatcher.abandon(in_flight, interrupt=interrupt)
    session.dispatcher.release()


class StreamedValues(LargeValues):
    """Large values that are requested when they are iterated; those of one row at a time.

    Args:
        timeout: seconds for each chunk; None: command_timeout.
    """

    streams = True

    def __init__(
        self, fetching: Fetching, columns: Sequence[LargeColumn], *, timeout: float | None = None
    ) -> None:
        super().__init__(fetching, columns)
        self._timeout = timeout
        self._current: list[ValueStream] = []

    async def fill(self, rows: list[Row]) -> list[Row]:
        return rows

    def converter(self, convert: Callable[[Row], Any] | None) -> Callable[[Row], Any]:
        """*convert* after the row has become the current one."""

        def enter(row: Row) -> Any:
            self.close()
            values = [*row]
            for large in self._columns:
                held = values[large.place]
                if isinstance(held, Locator):
                    values[large.place] = Lob(self.fetching.session, held, is_text=large.is_text)
                elif held is not None:
                    value = ValueStream(
                        self.fetching, large, held, self._timeout, self.watch, self.is_cursor_closed
                    )
                    self._current.append(value)
                    values[large.place] = value
            entered = type(row)(values)
            return entered if convert is None else convert(entered)

        return enter

    def close(self) -> None:
        """End the values of the current row. Waits for nothing."""
        current, self._current = self._current, []
        for value in current:
            value.close()
