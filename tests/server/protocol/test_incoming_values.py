from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

import pytest

from aioifx.codecs.large_objects import parameter_descriptor
from aioifx.codecs.rows import RowDecoder, RowEncoder
from aioifx.server.protocol.incoming_values import IncomingValues, Insertion, descriptors
from aioifx.server.sqlite.databases import LogMode
from aioifx.sqltypes import Column, Row, SqlType, TypeCode
from aioifx.wire import requests, session_requests
from aioifx.wire.completion import Done
from aioifx.wire.requests import Put, Request
from tests.server.talking import LATIN_1, Heard, Talk, error_of, server_core

PLACE = parameter_descriptor(3, 56)


def test_values_take_the_places_of_descriptors_in_order() -> None:
    incoming = IncomingValues()
    assert [incoming.add(piece) for piece in (b"ab", b"c", b"", b"")] == [False, False, True, True]
    assert incoming.count == 2
    rows = [(1, PLACE, None), (2, PLACE, "x")]
    assert descriptors(rows) == 2
    assert incoming.placed(rows) == [(1, b"abc", None), (2, b"", "x")]


def test_a_descriptor_without_a_value_stays() -> None:
    incoming = IncomingValues()
    assert incoming.placed([(PLACE,)]) == [(PLACE,)]
    incoming.add(b"a")
    incoming.add(b"")
    incoming.add(b"incomplete")
    assert incoming.placed([(PLACE, PLACE)]) == [(b"a", PLACE)]


INTEGER = SqlType(TypeCode.INTEGER, 4)
COLUMNS = (Column("a", INTEGER), Column("b", SqlType(TypeCode.VARCHAR, 9)))


def payloads(columns: Sequence[Column], rows: Sequence[Row]) -> tuple[bytes, ...]:
    encoder = RowEncoder(columns, LATIN_1)
    return tuple(encoder.encode_payload(row) for row in rows)


def puts(columns: Sequence[Column], rows: Sequence[Row]) -> list[Request]:
    """One SQ_PUT for each row, as JDBC sends rows of varying size."""
    return [Put(len(payload), (payload,)) for payload in payloads(columns, rows)]


def opened(talk: Talk, ddl: str, *, hold: bool = False) -> tuple[int, Sequence[Column]]:
    """An insert cursor on the table ``t``, in a transaction where there are any."""
    assert talk.command(ddl).error is None
    marks = ", ".join("?" * (ddl.count(",") + 1))
    statement_id = talk.prepare(f"INSERT INTO t VALUES ({marks})")
    columns = talk.columns
    talk.say(session_requests.Begin())
    before: list[Request] = [requests.Hold()] if hold else []
    reply = talk.say(requests.Id(statement_id), requests.CurName(b"c"), *before, requests.Open())
    assert reply.error is None
    return statement_id, columns


def put(talk: Talk, statement_id: int, columns: Sequence[Column], *rows: Row) -> Heard:
    return talk.say(requests.Id(statement_id), Put(0, payloads(columns, rows)))


def column_a(talk: Talk) -> list[int]:
    return [a for (a,) in talk.select("SELECT a FROM t ORDER BY a")]


def test_rows_are_gathered_from_several_messages_and_taken_once() -> None:
    insertion = Insertion(0)
    first, second, third = payloads(COLUMNS, [(1, "one"), (2, None), (3, "")])
    insertion.put((first, second))
    insertion.put((third,))
    decoder = RowDecoder(COLUMNS, LATIN_1)
    assert insertion.drain(decoder) == ([(1, "one"), (2, None), (3, "")], False)
    assert insertion.drain(decoder) == ([], False)


def test_rows_before_an_invalid_one_are_taken() -> None:
    columns = (Column("d", SqlType(TypeCode.DATETIME, 0x0E0A)),)  # YEAR TO SECOND
    good = b"\xc7\x14\x14\x05\x04\x0c\x22\x38"
    insertion = Insertion(0)
    insertion.put((good, good[:3] + b"\x63" + good[4:], good))
    rows, is_cut = insertion.drain(RowDecoder(columns, LATIN_1))
    assert (len(rows), is_cut) == (1, True)


def test_all_puts_of_a_group_are_answered_by_one_done(talk: Talk) -> None:
    statement_id, columns = opened(talk, "CREATE TABLE t (a INTEGER, b VARCHAR(9))")
    rows = [(number, f"n{number}") for number in range(6_000)]
    reply = talk.say(requests.Id(statement_id), *puts(columns, rows))
    assert reply.dones == [Done(0, 6_000)]
    assert put(talk, statement_id, columns, *rows).dones == [Done(0, 6_000)]
    assert talk.say(requests.Id(statement_id)).dones == []  # JDBC's bare SQ_ID after a SQ_PUT of many rows
    talk.say(session_requests.Commit())
    assert talk.select("SELECT COUNT(*), COUNT(DISTINCT b), MAX(a) FROM t") == [(12_000, 6_000, 5_999)]


def test_a_group_may_open_put_close_and_commit(talk: Talk) -> None:
    talk.command("CREATE TABLE t (a INTEGER, b VARCHAR(9))")
    statement_id = talk.prepare("INSERT INTO t VALUES (?, ?)")
    reply = talk.say(
        session_requests.Begin(),
        requests.Id(statement_id),
        requests.Open(),
        *puts(talk.columns, [(1, "x"), (2, "y")]),
        requests.Close(),
        session_requests.Commit(),
    )
    assert reply.error is None
    assert [done.rows for done in reply.dones] == [0, 2, 0]
    assert column_a(talk) == [1, 2]


def test_two_insert_cursors_in_one_group_are_counted_apart(talk: Talk) -> None:
    one, columns = opened(talk, "CREATE TABLE t (a INTEGER, b VARCHAR(9))")
    two = talk.prepare("INSERT INTO t VALUES (?, ?)")
    talk.say(requests.Id(two), requests.Open())
    reply = talk.say(
        requests.Id(one),
        *puts(columns, [(1, "x"), (2, "y")]),
        requests.Id(two),
        *puts(columns, [(3, "z")]),
        requests.Id(one),
        *puts(columns, [(4, "z")]),
    )
    assert [done.rows for done in reply.dones] == [2, 1, 1]
    assert column_a(talk) == [1, 2, 3, 4]


FAILURES = [
    ("a INTEGER UNIQUE CONSTRAINT u_t, b VARCHAR(9)", (1, "again"), (-268, -100, "anna.u_t")),
    ("a INTEGER NOT NULL, b VARCHAR(9)", (None, "x"), (-391, 0, "t.a")),
    ("a INTEGER CHECK (a < 50) CONSTRAINT c_t, b VARCHAR(9)", (99, "x"), (-530, 0, "anna.c_t")),
    ("a INTEGER REFERENCES p CONSTRAINT r_t, b VARCHAR(9)", (99, "x"), (-691, -111, "anna.r_t")),
]


@pytest.mark.parametrize("at", [0, 1, 4])
@pytest.mark.parametrize(("ddl", "bad", "error"), FAILURES)
@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("log_mode", [LogMode.LOGGED, LogMode.UNLOGGED])
def test_rows_before_a_failing_one_are_kept_and_what_follows_is_dropped(
    log_mode: LogMode, together: bool, ddl: str, bad: Row, error: tuple[int, int, str], at: int
) -> None:
    with server_core(log_mode) as core:
        talk = Talk(core.engine())
        talk.command("CREATE TABLE p (a INTEGER PRIMARY KEY)")
        for number in range(1, 6):
            talk.command(f"INSERT INTO p VALUES ({number})")
        statement_id, columns = opened(talk, f"CREATE TABLE t ({ddl})")
        if bad[0] == 1:
            at = max(at, 1)  # what it repeats comes first
        rows: list[Row] = [(number, "x") for number in range(1, 6)]
        rows.insert(at, bad)
        messages = [Put(0, payloads(columns, rows))] if together else puts(columns, rows)
        reply = talk.say(requests.Id(statement_id), *messages, requests.Close())
        assert error_of(reply) == error
        assert reply.dones == []
        assert column_a(talk) == list(range(1, at + 1))
        assert put(talk, statement_id, columns, (5, "x")).dones == [Done(0, 1)]  # it was not closed


def test_rows_before_one_that_cannot_be_stored_are_kept(talk: Talk) -> None:
    talk.command("CREATE TABLE t (a INTEGER, b DECIMAL(4,2))")
    statement_id = talk.prepare("INSERT INTO t VALUES (?, ?)")
    # Three bytes hold four digits wherever the point is: 123 looks like a DECIMAL(4,2) but is not valid.
    columns = (talk.columns[0], Column("b", SqlType(TypeCode.DECIMAL, 4 << 8)))
    talk.say(session_requests.Begin())
    talk.say(requests.Id(statement_id), requests.Open())
    rows = [(1, Decimal(1)), (2, Decimal(2)), (3, Decimal(123)), (4, Decimal(4))]
    assert error_of(put(talk, statement_id, columns, *rows))[0] == -1226
    assert column_a(talk) == [1, 2]


def test_only_the_values_that_others_gave_are_made_up(talk: Talk) -> None:
    statement_id, columns = opened(talk, "CREATE TABLE t (a SERIAL, b VARCHAR(9))")
    assert put(talk, statement_id, columns, (0, "x"), (0, "y")).dones == [Done(0, 2, serial=2)]
    assert put(talk, statement_id, columns, (50, "x"), (0, "y"), (7, "z")).dones == [Done(0, 3, serial=7)]
    assert put(talk, statement_id, columns, (0, "x")).dones == [Done(0, 1, serial=52)]
    assert column_a(talk) == [1, 2, 7, 50, 51, 52]


@pytest.mark.parametrize("end", [session_requests.Commit(), session_requests.Rollback()])
def test_the_end_of_the_transaction_closes_it(talk: Talk, end: Request) -> None:
    statement_id, columns = opened(talk, "CREATE TABLE t (a INTEGER, b DATE)")
    row = (1, date(2026, 5, 4))
    talk.say(end)
    assert error_of(put(talk, statement_id, columns, row))[0] == -267
    talk.say(session_requests.Begin())
    assert error_of(put(talk, statement_id, columns, row))[0] == -267
    talk.say(requests.Id(statement_id), requests.Open())
    assert put(talk, statement_id, columns, row).dones == [Done(0, 1)]
    talk.say(requests.Id(statement_id), requests.Close())
    assert error_of(put(talk, statement_id, columns, row))[0] == -259


def test_a_hold_cursor_goes_on_in_the_next_transaction(talk: Talk) -> None:
    statement_id, columns = opened(talk, "CREATE TABLE t (a INTEGER, b VARCHAR(9))", hold=True)
    talk.command("COMMIT WORK")
    assert error_of(put(talk, statement_id, columns, (1, "x")))[0] == -265
    talk.command("BEGIN WORK")
    assert put(talk, statement_id, columns, (1, "x")).dones == [Done(0, 1)]


def test_the_types_said_once_hold_for_a_second_batch(talk: Talk) -> None:
    """put.json, useput_twice: the same cursor name, SQ_RET_TYPE only the first time."""
    talk.command("CREATE TABLE t (a INTEGER, b BOOLEAN)")
    statement_id = talk.prepare("INSERT INTO t VALUES (?, ?)")
    boolean = SqlType(TypeCode.BOOLEAN, 1, extended_name="boolean")
    types: list[Request] = [requests.RetType(0, (INTEGER, boolean))]
    for number in (1, 2):
        talk.say(session_requests.Begin())
        reply = talk.say(
            requests.Id(statement_id),
            requests.CurName(b"_ifxc1"),
            requests.Open(),
            *types,
            Put(10, (number.to_bytes(4, "big") + b"\0\0\0\0\1\1",)),
        )
        assert reply.dones == [Done(0, 1)]
        talk.say(session_requests.Commit())
        types = []
    assert talk.select("SELECT a, b FROM t ORDER BY a") == [(1, True), (2, True)]


def test_a_table_that_changed_meanwhile_takes_no_more_rows(talk: Talk) -> None:
    statement_id, columns = opened(talk, "CREATE TABLE t (a INTEGER, b VARCHAR(9))")
    assert talk.command("ALTER TABLE t MODIFY (b VARCHAR(20))").error is None
    assert error_of(put(talk, statement_id, columns, (1, "x")))[0] == -710


def test_a_table_that_changed_before_it_was_opened_makes_the_opening_fail(talk: Talk) -> None:
    statement_id, _ = opened(talk, "CREATE TABLE t (a INTEGER, b VARCHAR(9))")
    talk.say(session_requests.Commit())
    talk.command("ALTER TABLE t MODIFY (b VARCHAR(20))")
    talk.say(session_requests.Begin())
    assert error_of(talk.say(requests.Id(statement_id), requests.Open()))[0] == -710
    talk.command("DROP TABLE t")
    assert error_of(talk.say(requests.Id(statement_id), requests.Open()))[0] == -206
