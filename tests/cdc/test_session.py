"""The calls of a capture session, its reads, its errors."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from aioifx import CdcError, ConnectionLost, OperationalError, ProtocolError, parse_dsn
from aioifx.cdc.session import BUFFER, Captured, CdcSession
from aioifx.testing.messages import EOT
from aioifx.testing.script import Delayed, listening
from aioifx.wire import objects
from aioifx.wire.outbox import Outbox
from tests.cdc.peer import DSN, ORDERS, SESSION, CdcPeer, commit, data, sequence
from tests.streams import LOST

TABLE = Captured(ORDERS, ["id", "name"], 1)


@asynccontextmanager
async def opened(peer: CdcPeer, **options: Any) -> AsyncIterator[CdcSession]:
    async with listening(peer) as listener:
        address = DSN.replace("127.0.0.1", f"127.0.0.1:{listener.port}").replace("/stores", "/syscdcv1")
        session = await CdcSession.open(replace(parse_dsn(address), **options), seconds=1, max_records=64)
        try:
            yield session
        finally:
            session.terminate()


async def test_the_calls_are_those_of_the_manual() -> None:
    peer = CdcPeer([data(commit(5))])
    async with opened(peer) as session:
        await session.start([TABLE, Captured("stores:informix.items", ["id"], 2)], sequence(9))
        assert len(await session.read()) == 36
        await session.close(stop_logging=True)
    number = "\0\0\x03\xeb"
    assert [call[0] for call in peer.calls] == [
        "opensess", "set_fullrowlogging", "startcapture", "set_fullrowlogging", "startcapture", "activatesess",
        "endcapture", "endcapture", "closesess", "set_fullrowlogging", "set_fullrowlogging",
    ]  # fmt: skip
    assert peer.calls[0][1] == "ol_real"
    assert peer.calls[2][3:5] == (ORDERS, "id,name")
    assert peer.calls[-3] == ("closesess", str(SESSION)) or number in peer.calls[-3]
    assert peer.reads == [(SESSION, BUFFER)]
    assert peer.has_ended


async def test_a_server_that_does_not_answer_a_routine_is_lost() -> None:
    class Silent(CdcPeer):
        late = Delayed(EOT)

        def own_reply(self, group: list[Any]) -> Any:
            reply = super().own_reply(group)
            return self.late if any(call[0] == "startcapture" for call in self.calls) else reply

    async with opened(Silent(), command_timeout=0.05, cancel_timeout=0.01) as session:
        with pytest.raises(ConnectionLost, match="did not answer within stall_timeout"):
            await session.start([TABLE])


async def test_a_connection_lost_while_a_position_is_checked_is_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Losing(CdcPeer):
        def own_reply(self, group: list[Any]) -> Any:
            reply = super().own_reply(group)
            return LOST if any(call[0] == "startcapture" for call in self.calls) else reply

    peer = Losing()
    async with opened(peer) as session:
        peer.calls.append(("startcapture",))
        with caplog.at_level(logging.WARNING, "aioifx.cdc"), pytest.raises(ConnectionLost):
            await session._check_logs(sequence(9))
    assert caplog.messages == []


async def test_a_number_beyond_16_bits_is_cut() -> None:
    peer = CdcPeer([data(commit(5))], results={"opensess": 0x1_8001})
    async with opened(peer) as session:
        await session.read()
    assert peer.reads == [(0x8001 - 0x10000, BUFFER)]


@pytest.mark.parametrize("routine", ["opensess", "set_fullrowlogging", "startcapture", "activatesess"])
async def test_an_error_has_the_words_of_the_server(routine: str) -> None:
    peer = CdcPeer(results={routine: -83708})
    with pytest.raises(CdcError, match=rf"CDC_E_NOSESS \(-83708\): cdc_{routine}: no session") as caught:
        async with opened(peer) as session:
            await session.start([TABLE])
    assert caught.value.__notes__[0].startswith("capture needs the user informix")


@pytest.mark.parametrize("log", [11, 13])
async def test_a_position_outside_of_the_logs_is_refused(log: int) -> None:
    async with opened(CdcPeer(logs=(log, log))) as session:
        with pytest.raises(CdcError, match=rf"LSN\(12,0x9\) is outside of the logs {log} to {log}") as caught:
            await session.start([TABLE], sequence(9))
    assert (caught.value.code, caught.value.name) == (-83713, "CDC_E_LSN")


def read_of(size: int) -> bytes:
    outbox = Outbox()
    objects.put_object_data(outbox, objects.ObjectData(0, size))
    return outbox.detach() + EOT


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (read_of(0), CdcError, "a read of the capture session returned nothing"),
        (read_of(-83713), CdcError, "CDC_E_LSN .*: read: not in the logs"),
        (EOT, ProtocolError, "the server did not answer SQ_LODATA"),
        (LOST, ConnectionLost, "."),
    ],
)
async def test_a_read_without_data_is_an_error(answer: Any, error: type[Exception], message: str) -> None:
    async with opened(CdcPeer([answer])) as session:
        with pytest.raises(error, match=message):
            await session.read()


async def test_what_is_refused_while_closing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    peer = CdcPeer(results={"endcapture": -83708})
    async with opened(peer) as session:
        await session.start([TABLE])
        with caplog.at_level(logging.WARNING, "aioifx.cdc"):
            await session.close(stop_logging=False)
    assert peer.has_ended and peer.calls[-1][0] == "closesess"
    assert caplog.messages == [
        "closing the capture session: CDC_E_NOSESS (-83708): cdc_endcapture: no session"
    ]


async def test_a_dead_session_is_closed_only() -> None:
    peer = CdcPeer()
    async with opened(peer) as session:
        await session.start([TABLE])
        await session.close(stop_logging=False, is_dead=True)
    assert "endcapture" not in [call[0] for call in peer.calls]


@pytest.mark.parametrize(("code", "hint"), [(-329, "syscdcv1.sql"), (-387, "GRANT DBA")])
async def test_a_missing_database_has_a_hint(code: int, hint: str) -> None:
    from aioifx.testing.messages import error
    from aioifx.testing.script import Peer, login

    script = login()
    script[-1] = (None, error(code, -111) + EOT)
    async with listening(Peer([*script, (None, b"\0\x38")], with_login=True)) as listener:
        address = DSN.replace("127.0.0.1", f"127.0.0.1:{listener.port}").replace("/stores", "/syscdcv1")
        with pytest.raises(OperationalError) as caught:
            await CdcSession.open(parse_dsn(address), seconds=1, max_records=64)
    assert any(hint in note for note in caught.value.__notes__)
