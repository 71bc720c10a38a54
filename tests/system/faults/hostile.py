"""Replies that no server should send, and a server that sends one of them in place of one of its own.

They are written byte by byte: what is tested reads them, so it must not have written them. Their layouts are those of
the capabilities that client and embedded server agree on, bits 69 and 70 among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from struct import pack
from typing import Final

import pytest

from aioifx.server.protocol import session
from aioifx.server.protocol.context import SessionContext
from aioifx.server.protocol.dispatch import Conversation
from aioifx.wire.requests import Request

EOT: Final = b"\0\x0c"

Spoil = Callable[[bytes], bytes]
"""The reply that the server would send -> what it sends instead."""


def error(sqlcode: int, isamcode: int = 0, offset: int = 0, token: bytes = b"", more: bytes = b"") -> bytes:
    return pack(">Hhhi", 13, sqlcode, isamcode, offset) + text(token) + more


def text(data: bytes) -> bytes:
    return pack(">H", len(data)) + data + bytes(len(data) % 2)


def done(rows: int, warnings: int = 0, rowid: int = 0, serial: int = 0) -> bytes:
    return pack(">HHqqi", 15, warnings, rows, rowid, serial)


def described(columns: int, names: int, *, statement_type: int = 2, statement_id: int = 0) -> bytes:
    """The head of SQ_DESCRIBE; no column follows."""
    return pack(">HhhiihI", 8, statement_type, statement_id, 0, 0, columns, names & 0xFFFFFFFF)


def one_column(code: int, length: int, name: bytes = b"x\0") -> bytes:
    column = pack(">iiHiHHhhii", 0, 0, code, 0, 0, 0, 0, 0, 0, length)
    return described(1, len(name)) + column + name + bytes(len(name) % 2)


def row(size: int, data: bytes = b"") -> bytes:
    return pack(">HHi", 14, 0, size) + data


def piece(data: bytes) -> bytes:
    return pack(">H", 39) + text(data)


def replaced(reply: bytes) -> Spoil:
    return lambda _: reply


ERRORS: Final[dict[str, bytes]] = {
    "an error": error(-206, -111, 15, b"thing") + EOT,
    "an error behind the end of the text": error(-201, 0, 2**31 - 1, b"") + EOT,
    "an error at a negative place": error(-201, 0, -5, b"x") + EOT,
    "an error without a number": error(0, 0, 0, b"", b"01000\0" + text(b"warned")) + EOT,
    "thousands of errors without a number": error(0, 0, 0, b"", b"01000\0" + text(b"warned")) * 3000 + EOT,
    "no rows": error(100) + EOT,
    "an error with a text": error(-937, 0, 0, b"", b"U0001\0" + text(b"of a routine")) + EOT,
    "an error without a token": pack(">Hhhi", 13, -368, 0, 0) + EOT,
    "a positive error": error(5) + EOT,
    "an unknown error": error(-32768, -32768, 0, b"\xff\xfe\0\x1b[31m") + EOT,
    "an interrupt that nobody asked for": error(-213, -157) + EOT,
    "a stale statement": error(-710) + EOT,
    "an unknown statement": error(-258) + EOT,
    "a lost server": error(-25582) + EOT,
    "a lock": error(-244, -107, 0, b"thing") + EOT,
    "two errors": error(-206) + error(-201) + EOT,
    "rows and then an error": row(4, b"\0\0\0\1") + error(-206) + EOT,
    "an error and then an end": error(-206) + done(0) + EOT,
}
"""SQ_ERR of each form, in a group that is whole."""

WHOLE: Final[dict[str, bytes]] = {
    **ERRORS,
    "an end": EOT,
    "an end of nothing": done(0) + EOT,
    "ten rows done": done(10) + EOT,
    "a negative count": done(-1) + EOT,
    "the lowest count": done(-(2**63), 0xFFFF, -(2**63), -(2**31)) + EOT,
    "the highest count": done(2**63 - 1, 0xFFFF, 2**63 - 1, 2**31 - 1) + EOT,
    "a cost of everything": pack(">Hii", 55, -1, 2**31 - 1) + EOT,
    "a row of nothing": row(0) + EOT,
    "a row that nobody described": row(8, bytes(8)) + done(1) + EOT,
    "a thousand rows of nothing": row(0) * 1000 + done(1000) + EOT,
    "a row number": pack(">Hi", 25, 7) + EOT,
    "an impossible row number": pack(">Hi", 25, -7) + EOT,
    "a closed cursor": b"\0\x0a" + EOT,
    "a transaction": pack(">Hhhh", 99, 1, 1, 0) + EOT,
    "an impossible transaction": pack(">Hhhh", 99, -1, -1, 0x7FFF) + EOT,
    "serials": pack(">HhIIq", 94, -1, 0xFFFFFFFF, 0xFFFFFFFF, -(2**63)) + EOT,
    "no columns": described(0, 0) + EOT,
    "no columns and a row": described(0, 0) + row(8, bytes(8)) + done(1) + EOT,
    "a statement without a number": described(0, 0, statement_id=-1) + EOT,
    "a statement of no kind": described(0, 0, statement_type=-1) + EOT,
    "another column": one_column(2, 4) + EOT,
    "another column and a short row": one_column(2, 4) + row(1, b"\0\0") + done(1) + EOT,
    "another column and a long row": one_column(2, 4) + row(400, bytes(400)) + done(1) + EOT,
    "a column of no type": one_column(0x00FF, 4) + EOT,
    "a column of no length": one_column(0, 0) + row(0) + EOT,
    "a column of negative length": one_column(0, -1) + EOT,
    "a column of the greatest length": one_column(13, 2**31 - 1) + EOT,
    "a column of impossible digits": one_column(5, 0xFFFF) + row(0) + EOT,
    "a column of an impossible qualifier": one_column(10, 0xFFFF) + row(4, bytes(4)) + EOT,
    "a version": pack(">H", 53) + text(b"Informix") + EOT,
    "capabilities": pack(">H", 126) + text(b"\xff" * 9) + EOT,
    "no capabilities": pack(">H", 126) + text(b"") + EOT,
    "databases": pack(">H", 26) + text(b"a") + b"\0\0" + EOT,
    "parameters": pack(">Hh", 125, 0) + EOT,
    "a value": piece(b"ab") + piece(b"") + EOT,
    "an empty value": piece(b"") + done(0) + EOT,
    "two values": (piece(b"ab") + piece(b"")) * 2 + EOT,
    "a value and then an error": piece(b"ab") + piece(b"") + error(-606) + EOT,
}
"""Groups that are whole, at least as far as they can be read."""

BROKEN: Final[dict[str, bytes]] = {
    "an unknown tag": b"\x7f\xff" + EOT,
    "a tag of zero": bytes(2) + EOT,
    "a tag of a client": pack(">H", 2) + EOT,
    "zeros": bytes(4096),
    "ones": b"\xff" * 4096,
    "another protocol": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "a negative number of columns": described(-1, 0) + EOT,
    "columns that do not come": described(0x7FFF, 0) + EOT,
    "names that do not come": described(1, 0x7FFFFFFF) + EOT,
    "a negative number of names": described(1, -1) + EOT,
    "a row of negative size": row(-1) + EOT,
    "the lowest size of a row": row(-(2**31)) + EOT,
    "a row that does not come": row(0x7FFFFFFF) + EOT,
    "a row of half its size": one_column(2, 4) + row(4, b"\0\0") + EOT,
    "a token that does not come": pack(">HhhiH", 13, -206, 0, 0, 0xFFFF) + EOT,
    "capabilities that do not come": pack(">HH", 126, 0xFFFF) + EOT,
    "parameters that do not come": pack(">Hh", 125, 0x7FFF) + EOT,
    "a negative number of parameters": pack(">Hh", 125, -1) + EOT,
    "results that do not come": pack(">Hh", 103, 0x7FFF) + EOT,
    "a negative number of results": pack(">Hh", 103, -1) + EOT,
    "a piece that does not come": pack(">HH", 39, 0x7FFF) + EOT,
    "a value without its end": piece(b"ab") + EOT,
    "an error within a value": piece(b"ab") + error(-606) + EOT,
    "a row within a value": piece(b"ab") + row(0) + EOT,
    "data that do not come": pack(">Hhi", 97, 0, 0x7FFFFFFF) + EOT,
    "data of negative size": pack(">Hhi", 97, 0, -1) + EOT,
    "thousands of values": piece(b"") * 5000 + EOT,
    "a file to close": pack(">Hh", 98, 1) + EOT,
    "thousands of files to close": (pack(">Hh", 98, 1) + EOT) * 5000,
    "a file to open and rows": pack(">Hh", 98, 0) + text(b"x") + bytes(12) + EOT + row(4, bytes(4)) + EOT,
    "a file of thousands of pieces": pack(">Hh", 98, 3) + (pack(">H", 107) + text(b"")) * 5000 + EOT,
    "a goodbye": pack(">H", 56),
    "an end, and more": EOT + row(0),
    "two ends": EOT + EOT,
}
"""Bytes that are not one complete group."""


def _with_numbers(number: bytes) -> Spoil:
    """The same reply with another number in its middle."""

    def spoil(reply: bytes) -> bytes:
        at = len(reply) // 4 * 2
        return reply[:at] + number + reply[at + len(number) :]

    return spoil


CHANGED: Final[dict[str, Spoil]] = {
    "nothing": lambda reply: b"",
    "half of it": lambda reply: reply[: len(reply) // 2],
    "all but its end": lambda reply: reply[:-2],
    "all but a byte": lambda reply: reply[:-1],
    "the reply twice": lambda reply: reply + reply,
    "the reply, and one more end": lambda reply: reply + EOT,
    "the reply, and an error": lambda reply: reply + error(-206) + EOT,
    "its beginning again": lambda reply: reply[:8] + reply,
    "an error before its end": lambda reply: reply[:-2] + error(-206) + EOT,
    "a negative number within": _with_numbers(b"\xff\xff\xff\xff"),
    "a large number within": _with_numbers(b"\x7f\xff\xff\xff"),
    "a zero within": _with_numbers(bytes(4)),
    "a tag within": _with_numbers(EOT),
}
"""The server's own reply, changed."""

SPOILS: Final[dict[str, Spoil]] = {
    **{name: replaced(reply) for name, reply in (*WHOLE.items(), *BROKEN.items())},
    **CHANGED,
}


class Plan:
    """Which reply of one user's session is replaced, counted from the start of the session."""

    def __init__(self, position: int = -1, spoil: Spoil | None = None) -> None:
        self.position = position
        self.spoil = spoil
        self.seen = 0

    def __call__(self, reply: bytes) -> bytes:
        self.seen += 1
        if self.spoil is None or self.seen != self.position + 1:
            return reply
        return self.spoil(reply)


class HostileConversation(Conversation):
    plans: Final[dict[str, Plan]] = {}
    """By user."""

    def __init__(self, context: SessionContext) -> None:
        super().__init__(context)
        self._user = context.engine.settings.user

    def answer(
        self, groups: Sequence[Sequence[Request]], early: Callable[[bytes], None] | None = None
    ) -> bytes:
        answers = b""
        for group in groups:
            plan = self.plans.get(self._user, Plan())
            answers += plan(super().answer([group], early))
        return answers


@contextmanager
def hostile_servers() -> Iterator[dict[str, Plan]]:
    """Embedded servers do as their users' plans say."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "Conversation", HostileConversation)
        HostileConversation.plans.clear()
        yield HostileConversation.plans
