"""What clients of the FastAPI service wait for at a fixed load, with and without clients that hang up.

    python -m tests.bench.service_load [--rate 100] [--seconds 10] [--rounds 2] [--hanging-up 0.3] [--uvloop]

Embedded server, service and clients are a process each. Requests are begun at fixed moments, whether or not earlier
ones have been answered, and each is timed from its moment on: a service that is too slow cannot hide it. In rounds
with hang-ups come further clients, besides the same requests: a quarter of them read the first piece of a large result
and go, the others go at a random moment within 20 ms. The lag is how much later than asked for the service's event
loop wakes a task up, every 5 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import platform
import random
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from typing import Any, Final

import aiohttp
import uvicorn
from fastapi import FastAPI

import aioifx
from examples import fastapi_service
from tests.bench.embedded import server_process

TICK: Final = 0.005
MOVEMENTS: Final = 2**14


# -- the service's process --------------------------------------------------------------------------------------------


def with_lag(app: FastAPI) -> FastAPI:
    """The service, and /lag: milliseconds by which its event loop was late since it was asked last."""
    lags: list[float] = []
    inner = app.router.lifespan_context

    async def measure() -> None:
        while True:
            due = time.perf_counter() + TICK
            await asyncio.sleep(TICK)
            lags.append((time.perf_counter() - due) * 1000)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[Any]:
        async with inner(app) as state:
            measuring = asyncio.create_task(measure())
            yield state
            measuring.cancel()

    @app.get("/lag")
    async def lag() -> list[float]:
        taken = lags.copy()
        lags.clear()
        return taken

    app.router.lifespan_context = lifespan
    return app


def serve_service(dsn: str, loop: str) -> None:
    app = with_lag(fastapi_service.service(dsn, max_size=10, acquire_timeout=30))
    uvicorn.run(app, port=0, loop=loop, log_level="info", access_log=False)


@contextlib.contextmanager
def service_process(dsn: str, loop: str) -> Iterator[str]:
    """The service in a process of its own; its address."""
    command = [sys.executable, "-m", "tests.bench.service_load", "--serve", dsn, loop]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            announced = next(line for line in process.stderr if "http://" in line)
            yield next(word for word in announced.split() if word.startswith("http://"))
        finally:
            process.terminate()
            process.stderr.read()


# -- the clients ------------------------------------------------------------------------------------------------------


class Clients:
    """Requests at a fixed rate."""

    def __init__(self, session: aiohttp.ClientSession, rate: float, hanging_up: float) -> None:
        self.session = session
        self.rate = rate
        self.hanging_up = hanging_up
        self.chance = random.Random(7)
        self.waits: list[float] = []
        self.left = 0
        self.refused = 0

    async def load(self, seconds: float) -> None:
        begin = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for number in range(int(self.rate * seconds)):
                due = begin + number / self.rate
                await asyncio.sleep(max(0, due - time.perf_counter()))
                group.create_task(self.stay(number, due))
                if self.chance.random() < self.hanging_up:
                    group.create_task(self.leave(number))

    async def stay(self, number: int, due: float) -> None:
        async with self._request(number) as answer:
            await answer.read()
        self.refused += answer.status >= 500
        self.waits.append((time.perf_counter() - due) * 1000)

    async def leave(self, number: int) -> None:
        """Hang up: in the middle of a large result, or before the answer is there."""
        self.left += 1
        if number % 4 == 0:
            async with self.session.get("/movements") as answer:
                await answer.content.readany()
                answer.close()
        else:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.chance.uniform(0, 0.02)), self._request(number) as answer:
                    await answer.read()

    def _request(self, number: int) -> Any:
        if number % 10 == 0:
            transfer = {"item": 1, "source": "depot", "target": "shop", "pieces": 1}
            return self.session.post("/transfers", json=transfer)
        path = "/items" if number % 2 else f"/items/{1 + number // 2 % 2}"
        return self.session.get(path)


def small_socket(address: tuple[Any, ...]) -> socket.socket:
    """One with so small a buffer that the service cannot be rid of a large result before its client leaves."""
    made = socket.socket(*address[:3])
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * 1024)
    return made


async def round_of(url: str, options: argparse.Namespace, hanging_up: float) -> Clients:
    connector = aiohttp.TCPConnector(limit=0, socket_factory=small_socket)
    async with aiohttp.ClientSession(url, connector=connector) as session:
        await Clients(session, options.rate, hanging_up).load(
            1
        )  # connections are open and statements prepared then
        async with session.get("/lag"):
            pass
        clients = Clients(session, options.rate, hanging_up)
        await clients.load(options.seconds)
        async with session.get("/lag") as answer:
            lags = await answer.json()
        async with session.get("/health") as answer:
            health = await answer.json()
    pool = {name: health[name] for name in ("size", "in_use", "waiting", "opened", "closed", "timed_out")}
    print(
        f"{hanging_up:>5.0%} {len(clients.waits):>6} {clients.left:>5} {clients.refused:>4}"
        f"  {quantiles(clients.waits)}  {quantiles(lags)}  {json.dumps(pool)}",
        flush=True,
    )
    return clients


def quantiles(numbers: Sequence[float]) -> str:
    ordered = sorted(numbers)
    middle, last = (ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.99))
    return f"{middle:>7.2f} {last:>7.2f} {ordered[-1]:>7.2f}"


async def prepare(dsn: str) -> None:
    """The tables, enough in stock, and a result too large for the buffers on the way."""
    async with aioifx.connect(dsn) as conn:
        for statement in fastapi_service.SCHEMA.split(";"):
            await conn.execute(statement)
        await conn.execute("UPDATE stock SET pieces = 1000000")
        rows = ((1, "depot", "shop", 1) for _ in range(MOVEMENTS))
        await conn.executemany(
            "INSERT INTO movement (item, source, target, pieces) VALUES (?, ?, ?, ?)", rows
        )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rate", type=float, default=100, help="requests per second that are answered")
    arguments.add_argument("--seconds", type=float, default=10)
    arguments.add_argument("--rounds", type=int, default=2)
    arguments.add_argument(
        "--hanging-up", type=float, default=0.3, help="clients that leave, for each that stays"
    )
    arguments.add_argument("--uvloop", action="store_true")
    arguments.add_argument("--serve", nargs=2, metavar=("DSN", "LOOP"), help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.serve:
        serve_service(*options.serve)
        return
    loop = "uvloop" if options.uvloop else "asyncio"
    run: Callable[[Coroutine[Any, Any, Any]], Any] = asyncio.run
    with server_process() as dsn:
        run(prepare(dsn))
        with service_process(dsn, loop) as url:
            print(
                f"{platform.machine()}, Python {platform.python_version()}, {loop}, {options.rate:g} requests/s"
            )
            print("       answers  left  5xx      p50     p99     max ms  lag p50     p99     max ms  pool")
            for _ in range(options.rounds):
                for hanging_up in (0.0, options.hanging_up):
                    run(round_of(url, options, hanging_up))


if __name__ == "__main__":
    main()
