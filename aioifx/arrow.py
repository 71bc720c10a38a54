"""Query results as Arrow tables and record batches, straight from the receive buffer. Never: bytes of a type, cursors.

``import aioifx`` loads neither this module nor pyarrow, which the extra ``aioifx[arrow]`` brings.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from importlib import import_module
from typing import Any, overload

from aioifx.client.api.connection import Connection
from aioifx.client.api.prepared import PreparedStatement, conversions_of
from aioifx.client.config.checks import DEFAULT_LOCALE
from aioifx.client.execution.arrow_stream import BATCH_ROWS, RecordBatches, check_floating
from aioifx.client.pool.pool import Pool
from aioifx.client.sql.placeholders import NamedValues
from aioifx.client.sql.templates import Sql
from aioifx.codecs.arrow_layout import fields_for
from aioifx.codecs.base import Floating
from aioifx.codecs.column_buffers import Block
from aioifx.codecs.record_batches import RecordBatch, Schema
from aioifx.codecs.text import code_set_of
from aioifx.errors import InterfaceError
from aioifx.sqltypes import Value

try:
    pa: Any = import_module("pyarrow")  # type checkers know nothing of it
except ImportError as error:
    raise ImportError("aioifx.arrow needs pyarrow: pip install 'aioifx[arrow]'", name="pyarrow") from error


@overload
async def fetch_arrow(
    source: Connection[Any] | Pool[Any],
    sql: Sql,
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
    async with _batches_of(source, args, named, floating_decimal=floating_decimal) as batches:
        return pa.table(await batches.read_all())


@overload
def fetch_batches(
    source: Connection[Any] | Pool[Any],
    sql: Sql,
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
    then, or until its last block has come.

    For the other arguments and for exceptions, see `fetch_arrow`.

    Args:
        batch_rows: a batch ends with the block of `fetch_size` bytes that brings it to this many rows, or to 16 MB.
            With 1, every block is a batch.
        prefetch: False requests a block only when it is needed, not while a batch is consumed.
    """
    options: dict[str, Any] = {"batch_rows": batch_rows, "floating_decimal": floating_decimal}
    async with _batches_of(source, args, named, prefetch=prefetch, **options) as batches:
        feed: _Feed | None = None
        async for batch in batches:
            if feed is None:
                feed = _Feed(batch.schema)
            yield feed.imported(batch)


class _Feed:
    """Imports batches of one schema through one stream, so that pyarrow makes its schema once."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._upcoming: list[Block] = []
        self._reader: Any = pa.RecordBatchReader.from_stream(self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._schema.stream(self._upcoming.pop)

    def imported(self, batch: RecordBatch) -> Any:
        """The `pyarrow.RecordBatch`."""
        self._upcoming.append(batch.block)
        return self._reader.read_next_batch()


def schema_of(statement: PreparedStatement[Any], /, *, floating_decimal: Floating = "float") -> Any:
    """The `pyarrow.Schema` of a prepared query's results. Nothing is sent.

    For the arguments, see `fetch_arrow`.

    Raises:
        InterfaceError: the statement returns no rows.
        NotSupportedError: a column's type cannot be fetched.
    """
    if not statement.columns:
        raise InterfaceError("statement: expected one that returns rows, got one that returns none")
    check_floating(floating_decimal)
    code_set = code_set_of(DEFAULT_LOCALE)  # types do not depend on it
    conversions = conversions_of(statement).of_zone
    fields = fields_for(statement.columns, code_set, floating=floating_decimal, conversions=conversions)
    return pa.schema(Schema(statement.columns, fields))


def _batches_of(
    source: Connection[Any] | Pool[Any] | PreparedStatement[Any],
    args: tuple[Value, ...],
    named: NamedValues | None,
    *,
    prefetch: bool = True,
    **options: Any,
) -> RecordBatches:
    if isinstance(source, PreparedStatement):
        if named is not None:
            raise InterfaceError(
                "named: expected values by position for a prepared statement, got values by name"
            )
        return source.stream(*args, prefetch=prefetch).arrow(**options)
    sql: Any = args[0] if args else None  # `stream` rejects anything but a statement
    return source.stream(sql, *args[1:], named=named, prefetch=prefetch).arrow(**options)
