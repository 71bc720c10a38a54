from __future__ import annotations

import sqlite3

import pytest

from aioifx.server.catalog.catalog import empty_schema
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.syntax.parser import parse
from aioifx.server.sql.translate.translate import translate
from aioifx.wire.opcodes import StatementType
from tests.server.sql.workbench import Workbench

PARENT = "CREATE TABLE p (k INT PRIMARY KEY CONSTRAINT pk_p)"
CHILD = (
    "CREATE TABLE t (k INT UNIQUE CONSTRAINT u_t, n INT NOT NULL CONSTRAINT n_t, "
    "m INT CHECK (m > 0) CONSTRAINT c_t, r INT REFERENCES p CONSTRAINT f_t)"
)


def bench(*more: str) -> Workbench:
    return Workbench(PARENT, "INSERT INTO p VALUES (1)", CHILD, "INSERT INTO t VALUES (1, 1, 1, 1)", *more)


def states(stores: Workbench, kind: str) -> dict[str, str]:
    """sysobjstate: the objects of one kind, without the tabids in their names."""
    found = stores.rows(f"SELECT name, state FROM sysobjstate WHERE objtype = '{kind}'")
    return {str(name).strip(): str(state) for name, state in found}


BROKEN = {
    "u_t": ("INSERT INTO t VALUES (1, 2, 2, 1)", (-268, "ann.u_t", 0)),
    "n_t": ("INSERT INTO t (k, n, m) SELECT 2, k - k + NULL, 2 FROM p", (-391, "t.n", 0)),
    "c_t": ("INSERT INTO t VALUES (3, 3, -3, 1)", (-530, "ann.c_t", 0)),
}
"""A statement that violates a constraint, and its error."""
REFUSED = {
    "u_t": (-371, "", 0),
    "n_t": (-391, "t.n", 0),
    "c_t": (-530, "ann.c_t", 0),
    "f_t": (-525, "ann.f_t", 0),
}
"""The error of a constraint that is enabled over rows which violate it."""


@pytest.mark.parametrize("name", BROKEN)
def test_a_disabled_constraint_is_not_enforced(name: str) -> None:
    stores = bench()
    statement, error = BROKEN[name]
    assert stores.error(statement) == error
    stores.run(f"SET CONSTRAINTS {name} DISABLED")
    assert states(stores, "C") == {"pk_p": "E", "u_t": "E", "n_t": "E", "c_t": "E", "f_t": "E"} | {name: "D"}
    assert stores.run(statement) == 1
    assert stores.error(f"SET CONSTRAINTS {name} ENABLED") == REFUSED[name]
    stores.run("DELETE FROM t WHERE n IS NULL OR n > 1")
    stores.run(f"SET CONSTRAINTS {name} ENABLED")
    assert stores.error(statement) == error


def test_a_disabled_foreign_key_is_not_enforced() -> None:
    stores = bench()
    with pytest.raises(sqlite3.IntegrityError):
        stores.run("INSERT INTO t VALUES (2, 2, 2, 7)")
    stores.run("SET CONSTRAINTS ann.f_t DISABLED")
    assert stores.run("INSERT INTO t VALUES (2, 2, 2, 7)") == 1
    assert stores.error("SET CONSTRAINTS f_t ENABLED") == REFUSED["f_t"]
    stores.run("SET CONSTRAINTS f_t ENABLED NOVALIDATE")
    with pytest.raises(sqlite3.IntegrityError):
        stores.run("INSERT INTO t VALUES (3, 3, 3, 8)")
    assert stores.rows("SELECT r FROM t WHERE k = 2") == [(7,)]


def test_all_objects_of_a_table_are_set_together() -> None:
    stores = bench("CREATE INDEX i_t ON t (n)")
    assert stores.error("SET INDEXES FOR t DISABLED")[0] == -892
    stores.run("SET CONSTRAINTS, INDEXES, TRIGGERS FOR t DISABLED")
    assert set(states(stores, "C").values()) == {"E", "D"}
    assert states(stores, "I")["i_t"] == "D"
    assert stores.run("INSERT INTO t VALUES (1, 5, -1, 9)") == 1
    stores.run("DELETE FROM t WHERE n = 5")
    stores.run("SET CONSTRAINTS, INDEXES, TRIGGERS FOR t ENABLED")
    assert {*states(stores, "C").values(), *states(stores, "I").values()} == {"E"}
    assert stores.error("INSERT INTO t VALUES (1, 5, 1, 1)")[0] == -268


def test_an_implicit_index_has_the_mode_of_its_constraint() -> None:
    stores = bench("SET CONSTRAINTS FOR t DISABLED")
    index = stores.table("t").indexes[0]
    assert (index.is_implicit, index.is_disabled) == (True, True)
    assert states(stores, "I")[index.name.strip()] == "D"


def test_an_index_of_the_user_outlasts_its_constraint() -> None:
    stores = Workbench("CREATE TABLE t (k INT)", "CREATE UNIQUE INDEX i_t ON t (k)")
    stores.run("ALTER TABLE t ADD CONSTRAINT UNIQUE (k) CONSTRAINT u_t")
    stores.run("INSERT INTO t VALUES (1)")
    assert stores.error("SET INDEXES i_t DISABLED") == (-892, "i_t", 0)
    stores.run("SET CONSTRAINTS u_t DISABLED")
    assert stores.error("INSERT INTO t VALUES (1)") == (-239, "i_t", 0)
    stores.run("SET INDEXES ann.i_t DISABLED")
    assert stores.run("INSERT INTO t VALUES (1)") == 1
    assert stores.error("SET INDEXES FOR t ENABLED") == (-371, "", 0)
    assert stores.error("SET CONSTRAINTS u_t ENABLED") == (-371, "", 0)


def test_objects_that_others_depend_on_stay_enabled() -> None:
    stores = bench()
    assert stores.error("SET CONSTRAINTS pk_p DISABLED") == (-892, "pk_p", 0)
    stores.run("SET CONSTRAINTS FOR t DISABLED")
    stores.run("SET CONSTRAINTS pk_p DISABLED")
    assert stores.error("SET CONSTRAINTS f_t ENABLED") == (-893, "f_t", 0)
    assert stores.error("CREATE TABLE v (r INT REFERENCES p (k) CONSTRAINT f_v)") == (-893, "f_v", 23)
    assert stores.run("INSERT INTO p VALUES (NULL)") == 1
    assert stores.error("SET CONSTRAINTS pk_p ENABLED")[0] == -391
    stores.run("DELETE FROM p WHERE k IS NULL")
    stores.run("SET CONSTRAINTS pk_p, f_t ENABLED")
    assert stores.error("INSERT INTO p VALUES (1)") == (-268, "ann.pk_p", 0)


def test_a_table_that_refers_to_itself_is_disabled_as_a_whole() -> None:
    stores = Workbench("CREATE TABLE t (k INT PRIMARY KEY, r INT REFERENCES t (k))")
    stores.run("SET CONSTRAINTS FOR t DISABLED")
    assert stores.run("INSERT INTO t VALUES (1, 2)") == 1
    assert stores.run("INSERT INTO t VALUES (1, 2)") == 1
    stores.run("DELETE FROM t")
    stores.run("SET CONSTRAINTS FOR t ENABLED")
    with pytest.raises(sqlite3.IntegrityError):
        stores.run("INSERT INTO t VALUES (1, 2)")


def test_null_is_one_value_of_a_unique_key_whose_not_null_is_disabled() -> None:
    stores = Workbench("CREATE TABLE t (k INT NOT NULL CONSTRAINT n_t UNIQUE CONSTRAINT u_t)")
    stores.run("SET CONSTRAINTS n_t DISABLED")
    assert stores.run("INSERT INTO t VALUES (NULL)") == 1
    assert stores.error("INSERT INTO t VALUES (NULL)") == (-268, "ann.u_t", 0)


def test_constraints_and_indexes_may_be_disabled_from_the_start() -> None:
    stores = Workbench(
        PARENT,
        "CREATE TABLE t (k INT PRIMARY KEY CONSTRAINT pk DISABLED, n INT NOT NULL CONSTRAINT nn DISABLED, "
        "m INT CHECK (m > 0) CONSTRAINT ck DISABLED, r INT REFERENCES p CONSTRAINT fk DISABLED)",
        "CREATE UNIQUE INDEX ix ON t (n) DISABLED",
    )
    for _ in range(2):
        assert stores.run("INSERT INTO t VALUES (NULL, NULL, -1, 9)") == 1
    assert {*states(stores, "C").values()} == {"E", "D"} and states(stores, "I")["ix"] == "D"
    stores.run("DELETE FROM t")
    stores.run("SET CONSTRAINTS, INDEXES FOR t ENABLED")
    assert {*states(stores, "C").values(), *states(stores, "I").values()} == {"E"}
    stores.run("INSERT INTO p VALUES (1)")
    assert stores.error("INSERT INTO t (k, n, m) VALUES (1, 1, -1)")[0] == -530


def test_constraints_may_be_added_disabled_or_without_a_check_of_the_rows() -> None:
    stores = Workbench(PARENT, "CREATE TABLE t (k INT, r INT)", "INSERT INTO t VALUES (-1, 7)")
    stores.run(
        "ALTER TABLE t ADD CONSTRAINT (UNIQUE (k) CONSTRAINT u DISABLED, CHECK (k > 0) CONSTRAINT c DISABLED)"
    )
    assert stores.run("INSERT INTO t VALUES (-1, 7)") == 1
    foreign_key = "ALTER TABLE t ADD CONSTRAINT (FOREIGN KEY (r) REFERENCES p CONSTRAINT f"
    assert stores.error(f"{foreign_key})")[0] == -525
    stores.run(f"{foreign_key} NOVALIDATE INDEX DISABLED)")
    with pytest.raises(sqlite3.IntegrityError):
        stores.run("INSERT INTO t VALUES (1, 8)")
    stores.run("ALTER TABLE t ADD CONSTRAINT CHECK (r < 7) CONSTRAINT d NOVALIDATE")
    assert stores.error("INSERT INTO t VALUES (1, 8)")[0] == -530
    assert [index.is_disabled for index in stores.table("t").indexes] == [True, True]
    stores.run("ALTER TABLE t DROP CONSTRAINT (u, c, f, d)")
    assert stores.rows("SELECT COUNT(*) FROM sysobjstate WHERE tabid = 101") == [(0,)]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SET CONSTRAINTS nowhere DISABLED", (-894, "nowhere", 17)),
        ("SET CONSTRAINTS bob.f_t DISABLED", (-894, "f_t", 17)),
        ("SET INDEXES nowhere ENABLED", (-894, "nowhere", 13)),
        ("SET TRIGGERS nowhere ENABLED", (-894, "nowhere", 14)),
        ("SET INDEXES FOR nowhere ENABLED", (-206, "nowhere", 17)),
        ("SET INDEXES FOR x DISABLED", (-891, "", 17)),
        ("SET INDEXES ix DISABLED", (-891, "", 0)),
        ("CREATE TEMP TABLE y (k INT UNIQUE DISABLED)", (-891, "", 28)),
        ("CREATE TEMP TABLE y (k INT NOT NULL DISABLED)", (-891, "", 28)),
        ("CREATE INDEX iy ON x (k DESC) DISABLED", (-891, "", 1)),
    ],
)
def test_modes_are_refused_with_their_reason(text: str, error: tuple[int, str, int]) -> None:
    stores = bench("CREATE TEMP TABLE x (k INT)", "CREATE INDEX ix ON x (k)")
    assert stores.error(text) == error


def test_temporary_objects_may_be_enabled() -> None:
    stores = bench("CREATE TEMP TABLE x (k INT)", "CREATE UNIQUE INDEX ix ON x (k)")
    stores.run("SET INDEXES FOR x ENABLED")
    stores.run("SET INDEXES ix ENABLED")
    assert stores.run("INSERT INTO x VALUES (1)") == 1
    assert stores.error("INSERT INTO x VALUES (1)")[0] == -239


def test_a_database_must_be_open() -> None:
    statement = parse("SET INDEXES FOR t DISABLED")
    assert bench().plan("SET CONSTRAINTS FOR t DISABLED").type is StatementType.SET_OBJECT_MODE
    with pytest.raises(SqlError) as caught:
        translate(statement, empty_schema(), Settings())
    assert caught.value.sqlcode == -349


@pytest.mark.parametrize(
    ("row", "sqlcode"),
    [
        ("(1, 'a')", None),
        ("(1, 'a  ')", None),
        ("(1, 'b')", -525),
        ("(NULL, 'b')", None),
        ("(1, NULL)", None),
    ],
)
def test_existing_rows_need_a_parent_only_if_all_of_their_key_is_there(row: str, sqlcode: int | None) -> None:
    stores = Workbench(
        "CREATE TABLE p (a INT, b CHAR(3), PRIMARY KEY (a, b))",
        "INSERT INTO p VALUES (1, 'a')",
        "CREATE TABLE t (x INT, y CHAR(3))",
        f"INSERT INTO t VALUES {row}",
    )
    add = "ALTER TABLE t ADD CONSTRAINT FOREIGN KEY (x, y) REFERENCES p CONSTRAINT fk"
    if sqlcode is None:
        stores.run(add)
    else:
        assert stores.error(add) == (sqlcode, "ann.fk", 0)


def test_existing_rows_satisfy_a_check_that_is_unknown() -> None:
    stores = Workbench("CREATE TABLE t (x INT)", "INSERT INTO t VALUES (NULL)")
    stores.run("ALTER TABLE t ADD CONSTRAINT CHECK (x > 0)")
    stores.run("RENAME COLUMN t.x TO y")
    stores.run("INSERT INTO t VALUES (1)")
    assert stores.error("ALTER TABLE t ADD CONSTRAINT CHECK (y > 1) CONSTRAINT c") == (-530, "ann.c", 0)


@pytest.mark.parametrize("change", ["DROP CONSTRAINT nn", "MODIFY (a INT)"])
def test_a_unique_index_takes_one_null_of_a_column_that_was_not_null(change: str) -> None:
    stores = Workbench("CREATE TABLE t (a INT NOT NULL CONSTRAINT nn, b INT, UNIQUE (a, b) CONSTRAINT u)")
    stores.run(f"ALTER TABLE t {change}")
    assert stores.run("INSERT INTO t VALUES (NULL, 1)") == 1
    assert stores.run("INSERT INTO t VALUES (NULL, 2)") == 1
    assert stores.error("INSERT INTO t VALUES (NULL, 1)") == (-268, "ann.u", 0)
