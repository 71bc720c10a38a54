"""Many scenarios, on all cores: seed after seed, with a summary. Never: the command line."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import queue
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Final

from tests.system.simulation.generate import generate
from tests.system.simulation.laws import Violation
from tests.system.simulation.planted import planted
from tests.system.simulation.run import Report, run
from tests.system.simulation.scenario import Scenario

REAL_LIMIT: Final = 10.0
"""Seconds of real time for one scenario: a loop that never gives control back to the event loop takes longer."""

AGAIN: Final = 0.5
"""Seconds after which a scenario that goes on all the same is stopped again."""


class Busy(BaseException):
    """A scenario keeps its process busy; no handler of the client catches this."""


CHUNK: Final = 50
"""Scenarios that a process runs before it reports."""


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
    """`run`, with a limit of real time where the system has a timer."""
    if not hasattr(signal, "SIGALRM"):
        return run(scenario)

    found: list[str] = []

    def stop(number: int, frame: FrameType | None) -> None:
        found.append(f"still busy after {REAL_LIMIT} s at {frame.f_code.co_qualname if frame else ''}")
        raise Busy(found[0])

    before = signal.signal(signal.SIGALRM, stop)
    # Again and again, since tasks and callbacks of asyncio catch the exception, and the scenario has to be cleared.
    signal.setitimer(signal.ITIMER_REAL, REAL_LIMIT, AGAIN)
    try:
        report = run(scenario)
    except Busy:
        report = Report(scenario.seed)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    if found:
        report.violations.append(Violation("frozen", found[0]))
    return report


def run_seeds(seeds: range) -> Summary:
    """Run some seeds in this process."""
    summary = Summary()
    for seed in seeds:
        summary.add(run_limited(generate(seed)))
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

    Args:     defect: the name of a planted defect; empty: none.
    """
    total, began = Summary(), time.monotonic()
    with _workers(jobs, defect) as (orders, results):
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
                orders.put(range(following, stop))
                following, outstanding = stop, outstanding + 1
            if not outstanding:
                break
            total.merge(_next(results))
            outstanding -= 1
            total.seconds = time.monotonic() - began
            if on_progress is not None:
                on_progress(total)
    return total


def _next(results: Any) -> Summary:
    """Raises:   RuntimeError: a process has died."""
    try:
        summary: Summary | BaseException = results.get(timeout=CHUNK * REAL_LIMIT)
    except queue.Empty:
        raise RuntimeError("a process that runs scenarios has died") from None
    if isinstance(summary, BaseException):
        raise summary
    return summary


@contextlib.contextmanager
def _workers(jobs: int, defect: str) -> Iterator[tuple[Any, Any]]:
    context = multiprocessing.get_context("spawn")
    orders, results = context.Queue(), context.Queue()
    processes = [
        context.Process(target=_work, args=(orders, results, defect), daemon=True) for _ in range(jobs)
    ]
    for process in processes:
        process.start()
    try:
        yield orders, results
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _work(orders: Any, results: Any, defect: str) -> None:
    """In a process of its own: run what is ordered."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    with planted(defect) if defect else contextlib.nullcontext():
        gc.collect()
        gc.freeze()
        while True:
            seeds = orders.get()
            try:
                results.put(run_seeds(seeds))
            except Exception as error:
                results.put(RuntimeError(f"seeds {seeds.start} to {seeds.stop - 1}: {error!r}"))
