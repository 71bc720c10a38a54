"""The compiled part of a round trip. tests/test_channel.py and tests/client/session run it, native and pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from aioifx._speedups import round_trip
from aioifx.channel import Channel
from aioifx.client.session.dispatcher import Dispatcher
from tests._speedups.test_inbox import check_fields, source_of


def test_the_declared_fields_are_those_that_the_source_sets() -> None:
    check_fields("round_trip")


def test_a_new_request_is_the_same_in_both() -> None:
    pure = source_of("round_trip").InFlight("reader", True, None, print, print)
    ours = round_trip.InFlight("reader", True, None, print, print)
    for field, value in vars(pure).items():
        assert getattr(ours, field) == value, field


def receive(field: str, value: Any) -> None:
    channel = Channel()
    setattr(channel, field, value)
    channel.data_received(b"x")


@pytest.mark.parametrize(
    "call",
    [
        lambda: Channel.__new__(Channel).data_received(b"x"),
        lambda: receive("inbox", None),
        lambda: receive("pending_replies", [None]),
        lambda: Dispatcher.__new__(Dispatcher).try_acquire(),
        lambda: Dispatcher.__new__(Dispatcher).release(),
    ],
)
def test_a_field_without_its_object_is_an_error(call: Callable[[], None]) -> None:
    """In a compiled class it is None, and reading a field of that would end the process if it were not checked."""
    with pytest.raises(AttributeError):
        call()
