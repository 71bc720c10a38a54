"""Record batches and results: read back by the reader of `load`, as often as needed."""

from __future__ import annotations

import pyarrow as pa

from aioifx.codecs.arrow_c_data import ArrowSource
from aioifx.codecs.arrow_values import reader_for
from aioifx.codecs.record_batches import ArrowResult
from aioifx.sqltypes import Row
from tests.codecs.arrow_batches import ROWS, batch_of
from tests.codecs.test_columns import kernels


def rows_of(source: ArrowSource) -> list[Row]:
    """The rest of the rows, by the reader of `load`."""
    found: list[Row] = []
    while (batch := source.next()) is not None:
        pairs = zip(source.fields, batch.columns, strict=True)
        found += zip(*(reader_for(field)(column, 0, batch.rows) for field, column in pairs), strict=True)
        batch.release()
    return found


@kernels
def test_rows_and_no_rows_are_read_back(kernel: str, kept: dict[int, object]) -> None:
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
