"""What both encoders know of a parameter: it is derived from the reference encoder, and must reproduce it."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from aioifx.codecs.bind_values import binder_for
from aioifx.codecs.param_plan import PackOp, rules_for
from aioifx.codecs.text import code_set_of
from aioifx.sqltypes import SqlType, TypeCode

LATIN1 = code_set_of("en_US.8859-1")
UTF8 = code_set_of("en_US.utf8")

INTEGER = SqlType(TypeCode.INTEGER, 4)
VARCHAR = SqlType(TypeCode.VARCHAR, 20)
DECIMAL = SqlType(TypeCode.DECIMAL, 16 << 8 | 2)


@pytest.mark.parametrize("sql_type", [INTEGER, VARCHAR, DECIMAL, SqlType(TypeCode.DATE, 4), None], ids=str)
def test_the_head_of_null_is_the_whole_entry(sql_type: SqlType | None) -> None:
    rule = rules_for(sql_type, LATIN1).for_class(type(None))
    assert rule.op is PackOp.CONSTANT
    assert rule.head == binder_for(sql_type, LATIN1)(None)


@pytest.mark.parametrize(
    ("sql_type", "value", "width"),
    [
        (SqlType(TypeCode.SMALLINT, 2), 12, 2),
        (INTEGER, -70_000, 4),
        (SqlType(TypeCode.BIGINT, 8), 1 << 40, 8),
        (SqlType(TypeCode.SERIAL, 4), 7, 4),
        (None, 7, 4),
    ],
    ids=str,
)
def test_head_and_number_are_the_entry_of_an_int(sql_type: SqlType | None, value: int, width: int) -> None:
    rule = rules_for(sql_type, LATIN1).for_class(int)
    assert rule.head + value.to_bytes(width, "big", signed=True) == binder_for(sql_type, LATIN1)(value)
    assert -rule.limit < value < rule.limit


def test_a_text_ends_its_head_with_its_size_and_is_padded() -> None:
    rule = rules_for(VARCHAR, LATIN1).for_class(str)
    assert rule.op is PackOp.SHORT_TEXT
    assert rule.head + b"\0\3abc\0" == binder_for(VARCHAR, LATIN1)("abc")
    assert rule.limit == 20 and rule.refuses_nul


def test_a_truth_is_one_of_two_heads() -> None:
    rule = rules_for(SqlType(TypeCode.BOOLEAN, 1, extended_name="boolean"), LATIN1).for_class(bool)
    bind = binder_for(SqlType(TypeCode.BOOLEAN, 1, extended_name="boolean"), LATIN1)
    assert (rule.head, rule.other) == (bind(True), bind(False))
    assert rule.head != rule.other


def test_a_decimal_has_as_many_digits_before_its_point_as_its_type() -> None:
    rules = rules_for(DECIMAL, LATIN1)
    assert {rules.for_class(kind).op for kind in (Decimal, int, float)} == {PackOp.NUMBER}
    assert rules.for_class(Decimal).limit == 14


@pytest.mark.parametrize("kind", [bytes, dt.timedelta, object, str.__class__])
def test_a_class_that_is_not_usual_is_the_binders_work(kind: type[object]) -> None:
    rule = rules_for(INTEGER, LATIN1).for_class(kind)
    assert rule.op is PackOp.OTHER
    assert rule.bind(12) == binder_for(INTEGER, LATIN1)(12)


def test_a_subclass_is_not_its_base() -> None:
    class Number(int):
        pass

    assert rules_for(INTEGER, LATIN1).for_class(Number).op is PackOp.OTHER


def test_large_objects_have_no_text_form() -> None:
    assert rules_for(SqlType(TypeCode.TEXT, 56), LATIN1).for_class(str).op is PackOp.OTHER


def test_the_same_type_has_the_same_forms() -> None:
    assert rules_for(VARCHAR, UTF8) is rules_for(SqlType(TypeCode.VARCHAR, 20), UTF8)
