"""IBM's smart triggers get their events from the embedded server, detach from a session, join it, and delete it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import aioifx
from tests.system.interop.jdbc import url_of

pytestmark = [pytest.mark.interop, pytest.mark.exhaustive, pytest.mark.timeout(300)]


class Reader:
    """The lines of a JVM that reads events."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def line(self) -> str:
        assert self._process.stdout is not None
        return (await self._process.stdout.readline()).decode().rstrip("\n")


@asynccontextmanager
async def smart_trigger(jar: Path, server: str, mode: str, events: int) -> AsyncIterator[Reader]:
    url = url_of(server).replace("/demo:", "/sysadmin:")
    command = ["java", "-cp", f"{jar.parent}/*:{jar.parent}", "SmartTriggers", url, mode, str(events)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    reader = Reader(process)
    try:
        assert await reader.line() == "ready"
        yield reader
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.fixture
async def shop(server: str) -> AsyncIterator[aioifx.Connection]:
    async with aioifx.connect(server) as conn:
        await conn.execute("CREATE TABLE orders (id SERIAL PRIMARY KEY, qty INT, note VARCHAR(20))")
        yield conn


async def test_it_gets_events_and_timeouts(jdbc_jar: Path, server: str, shop: aioifx.Connection) -> None:
    async with smart_trigger(jdbc_jar, server, "once", 4) as reader:
        await shop.execute("INSERT INTO orders VALUES (0, 5, 'small')")
        await shop.execute("INSERT INTO orders VALUES (0, 15, 'large')")
        await shop.execute("UPDATE orders SET qty = qty + 1")
        await shop.execute("DELETE FROM orders")
        events = [json.loads(await reader.line()) for _ in range(3)]
        assert [(event["operation"], event["label"], event["rowdata"]) for event in events] == [
            ("insert", "big", {"id": 2, "qty": 15}),
            ("update", "big", {"id": 2, "qty": 16}),
            ("delete", "big", {"id": 2, "qty": 16}),
        ]
        assert events[1]["before_rowdata"] == {"id": 2, "qty": 15}
        assert json.loads(await reader.line()) == {"ifx_isTimeout": "true"}
        assert await reader.line() == "closed"


async def test_it_detaches_and_another_joins_and_deletes_the_session(
    jdbc_jar: Path, server: str, shop: aioifx.Connection
) -> None:
    async with smart_trigger(jdbc_jar, server, "detach", 0) as reader:
        session_id = await reader.line()
        assert await reader.line() == "closed"
    await shop.execute("INSERT INTO orders VALUES (0, 15, 'large')")
    async with smart_trigger(jdbc_jar, server, f"join:{session_id}", 1) as reader:
        event = json.loads(await reader.line())
        assert (event["operation"], event["rowdata"]) == ("insert", {"id": 1, "qty": 15})
        assert await reader.line() == "closed"
    with pytest.raises(aioifx.PushDataError, match=r"^pushdata join: -1$"):
        async with aioifx.events(server, session_id=session_id):
            pass
