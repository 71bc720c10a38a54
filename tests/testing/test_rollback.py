from __future__ import annotations

import asyncio
from threading import Event

import pytest

import aioifx
import aioifx.server
from aioifx.errors import DatabaseError, RowLocked
from aioifx.server.engine.engine import Engine
from aioifx.testing import rollback
from aioifx.testing.rollback import begin, roll_back
from aioifx.testing.seeds import Seed


async def test_work_is_rolled_back_with_the_seeds(dsn: str) -> None:
    async with aioifx.connect(dsn) as conn:
        transaction = await begin(conn, [Seed("CREATE TABLE t (a INT)", "t.sql")])
        async with conn.transaction():
            await conn.execute("INSERT INTO t VALUES (1)")
        assert await roll_back(conn, transaction, dsn)
        assert not conn.is_in_transaction()
        await conn.execute("CREATE TABLE t (a INT)")


@pytest.mark.parametrize("end", ["COMMIT WORK", "ROLLBACK WORK", "EXECUTE PROCEDURE again()"])
async def test_a_transaction_that_was_ended_is_noticed(dsn: str, end: str) -> None:
    async with aioifx.connect(dsn) as conn:
        await conn.execute("CREATE PROCEDURE again() COMMIT WORK; BEGIN WORK; END PROCEDURE")
        transaction = await begin(conn, [])
        await conn.execute(end)
        assert not await roll_back(conn, transaction, dsn)
        assert not conn.is_in_transaction()


async def test_a_block_left_open_is_rolled_back(dsn: str) -> None:
    async with aioifx.connect(dsn) as conn:
        transaction = await begin(conn, [])
        await conn.transaction().start()
        assert await roll_back(conn, transaction, dsn)
        assert not conn.is_in_transaction()


async def test_a_closed_connection_needs_no_rollback(dsn: str) -> None:
    async with aioifx.connect(dsn) as conn:
        transaction = await begin(conn, [])
        conn.terminate()
        assert await roll_back(conn, transaction, dsn)


async def test_a_seed_that_fails_is_named(dsn: str) -> None:
    async with aioifx.connect(dsn) as conn:
        with pytest.raises(DatabaseError, match=r"^statement 1 of the seed, line 1 of t\.sql: "):
            await begin(conn, [Seed("DELETE FROM t", "t.sql")])


async def test_locks_of_a_lost_connection_are_released(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    may_end, end = Event(), Engine.close

    def end_late(engine: Engine) -> None:
        assert may_end.wait(10)
        end(engine)

    async with aioifx.connect(dsn) as conn, aioifx.connect(dsn) as other:
        await conn.execute("CREATE TABLE t (a INT)")
        transaction = await begin(conn, [Seed("INSERT INTO t VALUES (1)", "t.sql")])
        monkeypatch.setattr(Engine, "close", end_late)
        conn.terminate()
        ended = asyncio.ensure_future(roll_back(conn, transaction, dsn))
        try:
            for _ in range(5):
                with pytest.raises(RowLocked):
                    await other.fetchval("SELECT COUNT(*) FROM t")
            assert not ended.done()
        finally:
            may_end.set()
        assert await ended
        assert await other.fetchval("SELECT COUNT(*) FROM t") == 0


async def test_a_session_that_does_not_end_is_an_error(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollback, "_LIMIT", 0.0)
    async with aioifx.connect(dsn) as conn:
        transaction = await begin(conn, [])
        conn.terminate()
        with pytest.raises(TimeoutError, match=r"^ifx_rollback: expected the server to end session \d+"):
            await roll_back(conn, transaction, dsn)


async def test_a_server_that_is_gone_too_needs_no_rollback() -> None:
    async with aioifx.server.running() as dsn, aioifx.connect(dsn) as conn:
        transaction = await begin(conn, [])
    assert await roll_back(conn, transaction, dsn)
