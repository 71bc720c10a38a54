"""Clients and embedded servers in interpreters beside the main one, each in a thread with a loop of its own."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

import aioifx
from aioifx.codecs.native import NATIVE
from aioifx.server import running

interpreters = pytest.importorskip("concurrent.interpreters", reason="new in Python 3.14")
pytestmark = pytest.mark.exhaustive  # each imports all of aioifx again

CLIENT = """if True:
    import asyncio, datetime, decimal
    import aioifx

    assert aioifx.speedups.startswith("pure"), aioifx.speedups  # the kernel refuses: howto/speedups.md
    rows = [(n, datetime.date(2026, 1, 1 + n), decimal.Decimal(n) / 4, "text") for n in range(20)]

    async def main():
        async with aioifx.connect(dsn) as conn:
            await conn.execute(f"CREATE TABLE {table} (a INTEGER, b DATE, c DECIMAL(10,2), d VARCHAR(9))")
            await conn.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", rows)
            try:
                await conn.execute("SELECT nothing FROM systables")
            except aioifx.UndefinedColumn:
                pass
            async with conn.stream(f"SELECT * FROM {table} ORDER BY 1") as stream:
                assert [row async for row in stream] == rows
        async with aioifx.create_pool(dsn, max_size=2) as pool:
            for found in await asyncio.gather(*(pool.fetch(f"SELECT * FROM {table}") for _ in range(5))):
                assert sorted(found) == rows

    asyncio.run(main())
"""
BLOCKING = """if True:
    from aioifx import dbapi

    with dbapi.connect(dsn) as conn:
        assert conn.cursor().execute("SELECT tabid FROM systables WHERE tabid = ?", (1,)).fetchall() == [(1,)]
    left_open = dbapi.connect(dsn)
"""
SERVER = """if True:
    import asyncio
    import aioifx
    from aioifx.server import running

    async def main():
        async with running("d") as dsn, aioifx.connect(dsn) as conn:
            assert await conn.fetchval("SELECT tabid FROM systables WHERE tabname = 'systables'") == 1

    asyncio.run(main())
"""


def run(program: str, **names: Any) -> None:
    """Run a program in a new interpreter."""
    interpreter = interpreters.create()
    try:
        interpreter.prepare_main(path="\n".join(sys.path), **names)
        interpreter.exec("import sys; sys.path[:] = path.split('\\n')")
        interpreter.exec(program)
    finally:
        interpreter.close()


async def test_clients_in_two_interpreters_at_once() -> None:
    async with running("d") as dsn:
        await asyncio.gather(*(asyncio.to_thread(run, CLIENT, dsn=dsn, table=table) for table in ("t", "u")))
        async with aioifx.connect(dsn) as conn:
            assert await conn.fetchval("SELECT COUNT(*) FROM t, u WHERE t.a = u.a") == 20
    assert aioifx.speedups.startswith("native") == NATIVE


async def test_blocking_connections_in_two_interpreters_at_once() -> None:
    async with running("d") as dsn:
        await asyncio.gather(*(asyncio.to_thread(run, BLOCKING, dsn=dsn) for _ in range(2)))


def test_an_embedded_server_in_another_interpreter() -> None:
    run(SERVER)
