"""SQLite functions of rows, collections and documents that get a type as an argument. Never: the other functions."""

from __future__ import annotations

from aioifx.server.sql.complex_types import ComplexType
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.storage import Stored, TypeNumber, numbered_type, type_number
from aioifx.server.sql.runtime import documents
from aioifx.server.sql.runtime.casts import comparer
from aioifx.server.sql.runtime.client_values import load
from aioifx.server.sql.runtime.complex_values import completed, parts_of
from aioifx.sqltypes import Value


def _type_of(definition: str) -> ComplexType:
    type_ = numbered_type(definition)
    assert isinstance(type_, ComplexType)
    return type_


def complex_value(parts: str | None, definition: str) -> Stored:
    """``ifx_complex``: parts as a value of a type."""
    return None if parts is None else completed(parts_of(parts), _type_of(definition))


def contains(
    settings: Settings, collection: str | None, definition: str, element: Value, number: TypeNumber
) -> Stored:
    """``ifx_contains``: whether a collection has an element, compared by the rules of their types."""
    if collection is None or element is None:
        return None
    compare = comparer(type_number(_type_of(definition).element), number)
    return any(compare(part, element, settings) == 0 for part in parts_of(collection))


def gen_bson(
    settings: Settings,
    definition: str | None,
    names: str | None,
    row: str | None,
    keeps_nulls: int,
    has_id: int,
) -> Stored:
    """``ifx_gen_bson``: a row as a document."""
    if definition is None or names is None or row is None:
        return None
    pairs = zip(parts_of(row), _type_of(definition).parts, strict=True)
    values = [load(part, type_, settings.code_set) for part, type_ in pairs]
    fields = [str(name) for name in parts_of(names)]
    return documents.generated(fields, values, keeps_nulls=bool(keeps_nulls), has_id=bool(has_id))
