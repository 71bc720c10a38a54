"""unload: text for files and functions, block by block; load reads the same rows from it."""

from __future__ import annotations

import asyncio
import datetime as dt
import gc
import io
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aioifx
import aioifx.server
from aioifx.client.bulk.text_formats import CsvFormat, UnloadFormat
from aioifx.errors import DataError, InterfaceError, NotSupportedError, UndefinedTable
from aioifx.testing.messages import EOT, column, described, done, ints
from aioifx.testing.script import PREPARE, opening, release
from tests.injection import Manner, is_cancelled
from tests.sampling import examples
from tests.scripted import C1, talking

QUERY = "select id, name, day from t order by id"


@asynccontextmanager
async def table(count: int = 3, **options: Any) -> AsyncIterator[aioifx.Connection]:
    """A connection to a server with a table t of so many rows, fetched in many blocks."""
    async with aioifx.server.running() as dsn, aioifx.connect(dsn, fetch_size=4096, **options) as conn:
        await conn.execute("create table t (id integer, name varchar(40), day date)")
        await conn.load("t", ((n, f"name {n}", dt.date(2026, 1, 31)) for n in range(count)))
        yield conn


def expected(count: int, delimiter: str = "|", end: str = "|\n") -> str:
    return "".join(delimiter.join((str(n), f"name {n}", "2026-01-31")) + end for n in range(count))


# -- where it goes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 3, 3000])
async def test_a_path_gets_every_row(count: int, tmp_path: Path) -> None:
    path = tmp_path / "t.unl"
    async with table(count) as conn:
        assert await conn.unload(QUERY, path) == count
    assert path.read_bytes() == expected(count).encode()


def read(path: str | Path) -> str:
    return Path(path).read_text()


@pytest.mark.parametrize("kind", [str, Path])
async def test_the_name_of_a_file_tells_its_format_to_unload_and_load(kind: Any, tmp_path: Path) -> None:
    for name, text in (("t.csv", "0,row 0\n"), ("t.unl", "0|row 0|\n"), ("t.txt", "0|row 0|\n")):
        path = kind(tmp_path / name)
        async with aioifx.server.running() as dsn, aioifx.connect(dsn) as conn:
            await conn.execute("create table t (a int, b varchar(20))")
            await conn.execute("insert into t values (0, 'row 0')")
            assert await conn.unload("select * from t", path) == 1
            assert read(path) == text
            if name == "t.txt":
                with pytest.raises(InterfaceError, match=r'^format: expected "unload" or "csv" for a path'):
                    await conn.load("t", path)
            else:
                assert (await conn.load("t", path)).rowcount == 1
                assert await conn.fetch("select * from t") == [(0, "row 0")] * 2
            assert (await conn.load("t", path, format="unload" if name != "t.csv" else "csv")).rowcount == 1


async def test_open_files_of_both_kinds_get_it_and_stay_open() -> None:
    async with table(500) as conn:
        binary, text = io.BytesIO(), io.StringIO()
        await conn.unload(QUERY, binary)
        await conn.unload(QUERY, text)
        wrapped = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="")
        await conn.unload(QUERY, wrapped)
    wrapped.seek(0)
    assert binary.getvalue().decode() == text.getvalue() == wrapped.read() == expected(500)


async def test_functions_of_both_kinds_get_bytes() -> None:
    pieces: list[bytes] = []

    async def take(piece: bytes) -> None:
        await asyncio.sleep(0)
        pieces.append(piece)

    async with table(1000) as conn:
        await conn.unload(QUERY, pieces.append)
        assert b"".join(pieces).decode() == expected(1000)
        assert len(pieces) > 3
        assert all(piece.endswith(b"|\n") for piece in pieces)  # whole records
        pieces.clear()
        await conn.unload(QUERY, take)
        assert b"".join(pieces).decode() == expected(1000)


async def test_files_are_written_in_another_thread() -> None:
    class File(io.BytesIO):
        def write(self, data: Any) -> int:
            threads.add(threading.current_thread())
            return super().write(data)

    threads: set[threading.Thread] = set()
    async with table() as conn:
        await conn.unload(QUERY, File())
    assert threads and threading.main_thread() not in threads


@pytest.mark.parametrize("out", [b"t.unl", 5, None])
async def test_a_target_that_accepts_no_text_is_rejected_before_anything_is_sent(out: Any) -> None:
    async with talking() as (conn, peer):
        with pytest.raises(InterfaceError, match="out: expected"):
            await conn.unload("select 1 from t", out)
        assert peer.groups == []


async def test_nothing_is_opened_for_a_query_that_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "t.unl"
    path.write_text("precious")
    async with table() as conn:
        with pytest.raises(UndefinedTable):
            await conn.unload("select * from nowhere", path)
        with pytest.raises(InterfaceError):
            await conn.unload("delete from t", path)
    assert path.read_text() == "precious"


async def test_a_column_without_a_text_form_is_named_and_nothing_is_opened(tmp_path: Path) -> None:
    odd = column("odd", 99, 10)
    script = [(PREPARE, described(2, odd)), release(2)]
    async with talking(*script) as (conn, _):
        with pytest.raises(NotSupportedError, match="'odd'"):
            await conn.unload("select odd from t", tmp_path / "t.unl")
    assert os.listdir(tmp_path) == []


async def test_a_file_that_raises_stop_iteration_is_a_data_error() -> None:
    class Full:
        def write(self, data: bytes) -> None:
            raise StopIteration

    async with table(1000) as conn:
        with pytest.raises(DataError, match=r"raised StopIteration$"):
            await conn.unload(QUERY, Full())
        assert await conn.fetchval("select count(*) from t") == 1000


async def test_a_file_that_cannot_be_written_leaves_the_connection_usable(tmp_path: Path) -> None:
    async with table(1000) as conn:
        with pytest.raises(IsADirectoryError):
            await conn.unload(QUERY, tmp_path)
        assert await conn.fetchval("select count(*) from t") == 1000


# -- how it looks -----------------------------------------------------------------------------------------------------


async def test_parameters_delimiter_and_dates_are_as_requested() -> None:
    out = io.StringIO()
    async with table(10) as conn:
        count = await conn.unload(
            "select id, day from t where id > ?", out, 8, format=UnloadFormat(";"), dbdate="DMY4."
        )
    assert (count, out.getvalue()) == (1, "9;31.01.2026;\n")


@pytest.mark.parametrize("count", [0, 2])
async def test_csv_has_a_header_when_it_is_wanted_even_without_rows(count: int) -> None:
    out, bare = io.BytesIO(), io.BytesIO()
    async with table(count) as conn:
        assert await conn.unload(QUERY, out, format=CsvFormat(header=True)) == count
        assert await conn.unload(QUERY, bare, format="csv") == count
    assert out.getvalue().decode() == "id,name,day\n" + expected(count, ",", "\n")
    assert bare.getvalue().decode() == expected(count, ",", "\n")


async def test_a_byte_order_mark_comes_once() -> None:
    out = io.BytesIO()
    async with table(1000) as conn:
        await conn.unload(QUERY, out, format=CsvFormat(encoding="utf-16"))
    assert out.getvalue().decode("utf-16") == expected(1000, ",", "\n")


async def test_text_that_the_encoding_lacks_is_an_error_that_shows_nothing_of_it() -> None:
    async with table(1) as conn:
        await conn.execute("update t set name = ?", "Käthe")
        with pytest.raises(DataError, match="a character that is not in ascii") as caught:
            await conn.unload(QUERY, io.BytesIO(), format=UnloadFormat(encoding="ascii"))
    assert "K" not in str(caught.value)


async def test_an_unload_is_in_the_clients_code_set_by_default() -> None:
    out = io.BytesIO()
    async with table(1, client_locale="en_US.8859-1") as conn:
        await conn.execute("update t set name = ?", "Käthe")
        await conn.unload(QUERY, out)
        assert "Käthe".encode("latin-1") in out.getvalue()
        assert (await conn.load("t", io.BytesIO(out.getvalue()), format="unload")).rowcount == 1
        assert await conn.fetchval("select count(*) from t where name = ?", "Käthe") == 2


# -- progress and memory ----------------------------------------------------------------------------------------------


async def test_progress_counts_the_rows_that_are_written() -> None:
    counts: list[int] = []
    async with table(2000) as conn:
        await conn.unload(QUERY, io.BytesIO(), progress=counts.append)
    assert counts == sorted(set(counts)) and counts[-1] == 2000 and len(counts) > 5


async def test_what_progress_raises_ends_the_unload_and_closes_the_file(tmp_path: Path) -> None:
    def stop(count: int) -> None:
        raise KeyError(count)

    async with table(2000) as conn:
        with pytest.raises(KeyError):
            await conn.unload(QUERY, tmp_path / "t.unl", progress=stop)
        gc.collect()  # a file left open would warn, and warnings are errors
        assert await conn.fetchval("select count(*) from t") == 2000


async def test_rows_are_written_before_the_next_but_one_block_is_requested() -> None:
    """Three blocks: the first is written while the second is in flight, and before the third is requested."""
    written: list[bytes] = []
    script = [
        (PREPARE, described(2, C1)),
        (opening(2, hold=True), ints(1, 2) + EOT),
        ("Id(2) Fetch(32767)", ints(3) + EOT),
        ("Id(2) Fetch(32767)", ints(4) + done(4) + EOT),
        ("Id(2) Close", EOT),
        release(2),
    ]
    async with talking(*script) as (conn, peer):
        seen: list[tuple[int, int]] = []

        def take(piece: bytes) -> None:
            written.append(piece)
            seen.append((len(written), len(peer.groups)))

        assert await conn.unload("select c1 from t", take) == 4
    assert written == [b"1|\n2|\n", b"3|\n", b"4|\n"]
    assert all(asked <= number + 2 for number, asked in seen[:2])


# -- there and back ---------------------------------------------------------------------------------------------------

TEXT = st.text(st.sampled_from("ab |\\\"',;\n\r\tü€"), max_size=12)
COLUMNS: dict[str, st.SearchStrategy[Any]] = {
    "id serial": st.integers(1, 10**6),
    "big bigint": st.integers(-(2**63) + 1, 2**63 - 1),
    "small smallint": st.integers(-(2**15) + 1, 2**15 - 1),
    "ratio float": st.floats(allow_nan=False, allow_infinity=False),
    "amount decimal(12,2)": st.decimals(-(10**9), 10**9, places=2),
    "price money(10,2)": st.decimals(-(10**7), 10**7, places=2),
    "loose decimal(16)": st.integers(-(10**15), 10**15).map(lambda n: Decimal(n) / 1000),
    "day date": st.dates(),
    "moment datetime year to fraction(3)": st.datetimes().map(
        lambda d: d.replace(microsecond=d.microsecond // 1000 * 1000)
    ),
    "clock datetime hour to second": st.times().map(lambda t: t.replace(microsecond=0, fold=0)),
    "span interval day(4) to second": st.integers(-(10**8), 10**8).map(lambda n: dt.timedelta(seconds=n)),
    "code char(40)": TEXT.map(lambda text: text.ljust(40 - len(text.encode()) + len(text))),
    "name varchar(60)": TEXT,
    "notes lvarchar(500)": TEXT,
    "flag boolean": st.booleans(),
}
ROWS = st.lists(
    st.tuples(*((values if "serial" in name else st.none() | values) for name, values in COLUMNS.items())),
    max_size=8,
    unique_by=lambda row: row[0],
)


@examples(30)
@given(ROWS, st.sampled_from(["unload", CsvFormat(header=True)]), st.booleans())
def test_what_was_unloaded_loads_as_the_same_table(rows: list[Any], format: Any, in_text: bool) -> None:
    async def there_and_back() -> tuple[list[Any], list[Any]]:
        async with (
            aioifx.server.running(db_locale="en_US.utf8") as dsn,
            aioifx.connect(dsn, client_locale="en_US.utf8", db_locale="en_US.utf8") as conn,
        ):
            for name in ("first", "second"):
                await conn.execute(f"create table {name} ({', '.join(COLUMNS)})")
            await conn.load("first", rows)
            out = io.StringIO(newline="") if in_text else io.BytesIO()
            assert await conn.unload("select * from first", out, format=format) == len(rows)
            out.seek(0)
            assert (await conn.load("second", out, format=format)).rowcount == len(rows)
            both = [await conn.fetch(f"select * from {name} order by id") for name in ("first", "second")]
            return both[0], both[1]

    first, second = asyncio.run(there_and_back())
    assert first == second
    assert [tuple(row) for row in first] == sorted(rows)


# -- cancellation -----------------------------------------------------------------------------------------------------


async def read_file(conn: aioifx.Connection, path: Path) -> None:
    await conn.load("copy", path, format="unload", block=100)


async def write_file(conn: aioifx.Connection, path: Path) -> None:
    await conn.unload(QUERY, path.with_suffix(".out"))


async def insert_rows(conn: aioifx.Connection, path: Path) -> None:
    await conn.load("copy", ((n, "x", None) for n in range(400)), block=100)


async def insert_rows_into_a_transaction(conn: aioifx.Connection, path: Path) -> None:
    async with conn.transaction():
        await conn.load("copy", ((n, "x", None) for n in range(400)), block=150)


async def insert_a_row_that_fails(conn: aioifx.Connection, path: Path) -> None:
    with pytest.raises(aioifx.UniqueViolation):
        await conn.load("copy", [(1, "x", None), (2, "x", None), (1, "x", None)], block=2)


@pytest.mark.sampled
@pytest.mark.parametrize("manner", Manner, ids=lambda manner: manner.name.lower())
@pytest.mark.parametrize(
    "call", [read_file, write_file, insert_rows, insert_rows_into_a_transaction, insert_a_row_that_fails]
)
async def test_a_cancellation_at_any_await_leaves_the_connection_usable(
    call: Any, manner: Manner, tmp_path: Path
) -> None:
    path = tmp_path / "t.unl"
    path.write_text(expected(400), "utf-8")
    async with table(600) as conn:
        await conn.execute("create table copy (id integer primary key, name varchar(40), day date)")
        for point in range(1, 80):
            if not await is_cancelled(lambda: call(conn, path), manner, point):
                break
            async with asyncio.timeout(20):
                assert await conn.fetchval("select count(*) from t") == 600
                assert not conn.is_in_transaction()
                assert await conn.fetchval("select count(*) from copy") in (0, 400)
                await conn.execute("delete from copy")
        else:
            pytest.fail("it goes on and on")
        gc.collect()
