"""Order of requests on a connection: lock, replies, deferred cleanup, interrupts. Never: SQL, what a reply means.

Invariants:
1. One holder of the lock at a time, first come, first served. A holder starts once every reply is in and all deferred
   cleanup is done.
2. Cancelling a wait never drops a reply: it is still read to the end. If a statement runs, the urgent byte interrupts
   it. After `cancel_timeout` seconds without a reply, the connection is dropped with an error that says so.
3. Deferred cleanup (close a cursor, roll back a transaction) is sent while the lock is free, one request at a time.
   The server thus never has two requests in flight that JDBC does not send together.
4. After an urgent byte without a -213 reply, a probe is sent before any request of the user.
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
"""SQLCODE of an interrupted statement."""


@dataclass(slots=True)
class Stats:
    """Counters of one connection."""

    round_trips: int = 0
    """Requests whose reply had to be awaited, by a call or, for deferred cleanup, by the next call. The login counts as
    four."""
    statements: int = 0
    """Statements prepared, or executed without preparation."""
    rows: int = 0
    """Rows received."""


def check_timeout(timeout: object) -> None:
    """Raise InterfaceError unless *timeout* is None or a valid time limit of a call, in seconds."""
    if timeout is None:
        return
    if (
        not isinstance(timeout, (int, float))
        or isinstance(timeout, bool)
        or not 0 < timeout <= sys.float_info.max
    ):
        raise InterfaceError(f"timeout: expected a number of seconds above 0, got {timeout!r:.40}")


def check_wait(timeout: object) -> None:
    """Raise InterfaceError unless *timeout* is None or a number of seconds to wait; 0 does not wait."""
    if timeout is None or timeout == math.inf:
        return
    if (
        not isinstance(timeout, (int, float))
        or isinstance(timeout, bool)
        or not 0 <= timeout <= sys.float_info.max
    ):
        raise InterfaceError(f"timeout: expected a number of seconds, 0 or more, got {timeout!r:.40}")


class InFlight(PendingReply[T]):
    """A request in flight, and its reply."""

    running: bool
    """Whether it runs a statement that can be interrupted."""
    told: Callable[[T], None] | None
    orphaned: Callable[[T], None] | None = None
    abandoned = False
    deadline: float | None = None
    """Time limit of the wait."""
    timeout = 0.0
    """The time limit in seconds."""


@dataclass(frozen=True, slots=True)
class Cleanup:
    """One group of deferred cleanup."""

    put: Callable[[Outbox], None]
    replied: Callable[[Reply], None] | None = None
    needed: Callable[[], bool] | None = None
    """Checked before sending: an earlier request may have made it unnecessary."""


class Dispatcher:
    """Orders the requests of one connection. Bound to one event loop.

    Args:     reader: of ordinary replies. told: called with each reply to deferred cleanup.
              probe: returns the statement that receives a late urgent byte.
              command_timeout: seconds for a call, from queueing to the last reply.
              cancel_timeout: seconds for the rest of a cancelled call; 0 drops the connection immediately.
              pipelining: send deferred cleanup together with the next request, instead of waiting for its reply.
    """

    def __init__(
        self,
        channel: Channel,
        stats: Stats,
        reader: Reader[Reply],
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
        """Event loop and process that the connection is bound to."""
        self.command_timeout = command_timeout
        self.cancel_timeout = cancel_timeout
        self.pipelining = pipelining
        self.interrupt_unconfirmed = False
        """Whether an urgent byte was sent, and neither a statement nor the probe has confirmed it."""
        self._stats = stats
        self._reader = reader
        self._told = told
        self._probe = probe
        self._taken = False
        self._begun = False  # the holder starts once deferred cleanup is done
        self._holder: asyncio.Task[Any] | None = None  # task that holds the lock, if recorded
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._deadline: float | None = None
        self._timeout = command_timeout  # of the current holder
        self._awaited: InFlight[Any] | None = (
            None  # the request that the holder waits for, or waited for last
        )
        self._clock: asyncio.TimerHandle | None = None
        self._clock_at = 0.0  # uvloop's handles do not show that they have expired
        self._out: deque[InFlight[Any]] = channel.expected
        self._undelivered = 0  # replies whose `orphaned` is still to be called
        self._deferred: deque[Cleanup] = deque()
        self._settled: asyncio.Future[None] | None = None
        self._drain: asyncio.TimerHandle | None = None
        self._interrupt_pending = False  # an urgent byte was sent and no -213 has arrived yet
        self._closing = False
        self.on_end: Callable[[], None] | None = None
        """Called once when the session has ended, by either side."""
        channel.came = self._came
        channel.on_end = self._ended

    # -- state --------------------------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        return self.channel.is_open and not self._closing

    def check_open(self) -> None:
        """Raise the error that ended the session, if it has ended."""
        failure = self.channel.failure
        if isinstance(failure, ConnectionLost):
            raise ConnectionLost(str(failure)) from failure.__cause__
        if failure is not None:
            raise ConnectionLost(f"the connection is closed: {failure}") from failure
        if self._closing:
            raise ConnectionLost("the connection is being closed")

    def leave(self) -> None:
        """Called after SQ_EXIT: nothing else may be sent."""
        self._closing = True
        self._deferred.clear()

    # -- lock ---------------------------------------------------------------------------------------------------------

    def try_acquire(self) -> bool:
        """Acquire the lock if nothing has to be awaited first; otherwise False, and `acquire_turn` must be used.

        A holder that awaits the user's code must call `sign`.

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
        """Acquire the lock, once every reply is in and all deferred cleanup is done.

        Args:     timeout: seconds for the whole call instead of command_timeout.
                  settled: wait for replies with `pipelining` as well, where the next request normally does.
        Raises:   ConnectionLost: the session has ended. QueryTimeout: not acquired in time.
                  InterfaceError: the task already holds the lock and would deadlock; or as `try_acquire`.
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
                "this task already uses the connection; the rows of an executemany must not call it"
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
                    self._start_cancel_timeout()  # abandoned requests hold up this waiter
                raise QueryTimeout(
                    f"the connection was not free within {seconds:g} s; nothing was sent"
                ) from None
            self._deadline, self._timeout = deadline, seconds
        self._begun, self._holder = True, task

    def sign(self) -> None:
        """Record the holder, so that a re-entrant acquire raises instead of deadlocking."""
        self._holder = asyncio.current_task()

    async def _next_turn(self, pipelined: bool) -> None:
        if self._taken:
            await self._wait_in_queue()
        self._taken = True
        try:
            if pipelined and self._drain is None:
                self._flush_deferred()
            # Loop: another task may queue more cleanup before this one runs.
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
        """Wait until the lock is passed to the caller."""
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(place)
        try:
            await place
        except BaseException:
            if place.done() and not place.cancelled():
                self._wake_next()  # passed on just before the cancellation
            elif place in self._waiters:
                self._waiters.remove(place)
            raise

    def _wake_next(self) -> None:
        """Pass the lock to the next waiter immediately, so that no other task can acquire it before that one runs."""
        while self._waiters:
            place = self._waiters.popleft()
            if not place.done():  # otherwise its task is being cancelled
                return place.set_result(None)
        self._taken = False

    def release_turn(self) -> None:
        """Release the lock; deferred cleanup is sent immediately."""
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
        """Restart the time limit after progress in a long call."""
        self._deadline = self._new_deadline()

    def _new_deadline(self) -> float | None:
        if self._timeout is None:
            return None
        return asyncio.get_running_loop().time() + self._timeout

    @property
    def is_idle(self) -> bool:
        """Whether a request could be sent now without delaying another task."""
        return self.is_open and not (self.is_acquired or self._has_outstanding)

    @property
    def is_acquired(self) -> bool:
        """Whether a task holds the lock or waits for it."""
        return self._taken

    @property
    def _has_outstanding(self) -> bool:
        """Whether a reply is outstanding or cleanup is queued."""
        return bool(self._out or self._undelivered or self._deferred or self._interrupt_pending)

    # -- requests and replies -----------------------------------------------------------------------------------------

    def submit(
        self,
        request: bytes | bytearray,
        reader: Reader[T],
        running: bool = False,
        told: Callable[[T], None] | None = None,
        orphaned: Callable[[T], None] | None = None,
        lost: Callable[[DatabaseError], None] | None = None,
    ) -> InFlight[T]:
        """Send *request* without waiting.

        Args:     reader: of the reply. running: the request runs a statement, which can be interrupted.
                  told: called with the reply when it arrives, even after the wait was cancelled. An exception in it
                  ends the connection.
                  orphaned: called with the reply if the wait was cancelled.
                  lost: called with the sender's error if the request was sent but its reply is lost.
        Raises:   ConnectionLost: another task has already sent SQ_EXIT.
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
            # Unsolicited bytes: the server has sent SQ_EXIT, or no longer speaks SQLI.
            ticket.parser = self._unasked()
        channel.ask(ticket, request)
        return ticket

    async def _unasked(self) -> Any:
        self._told(await self._reader.parser(self.channel.inbox))
        raise ProtocolError("the server sent an unexpected message")

    def _came(self, ticket: InFlight[Any], answer: Any) -> None:
        """Called with the reply to the oldest request in flight."""
        if ticket.told is not None:
            ticket.told(answer)
        # Deferred: the channel is processing received data and cannot be dropped from within.
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
        """The reply's future, to be awaited by the lock's holder. If that is cancelled, the reply is still read.

        Like `wait`, without a coroutine: `release_turn` handles a cancellation. Not for replies that need `orphaned`: a
        reply that arrives at the moment of cancellation is passed to no callback.

        Raises:   QueryTimeout, from the future: no reply within command_timeout.
        """
        self._stats.round_trips += 1
        self._awaited = ticket
        if self._timeout is not None:
            # There is no lock during the login.
            ticket.timeout = self._timeout
            ticket.deadline = deadline = self._deadline or self.channel.loop.time() + self._timeout
            self._arm_timer(deadline)
        return ticket.future

    async def wait(self, ticket: InFlight[T]) -> T:
        """Wait for the reply, while holding the lock. If the wait is cancelled, the reply is still read.

        Raises:   QueryTimeout: no reply within command_timeout.
        """
        try:
            return await self.answer(ticket)
        except asyncio.CancelledError:
            self.abandon(ticket)
            raise

    async def prefetched_reply(self, ticket: InFlight[T], timeout: float | None = None) -> T:
        """`wait` for a prefetched reply, without the lock and with a time limit of its own."""
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
        """Set the timer to fire no later than *deadline*; firing early is harmless.

        One timer serves all waits and is not stopped when they end: creating and stopping one for each wait would cost
        more than the rest of the wait.
        """
        if self._clock is not None:
            if self._clock_at <= deadline:
                return
            self._clock.cancel()
        self._clock_at = deadline
        self._clock = asyncio.get_running_loop().call_at(deadline, self._on_timer)

    def _on_timer(self) -> None:
        """Time out waits past their deadline, and interrupt their statements."""
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
            ticket.future.exception()  # its task may be cancelled at this moment and not retrieve the exception
            self._give_up(ticket)

    async def drain(self) -> None:
        """Wait until the transport accepts more data.

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
            raise QueryTimeout(f"the server has not read any data for {self._timeout:g} s") from None

    def abandon(self, ticket: InFlight[Any], *, interrupt: bool = True) -> None:
        """Stop waiting for a reply.

        Args:     interrupt: False lets the statement run to its end, however long it takes.
        """
        future = ticket.future
        ticket.abandoned = True
        if future.done() and not future.cancelled():
            # It arrived just before the cancellation. Retrieving the exception keeps asyncio from logging it.
            if future.exception() is None and ticket.orphaned is not None:
                ticket.orphaned(future.result())
            return
        future.cancel()
        if interrupt:
            self._give_up(ticket)
        else:
            self._stats.round_trips += 1  # the next holder of the lock waits for it

    def _give_up(self, ticket: InFlight[Any]) -> None:
        """Cancel the request: interrupt the server and start the cancel timeout."""
        ticket.abandoned = True
        if self._out:
            self._start_cancel_timeout()
            self._interrupt()

    # -- interrupts ---------------------------------------------------------------------------------------------------

    def _interrupt(self) -> None:
        """Send the urgent byte for the running statement, unless it has been sent.

        Source:   observed: one urgent byte after a whole request (14.10); JDBC sends it for a cancel and a time-out
                  alike (cancel.json)
        """
        if self._interrupt_pending or not self._out or not self.cancel_timeout:
            return
        running = self._out[0]
        if running.running and running.abandoned and not self.channel.unsent:
            self._interrupt_pending = self.channel.send_urgent(INTERRUPT)

    def cancel(self) -> None:
        """Interrupt the running statement, whose call gets the server's -213. Does nothing if none is running.

        If the statement does not end within `cancel_timeout`, the connection is dropped.
        """
        self.owner.check()
        if not self._cancel_running() and self._begun:
            # Between two requests of one call: the next one is interrupted after it is sent.
            self.channel.loop.call_soon(self._cancel_running)

    def _cancel_running(self) -> bool:
        """Interrupt the running statement; False if there is none."""
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
        """Called for a -213: the urgent byte has reached its target, or the probe."""
        self._interrupt_pending = self.interrupt_unconfirmed = False
        if self._drain is not None:  # with several requests in flight, each may need its own byte
            asyncio.get_running_loop().call_soon(self._interrupt)

    def _start_cancel_timeout(self) -> None:
        if self._drain is None:
            loop = asyncio.get_running_loop()
            self._drain = loop.call_later(self.cancel_timeout, self._on_cancel_timeout)

    def _on_cancel_timeout(self) -> None:
        self.channel.abort(
            ConnectionLost(
                f"the connection was closed: no reply to a cancelled call within {self.cancel_timeout:g} s"
            )
        )

    # -- deferred cleanup ---------------------------------------------------------------------------------------------

    def later(self, *chores: Cleanup) -> None:
        """Queue cleanup, sent while the lock is free and before any other request."""
        if not self.owner.is_here:
            self.soon(self.later, *chores)
        elif self.is_open:
            self._deferred.extend(chores)
            if not self.pipelining:
                self._stats.round_trips += len(chores)
            if not self._begun:
                self._pump()

    def soon(self, callback: Callable[..., None], *args: object) -> None:
        """Call *callback* from the event loop; for finalizers, which run in any thread, even after the loop's end."""
        if self.is_open and not (self.channel.loop_is_closed() or self.owner.is_inherited):
            with contextlib.suppress(RuntimeError):  # closed just before
                self.channel.loop.call_soon_threadsafe(callback, *args)

    def first(self, *chores: Cleanup) -> None:
        """Queue cleanup before all other cleanup."""
        self._deferred.extendleft(reversed(chores))

    def _pump(self) -> None:
        """Send the next cleanup if nothing is in flight and the lock is free; wake the next waiter if none is left."""
        if self._out:
            if self._drain is not None:
                self._interrupt()  # the oldest request may now be an abandoned one
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
        """Send all deferred cleanup before the next request, without waiting."""
        while self._deferred:
            self._send(self._deferred.popleft())

    def _send(self, chore: Cleanup) -> bool:
        if chore.needed is not None and not chore.needed():
            return False
        outbox = Outbox()
        chore.put(outbox)
        requests.put_eot(outbox)
        ticket = self.submit(outbox.take(), self._reader, told=self._told, orphaned=chore.replied)
        ticket.abandoned = True
        return True

    def _ended(self) -> None:
        """Called when the channel has failed: no more replies will arrive."""
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
        self._deferred.clear()
        self._interrupt_pending = False
        self._pump()
        if self.on_end is not None:
            self.on_end()
