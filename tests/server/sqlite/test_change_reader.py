from __future__ import annotations

import threading
from pathlib import Path

import pytest

from aioifx.server.sqlite.change_entries import Entry, Kind
from aioifx.server.sqlite.change_log import ChangeLog
from aioifx.server.sqlite.change_reader import ChangeReader
from tests.server.sqlite.test_change_log import entries, logged


def test_a_reader_begins_at_any_position(tmp_path: Path) -> None:
    for _ in range(2):
        log = ChangeLog(tmp_path / "changes")
        logged(log, 1, b"a", b"b")
        logged(log, 2, b"c")
        log.close()
    whole = entries(log)
    ends = [entry.position for entry in whole[1:]] + [log.end]
    for index, entry in enumerate(whole):
        assert entries(log, entry.position) == whole[index:]
        if entry.kind is not Kind.COMMIT:  # the position inside it
            assert entries(log, ends[index] - 1) == whole[index:]
    assert entries(log, log.end) == []


def test_a_reader_that_begins_now_knows_no_transaction_from_before(tmp_path: Path) -> None:
    log = ChangeLog(tmp_path / "changes")
    with log.appending():
        transaction = log.begun("stores", 1, 0)
    reader = ChangeReader(log, None)
    assert reader.read() is None
    with log.appending():
        log.add_change(transaction, 0, Kind.INSERT, 100, None, b"a")
    entry = reader.read()
    assert entry is not None
    assert (entry.kind, entry.database) == (Kind.INSERT, "")
    found = entries(log, entry.position)
    assert [each.database for each in found] == ["stores"]
    reader.close()
    log.close()


def test_a_reader_follows_a_writer_from_file_to_file(tmp_path: Path) -> None:
    log = ChangeLog(tmp_path / "changes", size=2000, files=1000)
    reader, count = ChangeReader(log, None), 300

    def write() -> None:
        for number in range(count):
            logged(log, number, b"x" * (number % 50))

    writer = threading.Thread(target=write)
    writer.start()
    found: list[Entry] = []
    while len(found) < 3 * count:
        entry = reader.read()
        if entry is not None:
            found.append(entry)
    writer.join()
    assert [entry.facts[2] for entry in found if entry.kind is Kind.BEGIN] == list(range(count))
    assert len(log.numbers) > 5
    assert reader.read() is None
    reader.close()
    log.close()


def test_a_slow_reader_finds_its_file_gone(tmp_path: Path) -> None:
    log = ChangeLog(tmp_path / "changes", size=1, files=2)
    logged(log, 1, b"a")
    reader = ChangeReader(log, log.first)
    for number in range(2, 6):
        logged(log, number, b"x")
    reader.close()
    with pytest.raises(LookupError):
        reader.read()
    log.close()
