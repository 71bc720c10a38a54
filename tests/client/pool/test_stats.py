"""Counters and times of a pool, as `stats` and `pop_stats` return them."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict

import pytest

from aioifx import PoolTimeout
from aioifx.client.pool.stats import BOUNDS, Counters, Recorder
from aioifx.server import Server
from tests.client.pooling import move_clock, pooled, queued

# -- histograms -------------------------------------------------------------------------------------------------------


def test_each_duration_counts_in_the_range_whose_bound_it_reaches() -> None:
    recorder = Recorder()
    for seconds in (0.0, 0.001, 0.0011, 10.0, 10.1, 500.0):
        recorder.record(seconds)
    times = recorder.snapshot()
    assert times.counts == (2, 1, 0, 0, 0, 0, 0, 0, 1, 2)
    assert (times.count, times.longest, times.bounds) == (6, 500.0, BOUNDS)
    assert times.total == pytest.approx(520.1021)
    assert len(times.counts) == len(times.bounds) + 1


def test_durations_are_printed_rounded() -> None:
    recorder = Recorder()
    recorder.record(0.0123456)
    assert (
        repr(recorder.snapshot())
        == "<1 duration: 0.0123 s in all, 95 % up to 0.0123 s, the longest 0.0123 s>"
    )
    recorder.record(3.21987)
    assert repr(recorder.snapshot()) == "<2 durations: 3.23 s in all, 95 % up to 3.22 s, the longest 3.22 s>"


def test_a_snapshot_does_not_change() -> None:
    recorder = Recorder()
    before = recorder.snapshot()
    recorder.record(1)
    assert (before.count, before.longest, sum(before.counts)) == (0, 0.0, 0)


@pytest.mark.parametrize(
    ("share", "expected"), [(0.0, 0.001), (0.5, 0.001), (0.6, 0.05), (0.75, 0.05), (1.0, 20.0)]
)
def test_a_quantile_is_the_bound_of_its_range_or_the_longest_duration(share: float, expected: float) -> None:
    recorder = Recorder()
    for seconds in (0.0005, 0.0006, 0.02, 20.0):
        recorder.record(seconds)
    assert recorder.snapshot().quantile(share) == expected


def test_a_quantile_is_at_most_the_longest_duration() -> None:
    recorder = Recorder()
    assert recorder.snapshot().quantile(0.5) == 0
    recorder.record(0.2)
    assert recorder.snapshot().quantile(0.5) == 0.2


def test_recorders_are_not_shared() -> None:
    first, second = Counters(), Counters()
    first.wait_time.record(1)
    assert second.wait_time.snapshot().count == first.use_time.snapshot().count == 0


# -- a pool's ---------------------------------------------------------------------------------------------------------


async def test_wait_and_use_are_timed(server: Server) -> None:
    async with pooled(server) as pool:
        conn = await pool.acquire()
        waiting = asyncio.create_task(pool.fetchval("select count(*) from log"))
        await queued(pool, 1)
        move_clock(pool, 3)
        await pool.release(conn)
        await waiting
        stats = pool.stats
    assert (stats.wait_time.count, stats.wait_time.counts[7]) == (2, 1)
    assert (stats.use_time.count, stats.use_time.counts[7]) == (2, 1)
    assert 3 <= stats.use_time.longest < 5
    assert 3 <= stats.wait_time.longest < 5
    assert stats.create_time.count == stats.opened == 1
    assert 0 < stats.create_time.total == stats.create_time.longest


async def test_a_wait_that_fails_is_counted_and_not_timed(server: Server) -> None:
    async with pooled(server) as pool:
        async with pool.acquire():
            with pytest.raises(PoolTimeout):
                await pool.acquire(timeout=0)
        stats = pool.stats
    assert (stats.timed_out, stats.wait_time.count, stats.use_time.count) == (1, 1, 1)


async def test_stats_are_a_json_document(server: Server) -> None:
    async with pooled(server) as pool:
        await pool.fetchval("select count(*) from log")
        document = json.loads(json.dumps(asdict(pool.stats)))
    assert document["use_time"]["bounds"] == list(BOUNDS)
    assert sum(document["use_time"]["counts"]) == document["use_time"]["count"] == 1


async def test_pop_stats_returns_the_counters_and_resets_them(server: Server) -> None:
    async with pooled(server, name="orders") as pool:
        async with pool.acquire() as conn:
            waiting = asyncio.create_task(pool.fetchval("select count(*) from log"))
            await queued(pool, 1)
            popped = pool.pop_stats()
            after = pool.stats
            assert await conn.fetchval("select count(*) from log") == 0
        await waiting
        assert (popped.name, popped.size, popped.in_use, popped.waiting) == ("orders", 1, 1, 1)
        assert (popped.opened, popped.acquired, popped.most_waiting) == (1, 1, 1)
        assert (popped.wait_time.count, popped.use_time.count, popped.create_time.count) == (1, 0, 1)
        assert (after.size, after.in_use, after.waiting, after.most_waiting) == (1, 1, 1, 1)
        assert (after.opened, after.acquired, after.wait_time.count, after.create_time.count) == (0, 0, 0, 0)
        last = pool.pop_stats()
        assert (last.opened, last.acquired, last.use_time.count, last.most_waiting) == (0, 1, 2, 1)
        assert pool.stats.most_waiting == 0


async def test_a_connection_for_a_task_that_was_cancelled_is_not_an_acquire(server: Server) -> None:
    async with pooled(server) as pool:
        async with pool.acquire():
            waiting = asyncio.create_task(pool.fetchval("select count(*) from log"))
            await queued(pool, 1)
        waiting.cancel()  # it has been assigned the connection, but has not run since
        with pytest.raises(asyncio.CancelledError):
            await waiting
        stats = pool.stats
    assert (stats.acquired, stats.wait_time.count, stats.use_time.count) == (1, 1, 1)
