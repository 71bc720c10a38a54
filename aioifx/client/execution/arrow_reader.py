"""Rows of an object with Arrow's PyCapsule interface, read in a thread. Never: a request, types of SQL.

Invariants:
1. `import aioifx` loads neither ctypes nor pyarrow; the interface needs no other library.
2. No batch is read ahead, and none is kept longer than its rows. `close` releases every batch.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final, Protocol, TypeAlias, TypeGuard

from aioifx.client.session.threads import in_thread
from aioifx.codecs.arrow_rows import ArrowField, ArrowRows, RowColumn
from aioifx.errors import InterfaceError
from aioifx.sqltypes import Row

AT_ONCE: Final = 1024
"""Rows read at a time; other tasks can run between two reads."""

Select = Callable[[tuple[str, ...]], Sequence[int]]
"""The names of the columns -> the indices of those that make a row, in order."""


class ArrowArray(Protocol):
    """An object that exports one record batch."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        """Capsules of a schema and an array."""
        ...


class ArrowStream(Protocol):
    """An object that exports a series of record batches."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """A capsule of a stream."""
        ...


ArrowTable: TypeAlias = ArrowArray | ArrowStream
"""An object with Arrow's PyCapsule interface: a table, a data frame, a record batch, a reader of batches."""


class ExportsRows:
    """Mixin of a class that exports Arrow's layout, and whose rows are used instead: they hold every value exactly."""


def is_arrow(data: object) -> TypeGuard[ArrowTable]:
    """Whether *data* exports Arrow's layout: a pyarrow, pandas or Polars table, or a DuckDB relation."""
    kind = type(data)
    if issubclass(kind, ExportsRows):
        return False
    return hasattr(kind, "__arrow_c_stream__") or hasattr(kind, "__arrow_c_array__")


def select_all(names: tuple[str, ...]) -> Sequence[int]:
    """Every column in its order."""
    return range(len(names))


class ArrowData:
    """An object that exports Arrow's layout, as the rows of an executemany.

    Args:
        select: the columns of a row.
    """

    def __init__(self, data: ArrowTable, select: Select = select_all) -> None:
        self._data = data
        self._select = select
        self._opened: ArrowReader | None = None
        self.is_repeatable = hasattr(type(data), "__len__")
        """Whether it can be exported again; a stream cannot."""

    @asynccontextmanager
    async def opened(self, *, takes_aware: bool = True) -> AsyncGenerator[None, None]:
        """Export the data, and check the types of its columns, before anything is sent; see `ArrowReader.open`."""
        async with self._new_reader(takes_aware=takes_aware) as reader:
            self._opened = reader
            yield

    @asynccontextmanager
    async def reader(self) -> AsyncGenerator[ArrowReader, None]:
        """A reader from the first row on."""
        opened, self._opened = self._opened, None
        if opened is not None:
            yield opened
        else:
            async with self._new_reader() as reader:
                yield reader

    @asynccontextmanager
    async def _new_reader(self, *, takes_aware: bool = True) -> AsyncGenerator[ArrowReader, None]:
        reader = ArrowReader(self._data)
        try:
            await reader.open(self._select, takes_aware=takes_aware)
            yield reader
        finally:
            reader.close()


class ArrowReader:
    """The rows of an object that exports Arrow's layout. Nothing is exported before `open`."""

    def __init__(self, data: ArrowTable) -> None:
        self._data = data
        self._source: Any = None
        """An ArrowSource."""
        self._lock = threading.Lock()
        """Held by the thread that uses the source."""
        self._is_closed = False
        self._batch: Any = None
        """An ArrowBatch, at the end None."""
        self._position = 0
        self._row: tuple[RowColumn, ...] = ()

    async def open(self, select: Select = select_all, *, takes_aware: bool = True) -> tuple[str, ...]:
        """Export the data, and read its first batch.

        Args:
            takes_aware: whether timestamps of a time zone can be stored.

        Returns:
            The names of the columns.

        Raises:
            InterfaceError: not a table; a column with a time zone that cannot be stored.
            NotSupportedError: a column's type; names both. Exceptions of *select*, and of the object.
        """
        await self._in_thread(partial(self._open, select, takes_aware))
        return tuple(field.name for field in self._source.fields)

    def _open(self, select: Select, takes_aware: bool) -> None:
        from aioifx.codecs.arrow_c_data import ArrowSource
        from aioifx.codecs.arrow_values import row_column

        self._source = source = ArrowSource(self._data)
        fields = source.fields
        chosen = select(tuple(field.name for field in fields))
        self._row = tuple(row_column(index, fields[index]) for index in chosen)
        if not takes_aware:
            for column in self._row:
                _refuse_zone(column.field)
        self._next()

    @property
    def has_rows(self) -> bool:
        """After `open`: whether there are rows."""
        return self._batch is not None

    async def read(self, count: int = AT_ONCE) -> ArrowRows | None:
        """The next rows, *count* or fewer; None at the end."""
        if self._batch is None:
            await self._in_thread(self._next)
        else:
            await asyncio.sleep(0)  # let other tasks run
        batch, first = self._batch, self._position
        if batch is None:
            return None
        self._position = last = min(first + count, batch.rows)
        if last == batch.rows:
            self._batch = None
        return ArrowRows(batch, self._row, first, last)

    async def rows(self) -> AsyncIterator[Row]:
        """Every row, for those that are sent one by one."""
        while (rows := await self.read()) is not None:
            for row in rows:
                yield row

    def _next(self) -> None:
        self._batch, self._position = self._source.next(), 0

    async def _in_thread(self, function: Callable[[], None]) -> None:
        await in_thread(self._locked, function)

    def _locked(self, function: Callable[[], None]) -> None:
        with self._lock:
            if not self._is_closed:
                function()
        if self._is_closed:  # the caller was cancelled meanwhile
            self._try_close()

    def close(self) -> None:
        """Release the data; if a thread is reading it, when that thread is done. Idempotent."""
        self._is_closed = True
        self._try_close()

    def _try_close(self) -> None:
        if self._lock.acquire(blocking=False):
            try:
                self._batch = None
                if self._source is not None:
                    self._source.close()
            finally:
                self._lock.release()


def _refuse_zone(field: ArrowField) -> None:
    kind, _, zone = (field.dictionary or field).format.partition(":")
    if zone and kind.startswith("ts"):
        raise InterfaceError(
            f"timezone: expected the zone of the stored times, as column {field.name!r:.40} of the Arrow data has"
            f" timestamps of the zone {zone!r:.40}; got None"
        )


def indices_of(wanted: Sequence[str], names: tuple[str, ...], option: str) -> list[int]:
    """The index of each wanted column.

    Raises:
        InterfaceError: begins with *option*; a name is missing, or occurs twice.
    """
    for name in wanted:
        if (count := names.count(name)) != 1:
            got = "none" if not count else f"{count} of that name"
            raise InterfaceError(f"{option}: expected one column {name!r:.40} in the Arrow data, got {got}")
    return [names.index(name) for name in wanted]
