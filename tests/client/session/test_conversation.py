"""One request, one reply and its cleanup, whether a task waits for the reply or not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

import aioifx
from aioifx.channel import Channel
from aioifx.client.api.connection import statements_of
from aioifx.client.session.conversation import Conversation, MeteredDispatcher
from aioifx.errors import ConnectionLost, ProtocolError
from aioifx.server import Server, serve
from aioifx.testing.messages import DIALECT, EOT, EXIT, done, error
from aioifx.testing.script import Delayed, Exchange, Peer, close, release, select_ints
from aioifx.wire import session_requests
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply
from tests.client.observing import Recorder, replace_clock
from tests.injection import eventually
from tests.scripted import cancel_at, options_with, pipe, talking, until


@asynccontextmanager
async def conversing(*script: Exchange) -> AsyncIterator[tuple[Conversation, Peer]]:
    """A conversation without a session: no login, no database."""
    channel, peer = Channel(), Peer(script)
    pipe(channel, peer)
    conversation = Conversation(channel, DIALECT, options_with(), lambda error, reply: None)
    try:
        yield conversation, peer
        await until(lambda: conversation.dispatcher.is_idle or not conversation.dispatcher.is_open)
    finally:
        channel.abort()
        await channel.wait_closed()
    peer.check()


def commit() -> Outbox:
    outbox = Outbox()
    session_requests.put_commit(outbox)
    return outbox


async def test_a_group_ends_with_eot_and_its_reply_is_not_judged() -> None:
    seen: list[Reply] = []
    async with conversing(("Commit", done(3) + EOT), ("Commit", error(-255) + EOT)) as (conversation, peer):
        async with conversation.locked():
            good = await conversation.exchange(commit(), on_success=seen.append)
            bad = await conversation.exchange(commit(), on_success=seen.append)
        assert peer.groups[0].endswith(EOT)
    assert good.done is not None and good.done.rows == 3
    assert bad.error is not None and bad.error.sqlcode == -255
    assert seen == [good], "only what succeeded is done"
    assert conversation.stats.round_trips == 2


async def test_a_reply_that_is_no_longer_awaited_is_observed_and_passed_to_its_callback() -> None:
    held = Delayed(done(1) + EOT)
    finished: list[Reply] = []
    orphans: list[Reply] = []

    async def asking(conversation: Conversation) -> None:
        async with conversation.locked():
            await conversation.exchange(commit(), on_success=finished.append, on_orphan=orphans.append)

    async with conversing(("Commit", held)) as (conversation, _):
        await cancel_at(held, asking(conversation))
        assert orphans == []
        held.release()
        await until(lambda: bool(orphans))
    assert finished == orphans


async def test_the_session_is_released_whatever_happens() -> None:
    async with conversing(("Commit", done() + EOT)) as (conversation, _):
        with pytest.raises(ZeroDivisionError):
            async with conversation.locked():
                raise ZeroDivisionError
        async with conversation.locked():
            await conversation.exchange(commit())


@pytest.mark.parametrize(
    ("cursor", "released", "script"),
    [(True, True, [close(7), release(7)]), (True, False, [close(7)]), (False, True, [release(7)])],
)
async def test_a_statement_is_released_without_waiting_and_its_errors_are_ignored(
    cursor: bool, released: bool, script: list[Exchange]
) -> None:
    answered: list[Exchange] = [(request, error(-267) + EOT) for request, _ in script]
    async with conversing(*answered, ("Commit", done() + EOT)) as (conversation, _):
        conversation.release_later(7, cursor=cursor, release=released)
        async with conversation.locked():
            await conversation.exchange(commit())


async def test_no_two_cursors_have_one_name_and_each_looks_like_jdbcs() -> None:
    async with conversing() as (conversation, _):
        names = {conversation.cursor_name() for _ in range(100)}
        assert len(names) == 100
        assert {(name[:5], len(name)) for name in names} == {(b"_ifxc", 18)}


@pytest.mark.parametrize(
    ("answer", "kind"), [(EXIT, ConnectionLost), (b"\x7f\xff", ProtocolError)], ids=["good-bye", "not SQLI"]
)
async def test_an_error_that_ends_the_session_is_raised_in_this_call_and_in_later_ones(
    answer: bytes, kind: type[ConnectionLost | ProtocolError]
) -> None:
    async with conversing(("Commit", answer)) as (conversation, _):
        with pytest.raises(kind):
            async with conversation.locked():
                await conversation.exchange(commit())
        assert not conversation.dispatcher.is_open
        with pytest.raises(ConnectionLost):
            conversation.dispatcher.check_open()
        with pytest.raises(ConnectionLost):
            async with conversation.locked():
                raise AssertionError("not reached")


async def test_conversations_of_several_tasks_wait_for_one_another() -> None:
    held = Delayed(done() + EOT)
    order: list[int] = []

    async def asking(conversation: Conversation, number: int) -> None:
        async with conversation.locked():
            await conversation.exchange(commit())
            order.append(number)

    async with conversing(("Commit", held), ("Commit", done() + EOT)) as (conversation, peer):
        tasks = [asyncio.ensure_future(asking(conversation, number)) for number in (1, 2)]
        await held.reached.wait()
        await asyncio.sleep(0)
        assert len(peer.groups) == 1
        held.release()
        await asyncio.gather(*tasks)
    assert order == [1, 2]


@pytest.mark.parametrize("is_hit", [True, False])
async def test_the_end_follows_the_reply_to_an_interrupted_statement(is_hit: bool) -> None:
    # Nothing may be sent directly after the urgent byte: a server that reads on drops the byte.
    held = Delayed((error(-213) if is_hit else done(1)) + EOT)
    probe: list[Exchange] = [] if is_hit else [("Prepare(0) Describe WantDone", error(-213) + EOT)]
    async with conversing(("Commit", held), *probe, (EXIT, EXIT)) as (conversation, peer):
        conversation.dispatcher.channel.send_urgent = lambda byte: True  # type: ignore[method-assign]

        async def running() -> None:
            async with conversation.locked():
                await conversation.exchange(commit(), interruptible=True)

        async def waiting() -> None:
            async with conversation.locked():
                raise AssertionError("not reached")

        await cancel_at(held, running())
        assert conversation.dispatcher.interrupter.is_pending
        ends = [asyncio.ensure_future(conversation.exit()) for _ in range(2)]
        other = asyncio.ensure_future(waiting())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert len(peer.groups) == 1
        held.release()
        await asyncio.gather(*ends)
        with pytest.raises(ConnectionLost):
            await other
        assert peer.received.endswith(EXIT) and len(peer.groups) == (2 if is_hit else 3)
        assert conversation.stats.round_trips == 2  # a probe is not counted


async def test_a_statement_that_stays_silent_does_not_delay_the_end_beyond_the_limit() -> None:
    held = Delayed(done(1) + EOT)
    async with conversing(("Commit", held)) as (conversation, peer):
        conversation.dispatcher.channel.send_urgent = lambda byte: True  # type: ignore[method-assign]
        conversation.dispatcher.interrupter.cancel_timeout = 0.01

        async def running() -> None:
            async with conversation.locked():
                await conversation.exchange(commit(), interruptible=True)

        await cancel_at(held, running())
        await conversation.exit()
        assert "no reply to a cancelled call within 0.01 s" in str(conversation.channel.failure)
        assert len(peer.groups) == 1


async def test_a_server_that_answers_a_ping_with_an_error_is_alive() -> None:
    async with talking(("Version", error(-408) + EOT), select_ints(1, 5)) as (conn, _):
        await conn.ping()
        assert await conn.fetch("select c1 from t") == [(5,)]


QUERY = "select tabname from systables where tabid < ?"


@pytest.fixture
async def server(tidy: None) -> AsyncIterator[Server]:
    async with asyncio.timeout(50), serve() as server:
        yield server


@pytest.mark.parametrize("pipelining", [False, True])
async def test_cleanup_belongs_to_no_operation(server: Server, pipelining: bool) -> None:
    recorder = Recorder()
    async with aioifx.connect(
        server.dsn, observer=recorder, pipelining=pipelining, statement_cache_size=0
    ) as conn:
        assert isinstance(statements_of(conn).session.dispatcher, MeteredDispatcher)
        for _ in range(3):
            async with conn.cursor() as cursor:  # leaves a cursor and a statement to release
                await cursor.execute("select tabname from systables")
        recorder.clear()
        channel = statements_of(conn).session.channel
        await conn.ping()
        before = channel.bytes_out
        for _ in range(3):
            await conn.fetch(QUERY, 4)
        sent = [operation.bytes_out for operation in recorder.ended]
        assert len({*sent}) == 1
        assert sum(sent) <= channel.bytes_out - before
        assert [operation.round_trips for operation in recorder.ended] == [3, 3, 3]
    recorder.check()


async def test_requests_from_within_a_reply_count(server: Server) -> None:
    recorder = Recorder()
    async with aioifx.connect(server.dsn, observer=recorder) as conn:
        await conn.execute("create table long (n int, t char(3000))")
        await conn.load("long", [(n, "x") for n in range(100)])
        before = conn.stats.round_trips
        await conn.fetch("select * from long")
        assert recorder.last.round_trips == conn.stats.round_trips - before > 5
        assert recorder.last.bytes_in > 300_000
    recorder.check()


async def test_a_call_after_another_waits_in_the_queue(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder()
    seconds = 0.0
    replace_clock(monkeypatch, lambda: seconds)
    async with aioifx.connect(server.dsn, observer=recorder) as conn:
        await conn.fetch(QUERY, 4)
        async with statements_of(conn).session:
            task = asyncio.create_task(conn.fetch(QUERY, 5))
            await eventually(lambda: len(recorder.started) > len(recorder.ended))
            seconds = 5.0
        assert len(await task) == 4
        assert recorder.last.queue_time == recorder.last.duration == 5
    recorder.check()
