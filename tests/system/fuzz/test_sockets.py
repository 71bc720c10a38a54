"""Clients that send invalid bytes to the embedded server: only their connections are closed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

import aioifx
from aioifx.server import Server, ServerOptions, serve
from aioifx.wire import requests, session_requests
from aioifx.wire.capabilities import SERVER_MASK
from aioifx.wire.handshake import LoginRequest, login_frame, put_login
from aioifx.wire.outbox import Outbox
from tests.injection import eventually
from tests.system.fuzz import corpus

BOUND = 20.0
CLIENTS = 150
"""Of each kind; what they say depends on their numbers alone."""


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serve(ServerOptions(databases=("shop",), seed="create table thing (id int);")) as server:
        yield server


def greeting() -> bytes:
    """What every client says up to its first statement."""
    outbox = Outbox()
    put_login(outbox, login_frame(LoginRequest(user=b"usr", password=b"", server=b"ol_aioifx")), b"")
    session_requests.put_protocols(outbox, SERVER_MASK)
    requests.put_eot(outbox)
    session_requests.put_dbopen(outbox, b"shop")
    requests.put_eot(outbox)
    return outbox.detach()


def damage(data: bytes, chance: random.Random) -> bytes:
    """*data* with a few bytes changed, lost or doubled, and large numbers in places."""
    spoilt = bytearray(data)
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(spoilt) + 1)
        match chance.randrange(4):
            case 0:
                spoilt[at : at + 1] = chance.randbytes(1)
            case 1:
                spoilt[at : at + 4] = chance.choice([b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", bytes(4)])
            case 2:
                del spoilt[at : at + chance.randrange(1, 9)]
            case _:
                spoilt[at:at] = spoilt[at : at + 20]
    return bytes(spoilt)


def noise(chance: random.Random) -> bytes:
    return chance.randbytes(chance.randrange(1, 400))


def spoilt_login(chance: random.Random) -> bytes:
    return damage(chance.choice(corpus.logins("C")), chance)


def noise_behind_the_login(chance: random.Random) -> bytes:
    return greeting() + noise(chance)


def spoilt_groups(chance: random.Random) -> bytes:
    return greeting() + b"".join(damage(group, chance) for group in chance.choices(corpus.requests(), k=4))


def groups_out_of_order(chance: random.Random) -> bytes:
    """Whole, but of other conversations: statements that were not prepared, rows without a statement."""
    return greeting() + b"".join(chance.choices(corpus.requests(), k=8))


async def say(port: int, chance: random.Random, data: bytes) -> None:
    """Send it in pieces, say no more, and read until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        with contextlib.suppress(ConnectionError):
            at = 0
            while at < len(data):
                size = chance.randrange(1, 200)
                writer.write(data[at : at + size])
                await writer.drain()
                at += size
            writer.write_eof()
            while await reader.read(1 << 16):
                pass
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


KINDS: Sequence[Callable[[random.Random], bytes]] = (
    noise,
    spoilt_login,
    noise_behind_the_login,
    spoilt_groups,
    groups_out_of_order,
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
async def test_nonsense_closes_its_own_connection_and_is_not_a_defect(
    server: Server, kind: Callable[[random.Random], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    before = asyncio.all_tasks()
    async with aioifx.connect(server.dsn) as conn:
        for number in range(CLIENTS):
            chance = random.Random(number)
            data = kind(chance)
            try:
                async with asyncio.timeout(BOUND):
                    await say(server.port, chance, data)
                    await eventually(lambda: len(server.stats.sessions) == 1)
            except BaseException as error:
                error.add_note(f"client {number} said {data.hex()}")
                raise
            assert [
                record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR
            ] == [], f"client {number} said {data.hex()}"
        assert int(str(await conn.fetchval("select count(*) from thing"))) == 0
    await eventually(lambda: not asyncio.all_tasks() - before - {asyncio.current_task()})
