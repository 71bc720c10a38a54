"""A query's rows in Arrow's layout, batch by batch, in the event loop or for a thread that blocks. Never: pyarrow.

Invariants:
1. The batches are read once, by an ``async for`` or by one consumer of the PyCapsule interface.
2. A consumer never takes a part of the rows for all of them: after an early close it gets an error.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import partial
from typing import Any, Final, NoReturn, Self, TypeVar

from aioifx.client.config.checks import check_whole
from aioifx.client.execution.block_reader import BlockReader
from aioifx.client.execution.large_values import LargeValues
from aioifx.client.execution.row_plan import RowPlan, RowPlans
from aioifx.client.session.loop_binding import LoopBinding, NotCopied
from aioifx.codecs.arrow_layout import MAX_DIGITS
from aioifx.codecs.base import Floating
from aioifx.codecs.column_buffers import Block
from aioifx.codecs.columns import ColumnDecoder
from aioifx.codecs.record_batches import ArrowResult, RecordBatch, Schema, arrow_exports
from aioifx.errors import InterfaceError
from aioifx.sqltypes import Row
from aioifx.wire.tuples import read_in_runs

T = TypeVar("T")

BATCH_ROWS: Final = 65_536

_LOOP: Final = object()
"""Stands for the event loop as the reader of batches."""

_BATCH_BYTES: Final = 16 * 1024 * 1024
_RESULT_ROWS: Final = 1024 * 1024
_RESULT_BYTES: Final = 64 * 1024 * 1024


class RecordBatches(NotCopied):
    """The rows of a query as record batches: ``async for batch in stream.arrow()``. See `Stream.arrow`.

    It has Arrow's PyCapsule interface, too. Consumers of that block until the rows are there, so they have to run in a
    thread other than the event loop's: ``await asyncio.to_thread(polars.DataFrame, stream)``.

    Raises:
        InterfaceError: when iterated or exported, it is read already, or was closed before.
    """

    def __init__(
        self,
        reader: BlockReader,
        binding: LoopBinding | None,
        *,
        batch_rows: int = BATCH_ROWS,
        floating_decimal: Floating = "float",
    ) -> None:
        check_whole("batch_rows", batch_rows, 1)
        arrow_exports()  # whose absence is an error before anything is sent
        self._reader = reader
        self._binding = binding
        self._rows, self._size = batch_rows, _BATCH_BYTES
        self._columns = _Columns(floating_decimal)
        self._ready: deque[RecordBatch] = deque()
        self._owner: object = None
        """Identifies the reader of the batches; None before the first read."""
        self._is_at_end = False
        # Without a reference to this object, so that both are freed when they are dropped.
        reader.plan = self._columns.plan

    # -- reading ------------------------------------------------------------------------------------------------------

    async def _read_block(self) -> None:
        """Decode the next block of rows; the batches that are full are then ready."""
        rows = await self._reader.next_block()
        decoder = self._columns.decoder
        if decoder is None:
            raise InterfaceError("Arrow data: the stream was closed before it was read")
        self._columns.add(rows)
        self._is_at_end = not rows or self._reader.is_closed
        if not (rows or self._reader.was_read_to_end):
            return  # closed meanwhile
        if self._is_at_end or decoder.rows >= self._rows or decoder.nbytes >= self._size:
            self._ready += [RecordBatch(self.schema, block) for block in decoder.finish()]

    @property
    def schema(self) -> Schema:
        """Names and types of the columns.

        Raises:
            InterfaceError: nothing was read yet.
        """
        if self._columns.schema is None:
            raise InterfaceError("schema: it is known after the first batch was requested")
        return self._columns.schema

    async def _begin(self) -> None:
        """Run the query, and fetch its first block."""
        if self._columns.decoder is None:
            await self._read_block()

    async def _next(self, owner: object) -> RecordBatch | None:
        """The next batch for its only reader; None at the end."""
        self._check_owner(owner)
        self._owner = owner
        while not (self._ready or self._is_at_end):
            await self._read_block()
        return self._ready.popleft() if self._ready else None

    def _check_owner(self, owner: object) -> None:
        if self._owner not in (None, owner):
            raise InterfaceError("Arrow data: the stream is read already, and can be read only once")

    # -- in the event loop --------------------------------------------------------------------------------------------

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> RecordBatch:
        batch = await self._next(_LOOP)
        if batch is None:
            raise StopAsyncIteration
        return batch

    async def read_all(self) -> ArrowResult:
        """All rows, in memory."""
        self._rows, self._size = _RESULT_ROWS, _RESULT_BYTES
        batches = [batch async for batch in self]
        return ArrowResult(self.schema, batches)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the cursor; remaining rows are not fetched. Waits for nothing."""
        self._reader.close()
        self._ready.clear()

    # -- in a thread --------------------------------------------------------------------------------------------------

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A capsule of a stream of the batches. Runs the query, and blocks meanwhile.

        *requested_schema* has no effect. What takes no batch from its capsule leaves the stream unread.

        Raises:
            InterfaceError: called in the stream's event loop, or the stream was read or closed. Errors of the query.
        """
        self._check_owner(None)
        self._wait_for(self._begin)
        owner = object()
        next_block = partial(self._wait_for, partial(self._next_for, owner))
        return self.schema.stream(_Consumer(next_block, partial(self._close_for, owner)))

    def _wait_for(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Await ``work()`` in the stream's event loop, while this thread waits."""
        binding = self._binding
        if binding is None:
            raise InterfaceError("Arrow data: expected a stream made in an event loop, got one made outside")
        if binding.is_running:
            raise InterfaceError(
                "Arrow data: the stream waits for the network, which would block its event loop; read it in a thread,"
                " as by: await asyncio.to_thread(polars.DataFrame, stream)"
            )
        if binding.is_gone or not binding.takes_calls:
            raise binding.refusal()
        waiting = asyncio.run_coroutine_threadsafe(work(), binding.loop)
        try:
            return waiting.result()
        except CancelledError:
            raise InterfaceError("Arrow data: the read was cancelled by the end of its event loop") from None
        except BaseException:
            waiting.cancel()  # has no effect unless the wait itself has failed, as by Ctrl+C
            raise

    async def _next_for(self, owner: object) -> Block | None:
        """The next block for a consumer of the PyCapsule interface."""
        batch = await self._next(owner)
        if batch is None and not self._reader.was_read_to_end:
            raise InterfaceError("Arrow data: the stream was closed before its end")
        return None if batch is None else batch.block

    def _close_for(self, owner: object) -> None:
        """Close the cursor, in any thread, if this consumer has read from it."""
        binding = self._binding
        if self._owner is not owner or self._is_at_end or binding is None or binding.is_gone:
            return
        with suppress(RuntimeError):  # closed just before
            binding.loop.call_soon_threadsafe(self._reader.close)


RecordBatches.__module__ = "aioifx"


class _Columns:
    """The columns that a query's rows are decoded into."""

    def __init__(self, floating: Floating) -> None:
        check_floating(floating)
        self._floating: Floating = floating
        self._large: LargeValues | None = None
        self.decoder: ColumnDecoder | None = None
        self.schema: Schema | None = None

    def plan(self, plans: RowPlans) -> RowPlan:
        """New columns for this statement; those of an earlier attempt are dropped."""
        session = plans.fetching.session
        self.decoder = decoder = ColumnDecoder(
            plans.columns,
            session.code_set,
            strip_char=session.strip_char,
            floating=self._floating,
            conversions=session.conversions.of_zone,
        )
        self.schema = Schema(plans.columns, decoder.fields)
        self._large = plans.large_values("inline", plain=True)
        read_rows = read_in_runs(decoder if self._large is None else decoder.reference)
        return RowPlan(read_rows, _refuse_row, large=self._large)

    def add(self, rows: Sequence[Row]) -> None:
        """Add a block of rows, unless they were decoded into columns as they arrived."""
        if self._large is not None and self.decoder is not None:
            for row in rows:
                self.decoder.append(row)


class _Consumer:
    """The function that returns a consumer's next block, until its stream is released and this is collected."""

    def __init__(self, next_block: Callable[[], Block | None], release: Callable[[], None]) -> None:
        self._next_block = next_block
        self._release = release

    def __call__(self) -> Block | None:
        return self._next_block()

    def __del__(self) -> None:
        self._release()


def _refuse_row(row: Row) -> NoReturn:
    raise InterfaceError("the stream's rows are read as record batches, and cannot be read as rows, too")


def check_floating(floating: object) -> None:
    """Check the argument floating_decimal.

    Raises:
        InterfaceError: it is none of its values.
    """
    if floating not in ("float", "text", *range(MAX_DIGITS + 1)) or isinstance(floating, bool):
        raise InterfaceError(
            f'floating_decimal: expected "float", "text" or 0 to {MAX_DIGITS}, got {floating!r:.40}'
        )
