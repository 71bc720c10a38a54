"""The background thread: interrupts, forks, exits, and code of the user that runs in it."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

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


def test_code_that_runs_in_the_thread_has_the_context_of_the_caller(conn: dbapi.Connection) -> None:
    """So that a span of the caller is the parent of those of its calls."""
    request = ContextVar("request", default="none")
    seen: list[tuple[str, str]] = []

    def factory(columns: Any) -> Callable[[Any], Any]:
        seen.append((request.get(), threading.current_thread().name))
        return tuple

    request.set("of the caller")
    conn.cursor(row_factory=factory).execute("select n from number where n = 1")
    assert seen == [("of the caller", "aioifx.dbapi")]


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

    with pytest.raises(
        dbapi.InterfaceError, match="a blocking call cannot be made from the background event loop"
    ):
        conn.cursor(row_factory=factory).execute("select n from number")
    assert conn.cursor().execute("select count(*) from number").fetchone() == (200,)


def test_what_code_of_the_user_raises_does_not_end_the_thread(conn: dbapi.Connection) -> None:
    def factory(columns: Any) -> Callable[[Any], Any]:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        conn.cursor(row_factory=factory).execute("select n from number")
    thread = loop_thread.loop_thread()
    thread.loop.call_soon_threadsafe(factory, None)
    assert conn.cursor().execute("select count(*) from number").fetchone() == (200,)


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


def test_a_connection_that_is_open_as_the_interrupt_comes_is_dropped(
    host: Host, conn: dbapi.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = loop_thread.Call[Any]._next_job

    def interrupted(self: loop_thread.Call[Any]) -> Any:
        monkeypatch.undo()
        take(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(loop_thread.Call, "_next_job", interrupted)
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
pid = os.fork() if hasattr(os, "fork") else None
if pid == 0:
    atexit.unregister(last)
    own = dbapi.connect(dsn)
    print("child", *own.cursor().execute("select count(*) from number").fetchone())
    sys.exit()
if pid:
    assert os.waitpid(pid, 0)[1] == 0
"""


def test_an_interpreter_exits_with_open_connections_and_a_running_statement(host: Host) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-c", PROGRAM, host.dsn, SLOW],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=50,
    )
    said = ["child 200"] * hasattr(os, "fork") + ["at exit 200"]
    assert (run.returncode, run.stdout.splitlines(), run.stderr) == (0, said, "")


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


# -- interrupts at any moment -----------------------------------------------------------------------------------------


async def nothing() -> int:
    return 1


def test_an_interrupt_before_a_call_is_started_does_not_hang(
    conn: dbapi.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted:
        """Stands for a loop, and an interrupt before the first call of it."""

        def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
            self.loop = loop
            self.came = False

        def call_soon_threadsafe(self, *args: Any) -> None:
            if not self.came:
                self.came = True
                raise KeyboardInterrupt
            self.loop.call_soon_threadsafe(*args)

    call = loop_thread.Call[int](loop_thread.loop_thread())
    monkeypatch.setattr(call, "_loop", Interrupted(call._loop))
    with pytest.raises(KeyboardInterrupt):
        call.run(nothing)
    conn.ping()


def test_an_interrupt_before_the_first_step_of_a_call_does_not_hang(
    conn: dbapi.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread, gate = loop_thread.loop_thread(), threading.Event()
    thread.loop.call_soon_threadsafe(gate.wait)
    call = loop_thread.Call[int](thread)
    take, taken = call._next_job, list[object]()

    def interrupted() -> Any:
        taken.append(None)
        if len(taken) == 1:
            raise KeyboardInterrupt
        gate.set()  # now the loop gets the start of the call and its cancellation together
        return take()

    monkeypatch.setattr(call, "_next_job", interrupted)
    with pytest.raises(KeyboardInterrupt):
        call.run(nothing)
    conn.ping()


def test_an_interrupt_after_the_end_of_a_call_does_not_hang(
    conn: dbapi.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = loop_thread.Call[int](loop_thread.loop_thread())
    take, taken = call._next_job, list[object]()

    def interrupted() -> Any:
        taken.append(take())
        if len(taken) == 1:
            raise KeyboardInterrupt
        return taken[-1]

    monkeypatch.setattr(call, "_next_job", interrupted)
    with pytest.raises(KeyboardInterrupt):
        call.run(nothing)
    assert taken == [None, None]
    conn.ping()
