"""The second database: changes are applied to it, with the position in the same transaction."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import aioifx
from aioifx import Connection
from aioifx.cdc.position import Position
from aioifx.cdc.records import Change, CommittedTransaction
from tests.system.changes.workload import COPY, TABLES

SEED: Final = COPY + "CREATE TABLE positions (text VARCHAR(200)); INSERT INTO positions VALUES ('');"


class Copy:
    """The tables of the source, as the changes make them."""

    def __init__(self, conn: Connection[Any]) -> None:
        self.conn = conn
        self.transactions = 0
        self.changes = Counter[str]()
        """By kind, those that were applied."""

    async def position(self) -> Position | None:
        """That of the last transaction which was applied."""
        text = await self.conn.fetchval("SELECT text FROM positions")
        return Position.from_json(text) if text else None

    async def begin_at(self, position: Position) -> None:
        """Begin at a position before any transaction."""
        await self.conn.execute("UPDATE positions SET text = ?", position.to_json())

    async def apply(self, transaction: CommittedTransaction) -> None:
        """Apply a whole transaction, which was committed after those that were applied before."""
        assert transaction.position is not None
        async with self.conn.transaction():
            last = await self.position()
            assert last is None or last.commit < transaction.position.commit, (last, transaction.position)
            sequence = 0
            for change in transaction:
                assert sequence < change.sequence, (sequence, change)
                sequence = change.sequence
                await self._apply(change)
            await self.conn.execute("UPDATE positions SET text = ?", transaction.position.to_json())
        self.transactions += 1

    async def _apply(self, change: Change) -> None:
        self.changes[change.kind] += 1
        table = change.table.rpartition(".")[2]
        if change.kind == "truncate":
            await self.conn.execute(f"DELETE FROM {table}")
        elif change.kind == "insert":
            assert change.after is not None
            marks = ", ".join("?" * len(change.after))
            await self.conn.execute(f"INSERT INTO {table} VALUES ({marks})", *change.after)
        elif change.kind == "delete":
            await self._check_before(table, change)
            assert change.before is not None
            done = await self.conn.execute(f"DELETE FROM {table} WHERE k = ?", change.before[0])
            assert done.rowcount == 1, change
        else:
            await self._check_before(table, change)
            assert change.before is not None
            assert change.after is not None
            names = list(change.after.keys())
            changed = ", ".join(f"{name} = ?" for name in names)
            done = await self.conn.execute(
                f"UPDATE {table} SET {changed} WHERE k = ?", *change.after, change.before[0]
            )
            assert done.rowcount == 1, change

    async def _check_before(self, table: str, change: Change) -> None:
        """Fail unless the copy has the row as it was before the change, once."""
        assert change.before is not None
        rows = await self.conn.fetch(f"SELECT * FROM {table} WHERE k = ?", change.before[0])
        assert [tuple(row) for row in rows] == [tuple(change.before)], change


async def contents(conn: Connection[Any]) -> dict[str, list[Any]]:
    """The rows of all tables."""
    return {
        table: [tuple(row) for row in await conn.fetch(f"SELECT * FROM {table} ORDER BY k")]
        for table in TABLES
    }


async def now(dsn: str) -> Position:
    """The present position, as clients compute it from sysmaster."""
    async with aioifx.connect(dsn) as conn:
        query = "SELECT uniqid, used FROM sysmaster:syslogs WHERE is_current = 1"
        ((uniqid, used),) = await conn.fetch(query)
    sequence = (uniqid << 32) + (used << 12)
    return Position(sequence, sequence, sequence)
