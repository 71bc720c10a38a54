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
import logging
from collections.abc import Callable
from typing import Any, Final

from aioifx._speedups.round_trip import CoreDispatcher, InFlight, Waiter
from aioifx.channel import Channel
from aioifx.client.config.checks import check_timeout
from aioifx.client.config.options import ConnectOptions
from aioifx.client.observation.operation import Stats
from aioifx.client.session.cleanup import Cleanup
from aioifx.client.session.failures import reject_unsolicited
from aioifx.client.session.interrupts import Interrupter
from aioifx.client.session.loop_binding import LoopBinding
from aioifx.client.session.waiting import CoalescingTimer, time_out
from aioifx.errors import ConnectionLost, InterfaceError, QueryTimeout
from aioifx.wire.inbox import Inbox, Parser, Reader
from aioifx.wire.replies import Reply

logger: Final = logging.getLogger("aioifx.session")


class Dispatcher(CoreDispatcher):
    """Orders the requests of one connection. Bound to one event loop.

    Args:
        reader: of ordinary replies.
        on_reply: the session's handler of ordinary replies, also those to deferred cleanup.
        probe: returns the statement that receives a late urgent byte.
        options: command_timeout, cancel_timeout and pipelining apply here.
    """

    channel: Channel
    stats: Stats
    binding: LoopBinding
    """Event loop and process that the connection is bound to."""
    interrupter: Interrupter

    def __init__(
        self,
        channel: Channel,
        stats: Stats,
        reader: Reader[Reply],
        on_reply: Callable[[Reply], bool | None],
        probe: Callable[[], Cleanup],
        options: ConnectOptions,
    ) -> None:
        super().__init__(
            channel,
            stats,
            LoopBinding("the connection", channel.loop),
            Interrupter(channel, options.cancel_timeout),
        )
        self.command_timeout = self._timeout = options.command_timeout
        self.pipelining = options.pipelining
        self.reader = reader
        """Of ordinary replies."""
        self.on_reply = on_reply
        self._probe = probe
        self._timer = CoalescingTimer(channel.loop, self._on_timer)
        self._interrupting: asyncio.Handle | None = None  # interrupts the request that was just sent
        self.on_drop: Callable[[], None] | None = None
        """Called when the channel has ended, before `on_close`."""
        self.on_close: Callable[[], None] | None = None
        """Called once when the session has ended, by either side."""
        channel.on_reply = self._on_reply
        channel.on_close = self._on_channel_closed
        channel.reject_unsolicited = self._reject_unsolicited

    # -- state --------------------------------------------------------------------------------------------------------

    def check_open(self) -> None:
        """Raise the error that ended the session, if it has ended."""
        failure = self.channel.failure
        if isinstance(failure, ConnectionLost):
            raise ConnectionLost(str(failure)) from failure.__cause__
        if failure is not None:
            raise ConnectionLost(f"the connection is closed: {failure}") from failure
        if self._is_closing:
            raise ConnectionLost("the connection is being closed")

    def begin_close(self) -> None:
        """Called after SQ_EXIT: nothing else may be sent."""
        self._is_closing = True
        self._before_send = self.check_open
        self._deferred.clear()

    # -- lock ---------------------------------------------------------------------------------------------------------

    def try_acquire_within(self, timeout: float | None) -> bool:
        """`try_acquire` for a call with a time limit.

        Args:
            timeout: seconds for the whole call instead of command_timeout.
        """
        if timeout is None:
            return self.try_acquire()
        check_timeout(timeout)
        if not self.try_acquire():
            return False
        self._timeout = timeout
        self.extend_deadline()
        return True

    async def acquire(
        self, timeout: float | None = None, *, idle: bool = False, waiter: Waiter | None = None
    ) -> None:
        """Acquire the lock, once every reply is in and all deferred cleanup is done.

        Args:
            timeout: seconds for the whole call instead of command_timeout.
            idle: wait for replies with `pipelining` as well, where the next request normally does.
            waiter: for a task for which `try_acquire` has failed. Its call may be started meanwhile. This then returns
                at the end of the wait for the reply, with an error in `waiter.failure`.

        Raises:
            ConnectionLost: the session has ended.
            QueryTimeout: not acquired in time.
            InterfaceError: the task already holds the lock and would deadlock; or as `try_acquire`.
        """
        if waiter is None and self.try_acquire_within(timeout):
            self._holder = asyncio.current_task()
            return
        # No variable refers to the holder: this frame may outlive it, or be referred to by its exception.
        if self._holder is not None and self._holder is asyncio.current_task():
            await self._wait_for_finalizer()
        waiter, timer = waiter or Waiter(), None
        seconds = self.command_timeout if timeout is None else timeout
        if seconds is not None:
            waiter.timeout, waiter.deadline = seconds, self.binding.loop.time() + seconds
            timer = self.binding.loop.call_at(waiter.deadline, self._time_out_waiter, waiter)
        try:
            if self.enqueue(waiter):
                await waiter.future
                if waiter.in_flight is not None:
                    return
            self.is_acquired = waiter.has_lock = True
            await self._wait_for_outstanding(waiter, pipelined=self.pipelining and not idle)
        except BaseException as error:
            if waiter.in_flight is None:
                self._leave(waiter)
                raise
            waiter.failure = error
            return
        finally:
            if timer is not None:
                timer.cancel()
        self._deadline, self._timeout = waiter.deadline, waiter.timeout
        self._started, self._holder = True, asyncio.current_task()

    async def _wait_for_finalizer(self) -> None:
        """Wait for the release of a stream that was left early, which its finalizer may have queued."""
        self.check_open()
        await asyncio.sleep(0)
        if self._holder is asyncio.current_task():
            raise InterfaceError(
                "this task already uses the connection; an iterable given to executemany or load, and a loop over the"
                " chunks of a large value, must not call it"
            )

    def note_holder(self) -> None:
        """Record the holder, so that a re-entrant acquire raises instead of deadlocking."""
        self._holder = asyncio.current_task()

    async def _wait_for_outstanding(self, waiter: Waiter, *, pipelined: bool) -> None:
        """Wait until every reply is in and all deferred cleanup is done; *waiter* has the lock."""
        interrupter = self.interrupter
        if pipelined and interrupter.is_settled:
            while self._deferred:  # sent before the next request, without waiting
                self._send_cleanup(self._deferred.popleft())
        # Loop: another task may queue more cleanup before this one runs.
        while self._has_outstanding and self.is_open and not (pipelined and interrupter.is_settled):
            if waiter.is_late:
                raise _not_free(waiter)
            waiter.future = self.binding.loop.create_future()
            self._idle_waiter = waiter
            self._run_deferred()
            await waiter.future
        if self.channel.failure is not None or self._is_closing:
            self.check_open()

    def _leave(self, waiter: Waiter) -> None:
        """Called when the wait of a task has failed; it passes on a lock that it was given."""
        del waiter.future  # its exception refers to the frames that refer to the waiter
        if not waiter.has_lock:
            self._waiters.pop(waiter, None)
            return
        self._idle_waiter = None
        if self._before_send is not None:
            self._stop_interrupting()
        self.pass_lock()

    def _time_out_waiter(self, waiter: Waiter) -> None:
        """Called at the deadline of a call that waits for the lock."""
        waiter.is_late = True
        if waiter.in_flight is not None or waiter.future.done():
            return
        if not self._started and self._in_flight and self._in_flight[0].is_abandoned:
            self.interrupter.cancel_abandoned()  # it delays this waiter, and the next ones
        waiter.future.set_exception(_not_free(waiter))
        waiter.future.exception()  # its task may be cancelled at this moment and not retrieve the exception

    def extend_deadline(self) -> None:
        """Restart the time limit after progress in a long call."""
        self._deadline = None if self._timeout is None else self.binding.loop.time() + self._timeout

    @property
    def deadline(self) -> float | None:
        """When the holder's call times out, in the event loop's time; None: no limit."""
        return self._deadline

    @property
    def is_idle(self) -> bool:
        """Whether a request could be sent now without delaying another task."""
        return self.is_open and not (self.is_acquired or self._has_outstanding)

    @property
    def _has_outstanding(self) -> bool:
        """Whether a reply is outstanding or cleanup is queued."""
        return bool(self._in_flight or self._undelivered or self._deferred or self.interrupter.is_pending)

    # -- requests and replies -----------------------------------------------------------------------------------------

    def _reject_unsolicited(self, inbox: Inbox) -> Parser[Any]:
        """Reads bytes that came before a request: the server has sent SQ_EXIT, or no longer speaks SQLI."""
        assert self.on_reply is not None
        return reject_unsolicited(self.reader.parser, inbox, self.on_reply)

    def may_go_on(self, *, has_lock: bool) -> bool:
        """Whether the next request of a call may be sent while the reply to its last one is read.

        Not if the call was cancelled, timed out or interrupted, or anything else needs `send`.

        Args:
            has_lock: the call holds the lock. Otherwise no task and no cleanup may wait for it.
        """
        in_flight = self._in_flight
        return not (
            len(in_flight) > 1
            or in_flight[0].is_abandoned
            or in_flight[0].future.done()
            or self.interrupter.is_pending
            or self._before_send is not None
            or (not has_lock and (self.is_acquired or self._deferred))
        )

    def try_send_next(self, request: bytes) -> bool:
        """Send the next *request* of a call from the `on_reply` of its last one, in place of `send` and `reply`.

        Its reply is read as more of the last one. The task is thus not woken for each of many short replies.

        Returns:
            False, and nothing is sent, if the call was cancelled, timed out or interrupted, or anything else needs
            `send`.
        """
        in_flight = self._in_flight[0]
        if not self.may_go_on(has_lock=True) or self.channel.inbox.unread:
            return False
        self.stats.round_trips += 1
        if in_flight.operation is not None:
            in_flight.operation.round_trips += 1
        self.channel.send(request)
        return True

    def _deliver_orphan(self, on_orphan: Callable[[Any], None], reply: Any) -> None:
        self._undelivered -= 1
        on_orphan(reply)
        self._run_deferred()

    def _set_deadline(self, in_flight: InFlight, seconds: float, deadline: float | None) -> None:
        """Limit the wait: until the *deadline* of the holder's call, or without one for *seconds* from now."""
        in_flight.timeout = seconds
        in_flight.deadline = deadline = deadline or self.binding.loop.time() + seconds
        if self.channel.failure is None:  # otherwise the wait ends at once
            self._timer.arm(deadline)

    async def _reply_or_abandon(self, in_flight: InFlight) -> Any:
        """Await the reply. `on_orphan` also gets one that arrives at the moment of a cancellation."""
        try:
            return await in_flight.future
        except asyncio.CancelledError:
            self.abandon(in_flight)
            raise

    def _on_timer(self) -> None:
        """Time out waits past their deadline, and interrupt their statements."""
        now = self.binding.loop.time()
        for in_flight in [*self._in_flight]:
            if in_flight.deadline is None or in_flight.future.done():
                continue
            if in_flight.deadline > now:
                self._timer.arm(in_flight.deadline)
                continue
            time_out(in_flight)
            in_flight.is_abandoned = True
            self.interrupter.cancel_abandoned()

    def limit_wait(self, in_flight: InFlight) -> None:
        """Restart the time limit before a wait for a part of a reply; the caller removes it afterwards."""
        if self._timeout is not None:
            self._set_deadline(in_flight, self._timeout, None)

    async def drain(self) -> None:
        """Wait until the transport accepts more data.

        Raises:
            QueryTimeout: the server did not read within command_timeout.
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
            raise QueryTimeout(
                f"the server did not take the request's data within {self._timeout:g} s"
            ) from None

    def abandon(self, in_flight: InFlight, *, interrupt: bool = True) -> None:
        """Stop waiting for a reply. Unless *interrupt*, the statement runs to its end, however long it takes."""
        future = in_flight.future
        in_flight.is_abandoned = True
        if future.done() and not future.cancelled():
            # It arrived just before the cancellation. Retrieving the exception keeps asyncio from logging it.
            if future.exception() is None and in_flight.on_orphan is not None:
                in_flight.on_orphan(future.result())
            return
        future.cancel()
        if interrupt:
            self.interrupter.cancel_abandoned()
        else:
            self.stats.round_trips += 1  # the next holder of the lock waits for it

    # -- interrupts ---------------------------------------------------------------------------------------------------

    def cancel(self) -> None:
        """Interrupt the running statement, whose call gets the server's -213. Does nothing if none is running.

        If the statement does not end within `cancel_timeout`, the connection is dropped.
        """
        self.binding.check()
        if not self.interrupter.interrupt_running():
            if self._in_flight and self._in_flight[0].is_abandoned:
                self.interrupter.cancel_abandoned()  # no call waits for it, but the holder's comes after it
            if not self._is_closing and (self._started or self._idle_waiter is not None):
                self._before_send = self._interrupt_soon

    def _interrupt_soon(self) -> None:
        """Called before a request of the holder's call is sent, or cleanup that the call waits for."""
        if self._interrupting is None:
            self._interrupting = self.binding.loop.call_soon(self._interrupt_next)

    def _interrupt_next(self) -> None:
        """Interrupt the holder's statement if it is the oldest request by now."""
        self._interrupting = None
        if self.interrupter.interrupt_running():
            self._stop_interrupting()

    def _stop_interrupting(self) -> None:
        if self._interrupting is not None:
            self._interrupting.cancel()
            self._interrupting = None
        if not self._is_closing:
            self._before_send = None

    # -- deferred cleanup ---------------------------------------------------------------------------------------------

    def defer(self, *cleanup: Cleanup) -> None:
        """Queue cleanup, sent while the lock is free and before any other request."""
        if not self.binding.is_here:
            self.call_threadsafe(self.defer, *cleanup)
        elif self.is_open:
            self._deferred.extend(cleanup)
            if not self.pipelining:
                self.stats.round_trips += len(cleanup)
            if not self._started:
                self._run_deferred()

    def call_threadsafe(self, callback: Callable[..., None], *args: object) -> None:
        """Call *callback* from the event loop; for finalizers, which run in any thread, even after the loop's end."""
        if self.is_open and not (self.channel.loop_is_closed() or self.binding.is_inherited):
            with contextlib.suppress(RuntimeError):  # closed just before
                self.channel.loop.call_soon_threadsafe(callback, *args)

    def defer_first(self, *cleanup: Cleanup) -> None:
        """Queue cleanup before all other cleanup."""
        self._deferred.extendleft(reversed(cleanup))

    def _run_deferred(self) -> None:
        """Send the next cleanup if nothing is in flight and the lock is free; wake the next waiter if none is left."""
        if self._in_flight:
            if self.interrupter.cancel_timer is not None:
                self.interrupter.interrupt_abandoned()  # the oldest request may now be an abandoned one
                if self._before_send is not None:
                    self._interrupt_next()
            return
        if self._undelivered or self._started:
            return
        if self.interrupter.is_pending:
            self.interrupter.on_probe()
            self.defer_first(self._probe())
        while self._deferred and self.is_open:
            if self._send_cleanup(self._deferred.popleft()):
                return
        if self.interrupter.cancel_timer is not None:
            self.interrupter.stop_timeout()
        waiter, self._idle_waiter = self._idle_waiter, None
        if waiter is not None and not waiter.future.done():
            waiter.future.set_result(None)

    def _send_cleanup(self, cleanup: Cleanup) -> bool:
        if cleanup.still_needed is not None and not cleanup.still_needed():
            return False
        in_flight = self.send(
            cleanup.request(), self.reader, on_reply=self.on_reply, on_orphan=cleanup.on_reply
        )
        in_flight.is_abandoned = True
        return True

    def _on_channel_closed(self) -> None:
        """Called when the channel has failed: no more replies will arrive."""
        if not self._is_closing and logger.isEnabledFor(logging.DEBUG):
            logger.debug("%s: %s", self.channel.peer, self.channel.failure)
        self._timer.cancel()
        self._deferred.clear()
        self.interrupter.is_pending = False
        self.interrupter.stop_timeout()
        self._run_deferred()
        if self.on_drop is not None:
            self.on_drop()
        if self.on_close is not None:
            self.on_close()


def _not_free(waiter: Waiter) -> QueryTimeout:
    return QueryTimeout(f"the connection was not free within {waiter.timeout:g} s; nothing was sent")
