"""The Python source of a routine as it grows: lines, variables, expressions, loops. Never: what a loop repeats.

Invariant: the source consists of this package's own text, numbers, and `repr` of texts; no name of a user is in it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from aioifx.server.sql.builtin_types import boolean
from aioifx.server.sql.complex_types import ComplexType
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.frozen import Frozen
from aioifx.server.sql.model.schema import Schema
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.spl import UNRESOLVED, SplRoutine
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.model.type_rules import INTEGER, LONG_TEXT, Family, char, family_of, plain, size_of
from aioifx.server.sql.runtime.complex_values import completed, parts_of
from aioifx.server.sql.runtime.strings import with_part
from aioifx.server.sql.syntax import nodes, spl_nodes
from aioifx.server.sql.syntax.spl_nodes import LoopKind
from aioifx.server.sql.translate.closure_expressions import ClosureExpressions, Namespace, Unknown
from aioifx.server.sql.translate.scopes import Context
from aioifx.server.sql.translate.spl_program import (
    HELPERS,
    MISSING,
    UNDEFINED,
    Embedded,
    EmbeddedExpression,
    expression,
)
from aioifx.server.sql.translate.variables import expression_with_variables, field_of
from aioifx.sqltypes import SqlType


class Variable(Frozen):
    """A variable: its place in the Python source, and its type."""

    source: str
    type: SqlType
    is_loop: bool = False
    """Whether a FOR loop sets it, so that nothing else may."""
    is_set_by_server: bool = False
    """Whether no statement may set it."""
    whole: Variable | None = None
    """The variable that it is put into as a part, from `first` to `last`, once it has its value."""
    first: int = 0
    last: int = 0
    setter: str = ""
    """For a field of a ROW: the function that puts it into the whole."""


Verb: TypeAlias = Literal["exit", "continue"]


@dataclass(slots=True, eq=False)
class Loop:
    """A loop around the statement that is compiled."""

    number: int
    kind: LoopKind | Literal["goto"]
    """``goto`` for the one that a block with labels is."""
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


class Handler(Frozen):
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


def _with_field(name: str, type_: ComplexType, path: tuple[int, ...], row: Any, value: Stored) -> str:
    """A stored row with another value of a field.

    Raises:
        SqlError: -696, it has no row yet (documented: it must be initialized; assumed: the SQLCODE); -391, the field is
            NOT NULL.
    """
    if row is None or row is MISSING:
        raise SqlError(UNDEFINED, token=name)
    parts = parts_of(row)
    index, *rest = path
    inner = type_.parts[index]
    if rest:
        assert isinstance(inner, ComplexType)
        value = _with_field(name, inner, tuple(rest), parts[index], value)
    parts[index] = value
    return completed(parts, type_)


NOT_DECLARED: Final = -667
LOOP_VARIABLE: Final = -660
_DEEPEST: Final = 18
"""Loops and handlers in each other: Python allows 20 nested blocks."""
_QUERIES: Final = (nodes.Subquery, nodes.Exists, nodes.InQuery, nodes.Quantified, nodes.MultisetQuery)


class RoutineSource:
    """The source of one routine, with the variables that its statements see."""

    def __init__(self, schema: Schema, settings: Settings) -> None:
        self._schema = schema
        self._settings = settings
        self._namespace: Namespace = dict(HELPERS, _with_part=partial(with_part, settings))
        self._closures = ClosureExpressions(self._namespace, settings)
        self._embedded: list[Embedded] = []
        self._lines: list[str] = []
        self._indent = 1
        self._numbers = 0
        self._places: list[str] = []
        self._undefined: set[str] = set()  # places that may have no value where the source has got to
        self._nesting = 0
        self._variables: Variables = Variables()

    # --- Source -------------------------------------------------------------------------------------------------------

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._indent + text)

    @contextmanager
    def _indented(self, head: str) -> Generator[None, None, None]:
        self._line(head)
        self._indent += 1
        count = len(self._lines)
        yield
        if len(self._lines) == count:
            self._line("pass")
        self._indent -= 1

    @contextmanager
    def _branch(self) -> Generator[None, None, None]:
        """Context of source that may not run, or not to its end: what it gives a value may still have none after it."""
        before = set(self._undefined)
        yield
        self._undefined |= before

    @contextmanager
    def _nested(self, offset: int) -> Generator[None, None, None]:
        self._nesting += 1
        if self._nesting > _DEEPEST:
            raise SqlError(-999, token="NESTING", offset=offset)
        yield
        self._nesting -= 1

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _place(self) -> str:
        """A new local variable, which is NULL at first."""
        place = f"v{self._number()}"
        self._places.append(place)
        return place

    def _declare(self, name: str, type_: SqlType) -> Variable:
        variable = Variable(self._place(), type_)
        self._variables.known[name] = variable
        return variable

    # --- Expressions --------------------------------------------------------------------------------------------------

    def _value(self, node: nodes.Expression, type_: SqlType) -> str:
        """Source of an expression's value as a variable of the type stores it."""
        return self._expression(node, type_)

    def _condition(self, node: nodes.Expression) -> str:
        """Source that is truthy if a condition is true."""
        return self._expression(node, None)

    def _expression(self, node: nodes.Expression, type_: SqlType | None) -> str:
        tree, names = expression_with_variables(node, self._variables.type_of)
        embedded = EmbeddedExpression(tree, type_)
        if any(isinstance(each, _QUERIES) for each in nodes.walk(tree)):
            return self._on_sqlite("value", embedded, names)
        context = Context(self._schema, self._settings, statement=tree)
        try:
            value = expression(tree, type_, context)
        except SqlError as error:
            if error.sqlcode == UNRESOLVED:  # the routine may be created before this one runs
                return self._on_sqlite("value", embedded, names)
            if error.sqlcode in (-217, -522):
                raise SqlError(NOT_DECLARED, token=error.token, offset=error.offset) from None
            raise
        found = [(name, self._variables.find(name)) for name in names]
        sources = [
            (self._read(name, each), family_of(each.type) is Family.INTEGER)
            for name, each in found
            if each is not None
        ]
        try:
            compile_ = self._closures.value if type_ is not None else self._closures.truth
            return compile_(value, sources)
        except Unknown:
            return self._on_sqlite("value", embedded, names)

    def _on_sqlite(self, verb: str, embedded: Embedded, names: Sequence[str]) -> str:
        """Source of a call of the host for an embedded statement."""
        self._embedded.append(embedded)
        return f"_host.{verb}(_program, {len(self._embedded) - 1}, ({self._sources(names)}))"

    def _sources(self, names: Sequence[str]) -> str:
        found = ((name, self._variables.find(name)) for name in names)
        return "".join(f"{self._read(name, each)}, " for name, each in found if each is not None)

    def _read(self, name: str, variable: Variable) -> str:
        """Source of a variable's value; -696 if it has none (documented: LET statement)."""
        place = variable.source
        return (
            f"(_no_value({name!r}) if {place} is _missing else {place})"
            if place in self._undefined
            else place
        )

    def _gets_value(self, *targets: Variable) -> None:
        """Source after *targets* have been set, which puts parts into their variables."""
        for each in targets:
            whole = each.whole
            if whole is not None and each.setter:
                self._line(f"{whole.source} = {each.setter}({whole.source}, {each.source})")
            elif whole is not None:
                before = whole.source
                if before in self._undefined:
                    before = f"(None if {before} is _missing else {before})"
                text = f"_with_part({each.first}, {each.last}, {before}, {each.source})"
                self._line(f"{whole.source} = {self._assigned(text, LONG_TEXT, whole.type)}")
            self._undefined.discard((whole or each).source)

    def _targets(self, names: Sequence[nodes.Name]) -> list[Variable]:
        """The variables that a statement sets.

        Raises:
            SqlError: -667, not declared; -660, the variable of a FOR loop.
        """
        return [self._part(name) if isinstance(name, nodes.Part) else self._target(name) for name in names]

    def _part(self, name: nodes.Part) -> Variable:
        """A place for a part of a variable.

        Raises:
            SqlError: -306, it is not within the variable; -999, the variable has no text, or is a field.
        """
        whole = self._target(name)
        if family_of(whole.type) is not Family.TEXT or whole.setter:
            raise SqlError(-999, token="[]", offset=name.offset)
        if not 1 <= name.first <= name.last <= size_of(whole.type):
            raise SqlError(-306, offset=name.offset)
        type_ = char(name.last - name.first + 1)
        return Variable(self._place(), type_, whole=whole, first=name.first, last=name.last)

    def _target(self, name: nodes.Name) -> Variable:
        found = self._variables.find(name.text) or self._field(name)
        if found is None or found.is_set_by_server:
            raise SqlError(NOT_DECLARED, token=name.text, offset=name.offset)
        if found.is_loop:
            raise SqlError(LOOP_VARIABLE, token=name.text, offset=name.offset)
        return found

    def _field(self, name: nodes.Name) -> Variable | None:
        """A place for a field of a ROW variable; None if there is none."""
        path = name.text.split(".")
        for size in (1, 2):
            whole = self._variables.find(".".join(path[:size]))
            if whole is None or whole.is_set_by_server or not isinstance(whole.type, ComplexType):
                continue
            followed = field_of(whole.type, path[size:])
            if followed is not None:
                setter = f"_field{self._number()}"
                self._namespace[setter] = partial(_with_field, name.text, whole.type, followed[0])
                return Variable(self._place(), followed[1], whole=whole, setter=setter)
        return None

    def _assigned(self, source: str, from_type: SqlType, to_type: SqlType) -> str:
        """Source of a value of one type as another type stores it."""
        name = nodes.Variable(0, 0, "", from_type)
        context = Context(self._schema, self._settings, statement=name)
        value = expression(name, to_type, context)
        return self._closures.value(value, [(source, from_type == INTEGER)])


class LoopSource(RoutineSource):
    """The source of one routine, with the loops around the statement that is compiled."""

    def __init__(self, schema: Schema, settings: Settings) -> None:
        super().__init__(schema, settings)
        self._loops: list[Loop] = []
        self._loops_outside: list[Loop] = []  # around the handler that is compiled
        self._jumps: list[tuple[Loop, Verb]] = []  # from that handler to those loops

    @contextmanager
    def _loop(
        self, node: spl_nodes.For | spl_nodes.While | spl_nodes.Foreach, head: str
    ) -> Generator[None, None, None]:
        kinds: dict[type[nodes.Node], spl_nodes.LoopKind] = {
            spl_nodes.For: "for",
            spl_nodes.Foreach: "foreach",
            spl_nodes.While: "while",
        }
        kind = kinds[type(node)]
        if isinstance(node, spl_nodes.While) and node.condition is None:
            kind = "loop"
        with self._looped(Loop(self._number(), kind, node.label), node.offset, head):
            yield

    @contextmanager
    def _looped(self, loop: Loop, offset: int, head: str) -> Generator[None, None, None]:
        with self._nested(offset), self._indented(head), self._branch():
            self._loops.append(loop)
            self._line("_host.check()")
            yield
            self._loops.pop()
        # An EXIT or CONTINUE of an outer loop has left this one: go on outwards.
        for outer in self._loops:
            if outer.is_left:
                if outer is self._loops[-1]:
                    flag = f"x{outer.number}"
                    with self._indented(f"if {flag} == 1:"):
                        self._line(f"{flag} = 0")
                        self._line("break")
                    with self._indented(f"if {flag} == 2:"):
                        self._line(f"{flag} = 0")
                        self._line("continue")
                else:
                    self._line(f"if x{outer.number}: break")

    def _jump(self, loop: Loop, verb: Verb) -> None:
        if loop not in self._loops:
            self._jumps.append((loop, verb))
            self._line(f"return {len(self._jumps)}")
            return
        if loop is self._loops[-1]:
            self._line("break" if verb == "exit" else "continue")
            return
        loop.is_left = True
        flag = f"x{loop.number}"
        if flag not in self._places:
            self._places.append(flag)
        self._line(f"{flag} = {1 if verb == 'exit' else 2}")
        self._line("break")

    def _loop_of(self, node: spl_nodes.Leave) -> Loop:
        """The loop that EXIT or CONTINUE means.

        Raises:
            SqlError: -201, there is no such loop.
        """
        for loop in (*reversed(self._loops), *reversed(self._loops_outside)):
            is_kind = (
                node.kind is None or loop.kind == node.kind or (node.kind == "loop" and loop.label != "")
            )
            if (loop.label == node.label) if node.label else is_kind and loop.kind != "goto":
                return loop
        raise SqlError(-201, offset=node.offset)
