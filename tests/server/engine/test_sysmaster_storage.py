from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import aioifx
from aioifx.server import running
from aioifx.server.catalog import systables
from aioifx.server.engine.session_registry import SessionRegistry
from aioifx.server.engine.sysmaster import refresh
from aioifx.server.sqlite.databases import Databases, LogMode, WriteRefusal


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


def test_the_write_ahead_files_are_the_current_log(databases: Databases) -> None:
    (log,) = shown("syslogs", databases)
    assert (log["number"], log["is_current"], log["is_backed_up"], log["used"]) == (1, 1, 0, 0)
    path = Path(f"{databases.find('stores').path}-wal")
    path.write_bytes(bytes(5000))
    assert shown("syslogs", databases)[0]["used"] == 3
    path.unlink()


def test_parameters_are_those_of_the_server(databases: Databases, tmp_path: Path) -> None:
    values = {row["cf_name"]: row["cf_effective"] for row in shown("sysconfig", databases)}
    assert (values["ROOTPATH"], values["ROOTNAME"]) == (str(tmp_path), "rootdbs")
    assert values["DB_LOCALE"] == databases.locale


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
            ("sysmaster", "syscolumns"),
        ]
        counts = "SELECT COUNT(*)::INT, COUNT(DISTINCT partnum)::INT FROM sysmaster:systabnames"
        assert len(set((await conn.fetch(counts))[0])) == 1
        # Documented: systables.partnum is the number in sysmaster, too.
        joined = "SELECT n.dbsname, n.tabname FROM systables t, sysmaster:systabnames n WHERE n.partnum = t.partnum"
        assert await conn.fetch(f"{joined} AND t.tabname = 'mine'") == [("demo", "mine")]
        named = "SELECT n.tabname FROM sysmaster:sysdatabases d, sysmaster:systabnames n WHERE n.partnum = d.partnum"
        assert await conn.fetch(named) == [("systables",)] * 3


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
