"""The names of a database for completion, read in the background by a connection of its own. Never: what is typed.

Invariants:
1. The user's connection is not used, so no statement waits for the names, and none of its locks are held.
2. The names are read without locks (DIRTY READ), so those of an open transaction are among them.
3. Without names, completion has keywords only: an error here is not the user's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from aioifx.catalog.tables import fetch_of
from aioifx.cli.address import Destination
from aioifx.client.config.options import OptionFields
from aioifx.client.connect.connect import connect
from aioifx.errors import Error

_COLUMNS = (
    "SELECT CASE WHEN t.tabid < 100 THEN 1 ELSE 0 END AS is_system, t.tabid, t.tabname, c.colno, c.colname"
    " FROM informix.systables t, informix.syscolumns c WHERE c.tabid = t.tabid ORDER BY 1, 2, 4"
)
_OTHERS = "SELECT t.tabname, t.tabtype FROM informix.systables t WHERE t.tabtype IN ('S', 'P', 'Q') ORDER BY t.tabname"
_ROUTINES = "SELECT DISTINCT p.procname FROM informix.sysprocedures p WHERE p.mode IN ('D', 'O', 'R', 'T')"
DATABASES = "SELECT d.name FROM sysmaster:sysdatabases d ORDER BY d.name"


class Names(NamedTuple):
    """What a database has; names as in the catalog."""

    columns: Mapping[str, Sequence[str]] = {}
    """By table, those of users first; a synonym or sequence has none."""
    routines: Sequence[str] = ()
    databases: Sequence[str] = ()
    own: Collection[str] = ()
    """The tables that users have made."""


class Catalogue:
    """The names of the database that a shell uses."""

    def __init__(self, destination: Destination) -> None:
        self._destination = destination
        self._task: asyncio.Task[None] | None = None
        self.names = Names()

    def refresh(self, database: str) -> None:
        """Read the names of a database again; those of before remain until then."""
        if self._task is not None:
            self._task.cancel()
        self._task = asyncio.create_task(self._read(database, self._task))

    async def _read(self, database: str, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait([before])
        with suppress(Error, OSError):
            self.names = await _names(self._destination, database)

    async def wait(self) -> None:
        """Wait until the names have been read."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def close(self) -> None:
        """End reading."""
        if self._task is not None:
            self._task.cancel()
            await self.wait()


async def _names(destination: Destination, database: str) -> Names:
    options: OptionFields = {**destination.options, "isolation": "dirty read", "lock_wait": 0}
    options.pop("trace", None)  # of the user's statements
    if database:
        options["database"] = database
    async with connect(destination.dsn, **options) as conn:
        fetch = fetch_of(conn)
        rows: Sequence[Any] = await fetch(_COLUMNS, ())
        own = {row[2] for row in rows if not row[0]}
        columns = {name: [row[4] for row in found] for name, found in groupby(rows, key=itemgetter(2))}
        columns |= {name: [] for name, _ in await fetch(_OTHERS, ())}
        routines = sorted(name for (name,) in await fetch(_ROUTINES, ()))
        databases = [name for (name,) in await fetch(DATABASES, ())]
    return Names(columns, routines, databases, own)
