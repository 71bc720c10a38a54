"""Rows that violate objects in FILTERING mode."""

from __future__ import annotations

import pytest

from aioifx.server.engine.engine import Engine
from tests.server.talking import codes, error_from, query, run, run_all

SCHEMA = (
    "CREATE TABLE p (k INT PRIMARY KEY CONSTRAINT k_p)",
    "INSERT INTO p VALUES (1)",
    "CREATE TABLE t (id INT, a INT NOT NULL CONSTRAINT a_n, b INT UNIQUE CONSTRAINT b_u,"
    " c INT CHECK (c > 0) CONSTRAINT c_c, r INT REFERENCES p CONSTRAINT r_f)",
    "CREATE UNIQUE INDEX i ON t (a, c)",
    "INSERT INTO t VALUES (1, 1, 1, 1, 1)",
    "SET CONSTRAINTS, INDEXES FOR t FILTERING",
)
START = "START VIOLATIONS TABLE FOR t"
VIOLATIONS = "SELECT id, a, b, c, r, informix_tupleid, informix_optype FROM t_vio"
DIAGNOSTICS = "SELECT informix_tupleid, objtype, objname FROM t_dia"


@pytest.fixture
def shop(engine: Engine) -> Engine:
    run_all(engine, *SCHEMA, START)
    return engine


INSERTS = {
    "NOT NULL": ("2, NULL, 2, 2, 1", [("C", "a_n")]),
    "UNIQUE": ("2, 2, 1, 2, 1", [("C", "b_u")]),
    "CHECK": ("2, 2, 2, 0, 1", [("C", "c_c")]),
    "REFERENCES": ("2, 2, 2, 2, 9", [("C", "r_f")]),
    "unique index": ("2, 1, 2, 1, 1", [("I", "i")]),
    "each": ("2, NULL, 1, -1, 9", [("C", "a_n"), ("C", "b_u"), ("C", "c_c"), ("C", "r_f")]),
}
"""By what is violated: a row, and the objects in the diagnostics table."""


@pytest.mark.parametrize("head", ["VALUES ({})", "SELECT {} FROM p"])
@pytest.mark.parametrize("name", INSERTS)
def test_an_inserted_row_is_filed_and_the_statement_goes_on(shop: Engine, name: str, head: str) -> None:
    row, objects = INSERTS[name]
    row = row.replace("NULL", "k - k + NULL") if "SELECT" in head else row
    assert run(shop, f"INSERT INTO t {head.format(row)}").rows == 0
    filed = query(shop, VIOLATIONS)[0]
    assert filed[5:] == (1, "I")
    assert list(filed[:5]) == [
        None if "NULL" in value else int(value) for value in INSERTS[name][0].split(", ")
    ]
    assert query(shop, DIAGNOSTICS) == [(1, *each) for each in objects]
    assert query(shop, "SELECT informix_recowner FROM t_vio") == [("anna".ljust(32),)]
    assert query(shop, "SELECT DISTINCT objowner FROM t_dia") == [("anna".ljust(32),)]
    assert query(shop, "SELECT id FROM t") == [(1,)]


def test_an_updated_row_is_filed_twice_with_one_number(shop: Engine) -> None:
    run(shop, "INSERT INTO t VALUES (2, 2, 2, 2, 1)")
    assert run(shop, "UPDATE t SET c = c - 1").rows == 1
    assert query(shop, VIOLATIONS) == [(1, 1, 1, 1, 1, 1, "O"), (1, 1, 1, 0, 1, 1, "N")]
    assert query(shop, DIAGNOSTICS) == [(1, "C", "c_c")]
    run(shop, "INSERT INTO t VALUES (3, 3, 3, 3, 1)")
    assert run(shop, "UPDATE t SET a = NULL, b = 3 WHERE id = 2").rows == 0
    assert query(shop, VIOLATIONS)[2:] == [(2, 2, 2, 1, 1, 2, "O"), (2, None, 3, 1, 1, 2, "N")]
    assert query(shop, DIAGNOSTICS)[1:] == [(2, "C", "a_n"), (2, "C", "b_u")]


def test_a_deleted_or_updated_parent_is_filed_for_its_own_table(shop: Engine) -> None:
    run_all(shop, "INSERT INTO p VALUES (2)")
    assert codes(error_from(shop, "DELETE FROM p"))[0] == -896
    run(shop, "START VIOLATIONS TABLE FOR p")
    assert run(shop, "DELETE FROM p").rows == 1
    assert run(shop, "UPDATE p SET k = 3").rows == 0
    filed = "SELECT k, informix_tupleid, informix_optype FROM p_vio"
    assert query(shop, filed) == [(1, 1, "D"), (1, 2, "O"), (3, 2, "N")]
    assert query(shop, "SELECT informix_tupleid, objname FROM p_dia") == [(1, "r_f"), (2, "r_f")]
    assert query(shop, "SELECT k FROM p") == [(1,)]


def test_a_changed_key_that_its_own_row_refers_to_is_filed(engine: Engine) -> None:
    run_all(engine, "CREATE TABLE n (id INT PRIMARY KEY, p INT REFERENCES n CONSTRAINT own)")
    run_all(
        engine, "SET CONSTRAINTS own FILTERING", "START VIOLATIONS TABLE FOR n", "INSERT INTO n VALUES (1, 1)"
    )
    assert run(engine, "UPDATE n SET id = 2, p = 2").rows == 1
    assert run(engine, "UPDATE n SET id = 3").rows == 0
    assert query(engine, "SELECT id, p, informix_optype FROM n_vio") == [(2, 2, "O"), (3, 2, "N")]
    assert query(engine, "SELECT objname FROM n_dia") == [("own",)]


@pytest.mark.parametrize("names", ["ALL", "r_f"])
def test_foreign_keys_in_filtering_mode_are_not_deferred(shop: Engine, names: str) -> None:
    run_all(shop, "START VIOLATIONS TABLE FOR p", "BEGIN WORK", f"SET CONSTRAINTS {names} DEFERRED")
    assert run(shop, "INSERT INTO t VALUES (2, 2, 2, 2, 9)").rows == 0
    assert run(shop, "UPDATE t SET r = 9").rows == 0
    assert run(shop, "DELETE FROM p").rows == 0
    assert run(shop, "INSERT INTO t VALUES (3, 3, 3, 3, 1)").rows == 1
    run(shop, "COMMIT WORK")
    assert [row[0] for row in query(shop, VIOLATIONS)] == [2, 1, 1]
    assert query(shop, "SELECT k FROM p_vio") == [(1,)]
    assert query(shop, "SELECT id, r FROM t") == [(1, 1), (3, 1)]


def test_foreign_keys_are_filed_beside_actions_that_insert_parents(shop: Engine) -> None:
    """The statement runs twice, the second time with foreign keys that SQLite defers."""
    run_all(shop, "CREATE TABLE q (k INT PRIMARY KEY)", "CREATE TABLE child (k INT REFERENCES q)")
    actions = "FOR EACH ROW (INSERT INTO child VALUES (n.id)) AFTER (INSERT INTO q VALUES (5))"
    run(shop, f"CREATE TRIGGER g INSERT ON t REFERENCING NEW AS n {actions}")
    run_all(
        shop, "CREATE TABLE s (i INT, r INT)", "INSERT INTO s VALUES (5, 1)", "INSERT INTO s VALUES (6, 9)"
    )
    run(shop, "INSERT INTO t SELECT i, i, i, i, r FROM s")
    assert query(shop, "SELECT id FROM t") == [(1,), (5,)]
    assert [row[0] for row in query(shop, VIOLATIONS)] == [6]


def test_without_a_violations_table_a_violation_is_an_error(engine: Engine) -> None:
    run_all(engine, *SCHEMA)
    for row, _ in INSERTS.values():
        assert codes(error_from(engine, f"INSERT INTO t VALUES ({row})")) == (-896, 0, "t")
    run_all(engine, START, "STOP VIOLATIONS TABLE FOR t")
    assert codes(error_from(engine, "UPDATE t SET c = 0")) == (-896, 0, "t")


def test_with_error_the_statement_fails_after_the_rows_are_filed(shop: Engine) -> None:
    run(shop, "SET CONSTRAINTS c_c FILTERING WITH ERROR")
    two = "INSERT INTO t SELECT 2, 2, 2, {}, 1 FROM p"
    assert codes(error_from(shop, two.format(0))) == (-971, 0, "")
    assert query(shop, VIOLATIONS) == [(2, 2, 2, 0, 1, 1, "I")]
    run(shop, "INSERT INTO t VALUES (2, NULL, 2, 2, 1)")
    run_all(shop, "BEGIN WORK", two.format(2))
    assert codes(error_from(shop, "UPDATE t SET c = c - 1")) == (-971, 0, "")
    assert query(shop, "SELECT id, c FROM t") == [(1, 1), (2, 1)]
    run(shop, "ROLLBACK WORK")
    assert query(shop, "SELECT COUNT(*) FROM t_vio") == [(2,)]


def test_rows_of_one_prepared_insert_are_filed(shop: Engine) -> None:
    statement = shop.prepare("INSERT INTO t VALUES (?, ?, ?, ?, ?)")
    shop.insert_rows(statement, [(2, 2, 2, 2, 1), (3, None, 1, 0, 9), (4, 4, 4, 4, 1)])
    assert query(shop, "SELECT id FROM t") == [(1,), (2,), (4,)]
    assert query(shop, VIOLATIONS) == [(3, None, 1, 0, 9, 1, "I")]


def test_an_enabled_object_that_is_violated_too_fails_the_statement(shop: Engine) -> None:
    run(shop, "SET CONSTRAINTS b_u ENABLED")
    assert codes(error_from(shop, "INSERT INTO t VALUES (2, NULL, 1, 2, 1)")) == (-268, -100, "anna.b_u")
    assert query(shop, VIOLATIONS) == []


def test_more_diagnostics_than_max_rows_undo_the_statement(engine: Engine) -> None:
    run_all(engine, *SCHEMA, f"{START} MAX ROWS 2", "INSERT INTO t VALUES (2, 2, 0, 2, 1)")
    assert codes(error_from(engine, "INSERT INTO t VALUES (3, NULL, 0, 0, 9)"))[0] == -899
    run(engine, "UPDATE t SET c = 0")
    assert query(engine, "SELECT COUNT(*) FROM t_vio") == [(4,)]


def test_merge_files_rows(shop: Engine) -> None:
    run_all(shop, "INSERT INTO p VALUES (2)")
    merge = (
        "MERGE INTO t USING p ON t.id = p.k WHEN MATCHED THEN UPDATE SET c = 0"
        " WHEN NOT MATCHED THEN INSERT (id, a, b, c, r) VALUES (p.k, 2, 1, 2, 1)"
    )
    assert run(shop, merge).rows == 0
    filed = query(shop, f"{VIOLATIONS} ORDER BY id, informix_optype DESC")
    assert [row[:5] for row in filed] == [(1, 1, 1, 1, 1), (1, 1, 1, 0, 1), (2, 2, 1, 2, 1)]
    assert [row[6] for row in filed] == ["O", "N", "I"]
    assert filed[0][5] == filed[1][5] != filed[2][5]


def test_a_filed_row_activates_no_trigger(shop: Engine) -> None:
    run_all(shop, "CREATE TABLE log (id INT)")
    run(
        shop, "CREATE TRIGGER g INSERT ON t REFERENCING NEW AS n FOR EACH ROW (INSERT INTO log VALUES (n.id))"
    )
    run_all(shop, "INSERT INTO t VALUES (2, NULL, 2, 2, 1)", "INSERT INTO t VALUES (3, 3, 3, 3, 1)")
    assert query(shop, "SELECT id FROM log") == [(3,)]


def test_a_serial_number_is_that_of_the_filed_row(engine: Engine) -> None:
    run_all(engine, "CREATE TABLE s (n SERIAL, a INT CHECK (a > 0) CONSTRAINT c)")
    run_all(engine, "SET CONSTRAINTS c FILTERING", "START VIOLATIONS TABLE FOR s")
    run_all(engine, "INSERT INTO s VALUES (0, 0)", "INSERT INTO s VALUES (0, 1)")
    assert query(engine, "SELECT n FROM s_vio") == [(1,)]
    assert query(engine, "SELECT n FROM s") == [(2,)]


def test_the_violations_table_is_not_inserted_again(shop: Engine) -> None:
    text = "INSERT INTO t SELECT id, a, b, c, r FROM t_vio"
    assert codes(error_from(shop, text))[0] == -973
    run(shop, "SET CONSTRAINTS, INDEXES FOR t ENABLED")
    assert run(shop, text).rows == 0


def test_a_row_may_refer_to_itself(engine: Engine) -> None:
    run_all(
        engine, "CREATE TABLE s (k INT PRIMARY KEY, r INT REFERENCES s CONSTRAINT f, c INT CHECK (c > 0))"
    )
    run_all(engine, "SET CONSTRAINTS FOR s FILTERING", "START VIOLATIONS TABLE FOR s")
    assert run(engine, "INSERT INTO s VALUES (1, 1, 1)").rows == 1
    run_all(engine, "INSERT INTO s VALUES (2, 2, 0)", "INSERT INTO s VALUES (3, 4, 1)")
    assert query(engine, "SELECT informix_tupleid, objname[1] FROM s_dia") == [(1, "c"), (2, "f")]


@pytest.mark.parametrize("mode", ["ENABLED", "FILTERING", "FILTERING WITH ERROR"])
def test_rows_that_violate_what_is_enabled_are_filed_and_stay(shop: Engine, mode: str) -> None:
    run_all(shop, "SET CONSTRAINTS, INDEXES FOR t DISABLED", "INSERT INTO t VALUES (1, NULL, 1, -1, 9)")
    assert codes(error_from(shop, f"SET CONSTRAINTS, INDEXES FOR t {mode}")) == (-971, 0, "")
    assert query(shop, "SELECT state FROM sysobjstate WHERE name = 'c_c'") == [("D",)]
    assert query(shop, VIOLATIONS) == [(1, 1, 1, 1, 1, 1, "S"), (1, None, 1, -1, 9, 2, "S")]
    assert query(shop, f"{DIAGNOSTICS} ORDER BY 1, 3") == [
        (1, "C", "b_u"), (2, "C", "a_n"), (2, "C", "b_u"), (2, "C", "c_c"), (2, "C", "r_f"),
    ]  # fmt: skip
    run_all(shop, "DELETE FROM t WHERE c < 0", f"SET CONSTRAINTS, INDEXES FOR t {mode}")
    state = {"ENABLED": "E", "FILTERING": "F", "FILTERING WITH ERROR": "G"}[mode]
    assert query(shop, "SELECT state FROM sysobjstate WHERE name IN ('c_c', 'i')") == [(state,), (state,)]


def test_an_enabled_index_files_duplicates(shop: Engine) -> None:
    run_all(shop, "SET INDEXES i DISABLED", "INSERT INTO t VALUES (2, 1, 2, 1, 1)")
    assert codes(error_from(shop, "SET INDEXES i ENABLED")) == (-971, 0, "")
    assert query(shop, DIAGNOSTICS) == [(1, "I", "i"), (2, "I", "i")]


def test_novalidate_files_nothing(shop: Engine) -> None:
    run_all(shop, "SET CONSTRAINTS r_f DISABLED", "INSERT INTO t VALUES (2, 2, 2, 2, 9)")
    run(shop, "SET CONSTRAINTS r_f FILTERING NOVALIDATE")
    assert query(shop, VIOLATIONS) == []
    run(shop, "INSERT INTO t VALUES (3, 3, 3, 3, 9)")
    assert query(shop, DIAGNOSTICS) == [(1, "C", "r_f")]


def test_objects_are_created_in_filtering_mode(engine: Engine) -> None:
    run_all(
        engine,
        "CREATE TABLE n (a INT NOT NULL FILTERING, b INT CHECK (b > 0) FILTERING WITHOUT ERROR, c INT)",
        "ALTER TABLE n ADD CONSTRAINT UNIQUE (b) CONSTRAINT u FILTERING WITH ERROR",
        "CREATE UNIQUE INDEX j ON n (c) FILTERING",
        "START VIOLATIONS TABLE FOR n",
        "INSERT INTO n VALUES (1, 1, 1)",
        "INSERT INTO n VALUES (NULL, 0, 1)",
    )
    assert codes(error_from(engine, "INSERT INTO n VALUES (1, 1, 2)")) == (-971, 0, "")
    assert query(engine, "SELECT informix_tupleid, objtype FROM n_dia") == [
        (1, "C"), (1, "C"), (1, "I"), (2, "C"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SET INDEXES d FILTERING", (-999, 0)),
        ("CREATE INDEX e ON t (id) FILTERING", (-999, 0)),
        ("CREATE TEMP TABLE x (a INT UNIQUE FILTERING)", (-891, 0)),
        ("SET CONSTRAINTS FOR y FILTERING", (-891, 0)),
    ],
)
def test_what_cannot_be_filtered_is_refused(shop: Engine, text: str, error: tuple[int, int]) -> None:
    run_all(shop, "CREATE INDEX d ON t (r, id)", "CREATE TEMP TABLE y (a INT UNIQUE)")
    assert codes(error_from(shop, text))[:2] == error
