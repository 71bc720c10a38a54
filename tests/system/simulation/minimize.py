"""A scenario that fails -> a smaller one that violates the same law. Never: a search for new failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from tests.system.simulation.scenario import Caller, Fault, Host, Operation, Scenario

Fails = Callable[[Scenario], bool]

_CALM: Final[dict[str, Any]] = {
    "latency": 0.0002,
    "jitter": 0.0,
    "cut": 0.0,
    "window": 65536,
    "urgent": "in place",
    "tls_fails": 0.0,
    "tick": 0.0,
}


def minimize(scenario: Scenario, fails: Fails, on_step: Callable[[Scenario], None] | None = None) -> Scenario:
    """The smallest scenario found, by leaving out one thing after the other.

    Args:
        fails: whether a scenario still violates the law.
        on_step: called with each smaller scenario.
    """
    while True:
        for smaller in _smaller(scenario):
            if smaller != scenario and fails(smaller):
                scenario = smaller
                if on_step is not None:
                    on_step(scenario)
                break
        else:
            return scenario


def size(scenario: Scenario) -> tuple[int, int, int]:
    """Callers, operations and faults."""
    operations = sum(len(caller.operations) for caller in scenario.callers)
    return len(scenario.callers), operations, len(scenario.faults)


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    """Scenarios with a little less, the largest steps first."""
    for index in range(len(scenario.callers)):
        yield replace(scenario, callers=_without(scenario.callers, index))
    for index in range(len(scenario.faults)):
        yield replace(scenario, faults=_without(scenario.faults, index))
    for index, caller in enumerate(scenario.callers):
        for smaller in _smaller_callers(caller):
            yield replace(scenario, callers=_with(scenario.callers, index, smaller))
    yield replace(scenario, locks="model")
    if len(scenario.hosts) > 1:
        yield replace(scenario, hosts=scenario.hosts[:1])
        yield replace(scenario, hosts=scenario.hosts[:-1])
    if len(scenario.pools) > 1:
        callers = tuple(replace(caller, pool=0) for caller in scenario.callers)
        for index in range(len(scenario.pools)):
            yield replace(scenario, pools=(scenario.pools[index],), callers=callers)
    for index, pool in enumerate(scenario.pools):
        for name in pool:
            fewer = {key: value for key, value in pool.items() if key != name}
            yield replace(scenario, pools=_with(scenario.pools, index, fewer))
    for name, value in _CALM.items():
        if scenario.weather.get(name, value) != value:
            yield replace(scenario, weather={**scenario.weather, name: value})
    for index, host in enumerate(scenario.hosts):
        usual = (replace(host, differs=_without(host.differs, each)) for each in range(len(host.differs)))
        for calm in (*usual, replace(host, slow=0.0), replace(host, speed=Host().speed), Host()):
            yield replace(scenario, hosts=_with(scenario.hosts, index, calm))
    for index, fault in enumerate(scenario.faults):
        for simpler in _simpler_faults(fault):
            yield replace(scenario, faults=_with(scenario.faults, index, simpler))


def _smaller_callers(caller: Caller) -> Iterator[Caller]:
    for index in range(len(caller.operations)):
        yield replace(caller, operations=_without(caller.operations, index))
    if caller.start:
        yield replace(caller, start=0.0)
    for index, operation in enumerate(caller.operations):
        for simpler in _simpler_operations(operation):
            yield replace(caller, operations=_with(caller.operations, index, simpler))


def _simpler_operations(operation: Operation) -> Iterator[Operation]:
    if operation.ending is not None:
        yield replace(operation, ending=None)
    if operation.timeout is not None:
        yield replace(operation, timeout=None)
    if operation.size > 1:
        yield replace(operation, size=1)
        yield replace(operation, size=operation.size // 2)


def _simpler_faults(fault: Fault) -> Iterator[Fault]:
    for seconds in (0.0, 1.0):
        if fault.seconds not in (0.0, seconds):
            yield replace(fault, seconds=seconds)


def _without(items: tuple[Any, ...], index: int) -> tuple[Any, ...]:
    return items[:index] + items[index + 1 :]


def _with(items: tuple[Any, ...], index: int, item: Any) -> tuple[Any, ...]:
    return (*items[:index], item, *items[index + 1 :])
