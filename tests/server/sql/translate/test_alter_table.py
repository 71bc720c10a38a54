from __future__ import annotations

import sqlite3
from decimal import Decimal

import pytest

from tests.server.sql.workbench import Workbench


@pytest.fixture
def stores() -> Workbench:
    return Workbench(
        "CREATE TABLE p (a INT PRIMARY KEY CONSTRAINT pk_p)",
        "CREATE TABLE t (k INT PRIMARY KEY CONSTRAINT pk_t, n INT, c CHAR(3), CHECK (n > 0) CONSTRAINT ck)",
        "INSERT INTO p VALUES (1)",
        "INSERT INTO t VALUES (1, 1, '12')",
        "INSERT INTO t VALUES (2, 5, NULL)",
    )


@pytest.mark.parametrize(
    ("alteration", "names"),
    [
        ("ADD (x INT)", ["k", "n", "c", "x"]),
        ("ADD x INT BEFORE n", ["k", "x", "n", "c"]),
        ("ADD (x INT BEFORE k, y INT)", ["x", "k", "n", "c", "y"]),
        ("DROP c", ["k", "n"]),
        ("DROP (n, c)", ["k"]),
        ("ADD (x INT), DROP (c)", ["k", "n", "x"]),
        ("MODIFY (c CHAR(9))", ["k", "n", "c"]),
        ("LOCK MODE (ROW)", ["k", "n", "c"]),
    ],
)
def test_columns_are_in_the_order_that_was_asked_for(
    stores: Workbench, alteration: str, names: list[str]
) -> None:
    stores.run(f"ALTER TABLE t {alteration}")
    assert [name for name, _ in stores.described("SELECT * FROM t")] == names
    assert len(stores.rows("SELECT * FROM t")) == 2


def test_a_new_column_has_its_default_in_old_rows(stores: Workbench) -> None:
    stores.run("ALTER TABLE t ADD (x CHAR(2) DEFAULT 'z' NOT NULL BEFORE k, y DATE)")
    assert stores.rows("SELECT * FROM t WHERE k = 1") == [("z ", 1, 1, "12 ", None)]
    assert stores.error("INSERT INTO t (x, k) VALUES (NULL, 3)") == (-391, "t.x", 0)


def test_a_modified_columns_values_are_assigned_again(stores: Workbench) -> None:
    stores.run("ALTER TABLE t MODIFY (c INTEGER)")
    assert stores.rows("SELECT c FROM t ORDER BY k") == [(12,), (None,)]
    stores.run("ALTER TABLE t MODIFY (c DECIMAL(6,2) DEFAULT 1.5)")
    assert stores.rows("SELECT c FROM t WHERE c = 12") == [(Decimal("12.00"),)]
    stores.run("INSERT INTO t (k, n) VALUES (3, 1)")
    assert stores.rows("SELECT c FROM t WHERE k = 3") == [(Decimal("1.50"),)]
    stores.run("ALTER TABLE t MODIFY (k BIGINT PRIMARY KEY CONSTRAINT pk_t)")
    assert stores.described("SELECT k FROM t") == [("k", "BIGINT")]
    assert stores.error("INSERT INTO t (k, n) VALUES (3, 1)") == (-268, "ann.pk_t", 0)


@pytest.mark.parametrize(
    ("alteration", "error"),
    [
        ("ADD (n INT)", (-328, "n")),
        ("ADD (x INT BEFORE nope)", (-217, "nope")),
        ("ADD (x SERIAL)", (-287, "x")),
        ("ADD (x INT NOT NULL)", (-391, "t.x")),
        ("ADD (x TEXT UNIQUE)", (-610, "x")),
        ("MODIFY (n TEXT)", (-617, "")),
        ("DROP (nope)", (-217, "nope")),
        ("MODIFY (nope INT)", (-217, "nope")),
        ("MODIFY (c CHAR(3) NOT NULL)", (-391, "t.c")),
        ("ADD CONSTRAINT CHECK (n < k), MODIFY (n CHAR(3))", (-999, "MODIFY")),
        ("ADD CONSTRAINT UNIQUE (c) CONSTRAINT pk_p", (-743, "pk_p")),
        ("ADD CONSTRAINT CHECK (n > 3) CONSTRAINT cx", (-530, "ann.cx")),
        ("ADD CONSTRAINT FOREIGN KEY (n) REFERENCES p CONSTRAINT fk", (-525, "ann.fk")),
        ("ADD CONSTRAINT FOREIGN KEY (n) REFERENCES nowhere", (-206, "nowhere")),
        ("ADD CONSTRAINT PRIMARY KEY (n)", (-577, "")),
        ("DROP CONSTRAINT nope", (-623, "nope")),
        ("DROP CONSTRAINT 'nobody'.ck", (-623, "ck")),
    ],
)
def test_an_invalid_alteration_is_refused_and_changes_nothing(
    stores: Workbench, alteration: str, error: tuple[int, str]
) -> None:
    before = stores.schema.tables
    assert stores.error(f"ALTER TABLE t {alteration}")[:2] == error
    assert stores.schema.tables == before
    assert stores.rows("SELECT * FROM t ORDER BY k") == [(1, 1, "12 "), (2, 5, None)]


def test_a_modified_column_keeps_no_constraint_of_its_own() -> None:
    stores = Workbench(
        "CREATE TABLE p (a INT PRIMARY KEY CONSTRAINT pk_p, b INT UNIQUE CONSTRAINT un_b)",
        "CREATE TABLE c (a INT REFERENCES p (a) CONSTRAINT fk_a, b INT REFERENCES p (b) CONSTRAINT fk_b, d INT,"
        " CHECK (d > 0) CONSTRAINT ck_d, CHECK (d > a) CONSTRAINT ck_da, UNIQUE (a, d) CONSTRAINT un_ad)",
    )

    def names(table: str) -> list[str]:
        return [each.name for each in stores.table(table).constraints]

    stores.run("ALTER TABLE c MODIFY (d INT)")
    assert names("c") == ["fk_a", "fk_b", "ck_da", "un_ad"]
    stores.run("ALTER TABLE c MODIFY (a INT DEFAULT 3)")
    assert names("c") == ["fk_b", "ck_da", "un_ad"]
    stores.run("ALTER TABLE c ADD CONSTRAINT FOREIGN KEY (a) REFERENCES p CONSTRAINT fk_a")
    stores.run("ALTER TABLE p MODIFY (a INT NOT NULL, b INT UNIQUE CONSTRAINT un_b)")
    assert names("c") == ["ck_da", "un_ad"]
    assert [name for name in names("p") if not name.startswith("n")] == ["un_b"]
    assert stores.run("INSERT INTO p VALUES (1, 1)") == 1
    assert stores.run("INSERT INTO p VALUES (1, 2)") == 1
    assert stores.error("INSERT INTO p VALUES (2, 2)") == (-268, "ann.un_b", 0)
    assert stores.run("INSERT INTO c VALUES (77, 77, 78)") == 1


def test_duplicates_hinder_a_new_unique_constraint(stores: Workbench) -> None:
    stores.run("UPDATE t SET n = 1")
    assert stores.error("ALTER TABLE t ADD CONSTRAINT UNIQUE (n)")[0] == -371


def test_constraints_may_be_added_and_dropped(stores: Workbench) -> None:
    stores.run("ALTER TABLE t ADD CONSTRAINT (UNIQUE (n) CONSTRAINT un, CHECK (n < 9) CONSTRAINT cn)")
    assert stores.error("INSERT INTO t VALUES (3, 1, NULL)") == (-268, "ann.un", 0)
    assert stores.error("INSERT INTO t VALUES (3, 9, NULL)") == (-530, "ann.cn", 0)
    stores.run("ALTER TABLE t DROP CONSTRAINT (un, cn, ck)")
    assert stores.run("INSERT INTO t VALUES (3, 1, NULL)") == 1
    assert stores.run("INSERT INTO t VALUES (4, -9, NULL)") == 1


def test_a_foreign_key_may_be_added_and_dropped(stores: Workbench) -> None:
    stores.run("UPDATE t SET n = 1")
    stores.run("ALTER TABLE t ADD CONSTRAINT FOREIGN KEY (n) REFERENCES p ON DELETE CASCADE CONSTRAINT fk")
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        stores.run("INSERT INTO t VALUES (3, 77, NULL)")
    assert stores.run("DELETE FROM p") == 1
    assert stores.rows("SELECT k FROM t") == []
    stores.run("ALTER TABLE t DROP CONSTRAINT fk")
    assert stores.run("INSERT INTO t VALUES (3, 77, NULL)") == 1


def test_a_dropped_key_takes_the_foreign_keys_that_point_to_it_along(stores: Workbench) -> None:
    stores.run("UPDATE t SET n = 1")
    stores.run("ALTER TABLE t ADD CONSTRAINT FOREIGN KEY (n) REFERENCES p")
    stores.run("ALTER TABLE p DROP CONSTRAINT pk_p")
    assert stores.table("t").foreign_keys == ()
    assert stores.run("INSERT INTO t VALUES (3, 77, NULL)") == 1
    assert stores.run("INSERT INTO p VALUES (NULL)") == 1


def test_a_new_foreign_key_is_undone_with_its_transaction(stores: Workbench) -> None:
    stores.run("UPDATE t SET n = 1")
    stores.connection.execute("BEGIN")
    stores.run("ALTER TABLE t ADD CONSTRAINT FOREIGN KEY (n) REFERENCES p")
    stores.run("ALTER TABLE t ADD (x INT)")
    stores.connection.execute("ROLLBACK")
    assert stores.table("t").foreign_keys == ()
    assert stores.run("INSERT INTO t VALUES (3, 77, NULL)") == 1


def test_a_foreign_key_is_declared_rightly_when_columns_have_moved(stores: Workbench) -> None:
    stores.run("ALTER TABLE t ADD (x INT BEFORE k)")
    stores.run("UPDATE t SET x = 1")
    stores.run("ALTER TABLE t ADD CONSTRAINT FOREIGN KEY (x) REFERENCES p")
    assert stores.rows("SELECT * FROM t WHERE k = 2") == [(1, 2, 5, None)]
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        stores.run("UPDATE t SET x = 9")


def test_a_dropped_column_takes_its_constraints_and_indexes_along(stores: Workbench) -> None:
    stores.run("CREATE INDEX i ON t (c, n)")
    stores.run("ALTER TABLE t DROP (n)")
    assert [index.name for index in stores.table("t").indexes] == [" 101_2"]
    assert [constraint.name for constraint in stores.table("t").constraints] == ["pk_t"]


def test_a_renamed_column_keeps_its_constraints(stores: Workbench) -> None:
    stores.run("RENAME COLUMN t.n TO m")
    stores.run("RENAME COLUMN p.a TO b")
    assert stores.error("INSERT INTO t (k, m) VALUES (3, 0)") == (-530, "ann.ck", 0)
    assert stores.rows("SELECT m FROM t WHERE m = 5") == [(5,)]
    assert stores.error("SELECT n FROM t")[:2] == (-217, "n")
    assert stores.error("INSERT INTO p (b) VALUES (1)") == (-268, "ann.pk_p", 0)


@pytest.mark.parametrize(
    ("check", "new", "expected"),
    [
        ("n > 0 AND c <> 'n'", "m", "(m > 0 AND c <> 'n')"),
        ('N > 0 AND c <> "n"', "m", '(m > 0 AND c <> "n")'),
        ("abs(n) < k", "m", "(abs(m) < k)"),
    ],
)
def test_a_check_names_a_column_by_its_new_name(check: str, new: str, expected: str) -> None:
    stores = Workbench(f"CREATE TABLE t (k INT, n INT, c CHAR(3), CHECK ({check}) CONSTRAINT ck)")
    stores.run(f"RENAME COLUMN t.n TO {new}")
    assert stores.table("t").constraints[0].check == expected


def test_a_renamed_key_column_is_renamed_in_its_children() -> None:
    stores = Workbench(
        "CREATE TABLE p (a INT PRIMARY KEY)", "CREATE TABLE c (x INT REFERENCES p)", "RENAME COLUMN p.a TO b"
    )
    assert stores.table("c").foreign_keys[0].parent_columns == ("b",)
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        stores.run("INSERT INTO c VALUES (1)")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("RENAME COLUMN t.nope TO x", (-217, "nope")),
        ("RENAME COLUMN t.n TO k", (-328, "k")),
        ("RENAME COLUMN systables.tabid TO x", (-511, "systables")),
        ("ALTER TABLE nowhere ADD (x INT)", (-206, "nowhere")),
        ("ALTER TABLE systables ADD (x INT)", (-511, "systables")),
    ],
)
def test_tables_and_columns_must_exist(stores: Workbench, text: str, error: tuple[int, str]) -> None:
    assert stores.error(text)[:2] == error
