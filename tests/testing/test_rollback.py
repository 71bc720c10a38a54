from __future__ import annotations

import pytest

import aioifx
from aioifx.errors import DatabaseError
from aioifx.testing.rollback import begin, roll_back
from aioifx.testing.seeds import Seed


async def test_work_is_rolled_back_with_the_seeds(dsn: str) -> None:
    async with aioifx.connect(dsn) as conn:
        transaction = await begin(conn, [Seed("CREATE TABLE t (a INT)", "t.sql")])
        async with conn.transaction():
            await conn.execute("INSERT INTO t VALUES (1)")
        assert await roll_back(conn, transaction)
        assert not conn.is_in_transaction()
        await conn.execute("CREATE TABLE t (a INT)")


@pytest.mark.parametrize("end", ["COMMIT WORK", "ROLLBACK WORK", "EXECUTE PROCEDURE again()"])
async def test_a_transaction_that_was_ended_is_noticed(dsn: str, end: str) -> None:
    async with aioifx.connect(dsn) as conn:
        await conn.execute("CREATE PROCEDURE again() COMMIT WORK; BEGIN WORK; END PROCEDURE")
        transaction = await begin(conn, [])
        await conn.execute(end)
        assert not await roll_back(conn, transaction)
        assert not conn.is_in_transaction()


async def test_a_block_left_open_is_rolled_back(dsn: str) -> None:
    async with aioifx.connect(dsn) as conn:
        transaction = await begin(conn, [])
        await conn.transaction().start()
        assert await roll_back(conn, transaction)
        assert not conn.is_in_transaction()


async def test_a_closed_connection_needs_no_rollback(dsn: str) -> None:
    async with aioifx.connect(dsn) as conn:
        transaction = await begin(conn, [])
        conn.terminate()
        assert await roll_back(conn, transaction)


async def test_a_seed_that_fails_is_named(dsn: str) -> None:
    async with aioifx.connect(dsn) as conn:
        with pytest.raises(DatabaseError, match=r"^statement 1 of the seed, line 1 of t\.sql: "):
            await begin(conn, [Seed("DELETE FROM t", "t.sql")])
