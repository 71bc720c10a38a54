"""Random transactions of several writers: all types, savepoints, rollbacks, cascades, truncations."""

from __future__ import annotations

import asyncio
import random
import string
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

import aioifx
from aioifx import Connection, Datetime, IntervalYM

TYPES: Final[dict[str, Callable[[random.Random], Any]]] = {
    "SMALLINT": lambda dice: dice.randint(-32_767, 32_767),
    "INTEGER": lambda dice: dice.randint(-(2**31) + 1, 2**31 - 1),
    "INT8": lambda dice: dice.randint(-(2**63) + 1, 2**63 - 1),
    "BIGINT": lambda dice: dice.randint(-(2**63) + 1, 2**63 - 1),
    "FLOAT": lambda dice: dice.uniform(-1e9, 1e9),
    "SMALLFLOAT": lambda dice: dice.randint(-1000, 1000) / 8,
    "DECIMAL(16,2)": lambda dice: Decimal(dice.randint(-(10**15), 10**15)).scaleb(-2),
    "DECIMAL(12)": lambda dice: Decimal(dice.randint(-(10**11), 10**11)).scaleb(dice.randint(-20, 20)),
    "MONEY(10,2)": lambda dice: Decimal(dice.randint(0, 10**9)).scaleb(-2),
    "DATE": lambda dice: date.fromordinal(dice.randint(1, 3_000_000)),
    "DATETIME YEAR TO FRACTION(5)": lambda dice: _moment(dice).replace(
        microsecond=dice.randrange(10**5) * 10
    ),
    "DATETIME YEAR TO SECOND": lambda dice: _moment(dice),
    "DATETIME HOUR TO MINUTE": lambda dice: time(dice.randrange(24), dice.randrange(60)),
    "DATETIME YEAR TO MONTH": lambda dice: Datetime(year=dice.randint(1, 9999), month=dice.randint(1, 12)),
    "INTERVAL DAY(5) TO SECOND": lambda dice: timedelta(seconds=dice.randint(-(10**9), 10**9)),
    "INTERVAL YEAR(4) TO MONTH": lambda dice: IntervalYM(dice.randint(-9999, 9999)),
    "BOOLEAN": lambda dice: dice.random() < 0.5,
    "CHAR(12)": lambda dice: _text(dice, 12),
    "NCHAR(5)": lambda dice: _text(dice, 5),
    "VARCHAR(255)": lambda dice: _text(dice, 255),
    "NVARCHAR(40)": lambda dice: _text(dice, 40),
    "LVARCHAR(2000)": lambda dice: _text(dice, 2000),
}
"""A value of each type."""


def _moment(dice: random.Random) -> datetime:
    return datetime(1, 1, 1) + timedelta(seconds=dice.randrange(300_000_000_000))


def _text(dice: random.Random, longest: int) -> str:
    return "".join(dice.choices(string.ascii_letters + "äß 0", k=dice.choice((0, 1, 3, longest))))


COLUMNS: Final = tuple(f"c{number}" for number in range(len(TYPES)))
_WIDE: Final = ", ".join(f"{name} {type_}" for name, type_ in zip(COLUMNS, TYPES, strict=True))

TABLES: Final = {
    "wide": f"k INTEGER PRIMARY KEY, {_WIDE}",
    "parent": "k INTEGER PRIMARY KEY, place INTEGER UNIQUE",
    "child": "k INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent ON DELETE CASCADE, note VARCHAR(30)",
    "scratch": "k INTEGER, note VARCHAR(30)",
}
"""The columns of each table; k identifies a row."""

SEED: Final = "".join(f"CREATE TABLE {name} ({columns});\n" for name, columns in TABLES.items())

COPY: Final = "".join(
    f"CREATE TABLE {name} ({columns.replace(' PRIMARY KEY', '').replace(' UNIQUE', '')});\n"
    for name, columns in (TABLES | {"child": "k INTEGER, parent INTEGER, note VARCHAR(30)"}).items()
)
"""The same tables without keys, so that a row that arrives twice is there twice."""

_REFUSED: Final = (aioifx.DatabaseError, aioifx.QueryTimeout)
"""Locks, deadlocks, broken references: the transaction is given up."""


class Writer:
    """One client that writes.

    Args:
        number: its own; its rows have keys that no other writer's have.
        dsn: of the server.
    """

    def __init__(self, number: int, seed: int, dsn: str) -> None:
        self._dice = random.Random(f"{seed} {number}")
        self._key = number * 10_000_000
        self._dsn = dsn
        self._lock_wait = int(number % 4 == 0)
        self.known: list[int] = [0]
        """Keys that rows may have; shared by all writers, so that they meet."""
        self.committed = 0

    async def run(self, transactions: int) -> None:
        """So many transactions, over a new connection whenever one is lost."""
        left = transactions
        while left > 0:
            try:
                async with aioifx.connect(self._dsn, lock_wait=self._lock_wait) as conn:
                    while left > 0:
                        left -= 1
                        await self._transaction(conn)
            except (aioifx.ConnectionLost, aioifx.ConnectError, OSError):
                await asyncio.sleep(0.02)  # until the server is there again

    async def _transaction(self, conn: Connection[Any]) -> None:
        dice = self._dice
        try:
            if dice.random() < 0.2:
                await self._statement(conn)
            else:
                async with conn.transaction() as transaction:
                    for _ in range(dice.randint(1, 4)):
                        await self._part(conn)
                    if dice.random() < 0.15:
                        await transaction.rollback()
            self.committed += 1
        except aioifx.ConnectionLost:
            raise
        except _REFUSED:
            return

    async def _part(self, conn: Connection[Any]) -> None:
        """A statement, or several in a savepoint, which may be rolled back."""
        dice = self._dice
        if dice.random() < 0.3:
            async with conn.transaction() as savepoint:
                await self._statement(conn)
                await self._part(conn)
                if dice.random() < 0.5:
                    await savepoint.rollback()
        else:
            await self._statement(conn)

    def _new_key(self) -> int:
        self._key += 1
        self.known.append(self._key)
        del self.known[:-200]
        return self._key

    async def _statement(self, conn: Connection[Any]) -> None:
        dice = self._dice
        key = dice.choice(self.known)
        match dice.randrange(13):
            case 0 | 1 | 2:
                marks = ", ".join("?" * (len(COLUMNS) + 1))
                await conn.execute(f"INSERT INTO wide VALUES ({marks})", self._new_key(), *self._values(dice))
            case 3 | 4:
                name = dice.choice(COLUMNS)
                value = self._values(dice)[COLUMNS.index(name)]
                await conn.execute(f"UPDATE wide SET {name} = ? WHERE k >= ? AND k < ?", value, key, key + 3)
            case 5:
                await conn.execute("DELETE FROM wide WHERE k = ?", key)
            case 6 | 7:
                made = self._new_key()
                await conn.execute("INSERT INTO parent VALUES (?, ?)", made, made)
            case 8:
                made = self._new_key()
                await conn.execute(
                    "INSERT INTO child SELECT ?, k, 'of ' || k FROM parent WHERE k = ?", made, key
                )
            case 9:
                await conn.execute("UPDATE parent SET place = -place WHERE k >= ? AND k < ?", key, key + 3)
            case 10:
                await conn.execute("DELETE FROM parent WHERE k = ?", key)
            case 11:
                await conn.execute("UPDATE wide SET k = ? WHERE k = ?", self._new_key(), key)
            case _:
                made = self._new_key()
                if dice.random() < 0.2:
                    await conn.execute("TRUNCATE TABLE scratch")
                await conn.execute("INSERT INTO scratch VALUES (?, ?)", made, _text(dice, 30))

    def _values(self, dice: random.Random) -> list[Any]:
        return [None if dice.random() < 0.1 else make(dice) for make in TYPES.values()]


def writers(count: int, seed: int, dsn: str) -> list[Writer]:
    """Writers that change each other's rows."""
    made = [Writer(number, seed, dsn) for number in range(1, count + 1)]
    for each in made:
        each.known = made[0].known
    return made
