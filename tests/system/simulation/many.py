"""Many scenarios, on all cores: seed after seed, with a summary. Never: the command line."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import queue
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final, Self

from tests.system.simulation.generate import generate
from tests.system.simulation.laws import Violation
from tests.system.simulation.planted import planted
from tests.system.simulation.run import Report, run
from tests.system.simulation.scenario import Scenario

CPU_LIMIT: Final = 3.0
"""Seconds of processor time for one scenario: a loop that never gives control back to the event loop takes longer.

Not of real time, which also passes while other programs run.
"""

AGAIN: Final = 0.5
"""Seconds after which a scenario that goes on all the same is stopped again."""


CHUNK: Final = 50
"""Scenarios that a process runs before it reports."""

POLL: Final = 0.5
"""Seconds between two looks at the processes."""


HANGS: Final = 100 * CPU_LIMIT
"""Seconds of real time after which a process hangs that is still at the same seed, although `run_limited` has a limit.
A machine with other work gives it less than all of the time."""

NO_SEED: Final = -1
"""What stands for the seed of a process that has nothing to do."""


class Busy(BaseException):
    """A scenario keeps its process busy; no handler of the client catches this."""


@dataclass
class Summary:
    """The sum of many reports."""

    scenarios: int = 0
    steps: int = 0
    groups: int = 0
    virtual_seconds: float = 0.0
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter[str])
    faults: Counter[str] = field(default_factory=Counter[str])
    failures: list[tuple[int, list[Violation]]] = field(default_factory=list[tuple[int, list[Violation]]])
    """Seeds that violate a law, in order."""
    is_interrupted: bool = False
    """Whether Ctrl-C ended the run."""

    def add(self, report: Report) -> None:
        """Count one report."""
        self.scenarios += 1
        self.steps += report.steps
        self.groups += report.groups
        self.virtual_seconds += report.virtual_seconds
        self.outcomes += report.outcomes
        self.faults += report.faults
        if report.violations:
            self.failures.append((report.seed, report.violations))

    def merge(self, other: Summary) -> None:
        """Count what another process has run."""
        self.scenarios += other.scenarios
        self.steps += other.steps
        self.groups += other.groups
        self.virtual_seconds += other.virtual_seconds
        self.outcomes += other.outcomes
        self.faults += other.faults
        self.failures = sorted(self.failures + other.failures)

    def __str__(self) -> str:
        hour = self.scenarios / self.seconds * 3600 if self.seconds else 0
        each = max(self.scenarios, 1)
        return (
            f"{self.scenarios:,} scenarios in {self.seconds:.0f} s, {hour:,.0f} an hour; each has on average "
            f"{self.steps / each:.0f} steps of the event loop, {self.groups / each:.0f} requests and "
            f"{self.virtual_seconds / each:.1f} s of virtual time\n"
            f"operations: {_counted(self.outcomes)}\nfaults: {_counted(self.faults)}"
        )


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in counter.most_common())


def run_limited(scenario: Scenario) -> Report:
    """`run`, with a limit of processor time where the system has a timer; an error of the simulation is a violation."""
    try:
        return _run_limited(scenario)
    except Exception as error:
        places = traceback.extract_tb(error.__traceback__)
        text = f"{error!r} at {Path(places[-1].filename).name}:{places[-1].lineno}"
        return Report(scenario.seed, [Violation("simulation", text)])


def _run_limited(scenario: Scenario) -> Report:
    if not hasattr(signal, "SIGPROF"):
        return run(scenario)

    found: list[str] = []
    is_over = False

    def stop(number: int, frame: FrameType | None) -> None:
        if is_over:
            return
        found.append(f"still busy after {CPU_LIMIT} s at {frame.f_code.co_qualname if frame else ''}")
        raise Busy(found[0])

    before = signal.signal(signal.SIGPROF, stop)
    # Again and again, since tasks and callbacks of asyncio catch the exception, and the scenario has to be cleared.
    signal.setitimer(signal.ITIMER_PROF, CPU_LIMIT, AGAIN)
    try:
        report = run(scenario)
        is_over = True
    except Busy:
        is_over = True
        report = Report(scenario.seed)
    finally:
        is_over = True
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    if found:
        report.violations.append(Violation("frozen", found[0]))
    return report


def run_seeds(
    seeds: range, on_seed: Callable[[int], None] | None = None, *, stop_at_failure: bool = False
) -> Summary:
    """Run some seeds in this process.

    Args:
        on_seed: called with each seed before it runs.
        stop_at_failure: the first seed that fails is the last.
    """
    summary = Summary()
    for seed in seeds:
        if on_seed is not None:
            on_seed(seed)
        summary.add(run_limited(generate(seed)))
        if stop_at_failure and summary.failures:
            break
    return summary


def run_many(
    first: int,
    *,
    count: int | None = None,
    seconds: float | None = None,
    jobs: int = 1,
    defect: str = "",
    stop_at_failure: bool = False,
    on_progress: Callable[[Summary], None] | None = None,
) -> Summary:
    """Run seeds from *first* on in *jobs* processes, until one of the limits is reached.

    The run ends at Ctrl-C, and if a process dies or hangs: the seed that it was at then counts as a failure.

    Args:
        defect: the name of a planted defect; empty: none.
    """
    total, began = Summary(), time.monotonic()
    with contextlib.ExitStack() as stack:
        try:
            workers = stack.enter_context(_Workers(jobs, defect, stop_at_failure))
            following, outstanding = first, 0
            limit = None if count is None else first + count
            while True:
                is_over = (
                    (limit is not None and following >= limit)
                    or (seconds is not None and time.monotonic() - began >= seconds)
                    or (stop_at_failure and bool(total.failures))
                )
                while not is_over and outstanding < 2 * jobs and (limit is None or following < limit):
                    stop = following + CHUNK if limit is None else min(following + CHUNK, limit)
                    workers.orders.put(range(following, stop))
                    following, outstanding = stop, outstanding + 1
                if not outstanding:
                    break
                result = workers.next_result()
                total.merge(result)
                outstanding -= 1
                total.seconds = time.monotonic() - began
                if on_progress is not None:
                    on_progress(total)
                if workers.is_broken:
                    break
        except KeyboardInterrupt:
            total.is_interrupted = True
    return total


class _Workers:
    """Processes that run seeds.

    A process that ended by itself may have held a lock of the queues, so no result is waited for after that.
    """

    def __init__(self, jobs: int, defect: str, stop_at_failure: bool) -> None:
        context = multiprocessing.get_context("spawn")
        self.orders: Any = context.Queue()
        self._results: Any = context.Queue()
        self.is_broken = False
        """Whether a process died or hung."""
        self._seeds: list[Any] = [context.Value("q", NO_SEED, lock=False) for _ in range(jobs)]
        self._since = [(NO_SEED, 0.0)] * jobs  # the seed that each process was last seen at, and since when
        self._processes = [
            context.Process(
                target=_work, args=(self.orders, self._results, seed, defect, stop_at_failure), daemon=True
            )
            for seed in self._seeds
        ]

    def __enter__(self) -> Self:
        for process in self._processes:
            process.start()
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join()

    def next_result(self) -> Summary:
        """The next summary; that of a failure if a process has died or hangs."""
        while True:
            try:
                summary: Summary = self._results.get(timeout=POLL)
                return summary
            except queue.Empty:
                failures = self._lost()
            if failures:
                self.is_broken = True
                return Summary(scenarios=len(failures), failures=failures)

    def _lost(self) -> list[tuple[int, list[Violation]]]:
        """The seeds of the processes that have died or hang."""
        failures: list[tuple[int, list[Violation]]] = []
        now = time.monotonic()
        for index, process in enumerate(self._processes):
            seed = self._seeds[index].value
            if self._since[index][0] != seed:
                self._since[index] = (seed, now)
            text = ""
            if process.exitcode is not None:
                text = f"its process ended with exit code {process.exitcode}"
            elif seed != NO_SEED and now - self._since[index][1] > HANGS:
                text = f"its process hangs for {HANGS} s"
            if text:
                failures.append((seed, [Violation("process", text)]))
        return failures


def _work(orders: Any, results: Any, current: Any, defect: str, stop_at_failure: bool) -> None:
    """In a process of its own: run what is ordered."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle

    def at(seed: int) -> None:
        current.value = seed

    with planted(defect) if defect else contextlib.nullcontext():
        gc.collect()
        gc.freeze()
        while True:
            seeds = orders.get()
            summary = run_seeds(seeds, at, stop_at_failure=stop_at_failure)
            current.value = NO_SEED
            results.put(summary)
