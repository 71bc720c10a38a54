"""The queries of push data: which are accepted, and which rows of a change they have, as JSON. Never: a session, a log.

A query runs on a temporary table that has one row, in a session of its own that has the watched database open.
"""

from __future__ import annotations

import json
import marshal
from datetime import datetime
from decimal import Decimal
from typing import Final, cast

from aioifx.codecs.large_objects import is_smart_object
from aioifx.server.catalog.catalog import Snapshot
from aioifx.server.engine.ddl import create_filled_table
from aioifx.server.engine.planner import Statement
from aioifx.server.engine.push_sessions import Refused, Registration
from aioifx.server.engine.session_databases import close_database, open_database
from aioifx.server.engine.session_registry import SessionRegistry
from aioifx.server.engine.session_state import SessionState
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model import plan as plans
from aioifx.server.sql.model.schema import ColumnDef, ConstraintKind, Table, TableKind
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.runtime.casts import as_text
from aioifx.server.sql.runtime.client_values import loader
from aioifx.server.sql.sqlite.render import identifier
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.delimited import delimited
from aioifx.server.sql.syntax.parser import parse
from aioifx.server.sql.syntax.tokens import TokenKind, tokenize
from aioifx.server.sqlite.databases import LogMode
from aioifx.sqltypes import SqlType, TypeCode

_NO_TABLE: Final = -206
_REFUSED: Final = frozenset(
    {TypeCode.BYTE, TypeCode.TEXT, TypeCode.SET, TypeCode.MULTISET, TypeCode.LIST, TypeCode.ROW}
)
"""Types that a query may not return (documented: large objects and collections; ROW is assumed)."""

_OTHERS: Final = (nodes.Select, nodes.Aggregate, nodes.Window, nodes.Parameter)
"""What a query may not have (documented: subqueries; assumed: what does not belong to one row)."""


class PushQueries:
    """The queries on the tables of one owner in one database, used in the thread of one session.

    Args:
        is_delimident: whether double quotes in them delimit names.

    Raises:
        SqlError: -329, there is no such database.
    """

    def __init__(self, caller: SessionState, database: str, *, is_delimident: bool = False) -> None:
        registry = SessionRegistry()  # of its own, so that sysmaster does not show it
        entry = registry.register(caller.settings.user)
        settings = Settings(user=caller.settings.user, routines=caller.databases.routines)
        self._state = SessionState(
            caller.databases,
            registry,
            entry,
            settings,
            delimident=is_delimident,
            database_locale=caller.databases.find(database).locale,
            clock=datetime.now,
        )
        self._state.defaults.isolation = (
            plans.Isolation.DIRTY_READ
        )  # an ANSI database would lock the tables for ever
        open_database(self._state, database)
        self._known: dict[Registration, PushQuery] = {}

    def query(self, registration: Registration) -> PushQuery:
        """The query of a registration.

        Raises:
            Refused: it is not accepted.
            SqlError: its text or its table is wrong.
        """
        known = self._known.get(registration)
        if known is None:
            known = self._known[registration] = PushQuery(self._state, registration)
        return known

    def close(self) -> None:
        """End the session."""
        close_database(self._state)


class PushQuery:
    """One query, which runs on one row at a time.

    Raises:
        Refused: it is not accepted.
        SqlError: its text or its table is wrong.
    """

    def __init__(self, state: SessionState, registration: Registration) -> None:
        self._state = state
        self.table = _table_of(state, registration)
        text, unconditional = _bare_texts(registration)
        _check_names(registration, self.table, _schema(state))
        self._copy = _copy_of(state, self.table)
        self._statement, self._unconditional = state.prepare(text), state.prepare(unconditional)
        _check_columns(self._statement)
        self._names = self.table.stored_order or tuple(column.name for column in self.table.columns)
        self._dropped = [at for at, name in enumerate(self._names) if _refers(self.table.column(name))]

    def selected(self, image: bytes) -> str | None:
        """The query's columns of a row, as a JSON object; None if the row does not satisfy its condition.

        Args:
            image: the row's `packed` values.

        Raises:
            Refused: the row is from before a change of the table's columns.
            SqlError: an expression of the query has no value.
        """
        return self._result(self._statement, image)

    def columns(self, image: bytes) -> str:
        """The same of any row."""
        return self._result(self._unconditional, image) or "{}"

    def _result(self, statement: Statement, image: bytes) -> str | None:
        self._state.begin_statement(statement.plan)
        values = cast("list[Stored]", marshal.loads(image))
        if len(values) != len(self._names):
            raise Refused(f"table {self.table.name} has other columns than a row that was changed")
        for at in self._dropped:  # the copy must not count as a reference to a smart large object
            values[at] = None
        workspace, query = self._state.current, statement.plan.action
        assert isinstance(query, plans.Query)
        columns = ", ".join(map(identifier, self._names))
        marks = ", ".join("?" * len(values))
        workspace.connection.execute(f"DELETE FROM {self._copy.source}")
        workspace.connection.execute(f"INSERT INTO {self._copy.source} ({columns}) VALUES ({marks})", values)
        with self._state.mapped_errors(-244, self.table.name):
            rows = workspace.reads.opened(query, (), is_scroll=False).rows.fetchmany(1)
        return self._json(rows[0]) if rows else None

    def _json(self, row: tuple[Stored, ...]) -> str:
        settings = self._state.settings
        fields = {
            column.name: _json_value(value, column.type, settings)
            for column, value in zip(self._statement.plan.columns, row, strict=False)
        }
        return "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in fields.items()) + "}"


def _refers(column: ColumnDef | None) -> bool:
    return column is not None and is_smart_object(column.type)


def _schema(state: SessionState) -> Snapshot:
    return state.planner.schema(state.current)


def _copy_of(state: SessionState, table: Table) -> Table:
    """The temporary table with the columns and the name of *table*, which statements find first."""
    if table.name not in _schema(state).temps:
        name = delimited(table.name) if state.planner.is_delimident else table.name
        made = state.prepare(f"SELECT * FROM '{table.owner}'.{name} WHERE 1 = 0 INTO TEMP {name} WITH NO LOG")
        assert isinstance(made.plan.action, plans.FilledTable)
        create_filled_table(state, made, made.plan.action, ())
    return _schema(state).temps[table.name]


def _table_of(state: SessionState, registration: Registration) -> Table:
    """The table of a registration.

    Source: documented: its database has a log, and it has a primary key or a unique index

    Raises:
        Refused: it cannot be watched.
        SqlError: -206, there is none.
    """
    table = _schema(state).existing(registration.table, registration.owner)
    if table is None or table.kind is not TableKind.TABLE or table.is_system:
        raise SqlError(_NO_TABLE, token=registration.table)
    if state.current.database.log_mode is LogMode.UNLOGGED:
        raise Refused(f"database {registration.database} has no log")
    keys = (ConstraintKind.PRIMARY, ConstraintKind.UNIQUE)
    if not any(each.kind in keys for each in table.constraints) and not any(
        index.is_unique for index in table.indexes
    ):
        raise Refused(f"table {registration.table} has neither a primary key nor a unique index")
    return table


def _bare_texts(registration: Registration) -> tuple[str, str]:
    """The query with the bare name of its table, and the same without its condition.

    Raises:
        Refused: it is no SELECT of one table without subqueries (documented), or its table is another (assumed).
        SqlError: it is no SQL.
    """
    tree = parse(registration.query, delimident=registration.is_delimident)
    if not isinstance(tree, nodes.Query) or not isinstance(tree.body, nodes.Select):
        raise Refused("the query is not one SELECT")
    select = tree.body
    match select.from_items:
        case (nodes.TableRef(table=table),):
            pass
        case _:
            raise Refused("the query does not have exactly one table")
    clauses = (
        select.is_distinct, select.first, select.skip, select.hierarchy, select.group_by, select.having,
        tree.order_by, tree.skip, tree.limit, tree.for_update, tree.into_temp,
    )  # fmt: skip
    others = [each for each in nodes.walk(tree) if isinstance(each, _OTHERS) and each is not select]
    if any(clauses) or others:
        raise Refused("the query has more than a list of columns and a condition")
    if (
        table.name != registration.table
        or table.owner not in ("", registration.owner)
        or table.database not in ("", registration.database)
        or table.server
    ):
        raise Refused(f"the query is not of table {registration.table}")
    tokens = tokenize(registration.query, delimident=registration.is_delimident)
    first = next(at for at, token in enumerate(tokens) if token.offset >= table.offset)
    bare = first + 2 * (bool(table.owner) + bool(table.database))
    start = tokens[bare].offset
    ends = (each.offset for each in tokens[bare:] if each.kind is TokenKind.NAME and each.text == "where")
    begin, rest = registration.query[: tokens[first].offset - 1], registration.query[start - 1 :]
    return begin + rest, begin + rest[: next(ends, tokens[-1].offset) - start]


def _check_columns(statement: Statement) -> None:
    """Raise Refused if JSON cannot have the columns; assumed: two of one name are refused."""
    names = set[str]()
    for column in statement.plan.columns:
        if column.type.code in _REFUSED or is_smart_object(column.type):
            raise Refused(f"column {column.name} has a type that cannot be pushed")
        if column.name in names:
            raise Refused(f"two columns have the name {column.name}")
        names.add(column.name)


def _check_names(registration: Registration, table: Table, schema: Snapshot) -> None:
    """Raise Refused if the query needs more than the values of a row: ROWID, or a routine written in SPL (assumed)."""
    written = {routine.name for routine in schema.routines}
    for node in nodes.walk(parse(registration.query, delimident=registration.is_delimident)):
        if isinstance(node, nodes.Column) and node.name == "rowid" and table.column("rowid") is None:
            raise Refused("the query has a ROWID")
        if isinstance(node, nodes.Call) and node.routine.name in written:
            raise Refused(f"the query calls the routine {node.routine.name}")


def _json_value(value: Stored, sql_type: SqlType, settings: Settings) -> str:
    """A value as JSON.

    Source: documented: INTEGER as a number. assumed: other numbers likewise, BOOLEAN as true and false, CHAR with its
    blanks, all others as their text in Informix, and escapes for what is not ASCII, so that no code set matters
    """
    load = loader(sql_type, settings.code_set)
    loaded = value if load is None or value is None else load(value)
    if isinstance(loaded, Decimal) and loaded.is_finite():
        return f"{loaded:f}"
    if loaded is None or isinstance(loaded, bool | int | float):
        return json.dumps(loaded)
    return json.dumps(as_text(value, sql_type, settings))
