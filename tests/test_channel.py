"""The channel: replies in order, one wake-up for each, and an error for each waiting task when it ends."""

from __future__ import annotations

import asyncio
import gc
import socket
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from contextlib import asynccontextmanager, nullcontext
from struct import pack
from typing import Any

import pytest

from aioifx import channel as channel_module
from aioifx._speedups import round_trip
from aioifx._speedups.round_trip import COMPACT_FROM
from aioifx.channel import MAX_SHOWN, RECV_BUFFER_SIZE, Channel
from aioifx.errors import ConnectError, ConnectionLost, DatabaseError, ProtocolError
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.completion import Cost, Done, put_done
from aioifx.wire.handshake import read_login_reply
from aioifx.wire.inbox import AT_ONCE, Inbox
from aioifx.wire.opcodes import Op
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply, put_eot, read_reply
from aioifx.wire.requests import read_request
from aioifx.wire.session_requests import Begin
from tests.loops import TRANSPORTS
from tests.scripted import pipe

DIALECT = Capabilities()


class FakeTransport(asyncio.Transport):
    """Keeps what is written, and closes on request."""

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self.channel = channel
        self.written = bytearray()
        self.aborted = False
        self.closing = False
        self.reading: list[bool] = []
        """Whether reading was resumed or paused, each time."""

    def pause_reading(self) -> None:
        self.reading.append(False)

    def resume_reading(self) -> None:
        self.reading.append(True)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self._lose()

    def abort(self) -> None:
        self.aborted = True
        self._lose()

    def _lose(self) -> None:
        if not self.closing:
            self.closing = True
            asyncio.get_running_loop().call_soon(self.channel.connection_lost, None)


@pytest.fixture
async def forgotten() -> AsyncIterator[list[str]]:
    """What the loop would have logged; a test that leaves something there fails."""
    found: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: found.append(str(context["message"])))
    yield found
    await settle()
    gc.collect()
    await settle()
    assert found == []


@pytest.fixture
async def pair(forgotten: list[str]) -> tuple[Channel, FakeTransport]:
    channel = Channel()
    transport = FakeTransport(channel)
    channel.connection_made(transport)
    return channel, transport


Pair = tuple[Channel, FakeTransport]


async def settle() -> None:
    """Let everything run that is ready."""
    for _ in range(5):
        await asyncio.sleep(0)


async def line(inbox: Inbox) -> bytes:
    """A message of four bytes."""
    await inbox.need(4)
    return inbox.take(4)


async def refusing(inbox: Inbox) -> bytes:
    await inbox.need(1)
    raise ProtocolError("not SQLI")


async def broken(inbox: Inbox) -> bytes:
    await inbox.need(1)
    raise IndexError("a defect")


async def gather(*futures: asyncio.Future[Any]) -> list[Any]:
    return await asyncio.gather(*futures, return_exceptions=True)


# Urgent bytes.


async def test_without_a_socket_no_urgent_byte_is_sent(pair: Pair) -> None:
    channel, transport = pair
    assert not Channel().send_urgent(b"!")
    assert not channel.send_urgent(b"!")
    assert transport.written == b""


@pytest.mark.parametrize(("inline", "seen"), [(False, b"beforebehind"), (True, b"before!behind")])
async def test_an_urgent_byte_is_not_part_of_the_stream(
    inline: bool, seen: bytes, forgotten: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A peer that reads it inline finds it in its place; another one reads the stream alone."""
    monkeypatch.delattr("os.dup")  # on Windows it takes no socket
    loop = asyncio.get_running_loop()
    listener = socket.create_server(("127.0.0.1", 0))
    with listener:
        listener.setblocking(False)
        _, channel = await loop.create_connection(Channel, *listener.getsockname())
        far, _ = await loop.sock_accept(listener)
    with far:
        far.setblocking(False)
        far.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, inline)
        channel.send(b"before")
        assert channel.send_urgent(b"!")
        channel.send(b"behind")
        read = b""
        while len(read) < len(seen):
            read += await loop.sock_recv(far, 100)
        assert read == seen
        channel.abort()
        assert not channel.send_urgent(b"!")
        await channel.wait_closed()


# The end.


@pytest.mark.parametrize("how", ["abort", "close", "eof", "garbage", "lost"])
async def test_the_close_callback_is_called_once_and_after_waiting_tasks(pair: Pair, how: str) -> None:
    channel, _ = pair
    heard: list[list[bool]] = []
    futures = [channel.expect(refusing(channel.inbox)) for _ in range(2)]
    channel.on_close = lambda: heard.append([future.done() for future in futures])
    {
        "abort": channel.abort,
        "close": channel.close,
        "eof": channel.eof_received,
        "garbage": lambda: channel.data_received(b"?"),
        "lost": lambda: channel.connection_lost(None),
    }[how]()
    channel.abort()
    await settle()
    assert heard == [[True, True]]
    assert not channel.is_open


async def test_bytes_not_yet_sent_by_the_system_are_counted(pair: Pair) -> None:
    channel, transport = pair
    assert Channel().unsent == 0
    transport.get_write_buffer_size = lambda: 7  # type: ignore[method-assign]
    assert channel.unsent == 7


# Order.


async def test_replies_match_expectations_by_order(pair: Pair) -> None:
    channel, _ = pair
    futures = [channel.expect(line(channel.inbox)) for _ in range(3)]
    assert channel.pending == 3
    channel.data_received(b"aaaabbbbcc")
    assert [future.done() for future in futures] == [True, True, False]
    channel.data_received(b"cc")
    assert await gather(*futures) == [b"aaaa", b"bbbb", b"cccc"]
    assert channel.pending == 0


async def test_bytes_that_arrive_early_wait_for_the_reply_that_expects_them(pair: Pair) -> None:
    channel, _ = pair
    channel.data_received(b"aaaabb")
    first = channel.expect(line(channel.inbox))
    assert first.done()
    second = channel.expect(line(channel.inbox))
    assert not second.done()
    channel.data_received(b"bb")
    assert await gather(first, second) == [b"aaaa", b"bbbb"]


async def test_a_in_flight_does_not_take_the_bytes_of_the_one_before_it(pair: Pair) -> None:
    channel, _ = pair
    first = channel.expect(line(channel.inbox))
    channel.data_received(b"aa")
    second = channel.expect(line(channel.inbox))
    channel.data_received(b"aabbbb")
    assert await gather(first, second) == [b"aaaa", b"bbbb"]


async def test_the_waiting_task_wakes_once_for_a_reply_however_many_chunks_it_has(pair: Pair) -> None:
    channel, _ = pair
    outbox = Outbox()
    for number in range(50):
        put_done(outbox, DIALECT, Done(rows=number))
    put_eot(outbox)
    woken = 0

    class Counting:
        """Awaits a future and counts how often it is resumed."""

        def __await__(self) -> Generator[Any, None, Reply]:
            nonlocal woken
            waiting = channel.expect(read_reply(channel.inbox, DIALECT)).__await__()
            while True:
                try:
                    step = next(waiting)
                except StopIteration as stop:
                    reply: Reply = stop.value
                    return reply
                yield step
                woken += 1

    async def wait() -> Reply:
        return await Counting()

    task = asyncio.create_task(wait())
    await settle()
    for byte in outbox.detach():
        channel.data_received(bytes([byte]))
        await asyncio.sleep(0)
    reply = await task
    assert (reply.done, woken) == (Done(rows=49), 1)


async def test_the_server_s_end_reads_requests_with_the_same_channel(pair: Pair) -> None:
    channel, _ = pair
    future = channel.expect(read_request(channel.inbox, DIALECT))
    channel.data_received(b"\0\x23\0\x0c")
    assert await future == [Begin()]


async def test_a_few_consumed_bytes_are_kept_until_more_arrive(pair: Pair) -> None:
    channel, _ = pair

    async def skip(count: int) -> None:
        await channel.inbox.need(count)
        channel.inbox.skip(count)

    replies = [channel.expect(skip(COMPACT_FROM)), channel.expect(skip(1))]
    channel.data_received(bytes(COMPACT_FROM))
    await replies[0]
    assert (channel.inbox.pos, len(channel.inbox.data)) == (COMPACT_FROM, COMPACT_FROM)
    channel.data_received(bytes(1))
    await replies[1]
    assert (channel.inbox.consumed, len(channel.inbox.data)) == (COMPACT_FROM + 1, 1)
    last = channel.expect(skip(COMPACT_FROM + 1))
    channel.data_received(bytes(COMPACT_FROM + 2))
    await last
    assert (channel.inbox.pos, channel.inbox.unread) == (0, 1)


async def test_a_transport_that_is_closing_is_not_closed_again() -> None:
    class Transport(asyncio.Transport):
        closed = aborted = 0

        def is_closing(self) -> bool:
            return bool(self.closed)

        def close(self) -> None:
            self.closed += 1

        def abort(self) -> None:
            self.aborted += 1

    channel, transport = Channel(), Transport()
    channel.connection_made(transport)
    channel.close()
    channel.close()
    channel.abort()
    assert (transport.closed, transport.aborted) == (1, 1)


async def test_asyncio_makes_no_more_room_than_the_allocator_has_at_hand() -> None:
    class Transport(asyncio.Transport):
        max_size = 256 * 1024

    with_room, without = Transport(), asyncio.Transport()
    Channel().connection_made(with_room)
    Channel().connection_made(without)
    assert with_room.max_size == RECV_BUFFER_SIZE
    assert not hasattr(without, "max_size")


async def test_the_memory_of_a_large_reply_is_freed_when_it_is_complete(pair: Pair) -> None:
    channel, _ = pair

    async def skip_a_lot(inbox: Inbox) -> None:
        await inbox.need(1_000_000)
        inbox.skip(1_000_000)

    reply = channel.expect(skip_a_lot(channel.inbox))
    channel.data_received(bytes(900_000))
    assert sys.getsizeof(channel.inbox.data) > 900_000
    channel.data_received(bytes(100_000))
    await reply
    assert sys.getsizeof(channel.inbox.data) < 200
    assert (channel.inbox.consumed, channel.inbox.unread) == (1_000_000, 0)


async def test_bytes_are_counted_in_both_directions(pair: Pair) -> None:
    channel, transport = pair
    channel.send(b"abc")
    channel.data_received(b"de")
    assert (channel.bytes_out, channel.bytes_in, bytes(transport.written)) == (3, 2, b"abc")


# Cancelled waiters.


async def test_a_cancelled_waiter_does_not_lose_the_place_of_its_reply(pair: Pair) -> None:
    channel, _ = pair
    first, second = channel.expect(line(channel.inbox)), channel.expect(line(channel.inbox))
    channel.data_received(b"aa")
    first.cancel()
    assert channel.pending == 2
    channel.data_received(b"aabbbb")
    assert await second == b"bbbb"
    assert first.cancelled()
    assert channel.is_open


async def test_a_timeout_around_a_reply_leaves_the_next_one_intact(pair: Pair) -> None:
    channel, _ = pair
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(channel.expect(line(channel.inbox)), timeout=0)
    second = channel.expect(line(channel.inbox))
    channel.data_received(b"aaaabbbb")
    assert await second == b"bbbb"


async def test_an_error_for_a_cancelled_waiter_ends_the_channel_all_the_same(pair: Pair) -> None:
    channel, transport = pair
    first, second = channel.expect(refusing(channel.inbox)), channel.expect(line(channel.inbox))
    first.cancel()
    channel.data_received(b"a")
    with pytest.raises(ProtocolError, match="not SQLI"):
        await second
    assert transport.aborted


# Failures.


@pytest.mark.parametrize(
    ("parser_of", "message"),
    [(refusing, "^not SQLI$"), (broken, r"^a reply could not be read \(IndexError\)$")],
    ids=["protocol error", "defect"],
)
async def test_what_a_parser_raises_is_raised_in_all_waiting_and_later_calls(
    pair: Pair, parser_of: Callable[[Inbox], Coroutine[Any, Any, bytes]], message: str
) -> None:
    channel, transport = pair
    before = channel.expect(line(channel.inbox))
    first, second = channel.expect(parser_of(channel.inbox)), channel.expect(line(channel.inbox))
    channel.data_received(b"aaaab")
    late = channel.expect(line(channel.inbox))
    assert await before == b"aaaa"
    errors = await gather(first, second, late)
    for error in errors:
        with pytest.raises(ProtocolError, match=message):
            raise error
    assert len({id(error) for error in errors}) == 3, "one exception object in several tracebacks"
    assert transport.aborted
    assert not channel.is_open
    assert isinstance(channel.failure, ProtocolError)


class Stop(BaseException):
    """An exception that is not an Exception."""


def raising(kind: type[BaseException]) -> Callable[[Inbox], Coroutine[Any, Any, bytes]]:
    async def parser(inbox: Inbox) -> bytes:
        await inbox.need(1)
        raise kind

    return parser


@pytest.mark.parametrize("kind", [asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit, Stop])
@pytest.mark.parametrize("arrives", ["data", "the end"])
async def test_whatever_a_parser_raises_no_task_waits_for_ever(
    pair: Pair, kind: type[BaseException], arrives: str
) -> None:
    channel, transport = pair
    first, second = channel.expect(raising(kind)(channel.inbox)), channel.expect(line(channel.inbox))
    through = pytest.raises(kind) if kind in (KeyboardInterrupt, SystemExit) else nullcontext()
    if arrives == "data":
        with through:
            channel.data_received(b"a")
        assert transport.aborted
    else:
        channel.inbox.feed(b"a")
        with through:
            channel.connection_lost(None)
    for error in await gather(first, second, channel.expect(line(channel.inbox))):
        assert isinstance(error, ProtocolError)
        assert isinstance(error.__cause__, kind)
    await asyncio.wait_for(channel.wait_closed(), 60)


@pytest.mark.parametrize("then", ["returns", "raises"])
async def test_a_parser_whose_decoder_drops_the_connection_fails_every_task(pair: Pair, then: str) -> None:
    channel, transport = pair

    async def dropping(inbox: Inbox) -> bytes:
        await inbox.need(1)
        channel.abort()
        if then == "raises":
            raise ProtocolError("too late")
        return b""

    waiting = [channel.expect(parser(channel.inbox)) for parser in (dropping, line)]
    channel.data_received(b"a")
    for error in await gather(*waiting):
        assert isinstance(error, ConnectionLost)
    assert transport.aborted


async def test_a_defect_is_kept_as_the_cause(pair: Pair) -> None:
    channel, _ = pair
    future = channel.expect(broken(channel.inbox))
    channel.data_received(b"a")
    with pytest.raises(ProtocolError) as raised:
        await future
    assert isinstance(raised.value.__cause__, IndexError)


async def test_nothing_is_parsed_or_sent_after_a_failure(pair: Pair) -> None:
    channel, transport = pair
    _ = channel.expect(refusing(channel.inbox))
    channel.data_received(b"aaaa")
    late = channel.expect(line(channel.inbox))
    assert late.done()
    channel.send(b"more")
    assert (bytes(transport.written), channel.bytes_out) == (b"", 0)
    await gather(late)


async def test_replies_that_are_never_awaited_are_not_logged_by_asyncio(
    pair: Pair, forgotten: list[str]
) -> None:
    channel, _ = pair
    for _ in range(3):
        _ = channel.expect(refusing(channel.inbox))
    channel.data_received(b"a")
    _ = channel.expect(line(channel.inbox))
    await settle()
    gc.collect()
    await settle()
    assert forgotten == []


async def test_end_of_stream_in_the_middle_of_a_reply_is_connection_lost(pair: Pair) -> None:
    channel, _ = pair
    first, second = channel.expect(line(channel.inbox)), channel.expect(line(channel.inbox))
    channel.data_received(b"aaaabb")
    assert channel.eof_received() is False
    assert await first == b"aaaa"
    with pytest.raises(ConnectionLost, match="in the middle of a reply"):
        await second
    with pytest.raises(ConnectionLost):
        await channel.expect(line(channel.inbox))


async def test_a_peer_that_never_answers_the_login_is_reported_as_such(pair: Pair) -> None:
    channel, _ = pair
    future = channel.expect(read_login_reply(channel.inbox))
    channel.eof_received()
    with pytest.raises(ConnectError, match="without an answer"):
        await future


async def test_end_of_stream_while_nothing_is_expected_ends_the_channel(pair: Pair) -> None:
    channel, _ = pair
    channel.eof_received()
    assert not channel.is_open
    with pytest.raises(ConnectionLost, match="closed the connection"):
        await channel.expect(line(channel.inbox))


async def test_a_lost_connection_says_why(pair: Pair) -> None:
    channel, _ = pair
    future = channel.expect(line(channel.inbox))
    channel.connection_lost(ConnectionResetError("reset by peer"))
    with pytest.raises(ConnectionLost):
        await future
    with pytest.raises(ConnectionLost):
        await channel.expect(line(channel.inbox))
    await channel.wait_closed()


async def test_the_first_reason_is_kept(pair: Pair) -> None:
    channel, _ = pair
    _ = channel.expect(refusing(channel.inbox))
    channel.data_received(b"a")
    channel.connection_lost(OSError("later"))
    channel.abort(ConnectionLost("even later"))
    assert isinstance(channel.failure, ProtocolError)


async def test_too_many_unsolicited_bytes_close_the_channel(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel, transport = pair
    monkeypatch.setattr(channel_module, "MAX_UNSOLICITED", 100)
    channel.data_received(bytes(100))
    assert channel.is_open
    channel.data_received(b"\0")
    with pytest.raises(ProtocolError, match="unsolicited"):
        await channel.expect(line(channel.inbox))
    assert transport.aborted


async def test_bytes_that_are_expected_are_not_bounded_by_that(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def large(inbox: Inbox) -> int:
        await inbox.need(1000)
        return len(inbox.take(1000))

    channel, _ = pair
    monkeypatch.setattr(channel_module, "MAX_UNSOLICITED", 100)
    future = channel.expect(large(channel.inbox))
    for _ in range(10):
        channel.data_received(bytes(100))
    assert await future == 1000


async def test_an_endless_stream_after_a_reply_is_bounded_too(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel, _ = pair
    monkeypatch.setattr(channel_module, "MAX_UNSOLICITED", 100)
    future = channel.expect(line(channel.inbox))
    channel.data_received(bytes(200))
    assert await future == bytes(4)
    assert isinstance(channel.failure, ProtocolError)


# Long parsing.

EOT = b"\0\x0c"
COSTS = pack(">hii", Op.COST, 0, 0) * (20 * AT_ONCE)
"""Twenty times as many messages as a parser reads before it yields."""


class Clock:
    """Advances by *step* seconds with each question."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture
def slow(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> Pair:
    """A channel whose parsers seem to take 4 ms from one yield to the next."""
    monkeypatch.setattr(pair[0].loop, "time", Clock(0.004))
    return pair


async def test_a_reply_that_takes_long_to_parse_lets_the_loop_run_other_callbacks(slow: Pair) -> None:
    channel, transport = slow
    reply = channel.expect(read_reply(channel.inbox, DIALECT))
    channel.data_received(COSTS)
    assert transport.reading == [False]  # paused
    channel.data_received(EOT)  # what comes all the same is kept
    assert not reply.done()
    turns = 0
    while not reply.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 5
    assert (await reply).cost is not None
    await settle()
    assert transport.reading[-1] is True and not channel.inbox.unread


async def test_a_reply_that_is_parsed_quickly_is_parsed_at_once(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel, transport = pair
    monkeypatch.setattr(channel.loop, "time", Clock(0.0001))
    reply = channel.expect(read_reply(channel.inbox, DIALECT))
    channel.data_received(COSTS + EOT)
    assert reply.done() and transport.reading == []


async def test_the_beginning_of_a_short_reply_is_not_timed(slow: Pair) -> None:
    channel, _ = slow
    before = channel.loop.time()
    channel.expect(read_reply(channel.inbox, DIALECT)).cancel()
    channel.data_received(COSTS[:100])
    assert channel.loop.time() == pytest.approx(before + 0.004)  # this question alone


async def test_chunks_of_one_iteration_count_together(slow: Pair) -> None:
    channel, transport = slow
    reply = channel.expect(read_reply(channel.inbox, DIALECT))
    for _ in range(4):  # as uvloop delivers them
        channel.data_received(COSTS[: (COMPACT_FROM // 10 + 1) * 10])
    assert transport.reading == [False]
    await settle()
    assert transport.reading[-1] is True
    channel.data_received(EOT)
    await reply


@pytest.mark.parametrize("end", ["eof", "lost", "abort", "close"])
async def test_no_task_waits_for_ever_when_the_connection_ends_while_parsing_is_paused(
    slow: Pair, end: str
) -> None:
    channel, _ = slow
    first, second = (channel.expect(read_reply(channel.inbox, DIALECT)) for _ in range(2))
    channel.data_received(COSTS + EOT)
    assert not first.done()
    match end:
        case "eof":
            channel.eof_received()
        case "lost":
            channel.connection_lost(None)
        case "abort":
            channel.abort()
        case _:
            channel.close()
    if end in ("eof", "lost"):
        assert (await first).cost is not None  # all of it was here
    else:
        with pytest.raises(ConnectionLost):
            await first
    with pytest.raises(ConnectionLost):
        await second
    await settle()


async def test_a_reader_that_is_paused_by_its_user_stays_so(slow: Pair) -> None:
    channel, transport = slow
    reply = channel.expect(read_reply(channel.inbox, DIALECT))
    channel.pause_reading()
    channel.data_received(COSTS + EOT)
    await reply
    await settle()
    assert transport.reading == [False]
    channel.resume_reading()
    assert transport.reading == [False, True]


async def test_chunks_in_memory_keep_their_order_while_parsing_is_paused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Parsing is paused in any test with scripted servers if the machine is slow."""
    monkeypatch.setattr(channel_module, "PARSING_SHARE", -1.0)
    monkeypatch.setattr(round_trip, "COMPACT_FROM", 0)  # such small chunks never pause it otherwise
    client, server = Channel(), Channel()
    pipe(client, server)
    reply = client.expect(read_reply(client.inbox, DIALECT))
    sent = pack(">hiihi", Op.COST, 1, 2, Op.TUPID, 7) + EOT
    for at in range(0, len(sent), 3):
        server.send(sent[at : at + 3])
    server.close()
    found = await reply
    assert (found.cost, found.row_number) == (Cost(1, 2), 7)
    await client.wait_closed()
    await server.wait_closed()


@pytest.mark.parametrize("shows_values", [False, True])
async def test_the_error_of_a_message_has_its_bytes_and_values_only_if_that_is_allowed(
    pair: Pair, shows_values: bool
) -> None:
    channel, _ = pair
    channel.shows_values = shows_values
    reply = channel.expect(read_reply(channel.inbox, DIALECT))
    channel.data_received(pack(">hii", Op.COST, 0, 0) + b"\x7f\xff\0\6secret" + bytes(500))
    with pytest.raises(ProtocolError, match="unknown message 32767") as caught:
        await reply
    error = caught.value
    assert (error.tag, error.position, len(error.data)) == (0x7FFF, 10, 2 * MAX_SHOWN)
    assert (b"secret".hex() in error.data) == shows_values
    assert error.data.startswith("7fff" + ("0006" if shows_values else "00.."))
    assert "message 32767 at byte 10" in error.__notes__[0] and "report" in error.__notes__[0]


async def test_the_bytes_of_an_error_are_those_at_its_position_or_say_from_where(pair: Pair) -> None:
    channel, _ = pair
    channel.shows_values = True
    reply = channel.expect(read_reply(channel.inbox, DIALECT))
    tag = Op.DONE.to_bytes(2, "big")
    channel.data_received(tag)
    channel.data_received(pack(">Hiii", 0, -1, 0, 0))  # the tag has been dropped
    with pytest.raises(ProtocolError) as caught:
        await reply
    assert (caught.value.tag, caught.value.position) == (Op.DONE, 0)
    assert caught.value.data == pack(">Hiii", 0, -1, 0, 0).hex()
    assert "its bytes from 2 on" in caught.value.__notes__[0]


async def test_every_error_of_a_reply_that_cannot_be_read_has_its_bytes(pair: Pair) -> None:
    channel, _ = pair
    waiting = [channel.expect(read_reply(channel.inbox, DIALECT)) for _ in range(2)]
    channel.data_received(b"\x7f\xff\0\6")
    waiting.append(channel.expect(read_reply(channel.inbox, DIALECT)))
    for reply in waiting:
        with pytest.raises(ProtocolError) as caught:
            await reply
        assert (caught.value.tag, caught.value.position, caught.value.data) == (0x7FFF, 0, "7fff00..")
        assert "please report it" in caught.value.__notes__[0]


# Writing.


async def test_drain_waits_only_while_the_transport_is_full(pair: Pair) -> None:
    channel, _ = pair
    await channel.drain()
    channel.pause_writing()
    channel.pause_writing()
    tasks = [asyncio.create_task(channel.drain()) for _ in range(2)]
    await settle()
    assert not any(task.done() for task in tasks)
    channel.resume_writing()
    await asyncio.gather(*tasks)
    channel.resume_writing()


async def test_a_cancelled_drain_does_not_wake_or_cancel_another(pair: Pair) -> None:
    channel, _ = pair
    channel.pause_writing()
    first, second = asyncio.create_task(channel.drain()), asyncio.create_task(channel.drain())
    await settle()
    first.cancel()
    await settle()
    assert first.cancelled() and not second.done()
    channel.resume_writing()
    await second


async def test_a_transport_that_fills_again_at_once_keeps_drain_waiting(pair: Pair) -> None:
    channel, _ = pair
    channel.pause_writing()
    task = asyncio.create_task(channel.drain())
    await settle()
    channel.resume_writing()
    channel.pause_writing()
    await settle()
    assert not task.done()
    channel.resume_writing()
    await task


async def test_a_lost_connection_wakes_tasks_that_drain(pair: Pair) -> None:
    channel, _ = pair
    channel.pause_writing()
    task = asyncio.create_task(channel.drain())
    await settle()
    channel.abort()
    await task


# The end, from this side.


@pytest.mark.parametrize("end", ["close", "abort"])
async def test_closing_wakes_tasks_that_wait(pair: Pair, end: str) -> None:
    channel, transport = pair
    future = channel.expect(line(channel.inbox))
    getattr(channel, end)()
    with pytest.raises(ConnectionLost, match="the connection was closed"):
        await future
    await channel.wait_closed()
    assert transport.aborted is (end == "abort")
    assert not channel.is_open and channel.pending == 0


async def test_a_reason_given_to_abort_is_raised_in_other_calls(pair: Pair) -> None:
    channel, _ = pair
    future = channel.expect(line(channel.inbox))
    channel.abort(ProtocolError("give up"))
    with pytest.raises(ProtocolError, match="give up"):
        await future


async def test_it_closes_as_soon_as_the_last_reply_is_here(pair: Pair) -> None:
    channel, transport = pair
    first, second = channel.expect(line(channel.inbox)), channel.expect(line(channel.inbox))
    channel.close_when_answered()
    channel.data_received(b"one\n")
    assert channel.is_open and not transport.is_closing()
    channel.data_received(b"two\n")
    assert not channel.is_open and transport.is_closing()
    assert (await first, await second) == (b"one\n", b"two\n")


async def test_it_closes_at_once_when_nothing_is_expected(pair: Pair) -> None:
    channel, transport = pair
    channel.close_when_answered()
    assert not channel.is_open and transport.is_closing()
    await channel.wait_closed()


async def test_closing_twice_is_closing_once(pair: Pair) -> None:
    channel, _ = pair
    channel.close()
    channel.close()
    channel.abort()
    await channel.wait_closed()
    await channel.wait_closed()


async def test_a_cancelled_wait_for_the_end_leaves_the_end_to_others(pair: Pair) -> None:
    channel, _ = pair
    task = asyncio.create_task(channel.wait_closed())
    await settle()
    task.cancel()
    await settle()
    channel.close()
    await channel.wait_closed()


async def test_a_channel_that_was_never_connected_can_be_asked_and_closed() -> None:
    channel = Channel()
    assert repr(channel) == "<Channel new, 0 replies expected, 0 bytes unread>"
    assert not channel.is_open
    channel.close()
    channel.send(b"nowhere")
    await channel.wait_closed()
    assert "closed" in repr(channel)


async def test_the_repr_has_counts_of_pending_and_unread_and_no_content(pair: Pair) -> None:
    channel, _ = pair
    _ = channel.expect(line(channel.inbox))
    channel.data_received(b"ab")
    assert repr(channel) == "<Channel open, 1 replies expected, 2 bytes unread>"


def test_a_channel_notices_that_its_loop_is_closed() -> None:
    assert Channel().loop_is_closed()

    async def connect() -> Channel:
        channel = Channel()
        channel.connection_made(FakeTransport(channel))
        assert not channel.loop_is_closed()
        return channel

    assert asyncio.run(connect()).loop_is_closed()


# Real sockets, on both loops.


def on(loop: str, program: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run *program* in a loop of its own; what the loop would have logged fails the test."""
    complaints: list[str] = []

    async def watched() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(str(context)))
        async with asyncio.timeout(5):
            await program()
        gc.collect()
        await settle()

    with asyncio.Runner(loop_factory=TRANSPORTS[loop]) as runner:
        runner.run(watched())
    assert complaints == []


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[Channel, Channel]]:
    """Two channels, connected by loopback TCP."""
    loop = asyncio.get_running_loop()
    accepted: asyncio.Future[Channel] = loop.create_future()

    class Accepted(Channel):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            accepted.set_result(self)

    server = await loop.create_server(Accepted, "127.0.0.1", 0)
    try:
        address: tuple[str, int] = server.sockets[0].getsockname()
        _, near = await loop.create_connection(Channel, *address)
        far = await accepted
        try:
            yield near, far
        finally:
            for channel in (near, far):
                channel.abort()
                await channel.wait_closed()
    finally:
        server.close()
        await server.wait_closed()


@pytest.mark.parametrize("loop", TRANSPORTS)
def test_replies_come_in_order_over_a_socket(loop: str) -> None:
    async def program() -> None:
        async with connected() as (near, far):
            futures = [near.expect(line(near.inbox)) for _ in range(100)]
            for number in range(100):
                far.send(b"%04d" % number)
            assert await gather(*futures) == [b"%04d" % number for number in range(100)]

    on(loop, program)


@pytest.mark.parametrize("loop", TRANSPORTS)
def test_a_writer_is_held_until_the_reader_reads(loop: str) -> None:
    size = 32 * 1024 * 1024  # more than two kernels buffer

    async def all_of_it(inbox: Inbox) -> int:
        await inbox.need(size)
        inbox.skip(size)
        return size

    async def program() -> None:
        async with connected() as (near, far):
            far.transport.pause_reading()
            near.send(bytes(size))
            task = asyncio.create_task(near.drain())
            await settle()
            assert not task.done()
            received = far.expect(all_of_it(far.inbox))
            far.transport.resume_reading()
            await task
            assert await received == size

    on(loop, program)


@pytest.mark.parametrize("loop", TRANSPORTS)
def test_a_peer_that_closes_is_connection_lost_for_all(loop: str) -> None:
    async def program() -> None:
        async with connected() as (near, far):
            futures = [near.expect(line(near.inbox)) for _ in range(3)]
            far.send(b"aaaabb")
            far.close()
            first, *others = await gather(*futures)
            assert first == b"aaaa"
            assert [type(error) for error in others] == [ConnectionLost, ConnectionLost]
            await near.wait_closed()

    on(loop, program)


@pytest.mark.parametrize("loop", TRANSPORTS)
def test_a_peer_that_resets_is_connection_lost(loop: str) -> None:
    async def program() -> None:
        async with connected() as (near, far):
            future = near.expect(line(near.inbox))
            far_socket = far.transport.get_extra_info("socket")
            far_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            far.abort()
            with pytest.raises(ConnectionLost):
                await future
            await near.wait_closed()

    on(loop, program)


@pytest.mark.parametrize("loop", TRANSPORTS)
def test_bytes_that_are_not_sqli_close_the_socket(loop: str) -> None:
    async def program() -> None:
        async with connected() as (near, far):
            near_future = near.expect(read_reply(near.inbox, DIALECT))
            far_future = far.expect(line(far.inbox))
            far.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            with pytest.raises(ProtocolError):
                await near_future
            with pytest.raises(DatabaseError):
                await far_future
            await asyncio.gather(near.wait_closed(), far.wait_closed())

    on(loop, program)


@pytest.mark.parametrize("loop", TRANSPORTS)
def test_a_cancelled_task_leaves_the_next_reply_intact(loop: str) -> None:
    async def program() -> None:
        async with connected() as (near, far):

            async def wait() -> bytes:
                return await near.expect(line(near.inbox))

            task = asyncio.create_task(wait())
            await settle()
            task.cancel()
            await settle()
            following = near.expect(line(near.inbox))
            far.send(b"aaaabbbb")
            assert await following == b"bbbb"
            assert task.cancelled()

    on(loop, program)


@pytest.mark.parametrize("loop", TRANSPORTS)
def test_close_writes_what_was_sent_and_abort_does_not_wait_for_it(loop: str) -> None:
    async def program() -> None:
        async with connected() as (near, far):
            future = far.expect(line(far.inbox))
            near.send(b"last")
            near.close()
            assert await future == b"last"
            await asyncio.gather(near.wait_closed(), far.wait_closed())
        async with connected() as (near, far):
            far.transport.pause_reading()
            near.send(bytes(32 * 1024 * 1024))
            near.abort()
            await near.wait_closed()

    on(loop, program)
