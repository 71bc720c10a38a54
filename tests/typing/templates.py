"""Template strings as type checkers see them: mypy and pyright check each call (`poe types`); it is never run."""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from typing import Any, assert_type

import aioifx
import aioifx.dbapi
from aioifx.rows import dict_row
from tests.template_strings import Template


async def are_statements(db: aioifx.Connection | aioifx.Pool, template: Template) -> None:
    """Where a statement runs once."""
    assert_type(await db.fetch(template), list[aioifx.Record])
    assert_type(await db.fetchrow(template, row_factory=dict_row), dict[str, Any] | None)
    assert_type(db.stream(template), aioifx.Stream[aioifx.Record])
    await db.fetchval(template)
    await db.fetch_arrow(template)
    await db.execute(template)
    await db.unload(template, "file.unl")


async def are_statements_of_cursors(
    cursor: aioifx.Cursor[Any], blocking: aioifx.dbapi.Cursor, template: Template
) -> None:
    """As `are_statements`."""
    await cursor.execute(template)
    blocking.execute(template)


async def are_prepared_with_their_values(conn: aioifx.Connection, template: Template) -> None:
    """Those of a call without any."""
    assert_type(await conn.prepare(template), aioifx.PreparedStatement[aioifx.Record])


async def are_not_for_many_executions(conn: aioifx.Connection, template: Template) -> None:
    """Where values come with each execution."""
    await conn.executemany(template, [])  # type: ignore[arg-type]
