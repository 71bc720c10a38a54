"""Client -> server messages about the session: transactions, databases, environment. Never: a statement."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Final, NamedTuple, TypeAlias

from aioifx.errors import ProtocolError
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.fields import read_char
from aioifx.wire.inbox import Inbox, padded
from aioifx.wire.opcodes import MAX_COLUMNS, Op
from aioifx.wire.outbox import Outbox

_INFO_ENVIRONMENT: Final = 6
_MAX_INFO: Final = 1 << 15


# -- transactions -----------------------------------------------------------------------------------------------------


class Begin(NamedTuple):
    pass


def put_begin(outbox: Outbox) -> None:
    """SQ_BEGIN."""
    outbox.u16(Op.BEGIN)


class Commit(NamedTuple):
    pass


def put_commit(outbox: Outbox) -> None:
    """SQ_CMMTWORK."""
    outbox.u16(Op.CMMTWORK)


class Rollback(NamedTuple):
    flag: int = 0


def put_rollback(outbox: Outbox) -> None:
    """SQ_RBWORK; without its short the server waits for more (observed: 12.10 to 15)."""
    outbox.u16(Op.RBWORK)
    outbox.i16(0)


async def _read_rollback(inbox: Inbox, capabilities: Capabilities) -> Rollback:
    await inbox.need(2)
    return Rollback(inbox.i16())


class SetSavepoint(NamedTuple):
    name: bytes
    is_unique: bool = False


def put_set_savepoint(outbox: Outbox, name: bytes) -> None:
    """SQ_SQLISETSVPT: CHAR name · 2 unique, 0 so that a name used again moves (observed: JDBC, transactions.json)."""
    outbox.u16(Op.SETSVPT)
    outbox.char(name)
    outbox.i16(0)


async def _read_set_savepoint(inbox: Inbox, capabilities: Capabilities) -> SetSavepoint:
    name = await read_char(inbox)
    await inbox.need(2)
    return SetSavepoint(name, bool(inbox.i16()))


class ReleaseSavepoint(NamedTuple):
    name: bytes


def put_release_savepoint(outbox: Outbox, name: bytes) -> None:
    """SQ_SQLIRELSVPT: CHAR name (observed: JDBC, transactions.json)."""
    outbox.u16(Op.RELSVPT)
    outbox.char(name)


class RollbackSavepoint(NamedTuple):
    name: bytes


def put_rollback_savepoint(outbox: Outbox, name: bytes) -> None:
    """SQ_SQLIRBACKSVPT: CHAR name (observed: JDBC, transactions.json)."""
    outbox.u16(Op.RBSVPT)
    outbox.char(name)


# -- databases --------------------------------------------------------------------------------------------------------


class DbOpen(NamedTuple):
    name: bytes
    mode: int = 0


def put_dbopen(outbox: Outbox, name: bytes) -> None:
    """SQ_DBOPEN (observed: JDBC, login.json)."""
    outbox.u16(Op.DBOPEN)
    outbox.char(name)
    outbox.i16(0)


async def _read_dbopen(inbox: Inbox, capabilities: Capabilities) -> DbOpen:
    name = await read_char(inbox)
    await inbox.need(2)
    return DbOpen(name, inbox.i16())


class DbClose(NamedTuple):
    pass


class DbList(NamedTuple):
    pass


# -- environment and capabilities -------------------------------------------------------------------------------------


class Info(NamedTuple):
    environment: tuple[tuple[bytes, bytes], ...]


def put_info(outbox: Outbox, environment: Iterable[tuple[bytes, bytes]]) -> None:
    """SQ_INFO with the session's environment.

    Wire: 2 opcode · 2 six · 2 size · 2 longest name · 2 longest value · pairs of CHAR · 4 zero
    Source: observed: JDBC, session.json; session_init_requests.json
    """
    pairs = list(environment)
    outbox.u16(Op.INFO)
    outbox.u16(_INFO_ENVIRONMENT)
    outbox.u16(6 + sum(4 + padded(len(name)) + padded(len(value)) for name, value in pairs))
    outbox.u16(max((padded(len(name)) for name, _ in pairs), default=0))
    outbox.u16(max((padded(len(value)) for _, value in pairs), default=0))
    for name, value in pairs:
        outbox.char(name)
        outbox.char(value)
    outbox.i32(0)


async def _read_info(inbox: Inbox, capabilities: Capabilities) -> Info:
    await inbox.need(8)
    kind, size = inbox.u16(), inbox.u16()
    inbox.skip(4)  # the longest name and value, which a reader does not need
    if kind != _INFO_ENVIRONMENT or size > _MAX_INFO:
        raise ProtocolError(f"SQ_INFO {kind} of {size} bytes")
    pairs: list[tuple[bytes, bytes]] = []
    while name := await read_char(inbox):
        pairs.append((name, await read_char(inbox)))
        if len(pairs) > MAX_COLUMNS:
            raise ProtocolError("SQ_INFO does not end")
    await inbox.need(2)
    inbox.skip(2)  # the second half of the closing zero
    return Info(tuple(pairs))


class Protocols(NamedTuple):
    mask: bytes


def put_protocols(outbox: Outbox, mask: bytes) -> None:
    """SQ_PROTOCOLS: offer of, or answer with, capability bits (observed: JDBC; masks of 12.10, 14.10 and 15)."""
    outbox.u16(Op.PROTOCOLS)
    outbox.char(mask)


class Ack(NamedTuple):
    pass


def put_ack(outbox: Outbox) -> None:
    """SQ_ACK: the client is ready for PAM challenges (observed: JDBC, pam15.json)."""
    outbox.u16(Op.ACK)


class PamResponse(NamedTuple):
    answer: bytes
    """Not shown by repr."""

    def __repr__(self) -> str:
        return "PamResponse()"


def put_response(outbox: Outbox, answer: bytes) -> None:
    """SQ_RESPONSE: CHAR answer to a PAM challenge (observed: JDBC, pam15.json)."""
    outbox.u16(Op.RESPONSE)
    outbox.char(answer)


class Version(NamedTuple):
    pass


def put_version(outbox: Outbox) -> None:
    """SQ_VERSION: the cheapest request (observed: JDBC's isValid)."""
    outbox.u16(Op.VERSION)


class Exit(NamedTuple):
    pass


def put_exit(outbox: Outbox) -> None:
    """SQ_EXIT; not closed by SQ_EOT (observed: JDBC, login.json)."""
    outbox.u16(Op.EXIT)


SessionRequest: TypeAlias = (
    Begin | Commit | Rollback | SetSavepoint | ReleaseSavepoint | RollbackSavepoint
    | DbOpen | DbClose | DbList | Info | Protocols | Ack | PamResponse | Version | Exit
)  # fmt: skip

_Reader: TypeAlias = Callable[[Inbox, Capabilities], Awaitable[SessionRequest]]

BARE: Final[dict[int, SessionRequest]] = {
    Op.ACK: Ack(),
    Op.BEGIN: Begin(),
    Op.CMMTWORK: Commit(),
    Op.DBCLOSE: DbClose(),
    Op.DBLIST: DbList(),
    Op.VERSION: Version(),
}
"""The messages without a body."""


def _char_reader(kind: Callable[[bytes], SessionRequest]) -> _Reader:
    """The reader of a message whose body is one CHAR."""

    async def read(inbox: Inbox, capabilities: Capabilities) -> SessionRequest:
        return kind(await read_char(inbox))

    return read


REQUEST_READERS: Final[dict[int, _Reader]] = {
    Op.RBWORK: _read_rollback,
    Op.SETSVPT: _read_set_savepoint,
    Op.RELSVPT: _char_reader(ReleaseSavepoint),
    Op.RBSVPT: _char_reader(RollbackSavepoint),
    Op.DBOPEN: _read_dbopen,
    Op.INFO: _read_info,
    Op.PROTOCOLS: _char_reader(Protocols),
    Op.RESPONSE: _char_reader(PamResponse),
}
"""The readers of the other messages, each called after its tag."""
