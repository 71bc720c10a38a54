from __future__ import annotations

import pytest

from aioifx.server.sql.complex_types import ComplexType, collection_of
from aioifx.server.sql.errors import SqlError
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
    assert inserted(before, element, position, type_) == after


def test_an_element_is_not_null() -> None:
    with pytest.raises(SqlError) as caught:
        inserted("[1]", None, None, LIST)
    assert caught.value.sqlcode == -9978


def test_all_elements_are_changed() -> None:
    assert updated("[1,2,3]", 7, None, LIST) == "[7,7,7]"
    assert updated("[1,2,3]", 7, None, SET) == "[7]"
    assert deleted("[1,2]", None) == "[]"
    assert updated(None, 7, None, LIST) is deleted(None, None) is None


def test_the_current_element_keeps_its_place_in_a_list() -> None:
    stored, cursor = "[1,2,1,3]", ElementCursor("[1,2,1,3]", is_set=False)
    for change in ("delete", "update", "update", "delete"):
        cursor.step()
        stored = str(deleted(stored, cursor) if change == "delete" else updated(stored, 9, cursor, LIST))
    assert stored == "[9,9]"


def test_the_current_element_of_a_set_is_found_by_its_value() -> None:
    cursor = ElementCursor("[1,2,3]", is_set=True)
    cursor.step()
    stored = updated("[1,2,3]", 2, cursor, SET)
    assert stored == "[2,3]"
    assert updated(stored, 5, cursor, SET) == "[5,3]"
    cursor.step()
    with pytest.raises(SqlError) as caught:  # it is no longer an element
        deleted("[5,3]", cursor)
    assert caught.value.sqlcode == -266
    cursor.step()
    assert deleted("[5,3]", cursor) == "[5]"


@pytest.mark.parametrize("is_set", [False, True])
def test_a_deleted_element_is_not_current(is_set: bool) -> None:
    cursor = ElementCursor("[1]", is_set)
    cursor.step()
    stored = deleted("[1]", cursor)
    with pytest.raises(SqlError) as caught:
        deleted(stored, cursor)
    assert caught.value.sqlcode == -266


def test_a_list_that_has_become_shorter_has_no_current_element() -> None:
    cursor = ElementCursor("[1,2]", is_set=False)
    cursor.step()
    cursor.step()
    with pytest.raises(SqlError) as caught:
        updated("[1]", 3, cursor, LIST)
    assert caught.value.sqlcode == -266
