"""The same statements at the model and at the embedded server: clients see the same results, errors and states.

Numbers of notes and codes of locked rows are not compared. No session waits for locks, so nothing depends on time.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final

import pytest

import aioifx
from aioifx.server import Routine, ServerOptions, serve
from tests.system.simulation.loop import SimulatedLoop
from tests.system.simulation.model.database import ACCOUNTS, BALANCE, WIDE, Database, wide_text
from tests.system.simulation.model.server import PORT, ModelServer
from tests.system.simulation.model.statements import TWICE
from tests.system.simulation.network import Network
from tests.system.simulation.operations import kinds

SEED: Final = "".join(
    f"{statement};"
    for statement in (
        "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER)",
        "CREATE TABLE note (id SERIAL, tag INTEGER, text VARCHAR(200), UNIQUE (text))",
        "CREATE TABLE wide (id INTEGER PRIMARY KEY, text VARCHAR(200))",
        "CREATE INDEX note_tag ON note (tag)",
        f"INSERT INTO note (tag, text) VALUES (0, '{TWICE}')",
        *(f"INSERT INTO account VALUES ({number}, {BALANCE})" for number in range(1, ACCOUNTS + 1)),
        *(f"INSERT INTO wide VALUES ({number}, '{wide_text(number)}')" for number in range(WIDE)),
    )
)
PAUSE: Final = Routine("pause", [("milliseconds", "INTEGER")], [], lambda milliseconds: None)

Step = tuple[Any, ...]
"""Number of the session, name of an operation, its arguments."""


class Sessions:
    """Connections to one server, and what they have open."""

    def __init__(self, connections: Sequence[aioifx.Connection], *, is_model: bool) -> None:
        self.is_model = is_model
        self.is_altered = False
        self.connections = connections
        self.prepared: dict[int, Any] = {}
        self.transactions: list[list[Any]] = [[] for _ in connections]

    async def result_of(self, step: Step) -> list[Any]:
        """What a step returns or raises, and the state afterwards."""
        number, name, *arguments = step
        conn = self.connections[number]
        try:
            result = await _OPERATIONS[name](self, number, conn, *arguments)
        except aioifx.RowLocked as error:
            result = type(error).__name__  # its code depends on how the row is found
        except aioifx.DatabaseError as error:
            result = type(error).__name__, error.sqlcode, error.isamcode, error.outcome_unknown
        except aioifx.InterfaceError as error:
            result = type(error).__name__, str(error)
        return [result, conn.is_in_transaction()]


_OPERATIONS: Final[dict[str, Callable[..., Awaitable[Any]]]] = {}


def operation(function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Register an operation."""
    _OPERATIONS[function.__name__.strip("_")] = function
    return function


@operation
async def _fetch(sessions: Sessions, number: int, conn: aioifx.Connection, sql: str, *values: Any) -> Any:
    return [tuple(row) for row in await conn.fetch(sql, *values)]


@operation
async def _notes(sessions: Sessions, number: int, conn: aioifx.Connection, tag: int) -> Any:
    return sorted((row[1], row[2]) for row in await conn.fetch(kinds.NOTES, tag))


@operation
async def _execute(sessions: Sessions, number: int, conn: aioifx.Connection, sql: str, *values: Any) -> Any:
    return (await conn.execute(sql, *values)).rowcount


@operation
async def _alter(sessions: Sessions, number: int, conn: aioifx.Connection) -> Any:
    """Change a column, once; at the embedded server, not the one with a constraint."""
    if not sessions.is_altered:
        sessions.is_altered = True
        await conn.execute(
            f"ALTER TABLE note MODIFY ({'text VARCHAR(40)' if sessions.is_model else 'tag BIGINT'})"
        )


@operation
async def _many(sessions: Sessions, number: int, conn: aioifx.Connection, on_error: Any, *rows: Any) -> Any:
    try:
        result = await conn.executemany(kinds.INSERT, rows, on_error=on_error)
    except aioifx.DatabaseError as error:
        return type(error).__name__, error.sqlcode, error.isamcode, error.row_index, error.outcome_unknown
    return result.rowcount, [(error.row_index, error.sqlcode) for error in result.errors]


@operation
async def _load(
    sessions: Sessions, number: int, conn: aioifx.Connection, block: int | None, *rows: Any
) -> Any:
    return (await conn.load("note", rows, columns=["tag", "text"], block=block)).rowcount


@operation
async def _stream(sessions: Sessions, number: int, conn: aioifx.Connection, count: int) -> Any:
    rows: list[Any] = []
    async for row in conn.stream(kinds.WIDE_ROWS, 0, 100, prefetch=False):
        rows.append(row[0])
        if len(rows) >= count:
            break
    return rows


@operation
async def _scroll(
    sessions: Sessions, number: int, conn: aioifx.Connection, first: int, last: int, row: int
) -> Any:
    async with conn.cursor(scroll=True) as cursor:
        await cursor.execute(kinds.WIDE_ROWS, (first, last))
        return [
            each and each[0]
            for each in (
                await cursor.fetch_absolute(-1),
                await cursor.fetch_absolute(row),
                await cursor.fetchone(),
                await cursor.fetch_absolute(1),
                await cursor.fetch_absolute(-1),
            )
        ]


@operation
async def _prepare(sessions: Sessions, number: int, conn: aioifx.Connection, sql: str) -> Any:
    sessions.prepared[number] = await conn.prepare(sql)


@operation
async def _prepared(sessions: Sessions, number: int, conn: aioifx.Connection, *values: Any) -> Any:
    if number not in sessions.prepared:
        return None
    return sorted(tuple(row)[1:] for row in await sessions.prepared[number].fetch(*values))


@operation
async def _enter(sessions: Sessions, number: int, conn: aioifx.Connection) -> Any:
    transaction = conn.transaction()
    await transaction.__aenter__()
    sessions.transactions[number].append(transaction)


@operation
async def _leave(sessions: Sessions, number: int, conn: aioifx.Connection, is_failed: bool) -> Any:
    if sessions.transactions[number]:
        error = (ZeroDivisionError, ZeroDivisionError(), None) if is_failed else (None, None, None)
        return await sessions.transactions[number].pop().__aexit__(*error)
    return None


async def _results(dsn: str, steps: Sequence[Step], count: int, *, is_model: bool = False) -> list[Any]:
    async with AsyncExitStack() as stack:
        connections = [
            await stack.enter_async_context(aioifx.connect(dsn, lock_wait=0)) for _ in range(count)
        ]
        sessions = Sessions(connections, is_model=is_model)
        return [await sessions.result_of(step) for step in steps]


def of_the_model(steps: Sequence[Step], count: int) -> list[Any]:
    """The results of *steps* at the model."""
    loop = SimulatedLoop()
    network, database = Network(loop, 1), Database(loop.time)
    database.notes[0] = (0, TWICE)
    network.names["db1"] = ["10.0.0.1"]
    ModelServer(network, database, "1", "10.0.0.1").start()
    try:
        dsn = f"informix://app:secret@db1:{PORT}/shop?server=ol_sim"
        return loop.run_until_complete(_results(dsn, steps, count, is_model=True))
    finally:
        loop.run_until_complete(asyncio.sleep(10))
        loop.close()


def of_the_embedded(steps: Sequence[Step], count: int) -> list[Any]:
    """The results of *steps* at the embedded server."""

    async def main() -> list[Any]:
        async with serve(ServerOptions(databases=("shop",), seed=SEED, routines=(PAUSE,))) as server:
            return await _results(server.dsn, steps, count)

    return asyncio.run(main())


_TAGS: Final = (1, 2, 3)
_LEVELS: Final = ("DIRTY READ", "COMMITTED READ", "REPEATABLE READ")


def drawn(seed: int, count: int) -> list[Step]:
    """Random steps of *count* sessions. Only the first writes: the embedded server has one writer at a time."""
    dice = random.Random(seed)

    def text() -> str:
        return f"text {dice.randrange(10**9)}"

    def row(twice: float = 0.0) -> tuple[int, str]:
        return dice.choice(_TAGS), TWICE if dice.random() < twice else text()

    reads: list[Callable[[], Step]] = [
        lambda: ("fetch", kinds.WIDE_ROWS, dice.randrange(-5, 150), dice.randrange(160)),
        lambda: ("fetch", kinds.ACCOUNT, dice.randrange(6)),
        lambda: ("fetch", "SELECT id, balance FROM account ORDER BY id"),
        lambda: ("execute", dice.choice(("BEGIN WORK", "COMMIT WORK", "ROLLBACK WORK"))),
        lambda: ("execute", f"SET ISOLATION TO {dice.choice(_LEVELS)}"),
        lambda: ("stream", dice.choice((1, 5, 200))),
        lambda: (
            "scroll",
            first := dice.randrange(100),
            first + dice.randrange(5),
            dice.choice((1, 2, 3, 99)),
        ),
        lambda: ("enter",),
        lambda: ("leave", dice.random() < 0.4),
    ]
    writes: list[Callable[[], Step]] = [
        lambda: ("execute", kinds.ADD, dice.randrange(-9, 9), 1 + dice.randrange(ACCOUNTS + (count == 1))),
        lambda: ("execute", kinds.ADD, 1),
        lambda: ("notes", dice.choice(_TAGS)),
        lambda: ("notes", dice.choice(_TAGS)),
        lambda: ("execute", kinds.INSERT, *row(0.2)),
        lambda: ("execute", kinds.INSERT, *row()),
        lambda: ("execute", "DELETE FROM note WHERE tag = ?", dice.choice(_TAGS)),
        lambda: ("many", "raise", *(row(0.1) for _ in range(dice.choice((1, 3, 9))))),
        lambda: ("many", "collect", *(row(0.2) for _ in range(dice.choice((1, 3, 9))))),
        lambda: ("load", dice.choice((None, 2)), *(row(0.05) for _ in range(dice.choice((0, 1, 5))))),
    ]
    alone: list[Callable[[], Step]] = [
        lambda: ("fetch", kinds.ACCOUNT + " FOR UPDATE", dice.randrange(6)),
        lambda: ("execute", "INSERT INTO account VALUES (1, 0)"),
        lambda: ("execute", "EXECUTE PROCEDURE pause(?)", 1),
        lambda: ("execute", "CREATE TEMP TABLE mine (a INTEGER)"),
        lambda: ("fetch", "SELECT a FROM mine"),
        lambda: ("execute", "DROP TABLE mine"),
        lambda: ("alter",),
        lambda: ("prepare", kinds.NOTES),
        lambda: ("prepared", dice.choice(_TAGS)),
    ]
    makers = [reads + writes + (alone if count == 1 else []), reads]
    steps: list[Step] = []
    for _ in range(dice.choice((5, 15, 30))):
        number = dice.randrange(count)
        steps.append((number, *dice.choice(makers[number])()))
    return steps


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("count", [1, 2])
def test_clients_see_the_same(count: int, seed: int) -> None:
    steps = drawn(seed, count)
    model, embedded = of_the_model(steps, count), of_the_embedded(steps, count)
    for step, of_model, of_embedded in zip(steps, model, embedded, strict=True):
        assert (step, of_model) == (step, of_embedded)
