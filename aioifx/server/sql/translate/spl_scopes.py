"""The variables and loops of the block that is compiled. Never: source of statements."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from aioifx.server.sql.builtin_types import boolean
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import Schema
from aioifx.server.sql.model.spl import SplRoutine
from aioifx.server.sql.model.type_rules import INTEGER, Family, family_of, plain
from aioifx.server.sql.syntax import nodes, spl_nodes
from aioifx.server.sql.syntax.spl_nodes import LoopKind
from aioifx.server.sql.translate.scopes import Context
from aioifx.sqltypes import SqlType


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable: its place in the Python source, and its type."""

    source: str
    type: SqlType
    is_loop: bool = False
    """Whether a FOR loop sets it, so that nothing else may."""
    is_set_by_server: bool = False
    """Whether no statement may set it."""


Verb: TypeAlias = Literal["exit", "continue"]


@dataclass(slots=True, eq=False)
class Loop:
    """A loop around the statement that is compiled."""

    number: int
    kind: LoopKind
    label: str
    is_left: bool = False
    """Whether an inner loop's EXIT or CONTINUE names it."""


@dataclass(slots=True)
class Variables:
    """The variables that a block sees, the innermost first."""

    known: dict[str, Variable] = field(default_factory=dict[str, Variable])
    parent: Variables | None = None

    def find(self, name: str) -> Variable | None:
        """The variable of that name."""
        block: Variables | None = self
        while block is not None:
            if name in block.known:
                return block.known[name]
            block = block.parent
        return None

    def type_of(self, name: str) -> SqlType | None:
        """Its type; None if there is no such variable."""
        found = self.find(name)
        return None if found is None else found.type


def declared_type(type_: spl_nodes.DeclaredType, context: Context) -> SqlType:
    """The type of a variable or parameter.

    Raises:
        SqlError: -206 and -217 for LIKE; -9628, no such type; -999, a large object.
    """
    if isinstance(type_, spl_nodes.LikeColumn):
        column = context.table(type_.table).column(type_.column.text)
        if column is None:
            raise SqlError(-217, token=type_.column.text, offset=type_.column.offset)
        return plain(column.type)
    resolved = context.resolved(type_)
    if family_of(resolved) in (Family.SIMPLE_LARGE, Family.SMART_LARGE, Family.OTHER):
        raise SqlError(-999, token=str(resolved))
    return plain(resolved)


@dataclass(frozen=True, slots=True)
class Handler:
    """A compiled ON EXCEPTION, whose function is called with the error."""

    codes: tuple[int, ...]
    function: str
    resumes: bool
    depth: int
    """How many blocks with handlers are around its block."""
    jumps: tuple[tuple[Loop, Verb], ...] = ()
    """EXIT and CONTINUE of loops around it, numbered from 1 in what the function returns."""


def builtin_variables(routine: SplRoutine, schema: Schema) -> Variables:
    """SQLCODE; in a trigger procedure the columns of both rows, and INSERTING and its siblings.

    Raises:
        SqlError: -206, the table of the triggers does not exist any longer.
    """
    found = Variables({"sqlcode": Variable("_host.sqlcode", INTEGER, is_set_by_server=True)})
    trigger = routine.trigger
    if trigger is None:
        return found
    table = schema.table(trigger.table)
    if table is None:
        raise SqlError(-206, -111, token=trigger.table)
    for name, place in ((trigger.old, "_host.trigger.old"), (trigger.new, "_host.trigger.new")):
        for column in table.columns if name else ():
            source = f"{place}[{column.name!r}]"
            is_old = name == trigger.old
            found.known[f"{name}.{column.name}"] = Variable(
                source, plain(column.type), is_set_by_server=is_old
            )
    for event in ("inserting", "updating", "deleting", "selecting"):
        source = f"('t' if _host.trigger.event == {event!r} else 'f')"
        found.known[event] = Variable(source, boolean(), is_set_by_server=True)
    return found


def changes_current_of(body: spl_nodes.Block, cursor: str) -> bool:
    """Whether an UPDATE or DELETE in the loop is on the cursor's row, so that it is an update cursor (documented)."""
    return any(isinstance(node, nodes.CurrentOf) and node.cursor.text == cursor for node in nodes.walk(body))


def for_update(query: nodes.Query) -> nodes.Query:
    """The query with FOR UPDATE."""
    return replace(query, for_update=query.for_update or nodes.ForUpdate(query.offset, ()))
