"""The same calls of two ends in the simulated network and on real sockets: the protocols see the same.

A script has steps. In each, one end makes some calls at once, and then both wait until nothing more happens. TCP leaves
open how data is cut, and how much of it arrives before a reset: neither is compared.
"""

from __future__ import annotations

import asyncio
import random
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

import pytest

from tests.injection import eventually
from tests.loops import TRANSPORTS
from tests.system.simulation.loop import SimulatedLoop
from tests.system.simulation.network import Network, Weather

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="what is left after a reset depends on the system"
)

IP, PORT = "10.0.0.1", 9088
BUFFER: Final = 32 * 1024
"""Of real sockets, so that a large write does not fit whatever the system allows."""
SIZES: Final = {"write": 10, "write much": 1_000_000}


class Habits(NamedTuple):
    """What a protocol does by itself."""

    on_data: str = ""
    """A call, or "fail" to raise an error."""
    on_eof: str = ""
    keeps_open: bool = False
    """What `eof_received` returns."""


class Script(NamedTuple):
    """What two ends do."""

    client: Habits
    server: Habits
    steps: tuple[tuple[str, tuple[str, ...]], ...]
    """The end, and its calls."""


class End(asyncio.Protocol):
    """Makes calls, and notes what it sees."""

    def __init__(self, habits: Habits) -> None:
        self.habits = habits
        self.transport: Any = None
        self.log: list[str] = []
        self.other = self
        self.received = 0
        self.has_aborted = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.log.append("made")

    def data_received(self, data: bytes) -> None:
        self.received += len(data)
        if self.log[-1] != "data":
            self.log.append("data")
            self.react(self.habits.on_data)

    def eof_received(self) -> bool:
        self.log.append("eof")
        self.react(self.habits.on_eof)
        return self.habits.keeps_open

    def connection_lost(self, exc: Exception | None) -> None:
        kind = "by the system" if isinstance(exc, OSError) else f"by {exc!r}" if exc else "in order"
        self.log.append(f"lost {kind}")

    def pause_writing(self) -> None:
        self.log.append("pause")

    def resume_writing(self) -> None:
        self.log.append("resume")

    def react(self, habit: str) -> None:
        if habit == "fail":
            raise ZeroDivisionError
        if habit:
            self.call(habit)

    def call(self, name: str) -> None:
        """Make one call of a transport."""
        if name == "resume reading" and "eof" in self.log:
            return  # uvloop's calls eof_received again
        self.has_aborted |= name == "abort"
        try:
            if name in SIZES:
                self.transport.write(bytes(SIZES[name]))
            else:
                getattr(self.transport, name.replace(" ", "_"))()
        except Exception as error:
            self.log.append(f"{name} raises {type(error).__name__}")

    def state(self) -> list[str]:
        """What its user can ask."""
        transport = self.transport
        is_cut = self.other.has_aborted or self.habits.on_data not in ("", "write")
        received = "some bytes" if is_cut else f"{self.received} bytes"
        if self.is_lost:
            return [*self.log, received, f"closing {transport.is_closing()}"]
        return [
            *self.log,
            received,
            f"closing {transport.is_closing()}",
            # After the end of the stream, asyncio's transport reads on, and uvloop's does not.
            f"reading {'eof' not in self.log and transport.is_reading()}",
            f"unsent {transport.get_write_buffer_size() > 0}",
        ]

    @property
    def is_lost(self) -> bool:
        return self.log[-1].startswith("lost")


async def played(script: Script, ends: list[End], settle: Callable[[int], Awaitable[None]]) -> list[Any]:
    """What both ends see after each step; at the end both are closed."""
    ends[0].other, ends[1].other = ends[1], ends[0]
    seen: list[Any] = []
    last = [(name, ("resume reading", "abort")) for name in ("client", "server")]
    for number, (name, calls) in enumerate((("client", ()), *script.steps, *last)):
        end = ends[name == "server"]
        if not end.log or not end.is_lost:  # a transport that has ended is not to be used
            for call in calls:
                end.call(call)
        await settle(number)
        seen.append([end.state() for end in ends])
    return seen


def simulated(script: Script, seed: int) -> list[Any]:
    """What both ends see in the simulated network."""
    loop = SimulatedLoop()
    network = Network(loop, seed, Weather(cut=0, jitter=0))
    ends = [End(script.client), End(script.server)]
    network.listeners[IP, PORT] = lambda: ends[1]

    async def main() -> list[Any]:
        await loop.create_connection(lambda: ends[0], IP, PORT)
        return [*await played(script, ends, lambda _: asyncio.sleep(10)), loop.errors]

    try:
        return loop.run_until_complete(main())
    finally:
        loop.close()


def real(script: Script, expected: list[Any], loop: asyncio.AbstractEventLoop) -> list[Any]:
    """What both ends see on sockets; each step waits until they see what is expected, at most for a while."""
    ends = [End(script.client), End(script.server)]
    errors: list[str] = []

    async def settle(number: int) -> None:
        for attempt in range(1000):
            await asyncio.sleep(0.001 if attempt > 20 else 0)
            if attempt > 5 and [end.state() for end in ends] == expected[number]:
                return

    async def main() -> list[Any]:
        loop.set_exception_handler(
            lambda _, context: errors.append(f"the protocol has failed: {context.get('exception')!r}")
        )
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        listening.bind(("127.0.0.1", 0))
        server = await loop.create_server(lambda: ends[1], sock=listening)
        own = socket.socket()
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
        own.setblocking(False)
        await loop.sock_connect(own, listening.getsockname())
        await loop.create_connection(lambda: ends[0], sock=own)
        await eventually(lambda: ends[1].log)
        ends[1].transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
        seen = await played(script, ends, settle)
        server.close()
        return [*seen, errors]

    try:
        return loop.run_until_complete(main())
    finally:
        loop.close()


C, S = "client", "server"
OPEN = Habits(keeps_open=True)
SCRIPTS: Final = {
    "requests and replies": Script(
        Habits(), Habits(on_data="write"), ((C, ("write",)), (C, ("write",)), (C, ("close",)))
    ),
    "close with unsent data": Script(
        Habits(), Habits(), ((S, ("pause reading",)), (C, ("write much", "close")), (S, ("resume reading",)))
    ),
    "abort with unsent data": Script(
        Habits(), Habits(), ((S, ("pause reading",)), (C, ("write much", "abort")), (S, ("resume reading",)))
    ),
    "write after close": Script(Habits(), Habits(), ((C, ("close", "write")),)),
    "write after close, unsent": Script(Habits(), Habits(),
        ((S, ("pause reading",)), (C, ("write much", "close", "write")), (S, ("resume reading",)))),
    "write after abort": Script(Habits(), Habits(), ((C, ("abort", "write", "close")),)),
    "half-close": Script(
        Habits(), OPEN, ((C, ("write", "write eof", "write")), (S, ("write",)), (S, ("write", "close")))
    ),
    "half-close, unsent": Script(Habits(), OPEN,
        ((S, ("pause reading",)), (C, ("write much", "write eof", "write eof")), (S, ("resume reading",)))),
    "half-close of both": Script(OPEN, OPEN, ((C, ("write eof",)), (S, ("write eof",)))),
    "end of the stream after close": Script(OPEN, OPEN, ((C, ("close", "write eof")), (S, ("write",)))),
    "write to one that has closed": Script(
        Habits(), OPEN, ((C, ("close",)), (S, ("write",)), (S, ("write",)), (S, ("write",)))
    ),
    "close with data that is not read": Script(
        Habits(), Habits(), ((S, ("pause reading",)), (C, ("write",)), (S, ("close",)))
    ),
    "reset of one that does not read": Script(Habits(), Habits(),
        ((S, ("pause reading",)), (C, ("pause reading", "write")), (S, ("abort",)), (C, ("resume reading",)))),
    "write of one that does not read, after a reset": Script(Habits(), Habits(),
        ((S, ("pause reading",)), (C, ("pause reading", "write")), (S, ("abort",)), (C, ("write",)))),
    "close of one that does not read, after a reset": Script(Habits(), Habits(),
        ((S, ("pause reading",)), (C, ("pause reading", "write")), (S, ("abort",)), (C, ("close",)))),
    "end of the stream for one that does not read": Script(
        Habits(), Habits(), ((C, ("pause reading",)), (S, ("write", "close")), (C, ("resume reading",)))
    ),
    "pause and resume": Script(Habits(), Habits(),
        ((S, ("pause reading", "pause reading")), (C, ("write",)), (S, ("resume reading", "resume reading")))),
    "an error in data_received": Script(Habits(), Habits(on_data="fail"), ((C, ("write",)),)),
    "an error in eof_received": Script(Habits(), Habits(on_eof="fail"), ((C, ("close",)),)),
    "close in data_received": Script(Habits(), Habits(on_data="close"), ((C, ("write",)), (C, ("write",)))),
    "abort in data_received": Script(Habits(), Habits(on_data="abort"), ((C, ("write",)),)),
    "write in eof_received": Script(OPEN, Habits(on_eof="write"), ((C, ("write eof",)),)),
    "abort in eof_received": Script(OPEN, Habits(on_eof="abort"), ((C, ("write eof",)),)),
}  # fmt: skip


def both(script: Script, kind: str, seed: int = 1) -> None:
    """Assert that a simulated and a real loop show the same."""
    expected = simulated(script, seed)
    assert real(script, expected, TRANSPORTS[kind]()) == expected


@pytest.mark.parametrize("kind", TRANSPORTS)
@pytest.mark.parametrize("name", SCRIPTS)
def test_both_ends_see_what_they_see_on_sockets(name: str, kind: str) -> None:
    both(SCRIPTS[name], kind)


CALLS: Final = (
    ("write",), ("write",), ("write much",), ("pause reading",), ("pause reading",), ("resume reading",),
    ("close",), ("write", "close"), ("close", "write"), ("abort",), ("close", "abort"),
)  # fmt: skip


def drawn(seed: int) -> Script:
    """A script of random calls, without those whose result depends on what reaches the other end first."""
    dice = random.Random(seed)
    client, server = (
        Habits(
            dice.choice(("", "", "close", "abort", "fail")),
            dice.choice(("", "", "write", "close", "abort", "fail")),
            dice.random() < 0.5,
        )
        for _ in (C, S)
    )
    steps = tuple((dice.choice((C, S)), dice.choice(CALLS)) for _ in range(dice.randint(2, 7)))
    return Script(client, server, steps)


@pytest.mark.parametrize("kind", TRANSPORTS)
@pytest.mark.parametrize("seed", range(100))
def test_random_calls_are_seen_as_on_sockets(seed: int, kind: str) -> None:
    both(drawn(seed), kind, seed)
