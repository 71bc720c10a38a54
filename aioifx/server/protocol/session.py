"""The server side of one connection: login, then groups read and answered in order. Never: SQL parsing.

Every access to the database happens in the session's own thread. Bytes are received while the thread works. The groups
that are complete when the thread is done are its next batch, so a client may send many groups before it reads. The
event loop reads one batch at a time. Batches are small, so that other tasks, often those of the client, can run.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final, ParamSpec, TypeVar

from aioifx.channel import Channel
from aioifx.codecs.text import CodeSet, code_set_of
from aioifx.errors import ConnectError, ConnectionLost, DataError, InterfaceError, ProtocolError
from aioifx.server.engine.engine import Engine
from aioifx.server.engine.session_registry import SessionEntry, SessionRegistry
from aioifx.server.protocol.client_files import ClientFiles
from aioifx.server.protocol.context import FetchLimit, Identity, SessionContext
from aioifx.server.protocol.dispatch import Conversation
from aioifx.server.protocol.failed_logins import BURST, FailedLogins
from aioifx.server.protocol.fault_points import ConnectionDropped, FaultPoints
from aioifx.server.protocol.pam import PamCheck, PamDialogue, exit_message
from aioifx.server.protocol.quirk_handlers import QuirkyContext, QuirkyConversation
from aioifx.server.protocol.quirks import Quirk
from aioifx.server.protocol.session_handlers import open_database
from aioifx.server.protocol.statement_log import Recorder
from aioifx.server.protocol.statement_table import STATEMENT_LIMIT
from aioifx.server.protocol.stats import Counts, SessionStats
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sqlite.databases import Databases
from aioifx.wire.handshake import LoginReply, LoginRequest, put_login_reply, read_login
from aioifx.wire.opcodes import LoginType
from aioifx.wire.outbox import Outbox
from aioifx.wire.requests import Request, read_request
from aioifx.wire.session_requests import Exit, Protocols

P = ParamSpec("P")
T = TypeVar("T")

logger: Final = logging.getLogger("aioifx.server")

UNSENT_LIMIT: Final = 16 * 1024 * 1024
"""Bytes of unsent replies above which no further request of the client is handled."""

BATCH_GROUPS: Final = 64
"""Maximum number of groups read in one iteration of the event loop and answered by one call in the thread."""

READ_AHEAD: Final = 1024 * 1024
"""Bytes buffered while the thread works; above that, receiving is paused."""

BATCH_BYTES: Final = 64 * 1024
"""After this many bytes a batch ends."""

CLOSING_SECONDS: Final = 10.0
"""Time limit for a client to read its last replies after its session has ended."""

_BAD_USER: Final = -951
_BAD_SERVER: Final = -761
_BAD_LOCALE: Final = -23101
_NO_ROOM: Final = -25571
"""Cannot create a user thread (documented: the error of a session above LIMITNUMSESSIONS)."""
_DEFAULT_LOCALE: Final = "en_US.8859-1"
_SERIAL_NUMBER: Final = b"Software Serial Number AAA#B000000"  # as in every known accept (observed)


@dataclass(frozen=True, slots=True)
class LoginPolicy:
    """The rules for logins, and the limits of every session."""

    identity: Identity
    user: str | None = None
    """None: any user."""
    password: str | None = field(default=None, repr=False)
    only_own_name: bool = False
    """Whether the server name in a login must be correct."""
    login_timeout: float = 10.0
    """Time limit in seconds for a complete login request."""
    max_sessions: int = 1000
    """Maximum number of concurrent sessions."""
    statement_limit: int = STATEMENT_LIMIT
    fetch_limit: FetchLimit | None = None
    quirks: frozenset[Quirk] = frozenset()
    pam: PamCheck | None = None
    """Decides on each login, after its user and password; None: no PAM."""
    failed_logins: FailedLogins = field(default_factory=FailedLogins)
    recorder: Recorder = field(default_factory=Recorder)
    points: FaultPoints = field(default_factory=FaultPoints)


class Session:
    """One client, from its login to its disconnection."""

    def __init__(
        self, rules: LoginPolicy, databases: Databases, registry: SessionRegistry, channel: Channel
    ) -> None:
        self._rules = rules
        self._databases = databases
        self._registry = registry
        self._channel = channel
        self.counts = Counts()
        self._entry: SessionEntry | None = None
        self._context: SessionContext | None = None
        self._engine: Engine | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._expected: asyncio.Future[list[Request]] | None = None
        """The next group."""
        self._taken = 0
        """Bytes received up to the last group that is answered or being answered."""
        self._conversation: Conversation | None = None

    async def run(self) -> None:
        """Serve the client until either side closes the connection. An open transaction is always rolled back."""
        try:
            await self._serve()
        except (ConnectError, ConnectionLost):
            logger.debug("the client closed the connection")
        except ConnectionDropped:
            logger.info("connection dropped by a fault")
        except ProtocolError as error:
            logger.warning("session ended: %s", error)
        except Exception:
            logger.exception("session ended by an internal error")
        finally:
            await self._end()

    def stop(self) -> None:
        """Close the connection; `run` then returns."""
        self._channel.abort()
        self.on_disconnect()

    def uses(self, database: str) -> bool:
        """Whether the session has opened *database*."""
        return self._engine is not None and self._engine.uses(database)

    def interrupt(self) -> None:
        """Interrupt the running statement; ignored before the login (assumed)."""
        self.counts.interrupts += 1
        if self._conversation is not None:
            self._conversation.interrupt()

    @property
    def stats(self) -> SessionStats | None:
        """A snapshot of the session, taken in the event loop; None before the login."""
        entry, context, counts = self._entry, self._context, self.counts
        if entry is None or context is None:
            return None
        return SessionStats(
            session_id=entry.session_id,
            user=entry.user,
            database=entry.database,
            in_transaction=context.engine.is_in_transaction,
            isolation=context.engine.isolation.value,
            read_only=context.engine.is_read_only,
            lock_wait=context.engine.defaults.lock_wait,
            groups=counts.groups,
            turns=counts.turns,
            interrupts=counts.interrupts,
            statements=len(context.statements),
            cursors=context.statements.open_cursors,
            running=context.engine.is_running,
            waiting=context.engine.is_waiting,
        )

    def on_disconnect(self) -> None:
        """Called when the client has disconnected. It ends waits for locks, and long queries."""
        if self._engine is not None:
            self._engine.interrupt(permanent=True)

    async def _end(self) -> None:
        try:
            if self._engine is not None:
                await self._in_thread(self._engine.close)
        except Exception:
            logger.exception("a session could not be closed cleanly")
        finally:
            if self._thread is not None:
                self._thread.shutdown()
            self._channel.close()
            if self._channel.unsent:
                self._channel.loop.call_later(CLOSING_SECONDS, self._channel.abort)

    async def _in_thread(self, work: Callable[P, T], *arguments: P.args, **keywords: P.kwargs) -> T:
        assert self._thread is not None
        work_there = partial(work, *arguments, **keywords)
        return await asyncio.get_running_loop().run_in_executor(self._thread, work_there)

    # -- login ---------------------------------------------------------------------------------------------------------

    async def _serve(self) -> None:
        limit = asyncio.timeout(self._rules.login_timeout)
        try:
            async with limit:
                login = await self._channel.expect(read_login(self._channel.inbox))
        except TimeoutError:
            logger.info("connection closed: no login within %g s", self._rules.login_timeout)
            self._channel.abort()
            return
        try:
            await self._rules.points.at_login(self._channel)
            if not await self._may_try():
                self._channel.abort()
                return
            conversation = await self._begin(login, self._authenticate(login))
        except SqlError as error:
            logger.info("login rejected: %s", error)
            self._reply(LoginReply(LoginType.REJECT, server=self._own_name, sqlcode=error.sqlcode))
            return
        identity = self._rules.identity
        version = identity.version.encode("ascii", "replace")
        self._reply(LoginReply(LoginType.ACCEPT, version, _SERIAL_NUMBER, self._own_name))
        await self._serve_requests(conversation)

    @property
    def _address(self) -> str:
        return self._channel.peer.rpartition(":")[0]

    async def _may_try(self) -> bool:
        """Wait while the client's address has too many failed logins; whether it may log in then."""
        loop, failures, address = self._channel.loop, self._rules.failed_logins, self._address
        end = loop.time() + self._rules.login_timeout
        while delay := failures.delay(address, loop.time()):
            if loop.time() + delay > end:
                logger.warning("login from %s: closed, more than %d failed logins a second", address, BURST)
                return False
            closed = asyncio.ensure_future(self._channel.wait_closed())
            await asyncio.wait((closed,), timeout=delay)
            if not closed.cancel():
                return False
        return True

    def _on_failed_login(self, reason: str) -> None:
        self._rules.failed_logins.add(self._address, self._channel.loop.time())
        logger.warning("login from %s: %s", self._address, reason)

    @property
    def _own_name(self) -> bytes:
        return self._rules.identity.name.encode("ascii", "replace")

    def _reply(self, reply: LoginReply) -> None:
        outbox = Outbox()
        put_login_reply(outbox, reply)
        self._channel.send(outbox.detach())

    def _authenticate(self, login: LoginRequest) -> CodeSet:
        """Check the login; returns the client's code set, which is that of its DB_LOCALE.

        Source: documented: the client converts between CLIENT_LOCALE and DB_LOCALE (GLS guide, Perform code-set
        conversion); observed: JDBC, locales.json

        Raises:
            SqlError: -951, wrong user or password; -761, wrong server name; -23101, unknown locale; -25571, too many
                sessions for the option or for the process.
        """
        rules = self._rules
        environment = _environment_of(login)
        try:
            client_code_set = code_set_of(environment.get("CLIENT_LOCALE") or _DEFAULT_LOCALE)
            code_set = code_set_of(environment.get("DB_LOCALE") or self._databases.locale)
        except InterfaceError:
            raise SqlError(_BAD_LOCALE) from None
        for given, wanted in ((login.user, rules.user), (login.password, rules.password)):
            if wanted is not None and not _is_same(given, wanted, client_code_set):
                self._on_failed_login("wrong user or password")
                raise SqlError(_BAD_USER)
        if rules.only_own_name and login.server != self._own_name:
            raise SqlError(_BAD_SERVER)
        if len(self._registry) >= rules.max_sessions or not _has_descriptors():
            raise SqlError(_NO_ROOM)
        return code_set

    async def _begin(self, login: LoginRequest, code_set: CodeSet) -> Conversation:
        """Start the session's thread, and create the conversation in it."""
        entry = self._registry.register(
            self._rules.user or _user_of(login, code_set),
            login.host.decode("latin-1"),
            login.process_id,
            login.application.decode("latin-1"),
        )
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"aioifx-session-{entry.session_id}")
        environment = _environment_of(login)
        settings = Settings(user=entry.user, server=self._rules.identity.name, session_id=entry.session_id)
        settings.routines = self._databases.routines
        settings.dbdate = environment.get("DBDATE", settings.dbdate)
        settings.time_zone = environment.get("TZ", "")
        settings.century = environment.get("DBCENTURY", settings.century)
        self._engine = Engine(
            self._databases,
            self._registry,
            entry,
            settings,
            delimident=environment.get("DELIMIDENT", "n").lower() not in ("n", "no", "0"),
            database_locale=environment.get("DB_LOCALE", ""),
        )
        quirks = self._rules.quirks
        context = (partial(QuirkyContext, quirks=quirks) if quirks else SessionContext)(
            self._engine,
            self._rules.identity,
            code_set,
            statement_limit=self._rules.statement_limit,
            fetch_limit=self._rules.fetch_limit,
            recorder=self._rules.recorder,
            points=self._rules.points,
        )
        self._engine.use_client_files(ClientFiles(context, self._ask, self._push))
        try:
            await self._in_thread(lambda: None)
        except RuntimeError:  # the system has no thread for it
            self._registry.unregister(entry)
            self._engine = None
            raise SqlError(_NO_ROOM) from None
        if login.database:
            name = login.database.decode("latin-1")
            await self._in_thread(open_database, context, name)
            context.has_fixed_database = True
        self._entry, self._context = entry, context
        return QuirkyConversation(context) if isinstance(context, QuirkyContext) else Conversation(context)

    # -- requests ------------------------------------------------------------------------------------------------------

    async def _serve_requests(self, conversation: Conversation) -> None:
        channel = self._channel
        channel.transport.set_write_buffer_limits(high=UNSENT_LIMIT)
        self._taken = channel.inbox.consumed
        has_answered_all = channel.bytes_in == self._taken
        self._conversation = conversation
        self._expected = self._expect(conversation)
        if self._rules.pam is not None and not await self._run_pam(conversation, self._rules.pam):
            return
        while not conversation.has_ended:
            batch = [await self._expected]
            if has_answered_all:
                self._on_turn()
            enough = channel.inbox.consumed + BATCH_BYTES
            while True:
                self._taken = channel.inbox.consumed
                if _changes_reading(batch[-1]):
                    break
                self._expected = self._expect(conversation)
                if not self._expected.done() or len(batch) == BATCH_GROUPS or channel.inbox.consumed > enough:
                    break
                batch.append(self._expected.result())
            if self._rules.points.on_requests:
                await self._rules.points.hold(channel)
            channel.send(await self._in_thread(conversation.answer, batch, self._send_early))
            has_answered_all = channel.bytes_in == self._taken
            self.counts.groups += len(batch)
            await channel.drain()
            if _changes_reading(batch[-1]) and not conversation.has_ended:
                self._expected = self._expect(conversation)

    def _on_turn(self) -> None:
        assert self._entry is not None and self._context is not None
        self.counts.turns += 1
        self._context.round_trips = 1
        self._rules.recorder.on_round_trip(self._entry.database)

    async def _run_pam(self, conversation: Conversation, check: PamCheck) -> bool:
        """SQ_PROTOCOLS and PAM, before any other request.

        A client that skips SQ_PROTOCOLS or has no capability 44 is refused by SQ_EXIT (assumed).
        """
        assert self._expected is not None and self._entry is not None and self._context is not None
        try:
            async with asyncio.timeout(self._rules.login_timeout):
                group = await self._expected
                if len(group) == 1 and isinstance(group[0], Protocols):
                    self._channel.send(await self._in_thread(conversation.answer, [group]))
                if not conversation.capabilities.pam:
                    logger.info("login refused: the client has no PAM")
                    self._channel.send(exit_message())
                    return False
                dialogue = PamDialogue(self._channel.send, self._next_group, self._context.code_set)
                is_accepted = await dialogue.run(check, self._entry.user)
        except TimeoutError:
            logger.info("connection closed: PAM took longer than %g s", self._rules.login_timeout)
            return False
        if is_accepted:
            self._taken = self._channel.inbox.consumed
            self._expected = self._expect(conversation)
        else:
            self._on_failed_login("refused by PAM")
        return is_accepted

    async def _next_group(self) -> list[Request]:
        assert self._conversation is not None
        group = await self._expect(self._conversation)
        self.counts.groups += 1
        return group

    def _ask(self, message: bytes) -> list[Request]:
        """Send a message in the middle of a statement, and return the client's next group; called in the thread."""
        return asyncio.run_coroutine_threadsafe(self._exchange(message), self._channel.loop).result()

    async def _exchange(self, message: bytes) -> list[Request]:
        await self._sent(message)
        assert self._expected is not None and self._conversation is not None
        group = await self._expected
        self._taken = self._channel.inbox.consumed
        self._expected = self._expect(self._conversation)
        return group

    def _push(self, message: bytes) -> None:
        """Send part of a message in the middle of a statement, without more than a buffer unsent."""
        asyncio.run_coroutine_threadsafe(self._sent(message), self._channel.loop).result()

    async def _sent(self, message: bytes) -> None:
        self._channel.send(message)
        await self._channel.drain()

    def _send_early(self, answers: bytes) -> None:
        """Send replies while the thread continues; called in the thread."""
        self._channel.loop.call_soon_threadsafe(self._channel.send, answers)

    def _expect(self, conversation: Conversation) -> asyncio.Future[list[Request]]:
        channel = self._channel
        expected = channel.expect(read_request(channel.inbox, conversation.capabilities))
        if not expected.done() and channel.is_open:
            channel.transport.resume_reading()
        return expected


_DESCRIPTORS: Final = 8
"""Files that a session may open at once: its database's, and another one's (measured: 3 each)."""


def _has_descriptors() -> bool:
    """Whether the process may open as many files as a session needs."""
    opened: list[int] = []
    try:
        for _ in range(_DESCRIPTORS):
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return False
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return True


def _changes_reading(group: Sequence[Request]) -> bool:
    """Whether reading must wait until *group* is answered, because it may change message layouts or end the session."""
    return any(isinstance(message, (Protocols, Exit)) for message in group)


def _is_same(given: bytes, wanted: str, code_set: CodeSet) -> bool:
    """Whether *given* is *wanted* in the client's code set, in Latin-1 or in UTF-8.

    Source: observed: JDBC sends users and passwords in Latin-1, with any locale
    """
    same = False
    for codec in (code_set.codec, "latin-1", "utf-8"):
        with suppress(UnicodeEncodeError):
            same |= hmac.compare_digest(given, wanted.encode(codec))
    return same


def _user_of(login: LoginRequest, code_set: CodeSet) -> str:
    try:
        return code_set.decode(login.user)
    except DataError:
        return login.user.decode("latin-1")


def _environment_of(login: LoginRequest) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in login.environment}
