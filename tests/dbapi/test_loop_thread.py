"""The event loop of blocking calls: who drives it, interrupts, forks, exits, and code of the user that runs in it."""

from __future__ import annotations

import asyncio
import gc
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import aioifx
from aioifx import dbapi
from aioifx.dbapi import loop_thread
from tests.client.session.test_loop_binding import child
from tests.dbapi.conftest import SLOW, Host
from tests.injection import eventually

signals = pytest.mark.skipif(os.name == "nt", reason="pthread_kill")
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")


@pytest.fixture(autouse=True)
def _interruptible() -> Iterator[None]:
    """Let SIGINT raise KeyboardInterrupt in a background job as well, where it is ignored at first."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


async def interrupt(host: Host) -> None:
    """Send SIGINT to the main thread while it waits for a statement."""
    await host.runs()
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@signals
def test_a_keyboard_interrupt_ends_the_statement_at_the_server(host: Host, conn: dbapi.Connection) -> None:
    cursor = conn.cursor()
    cursor.execute("create temp table kept (n int)")
    interrupts = host.server.stats.interrupts
    for _ in range(2):
        interrupted = host.call(interrupt(host))
        with pytest.raises(KeyboardInterrupt):
            cursor.execute(SLOW)
        interrupted.result(20)
        with pytest.raises(dbapi.InterfaceError, match="the cursor has no result"):
            cursor.fetchall()
        assert conn.is_in_transaction()
        assert cursor.execute("select count(*) from kept").fetchone() == (0,)
    assert host.server.stats.interrupts == interrupts + 2


def test_one_thread_serves_all_connections(host: Host) -> None:
    with dbapi.connect(host.dsn), dbapi.connect(host.dsn):
        names = [thread.name for thread in threading.enumerate()]
        assert names.count("aioifx.dbapi") == 1


def test_code_that_runs_in_the_loop_has_the_context_of_the_caller(conn: dbapi.Connection) -> None:
    """So that a span of the caller is the parent of those of its calls."""
    request = ContextVar("request", default="none")
    seen: list[str] = []

    def factory(columns: Any) -> Callable[[Any], Any]:
        seen.append(request.get())
        return tuple

    request.set("of the caller")
    conn.cursor(row_factory=factory).execute("select n from number where n = 1")
    assert seen == ["of the caller"]


def test_a_connection_that_is_collected_in_the_thread_is_rolled_back_or_closed_there(
    host: Host, conn: dbapi.Connection
) -> None:
    left = dbapi.connect(host.dsn)
    left.cursor().execute("create temp table t (n int)")
    cursor = left.cursor().execute("select a.n from number a, number b")

    def in_thread(*calls: Callable[[], None]) -> None:
        async def work(_: object) -> None:
            for call in calls:
                call()

        conn.run(work)

    in_thread(cursor.close, left.rollback)
    with pytest.raises(dbapi.InterfaceError, match="the cursor is closed"):
        cursor.fetchone()
    left.ping()
    assert not left.is_in_transaction()
    with pytest.raises(dbapi.InterfaceError, match="a blocking call cannot be made"):
        in_thread(left.commit)
    in_thread(left.close)
    with pytest.raises(dbapi.Error):
        left.ping()
    assert left.is_closed()
    other = dbapi.connect(host.dsn)
    in_thread(other.terminate)
    with pytest.raises(dbapi.Error):
        other.ping()
    assert other.is_closed()


def test_what_fails_in_the_thread_after_a_collection_is_logged(
    host: Host, conn: dbapi.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(_: object) -> None:
        conn._thread.finish(fail)  # pyright: ignore[reportPrivateUsage]

    async def fail() -> None:
        raise dbapi.OperationalError("no reply")

    conn.run(work)
    conn.ping()
    assert [record.message for record in caplog.records] == [
        "a connection that was garbage-collected could not be cleaned up"
    ]


def test_code_that_runs_in_the_thread_cannot_block_it(host: Host, conn: dbapi.Connection) -> None:
    def factory(columns: Any) -> Callable[[Any], Any]:
        conn.cursor().execute("select n from number")
        return tuple

    with pytest.raises(dbapi.InterfaceError, match="a blocking call cannot be made from the event loop"):
        conn.cursor(row_factory=factory).execute("select n from number")
    assert conn.cursor().execute("select count(*) from number").fetchone() == (200,)


def test_what_code_of_the_user_raises_does_not_end_the_loop(conn: dbapi.Connection) -> None:
    def factory(columns: Any) -> Callable[[Any], Any]:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        conn.cursor(row_factory=factory).execute("select n from number")
    assert conn.cursor().execute("select count(*) from number").fetchone() == (200,)


def test_what_a_callback_raises_ends_the_call_that_drives(conn: dbapi.Connection) -> None:
    async def work(_: object) -> None:
        asyncio.get_running_loop().call_soon(sys.exit, 3)
        await asyncio.Event().wait()

    with pytest.raises(SystemExit):
        conn.run(work)
    assert conn.cursor().execute("select count(*) from number").fetchone() == (200,)


async def test_what_a_callback_raises_in_the_background_is_logged(
    conn: dbapi.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(_: object) -> None:
        asyncio.get_running_loop().call_soon(sys.exit, 3)

    conn.run(work)  # the event loop of the test runs in this thread
    conn.ping()
    assert [record.message for record in caplog.records] == ["a callback raised in the background event loop"]


@signals
def test_a_keyboard_interrupt_while_connecting(host: Host) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as thread:

        def interrupt_once_connected() -> socket.socket:
            peer, _ = listener.accept()
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            return peer

        peer = thread.submit(interrupt_once_connected)
        with pytest.raises(KeyboardInterrupt):
            dbapi.connect(f"informix://app:secret@127.0.0.1:{listener.getsockname()[1]}/shop?server=ol_shop")
        with peer.result(20) as abandoned:
            while abandoned.recv(4096):
                pass  # the login, and then its end


@signals
def test_a_connection_that_is_open_as_the_interrupt_comes_is_dropped(
    host: Host, conn: dbapi.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    notify = loop_thread.Call[Any]._notify

    def interrupted(self: loop_thread.Call[Any], job: Any) -> None:
        monkeypatch.undo()
        notify(self, job)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(loop_thread.Call, "_notify", interrupted)
    with pytest.raises(KeyboardInterrupt):
        dbapi.connect(host.dsn)
    conn.ping()  # the loop runs its callbacks in order
    gc.collect()
    host.call(eventually(lambda: len(host.server.stats.sessions) == 1)).result(20)


@signals
def test_an_interrupt_of_rows_that_are_produced_undoes_the_executemany(conn: dbapi.Connection) -> None:
    conn.autocommit = True
    cursor = conn.cursor()
    cursor.execute("create temp table spot (n int)")

    def rows() -> Iterator[tuple[int]]:
        yield from ((n,) for n in range(250))
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        cursor.executemany("insert into spot values (?)", rows())
    assert cursor.execute("select count(*) from spot").fetchone() == (0,)


# -- forks and exits --------------------------------------------------------------------------------------------------


@forks
def test_a_fork_may_use_connections_of_its_own_alone(host: Host, conn: dbapi.Connection) -> None:
    cursor = conn.cursor().execute("select a.n, b.n from number a, number b")
    refused = f"InterfaceError: the connection belongs to the process {os.getpid()}, which has forked;"

    def close() -> object:
        cursor.close()
        conn.close()
        conn.terminate()
        return conn.is_closed()

    def use_own() -> object:
        nonlocal cursor
        del cursor  # collected here, it must not reach the parent's event loop
        gc.collect()
        with dbapi.connect(host.dsn) as own:
            return own.cursor().execute("select count(*) from number").fetchone(), loop_thread._current

    calls: list[Callable[[], object]] = [
        cursor.fetchall,
        lambda: conn.cursor().execute("select n from number"),
        conn.commit,
        conn.ping,
        conn.cancel,
    ]
    for call in calls:
        assert child(call).startswith(refused)
    assert child(close) == "True"
    text = child(use_own)
    assert text.startswith("((200,), ") and repr(loop_thread._current) not in text
    assert len(cursor.fetchall()) == 200 * 200
    assert conn.cursor().execute("select count(*) from number").fetchone() == (200,)


@forks
def test_a_fork_while_another_thread_holds_the_lock_can_open_connections(host: Host) -> None:
    """The thread that would release it does not exist in the child."""
    held, forked = threading.Event(), threading.Event()

    def hold() -> None:
        with loop_thread._lock:
            held.set()
            forked.wait(50)

    def use_own() -> object:
        if loop_thread._lock.locked():
            return "locked for ever"
        with dbapi.connect(host.dsn) as own:
            return own.cursor().execute("select count(*) from number").fetchone()

    with ThreadPoolExecutor(1) as thread:
        holding = thread.submit(hold)
        held.wait(50)
        try:
            assert loop_thread._lock.locked()
            assert child(use_own) == "(200,)"
        finally:
            forked.set()
        holding.result(20)


PROGRAM = """
import atexit, contextlib, os, sys, threading
from aioifx import dbapi

dsn, slow = sys.argv[1:]
conn = dbapi.connect(dsn)

def last():
    print("at exit", *conn.cursor().execute("select count(*) from number").fetchone())

atexit.register(last)
reading = conn.cursor().execute("select a.n, b.n from number a, number b")
reading.fetchone()
busy = dbapi.connect(dsn)
started = threading.Event()

def work():
    started.set()
    with contextlib.suppress(dbapi.Error):
        busy.cursor().execute(slow)

threading.Thread(target=work, daemon=True).start()
started.wait()
conn.ping()
pid = os.fork() if hasattr(os, "fork") else None
if pid == 0:
    atexit.unregister(last)
    own = dbapi.connect(dsn)
    print("child", *own.cursor().execute("select count(*) from number").fetchone())
    sys.exit()
if pid:
    assert os.waitpid(pid, 0)[1] == 0
"""


def run_program(program: str, host: Host, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a program with the address of the server and a slow statement; warnings are errors."""
    return subprocess.run(
        [sys.executable, "-W", "error", *options, "-c", program, host.dsn, SLOW],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=50,
    )


def test_an_interpreter_exits_with_open_connections_and_a_running_statement(host: Host) -> None:
    run = run_program(PROGRAM, host, "-W", "ignore::DeprecationWarning")
    said = ["child 200"] * hasattr(os, "fork") + ["at exit 200"]
    assert (run.returncode, run.stdout.splitlines(), run.stderr) == (0, said, "")


WITHOUT_DAEMONS = """
import atexit, contextlib, sys, threading
from aioifx import dbapi

make = threading.Thread.__init__

def refuse(self, *args, daemon=None, **named):
    if daemon:
        raise RuntimeError("daemon threads are disabled in this (sub)interpreter")
    make(self, *args, daemon=daemon, **named)

threading.Thread.__init__ = refuse
dsn, slow = sys.argv[1:]

def last():
    try:
        dbapi.connect(dsn)
    except dbapi.InterfaceError as error:
        print(error)

atexit.register(last)
conn = dbapi.connect(dsn)
busy = dbapi.connect(dsn)
started = threading.Event()

def work():
    started.set()
    with contextlib.suppress(dbapi.Error):
        busy.cursor().execute(slow)

threading.Thread(target=work).start()
started.wait()
print(*conn.cursor().execute("select count(*) from number").fetchone())
"""


def test_an_interpreter_without_daemon_threads_exits_as_well(host: Host) -> None:
    """As one beside the main one does: tests/system/interpreters."""
    run = run_program(WITHOUT_DAEMONS, host)
    assert (run.returncode, run.stdout.splitlines(), run.stderr) == (
        0,
        ["200", "the interpreter is exiting: a connection cannot be opened"],
        "",
    )


def test_after_the_end_of_the_thread_calls_raise_and_closing_does_nothing(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop_thread, "_current", None)
    monkeypatch.setattr(loop_thread, "_is_exiting", False)
    conn = dbapi.connect(host.dsn)
    cursor = conn.cursor().execute("select a.n, b.n from number a, number b")
    loop_thread._end_at_exit()
    assert conn.is_closed()
    for use in (conn.commit, cursor.fetchall, lambda: cursor.execute("select n from number")):
        with pytest.raises(
            dbapi.InterfaceError, match="the interpreter is exiting, and the connection was closed"
        ):
            use()
    cursor.close()
    conn.close()
    conn.terminate()
    with pytest.raises(
        dbapi.InterfaceError, match="the interpreter is exiting: a connection cannot be opened"
    ):
        dbapi.connect(host.dsn)


def test_a_thread_that_cannot_be_started_is_an_error(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(loop_thread, "_current", None)
    monkeypatch.setattr(threading.Thread, "start", refused)
    with pytest.raises(
        dbapi.InterfaceError, match="the background event loop cannot be started: can't create"
    ):
        dbapi.connect(host.dsn)
    assert loop_thread._current is None
    gc.collect()


# -- who drives -------------------------------------------------------------------------------------------------------


class Gate:
    """A call that lasts until it is opened."""

    def __init__(self) -> None:
        self._loop = loop_thread.loop_thread().loop
        self._opened = asyncio.Event()
        self.started = threading.Event()

    async def passed(self, _: object) -> int:
        self.started.set()
        await self._opened.wait()
        return threading.get_ident()

    def open(self) -> None:
        self._loop.call_soon_threadsafe(self._opened.set)


def thread_of(conn: dbapi.Connection) -> loop_thread.LoopThread:
    return conn._thread  # pyright: ignore[reportPrivateUsage]


def test_a_call_runs_the_loop_in_its_thread(conn: dbapi.Connection) -> None:
    async def ident(_: object) -> int:
        return threading.get_ident()

    assert conn.run(ident) == threading.get_ident()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(conn.run, ident).result(20) == pool.submit(threading.get_ident).result(20)


def test_a_driver_whose_call_has_ended_hands_over(host: Host, conn: dbapi.Connection) -> None:
    first, second, third = Gate(), Gate(), Gate()
    thread = thread_of(conn)
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as two, ThreadPoolExecutor(1) as three:
        idents = [pool.submit(threading.get_ident).result(20) for pool in (one, two, three)]
        calls = []
        for pool, gate in ((one, first), (two, second), (three, third)):
            calls.append(pool.submit(conn.run, gate.passed))
            assert gate.started.wait(20)
        second.open()  # whose result comes while another thread drives
        assert calls[1].result(20) == idents[0]
        first.open()
        assert calls[0].result(20) == idents[0]
        host.call(eventually(lambda: isinstance(thread.driver, loop_thread.Call))).result(20)
        third.open()
        assert calls[2].result(20) == idents[2]


async def test_a_call_within_an_event_loop_goes_on_after_the_driver_has_ended(conn: dbapi.Connection) -> None:
    first, within = Gate(), Gate()

    def end_first() -> None:
        assert within.started.wait(20)
        first.open()
        driving.result(20)
        within.open()

    with ThreadPoolExecutor(2) as pool:
        driving = pool.submit(conn.run, first.passed)
        assert first.started.wait(20)
        ending = pool.submit(end_first)
        assert conn.run(within.passed) not in (threading.get_ident(), driving.result(20))
        ending.result(20)


def test_what_a_call_leaves_goes_on_in_the_background(conn: dbapi.Connection) -> None:
    done = threading.Event()
    tasks = set[asyncio.Task[None]]()

    async def later() -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        done.set()

    async def leave(_: object) -> None:
        tasks.add(asyncio.create_task(later()))

    conn.run(leave)
    assert done.wait(20)


def test_other_threads_can_use_the_loop_between_calls(host: Host, conn: dbapi.Connection) -> None:
    thread = thread_of(conn)
    for _ in range(20):
        conn.ping()
        assert asyncio.run_coroutine_threadsafe(nothing(), thread.loop).result(20) == 1
    host.call(eventually(lambda: thread.driver is thread)).result(20)  # it waits for events
    assert asyncio.run_coroutine_threadsafe(nothing(), thread.loop).result(20) == 1
    conn.ping()


async def nothing() -> int:
    return 1


@pytest.mark.parametrize("calls", [8, pytest.param(200, marks=pytest.mark.exhaustive)])
def test_threads_at_once_get_their_own_results(host: Host, conn: dbapi.Connection, calls: int) -> None:
    """Connections of their own, a shared one, and rows that make calls while the loop waits for them."""

    def work(n: int) -> None:
        with dbapi.connect(host.dsn) as own:
            cursor = own.cursor()
            cursor.execute("create temp table t (n int)")
            for call in range(calls):
                shared = conn.cursor().execute("select n from number where n = ?", (call % 200,))
                rows = ((m + n,) for (m,) in shared)
                cursor.executemany("insert into t values (?)", rows)
            cursor.execute("select count(*), sum(n) from t")
            total = sum(call % 200 for call in range(calls)) + n * calls
            assert [tuple(map(int, row)) for row in cursor] == [(calls, total)]

    with ThreadPoolExecutor(6) as pool:
        assert [*pool.map(work, range(6))] == [None] * 6
    host.call(eventually(lambda: thread_of(conn).driver is thread_of(conn))).result(20)


# -- interrupts at any moment -----------------------------------------------------------------------------------------


@signals
def test_a_handler_of_another_signal_may_end_the_call_or_cancel_it(
    host: Host, conn: dbapi.Connection
) -> None:
    def fail(*_: object) -> None:
        raise LookupError("too late")

    async def alarm() -> None:
        await host.runs()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)

    def cancel(*_: object) -> None:
        conn.cancel()
        with pytest.raises(dbapi.InterfaceError, match="a blocking call cannot be made"):
            conn.ping()

    before = signal.getsignal(signal.SIGALRM)
    expected: list[tuple[Any, type[Exception]]] = [(fail, LookupError), (cancel, aioifx.QueryCanceled)]
    try:
        for handler, error in expected:
            signal.signal(signal.SIGALRM, handler)
            sent = host.call(alarm())
            with pytest.raises(error):
                conn.cursor().execute(SLOW)
            sent.result(20)
            assert signal.getsignal(signal.SIGALRM) is handler
            assert conn.cursor().execute("select count(*) from number").fetchone() == (200,)
    finally:
        signal.signal(signal.SIGALRM, before)


@signals
def test_a_second_interrupt_does_not_wait_for_the_end_of_the_call(conn: dbapi.Connection) -> None:
    opened = asyncio.Event()

    async def stubborn(_: object) -> None:
        signal.raise_signal(signal.SIGINT)
        while not opened.is_set():
            try:
                await opened.wait()
            except asyncio.CancelledError:
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        conn.run(stubborn)
    assert not opened.is_set()
    thread_of(conn).loop.call_soon_threadsafe(opened.set)
    conn.ping()


def lines_of(work: Callable[[], object], at: int) -> int:
    """Call *work*, with an interrupt at its *at*-th line in the packages dbapi and asyncio; how many it has run."""
    count = 0

    def on_line(frame: Any, event: str, _: object) -> Any:
        nonlocal count
        if event == "line":
            count += 1
            if count == at:
                signal.raise_signal(signal.SIGINT)
        return on_line

    def on_call(frame: Any, event: str, _: object) -> Any:
        return on_line if frame.f_code.co_filename.startswith(TRACED) else None

    sys.settrace(on_call)
    try:
        work()
    finally:
        sys.settrace(None)
    return count


TRACED = (str(Path(dbapi.__file__).parent), str(Path(asyncio.__file__).parent), selectors.__file__)


@signals
@pytest.mark.parametrize("step", [17, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_an_interrupt_at_any_line_is_raised_and_leaves_the_connection_usable(
    conn: dbapi.Connection, step: int
) -> None:
    cursor = conn.cursor()
    rows = ((n,) for n in iter(int, 1))
    cursor.execute("create temp table spot (n int)")

    def query() -> None:
        cursor.execute("select n from number where n = 7")

    def many() -> None:
        cursor.executemany("insert into spot values (?)", islice(rows, 3))

    for work in (query, many):
        work()
        total = lines_of(work, 0)
        assert total > 100
        for at in range(1, total, step):
            with pytest.raises(KeyboardInterrupt):
                lines_of(work, at)
                time.sleep(0)  # a signal at the last line is handled here
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
            assert conn.cursor().execute("select count(*) from number").fetchone() == (200,)
    assert not thread_of(conn)._waiting
