"""Attempts that overlap, and names with several addresses."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import pickle
import socket
from collections.abc import Callable
from typing import Any

import pytest
import trustme

from aioifx.channel import Channel
from aioifx.client.config.addresses import Address
from aioifx.client.connect.transport import StaggeredRace, open_channel, resolve, start_tls
from aioifx.errors import ConnectError
from aioifx.testing.script import Disconnect, Peer, listening
from tests.certificates import certified, trusting
from tests.scripted import pipe, until

NEVER = 3600.0
AT_ONCE = 0.0


class Runs:
    """Attempts whose end the test decides."""

    def __init__(self, count: int, delay: float) -> None:
        self.begun: list[int] = []
        self.cancelled: list[int] = []
        self.discarded: list[int] = []
        self.ends: list[asyncio.Future[int]] = [
            asyncio.get_running_loop().create_future() for _ in range(count)
        ]
        self.race = StaggeredRace([self._start(at) for at in range(count)], delay, self.discarded.append)

    def _start(self, at: int) -> Callable[[], Any]:
        async def attempt() -> int:
            self.begun.append(at)
            try:
                return await self.ends[at]
            except asyncio.CancelledError:
                self.cancelled.append(at)
                raise

        return attempt

    def fail(self, at: int) -> None:
        self.ends[at].set_exception(ConnectError(f"attempt {at}"))

    async def until_begun(self, count: int) -> None:
        await until(lambda: len(self.begun) == count)


async def test_the_next_attempt_waits_for_the_failure_of_the_one_before() -> None:
    runs = Runs(3, NEVER)
    next_one = asyncio.ensure_future(runs.race.next())
    await runs.until_begun(1)
    assert runs.begun == [0]
    runs.fail(0)
    await runs.until_begun(2)
    runs.ends[1].set_result(1)
    assert await next_one == 1
    assert runs.begun == [0, 1]
    assert [str(error) for error in runs.race.errors] == ["attempt 0"]
    await runs.race.close()


async def test_an_attempt_that_takes_its_time_does_not_keep_the_next_from_beginning() -> None:
    runs = Runs(2, AT_ONCE)
    next_one = asyncio.ensure_future(runs.race.next())
    await runs.until_begun(2)
    runs.ends[1].set_result(1)
    assert await next_one == 1
    await runs.race.close()
    assert runs.cancelled == [0] and runs.discarded == []


async def test_of_two_that_have_come_the_first_in_order_is_taken_and_the_other_is_there_for_later() -> None:
    runs = Runs(2, AT_ONCE)
    next_one = asyncio.ensure_future(runs.race.next())
    await runs.until_begun(2)
    runs.ends[1].set_result(1)
    runs.ends[0].set_result(0)
    assert await next_one == 0
    assert await runs.race.next() == 1
    assert await runs.race.next() is None


async def test_a_result_that_arrived_and_was_not_taken_is_discarded() -> None:
    runs = Runs(2, AT_ONCE)
    next_one = asyncio.ensure_future(runs.race.next())
    await runs.until_begun(2)
    runs.ends[0].set_result(0)
    runs.ends[1].set_result(1)
    assert await next_one == 0
    await runs.race.close()
    assert runs.discarded == [1]


async def test_none_is_left_when_all_have_failed() -> None:
    runs = Runs(2, NEVER)
    runs.fail(0)
    runs.fail(1)
    assert await runs.race.next() is None
    assert [str(error) for error in runs.race.errors] == ["attempt 0", "attempt 1"]
    await runs.race.close()


async def test_an_error_of_another_kind_is_not_taken_for_a_failure_to_connect() -> None:
    runs = Runs(2, NEVER)
    runs.ends[0].set_exception(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        await runs.race.next()
    await runs.race.close()
    assert runs.begun == [0]


async def test_a_cancelled_race_leaves_nothing_running() -> None:
    runs = Runs(2, AT_ONCE)

    async def whole() -> None:
        try:
            await runs.race.next()
        finally:
            await runs.race.close()

    task = asyncio.ensure_future(whole())
    await runs.until_begun(2)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert sorted(runs.cancelled) == [0, 1]


# -- names ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[tuple[int, tuple[Any, ...]]]]:
    """What names stand for; every question is written down under "asked"."""
    names: dict[str, list[Any]] = {"asked": []}

    async def getaddrinfo(
        self: asyncio.AbstractEventLoop, host: str, port: int, **more: Any
    ) -> list[tuple[Any, ...]]:
        names["asked"].append(host)
        if host not in names:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(family, socket.SOCK_STREAM, 6, "", ip) for family, ip in names[host]]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)
    return names


V4, V6 = socket.AF_INET, socket.AF_INET6


async def test_a_name_is_looked_up_each_time_and_its_addresses_are_tried_in_order(known: Any) -> None:
    async with listening(Peer(), Peer()) as listener:
        port = listener.port
        known["db.example"] = [(V4, ("127.0.0.2", port)), (V4, ("127.0.0.1", port))]
        known["127.0.0.2"], known["127.0.0.1"] = [(V4, ("127.0.0.2", port))], [(V4, ("127.0.0.1", port))]
        for _ in range(2):
            channel = await open_channel(Address("db.example", port))
            assert channel.transport.get_extra_info("peername") == ("127.0.0.1", port)
            channel.abort()
            await channel.wait_closed()
    assert known["asked"].count("db.example") == 2


async def test_the_chosen_address_is_logged_at_debug(known: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "aioifx.connect")
    async with listening(Peer()) as listener:
        port = listener.port
        known["db.example"] = [(V4, ("127.0.0.2", port)), (V4, ("127.0.0.1", port))]
        known["127.0.0.2"], known["127.0.0.1"] = [(V4, ("127.0.0.2", port))], [(V4, ("127.0.0.1", port))]
        channel = await open_channel(Address("db.example", port))
        channel.abort()
        await channel.wait_closed()
    (record,) = caplog.records
    assert record.getMessage() == (
        f"db.example:{port}: connected to 127.0.0.1, found by name lookup: 127.0.0.2, 127.0.0.1"
    )


async def test_address_families_of_a_name_alternate(known: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    async def refuse(address: Address, ip: str, *more: object) -> None:
        tried.append(ip)
        raise ConnectError(f"{ip} refuses")

    monkeypatch.setattr("aioifx.client.connect.transport._connect", refuse)
    known["db.example"] = [
        (V6, ("2001:db8::1", 1, 0, 0)),
        (V6, ("fe80::2", 1, 0, 3)),
        (V6, ("2001:db8::1", 1, 0, 0)),
        (V4, ("192.0.2.1", 1)),
    ]
    with pytest.raises(ConnectError, match="2001:db8::1 refuses") as caught:
        await open_channel(Address("db.example", 1))
    assert tried == ["2001:db8::1", "192.0.2.1", "fe80::2%3"]
    assert caught.value.__notes__ == ["192.0.2.1 refuses", "fe80::2%3 refuses"]


async def test_an_address_is_not_looked_up(known: Any) -> None:
    async with listening() as listener:
        port = listener.port
    with pytest.raises(
        ConnectError, match=f"^could not connect to 127.0.0.1:{port}: Connection refused$"
    ) as caught:
        await open_channel(Address("127.0.0.1", port))
    assert caught.value.retryable
    assert pickle.loads(pickle.dumps(caught.value)).retryable
    assert known["asked"] == []


async def test_a_channel_is_opened_to_addresses_that_were_looked_up_before(known: Any) -> None:
    async with listening(Peer()) as listener:
        address = Address("db.example", listener.port)
        known["db.example"] = [(V4, ("127.0.0.1", listener.port))]
        known["127.0.0.1"] = known["db.example"]
        ips = await resolve(address)
        assert ips == ["127.0.0.1"]
        del known["db.example"]
        made: list[Channel] = []

        def make() -> Channel:
            made.append(Channel())
            return made[-1]

        channel = await open_channel(address, ips=ips, factory=make)
        assert [channel] == made
        channel.abort()
        await channel.wait_closed()


async def test_a_channel_whose_caller_is_cancelled_at_the_last_moment_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While the attempts at the other addresses are cancelled."""
    close, made = StaggeredRace.close, list[Channel]()

    async def cancelled(race: StaggeredRace[Any]) -> None:
        await close(race)
        raise asyncio.CancelledError

    def make() -> Channel:
        made.append(Channel())
        return made[-1]

    monkeypatch.setattr(StaggeredRace, "close", cancelled)
    async with listening(Peer()) as listener:
        address = Address("db.example", listener.port)
        with pytest.raises(asyncio.CancelledError):
            await open_channel(address, ips=["127.0.0.1", "127.0.0.1"], factory=make)
        [channel] = made
        assert not channel.is_open


async def test_a_name_without_an_address_says_so(known: Any) -> None:
    known["db.example"] = []
    with pytest.raises(ConnectError, match=r"^could not connect to db\.example:1: the name has no address$"):
        await open_channel(Address("db.example", 1))


async def test_an_unknown_host_name_is_reported_as_such(known: Any) -> None:
    with pytest.raises(ConnectError, match=r"^could not connect to db9\.example:1: .*not known") as caught:
        await open_channel(Address("db9.example", 1))
    assert not caught.value.retryable


async def test_a_name_lookup_that_failed_temporarily_is_retryable(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*args: object, **options: object) -> None:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", fail, raising=False)
    with pytest.raises(ConnectError, match="Temporary failure") as caught:
        await open_channel(Address("db.example", 1))
    assert caught.value.retryable


# -- TLS on an open channel -------------------------------------------------------------------------------------------


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(await reader.read(100))
    await writer.drain()
    writer.close()
    await writer.wait_closed()


async def _first_bytes(channel: Channel) -> bytes:
    await channel.inbox.need(1)
    return bytes(channel.inbox.take(channel.inbox.unread))


async def _echoed_and_closed(channel: Channel) -> None:
    echoed = channel.expect(_first_bytes(channel))
    channel.send(b"ping")
    assert await asyncio.wait_for(echoed, 10) == b"ping"
    channel.abort()
    await channel.wait_closed()


async def test_tls_is_negotiated_on_an_open_channel() -> None:
    authority = trustme.CA()
    server = await asyncio.start_server(_echo, "127.0.0.1", 0, ssl=certified(authority, "127.0.0.1"))
    async with server:
        address = Address("127.0.0.1", server.sockets[0].getsockname()[1])
        channel = await open_channel(address)
        await start_tls(channel, address, trusting(authority))
        assert channel.transport.get_extra_info("ssl_object").version() == "TLSv1.3"
        await _echoed_and_closed(channel)


async def test_a_rejected_certificate_closes_the_channel() -> None:
    authority = trustme.CA()
    server = await asyncio.start_server(_echo, "127.0.0.1", 0, ssl=certified(authority, "db.example"))
    async with server:
        address = Address("127.0.0.1", server.sockets[0].getsockname()[1])
        channel = await open_channel(address)
        with pytest.raises(
            ConnectError, match=r"its certificate was rejected: .*not valid for '127\.0\.0\.1'"
        ):
            await start_tls(channel, address, trusting(authority))
        assert not channel.is_open


async def test_a_reset_in_the_handshake_is_reported_as_such() -> None:
    async with listening(Peer([(None, Disconnect(reset=True))], framed=False)) as listener:
        address = Address("127.0.0.1", listener.port)
        channel = await open_channel(address)
        with pytest.raises(ConnectError, match=r": Connection reset by peer$"):
            await start_tls(channel, address, trusting(trustme.CA()))


async def test_a_peer_without_tls_fails_the_handshake() -> None:
    async with listening(Peer([(None, Disconnect(b"SSH-2.0-x\r\n"))], framed=False)) as listener:
        address = Address("127.0.0.1", listener.port)
        channel = await open_channel(address)
        with pytest.raises(ConnectError, match=r"^could not connect to "):
            await start_tls(channel, address, trusting(trustme.CA()))
        assert not channel.is_open


# -- peers that reset -------------------------------------------------------------------------------------------------


async def test_a_socket_without_options_raises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object, *args: object) -> None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    monkeypatch.setattr("asyncio.trsock.TransportSocket.setsockopt", refuse)
    async with listening(Peer()) as listener:
        channel = await open_channel(Address("127.0.0.1", listener.port))
        assert channel.is_open
        channel.abort()
        await channel.wait_closed()


@pytest.mark.parametrize("begun", [False, True], ids=["handshake cut off", "reset at once"])
async def test_a_connection_that_has_already_ended_is_an_error(
    begun: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def create_connection(
        self: object,
        factory: Callable[[], Channel],
        *args: Any,
        sock: socket.socket | None = None,
        **more: Any,
    ) -> Any:
        if sock is not None:
            sock.close()
        channel = factory()
        if begun:
            pipe(channel, Peer())
            channel.connection_lost(ConnectionResetError())
        return None, channel

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", create_connection)
    async with listening(Peer()) as listener:
        with pytest.raises(
            ConnectError, match=r"^could not connect to 127\.0\.0\.1:\d+: it closed the connection"
        ) as caught:
            await open_channel(Address("127.0.0.1", listener.port))
    assert caught.value.retryable


# -- the socket -------------------------------------------------------------------------------------------------------


async def test_the_socket_of_an_attempt_that_is_cancelled_is_closed() -> None:
    """`tidy` finds one that is not."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, contextlib.ExitStack() as stack:
        for _ in range(4):  # more than Linux queues for this backlog
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        attempt = asyncio.create_task(open_channel(Address("127.0.0.1", full.getsockname()[1])))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not attempt.done()
        attempt.cancel()
        with pytest.raises(asyncio.CancelledError):
            await attempt


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_a_port_without_a_listener_refuses(host: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as own:
        own.bind((host, 0))
        port = own.getsockname()[1]
        with pytest.raises(ConnectError, match=r"^could not connect to .*: Connection refused$") as caught:
            await open_channel(Address(host, port))
    assert caught.value.retryable


@pytest.mark.parametrize("linux", [True, False], ids=["own-socket", "asyncio"])
async def test_an_address_with_a_scope_is_connected(linux: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Link-local IPv6 addresses have one, which the kernel needs. It ignores that of ::1, so any machine runs this."""
    tried: list[Any] = []

    def connect(own: socket.socket, to: Any) -> None:
        tried.append(to)
        super(socket.socket, own).connect(to)

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr("aioifx.client.connect.transport._IS_LINUX", linux)
    server = await asyncio.start_server(_echo, "::1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        channel = await open_channel(Address("::1%1", port))
        assert {*tried} == {("::1", port, 0, 1)}
        await _echoed_and_closed(channel)


async def test_an_unknown_scope_is_reported_as_such() -> None:
    with pytest.raises(ConnectError, match=r"^could not connect to \[::1%none\]:1: "):
        await open_channel(Address("::1%none", 1))


@pytest.mark.parametrize("afterwards", [False, True], ids=["at-once", "on-an-open-channel"])
async def test_a_certificate_is_compared_without_the_scope(afterwards: bool) -> None:
    authority = trustme.CA()
    server = await asyncio.start_server(_echo, "::1", 0, ssl=certified(authority, "::1"))
    async with server:
        address, context = Address("::1%1", server.sockets[0].getsockname()[1]), trusting(authority)
        channel = await open_channel(address, None if afterwards else context)
        if afterwards:
            await start_tls(channel, address, context)
        assert channel.transport.get_extra_info("ssl_object").version() == "TLSv1.3"
        await _echoed_and_closed(channel)
