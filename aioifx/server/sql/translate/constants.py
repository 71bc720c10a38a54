"""Literals, and words such as TODAY, -> typed expressions. Never: names of columns."""

from __future__ import annotations

from decimal import Decimal

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model import type_rules
from aioifx.server.sql.model.storage import type_number
from aioifx.server.sql.model.type_rules import DATE, INTEGER, char, decimal, varchar
from aioifx.server.sql.runtime.decimals import fit_decimal
from aioifx.server.sql.sqlite.tree import Literal, call
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.typed import Typed, cast, number
from aioifx.sqltypes import SqlType, TypeCode


def literal_number(value: int | Decimal) -> Typed:
    """An INTEGER; a DECIMAL of the written digits if it has a point or is too long for INTEGER.

    Raises:
        SqlError: -1226, it is larger than any DECIMAL.
    """
    if isinstance(value, int) and abs(value) < 2**31:
        return Typed(number(value), INTEGER, False, value)
    exact = fit_decimal(Decimal(value), type_rules.MAXIMUM_PRECISION, None) if value else Decimal(value)
    _, digits, exponent = exact.as_tuple()
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    precision = max(len(digits) + max(exponent, 0), scale, 1)
    type_ = decimal(precision, scale) if precision <= type_rules.MAXIMUM_PRECISION else decimal()
    return Typed(number(exact), type_, False, exact)


def literal_of(text: str, type_: SqlType) -> Typed:
    """DATETIME and INTERVAL literals: their text, read when the statement runs."""
    return Typed(cast(Typed(Literal(text), varchar(len(text))), type_), type_, False)


def session_constant(node: nodes.SessionConstant) -> Typed:
    match node.name:
        case "today":
            return Typed(call("ifx_today"), DATE, False)
        case "user":
            return Typed(call("ifx_user"), char(32), False)
        case "sitename" | "dbservername":
            return Typed(call("ifx_dbservername"), varchar(128), False)
        case _:
            raise SqlError(-999, token=node.name.upper(), offset=node.offset)


def current(node: nodes.Current) -> Typed:
    """CURRENT and SYSDATE."""
    type_ = SqlType(TypeCode.DATETIME, node.qualifier.encoded)
    return Typed(call("ifx_current", type_number(type_)), type_, False)
