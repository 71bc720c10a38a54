"""aioifx ping: round trips to a server, one after the other. Never: bytes of the protocol."""

from __future__ import annotations

import argparse
import asyncio
import time
from functools import partial
from statistics import median
from typing import Any, Final

from aioifx.cli.address import Destination, add_connection, destination
from aioifx.cli.failures import CONNECTION
from aioifx.cli.output import LinePrinter
from aioifx.cli.parsing import Verbs, add_verb, examples, seconds, whole
from aioifx.cli.session import asking
from aioifx.client.api.connection import Connection
from aioifx.client.config.options import ConnectOptions
from aioifx.client.config.resolve import resolve
from aioifx.client.connect.connect import connect
from aioifx.errors import ConnectError, ConnectionLost, OperationalError, visible

_TIMEOUT: Final = 5.0


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    parser = add_verb(
        verbs,
        "ping",
        run,
        description="Connect, and measure round trips that execute nothing, until --count or Ctrl-C. A lost connection "
        "is opened again.",
        epilog=examples(
            "aioifx ping 'informix://app@db1:9088/shop?server=ol_shop'",
            "aioifx ping --count 20 --interval 0.1",
        ),
    )
    add_connection(parser, timeout=_TIMEOUT)
    parser.add_argument("--count", type=whole, metavar="N", help="stop after so many round trips")
    parser.add_argument(
        "--interval",
        type=seconds,
        metavar="SECONDS",
        default=1.0,
        help="from one round trip to the next (default 1)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    return asking(destination(arguments), partial(_ping, arguments))


def _ping(arguments: argparse.Namespace, where: Destination) -> int:
    ping = _Ping(where, arguments.count, arguments.interval, arguments.timeout)
    try:
        asyncio.run(ping.run())
    except KeyboardInterrupt:
        if not ping.sent:
            raise
    ping.summarize()
    return CONNECTION if ping.sent > len(ping.times) else 0


class _Ping:
    def __init__(self, where: Destination, count: int | None, interval: float, timeout: float) -> None:
        self._where = where
        self._options: ConnectOptions = resolve(where.dsn, {**where.options, "row_factory": None})
        self._count = count
        self._interval = interval
        self._timeout = timeout
        self._printer = LinePrinter()
        self._conn: Connection[Any] | None = None
        self.sent = 0
        self.times: list[float] = []
        """Seconds of each round trip that was answered."""

    async def run(self) -> None:
        """Ping until the count is reached.

        Raises:
            Error: the first connection cannot be opened.
        """
        loop = asyncio.get_running_loop()
        try:
            await self._connect()
            due = loop.time()
            while True:
                await self._ping()
                if self.sent == self._count:
                    return
                due = max(due + self._interval, loop.time())
                await asyncio.sleep(due - loop.time())
        finally:
            if self._conn is not None:
                await self._conn.close()

    async def _connect(self) -> Connection[Any]:
        began = time.perf_counter()
        self._conn = conn = await connect(self._where.dsn, **self._where.options)
        took = _milliseconds(time.perf_counter() - began)
        self._say(f"connected to {self._options.destination} in {took}: {visible(conn.server_version)}")
        return conn

    async def _ping(self) -> None:
        self.sent += 1
        try:
            conn = self._conn or await self._connect()
            began = time.perf_counter()
            async with asyncio.timeout(self._timeout):
                await conn.ping()
        except TimeoutError:
            self._lose(f"no answer within {self._timeout:g} s")
        except (ConnectError, ConnectionLost, OperationalError) as error:
            self._lose(str(error))
        else:
            self.times.append(time.perf_counter() - began)
            self._say(f"{self.sent}: {_milliseconds(self.times[-1])}")

    def _lose(self, why: str) -> None:
        self._say(f"{self.sent}: {visible(why)}")
        if self._conn is not None:
            self._conn.terminate()
            self._conn = None

    def summarize(self) -> None:
        """Print the number of answers and their times."""
        lost = self.sent - len(self.times)
        self._say(f"{self.sent} sent, {len(self.times)} answered, {100 * lost / self.sent:.0f} % lost")
        if times := self.times:
            found = " / ".join(_milliseconds(value) for value in (min(times), median(times), max(times)))
            self._say(f"min / median / max: {found}")

    def _say(self, text: str) -> None:
        self._printer.print([((text, ""),)])


def _milliseconds(value: float) -> str:
    return f"{value * 1000:.3g} ms" if value < 0.1 else f"{value * 1000:.0f} ms"
