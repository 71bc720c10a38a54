"""The status of a transaction: laws of its table."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.client.session.transaction_status import NEXT, TransactionEvent, TransactionStatus

STATUSES, EVENTS = [*TransactionStatus], [*TransactionEvent]


def after(*events: TransactionEvent) -> TransactionStatus:
    status = TransactionStatus.NONE
    for event in events:
        status = NEXT[status].get(event, status)
    return status


def test_every_status_is_in_the_table_and_is_left_again() -> None:
    assert set(NEXT) == set(STATUSES)
    for status, changes in NEXT.items():
        assert changes and status not in changes.values()


@pytest.mark.parametrize(("status", "event"), [*itertools.product(STATUSES, EVENTS)])
def test_a_transaction_is_open_only_after_a_successful_begin(
    status: TransactionStatus, event: TransactionEvent
) -> None:
    following = NEXT[status].get(event, status)
    if following.is_open and not status.is_open:
        assert event is TransactionEvent.BEGUN
    if status.is_open and not following.is_open:
        assert event in (TransactionEvent.ENDED, TransactionEvent.ENDED_BY_ERROR, TransactionEvent.ABANDONED)


@given(st.lists(st.sampled_from(EVENTS)))
def test_any_status_ends_once_the_transaction_is_rolled_back(events: list[TransactionEvent]) -> None:
    assert after(*events, TransactionEvent.ABANDONED, TransactionEvent.ROLLED_BACK) is TransactionStatus.NONE
    assert after(*events, TransactionEvent.ENDED) in (
        TransactionStatus.NONE,
        TransactionStatus.ROLLBACK_PENDING,
    )


def test_a_begin_that_succeeds_after_it_was_abandoned_opens_nothing() -> None:
    assert after(TransactionEvent.ABANDONED, TransactionEvent.BEGUN) is TransactionStatus.ROLLBACK_PENDING
    assert (
        after(TransactionEvent.ABANDONED, TransactionEvent.BEGUN, TransactionEvent.ROLLED_BACK)
        is TransactionStatus.NONE
    )
