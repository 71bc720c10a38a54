from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from aioifx.server.sql.frozen import Frozen


class Place(Frozen):
    street: str
    number: int = 1


class Shop(Place):
    is_open: bool = False


def test_subclasses_are_frozen_dataclasses_with_slots() -> None:
    shop = Shop("Elm", is_open=True)
    assert shop == Shop("Elm", 1, True) and hash(shop) == hash(Shop("Elm", 1, True))
    assert replace(shop, number=2) == Shop("Elm", 2, True)
    assert shop != Place("Elm") and not hasattr(shop, "__dict__")
    with pytest.raises(FrozenInstanceError):
        shop.number = 3  # type: ignore[misc]
