"""The soak itself works: two seconds of it, always the same ones, leave nothing behind."""

from __future__ import annotations

import pytest

from tests.system.soak.soak import soak


@pytest.mark.exhaustive
@pytest.mark.timeout(180)  # the other process may be slow to start
async def test_two_seconds_of_the_soak_leave_nothing_behind() -> None:
    report = await soak(2, seed=7, workers=8)
    print(report)
    assert report.outcomes["done"] > 0
    assert report.faults.total() > 0
    assert report.wrong == []
