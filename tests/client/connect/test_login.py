"""One server: where it may redirect to, and what is sent to the redirect's target. The rest is in test_connect."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

import aioifx
from aioifx.client.config.addresses import Address
from aioifx.client.config.options import ConnectOptions
from aioifx.client.config.tls import _create_context
from aioifx.client.connect.login import LoginAttempt
from aioifx.errors import AuthenticationError, ConnectError
from aioifx.testing.messages import accepted
from aioifx.testing.script import END_SESSION, NO_REPLY, Disconnect, Peer, listening, login
from aioifx.wire.handshake import LoginRequest, read_login
from aioifx.wire.opcodes import LoginType
from tests.certificates import certified, trusting
from tests.feeding import feed

SECRET = "pwd-of-usr"


def redirecting(to: bytes, kind: LoginType = LoginType.REDIRECT) -> Peer:
    return Peer([(None, accepted(type=kind, redirect=to))], with_login=True)


def answering() -> Peer:
    return Peer([*login(), END_SESSION], with_login=True)


def options_for(port: int, **more: Any) -> dict[str, Any]:
    return {
        "host": "127.0.0.1",
        "port": port,
        "user": "usr",
        "password": SECRET,
        "server": "g_shop",
        "database": "stores",
        "connect_timeout": 10,
        **more,
    }


def login_of(peer: Peer) -> LoginRequest:
    request, _ = feed(read_login, [peer.groups[0]])
    return request


@contextlib.asynccontextmanager
async def leading_to(
    target: Peer, *, hops: int = 1, kind: LoginType = LoginType.REDIRECT
) -> AsyncIterator[tuple[int, list[Peer]]]:
    """The port of the first of *hops* servers, each of which redirects to the next and the last to *target*."""
    async with contextlib.AsyncExitStack() as stack:
        port = (await stack.enter_async_context(listening(target))).port
        redirectors: list[Peer] = []
        for at in range(hops, 0, -1):
            peer = redirecting(f"g=ol_{at}|127.0.0.1|{port}".encode(), kind)
            port = (await stack.enter_async_context(listening(peer))).port
            redirectors.insert(0, peer)
        yield port, redirectors


# -- allowed or not ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [LoginType.REDIRECT, LoginType.ACCEPT])
@pytest.mark.parametrize("patterns", [None, "db7,*.example.com"])
async def test_a_redirect_that_is_not_allowed_names_its_target_and_goes_nowhere(
    kind: LoginType, patterns: str | None
) -> None:
    target = answering()
    async with leading_to(target, kind=kind) as (port, (first,)):
        with pytest.raises(
            ConnectError, match=r"redirects to 'g=ol_1\|127\.0\.0\.1\|.*allow_redirect_to"
        ) as caught:
            await aioifx.connect(**options_for(port, allow_redirect_to=patterns))
        await asyncio.wait_for(first.gone.wait(), 10)
    assert type(caught.value) is ConnectError and SECRET not in str(caught.value)
    assert target.received == b""


@pytest.mark.parametrize("kind", [LoginType.REDIRECT, LoginType.ACCEPT])
async def test_an_allowed_redirect_is_followed_with_the_name_that_it_gives(kind: LoginType) -> None:
    target = answering()
    async with leading_to(target, kind=kind) as (port, (first,)):
        async with aioifx.connect(**options_for(port, allow_redirect_to="127.0.0.*")) as conn:
            assert str(port) not in repr(conn)
        assert first.gone.is_set()
    asked, redirected = login_of(first), login_of(target)
    assert (asked.server, redirected.server) == (b"g_shop", b"ol_1")
    assert asked.password == redirected.password == SECRET.encode()
    target.check()


async def test_redirects_followed_and_refused_are_logged_at_debug(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "aioifx.connect")
    async with leading_to(answering()) as (port, _):
        async with aioifx.connect(**options_for(port, allow_redirect_to="127.0.0.*")):
            pass
        followed = next(record.getMessage() for record in caplog.records if "redirects" in record.msg)
    caplog.clear()
    assert re.fullmatch(rf"127\.0\.0\.1:{port} redirects to 127\.0\.0\.1:\d+, server ol_1", followed)
    async with leading_to(answering()) as (port, _):
        with pytest.raises(ConnectError):
            await aioifx.connect(**options_for(port))
    assert f"127.0.0.1:{port} redirects to 'g=ol_1|" in caplog.text
    assert "which is not allowed" in caplog.text and SECRET not in caplog.text


async def test_three_redirects_are_followed_and_no_fourth() -> None:
    target = answering()
    async with leading_to(target, hops=3) as (port, _):
        async with aioifx.connect(**options_for(port, allow_redirect_to="*")):
            pass
    target.check()
    target = answering()
    async with leading_to(target, hops=4) as (port, redirectors):
        with pytest.raises(ConnectError, match=r"redirected from .*after 3 redirects already"):
            await aioifx.connect(**options_for(port, allow_redirect_to="*"))
        for peer in redirectors:
            await asyncio.wait_for(peer.gone.wait(), 10)
    assert target.received == b""


@pytest.mark.parametrize("text", [b"", b"somewhere", b"g=ol|db7|sqlexec", b"\xff" * 5000])
async def test_a_redirect_that_is_not_understood_is_shown_in_part(text: bytes) -> None:
    async with listening(redirecting(text)) as listener:
        with pytest.raises(ConnectError, match="an unknown form of redirect") as caught:
            await aioifx.connect(**options_for(listener.port, allow_redirect_to="*"))
    assert len(str(caught.value)) < 500


async def test_a_redirect_target_that_rejects_or_does_not_answer_is_reported_with_its_path() -> None:
    refusing = Peer([(None, accepted(type=LoginType.REJECT, sqlcode=-951))], with_login=True)
    async with leading_to(refusing) as (port, _):
        with pytest.raises(AuthenticationError, match=f", redirected from 127.0.0.1:{port}: "):
            await aioifx.connect(**options_for(port, allow_redirect_to="*"))
    quiet = Peer([(None, NO_REPLY)], with_login=True)
    async with leading_to(quiet) as (port, _):
        with pytest.raises(ConnectError, match=f", redirected from 127.0.0.1:{port}: no answer within 1 s"):
            await aioifx.connect(**options_for(port, allow_redirect_to="*", connect_timeout=1))
        await asyncio.wait_for(quiet.gone.wait(), 10)


async def test_a_target_that_is_down_leads_to_the_next_of_our_servers() -> None:
    async with listening() as nobody:
        down = nobody.port
    first, second = redirecting(f"g=ol|127.0.0.1|{down}".encode()), answering()
    async with listening(first) as one, listening(second) as other:
        hosts = f"127.0.0.1:{one.port},127.0.0.1:{other.port}"
        async with aioifx.connect(**options_for(1, host=hosts, allow_redirect_to="*")) as conn:
            assert str(other.port) in repr(conn)


# -- TLS --------------------------------------------------------------------------------------------------------------


async def test_tls_goes_along_and_the_certificate_must_be_the_new_hosts(authority: trustme.CA) -> None:
    target = answering()
    async with listening(target, ssl=certified(authority, "localhost")) as behind:
        first = redirecting(f"g=ol_1|localhost|{behind.port}".encode())
        async with listening(first, ssl=certified(authority, "127.0.0.1")) as front:
            options = options_for(front.port, ssl=trusting(authority), allow_redirect_to="localhost")
            async with aioifx.connect(**options) as conn:
                assert f"localhost:{behind.port}" in repr(conn)
    target.check()


async def test_a_target_with_another_hosts_certificate_gets_no_password(authority: trustme.CA) -> None:
    target = answering()
    async with listening(target, ssl=certified(authority, "127.0.0.1")) as behind:
        first = redirecting(f"g=ol_1|localhost|{behind.port}".encode())
        async with listening(first, ssl=certified(authority, "127.0.0.1")) as front:
            options = options_for(front.port, ssl=trusting(authority), allow_redirect_to="localhost")
            with pytest.raises(ConnectError, match=r"localhost.*certificate was rejected"):
                await aioifx.connect(**options)
    assert target.received == b""


@pytest.fixture
def system_authority(
    authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[trustme.CA]:
    """An authority that the system trusts, so that no option has to name it."""
    file = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(file))
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    _create_context.cache_clear()
    yield authority
    _create_context.cache_clear()


@contextlib.asynccontextmanager
async def of_sqlhosts(
    authority: trustme.CA, folder: Path, target: Peer, context: ssl.SSLContext | None
) -> AsyncIterator[dict[str, Any]]:
    """Options whose TLS, and the absence of keepalive, are in sqlhosts alone. The server redirects to *target*."""
    async with listening(target, ssl=context) as behind:
        first = redirecting(f"g=ol_1|localhost|{behind.port}".encode())
        async with listening(first, ssl=certified(authority, "127.0.0.1")) as front:
            file = folder / "sqlhosts"
            file.write_text(f"ol_tls onsocssl 127.0.0.1 {front.port} k=0\n")
            yield options_for(
                1, host=None, sqlhosts=str(file), server="ol_tls", allow_redirect_to="localhost"
            )


async def test_a_redirect_keeps_what_the_line_of_sqlhosts_says(
    system_authority: trustme.CA, tmp_path: Path
) -> None:
    target = answering()
    certificate = certified(system_authority, "localhost")
    async with of_sqlhosts(system_authority, tmp_path, target, certificate) as options:
        async with aioifx.connect(**options) as conn:
            transport = conn._session.channel.transport
            assert transport.get_extra_info("ssl_object") is not None
            sock = transport.get_extra_info("socket")
            assert not sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    target.check()


async def test_a_target_without_tls_gets_no_password_if_sqlhosts_asked_for_tls(
    system_authority: trustme.CA, tmp_path: Path
) -> None:
    target = Peer([(None, Disconnect())], framed=False)
    async with of_sqlhosts(system_authority, tmp_path, target, None) as options:
        with pytest.raises(ConnectError, match=r"localhost.*port without TLS"):
            await aioifx.connect(**options)
        await asyncio.wait_for(target.gone.wait(), 10)
    assert target.received.startswith(b"\x16\3")  # a TLS handshake
    assert SECRET.encode() not in target.received


@pytest.mark.exhaustive
async def test_a_redirect_target_without_tls_gets_no_password_if_tls_is_on(authority: trustme.CA) -> None:
    target = Peer([(None, NO_REPLY)], framed=False)
    async with listening(target) as behind:
        first = redirecting(f"g=ol_1|localhost|{behind.port}".encode())
        async with listening(first, ssl=certified(authority, "127.0.0.1")) as front:
            options = options_for(
                front.port, ssl=trusting(authority), allow_redirect_to="localhost", connect_timeout=2
            )
            with pytest.raises(ConnectError, match="port without TLS"):
                await aioifx.connect(**options)
            await asyncio.wait_for(target.gone.wait(), 10)
    assert SECRET.encode() not in target.received


# -- by itself --------------------------------------------------------------------------------------------------------


async def test_an_attempt_that_is_dropped_closes_its_line() -> None:
    peer = Peer(with_login=True)
    async with listening(peer) as listener:
        options = ConnectOptions(host="127.0.0.1", server="ol", user="usr")
        attempt = LoginAttempt(options, Address("127.0.0.1", listener.port, "ol"))
        assert "not tried" in str(attempt.timeout_error(1))
        assert await attempt.connect() is attempt
        attempt.drop()
        attempt.drop()
        await asyncio.wait_for(peer.gone.wait(), 10)
    assert peer.received == b""
