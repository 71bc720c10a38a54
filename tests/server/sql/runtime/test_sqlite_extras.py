from __future__ import annotations

import sqlite3

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.runtime.sqlite_extras import EXTRAS, register_extras

ERRORS: list[SqlError] = []
CONNECTION = sqlite3.connect(":memory:")
register_extras(CONNECTION, ERRORS.append)


def called(text: str) -> Stored:
    (value,) = CONNECTION.execute(f"SELECT {text}").fetchone()
    return value  # type: ignore[no-any-return]  # sqlite3 says Any


def test_a_required_value_is_returned_and_null_is_an_error() -> None:
    assert called("ifx_required('a', 'c', -391)") == "a"
    with pytest.raises(sqlite3.OperationalError):
        called("ifx_required(NULL, 'c', -703)")
    assert (ERRORS[-1].sqlcode, ERRORS[-1].token) == (-703, "c")


NOT_NULL_SERIAL, DECIMAL_8_2, TO_FRACTION_3 = 256 + 6, 8 * 256 + 2, 0x110D


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (f"ifx_jdbc_type({NOT_NULL_SERIAL}, 0, 0)", 4),
        ("ifx_jdbc_type(40, 1, 0)", 12),
        ("ifx_jdbc_type(41, 5, 0)", 16),
        ("ifx_jdbc_type(41, 10, 0)", 2004),
        (f"ifx_type_name({NOT_NULL_SERIAL}, 0)", "serial"),
        ("ifx_type_name(40, 1)", "lvarchar"),
        ("ifx_type_name(41, 5)", "boolean"),
        (f"ifx_type_precision(5, 0, {DECIMAL_8_2})", 8),
        (f"ifx_type_precision(10, 0, {TO_FRACTION_3})", 23),
        ("ifx_type_precision(13, 0, 50)", 50),
        ("ifx_type_precision(2, 0, 4)", 10),
        (f"ifx_type_scale(5, {DECIMAL_8_2})", 2),
        ("ifx_type_scale(5, 2303)", None),
        (f"ifx_type_scale(10, {TO_FRACTION_3})", 3),
        ("ifx_type_scale(0, 5)", None),
        ("ifx_type_bytes(2, 4)", 4),
        (f"ifx_type_bytes(5, {8 * 256 + 2})", 10),
        ("ifx_type_bytes(13, 9)", 9),
        ("ifx_type_text(13, 0, 9)", "varchar(9)"),
        (f"ifx_type_text(5, 0, {8 * 256 + 2})", "decimal(8,2)"),
        ("ifx_type_text(41, 5, 1)", "boolean"),
        ("ifx_type_radix(2)", 10),
        ("ifx_type_radix(0)", None),
        (f"ifx_is_nullable({NOT_NULL_SERIAL})", 0),
        ("ifx_nullable_word(2)", "YES"),
        (f"ifx_date_type(10, {TO_FRACTION_3})", 0x0D),
        ("ifx_date_type(2, 4)", None),
        ("ifx_char_octets(0, 0, 7)", 7),
        ("ifx_char_octets(2, 0, 4)", None),
        (f"ifx_increments_word({NOT_NULL_SERIAL})", "YES"),
        ("ifx_increments_word(2)", "NO"),
        ("ifx_default_text(0, 0, 5, 'ab')", "ab"),
        ("ifx_default_text(2, 0, 4, 'AAAAAA 5')", "5"),
        ("ifx_default_text(2, 0, 4, NULL)", None),
    ],
)
def test_a_columns_codes_are_translated_to_jdbcs_words(call: str, value: Stored) -> None:
    assert called(call) == value


def test_a_decimal_point_of_255_floats() -> None:
    assert called(f"ifx_type_scale(5, {16 * 256 + 255})") is None


@pytest.mark.parametrize("value", ["NULL", "-1", "'2'"])
def test_only_a_number_of_rows_counts_rows(value: str) -> None:
    with pytest.raises(sqlite3.OperationalError):
        called(f"ifx_count({value})")
    assert called("ifx_count(0)") == 0


def test_null_in_gives_null_out_but_for_what_must_be_there() -> None:
    for spec in EXTRAS:
        if spec.name not in ("ifx_required", "ifx_count"):
            assert called(f"{spec.name}({', '.join(['NULL'] * spec.arguments)})") is None
