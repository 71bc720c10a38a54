"""ORDER BY keys, and OVER: partitions, order and frames of a window. Never: which functions may have one.

Source: the grammar is documented (Guide to SQL: Syntax, OLAP window expressions).
"""

from __future__ import annotations

from aioifx.server.sql.syntax.nodes import Aggregate, Call, Expression, Frame, FrameBound, OrderItem, Window
from aioifx.server.sql.syntax.token_stream import TokenStream


def parse_windowed(s: TokenStream, function: Call | Aggregate) -> Expression:
    """Read ``OVER (..)`` if present."""
    if s.at("ignore", "nulls"):
        raise s.unsupported("IGNORE NULLS")
    if s.at("respect", "nulls", "over"):
        s.expect("respect", "nulls")
    if not s.at("over", "("):
        return function
    s.expect("over", "(")
    partition_by: tuple[Expression, ...] = ()
    order_by: tuple[OrderItem, ...] = ()
    if s.at("partition"):
        s.expect("partition", "by")
        partition_by = s.listed(s.grammar.value)
    if s.at("order"):
        s.expect("order", "by")
        order_by = s.listed(parse_order_item)
    frame = _frame(s) if s.at_any("rows", "range") else None
    s.expect(")")
    return Window(function.offset, function, partition_by, order_by, frame)


def parse_order_item(s: TokenStream) -> OrderItem:
    """Read one key of ORDER BY."""
    expression = s.grammar.value(s)
    direction = s.accept_any("asc", "desc")
    nulls_first: bool | None = None
    if s.accept("nulls"):
        nulls_first = s.expect_any("first", "last").text == "first"
    descending = direction is not None and direction.text == "desc"
    return OrderItem(expression.offset, expression, descending, nulls_first)


def _frame(s: TokenStream) -> Frame:
    token = s.expect_any("rows", "range")
    if s.accept("between"):
        start = _frame_bound(s)
        s.expect("and")
        end = _frame_bound(s)
    else:
        start, end = _frame_bound(s), FrameBound(token.offset, "current")
    return Frame(token.offset, "rows" if token.text == "rows" else "range", start, end)


def _frame_bound(s: TokenStream) -> FrameBound:
    offset = s.token.offset
    if s.accept("current", "row"):
        return FrameBound(offset, "current")
    count = None if s.accept("unbounded") else s.grammar.value(s)
    kind = s.expect_any("preceding", "following").text
    return FrameBound(offset, "preceding" if kind == "preceding" else "following", count)
