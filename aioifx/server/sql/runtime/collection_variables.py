"""Elements of a collection variable that a routine inserts, updates and deletes. Never: a query of them, their types.

Source: documented (Guide to SQL: Syntax, "Collection-Derived Table", "Modifying Elements in a Collection Variable";
INSERT, "AT clause"; finderr, -266). assumed: NULL counts as a collection without elements; AT is ignored but in a LIST,
and a position behind the end is the end.
"""

from __future__ import annotations

from typing import Final

from aioifx.server.sql.complex_types import ComplexType
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.runtime.complex_values import completed, parts_of, stored_parts
from aioifx.sqltypes import TypeCode

NO_CURRENT: Final = -266


class ElementCursor:
    """The elements that a FOREACH visits, and where the current one is in the variable.

    A SET has an element once, so it is found by its value; in others each element has kept its place.
    """

    __slots__ = ("_current", "_deleted", "_elements", "_is_set")

    def __init__(self, stored: Stored, is_set: bool) -> None:
        self._elements: list[Stored | None] = list(_parts(stored))
        self._is_set = is_set
        self._current = -1
        self._deleted = 0

    def step(self) -> None:
        """Go to the next element."""
        self._current += 1

    def place(self, parts: list[Stored]) -> int:
        """The index of the current element.

        Raises:
            SqlError: -266, it was deleted.
        """
        element = self._elements[self._current]
        if self._is_set:
            place = parts.index(element) if element in parts else len(parts)
        else:
            place = self._current - self._deleted
        if element is None or place >= len(parts):
            raise SqlError(NO_CURRENT)
        return place

    def put(self, element: Stored | None) -> None:
        """Note the new value of the current element; None if it is deleted."""
        self._elements[self._current] = element
        self._deleted += element is None


def inserted(stored: Stored, element: Stored, position: Stored, type_: ComplexType) -> str:
    """INSERT [AT position] INTO TABLE(variable)."""
    parts = _parts(stored)
    place = len(parts)
    if isinstance(position, int) and type_.code == TypeCode.LIST:
        place = max(position - 1, 0)
    parts.insert(place, element)
    return completed(parts, type_)


def updated(stored: Stored, element: Stored, cursor: ElementCursor | None, type_: ComplexType) -> Stored:
    """UPDATE TABLE(variable) of the current element, or of all."""
    parts = _parts(stored)
    if cursor is None:
        return None if stored is None else completed([element] * len(parts), type_)
    parts[cursor.place(parts)] = element
    result = completed(parts, type_)
    cursor.put(element)
    return result


def deleted(stored: Stored, cursor: ElementCursor | None) -> Stored:
    """DELETE FROM TABLE(variable) of the current element, or of all."""
    parts = _parts(stored)
    if cursor is None:
        return None if stored is None else stored_parts([])
    del parts[cursor.place(parts)]
    cursor.put(None)
    return stored_parts(parts)


def _parts(stored: Stored) -> list[Stored]:
    return parts_of(stored) if isinstance(stored, str) else []
