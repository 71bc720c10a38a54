"""Schemas of databases, and connections to databases that have them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aioifx
from aioifx.server import ServerOptions, serve
from aioifx.server.sqlite.databases import LogMode

_SCHEMAS = Path(__file__).with_name("schemas")
_STORES = Path(__file__).parents[1] / "libraries/programs/stores_demo.sql"


def script_of(name: str) -> str:
    """The script of a schema; that of stores_demo has the tables of another test's, too."""
    script = (_SCHEMAS / f"{name}.sql").read_text("utf-8")
    return f"{_STORES.read_text('utf-8')};\n{script}" if name == "stores_routines" else script


@asynccontextmanager
async def database(
    script: str, *, log_mode: LogMode = LogMode.LOGGED, **environment: str
) -> AsyncIterator[aioifx.Connection[Any]]:
    """A connection to a new database that a script has filled; the session has these variables."""
    async with (
        serve(ServerOptions(seed=script, log_mode=log_mode)) as server,
        aioifx.connect(server.dsn, environment=environment) as conn,
    ):
        yield conn
