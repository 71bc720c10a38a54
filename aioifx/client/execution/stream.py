"""Rows of a query, one by one or in blocks, in bounded memory. Never: a cursor, bytes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from itertools import chain
from typing import Generic, Self, TypeVar

from aioifx.client.execution.block_reader import BlockReader
from aioifx.client.execution.row_plan import converted, converting
from aioifx.client.session.loop_binding import NotCopied
from aioifx.errors import InterfaceError
from aioifx.sqltypes import Column

R = TypeVar("R")


class Stream(NotCopied, Generic[R]):
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

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the cursor; remaining rows are not fetched. Waits for nothing."""
        self.reader.close()
        self._rows = iter(())
