from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Parameter
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.model.type_rules import (
    BIGINT,
    BOOLEAN,
    DATE,
    FLOAT,
    INTEGER,
    LONG_TEXT,
    SMALLINT,
    char,
    decimal,
)
from aioifx.server.sql.model.type_rules import (
    datetime as moment,
)
from aioifx.server.sql.runtime.parameters import Binders, bound
from aioifx.sqltypes import SqlType, TypeCode, Unit, Value

SETTINGS = Settings()
TO_SECOND = moment(Unit.YEAR, Unit.SECOND)


@pytest.mark.parametrize(
    ("type_", "value", "stored"),
    [
        (SMALLINT, 5, 5),
        (SMALLINT, "5", 5),
        (char(3), "abcdef", "abc"),
        (decimal(5, 2), Decimal("1.005"), "1.01"),
        (DATE, date(1970, 1, 1), 25568),
        (TO_SECOND, datetime(2026, 5, 4, 1, 2, 3, 999), "2026-05-04 01:02:03"),
        (BOOLEAN, True, "t"),
        (INTEGER, None, None),
    ],
)
def test_an_assigned_value_is_made_one_of_its_columns_type(
    type_: SqlType, value: Value, stored: Stored
) -> None:
    assert bound(Parameter(type_), value, SETTINGS) == stored


@pytest.mark.parametrize(
    ("type_", "value", "stored"),
    [
        (BIGINT, 5, 5),
        (BIGINT, "5", 5),
        (BIGINT, Decimal("5.0"), 5),
        (BIGINT, Decimal("5.5"), 5.5),
        (BIGINT, 2**70, float(2**70)),
        (decimal(), 5, "5"),
        (decimal(), Decimal("1.0050"), "1.005"),
        (LONG_TEXT, "abc ", "abc "),
        (LONG_TEXT, 5, "5"),
        (DATE, "01/02/1900", 2),
        (FLOAT, Decimal("0.5"), 0.5),
        (TO_SECOND, datetime(2026, 5, 4, 1, 2, 3), "2026-05-04 01:02:03"),
        (TO_SECOND, datetime(2026, 5, 4, 1, 2, 3, 500_000), "2026-05-04 01:02:03.50000"),
        (TO_SECOND, date(2026, 5, 4), "2026-05-04 00:00:00"),
    ],
)
def test_a_compared_value_keeps_all_that_it_has(type_: SqlType, value: Value, stored: Stored) -> None:
    assert bound(Parameter(type_, is_compared=True), value, SETTINGS) == stored


def test_a_value_that_nothing_gives_a_type_is_stored_as_what_it_is() -> None:
    assert Binders((Parameter(None),) * 3).bind(("a", 5, Decimal("1.50")), SETTINGS) == ("a", 5, "1.5")


@pytest.mark.parametrize(
    ("parameter", "value", "sqlcode"),
    [
        (Parameter(SMALLINT), 40_000, -1214),
        (Parameter(INTEGER), "x", -1213),
        (Parameter(INTEGER, is_exact=True), 1.5, -415),
        (Parameter(BIGINT, is_compared=True), "x", -1213),
        (Parameter(DATE, is_compared=True), "soon", -1218),
    ],
)
def test_a_value_that_cannot_be_of_the_type_says_why(
    parameter: Parameter, value: Value, sqlcode: int
) -> None:
    with pytest.raises(SqlError) as caught:
        bound(parameter, value, SETTINGS)
    assert caught.value.sqlcode == sqlcode


def test_the_number_of_values_must_be_right() -> None:
    with pytest.raises(SqlError, match="-254"):
        Binders((Parameter(INTEGER),)).bind((), SETTINGS)


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
    assert Binders(PARAMETERS).bind(values, SETTINGS) == tuple(
        map(bound, PARAMETERS, values, (SETTINGS,) * 6)
    )


@pytest.mark.parametrize(
    ("values", "sqlcode"), [((), -254), ((1, 2), -254), (("x",), -1213), ((2**31,), -1215)]
)
def test_what_cannot_be_bound_is_an_error(values: tuple[Value, ...], sqlcode: int) -> None:
    with pytest.raises(SqlError) as caught:
        Binders(PARAMETERS[:1]).bind(values, SETTINGS)
    assert caught.value.sqlcode == sqlcode


def test_a_whole_number_is_not_made_of_a_broken_one() -> None:
    with pytest.raises(SqlError) as caught:
        Binders(PARAMETERS[5:]).bind((2.5,), SETTINGS)
    assert caught.value.sqlcode == -415


def test_a_type_that_is_not_stored_is_an_error() -> None:
    with pytest.raises(SqlError) as caught:
        Binders((Parameter(SqlType(TypeCode.ROWREF)),))
    assert caught.value.sqlcode == -1260


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
    rows_bound, error = binders.bind_rows(rows, SETTINGS)
    assert rows_bound == [binders.bind(row, SETTINGS) for row in ROWS[:at]]
    assert error is not None
    assert error.sqlcode == sqlcode
