"""Record batches and results, native and pure: what consumers read of them, and how long the buffers live."""

from __future__ import annotations

import gc
import sys
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.codecs.arrow_c_data import ArrowSource
from aioifx.codecs.arrow_layout import Field, Layout
from aioifx.codecs.arrow_values import reader_for
from aioifx.codecs.column_buffers import Block
from aioifx.codecs.record_batches import ArrowResult, RecordBatch, Schema
from aioifx.errors import DataError, InterfaceError
from aioifx.sqltypes import Row
from tests.codecs.arrow_batches import ROWS, batch_of, by
from tests.codecs.samples import UTF8, tables
from tests.codecs.test_columns import decoder_of, encoded, kernels


def rows_of(source: ArrowSource) -> list[Row]:
    """The rest of the rows, by the reader of `load`."""
    found: list[Row] = []
    while (batch := source.next()) is not None:
        pairs = zip(source.fields, batch.columns, strict=True)
        found += zip(*(reader_for(field)(column, 0, batch.rows) for field, column in pairs), strict=True)
        batch.release()
    return found


@kernels
def test_rows_and_no_rows_are_read_back(kernel: str) -> None:
    batch, empty = batch_of(kernel), batch_of(kernel, [])
    for data, rows in (
        (batch, ROWS),
        (empty, []),
        (ArrowResult(batch.schema, [empty, batch, batch]), ROWS * 2),
    ):
        assert len(data) == len(rows)
        source = ArrowSource(data)
        assert [field.name for field in source.fields] == ["c0", "c1", "c2"]
        assert rows_of(source) == rows
        source.close()
    assert pa.schema(batch.schema).names == ["c0", "c1", "c2"]


# --- the same as by pyarrow's own functions -------------------------------------------------------------------------

UNITS = {0: "s", 3: "ms", 6: "us"}
TYPES: dict[Layout, Any] = {
    Layout.INT16: lambda field: pa.int16(),
    Layout.INT32: lambda field: pa.int32(),
    Layout.INT64: lambda field: pa.int64(),
    Layout.FLOAT32: lambda field: pa.float32(),
    Layout.FLOAT64: lambda field: pa.float64(),
    Layout.DECIMAL: lambda field: pa.decimal128(field.precision, field.scale),
    Layout.DATE: lambda field: pa.date32(),
    Layout.TIMESTAMP: lambda field: pa.timestamp(UNITS[field.scale]),
    Layout.CLOCK: lambda field: pa.time64("us") if field.scale == 6 else pa.time32(UNITS[field.scale]),
    Layout.DURATION: lambda field: pa.duration(UNITS[field.scale]),
    Layout.BOOL: lambda field: pa.bool_(),
    Layout.UTF8: lambda field: pa.utf8(),
    Layout.BINARY: lambda field: pa.binary(),
}


def made_by_pyarrow(fields: tuple[Field, ...], names: list[str], block: Block) -> Any:
    """A batch of copies of the buffers."""
    arrays: list[Any] = []
    for field, chunk in zip(fields, block.chunks, strict=True):
        parts = chunk[1:3] if chunk.data is None else chunk[1:]
        buffers = [None if part is None else pa.py_buffer(bytes(part)) for part in parts]
        kind = TYPES[field.layout](field)
        arrays.append(pa.Array.from_buffers(kind, block.rows, buffers, null_count=chunk.nulls))
    return pa.RecordBatch.from_arrays(arrays, names=names)


def test_each_layout_has_a_type() -> None:
    assert {*TYPES} == {*Layout}


@kernels
@given(st.data())
def test_capsules_are_what_pyarrow_makes_of_the_buffers(kernel: str, data: st.DataObject) -> None:
    polars = pytest.importorskip("polars")
    columns, rows = data.draw(tables(UTF8))
    decoder = decoder_of(kernel, columns, UTF8, floating=data.draw(st.sampled_from(("float", "text"))))
    tuples = encoded(columns, rows, UTF8)
    try:
        decoder(tuples, 0, len(tuples), [])
    except DataError:
        return  # an interval that is too long
    (block,) = decoder.finish()
    with by(kernel):
        batch = RecordBatch(Schema(columns, decoder.fields), block)
    found = pa.record_batch(batch)
    found.validate(full=True)
    wanted = made_by_pyarrow(decoder.fields, [column.name for column in columns], block)
    assert found.schema == wanted.schema == pa.schema(batch.schema)
    assert [str(column) for column in found.columns] == [
        str(column) for column in wanted.columns
    ]  # NaN is NaN
    types = {field.name: field.metadata[b"sql_type"].decode() for field in found.schema}
    assert types == {column.name: str(column.type) for column in columns}
    frame = polars.DataFrame(ArrowResult(batch.schema, [batch, batch]))
    assert frame.equals(polars.DataFrame(pa.Table.from_batches([wanted, wanted])))


# --- how long the buffers live --------------------------------------------------------------------------------------


def users_of(batch: RecordBatch) -> int:
    """References to the batch's columns and their buffers."""
    gc.collect()
    return sum(
        sys.getrefcount(one) for chunk in batch.block.chunks for one in (chunk, *filter(None, chunk.buffers))
    )


@kernels
def test_the_buffers_live_as_long_as_the_table_that_has_them(kernel: str) -> None:
    batch = batch_of(kernel)
    unused = users_of(batch)
    table = pa.table(ArrowResult(batch.schema, [batch]))
    part = table.column(1).slice(2)
    del table
    assert users_of(batch) > unused
    assert part.to_pylist() == ["three"]
    del part
    assert users_of(batch) == unused


@kernels
def test_a_capsule_that_nobody_consumes_gives_its_buffers_up(kernel: str) -> None:
    batch = batch_of(kernel)
    unused = users_of(batch)
    array = batch.__arrow_c_array__()
    assert users_of(batch) > unused
    stream = ArrowResult(batch.schema, [batch]).__arrow_c_stream__()
    del array, stream
    assert users_of(batch) == unused


@kernels
def test_a_stream_is_released_in_the_middle(kernel: str) -> None:
    batch = batch_of(kernel)
    unused = users_of(batch)
    source = ArrowSource(ArrowResult(batch.schema, [batch, batch]))
    first = source.next()
    assert first is not None and users_of(batch) > unused
    source.close()
    assert first.columns == ()
    assert users_of(batch) == unused


@kernels
def test_a_release_while_an_exception_is_raised_keeps_it(kernel: str) -> None:
    polars = pytest.importorskip("polars")
    batch = batch_of(kernel)
    result, unused = ArrowResult(batch.schema, [batch]), users_of(batch)
    with pytest.raises(ValueError, match="invalid literal"):
        print(batch.__arrow_c_array__(), result.__arrow_c_stream__(), pa.record_batch(batch), int("x"))
    for read in (
        lambda: pa.record_batch(batch).column("gone"),
        lambda: pa.table(result).column("gone"),
        lambda: next(pa.RecordBatchReader.from_stream(result)).column("gone"),
    ):
        with pytest.raises(KeyError, match="gone"):
            read()
    with pytest.raises(polars.exceptions.ColumnNotFoundError, match="gone"):
        polars.DataFrame(result).get_column("gone")
    assert users_of(batch) == unused


# --- errors of a stream ---------------------------------------------------------------------------------------------


class Failing:
    """A stream that ends with an exception."""

    def __init__(self, kernel: str, error: Exception) -> None:
        batch = batch_of(kernel)
        self.schema = batch.schema
        self._upcoming: list[Block | Exception] = [error, batch.block]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.schema.stream(self._next)

    def _next(self) -> Block:
        found = self._upcoming.pop()
        if isinstance(found, Exception):
            raise found
        return found


@kernels
@pytest.mark.parametrize("error", [ValueError, MemoryError, DataError])
def test_an_exception_becomes_the_error_of_the_consumer(kernel: str, error: type[Exception]) -> None:
    source = ArrowSource(Failing(kernel, error("disk 7 is gönnë")))
    assert source.next() is not None
    with pytest.raises(InterfaceError, match=r"the stream failed with error \d+$") as caught:
        source.next()
    text = str(caught.value.__cause__)
    assert "disk 7 is gönnë" in text and error.__name__ in text
    source.close()
    with pytest.raises(Exception, match="disk 7 is gönnë"):
        pa.table(Failing(kernel, error("disk 7 is gönnë")))
