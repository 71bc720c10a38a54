"""Records of text in UNLOAD's format and in CSV: split, joined, escaped. Never: types, columns, tables, a server.

UNLOAD's format is documented in the Guide to SQL Syntax (LOAD, UNLOAD and their DELIMITER clause): a delimiter ends
each field, a newline each record; a backslash takes the meaning from a delimiter, newline or backslash behind it;
nothing between delimiters is NULL; a backslash and a blank alone in a field are a string of no characters. That a
backslash leaves any other character as it is, is assumed.

House rules:
1. What is written comes back as it was, NULL and '' told apart; what could not is refused.
2. A chunk may be cut anywhere: in a record, an escape, a character. Memory is bounded by one chunk and one record.
3. Reading forgives what has one meaning only: no newline behind the last record, no delimiter behind a last field
   with text, CRLF, empty lines. A message says which record is wrong, counted from 1, and never shows its text.
4. Every character is looked at a bounded number of times: no pattern backtracks.
"""

from __future__ import annotations

import codecs
import csv
import os
import re
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Protocol, TypeAlias, runtime_checkable

from aioifx.errors import DataError, InterfaceError

TextRecord: TypeAlias = list[str | None]
"""The fields of one record; None is NULL."""

Chunk: TypeAlias = str | bytes | bytearray | memoryview


@runtime_checkable
class Readable(Protocol):
    """An open file, binary or text. A text file needs newline="": else Python turns a CR in a field into a newline."""

    def read(self, size: int, /) -> str | bytes: ...


TextSource: TypeAlias = os.PathLike[str] | Readable | Iterable[Chunk]
"""Where records come from; a plain str is refused, for it could be a path as well as text."""

MAX_RECORD: Final = 16 * 1024 * 1024
_CHUNK: Final = 64 * 1024


class TextFormat(Protocol):
    """What tells one format from another; the rest is `RecordReader`."""

    @property
    def encoding(self) -> str:
        """Python's name of the code set of chunks that are bytes."""
        ...

    @property
    def max_record(self) -> int:
        """The longest record that is read, in characters."""
        ...

    def goes_on(self, line: str, inside: bool) -> bool:
        """Whether the newline behind *line* is data; *inside* says it of the newline in front of it."""
        ...

    def fields(self, text: str) -> TextRecord:
        """The fields of a record without its newline; none for an empty line.

        Raises:   DataError: it is not in this format.
        """
        ...

    def line(self, fields: Sequence[str | None]) -> str:
        """One record, with its newline."""
        ...


_SHIFTS: Final = 200_000
"""Records whose line is remembered, where it is not that of the record before and one; no block has as many."""


# --- reading --------------------------------------------------------------------------------------------------------


def records(source: TextSource, form: TextFormat, reader: RecordReader | None = None) -> Iterator[TextRecord]:
    """The records of a path, an open file, or chunks of text or bytes, one by one.

    A path or a file is read in small pieces as records are asked for, and blocks meanwhile: an event loop asks from a
    thread, or for few at a time.

    Raises:   InterfaceError: *source* is nothing of that. DataError: what it holds is not in this format.
    """
    reader = reader or RecordReader(form)
    for chunk in _chunks(source):
        yield from reader.feed(chunk)
    yield from reader.finish()


async def async_records(
    source: AsyncIterable[Chunk], form: TextFormat, reader: RecordReader | None = None
) -> AsyncIterator[TextRecord]:
    """The same for chunks that have to be awaited."""
    reader = reader or RecordReader(form)
    async for chunk in source:
        for record in reader.feed(chunk):
            yield record
    for record in reader.finish():
        yield record


def _chunks(source: TextSource) -> Iterator[Chunk]:
    if isinstance(source, (str, bytes, bytearray, memoryview)):
        kind = type(source).__name__
        raise InterfaceError(f"a {kind} may be a path or text: give a pathlib.Path or a list of chunks")
    if isinstance(source, os.PathLike):
        with open(source, "rb") as file:
            while data := file.read(_CHUNK):
                yield data
    elif isinstance(source, Readable):  # before the iterables: a file gives lines, which nothing bounds
        while chunk := source.read(_CHUNK):
            yield chunk
    elif isinstance(source, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        yield from source
    else:
        raise InterfaceError(f"{type(source).__name__} is no path, file or iterable of chunks")


class RecordReader:
    """Chunks in, records out; knows where it is, and nothing of where chunks come from."""

    __slots__ = ("_decoder", "_ended", "_form", "_held", "_inside", "_lines", "_pieces", "_shifts", "count")

    def __init__(self, form: TextFormat) -> None:
        self.count = 0
        """Records so far."""
        self._form = form
        self._ended = 0  # lines of records that are complete, and empty ones
        self._shifts: deque[tuple[int, int]] = deque(maxlen=_SHIFTS)  # a record, its line less its number
        self._decoder = codecs.getincrementaldecoder(form.encoding)("strict")
        self._pieces: list[str] = []  # of a line whose newline is not here yet
        self._lines: list[str] = []  # of a record, those whose newlines are data
        self._held = 0  # characters in both
        self._inside = False

    def place(self, record: int) -> str:
        """Where a record stands: its number, counted from 1, and the line of the text that it begins in."""
        if record > self.count:
            return f"record {record}, line {self._ended + 1}"
        after = 0
        for first, shift in self._shifts:
            if first > record:
                break
            after = shift
        is_forgotten = len(self._shifts) == _SHIFTS and self._shifts[0][0] > record
        return f"record {record}" if is_forgotten else f"record {record}, line {record + after}"

    def feed(self, chunk: Chunk) -> Iterator[TextRecord]:
        """The records that end in this chunk; to be exhausted before the next one is fed."""
        if isinstance(chunk, str):
            return self._split(chunk)
        if isinstance(chunk, (bytes, bytearray, memoryview)):  # pyright: ignore[reportUnnecessaryIsInstance]
            return self._decoded(bytes(chunk), final=False)
        raise InterfaceError(f"chunks must be str or bytes, not {type(chunk).__name__}")

    def finish(self) -> Iterator[TextRecord]:
        """The record that has no newline behind it.

        Raises:   DataError: the text ends within a record.
        """
        yield from self._decoded(b"", final=True)
        line = "".join(self._pieces)
        if self._form.goes_on(line, self._inside):
            raise DataError(f"{self.place(self.count + 1)} is cut short: the text ends within a field")
        if fields := self._record(line):
            yield fields

    def _decoded(self, data: bytes, final: bool) -> Iterator[TextRecord]:
        before = self._decoder.getstate()
        try:
            text = self._decoder.decode(data, final)
        except UnicodeDecodeError as error:
            # What is text in front of the bad byte goes first, so that the count of records is right.
            good = max(0, error.start - (len(error.object) - len(data)))
            self._decoder.setstate(before)
            yield from self._split(self._decoder.decode(data[:good]))
            byte, encoding = error.object[error.start], self._form.encoding
            place = self.place(self.count + 1)
            raise DataError(f"{place}: byte {byte:#04x} is no text in {encoding}") from None
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
            if self._form.goes_on(line, self._inside):
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
        """The fields of what is held and *line* behind it."""
        lines = 1 + len(self._lines)
        if self._lines:
            line = "\n".join([*self._lines, line])
            self._lines.clear()
            self._inside = False
        self._held = 0
        try:
            fields = self._form.fields(line)
        except DataError as error:
            raise DataError(f"{self.place(self.count + 1)}: {error}") from None
        if fields:
            self.count += 1
            shift = self._ended + 1 - self.count
            if shift != (self._shifts[-1][1] if self._shifts else 0):
                self._shifts.append((self.count, shift))
        self._ended += lines
        return fields


def _check_delimiter(delimiter: object, unfit: str) -> None:
    if not isinstance(delimiter, str) or len(delimiter) != 1:
        raise InterfaceError("delimiter: must be one character")
    if delimiter in unfit:
        raise InterfaceError(f"delimiter: {delimiter!r} has another meaning in this format")


def _check_reading(encoding: str, max_record: int) -> None:
    if not isinstance(encoding, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise InterfaceError(f"encoding: must be a str, not {type(encoding).__name__}")
    try:
        b"a".decode(encoding, "ignore")  # nothing at all would be decoded without looking
    except (LookupError, ValueError):
        raise InterfaceError(f"encoding: no code set of text is called {encoding!r}") from None
    if max_record < 1:
        raise InterfaceError("max_record: must be 1 or more")


# --- UNLOAD's format ------------------------------------------------------------------------------------------------

# Documented: no backslash, newline or hexadecimal digit. A blank is allowed there, but an empty string and an escaped
# blank would look the same; CR would look like the line's end in a file from Windows.
_UNFIT_FOR_UNLOAD: Final = "\\\n\r 0123456789abcdefABCDEF"
_EMPTY: Final = "\\ "
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class UnloadFormat:
    """The format of the SQL statements LOAD and UNLOAD.

    Args:     delimiter: the character behind each field.
              encoding: Python's name of the code set of chunks that are bytes.
              max_record: the longest record that is read, in characters.
    """

    delimiter: str = "|"
    encoding: str = "utf-8"
    max_record: int = MAX_RECORD

    def __post_init__(self) -> None:
        _check_delimiter(self.delimiter, _UNFIT_FOR_UNLOAD)
        _check_reading(self.encoding, self.max_record)

    def line(self, fields: Sequence[str | None]) -> str:
        """One record, with its newline.

        Raises:   InterfaceError: it has no fields.
        """
        if not fields:
            raise InterfaceError("a record has one field at least")
        delimiter = self.delimiter
        escaped, parts = "\\" + delimiter, [""] * len(fields)
        for index, field in enumerate(fields):
            if field:
                text = field.replace("\\", "\\\\").replace(delimiter, escaped)
                parts[index] = text.replace("\n", "\\\n")
            elif field is not None:
                parts[index] = _EMPTY
        return delimiter.join(parts) + delimiter + "\n"

    def goes_on(self, line: str, inside: bool) -> bool:
        """Whether the newline behind *line* is escaped; the one in front of it does not matter."""
        del inside
        return line.endswith("\\") and _ends_in_escape(line)

    def fields(self, text: str) -> TextRecord:
        """The fields of a record, escapes resolved."""
        if text.endswith("\r") and not _ends_in_escape(text[:-1]):
            text = text[:-1]
        if "\\" not in text:
            plain = text.split(self.delimiter)
            if not plain[-1]:  # behind the last delimiter
                plain.pop()
            return [field or None for field in plain]
        found = _unload_field(self.delimiter).findall(text)
        return [_unescaped(field) for field, delimiter in found if delimiter or field]


@lru_cache(maxsize=16)
def _unload_field(delimiter: str) -> re.Pattern[str]:
    """A field as it is written, and its delimiter; both are empty behind the last one."""
    mark = re.escape(delimiter)
    return re.compile(rf"((?:[^\\{mark}]++|\\.)*+)({mark}|\Z)", re.DOTALL)


def _unescaped(field: str) -> str | None:
    if field == _EMPTY:
        return ""
    return (_ESCAPED.sub(r"\1", field) if "\\" in field else field) or None


def _ends_in_escape(text: str) -> bool:
    """Whether a backslash at the end waits for its character."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


# --- CSV ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """Comma-separated values as Python's csv reads them: quotes around a field, doubled in it.

    A field without quotes whose text is *null* is NULL; in quotes it is that text. So NULL and '' differ, as they do
    in PostgreSQL's COPY. What writers produce that quote every field needs ``quoted_null=True``, and then no field is
    that text. A field longer than csv.field_size_limit() is refused.

    Args:     delimiter: the character between fields.
              header: the first record is the names of the columns; reading gives it like any other, see `names`.
              null: the text of NULL.
              quoted_null: the text of NULL is NULL in quotes, too.
              encoding: Python's name of the code set of chunks that are bytes; the default skips a byte order mark.
              max_record: the longest record that is read, in characters.
    """

    delimiter: str = ","
    header: bool = False
    null: str = ""
    quoted_null: bool = False
    encoding: str = "utf-8-sig"
    max_record: int = MAX_RECORD

    def __post_init__(self) -> None:
        _check_delimiter(self.delimiter, '"\r\n')
        _check_reading(self.encoding, self.max_record)
        if set(self.null) & {'"', "\r", "\n", self.delimiter}:
            raise InterfaceError("null: must be free of quotes, newlines and the delimiter")

    def line(self, fields: Sequence[str | None]) -> str:
        """One record, with its newline.

        Raises:   InterfaceError: it has no fields. DataError: it would not come back as it is.
        """
        if not fields:
            raise InterfaceError("a record has one field at least")
        if self.quoted_null and self.null in fields:
            raise DataError(
                "a field is the text that stands for NULL: choose another null, or quoted_null=False"
            )
        if not (self.null or self.quoted_null) and len(fields) == 1 and fields[0] is None:
            raise DataError("a NULL alone would be an empty line, which is no record: choose a text for null")
        texts = [self.null if field is None else self._quoted(field) for field in fields]
        return (self.delimiter.join(texts) or '""') + "\n"

    def _quoted(self, field: str) -> str:
        needless = (
            self.delimiter not in field and '"' not in field and "\n" not in field and "\r" not in field
        )
        if needless and field != self.null:
            return field
        return '"' + field.replace('"', '""') + '"'

    def goes_on(self, line: str, inside: bool) -> bool:
        """Whether a quoted field is open behind *line*."""
        if '"' not in line:
            return inside
        # A field that was open before goes on as if its quote stood here.
        found = _csv_field(self.delimiter).finditer('"' + line if inside else line)
        return any(field["closing"] == "" for field in found)

    def fields(self, text: str) -> TextRecord:
        """The fields of a record, quotes resolved."""
        try:
            # Given whole records only, since csv's reader loses one that it is interrupted in.
            texts = next(csv.reader((text,), delimiter=self.delimiter, strict=True), list[str]())
        except csv.Error as error:
            raise DataError(f"this is no CSV: {error}") from None
        if self.null not in texts:
            return list[str | None](texts)
        if self.quoted_null or '"' not in text:
            return [None if field == self.null else field for field in texts]
        found = _csv_field(self.delimiter).finditer(text)
        return [
            None if field == self.null and written["closing"] is None else field
            for field, written in zip(
                texts, found, strict=False
            )  # behind the last one there is a match of nothing
        ]

    def names(self, record: Sequence[str | None]) -> tuple[str, ...]:
        """The names in a header, without the blanks around them.

        Raises:   DataError: one is missing or stands there twice.
        """
        names = tuple((field or "").strip() for field in record)
        if "" in names:
            raise DataError(f"the header has no name for column {names.index('') + 1}")
        if len(set(names)) < len(names):
            twice = next(name for index, name in enumerate(names) if name in names[:index])
            raise DataError(f"the header has {twice!r} twice")
        return names


@lru_cache(maxsize=16)
def _csv_field(delimiter: str) -> re.Pattern[str]:
    """A field as it is written; its closing quote is None when it has no opening one, empty when it is missing."""
    mark = re.escape(delimiter)
    return re.compile(
        rf'(?: " (?: [^"]++ | "" )*+ (?P<closing> "?+ ) )?+ [^{mark}]*+ (?: {mark} | \Z )', re.VERBOSE
    )
