"""What reads of a capture session have."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from aioifx.codecs.cdc_records import (
    Begin,
    CdcRecord,
    Commit,
    Failure,
    RecordReader,
    RowImage,
    TableSchema,
    Timeout,
    encode_record,
)
from aioifx.codecs.cdc_rows import RowLayout
from aioifx.errors import ProtocolError
from aioifx.server.engine.cdc_session import CdcSession
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.type_rules import INTEGER, varchar
from aioifx.server.sqlite.databases import LogMode
from aioifx.sqltypes import Column
from tests.counting import allocated
from tests.server.engine.capturing import TABLE, Capturing, captured_core, insert, kind_of
from tests.server.talking import LATIN_1, query, run_all

LAYOUT = RowLayout([Column("a", INTEGER), Column("v", varchar(20))], LATIN_1)
BLOCK = 65_536
ONE = ["Begin", "INSERT", "Commit"]


def values(records: list[CdcRecord]) -> list[tuple[object, ...]]:
    return [LAYOUT.decode(record) for record in records if isinstance(record, RowImage)]


def sequences(records: list[CdcRecord]) -> list[int]:
    return [record.sequence for record in records if not isinstance(record, TableSchema | Failure)]


def test_changes_are_read_in_the_order_of_the_commits() -> None:
    with captured_core() as (core, writer):
        client = Capturing(core)
        client.begin(max_records=100)
        insert(writer, 1)
        run_all(writer, "BEGIN WORK", "UPDATE t SET v = NULL", "DELETE FROM t", "TRUNCATE TABLE t")
        run_all(writer, "COMMIT WORK")
        insert(core.engine(), 2)
        run_all(writer, "BEGIN WORK", "UPDATE t SET v = 'lost'", "ROLLBACK WORK")
        found = client.all()
        changed = ["Begin", "UPDBEF", "UPDAFT", "DELETE", "Truncate", "Commit"]
        assert [kind_of(record) for record in found] == ["TableSchema", *ONE, *changed, *ONE]
        assert values(found) == [(1, "n1"), (1, "n1"), (1, None), (1, None), (2, "n2")]
        assert sequences(found) == sorted({*sequences(found)})


@pytest.fixture(name="found")
def records_of_three() -> list[bytes]:
    """What each read of a session has that asks for one record."""
    with captured_core() as (core, writer):
        client = Capturing(core)
        client.begin()
        insert(writer, 1, 2, 3)
        return [client.raw() for _ in range(10)]


def test_a_read_has_one_record_if_one_was_asked_for(found: list[bytes]) -> None:
    kinds = [kind_of(record) for data in found for record in RecordReader().feed(data)]
    assert kinds == ["TableSchema", *ONE, *ONE, *ONE]


def test_a_read_has_as_many_whole_records_as_fit(found: list[bytes]) -> None:
    with captured_core() as (core, writer):
        client = Capturing(core)
        client.begin(max_records=4)
        insert(writer, 1, 2, 3)
        assert len(client.read()) == 4
        size = sum(map(len, found[4:6]))
        for _ in range(2):
            assert len(client.read(size + 1)) == 2
        assert client.kinds() == ["INSERT", "Commit"]


def test_a_record_that_does_not_fit_is_cut_and_can_be_read_again() -> None:
    with captured_core() as (core, writer):
        client = Capturing(core)
        client.begin()
        schema = client.raw()
        insert(writer, 1)
        client.raw()
        assert client.call("cdc_recboundary", client.session) == 0
        first = client.raw(10) + client.raw(10)
        assert client.call("cdc_recboundary", client.session) == 1
        again = b"".join(client.raw(10) for _ in range(5))
        assert again.startswith(first)
        (record,) = RecordReader().feed(again)
        assert values([record]) == [(1, "n1")]
        assert kind_of(RecordReader().feed(schema)[0]) == "TableSchema"
        assert client.kinds() == ["Commit"]


def test_the_rest_of_a_record_that_is_cut_is_not_copied_for_each_read() -> None:
    with captured_core() as (core, _):
        session = CdcSession(core.databases.changes, 0, 1, 1, (), lambda: None)
        session.activate(0)
        session._records.append(bytes(BLOCK * 64))
        used = allocated(lambda _: session.read(BLOCK, lambda is_ready, _: is_ready()), [b""] * 64)
        session.close()
    assert used < 2.5 * BLOCK * 64


def test_a_read_waits_for_a_change_and_nobody_waits_for_it() -> None:
    with captured_core() as (core, writer), ThreadPoolExecutor(1) as threads:
        client = threads.submit(Capturing, core).result()
        threads.submit(client.begin, timeout=-1).result()
        assert [kind_of(record) for record in threads.submit(client.read).result()] == ["TableSchema"]
        waiting = threads.submit(client.read)
        insert(writer, 1)
        assert [kind_of(record) for record in waiting.result()] == ["Begin"]
        threads.submit(client.engine.close).result()


def test_a_time_limit_tells_the_last_sequence() -> None:
    with captured_core() as (core, writer):
        client = Capturing(core)
        client.begin(max_records=9)
        insert(writer, 1)
        *_, commit = client.read()
        assert isinstance(commit, Commit)
        assert client.read() == client.read() == [Timeout(commit.sequence)]


def test_a_session_begins_at_the_sequence_of_any_record(tmp_path: Path) -> None:
    with captured_core(directory=tmp_path) as (core, writer):
        client = Capturing(core)
        client.begin(max_records=99)
        run_all(writer, "BEGIN WORK")
        insert(writer, 1, 2)
        run_all(writer, "UPDATE t SET v = 'x'", "COMMIT WORK")
        insert(writer, 3)
        _, *found = client.all()
    with captured_core(directory=tmp_path) as (core, writer):
        insert(writer, 4)
        client = Capturing(core)
        client.begin(found[0].sequence, max_records=99)  # type: ignore[union-attr]
        _, *after = client.all()
        assert after[: len(found)] == found
        assert values(after[len(found) :]) == [(4, "n4")]
        assert sequences(after) == sorted({*sequences(after)})
        client.close()
        for index, sequence in enumerate(sequences(after)):
            client.begin(sequence, max_records=99)
            assert client.all()[1:] == after[index:]
            client.close()


def test_a_session_that_begins_now_has_nothing_from_before() -> None:
    with captured_core("cdc-interleaved") as (core, writer):
        other, client = core.engine(), Capturing(core)
        client.open(max_records=99)
        client.capture()
        run_all(writer, "BEGIN WORK")
        insert(writer, 1)
        insert(other, 2)  # the log now has the beginning of the other transaction
        assert client.call("cdc_activatesess", client.session, "0") == 0
        run_all(writer, "COMMIT WORK")
        insert(other, 3)
        assert client.kinds() == ["TableSchema", *ONE]


def test_the_present_position_is_computed_from_sysmaster() -> None:
    with captured_core() as (core, writer):
        client = Capturing(core)
        client.begin(max_records=99)
        for number in range(3):
            insert(writer, number)
            ((uniqid, used),) = client.select(
                "SELECT uniqid, used FROM sysmaster:syslogs WHERE is_current = 1"
            )
            now = Capturing(core)
            now.begin((uniqid << 32) + (used << 12), max_records=99)
            assert now.kinds() == ["TableSchema"]
            insert(writer, 10 + number)
            assert now.kinds() == ONE
        assert len(client.all()) == 1 + 6 * 3


def test_a_position_outside_the_logs_is_refused() -> None:
    with captured_core() as (core, writer):
        client = Capturing(core)
        client.open()
        client.capture()
        insert(writer, 1)
        for position in (1, (1 << 32) - 1, core.databases.changes.end + 1, 5 << 32):
            assert client.call("cdc_activatesess", client.session, str(position)) == -83713
        assert client.select("SELECT errcode FROM syscdcsess") == [(-83713,)]
        assert client.call("cdc_activatesess", client.session, str(1 << 32)) == 0


def test_logs_that_are_gone_end_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    with captured_core() as (core, writer):
        client = Capturing(core)
        client.begin(max_records=99)
        monkeypatch.setattr(core.databases.changes, "_size", 1)
        monkeypatch.setattr(core.databases.changes, "_files", 2)
        insert(writer, *range(5))
        assert client.read()[-1] == Failure(1, -83713)
        assert client.raw() == b""
        assert client.call("cdc_deactivatesess", client.session) == -83708
        client.close()


def test_rows_from_before_an_alter_table_end_the_session() -> None:
    with captured_core() as (core, writer):
        client = Capturing(core)
        client.begin(max_records=99)
        insert(writer, 1)
        for change in ("CREATE INDEX i ON t (a)", "ALTER TABLE t DROP x"):
            client.close()
            assert client.call("cdc_set_fullrowlogging", TABLE, 0) == 0
            run_all(writer, change)
            client.begin(1 << 32, max_records=99)
            found = client.read()
            assert kind_of(found[2]) == ("INSERT" if "INDEX" in change else "Failure")
        run_all(writer, "INSERT INTO t VALUES (2, 'n2')")
        client.close()
        client.begin(max_records=99)
        run_all(writer, "INSERT INTO t VALUES (3, 'n3')")
        assert values(client.all()) == [(3, "n3")]


def test_without_a_capture_there_is_nothing() -> None:
    with captured_core() as (core, writer):
        client = Capturing(core)
        client.open()
        assert client.raw() == b""
        client.capture()
        assert client.call("cdc_activatesess", client.session, 0) == 0
        insert(writer, 1)
        assert client.call("cdc_deactivatesess", client.session) == 0
        assert client.raw() == b""


def test_tables_come_and_go_while_the_session_is_active() -> None:
    with captured_core() as (core, writer):
        run_all(writer, "CREATE TABLE u (a INTEGER, v VARCHAR(20))")
        client = Capturing(core)
        client.begin(max_records=99)
        insert(writer, 1)
        assert client.kinds() == ["TableSchema", *ONE]
        client.capture(label=8, name="demo:anna.u")
        run_all(writer, "INSERT INTO u VALUES (2, 'x')")
        schema, _, row, _ = client.all()
        assert isinstance(schema, TableSchema)
        assert isinstance(row, RowImage)
        assert (schema.label, row.label) == (8, 8)
        assert client.call("cdc_endcapture", client.session, 0, TABLE) == 0
        run_all(writer, "BEGIN WORK", "INSERT INTO u VALUES (3, 'y')")
        insert(writer, 4)
        run_all(writer, "COMMIT WORK")
        assert values(client.all()) == [(3, "y")]


def test_a_row_in_utf8_keeps_its_bytes() -> None:
    with captured_core() as (core, _):
        engine = core.engine("", database_locale="en_US.utf8")
        run_all(engine, "CREATE DATABASE greek WITH LOG", "CREATE TABLE t (c CHAR(12), v VARCHAR(20))")
        client = Capturing(core)
        client.open(max_records=9)
        client.capture("c,v", name="greek:anna.t")
        assert client.call("cdc_activatesess", client.session, 0) == 0
        run_all(engine, "INSERT INTO t VALUES ('λόγος', 'λόγος')")
        *_, row, _ = client.all()
        assert isinstance(row, RowImage)
        word = "λόγος".encode()
        assert row.payload == word + b"  \n" + word
        engine.close()


def test_rows_before_one_that_fails_are_changes() -> None:
    with captured_core() as (core, writer):
        run_all(writer, "CREATE UNIQUE INDEX one ON t (a)")
        client = Capturing(core)
        client.begin(max_records=99)
        statement = writer.prepare("INSERT INTO t (a) VALUES (?)")
        with pytest.raises(SqlError):
            writer.insert_rows(statement, [(1,), (2,), (1,), (3,)])
        found = client.all()
        assert [kind_of(record) for record in found[1:]] == ["Begin", "INSERT", "INSERT", "Commit"]
        assert query(writer, "SELECT a FROM t ORDER BY a") == [(1,), (2,)]


def test_triggers_and_cascades_are_changes_of_their_tables() -> None:
    with captured_core() as (core, writer):
        run_all(
            writer,
            "CREATE TABLE parent (k INTEGER PRIMARY KEY)",
            "CREATE TABLE child (k INTEGER, v INTEGER REFERENCES parent ON DELETE CASCADE)",
            "CREATE TRIGGER made INSERT ON parent REFERENCING NEW AS n"
            " FOR EACH ROW (INSERT INTO child VALUES (n.k, n.k))",
        )
        client = Capturing(core)
        client.open(max_records=99)
        client.capture("k,v", name="demo:anna.child")
        assert client.call("cdc_activatesess", client.session, 0) == 0
        run_all(writer, "INSERT INTO parent VALUES (1)", "DELETE FROM parent")
        assert client.kinds() == ["TableSchema", *ONE, "Begin", "DELETE", "Commit"]


def test_an_ansi_database_is_captured() -> None:
    with captured_core() as (core, _):
        core.databases.create("ansi", LogMode.ANSI, "anna")
        engine = core.engine("ansi")
        run_all(engine, "CREATE TABLE t (a INTEGER, v VARCHAR(20))", "COMMIT WORK")
        client = Capturing(core)
        client.open(max_records=99)
        client.capture(name="ansi:anna.t")
        assert client.call("cdc_activatesess", client.session, 0) == 0
        run_all(engine, "INSERT INTO t VALUES (1, 'x')", "ROLLBACK WORK", "INSERT INTO t VALUES (2, 'y')")
        assert client.kinds() == ["TableSchema"]
        run_all(engine, "COMMIT WORK")
        assert values(client.all()) == [(2, "y")]


# -- quirks ------------------------------------------------------------------------------------------------------------


def test_sizes_may_be_little_endian() -> None:
    with captured_core("cdc-little-endian") as (core, writer):
        client = Capturing(core)
        client.begin(max_records=9)
        insert(writer, 1)
        found = client.all()
        assert [record.sizes for record in found if isinstance(record, RowImage)] == [b"\3\0\0\0"]
        assert values(found) == [(1, "n1")]


def test_reads_may_end_anywhere() -> None:
    with captured_core("cdc-cut-records") as (core, writer):
        client = Capturing(core)
        client.begin()
        insert(writer, *range(40))
        sizes, reader, found = set[int](), RecordReader(), list[CdcRecord]()
        while not found or not isinstance(found[-1], Timeout):
            data = client.raw()
            sizes.add(len(data))
            found += reader.feed(data)
        assert len(sizes) > 50
        assert values(found) == [(number, f"n{number}") for number in range(40)]


def test_a_read_may_have_more_records_than_it_asked_for() -> None:
    with captured_core("cdc-several-records") as (core, writer):
        client = Capturing(core)
        client.begin()
        insert(writer, 1, 2)
        assert len(client.read()) == 7


def test_a_read_may_be_held_back_until_it_is_full() -> None:
    with captured_core("cdc-held-back") as (core, writer):
        client = Capturing(core)
        client.begin(max_records=7, timeout=-1)
        insert(writer, 1)
        with ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(client.read)
            insert(writer, 2)
            assert len(waiting.result()) == 7
        client.close()
        client.begin(max_records=7, timeout=0)
        insert(writer, 3)
        assert len(client.read()) == 4


def test_headers_may_be_longer_and_columns_end_with_a_nul() -> None:
    with captured_core("cdc-long-headers", "cdc-nul-after-columns") as (core, writer):
        client = Capturing(core)
        client.begin()
        schema = client.raw()
        (record,) = RecordReader().feed(schema)
        assert len(schema) == len(encode_record(record)) + 4 + 1
        insert(writer, 1)
        assert client.kinds() == ONE


def test_what_a_savepoint_undoes_may_be_discarded() -> None:
    with captured_core("cdc-discards") as (core, writer):
        client = Capturing(core)
        client.begin(max_records=99)
        run_all(writer, "BEGIN WORK")
        insert(writer, 1)
        run_all(writer, "SAVEPOINT s")
        insert(writer, 2)
        run_all(writer, "ROLLBACK TO SAVEPOINT s", "COMMIT WORK")
        found = client.all()
        assert [kind_of(each) for each in found[1:]] == ["Begin", "INSERT", "INSERT", "Discard", "Commit"]
        assert sequences(found)[3] == sequences(found)[2]


def test_transactions_may_be_mixed() -> None:
    with captured_core("cdc-interleaved") as (core, writer):
        other, client = core.engine(), Capturing(core)
        client.begin(max_records=99)
        for number, engine in enumerate((writer, other)):
            run_all(engine, "BEGIN WORK")
            insert(engine, number)
        run_all(writer, "COMMIT WORK")
        run_all(other, "ROLLBACK WORK")
        _, *found = client.all()
        assert [kind_of(each) for each in found] == [
            "Begin",
            "INSERT",
            "Begin",
            "INSERT",
            "Commit",
            "Rollback",
        ]
        assert len({record.transaction for record in found if isinstance(record, Begin)}) == 2


def test_a_foreign_row_is_not_one_of_the_table() -> None:
    with captured_core("cdc-foreign-rows") as (core, writer):
        client = Capturing(core)
        client.begin(max_records=99)
        insert(writer, 1)
        _, _, foreign, row, _ = client.all()
        assert isinstance(foreign, RowImage)
        with pytest.raises(ProtocolError):
            LAYOUT.decode(foreign)
        assert values([row]) == [(1, "n1")]


def test_an_error_may_end_the_session() -> None:
    with captured_core("cdc-dead-session") as (core, writer):
        client = Capturing(core)
        client.begin(max_records=99)
        insert(writer, 1, 2)
        found = client.read()
        assert [kind_of(record) for record in found] == ["TableSchema", *ONE, "Failure"]
        assert found[-1] == Failure(1, -83801)
        assert client.raw() == b""
        assert client.call("cdc_endcapture", client.session, 0, TABLE) == -83708
        client.close()
