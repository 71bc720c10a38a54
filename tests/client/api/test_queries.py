"""The query methods that connections and pools share: values by name, lists, timeouts; the same with both."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import io
import sys
from collections.abc import AsyncIterator, Callable
from types import ModuleType
from typing import Any

import pytest

import aioifx
from aioifx import Connection, Pool, PreparedStatement
from aioifx.client.execution.actions import fetch_all_rows
from aioifx.errors import (
    ConnectionLost,
    DataError,
    InterfaceError,
    NotSupportedError,
    PoolTimeout,
    QueryCanceled,
    QueryTimeout,
    SQLSyntaxError,
    UndefinedTable,
    UniqueViolation,
)
from aioifx.rows import dict_row, record_row, tuple_row
from aioifx.server import Routine, Server, ServerOptions, serve
from aioifx.server.sqlite.databases import LogMode
from tests.client.pooling import pooled
from tests.injection import eventually
from tests.scripted import cancelled, time_is_up
from tests.template_strings import template as t

pytestmark = pytest.mark.timeout(60)

SEED = """
create table item (id int primary key, name varchar(20));
insert into item values (1, 'one');
insert into item values (2, 'two');
insert into item values (3, 'three');
"""

ENDLESS = "select count(*) from systables a, systables b, systables c, systables d, systables e"

Queries = Connection[Any] | Pool[Any]


def _split(text: str, mark: str) -> list[tuple[int, str]]:
    return list(enumerate(text.split(mark), 1))


OPTIONS = ServerOptions(
    databases=("shop",),
    seed=SEED,
    routines=(
        Routine("split", [("text", "LVARCHAR"), ("mark", "CHAR(1)")], ["INTEGER", "VARCHAR(60)"], _split),
    ),
)


@pytest.fixture
async def server(tidy: None) -> AsyncIterator[Server]:
    async with serve(OPTIONS) as server:
        yield server


@pytest.fixture(params=["connection", "pool"])
async def db(request: pytest.FixtureRequest, server: Server) -> AsyncIterator[Queries]:
    if request.param == "pool":
        async with pooled(server) as pool:
            yield pool
    else:
        async with aioifx.connect(server.dsn, fetch_size=4096) as conn:
            yield conn
    await eventually(lambda: not server.stats.sessions)


async def test_rows_and_values(db: Queries) -> None:
    assert await db.fetch("select id from item where id > ?", 1) == [(2,), (3,)]
    assert await db.fetch("select id from item where id > ?", 2, row_factory=dict_row) == [{"id": 3}]
    assert await db.fetchrow("select id, name from item where id = ?", 1) == (1, "one")
    assert await db.fetchval("select id, name from item where id = ?", 2, column=1) == "two"
    assert (await db.execute("update item set name = ? where id = ?", "TWO", 2)).rowcount == 1
    assert (await db.execute("delete from item where id = 3")).rowcount == 1
    assert await db.call("split", "a-b", "-") == [(1, "a"), (2, "b")]
    assert await db.call("split", named={"mark": "+", "text": "x+y"}, row_factory=tuple_row) == [
        (1, "x"),
        (2, "y"),
    ]
    assert (await db.executemany("insert into item values (?, ?)", [(4, "four"), (5, "five")])).rowcount == 2


async def test_each_call_has_rows_of_its_own_factory(db: Queries) -> None:
    for factory, kind in (
        (tuple_row, "tuple"),
        (record_row, "Record"),
        (tuple_row, "tuple"),
        (dict_row, "dict"),
    ):
        rows: list[Any] = await db.fetch("select id from item where id < 3", row_factory=factory)
        assert [type(row).__name__ for row in rows] == [kind] * 2


async def test_one_value_by_its_columns_name(db: Queries) -> None:
    query = "select id, name from item where id = ?"
    assert await db.fetchval(query, 2, column="name") == "two"
    assert await db.fetchval(query, 99, column="name") is None
    with pytest.raises(InterfaceError, match=r"column: unknown column 'nam'; the row has id, name"):
        await db.fetchval(query, 2, column="nam")
    with pytest.raises(InterfaceError, match=r"column: index 2 is out of range; the row has 2 values"):
        await db.fetchval(query, 2, column=2)
    nothing: Any = None
    with pytest.raises(InterfaceError, match=r"column: expected an index or a name, got NoneType"):
        await db.fetchval(query, 2, column=nothing)


async def test_a_stream_has_blocks_and_columns(db: Queries) -> None:
    stream = db.stream("select id, name from item order by id", prefetch=False)
    assert not stream.columns
    assert [row async for row in stream] == [(1, "one"), (2, "two"), (3, "three")]
    assert [each.name for each in stream.columns] == ["id", "name"]
    async with db.stream(
        "select id from item where id < :n", named={"n": 3}, row_factory=tuple_row
    ) as stream:
        assert [block async for block in stream.blocks()] == [[(1,), (2,)]]


async def test_load_and_unload(db: Queries) -> None:
    assert (await db.load("item", [(7, "seven")])).rowcount == 1
    out = io.BytesIO()
    assert await db.unload("select * from item where id = ?", out, 7) == 1
    assert out.getvalue() == b"7|seven|\n"
    out = io.BytesIO()
    assert (
        await db.unload("select * from item where id in (:ids)", out, named={"ids": [1, 7]}, format="csv")
        == 2
    )
    out = io.BytesIO(b"8|eight|\n")
    assert (await db.load("item", out, format="unload")).rowcount == 1


# -- values by name ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [list, tuple])
async def test_a_list_for_a_name_stands_for_all_its_values(db: Queries, kind: Callable[[Any], Any]) -> None:
    query = "select id from item where id in (:ids) or name = :name or id in (:ids) order by id"
    assert await db.fetch(query, named={"ids": kind([1, 3]), "name": "none"}) == [(1,), (3,)]
    assert await db.fetch(query, named={"ids": kind([2]), "name": "three"}) == [(2,), (3,)]
    with pytest.raises(InterfaceError, match=r"parameter :ids: expected one value or more, got an empty"):
        await db.fetch(query, named={"ids": kind([]), "name": "none"})
    assert await db.fetch("select id from item where id in (:1)", named=[kind([2, 3])]) == [(2,), (3,)]


async def rows_of(*rows: Any) -> AsyncIterator[Any]:
    for row in rows:
        yield row


async def test_executemany_has_the_serial_of_each_row(db: Queries) -> None:
    await db.execute("create table numbered (id serial, n int check (n < 100))")
    insert = "insert into numbered (n) values (?)"
    rows = [(n,) for n in range(30)]
    assert (await db.executemany(insert, rows)).serials == (*range(1, 31),)
    assert (await db.executemany(insert, named=None, rows=tuple(rows[:2]))).serials == (31, 32)
    result = await db.executemany(insert, [(1,), (2**40,), (100,), (4,)], on_error="collect")
    assert [error.row_index for error in result.errors] == [1, 2]
    first, *failed, last = result.serials
    assert failed == [None, None]
    assert first is not None and last is not None and 32 < first < last
    assert (await db.executemany(insert, iter(rows))).serials == (), "an iterator's rows are not kept"
    assert (await db.executemany("update numbered set n = ?", [(1,), (2,)])).serials == ()
    assert (await db.executemany("insert into item values (?, ?)", [(4, "four"), (5, "five")])).serials == ()


async def test_executemany_with_mappings(db: Queries) -> None:
    insert = "insert into item (name, id) values (:name, :id)"
    rows = [{"id": 4, "name": "four"}, {"name": "five", "id": 5}]
    assert (await db.executemany(insert, named=rows)).rowcount == 2
    assert (await db.executemany(insert, named=rows_of({"id": 6, "name": "six"}))).rowcount == 1
    assert await db.fetch("select id, name from item where id > 3 order by id") == [
        (4, "four"),
        (5, "five"),
        (6, "six"),
    ]
    for wrong, message in (
        ([{"id": 7, "name": "x"}, {"id": 8}], r"row 1: no value for parameter :name"),
        ([{"id": 7, "name": "x", "more": 1}], r"row 0: the statement has no parameter :more"),
        ([(7, "x")], r"row 0: expected a mapping, got tuple"),
        ({"id": 7, "name": "x"}, r"named: expected an iterable of mappings, got dict"),
        (7, r"named: expected an iterable of mappings, got int"),
    ):
        given: Any = wrong
        with pytest.raises(InterfaceError, match=message):
            await db.executemany(insert, named=given)
    with pytest.raises(InterfaceError, match=r"named: cannot be combined with values by position"):
        await db.executemany(insert, [(7, "x")], named=rows)
    with pytest.raises(InterfaceError, match=r"rows: expected an iterable or async iterable, got NoneType"):
        await db.executemany(insert)
    with pytest.raises(UniqueViolation) as caught:
        await db.executemany(insert, named=[{"id": 9, "name": "x"}, {"id": 1, "name": "x"}])
    assert caught.value.row_index == 1
    result = await db.executemany(
        insert, named=[{"id": 9, "name": "nine"}, {"id": 1, "name": "x"}], on_error="collect"
    )
    assert (result.rowcount, [error.row_index for error in result.errors]) == (1, [1])
    assert await db.fetchval("select count(*) from item") == 7


async def test_load_with_mappings(db: Queries) -> None:
    assert (await db.load("item", named=[{"name": "four", "id": 4}, {"id": 5, "name": "five"}])).rowcount == 2
    assert (await db.load("item", named=rows_of({"id": 6, "name": "six"}))).rowcount == 1
    assert (await db.load("item", named=[{"id": 7}], columns=["id"])).rowcount == 1
    assert (await db.load("item", named=[])).rowcount == 0
    assert await db.fetch("select id, name from item where id > 3 order by id") == [
        (4, "four"),
        (5, "five"),
        (6, "six"),
        (7, None),
    ]
    for wrong, message in (
        ([{"id": 8, "name": "x"}, {"id": 9}], r"row 1: no value for column 'name'"),
        ([{"id": 8}, {"id": 9, "name": "x"}], r"row 1: unknown column 'name'"),
    ):
        given: Any = wrong
        with pytest.raises(DataError, match=message) as caught:
            await db.load("item", named=given)
        assert caught.value.row_index == 1
    tuples: Any = [(8, "x")]
    with pytest.raises(InterfaceError, match=r"row 0: expected a mapping, got tuple"):
        await db.load("item", named=tuples)
    with pytest.raises(InterfaceError, match=r"named: "):
        await db.load("item", named=[{"id; drop": 8}])
    with pytest.raises(InterfaceError, match=r"named: cannot be combined with rows or format"):
        await db.load("item", [(8, "x")], named=[{"id": 8}])
    with pytest.raises(InterfaceError, match=r"rows: expected an iterable or async iterable, got NoneType"):
        await db.load("item")
    assert await db.fetchval("select count(*) from item") == 7


async def test_a_prepared_statement_with_names(server: Server) -> None:
    async with aioifx.connect(server.dsn) as conn:
        statement = await conn.prepare(
            "select id, name from item where id >= :least and id <= :most", style="named"
        )
        assert await statement.fetch(named={"least": 2, "most": 9}) == [(2, "two"), (3, "three")]
        assert await statement.fetchrow(named={"least": 2, "most": 9}) == (2, "two")
        assert await statement.fetchval(named={"least": 3, "most": 9}, column="name") == "three"
        assert [row["id"] async for row in statement.stream(named={"most": 1, "least": 0})] == [1]
        with pytest.raises(InterfaceError, match=r"no value for parameter :most"):
            await statement.fetch(named={"least": 2})
        some = await conn.prepare("select id from item where id in (:ids)", style="named")
        with pytest.raises(
            InterfaceError, match=r":ids: expected one value for a prepared statement, got list"
        ):
            await some.fetch(named={"ids": [1, 2]})
        with pytest.raises(InterfaceError, match=r"named: missing"):
            await statement.fetch(1, 2)
        insert = await conn.prepare("insert into item values (:id, :name)", style="named")
        assert (await insert.execute(named={"id": 4, "name": "four"})).rowcount == 1
        assert (await insert.executemany(named=[{"id": 5, "name": "five"}])).rowcount == 1
        with pytest.raises(InterfaceError, match=r"named: missing"):
            await insert.executemany([(6, "six")])


async def test_a_prepared_statement_without_names(server: Server) -> None:
    async with aioifx.connect(server.dsn) as conn:
        statement = await conn.prepare("insert into item values (?, ?)")
        with pytest.raises(InterfaceError, match=r'prepared without style="named"'):
            await statement.execute(named={"id": 1})
        with pytest.raises(InterfaceError, match=r'prepared without style="named"'):
            await statement.executemany(named=[{"id": 1}])
        with pytest.raises(
            InterfaceError, match=r"rows: expected an iterable or async iterable, got NoneType"
        ):
            await statement.executemany()
        result = await statement.executemany([(1, "x"), (4, "four")], on_error="collect")
        assert [error.row_index for error in result.errors] == [0]
        with pytest.raises(InterfaceError, match=r"style: expected \"qmark\" or \"named\", got 'pyformat'"):
            style: Any = "pyformat"
            await conn.prepare("select id from item where id = :id", style=style)


async def test_a_cursor_takes_names(server: Server) -> None:
    async with aioifx.connect(server.dsn) as conn, conn.cursor() as cursor:
        await cursor.execute("select name from item where id in (:ids) order by id", named={"ids": [2, 3]})
        assert await cursor.fetchall() == [("two",), ("three",)]
        await cursor.executemany("insert into item (id) values (:id)", named=[{"id": 4}, {"id": 5}])
        assert cursor.rowcount == 2
        with pytest.raises(InterfaceError, match=r"cannot be combined with"):
            await cursor.execute("select name from item where id = :id", (1,), named={"id": 1})


# -- template strings -------------------------------------------------------------------------------------------------


async def test_every_call_with_sql_takes_a_template(db: Queries) -> None:
    ids, name = [1, 3], "three"
    query = t("select id, name from item where id in ({ids:list}) and name = {name}", ids=ids, name=name)
    assert await db.fetch(query) == [(3, "three")]
    assert await db.fetchrow(query) == (3, "three")
    assert await db.fetchval(query, column="name") == "three"
    assert [row async for row in db.stream(query)] == [(3, "three")]
    assert len(await db.fetch_arrow(query)) == 1
    assert (await db.execute(query)).rowcount == 1
    out = io.BytesIO()
    assert await db.unload(query, out) == 1
    assert out.getvalue() == b"3|three|\n"
    table = "item"
    changed = await db.execute(
        t("update {table:identifier} set name = {name} where id = 1", table=table, name="x")
    )
    assert changed.rowcount == 1
    assert (await db.execute(t("delete from {table:identifier}", table=table))).rowcount == 3


async def test_a_template_is_prepared_once(server: Server) -> None:
    async with aioifx.connect(server.dsn) as conn:
        assert await conn.fetchval(t("select name from item where id = {id}", id=1)) == "one"
        assert await conn.fetchval(t("select name from item where id = {key}", key=2)) == "two"
        assert await conn.fetchval("select name from item where id = ?", 3) == "three"
        assert conn.stats.statements == 1


async def test_a_prepared_template_has_the_values_of_calls_without_any(server: Server) -> None:
    query = t("select name from {table:identifier} where id in ({ids:list})", table="item", ids=[1])
    async with aioifx.connect(server.dsn) as conn:
        async with await conn.prepare(query) as statement:
            assert statement.sql == "select name from item where id in (?)"
            assert await statement.fetch() == [("one",)]
            assert await statement.fetchval(2) == "two"
            assert await statement.fetchrow() == ("one",)
            assert [row async for row in statement.stream()] == [("one",)]
            assert [row async for row in statement.stream(3)] == [("three",)]
            with pytest.raises(InterfaceError, match=r"^expected 1 parameter, got 2$"):
                await statement.fetch(1, 2)
            with pytest.raises(InterfaceError, match=r"^named: expected values by position"):
                await statement.fetch(named={"ids": 1})
        insert = t(
            "insert into {table:identifier} (id, name) values ({id}, {name})", table="item", id=4, name="4"
        )
        async with await conn.prepare(insert) as statement:
            assert (await statement.execute()).rowcount == 1
            assert (await statement.executemany([(5, "5"), (6, "6")])).rowcount == 2
        async with await conn.prepare(t("delete from item where id > 3")) as statement:
            assert (await statement.execute()).rowcount == 3


async def test_an_error_of_a_prepared_template_points_into_it(server: Server) -> None:
    async with aioifx.connect(server.dsn) as conn:
        with pytest.raises(UndefinedTable) as unprepared:
            await conn.prepare(t("select id from {table:identifier}", table="missing"))
        assert unprepared.value.__notes__[-1].startswith("template, column 16:")
        trips = conn.stats.round_trips
        with pytest.raises(InterfaceError, match=r"^style: expected \"qmark\" for a template"):
            await conn.prepare(t("select id from item where id = {id}", id=1), style="named")
        with pytest.raises(InterfaceError, match=r"^\{id!r\}: expected no conversion"):
            await conn.prepare(t("select id from item where id = {id!r}", id=1))
        with pytest.raises(InterfaceError, match=r"^sql: expected a str, got bytes$"):
            await conn.prepare(b"select id from item")  # type: ignore[call-overload]
        assert conn.stats.round_trips == trips
        statement = await conn.prepare(t("select id from item where id = {id}", id=object()))
        with pytest.raises(DataError, match=r"^parameter \{id\}: "):
            await statement.fetch()


async def test_a_template_cannot_have_other_values(db: Queries) -> None:
    query = t("select id from item where id = {id}", id=1)
    message = "^sql: a template has its values"
    with pytest.raises(InterfaceError, match=message):
        await db.fetch(query, 1)
    with pytest.raises(InterfaceError, match=message):
        await db.execute(query, named={"id": 1})
    with pytest.raises(InterfaceError, match=message):
        db.stream(query, named={})
    with pytest.raises(InterfaceError, match=message):
        await db.unload(query, io.BytesIO(), 1)


async def test_what_is_neither_text_nor_a_template_is_refused_with_values_as_well(db: Queries) -> None:
    wrong: Any = b"select id from item where id = ?"
    for call in (db.fetch(wrong, 1), db.execute(wrong, 1), db.fetchval(wrong, named={"id": 1})):
        with pytest.raises(InterfaceError, match=r"^sql: expected a str, got bytes$"):
            await call


async def test_many_executions_take_no_template(server: Server) -> None:
    insert = t("insert into item (id) values ({id})", id=4)
    refused = pytest.raises(
        InterfaceError, match=r"sql: expected a str, got Template; a t-string has the values"
    )
    async with aioifx.connect(server.dsn) as conn:
        trips = conn.stats.round_trips
        for call in (
            conn.executemany(insert, [(4,)]),
            conn.executemany(insert, named=[{"id": 4}]),
            conn.cursor().executemany(insert, [(4,)]),
            conn.cursor().executemany(insert, [{"id": 4}]),
        ):
            with refused:
                await call
        assert conn.stats.round_trips == trips


async def test_a_cursor_takes_a_template(server: Server) -> None:
    ids = (2, 3)
    query = t("select name from item where id in ({ids:list}) order by id", ids=ids)
    async with aioifx.connect(server.dsn) as conn, conn.cursor() as cursor:
        assert await (await cursor.execute(query)).fetchall() == [("two",), ("three",)]
        assert await (await cursor.execute(query, {})).fetchone() == ("two",)
        for call in (
            cursor.execute(query, (1,)),
            cursor.execute(query, {"a": 1}),
            cursor.execute(query, named={}),
        ):
            with pytest.raises(InterfaceError, match=r"^sql: a template has its values"):
                await call


async def test_an_error_of_a_template_s_value_has_its_expression(db: Queries) -> None:
    name = object()
    with pytest.raises(DataError, match=r"parameter \{name\}: ") as raised:
        await db.execute(t("update item set name = {name} where id = {id}", name=name, id=1))
    assert (raised.value.parameter, raised.value.column) == (1, "name")


async def test_an_error_of_the_server_points_into_the_template(db: Queries) -> None:
    table, id = "missing", 1
    with pytest.raises(UndefinedTable) as raised:
        await db.fetch(t("select * from {table:identifier} where id = {id}", table=table, id=id))
    assert raised.value.sql == "select * from missing where id = ?"
    assert raised.value.__notes__ == [
        "SQL, column 15:\n    select * from missing where id = ?\n                  ^",
        "template, column 15:\n    select * from {table:identifier} where id = {id}\n                  ^",
    ]
    for statement in ("delete from {table:identifier}", "drop table {table:identifier}"):
        with pytest.raises(UndefinedTable) as changed:
            await db.execute(t(statement, table=table))
        assert [note.split(",")[0] for note in changed.value.__notes__] == ["SQL", "template"]
    with pytest.raises(SQLSyntaxError) as broken:
        await db.fetch(t("selct * from {table:identifier}", table=table))
    assert [note.split(",")[0] for note in broken.value.__notes__] == ["SQL"]


@pytest.mark.parametrize("foreign", ["%s", "$1", ":id"])
async def test_another_placeholder_in_a_template_has_a_hint(db: Queries, foreign: str) -> None:
    with pytest.raises(SQLSyntaxError) as raised:
        await db.fetch(t(f"select id from item where id = {foreign} and name = {{name}}", name="x"))
    assert raised.value.__notes__[1:] == ["a template has no other placeholders: write {value}"]


async def test_a_cursors_row_factory_may_be_changed(server: Server) -> None:
    async with aioifx.connect(server.dsn) as conn:
        cursor: Any = conn.cursor()
        assert await (await cursor.execute("select id from item where id = 1")).fetchone() == (1,)
        cursor.row_factory = dict_row
        assert cursor.row_factory is dict_row
        assert await (await cursor.execute("select id from item where id = 1")).fetchone() == {"id": 1}
        with pytest.raises(InterfaceError, match=r"row_factory: expected a callable"):
            cursor.row_factory = "dict"


# -- limits of time ---------------------------------------------------------------------------------------------------


CALLS: dict[str, Callable[[Queries, float], Any]] = {
    "fetch": lambda db, timeout: db.fetch(ENDLESS, timeout=timeout),
    "fetchrow": lambda db, timeout: db.fetchrow(ENDLESS, timeout=timeout),
    "fetchval": lambda db, timeout: db.fetchval(ENDLESS, timeout=timeout),
    "fetchval by name": lambda db, timeout: db.fetchval(ENDLESS, column="(count(*))", timeout=timeout),
    "execute": lambda db, timeout: db.execute(ENDLESS, timeout=timeout),
    "execute with parameters": lambda db, timeout: db.execute(
        f"{ENDLESS} where a.tabid > ?", 0, timeout=timeout
    ),
    "a command": lambda db, timeout: db.execute(f"insert into item (id) {ENDLESS}", timeout=timeout),
    "stream": lambda db, timeout: anext(db.stream(ENDLESS, timeout=timeout)),
    "unload": lambda db, timeout: db.unload(ENDLESS, io.BytesIO(), timeout=timeout),
    "executemany": lambda db, timeout: db.executemany(
        f"insert into item (id) select count(*) from{ENDLESS.split('from')[1]} where a.tabid > ?",
        [(0,)],
        timeout=timeout,
    ),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_a_call_has_a_limit_of_time_of_its_own(
    db: Queries, server: Server, call: Callable[[Queries, float], Any]
) -> None:
    task = asyncio.ensure_future(call(db, 60.0))
    await eventually(lambda: any(session.running for session in server.stats.sessions))
    time_is_up(next(iter(db._manager.state.in_use)).session.session if isinstance(db, Pool) else db._session)
    with pytest.raises(QueryTimeout, match=r"no answer within 60 s; the statement was interrupted"):
        await task
    assert await db.fetchval("select count(*) from item") == 3, "the limit was that call's alone"


@pytest.mark.parametrize("call", [*CALLS.values()], ids=CALLS)
async def test_an_invalid_limit_is_refused_before_anything_is_sent(
    server: Server, call: Callable[[Queries, float], Any]
) -> None:
    wrong: list[Any] = [0, -1, float("nan"), float("inf"), True, "1"]
    async with aioifx.connect(server.dsn) as conn, aioifx.create_pool(server.dsn, min_size=0) as pool:
        before = conn.stats.round_trips
        for seconds in wrong:
            with pytest.raises(InterfaceError, match=r"^timeout: expected a number of seconds above 0, got "):
                await call(conn, seconds)
            with pytest.raises(InterfaceError, match=r"^timeout: "):
                await call(pool, seconds)
        assert conn.stats.round_trips == before


async def test_a_limit_of_a_prepared_statement_and_of_a_cursor(server: Server) -> None:
    async with aioifx.connect(server.dsn) as conn:
        statement = await conn.prepare(ENDLESS)
        calls: list[Callable[[PreparedStatement[Any]], Any]] = [
            lambda statement: statement.fetch(timeout=0.05),
            lambda statement: statement.fetchrow(timeout=0.05),
            lambda statement: statement.fetchval(timeout=0.05),
            lambda statement: statement.execute(timeout=0.05),
            lambda statement: anext(statement.stream(timeout=0.05)),
        ]
        for call in calls:
            with pytest.raises(QueryTimeout, match=r"0\.05 s"):
                await call(statement)
        async with conn.cursor() as cursor:
            with pytest.raises(QueryTimeout, match=r"0\.05 s"):
                await cursor.execute(ENDLESS, timeout=0.05)
            with pytest.raises(InterfaceError, match=r"^timeout: "):
                await cursor.execute(ENDLESS, timeout=0)
        with pytest.raises(InterfaceError, match=r"^timeout: "):
            await conn.prepare("select id from item", timeout=0)
        assert await conn.fetchval("select count(*) from item") == 3


async def test_a_limit_of_a_call_is_in_force_instead_of_the_connections(server: Server) -> None:
    async with aioifx.connect(server.dsn, command_timeout=0.1, cancel_timeout=0.5) as conn:
        assert await conn.fetchval("select count(*) from item", timeout=30) == 3
        dispatcher = conn._session.dispatcher
        assert (dispatcher._timeout, dispatcher._deadline) == (0.1, None)
        with pytest.raises(QueryTimeout, match=r"within 0\.1 s"):
            await conn.fetchval(ENDLESS)
        with pytest.raises(QueryTimeout, match=r"within 0\.2 s"):
            await conn.fetchval(ENDLESS, timeout=0.2)


async def test_the_wait_for_others_counts(server: Server) -> None:
    async with aioifx.connect(server.dsn) as conn:
        other = asyncio.create_task(conn.fetchval(ENDLESS))
        await eventually(lambda: conn._session.dispatcher.is_acquired)
        with pytest.raises(
            QueryTimeout, match=r"the connection was not free within 0\.05 s; nothing was sent"
        ):
            await conn.fetchval("select count(*) from item", timeout=0.05)
        other.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await other
        assert await conn.fetchval("select count(*) from item") == 3


async def test_a_pools_call_waits_for_its_connection_within_acquire_timeout(server: Server) -> None:
    async with pooled(server, acquire_timeout=0.05) as pool, pool.acquire():
        with pytest.raises(PoolTimeout, match=r"no connection within 0\.05 s"):
            await pool.fetchval("select count(*) from item", timeout=30)


# -- a pool's stream --------------------------------------------------------------------------------------------------


async def test_a_pools_stream_gives_its_connection_back_however_it_ends(server: Server) -> None:
    async with pooled(server, cancel_timeout=0.5) as pool:
        with pytest.raises(SQLSyntaxError):
            await anext(pool.stream("select from"))
        assert pool.stats.in_use == 0
        stream = pool.stream("select a.tabid from systables a, systables b")
        await anext(stream)
        assert pool.stats.in_use == 1
        await stream.aclose()
        await stream.aclose()
        assert [row async for row in stream] == []
        assert pool.stats.in_use <= 1  # it may be cleared up still
        assert await pool.fetchval("select count(*) from item") == 3
        stream = pool.stream(ENDLESS)
        task = asyncio.ensure_future(anext(stream))
        await eventually(lambda: pool.stats.in_use == 1)
        await cancelled(task)
        assert await pool.fetchval("select count(*) from item") == 3
        unused = pool.stream("select id from item")
        await unused.aclose()
        del unused, stream
        gc.collect()
        assert pool.stats.acquired == 5


async def test_a_pools_stream_that_is_closed_by_another_task(server: Server) -> None:
    async with pooled(server) as pool:
        stream = pool.stream("select a.tabid from systables a, systables b")
        task = asyncio.ensure_future(stream.__anext__())
        await eventually(lambda: pool.stats.in_use == 1)
        await stream.aclose()
        with pytest.raises(StopAsyncIteration):
            await task
        assert await pool.fetchval("select count(*) from item") == 3


# -- properties of a connection ---------------------------------------------------------------------------------------


async def test_a_connection_describes_its_session(server: Server) -> None:
    async with aioifx.connect(server.dsn, user="ada") as conn:
        assert (conn.user, conn.log_mode, conn.is_ansi) == ("ada", "logged", False)
        assert conn.server_name == aioifx.parse_dsn(server.dsn).server
        number = await conn.session_id()
        before = conn.stats.round_trips
        assert [number] == [session.session_id for session in server.stats.sessions]
        assert await conn.session_id() == number
        assert conn.stats.round_trips == before
        await conn.execute("close database")
        assert conn.log_mode is None


@pytest.mark.parametrize("mode", list(LogMode))
async def test_a_connection_has_its_databases_log_mode(mode: LogMode) -> None:
    options = ServerOptions(databases=("d",), log_mode=mode)
    async with serve(options) as server, aioifx.connect(server.dsn) as conn:
        assert conn.log_mode == mode.value
        assert conn.is_ansi is (mode is LogMode.ANSI)


async def test_autocommit_may_be_set(server: Server) -> None:
    async with aioifx.connect(server.dsn) as conn, aioifx.connect(server.dsn) as other:
        conn.autocommit = False
        await conn.execute("update item set name = 'x' where id = 1")
        assert conn.is_in_transaction()
        with pytest.raises(InterfaceError, match=r"autocommit: cannot change in a transaction"):
            conn.autocommit = True
        await conn.rollback()
        conn.autocommit = True
        await conn.execute("update item set name = 'y' where id = 1")
        assert await other.fetchval("select name from item where id = 1") == "y"
        wrong: Any = 1
        with pytest.raises(InterfaceError, match=r"autocommit: expected True or False, got int"):
            conn.autocommit = wrong
        running = asyncio.ensure_future(conn.fetchval(ENDLESS))
        await eventually(lambda: runs(conn))
        with pytest.raises(InterfaceError, match=r"autocommit: cannot change while a call"):
            conn.autocommit = False
        conn.cancel()
        with pytest.raises(QueryCanceled):
            await running


def runs(conn: Connection[Any]) -> bool:
    """Whether a statement runs that can be interrupted."""
    out = conn._session.dispatcher._in_flight
    return bool(out) and out[0].is_interruptible


async def test_after_a_release_autocommit_is_again_as_configured(server: Server) -> None:
    async with pooled(server) as pool:
        async with pool.acquire() as conn:
            conn.autocommit = False
            await conn.execute("update item set name = 'x' where id = 1")
        async with pool.acquire() as conn:
            assert conn.autocommit
            assert await conn.fetchval("select name from item where id = 1") == "one"
            await conn.execute("update item set name = 'y' where id = 1")
            assert not conn.is_in_transaction()
        assert pool.stats.opened == 1


async def test_an_init_hook_may_set_autocommit(server: Server) -> None:
    async def init(conn: Connection[Any]) -> None:
        conn.autocommit = False

    async with pooled(server, init=init) as pool:
        for _ in range(2):
            async with pool.acquire() as conn:
                assert not conn.autocommit
                conn.autocommit = True


async def test_autocommit_needs_a_log_to_be_turned_off() -> None:
    options = ServerOptions(databases=("d",), log_mode=LogMode.UNLOGGED)
    async with serve(options) as server, aioifx.connect(server.dsn) as conn:
        with pytest.raises(NotSupportedError):
            conn.autocommit = False
        assert conn.autocommit


# -- cancel -----------------------------------------------------------------------------------------------------------

MANY = f"insert into item (id) select count(*) from{ENDLESS.split('from')[1]} where a.tabid > ?"

CANCELLED: dict[str, Callable[[Connection[Any]], Any]] = {
    "fetch": lambda conn: conn.fetch(ENDLESS),
    "execute": lambda conn: conn.execute(f"insert into item (id) {ENDLESS}"),
    "stream": lambda conn: anext(conn.stream(ENDLESS)),
    "executemany": lambda conn: conn.executemany(MANY, [(0,)]),
    "executemany that collects": lambda conn: conn.executemany(MANY, [(0,)], on_error="collect"),
}


@pytest.mark.parametrize("call", CANCELLED.values(), ids=CANCELLED)
async def test_cancel_interrupts_what_another_task_runs(
    server: Server, call: Callable[[Connection[Any]], Any]
) -> None:
    async with aioifx.connect(server.dsn) as conn:
        conn.cancel()  # nothing runs
        running = asyncio.ensure_future(call(conn))
        await eventually(lambda: runs(conn))
        conn.cancel()
        conn.cancel()
        with pytest.raises(QueryCanceled) as caught:
            await running
        assert caught.value.sqlcode == -213
        assert not conn.is_in_transaction()
        assert await conn.fetchval("select count(*) from item") == 3


async def test_cancel_between_two_requests_of_a_call_interrupts_the_next_one(server: Server) -> None:
    async with aioifx.connect(server.dsn) as conn, conn._session:
        statement = await conn._statements.acquire(ENDLESS)
        conn.cancel()
        with pytest.raises(QueryCanceled):
            await fetch_all_rows(statement, (), tuple_row)
        statement.release_later()


@pytest.mark.parametrize("pipelining", [False, True])
async def test_cancel_interrupts_the_call_after_a_stream_that_was_left_early(
    server: Server, pipelining: bool
) -> None:
    """The server still runs the stream's next fetch, which no call waits for."""
    async with aioifx.connect(server.dsn, pipelining=pipelining, fetch_size=4096) as conn:
        await conn.execute("create table n (n int)")
        await conn.executemany("insert into n values (?)", [(n,) for n in range(341)])
        stream = conn.stream(f"select n from n union all {ENDLESS}", prefetch=True)
        await anext(stream)  # the first block is these rows; the next one waits for the endless part
        assert runs(conn)
        await stream.aclose()
        running = asyncio.ensure_future(conn.fetchval(ENDLESS))
        await run_once_waiting(running)
        assert runs(conn), "the fetch"
        conn.cancel()
        with pytest.raises(QueryCanceled):
            await running
        assert await conn.fetchval("select count(*) from item") == 3


async def run_once_waiting(task: asyncio.Task[Any]) -> None:
    """Let *task* go on as far as it gets without the server."""
    for _ in range(20):
        await asyncio.sleep(0)
    assert not task.done()


async def test_cancel_while_the_source_of_rows_is_awaited_interrupts_the_next_write(server: Server) -> None:
    ready = asyncio.Event()

    async def rows() -> AsyncIterator[tuple[int]]:
        await ready.wait()
        yield (0,)

    async with aioifx.connect(server.dsn) as conn:
        writing = asyncio.ensure_future(conn.executemany(MANY, rows()))
        await eventually(lambda: conn._session.dispatcher.is_acquired and not runs(conn))
        conn.cancel()
        await run_once_waiting(writing)
        ready.set()
        with pytest.raises(QueryCanceled):
            await writing
        assert await conn.fetchval("select count(*) from item") == 3


async def test_cancel_drops_a_connection_whose_server_does_not_end_the_statement(server: Server) -> None:
    async with aioifx.connect(server.dsn, cancel_timeout=0) as conn:
        running = asyncio.ensure_future(conn.fetch(ENDLESS))
        await eventually(lambda: runs(conn))
        conn.cancel()
        with pytest.raises(ConnectionLost):
            await running
        assert conn.is_closed()


async def test_cancel_of_a_connection_that_was_released_is_rejected(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "fastapi", raising=False)
    async with pooled(server) as pool:
        conn = await pool.acquire()
        await pool.release(conn)
        with pytest.raises(InterfaceError, match="was released to its pool") as caught:
            conn.cancel()
        assert not hasattr(caught.value, "__notes__")
        monkeypatch.setitem(sys.modules, "fastapi", ModuleType("fastapi"))
        with pytest.raises(InterfaceError, match="was released to its pool") as caught:
            conn.cancel()
        assert 'scope="request"' in caught.value.__notes__[0]
