from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from aioifx.server.sql.errors import SqlError
from tests.server.sql.translate.view_model import View, World
from tests.server.sql.workbench import Workbench

TABLES = (
    "CREATE TABLE t (a INT, b INT, c CHAR(5))",
    "CREATE TABLE u (a INT, x INT)",
    "INSERT INTO t VALUES (1, 2, 'abc')",
    "INSERT INTO u VALUES (1, 5)",
)


def text_of(stores: Workbench, name: str = "v") -> str:
    view = stores.schema.table(name)
    assert view is not None
    return view.view


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("CREATE VIEW v AS SELECT * FROM t", "CREATE VIEW v AS SELECT t.a, t.b, t.c FROM t"),
        ("create view v as select q.* , 1 as n from t q", "create view v as select q.a, q.b, q.c , 1 as n from t q"),
        ("CREATE VIEW v (k, l, m) AS SELECT u.*, b FROM ann.t, u",
         "CREATE VIEW v (k, l, m) AS SELECT u.a, u.x, b FROM ann.t, u"),
        ("CREATE VIEW v AS SELECT a FROM t WHERE EXISTS (SELECT * FROM u WHERE u.a = t.a)",
         "CREATE VIEW v AS SELECT a FROM t WHERE EXISTS (SELECT u.a, u.x FROM u WHERE u.a = t.a)"),
        ("CREATE VIEW v AS SELECT q.a FROM (SELECT * FROM u) AS q",
         "CREATE VIEW v AS SELECT q.a FROM (SELECT u.a, u.x FROM u) AS q"),
        ("  /* of both */ CREATE VIEW v AS SELECT * FROM u UNION SELECT a, b FROM t;",
         "CREATE VIEW v AS SELECT u.a, u.x FROM u UNION SELECT a, b FROM t"),
    ],
)  # fmt: skip
def test_a_star_is_stored_as_the_columns_that_it_stands_for(statement: str, text: str) -> None:
    stores = Workbench(*TABLES, statement)
    assert text_of(stores) == text
    stores.run("ALTER TABLE u ADD (more INT)")
    stores.run("ALTER TABLE t ADD (more INT)")
    before = stores.rows("SELECT * FROM v")
    stores.run("DROP VIEW v")
    stores.run(text)  # the stored text is a statement
    assert stores.rows("SELECT * FROM v") == before


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("SELECT a FROM t", "SELECT z AS a FROM t"),
        ("SELECT a AS n FROM t WHERE a > 0", "SELECT z AS n FROM t WHERE z > 0"),
        ("SELECT t.a, c[1,2] FROM t, u WHERE t.a = u.a", "SELECT t.z AS a, c[1,2] FROM t, u WHERE t.z = u.a"),
        ("SELECT q.a FROM (SELECT a, b FROM t) AS q", "SELECT q.a FROM (SELECT z AS a, b FROM t) AS q"),
        ("SELECT x FROM u WHERE a IN (SELECT a FROM t WHERE t.a = u.a)",
         "SELECT x FROM u WHERE a IN (SELECT z AS a FROM t WHERE t.z = u.a)"),
        ("SELECT COUNT(*) AS n, a FROM t GROUP BY a", "SELECT COUNT(*) AS n, z AS a FROM t GROUP BY z"),
        ("SELECT a FROM t UNION SELECT x FROM u", "SELECT z AS a FROM t UNION SELECT x FROM u"),
        ("SELECT b, 'a' AS s FROM t", "SELECT b, 'a' AS s FROM t"),
        ("SELECT ann.t.a + t.a AS s FROM ann.t", "SELECT ann.t.z + t.z AS s FROM ann.t"),
        ("SELECT p.a FROM t p FULL OUTER JOIN u ON p.a = u.a",
         "SELECT p.z AS a FROM t p FULL OUTER JOIN u ON p.z = u.a"),
        ("WITH w AS (SELECT a FROM t) SELECT w.a FROM w", "WITH w AS (SELECT z AS a FROM t) SELECT w.a FROM w"),
        ("SELECT a FROM s", "SELECT z AS a FROM s"),
    ],
)  # fmt: skip
def test_a_renamed_column_has_its_name_in_the_texts_of_views(query: str, text: str) -> None:
    stores = Workbench(*TABLES, "CREATE SYNONYM s FOR t", f"CREATE VIEW v AS {query}")
    before, described = stores.rows("SELECT * FROM v"), stores.described("SELECT * FROM v")
    stores.run("RENAME COLUMN t.a TO z")
    assert text_of(stores) == f"CREATE VIEW v AS {text}"
    assert stores.rows("SELECT * FROM v") == before
    assert stores.described("SELECT * FROM v") == described
    stores.run("RENAME COLUMN t.z TO a")
    assert stores.rows("SELECT * FROM v") == before


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("SELECT b, x FROM t, u", "SELECT t.x AS b, u.x FROM t, u"),
        ("SELECT q.b, x FROM t AS q, u", "SELECT q.x AS b, u.x FROM t AS q, u"),
        ("SELECT a FROM u WHERE x > 1", "SELECT a FROM u WHERE x > 1"),
        ("SELECT t.a FROM t FULL OUTER JOIN u ON t.a = u.a WHERE x > 0 OR b > 0",
         "SELECT t.a FROM t FULL OUTER JOIN u ON t.a = u.a WHERE u.x > 0 OR t.x > 0"),
        ("SELECT c FROM t WHERE EXISTS (SELECT 1 FROM u WHERE x > b)",
         "SELECT c FROM t WHERE EXISTS (SELECT 1 FROM u WHERE x > t.x)"),
        ("SELECT x FROM u WHERE a = (SELECT MAX(b) FROM t WHERE t.a < x)",
         "SELECT x FROM u WHERE a = (SELECT MAX(x) FROM t WHERE t.a < u.x)"),
        ("SELECT u.a FROM t AS u WHERE EXISTS (SELECT 1 FROM u AS u WHERE x > b)",
         "SELECT x0.a FROM t AS x0 WHERE EXISTS (SELECT 1 FROM u AS u WHERE x > x0.x)"),
        ("SELECT u.b AS x0 FROM u AS t, t u WHERE EXISTS (SELECT 1 FROM u AS u WHERE u.x > 1)",
         "SELECT u.x AS x0 FROM u AS t, t u WHERE EXISTS (SELECT 1 FROM u AS u WHERE u.x > 1)"),
        ("SELECT q.b AS x0, ann.q.x FROM t q, u q",
         "SELECT x1.x AS x0, x2.x FROM t x1, u x2"),
        ("SELECT ann.t.b FROM ann.t, u AS t", "SELECT x0.x AS b FROM ann.t AS x0, u AS t"),
        ("SELECT b, x FROM (SELECT b FROM t), (SELECT x FROM u)",
         "SELECT b, x FROM (SELECT x AS b FROM t), (SELECT x FROM u)"),
        ("SELECT x, b FROM (SELECT (x + 0) AS x FROM u), t",
         "SELECT x0.x, t.x AS b FROM (SELECT (x + 0) AS x FROM u) AS x0, t"),
        ("SELECT d.k, x FROM (SELECT b AS k FROM t) AS d, u", "SELECT d.k, x FROM (SELECT x AS k FROM t) AS d, u"),
    ],
)  # fmt: skip
def test_a_name_that_two_tables_have_now_is_qualified(query: str, text: str) -> None:
    stores = Workbench(*TABLES, f"CREATE VIEW v AS {query}")
    before = stores.rows("SELECT * FROM v")
    stores.run("RENAME COLUMN t.b TO x")
    assert text_of(stores) == f"CREATE VIEW v AS {text}"
    assert stores.rows("SELECT * FROM v") == before


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("SELECT b, x FROM t, u", "SELECT t.b, x FROM t, u"),
        (
            "SELECT (SELECT MAX(b) FROM t WHERE t.a < x) AS m FROM u",
            "SELECT (SELECT MAX(b) FROM t WHERE t.a < x) AS m FROM u",
        ),
        (
            "SELECT t.a FROM t WHERE EXISTS (SELECT 1 FROM u AS t WHERE t.x > t.b)",
            "SELECT x0.a FROM t AS x0 WHERE EXISTS (SELECT 1 FROM u AS t WHERE t.x > x0.b)",
        ),
        (
            "SELECT c FROM t WHERE EXISTS (SELECT 1 FROM u WHERE x > b)",
            "SELECT c FROM t WHERE EXISTS (SELECT 1 FROM u WHERE x > t.b)",
        ),
    ],
)
def test_a_name_that_an_added_column_has_too_is_qualified(query: str, text: str) -> None:
    stores = Workbench(*TABLES, f"CREATE VIEW v AS {query}")
    before = stores.rows("SELECT * FROM v")
    stores.run("ALTER TABLE u ADD (b INT DEFAULT 9)")
    assert text_of(stores) == f"CREATE VIEW v AS {text}"
    assert stores.rows("SELECT * FROM v") == before


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("SELECT a, level AS l FROM t CONNECT BY PRIOR b = a", "SELECT a, level AS l FROM t CONNECT BY PRIOR b = a"),
        ("SELECT a, c FROM t CONNECT BY PRIOR b = a AND level < 9 ORDER SIBLINGS BY c",
         "SELECT a, t.level AS c FROM t CONNECT BY PRIOR b = a AND level < 9 ORDER SIBLINGS BY level"),
    ],
)  # fmt: skip
def test_a_column_whose_new_name_is_a_pseudo_column(query: str, text: str) -> None:
    stores = Workbench(*TABLES, "INSERT INTO t VALUES (2, 3, 'd')", f"CREATE VIEW v AS {query}")
    before = stores.rows("SELECT * FROM v")
    stores.run("RENAME COLUMN t.c TO level")
    assert text_of(stores) == f"CREATE VIEW v AS {text}"
    assert stores.rows("SELECT * FROM v") == before


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE a = 1)", (-217, "a", 15)),
        ("SELECT t.a FROM t WHERE EXISTS (SELECT 1 FROM u AS t WHERE t.a = 1)", (-217, "a", 15)),
        ("SELECT x FROM u WHERE a = 1", (-217, "a", 15)),
    ],
)
def test_a_view_of_a_dropped_column_works_again_with_another_one(
    query: str, error: tuple[int, str, int]
) -> None:
    stores = Workbench(*TABLES, f"CREATE VIEW v AS {query}", "CREATE VIEW w AS SELECT * FROM v")
    before = stores.rows("SELECT * FROM w")
    stores.run("ALTER TABLE u DROP (a)")
    assert stores.error("SELECT * FROM w") == error
    stores.run("ALTER TABLE u ADD (a INT DEFAULT 1)")
    assert stores.rows("SELECT * FROM w") == before


def test_a_view_of_a_dropped_column_follows_renames() -> None:
    stores = Workbench(
        *TABLES,
        "CREATE VIEW v AS SELECT b, c, a FROM t WHERE a = 1 AND b = 2",
        "CREATE VIEW w AS SELECT c[1,2], x FROM t, u WHERE x > b",
        "ALTER TABLE t DROP (a, c)",
        "RENAME COLUMN t.b TO d",
        "RENAME TABLE t TO z",
        "ALTER TABLE u ADD (c INT)",
        "ALTER TABLE z ADD (c CHAR(3) DEFAULT 'new', a INT DEFAULT 1)",
    )
    assert text_of(stores) == "CREATE VIEW v AS SELECT d AS b, c, a FROM z AS t WHERE a = 1 AND d = 2"
    assert stores.rows("SELECT * FROM v") == [(2, "new", 1)]
    assert text_of(stores, "w") == "CREATE VIEW w AS SELECT t.c[1,2], x FROM z AS t, u WHERE x > d"
    assert stores.rows("SELECT * FROM w") == [("ne", 5)]


def test_a_view_of_a_view_that_cannot_be_read_follows_renames() -> None:
    stores = Workbench(
        *TABLES,
        "CREATE VIEW v (k, n) AS SELECT c[1,2], b FROM t UNION SELECT c, a FROM t",
        "CREATE VIEW w AS SELECT x, n FROM u, v WHERE x > n",
        "ALTER TABLE t DROP (b, c)",
        "RENAME COLUMN u.x TO n",
        "RENAME TABLE u TO z",
        "ALTER TABLE t ADD (b INT, c CHAR(5))",
    )
    assert text_of(stores, "w") == "CREATE VIEW w AS SELECT u.n AS x, v.n FROM z AS u, v WHERE u.n > v.n"
    assert stores.rows("SELECT * FROM w") == [(5, 1)]


def test_the_columns_of_a_view_get_the_type_of_a_column_that_takes_the_place_of_a_dropped_one() -> None:
    stores = Workbench(*TABLES, "CREATE VIEW v (k, l) AS SELECT a, b FROM t", "ALTER TABLE t DROP (b)")
    stores.run("ALTER TABLE t ADD (b CHAR(3) DEFAULT 'new' BEFORE a)")
    assert [str(column.type) for column in stores.table("v").columns] == ["INTEGER", "CHAR(3)"]
    assert stores.rows("SELECT k, l FROM v") == [(1, "new")]


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("CREATE VIEW v (k) AS SELECT b FROM t ORDER BY b", "SELECT z AS b FROM t ORDER BY b"),
        ("CREATE VIEW v AS SELECT a AS z FROM t ORDER BY b", "SELECT a AS z FROM t ORDER BY t.z"),
        ("CREATE VIEW v AS SELECT a FROM t ORDER BY b", "SELECT a FROM t ORDER BY z"),
    ],
)
def test_a_renamed_column_in_order_by_is_not_a_label(statement: str, text: str) -> None:
    stores = Workbench(*TABLES, "INSERT INTO t VALUES (2, 1, 'd')", statement)
    before = stores.rows("SELECT * FROM v")
    stores.run("RENAME COLUMN t.b TO z")
    assert text_of(stores).partition(" AS ")[2] == text
    assert stores.rows("SELECT * FROM v") == before


def test_a_renamed_table_is_not_a_table_of_with() -> None:
    stores = Workbench(*TABLES, "CREATE VIEW v AS WITH w AS (SELECT x FROM u) SELECT b, x FROM t, w")
    stores.run("RENAME TABLE t TO w")
    assert text_of(stores) == "CREATE VIEW v AS WITH w AS (SELECT x FROM u) SELECT b, x FROM ann.w AS t, w"
    assert stores.rows("SELECT * FROM v") == [(2, 5)]


def test_the_star_of_a_derived_table_stays_if_its_columns_have_no_names() -> None:
    stores = Workbench(*TABLES, "CREATE VIEW v (k, l, m) AS SELECT * FROM (SELECT a + 1 FROM t) AS d, u")
    text = "CREATE VIEW v (k, l, m) AS SELECT d.*, u.a, u.x FROM (SELECT a + 1 FROM t) AS d, u"
    assert text_of(stores) == text
    stores.run("ALTER TABLE u ADD (more INT)")
    assert stores.rows("SELECT * FROM v") == [(2, 1, 5)]
    stores.run("CREATE VIEW w (k) AS SELECT * FROM (SELECT a + 1 FROM t)")
    assert stores.rows("SELECT * FROM w") == [(2,)]
    error = stores.error("CREATE VIEW x (k, l, m, n) AS SELECT * FROM (SELECT a + 1 FROM t), u")
    assert error == (-999, "*", 38)


@pytest.mark.parametrize("word", ["today", "user", "current", "null", "not", "case", "distinct"])
def test_a_column_whose_new_name_is_a_word_of_the_grammar(word: str) -> None:
    stores = Workbench(*TABLES, "CREATE VIEW v (k) AS SELECT a + 1 FROM t WHERE a > 0 AND NOT a > 5")
    stores.run(f"RENAME COLUMN t.a TO {word}")
    stores.run("RENAME TABLE t TO outer")
    quoted = f'"{word}"'
    text = f'SELECT {quoted} + 1 FROM "outer" AS t WHERE {quoted} > 0 AND NOT {quoted} > 5'
    assert text_of(stores) == f"CREATE VIEW v (k) AS {text}"
    assert stores.rows("SELECT * FROM v") == [(2,)]


def test_the_names_of_a_views_columns_need_no_labels() -> None:
    stores = Workbench(*TABLES, "CREATE VIEW v (k, l) AS SELECT a, c[1,2] FROM t", "RENAME COLUMN t.a TO z")
    assert text_of(stores) == "CREATE VIEW v (k, l) AS SELECT z, c[1,2] FROM t"
    stores.run("CREATE VIEW w AS SELECT c[1,2] FROM t")
    stores.run("RENAME COLUMN t.c TO d")
    assert text_of(stores) == "CREATE VIEW v (k, l) AS SELECT z, d[1,2] FROM t"
    assert text_of(stores, "w") == "CREATE VIEW w AS SELECT d[1,2] AS c FROM t"
    assert stores.rows("SELECT c FROM w") == [("ab",)]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("SELECT a FROM t", "SELECT a FROM z AS t"),
        ("SELECT t.a FROM ann.t WHERE t.b > 1", "SELECT t.a FROM ann.z AS t WHERE t.b > 1"),
        ("SELECT q.a FROM t q", "SELECT q.a FROM z q"),
        ("SELECT u.a FROM u LEFT JOIN t ON t.a = u.a", "SELECT u.a FROM u LEFT JOIN z AS t ON t.a = u.a"),
        ("SELECT t.a FROM u AS t", "SELECT t.a FROM u AS t"),
        ("WITH t AS (SELECT a FROM u) SELECT a FROM t", "WITH t AS (SELECT a FROM u) SELECT a FROM t"),
        ("SELECT a FROM s", "SELECT a FROM s"),
    ],
)
def test_a_renamed_table_has_its_name_in_the_texts_of_views(query: str, text: str) -> None:
    stores = Workbench(
        *TABLES, "CREATE SYNONYM s FOR t", f"CREATE VIEW v AS {query}", "CREATE VIEW w AS SELECT a FROM v"
    )
    before = stores.rows("SELECT * FROM w")
    stores.run("RENAME TABLE t TO z")
    assert text_of(stores) == f"CREATE VIEW v AS {text}"
    assert text_of(stores, "w") == "CREATE VIEW w AS SELECT a FROM v"
    assert stores.rows("SELECT * FROM w") == before
    assert stores.rows(
        "SELECT TRIM(viewtext) FROM sysviews v, systables t WHERE v.tabid = t.tabid AND tabname = 'v'"
    ) == [(f"CREATE VIEW v AS {text}",)]


def test_names_in_double_quotes() -> None:
    stores = Workbench(*TABLES, 'CREATE VIEW v AS SELECT a, "it\'s" AS s FROM t')
    stores.delimident = True
    stores.run('RENAME COLUMN t.a TO "A b"')
    assert text_of(stores) == "CREATE VIEW v AS SELECT \"A b\" AS a, 'it''s' AS s FROM t"
    stores.run('CREATE VIEW w AS SELECT "A b" FROM t')
    stores.run("CREATE VIEW x AS SELECT * FROM w")
    stores.delimident = False
    assert text_of(stores, "x") == 'CREATE VIEW x AS SELECT w."A b" FROM w'
    assert stores.rows("SELECT * FROM v") == [(1, "it's")]
    assert stores.rows("SELECT * FROM x") == [(1,)]


def test_the_columns_of_views_follow_a_changed_type() -> None:
    stores = Workbench(
        *TABLES, "CREATE VIEW v AS SELECT a, b FROM t", "CREATE VIEW w (k) AS SELECT a + 1 FROM v"
    )

    def types() -> list[object]:
        return stores.rows(
            "SELECT t.tabname, c.colname, c.coltype FROM systables t, syscolumns c"
            " WHERE t.tabid = c.tabid AND tabtype = 'V' AND t.tabid > 99 ORDER BY 1, 2"
        )  # type: ignore[return-value]

    assert types() == [("v", "a", 2), ("v", "b", 2), ("w", "k", 2)]
    stores.run("ALTER TABLE t MODIFY (a DECIMAL(8,2) NOT NULL)")
    assert types() == [("v", "a", 5 + 256), ("v", "b", 2), ("w", "k", 5)]
    stores.run("ALTER TABLE t DROP (a)")
    assert stores.error("SELECT * FROM v")[:2] == (-217, "a")
    assert types() == [("v", "a", 5 + 256), ("v", "b", 2), ("w", "k", 5)]


def test_a_field_of_a_renamed_column_keeps_its_own_name() -> None:
    stores = Workbench(
        "CREATE TABLE p (n INT, place ROW(street VARCHAR(9), zip INT))",
        "INSERT INTO p VALUES (1, ROW('s', 5))",
        "CREATE VIEW v AS SELECT d.zip FROM (SELECT place.zip, p.place.street AS s FROM p) AS d",
        "RENAME COLUMN p.place TO zip",
    )
    text = "CREATE VIEW v AS SELECT d.zip FROM (SELECT zip.zip, p.zip.street AS s FROM p) AS d"
    assert text_of(stores) == text
    assert stores.rows("SELECT * FROM v") == [(5,)]


PLACES = (
    "CREATE TABLE p (k INT, place ROW(street VARCHAR(9), zip INT))",
    "CREATE TABLE u (a INT, x INT)",
    "INSERT INTO p VALUES (5, ROW('s', 5))",
    "INSERT INTO u VALUES (5, 7)",
)


@pytest.mark.parametrize(
    ("query", "change", "text"),
    [
        ("SELECT place.zip AS z, u.x FROM p, u", "ALTER TABLE u ADD place ROW(zip INT)",
         "SELECT p.place.zip AS z, u.x FROM p, u"),
        ("SELECT k FROM p z WHERE EXISTS (SELECT 1 FROM u WHERE a = place.zip)",
         "ALTER TABLE u ADD place ROW(zip INT)",
         "SELECT k FROM p z WHERE EXISTS (SELECT 1 FROM u WHERE a = z.place.zip)"),
        ("SELECT k FROM p u WHERE EXISTS (SELECT 1 FROM u WHERE u.place.zip = 5)", "RENAME COLUMN u.x TO place",
         "SELECT x0.k FROM p x0 WHERE EXISTS (SELECT 1 FROM u WHERE x0.place.zip = 5)"),
        ("SELECT k FROM p u WHERE EXISTS (SELECT 1 FROM u WHERE u.place.zip = 5 AND u.k = 5)",
         "ALTER TABLE u ADD k INT",
         "SELECT x0.k FROM p x0 WHERE EXISTS (SELECT 1 FROM u WHERE x0.place.zip = 5 AND x0.k = 5)"),
        ("SELECT place.zip FROM (SELECT place, k FROM p) AS d, u", "RENAME COLUMN u.x TO place",
         "SELECT d.place.zip FROM (SELECT place, k FROM p) AS d, u"),
    ],
)  # fmt: skip
def test_a_field_of_a_column_whose_name_another_table_gets_is_qualified(
    query: str, change: str, text: str
) -> None:
    stores = Workbench(*PLACES, f"CREATE VIEW v AS {query}")
    before = stores.rows("SELECT * FROM v")
    stores.run(change)
    assert text_of(stores) == f"CREATE VIEW v AS {text}"
    assert stores.rows("SELECT * FROM v") == before != []


@pytest.mark.parametrize("name", ["rowid", "u.rowid"])
@pytest.mark.parametrize("change", ["ALTER TABLE u ADD (rowid INT)", "RENAME COLUMN u.x TO rowid"])
def test_a_column_does_not_take_the_place_of_rowid_in_a_view(name: str, change: str) -> None:
    stores = Workbench(*TABLES, f"CREATE VIEW v AS SELECT {name} AS r FROM u WHERE {name} > 0")
    assert stores.error(change)[:2] == (-999, "ROWID in view v")
    assert stores.rows("SELECT * FROM v") == [(1,)]


def test_another_tables_rowid_stays_in_a_view() -> None:
    stores = Workbench(*TABLES, "CREATE VIEW v AS SELECT b FROM t WHERE rowid IN (SELECT a FROM u)")
    stores.run("RENAME COLUMN u.x TO rowid")
    assert stores.rows("SELECT * FROM v") == [(2,)]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM ^w",
        "SELECT 1 FROM t, ^w WHERE w.k = 1",
        "SELECT 1 FROM t UNION SELECT (SELECT MAX(k) FROM ^w) FROM t",
        "SELECT 1 FROM (SELECT k FROM ^w) AS d",
        "CREATE VIEW x AS SELECT k FROM ^w",
        "INSERT INTO ^v VALUES (1)",
        "UPDATE ^w SET k = 1",
        "DELETE FROM ^w",
        "INSERT INTO t (a) SELECT k FROM ^w",
    ],
)
def test_an_error_in_the_text_of_a_view_is_at_its_name(statement: str) -> None:
    stores = Workbench(*TABLES, "CREATE VIEW v (k) AS SELECT b FROM t WHERE b > 0")
    stores.run("CREATE VIEW w AS SELECT k FROM v")
    stores.run("ALTER TABLE t DROP (b)")
    assert stores.error(statement.replace("^", "")) == (-217, "b", statement.index("^") + 1)


@given(st.randoms(use_true_random=False))
def test_views_give_the_rows_of_a_model_whatever_changes_below_them(random: Random) -> None:
    world = World(random)
    stores = Workbench(*world.creation())
    for _ in range(random.randint(2, 4)):
        if text := world.new_view():
            stores.run(text)
    for _ in range(random.randint(2, 10)):
        statement, sqlcode = world.change()
        note(statement)
        found = 0
        try:
            stores.run(statement)
        except SqlError as error:
            found = error.sqlcode
        assert found == sqlcode
        for view in world.views:
            _compare(stores, view)


def _compare(stores: Workbench, view: View) -> None:
    """Compare a view with its model: its rows, and its columns in the catalog."""
    query, stored = f"SELECT * FROM {view.name}", stores.table(view.name)
    note(stored.view)
    if view.query.is_broken():
        assert stores.error(query)[0] == -217
        return
    assert Counter(stores.rows(query)) == Counter(view.query.rows({}))
    assert stores.described(query) == [(column.name, str(column.type)) for column in stored.columns]
    assert [column.name for column in stored.columns] == list(view.names)
