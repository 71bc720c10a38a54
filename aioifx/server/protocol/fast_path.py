"""The fast path: routines for smart large objects, called by number without SQL. Never: SQL, the bytes of an object.

Source: observed: JDBC, lob.json. Signatures are found by their names, whatever the types are called: JDBC writes `int`
and `integer`, with and without blanks. Results that no client was seen to use are assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import pack
from typing import Final, TypeAlias

from aioifx.codecs.large_objects import Locator
from aioifx.codecs.numbers import decode_int8, encode_int8
from aioifx.server.protocol.context import Handler, SessionContext
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.runtime.large_objects import locator_of, object_number
from aioifx.sqltypes import TypeCode
from aioifx.wire import objects
from aioifx.wire.fields import BindEntry
from aioifx.wire.routines import has_outputs

Results: TypeAlias = list[BindEntry]
_Routine: TypeAlias = Callable[..., Results]

_NO_ROUTINE: Final = -674
_BAD_ARGUMENTS: Final = -9810
_STATUS_SIZE: Final = 644
_SIZE_AT: Final = 4


def find_routine(context: SessionContext, message: objects.FindRoutine) -> None:
    """SQ_GETROUTINE: the number of a routine, the same in every session.

    Raises:
        SqlError: -674, no such routine.
    """
    signature = context.text(message.signature)
    name = signature.partition("(")[0].rpartition(" ")[2].rpartition(".")[2].lower()
    if name not in _ROUTINES:
        raise SqlError(_NO_ROUTINE, token=name)
    database = context.engine.database
    owner = database.name.encode("ascii") if database is not None else b""
    objects.put_routine(context.outbox, objects.Routine(owner, _NAMES.index(name) + 1))


def expect_arguments(context: SessionContext, message: objects.CallRoutine) -> None:
    """SQ_EXFPROUTINE: an SQ_BIND with the arguments follows.

    Raises:
        SqlError: -674, no such number.
    """
    if not (1 <= message.routine <= len(_NAMES) or has_outputs(message)):
        raise SqlError(_NO_ROUTINE, token=str(message.routine))
    context.calling, context.arguments = message, ()


def call_routine(context: SessionContext, arguments: Sequence[BindEntry]) -> None:
    """Call the routine of the last SQ_EXFPROUTINE; one with OUT parameters is called when SQ_FPARAM has come.

    Raises:
        SqlError: -674, wrong number of arguments; -9810, a bad descriptor or locator; others.
    """
    call = context.calling
    assert call is not None
    if has_outputs(call):
        context.arguments = arguments
        return
    context.calling = None
    name = _NAMES[call.routine - 1]
    count, routine = _ROUTINES[name]
    if len(arguments) != count:
        raise SqlError(_NO_ROUTINE, token=name)
    with context.engine.routine_call():
        returned = routine(context, *arguments)
    objects.put_returned(context.outbox, returned)


# -- the routines ------------------------------------------------------------------------------------------------------


def _column_storage(context: SessionContext, column: BindEntry, specification: BindEntry) -> Results:
    """The storage of a column: that of the argument, since there is one kind of storage."""
    return [specification]


def _create(
    context: SessionContext, specification: BindEntry, mode: BindEntry, locator: BindEntry
) -> Results:
    opened = context.engine.objects
    number = opened.create()
    descriptor = opened.open(number, _integer_of(mode))
    return [_opaque(b"blob", locator_of(number).data), _integer(descriptor)]


def _open(context: SessionContext, locator: BindEntry, mode: BindEntry) -> Results:
    return [_integer(context.engine.objects.open(_object_of(locator), _integer_of(mode)))]


def _close(context: SessionContext, descriptor: BindEntry) -> Results:
    context.engine.objects.close(_integer_of(descriptor))
    return [_integer(0)]


def _seek(
    context: SessionContext, descriptor: BindEntry, offset: BindEntry, whence: BindEntry, _: BindEntry
) -> Results:
    position = context.engine.objects.seek(_integer_of(descriptor), _int8_of(offset), _integer_of(whence))
    return [_int8(position)]


def _tell(context: SessionContext, descriptor: BindEntry, *_: BindEntry) -> Results:
    return [_int8(context.engine.objects.tell(_integer_of(descriptor)))]


def _stat(context: SessionContext, descriptor: BindEntry, status: BindEntry) -> Results:
    """The status, with the size at offset 4: low half, high half, sign (observed: JDBC reads it there)."""
    size = encode_int8(context.engine.objects.size(_integer_of(descriptor)))
    data = bytearray(_STATUS_SIZE)
    data[_SIZE_AT : _SIZE_AT + 10] = size[2:] + size[:2]
    return [_opaque(b"ifx_lo_stat", bytes(data))]


def _truncate(context: SessionContext, descriptor: BindEntry, size: BindEntry) -> Results:
    context.engine.objects.truncate(_integer_of(descriptor), _int8_of(size))
    return [_integer(0)]


def _release(context: SessionContext, locator: BindEntry) -> Results:
    context.engine.objects.release(_object_of(locator))
    return [_integer(0)]


_ROUTINES: Final[dict[str, tuple[int, _Routine]]] = {
    "ifx_lo_col_sbinfo": (2, _column_storage),
    "ifx_lo_create": (3, _create),
    "ifx_lo_open": (2, _open),
    "ifx_lo_close": (1, _close),
    "ifx_lo_seek": (4, _seek),
    "ifx_lo_tell": (2, _tell),
    "ifx_lo_stat": (2, _stat),
    "ifx_lo_truncate": (2, _truncate),
    "ifx_lo_release": (1, _release),
}
"""Number of arguments, and the function."""

_NAMES: Final = tuple(_ROUTINES)


# -- arguments and results ---------------------------------------------------------------------------------------------


def _integer_of(entry: BindEntry) -> int:
    if entry.indicator == -1 or len(entry.data) not in (2, 4):
        raise SqlError(_BAD_ARGUMENTS)
    return int.from_bytes(entry.data, "big", signed=True)


def _int8_of(entry: BindEntry) -> int:
    """An INT8, or another integer."""
    if entry.code == TypeCode.INT8 and entry.indicator != -1:
        return decode_int8(entry.data) or 0
    return _integer_of(entry)


def _object_of(entry: BindEntry) -> int:
    return object_number(Locator(entry.data))


def _integer(value: int) -> BindEntry:
    return BindEntry(TypeCode.INTEGER, b"", b"", 0, 0, pack(">i", value))


def _int8(value: int) -> BindEntry:
    return BindEntry(TypeCode.INT8, b"", b"", 0, 0, encode_int8(value))


def _opaque(name: bytes, data: bytes) -> BindEntry:
    return BindEntry(TypeCode.OPAQUE, b"", name, 0, 0, data)


HANDLERS: Final[dict[type, Handler]] = {
    objects.FindRoutine: find_routine,
    objects.CallRoutine: expect_arguments,
}
