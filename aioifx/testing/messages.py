"""Replies of a server as bytes, for scripts of `aioifx.testing.script`. Never: the request that a reply answers."""

from __future__ import annotations

from collections.abc import Callable
from struct import pack
from typing import Any, Final

from aioifx.sqltypes import Column, SqlType
from aioifx.wire import completion, descriptions, session_requests
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.completion import Cost, Done, Serials, ServerError
from aioifx.wire.descriptions import Description
from aioifx.wire.handshake import LoginReply, put_login_reply
from aioifx.wire.opcodes import LoginType, StatementType
from aioifx.wire.outbox import Outbox

DIALECT: Final = Capabilities()
"""The layouts in force with 12.10 and 14.10."""

LOGGED: Final = 0x15
"""Warnings of the SQ_DONE that opens a logged database (observed: 12.10 to 15)."""
UNLOGGED: Final = 0x14
"""The same, of a database without a log (observed)."""
ANSI: Final = 0x17
"""The same, of an ANSI database (documented)."""


EOT: Final = b"\0\x0c"
"""SQ_EOT, the end of each reply."""
CLOSED: Final = b"\0\x0a"
"""Part of the reply to the last fetch if the server closes the cursor by itself (OPTOFC)."""
EXIT: Final = b"\0\x38"
"""SQ_EXIT, which the client sends and the server repeats."""


def _built(*steps: Callable[[Outbox], None]) -> bytes:
    outbox = Outbox()
    for step in steps:
        step(outbox)
    return outbox.detach()


def done(
    rows: int = 0, *, warnings: int = 0, rowid: int = 0, serial: int = 0, capabilities: Capabilities = DIALECT
) -> bytes:
    """DONE, COST."""
    ended = Done(warnings, rows, rowid, serial)
    return _built(
        lambda outbox: completion.put_done(outbox, capabilities, ended),
        lambda outbox: completion.put_cost(outbox, Cost(1, 1)),
    )


def insert_done(serial8: int = 0, bigserial: int = 0) -> bytes:
    """INSERTDONE."""
    return _built(
        lambda outbox: completion.put_insertdone(outbox, Capabilities(), Serials(serial8, bigserial))
    )


def error(
    sqlcode: int, isamcode: int = 0, *, offset: int = 0, token: str = "", sqlstate: str = "", text: str = ""
) -> bytes:
    """ERR, without the EOT after it."""
    failure = ServerError(sqlcode, isamcode, offset, token, sqlstate, text)
    return _built(lambda outbox: completion.put_error(outbox, Capabilities(), failure))


def column(name: str, code: int, length: int = 0, **more: Any) -> Column:
    """A column; *more* are fields of `SqlType`."""
    return Column(name, SqlType(code, length, **more))


def described(
    statement_id: int,
    *columns: Column,
    kind: int = StatementType.SELECT,
    row_size: int = 4,
    warnings: int = 0,
    capabilities: Capabilities = DIALECT,
) -> bytes:
    """The complete reply to PREPARE."""
    description = Description(kind, statement_id, columns, row_size, 1)
    describe = _built(lambda outbox: descriptions.put_describe(outbox, capabilities, description))
    return describe + done(warnings=warnings, capabilities=capabilities) + EOT


def executed(statement_id: int, kind: int, rows: int = 0) -> bytes:
    """The complete reply to COMMAND."""
    return described(statement_id, kind=kind).removesuffix(done() + EOT) + done(rows) + EOT


def takes(*types: SqlType) -> bytes:
    """The complete reply to CIDESCRIBE."""
    return _built(lambda outbox: descriptions.put_idescribe(outbox, Capabilities(), types)) + EOT


def ints(*values: int) -> bytes:
    """A row with one INTEGER for each value."""
    return b"".join(pack(">hhii", 14, 0, 4, value) for value in values)


def raw_row(payload: bytes) -> bytes:
    """A row, from its bytes."""
    return pack(">hhi", 14, 0, len(payload)) + payload + b"\0" * (len(payload) & 1)


def accepted(**fields: Any) -> bytes:
    """A login reply; it accepts unless *fields* say otherwise."""
    usual = LoginReply(LoginType.ACCEPT, b"Scripted Server Version 15.0", b"AAA#B000000", b"ol_script")
    reply: LoginReply = usual._replace(**fields)
    return _built(lambda outbox: put_login_reply(outbox, reply))


def agreed(mask: str = "bdbe9ffe7fb7ffeff8") -> bytes:
    """The reply to PROTOCOLS; the mask is 14.10's."""
    return _built(lambda outbox: session_requests.put_protocols(outbox, bytes.fromhex(mask))) + EOT


def opened(warnings: int = LOGGED) -> bytes:
    """The reply to DBOPEN."""
    return done(warnings=warnings) + EOT
