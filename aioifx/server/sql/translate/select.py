"""SELECT -> relations: select lists, grouping, unions, WITH, ORDER BY, SKIP, FIRST, LIMIT. Never: how rows are used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final, TypeAlias

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import require_columns
from aioifx.server.sql.model.type_rules import INTEGER, common, is_large
from aioifx.server.sql.sqlite.tree import Literal, Node, Parameter, Piece, call, listed, logic, sql, unquoted
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.complex_types import require_ordered
from aioifx.server.sql.translate.expressions import Expressions
from aioifx.server.sql.translate.from_clause import FromClause
from aioifx.server.sql.translate.grouping import Grouping, Item, default_name, name_of
from aioifx.server.sql.translate.hierarchies import hierarchy_source
from aioifx.server.sql.translate.large_objects import NO_DISTINCT, NO_ORDER, refuse_large
from aioifx.server.sql.translate.local_variables import sources_of
from aioifx.server.sql.translate.relations import Block, Combined, Relation, Rows, is_shown
from aioifx.server.sql.translate.scopes import CommonTable, Context, Scope, SourceColumn
from aioifx.server.sql.translate.sqlite_ddl import collated
from aioifx.server.sql.translate.typed import Typed
from aioifx.server.sql.translate.windows import directed
from aioifx.sqltypes import SqlType


class Place(Enum):
    """The place of a query, which determines whether it may have FIRST and SKIP (-944)."""

    STATEMENT = auto()
    INSERT = auto()
    FROM = auto()
    SUBQUERY = auto()
    PART = auto()
    """One side of a recursive common table's UNION; a part of any other UNION has the place of the whole."""
    VIEW = auto()


_MOST_ROWS: Final = 2**31 - 1
"""The greatest number of FIRST, SKIP and LIMIT, an INTEGER; assumed: -1215 for a greater one."""
_COUNTED: Final = frozenset({Place.STATEMENT, Place.FROM})
_Counts: TypeAlias = Sequence[nodes.RowCount]
_OPERATORS: Final = {"union": "UNION", "intersect": "INTERSECT", "minus": "EXCEPT"}


@dataclass(slots=True)
class QueryTranslator:
    """Translates queries of one statement."""

    context: Context

    def subquery(self, query: nodes.Query, scope: Scope) -> Relation:
        """A query inside an expression."""
        return self.query(query, scope, Place.SUBQUERY)

    def derived(self, query: nodes.Query, scope: Scope | None) -> Relation:
        """A query in FROM; without a scope, the query of a view."""
        return self.query(query, scope, Place.FROM)

    def query(self, query: nodes.Query, parent: Scope | None, place: Place) -> Relation:
        """A whole query."""
        if query.into_temp is not None and place is not Place.STATEMENT:
            raise SqlError(-201, offset=query.into_temp.offset)
        outer = Scope(parent=parent)
        common = self._with(query, outer)
        head = query.body if isinstance(query.body, nodes.Select) else None
        skip, first = self._limits(query, head, place)
        if head is None:
            rows: Rows = self._body(query.body, outer, place)
            order = self._order_of_rows(query.order_by, rows)
        else:
            sequences = 0 if place in (Place.STATEMENT, Place.INSERT) and not head.is_distinct else -201
            rows, order = self._ordered_select(head, outer, query, sequences)
        return Relation(rows, common, order, _limit_clause(skip, first))

    # --- WITH ---------------------------------------------------------------------------------------------------------

    def _with(self, query: nodes.Query, scope: Scope) -> Piece:
        if not query.common_tables:
            return ""
        parts: list[Node] = []
        for table in query.common_tables:
            alias = self.context.alias()
            relation = self._common_table(table, alias, scope)
            names = [name.text for name in table.columns] or list(relation.names)
            if len(names) != len(relation.outputs):
                raise SqlError(-201, offset=table.offset)
            scope.common[table.name.text] = _common(alias, names, relation.outputs)
            columns = listed(f"c{number}" for number in range(1, len(names) + 1))
            parts.append(sql("{}({}) AS ({})", alias, columns, relation.query()))
        return sql("WITH RECURSIVE {} ", listed(parts))

    def _common_table(self, table: nodes.CommonTable, alias: str, scope: Scope) -> Relation:
        body = table.query.body
        if not (isinstance(body, nodes.SetOperation) and _mentions(body.right, table.name.text)):
            return self.query(table.query, scope, Place.FROM)
        start = self._body(body.left, scope, Place.PART)
        names = [name.text for name in table.columns] or list(start.names)
        if len(names) != len(start.outputs):
            raise SqlError(-201, offset=table.offset)
        outputs = tuple(replace(output, is_nullable=True) for output in start.outputs)
        scope.common[table.name.text] = _common(alias, names, outputs)
        step = self._body(body.right, scope, Place.PART)
        if len(step.outputs) != len(outputs):
            raise SqlError(-317, offset=body.operator_offset)
        return Relation(Combined("UNION ALL" if body.is_all else "UNION", start, step, outputs))

    # --- Parts --------------------------------------------------------------------------------------------------------

    def _body(self, body: nodes.QueryBody, scope: Scope, place: Place) -> Rows:
        match body:
            case nodes.Select():
                skip, first = self._counts(_given(body.skip), _given(body.first), place)
                rows = self._select(body, scope)[0]
                return Relation(rows, limit=_limit_clause(skip, first)) if skip or first else rows
            case nodes.SetOperation():
                return self._combined(body, scope, place)
            case nodes.Query():
                return self.query(body, scope, Place.FROM if place is Place.PART else place)

    def _combined(self, node: nodes.SetOperation, scope: Scope, place: Place) -> Combined:
        left, right = self._body(node.left, scope, place), self._body(node.right, scope, place)
        if len(left.outputs) != len(right.outputs):
            raise SqlError(-317, offset=node.operator_offset)
        outputs: list[Typed] = []
        for one, other in zip(left.outputs, right.outputs, strict=True):
            type_ = common(one.known_type, other.known_type)
            if type_ is None:
                raise SqlError(-308, offset=node.operator_offset)
            if is_large(type_) and not node.is_all:
                raise SqlError(NO_DISTINCT, offset=node.operator_offset)  # assumed: the SQLCODE of DISTINCT
            if not node.is_all:
                require_ordered(type_, node.operator_offset)
            outputs.append(Typed(one.sql, type_, one.is_nullable or other.is_nullable))
        operator = _OPERATORS[node.operator] + (" ALL" if node.is_all else "")
        return Combined(operator, left, right, tuple(outputs))

    def _ordered_select(
        self, node: nodes.Select, scope: Scope, query: nodes.Query, sequences: int
    ) -> tuple[Rows, Piece]:
        order_by, siblings = ((), query.order_by) if query.orders_siblings else (query.order_by, ())
        select, translator = self._select(node, scope, order_by, sequences, siblings)
        keys = [self._key(item, node, select, translator) for item in order_by]
        return select, sql(" ORDER BY {}", listed(keys)) if keys else ""

    def _select(
        self,
        node: nodes.Select,
        parent: Scope,
        order_by: Sequence[nodes.OrderItem] = (),
        sequences: int = -201,
        siblings: Sequence[nodes.OrderItem] = (),
    ) -> tuple[Block, Expressions]:
        """One SELECT, and the translator of its ORDER BY keys."""
        if not node.from_items:
            raise SqlError(-201, offset=node.offset)
        require_columns(len(node.items), node.offset)
        scope = Scope(parent=parent)
        if node.hierarchy is None:
            clause = FromClause(self.context, scope, self)
            source, filters = clause.joined(node.from_items, node.where), clause.filters
        else:
            source = hierarchy_source(node, node.hierarchy, order_by, siblings, self.context, scope, self)
            filters = [] if node.where is None else [node.where]
        plain = Expressions(self.context, scope, self)
        source = listed([source, *sources_of(filters, plain)])
        where: Piece = ""
        if filters:
            where = sql(" WHERE {}", logic("AND", [plain.condition(each) for each in filters]))
        scope.correlated.clear()  # subqueries in WHERE see single rows
        lists = Expressions(self.context, scope, self, allows_aggregates=True)
        items = list(self._items(node, scope, replace(lists, sequences=sequences)))
        for _, output, _ in items if node.is_distinct else ():
            require_ordered(output.type, node.offset)
        require_columns(len(items), node.offset)
        grouping = Grouping(lists, node, items)
        having: Piece = ""
        if node.having is not None:
            having = sql(" HAVING {}", lists.condition(node.having))
        tail = sql(" FROM {}{}{}{}", source, where, grouping.clause(), having)
        grouping.check(items, order_by)
        names, outputs = tuple(name for name, _, _ in items), tuple(output for _, output, _ in items)
        if node.is_distinct:
            refuse_large(outputs, NO_DISTINCT, node.offset)
        if node.having is not None and not node.group_by:
            # All rows are one group, which SQLite detects only by an aggregate in the select list.
            group = sql("CASE WHEN count(*) >= 0 THEN {} END", outputs[0].sql)
            outputs = (replace(outputs[0], sql=group, constant=None), *outputs[1:])
        is_one_row = grouping.is_grouped and not node.group_by and node.having is None
        block = Block(
            names, outputs, tail, node.is_distinct, grouping.is_grouped, is_one_row, tuple(scope.sources)
        )
        return block, lists

    def _items(self, node: nodes.Select, scope: Scope, lists: Expressions) -> Iterator[Item]:
        """Name and value of each column of a select list, and its expression unless it comes from a star."""
        for item in node.items:
            if isinstance(item.expression, nodes.Star):
                if self.context.names is not None:
                    sources = scope.starred_sources(item.expression)
                    self.context.names.stars.append((item.expression, sources))
                for column in scope.starred(item.expression):
                    _shown(column.type, item.offset)
                    yield column.name, Typed(column.sql, column.type, column.is_nullable), None
                continue
            value = lists.any_value(item.expression)
            if value.type is None:
                raise SqlError(-201, offset=item.expression.offset)
            _shown(value.known_type, item.offset)
            if not isinstance(item.expression, nodes.Column):
                value = replace(value, is_nullable=True)
            name = item.label.text if item.label else default_name(item.expression)
            yield name, value, item.expression

    # --- ORDER BY, SKIP, FIRST ----------------------------------------------------------------------------------------

    def _key(self, item: nodes.OrderItem, node: nodes.Select, block: Block, translator: Expressions) -> Node:
        """A key: a position, a label, a column of the list, or, without DISTINCT, any other expression."""
        position = _position(item, block)
        if position is None:
            value = translator.any_value(item.expression)
            refuse_large([value], NO_ORDER, item.offset)
            require_ordered(value.type, item.offset)
            outputs = [output.sql for output in block.outputs]
            if value.sql not in outputs:
                if node.is_distinct:
                    raise SqlError(-309, token=name_of(item.expression), offset=item.offset)
                return directed(collated(value.sql, value.type), item)
            position = outputs.index(value.sql) + 1
        refuse_large([block.outputs[position - 1]], NO_ORDER, item.offset)
        require_ordered(block.outputs[position - 1].type, item.offset)
        return directed(collated(Literal(position), block.outputs[position - 1].type), item)

    def _order_of_rows(self, order_by: Sequence[nodes.OrderItem], rows: Rows) -> Piece:
        """The keys of a compound select: positions or names of its columns."""
        keys: list[Node] = []
        for item in order_by:
            position = _position(item, rows)
            if position is None:
                raise SqlError(-309, token=name_of(item.expression), offset=item.offset)
            refuse_large([rows.outputs[position - 1]], NO_ORDER, item.offset)
            require_ordered(rows.outputs[position - 1].type, item.offset)
            keys.append(directed(collated(Literal(position), rows.outputs[position - 1].type), item))
        return sql(" ORDER BY {}", listed(keys)) if keys else ""

    def _limits(self, query: nodes.Query, head: nodes.Select | None, place: Place) -> tuple[Piece, Piece]:
        """SKIP and FIRST, or SKIP and LIMIT."""
        skips = _given(head.skip if head else None, query.skip)
        firsts = _given(head.first if head else None, query.limit)
        return self._counts(skips, firsts, place)

    def _counts(self, skips: _Counts, firsts: _Counts, place: Place) -> tuple[Piece, Piece]:
        for each in (skips, firsts):
            if len(each) > 1:
                raise SqlError(-201, offset=each[1].offset)
        if (skips or firsts) and place not in _COUNTED:
            raise SqlError(-944, offset=(skips or firsts)[0].offset)
        return self._count(skips), self._count(firsts)

    def _count(self, counts: _Counts) -> Piece:
        if not counts:
            return ""
        (node,) = counts
        if isinstance(node, nodes.Parameter):
            return call("ifx_count", self.context.parameter(node, INTEGER, exact=True))
        if isinstance(node, nodes.Variable):
            return call("ifx_count", Parameter(node.index + 1))
        if isinstance(node, nodes.Column):
            raise SqlError(-201, offset=node.offset)
        if not isinstance(node.value, int):
            raise SqlError(-201, offset=node.offset)
        if node.value > _MOST_ROWS:
            raise SqlError(-1215, offset=node.offset)
        return Literal(node.value)


def _given(*counts: nodes.RowCount | None) -> _Counts:
    return [each for each in counts if each is not None]


def _limit_clause(skip: Piece, first: Piece) -> Piece:
    """SQLite's LIMIT; -1 stands for all rows."""
    if not skip and not first:
        return ""
    return sql(" LIMIT {}{}", first or -1, sql(" OFFSET {}", skip) if skip else "")


def _position(item: nodes.OrderItem, rows: Rows) -> int | None:
    """The column that a key refers to by its number or its name."""
    expression = item.expression
    if isinstance(expression, nodes.Number):
        if not isinstance(expression.value, int) or not 1 <= expression.value <= len(rows.outputs):
            raise SqlError(-251, offset=expression.offset)
        return expression.value
    if isinstance(expression, nodes.Column) and expression.table is None and expression.name in rows.names:
        return rows.names.index(expression.name) + 1
    return None


def _common(alias: str, names: Sequence[str], outputs: Sequence[Typed]) -> CommonTable:
    columns = (
        SourceColumn(name, unquoted(alias, number), output.known_type, output.is_nullable)
        for number, (name, output) in enumerate(zip(names, outputs, strict=True), start=1)
    )
    return CommonTable(alias, tuple(columns))


def _mentions(body: nodes.QueryBody, name: str) -> bool:
    return any(isinstance(node, nodes.TableRef) and node.table.name == name for node in nodes.walk(body))


def _shown(type_: SqlType, offset: int) -> None:
    if not is_shown(type_):
        raise SqlError(-999, token=str(type_), offset=offset)
