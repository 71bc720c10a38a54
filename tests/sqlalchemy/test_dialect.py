"""The dialect: URL, versions, transactions, isolation levels, errors."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.dialects import registry
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

import aioifx
from aioifx.server import running
from aioifx.sqlalchemy import AsyncInformixDialect, InformixDialect
from aioifx.sqlalchemy.dialect import dsn_of

TABLE = sa.table("t", sa.column("k", sa.Integer))


@pytest.fixture
async def table(engine: AsyncEngine) -> sa.TableClause:
    async with engine.begin() as conn:
        await conn.execute(sa.text("CREATE TABLE t (k INTEGER PRIMARY KEY)"))
    return TABLE


async def keys(engine: AsyncEngine) -> list[int]:
    async with engine.connect() as conn:
        return list((await conn.scalars(sa.select(TABLE.c.k).order_by(TABLE.c.k))).all())


# -- the URL ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["informix", "informix.aioifx"])
def test_the_entry_points_name_the_dialect(name: str) -> None:
    dialect = registry.load(name)
    assert dialect is InformixDialect
    assert dialect.get_async_dialect_cls(make_url("informix://")) is AsyncInformixDialect


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("app:secret@db1:9088/shop?server=ol_shop",
         "app:secret@db1:9088/shop?lobs=inline&DELIMIDENT=y&server=ol_shop"),
        ("app:p%40ss+w%25rd@[::1]/shop?server=s&application_name=a+b&autocommit=true",
         "app:p%40ss%2Bw%25rd@[::1]/shop?lobs=inline&DELIMIDENT=y&server=s&application_name=a%20b&autocommit=true"),
        ("app@/shop?host=db1%3A9088&host=db2&server=ol_shop&DELIMIDENT=n",
         "app@/shop?lobs=inline&host=db1%3A9088%2Cdb2&server=ol_shop&DELIMIDENT=n"),
    ],
)  # fmt: skip
def test_the_url_becomes_a_dsn(url: str, expected: str) -> None:
    dsn = dsn_of(make_url(f"informix+aioifx://{url}"))
    assert dsn == f"informix://{expected}"
    aioifx.parse_dsn(dsn)


async def test_connect_args_override_the_url(url: str) -> None:
    engine = create_async_engine(url, connect_args={"application_name": "shop", "lobs": "handles"})
    async with engine.connect() as conn:
        raw = await conn.get_raw_connection()
        assert isinstance(raw.driver_connection, aioifx.Connection)
        assert raw.driver_connection.autocommit is False
    await engine.dispose()


async def test_a_connection_failure_is_an_error_of_sqlalchemy_without_the_password() -> None:
    async with running(user="app", password="right") as dsn:
        url = make_url(dsn).set(drivername="informix+aioifx", password="geheim+7")
        engine = create_async_engine(url)
        with pytest.raises(exc.OperationalError) as caught:
            async with engine.connect():
                pass
        assert isinstance(caught.value.orig, aioifx.AuthenticationError)
        assert "geheim" not in str(caught.value)


# -- connecting -------------------------------------------------------------------------------------------------------


async def test_the_first_connection_tells_version_and_owner(engine: AsyncEngine) -> None:
    async with engine.connect():
        assert engine.dialect.server_version_info == (15, 0)
        assert engine.dialect.default_schema_name == "informix"


@pytest.mark.parametrize("log", ["", " WITH LOG"])
async def test_without_a_database_one_is_made_and_dropped(url: str, log: str) -> None:
    """Without AUTOCOMMIT, as setup scripts and sqlalchemy_utils do."""
    engine = create_async_engine(make_url(url).set(database=None))
    async with engine.begin() as conn:
        await conn.execute(sa.text(f"CREATE DATABASE made{log}"))
        await conn.execute(sa.text("CLOSE DATABASE"))
    made = create_async_engine(make_url(url).set(database="made"))
    async with made.begin() as conn:
        assert await conn.scalar(sa.text("SELECT 1")) == 1
    await made.dispose()
    async with engine.begin() as conn:
        await conn.execute(sa.text("DROP DATABASE made"))
    await engine.dispose()


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        (None, "part"),
        ("joe", '"joe".part'),
        ("Joe Doe", '"Joe Doe".part'),
        ("stock:joe", 'stock:"joe".part'),
        ("stock@far:joe", 'stock@far:"joe".part'),
        ("Stock:joe", '"Stock":"joe".part'),
    ],
)
def test_a_schema_is_an_owner_after_a_database(schema: str | None, name: str) -> None:
    table = sa.Table("part", sa.MetaData(), sa.Column("id", sa.Integer), schema=schema)
    query = str(sa.select(table).compile(dialect=InformixDialect()))
    assert query == f"SELECT {name}.id \nFROM {name}"


def test_a_schema_names_an_owner() -> None:
    table = sa.Table("part", sa.MetaData(), sa.Column("id", sa.Integer), schema="stock:")
    with pytest.raises(exc.CompileError, match="expected an owner after the database, got 'stock:'"):
        sa.select(table).compile(dialect=InformixDialect())


def test_schemas_are_translated() -> None:
    table = sa.Table("part", sa.MetaData(), sa.Column("id", sa.Integer), schema="joe")
    query = sa.select(table).compile(
        dialect=InformixDialect(), schema_translate_map={"joe": "stock:ann"}, render_schema_translate=True
    )
    assert str(query) == 'SELECT stock:"ann".part.id \nFROM stock:"ann".part'


async def test_names_are_quoted_where_they_need_to_be(engine: AsyncEngine) -> None:
    metadata = sa.MetaData()
    table = sa.Table("Mixed Case", metadata, sa.Column("Key", sa.Integer, primary_key=True))
    async with engine.begin() as conn:
        await conn.run_sync(metadata.create_all)
        await conn.execute(table.insert(), {"Key": 3})
        assert (await conn.execute(sa.select(table.c.Key))).all() == [(3,)]


async def test_a_lost_connection_invalidates_the_pool(url: str) -> None:
    engine = create_async_engine(url)
    async with engine.connect() as conn:
        raw = await conn.get_raw_connection()
        assert raw.driver_connection is not None
        raw.driver_connection.terminate()
        with pytest.raises(exc.DBAPIError) as caught:
            await conn.execute(sa.text("SELECT tabname FROM systables WHERE tabid = 1"))
        assert caught.value.connection_invalidated
        await conn.rollback()
        assert await conn.scalar(sa.text("SELECT tabid FROM systables WHERE tabid = 1")) == 1
    await engine.dispose()


async def test_pre_ping_replaces_a_connection_that_the_server_has_closed(url: str) -> None:
    engine = create_async_engine(url, pool_pre_ping=True, pool_size=1)
    async with engine.connect() as conn:
        raw: Any = await conn.get_raw_connection()
        first = raw.driver_connection
    first.terminate()
    async with engine.connect() as conn:
        raw = await conn.get_raw_connection()
        assert raw.driver_connection is not first
        assert await conn.scalar(sa.text("SELECT tabid FROM systables WHERE tabid = 1")) == 1
    await engine.dispose()


@pytest.mark.parametrize("is_async", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
async def test_pre_ping_replaces_the_connections_of_a_forks_parent(url: str, is_async: bool) -> None:
    program = f"""
import asyncio, os
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine

QUERY = sa.text("SELECT tabid FROM systables WHERE tabid = 1")
engine = {"create_async_engine" if is_async else "sa.create_engine"}({url!r}, pool_pre_ping=True)

def use():
    with engine.connect() as conn:
        return conn.scalar(QUERY)

async def use_async():
    async with engine.connect() as conn:
        return await conn.scalar(QUERY)

def call():
    return asyncio.run(use_async()) if {is_async} else use()

assert call() == 1
pid = os.fork()
assert call() == 1
if pid == 0:
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
assert call() == 1
print("done")
"""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-W", "ignore", "-c", program, stdout=-1, stderr=asyncio.subprocess.STDOUT
    )
    out, _ = await child.communicate()
    assert out.decode() == "done\n"


# -- transactions -----------------------------------------------------------------------------------------------------


async def test_a_block_commits_and_an_exception_rolls_back(engine: AsyncEngine, table: Any) -> None:
    async with engine.begin() as conn:
        await conn.execute(table.insert().values(k=1))
    with pytest.raises(ZeroDivisionError):
        async with engine.begin() as conn:
            await conn.execute(table.insert().values(k=2))
            raise ZeroDivisionError
    assert await keys(engine) == [1]


async def test_savepoints(engine: AsyncEngine, table: Any) -> None:
    async with engine.begin() as conn:
        await conn.execute(table.insert().values(k=1))
        inner = await conn.begin_nested()
        await conn.execute(table.insert().values(k=2))
        await inner.rollback()
        async with conn.begin_nested():
            await conn.execute(table.insert().values(k=3))
    assert await keys(engine) == [1, 3]


@pytest.mark.parametrize(
    "level",
    [
        "DIRTY READ",
        "COMMITTED READ",
        "COMMITTED READ LAST COMMITTED",
        "CURSOR STABILITY",
        "REPEATABLE READ",
        "AUTOCOMMIT",
    ],
)
async def test_isolation_levels_for_one_connection(engine: AsyncEngine, level: Any) -> None:
    default: Any = "COMMITTED READ"
    async with engine.connect() as conn:
        assert await conn.get_isolation_level() == default
    async with engine.connect() as conn:
        conn = await conn.execution_options(isolation_level=level)
        assert await conn.get_isolation_level() == level
    async with engine.connect() as conn:
        assert await conn.get_isolation_level() == default


async def test_autocommit_leaves_nothing_to_roll_back(engine: AsyncEngine, table: Any) -> None:
    async with engine.connect() as conn:
        conn = await conn.execution_options(isolation_level="AUTOCOMMIT")
        await conn.execute(table.insert().values(k=1))
        await conn.rollback()
    assert await keys(engine) == [1]


def use_a_database_without_a_log(conn: sa.Connection) -> None:
    assert conn.get_isolation_level() == conn.dialect.default_isolation_level == "AUTOCOMMIT"
    conn.execute(sa.text("CREATE TABLE t (k INTEGER)"))
    conn.execute(TABLE.insert().values(k=1))
    conn.rollback()
    conn.execute(TABLE.insert(), [{"k": 2}, {"k": 3}])
    conn.commit()
    assert conn.scalars(sa.select(TABLE.c.k).order_by(TABLE.c.k)).all() == [1, 2, 3]
    conn.rollback()
    conn.execution_options(isolation_level="AUTOCOMMIT")
    conn.execute(sa.text("DROP TABLE t"))


@pytest.mark.parametrize("options", [{}, {"autocommit": "true"}, {"autocommit": "false"}])
async def test_in_a_database_without_a_log_every_statement_is_on_its_own(options: Any) -> None:
    async with running(log_mode="unlogged") as dsn:
        url = make_url(dsn).set(drivername="informix+aioifx").update_query_dict(options)
        engine = create_async_engine(url, pool_size=1)
        for _ in range(2):  # the second time after the isolation level was reset
            async with engine.connect() as conn:
                await conn.run_sync(use_a_database_without_a_log)
        async with engine.connect() as conn:
            with pytest.raises(aioifx.NotSupportedError, match="the database is not logged"):
                conn = await conn.execution_options(isolation_level="COMMITTED READ")
        await engine.dispose()

        def use_without_asyncio() -> None:
            engine = sa.create_engine(url, pool_size=1)
            for _ in range(2):
                with engine.connect() as conn:
                    use_a_database_without_a_log(conn)
            engine.dispose()

        await asyncio.to_thread(use_without_asyncio)


async def test_a_pool_of_aioifx_on_a_database_without_a_log() -> None:
    async with running(log_mode="unlogged") as dsn, aioifx.create_pool(dsn) as pool:
        engine = create_async_engine("informix+aioifx://", async_creator=pool.acquire, poolclass=sa.NullPool)
        async with engine.connect() as conn:
            await conn.run_sync(use_a_database_without_a_log)


async def test_autocommit_in_the_url_is_the_default_isolation_level(url: str, table: Any) -> None:
    engine = create_async_engine(f"{url}&autocommit=true", pool_size=1)
    for key in (1, 2):
        async with engine.connect() as conn:
            await conn.execute(table.insert().values(k=key))
            await conn.rollback()
            assert await conn.get_isolation_level() == "AUTOCOMMIT"
            conn = await conn.execution_options(isolation_level="AUTOCOMMIT")
    async with engine.connect() as conn:
        conn = await conn.execution_options(isolation_level="REPEATABLE READ")
        await conn.execute(table.delete())
        await conn.rollback()
    assert await keys(engine) == [1, 2]
    await engine.dispose()


# -- errors and results -----------------------------------------------------------------------------------------------


async def test_errors_have_sqlalchemys_classes_and_the_clients_codes(engine: AsyncEngine, table: Any) -> None:
    async with engine.begin() as conn:
        await conn.execute(table.insert().values(k=1))
        with pytest.raises(exc.IntegrityError) as caught:
            await conn.execute(table.insert().values(k=1))
        assert isinstance(caught.value.orig, aioifx.UniqueViolation)
        assert not caught.value.connection_invalidated
        with pytest.raises(exc.ProgrammingError):
            await conn.execute(sa.text("SELECT nothing FROM t"))


async def test_many_rows_report_the_number_of_rows(engine: AsyncEngine, table: Any) -> None:
    async with engine.begin() as conn:
        assert (await conn.execute(table.insert(), [{"k": k} for k in range(50)])).rowcount == 50
        assert (await conn.execute(table.delete().where(table.c.k < 20))).rowcount == 20


async def test_a_sequence_is_asked_for_its_next_value(engine: AsyncEngine) -> None:
    async with engine.begin() as conn:
        await conn.execute(sa.text("CREATE SEQUENCE numbers START WITH 5"))
        assert await conn.run_sync(lambda conn: conn.scalar(sa.Sequence("numbers"))) == 5


# -- create_engine ----------------------------------------------------------------------------------------------------


def use_without_asyncio(url: str) -> tuple[list[int], list[int], str]:
    engine = sa.create_engine(url, pool_pre_ping=True)
    with engine.connect() as conn:
        conn.execute(sa.text("CREATE TABLE t (k INTEGER PRIMARY KEY)"))
        conn.execute(TABLE.insert(), [{"k": k} for k in range(3)])
        conn.commit()
        conn.execute(TABLE.delete())
        conn.rollback()
    with engine.connect() as conn:
        found = list(conn.scalars(sa.select(TABLE.c.k).order_by(TABLE.c.k)).all())
        streamed = list(conn.execution_options(yield_per=2).scalars(sa.select(TABLE.c.k)))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        conn.execute(TABLE.delete().where(TABLE.c.k == 1))
        level = str(conn.get_isolation_level())
    with pytest.raises(exc.IntegrityError), engine.begin() as conn:
        conn.execute(TABLE.insert(), {"k": 2})
    with engine.connect() as conn:
        raw = conn.connection.dbapi_connection
        assert raw is not None
        raw.terminate()
        with pytest.raises(exc.OperationalError) as lost:
            conn.scalars(sa.select(TABLE.c.k))
        assert lost.value.connection_invalidated
    with engine.connect() as conn:
        assert len(conn.scalars(sa.select(TABLE.c.k)).all()) == 2
    engine.dispose()
    return found, streamed, level


async def test_the_same_url_works_without_asyncio(url: str) -> None:
    found, streamed, level = await asyncio.to_thread(use_without_asyncio, url)
    assert (found, sorted(streamed), level) == ([0, 1, 2], [0, 1, 2], "AUTOCOMMIT")


INSERT = sa.text("INSERT INTO t VALUES (:v)")
ROWS = sa.text("SELECT * FROM t")


async def run(conn: AsyncConnection, sql: str) -> None:
    await conn.execute(sa.text(sql))


async def test_a_statement_of_a_table_that_another_connection_has_altered(engine: AsyncEngine) -> None:
    async with engine.connect() as one, engine.connect() as other:
        await run(other, "CREATE TABLE t (v INTEGER)")
        await other.commit()
        await one.execute(INSERT, {"v": 1})
        await one.execute(ROWS)
        await one.commit()
        await run(other, "ALTER TABLE t ADD w VARCHAR(20) DEFAULT 'x'")
        await other.commit()
        await run(one, "SELECT tabid FROM systables WHERE tabid = 1")  # begins the transaction
        assert (await one.execute(ROWS)).all() == [(1, "x")]


@pytest.mark.parametrize("kept", [True, False])
async def test_a_statement_of_a_table_whose_creation_was_undone(engine: AsyncEngine, kept: bool) -> None:
    async with engine.connect() as conn:
        await run(conn, "CREATE TABLE t (v INTEGER)")
        await conn.execute(INSERT, [{"v": 1}, {"v": 2}])
        if kept:
            await conn.commit()
            await run(conn, "DROP TABLE t")
        else:
            await conn.rollback()
        await run(conn, "CREATE TABLE t (v VARCHAR(20))")
        await conn.execute(INSERT, [{"v": "a"}, {"v": "b"}])
        assert (await conn.scalars(ROWS)).all() == ["a", "b"]


async def test_without_ddl_a_connection_keeps_its_statements(engine: AsyncEngine) -> None:
    async with engine.begin() as conn:
        await run(conn, "CREATE TABLE t (v INTEGER)")
    async with engine.connect() as conn:
        await conn.execute(ROWS)
        client = (await conn.get_raw_connection()).driver_connection
        assert client is not None
        await conn.execute(INSERT, {"v": 1})
        before = client.stats.round_trips
        await conn.execute(ROWS)
        await conn.execute(INSERT, {"v": 2})
        assert client.stats.round_trips - before == 2
