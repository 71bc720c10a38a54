"""What only SQLAlchemy's reflection asks the catalog, with a connection that answers from rows."""

from __future__ import annotations

from typing import Any, cast

import pytest
from sqlalchemy import exc
from sqlalchemy.engine import Connection

import aioifx
from aioifx.catalog.texts import Place
from aioifx.sqlalchemy.catalog import Catalog, temp_table_names


class FakeConnection:
    """Answers every statement with the same rows."""

    def __init__(self, *rows: tuple[Any, ...]) -> None:
        self._rows = rows
        self.sent: list[tuple[str, tuple[Any, ...]]] = []

    def exec_driver_sql(self, sql: str, params: tuple[Any, ...]) -> FakeConnection:
        self.sent.append((sql, params))
        return self

    def fetchall(self) -> list[tuple[Any, ...]]:
        return list(self._rows)


def test_the_statements_of_the_catalog_are_executed_by_sqlalchemy() -> None:
    fake = FakeConnection((100, "a", "ann     ", "V", "P", 0, 0, None, 1, 0, "", 0))
    catalog, connection = Catalog(Place.of("joe"), ["a"], is_ansi=False), cast(Connection, fake)
    assert not catalog.has_read(["a"])
    assert catalog.tables(connection)["a"].owner == "ann" and catalog.has_read(["a"])
    assert [params for _, params in fake.sent] == [("joe", "a")]


def test_servers_without_the_sessions_of_temporary_tables_have_none() -> None:
    class Old(FakeConnection):
        error: aioifx.Error = aioifx.UndefinedColumn(sqlcode=-217)

        def exec_driver_sql(self, sql: str, params: tuple[Any, ...]) -> FakeConnection:
            raise exc.ProgrammingError(sql, params, self.error)

    old = Old()
    assert temp_table_names(cast(Connection, old)) == []
    old.error = aioifx.ProgrammingError(sqlcode=-387)
    with pytest.raises(exc.ProgrammingError):
        temp_table_names(cast(Connection, old))
