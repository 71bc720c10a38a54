"""Each law can fail: a server with a mistake, or a client with a past defect, violates it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aioifx import errors
from aioifx.client.execution.statement import Statement
from aioifx.client.observation.observation import Observation
from aioifx.client.pool.decisions import PoolState
from aioifx.client.pool.lifecycle import PooledSession
from aioifx.client.session.dispatcher import Dispatcher
from aioifx.client.session.interrupts import Interrupter
from aioifx.client.session.settings import SessionSettings
from tests.system.simulation.faults import COMMIT_FAILS
from tests.system.simulation.generate import generate
from tests.system.simulation.many import run_limited
from tests.system.simulation.planted import DEFECTS, planted
from tests.system.simulation.run import run
from tests.system.simulation.scenario import Caller, Fault, Host, Operation, Scenario

DATA = Path(__file__).parent / "data"
POOL = {"max_size": 3, "lock_wait": 5, "statement_cache_size": 1}
SLOW = Host(speed=0.005, slow=0.2)
TRANSFERS = tuple(
    Caller(
        0.0,
        0,
        tuple(Operation(10 * caller + number, "transfer at repeatable read") for number in range(1, 6)),
    )
    for caller in range(3)
)


def test_nothing_is_violated_without_a_mistake() -> None:
    for seed in range(10):
        report = run(Scenario(seed, pools=(POOL,), callers=TRANSFERS))
        assert not report.violations and report.outcomes["done"] >= 3


@pytest.mark.parametrize(
    ("bug", "law", "operations"),
    [
        ("lose commits", "outcome", ("insert", "insert", "insert")),
        ("keep rolled back work", "outcome", ("roll back",)),
        ("no locks", "serializable", ("transfer at repeatable read",) * 5),
        ("rows of another query", "errors", ("fetch",) * 20),
    ],
)
def test_a_mistake_of_the_server_is_found(bug: str, law: str, operations: tuple[str, ...]) -> None:
    callers = tuple(
        Caller(
            0.0, 0, tuple(Operation(100 * caller + number, kind) for number, kind in enumerate(operations, 1))
        )
        for caller in range(3)
    )
    found = {
        law
        for seed in range(10)
        for law in run(Scenario(seed, (SLOW,), pools=(POOL,), callers=callers, bugs=(bug,))).laws
    }
    assert law in found


@pytest.mark.parametrize(
    ("law", "text", "where", "name", "instead", "operations"),
    [
        ("left", "timer", Interrupter, "_stop_running", lambda _: None, ("interrupt",)),
        ("limits", "execute", Dispatcher, "_set_deadline", lambda *_: None, ("go on after a timeout",)),
        ("outcome", "called unknown", errors, "_OUTCOME_UNKNOWN", {-268}, ("fail in a batch",) * 3),
        ("errors", "isolation", SessionSettings, "reset", lambda _: None, ("leave settings", "hold")),
        ("errors", "table", PooledSession, "reset_failure", "", ("leave a table",) * 2),
        ("wrong", "the database", PooledSession, "reset_failure", "", ("change the database", "hold")),
        ("left", "not as ended", Observation, "end", lambda *_, **__: None, ("hold",)),
        ("wrong", "had to close", PoolState, "_expiry", lambda *_: "", ("expire", "hold")),
        ("left", "statements", Statement, "release_later", lambda _: None, ("fetch", "nested", "prepare")),
    ],
)
def test_a_mistake_of_the_client_is_found(
    monkeypatch: pytest.MonkeyPatch,
    law: str,
    text: str,
    where: Any,
    name: str,
    instead: Any,
    operations: tuple[str, ...],
) -> None:
    callers = (
        Caller(0.0, 0, tuple(Operation(number, kind, 5) for number, kind in enumerate(operations, 1))),
    )
    scenario = Scenario(3, pools=(POOL,), callers=callers)  # with an observer
    assert not run(scenario).violations
    monkeypatch.setattr(where, name, instead)
    assert any(each.law == law and text in each.text for each in run(scenario).violations)


@pytest.mark.parametrize(
    ("hook", "where", "name", "instead"),
    [
        ("table", PooledSession, "reset_failure", ""),
        ("database", PooledSession, "reset_failure", ""),
        ("settings", SessionSettings, "reset", lambda _: None),
        ("database error", PooledSession, "terminate", lambda _: None),
        ("error", PooledSession, "terminate", lambda _: None),
    ],
)
def test_what_a_reset_hook_leaves_is_found(
    monkeypatch: pytest.MonkeyPatch, hook: str, where: Any, name: str, instead: Any
) -> None:
    callers = (Caller(0.0, 0, tuple(Operation(number, "hold") for number in (1, 2, 3))),)
    scenario = Scenario(1, pools=({"max_size": 1, "lock_wait": 1, "reset_hook": hook},), callers=callers)
    assert not run_limited(scenario).violations
    monkeypatch.setattr(where, name, instead)
    assert run_limited(scenario).violations


def test_a_commit_that_fails_leaves_nothing() -> None:
    callers = (Caller(0.0, 0, tuple(Operation(number, "transfer") for number in (1, 2, 3))),)
    for seed in range(10):  # the transaction stays open, or is rolled back
        scenario = Scenario(
            seed, pools=({"max_size": 1},), callers=callers, faults=(Fault(COMMIT_FAILS, "commit", 2),)
        )
        report = run(scenario)
        assert not report.violations
        assert report.outcomes == {"done": 2, "ForeignKeyViolation": 1}


QUICK = (
    "rollback lost", "rows there twice", "unfair connection", "opening never counted down", "cursor left open",
    "session lent twice", "lock granted to two", "lock not taken", "deadlock missed", "waiter forgotten",
)  # fmt: skip
"""Those that few seeds find; ``poe simulate --planted NAME`` tries any."""


FIRST = 100
"""The first seed for them: with one of the defects, seed 0 keeps its process busy until a limit ends it."""


UNRAISABLE = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""A busy scenario may be stopped in a finalizer or a callback of a weak reference, which can raise nothing."""


def _check_found(name: str) -> None:
    defect = DEFECTS[name]
    with planted(name):
        if defect.scenario:
            scenario = Scenario.from_json((DATA / f"{defect.scenario}.json").read_text())
            assert run_limited(scenario).violations
            return
        assert any(run_limited(generate(seed)).violations for seed in range(defect.seeds))


@UNRAISABLE
@pytest.mark.parametrize("name", QUICK)
def test_a_past_defect_is_found(name: str) -> None:
    _check_found(name)


@UNRAISABLE
@pytest.mark.exhaustive
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "name", [name for name, each in DEFECTS.items() if name not in QUICK and (each.seeds or each.scenario)]
)
def test_any_past_defect_is_found(name: str) -> None:
    _check_found(name)


def test_a_defect_that_cannot_be_planted_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DEFECTS, "stale", DEFECTS["rollback lost"]._replace(mended="no such source"))
    with pytest.raises(ValueError, match="expected 'no such source' once"), planted("stale"):
        pass
