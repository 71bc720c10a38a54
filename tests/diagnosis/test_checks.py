"""Checks of an open connection, on servers that do not do what they are asked."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest

import aioifx
import aioifx.server
from aioifx import Connection
from aioifx.client.config.options import ConnectOptions
from aioifx.client.config.resolve import parse_dsn
from aioifx.diagnosis import checks
from aioifx.diagnosis.report import Finding
from aioifx.errors import ConnectionLost
from aioifx.server import ServerOptions, serve
from aioifx.server.protocol.quirks import Quirk
from aioifx.server.sqlite.databases import LogMode
from aioifx.testing.messages import EOT, done
from aioifx.testing.script import Disconnect
from tests.scripted import talking


async def check(function: Any, server: ServerOptions | None = None, **options: Any) -> Finding:
    async with serve(server) as running, aioifx.connect(running.dsn, **options) as conn:
        found: Finding = await function(conn, options_of(conn, running.dsn, **options))
        return found


def options_of(conn: Connection, dsn: str, **options: Any) -> ConnectOptions:
    return dataclasses.replace(parse_dsn(dsn), **options)


async def test_a_fetch_size_in_force() -> None:
    found = await check(checks.fetch_size, fetch_size=65_536)
    assert found.outcome == "ok"
    assert 32_768 < found.details["largest_reply"] < 67_000


async def test_a_rejected_fetch_size() -> None:
    refusing = ServerOptions(fetch_limit=32_767, fetch_refusal=-406)
    found = await check(checks.fetch_size, refusing, fetch_size=65_536)
    assert found.outcome == "warning" and "rejected 65536" in found.found
    assert [str(change) for change in found.changes] == ["fetch_size: 32767"]


@pytest.mark.parametrize("quirk", [Quirk.STANDARD_BLOCKS, Quirk.ROW_BY_ROW])
async def test_a_fetch_size_that_is_ignored(quirk: Quirk) -> None:
    found = await check(checks.fetch_size, ServerOptions(quirks=[quirk]))
    assert found.outcome == "warning" and "more round trips" in found.found


async def test_ansi_databases_with_small_blocks_have_their_own_advice() -> None:
    server = ServerOptions(quirks=[Quirk.ROW_BY_ROW], log_mode=LogMode.ANSI)
    found = await check(checks.fetch_size, server)
    assert [change.setting for change in found.changes] == ["read_only"]


async def test_a_server_far_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_FAR", 0.0)
    async with talking(*[(None, done() + EOT)] * checks.ROUND_TRIPS) as (conn, _):
        found = await checks.round_trip(conn)
    assert found.outcome == "warning"
    assert [change.setting for change in found.changes] == ["fetch_size"]
    assert found.details["least"] <= found.details["median"] <= found.details["most"]


@pytest.mark.parametrize(("seconds", "text"), [(0.00021, "0.21 ms"), (0.0123, "12.30 ms"), (0.25, "250 ms")])
def test_milliseconds(seconds: float, text: str) -> None:
    assert checks._milliseconds(seconds) == text


@pytest.mark.parametrize("log_mode", LogMode)
async def test_optofc_that_is_honoured(log_mode: LogMode) -> None:
    found = await check(checks.optofc, ServerOptions(log_mode=log_mode))
    assert found.outcome == "ok" and found.details == {"round_trips": 1.0}


@pytest.mark.parametrize("log_mode", [LogMode.LOGGED, LogMode.ANSI])
async def test_optofc_that_is_ignored(log_mode: LogMode) -> None:
    found = await check(checks.optofc, ServerOptions(quirks=[Quirk.NO_OPTOFC], log_mode=log_mode))
    assert found.outcome == "warning" and found.details == {"round_trips": 2.0}


async def test_optofc_that_is_turned_off() -> None:
    found = await check(checks.optofc, environment={"OPTOFC": "0"})
    assert found.outcome == "skipped"


async def test_an_interrupt_is_not_tried_if_the_client_never_sends_one() -> None:
    found = await check(checks.interrupt, cancel_timeout=0)
    assert found.outcome == "skipped" and "cancel_timeout=0" in found.found


async def test_an_interrupt_that_is_ignored() -> None:
    found = await check(checks.interrupt, ServerOptions(quirks=[Quirk.NO_INTERRUPTS]), cancel_timeout=0.05)
    assert found.outcome == "warning" and "no reply to a cancelled call within 0.05 s" in found.found
    assert [change.setting for change in found.changes] == ["the way to the server", "cancel_timeout"]


async def test_a_long_statement_that_is_short_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "LONG_STATEMENT", "SELECT COUNT(*) FROM systables WHERE tabid < 0")
    monkeypatch.setattr(checks, "RUNNING_TIME", 30.0)
    found = await check(checks.interrupt)
    assert found.outcome == "skipped" and "ended by itself" in found.found


async def test_a_statement_that_ends_in_spite_of_its_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        serve(ServerOptions(quirks=[Quirk.NO_INTERRUPTS])) as server,
        aioifx.connect(server.dsn) as conn,
    ):
        short = await conn.prepare("SELECT COUNT(*) FROM systables WHERE tabid < 0")
        ended = asyncio.Event()

        class Slow:
            async def fetchval(self) -> Any:
                await ended.wait()
                return await short.fetchval()

        async def prepare(sql: str) -> Slow:
            assert sql == checks.LONG_STATEMENT
            return Slow()

        monkeypatch.setattr(conn, "prepare", prepare)
        monkeypatch.setattr(conn, "cancel", ended.set)
        found = await checks.interrupt(conn, parse_dsn(server.dsn))
    assert found.outcome == "warning" and "ran to its end" in found.found


async def test_a_connection_that_is_lost_meanwhile_is_not_hidden() -> None:
    async with talking((None, Disconnect())) as (conn, _):
        with pytest.raises(ConnectionLost):
            await checks.round_trip(conn)


async def test_the_long_statement_reads_the_catalog_alone() -> None:
    async with aioifx.server.running(seed="CREATE TABLE t (a INT);") as dsn, aioifx.connect(dsn) as conn:
        own = await conn.fetchval("SELECT MIN(tabid) FROM systables WHERE tabname = 't'")
        assert own >= 100
        assert 50 < await conn.fetchval("SELECT COUNT(*) FROM systables WHERE tabid < 100") < 100
        shorter = checks.LONG_STATEMENT.replace("< 100", "< 5")
        assert await conn.fetchval(shorter) == 0
