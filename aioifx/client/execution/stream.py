"""A query's rows for ``async for``, one by one or in blocks, or as record batches. Never: a request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from aioifx.client.execution.arrow_reader import ExportsRows
from aioifx.client.execution.block_reader import BlockReader
from aioifx.client.execution.row_plan import converted, converting
from aioifx.client.session.loop_binding import LoopBinding, NotCopied
from aioifx.codecs.base import Floating
from aioifx.errors import InterfaceError
from aioifx.sqltypes import Column

if TYPE_CHECKING:
    from aioifx.client.execution.arrow_stream import RecordBatches

R = TypeVar("R")


class Stream(ExportsRows, NotCopied, Generic[R]):
    """The rows of one query: ``async for row in stream``, or ``async for block in stream.blocks()``.

    Nothing is sent until the first row is requested. At most two blocks are in memory: the current one, and the next
    one, which is requested as soon as the connection is free. Other statements of the connection may run between two
    blocks. After leaving an iteration early, close the stream with `aclose` or ``async with``. Otherwise garbage
    collection closes it.

    Raises:
        InterfaceError: when iterated, the statement returns no rows, or an earlier iteration was cancelled in the
            middle of a fetch, whose rows are lost.
    """

    def __init__(self, reader: BlockReader) -> None:
        self.reader = reader
        """Reads the blocks of this stream."""
        self._rows: Iterator[R] = iter(())
        self._binding: LoopBinding | None = None
        with suppress(RuntimeError):  # outside of an event loop, where no thread can read it
            self._binding = LoopBinding("the stream", asyncio.get_running_loop())
        self._batches: RecordBatches | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the result; empty before the first block."""
        return self.reader.columns

    def __aiter__(self) -> AsyncIterator[R]:
        return self

    async def __anext__(self) -> R:
        for row in self._rows:
            return row
        while rows := await self.reader.next_block():
            convert = self.reader.convert
            # Another task may have fetched a block while this one waited for the lock.
            self._rows = chain(self._rows, rows if convert is None else converting(rows, convert))  # type: ignore[arg-type]  # R is Row then
            for row in self._rows:
                return row
        for row in self._rows:
            return row
        raise StopAsyncIteration

    async def blocks(self) -> AsyncGenerator[list[R], None]:
        """The rest of the rows, a list for each block of `fetch_size` bytes, without an await for each row."""
        if rest := list(self._rows):
            yield rest
        while rows := await self.reader.next_block():
            if self.reader.large is not None and self.reader.large.streams:
                raise InterfaceError(
                    'lobs: "stream" cannot be combined with blocks(), which has no current row'
                )
            convert = self.reader.convert
            yield rows if convert is None else converted(rows, convert)  # type: ignore[misc]  # R is Row then

    def arrow(self, *, batch_rows: int | None = None, floating_decimal: Floating = "float") -> RecordBatches:
        """The rows in Arrow's layout, batch by batch, instead of as rows. It needs pyarrow only without the kernel.

        Nothing is sent until the first batch is requested. Options of the stream for rows have no effect; large values
        are whole.

        Args:
            batch_rows: a batch ends with the block of `fetch_size` bytes that brings it to this many rows, or to 16 MB.
                With 1, every block is a batch. None: 65,536.
            floating_decimal: DECIMAL(p), a floating-point number, as "float" (float64), as exact "text", or as a
                decimal128 with that many decimal places, rounded half up.

        Raises:
            InterfaceError: the stream was read or closed already.
            NotSupportedError: there is neither the kernel nor pyarrow.
        """
        from aioifx.client.execution.arrow_stream import BATCH_ROWS, RecordBatches

        if self.reader.statement is not None or self.reader.is_closed or self._batches is not None:
            raise InterfaceError(
                "arrow: expected a stream that was not read, got one that was read or closed"
            )
        batch_rows = BATCH_ROWS if batch_rows is None else batch_rows
        self._batches = RecordBatches(
            self.reader, self._binding, batch_rows=batch_rows, floating_decimal=floating_decimal
        )
        return self._batches

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A capsule of a stream of record batches, as of `arrow`. Blocks, so it cannot be called in the event loop.

        Raises:
            InterfaceError: called in the event loop, or the stream was read or closed. Errors of the query.
        """
        batches = self.arrow() if self._batches is None else self._batches
        return batches.__arrow_c_stream__(requested_schema)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the cursor; remaining rows are not fetched. Waits for nothing."""
        self.reader.close()
        self._rows = iter(())
