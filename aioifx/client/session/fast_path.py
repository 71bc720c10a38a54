"""Calls of the server's routines without SQL: the number of a routine, found once, and its calls. Never: a routine.

Callers hold the session's lock.

Source: observed: JDBC, lob.json; 14.10 with another client. The number stays valid for the session (observed).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from struct import pack
from typing import Final, NamedTuple, Protocol, TypeAlias, TypeVar

from aioifx.client.session.cleanup import Cleanup
from aioifx.client.session.conversation import Conversation
from aioifx.client.session.failures import raise_for
from aioifx.codecs.numbers import encode_int8
from aioifx.errors import DatabaseError, ProtocolError
from aioifx.sqltypes import TypeCode
from aioifx.wire import objects, requests, routines
from aioifx.wire.fields import BindEntry, put_entry
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply

T = TypeVar("T")

Results: TypeAlias = tuple[BindEntry, ...]
"""What a routine returned."""

_INT_PRECISION: Final = 0x0A00
_INT8_PRECISION: Final = 0x1300


def integer(value: int) -> BindEntry:
    """An INTEGER argument (observed: JDBC, lob.json); likewise the others."""
    return BindEntry(TypeCode.INTEGER, b"", b"", 0, _INT_PRECISION, pack(">i", value))


def int8(value: int) -> BindEntry:
    """An INT8 argument."""
    return BindEntry(TypeCode.INT8, b"", b"", 0, _INT8_PRECISION, encode_int8(value))


def lvarchar(text: bytes) -> BindEntry:
    """An LVARCHAR argument."""
    return BindEntry(TypeCode.LVARCHAR, b"", b"lvarchar", 0, 0, text)


def opaque(name: bytes, data: bytes) -> BindEntry:
    """An argument of the opaque type *name*."""
    return BindEntry(TypeCode.OPAQUE, b"", name, 0, 0, data)


class OpenObject(Protocol):
    """A large object with a descriptor at the server."""

    def forget(self) -> object:
        """Consider the object closed."""
        ...

    def close_later(self) -> None:
        """Close the object. Waits for nothing."""
        ...


class FastPath:
    """Routine calls of one session."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._routines: dict[bytes, objects.Routine] = {}
        self._deferred: dict[bytes, list[_QueuedCall]] = {}
        """Calls that wait for the look-up of their routine, which is deferred cleanup, too."""

    def forget(self) -> None:
        """Look every routine up again: another database was opened."""
        self._routines.clear()

    async def call(
        self,
        signature: bytes,
        *arguments: BindEntry,
        convert: Callable[[Results], T],
        on_orphan: Callable[[T], None] | None = None,
    ) -> T:
        """Call a routine, and return its converted results; one round trip, or two for the first call.

        Source: assumed: a call is interrupted like EXECUTE PROCEDURE (documented for that)

        Args:
            convert: raises ProtocolError, which ends the connection, if the results are not the routine's.
            on_orphan: called with the converted results if the wait was cancelled.

        Raises:
            DatabaseError: the routine does not exist, or failed.
        """
        routine = self._routines.get(signature) or await self._find(signature)
        outbox = Outbox()
        _put_call(outbox, routine, arguments)
        reply = await self._conversation.exchange(
            outbox,
            interruptible=True,
            on_success=partial(_check, convert),
            on_orphan=None if on_orphan is None else partial(_on_orphan, convert, on_orphan),
        )
        raise_for(reply)
        return convert(_returned(reply))

    async def describe_numbered(self, numbered: objects.Routine) -> Reply:
        """Describe a routine that the token of -9752 names by number. An error in the reply is not raised."""
        outbox = Outbox()
        routines.put_describe_routine(outbox, numbered)
        return await self._conversation.exchange(outbox, on_success=_check_described)

    async def call_numbered(
        self,
        numbered: objects.Routine,
        count: int,
        arguments: bytes | bytearray,
        parameters: int,
        on_lost: Callable[[DatabaseError], None],
    ) -> Reply:
        """Call such a routine: which of its parameters have values then, and these. Two round trips.

        An error in a reply is not raised.

        Args:
            count: the number of arguments.
            arguments: these as SQ_BIND.
            parameters: how many parameters the routine has.
            on_lost: called with the error if the reply to the call is lost.
        """
        outbox, call = Outbox(), Outbox()
        routines.put_find_numbered(outbox, self._conversation.capabilities, numbered)
        found = await self._conversation.exchange(outbox, on_success=_check_found)
        if found.routine is None:
            return found
        database, handle = found.routine
        objects.put_call_routine(call, objects.CallRoutine(database, handle, count, routines.BY_NUMBER))
        call.raw(arguments)
        routines.put_outputs_request(call, routines.Outputs())
        check = partial(_check_outputs, parameters)
        return await self._conversation.exchange(call, interruptible=True, on_success=check, on_lost=on_lost)

    def call_later(
        self, signature: bytes, *arguments: BindEntry, still_needed: Callable[[], bool] | None = None
    ) -> None:
        """Queue a call. Its results and its error are ignored. Calls of one routine look it up once.

        Args:
            still_needed: checked before the call is sent.
        """
        call = _QueuedCall(arguments, still_needed)
        if (routine := self._routines.get(signature)) is not None:
            self._conversation.dispatcher.defer(call.cleanup(routine))
        elif signature in self._deferred:
            self._deferred[signature].append(call)
        else:
            self._deferred[signature] = [call]
            self._conversation.dispatcher.defer(
                Cleanup(
                    partial(self._put_find, signature=signature),
                    partial(self._on_found, signature),
                    partial(self._must_find, signature),
                )
            )

    def _must_find(self, signature: bytes) -> bool:
        """Whether the look-up is still needed for the queued calls; otherwise they are sent, or dropped."""
        if signature not in self._routines and any(call.is_needed() for call in self._deferred[signature]):
            return True
        self._send_deferred(signature)
        return False

    def _on_found(self, signature: bytes, reply: Reply) -> None:
        if reply.routine is not None:
            self._routines[signature] = reply.routine
        self._send_deferred(signature)

    def _send_deferred(self, signature: bytes) -> None:
        """Send the queued calls before other cleanup; drop them if their routine is unknown."""
        calls, routine = self._deferred.pop(signature), self._routines.get(signature)
        if routine is not None:
            self._conversation.dispatcher.defer_first(*(call.cleanup(routine) for call in calls))

    async def _find(self, signature: bytes) -> objects.Routine:
        outbox = Outbox()
        self._put_find(outbox, signature)
        reply = await self._conversation.exchange(outbox, on_success=_check_found)
        raise_for(reply)
        assert reply.routine is not None
        self._routines[signature] = reply.routine
        return reply.routine

    def _put_find(self, outbox: Outbox, signature: bytes) -> None:
        objects.put_find_routine(outbox, self._conversation.capabilities, signature)


class _QueuedCall(NamedTuple):
    arguments: tuple[BindEntry, ...]
    still_needed: Callable[[], bool] | None

    def is_needed(self) -> bool:
        return self.still_needed is None or self.still_needed()

    def cleanup(self, routine: objects.Routine) -> Cleanup:
        put = partial(_put_call, routine=routine, arguments=self.arguments)
        return Cleanup(put, still_needed=self.still_needed)


def _put_call(outbox: Outbox, routine: objects.Routine, arguments: tuple[BindEntry, ...]) -> None:
    objects.put_call_routine(outbox, objects.CallRoutine(routine.database, routine.routine, len(arguments)))
    body = Outbox()
    body.u16(len(arguments))
    for entry in arguments:
        put_entry(body, entry)
    requests.put_bind(outbox, body.detach())


def _check(convert: Callable[[Results], object], reply: Reply) -> None:
    convert(_returned(reply))


def _on_orphan(convert: Callable[[Results], T], on_orphan: Callable[[T], None], reply: Reply) -> None:
    if reply.error is None:
        on_orphan(convert(_returned(reply)))


def _check_found(reply: Reply) -> None:
    """Raise ProtocolError unless the reply has the routine's number; that ends the connection."""
    if reply.routine is None:
        raise ProtocolError("the server did not answer SQ_GETROUTINE")


def _check_described(reply: Reply) -> None:
    if reply.routine_parameters is None:
        raise ProtocolError("the server did not answer SQ_FPDESCRIBE")


def _check_outputs(parameters: int, reply: Reply) -> None:
    """Likewise, unless it has a value for each OUT parameter."""
    outputs = reply.outputs
    if outputs is None:
        raise ProtocolError("the server did not answer SQ_FPARAM")
    if len(outputs) > parameters or sum(outputs) != len(_returned(reply)):
        raise ProtocolError("the routine returned other parameters than the server described")


def _returned(reply: Reply) -> Results:
    if reply.returned is None:
        raise ProtocolError("the server did not answer SQ_EXFPROUTINE")
    return reply.returned
