"""Trees written on one line, so that a test can say what it expects at a glance.

A node is ``Class(field, ..)`` without offsets; what is empty is left out, a flag is shown by its name. Names,
columns, numbers, strings, parameters, types and qualifiers are shown as they would be written, tables and entries
of select lists too, and a Query that has nothing but a body is that body in parentheses.
"""

from __future__ import annotations

from dataclasses import fields

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.parser import parse
from aioifx.sqltypes import Qualifier, SqlType, Unit


def shape(value: object) -> str:
    """One line for a node, a tuple or anything else in a node."""
    match value:
        case nodes.Null():
            return "NULL"
        case nodes.Name(_, text) | nodes.Number(_, text):
            return text
        case nodes.QualifiedName():
            return str(value)
        case nodes.String(_, text):
            return repr(text)
        case nodes.Parameter(_, index):
            return f"?{index}"
        case nodes.Column(_, name, table):
            return f"{table}.{name}" if table else name
        case nodes.Star(_, table):
            return f"{table}.*" if table else "*"
        case nodes.SelectItem(_, node, label) | nodes.TableRef(_, node, label):
            return f"{shape(node)} AS {label.text}" if label else shape(node)
        case nodes.Query(_, body) if value == nodes.Query(value.offset, body):
            return f"({shape(body)})"
        case nodes.Node():
            shown = [_field(each.name, getattr(value, each.name)) for each in fields(value)[1:]]
            return f"{type(value).__name__}({', '.join(each for each in shown if each)})"
        case tuple() if not isinstance(value, Qualifier):
            return f"[{', '.join(shape(each) for each in value)}]"
        case Qualifier():
            usual = 4 if value.first == Unit.YEAR else 2
            is_plain = value.leading == usual or value.first == Unit.FRACTION
            return value.datetime_text() if is_plain else value.interval_text()
        case Unit():
            return value.name
        case SqlType():
            return str(value)
        case _:
            return str(value)


def _field(name: str, value: object) -> str:
    if name == "nulls_first" and value is False:
        return "nulls_last"
    if name.endswith("_offset") or value is None or value is False or value == () or value == "":
        return ""
    if name in _NAMED_FIELDS:
        return f"{name}={shape(value)}"
    return name if value is True else shape(value)


_NAMED_FIELDS = {
    "skip", "first", "limit", "where", "having", "hierarchy", "group_by", "order_by", "partition_by", "before",
}  # fmt: skip
"""Fields whose values alone would not tell them apart."""


def select_of(statement: nodes.Statement) -> nodes.Select:
    """The one SELECT of a query."""
    assert isinstance(statement, nodes.Query)
    assert isinstance(statement.body, nodes.Select)
    return statement.body


def statement_shape(text: str) -> str:
    """The shape of a parsed statement."""
    return shape(parse(text))


def value_shape(text: str) -> str:
    """The shape of an expression in a select list."""
    (item,) = select_of(parse(f"SELECT {text} FROM t")).items
    assert item.label is None
    return shape(item.expression)


def condition_shape(text: str) -> str:
    """The shape of a condition after WHERE."""
    return shape(select_of(parse(f"SELECT 1 FROM t WHERE {text}")).where)


def error_of(marked: str) -> tuple[int, str]:
    """SQLCODE and token of the error that a text raises, which must point at the place marked with ``^``."""
    place = marked.index("^")
    with pytest.raises(SqlError) as caught:
        parse(marked.replace("^", ""))
    assert caught.value.offset == place + 1
    assert caught.value.isamcode == 0
    return caught.value.sqlcode, caught.value.token
