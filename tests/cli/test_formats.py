"""Formats of files, by option or by the file's name."""

from __future__ import annotations

import io
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

import aioifx
from aioifx import CsvFormat, UnloadFormat
from aioifx.cli import formats
from aioifx.cli.formats import add_format, format_name, read_rows, text_format, write_batches
from aioifx.cli.parsing import Parser
from aioifx.codecs.text import code_set_of
from aioifx.errors import DataError, InterfaceError

LATIN = code_set_of("de_DE.8859-1")


def parse(*line: str) -> Namespace:
    parser = Parser()
    parser.add_argument("file")
    add_format(parser)
    return parser.parse_args(line)


@pytest.mark.parametrize(
    ("file", "name"),
    [("a.csv", "csv"), ("a.UNL", "unload"), ("a.b.parquet", "parquet"), ("d.csv/a", "unload"), ("-", "unload"),
     ("a.arrow", "arrow"), ("a.feather", "arrow"), ("a", "unload"), ("a.csv.gz", "csv"),
     ("a.unl.zst", "unload"), ("a.gz", "unload")],
)  # fmt: skip
def test_the_name_decides_unless_an_option_does(file: str, name: str) -> None:
    assert format_name(parse(file)) == name
    assert format_name(parse(file, "--format", "csv")) == "csv"


@pytest.mark.parametrize("file", ["a.txt", "a.json", "a.xlsx", "a.json.gz"])
def test_an_unknown_suffix_needs_the_option(file: str) -> None:
    with pytest.raises(
        InterfaceError, match=r"^--format: expected one of arrow, csv, parquet, unload, because "
    ):
        format_name(parse(file))
    assert format_name(parse(file, "--format", "unload")) == "unload"


@pytest.mark.parametrize(
    "line",
    [
        "a.unl --no-header",
        "a.unl --null x",
        "a.arrow --null x",
        "a.arrow --encoding ascii",
        "a.parquet --dbdate MDY4/",
    ],
)
def test_options_of_another_format_are_refused(line: str) -> None:
    with pytest.raises(InterfaceError, match=r"^--[\w-]+: not for the format \w+$"):
        format_name(parse(*line.split()))


def test_text_formats() -> None:
    assert text_format(parse("a.csv"), LATIN) == CsvFormat(header=True)
    given = parse("a.csv", "--delimiter", ";", "--null", "NULL", "--no-header", "--encoding", "ascii")
    assert text_format(given, LATIN) == CsvFormat(";", False, "NULL", encoding="ascii")
    assert text_format(parse("a.unl"), LATIN) == UnloadFormat(encoding=LATIN.codec)
    assert text_format(parse("a.unl", "--delimiter", ";"), LATIN).join(["a"]) == "a;\n"


pa: Any = pytest.importorskip("pyarrow")
pq: Any = pytest.importorskip("pyarrow.parquet")

SQL = "SELECT tabid, tabname FROM systables WHERE tabid < ? ORDER BY tabid"


@pytest.mark.parametrize("form", ["arrow", "parquet"])
async def test_what_is_written_is_read(form: str, dsn: str, tmp_path: Path) -> None:
    progress: list[int] = []
    async with aioifx.connect(dsn) as conn, await conn.prepare(SQL) as statement:
        expected = [tuple(row) for row in await statement.fetch(4)]
        with (tmp_path / "a").open("wb") as file:
            assert await write_batches(form, file, statement, (4,), progress=progress.append) == 3
    with (tmp_path / "a").open("rb") as file:
        names, rows, total = read_rows(form, file)
        assert (names, list(rows)) == (["tabid", "tabname"], expected)
        assert total == (3 if form == "parquet" else None)
    assert progress == [3]


async def test_a_file_is_opened_when_there_are_rows_and_has_no_end_after_a_failure(dsn: str) -> None:
    opened: list[io.BytesIO] = []

    def open_file() -> io.BytesIO:
        opened.append(io.BytesIO())
        return opened[-1]

    async with aioifx.connect(dsn) as conn:
        async with await conn.prepare("SELECT 1 / (tabid - ?) FROM systables") as statement:
            with pytest.raises(aioifx.DatabaseError):
                await write_batches("arrow", open_file, statement, (1,))
        assert opened == []
        async with await conn.prepare(SQL) as statement:

            def fail(rows: int) -> None:
                raise ZeroDivisionError

            with pytest.raises(ZeroDivisionError):
                await write_batches("arrow", open_file, statement, (4,), progress=fail)
            end = bytes.fromhex("ffffffff00000000")
            assert opened[0].getvalue() and not opened[0].getvalue().endswith(end)
            await write_batches("arrow", open_file, statement, (4,))
            assert opened[1].getvalue().endswith(end)


@pytest.mark.parametrize("form", ["arrow", "parquet"])
@pytest.mark.parametrize("data", [b"", b"text", b"ARROW1\0\0", b"PAR1" * 3])
def test_files_of_another_format(form: str, data: bytes) -> None:
    with pytest.raises(DataError, match=f"^the file is not in the format {form}, or is cut short: "):
        list(read_rows(form, io.BytesIO(data)).rows)


def test_a_stream_that_is_cut_short() -> None:
    sink = io.BytesIO()
    table = pa.table({"a": list(range(1000))})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(DataError, match="cut short"):
        list(read_rows("arrow", io.BytesIO(sink.getvalue()[:-2000])).rows)


def test_a_parquet_file_is_closed_only_at_its_end() -> None:
    with pytest.raises(DataError):
        read_rows("parquet", io.BytesIO(b"PAR1"))


def test_pyarrow_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(formats, "import_module", missing)
    with pytest.raises(InterfaceError, match=r"need pyarrow: pip install 'aioifx\[arrow\]'"):
        read_rows("arrow", io.BytesIO())
