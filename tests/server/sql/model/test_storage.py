from __future__ import annotations

import pytest

from aioifx.server.sql.model.storage import Form, form_of, numbered_type, type_number
from aioifx.sqltypes import SqlType, TypeCode, Unit
from tests.server.sql import kinds


@pytest.mark.parametrize(
    ("sql_type", "form"),
    [
        (kinds.SMALLINT, Form.INTEGER),
        (SqlType(TypeCode.SERIAL, 4), Form.INTEGER),
        (SqlType(TypeCode.BIGSERIAL, 8), Form.INTEGER),
        (kinds.SMALLFLOAT, Form.FLOAT),
        (kinds.money(), Form.DECIMAL),
        (kinds.char(5), Form.CHAR),
        (SqlType(TypeCode.NVARCHAR, 5), Form.VARCHAR),
        (kinds.lvarchar(), Form.VARCHAR),
        (SqlType(TypeCode.LVARCHAR, 40), Form.VARCHAR),
        (kinds.DATE, Form.DATE),
        (kinds.HOUR_TO_MINUTE, Form.DATETIME),
        (kinds.interval(Unit.YEAR, Unit.MONTH), Form.MONTHS),
        (kinds.interval(Unit.MONTH, Unit.MONTH), Form.MONTHS),
        (kinds.interval(Unit.DAY, Unit.SECOND), Form.TICKS),
        (kinds.BOOLEAN, Form.BOOLEAN),
        (SqlType(TypeCode.TEXT, 56), Form.SIMPLE_LARGE),
        (kinds.BLOB, Form.SMART_LARGE),
        (SqlType(TypeCode.ROWREF), None),
    ],
    ids=str,
)
def test_each_type_has_one_storage_form(sql_type: SqlType, form: Form | None) -> None:
    assert form_of(sql_type) is form


@pytest.mark.parametrize(
    "sql_type",
    [kinds.INTEGER, kinds.decimal(5, 2), kinds.char(32767), *kinds.DATETIME_TYPES, *kinds.INTERVAL_TYPES],
)
def test_a_type_number_names_its_type(sql_type: SqlType) -> None:
    assert numbered_type(type_number(sql_type)) == sql_type


def test_opaque_types_are_numbered_by_what_a_client_calls_them() -> None:
    assert numbered_type(type_number(kinds.lvarchar(300))) == SqlType(TypeCode.LVARCHAR, 300)
    assert numbered_type(type_number(kinds.BOOLEAN)) == SqlType(TypeCode.BOOLEAN, 1)
