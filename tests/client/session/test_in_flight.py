"""A request in flight: what holds until the dispatcher says otherwise."""

from __future__ import annotations

from aioifx.client.session.in_flight import InFlight


def test_a_new_request_has_no_time_limit_and_is_not_abandoned() -> None:
    in_flight: InFlight[None] = InFlight()
    assert (in_flight.deadline, in_flight.is_abandoned) == (None, False)
    assert (in_flight.on_lost, in_flight.parser) == (None, None)


def test_it_holds_only_what_was_set() -> None:
    """One is made for each request, so that defaults stay with the class."""
    in_flight: InFlight[None] = InFlight()
    in_flight.is_abandoned = True
    assert vars(in_flight) == {"is_abandoned": True}
