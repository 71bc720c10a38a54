"""Very many rows, and very large ones: nothing is collected, nothing deadlocks, memory stays flat.

The peer is a thread with blocking sockets and small buffers: it does not read on before its answers have been taken, as
a server does that has one thread for a session. Its answers are canned, so that millions of rows take seconds.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from aioifx.channel import Channel
from aioifx.client.api.connection import Connection
from aioifx.client.session.server_behavior import ServerBehavior
from aioifx.client.session.session import Session
from aioifx.codecs.large_objects import SHORT_DESCRIPTOR, row_descriptor
from aioifx.errors import DataError, UniqueViolation
from aioifx.testing.messages import (
    DIALECT,
    EOT,
    EXIT,
    LOGGED,
    column,
    described,
    done,
    error,
    ints,
    raw_row,
    takes,
)
from aioifx.wire.completion import Done
from aioifx.wire.opcodes import StatementType
from aioifx.wire.replies import Reply
from tests.scripted import C1, INTEGER, options_with

SMALL = 32 * 1024
"""Of the sockets' buffers; a window of requests and its replies do not fit in."""

MEMORY = 8 * 1024 * 1024
"""Bytes that a call may have alive at a time, whatever the number of rows."""

INSERTED = done(1) + EOT


class Sink(threading.Thread):
    """A server's end for one statement, all of whose executions are equally long.

    Args:
        opening: the replies to the groups before the first execution, and to those of a query.
        execution: the answer to each execution, by its number.
    """

    def __init__(self, sock: socket.socket, opening: list[bytes], execution: Callable[[int], bytes]) -> None:
        super().__init__(daemon=True)
        self.executions = 0
        self.failure: BaseException | None = None
        self._sock = sock
        self._opening = opening
        self._execution = execution

    def run(self) -> None:
        try:
            self._serve()
        except (ConnectionError, OSError):
            pass
        except BaseException as failure:
            self.failure = failure
        finally:
            self._sock.close()

    def _serve(self) -> None:
        # Everything up to the first execution is small, and answered group by group.
        for answer in self._opening:
            if not self._sock.recv(65536):
                return
            self._sock.sendall(answer)
        data = bytearray()
        size = 0
        while chunk := self._sock.recv(65536):
            data += chunk
            if data[:2] == b"\0\x04" and not size:  # SQ_ID: the first execution; the others are as long
                end = data.find(b"\0\x07\0\x0c")
                if end < 0:
                    continue
                size = end + 4
            while size and len(data) >= size and data[:2] == b"\0\x04":
                count = len(data) // size
                run = 0
                while run < count and data[run * size : run * size + 2] == b"\0\x04":
                    run += 1
                del data[: run * size]
                self._sock.sendall(
                    b"".join(map(self._execution, range(self.executions, self.executions + run)))
                )
                self.executions += run
            if bytes(data) in (b"\0\x13\0\x0c", b"\0\x14\0\0\0\x0c"):  # COMMIT, ROLLBACK
                self._sock.sendall(done() + EOT)
                data.clear()
            elif data == EXIT:
                self._sock.sendall(EXIT)
                return


@asynccontextmanager
async def sunk(
    opening: list[bytes], execution: Callable[[int], bytes] = lambda _: INSERTED
) -> AsyncIterator[tuple[Connection, Sink]]:
    """A connection whose statements go to a sink."""
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
    sink = Sink(theirs, opening, execution)
    sink.start()
    ours.setblocking(False)
    _, channel = await asyncio.get_running_loop().create_connection(Channel, sock=ours)
    session = Session(channel, DIALECT, options_with(), behavior=ServerBehavior(done_ends_rows=True))
    session.on_database_opened("", Reply(done=Done(LOGGED)))
    conn = Connection(session, address="sink", server_version="Sink")
    try:
        yield conn, sink
    finally:
        conn.terminate()
        await channel.wait_closed()
        await asyncio.to_thread(sink.join, 10)
    assert sink.failure is None
    assert not sink.is_alive()


def inserting(*types: object) -> list[bytes]:
    """The answers to PREPARE, CIDESCRIBE and BEGIN."""
    return [described(3, kind=StatementType.INSERT), takes(*types), done() + EOT]  # type: ignore[arg-type]


@pytest.fixture
def peak() -> Iterator[Callable[[], int]]:
    """Bytes that were alive at a time, at most."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


@pytest.mark.exhaustive
@pytest.mark.timeout(180)
async def test_a_million_rows_of_a_generator_are_inserted() -> None:
    async with sunk(inserting(INTEGER)) as (conn, sink):
        result = await conn.executemany("insert into t values (?)", ((n,) for n in range(1_000_000)))
        assert result.rowcount == sink.executions == 1_000_000
        assert conn.stats.round_trips < 2_000


@pytest.mark.exhaustive
async def test_rows_of_an_executemany_are_not_collected(peak: Callable[[], int]) -> None:
    async def rows() -> AsyncIterator[tuple[int]]:
        for n in range(50_000):
            yield (n,)

    async with sunk(inserting(INTEGER)) as (conn, _):
        result = await conn.executemany("insert into t values (?)", rows())
        assert result.rowcount == 50_000
        assert peak() < MEMORY


async def test_rows_of_thirty_kilobytes_are_inserted(peak: Callable[[], int]) -> None:
    wide = column("text", 43, 32_000)
    row = ("x" * 30_000,)
    async with sunk(inserting(wide.type)) as (conn, sink):
        result = await conn.executemany("insert into t values (?)", (row for _ in range(2_000)))
        assert result.rowcount == sink.executions == 2_000
        assert peak() < MEMORY


@pytest.mark.parametrize("failing", [0, 5_000, 9_999], ids=["first", "middle", "last"])
async def test_so_many_requests_give_so_many_replies_whichever_fails(failing: int) -> None:
    def execution(number: int) -> bytes:
        return error(-268, -100, token="informix.pk") + EOT if number == failing else INSERTED

    async with sunk(inserting(INTEGER), execution) as (conn, sink):
        result = await conn.executemany(
            "insert into t values (?)", ((n,) for n in range(10_000)), on_error="collect"
        )
        assert sink.executions == 10_000
        assert result.rowcount == 9_999
        assert [error.row_index for error in result.errors] == [failing]
    async with sunk(inserting(INTEGER), execution) as (conn, sink):
        with pytest.raises(UniqueViolation) as caught:
            await conn.executemany("insert into t values (?)", ((n,) for n in range(10_000)))
        assert caught.value.row_index == failing
        assert failing < sink.executions <= 10_000
        assert not conn.is_in_transaction()


BLOCK = ints(*range(2_000)) + EOT
LAST = ints(*range(1_000)) + b"\0\x0a" + done(1_000_000) + EOT


@pytest.mark.exhaustive
@pytest.mark.timeout(180)
async def test_a_million_rows_are_streamed_in_the_memory_of_two_blocks(peak: Callable[[], int]) -> None:
    answers = [described(3, C1), *[BLOCK] * 500, LAST]
    async with sunk(answers) as (conn, _):
        count = 0
        async for block in conn.stream("select c1 from t").blocks():
            count += len(block)
        assert count == 1_001_000
        assert peak() < MEMORY


# -- large values ----------------------------------------------------------------------------------------------------

PIECE = b"\0\x27" + (32_000).to_bytes(2, "big") + bytes(32_000)


def one_value(pieces: int) -> list[bytes]:
    """The answers to PREPARE, to the fetch of one row, whose descriptor does not tell the size, and to FETCHBLOB."""
    photo = column("photo", 11, SHORT_DESCRIPTOR)
    opened = raw_row(row_descriptor(1, SHORT_DESCRIPTOR).data) + done(1) + EOT
    return [described(3, photo), opened, PIECE * pieces + b"\0\x27\0\0" + done() + EOT]


async def test_a_value_of_64_megabytes_is_streamed_in_constant_memory(peak: Callable[[], int]) -> None:
    async with sunk(one_value(2_000)) as (conn, _):
        before, size = tracemalloc.get_traced_memory()[0], 0
        tracemalloc.reset_peak()
        async with conn.stream("select photo from t", lobs="stream") as stream:
            async for (photo,) in stream:
                async for chunk in photo:
                    size += len(chunk)
                    await asyncio.sleep(0)
        assert size == 64_000_000
        assert peak() - before < MEMORY


async def test_a_value_beyond_the_limit_is_dropped_in_constant_memory(peak: Callable[[], int]) -> None:
    async with sunk(one_value(2_000)) as (conn, _):
        conn._session.max_lob_size = 1_000_000
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        with pytest.raises(DataError, match="of 64000000 bytes exceeds max_lob_size=1000000"):
            await conn.fetch("select photo from t")
        assert peak() - before < MEMORY
