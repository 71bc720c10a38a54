"""Rows of a result in Arrow's layout, for every library that reads Arrow. Never: pyarrow, a request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from aioifx.codecs.native import NATIVE
from aioifx.rows import unique_names
from aioifx.sqltypes import Column

if TYPE_CHECKING:  # loaded with the first result
    from aioifx.codecs.arrow_layout import Field
    from aioifx.codecs.column_buffers import Block, NextBlock


def native_exports() -> Any:
    """See `arrow_exports`; only where the kernel is built."""
    from aioifx.codecs import arrow_export

    return arrow_export


def pure_exports() -> Any:
    """See `arrow_exports`."""
    from aioifx.codecs import pyarrow_export

    return pyarrow_export


arrow_exports: Final = native_exports if NATIVE else pure_exports
"""The module that exports columns. It is loaded with the first result, since it needs ctypes, or pyarrow.

Raises:
    NotSupportedError: there is neither the kernel nor pyarrow.
"""


class Schema:
    """Names and types of columns.

    Every field is nullable: it is not known whether servers describe columns of an outer join as nullable. A field's
    metadata has the column's type in SQL, as ``sql_type``.
    """

    def __init__(self, columns: Sequence[Column], fields: Sequence[Field]) -> None:
        self._exports = arrow_exports()
        self.names = unique_names(columns)
        """The columns' names. The second column of a name is ``name_2``, since most readers accept each only once."""
        self._fields = self._exports.fields_of(
            (name, field.format, str(column.type))
            for name, column, field in zip(self.names, columns, fields, strict=True)
        )

    def __arrow_c_schema__(self) -> object:
        return self._exports.export_schema(self._fields)

    def array(self, block: Block) -> tuple[object, object]:
        """Capsules of the schema, and of a block of these columns."""
        capsules: tuple[object, object] = self._exports.export_block(self._fields, block)
        return capsules

    def stream(self, next_block: NextBlock) -> object:
        """A capsule of a stream of blocks, whose consumer gets the text of an exception of *next_block*."""
        return self._exports.export_stream(self._fields, next_block)


class RecordBatch:
    """Some rows of a result, column by column.

    It has Arrow's PyCapsule interface: `polars.from_arrow`, `pyarrow.record_batch` and others take it without a copy.
    """

    def __init__(self, schema: Schema, block: Block) -> None:
        self.schema = schema
        self.block = block
        """The buffers of its columns."""

    def __len__(self) -> int:
        return self.block.rows

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Capsules of the schema and the columns. *requested_schema* has no effect."""
        return self.schema.array(self.block)


class ArrowResult:
    """All rows of a result, as `Connection.fetch_arrow` returns them.

    It has Arrow's PyCapsule interface: `polars.DataFrame`, `duckdb.from_arrow`, `pyarrow.table` and others take it, as
    often as needed, without a copy.
    """

    def __init__(self, schema: Schema, batches: Sequence[RecordBatch]) -> None:
        self.schema = schema
        self.batches = tuple(batches)

    def __len__(self) -> int:
        return sum(map(len, self.batches))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A capsule of a stream of the batches. *requested_schema* has no effect."""
        rest = iter(self.batches)

        def next_block() -> Block | None:
            batch = next(rest, None)
            return None if batch is None else batch.block

        return self.schema.stream(next_block)
