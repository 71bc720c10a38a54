"""BSON_VALUE_*, BSON_GET, BSON_SIZE and genBSON. Never: the contents of a document.

Source: documented (Guide to SQL: Syntax, BSON processing functions, genBSON): names, arguments, result types. assumed:
JSON is converted to BSON; the sizes of LVARCHAR and of an ObjectId's text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from aioifx.server.sql.builtin_types import bson, lvarchar
from aioifx.server.sql.complex_types import ComplexType, row_of
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.storage import type_number
from aioifx.server.sql.model.type_rules import (
    BIGINT,
    BOOLEAN,
    DATE,
    FLOAT,
    INTEGER,
    LARGE,
    LONG_TEXT,
    Family,
    datetime,
    family_of,
    varchar,
)
from aioifx.server.sql.runtime.complex_values import stored_parts
from aioifx.server.sql.sqlite.tree import Node, Not, call
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.scopes import Scope
from aioifx.server.sql.translate.typed import Typed, cast, text_of
from aioifx.sqltypes import SqlType, TypeCode, Unit


class ArgumentTranslator(Protocol):
    """A translator of arguments."""

    scope: Scope

    def value(self, node: nodes.Expression, hint: SqlType | None = None) -> Typed: ...

    def typed(self, node: nodes.Expression, hint: SqlType | None = None) -> Typed: ...


_VALUE_TYPES: Final = {
    "bson_value_int": INTEGER,
    "bson_value_bigint": BIGINT,
    "bson_value_double": FLOAT,
    "bson_value_varchar": varchar(255),
    "bson_value_lvarchar": lvarchar(32739),
    "bson_value_boolean": BOOLEAN,
    "bson_value_date": DATE,
    "bson_value_timestamp": datetime(Unit.YEAR, Unit.FRACTION, 5),
    "bson_value_objectid": varchar(24),
}

NAMES: Final = frozenset({*_VALUE_TYPES, "bson_get", "bson_size", "genbson"})


def document_call(translator: ArgumentTranslator, node: nodes.Call) -> Typed:
    """A call of one of the functions in NAMES.

    Raises:
        SqlError: -664, wrong number of arguments; -674, an argument has another type; -999, genBSON of a column with
            rows, collections, documents or large objects.
    """
    if node.name == "genbson":
        return _generated(translator, node)
    most = 3 if node.name == "bson_get" else 2
    if not 2 <= len(node.arguments) <= most:
        raise SqlError(-664, token=node.name, offset=node.offset)
    document, *texts = node.arguments
    arguments = [_document(translator, document, node), *(_text(translator, each, node) for each in texts)]
    type_ = bson() if node.name == "bson_get" else _VALUE_TYPES.get(node.name, INTEGER)
    return Typed(call(f"ifx_{node.name}", *arguments), type_)


def _document(translator: ArgumentTranslator, node: nodes.Expression, whole: nodes.Call) -> Node:
    value = translator.value(node, bson())
    if value.type is not None and family_of(value.type) is not Family.DOCUMENT:
        raise SqlError(-674, token=whole.name, offset=whole.offset)
    return cast(value, bson())


def _text(translator: ArgumentTranslator, node: nodes.Expression, whole: nodes.Call) -> Node:
    value = translator.value(node, LONG_TEXT)
    if value.type is not None and family_of(value.type) is not Family.TEXT:
        raise SqlError(-674, token=whole.name, offset=whole.offset)
    return text_of(value)


def _generated(translator: ArgumentTranslator, node: nodes.Call) -> Typed:
    """genBSON(row, keep_nulls, skip_id); the row may be a table of FROM (documented)."""
    if not 1 <= len(node.arguments) <= _MOST_GENERATED:
        raise SqlError(-664, token=node.name, offset=node.offset)
    row, *flags = node.arguments
    names, type_, value = _row(translator, row, node)
    if any(family_of(part) in _NOT_GENERATED for part in type_.parts):
        raise SqlError(-999, token="genBSON", offset=node.offset)
    texts = [translator.typed(flag, INTEGER) for flag in flags]
    if any(flag.type is None or family_of(flag.type) is not Family.INTEGER for flag in texts):
        raise SqlError(-674, token=node.name, offset=node.offset)
    keeps_nulls = texts[0].sql if texts else 0
    has_id = Not(texts[1].sql) if len(texts) > 1 else 1
    document = call("ifx_gen_bson", type_number(type_), stored_parts(names), value, keeps_nulls, has_id)
    return Typed(document, bson(), is_nullable=False)


_MOST_GENERATED: Final = 3
_NOT_GENERATED: Final = frozenset({Family.ROW, Family.COLLECTION, Family.DOCUMENT}) | LARGE


def _row(
    translator: ArgumentTranslator, node: nodes.Expression, whole: nodes.Call
) -> tuple[Sequence[str], ComplexType, Node]:
    """The names of fields, their types, and the row."""
    if isinstance(node, nodes.Column) and node.table is None:
        source = next((each for each in translator.scope.sources if each.label == node.name), None)
        if source is not None:
            columns = source.columns
            type_ = row_of((), [column.type for column in columns])
            array = call("ifx_parts", "[]", *(column.sql for column in columns))
            return [column.name for column in columns], type_, array
    value = translator.typed(node)
    if not isinstance(value.type, ComplexType) or value.type.code != TypeCode.ROW:
        raise SqlError(-674, token=whole.name, offset=whole.offset)
    names = list(value.type.names)
    if isinstance(node, nodes.RowConstructor):
        names = [_name(each, number) for number, each in enumerate(node.values, start=1)]
    return names, value.type, value.sql


def _name(node: nodes.Expression, number: int) -> str:
    """A column's name (documented); assumed: ``f1`` and so on for other expressions."""
    return node.name if isinstance(node, nodes.Column) else f"f{number}"
