"""BYTE and TEXT of the embedded server, with IBM's JDBC driver and informix-driver as clients."""

from __future__ import annotations

import asyncio
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from tests.system.interop.jdbc import Ask, Fields, JdbcError, cells, failing, url_of
from tests.system.interop.test_informix_driver import connect, off_loop

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

SIZES = (0, 1, 1023, 1024, 1025, 100_000)


@lru_cache(maxsize=8)
def pattern(size: int) -> bytes:
    """The bytes that LargeObjects.java makes."""
    return bytes((i * 7 + i // 251) & 0xFF for i in range(size))


@lru_cache(maxsize=8)
def pattern_text(size: int) -> bytes:
    return bytes(97 + (i * 7 + i // 251) % 26 for i in range(size))


def summed(data: bytes) -> str:
    return f"{len(data)}:{zlib.crc32(data)}"


async def stored(ask: Ask, conn: str, sizes: tuple[int, ...], first: str, second: str) -> None:
    """A row for each size, and one of NULLs."""
    await ask("prepare", conn, "p", "INSERT INTO t VALUES (?, ?, ?)")
    for key, size in enumerate(sizes):
        await ask("set", "p", 1, "int", key)
        await ask("set", "p", 2, first, size)
        await ask("set", "p", 3, second, size)
        assert await ask("run", "p") == [["1"]]
    await ask("set", "p", 1, "int", len(sizes))
    await ask("set", "p", 2, "null", -4)  # LONGVARBINARY
    await ask("set", "p", 3, "null", -1)  # LONGVARCHAR
    assert await ask("run", "p") == [["1"]]
    await ask("release", "p")


@pytest.mark.parametrize(("binary", "text"), [("bytes", "text"), ("stream", "ascii"), ("stream", "chars")])
async def test_jdbc_writes_and_reads_byte_and_text(ask: Ask, conn: str, binary: str, text: str) -> None:
    await ask("update", conn, "CREATE TABLE t (k INT, b BYTE IN TABLE, x TEXT IN TABLE)")
    await stored(ask, conn, SIZES, binary, text)
    expected: list[Fields] = [
        [str(k), summed(pattern(n)), summed(pattern_text(n))] for k, n in enumerate(SIZES)
    ]
    expected.append([str(len(SIZES)), None, None])
    for ways in (("bytes", "string"), ("stream", "chars"), ("bytes", "bytes")):
        assert cells(await ask("large", conn, "SELECT k, b, x FROM t ORDER BY k", "int", *ways)) == expected


async def test_jdbc_reads_a_byte_as_blob_and_a_text_as_clob(ask: Ask, conn: str) -> None:
    await ask("update", conn, "CREATE TABLE t (k INT, b BYTE, x TEXT)")
    await stored(ask, conn, (2500,), "bytes", "text")
    [[blob, clob], nulls] = cells(await ask("large", conn, "SELECT b, x FROM t ORDER BY k", "blob", "clob"))
    assert blob == f"2500/{summed(pattern(2500))}"
    assert clob == f"2500/{summed(pattern_text(2500))}"
    assert nulls == [None, None]


@pytest.mark.parametrize("use_put", [False, True])
async def test_jdbc_writes_a_batch_of_large_values(ask: Ask, server: str, use_put: bool) -> None:
    properties = {"IFX_USEPUT": "1"} if use_put else {}
    await ask("connect", "large", url_of(server, **properties))
    await ask("update", "large", "CREATE TABLE t (k INT, b BYTE)")
    await ask("prepare", "large", "p", "INSERT INTO t VALUES (?, ?)")
    for key in range(25):
        await ask("set", "p", 1, "int", key)
        if key % 5 == 4:
            await ask("set", "p", 2, "null", -4)
        else:
            await ask("set", "p", 2, "bytes", key * 300)
        await ask("add", "p")
    await ask("batch", "p")
    await ask("release", "p")
    rows = cells(await ask("large", "large", "SELECT k, b FROM t ORDER BY k", "int", "bytes"))
    await ask("close", "large")
    assert rows == [[str(k), None if k % 5 == 4 else summed(pattern(k * 300))] for k in range(25)]


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT k FROM t ORDER BY b", -614),
        ("SELECT DISTINCT b FROM t", -613),
        ("SELECT k FROM t WHERE x = 'a'", -615),
        ("INSERT INTO t VALUES (1, NULL, 'a')", -617),
        ("CREATE INDEX i ON t (b)", -610),
    ],
)
async def test_jdbc_sees_where_large_values_are_refused(ask: Ask, conn: str, sql: str, code: int) -> None:
    await ask("update", conn, "CREATE TABLE t (k INT, b BYTE, x TEXT)")
    assert (await failing(ask, "query" if sql.startswith("SELECT") else "update", conn, sql)).code == code


async def test_jdbc_finds_no_large_value_in_a_scroll_cursor(ask: Ask, conn: str) -> None:
    await ask("update", conn, "CREATE TABLE t (k INT, b BYTE)")
    assert (await failing(ask, "scroll", conn, "SELECT b FROM t", "first")).code == -611


@pytest.mark.exhaustive
async def test_jdbc_moves_ten_megabytes_each_way(ask: Ask, conn: str) -> None:
    size = 10_000_000
    await ask("update", conn, "CREATE TABLE t (k INT, b BYTE, x TEXT)")
    await stored(ask, conn, (size,), "stream", "ascii")
    [row, _] = cells(await ask("large", conn, "SELECT b, x FROM t ORDER BY k", "stream", "chars"))
    assert row == [summed(pattern(size)), summed(pattern_text(size))]


async def test_informix_driver_writes_and_reads_byte_and_text(server: str) -> None:
    def work() -> list[Any]:
        with connect(server) as conn:
            cursor = conn.cursor()
            cursor.execute("CREATE TABLE t (k INT, b BYTE, x TEXT, tail SMALLINT)")
            for key, size in enumerate(SIZES):
                cursor.execute(
                    "INSERT INTO t VALUES (?, ?, ?, ?)", (key, pattern(size), pattern_text(size), 7)
                )
            cursor.executemany("INSERT INTO t VALUES (?, ?, ?, 7)", [(90, None, None), (91, b"q", None)])
            conn.commit()
            cursor.execute("SELECT k, b, x, tail FROM t ORDER BY k")
            return list(cursor.fetchall())

    expected = [(k, pattern(n), pattern_text(n).decode(), 7) for k, n in enumerate(SIZES)]
    assert await off_loop(work) == [*expected, (90, None, None, 7), (91, b"q", None, 7)]


async def test_informix_driver_updates_subscripts_and_measures(server: str) -> None:
    def work() -> list[Any]:
        with connect(server) as conn:
            cursor = conn.cursor()
            cursor.execute("CREATE TABLE t (k INT, b BYTE, x TEXT)")
            cursor.execute("INSERT INTO t VALUES (1, ?, ?)", (b"before", b"a text  "))
            cursor.execute("UPDATE t SET b = ? WHERE k = 1", (b"after",))
            cursor.execute("SELECT b, x[3,6], LENGTH(x), OCTET_LENGTH(b) FROM t")
            return list(cursor.fetchall())

    assert await off_loop(work) == [(b"after", "text", 8, 5)]


# -- BLOB and CLOB -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("binary", "text"), [("bytes", "text"), ("stream", "ascii"), ("blob", "clob"), ("stream", "chars")]
)
async def test_jdbc_writes_and_reads_blob_and_clob(ask: Ask, conn: str, binary: str, text: str) -> None:
    await ask("update", conn, "CREATE TABLE t (k INT, b BLOB, x CLOB) PUT b IN (sbspace), x IN (sbspace)")
    await stored(ask, conn, SIZES, binary, text)
    # JDBC writes what Blob.setBytes gets from position 1 on at offset 1 (observed: lob.json, blob_create_conn).
    values = {n: pattern(n) if binary != "blob" or not n else b"\0" + pattern(n) for n in SIZES}
    expected: list[Fields] = [
        [str(k), summed(values[n]), summed(pattern_text(n))] for k, n in enumerate(SIZES)
    ]
    expected.append([str(len(SIZES)), None, None])
    for ways in (("bytes", "string"), ("stream", "chars")):
        assert cells(await ask("large", conn, "SELECT k, b, x FROM t ORDER BY k", "int", *ways)) == expected
    sized = [[k, b and f"{b.split(':')[0]}/{b}", x and f"{x.split(':')[0]}/{x}"] for k, b, x in expected]
    assert cells(await ask("large", conn, "SELECT k, b, x FROM t ORDER BY k", "int", "blob", "clob")) == sized


async def test_jdbc_rolls_back_and_updates_large_objects(ask: Ask, conn: str) -> None:
    await ask("update", conn, "CREATE TABLE t (k INT, b BLOB)")
    await ask("prepare", conn, "p", "INSERT INTO t VALUES (?, ?)")
    await ask("prepare", conn, "q", "UPDATE t SET b = ? WHERE k = ?")
    await ask("autocommit", conn, "false")
    for key, end in ((1, "commit"), (2, "rollback"), (3, "commit")):
        await ask("set", "p", 1, "int", key)
        await ask("set", "p", 2, "bytes", 70_000 + key)
        await ask("run", "p")
        await ask(end, conn)
    await ask("set", "q", 1, "bytes", 5)
    await ask("set", "q", 2, "int", 3)
    await ask("run", "q")
    await ask("rollback", conn)
    await ask("set", "q", 1, "bytes", 6)
    await ask("set", "q", 2, "int", 1)
    await ask("run", "q")
    await ask("commit", conn)
    rows = cells(await ask("large", conn, "SELECT k, b FROM t ORDER BY k", "int", "bytes"))
    await ask("commit", conn)
    await ask("autocommit", conn, "true")
    await ask("release", "p")
    await ask("release", "q")
    assert rows == [["1", summed(pattern(6))], ["3", summed(pattern(70_003))]]


async def test_jdbc_reads_a_part_of_a_blob(ask: Ask, conn: str) -> None:
    await ask("update", conn, "CREATE TABLE t (k INT, b BLOB, x CLOB)")
    await stored(ask, conn, (100_000,), "bytes", "text")
    [[part]] = cells(await ask("large", conn, "SELECT b FROM t WHERE k = 0", "part"))
    assert part == summed(pattern(100_000)[2:7])


async def test_jdbc_truncates_only_a_blob_that_it_has_created(ask: Ask, conn: str) -> None:
    await ask("update", conn, "CREATE TABLE t (k INT, b BLOB, x CLOB)")
    await stored(ask, conn, (100_000,), "truncated", "text")
    select, cut = "SELECT b FROM t WHERE k = 0", summed(b"\0" + pattern(2))
    assert cells(await ask("large", conn, select, "bytes")) == [[cut]]
    with pytest.raises(JdbcError) as caught:  # it opens the Blob of a row without write access (mode 2048)
        await ask("large", conn, select, "truncate")
    assert caught.value.code == -9810
    assert cells(await ask("large", conn, select, "bytes")) == [[cut]]


@pytest.mark.exhaustive
async def test_jdbc_moves_ten_megabytes_of_blob_and_clob_each_way(ask: Ask, conn: str) -> None:
    size = 10_000_000
    await ask("update", conn, "CREATE TABLE t (k INT, b BLOB, x CLOB)")
    await stored(ask, conn, (size,), "stream", "ascii")
    [row, _] = cells(await ask("large", conn, "SELECT b, x FROM t ORDER BY k", "stream", "chars"))
    assert row == [summed(pattern(size)), summed(pattern_text(size))]


async def test_informix_driver_reads_locators_and_closes_descriptors(server: str) -> None:
    def work() -> tuple[list[Any], int]:
        with connect(server) as conn:
            cursor = conn.cursor()
            cursor.execute("CREATE TABLE t (k INT, b BLOB, x CLOB, tail SMALLINT)")
            cursor.execute("CREATE TABLE s (b BYTE, x TEXT)")
            cursor.execute("INSERT INTO s VALUES (?, ?)", (b"abc", b"text"))
            cursor.execute("INSERT INTO t SELECT 1, b::BLOB, x::CLOB, 7 FROM s")
            cursor.execute("INSERT INTO t VALUES (2, NULL, NULL, 7)")
            conn.commit()
            cursor.execute("SELECT k, b, x, tail FROM t ORDER BY k")
            rows = list(cursor.fetchall())
            with pytest.raises(Exception) as caught:
                conn.fast_path_call("function informix.ifx_lo_close(integer)", -1)
            return rows, int(getattr(caught.value, "sqlcode", 0))

    rows, sqlcode = await off_loop(work)
    assert [(row[0], row[3]) for row in rows] == [(1, 7), (2, 7)]
    assert [len(row[1].raw) for row in rows[:1]] == [72]
    assert rows[1][1:3] == (None, None)
    assert sqlcode == -9810


async def test_informix_driver_opens_a_blob_in_a_query(server: str) -> None:
    def work() -> list[Any]:
        with connect(server) as conn:
            cursor = conn.cursor()
            cursor.execute("CREATE TABLE t (k INT, b BLOB)")
            cursor.execute("CREATE TABLE s (b BYTE)")
            cursor.execute("INSERT INTO s VALUES (?)", (b"abc",))
            cursor.execute("INSERT INTO t SELECT 1, b::BLOB FROM s")
            conn.commit()
            cursor.execute("SELECT ifx_lo_open(b, 4) FROM t")
            opened = cursor.fetchone()
            conn.fast_path_call("function informix.ifx_lo_close(integer)", opened[0])
            return list(opened)

    assert await off_loop(work) == [1]


# -- files at the client -----------------------------------------------------------------------------------------------


async def test_jdbc_sends_and_receives_files_in_the_middle_of_statements(
    ask: Ask, conn: str, tmp_path: Path
) -> None:
    data = pattern(1_500_000)
    (tmp_path / "in").write_bytes(data)
    await ask("update", conn, "CREATE TABLE t (k INT, b BLOB, x CLOB)")
    files = f"FILETOBLOB('{tmp_path}/in', 'client'), FILETOCLOB('{tmp_path}/in', 'client')"
    assert await ask("update", conn, f"INSERT INTO t VALUES (1, {files})") == [["1"]]
    [row] = cells(await ask("large", conn, "SELECT b FROM t", "bytes"))
    assert row == [summed(data)]
    out = f"LOTOFILE(b, '{tmp_path}/out!', 'client'), LOTOFILE(x, '{tmp_path}/text', 'client')"
    [[key, name, numbered]] = cells(await ask("query", conn, f"SELECT k, {out} FROM t"))
    assert (key, name) == ("1", f"{tmp_path}/out")
    assert (tmp_path / "out").read_bytes() == data
    assert numbered is not None and numbered.startswith(f"{tmp_path}/text.")
    assert await asyncio.to_thread(Path(numbered).read_bytes) == data


async def test_jdbc_reports_a_file_that_it_cannot_read(ask: Ask, conn: str, tmp_path: Path) -> None:
    await ask("update", conn, "CREATE TABLE t (b BLOB)")
    assert (
        await failing(
            ask, "update", conn, f"INSERT INTO t VALUES (FILETOBLOB('{tmp_path}/missing', 'client'))"
        )
    ).code == -619
    assert cells(await ask("query", conn, "SELECT COUNT(*) FROM t")) == [["0"]]


async def test_informix_driver_writes_and_reads_blob_columns(server: str) -> None:
    def work() -> list[Any]:
        with connect(server) as conn:
            cursor = conn.cursor()
            cursor.execute("CREATE TABLE t (k INT, b BLOB, x CLOB)")
            for size in SIZES:
                sql = "INSERT INTO t VALUES (?, BLOB_PLACEHOLDER, NULL)"
                cursor.write_blob_column(sql, pattern(size), (size,))
            sql = "UPDATE t SET x = BLOB_PLACEHOLDER WHERE k = ?"
            cursor.write_blob_column(sql, b"a text", (1,), clob=True)
            conn.commit()
            found = [cursor.read_blob_column("SELECT b FROM t WHERE k = ?", (size,)) for size in SIZES]
            found.append(cursor.read_blob_column("SELECT x FROM t WHERE k = 1"))
            found.append(cursor.read_blob_column("SELECT x FROM t WHERE k = 0"))
            cursor.execute("SELECT COUNT(*) FROM t")
            return [*found, cursor.fetchall()]

    assert await off_loop(work) == [*map(pattern, SIZES), b"a text", None, [(6,)]]
