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
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aioifx
from aioifx.partitions import Partition, cut_at
from aioifx.server import Server, ServerOptions, serve
from examples.bulk_read_lab import report
from examples.bulk_read_lab.lab import Run, run_fresh
from examples.bulk_read_lab.policy import Job, Limits, Outcome, Policy, read_all
from examples.bulk_read_lab.process import in_process, limit_memory
from examples.bulk_read_lab.strategies import STRATEGIES, stream_here
from examples.bulk_read_lab.table import Tally, expected, filled_table, rows_of
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
    async with serve(ServerOptions()) as server, filled_table(server.dsn, ROWS):
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
        return await STRATEGIES[strategy](Job(dsn, ROWS, limits, policy))


# -- strategies -------------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_a_strategy_sees_every_row_once_on_no_more_connections_than_it_may(
    strategy: str, server: Server
) -> None:
    before = server.stats.logins
    outcome = await outcome_of(strategy, server.dsn)
    assert (outcome.tally.rows, outcome.missing, outcome.retries) == (ROWS, {}, 0)
    if strategy != "processes":  # another process has other hashes, unless both have the lab's seed
        assert outcome.tally == expected(ROWS)
    else:
        assert len(outcome.children_peak_mib) == SMALL.processes
    may = {"pool": SMALL.connections, "processes": SMALL.processes + 1}  # one for the plan
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
    assert (outcome.tally.rows, outcome.missing, outcome.retries) == (ROWS, {}, 1)


@pytest.mark.exhaustive
async def test_a_process_that_is_killed_is_a_partition_that_failed(server: Server) -> None:
    async with through(server, None, STALL) as (dsn, proxy):
        reading = asyncio.create_task(outcome_of("processes", dsn, "strict", replace(SMALL, processes=1)))
        await eventually(lambda: len(proxy.links) > 1 and proxy.links[1].struck)
        (child,) = multiprocessing.active_children()
        child.kill()
        with pytest.raises(ChildProcessError, match="exit code -9"):
            await reading


async def test_an_error_keeps_its_class_and_numbers_on_its_way_from_a_process(server: Server) -> None:
    with pytest.raises(aioifx.UndefinedTable) as caught:
        await in_process(stream_here, Job(server.dsn, ROWS + 1, SMALL), cut_at(())[0])
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
    outcome = await read_all(Job("", 0, Limits(retries=retries), "tolerant"), partitions, read, width)
    lost = {partition for partition in partitions if failures[partition.number] > retries}
    read_ones = set(partitions) - lost
    assert outcome.tally == Tally(len(read_ones), sum(1 << each.number for each in read_ones))
    assert outcome.missing == {str(each): "OSError: gone" for each in lost}
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
        await read_all(Job("", 0, SMALL, policy), cut_at([1, 2]), read, 3)


# -- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
@pytest.mark.parametrize("strategy", ["stream", "processes"])
async def test_a_run_ends_at_its_time_limit_with_an_error(strategy: str, server: Server) -> None:
    limits = replace(SMALL, seconds=2.0)
    async with through(server, STALL, STALL, STALL) as (dsn, _):
        run = await run_fresh(strategy, Job(dsn, ROWS, limits), None, expected(ROWS))
    assert (run.error, run.outcome.tally.rows) == ("not done within 2 s", 0)
    assert multiprocessing.active_children() == []


@pytest.mark.exhaustive
async def test_a_run_without_every_row_as_it_was_loaded_has_an_error(server: Server) -> None:
    loaded = await in_process(expected, ROWS + 1)
    run = await run_fresh("stream", Job(server.dsn, ROWS, SMALL), None, loaded)
    assert run.error is not None and run.error.startswith(f"wrong rows: expected {loaded}")
    async with through(server, CUT) as (dsn, _):
        job = Job(dsn, ROWS, replace(SMALL, retries=0), "tolerant")
        run = await run_fresh("stream", job, None, loaded)
    assert run.error is not None and run.error.startswith("all keys are missing: ConnectionLost: ")


def allocate() -> None:
    limit_memory(1024)
    bytearray(1200 * 2**20)


@pytest.mark.skipif(sys.platform != "linux", reason="no such limit")
async def test_the_memory_of_a_process_is_bounded() -> None:
    with pytest.raises(MemoryError):
        await in_process(allocate)


# -- the lab as its user runs it, and what it leaves ------------------------------------------------------------------


async def start(*arguments: str | Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *("sh", "-c", "trap '' INT; exec \"$@\"", "sh"),  # as a background job: SIGINT is ignored at first
        *(sys.executable, "-W", "error", "-m", "examples.bulk_read_lab", *arguments),
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def lab(*arguments: str | Path) -> str:
    """What it prints; it ends without an error or a warning."""
    process = await start(*arguments)
    try:
        async with asyncio.timeout(50):
            printed, complaints = await process.communicate()
    finally:
        if process.returncode is None:
            process.terminate()  # it ends its server, unless it is killed
            await process.wait()
    assert (process.returncode, complaints) == (0, b"")
    return printed.decode()


async def test_all_strategies_agree_about_rows_and_checksum(tmp_path: Path) -> None:
    async with serve(ServerOptions(user="reader", password="geheim+7")) as server:
        address = f"informix://reader:geheim%2B7@127.0.0.1:{server.port}/demo?server=ol_aioifx"
        small = ("--page", "150", "--partitions", "3", "--connections", "2", "--fetch-size", "4096")
        printed = await lab("--dsn", address, "--rows", "600", "--runs", "1", "--out", tmp_path, *small)
        async with aioifx.connect(address) as conn:  # it has taken its tables away
            assert await conn.fetchval("SELECT COUNT(*) FROM systables WHERE tabname MATCHES 'bulk*'") == 0
    runs = json.loads((tmp_path / "runs.json").read_text("utf-8"))
    assert [run["strategy"] for run in runs] == [*STRATEGIES]
    assert len({run["outcome"]["tally"]["checksum"] for run in runs}) == 1
    assert all((run["error"], run["outcome"]["tally"]["rows"]) == (None, 600) for run in runs)
    assert all(run["seconds"] > 0 and run["server_cpu_seconds"] is None for run in runs)
    files = [tmp_path / "runs.json", tmp_path / "report.md"]
    assert not any("geheim" in text for text in [printed, *(path.read_text() for path in files)])


@pytest.mark.exhaustive
async def test_by_default_it_starts_its_own_server(tmp_path: Path) -> None:
    printed = await lab("--rows", "300", "--runs", "1", "--strategies", "stream", "--out", tmp_path)
    (run,) = json.loads((tmp_path / "runs.json").read_text("utf-8"))
    assert (run["server_cpu_seconds"] is not None) == (sys.platform == "linux")
    page = (tmp_path / "report.md").read_text("utf-8")
    assert "against the embedded server" in page
    assert printed[printed.index("| rows") : printed.index(str(tmp_path))].strip() in page


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
async def test_a_lab_that_is_ended_leaves_no_process(tmp_path: Path, name: str) -> None:
    number = signal.Signals[name]
    arguments = ["--out", str(tmp_path), "--rows", "2000", "--runs", "1000", "--strategies", "processes"]
    process = await start(*arguments)
    assert process.stdout is not None and process.stderr is not None
    try:
        async with asyncio.timeout(50):
            while b"rows/s" not in await process.stdout.readline():  # until it is in the middle
                assert not process.stdout.at_eof()
            process.send_signal(number)
            # Standard error ends when no process has it open: server, run, children of the run.
            _, complaints = await process.communicate()
            assert complaints == b""
            assert process.returncode == 128 + number
    finally:
        if process.returncode is None:
            process.terminate()
            await process.communicate()


# -- the report -------------------------------------------------------------------------------------------------------


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
    documented = re.findall(r"^\| `(\w+)`", README.read_text("utf-8").partition("## Files")[2], re.M)
    assert sorted(documented) == sorted([*asdict(run_with(1)), *asdict(Outcome()), *asdict(Tally())])


@pytest.mark.parametrize("has_matplotlib", [False, True])
def test_plots_are_in_the_report_if_matplotlib_is_installed(
    has_matplotlib: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if has_matplotlib:
        pytest.importorskip("matplotlib")
    else:
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    runs = [run_with(20), run_with(10), Run("pool", 10, error="OSError: gone")]
    written = report.write(runs, "heading", tmp_path / "new")
    plots = [path for path in written if path.suffix == ".svg"]
    page = (tmp_path / "new" / "report.md").read_text("utf-8")
    assert page.startswith("heading\n\n| rows") and page.count("](") == len(plots) == 3 * has_matplotlib
    assert all("<svg" in path.read_text("utf-8") for path in plots)
