"""The changes that a test has committed, by change data capture. Never: a fixture, a server."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final

from aioifx.cdc.records import Change
from aioifx.cdc.stream import Changes, changes
from aioifx.client.api.connection import Connection
from aioifx.client.connect.connect import connect
from aioifx.rows import tuple_row

_MARKS: Final = "ifx_marks"
"""A table of the fixture's own: a row in it ends what was committed before."""
_TABLES: Final = (
    "SELECT owner, tabname FROM informix.systables WHERE tabtype = 'T' AND tabid > 99 ORDER BY tabid"
)
_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class CommittedChanges:
    """The changes of a test's database.

    Captured are the tables that the database had when the test began. While they are, ALTER TABLE is refused.
    """

    def __init__(self, conn: Connection[Any], captured: Changes, marks: str) -> None:
        self._conn = conn
        self._captured = captured
        self._marks = marks

    async def committed(self) -> list[Change]:
        """What was committed since the last call, or since the test began, in the order of the commits."""
        mark = (await self._conn.execute(f"INSERT INTO {_MARKS} VALUES (0)")).serial
        found: list[Change] = []
        async for transaction in self._captured:
            for change in transaction:
                if change.table != self._marks:
                    found.append(change)
                elif change.after is not None and change.after["mark"] == mark:
                    return found
        raise AssertionError("the changes ended before the mark")


@asynccontextmanager
async def capturing(dsn: str) -> AsyncGenerator[CommittedChanges, None]:
    """The changes of a database from now on.

    Raises:
        CdcError: they cannot be captured, such as in a database without a log.
    """
    async with connect(dsn, row_factory=tuple_row) as conn:
        await conn.execute(f"CREATE TABLE {_MARKS} (mark SERIAL)")
        found = [(str(owner).strip(), str(name)) for owner, name in await conn.fetch(_TABLES)]
        names = {
            name: f"{conn.database}:{owner}.{name}"
            for owner, name in found
            if _NAME.fullmatch(owner) and _NAME.fullmatch(name)
        }
        async with changes(dsn, [*names.values()], max_records=1, stop_logging=True) as captured:
            yield CommittedChanges(conn, captured, names[_MARKS])
