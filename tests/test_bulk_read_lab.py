"""The bulk-read lab of examples/: every strategy reads every row, and one that does not reports it."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aioifx
from aioifx.partitions import Partition, cut_at
from aioifx.server import Server, ServerOptions, serve
from examples.bulk_read_lab import report
from examples.bulk_read_lab.__main__ import parse
from examples.bulk_read_lab.lab import SUMMARY, cell_of, is_right, read_json, run_fresh, write_json
from examples.bulk_read_lab.policy import ChildLost, Missing, Outcome, Policy, read_all
from examples.bulk_read_lab.process import MIB, Limits
from examples.bulk_read_lab.run import EXPECTED, RUN, Order, Result
from examples.bulk_read_lab.strategies import EVERYTHING, STRATEGIES, Job, read_in_child
from examples.bulk_read_lab.table import Tally, fill, rows_of, source_of, tally_of
from tests.injection import eventually
from tests.system.faults.proxy import Fault, Kind, Proxy, Way

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "AIOIFX_DSN"}
README = ROOT / "examples" / "bulk_read_lab" / "README.md"
ROWS = 3000
SMALL = Limits(page=700, partitions=5, connections=2, processes=2, fetch_size=4096)
PARTITIONED = ["pool", "processes"]

CUT = Fault(Kind.CUT, Way.TO_CLIENT, after=12_000)
"""After the login and the query for the ends, in the middle of a partition."""
STALL = Fault(Kind.STALL, Way.TO_CLIENT, after=12_000)


class Faulty(Proxy):
    """A proxy with a fault for each link, in the order of the connections; later links have none."""

    def __init__(self, target: int, faults: Iterable[Fault | None]) -> None:
        self._faults = iter(faults)
        super().__init__(target)

    @property
    def fault(self) -> Fault | None:
        return next(self._faults, None)

    @fault.setter
    def fault(self, fault: Fault | None) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        assert fault is None  # the proxy's own beginning


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """An embedded server with a table."""
    async with serve(ServerOptions()) as server:
        async with aioifx.connect(server.dsn) as conn:
            await fill(conn, ROWS)
        yield server


@asynccontextmanager
async def through(server: Server, *faults: Fault | None) -> AsyncIterator[tuple[str, Proxy]]:
    """A way to *server* with faults, and the proxy."""
    proxy = Faulty(server.port, faults)
    await proxy.start()
    try:
        yield server.dsn.replace(f":{server.port}", f":{proxy.port}"), proxy
    finally:
        await proxy.close()


async def outcome_of(strategy: str, dsn: str, policy: Policy = "strict", limits: Limits = SMALL) -> Outcome:
    async with asyncio.timeout(40):
        return await STRATEGIES[strategy](Job(dsn, source_of(ROWS), limits, policy))


# -- strategies -------------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_a_strategy_sees_every_row_once(strategy: str, server: Server) -> None:
    outcome = await outcome_of(strategy, server.dsn)
    assert (outcome.tally.rows, outcome.missing, outcome.retries) == (ROWS, [], 0)
    if strategy != "processes":  # another process has other hashes, unless both have the lab's seed
        assert outcome.tally == tally_of(rows_of(ROWS))
    else:
        assert len(outcome.peaks_mib) == SMALL.processes and min(outcome.peaks_mib) > 1
    await eventually(lambda: not server.stats.sessions)


@pytest.mark.exhaustive
async def test_no_strategy_has_more_connections_than_it_may(server: Server) -> None:
    before = server.stats.logins
    await outcome_of("pool", server.dsn)
    assert server.stats.logins - before <= SMALL.connections
    before = server.stats.logins
    await outcome_of("processes", server.dsn)
    assert server.stats.logins - before == SMALL.processes + 1  # the plan


def test_a_tally_knows_no_order_but_every_value() -> None:
    rows = list(rows_of(50))
    assert tally_of(iter(rows)) == tally_of(reversed(rows))
    joined = tally_of(iter(rows[:20]))
    joined.join(tally_of(iter(rows[20:])))
    assert joined == tally_of(iter(rows))
    changed = (*rows[7][:3], rows[7][3] + 0.125, rows[7][4])
    assert tally_of(iter([*rows[:7], changed, *rows[8:]])) != tally_of(iter(rows))


# -- partitions that fail ---------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
@pytest.mark.parametrize("strategy", PARTITIONED)
async def test_strict_ends_with_the_error_of_the_partition_that_failed(strategy: str, server: Server) -> None:
    async with through(server, None, CUT) as (dsn, _):
        with pytest.raises(aioifx.ConnectionLost) as caught:
            await outcome_of(strategy, dsn)
    assert re.search(r"while reading keys (below|from) \d+", "".join(caught.value.__notes__))
    assert multiprocessing.active_children() == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_tolerant_reads_a_partition_again_that_failed_once(strategy: str, server: Server) -> None:
    planned = [None] if strategy in PARTITIONED else []
    async with through(server, *planned, CUT) as (dsn, _):
        outcome = await outcome_of(strategy, dsn, "tolerant")
    assert (outcome.tally.rows, outcome.missing, outcome.retries) == (ROWS, [], 1)


@pytest.mark.exhaustive
@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_tolerant_names_the_ranges_that_it_could_not_read(strategy: str, server: Server) -> None:
    limits = replace(SMALL, retries=1)
    planned = [None] if strategy == "processes" else []
    async with through(server, *planned, *[CUT] * 50) as (dsn, _):
        outcome = await outcome_of(strategy, dsn, "tolerant", limits)
    count = {"pool": limits.partitions, "processes": limits.processes}.get(strategy, 1)
    missing = sorted(outcome.missing, key=lambda each: (each.low is not None, each.low))
    if strategy == "pool":  # small partitions: what passes before the fault may be a whole one
        assert missing and len(missing) + outcome.tally.rows // (ROWS // count) == count
    else:
        assert (outcome.tally, len(missing)) == (Tally(), count)
        assert (missing[0].low, missing[-1].end) == (None, None)
    assert {each.attempts for each in missing} == {2}
    assert all(each.error.startswith("ConnectionLost: ") for each in missing)


@pytest.mark.exhaustive
@pytest.mark.parametrize("policy", ["strict", "tolerant"])
async def test_a_process_that_is_killed_is_a_partition_that_failed(policy: Policy, server: Server) -> None:
    one = replace(SMALL, processes=1)
    async with through(server, None, STALL) as (dsn, proxy):
        reading = asyncio.create_task(outcome_of("processes", dsn, policy, one))
        await eventually(lambda: len(proxy.links) > 1 and proxy.links[1].struck)
        (child,) = multiprocessing.active_children()
        child.kill()
        if policy == "strict":
            with pytest.raises(ChildLost, match="exit code -9"):
                await reading
        else:
            outcome = await reading
            assert (outcome.tally.rows, outcome.missing, outcome.retries) == (ROWS, [], 1)


@pytest.mark.exhaustive
async def test_a_run_that_is_cancelled_leaves_no_process(server: Server) -> None:
    async with through(server, None, STALL, STALL) as (dsn, proxy):
        reading = asyncio.create_task(outcome_of("processes", dsn))
        await eventually(lambda: len(proxy.links) > 2 and all(link.struck for link in proxy.links[1:]))
        assert len(multiprocessing.active_children()) == 2
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert multiprocessing.active_children() == []


async def test_an_error_keeps_its_class_and_numbers_on_its_way_from_a_process(server: Server) -> None:
    with pytest.raises(aioifx.UndefinedTable) as caught:
        await read_in_child(Job(server.dsn, source_of(ROWS + 1), SMALL), EVERYTHING[0])
    assert caught.value.sqlcode == -206


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=12),  # how often each partition fails
    st.integers(1, 4),
    st.integers(0, 3),
)
async def test_the_rows_read_and_the_missing_ranges_are_complete(
    failures: list[int], width: int, retries: int
) -> None:
    left, begun, running = Counter(dict(enumerate(failures))), Counter[int](), 0

    async def read(partition: Partition) -> Tally:
        nonlocal running
        running += 1
        assert running <= width
        begun[partition.number] += 1
        try:
            await asyncio.sleep(0)
            if left[partition.number]:
                left[partition.number] -= 1
                raise OSError("gone")
        finally:
            running -= 1
        return Tally(1, 1 << partition.number)

    partitions = cut_at(range(1, len(failures)))
    outcome = await read_all(partitions, read, width=width, policy="tolerant", retries=retries)
    lost = {partition for partition in partitions if failures[partition.number] > retries}
    read_ones = set(partitions) - lost
    assert outcome.tally == Tally(len(read_ones), sum(1 << each.number for each in read_ones))
    assert {(each.low, each.end) for each in outcome.missing} == {(each.low, each.end) for each in lost}
    assert {each.attempts for each in outcome.missing} <= {retries + 1}
    assert begun == Counter({at: min(times, retries) + 1 for at, times in enumerate(failures)})
    assert outcome.retries == sum(min(times, retries) for times in failures)


@pytest.mark.parametrize("policy", ["strict", "tolerant"])
async def test_a_mistake_ends_everything_under_either_policy(policy: Policy) -> None:
    never = asyncio.Event()

    async def read(partition: Partition) -> Tally:
        if partition.number:
            await never.wait()
        raise aioifx.InterfaceError("a mistake")

    with pytest.raises(aioifx.InterfaceError, match="a mistake"):
        await read_all(cut_at([1, 2]), read, width=3, policy=policy, retries=9)


def order(strategy: str, dsn: str, rows: int, limits: Limits) -> Order:
    return Order(
        strategy=strategy, dsn=dsn, rows=rows, policy="strict", limits=asdict(limits), server_pid=None
    )


# -- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
async def test_a_run_ends_at_its_time_limit_with_an_error(server: Server) -> None:
    limits = replace(SMALL, seconds=1.0)
    async with through(server, STALL) as (dsn, _):
        run = await run_fresh(order("stream", f"{dsn}&cancel_timeout=0.1", ROWS, limits))
    assert (run["error"], run["rows"]) == ("TimeLimit: not done within 1 s", 0)
    assert not is_right(run, {**run, "rows": ROWS})


def test_the_memory_of_a_process_is_bounded_where_the_system_can() -> None:
    program = (
        "from examples.bulk_read_lab.process import Limits\n"
        "print(Limits(memory_mib=1024).apply())\n"
        "try:\n"
        f"    bytearray({1200 * MIB})\n"
        "except MemoryError:\n"
        "    print('refused')\n"
    )
    printed = subprocess.check_output(
        [sys.executable, "-c", program], cwd=ROOT, text=True, timeout=30
    ).split()
    assert printed in (["True", "refused"], ["False"])
    assert sys.platform != "linux" or printed == ["True", "refused"]


def test_limits_that_cannot_be_meant_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for field in fields(Limits):
        with pytest.raises(ValueError, match=field.name):
            Limits(**{field.name: -1})
    assert not Limits(memory_mib=0).apply()
    for line in (["--page", "0"], ["--rows", "0"], ["--runs", "0"], ["--strategies", "magic"]):
        with pytest.raises(SystemExit):
            parse(line)
    capsys.readouterr()


# -- the lab as its user runs it, and what it leaves ------------------------------------------------------------------


async def lab(*arguments: str) -> tuple[int, str]:
    """Exit code, and everything that it prints; nothing may stand on standard error."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-m", "examples.bulk_read_lab", *arguments),
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(50):
            printed, complaints = await process.communicate()
    finally:
        await end(process)
    assert complaints.decode() == ""
    assert process.returncode is not None
    return process.returncode, printed.decode()


async def test_all_strategies_agree_about_rows_and_checksum(tmp_path: Path) -> None:
    password = "geheim%2B7"
    async with serve(ServerOptions(user="reader", password="geheim+7")) as server:
        address = f"informix://reader:{password}@127.0.0.1:{server.port}/demo?server=ol_aioifx"
        limits = ("--page", "150", "--partitions", "3", "--connections", "2", "--fetch-size", "4096")
        code, printed = await lab(
            *("--dsn", address, "--rows", "600", "--runs", "1", "--out", str(tmp_path), *limits)
        )
        assert code == 0, printed
        async with aioifx.connect(address) as conn:  # it has taken its tables away
            assert await conn.fetchval("SELECT COUNT(*) FROM systables WHERE tabname MATCHES 'bulk*'") == 0
    summary = read_json(tmp_path / "summary.json", SUMMARY)
    runs = [read_json(tmp_path / name, RUN) for name in summary["artifacts"]]
    cells = summary["cells"]
    assert [run["strategy"] for run in runs] == [*STRATEGIES] == [cell["strategy"] for cell in cells]
    assert all(is_right(run, summary["expected"]["600"]) for run in runs)
    assert all(run["peak_mib"] > 1 and run["seconds"] > 0 for run in runs)
    assert [(cell["runs"], cell["failed"]) for cell in cells] == [(1, 0)] * len(STRATEGIES)
    left = texts_in(tmp_path)
    assert left.keys() == {*summary["artifacts"], "summary.json"}
    assert not any("geheim" in text for text in [printed, *left.values()])


def texts_in(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text("utf-8") for path in directory.iterdir()}


@pytest.mark.exhaustive
async def test_by_default_it_starts_its_own_server_and_reports_the_time(tmp_path: Path) -> None:
    code, printed = await lab(
        "--rows", "300", "--runs", "1", "--strategies", "stream", "--out", str(tmp_path)
    )
    assert code == 0, printed
    summary = read_json(tmp_path / "summary.json", SUMMARY)
    assert summary["embedded_server"]
    (run,) = [read_json(tmp_path / name, RUN) for name in summary["artifacts"]]
    assert (run["server_cpu_seconds"] is not None) == (sys.platform == "linux")
    code, again = await lab("--only-report", "--out", str(tmp_path))
    assert code == 0 and again.strip() == printed[printed.index("| rows") :].strip()


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_lab_that_is_ended_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    process = await asyncio.create_subprocess_exec(
        *("sh", "-c", "trap '' INT; exec \"$@\"", "sh"),  # as a background job: SIGINT is ignored at first
        *(sys.executable, "-W", "error", "-u", "-m", "examples.bulk_read_lab", "--out", str(tmp_path)),
        *("--rows", "2000", "--runs", "1000", "--strategies", "processes"),
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    try:
        async with asyncio.timeout(50):
            while (
                b"rows/s" not in await process.stdout.readline()
            ):  # in the middle, between two runs or in one
                assert not process.stdout.at_eof()
            process.send_signal(number)
            # Standard error ends when no process has it open: server, run, children of the run.
            assert await process.stderr.read() == b""
            assert await process.wait() == 128 + number
    finally:
        await end(process)


async def end(process: asyncio.subprocess.Process) -> None:
    """End a lab that still runs; it ends the processes that it has started, unless it is killed."""
    if process.returncode is None:
        process.terminate()
        with suppress(TimeoutError):
            async with asyncio.timeout(5):
                await process.communicate()
    if process.returncode is None:
        process.kill()
        await process.communicate()


RESULT: Result = {
    "schema": RUN, "strategy": "stream", "table_rows": 10, "policy": "tolerant", "limits": asdict(Limits()),
    "memory_is_limited": True, "started": "2026-01-01T00:00:00+00:00", "environment": {"speedups": "pure"}, "rows": 10,
    "checksum": "00000000000000ff", "missing": [], "retries": 0, "error": None, "seconds": 0.5, "rows_per_second": 20,
    "cpu_seconds": 0.25, "children_cpu_seconds": 0.25, "server_cpu_seconds": None, "peak_mib": 30.0,
    "children_peak_mib": [20.0, 10.0],
}  # fmt: skip
MISSING = Missing("keys below 5, and NULL", None, 5, 3, "OSError: gone")


def test_a_run_is_right_only_with_every_row_as_it_was_loaded() -> None:
    assert is_right(RESULT, RESULT)
    for wrong in (
        {"rows": 9},
        {"checksum": "0"},
        {"error": "OSError: gone"},
        {"missing": [MISSING._asdict()]},
    ):
        assert not is_right({**RESULT, **wrong}, RESULT)


def test_a_cell_has_the_spread_of_its_runs() -> None:
    slow = {**RESULT, "rows_per_second": 10, "cpu_seconds": 0.75}
    cell = cell_of("stream", 10, [RESULT, slow, {**RESULT, "rows_per_second": 12}], failed=1)
    assert cell["rows_per_second"] == {"median": 12, "low": 10, "high": 20}
    assert cell["cpu_microseconds_per_row"] == {"median": 50_000, "low": 50_000, "high": 100_000}
    assert cell["all_peak_mib"] == {"median": 60.0, "low": 60.0, "high": 60.0}
    assert cell["server_cpu_seconds"] is None


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "run.json"
    write_json(path, RESULT)
    assert read_json(path, RUN) == RESULT
    with pytest.raises(ValueError, match=r"run\.json: expected bulk-read-summary/1"):
        read_json(path, SUMMARY)


def summary_of(*cells: Result) -> Result:
    environment = {
        "implementation": "CPython", "python": "3.11.0", "system": "Linux", "machine": "x86_64", "cpus": 2,
        "speedups": "pure", "aioifx": "0.1.0",
    }  # fmt: skip
    return {
        "schema": SUMMARY, "environment": environment, "embedded_server": True, "limits": asdict(Limits()),
        "policy": "strict", "expected": {"10": {"rows": 10, "checksum": "00000000000000ff"}}, "cells": list(cells),
        "artifacts": ["stream-10-1.json"],
    }  # fmt: skip


def test_the_readme_describes_every_field_of_the_files() -> None:
    documented = set(re.findall(r"^\| `(\w+)`", README.read_text("utf-8").partition("## Files")[2], re.M))
    cell = cell_of("stream", 10, [RESULT], 0)
    named = {*RESULT, *summary_of(), *cell, *cell["seconds"], *Missing._fields, *asdict(Limits())}
    assert documented == named


def test_the_report_stands_between_its_marks(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page = tmp_path / "bulk-read.md"
    page.write_text(f"before\n\n{report.BEGIN}\nold\n{report.END}\n\nafter\n", "utf-8")
    summary = summary_of(cell_of("stream", 10, [RESULT], 0), cell_of("pool", 10, [], 3))
    written = report.write(summary, page)
    text = page.read_text("utf-8")
    assert text.startswith(f"before\n\n{report.BEGIN}\n") and text.endswith(f"{report.END}\n\nafter\n")
    assert "old" not in text and report.table(summary) in text
    assert "| 10 | pool (3 of 3 runs failed) | - | - |" in text
    plots = {path: path.read_bytes() for path in written[1:]}
    assert len(plots) == 3 and all(b"<svg" in plot for plot in plots.values())
    assert report.write(summary, page) == written
    assert {path: path.read_bytes() for path in plots} == plots, "the same figures make the same files"
    page.write_text("no marks", "utf-8")
    with pytest.raises(ValueError, match="needs the lines"):
        report.write(summary, page)


async def test_what_is_expected_needs_no_server() -> None:
    run = await run_fresh(order(EXPECTED, "", 500, SMALL))
    assert (run["rows"], run["error"], run["schema"]) == (500, None, "bulk-read-run/1")
    assert run.keys() == RESULT.keys()
