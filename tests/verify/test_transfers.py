"""The checks of `transfers` hold at the embedded server."""

from __future__ import annotations

from aioifx.verify.transfers import TRANSFERS
from tests.verify.outcomes import require_all_held


async def test_all_hold() -> None:
    await require_all_held(TRANSFERS)
