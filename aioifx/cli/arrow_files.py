"""Arrow streams and Parquet files, written from a query and read as rows. Never: SQL, text formats.

pyarrow is loaded on the first use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from importlib import import_module
from typing import Any, BinaryIO, Final, NamedTuple

from aioifx.client.api.prepared import PreparedStatement
from aioifx.errors import DataError, InterfaceError
from aioifx.sqltypes import Row, Value

_ROWS: Final = 10_000
"""Rows of a Parquet file that are decoded at a time."""
_FILE_MAGIC: Final = b"ARROW1"
"""The first bytes of an Arrow file with an index; a stream has none (documented: Arrow columnar format)."""


def arrow_modules(name: str = "pyarrow") -> Any:
    """A module that needs pyarrow.

    Raises:
        InterfaceError: pyarrow is not installed.
    """
    try:
        return import_module(name)
    except ImportError:
        raise InterfaceError("format: arrow and parquet need pyarrow: pip install 'aioifx[arrow]'") from None


async def write_batches(
    form: str,
    file: BinaryIO | Callable[[], BinaryIO],
    statement: PreparedStatement[Any],
    values: Sequence[Value],
    *,
    limit: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> int:
    """Write the rows of a query, batch by batch; returns their number.

    An output that fails is left without its end, so that no reader takes it for a whole one.

    Args:
        form: "arrow", a stream, or "parquet".
        file: open, or a function that opens it, called when there are rows.
        limit: rows at most.
        progress: called with the number of rows so far.
    """
    arrow = arrow_modules("aioifx.arrow")
    count, writer = 0, None
    schema = arrow.schema_of(statement)
    async with aclosing(arrow.fetch_batches(statement, *values)) as batches:
        async for batch in batches:
            if limit is not None:
                batch = batch.slice(0, limit - count)
            if writer is None:
                writer = _writer(form, file, schema)
            writer.write_batch(batch)
            count += batch.num_rows
            if progress is not None:
                progress(count)
            if count == limit:
                break
    if writer is None:
        writer = _writer(form, file, schema)
    writer.close()
    return count


def _writer(form: str, file: BinaryIO | Callable[[], BinaryIO], schema: Any) -> Any:
    opened = file() if callable(file) else file
    if form == "arrow":
        return arrow_modules("pyarrow.ipc").new_stream(opened, schema)
    return arrow_modules("pyarrow.parquet").ParquetWriter(opened, schema)


class RowFile(NamedTuple):
    """Rows of a file."""

    names: list[str]
    rows: Iterator[Row]
    total: int | None
    """Number of rows; None if it is unknown."""


def read_rows(form: str, file: BinaryIO) -> RowFile:
    """The rows of a Parquet file, or of an Arrow file or stream, in bounded memory.

    Raises:
        DataError: the file has another format.
    """
    ipc = arrow_modules("pyarrow.ipc")
    try:
        if form == "parquet":
            parquet = arrow_modules("pyarrow.parquet").ParquetFile(file)
            batches = parquet.iter_batches(batch_size=_ROWS)
            return RowFile(parquet.schema_arrow.names, _rows(batches, form), parquet.metadata.num_rows)
        if file.seekable():
            magic = file.read(len(_FILE_MAGIC))
            file.seek(0)
            if magic == _FILE_MAGIC:
                reader = ipc.open_file(file)
                batches = map(reader.get_batch, range(reader.num_record_batches))
                return RowFile(reader.schema.names, _rows(batches, form), None)
        stream = ipc.open_stream(file)
        return RowFile(stream.schema.names, _rows(stream, form), None)
    except (arrow_modules().ArrowInvalid, OSError) as error:
        raise _unreadable(form, error) from None


def _rows(batches: Any, form: str) -> Iterator[Row]:
    try:
        for batch in batches:
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
    except (ValueError, OSError) as error:  # ArrowInvalid is one of the former
        raise _unreadable(form, error) from None


def _unreadable(form: str, error: Exception) -> DataError:
    return DataError(f"the file is not in the format {form}, or is cut short: {str(error).splitlines()[0]}")
