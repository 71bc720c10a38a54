"""SQ_DESCRIBE and SQ_IDESCRIBE: columns and parameters with their types, both directions. Never: a value."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from aioifx.errors import ProtocolError
from aioifx.sqltypes import NOT_NULL, Column, SqlType, TypeCode
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.fields import read_name
from aioifx.wire.inbox import Inbox, padded
from aioifx.wire.opcodes import MAX_COLUMNS, MAX_TEXT, Op
from aioifx.wire.outbox import Outbox

_MAX_LENGTH: Final[dict[int, int]] = {
    TypeCode.CHAR: 32767,
    TypeCode.NCHAR: 32767,
    TypeCode.DECIMAL: 0x20FF,  # 32 digits, floating point
    TypeCode.MONEY: 0x20FF,
}
"""Lengths that such a type has at most (documented): a decoder of its values allocates by them."""

_UNNAMED: Final = Struct(">iiHihhiii")
"""A column of SQ_DESCRIBE whose type has neither owner nor name: both are of size 0."""


class Description(NamedTuple):
    """SQ_DESCRIBE: what a statement is, its id, and the columns it returns or writes."""

    statement_type: int
    statement_id: int
    columns: tuple[Column, ...] = ()
    row_size: int = 0
    """Bytes of the widest row."""
    estimate: int = 0
    """The optimizer's estimate, as the server states it."""


async def read_describe(inbox: Inbox, capabilities: Capabilities) -> Description:
    """SQ_DESCRIBE.

    Wire: 2 type · 2 id · 4 estimate · 2|4 row size · 2 columns · 4 size of names · columns · names
    Source: observed: IDS 12.10 to 15, GBase 8s; JDBC, without bit 50, too; the int row size: JDBC, protocols15.json
    """
    await inbox.need(14 + (4 if capabilities.long_tuple else 2))
    kind, statement_id, estimate = inbox.i16(), inbox.i16(), inbox.i32()
    row_size = inbox.i32() if capabilities.long_tuple else inbox.u16()
    count = inbox.i16()
    names_size = inbox.i32()
    if not (0 <= count <= MAX_COLUMNS and 0 <= names_size <= MAX_TEXT and 0 <= row_size <= MAX_TEXT):
        raise ProtocolError(
            f"SQ_DESCRIBE with {count} columns, rows of {row_size} bytes, {names_size} bytes of names"
        )
    fields: list[_Field] = []
    while len(fields) < count:
        if not _take_unnamed(inbox, fields, count):
            fields.append(await _read_field(inbox, capabilities))
    await inbox.need(padded(names_size))
    names = inbox.take(names_size)
    inbox.skip(padded(names_size) - names_size)
    columns = [
        Column(_name_at(names, index, capabilities.encoding), sqltype, nullable, start)
        for index, start, sqltype, nullable in fields
    ]
    return Description(kind, statement_id, tuple(columns), row_size, estimate)


_Field: TypeAlias = tuple[int, int, SqlType, bool]
"""One column of SQ_DESCRIBE: place of its name, start, type, whether it takes NULL."""


def _take_unnamed(inbox: Inbox, fields: list[_Field], count: int) -> bool:
    """Read up to *count* columns as far as they are here and their types have no names; returns whether any has been.

    A result may have 32,767 columns, and they are read while the event loop waits.
    """
    types: dict[tuple[int, int, int, int], SqlType] = {}
    before, size = len(fields), _UNNAMED.size
    stop = inbox.pos + min(count - before, inbox.unread // size) * size
    with memoryview(inbox.data) as data, data[inbox.pos : stop] as whole:
        for index, start, code, extended_id, owner, name, _, source, length in _UNNAMED.iter_unpack(whole):
            if owner or name:
                break
            key = code, extended_id, source, length
            sqltype = types.get(key)
            if sqltype is None:
                sqltype = types[key] = _type(code, length, extended_id, "", "", source)
            fields.append((index, start, sqltype, not code & NOT_NULL))
    read = len(fields) - before
    inbox.skip(read * size)
    return read > 0


async def _read_field(inbox: Inbox, capabilities: Capabilities) -> _Field:
    await inbox.need(14)
    index, start, code, extended_id = inbox.i32(), inbox.i32(), inbox.u16(), inbox.i32()
    owner = await read_name(inbox, capabilities)
    extended_name = await read_name(inbox, capabilities)
    await inbox.need(12)
    inbox.skip(4)  # reference and alignment, unused by clients (observed: 0 for built-in types)
    source, length = inbox.i32(), inbox.i32()
    return index, start, _type(code, length, extended_id, owner, extended_name, source), not code & NOT_NULL


def _type(code: int, length: int, extended_id: int, owner: str, name: str, source: int) -> SqlType:
    """A described type.

    Raises:
        ProtocolError: it cannot have this length.
    """
    kind = code & 0xFF
    if kind in _MAX_LENGTH and not 0 <= length <= _MAX_LENGTH[kind]:
        raise ProtocolError(f"a {TypeCode(kind).name} of length {length}")
    return SqlType(kind, length, extended_id, owner, name, source, code & 0xFE00)


def _name_at(names: bytes, index: int, encoding: str) -> str:
    if not 0 <= index <= len(names):
        raise ProtocolError(f"column name at {index} of {len(names)} bytes")
    end = names.find(b"\0", index)
    return names[index : end if end >= 0 else len(names)].decode(encoding, "replace")


async def read_idescribe(inbox: Inbox, capabilities: Capabilities) -> tuple[SqlType, ...]:
    """SQ_IDESCRIBE: the parameters of a statement.

    Wire: 2 count · if count and with bit 52: 2 zero · each 2 type · 4 extended id · owner · name · 2 · 2 · 4 source · 4
    length
    Source: observed: JDBC, prepared.json; without bit 52 it reads no zero
    """
    await inbox.need(2)
    count = inbox.i16()
    if not 0 <= count <= MAX_COLUMNS:
        raise ProtocolError(f"SQ_IDESCRIBE with {count} parameters")
    parameters: list[SqlType] = []
    if count and capabilities.named_parameters:
        await inbox.need(2)
        inbox.skip(2)  # always 0 (observed: JDBC)
    for _ in range(count):
        parameters.append(await read_type(inbox, capabilities))
    return tuple(parameters)


async def read_type(inbox: Inbox, capabilities: Capabilities) -> SqlType:
    """The type of a parameter; see `read_idescribe`."""
    await inbox.need(6)
    code, extended_id = inbox.u16(), inbox.i32()
    owner = await read_name(inbox, capabilities)
    extended_name = await read_name(inbox, capabilities)
    await inbox.need(12)
    inbox.skip(4)  # reference and alignment
    source, length = inbox.i32(), inbox.i32()
    return _type(code, length, extended_id, owner, extended_name, source)


def put_describe(outbox: Outbox, capabilities: Capabilities, description: Description) -> None:
    """SQ_DESCRIBE; see `read_describe`."""
    names = bytearray()
    places: list[int] = []
    for column in description.columns:
        places.append(len(names))
        names += column.name.encode(capabilities.encoding, "replace") + b"\0"
    outbox.u16(Op.DESCRIBE)
    outbox.i16(description.statement_type)
    outbox.i16(description.statement_id)
    outbox.i32(description.estimate)
    if capabilities.long_tuple:
        outbox.i32(description.row_size)
    else:
        # The field is a short; a wider row says what fits. JDBC takes it for the least fetch buffer, no more.
        outbox.u16(min(description.row_size, 0x7FFF))
    outbox.i16(len(description.columns))
    outbox.i32(len(names))
    for place, column in zip(places, description.columns, strict=True):
        outbox.i32(place)
        outbox.i32(column.start)
        put_type(outbox, capabilities, column.type, 0 if column.nullable else NOT_NULL)
    outbox.block(bytes(names))


def put_type(outbox: Outbox, capabilities: Capabilities, sqltype: SqlType, flags: int = 0) -> None:
    """A type as SQ_DESCRIBE and SQ_IDESCRIBE have it, with *flags* in its code."""
    outbox.u16(sqltype.code | sqltype.flags | flags)
    outbox.i32(sqltype.extended_id)
    outbox.char(sqltype.owner.encode(capabilities.encoding, "replace"))
    outbox.char(sqltype.extended_name.encode(capabilities.encoding, "replace"))
    outbox.i16(0)  # reference
    outbox.i16(0)  # alignment
    outbox.i32(sqltype.source)
    outbox.i32(sqltype.length)


def put_idescribe(outbox: Outbox, capabilities: Capabilities, parameters: Sequence[SqlType | None]) -> None:
    """SQ_IDESCRIBE; a parameter of unknown type is described as CHAR of no length."""
    outbox.u16(Op.IDESCRIBE)
    outbox.i16(len(parameters))
    if parameters and capabilities.named_parameters:
        outbox.i16(0)
    for sqltype in parameters:
        put_type(outbox, capabilities, sqltype or SqlType(TypeCode.CHAR))
