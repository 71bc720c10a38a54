from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.engine.engine import Engine
from aioifx.sqltypes import Row
from tests.server.sql.workbench import EACH_TYPE, Workbench
from tests.server.talking import error_from, query, run

BENCH = Workbench(
    "CREATE TABLE a (k INT, x INT)",
    "CREATE TABLE b (k INT, x INT)",
    "CREATE TABLE c (k INT, x INT)",
    "INSERT INTO a VALUES (1, 10)",
    "INSERT INTO a VALUES (2, 20)",
    "INSERT INTO b VALUES (1, 9)",
    "INSERT INTO b VALUES (2, 3)",
    "INSERT INTO b VALUES (3, 5)",
    "INSERT INTO c VALUES (2, 7)",
    "CREATE VIEW v (n, double) AS SELECT k, x * 2 FROM a WHERE k > 1",
)
RANDOM = Workbench("CREATE TABLE p (k INT, x INT)", "CREATE TABLE q (k INT, x INT)")


@pytest.mark.parametrize(
    ("clause", "rows"),
    [
        ("a, b WHERE a.k = b.k", [(1, 1), (2, 2)]),
        ("a JOIN b ON a.k = b.k", [(1, 1), (2, 2)]),
        ("a INNER JOIN b ON a.k = b.k AND b.x > 5", [(1, 1)]),
        ("a LEFT JOIN b ON a.k = b.k AND b.x > 5", [(1, 1), (2, None)]),
        ("a RIGHT JOIN b ON a.k = b.k", [(None, 3), (1, 1), (2, 2)]),
        ("a FULL OUTER JOIN b ON a.k = b.k AND a.k = 1", [(None, 2), (None, 3), (1, 1), (2, None)]),
        ("a CROSS JOIN b WHERE b.k = 3", [(1, 3), (2, 3)]),
        ("a LEFT JOIN (b JOIN c ON b.k = c.k) ON a.k = b.k", [(1, None), (2, 2)]),
        ("c, a LEFT JOIN b ON a.k = b.k AND b.x < 5 WHERE c.k = a.k", [(2, 2)]),
        ("(SELECT k FROM a) a, (SELECT k, x FROM b) AS b WHERE a.k = b.k AND b.x = 3", [(2, 2)]),
        ("a, TABLE(SET{1, 2, 2}) b (k) WHERE a.k = b.k", [(1, 1), (2, 2)]),
    ],
)
def test_a_from_clause_gives_the_rows_of_its_joins(clause: str, rows: list[Row]) -> None:
    assert BENCH.rows(f"SELECT a.k, b.k FROM {clause} ORDER BY 1, 2") == rows


@pytest.mark.parametrize(
    ("clause", "rows"),
    [
        # every condition that names a subservient table belongs to its join
        ("a, OUTER b WHERE a.k = b.k AND b.x > 5", [(1, 1, None), (2, None, None)]),
        ("a, OUTER b WHERE a.k = b.k AND a.x > 10", [(2, 2, None)]),
        ("a, OUTER (b, c) WHERE a.k = b.k AND b.k = c.k", [(1, None, None), (2, 2, 2)]),
        ("a, OUTER (b, OUTER c) WHERE a.k = b.k AND b.k = c.k", [(1, 1, None), (2, 2, 2)]),
        ("a, OUTER b, OUTER c WHERE a.k = b.k AND a.k = c.k", [(1, 1, None), (2, 2, 2)]),
    ],
)
def test_old_outer_joins_keep_the_preserved_rows(clause: str, rows: list[Row]) -> None:
    columns = "a.k, b.k, c.k" if " c" in clause or "c)" in clause else "a.k, b.k, NULL::INT"
    assert BENCH.rows(f"SELECT {columns} FROM {clause} ORDER BY 1, 2") == rows


@pytest.mark.parametrize(
    ("clause", "sqlcode"),
    [
        ("a, OUTER b", -395),
        ("a, OUTER b WHERE b.x = 3", -395),
        ("a, OUTER (b, OUTER c) WHERE a.k = b.k AND a.k = c.k", -396),
        ("a, OUTER b, OUTER c WHERE a.k = b.k AND b.k = c.k", -396),
    ],
)
def test_old_outer_joins_without_a_proper_condition_are_refused(clause: str, sqlcode: int) -> None:
    assert BENCH.error(f"SELECT a.k FROM {clause}")[0] == sqlcode


def test_columns_of_an_outer_joined_table_may_be_null() -> None:
    bench = Workbench("CREATE TABLE p (k INT NOT NULL)", "CREATE TABLE q (k INT NOT NULL)")
    plan = bench.plan("SELECT p.k, q.k FROM p LEFT JOIN q ON p.k = q.k")
    assert [column.nullable for column in plan.columns] == [False, True]
    plan = bench.plan("SELECT p.k, q.k FROM p FULL JOIN q ON p.k = q.k")
    assert [column.nullable for column in plan.columns] == [True, True]


def test_a_join_sees_only_the_tables_that_it_joins() -> None:
    assert BENCH.error("SELECT a.k FROM c, a JOIN b ON a.k = c.k") == (-522, "c", 38)


def test_a_view_is_read_as_its_query() -> None:
    assert BENCH.rows("SELECT w.n, double FROM v w") == [(2, 40)]
    assert BENCH.described("SELECT * FROM v") == [("n", "INTEGER"), ("double", "INTEGER")]
    assert BENCH.error("SELECT x FROM v")[:2] == (-217, "x")


def test_columns_of_a_derived_table_may_be_named_after_it() -> None:
    assert BENCH.rows("SELECT m, n FROM (SELECT k, x FROM a) d (m, n) WHERE m = 1") == [(1, 10)]
    assert BENCH.error("SELECT m FROM (SELECT k, x FROM a) d (m)")[0] == -201


def test_two_tables_with_equal_column_names_are_distinguished_by_labels() -> None:
    assert BENCH.rows("SELECT p.x, q.x FROM a p, a q WHERE p.k = 1 AND q.k = 2") == [(10, 20)]
    assert BENCH.error("SELECT x FROM a, b") == (-324, "x", 8)
    assert BENCH.error("SELECT a.x FROM a p")[:2] == (-522, "a")


def test_correlated_queries_reach_outward_from_any_depth() -> None:
    inner = "SELECT k FROM b WHERE b.k = a.k"
    query = f"SELECT k FROM a WHERE EXISTS (SELECT 1 FROM ({inner}) d WHERE d.k = a.k) ORDER BY 1"
    assert BENCH.rows(query) == [(1,), (2,)]


def test_a_chain_of_full_joins_is_refused_before_its_text_grows_without_bounds() -> None:
    chain = " ".join(f"FULL JOIN a a{number} ON a{number - 1}.k = a{number}.k" for number in range(1, 30))
    bench = Workbench("CREATE TABLE a (k INT)")
    assert bench.error(f"SELECT COUNT(*) FROM a a0 {chain}")[:2] == (-999, "FULL JOIN")


# --- LATERAL: documented, "Lateral derived tables" --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clause", "rows"),
    [
        ("a, LATERAL (SELECT x FROM b WHERE b.k = a.k) l", [(1, 9), (2, 3)]),
        ("a, LATERAL (SELECT x FROM b WHERE b.k > a.k) AS l (x) WHERE l.x > 4", [(1, 5), (2, 5)]),
        ("a JOIN LATERAL (SELECT x FROM b WHERE b.k = a.k) l ON l.x > 5", [(1, 9)]),
        ("a LEFT JOIN LATERAL (SELECT x FROM c WHERE c.k = a.k) l ON a.x > 5", [(1, None), (2, 7)]),
        ("a CROSS JOIN LATERAL (SELECT FIRST 1 x FROM b WHERE b.k >= a.k ORDER BY x) l", [(1, 3), (2, 3)]),
        ("a, LATERAL (SELECT MAX(b.x) FROM b WHERE b.k <> a.k) l (x)", [(1, 5), (2, 9)]),
        ("a, LATERAL (SELECT SUM(x) FROM b WHERE b.k > a.k + 1) l (x)", [(1, 5), (2, None)]),
        ("c, a JOIN LATERAL (SELECT c.x + a.x FROM c) l (x) ON 1 = 1", None),
        ("a, LATERAL (SELECT a.x + 1 FROM sysmaster:sysdual) m (y),"
         " LATERAL (SELECT m.y + a.k FROM sysmaster:sysdual) l (x)", [(1, 12), (2, 23)]),
        ("a, LATERAL (SELECT x FROM b WHERE b.k = a.k UNION SELECT x FROM c WHERE c.k = a.k) l",
         [(1, 9), (2, 3), (2, 7)]),
        ("LATERAL (SELECT k, x FROM a) a, LATERAL (SELECT 5 FROM sysmaster:sysdual) l (x)", [(1, 5), (2, 5)]),
        ("a RIGHT JOIN LATERAL (SELECT 5 FROM sysmaster:sysdual) l (x) ON 1 = 1", [(1, 5), (2, 5)]),
    ],
)  # fmt: skip
def test_a_lateral_table_sees_the_tables_before_it(clause: str, rows: list[Row] | None) -> None:
    if rows is None:  # a name that both queries have belongs to the inner one
        rows = [(1, 17), (2, 27)]
    assert BENCH.rows(f"SELECT a.k, l.x FROM {clause} ORDER BY 1, 2") == rows


def test_a_lateral_table_keeps_types_and_values() -> None:
    bench = Workbench(*EACH_TYPE)
    columns = "k, s, b, d, f, c, v, day, at, iv, ok, m"
    lateral = (
        f"FROM t, LATERAL (SELECT {columns.replace('k,', 't.k,', 1)} FROM sysmaster:sysdual) l ORDER BY 1"
    )
    starred = f"SELECT l.* {lateral}"
    assert bench.rows(starred) == bench.rows(f"SELECT {columns} FROM t ORDER BY 1")
    assert bench.described(starred) == bench.described(f"SELECT {columns} FROM t")


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(-9, 9)), max_size=8),
    st.lists(st.tuples(st.integers(0, 4), st.integers(-9, 9)), max_size=8),
)
def test_a_lateral_table_with_a_condition_is_a_join(left: list[Row], right: list[Row]) -> None:
    for name, rows in (("p", left), ("q", right)):
        RANDOM.run(f"DELETE FROM {name}")
        for row in rows:
            RANDOM.run(f"INSERT INTO {name} VALUES (?, ?)", *row)
    lateral = "SELECT p.k, p.x, l.x FROM p, LATERAL (SELECT x FROM q WHERE q.k = p.k) l ORDER BY 1, 2, 3"
    plain = "SELECT p.k, p.x, q.x FROM p, q WHERE q.k = p.k ORDER BY 1, 2, 3"
    assert RANDOM.rows(lateral) == RANDOM.rows(plain)


@pytest.mark.parametrize(
    "clause",
    [
        "a RIGHT JOIN LATERAL (SELECT a.k FROM c) l ON 1 = 1",
        "a FULL JOIN LATERAL (SELECT a.k FROM c) l ON 1 = 1",
        "a JOIN (b JOIN LATERAL (SELECT a.k FROM c) l ON 1 = 1) ON 1 = 1",
        "a, OUTER b, LATERAL (SELECT b.k FROM c) l WHERE a.k = b.k",
    ],
)
def test_a_lateral_table_that_sqlite_would_read_too_early_is_refused(clause: str) -> None:
    assert BENCH.error(f"SELECT a.k FROM {clause}")[:2] == (-999, "LATERAL")


def test_only_lateral_tables_see_the_tables_before_them() -> None:
    assert BENCH.error("SELECT a.k FROM a, (SELECT a.x FROM c) l")[:2] == (-522, "a")
    assert BENCH.error("SELECT a.k FROM LATERAL (SELECT a.x FROM c) l, a")[:2] == (-522, "a")


def test_a_lateral_table_with_large_objects_is_refused() -> None:
    bench = Workbench("CREATE TABLE a (k INT, x TEXT)")
    found = bench.error("SELECT l.x FROM a, LATERAL (SELECT a.x FROM sysmaster:sysdual) l")[:2]
    assert found == (-999, "LATERAL")


@pytest.fixture
def series(engine: Engine) -> Engine:
    body = "DEFINE i INT; FOR i = 1 TO n RETURN i, 'r' || i WITH RESUME; END FOR;"
    run(engine, f"CREATE FUNCTION series(n INT DEFAULT 2) RETURNING INT AS k, CHAR(3); {body} END FUNCTION")
    run(engine, "CREATE FUNCTION some() RETURNING SET(INT NOT NULL); RETURN SET{7, 8}; END FUNCTION")
    run(engine, "CREATE TABLE t (a INT, b CHAR(3))")
    run(engine, "INSERT INTO t VALUES (2, 'two')")
    return engine


@pytest.mark.parametrize(
    ("clause", "rows"),
    [
        ("* FROM TABLE(FUNCTION series(3)) AS x (a, b) WHERE a > 1", [(2, "r2 "), (3, "r3 ")]),
        ("k FROM TABLE(series())", [(1,), (2,)]),
        (
            "MAX(x.a), t.b FROM TABLE(PROCEDURE series(n = 4)) x (a, c), t WHERE x.a >= t.a GROUP BY 2",
            [(4, "two")],
        ),
        ("b FROM t WHERE EXISTS (SELECT k FROM TABLE(FUNCTION series(t.a)) s WHERE k = t.a)", [("two",)]),
        ("x FROM TABLE(some()) s (x)", [(7,), (8,)]),
        ("t.b, x.k FROM t LEFT JOIN TABLE(FUNCTION series(3)) x ON x.k > t.a", [("two", 3)]),
    ],
)
def test_rows_of_a_routine_are_a_table(series: Engine, clause: str, rows: list[Row]) -> None:
    assert query(series, f"SELECT {clause}") == rows


@pytest.mark.parametrize(
    ("text", "sqlcode"),
    [
        ("SELECT x.a FROM t, TABLE(FUNCTION series(t.a)) x (a, b)", -522),
        ("SELECT a FROM TABLE(FUNCTION series(2)) x (a)", -201),
        ("SELECT k FROM TABLE(FUNCTION nope(2)) x", -674),
        ("SELECT k FROM TABLE(FUNCTION f(2)) x", -9752),
        ("SELECT k FROM TABLE(FUNCTION p()) x", -674),
        ("INSERT INTO t EXECUTE PROCEDURE p()", -674),
        ("INSERT INTO t (a) EXECUTE FUNCTION series(2)", -236),
        ("INSERT INTO t EXECUTE FUNCTION g()", -675),
    ],
)
def test_rows_of_other_routines_are_refused(series: Engine, text: str, sqlcode: int) -> None:
    run(series, "CREATE FUNCTION f(OUT n INT) RETURNING INT; RETURN 1; END FUNCTION")
    run(series, "CREATE PROCEDURE p() END PROCEDURE")
    run(series, "CREATE FUNCTION g() RETURNING INT, INT; DELETE FROM t; RETURN 1, 2; END FUNCTION")
    assert error_from(series, text).sqlcode == sqlcode


def test_rows_of_a_routine_are_inserted(series: Engine) -> None:
    run(series, "INSERT INTO t EXECUTE FUNCTION series(?)", 1)
    body = "INSERT INTO t EXECUTE FUNCTION series(n); RETURN DBINFO('sqlca.sqlerrd2');"
    run(series, f"CREATE FUNCTION fill(n INT) RETURNING INT; {body} END FUNCTION")
    assert query(series, "EXECUTE FUNCTION fill(2)") == [(2,)]
    assert query(series, "SELECT a, b FROM t") == [(2, "two"), (1, "r1 "), (1, "r1 "), (2, "r2 ")]
