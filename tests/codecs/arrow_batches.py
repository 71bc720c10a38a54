"""A record batch of a few rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from aioifx.codecs import columns, record_batches
from aioifx.codecs.record_batches import RecordBatch, Schema, native_exports, pure_exports
from aioifx.sqltypes import Row
from tests.codecs.samples import BOOLEAN, INTEGER, VARCHAR, columns_of
from tests.codecs.test_columns import MAKERS, decoder_of

ROWS: list[Row] = [(1, "one", True), (None, None, None), (3, "three", False)]
COLUMNS = columns_of(INTEGER, VARCHAR, BOOLEAN)
EXPORTS = {"native": native_exports, "pure": pure_exports}


@contextmanager
def by(kernel: str) -> Iterator[None]:
    """Meanwhile columns are made and exported by this kernel."""
    with (
        patch.object(columns, "make_columns", MAKERS[kernel]),
        patch.object(record_batches, "arrow_exports", EXPORTS[kernel]),
    ):
        yield


def batch_of(kernel: str, rows: list[Row] = ROWS) -> RecordBatch:
    decoder = decoder_of(kernel, COLUMNS)
    for row in rows:
        decoder.append(row)
    with by(kernel):
        block = decoder.finish()[0] if rows else decoder.empty()
        return RecordBatch(Schema(COLUMNS, decoder.fields), block)
