from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.util
import logging
import shutil
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import trustme

import aioifx
import aioifx.server
from aioifx.channel import Channel
from aioifx.errors import SQLSyntaxError
from aioifx.server.host.options import ServerOptions
from aioifx.server.host.server import Server, running, serve
from aioifx.server.sqlite.databases import LogMode
from aioifx.wire import session_requests
from tests.certificates import certified, trusting
from tests.injection import eventually
from tests.server.protocol.test_session import INTERRUPTED, NUMBERS, SLOW, Caller, calling, code_of, logged_in
from tests.server.talking import until


def test_the_package_exports_what_users_need() -> None:
    assert set(aioifx.server.__all__) == {
        "Fault", "Faults", "Quirk", "Routine", "Server", "ServerOptions", "ServerStats", "SessionStats",
        "StatementLog", "StatementRecord", "running", "serve",
    }  # fmt: skip


async def test_the_dsn_names_what_a_client_needs() -> None:
    async with running() as dsn:
        assert dsn.startswith("informix://informix@127.0.0.1:")
        assert dsn.endswith("/demo?server=ol_aioifx")
    async with running(["shop", "stock"], user="a/b", password="p@ss", server_name="ol_shop") as dsn:
        assert dsn.startswith("informix://a%2Fb:p%40ss@127.0.0.1:")
        assert dsn.endswith("/shop?server=ol_shop")


async def test_login_and_dbinfo_tell_one_version() -> None:
    async with running() as dsn, aioifx.connect(dsn) as conn:
        version = await conn.fetchval("SELECT DBINFO('version', 'full') FROM systables WHERE tabid = 1")
        assert version == conn.server_version == "IBM Informix Dynamic Server Version 15.0.1.0.3"


async def test_it_listens_when_it_is_entered_and_no_more_when_it_is_left() -> None:
    async with serve() as server:
        port = server.port
        async with logged_in(server):
            pass
    with pytest.raises(OSError, match=r"."):
        await asyncio.open_connection("127.0.0.1", port)


async def test_leaving_ends_sessions_threads_and_files() -> None:
    before = set(threading.enumerate())
    tasks = asyncio.all_tasks()
    async with serve() as server:
        assert server._databases is not None
        folder = server._databases.find("demo").path.parent
        callers = [calling(server) for _ in range(3)]
        for each in callers:
            caller: Caller = await each.__aenter__()
            await caller.begin()
            await caller.command("BEGIN WORK")
        assert folder.is_dir()
    assert not folder.exists()
    assert {thread for thread in set(threading.enumerate()) - before if "aioifx" in thread.name} == set()
    for each in callers:
        await each.__aexit__(None, None, None)
    assert asyncio.all_tasks() == tasks


async def test_a_session_that_waits_for_a_lock_does_not_hold_up_the_end() -> None:
    async with serve() as server, logged_in(server) as one, logged_in(server) as two:
        await one.command("CREATE TABLE t (a INTEGER)")
        await one.command("BEGIN WORK")
        await one.command("INSERT INTO t VALUES (1)")
        await two.command("SET LOCK MODE TO WAIT")
        two.put_command("UPDATE t SET a = 2")
        two.send()
        await until(lambda: any(each.waiting for each in server.stats.sessions))
        await server.close()


async def test_two_servers_have_nothing_in_common() -> None:
    async with serve() as one, serve() as two:
        for server in (one, two):
            async with logged_in(server) as caller:
                assert (await caller.command("CREATE TABLE t (a INTEGER)")).error is None


async def test_a_seed_fills_the_first_database() -> None:
    options = ServerOptions(("shop", "stock"), seed="CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1);")
    async with serve(options) as server:
        for database, sqlcode in ((b"shop", 0), (b"stock", -206)):
            async with calling(server) as caller:
                await caller.begin(database)
                error = (await caller.command("UPDATE t SET a = 2")).error
                assert (error.sqlcode if error else 0) == sqlcode


async def test_a_failing_seed_is_reported_and_nothing_is_left() -> None:
    before = set(threading.enumerate())
    with pytest.raises(SQLSyntaxError, match="syntax error"):
        async with running(seed="CREATE TABEL t (a INTEGER)"):
            pass
    assert {thread for thread in set(threading.enumerate()) - before if "session" in thread.name} == set()


async def test_a_copied_database_continues_serials_and_sequences_and_has_large_objects() -> None:
    async with serve(ServerOptions(())) as server:
        seed = "CREATE TABLE t (a SERIAL, b CLOB); CREATE SEQUENCE s START WITH 7; GRANT DBA TO anna"
        server.create_database("shop", seeds=[(seed, "shop.sql")])
        async with aioifx.connect(server.dsn_of("shop")) as conn:
            await conn.execute("INSERT INTO t VALUES (0, ?)", "x" * 100_000)
            await conn.execute("INSERT INTO t VALUES (0, NULL)")
            await conn.execute("DELETE FROM t WHERE a = 2")
            assert await conn.fetchval("SELECT s.NEXTVAL FROM t") == 7
            with pytest.raises(aioifx.DatabaseError, match=r"SQLCODE -425"):
                server.create_database("copy", copy_of="shop")
        await eventually(lambda: not server.stats.sessions)
        for name in ("copy", "copy2"):
            server.create_database(name, copy_of="shop")
            async with aioifx.connect(server.dsn_of(name)) as conn:
                assert await conn.fetchval("SELECT s.NEXTVAL FROM t") == 8
                assert (await conn.execute("INSERT INTO t (b) VALUES (NULL)")).serial == 3
                lob = await conn.fetchval("SELECT b FROM t WHERE a = 1")
                assert await lob.read() == "x" * 100_000
                await conn.execute("DELETE FROM t")
        async with aioifx.connect(server.dsn_of("shop")) as conn:
            lob = await conn.fetchval("SELECT b FROM t")
            assert await lob.read() == "x" * 100_000


async def test_a_commit_beside_a_change_of_the_schema_is_kept_after_a_kill(tmp_path: Path) -> None:
    left = tmp_path / "left"
    left.mkdir()
    async with serve(ServerOptions(("shop",), directory=tmp_path / "killed")) as server:
        async with aioifx.connect(server.dsn) as conn, aioifx.connect(server.dsn) as other:
            await conn.execute("CREATE TABLE t (a INT)")
            async with other.transaction():
                await conn.execute("BEGIN WORK")
                await conn.execute("INSERT INTO t VALUES (1)")
                await other.execute("CREATE TABLE u (a INT)")
                await conn.execute("COMMIT WORK")
                for path in (tmp_path / "killed").glob("shop.sqlite*"):
                    shutil.copy(path, left)
        assert [path.name for path in (tmp_path / "killed").glob("*-committed")] == []
    async with serve(ServerOptions(("shop",), directory=left)) as server:
        server.create_database("copy", copy_of="shop")
        for name in ("shop", "copy"):
            async with aioifx.connect(server.dsn_of(name)) as conn:
                assert await conn.fetchval("SELECT a FROM t") == 1
                assert await conn.fetchval("SELECT COUNT(*) FROM systables WHERE tabname = 'u'") == 0
        assert [path.name for path in left.glob("*-committed")] == []


async def test_a_directory_that_is_only_read_shows_what_is_committed(tmp_path: Path) -> None:
    async with serve(ServerOptions(("shop",), directory=tmp_path / "killed")) as server:
        async with aioifx.connect(server.dsn) as conn:
            await conn.execute("CREATE TABLE t (a INT)")
            await conn.execute("INSERT INTO t VALUES (1)")
            async with conn.transaction():
                await conn.execute("UPDATE t SET a = 2")
                shutil.copytree(tmp_path / "killed", tmp_path / "left")
    with pytest.raises(
        ValueError, match=r"^database: expected one of shop, sysadmin, syscdcv1, sysmaster, got stock$"
    ):
        async with serve(ServerOptions(("stock",), directory=tmp_path / "left", read_only=True)):
            pass
    async with serve(ServerOptions(("shop",), directory=tmp_path / "left", read_only=True)) as server:
        async with aioifx.connect(server.dsn) as conn:
            assert await conn.fetchval("SELECT a FROM t") == 1
            for change in ("UPDATE t SET a = 3", "CREATE TABLE u (a INT)", "DROP TABLE t"):
                with pytest.raises(aioifx.DatabaseError) as raised:
                    await conn.execute(change)
                assert raised.value.isamcode == -140
            fault = server.faults.full_disk()
            fault.undo()
            with pytest.raises(aioifx.DatabaseError, match="ISAM -140"):
                await conn.execute("DELETE FROM t")


async def test_a_copy_of_what_a_killed_server_has_left_is_rolled_back(tmp_path: Path) -> None:
    left = tmp_path / "left"
    left.mkdir()
    async with serve(ServerOptions(("shop",), directory=tmp_path / "killed")) as server:
        async with aioifx.connect(server.dsn) as conn:
            await conn.execute("CREATE TABLE t (a INT)")
            await conn.execute("INSERT INTO t VALUES (1)")
            async with conn.transaction():
                await conn.execute("UPDATE t SET a = 2")
                for path in (tmp_path / "killed").glob("shop.sqlite*"):
                    shutil.copy(path, left)
    async with serve(ServerOptions(("stock",), directory=left)) as server:
        async with aioifx.connect(server.dsn_of("stock")) as conn:
            assert await conn.fetchval("SELECT a FROM shop:t") == 1
        for name in ("copy", "copy2"):
            server.create_database(name, copy_of="shop")
        for name in ("shop", "copy", "copy2"):
            async with aioifx.connect(server.dsn_of(name)) as conn:
                assert await conn.fetchval("SELECT a FROM t") == 1
                await conn.execute("UPDATE t SET a = 3")


async def test_a_database_is_created_and_dropped_with_its_sessions() -> None:
    async with serve(ServerOptions((), password="pass/word")) as server:
        server.create_database("shop", seeds=[("CREATE TABLE t (a INT)", "a"), ("DELETE FROM t", "b")])
        with pytest.raises(aioifx.DatabaseError, match=r"^statement 1 of the seed, line 2 of a\.sql: "):
            server.create_database("stock", seeds=[("\nDELETE FROM t", "a.sql")])
        with pytest.raises(aioifx.DatabaseError, match=r"SQLCODE -329"):
            server.dsn_of("stock")
        with pytest.raises(aioifx.DatabaseError, match=r"SQLCODE -330"):
            server.create_database("shop")
        async with aioifx.connect(server.dsn_of("shop")) as writer, aioifx.connect(server.dsn) as other:
            await writer.execute("BEGIN WORK")
            await writer.execute("INSERT INTO t VALUES (1)")
            await server.drop_database("shop")
            with pytest.raises(aioifx.DatabaseError, match=r"SQLCODE -329"):
                await server.drop_database("shop")
            await other.ping()
        server.create_database("shop")
        async with aioifx.connect(server.dsn) as reader:  # a query opens the other database, too
            assert await reader.fetchval("SELECT COUNT(*) FROM shop:systables WHERE tabid = 1") == 1
            await server.drop_database("shop")
            with pytest.raises(aioifx.ConnectionLost):
                await reader.ping()
        server.create_database("shop", seeds=[("CREATE TABLE t (a INT)", "a")])
        with server.faults.lock("t", database="shop"):
            with pytest.raises(aioifx.DatabaseError, match=r"SQLCODE -425"):
                await server.drop_database("shop")


async def test_a_database_can_be_dropped_while_clients_open_it() -> None:
    async def open_and_close(dsn: str) -> None:
        with contextlib.suppress(aioifx.DatabaseError):
            async with aioifx.connect(dsn):
                pass

    async with serve(ServerOptions(())) as server:
        for _ in range(30):
            server.create_database("shop")
            opening = [asyncio.create_task(open_and_close(server.dsn_of("shop"))) for _ in range(5)]
            await asyncio.sleep(0)
            await server.drop_database("shop")
            await asyncio.gather(*opening)


async def test_databases_of_one_server_have_locales_of_their_own(tmp_path: Path) -> None:
    options = ServerOptions(
        ("greek:el_GR.utf8", "plain"), directory=tmp_path, seed="CREATE TABLE λόγος (n INT)"
    )
    async with serve(options) as server:
        assert server.dsn.endswith("/greek?server=ol_aioifx&client_locale=el_GR.57372&db_locale=el_GR.57372")
        async with aioifx.connect(server.dsn) as conn:
            await conn.execute("INSERT INTO λόγος VALUES (1)")
        with pytest.raises(aioifx.LocaleError) as refused:
            await aioifx.connect(server.dsn, db_locale="en_US.819")
        assert refused.value.sqlcode == -23197
        async with aioifx.connect(
            server.dsn, database="plain", client_locale="en_US.819", db_locale="en_US.819"
        ) as conn:
            rows = await conn.fetch("SELECT dbs_dbsname, dbs_collate FROM sysmaster:sysdbslocale")
            found = {name: locale.rstrip() for name, locale in rows}
            assert {name: found[name] for name in ("greek", "plain", "sysmaster")} == {
                "greek": "el_GR.57372",
                "plain": "en_US.819",
                "sysmaster": "en_US.819",
            }
    async with serve(ServerOptions(("greek",), directory=tmp_path)) as server:
        assert server.dsn.endswith("&db_locale=el_GR.57372")
    with pytest.raises(ValueError, match=r"greek has the locale el_GR\.57372, not en_US\.819"):
        async with running("greek:en_US.819", directory=tmp_path):
            pass


async def test_a_seed_may_be_a_path(tmp_path: Path) -> None:
    script = tmp_path / "seed.sql"
    script.write_text("CREATE TABLE t (n INT); INSERT INTO t VALUES (5);", "utf-8")
    async with running(seed=script) as dsn, aioifx.connect(dsn) as conn:
        assert await conn.fetchval("SELECT n FROM t") == 5


async def test_tls_of_running_is_in_its_address(tmp_path: Path) -> None:
    authority = trustme.CA()
    context = certified(authority, "127.0.0.1")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    async with running(ssl=context) as dsn:
        assert dsn.endswith("&ssl=true")
        async with aioifx.connect(f"{dsn}&ssl_ca={tmp_path}/ca.pem") as conn:
            assert await conn.fetchval("SELECT 1 FROM sysmaster:sysdual") == 1


async def test_the_locale_of_running_is_in_its_address() -> None:
    async with running(db_locale="en_US.utf8") as dsn, aioifx.connect(dsn) as conn:
        assert await conn.fetchval("SELECT '€' FROM sysmaster:sysdual") == "€"


async def test_a_taken_port_is_an_os_error() -> None:
    async with serve() as server:
        with pytest.raises(OSError, match=str(server.port)):
            async with running(port=server.port):
                pass


async def test_data_in_a_directory_outlive_the_server(tmp_path: Path) -> None:
    options = ServerOptions(("shop",), directory=tmp_path, log_mode=LogMode.UNLOGGED)
    async with serve(options) as server, calling(server) as caller:
        await caller.begin(b"shop")
        await caller.command("CREATE TABLE t (a INTEGER)")
        await caller.command("INSERT INTO t VALUES (1)")
    async with serve(options) as server, calling(server) as caller:
        await caller.begin(b"shop")
        done = (await caller.command("UPDATE t SET a = 2")).done
        assert done is not None
        assert done.rows == 1


async def test_the_same_bytes_run_inside_tls() -> None:
    authority = trustme.CA()
    ours = certified(authority, "localhost")
    theirs = trusting(authority)
    async with serve(ServerOptions(ssl=ours)) as server:
        _, channel = await asyncio.get_running_loop().create_connection(
            Channel, "127.0.0.1", server.port, ssl=theirs, server_hostname="localhost"
        )
        caller = Caller(channel)
        await caller.begin()
        assert (await caller.command("CREATE TABLE t (a INTEGER)")).error is None
        channel.close()
        await channel.wait_closed()


async def test_a_handshake_that_does_not_come_is_not_waited_for() -> None:
    authority = trustme.CA()
    ours = certified(authority, "localhost")
    async with serve(ServerOptions(ssl=ours, login_timeout=0.05)) as server, calling(server) as caller:
        await caller.until_lost()


async def test_the_password_is_in_the_dsn_and_nowhere_else() -> None:
    options = ServerOptions(user="müller", password="pässwört €")
    async with serve(options) as server:
        assert server.dsn.startswith("informix://m%C3%BCller:p%C3%A4ssw%C3%B6rt%20%E2%82%AC@127.0.0.1:")
        assert server.printable_dsn.startswith("informix://m%C3%BCller:***@127.0.0.1:")
        for text in (repr(options), repr(server._rules), server.printable_dsn):
            assert "pässwört" not in text and "p%C3" not in text
        async with aioifx.connect(server.dsn, client_locale="en_US.utf8", db_locale="en_US.819") as conn:
            assert (await conn.fetchval("SELECT USER FROM sysmaster:sysdual")).rstrip() == "müller"


LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
if importlib.util.find_spec("uvloop"):
    LOOPS["uvloop"] = importlib.import_module("uvloop").new_event_loop


async def interrupt_a_slow_query(ours: ssl.SSLContext | None, theirs: ssl.SSLContext | None) -> None:
    async with serve(ServerOptions(seed=NUMBERS, ssl=ours)) as server:
        _, channel = await asyncio.get_running_loop().create_connection(
            Channel, "127.0.0.1", server.port, ssl=theirs, server_hostname="localhost" if theirs else None
        )
        caller = Caller(channel)
        await caller.begin()
        statement_id = await caller.prepare(SLOW)
        for _ in range(2):
            caller.put_open(statement_id)
            caller.send()
            await eventually(lambda: server.stats.sessions[0].running)
            caller.interrupt()
            assert code_of(await caller.reply()) == INTERRUPTED
        assert code_of(await caller.command("UPDATE n SET a = 1")) == (0, 0)
        assert server.stats.interrupts == 2
        channel.close()
        await channel.wait_closed()


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
def test_a_query_can_be_interrupted_on_every_loop_and_through_tls(loop: str, tls: bool) -> None:
    authority = trustme.CA()
    ours = certified(authority, "localhost")
    theirs = trusting(authority)
    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(interrupt_a_slow_query(ours, theirs) if tls else interrupt_a_slow_query(None, None))


async def test_leaving_closes_the_connections_of_clients_that_never_read() -> None:
    async with serve(
        ServerOptions(seed="CREATE TABLE t (a CHAR(30000)); INSERT INTO t VALUES ('')")
    ) as server:
        async with logged_in(server) as caller:
            statement_id = await caller.prepare("SELECT a FROM t")
            caller.channel.transport.pause_reading()
            for _ in range(300):
                caller.put_open(statement_id)
            session_requests.put_exit(caller.outbox)
            caller.send()
            await eventually(lambda: not server.stats.sessions)
            assert server._connections
            await server.close()
            assert not server._connections


async def test_a_server_that_was_never_started_can_be_closed() -> None:
    server = Server()
    await server.close()
    await server.close()


async def test_logging_is_quiet_when_all_is_well(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "aioifx.server")
    async with serve() as server, logged_in(server):
        pass
    assert caplog.records == []


async def test_stats_tell_what_a_session_has_set() -> None:
    async with serve() as server, aioifx.connect(server.dsn) as conn:

        def terms() -> tuple[bool, str, bool, float | None]:
            (session,) = server.stats.sessions
            return session.in_transaction, session.isolation, session.read_only, session.lock_wait

        assert terms() == (False, "COMMITTED READ", False, 0)
        await conn.execute("SET LOCK MODE TO WAIT 3")
        await conn.execute("SET ISOLATION TO CURSOR STABILITY")
        await conn.execute("BEGIN WORK")
        assert terms() == (True, "CURSOR STABILITY", False, 3)
        await conn.execute("SET TRANSACTION READ ONLY, ISOLATION LEVEL SERIALIZABLE")
        await conn.execute("SET LOCK MODE TO WAIT")
        assert terms() == (True, "REPEATABLE READ", True, None)
        await conn.execute("ROLLBACK WORK")
        assert terms() == (False, "CURSOR STABILITY", False, None)


# -- the log of statements ---------------------------------------------------------------------------------------------


async def test_statements_are_logged_with_types_rows_round_trips_and_errors() -> None:
    async with serve(ServerOptions(("shop",))) as server, aioifx.connect(server.dsn) as conn:
        await conn.execute("CREATE TABLE t (a INTEGER, b VARCHAR(20))")
        with server.statements() as log:
            async with conn.transaction():
                await conn.executemany("INSERT INTO t VALUES (?, ?)", [(n, "x") for n in range(5)])
            assert len(await conn.fetch("SELECT a FROM t WHERE a > ?", 2)) == 2
            with pytest.raises(aioifx.ProgrammingError):
                await conn.fetch("SELECT a FROM missing")
            assert await conn.fetchval("SELECT a FROM t WHERE a > ?", 2) == 3
        inserts = [record for record in log if record.sql.startswith("INSERT")]
        assert [record.sql for record in log if record not in inserts] == [
            "BEGIN WORK",
            "COMMIT WORK",
            "SELECT a FROM t WHERE a > ?",
            "SELECT a FROM missing",
            "SELECT a FROM t WHERE a > ?",
        ]
        assert sum(record.rows for record in inserts) == 5
        assert {record.parameter_types for record in inserts} == {("INTEGER", "CHAR")}
        query, missing, again = log[-3:]
        assert (query.rows, query.round_trips, again.round_trips) == (2, 3, 1)
        assert missing.error is not None
        assert (missing.error.sqlcode, missing.error.token) == (-206, "missing")
        assert {record.database for record in log} == {"shop"}
        assert {record.session_id for record in log} == {await conn.session_id()}
        assert log.round_trips == sum(record.round_trips for record in log)
        log.assert_round_trips(10)
        assert [record.sql for record in server.recent_statements][-len(log) - 1 : -1] == [
            record.sql for record in log
        ]


async def test_all_fetches_of_a_query_are_one_record() -> None:
    async with serve() as server, aioifx.connect(server.dsn, fetch_size=4096) as conn:
        with server.statements() as log:
            rows = await conn.fetch("SELECT a.tabid, b.tabname FROM systables a, systables b")
            async with conn.transaction(), conn.cursor(scroll=True) as cursor:
                await cursor.execute("SELECT tabid FROM systables")
                await cursor.fetchone()
                await cursor.fetchone()
        query, _, scrolled, _ = log
        assert query.rows == len(rows) > 100
        assert query.round_trips > 3
        assert scrolled.rows == 2


async def test_round_trips_without_a_statement_are_counted_apart() -> None:
    async with serve() as server, aioifx.connect(server.dsn) as conn:
        with server.statements() as log:
            await conn.ping()
        assert (len(log), log.round_trips) == (0, 1)
        assert str(log) == "without a statement: 1 round trip"


async def test_a_log_is_of_one_database() -> None:
    async with serve(ServerOptions(("shop", "stock"))) as server:
        with server.statements("stock") as log:
            for database in ("shop", "stock"):
                async with aioifx.connect(server.dsn, database=database) as conn:
                    await conn.fetch("SELECT tabid FROM systables WHERE tabid = 1")
        assert [record.database for record in log] == ["stock"]
