"""connect of PEP 249: its defaults, and what it leaves when it fails."""

from __future__ import annotations

import pytest

import aioifx
from aioifx import dbapi
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


def test_a_database_without_a_log_needs_autocommit(host: Host) -> None:
    with dbapi.connect(host.dsn, autocommit=True) as conn:
        conn.cursor().execute("create database plain")
    dsn = host.dsn.replace("/shop", "/plain")
    with pytest.raises(dbapi.NotSupportedError, match="autocommit=False: the database has no log"):
        dbapi.connect(dsn)
    with dbapi.connect(dsn, autocommit=True) as conn:
        cursor = conn.cursor()
        cursor.execute("create table spot (n int)")
        cursor.executemany("insert into spot values (?)", [(1,), (2,)])
        conn.rollback()
        assert conn.log_mode == "unlogged"
        assert cursor.execute("select n from spot").fetchall() == [(1,), (2,)]
        with pytest.raises(dbapi.NotSupportedError):
            conn.autocommit = False
