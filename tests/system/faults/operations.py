"""Every public operation on one connection, with its result when nothing goes wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import aioifx
from aioifx import Connection
from aioifx.server import Server, ServerOptions
from tests.system.templates import made

ROWS = 120
"""In the table that is read: two blocks of 4096 bytes."""

MANY = 12
"""Rows that are inserted by what inserts many."""

NAMES = [(number, f"thing {number} {'.' * 40}") for number in range(1, ROWS + 1)]

PICTURES = [(1, b"x" * 3000, "a note"), (2, None, ""), (3, b"", "é" * 1025)]
"""Rows with large values."""

INSERT = "insert into log (place, note) values (?, ?)"


class Operation(NamedTuple):
    """One call, from where the fault is armed to its end."""

    name: str
    run: Callable[[Connection, Any], Awaitable[object]]
    expected: object = None
    setup: Callable[[Connection], Awaitable[Any]] | None = None
    """What comes before the fault is armed; `run` gets its result."""
    writes: int = 0
    """Rows of `log` after it, when it has succeeded."""
    commits: bool = False
    """It ends with a COMMIT of its own: before it nothing is written, after it everything."""


async def prepare_tables(conn: Connection) -> None:
    """The tables that the operations use."""
    await conn.execute("create table thing (id int primary key, name varchar(60))")
    await conn.execute(
        "create table log (id serial, place int, note varchar(20), data byte in table, photo blob)"
    )
    await conn.execute("create table picture (id int, data byte in table, note text in table)")
    await conn.load("thing", NAMES)
    await conn.execute("create table album (id int, photo blob, body clob)")
    await conn.load("picture", PICTURES)
    await conn.load("album", PICTURES)


DATABASES = tuple(f"shop{number}" for number in range(6))
"""One for each worker that tries cases."""


async def prepared_databases(folder: Path) -> Path:
    """A directory in *folder* with DATABASES and the tables in each."""

    async def prepare(server: Server) -> None:
        for name in DATABASES:
            async with aioifx.connect(server.dsn, database=name, user="direct") as conn:
                await prepare_tables(conn)

    return await made(folder / "faults", ServerOptions(databases=DATABASES), prepare)


def register_routines(server: Server) -> None:
    server.register("doubled", [("n", "INT")], ["INT"], lambda n: 2 * n)


def values(rows: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in rows]


# -- queries ----------------------------------------------------------------------------------------------------------


async def fetch(conn: Connection, _: Any) -> object:
    return values(await conn.fetch("select id, name from thing where id <= 20 order by id"))


async def fetch_once(conn: Connection) -> None:
    await fetch(conn, None)


async def fetch_many(conn: Connection, _: Any) -> object:
    return values(await conn.fetch("select id, name from thing order by id"))


async def fetchrow(conn: Connection, _: Any) -> object:
    row = await conn.fetchrow("select name, id from thing where id = ?", 7)
    return row and tuple(row)


async def stream(conn: Connection, _: Any) -> object:
    found = []
    async with conn.stream("select id, name from thing order by id") as rows:
        async for row in rows:
            found.append(tuple(row))
    return found


async def cursor(conn: Connection, _: Any) -> object:
    async with conn.cursor() as cur:
        await cur.execute("select id, name from thing order by id")
        return values(await cur.fetchmany(3)) + values(await cur.fetchall())


async def scroll(conn: Connection, _: Any) -> object:
    async with conn.cursor(scroll=True) as cur:
        await cur.execute("select id from thing order by id")
        found = [await cur.fetch_absolute(-1), await cur.fetch_absolute(1), await cur.fetch_absolute(5)]
        return [row and tuple(row) for row in found]


async def prepare(conn: Connection, _: Any) -> object:
    async with await conn.prepare("select name from thing where id = ?") as statement:
        return [await statement.fetchval(number) for number in (3, 5)]


async def unload(conn: Connection, _: Any) -> object:
    chunks: list[bytes] = []
    return await conn.unload("select id, name from thing where id <= 20 order by id", chunks.append)


async def call(conn: Connection, _: Any) -> object:
    return values(await conn.call("doubled", 21))


async def fetch_large(conn: Connection, _: Any) -> object:
    return values(await conn.fetch("select id, data, note from picture order by id"))


async def stream_chunks(conn: Connection, _: Any) -> object:
    found = []
    async with conn.stream("select data from picture order by id", lobs="stream") as rows:
        async for (data,) in rows:
            found.append(data and b"".join([chunk async for chunk in data]))
    return found


async def fetch_smart(conn: Connection, _: Any) -> object:
    return values(await conn.fetch("select id, photo, body from album order by id", lobs="inline"))


async def read_handles(conn: Connection, _: Any) -> object:
    found = []
    for (photo,) in await conn.fetch("select photo from album order by id"):
        if photo is not None:
            async with photo:
                photo = await photo.read(100) + b"".join([chunk async for chunk in photo])
        found.append(photo)
    return found


async def ping(conn: Connection, _: Any) -> object:
    await conn.ping()
    return "alive"


async def fail(conn: Connection, _: Any) -> object:
    try:
        await conn.fetch("select * from nowhere")
    except aioifx.UndefinedTable:
        return "no such table"
    return None


# -- changes ----------------------------------------------------------------------------------------------------------


async def execute(conn: Connection, _: Any) -> object:
    return (await conn.execute(INSERT, 1, "x")).rowcount


async def execute_large(conn: Connection, _: Any) -> object:
    data = iter((b"x" * 2000, b"y"))
    return (await conn.execute("insert into log (place, data) values (?, ?)", 1, data)).rowcount


async def execute_smart(conn: Connection, _: Any) -> object:
    photo = iter((b"x" * 2000, b"y"))
    return (await conn.execute("insert into log (place, photo) values (?, ?)", 1, photo)).rowcount


async def executemany_smart(conn: Connection, _: Any) -> object:
    rows = [(1, b"x" * 1500)] * MANY
    return (await conn.executemany("insert into log (place, photo) values (?, ?)", rows)).rowcount


async def executemany_large(conn: Connection, _: Any) -> object:
    rows = [(1, b"x" * 1500)] * MANY
    return (await conn.executemany("insert into log (place, data) values (?, ?)", rows)).rowcount


async def load_large(conn: Connection, _: Any) -> object:
    rows = [(1, b"x" * 1500)] * MANY
    return (await conn.load("log", rows, columns=["place", "data"], block=MANY // 3)).rowcount


async def execute_literal(conn: Connection, _: Any) -> object:
    return (await conn.execute("insert into log (place, note) values (1, 'x')")).rowcount


async def execute_once(conn: Connection) -> None:
    """Keeps the statement prepared, and leaves nothing."""
    async with conn.transaction() as transaction:
        await conn.execute(INSERT, 1, "x")
        await transaction.rollback()


async def executemany(conn: Connection, _: Any) -> object:
    return (await conn.executemany(INSERT, [(1, "x")] * MANY)).rowcount


async def load(conn: Connection, _: Any) -> object:
    rows = [(1, "x")] * MANY
    return (await conn.load("log", rows, columns=["place", "note"], block=MANY // 3)).rowcount


# -- transactions -----------------------------------------------------------------------------------------------------


async def new_transaction(conn: Connection) -> Any:
    return conn.transaction()


async def written_transaction(conn: Connection) -> Any:
    transaction = conn.transaction()
    await transaction.start()
    await conn.executemany(INSERT, [(1, "x")] * MANY)
    return transaction


async def enter(conn: Connection, transaction: Any) -> object:
    async with transaction:
        entered = conn.is_in_transaction()
        await transaction.rollback()
    return entered


async def commit(conn: Connection, transaction: Any) -> object:
    await transaction.commit()
    return conn.is_in_transaction()


async def rollback(conn: Connection, transaction: Any) -> object:
    await transaction.rollback()
    return conn.is_in_transaction()


async def block(conn: Connection, _: Any) -> object:
    async with conn.transaction():
        for _ in range(3):
            await conn.execute(INSERT, 1, "x")
    return conn.is_in_transaction()


async def nested(conn: Connection, _: Any) -> object:
    async with conn.transaction():
        await conn.execute(INSERT, 1, "x")
        async with conn.transaction():
            await conn.execute(INSERT, 1, "x")
        async with conn.transaction() as inner:
            await conn.execute(INSERT, 1, "x")
            await inner.rollback()
    return conn.is_in_transaction()


async def close(conn: Connection, _: Any) -> object:
    await conn.close(timeout=0.3)
    return conn.is_closed()


TWENTY = NAMES[:20]

OPERATIONS = (
    Operation("fetch, not prepared yet", fetch, TWENTY),
    Operation("fetch, prepared before", fetch, TWENTY, fetch_once),
    Operation("fetch of several blocks", fetch_many, NAMES),
    Operation("fetchrow with a parameter", fetchrow, (NAMES[6][1], 7)),
    Operation("stream", stream, NAMES),
    Operation("cursor", cursor, NAMES),
    Operation("scroll cursor", scroll, [(ROWS,), (1,), (5,)]),
    Operation("prepare", prepare, [NAMES[2][1], NAMES[4][1]]),
    Operation("unload", unload, 20),
    Operation("call", call, [(42,)]),
    Operation("fetch of large values", fetch_large, PICTURES),
    Operation("stream of chunks", stream_chunks, [data for _, data, _ in PICTURES]),
    Operation("fetch of smart large objects", fetch_smart, PICTURES),
    Operation("reading handles", read_handles, [data for _, data, _ in PICTURES]),
    Operation("ping", ping, "alive"),
    Operation("a statement that fails", fail, "no such table"),
    Operation("execute", execute, 1, writes=1),
    Operation("execute, prepared before", execute, 1, execute_once, writes=1),
    Operation("execute without parameters", execute_literal, 1, writes=1),
    Operation("execute with a large value", execute_large, 1, writes=1),
    Operation("execute with a smart large object", execute_smart, 1, writes=1),
    Operation("executemany with smart large objects", executemany_smart, MANY, writes=MANY, commits=True),
    Operation("executemany with large values", executemany_large, MANY, writes=MANY, commits=True),
    Operation("load of large values", load_large, MANY, writes=MANY, commits=True),
    Operation("executemany", executemany, MANY, writes=MANY, commits=True),
    Operation("load", load, MANY, writes=MANY, commits=True),
    Operation("transaction, entered", enter, True, new_transaction),
    Operation("transaction, committed", commit, False, written_transaction, writes=MANY, commits=True),
    Operation("transaction, rolled back", rollback, False, written_transaction),
    Operation("transaction as a block", block, False, writes=3, commits=True),
    Operation("transaction in a transaction", nested, False, writes=2, commits=True),
    Operation("close", close, True),
)
