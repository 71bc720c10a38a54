"""The engine of IBM's JDBC driver for change data capture reads the changes of the embedded server."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest

import aioifx
from aioifx.server import Quirk, running

pytestmark = [pytest.mark.interop, pytest.mark.exhaustive, pytest.mark.timeout(120)]

TABLE: Final = (
    "CREATE TABLE t (a SERIAL, h SMALLINT, i INT8, g BIGINT, f FLOAT, r SMALLFLOAT, d DECIMAL(10,2), m MONEY(8,2),"
    " e DATE, t DATETIME YEAR TO SECOND, c CHAR(5), n NCHAR(4), b BOOLEAN,"
    " v VARCHAR(20), w NVARCHAR(20), l LVARCHAR(300))"
)
COLUMNS: Final = list("ahigfrdmetcnbvwl")
VALUES: Final = (
    "0, -7, 2345678901, -9876543210, 1.5, 0.25, 12.34, 5.5, '2024-03-14', '2024-03-14 15:09:26',"
    " 'abc', 'no', 't', 'vé', 'nw', 'long text'"
)
SEEN: Final = (
    "{a=1, b=true, c=abc  , d=12.34, e=2024-03-14, f=1.5, g=-9876543210, h=-7, i=2345678901, l=long text, m=5.50,"
    " n=no  , r=0.25, t=2024-03-14 15:09:26.0, v=vé, w=nw}"
)


@asynccontextmanager
async def engine(jar: Path, dsn: str, records: int, columns: list[str]) -> AsyncIterator[Process]:
    """A JVM whose engine has begun to read the changes of the table."""
    options = aioifx.parse_dsn(dsn)
    assert options.server is not None
    classes = f"{jar.parent}/*:{jar.parent}"
    given = (str(options.port), options.server, f"demo:{options.user}.t", str(records), *columns)
    process = await asyncio.create_subprocess_exec(
        "java",
        "-Dfile.encoding=UTF-8",
        "-Dstdout.encoding=UTF-8",
        "-cp",
        classes,
        "Changes",
        *given,
        stdout=PIPE,
    )
    try:
        assert await next_line(process) == ["ready"]
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def next_line(process: Process) -> list[str]:
    assert process.stdout is not None
    line = await process.stdout.readline()
    assert line, "the JVM is gone"
    return line.decode().rstrip("\n").split("\t")


async def read(process: Process, records: int) -> list[list[str]]:
    """The kinds of the records and what they have, without those of time limits."""
    found = [await next_line(process) for _ in range(records)]
    assert await next_line(process) == ["closed"]
    assert len({transaction for kind, transaction, *_ in found if kind in ("BEGIN", "COMMIT")}) == 1
    return [[kind, data] for kind, _, _, data in found]


async def test_it_reads_all_kinds_and_types(jdbc_jar: Path) -> None:
    async with running(seed=f"{TABLE};") as dsn, aioifx.connect(dsn) as conn:
        async with engine(jdbc_jar, dsn, 10, COLUMNS) as process:
            await conn.execute(f"INSERT INTO t VALUES ({VALUES})")
            async with conn.transaction():
                await conn.execute("UPDATE t SET h = 8, l = NULL")
                await conn.execute("TRUNCATE TABLE t")
            found = await read(process, 10)
    assert [kind for kind, _ in found] == [
        "METADATA",
        "BEGIN",
        "INSERT",
        "COMMIT",
        "BEGIN",
        "BEFORE_UPDATE",
        "AFTER_UPDATE",
        "TRUNCATE",
        "COMMIT",
        "TIMEOUT",
    ]
    assert found[2] == ["INSERT", SEEN]
    assert found[5] == ["BEFORE_UPDATE", SEEN]
    assert found[6] == ["AFTER_UPDATE", SEEN.replace("h=-7", "h=8").replace("l=long text", "l=null")]


MIXED: Final = {
    Quirk.CDC_DISCARDS: ["METADATA", "BEGIN", "INSERT", "INSERT", "DISCARD", "DELETE", "COMMIT"],
    Quirk.CDC_LITTLE_ENDIAN: ["METADATA", "BEGIN", "INSERT", "DELETE", "COMMIT", "TIMEOUT", "TIMEOUT"],
    Quirk.CDC_LONG_HEADERS: ["METADATA", "BEGIN", "INSERT", "DELETE", "COMMIT", "TIMEOUT", "TIMEOUT"],
    Quirk.CDC_NUL_AFTER_COLUMNS: ["METADATA", "BEGIN", "INSERT", "DELETE", "COMMIT", "TIMEOUT", "TIMEOUT"],
}


@pytest.mark.parametrize("quirk", MIXED)
async def test_it_reads_what_other_servers_send(jdbc_jar: Path, quirk: Quirk) -> None:
    seed = "CREATE TABLE t (a INTEGER, v VARCHAR(20));"
    async with running(seed=seed, quirks=[quirk]) as dsn, aioifx.connect(dsn) as conn:
        kinds = MIXED[quirk]
        async with engine(jdbc_jar, dsn, len(kinds), ["a", "v"]) as process:
            async with conn.transaction():
                await conn.execute("INSERT INTO t VALUES (1, 'one')")
                async with conn.transaction() as savepoint:
                    await conn.execute("INSERT INTO t VALUES (2, 'two')")
                    await savepoint.rollback()
                await conn.execute("DELETE FROM t")
            found = await read(process, len(kinds))
    assert [kind for kind, _ in found] == kinds
    assert found[2][1] == "{a=1, v=one}"


async def test_it_reads_a_transaction_that_is_rolled_back(jdbc_jar: Path) -> None:
    """Only with mixed transactions does the log have one."""
    seed = "CREATE TABLE t (a INTEGER, v VARCHAR(20));"
    async with running(seed=seed, quirks=[Quirk.CDC_INTERLEAVED]) as dsn:
        async with aioifx.connect(dsn) as conn, aioifx.connect(dsn) as other:
            async with engine(jdbc_jar, dsn, 7, ["a", "v"]) as process:
                async with other.transaction() as transaction:
                    await other.execute("INSERT INTO t VALUES (1, 'lost')")
                    await conn.execute("INSERT INTO t VALUES (2, 'kept')")
                    await transaction.rollback()
                kinds = [(await next_line(process))[0] for _ in range(7)]
    assert kinds == ["METADATA", "BEGIN", "INSERT", "BEGIN", "INSERT", "COMMIT", "ROLLBACK"]


async def test_it_reads_an_error(jdbc_jar: Path) -> None:
    """Its close fails then, since it calls more than cdc_closesess."""
    seed = "CREATE TABLE t (a INTEGER, v VARCHAR(20));"
    async with running(seed=seed, quirks=[Quirk.CDC_DEAD_SESSION]) as dsn, aioifx.connect(dsn) as conn:
        async with engine(jdbc_jar, dsn, 5, ["a", "v"]) as process:
            await conn.execute("INSERT INTO t VALUES (1, 'one')")
            kinds = [(await next_line(process))[0] for _ in range(5)]
    assert kinds == ["METADATA", "BEGIN", "INSERT", "COMMIT", "ERROR"]
