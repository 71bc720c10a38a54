"""The send buffer: integers, padded text, patched lengths. Never: the time of sending."""

from __future__ import annotations

from struct import Struct
from typing import Final

_I16: Final = Struct(">h")
_U16: Final = Struct(">H")
_I32: Final = Struct(">i")
_U32: Final = Struct(">I")
_I64: Final = Struct(">q")


class Outbox:
    """Bytes to send, in the order in which they were put."""

    __slots__ = ("data",)

    def __init__(self) -> None:
        self.data = bytearray()

    def __len__(self) -> int:
        return len(self.data)

    def detach(self) -> bytes:
        """Return all bytes put so far and empty the outbox."""
        data = bytes(self.data)
        self.data.clear()
        return data

    def u8(self, value: int) -> None:
        self.data.append(value)

    def i16(self, value: int) -> None:
        self.data += _I16.pack(value)

    def u16(self, value: int) -> None:
        self.data += _U16.pack(value)

    def i32(self, value: int) -> None:
        self.data += _I32.pack(value)

    def u32(self, value: int) -> None:
        self.data += _U32.pack(value)

    def i64(self, value: int) -> None:
        self.data += _I64.pack(value)

    def raw(self, data: bytes | bytearray | memoryview) -> None:
        self.data += data

    def block(self, data: bytes) -> None:
        """Bytes without a length, padded to even."""
        self.data += data
        if len(data) & 1:
            self.data.append(0)

    def char(self, text: bytes) -> None:
        """A CHAR: short length, bytes, pad to even."""
        self.data += _U16.pack(len(text))
        self.block(text)

    def long_char(self, text: bytes) -> None:
        """A CHAR with an int length, for SQL text without the 64 KB limit."""
        self.data += _I32.pack(len(text))
        self.block(text)

    def login_text(self, text: bytes) -> None:
        """A login string: short length that counts the closing NUL, bytes, NUL, no padding."""
        self.data += _U16.pack(len(text) + 1)
        self.data += text
        self.data.append(0)

    def fixed(self, text: bytes, size: int) -> None:
        """Text in a field of *size* bytes, filled with NULs."""
        self.data += text.ljust(size, b"\0")

    def patch_u16(self, position: int, value: int) -> None:
        """Overwrite the placeholder of a length."""
        _U16.pack_into(self.data, position, value)
