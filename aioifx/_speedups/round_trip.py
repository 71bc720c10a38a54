# cython: language_level=3, annotation_typing=False, binding=False, nonecheck=True, auto_pickle=False
# cython: freethreading_compatible=True
"""What every round trip runs: requests in flight, their replies, the lock. Never: an await, what an error means.

Compiled from this file, with the types that round_trip.pxd declares. Nothing here waits. What is rare is a method of a
subclass.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from typing import Any

from aioifx._speedups.inbox import YIELD
from aioifx._speedups.operation import CoreOperation

_Future = asyncio.Future
_now = time.perf_counter
_running_loop = asyncio._get_running_loop  # pyright: ignore[reportPrivateUsage] - None without a loop


COMPACT_FROM = 4096
"""Consumed bytes that are kept until more arrive: dropping fewer costs more than keeping them."""


class InFlight:
    """A request in flight, and its reply."""

    def __init__(
        self,
        reader: Any = None,
        is_interruptible: bool = False,
        on_reply: Callable[[Any], bool | None] | None = None,
        on_orphan: Callable[[Any], None] | None = None,
        on_lost: Callable[[Any], None] | None = None,
    ) -> None:
        self.reader = reader
        """Reads the reply or creates its parser; required unless `parser` is set."""
        self.is_interruptible = is_interruptible
        """Whether it runs a statement, which an urgent byte interrupts."""
        self.on_reply = on_reply
        self.on_orphan = on_orphan
        self.on_lost = on_lost
        """Called with the error if the request was sent and its reply will not come."""
        self.future: asyncio.Future[Any] = None  # type: ignore[assignment]
        """Of the reply; created when the request is sent, unless a task already waits for it."""
        self.parser: Any = None
        self.is_abandoned = False
        """Whether its reply is awaited no longer, or never was."""
        self.deadline: float | None = None
        """Time limit of the wait."""
        self.timeout = 0.0
        """The time limit in seconds."""
        self.operation: CoreOperation | None = None
        """The operation that the request counts for, and below when it was sent; only if the connection is observed."""
        self.sent_at = 0.0


class CoreChannel:
    """The requests of one connection that are in flight, and the bytes of their replies."""

    def __init__(self, inbox: Any) -> None:
        self.inbox = inbox
        self.pending_replies: deque[InFlight] = deque()
        """The requests whose replies are expected, in order; `request` appends."""
        self.bytes_out = 0
        self.failure: Any = None
        """Why the channel ended, a DatabaseError; None while it is open."""
        self.on_reply: Callable[[InFlight, Any], bool | None] | None = None
        """Called with each of `pending_replies` and its reply, with or without a waiter; an exception is treated as
        the parser's. True: more of the reply follows, as a group of its own."""
        self.on_answered: Callable[[], None] | None = None
        """Called when no more replies are pending, before the waiter of the last one runs."""
        self._transport: asyncio.Transport | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_parsing_paused = False
        self.current_operation: Any = None
        """A ContextVar with the operation that requests count for; None: the connection is not observed."""
        self._quiet_since = 0.0

    def request(self, in_flight: InFlight, data: bytes | bytearray) -> None:
        """Queue a request, whose future is created here unless it has one, then send *data*, its bytes."""
        if in_flight.future is None:  # pyright: ignore[reportUnnecessaryComparison] - before it is sent
            in_flight.future = _Future(loop=self._loop)
        if self.failure is not None:
            self._refuse(in_flight)
            return
        if self.current_operation is not None:
            self._meter(in_flight)
        self.pending_replies.append(in_flight)
        inbox = self.inbox
        if len(inbox.data) > inbox.pos and len(self.pending_replies) == 1:
            self._request_after(in_flight, data)
        elif data and self._transport is not None:
            self._write(data, in_flight.operation)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop that the channel belongs to."""
        assert self._loop is not None, "the channel was never connected"
        return self._loop

    def send(self, data: bytes | bytearray) -> None:
        """Hand *data* to the transport; `drain` waits for room. Does nothing on a channel that has ended."""
        if self.failure is None and self._transport is not None:
            operation = None if self.current_operation is None else self._sending_operation()
            self._write(data, operation)

    def _write(self, data: bytes | bytearray, operation: CoreOperation | None) -> None:
        assert self._transport is not None
        self.bytes_out += len(data)
        if operation is not None:
            operation.bytes_out += len(data)
        self._transport.write(data)

    def data_received(self, data: bytes) -> None:
        if self.current_operation is None:
            self._receive(data)
            return
        now = _now()
        operation = self.add_server_time(now)
        try:
            self._receive(data)
        finally:
            self._quiet_since = after = _now()
            if operation is not None:
                operation.bytes_in += len(data)
                operation.decode_time += after - now

    def _receive(self, data: bytes) -> None:
        inbox = self.inbox
        inbox._feed(data)
        self._parse_replies()
        if len(inbox.data) > inbox.pos and not self.pending_replies:
            self._check_unsolicited()

    def parse_replies(self) -> None:
        """Read replies, in order, as far as the received bytes reach."""
        self._parse_replies()

    def _parse_replies(self) -> None:
        inbox, queue = self.inbox, self.pending_replies
        if self._is_parsing_paused and not inbox.eof:
            return
        while queue and (len(inbox.data) > inbox.pos or inbox.eof):
            in_flight = queue[0]
            try:
                parser, answer = in_flight.parser, None
                if parser is None:
                    answer = in_flight.reader.try_read(inbox)
                    if answer is None:
                        parser = in_flight.parser = in_flight.reader.parser(inbox)
                if parser is not None:
                    try:
                        while parser.send(None) is YIELD:
                            if self._must_give_way():
                                return
                        if len(inbox.data) > COMPACT_FROM:  # fewer bytes were read in no time
                            self._must_give_way()
                        return  # parked: it needs more bytes
                    except StopIteration as stop:
                        answer = stop.value
                on_reply = self.on_reply
                if on_reply is not None and on_reply(in_flight, answer):
                    in_flight.parser = None  # more of it follows
                    continue
            except BaseException as error:
                self._on_parser_error(error)
                return
            try:
                queue.popleft()
            except IndexError:  # a decoder of the user has dropped the connection
                return
            try:
                in_flight.future.set_result(answer)
            except asyncio.InvalidStateError:
                pass  # cancelled, or timed out; asking first would cost each reply more
        if self.on_answered is not None and not queue:
            self.on_answered()
        elif inbox.pos > COMPACT_FROM:
            inbox._feed(b"")

    # -- operations of an observed connection -------------------------------------------------------------------------

    def _meter(self, in_flight: InFlight) -> None:
        """Let a request count for the current operation, if one is running."""
        operation = self.current_operation.get()
        if operation is not None and operation.duration is None:
            in_flight.operation, in_flight.sent_at = operation, _now()
            operation.meter = self
            if self.on_reply is None:  # the login, where no dispatcher counts
                operation.round_trips += 1

    def add_server_time(self, now: float) -> CoreOperation | None:
        """Add the time until *now* to the operation that waits for the next reply; None if none does."""
        for in_flight in self.pending_replies:
            operation = in_flight.operation
            if operation is not None and operation.duration is None:
                operation.server_time += now - max(self._quiet_since, in_flight.sent_at)
                self._quiet_since = now
                return operation
        return None

    def add_outstanding_time(self, operation: CoreOperation) -> None:
        """Add the server time of a reply that is still outstanding; called before the operation ends."""
        for in_flight in self.pending_replies:
            if in_flight.operation is operation:
                operation.server_time += _now() - max(self._quiet_since, in_flight.sent_at)
                return

    # -- what is rare, in the subclass --------------------------------------------------------------------------------

    def _sending_operation(self) -> CoreOperation | None:
        """The operation that data of `send` count for; None if there is none."""
        raise NotImplementedError

    def _refuse(self, in_flight: InFlight) -> None:
        """Called for a request to a channel that has ended."""
        raise NotImplementedError

    def _request_after(self, in_flight: InFlight, data: bytes | bytearray) -> None:
        """Called for a request, the only one, that bytes came before."""
        raise NotImplementedError

    def _check_unsolicited(self) -> None:
        """Called when bytes have arrived that no request expects."""
        raise NotImplementedError

    def _must_give_way(self) -> bool:
        """Whether parsing is paused until the event loop has run other callbacks."""
        raise NotImplementedError

    def _on_parser_error(self, error: BaseException) -> None:
        """Called with what the parser or the handler of a reply has raised."""
        raise NotImplementedError


class Waiter:
    """A task that waits for the lock of a connection."""

    def __init__(self, start: Callable[[Waiter], InFlight | None] | None = None) -> None:
        self.start = start
        """Sends the first request of its call, with `future` for the reply, or sends nothing and returns None. Called
        when the waiter gets the lock and nothing has to be awaited first."""
        self.started: Any = None
        """What `start` tells the task."""
        self.future: asyncio.Future[Any] = None  # type: ignore[assignment]
        """Of the lock, or of the reply to `in_flight`."""
        self.has_lock = False
        self.in_flight: InFlight | None = None
        """The first request of its call, if that was sent for it."""
        self.failure: BaseException | None = None
        """What has ended the wait for its reply."""
        self.is_late = False
        """Whether its deadline has passed."""
        self.deadline: float | None = None
        self.timeout: float | None = None
        """The time limit of its call: when in the event loop's time, and in seconds."""


class CoreInterrupter:
    """What an interrupt has left uncertain."""

    def __init__(self) -> None:
        self.is_pending = False
        """Whether an urgent byte was sent that no -213 has acknowledged, and no probe has followed."""
        self.is_unconfirmed = False
        """Whether an urgent byte was sent, and neither a statement nor the probe has acknowledged it."""
        self.has_unasked = False
        """Whether a -213 has ended a request that was not cancelled."""
        self.cancel_timer: asyncio.TimerHandle | None = None
        """Set while replies to cancelled requests are outstanding."""


class CoreDispatcher:
    """The lock of one connection, and the request that its holder waits for."""

    def __init__(self, channel: Any, stats: Any, binding: Any, interrupter: Any) -> None:
        self.channel = channel
        self._request = channel.request
        self.on_reply: Callable[[Any], bool | None] | None = None
        """The session's handler of ordinary replies, also those to deferred cleanup."""
        self.counts_plain = True
        """Whether that handler would only count the rows of a plain reply."""
        self._in_flight = channel.pending_replies
        self.stats = stats
        self.binding = binding
        self.interrupter = interrupter
        self.command_timeout: float | None = None
        self.is_acquired = False
        """Whether a task holds the lock; it is never free between one task and the next that waits for it."""
        self._waiters: OrderedDict[Waiter, None] = OrderedDict()
        """The tasks that wait for the lock, in order. One is removed without a search; a dict is slow to find its first
        key again."""
        self._started = False  # the holder starts once deferred cleanup is done
        self._holder: asyncio.Task[Any] | None = None  # task that holds the lock, if recorded
        self._deadline: float | None = None
        self._timeout: float | None = None  # of the current holder
        self._awaited: InFlight | None = None  # request that the holder waits for, or waited for last
        self._undelivered = 0  # replies whose `on_orphan` is still to be called
        self._deferred: deque[Any] = deque()
        self._idle_waiter: Waiter | None = None
        """The one that has the lock, and waits for replies and deferred cleanup."""
        self._before_send: Callable[[], None] | None = None
        """Called by `send`: raises while closing, or has the holder's next statement interrupted."""
        self._is_closing = False

    @property
    def is_open(self) -> bool:
        return self.channel.failure is None and not self._is_closing

    def try_acquire(self) -> bool:
        """Acquire the lock if nothing has to be awaited first; otherwise False, and `acquire` must be used.

        A holder that awaits the user's code must call `note_holder`.

        Raises:
            InterfaceError: the connection belongs to another event loop or process.
        """
        if _running_loop() is not self.binding.loop:
            raise self.binding.refusal()
        if self.is_acquired or not self._may_start():
            return False
        self.is_acquired = self._started = True
        if self.command_timeout is not None:
            self.extend_deadline()
        return True

    def _may_start(self) -> bool:
        """Whether the holder of the lock may send a request, because nothing has to be awaited first."""
        return not (
            self._in_flight
            or self._undelivered
            or self._deferred
            or self.interrupter.is_pending
            or self._is_closing
            or self.channel.failure is not None
        )

    def is_clean(self) -> bool:
        """Whether the session is open and idle, and no interrupt has left anything uncertain."""
        interrupter = self.interrupter
        return not (
            self.is_acquired or not self._may_start() or interrupter.is_unconfirmed or interrupter.has_unasked
        )

    def release(self) -> None:
        """Release the lock; deferred cleanup is sent immediately."""
        awaited = self._awaited
        if awaited is not None:
            self._awaited = None
            if awaited.future.cancelled() and not awaited.is_abandoned:
                self.abandon(awaited)
        self._started, self._holder = False, None
        if self._deadline is not None:
            self._deadline, self._timeout = None, self.command_timeout
        if self._before_send is not None:
            self._stop_interrupting()
        if self._waiters:
            self.pass_lock()
        else:
            self.is_acquired = False
        if self._deferred or self.interrupter.cancel_timer is not None:
            self._run_deferred()

    def enqueue(self, waiter: Waiter) -> bool:
        """Put *waiter* at the end of the queue for the lock, with a future to be awaited; False if the lock is free.

        Raises:
            ConnectionLost: the session has ended.
        """
        if self.channel.failure is not None or self._is_closing:
            self.check_open()
        if not self.is_acquired:
            return False
        self._waiters[waiter] = None
        waiter.future = _Future(loop=self.binding.loop)
        return True

    def pass_lock(self) -> None:
        """Pass the lock to the next waiter, if there is one. Its call starts now if nothing has to be awaited first."""
        waiters = self._waiters
        while waiters:
            waiter, _ = waiters.popitem(last=False)
            if waiter.future.done():  # its wait has failed
                continue
            waiter.has_lock = True
            try:
                if waiter.start is not None and self._may_start():
                    self._started, self._deadline, self._timeout = True, waiter.deadline, waiter.timeout
                    in_flight = waiter.in_flight = waiter.start(waiter)
                    if in_flight is not None:  # the waiter awaits its future
                        self.reply(in_flight)  # type: ignore[unused-awaitable]
            finally:
                if waiter.in_flight is None:
                    self._started, self._deadline, self._timeout = False, None, self.command_timeout
                    if not waiter.future.done():  # a codec of the user may have cancelled the task
                        waiter.future.set_result(None)
            return
        self.is_acquired = False

    def send(
        self,
        request: bytes | bytearray,
        reader: Any,
        interruptible: bool = False,
        on_reply: Callable[[Any], bool | None] | None = None,
        on_orphan: Callable[[Any], None] | None = None,
        on_lost: Callable[[Any], None] | None = None,
    ) -> InFlight:
        """Send *request* without waiting.

        Args:
            reader: of the reply.
            interruptible: the request runs a statement, which can be interrupted.
            on_reply: called with the reply when it arrives, even after the wait was cancelled. An exception in it ends
                the connection.
            on_orphan: called with the reply if the wait was cancelled.
            on_lost: called with the sender's error if the request was sent but its reply is lost.

        Raises:
            ConnectionLost: another task has already sent SQ_EXIT.
        """
        return self._send(request, InFlight(reader, interruptible, on_reply, on_orphan, on_lost))

    def send_statement(
        self,
        request: bytes | bytearray,
        reader: Any,
        on_lost: Callable[[Any], None] | None,
        future: asyncio.Future[Any] | None = None,
    ) -> InFlight:
        """`send` for a statement whose reply is ordinary.

        Args:
            future: of the reply; None: a new one.
        """
        in_flight = InFlight(reader, True, self.on_reply, None, on_lost)
        if future is not None:
            in_flight.future = future
        return self._send(request, in_flight)

    def _send(self, request: bytes | bytearray, in_flight: InFlight) -> InFlight:
        if self._before_send is not None:
            self._before_send()
        self._request(in_flight, request)
        return in_flight

    def reply(
        self, in_flight: InFlight, *, prefetched: bool = False, timeout: float | None = None
    ) -> Awaitable[Any]:
        """The reply, to be awaited immediately. If that is cancelled, the reply is still read.

        Args:
            prefetched: the caller does not hold the lock; the wait has a time limit of its own.
            timeout: with prefetched: seconds instead of command_timeout.

        Raises:
            QueryTimeout: when awaited, no reply within the time limit.
        """
        self.stats.round_trips += 1
        if in_flight.operation is not None:
            in_flight.operation.round_trips += 1
        if prefetched:
            seconds = self.command_timeout if timeout is None else timeout
            if seconds is not None:
                self._set_deadline(in_flight, seconds, None)
            return self._reply_or_abandon(in_flight)
        if self._awaited is not None and self._awaited.future.cancelled():
            self.abandon(self._awaited)
        self._awaited = in_flight
        if self._timeout is not None:
            self._set_deadline(in_flight, self._timeout, self._deadline)
        if in_flight.on_orphan is not None:
            return self._reply_or_abandon(in_flight)
        return in_flight.future  # no coroutine, which is faster: `release` handles a cancellation

    def _on_reply(self, in_flight: InFlight, reply: Any) -> bool:
        """Called with the reply to the oldest request in flight; returns whether more of it follows."""
        on_reply = in_flight.on_reply
        if on_reply is not None:
            if on_reply is self.on_reply and reply.is_plain and self.counts_plain:
                self.stats.rows += len(reply.rows)
            elif on_reply(reply):
                return True
        if in_flight is self._awaited:
            self._awaited = None  # nothing is left to abandon
        # Deferred: the channel is processing received data and cannot be dropped from within.
        if in_flight.on_orphan is not None and (in_flight.is_abandoned or in_flight.future.cancelled()):
            self._undelivered += 1
            self.binding.loop.call_soon(self._deliver_orphan, in_flight.on_orphan, reply)
        elif self._idle_waiter is not None or self.interrupter.cancel_timer is not None or self._deferred:
            self.binding.loop.call_soon(self._run_deferred)
        return False

    # -- what is rare, in the subclass --------------------------------------------------------------------------------

    def check_open(self) -> None:
        """Raise the error that ended the session, if it has ended."""
        raise NotImplementedError

    def extend_deadline(self) -> None:
        """Restart the time limit of the holder's call."""
        raise NotImplementedError

    def abandon(self, in_flight: InFlight) -> None:
        """Called when the wait for a reply was cancelled."""
        raise NotImplementedError

    def _set_deadline(self, in_flight: InFlight, seconds: float, deadline: float | None) -> None:
        """Limit the wait: until the *deadline* of the holder's call, or without one for *seconds* from now."""
        raise NotImplementedError

    def _reply_or_abandon(self, in_flight: InFlight) -> Awaitable[Any]:
        """Await a reply that has an `on_orphan`."""
        raise NotImplementedError

    def _deliver_orphan(self, on_orphan: Callable[[Any], None], reply: Any) -> None:
        """Call `on_orphan` with a reply that is no longer awaited."""
        raise NotImplementedError

    def _run_deferred(self) -> None:
        """Send the next cleanup, or wake the next waiter."""
        raise NotImplementedError

    def _stop_interrupting(self) -> None:
        """Called when a holder releases the lock that `cancel` was called for."""
        raise NotImplementedError
