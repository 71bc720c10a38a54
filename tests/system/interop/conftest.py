"""Other clients as black boxes: IBM's JDBC driver in a JVM of its own, informix-driver in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

import aioifx.server
from tests.system.interop.jdbc import Ask, Fields, Jdbc, JdbcMissing, fetched, url_of

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave tests with JDBC to the exhaustive suite: its first start compiles, and takes ten seconds."""
    for item in items:
        if "jdbc_jar" in getattr(item, "fixturenames", ()):
            item.add_marker("exhaustive")


@pytest.fixture(scope="session")
def jdbc_jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """IBM's driver, fetched by Maven; the tests that need it are skipped where it cannot be had."""
    try:
        return fetched(tmp_path_factory.mktemp("jdbc"), *sorted(HERE.glob("*.java")))
    except JdbcMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def jdbc(jdbc_jar: Path) -> Iterator[Jdbc]:
    """A JVM with the driver, for all tests of the session."""
    shell = Jdbc(jdbc_jar)
    yield shell
    shell.close()


@pytest.fixture
async def ask(jdbc: Jdbc) -> Ask:
    """Requests to the JVM, off the event loop on which the embedded server runs."""

    async def request(*fields: object) -> list[Fields]:
        return await asyncio.to_thread(jdbc, *fields)

    return request


@pytest.fixture
async def server() -> AsyncIterator[str]:
    async with aioifx.server.running() as dsn:
        yield dsn


@pytest.fixture
async def conn(ask: Ask, server: str) -> AsyncIterator[str]:
    """The name of an open JDBC connection."""
    await ask("connect", "c", url_of(server))
    yield "c"
    await ask("close", "c")
