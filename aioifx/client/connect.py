"""Resolve, TCP, TLS, login, capabilities, database -> Connection. Never: SQL."""

from __future__ import annotations

import asyncio
import errno
import inspect
import os
import socket
import ssl
from collections.abc import Generator
from types import TracebackType
from typing import Any, Final, Unpack

from aioifx.channel import Channel
from aioifx.client.connection import Connection
from aioifx.client.manners import Manners, isolation_words, lock_mode_words
from aioifx.client.options import ConnectOptions, OptionFields, check_text, resolve
from aioifx.client.session import Session, raise_for
from aioifx.errors import (
    AuthenticationError,
    ConnectError,
    DatabaseError,
    InterfaceError,
    LocaleError,
    NotSupportedError,
    ProtocolError,
    from_server,
)
from aioifx.wire import requests
from aioifx.wire.dialect import OFFER, Dialect
from aioifx.wire.handshake import LoginReply, LoginRequest, put_login, read_login_reply
from aioifx.wire.opcodes import LoginType
from aioifx.wire.outbox import Outbox

_UNKNOWN_SERVER: Final = -761
_TLS_ALERT: Final = b"\x15\x03"
"""How a TLS server's answer to anything else begins (documented: RFC 8446, 5.1)."""
READ_AHEAD: Final = "AIOIFX_BUFFERED_READER"


def connect(dsn: str | None = None, **options: Unpack[OptionFields]) -> Connecting:
    """Open one connection: ``conn = await connect(...)`` or ``async with connect(...) as conn:``.

    Raises:   InterfaceError: an option is wrong or missing; raised here, before anything is opened.
              ConnectError: on awaiting: unreachable, refused, or not answered within connect_timeout.
    """
    return Connecting(resolve(dsn, options))


class Connecting:
    """A connection that is on its way; await it, or enter it."""

    __slots__ = ("_connection", "_options")

    def __init__(self, options: ConnectOptions) -> None:
        self._options = options
        self._connection: Connection | None = None

    def __await__(self) -> Generator[Any, None, Connection]:
        return open_connection(self._options).__await__()

    async def __aenter__(self) -> Connection:
        self._connection = await open_connection(self._options)
        return self._connection

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._connection is not None
        await self._connection.close()


async def open_connection(options: ConnectOptions) -> Connection:
    """One connection, or a ConnectError within *connect_timeout* seconds."""
    attempt = _Attempt(options)
    limit = asyncio.timeout(options.connect_timeout)
    try:
        async with limit:
            return await attempt.run()
    except TimeoutError:
        if not limit.expired():
            raise  # not ours: the callable that gives the password may have a limit of its own
        raise ConnectError(
            f"{attempt.address}: no answer within {options.connect_timeout:g} s while {attempt.phase}"
            f"{attempt.hint}",
            sqlstate="08001",
        ) from None
    finally:
        attempt.drop_unless_done()


class _Attempt:
    """One try to open a connection, and how far it got."""

    def __init__(self, options: ConnectOptions) -> None:
        self.options = options
        self.address = f"{options.host}:{options.port}"
        self.phase = "connecting"
        self.hint = ""
        """What may be the matter when nobody answers, or the wrong one."""
        self._channel: Channel | None = None
        self._done = False

    async def run(self) -> Connection:
        options = self.options
        password = await _password(options)
        channel = await self._reach()
        login = await self._login(channel, password)
        code_set = options.code_set
        session = Session(
            channel,
            Dialect(encoding=code_set.codec),
            code_set,
            fetch_size=options.fetch_size,
            strip_char=options.strip_char,
            read_ahead=os.environ.get(READ_AHEAD, "1") != "0",
            autofree=True,
            command_timeout=options.command_timeout,
            cancel_timeout=options.cancel_timeout,
            pipelining=options.pipelining,
            autocommit=options.autocommit,
            read_only=options.read_only,
            manners=Manners(isolation_words(options.isolation), lock_mode_words(options.lock_wait)),
        )
        session.stats.round_trips += 1  # the login
        await self._agree(session)
        await self._set_environment(session)
        if options.database:
            await self._open_database(session)
        self._done = True
        return Connection(
            session,
            statement_cache_size=options.statement_cache_size,
            address=self.address,
            server_version=login.version.decode("latin-1"),
            row_factory=options.row_factory,
        )

    def drop_unless_done(self) -> None:
        if self._channel is not None and not self._done:
            self._channel.abort()

    # -- the steps ----------------------------------------------------------------------------------------------------

    async def _reach(self) -> Channel:
        """TCP, and TLS where it is wanted."""
        options = self.options
        loop = asyncio.get_running_loop()
        context = options.ssl_context()
        if context is not None:
            self.phase, self.hint = "connecting and agreeing on TLS", "; is it a port without TLS?"
        try:
            transport, channel = await loop.create_connection(
                Channel,
                options.host,
                options.port,
                ssl=context,
                server_hostname=options.host if context is not None else None,
            )
        except ssl.CertificateError as error:
            raise ConnectError(
                f"{self.address}: its certificate is refused: {_reason(error)}", sqlstate="08001"
            ) from error
        except (OSError, UnicodeError) as error:  # a host's name that cannot be encoded is a UnicodeError
            answered = isinstance(error, (ssl.SSLError, ConnectionError)) and not isinstance(
                error, ConnectionRefusedError
            )
            raise ConnectError(
                f"could not connect to {self.address}: {_reason(error)}{self.hint if answered else ''}",
                sqlstate="08001",
            ) from error
        self._channel = channel
        sock = transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if options.keepalive:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return channel

    async def _login(self, channel: Channel, password: str) -> LoginReply:
        self.phase = "waiting for the answer to the login"
        self.hint = "" if self.options.ssl_context() is not None else "; is it a TLS port? (option: ssl)"
        outbox = Outbox()
        put_login(outbox, self._login_request(password))
        answer = channel.expect(read_login_reply(channel.inbox))
        channel.send(outbox.take())
        try:
            reply = await answer
        except ProtocolError as error:
            inbox = channel.inbox
            is_tls = inbox.data[inbox.pos :].startswith(_TLS_ALERT)
            raise ConnectError(
                f"{self.address} is not an SQLI port: {error}{self.hint if is_tls else ''}", sqlstate="08001"
            ) from error
        except DatabaseError as error:
            raise ConnectError(f"{self.address}: {error}{self.hint}", sqlstate="08001") from error
        self.hint = ""
        self._judge(reply)
        return reply

    def _login_request(self, password: str) -> LoginRequest:
        options = self.options
        encode = options.code_set.encode
        return LoginRequest(
            user=encode(options.user),
            password=encode(password),
            server=encode(options.server),
            environment=options.login_environment(),
            process_id=os.getpid(),
            thread_id=0,
            host=socket.gethostname().encode("ascii", "replace"),
            directory=b"/",
            application=encode(options.application_name or "aioifx"),
        )

    def _judge(self, reply: LoginReply) -> None:
        """Raise what a login reply says, unless it is an accept.

        The type byte alone does not decide: a rejecting server was observed to send error 0.
        """
        if reply.type == LoginType.REDIRECT or reply.redirect is not None:
            target = (reply.redirect or b"").decode("latin-1")
            raise ConnectError(
                f"{self.address} redirects to {target!r}; connect to that server directly", sqlstate="08001"
            )
        if reply.type == LoginType.ACCEPT and reply.sqlcode == 0:
            return
        if reply.sqlcode == 0:
            raise ConnectError(f"{self.address} refused the login and gave no reason", sqlstate="08004")
        token = {
            _UNKNOWN_SERVER: self.options.server,
            -951: self.options.user,
            -952: self.options.user,
        }.get(reply.sqlcode, "")
        error = from_server(reply.sqlcode, reply.oserror, token=token)
        if reply.sqlcode == _UNKNOWN_SERVER and reply.server:
            hint = f"; it is {reply.server.decode('latin-1')!r} (option: server)"
        else:
            hint = ""
        raise self._as_connect_error(error, hint)

    async def _agree(self, session: Session) -> None:
        """SQ_PROTOCOLS: what both ends can do. A wrong password may show only here (observed: 14.10)."""
        self.phase = "agreeing on the protocol"
        outbox = Outbox()
        requests.put_protocols(outbox, OFFER)
        try:
            reply = await session.exchange(outbox)
            raise_for(reply)
        except DatabaseError as error:
            raise self._as_connect_error(error) from error
        if reply.mask is None:
            raise ProtocolError("the server did not answer SQ_PROTOCOLS")
        dialect = Dialect.agreed(OFFER, reply.mask, session.code_set.codec)
        if dialect.pam:
            raise NotSupportedError(
                f"{self.address} asks for a PAM conversation, which aioifx does not hold yet"
            )
        if not dialect.type_names:
            raise NotSupportedError(f"{self.address} is too old: its descriptions do not name types")
        session.dialect = dialect

    async def _set_environment(self, session: Session) -> None:
        self.phase = "setting the environment"
        outbox = Outbox()
        requests.put_info(outbox, self.options.session_environment())
        try:
            raise_for(await session.exchange(outbox))
        except DatabaseError as error:
            raise self._as_connect_error(error) from error

    async def _open_database(self, session: Session) -> None:
        self.phase = f"opening database {self.options.database}"
        outbox = Outbox()
        requests.put_dbopen(outbox, session.code_set.encode(self.options.database))
        try:
            reply = await session.exchange(outbox)
            if reply.error is not None and not reply.error.token:
                reply.error = reply.error._replace(token=self.options.database)
            raise_for(reply)
        except LocaleError as error:
            raise self._as_connect_error(
                error, "; give the database's locale with the options db_locale and client_locale"
            ) from error
        except DatabaseError as error:
            raise self._as_connect_error(error) from error
        session.opened(self.options.database, reply)
        if not (session.autocommits or session.is_logged):
            raise NotSupportedError(
                f"{self.address}: autocommit=False: the database has no log, so it has no transactions",
                sqlcode=-256,
            )
        if session.manners.due:
            await self._set_manners(session)

    async def _set_manners(self, session: Session) -> None:
        self.phase = "setting isolation and lock mode"
        try:
            await session.settle()
        except DatabaseError as error:
            raise self._as_connect_error(error) from error

    def _as_connect_error(self, error: DatabaseError, hint: str = "") -> DatabaseError:
        """The same codes as a ConnectError of the right class, with the address in front."""
        if isinstance(error, ProtocolError):
            return error
        kind: type[ConnectError] = ConnectError
        for special in (AuthenticationError, LocaleError):
            if isinstance(error, special):
                kind = special
        return kind(
            f"{self.address}: {error}{hint}",
            sqlcode=error.sqlcode,
            isamcode=error.isamcode,
            sqlstate=error.sqlstate,
            token=error.token,
        )


async def _password(options: ConnectOptions) -> str:
    """The password, asked anew for each connection where the option is a callable."""
    source = options.password
    if not callable(source):
        return source or ""
    given = source()
    if inspect.isawaitable(given):
        given = await given
    if not isinstance(given, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise InterfaceError(f"password: the callable gave {type(given).__name__}, not str")
    check_text("password", given, options.code_set)
    return given


def _reason(error: OSError | UnicodeError) -> str:
    """The reason without the noise that asyncio puts around it."""
    for name in ("verify_message", "reason"):
        if text := getattr(error, name, None):
            return str(text)
    if isinstance(error, OSError) and error.errno is not None and error.errno in errno.errorcode:
        return os.strerror(error.errno)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
