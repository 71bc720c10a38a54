"""Growing buffers of columns in Arrow's layout, in Python. Never: pyarrow, which rows go into which block.

Invariants:
1. A row is appended to every column, or to none.
2. A NULL stores zeros, so equal columns are equal bytes, native or not.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from struct import pack
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from aioifx.codecs.arrow_layout import Field, Layout
from aioifx.codecs.base import MAX_BYTES, Kind
from aioifx.codecs.row_codegen import FALLBACK_ERRORS, make_decoder
from aioifx.codecs.text import CodeSet
from aioifx.sqltypes import Row, Value
from aioifx.wire.tuples import TUPLE_HEAD

Buffer: TypeAlias = Any
"""An object with the buffer protocol, for which Python has a type since 3.12."""


class Chunk(NamedTuple):
    """One column of a block, as buffers."""

    nulls: int
    validity: Buffer | None
    """None if there are no NULLs."""
    values: Buffer
    """Values, a bitmap, or offsets."""
    data: Buffer | None
    """The bytes that the offsets point into."""

    @property
    def buffers(self) -> tuple[Buffer | None, ...]:
        """Those that Arrow's type has, in order."""
        return self[1:3] if self.data is None else self[1:]


class Block(NamedTuple):
    """Some rows of a result, column by column."""

    rows: int
    chunks: tuple[Chunk, ...]


NextBlock: TypeAlias = Callable[[], Block | None]
"""Returns the next block, None at the end. It may block. A consumer calls it once at a time, in any thread."""


class Columns(Protocol):
    """Columns that grow by whole tuples."""

    @property
    def rows(self) -> int:
        """Number of rows so far."""
        ...

    @property
    def nbytes(self) -> int:
        """Number of bytes so far."""
        ...

    def decode(self, data: bytearray, pos: int, end: int) -> int:
        """Append whole tuples from *pos* on; returns the position of the first one that was not appended."""
        ...

    def append(self, row: tuple[bytes | None, ...], /) -> bool:
        """Append one row of stored values; False if there is no room for it."""
        ...

    def finish(self) -> tuple[int, list[tuple[int, Any, Any, Any]]]:
        """The number of rows, and the items of each column's Chunk; empties the columns."""
        ...


_TEXTS: Final = frozenset({Kind.CHAR, Kind.VARCHAR, Kind.LVARCHAR})
"""Codecs whose values are str."""

_AS_DIGITS: Final = bytes.maketrans(b"\0\1", b"01")


def _bitmap(flags: bytes | bytearray) -> bytes:
    """One byte for each row, 0 or 1 -> one bit."""
    if not flags:
        return b""
    return int(flags[::-1].translate(_AS_DIGITS), 2).to_bytes((len(flags) + 7) // 8, "little")


class _ColumnBuffer:
    """One column that grows."""

    __slots__ = ("_is_text", "data", "field", "offsets", "valid", "zero")

    def __init__(self, field: Field) -> None:
        self.field = field
        self._is_text = field.layout == Layout.UTF8 and field.codec.kind in _TEXTS
        self.zero = b"" if field.layout >= Layout.UTF8 else bytes(field.width or 1)
        self.clear()

    def clear(self) -> None:
        self.valid = bytearray()
        self.data = bytearray()
        self.offsets = array("i", (0,)) if self.field.layout >= Layout.UTF8 else None

    def stored(self, values: Sequence[Value], has_nulls: bool) -> tuple[bytes, Iterable[int]]:
        """The bytes of values, and their sizes if the column has offsets."""
        store, number, letter, zero = self.field.store, self.field.number, self.field.letter, self.zero
        if self._is_text:
            texts = [value or "" for value in values] if has_nulls else values
            if (text := "".join(texts)).isascii():
                return text.encode(), map(len, texts)
        if self.offsets is not None or not letter:
            parts = [zero if value is None else store(value) for value in values]
            return b"".join(parts), map(len, parts)
        if number is None:
            numbers = [0 if value is None else value for value in values] if has_nulls else values
        else:
            numbers = [0 if value is None else number(value) for value in values]
        return pack(f"={len(values)}{letter}", *numbers), ()

    def add(self, data: bytes, sizes: Iterable[int], valid: bytes) -> None:
        if self.offsets is not None:
            self.offsets.extend(accumulate(sizes, initial=self.offsets.pop()))
        self.data += data
        self.valid += valid

    def chunk(self) -> tuple[int, bytes | None, bytes, bytes | None]:
        nulls = self.valid.count(0)
        validity = _bitmap(self.valid) if nulls else None
        if self.offsets is not None:
            return nulls, validity, self.offsets.tobytes(), bytes(self.data)
        values = _bitmap(self.data) if self.field.layout == Layout.BOOL else bytes(self.data)
        return nulls, validity, values, None


class PureColumns:
    """`_speedups.column_decoder.Columns` in Python: columns that grow by decoded rows.

    Args:
        most_bytes: of one column's text or bytes.
    """

    def __init__(self, fields: Sequence[Field], code_set: CodeSet, most_bytes: int = MAX_BYTES) -> None:
        self.rows = 0
        self._columns = [_ColumnBuffer(field) for field in fields]
        self._run = make_decoder(tuple(field.codec for field in fields), code_set)
        self._most_bytes = most_bytes

    @property
    def nbytes(self) -> int:
        """See `Columns`."""
        return sum(
            len(column.data) + (4 * self.rows if column.offsets is not None else 0)
            for column in self._columns
        )

    def decode(self, data: bytearray, pos: int, end: int) -> int:
        """See `Columns`."""
        run: list[Row] = []
        after = self._run(data, pos, end, run)
        if self._extend(run):
            return after
        for row in run:  # up to the one that cannot be stored
            if not self._extend([row]):
                break
            size = int.from_bytes(data[pos + 4 : pos + 8], "big")
            pos += TUPLE_HEAD + size + (size & 1)
        return pos

    def _extend(self, run: list[Row]) -> bool:
        """Append these rows, or none of them."""
        try:
            found: list[tuple[bytes, Iterable[int], bytes]] = []
            for column, values in zip(self._columns, zip(*run, strict=True), strict=False):
                valid = bytes([value is not None for value in values])
                found.append((*column.stored(values, 0 in valid), valid))
        except FALLBACK_ERRORS:
            return False
        if not self._has_room([data for data, _, _ in found]):
            return False
        for column, (data, sizes, valid) in zip(self._columns, found, strict=False):
            column.add(data, sizes, valid)
        self.rows += len(run)
        return True

    def append(self, row: tuple[bytes | None, ...], /) -> bool:
        """See `Columns`."""
        parts = [value or column.zero for value, column in zip(row, self._columns, strict=True)]
        if not self._has_room(parts):
            return False
        for column, value, part in zip(self._columns, row, parts, strict=True):
            column.add(part, (len(part),), b"\0" if value is None else b"\1")
        self.rows += 1
        return True

    def _has_room(self, parts: Iterable[bytes]) -> bool:
        """Whether each column with offsets stays within *most_bytes*."""
        return all(
            column.offsets is None or len(column.data) + len(part) <= self._most_bytes
            for column, part in zip(self._columns, parts, strict=False)
        )

    def finish(self) -> tuple[int, list[tuple[int, Any, Any, Any]]]:
        """See `Columns`."""
        rows, chunks = self.rows, [column.chunk() for column in self._columns]
        self.rows = 0
        for column in self._columns:
            column.clear()
        return rows, chunks
