"""A transaction as a block: commit at its end, roll back when it fails. Never: opcodes."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from aioifx.client.session import Session
from aioifx.errors import InterfaceError


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
                self._state = "lost"
                self._session.leave_transaction()
                raise
            except BaseException:
                self._state = "new"
                raise

    async def commit(self) -> None:
        """COMMIT WORK."""
        self._check_open()
        async with self._session:
            self._state = "committed"
            await self._session.commit()

    async def rollback(self) -> None:
        """ROLLBACK WORK."""
        self._check_open()
        self._state = "rolled back"
        try:
            async with self._session:
                await self._session.rollback()
        except asyncio.CancelledError:
            self._session.leave_transaction()
            raise

    def _check_open(self) -> None:
        if self._state != "open":
            raise InterfaceError(f"the transaction is {self._state}")

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._state != "open":
            return  # the block has ended it by itself
        if error is None:
            await self.commit()
        elif self._session.is_open:
            await self.rollback()
        else:
            self._state = "lost"
