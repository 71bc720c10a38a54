"""Rows as JSON: nothing is lost, every line is JSON."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from decimal import Decimal
from typing import Any

import pytest

from aioifx.cli.json_lines import json_lines
from aioifx.sqltypes import Column, IntervalYM, SqlType, TypeCode

DECIMAL = SqlType(TypeCode.DECIMAL, 0x1002)
LIST = SqlType(TypeCode.LIST)


@pytest.mark.parametrize(
    ("sql_type", "value", "text"),
    [
        (SqlType(TypeCode.BIGINT), 2**60 + 1, "1152921504606846977"),
        (SqlType(TypeCode.FLOAT), 0.1, "0.1"),
        (SqlType(TypeCode.FLOAT), float("inf"), '"inf"'),
        (SqlType(TypeCode.BOOLEAN), True, "true"),
        (DECIMAL, Decimal("1.50"), '"1.50"'),
        (SqlType(TypeCode.DECIMAL, 0x1000), 7, "7"),
        (SqlType(TypeCode.VARCHAR), 'ä"\n', '"ä\\"\\n"'),
        (SqlType(TypeCode.VARCHAR), None, "null"),
        (SqlType(TypeCode.DATE), dt.date(2026, 1, 31), '"2026-01-31"'),
        (SqlType(TypeCode.BYTE), b"\0\xff", '"00ff"'),
        (SqlType(TypeCode.INTERVAL, 0x0602), IntervalYM(1, 2), '"1-02"'),
        (LIST, [Decimal("1.50"), None, [2]], '["1.50", null, [2]]'),
        (LIST, {3}, "[3]"),
        (SqlType(TypeCode.ROW), {"a": dt.datetime(2026, 1, 31, 10), "b": dt.time(1, 2)},
         '{"a": "2026-01-31 10:00:00", "b": "01:02:00"}'),
        (SqlType(999), uuid.UUID(int=0), '"00000000-0000-0000-0000-000000000000"'),
    ],
)  # fmt: skip
def test_values(sql_type: SqlType, value: Any, text: str) -> None:
    line = json_lines([Column("a", sql_type)])([(value,)])
    assert line == f'{{"a": {text}}}\n'
    json.loads(line)


def test_each_row_is_a_line_and_each_name_is_there_once() -> None:
    number = SqlType(TypeCode.INTEGER)
    write = json_lines([Column("a", number), Column("a", number), Column('"', number)])
    assert write([(1, 2, 3), (4, 5, 6)]) == '{"a": 1, "a_2": 2, "\\"": 3}\n{"a": 4, "a_2": 5, "\\"": 6}\n'
