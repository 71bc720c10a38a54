from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from aioifx.server.sql.model.plan import Parameter
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.runtime.parameters import bind
from aioifx.server.sqlite.parameters import Binders
from aioifx.sqltypes import SqlType, TypeCode, Value
from tests.server.sql.kinds import error_of

INTEGER = SqlType(TypeCode.INTEGER, 4)
SETTINGS = Settings()
PARAMETERS = (
    Parameter(INTEGER),
    Parameter(SqlType(TypeCode.VARCHAR, 4)),
    Parameter(SqlType(TypeCode.DATE, 4)),
    Parameter(None),
    Parameter(INTEGER, is_compared=True),
    Parameter(INTEGER, is_exact=True),
)


@pytest.mark.parametrize(
    "values",
    [
        (7, "abcd", date(2026, 5, 4), Decimal("1.50"), Decimal("2.5"), 3),
        ("7", "abcdef", "05/04/2026", "x", 2.5, "3"),
        (2.6, 12, None, True, "4", 3.0),
        (None,) * 6,
    ],
)
def test_what_is_chosen_once_binds_as_what_is_chosen_each_time(values: tuple[Value, ...]) -> None:
    assert Binders(PARAMETERS).bind(values, SETTINGS) == bind(PARAMETERS, values, SETTINGS)


@pytest.mark.parametrize(
    ("values", "sqlcode"), [((), -254), ((1, 2), -254), (("x",), -1213), ((2**31,), -1215)]
)
def test_what_cannot_be_bound_is_an_error(values: tuple[Value, ...], sqlcode: int) -> None:
    assert error_of(Binders(PARAMETERS[:1]).bind, values, SETTINGS) == sqlcode


def test_a_whole_number_is_not_made_of_a_broken_one() -> None:
    assert error_of(Binders(PARAMETERS[5:]).bind, (2.5,), SETTINGS) == -415


def test_a_type_that_is_not_stored_is_an_error() -> None:
    assert error_of(Binders, (Parameter(SqlType(TypeCode.ROWREF)),)) == -1260


ROWS = [(1, "a", date(2026, 5, 4)), ("2", None, "05/04/2026"), (None, "abcdef", None)]


def test_many_rows_are_bound_as_each_of_them() -> None:
    binders = Binders(PARAMETERS[:3])
    assert binders.bind_rows(ROWS, SETTINGS) == ([binders.bind(row, SETTINGS) for row in ROWS], None)
    assert binders.bind_rows([], SETTINGS) == ([], None)


@pytest.mark.parametrize(
    ("bad", "sqlcode"), [((2**31, "x", None), -1215), ((1, "x", "x"), -1218), ((1, "x"), -254)]
)
@pytest.mark.parametrize("at", range(4))
def test_rows_before_one_that_cannot_be_bound_are_bound(
    bad: tuple[Value, ...], sqlcode: int, at: int
) -> None:
    binders = Binders(PARAMETERS[:3])
    rows: list[tuple[Value, ...]] = [*ROWS]
    rows.insert(at, bad)
    bound, error = binders.bind_rows(rows, SETTINGS)
    assert bound == [binders.bind(row, SETTINGS) for row in ROWS[:at]]
    assert error is not None
    assert error.sqlcode == sqlcode
