"""Sources: rows and records, a few at a time, with the index of an invalid one."""

from __future__ import annotations

import asyncio
import gc
import io
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from aioifx.client.bulk.sources import SourceReader, open_source
from aioifx.client.bulk.text_formats import CsvFormat, UnloadFormat
from aioifx.errors import DataError, InterfaceError
from aioifx.sqltypes import Column, Row, SqlType, TypeCode

COLUMNS = (Column("id", SqlType(TypeCode.INTEGER, 4)), Column("name", SqlType(TypeCode.VARCHAR, 20)))
TEXT = "1|one|\n2||\n3|\\ |\n"
VALUES: list[Row] = [(1, "one"), (2, None), (3, "")]
UNLOAD = UnloadFormat()


async def arriving(*items: Any) -> AsyncIterator[Any]:
    for item in items:
        await asyncio.sleep(0)
        yield item


async def all_of(reader: SourceReader, at_a_time: int = 2) -> list[Row]:
    """All rows; each read but the last returns as many as requested."""
    rows: list[Row] = []
    while taken := await reader.read(at_a_time):
        rows += taken
        if len(taken) < at_a_time:
            break
    return rows


def sources(directory: Path) -> dict[str, Any]:
    path = directory / "rows.unl"
    path.write_text(TEXT, "utf-8", newline="")
    return {
        "rows": (VALUES, None),
        "generator": ((row for row in VALUES), None),
        "async rows": (arriving(*VALUES), None),
        "path": (path, UNLOAD),
        "binary file": (io.BytesIO(TEXT.encode()), UNLOAD),
        "text file": (io.StringIO(TEXT, newline=""), UNLOAD),
        "chunks": ([TEXT[:4], TEXT[4:]], UNLOAD),
        "bytes": ([TEXT.encode()], UNLOAD),
        "async chunks": (arriving(TEXT[:4], TEXT[4:]), UNLOAD),
        "async bytes": (arriving(TEXT.encode()), UNLOAD),
    }


KINDS = (
    "rows", "generator", "async rows", "path", "binary file", "text file", "chunks", "bytes", "async chunks",
    "async bytes",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("at_a_time", [1, 2, 3, 5])
async def test_every_source_gives_its_rows_as_many_at_a_time_as_asked(
    kind: str, at_a_time: int, tmp_path: Path
) -> None:
    source, form = sources(tmp_path)[kind]
    reader = open_source(source, form)
    assert await reader.peek_width() == 2
    reader.set_columns(COLUMNS)
    assert await all_of(reader, at_a_time) == VALUES
    assert reader.count == 3
    reader.close()


@pytest.mark.parametrize("source", [[], arriving(), b"", "async"])
async def test_without_rows_there_is_no_first_one(source: Any) -> None:
    text = isinstance(source, (bytes, str))
    reader = open_source(
        ([source] if source == b"" else arriving()) if text else source, UNLOAD if text else None
    )
    assert await reader.peek_width() is None
    reader.set_columns(COLUMNS)
    assert await reader.read(5) == []


@pytest.mark.parametrize("kind", [list, arriving])
async def test_a_header_names_the_columns(kind: Any) -> None:
    text = "id, name\n1,one\n2,\n"
    reader = open_source([text] if kind is list else arriving(text), CsvFormat(header=True))
    assert await reader.peek_width() == 2
    assert reader.names == ("id", "name")
    reader.set_columns(COLUMNS)
    assert await all_of(reader) == VALUES[:2]


@pytest.mark.parametrize("kind", [list, arriving])
@pytest.mark.parametrize("header", [False, True])
async def test_text_that_is_not_a_value_is_named_by_record_and_row(kind: Any, header: bool) -> None:
    text = ("id,name\n" if header else "") + "1,one\n2,two\nx,three\n"
    reader = open_source([text] if kind is list else arriving(text), CsvFormat(header=header))
    await reader.peek_width()
    reader.set_columns(COLUMNS)
    with pytest.raises(DataError, match=rf"^record {3 + header}, line {3 + header}: column 'id'") as caught:
        await reader.read(10)
    assert caught.value.row_index == 2


@pytest.mark.parametrize("kind", [list, arriving])
@pytest.mark.parametrize("good", [0, 1, 4])
async def test_text_in_no_format_is_named_by_record_and_row(kind: Any, good: int) -> None:
    text = "1,one\n" * good + '1,"open'
    reader = open_source([text] if kind is list else arriving(text), CsvFormat())
    with pytest.raises(DataError, match=f"^record {good + 1}, line {good + 1} is cut short") as caught:
        await reader.peek_width()
        reader.set_columns(COLUMNS)
        assert await reader.read(good) == [(1, "one")] * good
        await reader.read(1)
    assert caught.value.row_index == good


async def test_dates_are_written_as_dbdate_says() -> None:
    reader = open_source(["31.01.2026|\n"], UNLOAD, "DMY4.")
    await reader.peek_width()
    reader.set_columns([Column("day", SqlType(TypeCode.DATE, 4))])
    ((day,),) = await reader.read(1)
    assert day.isoformat() == "2026-01-31"


async def test_a_row_is_copied_when_it_is_read() -> None:
    def reused() -> Iterator[list[int]]:
        row = [0]
        for row[0] in range(3):
            yield row

    reader = open_source(reused(), None)
    await reader.peek_width()
    assert await reader.read(5) == [(0,), (1,), (2,)]


@pytest.mark.parametrize("bad", ["ab", b"ab", {"a": 1}, {1, 2}, 5, None])
@pytest.mark.parametrize("kind", [list, arriving])
async def test_anything_but_a_row_is_named(bad: Any, kind: Any) -> None:
    reader = open_source([(1,), bad] if kind is list else arriving((1,), bad), None)
    await reader.peek_width()
    with pytest.raises(InterfaceError, match=r"^row 1: expected a sequence"):
        await reader.read(5)


@pytest.mark.parametrize("source", [Path("rows.unl"), "rows.unl", io.StringIO("1|\n")])
def test_a_file_needs_a_format(source: Any) -> None:
    with pytest.raises(InterfaceError, match="format: expected"):
        open_source(source, None)


@pytest.mark.parametrize("source", [b"text", {"a": 1}, 5])
def test_a_source_without_rows_is_rejected(source: Any) -> None:
    with pytest.raises(InterfaceError, match="rows: expected an iterable"):
        open_source(source, None)


@pytest.mark.parametrize("source", ["1|\n", 5])
async def test_a_source_without_text_is_rejected(source: Any) -> None:
    with pytest.raises(InterfaceError):
        await open_source(source, UNLOAD).peek_width()


async def test_a_file_is_read_in_another_thread() -> None:
    class File(io.StringIO):
        def read(self, size: int | None = -1) -> str:
            threads.add(threading.current_thread())
            return super().read(size)

    threads: set[threading.Thread] = set()
    reader = open_source(File(TEXT), UNLOAD)
    await reader.peek_width()
    reader.set_columns(COLUMNS)
    assert await all_of(reader) == VALUES
    assert threading.main_thread() not in threads


async def test_a_file_that_we_opened_is_closed_when_reading_stops_early(tmp_path: Path) -> None:
    path = tmp_path / "rows.unl"
    path.write_text(TEXT * 10_000, "utf-8")
    reader = open_source(path, UNLOAD)
    await reader.peek_width()
    reader.close()
    reader.set_columns(COLUMNS)
    assert await reader.read(2) == VALUES[:1]  # what was read ahead
    del reader
    gc.collect()  # a file left open would warn, and warnings are errors


async def test_closing_while_a_thread_reads_raises_nothing() -> None:
    reading, go_on = threading.Event(), threading.Event()

    def chunks() -> Iterator[str]:
        yield "1|one|\n"
        reading.set()
        go_on.wait(10)
        yield "2|two|\n"

    reader = open_source(chunks(), UNLOAD)
    await reader.peek_width()
    reader.set_columns(COLUMNS)
    take = asyncio.ensure_future(reader.read(2))
    await asyncio.to_thread(reading.wait, 10)
    take.cancel()
    with pytest.raises(asyncio.CancelledError):
        await take
    reader.close()
    go_on.set()
