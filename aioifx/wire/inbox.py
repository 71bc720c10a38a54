"""The connection-wide receive buffer; `need` and `arrival`, the places to wait. Never: what the bytes mean.

Invariants:
1. Only `need`, `arrival` and `give_way` await. A parser awaits other parsers and these, nothing else.
2. No memoryview of `data` survives a wait: a live view forbids the bytearray to grow.
3. Positions are absolute in `data`; only `feed` and `compact` move it, and only while no parser runs.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Coroutine, Generator
from struct import Struct
from typing import Final, Protocol, TypeAlias, TypeVar

from aioifx.errors import ConnectionLost, ProtocolError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_I16: Final = Struct(">h")
_U16: Final = Struct(">H")
_I32: Final = Struct(">i")
_U32: Final = Struct(">I")
_I64: Final = Struct(">q")


class Park:
    """Yielded by a parser that waits; private, so that any other event loop fails at once."""

    __slots__ = ()


PARK: Final = Park()

YIELD: Final = Park()
"""Yielded by a parser that has read many messages: it can go on at once, unless other work is due."""

AT_ONCE: Final = 256
"""Messages that a parser reads before it yields."""

NO_LIMIT: Final = sys.maxsize

COMPACT_FROM: Final = 4096
"""Consumed bytes that are kept until more arrive: dropping fewer costs more than keeping them."""

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


class Inbox:
    """The received bytes that were not consumed; it belongs to the connection and outlives every parser."""

    __slots__ = ("data", "dropped", "eof", "limit", "pos")

    def __init__(self) -> None:
        self.data = bytearray()
        self.pos = 0
        self.eof = False
        self.limit = NO_LIMIT
        """Upper limit of `consumed`; set by a parser that reads a message without a length."""
        self.dropped = 0
        """Consumed bytes that are no longer in `data`."""

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        """Drop the consumed bytes and append *data*."""
        if self.pos:
            self.dropped += self.pos
            del self.data[: self.pos]
            self.pos = 0
        self.data += data

    def compact(self) -> None:
        """Free the memory of consumed bytes; worth it from `COMPACT_FROM` bytes on, since more may never arrive."""
        self.feed(b"")

    @property
    def unread(self) -> int:
        """Received bytes that are not consumed."""
        return len(self.data) - self.pos

    @property
    def consumed(self) -> int:
        """Bytes consumed since the connection began."""
        return self.dropped + self.pos

    async def need(self, count: int) -> None:
        """Return once *count* unread bytes are here; until then the parser is parked.

        Raises:
            ConnectionLost: the peer closed before it sent them.
            ProtocolError: they exceed the limit. Only bytes that must be waited for are measured.
        """
        while len(self.data) - self.pos < count:
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
        while len(self.data) == self.pos and not self.eof:
            yield PARK

    def i16(self) -> int:
        value: int = _I16.unpack_from(self.data, self.pos)[0]
        self.pos += 2
        return value

    def u16(self) -> int:
        value: int = _U16.unpack_from(self.data, self.pos)[0]
        self.pos += 2
        return value

    def i32(self) -> int:
        value: int = _I32.unpack_from(self.data, self.pos)[0]
        self.pos += 4
        return value

    def u32(self) -> int:
        value: int = _U32.unpack_from(self.data, self.pos)[0]
        self.pos += 4
        return value

    def i64(self) -> int:
        value: int = _I64.unpack_from(self.data, self.pos)[0]
        self.pos += 8
        return value

    def u8(self) -> int:
        value = self.data[self.pos]
        self.pos += 1
        return value

    def peek_i32(self, offset: int) -> int:
        value: int = _I32.unpack_from(self.data, self.pos + offset)[0]
        return value

    def take(self, count: int) -> bytes:
        """The next *count* bytes, consumed."""
        value = bytes(self.data[self.pos : self.pos + count])
        self.pos += count
        return value

    def take_many(self, count: int) -> bytes:
        """`take` without a copy in between: faster for more than some 1,000 bytes."""
        end = self.pos + count
        with memoryview(self.data) as view, view[self.pos : end] as part:
            value = bytes(part)
        self.pos = end
        return value

    def skip(self, count: int) -> None:
        self.pos += count


def padded(size: int) -> int:
    """*size* rounded up to even: everything after the login is padded to even."""
    return size + (size & 1)
