"""A peer that keeps BLOB and CLOB values in memory, and answers the fast path and SQ_LODATA."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from struct import pack
from typing import Any

from aioifx.client.api.connection import Connection
from aioifx.client.lobs.lob import Lob
from aioifx.codecs.large_objects import LOCATOR, Locator
from aioifx.codecs.numbers import decode_int8, encode_int8
from aioifx.sqltypes import TypeCode
from aioifx.testing.messages import EOT, error
from aioifx.testing.script import Answer, Delayed, Exchange, Peer
from aioifx.wire import objects, requests
from aioifx.wire.fields import BindEntry
from aioifx.wire.outbox import Outbox
from tests.scripted import talking_to

BAD = error(-9810, -12097) + EOT


@dataclass
class Opened:
    number: int
    mode: int
    position: int = 0


class LobPeer(Peer):
    """Answers routine calls by itself, and everything else from the script."""

    def __init__(self, turns: list[Exchange] | tuple[Exchange, ...] = (), **options: Any) -> None:
        super().__init__(turns, **options)
        self.values: dict[int, bytearray] = {}
        self.opened: dict[int, Opened] = {}
        self.calls: list[str] = []
        """Names of called routines, and LODATA requests."""
        self.before: Callable[[str], Answer | None] = lambda name: None
        """Called with each of `calls`; returns another answer instead."""
        self.storage: list[bytes] = []
        self._names: list[str] = []

    def add(self, data: bytes) -> Locator:
        number = len(self.values) + 1
        self.values[number] = bytearray(data)
        return locator_of(number)

    def close_all(self) -> None:
        self.opened.clear()

    def own_reply(self, group: list[requests.Request]) -> Answer | None:
        outbox = Outbox()
        match group:
            case [objects.FindRoutine(signature)]:
                name = signature.decode().removeprefix("function informix.ifx_lo_")
                if name not in self._names:
                    self._names.append(name)
                self.calls.append(f"find {name.partition('(')[0]}")
                objects.put_routine(outbox, objects.Routine(b"memory", self._names.index(name) + 1))
            case [objects.CallRoutine(b"memory", number, count), requests.Bind(entries)]:
                assert len(entries) == count
                name = self._names[number - 1].partition("(")[0]
                self.calls.append(name)
                if (answer := self.before(name)) is not None:
                    return answer
                returned = getattr(self, f"on_{name}")(*entries)
                if returned is None:
                    return BAD
                objects.put_returned(outbox, returned)
            case [objects.ReadObject() as read]:
                self.calls.append(f"read {read.size}")
                if (answer := self.before("read")) is not None:
                    return answer
                opened = self.opened.get(read.handle)
                if opened is None:
                    return BAD
                data = bytes(self.values[opened.number][opened.position : opened.position + read.size])
                opened.position += len(data)
                objects.put_object_data(outbox, objects.ObjectData(0, len(data), data))
            case [objects.WriteObject() as write]:
                self.calls.append(f"write {len(write.data)}")
                if (answer := self.before("write")) is not None:
                    return answer
                opened = self.opened.get(write.handle)
                if opened is None or opened.mode == 4:
                    return BAD
                value = self.values[opened.number]
                value[opened.position : opened.position + len(write.data)] = write.data
                opened.position += len(write.data)
                objects.put_object_data(outbox, objects.ObjectData(2, len(write.data)))
            case _:
                return None
        return outbox.detach() + EOT

    # -- routines -----------------------------------------------------------------------------------------------------

    def on_col_sbinfo(self, column: BindEntry, storage: BindEntry) -> list[BindEntry]:
        self.storage.append(column.data)
        return [storage._replace(data=b"storage of " + column.data)]

    def on_create(self, storage: BindEntry, mode: BindEntry, locator: BindEntry) -> list[BindEntry]:
        self.storage.append(storage.data)
        made = self.add(b"")
        return [
            locator._replace(data=made.data),
            *(self.on_open(locator._replace(data=made.data), mode) or []),
        ]

    def on_open(self, locator: BindEntry, mode: BindEntry) -> list[BindEntry] | None:
        number = int.from_bytes(locator.data, "big")
        if number not in self.values:
            return None
        descriptor = next(n for n in range(1, 100) if n not in self.opened)
        self.opened[descriptor] = Opened(number, integer_of(mode))
        return [integer(descriptor)]

    def on_close(self, descriptor: BindEntry) -> list[BindEntry] | None:
        return [integer(0)] if self.opened.pop(integer_of(descriptor), None) else None

    def on_seek(
        self, descriptor: BindEntry, offset: BindEntry, whence: BindEntry, _: BindEntry
    ) -> list[BindEntry] | None:
        opened = self.opened.get(integer_of(descriptor))
        if opened is None:
            return None
        assert integer_of(whence) == 0
        opened.position = decode_int8(offset.data) or 0
        return [offset]

    def on_stat(self, descriptor: BindEntry, status: BindEntry) -> list[BindEntry] | None:
        opened = self.opened.get(integer_of(descriptor))
        if opened is None:
            return None
        size = encode_int8(len(self.values[opened.number]))
        return [status._replace(data=bytes(4) + size[2:] + size[:2] + bytes(630))]

    def on_truncate(self, descriptor: BindEntry, size: BindEntry) -> list[BindEntry] | None:
        opened = self.opened.get(integer_of(descriptor))
        if opened is None:
            return None
        del self.values[opened.number][decode_int8(size.data) or 0 :]
        return [integer(0)]

    def on_release(self, locator: BindEntry) -> list[BindEntry]:
        self.values.pop(int.from_bytes(locator.data, "big"), None)
        return [integer(0)]


def locator_of(number: int) -> Locator:
    return Locator(number.to_bytes(LOCATOR, "big"))


def integer(value: int) -> BindEntry:
    return BindEntry(TypeCode.INTEGER, b"", b"", 0, 0, pack(">i", value))


def integer_of(entry: BindEntry) -> int:
    return int.from_bytes(entry.data, "big", signed=True)


@asynccontextmanager
async def with_lobs(*script: Any, **options: Any) -> AsyncIterator[tuple[Connection, LobPeer]]:
    """A connection to a `LobPeer`."""
    async with talking_to(LobPeer, *script, **options) as (conn, peer):
        yield conn, peer


def blob(conn: Connection, peer: LobPeer, data: bytes) -> Lob[bytes]:
    return Lob(conn._session, peer.add(data), is_text=False)


def clob(conn: Connection, peer: LobPeer, data: bytes) -> Lob[str]:
    return Lob(conn._session, peer.add(data), is_text=True)


def with_a_held_write(peer: LobPeer, count: int) -> Delayed:
    """The reply to a write is held back, after *count* others."""
    held = Delayed(b"")

    def hold(called: str) -> Delayed | None:
        nonlocal count
        if called != "write" or (count := count - 1) >= 0:
            return None
        peer.before = lambda called: None
        answer = peer.own_reply(peer.requests[-1])
        assert isinstance(answer, bytes)
        held.answer = answer
        return held

    peer.before = hold
    return held
