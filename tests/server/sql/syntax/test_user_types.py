from __future__ import annotations

import pytest

from aioifx.server.sql.complex_types import TypeName, row_of
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.parser import parse
from aioifx.sqltypes import SqlType, TypeCode
from tests.server.sql.shapes import error_of

INTEGER = SqlType(TypeCode.INTEGER, 4)


def test_a_row_type_with_fields_and_a_supertype() -> None:
    statement = parse("CREATE ROW TYPE IF NOT EXISTS ann.emp_t (a INT NOT NULL, b person_t) UNDER person_t")
    assert isinstance(statement, nodes.CreateRowType)
    assert (statement.name.owner, statement.name.name, statement.if_not_exists) == ("ann", "emp_t", True)
    name = TypeName(TypeCode.NULL, extended_name="person_t", offset=60)
    assert statement.row == row_of(("a", "b"), (INTEGER, name), (True, False))
    assert statement.supertype is not None and statement.supertype.extended_name == "person_t"


def test_a_row_type_may_have_only_the_fields_of_its_supertype() -> None:
    statement = parse("create row type b under a")
    assert isinstance(statement, nodes.CreateRowType) and statement.row is None


def test_a_distinct_type() -> None:
    statement = parse("create distinct type dollar as decimal(10,2)")
    assert isinstance(statement, nodes.CreateDistinctType)
    assert statement.base == SqlType(TypeCode.DECIMAL, 10 * 256 + 2)


@pytest.mark.parametrize(
    ("text", "is_row"), [("drop row type a restrict", True), ("drop type a restrict", False)]
)
def test_drops(text: str, is_row: bool) -> None:
    assert parse(text) == nodes.DropType(1, nodes.QualifiedName(text.index(" a") + 2, "a"), is_row)


@pytest.mark.parametrize(
    ("marked", "error"),
    [
        ("create row type a^", (-201, "")),
        ("create row type a (^)", (-201, "")),
        ("^create row type a (x int, x date)", (-328, "x")),
        ("create distinct type a ^int", (-201, "")),
        ("drop row type a^", (-201, "")),
        ("drop type a ^cascade", (-201, "")),
    ],
)
def test_what_is_not_a_type_is_refused(marked: str, error: tuple[int, str]) -> None:
    assert error_of(marked) == error
