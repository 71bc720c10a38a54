"""The checker finds each anomaly in the smallest history that has it, and none in a serial history."""

from __future__ import annotations

import random
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.system.histories.anomalies import FORBIDDEN, Anomaly, find_anomalies
from tests.system.histories.history import (
    Append,
    Delete,
    History,
    Insert,
    Isolation,
    Operation,
    Read,
    Scan,
    Transaction,
)

FIRST = frozenset({-1, -2})


def history(
    *committed: list[Operation],
    rolled_back: list[Operation] | None = None,
    lists: dict[int, tuple[int, ...]] | None = None,
    group: frozenset[int] = FIRST,
    has_rewrites: bool = False,
) -> History:
    transactions = [
        Transaction(number, operations, True) for number, operations in enumerate(committed, start=1)
    ]
    transactions.append(Transaction(len(committed) + 1, rolled_back or []))
    return History(transactions, lists or {}, {1: group}, {1: FIRST}, has_rewrites)


HISTORIES = {
    "rolled back at the end": (Anomaly.CORRUPTION, history(rolled_back=[Append(1, 5)], lists={1: (5,)})),
    "lost without rewrites": (Anomaly.CORRUPTION, history([Append(1, 5)], lists={1: ()})),
    "invented": (Anomaly.CORRUPTION, history([Read(1, (9,))], lists={1: ()})),
    "twice": (Anomaly.CORRUPTION, history([Append(1, 5)], [Read(1, (5, 5))], lists={1: (5,)})),
    "member lost": (Anomaly.CORRUPTION, history([Insert(1, 7)])),
    "deleted member left": (Anomaly.CORRUPTION, history([Delete(1, -1)])),
    "own member missed": (Anomaly.CORRUPTION, history([Insert(1, 7), Scan(1, FIRST)], group=FIRST | {7})),
    "own deletion missed": (Anomaly.CORRUPTION, history([Delete(1, -1), Scan(1, FIRST)], group=FIRST - {-1})),
    "writes crossed": (Anomaly.DIRTY_WRITE,
                       history([Append(1, 5), Append(2, 6)], [Append(1, 7), Append(2, 8)],
                               lists={1: (5, 7), 2: (8, 6)})),
    "aborted read": (Anomaly.DIRTY_READ, history([Read(1, (5,))], rolled_back=[Append(1, 5)], lists={1: ()})),
    "intermediate read": (
        Anomaly.DIRTY_READ,
        history([Append(1, 5), Append(1, 6)], [Read(1, (5,))], lists={1: (5, 6)}),
    ),
    "aborted member": (Anomaly.DIRTY_READ, history([Scan(1, FIRST | {7})], rolled_back=[Insert(1, 7)])),
    "aborted deletion": (Anomaly.DIRTY_READ, history([Scan(1, FIRST - {-1})], rolled_back=[Delete(1, -1)])),
    "each read the other's write": (Anomaly.CIRCULAR_READ,
                                    history([Append(1, 5), Read(2, (6,))], [Append(2, 6), Read(1, (5,))],
                                            lists={1: (5,), 2: (6,)})),
    "lost update": (
        Anomaly.LOST_UPDATE,
        history([Read(1, ()), Append(1, 5)], [Read(1, ()), Append(1, 6)], lists={1: (6,)}, has_rewrites=True),
    ),
    "non-repeatable read": (
        Anomaly.NON_REPEATABLE_READ,
        history([Read(1, ()), Read(1, (5,))], [Append(1, 5)], lists={1: (5,)}),
    ),
    "phantom": (Anomaly.PHANTOM, history([Scan(1, FIRST), Scan(1, FIRST | {7})], [Insert(1, 7)], group=FIRST | {7})),
    "vanished member": (
        Anomaly.PHANTOM,
        history([Scan(1, FIRST), Scan(1, FIRST - {-1})], [Delete(1, -1)], group=FIRST - {-1}),
    ),
    "read skew": (Anomaly.READ_SKEW,
                  history([Read(1, ()), Read(2, (6,))], [Append(1, 5), Append(2, 6)], lists={1: (5,), 2: (6,)})),
    "write skew": (
        Anomaly.WRITE_SKEW,
        history([Read(1, ()), Append(2, 5)], [Read(2, ()), Append(1, 6)], lists={1: (6,), 2: (5,)}),
    ),
    "write skew by predicate": (Anomaly.WRITE_SKEW,
                                history([Scan(1, FIRST), Append(1, 5)], [Read(1, ()), Insert(1, 7)], lists={1: (5,)},
                                        group=FIRST | {7})),
    "write skew by deletion": (Anomaly.WRITE_SKEW,
                               history([Scan(1, FIRST), Append(1, 5)], [Read(1, ()), Delete(1, -1)], lists={1: (5,)},
                                       group=FIRST - {-1})),
}  # fmt: skip


@pytest.mark.parametrize("name", HISTORIES)
def test_an_anomaly_is_found_in_the_smallest_history_that_has_it(name: str) -> None:
    expected, given_ = HISTORIES[name]
    assert expected in {finding.anomaly for finding in find_anomalies(given_)}


@pytest.mark.parametrize("anomaly", Anomaly)
def test_each_anomaly_is_excluded_by_repeatable_read(anomaly: Anomaly) -> None:
    assert anomaly in FORBIDDEN[Isolation.REPEATABLE_READ]
    assert anomaly in {expected for expected, _ in HISTORIES.values()}


@given(st.integers(0, 2**32), st.lists(st.booleans(), max_size=12))
def test_a_serial_history_has_no_anomaly(seed: int, outcomes: list[bool]) -> None:
    dice, numbers = random.Random(seed), count(1)
    lists: dict[int, tuple[int, ...]] = {1: (), 2: ()}
    groups = {1: FIRST}
    transactions: list[Transaction] = []
    for number, is_committed in enumerate(outcomes, start=1):
        then = dict(lists), dict(groups)
        operations = [_done(dice, next(numbers), lists, groups) for _ in range(dice.randint(1, 5))]
        transactions.append(Transaction(number, operations, is_committed))
        if not is_committed:
            lists, groups = then
    assert find_anomalies(History(transactions, lists, groups, {1: FIRST})) == []


def _done(
    dice: random.Random, number: int, lists: dict[int, tuple[int, ...]], groups: dict[int, frozenset[int]]
) -> Operation:
    """One random operation, carried out."""
    key = dice.randint(1, 2)
    match dice.randint(1, 5):
        case 1:
            return Read(key, lists[key])
        case 2:
            lists[key] += (number,)
            return Append(key, number)
        case 3:
            groups[1] |= {number}
            return Insert(1, number)
        case 4 if left := sorted(groups[1]):
            member = dice.choice(left)
            groups[1] -= {member}
            return Delete(1, member)
        case _:
            return Scan(1, groups[1])
