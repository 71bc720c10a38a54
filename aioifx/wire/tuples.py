"""SQ_TUPLE: rows, as bytes that a row decoder turns into values. Never: how a value is encoded.

The server sends SQ_TUPLE, and a client sends rows in the same form in SQ_PUT. The decoder is `codecs.rows.RowDecoder`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from aioifx.errors import DataError, ProtocolError
from aioifx.sqltypes import Row
from aioifx.wire.inbox import Inbox, padded
from aioifx.wire.opcodes import MAX_TEXT, Op

_I32: Final = Struct(">i")

TUPLE: Final = int(Op.TUPLE)
TUPLE_HEAD: Final = 8
"""SQ_TUPLE up to its payload: 2 opcode · 2 warnings · 4 size."""

RunDecoder: TypeAlias = Callable[[bytearray, int, int, list[Row]], int]
"""Decodes every whole SQ_TUPLE in ``data[pos:end]``, appends the rows, returns the position after the last."""


class DecoderError(Exception):
    """A decoder of the user has raised an exception that is not an Exception, such as KeyboardInterrupt.

    It takes the place of that exception within parsers, which asyncio and `close` end by such exceptions.
    """

    def __init__(self, raised: BaseException) -> None:
        super().__init__()
        self.raised = raised


class RowReader(NamedTuple):
    """Makes rows of tuples in one of two ways; built by `read_in_runs` and `read_field_by_field`."""

    decode: RunDecoder | None
    read: Callable[[Inbox, list[Row]], Awaitable[None]] | None
    """Reads the whole SQ_TUPLE that is next in the inbox, and appends its row."""
    fast_run: Callable[[], RunDecoder] | None = None
    """Returns a decoder like *decode* that stops before a row that it does not handle."""


def read_in_runs(decode: RunDecoder, fast_run: Callable[[], RunDecoder] | None = None) -> RowReader:
    """Wait for one whole tuple, then decode all that are here: no await per row."""
    return RowReader(decode, None, fast_run)


def read_field_by_field(read_row: Callable[[Inbox, int], Awaitable[Row]]) -> RowReader:
    """One tuple at a time, each field awaited on its own: no read-ahead (AIOIFX_BUFFERED_READER=0).

    Args:
        read_row: reads one payload; its second argument is where the payload ends, in consumed bytes.
    """

    async def read_one(inbox: Inbox, rows: list[Row]) -> None:
        size = inbox.peek_i32(4)
        inbox.skip(TUPLE_HEAD)
        end = inbox.consumed + size
        row = await read_row(inbox, end)
        if inbox.consumed != end:
            raise ProtocolError(f"a row of {size} bytes was read as {size + inbox.consumed - end}")
        inbox.skip(padded(size) - size)
        rows.append(row)

    return RowReader(None, read_one)


def try_read_tuples(inbox: Inbox, rows: list[Row], decode: RunDecoder) -> bool:
    """SQ_TUPLE, all that are here; False if the first one is not whole. The warnings before a row are not kept.

    Wire: 2 opcode · 2 warnings · 4 size · size bytes · pad to even
    Source: observed: IDS 12.10 to 15

    Raises:
        DataError, DecoderError: a value cannot be decoded; the rows before it are in *rows*, and its tuple is skipped.
    """
    data, pos = inbox.data, inbox.pos
    kept = len(rows)
    try:
        inbox.pos = decode(data, pos, len(data), rows)
    except DataError:
        _skip_whole(inbox, len(rows) - kept + 1)
        raise
    except Exception:
        raise
    except BaseException as error:
        _skip_whole(inbox, len(rows) - kept + 1)
        raise DecoderError(error) from error
    if inbox.pos > pos:
        return True
    if len(data) - pos < _next_tuple(inbox):
        return False
    raise ProtocolError("the row decoder does not get past a whole row")


async def read_tuples(inbox: Inbox, rows: list[Row], reader: RowReader | None) -> None:
    """SQ_TUPLE, one or a run of them; see `try_read_tuples`."""
    if reader is None:
        raise ProtocolError("an unsolicited row arrived")
    if reader.decode is not None:
        while not try_read_tuples(inbox, rows, reader.decode):
            await inbox.need(_next_tuple(inbox))
        return
    assert reader.read is not None
    await _need_tuple(inbox)
    begin, kept = inbox.consumed, len(rows)
    try:
        await reader.read(inbox, rows)
    except (DataError, DecoderError) as error:
        if inbox.consumed - begin > inbox.pos:
            raise ProtocolError("the row reader waited for more than its row") from error
        inbox.pos -= inbox.consumed - begin
        _skip_whole(inbox, len(rows) - kept + 1)
        raise


async def skip_tuple(inbox: Inbox) -> None:
    """SQ_TUPLE, whose values are not wanted."""
    await _need_tuple(inbox)
    inbox.skip(_next_tuple(inbox))


async def _need_tuple(inbox: Inbox) -> None:
    await inbox.need(_next_tuple(inbox))  # the head
    await inbox.need(_next_tuple(inbox))


def _next_tuple(inbox: Inbox) -> int:
    """Size of the next SQ_TUPLE; of its head if that is not whole yet."""
    data, pos = inbox.data, inbox.pos
    if len(data) - pos < TUPLE_HEAD:
        return TUPLE_HEAD
    size: int = _I32.unpack_from(data, pos + 4)[0]
    if not 0 <= size <= MAX_TEXT:
        raise ProtocolError(f"a row of {size} bytes")
    return TUPLE_HEAD + size + (size & 1)


def _skip_whole(inbox: Inbox, count: int) -> None:
    """Skip *count* tuples that are whole, by their sizes alone.

    Raises:
        ProtocolError: there are fewer. An interrupt has come between two values, and not from a decoder.
    """
    for _ in range(count):
        if (
            inbox.unread < TUPLE_HEAD
            or inbox.data[inbox.pos + 1] != TUPLE
            or inbox.unread < _next_tuple(inbox)
        ):
            raise ProtocolError("the reading of rows was interrupted")
        inbox.skip(_next_tuple(inbox))
