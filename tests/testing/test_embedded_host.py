from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import aioifx.dbapi
from aioifx.errors import DatabaseError
from aioifx.testing.embedded_host import EmbeddedHost
from aioifx.testing.seeds import Seed
from tests.testing.runs import SETTINGS

TABLE = Seed("CREATE TABLE t (a SERIAL); CREATE SEQUENCE s; INSERT INTO t VALUES (0);", "table.sql")
ROW = Seed("INSERT INTO t VALUES (0)", "row.sql")


@pytest.fixture
def host() -> Iterator[EmbeddedHost]:
    host = EmbeddedHost(replace(SETTINGS, seeds=(TABLE,)))
    yield host
    before = len(threading.enumerate())
    host.close()
    assert len(threading.enumerate()) < before


def names(host: EmbeddedHost) -> list[str]:
    return [
        *itertools.chain(
            *fetch(host, "sysmaster", "SELECT TRIM(name) FROM sysdatabases WHERE name <> 'sysmaster'")
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
