"""Deterministic simulation of the client: replay a seed, minimize it, or run many.

poe simulate --seed 17                     replay one scenario, with a trace
poe simulate --seed 17 --minimize          shrink it while it violates the same law; print it as JSON
poe simulate --scenario FILE               replay a scenario from its JSON
poe simulate --seconds 120                 new seeds, from the clock, on all cores
poe simulate --count 10000 --first 1       these seeds
poe simulate --planted NAME                with a past defect put back: how many seeds find it?
poe simulate --planted all --first 0       the same for each past defect, as a table
poe simulate --coverage                    which lines of aioifx.client the simulation alone reaches
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import Final

from tests.system.simulation.generate import generate
from tests.system.simulation.many import NO_SEED, Summary, run_limited, run_many
from tests.system.simulation.measure import measured
from tests.system.simulation.minimize import minimize, size
from tests.system.simulation.planted import DEFECTS, planted
from tests.system.simulation.run import Report, run
from tests.system.simulation.scenario import Scenario
from tests.system.simulation.trace import TextTracer

MEASURED: Final = 3000
"""Seeds whose coverage is measured unless --count says otherwise."""

ALL: Final = "all"
"""What stands for every past defect."""

TRIED: Final = 6000
"""Seeds for each past defect of the table unless --count says otherwise."""

SHOWN: Final = 10
"""Failing seeds that are printed with their violations."""


def main() -> int:
    """Returns the exit code: 1 if a law was violated."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(
            signal.SIGPIPE, signal.SIG_DFL
        )  # `| head` ends the program, and no event of the scenario fails
    arguments = _arguments()
    if arguments.coverage:
        first = 1 if arguments.first is None else arguments.first
        print(measured(first, arguments.count or MEASURED, arguments.jobs))
        return 0
    if arguments.planted == ALL:
        return _table(arguments)
    with (
        planted(arguments.planted)
        if arguments.planted and _is_single(arguments)
        else contextlib.nullcontext()
    ):
        if _is_single(arguments):
            return _one(arguments)
    return _many(arguments)


def _is_single(arguments: argparse.Namespace) -> bool:
    return arguments.seed is not None or arguments.scenario is not None


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="poe simulate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, help="replay this seed")
    parser.add_argument("--scenario", type=Path, help="replay the scenario in this file")
    parser.add_argument("--minimize", action="store_true", help="shrink the scenario while it fails")
    parser.add_argument("--save", type=Path, help="write the scenario to this file, as JSON")
    parser.add_argument("--quiet", action="store_true", help="without the trace")
    parser.add_argument("--seconds", type=float, help="run new seeds for this long")
    parser.add_argument("--count", type=int, help="run this many seeds")
    parser.add_argument("--first", type=int, help="the first seed; by default it comes from the clock")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes; by default one per core"
    )
    parser.add_argument("--coverage", action="store_true", help="measure the coverage of aioifx.client")
    parser.add_argument(
        "--planted", default="", choices=[ALL, *sorted(DEFECTS)], help="put a past defect back"
    )
    arguments = parser.parse_args()
    if arguments.minimize and not _is_single(arguments):
        parser.error("--minimize needs --seed or --scenario")
    if arguments.coverage and (_is_single(arguments) or arguments.seconds or arguments.planted):
        parser.error("--coverage goes with --count, --first and --jobs only")
    if arguments.planted == ALL and (_is_single(arguments) or arguments.seconds):
        parser.error("--planted all goes with --count, --first and --jobs only")
    if arguments.scenario is not None:
        try:
            arguments.scenario = Scenario.from_json(arguments.scenario.read_text())
        except (OSError, ValueError, LookupError, TypeError) as error:
            parser.error(f"--scenario: {error!r}")
    return arguments


# -- one scenario -----------------------------------------------------------------------------------------------------


def _one(arguments: argparse.Namespace) -> int:
    scenario: Scenario = arguments.scenario or generate(arguments.seed)
    if arguments.minimize:
        found = run_limited(scenario)
        if not found.violations:
            print("no law is violated: nothing to minimize")
            return 0
        scenario = _minimized(scenario, found)
    if arguments.save is not None:
        arguments.save.write_text(scenario.to_json() + "\n")
    elif arguments.minimize:
        print(scenario.to_json())
    report = run(scenario, None if arguments.quiet else TextTracer(print))
    print(f"\n{report.steps} steps, {report.groups} requests, {report.virtual_seconds:.3f} s of virtual time")
    _print_violations(report)
    return int(bool(report.violations))


def _minimized(scenario: Scenario, found: Report) -> Scenario:
    law = found.violations[0].law
    smallest, shown = scenario, ""

    def fails(smaller: Scenario) -> bool:
        return law in run_limited(smaller).laws

    def tell(smaller: Scenario) -> None:
        nonlocal smallest, shown
        smallest = smaller
        callers, operations, faults = size(smaller)
        text = f"{callers} callers, {operations} operations, {faults} faults"
        if text != shown:
            print(text, file=sys.stderr)
            shown = text

    try:
        return minimize(scenario, fails, tell)
    except KeyboardInterrupt:
        print("interrupted: this is the smallest scenario so far", file=sys.stderr)
        return smallest


def _print_violations(report: Report) -> None:
    for violation in report.violations:
        print(f"violated: {violation.law}: {violation.text}")
    if not report.violations:
        print("all laws hold")


# -- many -------------------------------------------------------------------------------------------------------------


def _many(arguments: argparse.Namespace) -> int:
    first = arguments.first if arguments.first is not None else int(time.time()) * 1000
    seconds = arguments.seconds if arguments.seconds or arguments.count else 20.0
    print(f"seeds from {first} on, {arguments.jobs} processes", flush=True)
    is_terminal = sys.stderr.isatty()

    def tell(summary: Summary) -> None:
        if is_terminal:
            text = f"{summary.scenarios:,} scenarios, {len(summary.failures)} failed, {summary.seconds:.0f} s"
            print(f"\r{text}", end="", file=sys.stderr, flush=True)

    summary = run_many(
        first,
        count=arguments.count,
        seconds=seconds,
        jobs=arguments.jobs,
        defect=arguments.planted,
        stop_at_failure=bool(arguments.planted),
        on_progress=tell,
    )
    if is_terminal:
        print(file=sys.stderr)
    print(summary)
    for seed, violations in summary.failures[:SHOWN]:
        for violation in violations[:3]:
            print(f"seed {seed} violates: {violation.law}: {violation.text}")
        defect = f" --planted '{arguments.planted}'" if arguments.planted else ""
        if seed != NO_SEED:
            print(f"    replay it: poe simulate --seed {seed}{defect}")
    print(f"{len(summary.failures)} of {summary.scenarios} scenarios failed")
    if summary.is_interrupted:
        print("interrupted")
        return 130
    return int(bool(summary.failures))


# -- past defects -----------------------------------------------------------------------------------------------------


def _table(arguments: argparse.Namespace) -> int:
    """Print after how many seeds each past defect is found; 1 if one is not."""
    first, count = arguments.first or 0, arguments.count or TRIED
    print(f"seeds from {first} on, at most {count}, {arguments.jobs} processes", flush=True)
    missed = 0
    for name in DEFECTS:
        seed, law = _found(name, first, count, arguments.jobs)
        missed += seed is None
        print(f"{name:40} {'-' if seed is None else seed - first + 1:>6} {law}", flush=True)
    return int(bool(missed))


def _found(name: str, first: int, count: int, jobs: int) -> tuple[int | None, str]:
    """The first seed that violates a law with the defect, but not without it, and the law; None if there is none."""
    following = first
    while following < first + count:
        summary = run_many(
            following, count=first + count - following, jobs=jobs, defect=name, stop_at_failure=True
        )
        if summary.is_interrupted:
            raise KeyboardInterrupt
        if not summary.failures:
            break
        seed, violations = summary.failures[0]
        if seed == NO_SEED or not run_limited(generate(seed)).violations:
            return seed, violations[0].law
        following = seed + 1
    return None, ""


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
    sys.exit(130)
