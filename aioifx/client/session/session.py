"""One session: its database, settings and transactions, and what its statements change. Never: a value, a cursor.

Invariants:
1. The caller holds the lock (`async with session`); locking, cancellation and cleanup belong to the dispatcher.
2. A statement's effect on the session is tracked when its reply arrives, whether or not a task waits for it.
3. Whatever a call leaves at the server (a statement, an open transaction) is released by deferred cleanup, which
   never waits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Final, Self, TypeVar

from aioifx._speedups.operation import Identity
from aioifx.channel import Channel
from aioifx.client.config.addresses import WRITE_ON_SECONDARY
from aioifx.client.config.checks import Lobs
from aioifx.client.config.isolation import isolation_clause, lock_mode_clause
from aioifx.client.config.options import ConnectOptions
from aioifx.client.observation.observation import Observation
from aioifx.client.observation.operation import OperationName
from aioifx.client.session.conversation import Conversation
from aioifx.client.session.database import Database
from aioifx.client.session.failures import raise_for
from aioifx.client.session.fast_path import FastPath, OpenObject
from aioifx.client.session.fetch_size import FetchBuffer
from aioifx.client.session.server_behavior import ServerBehavior
from aioifx.client.session.settings import SessionSettings, Setting
from aioifx.client.session.transactions import Transactions
from aioifx.client.sql.scanner import first_words, named_database, scan, uses_client_file
from aioifx.client.sql.statement_rules import alters_session
from aioifx.codecs.text import CodeSet
from aioifx.errors import DatabaseError, NotSupportedError
from aioifx.sqltypes import SqlType
from aioifx.wire import requests
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.completion import ServerError
from aioifx.wire.opcodes import StatementType
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply

T = TypeVar("T")

DML_TYPES: Final = frozenset(
    int(kind)
    for kind in (
        StatementType.SELECT,
        StatementType.INSERT,
        StatementType.UPDATE,
        StatementType.UPDATE_ALL,
        StatementType.UPDATE_CURRENT,
        StatementType.DELETE,
        StatementType.DELETE_ALL,
        StatementType.DELETE_CURRENT,
    )
)
"""After these, nothing about the session changes."""

_TRANSACTION_TYPES: Final = frozenset(
    int(kind) for kind in (StatementType.BEGIN_WORK, StatementType.COMMIT_WORK, StatementType.ROLLBACK_WORK)
)


class Session:
    """A session after login. Bound to one event loop."""

    def __init__(
        self,
        channel: Channel,
        capabilities: Capabilities,
        options: ConnectOptions,
        *,
        read_ahead: bool = True,
        autofree: bool = False,
        observation: Observation | None = None,
        behavior: ServerBehavior | None = None,
    ) -> None:
        self.observation = observation
        """Reports the operations of the session; None without observers."""
        self.conversation = Conversation(
            channel, capabilities, options, self._on_error, is_observed=observation is not None
        )
        self.channel = channel
        channel.shows_values = options.trace_values
        self.dispatcher = self.conversation.dispatcher
        self.stats = self.conversation.stats
        self.fast_path = FastPath(self.conversation)
        self.open_objects: dict[int, OpenObject] = {}
        """Open BLOB and CLOB objects by their descriptors at the server."""
        self.options = options
        self.code_set = options.code_set
        self.fetch_buffer = FetchBuffer(options.fetch_size)
        self.strip_char = options.strip_char
        self.lobs: Lobs = options.lobs
        self.max_lob_size = options.max_lob_size
        self.conversions = self.base_conversions = options.conversions
        """Conversions of statements prepared from now on, and the baseline for each user of a pooled connection."""
        self.read_ahead = read_ahead
        """False: read rows field by field, without read-ahead."""
        self.autofree = autofree
        """Whether a one-shot statement is released together with its cursor."""
        self.database = Database()
        self.transactions = Transactions(
            self.conversation, self.database, autocommit=options.autocommit, read_only=options.read_only
        )
        self.settings = SessionSettings(
            isolation_clause(options.isolation), lock_mode_clause(options.lock_wait)
        )
        self.behavior = behavior or ServerBehavior()
        """What is known of the server."""
        self.session_id: int | None = None
        """The server's session number, once queried."""
        self.server_name = ""
        """The DBSERVERNAME or alias that was connected to."""
        self.has_lost_primary = False
        """Whether the server is no longer the primary that the options require."""
        self.reconnect: Callable[[], AbstractAsyncContextManager[Session]] | None = None
        """Another session at the same server that sees the same, with OPTOFC=0; None: not available."""
        self.is_resettable = True
        """Whether `reset` restores the session. No longer after a statement such as SET ENVIRONMENT."""
        self.generation = 0
        """Incremented when statements prepared before become invalid or change their meaning."""
        self.users = 0
        """Incremented when the session has another user: its connection was released to its pool."""
        self.known_types: dict[int, SqlType] = {}
        """Types of the open database that were looked up in its catalog, by extended id."""

    @property
    def user(self) -> str:
        """User name of the login."""
        return self.options.user

    @property
    def file_code_set(self) -> CodeSet:
        """Default encoding of text files."""
        return self.options.client_code_set

    # -- lock ---------------------------------------------------------------------------------------------------------

    async def acquire(self, timeout: float | None = None) -> None:
        """`Dispatcher.acquire`, and apply due settings of isolation and lock mode.

        Args:
            timeout: seconds for the whole call instead of command_timeout.
        """
        await self.dispatcher.acquire(timeout=timeout)
        if self.settings.pending:
            try:
                await self.apply_settings()
            except BaseException:
                self.dispatcher.release()
                raise

    def turn(
        self, timeout: float | None = None, *, apply_settings: bool = True, idle: bool = False
    ) -> AbstractAsyncContextManager[object]:
        """``async with session`` with options.

        Args:
            timeout: seconds for the whole call instead of command_timeout.
            apply_settings: False: do not apply due settings of isolation and lock mode; without a timeout.
            idle: wait until no reply is outstanding, with `pipelining` as well; only without settings.
        """
        if not apply_settings:
            return self.conversation.locked(idle=idle)
        return self if timeout is None else _TimedTurn(self, timeout)

    async def __aenter__(self) -> Self:
        """Acquire the lock, which excludes all other tasks until it is released.

        Raises:
            ConnectionLost: the session has ended.
            QueryTimeout: not acquired in time.
        """
        await self.acquire()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.dispatcher.release()

    @property
    def is_open(self) -> bool:
        return self.dispatcher.is_open

    def observed(
        self,
        name: OperationName,
        work: Awaitable[T],
        sql: str = "",
        parameters: int = 0,
        batch_size: int | None = None,
    ) -> Awaitable[T]:
        """*work* as one operation."""
        if self.observation is None:
            return work
        return self.observation.run(
            name, work, sql=sql, parameters=parameters, batch_size=batch_size, session=self
        )

    def identity(self) -> Identity:
        """What operations say of the server and the session."""
        host, port = self.conversation.address
        return host, port, self.server_name, self.database.name, self.options.user, self.session_id

    def _on_error(self, error: ServerError, reply: Reply) -> None:
        """Update the session's state from a reply with an error."""
        if self.options.role == "primary" and error.isamcode in WRITE_ON_SECONDARY:
            self.has_lost_primary = True
        if reply.transaction is not None:
            self.transactions.on_error(error, reply.transaction)

    def check_files(self, sql: str) -> None:
        """Raise NotSupportedError for a statement that needs files of the client, unless an option allows them."""
        if not self.conversation.allows_files and uses_client_file(sql):
            raise NotSupportedError(
                "the statement reads or writes a file of the client; client_files= allows that", sql=sql
            )

    # -- unprepared statements ----------------------------------------------------------------------------------------

    async def run_command(self, sql: str) -> Reply:
        """Prepare, execute and release in one group: for statements without rows and parameters.

        Source: observed: JDBC, select.json (executeUpdate)
        """
        self.check_files(sql)
        if not self.transactions.runs_unchecked:
            await self.transactions.before_run(sql)

        def on_success(reply: Reply) -> None:
            self.on_executed(command_type(reply, sql), reply, sql)

        return await self._run_command(
            sql, on_success, interruptible=True, on_lost=partial(self.transactions.on_reply_lost, sql)
        )

    async def _run_command(
        self,
        sql: str,
        on_success: Callable[[Reply], None],
        *,
        interruptible: bool = False,
        on_lost: Callable[[DatabaseError], None] | None = None,
    ) -> Reply:
        outbox = Outbox()
        requests.put_command(outbox, self.conversation.capabilities, self.code_set.encode(sql))
        self.stats.statements += 1
        reply = await self.conversation.exchange(
            outbox, on_success=on_success, interruptible=interruptible, on_lost=on_lost
        )
        raise_for(reply, sql, self.options)
        return reply

    async def apply_settings(self) -> None:
        """Apply due settings of isolation and lock mode.

        Source: observed: JDBC, transactions.json isolation_1 and 4, session.json opt_IFX_LOCK_MODE_WAIT_17
        """
        for setting in self.settings.pending_changes():
            await self._run_command(setting.sql, partial(self._on_applied, setting, setting.wanted))

    def _on_applied(self, setting: Setting, value: str, _: Reply) -> None:
        self.settings.on_applied(setting, value)

    def on_executed(self, statement_type: int, reply: Reply, sql: str = "") -> None:
        """Track the effect of a successful statement on the transaction and the open database."""
        if statement_type in DML_TYPES:
            return
        if statement_type in _TRANSACTION_TYPES:
            self.transactions.on_executed(statement_type, sql)
        elif statement_type in (StatementType.DATABASE, StatementType.CREATE_DATABASE):
            self.on_database_opened(named_database(sql), reply)
            self.is_resettable = False
        elif statement_type == StatementType.CLOSE_DATABASE:
            self.on_database_opened("", Reply())
            self.is_resettable = False
        elif statement_type == StatementType.SELECT_INTO_TEMP:
            self.is_resettable = False
        elif sql:
            verb = scan(sql).verb
            if verb == "set":
                self.settings.on_user_set(sql)
            # A table's lock ends with its transaction (documented); where there is none, with the session.
            locks = verb == "lock" and not self.database.is_logged
            self.is_resettable = self.is_resettable and not (locks or alters_session(sql))

    def on_database_opened(self, database: str, reply: Reply) -> None:
        """Called when a database was opened; *reply* holds its properties.

        Source: observed: the reply to SQ_DBOPEN; documented for the statements DATABASE and CREATE DATABASE: sqlwarn
        """
        self.known_types.clear()
        self.database.on_opened(database, reply.done.warnings if reply.done else 0)
        self.generation += 1
        self.fast_path.forget()
        for large_object in [*self.open_objects.values()]:
            large_object.forget()
        if reply.done is not None:
            self.settings.on_database_opened(is_logged=self.database.is_logged, is_ansi=self.database.is_ansi)
        else:
            self.settings.on_database_closed()

    # -- baseline -----------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Undo what one user of the session has left. `Pool.release` lists what that is."""
        self.users += 1
        if self.open_objects:
            for large_object in [*self.open_objects.values()]:
                large_object.close_later()
        self.transactions.reset()
        self.settings.reset()
        self.conversions = self.base_conversions

    def try_reset(self, in_use: Collection[object] = ()) -> bool:
        """`reset` after a user who has left nothing behind, as after most calls; False: nothing was done.

        Args:
            in_use: the user's statements that are not released yet.
        """
        if (
            in_use
            or self.open_objects
            or self.transactions.is_changed
            or self.settings.is_changed
            or self.conversions is not self.base_conversions
            or not self.is_resettable
            or self.has_lost_primary
            or self.behavior.keeps_closed_values is False
            or not self.dispatcher.is_clean()
        ):
            return False
        self.users += 1
        return True

    def save_baseline(self) -> None:
        """Make the current settings the baseline for every user of the session."""
        self.settings.save_baseline()
        self.transactions.save_baseline()
        self.base_conversions = self.conversions
        if not self.is_resettable:
            self.reconnect = None
        self.is_resettable = True


def command_type(reply: Reply, sql: str) -> int:
    """The type of a statement that SQ_COMMAND ran; 0 if it is unknown and does not matter.

    Source: observed: the reply may lack SQ_DESCRIBE (14.10)
    """
    if reply.description is not None:
        return reply.description.statement_type
    match first_words(sql, 2):
        case ["insert", *_]:
            return StatementType.INSERT
        case ["create", "database"]:
            return StatementType.CREATE_DATABASE
        case _:
            return 0


class _TimedTurn:
    __slots__ = ("_session", "_timeout")

    def __init__(self, session: Session, timeout: float) -> None:
        self._session = session
        self._timeout = timeout

    async def __aenter__(self) -> Session:
        await self._session.acquire(self._timeout)
        return self._session

    async def __aexit__(self, *_: object) -> None:
        self._session.dispatcher.release()
