from __future__ import annotations

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Parameter
from aioifx.server.sql.sqlite.render import render
from aioifx.server.sql.sqlite.tree import unquoted
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.scopes import Scope, Source, SourceColumn, derived_columns
from tests.server.sql.kinds import INTEGER
from tests.server.sql.workbench import Workbench


def column(name: str, table: str = "", owner: str = "", offset: int = 7) -> nodes.Column:
    return nodes.Column(offset, name, nodes.QualifiedName(offset, table, owner) if table else None)


def source(label: str, alias: str, *names: str, owner: str = "ann") -> Source:
    columns = tuple(SourceColumn(name, unquoted(alias, name), INTEGER, is_nullable=False) for name in names)
    return Source(label, alias, columns, owner=owner)


OUTER = Scope([source("t", "s1", "a", "x")])
INNER = Scope([source("u", "s2", "a", "b"), source("v", "s3", "b", "c")], parent=OUTER)


def test_a_column_is_found_in_the_nearest_scope() -> None:
    scope, found = INNER.find(column("a"))
    assert (scope, render(found.sql)) == (INNER, "s2.a")
    scope, found = INNER.find(column("x"))
    assert (scope, render(found.sql)) == (OUTER, "s1.x")


def test_a_label_and_an_owner_identify_a_table() -> None:
    assert render(INNER.find(column("b", "v"))[1].sql) == "s3.b"
    assert render(INNER.find(column("a", "t"))[1].sql) == "s1.a"
    assert render(INNER.find(column("b", "v", "ann"))[1].sql) == "s3.b"


@pytest.mark.parametrize(
    ("node", "sqlcode", "token"),
    [
        (column("nope"), -217, "nope"),
        (column("nope", "u"), -217, "nope"),
        (column("b"), -324, "b"),
        (column("a", "w"), -522, "w"),
        (column("a", "u", "bob"), -522, "u"),
    ],
)
def test_unknown_names_are_reported_with_their_position(node: nodes.Column, sqlcode: int, token: str) -> None:
    with pytest.raises(SqlError) as caught:
        INNER.find(node)
    assert (caught.value.sqlcode, caught.value.token, caught.value.offset) == (sqlcode, token, 7)


def test_a_star_expands_to_the_columns_of_all_sources_or_of_one() -> None:
    assert [render(found.sql) for found in INNER.starred(nodes.Star(1))] == ["s2.a", "s2.b", "s3.b", "s3.c"]
    result = [render(found.sql) for found in INNER.starred(nodes.Star(1, nodes.QualifiedName(1, "v")))]
    assert result == ["s3.b", "s3.c"]
    with pytest.raises(SqlError, match="-522"):
        list(INNER.starred(nodes.Star(1, nodes.QualifiedName(1, "t"))))


def test_an_outer_join_makes_columns_nullable() -> None:
    joined = source("t", "s1", "a")
    joined.supplied_by_join()
    assert joined.columns[0].is_nullable


def test_derived_columns_are_named_by_position() -> None:
    columns = derived_columns("s9", ["a", "b"], [(INTEGER, False), (INTEGER, True)])
    result = [(each.name, render(each.sql), each.is_nullable) for each in columns]
    assert result == [("a", "s9.c1", False), ("b", "s9.c2", True)]


@pytest.mark.parametrize(
    ("table", "sqlcode", "token"),
    [
        ("nowhere", -206, "nowhere"),
        ("bob.t", -206, "t"),
        ("other:t", -329, "other"),
        ("stores@elsewhere:t", -908, "elsewhere"),
        ("sysams", -999, "sysams"),
    ],
)
def test_missing_tables_are_reported_with_their_position(table: str, sqlcode: int, token: str) -> None:
    bench = Workbench("CREATE TABLE t (k INT)")
    assert bench.error(f"SELECT * FROM {table}") == (sqlcode, token, 15)


def test_rowid_is_a_column_of_every_stored_table() -> None:
    bench = Workbench("CREATE TABLE t (k INT)", "INSERT INTO t VALUES (7)")
    assert bench.rows("SELECT rowid, t.rowid, k FROM t") == [(1, 1, 7)]
    assert bench.error("SELECT rowid FROM (SELECT k FROM t) d")[0] == -217


def test_a_table_may_be_qualified_by_owner_and_database() -> None:
    bench = Workbench("CREATE TABLE t (k INT)", "INSERT INTO t VALUES (7)")
    for name in ("t", "ann.t", "stores:t", "stores:ann.t", "stores@aioifx:ann.t"):
        assert bench.rows(f"SELECT k FROM {name}") == [(7,)]


def test_a_temporary_table_hides_a_permanent_one() -> None:
    bench = Workbench("CREATE TABLE t (k INT)", "CREATE TEMP TABLE t (k CHAR(3))")
    assert bench.described("SELECT * FROM t") == [("k", "CHAR(3)")]


def test_a_synonym_resolves_to_its_table() -> None:
    bench = Workbench("CREATE TABLE t (k INT)", "CREATE SYNONYM s FOR t", "INSERT INTO s VALUES (7)")
    assert bench.rows("SELECT s.k FROM s") == [(7,)]
    assert bench.rows("SELECT k FROM t") == [(7,)]


def test_the_first_context_with_a_type_decides_the_type_of_a_parameter() -> None:
    context = Workbench().context
    node = nodes.Parameter(1, 0)
    assert render(context.parameter(node, None)) == "?1"
    assert render(context.parameter(node, INTEGER)) == "?1"
    context.parameter(node, None)
    assert context.gathered_parameters(node) == (Parameter(INTEGER),)
