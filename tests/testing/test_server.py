from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import aioifx.dbapi
import aioifx.testing
from aioifx.testing.seeds import Seed
from aioifx.testing.server import Server
from tests.testing.runs import SETTINGS


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
