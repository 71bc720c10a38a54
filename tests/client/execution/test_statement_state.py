"""Laws of the states of a statement, for every sequence of events."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aioifx.client.execution.statement_state import (
    GONE,
    TRANSITIONS,
    WITH_CURSOR,
    WITH_ROWS,
    Event,
    State,
)

events = st.lists(st.sampled_from(Event), max_size=12)


def after(sequence: list[Event], state: State = State.PREPARED) -> State:
    for event in sequence:
        state = TRANSITIONS[event][state]
    return state


def test_every_event_may_come_in_every_state() -> None:
    assert set(TRANSITIONS) == set(Event)
    assert all(set(row) == set(State) for row in TRANSITIONS.values())


def test_every_state_is_reached() -> None:
    reached = {State.PREPARED}
    for _ in State:
        reached |= {row[state] for row in TRANSITIONS.values() for state in reached}
    assert reached == set(State)


def test_an_ordinary_query_opens_ends_and_closes() -> None:
    assert after([Event.OPEN]) is State.OPEN
    assert after([Event.OPEN, Event.LAST_ROWS]) is State.EXHAUSTED
    assert after([Event.OPEN, Event.LAST_ROWS, Event.CLOSE]) is State.PREPARED
    assert after([Event.OPEN, Event.CLOSE, Event.RELEASE]) is State.RELEASED


@given(events)
def test_a_released_statement_stays_released(sequence: list[Event]) -> None:
    assert after([*sequence, Event.RELEASE]) in GONE
    assert (after(sequence) in GONE) == (Event.RELEASE in sequence)


@given(events)
def test_after_a_close_there_is_no_cursor_and_there_are_no_rows(sequence: list[Event]) -> None:
    state = after([*sequence, Event.CLOSE])
    assert state not in WITH_CURSOR
    assert state not in WITH_ROWS


@given(events)
def test_after_the_last_rows_nothing_is_fetched(sequence: list[Event]) -> None:
    assert after([*sequence, Event.LAST_ROWS]) not in WITH_ROWS


@given(events)
def test_a_fetch_that_was_under_way_at_the_release_still_ends(sequence: list[Event]) -> None:
    if after(sequence) is State.OPEN:
        assert after([*sequence, Event.RELEASE]) in WITH_ROWS
        assert after([*sequence, Event.RELEASE, Event.LAST_ROWS]) is State.RELEASED
