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
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeVar

from aioifx.channel import Channel, PendingReply
from aioifx.client.config.checks import check_timeout
from aioifx.client.session.owner import Owner
from aioifx.errors import ConnectionLost, DatabaseError, InterfaceError, ProtocolError, QueryTimeout
from aioifx.wire import requests
from aioifx.wire.inbox import Inbox, Reader
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


class InFlight(PendingReply[T]):
    """A request in flight, and its reply."""

    interruptible: bool
    """Whether it runs a statement that can be interrupted."""
    on_reply: Callable[[T], None] | None
    on_orphan: Callable[[T], None] | None = None
    abandoned = False
    deadline: float | None = None
    """Time limit of the wait."""
    timeout = 0.0
    """The time limit in seconds."""


@dataclass(frozen=True, slots=True)
class Cleanup:
    """One group of deferred cleanup."""

    write: Callable[[Outbox], None]
    on_reply: Callable[[Reply], None] | None = None
    still_needed: Callable[[], bool] | None = None
    """Checked before sending: an earlier request may have made it unnecessary."""


class Dispatcher:
    """Orders the requests of one connection. Bound to one event loop.

    Args:     reader: of ordinary replies. on_reply: called with each reply to deferred cleanup.
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
        on_reply: Callable[[Reply], None],
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
        self._on_cleanup_reply = on_reply
        self._probe = probe
        self._locked = False
        self._started = False  # the holder starts once deferred cleanup is done
        self._holder: asyncio.Task[Any] | None = None  # task that holds the lock, if recorded
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._deadline: float | None = None
        self._timeout = command_timeout  # of the current holder
        self._awaited: InFlight[Any] | None = None  # request that the holder waits for, or waited for last
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0  # uvloop's handles do not show that they have expired
        self._in_flight: deque[InFlight[Any]] = channel.pending_replies
        self._undelivered = 0  # replies whose `on_orphan` is still to be called
        self._deferred: deque[Cleanup] = deque()
        self._idle_waiter: asyncio.Future[None] | None = None
        self._cancel_timer: asyncio.TimerHandle | None = None
        self._interrupt_pending = False  # an urgent byte was sent and no -213 has arrived yet
        self._closing = False
        self.on_close: Callable[[], None] | None = None
        """Called once when the session has ended, by either side."""
        channel.on_reply = self._on_reply
        channel.on_close = self._on_channel_closed

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

    def begin_close(self) -> None:
        """Called after SQ_EXIT: nothing else may be sent."""
        self._closing = True
        self._deferred.clear()

    # -- lock ---------------------------------------------------------------------------------------------------------

    def try_acquire(self) -> bool:
        """Acquire the lock if nothing has to be awaited first; otherwise False, and `acquire` must be used.

        A holder that awaits the user's code must call `note_holder`.

        Raises:   InterfaceError: the connection belongs to another event loop or process.
        """
        if _running_loop() is not self._loop:
            raise self.owner.refusal()
        if (
            self._locked
            or self._in_flight
            or self._undelivered
            or self._deferred
            or self._interrupt_pending
            or self._closing
            or self.channel.failure is not None
        ):
            return False
        self._locked = self._started = True
        if self.command_timeout is not None:
            self._deadline = self._new_deadline()
        return True

    async def acquire(self, *, timeout: float | None = None, idle: bool = False) -> None:
        """Acquire the lock, once every reply is in and all deferred cleanup is done.

        Args:     timeout: seconds for the whole call instead of command_timeout.
                  idle: wait for replies with `pipelining` as well, where the next request normally does.
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
        pipelined = self.pipelining and not idle
        if deadline is None:
            await self._acquire_slow(pipelined)
        else:
            limit = asyncio.timeout_at(deadline)
            try:
                async with limit:
                    await self._acquire_slow(pipelined)
            except TimeoutError:
                if not limit.expired():
                    raise
                if not self._started and self._in_flight and self._in_flight[0].abandoned:
                    self._start_cancel_timeout()  # abandoned requests hold up this waiter
                raise QueryTimeout(
                    f"the connection was not free within {seconds:g} s; nothing was sent"
                ) from None
            self._deadline, self._timeout = deadline, seconds
        self._started, self._holder = True, task

    def note_holder(self) -> None:
        """Record the holder, so that a re-entrant acquire raises instead of deadlocking."""
        self._holder = asyncio.current_task()

    async def _acquire_slow(self, pipelined: bool) -> None:
        if self._locked:
            await self._wait_in_queue()
        self._locked = True
        try:
            if pipelined and self._cancel_timer is None:
                self._flush_deferred()
            # Loop: another task may queue more cleanup before this one runs.
            while self._has_outstanding and self.is_open and not (pipelined and self._cancel_timer is None):
                self._idle_waiter = asyncio.get_running_loop().create_future()
                self._run_deferred()
                await self._idle_waiter
            self.check_open()
        except BaseException:
            self._idle_waiter = None
            self._wake_next()
            raise

    async def _wait_in_queue(self) -> None:
        """Wait until the lock is passed to the caller."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except BaseException:
            if waiter.done() and not waiter.cancelled():
                self._wake_next()  # passed on just before the cancellation
            elif waiter in self._waiters:
                self._waiters.remove(waiter)
            raise

    def _wake_next(self) -> None:
        """Pass the lock to the next waiter immediately, so that no other task can acquire it before that one runs."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():  # otherwise its task is being cancelled
                return waiter.set_result(None)
        self._locked = False

    def release(self) -> None:
        """Release the lock; deferred cleanup is sent immediately."""
        awaited = self._awaited
        if awaited is not None:
            self._awaited = None
            if awaited.future.cancelled() and not awaited.abandoned:
                self.abandon(awaited)
        self._started, self._holder = False, None
        if self._deadline is not None:
            self._deadline, self._timeout = None, self.command_timeout
        if self._waiters:
            self._wake_next()
        else:
            self._locked = False
        if self._deferred or self._cancel_timer is not None:
            self._run_deferred()

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
        return self._locked

    @property
    def _has_outstanding(self) -> bool:
        """Whether a reply is outstanding or cleanup is queued."""
        return bool(self._in_flight or self._undelivered or self._deferred or self._interrupt_pending)

    # -- requests and replies -----------------------------------------------------------------------------------------

    def send(
        self,
        request: bytes | bytearray,
        reader: Reader[T],
        interruptible: bool = False,
        on_reply: Callable[[T], None] | None = None,
        on_orphan: Callable[[T], None] | None = None,
        on_lost: Callable[[DatabaseError], None] | None = None,
    ) -> InFlight[T]:
        """Send *request* without waiting.

        Args:     reader: of the reply. interruptible: the request runs a statement, which can be interrupted.
                  on_reply: called with the reply when it arrives, even after the wait was cancelled. An exception in it
                  ends the connection.
                  on_orphan: called with the reply if the wait was cancelled.
                  on_lost: called with the sender's error if the request was sent but its reply is lost.
        Raises:   ConnectionLost: another task has already sent SQ_EXIT.
        """
        if self._closing:
            self.check_open()
        channel = self.channel
        inbox = channel.inbox
        in_flight: InFlight[T] = InFlight()
        in_flight.reader, in_flight.interruptible, in_flight.on_reply = reader, interruptible, on_reply
        if on_orphan is not None:
            in_flight.on_orphan = on_orphan
        if on_lost is not None:
            in_flight.on_lost = on_lost
        if len(inbox.data) > inbox.pos and not self._in_flight:
            # Unsolicited bytes: the server has sent SQ_EXIT, or no longer speaks SQLI.
            in_flight.parser = reject_unsolicited(self._reader.parser, inbox, self._on_cleanup_reply)
        channel.request(in_flight, request)
        return in_flight

    def _on_reply(self, in_flight: InFlight[Any], reply: Any) -> None:
        """Called with the reply to the oldest request in flight."""
        if in_flight.on_reply is not None:
            in_flight.on_reply(reply)
        # Deferred: the channel is processing received data and cannot be dropped from within.
        if in_flight.on_orphan is not None and (in_flight.abandoned or in_flight.future.cancelled()):
            self._undelivered += 1
            asyncio.get_running_loop().call_soon(self._deliver_orphan, in_flight.on_orphan, reply)
        elif self._idle_waiter is not None or self._cancel_timer is not None or self._deferred:
            asyncio.get_running_loop().call_soon(self._run_deferred)

    def _deliver_orphan(self, on_orphan: Callable[[Any], None], reply: Any) -> None:
        self._undelivered -= 1
        on_orphan(reply)
        self._run_deferred()

    def reply_future(self, in_flight: InFlight[T]) -> asyncio.Future[T]:
        """The reply's future, to be awaited by the lock's holder. If that is cancelled, the reply is still read.

        Like `reply`, without a coroutine: `release` handles a cancellation. Not for replies that need `on_orphan`: a
        reply that arrives at the moment of cancellation is passed to no callback.

        Raises:   QueryTimeout, from the future: no reply within command_timeout.
        """
        self._stats.round_trips += 1
        self._awaited = in_flight
        if self._timeout is not None:
            # There is no lock during the login.
            in_flight.timeout = self._timeout
            in_flight.deadline = deadline = self._deadline or self.channel.loop.time() + self._timeout
            self._arm_timer(deadline)
        return in_flight.future

    async def reply(self, in_flight: InFlight[T]) -> T:
        """Wait for the reply, while holding the lock. If the wait is cancelled, the reply is still read.

        Raises:   QueryTimeout: no reply within command_timeout.
        """
        try:
            return await self.reply_future(in_flight)
        except asyncio.CancelledError:
            self.abandon(in_flight)
            raise

    async def prefetched_reply(self, in_flight: InFlight[T], timeout: float | None = None) -> T:
        """`reply` for a prefetched reply, without the lock and with a time limit of its own."""
        self._stats.round_trips += 1
        seconds = self.command_timeout if timeout is None else timeout
        if seconds is not None:
            in_flight.timeout = seconds
            in_flight.deadline = self.channel.loop.time() + seconds
            self._arm_timer(in_flight.deadline)
        try:
            return await in_flight.future
        except asyncio.CancelledError:
            self.abandon(in_flight)
            raise

    def _arm_timer(self, deadline: float) -> None:
        """Set the timer to fire no later than *deadline*; firing early is harmless.

        One timer serves all waits and is not stopped when they end. Creating and stopping one for each wait would cost
        more than the rest of the wait.
        """
        if self._timer is not None:
            if self._timer_at <= deadline:
                return
            self._timer.cancel()
        self._timer_at = deadline
        self._timer = asyncio.get_running_loop().call_at(deadline, self._on_timer)

    def _on_timer(self) -> None:
        """Time out waits past their deadline, and interrupt their statements."""
        self._timer = None
        now = asyncio.get_running_loop().time()
        for in_flight in [*self._in_flight]:
            if in_flight.deadline is None or in_flight.future.done():
                continue
            if in_flight.deadline > now:
                self._arm_timer(in_flight.deadline)
                continue
            within = f"no answer within {in_flight.timeout:g} s"
            error = QueryTimeout(
                f"{within}; the statement was interrupted" if in_flight.interruptible else within
            )
            if in_flight.on_lost is not None:
                in_flight.on_lost(error)
            in_flight.future.set_exception(error)
            in_flight.future.exception()  # its task may be cancelled at this moment and not retrieve the exception
            self._cancel_request(in_flight)

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

    def abandon(self, in_flight: InFlight[Any], *, interrupt: bool = True) -> None:
        """Stop waiting for a reply.

        Args:     interrupt: False lets the statement run to its end, however long it takes.
        """
        future = in_flight.future
        in_flight.abandoned = True
        if future.done() and not future.cancelled():
            # It arrived just before the cancellation. Retrieving the exception keeps asyncio from logging it.
            if future.exception() is None and in_flight.on_orphan is not None:
                in_flight.on_orphan(future.result())
            return
        future.cancel()
        if interrupt:
            self._cancel_request(in_flight)
        else:
            self._stats.round_trips += 1  # the next holder of the lock waits for it

    def _cancel_request(self, in_flight: InFlight[Any]) -> None:
        """Cancel the request: interrupt the server and start the cancel timeout."""
        in_flight.abandoned = True
        if self._in_flight:
            self._start_cancel_timeout()
            self._send_interrupt()

    # -- interrupts ---------------------------------------------------------------------------------------------------

    def _send_interrupt(self) -> None:
        """Send the urgent byte for the running statement, unless it has been sent.

        Source:   observed: one urgent byte after a whole request (14.10); JDBC sends it for a cancel and a time-out
                  alike (cancel.json)
        """
        if self._interrupt_pending or not self._in_flight or not self.cancel_timeout:
            return
        running = self._in_flight[0]
        if running.interruptible and running.abandoned and not self.channel.unsent:
            self._interrupt_pending = self.channel.send_urgent(INTERRUPT)

    def cancel(self) -> None:
        """Interrupt the running statement, whose call gets the server's -213. Does nothing if none is running.

        If the statement does not end within `cancel_timeout`, the connection is dropped.
        """
        self.owner.check()
        if not self._cancel_running() and self._started:
            # Between two requests of one call: the next one is interrupted after it is sent.
            self.channel.loop.call_soon(self._cancel_running)

    def _cancel_running(self) -> bool:
        """Interrupt the running statement; False if there is none."""
        if not self._in_flight or not self._in_flight[0].interruptible or self.channel.unsent:
            return False
        running = self._in_flight[0]
        if not self.cancel_timeout:
            self._drop_if_running(running)
            return True
        if not self._interrupt_pending:
            self._interrupt_pending = self.channel.send_urgent(INTERRUPT)
        self.channel.loop.call_later(self.cancel_timeout, self._drop_if_running, running)
        return True

    def _drop_if_running(self, in_flight: InFlight[Any]) -> None:
        if self._in_flight and self._in_flight[0] is in_flight:
            self._on_cancel_timeout()

    def interrupt_acknowledged(self) -> None:
        """Called for a -213: the urgent byte has reached its target, or the probe."""
        self._interrupt_pending = self.interrupt_unconfirmed = False
        if self._cancel_timer is not None:  # with several requests in flight, each may need its own byte
            asyncio.get_running_loop().call_soon(self._send_interrupt)

    def _start_cancel_timeout(self) -> None:
        if self._cancel_timer is None:
            loop = asyncio.get_running_loop()
            self._cancel_timer = loop.call_later(self.cancel_timeout, self._on_cancel_timeout)

    def _on_cancel_timeout(self) -> None:
        self.channel.abort(
            ConnectionLost(
                f"the connection was closed: no reply to a cancelled call within {self.cancel_timeout:g} s"
            )
        )

    # -- deferred cleanup ---------------------------------------------------------------------------------------------

    def defer(self, *cleanup: Cleanup) -> None:
        """Queue cleanup, sent while the lock is free and before any other request."""
        if not self.owner.is_here:
            self.call_threadsafe(self.defer, *cleanup)
        elif self.is_open:
            self._deferred.extend(cleanup)
            if not self.pipelining:
                self._stats.round_trips += len(cleanup)
            if not self._started:
                self._run_deferred()

    def call_threadsafe(self, callback: Callable[..., None], *args: object) -> None:
        """Call *callback* from the event loop; for finalizers, which run in any thread, even after the loop's end."""
        if self.is_open and not (self.channel.loop_is_closed() or self.owner.is_inherited):
            with contextlib.suppress(RuntimeError):  # closed just before
                self.channel.loop.call_soon_threadsafe(callback, *args)

    def defer_first(self, *cleanup: Cleanup) -> None:
        """Queue cleanup before all other cleanup."""
        self._deferred.extendleft(reversed(cleanup))

    def _run_deferred(self) -> None:
        """Send the next cleanup if nothing is in flight and the lock is free; wake the next waiter if none is left."""
        if self._in_flight:
            if self._cancel_timer is not None:
                self._send_interrupt()  # the oldest request may now be an abandoned one
            return
        if self._undelivered or self._started:
            return
        if self._interrupt_pending:
            self._interrupt_pending, self.interrupt_unconfirmed = False, True
            self.defer_first(self._probe())
        while self._deferred and self.is_open:
            if self._send_cleanup(self._deferred.popleft()):
                return
        if self._cancel_timer is not None:
            self._cancel_timer.cancel()
            self._cancel_timer = None
        waiter, self._idle_waiter = self._idle_waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _flush_deferred(self) -> None:
        """Send all deferred cleanup before the next request, without waiting."""
        while self._deferred:
            self._send_cleanup(self._deferred.popleft())

    def _send_cleanup(self, cleanup: Cleanup) -> bool:
        if cleanup.still_needed is not None and not cleanup.still_needed():
            return False
        outbox = Outbox()
        cleanup.write(outbox)
        requests.put_eot(outbox)
        in_flight = self.send(
            outbox.take(), self._reader, on_reply=self._on_cleanup_reply, on_orphan=cleanup.on_reply
        )
        in_flight.abandoned = True
        return True

    def _on_channel_closed(self) -> None:
        """Called when the channel has failed: no more replies will arrive."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._deferred.clear()
        self._interrupt_pending = False
        self._run_deferred()
        if self.on_close is not None:
            self.on_close()


def session_ended() -> ConnectionLost:
    """The error after SQ_EXIT."""
    return ConnectionLost("the server ended the session")


async def reject_unsolicited(
    read: Callable[[Inbox], Awaitable[Reply]], inbox: Inbox, on_reply: Callable[[Reply], None]
) -> NoReturn:
    """Read a message that no request asked for: SQ_EXIT, or one of a server that no longer speaks SQLI.

    Raises:   ProtocolError, unless *on_reply* raises a better error for it.
    """
    on_reply(await read(inbox))
    raise ProtocolError("the server sent an unexpected message")
