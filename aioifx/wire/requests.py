"""Client -> server messages of statements, and a whole group. Never: which Python value a parameter had.

A client puts messages one after the other and closes the group with `put_eot`. The server reads one group at a time as
a list of messages. The client decides the order inside a group (observed: JDBC: ID, CURNAME, BIND, SCROLL, HOLD,
AUTOFREE, OPEN, ID, RET_TYPE, NFETCH).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from aioifx.errors import ProtocolError
from aioifx.sqltypes import SqlType
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.fields import BindEntry as BindEntry  # half of this module's vocabulary
from aioifx.wire.fields import is_named as is_named
from aioifx.wire.fields import put_long_char, read_block, read_char, read_entry, read_long_char
from aioifx.wire.files import ANSWER_READERS as FILE_READERS
from aioifx.wire.files import FileAnswer
from aioifx.wire.inbox import NO_LIMIT, Inbox
from aioifx.wire.objects import REQUEST_READERS as OBJECT_READERS
from aioifx.wire.objects import ObjectRequest
from aioifx.wire.opcodes import MAX_COLUMNS, Op
from aioifx.wire.outbox import Outbox
from aioifx.wire.routines import REQUEST_READERS as ROUTINE_READERS
from aioifx.wire.routines import RoutineRequest
from aioifx.wire.session_requests import BARE as SESSION_BARE
from aioifx.wire.session_requests import REQUEST_READERS as SESSION_READERS
from aioifx.wire.session_requests import Exit, SessionRequest

# As plain ints: looking up a member of an enum takes longer than the rest of a comparison.
_EOT: Final = int(Op.EOT)
_EXIT: Final = int(Op.EXIT)

_MAX_MESSAGES: Final = 1 << 20

MAX_REQUEST: Final = 256 * 1024 * 1024
"""Maximum size of a group in bytes, unless its reader has another limit."""


class Prepare(NamedTuple):
    placeholders: int
    sql: bytes


class Command(NamedTuple):
    placeholders: int
    sql: bytes


class CurName(NamedTuple):
    name: bytes


class Id(NamedTuple):
    statement_id: int


class Bind(NamedTuple):
    entries: tuple[BindEntry, ...]


class Open(NamedTuple):
    pass


class Execute(NamedTuple):
    pass


class Fetch(NamedTuple):
    """SQ_NFETCH."""

    size: int
    array: int = 0


class ScrollFetch(NamedTuple):
    """SQ_SFETCH; kinds: 1 next, 2 prior, 3 first, 4 last, 5 relative, 6 absolute."""

    kind: int
    row: int
    size: int


class Close(NamedTuple):
    pass


class Release(NamedTuple):
    pass


class Put(NamedTuple):
    """SQ_PUT: *rows* payloads in the form of SQ_TUPLE, as they stood."""

    size: int
    rows: tuple[bytes, ...]


class Describe(NamedTuple):
    """SQ_NDESCRIBE."""


class Scroll(NamedTuple):
    pass


class Hold(NamedTuple):
    pass


class AutoFree(NamedTuple):
    pass


class WantDone(NamedTuple):
    pass


class DescribeInput(NamedTuple):
    """SQ_CIDESCRIBE."""


class RetType(NamedTuple):
    direction: int
    types: tuple[SqlType, ...]


class AutoGenKeys(NamedTuple):
    kind: int
    columns: tuple[bytes, ...] = ()


Request: TypeAlias = (
    Prepare | Command | CurName | Id | Bind | Open | Execute | Fetch | ScrollFetch | Close | Release | Put
    | Describe | Scroll | Hold | AutoFree | WantDone | DescribeInput | RetType | AutoGenKeys
    | SessionRequest | ObjectRequest | RoutineRequest | FileAnswer
)  # fmt: skip


# -- writing ----------------------------------------------------------------------------------------------------------


def put_eot(outbox: Outbox) -> None:
    """SQ_EOT: the group is complete, the server starts."""
    outbox.u16(Op.EOT)


def put_prepare(outbox: Outbox, capabilities: Capabilities, sql: bytes, placeholders: int) -> None:
    """PREPARE, NDESCRIBE, WANTDONE.

    Wire: 2 opcode · 2 placeholders · SQL text · 22 · 49
    Source: observed: JDBC, select.json
    """
    outbox.u16(Op.PREPARE)
    outbox.u16(placeholders)
    put_long_char(outbox, capabilities, sql)
    outbox.u16(Op.NDESCRIBE)
    outbox.u16(Op.WANTDONE)


def put_command(outbox: Outbox, capabilities: Capabilities, sql: bytes) -> None:
    """COMMAND, NDESCRIBE, EXECUTE, RELEASE: prepare, execute and release in one group.

    Wire: 2 opcode · 2 zero · SQL text · 22 · 7 · 11
    Source: observed: JDBC, select.json (executeUpdate)
    """
    outbox.u16(Op.COMMAND)
    outbox.u16(0)
    put_long_char(outbox, capabilities, sql)
    outbox.u16(Op.NDESCRIBE)
    outbox.u16(Op.EXECUTE)
    outbox.u16(Op.RELEASE)


def put_id(outbox: Outbox, statement_id: int) -> None:
    """SQ_ID: the statement that the messages up to the next SQ_ID or SQ_EOT are for (observed: JDBC, select.json)."""
    outbox.u16(Op.ID)
    outbox.i16(statement_id)


def put_curname(outbox: Outbox, name: bytes) -> None:
    """SQ_CURNAME: the cursor's name, which WHERE CURRENT OF refers to."""
    outbox.u16(Op.CURNAME)
    outbox.char(name)


def put_bind(outbox: Outbox, body: bytes) -> None:
    """SQ_BIND; *body* is the count and the entries as codecs encode them.

    Wire: 2 opcode · 2 count · each 2 type · [owner · name] · 2 indicator · 2 precision · data · pad to even
    """
    outbox.u16(Op.BIND)
    outbox.raw(body)


def put_hold(outbox: Outbox) -> None:
    """SQ_HOLD: the cursor stays open over COMMIT (observed: JDBC, select.json, holdable)."""
    outbox.u16(Op.HOLD)


def put_scroll(outbox: Outbox) -> None:
    """SQ_SCROLL, before SQ_HOLD and SQ_OPEN: the cursor is a scroll cursor (observed: JDBC, scroll.json)."""
    outbox.u16(Op.SCROLL)


def put_autofree(outbox: Outbox) -> None:
    """SQ_AUTOFREE, directly before SQ_OPEN: closing the cursor releases the statement (observed: JDBC, select.json)."""
    outbox.u16(Op.AUTOFREE)


def put_open(outbox: Outbox) -> None:
    """SQ_OPEN."""
    outbox.u16(Op.OPEN)


def put_fetch(outbox: Outbox, size: int) -> None:
    """SQ_NFETCH: as many rows as fit into *size* bytes, at least one.

    Wire: 2 opcode · 4 size · 2 zero
    Source: observed: JDBC, without bit 63, too
    """
    outbox.u16(Op.NFETCH)
    outbox.i32(size)
    outbox.i16(0)


def put_scroll_fetch(outbox: Outbox, kind: int, row: int, size: int) -> None:
    """SQ_SFETCH; the size is always an int: with a short the server waits for more (observed: 12.10 to 15)."""
    outbox.u16(Op.SFETCH)
    outbox.i16(kind)
    outbox.i32(row)
    outbox.i32(size)


def put_close(outbox: Outbox) -> None:
    """SQ_CLOSE: the cursor, not the statement."""
    outbox.u16(Op.CLOSE)


def put_release(outbox: Outbox) -> None:
    """SQ_RELEASE: the statement, and its cursor."""
    outbox.u16(Op.RELEASE)


def put_describe_input(outbox: Outbox) -> None:
    """SQ_CIDESCRIBE: describe the parameters."""
    outbox.u16(Op.CIDESCRIBE)


def put_ret_type(
    outbox: Outbox, capabilities: Capabilities, types: Sequence[SqlType], direction: int = 1
) -> None:
    """SQ_RET_TYPE: the form that the client requests for each column.

    Wire: 2 opcode · 2 direction · 2 columns · per column 2 type · [owner · name] · 4 length
    Source: observed: JDBC, select.json; that owner and name are those of the description: owners15.json
    """
    outbox.u16(Op.RET_TYPE)
    outbox.i16(direction)
    outbox.i16(len(types))
    for sqltype in types:
        outbox.u16(sqltype.code)
        if is_named(sqltype.code):
            outbox.char(sqltype.owner.encode(capabilities.encoding, "replace"))
            outbox.char(sqltype.extended_name.encode(capabilities.encoding, "replace"))
        outbox.i32(sqltype.length)


# -- reading ----------------------------------------------------------------------------------------------------------


async def read_request(inbox: Inbox, capabilities: Capabilities, limit: int = MAX_REQUEST) -> list[Request]:
    """One group of messages, up to SQ_EOT; SQ_EXIT ends one too.

    Args:
        limit: bytes of the whole group.

    Raises:
        ProtocolError: not SQLI, or more than *limit* bytes.
        ConnectionLost: the client went away.
    """
    inbox.limit = inbox.consumed + limit
    try:
        messages = await _read_group(inbox, capabilities)
        if inbox.consumed > inbox.limit:
            raise ProtocolError(f"the request is longer than {limit} bytes")
    finally:
        inbox.limit = NO_LIMIT
    return messages


async def _read_group(inbox: Inbox, capabilities: Capabilities) -> list[Request]:
    messages: list[Request] = []
    while True:
        await inbox.need(2)
        tag = inbox.u16()
        if tag == _EOT:
            return messages
        if tag == _EXIT:
            messages.append(Exit())
            return messages
        if (bare := BARE.get(tag)) is not None:
            messages.append(bare)
        elif (reader := MESSAGE_READERS.get(tag)) is not None:
            messages.append(await reader(inbox, capabilities))
        else:
            raise ProtocolError(f"unknown message {tag} from the client")
        if len(messages) > _MAX_MESSAGES:
            raise ProtocolError(f"a group of more than {_MAX_MESSAGES} messages")


BARE: Final[dict[int, Request]] = {
    Op.OPEN: Open(),
    Op.EXECUTE: Execute(),
    Op.CLOSE: Close(),
    Op.RELEASE: Release(),
    Op.NDESCRIBE: Describe(),
    Op.SCROLL: Scroll(),
    Op.HOLD: Hold(),
    Op.WANTDONE: WantDone(),
    Op.AUTOFREE: AutoFree(),
    Op.CIDESCRIBE: DescribeInput(),
    **SESSION_BARE,
}
"""The messages without a body."""


async def _read_prepare(inbox: Inbox, capabilities: Capabilities) -> Prepare:
    await inbox.need(2)
    return Prepare(inbox.u16(), await read_long_char(inbox, capabilities))


async def _read_command(inbox: Inbox, capabilities: Capabilities) -> Command:
    await inbox.need(2)
    return Command(inbox.u16(), await read_long_char(inbox, capabilities))


async def _read_curname(inbox: Inbox, capabilities: Capabilities) -> CurName:
    return CurName(await read_char(inbox))


async def _read_id(inbox: Inbox, capabilities: Capabilities) -> Id:
    await inbox.need(2)
    return Id(inbox.i16())


async def _read_bind(inbox: Inbox, capabilities: Capabilities) -> Bind:
    await inbox.need(2)
    count = inbox.i16()
    if not 0 <= count <= MAX_COLUMNS:
        raise ProtocolError(f"SQ_BIND with {count} parameters")
    return Bind(tuple([await read_entry(inbox, capabilities) for _ in range(count)]))


async def _read_fetch(inbox: Inbox, capabilities: Capabilities) -> Fetch:
    await inbox.need(6)
    return Fetch(inbox.i32(), inbox.i16())


async def _read_scroll_fetch(inbox: Inbox, capabilities: Capabilities) -> ScrollFetch:
    await inbox.need(10)
    return ScrollFetch(inbox.i16(), inbox.i32(), inbox.i32())


async def _read_put(inbox: Inbox, capabilities: Capabilities) -> Put:
    """SQ_PUT: 4 row size · 2 rows · rows, each padded to even (observed: JDBC, put.json)."""
    await inbox.need(6)
    size, count = inbox.i32(), inbox.u16()
    if size < 1 and count:  # a column has a byte at least; empty rows would cost memory without bytes
        raise ProtocolError(f"SQ_PUT with {count} rows of {size} bytes")
    return Put(size, tuple([await read_block(inbox, size) for _ in range(count)]))


async def _read_ret_type(inbox: Inbox, capabilities: Capabilities) -> RetType:
    await inbox.need(4)
    direction, count = inbox.i16(), inbox.i16()
    if not 0 <= count <= MAX_COLUMNS:
        raise ProtocolError(f"SQ_RET_TYPE with {count} columns")
    types: list[SqlType] = []
    for _ in range(count):
        await inbox.need(2)
        code = inbox.u16()
        owner = name = ""
        if is_named(code):
            owner = (await read_char(inbox)).decode(capabilities.encoding, "replace")
            name = (await read_char(inbox)).decode(capabilities.encoding, "replace")
        await inbox.need(4)
        types.append(SqlType(code, inbox.i32(), owner=owner, extended_name=name))
    return RetType(direction, tuple(types))


async def _read_autogenkeys(inbox: Inbox, capabilities: Capabilities) -> AutoGenKeys:
    """SQ_AUTOGENKEYS: 2 one, or 2 three · 2 count · CHAR names (observed: JDBC, prepared.json)."""
    await inbox.need(2)
    kind = inbox.i16()
    if kind == 1:
        return AutoGenKeys(kind)
    await inbox.need(2)
    count = inbox.i16()
    if kind not in (2, 3) or not 0 <= count <= MAX_COLUMNS:
        raise ProtocolError(f"SQ_AUTOGENKEYS {kind} with {count} columns")
    if kind == 2:  # by position (assumed, by analogy with 3; JDBC was not seen to send it)
        await inbox.need(2 * count)
        return AutoGenKeys(kind, tuple(str(inbox.i16()).encode() for _ in range(count)))
    return AutoGenKeys(kind, tuple([await read_char(inbox) for _ in range(count)]))


MESSAGE_READERS: Final[dict[int, Callable[[Inbox, Capabilities], Awaitable[Request]]]] = {
    Op.COMMAND: _read_command,
    Op.PREPARE: _read_prepare,
    Op.CURNAME: _read_curname,
    Op.ID: _read_id,
    Op.BIND: _read_bind,
    Op.NFETCH: _read_fetch,
    Op.PUT: _read_put,
    Op.SFETCH: _read_scroll_fetch,
    Op.RET_TYPE: _read_ret_type,
    Op.AUTOGENKEYS: _read_autogenkeys,
    **OBJECT_READERS,
    **ROUTINE_READERS,
    **FILE_READERS,
    **SESSION_READERS,
}
"""The readers of the other messages, each called after its tag."""
