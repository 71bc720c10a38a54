"""Queries that activate SELECT triggers, that activate none, and that are refused."""

from __future__ import annotations

import pytest

from aioifx.server.sql.model.plan import Query
from tests.server.sql.workbench import Workbench

BENCH = Workbench(
    "CREATE TABLE log (k INT)",
    "CREATE TABLE t (k INT, v VARCHAR(9))",
    "CREATE VIEW w AS SELECT k FROM t",
    "CREATE VIEW x AS SELECT k, v AS a FROM t",
    "CREATE VIEW y (b) AS SELECT a FROM x",
    "CREATE TRIGGER s SELECT OF v ON t BEFORE (DELETE FROM log)",
)


def activating(sql: str) -> tuple[str, ...] | None:
    """The columns with which a query activates triggers; None if it activates none."""
    action = BENCH.plan(sql).action
    assert isinstance(action, Query)
    columns = [change.events[0].columns for change in action.fires]
    assert len(columns) <= 1
    return columns[0] if columns else None


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT * FROM t", ("k", "v")),
        ("SELECT x.* FROM t AS x", ("k", "v")),
        ("SELECT v || 'x' FROM t WHERE k = 1", ("v",)),
        ("SELECT FIRST 1 v FROM t ORDER BY k", ("v",)),
        ("SELECT v FROM t FOR UPDATE", ("v",)),
        ("SELECT a.v FROM t AS a, log", ("v",)),
        ("SELECT log.k, t.* FROM log LEFT JOIN t ON log.k = t.k", ("k", "v")),
        ("SELECT t.v FROM log, OUTER t WHERE log.k = t.k", ("v",)),
        ("SELECT a.v, b.k FROM t AS a RIGHT JOIN t AS b ON a.k = b.k", ("v",)),
        ("SELECT k FROM x", ("k", "v")),
        ("SELECT b FROM y", ("k", "v")),
        ("SELECT c FROM (SELECT FIRST 5 v FROM t ORDER BY 1) AS d(c)", ("v",)),
        ("SELECT (SELECT v FROM t WHERE t.k = log.k), k FROM log", ("v",)),
        ("SELECT NVL((SELECT a FROM x WHERE x.k = 1), '') FROM log", ("k", "v")),
    ],
)
def test_a_query_of_a_triggering_column_activates(sql: str, columns: tuple[str, ...]) -> None:
    assert activating(sql) == columns


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k FROM t WHERE v = 'a' ORDER BY v",
        "SELECT 1 FROM t",
        "SELECT MAX(v) FROM t",
        "SELECT COUNT(*) FROM t",
        "SELECT ROW_NUMBER() OVER (ORDER BY k), v FROM t",
        "SELECT DISTINCT v FROM t",
        "SELECT v FROM t UNION ALL SELECT v FROM t",
        "SELECT k FROM log WHERE k IN (SELECT k FROM t WHERE v = 'a')",
        "SELECT (SELECT MAX(v) FROM t) FROM log",
        "SELECT (SELECT v FROM t WHERE k = 1), COUNT(*) FROM log GROUP BY 1",
        "SELECT v FROM t GROUP BY v",
        "SELECT log.k FROM t, log WHERE v = 'a'",
        "SELECT k FROM w",
        "SELECT c FROM (SELECT DISTINCT v AS c FROM t)",
        "SELECT CASE WHEN EXISTS (SELECT v FROM t) THEN 1 END FROM log",
    ],
)
def test_a_query_that_is_documented_to_activate_none_does_not(sql: str) -> None:
    assert activating(sql) is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT v FROM t INTO TEMP z",
        "SELECT v FROM t FULL JOIN log ON t.k = log.k",
        "SELECT a FROM (SELECT * FROM x) AS d(k, a)",
        "SELECT (SELECT v FROM t ORDER BY 1) FROM log",
        "SELECT MULTISET(SELECT v FROM t) FROM log",
        "WITH c AS (SELECT v FROM t) SELECT v FROM c",
        "SELECT v FROM t START WITH k = 1 CONNECT BY PRIOR k = k + 1",
    ],
)
def test_a_query_that_may_activate_and_has_other_rows_is_refused(sql: str) -> None:
    assert BENCH.error(sql)[:2] == (-999, "SELECT TRIGGER")
