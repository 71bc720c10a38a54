"""Planted defects: plausible mistakes, put one at a time into a copy of the tree, that the default suite must notice.

poe planted                          all of them
poe planted --only NAME              this one; may be repeated
poe planted --sample 4               about four of them, by the day's number
poe planted --sample 4 --day 2026-11-24    those of that day again
poe planted --list                   names and paths, without a run
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from tests.planted.defects import DEFECTS, Defect

ROOT: Final = Path(__file__).parents[2]

TREE: Final = ("aioifx", "tests", "examples", "pyproject.toml")
"""What the tests of the list need."""

TEST_LIMIT: Final = 30
"""Seconds for one test."""

RUN_LIMIT: Final = 120
"""Seconds for a run of pytest, or for building the kernel."""


class Outcome(StrEnum):
    """What became of a run with a defect."""

    CAUGHT = "caught"
    """A test failed that passes without the defect."""
    MISSED = "not caught"
    """All tests passed."""
    HUNG = "hung"
    """A test, or the run, reached its time limit."""
    BROKEN = "broken"
    """The defect could not be planted or built, no test could be run, or a test fails without the defect as well."""


class Result(NamedTuple):
    outcome: Outcome
    detail: str
    """The test that failed, or why nothing can be said."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 1 if a defect was not caught."""
    options = _options(arguments)
    chosen: Sequence[Defect] = [
        defect for defect in DEFECTS if not options.only or defect.name in options.only
    ]
    if options.sample:
        chosen = sample(options.day, options.sample)
        print(f"{len(chosen)} of {len(DEFECTS)} defects: --sample {options.sample} --day {options.day}")
    if options.list:
        for defect in chosen:
            print(f"{defect.name:60} {defect.path}")
        return 0
    caught = 0
    with ThreadPoolExecutor(options.jobs) as executor:
        for defect, (result, seconds) in zip(chosen, executor.map(_timed, chosen), strict=True):
            caught += result.outcome is Outcome.CAUGHT
            print(f"{result.outcome:10} {defect.name:60} {seconds:5.1f} s  {result.detail}", flush=True)
    print(f"{caught} of {len(chosen)} caught")
    return int(caught < len(chosen))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="poe planted", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    which = parser.add_mutually_exclusive_group()
    names = [defect.name for defect in DEFECTS]
    which.add_argument("--only", action="append", choices=names, metavar="NAME", help="only this defect")
    which.add_argument("--sample", type=int, metavar="N", help="about N defects, others on each day")
    today = datetime.now(UTC).date()
    parser.add_argument("--day", type=date.fromisoformat, default=today, help="of --sample; today by default")
    parser.add_argument("--list", action="store_true", help="print the defects, and run nothing")
    cores = os.cpu_count() or 1
    parser.add_argument("--jobs", type=int, default=cores, help="runs at a time; by default one per core")
    options = parser.parse_args(arguments)
    if options.sample is not None and options.sample < 1:
        parser.error(f"--sample: expected 1 or more, got {options.sample}")
    return options


def sample(day: date, count: int) -> Sequence[Defect]:
    """About so many defects, from all parts of the list; each has its turn within len(DEFECTS) / count days."""
    step = -(-len(DEFECTS) // count)
    return DEFECTS[day.toordinal() % step :: step]


def _timed(defect: Defect) -> tuple[Result, float]:
    start = time.monotonic()
    return attempt(defect), time.monotonic() - start


def attempt(defect: Defect, root: Path = ROOT) -> Result:
    """Run the tests of a defect in a copy of the tree that has it, and the one that fails in a copy without it."""
    with _copy(root) as folder:
        try:
            plant(defect, folder)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            return Result(Outcome.BROKEN, str(error))
        result = Result(Outcome.MISSED, "")
        for tests in _nearest_first(defect, folder):
            if result.outcome is Outcome.MISSED:
                result = _judge(*_run(tests, folder, is_pure=defect.pure))
    if result.outcome is Outcome.CAUGHT:
        with _copy(root) as folder:
            if _run((result.detail,), folder, is_pure=defect.pure)[0] != 0:
                return Result(Outcome.BROKEN, f"fails without the defect: {result.detail}")
    return result


def _nearest_first(defect: Defect, folder: Path) -> list[tuple[str, ...]]:
    """The tests of the defect's own module, which are likely to fail, and all of them."""
    module = Path(defect.path)
    nearest = Path("tests", *module.parts[1:-1], f"test_{module.stem}.py")
    is_there = any(nearest.is_relative_to(tests) for tests in defect.tests) and (folder / nearest).exists()
    return [(nearest.as_posix(),), defect.tests] if is_there else [defect.tests]


def plant(defect: Defect, folder: Path) -> None:
    """Put a defect into a tree, and build the kernel if that has it.

    Raises:
        ValueError: the text to replace is not there once.
        SubprocessError: the kernel could not be built.
    """
    path = folder / defect.path
    text = path.read_text("utf-8")
    if text.count(defect.old) != 1:
        raise ValueError(f"{defect.path}: expected once, got {text.count(defect.old)} times: {defect.old!r}")
    path.write_text(text.replace(defect.old, defect.new), "utf-8")
    if path.suffix == ".pyx" or path.with_suffix(".pxd").exists():  # Cython, or Python that is compiled
        build = [sys.executable, "-m", "Cython.Build.Cythonize", "--inplace", "--force", defect.path]
        environment = {**os.environ, "CFLAGS": "-O0"}
        subprocess.run(build, cwd=folder, env=environment, capture_output=True, timeout=RUN_LIMIT, check=True)


@contextlib.contextmanager
def _copy(root: Path) -> Iterator[Path]:
    """A copy of the tree, with its bytecode and its kernel."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        for part in TREE:
            source, target = root / part, Path(name, part)
            if source.is_dir():
                shutil.copytree(source, target)
            elif source.exists():
                shutil.copy2(source, target)
        yield Path(name)


def _run(tests: Sequence[str], folder: Path, *, is_pure: bool) -> tuple[int | None, str]:
    """The exit code of pytest, None if it took too long, and what it printed."""
    command = [sys.executable, "-m", "pytest", "-x", "--quiet", "-rfE", "--tb=no", f"--timeout={TEST_LIMIT}"]
    command += ["--numprocesses=0", "-p", "no:cacheprovider", *tests]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"PYTHONPATH": str(folder), "COLUMNS": "1000", "AIOIFX_SPEEDUPS": "0" if is_pure else "1"}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(RUN_LIMIT)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            with contextlib.suppress(ProcessLookupError):  # what a test has left running as well
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        return code, output.read().decode("utf-8", "replace")


def _judge(code: int | None, output: str) -> Result:
    lines = [line for line in output.splitlines() if line.strip()] or ["pytest printed nothing"]
    failed = next((line for line in reversed(lines) if line.startswith(("FAILED ", "ERROR "))), "")
    test, _, message = failed.partition(" ")[2].partition(" - ")
    if code == 0:
        return Result(Outcome.MISSED, "")
    if code is None:
        return Result(Outcome.HUNG, f"the run took more than {RUN_LIMIT} s")
    if "from pytest-timeout" in message:
        return Result(Outcome.HUNG, test)
    if code == 1 and "::" in test:
        return Result(Outcome.CAUGHT, test)
    return Result(Outcome.BROKEN, f"exit code {code} of pytest: {failed or lines[-1]}")


if __name__ == "__main__":
    sys.exit(main())
