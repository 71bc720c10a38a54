"""Other clients with servers that have quirks, which shows how plausible each is."""

from __future__ import annotations

import asyncio
from typing import Final

import pytest

from aioifx.server import Quirk, running
from tests.system.interop.jdbc import Jdbc, JdbcError, url_of
from tests.system.interop.test_informix_driver import connect, off_loop

pytestmark = [pytest.mark.interop, pytest.mark.exhaustive, pytest.mark.timeout(120)]

MANY = 50

# -- JDBC --------------------------------------------------------------------------------------------------------------


def _jdbc_session(jdbc: Jdbc, url: str) -> list[object]:
    """What a program with a connection sees."""
    jdbc("connect", "c", url)
    try:
        jdbc("update", "c", "CREATE TABLE t (a SERIAL8, n VARCHAR(30), b BOOLEAN, l LVARCHAR(100))")
        seen: list[object] = [
            jdbc("update", "c", "INSERT INTO t (n, b) VALUES ('one', 't')"),
            jdbc("update", "c", "UPDATE t SET n = 'x' WHERE a = 0"),
        ]
        jdbc("prepare", "c", "p", "INSERT INTO t (n, b) VALUES (?, ?)")
        for number in range(MANY):
            jdbc("set", "p", 1, "string", f"n{number}")
            jdbc("set", "p", 2, "boolean", "false")
            jdbc("add", "p")
        seen.append(len(jdbc("batch", "p")[0]))
        jdbc("release", "p")
        for query in (
            "a, n, b, l FROM t ORDER BY a",
            "a FROM t WHERE a = 0",
            "x.a, y.n FROM t x, t y",
            "a FROM t FOR UPDATE",
        ):
            seen.append(len(jdbc.rows("query", "c", f"SELECT {query}")))
        jdbc("prepare", "c", "q", "SELECT n FROM t WHERE a = ?")
        for number in (1, 1, 2):
            jdbc("set", "q", 1, "int", number)
            seen.append(jdbc.rows("select", "q"))
        jdbc("release", "q")
        seen.append(
            jdbc("scroll", "c", "SELECT a FROM t ORDER BY a", "first", "next", "last", "previous", "3")
        )
        jdbc("autocommit", "c", "false")
        jdbc("update", "c", "UPDATE t SET n = 'lost' WHERE a = 1")
        jdbc("rollback", "c")
        jdbc("update", "c", "UPDATE t SET n = 'kept' WHERE a = 1")
        jdbc("commit", "c")
        seen += [jdbc.rows("query", "c", "SELECT n FROM t WHERE a = 1"), jdbc("valid", "c")]
        return seen
    finally:
        jdbc("close", "c")


JDBC_SEES: Final = [
    [["1"]],
    [["0"]],
    MANY,
    MANY + 1,
    0,
    (MANY + 1) ** 2,
    MANY + 1,
    [["one"]],
    [["one"]],
    [["n0"]],
    [["first", "1"], ["next", "2"], ["last", "51"], ["previous", "50"], ["3", "3"]],
    [["kept"]],
    [["true"]],
]


JDBC_FAILS: Final = {Quirk.ERROR_ON_RELEASE, Quirk.COUNT_WITH_EACH_BLOCK}
ENDS: Final = (Quirk.ERROR_ON_CLOSE, Quirk.ROW_BY_ROW, Quirk.SEPARATE_END, Quirk.ERROR_100, Quirk.NO_OPTOFC)
"""Quirks at the end of rows, which JDBC treats otherwise with OPTOFC."""


@pytest.mark.parametrize(
    ("quirk", "optofc"),
    [*((quirk, "0") for quirk in Quirk if quirk not in JDBC_FAILS), *((quirk, "1") for quirk in ENDS)],
)
async def test_jdbc_works_with_a_quirk(jdbc: Jdbc, quirk: Quirk, optofc: str) -> None:
    async with running(quirks=[quirk]) as dsn:
        assert await asyncio.to_thread(_jdbc_session, jdbc, url_of(dsn, OPTOFC=optofc)) == JDBC_SEES


async def test_jdbc_fails_when_a_release_fails(jdbc: Jdbc) -> None:
    async with running(quirks=[Quirk.ERROR_ON_RELEASE]) as dsn:
        assert await asyncio.to_thread(_jdbc_session, jdbc, url_of(dsn, OPTOFC="0")) == JDBC_SEES
        with pytest.raises(JdbcError, match="cursor or statement is not available"):
            await asyncio.to_thread(jdbc, "connect", "c", url_of(dsn, OPTOFC="1"))


async def test_jdbc_loses_rows_when_each_block_is_counted(jdbc: Jdbc) -> None:
    async with running(quirks=[Quirk.COUNT_WITH_EACH_BLOCK]) as dsn:
        seen = await asyncio.to_thread(_jdbc_session, jdbc, url_of(dsn, OPTOFC="0"))
        assert [one for one, full in zip(seen, JDBC_SEES, strict=True) if one != full] != []


async def test_jdbc_sets_no_savepoint_without_their_bit(jdbc: Jdbc) -> None:
    async with running(quirks=[Quirk.NO_BIT_56]) as dsn:
        await asyncio.to_thread(jdbc, "connect", "c", url_of(dsn))
        await asyncio.to_thread(jdbc, "autocommit", "c", "false")
        with pytest.raises(JdbcError, match="Method not supported"):
            await asyncio.to_thread(jdbc, "savepoint", "c", "s")
        await asyncio.to_thread(jdbc, "close", "c")


# -- informix-driver ---------------------------------------------------------------------------------------------------


def _driver_session(dsn: str) -> list[object]:
    conn = connect(dsn)
    cursor = conn.cursor()
    seen: list[object] = []

    def run(sql: str, *values: object) -> None:
        cursor.execute(sql, values)

    run("CREATE TABLE t (a SERIAL, n VARCHAR(30), b BOOLEAN)")
    conn.commit()
    for sql, values in (
        ("INSERT INTO t (n, b) VALUES ('one', 't')", ()),
        ("INSERT INTO t (n) VALUES (?)", ("two",)),
    ):
        run(sql, *values)
        seen.append(cursor.rowcount)
    cursor.executemany("INSERT INTO t (n) VALUES (?)", [(f"n{number}",) for number in range(MANY)])
    for query in ("a, n, b FROM t ORDER BY a", "a FROM t WHERE a = 0", "x.a, y.n FROM t x, t y"):
        run(f"SELECT {query}")
        seen.append(len(cursor.fetchall()))
    run("SELECT n FROM t WHERE a = ?", 2)
    seen.append(cursor.fetchall())
    run("UPDATE t SET n = 'x' WHERE a = 0")
    seen.append(cursor.rowcount)
    conn.commit()
    scrolling = conn.cursor(scrollable=True)
    scrolling.execute("SELECT a FROM t ORDER BY a")
    seen.append(scrolling.fetchone())
    scrolling.scroll(5)
    seen.append(scrolling.fetchone())
    scrolling.close()
    conn.close()
    return seen


DRIVER_SEES: Final = [1, 1, MANY + 2, 0, (MANY + 2) ** 2, [("two",)], 0, (1,), (7,)]

DRIVER_FAILS: Final = {Quirk.ERROR_100, Quirk.ALWAYS_OPTOFC, Quirk.NO_BIT_54, Quirk.NO_BIT_62}
"""It works with 12.10, 14.10 and 15, so these do not occur there in its use."""


@pytest.mark.parametrize("quirk", [quirk for quirk in Quirk if quirk not in DRIVER_FAILS])
async def test_informix_driver_works_with_a_quirk(quirk: Quirk) -> None:
    async with running(quirks=[quirk]) as dsn:
        assert await off_loop(lambda: _driver_session(dsn)) == DRIVER_SEES
