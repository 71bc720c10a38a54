"""Requests of a cursor: their messages, in the order in which JDBC sends them."""

from __future__ import annotations

from typing import Any

import pytest

from aioifx.client.execution.cursor_requests import next_block_request
from aioifx.testing.messages import EOT, described, done, ints
from aioifx.testing.script import PREPARE, Exchange, close, release
from aioifx.wire.capabilities import Capabilities
from tests.scripted import C1, talking


@pytest.mark.parametrize(
    ("options", "sent"),
    [({}, "Id(3) CurName Open Id(3) Fetch"), ({"hold": True}, "Id(3) CurName Hold Open Id(3) Fetch")],
    ids=["open", "hold"],
)
async def test_opening_a_cursor_and_its_first_fetch_are_one_group(options: dict[str, Any], sent: str) -> None:
    script: list[Exchange] = [
        (PREPARE, described(3, C1)),
        (sent, ints(4) + done(1) + EOT),
        close(3),
        release(3),
    ]
    async with talking(script) as (conn, _), await conn.prepare("select c1 from t") as prepared:
        statement = prepared._own.statement
        assert await statement.open((), **options) == [(4,)]
        statement.close_cursor()


def test_a_fetch_names_its_statement_and_its_size() -> None:
    assert next_block_request(7, 4096, Capabilities()) == b"\0\4\0\7\0\x09\0\0\x10\0\0\0\0\x0c"
