"""Who talks to the server and when: turns, answers that are out, chores, interrupts. Never: SQL, what a reply says.

House rules:
1. One turn at a time, first come first served. A turn begins when every answer is in and every chore is done.
2. Who no longer waits loses nothing but interest: the answer is read to its end. The server is told with the urgent
   byte if a statement runs, and has `cancel_timeout` seconds; then the connection is dropped, and says so.
3. Chores are what nobody waits for: a cursor to close, a transaction to roll back. They are sent while no one has the
   turn, one at a time, so that the server never sees two requests of ours at once that it did not see from JDBC.
4. Behind an urgent byte that no -213 has answered, nothing of the user's is sent before a probe has stood in for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from aioifx.channel import Channel, PendingReply
from aioifx.client.session.owner import Owner
from aioifx.errors import ConnectionLost, DatabaseError, InterfaceError, ProtocolError, QueryTimeout
from aioifx.wire import requests
from aioifx.wire.inbox import Reader
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply

T = TypeVar("T")

_running_loop: Final = asyncio.get_running_loop

INTERRUPT: Final = b"\x42"
"""The urgent byte (observed: JDBC, cancel.json; 14.10)."""

INTERRUPTED: Final = -213
"""What the statement answers that it ended."""


@dataclass(slots=True)
class Stats:
    """What one connection did so far."""

    round_trips: int = 0
    """Requests whose answer something had to wait for: a call, or the next call where it was a chore. The login and
    its three companions are included."""
    statements: int = 0
    """Statements prepared, or executed without being prepared."""
    rows: int = 0
    """Rows that came."""


def check_timeout(timeout: object) -> None:
    """Raise unless *timeout* is None, or a number of seconds that a call may have."""
    if timeout is None:
        return
    if (
        not isinstance(timeout, (int, float))
        or isinstance(timeout, bool)
        or not 0 < timeout <= sys.float_info.max
    ):
        raise InterfaceError(f"timeout: expected a number of seconds above 0, got {timeout!r:.40}")


def check_wait(timeout: object) -> None:
    """Raise unless *timeout* is None, or a number of seconds to wait for something; 0 does not wait."""
    if timeout is None or timeout == math.inf:
        return
    if (
        not isinstance(timeout, (int, float))
        or isinstance(timeout, bool)
        or not 0 <= timeout <= sys.float_info.max
    ):
        raise InterfaceError(f"timeout: expected a number of seconds, 0 or more, got {timeout!r:.40}")


class InFlight(PendingReply[T]):
    """An answer that is out."""

    running: bool
    """Whether it is a statement's that may be interrupted."""
    told: Callable[[T], None] | None
    orphaned: Callable[[T], None] | None = None
    abandoned = False
    deadline: float | None = None
    """When whoever waits for it has waited for long enough."""
    timeout = 0.0
    """The seconds that lead to the deadline."""


@dataclass(frozen=True, slots=True)
class Cleanup:
    """One group that nobody waits for."""

    put: Callable[[Outbox], None]
    replied: Callable[[Reply], None] | None = None
    needed: Callable[[], bool] | None = None
    """Asked when its time has come: what was sent meanwhile may have done it."""


class Dispatcher:
    """The order in which one connection's requests leave. It belongs to one event loop.

    Args:     reader: gives what reads an ordinary reply. told: gets those to chores as they come. probe: makes the
              statement that takes the hit of a late urgent byte.
              command_timeout: seconds for a call, from its place in the queue to its last answer.
              cancel_timeout: seconds for what is left of a cancelled call; 0 drops the connection at once.
              pipelining: chores leave together with the next request, instead of being waited for.
    """

    def __init__(
        self,
        channel: Channel,
        stats: Stats,
        reader: Callable[[], Reader[Reply]],
        told: Callable[[Reply], None],
        probe: Callable[[], Cleanup],
        *,
        command_timeout: float | None = None,
        cancel_timeout: float = 5.0,
        pipelining: bool = False,
    ) -> None:
        self.channel = channel
        self._loop = channel.loop
        self.owner = Owner("the connection", self._loop)
        """The event loop and process that may use the connection."""
        self.command_timeout = command_timeout
        self.cancel_timeout = cancel_timeout
        self.pipelining = pipelining
        self.interrupt_unconfirmed = False
        """An urgent byte was sent, and neither a statement nor the probe behind it has shown that it was taken."""
        self._stats = stats
        self._reader = reader
        self._told = told
        self._probe = probe
        self._taken = False
        self._begun = False  # a turn that is taken begins when chores are done
        self._holder: asyncio.Task[Any] | None = None  # whose turn it is, if that was noted
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._deadline: float | None = None
        self._timeout = command_timeout  # of the turn that is taken
        self._awaited: InFlight[Any] | None = None  # what the turn's holder waits for, or has waited for last
        self._clock: asyncio.TimerHandle | None = None
        self._clock_at = 0.0  # uvloop's handles do not tell when their time is past
        self._out: deque[InFlight[Any]] = channel.expected
        self._undelivered = 0  # answers that have come, and whose `orphaned` has not been called yet
        self._deferred: deque[Cleanup] = deque()
        self._settled: asyncio.Future[None] | None = None
        self._drain: asyncio.TimerHandle | None = None
        self._interrupt_pending = False  # a byte was sent that no -213 has answered yet
        self._closing = False
        self.on_end: Callable[[], None] | None = None
        """Called once, when the session has ended, by whichever side."""
        channel.came = self._came
        channel.on_end = self._ended

    # -- open or not --------------------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        return self.channel.is_open and not self._closing

    def check_open(self) -> None:
        """Raise what ended the session, if it has ended."""
        failure = self.channel.failure
        if isinstance(failure, ConnectionLost):
            raise ConnectionLost(str(failure)) from failure.__cause__
        if failure is not None:
            raise ConnectionLost(f"the connection is closed: {failure}") from failure
        if self._closing:
            raise ConnectionLost("the connection is being closed")

    def leave(self) -> None:
        """Good-bye has been said: nothing else is sent."""
        self._closing = True
        self._deferred.clear()

    # -- turns --------------------------------------------------------------------------------------------------------

    def try_acquire(self) -> bool:
        """Take the turn if nothing stands in front of it; False if `acquire_turn` has to be awaited.

        Whoever awaits code of the user's during the turn must `sign` it.

        Raises:   InterfaceError: the connection belongs to another event loop or process.
        """
        if _running_loop() is not self._loop:
            raise self.owner.refusal()
        if (
            self._taken
            or self._out
            or self._undelivered
            or self._deferred
            or self._interrupt_pending
            or self._closing
            or self.channel.failure is not None
        ):
            return False
        self._taken = self._begun = True
        if self.command_timeout is not None:
            self._deadline = self._new_deadline()
        return True

    async def acquire_turn(self, *, timeout: float | None = None, settled: bool = False) -> None:
        """Return when it is the caller's turn, every answer is in and every chore done.

        Args:     timeout: seconds, for the whole turn instead of command_timeout.
                  settled: wait for that with `pipelining` as well, which otherwise leaves it to the next request.
        Raises:   ConnectionLost: the session has ended. QueryTimeout: it was not the caller's turn in time.
                  InterfaceError: the task has the turn already, and would wait for itself; or as `try_acquire`.
        """
        task = asyncio.current_task()
        check_timeout(timeout)
        if self.try_acquire():
            self._holder = task
            if timeout is not None:
                self._timeout = timeout
                self.extend_deadline()
            return
        self.check_open()
        if self._holder is not None and self._holder is task:
            raise InterfaceError(
                "this task holds the connection already; the rows of an executemany must not use it"
            )
        seconds = self.command_timeout if timeout is None else timeout
        deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds
        pipelined = self.pipelining and not settled
        if deadline is None:
            await self._next_turn(pipelined)
        else:
            limit = asyncio.timeout_at(deadline)
            try:
                async with limit:
                    await self._next_turn(pipelined)
            except TimeoutError:
                if not limit.expired():
                    raise
                if not self._begun and self._out and self._out[0].abandoned:
                    self._start_cancel_timeout()  # what nobody waits for holds up those who do
                raise QueryTimeout(
                    f"the connection was not free within {seconds:g} s; nothing was sent"
                ) from None
            self._deadline, self._timeout = deadline, seconds
        self._begun, self._holder = True, task

    def sign(self) -> None:
        """Note who has the turn: if that task asks for it once more, it is told that it would wait for itself."""
        self._holder = asyncio.current_task()

    async def _next_turn(self, pipelined: bool) -> None:
        if self._taken:
            await self._wait_in_queue()
        self._taken = True
        try:
            if pipelined and self._drain is None:
                self._flush_deferred()
            # More than once: before this task wakes up, another one may have put something else down.
            while self._has_outstanding and self.is_open and not (pipelined and self._drain is None):
                self._settled = asyncio.get_running_loop().create_future()
                self._pump()
                await self._settled
            self.check_open()
        except BaseException:
            self._settled = None
            self._wake_next()
            raise

    async def _wait_in_queue(self) -> None:
        """Return when the turn was passed on to the caller."""
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(place)
        try:
            await place
        except BaseException:
            if place.done() and not place.cancelled():
                self._wake_next()  # it came in the moment of the cancellation
            elif place in self._waiters:
                self._waiters.remove(place)
            raise

    def _wake_next(self) -> None:
        """Who is next has the turn from now on: nobody can get in between before that task wakes up."""
        while self._waiters:
            place = self._waiters.popleft()
            if not place.done():  # else its task is being cancelled
                return place.set_result(None)
        self._taken = False

    def release_turn(self) -> None:
        """The turn ends; chores are sent at once."""
        awaited = self._awaited
        if awaited is not None:
            self._awaited = None
            if awaited.future.cancelled() and not awaited.abandoned:
                self.abandon(awaited)
        self._begun, self._holder = False, None
        if self._deadline is not None:
            self._deadline, self._timeout = None, self.command_timeout
        if self._waiters:
            self._wake_next()
        else:
            self._taken = False
        if self._deferred or self._drain is not None:
            self._pump()

    def extend_deadline(self) -> None:
        """Something came of a long call: its time begins anew."""
        self._deadline = self._new_deadline()

    def _new_deadline(self) -> float | None:
        if self._timeout is None:
            return None
        return asyncio.get_running_loop().time() + self._timeout

    @property
    def is_idle(self) -> bool:
        """Whether a request could leave now without getting in anybody's way."""
        return self.is_open and not (self.is_acquired or self._has_outstanding)

    @property
    def is_acquired(self) -> bool:
        """Whether a task has the turn, or waits for it."""
        return self._taken

    @property
    def _has_outstanding(self) -> bool:
        """Whether an answer is out, or something is to be done that nobody waits for."""
        return bool(self._out or self._undelivered or self._deferred or self._interrupt_pending)

    # -- requests and answers -----------------------------------------------------------------------------------------

    def submit(
        self,
        request: bytes | bytearray,
        reader: Reader[T],
        running: bool = False,
        told: Callable[[T], None] | None = None,
        orphaned: Callable[[T], None] | None = None,
        lost: Callable[[DatabaseError], None] | None = None,
    ) -> InFlight[T]:
        """Send *request*; waits for nothing.

        Args:     reader: of the answer. running: the request runs a statement, which may be interrupted.
                  told: gets the answer when it comes, whether or not somebody waits for it. What it raises ends the
                  connection.
                  orphaned: gets the answer if nobody waits for it any more.
                  lost: gets the error that its sender gets instead of the answer, if the request has left.
        Raises:   ConnectionLost: good-bye is said already, by another task.
        """
        if self._closing:
            self.check_open()
        channel = self.channel
        inbox = channel.inbox
        ticket: InFlight[T] = InFlight()
        ticket.reader, ticket.running, ticket.told = reader, running, told
        if orphaned is not None:
            ticket.orphaned = orphaned
        if lost is not None:
            ticket.lost = lost
        if len(inbox.data) > inbox.pos and not self._out:
            # Nobody asked for these bytes: the server said good-bye, or does not speak SQLI any more.
            ticket.parser = self._unasked()
        channel.ask(ticket, request)
        return ticket

    async def _unasked(self) -> Any:
        self._told(await self._reader().parser(self.channel.inbox))
        raise ProtocolError("the server sent a message that nobody asked for")

    def _came(self, ticket: InFlight[Any], answer: Any) -> None:
        """The oldest answer that was out is in."""
        if ticket.told is not None:
            ticket.told(answer)
        # Later: the channel is in the middle of what has come, and cannot be dropped from within.
        if ticket.orphaned is not None and (ticket.abandoned or ticket.future.cancelled()):
            self._undelivered += 1
            asyncio.get_running_loop().call_soon(self._tell, ticket.orphaned, answer)
        elif self._settled is not None or self._drain is not None or self._deferred:
            asyncio.get_running_loop().call_soon(self._pump)

    def _tell(self, orphaned: Callable[[Any], None], answer: Any) -> None:
        self._undelivered -= 1
        orphaned(answer)
        self._pump()

    def answer(self, ticket: InFlight[T]) -> asyncio.Future[T]:
        """What whoever has the turn awaits for the answer. When that is cancelled, it is read all the same.

        It is `wait` without a coroutine: the turn's end sees to what was cancelled. It is not for answers that leave
        something behind, since one that comes in that very moment is told to nobody, not even to `orphaned`.

        Raises:   QueryTimeout, by the future: it did not come within command_timeout.
        """
        self._stats.round_trips += 1
        self._awaited = ticket
        if self._timeout is not None:
            # At login there are no turns yet.
            ticket.timeout = self._timeout
            ticket.deadline = deadline = self._deadline or self.channel.loop.time() + self._timeout
            self._arm_timer(deadline)
        return ticket.future

    async def wait(self, ticket: InFlight[T]) -> T:
        """The answer, for whoever has the turn; when the wait is cancelled, it is read all the same.

        Raises:   QueryTimeout: it did not come within command_timeout.
        """
        try:
            return await self.answer(ticket)
        except asyncio.CancelledError:
            self.abandon(ticket)
            raise

    async def prefetched_reply(self, ticket: InFlight[T], timeout: float | None = None) -> T:
        """`wait`, by whoever has no turn, and so has a clock of its own: for what was asked for ahead."""
        self._stats.round_trips += 1
        seconds = self.command_timeout if timeout is None else timeout
        if seconds is not None:
            ticket.timeout = seconds
            ticket.deadline = self.channel.loop.time() + seconds
            self._arm_timer(ticket.deadline)
        try:
            return await ticket.future
        except asyncio.CancelledError:
            self.abandon(ticket)
            raise

    def _arm_timer(self, deadline: float) -> None:
        """See to it that the clock rings no later than that; too early does no harm.

        One timer serves all waits, and goes on when they end: to make and stop one for each would cost more than all
        the rest of waiting.
        """
        if self._clock is not None:
            if self._clock_at <= deadline:
                return
            self._clock.cancel()
        self._clock_at = deadline
        self._clock = asyncio.get_running_loop().call_at(deadline, self._on_timer)

    def _on_timer(self) -> None:
        """Tell those who have waited for too long; what runs for them is interrupted."""
        self._clock = None
        now = asyncio.get_running_loop().time()
        for ticket in [*self._out]:
            if ticket.deadline is None or ticket.future.done():
                continue
            if ticket.deadline > now:
                self._arm_timer(ticket.deadline)
                continue
            within = f"no answer within {ticket.timeout:g} s"
            error = QueryTimeout(f"{within}; the statement was interrupted" if ticket.running else within)
            if ticket.lost is not None:
                ticket.lost(error)
            ticket.future.set_exception(error)
            ticket.future.exception()  # its task may be cancelled in this very moment, and not look at it
            self._give_up(ticket)

    async def drain(self) -> None:
        """Wait until the transport takes more.

        Raises:   QueryTimeout: the server did not read within command_timeout.
        """
        if self._deadline is None or not self.channel.unsent:
            return await self.channel.drain()
        limit = asyncio.timeout_at(self._deadline)
        try:
            async with limit:
                await self.channel.drain()
        except TimeoutError:
            if not limit.expired():
                raise
            raise QueryTimeout(f"the server did not read for {self._timeout:g} s") from None

    def abandon(self, ticket: InFlight[Any], *, interrupt: bool = True) -> None:
        """Wait no longer for an answer.

        Args:     interrupt: False lets the statement end by itself, however long it takes.
        """
        future = ticket.future
        ticket.abandoned = True
        if future.done() and not future.cancelled():
            # It came in the moment of the cancellation. To look at the exception keeps it from being reported.
            if future.exception() is None and ticket.orphaned is not None:
                ticket.orphaned(future.result())
            return
        future.cancel()
        if interrupt:
            self._give_up(ticket)
        else:
            self._stats.round_trips += 1  # whoever has the next turn waits for it

    def _give_up(self, ticket: InFlight[Any]) -> None:
        """Nobody wants this answer any more: the server is told, and does not have all the time in the world."""
        ticket.abandoned = True
        if self._out:
            self._start_cancel_timeout()
            self._interrupt()

    # -- interrupts ---------------------------------------------------------------------------------------------------

    def _interrupt(self) -> None:
        """Tell the server that nobody wants the answer to what runs now, unless it has been told.

        Source:   observed: one urgent byte behind a whole request (14.10); JDBC sends it for a cancel and a time-out
                  alike (cancel.json)
        """
        if self._interrupt_pending or not self._out or not self.cancel_timeout:
            return
        running = self._out[0]
        if running.running and running.abandoned and not self.channel.unsent:
            self._interrupt_pending = self.channel.send_urgent(INTERRUPT)

    def cancel(self) -> None:
        """Interrupt the statement that runs; the call that waits for it gets the server's -213. Nothing if none runs.

        A statement that does not end within `cancel_timeout` takes the connection along.
        """
        self.owner.check()
        if not self._cancel_running() and self._begun:
            # Between two requests of one call: the next one leaves as soon as its task runs.
            self.channel.loop.call_soon(self._cancel_running)

    def _cancel_running(self) -> bool:
        """Whether something runs that is interrupted now."""
        if not self._out or not self._out[0].running or self.channel.unsent:
            return False
        running = self._out[0]
        if not self.cancel_timeout:
            self._drop_if_running(running)
            return True
        if not self._interrupt_pending:
            self._interrupt_pending = self.channel.send_urgent(INTERRUPT)
        self.channel.loop.call_later(self.cancel_timeout, self._drop_if_running, running)
        return True

    def _drop_if_running(self, ticket: InFlight[Any]) -> None:
        if self._out and self._out[0] is ticket:
            self._on_cancel_timeout()

    def interrupt_acknowledged(self) -> None:
        """A -213 came: the urgent byte has hit what it was meant for, or the probe."""
        self._interrupt_pending = self.interrupt_unconfirmed = False
        if self._drain is not None:  # of many requests on their way, each may need a byte of its own
            asyncio.get_running_loop().call_soon(self._interrupt)

    def _start_cancel_timeout(self) -> None:
        if self._drain is None:
            loop = asyncio.get_running_loop()
            self._drain = loop.call_later(self.cancel_timeout, self._on_cancel_timeout)

    def _on_cancel_timeout(self) -> None:
        self.channel.abort(
            ConnectionLost(
                "the connection was closed: a cancelled call's answer did not come"
                f" within {self.cancel_timeout:g} s"
            )
        )

    # -- chores -------------------------------------------------------------------------------------------------------

    def later(self, *chores: Cleanup) -> None:
        """Have something done when nobody has the turn; before anything else is sent."""
        if not self.owner.is_here:
            self.soon(self.later, *chores)
        elif self.is_open:
            self._deferred.extend(chores)
            if not self.pipelining:
                self._stats.round_trips += len(chores)
            if not self._begun:
                self._pump()

    def soon(self, callback: Callable[..., None], *args: object) -> None:
        """Call *callback* from the event loop, for finalizers, which may run in any thread or behind the loop's end."""
        if self.is_open and not (self.channel.loop_is_closed() or self.owner.is_inherited):
            with contextlib.suppress(RuntimeError):  # closed this very moment
                self.channel.loop.call_soon_threadsafe(callback, *args)

    def first(self, *chores: Cleanup) -> None:
        """Have something done before all other chores."""
        self._deferred.extendleft(reversed(chores))

    def _pump(self) -> None:
        """Send the next chore if nothing is out and nobody has the turn; tell who waits when there is none."""
        if self._out:
            if self._drain is not None:
                self._interrupt()  # what is at the head now may be what nobody wants any more
            return
        if self._undelivered or self._begun:
            return
        if self._interrupt_pending:
            self._interrupt_pending, self.interrupt_unconfirmed = False, True
            self.first(self._probe())
        while self._deferred and self.is_open:
            if self._send(self._deferred.popleft()):
                return
        if self._drain is not None:
            self._drain.cancel()
            self._drain = None
        settled, self._settled = self._settled, None
        if settled is not None and not settled.done():
            settled.set_result(None)

    def _flush_deferred(self) -> None:
        """All of them, in front of the next request, and nobody waits."""
        while self._deferred:
            self._send(self._deferred.popleft())

    def _send(self, chore: Cleanup) -> bool:
        if chore.needed is not None and not chore.needed():
            return False
        outbox = Outbox()
        chore.put(outbox)
        requests.put_eot(outbox)
        ticket = self.submit(outbox.take(), self._reader(), told=self._told, orphaned=chore.replied)
        ticket.abandoned = True
        return True

    def _ended(self) -> None:
        """The channel has failed: nothing will be answered any more."""
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
        self._deferred.clear()
        self._interrupt_pending = False
        self._pump()
        if self.on_end is not None:
            self.on_end()
