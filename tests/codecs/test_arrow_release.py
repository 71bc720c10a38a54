"""The life of what is exported, native and pure: each structure is released once, and its buffers with it."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import pyarrow as pa
import pytest

from aioifx.codecs import arrow_export
from aioifx.codecs.arrow_c_data import ArrowSource
from aioifx.codecs.arrow_structs import ArrayStruct
from aioifx.codecs.native import native_arrow_releases
from aioifx.codecs.record_batches import ArrowResult
from tests.codecs.arrow_batches import batch_of
from tests.codecs.test_columns import NATIVE


def test_a_capsule_that_nobody_consumes_releases_its_structure(kept: dict[int, object]) -> None:
    batch = batch_of()
    pair = batch.__arrow_c_array__()
    stream = ArrowResult(batch.schema, [batch]).__arrow_c_stream__()
    assert len(kept) == 3 + 4 + 4 + 1
    del pair, stream
    assert not kept


def test_each_column_lives_until_it_is_released(kept: dict[int, object]) -> None:
    batch = batch_of()
    capsules = batch.__arrow_c_array__()
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    array = ArrayStruct.from_address(get(capsules[1], b"arrow_array"))
    child = array.children[1].contents
    moved = ArrayStruct.from_buffer_copy(child)
    child.release = type(child.release)()
    release: Any = array.release
    release(ctypes.byref(array))
    assert not array.release
    del capsules
    (left,) = kept.values()
    assert batch.block.chunks[1] in left  # type: ignore[operator]
    text = ctypes.string_at(moved.buffers[2], 8)
    assert text == b"onethree"
    moved.release(ctypes.byref(moved))
    assert not moved.release
    assert not kept


def test_the_buffers_live_as_long_as_the_table_that_has_them(kept: dict[int, object]) -> None:
    batch = batch_of()
    table = pa.table(ArrowResult(batch.schema, [batch]))
    part = table.column(1).slice(2)
    del batch, table
    gc.collect()
    assert kept
    assert part.to_pylist() == ["three"]
    del part


def test_a_stream_is_released_in_the_middle(kept: dict[int, object]) -> None:
    batch = batch_of()
    source = ArrowSource(ArrowResult(batch.schema, [batch, batch]))
    first = source.next()
    assert first is not None
    source.close()
    assert first.columns == ()


@pytest.mark.skipif(not NATIVE, reason="not built")
def test_a_release_while_an_exception_is_raised_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_export, "releases", native_arrow_releases())
    batch = batch_of()
    with pytest.raises(ValueError, match="invalid literal"):
        print(batch.__arrow_c_array__(), pa.record_batch(batch), int("x"))
    gc.collect()
    assert not native_arrow_releases().LIVE
