"""connect of PEP 249: its defaults, and what it leaves when it fails."""

from __future__ import annotations

import pytest

import aioifx
from aioifx import dbapi
from aioifx.server.sqlite.databases import LogMode
from tests.dbapi.conftest import Host


def test_the_module_says_what_it_is() -> None:
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 2, "qmark")
    assert dbapi.Error is aioifx.Error and dbapi.connect.__module__ == "aioifx.dbapi"


def test_options_have_the_defaults_of_pep_249_and_others_win(host: Host) -> None:
    with dbapi.connect(host.dsn + "&autocommit=true", row_factory=aioifx.rows.dict_row) as conn:
        assert conn.autocommit is True
        assert conn.cursor().execute("select n from number where n = 1").fetchall() == [{"n": 1}]
    with pytest.raises(dbapi.InterfaceError, match=r'^lobs: expected "inline", got \'handles\''):
        dbapi.connect(host.dsn, lobs="handles")
    with pytest.raises(dbapi.InterfaceError, match=r"^nonsense: unknown option"):
        dbapi.connect(host.dsn, nonsense=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    with pytest.raises(dbapi.OperationalError):
        dbapi.connect(host.dsn.replace("/shop", "/nowhere"))


def test_in_a_database_without_a_log_commit_and_rollback_do_nothing(host: Host) -> None:
    with dbapi.connect(host.dsn, autocommit=True) as conn:
        conn.cursor().execute("create database plain")
    with dbapi.connect(host.dsn.replace("/shop", "/plain"), autocommit=False) as conn:
        cursor = conn.cursor()
        cursor.execute("create table spot (n int)")
        cursor.executemany("insert into spot values (?)", [(1,), (2,)])
        conn.rollback()
        assert (conn.log_mode, conn.autocommit) == ("unlogged", True)
        assert cursor.execute("select n from spot").fetchall() == [(1,), (2,)]
        with pytest.raises(dbapi.NotSupportedError):
            conn.autocommit = False


def write_and_roll_back(conn: dbapi.Connection) -> None:
    cursor = conn.cursor()
    cursor.execute("create temp table spot (n int)")
    cursor.execute("insert into spot values (1)")
    conn.commit()
    cursor.execute("insert into spot values (2)")
    conn.rollback()
    assert cursor.execute("select n from spot").fetchall() == [(1,)]


def test_autocommit_is_off_in_an_ansi_database() -> None:
    with Host(log_mode=LogMode.ANSI) as host, dbapi.connect(host.dsn, isolation="committed_read") as conn:
        assert (conn.log_mode, conn.autocommit) == ("ansi", False)
        write_and_roll_back(conn)


def test_autocommit_is_off_in_a_database_that_is_opened_later(host: Host) -> None:
    with dbapi.connect(host.dsn.replace("/shop", "/"), isolation="committed_read") as conn:
        assert (conn.log_mode, conn.autocommit) == (None, False)
        conn.cursor().execute("database shop")
        assert conn.database == "shop"
        write_and_roll_back(conn)
