"""The C data interface: columns of batches, release callbacks, and objects that break the interface."""

from __future__ import annotations

import gc
from collections.abc import Callable
from ctypes import addressof, memmove, string_at
from typing import Any

import pyarrow as pa
import pytest

from aioifx.codecs.arrow_c_data import (  # pyright: ignore[reportPrivateUsage]
    ArrowBatch,
    ArrowSource,
    _address,
    validity,
)
from aioifx.codecs.arrow_rows import ArrowField
from aioifx.codecs.arrow_structs import ArrayStruct
from aioifx.errors import DataError, InterfaceError
from tests.codecs.exporter import Exporter


def integers(batch: ArrowBatch) -> list[int]:
    (column,) = batch.columns
    data = string_at(column.buffers[1] + column.offset * 4, column.length * 4)
    return memoryview(data).cast("i").tolist()


def test_a_stream_gives_its_batches_that_have_rows() -> None:
    data = Exporter([1, 2], [], [3])
    source = ArrowSource(data)
    assert source.fields == (ArrowField("number", "i"),)
    found = []
    while (batch := source.next()) is not None:
        found.append(integers(batch))
    assert found == [[1, 2], [3]]
    assert source.next() is None, "the end of a stream is read once"


def test_every_release_callback_is_called_once() -> None:
    data = Exporter([1], [2], [3])
    source = ArrowSource(data)
    first, second = source.next(), source.next()
    assert first is not None
    assert second is not None
    first.release()
    first.release()
    assert data.released == ["schema", "batch"]
    source.close()
    source.close()
    assert data.released == ["schema", "batch", "batch", "stream"]
    del first, second, source
    gc.collect()
    assert len(data.released) == 4
    assert source_is_closed(data)


def source_is_closed(data: Exporter) -> bool:
    return data.released.count("stream") == data.exported


def test_after_close_there_are_no_batches() -> None:
    source = ArrowSource(Exporter([1]))
    source.close()
    assert source.next() is None


def test_what_is_not_closed_is_released_with_its_objects() -> None:
    data = Exporter([1], [2])
    source = ArrowSource(data)
    batch = source.next()
    del batch
    assert data.released == ["schema", "batch"], "a batch lives as long as its rows"
    del source
    gc.collect()
    assert data.released == ["schema", "batch", "stream"], "by the destructor of the capsule"


def test_the_error_of_a_stream_has_the_text_of_the_stream_as_its_cause_only() -> None:
    data = Exporter([1], failure=5)
    source = ArrowSource(data)
    batch = source.next()
    with pytest.raises(InterfaceError, match=r"^Arrow data: the stream failed with error 5$") as caught:
        source.next()
    assert str(caught.value.__cause__) == "[Errno 5] disk 7 is gone"
    del batch
    source.close()
    assert data.released == ["schema", "batch", "stream"]


def test_a_batch_with_too_many_columns_is_refused_and_released() -> None:
    data = Exporter([1], children=2)
    source = ArrowSource(data)
    with pytest.raises(InterfaceError, match="expected 1 columns, got 2"):
        source.next()
    gc.collect()
    assert data.released == ["schema", "batch"]


def test_an_array_is_one_batch() -> None:
    gc.collect()  # what earlier tests have left is not counted
    before = pa.total_allocated_bytes()
    source = ArrowSource(pa.record_batch({"number": pa.array(range(5000), pa.int32())}))
    batch = source.next()
    assert batch is not None
    assert integers(batch) == [*range(5000)]
    assert source.next() is None
    assert pa.total_allocated_bytes() > before
    source.close()
    assert pa.total_allocated_bytes() == before


def test_the_offset_of_a_struct_holds_for_its_columns() -> None:
    struct = pa.array([{"number": number} for number in range(6)], pa.struct([("number", pa.int32())]))
    source = ArrowSource(struct.slice(2, 3))
    batch = source.next()
    assert batch is not None
    assert integers(batch) == [2, 3, 4]


def test_a_struct_that_is_null_is_not_a_row() -> None:
    kind = pa.struct([("number", pa.int32())])
    with pytest.raises(DataError, match="expected rows, got a struct that is null as a whole"):
        ArrowSource(pa.array([{"number": 1}, None], kind))
    assert ArrowSource(pa.array([{"number": 1}, None], kind).slice(0, 1)).next() is not None


@pytest.mark.parametrize(
    "data", [pa.array([1]), pa.chunked_array([[1]]), pa.array(["a"]).dictionary_encode()]
)
def test_only_tables_are_accepted(data: Any) -> None:
    with pytest.raises(InterfaceError, match=r"^Arrow data: expected a table or record batch, got the type"):
        ArrowSource(data)


def test_other_objects_in_place_of_capsules_are_refused() -> None:
    class Wrong:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return Exporter.__arrow_c_stream__

    class Swapped:
        def __arrow_c_array__(self, requested_schema: object = None) -> object:
            return pa.record_batch({"number": [1]}).__arrow_c_array__()[::-1]

    with pytest.raises(InterfaceError, match="expected a PyCapsule of arrow_array_stream, got function"):
        ArrowSource(Wrong())
    with pytest.raises(InterfaceError, match="expected a PyCapsule of arrow_schema, got PyCapsule"):
        ArrowSource(Swapped())


def test_a_released_schema_is_refused() -> None:
    schema, array = pa.record_batch({"number": [1]}).__arrow_c_array__()

    class Twice:
        def __arrow_c_array__(self, requested_schema: object = None) -> object:
            return schema, array

    pa.record_batch(Twice())  # pyarrow moves what is in the capsules
    with pytest.raises(InterfaceError, match="expected a schema, got one that was released"):
        ArrowSource(Twice())


def test_validity_reads_bits_from_any_position() -> None:
    valid = [number % 3 == 1 for number in range(40)]
    array = pa.array([number if one else None for number, one in enumerate(valid)], pa.int8())
    address = array.buffers()[0].address
    for first in range(20):
        for count in (0, 1, 7, 8, 9, 20):
            assert validity(address, first, count) == valid[first : first + count]


# --- structures that break the interface ----------------------------------------------------------------------------


class Pair:
    """The capsules of a record batch."""

    def __init__(self, data: Any) -> None:
        self.capsules = data.__arrow_c_array__()
        self.array = ArrayStruct.from_address(_address(self.capsules[1], b"arrow_array"))
        self.column = self.array.children[0].contents

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self.capsules

    def refusal(self, change: Callable[[Pair], object]) -> str:
        """The error after a change, which is undone for the exporter's release."""
        whole, column = bytes(self.array), bytes(self.column)
        change(self)
        try:
            ArrowSource(self)
        except InterfaceError as error:
            memmove(addressof(self.array), whole, len(whole))
            memmove(addressof(self.column), column, len(column))
            return str(error)
        return ""


class Stream:
    def __init__(self, capsule: object) -> None:
        self.capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.capsule


def test_what_was_released_is_not_used() -> None:
    stream = Stream(pa.table({"a": [1]}).__arrow_c_stream__())
    ArrowSource(stream).close()
    with pytest.raises(InterfaceError, match=r"^Arrow data: expected a stream, got one that was released$"):
        ArrowSource(stream)
    batch = Pair(pa.record_batch({"a": [1]}))
    ArrowSource(batch).close()
    with pytest.raises(InterfaceError, match=r"^Arrow data: expected a record batch, got one that was rel"):
        ArrowSource(batch)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("column.offset", -1, "expected a range of rows, got 2 from -1 on"),
        ("array.offset", -1, "expected a range of rows, got 2 from -1 on"),
        ("array.length", -3, "expected a range of rows, got -3 from 0 on"),
        ("column.length", 1, "expected a column of 2 rows, got 1"),
        ("column.buffers", None, "expected buffers, got a NULL pointer"),
        ("column.dictionary", None, "expected a dictionary in both the schema and the batch, or in neither"),
        ("array.children", None, "expected a child, got a NULL pointer"),
    ],
)
def test_structures_that_contradict_themselves_are_refused(name: str, value: Any, message: str) -> None:
    which, _, field = name.partition(".")
    data = Pair(pa.record_batch({"a": pa.array([1, 2]).dictionary_encode()}))
    assert data.refusal(lambda pair: setattr(getattr(pair, which), field, value)) == f"Arrow data: {message}"


@pytest.mark.parametrize("pair", [None, (), (1, 2, 3)])
def test_two_capsules_are_expected(pair: Any) -> None:
    data = Pair(pa.record_batch({"a": [1]}))
    data.capsules = pair
    with pytest.raises(InterfaceError, match=r"^Arrow data: expected two PyCapsules, got "):
        ArrowSource(data)
