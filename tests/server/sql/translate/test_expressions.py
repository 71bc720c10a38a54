from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.sqltypes import IntervalYM, Value
from tests.server.sql.workbench import EACH_TYPE, Workbench

# A column of each kind, and a value that it takes.
COLUMNS = {
    "k": ("INT", "7"),
    "b": ("BIGINT", "9"),
    "f": ("FLOAT", "1.5"),
    "d": ("DECIMAL(8,2)", "2.25"),
    "df": ("DECIMAL(16)", "3.125"),
    "m": ("MONEY(8,2)", "9.99"),
    "c": ("CHAR(5)", "'12'"),
    "v": ("VARCHAR(20)", "'13'"),
    "l": ("LVARCHAR(99)", "'5'"),
    "day": ("DATE", "'05/04/2026'"),
    "at": ("DATETIME YEAR TO SECOND", "'2026-05-04 10:11:12'"),
    "tm": ("DATETIME HOUR TO MINUTE", "'10:11'"),
    "ds": ("INTERVAL DAY TO SECOND", "INTERVAL(1 02:03:04) DAY TO SECOND"),
    "ym": ("INTERVAL YEAR TO MONTH", "INTERVAL(1-2) YEAR TO MONTH"),
    "ok": ("BOOLEAN", "'t'"),
}

BENCH = Workbench(*EACH_TYPE)


@pytest.mark.parametrize(
    ("expression", "value", "type_"),
    [
        ("1", 1, "INTEGER"),
        ("-1", -1, "INTEGER"),
        ("3000000000", Decimal(3000000000), "DECIMAL(10,0)"),
        ("1.50", Decimal("1.5"), "DECIMAL(3,2)"),
        ("0.05", Decimal("0.05"), "DECIMAL(2,2)"),
        ("'abc'", "abc", "CHAR(3)"),
        ("7/2", Decimal("3.5"), "DECIMAL(32)"),
        ("7/2::FLOAT", 3.5, "FLOAT"),
        ("2 + 3 * 4", 14, "INTEGER"),
        ("-(2 + 3)", -5, "INTEGER"),
        ("1 + 1.5", Decimal("2.5"), "DECIMAL(32)"),
        ("'5' + 1", Decimal(6), "DECIMAL(32)"),
        ("'ab' || 'c'", "abc", "VARCHAR(3)"),
        ("'a' || 5", "a5", "VARCHAR(12)"),
        ("'a' || NULL::CHAR(1)", None, "VARCHAR(2)"),
        ("NULL::DATE", None, "DATE"),
        ("NULL + 1", None, "INTEGER"),
        ("'12'::INT", 12, "INTEGER"),
        ("CAST(1.6 AS SMALLINT)", 1, "SMALLINT"),
        ("12::CHAR(5)", "12   ", "CHAR(5)"),
        ("TODAY", date(2026, 5, 4), "DATE"),
        ("CURRENT YEAR TO SECOND", datetime(2026, 5, 4, 12, 34, 56), "DATETIME YEAR TO SECOND"),
        ("CURRENT", datetime(2026, 5, 4, 12, 34, 56, 789_000), "DATETIME YEAR TO FRACTION(3)"),
        ("USER", "ann" + 29 * " ", "CHAR(32)"),
        ("DATETIME(2026-05-04 12:34) YEAR TO MINUTE", datetime(2026, 5, 4, 12, 34), "DATETIME YEAR TO MINUTE"),
        ("INTERVAL(-5-3) YEAR TO MONTH", IntervalYM(years=-5, months=-3), "INTERVAL YEAR(4) TO MONTH"),
        ("INTERVAL(3 04:05:06) DAY TO SECOND", timedelta(3, 14706), "INTERVAL DAY(2) TO SECOND"),
        ("3 UNITS DAY", timedelta(3), "INTERVAL DAY(9) TO DAY"),
        ("-(3 UNITS DAY)", timedelta(-3), "INTERVAL DAY(9) TO DAY"),
        ("2 UNITS HOUR * 3", timedelta(hours=6), "INTERVAL HOUR(9) TO HOUR"),
        ("MDY(2,29,2024) + 365", date(2025, 2, 28), "DATE"),
        ("MDY(3,1,2024) - MDY(2,1,2024)", 29, "INTEGER"),
        ("TODAY + 1 UNITS DAY", date(2026, 5, 5), "DATETIME YEAR TO DAY"),
        ("EXTEND(TODAY, YEAR TO MINUTE)", datetime(2026, 5, 4), "DATETIME YEAR TO MINUTE"),
        ("TRIM('  a ')", "a", "VARCHAR(4)"),
        ("TRIM(LEADING 'x' FROM 'xxay')", "ay", "VARCHAR(4)"),
        ("CASE WHEN 1 = 1 THEN 1 ELSE 2.5 END", Decimal(1), "DECIMAL(11,1)"),
        ("CASE 3 WHEN 3 THEN 'three' WHEN 4 THEN 'four' END", "three", "CHAR(5)"),
        ("CASE WHEN 1 = 2 THEN 1 END", None, "INTEGER"),
        ("(SELECT MAX(tabid) FROM systables WHERE tabid < 3)", 2, "INTEGER"),
        ("(SELECT tabname FROM systables WHERE tabid = 1)", "systables", "VARCHAR(128)"),
        ("(SELECT tabname FROM systables WHERE tabid = 0)", None, "VARCHAR(128)"),
    ],
)  # fmt: skip
def test_an_expression_has_informixs_value_and_type(expression: str, value: Value, type_: str) -> None:
    assert BENCH.value(expression) == value
    assert BENCH.type_of(expression) == type_


@pytest.mark.parametrize(
    ("expression", "sqlcode"),
    [
        ("1/0", -1202),
        ("'x'::INT", -1213),
        ("'12x' + 1", -1213),
        ("2147483647 + 1", -1215),
        ("'nope'::DATE", -1218),
        ("DATETIME(2024-01-31 10:00) YEAR TO MINUTE + 1 UNITS MONTH", -1267),
        ("CURRENT + TODAY", -1266),
        ("(1 UNITS DAY) + (1 UNITS MONTH)", -1266),
        ("TODAY * 2", -1266),
        ("?", -201),
        ("NULL", -201),
        ("1 = 1", -201),
        ("CASE WHEN 1 = 1 THEN 1 ELSE 'a' END", -800),
        ("CASE WHEN 1 THEN 1 END", -201),
        ("(SELECT tabid FROM systables)", -284),
        ("(SELECT tabid, tabname FROM systables)", -201),
        ("nope(1)", -674),
        ("MDY(1, 2)", -664),
        ("DBINFO('nope')", -728),
        ("'a' + TODAY", -1266),
        ("seq.NEXTVAL", -8300),
    ],
)
def test_an_invalid_expression_is_refused_with_its_reason(expression: str, sqlcode: int) -> None:
    assert BENCH.error(f"SELECT {expression} FROM sysmaster:sysdual")[0] == sqlcode


@pytest.mark.parametrize(
    ("expression", "value", "result", "type_"),
    [
        ("?::INT", "7", 7, "INTEGER"),
        ("?::VARCHAR(3)", "abcdef", "abc", "VARCHAR(3)"),
        ("k + ?", 4, 5, "INTEGER"),
        ("? * d", 2, Decimal(9), "DECIMAL(32)"),
        ("day + ?", 3, date(2026, 5, 7), "DATE"),
        ("at - ?", timedelta(hours=1), datetime(2026, 5, 4, 9, 11, 12), "DATETIME YEAR TO SECOND"),
        ("iv * ?", 2, timedelta(2, 14768), "INTERVAL DAY(2) TO SECOND"),
        ("v || ?", "!", "xyz!", "LVARCHAR(32739)"),
        ("NVL(c, ?)", "a long one", "ab   ", "LVARCHAR(32739)"),
        ("UPPER(?)", "abc", "ABC", "LVARCHAR(32739)"),
    ],
)
def test_a_parameter_gets_its_type_from_the_other_operand(
    expression: str, value: Value, result: Value, type_: str
) -> None:
    ((found,),) = BENCH.rows(f"SELECT {expression} FROM t WHERE k = 1", value)
    assert found == result
    assert BENCH.described(f"SELECT {expression} FROM t") == [("(expression)", type_)]


def test_a_fraction_is_not_rounded_into_integer_arithmetic() -> None:
    assert BENCH.error("SELECT k + ? FROM t", 1.5)[0] == -415


@pytest.mark.parametrize(
    "shape",
    [
        "SELECT {0} + {1} FROM z", "SELECT {0} - {1} FROM z", "SELECT {0} * {1} FROM z",
        "SELECT {0} / {1} FROM z", "SELECT {0} || {1} FROM z", "SELECT NVL({0}, {1}) FROM z",
        "SELECT {0} FROM z UNION SELECT {1} FROM z", "SELECT k FROM z WHERE {0} = {1} OR {0} < {1}",
        "SELECT k FROM z WHERE {0} IN (SELECT {1} FROM z)", "SELECT {0} FROM z WHERE {0} IN ({1}, {0})",
    ],
)  # fmt: skip
def test_any_two_types_give_a_value_or_an_error_with_a_number(shape: str) -> None:
    declared = ", ".join(f"{name} {type_}" for name, (type_, _) in COLUMNS.items())
    values = ", ".join(value for _, value in COLUMNS.values())
    bench = Workbench(
        f"CREATE TABLE z ({declared})", f"INSERT INTO z VALUES ({values})", "INSERT INTO z (k) VALUES (8)"
    )
    answered = 0
    for left in COLUMNS:
        for right in COLUMNS:
            try:
                bench.rows(shape.format(left, right))
                answered += 1
            except SqlError as error:
                assert error.sqlcode in (-308, -800, -1213, -1218, -1260, -1263, -1266, -1267)
    assert answered >= 45  # at least the numbers and texts among themselves


def test_a_literal_text_is_as_long_as_its_bytes_in_the_database() -> None:
    bench = Workbench("CREATE TABLE u (c CHAR(5), v VARCHAR(5))")
    bench.settings.code_set = "utf-8"
    assert bench.type_of("'é'") == "CHAR(2)"
    bench.run("INSERT INTO u VALUES ('éééé', '日本語')")
    assert bench.rows("SELECT LENGTH(c), LENGTH(v), v FROM u") == [(4, 3, "日")]
    bench.settings.code_set = "iso8859-1"
    assert bench.type_of("'é'") == "CHAR(1)"


def test_mod_is_whole() -> None:
    assert [BENCH.value(each) for each in ("MOD(-7, 3)", "MOD(7.5, 2)", "MOD(-7.9, 2.9)")] == [-1, 1, -1]
    assert [BENCH.type_of(each) for each in ("MOD(7, 3)", "MOD(7.5, 2)")] == ["INTEGER", "INT8"]


def test_one_unit_of_fraction_is_refused() -> None:
    assert BENCH.error("SELECT 1 UNITS FRACTION FROM t")[:2] == (-999, "UNITS FRACTION")


def test_sums_and_averages_of_intervals_fit_their_type() -> None:
    bench = Workbench("CREATE TABLE u (i INTERVAL HOUR TO MINUTE)")
    for text in ("01:30", "02:15", "-00:10"):
        bench.run(f"INSERT INTO u VALUES ('{text}')")
    whole = timedelta(hours=3, minutes=35)
    assert bench.rows("SELECT SUM(i), AVG(i) FROM u") == [(whole, timedelta(hours=1, minutes=11))]
    windowed = bench.rows("SELECT AVG(i) OVER (), COUNT(i) OVER (), COUNT(*) OVER (), MAX(i) OVER () FROM u")
    assert windowed == [(timedelta(hours=1, minutes=11), 3, 3, timedelta(hours=2, minutes=15))] * 3
    bench.run("INSERT INTO u VALUES ('98:00')")
    assert bench.error("SELECT SUM(i) FROM u")[0] == -1265
