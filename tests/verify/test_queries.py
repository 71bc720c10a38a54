"""The checks of `queries` hold at the embedded server."""

from __future__ import annotations

from aioifx.verify.queries import QUERIES
from tests.verify.outcomes import require_all_held


async def test_all_hold() -> None:
    await require_all_held(QUERIES)
