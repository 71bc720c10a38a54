"""ROW, SET, MULTISET and LIST, named types, and the texts of types. Never: values, the types that a database has.

Invariants:
1. A `ComplexType` contains its parts, so it can be used without the catalog. A `TypeName` must be resolved first.
2. `definition` is a text that `syntax.types.parse_type` reads: the structure of a type without the names of types.

Source: the texts that describe columns are lower case without blanks after commas (observed: informix-driver); their
words for each type are documented (SQL Reference, data types).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from aioifx.server.sql.builtin_types import EXTENDED_BSON, EXTENDED_JSON
from aioifx.sqltypes import (
    DISTINCT,
    DISTINCT_BOOLEAN,
    DISTINCT_LVARCHAR,
    EXTENDED_BOOLEAN,
    EXTENDED_LVARCHAR,
    SERIALS,
    Qualifier,
    SqlType,
    TypeCode,
    Unit,
)

NAMED_ROW: Final = 0x1000
"""The flag of a named ROW type (documented: syscolumns.coltype 4118)."""

COLLECTIONS: Final = frozenset({TypeCode.SET, TypeCode.MULTISET, TypeCode.LIST})

_WIDTH: Final = 2048
"""The encoded length of rows and collections (assumed: what JDBC accepts)."""


@dataclass(frozen=True, slots=True)
class ComplexType(SqlType):
    """A ROW with its fields, or a collection with the type of its elements as the only part."""

    names: tuple[str, ...] = ()
    """The names of fields; empty for collections and for rows of a constructor."""
    parts: tuple[SqlType, ...] = ()
    required: tuple[bool, ...] = ()
    """Whether each field is NOT NULL."""

    @property
    def element(self) -> SqlType:
        """The type of a collection's elements."""
        return self.parts[0]

    def field(self, name: str) -> int | None:
        """The index of the field of that name."""
        return self.names.index(name) if name in self.names else None


@dataclass(frozen=True, slots=True)
class TypeName(SqlType):
    """The name of a type that only the database knows: `extended_name`, and `owner` if it was given."""

    offset: int = 0


def row_of(names: Sequence[str], parts: Sequence[SqlType], required: Sequence[bool] = ()) -> ComplexType:
    """An unnamed ROW type."""
    given = tuple(required) or (False,) * len(parts)
    return _with_text(
        ComplexType(TypeCode.ROW, _WIDTH, names=tuple(names), parts=tuple(parts), required=given)
    )


def collection_of(code: TypeCode, element: SqlType) -> ComplexType:
    """SET, MULTISET or LIST of elements that are NOT NULL."""
    return _with_text(ComplexType(code, _WIDTH, parts=(element,), required=(True,)))


def with_parts(type_: ComplexType, parts: tuple[SqlType, ...]) -> ComplexType:
    """An unnamed type with other parts."""
    return _with_text(replace(type_, parts=parts))


def _with_text(type_: ComplexType) -> ComplexType:
    """An unnamed type is described by its text."""
    return replace(type_, extended_name=type_text(type_))


def named_row(type_: ComplexType, extended_id: int, owner: str, name: str) -> ComplexType:
    """A ROW type with a name."""
    return replace(type_, extended_id=extended_id, owner=owner, extended_name=name, flags=NAMED_ROW)


def distinct_of(base: SqlType, extended_id: int, owner: str, name: str) -> SqlType:
    """A DISTINCT type: its base's code with flags; `source` is the base's extended id (documented: sysxtdtypes)."""
    flags = DISTINCT | base.flags
    if base.kind == TypeCode.LVARCHAR:
        flags |= DISTINCT_LVARCHAR
    elif base.kind == TypeCode.BOOLEAN:
        flags |= DISTINCT_BOOLEAN
    return replace(
        base, extended_id=extended_id, owner=owner, extended_name=name, source=base.extended_id, flags=flags
    )


def is_distinct(type_: SqlType) -> bool:
    """Whether it is a DISTINCT type."""
    return bool(type_.flags & DISTINCT)


def is_named(type_: SqlType) -> bool:
    """Whether the type has a name of its own in the database: DISTINCT types and named ROW types."""
    return bool(type_.flags & (DISTINCT | NAMED_ROW))


def undistinguished(type_: SqlType) -> SqlType:
    """The built-in type or unnamed ROW that a named type is stored as."""
    if not is_named(type_):
        return type_
    if isinstance(type_, ComplexType):
        return _with_text(replace(type_, extended_id=0, owner="", flags=0, source=0))
    name = _OPAQUE_NAMES.get(type_.source, "")
    if type_.kind == TypeCode.LVARCHAR:
        name = _OPAQUE_NAMES[EXTENDED_LVARCHAR]
    elif type_.kind == TypeCode.BOOLEAN:
        name = _OPAQUE_NAMES[EXTENDED_BOOLEAN]
    extended = next((number for number, known in _OPAQUE_NAMES.items() if known == name), 0)
    return SqlType(type_.code, type_.length, extended, "informix" if name else "", name)


_OPAQUE_NAMES: Final = {
    EXTENDED_LVARCHAR: "lvarchar",
    EXTENDED_BOOLEAN: "boolean",
    EXTENDED_JSON: "json",
    EXTENDED_BSON: "bson",
}


# --- Texts ------------------------------------------------------------------------------------------------------------


def type_text(type_: SqlType) -> str:
    """The text of a type in descriptions: ``set(integer not null)``, a named type by its name."""
    if is_named(type_):
        return type_.extended_name
    return _text(type_, type_text)


def definition(type_: SqlType) -> str:
    """The text of a type's structure, without names of types and fields."""
    return _text(_anonymous(type_), definition)


def _anonymous(type_: SqlType) -> SqlType:
    return replace(type_, names=()) if isinstance(type_, ComplexType) else type_


def _text(type_: SqlType, part_text: Callable[[SqlType], str]) -> str:
    if isinstance(type_, ComplexType):
        return _complex_text(type_, part_text)
    kind = SERIALS.get(type_.kind, TypeCode(type_.kind))  # a value of a serial column in a row is an integer
    if kind in (TypeCode.VARCHAR, TypeCode.NVARCHAR) and type_.length >> 8:
        return f"{kind.name.lower()}({type_.length & 0xFF},{type_.length >> 8})"
    if type_.size is not None:
        return f"{kind.name.lower()}({type_.size})"
    if type_.precision is not None:
        scale = "" if type_.scale is None else f",{type_.scale}"
        return f"{kind.name.lower()}({type_.precision}{scale})"
    if type_.qualifier is not None:
        return f"{kind.name.lower()} {_qualifier_text(type_.qualifier, kind)}"
    return _OPAQUE_NAMES.get(type_.extended_id) or _OPAQUE_NAMES.get(type_.source) or kind.name.lower()


def _complex_text(type_: ComplexType, part_text: Callable[[SqlType], str]) -> str:
    if type_.code != TypeCode.ROW:
        return f"{TypeCode(type_.code).name}({part_text(type_.element)} not null)"
    names = type_.names or tuple(f"f{number}" for number in range(1, len(type_.parts) + 1))
    fields = (
        f"{name} {part_text(part)}{' not null' if required else ''}"
        for name, part, required in zip(names, type_.parts, type_.required, strict=True)
    )
    return f"ROW({', '.join(fields)})"


def _qualifier_text(qualifier: Qualifier, kind: TypeCode) -> str:
    first = qualifier.first.name
    if kind == TypeCode.INTERVAL and qualifier.first != Unit.FRACTION:
        first = f"{first}({qualifier.leading})"
    last = f"FRACTION({qualifier.scale})" if qualifier.scale else qualifier.last.name
    return f"{first} to {last}".lower()
