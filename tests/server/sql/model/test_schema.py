from __future__ import annotations

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import (
    ColumnDef,
    Constraint,
    ConstraintKind,
    Index,
    IndexPart,
    Table,
    require_columns,
    width_of,
)
from aioifx.sqltypes import SqlType, TypeCode
from tests.server.sql.kinds import INTEGER
from tests.server.sql.workbench import Workbench

KEY = Constraint(3, "pk", "ann", ConstraintKind.PRIMARY, ("k",), index=" 100_3")
PARENT = Constraint(4, "fk", "ann", ConstraintKind.REFERENCES, ("p",), parent=101)
TABLE = Table(
    100,
    "t",
    "ann",
    (ColumnDef("k", SqlType(TypeCode.SERIAL, 4), is_nullable=False), ColumnDef("p", INTEGER)),
    constraints=(KEY, PARENT),
    indexes=(Index(" 100_3", "ann", (IndexPart("k"),), is_unique=True),),
)


def test_a_users_table_is_known_to_sqlite_by_its_number() -> None:
    assert TABLE.source == 'main."t100"'
    assert TABLE.physical == "t100"


def test_a_temporary_table_lives_in_the_temp_schema_and_is_not_a_catalog_table() -> None:
    temp = Table(1, "t", "ann", is_temp=True, catalog="temp")
    assert temp.source == 'temp."t1"'
    assert not temp.is_system


def test_a_catalog_table_keeps_its_name() -> None:
    table = Table(1, "systables", "informix")
    assert table.source == 'main."systables"'
    assert table.is_system


def test_a_generated_table_is_read_from_its_text() -> None:
    assert Table(100, "sysdual", "informix", generated="(SELECT 1)").source == "(SELECT 1)"


def test_a_table_finds_its_columns_and_constraints() -> None:
    assert [column.name for column in TABLE.serials] == ["k"]
    assert TABLE.column("p") == ColumnDef("p", INTEGER)
    assert TABLE.column("nope") is None
    assert TABLE.column_number("p") == 2
    assert TABLE.primary_key is KEY
    assert TABLE.foreign_keys == (PARENT,)
    assert TABLE.constraint_of_index(" 100_3") is KEY
    assert TABLE.constraint_of_index("x") is None


def test_a_constraints_full_name_has_its_owner() -> None:
    assert KEY.full_name == "ann.pk"


def test_stored_columns_are_those_of_the_table_until_alter_table_moves_one() -> None:
    assert TABLE.stored_columns == TABLE.columns
    moved = Table(100, "t", "ann", TABLE.columns, stored_order=("p", "k"))
    assert [column.name for column in moved.stored_columns] == ["p", "k"]


@pytest.mark.parametrize(
    ("declared", "width"),
    [
        ("SMALLINT", 2), ("SERIAL", 4), ("BIGINT", 8), ("DECIMAL(8,2)", 5), ("DECIMAL(8,3)", 6),
        ("CHAR(20)", 20), ("VARCHAR(20)", 21), ("LVARCHAR(300)", 303), ("DATE", 4),
        ("DATETIME YEAR TO SECOND", 8), ("TEXT", 56), ("BYTE", 56), ("BLOB", 72), ("BOOLEAN", 1),
    ],
)  # fmt: skip
def test_a_columns_width_is_what_it_takes_in_a_row(declared: str, width: int) -> None:
    (column,) = Workbench(f"CREATE TABLE t (c {declared})").table("t").columns
    assert width_of(column) == width


@pytest.mark.parametrize(
    ("longest", "too_long"),
    [
        ("CREATE TABLE t (a CHAR(30000), b CHAR(2767))", "CREATE TABLE t (a CHAR(30000), b CHAR(2768))"),
        ("CREATE TEMP TABLE t (a CHAR(32767))", "CREATE TEMP TABLE t (a CHAR(32767), b BOOLEAN)"),
        ("CREATE TABLE t (a LVARCHAR(32739))", "CREATE TABLE t (a LVARCHAR(20000), b LVARCHAR(20000))"),
        (f"CREATE TABLE t ({', '.join(f'c{n} VARCHAR(255)' for n in range(127))})",
         f"CREATE TABLE t ({', '.join(f'c{n} VARCHAR(255)' for n in range(128))})"),
        ("CREATE TABLE t (a CHAR(32711), b TEXT)", "CREATE TABLE t (a CHAR(32712), b TEXT)"),
        ("CREATE TABLE t (a CHAR(32767), b ROW(c INT), d SET(INT NOT NULL), e JSON)",
         "CREATE TABLE t (a CHAR(32767), b ROW(c INT), d SMALLINT)"),
        ("ALTER TABLE u ADD (b CHAR(12767))", "ALTER TABLE u ADD (b CHAR(12768))"),
        ("ALTER TABLE u MODIFY (a CHAR(32767))", "ALTER TABLE u ADD (b INT), MODIFY (a CHAR(32767))"),
        ("CREATE TABLE t AS SELECT a, a[1,12767] b FROM u", "CREATE TABLE t AS SELECT a, a b FROM u"),
        ("SELECT a, a[1,12767] b FROM u INTO TEMP t", "SELECT a, a b FROM u INTO TEMP t"),
        ("SELECT a FROM u INTO t", "SELECT a, a b FROM u INTO t"),
        ("ALTER TABLE u ADD (b CHAR(30000)), DROP a", "ALTER TABLE u ADD (b CHAR(6000)), ADD (c CHAR(7000))"),
    ],
)  # fmt: skip
def test_a_table_of_longer_rows_than_informix_allows_is_refused(longest: str, too_long: str) -> None:
    table = "CREATE TABLE u (a CHAR(20000))"
    Workbench(table, longest)
    with pytest.raises(SqlError) as raised:
        Workbench(table, too_long)
    assert raised.value.sqlcode == -528


def test_more_columns_than_a_row_may_have_are_refused() -> None:
    require_columns(1998, 1)
    for count, reported in {
        1999: (-999, "more than 1998 columns"),
        32767: (-999, "more than 1998 columns"),
        32768: (-528, ""),
    }.items():
        with pytest.raises(SqlError) as raised:
            require_columns(count, 7)
        assert (raised.value.sqlcode, raised.value.token, raised.value.offset) == (*reported, 7)
