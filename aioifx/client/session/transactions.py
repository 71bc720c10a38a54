"""Transactions of one session: BEGIN, COMMIT, ROLLBACK, savepoints, autocommit. Never: rows, isolation, lock mode.

Invariants:
1. The caller holds the lock. What a call leaves open at the server is rolled back by deferred cleanup.
2. The status follows the replies, whether or not a task waits for them; `NEXT` holds every change of it.
3. A transaction that cannot be rolled back closes the connection: later statements would run inside it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

from aioifx.client.config.checks import check_flag
from aioifx.client.session.cleanup import Cleanup
from aioifx.client.session.conversation import Conversation
from aioifx.client.session.database import Database
from aioifx.client.session.failures import failure_of, is_cancelled_or_timed_out, note_sql, raise_for
from aioifx.client.session.transaction_status import NEXT, TransactionEvent, TransactionStatus
from aioifx.client.sql.scanner import first_words, scan
from aioifx.client.sql.statement_rules import (
    check_read_only_text,
    check_read_only_type,
    may_change,
    needs_transaction,
)
from aioifx.errors import (
    ConnectionLost,
    DatabaseError,
    DataError,
    IntegrityError,
    InterfaceError,
    NotSupportedError,
    ProgrammingError,
    QueryTimeout,
    class_for,
)
from aioifx.wire import requests, session_requests
from aioifx.wire.completion import ServerError, TransactionState
from aioifx.wire.opcodes import StatementType
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply

NOT_IN_TRANSACTION: Final = -255

_LOST: Final = "an error has ended and undone the transaction; roll back before anything else"
_READ_ONLY_SQL: Final = b"set transaction read only"
_COMMIT_LOST: Final = "the COMMIT was in flight; whether it took effect is unknown"
_STORED: Final = (
    "rows that were in flight as the transaction ended were executed outside of it, and may be stored"
)
_STATEMENT_LOST: Final = "the statement was in flight; whether it took effect is unknown"

_UNDO_THEMSELVES: Final = (DataError, IntegrityError, ProgrammingError)
"""Errors that undo only their own statement (documented)."""


class Transactions:
    """Transaction control of one session.

    Args:
        autocommit: the options.
        read_only: the options.
    """

    def __init__(
        self, conversation: Conversation, database: Database, *, autocommit: bool, read_only: bool
    ) -> None:
        self.status = TransactionStatus.NONE
        self.is_open = False
        """Whether a transaction is open, in an ANSI database the user's own. Stored because each call reads it."""
        self.autocommit = autocommit
        """Whether a statement outside a transaction commits by itself; if not, a transaction is started before it."""
        self.read_only = read_only
        self.runs_unchecked = autocommit and not read_only
        """False: `before_run` must be called before each statement. Stored because each call reads it."""
        self._conversation = conversation
        self._dispatcher = conversation.dispatcher
        self._database = database
        self.ended_by: ServerError | None = None
        """The last error with which the server ended a transaction."""
        self.orphan: Reply | None = None
        """The last reply to a COMMIT whose caller was cancelled; None if there was none."""
        self._in_block = False  # a `transaction()` block is open
        self.ended_inside = ""
        """What has ended the transaction of the open blocks, as a sentence; empty if nothing has."""
        self._base_autocommit = autocommit  # from the options or a pool's init hook
        self.is_changed = False
        """Whether there is anything to undo for `reset`. Stored because each release to a pool reads it."""

    # -- status -------------------------------------------------------------------------------------------------------

    @property
    def is_aborted(self) -> bool:
        """Whether the server has ended and undone the transaction, and no ROLLBACK was sent since."""
        return self.status is TransactionStatus.ABORTED

    @property
    def needs_hold_cursor(self) -> bool:
        """Whether a cursor that is fetched in several calls needs HOLD.

        Needed outside a transaction, where another task may COMMIT between two blocks. A cursor opened in a transaction
        ends with it.
        """
        return self._database.is_logged and self.autocommit and not self.is_open

    @property
    def sends_row_by_row(self) -> bool:
        """Whether the rows of a query may arrive one at a time, each with its own SQ_DONE.

        Source: documented: cursors of an ANSI database are update cursors unless the transaction is READ ONLY
        """
        return self._database.is_ansi and self.status is not TransactionStatus.READ_ONLY

    def _on(self, event: TransactionEvent) -> None:
        self.status = NEXT[self.status].get(event, self.status)
        self.is_open = self.status.is_open
        self._update()

    def _update(self) -> None:
        self.runs_unchecked = (
            (self.autocommit or self.is_open)
            and not self.read_only
            and self.status is not TransactionStatus.ABORTED
            and not self.ended_inside
        )
        self.is_changed = (
            self.status is not TransactionStatus.NONE or self.autocommit is not self._base_autocommit
        )

    def _on_ended(self, by: str) -> None:
        """Called when the server has no transaction, and no block has ended it.

        Args:
            by: what has ended it, for the error if a block is open.
        """
        if self._in_block and not self.ended_inside:
            self.ended_inside = f"{by} inside the transaction() block has ended its transaction"
        self._on(TransactionEvent.ENDED)

    def enter_block(self) -> None:
        """Call when a `transaction()` block has begun."""
        self._in_block = True

    def leave_blocks(self) -> None:
        """Call when the outermost block ends, before its transaction does."""
        self._in_block, self.ended_inside = False, ""
        self._update()

    def check_block(self) -> None:
        """Raise InterfaceError if blocks are open and their transaction has ended."""
        if self.ended_inside:
            raise InterfaceError(
                f"{self.ended_inside}; use the block's commit() or rollback(), or let it end"
            )

    def on_executed(self, statement_type: int, sql: str = "") -> None:
        """Track the effect of a successful BEGIN WORK, COMMIT WORK or ROLLBACK WORK."""
        if statement_type == StatementType.BEGIN_WORK:
            self._on(TransactionEvent.BEGUN)
        elif "savepoint" not in first_words(sql, 4):  # ROLLBACK WORK TO SAVEPOINT
            verb = "COMMIT" if statement_type == StatementType.COMMIT_WORK else "ROLLBACK"
            self._on_ended(f"a {verb} WORK statement")

    def on_error(self, error: ServerError, state: TransactionState) -> None:
        """Track that the server reports that it has ended the transaction because of an error, such as -458.

        Source: the layout is documented, the numbers are assumed: level 0 after a higher one means "no transaction"; a
        live long transaction would confirm it. It is used only where a mistake is harmless: after an error that does
        not just undo its own statement (documented), and not in an ANSI database, where a transaction is always open.
        It never opens a transaction, and COMMIT is always sent.
        """
        if (
            not self._database.is_ansi
            and state.level == 0 < state.previous
            and not issubclass(class_for(error.sqlcode, error.isamcode), _UNDO_THEMSELVES)
        ):
            self.ended_by = error
            self._on(TransactionEvent.ENDED_BY_ERROR)

    def on_reply_lost(self, sql: str, error: DatabaseError) -> None:
        """Add a note to *error*, raised instead of a statement's reply, if the statement may have taken effect.

        A statement in a transaction is undone with it. In an ANSI database the COMMIT after a statement is still sent
        after a timeout, but not after the end of the connection.
        """
        note_sql(error, sql)
        if scan(sql).verb == "commit":
            if self.is_open or self._database.is_ansi:
                _on_commit_lost(error)
        elif may_change(sql) and not self.is_open:
            if not self._commits_implicitly() or isinstance(error, QueryTimeout):
                _note_unknown(error, _STATEMENT_LOST)

    # -- before a statement -------------------------------------------------------------------------------------------

    async def before_run(self, sql: str, statement_type: int | None = None) -> None:
        """Call before a statement runs, unless `runs_unchecked`: checks that it may run, and starts the transaction
        that it needs.

        Source: observed: JDBC sends BEGIN after PREPARE, before the first execution (transactions.json select_in_tx,
        prepared_in_tx, savepoint_first)

        Args:
            statement_type: as described by the server, if it has.

        Raises:
            ProgrammingError: a change on a read-only connection.
            InterfaceError: part of a transaction that the server or a statement has ended. Otherwise as `begin`.
        """
        self.check(sql, statement_type)
        if not (self.autocommit or self.is_open) and self._database.is_logged and needs_transaction(sql):
            await self.begin()

    def check(self, sql: str, statement_type: int | None = None) -> None:
        """Raise if a statement must not run now.

        Raises:
            InterfaceError: part of a transaction that the server or a statement has ended.
            ProgrammingError: not a query, on a read-only connection; in a read-only transaction the server checks that.
        """
        self.check_block()
        if self.is_aborted and scan(sql).verb not in ("commit", "rollback"):
            raise InterfaceError(_LOST)
        if self.read_only and self.status is not TransactionStatus.READ_ONLY:
            check_read_only_text(sql)
            if statement_type is not None:
                check_read_only_type(statement_type, sql)

    def check_logged(self) -> None:
        """Raise NotSupportedError unless the database has transactions."""
        if not self._database.is_logged:
            raise NotSupportedError("the database is not logged: it has no transactions", sqlcode=-256)

    # -- autocommit ---------------------------------------------------------------------------------------------------

    def set_autocommit(self, value: bool) -> None:
        """Set autocommit, from the next statement on.

        Raises:
            InterfaceError: not a bool; a transaction is open; a call is in flight.
            NotSupportedError: False, and the database has no log.
        """
        check_flag("autocommit", value)
        self._dispatcher.binding.check()
        self._dispatcher.check_open()
        if self.is_open or self.is_aborted:
            raise InterfaceError("autocommit: cannot change in a transaction; commit or roll back first")
        if self._dispatcher.is_acquired:
            raise InterfaceError("autocommit: cannot change while a call of this connection is in flight")
        if not value and self._database.name:
            self.check_logged()
        self.autocommit = value
        self._update()

    async def commit_implicit(self) -> None:
        """In an ANSI database, outside the user's own transaction: commit the implicit one.

        Source: assumed, from JDBC's commit after its own query in such a database (session.json); a live ANSI database
        would show whether a statement without rows needs it, too. -255, nothing to commit, is ignored.
        """
        if self._commits_implicitly():
            outbox = Outbox()
            session_requests.put_commit(outbox)
            reply = await self._conversation.exchange(outbox, on_lost=_on_commit_lost)
            if reply.error is not None and reply.error.sqlcode != NOT_IN_TRANSACTION:
                raise_for(reply)

    def commit_later(self) -> None:
        """`commit_implicit` without waiting: after a query, and after a failure, whose error is the one to raise.

        Source: observed: JDBC commits after every failed statement (errors.json, exec_268)
        """
        if self._commits_implicitly():
            self._dispatcher.defer(
                Cleanup(session_requests.put_commit, still_needed=self._commits_implicitly)
            )

    def _commits_implicitly(self) -> bool:
        return self._database.is_ansi and self.autocommit and not self.is_open and not self.ended_inside

    def reset(self) -> None:
        """Undo what one user of the session has left: an open transaction, another autocommit."""
        if self.autocommit != self._base_autocommit:
            self.autocommit = self._base_autocommit
            self._update()
        if self.is_open or self.is_aborted:
            self.rollback_later()

    def save_baseline(self) -> None:
        """Make the current autocommit the one that `reset` returns to."""
        self._base_autocommit = self.autocommit
        self._update()

    # -- BEGIN, COMMIT, ROLLBACK --------------------------------------------------------------------------------------

    async def begin(self, *, read_only: bool = False) -> None:
        """BEGIN WORK, and SET TRANSACTION READ ONLY if asked for; no BEGIN in an ANSI database, where it would fail.

        After any failure no transaction is open.

        Raises:
            NotSupportedError: the database has no log, so it has no rollback.
            InterfaceError: a transaction is already open, or was ended by the server.
        """
        self.check_logged()
        self._check_none()
        # With pipelining, the reply to a deferred ROLLBACK may still be in flight.
        self._on(TransactionEvent.BEGINNING)
        try:
            if self._database.is_ansi:
                self._on(TransactionEvent.BEGUN)
            else:
                await self._run(session_requests.put_begin, TransactionEvent.BEGUN)
            if read_only or self.read_only:
                await self._make_read_only()
        except BaseException as error:
            if self.is_open or is_cancelled_or_timed_out(error):
                await self.rollback_after(error)
            raise

    def _check_none(self) -> None:
        if self.is_open:
            raise InterfaceError("a transaction is already open")
        self.check_block()
        if self.is_aborted:
            raise InterfaceError(_LOST)

    async def _make_read_only(self) -> None:
        outbox = Outbox()
        requests.put_command(outbox, self._conversation.capabilities, _READ_ONLY_SQL)
        self._conversation.stats.statements += 1
        raise_for(
            await self._conversation.exchange(
                outbox, on_success=lambda _: self._on(TransactionEvent.MADE_READ_ONLY)
            ),
            _READ_ONLY_SQL.decode(),
        )

    async def commit(self) -> None:
        """COMMIT WORK. If the wait is cancelled and the COMMIT fails, the transaction is rolled back.

        Raises:
            ConnectionLost, QueryTimeout: with `outcome_unknown`, if COMMIT was sent and may have taken effect.
        """
        await self._run(
            session_requests.put_commit,
            TransactionEvent.ENDED,
            self._on_commit_orphan,
            on_lost=_on_commit_lost,
        )

    def _on_commit_orphan(self, reply: Reply) -> None:
        self.orphan = reply
        if reply.error is not None and reply.error.sqlcode == NOT_IN_TRANSACTION:
            self._on(TransactionEvent.ENDED)
        elif reply.error is not None:
            self.rollback_later()

    async def rollback(self) -> None:
        """ROLLBACK WORK."""
        await self._run(session_requests.put_rollback, TransactionEvent.ENDED, self._on_rollback_orphan)

    def _on_rollback_orphan(self, reply: Reply) -> None:
        self._on(TransactionEvent.ENDED)
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

    def rollback_later(self) -> None:
        """Queue the rollback of an abandoned transaction.

        Its BEGIN or ROLLBACK may still be in flight, so ROLLBACK is sent in any case.
        """
        self._on(TransactionEvent.ABANDONED)
        self._dispatcher.defer(Cleanup(session_requests.put_rollback, self._on_deferred_rollback))

    def _on_deferred_rollback(self, reply: Reply) -> None:
        self._on(TransactionEvent.ROLLED_BACK)
        self._check_rollback(reply)

    def _check_rollback(self, reply: Reply) -> None:
        """Close the connection if the rollback failed."""
        error = reply.error
        if error is not None and error.sqlcode != NOT_IN_TRANSACTION:
            self._close_connection(failure_of(error))

    async def _or_close(self, rollback: Coroutine[Any, Any, None]) -> None:
        try:
            await rollback
        except QueryTimeout:
            pass  # the reply is checked when it arrives
        except DatabaseError as error:
            if self._dispatcher.is_open and error.sqlcode != NOT_IN_TRANSACTION:
                self._close_connection(error)

    def _close_connection(self, error: DatabaseError) -> None:
        self._dispatcher.channel.abort(
            ConnectionLost(f"the connection was closed: a transaction could not be rolled back: {error}")
        )

    async def _run(
        self,
        put: Callable[[Outbox], None],
        event: TransactionEvent | None = None,
        on_orphan: Callable[[Reply], None] | None = None,
        on_lost: Callable[[DatabaseError], None] | None = None,
    ) -> None:
        """Send a request of transaction control and await its reply.

        Args:
            event: what a reply without an error means.
        """
        outbox = Outbox()
        put(outbox)
        on_success = None if event is None else partial(self._on_success, event)
        reply = await self._conversation.exchange(
            outbox, on_success=on_success, on_orphan=on_orphan, on_lost=on_lost
        )
        if reply.error is not None and reply.error.sqlcode == NOT_IN_TRANSACTION:
            self._on_ended("something")
        raise_for(reply)

    def _on_success(self, event: TransactionEvent, _: Reply) -> None:
        self._on(event)

    # -- savepoints ---------------------------------------------------------------------------------------------------

    async def set_savepoint(self, name: bytes) -> None:
        """SAVEPOINT; reusing a name moves the savepoint.

        Source: observed: JDBC refuses savepoints without bit 56

        Raises:
            NotSupportedError: the server has none.
        """
        if not self._conversation.capabilities.savepoints:
            raise NotSupportedError("the server has no savepoints")
        await self._run(partial(session_requests.put_set_savepoint, name=name))

    async def release_savepoint(self, name: bytes) -> None:
        """RELEASE SAVEPOINT: the work after it becomes part of the enclosing transaction."""
        await self._run(partial(session_requests.put_release_savepoint, name=name))

    async def rollback_to_savepoint(self, name: bytes) -> None:
        """ROLLBACK TO SAVEPOINT: the work after it is undone."""
        await self._run(
            partial(session_requests.put_rollback_savepoint, name=name), on_orphan=self._check_rollback
        )

    async def rollback_to_or_close(self, name: bytes) -> None:
        """`rollback_or_close` for a savepoint, unless its transaction has ended."""
        if self.is_open:
            await self._or_close(self.rollback_to_savepoint(name))

    def rollback_to_later(self, name: bytes) -> None:
        """Queue the rollback to an abandoned savepoint; the work after it is undone."""
        self._dispatcher.defer(
            Cleanup(
                partial(session_requests.put_rollback_savepoint, name=name),
                self._check_rollback,
                lambda: self.is_open,
            )
        )


def note_stored(error: DatabaseError) -> None:
    """Add to *error*, which ended a transaction, that statements in flight after it took effect outside of it."""
    _note_unknown(error, _STORED)


def _on_commit_lost(error: DatabaseError) -> None:
    _note_unknown(error, _COMMIT_LOST)


def _note_unknown(error: DatabaseError, note: str) -> None:
    if not error.outcome_unknown:
        error.outcome_unknown = True
        error.add_note(note)
