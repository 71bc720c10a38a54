"""Columns as PyCapsules: what pyarrow and Polars read of them, and errors of a stream."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.codecs import arrow_export
from aioifx.codecs.arrow_c_data import ArrowSource
from aioifx.codecs.arrow_layout import Field, Layout
from aioifx.codecs.column_buffers import Block
from aioifx.codecs.record_batches import ArrowResult, RecordBatch, Schema
from aioifx.errors import DataError, InterfaceError
from tests.codecs.arrow_batches import batch_of
from tests.codecs.samples import UTF8, tables
from tests.codecs.test_columns import decoder_of, encoded, kernels

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
    batch = RecordBatch(Schema(columns, decoder.fields), block)
    found = pa.record_batch(batch)
    found.validate(full=True)
    wanted = made_by_pyarrow(decoder.fields, [column.name for column in columns], block)
    assert found.schema == wanted.schema
    assert [str(column) for column in found.columns] == [
        str(column) for column in wanted.columns
    ]  # NaN is NaN
    types = {field.name: field.metadata[b"sql_type"].decode() for field in found.schema}
    assert types == {column.name: str(column.type) for column in columns}
    frame = polars.DataFrame(ArrowResult(batch.schema, [batch, batch]))
    assert frame.equals(polars.DataFrame(pa.Table.from_batches([wanted, wanted])))


def test_no_buffer_is_copied() -> None:
    batch = batch_of("pure")
    values = batch.block.chunks[0].values
    assert pa.record_batch(batch).column(0).buffers()[1].address == arrow_export._address(values)  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize(("error", "code"), [(ValueError, 5), (MemoryError, 12)])
def test_an_exception_becomes_a_code_and_a_text(
    kept: dict[int, object], error: type[Exception], code: int
) -> None:
    batch = batch_of()
    upcoming = [batch.block]

    def next_block() -> Block:
        if not upcoming:
            raise error("disk 7 is gönnë")
        return upcoming.pop()

    class Failing:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return arrow_export.export_stream(batch.schema.fields, next_block)

    source = ArrowSource(Failing())
    assert source.next() is not None
    with pytest.raises(InterfaceError, match=f"the stream failed with error {code}$") as caught:
        source.next()
    assert str(caught.value.__cause__) == f"[Errno {code}] {error.__name__}: disk 7 is gönnë"
    source.close()
    del source, caught  # whose traceback has the capsule
