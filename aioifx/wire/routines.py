"""Messages for calls of routines with OUT and INOUT parameters, both directions. Never: their SQL, a value's meaning.

A server refuses to prepare EXECUTE of such a routine (-9752). The token of that error, ``database:number:``, names the
routine for these messages; the last ones surround SQ_BIND and SQ_FPROUTINE of its call.

Evidence: observed: JDBC 15 sends these requests after such an error, and accepts these replies (outputs15.json).
Assumed: servers send the error and the replies so, since JDBC has no other way to the values.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from aioifx.errors import ProtocolError
from aioifx.sqltypes import SqlType
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.descriptions import put_type, read_type
from aioifx.wire.fields import put_long_char, read_char, read_long_char, read_name
from aioifx.wire.inbox import Inbox
from aioifx.wire.objects import CallRoutine, FindRoutine, Routine, read_find_routine
from aioifx.wire.opcodes import MAX_COLUMNS, Op
from aioifx.wire.outbox import Outbox

NEEDS_VARIABLE: Final = -9752
"""An argument for an OUT parameter is not a variable (documented)."""

BY_NUMBER: Final = 1
"""The flag of SQ_GETROUTINE with a number instead of a signature, and of SQ_EXFPROUTINE with OUT parameters."""

_TOKEN: Final = re.compile(r"([^:]*):(\d{1,10}):")
_STATE: Final = bytes(12)
"""The state of an iterator (observed: 0; JDBC sends back what it got)."""
_AFTER_STATE: Final = bytes(18)
_BEFORE_MODE: Final = bytes(15)
_FPROUTINE: Final = Op.FPROUTINE.to_bytes(2, "big")


class RoutineParameter(NamedTuple):
    """One parameter of a routine."""

    mode: int
    """1 IN, 2 INOUT, 4 OUT, as in sysproccolumns (assumed: JDBC accepts any)."""
    name: str
    type: SqlType


class DescribeRoutine(NamedTuple):
    """SQ_FPDESCRIBE: requests the parameters of a routine."""

    routine: Routine


class FindNumbered(NamedTuple):
    """SQ_GETROUTINE with a number: requests the handle of a routine."""

    routine: Routine


class Outputs(NamedTuple):
    """SQ_FPARAM, the request: the values of OUT parameters are requested, and perhaps which parameters these are."""

    described: bool = True


RoutineRequest: TypeAlias = DescribeRoutine | FindNumbered | Outputs


def routine_token(routine: Routine) -> str:
    """The token of -9752."""
    return f"{routine.database.decode('ascii', 'replace')}:{routine.routine}:"


def routine_in(token: str) -> Routine | None:
    """The routine in a token of -9752; None if it names none."""
    found = _TOKEN.match(token)
    return None if found is None else Routine(found[1].encode("ascii", "replace"), int(found[2]))


# -- requests ---------------------------------------------------------------------------------------------------------


def put_describe_routine(outbox: Outbox, routine: Routine) -> None:
    """SQ_FPDESCRIBE: 2 opcode · 1 flag · CHAR database · 4 number · 2 SQ_EOT, besides that of the group."""
    outbox.u16(Op.FPDESCRIBE)
    outbox.u8(BY_NUMBER)
    outbox.char(routine.database)
    outbox.i32(routine.routine)
    outbox.u16(Op.EOT)


def put_find_numbered(outbox: Outbox, capabilities: Capabilities, routine: Routine) -> None:
    """SQ_GETROUTINE: 2 opcode · 1 flag · 4 size (2 without bit 62) · database · pad · 4 number · 2 flag."""
    outbox.u16(Op.GETROUTINE)
    outbox.u8(BY_NUMBER)
    put_long_char(outbox, capabilities, routine.database)
    outbox.i32(routine.routine)
    outbox.i16(1)


def put_outputs_request(outbox: Outbox, request: Outputs) -> None:
    """SQ_FPARAM, after SQ_BIND: 2 opcode · 2 flag · 12 state · 1 whether the reply has the parameters' modes."""
    outbox.u16(Op.FPARAM)
    outbox.i16(1)
    outbox.raw(_STATE)
    outbox.u8(request.described)


async def _read_get_routine(inbox: Inbox, capabilities: Capabilities) -> FindNumbered | FindRoutine:
    await inbox.need(1)
    if inbox.data[inbox.pos] != BY_NUMBER:
        return await read_find_routine(inbox, capabilities)
    inbox.skip(1)
    database = await read_long_char(inbox, capabilities)
    await inbox.need(6)
    number = inbox.i32()
    inbox.skip(2)
    return FindNumbered(Routine(database, number))


async def _read_describe_routine(inbox: Inbox, capabilities: Capabilities) -> DescribeRoutine:
    await inbox.need(1)
    inbox.skip(1)
    database = await read_char(inbox)
    await inbox.need(6)
    number = inbox.i32()
    if inbox.u16() != Op.EOT:
        raise ProtocolError("SQ_FPDESCRIBE without its SQ_EOT")
    return DescribeRoutine(Routine(database, number))


async def _read_outputs_request(inbox: Inbox, capabilities: Capabilities) -> Outputs:
    await inbox.need(15)
    inbox.skip(14)
    return Outputs(bool(inbox.u8()))


REQUEST_READERS: Final[
    dict[int, Callable[[Inbox, Capabilities], Awaitable[RoutineRequest | FindRoutine]]]
] = {
    Op.GETROUTINE: _read_get_routine,
    Op.FPDESCRIBE: _read_describe_routine,
    Op.FPARAM: _read_outputs_request,
}
"""Readers of the part after each tag of a client's messages."""


# -- replies ----------------------------------------------------------------------------------------------------------


def put_routine_parameters(
    outbox: Outbox, capabilities: Capabilities, parameters: Sequence[RoutineParameter]
) -> None:
    """SQ_FPDESCRIPTION.

    Wire: 2 opcode · 2 count · 2 whether named · each [1 mode · CHAR name] · type as in SQ_DESCRIBE · 2 zero
    """
    outbox.u16(Op.FPDESCRIPTION)
    outbox.i16(len(parameters))
    outbox.i16(1)
    for mode, name, sqltype in parameters:
        outbox.u8(mode)
        outbox.char(name.encode(capabilities.encoding, "replace"))
        put_type(outbox, capabilities, sqltype)
        outbox.i16(0)


async def read_routine_parameters(inbox: Inbox, capabilities: Capabilities) -> tuple[RoutineParameter, ...]:
    """SQ_FPDESCRIPTION, after its tag; see `put_routine_parameters`."""
    await inbox.need(4)
    count, is_named = _checked(inbox.i16()), inbox.i16() == 1
    parameters: list[RoutineParameter] = []
    for _ in range(count):
        mode, name = await _read_mode(inbox, capabilities) if is_named else (0, "")
        sqltype = await read_type(inbox, capabilities)
        await inbox.need(2)
        inbox.skip(2)
        parameters.append(RoutineParameter(mode, name, sqltype))
    return tuple(parameters)


def put_outputs(outbox: Outbox, outputs: Sequence[bool] | None) -> None:
    """SQ_FPARAM, the reply, before the values in SQ_FPROUTINE.

    Wire: 2 opcode · 2 flag · 12 state · 1 flag · if requested: 18 zero · 4 count · 2 whether named · each [1 mode ·
    CHAR name] · 15 zero · 2 whether it has a value

    Args:
        outputs: for each parameter, whether it is OUT or INOUT; None if not requested.
    """
    outbox.u16(Op.FPARAM)
    outbox.i16(1)
    outbox.raw(_STATE)
    outbox.u8(1)  # JDBC then requests the modes only once for a statement
    if outputs is None:
        return
    outbox.raw(_AFTER_STATE)
    outbox.i32(len(outputs))
    outbox.i16(0)
    for has_value in outputs:
        outbox.raw(_BEFORE_MODE)
        outbox.i16(has_value)


async def read_outputs(inbox: Inbox, capabilities: Capabilities) -> tuple[bool, ...] | None:
    """SQ_FPARAM, the reply, after its tag; None if SQ_FPROUTINE follows it without modes. See `put_outputs`."""
    state = 2 + len(_STATE) + 1
    await inbox.need(state + 2)
    inbox.skip(state)
    if inbox.data.startswith(_FPROUTINE, inbox.pos):
        return None
    await inbox.need(len(_AFTER_STATE) + 6)
    inbox.skip(len(_AFTER_STATE))
    count, is_named = _checked(inbox.i32()), inbox.i16() == 1
    outputs: list[bool] = []
    for _ in range(count):
        if is_named:
            await _read_mode(inbox, capabilities)
        await inbox.need(len(_BEFORE_MODE) + 2)
        inbox.skip(len(_BEFORE_MODE))
        outputs.append(inbox.i16() == 1)
    return tuple(outputs)


async def _read_mode(inbox: Inbox, capabilities: Capabilities) -> tuple[int, str]:
    await inbox.need(1)
    mode = inbox.u8()
    return mode, await read_name(inbox, capabilities)


def _checked(count: int) -> int:
    if not 0 <= count <= MAX_COLUMNS:
        raise ProtocolError(f"a routine with {count} parameters")
    return count


def has_outputs(call: CallRoutine) -> bool:
    """Whether SQ_FPARAM follows the arguments of a call."""
    return call.flag == BY_NUMBER
