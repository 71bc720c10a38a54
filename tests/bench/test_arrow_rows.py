"""The bench of Arrow's columns: its ways send the same rows, and its table shows ratios of the same round."""

from __future__ import annotations

import aioifx
import aioifx.server
from aioifx.rows import tuple_row
from tests.bench.arrow_rows import lines, measured, ways_of
from tests.bench.shapes import NARROW, WIDE


async def test_every_way_sends_the_same_rows() -> None:
    async with aioifx.server.running() as dsn, aioifx.connect(dsn, row_factory=tuple_row) as conn:
        await conn.execute(WIDE.create())
        stored = []
        for make in ways_of(WIDE, 50).values():
            await conn.load(WIDE.name, make())
            stored.append(await conn.fetch(WIDE.select()))
            await conn.execute(f"DELETE FROM {WIDE.name}")
            await conn.executemany(WIDE.insert(), make())
            stored.append(await conn.fetch(WIDE.select()))
            await conn.execute(f"DELETE FROM {WIDE.name}")
        assert len(stored[0]) == 50
        assert all(rows == stored[0] for rows in stored)


async def test_every_way_is_measured_in_every_round() -> None:
    async with aioifx.server.running() as dsn:
        async with aioifx.connect(dsn) as conn:
            await conn.execute(NARROW.create())
        found = await measured(dsn, NARROW, 5, rounds=2)
    assert {call: {way: len(times) for way, times in ways.items()} for call, ways in found.items()} == {
        call: {"tuples": 2, "Arrow": 2, "to_pylist": 2} for call in ("load", "executemany")
    }


def test_ratios_are_medians_of_those_of_each_round() -> None:
    found = {
        "load": {"Arrow": [1e-5, 2e-5, 1e-5], "tuples": [3e-5, 6e-5, 9e-5], "to_pylist": [1e-4, 2e-4, 1e-4]}
    }
    assert lines(NARROW, 10, found) == ["| narrow | load | 1.00 µs | 3.0 | 10.0 |"]
