from __future__ import annotations

from decimal import Decimal

import pytest

from tests.server.sql.workbench import Workbench


@pytest.fixture
def stores() -> Workbench:
    return Workbench(
        "CREATE TABLE t (k SERIAL, n INT, c CHAR(5) DEFAULT 'new', d DECIMAL(8,2) NOT NULL, v VARCHAR(9))",
        "CREATE VIEW big (i, num, name, amount) AS SELECT k, n, c, d FROM t WHERE n > 10",
        "CREATE VIEW named AS SELECT * FROM big x WHERE x.name <> 'no' WITH CHECK OPTION",
        "CREATE VIEW wide AS SELECT i, num FROM named",
        "CREATE VIEW half (num, twice) AS SELECT n, n * 2 FROM t WHERE n IN (SELECT n FROM t WHERE d < 100)",
        "CREATE VIEW grouped (n, times) AS SELECT n, COUNT(*) FROM t GROUP BY n",
        "CREATE VIEW over (n) AS SELECT n FROM grouped",
        "CREATE VIEW joined (a, b) AS SELECT t.k, u.k FROM t, t u",
        "CREATE VIEW united (a) AS SELECT k FROM t UNION SELECT n FROM t",
        "INSERT INTO t VALUES (0, 5, 'a', 1.5, 'x')",
        "INSERT INTO t VALUES (0, 15, 'b', 2.5, 'y')",
        "INSERT INTO t VALUES (0, 25, 'no', 3.5, 'z')",
    )


def test_a_row_inserted_through_a_view_has_defaults_where_it_has_no_column(stores: Workbench) -> None:
    assert stores.run("INSERT INTO big (num, amount) VALUES (?, 4)", 20) == 1
    assert stores.run("INSERT INTO big VALUES (0, 1, 'z', 5)") == 1
    assert stores.run("INSERT INTO big (num, amount) SELECT n + 100, d FROM t WHERE n = 5") == 1
    assert stores.rows("SELECT k, n, c, d, v FROM t WHERE k > 3")[0][:3] == (4, 20, "new  ")
    assert stores.rows("SELECT n FROM t WHERE k > 3") == [(20,), (1,), (105,)]
    assert stores.error("INSERT INTO big (num) VALUES (1)")[:2] == (-391, "t.d")


def test_only_rows_that_the_view_shows_are_changed(stores: Workbench) -> None:
    assert stores.run("UPDATE big SET num = num + 1, name = ? WHERE i < 3", "q") == 1
    assert stores.rows("SELECT n, c FROM t") == [(5, "a    "), (16, "q    "), (25, "no   ")]
    assert stores.run("UPDATE named SET amount = 9") == 1
    assert (
        stores.run("UPDATE big x SET (name, amount) = ((SELECT 'w', 7 FROM t WHERE k = 1)) WHERE x.num = 25")
        == 1
    )
    assert stores.rows("SELECT d FROM t") == [(1.5,), (9,), (7,)]
    assert stores.run("DELETE FROM named WHERE name = 'w'") == 1
    assert stores.run("DELETE FROM big") == 1
    assert stores.rows("SELECT n FROM t") == [(5,)]


def test_a_computed_column_prevents_only_writes_to_it(stores: Workbench) -> None:
    assert stores.run("UPDATE half SET num = 6 WHERE twice = 10") == 1
    assert stores.run("DELETE FROM half WHERE twice = 12") == 1
    assert stores.rows("SELECT n FROM t") == [(15,), (25,)]


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("INSERT INTO half (num) VALUES (1)", (-384, "")),
        ("INSERT INTO half (twice) VALUES (1)", (-234, "twice")),
        ("UPDATE half SET twice = 1", (-234, "twice")),
        ("UPDATE half SET * = (1, 2)", (-384, "")),
        ("UPDATE big SET nope = 1", (-217, "nope")),
        ("UPDATE big SET num = 1 WHERE n = 1", (-217, "n")),
        ("UPDATE big SET i = 1", (-232, "i")),
        ("INSERT INTO big (num, num) VALUES (1, 2)", (-681, "num")),
        ("INSERT INTO big VALUES (1, 2)", (-236, "")),
        ("INSERT INTO grouped VALUES (1, 2)", (-384, "grouped")),
        ("UPDATE over SET n = 1", (-384, "grouped")),
        ("DELETE FROM joined", (-384, "joined")),
        ("DELETE FROM united", (-384, "united")),
        ("CREATE VIEW w AS SELECT n FROM grouped WITH CHECK OPTION", (-384, "grouped")),
        ("CREATE VIEW w AS SELECT DISTINCT n FROM t WITH CHECK OPTION", (-384, "w")),
        ("CREATE VIEW w (n) AS SELECT MAX(n) FROM t WITH CHECK OPTION", (-384, "w")),
        ("DELETE FROM own", (-511, "systables")),
    ],
)
def test_unsupported_operations_on_views_are_refused(
    stores: Workbench, statement: str, error: tuple[int, str]
) -> None:
    stores.run("CREATE VIEW own AS SELECT tabid FROM systables")
    assert stores.error(statement)[:2] == error


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO named VALUES (0, 10, 'x', 1)",
        "INSERT INTO named VALUES (0, 11, 'no', 1)",
        "INSERT INTO named (num, amount, name) VALUES (11, 1, NULL)",
        "INSERT INTO named (amount) VALUES (1)",
        "INSERT INTO named SELECT k, n, c, d FROM t",
        "UPDATE wide SET num = 1",
        "UPDATE named SET name = 'no   '",
        "UPDATE named SET num = num - 5",
        "UPDATE named SET amount = 1, num = NULL",
    ],
)
def test_with_check_option_no_row_leaves_its_view(stores: Workbench, statement: str) -> None:
    before = stores.rows("SELECT * FROM t")
    assert stores.error(statement)[0] == -385
    assert stores.rows("SELECT * FROM t") == before


def test_with_check_option_other_rows_are_written(stores: Workbench) -> None:
    assert stores.run("INSERT INTO named VALUES (0, ?, 'x', 1)", 11) == 1
    assert stores.run("INSERT INTO named (num, amount) SELECT n + 10, d FROM t WHERE n = 5") == 1
    assert stores.run("UPDATE named SET num = ?, name = 'y' WHERE num = 11", 12) == 1
    assert stores.run("UPDATE wide SET num = 13 WHERE num = 12") == 1
    assert stores.rows("SELECT k, n, c FROM t WHERE k > 3") == [(4, 13, "y    "), (5, 15, "new  ")]


@pytest.mark.parametrize(
    ("query", "row"),
    [
        ("SELECT k, n FROM {} UNION SELECT k, n FROM v0", (1, 2)),
        pytest.param(
            "SELECT k, CASE WHEN n > 9 THEN n - k ELSE n + k END FROM {}",
            (1, 10),
            marks=pytest.mark.exhaustive,
        ),
        ("SELECT a.k, b.n FROM {} a LEFT JOIN v0 b ON a.k = b.k", (1, 2)),
        pytest.param(
            "WITH w AS (SELECT k, n FROM {}) SELECT k, n FROM w", (1, 2), marks=pytest.mark.exhaustive
        ),
    ],
)
def test_each_view_that_is_created_can_be_read(query: str, row: tuple[int, int]) -> None:
    stores = Workbench("CREATE TABLE v0 (k INT, n INT)", "INSERT INTO v0 VALUES (1, 2)")
    for number in range(1, 33):
        stores.run(f"CREATE VIEW v{number} (k, n) AS {query.format(f'v{number - 1}')}")
    assert stores.rows("SELECT * FROM v32") == [row]
    assert stores.error(f"CREATE VIEW v33 (k, n) AS {query.format('v32')}")[:2] == (-999, "VIEW")
    stores.run("ALTER TABLE v0 MODIFY (k DECIMAL(16,2), n DECIMAL(16))")
    assert stores.rows("SELECT * FROM v32") == [row]


def test_joins_of_views_that_join_are_read() -> None:
    stores = Workbench("CREATE TABLE v0 (k INT)", "INSERT INTO v0 VALUES (1)")
    for number in range(1, 8):
        stores.run(
            f"CREATE VIEW v{number} AS SELECT a.k FROM v{number - 1} a, v{number - 1} b WHERE a.k = b.k"
        )
    assert stores.rows("SELECT * FROM v7") == [(1,)]


def test_a_view_that_sqlite_cannot_read_is_refused(stores: Workbench) -> None:
    tables = ", ".join(f"t t{number}" for number in range(65))
    error = stores.error(f"CREATE VIEW w AS SELECT t0.n FROM {tables}")
    assert error[:2] == (-999, "more than 64 tables in a join")


def test_views_in_views_are_written_to_some_depth() -> None:
    stores = Workbench("CREATE TABLE v0 (k INT)", "INSERT INTO v0 VALUES (1)")
    for number in range(1, 33):
        stores.run(f"CREATE VIEW v{number} AS SELECT k FROM v{number - 1}")
    assert stores.run("UPDATE v32 SET k = 2") == 1
    for option in ("", " WITH CHECK OPTION"):
        assert stores.error(f"CREATE VIEW z AS SELECT k FROM v32{option}")[:2] == (-999, "VIEW")


def test_a_checked_value_cannot_use_a_sequence(stores: Workbench) -> None:
    stores.run("CREATE SEQUENCE s START WITH 100")
    assert stores.error("UPDATE named SET num = s.NEXTVAL")[:2] == (-999, "NEXTVAL")
    several = "UPDATE named SET (num, name) = ((SELECT 50, 'x' FROM t WHERE k = 1))"
    assert stores.error(several)[:2] == (-999, "WITH CHECK OPTION")


def test_columns_are_described_by_the_views_names(stores: Workbench) -> None:
    found = stores.described("INSERT INTO big (name, amount) VALUES (?, ?)")
    assert found == [("name", "CHAR(5)"), ("amount", "DECIMAL(8,2)")]
    assert stores.described("UPDATE big SET num = ?") == [("num", "INTEGER")]
    assert stores.plan("UPDATE big SET num = ?").parameters[0].column == "n"


def test_with_check_option_after_changes_of_the_table() -> None:
    stores = Workbench(
        "CREATE TABLE t (a INT, b INT)",
        "CREATE VIEW v (k, l) AS SELECT a, b FROM t WHERE b < 10 WITH CHECK OPTION",
        "CREATE VIEW w AS SELECT k, l FROM v WHERE k > 0",
        "RENAME COLUMN t.b TO k",
        "RENAME TABLE t TO v2",
        "ALTER TABLE v2 MODIFY (k DECIMAL(8,2)), ADD (l INT DEFAULT 7 BEFORE a)",
    )
    for view in "vw":
        assert stores.error(f"INSERT INTO {view} VALUES (1, 10.25)")[0] == -385
        assert stores.run(f"INSERT INTO {view} VALUES (1, 9.75)") == 1
        assert stores.error(f"UPDATE {view} SET l = 11")[0] == -385
    assert stores.rows("SELECT l, a, k FROM v2") == [(7, 1, Decimal("9.75"))] * 2
    stores.run("ALTER TABLE v2 DROP (k)")
    for statement in ("INSERT INTO w VALUES (1, 2)", "UPDATE w SET k = 1", "DELETE FROM w"):
        assert stores.error(statement)[:2] == (-217, "k")
    stores.run("ALTER TABLE v2 ADD (k INT)")
    assert stores.error("INSERT INTO w VALUES (1, 10)")[0] == -385
    assert stores.run("INSERT INTO w VALUES (1, 9)") == 1
