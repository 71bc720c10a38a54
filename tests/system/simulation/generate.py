"""A seed -> a scenario. Never: an event loop.

Most scenarios are small, because a fault meets a state more often if less happens around it.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any, Final

from tests.system.simulation.faults import (
    COMMIT_FAILS,
    FAULTS,
    FETCH_FAILS,
    HOST_FAULTS,
    RARE_FAULTS,
    TRIGGERS,
)
from tests.system.simulation.hooks import RESETS
from tests.system.simulation.model.differences import EXCLUSIVE
from tests.system.simulation.operations import KINDS
from tests.system.simulation.operations.capturing import CAPTURE
from tests.system.simulation.scenario import Caller, Ending, Fault, Host, Operation, Scenario

_TRANSFERS: Final = ("transfer", "transfer", "transfer at repeatable read")
_READING: Final = ("own connection", "stream all", "two streams", "cursor", "scroll")
"""Kinds of operations that fetch several times."""
_COMMITTING: Final = (
    *_TRANSFERS,
    "executemany",
    "load",
    "nested",
    "batches",
    "commit as text",
    "retry",
    "end a transaction by hand",
)
"""Kinds of operations that end with a COMMIT."""
_WRITING: Final = (*_COMMITTING, "insert", "fail in a batch", "roll back", "leave a transaction")
_LOSSES: Final = ("reset", "reset", "stall", "stall client", "half-close", "forget connection", "crash")
"""What happens to connections that capture changes."""
_DIFFERING: Final = (
    *_READING,
    "read wide",
    "read wide",
    "read all text",
    "read values",
    "read values",
    "load",
    "send much",
    "fail in a large batch",
    "interrupt",
    "interrupt anything",
    "go on after a timeout",
)
"""Kinds of operations that show how a server differs."""
_ENDINGS: Final = ("waiting", "woken", "scope", "suspension timeout", "timeout")

DIFFERENT: Final = 0.3
"""Share of the scenarios whose servers may differ from what the client expects."""
CAPTURED: Final = 0.1
"""Share of the scenarios in which a further caller captures the changes of the others."""
SHAPED: Final = 0.03
"""Share of the scenarios that several rare things have to come together in."""


def generate(seed: int) -> Scenario:
    """The scenario of *seed*."""
    dice = random.Random(f"scenario {seed}")
    hosts = _hosts(dice)
    weather = _weather(dice)
    is_slow = (
        weather["latency"] > 0.01
        or weather["jitter"] > 0.001
        or weather["tick"] > 0.001
        or weather["connect"] > 0.1
    )
    callers = _callers(dice, pools := dice.choice((1, 1, 1, 2)))
    scenario = Scenario(
        seed,
        hosts,
        weather,
        tuple(_pool(dice, len(hosts), is_slow) for _ in range(pools)),
        callers,
        tuple(_fault(dice, len(hosts)) for _ in range(dice.choice((0, 0, 1, 1, 1, 2, 2, 3, 5)))),
    )
    scenario = _varied(scenario, random.Random(f"rare {seed}"))
    scenario = _with_locks(scenario, random.Random(f"locks {seed}"))
    failing = random.Random(f"failing {seed}")
    for share, add in _ADDITIONS:
        if failing.random() < share:
            scenario = add(scenario, failing)
    scenario = _with_differences(scenario, random.Random(f"differences {seed}"))
    rare = random.Random(f"shape {seed}")
    if rare.random() < SHAPED:
        scenario = rare.choice((_altered, _raced, _down))(scenario, rare)
    capturing = random.Random(f"changes {seed}")
    return with_capture(scenario, capturing) if capturing.random() < CAPTURED else scenario


def _hosts(dice: random.Random) -> tuple[Host, ...]:
    count = dice.choice((1, 1, 1, 2, 3))
    hosts = [
        Host(
            speed=dice.choice((0.0002, 0.0005, 0.005)),
            slow=dice.choice((0, 0.02, 0.2)),
            addresses=dice.choice((1, 1, 1, 2)),
        )
        for _ in range(count)
    ]
    if count > 1 and dice.random() < 0.4:
        hosts[0] = Host(is_secondary=True)
    elif count > 1 and dice.random() < 0.3:
        hosts[0] = Host(redirect=1)
    return tuple(hosts)


def _weather(dice: random.Random) -> dict[str, Any]:
    return {
        "latency": dice.choice((0.0001, 0.0002, 0.001, 0.03)),
        "connect": dice.choice((0.0, 0.0, 0.0, 0.02, 0.6)),
        "jitter": dice.choice((0.0, 0.0002, 0.01)),
        "cut": dice.choice((0.0, 0.1, 0.3)),
        "window": dice.choice((65536, 65536, 4096, 256)),
        "urgent": dice.choice(("in place", "in place", "early", "late", "never")),
        "tick": dice.choice((0.0, 0.0, 0.001, 0.01)),
        "tls_fails": dice.choice((0.0, 0.0, 0.1)),
    }


def _pool(dice: random.Random, hosts: int, is_slow: bool) -> dict[str, Any]:
    """Options; a slow network gets limits in which a login can succeed."""
    options: dict[str, Any] = {
        "max_size": dice.choice((1, 1, 2, 3, 5)),
        "min_size": dice.choice((0, 1, 1)),
        "acquire_timeout": dice.choice((3.0, 5.0) if is_slow else (0.5, 1.0, 1.0, 3.0, 10.0)),
        "connect_timeout": dice.choice((5.0, 20.0) if is_slow else (0.5, 5.0, 20.0)),
        "cancel_timeout": dice.choice((0.0, 0.1, 1.0, 5.0)),
        "command_timeout": dice.choice((None, None, 2.0) if is_slow else (None, None, 0.2, 2.0)),
        "pipelining": dice.random() < 0.4,
        "max_lifetime": dice.choice((3600.0, 3600.0, 0.5)),
        "max_idle": dice.choice((300.0, 0.5)),
        "check_after_idle": dice.choice((30.0, 0.1)),
        "max_waiting": dice.choice((0, 0, 0, 2)),
        "lock_wait": dice.choice((None, 0, 1, 5)),
        "statement_cache_size": dice.choice((100, 100, 2, 0)),
        "fetch_size": dice.choice((32767, 4096)),
        "stagger": dice.choice((1.0, 0.01)),
    }
    if dice.random() < 0.15:
        options["ssl"] = True
    if hosts > 1 and dice.random() < 0.5:
        options["role"] = "primary"
    if dice.random() < 0.2:
        options["autocommit"] = False
    return options


def _callers(dice: random.Random, pools: int) -> tuple[Caller, ...]:
    number = 0
    callers: list[Caller] = []
    kinds = tuple(KINDS)
    weights = [KINDS[kind].weight for kind in kinds]
    ending_rate = dice.choice((0.0, 0.2, 0.5))
    for _ in range(dice.choice((1, 2, 2, 2, 3, 3, 4, 4))):
        operations: list[Operation] = []
        for _ in range(dice.choice((1, 1, 2, 2, 3, 4))):
            number += 1
            [kind] = dice.choices(kinds, weights)
            ending = _ending(dice) if dice.random() < ending_rate else None
            timeout = dice.choice((0.001, 0.01, 0.1, 1.0)) if dice.random() < 0.15 else None
            operations.append(
                Operation(
                    number,
                    kind,
                    dice.choice((1, 2, 5, 20, 60) if dice.random() < 0.3 else (1, 2, 5)),
                    ending,
                    timeout,
                )
            )
        start = dice.choice((0.0, 0.0, dice.random() * 0.05, dice.random()))
        callers.append(Caller(start, dice.randrange(pools), tuple(operations)))
    return tuple(callers)


def _ending(dice: random.Random) -> Ending:
    how = dice.choice(_ENDINGS)
    if how == "timeout":
        return Ending(how, dice.choice((0.0, 0.001, 0.005, 0.05, 0.5)) * dice.random())
    return Ending(how, dice.choice((1, 2, 3, 4, 5, 6, dice.randint(1, 40))))


def _fault(dice: random.Random, hosts: int) -> Fault:
    kind = dice.choice(FAULTS)
    trigger = dice.choice(("time", "group", "group", "reply", "reply", "commit"))
    at = (
        dice.choice((0.01, 0.1, 1.0)) * dice.random()
        if trigger == "time"
        else dice.choice((1, 2, 3, 5, dice.randint(1, 40)))
    )
    if kind == "alter table":  # between two rows of a batch, if there is one
        trigger, at = "group", dice.randint(5, 50)
    target = dice.randrange(hosts) if kind in HOST_FAULTS else dice.choice((1, 1, 2, 3, dice.randint(1, 8)))
    seconds = dice.choice((0.001, 0.02, 0.3, 2.0, 20.0)) * (0.5 + dice.random())
    if kind == "stall" and dice.random() < 0.3:
        seconds = 0.0
    return Fault(kind, trigger, at, target, seconds)


# -- rarer things, by dice of their own: what they add leaves the rest of a seed as it is -----------------------------


def _varied(scenario: Scenario, dice: random.Random) -> Scenario:
    """With rare options; in most scenarios any kind of operation meets any kind of fault."""
    if dice.random() < 0.2:
        scenario = replace(scenario, weather={**scenario.weather, "urgent": "mixed"})
    scenario = replace(scenario, pools=tuple(pool | _rare_options(dice) for pool in scenario.pools))
    if dice.random() < 0.25:
        return scenario
    index = dice.randrange(len(scenario.callers))
    caller = scenario.callers[index]
    first = replace(caller.operations[0], kind=dice.choice([each for each in KINDS if each != CAPTURE]))
    if dice.random() < 0.1:
        first = replace(first, ending=Ending("twice", dice.choice((0.001, 0.005, 0.05)) * dice.random()))
    caller = replace(caller, start=0.0, operations=(first, *caller.operations[1:]))
    return replace(
        scenario,
        callers=(*scenario.callers[:index], caller, *scenario.callers[index + 1 :]),
        faults=(*scenario.faults[:2], _any_fault(dice, len(scenario.hosts))),
    )


def _with_locks(scenario: Scenario, dice: random.Random) -> Scenario:
    """With the locks of the model or of the embedded server; in some scenarios all callers change the same accounts."""
    scenario = replace(scenario, locks=dice.choice(("model", "embedded")))
    if dice.random() < 0.97:
        return scenario
    callers = tuple(
        Caller(
            0.01 * dice.random(),
            dice.randrange(len(scenario.pools)),
            tuple(_transfer(dice, 3 * index + number) for number in (1, 2, 3)),
        )
        for index in range(dice.choice((2, 3, 5)))
    )
    pools = tuple(
        {**pool, "max_size": 5, "lock_wait": dice.choice((1, 5)), "max_waiting": 0} for pool in scenario.pools
    )
    return replace(scenario, callers=callers, pools=pools)


def _with_failing_fetch(scenario: Scenario, dice: random.Random) -> Scenario:
    """A fetch meets a row that is locked."""
    reader, *others = scenario.callers
    kind = dice.choice((reader.operations[0].kind, *_READING))
    operations = (replace(reader.operations[0], kind=kind), *reader.operations[1:])
    fault = Fault(FETCH_FAILS, "fetch", dice.randint(1, 5), dice.randrange(len(scenario.hosts)))
    return replace(
        scenario,
        pools=tuple(pool | {"fetch_size": 4096} for pool in scenario.pools),
        callers=(replace(reader, operations=operations), *others),
        faults=(*scenario.faults, fault),
    )


def _with_stuck_hook(scenario: Scenario, dice: random.Random) -> Scenario:
    """An init hook never ends."""
    first, *others = scenario.pools
    first = first | {"stuck_hook": dice.choice((1, 2, 3)), "connect_timeout": 5.0}
    return replace(scenario, pools=(first, *others))


def _with_silent_host(scenario: Scenario, dice: random.Random) -> Scenario:
    """Who connects is cancelled while the first host is silent, and the second one may have answered."""
    ending = Ending(dice.choice(("waiting", "woken", "scope")), dice.randint(1, 20))
    return replace(
        scenario,
        hosts=(Host(), Host()),
        pools=(scenario.pools[0] | {"stagger": 0.01, "connect_timeout": 5.0},),
        callers=(Caller(0.0, 0, (Operation(1, "own connection", 2, ending),)),),
        faults=(Fault("silent", "time", 0.0, 0, 30.0),),
    )


def _with_lost_commit(scenario: Scenario, dice: random.Random) -> Scenario:
    """The reply to a COMMIT is lost that must not be repeated."""
    fault = Fault("reset", "commit", dice.randint(1, 2), 1)
    return replace(
        scenario,
        callers=(Caller(0.0, 0, (Operation(1, "retry"), Operation(2, "retry"))),),
        faults=(*scenario.faults[:1], fault),
    )


def _with_reset_hook(scenario: Scenario, dice: random.Random) -> Scenario:
    """A reset hook fails, or leaves something; connections are used by one operation after the other."""
    hook = dice.choice(RESETS)
    pools = tuple(pool | {"reset_hook": hook, "max_size": dice.choice((1, 2))} for pool in scenario.pools)
    return replace(scenario, pools=pools)


def _with_failing_commit(scenario: Scenario, dice: random.Random) -> Scenario:
    """A COMMIT fails, about when its caller is cancelled; the connection is used again."""
    first, *others = scenario.callers
    ending = _ending(dice) if dice.random() < 0.3 else Ending(dice.choice(_ENDINGS[:4]), dice.randint(2, 12))
    operation = replace(first.operations[0], kind=dice.choice(_COMMITTING), size=dice.choice((1, 2, 5)))
    operation = replace(operation, ending=dice.choice((None, ending, ending, ending)))
    if dice.random() < 0.5:
        kind = "go on after a cancelled COMMIT"
        operation = replace(operation, kind=kind, size=dice.choice((1, 2, 5, 20)), ending=None)
    fault = Fault(COMMIT_FAILS, "commit", dice.choice((1, 1, 1, 2)), dice.randrange(len(scenario.hosts)))
    return replace(
        scenario,
        callers=(replace(first, start=0.0, operations=(operation, *first.operations[1:])), *others),
        faults=(*scenario.faults[:1], fault),
    )


def _with_changed_database(scenario: Scenario, dice: random.Random) -> Scenario:
    """A user opens the database again while a stream is open."""
    index = dice.randrange(len(scenario.callers))
    caller = scenario.callers[index]
    first = replace(caller.operations[0], kind="change the database")
    caller = replace(caller, operations=(first, *caller.operations[1:]))
    return replace(
        scenario,
        pools=tuple(pool | {"fetch_size": 4096} for pool in scenario.pools),
        callers=(*scenario.callers[:index], caller, *scenario.callers[index + 1 :]),
        faults=scenario.faults[:1],
    )


_ADDITIONS: Final = (
    (0.05, _with_failing_fetch), (0.03, _with_stuck_hook), (0.02, _with_silent_host), (0.02, _with_lost_commit),
    (0.04, _with_reset_hook), (0.03, _with_failing_commit), (0.02, _with_changed_database),
)  # fmt: skip
"""Shares of the scenarios, and what these have beside other things, or in place of them."""


def _with_differences(scenario: Scenario, dice: random.Random) -> Scenario:
    """Servers differ from what the client expects; in some scenarios, operations meet that at once."""
    if dice.random() >= DIFFERENT:
        return scenario
    scenario = replace(
        scenario, hosts=tuple(replace(host, differs=_differences(dice)) for host in scenario.hosts)
    )
    options: dict[str, Any] = {"fetch_size": 4096}
    if dice.random() < 0.2:
        options["environment"] = {"OPTOFC": "0"}
    scenario = replace(scenario, pools=tuple(pool | options for pool in scenario.pools))
    if dice.random() < 0.3:
        return scenario
    callers = tuple(
        replace(
            caller,
            operations=(replace(caller.operations[0], kind=dice.choice(_DIFFERING)), *caller.operations[1:]),
        )
        for caller in scenario.callers[:2]
    )
    return replace(scenario, callers=callers + scenario.callers[2:], faults=scenario.faults[:2])


def _differences(dice: random.Random) -> tuple[str, ...]:
    """How one server differs."""
    return tuple(dice.choice(ways) for ways in EXCLUSIVE if dice.random() < 0.3)


def _transfer(dice: random.Random, number: int) -> Operation:
    ending = _ending(dice) if dice.random() < 0.1 else None
    return Operation(number, dice.choice(_TRANSFERS), dice.choice((1, 2)), ending)


def _rare_options(dice: random.Random) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if dice.random() < 0.1:
        options["hooks"] = True
    if dice.random() < 0.1:
        options["slow_query"] = 0.1
    if dice.random() < 0.1:
        options["connect_retries"] = 2
    if dice.random() < 0.05:
        options["lock_diagnosis"] = True
    if dice.random() < 0.3:
        options["fetch_size"] = 4096
    return options


def _any_fault(dice: random.Random, hosts: int) -> Fault:
    """Each kind as often as the others, where the first operations are."""
    kind = dice.choice(sorted({*FAULTS, *RARE_FAULTS}))
    trigger = dice.choice(TRIGGERS)
    at = (
        0.3 * dice.random()
        if trigger == "time"
        else dice.randint(1, 2)
        if trigger in ("login", "commit")
        else dice.randint(3, 14)
    )
    target = dice.randrange(hosts) if kind in HOST_FAULTS else dice.choice((1, 1, 2))
    seconds = dice.choice((0.0, 0.01, 0.3, 3.0)) if "stall" in kind else dice.choice((0.01, 0.3, 3.0))
    return Fault(kind, trigger, at, target, seconds)


def _altered(scenario: Scenario, dice: random.Random) -> Scenario:
    """The first caller executes a batch twice, by the same statement, and the table changes within the second one."""
    size = dice.choice((5, 20, 60))
    first, *others = scenario.callers
    operation = Operation(first.operations[0].number, "batches", size)
    return replace(
        scenario,
        pools=tuple(pool | {"autocommit": False} for pool in scenario.pools),
        callers=(Caller(0.0, first.pool, (operation,)), *others[:1]),
        faults=(*scenario.faults[:1], Fault("alter table", "group", dice.randint(size, 2 * size + 10))),
    )


def _raced(scenario: Scenario, dice: random.Random) -> Scenario:
    """The event loop stands still while two attempts to connect are under way, so that both end in one step."""
    return replace(
        scenario,
        hosts=tuple(replace(host, addresses=2) for host in scenario.hosts),
        weather={**scenario.weather, "connect": 0.6},
        pools=tuple(pool | {"acquire_timeout": 5.0, "connect_timeout": 20.0} for pool in scenario.pools),
        faults=(*scenario.faults[:1], Fault("clock jumps", "time", 0.25 + 0.3 * dice.random(), 0, 0.6)),
    )


def _down(scenario: Scenario, dice: random.Random) -> Scenario:
    """The only server is down until the callers come, long after."""
    pools = tuple(
        pool | {"min_size": 1, "acquire_timeout": 0.5, "connect_timeout": 0.5} for pool in scenario.pools
    )
    return replace(
        scenario,
        hosts=(Host(),),
        weather={},
        pools=pools,
        callers=tuple(replace(caller, start=15 + 10 * dice.random()) for caller in scenario.callers[:2]),
        faults=(Fault("crash", "time", 0.1 * dice.random()),),
    )


def with_capture(scenario: Scenario, dice: random.Random) -> Scenario:
    """A further caller captures the changes of the others and of three that write; connections are lost."""
    number = 1 + max((each.number for caller in scenario.callers for each in caller.operations), default=0)
    ending = _ending(dice) if dice.random() < 0.2 else None
    start, pool = dice.choice((0.0, 0.0, 0.05 * dice.random())), dice.randrange(len(scenario.pools))
    capture = Operation(number, CAPTURE, dice.choice((1, 2, 5, 10, 25, 40)), ending)
    callers = [Caller(start, pool, (capture,))]
    delay = start + dice.choice((0.0, 0.05, 0.3, 1.0))
    for first in range(number + 1, number + 13, 4):
        writes = (Operation(first + each, dice.choice(_WRITING), dice.choice((1, 2, 5))) for each in range(4))
        callers.append(Caller(delay, pool, tuple(writes)))
    faults = (
        Fault(
            dice.choice(_LOSSES),
            dice.choice(("commit", "read", "read")),
            dice.randint(1, dice.choice((9, 30, 90))),
            seconds=dice.choice((0.02, 2.0, 20.0)),
        )
        for _ in range(dice.choice((0, 1, 2, 4, 6)))
    )
    most = dice.choice((1, 4, 4))
    return replace(
        scenario,
        pools=tuple({**each, "max_size": max(most, each.get("max_size", most))} for each in scenario.pools),
        callers=(*scenario.callers, *callers),
        faults=(*scenario.faults[: dice.choice((0, 0, 1, 9))], *faults),
    )
