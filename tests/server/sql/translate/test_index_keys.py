from __future__ import annotations

import pytest

from aioifx.server.sql.model.plan import Query
from aioifx.server.sql.model.spl import Routine
from tests.server.sql.workbench import Workbench

ROUTINES = (
    Routine("folded", [("name", "VARCHAR(20)")], ["VARCHAR(20)"], str.casefold, variant=False),
    Routine(
        "total", [("a", "INT"), ("b", "INT")], ["DECIMAL(9,2)"], lambda a, b: a and b and a + b, variant=False
    ),
    Routine("random", [("name", "VARCHAR(20)")], ["INT"], hash),
    Routine("pair", [("name", "VARCHAR(20)")], ["INT", "INT"], lambda name: (1, 2), variant=False),
    Routine("noisy", [("name", "VARCHAR(20)")], [], print, variant=False),
)


def bench(*more: str) -> Workbench:
    stores = Workbench("CREATE TABLE t (name VARCHAR(20), a INT, b INT, s SET(INT NOT NULL), c BYTE)")
    for routine in ROUTINES:
        stores.settings.routines.add(routine)
    for statement in more:
        stores.run(statement)
    return stores


def test_a_unique_index_keeps_the_results_of_its_function_apart() -> None:
    stores = bench("CREATE UNIQUE INDEX i ON t (folded(name))", "INSERT INTO t (name) VALUES ('Ann')")
    assert stores.error("INSERT INTO t (name) VALUES ('ANN ')") == (-239, "i", 0)
    stores.run("INSERT INTO t (name) VALUES ('Bob')")
    assert stores.error("UPDATE t SET name = 'aNN' WHERE name = 'Bob'") == (-346, "i", 0)


def test_null_is_one_key_of_a_unique_index() -> None:
    stores = bench(
        "CREATE UNIQUE INDEX i ON t (total(a, b), name)", "INSERT INTO t (a, name) VALUES (1, 'x')"
    )
    assert stores.error("INSERT INTO t (b, name) VALUES (2, 'x ')") == (-239, "i", 0)
    assert stores.run("INSERT INTO t (b, name) VALUES (2, 'y')") == 1


def test_existing_rows_may_not_have_equal_results() -> None:
    stores = bench("INSERT INTO t (name) VALUES ('Ann')", "INSERT INTO t (name) VALUES ('ann')")
    assert stores.error("CREATE UNIQUE INDEX i ON t (folded(name))")[0] == -371
    stores.run("CREATE INDEX i ON t (folded(name) DESC)")
    assert stores.error("CREATE INDEX j ON t (folded(name) DESC)")[0] == -350


def test_a_query_finds_rows_through_the_index() -> None:
    stores = bench("CREATE INDEX i ON t (folded(name))", "INSERT INTO t (name) VALUES ('Ann')")
    query = "SELECT name FROM t WHERE folded(name) = 'ann'"
    assert stores.rows(query) == [("Ann",)]
    action = stores.plan(query).action
    assert isinstance(action, Query)
    steps = stores.connection.execute(f"EXPLAIN QUERY PLAN {action.sql.text}").fetchall()
    assert any("USING INDEX" in str(step) for step in steps)


def test_the_catalog_names_the_columns_of_the_function() -> None:
    stores = bench("CREATE INDEX i ON t (b, total(a, b) DESC)")
    assert stores.rows("SELECT indexkeys FROM sysindices WHERE idxname = 'i'") == [("3 [1], -<0>(2, 3) [1]",)]
    assert stores.rows("SELECT part1, part2, part3 FROM sysindexes WHERE idxname = 'i'") == [(3, 0, 0)]


def test_an_index_follows_its_columns() -> None:
    stores = bench("CREATE UNIQUE INDEX i ON t (folded(name))", "RENAME COLUMN t.name TO title")
    stores.run("INSERT INTO t (title) VALUES ('Ann')")
    assert stores.error("INSERT INTO t (title) VALUES ('ANN')")[0] == -239
    assert stores.error("ALTER TABLE t MODIFY (title CHAR(9))")[:2] == (-999, "MODIFY")
    stores.run("SET INDEXES i DISABLED")
    stores.run("SET INDEXES i ENABLED")
    assert stores.error("INSERT INTO t (title) VALUES ('ANN')")[0] == -239
    stores.run("ALTER TABLE t ADD CONSTRAINT UNIQUE (title) CONSTRAINT u")
    assert stores.error("INSERT INTO t (title) VALUES ('Ann')")[:2] == (-268, "ann.u")
    stores.run("ALTER TABLE t DROP (title)")
    assert stores.table("t").indexes == ()


@pytest.mark.parametrize(
    ("key", "error"),
    [
        ("upper(name)", (-9844, "upper", 22)),
        ("trim(name)", (-9844, "trim", 22)),
        ("pair(name)", (-9844, "pair", 22)),
        ("noisy(name)", (-9844, "noisy", 22)),
        ("random(name)", (-9848, "random", 22)),
        ("total(a)", (-9843, "", 22)),
        ("nowhere(a)", (-674, "nowhere", 22)),
        ("folded(nowhere)", (-217, "nowhere", 29)),
        ("folded(a)", (-999, "FUNCTIONAL INDEX", 29)),
        ("folded(s)", (-999, "FUNCTIONAL INDEX", 29)),
        ("nowhere", (-217, "nowhere", 22)),
        ("c", (-610, "c", 22)),
    ],
)
def test_a_key_is_refused_with_its_reason(key: str, error: tuple[int, str, int]) -> None:
    assert bench().error(f"CREATE INDEX i ON t ({key})") == error
