"""Window functions: ranks, neighbours, aggregates OVER (..). Never: which rows a query has.

The order of rows is by Informix's rules, the windows are SQLite's.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Final, Protocol

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.type_rules import (
    BIGINT,
    FLOAT,
    INTEGER,
    NUMERIC,
    Family,
    decimal,
    family_of,
    plain,
)
from aioifx.server.sql.sqlite.tree import Literal, Node, Piece, call, listed, sql
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.arithmetic import aggregated, arithmetic
from aioifx.server.sql.translate.calls import CallTranslator
from aioifx.server.sql.translate.sqlite_ddl import collated
from aioifx.server.sql.translate.typed import Typed, cast

_RANKING: Final = {"row_number", "rank", "dense_rank", "denserank", "ntile"}
_FRACTIONS: Final = {"percent_rank", "cume_dist"}
_RATIOS: Final = {"ratio_to_report", "ratiotoreport"}
_NOT_NUMERIC: Final = -25862
_NEIGHBOURS: Final = {"lag", "lead", "first_value", "last_value"}
_COUNTS: Final = (
    dict.fromkeys(_RANKING | _FRACTIONS, (0, 0))
    | dict.fromkeys(("ntile", "first_value", "last_value", *_RATIOS), (1, 1))
    | dict.fromkeys(("lag", "lead"), (1, 3))
)
"""The least and the greatest number of arguments of each function (documented: OLAP window expressions)."""


class WindowTranslator(CallTranslator, Protocol):
    """A translator that supports aggregates."""

    def aggregate_in_window(self, node: nodes.Aggregate, over: Node) -> Typed: ...


def window(translator: WindowTranslator, node: nodes.Window) -> Typed:
    """``function OVER (..)``; the order of rows is by Informix's rules, the rest is SQLite's own."""
    function = node.function
    over = _over(translator, node)
    if isinstance(function, nodes.Aggregate):
        return translator.aggregate_in_window(function, over)
    name = function.name
    if name not in _COUNTS:
        raise SqlError(-674, token=name, offset=node.offset)
    least, most = _COUNTS[name]
    if not least <= len(function.arguments) <= most:
        raise SqlError(-664, token=name, offset=node.offset)
    if name in _RANKING:
        arguments = (translator.typed(each, INTEGER).sql for each in function.arguments)
        sqlite = "dense_rank" if name == "denserank" else name
        return Typed(sql("{} {}", call(sqlite, *arguments), over), BIGINT, False)
    if name in _FRACTIONS:
        return Typed(sql("{}() {}", name, over), FLOAT, False)
    if name in _NEIGHBOURS:
        return _neighbour(translator, function, over)
    return _ratio(translator, function.arguments[0], over)


def _ratio(translator: CallTranslator, node: nodes.Expression, over: Node) -> Typed:
    """RATIO_TO_REPORT: a number divided by the sum of its window.

    Source: documented: RATIO_TO_REPORT function. assumed: the type of a division; NULL where the sum is 0

    Raises:
        SqlError: -25862, it is not a number (documented).
    """
    value = translator.typed(node, decimal())
    if family_of(value.known_type) not in NUMERIC:
        raise SqlError(_NOT_NUMERIC, offset=node.offset)
    total = aggregated("sum", value, "", node.offset, sql(" {}", over))
    zero = Literal(0.0 if family_of(total.known_type) is Family.FLOAT else "0")
    divisor = replace(total, sql=call("nullif", total.sql, zero))
    result = FLOAT if family_of(total.known_type) is Family.FLOAT else decimal()
    return Typed(arithmetic("/", value, divisor, result), result)


def _neighbour(translator: CallTranslator, function: nodes.Call, over: Node) -> Typed:
    value, *rest = function.arguments
    first = translator.typed(value)
    arguments = [first.sql]
    if rest:
        arguments.append(translator.typed(rest[0], INTEGER).sql)
    if len(rest) > 1:
        arguments.append(cast(translator.value(rest[1], first.known_type), first.known_type))
    return Typed(sql("{} {}", call(function.name, *arguments), over), plain(first.known_type))


def _over(translator: CallTranslator, node: nodes.Window) -> Node:
    parts: list[Node] = []
    if node.partition_by:
        keys = [translator.typed(each) for each in node.partition_by]
        parts.append(sql("PARTITION BY {}", listed(collated(key.sql, key.type) for key in keys)))
    if node.order_by:
        ordered = _ordered_for_offsets if _has_offsets(node.frame) else _ordered
        parts.append(sql("ORDER BY {}", listed(ordered(translator, item) for item in node.order_by)))
    if node.frame is not None:
        unit, start, end = (
            node.frame.unit.upper(),
            _frame_bound(node.frame.start),
            _frame_bound(node.frame.end),
        )
        parts.append(sql("{} BETWEEN {} AND {}", unit, start, end))
    return sql("OVER ({})", listed(parts, " "))


def _ordered(translator: CallTranslator, item: nodes.OrderItem) -> Node:
    key = translator.typed(item.expression)
    return directed(collated(key.sql, key.type), item)


def _has_offsets(frame: nodes.Frame | None) -> bool:
    """Whether a frame is given by distances from the current row's key."""
    return frame is not None and frame.unit == "range" and bool(frame.start.count or frame.end.count)


def _ordered_for_offsets(translator: CallTranslator, item: nodes.OrderItem) -> Node:
    """A key to which SQLite can add a number; decimals are stored as text."""
    key = translator.typed(item.expression)
    family = family_of(key.known_type)
    if family is Family.DECIMAL:
        return directed(sql("CAST({} AS REAL)", key.sql), item)
    if family not in (Family.INTEGER, Family.FLOAT, Family.DATE):
        raise SqlError(-999, token=f"RANGE with an offset for {key.known_type}", offset=item.offset)
    return directed(key.sql, item)


def directed(key: Piece, item: nodes.OrderItem) -> Node:
    """An ordering key with its direction."""
    direction = " DESC" if item.is_descending else ""
    if item.nulls_first is not None:
        direction += " NULLS FIRST" if item.nulls_first else " NULLS LAST"
    return sql("{}{}", key, direction)


def _frame_bound(bound: nodes.FrameBound) -> str:
    if bound.kind == "current":
        return "CURRENT ROW"
    if bound.count is None:
        return f"UNBOUNDED {bound.kind.upper()}"
    if not isinstance(bound.count, nodes.Number) or isinstance(bound.count.value, Decimal):
        raise SqlError(-201, offset=bound.offset)
    return f"{bound.count.value} {bound.kind.upper()}"
