"""What transactions append to the log of changes, read back by a reader."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aioifx.server.sqlite.change_entries import PAGE, Entry, Kind
from aioifx.server.sqlite.change_log import ChangeLog
from aioifx.server.sqlite.change_reader import ChangeReader
from tests.counting import Counted


def logged(log: ChangeLog, number: int, *rows: bytes, database: str = "stores") -> None:
    """A whole transaction."""
    with log.appending():
        transaction = log.begun(database, number, 0)
        for entry, row in enumerate(rows):
            log.add_change(transaction, entry, Kind.INSERT, 100, None, row)
        log.end_transaction(database, number, Kind.COMMIT)


def entries(log: ChangeLog, position: int | None = 0) -> list[Entry]:
    """All entries from a position on; 0: from the first."""
    reader = ChangeReader(log, position or log.first)
    found: list[Entry] = []
    while (entry := reader.read()) is not None:
        found.append(entry)
    reader.close()
    return found


def kinds(log: ChangeLog) -> list[tuple[int, int]]:
    return [(entry.kind, entry.transaction) for entry in entries(log)]


def test_a_transaction_is_read_back(tmp_path: Path) -> None:
    log = ChangeLog(tmp_path / "changes")
    assert log.end == log.first == 1 << 32
    logged(log, 7, b"a", b"b")
    begin, one, two, end = entries(log)
    assert (begin.kind, begin.position, begin.facts[1:]) == (Kind.BEGIN, 1 << 32, ("stores", 7))
    assert (one.facts, two.facts) == ((100, None, b"a"), (100, None, b"b"))
    assert {each.database for each in (begin, one, two, end)} == {"stores"}
    assert end.kind is Kind.COMMIT
    assert begin.facts[0] <= end.facts[0]
    assert begin.position < one.position < two.position < end.position < log.end
    log.close()


def test_a_failed_addition_leaves_nothing(tmp_path: Path) -> None:
    log = ChangeLog(tmp_path / "changes")
    logged(log, 1, b"a")
    end, before = log.end, entries(log)
    with pytest.raises(LookupError), log.appending():
        transaction = log.begun("stores", 2, 0)
        log.add_change(transaction, 0, Kind.INSERT, 100, None, b"b" * 100_000)
        log.flush()
        assert entries(log) == before  # readers do not see it
        raise LookupError
    assert (log.end, log.transaction("stores", 2)) == (end, None)
    logged(log, 3, b"c")
    assert [entry.facts[2] for entry in entries(log) if entry.kind is Kind.INSERT] == [b"a", b"c"]
    log.close()


def test_open_transactions_have_different_numbers_which_are_used_again(tmp_path: Path) -> None:
    log = ChangeLog(tmp_path / "changes")
    with log.appending():
        numbers = [log.begun("stores", number, 0).number for number in (1, 2)]
        log.end_transaction("stores", 1, Kind.ROLLBACK)
        numbers += [log.begun("other", number, 0).number for number in (1, 2)]
        log.end_transaction("stores", 9, Kind.COMMIT)  # the log does not have it
    assert numbers[:2] == [numbers[2], numbers[1]]
    assert len(set(numbers)) == 3
    assert [kind for kind, _ in kinds(log)] == [Kind.BEGIN, Kind.BEGIN, Kind.ROLLBACK, Kind.BEGIN, Kind.BEGIN]
    log.close()


def test_what_is_discarded_is_looked_for_from_the_end(tmp_path: Path) -> None:
    log, looks = ChangeLog(tmp_path / "changes"), 0
    with log.appending():
        transaction = log.begun("stores", 1, 0)
        for first in range(0, 1000, 5):
            for entry in range(first, first + 10):
                log.add_change(transaction, entry, Kind.INSERT, 100)
            kept = Counted(first + 5)
            log.discard("stores", 1, kept)
            looks += kept.count
    log.close()
    assert len(transaction.changes) == 1000
    assert looks <= 200 * 7  # once for `logged`


def test_what_is_discarded_begins_at_the_first_change_that_is_not_kept(tmp_path: Path) -> None:
    log = ChangeLog(tmp_path / "changes")
    with log.appending():
        transaction = log.begun("stores", 1, 0)
        for entry in (0, 3, 4):  # the others are of tables that are not captured
            log.add_change(transaction, entry, Kind.INSERT, 100, None, b"%d" % entry)
        transaction.logged = 5
        log.discard("stores", 1, 5)
        log.discard("stores", 1, 2)
        log.discard("stores", 2, 0)
    assert transaction.logged == 2
    *_, three, _, discard = entries(log)
    assert (discard.kind, discard.facts) == (Kind.DISCARD, (three.position,))
    log.close()


def test_each_server_has_its_own_files_and_positions_rise(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        log = ChangeLog(tmp_path / "changes")
        assert log.end == number << 32
        logged(log, 1, b"%d" % number)
        log.close()
    rows = [entry.facts[2] for entry in entries(log) if entry.kind is Kind.INSERT]
    positions = [entry.position for entry in entries(log)]
    assert rows == [b"1", b"2", b"3"]
    assert positions == sorted(set(positions))
    assert ChangeLog(tmp_path / "changes").end == 4 << 32


def test_full_files_get_successors_and_the_oldest_are_removed(tmp_path: Path) -> None:
    log = ChangeLog(tmp_path / "changes", size=100, files=3)
    for number in range(1, 8):
        logged(log, number, b"x" * 100)
    assert log.numbers == [5, 6, 7]
    assert log.first == 5 << 32
    assert [entry.facts[2] for entry in entries(log) if entry.kind is Kind.BEGIN] == [5, 6, 7]
    for position in (log.first - 1, log.end + 1):
        with pytest.raises(LookupError):
            ChangeReader(log, position)
    log.close()


def test_a_page_that_is_closed_is_not_written_again(tmp_path: Path) -> None:
    log = ChangeLog(tmp_path / "changes")
    assert log.close_page() == 0
    logged(log, 1, b"a")
    assert log.close_page() == log.close_page() == 1
    assert log.end == (1 << 32) + PAGE
    logged(log, 2, b"b")
    assert [entry.position for entry in entries(log) if entry.kind is Kind.BEGIN] == [
        1 << 32,
        (1 << 32) + PAGE,
    ]
    log.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_what_a_full_disk_has_not_taken_is_not_written_later(tmp_path: Path) -> None:
    log = ChangeLog(tmp_path / "changes")
    logged(log, 1, b"a")
    assert log._file is not None
    with open("/dev/full", "wb") as full:
        os.dup2(full.fileno(), log._file.fileno())
    with pytest.raises(OSError, match="No space"):
        logged(log, 2, b"lost")
    assert log.close_page() == 1
    logged(log, 3, b"c")
    assert [entry.facts[2] for entry in entries(log) if entry.kind is Kind.INSERT] == [b"a", b"c"]
    log.close()


def test_listeners_are_called_after_each_addition(tmp_path: Path) -> None:
    log, heard = ChangeLog(tmp_path / "changes"), list[int]()

    def listen() -> None:
        heard.append(log.end)

    log.add_listener(listen)
    logged(log, 1, b"a")
    assert heard == [log.end]
    log.remove_listener(listen)
    logged(log, 2, b"b")
    assert len(heard) == 1
    log.close()


@pytest.mark.parametrize("cut", [0, 1, 10])
def test_what_a_killed_server_has_not_ended_is_rolled_back(tmp_path: Path, cut: int) -> None:
    log = ChangeLog(tmp_path / "changes")
    logged(log, 1, b"a")
    with log.appending():
        log.begun("stores", 2, 0)
    logged(log, 3, b"c")
    log.close()
    path = log.path(1)
    path.write_bytes(path.read_bytes()[: len(path.read_bytes()) - cut])
    after = ChangeLog(tmp_path / "changes")
    after.recover({("stores", 2), ("stores", 3)})
    committed = [number for kind, number in kinds(after) if kind is Kind.COMMIT]
    rolled_back = [number for kind, number in kinds(after) if kind is Kind.ROLLBACK]
    assert (committed, sorted(rolled_back)) == ([20], [20, 21])
    before = kinds(after)
    after.recover(set())
    assert kinds(after) == before


def test_recovery_keeps_what_is_complete(tmp_path: Path) -> None:
    ChangeLog(tmp_path / "changes").recover(set())
    log = ChangeLog(tmp_path / "changes")
    logged(log, 1, b"a")
    log.close()
    before = entries(log)
    log.recover({("other", 1)})
    assert entries(log) == before


@pytest.mark.parametrize(("unended", "commits"), [(1, 2), (2, 1)])
def test_recovery_undoes_the_last_commit_alone(tmp_path: Path, unended: int, commits: int) -> None:
    """A number that an earlier transaction had may still be in the file of committed ones."""
    log = ChangeLog(tmp_path / "changes")
    logged(log, 1, b"a")
    logged(log, 2, b"b")
    log.close()
    log.recover({("stores", unended)})
    assert [kind for kind, _ in kinds(log)].count(Kind.COMMIT) == commits


def test_recovery_undoes_no_commit_of_an_earlier_server(tmp_path: Path) -> None:
    """Databases use numbers of transactions again, and a server may be killed before it logs a COMMIT."""
    log = ChangeLog(tmp_path / "changes")
    logged(log, 1, b"a")
    log.close()
    before = entries(log)
    ends = set[int]()
    for unended in ((), (("stores", 1),), (("stores", 1),)):
        later = ChangeLog(tmp_path / "changes")
        later.recover(set(unended))
        ends.add(later.end)
    assert entries(log) == before
    assert ends == {2 << 32}
    assert later.numbers == [1, 2]
