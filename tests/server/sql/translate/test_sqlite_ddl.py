from __future__ import annotations

import pytest

from aioifx.server.sql.model.schema import ColumnDef, Constraint, ConstraintKind, Index, IndexPart, Table
from aioifx.server.sql.model.type_rules import BOOLEAN, DATE, FLOAT, INTEGER, char, decimal
from aioifx.server.sql.sqlite.render import render
from aioifx.server.sql.sqlite.tree import NULL, unquoted
from aioifx.server.sql.translate.sqlite_ddl import (
    affinity,
    check_steps,
    collated,
    create_table_text,
    drop_check_steps,
    drop_index_steps,
    index_steps,
)
from aioifx.sqltypes import SqlType
from tests.server.sql.workbench import Workbench

PARENT = Table(100, "p", "ann", (ColumnDef("a", INTEGER, is_nullable=False),))
TABLE = Table(
    101,
    "t",
    "ann",
    (ColumnDef("k", INTEGER, is_nullable=False), ColumnDef("c", char(3))),
    constraints=(
        Constraint(
            7,
            "fk",
            "ann",
            ConstraintKind.REFERENCES,
            ("k",),
            parent=100,
            parent_columns=("a",),
            cascades=True,
        ),
        Constraint(8, "ck", "ann", ConstraintKind.CHECK, ("k",), check_sql=("(", "k", " > 0)")),
    ),
)


def parents(tabid: int) -> Table | None:
    return PARENT if tabid == PARENT.tabid else None


def test_a_table_is_its_columns_forms_and_its_foreign_keys() -> None:
    assert create_table_text(TABLE.source, TABLE, parents) == (
        'CREATE TABLE main."t101" ("k" INTEGER, "c" TEXT COLLATE RTRIM, CONSTRAINT "fk" FOREIGN KEY ("k")'
        ' REFERENCES "t100" ("a") ON DELETE CASCADE)'
    )


def test_a_unique_index_has_a_twin_for_nulls_only_where_there_may_be_one() -> None:
    (alone,) = index_steps(TABLE, Index("i", "ann", (IndexPart("k"),), is_unique=True))
    assert alone.sql == 'CREATE UNIQUE INDEX main."t101:i" ON "t101" ("k")'
    one, twin = index_steps(TABLE, Index("i", "ann", (IndexPart("k"), IndexPart("c", True)), is_unique=True))
    assert one.sql.endswith('ON "t101" ("k", "c" DESC)')
    assert twin.sql.endswith('WHERE "c" IS NULL')
    (plain,) = index_steps(TABLE, Index("i", "ann", (IndexPart("c"),)), (-371, -100, ""))
    assert (plain.sql, plain.duplicate) == ('CREATE INDEX main."t101:i" ON "t101" ("c")', (-371, -100, ""))


def test_created_objects_can_be_dropped() -> None:
    found = [step.sql for step in drop_index_steps(TABLE, Index("i", "ann", ()))]
    assert found == ['DROP INDEX IF EXISTS main."t101:i"', 'DROP INDEX IF EXISTS main."t101:i:null"']
    check = TABLE.constraints[1]
    for made, dropped in zip(check_steps(TABLE, check), drop_check_steps(TABLE, check), strict=True):
        name = dropped.sql.removeprefix("DROP TRIGGER IF EXISTS ")
        assert made.sql.startswith(f"CREATE TRIGGER {name} ")
        assert "'ifx:-530:ann.ck'" in made.sql


def test_a_unique_key_takes_one_null_only() -> None:
    bench = Workbench("CREATE TABLE u (k INT UNIQUE CONSTRAINT uk, v INT)", "INSERT INTO u VALUES (NULL, 1)")
    assert bench.error("INSERT INTO u VALUES (NULL, 2)") == (-268, "ann.uk", 0)
    assert bench.run("INSERT INTO u VALUES (1, 2)") == 1


def test_keys_with_a_null_in_one_column_differ_by_the_other() -> None:
    bench = Workbench(
        "CREATE TABLE u (a INT, b CHAR(3), UNIQUE (a, b) CONSTRAINT uk)", "INSERT INTO u VALUES (NULL, 'x')"
    )
    assert bench.run("INSERT INTO u VALUES (NULL, 'y')") == 1
    assert bench.error("INSERT INTO u VALUES (NULL, 'x')") == (-268, "ann.uk", 0)


def test_a_check_holds_for_inserts_and_updates_and_lets_unknown_pass() -> None:
    bench = Workbench(
        "CREATE TABLE u (k INT, CHECK (k BETWEEN 1 AND 9) CONSTRAINT ck)", "INSERT INTO u VALUES (1)"
    )
    assert bench.error("INSERT INTO u VALUES (10)") == (-530, "ann.ck", 0)
    assert bench.error("UPDATE u SET k = 0") == (-530, "ann.ck", 0)
    assert bench.run("INSERT INTO u VALUES (NULL)") == 1
    assert bench.rows("SELECT k FROM u ORDER BY k") == [(None,), (1,)]


def test_texts_are_unique_without_trailing_blanks() -> None:
    bench = Workbench("CREATE TABLE u (v VARCHAR(5) UNIQUE)", "INSERT INTO u VALUES ('a')")
    assert bench.error("INSERT INTO u VALUES ('a ')")[0] == -268


@pytest.mark.parametrize("column", ["oid", "select", "a b", 'quo"te', "index"])
def test_a_column_may_have_any_name(column: str) -> None:
    bench = Workbench()
    bench.delimident = True
    quoted = '"' + column.replace('"', '""') + '"'
    bench.run(f"CREATE TABLE u ({quoted} INT PRIMARY KEY, CHECK ({quoted} > 0))")
    bench.run(f"INSERT INTO u ({quoted}) VALUES (1)")
    assert bench.rows(f"SELECT {quoted} FROM u WHERE {quoted} = 1") == [(1,)]


@pytest.mark.parametrize(
    ("type_", "declared"),
    [
        (INTEGER, "INTEGER"),
        (DATE, "INTEGER"),
        (FLOAT, "REAL"),
        (decimal(8, 2), "TEXT COLLATE ifx_decimal"),
        (char(3), "TEXT COLLATE RTRIM"),
        (BOOLEAN, "TEXT"),
    ],
)
def test_a_column_is_declared_by_its_storage_form(type_: SqlType, declared: str) -> None:
    assert affinity(type_) == declared


def test_texts_and_decimals_bring_their_collation() -> None:
    assert render(collated(unquoted("", "a"), char(3))) == "a COLLATE RTRIM"
    assert render(collated(unquoted("", "a"), decimal())) == "a COLLATE ifx_decimal"
    assert render(collated(unquoted("", "a"), INTEGER)) == "a"
    assert collated(NULL, None) is NULL
