"""One session's state: transaction, settings, database, and what may run. Never: a Python value, a cursor.

Invariants:
1. The caller holds the lock (`async with session`); locking, cancellation and cleanup belong to the dispatcher.
2. A statement's effect on the session is tracked when its reply arrives, whether or not a task waits for it.
3. Whatever a call leaves at the server (a statement, an open transaction) is released by deferred cleanup, which
   never waits.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from functools import partial
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeAlias

from aioifx.channel import Channel
from aioifx.client.config.addresses import WRITE_ON_SECONDARY, Role
from aioifx.client.config.options import STANDARD_FETCH_SIZE
from aioifx.client.session.conversation import Conversation
from aioifx.client.session.dispatcher import Cleanup
from aioifx.client.session.fetch_size import FetchBuffer
from aioifx.client.session.settings import SessionSettings, Setting
from aioifx.client.sql.hints import hint_for_text
from aioifx.client.sql.scanner import first_words, named_database, scan
from aioifx.client.sql.statement_rules import (
    alters_session,
    check_read_only_text,
    check_read_only_type,
    may_change,
    needs_transaction,
)
from aioifx.codecs.conversions import PLAIN, Conversions
from aioifx.codecs.text import CodeSet
from aioifx.errors import (
    ConnectionLost,
    DatabaseError,
    DataError,
    IntegrityError,
    InterfaceError,
    NotSupportedError,
    ProgrammingError,
    QueryTimeout,
    SQLSyntaxError,
    class_for,
    from_server,
)
from aioifx.wire import requests, session_requests
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.completion import ServerError, TransactionState
from aioifx.wire.opcodes import OpenWarning, StatementType
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply

NOT_IN_TRANSACTION: Final = -255

# As plain ints: arithmetic on flags costs a microsecond.
_TRANSACTIONS: Final = int(OpenWarning.LOGGED | OpenWarning.ANSI)
_ANSI: Final = int(OpenWarning.ANSI)

LogMode: TypeAlias = Literal["ansi", "logged", "unlogged"]
"""Logging mode of a database."""

_LOST: Final = "an error has ended and undone the transaction; roll back before anything else"
_READ_ONLY: Final = "set transaction read only"
_COMMIT_LOST: Final = "the COMMIT was in flight; whether it took effect is unknown"
_STATEMENT_LOST: Final = "the statement was in flight; whether it took effect is unknown"

_UNDO_THEMSELVES: Final = (DataError, IntegrityError, ProgrammingError)
"""Errors that undo only their own statement (documented)."""

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


class Session(Conversation):
    """A session after login. Bound to one event loop."""

    def __init__(
        self,
        channel: Channel,
        capabilities: Capabilities,
        code_set: CodeSet,
        *,
        fetch_size: int = STANDARD_FETCH_SIZE,
        strip_char: bool = False,
        conversions: Conversions = PLAIN,
        read_ahead: bool = True,
        autofree: bool = False,
        command_timeout: float | None = None,
        cancel_timeout: float = 5.0,
        pipelining: bool = False,
        autocommit: bool = True,
        read_only: bool = False,
        settings: SessionSettings | None = None,
        role: Role = "any",
    ) -> None:
        super().__init__(
            channel,
            capabilities,
            command_timeout=command_timeout,
            cancel_timeout=cancel_timeout,
            pipelining=pipelining,
        )
        self.code_set = code_set
        self.file_code_set = code_set
        """Default encoding of text files."""
        self.fetch_buffer = FetchBuffer(fetch_size)
        self.strip_char = strip_char
        self.conversions = self.base_conversions = conversions
        """Conversions of statements prepared from now on, and the baseline for each user of a pooled connection."""
        self.read_ahead = read_ahead
        """False: read rows field by field, without read-ahead."""
        self.autofree = autofree
        """Whether a one-shot statement is released together with its cursor."""
        self.autocommits = autocommit
        """Whether a statement outside a transaction commits by itself; if not, a transaction is started before it."""
        self.read_only = read_only
        self.settings = settings or SessionSettings()
        self._base_autocommit = autocommit  # from the options or a pool's init hook
        self.runs_unchecked = autocommit and not read_only
        """False: `before_run` must be called before each statement."""
        self.in_transaction = False
        self.transaction_aborted = False
        """The server has ended and undone the transaction, and no ROLLBACK was sent since."""
        self._server_read_only = False  # the server rejects changes in the open transaction
        self.session_id: int | None = None
        """The server's session number, once queried."""
        self.user = ""
        """User name of the login."""
        self.server_name = ""
        """The DBSERVERNAME or alias that was connected to."""
        self.database = ""
        """Name of the open database; empty if none is open."""
        self.open_warnings = 0
        """Warning bits of SQ_DBOPEN's reply; see OpenWarning."""
        self.is_ansi = False
        """Whether a transaction is always open."""
        self.role: Role = role
        self.lost_primary = False
        """Whether the server no longer has the role that it was chosen for."""
        self.is_tainted = False
        """Whether a statement has changed session state that cannot be restored, such as SET ENVIRONMENT."""
        self.generation = 0
        """Incremented when statements prepared before become invalid or change their meaning."""
        self._rollback_pending = False  # a transaction was abandoned; its BEGIN may be in flight

    # -- lock ---------------------------------------------------------------------------------------------------------

    async def acquire(self, timeout: float | None = None) -> None:
        """`Dispatcher.acquire`, and apply due settings of isolation and lock mode.

        Args:     timeout: seconds for the whole call instead of command_timeout.
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

        Args:     timeout: seconds for the whole call instead of command_timeout.
                  apply_settings: False: do not apply due settings of isolation and lock mode; without a timeout.
                  idle: wait until no reply is outstanding, with `pipelining` as well; only without settings.
        """
        if not apply_settings:
            return self.locked(idle=idle)
        return self if timeout is None else _TimedTurn(self, timeout)

    async def __aenter__(self) -> Self:
        """Acquire the lock, which excludes all other tasks until it is released.

        Raises:   ConnectionLost: the session has ended. QueryTimeout: not acquired in time.
        """
        await self.acquire()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.dispatcher.release()

    def on_error(self, error: ServerError, reply: Reply) -> None:
        """Further updates from a reply with an error."""
        super().on_error(error, reply)
        state = reply.transaction
        if self.role == "primary" and error.isamcode in WRITE_ON_SECONDARY:
            self.lost_primary = True
        if state is not None and self._ends_transaction(state, error):
            self.in_transaction, self.transaction_aborted, self.runs_unchecked = False, True, False

    def _ends_transaction(self, state: TransactionState, error: ServerError) -> bool:
        """Whether the server reports that it has ended the transaction because of this error, such as -458.

        Source:   the layout is documented, the numbers are assumed: level 0 after a higher one means "no transaction";
                  a live long transaction would confirm it. It is used only where a mistake is harmless: after an error
                  that does not just undo its own statement (documented), and not in an ANSI database, where a
                  transaction is always open. It never opens a transaction, and COMMIT is always sent.
        """
        return (
            self.in_transaction
            and not self.is_ansi
            and state.level == 0 < state.previous
            and not issubclass(class_for(error.sqlcode, error.isamcode), _UNDO_THEMSELVES)
        )

    # -- deferred cleanup ---------------------------------------------------------------------------------------------

    def rollback_later(self) -> None:
        """Queue the rollback of an abandoned transaction.

        Its BEGIN or ROLLBACK may still be in flight, so ROLLBACK is sent in any case.
        """
        self._rollback_pending = True
        self._no_transaction()
        self.dispatcher.defer(Cleanup(session_requests.put_rollback, self._on_deferred_rollback))

    def _on_deferred_rollback(self, reply: Reply) -> None:
        self._rollback_pending = False
        self._check_rollback(reply)

    def set_autocommit(self, value: bool) -> None:
        """Set autocommit, from the next statement on.

        Raises:   InterfaceError: not a bool; a transaction is open; a call is in flight. NotSupportedError: False, and
                  the database has no log.
        """
        if not isinstance(value, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InterfaceError(f"autocommit: expected True or False, got {type(value).__name__}")
        self.dispatcher.owner.check()
        self.check_open()
        if self.in_transaction or self.transaction_aborted:
            raise InterfaceError("autocommit: cannot change in a transaction; commit or roll back first")
        if self.dispatcher.is_acquired:
            raise InterfaceError("autocommit: cannot change while a call of this connection is in flight")
        if not value and self.database:
            self.check_logged()
        self.autocommits = value
        self._no_transaction()

    def _no_transaction(self) -> None:
        self.in_transaction = self.transaction_aborted = False
        self.runs_unchecked = self.autocommits and not self.read_only

    def _check_rollback(self, reply: Reply) -> None:
        """Close the connection if the rollback failed: later statements would be part of the transaction."""
        error = reply.error
        if error is not None and error.sqlcode != NOT_IN_TRANSACTION:
            self.channel.abort(ConnectionLost(f"a transaction could not be rolled back: {failure_of(error)}"))

    def rollback_to_later(self, name: bytes) -> None:
        """Queue the rollback to an abandoned savepoint; the work after it is undone."""
        self.dispatcher.defer(
            Cleanup(
                lambda outbox: session_requests.put_rollback_savepoint(outbox, name),
                self._check_rollback,
                lambda: self.in_transaction,
            )
        )

    def commit_later(self) -> None:
        """`autocommit` without waiting: after a query, and after a failure, whose error is the one to raise.

        Source:   observed: JDBC commits after every failed statement (errors.json, exec_268)
        """
        if self._ansi_autocommit():
            self.dispatcher.defer(Cleanup(session_requests.put_commit, still_needed=self._ansi_autocommit))

    # -- unprepared statements ----------------------------------------------------------------------------------------

    async def run_command(self, sql: str) -> Reply:
        """Prepare, execute and release in one group: for statements without rows and parameters.

        Source:   observed: JDBC, select.json (executeUpdate)
        """
        if not self.runs_unchecked:
            await self.before_run(sql)

        def on_success(reply: Reply) -> None:
            self.on_executed(reply.description.statement_type if reply.description else 0, reply, sql)

        return await self._run_command(
            sql, on_success, interruptible=True, on_lost=partial(self.on_reply_lost, sql)
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
        requests.put_command(outbox, self.capabilities, self.code_set.encode(sql))
        self.stats.statements += 1
        reply = await self.exchange(
            outbox, on_success=on_success, interruptible=interruptible, on_lost=on_lost
        )
        raise_for(reply, sql)
        return reply

    async def apply_settings(self) -> None:
        """Apply due settings of isolation and lock mode.

        Source:   observed: JDBC, transactions.json isolation_1 and 4, session.json opt_IFX_LOCK_MODE_WAIT_17
        """
        for setting in self.settings.pending_changes():
            await self._run_command(setting.sql, partial(self._on_applied, setting, setting.wanted))

    def _on_applied(self, setting: Setting, value: str, _: Reply) -> None:
        self.settings.on_applied(setting, value)

    async def before_run(self, sql: str, statement_type: int | None = None) -> None:
        """Call before a statement runs, unless `runs_unchecked`: checks that it may run, and starts the transaction
        that it needs.

        Args:     statement_type: as described by the server, if it has.
        Raises:   ProgrammingError: a change on a read-only connection. InterfaceError: part of a transaction that the
                  server has ended. Otherwise as `begin`.
        Source:   observed: JDBC sends BEGIN after PREPARE, before the first execution (transactions.json select_in_tx,
                  prepared_in_tx, savepoint_first)
        """
        self.check(sql, statement_type)
        if not (self.autocommits or self.in_transaction) and self.is_logged and needs_transaction(sql):
            await self.begin()

    def check(self, sql: str, statement_type: int | None = None) -> None:
        """Raise if a statement must not run now.

        Raises:   InterfaceError: part of a transaction that the server has ended. ProgrammingError: not a query, on a
                  read-only connection; in a read-only transaction the server checks that.
        """
        if self.transaction_aborted and scan(sql).verb not in ("commit", "rollback"):
            raise InterfaceError(_LOST)
        if self.read_only and not (self._server_read_only and self.in_transaction):
            check_read_only_text(sql)
            if statement_type is not None:
                check_read_only_type(statement_type, sql)

    def on_executed(self, statement_type: int, reply: Reply, sql: str = "") -> None:
        """Track the effect of a successful statement on the transaction and the open database."""
        if statement_type in DML_TYPES:
            return
        if statement_type == StatementType.BEGIN_WORK:
            self.in_transaction, self._server_read_only = not self._rollback_pending, False
        elif statement_type in (StatementType.COMMIT_WORK, StatementType.ROLLBACK_WORK):
            if "savepoint" not in first_words(sql, 4):  # ROLLBACK WORK TO SAVEPOINT
                self._no_transaction()
        elif statement_type in (StatementType.DATABASE, StatementType.CREATE_DATABASE):
            self.on_database_opened(named_database(sql), reply)
            self.is_tainted = True
        elif statement_type == StatementType.CLOSE_DATABASE:
            self.on_database_opened("", Reply())
            self.is_tainted = True
        elif statement_type == StatementType.SELECT_INTO_TEMP:
            self.is_tainted = True
        elif sql:
            verb = scan(sql).verb
            if verb == "set":
                self.settings.on_user_set(sql)
            # A table's lock ends with its transaction (documented); where there is none, with the session.
            locks = verb == "lock" and not self.is_logged
            self.is_tainted = self.is_tainted or locks or alters_session(sql)

    def on_database_opened(self, database: str, reply: Reply) -> None:
        """Called when a database was opened; *reply* holds its properties.

        Source:   observed: the reply to SQ_DBOPEN; documented for the statements DATABASE and CREATE DATABASE: sqlwarn
        """
        self.database = database
        self.open_warnings = reply.done.warnings if reply.done else 0
        self.is_ansi = self.open_warnings & _ANSI != 0
        self.generation += 1
        if reply.done is not None:
            self.settings.on_database_opened(is_logged=self.is_logged, is_ansi=self.is_ansi)
        else:
            self.settings.on_database_closed()

    def on_reply_lost(self, sql: str, error: DatabaseError) -> None:
        """Add a note to *error*, raised instead of a statement's reply, if the statement may have taken effect.

        A statement in a transaction is undone with it. In an ANSI database the COMMIT after a statement is still sent
        after a timeout, but not after the end of the connection.
        """
        note_sql(error, sql)
        if scan(sql).verb == "commit":
            if self.in_transaction or self.is_ansi:
                _on_commit_lost(error)
        elif may_change(sql) and not self.in_transaction:
            if not self._ansi_autocommit() or isinstance(error, QueryTimeout):
                _note_unknown(error, _STATEMENT_LOST)

    # -- transactions -------------------------------------------------------------------------------------------------

    @property
    def is_logged(self) -> bool:
        """Whether the open database has transactions; an ANSI database always has (observed: JDBC, session.json)."""
        return self.open_warnings & _TRANSACTIONS != 0

    @property
    def log_mode(self) -> LogMode | None:
        """Logging mode of the open database; None if none is open."""
        if not self.database:
            return None
        return "ansi" if self.is_ansi else "logged" if self.is_logged else "unlogged"

    @property
    def needs_hold_cursor(self) -> bool:
        """Whether a cursor that is fetched in several calls needs HOLD.

        Needed outside a transaction, where another task may COMMIT between two blocks. A cursor opened in a transaction
        ends with it.
        """
        return self.is_logged and self.autocommits and not self.in_transaction

    @property
    def sends_row_by_row(self) -> bool:
        """Whether the rows of a query may arrive one at a time, each with its own SQ_DONE.

        Source:   documented: cursors of an ANSI database are update cursors unless the transaction is READ ONLY
        """
        return self.is_ansi and not (self._server_read_only and self.in_transaction)

    async def begin(self, *, read_only: bool = False) -> None:
        """BEGIN WORK, and SET TRANSACTION READ ONLY if asked for; no BEGIN in an ANSI database, where it would fail.

        After any failure no transaction is open.

        Raises:   NotSupportedError: the database has no log, so it has no rollback.
                  InterfaceError: a transaction is already open, or was ended by the server.
        """
        self.check_logged()
        if self.in_transaction:
            raise InterfaceError("a transaction is already open")
        if self.transaction_aborted:
            raise InterfaceError(_LOST)
        try:
            if self.is_ansi:
                self.in_transaction, self._server_read_only = True, False
            else:
                await self._transaction_command(session_requests.put_begin, StatementType.BEGIN_WORK)
            if read_only or self.read_only:
                await self._run_command(_READ_ONLY, self._on_read_only)
        except BaseException as error:
            if self.in_transaction or is_cancelled_or_timed_out(error):
                await self.rollback_after(error)
            raise

    def _on_read_only(self, _: Reply) -> None:
        self._server_read_only = True

    def check_logged(self) -> None:
        """Raise NotSupportedError unless the database has transactions."""
        if not self.is_logged:
            raise NotSupportedError("the database is not logged: it has no transactions", sqlcode=-256)

    async def commit(self) -> None:
        """COMMIT WORK. If the wait is cancelled and the COMMIT fails, the transaction is rolled back.

        Raises:   ConnectionLost, QueryTimeout: with `outcome_unknown`, if COMMIT was sent and may have taken effect.
        """
        await self._transaction_command(
            session_requests.put_commit,
            StatementType.COMMIT_WORK,
            self._on_commit_orphan,
            on_lost=_on_commit_lost,
        )

    def _on_commit_orphan(self, reply: Reply) -> None:
        if reply.error is not None and reply.error.sqlcode == NOT_IN_TRANSACTION:
            self._no_transaction()
        elif reply.error is not None:
            self.rollback_later()

    async def rollback(self) -> None:
        """ROLLBACK WORK."""
        await self._transaction_command(
            session_requests.put_rollback, StatementType.ROLLBACK_WORK, self._on_rollback_orphan
        )

    def _on_rollback_orphan(self, reply: Reply) -> None:
        self._no_transaction()
        self._check_rollback(reply)

    async def rollback_after(self, error: BaseException) -> None:
        """Roll back after *error*, which the caller raises; only after an ordinary error is the rollback awaited."""
        if is_cancelled_or_timed_out(error):
            self.rollback_later()
        else:
            await self.rollback_or_close()

    async def rollback_or_close(self) -> None:
        """ROLLBACK WORK after a failure that may already have ended the transaction (-255).

        A failed rollback closes the connection: later statements would run inside that transaction.
        """
        await self._or_close(self.rollback())

    async def _or_close(self, rollback: Coroutine[Any, Any, None]) -> None:
        try:
            await rollback
        except QueryTimeout:
            pass  # the reply is checked when it arrives
        except DatabaseError as error:
            if self.is_open and error.sqlcode != NOT_IN_TRANSACTION:
                self.channel.abort(
                    ConnectionLost(
                        f"the connection was closed: a transaction could not be rolled back: {error}"
                    )
                )

    async def set_savepoint(self, name: bytes) -> None:
        """SAVEPOINT; reusing a name moves the savepoint."""
        await self._transaction_command(partial(session_requests.put_set_savepoint, name=name))

    async def release_savepoint(self, name: bytes) -> None:
        """RELEASE SAVEPOINT: the work after it becomes part of the enclosing transaction."""
        await self._transaction_command(partial(session_requests.put_release_savepoint, name=name))

    async def rollback_to_savepoint(self, name: bytes) -> None:
        """ROLLBACK TO SAVEPOINT: the work after it is undone."""
        await self._transaction_command(
            partial(session_requests.put_rollback_savepoint, name=name), on_orphan=self._check_rollback
        )

    async def rollback_to_or_close(self, name: bytes) -> None:
        """`rollback_or_close` for a savepoint."""
        if self.in_transaction:
            await self._or_close(self.rollback_to_savepoint(name))

    async def autocommit(self) -> None:
        """In an ANSI database, outside the user's own transaction: commit the implicit one.

        Source:   assumed, from JDBC's commit after its own query in such a database (session.json); a live ANSI
                  database would show whether a statement without rows needs it, too. -255, nothing to commit, is
                  ignored.
        """
        if self._ansi_autocommit():
            outbox = Outbox()
            session_requests.put_commit(outbox)
            reply = await self.exchange(outbox, on_lost=_on_commit_lost)
            if reply.error is not None and reply.error.sqlcode != NOT_IN_TRANSACTION:
                raise_for(reply)

    def _ansi_autocommit(self) -> bool:
        return self.is_ansi and self.autocommits and not self.in_transaction

    async def _transaction_command(
        self,
        put: Callable[[Outbox], None],
        effect: StatementType | None = None,
        on_orphan: Callable[[Reply], None] | None = None,
        on_lost: Callable[[DatabaseError], None] | None = None,
    ) -> None:
        outbox = Outbox()
        put(outbox)
        on_success = None if effect is None else partial(self.on_executed, effect)
        reply = await self.exchange(outbox, on_success=on_success, on_orphan=on_orphan, on_lost=on_lost)
        if reply.error is not None and reply.error.sqlcode == NOT_IN_TRANSACTION:
            self._no_transaction()
        raise_for(reply)

    # -- ping, reset, exit --------------------------------------------------------------------------------------------

    async def ping(self) -> None:
        """One round trip that runs no statement. Any reply will do.

        Source:   observed: JDBC's isValid, session.json
        """
        outbox = Outbox()
        session_requests.put_version(outbox)
        await self.exchange(outbox)

    def restore_baseline(self) -> None:
        """Undo the settings of one user of the session: transaction, isolation, lock mode."""
        self.autocommits = self._base_autocommit
        if self.in_transaction or self.transaction_aborted:
            self.rollback_later()
        else:
            self._no_transaction()
        self.settings.restore_baseline()
        self.conversions = self.base_conversions

    def save_baseline(self) -> None:
        """Make the current settings the baseline for every user of the session."""
        self.settings.save_baseline()
        self._base_autocommit = self.autocommits
        self.base_conversions = self.conversions
        self.is_tainted = False

    async def exit(self) -> None:
        """SQ_EXIT, then close. The server rolls back an open transaction.

        Wire:     2 opcode, no SQ_EOT; the reply is SQ_EXIT, then the server closes (observed: JDBC, login.json)
        """
        if self.is_open:
            outbox = Outbox()
            session_requests.put_exit(outbox)
            self.dispatcher.send(outbox.take(), self._usual_reader)
            self.stats.round_trips += 1
            self.dispatcher.begin_close()
        self.channel.close_when_answered()
        await self.channel.wait_closed()


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


def raise_for(reply: Reply, sql: str | None = None, row_index: int | None = None) -> None:
    """Raise the error in a reply: the server's first, then a value that could not be decoded."""
    if reply.error is not None:
        raise failure_of(reply.error, sql, row_index)
    if reply.bad_value is not None:
        if sql is not None:
            note_sql(reply.bad_value, sql)
        raise reply.bad_value


def failure_of(error: ServerError, sql: str | None = None, row_index: int | None = None) -> DatabaseError:
    """The exception for an SQ_ERR."""
    failure = from_server(
        error.sqlcode,
        error.isamcode,
        offset=error.offset,
        token=error.token,
        sql=sql,
        row_index=row_index,
        sqlstate=error.sqlstate,
        text=error.text,
    )
    if sql is not None and isinstance(failure, SQLSyntaxError) and (hint := hint_for_text(sql)):
        failure.add_note(hint)
    return failure


def note_sql(error: BaseException, sql: str) -> None:
    """Add the statement's text to its error, unless it is there."""
    if isinstance(error, DatabaseError) and error.sql is None:
        error.sql = sql


def _on_commit_lost(error: DatabaseError) -> None:
    _note_unknown(error, _COMMIT_LOST)


def _note_unknown(error: DatabaseError, note: str) -> None:
    if not error.outcome_unknown:
        error.outcome_unknown = True
        error.add_note(note)


def is_cancelled_or_timed_out(error: BaseException) -> bool:
    """Whether *error* is a cancellation or a timeout, after which cleanup is deferred instead of awaited."""
    return not isinstance(error, Exception) or isinstance(error, QueryTimeout)
