"""The dispatcher: order of tasks and requests, interrupts as a state machine, and both timers."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx._speedups.round_trip import InFlight, Waiter
from aioifx.channel import Channel
from aioifx.client.observation.operation import Stats
from aioifx.client.session.cleanup import Cleanup
from aioifx.client.session.dispatcher import Dispatcher
from aioifx.client.session.interrupts import INTERRUPTED, URGENT_BYTE
from aioifx.errors import ConnectionLost, InterfaceError, ProtocolError, QueryTimeout
from aioifx.testing.messages import DIALECT, EOT, done, error
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import MAX_REPLY, Reply, ReplyReader
from tests.scripted import cancelled, options_with, run_ready_tasks, until

FINE = done(1) + EOT
HIT = error(INTERRUPTED) + EOT
PROBE = "probe"


class Wire(asyncio.Transport):
    """What the line sends, in order; urgent bytes among it, as ``!``. Nothing is answered by itself."""

    def __init__(self) -> None:
        super().__init__({"peername": (f"peer {id(self)}", 1)})  # the only one of its name in logs
        self.sent: list[str] = []
        self.unsent = 0
        self.ended = asyncio.Event()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent.append(bytes(data).removesuffix(EOT).decode())

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def is_closing(self) -> bool:
        return self.ended.is_set()

    def close(self) -> None:
        self.ended.set()

    def abort(self) -> None:
        self.ended.set()


class Rig:
    """A line, and both ends of its wire in the test's hands."""

    def __init__(self, **options: Any) -> None:
        self.wire = Wire()
        self.channel = Channel()
        self.channel.connection_made(self.wire)
        self.channel.send_urgent = self._send_urgent  # type: ignore[method-assign]
        self.reader = ReplyReader(DIALECT, None, MAX_REPLY)
        self.has_socket = True
        self.on_urgent: Callable[[], None] = lambda: None
        self.stats = Stats()
        self.dispatcher = Dispatcher(
            self.channel,
            self.stats,
            self.reader,
            self.on_reply,
            lambda: self.cleanup(PROBE),
            options_with(**options),
        )

    @property
    def sent(self) -> list[str]:
        return self.wire.sent

    @property
    def urgent(self) -> int:
        return self.sent.count("!")

    def _send_urgent(self, byte: bytes) -> bool:
        assert byte == URGENT_BYTE
        if self.has_socket:
            self.sent.append("!")
            self.on_urgent()
        return self.has_socket

    def on_reply(self, reply: Reply) -> None:
        if reply.error is not None and reply.error.sqlcode == INTERRUPTED:
            self.dispatcher.interrupter.on_acknowledged()

    def send(self, name: str, *, interruptible: bool = True, **more: Any) -> InFlight:
        return self.dispatcher.send(
            name.encode() + EOT, self.reader, on_reply=self.on_reply, interruptible=interruptible, **more
        )

    def cleanup(self, name: str, **more: Any) -> Cleanup:
        def put(outbox: Outbox) -> None:
            outbox.raw(name.encode())

        return Cleanup(put, **more)

    def answer(self, data: bytes = FINE) -> None:
        self.channel.data_received(data)

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        await self.dispatcher.acquire()
        try:
            yield
        finally:
            self.dispatcher.release()

    async def call(self, *names: str, interruptible: bool = True) -> list[Reply]:
        """A whole call: its requests leave at once, and are waited for in order."""
        async with self.turn():
            requests = [self.send(name, interruptible=interruptible) for name in names]
            try:
                return [await self.dispatcher.reply(in_flight) for in_flight in requests]
            except BaseException:
                for in_flight in requests:
                    self.dispatcher.abandon(in_flight)
                raise

    async def begin(self, *names: str, interruptible: bool = True) -> asyncio.Task[list[Reply]]:
        """A call that has sent everything and waits."""
        task = asyncio.ensure_future(self.call(*names, interruptible=interruptible))
        await until(lambda: self.sent[-1:] == [names[-1]])
        return task


@pytest.fixture
async def rigged() -> AsyncIterator[Callable[..., Rig]]:
    """Makes rigs, and ends them."""
    rigs: list[Rig] = []

    def made(**options: Any) -> Rig:
        rigs.append(Rig(**options))
        return rigs[-1]

    yield made
    for rig in rigs:
        rig.channel.abort()
        rig.channel.connection_lost(None)


Rigged = Callable[..., Rig]

# -- turns ------------------------------------------------------------------------------------------------------------


async def test_acquires_are_served_in_order(rigged: Rigged) -> None:
    rig = rigged()
    tasks = [asyncio.ensure_future(rig.call(name)) for name in "abcd"]
    for n in range(4):
        await run_ready_tasks()
        assert rig.sent == [*"abcd"[: n + 1]]
        rig.answer()
    await asyncio.gather(*tasks)
    assert rig.stats.round_trips == 4


async def test_a_task_that_has_acquired_the_session_cannot_acquire_it_again(rigged: Rigged) -> None:
    rig = rigged()
    async with rig.turn():
        with pytest.raises(InterfaceError, match="already uses the connection"):
            await rig.dispatcher.acquire()
    async with rig.turn():
        pass


async def test_no_error_of_a_wait_keeps_the_task_that_holds_the_lock(rigged: Rigged) -> None:
    rig = rigged()

    async def again() -> None:
        async with rig.turn(), rig.turn():
            pass

    async def late() -> None:
        async with rig.turn():
            await asyncio.create_task(rig.dispatcher.acquire(0.01))

    gc.collect()
    gc.disable()
    try:
        for work, expected in ((again(), InterfaceError), (late(), QueryTimeout)):
            holder = asyncio.create_task(work)
            await asyncio.wait([holder])
            assert isinstance(holder.exception(), expected)
            kept = weakref.ref(holder)
            del holder
            await run_ready_tasks()
            assert kept() is None, "its exception refers to the frames of the wait"
    finally:
        gc.enable()


async def test_a_wait_does_not_keep_the_task_that_held_the_lock_as_it_began(rigged: Rigged) -> None:
    rig = rigged()
    holder = asyncio.create_task(rig.dispatcher.acquire())
    await run_ready_tasks()
    tasks = [asyncio.create_task(rig.dispatcher.acquire()) for _ in range(2)]
    await run_ready_tasks()
    rig.dispatcher.release()
    await tasks[0]
    kept = weakref.ref(holder)
    del holder
    assert kept() is None and not tasks[1].done()
    rig.dispatcher.release()
    await tasks[1]


async def test_a_second_acquire_by_the_noted_holder_is_rejected(rigged: Rigged) -> None:
    rig = rigged()
    assert rig.dispatcher.try_acquire()
    assert not rig.dispatcher.try_acquire()
    rig.dispatcher.note_holder()
    with pytest.raises(InterfaceError, match="already uses the connection"):
        await rig.dispatcher.acquire()
    rig.dispatcher.release()
    async with rig.turn():
        pass


async def test_a_reply_awaited_without_a_coroutine_is_abandoned_with_the_release(rigged: Rigged) -> None:
    rig = rigged()

    async def call() -> Reply:
        async with rig.turn():
            reply: Reply = await rig.dispatcher.reply(rig.send("a"))
            return reply

    task = asyncio.ensure_future(call())
    await until(lambda: rig.sent == ["a"])
    assert rig.urgent == 0
    await cancelled(task)
    assert rig.urgent == 1
    other = asyncio.ensure_future(call())
    await run_ready_tasks()
    assert rig.sent == ["a", "!"]  # nothing before the answer has come, and been read to its end
    rig.answer(HIT)
    await until(lambda: rig.sent == ["a", "!", "a"])
    rig.answer()
    assert (await other).done is not None
    assert rig.stats.round_trips == 2


async def test_an_answer_that_came_leaves_nothing_to_abandon(rigged: Rigged) -> None:
    rig = rigged()
    async with rig.turn():
        waiting = rig.dispatcher.reply(rig.send("a"))
        rig.answer()
        assert (await waiting).done is not None
    assert rig.dispatcher.is_idle
    assert rig.urgent == 0


async def test_a_waiter_that_is_cancelled_sends_nothing_and_delays_no_other(rigged: Rigged) -> None:
    rig = rigged()
    first = await rig.begin("a")
    second, third = (asyncio.ensure_future(rig.call(name)) for name in "bc")
    await run_ready_tasks()
    await cancelled(second)
    rig.answer()
    await first
    await run_ready_tasks()
    assert rig.sent == ["a", "c"]
    rig.answer()
    await third


async def test_a_call_of_several_requests_keeps_the_connection(rigged: Rigged) -> None:
    rig = rigged()

    async def call() -> None:
        async with rig.turn():
            for name in "abc":
                await rig.dispatcher.reply(rig.send(name))

    first, second = asyncio.ensure_future(call()), asyncio.ensure_future(rig.call("d"))
    for sent in ("a", "ab", "abc", "abcd"):
        await run_ready_tasks()
        assert rig.sent == [*sent]
        rig.answer()
    await asyncio.gather(first, second)


async def test_an_acquire_waits_for_all_replies(rigged: Rigged) -> None:
    rig = rigged()
    async with rig.turn():
        rig.dispatcher.abandon(rig.send("a"), interrupt=False)
        rig.dispatcher.abandon(rig.send("b"), interrupt=False)
    after = asyncio.ensure_future(rig.call("c"))
    for _ in range(2):
        await run_ready_tasks()
        assert rig.sent == ["a", "b"]
        rig.answer()
    await run_ready_tasks()
    assert rig.sent == ["a", "b", "c"]
    rig.answer()
    await after


async def test_an_acquire_waits_for_all_cleanup_even_if_deferred_at_the_last_moment(rigged: Rigged) -> None:
    rig = rigged()
    async with rig.turn():
        rig.dispatcher.abandon(rig.send("a"), interrupt=False)
    after = asyncio.ensure_future(rig.call("b"))
    await run_ready_tasks()
    rig.answer()
    # The waiting task's future is resolved. Before the task wakes up, a finalizer defers cleanup.
    asyncio.get_running_loop().call_soon(rig.dispatcher.defer, rig.cleanup("close"))
    await run_ready_tasks()
    assert rig.sent == ["a", "close"]
    rig.answer()
    await run_ready_tasks()
    assert rig.sent == ["a", "close", "b"]
    rig.answer()
    await after


async def test_it_is_idle_when_nothing_is_in_flight_and_no_task_has_or_wants_it(rigged: Rigged) -> None:
    rig = rigged()
    assert rig.dispatcher.is_idle
    free: list[bool] = []

    async def twice() -> None:
        async with rig.turn():
            free.append(rig.dispatcher.is_idle)
            await run_ready_tasks()
        free.append(rig.dispatcher.is_idle)  # the task that waited has not woken up yet

    await asyncio.gather(twice(), twice())
    assert free == [False, False, False, True]
    assert rig.dispatcher.is_idle
    rig.dispatcher.defer(rig.cleanup("close"))
    assert not rig.dispatcher.is_idle
    rig.answer()
    await run_ready_tasks()
    assert rig.dispatcher.is_idle
    rig.channel.abort()
    assert not rig.dispatcher.is_idle


async def test_all_waiting_tasks_get_the_error_of_the_end(rigged: Rigged) -> None:
    rig = rigged()
    tasks = [asyncio.ensure_future(rig.call(name)) for name in "abc"]
    await run_ready_tasks()
    rig.channel.abort(ConnectionLost("the cable"))
    raised = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(error) for error in raised] == [ConnectionLost] * 3
    assert all("the cable" in str(error) for error in raised)
    with pytest.raises(ConnectionLost, match="the cable"):
        await rig.dispatcher.acquire()


async def test_after_exit_nothing_is_sent(rigged: Rigged) -> None:
    rig = rigged()
    async with rig.turn():
        rig.dispatcher.defer(rig.cleanup("close"))
        rig.dispatcher.begin_close()
        with pytest.raises(ConnectionLost, match="being closed"):
            rig.send("a")
    rig.dispatcher.defer(rig.cleanup("release"))
    with pytest.raises(ConnectionLost, match="being closed"):
        await rig.dispatcher.acquire()
    assert rig.sent == []


async def test_after_exit_a_task_that_waits_for_an_earlier_reply_fails(rigged: Rigged) -> None:
    rig = rigged()
    async with rig.turn():
        rig.dispatcher.abandon(rig.send("a"), interrupt=False)
    waiting = asyncio.ensure_future(rig.call("b"))
    await run_ready_tasks()
    rig.dispatcher.begin_close()
    rig.answer()
    with pytest.raises(ConnectionLost, match="being closed"):
        await waiting


async def test_an_acquire_at_the_moment_of_the_exit_does_not_keep_the_channel_open(rigged: Rigged) -> None:
    rig = rigged()
    await rig.dispatcher.acquire()
    rig.send("exit", interruptible=False)

    def leave() -> None:  # while the acquire lets finalizers run
        rig.dispatcher.begin_close()
        rig.channel.close_when_answered()
        rig.dispatcher.release()

    asyncio.get_running_loop().call_soon(leave)
    with pytest.raises(ConnectionLost, match="being closed"):
        await rig.dispatcher.acquire()
    rig.answer()
    assert rig.wire.is_closing()


@pytest.mark.parametrize("is_lost", [False, True])
async def test_after_the_end_no_call_waits_for_the_lock(rigged: Rigged, is_lost: bool) -> None:
    rig = rigged()
    assert rig.dispatcher.try_acquire()
    if is_lost:
        rig.channel.abort(ConnectionLost("the cable"))
    else:
        rig.dispatcher.begin_close()
    reason = "the cable" if is_lost else "being closed"
    call = asyncio.ensure_future(rig.call("a"))
    await run_ready_tasks()
    assert call.done(), "the lock is not released yet"
    with pytest.raises(ConnectionLost, match=reason):
        await call
    rig.dispatcher.note_holder()
    with pytest.raises(ConnectionLost, match=reason):
        await rig.dispatcher.acquire()
    rig.dispatcher.release()


# -- tasks that wait for the lock -------------------------------------------------------------------------------------


class Started(Waiter):
    """A waiter whose call is started for it, unless *can_start* is False or an exception."""

    def __init__(self, rig: Rig, name: str, can_start: bool | BaseException = True) -> None:
        super().__init__(self.send)
        self.rig, self.name, self.can_start = rig, name, can_start

    def send(self, _: Waiter) -> InFlight | None:
        if isinstance(self.can_start, BaseException):
            raise self.can_start
        if not self.can_start:
            return None
        rig = self.rig
        return rig.dispatcher.send_statement(self.name.encode() + EOT, rig.reader, None, self.future)

    async def call(self, limit: float | None = None) -> Reply:
        """A whole call, as `execute.call`."""
        await self.rig.dispatcher.acquire(limit, waiter=self)
        try:
            if self.in_flight is None:
                return await self.rig.dispatcher.reply(self.rig.send(self.name))  # type: ignore[no-any-return]
            if self.failure is not None:
                raise self.failure
            return await self.future  # type: ignore[no-any-return]
        finally:
            self.rig.dispatcher.release()


async def waiting(rig: Rig, count: int) -> list[asyncio.Task[None]]:
    """Tasks that wait for the lock, in order."""
    tasks = [asyncio.create_task(rig.dispatcher.acquire()) for _ in range(count)]
    await until(lambda: len(rig.dispatcher._waiters) == count)
    return tasks


async def test_the_lock_is_passed_on_in_order_and_is_never_free_between(rigged: Rigged) -> None:
    rig = rigged()
    await rig.dispatcher.acquire()
    tasks = await waiting(rig, 3)
    for number, task in enumerate(tasks):
        rig.dispatcher.release()
        assert rig.dispatcher.is_acquired, "no other task may acquire it before the waiter runs"
        await task
        assert [other.done() for other in tasks] == [index <= number for index in range(3)]
    rig.dispatcher.release()
    assert not rig.dispatcher.is_acquired


class Compared(Waiter):
    """Counts how often one is compared with another."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        Compared.comparisons += 1
        return self is other

    __hash__ = object.__hash__


@pytest.mark.parametrize("count", [10, 100, 1000])
async def test_cancelled_waits_cost_each_no_more_if_they_are_many(rigged: Rigged, count: int) -> None:
    """The last first: a search would compare each with all before it."""
    rig = rigged()
    await rig.dispatcher.acquire()
    tasks = [asyncio.create_task(rig.dispatcher.acquire(waiter=Compared())) for _ in range(count)]
    await until(lambda: len(rig.dispatcher._waiters) == count)
    Compared.comparisons = 0
    for task in reversed(tasks):
        task.cancel()
        await asyncio.wait([task])
    assert not rig.dispatcher._waiters
    assert Compared.comparisons <= 2 * count


async def test_a_wait_takes_its_place_at_once(rigged: Rigged) -> None:
    rig = rigged()
    await rig.dispatcher.acquire()
    task = asyncio.create_task(rig.dispatcher.acquire())
    await asyncio.sleep(0)  # one iteration
    assert len(rig.dispatcher._waiters) == 1
    rig.dispatcher.release()
    await task
    rig.dispatcher.release()


async def test_a_lock_that_its_task_has_lost_to_another_is_waited_for(rigged: Rigged) -> None:
    rig = rigged()
    await rig.dispatcher.acquire()

    async def take() -> None:  # while the acquire lets finalizers run
        rig.dispatcher.release()
        async with rig.turn():
            await run_ready_tasks()

    other = asyncio.create_task(take())
    await rig.dispatcher.acquire()
    assert other.done()
    rig.dispatcher.release()


async def test_a_wait_that_has_ended_leaves_no_timer(rigged: Rigged) -> None:
    rig = rigged()
    assert rig.dispatcher.try_acquire()
    waiter = Compared()
    task = asyncio.create_task(rig.dispatcher.acquire(60, waiter=waiter))
    await run_ready_tasks()
    rig.dispatcher.release()
    await task
    kept = weakref.ref(waiter)
    del waiter
    assert kept() is None, "the timer refers to it"
    rig.dispatcher.release()


async def test_a_cancelled_wait_loses_its_place(rigged: Rigged) -> None:
    rig = rigged()
    await rig.dispatcher.acquire()
    first, second = await waiting(rig, 2)
    await cancelled(first)
    assert len(rig.dispatcher._waiters) == 1
    rig.dispatcher.release()
    await second
    assert rig.dispatcher.is_acquired


async def test_a_wait_cancelled_after_it_was_given_the_lock_passes_it_on(rigged: Rigged) -> None:
    rig = rigged()
    await rig.dispatcher.acquire()
    first, second = await waiting(rig, 2)
    rig.dispatcher.release()
    await cancelled(first)
    await second
    rig.dispatcher.release()
    assert not rig.dispatcher.is_acquired


async def test_a_wait_that_is_being_cancelled_is_skipped(rigged: Rigged) -> None:
    rig = rigged()
    await rig.dispatcher.acquire()
    first, second = await waiting(rig, 2)
    first.cancel()
    rig.dispatcher.release()  # before the cancelled task runs
    await second
    with pytest.raises(asyncio.CancelledError):
        await first
    rig.dispatcher.release()
    assert not rig.dispatcher.is_acquired


async def test_the_release_sends_the_request_of_the_next_call(rigged: Rigged) -> None:
    rig = rigged()
    first = await rig.begin("a")
    calls = [asyncio.ensure_future(Started(rig, name).call()) for name in "bc"]
    await run_ready_tasks()
    assert rig.sent == ["a"]
    for sent in ("ab", "abc"):
        rig.answer()
        await asyncio.sleep(0)  # one iteration, in which the task of the reply releases the lock
        assert rig.sent == [*sent]
    assert not calls[1].done()
    rig.answer()
    assert [reply.done is not None for reply in await asyncio.gather(*calls)] == [True, True]
    await first
    assert rig.stats.round_trips == 3
    assert rig.dispatcher.is_idle and rig.urgent == 0


@pytest.mark.parametrize("can_start", [False, ValueError("no")])
async def test_a_call_that_cannot_be_started_starts_itself(
    rigged: Rigged, can_start: bool | BaseException
) -> None:
    rig = rigged(command_timeout=60)
    first = await rig.begin("a")
    second, third = (
        asyncio.ensure_future(Started(rig, *each).call()) for each in (("b", can_start), ("c", True))
    )
    await run_ready_tasks()
    rig.answer()
    error = await asyncio.gather(first, return_exceptions=True)
    assert (error[0] is can_start) == isinstance(can_start, ValueError), "an error of `start` is a defect"
    await until(lambda: rig.sent == ["a", "b"])
    rig.answer()
    await until(lambda: rig.sent == ["a", "b", "c"])
    rig.answer()
    await asyncio.gather(second, third)
    assert rig.dispatcher.is_idle


async def test_no_call_is_started_before_a_reply_or_cleanup_that_comes_first(rigged: Rigged) -> None:
    rig = rigged()
    async with rig.turn():
        rig.dispatcher.abandon(rig.send("a"), interrupt=False)
        second = asyncio.ensure_future(Started(rig, "b").call())
        await run_ready_tasks()
        rig.dispatcher.defer(rig.cleanup("close"))
    await run_ready_tasks()
    assert rig.sent == ["a"]
    rig.answer()
    await run_ready_tasks()
    assert rig.sent == ["a", "close"]
    rig.answer()
    await run_ready_tasks()
    assert rig.sent == ["a", "close", "b"]
    rig.answer()
    await second


async def test_a_started_call_that_is_cancelled_is_interrupted_and_passes_the_lock_on(rigged: Rigged) -> None:
    rig = rigged()
    first = await rig.begin("a")
    second, third = (asyncio.ensure_future(Started(rig, name).call()) for name in "bc")
    await run_ready_tasks()
    rig.answer()
    await first
    assert rig.sent == ["a", "b"]
    await cancelled(second)
    assert rig.sent == ["a", "b", "!"]
    rig.answer(HIT)
    await until(lambda: rig.sent == ["a", "b", "!", "c"])
    rig.answer()
    await third
    assert rig.dispatcher.is_idle


async def test_a_started_call_cancelled_at_the_moment_of_its_reply_is_cancelled(rigged: Rigged) -> None:
    rig = rigged()
    first = await rig.begin("a")
    second, third = (asyncio.ensure_future(Started(rig, name).call()) for name in "bc")
    await run_ready_tasks()
    rig.answer()
    await first
    rig.answer()
    await cancelled(second)
    assert rig.sent == ["a", "b", "c"] and rig.urgent == 0
    rig.answer()
    await third


async def test_a_started_call_has_the_time_limit_that_began_with_its_wait(
    rigged: Rigged, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = rigged()
    limits: list[tuple[float, float | None]] = []
    monkeypatch.setattr(
        rig.dispatcher, "_set_deadline", lambda _, seconds, deadline: limits.append((seconds, deadline))
    )
    first = await rig.begin("a")
    before = asyncio.get_running_loop().time()
    waiter = Started(rig, "b")
    second = asyncio.ensure_future(waiter.call(60))
    await run_ready_tasks()
    rig.answer()
    await first
    assert rig.sent == ["a", "b"] and limits == [(60, waiter.deadline)]
    assert waiter.deadline is not None and waiter.deadline >= before + 60
    rig.answer()
    await second
    third = await rig.begin("c")
    assert len(limits) == 1, "the next call has none"
    rig.answer()
    await third


async def test_a_started_call_whose_reply_does_not_arrive_in_time_is_interrupted(rigged: Rigged) -> None:
    rig = rigged()
    first = await rig.begin("a")
    second = asyncio.ensure_future(Started(rig, "b").call(0.05))
    await run_ready_tasks()
    rig.answer()
    await first
    with pytest.raises(QueryTimeout, match=r"no answer within 0\.05 s; the statement was interrupted"):
        await second
    assert rig.sent == ["a", "b", "!"]
    rig.answer(HIT)
    assert rig.dispatcher.is_idle


async def test_a_call_that_is_late_while_it_waits_is_not_started(rigged: Rigged) -> None:
    rig = rigged()
    first = await rig.begin("a")
    second = asyncio.ensure_future(Started(rig, "b").call(0.01))
    with pytest.raises(QueryTimeout, match=r"not free within 0\.01 s; nothing was sent"):
        await second
    rig.answer()
    await first
    assert rig.sent == ["a"] and rig.dispatcher.is_idle


async def test_a_call_that_is_late_at_the_moment_it_gets_the_lock_does_not_wait_for_cleanup(
    rigged: Rigged,
) -> None:
    rig = rigged()
    await rig.dispatcher.acquire()
    waiter = Waiter()
    second = asyncio.ensure_future(rig.dispatcher.acquire(60, waiter=waiter))
    await run_ready_tasks()
    rig.dispatcher.defer(rig.cleanup("close"))
    rig.dispatcher.release()
    rig.dispatcher._time_out_waiter(waiter)  # the deadline, before the task runs
    with pytest.raises(QueryTimeout, match="not free within 60 s"):
        await second
    rig.answer()
    assert rig.dispatcher.is_idle


async def test_the_connection_is_lost_while_calls_wait(rigged: Rigged) -> None:
    rig = rigged()
    first = await rig.begin("a")
    calls = [asyncio.ensure_future(Started(rig, name).call()) for name in "bc"]
    await run_ready_tasks()
    rig.answer()
    await first
    rig.channel.abort(ConnectionLost("gone"))
    for call in calls:
        with pytest.raises(ConnectionLost, match="gone"):
            await call
    assert rig.sent == ["a", "b"]


async def test_cancel_reaches_a_started_call(rigged: Rigged) -> None:
    rig = rigged()
    first = await rig.begin("a")
    second = asyncio.ensure_future(Started(rig, "b").call())
    await run_ready_tasks()
    rig.answer()
    await first
    rig.dispatcher.cancel()
    assert rig.sent == ["a", "b", "!"]
    rig.answer(HIT)
    reply = await second
    assert reply.error is not None and reply.error.sqlcode == INTERRUPTED


async def test_a_cancel_for_the_call_before_does_not_reach_the_started_one(rigged: Rigged) -> None:
    rig = rigged()
    async with rig.turn():
        second = asyncio.ensure_future(Started(rig, "b").call())
        await run_ready_tasks()
        rig.dispatcher.cancel()  # nothing runs: the holder's next request is to be interrupted
    assert rig.sent == ["b"]
    await run_ready_tasks()
    assert rig.urgent == 0
    rig.answer()
    await second


# -- answers ----------------------------------------------------------------------------------------------------------


async def test_unsolicited_bytes_answer_nothing(rigged: Rigged) -> None:
    rig = rigged()
    rig.answer()
    with pytest.raises(ProtocolError, match="unexpected message"):
        await rig.call("a")


async def test_nor_do_they_answer_what_an_abandoned_answer_makes_us_send(rigged: Rigged) -> None:
    rig = rigged()
    async with rig.turn():
        in_flight = rig.send("prepare", on_orphan=lambda _: rig.dispatcher.defer(rig.cleanup("release")))
        rig.dispatcher.abandon(in_flight, interrupt=False)
    rig.answer(FINE + FINE)
    await run_ready_tasks()
    assert isinstance(rig.channel.failure, ProtocolError) and "unexpected message" in str(rig.channel.failure)


async def test_orphaned_is_called_only_if_no_task_waits_for_the_reply(rigged: Rigged) -> None:
    rig, shown = rigged(), []

    async def call(name: str) -> None:
        async with rig.turn():
            await rig.dispatcher.reply(
                rig.send(name, interruptible=False, on_orphan=lambda _: shown.append(name))
            )

    for name in "abc":
        task = asyncio.ensure_future(call(name))
        await run_ready_tasks()
        if name == "a":  # answered while a task waits
            rig.answer()
            await task
        elif name == "b":  # cancelled, then answered
            await cancelled(task)
            rig.answer()
        else:  # answered, and cancelled before the task has seen it
            rig.answer()
            await cancelled(task)
        await run_ready_tasks()
    assert shown == ["b", "c"]


async def test_a_reply_callback_may_close_the_connection_with_a_reason(rigged: Rigged) -> None:
    rig = rigged()
    reason = ConnectionLost("could not be rolled back")
    rig.dispatcher.defer(rig.cleanup("rollback", on_reply=lambda _: rig.channel.abort(reason)))
    waiting = asyncio.ensure_future(rig.call("a"))
    await run_ready_tasks()
    rig.answer(error(-458) + EOT)
    with pytest.raises(ConnectionLost, match="could not be rolled back"):
        await waiting
    assert rig.sent == ["rollback"]
    assert rig.channel.failure is reason


# -- deferred cleanup -------------------------------------------------------------------------------------------------


async def test_cleanup_is_sent_immediately_when_no_task_has_the_session(rigged: Rigged) -> None:
    rig = rigged()
    rig.dispatcher.defer(rig.cleanup("close"), rig.cleanup("release"))
    assert rig.sent == ["close"]  # one at a time
    rig.answer()
    await run_ready_tasks()
    assert rig.sent == ["close", "release"]
    rig.answer()
    await run_ready_tasks()
    assert rig.dispatcher.is_idle
    assert rig.stats.round_trips == 2


async def test_cleanup_waits_for_a_release_and_the_next_acquire_for_the_cleanup(rigged: Rigged) -> None:
    rig = rigged()
    async with rig.turn():
        after = asyncio.ensure_future(rig.call("b"))
        await run_ready_tasks()
        rig.dispatcher.defer(rig.cleanup("close"))
        rig.dispatcher.defer(rig.cleanup("release"))
        assert rig.sent == []
    for expected in (["close"], ["close", "release"], ["close", "release", "b"]):
        await run_ready_tasks()
        assert rig.sent == expected
        rig.answer()
    await after


async def test_cleanup_keeps_its_order_except_for_what_comes_first(rigged: Rigged) -> None:
    rig = rigged()
    async with rig.turn():
        rig.dispatcher.defer(rig.cleanup("c"))
        rig.dispatcher.defer(rig.cleanup("d"))
        rig.dispatcher.defer_first(rig.cleanup("a"), rig.cleanup("b"))
    for _ in "abcd":
        rig.answer()
        await run_ready_tasks()
    assert rig.sent == [*"abcd"]


async def test_whether_cleanup_is_needed_is_checked_when_it_is_sent(rigged: Rigged) -> None:
    rig, needed = rigged(), True
    async with rig.turn():
        rig.dispatcher.defer(rig.cleanup("close"))
        rig.dispatcher.defer(rig.cleanup("commit", still_needed=lambda: needed), rig.cleanup("release"))
    needed = False
    rig.answer()
    await run_ready_tasks()
    assert rig.sent == ["close", "release"]
    rig.answer()
    await run_ready_tasks()
    assert rig.dispatcher.is_idle


async def test_cleanup_that_is_not_needed_delays_no_call(rigged: Rigged) -> None:
    rig = rigged()
    async with rig.turn():
        rig.dispatcher.defer(rig.cleanup("commit", still_needed=lambda: False))
    task = await rig.begin("a")
    assert rig.sent == ["a"]
    rig.answer()
    await task


async def test_the_reply_to_cleanup_is_passed_to_it_and_may_defer_more(rigged: Rigged) -> None:
    rig, answers = rigged(), []

    def on_reply(reply: Reply) -> None:
        answers.append(reply.error)
        rig.dispatcher.defer_first(rig.cleanup("release"))

    rig.dispatcher.defer(rig.cleanup("prepare", on_reply=on_reply), rig.cleanup("last"))
    for _ in range(3):
        rig.answer()
        await run_ready_tasks()
    assert rig.sent == ["prepare", "release", "last"]
    assert answers == [None]


async def test_a_finalizer_may_defer_cleanup_from_any_thread(rigged: Rigged) -> None:
    rig = rigged()
    await asyncio.to_thread(rig.dispatcher.call_threadsafe, rig.dispatcher.defer, rig.cleanup("close"))
    await run_ready_tasks()
    assert rig.sent == ["close"]
    rig.channel.abort()
    rig.dispatcher.call_threadsafe(rig.dispatcher.defer, rig.cleanup("release"))
    await run_ready_tasks()
    assert rig.sent == ["close"]


async def test_with_pipelining_cleanup_leaves_with_the_next_request_and_is_not_awaited(
    rigged: Rigged,
) -> None:
    rig = rigged(pipelining=True)
    async with rig.turn():
        rig.dispatcher.defer(
            rig.cleanup("close"), rig.cleanup("commit", still_needed=lambda: False), rig.cleanup("release")
        )
    task = await rig.begin("a")
    assert rig.sent == ["close", "release", "a"]
    rig.answer(EOT + EOT + FINE)
    assert [reply.done and reply.done.rows for reply in await task] == [1]
    assert rig.stats.round_trips == 1


async def test_with_pipelining_a_task_that_needs_it_settled_waits_for_all_cleanup(rigged: Rigged) -> None:
    rig = rigged(pipelining=True)
    async with rig.turn():
        rig.dispatcher.defer(rig.cleanup("close"), rig.cleanup("release"))
    task = asyncio.ensure_future(rig.dispatcher.acquire(idle=True))
    await run_ready_tasks()
    assert rig.sent == ["close"]
    rig.answer(EOT)
    await run_ready_tasks()
    assert rig.sent == ["close", "release"]
    assert not task.done()
    rig.answer(EOT)
    await task
    rig.dispatcher.release()


async def test_with_pipelining_a_reply_that_is_being_interrupted_is_still_awaited(rigged: Rigged) -> None:
    rig = rigged(pipelining=True)
    await cancelled(await rig.begin("a"))
    rig.dispatcher.defer(rig.cleanup("close"))
    after = asyncio.ensure_future(rig.call("b"))
    await run_ready_tasks()
    assert rig.sent == ["a", "!"]
    rig.answer(HIT)
    await run_ready_tasks()
    assert rig.sent == ["a", "!", "close"]
    rig.answer()
    await run_ready_tasks()
    assert rig.sent == ["a", "!", "close", "b"]
    rig.answer()
    await after


async def test_with_pipelining_a_byte_that_came_too_late_is_followed_by_a_probe(rigged: Rigged) -> None:
    rig = rigged(pipelining=True)
    task = await rig.begin("a")
    rig.dispatcher.cancel()
    rig.answer()
    await task
    rig.dispatcher.defer(rig.cleanup("close"))
    after = asyncio.ensure_future(rig.call("b"))
    await run_ready_tasks()
    assert rig.sent == ["a", "!", PROBE]
    rig.answer(HIT)
    await run_ready_tasks()
    assert rig.sent == ["a", "!", PROBE, "close"]
    rig.answer()
    await run_ready_tasks()
    assert rig.sent == ["a", "!", PROBE, "close", "b"]
    rig.answer()
    await after


async def test_with_pipelining_what_runs_is_interrupted_when_it_comes_to_the_head(rigged: Rigged) -> None:
    rig = rigged(pipelining=True)
    rig.dispatcher.defer(rig.cleanup("close"))
    task = await rig.begin("a")
    await cancelled(task)
    assert rig.urgent == 0  # the server is still closing, and must not be interrupted in that
    rig.answer(EOT)
    await run_ready_tasks()
    assert rig.sent == ["close", "a", "!"]
    rig.answer(HIT)


# -- the urgent byte --------------------------------------------------------------------------------------------------


async def test_a_cancelled_call_that_runs_a_statement_is_interrupted_once(rigged: Rigged) -> None:
    rig = rigged()
    task = await rig.begin("a")
    task.cancel()
    await run_ready_tasks()
    assert rig.sent == ["a", "!"]
    rig.answer(HIT)
    await run_ready_tasks()
    assert rig.dispatcher.is_idle and not rig.dispatcher.interrupter.is_unconfirmed
    assert rig.sent == ["a", "!"]


async def test_one_that_runs_no_statement_is_not_interrupted(rigged: Rigged) -> None:
    rig = rigged()
    await cancelled(await rig.begin("prepare", interruptible=False))
    assert rig.sent == ["prepare"]
    rig.answer()
    await run_ready_tasks()
    assert rig.dispatcher.is_idle and rig.sent == ["prepare"]


async def test_one_whose_reply_has_arrived_is_not_interrupted(rigged: Rigged) -> None:
    rig = rigged()
    task = await rig.begin("a")
    rig.answer()
    await cancelled(task)
    assert rig.sent == ["a"] and rig.dispatcher.is_idle


async def test_half_a_request_is_not_interrupted(rigged: Rigged) -> None:
    """The byte would overtake the rest of it."""
    rig = rigged()
    task = await rig.begin("a")
    rig.wire.unsent = 10
    await cancelled(task)
    assert rig.sent == ["a"]
    rig.answer()
    await run_ready_tasks()
    assert rig.dispatcher.is_idle and not rig.dispatcher.interrupter.is_unconfirmed


async def test_of_several_requests_each_is_interrupted_after_the_reply_to_the_one_before(
    rigged: Rigged,
) -> None:
    rig = rigged()
    await cancelled(await rig.begin("a", "b", "c"))
    for n in range(1, 4):
        await run_ready_tasks()
        assert rig.urgent == n
        rig.answer(HIT)
    await run_ready_tasks()
    assert rig.urgent == 3
    assert rig.dispatcher.is_idle and not rig.dispatcher.interrupter.is_unconfirmed


async def test_a_byte_that_came_too_late_for_one_may_hit_the_next_and_is_not_sent_again(
    rigged: Rigged,
) -> None:
    rig = rigged()
    await cancelled(await rig.begin("a", "b"))
    rig.answer(FINE)
    await run_ready_tasks()
    assert rig.urgent == 1
    rig.answer(HIT)
    await run_ready_tasks()
    assert rig.sent == ["a", "b", "!"]
    assert rig.dispatcher.is_idle and not rig.dispatcher.interrupter.is_unconfirmed


async def test_a_request_that_is_not_abandoned_is_never_interrupted(rigged: Rigged) -> None:
    rig = rigged()
    async with rig.turn():
        one, two = rig.send("a"), rig.send("b")
        rig.dispatcher.abandon(two)
        assert rig.urgent == 0
        rig.answer()
        await rig.dispatcher.reply(one)
        await run_ready_tasks()
        assert rig.urgent == 1
        rig.answer(HIT)
    await run_ready_tasks()
    assert rig.dispatcher.is_idle


async def test_a_byte_that_nothing_has_answered_is_followed_by_a_probe_before_anything_else(
    rigged: Rigged,
) -> None:
    rig = rigged()
    task = await rig.begin("a")
    task.cancel()
    after = asyncio.ensure_future(rig.call("b"))
    await run_ready_tasks()
    rig.dispatcher.defer(rig.cleanup("close"))
    rig.answer(FINE)
    await run_ready_tasks()
    assert rig.sent == ["a", "!", PROBE]
    assert rig.dispatcher.interrupter.is_unconfirmed
    rig.answer(HIT)
    await run_ready_tasks()
    assert not rig.dispatcher.interrupter.is_unconfirmed
    assert rig.sent == ["a", "!", PROBE, "close"]
    rig.answer()
    await run_ready_tasks()
    rig.answer()
    await after
    assert rig.sent == ["a", "!", PROBE, "close", "b"]


async def test_a_probe_that_was_not_hit_leaves_doubt_until_something_is(rigged: Rigged) -> None:
    rig = rigged()
    await cancelled(await rig.begin("a"))
    rig.answer(FINE)
    await run_ready_tasks()
    rig.answer(FINE)
    await run_ready_tasks()
    assert (
        rig.dispatcher.interrupter.is_unconfirmed and rig.dispatcher.is_idle
    )  # the caller may go on and check it
    task = await rig.begin("b")
    assert rig.sent == ["a", "!", PROBE, "b"]
    rig.answer(HIT)
    await task
    assert not rig.dispatcher.interrupter.is_unconfirmed


async def test_without_a_socket_there_is_no_byte_and_no_probe(rigged: Rigged) -> None:
    rig = rigged()
    rig.has_socket = False
    await cancelled(await rig.begin("a"))
    rig.answer(FINE)
    await run_ready_tasks()
    assert rig.sent == ["a"]
    assert rig.dispatcher.is_idle and not rig.dispatcher.interrupter.is_unconfirmed


async def test_the_end_of_the_connection_ends_the_doubt_about_what_is_out(rigged: Rigged) -> None:
    rig = rigged()
    await cancelled(await rig.begin("a"))
    rig.channel.eof_received()
    await run_ready_tasks()
    assert rig.sent == ["a", "!"]
    with pytest.raises(ConnectionLost):
        await rig.dispatcher.acquire()


# -- cancel_timeout ---------------------------------------------------------------------------------------------------


async def test_so_is_one_that_does_not_answer_the_cleanup_after_it(rigged: Rigged) -> None:
    rig = rigged(cancel_timeout=60.0)
    await cancelled(await rig.begin("a"))
    rig.dispatcher.defer(rig.cleanup("close"))
    rig.answer(HIT)
    await run_ready_tasks()
    timer = rig.dispatcher.interrupter.cancel_timer
    assert timer is not None and not timer.cancelled()
    timer._run()
    await asyncio.wait_for(rig.wire.ended.wait(), 10)
    assert rig.sent == ["a", "!", "close"]
    assert not rig.dispatcher.is_open


async def test_a_reply_in_time_stops_that_timer(rigged: Rigged) -> None:
    rig = rigged(cancel_timeout=60.0)
    await cancelled(await rig.begin("a"))
    timer = rig.dispatcher.interrupter.cancel_timer
    assert timer is not None and not timer.cancelled()
    rig.answer(HIT)
    await run_ready_tasks()
    assert timer.cancelled()
    assert rig.dispatcher.is_idle


async def test_with_cancel_timeout_0_the_connection_is_dropped_at_once_and_no_byte_is_sent(
    rigged: Rigged,
) -> None:
    rig = rigged(cancel_timeout=0.0)
    await cancelled(await rig.begin("a"))
    await asyncio.wait_for(rig.wire.ended.wait(), 10)
    assert rig.sent == ["a"]
    assert isinstance(rig.channel.failure, ConnectionLost)


async def test_a_reply_that_is_not_awaited_but_may_end_by_itself_has_no_timer(rigged: Rigged) -> None:
    rig = rigged(cancel_timeout=0.0)
    async with rig.turn():
        rig.dispatcher.abandon(rig.send("a"), interrupt=False)
    await run_ready_tasks()
    assert rig.dispatcher.is_open and rig.sent == ["a"]
    rig.answer()
    await run_ready_tasks()
    assert rig.dispatcher.is_idle


# -- command_timeout --------------------------------------------------------------------------------------------------


async def test_a_call_that_does_not_acquire_the_session_in_time_has_sent_nothing(rigged: Rigged) -> None:
    rig = rigged(command_timeout=0.01)
    async with rig.turn():
        waiting = asyncio.ensure_future(rig.call("b"))
        with pytest.raises(QueryTimeout, match=r"not free within 0\.01 s; nothing was sent") as caught:
            await waiting
        assert isinstance(caught.value, TimeoutError)
    assert rig.sent == [] and rig.dispatcher.is_idle


async def test_one_that_waits_for_what_another_has_left_behind_neither(rigged: Rigged) -> None:
    rig = rigged(command_timeout=0.01)
    rig.dispatcher.defer(rig.cleanup("close"))
    with pytest.raises(QueryTimeout, match="nothing was sent"):
        await rig.call("b")
    rig.answer()
    await run_ready_tasks()
    assert rig.sent == ["close"] and rig.dispatcher.is_idle


async def test_one_whose_reply_does_not_arrive_in_time_is_interrupted(rigged: Rigged) -> None:
    rig = rigged(command_timeout=0.01)
    with pytest.raises(
        QueryTimeout, match=r"no answer within 0\.01 s; the statement was interrupted"
    ) as caught:
        await rig.call("a")
    assert isinstance(caught.value, TimeoutError)
    assert rig.sent == ["a", "!"]
    rig.answer(HIT)
    await run_ready_tasks()
    assert rig.dispatcher.is_idle and not rig.dispatcher.interrupter.is_unconfirmed


async def test_a_timeout_without_a_running_statement_sends_no_interrupt(rigged: Rigged) -> None:
    rig = rigged(command_timeout=0.01)
    with pytest.raises(QueryTimeout, match=r"no answer within 0\.01 s$"):
        await rig.call("prepare", interruptible=False)
    assert rig.sent == ["prepare"]
    rig.answer()


async def test_a_call_whose_request_the_server_does_not_read_in_time_times_out_too(rigged: Rigged) -> None:
    rig = rigged(command_timeout=0.01)
    async with rig.turn():
        in_flight = rig.send("a")
        rig.wire.unsent = 10
        rig.channel.pause_writing()
        with pytest.raises(QueryTimeout, match=r"did not take the request's data within 0\.01 s"):
            await rig.dispatcher.drain()
        rig.dispatcher.abandon(in_flight)
        rig.wire.unsent = 0
        rig.channel.resume_writing()
        await rig.dispatcher.drain()
    assert rig.sent == ["a", "!"]  # the whole request has left now
    rig.answer(HIT)


async def test_a_wait_without_the_session_has_its_own_timer(rigged: Rigged) -> None:
    rig = rigged(command_timeout=0.01)
    ahead = rig.send("ahead")
    with pytest.raises(QueryTimeout, match="interrupted"):
        await rig.dispatcher.reply(ahead)
    rig.answer(HIT)
    await run_ready_tasks()
    assert rig.dispatcher.is_idle


async def test_the_timer_restarts_when_bytes_have_arrived(rigged: Rigged) -> None:
    rig = rigged(command_timeout=60.0)
    begun = asyncio.get_running_loop().time()
    deadlines: list[float] = []
    async with rig.turn():
        taken = asyncio.get_running_loop().time()
        for _ in range(2):
            for name in "ab":
                in_flight = rig.send(name)
                rig.answer()
                await rig.dispatcher.reply(in_flight)
                assert in_flight.deadline is not None
                deadlines.append(in_flight.deadline)
            rig.dispatcher.extend_deadline()
    first, same, later, _ = deadlines
    assert begun + 60 <= first <= taken + 60
    assert first == same < later


async def test_an_interrupt_of_a_call_that_ends_does_not_reach_the_next_one(rigged: Rigged) -> None:
    rig = rigged()

    async def two_calls() -> None:
        await rig.call("a")
        await rig.call("b")

    calls = asyncio.ensure_future(two_calls())
    await until(lambda: rig.sent == ["a"])
    rig.answer()  # its task has not run since
    rig.dispatcher.cancel()
    await until(lambda: "b" in rig.sent)
    await run_ready_tasks()
    assert rig.sent == ["a", "b"]
    rig.answer()
    await calls


# -- cancel() while replies are outstanding that no call waits for ----------------------------------------------------


async def test_cancel_interrupts_the_call_that_waits_for_an_abandoned_fetch(rigged: Rigged) -> None:
    """The fetch is interrupted first, so that the call can begin."""
    rig = rigged()
    rig.dispatcher.abandon(rig.send("fetch"), interrupt=False)
    rig.dispatcher.defer(rig.cleanup("close"))
    task = asyncio.ensure_future(rig.call("a"))
    await run_ready_tasks()
    rig.dispatcher.cancel()
    rig.dispatcher.cancel()
    assert rig.sent == ["fetch", "!"]
    rig.answer(HIT)
    await run_ready_tasks()
    assert rig.sent == ["fetch", "!", "close"]
    rig.answer()
    await run_ready_tasks()
    assert rig.sent == ["fetch", "!", "close", "a", "!"]
    rig.answer(HIT)
    [reply] = await task
    assert reply.error is not None and reply.error.sqlcode == INTERRUPTED
    await rig_is_free(rig)


async def test_with_pipelining_cancel_interrupts_the_call_after_an_abandoned_fetch(rigged: Rigged) -> None:
    rig = rigged(pipelining=True)
    rig.dispatcher.abandon(rig.send("fetch"), interrupt=False)
    rig.dispatcher.defer(rig.cleanup("close"))
    task = await rig.begin("a")
    rig.dispatcher.cancel()
    assert rig.sent == ["fetch", "close", "a", "!"]
    rig.answer(HIT)
    await run_ready_tasks()
    assert rig.urgent == 1
    rig.answer()
    await run_ready_tasks()
    assert rig.urgent == 2
    rig.answer(HIT)
    [reply] = await task
    assert reply.error is not None and reply.error.sqlcode == INTERRUPTED
    await rig_is_free(rig)


async def test_cancel_reaches_the_call_if_the_abandoned_fetch_has_ended_before_the_byte(
    rigged: Rigged,
) -> None:
    rig = rigged()
    rig.dispatcher.abandon(rig.send("fetch"), interrupt=False)
    task = asyncio.ensure_future(rig.call("a"))
    await run_ready_tasks()
    rig.dispatcher.cancel()
    rig.answer()
    await run_ready_tasks()
    assert rig.sent == ["fetch", "!", PROBE]
    rig.answer(HIT)
    await run_ready_tasks()
    assert rig.sent == ["fetch", "!", PROBE, "a", "!"]
    rig.answer(HIT)
    [reply] = await task
    assert reply.error is not None
    await rig_is_free(rig)


async def test_cancel_reaches_the_call_that_waits_for_a_cancelled_one(rigged: Rigged) -> None:
    rig = rigged()
    await cancelled(await rig.begin("first"))
    task = asyncio.ensure_future(rig.call("a"))
    await run_ready_tasks()
    rig.dispatcher.cancel()
    assert rig.sent == ["first", "!"]
    rig.answer(HIT)
    await run_ready_tasks()
    assert rig.sent == ["first", "!", "a", "!"]
    rig.answer(HIT)
    await task
    await rig_is_free(rig)


async def test_cancel_without_a_call_interrupts_an_abandoned_fetch_alone(rigged: Rigged) -> None:
    rig = rigged()
    rig.dispatcher.abandon(rig.send("fetch"), interrupt=False)
    rig.dispatcher.cancel()
    assert rig.sent == ["fetch", "!"]
    rig.answer(HIT)
    await rig_is_free(rig)


async def test_cancel_while_a_call_prepares_interrupts_its_statement(rigged: Rigged) -> None:
    rig = rigged()

    async def call() -> Reply:
        async with rig.turn():
            await rig.dispatcher.reply(rig.send("prepare", interruptible=False))
            await asyncio.sleep(0)
            reply: Reply = await rig.dispatcher.reply(rig.send("execute"))
            return reply

    task = asyncio.ensure_future(call())
    await until(lambda: rig.sent == ["prepare"])
    rig.dispatcher.cancel()
    await run_ready_tasks()
    rig.answer()
    await run_ready_tasks()
    assert rig.sent == ["prepare", "execute", "!"]
    rig.answer(HIT)
    assert (await task).error is not None
    await rig_is_free(rig)


async def test_cancel_while_a_call_waits_for_its_callers_code_interrupts_what_it_sends_next(
    rigged: Rigged,
) -> None:
    rig, ready = rigged(), asyncio.Event()

    async def call() -> list[Reply]:
        async with rig.turn():
            await ready.wait()
            return [await rig.dispatcher.reply(rig.send(name)) for name in "ab"]

    task = asyncio.ensure_future(call())
    await run_ready_tasks()
    rig.dispatcher.cancel()
    await run_ready_tasks()
    ready.set()
    await run_ready_tasks()
    assert rig.sent == ["a", "!"]
    rig.answer(HIT)
    await run_ready_tasks()
    assert rig.sent == ["a", "!", "b"], "one interrupt for one cancel()"
    rig.answer()
    await task
    await rig_is_free(rig)


async def test_cancel_does_not_reach_the_call_after_the_one_that_waited(rigged: Rigged) -> None:
    rig = rigged()
    rig.dispatcher.abandon(rig.send("fetch"), interrupt=False)
    waiting = asyncio.ensure_future(rig.call("a"))
    after = asyncio.ensure_future(rig.call("b"))
    await run_ready_tasks()
    rig.dispatcher.cancel()
    await cancelled(waiting)
    rig.answer(HIT)
    await run_ready_tasks()
    assert rig.sent == ["fetch", "!", "b"]
    rig.answer()
    await after
    await rig_is_free(rig)


async def test_cancel_does_not_reach_the_next_call_of_the_same_task(rigged: Rigged) -> None:
    """The first call ends before the loop gets to interrupt it."""
    rig = rigged()
    async with rig.turn():
        rig.dispatcher.cancel()
        in_flight = rig.send("a")
        rig.answer()
        await rig.dispatcher.reply(in_flight)
    async with rig.turn():
        in_flight = rig.send("b")
        await run_ready_tasks()
        assert rig.sent == ["a", "b"]
        rig.answer()
        await rig.dispatcher.reply(in_flight)
    await rig_is_free(rig)


async def test_an_abandoned_fetch_that_does_not_end_after_cancel_drops_the_connection(rigged: Rigged) -> None:
    rig = rigged(cancel_timeout=0.01)
    rig.dispatcher.abandon(rig.send("fetch"), interrupt=False)
    task = asyncio.ensure_future(rig.call("a"))
    await run_ready_tasks()
    rig.dispatcher.cancel()
    with pytest.raises(ConnectionLost, match=r"no reply to a cancelled call within 0\.01 s"):
        await task
    assert rig.sent == ["fetch", "!"]


async def test_with_pipelining_the_time_limit_of_cancel_ends_with_the_statement(rigged: Rigged) -> None:
    """The call may go on after it: executemany that collects errors, for example."""
    rig = rigged(pipelining=True)
    rig.dispatcher.abandon(rig.send("fetch"), interrupt=False)
    done = asyncio.Event()

    async def call() -> None:
        async with rig.turn():
            await rig.dispatcher.reply(rig.send("a"))
            await done.wait()

    task = asyncio.ensure_future(call())
    await until(lambda: rig.sent == ["fetch", "a"])
    rig.dispatcher.cancel()
    rig.answer(HIT)
    await run_ready_tasks()
    assert rig.sent == ["fetch", "a", "!", "!"]
    rig.answer(HIT)
    await run_ready_tasks()
    loop: Any = asyncio.get_running_loop()
    assert [timer for timer in loop._scheduled if not timer.cancelled()] == []
    done.set()
    await task


async def test_a_call_that_was_not_served_in_time_interrupts_the_abandoned_fetch_before_it(
    rigged: Rigged,
) -> None:
    """Otherwise the connection is dropped after cancel_timeout although the server would have ended the fetch."""
    rig = rigged(command_timeout=0.01)
    rig.dispatcher.abandon(rig.send("fetch"), interrupt=False)
    with pytest.raises(QueryTimeout, match="nothing was sent"):
        await rig.call("a")
    assert rig.sent == ["fetch", "!"]
    rig.answer(HIT)
    await rig_is_free(rig)


async def rig_is_free(rig: Rig) -> None:
    await run_ready_tasks()
    assert rig.dispatcher.is_idle and rig.dispatcher.interrupter.is_settled


async def test_no_timer_is_left_when_the_connection_is_lost(rigged: Rigged) -> None:
    rig = rigged(command_timeout=60.0)
    async with rig.turn():
        running = rig.send("a")
        waiting = asyncio.ensure_future(rig.dispatcher.reply(running))
        rig.dispatcher.cancel()
        rig.channel.connection_lost(None)
        with pytest.raises(ConnectionLost):
            await waiting
        with pytest.raises(ConnectionLost):
            await rig.dispatcher.reply(rig.send("rollback"))
    loop: Any = asyncio.get_running_loop()
    assert [timer for timer in loop._scheduled if not timer.cancelled()] == []


async def test_one_timer_serves_many_calls_and_each_has_its_whole_time(rigged: Rigged) -> None:
    rig = rigged(command_timeout=60.0)
    for name in "abc":
        task = await rig.begin(name)
        rig.answer()
        await task
    timer = rig.dispatcher._timer
    fast = timer._handle
    begun = asyncio.get_running_loop().time()
    slow = await rig.begin("slow")
    (in_flight,) = rig.dispatcher._in_flight
    assert fast is not None and timer._handle is fast  # the timer of the fast calls goes on
    assert in_flight.deadline is not None and in_flight.deadline >= begun + 60
    fast._run()
    await run_ready_tasks()
    assert not slow.done() and timer._at == in_flight.deadline
    in_flight.deadline = 0.0
    timer._callback()
    with pytest.raises(QueryTimeout):
        await slow
    rig.answer(HIT)


async def test_a_time_out_and_a_cancellation_in_the_same_moment_interrupt_once(rigged: Rigged) -> None:
    rig = rigged(command_timeout=0.01)
    task = await rig.begin("a")
    rig.on_urgent = lambda: [
        task.cancel()
    ].clear()  # the clock has just rung, and the task has not heard it yet
    await asyncio.wait([task])
    assert task.cancelled()
    assert rig.sent == ["a", "!"]
    rig.answer(HIT)
    await run_ready_tasks()
    assert rig.dispatcher.is_idle and not rig.dispatcher.interrupter.is_unconfirmed


async def test_a_users_own_timeout_is_raised_unchanged(rigged: Rigged) -> None:
    rig, limit = rigged(command_timeout=60.0), asyncio.timeout(0.01)
    with pytest.raises(TimeoutError) as caught:
        async with limit:
            await rig.call("a")
    assert limit.expired() and type(caught.value) is TimeoutError
    assert rig.sent == ["a", "!"]
    rig.answer(HIT)
    async with rig.turn():
        waiting = asyncio.ensure_future(asyncio.wait_for(rig.call("b"), 0.01))
        with pytest.raises(TimeoutError) as queued:
            await waiting
    assert type(queued.value) is TimeoutError
    assert rig.sent == ["a", "!"]


async def test_the_timeout_of_one_call_is_not_that_of_the_next(rigged: Rigged) -> None:
    rig = rigged()
    await rig.dispatcher.acquire(timeout=60)
    rig.dispatcher.release()
    async with rig.turn():
        in_flight = rig.send("a")
        waiting = rig.dispatcher.reply(in_flight)
        assert in_flight.deadline is None
        rig.answer()
        await waiting


# -- law: whatever happens, in whichever order ------------------------------------------------------------------------


class Server:
    """A server's side of the urgent byte: it hits what runs, or comes too late and hits what comes next, or is lost."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.answered = 0
        self._byte_at: int | None = None
        """Which request ran when a byte came that hit nothing yet."""
        rig.on_urgent = self._interrupted

    @property
    def asked(self) -> list[str]:
        return [name for name in self.rig.sent if name != "!"]

    @property
    def busy(self) -> bool:
        return self.answered < len(self.asked)

    def _interrupted(self) -> None:
        assert self._byte_at is None, "a second byte is on its way"
        assert self.busy, "nothing runs"
        self._byte_at = self.answered

    def answer(self, fate: str) -> None:
        """Answer the oldest request; *fate* says what becomes of a byte that came while it ran."""
        came_for, name = self._byte_at, self.asked[self.answered]
        hit = came_for is not None and (fate == "hits" or came_for < self.answered)
        if hit or fate == "lost":
            self._byte_at = None
        assert not (hit and name == "cleanup")
        self.answered += 1
        self.rig.answer(HIT if hit else FINE)


@given(data=st.data())
def test_an_interrupt_hits_no_call_that_still_waits_and_nothing_is_sent_out_of_turn(
    data: st.DataObject,
) -> None:
    """Laws:

    - At most one urgent byte is on its way, and none hits a call that still waits.
    - Requests of two calls, or of a call and of cleanup, are never in flight together.
    - When all is answered, the session is idle and each task has its result.
    """
    asyncio.run(_anything(data))


async def _anything(data: st.DataObject) -> None:
    rig = Rig()
    try:
        await _played_through(data, rig)
    finally:
        rig.channel.abort()
        rig.channel.connection_lost(None)


async def _played_through(data: st.DataObject, rig: Rig) -> None:
    server = Server(rig)
    calls: dict[str, asyncio.Task[list[Reply]]] = {}
    steps = data.draw(
        st.lists(st.sampled_from("start cancel answer answer cleanup wait".split()), max_size=40)
    )
    for step in steps:
        await _one_step(step, data, rig, server, calls)
        _check(rig, server)
    for _ in range(300):
        if server.busy:
            server.answer("late")
        await run_ready_tasks()
        _check(rig, server)
    assert rig.dispatcher.is_idle and not server.busy
    for task in calls.values():
        if not task.cancelled():
            assert all(reply.error is None for reply in await task)


async def _one_step(
    step: str, data: st.DataObject, rig: Rig, server: Server, calls: dict[str, asyncio.Task[list[Reply]]]
) -> None:
    if step == "start":
        name = f"call{len(calls)}"
        count = data.draw(st.integers(1, 3))
        requests = [f"{name}.{n}" for n in range(count)]
        coroutine: Coroutine[Any, Any, list[Reply]] = rig.call(
            *requests, interruptible=data.draw(st.booleans())
        )
        calls[name] = asyncio.ensure_future(coroutine)
    elif step == "cancel" and calls:
        calls[data.draw(st.sampled_from(sorted(calls)))].cancel()
    elif step == "answer" and server.busy:
        server.answer(data.draw(st.sampled_from(["hits", "late", "lost"])))
    elif step == "cleanup":
        rig.dispatcher.defer(rig.cleanup("cleanup"))
    elif step == "wait":
        await run_ready_tasks()


def _check(rig: Rig, server: Server) -> None:
    out = server.asked[server.answered :]
    assert len({name.partition(".")[0] for name in out}) <= 1
    assert out.count("cleanup") + out.count(PROBE) <= 1


async def test_a_dropped_connection_is_logged_at_debug_and_one_closed_in_order_is_not(
    rigged: Rigged, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "aioifx.session")
    dropped, closed = rigged(), rigged()
    dropped.channel.abort(ConnectionLost("the cable"))
    closed.dispatcher.begin_close()
    closed.channel.close()
    # Connections and loops that earlier tests have left to other threads or to the garbage collector may log as well.
    peers = dropped.channel.peer, closed.channel.peer
    ours = [entry for entry in caplog.record_tuples if entry[2].startswith(peers)]
    assert ours == [("aioifx.session", logging.DEBUG, f"{dropped.channel.peer}: the cable")]
