"""DDL, after which the connections of an engine prepare their statements again."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

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
