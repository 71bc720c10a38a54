from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model import type_rules
from aioifx.server.sql.model.plan import Parameter
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.model.type_rules import datetime as moment
from aioifx.server.sql.runtime.parameters import bind, bound
from aioifx.sqltypes import SqlType, Unit, Value

SETTINGS = Settings()
TO_SECOND = moment(Unit.YEAR, Unit.SECOND)


@pytest.mark.parametrize(
    ("type_", "value", "stored"),
    [
        (type_rules.SMALLINT, 5, 5),
        (type_rules.SMALLINT, "5", 5),
        (type_rules.char(3), "abcdef", "abc"),
        (type_rules.decimal(5, 2), Decimal("1.005"), "1.01"),
        (type_rules.DATE, date(1970, 1, 1), 25568),
        (TO_SECOND, datetime(2026, 5, 4, 1, 2, 3, 999), "2026-05-04 01:02:03"),
        (type_rules.BOOLEAN, True, "t"),
        (type_rules.INTEGER, None, None),
    ],
)
def test_an_assigned_value_is_made_one_of_its_columns_type(
    type_: SqlType, value: Value, stored: Stored
) -> None:
    assert bound(Parameter(type_), value, SETTINGS) == stored


@pytest.mark.parametrize(
    ("type_", "value", "stored"),
    [
        (type_rules.BIGINT, 5, 5),
        (type_rules.BIGINT, "5", 5),
        (type_rules.BIGINT, Decimal("5.0"), 5),
        (type_rules.BIGINT, Decimal("5.5"), 5.5),
        (type_rules.BIGINT, 2**70, float(2**70)),
        (type_rules.decimal(), 5, "5"),
        (type_rules.decimal(), Decimal("1.0050"), "1.005"),
        (type_rules.LONG_TEXT, "abc ", "abc "),
        (type_rules.LONG_TEXT, 5, "5"),
        (type_rules.DATE, "01/02/1900", 2),
        (type_rules.FLOAT, Decimal("0.5"), 0.5),
        (TO_SECOND, datetime(2026, 5, 4, 1, 2, 3), "2026-05-04 01:02:03"),
        (TO_SECOND, datetime(2026, 5, 4, 1, 2, 3, 500_000), "2026-05-04 01:02:03.50000"),
        (TO_SECOND, date(2026, 5, 4), "2026-05-04 00:00:00"),
    ],
)
def test_a_compared_value_keeps_all_that_it_has(type_: SqlType, value: Value, stored: Stored) -> None:
    assert bound(Parameter(type_, is_compared=True), value, SETTINGS) == stored


def test_a_value_that_nothing_gives_a_type_is_stored_as_what_it_is() -> None:
    assert bind((Parameter(None),) * 3, ("a", 5, Decimal("1.50")), SETTINGS) == ("a", 5, "1.5")


@pytest.mark.parametrize(
    ("parameter", "value", "sqlcode"),
    [
        (Parameter(type_rules.SMALLINT), 40_000, -1214),
        (Parameter(type_rules.INTEGER), "x", -1213),
        (Parameter(type_rules.INTEGER, is_exact=True), 1.5, -415),
        (Parameter(type_rules.BIGINT, is_compared=True), "x", -1213),
        (Parameter(type_rules.DATE, is_compared=True), "soon", -1218),
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
        bind((Parameter(type_rules.INTEGER),), (), SETTINGS)
