"""DDL: what it looks like, and that it makes the same database again."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import aioifx
from aioifx.catalog.ddl import DdlOptions, statements
from aioifx.catalog.definitions import (
    ColumnDefinition,
    Grant,
    IndexDefinition,
    Relation,
    RoutineDefinition,
    Schema,
    Storage,
    TypeDefinition,
)
from aioifx.catalog.description import describe, read_schema
from aioifx.client.sql.script import statements_of
from aioifx.server import ServerOptions, serve
from aioifx.server.sqlite.databases import LogMode
from tests.catalog.conftest import database, script_of

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["stores_routines", "keys", "types", "routines"])
async def test_a_database_that_is_made_from_the_ddl_has_the_same_schema(name: str) -> None:
    async with database(script_of(name)) as conn:
        schema = await read_schema(conn)
    assert len(schema.relations) >= 4
    assert [each.name for each in schema.relations if each.raw] == (
        ["plain", "other"] if name == "types" else []
    )
    sql = ";\n".join(statements(schema, DdlOptions(storage=True)))
    async with database(sql) as conn:
        assert await read_schema(conn) == schema
        again = await read_schema(conn)
    assert ";\n".join(statements(again, DdlOptions(storage=True))) == sql


async def test_delimited_names_are_written_with_quotes() -> None:
    async with database("", DELIMIDENT="y") as conn:
        for sql, _ in statements_of(script_of("delimited")):
            await conn.execute(sql)
        schema = await read_schema(conn)
        assert (await describe(conn, '"a.b:c"')).relation.name == "a.b:c"
        with pytest.raises(aioifx.UndefinedTable):
            await describe(conn, "Item")
    assert [each.keys for each in schema.relations[1].indexes] == [('"a b" desc', '"it\'s"')]
    script = ";\n".join(statements(schema))
    async with database("", DELIMIDENT="y") as conn:
        for sql, _ in statements_of(script):
            await conn.execute(sql)
        assert await read_schema(conn) == schema
        await conn.execute('INSERT INTO "Item" ("a b") VALUES (1)')
        await conn.execute('UPDATE "Item" SET "a b" = 2 WHERE "Id" = 1')
        assert await conn.fetchval('SELECT "{" FROM "a.b:c"') == 1  # by the trigger


@pytest.mark.parametrize("locale", ["en_US.utf8", "en_US.8859-1"])
async def test_long_texts_that_are_not_ascii_are_read_whole(locale: str) -> None:
    lines = "\n".join(f"{' ' * (n % 7)}LET s = 'größer  {n}'; -- öä" for n in range(200))
    procedure = f'create procedure "informix".p() DEFINE s CHAR(9);\n{lines}\nend procedure'
    values = ", ".join(f"'né  {n}ü'" for n in range(200))
    view = f'create view "informix".v (a) as select a from "informix".t where b in ({values})'
    options = ServerOptions(
        databases=(f"db:{locale}",), db_locale=locale, seed="create table t (a int, b char(9))"
    )
    async with serve(options) as server, aioifx.connect(server.dsn, db_locale=locale) as conn:
        await conn.execute(procedure)
        await conn.execute(view)
        schema = await read_schema(conn)
    assert [schema.routines[0].sql, schema.relations[1].sql] == [procedure, view]


SCRIPTS = {
    path.stem: path.read_text("utf-8")
    for folder in ("server/corpus", "server/host/data")
    for path in sorted((TESTS / folder).glob("*.sql"))
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SCRIPTS)
async def test_the_schemas_of_other_tests_are_made_again(name: str) -> None:
    async with database("") as conn:
        for sql, _ in statements_of(SCRIPTS[name]):
            with suppress(aioifx.DatabaseError):  # some provoke errors
                await conn.execute(sql)
        schema = await read_schema(conn)
    assert schema.relations
    async with database("") as conn:
        for sql in statements(schema, DdlOptions(storage=True)):
            await conn.execute(sql)
        assert await read_schema(conn) == schema


SCHEMA = Schema(
    types=(TypeDefinition(kind="distinct", name="euro", owner="ann", definition="decimal(8,2)"),),
    relations=(
        Relation(
            kind="table",
            name="item",
            owner="ann",
            raw=True,
            columns=(
                ColumnDefinition(name="id", type="serial", nullable=False),
                ColumnDefinition(name="price", type='"ann".euro', nullable=True, default="1.50"),
            ),
            indexes=(IndexDefinition(name="ix", owner="bob", keys=("price desc", "id"), unique=True),),
            storage=Storage(lock_mode="row", extent_size=64, next_size=32, dbspace="rootdbs"),
        ),
        Relation(kind="synonym", name="thing", owner="ann", target='"ann".item'),
    ),
    roles=("clerk",),
    grants=(
        Grant(privileges=("dba",), grantee="ann"),
        Grant(privileges=("clerk",), grantee="bob", grantable=True),
        Grant(privileges=("select", "update (price)"), on="table", owner="ann", name="item", grantee="bob",
              grantor="ann", grantable=True),
        Grant(privileges=("insert",), on="table", owner="ann", name="item", grantee="public", grantor="ann"),
        Grant(privileges=("execute",), on="function", owner="ann", name="f", arguments="integer,date",
              grantee="clerk", grantor="ann"),
    ),
)  # fmt: skip


def test_statements_have_owners_and_privileges() -> None:
    assert list(statements(SCHEMA)) == [
        'create distinct type "ann".euro as decimal(8,2)',
        'create raw table "ann".item\n  (\n    id serial not null,\n    price "ann".euro default 1.50\n  )',
        'create unique index "bob".ix on "ann".item (price desc, id) using btree',
        'create synonym "ann".thing for "ann".item',
        'create role "clerk"',
        'grant dba to "ann"',
        'grant clerk to "bob" with grant option',
        'revoke all on "ann".item from "public" as "ann"',
        'grant select, update (price) on "ann".item to "bob" with grant option as "ann"',
        'grant insert on "ann".item to "public" as "ann"',
        'grant execute on function "ann".f(integer,date) to "clerk" as "ann"',
    ]


def test_statements_without_owners_and_privileges_but_with_storage() -> None:
    assert list(statements(SCHEMA, DdlOptions(owners=False, storage=True, grants=False))) == [
        "create distinct type euro as decimal(8,2)",
        "create raw table item\n  (\n    id serial not null,\n    price euro default 1.50\n  )"
        "  in rootdbs extent size 64 next size 32 lock mode row",
        "create unique index ix on item (price desc, id) using btree",
        "create synonym thing for item",
    ]


def test_a_table_without_privileges_is_not_made_for_everybody() -> None:
    schema = Schema(relations=(Relation(kind="table", name="item", owner="ann"),))
    revoke = 'revoke all on "ann".item from "public" as "ann"'
    assert list(statements(schema))[1:] == [revoke]
    assert list(statements(schema, DdlOptions(owners=False)))[1:] == ['revoke all on item from "public"']


def test_a_routine_that_is_not_for_everybody_is_restricted_before_the_grants() -> None:
    of_f: dict[str, Any] = {"kind": "function", "name": "f", "owner": "ann", "sql": "create function f"}
    schema = Schema(
        routines=(
            RoutineDefinition(arguments="integer,date", restricted=True, **of_f),
            RoutineDefinition(arguments="", **of_f),
        ),
        grants=SCHEMA.grants[-1:],
    )
    on = "execute on function {}f(integer,date)"
    owned = on.format('"ann".')
    assert list(statements(schema))[2:] == [
        f'revoke {owned} from "public" as "ann"',
        f'grant {owned} to "clerk" as "ann"',
    ]
    assert list(statements(schema, DdlOptions(owners=False)))[2] == f'revoke {on.format("")} from "public"'
    assert len(list(statements(schema, DdlOptions(grants=False)))) == 2


async def test_the_privileges_of_an_ansi_database_are_made_again() -> None:
    async with database(script_of("routines"), log_mode=LogMode.ANSI) as conn:
        schema = await read_schema(conn)
    assert len(schema.routines) >= 5
    sql = list(statements(schema))
    assert not [each for each in sql if '"public"' in each and not each.startswith("revoke all on")]
    async with database(";\n".join(sql), log_mode=LogMode.ANSI) as conn:
        assert await read_schema(conn) == schema


async def test_the_statements_of_privileges_are_read_by_the_server() -> None:
    script = (
        "create table item (id int, price int); create function f(a int, d date) returning int; end function"
    )
    async with database(script) as conn:
        for sql in statements(Schema(roles=SCHEMA.roles, grants=SCHEMA.grants), DdlOptions(owners=False)):
            await conn.execute(sql)
        (routine,) = (await read_schema(conn)).routines
        await conn.execute([*statements(Schema(routines=(replace(routine, restricted=True),)))][-1])
