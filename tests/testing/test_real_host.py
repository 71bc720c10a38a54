from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

import aioifx.dbapi
from aioifx.errors import ConnectError, DatabaseError, InterfaceError
from aioifx.server.sqlite.databases import LogMode
from aioifx.testing.embedded_host import EmbeddedHost
from aioifx.testing.real_host import RealHost
from aioifx.testing.seeds import Seed
from tests.testing.runs import SETTINGS, databases_of, remote_server


@pytest.fixture(scope="module")
def remote() -> Iterator[EmbeddedHost]:
    with remote_server() as remote:
        yield remote


def host_of(remote: EmbeddedHost, locale: str = "", log_mode: LogMode = LogMode.LOGGED) -> RealHost:
    return RealHost(replace(SETTINGS, dsn=remote.server.dsn, locale=locale, log_mode=log_mode))


def test_databases_are_created_with_seeds_and_dropped(remote: EmbeddedHost) -> None:
    host = host_of(remote, "en_US.utf8", LogMode.UNLOGGED)
    host.create(
        "one", (Seed("CREATE TABLE t (a NVARCHAR(9))", "a.sql"), Seed("INSERT INTO t VALUES ('ż')", "b.sql"))
    )
    assert host.dsn_of("one").endswith("/one?server=ol_aioifx&client_locale=en_US.utf8&db_locale=en_US.utf8")
    with aioifx.dbapi.connect(host.dsn_of("one")) as conn:
        cursor = conn.cursor()
        cursor.execute("SELECT a FROM t")
        assert cursor.fetchall() == [("ż",)]
        cursor.execute("SELECT is_logging FROM sysmaster:sysdatabases WHERE name = 'one'")
        assert cursor.fetchall() == [(0,)]
    conn.close()
    host.drop("one")
    assert databases_of(remote) == []
    host.close()


def test_closing_drops_what_is_left(remote: EmbeddedHost) -> None:
    host = host_of(remote)
    host.create("one", ())
    conn = aioifx.dbapi.connect(host.dsn_of("one"))
    host.drop("one")
    assert databases_of(remote) == ["one"]
    conn.close()
    host.close()
    assert databases_of(remote) == []


def test_a_database_whose_seed_fails_is_dropped(remote: EmbeddedHost) -> None:
    host = host_of(remote)
    for _ in range(2):  # the second time must not be "database exists"
        with pytest.raises(DatabaseError, match=r"^statement 1 of the seed, line 1 of a\.sql: "):
            host.create("one", (Seed("DELETE FROM t", "a.sql"),))
        assert databases_of(remote) == []
    host.close()


def test_a_database_that_cannot_be_dropped_is_named(remote: EmbeddedHost) -> None:
    host = host_of(remote)
    host.create("one", ())
    conn = aioifx.dbapi.connect(host.dsn_of("one"))
    with pytest.warns(UserWarning, match=r"^databases of tests were not dropped:\none: .*SQLCODE -425"):
        host.close()
    conn.close()
    remote.drop("one")


def test_a_server_that_cannot_be_reached_is_named() -> None:
    remote = EmbeddedHost(SETTINGS)
    first, second = host_of(remote), host_of(remote)
    second.create("one", ())
    remote.close()
    with pytest.raises(ConnectError):
        first.create("one", ())
    first.close()
    with pytest.warns(UserWarning, match=r"^databases of tests were not dropped:\none: could not connect"):
        second.close()


def test_an_address_must_be_a_url() -> None:
    for dsn in ("jdbc:informix-sqli://h:9088/d:INFORMIXSERVER=s", "HOST=h;SERVER=s", "informix://h/a#b"):
        with pytest.raises(InterfaceError, match=r"^informix_dsn: expected a URL, informix://"):
            RealHost(replace(SETTINGS, dsn=dsn))
    host = RealHost(
        replace(SETTINGS, dsn="informix:///shop?server=ol_test&db_locale=en_US.819", locale="pl_PL.utf8")
    )
    assert host.dsn_of("x") == "informix:///x?server=ol_test&client_locale=pl_PL.utf8&db_locale=pl_PL.utf8"
    host.close()
