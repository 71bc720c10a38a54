from __future__ import annotations

from collections.abc import Iterator

import pytest

from aioifx.server.engine import session_state
from aioifx.server.engine.engine import Engine
from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.databases import LogMode
from aioifx.server.sqlite.interrupts import Interrupts
from tests.server.talking import ServerCore, codes, query, run, run_all, server_core


class Awaited(Interrupts):
    """An interrupt that arrives at the *looks*-th check after `expect`."""

    __slots__ = ("_for_good_then", "_looks")

    def __init__(self) -> None:
        super().__init__()
        self._looks = 0
        self._for_good_then = False

    def expect(self, looks: int, *, permanent: bool = False) -> None:
        self._looks, self._for_good_then = looks, permanent

    def _look(self) -> None:
        if self._looks:
            self._looks -= 1
            if not self._looks:
                self.request(permanent=self._for_good_then)

    def check(self) -> None:
        self._look()
        super().check()

    def stops(self) -> bool:
        self._look()
        return super().stops()


IN_THE_MIDDLE = 60
"""The first look is for what came before the statement."""


def interrupts_of(engine: Engine) -> Awaited:
    interrupts = engine._state.interrupts
    assert isinstance(interrupts, Awaited)
    return interrupts


def interrupted(engine: Engine, text: str, looks: int) -> None:
    """Run *text*, which ends with -213 on the way."""
    statement = engine.prepare(text)
    interrupts_of(engine).expect(looks)
    with pytest.raises(SqlError) as raised:
        engine.execute(statement)
    assert codes(raised.value) == (-213, -157, "")
    assert not interrupts_of(engine).is_pending


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerCore]:
    monkeypatch.setattr(session_state, "Interrupts", Awaited)
    with server_core() as made:
        yield made


@pytest.fixture
def engine(core: ServerCore) -> Engine:
    """A table n of 150 numbers, and an empty one."""
    made = core.engine()
    run_all(made, "CREATE TABLE n (a INTEGER)", "CREATE TABLE t (id SERIAL, a INTEGER)")
    run(made, "INSERT INTO n VALUES (0)")
    while len(query(made, "SELECT a FROM n")) < 128:
        run(made, "INSERT INTO n SELECT a + (SELECT COUNT(*) FROM n) FROM n")
    return made


LONG_CHANGES = [
    "INSERT INTO t (a) SELECT x.a FROM n x, n y, n z",
    "INSERT INTO t (a) SELECT COUNT(*) FROM n x, n y, n z",
    "UPDATE n SET a = a + (SELECT COUNT(*) FROM n x, n y WHERE x.a <> n.a)",
    "DELETE FROM n WHERE a <= (SELECT COUNT(*) FROM n x, n y WHERE x.a <> n.a)",
    "SELECT x.a FROM n x, n y, n z INTO TEMP w",
]


def state_of(engine: Engine) -> list[tuple[object, ...]]:
    return [*query(engine, "SELECT COUNT(*), SUM(a) FROM n"), *query(engine, "SELECT a FROM t")]


@pytest.mark.parametrize("text", LONG_CHANGES)
def test_an_interrupted_change_leaves_no_trace(engine: Engine, text: str) -> None:
    before = state_of(engine)
    interrupted(engine, text, IN_THE_MIDDLE)
    assert state_of(engine) == before
    assert not engine.is_in_transaction
    run(engine, "INSERT INTO t (a) VALUES (7)")
    assert state_of(engine) == [*before, (7,)]


@pytest.mark.parametrize("text", LONG_CHANGES)
def test_the_transaction_around_an_interrupted_change_survives(
    core: ServerCore, engine: Engine, text: str
) -> None:
    run_all(engine, "BEGIN WORK", "INSERT INTO t (a) VALUES (7)", "SAVEPOINT p")
    before = state_of(engine)
    interrupted(engine, text, IN_THE_MIDDLE)
    assert state_of(engine) == before
    assert engine.is_in_transaction
    run_all(engine, "INSERT INTO t (a) VALUES (8)", "ROLLBACK TO SAVEPOINT p")
    other = core.engine()
    run(other, "SET LOCK MODE TO NOT WAIT")
    with pytest.raises(SqlError) as raised:
        run(other, "UPDATE t SET a = 9")
    assert codes(raised.value) == (-244, -107, "t")
    run(engine, "COMMIT WORK")
    assert state_of(other) == before


def test_rows_that_are_being_written_are_undone_too(engine: Engine) -> None:
    run_all(engine, "BEGIN WORK", "INSERT INTO t (a) VALUES (7)")
    interrupted(engine, "INSERT INTO t (a) SELECT x.a FROM n x, n y", 20)
    assert query(engine, "SELECT a FROM t") == [(7,)]
    run(engine, "ROLLBACK WORK")
    assert query(engine, "SELECT a FROM t") == []


def test_an_ansi_transaction_survives_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_state, "Interrupts", Awaited)
    with server_core(LogMode.ANSI) as core:
        engine = core.engine()
        run_all(engine, "CREATE TABLE t (a INTEGER)", "COMMIT WORK")
        for number in range(100):
            run(engine, "INSERT INTO t VALUES (?)", number)
        interrupted(engine, "UPDATE t SET a = (SELECT COUNT(*) FROM t x, t y, t z)", IN_THE_MIDDLE)
        interrupted(engine, "INSERT INTO t SELECT x.a FROM t x, t y, t z", IN_THE_MIDDLE)
        run(engine, "COMMIT WORK")
        assert query(engine, "SELECT COUNT(*), SUM(a) FROM t") == [(100, 4950)]


def test_a_definition_is_undone_as_a_whole(engine: Engine) -> None:
    for transaction in (False, True):
        if transaction:
            run(engine, "BEGIN WORK")
        interrupted(engine, "CREATE UNIQUE INDEX i ON n (a)", 2)
        interrupted(engine, "ALTER TABLE n MODIFY (a VARCHAR(20))", 2)
        assert query(engine, "SELECT idxname FROM sysindexes WHERE idxname = 'i'") == []
        assert query(engine, "SELECT SUM(a) FROM n") == [(8128,)]
    run_all(engine, "COMMIT WORK", "CREATE UNIQUE INDEX i ON n (a)")


@pytest.mark.parametrize("transaction", [False, True])
def test_changes_do_the_same_with_and_without_a_transaction(engine: Engine, transaction: bool) -> None:
    run(engine, "CREATE TABLE tree (k INTEGER PRIMARY KEY, up INTEGER REFERENCES tree (k))")
    run(engine, "CREATE TABLE odd (k INTEGER, v VARCHAR(10) DEFAULT 'SELECT (')")
    if transaction:
        run(engine, "BEGIN WORK")
    done = run(engine, "INSERT INTO t (a) SELECT a + ? FROM n WHERE a < ?", 100, 3)
    assert (done.rows, done.serial, done.rowid) == (3, 3, 3)
    assert query(engine, "SELECT id, a FROM t ORDER BY id") == [(1, 100), (2, 101), (3, 102)]
    assert run(engine, "INSERT INTO t (a) SELECT a FROM n WHERE a < 0").rows == 0
    # The child comes before its parent, which is right at the end of the statement.
    assert run(engine, "INSERT INTO tree SELECT 2 - a, 1 FROM n WHERE a < 2").rows == 2
    assert run(engine, "INSERT INTO odd (k) SELECT a FROM n WHERE a = 5").rows == 1
    assert run(engine, "INSERT INTO odd (k) VALUES ((SELECT MAX(a) FROM n))").rows == 1
    assert query(engine, "SELECT k, v FROM odd ORDER BY k") == [(5, "SELECT ("), (127, "SELECT (")]
    merge = "MERGE INTO t USING n ON t.id = n.a WHEN MATCHED THEN UPDATE SET t.a = 0"
    assert run(engine, f"{merge} WHEN NOT MATCHED THEN INSERT (a) VALUES (n.a)").rows == 128
    assert run(engine, "UPDATE t SET a = ? WHERE a = ? OR 1 = 0", 5, 0).rows == 4
    assert run(engine, "UPDATE t SET a = 1").rows == 128
    assert run(engine, "DELETE FROM t WHERE id = 1").rows == 1
    assert run(engine, "DELETE FROM t").rows == 127
    run(engine, "TRUNCATE TABLE n")
    assert query(engine, "SELECT COUNT(*) FROM n") == [(0,)]


def test_a_violation_in_a_transaction_is_reported_and_undone(engine: Engine) -> None:
    run(
        engine,
        "CREATE TABLE u (k INTEGER PRIMARY KEY CONSTRAINT pk, v INTEGER CHECK (v < 100) CONSTRAINT ck)",
    )
    run_all(engine, "BEGIN WORK", "INSERT INTO u VALUES (50, 1)")
    for text, reported in (
        ("INSERT INTO u SELECT a, 1 FROM n", (-268, -100, "anna.pk")),
        ("INSERT INTO u SELECT a + 1000, a FROM n", (-530, 0, "anna.ck")),
        ("INSERT INTO u SELECT 1 / (a - 9), 0 FROM n", (-1202, 0, "")),
    ):
        with pytest.raises(SqlError) as raised:
            run(engine, text)
        assert codes(raised.value) == reported
        assert query(engine, "SELECT k FROM u") == [(50,)]


def test_a_permanent_interrupt_ends_even_one_subquery_without_any_change(
    core: ServerCore, engine: Engine
) -> None:
    run_all(engine, "BEGIN WORK", "INSERT INTO t (a) VALUES (7)")
    statement = engine.prepare("UPDATE n SET a = 0 WHERE a < (SELECT COUNT(*) FROM n x, n y, n z, n u, n v)")
    interrupts_of(engine).expect(IN_THE_MIDDLE, permanent=True)
    with pytest.raises(SqlError) as raised:
        engine.execute(statement)
    assert codes(raised.value) == (-213, -157, "")
    engine.close()
    other = core.engine()
    run(other, "INSERT INTO t (a) VALUES (8)")
    assert query(other, "SELECT a FROM t") == [(8,)]
