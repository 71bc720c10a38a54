"""Server -> client messages: put_* and read_reply. Never: columns beyond their description; it raises no SQL error.

Invariants:
1. What the server says is data: the first error is kept and the message read to its end.
2. What a value holds is data too: when the row reader raises DataError, the rows after it are skipped by their sizes.
3. Bytes that are not SQLI raise ProtocolError, and nothing on that connection can be read afterwards.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, Final, NamedTuple, TypeAlias

from aioifx.errors import DataError, ProtocolError
from aioifx.sqltypes import NOT_NULL, Column, Row, SqlType, TypeCode
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.fields import BindEntry, int8_of, put_int8, read_block, read_char, take_int8
from aioifx.wire.inbox import NO_LIMIT, Inbox, Parser, padded
from aioifx.wire.objects import ObjectData, Routine, read_blob, read_object_data, read_returned, read_routine
from aioifx.wire.opcodes import MAX_COLUMNS, MAX_TEXT, Op
from aioifx.wire.outbox import Outbox

_I32: Final = Struct(">i")

# As plain ints: to look a member of an enum up in its class takes longer than all the rest of a comparison.
_TUPLE: Final = int(Op.TUPLE)
_CLOSE: Final = int(Op.CLOSE)
_INSERTDONE: Final = int(Op.INSERTDONE)
_DONE: Final = int(Op.DONE)
_COST: Final = int(Op.COST)
_XACTSTAT: Final = int(Op.XACTSTAT)
_EOT: Final = int(Op.EOT)

TUPLE_HEAD: Final = 8
"""SQ_TUPLE up to its payload: 2 opcode · 2 warnings · 4 size."""

DEFAULT_LIMIT: Final = 16 * 1024 * 1024
"""Bytes that one reply may have when its reader names no other limit; an endless reply ends here."""

_LONGEST: Final[dict[int, int]] = {
    TypeCode.CHAR: 32767,
    TypeCode.NCHAR: 32767,
    TypeCode.DECIMAL: 0x20FF,  # 32 digits, floating point
    TypeCode.MONEY: 0x20FF,
}
"""Lengths that such a type has at most (documented): a decoder of its values allocates by them."""

RunDecoder: TypeAlias = Callable[[bytearray, int, int, list[Row]], int]
"""Decodes every whole SQ_TUPLE in ``data[pos:end]``, appends the rows, returns the position after the last."""


class RowReader(NamedTuple):
    """What makes rows of tuples, in one of two ways; `read_in_runs` and `read_field_by_field` make it."""

    decode: RunDecoder | None
    read: Callable[[Inbox, list[Row]], Awaitable[None]] | None
    """Reads one whole SQ_TUPLE that stands next in the inbox, and appends what it held."""
    fast_run: Callable[[], RunDecoder] | None = None
    """Gives what decodes as *decode* does, but stops before a row that it does not handle."""


class Description(NamedTuple):
    """SQ_DESCRIBE: what a statement is, its id, and the columns it returns or writes."""

    statement_type: int
    statement_id: int
    columns: tuple[Column, ...] = ()
    row_size: int = 0
    """Bytes of the widest row."""
    estimate: int = 0
    """The optimizer's estimate, as the server states it."""


class Done(NamedTuple):
    """SQ_DONE: how a statement, or a fetch, ended."""

    warnings: int = 0
    rows: int = 0
    rowid: int = 0
    serial: int = 0


class Cost(NamedTuple):
    """SQ_COST: the optimizer's estimate."""

    rows: int = 0
    cost: int = 0


class Serials(NamedTuple):
    """SQ_INSERTDONE: the SERIAL8 and BIGSERIAL values that an INSERT took."""

    serial8: int = 0
    bigserial: int = 0


class TransactionState(NamedTuple):
    """SQ_XACTSTAT; the meaning of its numbers is not published."""

    event: int
    level: int
    previous: int


class ServerError(NamedTuple):
    """SQ_ERR: codes, the place in the SQL text, and what belongs into the message."""

    sqlcode: int
    isamcode: int = 0
    offset: int = 0
    token: str = ""
    sqlstate: str = ""
    """Empty where the server sends none."""
    text: str = ""
    """The whole message, where the server sends one."""


@dataclass
class Reply:
    """Everything that one group from the server held."""

    # Without slots: what a group does not hold, which is nearly all of it, is not stored but found in the class.

    description: Description | None = None
    parameters: tuple[SqlType, ...] | None = None
    rows: list[Row] = field(default_factory=list[Row])
    done: Done | None = None
    """The last SQ_DONE; row counts of a group with several executions are in `dones`."""
    dones: list[Done] = field(default_factory=list[Done])
    cost: Cost | None = None
    serials: Serials | None = None
    transaction: TransactionState | None = None
    row_number: int | None = None
    """SQ_TUPID: the row that a scroll cursor stands on."""
    closed: bool = False
    """The server closed the cursor by itself."""
    exited: bool = False
    """The server ended the session; nothing follows."""
    mask: bytes | None = None
    version: str | None = None
    names: tuple[str, ...] | None = None
    """SQ_DBLIST: the databases."""
    blobs: list[bytes] = field(default_factory=list[bytes])
    """SQ_BLOB: BYTE and TEXT values, whole."""
    object_data: ObjectData | None = None
    routine: Routine | None = None
    returned: tuple[BindEntry, ...] | None = None
    """SQ_FPROUTINE: what a routine returned."""
    error: ServerError | None = None
    """The first error; the rest of the group was read all the same."""
    warnings: tuple[ServerError, ...] = ()
    """SQ_ERR 0: what a routine warned of."""
    no_rows: ServerError | None = None
    """SQ_ERR 100: nothing was changed, or there are no more rows."""
    bad_value: DataError | None = None
    """The first value that could not be decoded; `rows` ends before its row."""


def _empty() -> Reply:
    """`Reply()`, in a quarter of the time."""
    reply = Reply.__new__(Reply)
    reply.rows, reply.dones, reply.blobs = [], [], []
    return reply


# -- reading ----------------------------------------------------------------------------------------------------------


def read_in_runs(decode: RunDecoder, fast_run: Callable[[], RunDecoder] | None = None) -> RowReader:
    """Wait for one whole tuple, then take all that are here: no await per row."""
    return RowReader(decode, None, fast_run)


TryReadReply: TypeAlias = Callable[[Inbox], Reply | None]
"""Takes the next reply if it is wholly here and of the form that most have; see `_try_read_ending`.

For any other: None, and nothing is consumed.
"""


def read_nothing(inbox: Inbox) -> Reply | None:
    """A `TryReadReply` that leaves everything to `read_reply`."""
    return None


class ReplyReader:
    """Reads replies of one kind, as many as one likes: at once where that can be, otherwise as `read_reply` does."""

    def __init__(
        self,
        capabilities: Capabilities,
        read_rows: RowReader | None,
        limit: int,
        take: TryReadReply = read_nothing,
    ) -> None:
        self.read_rows = read_rows
        self.limit = limit
        self.take = take
        self._dialect = capabilities

    def parser(self, inbox: Inbox) -> Parser[Reply]:
        """What reads the next reply, however it comes."""
        return read_reply(inbox, self._dialect, self.read_rows, self.limit)


async def read_reply(
    inbox: Inbox, capabilities: Capabilities, read_rows: RowReader | None = None, limit: int = DEFAULT_LIMIT
) -> Reply:
    """One group, up to and including SQ_EOT.

    Args:     read_rows: turns tuples into rows; without it a tuple is a ProtocolError. limit: bytes of the whole group.
    Raises:   ProtocolError: not SQLI, an unsolicited tuple, or more than *limit* bytes.
              ConnectionLost: the connection ended first.
    """
    reply = _empty()
    decode = read_rows.decode if read_rows is not None else None
    end = inbox.dropped + inbox.pos + limit
    inbox.limit = end  # stops who waits for more; what came in one piece is measured here
    ended = False
    try:
        while not ended:
            if len(inbox.data) - inbox.pos < 2:
                await inbox.need(2)
            data, pos = inbox.data, inbox.pos
            tag = data[pos] << 8 | data[pos + 1]
            if tag == _TUPLE:
                if decode is None or not _try_read_rows(inbox, reply, decode):
                    await _read_tuples(inbox, reply, read_rows)
            elif tag in _COMMON_END and _try_read_ending(inbox, capabilities, reply, tag):
                ended = True
            else:
                inbox.skip(2)
                reader = _READERS.get(tag)
                if reader is None:
                    raise ProtocolError(f"unknown message {tag} from the server")
                await reader(inbox, capabilities, reply)
                ended = tag in _ENDS
            if inbox.dropped + inbox.pos > end:
                raise ProtocolError(f"the reply is longer than {limit} bytes")
    finally:
        inbox.limit = NO_LIMIT
    return reply


INSERTDONE: Final = {False: Struct(">HhII"), True: Struct(">HhIIq")}
"""SQ_INSERTDONE without and with bit 54; see `_read_insertdone`."""

DONE_COST: Final = {False: Struct(">HHiiiHiiH"), True: Struct(">HHqqiHiiH")}
"""SQ_DONE, SQ_COST and the next tag, without and with bit 70; see `_read_done` and `_read_cost`."""

XACTSTAT_EOT: Final = Struct(">3hH")
"""The rest of SQ_XACTSTAT, and SQ_EOT."""


def serials_at(capabilities: Capabilities, data: bytes | bytearray, pos: int) -> Serials:
    """What the whole SQ_INSERTDONE at *pos* tells."""
    _, sign, low, high, *bigserial = INSERTDONE[capabilities.bigint].unpack_from(data, pos)
    return Serials(int8_of(sign, low, high), *bigserial)


_COMMON_END: Final = frozenset({_CLOSE, _INSERTDONE, _DONE})

_new: Final[Callable[[Any, tuple[int, ...]], Any]] = vars(tuple)["__new__"]
"""A NamedTuple of its values, in a third of the time."""


def _try_read_ending(inbox: Inbox, capabilities: Capabilities, reply: Reply, tag: int) -> bool:
    """Read what most replies end with, ``[CLOSE] [INSERTDONE] DONE COST [XACTSTAT] EOT``, if all of it is here.

    It saves the wait before each message; every other form is left to the readers.

    Source:   observed: IDS 12.10 to 15; the order too
    """
    data, at = inbox.data, inbox.pos
    stop = len(data)
    done_cost = DONE_COST[capabilities.long_rowid]
    closes = tag == _CLOSE
    if closes:
        at += 2
        tag = data[at] << 8 | data[at + 1] if stop - at > 1 else 0
    inserted = at if tag == _INSERTDONE else -1
    if inserted >= 0:
        at += INSERTDONE[capabilities.bigint].size
    if stop - at < done_cost.size:
        return False
    done_tag, warnings, count, rowid, serial, cost_tag, estimate, cost, tag = done_cost.unpack_from(data, at)
    if done_tag != _DONE or cost_tag != _COST or count < 0:
        return False
    at += done_cost.size
    if tag == _XACTSTAT:
        if stop - at < XACTSTAT_EOT.size:
            return False
        event, level, previous, tag = XACTSTAT_EOT.unpack_from(data, at)
        if tag != _EOT:
            return False
        reply.transaction = _new(TransactionState, (event, level, previous))
        at += XACTSTAT_EOT.size
    elif tag != _EOT:
        return False
    if inserted >= 0:
        reply.serials = serials_at(capabilities, data, inserted)
    if closes:
        reply.closed = True
    done: Done = _new(Done, (warnings, count, rowid, serial))
    reply.done = done
    reply.dones.append(done)
    reply.cost = _new(Cost, (estimate, cost))
    inbox.pos = at
    return True


def _try_read_rows(inbox: Inbox, reply: Reply, decode: RunDecoder) -> bool:
    """SQ_TUPLE, all that are here; False if the first one is not whole. The warnings before a row are not kept.

    Wire:     2 opcode · 2 warnings · 4 size · size bytes · pad to even
    Source:   observed: IDS 12.10 to 15
    """
    data, pos = inbox.data, inbox.pos
    if reply.bad_value is not None:
        whole = _next_tuple(inbox)
        if len(data) - pos < whole:
            return False
        inbox.pos += whole
        return True
    kept = len(reply.rows)
    try:
        inbox.pos = decode(data, pos, len(data), reply.rows)
    except DataError as error:
        _skip_bad(inbox, reply, kept, error)
    if inbox.pos > pos:
        return True
    if len(data) - pos < _next_tuple(inbox):
        return False
    raise ProtocolError("the row decoder does not get past a whole row")


def _next_tuple(inbox: Inbox) -> int:
    """The bytes of the next SQ_TUPLE, as far as what is here tells: at least its head."""
    data, pos = inbox.data, inbox.pos
    if len(data) - pos < TUPLE_HEAD:
        return TUPLE_HEAD
    size: int = _I32.unpack_from(data, pos + 4)[0]
    if not 0 <= size <= MAX_TEXT:
        raise ProtocolError(f"a row of {size} bytes")
    return TUPLE_HEAD + size + (size & 1)


def _skip_bad(inbox: Inbox, reply: Reply, kept: int, error: DataError) -> None:
    """After a value that could not be decoded: keep the rows before it; find its place by sizes alone."""
    reply.bad_value = error
    for _ in range(len(reply.rows) - kept + 1):
        inbox.skip(TUPLE_HEAD + padded(inbox.peek_i32(4)))


async def _read_tuples(inbox: Inbox, reply: Reply, read_rows: RowReader | None) -> None:
    """SQ_TUPLE, one or a run of them; see `_try_read_rows`."""
    if read_rows is None:
        raise ProtocolError("an unsolicited row arrived")
    if read_rows.decode is not None:
        while not _try_read_rows(inbox, reply, read_rows.decode):
            await inbox.need(_next_tuple(inbox))
        return
    await inbox.need(_next_tuple(inbox))
    await inbox.need(_next_tuple(inbox))
    if reply.bad_value is not None:
        inbox.skip(_next_tuple(inbox))
        return
    assert read_rows.read is not None
    begin, kept = inbox.consumed, len(reply.rows)
    try:
        await read_rows.read(inbox, reply.rows)
    except DataError as error:
        if inbox.consumed - begin > inbox.pos:
            raise ProtocolError("the row reader waited for more than its row") from error
        inbox.pos -= inbox.consumed - begin
        _skip_bad(inbox, reply, kept, error)


def read_field_by_field(read_row: Callable[[Inbox, int], Awaitable[Row]]) -> RowReader:
    """One tuple at a time, each field awaited on its own: no read-ahead (AIOIFX_BUFFERED_READER=0).

    Args:     read_row: reads one payload; its second argument is where the payload ends, in consumed bytes.
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


async def _read_name(inbox: Inbox, capabilities: Capabilities) -> str:
    """A name, in the database's locale; one that cannot be decoded must not cost the connection."""
    return (await read_char(inbox)).decode(capabilities.encoding, "replace")


async def _read_describe(inbox: Inbox, capabilities: Capabilities, reply: Reply) -> None:
    """SQ_DESCRIBE.

    Wire:     2 type · 2 id · 4 estimate · 2|4 row size · 2 columns · 4 size of names · columns · names
    Source:   observed: IDS 12.10 to 15, GBase 8s; JDBC, without bit 50, too; the int row size: JDBC, protocols15.json
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
    fields = [await _read_field(inbox, capabilities) for _ in range(count)]
    await inbox.need(padded(names_size))
    names = inbox.take(names_size)
    inbox.skip(padded(names_size) - names_size)
    columns = tuple(
        Column(_name_at(names, index, capabilities.encoding), sqltype, nullable, start)
        for index, start, sqltype, nullable in fields
    )
    reply.description = Description(kind, statement_id, columns, row_size, estimate)


async def _read_field(inbox: Inbox, capabilities: Capabilities) -> tuple[int, int, SqlType, bool]:
    """One column of SQ_DESCRIBE: place of its name, start, type, whether it takes NULL."""
    await inbox.need(14)
    index, start, code, extended_id = inbox.i32(), inbox.i32(), inbox.u16(), inbox.i32()
    owner = await _read_name(inbox, capabilities)
    extended_name = await _read_name(inbox, capabilities)
    await inbox.need(12)
    inbox.skip(4)  # reference and alignment, unused by clients (observed: 0 for built-in types)
    source, length = inbox.i32(), inbox.i32()
    return index, start, _type(code, length, extended_id, owner, extended_name, source), not code & NOT_NULL


def _type(code: int, length: int, extended_id: int, owner: str, name: str, source: int) -> SqlType:
    """A described type.

    Raises:   ProtocolError: it cannot have this length.
    """
    kind = code & 0xFF
    if kind in _LONGEST and not 0 <= length <= _LONGEST[kind]:
        raise ProtocolError(f"a {TypeCode(kind).name} of length {length}")
    return SqlType(kind, length, extended_id, owner, name, source, code & 0xFE00)


def _name_at(names: bytes, index: int, encoding: str) -> str:
    if not 0 <= index <= len(names):
        raise ProtocolError(f"column name at {index} of {len(names)} bytes")
    end = names.find(b"\0", index)
    return names[index : end if end >= 0 else len(names)].decode(encoding, "replace")


async def _read_idescribe(inbox: Inbox, capabilities: Capabilities, reply: Reply) -> None:
    """SQ_IDESCRIBE: the parameters of a statement.

    Wire:     2 count · if count: 2 zero · each 2 type · 4 extended id · owner · name · 2 · 2 · 4 source · 4 length
    Source:   observed: JDBC, prepared.json
    """
    await inbox.need(2)
    count = inbox.i16()
    if not 0 <= count <= MAX_COLUMNS:
        raise ProtocolError(f"SQ_IDESCRIBE with {count} parameters")
    parameters: list[SqlType] = []
    if count:
        await inbox.need(2)
        inbox.skip(2)  # always 0 (observed: JDBC)
    for _ in range(count):
        await inbox.need(6)
        code, extended_id = inbox.u16(), inbox.i32()
        owner = await _read_name(inbox, capabilities)
        extended_name = await _read_name(inbox, capabilities)
        await inbox.need(12)
        inbox.skip(4)  # reference and alignment
        source, length = inbox.i32(), inbox.i32()
        parameters.append(_type(code, length, extended_id, owner, extended_name, source))
    reply.parameters = tuple(parameters)


async def _read_done(inbox: Inbox, capabilities: Capabilities, reply: Reply) -> None:
    """SQ_DONE.

    Wire:     2 warnings · 4|8 rows · 4|8 row id · 4 serial
    Source:   observed: IDS 12.10 to 15; with bit 70: JDBC, protocols15.json, which takes the last four bytes for the
              serial (objects15.json)
    """
    await inbox.need(22 if capabilities.long_rowid else 14)
    warnings = inbox.u16()
    if capabilities.long_rowid:
        reply.done = Done(warnings, inbox.i64(), inbox.i64(), inbox.i32())
    else:
        reply.done = Done(warnings, inbox.i32(), inbox.i32(), inbox.i32())
    if reply.done.rows < 0:
        raise ProtocolError(f"SQ_DONE with {reply.done.rows} rows")
    reply.dones.append(reply.done)


async def _read_cost(inbox: Inbox, capabilities: Capabilities, reply: Reply) -> None:
    """SQ_COST: 4 rows · 4 cost (observed: IDS 12.10 to 15)."""
    await inbox.need(8)
    reply.cost = Cost(inbox.i32(), inbox.i32())


async def _read_insertdone(inbox: Inbox, capabilities: Capabilities, reply: Reply) -> None:
    """SQ_INSERTDONE: 10 serial8 as INT8 · with bit 54: 8 bigserial (observed: 11.50 to 15)."""
    await inbox.need(18 if capabilities.bigint else 10)
    reply.serials = Serials(take_int8(inbox), inbox.i64() if capabilities.bigint else 0)


_NO_ROWS: Final = 100
_WITHOUT_TOKEN: Final = -368
_WITH_TEXT: Final = frozenset({0, -937})


async def _read_error(inbox: Inbox, capabilities: Capabilities, reply: Reply) -> None:
    """SQ_ERR.

    Wire:     2 sqlcode · 2 isam · 2|4 offset · CHAR token; -368 ends with the offset; 0 and -937 go on after the token:
              5 SQLSTATE · pad · CHAR text
    Source:   observed: IDS 12.10 to 15 (int offset), 11.50 (short); JDBC, errors15.json: -368, -937, 0 and 100. JDBC
              reads all other codes from -1 to -30000 in the ordinary layout. That -937 is raised by routines in C, and
              100 means "no rows", is documented.
    """
    await inbox.need(8 if capabilities.long_text else 6)
    sqlcode, isamcode = inbox.i16(), inbox.i16()
    offset = inbox.i32() if capabilities.long_text else inbox.i16()
    token = sqlstate = text = ""
    if sqlcode != _WITHOUT_TOKEN:
        token = await _read_name(inbox, capabilities)
    if sqlcode in _WITH_TEXT:
        sqlstate = (await read_block(inbox, 5)).decode("latin-1")
        text = await _read_name(inbox, capabilities)
    error = ServerError(sqlcode, isamcode, offset, token, sqlstate, text)
    if sqlcode == _NO_ROWS:
        reply.no_rows = error
    elif not sqlcode:
        reply.warnings += (error,)
    elif reply.error is None:
        reply.error = error


async def _read_xactstat(inbox: Inbox, capabilities: Capabilities, reply: Reply) -> None:
    """SQ_XACTSTAT: 2 event · 2 new level · 2 old level (observed: 12.10 to 15)."""
    await inbox.need(6)
    reply.transaction = TransactionState(inbox.i16(), inbox.i16(), inbox.i16())


async def _read_tupid(inbox: Inbox, capabilities: Capabilities, reply: Reply) -> None:
    """SQ_TUPID: 4 row number (observed: IDS 12.10 to 15)."""
    await inbox.need(4)
    reply.row_number = inbox.i32()
    if reply.row_number < 0:
        raise ProtocolError(f"SQ_TUPID with row number {reply.row_number}")


async def _read_close(inbox: Inbox, capabilities: Capabilities, reply: Reply) -> None:
    """SQ_CLOSE, no body: the server closed the cursor itself (observed: 15; JDBC, select.json)."""
    reply.closed = True


async def _read_protocols(inbox: Inbox, capabilities: Capabilities, reply: Reply) -> None:
    """SQ_PROTOCOLS: 2 size · size bytes · pad to even; nine bytes from every release seen (observed)."""
    mask = await read_char(inbox)
    if not mask:
        raise ProtocolError("SQ_PROTOCOLS without a mask")
    reply.mask = mask


async def _read_version(inbox: Inbox, capabilities: Capabilities, reply: Reply) -> None:
    """SQ_VERSION: CHAR text (observed: JDBC accepts this answer to its isValid)."""
    reply.version = await _read_name(inbox, capabilities)


async def _read_dblist(inbox: Inbox, capabilities: Capabilities, reply: Reply) -> None:
    """SQ_DBLIST: CHAR names up to an empty one (observed: 11.50)."""
    names: list[str] = []
    while name := await _read_name(inbox, capabilities):
        names.append(name)
        if len(names) > MAX_COLUMNS:
            raise ProtocolError("SQ_DBLIST does not end")
    reply.names = tuple(names)


async def _read_blob(inbox: Inbox, capabilities: Capabilities, reply: Reply) -> None:
    reply.blobs.append(await read_blob(inbox))


async def _read_object_data(inbox: Inbox, capabilities: Capabilities, reply: Reply) -> None:
    reply.object_data = await read_object_data(inbox)


async def _read_routine(inbox: Inbox, capabilities: Capabilities, reply: Reply) -> None:
    reply.routine = await read_routine(inbox)


async def _read_returned(inbox: Inbox, capabilities: Capabilities, reply: Reply) -> None:
    reply.returned = await read_returned(inbox, capabilities)


async def _read_eot(inbox: Inbox, capabilities: Capabilities, reply: Reply) -> None:
    """SQ_EOT, no body."""


async def _read_exit(inbox: Inbox, capabilities: Capabilities, reply: Reply) -> None:
    """SQ_EXIT, no body: the server ended the session (observed: JDBC, login.json)."""
    reply.exited = True


_ENDS: Final = frozenset({Op.EOT, Op.EXIT})

_READERS: Final[dict[int, Callable[[Inbox, Capabilities, Reply], Awaitable[None]]]] = {
    Op.DESCRIBE: _read_describe,
    Op.CLOSE: _read_close,
    Op.EOT: _read_eot,
    Op.ERR: _read_error,
    Op.DONE: _read_done,
    Op.TUPID: _read_tupid,
    Op.DBLIST: _read_dblist,
    Op.BLOB: _read_blob,
    Op.EXIT: _read_exit,
    Op.VERSION: _read_version,
    Op.COST: _read_cost,
    Op.INSERTDONE: _read_insertdone,
    Op.LODATA: _read_object_data,
    Op.XACTSTAT: _read_xactstat,
    Op.GETROUTINE: _read_routine,
    Op.FPROUTINE: _read_returned,
    Op.IDESCRIBE: _read_idescribe,
    Op.PROTOCOLS: _read_protocols,
}


# -- writing ----------------------------------------------------------------------------------------------------------


def put_describe(outbox: Outbox, capabilities: Capabilities, description: Description) -> None:
    """SQ_DESCRIBE; see `_read_describe`."""
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
        _put_type(outbox, capabilities, column.type, 0 if column.nullable else NOT_NULL)
    outbox.block(bytes(names))


def _put_type(outbox: Outbox, capabilities: Capabilities, sqltype: SqlType, flags: int = 0) -> None:
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
    if parameters:
        outbox.i16(0)
    for sqltype in parameters:
        _put_type(outbox, capabilities, sqltype or SqlType(TypeCode.CHAR))


def put_done(outbox: Outbox, capabilities: Capabilities, done: Done) -> None:
    """SQ_DONE; see `_read_done`."""
    outbox.u16(Op.DONE)
    outbox.u16(done.warnings)
    if capabilities.long_rowid:
        outbox.i64(done.rows)
        outbox.i64(done.rowid)
    else:
        outbox.i32(done.rows)
        outbox.i32(done.rowid)
    outbox.i32(done.serial)


def put_cost(outbox: Outbox, cost: Cost) -> None:
    """SQ_COST."""
    outbox.u16(Op.COST)
    outbox.i32(cost.rows)
    outbox.i32(cost.cost)


def put_insertdone(outbox: Outbox, capabilities: Capabilities, serials: Serials) -> None:
    """SQ_INSERTDONE; see `_read_insertdone`."""
    outbox.u16(Op.INSERTDONE)
    put_int8(outbox, serials.serial8)
    if capabilities.bigint:
        outbox.i64(serials.bigserial)


def put_error(outbox: Outbox, capabilities: Capabilities, error: ServerError) -> None:
    """SQ_ERR; see `_read_error`."""
    outbox.u16(Op.ERR)
    outbox.i16(error.sqlcode)
    outbox.i16(error.isamcode)
    if capabilities.long_text:
        outbox.i32(error.offset)
    else:
        outbox.i16(min(error.offset, 0x7FFF))
    if error.sqlcode != _WITHOUT_TOKEN:
        outbox.char(error.token.encode(capabilities.encoding, "replace"))
    if error.sqlcode in _WITH_TEXT:
        outbox.block(error.sqlstate.encode("latin-1", "replace")[:5].ljust(5, b"\0"))
        outbox.char(error.text.encode(capabilities.encoding, "replace"))


def put_xactstat(outbox: Outbox, state: TransactionState) -> None:
    """SQ_XACTSTAT."""
    outbox.u16(Op.XACTSTAT)
    outbox.i16(state.event)
    outbox.i16(state.level)
    outbox.i16(state.previous)


def put_tupid(outbox: Outbox, row_number: int) -> None:
    """SQ_TUPID."""
    outbox.u16(Op.TUPID)
    outbox.i32(row_number)


def put_closed(outbox: Outbox) -> None:
    """SQ_CLOSE, from the server: it closed the cursor."""
    outbox.u16(Op.CLOSE)


def put_version(outbox: Outbox, capabilities: Capabilities, text: str) -> None:
    """SQ_VERSION, the answer."""
    outbox.u16(Op.VERSION)
    outbox.char(text.encode(capabilities.encoding, "replace"))


def put_dblist(outbox: Outbox, capabilities: Capabilities, names: Sequence[str]) -> None:
    """SQ_DBLIST, the answer."""
    outbox.u16(Op.DBLIST)
    for name in names:
        outbox.char(name.encode(capabilities.encoding, "replace"))
    outbox.u16(0)


def put_eot(outbox: Outbox) -> None:
    """SQ_EOT: the group ends."""
    outbox.u16(Op.EOT)
