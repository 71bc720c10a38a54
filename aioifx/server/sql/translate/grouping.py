"""GROUP BY and HAVING: which expressions they allow, and the names of columns without a label. Never: their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.sqlite.tree import NULL, Piece, listed, sql
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.complex_types import require_ordered
from aioifx.server.sql.translate.expressions import Expressions
from aioifx.server.sql.translate.large_objects import NO_GROUP, refuse_large
from aioifx.server.sql.translate.sqlite_ddl import collated
from aioifx.server.sql.translate.typed import Typed

_AGGREGATE: Final = -321
"""Cannot group by an aggregate column (documented)."""

Item: TypeAlias = tuple[str, Typed, nodes.Expression | None]
"""Name and value of a column of a select list, and its expression unless it comes from a star."""


def name_of(node: nodes.Expression) -> str:
    """The name of a column; empty for other expressions."""
    return node.name if isinstance(node, nodes.Column) else ""


def default_name(node: nodes.Expression) -> str:
    """The name of a column without a label.

    observed: ``(constant)``; the others follow the same pattern. assumed: ``nextval``, ``currval``.
    """
    match node:
        case nodes.Column():
            return node.name
        case nodes.FieldAccess():
            return node.fields[-1]
        case nodes.Subscript():
            return node.operand.name
        case nodes.Number() | nodes.String() | nodes.DatetimeLiteral() | nodes.IntervalLiteral():
            return "(constant)"
        case nodes.Unary() if isinstance(node.operand, nodes.Number):
            return "(constant)"
        case nodes.SequenceValue():
            return node.kind
        case nodes.Aggregate():
            return "(count(*))" if node.argument is None else f"({node.name})"
        case _:
            return "(expression)"


class Grouping:
    """GROUP BY, and the expressions that it allows."""

    def __init__(self, translator: Expressions, node: nodes.Select, items: Sequence[Item]) -> None:
        self._translator = translator
        self._node = node
        self._keys = [self._key(each, items) for each in node.group_by]
        self._nodes = {key.sql for key in self._keys}
        parts = [item.expression for item in node.items if not isinstance(item.expression, nodes.Star)]
        self.is_grouped = (
            bool(node.group_by) or node.having is not None or any(has_aggregate(part) for part in parts)
        )

    def _key(self, node: nodes.Expression, items: Sequence[Item]) -> Typed:
        if isinstance(node, nodes.Number):
            if not isinstance(node.value, int) or not 1 <= node.value <= len(items):
                raise SqlError(-251, offset=node.offset)
            _, key, expression = items[node.value - 1]
            if expression is not None and has_aggregate(expression):
                raise SqlError(_AGGREGATE, offset=node.offset)
            if expression is not None and any(
                isinstance(each, nodes.Window) for each in nodes.walk(expression)
            ):
                raise SqlError(-201, offset=node.offset)
        else:
            key = replace(self._translator, allows_aggregates=False).any_value(node)
        refuse_large([key], NO_GROUP, node.offset)
        require_ordered(key.type, node.offset)
        if key.type is None:
            raise SqlError(-201, offset=node.offset)
        return key

    def clause(self) -> Piece:
        """SQLite's GROUP BY; a constant would be treated as a position there."""
        if not self._keys:
            return ""
        keys = (collated(key.sql, key.type) if key.constant is None else NULL for key in self._keys)
        return sql(" GROUP BY {}", listed(keys))

    def check(self, items: Sequence[Item], order_by: Sequence[nodes.OrderItem]) -> None:
        """Refuse columns that are neither grouped nor in an aggregate.

        Raises:
            SqlError: -294 such a column, -303 one and an aggregate in the same expression.
        """
        if not self.is_grouped and not any(has_aggregate(item.expression) for item in order_by):
            return
        for name, output, expression in items:
            if expression is not None:
                self._check(expression, self._sqlcode_of(expression))
            elif output.sql not in self._nodes:
                raise SqlError(-294, token=name)
        if self._node.having is not None:
            self._check(self._node.having, -294)
        for node, column in self._translator.scope.correlated:
            if column.sql not in self._nodes:
                raise SqlError(-294, token=node.name, offset=node.offset)
        labels = {item.label.text for item in self._node.items if item.label}
        for item in order_by:
            if name_of(item.expression) not in labels:
                self._check(item.expression, -294)

    def _sqlcode_of(self, expression: nodes.Expression) -> int:
        is_mixed = (
            not self._node.group_by and not isinstance(expression, nodes.Column) and has_aggregate(expression)
        )
        return -303 if is_mixed else -294

    def _check(self, node: nodes.Expression, sqlcode: int) -> None:
        if isinstance(node, nodes.Aggregate | nodes.Query | nodes.QualifiedName) or self._is_key(node):
            return
        if isinstance(node, nodes.Column | nodes.FieldAccess):
            scope, _ = self._translator.scope.find(node)
            if scope is self._translator.scope:
                raise SqlError(
                    sqlcode, token=default_name(node) if sqlcode == -294 else "", offset=node.offset
                )
            return
        for child in nodes.children(node):
            self._check(child, sqlcode)  # type: ignore[arg-type]  # children of an expression are expressions

    def _is_key(self, node: nodes.Expression) -> bool:
        try:
            return self._translator.any_value(node).sql in self._nodes
        except SqlError:
            return False  # a condition, a part of a CASE, a parameter


def has_aggregate(node: nodes.Node) -> bool:
    """Whether it contains an aggregate of this SELECT itself, not of a window or a subquery."""
    if isinstance(node, nodes.Aggregate):
        return True
    if isinstance(node, nodes.Query):
        return False
    if isinstance(node, nodes.Window):
        below = [*nodes.children(node.function), *node.partition_by, *node.order_by]
        return any(has_aggregate(child) for child in below)
    return any(has_aggregate(child) for child in nodes.children(node))
