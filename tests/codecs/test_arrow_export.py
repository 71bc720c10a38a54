"""Columns as PyCapsules by the kernel: each structure is released once, and its buffers with it; codes of errors."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from aioifx.codecs.arrow_c_data import ArrowSource
from aioifx.codecs.arrow_structs import ArrayStruct
from aioifx.codecs.native import arrow_releases
from aioifx.codecs.record_batches import ArrowResult
from aioifx.errors import InterfaceError
from tests.codecs.arrow_batches import batch_of
from tests.codecs.test_columns import NATIVE
from tests.codecs.test_record_batches import Failing

pytestmark = pytest.mark.skipif(not NATIVE, reason="not built")


@pytest.fixture
def kept() -> Iterator[dict[int, object]]:
    """What is kept for consumers; nothing at the end of a test."""
    live = arrow_releases().LIVE
    gc.collect()  # of earlier tests
    assert not live
    yield live
    gc.collect()
    assert not live


def test_a_capsule_that_nobody_consumes_releases_its_structure(kept: dict[int, object]) -> None:
    batch = batch_of("native")
    pair = batch.__arrow_c_array__()
    stream = ArrowResult(batch.schema, [batch]).__arrow_c_stream__()
    assert len(kept) == 3 + 4 + 4 + 1
    del pair, stream
    assert not kept


def test_each_column_lives_until_it_is_released(kept: dict[int, object]) -> None:
    batch = batch_of("native")
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


def test_no_buffer_is_copied(kept: dict[int, object]) -> None:
    batch = batch_of("native")
    values = batch.block.chunks[0].values
    assert pa.record_batch(batch).column(0).buffers()[1].address == values.address


@pytest.mark.parametrize(("error", "code"), [(ValueError, 5), (MemoryError, 12)])
def test_an_exception_becomes_a_code_and_a_text(
    kept: dict[int, object], error: type[Exception], code: int
) -> None:
    source = ArrowSource(Failing("native", error("disk 7 is gönnë")))
    assert source.next() is not None
    with pytest.raises(InterfaceError, match=f"the stream failed with error {code}$") as caught:
        source.next()
    assert str(caught.value.__cause__) == f"[Errno {code}] {error.__name__}: disk 7 is gönnë"
    source.close()
    del source, caught  # whose traceback has the capsule
