"""How a statement ended: SQ_DONE, SQ_COST, SQ_INSERTDONE, SQ_XACTSTAT, SQ_ERR, both directions. Never: a row."""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from aioifx.errors import ProtocolError
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.fields import int8_of, put_int8, read_block, read_name, take_int8
from aioifx.wire.inbox import Inbox
from aioifx.wire.opcodes import Op
from aioifx.wire.outbox import Outbox


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
    """SQ_ERR: codes, the place in the SQL text, and what belongs in the message."""

    sqlcode: int
    isamcode: int = 0
    offset: int = 0
    token: str = ""
    sqlstate: str = ""
    """Empty where the server sends none."""
    text: str = ""
    """The whole message, where the server sends one."""


INSERTDONE: Final = {False: Struct(">HhII"), True: Struct(">HhIIq")}
"""SQ_INSERTDONE without and with bit 54; see `read_insertdone`."""

DONE_COST: Final = {False: Struct(">HHiiiHiiH"), True: Struct(">HHqqiHiiH")}
"""SQ_DONE, SQ_COST and the next tag, without and with bit 70; see `read_done` and `read_cost`."""

XACTSTAT_EOT: Final = Struct(">3hH")
"""The rest of SQ_XACTSTAT, and SQ_EOT."""


def serials_at(capabilities: Capabilities, data: bytes | bytearray, pos: int) -> Serials:
    """The values of the whole SQ_INSERTDONE at *pos*."""
    _, sign, low, high, *bigserial = INSERTDONE[capabilities.bigint].unpack_from(data, pos)
    return Serials(int8_of(sign, low, high), *bigserial)


def serial_of(serial: int, large: Serials | None) -> int:
    """The value that an INSERT took, of any serial type; 0 if the table has no such column.

    The NULL of BIGINT counts as none; see the quirk null-serials.
    """
    if serial or large is None:
        return serial
    return large.serial8 if large.bigserial in (0, -(2**63)) else large.bigserial


async def read_done(inbox: Inbox, capabilities: Capabilities) -> Done:
    """SQ_DONE.

    Wire: 2 warnings · 4|8 rows · 4|8 row id · 4 serial
    Source: observed: IDS 12.10 to 15; with bit 70: JDBC, protocols15.json, which takes the last four bytes for the
    serial (objects15.json)
    """
    await inbox.need(22 if capabilities.long_rowid else 14)
    warnings = inbox.u16()
    if capabilities.long_rowid:
        done = Done(warnings, inbox.i64(), inbox.i64(), inbox.i32())
    else:
        done = Done(warnings, inbox.i32(), inbox.i32(), inbox.i32())
    if done.rows < 0:
        raise ProtocolError(f"SQ_DONE with {done.rows} rows")
    return done


def put_done(outbox: Outbox, capabilities: Capabilities, done: Done) -> None:
    """SQ_DONE; see `read_done`."""
    outbox.u16(Op.DONE)
    outbox.u16(done.warnings)
    if capabilities.long_rowid:
        outbox.i64(done.rows)
        outbox.i64(done.rowid)
    else:
        outbox.i32(done.rows)
        outbox.i32(done.rowid)
    outbox.i32(done.serial)


async def read_cost(inbox: Inbox, capabilities: Capabilities) -> Cost:
    """SQ_COST: 4 rows · 4 cost (observed: IDS 12.10 to 15)."""
    await inbox.need(8)
    return Cost(inbox.i32(), inbox.i32())


def put_cost(outbox: Outbox, cost: Cost) -> None:
    """SQ_COST."""
    outbox.u16(Op.COST)
    outbox.i32(cost.rows)
    outbox.i32(cost.cost)


async def read_insertdone(inbox: Inbox, capabilities: Capabilities) -> Serials:
    """SQ_INSERTDONE: 10 serial8 as INT8 · with bit 54: 8 bigserial (observed: 11.50 to 15)."""
    await inbox.need(18 if capabilities.bigint else 10)
    return Serials(take_int8(inbox), inbox.i64() if capabilities.bigint else 0)


def put_insertdone(outbox: Outbox, capabilities: Capabilities, serials: Serials) -> None:
    """SQ_INSERTDONE; see `read_insertdone`."""
    outbox.u16(Op.INSERTDONE)
    put_int8(outbox, serials.serial8)
    if capabilities.bigint:
        outbox.i64(serials.bigserial)


async def read_xactstat(inbox: Inbox, capabilities: Capabilities) -> TransactionState:
    """SQ_XACTSTAT: 2 event · 2 new level · 2 old level (observed: 12.10 to 15)."""
    await inbox.need(6)
    return TransactionState(inbox.i16(), inbox.i16(), inbox.i16())


def put_xactstat(outbox: Outbox, state: TransactionState) -> None:
    """SQ_XACTSTAT."""
    outbox.u16(Op.XACTSTAT)
    outbox.i16(state.event)
    outbox.i16(state.level)
    outbox.i16(state.previous)


_WITHOUT_TOKEN: Final = -368
_WITH_TEXT: Final = frozenset({0, -937})


async def read_error(inbox: Inbox, capabilities: Capabilities) -> ServerError:
    """SQ_ERR.

    Wire: 2 sqlcode · 2 isam · 2|4 offset · CHAR token; -368 ends with the offset; 0 and -937 go on after the token: 5
    SQLSTATE · pad · CHAR text
    Source: observed: IDS 12.10 to 15 (int offset), 11.50 (short); JDBC, errors15.json: -368, -937, 0 and 100. JDBC
    reads all other codes from -1 to -30000 in the ordinary layout. That -937 is raised by routines in C, and 100 means
    "no rows", is documented. Assumed: servers send the layouts that JDBC reads.
    """
    await inbox.need(8 if capabilities.long_text else 6)
    sqlcode, isamcode = inbox.i16(), inbox.i16()
    offset = inbox.i32() if capabilities.long_text else inbox.i16()
    token = sqlstate = text = ""
    if sqlcode != _WITHOUT_TOKEN:
        token = await read_name(inbox, capabilities)
    if sqlcode in _WITH_TEXT:
        sqlstate = (await read_block(inbox, 5)).decode("latin-1")
        text = await read_name(inbox, capabilities)
    return ServerError(sqlcode, isamcode, offset, token, sqlstate, text)


def put_error(outbox: Outbox, capabilities: Capabilities, error: ServerError) -> None:
    """SQ_ERR; see `read_error`."""
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
