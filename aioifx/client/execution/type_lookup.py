"""The fields of ROW types and collections, from their descriptions or the catalog. Never: a value, a request.

Source: documented: sysxtdtypes, sysattrtypes (Guide to SQL Reference); observed: the rows of a named ROW type in
sysattrtypes: first the type itself without a parent, then its fields

Invariants:
1. The catalog is queried only for a statement with a type whose description does not suffice, once for each type and
   session.
2. Values of a type that stays unknown are text.
3. However a server describes its types, and whatever its catalog has, the work and memory for them are limited.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

from aioifx.codecs.type_text import (
    BUILT_IN_NAMES,
    MAX_FIELDS,
    MAX_LEVELS,
    MAX_TEXT,
    STRUCTURED,
    structured,
)
from aioifx.sqltypes import (
    DISTINCT,
    EXTENDED_BLOB,
    EXTENDED_BOOLEAN,
    EXTENDED_CLOB,
    EXTENDED_LVARCHAR,
    NOT_NULL,
    Column,
    Row,
    SqlType,
    TypeCode,
)

FetchRows: TypeAlias = Callable[[str], Awaitable[list[Row]]]
"""A query -> its rows, in default types; empty if the server rejects it."""

KnownTypes: TypeAlias = dict[int, SqlType]
"""By extended id; those that the catalog does not know have no fields."""

_BUILT_IN: Final = (EXTENDED_LVARCHAR, EXTENDED_BOOLEAN, EXTENDED_BLOB, EXTENDED_CLOB)
_OPAQUE: Final = (TypeCode.UDTVAR, TypeCode.UDTFIXED)
_MAX_QUERIES: Final = 8
_MAX_IDS: Final = 500
_MAX_FIELDS: Final = 20_000
"""Fields of all types of one look-up, and of all columns of one description."""
_MAX_KNOWN: Final = 10_000
"""Types of a session, after which it forgets them."""


class _Attribute(NamedTuple):
    """A row of sysattrtypes."""

    number: int
    parent: int
    name: str | None
    code: int
    length: int
    extended_id: int


class _Entry(NamedTuple):
    """A row of sysxtdtypes, with its attributes."""

    owner: str
    name: str
    code: int
    source: int
    attributes: list[_Attribute]


async def resolved_types(
    types: Sequence[SqlType], known: KnownTypes, fetch: FetchRows, catalog: str = "informix."
) -> tuple[SqlType, ...] | None:
    """The types with their fields; None if all are complete as they are. Adds to *known*.

    Args:
        catalog: what precedes the name of a catalog table, ``database:informix.`` for another database
    """
    if not any(map(_is_extended, types)):
        return None
    described = _structured(types)
    if len(known) > _MAX_KNOWN:
        known.clear()
    wanted = {sql_type.extended_id for sql_type in described if _needs_catalog(sql_type)} - known.keys()
    if wanted:
        known |= dict.fromkeys(wanted, SqlType(TypeCode.UDTVAR))
        try:
            known |= _types_of(await _entries(wanted, described, fetch, catalog))
        except BaseException:
            for extended_id in wanted:
                del known[extended_id]
            raise
    return _limited(
        _merged(sql_type, known[sql_type.extended_id]) if sql_type.extended_id in known else sql_type
        for sql_type in described
    )


def _structured(types: Sequence[SqlType]) -> list[SqlType]:
    """The types with the fields that their texts describe, of MAX_TEXT different characters together."""
    found: dict[SqlType, SqlType] = {}
    left = MAX_TEXT
    for sql_type in types:
        if sql_type not in found:
            left -= len(sql_type.extended_name)
            found[sql_type] = structured(sql_type) if left >= 0 else sql_type
    return [found[sql_type] for sql_type in types]


def _limited(types: Iterable[SqlType]) -> tuple[SqlType, ...]:
    """The types, without fields from the one on with which the columns have too many together."""
    sizes: dict[int, int] = {}  # by the identity of the fields, which several columns share
    left = _MAX_FIELDS
    found: list[SqlType] = []
    for sql_type in types:
        key = id(sql_type.fields)
        if key not in sizes:
            sizes[key] = _size(sql_type)
        left -= sizes[key]
        found.append(sql_type if left >= 0 or not sql_type.fields else replace(sql_type, fields=()))
    return (*found,)


def _size(sql_type: SqlType) -> int:
    """Number of the type's fields, with those of its fields."""
    return sum(1 + _size(field.type) for field in sql_type.fields)


def _is_extended(sql_type: SqlType) -> bool:
    code = sql_type.code
    return code in STRUCTURED or bool(code in _OPAQUE and sql_type.flags & DISTINCT)


def _needs_catalog(sql_type: SqlType) -> bool:
    if not sql_type.extended_id:
        return False
    if sql_type.code in STRUCTURED:
        return not sql_type.fields or _has_unknown(sql_type)
    return sql_type.kind in _OPAQUE and bool(sql_type.flags & DISTINCT) and sql_type.source not in _BUILT_IN


def _has_unknown(sql_type: SqlType) -> bool:
    """Whether a field has a type that is only named."""
    if sql_type.code in _OPAQUE:
        return sql_type.extended_name not in BUILT_IN_NAMES
    return any(_has_unknown(field.type) for field in sql_type.fields)


def _merged(sql_type: SqlType, found: SqlType) -> SqlType:
    fields = found.fields or sql_type.fields
    return replace(sql_type, fields=fields, base_name=found.base_name)


# --- the catalog ----------------------------------------------------------------------------------------------------


def _query(ids: Sequence[int], catalog: str) -> str:
    return (
        "select x.extended_id, x.owner, x.name, x.type, x.source,"
        " a.seqno, a.parent_no, a.fieldname, a.type, a.length, a.xtd_type_id"
        f" from {catalog}sysxtdtypes x left join {catalog}sysattrtypes a on a.extended_id = x.extended_id"
        f" where x.extended_id in ({', '.join(map(str, ids))}) order by 1, 6"
    )


async def _entries(
    wanted: set[int], types: Sequence[SqlType], fetch: FetchRows, catalog: str
) -> dict[int, _Entry]:
    """The catalog's entries of types, and of those that they are made of."""
    entries: dict[int, _Entry] = {}
    asked = set[int]()
    due = wanted | {one.source for one in types if one.extended_id in wanted}
    for _ in range(_MAX_QUERIES):
        due -= {0, *_BUILT_IN} | asked
        if not due or len(asked) + len(due) > _MAX_IDS:
            break
        asked |= due
        found = _grouped(await fetch(_query(sorted(due), catalog)))
        entries |= found
        due = {one.extended_id for entry in found.values() for one in entry.attributes}
        due |= {entry.source for entry in found.values()}
    return entries


def _grouped(rows: Sequence[Row]) -> dict[int, _Entry]:
    entries: dict[int, _Entry] = {}
    for extended_id, owner, name, code, source, *attribute in rows:
        entry = entries.get(extended_id)
        if entry is None:
            names = (owner or "").rstrip(" "), (name or "").rstrip(" ")
            entry = entries[extended_id] = _Entry(*names, code & 0xFFFF, source or 0, [])
        if attribute[0] is not None:
            number, parent, field, kind, length, member = attribute
            entry.attributes.append(
                _Attribute(number, parent or 0, field, kind & 0xFFFF, (length or 0) & 0xFFFF, member or 0)
            )
    return entries


def _types_of(entries: dict[int, _Entry]) -> KnownTypes:
    left, known = _MAX_FIELDS, KnownTypes()
    for extended_id in entries:
        builder = _Builder(entries, min(left, MAX_FIELDS))
        known[extended_id] = builder.type_of(extended_id, MAX_LEVELS)
        left -= builder.used
    return known


class _Builder:
    """Makes one type of the catalog's entries; without fields beyond MAX_LEVELS and *limit*.

    The catalog could be circular, or a type of two of a type of two, and so on.
    """

    def __init__(self, entries: dict[int, _Entry], limit: int) -> None:
        self._entries = entries
        self._limit = limit
        self.used = 0
        """Fields so far."""

    def type_of(self, extended_id: int, levels: int) -> SqlType:
        entry = self._entries.get(extended_id)
        if entry is None or not levels:
            return SqlType(TypeCode.UDTVAR, extended_id=extended_id)
        code, flags = entry.code & 0xFF, entry.code & 0xFE00
        sql_type = SqlType(code, 0, extended_id, entry.owner, entry.name, source=entry.source, flags=flags)
        if entry.source in self._entries:
            base = self.type_of(entry.source, levels - 1)
            return replace(sql_type, fields=base.fields, base_name=base.opaque_name)
        if code not in STRUCTURED:
            return sql_type
        numbers = {attribute.number for attribute in entry.attributes}
        roots = [attribute for attribute in entry.attributes if attribute.parent not in numbers]
        fields: tuple[Column, ...] = ()
        # The type itself is the only one without a parent, and has no name.
        if len(roots) == 1 and not roots[0].name and roots[0].code & 0xFF == code:
            fields = self._members(roots[0].number, entry, levels)
        return replace(sql_type, fields=fields or self._members(0, entry, levels))

    def _members(self, parent: int, entry: _Entry, levels: int) -> tuple[Column, ...]:
        members = [one for one in entry.attributes if one.parent == parent != one.number]
        if self.used + len(members) > self._limit or not levels:
            return ()
        self.used += len(members)
        return tuple(
            Column((one.name or "").rstrip(" "), self._member(one, entry, levels), not one.code & NOT_NULL)
            for one in members
        )

    def _member(self, attribute: _Attribute, entry: _Entry, levels: int) -> SqlType:
        code, flags = attribute.code & 0xFF, attribute.code & 0xFE00
        sql_type = SqlType(code, attribute.length, attribute.extended_id, flags=flags)
        if code in STRUCTURED:
            fields = self._members(attribute.number, entry, levels - 1)
            if fields:
                return replace(sql_type, fields=fields)
        if attribute.extended_id not in self._entries:
            return sql_type
        found = self.type_of(attribute.extended_id, levels - 1)
        return replace(
            sql_type,
            owner=found.owner,
            extended_name=found.extended_name,
            source=found.source,
            fields=found.fields,
            base_name=found.base_name,
        )
