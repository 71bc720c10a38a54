"""Who holds which connection of a pool, for how long."""

from __future__ import annotations

import asyncio
import gc
import threading
import warnings

import pytest

from aioifx import Connection, Pool, PoolTimeout
from aioifx.client.pool import leases
from aioifx.server import Server
from tests.client.pooling import move_clock, pooled, queued, stop_clock


async def hold(pool: Pool, name: str) -> Connection:
    """Acquire a connection in a task of this name."""

    async def a_handler() -> Connection:
        return await pool.acquire()

    return await asyncio.create_task(a_handler(), name=name)


async def test_holders_are_listed_longest_first(server: Server) -> None:
    async with pooled(server, max_size=3, debug=True) as pool:
        stop_clock(pool)
        first = await hold(pool, "import")
        move_clock(pool, 2)
        async with pool.acquire() as second:
            old, young = pool.holders()
            assert (old.task, old.connection) == ("import", repr(first))
            assert (old.seconds, young.seconds) == (2, 0)
            assert "a_handler" in old.acquired_at and "return await pool.acquire()" in old.acquired_at
            frames = old.acquired_at.replace(__file__, "")
            assert "leases.py" not in frames and "/asyncio/" not in frames
            assert young.connection == repr(second)
        assert [holder.task for holder in pool.holders()] == ["import"]
        await pool.release(first)
        assert pool.holders() == []


async def test_without_debug_mode_holders_have_times_alone(server: Server) -> None:
    async with pooled(server) as pool:
        stop_clock(pool)
        async with pool.acquire():
            move_clock(pool, 2)
            (holder,) = pool.holders()
            assert (holder.task, holder.acquired_at) == ("", "")
            assert holder.seconds == 2
            assert repr(pool).endswith(" open: 0 idle, 1 in use, 0 waiting, at most 1>")
            with pytest.raises(PoolTimeout) as caught:
                await pool.acquire(timeout=0)
            assert not hasattr(caught.value, "__notes__")


async def test_the_repr_names_the_task_that_has_held_longest(server: Server) -> None:
    async with pooled(server, name="web", max_size=2, debug=True) as pool:
        assert repr(pool) == "<Pool 'web' open: 1 idle, 0 in use, 0 waiting, at most 2>"
        conn = await hold(pool, "import")
        move_clock(pool, 60)
        async with pool.acquire():
            assert repr(pool).startswith("<Pool 'web' open: 0 idle, 2 in use (longest: task 'import' for 60.")
        await pool.release(conn)


async def test_a_timeout_has_a_note_of_the_holders(server: Server) -> None:
    async with pooled(server, max_waiting=1, debug=True) as pool:
        conn = await hold(pool, "import")
        move_clock(pool, 2)
        with pytest.raises(PoolTimeout) as caught:
            await pool.acquire(timeout=0)
        waiting = asyncio.create_task(pool.acquire().__aenter__())
        await queued(pool, 1)
        with pytest.raises(PoolTimeout, match="max_waiting") as rejected:
            await pool.acquire()
        await pool.release(conn)
        await pool.release(await waiting)
        for error in (caught.value, rejected.value):
            (note,) = error.__notes__
            assert note.startswith(f"task 'import' has held {conn!r} for 2.".replace("closed", "open"))
            assert f", acquired at {__file__}:" in note and note.endswith(" in a_handler")
        assert "secret" not in note


async def test_a_note_is_short(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "_NOTED", 1)
    async with pooled(server, max_size=3, debug=True) as pool:
        async with pool.acquire(), pool.acquire(), pool.acquire():
            with pytest.raises(PoolTimeout) as caught:
                await pool.acquire(timeout=0)
    first, rest = caught.value.__notes__[0].splitlines()
    assert "has held" in first
    assert rest == "and 2 more"


async def test_a_timeout_without_connections_in_use_has_no_note(server: Server) -> None:
    async with pooled(server, password="wrong", min_size=0, debug=True) as pool:
        with pytest.raises(PoolTimeout, match=r"cannot be reached: .*incorrect user or password") as caught:
            await pool.acquire()
    assert not hasattr(caught.value, "__notes__")


async def test_a_leak_in_another_thread_names_the_task(server: Server) -> None:
    async with pooled(server, max_size=2, debug=True) as pool:
        leaked, kept = [await hold(pool, "import")], await hold(pool, "report")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            thread = threading.Thread(target=leaked.clear)
            thread.start()
            await asyncio.to_thread(thread.join)
            gc.collect()
        (warning,) = [str(each.message) for each in caught if "was not released" in str(each.message)]
        assert "was not released; acquired by task 'import' at\n" in warning
        await pool.release(kept)
