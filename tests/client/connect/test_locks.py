"""Diagnoses of locks: who holds them and waits, in time, and without touching the failed connection."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

import aioifx
import aioifx.diagnosis
from aioifx import Connection, LockError, RowLocked
from aioifx.client.config.options import ConnectOptions
from aioifx.client.connect import locks
from aioifx.client.connect.locks import diagnose
from aioifx.client.observation.operation import Operation
from aioifx.diagnosis import LockDiagnosis, LockSession, TableLock
from aioifx.errors import ConnectError, DatabaseError, UndefinedTable
from aioifx.server import Server, ServerOptions, serve
from aioifx.testing.messages import EOT, error
from aioifx.testing.script import COMMAND, END_SESSION, Disconnect, Exchange, Peer, listening, login
from tests.client.observing import Recorder
from tests.injection import Manner, eventually, is_cancelled

SEED = "create table item (n int); create table other (n int); insert into item values (1)"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serve(ServerOptions(("shop",), seed=SEED)) as server:
        yield server


@pytest.fixture
def dsn(server: Server) -> str:
    return server.dsn


@pytest.fixture
async def holder(dsn: str) -> AsyncIterator[Connection]:
    """A connection whose transaction has locked both tables."""
    async with aioifx.connect(dsn, application_name="billing") as conn:
        async with conn.transaction():
            await conn.execute("lock table other in exclusive mode")
            await conn.execute("lock table item in exclusive mode")
            yield conn


async def failed(conn: Any, sql: str = "insert into item values (2)") -> LockError:
    with pytest.raises(LockError) as caught:
        await conn.execute(sql)
    return caught.value


# -- what it says -----------------------------------------------------------------------------------------------------


async def test_the_holder_is_named_and_the_failed_connection_sends_nothing(
    dsn: str, holder: Connection
) -> None:
    async with aioifx.connect(dsn) as conn:
        refused = await failed(conn)
        sent = conn.stats.round_trips
        found = await aioifx.diagnosis.diagnose_locks(conn, refused)
        assert conn.stats.round_trips == sent
        (lock,) = found.locks
        assert (found.database, lock.table, lock.type, lock.count) == ("shop", "item", "X", 1)
        assert lock.holder.session_id == await holder.session_id()
        assert (lock.holder.user, lock.holder.program) == (holder.user, "billing")
        assert lock.holder.is_own_process and lock.waiter is None
        assert lock.age is not None and 0 <= lock.age < 60 and lock.holder.connected is not None
        assert f"item is locked (X, for {lock.age:.0f} s) by session {lock.holder.session_id} (user " in str(
            found
        )
        assert f"process {os.getpid()} (this one)" in str(found)


async def test_a_closed_connection_can_be_diagnosed(dsn: str, holder: Connection) -> None:
    async with aioifx.connect(dsn) as conn:
        refused = await failed(conn)
    assert len((await aioifx.diagnosis.diagnose_locks(conn, refused)).locks) == 1


async def test_all_locks_of_the_database_are_shown_if_none_is_on_a_table_of_the_statement(
    dsn: str, holder: Connection
) -> None:
    async with aioifx.connect(dsn) as conn:
        refused = await failed(conn)
        refused.sql, refused.token = "insert into view_of_item values (1)", ""
        assert {lock.table for lock in (await aioifx.diagnosis.diagnose_locks(conn, refused)).locks} == {
            "item",
            "other",
        }


async def test_the_first_waiter_is_named(server: Server, dsn: str, holder: Connection) -> None:
    async with aioifx.connect(dsn, lock_wait=-1) as waiting, aioifx.connect(dsn) as conn:
        number = await waiting.session_id()
        task = asyncio.ensure_future(waiting.execute("insert into item values (3)"))
        await eventually(lambda: any(session.waiting for session in server.stats.sessions))
        found = await aioifx.diagnosis.diagnose_locks(conn, await failed(conn))
        (lock,) = found.locks
        assert lock.waiter is not None and lock.waiter.session_id == number and lock.waiter.is_waiting
        assert f"; first waiter: session {number} (" in str(found)
        waiting.cancel()
        with pytest.raises(aioifx.QueryCanceled):
            await task


async def test_a_lock_that_is_gone_is_not_invented(dsn: str) -> None:
    async with aioifx.connect(dsn) as one, aioifx.connect(dsn) as conn:
        async with one.transaction():
            await one.execute("lock table item in exclusive mode")
            refused = await failed(conn)
        found = await aioifx.diagnosis.diagnose_locks(conn, refused)
    assert found == LockDiagnosis("shop")
    assert str(found) == "locks: no other session has a lock in shop any more"


# -- rows of sysmaster ------------------------------------------------------------------------------------------------


class Sysmaster:
    """Answers the queries of a diagnosis."""

    def __init__(self, rows: list[Any], *, times: list[Any] | DatabaseError) -> None:
        self.rows = rows
        self.times = times
        self.is_terminated = False

    async def fetch(self, sql: str, *params: object) -> list[Any]:
        if "syslocks" in sql:
            return self.rows
        if "syssessions" in sql:
            now = 1000
            return [
                (7, "anna  ", "desk", 12, None, 400, 0, now),
                (8, "bert", "x\x1b[2J", None, "/bin/app  ", 1001, 1, now),
            ]
        if isinstance(self.times, DatabaseError):
            raise self.times
        return self.times

    def terminate(self) -> None:
        self.is_terminated = True


async def diagnosed(
    monkeypatch: pytest.MonkeyPatch, sysmaster: Sysmaster, *, own: int | None = None, sql: str = "update item"
) -> LockDiagnosis:
    async def connect(options: object, address: object) -> Sysmaster:
        return sysmaster

    monkeypatch.setattr(locks, "_connect", connect)
    target = Operation("execute")
    target.set_identity(("db1", 1, "ol", "", "", own))
    options = ConnectOptions(host="db1", server="ol", user="u")
    found = await diagnose(options, target, "shop", LockError("locked", sql=sql), 5)
    assert sysmaster.is_terminated
    return found


ANNA = LockSession(7, "anna", "desk", 12, "", 600.0)
BERT = LockSession(8, "bert", "x\x1b[2J", 0, "/bin/app", 0.0, True)


async def test_each_session_is_shown_with_its_strongest_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        ("item", "IX  ", 7, None, 1), ("item", "X   ", 7, None, 40), ("ITEM", "IS", 8, 0, 1), ("item", "U", 9, 8, 1),
        ("other", "X", 7, None, 1),
    ]  # fmt: skip
    found = await diagnosed(monkeypatch, Sysmaster(rows, times=[("item", 7, 990), ("other", 7, 0)]))
    assert found.locks == (
        TableLock("item", "U", 1, LockSession(9), BERT, None),
        TableLock("item", "X", 40, ANNA, None, 10.0),
        TableLock("ITEM", "IS", 1, BERT, None, None),
    )
    assert str(found).splitlines() == [
        r"locks: item is locked (U) by session 9; first waiter: session 8 (user bert, host x\x1b[2J, "
        "program '/bin/app', connected for 0 s, waits for a lock itself)",
        "locks: item is locked (X, 40 locks, for 10 s) by session 7 (user anna, host desk, process 12, "
        "connected for 600 s)",
        r"locks: ITEM is locked (IS) by session 8 (user bert, host x\x1b[2J, program '/bin/app', "
        "connected for 0 s, waits for a lock itself)",
    ]


async def test_after_a_deadlock_the_own_locks_with_a_waiter_are_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [("item", "X", 8, 7, 1), ("other", "X", 7, 8, 1), ("third", "X", 7, None, 1)]
    found = await diagnosed(monkeypatch, Sysmaster(rows, times=[]), own=7)
    assert [lock.table for lock in found.locks] == ["item"]
    assert [(lock.table, lock.waiter) for lock in found.own_locks] == [("other", BERT)]
    assert "\nlocks: own: other is locked (X) by session 7 (" in str(found)


async def test_ages_are_unknown_where_the_server_has_other_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = UndefinedTable("no syslcktab", sqlcode=-206)
    found = await diagnosed(monkeypatch, Sysmaster([("item", "X", 7, None, 1)], times=missing))
    assert found.locks == (TableLock("item", "X", 1, ANNA, None, None),)


# -- failures and bounds ----------------------------------------------------------------------------------------------


def options_for(port: int, **more: Any) -> dict[str, Any]:
    return {"host": "127.0.0.1", "port": port, "user": "usr", "password": "pwd", "server": "ol", **more}


LOCKED: Exchange = (COMMAND, error(-244, -107) + EOT)


def locked_peer() -> Peer:
    return Peer([*login(), LOCKED, END_SESSION], with_login=True)


@pytest.mark.parametrize("before", [[], login()], ids=["login", "query"])
async def test_a_server_that_does_not_answer_leaves_the_error_as_it_is(before: list[Exchange]) -> None:
    silent = Peer([*before, (None, b"")], with_login=True)
    async with listening(locked_peer(), silent) as listener:
        async with aioifx.connect(**options_for(listener.port, database="stores")) as conn:
            with pytest.raises(RowLocked) as caught:
                await conn.execute("update item set n = 1")
            found = await aioifx.diagnosis.diagnose_locks(conn, caught.value, timeout=0.1)
            assert str(found) == "locks: unknown: no answer within 0.1 s"
            await asyncio.wait_for(silent.gone.wait(), 10)
            assert conn.is_closed() is False


async def test_a_rejected_login_is_the_failure(dsn: str) -> None:
    second = Peer([(None, Disconnect())], with_login=True)
    async with listening(locked_peer(), second) as listener:
        async with aioifx.connect(**options_for(listener.port, database="stores")) as conn:
            with pytest.raises(RowLocked) as caught:
                await conn.execute("update item set n = 1")
            found = await aioifx.diagnosis.diagnose_locks(conn, caught.value)
    assert found.failure.startswith("ConnectError: 127.0.0.1") and not found.locks


@pytest.mark.parametrize(
    "manner",
    [
        Manner.WOKEN,
        *(
            pytest.param(manner, marks=pytest.mark.exhaustive)
            for manner in Manner
            if manner is not Manner.WOKEN
        ),
    ],
    ids=lambda manner: manner.name,
)
async def test_a_diagnosis_cancelled_at_any_step_leaves_nothing_open(
    server: Server, dsn: str, holder: Connection, manner: Manner
) -> None:
    async with aioifx.connect(dsn) as conn:
        refused = await failed(conn)

        async def ask() -> None:
            await aioifx.diagnosis.diagnose_locks(conn, refused)

        point = 1
        while await is_cancelled(ask, manner, point):
            point += 1
        assert point > 4
        await eventually(lambda: len(server.stats.sessions) == 2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((None, RowLocked("x")), "conn_or_pool: expected a Connection or a Pool, got NoneType"),
        ((None, ValueError()), "error: expected a DatabaseError, got ValueError"),
    ],
)
async def test_arguments_are_checked(arguments: Any, words: str) -> None:
    with pytest.raises(aioifx.InterfaceError, match=words):
        await aioifx.diagnosis.diagnose_locks(*arguments)


# -- the option -------------------------------------------------------------------------------------------------------


async def consumed(stream: Any) -> None:
    async for _ in stream:
        pass


CALLS: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "execute": lambda conn: conn.execute("insert into item values (2)"),
    "executemany": lambda conn: conn.executemany("insert into item values (?)", [(1,), (2,)]),
    "fetch": lambda conn: conn.fetch("select n from item for update"),
    "stream": lambda conn: consumed(conn.stream("select n from item for update")),
    "load": lambda conn: conn.load("item", [(1,)]),
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, "connection") for name in ("execute", "executemany", "load")),
        *(
            (name, "transaction") for name in ("fetch", "stream")
        ),  # elsewhere the embedded server locks nothing for them
        *((name, "pool") for name in ("execute", "executemany")),
    ],
)
async def test_a_lock_error_of_any_call_has_a_note(
    dsn: str, holder: Connection, name: str, kind: str
) -> None:
    number = await holder.session_id()
    with pytest.raises(LockError) as caught:
        if kind == "pool":
            async with aioifx.create_pool(dsn, lock_diagnosis=True) as pool:
                await CALLS[name](pool)
        else:
            async with aioifx.connect(dsn, lock_diagnosis=True) as conn:
                if kind == "connection":
                    await CALLS[name](conn)
                else:
                    async with conn.transaction():
                        await CALLS[name](conn)
    (note,) = caught.value.__notes__
    assert note.startswith("locks: item is locked (X, for ") and f"by session {number} (" in note


async def test_lock_errors_of_many_tasks_share_the_queries(dsn: str, holder: Connection) -> None:
    number = await holder.session_id()
    logins = 0

    def password() -> str:
        nonlocal logins
        logins += 1
        return "secret"

    size = 12
    options: dict[str, Any] = {
        "password": password,
        "min_size": size,
        "max_size": size,
        "lock_diagnosis": True,
    }
    async with aioifx.create_pool(dsn, **options) as pool:
        await pool.wait_ready()
        logins = 0
        errors = await asyncio.gather(*(failed(pool) for _ in range(size)))
        assert all(f"by session {number} (" in error.__notes__[0] for error in errors)
        assert 1 <= logins <= size // 2
        assert pool.stats.opened == size


async def test_those_who_ask_during_a_run_of_the_queries_share_the_next_one() -> None:
    runs = [asyncio.Event() for _ in range(3)]
    ended: list[int] = []

    async def query() -> Any:
        number = len(ended)
        await runs[number].wait()
        ended.append(number)
        return number

    shared = locks._SharedQueries(query)
    first = asyncio.create_task(shared.result())
    await asyncio.sleep(0)  # starts it
    await asyncio.sleep(0)  # starts its queries
    others = [asyncio.create_task(shared.result()) for _ in range(3)]
    await asyncio.sleep(0)
    for run in runs:
        run.set()
    found: list[Any] = await asyncio.gather(first, *others)
    assert found == [0, 1, 1, 1]


async def test_queries_of_locks_end_when_no_task_waits_for_them(
    dsn: str, holder: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[bool] = []
    asked = asyncio.Event()

    async def never(*_: object) -> Any:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    monkeypatch.setattr(locks, "_query", never)
    async with aioifx.create_pool(dsn, max_size=3, lock_diagnosis=True) as pool:
        tasks = [asyncio.ensure_future(pool.execute("insert into item values (2)")) for _ in range(3)]
        await asked.wait()
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(result, asyncio.CancelledError) for result in results)
        await eventually(lambda: ended == [True])
        monkeypatch.undo()
        assert "item is locked" in (await failed(pool)).__notes__[0]


async def test_cursors_and_prepared_statements_have_notes_too(dsn: str, holder: Connection) -> None:
    async with aioifx.connect(dsn, lock_diagnosis=True) as conn:
        statement = await conn.prepare("insert into item values (?)")
        with pytest.raises(LockError) as caught:
            await statement.execute(1)
        assert "item is locked" in caught.value.__notes__[0]
        async with conn.cursor() as cursor:
            with pytest.raises(LockError) as caught:
                await cursor.execute("insert into item values (1)")
        assert "item is locked" in caught.value.__notes__[0]


async def test_other_errors_have_no_note(dsn: str) -> None:
    async with aioifx.connect(dsn, lock_diagnosis=True) as conn:
        with pytest.raises(UndefinedTable) as caught:
            await conn.fetch("select n from missing")
    assert not any("locks" in note for note in getattr(caught.value, "__notes__", ()))


async def test_without_the_option_nothing_is_asked(dsn: str, holder: Connection) -> None:
    async with aioifx.connect(dsn) as conn:
        assert not hasattr(await failed(conn), "__notes__")
        assert conn._session.observation is None


async def test_a_note_that_takes_too_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "NOTE_SECONDS", 0.1)
    silent = Peer([(None, b"")], with_login=True)
    async with listening(locked_peer(), silent) as listener:
        # Without a database the session's number is not queried at the start.
        options = options_for(listener.port, database="stores", lock_diagnosis=True, autocommit=True)
        monkeypatch.setattr("aioifx.client.connect.connect._learn_session_id", lambda *_: asyncio.sleep(0))
        async with aioifx.connect(**options) as conn:
            with pytest.raises(RowLocked) as caught:
                await conn.execute("update item set n = 1")
    assert caught.value.__notes__ == ["locks: unknown: no answer within 0.1 s"]


async def test_the_sessions_own_locks_are_not_those_of_others(dsn: str) -> None:
    async with aioifx.connect(dsn, lock_diagnosis=True) as conn:
        assert conn._session.session_id is not None
        async with conn.transaction():
            await conn.execute("insert into item values (2)")
            found = await aioifx.diagnosis.diagnose_locks(conn, RowLocked("made up", sql="insert into item"))
            assert found.locks == () and found.own_locks == ()


@pytest.mark.parametrize("options", [{"autocommit": False}, {"database": ""}])
async def test_the_number_is_not_queried_where_that_would_start_a_transaction(
    dsn: str, options: dict[str, Any]
) -> None:
    found = aioifx.parse_dsn(dsn)
    given: dict[str, Any] = {
        "host": found.host,
        "port": found.port,
        "user": found.user,
        "server": found.server,
    }
    given |= {"database": "shop", "lock_diagnosis": True, **options}
    async with aioifx.connect(**given) as conn:
        assert conn._session.session_id is None


async def test_a_connection_whose_number_cannot_be_learnt_is_not_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    peer = Peer([*login(), (None, Disconnect())], with_login=True)
    async with listening(peer) as listener:
        with pytest.raises(ConnectError, match="the connection was lost after the login"):
            await aioifx.connect(**options_for(listener.port, database="stores", lock_diagnosis=True))
        await asyncio.wait_for(peer.gone.wait(), 10)


async def test_the_query_of_the_number_is_part_of_the_connect(dsn: str) -> None:
    recorder = Recorder()
    async with aioifx.connect(dsn, lock_diagnosis=True, observer=recorder) as conn:
        (operation,) = recorder.ended
        assert (operation.name, operation.session_id) == ("connect", await conn.session_id())
        assert operation.round_trips == conn.stats.round_trips
    recorder.check()


async def test_a_server_that_does_not_tell_the_number_is_a_connect_error() -> None:
    peer = Peer([*login(), (None, b"")], with_login=True)
    async with listening(peer) as listener:
        options = options_for(listener.port, database="stores", lock_diagnosis=True, connect_timeout=0.3)
        with pytest.raises(ConnectError, match=r"did not answer within 0\.3 s after the login"):
            await aioifx.connect(**options)
        await asyncio.wait_for(peer.gone.wait(), 10)


async def test_a_server_that_refuses_to_tell_the_number_is_connected_to() -> None:
    peer = Peer([*login(), (None, error(-201) + EOT), END_SESSION], with_login=True)
    async with listening(peer) as listener:
        options = options_for(listener.port, database="stores", lock_diagnosis=True)
        async with aioifx.connect(**options) as conn:
            assert conn._session.session_id is None


def test_a_session_is_ours_by_host_and_process() -> None:
    assert LockSession(1, "u", socket.gethostname(), os.getpid()).is_own_process
    assert not LockSession(1, "u", "elsewhere", os.getpid()).is_own_process
