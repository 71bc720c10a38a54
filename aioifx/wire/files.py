"""SQ_FILE: files that the server reads and writes at the client, in the middle of a statement. Never: a file.

The server sends one of these messages and SQ_EOT before its reply is complete. The client answers with a group of its
own. After the answer to `FileClose` the server continues with its reply, or with another file.

Source: observed: informix-driver, in both directions, on 12.10 to 15
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from aioifx.errors import ProtocolError
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.fields import read_char
from aioifx.wire.inbox import AT_ONCE, Inbox
from aioifx.wire.opcodes import Op
from aioifx.wire.outbox import Outbox

FILE_PIECE: Final = 32000
"""Bytes of one piece of a file; the server states the size for what the client sends."""

MAX_FILE_DATA: Final = 256 * 1024 * 1024
"""Maximum bytes of one message on the wire; a larger one is a ProtocolError."""

_OPEN: Final = 0
_CLOSE: Final = 1
_READ: Final = 2
_WRITE: Final = 3


class FileOpen(NamedTuple):
    """SQ_FILE 0, the server: opens a file at the client. The answer is SQ_EOT alone."""

    name: bytes
    mode: int = 0
    flags: int = 0
    offset: int = 0


class FileClose(NamedTuple):
    """SQ_FILE 1, the server: closes the open file. The answer is SQ_EOT alone."""


class FileRead(NamedTuple):
    """SQ_FILE 2, the server: requests bytes of the open file. The answer is `FileData`."""

    buffer: int
    """Maximum bytes of one piece of the answer."""
    amount: int = -1
    """Maximum bytes of the answer; -1 for the rest of the file."""


class FileWrite(NamedTuple):
    """SQ_FILE 3, the server: bytes for the open file. The answer is `FileWritten`."""

    data: bytes


class FileData(NamedTuple):
    """SQ_FILE_READ, the client: the bytes that `FileRead` requested."""

    data: bytes


class FileWritten(NamedTuple):
    """SQ_FILE_WRITE, the client: the number of bytes that were written."""

    size: int


FileRequest: TypeAlias = FileOpen | FileClose | FileRead | FileWrite
"""What a server sends."""


class FileFailed(NamedTuple):
    """SQ_ERR, the client: it cannot read or write the file (observed: JDBC; the code is an errno, 9 or 13)."""

    code: int


FileAnswer: TypeAlias = FileData | FileWritten | FileFailed
"""What a client answers, unless the answer is SQ_EOT alone."""


# -- the server's messages --------------------------------------------------------------------------------------------


def put_file_request(outbox: Outbox, request: FileRequest) -> None:
    """SQ_FILE, without SQ_EOT.

    Wire: 2 opcode · 2 operation · open: CHAR name · 4 mode · 4 flags · 4 offset; read: 2 buffer · 4 amount; write:
    pieces, each 2 SQ_FILE_WRITE · CHAR
    """
    outbox.u16(Op.FILE)
    match request:
        case FileOpen(name, mode, flags, offset):
            outbox.i16(_OPEN)
            outbox.char(name)
            outbox.i32(mode)
            outbox.i32(flags)
            outbox.i32(offset)
        case FileClose():
            outbox.i16(_CLOSE)
        case FileRead(buffer, amount):
            outbox.i16(_READ)
            outbox.u16(buffer)
            outbox.i32(amount)
        case FileWrite(data):
            outbox.i16(_WRITE)
            put_file_pieces(outbox, data)


def put_file_pieces(outbox: Outbox, data: bytes) -> None:
    """More bytes of a `FileWrite` that was put before."""
    for piece in _pieces(data, FILE_PIECE):
        outbox.u16(Op.FILE_WRITE)
        outbox.char(piece)


async def read_file_request(inbox: Inbox, capabilities: Capabilities, *, keep: bool = True) -> FileRequest:
    """SQ_FILE after its tag, and SQ_EOT; see `put_file_request`.

    Args:
        keep: False: data for a file is dropped as it comes.
    """
    await inbox.need(2)
    operation = inbox.i16()
    if operation == _WRITE:
        return FileWrite(await _read_pieces(inbox, Op.FILE_WRITE, keep=keep))
    request: FileRequest
    if operation == _OPEN:
        name = await read_char(inbox)
        await inbox.need(14)
        request = FileOpen(name, inbox.i32(), inbox.i32(), inbox.i32())
    elif operation == _CLOSE:
        await inbox.need(2)
        request = FileClose()
    elif operation == _READ:
        await inbox.need(8)
        request = FileRead(inbox.u16(), inbox.i32())
    else:
        raise ProtocolError(f"SQ_FILE with operation {operation}")
    tag = inbox.u16()
    if tag != Op.EOT:
        raise ProtocolError(f"message {tag} after SQ_FILE")
    return request


# -- the client's answers ---------------------------------------------------------------------------------------------


def put_file_data(outbox: Outbox, data: bytes, buffer: int = FILE_PIECE) -> None:
    """SQ_FILE_READ, without SQ_EOT.

    Wire: 2 opcode · 4 size · pieces, each 2 opcode · CHAR

    Args:
        buffer: maximum bytes of a piece, as the server stated.
    """
    outbox.u16(Op.FILE_READ)
    outbox.i32(len(data))
    for piece in _pieces(data, buffer if buffer > 0 else FILE_PIECE):
        outbox.u16(Op.FILE_READ)
        outbox.char(piece)


def put_file_written(outbox: Outbox, size: int) -> None:
    """SQ_FILE_WRITE, without SQ_EOT: 2 opcode · 4 size."""
    outbox.u16(Op.FILE_WRITE)
    outbox.i32(size)


def put_file_failed(outbox: Outbox, code: int) -> None:
    """SQ_ERR of a client, without SQ_EOT: 2 opcode · 2 code · 2 zero · 4 zero · 2 zero (observed: JDBC)."""
    outbox.u16(Op.ERR)
    outbox.i16(code)
    outbox.raw(bytes(8))


async def _read_file_failed(inbox: Inbox, capabilities: Capabilities) -> FileFailed:
    """SQ_ERR of a client after its tag: the same fields as in a server's, with bit 62."""
    await inbox.need(8)
    code = inbox.i16()
    inbox.skip(6)
    await read_char(inbox)
    return FileFailed(code)


async def _read_file_data(inbox: Inbox, capabilities: Capabilities) -> FileData:
    """SQ_FILE_READ after its tag; see `put_file_data`."""
    await inbox.need(4)
    size = inbox.i32()
    if not 0 <= size <= MAX_FILE_DATA:
        raise ProtocolError(f"SQ_FILE_READ of {size} bytes")
    data = bytearray()
    while len(data) < size:
        await inbox.need(2)
        tag = inbox.u16()
        piece = await read_char(inbox) if tag == Op.FILE_READ else b""
        if not piece or len(data) + len(piece) > size:
            raise ProtocolError(f"SQ_FILE_READ of {size} bytes: a piece of {len(piece)} after {len(data)}")
        data += piece
    return FileData(bytes(data))


async def _read_file_written(inbox: Inbox, capabilities: Capabilities) -> FileWritten:
    await inbox.need(4)
    return FileWritten(inbox.i32())


ANSWER_READERS: Final[dict[int, Callable[[Inbox, Capabilities], Awaitable[FileAnswer]]]] = {
    Op.FILE_READ: _read_file_data,
    Op.FILE_WRITE: _read_file_written,
    Op.ERR: _read_file_failed,
}
"""Readers of the part after each tag of a client's answer."""


# -- pieces -----------------------------------------------------------------------------------------------------------


def _pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[begin : begin + size] for begin in range(0, len(data), size))


async def _read_pieces(inbox: Inbox, opcode: int, *, keep: bool = True) -> bytes:
    """Pieces up to SQ_EOT.

    Args:
        keep: False: they are dropped as they come.
    """
    data, pieces, begin = bytearray(), 0, inbox.consumed
    while True:
        pieces += 1
        if pieces % AT_ONCE == 0:
            await inbox.give_way()
        await inbox.need(2)
        tag = inbox.u16()
        if tag == Op.EOT:
            return bytes(data)
        if tag != opcode:
            raise ProtocolError(f"message {tag} in the middle of a file")
        piece = await read_char(inbox)
        if keep:
            data += piece
        if inbox.consumed - begin > MAX_FILE_DATA:  # pieces without bytes count too
            raise ProtocolError(f"a piece of a file of more than {MAX_FILE_DATA} bytes")
