"""Query results as Arrow tables and record batches, straight from the receive buffer. Never: bytes of a type, cursors.

``import aioifx`` loads neither this module nor pyarrow, which the extra ``aioifx[arrow]`` brings.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any, Final, overload

from aioifx.client.api.connection import Connection
from aioifx.client.api.prepared import PreparedStatement, conversions_of
from aioifx.client.config.checks import DEFAULT_LOCALE, check_whole
from aioifx.client.execution.block_reader import BlockReader
from aioifx.client.execution.large_values import LargeValues
from aioifx.client.execution.row_plan import RowPlan, RowPlans
from aioifx.client.pool.pool import Pool
from aioifx.client.sql.placeholders import NamedValues
from aioifx.codecs.arrow_layout import MAX_DIGITS, Field, Floating, Layout, fields_for
from aioifx.codecs.column_buffers import Block
from aioifx.codecs.columns import ColumnDecoder
from aioifx.codecs.text import code_set_of
from aioifx.codecs.time_zones import arrow_zone
from aioifx.errors import InterfaceError
from aioifx.rows import unique_names
from aioifx.sqltypes import Column, Row, Value
from aioifx.wire.tuples import read_in_runs

try:
    pa: Any = import_module("pyarrow")  # type checkers know nothing of it
except ImportError as error:
    raise ImportError("aioifx.arrow needs pyarrow: pip install 'aioifx[arrow]'", name="pyarrow") from error

BATCH_ROWS: Final = 65_536

_BATCH_BYTES: Final = 16 * 1024 * 1024
_TABLE_ROWS: Final = 1024 * 1024
_TABLE_BYTES: Final = 64 * 1024 * 1024


@overload
async def fetch_arrow(
    source: Connection[Any] | Pool[Any],
    sql: str,
    /,
    *args: Value,
    named: NamedValues | None = None,
    floating_decimal: Floating = "float",
) -> Any: ...
@overload
async def fetch_arrow(
    source: PreparedStatement[Any], /, *args: Value, floating_decimal: Floating = "float"
) -> Any: ...
async def fetch_arrow(
    source: Connection[Any] | Pool[Any] | PreparedStatement[Any],
    /,
    *args: Value,
    named: NamedValues | None = None,
    floating_decimal: Floating = "float",
) -> Any:
    """Run a query and return its rows as a `pyarrow.Table`. A table without rows has a schema, too.

    Libraries that support Arrow's PyCapsule interface, such as pandas, Polars and DuckDB, accept the table directly.
    Blocks are fetched as by `Connection.stream`: other statements of the connection may run between two of them.

    Args:
        source: a connection or a pool, followed by the query; or a prepared statement.
        args: values of the placeholders ``?``.
        named: values of ``:name`` instead.
        floating_decimal: DECIMAL(p), a floating-point number, as "float" (float64), as exact "text", or as a decimal128
            with that many decimal places, rounded half up.

    Raises:
        DataError: a value cannot be decoded, or Arrow's type cannot hold it; the message names the column.
        NotSupportedError: a column's type cannot be fetched.
        InterfaceError: the statement returns no rows.
    """
    builder = _BatchBuilder(_TABLE_ROWS, _TABLE_BYTES, floating_decimal)
    batches: list[Any] = []
    async with _reader_of(source, args, named, builder, prefetch=True) as reader:
        async for rows in reader:
            builder.add(rows)
            batches += builder.batches()
        batches += builder.batches(is_end=True)
    return pa.Table.from_batches(batches, schema=builder.schema)


@overload
def fetch_batches(
    source: Connection[Any] | Pool[Any],
    sql: str,
    /,
    *args: Value,
    named: NamedValues | None = None,
    batch_rows: int = BATCH_ROWS,
    prefetch: bool = True,
    floating_decimal: Floating = "float",
) -> AsyncGenerator[Any, None]: ...
@overload
def fetch_batches(
    source: PreparedStatement[Any],
    /,
    *args: Value,
    batch_rows: int = BATCH_ROWS,
    prefetch: bool = True,
    floating_decimal: Floating = "float",
) -> AsyncGenerator[Any, None]: ...
async def fetch_batches(
    source: Connection[Any] | Pool[Any] | PreparedStatement[Any],
    /,
    *args: Value,
    named: NamedValues | None = None,
    batch_rows: int = BATCH_ROWS,
    prefetch: bool = True,
    floating_decimal: Floating = "float",
) -> AsyncGenerator[Any, None]:
    """The rows of a query as a series of `pyarrow.RecordBatch`, in bounded memory.

    Nothing is sent until the first batch is requested. A result without rows has no batch. Close an iteration that is
    left early with `contextlib.aclosing`; otherwise garbage collection does. A pool's connection stays acquired until
    then.

    For the other arguments and for exceptions, see `fetch_arrow`.

    Args:
        batch_rows: a batch ends with the block of `fetch_size` bytes that brings it to this many rows, or to 16 MB.
            With 1, every block is a batch.
        prefetch: False requests a block only when it is needed, not while a batch is consumed.
    """
    check_whole("batch_rows", batch_rows, 1)
    builder = _BatchBuilder(batch_rows, _BATCH_BYTES, floating_decimal)
    async with _reader_of(source, args, named, builder, prefetch=prefetch) as reader:
        async for rows in reader:
            builder.add(rows)
            for batch in builder.batches(is_end=reader.is_closed):
                yield batch
        for batch in builder.batches(is_end=True):
            yield batch


def schema_of(statement: PreparedStatement[Any], /, *, floating_decimal: Floating = "float") -> Any:
    """The `pyarrow.Schema` of a prepared query's results. Nothing is sent.

    For the arguments, see `fetch_arrow`.

    Raises:
        InterfaceError: the statement returns no rows.
        NotSupportedError: a column's type cannot be fetched.
    """
    if not statement.columns:
        raise InterfaceError("statement: expected one that returns rows, got one that returns none")
    _check_floating(floating_decimal)
    code_set = code_set_of(DEFAULT_LOCALE)  # types do not depend on it
    conversions = conversions_of(statement).of_zone()
    fields = fields_for(statement.columns, code_set, floating=floating_decimal, conversions=conversions)
    return _schema_of(statement.columns, fields)


@asynccontextmanager
async def _reader_of(
    source: Connection[Any] | Pool[Any] | PreparedStatement[Any],
    args: tuple[Value, ...],
    named: NamedValues | None,
    builder: _BatchBuilder,
    *,
    prefetch: bool,
) -> AsyncGenerator[BlockReader, None]:
    """A reader whose blocks go to *builder*; a pool's connection is acquired for it."""
    if isinstance(source, Pool):
        async with (
            source.acquire() as conn,
            _reader_of(conn, args, named, builder, prefetch=prefetch) as reader,
        ):
            yield reader
        return
    if isinstance(source, PreparedStatement):
        if named is not None:
            raise InterfaceError(
                "named: expected values by position for a prepared statement, got values by name"
            )
        stream = source.stream(*args, prefetch=prefetch)
    else:
        sql, *values = args or (None,)
        if not isinstance(sql, str):
            raise InterfaceError(f"query: expected str, got {type(sql).__name__}")
        stream = source.stream(sql, *values, named=named, prefetch=prefetch)
    reader = stream.reader
    reader.plan = builder.plan
    async with reader:
        yield reader


class _BatchBuilder:
    """Decodes the tuples of one query into columns, and cuts record batches from them.

    Args:
        rows: rows and bytes at which a batch ends.
        size: rows and bytes at which a batch ends.
    """

    def __init__(self, rows: int, size: int, floating: Floating) -> None:
        _check_floating(floating)
        self._rows = rows
        self._size = size
        self._floating: Floating = floating
        self._decoder: ColumnDecoder | None = None
        self._large: LargeValues | None = None
        self.schema: Any = None

    def plan(self, plans: RowPlans) -> RowPlan:
        """New columns for this statement; those of an earlier attempt are dropped."""
        session = plans.fetching.session
        self._decoder = decoder = ColumnDecoder(
            plans.columns,
            session.code_set,
            strip_char=session.strip_char,
            floating=self._floating,
            conversions=session.conversions.of_zone(),
        )
        self.schema = _schema_of(plans.columns, decoder.fields)
        self._large = plans.large_values("inline", plain=True)
        if self._large is not None:
            return RowPlan(read_in_runs(decoder.reference), large=self._large)
        return RowPlan(read_in_runs(decoder))

    def add(self, rows: Sequence[Row]) -> None:
        """Add a block of rows, unless they were decoded into columns as they arrived."""
        if self._large is not None and self._decoder is not None:
            for row in rows:
                self._decoder.append(row)

    def batches(self, *, is_end: bool = False) -> list[Any]:
        """The batches that are full, and at the end also the rest."""
        decoder = self._decoder
        if decoder is None or not (is_end or decoder.rows >= self._rows or decoder.nbytes >= self._size):
            return []
        return [_batch(block, self.schema) for block in decoder.finish()]


def _check_floating(floating: object) -> None:
    if floating not in ("float", "text", *range(MAX_DIGITS + 1)) or isinstance(floating, bool):
        raise InterfaceError(
            f'floating_decimal: expected "float", "text" or 0 to {MAX_DIGITS}, got {floating!r:.40}'
        )


# --- what pyarrow makes of it ---------------------------------------------------------------------------------------

_TYPES: Final[dict[Layout, Any]] = {
    Layout.INT16: pa.int16(),
    Layout.INT32: pa.int32(),
    Layout.INT64: pa.int64(),
    Layout.FLOAT32: pa.float32(),
    Layout.FLOAT64: pa.float64(),
    Layout.DATE: pa.date32(),
    Layout.BOOL: pa.bool_(),
    Layout.UTF8: pa.utf8(),
    Layout.BINARY: pa.binary(),
}


def _type_of(field: Field) -> Any:
    unit = {0: "s", 3: "ms", 6: "us"}
    match field.layout:
        case Layout.DECIMAL:
            return pa.decimal128(field.precision, field.scale)
        case Layout.TIMESTAMP:
            return pa.timestamp(unit[field.scale], None if field.zone is None else arrow_zone(field.zone))
        case Layout.DURATION:
            return pa.duration(unit[field.scale])
        case Layout.CLOCK:
            return pa.time64("us") if field.scale == 6 else pa.time32(unit[field.scale])
        case layout:
            return _TYPES[layout]


def _schema_of(columns: Sequence[Column], fields: Sequence[Field]) -> Any:
    """The schema; each field's metadata names its SQL type.

    Every field is nullable: it is not known whether servers describe columns of an outer join as nullable.
    """
    names = unique_names(columns)
    return pa.schema(
        [
            pa.field(name, _type_of(field), metadata={"sql_type": str(column.type)})
            for name, column, field in zip(names, columns, fields, strict=True)
        ]
    )


def _batch(block: Block, schema: Any) -> Any:
    arrays: list[Any] = []
    for chunk, field in zip(block.chunks, schema, strict=True):
        buffers = [
            None if chunk.validity is None else pa.py_buffer(chunk.validity),
            pa.py_buffer(chunk.values),
        ]
        if chunk.data is not None:
            buffers.append(pa.py_buffer(chunk.data))
        arrays.append(pa.Array.from_buffers(field.type, block.rows, buffers, null_count=chunk.nulls))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
