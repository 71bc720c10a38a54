"""Sessions of push data: transactions in the log, reads, and who has a session."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from aioifx.server.engine.push_sessions import PushSession, PushSessions, Registration
from aioifx.server.engine.streams import Streams
from aioifx.server.sqlite.change_entries import Entry, Kind
from aioifx.server.sqlite.interrupts import Interrupts
from tests.counting import Counted
from tests.server.talking import ServerCore, run, run_all, server_core

ALL = Registration("demo", "informix", "orders", "SELECT * FROM orders", "")


@pytest.fixture
def core() -> Iterator[ServerCore]:
    with server_core() as made:
        run(made.engine(), "CREATE TABLE orders (id INT PRIMARY KEY)")
        yield made


class Everything:
    """A query that returns whatever is in the row."""

    def selected(self, image: bytes) -> str | None:
        return self.columns(image)

    def columns(self, image: bytes) -> str:
        return json.dumps(image.hex())


def watching(core: ServerCore, sessions: PushSessions) -> PushSession:
    session = sessions.open(core.databases.changes)
    state = core.engine()._state
    table = state.planner.schema(state.current).table("orders")
    assert table is not None
    sessions.add(session, ("demo", table.tabid), ALL, core.databases)
    session.timeout = 0
    return session


def events(core: ServerCore, session: PushSession) -> list[dict[str, Any]]:
    streams = Streams(core.registry.stream_numbers, Interrupts())
    found: list[dict[str, Any]] = []
    while "ifx_isTimeout" not in (
        event := json.loads(session.read(5000, streams.wait, lambda _: Everything()))
    ):
        found.append(event)
    session.close()
    return found


@pytest.mark.parametrize("discards", [False, True])
@pytest.mark.parametrize("interleaves", [False, True])
def test_only_what_is_committed_is_an_event(core: ServerCore, discards: bool, interleaves: bool) -> None:
    core.databases.changes.discards, core.databases.changes.interleaves = discards, interleaves
    session = watching(core, PushSessions())
    first, second = core.engine(), core.engine()
    run_all(
        first, "BEGIN WORK", "INSERT INTO orders VALUES (1)", "SAVEPOINT s", "INSERT INTO orders VALUES (2)"
    )
    run_all(second, "BEGIN WORK", "INSERT INTO orders VALUES (3)")
    run_all(first, "ROLLBACK TO SAVEPOINT s", "INSERT INTO orders VALUES (4)")
    run_all(second, "COMMIT WORK", "BEGIN WORK", "INSERT INTO orders VALUES (5)", "ROLLBACK WORK")
    run_all(first, "COMMIT WORK", "TRUNCATE TABLE orders")
    found = events(core, session)
    assert [event["op_num"] for event in found] == [1, 1, 2]
    assert found[0]["txnid"] < found[1]["txnid"] == found[2]["txnid"]
    assert len({event["rowdata"] for event in found}) == 3


def test_a_session_has_one_reader(core: ServerCore) -> None:
    sessions = PushSessions()
    session = sessions.open(core.databases.changes)
    assert sessions.join(session.session_id) is None
    session.is_detachable = True
    sessions.leave(session, core.databases)
    assert sessions.detached() == [session]
    assert sessions.join(session.session_id) is session
    assert sessions.detached() == []
    session.is_detachable = False
    sessions.leave(session, core.databases)
    assert sessions.join(session.session_id) is None


def test_a_database_that_is_gone_is_not_watched(core: ServerCore) -> None:
    sessions = PushSessions()
    session = watching(core, sessions)
    for engine in core._engines:
        engine.close_database()
    core.databases.drop("demo")
    sessions.delete(session, core.databases)
    assert not session.watched


class Sized(bytes):
    """A document that counts how often its size is asked for."""

    asked = 0

    def __len__(self) -> int:
        Sized.asked += 1
        return super().__len__()


class Document(str):
    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return Sized(super().encode(encoding, errors))


def test_the_documents_of_a_read_are_measured_once(core: ServerCore) -> None:
    session = watching(core, PushSessions())
    session.max_records = 400
    session._pending.extend([Document("{}")] * 400)
    assert session.read(10**6, lambda *_: True, lambda _: Everything()) == b"{}" * 400
    session.close()
    assert Sized.asked <= 800


def test_what_is_discarded_is_looked_for_from_the_end(core: ServerCore) -> None:
    session, positions = watching(core, PushSessions()), 0
    session.begin_again()
    for at in range(0, 4000, 20):
        for place in range(10):
            session._take(Entry(at + place, Kind.INSERT, 7, "demo", ()), lambda _: Everything())
        position = Counted(at + 5)
        session._take(Entry(at + 10, Kind.DISCARD, 7, "demo", (position,)), lambda _: Everything())
        positions += position.count
    session.close()
    assert len(session._changes[7]) == 1000
    assert positions <= 200 * 6
