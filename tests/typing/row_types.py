"""What type checkers make of row types: mypy and pyright check each `assert_type` (`poe types`); it is never run."""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_type

import aioifx
from aioifx.client.pool.pool import AcquireContext
from aioifx.rows import class_row, dict_row, tuple_row

DSN = "informix://u:p@h/d?server=s"


@dataclass
class Item:
    """A row of a class of one's own."""

    id: int
    name: str


async def of_a_connection() -> None:
    """`connect` keeps the row type; a call may have another."""
    async with aioifx.connect(DSN) as plain:
        assert_type(plain, aioifx.Connection[aioifx.Record])
        assert_type(await plain.fetch("select"), list[aioifx.Record])
        assert_type(await plain.fetch("select", row_factory=dict_row), list[dict[str, Any]])
        assert_type(await plain.call("p"), list[aioifx.Record])
    conn = await aioifx.connect(DSN, row_factory=class_row(Item), fetch_size=4096)
    assert_type(conn, aioifx.Connection[Item])
    assert_type(await conn.fetch("select", 1, timeout=1), list[Item])
    assert_type(await conn.fetchrow("select"), Item | None)
    assert_type(await conn.fetchrow("select", row_factory=tuple_row), tuple[Any, ...] | None)
    assert_type(await conn.call("p", named={"a": 1}), list[Item])
    assert_type(await conn.call("p", row_factory=dict_row), list[dict[str, Any]])
    assert_type(conn.stream("select"), aioifx.Stream[Item])
    assert_type([row async for row in conn.stream("select", row_factory=dict_row)], list[dict[str, Any]])
    assert_type([block async for block in conn.stream("select").blocks()], list[list[Item]])
    assert_type(conn.cursor(), aioifx.Cursor[Item])
    assert_type(conn.cursor(row_factory=dict_row), aioifx.Cursor[dict[str, Any]])
    statement = await conn.prepare("select")
    assert_type(statement, aioifx.PreparedStatement[Item])
    assert_type(await statement.fetch(), list[Item])
    assert_type(await statement.fetchrow(row_factory=dict_row), dict[str, Any] | None)
    assert_type(statement.stream(), aioifx.Stream[Item])
    assert_type(await conn.prepare("s", row_factory=dict_row), aioifx.PreparedStatement[dict[str, Any]])


async def of_a_pool() -> None:
    """`create_pool` keeps it, for its own calls and for the connections that are acquired from it."""
    async with aioifx.create_pool(DSN) as plain:
        _ = assert_type(plain, aioifx.Pool[aioifx.Record])
    pool = await aioifx.create_pool(DSN, row_factory=class_row(Item), max_size=3)
    _ = assert_type(pool, aioifx.Pool[Item])
    assert_type(await pool.fetch("select"), list[Item])
    assert_type(await pool.fetchrow("select", row_factory=dict_row), dict[str, Any] | None)
    assert_type(pool.stream("select"), aioifx.Stream[Item])
    assert_type(await pool.call("p"), list[Item])
    _ = assert_type(pool.acquire(), AcquireContext[Item])
    async with pool.acquire() as conn:
        assert_type(conn, aioifx.Connection[Item])
    assert_type(pool.stats, aioifx.PoolStats)


async def literals(conn: aioifx.Connection) -> None:
    """What is one of a few words is checked before it runs. A plain `Connection` has records."""
    assert_type(await conn.fetch("select"), list[aioifx.Record])
    await conn.executemany("insert", [], on_error="collect")
    await conn.load("t", [], commit="block")
    await conn.load("t", [], format="csv")
    await conn.executemany("insert", [], on_error="ignore")  # type: ignore[arg-type]
    await conn.load("t", [], commit="row")  # type: ignore[arg-type]
    await conn.load("t", [], format="json")  # type: ignore[arg-type]
