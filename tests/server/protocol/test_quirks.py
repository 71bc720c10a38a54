from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aioifx.errors import InterfaceError
from aioifx.server import Quirk, ServerOptions, running
from aioifx.server.protocol.quirks import quirks_of, without_bits
from aioifx.wire.capabilities import SERVER_MASK, has_bit
from tests.changed_by_quirks import CHANGED
from tests.quirks import FOLDERS, groups


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


def test_the_clients_tests_are_repeated_with_every_quirk() -> None:
    assert set[Quirk]().union(*groups()) == set(Quirk)
    assert sum(map(len, groups())) == len(Quirk)


def test_each_test_that_quirks_change_exists() -> None:
    client = Path(__file__).parents[2] / "client"
    texts = {
        path.stem: path.read_text("utf-8")
        for folder in FOLDERS
        for path in (client / folder).glob("test_*.py")
    }
    for name, quirks in CHANGED.items():
        module, test = name.split("::")
        assert f"def {test}(" in texts[module]
        assert all(quirks.values())
