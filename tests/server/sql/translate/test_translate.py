from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.syntax.parser import parse
from aioifx.server.sql.translate.translate import translate
from aioifx.sqltypes import Row
from tests.server.sql.workbench import Workbench

DUAL = "FROM sysmaster:sysdual"


# The examples that the server is built to: statement -> rows, or the SQLCODE.
@pytest.mark.parametrize(
    ("query", "rows"),
    [
        (f"SELECT 7/2, 7/2::FLOAT, MOD(-7,3), ROUND(2.5), TRUNC(-2.7) {DUAL}",
         [(Decimal("3.5"), 3.5, -1, Decimal(3), Decimal(-2))]),
        ("SELECT SKIP 1 FIRST 2 tabname FROM systables ORDER BY tabid", [("syscolumns",), ("sysindices",)]),
        ("SELECT tabname[1,3] FROM systables WHERE tabname MATCHES 's?s[t-v]a*' AND tabid = 1", [("sys",)]),
        (f"""SELECT "it's", 'it''s' {DUAL}""", [("it's", "it's")]),
        (f"SELECT MDY(2,29,2024) + 365, MDY(3,1,2024) - MDY(2,1,2024) {DUAL}", [(date(2025, 2, 28), 29)]),
        (f"SELECT EXTEND(MDY(5,4,2026), YEAR TO SECOND) - INTERVAL(1) SECOND TO SECOND {DUAL}",
         [(datetime(2026, 5, 3, 23, 59, 59),)]),
        ("SELECT DATETIME(2026-05-04 12:00) YEAR TO MINUTE - DATETIME(2026-05-01 06:30) YEAR TO MINUTE" f" {DUAL}",
         [(timedelta(days=3, hours=5, minutes=30),)]),
        (f"SELECT NVL(NULL::INT, 5), DECODE(NULL::INT, NULL, 'n', 'x'), 'a' || NULL::CHAR(1) {DUAL}",
         [(5, "n", None)]),
        ("SELECT FIRST 1 site FROM informix.systables WHERE tabname = ' GL_COLLATE'", [("en_US.819",)]),
    ],
)  # fmt: skip
def test_queries_give_informixs_rows(query: str, rows: list[Row]) -> None:
    assert Workbench().rows(query) == rows


@pytest.mark.parametrize(
    ("query", "sqlcode"),
    [
        ("SELECT 1/0 FROM systables WHERE tabid = 1", -1202),
        ("SELECT 'x'::INT FROM systables WHERE tabid = 1", -1213),
        (f"SELECT DATETIME(2024-01-31 10:00) YEAR TO MINUTE + 1 UNITS MONTH {DUAL}", -1267),
        ("SELECT 1", -201),
    ],
)
def test_queries_fail_with_informixs_numbers(query: str, sqlcode: int) -> None:
    assert Workbench().error(query)[0] == sqlcode


def test_chars_are_padded_and_cut_and_serials_counted() -> None:
    bench = Workbench("CREATE TEMP TABLE t (k SERIAL, c CHAR(5), v VARCHAR(5))")
    for row in ("0,'ab','ab '", "10,'abcdefg',''", "0,NULL,NULL"):
        bench.run(f"INSERT INTO t VALUES ({row})")
    found = bench.rows("SELECT k, c, v, LENGTH(c) FROM t ORDER BY k")
    assert found == [(1, "ab   ", "ab ", 2), (10, "abcde", "", 5), (11, None, None, None)]
    assert bench.rows("SELECT COUNT(*) FROM t WHERE c = 'ab'") == [(1,)]
    assert bench.rows("SELECT COUNT(*) FROM t WHERE v = 'ab'") == [(1,)]
    assert bench.error("INSERT INTO t VALUES (0, 'a')")[0] == -236


def test_every_condition_on_a_subservient_table_belongs_to_its_join() -> None:
    bench = Workbench("CREATE TABLE a (k INT)", "CREATE TABLE b (k INT, x INT)")
    for row in ("a VALUES (1)", "a VALUES (2)", "b VALUES (1, 9)", "b VALUES (2, 3)"):
        bench.run(f"INSERT INTO {row}")
    query = "SELECT a.k, b.x FROM a, OUTER b WHERE a.k = b.k AND b.x > 5 ORDER BY 1"
    assert bench.rows(query) == [(1, 9), (2, None)]


def test_a_missing_table_is_reported_with_isam_code_name_and_position() -> None:
    assert Workbench().error("SELECT * FROM nowhere") == (-206, "nowhere", 15)


def test_a_repeated_key_is_reported_with_its_constraint() -> None:
    bench = Workbench("CREATE TABLE t (k INT PRIMARY KEY CONSTRAINT pk_t)", "INSERT INTO t VALUES (1)")
    assert bench.error("INSERT INTO t (k) VALUES (?)", 1) == (-268, "ann.pk_t", 0)


def test_with_delimident_double_quotes_name_a_column() -> None:
    bench = Workbench()
    bench.delimident = True
    assert bench.error(f"""SELECT "it's" {DUAL}""") == (-217, "it's", 8)


def test_a_plan_tells_the_databases_to_attach() -> None:
    bench = Workbench("CREATE TABLE t (k INT)")
    here = bench.schema
    there = replace(
        here, database="other", catalog="db1", tables={100: replace(here.tables[100], catalog="db1")}
    )
    schema = replace(here, foreign_schema=lambda name: there if name == "other" else None)
    made = translate(parse("SELECT a.k FROM t a, other:t b WHERE a.k = b.k"), schema, bench.settings)
    assert made.attach == (("other", "db1"),)
    assert 'db1."t100"' in made.action.sql.text  # type: ignore[union-attr]  # a Query
    assert bench.error("INSERT INTO other:t VALUES (1)")[0] == -329
    with pytest.raises(SqlError) as caught:
        translate(parse("INSERT INTO other:t VALUES (1)"), schema, bench.settings)
    assert caught.value.sqlcode == -999
