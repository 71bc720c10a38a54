"""Values of every type as text."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from aioifx.cli.value_texts import text_writer
from aioifx.sqltypes import EXTENDED_BLOB, EXTENDED_CLOB, SqlType, TypeCode


def test_values_are_written_as_unload_writes_them() -> None:
    assert text_writer(SqlType(TypeCode.DECIMAL, 0x0802))(Decimal("1.50")) == "1.50"
    assert text_writer(SqlType(TypeCode.DATE))(dt.date(2026, 1, 31)) == "2026-01-31"
    assert text_writer(SqlType(TypeCode.CHAR, 5))("a    ") == "a"
    assert text_writer(SqlType(TypeCode.BYTE))(b"\0\xff") == "00ff"


def test_types_without_a_form_in_files_have_one_here() -> None:
    assert text_writer(SqlType(TypeCode.UDTFIXED, 72, EXTENDED_BLOB))(b"\0\xff") == "00ff"
    assert text_writer(SqlType(TypeCode.UDTFIXED, 72, EXTENDED_CLOB))("text") == "text"
    assert text_writer(SqlType(999))(7) == "7"
    assert text_writer(SqlType(TypeCode.LVARCHAR))(7) == "7"
