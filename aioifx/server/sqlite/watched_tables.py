"""The tables whose changes are seen, and the triggers that see them. Never: what is done about a change.

A change of a table can reach others: children whose rows are deleted with their parents, and the tables of smart large
objects. The triggers of each are in the connection's temp schema, and call the functions ``ifx_on_insert``,
``ifx_on_update`` and ``ifx_on_delete``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from aioifx.server.sql.model.schema import Constraint, Index, Schema, Table, TableKind
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.model.type_rules import Family, family_of
from aioifx.server.sql.sqlite.render import collate, filled, identifier
from aioifx.server.sqlite.lock_manager import Kind, LockMode, Resource
from aioifx.server.sqlite.undo_log import CHUNKS, OBJECTS, TEMP_STATE, TEMP_TABLES, unpacked

_ARGUMENTS: Final = 100
"""The most values that a trigger gives a function; SQLite allows 127 arguments."""

_OBJECT_TABLES: Final = {
    OBJECTS: ("ifx_objects", ("id", "size", "refs")),
    CHUNKS: ("ifx_chunks", ("id", "data")),
}
TEMP_CATALOG: Final = {
    TEMP_TABLES: ("ifx_tables", ("tabid", "noun")),
    TEMP_STATE: ("ifx_state", ("generation", "next_tabid", "next_constrid")),
}
"""The tables that describe temporary tables, with their columns."""


class Key(NamedTuple):
    """Columns whose values are locked."""

    tabid: int
    """Of the table that has the key as a unique one."""
    columns: tuple[str, ...]
    """Its columns there, in the order of their names."""
    positions: tuple[int, ...]
    """Where the values are among the columns of the changed table."""
    mode: LockMode
    """X for the table's own keys, S for its references to a parent."""
    is_referenced: bool = False
    conditions: tuple[str, ...] = ()
    """Each column or function of a unique key as SQLite text, to compare it."""
    query: str = ""
    """Of the results of functions, from the values of the columns; empty if no part of the key is a function."""

    def resource(self, database: str, values: Sequence[Stored]) -> Resource | None:
        """The key with these values; None for a reference with a NULL."""
        if self.mode is LockMode.S and None in values:
            return None
        return Resource(database, self.tabid, Kind.KEY, (self.columns, tuple(map(_comparable, values))))


def _comparable(value: Stored) -> Stored:
    return value.rstrip(" ") if isinstance(value, str) else value


@dataclass(frozen=True)
class Watched:
    """A table whose changes are seen."""

    tabid: int
    source: str
    """Its name in SQLite, with the schema."""
    columns: tuple[str, ...]
    is_temp: bool
    locks_rows: bool = True
    keys: tuple[Key, ...] = ()
    """The positions are those of `columns`."""

    @cached_property
    def key_columns(self) -> tuple[int, ...]:
        """The positions of all columns of keys."""
        return tuple(sorted({position for key in self.keys for position in key.positions}))


# -- which tables a change reaches -------------------------------------------------------------------------------------


def reached(table: Table, schema: Schema) -> Iterator[Watched]:
    """The table, those whose rows are deleted with its rows, and those of smart large objects."""
    found: dict[int, Table] = {}
    left = [table]
    while left:
        each = left.pop()
        if each.kind is not TableKind.TABLE or each.tabid in found or (each.is_temp and not each.is_logged):
            continue
        found[each.tabid] = each
        yield _watched(each, schema)
        if not each.is_temp:
            references = schema.references_to(each.tabid)
            left += [reference.child for reference in references if reference.constraint.cascades]
    if any(map(has_smart_columns, (table, *found.values()))):
        yield from objects()


def has_smart_columns(table: Table) -> bool:
    """Whether rows of a table can refer to smart large objects."""
    return any(family_of(column.type) is Family.SMART_LARGE for column in table.columns)


def objects() -> Iterator[Watched]:
    for tabid, (name, columns) in _OBJECT_TABLES.items():
        yield Watched(tabid, f'main."{name}"', columns, is_temp=False, locks_rows=tabid == OBJECTS)


def _watched(table: Table, schema: Schema) -> Watched:
    columns = tuple(column.name for column in table.stored_columns)
    if table.is_temp:
        return Watched(table.tabid, table.source, columns, is_temp=True)
    references = (each.constraint for each in schema.references_to(table.tabid))
    referenced = {tuple(sorted(each.parent_columns)) for each in references if not each.is_disabled}
    keys: dict[tuple[int, tuple[str, ...]], Key] = {}
    enforced = [index for index in table.indexes if index.is_unique and not index.is_disabled]
    functional = (_functional(table, index, columns) for index in enforced if index.is_functional)
    unique = {tuple(sorted(index.columns)) for index in enforced if not index.is_functional}
    for names in sorted(unique | referenced):
        positions = tuple(columns.index(name) for name in names)
        texts = tuple(map(identifier, names))
        keys[table.tabid, names] = Key(table.tabid, names, positions, LockMode.X, names in referenced, texts)
    own = (_reference(key, columns) for key in table.foreign_keys if not key.is_disabled)
    found = [*keys.values(), *functional, *own]
    return Watched(table.tabid, table.source, columns, is_temp=False, keys=tuple(found))


def _functional(table: Table, index: Index, columns: Sequence[str]) -> Key:
    names = tuple(dict.fromkeys(index.columns))
    positions = tuple(columns.index(name) for name in names)
    results = [filled(part.sql) if part.sql else identifier(part.column) for part in index.parts]
    conditions = tuple(
        f"{result}{collate(part.collation)}" for result, part in zip(results, index.parts, strict=True)
    )
    source = ", ".join(f"? AS {identifier(name)}" for name in names)
    query = f"SELECT {', '.join(results)} FROM (SELECT {source})"
    return Key(table.tabid, (f"{index.name}()",), positions, LockMode.X, False, conditions, query)


def _reference(key: Constraint, columns: tuple[str, ...]) -> Key:
    pairs = sorted(zip(key.parent_columns, key.columns, strict=True))
    positions = tuple(columns.index(own) for _, own in pairs)
    return Key(key.parent, tuple(name for name, _ in pairs), positions, LockMode.S)


# -- triggers ----------------------------------------------------------------------------------------------------------

EVENTS: Final = ("insert", "update", "delete")


def trigger_name(watched: Watched, event: str) -> str:
    return identifier(f"ifx:{watched.source}:{event}")


def trigger_texts(watched: Watched) -> Iterator[str]:
    old = _arguments("OLD", watched.columns)
    new = key_arguments(watched)
    for event, time, row, values in (
        ("insert", "AFTER", "NEW", new),
        ("update", "BEFORE", "OLD", [*old, *new]),
        ("delete", "BEFORE", "OLD", old),
    ):
        arguments = ", ".join([f"{int(watched.is_temp)}, {watched.tabid}, {row}.rowid", *values])
        yield (
            f"CREATE TEMP TRIGGER {trigger_name(watched, event)} {time} {event} ON {watched.source}"
            f" WHEN ifx_on_{event}({arguments}) BEGIN SELECT RAISE(ABORT, 'ifx:locked'); END"
        )


def _arguments(row: str, columns: Sequence[str]) -> list[str]:
    """The arguments for values of a row: one for each, or few packed ones."""
    names = [f"{row}.{identifier(column)}" for column in columns]
    if len(names) <= _ARGUMENTS // 2:
        return names
    groups = [names[start : start + _ARGUMENTS] for start in range(0, len(names), _ARGUMENTS)]
    return [f"ifx_pack({', '.join(group)})" for group in groups]


def key_arguments(watched: Watched) -> list[str]:
    return _arguments("NEW", [watched.columns[position] for position in watched.key_columns])


def width(columns: Sequence[object]) -> int:
    """The number of arguments that `_arguments` makes."""
    return len(columns) if len(columns) <= _ARGUMENTS // 2 else -(-len(columns) // _ARGUMENTS)


def flat(columns: Sequence[object], values: Sequence[Stored]) -> Sequence[Stored]:
    """The values from the arguments that `_arguments` made."""
    if len(columns) <= _ARGUMENTS // 2:
        return values
    return [value for group in values if isinstance(group, bytes) for value in unpacked(group)]


def sparse(watched: Watched, values: Sequence[Stored]) -> Sequence[Stored]:
    """The values of `key_columns` at their positions in the row."""
    row: list[Stored] = [None] * len(watched.columns)
    for position, value in zip(watched.key_columns, values, strict=True):
        row[position] = value
    return row


def temp_objects(connection: sqlite3.Connection) -> dict[str, str]:
    """By name: the statements that drop the objects in the temp schema, except those of the server itself."""
    rows = connection.execute(
        "SELECT type, name FROM temp.sqlite_master WHERE type IN ('table', 'index', 'trigger')"
        " AND name NOT LIKE 'ifx%' AND name NOT LIKE 'sqlite%'"
    )
    return {name: f"DROP {kind} IF EXISTS temp.{identifier(name)}" for kind, name in rows.fetchall()}
