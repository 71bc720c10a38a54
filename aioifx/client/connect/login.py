"""One server: address, login, capabilities, database -> Connection. Never: which server, SQL.

House rules:
1. The password goes to this address, and to where it redirects if the options allow that; nowhere else.
2. Whatever goes wrong is a DatabaseError that names the address and, where it can, the option that may be at fault.
"""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from aioifx.channel import Channel, PendingReply
from aioifx.client.api.connection import Connection
from aioifx.client.config.addresses import Address, is_allowed, redirect_target
from aioifx.client.config.isolation import isolation_clause, lock_mode_clause
from aioifx.client.config.options import ConnectOptions
from aioifx.client.connect.transport import reach
from aioifx.client.session.session import Session, raise_for
from aioifx.client.session.settings import Manners
from aioifx.errors import (
    AuthenticationError,
    ConnectError,
    ConnectionLost,
    DatabaseError,
    LocaleError,
    NotSupportedError,
    ProtocolError,
    from_server,
    visible,
)
from aioifx.wire import requests
from aioifx.wire.capabilities import OFFERED, Capabilities
from aioifx.wire.handshake import PROTOCOL_LEVEL, LoginReply, LoginRequest, put_login, read_login_reply
from aioifx.wire.inbox import Inbox
from aioifx.wire.opcodes import LoginType, OpenWarning
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply, read_reply

_UNKNOWN_SERVER: Final = -761
_TLS_ALERT: Final = b"\x15\x03"
"""How a TLS server's answer to anything else begins (documented: RFC 8446, 5.1)."""
READ_AHEAD: Final = "AIOIFX_BUFFERED_READER"
MAX_REDIRECTS: Final = 3
_MAX_TARGET: Final = 200
"""Bytes of a redirect's text that a message shows."""


def _offer() -> bytes:
    outbox = Outbox()
    requests.put_protocols(outbox, OFFERED)
    requests.put_eot(outbox)
    return outbox.take()


_PROTOCOLS: Final = _offer()


@lru_cache(maxsize=64)
def _info(environment: tuple[tuple[bytes, bytes], ...]) -> bytes:
    outbox = Outbox()
    requests.put_info(outbox, environment)
    requests.put_eot(outbox)
    return outbox.take()


@lru_cache(maxsize=64)
def _agreed(mask: bytes, codec: str) -> Capabilities:
    return Capabilities.negotiated(OFFERED, mask, codec)


class LoginAttempt:
    """One try to open a connection at one server, and how far it got."""

    def __init__(self, options: ConnectOptions, address: Address) -> None:
        self.options = options
        self.address = address
        self.phase = ""
        self.hint = ""
        """What may be the matter when nobody answers, or the wrong one."""
        self.failure: DatabaseError | None = None
        self.says_db_locale = True
        """False: the server is to use its own locale, as for a client that names none."""
        self.locale_ignored = False
        """The server has opened the database although its locale is not the one that it was told."""
        self._channel: Channel | None = None
        self._dialect = Capabilities()
        self._opened: Reply | None = None
        """The reply to SQ_DBOPEN."""
        self._hops: list[Address] = []
        """The servers that have redirected us, in order."""
        self._done = False

    @property
    def where(self) -> str:
        return str(self.address) + "".join(f", redirected from {hop}" for hop in reversed(self._hops))

    async def reach(self) -> LoginAttempt:
        """TCP, and TLS where it is wanted."""
        options = self.options
        self._done = False
        context = options.ssl_context(self.address.tls)
        self.phase, self.hint = "connecting", ""
        if context is not None:
            self.phase, self.hint = "connecting and agreeing on TLS", "; is it a port without TLS?"
        try:
            self._channel = await reach(
                self.address,
                context,
                keepalive=options.keepalive_times if self.address.keepalive else None,
                hint=self.hint,
            )
        except ConnectError as error:
            self.failure = error
            raise
        return self

    async def log_in(self, password: str) -> Connection[Any]:
        """Log in here, or where this server redirects to if that is allowed.

        Raises:   DatabaseError: whatever it is that keeps us out.
        """
        login = await self._converse(password)
        while (target := self._redirected(login)) is not None:
            await self._follow(target)
            login = await self._converse(password)
        return await self._connection(login)

    def drop(self) -> None:
        if self._channel is not None:
            self._channel.abort()
            self._channel = None

    def drop_unless_done(self) -> None:
        if not self._done:
            self.drop()

    def too_late(self, seconds: float) -> ConnectError:
        """The error of an attempt whose time is up."""
        if not self.phase:
            return ConnectError(f"{self.where}: not tried, time was up", sqlstate="08001")
        return ConnectError(
            f"{self.where}: no answer within {round(seconds, 2):g} s while {self.phase}{self.hint}",
            sqlstate="08001",
        )

    # -- the steps ----------------------------------------------------------------------------------------------------

    async def _converse(self, password: str) -> LoginReply:
        """All messages of the login. The channel reads the replies and sends on; this task is woken once."""
        channel = self._channel
        assert channel is not None
        uses_tls = self.options.ssl_context(self.address.tls) is not None
        self.phase = "waiting for the answer to the login"
        self.hint = "" if uses_tls else "; is it a TLS port? (option: ssl)"
        outbox = Outbox()
        put_login(outbox, self._login_request(password))
        expected: PendingReply[LoginReply | DatabaseError] = PendingReply()
        expected.parser = self._handshake(channel)
        channel.ask(expected, outbox.take())
        outcome = await expected.future
        if isinstance(outcome, DatabaseError):
            raise outcome
        return outcome

    async def _handshake(self, channel: Channel) -> LoginReply | DatabaseError:
        """Read each reply, and send the next request in the same call of `data_received`.

        It ends with what the server says of itself, with a redirect, or with the error that keeps us out.
        """
        try:
            login = await self._login(channel.inbox)
            if login.type != LoginType.REDIRECT and login.redirect is None:
                self._judge(login)
                await self._negotiate(channel)
                await self._set_environment(channel)
                if self.options.database:
                    await self._open_database(channel)
        except DatabaseError as error:
            return error
        return login

    async def _login(self, inbox: Inbox) -> LoginReply:
        try:
            reply = await read_login_reply(inbox)
        except ProtocolError as error:
            is_tls = inbox.data[inbox.pos :].startswith(_TLS_ALERT)
            raise ConnectError(
                f"{self.where} is not an SQLI port: {error}{self.hint if is_tls else ''}", sqlstate="08001"
            ) from error
        except DatabaseError as error:
            raise ConnectError(f"{self.where}: {error}{self.hint}", sqlstate="08001") from error
        self.hint = ""
        self._dialect = Capabilities(encoding=self.options.code_set.codec)
        return reply

    def _login_request(self, password: str) -> LoginRequest:
        options = self.options
        encode = options.client_code_set.encode
        return LoginRequest(
            user=encode(options.user),
            password=encode(password),
            server=encode(self.address.server),
            environment=options.login_environment(says_db_locale=self.says_db_locale),
            process_id=os.getpid(),
            thread_id=0,
            host=socket.gethostname().encode("ascii", "replace"),
            directory=b"/",
            application=encode(options.application_name or "aioifx"),
        )

    def _redirected(self, reply: LoginReply) -> Address | None:
        """Where the reply sends us; None when it does not.

        Raises:   ConnectError: the options do not allow to go there, or it is too far.
        """
        if reply.type != LoginType.REDIRECT and reply.redirect is None:
            return None
        text = (reply.redirect or b"")[:_MAX_TARGET].decode("latin-1")
        target = redirect_target(text)
        if target is None:
            refusal = "which is not understood; connect to that server directly"
        elif not is_allowed(target.host, self.options.allow_redirect_to):
            refusal = "which is not allowed; connect to that server directly (option: allow_redirect_to)"
        elif len(self._hops) == MAX_REDIRECTS:
            refusal = f"after {MAX_REDIRECTS} redirects already"
        else:
            return replace(target, tls=self.address.tls, keepalive=self.address.keepalive)
        raise ConnectError(f"{self.where} redirects to {text!r}, {refusal}", sqlstate="08001")

    async def _follow(self, target: Address) -> None:
        """Go on at another server, with the same TLS settings; its certificate must be for its own host."""
        self.drop()
        self._hops.append(self.address)
        self.address = target
        await self.reach()

    def _judge(self, reply: LoginReply) -> None:
        """Raise what a login reply says, unless it is an accept.

        The type byte alone does not decide: a rejecting server was observed to send error 0.
        """
        if reply.type == LoginType.ACCEPT and reply.sqlcode == 0:
            if reply.level != PROTOCOL_LEVEL:  # observed: JDBC hangs up then
                kind = "an older" if reply.level < PROTOCOL_LEVEL else "another"
                raise NotSupportedError(
                    f"{self.where} speaks {kind} SQLI: {reply.level}; aioifx speaks {PROTOCOL_LEVEL}"
                )
            return
        if reply.sqlcode == 0:  # observed: most commonly a wrong password (14.10)
            raise AuthenticationError(
                f"{self.where} refused the login and gave no reason; most often user or password is wrong",
                sqlstate="28000",
            )
        token = {
            _UNKNOWN_SERVER: self.address.server,
            -951: self.options.user,
            -952: self.options.user,
        }.get(reply.sqlcode, "")
        error = from_server(reply.sqlcode, reply.oserror, token=token)
        if reply.sqlcode == _UNKNOWN_SERVER and reply.server:
            hint = f"; it is {reply.server.decode('latin-1')!r} (option: server)"
        else:
            hint = ""
        raise self._as_connect_error(error, hint)

    async def _exchange(self, channel: Channel, request: bytes) -> Reply:
        """The reply to one group, without an error.

        Raises:   DatabaseError: what the server says, or that it has gone.
        """
        inbox = channel.inbox
        is_unasked = len(inbox.data) > inbox.pos
        if not is_unasked:
            channel.send(request)
        reply = await read_reply(inbox, self._dialect)
        if reply.exited:
            raise ConnectionLost("the server ended the session")
        if is_unasked:
            raise ProtocolError("the server sent a message that nobody asked for")
        return reply

    async def _negotiate(self, channel: Channel) -> None:
        """SQ_PROTOCOLS: what both ends can do. A wrong password may show only here (observed: 14.10)."""
        self.phase = "agreeing on the protocol"
        try:
            reply = await self._exchange(channel, _PROTOCOLS)
            raise_for(reply)
        except DatabaseError as error:
            raise self._as_connect_error(error) from error
        if reply.mask is None:
            raise ProtocolError("the server did not answer SQ_PROTOCOLS")
        self._dialect = _agreed(reply.mask, self._dialect.encoding)
        if self._dialect.pam:
            raise NotSupportedError(
                f"{self.where} asks for a PAM conversation, which aioifx does not hold yet"
            )
        if not self._dialect.type_names:
            raise NotSupportedError(f"{self.where} is too old: its descriptions do not name types")

    async def _set_environment(self, channel: Channel) -> None:
        self.phase = "setting the environment"
        try:
            raise_for(await self._exchange(channel, _info(self.options.session_environment())))
        except DatabaseError as error:
            raise self._as_connect_error(error) from error

    async def _open_database(self, channel: Channel) -> None:
        self.phase = f"opening database {self.options.database}"
        outbox = Outbox()
        requests.put_dbopen(outbox, self.options.code_set.encode(self.options.database))
        requests.put_eot(outbox)
        try:
            reply = await self._exchange(channel, outbox.take())
            if reply.error is not None and not reply.error.token:
                reply.error = reply.error._replace(token=self.options.database)
            raise_for(reply)
        except LocaleError as error:
            raise self._as_connect_error(
                error, '; give the database\'s locale as db_locale, or locale="auto"'
            ) from error
        except DatabaseError as error:
            raise self._as_connect_error(error) from error
        self._opened = reply

    async def _connection(self, login: LoginReply) -> Connection[Any]:
        """From a server that has let us in to a connection whose settings are as the options say."""
        options, session = self.options, self._session()
        if self._opened is not None:
            session.opened(options.database, self._opened)
            self.locale_ignored = session.open_warnings & OpenWarning.LOCALE_IGNORED != 0
            self._check_role(session)
            if not (session.autocommits or session.is_logged):
                raise NotSupportedError(
                    f"{self.where}: autocommit=False: the database has no log, so it has no transactions",
                    sqlcode=-256,
                )
            if session.manners.due:
                await self._apply_settings(session)
        self._done = True
        return Connection(
            session,
            statement_cache_size=options.statement_cache_size,
            address=str(self.address),
            server_version=visible(login.version.decode("latin-1")),
            row_factory=options.row_factory,
        )

    def _session(self) -> Session:
        options = self.options
        assert self._channel is not None
        session = Session(
            self._channel,
            self._dialect,
            options.code_set,
            fetch_size=options.fetch_size,
            strip_char=options.strip_char,
            conversions=options.conversions,
            read_ahead=os.environ.get(READ_AHEAD, "1") != "0",
            autofree=True,
            command_timeout=options.command_timeout,
            cancel_timeout=options.cancel_timeout,
            pipelining=options.pipelining,
            autocommit=options.autocommit,
            read_only=options.read_only,
            manners=Manners(isolation_clause(options.isolation), lock_mode_clause(options.lock_wait)),
            role=options.role,
        )
        session.user, session.server_name = options.user, self.address.server
        session.file_code_set = options.client_code_set
        session.stats.round_trips += 3 if self._opened is None else 4
        return session

    def _check_role(self, session: Session) -> None:
        """Refuse a server that is not the part of its cluster that was asked for.

        Source:   documented: the bit of SQ_DBOPEN's warnings that tells a secondary server; no capture shows it
        """
        role = "secondary" if session.open_warnings & OpenWarning.SECONDARY else "primary"
        if self.options.role not in ("any", role):
            raise ConnectError(
                f"{self.where} is a {role} server, a {self.options.role} one is asked for (option: role)",
                sqlstate="08004",
            )

    async def _apply_settings(self, session: Session) -> None:
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
            f"{self.where}: {error}{hint}",
            sqlcode=error.sqlcode,
            isamcode=error.isamcode,
            sqlstate=error.sqlstate,
            token=error.token,
        )
