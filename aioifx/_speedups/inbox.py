# cython: language_level=3, annotation_typing=False, binding=False, nonecheck=True, auto_pickle=False
# cython: freethreading_compatible=True
"""The receive buffer, as far as nothing in it waits. Never: asyncio, what the bytes mean.

Compiled from this file, with the types that inbox.pxd declares.
"""

from __future__ import annotations

from struct import Struct

_i16 = Struct(">h").unpack_from
_u16 = Struct(">H").unpack_from
_i32 = Struct(">i").unpack_from
_u32 = Struct(">I").unpack_from
_i64 = Struct(">q").unpack_from


class Park:
    """Yielded by a parser that waits; private, so that any other event loop fails at once."""

    __slots__ = ()


PARK = Park()

YIELD = Park()
"""Yielded by a parser that has read many messages: it can go on at once, unless other work is due."""


class CoreInbox:
    """The received bytes that were not consumed."""

    def __init__(self, limit: int) -> None:
        self.data = bytearray()
        self.pos = 0
        self.eof = False
        self.limit = limit
        """Upper limit of `consumed`; set by a parser that reads a message without a length."""
        self.dropped = 0
        """Consumed bytes that are no longer in `data`."""

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        """Drop the consumed bytes and append *data*."""
        self._feed(data)

    def _feed(self, data: bytes | bytearray | memoryview) -> None:
        if self.pos:
            self.dropped += self.pos
            del self.data[: self.pos]
            self.pos = 0
        self.data += data

    @property
    def unread(self) -> int:
        """Received bytes that are not consumed."""
        return len(self.data) - self.pos

    @property
    def consumed(self) -> int:
        """Bytes consumed since the connection began."""
        return self.dropped + self.pos

    def is_short_of(self, count: int) -> bool:
        """Whether fewer than *count* unread bytes are here."""
        return len(self.data) - self.pos < count

    def i16(self) -> int:
        value: int = _i16(self.data, self.pos)[0]
        self.pos += 2
        return value

    def u16(self) -> int:
        value: int = _u16(self.data, self.pos)[0]
        self.pos += 2
        return value

    def i32(self) -> int:
        value: int = _i32(self.data, self.pos)[0]
        self.pos += 4
        return value

    def u32(self) -> int:
        value: int = _u32(self.data, self.pos)[0]
        self.pos += 4
        return value

    def i64(self) -> int:
        value: int = _i64(self.data, self.pos)[0]
        self.pos += 8
        return value

    def u8(self) -> int:
        value = self.data[self.pos]
        self.pos += 1
        return value

    def peek(self, count: int) -> bytes:
        """The next *count* bytes, not consumed."""
        return bytes(self.data[self.pos : self.pos + count])

    def peek_u16(self) -> int:
        data, pos = self.data, self.pos
        return data[pos] << 8 | data[pos + 1]

    def peek_i32(self, offset: int) -> int:
        value: int = _i32(self.data, self.pos + offset)[0]
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
