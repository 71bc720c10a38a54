"""BYTE and TEXT in rows: one request for each value, the guard for memory, every bad reply."""

from __future__ import annotations

import asyncio
import tracemalloc
from struct import pack
from types import SimpleNamespace
from typing import Any

import pytest

from aioifx import rows
from aioifx.client.execution.large_values import _SimpleValues
from aioifx.codecs.large_objects import LONG_DESCRIPTOR, SHORT_DESCRIPTOR, row_descriptor
from aioifx.errors import DatabaseError, DataError, InterfaceError, ProtocolError
from aioifx.sqltypes import Column, TypeCode
from aioifx.testing.messages import EOT, column, described, done, error, ints, raw_row
from aioifx.testing.script import (
    PREPARE,
    Chunking,
    Delayed,
    Exchange,
    closing,
    fetching,
    opening,
    select_ints,
)
from aioifx.wire.capabilities import Capabilities
from tests.scripted import (
    C1,
    CHUNKINGS,
    cancel_at,
    cancelled_or_late,
    end_early,
    played,
    talking,
)

QUERY = "select c1, photo from t"
PHOTO = column("photo", TypeCode.BYTE, SHORT_DESCRIPTOR)
NOTE = column("note", TypeCode.TEXT, SHORT_DESCRIPTOR)
NULL = bytes(39) + b"\1" + bytes(16)
FETCH = "Id(2) FetchBlob"


def of_size(size: int, width: int = SHORT_DESCRIPTOR) -> bytes:
    return row_descriptor(size, width).data


def row(number: int, *descriptors: bytes) -> bytes:
    return raw_row(pack(">i", number) + b"".join(descriptors))


def pieces(value: bytes, size: int = 1024) -> bytes:
    """The value as SQ_BLOB, without the end of the reply."""
    cut = [value[at : at + size] for at in range(0, len(value), size)]
    return b"".join(pack(">HH", 39, len(piece)) + piece + b"\0" * (len(piece) & 1) for piece in [*cut, b""])


def whole_reply(value: bytes, size: int = 1024) -> bytes:
    return pieces(value, size) + done() + EOT


def valued(value: bytes, size: int = 1024) -> Exchange:
    return FETCH, whole_reply(value, size)


def queried(*rows_and_values: bytes | Exchange, columns: tuple[Column, ...] = (C1, PHOTO)) -> list[Exchange]:
    """A query in one block: rows as bytes, then the exchanges that follow."""
    sent = [one for one in rows_and_values if isinstance(one, bytes)]
    then = [one for one in rows_and_values if not isinstance(one, bytes)]
    opened = (opening(2), b"".join(sent) + done(len(sent)) + EOT)
    return [(PREPARE, described(2, *columns)), opened, *then, *closing(2)]


# -- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("text_read", [(1, "hello text"), (2, None)]),
        ("byte_read", [(1, bytes(range(40))), (2, None)]),
        ("byte_read_0", [(1, b""), (2, b"")]),
        ("text_read_lobcache0", [(1, "0123456789" * 300), (2, "0123456789" * 300)]),
    ],
)
async def test_values_are_requested_as_by_jdbc(case: str, expected: list[Any]) -> None:
    script = played("lob", case)
    async with talking(script, fetch_size=4096) as (conn, _):
        found = await conn.fetch("select lob_text from t" if "text" in case else "select lob_byte from t")
    assert found == expected


@pytest.mark.parametrize("read_ahead", [True, False], ids=["in runs", "field by field"])
@pytest.mark.parametrize("chunks", CHUNKINGS, ids=lambda chunks: chunks.__name__)
async def test_each_value_of_each_row_is_read_before_the_next_block(
    chunks: Chunking, read_ahead: bool
) -> None:
    columns = (C1, PHOTO, NOTE)
    script: list[Exchange] = [
        (PREPARE, described(2, *columns)),
        (opening(2), row(1, of_size(2), of_size(3)) + row(2, NULL, of_size(1)) + EOT),
        valued(b"\0\xff"),
        valued(b"abc"),
        valued(b"d"),
        (fetching(2), row(3, NULL, of_size(1)) + EOT),
        valued(b"e"),
        (fetching(2), row(4, of_size(0), of_size(0)) + done(4) + EOT),
        valued(b""),
        valued(b""),
        *closing(2),
    ]
    async with talking(script, chunks=chunks, read_ahead=read_ahead) as (conn, _):
        found = await conn.fetch("select c1, photo, note from t")
    assert found == [(1, b"\0\xff", "abc"), (2, None, "d"), (3, None, "e"), (4, b"", "")]
    assert found[0]["note"] == "abc"


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 1025, 10_000_000])
@pytest.mark.parametrize("piece", [1024, 32_000], ids=["small", "large"])
async def test_a_value_of_any_size_is_whole(size: int, piece: int) -> None:
    value = bytes(range(251)) * (size // 251 + 1)
    async with talking(queried(row(1, of_size(size)), valued(value[:size], piece))) as (conn, _):
        assert await conn.fetch(QUERY) == [(1, value[:size])]


async def test_a_long_descriptor_is_sent_back_in_the_width_of_bit_70() -> None:
    long = Capabilities(long_rowid=True, long_tuple=True)
    descriptor = of_size(2, LONG_DESCRIPTOR)
    columns = (C1, column("photo", TypeCode.BYTE, LONG_DESCRIPTOR))
    script: list[Exchange] = [
        (PREPARE, described(2, *columns, capabilities=long)),
        (opening(2), row(1, descriptor) + done(1, capabilities=long) + EOT),
        (b"\0\4\0\2\0\x26" + descriptor + EOT, pieces(b"ab") + done(capabilities=long) + EOT),
        *closing(2),
    ]
    async with talking(script, capabilities=long, peer_dialect=long) as (conn, _):
        assert await conn.fetch(QUERY) == [(1, b"ab")]


async def test_a_row_is_made_after_its_values_are_there() -> None:
    script = queried(row(1, of_size(1)), valued(b"x"))
    async with talking(script, script) as (conn, _):
        assert await conn.fetch(QUERY, row_factory=rows.dict_row) == [{"c1": 1, "photo": b"x"}]
        assert await conn.fetch(QUERY, row_factory=rows.tuple_row) == [(1, b"x")]


@pytest.mark.parametrize("lobs", ["handles", "inline"])
async def test_bytes_and_text_are_the_same_with_handles_and_inline(lobs: Any) -> None:
    script = queried(row(1, of_size(1)), valued(b"x"))
    async with talking(script, script, script, lobs=lobs) as (conn, _):
        assert await conn.fetch(QUERY) == await conn.fetch(QUERY, lobs=lobs) == [(1, b"x")]
        async with await conn.prepare(QUERY) as statement:
            assert await statement.fetch(lobs=lobs) == [(1, b"x")]


async def test_text_is_in_the_connections_code_set() -> None:
    script = queried(row(1, of_size(3)), valued("€".encode()), columns=(C1, NOTE))
    async with talking(script, locale="en_US.utf8") as (conn, _):
        assert await conn.fetch(QUERY) == [(1, "€")]


async def test_a_decoder_gets_the_value_and_not_its_descriptor() -> None:
    script = queried(row(1, of_size(2)), row(2, NULL), valued(b"ab"), columns=(C1, NOTE))
    async with talking(script, type_codecs={"text": (None, str.upper)}) as (conn, _):
        assert await conn.fetch(QUERY) == [(1, "AB"), (2, None)]


# -- several values --------------------------------------------------------------------------------------------------


TWO = row(1, of_size(1)), row(2, of_size(1))


async def test_each_value_of_a_block_is_one_round_trip() -> None:
    script = queried(*TWO, valued(b"x"), valued(b"y"))
    async with talking(script, select_ints(3, 7)) as (conn, _):
        before = conn.stats.round_trips
        assert await conn.fetch(QUERY) == [(1, b"x"), (2, b"y")]
        assert await conn.fetch("select c1 from t") == [(7,)]
        assert conn.stats.round_trips - before == len(script) + len(select_ints(3, 7))


async def test_a_decoder_gets_each_value_before_the_next_is_requested() -> None:
    script = queried(*TWO, valued(b"x"), valued(b"y"), columns=(C1, NOTE))
    async with talking(script, type_codecs={"text": (None, str.upper)}) as (conn, _):
        assert await conn.fetch(QUERY) == [(1, "X"), (2, "Y")]

    def refuse(value: str) -> str:
        raise ValueError(value)

    script = queried(*TWO, valued(b"x"), columns=(C1, NOTE))
    async with talking(script, type_codecs={"text": (None, refuse)}) as (conn, _):
        with pytest.raises(DataError, match="the decoder of text raised ValueError"):
            await conn.fetch(QUERY)


@pytest.mark.parametrize(
    ("first", "message"),
    [
        ((FETCH, error(-606) + EOT), "-606"),
        (valued(b"\xff"), "^column 'note': byte 0xff at offset 0"),
        (valued(b"x" * 101), "of 101 bytes exceeds max_lob_size=100$"),
    ],
    ids=["an error", "bytes that are not text", "a value that is too large"],
)
async def test_no_value_is_requested_after_one_that_fails(first: Exchange, message: str) -> None:
    script = queried(*TWO, first, columns=(C1, NOTE))
    async with talking(script, select_ints(3, 7), locale="en_US.utf8", max_lob_size=100) as (conn, _):
        with pytest.raises(DatabaseError, match=message):
            await conn.fetch(QUERY)
        assert await conn.fetch("select c1 from t") == [(7,)]


async def test_a_later_value_that_is_too_large_is_not_requested() -> None:
    script = queried(row(1, of_size(1)), row(2, of_size(101)), valued(b"x"))
    async with talking(script, select_ints(3, 7), max_lob_size=100) as (conn, _):
        with pytest.raises(DataError, match="of 101 bytes exceeds"):
            await conn.fetch(QUERY)
        assert await conn.fetch("select c1 from t") == [(7,)]


@cancelled_or_late
async def test_no_value_is_requested_after_one_that_was_cancelled_or_timed_out(end: str) -> None:
    late = Delayed(whole_reply(b"y"))
    script = queried(*TWO, row(3, of_size(1)), valued(b"x"), (FETCH, late))
    async with talking(script, select_ints(3, 7), command_timeout=60) as (conn, _):
        await end_early(end, late, conn, conn.fetch(QUERY))
        assert await conn.fetch("select c1 from t") == [(7,)]


async def test_an_interrupt_that_is_too_late_for_a_value_reaches_the_next_one() -> None:
    late = Delayed(whole_reply(b"x"))
    script = queried(*TWO, row(3, of_size(1)), (FETCH, late), valued(b"y"), (FETCH, error(-213) + EOT))
    async with talking(script, select_ints(3, 7)) as (conn, _):
        conn._session.channel.send_urgent = lambda byte: True  # type: ignore[method-assign]
        task = asyncio.ensure_future(conn.fetch(QUERY))
        await asyncio.wait_for(late.reached.wait(), 10)
        conn.cancel()
        late.release()
        with pytest.raises(DatabaseError) as caught:
            await task
        assert caught.value.sqlcode == -213
        assert await conn.fetch("select c1 from t") == [(7,)]


async def test_what_follows_a_value_unrequested_ends_the_connection() -> None:
    script = queried(*TWO, (FETCH, whole_reply(b"x") + whole_reply(b"y")))[:-2]
    async with talking(script) as (conn, _):
        with pytest.raises(ProtocolError, match="not requested"):
            await conn.fetch(QUERY)
        assert conn.is_closed()


# -- only what is returned is requested ------------------------------------------------------------------------------


async def test_the_first_row_alone_is_completed() -> None:
    block = row(1, of_size(1)) + row(2, of_size(1)) + done(2) + EOT
    script: list[Exchange] = [
        (PREPARE, described(2, C1, PHOTO)),
        (opening(2, 4096), block),
        valued(b"x"),
        *closing(2),
    ]
    async with talking(script, script) as (conn, _):
        assert await conn.fetchrow(QUERY, row_factory=rows.namedtuple_row) == (1, b"x")
        assert await conn.fetchval(QUERY, column="photo", lobs="inline") == b"x"


async def test_rows_that_are_discarded_are_not_completed() -> None:
    async with talking(queried(row(1, of_size(1)), row(2, of_size(1)))) as (conn, _):
        assert (await conn.execute(QUERY)).rowcount == 2


async def test_a_stream_completes_a_block_at_a_time_and_requests_none_early() -> None:
    script: list[Exchange] = [
        (PREPARE, described(2, C1, PHOTO)),
        (opening(2, hold=True), row(1, of_size(1)) + EOT),
        valued(b"x"),
        *select_ints(3, 7),
        (fetching(2), row(2, of_size(1)) + done(2) + EOT),
        valued(b"y"),
        *closing(2),
    ]
    async with talking(script) as (conn, _):
        stream = conn.stream(QUERY)
        assert await anext(stream) == (1, b"x")
        assert await conn.fetch("select c1 from u") == [(7,)]
        assert [one async for one in stream] == [(2, b"y")]


async def test_a_cursor_completes_its_rows() -> None:
    script = queried(row(1, of_size(1)), row(2, NULL), valued(b"x"))
    script[1] = (opening(2, hold=True), script[1][1])
    async with talking(script) as (conn, _), conn.cursor() as cursor:
        await cursor.execute(QUERY)
        assert await cursor.fetchall() == [(1, b"x"), (2, None)]


async def test_a_scroll_cursor_passes_the_servers_error_on() -> None:
    script: list[Exchange] = [
        (PREPARE, described(2, C1, PHOTO)),
        ("Id(2) CurName Scroll Hold Open", error(-602, offset=0) + EOT),
        *closing(2),
    ]
    async with talking(script) as (conn, _), conn.cursor(scroll=True) as cursor:
        with pytest.raises(DatabaseError) as caught:
            await cursor.execute(QUERY)
    assert caught.value.sqlcode == -602


async def test_a_scroll_cursor_completes_its_row() -> None:
    fetched = row(1, of_size(1)) + pack(">Hi", 25, 1) + done(1) + EOT
    script: list[Exchange] = [
        (PREPARE, described(2, C1, PHOTO)),
        ("Id(2) CurName Scroll Hold Open", EOT),
        ("Id(2) ScrollFetch", fetched),
        valued(b"x"),
        *closing(2),
    ]
    async with talking(script) as (conn, _), conn.cursor(scroll=True, lobs="inline") as cursor:
        await cursor.execute(QUERY)
        assert await cursor.fetch_absolute(1) == (1, b"x")


# -- the guard for memory --------------------------------------------------------------------------------------------


async def test_a_value_that_is_too_large_is_not_requested() -> None:
    async with talking(queried(row(1, of_size(101))), select_ints(3, 7), max_lob_size=100) as (conn, _):
        with pytest.raises(DataError) as caught:
            await conn.fetch(QUERY)
        assert await conn.fetch("select c1 from t") == [(7,)]
    assert str(caught.value) == "column 'photo': BYTE value of 101 bytes exceeds max_lob_size=100"
    assert (caught.value.column, caught.value.sql) == ("photo", QUERY)


async def test_a_value_that_is_larger_than_announced_is_read_and_dropped() -> None:
    script = queried(row(1, of_size(1)), valued(b"x" * 5000))
    async with talking(script, select_ints(3, 7), max_lob_size=3000) as (conn, _):
        with pytest.raises(DataError, match="of 5000 bytes exceeds max_lob_size=3000"):
            await conn.fetch(QUERY)
        assert await conn.fetch("select c1 from t") == [(7,)]


async def test_a_value_of_the_largest_size_is_returned() -> None:
    async with talking(queried(row(1, of_size(100)), valued(b"x" * 100)), max_lob_size=100) as (conn, _):
        assert await conn.fetch(QUERY) == [(1, b"x" * 100)]


# -- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sqlcode", [-606, -213])
@pytest.mark.parametrize("before", [b"", pack(">HH", 39, 2) + b"ab"], ids=["at the start", "between pieces"])
async def test_an_error_ends_the_value(before: bytes, sqlcode: int) -> None:
    script = queried(row(1, of_size(3)), (FETCH, before + error(sqlcode) + EOT))
    async with talking(script, select_ints(3, 7)) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            await conn.fetch(QUERY)
        assert await conn.fetch("select c1 from t") == [(7,)]
    assert caught.value.sqlcode == sqlcode


@pytest.mark.parametrize(
    "answer",
    [
        EOT,
        done() + EOT,
        pack(">HH", 39, 2) + b"ab" + done() + EOT,
        pieces(b"ab") + pieces(b"cd") + done() + EOT,
        pieces(b"ab") + ints(1) + EOT,
        pack(">HH", 39, 2) + b"ab" + b"\x7f\xff" + EOT,
    ],
    ids=["nothing", "no value", "no end", "two values", "a row", "an unknown message"],
)
async def test_an_impossible_reply_ends_the_connection(answer: bytes) -> None:
    script = queried(row(1, of_size(2)), (FETCH, answer))[:-2]
    async with talking(script) as (conn, _):
        with pytest.raises(ProtocolError):
            await conn.fetch(QUERY)
        assert conn.is_closed()


async def test_text_that_is_not_in_the_code_set_names_its_column() -> None:
    script = queried(row(1, of_size(2)), valued(b"a\xff"), columns=(C1, NOTE))
    async with talking(script, select_ints(3, 7), locale="en_US.utf8") as (conn, _):
        with pytest.raises(
            DataError, match=r"^column 'note': byte 0xff at offset 1 is not valid utf8$"
        ) as caught:
            await conn.fetch(QUERY)
        assert await conn.fetch("select c1 from t") == [(7,)]
    assert caught.value.column == "note"


@pytest.mark.parametrize("first", [0, 1000], ids=["before the value", "in the middle of it"])
@cancelled_or_late
async def test_a_value_that_was_cancelled_or_timed_out_is_read_to_its_end(end: str, first: int) -> None:
    late = Delayed(pieces(b"x" * 5000) + done() + EOT, first=first)
    script = queried(row(1, of_size(5000)), (FETCH, late))
    async with talking(script, select_ints(3, 7), command_timeout=60) as (conn, _):
        await end_early(end, late, conn, conn.fetch(QUERY))
        assert await conn.fetch("select c1 from t") == [(7,)]


async def test_a_cancelled_value_is_interrupted_at_the_server() -> None:
    first = pieces(b"x" * 5000)[:1028]
    late = Delayed(first + error(-213) + EOT, first=len(first))
    script = queried(row(1, of_size(5000)), (FETCH, late))
    async with talking(script, select_ints(3, 7)) as (conn, _):
        urgent: list[bytes] = []
        conn._session.channel.send_urgent = lambda byte: not urgent.append(byte)  # type: ignore[method-assign,func-returns-value]
        await cancel_at(late, conn.fetch(QUERY))
        late.release()
        assert await conn.fetch("select c1 from t") == [(7,)]
        assert urgent == [b"B"]


@pytest.mark.parametrize("lobs", ["all", "stream", 1], ids=str)
async def test_an_invalid_choice_is_refused_before_anything_is_sent(lobs: Any) -> None:
    async with talking() as (conn, _):
        for call in (conn.fetch, conn.fetchrow, conn.fetchval):
            with pytest.raises(InterfaceError, match=r"^lobs: "):
                await call(QUERY, lobs=lobs)
        with pytest.raises(InterfaceError, match=r"^lobs: "):
            conn.cursor(lobs=lobs)
        if lobs != "stream":
            with pytest.raises(InterfaceError, match=r"^lobs: expected"):
                conn.stream(QUERY, lobs=lobs)


@pytest.mark.parametrize("size", [1, 2, 3, 1000, 32_000])
def test_a_value_in_small_pieces_takes_little_more_than_its_size_until_it_is_joined(size: int) -> None:
    whole = 100_000
    owner: Any = SimpleNamespace(max_size=2_000_000, fetching=SimpleNamespace(session=None))
    owner.fetching.session = SimpleNamespace(conversation=None)
    values = _SimpleValues(owner, ())
    tracemalloc.start()
    try:
        for _ in range(whole // size):
            values._take(bytes(size))
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used < whole * 1.2
    assert sum(map(len, values._pieces)) == whole // size * size
