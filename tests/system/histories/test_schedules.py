"""The table of isolation levels and anomalies in the documentation is what the embedded server does."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

import aioifx
from aioifx import server
from tests.system.histories.history import Isolation
from tests.system.histories.schedules import ROWS, SCHEDULES, TABLE
from tests.system.histories.workload import AsyncClient, Locked, mapped_locks

PAGE: Final = Path(__file__).parents[3] / "docs/explanation/anomalies.md"


OPEN: Final = {"OPTOFC": "0"}
"""Keeps a cursor FOR UPDATE open on its only row."""


class AsyncSession(AsyncClient):
    """A session of aioifx."""

    async def numbers(self, sql: str) -> list[int]:
        return [int(value) for value in await self.values(sql)]

    async def fetch_for_update(self, sql: str) -> int:
        self.cursor = self.connection.cursor()  # not collected, so not closed
        with mapped_locks():
            await self.cursor.execute(sql)
            row = await self.cursor.fetchone()
        assert row is not None
        return int(row[0])


def documented() -> dict[str, list[str]]:
    """The rows of the table: by schedule, one cell for each isolation level."""
    rows = [
        [cell.strip(" *") for cell in line.split("|")[1:-1]]
        for line in PAGE.read_text("utf-8").splitlines()
        if line.startswith("|")
    ]
    levels = [isolation.value.upper() for isolation in Isolation]
    (start,) = (number for number, row in enumerate(rows) if row[1:] == levels)
    return {row[0]: row[1:] for row in rows[start + 2 : start + 2 + len(SCHEDULES)]}


@pytest.mark.parametrize("isolation", Isolation)
@pytest.mark.parametrize("name", SCHEDULES)
async def test_the_table_is_what_the_server_does(name: str, isolation: Isolation) -> None:
    async with (
        server.running(seed=";".join([*TABLE, *ROWS])) as dsn,
        aioifx.connect(dsn, environment=OPEN) as first,
        aioifx.connect(dsn, environment=OPEN) as second,
    ):
        one, two = AsyncSession(first), AsyncSession(second)
        for session in (one, two):
            await session.execute(f"set isolation to {isolation.value}")
            await session.begin()
        try:
            came_to = "occurs" if await SCHEDULES[name](one, two) else "no"
        except Locked:
            came_to = "lock error"
    assert came_to == documented()[name][list(Isolation).index(isolation)]


def test_the_table_has_each_schedule() -> None:
    assert list(documented()) == list(SCHEDULES)
