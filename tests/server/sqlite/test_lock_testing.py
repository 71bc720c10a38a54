from __future__ import annotations

import marshal

import pytest

from aioifx.server.sql.model.plan import Change, Query
from aioifx.server.sql.model.schema import Table
from aioifx.server.sql.sqlite.render import Composed
from aioifx.server.sqlite.lock_testing import Access, Path, paths, with_tests, with_versions
from tests.server.sql.workbench import Workbench

QUERIES = (
    "SELECT * FROM t", "SELECT b FROM t WHERE a = 3", "SELECT b FROM t WHERE c = 'c1' AND b > 4",
    "SELECT c, COUNT(*) FROM t GROUP BY c HAVING COUNT(*) > 1", "SELECT DISTINCT c FROM t",
    "SELECT FIRST 3 a FROM t ORDER BY b DESC", "SELECT t.a, u.x FROM t, u WHERE t.a = u.a AND u.x > 2",
    "SELECT t.a, u.x FROM t LEFT JOIN u ON t.a = u.a AND u.x > 2",
    "SELECT t.a, u.x FROM t FULL OUTER JOIN u ON t.b = u.x", "SELECT t.a, u.x FROM t, OUTER u WHERE t.a = u.a",
    "SELECT a FROM t UNION SELECT x FROM u", "SELECT a FROM t MINUS SELECT x FROM u WHERE a > 4",
    "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a) OR b IN (SELECT x FROM u)",
    "SELECT * FROM v WHERE a < 6",
    "SELECT q.n FROM (SELECT COUNT(*) AS n, c FROM t GROUP BY c) AS q WHERE q.c = 'c1'",
    "WITH w AS (SELECT a FROM t WHERE b > 3) SELECT w.a FROM w, u WHERE u.a = w.a",
    "SELECT x.c || 'main.\"t100\" AS s1' FROM t x, t y WHERE x.a = y.b",
    "SELECT rowid, a FROM t WHERE rowid = 3",
)  # fmt: skip


def bench() -> Workbench:
    made = Workbench(
        "CREATE TABLE t (a INT PRIMARY KEY, b INT, c VARCHAR(10))",
        "CREATE TABLE u (a INT, x INT, d DECIMAL(8,2))",
        "CREATE INDEX t_c ON t (c, b)",
        "CREATE VIEW v (a, s) AS SELECT t.a, SUM(u.x) FROM t, u WHERE u.a = t.a GROUP BY t.a",
    )
    made.connection.execute(
        "CREATE TABLE ifx_undo (seq INTEGER PRIMARY KEY, txn, tabid, row, op, image BLOB)"
    )
    for number in range(1, 9):
        made.run(f"INSERT INTO t VALUES ({number}, {number % 4 + 3}, 'c{number % 3}')")
        made.run(f"INSERT INTO u VALUES ({number}, {number // 2}, {number}.5)")
    return made


def sql_of(made: Workbench, text: str) -> tuple[Composed, tuple[Table, ...]]:
    action = made.plan(text).action
    assert isinstance(action, Query)
    return action.sql, action.tables


@pytest.mark.parametrize("text", QUERIES)
def test_both_forms_give_the_rows_of_the_text(text: str) -> None:
    made = bench()
    sql, tables = sql_of(made, text)
    made.connection.create_function("ifx_locktest", 2, lambda alias, row: 1)
    made.connection.create_function("ifx_before", 2, lambda alias, seq: 0)
    made.connection.create_function("ifx_image", 2, lambda image, number: None)
    by_tabid = {table.tabid: table for table in tables}
    assert sql.references
    expected = made.connection.execute(sql.text).fetchall()
    assert made.connection.execute(with_tests(sql).text).fetchall() == expected
    versions = with_versions(sql, lambda each: by_tabid[each.tabid])
    assert sorted(map(repr, made.connection.execute(versions.text))) == sorted(map(repr, expected))


@pytest.mark.parametrize(
    ("text", "visited"),
    [
        ("SELECT b FROM t WHERE a = 3", {3}),
        ("SELECT b FROM t WHERE a = 3 AND b = 99", {3}),
        ("SELECT b FROM t WHERE b = 99", set(range(1, 9))),
        ("SELECT COUNT(*) FROM t WHERE c = 'c1'", {1, 4, 7}),
        ("SELECT a FROM t WHERE a IN (2, 5)", {2, 5}),
        ("SELECT a FROM t WHERE rowid = 4", {4}),
    ],
)
def test_only_rows_that_the_index_finds_are_tested(text: str, visited: set[int]) -> None:
    made = bench()
    seen: set[int] = set()

    def test(_: int, row: int) -> int:
        seen.add(row)
        return 1

    made.connection.create_function("ifx_locktest", 2, test)
    made.connection.execute(with_tests(sql_of(made, text)[0]).text).fetchall()
    assert seen == visited


def test_the_last_committed_versions_replace_rows_that_are_left_out() -> None:
    made = bench()
    sql, tables = sql_of(made, "SELECT a, b, c FROM t WHERE c = 'c2' ORDER BY a")
    image = marshal.dumps((2, 50, "c2 "))  # trailing blanks do not count in comparisons
    made.connection.execute("INSERT INTO ifx_undo VALUES (1, 7, ?, 2, 'U', ?)", (tables[0].tabid, image))
    made.connection.create_function("ifx_locktest", 2, lambda alias, row: row != 2)
    made.connection.create_function("ifx_before", 2, lambda alias, seq: seq == 1)
    made.connection.create_function("ifx_image", 2, lambda image, number: marshal.loads(image)[number])
    versions = with_versions(sql, lambda each: tables[0])
    assert made.connection.execute(versions.text).fetchall() == [(2, 50, "c2 "), (5, 4, "c2"), (8, 3, "c2")]
    assert with_versions(sql, lambda each: None) == sql


def test_the_changed_table_of_a_statement_is_not_a_reference() -> None:
    made = bench()
    action = made.plan("UPDATE t SET b = (SELECT MAX(x) FROM u) WHERE a = 1").action
    assert isinstance(action, Change)
    assert [each.tabid for each in action.sql.references] == [
        table.tabid for table in action.locked_tables if table.name == "u"
    ]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("SELECT b FROM t WHERE a = 3", Path(Access.KEY, is_unique=True)),
        ("SELECT a FROM t WHERE a = 3", Path(Access.KEY, is_unique=True)),
        ("SELECT a FROM t WHERE rowid = 3", Path(Access.KEY, is_unique=True)),
        ("SELECT a FROM t WHERE c = 'c1'", Path(Access.KEY)),
        ("SELECT a FROM t WHERE c = 'c1' AND b > 3", Path(Access.RANGE)),
        ("SELECT b FROM t WHERE a > 3", Path(Access.RANGE)),
        ("SELECT a FROM t WHERE b = 3", Path(Access.SCAN, is_whole=True)),
        ("SELECT * FROM t ORDER BY a", Path(Access.SCAN, is_whole=True)),
    ],
)
def test_the_access_to_a_table(text: str, path: Path) -> None:
    made = bench()
    sql, (table,) = sql_of(made, text)
    (alias,) = (each.number for each in sql.references)
    assert paths(made.connection, sql, (), lambda _: table) == {alias: path}


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("DELETE FROM t WHERE b = 3", [4, 8]),
        ("UPDATE t SET b = 1 WHERE a = 2", [2]),
        ("UPDATE t SET b = (SELECT MAX(x) FROM u) WHERE a = 2", [2]),
        ("UPDATE t SET (b, c) = ((SELECT MAX(x), 'x' FROM u)) WHERE a = 2", [2]),
        ("UPDATE t SET b = 1", list(range(1, 9))),
        ("INSERT INTO t SELECT a + 10, x, 'n' FROM u WHERE a = 1", [11]),
        ("INSERT INTO t VALUES ((SELECT MAX(a) + 1 FROM u), 2, 'n')", [9]),
        ("MERGE INTO t USING u ON t.a = u.x WHEN MATCHED THEN DELETE", None),
        ("MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN UPDATE SET b = u.x", list(range(1, 9))),
        ("SELECT x AS y FROM u WHERE a = 4 INTO TEMP w", [2]),
    ],
)
def test_a_change_has_a_query_that_reads_its_rows(text: str, rows: list[int] | None) -> None:
    made = bench()
    action = made.plan(text).action
    change = action if isinstance(action, Change) else action.fill  # type: ignore[union-attr]
    assert change.search is not None
    found = [row[0] for row in made.connection.execute(change.search.text)]
    assert sorted(found) == rows or rows is None
    assert {each.tabid for each in change.search.references} <= {
        table.tabid for table in change.locked_tables
    }


def test_changes_that_read_nothing_have_no_query() -> None:
    made = bench()
    for text in ("INSERT INTO t VALUES (20, 1, 'x')", "DELETE FROM t WHERE CURRENT OF c"):
        action = made.plan(text).action
        assert isinstance(action, Change)
        assert action.search is None


def test_texts_with_rowids() -> None:
    made = bench()
    action = made.plan("SELECT SKIP 1 FIRST 2 c FROM t WHERE a > ?").action
    assert isinstance(action, Query)
    assert action.keyed_sql is not None and action.row_sql is not None
    result = made.connection.execute(action.keyed_sql.text, action.keyed_sql.bound((2,))).fetchall()
    assert result == [("c1", 4), ("c2", 5)]
    assert made.connection.execute(action.row_sql.text, action.row_sql.bound((2, 4))).fetchall() == [
        ("c1", 4)
    ]
    assert made.connection.execute(action.row_sql.text, action.row_sql.bound((2, 1))).fetchall() == []
    for text in ("SELECT c FROM t ORDER BY a", "SELECT COUNT(*) FROM t", "SELECT t.a FROM t, u"):
        action = made.plan(text).action
        assert isinstance(action, Query)
        assert action.keyed_sql is None
