"""Operations that show how a server differs, or that change a session's database. Never: what a server does."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any, Final

import aioifx
from tests.system.simulation.model.database import WIDE, wide_text
from tests.system.simulation.model.statements import TWICE
from tests.system.simulation.operations.kinds import INSERT, WIDE_ROWS, check_rows, kind
from tests.system.simulation.world import Entry, World, Wrong

_ALL_TEXT: Final = "SELECT id, text::LVARCHAR AS text FROM wide"
_ALBUM: Final = "SELECT id, picture FROM album WHERE id >= ? AND id < ?"
_BATCH: Final = 400
"""Rows of a batch that has several writes."""


async def _all_rows(conn: aioifx.Connection, way: int, sql: str, *params: Any) -> list[Any]:
    """All rows of a query, in one of several ways."""
    match way % 6:
        case 0:
            return await conn.fetch(sql, *params)
        case 1:
            return [row async for row in conn.stream(sql, *params, prefetch=way % 4 == 1)]
        case 2:
            return [row async for block in conn.stream(sql, *params).blocks() for row in block]
        case 3:
            cursor = conn.cursor()
            await cursor.execute(sql, params)
            return await cursor.fetchmany(7) + await cursor.fetchall()
        case 4:
            statement = await conn.prepare(sql)
            first = await statement.fetch(*params)
            if await statement.fetch(*params) != first:
                raise Wrong("a prepared statement has other rows when it is executed again")
            return first
        case _:
            rows = await conn.fetch(sql, *params)
            if (counted := (await conn.execute(sql, *params)).rowcount) != len(rows):
                raise Wrong(f"{counted} rows are counted of {len(rows)}")
            row = await conn.fetchrow(sql, *params)
            if (None if row is None else tuple(row)) != (tuple(rows[0]) if rows else None):
                raise Wrong(f"the first row is {row}")
            return rows


@kind("read wide", 0)
async def _read_wide(world: World, entry: Entry) -> None:
    """Several blocks, or one, or no row."""
    number, size = entry.operation.number, entry.operation.size
    stop = (WIDE, size, 0)[(number + size) % 3]
    async with world.acquire(entry) as conn:
        check_rows(await _all_rows(conn, number, WIDE_ROWS, 0, stop), 0, stop)
        check_rows(await conn.fetch(WIDE_ROWS, 5, 8), 5, 8)


@kind("read all text", 0)
async def _read_all_text(world: World, entry: Entry) -> None:
    """The form of the rows is asked for, and there are no parameters."""
    async with world.acquire(entry) as conn:
        check_rows(await _all_rows(conn, entry.operation.number, _ALL_TEXT), 0, WIDE)
        check_rows(await _all_rows(conn, entry.operation.size, _ALL_TEXT), 0, WIDE)


@kind("read values", 0)
async def _read_values(world: World, entry: Entry) -> None:
    """BYTE values, which are requested after their rows. Where the server drops them, the query is read again."""
    number, size = entry.operation.number, entry.operation.size
    stop = min(number + size, WIDE)
    async with world.acquire(entry) as conn:
        try:
            rows = await _all_rows(conn, number, _ALBUM, number, stop)
        except aioifx.DatabaseError as error:
            if "optofc=False" not in str(error):
                raise
            is_other_lost = any("reading it again" in note for note in getattr(error, "__notes__", ()))
            is_one_block = number % 6 in (0, 5) and size <= 20
            if conn.autocommit and is_one_block and not is_other_lost:
                raise Wrong("a query whose values were dropped is not read again") from error
            world.expired[entry.pool].add(entry.transport.number)
            return
        expected = [(each, wide_text(each).encode()) for each in range(number, stop)]
        if [tuple(row) for row in rows] != expected:
            raise Wrong(f"{len(rows)} values of {len(expected)}: {rows[:2]}")
        check_rows(await conn.fetch(WIDE_ROWS, 5, 8), 5, 8)


@kind("change the database", 0)
async def _change_database(world: World, entry: Entry) -> None:
    """While a stream is open; the statement that its text has then may have the number of the stream's."""
    number, size = entry.operation.number, entry.operation.size
    async with world.acquire(entry) as conn:
        conn.autocommit = True
        async with (
            aclosing(conn.stream(WIDE_ROWS, 0, WIDE, prefetch=number % 2 == 0)) as stream,
            aclosing(conn.stream(WIDE_ROWS, 20, WIDE)) as again,
        ):
            rows = [await anext(stream) for _ in range(7 * size % WIDE)]
            if number % 3:
                await conn.execute("CLOSE DATABASE")
            await conn.execute("DATABASE shop")
            first = await anext(again)
            try:
                async for row in stream:
                    rows.append(row)
            except aioifx.InterfaceError as error:
                if "before another database was opened" not in str(error):
                    raise
            await stream.aclose()
            check_rows(rows, 0, len(rows))
            check_rows([first] + [row async for row in again], 20, WIDE)
        check_rows(await conn.fetch(WIDE_ROWS, 5, 8), 5, 8)


@kind("fail in a large batch", 0, writes=True, batch=True)
async def _fail_in_large_batch(world: World, entry: Entry) -> None:
    """One row fails while later writes of the batch are on their way."""
    number, size = entry.operation.number, entry.operation.size
    failing, collects = (number * 97 + size * 13) % _BATCH, number % 2 == 0
    rows = [(number, TWICE if index == failing else "x" * 180) for index in range(_BATCH)]
    entry.notes, entry.collects = _BATCH, collects
    async with world.acquire(entry) as conn:
        entry.may_take_effect = collects and conn.autocommit
        try:
            result = await conn.executemany(INSERT, rows, on_error="collect" if collects else "raise")
        except aioifx.UniqueViolation as error:
            if error.row_index != failing:
                raise Wrong(f"row {error.row_index} failed, expected {failing}") from error
            if collects or error.outcome_unknown:  # the server has ended the transaction
                raise
            entry.notes = 0
            return
        except (aioifx.ConnectionLost, aioifx.QueryTimeout) as error:
            if error.row_index is not None and error.row_index > failing:  # others may fail before it
                raise Wrong(f"row {error.row_index} is said to have failed first, not {failing}") from error
            raise
        failed = [error.row_index for error in result.errors]
        if not collects or result.rowcount + len(failed) != _BATCH or failing not in failed:
            raise Wrong(f"{result.rowcount} rows are stored, and these failed: {failed[:5]}..")
        entry.notes = result.rowcount
        if not conn.autocommit:
            entry.is_body_done = True
            await conn.commit()
