"""What the size of the fetch buffer costs and saves: rows per second, client CPU, first row, memory.

    python -m tests.bench.fetch_size [--rows 200000] [--wide-rows 40000] [--rounds 3] [--delays 0 0.5] [--write]

Against the replay server, so that the client and the way are measured and not SQL. Every sample is a process of its
own, since that is what peak memory belongs to; sizes take turns within a round. With two cores, the servers have one
and the client has the other. The same run compares the two readers (AIOIFX_BUFFERED_READER=0 and 1).

--write puts the tables and the plot into docs/explanation/fetch-size.md; the plot needs matplotlib (extra: bench).
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final, NamedTuple

import aioifx
from tests.bench.page import DOCS, load, machine, plotted, size_name, table, write_into
from tests.bench.replay import replay_process
from tests.bench.shapes import SHAPES

PAGE: Final = DOCS / "explanation" / "fetch-size.md"
PLOT: Final = DOCS / "explanation" / "fetch-size.svg"

SIZES: Final = (4096, 8192, 16384, 32767, 1 << 16, 1 << 17, 1 << 18, 1 << 20, 1 << 22, 1 << 23)
READER_SIZES: Final = (4096, 32767)
READER_ROWS: Final = 10_000
"""Field by field is slow; so many rows show how slow."""


class Case(NamedTuple):
    """What one sample measures."""

    shape: str
    delay: float
    """Milliseconds added to each reply."""
    size: int
    rows: int
    read_ahead: bool = True


class Sample(NamedTuple):
    """Seconds and bytes of one process."""

    fetch: float
    """Wall-clock time of `fetch`, all rows in one list."""
    cpu: float
    """CPU time of this process meanwhile, the system's share included."""
    stream: float
    """Wall-clock time of a stream that is read block by block and not kept."""
    first: float
    """Until that stream's first block was there."""
    stream_memory: int
    """What it added at most to this process's memory."""
    fetch_memory: int
    """The same of `fetch`, the list of rows included."""


# -- in a process of its own -------------------------------------------------------------------------------------------


def _memory(name: str) -> int:
    """VmRSS or VmHWM, in bytes; 0 where there is no /proc."""
    with suppress(OSError), open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))
    return 0


def _forget_peak() -> int:
    """Reset VmHWM; returns what is in memory now."""
    gc.collect()
    with suppress(OSError), open("/proc/self/clear_refs", "w", encoding="ascii") as clear:
        clear.write("5")
    return _memory("VmRSS")


async def _measure(dsn: str, case: Case) -> Sample:
    query = SHAPES[case.shape].select(case.rows)
    async with aioifx.connect(dsn, fetch_size=case.size) as conn:
        for _ in range(2):  # code is generated, and caches filled
            await conn.fetch(SHAPES[case.shape].select(500))
        await _stream(
            conn, query, case.rows
        )  # the server has its replies ready then, and the statement is prepared
        streamed, first, streaming = await _stream(conn, query, case.rows)
        before = _forget_peak()
        cpu, begin = time.process_time(), time.perf_counter()
        rows = await conn.fetch(query)
        fetched, used = time.perf_counter() - begin, time.process_time() - cpu
        _check(len(rows), case.rows)
        return Sample(fetched, used, streamed, first, streaming, _memory("VmHWM") - before)


async def _stream(conn: aioifx.Connection, query: str, wanted: int) -> tuple[float, float, int]:
    """Seconds until the end and until the first block, and bytes of memory."""
    before = _forget_peak()
    begin, first, count = time.perf_counter(), 0.0, 0
    async with conn.stream(query) as stream:
        async for block in stream.blocks():
            first = first or time.perf_counter() - begin
            count += len(block)
    whole = time.perf_counter() - begin
    _check(count, wanted)
    return whole, first, _memory("VmHWM") - before


def _check(count: int, wanted: int) -> None:
    if count != wanted:
        raise RuntimeError(f"{count} rows came instead of {wanted}")


def _sample(dsn: str, case: Case) -> Sample:
    """Measure in a fresh process."""
    command = [sys.executable, "-m", "tests.bench.fetch_size", "--sample", json.dumps([dsn, *case])]
    environ = {**os.environ, "AIOIFX_BUFFERED_READER": str(int(case.read_ahead))}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environ, timeout=120)
    return Sample(*json.loads(done.stdout))


# -- the run -----------------------------------------------------------------------------------------------------------

Samples = dict[Case, list[Sample]]


def run(
    cases: Sequence[Case], rounds: int, *, note: Callable[[str], None] = print, pinned: bool = True
) -> Samples:
    """All cases one after the other, *rounds* times.

    Args:
        pinned: whether this process and its children are pinned to processors.
    """
    samples: Samples = defaultdict(list)
    rows = max(case.rows for case in cases)
    with ExitStack() as servers:
        if pinned:
            _stay_on(0)
        delays = sorted({case.delay for case in cases})
        dsns = {delay: servers.enter_context(replay_process(rows=rows, delay=delay)) for delay in delays}
        if pinned:
            _stay_on(1)
        for number in range(rounds):
            begin = time.perf_counter()
            for case in cases[:: 1 if number % 2 else -1]:
                samples[case].append(_sample(dsns[case.delay], case))
            note(f"round {number + 1} of {rounds}: {time.perf_counter() - begin:.0f} s")
    return samples


def _stay_on(core: int) -> None:
    """Where there are several cores: this one, for this process and those that it starts."""
    if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > 1:
        os.sched_setaffinity(0, {core})


def cases_of(rows: dict[str, int], delays: Iterable[float], sizes: Iterable[int]) -> list[Case]:
    """The sweep, then the two readers without a delay."""
    sweep = [
        Case(shape, delay, size, count) for delay in delays for shape, count in rows.items() for size in sizes
    ]
    readers = [
        Case(shape, 0.0, size, min(count, READER_ROWS), read_ahead)
        for shape, count in rows.items()
        for size in READER_SIZES
        for read_ahead in (False, True)
    ]
    return sweep + [case for case in readers if case not in sweep]


def _median(samples: Sequence[Sample], field: str) -> float:
    values: list[float] = [getattr(sample, field) for sample in samples]
    return statistics.median(values)


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} [{min(values):.2f}-{max(values):.2f}]"


# -- the report -------------------------------------------------------------------------------------------------------


def sweep_table(samples: Samples, shape: str, delay: float) -> str:
    """One shape and delay: a line for each size, ratios to the standard buffer of the same round."""
    found = {case.size: samples[case] for case in samples if _in_sweep(case, samples, shape, delay)}
    standard = found.get(32767) or next(iter(found.values()))
    count = next(case.rows for case in samples if _in_sweep(case, samples, shape, delay))
    lines: list[list[str]] = []
    for size, of_size in sorted(found.items()):
        ratios = [base.fetch / sample.fetch for base, sample in zip(standard, of_size, strict=True)]
        lines.append(
            [
                size_name(size),
                f"{count / _median(of_size, 'fetch') / 1e6:.2f} M",
                _spread(ratios),
                f"{_median(of_size, 'cpu') / count * 1e9:,.0f}",
                f"{count / _median(of_size, 'stream') / 1e6:.2f} M",
                f"{_median(of_size, 'first') * 1e3:.2f}",
                f"{_median(of_size, 'stream_memory') / 2**20:.1f}",
            ]
        )
    head = [
        "buffer",
        "`fetch`, rows/s",
        "x 32,767",
        "CPU, ns/row",
        "`stream`, rows/s",
        "first block, ms",
        "+ MiB",
    ]
    return table(head, lines)


def _in_sweep(case: Case, samples: Samples, shape: str, delay: float) -> bool:
    most = max(other.rows for other in samples if other.shape == shape)
    return case.read_ahead and (case.shape, case.delay, case.rows) == (shape, delay, most)


def reader_table(samples: Samples) -> str:
    """The readers side by side, CPU of neighbouring samples."""
    lines: list[list[str]] = []
    for case, of_case in sorted(samples.items()):
        if case.read_ahead or case._replace(read_ahead=True) not in samples:
            continue
        with_it = samples[case._replace(read_ahead=True)]
        ratios = [slow.cpu / fast.cpu for slow, fast in zip(of_case, with_it, strict=True)]
        per = [_median(of, "cpu") / case.rows * 1e9 for of in (of_case, with_it)]
        lines.append(
            [f"{case.shape}, {size_name(case.size)}", f"{per[0]:,.0f}", f"{per[1]:,.0f}", _spread(ratios)]
        )
    return table(["", "field by field, ns/row", "in runs, ns/row", "ratio"], lines)


def report(samples: Samples, rounds: int) -> dict[str, str]:
    """The texts for the page, by their marks."""
    sweep = sorted({(case.delay, case.shape) for case in samples if case.read_ahead})
    parts: list[str] = []
    for delay, shape in sweep:
        if not any(_in_sweep(case, samples, shape, delay) for case in samples):
            continue
        count = next(case.rows for case in samples if _in_sweep(case, samples, shape, delay))
        way = f"{delay:g} ms added to each round trip" if delay else "nothing added to the round trip"
        parts.append(f"**{count:,} {shape} rows, {way}**\n\n{sweep_table(samples, shape, delay)}")
    parts.append(
        f"Medians of {rounds} rounds; {machine()}{load()}; decoder: {aioifx.speedups}. `+ MiB` is what the stream added"
        " to the process at its peak. 0 means less than the free memory of a process that has fetched 500 rows."
    )
    return {"sweep": "\n\n".join(parts), "readers": reader_table(samples)}


def plot(samples: Samples, path: Path) -> None:
    """Rows per second over the size of the buffer, as SVG."""
    shapes = sorted({case.shape for case in samples})
    with plotted(path, len(shapes), 3.4) as areas:
        for area, shape in zip(areas, shapes, strict=True):
            for delay in sorted({case.delay for case in samples}):
                points = sorted(
                    (case.size, case.rows / _median(of_case, "fetch") / 1e6)
                    for case, of_case in samples.items()
                    if _in_sweep(case, samples, shape, delay)
                )
                area.plot(
                    *zip(*points, strict=True),
                    marker="o",
                    markersize=3,
                    label=f"{delay:g} ms added to each round trip",
                )
            area.axvline(32767, color="grey", linewidth=0.8, linestyle=":")
            area.set_xscale("log", base=2)
            area.set_xlabel("fetch_size, bytes")
            area.set_ylabel("million rows/s")
            area.set_ylim(bottom=0)
            area.set_title(f"{shape} rows")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=200_000, help="narrow ones")
    parser.add_argument("--wide-rows", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--delays", type=float, nargs="+", default=[0.0, 0.5], metavar="MS")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="BYTES")
    parser.add_argument("--write", action="store_true", help="into docs/explanation/fetch-size.md")
    parser.add_argument("--sample", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.sample:
        dsn, *case = json.loads(given.sample)
        print(json.dumps(asyncio.run(_measure(dsn, Case(*case)))))
        return
    cases = cases_of({"narrow": given.rows, "wide": given.wide_rows}, given.delays, given.sizes)
    samples = run(cases, given.rounds)
    texts = report(samples, given.rounds)
    for text in texts.values():
        print(f"\n{text}")
    if given.write:
        write_into(PAGE, texts)
        plot(samples, PLOT)


if __name__ == "__main__":
    main()
