"""The connection-wide receive buffer; `need` and `arrival`, the places to wait. Never: what the bytes mean.

Invariants:
1. Only `need`, `arrival` and `give_way` await. A parser awaits other parsers and these, nothing else.
2. No memoryview of `data` survives a wait: a live view forbids the bytearray to grow.
3. Positions are absolute in `data`; only `feed` and `compact` move it, and only while no parser runs.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Coroutine, Generator
from typing import Final, Protocol, TypeAlias, TypeVar

from aioifx._speedups.inbox import PARK, YIELD, CoreInbox, Park
from aioifx.errors import ConnectionLost, ProtocolError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

AT_ONCE: Final = 256
"""Messages that a parser reads before it yields."""

NO_LIMIT: Final = 2**63 - 1

Parser: TypeAlias = Coroutine[Park, None, T]
"""A coroutine that is stepped with ``send(None)`` whenever bytes have arrived."""


class Reader(Protocol[T_co]):
    """Reads one reply from an inbox, without a parser if possible."""

    @property
    def try_read(self) -> Callable[[Inbox], T_co | None]:
        """Reads it if all of it is here and its form is usual; otherwise returns None and consumes nothing."""
        ...

    def parser(self, inbox: Inbox, /) -> Parser[T_co]:
        """Reads it in any form, as its bytes arrive."""
        ...


@types.coroutine
def _park() -> Generator[Park, None, None]:
    yield PARK


class Inbox(CoreInbox):
    """The received bytes that were not consumed; it belongs to the connection and outlives every parser."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(NO_LIMIT)

    async def need(self, count: int) -> None:
        """Return once *count* unread bytes are here; until then the parser is parked.

        Raises:
            ConnectionLost: the peer closed before it sent them.
            ProtocolError: they exceed the limit. Only bytes that must be waited for are measured.
        """
        while self.is_short_of(count):
            if self.eof:
                raise ConnectionLost("the server closed the connection in the middle of a reply")
            if self.consumed + count > self.limit:
                raise ProtocolError("the message does not end within its limit")
            await _park()

    @types.coroutine
    def give_way(self) -> Generator[Park, None, None]:
        """Called after `AT_ONCE` messages of one reply: the event loop may run other tasks."""
        yield YIELD

    @types.coroutine
    def arrival(self) -> Generator[Park, None, None]:
        """Return once there are unread bytes, or none will come; until then the parser is parked."""
        while self.is_short_of(1) and not self.eof:
            yield PARK


def padded(size: int) -> int:
    """*size* rounded up to even: everything after the login is padded to even."""
    return size + (size & 1)
