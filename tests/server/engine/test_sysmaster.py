from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import date

import pytest

from aioifx.server.catalog import catalog, systables
from aioifx.server.engine.session_registry import SessionRegistry
from aioifx.server.engine.sysmaster import refresh
from aioifx.server.sqlite.databases import Databases, LogMode


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.create_collation("ifx_decimal", lambda a, b: (a > b) - (a < b))
        for step in catalog.session_steps():
            connection.execute(step.sql, step.values)
        yield connection


def rows(connection: sqlite3.Connection, name: str) -> list[dict[str, object]]:
    table = systables.SYSMASTER_TABLES[name]
    names = [column.name for column in table.columns]
    found = connection.execute(f"SELECT * FROM {systables.session_table(name)}").fetchall()
    return [dict(zip(names, row, strict=True)) for row in found]


def test_databases_are_shown_with_their_log_modes(connection: sqlite3.Connection) -> None:
    databases = Databases()
    for name, mode in (("c", LogMode.ANSI), ("a", LogMode.LOGGED), ("b", LogMode.UNLOGGED)):
        databases.create(name, mode, "anna")
    for _ in range(2):  # a second look replaces the first
        refresh("sysdatabases", connection, databases, SessionRegistry())
    shown = rows(connection, "sysdatabases")
    assert [(row["name"], row["is_logging"], row["is_ansi"], row["owner"]) for row in shown] == [
        ("a", 1, 0, "anna"),
        ("b", 0, 0, "anna"),
        ("c", 1, 1, "anna"),
    ]
    assert shown[0]["created"] == (date.today() - date(1899, 12, 31)).days
    databases.close()


def test_databases_are_shown_with_their_locales(connection: sqlite3.Connection) -> None:
    databases = Databases(locale="en_US.utf8")
    databases.create("stores", LogMode.LOGGED, "anna")
    refresh("sysdbslocale", connection, databases, SessionRegistry())
    assert rows(connection, "sysdbslocale") == [{"dbs_dbsname": "stores", "dbs_collate": "en_US.57372"}]
    databases.close()


def test_sessions_are_shown_while_they_last(connection: sqlite3.Connection) -> None:
    databases, registry = Databases(), SessionRegistry()
    anna = registry.register("anna", "desk", 12)
    registry.register("bert")
    refresh("syssessions", connection, databases, registry)
    assert [
        (row["sid"], row["username"], row["hostname"], row["pid"]) for row in rows(connection, "syssessions")
    ] == [
        (1, "anna", "desk", 12),
        (2, "bert", "", 0),
    ]
    registry.unregister(anna)
    refresh("syssessions", connection, databases, registry)
    assert [row["username"] for row in rows(connection, "syssessions")] == ["bert"]
    databases.close()
