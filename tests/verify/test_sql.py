"""The checks of `sql` hold at the embedded server."""

from __future__ import annotations

from aioifx.verify.sql import SQL
from tests.verify.outcomes import require_all_held


async def test_all_hold() -> None:
    await require_all_held(SQL)
