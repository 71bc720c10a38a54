"""Runs a scenario in an event loop of its own, and judges it. Never: what a scenario contains."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import logging
import random
import warnings
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import aioifx
import aioifx.channel
from aioifx.client.session.server_behavior import forget_servers
from tests.system.simulation.callers import run_caller
from tests.system.simulation.faults import KEEPALIVE, Faults
from tests.system.simulation.hooks import probe, reset_hook, set_up, set_up_unless_stuck
from tests.system.simulation.laws import Outcome, Violation, violations
from tests.system.simulation.loop import Frozen, OutOfTime, SimulatedLoop, Stuck
from tests.system.simulation.model.database import Database
from tests.system.simulation.model.embedded_locks import EmbeddedLocks
from tests.system.simulation.model.server import PORT, ModelServer
from tests.system.simulation.network import Network, Tracer, Urgent, UrgentSockets, Weather
from tests.system.simulation.scenario import Scenario
from tests.system.simulation.trace import traced_log
from tests.system.simulation.world import CLOSE_TIMEOUT, World, connect_limit

CALLERS_LIMIT: Final = 1500.0
"""Virtual seconds for all callers. Without limits of its own a call may wait for TCP to give up, some calls in turn."""

RECOVERY: Final = 6.0
"""Virtual seconds after the faults in which a pool whose connections are all gone serves again."""

POOL_CLOSE: Final = 10.0
"""Seconds until a pool that closes drops connections in use."""

REFUSED: Final = 30.0
"""The same in addition, if a server had rejected its logins: a pool does not repeat these quickly."""


_DEFAULTS: Final = {"acquire_timeout": 30.0, "cancel_timeout": 5.0, "allow_redirect_to": "*"}
"""Options of every pool, unless the scenario has others."""


@dataclass(slots=True)
class Report:
    """What a scenario did."""

    seed: int
    violations: list[Violation] = field(default_factory=list[Violation])
    steps: int = 0
    """Callbacks of the event loop."""
    groups: int = 0
    """Requests that reached the servers."""
    virtual_seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter[str])
    faults: Counter[str] = field(default_factory=Counter[str])

    @property
    def laws(self) -> set[str]:
        """The laws that were violated."""
        return {violation.law for violation in self.violations}


@contextlib.contextmanager
def _deterministic(seed: int, network: Network) -> Generator[None, None, None]:
    """Random numbers by *seed*, garbage only when the scenario says so, urgent bytes through the network.

    Nothing is known of servers: the process shares what earlier scenarios have learned of theirs.
    """
    channel: Any = aioifx.channel
    state, sockets, was_enabled = random.getstate(), channel.socket, gc.isenabled()
    random.seed(seed)
    forget_servers()
    gc.disable()
    channel.socket = UrgentSockets(network)
    try:
        with traced_log(network) if network.tracer.is_on else _no_log():
            yield
    finally:
        channel.socket = sockets
        random.setstate(state)
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def _no_log() -> Generator[None, None, None]:
    before = logging.root.manager.disable
    logging.disable()
    try:
        yield
    finally:
        logging.disable(before)


def run(scenario: Scenario, tracer: Tracer | None = None) -> Report:
    """Run *scenario*; the same scenario gives the same report."""
    report = Report(scenario.seed)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        errors = _judged(scenario, tracer, report)
        # Nothing refers to the scenario's objects any more. What they report on their end belongs to it.
        known = len(errors)
        gc.collect()
        gc.freeze()  # the rest are caches, which the next collection need not look at
    report.violations += [Violation("errors", f"reported at the end: {text}") for text in errors[known:]]
    report.violations += [
        Violation("warnings", f"{each.category.__name__}: {each.message}") for each in warned
    ]
    return report


def _judged(scenario: Scenario, tracer: Tracer | None, report: Report) -> list[str]:
    """Run *scenario* and write the report; returns the list of what its event loop reports."""
    loop = SimulatedLoop(time_limit=2 * CALLERS_LIMIT)
    weather = Weather(**{**scenario.weather, "urgent": Urgent(scenario.weather.get("urgent", "in place"))})
    network = Network(loop, scenario.seed, weather, tracer)
    with _deterministic(scenario.seed, network):
        simulation = _Simulation(scenario, loop, network)
        try:
            _run(loop, simulation, report)
            report.violations += violations(simulation.outcome())
        finally:
            _clear(loop)
    report.steps = loop.steps
    report.groups = sum(server.groups for server in simulation.servers)
    report.virtual_seconds = loop.time() - 1000
    report.outcomes.update(entry.outcome for entry in simulation.world.entries)
    report.faults.update(simulation.faults.happened)
    return loop.errors


def _run(loop: SimulatedLoop, simulation: _Simulation, report: Report) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(simulation.main())
    except (Stuck, Frozen, OutOfTime) as error:
        report.violations.append(Violation(type(error).__name__.lower(), f"{error}: {simulation.pending()}"))
    except Exception as error:
        report.violations.append(Violation("main", repr(error)))
    finally:
        asyncio.set_event_loop(None)


def _clear(loop: SimulatedLoop) -> None:
    """End what is left, so that the next scenario starts from nothing."""
    tasks = asyncio.all_tasks(loop)
    for task in sorted(tasks, key=lambda task: task.get_name()):
        task.cancel()
    if tasks:
        with contextlib.suppress(Stuck, Frozen, OutOfTime):
            asyncio.set_event_loop(loop)
            loop.run_until_complete(asyncio.wait(tasks, timeout=100))
        asyncio.set_event_loop(None)
    loop.close()


def _options(options: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a pool; "hooks" stands for three functions, "stuck_hook" for the init hook that never
    ends, "reset_hook" for what every other call of the reset hook does."""
    keywords = {**_DEFAULTS, **options}
    stuck, reset = keywords.pop("stuck_hook", 0), keywords.pop("reset_hook", "")
    if keywords.pop("hooks", False):
        keywords |= {"init": set_up, "setup": probe, "reset": probe}
    if stuck:
        keywords["init"] = partial(set_up_unless_stuck, itertools.count(1), stuck)
    if reset:
        keywords["reset"] = partial(reset_hook, itertools.count(), reset)
    return keywords


class _Simulation:
    """One scenario on its loop."""

    def __init__(self, scenario: Scenario, loop: SimulatedLoop, network: Network) -> None:
        self.scenario = scenario
        self.loop = loop
        self.network = network
        kind = EmbeddedLocks if scenario.locks == "embedded" else Database
        self.database = kind(loop.time, frozenset(scenario.bugs))
        self.servers = [
            ModelServer(
                network,
                self.database,
                f"{scenario.seed} {index}",
                f"10.0.0.{index + 1}",
                is_secondary=host.is_secondary,
                speed=host.speed,
                slow=host.slow,
                differs=host.differs,
            )
            for index, host in enumerate(scenario.hosts)
        ]
        names: dict[str, list[str]] = {}
        for index, (server, host) in enumerate(zip(self.servers, scenario.hosts, strict=True)):
            others = [f"10.0.{number}.{index + 1}" for number in range(1, host.addresses)]
            network.same_host.update(dict.fromkeys(others, server.ip))
            names[f"db{index + 1}"] = [server.ip, *others]
        network.names.update({name: list(addresses) for name, addresses in names.items()})
        for server, host in zip(self.servers, scenario.hosts, strict=True):
            if host.redirect >= 0:
                server.redirect_to = f"ol_sim|db{host.redirect % len(self.servers) + 1}|{PORT}"
            server.start()
        self.faults = Faults(network, self.servers, names)
        self.world: World = World(
            loop, [], [_options(options) for options in scenario.pools], "", self.database.log
        )
        self._tasks: list[asyncio.Task[Any]] = []
        self._timers: list[str] = []

    async def main(self) -> None:
        """The callers, then the end of all faults, a check that the pools serve again, and their close."""
        hosts = ",".join(f"db{index + 1}:{PORT}" for index in range(len(self.servers)))
        self.world.dsn = f"informix://app:secret@{hosts}/shop?server=ol_sim"
        for fault in self.scenario.faults:
            self.faults.plan(fault)
        pools = self.world.pools
        for options in self.world.options:
            pools.append(await self._started(options))
        tasks = [asyncio.ensure_future(run_caller(self.world, caller)) for caller in self.scenario.callers]
        if tasks:
            _, running = await asyncio.wait(tasks, timeout=CALLERS_LIMIT)
            for task in running:
                self.world.wrong.append(f"a caller has not ended: {task.get_stack()[-1:]}")
        self.faults.end()
        await self._recover()
        for number, pool in enumerate(pools):
            with self.world.limited(f"pool {number}, close", POOL_CLOSE + CLOSE_TIMEOUT):
                await pool.close(timeout=POOL_CLOSE)
        del pools[:]
        # Bytes that are on the way arrive, and connections that were dropped close; stalled ones once TCP gives up.
        await asyncio.sleep(1)
        self._timers = self.loop.timers()
        if self._is_occupied():
            await asyncio.sleep(KEEPALIVE)
        self._tasks = [
            task
            for task in asyncio.all_tasks()
            if task is not asyncio.current_task() and not task.get_name().startswith("model session")
        ]

    async def _started(self, options: dict[str, Any]) -> aioifx.Pool:
        """A pool that has started; without a first connection if that fails."""
        try:
            with self.world.limited("create_pool", connect_limit(options)):
                return await aioifx.create_pool(self.world.dsn, **options, **self._observed)
        except aioifx.Error:
            options["min_size"] = 0
            return await aioifx.create_pool(self.world.dsn, **options, **self._observed)

    @property
    def _observed(self) -> dict[str, Any]:
        """In a third of the scenarios pools have an observer, with which sessions measure their requests."""
        return {} if self.scenario.seed % 3 else {"observer": self.world.reported}

    def _is_occupied(self) -> bool:
        return bool(self.network.open_connections or any(server.sessions for server in self.servers))

    async def _recover(self) -> None:
        """Each pool serves again, and what callers have left at the servers is gone."""
        for number, pool in enumerate(self.world.pools):
            began, options = self.loop.time(), self.world.options[number]
            # An attempt that is under way may have to time out first, or its connection is still held back.
            held_back = max(began, self.network.held_until())
            limit = held_back + connect_limit(options) + options["acquire_timeout"] + RECOVERY
            if {"reject", "change role", "redirect in a circle"} & set(self.faults.happened):
                limit += REFUSED
            was_down = not pool.stats.size
            while True:
                try:
                    async with asyncio.timeout(KEEPALIVE + RECOVERY):
                        await pool.fetchval("SELECT FIRST 1 tabid FROM informix.systables")
                    break
                except (aioifx.Error, TimeoutError) as error:
                    # A connection that broke unnoticed may fail once for each that the pool has.
                    if self.loop.time() - began > limit - began + KEEPALIVE * (not was_down):
                        self.world.wrong.append(f"pool {number} does not serve again: {error!r}")
                        break
                await asyncio.sleep(0.1)
            took = self.loop.time() - began
            if was_down and took > limit - began:
                self.world.late.append(f"pool {number} took {took:.1f} s to serve again")
        await self._rest()

    async def _rest(self) -> None:
        """Idle sessions have neither a transaction nor a cursor, nor more statements than their pool may keep."""
        for _ in range(20):
            if not self._left_open():
                return
            await asyncio.sleep(1)
        self.world.left += self._left_open()

    def _left_open(self) -> list[str]:
        """What sessions have open whose client's end is open; the others end when their server learns of it."""
        most = max(options.get("statement_cache_size", 100) for options in self.world.options)
        left = [
            f"session {session.number} has {session.open_cursors} cursors, {len(session.statements)} statements"
            f"{' and a transaction' if session.transaction is not None else ''}"
            for server in self.servers
            for session in server.sessions.values()
            if (session.open_cursors or session.transaction is not None or len(session.statements) > most)
            and not session.transport.peer.is_closed
        ]
        for stats in (pool.stats for pool in self.world.pools):
            if stats.size + stats.opening < stats.min_size:
                left.append(f"pool {stats.name} has {stats.size} connections, min_size is {stats.min_size}")
        return left

    def outcome(self) -> Outcome:
        """What is left, for the laws."""
        return Outcome(
            self.loop,
            self.network,
            self.database,
            self.servers,
            self.world,
            self.faults.happened,
            self._tasks,
            self._timers,
        )

    def pending(self) -> str:
        """What waits where."""
        lines = []
        for task in sorted(asyncio.all_tasks(self.loop), key=lambda task: task.get_name()):
            frames = [f"{frame.f_code.co_name}:{frame.f_lineno}" for frame in task.get_stack()]
            lines.append(f"{task.get_name()} {frames}")
        return "; ".join(lines)
