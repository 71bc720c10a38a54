"""Operations that write: alone, in batches, in transactions. Never: a check of what is stored later."""

from __future__ import annotations

import aioifx
from tests.system.simulation.model.database import ACCOUNTS
from tests.system.simulation.model.statements import TWICE
from tests.system.simulation.operations.kinds import ACCOUNT, ADD, INSERT, NOTES, kind
from tests.system.simulation.world import Entry, World, Wrong


@kind("insert", 4, writes=True)
async def _insert(world: World, entry: Entry) -> None:
    async with world.acquire(entry) as conn:
        entry.notes, entry.may_take_effect = 1, conn.autocommit
        await conn.execute(INSERT, entry.operation.number, "alone", timeout=entry.operation.timeout)
        if not conn.autocommit:
            entry.is_body_done = True
            await conn.commit()


@kind("executemany", 3, writes=True, batch=True)
async def _executemany(world: World, entry: Entry) -> None:
    entry.notes = entry.operation.size
    rows = [(entry.operation.number, f"row {number}") for number in range(entry.operation.size)]
    async with world.acquire(entry) as conn:
        entry.may_take_effect = conn.autocommit
        result = await conn.executemany(INSERT, rows, timeout=entry.operation.timeout)
        if result.rowcount != len(rows):
            raise Wrong(f"executemany counts {result.rowcount} rows of {len(rows)}")
        if not conn.autocommit:
            entry.is_body_done = True
            await conn.commit()


@kind("fail in a batch", 2, writes=True, batch=True)
async def _fail_in_batch(world: World, entry: Entry) -> None:
    """One row of a batch fails: either none is stored, or all others."""
    size, collects = entry.operation.size, entry.operation.number % 2 == 0
    failing = entry.operation.number % size
    rows = [(entry.operation.number, TWICE if number == failing else "one") for number in range(size)]
    async with world.acquire(entry) as conn:
        if not collects:
            try:
                await conn.executemany(INSERT, rows)
            except aioifx.UniqueViolation as error:
                if error.row_index != failing:
                    raise Wrong(f"row {error.row_index} failed, expected {failing}") from error
                if (
                    error.outcome_unknown
                ):  # the server has ended the transaction, and other rows may be stored
                    raise
                return
            raise Wrong("a batch with a row that fails has succeeded")
        entry.notes, entry.may_take_effect, entry.collects = size - 1, conn.autocommit, True
        result = await conn.executemany(INSERT, rows, on_error="collect")
        entry.notes = result.rowcount
        failed = [error.row_index for error in result.errors]
        if result.rowcount + len(failed) != size or failing not in failed:
            raise Wrong(f"{result.rowcount} rows of {size} are stored, and these failed: {result.errors}")
        if not conn.autocommit:
            entry.is_body_done = True
            await conn.commit()


@kind("load", 3, writes=True)
async def _load(world: World, entry: Entry) -> None:
    entry.notes = entry.operation.size
    rows = [(entry.operation.number, f"row {number}") for number in range(entry.operation.size)]
    async with world.acquire(entry) as conn:
        entry.may_take_effect = conn.autocommit
        block = 7 if entry.operation.number % 2 else None
        await conn.load("note", rows, columns=["tag", "text"], block=block, timeout=entry.operation.timeout)
        if not conn.autocommit:
            entry.is_body_done = True
            await conn.commit()


@kind("transfer", 6, writes=True)
async def _transfer(world: World, entry: Entry) -> None:
    number = entry.operation.number
    source, target = 1 + number % ACCOUNTS, 1 + (number * 3 + 1) % ACCOUNTS
    async with world.acquire(entry) as conn:
        async with conn.transaction():
            for account in sorted({source, target}) if entry.operation.size > 1 else (source, target):
                row = await conn.fetchrow(ACCOUNT + " FOR UPDATE", account)
                assert row is not None
                entry.reads[account] = row[1]
            await conn.execute(ADD, -number, source)
            await conn.execute(ADD, number, target)
            await conn.execute(INSERT, number, "transfer")
            entry.deltas = {source: -number, target: number} if source != target else {source: 0}
            entry.notes, entry.is_body_done = 1, True


@kind("transfer at repeatable read", 3, writes=True)
async def _transfer_repeatable(world: World, entry: Entry) -> None:
    number = entry.operation.number
    source, target = 1 + number % ACCOUNTS, 1 + (number + 1) % ACCOUNTS
    async with world.acquire(entry) as conn:
        async with conn.transaction(isolation="repeatable_read"):
            for account in (source, target):
                entry.reads[account] = await conn.fetchval(ACCOUNT, account, column=1)
            await conn.execute(ADD, -1, source)
            await conn.execute(ADD, 1, target)
            await conn.execute(INSERT, number, "transfer")
            entry.deltas, entry.notes, entry.is_body_done = {source: -1, target: 1}, 1, True


@kind("nested", 3, writes=True, batch=True)
async def _nested(world: World, entry: Entry) -> None:
    number = entry.operation.number
    async with world.acquire(entry) as conn, conn.transaction():
        await conn.execute(INSERT, number, "outer")
        try:
            async with conn.transaction():
                await conn.executemany(INSERT, [(number, "inner")] * entry.operation.size)
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass
        async with conn.transaction():
            await conn.execute(INSERT, number, "kept")
        rows = await conn.fetch(NOTES, number)
        if [row[2] for row in rows] != ["outer", "kept"]:
            raise Wrong(f"after a rollback to a savepoint there are {[row[2] for row in rows]}")
        entry.notes, entry.is_body_done = 2, True


@kind("batches", 3, writes=True, batch=True)
async def _batches(world: World, entry: Entry) -> None:
    """Many rows in one transaction, in parts; or, if every statement is part of one, rolled back and executed again."""
    rows = [(entry.operation.number, "part")] * entry.operation.size
    async with world.acquire(entry) as conn:
        if conn.autocommit:
            entry.notes = 2 * len(rows)
            async with conn.transaction():
                for _ in range(2):
                    await conn.executemany(INSERT, rows)
                entry.is_body_done = True
        else:
            entry.notes = len(rows)
            await conn.executemany(INSERT, rows)
            await conn.rollback()
            await conn.executemany(INSERT, rows)
            entry.is_body_done = True
            await conn.commit()


@kind("roll back", 2, writes=True)
async def _roll_back(world: World, entry: Entry) -> None:
    """The transaction fails by the caller's own error."""
    try:
        async with world.acquire(entry) as conn, conn.transaction():
            await conn.execute(INSERT, entry.operation.number, "rolled back")
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass


@kind("leave a transaction", 2, writes=True)
async def _leave_transaction(world: World, entry: Entry) -> None:
    """A connection that is released inside a transaction is rolled back."""
    async with world.acquire(entry) as conn:
        await conn.execute("BEGIN WORK")
        await conn.execute(INSERT, entry.operation.number, "left")


@kind("commit as text", 2, writes=True, batch=True)
async def _commit_as_text(world: World, entry: Entry) -> None:
    async with world.acquire(entry) as conn:
        await conn.execute("BEGIN WORK")
        await conn.executemany(INSERT, [(entry.operation.number, "text")] * entry.operation.size)
        entry.notes, entry.is_body_done = entry.operation.size, True
        await conn.execute("COMMIT WORK")


@kind("retry", 2, writes=True)
async def _retry(world: World, entry: Entry) -> None:
    """The whole transaction again, after errors that allow it."""

    async def once() -> None:
        entry.is_body_done = False
        async with world.acquire(entry) as conn, conn.transaction():
            await conn.execute(ADD, 1, 1)
            await conn.execute(ADD, -1, 2)
            await conn.execute(INSERT, entry.operation.number, "retried")
            entry.deltas, entry.notes, entry.is_body_done = {1: 1, 2: -1}, 1, True

    if entry.operation.number % 2:
        await aioifx.Retry(3)(once)
    else:
        await aioifx.Retry(3, on=aioifx.OperationalError)(once)
