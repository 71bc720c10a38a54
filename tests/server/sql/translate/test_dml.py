from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from aioifx.server.sql.model import plan
from aioifx.server.sql.model.plan import Verb
from aioifx.server.sql.sqlite.render import render
from aioifx.sqltypes import Row, Value
from tests.server.sql.workbench import Workbench


def bench() -> Workbench:
    return Workbench(
        "CREATE TABLE t (k SERIAL PRIMARY KEY, c CHAR(3) NOT NULL, n SMALLINT DEFAULT 7, d DECIMAL(5,2),"
        " day DATE DEFAULT TODAY, v VARCHAR(5))",
        "CREATE TABLE p (a INT PRIMARY KEY CONSTRAINT pk_p, b INT)",
    )


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("INSERT INTO t (c, n) VALUES (?, ?)", [("c", "CHAR(3)"), ("n", "SMALLINT")]),
        ("INSERT INTO p SELECT k, n FROM t", [("a", "INTEGER"), ("b", "INTEGER")]),
        ("UPDATE t SET n = ? WHERE k = ?", [("n", "SMALLINT")]),
        ("UPDATE t SET (n, c) = (1, 'a')", [("n", "SMALLINT"), ("c", "CHAR(3)")]),
        ("DELETE FROM t WHERE k = ?", []),
    ],
)
def test_a_change_describes_the_columns_that_it_sets(text: str, columns: list[tuple[str, str]]) -> None:
    assert bench().described(text) == columns


def test_parameters_are_of_the_columns_that_they_are_assigned_to_or_compared_with() -> None:
    made = bench().plan("UPDATE t SET c = ?, d = ? WHERE k = ?")
    assert [(str(each.type), each.column, each.is_compared) for each in made.parameters] == [
        ("CHAR(3)", "c", False),
        ("DECIMAL(5,2)", "d", False),
        ("BIGINT", "", True),
    ]


def test_values_are_stored_as_the_columns_types_say() -> None:
    stores = bench()
    stores.run("INSERT INTO t (c, d, day, v) VALUES ('abcdef', 1.005, '02/01/2026', '')")
    stores.run(
        "INSERT INTO t (c, d, day, v) VALUES (?, ?, ?, ?)", "x", Decimal("2.345"), date(2026, 1, 1), "abcdefg"
    )
    assert stores.rows("SELECT c, d, day, v FROM t ORDER BY k") == [
        ("abc", Decimal("1.01"), date(2026, 2, 1), ""),
        ("x  ", Decimal("2.35"), date(2026, 1, 1), "abcde"),
    ]


def test_columns_left_out_get_serial_numbers_defaults_or_null() -> None:
    stores = bench()
    stores.run("INSERT INTO t (c) VALUES ('a')")
    stores.run("INSERT INTO t (k, c) VALUES (10, 'b')")
    stores.run("INSERT INTO t (k, c, n) VALUES (0, 'c', NULL)")
    assert stores.rows("SELECT k, n, d, day FROM t ORDER BY k") == [
        (1, 7, None, date(2026, 5, 4)),
        (10, 7, None, date(2026, 5, 4)),
        (11, None, None, date(2026, 5, 4)),
    ]


def test_rows_of_a_query_are_inserted_in_its_order_also_from_the_same_table() -> None:
    stores = bench()
    for row in ("3, 30", "1, 10", "2, 20"):
        stores.run(f"INSERT INTO p VALUES ({row})")
    assert stores.run("INSERT INTO t (c, n) SELECT a, b FROM p ORDER BY a") == 3
    assert stores.rows("SELECT k, n FROM t ORDER BY k") == [(1, 10), (2, 20), (3, 30)]
    assert stores.run("INSERT INTO p SELECT a + 10, b FROM p") == 3


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("INSERT INTO t (k, c) VALUES (0)", (-236, "", 0)),
        ("INSERT INTO p VALUES (1)", (-236, "", 0)),
        ("INSERT INTO p SELECT a FROM p", (-236, "", 0)),
        ("INSERT INTO p SELECT FIRST 1 a, b FROM p", (-944, "", 28)),
        ("INSERT INTO t (nope) VALUES (1)", (-217, "nope", 16)),
        ("INSERT INTO t (n, n) VALUES (1, 2)", (-681, "n", 19)),
        ("INSERT INTO t (c) VALUES (NULL)", (-391, "t.c", 0)),
        ("INSERT INTO t (n) VALUES (1)", (-391, "t.c", 0)),
        ("INSERT INTO p VALUES (NULL, 1)", (-703, "p", 0)),
        ("INSERT INTO p (b) VALUES (1)", (-703, "p", 0)),
        ("INSERT INTO t (c, n) VALUES ('a', 40000)", (-1214, "", 0)),
        ("INSERT INTO t (c, n) VALUES ('a', 'x')", (-1213, "", 0)),
        ("INSERT INTO t (c, d) VALUES ('a', 12345)", (-1226, "", 0)),
        ("INSERT INTO systables (tabid) VALUES (1)", (-511, "systables", 13)),
        ("INSERT INTO nowhere VALUES (1)", (-206, "nowhere", 13)),
        ("UPDATE t SET k = 1", (-232, "k", 14)),
        ("UPDATE t SET nope = 1", (-217, "nope", 14)),
        ("UPDATE t SET (n, d) = (1)", (-505, "", 0)),
        ("UPDATE p SET * = (1)", (-505, "", 0)),
        ("UPDATE t SET * = (1, 2)", (-232, "k", 14)),
        ("UPDATE systables SET tabid = 1", (-511, "systables", 8)),
        ("DELETE FROM sysmaster:sysdual", (-511, "sysdual", 13)),
        ("DELETE FROM t WHERE nope = 1", (-217, "nope", 21)),
    ],
)
def test_an_invalid_change_is_refused_with_its_reason(text: str, error: tuple[int, str, int]) -> None:
    assert bench().error(text) == error


def test_updates_see_the_old_row_on_the_right_side() -> None:
    stores = bench()
    stores.run("INSERT INTO p VALUES (1, 2)")
    stores.run("UPDATE p SET a = b, b = a")
    assert stores.rows("SELECT a, b FROM p") == [(2, 1)]
    stores.run("UPDATE p SET (a, b) = (b, a + 10)")
    assert stores.rows("SELECT a, b FROM p") == [(1, 12)]
    stores.run("UPDATE p SET * = (5, 6)")
    assert stores.rows("SELECT a, b FROM p") == [(5, 6)]
    stores.run("UPDATE p SET (a, b) = ((SELECT tabid, tabid + 1 FROM systables WHERE tabid = 8)) WHERE a = 5")
    assert stores.rows("SELECT a, b FROM p") == [(8, 9)]
    assert stores.error("UPDATE p SET (a, b) = ((SELECT tabid, tabid FROM systables))")[0] == -284


def test_changed_rows_are_counted_and_none_is_not_an_error() -> None:
    stores = bench()
    for row in ("1, 1", "2, 1", "3, 2"):
        stores.run(f"INSERT INTO p VALUES ({row})")
    assert stores.run("UPDATE p SET b = b WHERE b = 1") == 2
    assert stores.run("DELETE FROM p WHERE b = 9") == 0
    assert stores.run("DELETE p WHERE b = (SELECT MAX(b) FROM p)") == 1
    assert stores.run("DELETE FROM p") == 2


def test_null_into_a_not_null_column_is_found_when_the_value_is_known() -> None:
    stores = bench()
    assert stores.error("INSERT INTO t (c) VALUES (?)", None) == (-391, "t.c", 0)
    stores.run("INSERT INTO t (c) VALUES (?)", "a")
    assert stores.error("UPDATE t SET c = (SELECT tabname FROM systables WHERE tabid = 0)") == (
        -391,
        "t.c",
        0,
    )
    assert stores.error("INSERT INTO t (c) SELECT v FROM t") == (-391, "t.c", 0)


def test_violated_keys_are_reported_by_name() -> None:
    stores = bench()
    stores.run("INSERT INTO p VALUES (1, 1)")
    assert stores.error("INSERT INTO p VALUES (?, ?)", 1, 2) == (-268, "ann.pk_p", 0)


def test_a_change_by_cursor_takes_the_rowid_after_its_parameters() -> None:
    made = bench().plan("UPDATE p SET b = ?, a = ? WHERE CURRENT OF cur").action
    assert isinstance(made, plan.Change)
    assert (made.cursor, made.verb, made.update_columns) == ("cur", Verb.UPDATE, ("b", "a"))
    assert render(made.sql.tree).endswith(".rowid = ?3")
    made = bench().plan("DELETE FROM p WHERE CURRENT OF cur").action
    assert isinstance(made, plan.Change) and render(made.sql.tree).endswith(".rowid = ?1")


def test_truncate_takes_all_rows() -> None:
    stores = bench()
    stores.run("INSERT INTO p VALUES (1, 1)")
    assert stores.run("TRUNCATE TABLE p") == 1
    assert stores.rows("SELECT * FROM p") == []


def test_a_columns_name_may_begin_with_a_parenthesis() -> None:
    stores = bench()
    stores.delimident = True
    stores.run('CREATE TABLE "odd" ("(a" INT, "b)" INT)')
    stores.run('INSERT INTO "odd" VALUES (1, 2)')
    assert stores.run('UPDATE "odd" SET "(a" = 3') == 1
    assert stores.run('UPDATE "odd" SET ("(a", "b)") = ((SELECT "b)", 5 FROM "odd"))') == 1
    assert stores.rows('SELECT * FROM "odd"') == [(2, 5)]


def test_an_update_may_name_its_table_by_an_alias() -> None:
    stores = bench()
    stores.run("INSERT INTO p VALUES (1, 1)")
    assert stores.run("UPDATE p x SET b = (SELECT MAX(y.a) + 4 FROM p y WHERE y.a = x.a) WHERE x.a = 1") == 1
    assert stores.rows("SELECT b FROM p") == [(5,)]


@pytest.mark.parametrize(
    "statement", ["TRUNCATE v", "MERGE INTO v USING p ON (1 = 1) WHEN MATCHED THEN DELETE"]
)
def test_some_changes_through_views_are_refused(statement: str) -> None:
    stores = bench()
    stores.run("CREATE VIEW v AS SELECT a FROM p")
    assert stores.error(statement)[:2] == (-999, "VIEW")


@pytest.mark.parametrize(
    ("change", "values", "rows"),
    [
        ("WITH c AS (SELECT a, c FROM u) UPDATE t SET b = (SELECT c FROM c WHERE c.a = t.a)"
         " WHERE a IN (SELECT a FROM c)",
         (), [(1, 10), (2, 5)]),
        ("WITH c (x) AS (SELECT a FROM u WHERE c > ?), d AS (SELECT x FROM c) DELETE FROM t"
         " WHERE a IN (SELECT x FROM d) OR EXISTS (SELECT 1 FROM c WHERE x > ?)", (4, 100), [(1, 10)]),
        ("WITH RECURSIVE r (n) AS (SELECT 1 FROM u UNION SELECT n + 1 FROM r WHERE n < 5)"
         " DELETE FROM t WHERE a = (SELECT MIN(n) FROM r)", (), [(2, 20)]),
    ],
)  # fmt: skip
def test_changes_may_begin_with_common_tables(
    change: str, values: tuple[Value, ...], rows: list[Row]
) -> None:
    bench = Workbench(
        "CREATE TABLE t (a INT, b INT)",
        "CREATE TABLE u (a INT, c INT)",
        "INSERT INTO t VALUES (1, 10)",
        "INSERT INTO t VALUES (2, 20)",
        "INSERT INTO u VALUES (2, 5)",
    )
    bench.run(change, *values)
    assert bench.rows("SELECT * FROM t ORDER BY a") == rows
    assert bench.error("WITH c AS (SELECT 1 x FROM u) UPDATE c SET x = (SELECT x FROM c)")[:2] == (-206, "c")
