"""Limits of the embedded server: many sessions, statements and cursors; large statements, rows and files."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from contextlib import AsyncExitStack, closing
from pathlib import Path

import pytest

import aioifx
from aioifx.server import running
from tests.server.talking import query, run, server_core

if sys.platform != "win32":
    import resource

SPARSE = 12 * 2**30
"""Bytes of a file, more than 10 GB and than 32 bits address."""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of descriptors")
async def test_sessions_beyond_the_descriptors_of_the_process_are_rejected() -> None:
    script = (
        "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100));"
        "sys.argv[1:] = ['--port', '0']; runpy.run_module('aioifx.server', run_name='__main__')"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    dsn = (await process.stdout.readline()).decode().split()[-1]
    try:
        async with AsyncExitStack() as stack:
            conn = await stack.enter_async_context(aioifx.connect(dsn))
            with pytest.raises(aioifx.ConnectError) as caught:
                for _ in range(100):
                    await stack.enter_async_context(aioifx.connect(dsn))
            assert caught.value.sqlcode == -25571
            assert await conn.fetchval("SELECT 1 FROM systables WHERE tabid = 1") == 1
        async with aioifx.connect(dsn) as conn:
            assert await conn.fetchval("SELECT 1 FROM systables WHERE tabid = 1") == 1
    finally:
        process.terminate()
        await process.communicate()


async def idle(count: int) -> None:
    async with running() as dsn, AsyncExitStack() as stack:
        conns = [await stack.enter_async_context(aioifx.connect(dsn)) for _ in range(count)]
        for conn in (conns[0], conns[-1]):
            sessions = "SELECT COUNT(*)::INT FROM sysmaster:syssessions"
            assert await conn.fetchval(sessions) == count


async def test_idle_sessions() -> None:
    await idle(100)


@pytest.mark.exhaustive
async def test_a_thousand_idle_sessions() -> None:
    if sys.platform != "win32" and resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 10_000:
        pytest.skip("client and server need 6,000 descriptors together")
    await idle(1000)


def test_many_statements_and_cursors_of_one_session() -> None:
    with server_core() as core:
        engine = core.engine()
        statement = engine.prepare("SELECT a.tabid FROM systables a, systables b")
        cursors = [engine.open(statement) for _ in range(300)]
        assert [len(engine.fetch(cursor, 7)[0]) for cursor in cursors] == [7] * 300
        assert [len(engine.fetch(cursor, 7)[0]) for cursor in cursors] == [7] * 300


def test_rows_of_32_kilobytes() -> None:
    with server_core() as core:
        engine = core.engine()
        run(engine, "CREATE TABLE wide (k INT, a LVARCHAR(32000), b CHAR(700))")
        for number in range(50):
            run(engine, "INSERT INTO wide VALUES (?, ?, ?)", number, f"{number:<32000}", "x" * 700)
        rows = query(engine, "SELECT k, LENGTH(b), a FROM wide ORDER BY k DESC")
        assert [row[:2] for row in rows] == [(number, 700) for number in reversed(range(50))]
        assert rows[0][2] == f"{49:<32000}"


MEGABYTES = {
    "values": "INSERT INTO wide VALUES (" + ",".join([f"SUBSTR('{'v' * 32_000}', 1, 9)"] * 31) + ")",
    "list": f"DELETE FROM wide WHERE c1 IN ({','.join(repr(f'v{n:05}') for n in range(110_000))})",
    "conditions": f"UPDATE wide SET c1 = 'x' WHERE {' OR '.join(f'c1 = {n:05}' for n in range(70_000))}",
}


@pytest.mark.parametrize(
    "name", ["values", *(pytest.param(each, marks=pytest.mark.exhaustive) for each in ("list", "conditions"))]
)
def test_statements_of_a_megabyte(name: str) -> None:
    size = len(MEGABYTES[name])
    assert size > 950_000
    with server_core() as core:
        engine = core.engine()
        run(engine, f"CREATE TABLE wide ({','.join(f'c{n} VARCHAR(9)' for n in range(31))})")
        assert run(engine, MEGABYTES[name]).rows == (name == "values")


@pytest.mark.skipif(sys.platform != "linux", reason="it needs a file system with sparse files")
def test_a_database_of_more_than_10_gigabytes(tmp_path: Path) -> None:
    with server_core(directory=tmp_path) as core:
        run(core.engine(), "CREATE TABLE t (k SERIAL PRIMARY KEY, v LVARCHAR(2000))")
    _extend(tmp_path / "demo.sqlite")
    with server_core(directory=tmp_path) as core:
        engine = core.engine()
        for _ in range(50):  # all of it beyond the first 12 GB
            run(engine, "INSERT INTO t VALUES (0, ?)", "x" * 1900)
        run(engine, "BEGIN WORK")
        run(engine, "UPDATE t SET v = 'y' WHERE k > 10")
        run(engine, "ROLLBACK WORK")
        run(engine, "CREATE INDEX i ON t (v)")
        run(engine, "DELETE FROM t WHERE k > 40")
        assert query(engine, "SELECT COUNT(*)::INT, MIN(LENGTH(v)) FROM t") == [(40, 1900)]
        ((pages,),) = query(engine, "SELECT chksize FROM sysmaster:syschunks")
        assert isinstance(pages, int) and pages >= SPARSE // 2048
    assert (tmp_path / "demo.sqlite").stat().st_size >= SPARSE
    with server_core(directory=tmp_path) as core:
        assert query(core.engine(), "SELECT MAX(k) FROM t") == [(40,)]


def _extend(path: Path) -> None:
    """Let a SQLite file have many more pages, without writing them."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        header = file.read(100)
        pages = SPARSE // int.from_bytes(header[16:18], "big")
        file.seek(28)
        file.write(pages.to_bytes(4, "big"))
        file.seek(92)  # the size is valid for this counter of changes
        file.write(header[24:28])
        file.truncate(SPARSE)
