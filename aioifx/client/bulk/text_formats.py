"""Records of text in UNLOAD's format and in CSV: splitting, joining, escaping. Never: types, columns, tables, a server.

UNLOAD's format is documented in the Guide to SQL Syntax (LOAD, UNLOAD and their DELIMITER clause). A delimiter ends
each field, a newline each record. A backslash escapes the delimiter, newline or backslash after it. An empty field is
NULL; a field of only a backslash and a blank is an empty string. A backslash before any other character is
assumed to leave it unchanged.

Invariants:
1. Records are read back as they were written, with NULL and '' distinct. A record for which this is impossible is
   rejected.
2. A chunk may end anywhere: in a record, an escape, a character. Memory is bounded by one chunk and one record.
3. Parsing accepts unambiguous variants: no newline after the last record, no delimiter after a last field with text,
   CRLF, empty lines. Messages name the failed record, counted from 1, and never show its text.
4. Each character is examined a bounded number of times: no pattern backtracks.
"""

from __future__ import annotations

import codecs
import csv
import os
import re
from bisect import bisect_right
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import itemgetter
from pathlib import PurePath
from typing import Final, Literal, cast

from aioifx.client.bulk.arguments import Chunk, Readable, TextFormat, TextRecord, TextSource
from aioifx.client.config.checks import check_flag
from aioifx.codecs.text import CodeSet
from aioifx.codecs.unload_records import ends_in_escape, join_fields, split_fields
from aioifx.errors import DataError, InterfaceError

MAX_RECORD: Final = 16 * 1024 * 1024
_CHUNK: Final = 64 * 1024


_SHIFTS: Final = 100_000
"""Least number of records whose line number is stored because it does not follow from the record before it. It is
enough for a block and the next one."""


# --- reading --------------------------------------------------------------------------------------------------------


def records(source: TextSource, form: TextFormat, reader: RecordReader | None = None) -> Iterator[TextRecord]:
    """The records of a path, an open file, or chunks of text or bytes.

    A path or a file is read in small pieces as needed. Reading blocks, so use a thread in an event loop, or request few
    records at a time.

    Raises:
        InterfaceError: *source* is of an unsupported type.
        DataError: the text is not in this format.
    """
    reader = reader or RecordReader(form)
    for chunk in _chunks(source):
        yield from reader.feed(chunk)
    yield from reader.finish()


async def async_records(
    source: AsyncIterable[Chunk], form: TextFormat, reader: RecordReader | None = None
) -> AsyncIterator[TextRecord]:
    """The same for an async iterable of chunks."""
    reader = reader or RecordReader(form)
    async for chunk in source:
        for record in reader.feed(chunk):
            yield record
    for record in reader.finish():
        yield record


_BY_SUFFIX: Final[Mapping[str, Literal["csv", "unload"]]] = {".csv": "csv", ".unl": "unload"}


def format_by_name(file: object) -> Literal["csv", "unload"] | None:
    """The format that the name of a file tells; None if it tells none, or *file* is not a path."""
    if not isinstance(file, (str, os.PathLike)):
        return None
    return _BY_SUFFIX.get(PurePath(cast("str | os.PathLike[str]", file)).suffix.lower())


def _chunks(source: TextSource) -> Iterator[Chunk]:
    if isinstance(source, (bytes, bytearray, memoryview)):
        kind = type(source).__name__
        raise InterfaceError(
            f"rows: expected a pathlib.Path or a list of chunks, got {kind}, which may be a path or text"
        )
    if isinstance(source, str) and (not source or "\n" in source or "\0" in source):
        raise InterfaceError("rows: expected a path, got text; give text as a list of chunks")
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as file:
            while data := file.read(_CHUNK):
                yield data
    elif isinstance(source, Readable):  # before iterables: iterating a file returns lines of unbounded length
        while chunk := source.read(_CHUNK):
            yield chunk
    elif isinstance(source, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        yield from source
    else:
        raise InterfaceError(
            f"rows: expected a path, file or iterable of chunks, got {type(source).__name__}"
        )


class BadRecord(TextRecord):
    """A record that cannot be split, as one field."""

    def __init__(self, text: str, error: DataError) -> None:
        super().__init__([text])
        self.error = error


class RecordReader:
    """Converts chunks to records, and tracks the position. The caller reads the chunks."""

    __slots__ = (
        "_decoder",
        "_encoding",
        "_ended",
        "_form",
        "_held",
        "_inside",
        "_lines",
        "_pieces",
        "_shifts",
        "count",
        "keeps_bad",
    )

    def __init__(self, form: TextFormat) -> None:
        self.count = 0
        """Number of records so far."""
        self.keeps_bad = False
        """Whether a record that cannot be split becomes a `BadRecord`, instead of an error."""
        self._form = form
        self._ended = 0  # lines of complete records, and empty lines
        # Record number, and line number minus record number, where that changes.
        self._shifts: list[tuple[int, int]] = [(0, 0)]
        self._encoding = form.encoding or "utf-8-sig"
        self._decoder = codecs.getincrementaldecoder(self._encoding)("strict")
        self._pieces: list[str] = []  # pieces of an incomplete line
        self._lines: list[str] = []  # lines of a record whose newlines are data
        self._held = 0  # characters in both
        self._inside = False

    def place(self, record: int) -> str:
        """Position of a record: its number, counted from 1, and the number of its first line."""
        if record > self.count:
            return f"record {record}, line {self._ended + 1}"
        at = bisect_right(self._shifts, record, key=itemgetter(0))
        return f"record {record}, line {record + self._shifts[at - 1][1]}" if at else f"record {record}"

    def feed(self, chunk: Chunk) -> Iterator[TextRecord]:
        """The records that end in this chunk; exhaust the iterator before feeding the next chunk."""
        if isinstance(chunk, str):
            return self._split(chunk)
        if isinstance(chunk, (bytes, bytearray, memoryview)):  # pyright: ignore[reportUnnecessaryIsInstance]
            return self._decoded(bytes(chunk), final=False)
        raise InterfaceError(f"chunks: expected str or bytes, got {type(chunk).__name__}")

    def finish(self) -> Iterator[TextRecord]:
        """The last record, if it has no newline.

        Raises:
            DataError: the text ends within a record.
        """
        yield from self._decoded(b"", final=True)
        line = "".join(self._pieces)
        if self._form.continues(line, self._inside):
            raise DataError(f"{self.place(self.count + 1)} is cut short: the text ends within a field")
        if fields := self._record(line):
            yield fields

    def _decoded(self, data: bytes, final: bool) -> Iterator[TextRecord]:
        before = self._decoder.getstate()
        try:
            text = self._decoder.decode(data, final)
        except UnicodeDecodeError as error:
            # Text before the bad byte is processed first, so that the record count is right.
            good = max(0, error.start - (len(error.object) - len(data)))
            self._decoder.setstate(before)
            yield from self._split(self._decoder.decode(data[:good]))
            byte, encoding = error.object[error.start], self._form.encoding or "utf-8"
            place = self.place(self.count + 1)
            raise DataError(f"{place}: byte {byte:#04x} cannot be decoded as {encoding}") from None
        yield from self._split(text)

    def _split(self, text: str) -> Iterator[TextRecord]:
        lines = text.split("\n")
        rest = lines.pop()
        for line in lines:
            self._hold(len(line) + 1)
            if self._pieces:
                self._pieces.append(line)
                line = "".join(self._pieces)
                self._pieces.clear()
            if self._form.continues(line, self._inside):
                self._lines.append(line)
                self._inside = True
            elif fields := self._record(line):
                yield fields
        if rest:
            self._hold(len(rest))
            self._pieces.append(rest)

    def _hold(self, size: int) -> None:
        self._held += size
        if self._held > self._form.max_record:
            raise DataError(
                f"{self.place(self.count + 1)} is longer than max_record, {self._form.max_record} characters"
            )

    def _record(self, line: str) -> TextRecord:
        """The fields of the held lines followed by *line*."""
        lines = 1 + len(self._lines)
        if self._lines:
            line = "\n".join([*self._lines, line])
            self._lines.clear()
            self._inside = False
        self._held = 0
        try:
            fields = self._form.split(line)
        except DataError as error:
            found = DataError(f"{self.place(self.count + 1)}: {error}")
            if not self.keeps_bad:
                raise found from None
            fields = BadRecord(line, found)
        if fields:
            self.count += 1
            shift = self._ended + 1 - self.count
            if shift != self._shifts[-1][1]:
                self._shifts.append((self.count, shift))
                if len(self._shifts) == 2 * _SHIFTS:
                    del self._shifts[:_SHIFTS]
        self._ended += lines
        return fields


def _check_delimiter(delimiter: object, unfit: str) -> None:
    if not isinstance(delimiter, str) or len(delimiter) != 1:
        raise InterfaceError(f"delimiter: expected one character, got {delimiter!r:.40}")
    if delimiter in unfit:
        raise InterfaceError(
            f"delimiter: expected a character not reserved in this format, got {delimiter!r}"
        )


def _check_reading(encoding: str | None, max_record: int) -> None:
    if not (encoding is None or isinstance(encoding, str)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InterfaceError(f"encoding: expected a str, got {type(encoding).__name__}")
    try:
        b"a".decode(encoding or "utf-8", "ignore")  # decoding an empty string would not check the name
    except (LookupError, ValueError):
        raise InterfaceError(f"encoding: unknown text encoding {encoding!r}") from None
    if max_record < 1:
        raise InterfaceError(f"max_record: expected 1 or more, got {max_record!r:.40}")


# --- UNLOAD's format ------------------------------------------------------------------------------------------------

# Documented: no backslash, newline or hexadecimal digit. A blank is documented as allowed. It is rejected here, because
# an empty string and an escaped blank would be the same text. A CR is rejected because it is part of a CRLF.
_UNFIT_FOR_UNLOAD: Final = "\\\n\r 0123456789abcdefABCDEF"


@dataclass(frozen=True, slots=True)
class UnloadFormat:
    """The format of the SQL statements LOAD and UNLOAD.

    Args:
        delimiter: the character after each field.
        encoding: Python name of the encoding of bytes; None: the connection's code set, as with LOAD.
        max_record: maximum length of a record, in characters.
    """

    delimiter: str = "|"
    encoding: str | None = None
    max_record: int = MAX_RECORD

    def __post_init__(self) -> None:
        _check_delimiter(self.delimiter, _UNFIT_FOR_UNLOAD)
        _check_reading(self.encoding, self.max_record)

    def join(self, fields: Sequence[str | None]) -> str:
        """One record, with its newline.

        Raises:
            InterfaceError: the record has no fields.
        """
        if not fields:
            raise InterfaceError("fields: expected at least one, got none")
        return join_fields(fields, self.delimiter)

    def continues(self, line: str, inside: bool) -> bool:
        """Whether the newline after *line* is escaped; *inside* does not matter."""
        del inside
        return ends_in_escape(line)

    def split(self, text: str) -> TextRecord:
        """The fields of a record, unescaped."""
        return split_fields(text, self.delimiter)


# --- CSV ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """Comma-separated values as in Python's csv: quotes around a field, doubled inside it.

    An unquoted field equal to *null* is NULL; a quoted one is text, so NULL and '' differ, as in PostgreSQL's COPY.
    Use ``quoted_null=True`` for files in which every field is quoted; then no field can have the text of *null*. A
    field longer than csv.field_size_limit() is rejected.

    Args:
        delimiter: the character between fields.
        header: the first record holds the column names; it is returned like any other record, see `names`.
        null: the text of NULL.
        quoted_null: the text of NULL is NULL in quotes, too.
        encoding: Python name of the encoding of bytes; None: UTF-8. A load skips its byte order mark.
        max_record: maximum length of a record, in characters.
        escape_formulas: a ' is written before text that a spreadsheet would execute as a formula; it is not removed
            when the file is read.
    """

    delimiter: str = ","
    header: bool = False
    null: str = ""
    quoted_null: bool = False
    encoding: str | None = None
    max_record: int = MAX_RECORD
    escape_formulas: bool = False

    def __post_init__(self) -> None:
        check_flag("header", self.header)
        _check_delimiter(self.delimiter, '"\r\n')
        _check_reading(self.encoding, self.max_record)
        if set(self.null) & {'"', "\r", "\n", self.delimiter}:
            raise InterfaceError(
                f"null: expected a text without quotes, newlines and the delimiter, got {self.null!r:.40}"
            )

    def join(self, fields: Sequence[str | None]) -> str:
        """One record, with its newline.

        Raises:
            InterfaceError: the record has no fields.
            DataError: it could not be read back unchanged.
        """
        if not fields:
            raise InterfaceError("fields: expected at least one, got none")
        if self.escape_formulas:
            fields = [f"'{field}" if field and _FORMULA.match(field) else field for field in fields]
        if self.quoted_null and self.null in fields:
            raise DataError("a field equals the text of NULL: choose another null, or quoted_null=False")
        if not (self.null or self.quoted_null) and len(fields) == 1 and fields[0] is None:
            raise DataError("a single NULL would be an empty line, which is skipped: set null to a text")
        texts = [self.null if field is None else self._quoted(field) for field in fields]
        return (self.delimiter.join(texts) or '""') + "\n"

    def _quoted(self, field: str) -> str:
        needless = (
            self.delimiter not in field and '"' not in field and "\n" not in field and "\r" not in field
        )
        if needless and field != self.null:
            return field
        return '"' + field.replace('"', '""') + '"'

    def continues(self, line: str, inside: bool) -> bool:
        """Whether a quoted field is open after *line*."""
        if '"' not in line:
            return inside
        # An open field is continued as if its opening quote were at the start of this line.
        found = _csv_field(self.delimiter).finditer('"' + line if inside else line)
        return any(field["closing"] == "" for field in found)

    def split(self, text: str) -> TextRecord:
        """The fields of a record, unquoted."""
        try:
            # Only whole records: an exception inside a record makes csv's reader lose it.
            texts = next(csv.reader((text,), delimiter=self.delimiter, strict=True), list[str]())
        except csv.Error as error:
            raise DataError(f"not valid CSV: {error}") from None
        if self.null not in texts:
            return list[str | None](texts)
        if self.quoted_null or '"' not in text:
            return [None if field == self.null else field for field in texts]
        found = _csv_field(self.delimiter).finditer(text)
        return [
            None if field == self.null and written["closing"] is None else field
            # After the last field there is an empty match.
            for field, written in zip(texts, found, strict=False)
        ]

    def names(self, record: Sequence[str | None]) -> tuple[str, ...]:
        """The column names in a header, stripped of blanks.

        Raises:
            DataError: a name is missing or occurs twice.
        """
        names = tuple((field or "").strip() for field in record)
        if "" in names:
            raise DataError(f"the header has no name for column {names.index('') + 1}")
        if len(set(names)) < len(names):
            twice = next(name for index, name in enumerate(names) if name in names[:index])
            raise DataError(f"the header has {twice!r} twice")
        return names


# The public path, which pickles and messages name, also if the class was not imported by `aioifx` itself.
UnloadFormat.__module__ = CsvFormat.__module__ = "aioifx"


_FORMULA: Final = re.compile(
    r"""(?! [-+]? \d+ (?: \.\d+ )? (?: [eE] [-+]? \d+ )? \Z ) [=+\-@\t\r\uff1d\uff0b\uff0d\uff20]""",
    re.VERBOSE,
)
"""Text that a spreadsheet takes for a formula, and no number (documented: OWASP, CSV Injection)."""


@lru_cache(maxsize=16)
def _csv_field(delimiter: str) -> re.Pattern[str]:
    """Pattern of a field; its closing quote is None without an opening one, and empty if it is missing."""
    mark = re.escape(delimiter)
    return re.compile(
        rf'(?: " (?: [^"]++ | "" )*+ (?P<closing> "?+ ) )?+ [^{mark}]*+ (?: {mark} | \Z )', re.VERBOSE
    )


_NAMED: Final = {"csv": CsvFormat, "unload": UnloadFormat}


def format_of(form: str | TextFormat, code_set: CodeSet) -> TextFormat:
    """The format for a name; a TextFormat is returned unchanged, but for its encoding.

    Args:
        code_set: the client's, in which files of UNLOAD are (documented).

    Raises:
        InterfaceError: unknown format.
    """
    if isinstance(form, str):
        if form not in _NAMED:
            raise InterfaceError(f'format: expected "unload" or "csv", got {form!r:.40}')
        return format_of(_NAMED[form](), code_set)
    if not hasattr(form, "continues"):
        raise InterfaceError(f'format: expected "unload", "csv" or a TextFormat, got {type(form).__name__}')
    if isinstance(form, UnloadFormat) and form.encoding is None:
        return replace(form, encoding=code_set.codec)
    return form
