"""A session of push data at a scripted server: the tasks and reads are JDBC's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from aioifx.client.config.options import ConnectOptions
from aioifx.errors import ConnectionLost, LockError, ProtocolError, PushDataError
from aioifx.pushdata.session import PushSession
from aioifx.testing.messages import EOT, error
from aioifx.testing.script import Delayed, listening
from aioifx.wire import objects
from aioifx.wire.outbox import Outbox
from tests.pushdata.peer import PushPeer, data, insert


@asynccontextmanager
async def served(peer: PushPeer) -> AsyncIterator[ConnectOptions]:
    async with listening(peer) as listener:
        yield ConnectOptions(
            host="127.0.0.1", port=listener.port, server="ol_script", user="anna", database="sysadmin"
        )


async def test_it_is_opened_registered_read_and_deleted() -> None:
    peer = PushPeer([data(insert(1))])
    async with served(peer) as options:
        session = await PushSession.open(options)
        assert await session.detachable() == "245"
        await session.register([{"timeout": 5, "maxrecs": 1}, {"table": "orders"}])
        assert await session.read(66560, 5) == data(insert(1))[10:-2].decode().rstrip("\0")
        await session.delete()
        await session.close()
    assert peer.tasks == [
        "pushdata open",
        "pushdata setdetach",
        'pushdata register {timeout:"5", maxrecs:"1"}',
        'pushdata register {table:"orders"}',
        "pushdata delete",
    ]
    assert peer.reads == [(12, 66560)]
    assert peer.has_ended


async def test_it_is_joined() -> None:
    peer = PushPeer()
    async with served(peer) as options:
        session = await PushSession.open(options, "245")
        await session.close()
    assert peer.tasks == ['pushdata join {session_id:"245"}']
    # As JDBC does; it binds the attributes of registrations only (observed).
    assert peer.statements[-1] == b"EXECUTE FUNCTION informix.task('pushdata join', '{session_id:\"245\"}')"


@pytest.mark.parametrize(("descriptor", "handle"), [("32767", 32767), ("32768", -32768), ("65537", 1)])
async def test_a_descriptor_is_cut_to_16_bits(descriptor: str, handle: int) -> None:
    peer = PushPeer([data(insert(1))], open=descriptor)
    async with served(peer) as options:
        session = await PushSession.open(options)
        await session.read(2000, 5)
        session.terminate()
    assert peer.reads == [(handle, 2000)]


@pytest.mark.parametrize("answer", ["0", "-1", "", "You are not permitted to run this command"])
@pytest.mark.parametrize("command", ["open", "join", "setdetach"])
async def test_a_session_that_is_refused_is_an_error(command: str, answer: str) -> None:
    peer = PushPeer((), **{command: answer})
    async with served(peer) as options:
        with pytest.raises(PushDataError, match=f"^pushdata {command}: {answer}$"):
            if command == "setdetach":
                session = await PushSession.open(options)
                try:
                    await session.detachable()
                finally:
                    session.terminate()
            else:
                await PushSession.open(options, "245" if command == "join" else None)


@pytest.mark.parametrize("answer", ["ok", "OK "])
async def test_ok_is_the_answer_to_a_registration(answer: str) -> None:
    async with served(PushPeer(register=answer)) as options:
        session = await PushSession.open(options)
        await session.register([{"table": "t"}])
        session.terminate()


@pytest.mark.parametrize("answer", ["0", "", "OK, done", "table not found"])
async def test_any_other_answer_to_a_registration_is_an_error(answer: str) -> None:
    async with served(PushPeer(register=answer)) as options:
        session = await PushSession.open(options)
        with pytest.raises(PushDataError, match=f"^pushdata register: {answer}$"):
            await session.register([{"table": "t"}])
        session.terminate()


def refused(size: int) -> bytes:
    outbox = Outbox()
    objects.put_object_data(outbox, objects.ObjectData(0, size))
    return outbox.detach() + EOT


@pytest.mark.parametrize(
    ("reply", "kind", "message"),
    [
        (refused(0), PushDataError, "^a read of push data returned 0$"),
        (refused(-1), PushDataError, "^a read of push data returned -1$"),
        (error(-244, -107) + EOT, LockError, "-244"),
        (EOT, ProtocolError, "^the server did not answer SQ_LODATA"),
    ],
)
async def test_a_read_that_fails_is_an_error(reply: bytes, kind: type[Exception], message: str) -> None:
    async with served(PushPeer([reply])) as options:
        session = await PushSession.open(options)
        with pytest.raises(kind, match=message):
            await session.read(2000, 5)
        session.terminate()


async def test_a_server_that_does_not_answer_a_read_is_given_up() -> None:
    peer = PushPeer([Delayed(data(insert(1)))])
    async with served(peer) as options:
        session = await PushSession.open(options)
        with pytest.raises(ConnectionLost, match=r"^no answer to a read of push data within 0\.01 s$"):
            await session.read(2000, 0.01)
        await peer.gone.wait()
