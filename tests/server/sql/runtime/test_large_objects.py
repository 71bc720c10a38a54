from __future__ import annotations

import pytest

from aioifx.codecs.large_objects import Descriptor, Locator
from aioifx.server.sql.builtin_types import TEXT
from aioifx.server.sql.runtime.large_objects import (
    descriptor_loader,
    kept_text,
    locator_of,
    object_number,
    store_large,
    store_locator,
)
from tests.server.sql.kinds import error_of, settings


def test_a_kept_value_becomes_a_descriptor_of_the_described_length() -> None:
    descriptor = descriptor_loader(TEXT)(kept_text(1025, 7 << 32 | 3))
    assert isinstance(descriptor, Descriptor)
    assert len(descriptor.data) == 56
    assert (descriptor.size, descriptor.reference) == (1025, 7 << 32 | 3)


@pytest.mark.parametrize("number", [1, 2**38 - 1])
def test_a_locator_has_its_objects_number(number: int) -> None:
    locator = locator_of(number)
    assert len(locator.data) == 72
    assert object_number(locator) == number
    assert store_locator(locator, settings()) == number


@pytest.mark.parametrize("data", [b"", bytes(72), bytes(range(72)), locator_of(5).data + b"\0"])
def test_a_strange_locator_is_refused(data: bytes) -> None:
    assert error_of(object_number, Locator(data)) == -9810


def test_only_large_values_are_stored_as_such() -> None:
    assert store_large(b"abc", settings()) == b"abc"
    for store, value in ((store_large, "abc"), (store_locator, b"abc"), (store_large, locator_of(1))):
        assert error_of(store, value, settings()) == -608
