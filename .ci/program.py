"""A program of a user, for the part `editable` of .ci/run."""

from __future__ import annotations

import asyncio
from typing import assert_type

import aioifx
from aioifx.server import running


async def main() -> None:
    async with running("d") as dsn, aioifx.connect(dsn) as conn:
        assert_type(await conn.fetch("SELECT tabname FROM systables"), list[aioifx.Record])


asyncio.run(main())
