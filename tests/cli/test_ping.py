"""aioifx ping: times, a summary, and connections that are lost."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from pathlib import Path

import pytest

from aioifx.cli.ping import _milliseconds
from aioifx.server import ServerOptions, serve
from tests.cli.conftest import Run

ROOT = Path(__file__).parents[2]


async def test_times_and_a_summary(run: Run) -> None:
    found = await run("ping", "--count", "3", "--interval", "0.001")
    assert (found.code, found.err) == (0, "")
    time = r"[\d.]+ ms"
    assert re.fullmatch(
        rf"connected to 127\.0\.0\.1:\d+ in {time}: IBM Informix .*\n1: {time}\n2: {time}\n3: {time}\n"
        rf"3 sent, 3 answered, 0 % lost\nmin / median / max: {time} / {time} / {time}\n",
        found.out,
    )


async def test_a_server_that_is_not_there_ends_it_at_once(run: Run) -> None:
    found = await run("ping", "informix://app@127.0.0.1:1/demo?server=x")
    assert (found.code, found.out) == (3, "")
    assert found.err.startswith("aioifx: could not connect to 127.0.0.1:1: ")


async def test_a_lost_connection_is_counted_and_opened_again(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from aioifx.client.api.connection import Connection

    real, count = Connection.ping, 0

    async def ping(self: Connection) -> None:
        nonlocal count
        count += 1
        if count == 2:
            self.terminate()
        if count == 4:
            await asyncio.Event().wait()  # no answer
        await real(self)

    monkeypatch.setattr(Connection, "ping", ping)
    found = await run("ping", "--count", "5", "--interval", "0.001", "--timeout", "0.2")
    assert (found.code, found.err) == (3, "")
    assert found.out.count("connected to ") == 3
    assert re.search(r"^2: .*closed.*$", found.out, re.M), found.out
    assert "\n4: no answer within 0.2 s\n" in found.out
    assert "\n5 sent, 3 answered, 40 % lost\n" in found.out


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
async def test_an_interrupt_ends_it_with_the_summary() -> None:
    async with serve(ServerOptions()) as server:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "aioifx", "ping", server.dsn, "--interval", "1000",
            cwd=ROOT, env={**os.environ, "AIOIFX_PASSWORD": "any"},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        assert (await process.stdout.readline()).startswith(b"connected to ")
        assert (await process.stdout.readline()).startswith(b"1: ")
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()
        assert (process.returncode, err) == (0, b"")
        assert out.startswith(b"1 sent, 1 answered, 0 % lost\nmin / median / max: ")


def test_times_have_three_digits() -> None:
    assert [_milliseconds(value) for value in (0.000_123_4, 0.012_34, 1.234)] == [
        "0.123 ms",
        "12.3 ms",
        "1234 ms",
    ]
