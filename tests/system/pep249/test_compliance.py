"""The suite dbapi-compliance, from PyPI, on the embedded server; what is overridden says why."""

from __future__ import annotations

from typing import Any

import pytest

from aioifx import dbapi
from tests.dbapi.conftest import Host

dbapi20: Any = pytest.importorskip("dbapi20")


@pytest.fixture(autouse=True, scope="module")
def of_the_server(host: Host) -> None:
    TestCompliance.connect_args = (host.dsn,)


class TestCompliance(dbapi20.DatabaseAPI20Test):  # type: ignore[misc]  # the suite has no annotations
    driver = dbapi
    lower_func = "shout"  # EXECUTE PROCEDURE does not call the built-in LOWER

    def _connect(self) -> dbapi.Connection:
        """Some tests of the suite leave their connection open, which causes a ResourceWarning."""
        conn: dbapi.Connection = super()._connect()
        self.addCleanup(conn.close)
        return conn

    def test_callproc(self) -> None:
        """Of a function that returns upper case, where the suite has one that returns lower case."""
        with dbapi.connect(*self.connect_args) as conn:
            cursor = conn.cursor()
            assert cursor.callproc(self.lower_func, ("foo",)) == ["foo"]
            assert cursor.fetchall() == [("FOO",)]

    def test_non_idempotent_close(self) -> None:
        """Closing twice is allowed, as for the asyncio client; the suite itself calls its test debatable."""
        conn = dbapi.connect(*self.connect_args)
        conn.close()
        conn.close()

    def test_nextset(self) -> None:
        """A statement of Informix has one result: there is no next one."""
        with dbapi.connect(*self.connect_args) as conn:
            cursor = conn.cursor()
            cursor.callproc("three", (1,))
            assert len(cursor.fetchall()) == 3
            assert cursor.nextset() is None  # type: ignore[func-returns-value]

    def test_setoutputsize(self) -> None:
        """The suite leaves it to drivers: it has no effect here."""
        with dbapi.connect(*self.connect_args) as conn:
            cursor = conn.cursor()
            cursor.setoutputsize(1)
            cursor.setoutputsize(1, 0)
            assert cursor.execute("select 'as long as it is' from number where n = 1").fetchone() == (
                "as long as it is",
            )
