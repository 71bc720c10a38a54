from __future__ import annotations

from typing import Any

import pytest

from aioifx.errors import InterfaceError
from aioifx.server import Quirk, ServerOptions, running
from aioifx.server.protocol.quirks import quirks_of, without_bits
from aioifx.wire.capabilities import SERVER_MASK, has_bit


def test_names_and_members_are_quirks() -> None:
    both = frozenset({Quirk.ROW_BY_ROW, Quirk.NO_COST})
    assert quirks_of(["row-by-row", "no-cost"]) == quirks_of(both) == both
    assert ServerOptions(quirks={"no-cost", "row-by-row"}).quirks == both
    assert ServerOptions().quirks == frozenset()


@pytest.mark.parametrize(
    ("quirks", "expected"),
    [
        ("no-cost", "quirks: expected a set of names, got str"),
        (7, "quirks: expected a set of names, got int"),
        (["no-costs"], "quirks: expected one of error-on-close, .*no-bit-70, got 'no-costs'"),
        ([7], "quirks: expected one of error-on-close, .*no-bit-70, got 7"),
    ],
)
async def test_an_unknown_quirk_is_refused(quirks: Any, expected: str) -> None:
    with pytest.raises(InterfaceError, match=expected):
        ServerOptions(quirks=quirks)
    with pytest.raises(InterfaceError, match=expected):
        async with running(quirks=quirks):
            pass


def test_bits_are_cleared_alone() -> None:
    assert without_bits(SERVER_MASK, [Quirk.NO_COST]) == SERVER_MASK
    mask = without_bits(SERVER_MASK, [Quirk.NO_BIT_13, Quirk.NO_BIT_70])
    changed = [bit for bit in range(72) if has_bit(mask, bit) != has_bit(SERVER_MASK, bit)]
    assert changed == [13, 70]
    assert without_bits(bytes(8), [Quirk.NO_BIT_70]) == bytes(8)
