"""CONNECT BY -> a recursive common table in SQLite, in the order of the hierarchy. Never: the SELECT's other clauses.

Invariants:
1. The common table has the columns of the SELECT's only source and more: the row's number, its level, and the numbers
   of its ancestors. Its rows are read depth-first: the deepest unread one comes next.
2. WHERE filters the rows of the complete hierarchy.

Source: documented: Hierarchical Clause, CONNECT BY Clause, ORDER SIBLINGS BY Clause; -26079 for a row that is its own
ancestor; a join and a view that cannot be updated are refused. assumed: those by -201; the filter comes last; a
condition without PRIOR has no cycles; CONNECT_BY_ISLEAF is 1 if all children are ancestors; CONNECT_BY_ISCYCLE needs
NOCYCLE.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import TableKind
from aioifx.server.sql.model.type_rules import INTEGER, LONG_TEXT
from aioifx.server.sql.sqlite.tree import Case, Literal, Node, Piece, call, listed, query_sql, sql, unquoted
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.expressions import Expressions
from aioifx.server.sql.translate.from_clause import DerivedTables, FromClause
from aioifx.server.sql.translate.scopes import Context, Scope, Source, SourceColumn, view_statement
from aioifx.server.sql.translate.sqlite_ddl import collated
from aioifx.server.sql.translate.typed import text_of
from aioifx.server.sql.translate.views import simple_reference
from aioifx.server.sql.translate.windows import directed

_CYCLE: Final = -26079
_LEAF, _IS_CYCLE = "connect_by_isleaf", "connect_by_iscycle"
_PATH: Final = "sys_connect_by_path"


class _Rows(NamedTuple):
    """The rows of which a hierarchy consists."""

    node: Node
    """What FROM names."""
    source: Source
    number: Node
    """The expression that identifies a row."""
    common: Piece = ""
    """A common table that `node` names."""


def hierarchy_source(
    node: nodes.Select,
    hierarchy: nodes.Hierarchy,
    order_by: Sequence[nodes.OrderItem],
    siblings: Sequence[nodes.OrderItem],
    context: Context,
    scope: Scope,
    queries: DerivedTables,
) -> Node:
    """What stands after FROM; adds the source, LEVEL and similar columns to the scope.

    Args:
        order_by: the keys of ORDER BY
        siblings: the keys of ORDER SIBLINGS BY

    Raises:
        SqlError: -201, the hierarchy is not that of one table, updatable view or query.
    """
    return _Translator(node, hierarchy, order_by, siblings, context, scope, queries).source()


@dataclass(slots=True)
class _Translator:
    node: nodes.Select
    hierarchy: nodes.Hierarchy
    order_by: Sequence[nodes.OrderItem]
    siblings: Sequence[nodes.OrderItem]
    context: Context
    scope: Scope
    queries: DerivedTables
    columns: list[tuple[str, Piece, Piece]] = field(default_factory=list[tuple[str, Piece, Piece]])
    """The common table's columns: name, expression for a root, expression for a child."""

    def source(self) -> Node:
        rows = self._rows()
        alias, table = self.context.alias(), self.context.alias()
        level = SourceColumn("level", unquoted(alias, "level"), INTEGER, is_nullable=False)
        named = [replace(each, sql=unquoted(alias, n)) for n, each in enumerate(rows.source.columns, start=1)]
        parent = replace(rows.source, alias=alias, columns=tuple(named), table=None, pseudo=(level,))
        condition = self._condition(rows.source, parent)
        cycle: Node = Literal(0)
        if self._has_prior():
            cycle = sql("instr({}.ancestors, ',' || {} || ',')", alias, rows.number)
        followed = sql("{} AND NOT {}", condition, cycle) if self.hierarchy.is_nocycle else condition
        self._add_columns(rows, alias, cycle)
        plain = Scope([rows.source], self.scope.parent)
        self.scope.paths = self._add_paths(plain, alias)
        keys = self._add_keys(plain)
        names, roots, children = zip(*self.columns, strict=True)
        of_roots = query_sql("SELECT {} FROM {}{}", listed(roots), rows.node, self._start(plain))
        of_children = query_sql(
            "SELECT {} FROM {} AS {} JOIN {} ON {} ORDER BY {}",
            listed(children),
            table,
            alias,
            rows.node,
            followed,
            listed(["2 DESC", *keys, "1"]),
        )
        common = sql(
            "WITH RECURSIVE {}{}({}) AS ({} UNION ALL {})",
            rows.common,
            table,
            listed(names),
            of_roots,
            of_children,
        )
        tests = {_LEAF: sql("NOT EXISTS (SELECT 1 FROM {} WHERE {})", rows.node, followed)}
        if self.hierarchy.is_nocycle:
            tests[_IS_CYCLE] = sql("EXISTS (SELECT 1 FROM {} WHERE {} AND {})", rows.node, condition, cycle)
        shown = {name: test for name, test in tests.items() if name in self._named()}
        pseudo = [level, *(SourceColumn(name, unquoted(alias, name), INTEGER, False) for name in shown)]
        if rows.source.table is not None:
            pseudo.append(SourceColumn("rowid", unquoted(alias, "number"), INTEGER, False))
        self.scope.sources = [replace(parent, pseudo=tuple(pseudo))]
        of_root = tuple(replace(each, sql=unquoted(alias, f"r{n}")) for n, each in enumerate(named, start=1))
        self.scope.ancestors = {"root": Scope([replace(parent, columns=of_root)], self.scope.parent)}
        tested = listed((sql(", {} AS {}", test, name) for name, test in shown.items()), "")
        query = query_sql("{} SELECT {}.*{} FROM {} AS {}", common, alias, tested, table, alias)
        return sql("({}) AS {}", query, alias)

    def _rows(self) -> _Rows:
        item = self.node.from_items[0]
        if len(self.node.from_items) > 1 or isinstance(item, nodes.Join | nodes.OuterTables):
            raise SqlError(-201, offset=self.hierarchy.offset)
        scope = Scope(parent=self.scope.parent)
        if isinstance(item, nodes.TableRef) and scope.common_table(item.table.name) is None:
            self._require_updatable(item.table)
        joined = FromClause(self.context, scope, self.queries).joined(self.node.from_items, None)
        (source,) = scope.sources
        if source.table is not None and not source.table.generated:
            return _Rows(joined, source, unquoted(source.alias, "rowid"))
        common = self.context.alias()
        names = [f"c{n}" for n in range(1, len(source.columns) + 1)]
        values = listed(column.sql for column in source.columns)
        query = query_sql("SELECT row_number() OVER (), {} FROM {}", values, joined)
        table = sql("{}(number, {}) AS MATERIALIZED ({}), ", common, listed(names), query)
        columns = (
            replace(column, sql=unquoted(source.alias, name), base=None)
            for name, column in zip(names, source.columns, strict=True)
        )
        source = replace(source, columns=tuple(columns), table=None)
        number = unquoted(source.alias, "number")
        return _Rows(sql("{} AS {}", common, source.alias), source, number, table)

    def _require_updatable(self, name: nodes.QualifiedName) -> None:
        table = self.context.table(name)
        if table.kind is not TableKind.VIEW or table.is_system:
            return
        if simple_reference(view_statement(table).query) is None:
            raise SqlError(-201, offset=self.hierarchy.offset)

    def _has_prior(self) -> bool:
        return any(
            isinstance(each, nodes.Ancestor) and each.kind == "prior"
            for each in nodes.walk(self.hierarchy.condition)
        )

    def _start(self, scope: Scope) -> Piece:
        start = self.hierarchy.start
        if start is None:
            return ""
        return sql(" WHERE {}", Expressions(self.context, scope, self.queries).condition(start))

    def _condition(self, candidate: Source, parent: Source) -> Node:
        level = SourceColumn("level", sql("({}.level + 1)", parent.alias), INTEGER, is_nullable=False)
        prior = Scope([parent], self.scope.parent)
        scope = Scope([replace(candidate, pseudo=(level,))], self.scope.parent, ancestors={"prior": prior})
        return Expressions(self.context, scope, self.queries).condition(self.hierarchy.condition)

    # --- Columns ------------------------------------------------------------------------------------------------------

    def _add_columns(self, rows: _Rows, alias: str, cycle: Node) -> None:
        number = rows.number
        first: Node = Literal("")
        child: Node = first
        if self._has_prior():
            first = sql("',' || {} || ','", number)
            child = sql("{}.ancestors || {} || ','", alias, number)
            if not self.hierarchy.is_nocycle:
                child = Case(((cycle, call("ifx_raise", _CYCLE)),), child)
        self.columns += [
            ("number", number, number),
            ("level", Literal(1), sql("{}.level + 1", alias)),
            ("ancestors", first, child),
        ]
        texts = [column.sql for column in rows.source.columns]
        self.columns += [(f"c{n}", text, text) for n, text in enumerate(texts, start=1)]
        if any(isinstance(each, nodes.Ancestor) and each.kind == "root" for each in self._nodes()):
            self.columns += [
                (f"r{n}", text, unquoted(alias, f"r{n}")) for n, text in enumerate(texts, start=1)
            ]

    def _add_paths(self, scope: Scope, alias: str) -> Mapping[int, SourceColumn]:
        """The values of SYS_CONNECT_BY_PATH.

        assumed: the type of SYS_CONNECT_BY_PATH is the longest LVARCHAR

        Raises:
            SqlError: -664, wrong number of arguments; -201, the second is not a quoted string.
        """
        paths: dict[int, SourceColumn] = {}
        for node in self._nodes():
            if not isinstance(node, nodes.Call) or node.name != _PATH or node.offset in paths:
                continue
            if len(node.arguments) != 2:
                raise SqlError(-664, token=node.name, offset=node.offset)
            value, separator = node.arguments
            if not isinstance(separator, nodes.String):
                raise SqlError(-201, offset=separator.offset)
            typed = Expressions(self.context, scope, self.queries).value(value, LONG_TEXT)
            part = sql("{} || coalesce({}, '')", Literal(separator.value), text_of(typed))
            name = f"p{len(paths) + 1}"
            self.columns.append((name, part, sql("{}.{} || {}", alias, name, part)))
            paths[node.offset] = SourceColumn(_PATH, unquoted(alias, name), LONG_TEXT, is_nullable=False)
        return paths

    def _add_keys(self, scope: Scope) -> list[Node]:
        """The keys of ORDER SIBLINGS BY."""
        keys: list[Node] = []
        for number, item in enumerate(self.siblings, start=1):
            value = Expressions(self.context, scope, self.queries).typed(self._key(item))
            self.columns.append((f"k{number}", value.sql, value.sql))
            keys.append(directed(collated(Literal(len(self.columns)), value.type), item))
        return keys

    def _key(self, item: nodes.OrderItem) -> nodes.Expression:
        """The expression of a key, which may be the number or the label of a column."""
        key, listed = item.expression, [each.expression for each in self.node.items]
        if isinstance(key, nodes.Number):
            if not isinstance(key.value, int) or not 1 <= key.value <= len(listed):
                raise SqlError(-251, offset=key.offset)
            found = listed[key.value - 1]
            if isinstance(found, nodes.Star):
                raise SqlError(-999, token="ORDER SIBLINGS BY", offset=key.offset)
            return found
        if isinstance(key, nodes.Column) and key.table is None:
            for each in self.node.items:
                is_named = each.label is not None and each.label.text == key.name
                if is_named and not isinstance(each.expression, nodes.Star):
                    return each.expression
        return key

    def _nodes(self) -> Iterator[nodes.Node]:
        """All nodes of the SELECT but its FROM and its hierarchy, in which other names apply."""
        parts = (*self.node.items, self.node.where, *self.node.group_by, self.node.having, *self.order_by)
        for part in parts:
            if part is not None:
                yield from nodes.walk(part)

    def _named(self) -> set[str]:
        return {each.name for each in self._nodes() if isinstance(each, nodes.Column)}
