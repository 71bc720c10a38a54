from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import aioifx.dbapi
import aioifx.testing
from aioifx.errors import ConnectError, DatabaseError, InterfaceError
from aioifx.server.sqlite.databases import LogMode
from aioifx.testing.seeds import Seed
from aioifx.testing.server import EmbeddedHost, RealHost, Server
from tests.testing.runs import SETTINGS, databases_of, remote_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(replace(SETTINGS, seeds=(Seed("CREATE TABLE t (a INT)", "t.sql"),)), tmp_path)
    yield server
    server.close()


def count(dsn: str) -> int:
    conn = aioifx.dbapi.connect(dsn)
    cursor = conn.cursor()
    cursor.execute("SELECT COUNT(*) FROM t")
    ((number,),) = cursor.fetchall()
    conn.close()
    return int(number)


def test_names_of_the_package_are_imported_on_use() -> None:
    assert aioifx.testing.Server is Server
    assert repr(Server) == "<class 'aioifx.testing.Server'>"
    assert set(aioifx.testing.__all__) <= set(dir(aioifx.testing))
    with pytest.raises(AttributeError, match=r"^module 'aioifx\.testing' has no attribute 'x'$"):
        _ = aioifx.testing.x  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]


def test_databases_have_the_seeds_of_the_options_and_their_own(server: Server, tmp_path: Path) -> None:
    (tmp_path / "row.sql").write_text("INSERT INTO t VALUES (1)")
    one = server.create_database("row.sql", "INSERT INTO t VALUES (2);")
    two = server.create_database(tmp_path / "row.sql")
    assert (one.name, two.name) == ("test_1", "test_2")
    assert (count(one.dsn), count(two.dsn), count(server.dsn)) == (2, 1, 0)
    server.drop_database(one)
    with pytest.raises(aioifx.Error):
        aioifx.dbapi.connect(one.dsn)


def test_the_shared_database_is_created_again_after_it_was_dropped(server: Server) -> None:
    assert server.database is server.database
    conn = aioifx.dbapi.connect(server.dsn)
    conn.cursor().execute("INSERT INTO t VALUES (1)")
    conn.commit()
    conn.close()
    assert count(server.dsn) == 1
    server.drop_database(server.database)
    assert count(server.dsn) == 0


def test_features_of_the_embedded_server_are_skipped_on_another(server: Server, tmp_path: Path) -> None:
    assert server.embedded.dsn_of(server.database.name) == server.dsn
    real = Server(replace(SETTINGS, dsn=server.dsn, database="real"), tmp_path)
    assert (server.is_embedded, real.is_embedded) == (True, False)
    with pytest.raises(
        pytest.skip.Exception, match=r"^needs the embedded server, and --informix-dsn names another$"
    ):
        _ = real.embedded
    assert real.dsn.partition("?")[0].endswith("/real")
    real.close()


def test_statements_are_those_in_a_database_or_in_the_one_of_a_name(server: Server) -> None:
    one, two = server.create_database(), server.create_database()
    with server.statements(one) as log, server.statements(one.name) as named:
        assert count(one.dsn) == count(two.dsn) == 0
    assert [*log] == [*named]
    assert {record.database for record in log} == {one.name}


TABLE = Seed("CREATE TABLE t (a SERIAL); CREATE SEQUENCE s; INSERT INTO t VALUES (0);", "table.sql")
ROW = Seed("INSERT INTO t VALUES (0)", "row.sql")


@pytest.fixture
def host() -> Iterator[EmbeddedHost]:
    host = EmbeddedHost(replace(SETTINGS, seeds=(TABLE,)))
    yield host
    # Threads that resolve names for other loops come and go meanwhile.
    before = loop_threads()
    host.close()
    assert loop_threads() == before - 1


def loop_threads() -> int:
    return sum(thread.name == "aioifx.dbapi" for thread in threading.enumerate())


def names(host: EmbeddedHost) -> list[str]:
    return [
        *itertools.chain(
            *fetch(host, "sysmaster", "SELECT TRIM(name) FROM sysdatabases WHERE name NOT MATCHES 'sys*'")
        )
    ]


def fetch(host: EmbeddedHost, database: str, sql: str) -> list[tuple[Any, ...]]:
    with aioifx.dbapi.connect(host.dsn_of(database)) as conn:
        cursor = conn.cursor()
        cursor.execute(sql)
        rows = cursor.fetchall() if cursor.description else []
        conn.commit()
    conn.close()
    return rows


def test_each_database_is_a_copy_of_the_template_of_its_seeds(host: EmbeddedHost) -> None:
    host.create("one", (TABLE, ROW))
    fetch(host, "one", "INSERT INTO t VALUES (0)")
    for name in ("two", "three"):
        host.create(name, (TABLE, ROW))
    for name in ("four", "five"):
        host.create(name, (TABLE,))
    host.create("six", ())
    assert fetch(host, "one", "SELECT MAX(a) FROM t") == [(3,)]
    for name in ("two", "three"):
        assert fetch(host, name, "SELECT MAX(a) FROM t") == [(2,)]
    for name in ("four", "five"):
        assert fetch(host, name, "SELECT MAX(a) FROM t") == [(1,)]
    assert {name for name in names(host) if "template" in name} == {"test_template_0", "test_template_1"}


def test_seeds_that_are_used_once_leave_no_template(host: EmbeddedHost) -> None:
    for number in range(10):
        name = f"db{number}"
        host.create(name, (TABLE, Seed(f"INSERT INTO t VALUES (10{number})", "row"), ROW))
        assert fetch(host, name, "SELECT MAX(a) FROM t") == [(101 + number,)]
        host.drop(name)
    assert names(host) == []


def test_a_seed_that_fails_is_run_once(host: EmbeddedHost) -> None:
    wrong = Seed("CREATE TABLE u (a INT);\nDELETE FROM v", "wrong.sql")
    errors: list[DatabaseError] = []
    for name in ("one", "two"):
        with pytest.raises(
            DatabaseError, match=r"^statement 2 of the seed, line 2 of wrong\.sql: "
        ) as raised:
            host.create(name, (TABLE, wrong))
        errors.append(raised.value)
    assert errors[0] is errors[1]
    assert names(host) == []


def test_dropping_ends_the_sessions_of_a_database(host: EmbeddedHost) -> None:
    host.create("one", (TABLE,))
    conn = aioifx.dbapi.connect(host.dsn_of("one"))
    conn.cursor().execute("INSERT INTO t VALUES (0)")
    host.drop("one")
    with pytest.raises(aioifx.Error):
        conn.cursor().execute("SELECT a FROM t")
    conn.close()
    host.create("one", ())


def test_a_database_that_the_test_has_dropped_is_ignored(host: EmbeddedHost) -> None:
    host.create("gone", ())
    conn = aioifx.dbapi.connect(host.dsn_of("sysmaster"))
    conn.cursor().execute("DROP DATABASE gone")
    conn.close()
    host.drop("gone")
    with pytest.raises(DatabaseError, match="SQLCODE -389"):
        host.drop("sysmaster")


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
