"""What of transactions is in the log of changes: replaying it gives the table."""

from __future__ import annotations

import marshal
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sqlite.change_entries import Entry, Kind
from aioifx.server.sqlite.change_log import ChangeLog
from aioifx.server.sqlite.databases import LogMode
from aioifx.server.sqlite.lock_manager import LockRefused
from aioifx.server.sqlite.undo_log import unpacked
from tests.server.sqlite.parties import TABLE, Party, make_database
from tests.server.sqlite.test_change_log import entries


def capturing(folder: Path, *, interleaves: bool = False, discards: bool = False) -> Party:
    """A session in a database whose table is captured."""
    database = make_database(folder, LogMode.LOGGED)
    database.changes = ChangeLog(folder / "changes")
    database.changes.interleaves, database.changes.discards = interleaves, discards
    database.captured = frozenset({TABLE.tabid})
    return Party(database)


@pytest.fixture
def party(tmp_path: Path) -> Iterator[Party]:
    made = capturing(tmp_path)
    yield made
    close(made)


def close(*parties: Party) -> None:
    for each in parties:
        each.transactions.abandon()
        each.connection.close()
    log_of(parties[0]).close()


def log_of(party: Party) -> ChangeLog:
    assert party.database.changes is not None
    return party.database.changes


def logged(party: Party) -> list[Entry]:
    return entries(log_of(party))


def shown(party: Party) -> list[tuple[str, list[Stored] | None, list[Stored] | None]]:
    """The entries of changes, as the letters of their kinds and the values."""
    names = {Kind.INSERT: "I", Kind.UPDATE: "U", Kind.DELETE: "D"}
    return [
        (names[entry.kind], _values(entry.facts[1]), _values(entry.facts[2]))
        for entry in logged(party)
        if entry.kind in names
    ]


def _values(row: bytes | None) -> list[Stored] | None:
    return None if row is None else list(unpacked(row))


def replayed(found: list[Entry]) -> tuple[list[int], int]:
    """The values that the committed transactions leave, and the number of transactions without an end."""
    rows: Counter[int] = Counter()
    begun: dict[int, list[Entry]] = {}
    for entry in found:
        if entry.kind is Kind.BEGIN:
            assert entry.transaction not in begun
            begun[entry.transaction] = []
        elif entry.kind is Kind.DISCARD:
            kept = [each for each in begun[entry.transaction] if each.position < entry.facts[0]]
            begun[entry.transaction] = kept
        elif entry.kind is Kind.ROLLBACK:
            del begun[entry.transaction]
        elif entry.kind is Kind.COMMIT:
            for change in begun.pop(entry.transaction):
                apply(rows, change)
        else:
            begun[entry.transaction].append(entry)
    return sorted(rows.elements()), len(begun)


def apply(rows: Counter[int], change: Entry) -> None:
    if change.kind is Kind.TRUNCATE:
        rows.clear()
        return
    _, before, after = change.facts
    if before is not None:
        (value,) = marshal.loads(before)
        assert rows[value]
        rows[value] -= 1
    if after is not None:
        (value,) = marshal.loads(after)
        rows[value] += 1


def test_each_change_has_both_versions_of_its_row(party: Party) -> None:
    party.transactions.begin()
    party.insert(1)
    party.run("UPDATE t100 SET a = 2 WHERE a = 1")
    party.run("UPDATE t100 SET a = 3 WHERE a = 2")
    party.run("DELETE FROM t100")
    party.insert(4)
    assert logged(party) == []
    party.transactions.commit()
    assert shown(party) == [
        ("I", None, [1]),
        ("U", [1], [2]),
        ("U", [2], [3]),
        ("D", [3], None),
        ("I", None, [4]),
    ]
    assert [entry.kind for entry in logged(party)][:: len(shown(party)) + 1] == [Kind.BEGIN, Kind.COMMIT]


def test_a_statement_outside_a_transaction_is_one(party: Party) -> None:
    party.insert(1, 2)
    assert not party.transactions.is_open
    with pytest.raises(sqlite3.IntegrityError):
        party.insert(3, 1)
    assert not party.transactions.is_open
    party.run("UPDATE t100 SET a = 5 WHERE a > 7")  # no row, no transaction
    assert [entry.kind for entry in logged(party)] == [Kind.BEGIN, Kind.INSERT, Kind.INSERT, Kind.COMMIT]


def test_what_is_rolled_back_is_not_logged(party: Party) -> None:
    party.transactions.begin()
    party.insert(1)
    party.transactions.rollback()
    party.transactions.begin()
    party.insert(2)
    party.transactions.set_savepoint("a", False)
    party.insert(3)
    party.transactions.rollback_to("a")
    party.insert(4)
    party.transactions.commit()
    assert shown(party) == [("I", None, [2]), ("I", None, [4])]


def test_tables_that_are_not_captured_are_not_logged(party: Party) -> None:
    party.database.captured = frozenset()
    party.insert(1)
    party.transactions.begin()
    party.insert(2)
    party.database.captured = frozenset({TABLE.tabid})
    party.transactions.commit()  # captured while it was open: as a whole
    assert shown(party) == [("I", None, [2])]
    party.database.captured = frozenset({TABLE.tabid + 1})
    party.insert(3)
    assert shown(party) == [("I", None, [2])]


def test_a_truncation_is_one_entry(party: Party) -> None:
    party.insert(1, 2)

    def truncate() -> None:
        with party.changing():
            party.transactions.note_truncation(TABLE)
            party.connection.execute("DELETE FROM t100")

    party.transactions.run(truncate)
    party.insert(3)
    party.run("DELETE FROM t100")
    kinds = [entry.kind for entry in logged(party) if entry.kind > Kind.ROLLBACK]
    assert kinds == [Kind.INSERT, Kind.INSERT, Kind.TRUNCATE, Kind.INSERT, Kind.DELETE]
    assert replayed(logged(party)) == ([], 0)


def test_a_log_that_cannot_be_written_refuses_the_commit(
    party: Party, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(log_of(party), "flush", fail)
    party.transactions.begin()
    party.insert(1)
    with pytest.raises(SqlError) as raised:
        party.transactions.commit()
    assert (raised.value.sqlcode, raised.value.isamcode) == (-346, -131)
    assert party.transactions.is_open
    party.transactions.rollback()
    with pytest.raises(SqlError):
        party.insert(2)
    assert not party.transactions.is_open
    assert party.values() == []
    assert logged(party) == []


def test_a_transaction_beside_an_exclusive_one_is_logged(party: Party) -> None:
    other = Party(party.database)
    party.transactions.begin()
    party.insert(1)
    other.transactions.begin()
    other.create("u")
    party.transactions.commit()
    assert shown(party) == [("I", None, [1])]
    other.transactions.commit()
    close(other)
    assert replayed(logged(party)) == ([1], 0)


def test_an_exclusive_transaction_is_logged(party: Party) -> None:
    party.transactions.begin()
    party.insert(1)
    party.create("u")
    party.insert(2)
    party.transactions.set_savepoint("a", False)
    party.insert(3)
    party.transactions.rollback_to("a")
    party.transactions.commit()
    assert shown(party) == [("I", None, [1]), ("I", None, [2])]


def test_open_transactions_are_logged_with_the_first_commit(tmp_path: Path) -> None:
    party = capturing(tmp_path, interleaves=True)
    other = Party(party.database)
    for each, value in ((party, 1), (other, 2)):
        each.transactions.begin()
        each.insert(value)
    party.transactions.commit()
    other.insert(3)
    other.transactions.commit()
    first, second = 20, 21
    assert [(entry.kind, entry.transaction) for entry in logged(party)] == [
        (Kind.BEGIN, first),
        (Kind.INSERT, first),
        (Kind.BEGIN, second),
        (Kind.INSERT, second),
        (Kind.COMMIT, second),
        (Kind.INSERT, first),
        (Kind.COMMIT, first),
    ]
    close(party, other)


def test_what_a_savepoint_undoes_is_discarded(tmp_path: Path) -> None:
    party = capturing(tmp_path, discards=True)
    party.transactions.begin()
    party.insert(1)
    party.transactions.set_savepoint("a", False)
    party.insert(2)
    party.transactions.rollback_to("a")
    party.insert(3)
    party.transactions.commit()
    assert [entry.kind for entry in logged(party)] == [
        Kind.BEGIN,
        Kind.INSERT,
        Kind.INSERT,
        Kind.DISCARD,
        Kind.INSERT,
        Kind.COMMIT,
    ]
    assert replayed(logged(party)) == ([1, 3], 0)
    close(party)


STEPS = ("begin", "commit", "rollback", "savepoint", "undo", "create", "insert", "update", "delete", "leave")


def step(party: Party, action: str, value: int) -> None:
    transactions = party.transactions
    match action:
        case "begin":
            transactions.begin()
        case "commit":
            transactions.commit()
        case "rollback":
            transactions.rollback()
        case "savepoint":
            transactions.set_savepoint(f"s{value % 3}", False)
        case "undo":
            transactions.rollback_to(f"s{value % 3}")
        case "create":
            party.create(f"u{value}")
        case "insert":
            party.insert(value, value + 1)
        case "update":
            party.run(f"UPDATE t100 SET a = a + 10 WHERE a % 5 = {value % 5}")
        case "delete":
            party.run(f"DELETE FROM t100 WHERE a % 5 = {value % 5}")
        case _:
            transactions.abandon()


@given(
    st.booleans(),
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from(STEPS), st.integers(0, 30)), max_size=40),
)
def test_the_log_gives_the_table(
    interleaves: bool, discards: bool, steps: list[tuple[int, str, int]]
) -> None:
    with TemporaryDirectory() as folder:
        party = capturing(Path(folder), interleaves=interleaves, discards=discards)
        party.database.busy_timeout = 0
        parties = [party, Party(party.database), Party(party.database)]
        for number, action, value in steps:
            try:
                step(parties[number], action, value)
            except (SqlError, LockRefused, sqlite3.Error):
                continue
        for each in parties:
            each.transactions.abandon()
        assert replayed(logged(party)) == (party.values(), 0)
        close(*parties)
