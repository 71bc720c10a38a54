"""A record batch of a few rows."""

from __future__ import annotations

from aioifx.codecs.record_batches import RecordBatch, Schema
from aioifx.sqltypes import Row
from tests.codecs.samples import BOOLEAN, INTEGER, VARCHAR, columns_of
from tests.codecs.test_columns import decoder_of

ROWS: list[Row] = [(1, "one", True), (None, None, None), (3, "three", False)]
COLUMNS = columns_of(INTEGER, VARCHAR, BOOLEAN)


def batch_of(kernel: str = "pure", rows: list[Row] = ROWS) -> RecordBatch:
    decoder = decoder_of(kernel, COLUMNS)
    for row in rows:
        decoder.append(row)
    return RecordBatch(Schema(COLUMNS, decoder.fields), decoder.finish()[0] if rows else decoder.empty())
