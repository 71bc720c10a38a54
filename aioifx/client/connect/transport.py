"""An address -> a connected channel: name lookup, TCP, TLS; attempts that overlap. Never: a login.

House rules:
1. A name is looked up anew each time; nothing of the answer is kept.
2. Of attempts that overlap, all but the one that is taken are cancelled or dropped.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import os
import socket
import ssl
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from functools import lru_cache, partial
from itertools import chain, zip_longest
from typing import Any, Final, Generic, TypeAlias, TypeVar

from aioifx.channel import Channel
from aioifx.client.config.addresses import Address
from aioifx.errors import ConnectError

T = TypeVar("T")
Start: TypeAlias = Callable[[], Coroutine[Any, Any, T]]

NEXT_ADDRESS_AFTER: Final = 0.25
"""Seconds until the next address of one name is tried, too (documented: RFC 8305, 5)."""


class StaggeredRace(Generic[T]):
    """Attempts, one after the other: the next begins when one has failed, or none has ended for *delay* seconds.

    Args:     discard: what is done with a result that came and that nobody took.
    """

    def __init__(self, starts: Iterable[Start[T]], delay: float, discard: Callable[[T], None]) -> None:
        self._waiting = deque(starts)
        self._running: list[asyncio.Task[T]] = []
        self._delay = delay
        self._discard = discard
        self.errors: list[ConnectError] = []
        """Why attempts failed, in the order in which they did."""

    async def next(self) -> T | None:
        """The result of the attempt that succeeds first and was not returned before; None when all have failed.

        Raises:   whatever an attempt raised that is no ConnectError.
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
        """Begin with the next attempt, unless one has ended that nobody has looked at."""
        if self._waiting and not any(task.done() for task in self._running):
            self._running.append(asyncio.ensure_future(self._waiting.popleft()()))

    async def close(self) -> None:
        """Give up what is still under way."""
        self._waiting.clear()
        tasks, self._running = self._running, []
        for task in tasks:
            task.cancel()
            task.add_done_callback(self._end)
        if tasks:
            await asyncio.wait(tasks)

    def _end(self, task: asyncio.Task[T]) -> None:
        if not task.cancelled() and task.exception() is None:
            self._discard(task.result())


async def reach(
    address: Address,
    context: ssl.SSLContext | None = None,
    *,
    keepalive: tuple[int, int, int] | None = None,
    hint: str = "",
) -> Channel:
    """A channel to *address*, over TCP and, with a context, TLS.

    Args:     keepalive: seconds without traffic until TCP asks whether the peer is there, seconds between two
              questions, questions without an answer that end the connection. None: TCP does not ask.
              hint: what may be the matter when something answers, but not as it should.
    Raises:   ConnectError: nobody is there, or the wrong one.
    """
    try:
        places = await _places(address)
    except (OSError, UnicodeError) as error:  # a host's name that cannot be encoded is a UnicodeError
        raise ConnectError(f"could not connect to {address}: {_reason(error)}", sqlstate="08001") from error
    if not places:
        raise ConnectError(f"could not connect to {address}: the name has no address", sqlstate="08001")
    if len(places) == 1:
        channel = await _connect(address, places[0], context, hint)
    else:
        channel = await _first(address, places, context, hint)
    if keepalive is not None:
        _keep_alive(channel, *keepalive)
    return channel


async def _first(address: Address, places: list[str], context: ssl.SSLContext | None, hint: str) -> Channel:
    """A channel to the first of several places that takes us."""
    race = StaggeredRace(
        [partial(_connect, address, place, context, hint) for place in places],
        NEXT_ADDRESS_AFTER,
        Channel.abort,
    )
    try:
        channel = await race.next()
    finally:
        await race.close()
    if channel is None:
        raise _all_refused(race.errors)
    return channel


_KEEPIDLE: Final = getattr(socket, "TCP_KEEPIDLE", getattr(socket, "TCP_KEEPALIVE", None))
_KEEPINTVL: Final = getattr(socket, "TCP_KEEPINTVL", None)
_KEEPCNT: Final = getattr(socket, "TCP_KEEPCNT", None)
_USER_TIMEOUT: Final = getattr(socket, "TCP_USER_TIMEOUT", None)
"""Milliseconds that sent bytes may stay unacknowledged; keepalive does not begin while there are some (documented: RFC
5482, tcp(7))."""


def _keep_alive(channel: Channel, idle: int, interval: int, count: int) -> None:
    """Let TCP find out that the peer's machine has gone.

    A peer may have reset the connection already. The socket then is closed or takes no options, and the next read tells
    why: that is not an error of the option.
    """
    own = channel.transport.get_extra_info("socket")
    if own is None:
        return
    for level, option, value in _keepalive_options(idle, interval, count):
        try:
            own.setsockopt(level, option, value)
        except OSError:
            pass


@lru_cache(maxsize=16)
def _keepalive_options(idle: int, interval: int, count: int) -> tuple[tuple[int, int, int], ...]:
    """Level, option and value of what the platform has."""
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


def _all_refused(errors: list[ConnectError]) -> ConnectError:
    """One error for all the addresses of a name, which mostly say the same."""
    first, said = errors[0], {str(error) for error in errors}
    for message in sorted(said - {str(first)}):
        first.add_note(message)
    return first


async def _connect(address: Address, place: str, context: ssl.SSLContext | None, hint: str) -> Channel:
    try:
        _, channel = await asyncio.get_running_loop().create_connection(
            Channel,
            place,
            address.port,
            ssl=context,
            server_hostname=address.host if context is not None else None,
        )
    except ssl.CertificateError as error:
        raise ConnectError(
            f"{address}: its certificate is refused: {_reason(error)}", sqlstate="08001"
        ) from error
    except (OSError, UnicodeError) as error:
        answered = isinstance(error, (ssl.SSLError, ConnectionError)) and not isinstance(
            error, ConnectionRefusedError
        )
        where = address if place == address.host else f"{address} ({place})"
        raise ConnectError(
            f"could not connect to {where}: {_reason(error)}{hint if answered else ''}", sqlstate="08001"
        ) from error
    if (
        not channel.is_open
    ):  # reset meanwhile; or cut off in the handshake, which asyncio may take for its end
        raise ConnectError(
            f"could not connect to {address}: it closed the connection at once", sqlstate="08001"
        )
    return channel


# -- names ------------------------------------------------------------------------------------------------------------


async def _places(address: Address) -> list[str]:
    """The addresses of a name, the families by turns (documented: RFC 8305, 4)."""
    if _is_literal(address.host):
        return [address.host]
    found = await asyncio.get_running_loop().getaddrinfo(
        address.host, address.port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
    )
    first_family = found[0][0] if found else 0
    same: list[str] = []
    other: list[str] = []
    for family, _, _, _, place in found:
        (same if family == first_family else other).append(_literal(place))
    by_turns = chain.from_iterable(zip_longest(same, other))
    return list(dict.fromkeys(place for place in by_turns if place is not None))


@lru_cache(maxsize=256)
def _is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _literal(place: tuple[Any, ...]) -> str:
    """The address alone, with its scope where it has one: a link-local address is none without."""
    host: str = place[0]
    scope = place[3] if len(place) == 4 else 0
    return f"{host}%{scope}" if scope and "%" not in host else host


def _reason(error: OSError | UnicodeError) -> str:
    """The reason without the noise that asyncio puts around it."""
    for name in ("verify_message", "reason"):
        if text := getattr(error, name, None):
            return str(text)
    if isinstance(error, OSError) and error.errno is not None and error.errno in errno.errorcode:
        return os.strerror(error.errno)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
