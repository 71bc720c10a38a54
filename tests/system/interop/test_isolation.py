"""Isolation levels as other clients see them: JDBC and informix-driver, beside a transaction of aioifx."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import informix_db
import pytest

import aioifx
import aioifx.server
from tests.injection import eventually
from tests.system.interop.jdbc import Ask, JdbcError, cells, url_of
from tests.system.interop.test_informix_driver import connect, off_loop

pytestmark = pytest.mark.interop

LEVELS = {"dirty": 1, "committed": 2, "repeatable": 4, "serializable": 8}
"""The constants of java.sql.Connection."""


@pytest.fixture
async def server() -> AsyncIterator[aioifx.server.Server]:
    async with aioifx.server.serve() as server, aioifx.connect(server.dsn) as conn:
        await conn.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR(10))")
        for number in range(1, 5):
            await conn.execute("INSERT INTO t VALUES (?, ?)", number, f"v{number}")
        yield server


@pytest.fixture
async def writer(server: aioifx.server.Server) -> AsyncIterator[aioifx.Connection]:
    """A transaction that has changed row 2, deleted row 3 and inserted row 9."""
    async with aioifx.connect(server.dsn) as conn:
        await conn.execute("BEGIN WORK")
        await conn.execute("UPDATE t SET v = 'new' WHERE k = 2")
        await conn.execute("DELETE FROM t WHERE k = 3")
        await conn.execute("INSERT INTO t VALUES (9, 'new')")
        yield conn


@pytest.fixture
async def jdbc_conn(ask: Ask, server: aioifx.server.Server, writer: object) -> AsyncIterator[str]:
    await ask("connect", "i", url_of(server.dsn))
    yield "i"
    await ask("close", "i")


async def test_jdbc_reads_at_its_level(ask: Ask, jdbc_conn: str) -> None:
    for sql, code in (
        ("SELECT * FROM t", -244),
        ("SELECT v FROM t WHERE k = 2", -243),
        ("SELECT v FROM t WHERE k = 3", -243),
        ("SELECT v FROM t WHERE k > 3", -246),
    ):
        with pytest.raises(JdbcError) as caught:
            await ask("query", jdbc_conn, sql)
        assert caught.value.code == code, sql
    assert cells(await ask("query", jdbc_conn, "SELECT v FROM t WHERE k = 1")) == [["v1"]]
    await ask("isolation", jdbc_conn, LEVELS["dirty"])
    assert cells(await ask("query", jdbc_conn, "SELECT k, v FROM t ORDER BY k")) == [
        ["1", "v1"], ["2", "new"], ["4", "v4"], ["9", "new"],
    ]  # fmt: skip
    await ask("update", jdbc_conn, "SET ISOLATION TO COMMITTED READ LAST COMMITTED")
    assert cells(await ask("query", jdbc_conn, "SELECT k, v FROM t ORDER BY k")) == [
        ["1", "v1"], ["2", "v2"], ["3", "v3"], ["4", "v4"],
    ]  # fmt: skip


async def test_jdbc_waits_for_a_row(
    ask: Ask,
    jdbc_conn: str,
    server: aioifx.server.Server,
    writer: aioifx.Connection,
) -> None:
    await ask("execute", jdbc_conn, "SET LOCK MODE TO WAIT")
    await ask("start", jdbc_conn, "s", 0, "SELECT v FROM t WHERE k = 2")
    await eventually(lambda: any(session.waiting for session in server.stats.sessions))
    await writer.execute("COMMIT WORK")
    await ask("finish", "s")
    assert cells(await ask("query", jdbc_conn, "SELECT v FROM t WHERE k = 2")) == [["new"]]


async def test_repeatable_read_of_jdbc_keeps_others_from_writing(
    ask: Ask,
    jdbc_conn: str,
    writer: aioifx.Connection,
) -> None:
    await writer.execute("ROLLBACK WORK")
    await ask("autocommit", jdbc_conn, "false")
    await ask("isolation", jdbc_conn, LEVELS["repeatable"])
    assert cells(await ask("query", jdbc_conn, "SELECT v FROM t WHERE k = 2")) == [["v2"]]
    with pytest.raises(aioifx.OperationalError) as caught:
        await writer.execute("UPDATE t SET v = 'late' WHERE k = 2")
    assert caught.value.isamcode == -107
    await writer.execute("UPDATE t SET v = 'now' WHERE k = 1")
    await ask("commit", jdbc_conn)
    await writer.execute("UPDATE t SET v = 'late' WHERE k = 2")


def error_of(cursor: Any, sql: str) -> int:
    with pytest.raises(informix_db.DatabaseError) as caught:
        cursor.execute(sql)
    return int(getattr(caught.value, "sqlcode", 0))


async def test_informix_driver_reads_at_its_level(server: aioifx.server.Server, writer: object) -> None:
    def work() -> None:
        with connect(server.dsn) as conn:
            cursor = conn.cursor()
            assert error_of(cursor, "SELECT * FROM t") == -244
            assert error_of(cursor, "SELECT v FROM t WHERE k = 2") == -243
            cursor.execute("SELECT v FROM t WHERE k = 1")
            assert cursor.fetchall() == [("v1",)]
            cursor.execute("SET ISOLATION TO DIRTY READ")
            cursor.execute("SELECT k FROM t ORDER BY k")
            assert cursor.fetchall() == [(1,), (2,), (4,), (9,)]
            cursor.execute("SET ISOLATION TO COMMITTED READ LAST COMMITTED")
            cursor.execute("SELECT v FROM t ORDER BY k")
            assert cursor.fetchall() == [("v1",), ("v2",), ("v3",), ("v4",)]

    await off_loop(work)


async def test_rows_of_informix_driver_for_update_are_locked(
    server: aioifx.server.Server, writer: aioifx.Connection
) -> None:
    await writer.execute("ROLLBACK WORK")
    locked = await off_loop(lambda: connect(server.dsn))

    def lock() -> None:
        cursor = locked.cursor()
        cursor.execute("SET ISOLATION TO COMMITTED READ RETAIN UPDATE LOCKS")
        cursor.execute("SELECT v FROM t WHERE k < 3 FOR UPDATE")
        assert cursor.fetchall() == [("v1",), ("v2",)]

    await off_loop(lock)
    with pytest.raises(aioifx.OperationalError) as caught:
        await writer.execute("UPDATE t SET v = 'late' WHERE k = 2")
    assert caught.value.isamcode == -107
    await writer.execute("UPDATE t SET v = 'now' WHERE k = 4")
    assert await writer.fetchval("SELECT v FROM t WHERE k = 2") == "v2"
    await off_loop(locked.rollback)
    await writer.execute("UPDATE t SET v = 'late' WHERE k = 2")
    await off_loop(locked.close)
