"""Random transactions at each isolation level have no anomaly that the level excludes."""

from __future__ import annotations

from collections import Counter

import pytest

from aioifx import server
from tests.system.histories.anomalies import FORBIDDEN, find_anomalies
from tests.system.histories.history import Isolation
from tests.system.histories.workload import clients, recorded, shapes

ALL, SOME = 80, 10
"""Histories of each level: four hundred in the exhaustive suite."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize("isolation", Isolation)
async def test_no_history_has_an_anomaly_that_its_level_excludes(
    isolation: Isolation, is_exhaustive: bool
) -> None:
    committed: Counter[bool] = Counter()
    async with server.running() as dsn, clients(dsn) as connected:
        for seed in range(ALL if is_exhaustive else SOME):
            history = await recorded(connected, shapes(seed, isolation), seed)
            forbidden = [
                finding for finding in find_anomalies(history) if finding.anomaly in FORBIDDEN[isolation]
            ]
            assert not forbidden, f"seed {seed}: {forbidden}\n{history}"
            committed.update(transaction.is_committed for transaction in history.transactions)
    assert committed[True] > committed[False] // 4, (
        committed
    )  # a server that refuses everything proves nothing
