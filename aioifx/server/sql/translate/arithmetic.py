"""Operators and aggregates over typed operands -> typed expressions. Never: Informix's tree, conditions."""

from __future__ import annotations

from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model import type_rules
from aioifx.server.sql.model.storage import type_number
from aioifx.server.sql.model.type_rules import (
    DATE,
    FLOAT,
    INTERVALS,
    NUMERIC,
    Family,
    decimal,
    family_of,
    plain,
)
from aioifx.server.sql.sqlite.tree import NULL, Call, Literal, Node, Operation, Piece, call, sql
from aioifx.server.sql.translate.sqlite_ddl import collated
from aioifx.server.sql.translate.typed import Typed, cast, number_of, text_of
from aioifx.sqltypes import SqlType

COUNT: Final = decimal(15, 0)
"""The type of COUNT."""

_VERBS: Final = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
_OPERATORS: Final = {f"ifx_{verb}": operator for operator, verb in _VERBS.items()}


def concatenation(left: Typed, right: Typed) -> Typed:
    """``||``"""
    if left.type is None or right.type is None:
        return Typed(NULL, left.type or right.type)
    result = type_rules.concatenation(left.type, right.type)
    return Typed(
        Operation("||", text_of(left), text_of(right)), result, left.is_nullable or right.is_nullable
    )


def arithmetic(operator: str, left: Typed, right: Typed, result: SqlType) -> Node:
    """Arithmetic between two typed operands that combine to *result*."""
    one, other = family_of(left.known_type), family_of(right.known_type)
    verb = _VERBS[operator]
    if one in INTERVALS or other in INTERVALS:
        return _interval_arithmetic(operator, left, right, result)
    if one is Family.DATE and other is Family.DATE:
        return Operation("-", left.sql, right.sql)
    if result == DATE:
        moment, days = (left, right) if one is Family.DATE else (right, left)
        return call(f"ifx_date_{verb}", moment.sql, number_of(days).sql)
    if family_of(result) in INTERVALS:
        types_ = type_number(left.known_type), type_number(right.known_type)
        return call("ifx_datetime_diff", left.sql, types_[0], right.sql, types_[1])
    operation = call(f"ifx_{verb}", number_of(left).sql, number_of(right).sql, type_number(result))
    return _chained(operation, operator)


_SHORT_CHAIN: Final = 8
"""Operations that are written as nested calls, which take less time."""
_MOST_ARGUMENTS: Final = 90
"""Arguments per call: SQLite allows 100, or 127, by default."""


def _chained(operation: Call, operator: str) -> Call:
    """The same value, with a depth that does not grow with each operation.

    SQLite's parser allows about 30 nested calls. So the operations of ``a + b + c ..`` become arguments of one call.
    """
    steps = _steps(operation, operator)
    return Call("ifx_chain", steps) if len(steps) > 2 * _SHORT_CHAIN else operation


def _steps(operation: Call, operator: str) -> tuple[Node, ...]:
    """The first operand, then each further operand with its operator and the type of the result."""
    left, right, result = operation.arguments
    assert isinstance(result, Literal)
    assert isinstance(result.value, int | str)
    step = right, Literal(f"{operator}{result.value}")
    before: tuple[Node, ...] = (left,)
    if isinstance(left, Call) and left.name == "ifx_chain":
        before = left.arguments
    elif isinstance(left, Call) and left.name in _OPERATORS:
        before = _steps(left, _OPERATORS[left.name])
    return (*before, *step) if len(before) + 2 <= _MOST_ARGUMENTS else (left, *step)


def _interval_arithmetic(operator: str, left: Typed, right: Typed, result: SqlType) -> Node:
    verb = _VERBS[operator]
    one, other = family_of(left.known_type), family_of(right.known_type)
    if operator in "*/":
        span, factor = (left, right) if one in INTERVALS else (right, left)
        return call(f"ifx_interval_{verb}", span.sql, number_of(factor).sql, type_number(result))
    if one in INTERVALS and other in INTERVALS:
        return call(f"ifx_interval_{verb}", left.sql, right.sql, type_number(result))
    moment, span = (right, left) if one in INTERVALS else (left, right)
    moment_type = result if moment.known_type == DATE else moment.known_type
    numbers = type_number(moment_type), type_number(span.known_type)
    return call(f"ifx_datetime_{verb}", cast(moment, moment_type), numbers[0], span.sql, numbers[1])


def aggregated(name: str, operand: Typed, distinct: str, offset: int, over: Piece = "") -> Typed:
    """COUNT, SUM, AVG, MIN, MAX and similar over an operand; *over* is its window.

    COUNT is a DECIMAL(15,0). The others are DECIMAL for integers and decimals (observed: they arrive as DECIMAL).
    assumed: SUM of integers has scale 0.
    """
    type_ = plain(operand.known_type)
    family = family_of(type_)
    match name:
        case "count":
            return Typed(
                sql("CAST(count({}{}){} AS TEXT)", distinct, collated(operand.sql, type_), over), COUNT, False
            )
        case "min" | "max":
            return Typed(sql("{}({}){}", name, collated(operand.sql, type_), over), type_)
        case "sum" | "avg" if family in INTERVALS:
            exact = sql("ifx_{}_interval({}{}){}", name, distinct, operand.sql, over)
            return Typed(call("ifx_interval_mul", exact, 1, type_number(type_)), type_)  # truncated, or -1265
        case _:
            if family is Family.TEXT:
                operand, family = number_of(operand), Family.DECIMAL
            if family not in NUMERIC:
                raise SqlError(-1260, offset=offset)
            result = FLOAT if family is Family.FLOAT else decimal()
            if name == "sum" and family is Family.INTEGER:
                result = decimal(scale=0)
            return Typed(sql("ifx_{}({}{}){}", name, distinct, operand.sql, over), result)
