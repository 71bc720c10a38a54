from __future__ import annotations

from typing import Any

import pytest

from aioifx.codecs.rows import RowEncoder
from aioifx.server.protocol.context import FetchLimit
from aioifx.server.sqlite.databases import LogMode
from aioifx.sqltypes import Column, SqlType, TypeCode
from aioifx.wire import requests, session_requests
from aioifx.wire.completion import Done
from aioifx.wire.requests import Request
from tests.server.talking import (
    ITEMS,
    LATIN_1,
    UTF_8,
    ServerCore,
    Talk,
    bound,
    error_of,
    ret_types,
    server_core,
)


def test_open_and_fetch_may_share_a_group(item: Talk) -> None:
    statement_id = item.prepare("SELECT id, name FROM item WHERE id > ? ORDER BY id")
    reply = item.say(
        requests.Id(statement_id),
        requests.CurName(b"c1"),
        bound(3),
        requests.Open(),
        requests.Id(statement_id),
        requests.Fetch(4096),
    )
    assert reply.rows == ITEMS[3:]
    assert reply.done == Done(0, 2)
    assert not reply.is_cursor_closed


def test_portions_end_with_a_count_of_all_rows_in_the_last_one(item: Talk) -> None:
    statement_id = item.prepare("SELECT id FROM item ORDER BY id")
    size = 2 * 12
    reply = item.say(
        requests.Id(statement_id), requests.Open(), requests.Id(statement_id), requests.Fetch(size)
    )
    seen = [(reply.rows, reply.done)]
    for _ in range(3):
        reply = item.say(requests.Id(statement_id), requests.Fetch(size))
        seen.append((reply.rows, reply.done))
    assert seen == [([(1,), (2,)], None), ([(3,), (4,)], None), ([(5,)], Done(0, 5)), ([], Done(0, 5))]


def test_a_buffer_above_the_limit_gets_less_or_an_error_and_the_cursor_stays(core: ServerCore) -> None:
    def fetched(limit: FetchLimit, *sizes: int) -> list[Any]:
        talk = Talk(core.engine(), fetch_limit=limit)
        statement_id = talk.prepare("SELECT FIRST 3 tabid FROM systables ORDER BY tabid")
        talk.say(requests.Id(statement_id), requests.Open())
        replies = [talk.say(requests.Id(statement_id), requests.Fetch(size)) for size in sizes]
        return [error_of(reply) if reply.error else reply.rows for reply in replies]

    assert fetched(FetchLimit(24), 4096, 4096) == [[(1,), (2,)], [(3,)]]
    found = fetched(FetchLimit(24, -406), 4096, 24, 25, 24)
    assert found == [(-406, 0, ""), [(1,), (2,)], (-406, 0, ""), [(3,)]]


def test_an_empty_result_is_done_with_no_rows(item: Talk) -> None:
    statement_id = item.prepare("SELECT id FROM item WHERE id > 99")
    reply = item.say(requests.Id(statement_id), requests.Open(), requests.Fetch(4096))
    assert (reply.rows, reply.done) == ([], Done(0, 0))


@pytest.mark.parametrize("size", [0, 1, -5])
def test_a_row_wider_than_the_buffer_comes_all_the_same(item: Talk, size: int) -> None:
    assert item.select("SELECT id, name FROM item ORDER BY id", size=size) == ITEMS


def test_cursors_on_several_statements_go_on_side_by_side(item: Talk) -> None:
    up = item.prepare("SELECT id FROM item ORDER BY id")
    down = item.prepare("SELECT id FROM item ORDER BY id DESC")
    for statement_id in (up, down):
        item.say(requests.Id(statement_id), requests.Open())
    seen = [
        item.say(requests.Id(statement_id), requests.Fetch(12)).rows for statement_id in (up, down, up, down)
    ]
    assert seen == [[(1,)], [(5,)], [(2,)], [(4,)]]


def test_a_cursor_may_be_opened_again_without_closing(item: Talk) -> None:
    statement_id = item.prepare("SELECT id FROM item WHERE id = ?")
    for number in (1, 2):
        reply = item.say(requests.Id(statement_id), bound(number), requests.Open(), requests.Fetch(4096))
        assert reply.rows == [(number,)]


def test_fetching_from_a_cursor_that_is_not_open_is_an_error_and_closing_it_is_not(item: Talk) -> None:
    statement_id = item.prepare("SELECT id FROM item")
    assert error_of(item.say(requests.Id(statement_id), requests.Fetch(4096)))[0] == -259
    for _ in range(2):
        assert item.say(requests.Id(statement_id), requests.Close()).error is None
    item.say(requests.Id(statement_id), requests.Open())
    item.say(requests.Id(statement_id), requests.Close())
    assert error_of(item.say(requests.Id(statement_id), requests.Fetch(4096)))[0] == -259


@pytest.mark.parametrize("end", [session_requests.Commit(), session_requests.Rollback()])
def test_the_end_of_a_transaction_releases_cursors_but_hold_cursors(item: Talk, end: Request) -> None:
    plain, held = (item.prepare("SELECT id FROM item ORDER BY id") for _ in range(2))
    item.say(session_requests.Begin())
    item.say(requests.Id(plain), requests.Open())
    item.say(requests.Id(held), requests.Hold(), requests.Open(), requests.Fetch(12))
    item.say(end)
    assert error_of(item.say(requests.Id(plain), requests.Fetch(12)))[0] == -267
    assert item.say(requests.Id(held), requests.Fetch(12)).rows == [(2,)]
    # HOLD was said for that opening only.
    item.say(session_requests.Begin())
    item.say(requests.Id(held), requests.Open())
    item.say(end)
    assert error_of(item.say(requests.Id(held), requests.Fetch(12)))[0] == -267


def test_a_statement_without_rows_has_no_cursor(item: Talk) -> None:
    statement_id = item.prepare("DELETE FROM item")
    assert error_of(item.say(requests.Id(statement_id), requests.Open()))[0] == -363


def test_optofc_closes_the_cursor_with_its_last_row(item: Talk) -> None:
    item.say(session_requests.Info(((b"OPTOFC", b"1"),)))
    statement_id = item.prepare("SELECT id FROM item WHERE id = 1")
    reply = item.say(requests.Id(statement_id), requests.Open(), requests.Fetch(4096))
    assert (reply.rows, reply.is_cursor_closed, reply.done) == ([(1,)], True, Done(0, 1))
    assert error_of(item.say(requests.Id(statement_id), requests.Fetch(4096)))[0] == -259
    assert item.say(requests.Id(statement_id), requests.Open(), requests.Fetch(4096)).rows == [(1,)]


def test_autofree_frees_the_statement_with_its_cursor(item: Talk) -> None:
    statement_id = item.prepare("SELECT id FROM item WHERE id = 1")
    item.say(requests.Id(statement_id), requests.AutoFree(), requests.Open(), requests.Fetch(4096))
    item.say(requests.Id(statement_id), requests.Close())
    assert error_of(item.say(requests.Id(statement_id), requests.Open()))[0] == -258
    assert item.prepare("SELECT id FROM item") == statement_id


def test_where_current_of_means_the_row_sent_last(item: Talk) -> None:
    item.say(session_requests.Begin())
    statement_id = item.prepare("SELECT id, name FROM item FOR UPDATE")
    item.say(requests.Id(statement_id), requests.CurName(b"c1"), requests.Open())
    assert item.say(requests.Id(statement_id), requests.Fetch(4096)).rows == [(1, "pen")]
    assert item.say(requests.Id(statement_id), requests.Fetch(4096)).rows == [(2, "cup")]
    reply = item.command("UPDATE item SET name = 'mug' WHERE CURRENT OF c1")
    assert reply.done is not None
    assert reply.done.rows == 1
    item.say(session_requests.Commit())
    assert item.select("SELECT id FROM item WHERE name = 'mug'") == [(2,)]


def test_an_error_in_a_row_ends_the_fetch_and_not_the_session(item: Talk) -> None:
    statement_id = item.prepare("SELECT 10 / (id - 3) FROM item")
    reply = item.say(requests.Id(statement_id), requests.Open(), requests.Fetch(4096))
    assert error_of(reply)[0] == -1202
    assert item.select("SELECT id FROM item WHERE id = 1") == [(1,)]


BOOLEAN = SqlType(TypeCode.BOOLEAN, 1, owner="informix", extended_name="boolean")
LVARCHAR = SqlType(TypeCode.LVARCHAR, 2048)


def test_booleans_are_text_unless_the_client_asks_for_binary(talk: Talk) -> None:
    talk.command("CREATE TABLE t (b BOOLEAN, v LVARCHAR(2048))")
    talk.command("INSERT INTO t VALUES ('t', 'x')")
    statement_id = talk.prepare("SELECT b, v FROM t")
    assert [column.type.code for column in talk.columns] == [TypeCode.UDTFIXED, TypeCode.UDTVAR]
    group: list[Request] = [requests.Id(statement_id), requests.Open(), requests.Fetch(4096)]
    assert b"\x00\x00\x00\x00\x01t\x00\x00\x00\x00\x01x" in talk.conversation.answer([group])
    group.insert(1, ret_types(BOOLEAN, LVARCHAR))
    binary = talk.conversation.answer([group])
    assert b"\x00\x00\x00\x00\x01\x01\x00\x00\x00\x00\x01x" in binary
    # The types asked for hold for later executions too.
    del group[1]
    assert talk.conversation.answer([group]) == binary


def test_the_described_types_may_be_asked_for(item: Talk) -> None:
    statement_id = item.prepare("SELECT id, name FROM item WHERE id = 1")
    types = ret_types(SqlType(TypeCode.INTEGER, 4), SqlType(TypeCode.VARCHAR, 20))
    reply = item.say(requests.Id(statement_id), requests.Open(), types, requests.Fetch(4096))
    assert reply.rows == [(1, "pen")]


@pytest.mark.parametrize(
    "types", [(SqlType(TypeCode.CHAR, 10), SqlType(TypeCode.VARCHAR, 20)), (SqlType(TypeCode.INTEGER, 4),)]
)
def test_a_form_that_is_not_served_is_refused(item: Talk, types: tuple[SqlType, ...]) -> None:
    statement_id = item.prepare("SELECT id, name FROM item")
    reply = item.say(requests.Id(statement_id), requests.Open(), ret_types(*types), requests.Fetch(4096))
    assert error_of(reply)[0] == -1260


def test_varchar_travels_at_full_width_when_the_client_asks_for_it(item: Talk) -> None:
    item.say(session_requests.Info(((b"IFX_PAD_VARCHAR", b"1"),)))
    statement_id = item.prepare("SELECT name FROM item WHERE id = 1")
    group: list[Request] = [requests.Id(statement_id), requests.Open(), requests.Fetch(4096)]
    assert b"\x00\x00\x00\x15\x03pen" + bytes(17) in item.conversation.answer([group])


def test_text_is_converted_between_client_and_database(core: ServerCore) -> None:
    latin, utf8 = Talk(core.engine()), Talk(core.engine(), UTF_8)
    latin.command("CREATE TABLE t (v VARCHAR(20))")
    assert utf8.command("INSERT INTO t VALUES ('señal')").error is None
    assert latin.select("SELECT v FROM t") == utf8.select("SELECT v FROM t") == [("señal",)]
    assert utf8.command("INSERT INTO t VALUES ('\N{EURO SIGN}')").error is not None


def scrolled(item: Talk, statement_id: int, kind: int, row: int = 0) -> tuple[int | None, list[Any]]:
    reply = item.say(requests.Id(statement_id), requests.ScrollFetch(kind, row, 4096))
    assert reply.error is None
    return reply.row_number, reply.rows


def test_a_scroll_cursor_goes_anywhere(item: Talk) -> None:
    statement_id = item.prepare("SELECT id, name FROM item ORDER BY id")
    reply = item.say(requests.Id(statement_id), requests.CurName(b"s"), requests.Scroll(), requests.Open())
    assert (reply.rows, reply.error) == ([], None)
    for kind, row, number in (
        (1, 1, 1),  # next, by number
        (1, 2, 2),
        (4, 0, 5),  # last
        (3, 0, 1),  # first
        (6, 4, 4),  # absolute
        (2, 0, 3),  # prior
        (5, -2, 1),  # relative
        (5, 3, 4),
        (5, 0, 4),  # current
        (6, -1, 5),  # absolute from the end
        (1, 0, 5),  # next without a number: the last row
    ):
        assert scrolled(item, statement_id, kind, row) == (number, [ITEMS[number - 1]])


def test_outside_a_scroll_cursor_there_is_no_row(item: Talk) -> None:
    statement_id = item.prepare("SELECT id, name FROM item ORDER BY id")
    item.say(requests.Id(statement_id), requests.Scroll(), requests.Open())
    assert scrolled(item, statement_id, 6, 99) == (None, [])
    assert scrolled(item, statement_id, 2) == (5, [ITEMS[4]])  # prior from after the last row
    assert scrolled(item, statement_id, 5, -99) == (None, [])
    assert scrolled(item, statement_id, 5, 1) == (1, [ITEMS[0]])
    assert scrolled(item, statement_id, 6, 0) == (None, [])


def test_scrolling_an_empty_result_finds_nothing(item: Talk) -> None:
    statement_id = item.prepare("SELECT id, name FROM item WHERE id > 99")
    item.say(requests.Id(statement_id), requests.Scroll(), requests.Open())
    for kind in (1, 3, 4, 6):
        assert scrolled(item, statement_id, kind, 1) == (None, [])


def test_beyond_the_end_the_cursor_stands_after_the_last_row(item: Talk) -> None:
    statement_id = item.prepare("SELECT id, name FROM item ORDER BY id")
    item.say(requests.Id(statement_id), requests.Scroll(), requests.Open())
    for kind, row in ((6, 6), (6, 2**31 - 1), (1, 6)):
        reply = item.say(requests.Id(statement_id), requests.ScrollFetch(kind, row, 4096))
        assert (reply.row_number, reply.rows, reply.done) == (None, [], Done(0, 0))
        assert scrolled(item, statement_id, 6, 3) == (3, [ITEMS[2]])
    assert scrolled(item, statement_id, 6, -5) == (1, [ITEMS[0]])
    assert scrolled(item, statement_id, 6, -6) == (None, [])
    assert scrolled(item, statement_id, 5, 1) == (1, [ITEMS[0]])


@pytest.mark.parametrize("end", [session_requests.Commit(), session_requests.Rollback()])
def test_a_scroll_cursor_may_be_held_over_the_end_of_a_transaction(item: Talk, end: Request) -> None:
    plain, held = (item.prepare("SELECT id, name FROM item ORDER BY id") for _ in range(2))
    item.say(session_requests.Begin())
    item.say(requests.Id(plain), requests.Scroll(), requests.Open())
    item.say(requests.Id(held), requests.Scroll(), requests.Hold(), requests.Open())
    assert scrolled(item, held, 6, 4) == (4, [ITEMS[3]])
    columns = item.columns
    item.command("DELETE FROM item")
    item.columns = columns
    item.say(end)
    assert error_of(item.say(requests.Id(plain), requests.ScrollFetch(6, 1, 4096)))[0] == -267
    # The rows are those at its opening, and its position is unchanged.
    assert scrolled(item, held, 5, -1) == (3, [ITEMS[2]])
    assert scrolled(item, held, 4) == (5, [ITEMS[4]])


def test_a_closed_scroll_cursor_starts_again(item: Talk) -> None:
    statement_id = item.prepare("SELECT id, name FROM item WHERE id > ? ORDER BY id")
    for above, number in ((0, 3), (3, 2)):
        item.say(requests.Id(statement_id), bound(above), requests.Scroll(), requests.Open())
        assert scrolled(item, statement_id, 5, 1) == (1, [ITEMS[above]])
        assert scrolled(item, statement_id, 6, number)[0] == number
        item.say(requests.Id(statement_id), requests.Close())
        reply = item.say(requests.Id(statement_id), requests.ScrollFetch(6, 1, 4096))
        assert error_of(reply)[0] == -259


def test_the_last_row_has_no_done_and_others_have(item: Talk) -> None:
    statement_id = item.prepare("SELECT id, name FROM item ORDER BY id")
    item.say(requests.Id(statement_id), requests.Scroll(), requests.Open())
    assert item.say(requests.Id(statement_id), requests.ScrollFetch(4, 0, 4096)).done is None
    assert item.say(requests.Id(statement_id), requests.ScrollFetch(6, 1, 4096)).done == Done(0, 1)


@pytest.mark.parametrize("kind", [1, 3, 4, 6])
def test_a_row_comes_before_its_number(item: Talk, kind: int) -> None:
    """Else JDBC cannot go back to a row after last()."""
    statement_id = item.prepare("SELECT id, name FROM item ORDER BY id")
    item.say(requests.Id(statement_id), requests.Scroll(), requests.Open())
    group: list[Request] = [requests.Id(statement_id), requests.ScrollFetch(kind, 1, 4096)]
    assert item.conversation.answer([group]).startswith(b"\0\x0e")


def test_unknown_ways_of_scrolling_are_refused(item: Talk) -> None:
    statement_id = item.prepare("SELECT id FROM item FOR UPDATE")
    assert error_of(item.say(requests.Id(statement_id), requests.Scroll(), requests.Open()))[0] == -526
    statement_id = item.prepare("SELECT id FROM item")
    item.say(requests.Id(statement_id), requests.Scroll(), requests.Open())
    assert error_of(item.say(requests.Id(statement_id), requests.ScrollFetch(9, 1, 4096)))[0] == -999


def test_a_plain_cursor_does_not_scroll(item: Talk) -> None:
    statement_id = item.prepare("SELECT id FROM item")
    item.say(requests.Id(statement_id), requests.Open())
    assert error_of(item.say(requests.Id(statement_id), requests.ScrollFetch(4, 0, 4096)))[0] == -285


def payload(columns: tuple[Column, ...], *values: object) -> bytes:
    return RowEncoder(columns, LATIN_1).encode_payload(values)


ROW = (Column("id", SqlType(TypeCode.INTEGER, 4)), Column("name", SqlType(TypeCode.VARCHAR, 20)))


def opened(item: Talk) -> int:
    statement_id = item.prepare("INSERT INTO item VALUES (?, ?)")
    item.say(session_requests.Begin())
    assert item.say(requests.Id(statement_id), requests.CurName(b"p"), requests.Open()).error is None
    return statement_id


def test_put_rows_are_inserted_and_counted_once(item: Talk) -> None:
    statement_id = opened(item)
    rows = [payload(ROW, 10, "ten"), payload(ROW, 11, None), payload(ROW, 12, "")]
    reply = item.say(
        requests.Id(statement_id),
        requests.RetType(0, (SqlType(TypeCode.INTEGER, 4), SqlType(TypeCode.VARCHAR, 20))),
        requests.Put(8, tuple(rows[:2])),
        requests.Put(5, (rows[2],)),
    )
    assert reply.dones == [Done(0, 3, serial=12)]
    item.say(session_requests.Commit())
    found = item.select("SELECT id, name FROM item WHERE id > 9 ORDER BY id")
    assert found == [(10, "ten"), (11, None), (12, "")]


def test_an_error_while_putting_names_the_constraint(item: Talk) -> None:
    statement_id = opened(item)
    reply = item.say(requests.Id(statement_id), requests.Put(8, (payload(ROW, 1, "x"),)))
    assert error_of(reply) == (-268, -100, "anna.pk_item")


def test_an_insert_cursor_needs_a_transaction_where_there_are_any(item: Talk) -> None:
    statement_id = item.prepare("INSERT INTO item VALUES (?, ?)")
    assert error_of(item.say(requests.Id(statement_id), requests.Open()))[0] == -265
    assert error_of(item.say(requests.Id(statement_id), requests.Put(8, (payload(ROW, 1, "x"),))))[0] == -259
    with server_core(LogMode.UNLOGGED) as core:
        talk = Talk(core.engine())
        talk.command("CREATE TABLE t (a INTEGER)")
        statement_id = talk.prepare("INSERT INTO t VALUES (?)")
        row = payload(ROW[:1], 5)
        assert talk.say(requests.Id(statement_id), requests.Open(), requests.Put(4, (row,))).done == Done(
            0, 1
        )
        assert talk.select("SELECT a FROM t") == [(5,)]


def test_an_insert_of_constants_cannot_be_put_into(item: Talk) -> None:
    statement_id = item.prepare("INSERT INTO item VALUES (?, 'fixed')")
    item.say(session_requests.Begin())
    item.say(requests.Id(statement_id), requests.Open())
    assert error_of(item.say(requests.Id(statement_id), requests.Put(4, (b"\0\0\0\1",))))[0] == -999
