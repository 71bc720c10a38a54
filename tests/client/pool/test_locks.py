"""diagnose_locks for a pool; the rest is in tests/client/connect/test_locks.py."""

from __future__ import annotations

import pytest

import aioifx
import aioifx.diagnosis
import aioifx.server
from aioifx import LockError


async def test_the_connections_of_a_pool_are_its_servers() -> None:
    async with aioifx.server.running("shop", seed="create table item (n int)") as dsn:
        async with aioifx.create_pool(dsn, max_size=2) as pool, pool.acquire() as one:
            async with one.transaction():
                await one.execute("lock table item in exclusive mode")
                with pytest.raises(LockError) as caught:
                    await pool.execute("insert into item values (2)")
                found = await aioifx.diagnosis.diagnose_locks(pool, caught.value)
                assert [lock.holder.session_id for lock in found.locks] == [await one.session_id()]
                assert found.locks[0].holder.is_own_process


async def test_a_full_pool_can_be_diagnosed() -> None:
    async with aioifx.server.running("shop", seed="create table item (n int)") as dsn:
        async with aioifx.create_pool(dsn, max_size=1) as pool, pool.acquire() as one, one.transaction():
            await one.execute("insert into item values (1)")
            found = await aioifx.diagnosis.diagnose_locks(pool, LockError("made up", sql="insert into item"))
            assert [lock.table for lock in found.locks] == ["item"]


async def test_a_pool_without_connections_says_so() -> None:
    async with aioifx.server.running("shop") as dsn:
        pool = aioifx.create_pool(dsn, min_size=0)
        found = await aioifx.diagnosis.diagnose_locks(pool, LockError("made up"))
        assert str(found) == "locks: unknown: the pool has no connection"
