"""Faults as other clients meet them: IBM's JDBC driver, and informix-driver."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import informix_db
import pytest

from aioifx.server import Server, ServerOptions, serve
from tests.system.interop.jdbc import Ask, Fields, cells, failing, url_of
from tests.system.interop.test_informix_driver import connect

pytestmark = [pytest.mark.interop, pytest.mark.timeout(120)]

T = TypeVar("T")

SEED = "CREATE TABLE stock (id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO stock VALUES (1, 10);"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serve(ServerOptions(("shop",), seed=SEED)) as server:
        yield server


# -- JDBC --------------------------------------------------------------------------------------------------------------


async def count(ask: Ask, url: str) -> list[Fields]:
    """The stock, over a connection of its own."""
    await ask("connect", "reader", url)
    try:
        return cells(await ask("query", "reader", "SELECT n FROM stock"))
    finally:
        await ask("close", "reader")


async def test_jdbc_receives_errors(ask: Ask, server: Server) -> None:
    await ask("connect", "c", url_of(server.dsn))
    with server.faults.fail_next(-244, -143, match="FROM stock"):
        error = await failing(ask, "query", "c", "SELECT n FROM stock")
        assert error.code == -244
    with server.faults.full_disk():
        assert (await failing(ask, "update", "c", "INSERT INTO stock VALUES (2, 1)")).code == -271
    with server.faults.lock("stock"):
        assert (await failing(ask, "update", "c", "UPDATE stock SET n = 11")).code in (-243, -244)
    await ask("update", "c", "INSERT INTO stock VALUES (2, 1)")
    await ask("close", "c")


@pytest.mark.parametrize(("effect", "n"), [("before", "10"), ("after", "11")])
async def test_jdbc_loses_its_connection_during_commit(ask: Ask, server: Server, effect: Any, n: str) -> None:
    url = url_of(server.dsn)
    await ask("connect", "c", url)
    await ask("autocommit", "c", "false")
    await ask("update", "c", "UPDATE stock SET n = n + 1")
    with server.statements() as log, server.faults.kill_during("COMMIT", effect=effect) as fault:
        await failing(ask, "commit", "c")
    assert fault.hits == 1
    assert "COMMIT WORK" in [record.sql for record in log]
    assert await count(ask, url) == [[n]]


async def test_jdbc_finds_a_secondary_server(ask: Ask, server: Server) -> None:
    url = url_of(server.dsn)
    with server.faults.become_secondary():
        await ask("connect", "c", url)
        for text, code in (
            ("INSERT INTO stock VALUES (2, 1)", -271),
            ("UPDATE stock SET n = 11", -346),
            ("DELETE FROM stock", -240),
        ):
            assert (await failing(ask, "update", "c", text)).code == code
        assert await ask("role", "c") == [["secondary"]]
        assert cells(await ask("query", "c", "SELECT n FROM stock")) == [["10"]]
        await ask("close", "c")
    await ask("connect", "c", url)
    assert await ask("role", "c") == [["standard"]]
    await ask("close", "c")


async def test_jdbc_is_refused_and_dropped(ask: Ask, server: Server) -> None:
    url = url_of(server.dsn)
    with server.faults.refuse():
        assert (await failing(ask, "connect", "c", url)).code == -27002
    await ask("connect", "c", url)
    assert server.faults.drop_connections().hits == 1
    await failing(ask, "query", "c", "SELECT n FROM stock")
    assert await count(ask, url) == [["10"]]


# -- informix-driver ---------------------------------------------------------------------------------------------------


def sqlcode_of(error: Any) -> int:
    """Its classes do not declare the attribute."""
    code: int = error.sqlcode
    return code


async def off_loop(work: Callable[[], T]) -> T:
    return await asyncio.to_thread(work)


async def test_informix_driver_receives_errors_and_loses_its_connection(server: Server) -> None:
    def errors() -> tuple[int, int]:
        conn = connect(server.dsn)
        cursor = conn.cursor()
        with server.faults.fail_next(-244, -107, match="UPDATE"):
            with pytest.raises(informix_db.Error) as failed:
                cursor.execute("UPDATE stock SET n = 11")
        with server.faults.become_secondary(drop=False):
            with pytest.raises(informix_db.Error) as refused:
                cursor.execute("UPDATE stock SET n = 11")
        with server.faults.kill_during("UPDATE", effect="before"), pytest.raises(informix_db.Error):
            cursor.execute("UPDATE stock SET n = 11")
        with server.faults.refuse(), pytest.raises(informix_db.Error):
            connect(server.dsn)
        return sqlcode_of(failed.value), sqlcode_of(refused.value)

    assert await off_loop(errors) == (-244, -346)

    def rows() -> list[tuple[int]]:
        conn = connect(server.dsn)
        cursor = conn.cursor()
        cursor.execute("SELECT n FROM stock")
        found: list[tuple[int]] = cursor.fetchall()
        conn.close()
        return found

    assert await off_loop(rows) == [(10,)]
