from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from aioifx.server.catalog import catalog
from aioifx.server.sql.model import plan
from aioifx.server.sql.model.schema import Table
from tests.server.sql.workbench import Workbench

METADATA = Path(__file__).parents[2] / "vectors" / "metadata_sql.json"

SCHEMA = (
    "CREATE TABLE cust (id SERIAL PRIMARY KEY CONSTRAINT pk, name VARCHAR(30) NOT NULL, age INT DEFAULT 5,"
    " amount DECIMAL(8,2))",
    "CREATE TABLE ord (oid INT, cid INT REFERENCES cust (id) ON DELETE CASCADE CONSTRAINT fk, UNIQUE (oid))",
    "CREATE INDEX ix ON ord (cid DESC, oid)",
    "CREATE VIEW v (a) AS SELECT id FROM cust",
    "CREATE SYNONYM s FOR cust",
)


def test_a_table_survives_its_way_into_the_database_and_back() -> None:
    bench = Workbench(*SCHEMA)
    for name in ("cust", "ord", "v", "s"):
        table = bench.table(name)
        assert catalog.table_from_json(catalog.table_to_json(table)) == table
        assert catalog.table_from_json(catalog.table_to_json(table), "db1").catalog == "db1"


def test_a_change_makes_another_generation_and_so_does_its_undoing() -> None:
    bench = Workbench("CREATE TABLE t (k INT)")
    seen = {catalog.generation(bench.connection)}
    bench.connection.execute("BEGIN")
    bench.run("CREATE TABLE u (k INT)")
    inside = catalog.generation(bench.connection)
    bench.connection.execute("ROLLBACK")
    seen |= {inside, catalog.generation(bench.connection)}
    bench.run("CREATE TABLE u (k INT)")
    assert catalog.generation(bench.connection) not in seen
    assert len(seen) == 2
    assert bench.schema.generation == catalog.generation(bench.connection)


def test_temporary_tables_have_a_generation_of_their_own() -> None:
    bench = Workbench()
    main, temp = catalog.generation(bench.connection), catalog.generation(bench.connection, "temp")
    bench.run("CREATE TEMP TABLE t (k INT)")
    assert catalog.generation(bench.connection) == main
    assert catalog.generation(bench.connection, "temp") != temp
    assert bench.schema.temp_generation == catalog.generation(bench.connection, "temp")


def test_definitions_are_undone_with_their_transaction() -> None:
    bench = Workbench("CREATE TABLE t (k INT)")
    bench.connection.execute("BEGIN")
    for text in (
        "CREATE TABLE u (k INT)",
        "CREATE TEMP TABLE x (k INT)",
        "DROP TABLE t",
        "CREATE VIEW v AS SELECT k FROM u",
    ):
        bench.run(text)
    bench.connection.execute("ROLLBACK")
    assert bench.rows("SELECT tabname FROM systables WHERE tabid > 99") == [("t",)]
    for name in ("u", "x", "v"):
        assert bench.schema.table(name) is None
    assert bench.rows("SELECT k FROM t") == []


def test_a_schema_finds_tables_by_name_owner_and_number() -> None:
    schema = Workbench(*SCHEMA).schema
    cust = schema.table("cust")
    assert cust is not None and cust == schema.table("cust", "ann") == schema.table_of(100)
    assert schema.table("cust", "bob") is None
    assert schema.table("systables", "ann") is None
    assert schema.table_of(1) == schema.table("systables", "informix")
    assert schema.table_of(999) is None


def test_a_schema_finds_indexes_constraints_and_references() -> None:
    schema = Workbench(*SCHEMA).schema
    found = schema.index("ix")
    assert found is not None and (found[0].name, found[1].columns) == ("ord", ("cid", "oid"))
    assert schema.index("nope") is None
    key = schema.constraint("fk")
    assert key is not None and key[0].name == "ord"
    assert schema.constraint("nope") is None
    assert [(each.child.name, each.constraint.name) for each in schema.references_to(100)] == [("ord", "fk")]


def test_another_database_is_asked_of_the_engine_and_sysmaster_is_always_there() -> None:
    bench = Workbench()
    other = catalog.Snapshot("other", "g", "", 100, 1, 1, {}, {}, "db1")
    schema = catalog.read_schema(
        bench.connection, "stores", foreign=lambda name: other if name == "other" else None
    )
    assert schema.foreign("stores") is schema
    assert schema.foreign("other") is other
    assert schema.foreign("nowhere") is None
    master = schema.foreign("sysmaster")
    assert master is not None and master.table("sysdual") is not None
    assert master.table("systables") is None  # of no file that is known here


def test_sysmaster_as_the_current_database_has_both_kinds_of_tables() -> None:
    schema = catalog.read_schema(Workbench().connection, "sysmaster")
    assert schema.table("sysdual") is not None
    assert schema.table("systables") is not None


def test_an_attached_database_is_read_under_its_alias() -> None:
    bench = Workbench("CREATE TABLE t (k INT)")
    bench.connection.execute("ATTACH ':memory:' AS db1")
    for name in ("ifx_state", "ifx_tables", "ifx_types", "ifx_routines", "systables"):
        bench.connection.execute(f"CREATE TABLE db1.{name} AS SELECT * FROM main.{name}")
    schema = catalog.read_schema(bench.connection, "other", catalog="db1")
    table = schema.table("t")
    assert table is not None and table.source == 'db1."t100"'
    systables = schema.table("systables")
    assert systables is not None and systables.source == 'db1."systables"'
    assert schema.temps == {}


def test_without_a_database_there_is_no_table() -> None:
    schema = catalog.empty_schema()
    assert schema.database == ""
    assert schema.table("systables") is None


def test_steps_of_a_definition_end_with_the_catalogs() -> None:
    definition = plan.Definition((plan.Step("CREATE TABLE x (a)"),), (plan.PutTable(Table(100, "x", "ann")),))
    steps = catalog.steps_of(definition)
    assert steps[0] == definition.steps[0]
    assert steps[-1].sql.startswith('UPDATE main."ifx_state" SET generation')
    removal = catalog.steps_of(plan.Definition((), (plan.RemoveTable(Table(100, "x", "ann")),)))
    assert not any(step.sql.startswith("INSERT") for step in removal)


def test_a_locale_may_be_given_to_a_new_database() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.create_function("ifx_today", 0, lambda: 0)
        connection.create_collation("ifx_decimal", lambda left, right: (left > right) - (left < right))
        for step in catalog.creation_steps("ann", "en_US.57372"):
            connection.execute(step.sql, step.values)
        found = connection.execute("SELECT site FROM systables WHERE tabname = ' GL_COLLATE'").fetchone()
    assert found == ("en_US.57372",)


def metadata_queries() -> list[tuple[str, str]]:
    methods: dict[str, list[str]] = json.loads(METADATA.read_text("utf-8"))["methods"]
    return [
        (f"{name}-{number}", text) for name, texts in methods.items() for number, text in enumerate(texts)
    ]


@pytest.mark.parametrize("name", dict(metadata_queries()))
def test_every_statement_that_jdbcs_metadata_methods_send_runs(name: str) -> None:
    text = dict(metadata_queries())[name]
    method = name.partition("-")[0]
    bench = Workbench(*SCHEMA)
    for (
        earlier,
        statement,
    ) in metadata_queries():  # a method's later statements use temporary tables of its first ones
        if earlier.startswith(f"{method}-") and "create temp table" in statement.lower() and earlier < name:
            bench.run(statement)
    bench.run(text, *["%"] * text.count("?"))


def test_jdbc_learns_keys_and_indexes_of_a_table() -> None:
    bench = Workbench(*SCHEMA)
    queries = dict(metadata_queries())
    (key,) = bench.rows(queries["getPrimaryKeys-1"], "cust", "%")
    assert key[:5] == ("id", "pk", "cust", "ann" + 29 * " ", 1)
    (reference,) = bench.rows(queries["getImportedKeys-1"], "%", "%", "ord")
    assert (reference[0], reference[1], reference[3], reference[4]) == ("cust", "id", "ord", "cid")
    assert {row[2] for row in bench.rows(queries["getIndexInfo-2"], "ord", "%")} == {"ix", " 101_3", " 101_4"}


def test_jdbc_learns_the_columns_of_a_table() -> None:
    bench = Workbench(*SCHEMA)
    rows = bench.rows(dict(metadata_queries())["getColumns-1"], "cust", "%", "%", "nothing", "%", "%")
    assert [(row[2], row[3], row[4].strip(), row[5], row[11]) for row in rows] == [
        ("id", 4, "serial", 10, None),
        ("name", 12, "varchar", 30, None),
        ("age", 4, "integer", 10, "5"),
        ("amount", 3, "decimal", 8, None),
    ]
