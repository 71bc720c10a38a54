"""The replay server: other clients read the shapes' rows from it, and its replies are the embedded server's."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import informix_db
import pytest

import aioifx
import aioifx.server
from aioifx.sqltypes import Row, TypeCode
from aioifx.wire import replies, requests, session_requests, tuples
from aioifx.wire.capabilities import OFFERED, SERVER_MASK, Capabilities
from aioifx.wire.handshake import LoginRequest, login_frame, put_login
from aioifx.wire.inbox import Inbox, padded
from aioifx.wire.outbox import Outbox
from tests.bench.answers import Answers, Reply, Tables
from tests.bench.replay import Conversation, Memory, Node, replay_process
from tests.bench.shapes import NARROW, SELECT_ONE, SHAPES, WIDE, Shape

ROWS = 400
DIALECT = Capabilities.negotiated(OFFERED, SERVER_MASK)

shapes = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


@pytest.fixture(scope="module")
def replay() -> Iterator[str]:
    with replay_process(rows=ROWS) as dsn:
        yield dsn


# -- clients ----------------------------------------------------------------------------------------------------------


@shapes
async def test_aioifx_reads_the_rows_of_the_shape(replay: str, shape: Shape) -> None:
    async with aioifx.connect(replay) as conn:
        assert [tuple(row) for row in await conn.fetch(shape.select())] == list(shape.rows(ROWS))
        assert [tuple(row) for row in await conn.fetch(shape.select(7))] == list(shape.rows(7))
        statement = await conn.prepare(shape.select())
        assert [column.type for column in statement.columns] == [column.type for column in shape.columns]


@shapes
def test_informix_driver_reads_the_rows_of_the_shape(replay: str, shape: Shape) -> None:
    options = aioifx.parse_dsn(replay)
    conn = informix_db.connect(
        options.host,
        options.port,
        user=options.user,
        password="x",
        database=options.database,
        server=options.server,
        autocommit=True,
    )
    cursor = conn.cursor()
    for _ in range(2):  # from what the server has learnt, the second time
        cursor.execute(shape.select())
        assert cursor.fetchall() == list(shape.rows(ROWS))
    cursor.execute(SELECT_ONE)
    assert cursor.fetchall() == [(1,)]
    cursor.executemany(NARROW.insert(), list(NARROW.rows(200)))
    conn.close()


async def test_every_way_to_insert_is_answered(replay: str) -> None:
    rows = list(WIDE.rows(ROWS))
    async with aioifx.connect(replay) as conn:
        for _ in range(2):
            assert (await conn.execute(WIDE.insert(), *rows[3])).rowcount == 1
            assert (await conn.executemany(WIDE.insert(), rows)).rowcount == ROWS
            async with conn.transaction():
                assert (await conn.executemany(WIDE.insert(), rows)).rowcount == ROWS
                assert (await conn.load(WIDE.name, rows)).rowcount == ROWS


async def test_a_table_it_does_not_have_is_an_error(replay: str) -> None:
    async with aioifx.connect(replay) as conn:
        with pytest.raises(aioifx.DatabaseError, match="-201"):
            await conn.fetch("SELECT a FROM elsewhere")
        assert await conn.fetchval(SELECT_ONE) == 1


async def test_a_fetch_buffer_that_is_too_large_is_refused() -> None:
    with replay_process(rows=5, max_fetch=4096) as dsn:
        async with aioifx.connect(dsn, fetch_size=4096) as conn:
            assert len(await conn.fetch(NARROW.select())) == 5
        async with aioifx.connect(dsn, fetch_size=4097) as conn:
            with pytest.raises(aioifx.DatabaseError, match="-406"):
                await conn.fetch(NARROW.select())


async def test_a_delay_comes_on_top_of_every_turn() -> None:
    with replay_process(rows=5, delay=20) as dsn:
        loop = asyncio.get_running_loop()
        async with aioifx.connect(dsn) as conn:
            await conn.fetchval(SELECT_ONE)
            before, turns = loop.time(), conn.stats.round_trips
            await conn.fetchval(SELECT_ONE)
            assert loop.time() - before >= 0.02 * (conn.stats.round_trips - turns)


# -- bytes ------------------------------------------------------------------------------------------------------------


def group(*puts: Callable[[Outbox], None]) -> bytes:
    outbox = Outbox()
    for put in puts:
        put(outbox)
    requests.put_eot(outbox)
    return outbox.detach()


def opened(statement_id: int, name: bytes) -> bytes:
    return group(
        lambda o: requests.put_id(o, statement_id),
        lambda o: requests.put_curname(o, name),
        requests.put_open,
        lambda o: requests.put_id(o, statement_id),
        lambda o: requests.put_fetch(o, 1000),
    )


def prepared(sql: str) -> bytes:
    return group(lambda o: requests.put_prepare(o, DIALECT, sql.encode(), sql.count("?")))


def about(statement_id: int, *puts: Callable[[Outbox], None]) -> bytes:
    return group(lambda o: requests.put_id(o, statement_id), *puts)


TALK: tuple[bytes, ...] = (
    group(lambda o: session_requests.put_protocols(o, OFFERED)),
    group(lambda o: session_requests.put_info(o, [(b"OPTOFC", b"1")])),
    group(lambda o: session_requests.put_dbopen(o, b"bench")),
    prepared(NARROW.select()),
    opened(0, b"_ifxc0000000000001"),
    about(0, lambda o: requests.put_fetch(o, 1000)),
    about(0, lambda o: requests.put_fetch(o, 32767)),
    prepared(WIDE.select()),
    opened(1, b"_ifxc0000000000002"),
    about(1, requests.put_close),
    prepared(SELECT_ONE),
    opened(2, b"_ifxc0000000000003"),
    about(1, requests.put_release),
    prepared(NARROW.insert()),
    about(1, requests.put_describe_input),
    group(session_requests.put_begin),
    group(lambda o: session_requests.put_set_savepoint(o, b"here")),
    group(lambda o: session_requests.put_rollback_savepoint(o, b"here")),
    group(lambda o: session_requests.put_release_savepoint(o, b"here")),
    group(session_requests.put_commit),
    about(0, requests.put_release),
    about(0, requests.put_open),  # there is no such statement any more
)


async def skip_row(inbox: Inbox, rows: list[Row]) -> None:
    inbox.skip(8 + padded(inbox.peek_i32(4)))


def is_whole(data: bytes) -> bool:
    inbox = Inbox()
    inbox.feed(data)
    try:
        replies.read_reply(inbox, DIALECT, tuples.RowReader(None, skip_row)).send(None)
    except StopIteration:
        return True
    return False


def talk(dsn: str, talk: Sequence[bytes]) -> list[bytes]:
    """The server's replies to requests, as they are."""
    options = aioifx.parse_dsn(dsn)
    outbox, answers = Outbox(), list[bytes]()
    put_login(outbox, login_frame(LoginRequest(b"informix", b"", options.server.encode())), b"x")
    with socket.create_connection((options.host, options.port), timeout=20) as sock:
        sock.sendall(outbox.detach())
        sock.recv(4096)
        for request in talk:
            sock.sendall(request)
            answer = b""
            while not is_whole(answer):
                answer += sock.recv(65536)
            answers.append(answer)
    return answers


async def test_its_replies_are_those_of_the_embedded_server() -> None:
    rows = 60
    seed = ";".join(shape.create() for shape in SHAPES.values())
    async with aioifx.server.running("bench", seed=seed) as embedded:
        async with aioifx.connect(embedded) as conn:
            for shape in SHAPES.values():
                await conn.executemany(shape.insert(), shape.rows(rows))
        theirs = await asyncio.to_thread(talk, embedded, TALK)
    with replay_process(rows=rows) as dsn:
        assert await asyncio.to_thread(talk, dsn, TALK) == theirs
        assert await asyncio.to_thread(talk, dsn, TALK) == theirs, "what it has learnt is something else"


# -- memory -----------------------------------------------------------------------------------------------------------


def heard(requests: Sequence[bytes], memory: Memory | None = None) -> tuple[bytes, Node]:
    """All replies to requests that come in such pieces, and where that leads."""
    sent: list[Reply] = []
    conversation = Conversation(memory or Memory(Answers(Tables(ROWS))), sent.append)
    for request in requests:
        conversation.receive(request)
    return b"".join(bytes(piece) for reply in sent for piece in reply), conversation.node


@pytest.mark.parametrize("size", [1, 7, 100, 5000])
def test_requests_may_come_in_pieces(size: int) -> None:
    whole, node = heard(TALK)
    data = b"".join(TALK)
    memory = Memory(Answers(Tables(ROWS)))
    for _ in range(2):
        answers, behind = heard([data[i : i + size] for i in range(0, len(data), size)], memory)
        assert answers == whole
        assert behind.state == node.state


@pytest.mark.parametrize("size", [1000, 4096, 5001, 10**6])
def test_a_run_of_executions_is_counted(size: int) -> None:
    start = (TALK[0], prepared(NARROW.insert()))
    bind = b"".join(value.to_bytes(2, "big") for value in (5, 1, TypeCode.INTEGER, 0, 0x0A00))
    execution = [
        about(0, partial(Outbox.raw, data=bind + i.to_bytes(4, "big")), partial(Outbox.u16, value=7))
        for i in range(700)
    ]
    one, _ = heard([*start, execution[0]])
    before, _ = heard(start)
    data = b"".join(execution)
    answers, _ = heard([*start, *(data[i : i + size] for i in range(0, len(data), size))])
    assert answers == before + one[len(before) :] * len(execution)
