"""FROM clauses -> SQLite's sources and scopes: tables, views, derived tables, joins, old OUTER. Never: select lists.

Invariants:
1. SQLite 3.35 has neither RIGHT nor FULL JOIN: RIGHT swaps its sides, FULL is a union of two joins.
2. SQLite has no LATERAL, but arguments of its table-valued functions may refer to earlier tables. So the rows of a
   lateral table that does so are collected as JSON, and spread by ``json_each``.
3. In an old outer join every condition of WHERE that names a subservient table belongs to that table's join; the
   rest filters (documented: SQL Tutorial, "Outer joins").
4. The views inside a view are its common tables, because SQLite reads subqueries in subqueries only to a depth of 15.
   Some are materialized, because SQLite joins 64 tables at most, and doubles expressions with each level.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, Protocol

from aioifx.server.sql.complex_types import ComplexType
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import Table, TableKind
from aioifx.server.sql.model.type_rules import is_large
from aioifx.server.sql.sqlite.render import render
from aioifx.server.sql.sqlite.tree import (
    Column,
    Node,
    Query,
    call,
    listed,
    logic,
    query_sql,
    sql,
    unquoted,
    walk,
)
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.calls import NO_VARIABLE, given, resolved_call
from aioifx.server.sql.translate.complex_types import collected
from aioifx.server.sql.translate.conditions import Subqueries
from aioifx.server.sql.translate.expressions import Expressions
from aioifx.server.sql.translate.relations import Relation
from aioifx.server.sql.translate.scopes import (
    MAIN,
    Context,
    Scope,
    Source,
    SourceColumn,
    derived_columns,
    stored_rows,
    view_statement,
)
from aioifx.sqltypes import SqlType, TypeCode

_LONGEST_SIDE: Final = 100_000
"""Characters of the text on the left side of a FULL JOIN."""
_FLATTENED: Final = 5
"""Levels of views that SQLite may merge into one query."""


class DerivedTables(Subqueries, Protocol):
    """Translates the queries in FROM."""

    def derived(self, query: nodes.Query, scope: Scope | None) -> Relation:
        """A query in FROM, or the query of a view."""
        ...


class Joined(NamedTuple):
    """What FROM names, and whether it needs parentheses on the right side of a join."""

    node: Node
    sources: list[Source]
    is_join: bool = False
    laterals: tuple[tuple[nodes.DerivedTable, frozenset[str]], ...] = ()
    """Its lateral tables, with the sources to which each refers."""

    @property
    def operand(self) -> Node:
        """The same as a single operand of a join."""
        return sql("({})", self.node) if self.is_join else self.node

    def require_closed(self) -> None:
        """Raise SqlError -999 if a lateral table refers to a source elsewhere, which SQLite reads later."""
        own = {source.alias for source in self.sources}
        for item, aliases in self.laterals:
            if aliases - own:
                raise SqlError(-999, token="LATERAL", offset=item.offset)


@dataclass(slots=True)
class FromClause:
    """Translates the FROM clause of one SELECT; adds its sources to the scope."""

    context: Context
    scope: Scope
    queries: DerivedTables
    filters: list[nodes.Expression] = field(default_factory=list[nodes.Expression])
    """The conditions of WHERE that are not part of an old outer join."""
    _earlier: list[Source] = field(default_factory=list[Source])
    """The sources so far, to which a lateral table may refer."""

    def joined(self, items: Sequence[nodes.FromItem], where: nodes.Expression | None) -> Node:
        """What stands after FROM; `filters` has the remaining conditions of WHERE."""
        conditions = _conjuncts(where)
        if any(isinstance(item, nodes.OuterTables) for item in items):
            return self._old_joins(items, conditions)
        self.filters = conditions
        joined = [self._item(item) for item in items]
        self.scope.sources = [source for each in joined for source in each.sources]
        return listed(
            [joined[0].node, *(each.node if each.laterals else each.operand for each in joined[1:])]
        )

    def _item(self, item: nodes.FromItem) -> Joined:
        found = self._source(item)
        if not isinstance(item, nodes.Join):
            self._earlier += found.sources
        return found

    def _source(self, item: nodes.FromItem) -> Joined:
        match item:
            case nodes.TableRef():
                return self._table(item)
            case nodes.DerivedTable(is_lateral=True):
                return self._lateral(item)
            case nodes.DerivedTable():
                relation = self.queries.derived(item.query, self.scope.parent)
                return self._derived(relation, item)
            case nodes.CollectionTable():
                return self._collection(item)
            case nodes.ElementTable():
                return self._elements(item)
            case nodes.RoutineTable():
                return self._rows_of_routine(item)
            case nodes.Join():
                return self._join(item)
            case nodes.OuterTables():
                raise SqlError(-999, token="OUTER", offset=item.offset)

    # --- Tables -------------------------------------------------------------------------------------------------------

    def _table(self, item: nodes.TableRef) -> Joined:
        label = item.alias.text if item.alias else item.table.name
        if not item.table.owner and not item.table.database:
            common = self.scope.common_table(item.table.name)
            if common is not None:
                alias = self.context.alias()
                columns = tuple(
                    replace(column, sql=unquoted(alias, number))
                    for number, column in enumerate(common.columns, start=1)
                )
                return Joined(
                    sql("{} AS {}", common.alias, alias), [Source(label, alias, columns, offset=item.offset)]
                )
        table = self.context.table(item.table)
        if self.context.names is not None:
            self.context.names.tables.append((item, table))
        if table.kind is TableKind.VIEW and not table.is_system:
            return self._view(table, label, item.offset)
        source = self.context.source(table, label, item.offset)
        return Joined(stored_rows(table, source.alias), [source])

    def _view(self, view: Table, label: str, offset: int) -> Joined:
        statement = view_statement(view)
        if view.catalog not in MAIN:
            raise SqlError(-999, token="VIEW", offset=offset)
        if self.context.gone is not None:  # only the names around it are of interest, and it may be broken
            alias = self.context.alias()
            kinds = ((column.type, column.is_nullable) for column in view.columns)
            known = derived_columns(alias, (column.name for column in view.columns), kinds)
            return Joined(sql("{}", alias), [Source(label, alias, known, None, view.owner, offset)])
        outer, inner = self.context.inner_views, list[Node]()
        self.context.inner_views = inner if outer is None else outer
        try:
            with self.context.view_inside(offset):
                relation = self.queries.derived(statement.query, None)
        finally:
            self.context.inner_views = outer
        alias = self.context.alias()
        types = [(output.known_type, output.is_nullable) for output in relation.outputs]
        columns = derived_columns(alias, (column.name for column in view.columns), types)
        query: Node = relation.query()
        if outer is not None:
            hint = "" if self.context.views % _FLATTENED else " MATERIALIZED"
            outer.append(sql("{} AS{} ({})", alias, hint, query))
            node = sql("{}", alias)
        else:
            if inner:
                query = sql("WITH {} SELECT * FROM ({})", listed(inner), query)
            node = sql("({}) AS {}", query, alias)
        return Joined(node, [Source(label, alias, columns, None, view.owner, offset)])

    def _derived(self, relation: Relation, item: nodes.DerivedTable) -> Joined:
        alias = self.context.alias()
        called = [name.text for name in item.columns] or list(relation.names)
        if len(called) != len(relation.outputs):
            raise SqlError(-201, offset=item.columns[0].offset)
        columns = derived_columns(
            alias, called, ((output.known_type, output.is_nullable) for output in relation.outputs)
        )
        source = Source(item.alias.text if item.alias else "", alias, columns, offset=item.offset)
        return Joined(sql("({}) AS {}", relation.query(), alias), [source])

    def _lateral(self, item: nodes.DerivedTable) -> Joined:
        """A lateral table: each row is a JSON array.

        Raises:
            SqlError: -999, it refers to an earlier table and has large objects.
        """
        scope = Scope(list(self._earlier), self.scope.parent)
        relation = self.queries.derived(item.query, scope)
        derived = self._derived(relation, item)
        if not scope.correlated:
            return derived
        if any(is_large(output.known_type) for output in relation.outputs):
            raise SqlError(-999, token="LATERAL", offset=item.offset)
        (source,) = derived.sources
        value = unquoted(source.alias, "value")
        source.columns = tuple(
            replace(column, sql=call("ifx_field", value, index), base=value)
            for index, column in enumerate(source.columns)
        )
        aliases = frozenset(_alias_of(column) for _, column in scope.correlated)
        rows = sql("json_each({}) AS {}", collected(relation), source.alias)
        return Joined(rows, [source], laterals=((item, aliases),))

    def _collection(self, item: nodes.CollectionTable) -> Joined:
        translator = Expressions(self.context, Scope(parent=self.scope.parent), self.queries)
        values, type_ = translator.promoted(item.elements)
        union = " UNION " if item.kind == "set" else " UNION ALL "
        query = Query(listed((sql("SELECT {} AS c1", value.sql) for value in values), union))
        alias = self.context.alias()
        name = item.columns[0].text if item.columns else "(expression)"
        columns = derived_columns(alias, [name], [(type_, True)])
        return Joined(
            sql("({}) AS {}", query, alias), [Source(item.alias.text if item.alias else "", alias, columns)]
        )

    def _rows_of_routine(self, item: nodes.RoutineTable) -> Joined:
        """The rows of a routine in SPL, whose arguments name no other tables of this FROM (documented).

        assumed: without names of columns they have those of the results.

        Raises:
            SqlError: -674, no such routine; -999, one in Python; -9752, one with OUT parameters (documented:
                iterators have none).
        """
        node = item.call
        translator = Expressions(self.context, Scope(parent=self.scope.parent), self.queries)
        found = [
            each for each in self.context.schema.routines_named(node.name, node.routine.owner) if each.results
        ]
        if not found and self.context.settings.routines.find(node.name) is not None:
            raise SqlError(-999, token="TABLE", offset=node.offset)
        routine, values = resolved_call(
            translator.value, found, node.name, (*node.arguments, *node.named), node.offset
        )
        if routine.outputs:
            raise SqlError(NO_VARIABLE, token=node.name, offset=node.offset)
        rows = call("ifx_spl_rows", routine.procid, *given(routine, values))
        results = routine.columns
        parts: list[Node] = [call("ifx_field", unquoted("", "value"), index) for index in range(len(results))]
        names = [each.name for each in results]
        return self._spread(item, rows, names, parts, [(each.type, True) for each in results])

    def _elements(self, item: nodes.ElementTable) -> Joined:
        """The elements of a collection; the fields of elements that are rows are columns (documented)."""
        if isinstance(item.collection, nodes.Call) and self._is_iterator(item.collection):
            return self._rows_of_routine(
                nodes.RoutineTable(item.offset, item.collection, item.alias, item.columns)
            )
        translator = Expressions(self.context, Scope(parent=self.scope.parent), self.queries)
        value = translator.typed(item.collection)
        if not isinstance(value.type, ComplexType) or value.type.code == TypeCode.ROW:
            raise SqlError(-201, offset=item.offset)
        element = value.type.element
        if isinstance(element, ComplexType) and element.code == TypeCode.ROW:
            names: Sequence[str] = element.names
            types = [(part, True) for part in element.parts]
            values: list[Node] = [
                call("ifx_field", unquoted("", "value"), index) for index in range(len(element.parts))
            ]
        else:
            names, types = ("(expression)",), [(element, False)]
            values = [unquoted("", "value")]
        return self._spread(item, value.sql, names, values, types)

    def _is_iterator(self, node: nodes.Call) -> bool:
        """Whether it calls a routine in SPL whose result is not a collection."""
        found = self.context.schema.routines_named(node.name, node.routine.owner)
        return any(each.results and not isinstance(each.result, ComplexType) for each in found)

    def _spread(
        self,
        item: nodes.ElementTable | nodes.RoutineTable,
        array: Node,
        names: Sequence[str],
        values: Sequence[Node],
        types: Sequence[tuple[SqlType, bool]],
    ) -> Joined:
        """A row for each item of a JSON array, with *values* of ``value`` as columns."""
        called = [name.text for name in item.columns] or names
        if len(called) != len(types):
            raise SqlError(-201, offset=item.offset)
        alias = self.context.alias()
        selected = listed(sql("{} AS c{}", each, number) for number, each in enumerate(values, start=1))
        label = item.alias.text if item.alias else ""
        source = Source(label, alias, derived_columns(alias, called, types))
        return Joined(
            sql("({}) AS {}", query_sql("SELECT {} FROM json_each({})", selected, array), alias), [source]
        )

    # --- ANSI joins ---------------------------------------------------------------------------------------------------

    def _join(self, join: nodes.Join) -> Joined:
        left, right = self._item(join.left), self._item(join.right)
        sources = [*left.sources, *right.sources]
        laterals = left.laterals + right.laterals
        if right.is_join:
            right.require_closed()
        if join.condition is None:
            return Joined(sql("{} JOIN {}", left.node, right.operand), sources, True, laterals)
        condition = self._condition(join.condition, sources)
        match join.kind:
            case "left":
                _supplied(right.sources)
                return Joined(
                    sql("{} LEFT JOIN {} ON {}", left.node, right.operand, condition), sources, True, laterals
                )
            case "right":
                left.require_closed()
                right.require_closed()
                _supplied(left.sources)
                return Joined(
                    sql("{} LEFT JOIN {} ON {}", right.node, left.operand, condition), sources, True, laterals
                )
            case "full":
                left.require_closed()
                right.require_closed()
                # The text of a FULL JOIN contains its sides two or three times.
                if len(render(left.node)) > _LONGEST_SIDE:
                    raise SqlError(-999, token="FULL JOIN", offset=join.offset)
                return self._full_join(left, right, condition)
            case _:
                return Joined(
                    sql("{} JOIN {} ON {}", left.node, right.operand, condition), sources, True, laterals
                )

    def _condition(self, condition: nodes.Expression, sources: list[Source]) -> Node:
        scope = Scope(sources, self.scope.parent, self.scope.common)
        return Expressions(self.context, scope, self.queries).condition(condition)

    def _full_join(self, left: Joined, right: Joined, condition: Node) -> Joined:
        """The left join, plus the rows of the right side without a match."""
        sources = [*left.sources, *right.sources]
        alias = self.context.alias()
        one = _numbered(left.sources, 1)
        other = _numbered(right.sources, len(one) + 1)
        mine = listed(sql("{} AS c{}", column.sql, number) for number, column in one)
        missing = listed(sql("NULL AS c{}", number) for number, _ in one)
        theirs = listed(sql("{} AS c{}", column.sql, number) for number, column in other)
        join = sql("{} LEFT JOIN {} ON {}", left.node, right.operand, condition)
        with_match = query_sql("SELECT {}, {} FROM {}", mine, theirs, join)
        match = query_sql("SELECT 1 FROM {} WHERE {}", left.node, condition)
        without = query_sql("SELECT {}, {} FROM {} WHERE NOT EXISTS ({})", missing, theirs, right.node, match)
        number = 0
        for source in sources:
            moved: list[SourceColumn] = []
            for column in source.columns:
                number += 1
                moved.append(replace(column, sql=unquoted(alias, number), is_nullable=True))
            source.columns, source.table = tuple(moved), None
        return Joined(sql("({} UNION ALL {}) AS {}", with_match, without, alias), sources)

    # --- Old outer joins ----------------------------------------------------------------------------------------------

    def _old_joins(self, items: Sequence[nodes.FromItem], conditions: list[nodes.Expression]) -> Node:
        level = self._level(items)
        self.scope.sources = level.sources
        self.filters = [each for each in conditions if not level.names_outer(self._aliases_in(each))]
        taken = [each for each in conditions if each not in self.filters]
        return self._joined_level(level, [(each, self._aliases_in(each)) for each in taken])

    def _level(self, items: Sequence[nodes.FromItem]) -> _OuterJoinLevel:
        preserved: list[Joined] = []
        outer: list[_OuterJoinLevel] = []
        sources: list[Source] = []
        for item in items:
            if isinstance(item, nodes.OuterTables):
                below = self._level(item.items)
                _supplied(below.sources)
                outer.append(below)
                sources += below.sources
            else:
                joined = self._item(item)
                joined.require_closed()
                preserved.append(joined)
                sources += joined.sources
        if not preserved:
            raise SqlError(-395)
        return _OuterJoinLevel(preserved, outer, sources)

    def _joined_level(self, level: _OuterJoinLevel, conditions: list[_Taken]) -> Node:
        """The preserved tables of a level; each of its OUTER groups is joined by the conditions that name its tables.

        Raises:
            SqlError: -395 an OUTER without a joining condition, -396 a condition that skips a level.
        """
        text = listed([level.preserved[0].node, *(each.operand for each in level.preserved[1:])])
        here = frozenset(source.alias for each in level.preserved for source in each.sources)
        for below in level.outer:
            names = frozenset(source.alias for source in below.sources)
            mine = [taken for taken in conditions if taken[1] & names]
            if any(taken[1] - names - here for taken in mine):
                raise SqlError(-396)
            deeper = [taken for taken in mine if below.names_outer(taken[1])]
            own = [taken for taken in mine if taken not in deeper]
            if not any(taken[1] & here for taken in own):
                raise SqlError(-395)
            if any(taken[1] & here for taken in deeper):
                raise SqlError(-396)
            inner = self._joined_level(below, deeper)
            needs = len(below.preserved) > 1 or bool(below.outer) or below.preserved[0].is_join
            matches = logic("AND", [self._condition(taken[0], self.scope.sources) for taken in own])
            text = sql("{} LEFT JOIN {} ON {}", text, sql("({})", inner) if needs else inner, matches)
        return text

    def _aliases_in(self, condition: nodes.Expression) -> frozenset[str]:
        """The sources of this SELECT that a condition names."""
        found: set[str] = set()
        own = {source.alias for source in self.scope.sources}
        for node in nodes.walk(condition):
            if isinstance(node, nodes.Column | nodes.FieldAccess):
                try:
                    scope, column = self.scope.find(node)
                except SqlError:
                    continue  # in a subquery, whose own translation reports the error
                alias = _alias_of(column)
                if scope is self.scope and alias in own:
                    found.add(alias)
        return frozenset(found)


_Taken = tuple[nodes.Expression, frozenset[str]]


@dataclass(slots=True)
class _OuterJoinLevel:
    """The tables of one list: the preserved ones, and the OUTER groups."""

    preserved: list[Joined]
    outer: list[_OuterJoinLevel]
    sources: list[Source]

    def names_outer(self, aliases: frozenset[str]) -> bool:
        """Whether a condition names a table of one of the OUTER groups."""
        return any(source.alias in aliases for below in self.outer for source in below.sources)


def _alias_of(column: SourceColumn) -> str:
    """The source of a column."""
    named = walk(column.base or column.sql)
    return next((each.alias for each in named if isinstance(each, Column)), "")


def _supplied(sources: Iterable[Source]) -> None:
    for source in sources:
        source.supplied_by_join()


def _numbered(sources: Iterable[Source], start: int) -> list[tuple[int, SourceColumn]]:
    return list(enumerate((column for source in sources for column in source.columns), start))


def _conjuncts(where: nodes.Expression | None) -> list[nodes.Expression]:
    if where is None:
        return []
    return list(where.operands) if isinstance(where, nodes.And) else [where]
