"""A run of tuples -> columns in Arrow's layout, native or not. Never: pyarrow, how the columns are used.

Invariants:
1. A row that the kernel does not handle is decoded by the reference, value by value. Both kernels give the same columns
   and raise the same errors (tested).
2. A block ends before the text of a column exceeds its offsets; the row goes into the next block.
"""

from __future__ import annotations

from collections.abc import Sequence

from aioifx.codecs.arrow_layout import Field, fields_for
from aioifx.codecs.base import MAX_BYTES, Floating
from aioifx.codecs.column_buffers import Block, Chunk
from aioifx.codecs.conversions import PLAIN, Conversions
from aioifx.codecs.native import make_columns
from aioifx.codecs.rows import RowDecoder
from aioifx.codecs.text import CodeSet
from aioifx.codecs.tuple_frames import framed_size, whole_payload
from aioifx.errors import DataError
from aioifx.sqltypes import Column, Row


class ColumnDecoder:
    """Decodes the rows of one result into columns, block by block.

    Args:
        strip_char: as for a RowDecoder.
        padded_varchar: as for a RowDecoder.
        floating: how DECIMAL(p) is stored.
        most_bytes: of text or bytes in one column of a block.
        conversions: as for `fields_for`.

    Raises:
        NotSupportedError: a column's type has no codec; names both.
    """

    __slots__ = ("_columns", "_full", "fields", "reference")

    def __init__(
        self,
        columns: Sequence[Column],
        code_set: CodeSet,
        *,
        strip_char: bool = False,
        padded_varchar: bool = False,
        floating: Floating = "float",
        most_bytes: int = MAX_BYTES,
        conversions: Conversions = PLAIN,
    ) -> None:
        self.fields = fields_for(
            columns,
            code_set,
            strip_char=strip_char,
            padded_varchar=padded_varchar,
            floating=floating,
            conversions=conversions,
        )
        self.reference = RowDecoder(
            [field.column for field in self.fields],
            code_set,
            strip_char=strip_char,
            padded_varchar=padded_varchar,
            conversions=conversions,
        )
        self._columns = make_columns(self.fields, code_set, most_bytes)
        self._full: list[Block] = []

    @property
    def rows(self) -> int:
        """Number of rows that `finish` would return."""
        return self._columns.rows + sum(block.rows for block in self._full)

    @property
    def nbytes(self) -> int:
        """Bytes of the block that is being filled."""
        return self._columns.nbytes

    def __call__(self, data: bytearray, pos: int, end: int, rows: list[Row]) -> int:
        """Decode every whole SQ_TUPLE message from *pos* on and return the position after them.

        *rows* gets an empty tuple for each decoded row, so that it can be counted.

        Raises:
            ProtocolError, DataError: as a RowDecoder; DataError also for a value that Arrow's type cannot hold.
        """
        columns = self._columns
        while True:
            before = columns.rows
            pos = columns.decode(data, pos, end)
            rows.extend([()] * (columns.rows - before))
            payload = whole_payload(data, pos, end)
            if payload is None:
                return pos
            self.append(self.reference.decode_payload(payload))
            rows.append(())
            pos += framed_size(payload)

    def append(self, row: Row) -> None:
        """Append one row, as `reference` decodes it, or with large values in place of what the row holds."""
        stored = tuple(
            None if value is None else _stored(field, value)
            for field, value in zip(self.fields, row, strict=True)
        )
        if self._columns.append(stored):
            return
        self._end_block()
        if not self._columns.append(stored):
            raise DataError("a row with more text than a column of a block can have")

    def _end_block(self) -> None:
        rows, chunks = self._columns.finish()
        self._full.append(Block(rows, tuple(Chunk(*chunk) for chunk in chunks)))

    def finish(self) -> list[Block]:
        """The rows since the last call: usually one block, none without rows."""
        if self._columns.rows:
            self._end_block()
        blocks, self._full = self._full, []
        return blocks

    def empty(self) -> Block:
        """A block without rows."""
        rows, chunks = make_columns(self.fields, self.reference.code_set).finish()
        return Block(rows, tuple(Chunk(*chunk) for chunk in chunks))


def _stored(field: Field, value: object) -> bytes:
    try:
        return field.store(value)
    except DataError as error:
        raise DataError(f"column {field.column.name!r}: {error}", column=field.column.name) from None
