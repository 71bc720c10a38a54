from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pytest

from aioifx.server.sql.translate.builtins import ROUTINES, ArgumentKind
from aioifx.sqltypes import Value
from tests.server.sql.workbench import FUNCTION_ARGUMENTS, Workbench

BENCH = Workbench(*FUNCTION_ARGUMENTS)


@pytest.mark.parametrize(
    ("call", "value", "type_"),
    [
        ("UPPER(c)", "AB   ", "CHAR(5)"),
        ("LOWER(v)", "hello", "VARCHAR(20)"),
        ("INITCAP('one two')", "One Two", "CHAR(7)"),
        ("LENGTH(c)", 2, "INTEGER"),
        ("CHAR_LENGTH(c)", 5, "INTEGER"),
        ("OCTET_LENGTH(v)", 5, "INTEGER"),
        ("LTRIM('xxa', 'x')", "a", "VARCHAR(3)"),
        ("RTRIM(c)", "ab", "VARCHAR(5)"),
        ("LPAD(v, 7, '*')", "**Hello", "VARCHAR(7)"),
        ("RPAD('a', 3)", "a  ", "VARCHAR(3)"),
        ("REPLACE(v, 'l', 'L')", "HeLLo", "VARCHAR(20)"),
        ("REPLACE(v, 'l', 'LL')", "HeLLLLo", "LVARCHAR(32739)"),
        ("REPLACE(v, 'l')", "Heo", "VARCHAR(20)"),
        ("SUBSTR(v, -2)", "lo", "VARCHAR(20)"),
        ("SUBSTR(c, 1, 3)", "ab ", "VARCHAR(5)"),
        ("SUBSTRING(v FROM 2 FOR 2)", "el", "VARCHAR(20)"),
        ("CONCAT(c, v)", "ab   Hello", "VARCHAR(25)"),
        ("LEFT(v, 2)", "He", "VARCHAR(20)"),
        ("REVERSE(v)", "olleH", "VARCHAR(20)"),
        ("INSTR(v, 'l')", 3, "INTEGER"),
        ("ASCII(v)", 72, "INTEGER"),
        ("ABS(k)", 7, "INTEGER"),
        ("ABS(d)", Decimal("4.56"), "DECIMAL(32)"),
        ("MOD(k, 3)", -1, "INTEGER"),
        ("ROUND(d)", Decimal(5), "DECIMAL(32)"),
        ("ROUND(d, 1)", Decimal("4.6"), "DECIMAL(32)"),
        ("TRUNC(-2.7)", Decimal(-2), "DECIMAL(32)"),
        ("ROUND(f)", 3.0, "FLOAT"),
        ("CEIL(d)", Decimal(5), "DECIMAL(32)"),
        ("FLOOR(f)", 2.0, "FLOAT"),
        ("POW(2, 10)", 1024.0, "FLOAT"),
        ("SQRT(16)", 4.0, "FLOAT"),
        ("ROOT(27, 3)", pytest.approx(3), "FLOAT"),
        ("BITAND(6, 3)", 2, "INTEGER"),
        ("YEAR(day)", 2026, "INTEGER"),
        ("MONTH(at)", 5, "INTEGER"),
        ("DAY('05/04/2026')", 4, "INTEGER"),
        ("WEEKDAY(day)", 1, "INTEGER"),
        ("QUARTER(day)", 2, "INTEGER"),
        ("MDY(5, 4, 2026)", date(2026, 5, 4), "DATE"),
        ("DATE(at)", date(2026, 5, 4), "DATE"),
        ("DATE('05/04/2026')", date(2026, 5, 4), "DATE"),
        ("ADD_MONTHS(day, 1)", date(2026, 6, 4), "DATE"),
        ("LAST_DAY(day)", date(2026, 5, 31), "DATE"),
        ("MONTHS_BETWEEN(MDY(6,4,2026), day)", Decimal(1), "DECIMAL(32)"),
        ("TO_CHAR(at, '%Y/%m')", "2026/05", "VARCHAR(255)"),
        ("TO_CHAR(d)", "4.56", "VARCHAR(255)"),
        ("TO_CHAR(k, '---&')", "  -7", "VARCHAR(255)"),
        ("TO_CHAR(f, '<<<.&&')", "2.50", "VARCHAR(255)"),
        ("TO_NUMBER('$100.00')", Decimal(100), "DECIMAL(32)"),
        ("TO_NUMBER(k)", Decimal(-7), "DECIMAL(32)"),
        ("SPACE(300)", 300 * " ", "LVARCHAR(300)"),
        ("CHARINDEX('l', v)", 3, "INTEGER"),
        ("CHARINDEX('l', v, 4)", 4, "INTEGER"),
        ("SUBSTRING_INDEX(v, 'l', 1)", "He", "VARCHAR(20)"),
        ("SUBSTRING_INDEX('a.b', '.', -1)", "b  ", "CHAR(3)"),
        ("DEGREES(0)", 0.0, "FLOAT"),
        ("RADIANS(180)", 3.141592653589793, "FLOAT"),
        ("schema_coltypename(262, 0)", "serial", "VARCHAR(40)"),
        ("informix.schema_coltypename(0, 0)", "char", "VARCHAR(40)"),
        ("TO_DATE('2026-05-04', '%Y-%m-%d')", datetime(2026, 5, 4), "DATETIME YEAR TO FRACTION(5)"),
    ],
)
def test_a_function_has_informixs_value_and_type(call: str, value: Value, type_: str) -> None:
    ((found,),) = BENCH.rows(f"SELECT {call} FROM t")
    assert found == value
    assert BENCH.described(f"SELECT {call} FROM t") == [("(expression)", type_)]


@pytest.mark.parametrize(
    ("call", "sqlcode"),
    [
        ("TO_NUMBER(c || '1')", -1213),
        ("TO_NUMBER('')", -1213),
        ("TO_NUMBER(day)", -1213),
        ("TO_CHAR(d, '999')", -999),
        ("DEGREES('x')", -1213),
        ("CHARINDEX('l')", -664),
        ("SUBSTRING_INDEX(v, 'l')", -664),
    ],
)
def test_a_function_refuses_unfit_arguments(call: str, sqlcode: int) -> None:
    assert BENCH.error(f"SELECT {call} FROM t")[0] == sqlcode


_SAMPLES = {
    ArgumentKind.TEXT: "'7'",
    ArgumentKind.NUMBER: "0.5",
    ArgumentKind.COUNT: "2",
    ArgumentKind.BITS: "6",
    ArgumentKind.MOMENT: "TODAY",
    ArgumentKind.SPAN: "TODAY",
}
_OWN_SAMPLES = {
    "mdy": "5, 4, 2026",
    "next_day": "TODAY, 'Mon'",
    "round": "2.5, 1",
    "trunc": "2.5, 1",
    "to_char": "TODAY, '%Y'",
    "to_date": "'2026', '%Y'",
    "to_number": "'$7'",
    "hex": "255",
    "mod": "7.5, 2.5",
    "encrypt_aes": "'7', 'secret', 'hint'",
    "encrypt_tdes": "'7', 'secret', 'hint'",
    "decrypt_char": "ENCRYPT_AES('7', 'secret'), 'secret'",
    "decrypt_binary": "ENCRYPT_TDES('7', 'secret'), 'secret'",
    "gethint": "ENCRYPT_AES('7', 'secret', 'hint')",
}
_OF_NULL = ("replace", "to_char", "substring", "regex_match", "regex_replace")


# SUBSTRING alone is written with words between its arguments.
@pytest.mark.parametrize("name", [name for name in ROUTINES if name != "substring"])
def test_every_function_of_the_table_runs_with_all_its_arguments(name: str) -> None:
    arguments = _OWN_SAMPLES.get(name, ", ".join(_SAMPLES[kind] for kind in ROUTINES[name].kinds))
    assert BENCH.value(f"{name}({arguments})") is not None


@pytest.mark.parametrize("name", [name for name in ROUTINES if name not in _OF_NULL])
def test_a_null_argument_gives_null(name: str) -> None:
    arguments = ", ".join("NULL" for _ in ROUTINES[name].kinds)
    assert BENCH.value(f"{name}({arguments})") is None
