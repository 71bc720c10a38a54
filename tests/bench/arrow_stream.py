"""Memory that consumers of Arrow's PyCapsule interface need for a stream: it does not depend on the number of rows.

    python -m tests.bench.arrow_stream [--rows 10000000]

Each consumer reads a stream in a thread, in a process of its own, from the replay server. The peak is the resident
memory (VmHWM) above what was there after a first, short stream.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Final

import aioifx
from tests.bench.fetch_size import _forget_peak, _memory
from tests.bench.replay import replay_process
from tests.bench.shapes import NARROW


def _by_pyarrow(stream: Any) -> int:
    import pyarrow as pa

    return sum(batch.num_rows for batch in pa.RecordBatchReader.from_stream(stream))


def _by_duckdb(stream: Any) -> int:
    duckdb: Any = importlib.import_module("duckdb")
    return int(duckdb.sql("SELECT COUNT(*) FROM stream").fetchall()[0][0])


def _by_polars(stream: Any) -> int:
    polars: Any = importlib.import_module("polars")
    return int(polars.DataFrame(stream).height)


CONSUMERS: Final[dict[str, Callable[[Any], int]]] = {
    "pyarrow": _by_pyarrow,
    "duckdb": _by_duckdb,
    "polars": _by_polars,  # the frame holds every row: for comparison
}


async def _measure(dsn: str, name: str, rows: int) -> int:
    read = CONSUMERS[name]
    async with aioifx.connect(dsn) as conn:
        await asyncio.to_thread(read, conn.stream(NARROW.select(1000)))
        before = _forget_peak()
        found = await asyncio.to_thread(read, conn.stream(NARROW.select(rows)))
    assert found == rows, found
    return _memory("VmHWM") - before


def peak(dsn: str, name: str, rows: int) -> int:
    """Bytes that a consumer needs at most."""
    command = [sys.executable, "-m", "tests.bench.arrow_stream", "--sample", json.dumps([dsn, name, rows])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=600)
    return int(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--sample", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.sample:
        print(asyncio.run(_measure(*json.loads(given.sample))))
        return
    with replay_process(rows=given.rows) as dsn:
        for name in CONSUMERS:
            if importlib.util.find_spec(name) is None:
                print(f"{name}: not installed")
                continue
            for rows in (given.rows // 10, given.rows):
                print(f"{name}: {rows:,} rows, peak {peak(dsn, name, rows) / (1 << 20):.1f} MiB", flush=True)


if __name__ == "__main__":
    main()
