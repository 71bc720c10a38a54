"""Rows of Arrow data, read in a thread: portions, release after errors and cancellations, selected columns."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from aioifx.client.execution.arrow_reader import ArrowData, ArrowReader, indices_of, is_arrow
from aioifx.client.session.threads import in_thread
from aioifx.errors import InterfaceError, NotSupportedError
from tests.codecs.exporter import Exporter


async def portions(reader: ArrowReader, count: int) -> list[list[Any]]:
    found: list[list[Any]] = []
    while (rows := await reader.read(count)) is not None:
        found.append([*rows])
    return found


def test_arrow_data_is_recognised_by_its_class() -> None:
    assert is_arrow(Exporter())
    assert is_arrow(pa.table({}))
    assert is_arrow(pa.record_batch({"a": [1]}))
    assert not is_arrow([(1,)])
    assert not is_arrow(iter(()))
    assert not is_arrow(Exporter)


async def test_rows_come_in_portions_that_end_with_a_batch() -> None:
    data = Exporter([1, 2, 3], [], [4])
    reader = ArrowReader(data)
    assert data.exported == 0
    assert await reader.open() == ("number",)
    assert reader.has_rows
    assert await portions(reader, 2) == [[(1,), (2,)], [(3,)], [(4,)]]
    assert await reader.read() is None
    reader.close()
    assert data.released == ["schema", "batch", "batch", "batch", "stream"]


async def test_a_batch_is_released_with_its_last_rows() -> None:
    data = Exporter([1], [2])
    reader = ArrowReader(data)
    await reader.open()
    first = await reader.read()
    second = await reader.read()
    assert second is not None
    assert data.released == ["schema"]
    del first
    await in_thread(bool)  # a free-threaded build releases it in the thread that has read it
    assert data.released == ["schema", "batch"]
    assert [*second] == [(2,)]
    reader.close()
    assert data.released == ["schema", "batch", "batch", "stream"]


@pytest.mark.parametrize("batches", [(), ([],)])
async def test_data_without_rows_has_columns(batches: tuple[list[int], ...]) -> None:
    reader = ArrowReader(Exporter(*batches))
    assert await reader.open() == ("number",)
    assert not reader.has_rows
    assert await reader.read() is None
    reader.close()


async def test_rows_one_by_one() -> None:
    reader = ArrowReader(Exporter([1, 2], [3]))
    await reader.open()
    assert [row async for row in reader.rows()] == [(1,), (2,), (3,)]
    reader.close()


class Slow(Exporter):
    """Blocks in the thread that exports it."""

    def __init__(self) -> None:
        super().__init__([1])
        self.thread: threading.Thread | None = None
        self.has_started = threading.Event()
        self.may_go_on = threading.Event()

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        self.thread = threading.current_thread()
        self.has_started.set()
        assert self.may_go_on.wait(30)
        return super().__arrow_c_stream__()


async def test_a_slow_export_does_not_block_the_event_loop_and_is_released_after_a_cancellation() -> None:
    data = Slow()
    reader = ArrowReader(data)
    opening = asyncio.create_task(reader.open())
    assert await asyncio.to_thread(data.has_started.wait, 30)
    assert data.thread is not threading.current_thread()
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    reader.close()
    assert data.released == []
    data.may_go_on.set()
    await asyncio.get_running_loop().shutdown_default_executor()
    assert data.released == ["schema", "batch", "stream"]


async def test_an_unsupported_column_is_refused_and_the_data_released() -> None:
    data = Exporter([1], formats=(b"+l",))
    with pytest.raises(NotSupportedError, match=r"^column 'number': Arrow's type list is not supported$"):
        async with ArrowData(data).opened():
            pytest.fail("the data is opened")
    assert data.released == ["schema", "stream"]


async def test_a_column_that_is_not_selected_may_have_any_type() -> None:
    data = Exporter(formats=(b"+l", b"i"), children=2)
    async with ArrowData(data, lambda names: [1]).opened():
        assert data.exported == 1


async def test_what_was_opened_is_read_first_and_then_exported_again() -> None:
    data = Exporter([1])
    rows = ArrowData(data)
    async with rows.opened():
        for exported in (1, 2):
            async with rows.reader() as reader:
                assert await portions(reader, 10) == [[(1,)]]
            assert data.exported == exported
    assert data.released.count("stream") == 2


def test_only_data_with_a_length_is_exported_again() -> None:
    table = pa.table({"a": [1]})
    assert ArrowData(table).is_repeatable
    assert not ArrowData(pa.RecordBatchReader.from_batches(table.schema, [])).is_repeatable


@pytest.mark.parametrize(
    ("wanted", "got"), [(["c"], "'c' in the Arrow data, got none"), (["a"], "'a' in the Arrow data, got 2")]
)
def test_a_column_is_selected_by_a_name_of_its_own(wanted: Sequence[str], got: str) -> None:
    assert indices_of(["b"], ("a", "b", "a"), "columns") == [1]
    with pytest.raises(InterfaceError, match=f"^columns: expected one column {got}"):
        indices_of(wanted, ("a", "b", "a"), "columns")


def test_import_aioifx_does_not_load_ctypes() -> None:
    code = "import sys, aioifx; sys.exit('aioifx.codecs.arrow_c_data' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
