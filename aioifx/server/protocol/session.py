"""One client's conversation, seen from this end: login, then groups read and answered in order. Never: SQL parsing.

All that touches the database happens in the session's one thread. While it works, bytes go on coming in: what is
complete when it is done makes its next batch, and a client may send many groups before it reads. Reading a batch is
all that runs on the event loop at a time, and batches are small: other tasks, often the client's own, have their turn.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
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
from aioifx.server.protocol.context import FetchLimit, Identity, SessionContext
from aioifx.server.protocol.dispatch import Conversation
from aioifx.server.protocol.session_handlers import open_database
from aioifx.server.protocol.statement_table import STATEMENT_LIMIT
from aioifx.server.protocol.stats import Counts, SessionStats
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sqlite.databases import Databases
from aioifx.wire.handshake import LoginReply, LoginRequest, put_login_reply, read_login
from aioifx.wire.opcodes import LoginType
from aioifx.wire.outbox import Outbox
from aioifx.wire.requests import Exit, Protocols, Request, read_request

P = ParamSpec("P")
T = TypeVar("T")

logger: Final = logging.getLogger("aioifx.server")

UNSENT_LIMIT: Final = 16 * 1024 * 1024
"""Bytes of answers that may wait for a client that does not read, before its next request has to wait too."""

BATCH_GROUPS: Final = 64
"""Groups that are read in one turn of the event loop, and answered by one visit to the thread, at most."""

READ_AHEAD: Final = 1024 * 1024
"""Bytes that may lie here unread while the thread works; the rest waits at the client's end."""

BATCH_BYTES: Final = 64 * 1024
"""No further group is read in the same turn behind so many bytes."""

CLOSING_SECONDS: Final = 10.0
"""How long a client may take to read its last answers when its session has ended."""

_BAD_USER: Final = -951
_BAD_SERVER: Final = -761
_BAD_LOCALE: Final = -23101
_NO_ROOM: Final = -25571
"""Cannot create a user thread (documented: what LIMITNUMSESSIONS refuses a session with)."""
_DEFAULT_LOCALE: Final = "en_US.8859-1"
_SERIAL_NUMBER: Final = b"Software Serial Number AAA#B000000"  # as in every accept seen (observed)


@dataclass(frozen=True, slots=True)
class LoginPolicy:
    """Who may log in, and what every session is told."""

    identity: Identity
    user: str | None = None
    """None: anybody."""
    password: str | None = field(default=None, repr=False)
    only_own_name: bool = False
    """Whether a client must ask for the server by its name."""
    login_timeout: float = 10.0
    """Seconds in which a login request has to be complete."""
    max_sessions: int = 1000
    """Sessions at a time."""
    statement_limit: int = STATEMENT_LIMIT
    fetch_limit: FetchLimit | None = None


class Session:
    """One client, from login to goodbye."""

    def __init__(
        self, rules: LoginPolicy, databases: Databases, roster: SessionRegistry, channel: Channel
    ) -> None:
        self._rules = rules
        self._databases = databases
        self._roster = roster
        self._channel = channel
        self.counts = Counts()
        self._member: SessionEntry | None = None
        self._desk: SessionContext | None = None
        self._engine: Engine | None = None
        self._thread: ThreadPoolExecutor | None = None

    async def run(self) -> None:
        """Serve the client until one side ends it. Whatever was open is rolled back, whatever happens."""
        try:
            await self._serve()
        except (ConnectError, ConnectionLost):
            logger.debug("the client closed the connection")
        except ProtocolError as error:
            logger.warning("session ended: %s", error)
        except Exception:
            logger.exception("session ended by a defect")
        finally:
            await self._end()

    def stop(self) -> None:
        """Drop the client; `run` then comes to its end."""
        self._channel.abort()
        self.abandon()

    def interrupt(self) -> None:
        """The client wants what runs to end; before its login that means nothing (assumed)."""
        self.counts.interrupts += 1
        if self._engine is not None:
            self._engine.interrupt()

    @property
    def stats(self) -> SessionStats | None:
        """What it is doing, seen from the event loop; None before the login."""
        member, desk, counts = self._member, self._desk, self.counts
        if member is None or desk is None:
            return None
        return SessionStats(
            session_id=member.session_id,
            user=member.user,
            database=member.database,
            in_transaction=desk.engine.in_transaction,
            isolation=desk.engine.isolation.value,
            read_only=desk.engine.read_only,
            lock_wait=desk.engine.manners.lock_wait,
            groups=counts.groups,
            turns=counts.turns,
            interrupts=counts.interrupts,
            statements=len(desk.slots),
            cursors=desk.slots.open_cursors,
            running=desk.engine.running,
            waiting=desk.engine.waiting,
        )

    def abandon(self) -> None:
        """The client is gone: nobody need wait for locks or long queries any more."""
        if self._engine is not None:
            self._engine.interrupt(for_good=True)

    async def _end(self) -> None:
        try:
            if self._engine is not None:
                await self._in_thread(self._engine.close)
        except Exception:
            logger.exception("a session could not be closed properly")
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
            logger.info("a client was dropped: no login within %g s", self._rules.login_timeout)
            self._channel.abort()
            return
        try:
            code_set = self._admit(login)
            conversation = await self._begin(login, code_set)
        except SqlError as fault:
            logger.info("login refused: %s", fault)
            self._reply(LoginReply(LoginType.REJECT, server=self._own_name, sqlcode=fault.sqlcode))
            return
        identity = self._rules.identity
        version = identity.version.encode("ascii", "replace")
        self._reply(LoginReply(LoginType.ACCEPT, version, _SERIAL_NUMBER, self._own_name))
        await self._talk(conversation)

    @property
    def _own_name(self) -> bytes:
        return self._rules.identity.name.encode("ascii", "replace")

    def _reply(self, reply: LoginReply) -> None:
        outbox = Outbox()
        put_login_reply(outbox, reply)
        self._channel.send(outbox.take())

    def _admit(self, login: LoginRequest) -> CodeSet:
        """The code set in which a client that may come in sends and reads text: that of its DB_LOCALE.

        Source:   documented: the client converts between CLIENT_LOCALE and DB_LOCALE (GLS guide, Perform code-set
                  conversion); observed: JDBC, locales.json
        Raises:   SqlFault: -951, wrong user or password; -761, wrong server name; -23101, unknown locale; -25571, too
                  many sessions.
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
                raise SqlError(_BAD_USER)
        if rules.only_own_name and login.server != self._own_name:
            raise SqlError(_BAD_SERVER)
        if len(self._roster) >= rules.max_sessions:
            raise SqlError(_NO_ROOM)
        return code_set

    async def _begin(self, login: LoginRequest, code_set: CodeSet) -> Conversation:
        """Make the session's thread, and in it the session."""
        member = self._roster.enter(
            self._rules.user or _user_of(login, code_set), login.host.decode("latin-1"), login.process_id
        )
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"aioifx-session-{member.session_id}")
        environment = _environment_of(login)
        settings = Settings(user=member.user, server=self._rules.identity.name, session_id=member.session_id)
        settings.routines = self._databases.routines
        settings.dbdate = environment.get("DBDATE", settings.dbdate)
        settings.century = environment.get("DBCENTURY", settings.century)
        self._engine = Engine(
            self._databases,
            self._roster,
            member,
            settings,
            delimident=environment.get("DELIMIDENT", "n").lower() not in ("n", "no", "0"),
            database_locale=environment.get("DB_LOCALE", ""),
        )
        desk = SessionContext(
            self._engine,
            self._rules.identity,
            code_set,
            statement_limit=self._rules.statement_limit,
            fetch_limit=self._rules.fetch_limit,
        )
        if login.database:
            name = login.database.decode("latin-1")
            await self._in_thread(open_database, desk, name)
            desk.has_fixed_database = True
        self._member, self._desk = member, desk
        return Conversation(desk)

    # -- requests ------------------------------------------------------------------------------------------------------

    async def _talk(self, conversation: Conversation) -> None:
        channel = self._channel
        channel.transport.set_write_buffer_limits(high=UNSENT_LIMIT)
        taken = channel.inbox.consumed
        has_answered_all = channel.bytes_in == taken
        expected = self._expect(conversation)
        while not conversation.ended:
            batch = [await expected]
            self.counts.turns += has_answered_all
            enough = channel.inbox.consumed + BATCH_BYTES
            while True:
                taken = channel.inbox.consumed
                if _changes_reading(batch[-1]):
                    break
                expected = self._expect(conversation)
                if not expected.done() or len(batch) == BATCH_GROUPS or channel.inbox.consumed > enough:
                    break
                batch.append(expected.result())
            channel.send(await self._in_thread(conversation.answer, batch, self._send_early))
            has_answered_all = channel.bytes_in == taken
            self.counts.groups += len(batch)
            await channel.drain()
            if _changes_reading(batch[-1]) and not conversation.ended:
                expected = self._expect(conversation)

    def _send_early(self, answers: bytes) -> None:
        """Send what is answered while the thread goes on; called there."""
        self._channel.loop.call_soon_threadsafe(self._channel.send, answers)

    def _expect(self, conversation: Conversation) -> asyncio.Future[list[Request]]:
        channel = self._channel
        expected = channel.expect(read_request(channel.inbox, conversation.capabilities))
        if not expected.done() and channel.is_open:
            channel.transport.resume_reading()
        return expected


def _changes_reading(group: Sequence[Request]) -> bool:
    """Whether what follows *group* can only be read when it has been answered: other layouts, or nothing at all."""
    return any(isinstance(message, (Protocols, Exit)) for message in group)


def _is_same(given: bytes, wanted: str, code_set: CodeSet) -> bool:
    """Whether *given* is *wanted* in the client's code set, in Latin-1 or in UTF-8.

    Source:   observed: JDBC sends users and passwords in Latin-1 whatever its locale is
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
