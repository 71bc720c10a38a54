"""IBM's JDBC driver meets the same anomalies and locks, and takes part in histories beside this client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

import pytest

from aioifx import server
from tests.system.histories.anomalies import FORBIDDEN, find_anomalies
from tests.system.histories.history import Isolation
from tests.system.histories.schedules import ROWS, SCHEDULES, TABLE
from tests.system.histories.test_schedules import documented
from tests.system.histories.workload import Client, Locked, clients, recorded, shapes
from tests.system.interop.jdbc import Fields, Jdbc, JdbcError, url_of

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

HISTORIES: Final = 20
"""For each level."""

_LOCK_ERRORS: Final = (-240, -243, -244, -245, -246, -271, -346)
"""SQLCODEs of statements that meet locks (documented); JDBC's SQLException has no ISAM code."""


class JdbcClient:
    """One connection of the driver, whose calls run in a thread."""

    def __init__(self, jdbc: Jdbc, name: str, url: str) -> None:
        self._jdbc = jdbc
        self._name = name
        self._url = url

    async def _ask(self, verb: str, *fields: object) -> list[Fields]:
        try:
            return await asyncio.to_thread(self._jdbc, verb, self._name, *fields)
        except JdbcError as error:
            if error.code not in _LOCK_ERRORS:
                raise
            raise Locked from error

    async def connect(self) -> None:
        await self._ask("connect", self._url)

    async def close(self) -> None:
        await self._ask("close")

    async def execute(self, sql: str, *values: int | str) -> int:
        ((changed,),) = await self._ask("update", _inlined(sql, values))
        return int(changed or 0)

    async def values(self, sql: str, *values: int | str) -> list[str]:
        answer = await self._ask("query", _inlined(sql, values))
        return [str(fields[1] or "") for fields in answer if fields[0] == "="]

    async def numbers(self, sql: str) -> list[int]:
        return [int(value) for value in await self.values(sql)]

    async def fetch_for_update(self, sql: str) -> int:
        await self._ask("open", f"cursor of {self._name}", sql)
        ((value,),) = await asyncio.to_thread(self._jdbc, "next", f"cursor of {self._name}")
        return int(value or 0)

    async def begin(self) -> None:
        await self._ask("autocommit", "false")

    async def commit(self) -> None:
        await self._ask("commit")
        await self._ask("autocommit", "true")

    async def rollback(self) -> None:
        await self._ask("rollback")
        await self._ask("autocommit", "true")


def _inlined(sql: str, values: tuple[int | str, ...]) -> str:
    for value in values:
        sql = sql.replace("?", repr(value), 1)
    return sql


@asynccontextmanager
async def jdbc_client(jdbc: Jdbc, name: str, dsn: str) -> AsyncGenerator[JdbcClient, None]:
    client = JdbcClient(jdbc, name, url_of(dsn))
    await client.connect()
    try:
        yield client
    finally:
        await client.close()


@pytest.mark.parametrize("isolation", Isolation)
@pytest.mark.parametrize("name", SCHEDULES)
async def test_the_table_is_the_same_through_jdbc(jdbc: Jdbc, name: str, isolation: Isolation) -> None:
    async with (
        server.running(seed=";".join([*TABLE, *ROWS])) as dsn,
        jdbc_client(jdbc, "one", dsn) as one,
        jdbc_client(jdbc, "two", dsn) as two,
    ):
        for session in (one, two):
            await session.execute(f"set isolation to {isolation.value}")
            await session.begin()
        try:
            came_to = "occurs" if await SCHEDULES[name](one, two) else "no"
        except Locked:
            came_to = "lock error"
            for session in (one, two):
                await session.rollback()
    assert came_to == documented()[name][list(Isolation).index(isolation)]


@pytest.mark.parametrize("isolation", Isolation)
async def test_histories_with_jdbc_have_no_excluded_anomaly(jdbc: Jdbc, isolation: Isolation) -> None:
    async with server.running() as dsn, clients(dsn, 7) as connected, jdbc_client(jdbc, "one", dsn) as other:
        using: list[Client] = [connected[0], other, *connected[1:]]
        for seed in range(HISTORIES):
            history = await recorded(using, shapes(seed, isolation), seed)
            forbidden = [each for each in find_anomalies(history) if each.anomaly in FORBIDDEN[isolation]]
            assert not forbidden, f"seed {seed}: {forbidden}\n{history}"
