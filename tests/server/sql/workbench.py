"""A database in memory without a server: statements are parsed, translated and run as the engine would, one by one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime
from functools import cache

from aioifx.server.catalog import catalog
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model import plan as plans
from aioifx.server.sql.model.plan import Plan
from aioifx.server.sql.model.schema import Table
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.runtime import sqlite_functions
from aioifx.server.sql.runtime.client_values import load
from aioifx.server.sql.runtime.parameters import Binders
from aioifx.server.sql.runtime.sqlite_extras import register_extras
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.parser import parse
from aioifx.server.sql.translate.scopes import Context, Scope
from aioifx.server.sql.translate.translate import translate
from aioifx.server.sqlite.error_mapping import sql_error_of
from aioifx.server.sqlite.routine_calls import register_calls
from aioifx.sqltypes import Row, Value

NOW = datetime(2026, 5, 4, 12, 34, 56, 789_012)

CONNECTIONS: list[sqlite3.Connection] = []
"""Of every workbench; a fixture closes those that a test has made."""


@cache
def empty_database() -> bytes:
    """A database with the system catalog; cached, since the catalog takes hundreds of statements."""
    errors: list[SqlError] = []
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        sqlite_functions.register(connection, Settings(user="ann", database="stores", now=NOW), errors.append)
        for step in catalog.creation_steps("ann"):
            connection.execute(step.sql, step.values)
        return connection.serialize()


EACH_TYPE = (
    "CREATE TABLE t (k INT NOT NULL, s SMALLINT, b BIGINT, d DECIMAL(8,2), f FLOAT, c CHAR(5), v VARCHAR(20),"
    " day DATE, at DATETIME YEAR TO SECOND, iv INTERVAL DAY TO SECOND, ok BOOLEAN, m MONEY)",
    "INSERT INTO t VALUES (1, 2, 3, 4.5, 0.5, 'ab', 'xyz', '05/04/2026', '2026-05-04 10:11:12',"
    " INTERVAL(1 02:03:04) DAY TO SECOND, 't', 9.99)",
    "INSERT INTO t (k) VALUES (2)",
)
"""A table with a column of each type; a row of values, and one of NULLs."""

FUNCTION_ARGUMENTS = (
    "CREATE TABLE t (k INT, d DECIMAL(8,2), f FLOAT, c CHAR(5), v VARCHAR(20), day DATE,"
    " at DATETIME YEAR TO SECOND)",
    "INSERT INTO t VALUES (-7, 4.56, 2.5, 'ab', 'Hello', '05/04/2026', '2026-05-04 10:11:12')",
)
"""A table with a row of arguments for functions."""


class Workbench:
    """One session in one database named ``stores``."""

    def __init__(self, *statements: str) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        CONNECTIONS.append(self.connection)
        self.connection.deserialize(empty_database())
        self.connection.execute("PRAGMA foreign_keys=ON")
        self.delimident = False
        self.settings = Settings(user="ann", database="stores", now=NOW)
        self._errors: list[SqlError] = []
        self._serials: dict[tuple[int, str], int] = {}
        self._target: Table | None = None
        sqlite_functions.register(self.connection, self.settings, self._errors.append)
        register_extras(self.connection, self._errors.append)
        register_calls(self.connection, self.settings, self._errors.append)
        self.connection.create_function("ifx_serial", 2, self._serial)
        for step in catalog.session_steps():
            self.connection.execute(step.sql, step.values)
        for statement in statements:
            self.run(statement)

    def _serial(self, column: str, value: int) -> int:
        assert self._target is not None
        declared = self._target.column(column)
        assert declared is not None
        key = self._target.tabid, column
        last = self._serials.get(key, declared.serial_start - 1)
        number = value or last + 1
        self._serials[key] = max(last, number)
        return number

    @property
    def schema(self) -> catalog.Snapshot:
        return catalog.read_schema(self.connection, "stores")

    @property
    def context(self) -> Context:
        return Context(self.schema, self.settings)

    def plan(self, text: str) -> Plan:
        return translate(parse(text, delimident=self.delimident), self.schema, self.settings)

    def error(self, text: str, *values: Value) -> tuple[int, str, int]:
        """SQLCODE, token and offset of the error that the statement ends with."""
        try:
            self.run(text, *values)
        except SqlError as error:
            return error.sqlcode, error.token, error.offset
        raise AssertionError(f"no error from {text}")

    def run(self, text: str, *values: Value) -> int:
        """Run a statement without rows; gives how many it affected."""
        made = self.plan(text)
        match made.action:
            case plans.Change():
                return self._change(made.action, Binders(made.parameters).bind(values, self.settings))
            case plans.Definition():
                self._define(made.action)
                return 0
            case plans.FilledTable():
                self._define(made.action.definition)
                return self._change(made.action.fill, Binders(made.parameters).bind(values, self.settings))
            case plans.Query():
                self.rows(text, *values)
                return 0
            case _:
                return 0

    def _change(self, change: plans.Change, stored: tuple[Value, ...]) -> int:
        self._target = change.table
        try:
            return self.connection.execute(change.sql.text, change.sql.bound(stored)).rowcount
        except sqlite3.Error as error:
            raise self._told(error, change) from None

    def _define(self, definition: plans.Definition) -> None:
        self.connection.execute("SAVEPOINT ddl")
        try:
            for step in catalog.steps_of(definition):
                try:
                    self.connection.execute(step.sql, step.values)
                except sqlite3.IntegrityError:
                    if step.duplicate is None:
                        raise
                    raise SqlError(*step.duplicate) from None
                except sqlite3.OperationalError as error:
                    raise self._told(error, None) from None
        except BaseException:
            self.connection.execute("ROLLBACK TO ddl")
            raise
        finally:
            self.connection.execute("RELEASE ddl")

    def _told(self, error: sqlite3.Error, change: plans.Change | None) -> Exception:
        if self._errors:
            raised = self._errors[-1]
            self._errors.clear()
            return raised
        return sql_error_of(error, change) or error

    def rows(self, text: str, *values: Value) -> list[Row]:
        """The rows of a query as Python values."""
        made = self.plan(text)
        assert isinstance(made.action, plans.Query), made.action
        stored = Binders(made.parameters).bind(values, self.settings)
        try:
            found = self.connection.execute(made.action.sql.text, made.action.sql.bound(stored)).fetchall()
        except sqlite3.Error as error:
            raise self._told(error, None) from None
        types = [column.type for column in made.columns]
        return [tuple(load(value, type_) for value, type_ in zip(row, types, strict=False)) for row in found]

    def value(self, expression: str, *values: Value) -> Value:
        """The value of an expression."""
        ((value,),) = self.rows(f"SELECT {expression} FROM sysmaster:sysdual", *values)
        return value

    def described(self, text: str) -> list[tuple[str, str]]:
        """Name and type of each column that the statement describes."""
        return [(column.name, str(column.type)) for column in self.plan(text).columns]

    def type_of(self, expression: str) -> str:
        """The type of an expression, as CREATE TABLE would write it."""
        ((_, type_),) = self.described(f"SELECT {expression} FROM sysmaster:sysdual")
        return type_

    def table(self, name: str) -> Table:
        """A table of the schema."""
        table = self.schema.table(name)
        assert table is not None
        return table


def expression(text: str) -> nodes.Expression:
    """The tree of an expression."""
    query = parse(f"SELECT {text} FROM t")
    assert isinstance(query, nodes.Query) and isinstance(query.body, nodes.Select)
    found = query.body.items[0].expression
    assert not isinstance(found, nodes.Star)
    return found


NO_SCOPE = Scope()
