"""One process for each client, which takes the requested samples. Never: what a client's call is, statistics.

    python -m tests.bench.workers PEER DSN asyncio|uvloop

reads one order a line, in JSON, and answers each with one line. JdbcBench.java does the same for JDBC.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, TypeAlias

from aioifx.sqltypes import Row
from tests.bench.informix_peers import (
    Aioifx,
    AioifxDbapi,
    AioifxObserved,
    AioifxTables,
    AioifxTuples,
    InformixDriver,
    InformixDriverAio,
    InformixPingPong,
)
from tests.bench.peers import Missing, Order, Peer
from tests.bench.postgres_peers import Asyncpg, PostgresPingPong, Psycopg
from tests.bench.shapes import NARROW, SELECT_ONE, SHAPES, Shape

CHECKED: Final = 60
"""Rows of each shape that a client must get right before anything is measured; three of every NULL."""

PEERS: Final[dict[str, type[Peer]]] = {
    "aioifx": Aioifx,
    "aioifx-dbapi": AioifxDbapi,
    "aioifx-observed": AioifxObserved,
    "aioifx-tables": AioifxTables,
    "aioifx-tuples": AioifxTuples,
    "informix-driver": InformixDriver,
    "informix-driver-aio": InformixDriverAio,
    "asyncpg": Asyncpg,
    "psycopg": Psycopg,
    "ping-pong": InformixPingPong,
    "ping-pong-postgres": PostgresPingPong,
}

Answer: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sample:
    """What one order took, divided by what was done: seconds of wall-clock, seconds of the client's CPU."""

    wall: float
    cpu: float
    done: int
    memory: int
    """Bytes that the process had at its peak, beyond what it had when it was new."""
    added: int
    """The same, beyond what it had just before."""


class Worker:
    """A client's process."""

    def __init__(self, name: str, command: Sequence[str], environment: dict[str, str] | None = None) -> None:
        self.name = name
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env=os.environ | (environment or {}),
        )
        self._idle = 0
        """Bytes that it has when it is new."""

    def close(self) -> None:
        """End it."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        with contextlib.suppress(BrokenPipeError):
            stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        stdout.close()

    def sample(self, order: Order) -> Sample:
        """Take one.

        Raises:
            Missing: the client cannot do that.
        """
        before = self._memory("VmRSS")
        self._idle = self._idle or before
        _write(f"/proc/{self._process.pid}/clear_refs", "5")  # reset the peak
        wall, cpu, done = self._measured(order)
        peak = self._memory("VmHWM")
        return Sample(wall / done, cpu / done, done, max(0, peak - self._idle), max(0, peak - before))

    def check(self, shape: Shape, rows: int) -> bool:
        """Whether its rows are those of the shape."""
        raise NotImplementedError

    def _measured(self, order: Order) -> tuple[float, float, int]:
        raise NotImplementedError

    def _memory(self, field: str) -> int:
        """Bytes, by Linux; 0 elsewhere."""
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
                if line.startswith(field):
                    return int(line.split()[1]) * 1024
        return 0

    def _say(self, line: str) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        stdin.write(line + "\n")
        stdin.flush()

    def _hear(self) -> str:
        stdout = self._process.stdout
        assert stdout is not None
        line = stdout.readline()
        assert line, f"{self.name} is gone"
        return line.rstrip("\n")


def _write(path: str, text: str) -> None:
    with contextlib.suppress(OSError):
        Path(path).write_text(text)


# -- Python -----------------------------------------------------------------------------------------------------------


class PythonWorker(Worker):
    """A client written in Python.

    Args:
        peer: one of PEERS.
        pure: without the native parts of ours.
    """

    def __init__(self, name: str, peer: str, dsn: str, loop: str, *, pure: bool = False) -> None:
        command = [sys.executable, "-m", "tests.bench.workers", peer, dsn, loop]
        super().__init__(name, command, {"AIOIFX_SPEEDUPS": "0"} if pure else None)

    def _answer(self, order: Order) -> Answer:
        self._say(json.dumps(asdict(order)))
        answer: Answer = json.loads(self._hear())
        if "missing" in answer:
            raise Missing(answer["missing"])
        return answer

    def _measured(self, order: Order) -> tuple[float, float, int]:
        answer = self._answer(order)
        return answer["wall"], answer["cpu"], answer["done"]

    def check(self, shape: Shape, rows: int) -> bool:
        return bool(self._answer(Order("check", shape.name, rows))["equal"])


async def _sample(peer: Peer, order: Order) -> Answer:
    if order.workload == "check":
        rows = await peer.rows(order.table, order.rows)
        return {"equal": [tuple(row) for row in rows] == list(order.table.rows(order.rows))}
    async with peer.opened:
        work = await peer.work(order)
        gc.collect()
        done = 0
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(order.repeat):
            done += await work()
        return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "done": done}


def run_without_loop(work: Coroutine[Any, Any, None]) -> None:
    """Run what only blocks, as in a program that has no event loop."""
    try:
        work.send(None)
    except StopIteration:
        return
    raise AssertionError("a client that blocks has waited for an event loop")


async def answer_orders(peer: Peer) -> None:
    """Until stdin ends; nothing else happens in this loop while it waits for an order."""
    await peer.open()
    for line in sys.stdin:
        try:
            answer = await _sample(peer, Order(**json.loads(line)))
        except Exception as error:
            answer = {"missing": str(error) if isinstance(error, Missing) else repr(error)}
        print(json.dumps(answer), flush=True)
    await peer.close()


# -- Java -------------------------------------------------------------------------------------------------------------


class JdbcWorker(Worker):
    """IBM's JDBC driver, in a JVM that has JdbcBench beside the driver's jar."""

    def __init__(self, name: str, jar: Path, url: str) -> None:
        shapes = [text for shape in SHAPES.values() for text in (shape.name, shape.select())]
        command = ["java", "-cp", f"{jar}:{jar.parent}", "JdbcBench", url, SELECT_ONE, NARROW.insert()]
        super().__init__(name, [*command, *shapes])

    def _measured(self, order: Order) -> tuple[float, float, int]:
        before = self._cpu()
        line = self._ask(order)
        if line.startswith("!"):
            raise Missing(line)
        wall, cpu, done = map(int, line.split("\t"))
        return wall / 1e9, (self._cpu() - before or cpu) / 1e9, done

    def _cpu(self) -> int:
        """Nanoseconds of all threads, by Linux, since the JVM has hundredths of a second only."""
        spent = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        return sum(int(path.read_text().split()[0]) for path in spent)

    def _ask(self, order: Order) -> str:
        self._say(f"{order.workload}\t{order.shape}\t{order.rows}\t{order.repeat}")
        return self._hear()

    def check(self, shape: Shape, rows: int) -> bool:
        line, seen = self._ask(Order("check", shape.name, rows)), list[list[str]]()
        while line != ".":
            seen.append(line.split("\t"))
            line = self._hear()
        return [_read(texts, row) for texts, row in zip(seen, shape.rows(rows), strict=True)] == list(
            shape.rows(rows)
        )


def _read(texts: Sequence[str], like: Row) -> Row:
    """What Java wrote, as values of the types in *like*."""
    return tuple(
        None if text == "null" else _value(text, value) for text, value in zip(texts, like, strict=True)
    )


def _value(text: str, like: object) -> object:
    if isinstance(like, bool):
        return text in ("t", "true")
    if isinstance(like, (int, float, Decimal)):
        return type(like)(text)
    if like is None or isinstance(like, str):
        return text
    return type(like).fromisoformat(text)  # type: ignore[attr-defined]  # date, time, datetime


# -- CPUs -------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def pinned(cpus: set[int]) -> Iterator[None]:
    """Processes that are started inside stay on *cpus*; an empty set for any."""
    if not cpus:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def settle_heap() -> None:
    """Bring the allocator into the state in which asyncio receives without system calls for memory.

    glibc maps each of asyncio's 256 KiB again, unless the process has freed a mapped block of that size before. That is
    chance, which would cost one client half of its speed and spare another one.
    """
    bytes(1 << 20)


def main() -> None:
    name, dsn, loop = sys.argv[1:]
    settle_heap()
    peer, factory = PEERS[name](dsn), None
    if peer.blocks:
        return run_without_loop(answer_orders(peer))
    if loop == "uvloop":
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(answer_orders(peer))
    return None


if __name__ == "__main__":
    main()
