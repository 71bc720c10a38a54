"""An embedded server in a thread of its own, because blocking calls would stop it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import pytest

from aioifx import dbapi
from aioifx.server import Routine, Server, ServerOptions, serve
from tests.injection import eventually

T = TypeVar("T")

SEED = (
    "create table number (n int);"
    + "".join(f"insert into number values ({n});" for n in range(25))
    + "".join(f"insert into number select n + {count} from number;" for count in (25, 50, 100))
)

SLOW = "select count(*) from number a, number b, number c, number d where a.n + b.n + c.n + d.n < 0"
"""The server would count for minutes."""


class Host:
    """A server in a thread."""

    def __init__(self, **options: Any) -> None:
        self.options = {"databases": ("shop",), "seed": SEED, "routines": ROUTINES, **options}
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()))
        self.server: Server
        self.loop: asyncio.AbstractEventLoop

    async def _main(self) -> None:
        self.loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        async with serve(ServerOptions(**self.options)) as self.server:
            self._ready.set()
            await self._end.wait()

    def __enter__(self) -> Host:
        self._thread.start()
        assert self._ready.wait(20)
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self._end.set)
        self._thread.join(20)
        assert not self._thread.is_alive()

    @property
    def dsn(self) -> str:
        return self.server.dsn

    def call(self, work: Coroutine[Any, Any, T]) -> Any:
        """Run *work* in the server's event loop; returns its concurrent future."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    async def runs(self) -> None:
        """Wait until a statement is running."""
        await eventually(lambda: any(session.running for session in self.server.stats.sessions))


def _three(first: int) -> list[tuple[int, str]]:
    return [(first + n, f"row {n}") for n in range(3)]


ROUTINES = (
    Routine("shout", [("word", "VARCHAR(20)")], ["VARCHAR(20)"], str.upper),
    Routine("three", [("first", "INTEGER")], ["INTEGER", "VARCHAR(20)"], _three),
    Routine("forget", [("word", "VARCHAR(20)")], [], lambda word: None),
)


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with Host() as host:
        yield host


@pytest.fixture
def conn(host: Host) -> Iterator[dbapi.Connection]:
    with contextlib.closing(dbapi.connect(host.dsn)) as conn:
        yield conn
