"""Descriptions: of one table, of some objects; names that mean nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from aioifx.catalog.description import describe, read_schema
from aioifx.client.api.connection import Connection
from aioifx.errors import InterfaceError, UndefinedTable
from tests.catalog.conftest import database
from tests.catalog.test_tables import FakeServer, table

SCRIPT = """
CREATE TABLE "anna".kind (code CHAR(2) PRIMARY KEY);
CREATE TABLE item (
    id SERIAL PRIMARY KEY CONSTRAINT item_pk, kind CHAR(2) REFERENCES "anna".kind, name VARCHAR(40) DEFAULT 'x'
);
CREATE INDEX item_name ON item (name);
CREATE SYNONYM thing FOR item;
CREATE VIEW names AS SELECT name FROM item;
CREATE SEQUENCE numbers;
CREATE FUNCTION twice(n INT) RETURNING INT; RETURN 2 * n; END FUNCTION;
CREATE TRIGGER item_ins INSERT ON item FOR EACH ROW (DELETE FROM kind);
"""


async def test_a_table_and_a_synonym_are_described_alike() -> None:
    async with database(SCRIPT) as conn:
        item, thing = await describe(conn, "ITEM"), await describe(conn, "informix.thing")
        kind = await describe(conn, '"anna".kind')
    assert [(each.name, each.type, each.nullable, each.default) for each in item.relation.columns] == [
        ("id", "serial", False, None),
        ("kind", "char(2)", True, None),
        ("name", "varchar(40)", True, "'x'"),
    ]
    assert [(each.kind, each.name) for each in item.relation.constraints] == [
        ("primary key", "item_pk"),
        ("foreign key", None),
    ]
    assert [each.name for each in item.relation.indexes] == ["item_name"]
    assert [each.name for each in item.relation.triggers] == ["item_ins"]
    assert (thing.relation.kind, thing.relation.target) == ("synonym", '"informix".item')
    assert thing.relation.columns == item.relation.columns and thing.relation.indexes == item.relation.indexes
    assert [each.table for each in kind.children] == ["item"] and not item.children
    assert [each.grantee for each in kind.grants] == ["public"]


async def test_some_objects_of_a_database() -> None:
    async with database(SCRIPT) as conn:
        found = await read_schema(conn, ["names", "twice", "anna.kind", "numbers", "NAMES"])
        with pytest.raises(InterfaceError, match=r"^TABLE: expected \[owner\.\]name, got 'shop:item'$"):
            await read_schema(conn, ["shop:item"])
        for name in ("itme", "bert.item"):
            with pytest.raises(UndefinedTable, match=f"is named {name}; did you mean 'item'"):
                await read_schema(conn, [name])
    assert [(each.kind, each.name) for each in found.relations] == [
        ("sequence", "numbers"),
        ("table", "kind"),
        ("view", "names"),
    ]
    assert [each.name for each in found.routines] == ["twice"] and not found.roles
    assert {grant.name for grant in found.grants} == {"kind", "twice"}


async def test_indexes_of_other_methods_have_their_operator_classes() -> None:
    fake = FakeServer(
        {
            "informix.systables t": [table(100, "item")],
            "informix.syscolumns c": [(100, 1, "text", 13, 20, 0, None, None, None, None, None, 0)],
            "informix.sysindices i": [(100, "ix", "D", " ", "1 [57]", "ann", 9)],
            "informix.sysams m": [(1, "btree"), (9, "bts")],
            "informix.sysopclasses c": [(1, "btree_ops"), (57, "bts_varchar_ops")],
        }
    )

    async def fetch(sql: str, *params: Any, row_factory: Any) -> Any:
        return await fake.fetch(sql, params)

    conn = cast("Connection[Any]", SimpleNamespace(fetch=fetch, is_ansi=False))
    (relation,) = (await read_schema(conn)).relations
    (index,) = relation.indexes
    assert (index.method, index.keys) == ("bts", ("text bts_varchar_ops",))
