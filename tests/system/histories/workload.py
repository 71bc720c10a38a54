"""Random transactions of several clients, recorded as a history. Never: which results are right."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Final, Protocol

import aioifx
from tests.system.histories import history

LOCKED: Final = (-107, -113, -143, -154)
"""ISAM codes of errors that end a transaction because of locks (documented)."""

TABLES: Final = (
    "create table list (key integer primary key, elements lvarchar(2000) not null)",
    "create table indexed (member integer primary key, grp integer not null)",
    "create index indexed_grp on indexed (grp)",
    "create table scanned (member integer primary key, grp integer not null)",
)
"""Lists; and groups in two tables, one of which has an index for the predicate."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What the transactions of one history are made of."""

    isolation: history.Isolation
    clients: int = 4
    transactions: int = 2
    """For each client."""
    operations: int = 4
    """At most, in one transaction."""
    lists: int = 3
    groups: int = 2
    waits: bool = False
    """Whether clients wait for locks: SET LOCK MODE TO WAIT."""
    rewrites: bool = False
    """Whether clients also store whole lists."""


def shapes(seed: int, isolation: history.Isolation) -> Shape:
    """The shape that belongs to a seed."""
    dice = random.Random(seed)
    return Shape(
        isolation,
        clients=dice.randint(2, 8),
        transactions=dice.randint(1, 3),
        operations=dice.randint(2, 5),
        lists=dice.randint(1, 4),
        groups=dice.randint(1, 2),
        waits=dice.random() < 0.6,
        # At DIRTY READ a whole list may contain what another transaction then rolls back.
        rewrites=isolation is not history.Isolation.DIRTY_READ and dice.random() < 0.4,
    )


class Client(Protocol):
    """A connection, of any client library."""

    async def execute(self, sql: str, *values: int | str) -> int:
        """Run a statement; the number of rows that it changed.

        Raises:
            Locked: it met a lock.
        """
        ...

    async def values(self, sql: str, *values: int | str) -> list[str]:
        """The first column of a query's rows.

        Raises:
            Locked: it met a lock.
        """
        ...

    async def begin(self) -> None: ...

    async def commit(self) -> None: ...

    async def rollback(self) -> None: ...


class Locked(Exception):
    """A lock ended the transaction."""


class AsyncClient:
    """A connection of aioifx."""

    def __init__(self, connection: aioifx.Connection) -> None:
        self.connection = connection

    async def execute(self, sql: str, *values: int | str) -> int:
        with mapped_locks():
            return (await self.connection.execute(sql, *values)).rowcount

    async def values(self, sql: str, *values: int | str) -> list[str]:
        with mapped_locks():
            return [str(row[0]) for row in await self.connection.fetch(sql, *values)]

    async def begin(self) -> None:
        await self.connection.execute("begin work")

    async def commit(self) -> None:
        await self.connection.execute("commit work")

    async def rollback(self) -> None:
        await self.connection.execute("rollback work")


@contextmanager
def mapped_locks() -> Generator[None, None, None]:
    try:
        yield
    except aioifx.OperationalError as error:
        if error.isamcode not in LOCKED:
            raise
        raise Locked from error


async def use(client: Client, shape: Shape) -> None:
    """Set the isolation level and the lock mode."""
    await client.execute(f"set isolation to {shape.isolation.value}")
    await client.execute(f"set lock mode to {'wait 20' if shape.waits else 'not wait'}")


async def read(client: Client, key: int) -> tuple[int, ...]:
    (text,) = await client.values("select elements from list where key = ?", key)
    return tuple(int(element) for element in text.split())


async def append(client: Client, key: int, element: int) -> None:
    changed = await client.execute(
        "update list set elements = elements || ? where key = ?", f"{element} ", key
    )
    assert changed == 1, f"list {key} was not found"


async def rewrite(client: Client, key: int, elements: Sequence[int]) -> None:
    text = "".join(f"{element} " for element in elements)
    changed = await client.execute("update list set elements = ? where key = ?", text, key)
    assert changed == 1, f"list {key} was not found"


async def scan(client: Client, group: int) -> frozenset[int]:
    found = await client.values(f"select member from {_table_of(group)} where grp = ?", group)
    members = [int(member) for member in found]
    assert len(set(members)) == len(members), f"group {group} was read as {members}"
    return frozenset(members)


async def insert(client: Client, group: int, member: int) -> None:
    await client.execute(f"insert into {_table_of(group)} values (?, ?)", member, group)


async def delete(client: Client, group: int, member: int) -> bool:
    """Whether there was such a member."""
    return await client.execute(f"delete from {_table_of(group)} where member = ?", member) == 1


def _table_of(group: int) -> str:
    return "scanned" if group % 2 else "indexed"


@dataclass(slots=True)
class _Run:
    """One history while it is made."""

    shape: Shape
    dice: random.Random
    first_groups: dict[int, frozenset[int]]
    numbers: Iterator[int]
    transactions: list[history.Transaction] = field(default_factory=list[history.Transaction])

    async def client(self, client: Client) -> None:
        for _ in range(self.shape.transactions):
            transaction = history.Transaction(next(self.numbers))
            self.transactions.append(transaction)
            await client.begin()
            try:
                await self._operations(client, transaction)
            except Locked:
                await client.rollback()
                continue
            if self.dice.random() < 0.15:
                await client.rollback()
                continue
            await client.commit()
            transaction.is_committed = True

    async def _operations(self, client: Client, transaction: history.Transaction) -> None:
        for _ in range(self.dice.randint(1, self.shape.operations)):
            for _ in range(self.dice.randint(0, 3)):
                await asyncio.sleep(0)  # lets other clients run, so that the orders of requests differ
            transaction.operations += await self._operation(client)

    async def _operation(self, client: Client) -> list[history.Operation]:
        key = self.dice.randint(1, self.shape.lists)
        group = self.dice.randint(1, self.shape.groups)
        kinds = ["read"] * 3 + ["append"] * 3 + ["scan"] * 2 + ["insert", "delete"]
        match self.dice.choice(kinds + ["rewrite"] * 2 * self.shape.rewrites):
            case "read":
                return [history.Read(key, await read(client, key))]
            case "append":
                element = next(self.numbers)
                await append(client, key, element)
                return [history.Append(key, element)]
            case "rewrite":
                elements, element = await read(client, key), next(self.numbers)
                await asyncio.sleep(0)
                await rewrite(client, key, [*elements, element])
                return [history.Read(key, elements), history.Append(key, element)]
            case "scan":
                return [history.Scan(group, await scan(client, group))]
            case "insert":
                member = next(self.numbers)
                await insert(client, group, member)
                return [history.Insert(group, member)]
            case _:
                member = self.dice.choice(sorted(self.first_groups[group]))
                return [history.Delete(group, member)] if await delete(client, group, member) else []


@asynccontextmanager
async def clients(dsn: str, number: int = 8) -> AsyncGenerator[list[Client], None]:
    """Connected clients; the first one creates the tables."""
    async with AsyncExitStack() as stack:
        connections = [await stack.enter_async_context(aioifx.connect(dsn)) for _ in range(number)]
        for statement in TABLES:
            await connections[0].execute(statement)
        yield [AsyncClient(connection) for connection in connections]


async def recorded(connected: Sequence[Client], shape: Shape, seed: int) -> history.History:
    """Run the transactions of one history; the tables are emptied first.

    Raises:
        OperationalError: an error other than those of locks.
    """
    dice, numbers = random.Random(seed), count(1)
    first, using = connected[0], connected[: shape.clients]
    await first.execute("set isolation to committed read")
    for table in ("list", "indexed", "scanned"):
        await first.execute(f"delete from {table} where 1 = 1")
    keys, groups = range(1, shape.lists + 1), range(1, shape.groups + 1)
    first_groups = {group: frozenset(-10 * group - number for number in range(4)) for group in groups}
    for key in keys:
        await first.execute("insert into list values (?, '')", key)
    for group, members in first_groups.items():
        for member in members:
            await insert(first, group, member)
    for client in using:
        await use(client, shape)
    run = _Run(shape, dice, first_groups, numbers)
    async with asyncio.TaskGroup() as tasks:
        for client in using:
            tasks.create_task(run.client(client))
    return history.History(
        run.transactions,
        {key: await read(first, key) for key in keys},
        {group: await scan(first, group) for group in groups},
        first_groups,
        shape.rewrites,
    )
