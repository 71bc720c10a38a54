"""A transaction block: commit at its end, rollback if it fails; inside another one, a savepoint. Never: opcodes.

Invariants:
1. Blocks end in reverse order. When a block is ended from outside, the blocks inside it end, too.
2. After a cancellation or timeout, the rollback is deferred cleanup: the block does not wait for it.
3. COMMIT is always sent, whatever the client's view of the transaction: the server's reply decides. The exception is a
   transaction that a COMMIT or ROLLBACK statement inside the block has ended, as its reply has shown.
"""

from __future__ import annotations

from enum import Enum
from types import TracebackType
from typing import Final, Self

from aioifx.client.config.checks import check_flag
from aioifx.client.config.isolation import Isolation, isolation_clause, lock_mode_clause
from aioifx.client.execution.statement_cache import StatementCache
from aioifx.client.observation.observation import note
from aioifx.client.session.failures import is_cancelled_or_timed_out
from aioifx.client.session.loop_binding import NotCopied
from aioifx.client.session.session import Session
from aioifx.client.session.settings import Override
from aioifx.client.session.transactions import NOT_IN_TRANSACTION
from aioifx.errors import ConnectionLost, DatabaseError, InterfaceError, QueryTimeout


class BlockState(Enum):
    """State of a block; the values appear in messages."""

    NEW = "new"
    OPEN = "open"
    COMMITTED = "committed"
    """Its COMMIT or RELEASE SAVEPOINT was sent, or is about to be."""
    ROLLED_BACK = "rolled back"
    ABORTED = "aborted"
    """Ended by a cancellation, or with the block around it."""
    ENDED_INSIDE = "ended by a statement inside it"


NEXT: Final = {
    BlockState.NEW: {BlockState.OPEN},
    BlockState.OPEN: {*BlockState} - {BlockState.NEW, BlockState.OPEN},
    BlockState.COMMITTED: {BlockState.ROLLED_BACK, BlockState.ABORTED},  # the COMMIT failed
    BlockState.ROLLED_BACK: set[BlockState](),
    BlockState.ABORTED: set[BlockState](),
    BlockState.ENDED_INSIDE: set[BlockState](),
}
"""States that may follow each state."""

_ENDED_BEFORE: Final = (
    "the transaction of this block had already ended: by an error, or by a COMMIT or ROLLBACK in a routine; later"
    " changes in the block were not part of it"
)


class Transaction(NotCopied):
    """``async with conn.transaction(): ...``; or `start`, then `commit` or `rollback`. Each can be used once.

    The block begins the transaction, commits it at its end, and rolls it back when an exception leaves it. Inside an
    open transaction it is a savepoint: set, released, or rolled back to.

    Args:
        statements: statement cache of the session.
        blocks: the session's open transactions, innermost last.

    Raises:
        NotSupportedError: on entry, the database has no log (SQLCODE -256).
        InterfaceError: on entry, *isolation* or *read_only* inside an open transaction.

    Raises:
        InterfaceError: invalid option.
    """

    def __init__(
        self,
        statements: StatementCache,
        blocks: list[Transaction],
        *,
        isolation: Isolation | None = None,
        lock_wait: float | None = None,
        read_only: bool = False,
    ) -> None:
        self._statements = statements
        self._stack = blocks
        self._isolation = isolation_clause(isolation)
        self._lock_mode = lock_mode_clause(lock_wait)
        check_flag("read_only", read_only)
        self._read_only = read_only
        self._override: Override | None = None
        self._savepoint: bytes | None = None
        self._state = BlockState.NEW

    @property
    def _session(self) -> Session:
        return self._statements.session

    def __repr__(self) -> str:
        place = f" savepoint {self._savepoint.decode()}" if self._savepoint else ""
        return f"<Transaction {self._state.value}{place}>"

    # -- start, commit, rollback --------------------------------------------------------------------------------------

    async def start(self) -> None:
        """BEGIN WORK, or SAVEPOINT if a transaction is open; isolation and lock mode are set before it."""
        if self._state is not BlockState.NEW:
            raise InterfaceError(f"the transaction is {self._state.value}; create a new one")
        session = self._session
        try:
            await session.observed("begin", self._start(session), self._begin_sql())
        except BaseException:
            if self in self._stack:  # an observer may raise KeyboardInterrupt after the BEGIN
                self._abandon()
            raise

    async def _start(self, session: Session) -> None:
        async with session.turn(apply_settings=False):
            self._check_place()
            override = session.settings.push(self._isolation, self._lock_mode)
            try:
                await session.apply_settings()
                await self._begin()
            except BaseException:
                session.settings.pop(override)
                raise
            self._override = override
            self._enter(BlockState.OPEN)
            self._stack.append(self)
            session.transactions.enter_block()

    def _check_place(self) -> None:
        self._session.transactions.check_logged()
        if self._session.transactions.is_open:
            for name, value in (("isolation", self._isolation), ("read_only", self._read_only)):
                if value:
                    raise InterfaceError(f"{name}: cannot change inside a transaction")

    async def _begin(self) -> None:
        session = self._session
        # A transaction may have ended or begun since the operation started.
        if session.observation is not None:
            note(sql=self._begin_sql())
        if not session.transactions.is_open:
            await session.transactions.begin(read_only=self._read_only)
            return
        name = self._next_savepoint().encode()
        try:
            await session.transactions.set_savepoint(name)
        except BaseException as error:
            if is_cancelled_or_timed_out(error):
                session.transactions.rollback_to_later(name)
            raise
        self._savepoint = name

    def _begin_sql(self) -> str:
        """The statement that starts this transaction or savepoint, for observers."""
        return f"SAVEPOINT {self._next_savepoint()}" if self._session.transactions.is_open else "BEGIN WORK"

    def _next_savepoint(self) -> str:
        # Named by depth: a savepoint stays at the server after a rollback to it, and the next one replaces it.
        return f"aioifx_{1 + sum(block._savepoint is not None for block in self._stack)}"

    async def commit(self) -> None:
        """COMMIT WORK; if it fails, the transaction is rolled back. For a savepoint: RELEASE SAVEPOINT.

        Inside its block it ends the transaction early; the end of the block then does nothing.

        Raises:
            InterfaceError: a transaction inside this one is still open, or a statement inside this one has ended it;
                nothing was sent.
        """
        self._check_open()
        session = self._session
        await session.observed(
            "commit", self._commit(session), self._end_sql("COMMIT WORK", "RELEASE SAVEPOINT")
        )

    async def _commit(self, session: Session) -> None:
        async with session.turn(apply_settings=False):
            self._check_innermost()
            self._close(BlockState.COMMITTED)
            try:
                if self._savepoint:
                    await session.transactions.release_savepoint(self._savepoint)
                else:
                    await session.transactions.commit()
            except BaseException as error:
                if is_cancelled_or_timed_out(error):
                    self._enter(BlockState.ABORTED)  # already sent; the server will execute it regardless
                else:
                    _note_ended_before(error)
                    self._enter(BlockState.ROLLED_BACK)
                    await self._abort_in_turn()
                raise

    async def rollback(self) -> None:
        """ROLLBACK WORK, or ROLLBACK TO SAVEPOINT; transactions inside this one end with it.

        Raises:
            InterfaceError: a statement inside this one has ended it; nothing was sent.
        """
        self._check_open()
        session = self._session
        await session.observed("rollback", self._rollback(session), self._rollback_sql())

    async def _rollback(self, session: Session) -> None:
        try:
            async with session.turn(apply_settings=False):
                self._check_open()  # another task may have ended it meanwhile
                self._close(BlockState.ROLLED_BACK)
                if self._savepoint:
                    await session.transactions.rollback_to_savepoint(self._savepoint)
                else:
                    await session.transactions.rollback()
        except BaseException as error:
            if self._state is BlockState.OPEN and is_cancelled_or_timed_out(error):
                self._abandon()
            _note_ended_before(error)
            raise

    def _invalidate(self) -> None:
        """Invalidate this transaction and those inside it; the caller undoes their work."""
        self._close(BlockState.ABORTED)

    # -- the context manager ------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._state is BlockState.OPEN:
            await (self._end_well() if error is None else self._end_badly(error))
        elif self._state is BlockState.ABORTED and error is None:
            raise InterfaceError("the enclosing transaction ended before this one")
        # Otherwise the block has ended the transaction itself.

    async def _end_well(self) -> None:
        try:
            self._check_open()
            if self._stack[-1] is not self:
                inner = repr(self._stack[-1])
                await self._abort()
                raise InterfaceError(
                    f"a transaction inside this one was still open: {inner}; both are rolled back"
                )
            await self.commit()
        except BaseException:
            if self._state is BlockState.OPEN:  # nothing was sent yet
                self._abandon()
            raise

    async def _end_badly(self, error: BaseException) -> None:
        """Roll back after an error in the block; that error is the one the caller must see."""
        if not self._session.is_open:
            self._close(BlockState.ABORTED)
        elif ended := self._session.transactions.ended_inside:
            self._close(BlockState.ENDED_INSIDE)
            if not (str(error).startswith(ended) or _is_not_in_transaction(error)):
                error.add_note(ended)
        elif is_cancelled_or_timed_out(error):
            self._abandon()
        else:
            try:
                await self._abort()
            except (ConnectionLost, QueryTimeout):
                if self._state is BlockState.OPEN:
                    self._abandon()
            except BaseException:
                if self._state is BlockState.OPEN:
                    self._abandon()
                raise

    # -- ending -------------------------------------------------------------------------------------------------------

    def _rollback_sql(self) -> str:
        return self._end_sql("ROLLBACK WORK", "ROLLBACK TO SAVEPOINT")

    def _end_sql(self, whole: str, part: str) -> str:
        """The statement that ends this transaction or savepoint, for observers."""
        return f"{part} {self._savepoint.decode()}" if self._savepoint else whole

    async def _abort(self) -> None:
        await self._session.observed("rollback", self._abort_in_own_turn(), self._rollback_sql())

    async def _abort_in_own_turn(self) -> None:
        async with self._session.turn(apply_settings=False):
            if self._state is BlockState.OPEN:  # no other task has ended it meanwhile
                self._close(BlockState.ROLLED_BACK)
                await self._abort_in_turn()

    async def _abort_in_turn(self) -> None:
        transactions = self._session.transactions
        if self._savepoint:
            await transactions.rollback_to_or_close(self._savepoint)
        elif transactions.is_open or transactions.is_aborted:
            await transactions.rollback_or_close()

    def _abandon(self) -> None:
        """Abandon the transaction: it is rolled back before anything else is sent."""
        self._close(BlockState.ABORTED)
        session = self._session
        if self._savepoint:
            session.transactions.rollback_to_later(self._savepoint)
        else:
            session.transactions.rollback_later()
        if session.observation is not None:
            with session.observation.briefly("rollback", self._rollback_sql(), session):
                pass

    def _enter(self, state: BlockState) -> None:
        assert state in NEXT[self._state]
        self._state = state

    def _close(self, state: BlockState) -> None:
        """Mark this transaction and those inside it as ended."""
        place = self._stack.index(self)
        for block in self._stack[place:]:
            block._enter(state if block is self else BlockState.ABORTED)
            if block._override is not None:
                self._session.settings.pop(block._override)
        del self._stack[place:]
        if not self._stack:
            self._session.transactions.leave_blocks()

    def _check_open(self) -> None:
        if self._state is not BlockState.OPEN:
            raise InterfaceError(f"the transaction is {self._state.value}")
        try:
            self._session.transactions.check_block()
        except InterfaceError:
            self._close(BlockState.ENDED_INSIDE)
            raise

    def _check_innermost(self) -> None:
        self._check_open()  # another task may have ended it while this one waited for the lock
        if self._stack[-1] is not self:
            raise InterfaceError(f"a transaction inside this one is still open: {self._stack[-1]!r}")


def _note_ended_before(error: BaseException) -> None:
    if _is_not_in_transaction(error):
        error.add_note(_ENDED_BEFORE)


def _is_not_in_transaction(error: BaseException) -> bool:
    return isinstance(error, DatabaseError) and error.sqlcode == NOT_IN_TRANSACTION


async def commit_work(session: Session, blocks: list[Transaction]) -> None:
    """COMMIT WORK for a transaction not started by a block; sends nothing if none is open (observed: JDBC).

    Raises:
        InterfaceError: a block is open.
        DatabaseError: COMMIT failed; the transaction is unchanged.
    """
    async with session.turn(apply_settings=False):
        _check_no_block(blocks)
        if session.transactions.is_open or session.transactions.is_aborted:
            await session.transactions.commit()


async def rollback_work(session: Session, blocks: list[Transaction]) -> None:
    """ROLLBACK WORK for a transaction not started by a block; sends nothing if none is open (observed: JDBC).

    Raises:
        InterfaceError: a block is open.
    """
    turned = False
    try:
        async with session.turn(apply_settings=False):
            turned = True
            _check_no_block(blocks)
            if session.transactions.is_aborted:
                await session.transactions.rollback_or_close()  # -255 is expected
            elif session.transactions.is_open:
                await session.transactions.rollback()
    except BaseException as error:
        if is_cancelled_or_timed_out(error) and not turned and session.transactions.is_open and not blocks:
            session.transactions.rollback_later()
        raise


def _check_no_block(blocks: list[Transaction]) -> None:
    if blocks:
        raise InterfaceError(
            "a transaction() block is open: let it end, or call its own commit() or rollback()"
        )
