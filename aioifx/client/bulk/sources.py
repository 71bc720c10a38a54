"""Sources of rows: an iterable, an async iterable, or the records of a file. Never: tables, the server.

Invariants:
1. No more is read than requested, and nothing is retained.
2. The user's iterables run in the event loop; files are read and parsed in a thread.
3. Errors raised here have the row's 0-based index. It is not the record number, which counts from 1 and includes a
   header.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, AsyncIterator, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import countOf
from typing import Any, cast

from aioifx.client.bulk.arguments import Chunk, Readable, RowSource, TextFormat, TextRecord, TextSource
from aioifx.client.bulk.field_text import FieldParser, field_formatter, field_parser
from aioifx.client.bulk.rejects import Rejects
from aioifx.client.bulk.text_formats import BadRecord, CsvFormat, RecordReader, async_records, records
from aioifx.client.execution.arrow_reader import ArrowReader, ArrowTable, indices_of, is_arrow
from aioifx.client.execution.parameters import check_rows, check_sequence
from aioifx.client.session.threads import in_thread
from aioifx.client.sql.placeholders import MappingRows
from aioifx.codecs.temporal_text import ISO_DATES
from aioifx.errors import DataError, InterfaceError
from aioifx.sqltypes import Column, Row, Value


def open_mappings(
    rows: MappingRows | ArrowTable, columns: Sequence[str] | None, *, takes_aware: bool
) -> SourceReader:
    """A reader of rows given as mappings by column name; reads nothing yet.

    Args:
        columns: names and order; None for those of the first row.
        takes_aware: see `ArrowReader.open`.

    Raises:
        InterfaceError: *rows* cannot be iterated.
    """
    if is_arrow(rows):
        return _ArrowRows(rows, columns, takes_aware=takes_aware)
    check_rows(rows)
    if isinstance(rows, AsyncIterable):
        return _AsyncNamedRows(rows, columns)
    return _NamedRows(cast("Iterable[Mapping[str, Value]]", rows), columns)


def open_source(
    source: RowSource, form: TextFormat | None, dbdate: str = ISO_DATES, *, takes_aware: bool = True
) -> SourceReader:
    """A reader of *source*; reads nothing yet.

    Args:
        form: format of a file or of chunks; None for rows.
        dbdate: format of dates in text.
        takes_aware: see `ArrowReader.open`.

    Raises:
        InterfaceError: *source* is of an unsupported type.
    """
    if form is not None:
        if isinstance(source, AsyncIterable):
            return _AsyncRecords(cast(AsyncIterable[Chunk], source), form, dbdate)
        return _Records(cast(TextSource, source), form, dbdate)
    if is_arrow(source):
        return _ArrowRows(source, takes_aware=takes_aware)
    if isinstance(source, (str, os.PathLike, Readable)):
        raise InterfaceError('format: expected "unload" or "csv" for a path or a file, got None')
    check_rows(source)
    if isinstance(source, AsyncIterable):
        return _AsyncRows(cast(AsyncIterable[Sequence[Value]], source))
    return _Rows(cast(Iterable[Sequence[Value]], source))


class SourceReader(ABC):
    """A source of rows, read in portions."""

    origin = "header"
    """Where the column names come from."""
    has_values = False
    """Whether the caller supplies values; otherwise they are parsed from text."""
    reads_less = False
    """Whether `read` may return fewer rows before the end."""

    def __init__(self) -> None:
        self.count: int = 0
        """Number of rows read."""
        self.names: tuple[str, ...] | None = None
        """The column names, if a header or the first mapping supplies them."""
        self.rejects = Rejects()
        self._opened: Generator[object] | None = None

    def place(self, position: int) -> str:
        """The name of a row in messages."""
        return f"row {self.rejects.index_of(position)}"

    def fields(self, row: Row) -> Sequence[Any]:
        """A row as the source has it."""
        return row

    def span(self, first: int, last: int) -> str:
        """The name of a range of rows in messages."""
        return f"rows {first} to {last}"

    @abstractmethod
    async def peek_width(self) -> int | None:
        """Read up to the first row, which the next `read` returns.

        Returns:
            Its number of values; None if there are no rows.
        """

    @abstractmethod
    def set_columns(self, columns: Sequence[Column]) -> None:
        """Set the columns, which determine how text is parsed; values are not affected."""

    @abstractmethod
    async def read(self, count: int) -> Sequence[Row]:
        """The next *count* rows; fewer at the end, and none after it."""

    def close(self) -> None:
        """Close the file if it was opened here."""
        if self._opened is not None:
            # A cancelled call may have left a thread reading; the file is closed when that thread is done.
            with contextlib.suppress(ValueError):
                self._opened.close()


# -- rows -------------------------------------------------------------------------------------------------------------


class _Values(SourceReader):
    """Base of readers of values."""

    has_values = True

    def __init__(self) -> None:
        super().__init__()
        self._peeked: list[Row] = []

    def set_columns(self, columns: Sequence[Column]) -> None:
        del columns


class _Rows(_Values):
    """Rows of an iterable."""

    def __init__(self, source: Iterable[Sequence[Value]]) -> None:
        super().__init__()
        rows: Any = source
        self._list: list[Any] | None = rows if type(rows) is list else None
        self._source: Iterator[Any] = iter(source)

    async def peek_width(self) -> int | None:
        self._peeked = self._pull(1)
        return len(self._peeked[0]) if self._peeked else None

    async def read(self, count: int) -> list[Row]:
        peeked, self._peeked = self._peeked, []
        rows = self._pull(count - len(peeked))
        await asyncio.sleep(0)  # let other tasks run
        return peeked + rows if peeked else rows

    def _pull(self, count: int) -> list[Row]:
        """Convert each row to a tuple immediately, since the source may reuse one list for all rows."""
        source: Iterable[Any]
        if self._list is None:
            source = islice(self._source, count)
        else:
            source = self._list[self.count : self.count + count]
            if countOf(map(type, source), tuple) == len(source):  # three times as fast as checking each row
                self.count += len(source)
                return source
        rows: list[Row] = [
            row if row.__class__ is tuple else _tuple_of(row, index)
            for index, row in enumerate(source, self.count)
        ]
        self.count += len(rows)
        return rows


class _ArrowRows(_Values):
    """Rows of an object that exports Arrow's layout.

    Args:
        wanted: names of the columns that make a row; None for all of them.
    """

    origin = "Arrow data"
    reads_less = True

    def __init__(self, data: ArrowTable, wanted: Sequence[str] | None = None, *, takes_aware: bool) -> None:
        super().__init__()
        self._reader = ArrowReader(data)
        self._wanted = wanted
        self._takes_aware = takes_aware

    async def peek_width(self) -> int | None:
        await self._reader.open(self._select, takes_aware=self._takes_aware)
        if self._reader.has_rows and not self.names:
            raise InterfaceError("Arrow data: expected a column, got none")
        return len(self.names or ()) if self._reader.has_rows else None

    def _select(self, names: tuple[str, ...]) -> Sequence[int]:
        self.names = (names if self._wanted is None else tuple(self._wanted)) or None
        return range(len(names)) if self._wanted is None else indices_of(self._wanted, names, "columns")

    async def read(self, count: int) -> Sequence[Row]:
        rows = await self._reader.read(count)
        if rows is None:
            return ()
        self.count += len(rows)
        return rows

    def close(self) -> None:
        self._reader.close()


class _AsyncRows(_Values):
    """Rows of an async iterable."""

    def __init__(self, source: AsyncIterable[Sequence[Value]]) -> None:
        super().__init__()
        self._source: AsyncIterator[Any] = aiter(source)

    async def peek_width(self) -> int | None:
        self._peeked = await self.read(1)
        return len(self._peeked[0]) if self._peeked else None

    async def read(self, count: int) -> list[Row]:
        rows, self._peeked = self._peeked, []
        while len(rows) < count:
            try:
                row = await anext(self._source)
            except StopAsyncIteration:
                break
            rows.append(row if row.__class__ is tuple else _tuple_of(row, self.count))
            self.count += 1
        return rows


class _NamedRows(_Rows):
    """Mappings; the first one determines the columns unless they are given."""

    origin = "named"

    def __init__(self, source: Iterable[Mapping[str, Value]], columns: Sequence[str] | None) -> None:
        super().__init__(self._by_position(source))
        self.names = None if columns is None else tuple(columns)

    def _by_position(self, source: Iterable[Mapping[str, Value]]) -> Iterator[Row]:
        for index, row in enumerate(source):
            self.names = self.names or _keys_of(row, index)
            yield _values_of(row, self.names, index)


class _AsyncNamedRows(_AsyncRows):
    """Mappings of an async iterable."""

    origin = "named"

    def __init__(self, source: AsyncIterable[Mapping[str, Value]], columns: Sequence[str] | None) -> None:
        super().__init__(self._by_position(source))
        self.names = None if columns is None else tuple(columns)

    async def _by_position(self, source: AsyncIterable[Mapping[str, Value]]) -> AsyncIterator[Row]:
        index = 0
        async for row in source:
            self.names = self.names or _keys_of(row, index)
            yield _values_of(row, self.names, index)
            index += 1


def _tuple_of(row: Sequence[Value], index: int) -> Row:
    check_sequence(row, f"row {index}")
    return tuple(row)


def _keys_of(row: Mapping[str, Value], index: int) -> tuple[str, ...]:
    if not isinstance(row, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise InterfaceError(f"row {index}: expected a mapping, got {type(row).__name__}")
    return tuple(row)


def _values_of(row: Mapping[str, Value], names: tuple[str, ...], index: int) -> Row:
    """The values of these names, in order.

    Raises:
        DataError: a name is missing or unknown.
    """
    if len(_keys_of(row, index)) == len(names):
        with contextlib.suppress(KeyError):
            return tuple([row[name] for name in names])
    for name in names:
        if name not in row:
            raise DataError(f"row {index}: no value for column {name!r:.40}", row_index=index)
    surplus = next(name for name in row if name not in names)
    raise DataError(f"row {index}: unknown column {surplus!r:.40}", row_index=index)


# -- records of text --------------------------------------------------------------------------------------------------


class _Text(SourceReader):
    """Base of readers of text records."""

    def __init__(self, form: TextFormat, dbdate: str) -> None:
        super().__init__()
        self.form = form
        self._dbdate = dbdate
        self._parse: FieldParser | None = None
        self._columns: Sequence[Column] = ()
        self._unparsed: list[tuple[DataError, int, TextRecord]] = []
        self._reader = RecordReader(form)

    def place(self, position: int) -> str:
        return self._reader.place(self._number(self.rejects.index_of(position)))

    def span(self, first: int, last: int) -> str:
        numbers = [self._number(self.rejects.index_of(position)) for position in (first, last)]
        return f"records {numbers[0]} to {numbers[1]}"

    def _number(self, index: int) -> int:
        """A row's record number, counted from 1, including the header."""
        return index + 1 + self.has_header

    def fields(self, row: Row) -> Sequence[Any]:
        return field_formatter(self._columns, dbdate=self._dbdate)(row)

    @property
    def has_header(self) -> bool:
        return isinstance(self.form, CsvFormat) and self.form.header

    def read_header(self, record: TextRecord) -> None:
        assert isinstance(self.form, CsvFormat)
        self.names = self.form.names(record)

    def set_columns(self, columns: Sequence[Column]) -> None:
        self._parse = field_parser(columns, dbdate=self._dbdate)
        self._columns = columns
        self._reader.keeps_bad = bool(self.rejects)

    def row(self, record: TextRecord, index: int) -> Row:
        """The row for a record."""
        assert self._parse is not None, "the columns are not known yet"
        if isinstance(record, BadRecord):
            raise record.error
        try:
            return self._parse(record)
        except DataError as error:
            place = self._reader.place(self._number(index))
            raise DataError(f"{place}: {error}", row_index=index, column=error.column) from None

    def take(self, record: TextRecord, rows: list[Row]) -> None:
        """Append the row for a record to *rows*. The caller passes rejected ones on, in the event loop.

        Raises:
            DataError: it cannot be parsed, and rows are not left out.
        """
        try:
            rows.append(self.row(record, self.count))
        except DataError as error:
            error.row_index = self.count
            if not self.rejects:
                raise
            self._unparsed.append((error, self.count, record))
        self.count += 1

    def leave_out_unparsed(self) -> None:
        """Report the records that `take` could not parse."""
        unparsed, self._unparsed = self._unparsed, []
        for error, index, record in unparsed:
            self.rejects.leave_out(error, index, record)


class _Records(_Text):
    """Records of a file, read in a thread."""

    def __init__(self, source: TextSource, form: TextFormat, dbdate: str) -> None:
        super().__init__(form, dbdate)
        self._source: Iterator[TextRecord] = records(source, form, self._reader)
        self._opened = cast("Generator[TextRecord]", self._source)

    async def peek_width(self) -> int | None:
        return await in_thread(self._peek_width)

    def _peek_width(self) -> int | None:
        if self.has_header and (header := next(self._source, None)) is not None:
            self.read_header(header)
        try:
            first = next(self._source, None)
        except DataError as error:
            error.row_index = 0
            raise
        if first is None:
            return None
        self._source = chain((first,), self._source)
        return len(first)

    async def read(self, count: int) -> list[Row]:
        rows: list[Row] = []
        while len(rows) < count:
            wanted = count - len(rows)
            taken = await in_thread(self._read, wanted, rows)
            self.leave_out_unparsed()
            if taken < wanted:
                break
        return rows

    def _read(self, count: int, rows: list[Row]) -> int:
        """Append rows for up to *count* records; returns the number of records."""
        before = self.count
        try:
            for record in islice(self._source, count):
                self.take(record, rows)
        except DataError as error:
            error.row_index = self.count
            raise
        return self.count - before


class _AsyncRecords(_Text):
    """Records from chunks of an async iterable."""

    def __init__(self, source: AsyncIterable[Chunk], form: TextFormat, dbdate: str) -> None:
        super().__init__(form, dbdate)
        self._source = async_records(source, form, self._reader)
        self._peeked: list[TextRecord] = []

    async def peek_width(self) -> int | None:
        if self.has_header and (header := await anext(self._source, None)) is not None:
            self.read_header(header)
        try:
            first = await anext(self._source, None)
        except DataError as error:
            error.row_index = 0
            raise
        self._peeked = [] if first is None else [first]
        return None if first is None else len(first)

    async def read(self, count: int) -> list[Row]:
        peeked, self._peeked = self._peeked, []
        rows: list[Row] = []
        try:
            for record in peeked:
                self.take(record, rows)
            while len(rows) < count:
                self.leave_out_unparsed()
                try:
                    record = await anext(self._source)
                except StopAsyncIteration:
                    break
                self.take(record, rows)
        except DataError as error:
            error.row_index = self.count
            raise
        self.leave_out_unparsed()
        return rows
