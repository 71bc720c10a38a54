"""Sessions in one database with one table, for tests of transactions."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import date
from pathlib import Path

import pytest

from aioifx.server.catalog import catalog
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import ColumnDef, Index, IndexPart, Table
from aioifx.server.sql.model.type_rules import INTEGER
from aioifx.server.sql.sqlite.render import Composed
from aioifx.server.sql.sqlite.tree import Insert, Parameter, query_sql
from aioifx.server.sqlite import undo_log
from aioifx.server.sqlite.databases import Database, LogMode
from aioifx.server.sqlite.lock_manager import Kind, LockRefused
from aioifx.server.sqlite.transaction_state import SessionDefaults
from aioifx.server.sqlite.transactions import Transactions

TABLE = Table(
    100,
    "t",
    "anna",
    columns=(ColumnDef("a", INTEGER),),
    indexes=(Index("i", "anna", (IndexPart("a"),), is_unique=True),),
)
INSERT = Composed(Insert(TABLE.source, ("a",), query_sql("VALUES ({})", Parameter(1))))


class Party:
    """One session's connection and transactions."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.connection = sqlite3.connect(database.path, timeout=0, isolation_level=None)
        undo_log.create(self.connection, "temp")
        self.defaults = SessionDefaults()
        self.transactions = Transactions(self.connection, database, self.defaults, lambda: False)

    def insert(self, *values: int) -> None:
        self.run(INSERT, *((value,) for value in values))

    def run(self, sql: str | Composed, *rows: tuple[int, ...]) -> None:
        """Run a statement once for each of *rows*."""

        def attempt() -> None:
            with self.changing():
                for row in rows or ((),):
                    if isinstance(sql, str):
                        self.connection.execute(sql, row)
                    else:
                        insert = self.transactions.with_new_rowids(sql, TABLE)
                        self.connection.execute(insert.text, insert.bound(row))

        self.transactions.run(attempt)

    def changing(self) -> AbstractContextManager[None]:
        """Context of changes of the table, in an attempt of `run`."""
        return self.transactions.changing(TABLE, catalog.empty_schema())

    def create(self, name: str) -> None:
        def attempt() -> None:
            with self.transactions.defining([]):
                self.connection.execute(f"CREATE TABLE {name} (x)")

        self.transactions.run(attempt)

    def values(self) -> list[int]:
        self.transactions.on_query()
        return [row[0] for row in self.connection.execute("SELECT a FROM t100 ORDER BY a").fetchall()]


MakeParty = Callable[[], Party]


def make_database(path: Path, log_mode: LogMode) -> Database:
    database = Database("demo", path / "demo.sqlite", log_mode, "anna", date(2026, 1, 1), "en_US.819")
    connection = sqlite3.connect(database.path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE t100 (a INTEGER UNIQUE)")
    undo_log.create(connection)
    connection.close()
    return database


def sqlcode_of(work: Callable[[], object]) -> int:
    with pytest.raises(SqlError) as raised:
        work()
    return raised.value.sqlcode


def refused(work: Callable[[], object]) -> tuple[int, Kind | None]:
    with pytest.raises(LockRefused) as raised:
        work()
    resource = raised.value.resource
    return raised.value.isamcode, resource.kind if resource else None
