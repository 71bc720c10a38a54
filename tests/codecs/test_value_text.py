"""Text of a value, by its type; fields of files, which use all of it, are tested in client/bulk."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from aioifx.codecs.value_text import formatter_for, parser_for
from aioifx.errors import DataError, InterfaceError, NotSupportedError
from aioifx.sqltypes import SqlType, TypeCode
from tests.codecs.samples import BOOLEAN, INTEGER, decimal_type

DATE = SqlType(TypeCode.DATE, 4)


@pytest.mark.parametrize(
    ("sql_type", "value", "text"),
    [
        (INTEGER, -7, "-7"),
        (decimal_type(8, 2), Decimal("1.50"), "1.50"),
        (SqlType(TypeCode.FLOAT, 8), 0.5, "0.5"),
        (DATE, dt.date(2026, 11, 22), "2026-11-22"),
        (SqlType(TypeCode.DATETIME, 0x0E0A), dt.datetime(2026, 1, 2, 3, 4, 5), "2026-01-02 03:04:05"),
        (BOOLEAN, False, "f"),
        (SqlType(TypeCode.SET, 0), "SET{1}", "SET{1}"),
    ],
)
def test_a_value_has_one_text_which_is_read_back(sql_type: SqlType, value: Any, text: str) -> None:
    assert formatter_for(sql_type)(value) == text
    assert parser_for(sql_type)(text) == value


def test_dates_are_in_the_format_of_dbdate() -> None:
    assert formatter_for(DATE, "DMY4.")(dt.date(2026, 11, 22)) == "22.11.2026"
    assert parser_for(DATE, "MDY4/")("11/22/2026") == dt.date(2026, 11, 22)
    with pytest.raises(InterfaceError, match=r"^dbdate: expected a form like"):
        parser_for(DATE, "MDY2/")


def test_text_that_is_not_a_value_of_the_type_is_not_shown() -> None:
    with pytest.raises(DataError, match=r"^not a valid INTEGER$"):
        parser_for(INTEGER)("seven")


def test_a_blob_has_no_text() -> None:
    with pytest.raises(NotSupportedError, match=r"^BLOB values have no text form$"):
        parser_for(SqlType(TypeCode.UDTFIXED, 72, extended_id=10, extended_name="blob"))
