from __future__ import annotations

import weakref

import pytest

from aioifx.errors import UniqueViolation
from aioifx.server.protocol import statement_log
from aioifx.server.sql.errors import SqlError
from aioifx.sqltypes import TypeCode
from aioifx.wire.fields import BindEntry


def entry(code: int, name: bytes = b"", precision: int = 0) -> BindEntry:
    return BindEntry(code, b"", name, 0, precision, b"data")


def test_types_are_those_that_the_client_sent() -> None:
    entries = [
        entry(TypeCode.INTEGER, precision=2560),
        entry(TypeCode.UDTVAR, b"boolean"),
        entry(TypeCode.DATETIME, precision=4879),
        entry(TypeCode.DATETIME),
        entry(0x100 | TypeCode.CHAR),
        entry(99),
    ]
    record = statement_log.StatementRecord("INSERT", types=statement_log.sent_types(entries))
    found = record.parameter_types
    assert found == ("INTEGER", "BOOLEAN", "DATETIME YEAR TO FRACTION(5)", "DATETIME", "CHAR", "TYPE 99")


def test_an_error_is_the_clients() -> None:
    record = statement_log.StatementRecord("INSERT INTO t VALUES (1)")
    assert record.error is None
    record.fail(SqlError(-268, -100, "anna.u100_1"))
    error = record.error
    assert isinstance(error, UniqueViolation)
    assert (error.sqlcode, error.isamcode, error.token, error.sql) == (-268, -100, "anna.u100_1", record.sql)


def test_values_in_the_traceback_of_an_error_are_not_kept() -> None:
    class Value:
        pass

    def fail(value: Value) -> None:
        raise SqlError(-746, token="no stock", sqlstate="U0001", text="no stock of pens")

    record, value = statement_log.StatementRecord("INSERT INTO t VALUES (1)"), Value()
    kept = weakref.ref(value)
    try:
        fail(value)
    except SqlError as error:
        record.fail(error)
    del value
    assert kept() is None
    assert record.error is not None
    assert "no stock of pens" in str(record.error)


def test_memory_is_bounded() -> None:
    recorder = statement_log.Recorder()
    for number in range(statement_log.RECENT_STATEMENTS + 5):
        recorder.add(statement_log.StatementRecord(f"SELECT {number}" + "x" * statement_log.LONGEST_TEXT))
    assert len(recorder.recent) == statement_log.RECENT_STATEMENTS
    assert recorder.recent[0].sql.startswith("SELECT 5x")
    assert max(len(record.sql) for record in recorder.recent) == statement_log.LONGEST_TEXT + 3


def test_a_log_has_the_statements_of_its_block_and_of_its_database() -> None:
    recorder = statement_log.Recorder()
    recorder.add(statement_log.StatementRecord("before", "shop"))
    with recorder.logged(None) as outer:
        recorder.add(statement_log.StatementRecord("first", "shop"))
        with recorder.logged("stock") as inner:
            recorder.add(statement_log.StatementRecord("second", "stock"))
            recorder.add(statement_log.StatementRecord("third", "shop"))
            recorder.on_round_trip("stock")
            recorder.on_round_trip("shop")
    recorder.add(statement_log.StatementRecord("after", "stock"))
    recorder.on_round_trip("stock")
    assert [record.sql for record in outer] == ["first", "second", "third"]
    assert [record.sql for record in inner] == ["second"]
    assert (outer.round_trips, inner.round_trips) == (2, 1)
    assert outer[0].sql == "first"
    assert [record.sql for record in outer[1:]] == ["second", "third"]


def test_a_wrong_number_of_round_trips_shows_the_statements() -> None:
    recorder = statement_log.Recorder()
    with recorder.logged(None) as log:
        log.assert_round_trips(0)
        types = statement_log.sent_types([entry(TypeCode.INTEGER)])
        records = [statement_log.StatementRecord("INSERT\n  INTO t", types=types) for _ in range(3)]
        for record in records:
            record.rows = 1
            recorder.add(record)
        records[0].round_trips = 1
        refused = statement_log.StatementRecord("SELECT " + "x" * 300)
        refused.fail(SqlError(-206, -111, "t"))
        recorder.add(refused)
        for _ in range(3):
            recorder.on_round_trip("")
    with pytest.raises(AssertionError) as raised:
        log.assert_round_trips(1)
    assert str(raised.value).splitlines() == [
        "expected 1 round trip, got 3:",
        "INSERT INTO t (INTEGER), 3 times: 3 rows, 1 round trip",
        "SELECT " + "x" * 193 + "...: 0 rows, 0 round trips, SQLCODE -206, ISAM -111, 't'",
        "without a statement: 2 round trips",
    ]
    assert repr(records[0]) == "<StatementRecord INSERT INTO t (INTEGER): 1 row, 1 round trip>"


def test_a_wrong_number_without_statements_is_one_line() -> None:
    with (
        statement_log.Recorder().logged(None) as log,
        pytest.raises(AssertionError, match=r"^expected 2 round trips, got 0$"),
    ):
        log.assert_round_trips(2)
    assert repr(log) == "<StatementLog 0 statements, 0 round trips>"
