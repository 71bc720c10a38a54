"""Queries that activate SELECT triggers, that activate none, and that are refused."""

from __future__ import annotations

import pytest

from aioifx.server.sql.model.plan import Query
from tests.server.sql.workbench import Workbench

BENCH = Workbench(
    "CREATE TABLE log (k INT)",
    "CREATE TABLE t (k INT, v VARCHAR(9))",
    "CREATE VIEW w AS SELECT k FROM t",
    "CREATE TRIGGER s SELECT OF v ON t BEFORE (DELETE FROM log)",
)


def activating(sql: str) -> tuple[str, ...] | None:
    """The columns with which a query activates triggers; None if it activates none."""
    action = BENCH.plan(sql).action
    assert isinstance(action, Query)
    return None if action.fires is None else action.fires.events[0].columns


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT * FROM t", ("k", "v")),
        ("SELECT x.* FROM t AS x", ("k", "v")),
        ("SELECT v || 'x' FROM t WHERE k = 1", ("v",)),
        ("SELECT FIRST 1 v FROM t ORDER BY k", ("v",)),
        ("SELECT v FROM t FOR UPDATE", ("v",)),
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
    ],
)
def test_a_query_that_is_documented_to_activate_none_does_not(sql: str) -> None:
    assert activating(sql) is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a.v FROM t AS a, log",
        "SELECT v FROM (SELECT v FROM t)",
        "SELECT (SELECT MAX(v) FROM t) FROM log",
        "SELECT v FROM t GROUP BY v",
        "SELECT v FROM t INTO TEMP x",
        "SELECT k FROM w",
        "WITH c AS (SELECT v FROM t) SELECT v FROM c",
        "SELECT v FROM t START WITH k = 1 CONNECT BY PRIOR k = k + 1",
    ],
)
def test_a_query_that_may_activate_and_has_other_rows_is_refused(sql: str) -> None:
    assert BENCH.error(sql)[:2] == (-999, "SELECT TRIGGER")
