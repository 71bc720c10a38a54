"""The model's locks and those of the embedded server: the same grants in the same order, the same deadlocks."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from tests.system.simulation.model.database import Database, DatabaseFailure, Key, Transaction
from tests.system.simulation.model.embedded_locks import EmbeddedLocks

KEYS: Sequence[Key] = [("account", number) for number in (1, 2, 3)]


class Run:
    """Transactions at one database, and what has happened to them."""

    def __init__(self, database: Database, count: int = 5) -> None:
        self.database = database
        self.works = [Transaction(database, number) for number in range(count)]
        self.waits: dict[int, Callable[[], None]] = {}
        """How to leave the queue, by number."""
        self.log: list[object] = []

    def lock(self, number: int, key: Key, exclusive: bool) -> None:
        work = self.works[number]
        if self.database.try_lock(work, key, exclusive):
            self.log.append((number, key, "at once"))
            return

        def wake() -> None:
            del self.waits[number]
            self.log.append((number, key, "granted"))

        try:
            self.waits[number] = self.database.wait(work, key, exclusive, wake)
        except DatabaseFailure as failure:
            self.log.append((number, key, failure.sqlcode, failure.isamcode))
        else:
            self.log.append((number, key, "waits"))

    def leave(self, number: int) -> None:
        """As after a time limit or an interrupt."""
        self.waits.pop(number)()
        self.log.append((number, "has left"))

    def unlock(self, number: int, key: Key) -> None:
        self.database.unlock(self.works[number], key)

    def end(self, number: int) -> None:
        self.database.commit(self.works[number])

    def state(self) -> object:
        return (
            [work.held for work in self.works],
            sorted(self.waits),
            self.database.locks,
            self.database.wrong,
        )


def step(dice: random.Random, state: Run) -> Callable[[Run], None]:
    """What happens next, at both databases."""
    number, key, exclusive, chance = dice.randrange(5), dice.choice(KEYS), dice.random() < 0.5, dice.random()
    if number in state.waits:
        return lambda run: run.leave(number) if chance < 0.2 else None
    if chance < 0.15:
        return lambda run: run.end(number)
    if chance < 0.3:
        return lambda run: run.unlock(number, key)
    return lambda run: run.lock(number, key, exclusive)


def compare(seed: int) -> tuple[Run, Run]:
    dice = random.Random(seed)
    model, embedded = Run(Database(lambda: 0.0)), Run(EmbeddedLocks(lambda: 0.0))
    for _ in range(200):
        act = step(dice, model)
        for run in (model, embedded):
            act(run)
        assert embedded.log == model.log
        assert embedded.state() == model.state()
    return model, embedded


@pytest.mark.parametrize("first", range(0, 1000, 100))
def test_both_grant_the_same_in_the_same_order_and_refuse_the_same(first: int) -> None:
    kinds: set[object] = set()
    for seed in range(first, first + 100):
        model, _ = compare(seed)
        kinds |= {entry[2:] for entry in model.log if isinstance(entry, tuple)}
    assert kinds == {("at once",), ("waits",), ("granted",), (-244, -143), ()}
