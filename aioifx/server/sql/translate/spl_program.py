"""A compiled routine: its Python function, its SQL statements, and what it needs of a session. Never: compiling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from aioifx.server.sql.builtin_types import boolean
from aioifx.server.sql.model.plan import Plan, Query
from aioifx.server.sql.model.schema import Schema
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.spl import SplRoutine
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.sqlite.render import Composed
from aioifx.server.sql.sqlite.tree import Node, query_sql
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.expressions import Expressions
from aioifx.server.sql.translate.scopes import Context, Scope
from aioifx.server.sql.translate.select import QueryTranslator
from aioifx.server.sql.translate.select_plan import finished
from aioifx.server.sql.translate.typed import assigned
from aioifx.sqltypes import Column, SqlType
from aioifx.wire.opcodes import StatementType

StoredValues: TypeAlias = tuple[Stored, ...]


@dataclass(frozen=True, slots=True)
class EmbeddedStatement:
    """An SQL statement of a body; its variables are bound in storage form."""

    tree: nodes.Statement
    targets: tuple[SqlType, ...] = ()
    """The types of the variables of INTO."""
    cursor: str = ""
    hold: bool = False


@dataclass(frozen=True, slots=True)
class EmbeddedExpression:
    """An expression that SQLite evaluates: it reads tables, or calls what has no closure."""

    tree: nodes.Expression
    type: SqlType | None
    """The type of the variable it is assigned to; None for a condition."""

    def plan(self, schema: Schema, settings: Settings) -> Plan:
        """The expression as a query of one row.

        Raises:
            SqlError: as `translate`.
        """
        context = Context(schema, settings, statement=self.tree)
        value = expression(self.tree, self.type, context)
        column = Column("c1", self.type or boolean())
        action = Query(Composed(query_sql("SELECT {} AS c1", value)), tuple(context.tables.values()))
        return finished(StatementType.SELECT, action, self.tree, context, (column,))


Embedded: TypeAlias = EmbeddedStatement | EmbeddedExpression


def expression(tree: nodes.Expression, type_: SqlType | None, context: Context) -> Node:
    """An expression assigned to a type, or of a condition for None."""
    translator = Expressions(context, Scope(), QueryTranslator(context), sequences=0)
    if type_ is None:
        return translator.condition(tree)
    return assigned(translator.value(tree, type_), type_)


class Host(Protocol):
    """What a running routine needs of its session; *number* is that of an embedded statement of its program."""

    sqlcode: int
    """SQLCODE of the last statement."""
    globals: dict[str, Stored]
    """Global variables of the session."""
    global_types: dict[str, str]
    """The types with which they were first declared."""
    check: Callable[[], None]
    """Raises when the client has sent an interrupt."""

    def value(self, program: Program, number: int, values: StoredValues) -> Any:
        """The value of an expression on SQLite."""
        ...

    def single(self, procid: int, arguments: Sequence[Any]) -> Any:
        """The single result of another routine."""
        ...

    def select(self, program: Program, number: int, values: StoredValues) -> StoredValues:
        """The single row of a query or a called routine, as its targets store it."""
        ...

    def rows(self, program: Program, number: int, values: StoredValues) -> Iterator[StoredValues]:
        """The rows of FOREACH, as its targets store them."""
        ...

    def execute(self, program: Program, number: int, values: StoredValues) -> None:
        """Run a statement without rows."""
        ...

    def immediate(self, text: Stored) -> None:
        """EXECUTE IMMEDIATE."""
        ...


@dataclass(slots=True)
class Program:
    """A routine, compiled for one generation of the schema."""

    routine: SplRoutine
    function: Callable[..., Any]
    """Called with the host and the arguments; returns a row or None, or generates rows."""
    is_iterator: bool
    embedded: list[Embedded] = field(default_factory=list[Embedded])
    source: str = ""
    """The Python source, for tests."""
