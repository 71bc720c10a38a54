"""An address -> a connected channel: name lookup, TCP, TLS; overlapping attempts. Never: a login.

Invariants:
1. A name is looked up each time; results are not cached.
2. Of overlapping attempts, all but the winner are cancelled or closed.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import ssl
import sys
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from functools import lru_cache, partial
from itertools import chain, zip_longest
from typing import Any, Final, Generic, TypeAlias, TypeVar

from aioifx.channel import Channel
from aioifx.client.config.addresses import Address
from aioifx.errors import ConnectError

T = TypeVar("T")

logger: Final = logging.getLogger("aioifx.connect")
Start: TypeAlias = Callable[[], Coroutine[Any, Any, T]]

NEXT_ADDRESS_AFTER: Final = 0.25
"""Seconds until the next address of the same name is tried in parallel (documented: RFC 8305, 5)."""


class StaggeredRace(Generic[T]):
    """Attempts with staggered starts: the next one starts after a failure, or after *delay* seconds.

    Args:
        discard: called with each result that is not used.
    """

    def __init__(self, starts: Iterable[Start[T]], delay: float, discard: Callable[[T], None]) -> None:
        self._waiting = deque(starts)
        self._running: list[asyncio.Task[T]] = []
        self._delay = delay
        self._discard = discard
        self.errors: list[ConnectError] = []
        """Errors of failed attempts, in the order of failure."""

    async def next(self) -> T | None:
        """The next successful result; None when all attempts have failed.

        Raises:
            BaseException: of an attempt, unless it is a ConnectError.
        """
        self._start()
        while self._running:
            await asyncio.wait(
                self._running,
                timeout=self._delay if self._waiting else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            ended = next((task for task in self._running if task.done()), None)
            if ended is not None:
                self._running.remove(ended)
                try:
                    return ended.result()
                except ConnectError as error:
                    self.errors.append(error)
            self._start()
        return None

    def _start(self) -> None:
        """Start the next attempt, unless one has ended and is not yet processed."""
        if self._waiting and not any(task.done() for task in self._running):
            self._running.append(asyncio.ensure_future(self._waiting.popleft()()))

    async def close(self) -> None:
        """Cancel the attempts still running."""
        self._waiting.clear()
        tasks, self._running = self._running, []
        for task in tasks:
            task.cancel()
            task.add_done_callback(self._on_done)
        if tasks:
            await asyncio.wait(tasks)

    def _on_done(self, task: asyncio.Task[T]) -> None:
        if not task.cancelled() and task.exception() is None:
            self._discard(task.result())


async def open_channel(
    address: Address,
    context: ssl.SSLContext | None = None,
    *,
    keepalive: tuple[int, int, int] | None = None,
    hint: str = "",
    ips: list[str] | None = None,
    factory: Callable[[], Channel] = Channel,
) -> Channel:
    """Open a channel to *address* over TCP, and over TLS if a context is given.

    Args:
        keepalive: idle seconds before the first probe, seconds between probes, and unanswered probes until the
            connection is dropped. None: no probes.
        hint: likely cause, for the message, if an unexpected kind of server answers.
        ips: the result of `resolve`; None: look the name up.
        factory: creates the channel.

    Raises:
        ConnectError: nothing answers, or not as expected.
    """
    if ips is None:
        ips = await resolve(address)
    if len(ips) == 1:
        channel = await _connect(address, ips[0], context, hint, factory)
    else:
        channel = await _first(address, ips, context, hint, factory)
    if keepalive is not None:
        _keep_alive(channel, *keepalive)
    if logger.isEnabledFor(logging.DEBUG):
        _log_chosen(channel, address, ips)
    return channel


def _log_chosen(channel: Channel, address: Address, ips: list[str]) -> None:
    peer: tuple[Any, ...] | None = channel.transport.get_extra_info("peername")
    chosen = _ip_text(peer) if peer else "an unknown address"
    found = "" if ips == [address.host] else f", found by name lookup: {', '.join(ips)}"
    tls = channel.transport.get_extra_info("ssl_object")
    logger.debug("%s: connected to %s%s%s", address, chosen, f" with {tls.version()}" if tls else "", found)


async def start_tls(channel: Channel, address: Address, context: ssl.SSLContext) -> None:
    """Negotiate TLS on an open channel to *address* that has exchanged no bytes yet.

    Raises:
        ConnectError: the handshake failed, or the certificate was rejected; the channel is closed.
    """
    try:
        transport = await channel.loop.start_tls(
            channel.transport, channel, context, server_hostname=_certified_name(address)
        )
        if transport is None or channel.failure is not None:  # closed meanwhile
            raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
    except (OSError, UnicodeError) as error:
        channel.abort()
        raise _connect_error(error, address, address.host, "") from error
    channel.use_transport(transport)


async def _first(
    address: Address,
    ips: list[str],
    context: ssl.SSLContext | None,
    hint: str,
    factory: Callable[[], Channel],
) -> Channel:
    """A channel to the first of several addresses that accepts the connection."""
    race = StaggeredRace(
        [partial(_connect, address, ip, context, hint, factory) for ip in ips],
        NEXT_ADDRESS_AFTER,
        Channel.abort,
    )
    channel: Channel | None = None
    try:
        channel = await race.next()
    finally:
        try:
            await race.close()
        except BaseException:  # cancelled or timed out: the channel is not returned
            if channel is not None:
                channel.abort()
            raise
    if channel is None:
        raise _combined_error(race.errors)
    return channel


_KEEPIDLE: Final = getattr(socket, "TCP_KEEPIDLE", getattr(socket, "TCP_KEEPALIVE", None))
_KEEPINTVL: Final = getattr(socket, "TCP_KEEPINTVL", None)
_KEEPCNT: Final = getattr(socket, "TCP_KEEPCNT", None)
_USER_TIMEOUT: Final = getattr(socket, "TCP_USER_TIMEOUT", None)
"""Milliseconds that sent bytes may stay unacknowledged; no keepalive probes are sent meanwhile (documented: RFC 5482,
tcp(7))."""


def _keep_alive(channel: Channel, idle: int, interval: int, count: int) -> None:
    """Let TCP detect that the peer's machine is unreachable.

    If the peer has already reset the connection, the socket is closed or accepts no options. The next read raises the
    reason, so the failure to set an option is ignored.
    """
    own = channel.transport.get_extra_info("socket")
    if own is None:
        return
    # Without asyncio's wrapper: calls through it take 1 % of a connect's instructions (measured).
    own = getattr(own, "_sock", own)
    for level, option, value in _keepalive_options(idle, interval, count):
        try:
            own.setsockopt(level, option, value)
        except OSError:
            pass


@lru_cache(maxsize=16)
def _keepalive_options(idle: int, interval: int, count: int) -> tuple[tuple[int, int, int], ...]:
    """Level, option and value of each option that the platform supports."""
    options = (
        (_KEEPIDLE, idle),
        (_KEEPINTVL, interval),
        (_KEEPCNT, count),
        (_USER_TIMEOUT, 1000 * (idle + interval * count)),
    )
    return (
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        *((socket.IPPROTO_TCP, option, value) for option, value in options if option is not None),
    )


def _combined_error(errors: list[ConnectError]) -> ConnectError:
    """One error for all addresses of a name; their reasons are usually the same."""
    first, messages = errors[0], {str(error) for error in errors}
    for message in sorted(messages - {str(first)}):
        first.add_note(message)
    return first


async def _connect(
    address: Address,
    ip: str,
    context: ssl.SSLContext | None,
    hint: str,
    factory: Callable[[], Channel],
) -> Channel:
    loop = asyncio.get_running_loop()
    name = _certified_name(address) if context is not None else None
    try:
        # A scope is resolved by asyncio: connect() needs its number, not the text.
        if _IS_LINUX and "%" not in ip and isinstance(loop, asyncio.SelectorEventLoop):
            own = await _connected_socket(loop, ip, address.port)
            _, channel = await loop.create_connection(factory, sock=own, ssl=context, server_hostname=name)
        else:
            _, channel = await loop.create_connection(
                factory, ip, address.port, ssl=context, server_hostname=name
            )
    except (OSError, UnicodeError) as error:
        raise _connect_error(error, address, ip, hint) from error
    # Reset meanwhile, or closed in the handshake, which asyncio may report as success.
    if not channel.is_open:
        raise ConnectError(
            f"could not connect to {address}: it closed the connection immediately",
            sqlstate="08001",
            unreachable=True,
        )
    return channel


def _certified_name(address: Address) -> str:
    """The host without the scope of a link-local address: certificates have none."""
    return address.host.partition("%")[0]


_IS_LINUX: Final = sys.platform == "linux"


async def _connected_socket(loop: asyncio.SelectorEventLoop, ip: str, port: int) -> socket.socket:
    """A socket that is connected over TCP.

    Within one machine a connection is established soon after the first connect() has returned EINPROGRESS. The second
    one, which `sock_connect` begins with, then succeeds on Linux, so the loop does not wait. That saves 8 % of the
    processor time of connecting (measured). On macOS it fails with EISCONN (documented: connect(2)), and uvloop gains
    nothing.

    Raises:
        OSError: the address is unreachable, or nothing listens.
    """
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    # asyncio sets TCP_NODELAY if the socket has a protocol.
    own = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        own.setblocking(False)
        try:
            own.connect((ip, port))
        except (BlockingIOError, InterruptedError):
            await loop.sock_connect(own, (ip, port))
    except BaseException:
        own.close()
        raise
    return own


def _connect_error(error: OSError | UnicodeError, address: Address, ip: str, hint: str) -> ConnectError:
    """The error for a caller, from what prevented a connection."""
    if isinstance(error, ssl.CertificateError):
        return ConnectError(f"{address}: its certificate was rejected: {_reason(error)}", sqlstate="08001")
    answered = isinstance(error, (ssl.SSLError, ConnectionError)) and not isinstance(
        error, ConnectionRefusedError
    )
    where = address if ip == address.host else f"{address} ({ip})"
    return ConnectError(
        f"could not connect to {where}: {_reason(error)}{hint if answered else ''}",
        sqlstate="08001",
        unreachable=not isinstance(error, (ssl.SSLError, UnicodeError)),
    )


# -- names ------------------------------------------------------------------------------------------------------------


async def resolve(address: Address) -> list[str]:
    """The addresses of a name, at least one, alternating between address families (documented: RFC 8305, 4).

    Raises:
        ConnectError: the name is unknown, has no address, or could not be looked up.
    """
    if _is_ip(address.host):
        return [address.host]
    try:
        ips = await _lookup(address)
    except (OSError, UnicodeError) as error:  # a host name that cannot be encoded raises UnicodeError
        raise ConnectError(
            f"could not connect to {address}: {_reason(error)}",
            sqlstate="08001",
            unreachable=isinstance(error, OSError) and error.errno == socket.EAI_AGAIN,
        ) from error
    if not ips:
        raise ConnectError(f"could not connect to {address}: the name has no address", sqlstate="08001")
    return ips


async def _lookup(address: Address) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(
        address.host, address.port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
    )
    first_family = found[0][0] if found else 0
    same: list[str] = []
    other: list[str] = []
    for family, _, _, _, sockaddr in found:
        (same if family == first_family else other).append(_ip_text(sockaddr))
    by_turns = chain.from_iterable(zip_longest(same, other))
    return list(dict.fromkeys(ip for ip in by_turns if ip is not None))


@lru_cache(maxsize=256)
def _is_ip(host: str) -> bool:
    # Not by `ipaddress`: importing it takes a millisecond.
    text, percent, scope = host.partition("%")
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, text)
        except (OSError, ValueError):
            continue
        return not percent or (family == socket.AF_INET6 and scope != "")
    return False


def _ip_text(sockaddr: tuple[Any, ...]) -> str:
    """The address as text, with its scope, which a link-local address needs."""
    host: str = sockaddr[0]
    scope = sockaddr[3] if len(sockaddr) == 4 else 0
    return f"{host}%{scope}" if scope and "%" not in host else host


def _reason(error: OSError | UnicodeError) -> str:
    """The reason, without asyncio's additions."""
    for name in ("verify_message", "reason"):
        if text := getattr(error, name, None):
            return str(text)
    if isinstance(error, OSError) and error.errno is not None and error.errno in errno.errorcode:
        return os.strerror(error.errno)
    if isinstance(error, ConnectionResetError) and not error.args:  # asyncio's, in a TLS handshake
        return os.strerror(errno.ECONNRESET)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
