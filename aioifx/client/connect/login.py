"""Login at one server: address, capabilities, database -> Connection. Never: which server, SQL.

Invariants:
1. The password is sent only to this address, and to the target of a redirect that the options allow.
2. Every failure is a DatabaseError with the address and, where possible, the option that may be wrong.
"""

from __future__ import annotations

import logging
import os
import socket
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Final

from aioifx.channel import Channel
from aioifx.client.api.connection import Connection
from aioifx.client.config.addresses import Address, is_allowed, redirect_target
from aioifx.client.config.environment import environment_variable
from aioifx.client.config.options import ConnectOptions
from aioifx.client.connect.login_messages import (
    PROTOCOLS,
    dbopen_request,
    info_request,
    login_frame_of,
    negotiated,
    offered,
    read_known,
)
from aioifx.client.connect.pam import PamConversation
from aioifx.client.connect.transport import open_channel
from aioifx.client.observation.observation import MeteredChannel, Observation
from aioifx.client.session.failures import failure_of, reject_unsolicited, session_ended
from aioifx.client.session.server_behavior import ServerBehavior, behavior_of
from aioifx.client.session.session import Session
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
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.handshake import (
    PROTOCOL_LEVEL,
    LoginFrame,
    LoginReply,
    put_login,
    read_login_reply,
)
from aioifx.wire.inbox import Inbox, Parser
from aioifx.wire.opcodes import LoginType, OpenWarning
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply, ReplyReader

logger: Final = logging.getLogger("aioifx.connect")

_UNKNOWN_SERVER: Final = -761
_TLS_ALERT: Final = b"\x15\x03"
"""First bytes of a TLS server's alert in reply to plain text (documented: RFC 8446, 5.1)."""
# As plain ints: arithmetic on flags costs a microsecond.
_LOCALE_IGNORED: Final = int(OpenWarning.LOCALE_IGNORED)
_SECONDARY: Final = int(OpenWarning.SECONDARY)
READ_AHEAD: Final = "AIOIFX_BUFFERED_READER"
MAX_REDIRECTS: Final = 3
_MAX_TARGET: Final = 200
"""Most bytes of a redirect's text to show in a message."""


def _check_exit(reply: Reply) -> None:
    if reply.is_session_ended:
        raise session_ended()


class LoginAttempt:
    """One attempt to open a connection at one server, with its progress.

    Args:
        observation: of the new connection; None: it has no observers.
    """

    def __init__(
        self, options: ConnectOptions, address: Address, observation: Observation | None = None
    ) -> None:
        self.options = options
        self.address = address
        self._observation = observation
        self.phase = ""
        self.hint = ""
        """Likely cause, for the message, if nothing or the wrong kind of server answers."""
        self.failure: DatabaseError | None = None
        self.sends_db_locale = True
        """False: send no DB_LOCALE, so that the server uses its own locale."""
        self.is_locale_ignored = False
        """Whether the server opened the database although its locale differs from the one sent."""
        self.reply: LoginReply | None = None
        """The last login reply."""
        self._channel: Channel | None = None
        self._uses_tls = False
        self._reader: ReplyReader  # once the login is accepted
        self.behavior: ServerBehavior  # likewise
        self._opened: Reply | None = None
        """The reply to SQ_DBOPEN."""
        self._hops: list[Address] = []
        """The servers that redirected this attempt, in order."""
        self.pam: PamConversation | None = None
        """The PAM conversation, until the server accepts."""
        self._pam_round_trips = 0
        self._done = False

    @property
    def where(self) -> str:
        return str(self.address) + "".join(f", redirected from {hop}" for hop in reversed(self._hops))

    @property
    def is_final(self) -> bool:
        """Whether no other server may be tried: a PAM handler was asked, and the server has not accepted its answer."""
        return self.pam is not None and self.pam.has_asked

    @property
    def capabilities(self) -> Capabilities:
        """Those of both ends, after a login."""
        return self._reader.capabilities

    async def connect(self) -> LoginAttempt:
        """Connect over TCP, and TLS if the options ask for it."""
        options = self.options
        self._done = False
        context = options.ssl_context(self.address.tls)
        self._uses_tls = context is not None
        self.phase, self.hint = "connecting", ""
        if context is not None:
            self.phase, self.hint = "connecting and negotiating TLS", "; is it a port without TLS?"
        kind = Channel if self._observation is None else MeteredChannel
        try:
            self._channel = await open_channel(
                self.address,
                context,
                keepalive=options.keepalive_times if self.address.keepalive else None,
                hint=self.hint,
                factory=kind if options.tracer is None else partial(options.tracer.channel, kind),
            )
        except ConnectError as error:
            self.failure = error
            if options.tracer is not None:
                options.tracer.on_failure(str(self.address), error)
            logger.debug("%s", error)
            raise
        return self

    def use(self, channel: Channel, *, tls: bool) -> None:
        """Continue on a channel that was opened elsewhere, instead of `connect`."""
        self._channel, self._uses_tls, self._done = channel, tls, False

    async def log_in(self, password: str) -> Connection[Any]:
        """Log in here, or at the target of a redirect that the options allow.

        Raises:
            DatabaseError: the login failed.
        """
        login = await self._run_handshake(password)
        while (target := self._redirected(login)) is not None:
            await self._follow_redirect(target)
            login = await self._run_handshake(password)
        return await self._connection()

    def drop(self) -> None:
        if self._channel is not None:
            self._channel.abort()
            self._channel = None

    def drop_unless_done(self) -> None:
        if not self._done:
            self.drop()

    def timeout_error(self, seconds: float) -> ConnectError:
        """The error of an attempt that timed out."""
        if not self.phase:
            return ConnectError(
                f"{self.where}: not tried before the timeout", sqlstate="08001", unreachable=True
            )
        phase = self.pam.phase if self.pam is not None else self.phase
        kind = AuthenticationError if self.is_final else ConnectError
        return kind(
            f"{self.where}: no answer within {round(seconds, 2):g} s while {phase}{self.hint}",
            sqlstate="08001",
            unreachable=not self.is_final,
        )

    # -- steps --------------------------------------------------------------------------------------------------------

    async def _run_handshake(self, password: str) -> LoginReply:
        """All messages of the login. The channel reads replies and sends requests; this task wakes up only once."""
        channel = self._channel
        assert channel is not None
        self.phase = "waiting for the login reply"
        self.hint = "" if self._uses_tls else "; is it a TLS port? (option: ssl)"
        outbox = Outbox()
        put_login(outbox, self._login_frame(), self.options.client_code_set.encode(password))
        login = await self._run(channel, self._handshake(channel), outbox.detach())
        if self._requires_pam:
            await self._authenticate(channel, password)
            await self._run(channel, self._begin_session(channel, login))
        return login

    async def _run(
        self, channel: Channel, steps: Parser[LoginReply | DatabaseError], request: bytes = b""
    ) -> LoginReply:
        """Let the channel run *steps*; without *request*, they send their first request themselves."""
        try:
            if not request:
                steps.send(None)
        except StopIteration as end:
            outcome: LoginReply | DatabaseError = end.value
        else:
            outcome = await channel.expect(steps, request)
        if isinstance(outcome, DatabaseError):
            raise outcome
        return outcome

    async def _handshake(self, channel: Channel) -> LoginReply | DatabaseError:
        """Read each reply, and send the next request within the same `data_received` call.

        Ends with the server's login reply, which may be a redirect or followed by PAM, or with the error that prevents
        the login.
        """
        try:
            login = await self._login(channel.inbox)
            if login.type == LoginType.REDIRECT or login.redirect is not None:
                return login
            self._check_login(login)
            # A wrong password may be reported only here (observed: 14.10).
            self._negotiate(await self._exchange(channel, "negotiating the protocol", PROTOCOLS))
        except DatabaseError as error:
            return error
        return login if self._requires_pam else await self._begin_session(channel, login)

    @property
    def _requires_pam(self) -> bool:
        return self._reader.capabilities.pam

    async def _authenticate(self, channel: Channel, password: str) -> None:
        """Answer the server's PAM challenges, in this task, since a handler may wait."""
        self.pam = conversation = PamConversation(channel, self._reader.capabilities, self.options, password)
        try:
            await conversation.run()
        except DatabaseError as error:
            raise self._as_connect_error(error) from (error.__cause__ or error)
        self._pam_round_trips, self.pam = conversation.round_trips, None

    async def _begin_session(self, channel: Channel, login: LoginReply) -> LoginReply | DatabaseError:
        """The rest of the handshake, once the server has accepted the user."""
        options = self.options
        version = visible(login.version.decode("latin-1"))
        self.behavior = behavior_of(self.address.host, self.address.port, version)
        try:
            if options.sends_optofc and self.behavior.keeps_closed_values is False:
                self.options = options = options.without_optofc()
            environment = info_request(options.session_environment())
            await self._exchange(channel, "setting the environment", environment)
            if options.database:
                request = dbopen_request(options.database, options.code_set)
                phase = f"opening database {options.database}"
                self._opened = await self._exchange(channel, phase, request, token=options.database)
        except DatabaseError as error:
            return error
        return login

    async def _login(self, inbox: Inbox) -> LoginReply:
        try:
            reply = await read_known(read_login_reply, inbox)
        except ProtocolError as error:
            is_tls = inbox.data[inbox.pos :].startswith(_TLS_ALERT)
            raise ConnectError(
                f"{self.where} is not an SQLI port: {error}{self.hint if is_tls else ''}", sqlstate="08001"
            ) from error
        except DatabaseError as error:
            raise ConnectError(
                f"{self.where}: {error}{self.hint}",
                sqlstate="08001",
                unreachable=isinstance(error, ConnectionLost),
            ) from error
        self.hint = ""
        self.reply = reply
        self._reader = offered(self.options.code_set.codec)
        return reply

    def _login_frame(self) -> LoginFrame:
        options = self.options
        return login_frame_of(
            options.client_code_set,
            options.user,
            self.address.server,
            options.login_environment(sends_db_locale=self.sends_db_locale),
            os.getpid(),
            socket.gethostname(),
            options.application_name or "aioifx",
        )

    def _redirected(self, reply: LoginReply) -> Address | None:
        """The target of a redirect; None if the reply is not one.

        Raises:
            ConnectError: the options do not allow it, or there were too many.
        """
        if reply.type != LoginType.REDIRECT and reply.redirect is None:
            return None
        text = (reply.redirect or b"")[:_MAX_TARGET].decode("latin-1")
        target = redirect_target(text)
        if target is None:
            refusal = "an unknown form of redirect; connect to that server directly"
        elif not is_allowed(target.host, self.options.allow_redirect_to):
            refusal = "which is not allowed; connect to that server directly (option: allow_redirect_to)"
        elif len(self._hops) == MAX_REDIRECTS:
            refusal = f"after {MAX_REDIRECTS} redirects already"
        else:
            logger.debug("%s redirects to %s, server %s", self.where, target, target.server)
            return replace(target, tls=self.address.tls, keepalive=self.address.keepalive)
        logger.debug("%s redirects to %r, %s", self.where, text, refusal)
        raise ConnectError(f"{self.where} redirects to {text!r}, {refusal}", sqlstate="08001")

    async def _follow_redirect(self, target: Address) -> None:
        """Continue at another server with the same TLS settings; its certificate must match its own host name."""
        self.drop()
        self._hops.append(self.address)
        self.address = target
        await self.connect()

    def _check_login(self, reply: LoginReply) -> None:
        """Raise the error in a login reply, unless the reply is an accept.

        The type byte alone does not decide: a server was observed to reject a login with error 0.
        """
        if reply.type == LoginType.ACCEPT and reply.sqlcode == 0:
            if reply.level != PROTOCOL_LEVEL:  # observed: JDBC disconnects then
                kind = "an older" if reply.level < PROTOCOL_LEVEL else "another"
                raise NotSupportedError(
                    f"{self.where} speaks {kind} SQLI: {reply.level}; aioifx speaks {PROTOCOL_LEVEL}"
                )
            return
        if reply.sqlcode == 0:  # observed: most commonly a wrong password (14.10)
            raise AuthenticationError(
                f"{self.where} rejected the login without a reason; usually user or password is wrong",
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

    async def _exchange(self, channel: Channel, phase: str, request: bytes, *, token: str = "") -> Reply:
        """Send one request group and return its reply.

        Args:
            token: the name that an error is about, if the server gives none.

        Raises:
            ConnectError: the server's error, or the loss of the connection. ProtocolError.
        """
        self.phase = phase
        inbox, read = channel.inbox, self._reader.parser
        try:
            if len(inbox.data) > inbox.pos:
                await reject_unsolicited(read, inbox, _check_exit)
            channel.send(request)
            reply = await read_known(read, inbox)
            _check_exit(reply)
            if reply.error is not None:
                raise failure_of(reply.error._replace(token=reply.error.token or token))
        except LocaleError as error:
            raise self._as_connect_error(
                error, '; set db_locale to the database\'s locale, or locale="auto"'
            ) from error
        except DatabaseError as error:
            raise self._as_connect_error(error) from error
        return reply

    def _negotiate(self, reply: Reply) -> None:
        """Use the capabilities in the reply to SQ_PROTOCOLS."""
        if reply.mask is None:
            raise ProtocolError("the server did not answer SQ_PROTOCOLS")
        self._reader = negotiated(reply.mask, self.options.code_set.codec)
        capabilities = self._reader.capabilities
        if logger.isEnabledFor(logging.DEBUG):
            found = (name for name, value in asdict(capabilities).items() if value is True)
            logger.debug("%s: capabilities: %s", self.where, ", ".join(found) or "none")
        if not capabilities.type_names:
            raise NotSupportedError(f"{self.where} is too old: its descriptions do not name types")

    async def _connection(self) -> Connection[Any]:
        """Finish a login that the server has accepted: open the database and apply the options."""
        options, session = self.options, self._session()
        if self._opened is not None:
            session.on_database_opened(options.database, self._opened)
            self.is_locale_ignored = session.database.warnings & _LOCALE_IGNORED != 0
            self._check_role(session)
            if not (session.transactions.autocommit or session.database.is_logged):
                raise NotSupportedError(
                    f"{self.where}: autocommit=False: the database has no log, so it has no transactions",
                    sqlcode=-256,
                )
            if session.settings.pending:
                await self._apply_settings(session)
        self._done = True
        return Connection(
            session,
            statement_cache_size=options.statement_cache_size,
            address=str(self.address),
            server_version=self.behavior.version,
            row_factory=options.row_factory,
        )

    def _session(self) -> Session:
        options = self.options
        assert self._channel is not None
        session = Session(
            self._channel,
            self._reader.capabilities,
            options,
            read_ahead=environment_variable(READ_AHEAD) != "0",
            autofree=True,
            observation=self._observation,
            behavior=self.behavior,
        )
        session.conversation.address = self.address.host, self.address.port
        session.server_name = self.address.server
        session.stats.round_trips += (3 if self._opened is None else 4) + self._pam_round_trips
        return session

    def _check_role(self, session: Session) -> None:
        """Raise ConnectError if the server does not have the role that the options ask for.

        Source: documented: the bit in SQ_DBOPEN's warnings that marks a secondary server; not in any capture
        """
        role = "secondary" if session.database.warnings & _SECONDARY else "primary"
        if self.options.role not in ("any", role):
            raise ConnectError(
                f"{self.where}: role: expected a {self.options.role} server, got a {role} one",
                sqlstate="08004",
            )

    async def _apply_settings(self, session: Session) -> None:
        self.phase = "setting isolation and lock mode"
        try:
            await session.apply_settings()
        except DatabaseError as error:
            raise self._as_connect_error(error) from error

    def _as_connect_error(self, error: DatabaseError, hint: str = "") -> DatabaseError:
        """The same codes as a ConnectError of the right class, with the address before the message."""
        kind: type[ConnectError] = AuthenticationError if self.is_final else ConnectError
        if isinstance(error, ProtocolError) and not self.is_final:
            return error
        for special in (AuthenticationError, LocaleError):
            if isinstance(error, special):
                kind = special
        return kind(
            f"{self.where}: {error}{hint}",
            sqlcode=error.sqlcode,
            isamcode=error.isamcode,
            sqlstate=error.sqlstate,
            token=error.token,
            unreachable=isinstance(error, ConnectionLost) and not self.is_final,
        )
