from __future__ import annotations

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


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("SELECT k", "k"),
        ("SELECT t.k", "k"),
        ("SELECT K", "k"),
        ("SELECT k AS Label", "label"),
        ("SELECT k + 1", "(expression)"),
        ("SELECT 5", "(constant)"),
        ("SELECT -5", "(constant)"),
        ("SELECT 'a'", "(constant)"),
        ("SELECT COUNT(*)", "(count(*))"),
        ("SELECT COUNT(k)", "(count)"),
        ("SELECT SUM(k)", "(sum)"),
        ("SELECT AVG(k)", "(avg)"),
        ("SELECT MIN(k)", "(min)"),
        ("SELECT MAX(k)", "(max)"),
        ("SELECT v[1,2]", "v"),
        ("SELECT UPPER(v)", "(expression)"),
        ("SELECT k::FLOAT", "(expression)"),
    ],
)
def test_a_column_of_the_result_has_its_name(query: str, name: str) -> None:
    assert BENCH.described(f"{query} FROM t")[0][0] == name


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT 1 FROM t HAVING COUNT(*) = 4", [(1,)]),
        ("SELECT 'a', 2 FROM t WHERE k > 9 HAVING COUNT(*) = 0", [("a", 2)]),
        ("SELECT 1 FROM t HAVING 1 = 2", []),
        ("SELECT MAX(k) FROM t HAVING COUNT(*) > 1 OR 1 = 2", [(4,)]),
    ],
)
def test_without_group_by_having_sees_all_rows_as_one_group(query: str, rows: list[Row]) -> None:
    assert BENCH.rows(query) == rows


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("SELECT k FROM t HAVING k = 1", (-294, "k", 8)),
        ("SELECT g, (SELECT MAX(x.k) FROM t x WHERE x.d = t.d) FROM t GROUP BY g", (-294, "d", 49)),
        ("SELECT COUNT(*), (SELECT MAX(x.k) FROM t x WHERE x.k = t.k) FROM t", (-294, "k", 56)),
    ],
)
def test_ungrouped_columns_are_refused_beside_groups_and_in_subqueries_there(
    query: str, error: tuple[int, str, int]
) -> None:
    assert BENCH.error(query) == error


def test_subqueries_beside_groups_may_name_what_is_grouped_and_those_of_where_anything() -> None:
    grouped = "SELECT k, (SELECT x.g FROM t x WHERE x.k = t.k) FROM t WHERE k < 3 GROUP BY k ORDER BY 1"
    assert BENCH.rows(grouped) == [(1, "x  "), (2, "x  ")]
    filtered = "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM t x WHERE x.k = t.k + 1)"
    assert BENCH.rows(filtered) == [(3,)]


@pytest.mark.parametrize(
    ("query", "sqlcode"),
    [
        ("SELECT MAX(k) FROM t GROUP BY 1", -321),
        ("SELECT g, MAX(k) + 1 FROM t GROUP BY 1, 2", -321),
        ("SELECT MAX(k) FROM t GROUP BY MAX(k)", -201),
        ("SELECT g, ROW_NUMBER() OVER (ORDER BY g) FROM t GROUP BY 1, 2", -201),
        ("SELECT SUM(k) OVER () FROM t GROUP BY 1", -201),
    ],
)
def test_groups_are_not_of_aggregates(query: str, sqlcode: int) -> None:
    assert BENCH.error(query)[0] == sqlcode
