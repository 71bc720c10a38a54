"""A compiled routine: its Python function, its SQL, what it calls and needs of a session. Never: compiling."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, NoReturn, Protocol, TypeAlias
from weakref import WeakKeyDictionary

from aioifx.server.sql.builtin_types import boolean
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.frozen import Frozen
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

_INTERRUPTED: Final = -213
_RAISED: Final = -746
_WRONG_STEP: Final = -683
UNDEFINED: Final = -696
_NO_STEP: Final = -697

MISSING: Final = object()
"""An argument that was not given, so that the default of its parameter is used; the value of a variable before it has
any."""

NOT_GIVEN: Final = "\x00default"
"""The same as a value in SQLite, which no text of SQL can have."""


def _traps(host: Host, error: SqlError, codes: tuple[int, ...], call: object, depth: int) -> bool:
    """Whether a handler for these codes, or for all but interrupts, takes the error.

    Args:
        call: the call of the routine.
        depth: of the handler's block, in blocks with handlers around it.
    """
    host.sqlcode = error.sqlcode
    raised_in = _HANDLERS.get(error)
    if raised_in is not None and raised_in[0] is call and raised_in[1] <= depth:
        return False  # it comes from a handler of this block, or of one around it
    if codes:  # documented: either code
        return error.sqlcode in codes or (error.isamcode != 0 and error.isamcode in codes)
    return error.sqlcode != _INTERRUPTED


_HANDLERS: Final[WeakKeyDictionary[SqlError, tuple[object, int]]] = WeakKeyDictionary()
"""For an error that a handler raised: the call of its routine, and the depth of its block."""


def _note(raised: SqlError, call: object, depth: int) -> None:
    """Record that a handler of a block raised an error, which may come from a handler further out."""
    known = _HANDLERS.get(raised)
    outermost = depth if known is None or known[0] is not call else min(depth, known[1])
    _HANDLERS[raised] = call, outermost


def _handled(handler: Callable[[SqlError], Any], error: SqlError, call: object, depth: int) -> Any:
    """Run a handler; its own errors are for the handlers of the blocks around its block (documented)."""
    try:
        return handler(error)
    except SqlError as raised:
        _note(raised, call, depth)
        raise


def _handled_with_rows(
    handler: Callable[[SqlError], Generator[Any, None, Any]], error: SqlError, call: object, depth: int
) -> Generator[Any, None, Any]:
    """The same for a handler that may return rows."""
    try:
        return (yield from handler(error))
    except SqlError as raised:
        _note(raised, call, depth)
        raise


def _raised(sqlcode: int | None, isamcode: int | None = 0, text: str | None = "") -> SqlError:
    """The error of RAISE EXCEPTION; the text is the message of -746, and the token of others (documented)."""
    return SqlError(sqlcode or _RAISED, isamcode or 0, text or "")


def _range(first: int | None, last: int | None, step: Any = MISSING) -> range:
    """The values of ``first TO last STEP step``; without a step it is 1 or -1 (documented: FOR statement).

    assumed: a bound that is NULL gives no values.

    Raises:
        SqlError: -697, the step is 0; -683, it leads away from the end.
    """
    if first is None or last is None:
        return range(0)
    direction = 1 if first <= last else -1
    step = direction if step is MISSING else step
    if not step:
        raise SqlError(_NO_STEP)
    if step * direction < 0 and first != last:
        raise SqlError(_WRONG_STEP)
    return range(first, last + (1 if step > 0 else -1), step)


def _no_value(name: str) -> NoReturn:
    """A variable is read that has no value yet (documented: it differs from NULL)."""
    raise SqlError(UNDEFINED, token=name)


HELPERS: Final[dict[str, Any]] = {
    "SqlError": SqlError,
    "_chain": chain,
    "_handled": _handled,
    "_handled_with_rows": _handled_with_rows,
    "_missing": MISSING,
    "_no_value": _no_value,
    "_raised": _raised,
    "_range": _range,
    "_traps": _traps,
}
"""Names in the source."""


StoredValues: TypeAlias = tuple[Stored, ...]


class EmbeddedStatement(Frozen):
    """An SQL statement of a body; its variables are bound in storage form."""

    tree: nodes.Statement
    targets: tuple[SqlType, ...] = ()
    """The types of the variables of INTO."""
    cursor: str = ""
    hold: bool = False


class EmbeddedExpression(Frozen):
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

    def system(self, command: Stored) -> None:
        """SYSTEM."""
        ...

    def dynamic(self) -> Any:
        """The prepared statements and cursors of one call of a routine."""
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
