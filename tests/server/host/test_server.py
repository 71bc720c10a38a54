from __future__ import annotations

import asyncio
import importlib
import importlib.util
import logging
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import trustme

import aioifx
import aioifx.server
from aioifx.channel import Channel
from aioifx.errors import InterfaceError, SQLSyntaxError
from aioifx.server.host.server import Server, ServerOptions, running, serve
from aioifx.server.sqlite.databases import LogMode
from aioifx.wire import session_requests
from tests.certificates import certified, trusting
from tests.server.protocol.test_session import INTERRUPTED, NUMBERS, SLOW, Caller, calling, code_of, soon
from tests.server.talking import until


def test_the_package_exports_what_users_need() -> None:
    assert set(aioifx.server.__all__) == {
        "Quirk",
        "Routine",
        "Server",
        "ServerOptions",
        "ServerStats",
        "SessionStats",
        "running",
        "serve",
    }


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
        async with calling(server) as caller:
            await caller.begin()
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
    async with serve() as server, calling(server) as one, calling(server) as two:
        await one.begin()
        await two.begin()
        await one.command("CREATE TABLE t (a INTEGER)")
        await one.command("BEGIN WORK")
        await one.command("INSERT INTO t VALUES (1)")
        await two.command("SET LOCK MODE TO WAIT")
        two.put_command("INSERT INTO t VALUES (2)")
        two.send()
        await until(lambda: any(each.waiting for each in server.stats.sessions))
        await server.close()


async def test_two_servers_have_nothing_in_common() -> None:
    async with serve() as one, serve() as two:
        for server in (one, two):
            async with calling(server) as caller:
                await caller.begin()
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


async def test_a_wrong_option_is_named() -> None:
    with pytest.raises(InterfaceError, match="log_mode: expected one of unlogged, logged, ansi, got 'loged'"):
        async with running(log_mode="loged"):
            pass
    with pytest.raises(InterfaceError, match=r"database: expected valid database names, got '\.\./demo'"):
        ServerOptions(("../demo",))
    with pytest.raises(InterfaceError, match="databases: expected a tuple of names, got int"):
        ServerOptions(7)  # type: ignore[arg-type] # the error is what is tested
    with pytest.raises(InterfaceError, match="routines: expected a tuple of Routine objects, got int"):
        ServerOptions(routines=7)  # type: ignore[arg-type] # the error is what is tested
    with pytest.raises(InterfaceError, match="port: expected a whole number from 0 to 65535, got 'x'"):
        ServerOptions(port="x")  # type: ignore[arg-type] # the error is what is tested
    with pytest.raises(InterfaceError, match=r"seed: .*nothing\.sql cannot be read: "):
        ServerOptions(seed=Path("nothing.sql"))
    for option, value, expected in (
        ("seed", 5, "seed: expected SQL or a Path, got int"),
        ("user", 5, "user: expected a str, got int"),
        ("db_locale", None, "db_locale: expected a str, got NoneType"),
        ("databases", "shop", "databases: expected a tuple of names, got str"),
        ("databases", (5,), "database: expected a str, got int"),
        ("login_timeout", "10", "login_timeout: expected a number of seconds, got str"),
        ("max_sessions", "10", "max_sessions: expected a whole number, got str"),
        ("fetch_limit", None, "fetch_limit: expected a whole number, got NoneType"),
        ("fetch_refusal", True, "fetch_refusal: expected a whole number, got bool"),
        ("ssl", True, "ssl: expected an ssl.SSLContext or None, got bool"),
        ("directory", 5, "directory: expected a Path or None, got int"),
        ("routines", [5], "routines: expected Routine objects, got int"),
    ):
        with pytest.raises(InterfaceError, match=expected):
            ServerOptions(**{option: value})  # type: ignore[arg-type] # the error is what is tested
    with pytest.raises(InterfaceError, match="port: expected a whole number from 0 to 65535, got -1"):
        ServerOptions(port=-1)
    with pytest.raises(InterfaceError, match="login_timeout: expected seconds above 0, got 0"):
        ServerOptions(login_timeout=0)
    with pytest.raises(InterfaceError, match="max_sessions: expected 1 or more, got 0"):
        ServerOptions(max_sessions=0)
    with pytest.raises(InterfaceError, match="fetch_limit: expected a number of bytes above 0, got 0"):
        ServerOptions(fetch_limit=0)
    with pytest.raises(InterfaceError, match="fetch_refusal: expected a negative SQLCODE or 0, got"):
        ServerOptions(fetch_refusal=406)
    with pytest.raises(
        InterfaceError, match=r"^db_locale: unknown code set 'klingon' in locale 'tlh\.klingon'"
    ):
        async with running(db_locale="tlh.klingon"):
            pass
    with pytest.raises(
        InterfaceError, match=r"^database: unknown code set 'klingon' in locale 'tlh\.klingon'"
    ):
        ServerOptions(("shop:tlh.klingon",))
    with pytest.raises(InterfaceError, match=r"^database: code set missing in locale 'utf8'"):
        ServerOptions(("shop:utf8",))


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
            assert {name: locale.rstrip() for name, locale in rows} == {
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
            await soon(lambda: server.stats.sessions[0].running)
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
        async with calling(server) as caller:
            await caller.begin()
            statement_id = await caller.prepare("SELECT a FROM t")
            caller.channel.transport.pause_reading()
            for _ in range(300):
                caller.put_open(statement_id)
            session_requests.put_exit(caller.outbox)
            caller.send()
            await soon(lambda: not server.stats.sessions)
            assert server._connections
            await server.close()
            assert not server._connections


async def test_a_server_that_was_never_started_can_be_closed() -> None:
    server = Server()
    await server.close()
    await server.close()


async def test_logging_is_quiet_when_all_is_well(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "aioifx.server")
    async with serve() as server, calling(server) as caller:
        await caller.begin()
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
