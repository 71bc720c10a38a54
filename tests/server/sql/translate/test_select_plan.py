from __future__ import annotations

import pytest

from aioifx.server.sql.model import plan
from tests.server.sql.workbench import Workbench

BENCH = Workbench(
    "CREATE TABLE t (k SERIAL, g CHAR(3) NOT NULL)",
    "CREATE TABLE u (k INT)",
    "CREATE VIEW v AS SELECT k FROM t",
    "INSERT INTO t VALUES (0, 'a')",
)


def test_a_query_names_the_tables_that_it_reads() -> None:
    action = BENCH.plan("SELECT t.k FROM t, u WHERE t.k IN (SELECT k FROM v)").action
    assert isinstance(action, plan.Query)
    assert sorted(table.name for table in action.tables) == ["t", "u"]
    assert not action.for_update


def test_for_update_brings_the_rowid_of_each_row() -> None:
    made = BENCH.plan("SELECT g FROM t WHERE k = 1 FOR UPDATE OF g")
    action = made.action
    assert isinstance(action, plan.Query)
    assert (action.for_update, action.has_rowid, action.update_columns) == (True, True, ("g",))
    assert BENCH.connection.execute(action.sql.text).fetchall() == [("a", 1)]
    assert [column.name for column in made.columns] == ["g"]


@pytest.mark.parametrize(
    ("query", "sqlcode"),
    [
        ("SELECT t.k FROM t, u FOR UPDATE", -365),
        ("SELECT COUNT(*) FROM t FOR UPDATE", -365),
        ("SELECT DISTINCT k FROM t FOR UPDATE", -365),
        ("SELECT k FROM t ORDER BY k FOR UPDATE", -365),
        ("SELECT k FROM v FOR UPDATE", -365),
        ("SELECT k FROM t UNION SELECT k FROM u FOR UPDATE", -365),
        ("SELECT tabid FROM systables FOR UPDATE", -511),
        ("SELECT k FROM t FOR UPDATE OF nope", -217),
    ],
)
def test_for_update_needs_the_rows_of_one_table(query: str, sqlcode: int) -> None:
    assert BENCH.error(query)[0] == sqlcode


def test_for_read_only_changes_nothing() -> None:
    assert BENCH.rows("SELECT k FROM t FOR READ ONLY") == [(1,)]


def test_into_temp_makes_a_table_with_the_querys_columns_and_rows() -> None:
    bench = Workbench("CREATE TABLE t (k INT NOT NULL, g CHAR(3))", "INSERT INTO t VALUES (1, 'a')")
    assert bench.run("SELECT k, g || '!' AS mark FROM t WHERE k = ? INTO TEMP x WITH NO LOG", 1) == 1
    assert bench.rows("SELECT * FROM x") == [(1, "a  !")]
    assert bench.described("SELECT * FROM x") == [("k", "INTEGER"), ("mark", "VARCHAR(4)")]
    made = bench.table("x")
    assert (made.is_temp, made.is_logged) == (True, False)
    assert bench.error("SELECT k FROM t INTO TEMP x") == (-958, "x", 27)


@pytest.mark.parametrize(
    ("query", "sqlcode"),
    [
        ("SELECT k + 1 FROM t INTO TEMP x", -249),
        ("SELECT COUNT(*) FROM t INTO TEMP x", -249),
        ("SELECT t.k, u.k FROM t, u INTO TEMP x", -328),
    ],
)
def test_into_temp_needs_a_name_for_each_column(query: str, sqlcode: int) -> None:
    assert BENCH.error(query)[0] == sqlcode


def test_into_temp_takes_a_query_with_common_tables() -> None:
    bench = Workbench("CREATE TABLE t (k INT)", "INSERT INTO t VALUES (1)")
    assert bench.run("WITH w AS (SELECT k FROM t) SELECT k FROM w INTO TEMP x") == 1


def test_sysmasters_tables_say_what_the_engine_must_fill() -> None:
    assert BENCH.plan("SELECT name FROM sysmaster:sysdatabases").refresh == {"sysdatabases"}
    assert BENCH.plan("SELECT * FROM sysmaster:sysdual").refresh == frozenset()


def test_a_serial_column_into_temp_counts_on_from_the_greatest_number() -> None:
    bench = Workbench("CREATE TABLE s (k SERIAL, v INT)")
    for value in (5, 6, 7):
        bench.run(f"INSERT INTO s VALUES (0, {value})")
    assert bench.run("SELECT v, k FROM s WHERE k > 1 ORDER BY k DESC INTO TEMP x") == 2
    assert bench.described("SELECT * FROM x") == [("v", "INTEGER"), ("k", "SERIAL")]
    bench.run("INSERT INTO x VALUES (8, 0)")
    assert bench.rows("SELECT k, v FROM x ORDER BY k") == [(2, 6), (3, 7), (4, 8)]
