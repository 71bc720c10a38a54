"""Replaying the changes of random transactions into a second database gives the same tables."""

from __future__ import annotations

import pytest

from aioifx.server import Quirk
from tests.system.changes.law import Law
from tests.system.soak.places import Killed

VARIATIONS = [
    (),
    (Quirk.CDC_INTERLEAVED,),
    (Quirk.CDC_DISCARDS,),
    (Quirk.CDC_INTERLEAVED, Quirk.CDC_DISCARDS, Quirk.CDC_CUT_RECORDS),
    (Quirk.CDC_LITTLE_ENDIAN, Quirk.CDC_LONG_HEADERS, Quirk.CDC_NUL_AFTER_COLUMNS, Quirk.CDC_SEVERAL_RECORDS),
]


async def test_the_copy_is_equal() -> None:
    law = Law(seed=1, transactions=5, writers=3)
    await law.check()
    assert law.seen["applied"] > 0


@pytest.mark.exhaustive
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("quirks", VARIATIONS, ids=lambda quirks: "-and-".join(quirks) or "none")
async def test_the_copy_is_equal_with_other_servers(quirks: tuple[Quirk, ...], seed: int) -> None:
    law = Law(seed=seed, transactions=60, quirks=quirks, cuts=0.02, faults=0.8)
    await law.check()
    assert {"restarts", "connections cut", "insert", "update", "delete", "truncate"} <= law.seen.keys()


@pytest.mark.exhaustive
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "quirks", VARIATIONS[:1] + VARIATIONS[3:4], ids=lambda quirks: "-and-".join(quirks) or "none"
)
async def test_the_copy_is_equal_if_the_server_is_killed(quirks: tuple[Quirk, ...]) -> None:
    law = Law(seed=3, transactions=120, quirks=quirks, kind=Killed, server_ends=3, faults=0.5)
    await law.check()
    assert law.seen["servers ended"] > 0
