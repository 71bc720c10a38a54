"""Constructors, fields, IN and CARDINALITY of rows and collections. Never: DDL, how values are stored.

Source: documented: constructors, ``x IN collection``, CARDINALITY, ``column.field`` (Guide to SQL: Syntax). assumed:
-9650 for IN on the right of which is not a collection; an empty collection whose type nothing requires is allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from aioifx.server.sql.complex_types import COLLECTIONS, ComplexType, collection_of, row_of
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.storage import type_number
from aioifx.server.sql.model.type_rules import INTEGER, Family, char, family_of, plain, varchar
from aioifx.server.sql.sqlite.tree import NULL, Literal, Node, Query, call, query_sql, sql, unquoted
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.scopes import Context
from aioifx.server.sql.translate.typed import Typed, assigned
from aioifx.sqltypes import SqlType, TypeCode

_MOST_ARGUMENTS: Final = 90
"""Arguments per call: SQLite allows 100, or 127, by default."""
_CODES: Final = {code.name.lower(): code for code in COLLECTIONS}


class PartTranslator(Protocol):
    """A translator of the parts of a constructor."""

    context: Context

    def value(self, node: nodes.Expression, hint: SqlType | None = None) -> Typed: ...

    def promoted(
        self, expressions: Sequence[nodes.Expression], hint: SqlType | None = None
    ) -> tuple[list[Typed], SqlType]: ...


def row(translator: PartTranslator, node: nodes.RowConstructor, hint: SqlType | None) -> Typed:
    """``ROW(..)``: a row without names, whose fields get the types of their values."""
    hints: tuple[SqlType | None, ...] = (None,) * len(node.values)
    if (
        isinstance(hint, ComplexType)
        and len(hint.parts) == len(node.values)
        and not hint.code != TypeCode.ROW
    ):
        hints = hint.parts
    values = [translator.value(each, own) for each, own in zip(node.values, hints, strict=True)]
    types = [_part_type(value, own) for value, own in zip(values, hints, strict=True)]
    return Typed(_array([value.sql for value in values]), row_of((), types), is_nullable=False)


def _part_type(value: Typed, hint: SqlType | None) -> SqlType:
    if value.type is None:
        return hint or char(1)
    if isinstance(value.constant, str):
        return varchar(len(value.constant.encode("utf-8", "replace")))  # the blanks of a literal are kept
    return plain(value.type)


def collection(translator: PartTranslator, node: nodes.CollectionConstructor, hint: SqlType | None) -> Typed:
    """``SET{..}``: the elements get the type that the context requires, or their common type."""
    code = _CODES[node.kind]
    if isinstance(hint, ComplexType) and hint.code == code:
        element = hint.element
        parts = [assigned(translator.value(each, element), element) for each in node.elements]
    elif node.elements:
        values, element = translator.promoted(node.elements)
        parts = [value.sql for value in values]
    else:
        element, parts = char(1), []
    type_ = collection_of(code, element)
    return Typed(call("ifx_complex", _array(parts), type_number(type_)), type_, is_nullable=False)


def _array(parts: Sequence[Node]) -> Node:
    array: Node = Literal("[]")
    for start in range(0, max(len(parts), 1), _MOST_ARGUMENTS):
        array = call("ifx_parts", array, *parts[start : start + _MOST_ARGUMENTS])
    return array


class QueryResult(Protocol):
    """A translated query."""

    @property
    def names(self) -> Sequence[str]: ...

    @property
    def outputs(self) -> Sequence[Typed]: ...

    def query(self) -> Query: ...


def multiset(relation: QueryResult, node: nodes.MultisetQuery) -> Typed:
    """``MULTISET(SELECT ..)``: rows with the names of columns, or with ITEM the values of its only column (documented).

    Raises:
        SqlError: -201, ITEM with several columns (assumed).
    """
    types = [_part_type(output, None) for output in relation.outputs]
    if node.is_item and len(types) > 1:
        raise SqlError(-201, offset=node.offset)
    element = types[0] if node.is_item else row_of(relation.names, types)
    part = unquoted("", 1) if node.is_item else _row(relation)
    type_ = collection_of(TypeCode.MULTISET, element)
    # SQLite has no result of an own aggregate over no rows.
    parts = call("coalesce", call("ifx_collect", part), "[]")
    query = query_sql("SELECT {} FROM ({})", call("ifx_complex", parts, type_number(type_)), relation.query())
    return Typed(sql("({})", query), type_, is_nullable=False)


def collected(relation: QueryResult) -> Node:
    """The rows of a query as a JSON array of JSON arrays in texts; NULL for no rows."""
    return sql("({})", query_sql("SELECT ifx_collect({}) FROM ({})", _row(relation), relation.query()))


def _row(relation: QueryResult) -> Node:
    return _array([unquoted("", number) for number in range(1, len(relation.outputs) + 1)])


def require_aggregated(node: nodes.Aggregate, type_: SqlType | None) -> None:
    """Refuse aggregates of rows, collections and documents other than COUNT.

    Raises:
        SqlError: -674 (assumed); -9926, COUNT(DISTINCT ..).
    """
    if type_ is None or family_of(type_) not in (Family.ROW, Family.COLLECTION, Family.DOCUMENT):
        return
    if node.name != "count":
        raise SqlError(-674, token=node.name, offset=node.offset)
    if node.is_distinct:
        require_ordered(type_, node.offset)


def contains(collection_: Typed, operand: Typed, offset: int) -> Node:
    """A condition: whether a collection has an element.

    Raises:
        SqlError: -9650, it is not a collection.
    """
    type_ = collection_.type
    if not isinstance(type_, ComplexType) or family_of(type_) is not Family.COLLECTION:
        raise SqlError(-9650, offset=offset)
    if operand.type is None:
        return NULL
    numbers = type_number(type_), type_number(_part_type(operand, None))
    return call("ifx_contains", collection_.sql, numbers[0], operand.sql, numbers[1])


def cardinality(value: Typed, offset: int) -> Typed:
    """CARDINALITY.

    Raises:
        SqlError: -674, its argument is not a collection.
    """
    if value.type is None or family_of(value.type) is not Family.COLLECTION:
        raise SqlError(-674, token="cardinality", offset=offset)
    return Typed(call("ifx_cardinality", value.sql), INTEGER, value.is_nullable)


def require_ordered(type_: SqlType | None, offset: int = 0) -> None:
    """Refuse a type whose values have no order: in ORDER BY, GROUP BY, DISTINCT, UNION, indexes and keys.

    Raises:
        SqlError: -9926 (documented for rows; assumed for collections and documents).
    """
    if type_ is not None and family_of(type_) in (Family.ROW, Family.COLLECTION, Family.DOCUMENT):
        raise SqlError(-9926, offset=offset)
