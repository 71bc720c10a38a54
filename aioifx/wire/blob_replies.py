"""The reply to SQ_FETCHBLOB: one BYTE or TEXT value, handed on piece by piece. Never: how much of it is kept."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from aioifx.errors import ProtocolError
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.inbox import Inbox, Parser, padded
from aioifx.wire.opcodes import Op
from aioifx.wire.replies import Reply, empty_reply, read_reply, try_read_ending

MAX_VALUE: Final = 2**31 - 1
"""Bytes of the largest BYTE or TEXT value (documented)."""

_HEAD: Final = Struct(">HH")
"""SQ_BLOB up to its data: opcode, size."""

_BLOB: Final = int(Op.BLOB)

_MOST_PIECES: Final = 4096
"""Pieces that are taken at once; even small ones take no more than some milliseconds."""


class BlobReader:
    """Reads replies to SQ_FETCHBLOB: at once if possible, otherwise as `read_blob_reply` does.

    Args:
        take: called with each piece of the value as it arrives; must not raise.
    """

    def __init__(self, capabilities: Capabilities, take: Callable[[bytes], None]) -> None:
        self._capabilities = capabilities
        self._take = take

    def try_read(self, inbox: Inbox) -> Reply | None:
        """See `TryReadReply`. No piece is taken unless the whole reply is here."""
        data, begin = inbox.data, inbox.pos
        at, stop = begin, len(data)
        pieces: list[tuple[int, int]] = []
        size = 0
        while True:
            if stop - at < _HEAD.size + 2 or len(pieces) >= _MOST_PIECES:
                return None
            tag, count = _HEAD.unpack_from(data, at)
            at += _HEAD.size
            if tag != _BLOB:
                return None
            if not count:
                break
            pieces.append((at, at + count))
            size += count
            at += count + (count & 1)
        if size > MAX_VALUE:
            return None
        reply = empty_reply()
        inbox.pos = at
        if not try_read_ending(inbox, self._capabilities, reply, data[at] << 8 | data[at + 1]):
            inbox.pos = begin
            return None
        for first, end in pieces:
            self._take(bytes(data[first:end]))
        return reply

    def parser(self, inbox: Inbox) -> Parser[Reply]:
        """Reads the pieces of the value up to SQ_EOT."""
        return read_blob_reply(inbox, self._capabilities, self._take)


async def read_blob_reply(inbox: Inbox, capabilities: Capabilities, take: Callable[[bytes], None]) -> Reply:
    """The reply to SQ_FETCHBLOB; its value is not in the Reply.

    Wire: BLOB ... · BLOB of no bytes · [DONE] · [COST] · EOT; an ERR instead of a BLOB ends the value
    Source: observed: IDS 12.10 to 15 (informix-driver); JDBC accepts pieces up to 32,000 bytes, a reply without DONE
    and COST, and an ERR between pieces

    Raises:
        ProtocolError: the value has no end, there is more than one, or a file is asked for.
    """
    size, is_whole = 0, False
    while not is_whole:
        taken = _take_pieces(inbox, take)
        size += taken
        if taken:
            await inbox.give_way()
        if size > MAX_VALUE:
            raise ProtocolError(f"a BYTE or TEXT value of more than {MAX_VALUE} bytes")
        await inbox.need(2)
        if (inbox.data[inbox.pos] << 8 | inbox.data[inbox.pos + 1]) != Op.BLOB:
            break
        await inbox.need(_HEAD.size)
        if count := _HEAD.unpack_from(inbox.data, inbox.pos)[1]:
            await inbox.need(_HEAD.size + padded(count))
        else:
            inbox.skip(_HEAD.size)
            is_whole = True
    reply = await read_reply(inbox, capabilities)
    if reply.file_request is not None:
        raise ProtocolError("the server asks for a client's file in the middle of a BYTE or TEXT value")
    if not is_whole and reply.error is None and not reply.is_session_ended:
        raise ProtocolError("a BYTE or TEXT value without its end")
    return reply


def _take_pieces(inbox: Inbox, take: Callable[[bytes], None]) -> int:
    """Take whole pieces that are here, up to the end of the value; returns their bytes."""
    size, pos, stop = 0, inbox.pos, len(inbox.data)
    left = _MOST_PIECES
    with memoryview(inbox.data) as data:  # one copy of each piece
        while left and stop - pos >= _HEAD.size:
            left -= 1
            tag, count = _HEAD.unpack_from(data, pos)
            begin = pos + _HEAD.size
            if tag != Op.BLOB or not count or stop - begin < padded(count):
                break
            take(bytes(data[begin : begin + count]))
            size += count
            pos = begin + padded(count)
    inbox.pos = pos
    return size
