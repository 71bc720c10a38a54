from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

import aioifx
from aioifx.server import running
from aioifx.server.catalog import catalog, systables
from aioifx.server.engine.session_registry import SessionRegistry
from aioifx.server.engine.sysmaster import refresh
from aioifx.server.sqlite.databases import Databases, LogMode, WriteRefusal
from aioifx.server.sqlite.lock_manager import Kind, LockMode, Resource
from aioifx.server.sqlite.transactions import Transactions
from aioifx.sqltypes import Row
from tests.server.talking import codes, error_from, query, run, run_all, server_core


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.create_collation("ifx_decimal", lambda a, b: (a > b) - (a < b))
        for step in catalog.session_steps():
            connection.execute(step.sql, step.values)
        yield connection


def rows(connection: sqlite3.Connection, name: str) -> list[dict[str, object]]:
    table = systables.SYSMASTER_TABLES[name]
    names = [column.name for column in table.columns]
    found = connection.execute(f"SELECT * FROM {systables.session_table(name)}").fetchall()
    return [dict(zip(names, row, strict=True)) for row in found]


def test_databases_are_shown_with_their_log_modes(connection: sqlite3.Connection) -> None:
    databases = Databases()
    for name, mode in (("c", LogMode.ANSI), ("a", LogMode.LOGGED), ("b", LogMode.UNLOGGED)):
        databases.create(name, mode, "anna")
    for _ in range(2):  # a second look replaces the first
        refresh("sysdatabases", connection, databases, SessionRegistry())
    shown = rows(connection, "sysdatabases")
    result = [(row["name"], row["is_logging"], row["is_ansi"], row["owner"]) for row in shown]
    assert result == [("a", 1, 0, "anna"), ("b", 0, 0, "anna"), ("c", 1, 1, "anna")]
    assert shown[0]["created"] == (date.today() - date(1899, 12, 31)).days
    databases.close()


def test_databases_are_shown_with_their_locales(connection: sqlite3.Connection) -> None:
    databases = Databases(locale="en_US.utf8")
    databases.create("stores", LogMode.LOGGED, "anna")
    refresh("sysdbslocale", connection, databases, SessionRegistry())
    assert rows(connection, "sysdbslocale") == [{"dbs_dbsname": "stores", "dbs_collate": "en_US.57372"}]
    databases.close()


def test_sessions_are_shown_while_they_last(connection: sqlite3.Connection) -> None:
    databases, registry = Databases(), SessionRegistry()
    anna = registry.register("anna", "desk", 12)
    registry.register("bert")
    refresh("syssessions", connection, databases, registry)
    assert [
        (row["sid"], row["username"], row["hostname"], row["pid"]) for row in rows(connection, "syssessions")
    ] == [(1, "anna", "desk", 12), (2, "bert", "", 0)]
    registry.unregister(anna)
    refresh("syssessions", connection, databases, registry)
    assert [row["username"] for row in rows(connection, "syssessions")] == ["bert"]
    databases.close()


LOCK_AGES = """
    select n.tabname, t.sid, min(l.grtime) from sysmaster:syslcktab l, sysmaster:systabnames n, sysmaster:systxptab x,
    sysmaster:sysrstcb t where n.dbsname = 'demo' and l.partnum = n.partnum and l.owner = x.address
    and x.owner = t.address group by 1, 2 order by 1"""


def test_an_open_database_and_a_writer_are_locks() -> None:
    with server_core() as core:
        anna, bert = core.engine(user="anna"), core.engine(user="bert")
        for table in ("a", "b", "c"):
            run(anna, f"create table {table} (n int)")
        syslocks = "select * from sysmaster:syslocks"
        opened = [
            ("sysmaster", "sysdatabases", 1, 0, "S", 1, None),
            ("sysmaster", "sysdatabases", 1, 0, "S", 2, None),
        ]
        assert stripped(query(bert, syslocks)) == opened
        run(anna, "begin work")
        assert stripped(query(bert, syslocks)) == opened
        run_all(anna, "insert into b values (1)", "lock table a in exclusive mode")
        assert stripped(query(bert, syslocks)) == [
            *opened, ("demo", "b", 0, 0, "IX", 1, None), ("demo", "b", 1, 0, "X", 1, None),
            ("demo", "a", 0, 0, "X", 1, None),
        ]  # fmt: skip
        assert codes(error_from(bert, "insert into a values (1)")) == (-271, -113, "a")
        run(bert, "insert into c values (1)")
        now = time.time()
        ages = query(bert, LOCK_AGES)
        assert [(table.strip(), sid) for table, sid, _ in ages] == [("a", 1), ("b", 1)]
        assert all(now - 60 < granted <= now for _, _, granted in ages)
        run(anna, "rollback work")
        assert stripped(query(bert, syslocks)) == opened


def test_the_first_waiter_of_a_lock_is_shown() -> None:
    with server_core() as core:
        anna, bert, carl, dora = (core.engine(user=user) for user in ("anna", "bert", "carl", "dora"))
        run_all(anna, "create table t (n int)", "begin work", "lock table t in exclusive mode")
        table = Resource("demo", 100, Kind.TABLE)
        manager = core.databases.locks

        def wait_as(owner: Transactions) -> None:  # without the connection, which belongs to this thread
            manager.wait_for(owner, table, LockMode.S, wait=None, interrupted=lambda: False)

        waiting: list[threading.Thread] = []
        for other in (bert, carl):
            waiting.append(threading.Thread(target=wait_as, args=(other._state.current.transactions,)))
            waiting[-1].start()
            while not other.is_waiting:
                pass
        locks = "select tabname, type, owner, waiter from sysmaster:syslocks where dbsname = 'demo'"
        assert stripped(query(dora, locks)) == [("t", "X", 1, 2)]
        script = """
            select s.username, s.is_wlock, w.username from sysmaster:syssessions s, outer (sysmaster:syslocks l,
            sysmaster:syssessions w) where l.owner = s.sid and l.waiter = w.sid order by s.sid"""
        assert stripped(query(dora, script)) == [
            ("anna", 0, "bert"), ("bert", 1, None), ("carl", 1, None), ("dora", 0, None),
        ]  # fmt: skip
        waits = """
            select w.sid, o.sid, f.txt from sysmaster:sysrstcb w, sysmaster:syslcktab l, sysmaster:systxptab x,
            sysmaster:sysrstcb o, sysmaster:flags_text f where w.lkwait = l.address and l.owner = x.address
            and x.owner = o.address and f.tabname = 'syslcktab' and f.flags = l.type"""
        assert stripped(query(dora, waits)) == [(2, 1, "X")]
        run(anna, "commit work")
        for thread in waiting:
            thread.join(20)
        assert stripped(query(dora, locks)) == []


def stripped(found: list[Row]) -> list[tuple[object, ...]]:
    """Rows without the blanks of CHAR."""
    return [tuple(cell.strip() if isinstance(cell, str) else cell for cell in row) for row in found]


def test_locks_are_counted() -> None:
    with server_core() as core:
        anna, bert = core.engine(user="anna"), core.engine(user="bert")
        profile = "select name, value from sysmaster:sysprofile"
        run_all(anna, "create table t (n int)", "begin work", "insert into t values (1)")
        before = {str(name).strip(): value for name, value in query(bert, profile)}
        assert {"dskreads", "bufreads", "iscommits", "maxsortspace"} < set(before)
        counted = {name for name, value in before.items() if value}
        assert counted == {"lockreqs"}
        run(bert, "set lock mode to wait 1")
        assert codes(error_from(bert, "update t set n = 2")) == (-244, -154, "t")
        after = {str(name).strip(): value for name, value in query(bert, profile)}
        assert after["lockreqs"] > before["lockreqs"]
        assert [after[name] - before[name] for name in ("lockwts", "deadlks", "lktouts")] == [1, 0, 1]


def test_a_session_is_shown_with_its_program(connection: sqlite3.Connection) -> None:
    databases, registry = Databases(), SessionRegistry()
    registry.register("anna", "desk", 12, "stock taking")
    refresh("syssessions", connection, databases, registry)
    assert [(row["feprogram"], row["is_wlock"]) for row in rows(connection, "syssessions")] == [
        ("stock taking", 0)
    ]
    databases.close()


def test_a_session_sees_its_own_temporary_tables() -> None:
    temps = """
        select n.tabname, h.sid from sysmaster:systabnames n, sysmaster:sysptnhdr h
        where h.partnum = n.partnum and h.sid = dbinfo('sessionid') and bitand(h.flags, 32) <> 0 order by 1"""
    with server_core() as core:
        anna, bert = core.engine(user="anna"), core.engine(user="bert")
        run_all(anna, "create temp table a (n int)", "create temp table b (n int) with no log")
        run(bert, "create temp table c (n int)")
        assert query(anna, temps) == [("a", 1), ("b", 1)]
        assert query(bert, temps) == [("c", 2)]
        run(anna, "drop table a")
        assert query(anna, temps) == [("b", 1)]


@pytest.fixture
def databases(tmp_path: Path) -> Iterator[Databases]:
    databases = Databases(tmp_path)
    databases.create("stores", LogMode.LOGGED, "ann")
    yield databases
    databases.close()


def shown(
    name: str, databases: Databases, registry: SessionRegistry | None = None
) -> list[dict[str, object]]:
    names = [column.name for column in systables.SYSMASTER_TABLES[name].columns]
    with closing(sqlite3.connect(":memory:")) as connection:
        refresh(name, connection, databases, registry or SessionRegistry())
        rows = connection.execute(f"SELECT * FROM {systables.session_table(name)}").fetchall()
    return [dict(zip(names, row, strict=True)) for row in rows]


def test_the_directory_is_the_only_chunk(databases: Databases, tmp_path: Path) -> None:
    (before,) = shown("syschunks", databases)
    assert (before["chknum"], before["dbsnum"], before["is_offline"], before["nfree"]) == (1, 1, 0, 0)
    assert before["fname"] == str(tmp_path)
    size = databases.find("stores").path.stat().st_size
    assert before["chksize"] == -(-size // systables.PAGE_SIZE)
    with closing(sqlite3.connect(databases.find("stores").path)) as connection:
        connection.execute("CREATE TABLE filler AS SELECT zeroblob(1000000) AS x")
        connection.execute("DROP TABLE filler")
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    (after,) = shown("syschunks", databases)
    assert isinstance(after["nfree"], int) and after["nfree"] > 450
    assert isinstance(after["chksize"], int) and after["chksize"] > after["nfree"]


def test_the_logs_are_those_of_changes_and_what_follows_begins_a_page(
    databases: Databases, tmp_path: Path
) -> None:
    (log,) = shown("syslogs", databases)
    assert (log["uniqid"], log["is_current"], log["is_backed_up"], log["used"]) == (1, 1, 0, 0)
    with databases.changes.appending():
        databases.changes.begun("stores", 1, 0)
    (log,) = shown("syslogs", databases)
    assert (log["number"], log["uniqid"], log["used"], log["flags"]) == (1, 1, 1, 3)
    assert databases.changes.end == (1 << 32) + (1 << 12)
    databases.close()
    later = Databases(tmp_path)
    logs = shown("syslogs", later)
    later.close()
    assert [(log["uniqid"], log["used"], log["is_current"], log["flags"]) for log in logs] == [
        (1, 1, 0, 1),
        (2, 0, 1, 3),
    ]


def test_parameters_are_those_of_the_server(databases: Databases, tmp_path: Path) -> None:
    values = {row["cf_name"]: row["cf_effective"] for row in shown("sysconfig", databases)}
    assert (values["ROOTPATH"], values["ROOTNAME"]) == (str(tmp_path), "rootdbs")
    assert values["DB_LOCALE"] == databases.locale
    assert (values["LOCKS"], values["USELASTCOMMITTED"]) == ("20000", "NONE")
    ids = [row["cf_id"] for row in shown("sysconfig", databases)]
    assert ids == list(range(len(values)))


def test_open_databases_are_those_of_sessions(databases: Databases) -> None:
    registry = SessionRegistry()
    registry.register("ann").database = "stores"
    registry.register("bob")
    assert [(row["odb_sessionid"], row["odb_dbname"]) for row in shown("sysopendb", databases, registry)] == [
        (1, "stores")
    ]


async def test_tables_of_sysmaster_are_joined_and_copied() -> None:
    async with running() as dsn, aioifx.connect(dsn) as conn:
        query = (
            "SELECT TRIM(d.name), d.pagesize, DBINFO('dbspace', t.partnum) FROM sysmaster:sysdbspaces d,"
            " sysmaster:syschunks c, systables t WHERE c.dbsnum = d.dbsnum AND t.tabid = 1"
        )
        assert await conn.fetch(query) == [("rootdbs", 2048, "rootdbs")]
        await conn.execute("CREATE TEMP TABLE mine (name VARCHAR(128))")
        # They are as of now in every statement, not in queries alone.
        await conn.execute("INSERT INTO mine SELECT odb_dbname FROM sysmaster:sysopendb")
        assert await conn.fetch("SELECT name FROM mine") == [("demo",)]
        await conn.execute("SELECT odb_dbname AS name FROM sysmaster:sysopendb INTO TEMP yours")
        assert await conn.fetch("SELECT name FROM yours") == [("demo",)]


async def test_the_tables_of_all_databases_have_names() -> None:
    async with running(["demo", "other"]) as dsn, aioifx.connect(dsn) as conn:
        await conn.execute("CREATE TABLE mine (a INTEGER)")
        await conn.execute("CREATE TEMP TABLE ours (a INTEGER)")
        query = "SELECT dbsname, tabname FROM sysmaster:systabnames WHERE tabname IN ('mine', 'ours', 'syscolumns')"
        assert await conn.fetch(f"{query} ORDER BY 1, 2") == [
            ("demo", "mine"),
            ("demo", "ours"),
            ("demo", "syscolumns"),
            ("other", "syscolumns"),
            ("sysadmin", "syscolumns"),
            ("syscdcv1", "syscolumns"),
            ("sysmaster", "syscolumns"),
        ]
        counts = "SELECT COUNT(*)::INT, COUNT(DISTINCT partnum)::INT FROM sysmaster:systabnames"
        assert len(set((await conn.fetch(counts))[0])) == 1
        # Documented: systables.partnum is the number in sysmaster, too.
        joined = "SELECT n.dbsname, n.tabname FROM systables t, sysmaster:systabnames n WHERE n.partnum = t.partnum"
        assert await conn.fetch(f"{joined} AND t.tabname = 'mine'") == [("demo", "mine")]
        named = "SELECT n.tabname FROM sysmaster:sysdatabases d, sysmaster:systabnames n WHERE n.partnum = d.partnum"
        assert await conn.fetch(named) == [("systables",)] * 5


async def test_a_rollback_does_not_remove_them() -> None:
    async with running() as dsn, aioifx.connect(dsn) as conn:
        for _ in range(2):
            async with conn.transaction() as transaction:
                assert len(await conn.fetch("SELECT number FROM sysmaster:syslogs")) == 1
                await transaction.rollback()


def test_the_server_is_a_standard_one_unless_it_refuses_writes_as_a_secondary_one(
    databases: Databases,
) -> None:
    assert [(row["type"], row["state"]) for row in shown("sysdri", databases)] == [("standard", "off")]
    databases.refusal = WriteRefusal.SECONDARY
    assert [(row["type"], row["state"]) for row in shown("sysdri", databases)] == [("secondary", "on")]


def test_a_view_may_read_what_is_filled_for_a_query() -> None:
    with server_core() as core:
        anna = core.engine(user="anna")
        run(anna, "create view here as select sid, username from sysmaster:syssessions")
        assert stripped(query(anna, "select username from here")) == [("anna",)]
