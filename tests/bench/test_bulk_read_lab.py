"""The bulk-read lab of examples/: every strategy reads every row, and one that does not reports it."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aioifx
from aioifx.partitions import Partition, cut_at
from aioifx.server import Server, ServerOptions, serve
from examples.bulk_read_lab import report
from examples.bulk_read_lab.job import Job, Tally, expected, filled_table, rows_of
from examples.bulk_read_lab.lab import Run, run_fresh
from examples.bulk_read_lab.process import in_process, limit_memory
from examples.bulk_read_lab.strategies import STRATEGIES, Outcome, read_each, stream_here
from tests.injection import eventually
from tests.system.faults.proxy import Fault, Kind, Proxy, Way, proxied

ROOT = Path(__file__).parents[2]
ROWS = 3000
JOB = Job("", ROWS, "strict", page=700, partitions=5, connections=2, processes=2, fetch_size=4096)
CUT = Fault(
    Kind.CUT, Way.TO_CLIENT, after=12_000
)  # after the login and the plan, in the middle of a partition
STALL = CUT._replace(kind=Kind.STALL)


@pytest.fixture
async def server() -> AsyncGenerator[Server, None]:
    """An embedded server with a table."""
    async with serve(ServerOptions()) as server, filled_table(replace(JOB, dsn=server.dsn)):
        yield server


@asynccontextmanager
async def faulty(
    server: Server, *faults: Fault | None, **options: Any
) -> AsyncGenerator[tuple[Job, Proxy], None]:
    """A job whose first connections to *server* have *faults*, and the proxy between them."""
    async with proxied(server.port) as proxy:
        proxy.faults.extend(faults)
        yield replace(JOB, dsn=server.dsn.replace(f":{server.port}", f":{proxy.port}"), **options), proxy


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_a_strategy_reads_every_row_on_no_more_connections_than_it_may(
    strategy: str, server: Server
) -> None:
    before = server.stats.logins
    outcome = await STRATEGIES[strategy](replace(JOB, dsn=server.dsn))
    assert (outcome.tally.rows, outcome.missing, outcome.retries) == (ROWS, {}, 0)
    if strategy != "processes":  # another process has other hashes, unless both have the lab's seed
        assert outcome.tally == expected(ROWS)
    assert len(outcome.children_peak_mib) == (JOB.processes if strategy == "processes" else 0)
    may = {"pool": JOB.connections, "processes": JOB.processes + 1}  # one for the plan
    assert server.stats.logins - before <= may.get(strategy, 1)
    await eventually(lambda: not server.stats.sessions)


def test_a_tally_knows_no_order_but_every_value() -> None:
    rows, tally = list(rows_of(50)), Tally()
    tally.add(rows[20:])
    tally.add(rows[:20])
    assert tally == expected(50)
    tally.add([(*rows[7][:3], rows[7][3] + 0.125, rows[7][4])])
    tally.join(Tally(-1, -hash(rows[7])))
    assert tally.rows == 50 and tally != expected(50)


@pytest.mark.exhaustive
@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_a_partition_that_fails_ends_a_strict_run_or_is_retried(strategy: str, server: Server) -> None:
    faults = [None, CUT] if strategy == "processes" else [CUT]  # its first connection has the plan only
    async with faulty(server, *faults) as (job, _):
        with pytest.raises(aioifx.ConnectionLost) as caught:
            await STRATEGIES[strategy](job)
    assert re.search(r"while reading (all keys|keys (below|from) \d+)", "".join(caught.value.__notes__))
    assert multiprocessing.active_children() == []
    async with faulty(server, *faults, policy="tolerant") as (job, _):
        outcome = await STRATEGIES[strategy](job)
    assert (outcome.tally.rows, outcome.missing, outcome.retries) == (ROWS, {}, 1)


@pytest.mark.exhaustive
async def test_a_process_that_is_killed_is_a_partition_that_failed(server: Server) -> None:
    async with faulty(server, STALL, processes=1) as (job, proxy):
        reading = asyncio.create_task(STRATEGIES["processes"](job))
        await eventually(lambda: any(link.struck for link in proxy.links))
        multiprocessing.active_children()[0].kill()
        with pytest.raises(ChildProcessError, match="exit code -9"):
            await reading


async def test_an_error_keeps_its_class_and_numbers_on_its_way_from_a_process(server: Server) -> None:
    with pytest.raises(aioifx.UndefinedTable) as caught:
        await in_process(stream_here, replace(JOB, dsn=server.dsn, rows=ROWS + 1), cut_at(())[0])
    assert caught.value.sqlcode == -206


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=12),  # how often each partition fails
    st.integers(1, 4),
    st.integers(0, 3),
)
async def test_rows_and_missing_ranges_are_complete(failures: list[int], width: int, retries: int) -> None:
    left, begun, running = failures.copy(), Counter[int](), 0

    async def read(partition: Partition) -> Tally:
        nonlocal running
        running += 1
        assert running <= width
        begun[partition.number] += 1
        await asyncio.sleep(0)
        running -= 1
        left[partition.number] -= 1
        if left[partition.number] >= 0:
            raise OSError("gone")
        return Tally(1, 1 << partition.number)

    partitions = cut_at(range(1, len(failures)))
    outcome = await read_each(Job("", 0, "tolerant", retries=retries), partitions, read, width)
    lost = {partition for partition in partitions if failures[partition.number] > retries}
    read_ones = set(partitions) - lost
    assert outcome.tally == Tally(len(read_ones), sum(1 << each.number for each in read_ones))
    assert outcome.missing == {str(each): "OSError: gone" for each in lost}
    assert begun == Counter({at: min(times, retries) + 1 for at, times in enumerate(failures)})
    assert outcome.retries == sum(min(times, retries) for times in failures)


@pytest.mark.parametrize("policy", ["strict", "tolerant"])
async def test_a_mistake_ends_everything_under_either_policy(policy: Any) -> None:
    async def read(partition: Partition) -> Tally:
        if partition.number:
            await asyncio.Event().wait()
        raise aioifx.InterfaceError("a mistake")

    with pytest.raises(aioifx.InterfaceError, match="a mistake"):
        await read_each(replace(JOB, policy=policy), cut_at([1, 2]), read, 3)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("strategy", "faults", "options", "loaded", "error"),
    [
        ("stream", [STALL], {"seconds": 2.0}, ROWS, "not done within 2 s"),
        ("processes", [None, STALL, STALL], {"seconds": 2.0}, ROWS, "not done within 2 s"),
        ("stream", [], {}, ROWS + 1, "wrong rows: expected Tally(rows=3001, "),
        ("stream", [CUT], {"policy": "tolerant", "retries": 0}, ROWS, "all keys are missing: ConnectionLost: "),
    ],
)  # fmt: skip
async def test_a_run_that_does_not_see_the_loaded_rows_in_time_has_an_error(
    strategy: str,
    faults: list[Fault | None],
    options: dict[str, Any],
    loaded: int,
    error: str,
    server: Server,
) -> None:
    async with faulty(server, *faults, **options) as (job, _):
        run = await run_fresh(strategy, job, None, await in_process(expected, loaded))
    assert run.error is not None and run.error.startswith(error)
    assert multiprocessing.active_children() == []


def allocate() -> None:
    limit_memory(1024)
    bytearray(1200 * 2**20)


@pytest.mark.skipif(sys.platform != "linux", reason="no such limit")
async def test_the_memory_of_a_process_is_bounded() -> None:
    with pytest.raises(MemoryError):
        await in_process(allocate)


@asynccontextmanager
async def lab(*arguments: str | Path) -> AsyncGenerator[asyncio.subprocess.Process, None]:
    """The lab as its user runs it, in the background, where SIGINT is ignored at first."""
    process = await asyncio.create_subprocess_exec(
        *("sh", "-c", "trap '' INT; exec \"$@\"", "sh"),
        *(sys.executable, "-W", "error", "-m", "examples.bulk_read_lab", *arguments),
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "AIOIFX_DSN"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(50):
            yield process
    finally:
        if process.returncode is None:
            process.terminate()  # it ends its server, unless it is killed
            await process.communicate()


@pytest.mark.exhaustive
@pytest.mark.parametrize("is_own", [False, True])
async def test_all_strategies_agree_about_rows_and_checksum(is_own: bool, tmp_path: Path) -> None:
    async with serve(ServerOptions(user="reader", password="geheim+7")) as server:
        address = f"informix://reader:geheim%2B7@127.0.0.1:{server.port}/demo?server=ol_aioifx"
        small = ("--page", "150", "--partitions", "3", "--connections", "2", "--fetch-size", "4096")
        where = () if is_own else ("--dsn", address)
        async with lab("--rows", "600", "--runs", "1", "--out", tmp_path, *small, *where) as process:
            printed, complaints = await process.communicate()
        assert (process.returncode, complaints) == (0, b"")
        async with aioifx.connect(address) as conn:  # it has taken its tables away
            assert await conn.fetchval("SELECT COUNT(*) FROM systables WHERE tabname MATCHES 'bulk*'") == 0
    results, page = ((tmp_path / name).read_text("utf-8") for name in ("runs.json", "report.md"))
    assert re.findall(r"^\| rows.*\|$", printed.decode(), re.M | re.S)[0] in page
    assert ("against the embedded server" in page) == is_own
    assert not any("geheim" in text for text in [printed.decode(), results, page])
    runs = json.loads(results)
    assert [run["strategy"] for run in runs] == [*STRATEGIES]
    assert len({run["outcome"]["tally"]["checksum"] for run in runs}) == 1
    assert all((run["error"], run["outcome"]["tally"]["rows"]) == (None, 600) for run in runs)
    has_figure = is_own and sys.platform == "linux"
    assert all(run["seconds"] > 0 and (run["server_cpu_seconds"] is not None) == has_figure for run in runs)


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_lab_that_is_ended_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    endless = ("--rows", "2000", "--runs", "1000", "--strategies", "processes")
    async with lab("--out", tmp_path, *endless) as process:
        assert process.stdout is not None
        while b"rows/s" not in await process.stdout.readline():  # until it is in the middle
            assert not process.stdout.at_eof()
        process.send_signal(number)
        # Standard error ends when no process has it open: server, run, children of the run.
        _, complaints = await process.communicate()
    assert (process.returncode, complaints) == (128 + number, b"")


def run_with(rows_per_second: float, error: str | None = None) -> Run:
    return Run("stream", 10, Outcome(Tally(10, 255)), error, 0.5, rows_per_second, 0.25, 25_000, None, 30, 60)


def test_the_table_has_the_spread_of_the_runs_that_saw_every_row() -> None:
    lost = Run("pool", 10, error="OSError: gone")
    runs = [run_with(2000), run_with(10), lost, run_with(12), run_with(0, "OSError: gone")]
    assert report.table(runs).splitlines()[2:] == [
        "| 10 | stream (1 of 4 runs failed) | 12 [10-2,000] | 25000.00 | 0.25 | - | 30 | 60 |",
        "| 10 | pool (1 of 1 runs failed) | - | - | - | - | - | - |",
    ]


def test_the_readme_describes_every_field_of_a_run() -> None:
    readme = (ROOT / "examples" / "bulk_read_lab" / "README.md").read_text("utf-8")
    documented = re.findall(r"^\| `(\w+)`", readme.partition("## Files")[2], re.M)
    assert sorted(documented) == sorted([*asdict(run_with(1)), *asdict(Outcome()), *asdict(Tally())])


@pytest.mark.parametrize("name", ["matplotlib", None])
def test_plots_are_in_the_report_if_matplotlib_is_installed(
    name: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name:
        pytest.importorskip(name)
    else:
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    runs = [run_with(20), run_with(10), Run("pool", 10, error="OSError: gone")]
    *plots, page = report.write(runs, "heading", tmp_path / "new")[1:]
    text = page.read_text("utf-8")
    assert text.startswith("heading\n\n| rows") and text.count("](") == len(plots) == (3 if name else 0)
    assert all("<svg" in plot.read_text("utf-8") for plot in plots)
