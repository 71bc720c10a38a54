"""The compiled part of a round trip. tests/test_channel.py and tests/client/session run it, native and pure."""

from __future__ import annotations

from aioifx._speedups import round_trip
from tests._speedups.test_inbox import check_fields, source_of


def test_the_declared_fields_are_those_that_the_source_sets() -> None:
    check_fields("round_trip")


def test_a_new_request_is_the_same_in_both() -> None:
    pure = source_of("round_trip").InFlight("reader", True, None, print, print)
    ours = round_trip.InFlight("reader", True, None, print, print)
    for field, value in vars(pure).items():
        assert getattr(ours, field) == value, field
