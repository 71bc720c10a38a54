"""Large values of a stream, chunk by chunk: constant memory, one row at a time, every way to leave one."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from aioifx import rows
from aioifx.client.execution.value_streams import HIGH_WATER
from aioifx.errors import (
    ConnectionLost,
    DatabaseError,
    DataError,
    InterfaceError,
    QueryCanceled,
    QueryTimeout,
)
from aioifx.testing.messages import EOT, described, done, error
from aioifx.testing.script import (
    PREPARE,
    Chunking,
    Delayed,
    Disconnect,
    Exchange,
    closing,
    fetching,
    opening,
    select_ints,
)
from tests.client.execution.test_large_values import (
    FETCH,
    NOTE,
    NULL,
    PHOTO,
    QUERY,
    of_size,
    pieces,
    row,
    valued,
)
from tests.scripted import C1, CHUNKINGS, cancelled, talking, time_is_up

AFTER = select_ints(3, 7)
STREAM: Any = {"lobs": "stream"}


def streamed(*blocks: bytes | Exchange, columns: Any = (C1, PHOTO)) -> list[Exchange]:
    """A stream in one block: its rows, then the exchanges that follow."""
    sent = [one for one in blocks if isinstance(one, bytes)]
    then = [one for one in blocks if not isinstance(one, bytes)]
    opened = (opening(2, hold=True), b"".join(sent) + done(len(sent)) + EOT)
    return [(PREPARE, described(2, *columns)), opened, *then, *closing(2)]


async def read(value: Any) -> Any:
    chunks = [chunk async for chunk in value]
    return ("" if isinstance(chunks[0], str) else b"").join(chunks) if chunks else None


async def usable(conn: Any) -> None:
    assert await conn.fetch("select c1 from t") == [(7,)]


@pytest.mark.parametrize("chunks", CHUNKINGS, ids=lambda chunks: chunks.__name__)
async def test_values_are_read_row_by_row(chunks: Chunking) -> None:
    columns = (C1, PHOTO, NOTE)
    script: list[Exchange] = [
        (PREPARE, described(2, *columns)),
        (opening(2, hold=True), row(1, of_size(3000), of_size(3)) + row(2, NULL, of_size(0)) + EOT),
        valued(b"ab" * 1500),
        valued("aé€".encode()),
        valued(b""),
        (fetching(2), row(3, of_size(1), NULL) + done(3) + EOT),
        valued(b"z"),
        *closing(2),
    ]
    found: list[Any] = []
    async with talking(script, AFTER, chunks=chunks, locale="en_US.utf8") as (conn, _):
        async for number, photo, note in conn.stream("select c1, photo, note from t", **STREAM):
            sizes = [value and value.size for value in (photo, note)]
            found.append((number, photo and await read(photo), note and await read(note), sizes))
        await usable(conn)
    assert found == [
        (1, b"ab" * 1500, "aé€", [3000, 3]),
        (2, None, None, [None, 0]),
        (3, b"z", None, [1, None]),
    ]


async def test_its_repr_has_the_type_and_state_and_no_data() -> None:
    columns = (C1, PHOTO, NOTE)
    script: list[Exchange] = streamed(
        row(1, of_size(6), of_size(6)) + row(2, NULL, NULL), valued(b"secret"), columns=columns
    )
    notes: list[Any] = []
    async with talking(script) as (conn, _):
        async for _, photo, note in conn.stream("select c1, photo, note from t", **STREAM):
            notes.append(note)
            if photo is not None:
                assert repr(note) == "<ValueStream TEXT open>"
                assert repr(photo) == "<ValueStream BYTE open>"
                assert await anext(photo) == b"secret"
                assert repr(photo) == "<ValueStream BYTE reading>"
                assert [chunk async for chunk in photo] == []
                assert repr(photo) == "<ValueStream BYTE closed>"
            else:
                assert repr(notes[0]) == "<ValueStream TEXT closed>"


async def test_the_connections_option_applies_to_streams_alone() -> None:
    whole: list[Exchange] = streamed(row(1, of_size(1)), valued(b"y"))
    whole[1] = (opening(2), whole[1][1])
    async with talking(streamed(row(1, of_size(1)), valued(b"x")), whole, lobs="stream") as (conn, _):
        stream = conn.stream(QUERY, row_factory=rows.dict_row)
        assert [await read(one["photo"]) async for one in stream] == [b"x"]
        assert await conn.fetch(QUERY) == [(1, b"y")]


async def test_a_stream_without_the_option_returns_whole_values() -> None:
    async with talking(streamed(row(1, of_size(1)), valued(b"x")), lobs="stream") as (conn, _):
        assert [one async for one in conn.stream(QUERY, lobs="inline")] == [(1, b"x")]


async def test_a_prepared_statement_streams_values() -> None:
    script = streamed(row(1, of_size(1)), valued(b"x"))
    async with talking(script) as (conn, _), await conn.prepare(QUERY) as statement:
        assert [await read(one[1]) async for one in statement.stream(**STREAM)] == [b"x"]


async def test_max_lob_size_does_not_apply() -> None:
    script = streamed(row(1, of_size(5000)), valued(b"x" * 5000))
    async with talking(script, max_lob_size=10) as (conn, _):
        assert [await read(one[1]) async for one in conn.stream(QUERY, **STREAM)] == [b"x" * 5000]


async def test_a_value_that_is_not_read_is_not_requested() -> None:
    script = streamed(row(1, of_size(5000)), row(2, of_size(1)), valued(b"y"))
    async with talking(script, AFTER) as (conn, _):
        stream = conn.stream(QUERY, **STREAM)
        await anext(stream)
        assert await read((await anext(stream))[1]) == b"y"
        await stream.aclose()
        await usable(conn)


async def test_a_value_ends_with_its_row() -> None:
    script = streamed(row(1, of_size(2)), row(2, of_size(2)), valued(b"ab"), valued(b"cd"))
    async with talking(script, AFTER) as (conn, _):
        stream = conn.stream(QUERY, **STREAM)
        first = (await anext(stream))[1]
        assert await read(first) == b"ab"
        assert await read(first) is None
        second = (await anext(stream))[1]
        with pytest.raises(
            InterfaceError, match="the value's row is no longer the current row of its stream"
        ):
            await read(first)
        assert await read(second) == b"cd"
        assert [one async for one in stream] == []
        with pytest.raises(InterfaceError, match="no longer the current row"):
            await read(second)
        await usable(conn)


LONG = b"x" * 200_000


@pytest.mark.parametrize("leave", ["next row", "close value", "close stream", "collect"])
async def test_the_rest_of_a_value_is_dropped(leave: str) -> None:
    late = Delayed(pieces(LONG) + done() + EOT, first=2000)
    last: list[Exchange] = [valued(b"y")] if leave in ("next row", "close value") else []
    script = streamed(row(1, of_size(len(LONG))), row(2, of_size(1)), (FETCH, late), *last)
    async with talking(script, AFTER) as (conn, _):
        stream = conn.stream(QUERY, **STREAM)
        value = (await anext(stream))[1]
        assert await anext(value)
        late.release()
        if leave == "close value":
            async with value:
                pass
            assert await read(value) is None
        if leave == "collect":
            del stream, value
            gc.collect()
            await asyncio.sleep(0)
        else:
            if leave in ("next row", "close value"):
                assert await read((await anext(stream))[1]) == b"y"
            await stream.aclose()
        await usable(conn)


async def test_reading_pauses_while_chunks_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    size = 4 * HIGH_WATER
    script = streamed(row(1, of_size(size)), (FETCH, pieces(b"x" * size, 32_000) + done() + EOT))
    async with talking(
        script, chunks=lambda data: [data[at : at + 65536] for at in range(0, len(data), 65536)]
    ) as (conn, _):
        total = largest = 0
        async for _, value in conn.stream(QUERY, **STREAM):
            async for chunk in value:
                total += len(chunk)
                largest = max(largest, len(chunk))
                for _ in range(100):  # a slow consumer
                    await asyncio.sleep(0)
    assert total == size
    assert largest <= HIGH_WATER + 2 * 65536


async def test_no_other_statement_runs_in_the_middle_of_a_value() -> None:
    late = Delayed(pieces(LONG) + done() + EOT, first=2000)
    script = streamed(row(1, of_size(len(LONG))), (FETCH, late), *AFTER)
    waiting: list[asyncio.Future[list[Any]]] = []
    async with talking(script) as (conn, _):
        async for _, value in conn.stream(QUERY, **STREAM):
            assert await anext(value)
            with pytest.raises(
                InterfaceError, match="a loop over the chunks of a large value, must not call it"
            ):
                await conn.fetch("select c1 from t")
            waiting.append(asyncio.ensure_future(conn.fetch("select c1 from t")))
            await asyncio.sleep(0)
            late.release()
            await read(value)
        assert [await other for other in waiting] == [[(7,)]]


async def test_an_error_ends_the_value_and_not_the_stream() -> None:
    broken: Exchange = (FETCH, pieces(b"ab")[:6] + error(-606) + EOT)
    script = streamed(row(1, of_size(4)), row(2, of_size(1)), broken, valued(b"y"))
    async with talking(script, AFTER) as (conn, _):
        stream = conn.stream(QUERY, **STREAM)
        value = (await anext(stream))[1]
        assert await anext(value) == b"ab"
        with pytest.raises(DatabaseError) as caught:
            await anext(value)
        assert caught.value.sqlcode == -606
        assert await read((await anext(stream))[1]) == b"y"
        await stream.aclose()
        await usable(conn)


async def test_text_that_is_not_in_the_code_set_names_its_column() -> None:
    script = streamed(row(1, of_size(3)), valued(b"a\xff\xff"), columns=(C1, NOTE))
    async with talking(script, AFTER, locale="en_US.utf8") as (conn, _):
        async for _, value in conn.stream(QUERY, **STREAM):
            with pytest.raises(DataError, match=r"^column 'note': bytes that are not valid utf8$") as caught:
                await read(value)
            assert caught.value.column == "note"
        await usable(conn)


async def test_a_cut_character_at_the_end_is_an_error() -> None:
    script = streamed(row(1, of_size(2)), valued("a€".encode()[:3]), columns=(C1, NOTE))
    async with talking(script, AFTER, locale="en_US.utf8") as (conn, _):
        async for _, value in conn.stream(QUERY, **STREAM):
            with pytest.raises(DataError, match="not valid utf8"):
                await read(value)
        await usable(conn)


async def test_a_lost_connection_ends_the_value() -> None:
    script = streamed(row(1, of_size(4)), (FETCH, Disconnect(pieces(b"ab")[:6])))[:-2]
    async with talking(script) as (conn, _):
        stream = conn.stream(QUERY, **STREAM)
        with pytest.raises(ConnectionLost):
            await read((await anext(stream))[1])
        await stream.aclose()


async def test_a_cancelled_chunk_is_read_to_the_end_of_its_value() -> None:
    late = Delayed(pieces(LONG) + done() + EOT, first=2000)
    script = streamed(row(1, of_size(len(LONG))), (FETCH, late))
    async with talking(script, AFTER) as (conn, _):
        async with conn.stream(QUERY, **STREAM) as stream:
            value = (await anext(stream))[1]
            assert await anext(value)
            task = asyncio.ensure_future(anext(value))
            await asyncio.sleep(0)
            await cancelled(task)
            late.release()
            with pytest.raises(InterfaceError, match="an earlier chunk of the value failed or was cancelled"):
                await read(value)
        await usable(conn)


async def test_a_value_is_not_lost_if_the_wait_for_the_connection_is_cancelled() -> None:
    late = Delayed(pieces(LONG) + done() + EOT, first=2000)
    script = streamed(
        row(1, of_size(len(LONG)), of_size(1)), (FETCH, late), valued(b"y"), columns=(C1, PHOTO, PHOTO)
    )
    async with talking(script, AFTER) as (conn, _):
        async with conn.stream(QUERY, **STREAM) as stream:
            _, first, second = await anext(stream)
            assert await anext(first)
            waiting = asyncio.ensure_future(read(second))
            await asyncio.sleep(0)
            await cancelled(waiting)
            late.release()
            await read(first)
            assert await read(second) == b"y"
        await usable(conn)


async def test_a_value_that_is_closed_while_it_waits_for_the_connection_is_not_requested() -> None:
    late = Delayed(pieces(LONG) + done() + EOT, first=2000)
    script = streamed(row(1, of_size(len(LONG)), of_size(1)), (FETCH, late), columns=(C1, PHOTO, PHOTO))
    async with talking(script, AFTER) as (conn, _):
        async with conn.stream(QUERY, **STREAM) as stream:
            _, first, second = await anext(stream)
            assert await anext(first)
            reader = asyncio.ensure_future(read(second))
            await asyncio.sleep(0)
            await second.aclose()
            late.release()
            await read(first)
            with pytest.raises(InterfaceError, match="no longer the current row"):
                await reader
        await usable(conn)


@pytest.mark.parametrize("keep", [True, False], ids=["row kept", "row dropped"])
async def test_a_stream_that_is_left_early_can_be_followed_by_a_statement_of_its_task(keep: bool) -> None:
    script = streamed(row(1, of_size(len(LONG))), (FETCH, pieces(LONG) + done() + EOT))
    async with talking(script, AFTER) as (conn, _):
        value: Any = None
        async for _, value in conn.stream(QUERY, **STREAM):
            async for _ in value:
                break
            break
        if not keep:
            del value, _
        await usable(conn)


@pytest.mark.parametrize("by", ["cancellation", "cancel()"])
async def test_a_chunk_is_interrupted_at_the_server(by: str) -> None:
    first = pieces(LONG)[:1028]
    late = Delayed(first + error(-213) + EOT, first=len(first))
    script = streamed(row(1, of_size(len(LONG))), (FETCH, late))
    async with talking(script, AFTER) as (conn, _):
        urgent: list[bytes] = []
        conn._session.channel.send_urgent = lambda byte: not urgent.append(byte)  # type: ignore[method-assign,func-returns-value]
        async with conn.stream(QUERY, **STREAM) as stream:
            value = (await anext(stream))[1]
            assert await anext(value)
            task = asyncio.ensure_future(anext(value))
            await asyncio.sleep(0)
            if by == "cancellation":
                task.cancel()
            else:
                conn.cancel()
            late.release()
            with pytest.raises(asyncio.CancelledError if by == "cancellation" else QueryCanceled):
                await task
        await usable(conn)
        assert urgent == [b"B"]


async def test_a_timeout_applies_to_the_wait_for_a_chunk_and_not_to_the_consumer() -> None:
    late = Delayed(pieces(LONG) + done() + EOT, first=2000)
    script = streamed(row(1, of_size(len(LONG))), (FETCH, late))
    async with talking(script, AFTER) as (conn, _):
        async with conn.stream(QUERY, **STREAM, timeout=60) as stream:
            value = (await anext(stream))[1]
            assert await anext(value)
            in_flight = conn._session.dispatcher._in_flight[0]
            assert in_flight.deadline is None
            waiting = asyncio.ensure_future(anext(value))
            await asyncio.sleep(0)
            assert in_flight.deadline is not None
            time_is_up(conn._session)
            with pytest.raises(QueryTimeout):
                await waiting
            late.release()
        await usable(conn)


async def test_a_value_has_one_reader() -> None:
    late = Delayed(pieces(LONG) + done() + EOT, first=2000)
    script = streamed(row(1, of_size(len(LONG))), (FETCH, late))
    async with talking(script) as (conn, _), conn.stream(QUERY, **STREAM) as stream:
        value = (await anext(stream))[1]
        assert await anext(value)
        task = asyncio.ensure_future(anext(value))
        await asyncio.sleep(0)
        with pytest.raises(InterfaceError, match="already read by another task"):
            await anext(value)
        late.release()
        assert await task
        await read(value)
        assert [one async for one in stream] == []


async def test_blocks_have_no_current_row() -> None:
    async with talking(streamed(row(1, of_size(1)))) as (conn, _):
        stream = conn.stream(QUERY, **STREAM)
        with pytest.raises(InterfaceError, match=r'^lobs: "stream" cannot be combined with blocks'):
            await anext(stream.blocks())
        await stream.aclose()


async def test_closing_the_connection_in_the_middle_of_a_value_waits_for_its_end() -> None:
    size = 4 * HIGH_WATER
    late = Delayed(pieces(b"x" * size) + done() + EOT, first=2000)
    script = streamed(row(1, of_size(size)), (FETCH, late))[:-2]
    async with talking(script, (b"\0\x38", b"\0\x38")) as (conn, _):
        stream = conn.stream(QUERY, **STREAM)
        value = (await anext(stream))[1]
        assert await anext(value)
        late.release()
        await conn.close()
        assert conn.is_closed()
