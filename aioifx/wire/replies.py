"""Server -> client messages: put_* and read_reply. Never: columns beyond their description; it raises no SQL error.

Invariants:
1. An error of the server is data: the first one is kept, and the group is read to its end.
2. So is a value that cannot be decoded: the row reader raises DataError, a decoder of the user anything at all. Later
   rows are then skipped by their sizes.
3. Bytes that are not SQLI raise ProtocolError, and nothing on that connection can be read afterwards.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from aioifx.errors import DataError, ProtocolError
from aioifx.sqltypes import Row, SqlType
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.completion import (
    DONE_COST,
    INSERTDONE,
    XACTSTAT_EOT,
    Cost,
    Done,
    Serials,
    ServerError,
    TransactionState,
    read_cost,
    read_done,
    read_error,
    read_insertdone,
    read_xactstat,
    serials_at,
)
from aioifx.wire.descriptions import Description, read_describe, read_idescribe
from aioifx.wire.fields import BindEntry, read_char, read_name
from aioifx.wire.files import FileRequest, read_file_request
from aioifx.wire.inbox import AT_ONCE, NO_LIMIT, Inbox, Parser
from aioifx.wire.objects import ObjectData, Routine, read_object_data, read_returned, read_routine
from aioifx.wire.opcodes import MAX_COLUMNS, Op
from aioifx.wire.outbox import Outbox
from aioifx.wire.routines import RoutineParameter, read_outputs, read_routine_parameters
from aioifx.wire.tuples import DecoderError, RowReader, read_tuples, skip_tuple, try_read_tuples

# As plain ints: looking up a member of an enum takes longer than the rest of a comparison.
_TUPLE: Final = int(Op.TUPLE)
_CLOSE: Final = int(Op.CLOSE)
_INSERTDONE: Final = int(Op.INSERTDONE)
_DONE: Final = int(Op.DONE)
_COST: Final = int(Op.COST)
_XACTSTAT: Final = int(Op.XACTSTAT)
_EOT: Final = int(Op.EOT)

MAX_REPLY: Final = 16 * 1024 * 1024
"""Maximum size of a reply in bytes, unless its reader has another limit; an endless reply ends here."""


MAX_WARNINGS: Final = 100


@dataclass
class Reply:
    """The content of one group from the server."""

    # Without slots: a field that the group does not fill, as most, is read from the class.

    description: Description | None = None
    parameters: tuple[SqlType, ...] | None = None
    rows: list[Row] = field(default_factory=list[Row])
    done: Done | None = None
    """The last SQ_DONE."""
    cost: Cost | None = None
    serials: Serials | None = None
    transaction: TransactionState | None = None
    row_number: int | None = None
    """SQ_TUPID: the current row of a scroll cursor."""
    is_cursor_closed: bool = False
    """The server closed the cursor."""
    is_session_ended: bool = False
    """The server ended the session; nothing follows."""
    mask: bytes | None = None
    version: str | None = None
    names: tuple[str, ...] | None = None
    """SQ_DBLIST: the databases."""
    object_data: ObjectData | None = None
    routine: Routine | None = None
    returned: tuple[BindEntry, ...] | None = None
    """SQ_FPROUTINE: what a routine returned."""
    outputs: tuple[bool, ...] | None = None
    """SQ_FPARAM: which parameters of the routine have values in `returned`."""
    routine_parameters: tuple[RoutineParameter, ...] | None = None
    error: ServerError | None = None
    """The first error; the rest of the group was still read."""
    warnings: tuple[ServerError, ...] = ()
    """SQ_ERR 0: warnings of a routine, the first `MAX_WARNINGS`."""
    warnings_left_out: int = 0
    """How many more there were."""
    no_rows: ServerError | None = None
    """SQ_ERR 100: nothing was changed, or there are no more rows.

    Assumed: outside ANSI databases servers send SQ_DONE instead.
    """
    bad_value: BaseException | None = None
    """Why the first value could not be decoded; `rows` ends before its row. Or `file_failure`.

    Whatever a decoder of the user raises, DataError otherwise.
    """
    file_request: FileRequest | None = None
    """SQ_FILE, which ends the group; the rest of the reply follows the client's answer."""
    size: int = 0
    """With `file_request`: bytes up to it."""
    file_failure: BaseException | None = None
    """Why a file of the client was refused, or has failed; it matters more than the server's error."""
    is_plain: bool = field(default=False, compare=False, repr=False)
    """Whether it was read at once, and holds no error, bad value or file, and not the end of the session.

    Reading a field that is not filled, and thus the class's, costs ten times as much as this one (measured).
    """


def empty_reply() -> Reply:
    """`Reply()`, in a quarter of the time."""
    reply = Reply.__new__(Reply)
    reply.rows = []
    return reply


# -- a whole reply ----------------------------------------------------------------------------------------------------


TryReadReply: TypeAlias = Callable[[Inbox], Reply | None]
"""Reads the next reply if all of it is here and its form is usual; see `try_read_ending`.

Otherwise it returns None and consumes nothing.
"""


class Continuation:
    """What to do as soon as a block of rows has arrived that more rows follow."""

    __slots__ = ("send",)

    def __init__(self) -> None:
        self.send: Callable[[], None] | None = None
        """Called before the rows are decoded, if the reply is read at once and no byte follows it; None while nobody
        waits for it."""


def read_nothing(inbox: Inbox) -> Reply | None:
    """A `TryReadReply` that leaves everything to `read_reply`."""
    return None


class ReplyReader:
    """Reads any number of replies of one kind: at once if possible, otherwise as `read_reply` does."""

    def __init__(
        self,
        capabilities: Capabilities,
        read_rows: RowReader | None,
        limit: int,
        try_read: TryReadReply = read_nothing,
        keeps_files: bool = False,
    ) -> None:
        self.read_rows = read_rows
        self.keeps_files = keeps_files
        self.limit = limit
        self.try_read = try_read
        self.capabilities = capabilities

    def parser(self, inbox: Inbox) -> Parser[Reply]:
        """Reads the next reply in any form."""
        return read_reply(inbox, self.capabilities, self.read_rows, self.limit, keeps_files=self.keeps_files)


async def read_reply(
    inbox: Inbox,
    capabilities: Capabilities,
    read_rows: RowReader | None = None,
    limit: int = MAX_REPLY,
    *,
    keeps_files: bool = False,
) -> Reply:
    """One group, up to and including SQ_EOT.

    Args:
        read_rows: turns tuples into rows; without it a tuple is a ProtocolError.
        limit: bytes of the whole group, without kept data for files.
        keeps_files: False: that data is dropped, and part of the limit.

    Raises:
        ProtocolError: not SQLI, an unsolicited tuple, or more than *limit* bytes.
        ConnectionLost: the connection ended first.
    """
    reply = empty_reply()
    decode = read_rows.decode if read_rows is not None else None
    end = inbox.consumed + limit
    inbox.limit = end  # limits the bytes that are waited for; those that came in one piece are checked below
    ended, messages, tag, begin = False, 0, 0, -1
    try:
        while not ended:
            if inbox.is_short_of(2):
                await inbox.need(2)
            tag = inbox.peek_u16()
            if tag == _TUPLE:
                try:
                    if (
                        decode is None
                        or reply.bad_value is not None
                        or not try_read_tuples(inbox, reply.rows, decode)
                    ):
                        messages += 1
                        if messages % AT_ONCE == 0:
                            await inbox.give_way()
                        if reply.bad_value is None:
                            await read_tuples(inbox, reply.rows, read_rows)
                        else:
                            await skip_tuple(inbox)
                except DataError as error:
                    reply.bad_value = error
                except DecoderError as error:
                    reply.bad_value = error.raised
            elif tag in _COMMON_END and try_read_ending(inbox, capabilities, reply, tag):
                ended = True
            elif tag == _EOT:
                inbox.skip(2)
                ended = True
            else:
                begin = inbox.consumed
                messages += 1
                if messages % AT_ONCE == 0:
                    await inbox.give_way()
                inbox.skip(2)
                if tag == _FILE:
                    reply.size = inbox.consumed - end + limit
                    if keeps_files:
                        inbox.limit = NO_LIMIT  # files have a limit of their own
                    reply.file_request = await read_file_request(inbox, capabilities, keep=keeps_files)
                    return reply
                await _read_message(inbox, capabilities, reply, tag)
                ended = tag == _EXIT
            if inbox.consumed > end:
                raise ProtocolError(f"the reply is longer than {limit} bytes")
    except ProtocolError as error:
        if tag == _TUPLE:  # those before it have been consumed
            begin = inbox.consumed
        if begin >= 0:
            error.tag, error.position = tag, begin
        raise
    finally:
        inbox.limit = NO_LIMIT
    return reply


_EXIT: Final = int(Op.EXIT)
_FILE: Final = int(Op.FILE)
_NO_ROWS: Final = 100


async def _read_message(inbox: Inbox, capabilities: Capabilities, reply: Reply, tag: int) -> None:
    """One message after its tag, except SQ_TUPLE, which `aioifx.wire.tuples` reads.

    SQ_CLOSE, SQ_EOT and SQ_EXIT have no body. After SQ_CLOSE the cursor is closed (observed: 15; JDBC, select.json);
    after SQ_EXIT the session has ended (observed: JDBC, login.json).
    """
    if (value := MESSAGE_READERS.get(tag)) is not None:
        name, read = value
        setattr(reply, name, await read(inbox, capabilities))
    elif tag == Op.ERR:
        add_error(reply, await read_error(inbox, capabilities))
    elif tag == Op.CLOSE:
        reply.is_cursor_closed = True
    elif tag == Op.LODATA:
        data = await read_object_data(inbox, capabilities)
        reply.object_data = data if reply.object_data is None else reply.object_data.followed_by(data)
    elif tag == Op.BLOB:
        raise ProtocolError("a BYTE or TEXT value that was not requested")
    elif tag == _EXIT:
        reply.is_session_ended = True
    elif tag != _EOT:
        raise ProtocolError(f"unknown message {tag} from the server")


def add_error(reply: Reply, error: ServerError) -> None:
    """Keep the first error, and warnings up to their limit."""
    if error.sqlcode == _NO_ROWS:
        reply.no_rows = error
    elif not error.sqlcode:
        if len(reply.warnings) < MAX_WARNINGS:
            reply.warnings += (error,)
        else:
            reply.warnings_left_out += 1
    elif reply.error is None:
        reply.error = error


_COMMON_END: Final = frozenset({_CLOSE, _INSERTDONE, _DONE})

_new: Final[Callable[[Any, tuple[int, ...]], Any]] = vars(tuple)["__new__"]
"""Creates a NamedTuple from its values, in a third of the time."""


def try_read_ending(inbox: Inbox, capabilities: Capabilities, reply: Reply, tag: int) -> bool:
    """Read the usual ending, ``[CLOSE] [INSERTDONE] DONE COST [XACTSTAT] EOT``, if all of it is here.

    It saves a wait before each message; any other form is left to the readers.

    Source: observed: IDS 12.10 to 15; the order too
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
        reply.is_cursor_closed = True
    reply.done = _new(Done, (warnings, count, rowid, serial))
    reply.cost = _new(Cost, (estimate, cost))
    inbox.pos = at
    return True


# -- small messages, both directions ----------------------------------------------------------------------------------


async def _read_tupid(inbox: Inbox, capabilities: Capabilities) -> int:
    """SQ_TUPID: 4 row number (observed: IDS 12.10 to 15)."""
    await inbox.need(4)
    row_number = inbox.i32()
    if row_number < 0:
        raise ProtocolError(f"SQ_TUPID with row number {row_number}")
    return row_number


def put_tupid(outbox: Outbox, row_number: int) -> None:
    """SQ_TUPID."""
    outbox.u16(Op.TUPID)
    outbox.i32(row_number)


async def _read_protocols(inbox: Inbox, capabilities: Capabilities) -> bytes:
    """SQ_PROTOCOLS: 2 size · size bytes · pad to even; nine bytes from every release seen (observed)."""
    mask = await read_char(inbox)
    if not mask:
        raise ProtocolError("SQ_PROTOCOLS without a mask")
    return mask


async def _read_version(inbox: Inbox, capabilities: Capabilities) -> str:
    """SQ_VERSION: CHAR text (observed: JDBC accepts this answer to its isValid)."""
    return await read_name(inbox, capabilities)


def put_version(outbox: Outbox, capabilities: Capabilities, text: str) -> None:
    """SQ_VERSION, the answer."""
    outbox.u16(Op.VERSION)
    outbox.char(text.encode(capabilities.encoding, "replace"))


async def _read_dblist(inbox: Inbox, capabilities: Capabilities) -> tuple[str, ...]:
    """SQ_DBLIST: CHAR names up to an empty one (observed: 11.50)."""
    names: list[str] = []
    while name := await read_name(inbox, capabilities):
        names.append(name)
        if len(names) > MAX_COLUMNS:
            raise ProtocolError("SQ_DBLIST does not end")
    return tuple(names)


def put_dblist(outbox: Outbox, capabilities: Capabilities, names: Sequence[str]) -> None:
    """SQ_DBLIST, the answer."""
    outbox.u16(Op.DBLIST)
    for name in names:
        outbox.char(name.encode(capabilities.encoding, "replace"))
    outbox.u16(0)


def put_closed(outbox: Outbox) -> None:
    """SQ_CLOSE, from the server: it closed the cursor."""
    outbox.u16(Op.CLOSE)


def put_eot(outbox: Outbox) -> None:
    """SQ_EOT: the group ends."""
    outbox.u16(Op.EOT)


MESSAGE_READERS: Final[dict[int, tuple[str, Callable[[Inbox, Capabilities], Awaitable[object]]]]] = {
    Op.DESCRIBE: ("description", read_describe),
    Op.DONE: ("done", read_done),
    Op.TUPID: ("row_number", _read_tupid),
    Op.DBLIST: ("names", _read_dblist),
    Op.VERSION: ("version", _read_version),
    Op.COST: ("cost", read_cost),
    Op.INSERTDONE: ("serials", read_insertdone),
    Op.XACTSTAT: ("transaction", read_xactstat),
    Op.GETROUTINE: ("routine", read_routine),
    Op.FPROUTINE: ("returned", read_returned),
    Op.FPARAM: ("outputs", read_outputs),
    Op.FPDESCRIPTION: ("routine_parameters", read_routine_parameters),
    Op.IDESCRIBE: ("parameters", read_idescribe),
    Op.PROTOCOLS: ("mask", _read_protocols),
}
"""The field of `Reply` that a message fills, and its reader."""
