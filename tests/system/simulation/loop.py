"""An event loop with virtual time: ready queue, timers, events of a simulated network. Never: a selector, a thread."""

from __future__ import annotations

import asyncio
import heapq
import socket
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from itertools import count
from math import ceil
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tests.system.simulation.network import Network

MOST_STEPS_AT_ONCE: Final = 20_000
"""Callbacks at one moment of virtual time. A loop that runs more is busy and waits for nothing."""


class Stuck(Exception):
    """Nothing is ready, and no timer or event is pending: the main task waits without end."""


class Frozen(Exception):
    """Callbacks ran on and on, and virtual time stood still."""


class OutOfTime(Exception):
    """The scenario did not end within its limit of virtual time."""


class SimulatedLoop(asyncio.BaseEventLoop):
    """Runs callbacks in the order of asyncio's loops: what the network delivers, then timers that are due.

    Args:
        time_limit: seconds of virtual time that a scenario may take.
        thread_time: returns the virtual seconds that a function takes in an executor.
    """

    network: Network

    def __init__(self, time_limit: float = 3600.0, thread_time: Callable[[], float] = lambda: 0.001) -> None:
        super().__init__()
        self._now = 1000.0
        self._time_limit = self._now + time_limit
        self._thread_time = thread_time
        self._events: list[tuple[float, int, Callable[..., object], tuple[Any, ...]]] = []
        self._numbers = count()
        self._context = copy_context()  # of events, as that of a reader is the same for all that it reads
        self._steps_at_once = 0
        self._jumps: list[tuple[float, float]] = []
        self.tick = 0.0
        """Seconds to which virtual time is rounded up; with more than 0, things happen at once that else would not."""
        self.steps = 0
        """Callbacks that have run."""
        self.errors: list[str] = []
        """What was reported to the loop's exception handler."""
        self.set_exception_handler(self._on_error)

    def _on_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self.errors.append(f"{context.get('message')}: {error!r}" if error else str(context.get("message")))

    # -- time ----------------------------------------------------------------------------------------------------------

    def time(self) -> float:
        return self._now

    def jump(self, seconds: float) -> None:
        """Let the clock go ahead, as if the process had been suspended: data that came is delivered before timers."""
        self._jumps.append((self._now, seconds))
        self._now += seconds
        self._time_limit += seconds

    def jumped_since(self, begin: float, end: float) -> float:
        """Seconds by which the clock has jumped between two times."""
        return sum(max(0.0, min(when + seconds, end) - max(when, begin)) for when, seconds in self._jumps)

    def timers(self) -> list[str]:
        """The timers that are set, as text."""
        timers: list[Any] = self._scheduled  # type: ignore[attr-defined]
        return [
            f"{timer._callback}, for {timer._when - 1000:.6f} s" for timer in timers if not timer._cancelled
        ]

    def at(self, when: float, callback: Callable[..., object], *args: Any) -> None:
        """Call back at a virtual time: an event from outside, which a selector would report. It cannot be cancelled."""
        heapq.heappush(self._events, (when, next(self._numbers), callback, args))

    def after(self, seconds: float, callback: Callable[..., object], *args: Any) -> None:
        """`at`, *seconds* from now."""
        heapq.heappush(self._events, (self._now + seconds, next(self._numbers), callback, args))

    def _run_once(self) -> None:
        """One iteration, as `asyncio.BaseEventLoop._run_once` with a selector that never waits in real time."""
        ready: Any = self._ready  # type: ignore[attr-defined]
        timers: list[Any] = self._scheduled  # type: ignore[attr-defined]
        events = self._events
        while timers and timers[0]._cancelled:
            heapq.heappop(timers)._scheduled = False
            self._timer_cancelled_count -= 1  # type: ignore[attr-defined]
        if not ready:
            self._go_on_to(events, timers)
        now = self._now
        while events and events[0][0] <= now:
            _, _, callback, args = heapq.heappop(events)
            ready.append(asyncio.Handle(callback, args, self, self._context))
        while timers and timers[0]._when <= now:
            timer = heapq.heappop(timers)
            timer._scheduled = False
            ready.append(timer)
        steps = len(ready)
        self.steps += steps
        self._steps_at_once += steps
        for _ in range(steps):
            handle = ready.popleft()
            if not handle._cancelled:
                handle._run()
        if self._steps_at_once > MOST_STEPS_AT_ONCE:
            raise Frozen(f"{self._steps_at_once} callbacks at {now - 1000:.6f} s")

    def _go_on_to(self, events: list[Any], timers: list[Any]) -> None:
        """Let time pass until the next event or timer."""
        if events and (not timers or events[0][0] <= timers[0]._when):
            when = events[0][0]
        elif timers:
            when = timers[0]._when
        elif self._stopping:  # type: ignore[attr-defined]
            return
        else:
            raise Stuck("all tasks wait without a timer")
        if when > self._now:
            if when > self._time_limit:
                raise OutOfTime(f"more than {self._time_limit - 1000:.0f} s")
            self._now = max(when, ceil(when / self.tick) * self.tick) if self.tick else when
            self._steps_at_once = 0

    def _process_events(self, event_list: Any) -> None:
        """Without a selector."""

    def _write_to_self(self) -> None:
        """Without a selector."""

    # -- what asyncio asks of the system -------------------------------------------------------------------------------

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Run *func* at once; its result arrives later."""
        future: asyncio.Future[Any] = self.create_future()
        try:
            result, error = func(*args), None
        except Exception as raised:
            result, error = None, raised
        self.after(self._thread_time(), _settle, future, result, error)
        return future

    async def getaddrinfo(self, host: Any, port: Any, **_: Any) -> list[Any]:
        """The addresses that the network's name service has for *host*."""
        ips = await self.network.lookup(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (ip, port)) for ip in ips]

    async def create_connection(
        self,
        protocol_factory: Callable[[], Any],
        host: Any = None,
        port: Any = None,
        *,
        ssl: Any = None,
        **_: Any,
    ) -> tuple[Any, Any]:
        """A connection through the network."""
        return await self.network.connect(protocol_factory, host, port, ssl)

    async def start_tls(self, transport: Any, protocol: Any, sslcontext: Any, **_: Any) -> Any:
        """A handshake, after which the same transport goes on."""
        return await self.network.handshake(transport)


def _settle(future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)


def run(loop: SimulatedLoop, main: Coroutine[Any, Any, Any]) -> Any:
    """Run *main* on *loop*; tasks that are left afterwards are the caller's to judge.

    Raises:
        Stuck, Frozen, OutOfTime: the simulation cannot go on.
    """
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(main)
    finally:
        asyncio.set_event_loop(None)
