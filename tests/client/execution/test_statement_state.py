"""Laws of the states of a statement, for every sequence of events."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aioifx.client.execution.statement_state import (
    GONE,
    TRANSITIONS,
    WITH_CURSOR,
    WITH_ROWS,
    StatementEvent,
    StatementState,
)

events = st.lists(st.sampled_from(StatementEvent), max_size=12)


def after(sequence: list[StatementEvent], state: StatementState = StatementState.PREPARED) -> StatementState:
    for event in sequence:
        state = TRANSITIONS[event][state]
    return state


def test_every_event_may_come_in_every_state() -> None:
    assert set(TRANSITIONS) == set(StatementEvent)
    assert all(set(row) == set(StatementState) for row in TRANSITIONS.values())


def test_every_state_is_reached() -> None:
    reached = {StatementState.PREPARED}
    for _ in StatementState:
        reached |= {row[state] for row in TRANSITIONS.values() for state in reached}
    assert reached == set(StatementState)


def test_an_ordinary_query_opens_ends_and_closes() -> None:
    assert after([StatementEvent.OPEN]) is StatementState.OPEN
    assert after([StatementEvent.OPEN, StatementEvent.LAST_ROWS]) is StatementState.EXHAUSTED
    assert (
        after([StatementEvent.OPEN, StatementEvent.LAST_ROWS, StatementEvent.CLOSE])
        is StatementState.PREPARED
    )
    assert (
        after([StatementEvent.OPEN, StatementEvent.CLOSE, StatementEvent.RELEASE]) is StatementState.RELEASED
    )


@given(events)
def test_a_released_statement_stays_released(sequence: list[StatementEvent]) -> None:
    assert after([*sequence, StatementEvent.RELEASE]) in GONE
    assert (after(sequence) in GONE) == (StatementEvent.RELEASE in sequence)


@given(events)
def test_after_a_close_there_is_no_cursor_and_there_are_no_rows(sequence: list[StatementEvent]) -> None:
    state = after([*sequence, StatementEvent.CLOSE])
    assert state not in WITH_CURSOR
    assert state not in WITH_ROWS


@given(events)
def test_after_the_last_rows_nothing_is_fetched(sequence: list[StatementEvent]) -> None:
    assert after([*sequence, StatementEvent.LAST_ROWS]) not in WITH_ROWS


@given(events)
def test_a_fetch_that_was_under_way_at_the_release_still_ends(sequence: list[StatementEvent]) -> None:
    if after(sequence) is StatementState.OPEN:
        assert after([*sequence, StatementEvent.RELEASE]) in WITH_ROWS
        assert after([*sequence, StatementEvent.RELEASE, StatementEvent.LAST_ROWS]) is StatementState.RELEASED
