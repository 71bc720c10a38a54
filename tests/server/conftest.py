"""What the server's tests share: a server_core without sockets, and a client that talks in messages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aioifx.server.engine.engine import Engine
from tests.server.sql.workbench import CONNECTIONS
from tests.server.talking import ServerCore, Talk, run, server_core


@pytest.fixture(autouse=True)
def _workbenches_of_a_test_are_closed() -> Iterator[None]:
    """Nothing else would: SQLite holds their functions, which hold them, and the garbage collector does not see it."""
    before = len(CONNECTIONS)
    yield
    for connection in CONNECTIONS[before:]:
        connection.close()
    del CONNECTIONS[before:]


@pytest.fixture
def core() -> Iterator[ServerCore]:
    with server_core() as made:
        yield made


@pytest.fixture
def engine(core: ServerCore) -> Engine:
    return core.engine()


@pytest.fixture
def one(core: ServerCore) -> Engine:
    """A session; `two` is another one."""
    return core.engine()


@pytest.fixture
def two(core: ServerCore) -> Engine:
    return core.engine()


@pytest.fixture
def filled(engine: Engine) -> Engine:
    """The same, with a table of ten rows."""
    run(engine, "CREATE TABLE t (a INTEGER, b INTEGER)")
    for n in range(1, 11):
        run(engine, "INSERT INTO t VALUES (?, 0)", n)
    return engine


@pytest.fixture
def talk(core: ServerCore) -> Talk:
    """A client of a logged database, after the same steps as JDBC."""
    talk = Talk(core.engine(""))
    talk.protocols()
    talk.open_database()
    return talk


@pytest.fixture
def item(talk: Talk) -> Talk:
    """The same, with a table of five rows."""
    talk.command("CREATE TABLE item (id SERIAL PRIMARY KEY CONSTRAINT pk_item, name VARCHAR(20))")
    for name in ("pen", "cup", "hat", "map", "key"):
        talk.command(f"INSERT INTO item VALUES (0, '{name}')")
    return talk
