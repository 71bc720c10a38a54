"""IBM's JDBC driver logs in with PAM at the embedded server, is refused, and refuses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

import aioifx.server
from aioifx import PamStyle
from aioifx.server.protocol.pam import PamAsk
from tests.system.interop.jdbc import Jdbc, JdbcError, url_of

pytestmark = [pytest.mark.interop, pytest.mark.exhaustive, pytest.mark.timeout(300)]


async def check(user: str, ask: PamAsk) -> bool:
    await ask(PamStyle.INFO, "Welcome")
    if await ask(PamStyle.ECHO_OFF, "Password: ") != "geheim":
        await ask(PamStyle.ERROR, "wrong password")
        return False
    is_right = await ask(PamStyle.ECHO_ON, f"Code of {user}? ") == "123"
    await ask(PamStyle.INFO, "expires soon")
    return is_right


@pytest.fixture
async def url() -> AsyncIterator[str]:
    async with aioifx.server.running(user="anna", pam=check) as dsn:
        yield url_of(dsn, IFX_PAM_CLASS="PamAnswers")


async def test_it_logs_in_by_its_answers(jdbc: Jdbc, url: str) -> None:
    await asyncio.to_thread(jdbc, "pam", "p", "geheim", "123")
    await asyncio.to_thread(jdbc, "connect", "p", url)
    asked = await asyncio.to_thread(jdbc, "asked", "p")
    assert asked == [["4 Welcome"], ["1 Password: "], ["2 Code of anna? "], ["4 expires soon"]]
    assert await asyncio.to_thread(jdbc, "valid", "p") == [["true"]]
    rows = await asyncio.to_thread(jdbc.rows, "query", "p", "select count(*) from systables where tabid = 1")
    assert rows == [["1"]]
    await asyncio.to_thread(jdbc, "close", "p")


@pytest.mark.parametrize("answers", [("falsch",), ("geheim", "124"), ("-",), ("geheim", "-")])
async def test_it_is_not_connected_if_either_end_refuses(
    jdbc: Jdbc, url: str, answers: tuple[str, ...]
) -> None:
    await asyncio.to_thread(jdbc, "pam", "p", *answers)
    with pytest.raises(JdbcError):
        await asyncio.to_thread(jdbc, "connect", "p", url)
