"""The background thread: interrupts, forks, exits, and code of the user that runs in it."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from aioifx import dbapi
from aioifx.dbapi import loop_thread
from tests.dbapi.conftest import SLOW, Host

signals = pytest.mark.skipif(os.name == "nt", reason="pthread_kill")
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")


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
