"""A transaction as a block: commit at its end, roll back when it fails. Never: opcodes."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from aioifx.client.session import Session
from aioifx.errors import ConnectionLost, InterfaceError


class Transaction:
    """``async with conn.transaction(): ...``; or `start`, then `commit` or `rollback`.

    Raises:   NotSupportedError: on entry, when the database has no log. InterfaceError: one is open already.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._state = "new"

    def __repr__(self) -> str:
        return f"<Transaction {self._state}>"

    async def start(self) -> None:
        """BEGIN WORK."""
        if self._state != "new":
            raise InterfaceError(f"the transaction is {self._state}; take a new one")
        async with self._session:
            self._state = "open"
            try:
                await self._session.begin()
            except asyncio.CancelledError:
                self._leave()
                raise
            except BaseException:
                self._state = "new"
                raise

    async def commit(self) -> None:
        """COMMIT WORK; when that fails, the transaction is rolled back."""
        self._check_open()
        async with self._session:
            self._state = "committed"
            try:
                await self._session.commit()
            except asyncio.CancelledError:
                raise  # it is on its way, and done with or without us
            except BaseException:
                self._state = "rolled back"
                await self._session.abort_transaction()
                raise

    async def rollback(self) -> None:
        """ROLLBACK WORK."""
        self._check_open()
        self._state = "rolled back"
        try:
            async with self._session:
                await self._session.rollback()
        except asyncio.CancelledError:
            self._leave()
            raise

    def _check_open(self) -> None:
        if self._state != "open":
            raise InterfaceError(f"the transaction is {self._state}")

    def _leave(self) -> None:
        """Nobody will finish it; the session's next turn rolls it back."""
        self._state = "lost"
        self._session.leave_transaction()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._state != "open":
            return  # the block has ended it by itself
        if error is None:
            try:
                await self.commit()
            except asyncio.CancelledError:
                if self._state == "open":  # nothing was sent yet
                    self._leave()
                raise
        elif self._session.is_open:
            await self._abort()
        else:
            self._state = "lost"

    async def _abort(self) -> None:
        """Roll back behind an error of the block's, which is the one that its caller must see."""
        self._state = "rolled back"
        try:
            async with self._session:
                await self._session.abort_transaction()
        except asyncio.CancelledError:
            self._leave()
            raise
        except ConnectionLost:
            self._state = "lost"
