from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

import aioifx
from aioifx.errors import InterfaceError
from aioifx.server import Fault, Server, ServerOptions, serve
from tests.injection import eventually

T = TypeVar("T")

SEED = "CREATE TABLE stock (id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO stock VALUES (1, 10);"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serve(ServerOptions(("shop",), seed=SEED)) as server:
        yield server


@pytest.fixture
async def conn(server: Server) -> AsyncIterator[aioifx.Connection]:
    async with aioifx.connect(server.dsn) as conn:
        yield conn


async def count(server: Server) -> int:
    async with aioifx.connect(server.dsn) as conn:
        number: int = await conn.fetchval("SELECT n FROM stock WHERE id = 1")
        return number


# -- statements --------------------------------------------------------------------------------------------------------


async def test_a_statement_fails_without_being_executed(server: Server, conn: aioifx.Connection) -> None:
    with server.faults.fail_next(-244, -107, match="update stock", token="stock") as fault:
        async with conn.transaction():
            assert await conn.fetchval("SELECT n FROM stock") == 10
            with pytest.raises(aioifx.RowLocked) as raised:
                await conn.execute("UPDATE stock SET n = 11")
            assert (raised.value.sqlcode, raised.value.isamcode) == (-244, -107)
            assert raised.value.token == "stock"
            assert fault.hits == 1
            await conn.execute("UPDATE stock SET n = n + 1")
    assert await count(server) == 11


async def test_the_log_has_the_error_of_a_fault(server: Server, conn: aioifx.Connection) -> None:
    with server.statements() as log, server.faults.fail_next(-243, -143):
        with pytest.raises(aioifx.Deadlock):
            await conn.fetch("SELECT n FROM stock")
    error = log[-1].error
    assert error is not None
    assert (error.sqlcode, error.isamcode) == (-243, -143)


async def test_prepared_statements_and_messages_without_text_fail(
    server: Server, conn: aioifx.Connection
) -> None:
    statement = await conn.prepare("INSERT INTO stock VALUES (?, ?)")
    with server.faults.fail_next(-271, -131, match="INSERT INTO stock", times=2):
        for _ in range(2):
            with pytest.raises(aioifx.OperationalError):
                await statement.execute(2, 5)
        await statement.execute(2, 5)
    with server.faults.fail_next(-271, -107, match="insert"):
        with pytest.raises(aioifx.RowLocked):
            await conn.executemany("INSERT INTO stock VALUES (?, ?)", [(3, 1), (4, 1)])
    with server.faults.fail_next(-256, match="begin work"):
        with pytest.raises(aioifx.Error):
            async with conn.transaction():
                pass
    assert await conn.fetchval("SELECT COUNT(*) FROM stock") == 2


async def test_rows_of_an_insert_cursor_fail_when_they_are_inserted(
    server: Server, conn: aioifx.Connection
) -> None:
    with server.faults.kill_during("INSERT INTO stock", effect="after"):
        with pytest.raises(aioifx.OperationalError):
            await conn.load("stock", [(n, n) for n in range(2, 9)])
    await conn.close()


async def test_a_long_transaction_is_rolled_back_by_the_server(
    server: Server, conn: aioifx.Connection
) -> None:
    with pytest.raises(aioifx.OperationalError) as raised:
        async with conn.transaction():
            await conn.execute("UPDATE stock SET n = 11")
            with server.faults.fail_next(-458, match="select"):
                await conn.fetch("SELECT n FROM stock")
    assert raised.value.sqlcode == -458
    assert not server.stats.sessions[0].in_transaction
    assert await conn.fetchval("SELECT n FROM stock") == 10


async def test_a_fault_is_undone_at_the_end_of_its_block(server: Server, conn: aioifx.Connection) -> None:
    async with server.faults.fail_next(-244, times=None) as fault:
        for _ in range(3):
            with pytest.raises(aioifx.DatabaseError):
                await conn.fetch("SELECT n FROM stock")
    assert fault.hits == 3
    assert await conn.fetchval("SELECT n FROM stock") == 10
    server.faults.fail_next(-244, times=None)
    server.faults.clear()
    assert await conn.fetchval("SELECT n FROM stock") == 10


@pytest.mark.parametrize(("effect", "n"), [("before", 10), ("after", 11)])
async def test_a_connection_is_killed_during_commit(server: Server, effect: Any, n: int) -> None:
    with pytest.raises(aioifx.ConnectionLost) as raised, server.faults.kill_during("COMMIT", effect=effect):
        async with aioifx.connect(server.dsn) as conn, conn.transaction():
            await conn.execute("UPDATE stock SET n = 11")
    assert any("COMMIT was in flight" in note for note in raised.value.__notes__)
    assert await count(server) == n  # and the row is not locked: the session has ended


@pytest.mark.parametrize(("effect", "n"), [("before", 10), ("after", 11)])
async def test_a_connection_is_killed_during_a_change(
    server: Server, conn: aioifx.Connection, effect: Any, n: int
) -> None:
    with server.faults.kill_during("UPDATE", effect=effect) as fault:
        with pytest.raises(aioifx.ConnectionLost):
            await conn.execute("UPDATE stock SET n = 11")
        assert fault.hits == 1
        assert await count(server) == n


async def test_a_connection_is_killed_during_a_query(server: Server, conn: aioifx.Connection) -> None:
    with server.faults.kill_during("FROM stock", effect="after"), pytest.raises(aioifx.ConnectionLost):
        await conn.fetch("SELECT n FROM stock")


# -- connections -------------------------------------------------------------------------------------------------------


async def test_all_connections_are_dropped_and_their_transactions_rolled_back(server: Server) -> None:
    async with aioifx.create_pool(server.dsn, min_size=2, max_size=4) as pool:
        async with pool.acquire() as conn:
            await conn.execute("BEGIN WORK")
            await conn.execute("UPDATE stock SET n = 11")
            assert server.faults.drop_connections().hits == 2
            with pytest.raises(aioifx.ConnectionLost):
                await conn.execute("COMMIT WORK")
        assert await pool.fetchval("SELECT n FROM stock") == 10
        await pool.execute("UPDATE stock SET n = 12")


async def test_connections_with_a_statement_are_dropped(server: Server) -> None:
    with server.faults.drop_connections("UPDATE stock") as fault:
        for _ in range(2):
            async with aioifx.connect(server.dsn) as conn:
                assert await conn.fetchval("SELECT n FROM stock") == 10
                with pytest.raises(aioifx.ConnectionLost):
                    await conn.execute("UPDATE stock SET n = 11")
        assert fault.hits == 2
    assert await count(server) == 10


@pytest.mark.parametrize(
    ("sqlcode", "kind"), [(-27002, aioifx.ConnectError), (-951, aioifx.AuthenticationError)]
)
async def test_logins_are_refused(
    server: Server, conn: aioifx.Connection, sqlcode: int, kind: type[Exception]
) -> None:
    with server.faults.refuse(sqlcode) as fault:
        with pytest.raises(kind) as raised:
            await aioifx.connect(server.dsn)
        assert getattr(raised.value, "sqlcode", None) == sqlcode
        assert await conn.fetchval("SELECT n FROM stock") == 10
    assert fault.hits == 1
    assert await count(server) == 10


async def test_logins_are_refused_without_a_reply(server: Server) -> None:
    with server.faults.refuse(0), pytest.raises(aioifx.ConnectError):
        await aioifx.connect(server.dsn)


async def test_the_next_server_is_tried_when_the_first_one_refuses(server: Server) -> None:
    async with serve(ServerOptions(("shop",), seed=SEED)) as other:
        with server.faults.refuse(0):
            async with aioifx.connect(
                server.dsn, host=f"127.0.0.1:{server.port},127.0.0.1:{other.port}"
            ) as conn:
                await conn.execute("UPDATE stock SET n = 11")
        assert await count(other) == 11


async def test_nothing_is_answered_during_a_pause(server: Server, conn: aioifx.Connection) -> None:
    fault = server.faults.pause()
    query = asyncio.ensure_future(conn.fetchval("SELECT n FROM stock"))
    login = asyncio.ensure_future(count(server))
    await eventually(lambda: fault.hits == 2)
    assert not query.done()
    assert not login.done()
    server.faults.resume()
    assert [await query, await login] == [10, 10]


async def test_a_time_limit_ends_a_statement_during_a_pause(server: Server, conn: aioifx.Connection) -> None:
    with server.faults.pause():
        with pytest.raises(aioifx.QueryTimeout):
            await conn.fetch("SELECT n FROM stock", timeout=0.05)
    assert await conn.fetchval("SELECT n FROM stock") == 10


async def test_a_server_can_be_closed_during_a_pause() -> None:
    async with serve() as server, aioifx.connect(server.dsn) as conn:
        fault = server.faults.pause()
        query = asyncio.ensure_future(conn.fetch("SELECT tabid FROM systables"))
        await eventually(lambda: fault.hits == 1)
        await server.close()
        with pytest.raises(aioifx.OperationalError):
            await query


async def test_replies_are_delayed(server: Server, conn: aioifx.Connection) -> None:
    loop = asyncio.get_running_loop()
    with server.statements() as log, server.faults.delay(0.02, jitter=0.001) as fault:
        begin = loop.time()
        assert await conn.fetchval("SELECT n FROM stock") == 10
        assert loop.time() - begin > 0.019 * fault.hits
        assert fault.hits == log.round_trips


# -- the whole server --------------------------------------------------------------------------------------------------


async def test_a_primary_becomes_secondary_and_clients_turn_to_the_other_server(server: Server) -> None:
    async with serve(ServerOptions(("shop",), seed=SEED)) as other:
        hosts = f"127.0.0.1:{server.port},127.0.0.1:{other.port}"
        async with aioifx.create_pool(server.dsn, host=hosts, role="primary", max_size=2) as pool:
            await pool.execute("UPDATE stock SET n = 11")
            async with server.faults.become_secondary():
                with pytest.raises(aioifx.ConnectError, match=r"role: expected a primary server"):
                    await aioifx.connect(server.dsn, role="primary")
                assert await pool.fetchval("SELECT n FROM stock") == 10  # the other server
                async with aioifx.connect(server.dsn, role="secondary") as conn:
                    assert await conn.fetchval("SELECT n FROM stock") == 11
                    with pytest.raises(aioifx.OperationalError) as raised:
                        await conn.execute("UPDATE stock SET n = 12")
                    assert (raised.value.sqlcode, raised.value.isamcode) == (-346, -140)
    async with aioifx.connect(server.dsn, role="primary") as conn:
        await conn.execute("UPDATE stock SET n = 12")


async def test_a_pool_replaces_a_connection_whose_change_a_secondary_server_refused(server: Server) -> None:
    async with serve(ServerOptions(("shop",), seed=SEED)) as other:
        hosts = f"127.0.0.1:{server.port},127.0.0.1:{other.port}"
        async with aioifx.create_pool(server.dsn, host=hosts, role="primary", max_size=1) as pool:
            await pool.fetch("SELECT n FROM stock")
            with server.faults.become_secondary(drop=False):
                with pytest.raises(aioifx.OperationalError) as raised:
                    await pool.execute("INSERT INTO stock VALUES (2, 1)")
                assert (raised.value.sqlcode, raised.value.isamcode) == (-271, -140)
                await pool.execute("INSERT INTO stock VALUES (2, 1)")
        await eventually(lambda: not server.stats.sessions)
        async with aioifx.connect(other.dsn) as conn:
            assert await conn.fetchval("SELECT COUNT(*) FROM stock") == 2


async def test_a_disk_is_full_until_it_is_not(server: Server, conn: aioifx.Connection) -> None:
    with server.faults.full_disk():
        with pytest.raises(aioifx.OperationalError) as raised:
            await conn.execute("INSERT INTO stock VALUES (2, 1)")
        assert (raised.value.sqlcode, raised.value.isamcode) == (-271, -131)
        with server.faults.become_secondary(drop=False):
            with pytest.raises(aioifx.OperationalError, match=r"ISAM -140"):
                await conn.execute("INSERT INTO stock VALUES (2, 1)")
        with pytest.raises(aioifx.OperationalError, match=r"ISAM -131"):
            await conn.execute("INSERT INTO stock VALUES (2, 1)")
    await conn.execute("INSERT INTO stock VALUES (2, 1)")


async def test_a_table_is_locked_by_a_session_of_its_own(server: Server, conn: aioifx.Connection) -> None:
    before = set(threading.enumerate())
    with server.faults.lock("stock"):
        with pytest.raises(aioifx.RowLocked):
            await conn.execute("UPDATE stock SET n = 11")
        locks = await conn.fetch("SELECT type FROM sysmaster:syslocks WHERE tabname = 'stock'")
        assert [record["type"].strip() for record in locks] == ["X"]
        with pytest.raises(aioifx.DatabaseError) as raised:
            server.faults.lock("stock")
        assert raised.value.sqlcode == -289
        await conn.execute("SET LOCK MODE TO WAIT")
        waiting = asyncio.ensure_future(conn.execute("UPDATE stock SET n = 11"))
        await eventually(lambda: any(session.waiting for session in server.stats.sessions))
    await waiting
    assert await count(server) == 11
    assert not [t for t in set(threading.enumerate()) - before if t.name.startswith("aioifx-fault")]


@pytest.mark.parametrize(("mode", "isamcodes"), [("exclusive", (-113, -113, 0)), ("share", (-113, 0, 0))])
async def test_a_locked_table_is_met_by_changes_and_by_reads(
    server: Server, conn: aioifx.Connection, mode: Any, isamcodes: tuple[int, int, int]
) -> None:
    found: list[int] = []
    with server.faults.lock("stock", mode=mode):
        for isolation, sql in (
            ("COMMITTED READ", "UPDATE stock SET n = 11"),
            ("COMMITTED READ", "SELECT n FROM stock"),
            ("DIRTY READ", "SELECT n FROM stock"),
        ):
            await conn.execute(f"SET ISOLATION TO {isolation}")
            try:
                await conn.fetch(sql) if sql.startswith("SELECT") else await conn.execute(sql)
            except aioifx.RowLocked as error:
                found.append(error.isamcode)
            else:
                found.append(0)
    assert tuple(found) == isamcodes


async def test_a_lock_on_nothing_is_an_error(server: Server) -> None:
    with pytest.raises(aioifx.ProgrammingError) as raised:
        server.faults.lock("missing")
    assert raised.value.sqlcode == -206
    with pytest.raises(aioifx.DatabaseError) as unknown:
        server.faults.lock("stock", database="missing")
    assert unknown.value.sqlcode == -329


async def test_a_server_without_databases_needs_the_name_of_one() -> None:
    async with serve(ServerOptions(())) as empty:
        with pytest.raises(InterfaceError, match=r"^database: expected the name of a database, got None$"):
            empty.faults.lock("stock")


# -- other threads -----------------------------------------------------------------------------------------------------


async def test_another_thread_may_arm_faults(server: Server, conn: aioifx.Connection) -> None:
    def arm(work: Callable[[], T]) -> Any:
        return asyncio.get_running_loop().run_in_executor(threads, work)

    faults = server.faults
    with ThreadPoolExecutor(1) as threads:
        fault: Fault = await arm(lambda: faults.fail_next(-244, -107))
        with pytest.raises(aioifx.RowLocked):
            await conn.fetch("SELECT n FROM stock")
        assert fault.hits == 1
        lock: Fault = await arm(lambda: faults.lock("stock"))
        with pytest.raises(aioifx.RowLocked):
            await conn.execute("UPDATE stock SET n = 11")
        await arm(lock.undo)
        pause: Fault = await arm(faults.pause)
        query = asyncio.ensure_future(conn.fetchval("SELECT n FROM stock"))
        await eventually(lambda: pause.hits == 1)
        await arm(faults.resume)
        assert await query == 10
        assert (await arm(faults.drop_connections)).hits == 1
        with pytest.raises(aioifx.ConnectionLost):
            await conn.fetch("SELECT n FROM stock")
        secondary: Fault = await arm(faults.become_secondary)
        with pytest.raises(aioifx.ConnectError):
            await aioifx.connect(server.dsn, role="primary")
        await arm(secondary.undo)


async def test_connections_that_have_not_logged_in_are_dropped(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.setblocking(False)
        await eventually(lambda: server._sessions)
        assert server.faults.drop_connections().hits == 1
        assert await asyncio.get_running_loop().sock_recv(client, 1) == b""


async def test_a_login_that_is_dropped_during_a_pause_does_not_block_later_logins(server: Server) -> None:
    with server.faults.pause() as fault:
        login = asyncio.ensure_future(count(server))
        await eventually(lambda: fault.hits == 1)
        assert server.faults.drop_connections().hits == 1
    with pytest.raises(aioifx.ConnectError):
        await login
    assert await count(server) == 10


# -- arguments ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("fail_next", {"sqlcode": 0}, "sqlcode: expected a code from -32768 to -1, got 0"),
        ("fail_next", {"sqlcode": -244, "isam": 1}, "isam: expected a code from -32768 to 0, got 1"),
        ("fail_next", {"sqlcode": -244, "times": 0}, "times: expected a whole number from 1, or None, got 0"),
        ("kill_during", {"effect": "now"}, "effect: expected 'before' or 'after', got 'now'"),
        ("drop_connections", {"match": ""}, "match: expected a part of a statement, got only blanks"),
        ("refuse", {"sqlcode": 1}, "sqlcode: expected a code from -32768 to 0, got 1"),
        ("delay", {"seconds": -1}, "seconds: expected a number of seconds from 0, got -1"),
        ("lock", {"table": "t", "mode": "row"}, "mode: expected one of exclusive, share, got 'row'"),
        ("lock", {"table": "t", "database": 5}, "database: expected the name of a database, got 5"),
        ("fail_next", {"sqlcode": "-244"}, "sqlcode: expected a code from -32768 to -1, got '-244'"),
        ("fail_next", {"sqlcode": -1, "match": 5}, "match: expected text or a compiled expression of text, got 5"),
        ("delay", {"seconds": "1"}, "seconds: expected a number of seconds from 0, got '1'"),
    ],
)  # fmt: skip
async def test_arguments_are_checked(name: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InterfaceError) as raised:
        getattr(Server().faults, name)(**arguments)
    assert str(raised.value) == message
