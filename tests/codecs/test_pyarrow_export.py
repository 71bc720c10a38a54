"""Columns as PyCapsules that pyarrow makes: without a copy, with zones; without pyarrow there are none."""

from __future__ import annotations

import sys

import pyarrow as pa
import pytest

import aioifx.codecs
from aioifx.codecs import pyarrow_export
from aioifx.codecs.record_batches import pure_exports
from aioifx.errors import NotSupportedError
from tests.codecs.arrow_batches import batch_of


def test_no_buffer_is_copied() -> None:
    batch = batch_of("pure")
    found = pa.record_batch(batch)
    for column, chunk in zip(found.columns, batch.block.chunks, strict=True):
        wanted = [None if buffer is None else pa.py_buffer(buffer).address for buffer in chunk.buffers]
        assert [buffer and buffer.address for buffer in column.buffers()] == wanted


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "+01:30"])
def test_a_timestamp_has_its_zone(zone: str) -> None:
    assert pyarrow_export.fields_of([("at", f"tsm:{zone}", "DATETIME")]).types == [pa.timestamp("ms", zone)]


def test_without_pyarrow_the_error_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, pyarrow_export.__name__)
    monkeypatch.delattr(aioifx.codecs, "pyarrow_export")
    with pytest.raises(
        NotSupportedError, match=r"^Arrow data: expected the compiled kernel or pyarrow, got neither$"
    ):
        pure_exports()
