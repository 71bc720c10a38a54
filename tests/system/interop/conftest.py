"""Other clients as black boxes: IBM's JDBC driver in a JVM of its own, informix-driver in a thread."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.interop.jdbc import Jdbc, JdbcMissing, fetched

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
