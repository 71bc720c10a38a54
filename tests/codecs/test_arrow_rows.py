"""Rows of a batch: tuples of the chosen columns, made when they are needed."""

from __future__ import annotations

import pyarrow as pa

from aioifx.codecs.arrow_c_data import ArrowSource
from aioifx.codecs.arrow_rows import ArrowRows
from aioifx.codecs.arrow_values import row_column


def rows_of(data: pa.RecordBatch, chosen: list[int], first: int, last: int) -> ArrowRows:
    source = ArrowSource(data)
    batch = source.next()
    assert batch is not None
    row = tuple(row_column(index, source.fields[index]) for index in chosen)
    return ArrowRows(batch, row, first, last)


BATCH = pa.record_batch({"id": [1, 2, 3, 4], "name": ["a", None, "c", "d"]})


def test_rows_are_a_sequence_of_tuples() -> None:
    rows = rows_of(BATCH, [0, 1], 1, 4)
    assert len(rows) == 3
    assert [*rows] == [(2, None), (3, "c"), (4, "d")]
    assert rows[0] == (2, None)
    assert rows[1:] == [(3, "c"), (4, "d")]
    assert (3, "c") in rows


def test_columns_may_be_left_out_moved_and_repeated() -> None:
    assert [*rows_of(BATCH, [1, 0, 1], 0, 2)] == [("a", 1, "a"), (None, 2, None)]
    assert [*rows_of(BATCH, [], 0, 2)] == [(), ()]
