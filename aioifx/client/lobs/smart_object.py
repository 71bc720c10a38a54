"""One BLOB or CLOB at the server: its descriptor, reading, writing, its size. Never: text, the lock, a row.

Callers of this module's coroutines hold the session's lock.

An open object stays open until it is closed or the session ends; the end of a transaction only releases its locks
(documented: ODBC manual, "Duration of an open operation"). Servers differ, or are restarted: an object whose descriptor
is no longer valid is opened again by its locator.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, Self, TypeVar

from aioifx.client.session.failures import raise_for
from aioifx.client.session.fast_path import Results, int8, integer, lvarchar, opaque
from aioifx.client.session.session import Session
from aioifx.codecs.large_objects import LOCATOR
from aioifx.codecs.numbers import decode_int8
from aioifx.errors import DatabaseError, OperationalError, ProtocolError, from_server
from aioifx.sqltypes import TypeCode
from aioifx.wire import objects
from aioifx.wire.fields import BindEntry
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply

T = TypeVar("T")

CHUNK: Final = 8 * objects.LODATA_PIECE
"""Bytes of one read or write. A server takes any number (observed: 14.10), in pieces of `LODATA_PIECE`."""

WHOLE_CHUNK: Final = 4 * CHUNK
"""Bytes of one read of a whole value, which is in memory anyway."""

# Signatures as JDBC writes them, blanks included (observed: lob.json; TRUNCATE: with the embedded server). The last one
# is assumed: documented for ESQL/C, and observed on 14.10 as a function of SQL.
_CREATE: Final = b"function informix.ifx_lo_create( ifx_lo_spec,integer,blob)"
_STORAGE: Final = b"function informix.ifx_lo_col_sbinfo(lvarchar,ifx_lo_spec)"
_OPEN: Final = b"function informix.ifx_lo_open(blob ,integer)"
_CLOSE: Final = b"function informix.ifx_lo_close(integer)"
_SEEK: Final = b"function informix.ifx_lo_seek(integer,int8,integer,int8)"
_STAT: Final = b"function informix.ifx_lo_stat(int, ifx_lo_stat)"
_TRUNCATE: Final = b"function informix.ifx_lo_truncate(integer,int8)"
_RELEASE: Final = b"function informix.ifx_lo_release(blob)"

# Access modes: 4 was observed on 14.10 with another client, 8 is JDBC's (lob.json).
_READ_ONLY: Final = 4
_READ_WRITE: Final = 8

_BAD_DESCRIPTOR: Final = frozenset({-9810, -9811})
"""Errors of a descriptor that is no longer valid, among others; observed: -9810, 12.10 to 15."""

_LARGE_OBJECT_ERROR: Final = -9810

_FROM_START: Final = 0

_STAT_SIZE: Final = 644
_SIZE_AT: Final = 4
"""Offset of the size in ifx_lo_stat: low half, high half, sign (observed: JDBC reads it there, lob.json)."""

DEFAULT_STORAGE: Final = b"".join(
    (
        bytes.fromhex("dadafeed"),
        bytes(8),
        bytes.fromhex("00000001 00000000 ffff0000"),  # estimated size: -1
        bytes.fromhex("00000001 00000000 ffff0000"),  # maximum size: -1
        b"\xff" * 4,  # extent size: -1
        bytes(532),
        b"\xff" * 8,
        bytes(16),
    )
)
"""ifx_lo_spec without a column: the server's default sbspace (observed: JDBC, lob.json, blob_create_conn)."""


class SmartObject:
    """A BLOB or CLOB by its locator; opened when it is first used."""

    def __init__(self, session: Session, locator: bytes) -> None:
        self.locator = locator
        self._session = session
        self._descriptor: int | None = None
        self._is_writable = False
        self._position: int | None = None
        """The server's position; None: unknown, since the last call was interrupted."""

    @classmethod
    async def create(cls, session: Session, storage: bytes = DEFAULT_STORAGE) -> Self:
        """A new object, empty and open; without a reference from a column it ends with the session (documented).

        Args:
            storage: an ifx_lo_spec; see `column_storage`.
        """
        created = await session.fast_path.call(
            _CREATE,
            opaque(b"ifx_lo_spec", storage),
            integer(_READ_WRITE),
            opaque(b"blob", bytes(LOCATOR)),
            convert=_locator_and_descriptor,
            on_orphan=lambda created: cls._created(session, *created).release_later(),
        )
        return cls._created(session, *created)

    @classmethod
    def _created(cls, session: Session, locator: bytes, descriptor: int) -> Self:
        made = cls(session, locator)
        made._on_opened(descriptor, is_writable=True)
        return made

    @property
    def is_open(self) -> bool:
        """Whether it has a descriptor at the server."""
        return self._descriptor is not None

    # -- data ---------------------------------------------------------------------------------------------------------

    async def read(self, position: int, size: int) -> bytes:
        """At most *size* bytes from *position*; fewer only at the end.

        Args:
            size: up to `WHOLE_CHUNK`.
        """
        return await self._retried(lambda: self._read(position, size))

    async def _read(self, position: int, size: int) -> bytes:
        descriptor = await self._at(position)
        outbox = Outbox()
        objects.put_read_object(outbox, objects.ReadObject(descriptor, size))
        data = bytes((await self._transfer(outbox, size, is_write=False)).data)
        self._position = position + len(data)
        return data

    async def read_all(self, size: int) -> bytes:
        """The first *size* bytes; fewer only at the end."""
        parts: list[bytes] = []
        position = 0
        while position < size and (data := await self.read(position, min(WHOLE_CHUNK, size - position))):
            parts.append(data)
            position += len(data)
            self._session.dispatcher.extend_deadline()
        return b"".join(parts)

    async def write(self, position: int, data: bytes) -> int:
        """Write *data*, up to `CHUNK` bytes, at *position*. Returns the number of bytes that were written."""
        return await self._retried(lambda: self._write(position, data))

    async def _write(self, position: int, data: bytes) -> int:
        descriptor = await self._at(position, for_writing=True)
        outbox = Outbox()
        objects.put_write_object(outbox, objects.WriteObject(descriptor, data))
        written = (await self._transfer(outbox, len(data), is_write=True)).size
        self._position = position + written
        return written

    async def write_all(self, position: int, data: bytes) -> int:
        """Write *data* of any size at *position*; returns the position after it.

        Raises:
            OperationalError: the server writes nothing.
        """
        for start in range(0, len(data), CHUNK):
            chunk = data[start : start + CHUNK] if len(data) > CHUNK else data
            while chunk:
                written = await self.write(position, chunk)
                if not written:
                    raise OperationalError("the server wrote nothing to a large object")
                position, chunk = position + written, chunk[written:]
            self._session.dispatcher.extend_deadline()
        return position

    async def size(self) -> int:
        """Its size in bytes."""
        return await self._retried(self._size)

    async def _size(self) -> int:
        descriptor = integer(await self._opened())
        status = opaque(b"ifx_lo_stat", bytes(_STAT_SIZE))
        return await self._session.fast_path.call(_STAT, descriptor, status, convert=_size_in)

    async def truncate(self, size: int) -> None:
        """Cut off everything after *size* bytes."""
        await self._retried(lambda: self._truncate(size))

    async def _truncate(self, size: int) -> None:
        descriptor = integer(await self._opened(for_writing=True))
        await self._session.fast_path.call(_TRUNCATE, descriptor, int8(size), convert=_ignored)

    async def _transfer(self, outbox: Outbox, most: int, *, is_write: bool) -> objects.ObjectData:
        """Send SQ_LODATA; from then on until its reply, the position is unknown."""
        self._position = None
        data = await _exchanged(self._session, outbox, most, is_write=is_write)
        if data.size < 0:
            raise from_server(_LARGE_OBJECT_ERROR, data.size)
        return data

    # -- descriptor ---------------------------------------------------------------------------------------------------

    async def _retried(self, operation: Callable[[], Awaitable[T]]) -> T:
        """Repeat *operation* once if the object was open before, and its descriptor is no longer valid."""
        if self._descriptor is None:
            return await operation()
        try:
            return await operation()
        except DatabaseError as error:
            if error.sqlcode not in _BAD_DESCRIPTOR:
                raise
        self.forget()
        return await operation()

    async def _at(self, position: int, *, for_writing: bool = False) -> int:
        """An open descriptor at *position*."""
        descriptor = await self._opened(for_writing=for_writing)
        if self._position != position:
            self._position = None
            await self._session.fast_path.call(
                _SEEK, integer(descriptor), int8(position), integer(_FROM_START), int8(0), convert=_ignored
            )
            self._position = position
        return descriptor

    async def _opened(self, *, for_writing: bool = False) -> int:
        """An open descriptor."""
        if self._descriptor is not None and (self._is_writable or not for_writing):
            return self._descriptor
        self.close_later()
        descriptor = await self._session.fast_path.call(
            _OPEN,
            opaque(b"blob", self.locator),
            integer(_READ_WRITE if for_writing else _READ_ONLY),
            convert=_descriptor_in,
            on_orphan=self._on_orphan,
        )
        return self._on_opened(descriptor, is_writable=for_writing)

    def _on_opened(self, descriptor: int, *, is_writable: bool) -> int:
        # The server gives a number again once it has closed an object by itself.
        if (other := self._session.open_objects.get(descriptor)) is not None:
            other.forget()
        self._session.open_objects[descriptor] = self
        self._descriptor, self._is_writable, self._position = descriptor, is_writable, 0
        return descriptor

    def _on_orphan(self, descriptor: int) -> None:
        """Close what was opened for a call that was cancelled."""
        if self._descriptor is None:
            self._on_opened(descriptor, is_writable=False)
            self.close_later()

    def forget(self) -> int | None:
        """Consider the object closed; returns its descriptor."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            self._session.open_objects.pop(descriptor, None)
        return descriptor

    def close_later(self) -> None:
        """Close the object unless it is closed. Waits for nothing."""
        if (descriptor := self.forget()) is not None:
            is_open = self._session.open_objects.__contains__
            self._session.fast_path.call_later(
                _CLOSE, integer(descriptor), still_needed=lambda: not is_open(descriptor)
            )

    async def close(self) -> None:
        """Close the object, after which all that was written can be read by others."""
        if (descriptor := self.forget()) is not None:
            await self._session.fast_path.call(_CLOSE, integer(descriptor), convert=_ignored)

    def release_later(self) -> None:
        """Close the object, and delete it unless a column refers to it. Waits for nothing.

        Source: documented: ifx_lo_release of ESQL/C
        """
        self.close_later()
        self._session.fast_path.call_later(_RELEASE, opaque(b"blob", self.locator))


async def column_storage(session: Session, column: str) -> bytes:
    """The ifx_lo_spec of a column: its sbspace, logging and sizes.

    Source: observed: JDBC, lob.json, blob_create

    Args:
        column: ``table.column``.
    """
    name, storage = lvarchar(session.code_set.encode(column)), opaque(b"ifx_lo_spec", DEFAULT_STORAGE)
    return await session.fast_path.call(_STORAGE, name, storage, convert=_storage_in)


# -- what routines return ---------------------------------------------------------------------------------------------


def _ignored(results: Results) -> None:
    """The result says nothing that an error would not."""


def _descriptor_in(results: Results) -> int:
    match results:
        case [BindEntry(code=TypeCode.INTEGER, indicator=0, data=data)]:
            descriptor = int.from_bytes(data, "big", signed=True)
        case _:
            raise ProtocolError("the server did not return the descriptor of a large object")
    if abs(descriptor) > objects.MAX_HANDLE:
        raise ProtocolError(f"the descriptor {descriptor} of a large object does not fit SQ_LODATA")
    return descriptor


def _locator_and_descriptor(results: Results) -> tuple[bytes, int]:
    if len(results) != 2 or len(results[0].data) != LOCATOR:
        raise ProtocolError("the server did not return the locator of a large object")
    return results[0].data, _descriptor_in(results[1:])


def _size_in(results: Results) -> int:
    data = results[0].data[_SIZE_AT : _SIZE_AT + 10] if len(results) == 1 else b""
    if len(data) < 10:
        raise ProtocolError("the server did not return the size of a large object")
    size = decode_int8(data[8:] + data[:8]) or 0
    if size < 0:
        raise ProtocolError(f"a large object of {size} bytes")
    return size


async def read_stream(session: Session, descriptor: int, size: int) -> objects.ObjectData:
    """One read of a stream, such as that of a capture session, whose number stands for an open object (documented).

    A size below 0 is the server's error code.
    """
    outbox = Outbox()
    objects.put_read_object(outbox, objects.ReadObject(objects.handle_of(descriptor), size))
    return await _exchanged(session, outbox, sys.maxsize, is_write=False)


async def _exchanged(session: Session, outbox: Outbox, most: int, *, is_write: bool) -> objects.ObjectData:
    """The reply to SQ_LODATA."""
    reply = await session.conversation.exchange(outbox, on_success=partial(_check_data, most, is_write))
    raise_for(reply)
    assert reply.object_data is not None
    return reply.object_data


def _storage_in(results: Results) -> bytes:
    if len(results) != 1:
        raise ProtocolError("the server did not return the storage of a large object")
    return results[0].data or DEFAULT_STORAGE


def _check_data(most: int, is_write: bool, reply: Reply) -> None:
    """Raise ProtocolError unless the reply has *most* bytes of data or fewer; that ends the connection."""
    if reply.object_data is None or reply.object_data.is_write != is_write:
        raise ProtocolError("the server did not answer SQ_LODATA")
    if reply.object_data.size > most:
        raise ProtocolError(f"{reply.object_data.size} bytes of a large object instead of {most}")
