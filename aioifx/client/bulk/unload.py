"""Rows of a query written as text to a file or a function, block by block. Never: how rows are fetched.

Invariants:
1. Nothing is opened or written before the first rows of the query have arrived.
2. Rows are formatted and files written in a thread, one block at a time.
"""

from __future__ import annotations

import codecs
import inspect
import io
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, BinaryIO, cast

from aioifx.client.bulk.arguments import Progress, Target, TextFormat, Writable, WriteFunction
from aioifx.client.bulk.field_text import field_formatter
from aioifx.client.bulk.text_formats import CsvFormat
from aioifx.client.execution.block_reader import BlockReader
from aioifx.client.session.threads import in_thread
from aioifx.codecs.temporal_text import ISO_DATES
from aioifx.errors import DataError, InterfaceError
from aioifx.sqltypes import Column, Row


async def unload(
    blocks: BlockReader,
    target: Target,
    form: TextFormat,
    *,
    dbdate: str = ISO_DATES,
    progress: Progress | None = None,
) -> int:
    """Write every row of *blocks*, values in their default types; returns the number of rows.

    Raises:
        Error: as `Connection.unload`.
    """
    count = 0
    writer = _writer_for(target, form.encoding or "utf-8")
    form_rows: Callable[[Sequence[Row]], str] | None = None
    try:
        async with blocks:
            async for block in blocks:
                if form_rows is None:
                    form_rows = await _start(writer, blocks.columns, form, dbdate)
                await writer.write(partial(form_rows, block))
                count += len(block)
                if progress is not None:
                    progress(count)
        if form_rows is None:  # no rows; a header is still written
            await _start(writer, blocks.columns, form, dbdate)
    finally:
        writer.close()
    return count


async def _start(
    writer: _Writer, columns: Sequence[Column], form: TextFormat, dbdate: str
) -> Callable[[Sequence[Row]], str]:
    """The formatter of rows with these columns; writes the header first."""
    fields, join = field_formatter(columns, dbdate=dbdate), form.join

    def text(rows: Sequence[Row]) -> str:
        return "".join([join(fields(row)) for row in rows])

    has_header = isinstance(form, CsvFormat) and form.header
    header = join([column.name for column in columns]) if has_header else ""
    await writer.write(lambda: header)
    return text


def _writer_for(target: Target, encoding: str) -> _Writer:
    """Raise InterfaceError if the target is of an unsupported type."""
    if isinstance(target, (str, os.PathLike, Writable)):
        return _FileWriter(cast("Any", target), encoding)
    if not callable(target):  # pyright: ignore[reportUnnecessaryComparison] - callers may be untyped
        kind = type(target).__name__
        raise InterfaceError(f"out: expected a path, an open file or a function, got {kind}")
    return _FunctionWriter(target, encoding)


class _Writer(ABC):
    """Destination of text, written in portions."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._encoder = codecs.getincrementalencoder(encoding)("strict")  # writes a byte order mark only once

    @abstractmethod
    async def write(self, make: Callable[[], str]) -> None:
        """Write the text returned by *make*, which is called in a thread."""

    def encoded(self, make: Callable[[], str]) -> bytes:
        text = make()
        try:
            return self._encoder.encode(text)
        except UnicodeEncodeError:
            raise DataError(f"the rows contain a character that is not in {self._encoding}") from None

    @abstractmethod
    def close(self) -> None:
        """Close the file if it was opened here."""


class _FileWriter(_Writer):
    def __init__(self, target: str | os.PathLike[str] | Writable, encoding: str) -> None:
        super().__init__(encoding)
        self._target = target
        self._opened: BinaryIO | None = None
        self._is_closed = False
        self._lock = threading.Lock()

    async def write(self, make: Callable[[], str]) -> None:
        await in_thread(self._write, make)

    def _write(self, make: Callable[[], str]) -> None:
        target = self._target
        with self._lock:
            if self._is_closed:
                return  # closed by a cancellation before this thread started
            if isinstance(target, (str, os.PathLike)):
                if self._opened is None:
                    self._opened = open(target, "wb")
                self._opened.write(self.encoded(make))
            else:
                target.write(make() if _takes_text(target) else self.encoded(make))

    def close(self) -> None:
        # After a cancellation a thread may still be writing; this waits for at most one block.
        with self._lock:
            self._is_closed = True
            if self._opened is not None:
                self._opened.close()


def _takes_text(file: Writable) -> bool:
    return isinstance(file, io.TextIOBase) or hasattr(file, "encoding")


class _FunctionWriter(_Writer):
    def __init__(self, function: WriteFunction, encoding: str) -> None:
        super().__init__(encoding)
        self._function = function

    async def write(self, make: Callable[[], str]) -> None:
        data = await in_thread(self.encoded, make)
        if data:
            taken = self._function(data)
            if inspect.isawaitable(taken):
                await taken

    def close(self) -> None:
        pass
