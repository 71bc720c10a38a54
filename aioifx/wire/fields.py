"""Fields of several messages: CHAR, padded blocks, INT8, values with their types. Never: a whole message."""

from __future__ import annotations

from typing import Final, NamedTuple

from aioifx.errors import ProgrammingError, ProtocolError
from aioifx.sqltypes import (
    TRAITS,
    TypeCode,
)
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.inbox import Inbox, padded
from aioifx.wire.opcodes import MAX_TEXT
from aioifx.wire.outbox import Outbox

BLOB_DESCRIPTOR: Final = {False: 56, True: 68}
"""Bytes of a BYTE or TEXT descriptor, without and with bit 70, in SQ_FETCHBLOB and SQ_BIND. In a row it has the
described length (documented: tblob_t, 000-8697; observed: JDBC, lob.json, objects15.json).
Assumed: servers use these sizes as JDBC does."""

# Number of bytes of a value's data, by type (observed: binds.json; wire.md section 12.7). Values of other types without
# a name start with a short length, values of named types with an int length.
_FIXED_DATA: Final[dict[int, int]] = {code: traits.size for code, traits in TRAITS.items()}
_BLOBS: Final = frozenset({int(TypeCode.BYTE), int(TypeCode.TEXT)})


class BindEntry(NamedTuple):
    """One value of SQ_BIND or SQ_FPROUTINE; *data* excludes its inner length and its pad."""

    code: int
    owner: bytes
    name: bytes
    indicator: int
    """0: a value follows; -1: NULL."""
    precision: int
    data: bytes


def is_named(code: int) -> bool:
    """Whether the owner and name of a type follow its code (observed: JDBC, binds.json)."""
    return code > TypeCode.SERIAL8 and code not in TRAITS


async def read_name(inbox: Inbox, capabilities: Capabilities) -> str:
    """A name, in the database's locale. Invalid bytes are replaced, so that they do not end the connection."""
    return (await read_char(inbox)).decode(capabilities.encoding, "replace")


async def read_block(inbox: Inbox, size: int) -> bytes:
    """*size* bytes and the pad to even after them."""
    if not 0 <= size <= MAX_TEXT:
        raise ProtocolError(f"a field of {size} bytes")
    if inbox.is_short_of(padded(size)):
        await inbox.need(padded(size))
    data = inbox.take(size)
    inbox.skip(size & 1)
    return data


async def read_char(inbox: Inbox) -> bytes:
    """CHAR: 2 size · size bytes · pad to even."""
    if inbox.is_short_of(2):
        await inbox.need(2)
    return await read_block(inbox, inbox.u16())


async def read_long_char(inbox: Inbox, capabilities: Capabilities) -> bytes:
    """SQL text and signatures: CHAR, with an int size if bit 62 is in force (observed: JDBC, 70,000 bytes)."""
    if not capabilities.long_text:
        return await read_char(inbox)
    await inbox.need(4)
    return await read_block(inbox, inbox.i32())


def put_long_char(outbox: Outbox, capabilities: Capabilities, text: bytes) -> None:
    """SQL text and signatures; see `read_long_char`.

    Raises:
        ProgrammingError: the size does not fit its field.
    """
    most = 2**31 - 1 if capabilities.long_text else 0xFFFF
    if len(text) > most:
        raise ProgrammingError(f"text of {len(text)} bytes: expected at most {most}")
    if capabilities.long_text:
        outbox.long_char(text)
    else:
        outbox.char(text)


def take_int8(inbox: Inbox) -> int:
    """INT8: 2 sign, 0 for NULL · 4 low · 4 high, of the magnitude (observed: 11.50 to 15). Needs ten buffered bytes."""
    return int8_of(inbox.i16(), inbox.u32(), inbox.u32())


def int8_of(sign: int, low: int, high: int) -> int:
    """The value of an INT8 from its three parts."""
    magnitude = high << 32 | low
    return -magnitude if sign < 0 else magnitude if sign else 0


def put_int8(outbox: Outbox, value: int) -> None:
    """INT8; see `take_int8`."""
    magnitude = abs(value)
    outbox.i16(-1 if value < 0 else 1)
    outbox.u32(magnitude & 0xFFFF_FFFF)
    outbox.u32(magnitude >> 32)


async def read_entry(inbox: Inbox, capabilities: Capabilities) -> BindEntry:
    """One value with its type.

    Wire: 2 type · [owner · name] · 2 indicator · 2 precision · if not NULL: [2|4 size] · data · pad to even
    Source: observed: JDBC, binds.json (SQ_BIND), lob.json (SQ_BIND, SQ_FPROUTINE); descriptors: objects15.json
    """
    await inbox.need(2)
    code = inbox.i16()
    owner = name = b""
    if is_named(code):
        owner, name = await read_char(inbox), await read_char(inbox)
    await inbox.need(4)
    indicator, precision = inbox.i16(), inbox.i16()
    if indicator == -1:
        return BindEntry(code, owner, name, indicator, precision, b"")
    size = BLOB_DESCRIPTOR[capabilities.long_rowid] if code in _BLOBS else _FIXED_DATA.get(code)
    if size is None and is_named(code):
        await inbox.need(4)
        size = inbox.i32()
    elif size is None:
        await inbox.need(2)
        size = inbox.u16()
    return BindEntry(code, owner, name, indicator, precision, await read_block(inbox, size))


def put_entry(outbox: Outbox, entry: BindEntry) -> None:
    """One value with its type; see `read_entry`."""
    outbox.i16(entry.code)
    if is_named(entry.code):
        outbox.char(entry.owner)
        outbox.char(entry.name)
    outbox.i16(entry.indicator)
    outbox.i16(entry.precision)
    if entry.indicator == -1:
        return
    if entry.code in _FIXED_DATA or entry.code in _BLOBS:
        outbox.block(entry.data)
    elif is_named(entry.code):
        outbox.long_char(entry.data)
    else:
        outbox.char(entry.data)
