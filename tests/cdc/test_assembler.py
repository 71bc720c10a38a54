"""Transactions: their order, discarded parts, temporary files, restarts, and records that do not fit."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from aioifx import CdcError, Column, InterfaceError, Position, ProtocolError
from aioifx.cdc.assembler import Assembler
from aioifx.cdc.records import Change, Table
from aioifx.codecs.cdc_records import MAX_RECORD, CdcRecord, Discard, RecordKind, Rollback, Truncate
from aioifx.codecs.cdc_rows import RowLayout
from aioifx.rows import record_maker
from aioifx.sqltypes import SqlType, TypeCode
from tests.cdc.peer import COLUMNS, LAYOUT, ORDERS, UTF8, begin, commit, image, insert, sequence, update
from tests.codecs.samples import INTEGER
from tests.counting import Counted

TABLES = {
    label: Table(name, LAYOUT, record_maker(COLUMNS))
    for label, name in enumerate((ORDERS, "stores:informix.items"), 1)
}


def assembled(*records: CdcRecord, memory: int = 100, **more: Any) -> list[Any]:
    """Position and changes of each transaction."""
    return [
        (transaction.position, [summary(change) for change in transaction])
        for transaction in Assembler(TABLES, memory=memory, **more).feed(records)
    ]


def summary(change: Change) -> tuple[str, Any, Any]:
    return change.kind, change.before, change.after


def position(restart: int, commit: int, change: int) -> Position:
    return Position(sequence(restart), sequence(commit), sequence(change))


def row(key: int, name: str | None = None) -> tuple[int, str]:
    return key, name or f"name {key}"


def test_a_transaction_has_its_changes_in_order() -> None:
    deleted = image(RecordKind.DELETE, 50, row(3))
    records: list[CdcRecord] = [
        begin(10), insert(20, 1), *update(30, 1, "new"), insert(40, 2, label=2), deleted,
        Truncate(sequence(60), 7, 1), commit(70),
    ]  # fmt: skip
    [transaction] = Assembler(TABLES, memory=100).feed(records)
    assert [*map(summary, transaction)] == [
        ("insert", None, row(1)),
        ("update", row(1), row(1, "new")),
        ("insert", None, row(2)),
        ("delete", row(3), None),
        ("truncate", None, None),
    ]
    changes = [*transaction]
    assert [change.sequence for change in changes] == [*map(sequence, (20, 31, 40, 50, 60))]
    assert changes[0].after is not None and changes[0].after["name"] == "name 1"
    assert (changes[0].table, changes[2].table) == (ORDERS, "stores:informix.items")
    assert transaction.position == position(10, 70, 60)
    assert (transaction.transaction, transaction.user, len(transaction)) == (7, 501, 5)
    assert transaction.time is not None and transaction.time.timestamp() == 1_700_000_001


def test_interleaved_transactions_come_in_commit_order() -> None:
    assert assembled(
        begin(10, 1), begin(11, 2), insert(12, 1, 1), insert(13, 2, 2), begin(14, 3), commit(15, 2),
        insert(16, 3, 3), insert(17, 4, 1), commit(18, 1), begin(19, 1), insert(20, 5, 1), commit(21, 1),
        commit(22, 3),
    ) == [
        (position(10, 15, 13), [("insert", None, row(2))]),
        (position(10, 18, 17), [("insert", None, row(1)), ("insert", None, row(4))]),
        (position(14, 21, 20), [("insert", None, row(5))]),
        (position(14, 22, 16), [("insert", None, row(3))]),
    ]  # fmt: skip


def test_what_was_rolled_back_or_is_empty_is_not_delivered() -> None:
    assembler = Assembler(TABLES, memory=100)
    records: list[CdcRecord] = [
        begin(10),
        insert(11, 1),
        Rollback(sequence(12), 7),
        begin(13),
        commit(14),
        commit(15, 9),
    ]
    assert [*assembler.feed(records)] == []
    assert assembler.position == position(13, 14, 13)


@pytest.mark.parametrize("memory", [0, 1, 2, 3, 100])
@pytest.mark.parametrize("cut", [19, 20, 25, 27, 30, 31, 35, 36])
def test_discarded_records_are_dropped(memory: int, cut: int) -> None:
    records: list[CdcRecord] = [begin(10), insert(20, 1), *update(25, 1, "a"), insert(30, 2), insert(35, 3)]
    kept = [summary for at, summary in [
        (20, ("insert", None, row(1))), (26, ("update", row(1), row(1, "a"))),
        (30, ("insert", None, row(2))), (35, ("insert", None, row(3))),
    ] if at < cut]  # fmt: skip
    assembler = Assembler(TABLES, memory=memory)
    discarded: list[CdcRecord] = [
        *records,
        Discard(sequence(cut), 7),
        Discard(sequence(1), 8),
        insert(50, 4),
        commit(60),
    ]
    [transaction] = assembler.feed(discarded)
    assert [*map(summary, transaction)] == [*kept, ("insert", None, row(4))]
    assert len(transaction) == len(kept) + 1
    assembler.close()


@pytest.mark.parametrize("memory", [0, 10**6], ids=["in a file", "in memory"])
def test_a_discard_looks_only_at_the_end_of_a_large_transaction(
    monkeypatch: pytest.MonkeyPatch, memory: int
) -> None:
    monkeypatch.setattr("aioifx.cdc.assembler._BLOCK", 1024)
    counts: list[int] = []
    for savepoints in (50, 200):
        records: list[CdcRecord] = [begin(1)]
        discards: list[Counted] = []
        for at in range(10, 10 + 20 * savepoints, 20):
            records += [insert(at + key, key) for key in range(10)]
            discards.append(Counted(sequence(at + 5)))
            records.append(Discard(discards[-1], 7))
        assembler = Assembler(TABLES, memory=memory)
        [transaction] = assembler.feed([*records, commit(20 * savepoints + 20)])
        counts.append(sum(each.count for each in discards))
        assert len([*transaction]) == len(transaction) == 5 * savepoints
        assembler.close()
    assert 0 < counts[1] < 5 * counts[0], counts


@pytest.mark.parametrize("memory", [0, 1, 7])
def test_a_large_transaction_is_in_a_temporary_file(memory: int) -> None:
    assembler = Assembler(TABLES, memory=memory)
    records: list[CdcRecord] = [begin(1)]
    for key in range(1000):
        records += [insert(10 + 3 * key, key), *update(11 + 3 * key, key, "x" * 30)]
    feeding = assembler.feed([*records, commit(9000), begin(9001), commit(9002)])
    transaction = next(feeding)
    for _ in range(2):
        changes = [*transaction]
        assert len(changes) == len(transaction) == 2000
        assert [change.after[0] for change in changes[::2] if change.after is not None] == [*range(1000)]
        assert changes[-1].kind == "update"
    assert [*feeding] == []
    with pytest.raises(InterfaceError, match="iterated before the next one is requested"):
        list(transaction)


@pytest.mark.parametrize("memory", [0, 1, 2])
def test_both_halves_of_an_update_are_in_memory_or_in_the_file(memory: int) -> None:
    before, after = update(20, 1, "new")
    other = insert(20, 2, label=2)
    assembler = Assembler(TABLES, memory=memory)
    [transaction] = assembler.feed([begin(1), before, other, after, insert(30, 3), commit(40)])
    assert [*map(summary, transaction)] == [
        ("insert", None, row(2)),
        ("update", row(1), row(1, "new")),
        ("insert", None, row(3)),
    ]
    assembler.close()


@pytest.mark.exhaustive
def test_a_record_that_is_larger_than_usual_may_be_in_the_file() -> None:
    columns = (Column("id", INTEGER), Column("data", SqlType(TypeCode.LVARCHAR, 32_739)))
    layout = RowLayout(columns, UTF8)
    large = image(RecordKind.INSERT, 20, (1, "x" * 30_000), layout=layout)
    large = large._replace(sizes=large.sizes + bytes(MAX_RECORD))
    assembler = Assembler({1: Table(ORDERS, layout, record_maker(columns))}, memory=0)
    [transaction] = assembler.feed([begin(1), large, commit(40)])
    [change] = transaction
    assert change.after == (1, "x" * 30_000)
    assembler.close()


def test_temporary_files_of_unfinished_transactions_are_closed() -> None:
    assembler = Assembler(TABLES, memory=0)
    assert [*assembler.feed([begin(1), insert(2, 1), begin(3, 8), insert(4, 1, 8)])] == []
    assembler.close()


def test_a_restart_delivers_what_was_not_delivered() -> None:
    records: list[Any] = [
        begin(10, 1), begin(11, 2), insert(12, 1, 1), insert(13, 2, 2), commit(14, 2), begin(15, 3),
        insert(16, 3, 3), commit(17, 3), insert(18, 4, 1), commit(19, 1), begin(20, 2), insert(21, 5, 2),
        commit(22, 2),
    ]  # fmt: skip
    whole = assembled(*records)
    assert len(whole) == 4
    for place, (reached, _) in enumerate(whole):
        again = [record for record in records if record.sequence >= reached.restart]
        assert assembled(*again, start=reached) == whole[place + 1 :]


def test_a_transaction_that_began_before_the_restart_is_an_error() -> None:
    start = position(10, 15, 12)
    rolled_back = insert(12, 1, 8), Rollback(sequence(16), 8)
    assert assembled(insert(11, 1, 9), commit(14, 9), *rolled_back, start=start) == []
    with pytest.raises(CdcError, match="transaction 9 began before the position of the start") as caught:
        assembled(insert(11, 1, 9), commit(16, 9), start=start)
    assert 'incomplete="skip"' in caught.value.__notes__[0]
    ended = begin(16, 1), insert(17, 1, 1), commit(18, 1), Rollback(sequence(19), 9)
    assert assembled(insert(11, 1, 9), *ended, start=start) == [
        (position(10, 18, 17), [("insert", None, row(1))])
    ]


def test_a_transaction_that_was_open_at_the_start_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "aioifx.cdc"):
        assert assembled(insert(11, 1, 9), commit(16, 9), incomplete="skip") == []
    assert caplog.messages == ["transaction 9 was open when the capture began, and is left out"]
    assert assembled(insert(11, 1, 9), commit(16, 9), incomplete="deliver") == [
        (position(11, 16, 11), [("insert", None, row(1))])
    ]


before, after = update(20, 1, "new")


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([begin(10), begin(11)], "BEGINTX: transaction 7 is open"),
        ([begin(10), after], "UPDAFT without the other half"),
        ([begin(10), before, insert(21, 1)], "UPDBEF without the other half"),
        ([begin(10), before, before], "UPDBEF without the other half"),
        ([begin(10), before, commit(30)], "UPDBEF without the other half"),
        ([begin(10), insert(11, 1, label=3)], "label 3, which no table has"),
        ([Truncate(sequence(11), 7, 3)], "label 3, which no table has"),
        ([begin(10), insert(12, 1), insert(11, 1)], "sequence .* after .* in transaction 7"),
        ([LAYOUT.schema(3)], "TABSCHEMA with the label 3, which no table has"),
        ([LAYOUT.schema(1)._replace(fixed_size=9)], "TABSCHEMA: expected fixed_size 4, got 9"),
        ([begin(10), insert(11, 1)._replace(payload=b"\0\0\0\1\5")], "is not one of the columns id, name"),
        ([begin(10), before._replace(payload=b"")], "is not one of the columns id, name"),
    ],
)
@pytest.mark.parametrize("memory", [0, 100])
def test_records_that_do_not_fit_are_errors(records: list[CdcRecord], message: str, memory: int) -> None:
    assembler = Assembler(TABLES, memory=memory)
    with pytest.raises(ProtocolError, match=message):
        [*assembler.feed([LAYOUT.schema(1), *records])]
    assembler.close()
