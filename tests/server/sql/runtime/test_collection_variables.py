from __future__ import annotations

import pytest

from aioifx.server.sql.complex_types import ComplexType, collection_of
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.model.type_rules import INTEGER
from aioifx.server.sql.runtime.collection_variables import ElementCursor, deleted, inserted, updated
from aioifx.sqltypes import TypeCode

SET = collection_of(TypeCode.SET, INTEGER)
LIST = collection_of(TypeCode.LIST, INTEGER)
MULTISET = collection_of(TypeCode.MULTISET, INTEGER)


@pytest.mark.parametrize(
    ("type_", "before", "element", "position", "after"),
    [
        (SET, None, 1, None, "[1]"),
        (SET, "[1,2]", 1, None, "[1,2]"),
        (MULTISET, "[1,2]", 1, 1, "[1,2,1]"),
        (LIST, "[1,2]", 1, None, "[1,2,1]"),
        (LIST, "[1,2]", 3, 1, "[3,1,2]"),
        (LIST, "[1,2]", 3, 2, "[1,3,2]"),
        (LIST, "[1,2]", 3, 9, "[1,2,3]"),
        (LIST, "[1,2]", 3, -1, "[3,1,2]"),
    ],
)
def test_an_element_is_inserted(
    type_: ComplexType, before: str | None, element: int, position: int | None, after: str
) -> None:
    assert inserted(before, element, position, type_, ()) == after


def test_an_element_is_not_null() -> None:
    with pytest.raises(SqlError) as caught:
        inserted("[1]", None, None, LIST, ())
    assert caught.value.sqlcode == -9978


def test_all_elements_are_changed() -> None:
    assert updated("[1,2,3]", 7, None, LIST, ()) == "[7,7,7]"
    assert updated("[1,2,3]", 7, None, SET, ()) == "[7]"
    assert deleted("[1,2]", None, ()) == "[]"
    assert updated(None, 7, None, LIST, ()) is deleted(None, None, ()) is None


def at(stored: str, index: int) -> ElementCursor:
    cursor = ElementCursor(stored)
    for _ in range(index + 1):
        cursor.step()
    return cursor


def is_gone(stored: str, cursor: ElementCursor) -> bool:
    with pytest.raises(SqlError) as caught:
        deleted(stored, cursor, [cursor])
    return caught.value.sqlcode == -266


def test_the_current_element_keeps_its_place_in_a_list() -> None:
    stored, cursor = "[1,2,1,3]", ElementCursor("[1,2,1,3]")
    for change in ("delete", "update", "update", "delete"):
        cursor.step()
        stored = str(
            deleted(stored, cursor, [cursor])
            if change == "delete"
            else updated(stored, 9, cursor, LIST, [cursor])
        )
    assert stored == "[9,9]"


def test_a_cursor_follows_what_others_insert_and_delete() -> None:
    first, last = cursors = at("[1,2,3]", 0), at("[1,2,3]", 2)
    stored: Stored = inserted("[1,2,3]", 7, 1, LIST, cursors)
    stored = inserted(stored, 8, 4, LIST, cursors)
    stored = updated(stored, 9, last, LIST, cursors)
    assert stored == "[7,1,2,8,9]"
    stored = deleted(stored, first, cursors)
    assert stored == "[7,2,8,9]" and is_gone("[7,2,8,9]", first)
    assert deleted(stored, last, cursors) == "[7,2,8]"
    assert deleted("[1]", None, both := [at("[1]", 0)]) == "[]"
    assert is_gone(inserted("[]", 1, None, LIST, both), both[0])


def test_equal_elements_of_a_set_become_one() -> None:
    cursor = at("[1,2,3]", 0)
    stored = updated("[1,2,3]", 2, cursor, SET, [cursor])
    assert stored == "[2,3]"
    cursor.step()  # to the 2 that it had before
    assert updated(stored, 3, cursor, SET, [cursor]) == "[3]"
    cursor.step()
    assert updated("[3]", 4, cursor, SET, [cursor]) == "[4]"
    cursor = at("[1,2,3]", 2)
    assert updated("[1,2,3]", 1, cursor, SET, [cursor]) == "[1,2]"
    assert updated("[1,2]", 5, cursor, SET, [cursor]) == "[5,2]"
    assert updated("[5,2]", 6, None, SET, [cursor]) == "[6]"
    assert deleted("[6]", cursor, [cursor]) == "[]"


def test_a_deleted_element_is_not_current() -> None:
    cursor = at("[1]", 0)
    assert deleted("[1]", cursor, [cursor]) == "[]"
    assert is_gone("[]", cursor)


def test_a_list_that_has_become_shorter_has_no_current_element() -> None:
    assert is_gone("[1]", at("[1,2]", 1))
