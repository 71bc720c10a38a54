from __future__ import annotations

from decimal import Decimal

import pytest

from aioifx.sqltypes import Row
from tests.server.sql.workbench import Workbench

BENCH = Workbench(
    "CREATE TABLE t (k INT NOT NULL, g CHAR(3), v VARCHAR(10), d DECIMAL(6,2))",
    "INSERT INTO t VALUES (1, 'x', 'b', 2.5)",
    "INSERT INTO t VALUES (2, 'x', 'b ', 10)",
    "INSERT INTO t VALUES (3, 'y', NULL, NULL)",
    "INSERT INTO t VALUES (4, NULL, 'a', 2.50)",
)


def test_only_a_plain_column_is_described_as_not_null() -> None:
    plan = BENCH.plan("SELECT k, g, k + 1, COUNT(*) FROM t GROUP BY k, g")
    assert [column.nullable for column in plan.columns] == [False, True, True, True]


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT k FROM t ORDER BY k DESC", [(4,), (3,), (2,), (1,)]),
        ("SELECT k FROM t ORDER BY d, k", [(3,), (1,), (4,), (2,)]),
        ("SELECT k FROM t ORDER BY d DESC, 1 DESC", [(2,), (4,), (1,), (3,)]),
        ("SELECT k, g FROM t ORDER BY 2, 1 DESC", [(4, None), (2, "x  "), (1, "x  "), (3, "y  ")]),
        ("SELECT k x FROM t ORDER BY x", [(1,), (2,), (3,), (4,)]),
        ("SELECT -k AS k FROM t ORDER BY k", [(-4,), (-3,), (-2,), (-1,)]),
        ("SELECT k FROM t ORDER BY k * -1", [(4,), (3,), (2,), (1,)]),
        ("SELECT k FROM t ORDER BY v NULLS LAST, k", [(4,), (1,), (2,), (3,)]),
        ("SELECT SKIP 1 FIRST 2 k FROM t ORDER BY k", [(2,), (3,)]),
        ("SELECT FIRST 1 k FROM t ORDER BY k", [(1,)]),
        ("SELECT LIMIT 1 k FROM t ORDER BY k", [(1,)]),
        ("SELECT SKIP 3 k FROM t ORDER BY k", [(4,)]),
        ("SELECT k FROM t ORDER BY k LIMIT 2", [(1,), (2,)]),
        ("SELECT DISTINCT g FROM t ORDER BY g", [(None,), ("x  ",), ("y  ",)]),
        ("SELECT UNIQUE d FROM t ORDER BY 1", [(None,), (Decimal("2.50"),), (Decimal("10.00"),)]),
        ("SELECT COUNT(DISTINCT v) FROM t", [(Decimal(2),)]),
        ("SELECT g, COUNT(*) FROM t GROUP BY g ORDER BY 2 DESC, g", [("x  ", 2), (None, 1), ("y  ", 1)]),
        ("SELECT v, COUNT(*) FROM t WHERE v > 'a' GROUP BY v", [("b", 2)]),
        ("SELECT g, SUM(d) s FROM t GROUP BY 1 HAVING SUM(d) > 3 ORDER BY s", [("x  ", Decimal("12.5"))]),
        ("SELECT k + 1, COUNT(*) FROM t GROUP BY k HAVING k < 2", [(2, 1)]),
        ("SELECT UPPER(g), MAX(k) FROM t GROUP BY UPPER(g) HAVING COUNT(*) > 1", [("X  ", 2)]),
        ("SELECT COUNT(*) FROM t HAVING COUNT(*) > 9", []),
        ("SELECT 1, COUNT(*) FROM t GROUP BY 1", [(1, 4)]),
        ("SELECT g FROM t GROUP BY g ORDER BY COUNT(*) DESC, g", [("x  ",), (None,), ("y  ",)]),
        ("SELECT k FROM t UNION SELECT k + 3 FROM t ORDER BY 1", [(k,) for k in range(1, 8)]),
        ("SELECT k FROM t WHERE k = 1 UNION ALL SELECT k FROM t WHERE k = 1", [(1,), (1,)]),
        ("SELECT v FROM t WHERE k < 3 UNION SELECT 'b' FROM t", [("b",)]),
        ("SELECT k FROM t MINUS SELECT 3 FROM t ORDER BY k", [(1,), (2,), (4,)]),
        ("SELECT k FROM t INTERSECT SELECT 3 FROM t", [(3,)]),
        ("(SELECT k FROM t WHERE k = 1) UNION (SELECT k FROM t WHERE k = 2) ORDER BY 1 DESC", [(2,), (1,)]),
        ("SELECT FIRST 1 k FROM t UNION SELECT SKIP 3 k + 3 FROM t ORDER BY 1", [(1,), (7,)]),
        ("SELECT k FROM t WHERE k = 1 UNION ALL SELECT LIMIT 1 k FROM t WHERE k > 1", [(1,), (2,)]),
        ("SELECT * FROM (SELECT FIRST 1 k FROM t UNION ALL SELECT k FROM t WHERE k = 3)", [(1,), (3,)]),
        ("SELECT 9 FROM t MINUS (SELECT k FROM t UNION ALL SELECT 8 FROM t)", [(9,)]),
        ("SELECT k FROM (SELECT FIRST 2 k FROM t ORDER BY k DESC) d ORDER BY 1", [(3,), (4,)]),
        ("WITH w (a) AS (SELECT k FROM t WHERE k > 2) SELECT a FROM w ORDER BY a", [(3,), (4,)]),
        ("WITH a AS (SELECT k FROM t), b AS (SELECT k FROM a WHERE k > 3) SELECT k FROM b", [(4,)]),
        (
            "WITH n (i) AS (SELECT k FROM t WHERE k = 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4) SELECT i FROM n",
            [(1,), (2,), (3,), (4,)],
        ),
        ("SELECT k FROM t WHERE d = (SELECT MAX(d) FROM t)", [(2,)]),
        ("SELECT k FROM t x WHERE d < (SELECT MAX(d) FROM t y WHERE y.g = x.g)", [(1,)]),
    ],
)
def test_a_query_gives_its_rows(query: str, rows: list[Row]) -> None:
    assert BENCH.rows(query) == rows


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("SELECT nope FROM t", (-217, "nope", 8)),
        ("SELECT k FROM t WHERE nope = 1", (-217, "nope", 23)),
        ("SELECT k FROM nowhere", (-206, "nowhere", 15)),
        ("SELECT g, k FROM t GROUP BY g", (-294, "k", 11)),
        ("SELECT g, k + 1 FROM t GROUP BY g", (-294, "k", 11)),
        ("SELECT k, COUNT(*) FROM t", (-294, "k", 8)),
        ("SELECT k + COUNT(*) FROM t", (-303, "", 8)),
        ("SELECT * FROM t GROUP BY k", (-294, "g", 0)),
        ("SELECT g FROM t GROUP BY g HAVING k > 1", (-294, "k", 35)),
        ("SELECT g FROM t GROUP BY g ORDER BY k", (-294, "k", 37)),
        ("SELECT g FROM t GROUP BY 2", (-251, "", 26)),
        ("SELECT g FROM t ORDER BY 2", (-251, "", 26)),
        ("SELECT DISTINCT g FROM t ORDER BY k", (-309, "k", 35)),
        ("SELECT k FROM t UNION SELECT k FROM t ORDER BY g", (-309, "g", 48)),
        ("SELECT k FROM t UNION SELECT g FROM t", (-308, "", 17)),
        ("SELECT k FROM t UNION SELECT k, g FROM t", (-317, "", 17)),
        ("SELECT k FROM t WHERE k = (SELECT FIRST 1 k FROM t)", (-944, "", 28)),
        ("SELECT k FROM t WHERE k IN (SELECT FIRST 1 k FROM t UNION SELECT k FROM t)", (-944, "", 29)),
        ("WITH n (i) AS (SELECT k FROM t UNION ALL SELECT FIRST 1 i FROM n) SELECT i FROM n", (-944, "", 55)),
        ("SELECT ? FROM t", (-201, "", 8)),
        ("SELECT NULL FROM t", (-201, "", 8)),
        ("SELECT k FROM t WHERE k = (SELECT k FROM t)", (-284, "", 0)),
        ("SELECT FIRST 1 k FROM t LIMIT 1", (-201, "", 31)),
        ("WITH w (a, b) AS (SELECT k FROM t) SELECT a FROM w", (-201, "", 6)),
        ("SELECT SUM(v) FROM t GROUP BY SUM(k)", (-201, "", 31)),
        ("SELECT SUM(MAX(k)) FROM t", (-201, "", 12)),
    ],
)
def test_an_invalid_query_is_refused_with_the_position(query: str, error: tuple[int, str, int]) -> None:
    assert BENCH.error(query) == error


def test_skip_and_first_may_be_parameters() -> None:
    query = "SELECT SKIP ? FIRST ? k FROM t ORDER BY k"
    assert BENCH.rows(query, 1, 2) == [(2,), (3,)]
    assert BENCH.rows(query, 0, 0) == []
    assert [str(each.type) for each in BENCH.plan(query).parameters] == ["INTEGER", "INTEGER"]


def test_a_union_has_the_names_of_its_first_part_and_types_of_both() -> None:
    query = "SELECT k AS one, g FROM t UNION SELECT d, v FROM t"
    assert BENCH.described(query) == [("one", "DECIMAL(12,2)"), ("g", "VARCHAR(10)")]
    assert Decimal("2.50") in [row[0] for row in BENCH.rows(query)]


def test_parameters_are_numbered_in_the_order_of_the_text() -> None:
    query = "SELECT k FROM t WHERE k > ? AND k IN (SELECT k FROM t WHERE g = ?) ORDER BY k LIMIT ?"
    assert BENCH.rows(query, 1, "x", 5) == [(2,)]
    found = [str(each.type) for each in BENCH.plan(query).parameters]
    assert found == ["BIGINT", "LVARCHAR(32739)", "INTEGER"]


@pytest.mark.parametrize("count", [None, -1])
@pytest.mark.parametrize("option", ["SKIP", "FIRST"])
def test_rows_are_not_counted_by_null_or_less_than_nothing(option: str, count: int | None) -> None:
    assert BENCH.error(f"SELECT {option} ? k FROM t", count)[0] == -415
