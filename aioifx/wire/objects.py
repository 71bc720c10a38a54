"""Large-object and fast-path messages, both directions. Never: the target of a descriptor or locator, SQL.

BYTE and TEXT values are sent in pieces after the messages with their descriptors. BLOB and CLOB values are read and
written through a handle that a routine call returns. On the fast path a routine is called without SQL, by its number.

Evidence: layouts are as JDBC sends and accepts them (observed: lob.json). Real servers accepted and sent the same with
other clients: BYTE and TEXT on 12.10 to 15, SQ_LODATA and the fast path on 14.10 and 15 (observed).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from aioifx.errors import ProtocolError
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.fields import (
    BLOB_DESCRIPTOR,
    BindEntry,
    put_entry,
    put_int8,
    put_long_char,
    read_block,
    read_char,
    read_entry,
    read_long_char,
    take_int8,
)
from aioifx.wire.inbox import Inbox, padded
from aioifx.wire.opcodes import MAX_COLUMNS, Op
from aioifx.wire.outbox import Outbox

BLOB_PIECE: Final = 1024
"""Bytes of one SQ_BLOB (observed: JDBC, lob.json). Larger pieces were never tested with a real server."""

_FULL_PIECE: Final = Op.BLOB.to_bytes(2, "big") + BLOB_PIECE.to_bytes(2, "big")
"""The head of a whole piece."""

LODATA_PIECE: Final = 32000
"""Bytes of one piece of SQ_LODATA; every client announces this buffer size (observed: JDBC, lob.json)."""

MAX_HANDLE: Final = 0x7FFF
"""Largest handle of SQ_LODATA."""

_READ: Final = 0
_READ_AT: Final = 1
_WRITE: Final = 2


class FetchBlob(NamedTuple):
    """SQ_FETCHBLOB: requests the BYTE or TEXT value of a row's descriptor."""

    descriptor: bytes


class BlobCount(NamedTuple):
    """SQ_BBIND: the number of BYTE and TEXT values after the parameters."""

    values: int


class Blob(NamedTuple):
    """SQ_BLOB: one piece of a BYTE or TEXT value; an empty one ends the value."""

    data: bytes


class ReadObject(NamedTuple):
    """SQ_LODATA 0 and 1: reads from an open smart large object, at its position or at another."""

    handle: int
    size: int
    offset: int | None = None
    whence: int = 0
    buffer: int = LODATA_PIECE


class WriteObject(NamedTuple):
    """SQ_LODATA 2: writes to an open smart large object."""

    handle: int
    data: bytes
    buffer: int = LODATA_PIECE


class FindRoutine(NamedTuple):
    """SQ_GETROUTINE: requests the number of a routine."""

    signature: bytes
    flag: int = 0


class CallRoutine(NamedTuple):
    """SQ_EXFPROUTINE: calls a routine by its number; an SQ_BIND with the arguments follows."""

    database: bytes
    routine: int
    arguments: int
    flag: int = 0


ObjectRequest: TypeAlias = FetchBlob | BlobCount | Blob | ReadObject | WriteObject | FindRoutine | CallRoutine


class Routine(NamedTuple):
    """SQ_GETROUTINE, the reply: the number of a routine."""

    database: bytes
    routine: int


class ObjectData(NamedTuple):
    """SQ_LODATA, the reply: the data read, or the number of bytes written; a negative size is an error."""

    kind: int
    size: int
    data: bytes | bytearray = b""

    @property
    def is_write(self) -> bool:
        """Whether it replies to `WriteObject`."""
        return self.kind == _WRITE

    def followed_by(self, more: ObjectData) -> ObjectData:
        """One read whose data came in several messages (observed: another client, CDC on 14.10 and 15).

        Raises:
            ProtocolError: one of them is no data of a read.
        """
        if self.kind != more.kind or self.is_write or min(self.size, more.size) < 0:
            raise ProtocolError("more than one SQ_LODATA")
        data = self.data if isinstance(self.data, bytearray) else bytearray(self.data)
        data += more.data  # in place: there may be thousands
        return ObjectData(self.kind, self.size + more.size, data)


# -- requests ---------------------------------------------------------------------------------------------------------


def put_fetch_blob(outbox: Outbox, descriptor: bytes) -> None:
    """SQ_FETCHBLOB: 2 opcode · 56|68 descriptor, as in the row (observed: JDBC, lob.json, objects15.json)."""
    outbox.u16(Op.FETCHBLOB)
    outbox.block(descriptor)


def put_blob_count(outbox: Outbox, count: int) -> None:
    """SQ_BBIND: 2 opcode · 2 count of values that are not NULL (observed: JDBC, lob.json)."""
    outbox.u16(Op.BBIND)
    outbox.u16(count)


def put_blob(outbox: Outbox, data: bytes) -> None:
    """A whole BYTE or TEXT value: an SQ_BLOB for each piece, then an empty one.

    Wire: 2 opcode · 2 size · size bytes · pad to even
    Source: observed: JDBC, lob.json, insert_byte
    """
    full = len(data) // BLOB_PIECE * BLOB_PIECE
    if full:
        # All at once, in a twentieth of the time (measured): these need no pad.
        outbox.raw(_FULL_PIECE)
        outbox.raw(_FULL_PIECE.join([data[at : at + BLOB_PIECE] for at in range(0, full, BLOB_PIECE)]))
    if full < len(data):
        put_blob_piece(outbox, data[full:])
    put_blob_piece(outbox, b"")


def put_blob_piece(outbox: Outbox, piece: bytes) -> None:
    """One SQ_BLOB; an empty one ends the value."""
    outbox.u16(Op.BLOB)
    outbox.char(piece)


_HANDLES: Final = 0x10000


def handle_of(descriptor: int) -> int:
    """The 16 bits of a descriptor that SQ_LODATA has room for (observed: a larger one is cut, CDC on 14.10)."""
    return (descriptor + _HANDLES // 2) % _HANDLES - _HANDLES // 2


def put_read_object(outbox: Outbox, request: ReadObject) -> None:
    """SQ_LODATA 0 or 1.

    Wire: 2 opcode · 2 kind · 2 handle · 4 size · 2 buffer · kind 1: 10 offset as INT8 · 2 whence
    Source: observed: JDBC, lob.json, blob_read (kind 0); kind 1 is assumed, from one reader of byte code
    """
    outbox.u16(Op.LODATA)
    outbox.i16(_READ if request.offset is None else _READ_AT)
    outbox.i16(request.handle)
    outbox.i32(request.size)
    outbox.i16(request.buffer)
    if request.offset is not None:
        put_int8(outbox, request.offset)
        outbox.i16(request.whence)


def put_write_object(outbox: Outbox, request: WriteObject) -> None:
    """SQ_LODATA 2.

    Wire: 2 opcode · 2 kind · 2 handle · 4 size · 2 buffer · pieces, each 2 size · size bytes · pad to even
    Source: observed: JDBC, lob.json, blob_create
    """
    outbox.u16(Op.LODATA)
    outbox.i16(_WRITE)
    outbox.i16(request.handle)
    outbox.i32(len(request.data))
    outbox.i16(request.buffer)
    _put_pieces(outbox, request.data)


def put_find_routine(outbox: Outbox, capabilities: Capabilities, signature: bytes) -> None:
    """SQ_GETROUTINE. After its single flag byte, all fields are at odd offsets; the pad depends on the signature only.

    Wire: 2 opcode · 1 flag · 4 size (2 without bit 62) · signature · pad if its size is odd · 2 zero
    Source: observed: JDBC, lob.json, blob_create
    """
    outbox.u16(Op.GETROUTINE)
    outbox.u8(0)
    put_long_char(outbox, capabilities, signature)
    outbox.i16(0)


def put_call_routine(outbox: Outbox, call: CallRoutine) -> None:
    """SQ_EXFPROUTINE; an SQ_BIND with the arguments follows.

    Wire: 2 opcode · CHAR database · 4 routine · 2 arguments · 2 zero
    Source: observed: JDBC, lob.json, blob_create
    """
    outbox.u16(Op.EXFPROUTINE)
    outbox.char(call.database)
    outbox.i32(call.routine)
    outbox.i16(call.arguments)
    outbox.i16(call.flag)


async def _read_fetch_blob(inbox: Inbox, capabilities: Capabilities) -> FetchBlob:
    return FetchBlob(await read_block(inbox, BLOB_DESCRIPTOR[capabilities.long_rowid]))


async def _read_blob_count(inbox: Inbox, capabilities: Capabilities) -> BlobCount:
    await inbox.need(2)
    return BlobCount(inbox.u16())


async def _read_blob_piece(inbox: Inbox, capabilities: Capabilities) -> Blob:
    return Blob(await read_char(inbox))


async def _read_object_request(inbox: Inbox, capabilities: Capabilities) -> ReadObject | WriteObject:
    await inbox.need(10)
    kind, handle, size, buffer = inbox.i16(), inbox.i16(), inbox.i32(), inbox.i16()
    if size < 0:
        raise ProtocolError(f"SQ_LODATA of {size} bytes")
    if kind == _READ:
        return ReadObject(handle, size, buffer=buffer)
    if kind == _READ_AT:
        await inbox.need(12)
        return ReadObject(handle, size, take_int8(inbox), inbox.i16(), buffer)
    if kind == _WRITE:
        return WriteObject(handle, await _read_pieces(inbox, size), buffer)
    raise ProtocolError(f"SQ_LODATA of kind {kind}")


async def read_find_routine(inbox: Inbox, capabilities: Capabilities) -> FindRoutine:
    """SQ_GETROUTINE with a signature, after its tag; see `put_find_routine`."""
    await inbox.need(1)
    flag = inbox.u8()
    signature = await read_long_char(inbox, capabilities)
    await inbox.need(2)
    inbox.skip(2)  # always 0 (observed: JDBC, lob.json)
    return FindRoutine(signature, flag)


async def _read_call_routine(inbox: Inbox, capabilities: Capabilities) -> CallRoutine:
    database = await read_char(inbox)
    await inbox.need(8)
    return CallRoutine(database, inbox.i32(), inbox.i16(), inbox.i16())


REQUEST_READERS: Final[dict[int, Callable[[Inbox, Capabilities], Awaitable[ObjectRequest]]]] = {
    Op.FETCHBLOB: _read_fetch_blob,
    Op.BLOB: _read_blob_piece,
    Op.BBIND: _read_blob_count,
    Op.LODATA: _read_object_request,
    Op.EXFPROUTINE: _read_call_routine,
}
"""Readers of the part after each tag of a client's messages; `routines` reads SQ_GETROUTINE."""


# -- replies ----------------------------------------------------------------------------------------------------------


def put_object_data(outbox: Outbox, data: ObjectData) -> None:
    """SQ_LODATA, the reply.

    Wire: 2 opcode · 2 kind · 4 size · after a read: pieces, each 2 size · size bytes · pad to even; one short if
    nothing was read
    Source: observed: JDBC, lob.json; the short after a size of 0: 14.10; after a negative one: JDBC
    """
    outbox.u16(Op.LODATA)
    outbox.i16(data.kind)
    outbox.i32(data.size)
    if data.kind != _WRITE:
        _put_pieces(outbox, data.data)
        if not data.data:
            outbox.u16(0)


async def read_object_data(inbox: Inbox, capabilities: Capabilities) -> ObjectData:
    """SQ_LODATA, the reply, after its tag; see `put_object_data`."""
    await inbox.need(6)
    kind, size = inbox.i16(), inbox.i32()
    if kind not in (_READ, _READ_AT, _WRITE):
        raise ProtocolError(f"SQ_LODATA of kind {kind}")
    if kind == _WRITE:
        return ObjectData(kind, size)
    if size <= 0:
        await inbox.need(2)
        if inbox.u16():
            raise ProtocolError(f"SQ_LODATA of {size} bytes with a piece that is not empty")
        return ObjectData(kind, size)
    if inbox.consumed + size > inbox.limit:  # refused now: the pieces might never all arrive
        raise ProtocolError(f"SQ_LODATA of {size} bytes, beyond the limit of the reply")
    return ObjectData(kind, size, await _read_pieces(inbox, size))


def put_routine(outbox: Outbox, routine: Routine) -> None:
    """SQ_GETROUTINE, the reply: 2 opcode · CHAR database · 4 routine (observed: JDBC accepts it, lob.json)."""
    outbox.u16(Op.GETROUTINE)
    outbox.char(routine.database)
    outbox.i32(routine.routine)


async def read_routine(inbox: Inbox, capabilities: Capabilities) -> Routine:
    """SQ_GETROUTINE, the reply, after its tag; see `put_routine`."""
    database = await read_char(inbox)
    await inbox.need(4)
    return Routine(database, inbox.i32())


def put_returned(outbox: Outbox, values: Sequence[BindEntry]) -> None:
    """SQ_FPROUTINE: 2 opcode · 2 count · values as in SQ_BIND (observed: JDBC accepts it, lob.json)."""
    outbox.u16(Op.FPROUTINE)
    outbox.i16(len(values))
    for entry in values:
        put_entry(outbox, entry)


def put_encoded(outbox: Outbox, entries: Sequence[bytes]) -> None:
    """SQ_FPROUTINE with values that are encoded, with their types; see `put_returned`."""
    outbox.u16(Op.FPROUTINE)
    outbox.i16(len(entries))
    outbox.raw(b"".join(entries))


async def read_returned(inbox: Inbox, capabilities: Capabilities) -> tuple[BindEntry, ...]:
    """SQ_FPROUTINE, after its tag; see `put_returned`."""
    await inbox.need(2)
    count = inbox.i16()
    if not 0 <= count <= MAX_COLUMNS:
        raise ProtocolError(f"SQ_FPROUTINE with {count} values")
    return tuple([await read_entry(inbox, capabilities) for _ in range(count)])


# -- pieces -----------------------------------------------------------------------------------------------------------


def _put_pieces(outbox: Outbox, data: bytes | bytearray) -> None:
    with memoryview(data) as view:
        for begin in range(0, len(data), LODATA_PIECE):
            piece = view[begin : begin + LODATA_PIECE]
            outbox.u16(len(piece))
            outbox.raw(piece)
            if len(piece) & 1:
                outbox.u8(0)


async def _read_pieces(inbox: Inbox, size: int) -> bytes:
    """The data of pieces with *size* bytes in total."""
    pieces: list[bytes] = []
    left = size
    while left:
        await inbox.need(2)
        count = inbox.u16()
        if not 0 < count <= left:
            raise ProtocolError(f"SQ_LODATA of {size} bytes: a piece of {count} after {size - left}")
        await inbox.need(padded(count))
        pieces.append(inbox.take_many(count))
        inbox.skip(count & 1)
        left -= count
    return b"".join(pieces)
