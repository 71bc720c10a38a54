from __future__ import annotations

import pytest

from aioifx.server.sql.model.schema import ConstraintKind, Default, DefaultKind
from tests.server.sql.workbench import Workbench


def constraints(definition: str) -> list[tuple[str, str, tuple[str, ...]]]:
    bench = Workbench(
        "CREATE TABLE p (a INT, b INT, PRIMARY KEY (a, b), UNIQUE (b))", f"CREATE TABLE t ({definition})"
    )
    return [(each.kind.value, each.name, each.columns) for each in bench.table("t").constraints]


@pytest.mark.parametrize(
    ("definition", "made"),
    [
        ("k INT PRIMARY KEY", [("P", "u101_3", ("k",))]),
        ("k INT UNIQUE CONSTRAINT uk", [("U", "uk", ("k",))]),
        ("k INT NOT NULL CONSTRAINT nk", [("N", "nk", ("k",))]),
        ("k INT NOT NULL", [("N", "n101_3", ("k",))]),
        ("k INT CHECK (k > 0)", [("C", "c101_3", ("k",))]),
        ("k INT, l INT, CHECK (k > l) CONSTRAINT ck", [("C", "ck", ("k", "l"))]),
        ("k INT REFERENCES p (b)", [("R", "r101_3", ("k",))]),
        ("k INT, l INT, FOREIGN KEY (k, l) REFERENCES p CONSTRAINT fk", [("R", "fk", ("k", "l"))]),
        ("k INT, l INT, PRIMARY KEY (k, l)", [("P", "u101_3", ("k", "l"))]),
    ],
)
def test_constraints_have_kind_name_and_columns(
    definition: str, made: list[tuple[str, str, tuple[str, ...]]]
) -> None:
    assert constraints(definition) == made


def test_a_primary_keys_columns_are_not_null_without_being_declared_so() -> None:
    table = Workbench("CREATE TABLE t (k INT PRIMARY KEY, l INT NOT NULL, s SERIAL, n INT)").table("t")
    found = [(c.is_nullable, c.is_declared_not_null) for c in table.columns]
    assert found == [(False, False), (False, True), (False, True), (True, False)]


def test_a_key_has_an_index_of_its_own_or_shares_one() -> None:
    table = Workbench(
        "CREATE TABLE p (a INT PRIMARY KEY)",
        "CREATE TABLE t (k INT PRIMARY KEY, FOREIGN KEY (k) REFERENCES p)",
    ).table("t")
    assert [index.name for index in table.indexes] == [" 101_2"]
    assert {constraint.index for constraint in table.constraints} == {" 101_2"}


def test_a_foreign_key_knows_its_parents_key() -> None:
    bench = Workbench(
        "CREATE TABLE p (a INT, b INT, UNIQUE (a, b) CONSTRAINT up)",
        "CREATE TABLE t (k INT, l INT, FOREIGN KEY (k, l) REFERENCES p (b, a) ON DELETE CASCADE)",
    )
    (key,) = bench.table("t").foreign_keys
    assert (key.parent, key.parent_constrid, key.parent_columns, key.cascades) == (100, 1, ("b", "a"), True)


def test_a_table_may_refer_to_itself() -> None:
    bench = Workbench(
        "CREATE TABLE t (k INT PRIMARY KEY, up INT REFERENCES t (k))", "INSERT INTO t VALUES (1, 1)"
    )
    assert bench.run("INSERT INTO t VALUES (2, 1)") == 1
    assert bench.run("DELETE FROM t") == 2


@pytest.mark.parametrize(
    ("declared", "default"),
    [
        ("INT DEFAULT 5", Default(DefaultKind.LITERAL, "5", "5")),
        ("DECIMAL(4,1) DEFAULT -1.5", Default(DefaultKind.LITERAL, "", "-1.5")),
        ("CHAR(3) DEFAULT 'ab'", Default(DefaultKind.LITERAL, "", "ab")),
        ("INT DEFAULT NULL", Default(DefaultKind.NULL, "NULL")),
        ("DATE DEFAULT TODAY", Default(DefaultKind.TODAY, "ifx_today()")),
        ("CHAR(32) DEFAULT USER", Default(DefaultKind.USER, "ifx_user()")),
        ("DATETIME YEAR TO FRACTION(3) DEFAULT CURRENT", Default(DefaultKind.CURRENT, "")),
        ("VARCHAR(128) DEFAULT SITENAME", Default(DefaultKind.SITE, "ifx_dbservername()")),
    ],
)
def test_a_default_is_kept_by_kind_and_text(declared: str, default: Default) -> None:
    (column,) = Workbench(f"CREATE TABLE t (k {declared})").table("t").columns
    assert column.default is not None
    assert (column.default.kind, column.default.text) == (default.kind, default.text)
    assert not default.sql or column.default.sql == default.sql


@pytest.mark.parametrize(
    ("text", "sqlcode", "token"),
    [
        ("CREATE TABLE t (k INT, k INT)", -328, "k"),
        ("CREATE TABLE t (k SERIAL, l SERIAL)", -287, ""),
        ("CREATE TABLE t (k SERIAL8, l BIGSERIAL)", -287, ""),
        ("CREATE TABLE t (k TEXT PRIMARY KEY)", -610, "k"),
        ("CREATE TABLE t (k TEXT DEFAULT 'a')", -594, "k"),
        ("CREATE TABLE t (k BLOB UNIQUE)", -610, "k"),
        ("CREATE TABLE t (k INT, PRIMARY KEY (l))", -217, "l"),
        ("CREATE TABLE t (k INT PRIMARY KEY, PRIMARY KEY (k))", -577, ""),
        ("CREATE TABLE t (k INT REFERENCES nowhere)", -206, "nowhere"),
        ("CREATE TABLE t (k INT REFERENCES q)", -297, ""),
        ("CREATE TABLE t (k INT REFERENCES p (b))", -297, ""),
        ("CREATE TABLE t (k INT REFERENCES systables (tabid))", -297, ""),
        ("CREATE TABLE t (k INT UNIQUE CONSTRAINT pk)", -743, "pk"),
        ("CREATE TABLE t (k INT UNIQUE CONSTRAINT a, l INT UNIQUE CONSTRAINT a)", -743, "a"),
        ("CREATE TABLE t (k INT CHECK (l > 0))", -217, "l"),
        ("CREATE TABLE t (k INT CHECK (k > (SELECT 1 FROM p)))", -201, ""),
        ("CREATE TEMP TABLE t (k INT UNIQUE CONSTRAINT a)", -576, ""),
        ("CREATE TEMP TABLE t (k INT REFERENCES p)", -548, ""),
        ("CREATE TABLE t (k INT DEFAULT nope)", -201, ""),
    ],
)
def test_an_invalid_constraint_is_refused_with_its_reason(text: str, sqlcode: int, token: str) -> None:
    bench = Workbench("CREATE TABLE p (a INT PRIMARY KEY CONSTRAINT pk, b INT)", "CREATE TABLE q (a INT)")
    assert bench.error(text)[:2] == (sqlcode, token)


def test_temporary_tables_keep_keys_and_checks_without_names() -> None:
    bench = Workbench(
        "CREATE TEMP TABLE t (k INT PRIMARY KEY, n INT CHECK (n > 0))", "INSERT INTO t VALUES (1, 1)"
    )
    assert bench.error("INSERT INTO t VALUES (1, 1)")[0] == -268
    assert bench.error("INSERT INTO t VALUES (2, 0)")[0] == -530
    kinds = [constraint.kind for constraint in bench.table("t").constraints]
    assert kinds == [ConstraintKind.PRIMARY, ConstraintKind.CHECK]


@pytest.mark.parametrize(
    "declared",
    [
        "INT DEFAULT 'x'", "SMALLINT DEFAULT 40000", "DECIMAL(4,2) DEFAULT 12345.6", "DATE DEFAULT 'x'",
        "DATE DEFAULT USER", "INT DEFAULT TODAY", "BOOLEAN DEFAULT 'x'", "INTERVAL DAY TO DAY DEFAULT CURRENT",
    ],
)  # fmt: skip
def test_a_default_must_be_a_value_of_its_column(declared: str) -> None:
    assert Workbench().error(f"CREATE TABLE t (k {declared})")[:2] == (-591, "k")


def test_columns_are_unique_once() -> None:
    bench = Workbench()
    assert bench.error("CREATE TABLE t (a INT UNIQUE, b INT, UNIQUE (a))")[0] == -577
    assert bench.error("CREATE TABLE t (a INT, b INT, UNIQUE (a, b), UNIQUE (b, a))")[0] == -577
    bench.run("CREATE TABLE t (a INT PRIMARY KEY, b INT, UNIQUE (a, b), UNIQUE (b))")
