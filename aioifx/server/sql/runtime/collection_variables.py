"""Elements of a collection variable that a routine inserts, updates and deletes. Never: a query of them, their types.

Source: documented (Guide to SQL: Syntax, "Collection-Derived Table", "Modifying Elements in a Collection Variable";
INSERT, "AT clause"; finderr, -266). assumed: NULL counts as a collection without elements; AT is ignored but in a LIST,
and a position after the end is the end; a cursor stays at its element while others are inserted and deleted, and
elements of a SET that become equal are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from aioifx.server.sql.complex_types import ComplexType
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.runtime.complex_values import completed, parts_of, stored_parts
from aioifx.sqltypes import TypeCode

NO_CURRENT: Final = -266


class ElementCursor:
    """Where the elements that a FOREACH visits are in the variable, while it is changed."""

    __slots__ = ("_current", "_places")

    def __init__(self, stored: Stored) -> None:
        self._places: list[int | None] = list(range(len(_parts(stored))))
        self._current = -1

    def step(self) -> None:
        """Go to the next element."""
        self._current += 1

    def place(self, parts: list[Stored]) -> int:
        """The index of the current element.

        Raises:
            SqlError: -266, it was deleted.
        """
        place = self._places[self._current]
        if place is None or place >= len(parts):
            raise SqlError(NO_CURRENT)
        return place

    def on_inserted(self, place: int) -> None:
        """Called after an element was inserted at a place."""
        self._places = [old if old is None or old < place else old + 1 for old in self._places]

    def on_deleted(self, place: int, same: int | None = None) -> None:
        """Called after the element at a place was deleted; *same* is the place before it of one that it became."""
        self._places = [
            old if old is None or old < place else same if old == place else old - 1 for old in self._places
        ]

    def on_all_became(self, place: int | None) -> None:
        """Called after all elements became the one at a place, or none."""
        self._places = [None if old is None else place for old in self._places]


Cursors: TypeAlias = Sequence[ElementCursor]
"""Those of the loops around a statement that are over its variable."""


def inserted(stored: Stored, element: Stored, position: Stored, type_: ComplexType, cursors: Cursors) -> str:
    """INSERT [AT position] INTO TABLE(variable)."""
    parts = _parts(stored)
    place = len(parts)
    if isinstance(position, int) and type_.code == TypeCode.LIST:
        place = min(max(position - 1, 0), place)
    parts.insert(place, element)
    result = completed(parts, type_)
    for each in cursors:
        each.on_inserted(place)
    return result


def updated(
    stored: Stored, element: Stored, cursor: ElementCursor | None, type_: ComplexType, cursors: Cursors
) -> Stored:
    """UPDATE TABLE(variable) of the current element, or of all."""
    parts = _parts(stored)
    if cursor is None:
        if stored is None:
            return None
        result = completed([element] * len(parts), type_)
        if type_.code == TypeCode.SET:
            for each in cursors:
                each.on_all_became(0)
        return result
    parts[cursor.place(parts)] = element
    result = completed(parts, type_)
    if type_.code == TypeCode.SET and len(kept := parts_of(result)) < len(parts):
        place, same = _dropped(parts, kept, type_)
        for each in cursors:
            each.on_deleted(place, same)
    return result


def _dropped(parts: list[Stored], kept: list[Stored], type_: ComplexType) -> tuple[int, int]:
    """The place of the element that a SET has twice, and where it is before."""
    place = next((index for index, part in enumerate(kept) if part != parts[index]), len(kept))
    pairs = enumerate([each, parts[place]] for each in kept[:place])
    return place, next(index for index, pair in pairs if len(parts_of(completed(pair, type_))) == 1)


def deleted(stored: Stored, cursor: ElementCursor | None, cursors: Cursors) -> Stored:
    """DELETE FROM TABLE(variable) of the current element, or of all."""
    if stored is None and cursor is None:
        return None
    parts = _parts(stored)
    if cursor is None:
        parts.clear()
        for each in cursors:
            each.on_all_became(None)
    else:
        place = cursor.place(parts)
        del parts[place]
        for each in cursors:
            each.on_deleted(place)
    return stored_parts(parts)


def _parts(stored: Stored) -> list[Stored]:
    return parts_of(stored) if isinstance(stored, str) else []
