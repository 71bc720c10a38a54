"""A transaction as a block: commit at its end, roll back when it fails; inside of another, a savepoint. Never: opcodes.

House rules:
1. Blocks end in the opposite order in which they began. One that is ended from outside takes those inside along.
2. What is still open when nobody waits any more (a cancellation, a time-out) is put down, never waited for.
3. COMMIT is always sent, whatever we believe of the transaction: the server's answer tells whether it is there.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from aioifx.client.config.isolation import Isolation, isolation_clause, lock_mode_clause
from aioifx.client.execution.statement_cache import StatementCache
from aioifx.client.session.owner import NotCopied
from aioifx.client.session.session import Session, is_cancelled_or_timed_out
from aioifx.client.session.settings import Override
from aioifx.errors import ConnectionLost, InterfaceError, QueryTimeout


class Transaction(NotCopied):
    """``async with conn.transaction(): ...``; or `start`, then `commit` or `rollback`. Each serves once.

    The block begins the transaction, commits it at its end, and rolls it back when an exception leaves it. Inside of an
    open transaction it is a savepoint: set, released, or rolled back to.

    Raises:   NotSupportedError: on entry, the database has no log (SQLCODE -256).
              InterfaceError: on entry, *isolation* or *read_only* inside of an open transaction.
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
        """Args:     statements: whose session it is.
                  blocks: the transactions of this session that are open, the innermost last.
        Raises:   InterfaceError: an option is wrong.
        """
        self._statements = statements
        self._blocks = blocks
        self._isolation = isolation_clause(isolation)
        self._lock_mode = lock_mode_clause(lock_wait)
        if not isinstance(read_only, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InterfaceError("read_only: must be True or False")
        self._read_only = read_only
        self._wish: Override | None = None
        self._savepoint: bytes | None = None
        self._state = "new"

    @property
    def _session(self) -> Session:
        return self._statements.session

    def __repr__(self) -> str:
        place = f" savepoint {self._savepoint.decode()}" if self._savepoint else ""
        return f"<Transaction {self._state}{place}>"

    # -- the three verbs ----------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """BEGIN WORK, or SAVEPOINT where a transaction is open, behind what sets isolation and lock mode."""
        if self._state != "new":
            raise InterfaceError(f"the transaction is {self._state}; take a new one")
        session = self._session
        async with session.bare_turn():
            self._check_place()
            wish = session.manners.wish(self._isolation, self._lock_mode)
            try:
                await session.settle()
                await self._begin()
            except BaseException:
                session.manners.forget(wish)
                raise
            self._wish, self._state = wish, "open"
            self._blocks.append(self)

    def _check_place(self) -> None:
        self._session.check_logged()
        if self._session.in_transaction:
            for name, value in (("isolation", self._isolation), ("read_only", self._read_only)):
                if value:
                    raise InterfaceError(f"{name}: cannot change inside of a transaction")

    async def _begin(self) -> None:
        session = self._session
        if not session.in_transaction:
            await session.begin(read_only=self._read_only)
            return
        # By depth: a savepoint that was rolled back to stays at the server, and its successor takes its place.
        name = b"aioifx_%d" % (1 + sum(block._savepoint is not None for block in self._blocks))
        try:
            await session.set_savepoint(name)
        except BaseException as error:
            if is_cancelled_or_timed_out(error):
                session.rollback_to_later(name)
            raise
        self._savepoint = name

    async def commit(self) -> None:
        """COMMIT WORK; when that fails, the transaction is rolled back. Of a savepoint: RELEASE SAVEPOINT.

        Inside of its block it ends the transaction early; the end of the block then does nothing.

        Raises:   InterfaceError: a transaction inside of this one is still open; nothing was sent.
        """
        self._check_open()
        session = self._session
        async with session.bare_turn():
            self._check_innermost()
            self._close("committed")
            try:
                await (session.release_savepoint(self._savepoint) if self._savepoint else session.commit())
            except BaseException as error:
                if is_cancelled_or_timed_out(error):
                    self._state = "lost"  # it is on its way, and done with or without us
                else:
                    self._state = "rolled back"
                    await self._abort_in_turn()
                raise

    async def rollback(self) -> None:
        """ROLLBACK WORK, or ROLLBACK TO SAVEPOINT; transactions inside of this one end with it."""
        self._check_open()
        session = self._session
        try:
            async with session.bare_turn():
                self._check_open()  # another task may have ended it meanwhile
                self._close("rolled back")
                if self._savepoint:
                    await session.rollback_to_savepoint(self._savepoint)
                else:
                    await session.rollback()
        except BaseException as error:
            if self._state == "open" and is_cancelled_or_timed_out(error):
                self._leave()
            raise

    def lose(self) -> None:
        """It is taken away from its user, and those inside of it: what it has done is undone by whoever does so."""
        self._close("lost")

    # -- the block ----------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._state == "open":
            await (self._end_well() if error is None else self._end_badly(error))
        elif self._state == "lost" and error is None:
            raise InterfaceError("the transaction around this one has ended before it")
        # Otherwise the block has ended it by itself.

    async def _end_well(self) -> None:
        try:
            if self._blocks[-1] is not self:
                inner = repr(self._blocks[-1])
                await self._abort()
                raise InterfaceError(
                    f"a transaction inside of this one was still open: {inner}; both are rolled back"
                )
            await self.commit()
        except BaseException:
            if self._state == "open":  # nothing was sent yet
                self._leave()
            raise

    async def _end_badly(self, error: BaseException) -> None:
        """Roll back behind an error of the block's, which is the one that its caller must see."""
        if not self._session.is_open:
            self._close("lost")
        elif is_cancelled_or_timed_out(error):
            self._leave()
        else:
            try:
                await self._abort()
            except (ConnectionLost, QueryTimeout):
                if self._state == "open":
                    self._leave()
            except BaseException:
                if self._state == "open":
                    self._leave()
                raise

    # -- the ends -----------------------------------------------------------------------------------------------------

    async def _abort(self) -> None:
        async with self._session.bare_turn():
            if self._state == "open":  # no other task has ended it meanwhile
                self._close("rolled back")
                await self._abort_in_turn()

    async def _abort_in_turn(self) -> None:
        if self._savepoint:
            await self._session.rollback_to_or_close(self._savepoint)
        else:
            await self._session.rollback_or_close()

    def _leave(self) -> None:
        """Nobody will finish it; it is rolled back before anything else is sent."""
        self._close("lost")
        if self._savepoint:
            self._session.rollback_to_later(self._savepoint)
        else:
            self._session.rollback_later()

    def _close(self, state: str) -> None:
        """It is not open any more; neither are those inside of it."""
        place = self._blocks.index(self)
        for block in self._blocks[place:]:
            block._state = "lost"
            if block._wish is not None:
                self._session.manners.forget(block._wish)
        del self._blocks[place:]
        self._state = state

    def _check_open(self) -> None:
        if self._state != "open":
            raise InterfaceError(f"the transaction is {self._state}")

    def _check_innermost(self) -> None:
        self._check_open()  # another task may have ended it while this one waited for its turn
        if self._blocks[-1] is not self:
            raise InterfaceError(f"a transaction inside of this one is still open: {self._blocks[-1]!r}")


async def commit_work(session: Session, blocks: list[Transaction]) -> None:
    """COMMIT WORK for a transaction that no block has begun; without one nothing is sent (observed: JDBC).

    Raises:   InterfaceError: a block is open. DatabaseError: it failed; the transaction is as it was.
    """
    async with session.bare_turn():
        _check_no_block(blocks)
        if session.in_transaction or session.transaction_aborted:
            await session.commit()


async def rollback_work(session: Session, blocks: list[Transaction]) -> None:
    """ROLLBACK WORK for a transaction that no block has begun; without one nothing is sent (observed: JDBC).

    Raises:   InterfaceError: a block is open.
    """
    turned = False
    try:
        async with session.bare_turn():
            turned = True
            _check_no_block(blocks)
            if session.transaction_aborted:
                await session.rollback_or_close()  # -255 is what is expected
            elif session.in_transaction:
                await session.rollback()
    except BaseException as error:
        if is_cancelled_or_timed_out(error) and not turned and session.in_transaction and not blocks:
            session.rollback_later()
        raise


def _check_no_block(blocks: list[Transaction]) -> None:
    if blocks:
        raise InterfaceError(
            "a transaction() block is open: it ends by itself, or with its own commit() or rollback()"
        )
