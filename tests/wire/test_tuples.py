from __future__ import annotations

from struct import pack

import pytest

from aioifx.errors import DataError, ProtocolError
from aioifx.sqltypes import Row
from aioifx.wire import completion
from aioifx.wire.inbox import Inbox
from aioifx.wire.tuples import read_field_by_field, read_in_runs
from tests.feeding import cuts, feed, outcome
from tests.wire.putting import raw_rows
from tests.wire.reply_reading import EOT, raw_row, reading, row


def test_an_unsolicited_row_is_a_protocol_error() -> None:
    assert outcome(reading(rows=None), [row(b"ab") + EOT]).error is ProtocolError


def test_a_row_decoder_that_stands_still_is_a_protocol_error_not_a_loop() -> None:
    assert (
        outcome(reading(rows=read_in_runs(lambda data, pos, end, rows: pos)), [row(b"ab") + EOT]).error
        is ProtocolError
    )


def test_a_row_read_too_short_is_a_protocol_error() -> None:
    async def short(inbox: Inbox, end: int) -> Row:
        return (inbox.take(1),)

    assert outcome(reading(rows=read_field_by_field(short)), [row(b"ab") + EOT]).error is ProtocolError


@pytest.mark.parametrize("payload", [b"good", b"odd"], ids=["even", "odd"])
def test_a_bad_value_ends_the_rows_and_not_the_reply(payload: bytes) -> None:
    def picky(data: bytearray, pos: int, end: int, rows: list[Row]) -> int:
        """Decodes what it can before it complains, as a run decoder does."""
        for found in raw_rows_of(data, pos, end):
            if found == b"bad":
                raise DataError("no value")
            rows.append((found,))
        return end_of_run(data, pos, end)

    async def picky_row(inbox: Inbox, end: int) -> Row:
        found = await raw_row(inbox, end - 1)
        if found[0] == b"ba":
            raise DataError("no value")
        inbox.skip(1)
        return (found[0] + bytes(inbox.data[inbox.pos - 1 : inbox.pos]),)

    data = (
        row(payload) * 3 + row(b"bad") + row(payload) * 2 + row(b"bad") + pack(">hhiii", 15, 0, 7, 0, 0) + EOT
    )
    for rows in (read_in_runs(picky), read_field_by_field(picky_row)):
        for chunks in cuts(data):
            reply, _ = feed(reading(rows=rows), chunks)
            assert [found for (found,) in reply.rows] == [payload] * 3
            assert isinstance(reply.bad_value, DataError)
            assert reply.done == completion.Done(rows=7)


def test_an_exit_raised_by_a_decoder_is_data_as_a_bad_value_is() -> None:
    def picky(data: bytearray, pos: int, end: int, rows: list[Row]) -> int:
        for found in raw_rows_of(data, pos, end):
            if found == b"bad":
                raise KeyboardInterrupt
            rows.append((found,))
        return end_of_run(data, pos, end)

    data = row(b"good") + row(b"bad") + row(b"good") + pack(">hhiii", 15, 0, 7, 0, 0) + EOT
    for chunks in cuts(data):
        reply, _ = feed(reading(rows=read_in_runs(picky)), chunks)
        assert reply.rows == [(b"good",)]
        assert isinstance(reply.bad_value, KeyboardInterrupt)
        assert reply.done == completion.Done(rows=7)


def test_an_interrupt_after_the_last_row_leaves_no_place_to_go_on() -> None:
    def interrupted(data: bytearray, pos: int, end: int, rows: list[Row]) -> int:
        raw_rows(data, pos, end, rows)
        raise KeyboardInterrupt

    for rest in (pack(">hhiii", 15, 0, 7, 0, 0) + EOT, row(b"cut")[:-1], b"\0"):
        with pytest.raises(ProtocolError, match=r"^the reading of rows was interrupted$"):
            feed(reading(rows=read_in_runs(interrupted)), [row(b"good") + rest])


def raw_rows_of(data: bytearray, pos: int, end: int) -> list[bytes]:
    rows: list[Row] = []
    raw_rows(data, pos, end, rows)
    return [payload for _, payload in rows]


def end_of_run(data: bytearray, pos: int, end: int) -> int:
    return raw_rows(data, pos, end, [])


def test_a_bad_value_found_while_waiting_for_more_than_its_row_is_a_protocol_error() -> None:
    async def greedy(inbox: Inbox, end: int) -> Row:
        await inbox.need(30)
        inbox.skip(30)
        await inbox.need(30)
        raise DataError("no value")

    data = row(b"abcd") + bytes(40)
    with pytest.raises(ProtocolError, match="waited for more than its row"):
        feed(reading(rows=read_field_by_field(greedy)), [data, bytes(60)])


def test_rows_that_are_skipped_must_have_a_size_too() -> None:
    def bad(data: bytearray, pos: int, end: int, rows: list[Row]) -> int:
        raise DataError("no value")

    standing_still = pack(">hhi", 14, 0, -8)
    with pytest.raises(ProtocolError, match="a row of -8 bytes"):
        feed(reading(rows=read_in_runs(bad)), [row(b"ab") + standing_still + EOT])
