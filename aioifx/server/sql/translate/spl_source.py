"""The Python source of a routine as it grows: lines, places of variables, source of expressions. Never: a statement.

Invariant: the source consists of this package's own text, numbers, and `repr` of texts; no name of a user is in it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Final

from aioifx.server.sql.complex_types import ComplexType
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import Schema
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.spl import UNRESOLVED
from aioifx.server.sql.model.type_rules import INTEGER, Family, family_of
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.closure_expressions import ClosureExpressions, Namespace, Unknown
from aioifx.server.sql.translate.scopes import Context
from aioifx.server.sql.translate.spl_program import Embedded, EmbeddedExpression, expression
from aioifx.server.sql.translate.spl_runtime import HELPERS
from aioifx.server.sql.translate.spl_scopes import Variable, Variables
from aioifx.server.sql.translate.variables import expression_with_variables
from aioifx.sqltypes import SqlType

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
        self._namespace: Namespace = dict(HELPERS)
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
        self._undefined.difference_update(each.source for each in targets)

    def _targets(self, names: Sequence[nodes.Name]) -> list[Variable]:
        """The variables that a statement sets.

        Raises:
            SqlError: -667, not declared; -660, the variable of a FOR loop.
        """
        return [self._target(name) for name in names]

    def _target(self, name: nodes.Name) -> Variable:
        found = self._variables.find(name.text)
        if found is None and isinstance(self._variables.type_of(name.text.partition(".")[0]), ComplexType):
            raise SqlError(-999, token="FIELD OF A VARIABLE", offset=name.offset)
        if found is None or found.is_set_by_server:
            raise SqlError(NOT_DECLARED, token=name.text, offset=name.offset)
        if found.is_loop:
            raise SqlError(LOOP_VARIABLE, token=name.text, offset=name.offset)
        return found

    def _assigned(self, source: str, from_type: SqlType, to_type: SqlType) -> str:
        """Source of a value of one type as another type stores it."""
        name = nodes.Variable(0, 0, "", from_type)
        context = Context(self._schema, self._settings, statement=name)
        value = expression(name, to_type, context)
        return self._closures.value(value, [(source, from_type == INTEGER)])
