from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from aioifx.server.catalog import catalog
from aioifx.server.sql.model.schema import (
    ColumnDef,
    Constraint,
    ConstraintKind,
    Index,
    IndexPart,
    Table,
    TableKind,
)
from aioifx.server.sql.model.type_rules import INTEGER
from aioifx.server.sqlite.lock_manager import Kind, LockMode, Resource
from aioifx.server.sqlite.undo_log import packed
from aioifx.server.sqlite.watched_tables import Key, flat, objects, reached, temp_objects, width

PARENT = Table(
    100,
    "p",
    "anna",
    (ColumnDef("v", INTEGER), ColumnDef("k", INTEGER)),
    indexes=(Index("i", "anna", (IndexPart("k"),), is_unique=True),),
)


def child(*, cascades: bool) -> Table:
    key = Constraint(
        1,
        "f",
        "anna",
        ConstraintKind.REFERENCES,
        ("p",),
        parent=100,
        parent_columns=("k",),
        cascades=cascades,
    )
    return Table(101, "c", "anna", (ColumnDef("p", INTEGER),), constraints=(key,))


@pytest.mark.parametrize("cascades", [False, True])
def test_children_are_reached_by_cascades(cascades: bool) -> None:
    schema = catalog.Snapshot("demo", "", "", 0, 0, 0, {100: PARENT, 101: child(cascades=cascades)}, {})
    watched = {each.tabid: each for each in reached(PARENT, schema)}
    assert set(watched) == ({100, 101} if cascades else {100})
    (own,) = watched[100].keys
    assert own == Key(100, ("k",), (1,), LockMode.X, is_referenced=True, conditions=('"k"',))
    (reference,) = next(iter(reached(child(cascades=False), schema))).keys
    assert reference == Key(100, ("k",), (0,), LockMode.S)


def test_views_and_temporary_tables_without_a_log_are_not_watched() -> None:
    schema = catalog.empty_schema()
    for table in (
        Table(100, "v", "anna", kind=TableKind.VIEW),
        Table(1, "t", "anna", is_temp=True, is_logged=False),
    ):
        assert list(reached(table, schema)) == []


def test_a_key_with_its_values() -> None:
    own, reference = Key(100, ("k",), (1,), LockMode.X), Key(100, ("k",), (1,), LockMode.S)
    assert own.resource("demo", ("a  ",)) == Resource("demo", 100, Kind.KEY, (("k",), ("a",)))
    assert own.resource("demo", (None,)) is not None  # NULLs are equal in unique indexes
    assert reference.resource("demo", (None,)) is None


def test_many_values_are_packed() -> None:
    columns = range(120)
    values = [packed(list(range(100))), packed(list(range(100, 120)))]
    assert width(columns) == len(values)
    assert flat(columns, values) == list(columns)
    assert flat((1, 2), (7, 8)) == (7, 8)


def test_chunks_of_objects_have_no_locks_of_their_own() -> None:
    assert [each.locks_rows for each in objects()] == [True, False]


def test_temporary_objects_of_the_user_can_be_dropped() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        for text in ("TABLE t1 (a)", "TABLE ifx_undo (a)"):
            connection.execute(f"CREATE TEMP {text}")
        connection.execute('CREATE INDEX temp."t1:i" ON t1 (a)')
        found = temp_objects(connection)
        assert set(found) == {"t1", "t1:i"}
        for text in found.values():
            connection.execute(text)
        assert temp_objects(connection) == {}
