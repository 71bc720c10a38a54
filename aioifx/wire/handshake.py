"""Login messages, both directions. Never: the source of a password.

Evidence: the request has exactly the bytes that JDBC 15 sends (observed: JDBC; accepted by 11.50 to 15). The reply is
as sent by IDS 12.10 and 15 and GBase 8s (observed: captures of three servers).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from aioifx.errors import ConnectError, ConnectionLost, ProtocolError
from aioifx.wire.inbox import Inbox
from aioifx.wire.opcodes import LoginBlock, LoginType
from aioifx.wire.outbox import Outbox

_FAMILY: Final = 0x3C  # protocol family 6.00 (observed)
_FAMILIES: Final = frozenset({0x3C, 0x3D})
_BLOCK_SIZE: Final = 0x3D  # occurs three times in a login; the same from every client (observed)
PROTOCOL_LEVEL: Final = 0x13C
"""Cap_1, which a server of the same level echoes (observed: 12.10 to 15, GBase 8s; an 11.50 answered 307)."""

_CONNECT: Final = 11
_CONNECT_OPTIONS: Final = 3
_REPLY_FLAGS: Final = 0x1000  # in every accept seen; meaning unknown (observed)
_LOGIN_WARNINGS: Final = 0x14
_MIN_LOGIN: Final = 24


class LoginRequest(NamedTuple):
    """The contents of a login request. Text is bytes, because its code set is not known yet."""

    user: bytes
    password: bytes
    """Not shown by repr."""
    server: bytes
    environment: tuple[tuple[bytes, bytes], ...] = ()
    process_id: int = 0
    thread_id: int = 0
    host: bytes = b""
    directory: bytes = b""
    application: bytes = b""
    database: bytes = b""
    """Always empty in aioifx's logins: with a name, the later SQ_DBOPEN fails with -759 (observed)."""

    def __repr__(self) -> str:
        return f"LoginRequest(user={self.user!r}, server={self.server!r}, host={self.host!r})"


class LoginFrame(NamedTuple):
    """A login request in bytes, without its size and its password."""

    before_password: bytes
    after_password: bytes


class LoginReply(NamedTuple):
    """The contents of a login reply."""

    type: int
    version: bytes = b""
    serial: bytes = b""
    server: bytes = b""
    """The server's DBSERVERNAME; after -761 the name that the login should have had."""
    sqlcode: int = 0
    oserror: int = 0
    warnings: int = 0
    redirect: bytes | None = None
    level: int = PROTOCOL_LEVEL
    """Cap_1."""


# -- request ----------------------------------------------------------------------------------------------------------


def put_login(outbox: Outbox, frame: LoginFrame, password: bytes) -> None:
    """The login request, binary form.

    Wire: 2 size of all · 1 type · 1 family · 2 options · blocks 100, 101, 108, 104, 106, 107, 116 · 127
    Source: observed: JDBC, login.json; wire.md section 2.1
    """
    before, after = frame
    size = len(password) + 1 if password else 0  # counts the closing NUL
    outbox.u16(2 + len(before) + 2 + size + len(after))
    outbox.raw(before)
    if password:
        outbox.login_text(password)
    else:
        outbox.u16(0)
    outbox.raw(after)


def login_frame(login: LoginRequest) -> LoginFrame:
    """The request without its size and its password: the same bytes for each connection of one client to one server."""
    outbox = Outbox()
    outbox.u8(LoginType.REQUEST)
    outbox.u8(_FAMILY)
    outbox.u16(0)
    outbox.u16(LoginBlock.ASSOCIATION)
    outbox.u16(LoginBlock.BINARY)
    outbox.i32(_BLOCK_SIZE)
    outbox.login_text(b"IEEEM")  # the float format
    outbox.u16(LoginBlock.PARAMETERS)
    outbox.fixed(b"sqlexec", 12)
    outbox.login_text(b"9.280")
    outbox.login_text(b"RDS#R000000")
    outbox.login_text(b"sqli")
    outbox.i32(PROTOCOL_LEVEL)
    outbox.i32(0)
    outbox.i32(0)
    outbox.u16(1)
    outbox.login_text(login.user)
    head = outbox.detach()
    outbox.fixed(b"ol", 8)
    outbox.i32(_BLOCK_SIZE)
    outbox.fixed(b"tlitcp", 8)
    outbox.i32(1)
    outbox.u16(LoginBlock.INITIALISE)
    outbox.u16(_CONNECT)
    outbox.i32(_CONNECT_OPTIONS)
    outbox.login_text(login.server)
    if login.database:
        outbox.login_text(login.database)
    else:
        outbox.u16(0)
    outbox.raw(bytes(8))
    outbox.u16(LoginBlock.ENVIRONMENT)
    outbox.u16(len(login.environment))
    for name, value in login.environment:
        outbox.login_text(name)
        outbox.login_text(value)
    outbox.u16(LoginBlock.PROCESS)
    outbox.i32(0)
    outbox.i32(login.process_id)
    outbox.i32(login.thread_id)
    outbox.login_text(login.host)
    outbox.u16(0)  # terminal
    outbox.login_text(login.directory)
    outbox.u16(LoginBlock.APPLICATION)
    outbox.u16(10 + len(login.application) + 1)
    outbox.i32(0)  # user id
    outbox.i32(0)  # group id
    outbox.login_text(login.application)
    outbox.u16(LoginBlock.END)
    return LoginFrame(head, outbox.detach())


async def read_login(inbox: Inbox) -> LoginRequest:
    """Read a login request in the binary form; used by the embedded server.

    Raises:
        ProtocolError: not a binary login.
    """
    reader = await _message(inbox, {LoginType.REQUEST})
    reader.expect(LoginBlock.ASSOCIATION)
    reader.expect(LoginBlock.BINARY)
    reader.skip(4)
    reader.text()  # float format
    reader.expect(LoginBlock.PARAMETERS)
    reader.skip(12)  # application type
    reader.text()  # client version
    reader.text()  # client serial number
    reader.text()  # application id
    reader.skip(12)  # Cap_1, Cap_2, Cap_3
    reader.skip(2)
    user, password = reader.text(), reader.text()
    reader.skip(8 + 4 + 8 + 4)  # server type, network type
    reader.expect(LoginBlock.INITIALISE)
    reader.skip(2 + 4)  # connect, options
    server, database = reader.text(), reader.text()
    reader.skip(8)
    environment: tuple[tuple[bytes, bytes], ...] = ()
    process_id = thread_id = 0
    host = directory = application = b""
    while (block := reader.u16()) != LoginBlock.END:
        if block == LoginBlock.ENVIRONMENT:
            environment = tuple((reader.text(), reader.text()) for _ in range(reader.u16()))
        elif block == LoginBlock.PROCESS:
            reader.skip(4)
            process_id, thread_id = reader.i32(), reader.i32()
            host = reader.text()
            reader.text()  # terminal
            directory = reader.text()
        elif block == LoginBlock.APPLICATION:
            reader.skip(2 + 4 + 4)  # size, user id, group id
            application = reader.text()
        else:
            raise ProtocolError(f"unknown block {block} in the login request")
    return LoginRequest(
        user, password, server, environment, process_id, thread_id, host, directory, application, database
    )


# -- reply ------------------------------------------------------------------------------------------------------------


def put_login_reply(outbox: Outbox, reply: LoginReply) -> None:
    """The login reply: accept, reject or redirect.

    Source: observed: GBase 8s and IDS 15 captures; wire.md section 3
    """
    start = len(outbox)
    outbox.u16(0)  # patched below
    outbox.u8(reply.type)
    outbox.u8(_FAMILY)
    outbox.u16(_REPLY_FLAGS)
    outbox.u16(LoginBlock.ASSOCIATION)
    outbox.u16(LoginBlock.BINARY)
    outbox.i32(_BLOCK_SIZE)
    outbox.login_text(b"IEEEI")
    outbox.u16(LoginBlock.PARAMETERS)
    outbox.fixed(b"srvinfx", 12)
    outbox.login_text(reply.version)
    outbox.login_text(reply.serial)
    outbox.login_text(reply.server)
    outbox.i32(reply.level)
    outbox.raw(bytes(8 + 2 + 2 + 2))  # Cap_2, Cap_3, a short, two empty strings
    outbox.fixed(b"on", 8)
    outbox.i32(_BLOCK_SIZE)
    outbox.fixed(b"soctcp", 8)
    outbox.i32(0)
    if reply.redirect is not None:
        outbox.u16(LoginBlock.REDIRECT)
        outbox.u16(0)
        outbox.login_text(reply.redirect)
    else:
        outbox.u16(LoginBlock.RESULT)
        outbox.raw(bytes(6))
        outbox.i16(reply.sqlcode)
        outbox.i16(reply.oserror)
        outbox.i16(reply.warnings or _LOGIN_WARNINGS)
        outbox.u16(0)  # messages
    outbox.u16(LoginBlock.PROCESS)
    outbox.raw(bytes(4 + 4 + 4))  # the second is the process id
    outbox.login_text(b"")  # the host
    outbox.login_text(b"")
    outbox.login_text(b"/")
    outbox.u16(LoginBlock.EXTENSION)
    outbox.u16(4)
    outbox.i32(0)
    outbox.u16(LoginBlock.APPLICATION)
    outbox.u16(10 + len(b"oninit") + 1)
    outbox.i32(0)
    outbox.i32(0)
    outbox.login_text(b"oninit")
    outbox.u16(LoginBlock.END)
    outbox.patch_u16(start, len(outbox) - start)


async def read_login_reply(inbox: Inbox) -> LoginReply:
    """Read a login reply of any type. The caller checks the type and the SQLCODE.

    Raises:
        ProtocolError: the peer does not speak SQLI.
        ConnectError: closed before a reply.
    """
    reader = await _message(inbox, _REPLIES)
    return _login_reply(reader.type, reader.rest)


_REPLIES: Final = frozenset({LoginType.ACCEPT, LoginType.REJECT, LoginType.REDIRECT})


def _login_reply(kind: int, data: bytes) -> LoginReply:
    """Parse the part after the flags."""
    reader = _Reader(data, kind)
    reply = LoginReply(kind)
    reader.expect(LoginBlock.ASSOCIATION)
    reader.expect(LoginBlock.BINARY)
    reader.skip(4)
    reader.text()  # float format
    reader.expect(LoginBlock.PARAMETERS)
    reader.skip(12)  # server type
    reply = reply._replace(
        version=reader.text(), serial=reader.text(), server=reader.text(), level=reader.i32()
    )
    reader.skip(8 + 2)  # Cap_2, Cap_3, a short
    reader.skip(reader.u16())
    reader.skip(reader.u16())
    reader.skip(8 + 4 + 8 + 4)  # network
    block = reader.u16()
    if block == LoginBlock.REDIRECT:
        # assumed: a login string; JDBC and another client read it so, but no capture of a server has one
        reader.skip(2)
        return reply._replace(redirect=reader.text())
    if block != LoginBlock.RESULT:
        raise ProtocolError(f"unknown block {block} in the login reply")
    reader.skip(6)
    # The blocks after the warnings (messages, process, 110, application) have no effect on a client.
    return reply._replace(sqlcode=reader.i16(), oserror=reader.i16(), warnings=reader.i16())


class _Reader:
    """Reads the fields of a complete login message; reading past its end is a ProtocolError."""

    __slots__ = ("_data", "_pos", "type")

    def __init__(self, data: bytes, kind: int) -> None:
        self._data = data
        self._pos = 0
        self.type = kind

    @property
    def rest(self) -> bytes:
        return self._data[self._pos :]

    def _take(self, size: int) -> bytes:
        part = self._data[self._pos : self._pos + size]
        if len(part) < size:
            raise ProtocolError("a login message ends in the middle of a field")
        self._pos += size
        return part

    def skip(self, size: int) -> None:
        self._take(size)

    def u16(self) -> int:
        return int.from_bytes(self._take(2), "big")

    def i16(self) -> int:
        return int.from_bytes(self._take(2), "big", signed=True)

    def i32(self) -> int:
        return int.from_bytes(self._take(4), "big", signed=True)

    def text(self) -> bytes:
        """A login string without its closing NUL."""
        return self._take(self.u16()).removesuffix(b"\0")

    def expect(self, block: LoginBlock) -> None:
        found = self.u16()
        if found != block:
            raise ProtocolError(f"block {found} instead of {int(block)} in a login message")


async def _message(inbox: Inbox, types: Iterable[int]) -> _Reader:
    """Read a whole login message. Data in another protocol is rejected after four bytes."""
    try:
        await inbox.need(4)
    except ConnectionLost as lost:
        begun = bytes(inbox.data[inbox.pos :])
        if begun:
            raise ProtocolError(f"the peer does not speak SQLI: it answered {begun!r} and closed") from lost
        raise ConnectError("the peer closed the connection without an answer to the login") from lost
    size, kind, family = inbox.u16(), inbox.u8(), inbox.u8()
    if kind not in types or family not in _FAMILIES or size < _MIN_LOGIN:
        inbox.pos -= 4
        begin = bytes(inbox.data[inbox.pos : inbox.pos + 16])
        raise ProtocolError(f"the peer does not speak SQLI: it answered {begin!r}")
    await inbox.need(size - 4)
    reader = _Reader(inbox.take(size - 4), kind)
    reader.skip(2)  # flags
    return reader
