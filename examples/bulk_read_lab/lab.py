"""A whole lab: a server, its tables, every strategy several times, and whether all of them saw the same rows."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from argparse import Namespace
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import aioifx
from examples.bulk_read_lab.run import EXPECTED, Order, Result, environment
from examples.bulk_read_lab.table import drop, fill

ROOT = Path(__file__).parents[2]
SUMMARY = "bulk-read-summary/1"
GRACE = 15.0
"""Seconds that a run has to start and to report, in addition to its limit."""


class LabFailed(Exception):
    """A run left no result."""


@asynccontextmanager
async def own_server() -> AsyncGenerator[tuple[str, int], None]:
    """An embedded server in a process of its own: its DSN and process id."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "aioifx.server", "--port", "0", "--database", "lab"),
        env=_environment(),
        stdout=asyncio.subprocess.PIPE,
        stdin=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(GRACE):
            line = (await process.stdout.readline()).decode()
        if not line:
            raise LabFailed("the embedded server does not start")
        yield line.rpartition(" ")[2].strip(), process.pid
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.communicate()


async def run_fresh(order: Order) -> Result:
    """Run *order* in a new process, and end it and its children if it takes too long.

    Raises:   LabFailed: it left no result.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "examples.bulk_read_lab.run"),
        env=_environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,  # so that its children can be ended with it
    )
    try:
        async with asyncio.timeout(order["limits"]["seconds"] + GRACE):
            output, _ = await process.communicate(json.dumps(order).encode())
    except TimeoutError:
        raise LabFailed(f"{order['strategy']}: no result within the time limit and {GRACE:g} s") from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                if hasattr(os, "killpg"):
                    os.killpg(process.pid, signal.SIGKILL)
                else:  # Windows
                    process.kill()
            await process.wait()
    if process.returncode or not output:
        raise LabFailed(f"{order['strategy']}: ended with exit code {process.returncode}, without a result")
    result: Result = json.loads(output)
    return result


def _environment() -> dict[str, str]:
    # The seed is for the checksums; see Tally.
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}


async def run_lab(given: Namespace, dsn: str, pid: int | None) -> Result:
    """Run everything. A file for each run is written, and a summary after each size.

    Args:     given: the command line; see `__main__.parse`. pid: of an embedded server.
    Raises:   LabFailed: a run left no result.
    """
    limits = asdict(given.limits)
    expected: dict[str, dict[str, Any]] = {}
    cells: list[Result] = []
    artifacts: list[str] = []
    summary = {
        "schema": SUMMARY,
        "environment": environment(),
        "embedded_server": pid is not None,
        "limits": limits,
        "policy": given.policy,
        "expected": expected,
        "cells": cells,
        "artifacts": artifacts,
    }

    def order(strategy: str, size: int) -> Order:
        return Order(
            strategy=strategy, dsn=dsn, rows=size, policy=given.policy, limits=limits, server_pid=pid
        )

    for size in given.rows:
        print(f"{size:,} rows: loading")
        async with _table(dsn, size):
            truth = await run_fresh(order(EXPECTED, size))
            expected[str(size)] = {"rows": truth["rows"], "checksum": truth["checksum"]}
            good: dict[str, list[Result]] = {strategy: [] for strategy in given.strategies}
            for number in range(1, given.runs + 1):  # rounds, so that a change of the machine affects all
                for strategy in given.strategies:
                    run = await run_fresh(order(strategy, size))
                    artifacts.append(f"{strategy}-{size}-{number}.json")
                    write_json(given.out / artifacts[-1], run)
                    print(_line(run, truth))
                    if is_right(run, truth):
                        good[strategy].append(run)
        cells += [cell_of(each, size, runs, given.runs - len(runs)) for each, runs in good.items()]
        write_json(given.out / "summary.json", summary)
    return summary


@asynccontextmanager
async def _table(dsn: str, size: int) -> AsyncGenerator[None, None]:
    async with aioifx.connect(dsn) as conn:
        await fill(conn, size)
    try:
        yield
    finally:
        async with aioifx.connect(dsn) as conn:
            await drop(conn, size)


def is_right(run: Result, truth: Result) -> bool:
    """Whether it read exactly the rows that were loaded."""
    same = (run["rows"], run["checksum"]) == (truth["rows"], truth["checksum"])
    return same and run["error"] is None and not run["missing"]


def _line(run: Result, truth: Result) -> str:
    cpu = run["cpu_seconds"] + run["children_cpu_seconds"]
    memory = run["peak_mib"] + sum(run["children_peak_mib"])
    text = f"wrong rows: {run['rows']:,} with checksum {run['checksum']}"
    if is_right(run, truth):
        text = f"{run['rows_per_second']:>9,} rows/s  {cpu:7.2f} s CPU  {memory:7.1f} MiB"
    elif run["error"] is not None:
        text = f"failed: {run['error']}"
    elif run["missing"]:
        ranges = "; ".join(f"{each['keys']} ({each['error']})" for each in run["missing"])
        text = f"{run['rows']:,} of {truth['rows']:,} rows; missing: {ranges}"
    return f"  {run['strategy']:<10} {text}"


def cell_of(strategy: str, table_rows: int, runs: list[Result], failed: int) -> Result:
    """Sum up the complete *runs* of a strategy at one size."""

    def spread(figures: list[Any]) -> Result | None:
        known = [each for each in figures if each is not None]
        return {"median": round(median(known), 3), "low": min(known), "high": max(known)} if known else None

    cpu = [round(run["cpu_seconds"] + run["children_cpu_seconds"], 3) for run in runs]
    names = ("rows_per_second", "seconds", "server_cpu_seconds", "peak_mib")
    return {
        "strategy": strategy,
        "table_rows": table_rows,
        "runs": len(runs),
        "failed": failed,
        **{name: spread([run[name] for run in runs]) for name in names},
        "cpu_seconds": spread(cpu),
        "cpu_microseconds_per_row": spread([round(seconds / table_rows * 1e6, 3) for seconds in cpu]),
        "all_peak_mib": spread([round(run["peak_mib"] + sum(run["children_peak_mib"]), 1) for run in runs]),
    }


def write_json(path: Path, value: object) -> None:
    """Write a run or a summary."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def read_json(path: Path, schema: str) -> Result:
    """Raises:   ValueError: the file is of another kind or version."""
    value = json.loads(path.read_text("utf-8"))
    if not isinstance(value, dict) or value.get("schema") != schema:
        raise ValueError(f"{path.name}: expected {schema}")
    return value
