"""A scripted server, in memory or on a socket, that checks and records what the client sends.

A script is a list of exchanges: the request that the client must send, and its reply. A request is bytes, which must
be equal, or words, ``"Id(2) CurName Open Id(2) Fetch(4096)"``: the names of `aioifx.wire.requests`, with the first
field in parentheses where it matters. None as a request accepts anything. `read_request` frames the client's bytes, and
has its own tests on JDBC's frames; nothing here decides what a correct request is. An example is in
docs/development/testing.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl as tls
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from struct import pack
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

from aioifx.channel import Channel
from aioifx.client.api.connection import Connection
from aioifx.client.config.options import ConnectOptions
from aioifx.client.session.session import Session
from aioifx.errors import ProtocolError
from aioifx.sqltypes import Column, SqlType, TypeCode
from aioifx.wire import completion, descriptions, requests, session_requests
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.completion import Cost, Done, Serials, ServerError
from aioifx.wire.descriptions import Description
from aioifx.wire.handshake import LoginReply, put_login_reply
from aioifx.wire.inbox import Inbox, Parser
from aioifx.wire.opcodes import LoginType, StatementType
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply
from tests.feeding import random_cut
from tests.wire.frames import frames

DIALECT = Capabilities()
"""The layouts in force with 12.10 and 14.10."""

LOGGED = 0x15
"""Warnings of the SQ_DONE that opens a logged database, as a real server sends them."""
UNLOGGED = 0x14
ANSI = 0x17


# -- replies ----------------------------------------------------------------------------------------------------------


class Delayed:
    """A reply that is sent on `release`; `reached` is set when the request has arrived.

    Args:     first: how many bytes of it are sent immediately.
    """

    def __init__(self, answer: bytes, *, first: int = 0) -> None:
        self.answer = answer
        self.first = first
        self.reached = asyncio.Event()
        self.released = False
        self._on_release: Callable[[], None] | None = None

    def release(self) -> None:
        self.released = True
        if self._on_release is not None:
            self._on_release()


class Disconnect(NamedTuple):
    """A reply after which the server closes the connection; with *reset* it aborts it."""

    answer: bytes = b""
    reset: bool = False


NO_REPLY = b""
"""No reply to this request."""

Answer: TypeAlias = bytes | Delayed | Disconnect
Exchange: TypeAlias = tuple[bytes | str | None, Answer]

EOT = b"\0\x0c"
CLOSED = b"\0\x0a"
"""Part of the reply to the last fetch if the server closes the cursor by itself (OPTOFC)."""
EXIT = b"\0\x38"


def _built(*steps: Callable[[Outbox], None]) -> bytes:
    outbox = Outbox()
    for step in steps:
        step(outbox)
    return outbox.detach()


def done(
    rows: int = 0, *, warnings: int = 0, rowid: int = 0, serial: int = 0, capabilities: Capabilities = DIALECT
) -> bytes:
    """DONE, COST."""
    ended = Done(warnings, rows, rowid, serial)
    return _built(
        lambda outbox: completion.put_done(outbox, capabilities, ended),
        lambda outbox: completion.put_cost(outbox, Cost(1, 1)),
    )


def insert_done(serial8: int = 0, bigserial: int = 0) -> bytes:
    return _built(
        lambda outbox: completion.put_insertdone(outbox, Capabilities(), Serials(serial8, bigserial))
    )


def error(
    sqlcode: int, isamcode: int = 0, *, offset: int = 0, token: str = "", sqlstate: str = "", text: str = ""
) -> bytes:
    """ERR, without the EOT after it."""
    failure = ServerError(sqlcode, isamcode, offset, token, sqlstate, text)
    return _built(lambda outbox: completion.put_error(outbox, Capabilities(), failure))


def column(name: str, code: int, length: int = 0, **more: Any) -> Column:
    return Column(name, SqlType(code, length, **more))


C1 = column("c1", TypeCode.INTEGER, 4)
INTEGER = C1.type
TEXT = column("text", TypeCode.UDTVAR, 2048, extended_id=1, owner="informix", extended_name="lvarchar")
FLAG = column("flag", TypeCode.UDTFIXED, 1, extended_id=5, owner="informix", extended_name="boolean")


def described(
    statement_id: int,
    *columns: Column,
    kind: int = StatementType.SELECT,
    row_size: int = 4,
    warnings: int = 0,
    capabilities: Capabilities = DIALECT,
) -> bytes:
    """The complete reply to PREPARE."""
    description = Description(kind, statement_id, columns, row_size, 1)
    describe = _built(lambda outbox: descriptions.put_describe(outbox, capabilities, description))
    return describe + done(warnings=warnings, capabilities=capabilities) + EOT


def executed(statement_id: int, kind: int, rows: int = 0) -> bytes:
    """The complete reply to COMMAND."""
    return described(statement_id, kind=kind).removesuffix(done() + EOT) + done(rows) + EOT


def takes(*types: SqlType) -> bytes:
    """The complete reply to CIDESCRIBE."""
    return _built(lambda outbox: descriptions.put_idescribe(outbox, Capabilities(), types)) + EOT


def ints(*values: int) -> bytes:
    """A row with one INTEGER for each value."""
    return b"".join(pack(">hhii", 14, 0, 4, value) for value in values)


def raw_row(payload: bytes) -> bytes:
    return pack(">hhi", 14, 0, len(payload)) + payload + b"\0" * (len(payload) & 1)


def accepted(**fields: Any) -> bytes:
    """A login reply; it accepts unless *fields* say otherwise."""
    return _built(
        lambda outbox: put_login_reply(
            outbox,
            LoginReply(
                **{
                    "type": LoginType.ACCEPT,
                    "version": b"Scripted Server Version 15.0",
                    "serial": b"AAA#B000000",
                    "server": b"ol_script",
                    **fields,
                }
            ),
        )
    )


def agreed(mask: str = "bdbe9ffe7fb7ffeff8") -> bytes:
    """The reply to PROTOCOLS; the mask is 14.10's."""
    return _built(lambda outbox: session_requests.put_protocols(outbox, bytes.fromhex(mask))) + EOT


def opened(warnings: int = LOGGED) -> bytes:
    """The reply to DBOPEN."""
    return done(warnings=warnings) + EOT


PREPARE = "Prepare Describe WantDone"
COMMAND = "Command Describe Execute Release"
BEGIN: Exchange = ("Begin", done() + EOT)
COMMIT: Exchange = ("Commit", done() + EOT)
ROLLBACK: Exchange = ("Rollback", done() + EOT)
GOODBYE: Exchange = (EXIT, EXIT)


def opening(
    statement_id: int, size: int = 32767, *, bound: bool = False, hold: bool = False, freed: bool = False
) -> str:
    """The request that opens a cursor and fetches its first block, in words."""
    options = "Bind " * bound + "Hold " * hold + "AutoFree " * freed
    return f"Id({statement_id}) CurName {options}Open Id({statement_id}) Fetch({size})"


def fetching(statement_id: int, size: int = 32767) -> str:
    return f"Id({statement_id}) Fetch({size})"


def close(statement_id: int) -> Exchange:
    return f"Id({statement_id}) Close", EOT


def release(statement_id: int) -> Exchange:
    return f"Id({statement_id}) Release", EOT


def closing(statement_id: int) -> list[Exchange]:
    """CLOSE and RELEASE, two exchanges."""
    return [close(statement_id), release(statement_id)]


def select_ints(
    statement_id: int, *values: int, hold: bool = False, freed: bool = False, kept: bool = False
) -> list[Exchange]:
    """A whole query of one INTEGER column, from PREPARE to RELEASE, in one block.

    Args:     freed: the server releases the statement with its cursor. kept: it is not released.
    """
    return [
        (PREPARE, described(statement_id, C1)),
        (opening(statement_id, hold=hold, freed=freed), ints(*values) + done(len(values)) + EOT),
        *([close(statement_id)] if freed or kept else closing(statement_id)),
    ]


def login(database: bool = True, warnings: int = LOGGED) -> list[Exchange]:
    """Everything up to an open connection."""
    turns: list[Exchange] = [(None, accepted()), ("Protocols", agreed()), ("Info", EOT)]
    return [*turns, ("DbOpen", opened(warnings))] if database else turns


def played(file: str, case: str) -> list[Exchange]:
    """A recorded conversation as a script: JDBC's frames, each with the reply that JDBC was sent."""
    script: list[tuple[bytes, bytes]] = []
    for frame in frames(file):
        if frame.case != case or frame.is_event:
            continue
        if frame.side == "C":
            script.append((frame.data, b""))
        else:
            script[-1] = (script[-1][0], script[-1][1] + frame.data)
    assert script, f"{file}.json has no case {case!r}"
    return [*script]


def without_describe_input(script: list[Exchange]) -> list[Exchange]:
    """A deliberate difference: JDBC sends CIDESCRIBE even without parameters; we save the round trip."""
    return [turn for turn in script if turn[1] != b"\0\x7d\0\0" + EOT]


def in_one_group(script: list[Exchange]) -> list[Exchange]:
    """A deliberate difference: JDBC opens a cursor with a VARCHAR column in one group, and fetches in the next.

    It does so to add RET_TYPE. RET_TYPE changes nothing about a VARCHAR, and servers take OPEN and NFETCH in one group
    (observed: 12.10 to 15), so we save the round trip and the message.
    """
    merged: list[Exchange] = []
    for request, answer in script:
        assert isinstance(request, bytes)
        if (ret_type := request.find(b"\0\x64\0\1")) >= 0:
            request = request[:ret_type] + request[-10:]  # SQ_NFETCH, SQ_EOT
        before = merged[-1][0] if merged else None
        if isinstance(before, bytes) and before.endswith(b"\0\6" + EOT) and request[4:6] == b"\0\x09":
            merged[-1] = (before.removesuffix(EOT) + request, answer)
        else:
            merged.append((request, answer))
    return merged


# -- how a reply is split into chunks ---------------------------------------------------------------------------------


def whole(data: bytes) -> list[bytes]:
    return [data]


def byte_by_byte(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


def at_random(data: bytes) -> list[bytes]:
    return [chunk for chunk in random_cut(data, 3) if chunk]


Chunking: TypeAlias = Callable[[bytes], Iterable[bytes]]
CHUNKINGS: tuple[Chunking, ...] = (whole, byte_by_byte, at_random)


# -- the peer ---------------------------------------------------------------------------------------------------------


class ScriptBroken(AssertionError):
    """The client did not send what the script says."""


class Peer(asyncio.Protocol):
    """The server's end of one connection.

    Args:     turns: the script. with_login: the first request is a login, framed by its size.
              framed: False takes each chunk for one request, for peers that do not speak SQLI.
              greeting: sent before the client's first byte. chunks: how replies are split.
    """

    def __init__(
        self,
        turns: Iterable[Exchange] = (),
        *,
        with_login: bool = False,
        framed: bool = True,
        greeting: bytes = b"",
        chunks: Chunking = whole,
        capabilities: Capabilities = DIALECT,
    ) -> None:
        self.received = bytearray()
        self.groups: list[bytes] = []
        self.requests: list[list[requests.Request]] = []
        self.failure: str | None = None
        self.gone = asyncio.Event()
        """Set when the client has closed its end."""
        self._turns = iter(turns)
        self._login_next = with_login
        self._framed = framed
        self._greeting = greeting
        self._chunks = chunks
        self._dialect = capabilities
        self._inbox = Inbox()
        self._parser: Parser[list[requests.Request]] | None = None
        self._taken = 0
        self._answers: list[Answer] = []
        self._waiting: Delayed | None = None
        self._transport: asyncio.Transport | None = None

    # -- what the client did ------------------------------------------------------------------------------------------

    @property
    def said(self) -> list[str]:
        """All requests so far, in words."""
        return [in_words(group) for group in self.requests]

    @property
    def statements(self) -> list[bytes]:
        """The SQL of each PREPARE and COMMAND."""
        return [
            request.sql
            for group in self.requests
            for request in group
            if isinstance(request, (requests.Prepare, requests.Command))
        ]

    def check(self) -> None:
        """Raise unless the client has sent everything in the script."""
        if self.failure is not None:
            raise ScriptBroken(self.failure)
        if rest := [expected for expected, _ in self._turns]:
            raise ScriptBroken(f"the client did not send: {rest}")
        if self._parser is not None and self._taken < len(self.received):
            raise ScriptBroken(f"half a request is left: {bytes(self.received[self._taken :])!r}")

    # -- what the event loop calls ------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's do not inherit from asyncio's
        self.send(self._greeting)

    def data_received(self, data: bytes) -> None:
        self.received += data
        self._inbox.feed(data)
        while self._inbox.unread and self.failure is None:
            before = self._taken
            self._read_one()
            if self._taken == before:
                break

    def connection_lost(self, exc: Exception | None) -> None:
        if self._parser is not None:
            self._parser.close()
        self.gone.set()

    # -- reading ------------------------------------------------------------------------------------------------------

    def _read_one(self) -> None:
        if not self._framed:
            self._inbox.skip(self._inbox.unread)
            self._take([])
        elif self._login_next:
            size = int.from_bytes(self._inbox.data[self._inbox.pos : self._inbox.pos + 2], "big")
            if self._inbox.unread >= max(size, 2):
                self._inbox.skip(size)
                self._login_next = False
                self._take([])
        else:
            self._step()

    def _step(self) -> None:
        self._parser = self._parser or requests.read_request(self._inbox, self._dialect)
        try:
            self._parser.send(None)
        except StopIteration as stop:
            self._parser = None
            self._take(stop.value)
        except ProtocolError as broken:
            self._parser = None
            self._fail(f"what the client sent is not SQLI: {broken}: {bytes(self.received[self._taken :])!r}")

    def _take(self, group: list[requests.Request]) -> None:
        data = bytes(self.received[self._taken : self._inbox.consumed])
        self._taken = self._inbox.consumed
        self.groups.append(data)
        self.requests.append(group)
        if (own := self.own_reply(group)) is not None:
            self._answers.append(own)
            return self._play()
        turn = next(self._turns, None)
        if turn is None:
            self._fail(f"the script has ended, the client sent {in_words(group)!r} {data.hex()}")
            return
        expected, answer = turn
        if isinstance(expected, bytes) and expected != data:
            self._fail(f"the client sent\n  {data.hex()} {in_words(group)}\ninstead of\n  {expected.hex()}")
        elif isinstance(expected, str) and not _fits(group, expected):
            self._fail(f"the client sent {in_words(group)!r} instead of {expected!r}")
        else:
            self._answers.append(answer)
            self._play()
        return None

    def own_reply(self, group: list[requests.Request]) -> Answer | None:
        """A reply to a request that is not in the script; for subclasses."""
        return None

    def _fail(self, what: str) -> None:
        self.failure = what
        if self._transport is not None:
            self._transport.abort()

    # -- answering ----------------------------------------------------------------------------------------------------

    def _play(self) -> None:
        while self._answers:
            answer = self._answers[0]
            if isinstance(answer, Delayed):
                if answer is not self._waiting:
                    self._waiting = answer
                    answer._on_release = self._play
                    self.send(answer.answer[: answer.first])
                    answer.reached.set()
                if not answer.released:
                    return
            del self._answers[0]
            if isinstance(answer, Delayed):
                self.send(answer.answer[answer.first :])
            elif isinstance(answer, Disconnect):
                self.send(answer.answer)
                self.hang_up(reset=answer.reset)
            else:
                self.send(answer)

    def send(self, data: bytes) -> None:
        """Send *data*, whether the client has requested it or not."""
        if self._transport is not None and not self._transport.is_closing():
            for chunk in self._chunks(data) if data else ():
                self._transport.write(chunk)

    def hang_up(self, *, reset: bool = False) -> None:
        if self._transport is not None:
            if reset:
                self._transport.abort()
            else:
                self._transport.close()


def in_words(group: Sequence[requests.Request]) -> str:
    """A group in the words of a script, with the first field of each message in parentheses if it is a number."""
    return " ".join(_word(request) for request in group)


def _word(request: requests.Request) -> str:
    if isinstance(request, requests.Bind):
        return f"Bind({len(request.entries)})"
    if isinstance(request, requests.RetType):
        return f"RetType({len(request.types)})"
    first: object = next(iter(request), None)
    return f"{type(request).__name__}({first})" if isinstance(first, int) else type(request).__name__


def _fits(group: Sequence[requests.Request], expected: str) -> bool:
    words = expected.split()
    return len(words) == len(group) and all(
        word in (_word(request), re.sub(r"\(.*\)", "", _word(request)))
        for word, request in zip(words, group, strict=True)
    )


# -- in memory --------------------------------------------------------------------------------------------------------


class MemoryTransport(asyncio.Transport):
    """One end of a pipe within one loop: each write arrives as a chunk of its own."""

    def __init__(self, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._protocol = protocol
        self._closing = False
        self._held: list[bytes] | None = None  # while reading is paused
        self.other: MemoryTransport | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        other = self.other
        if not self._closing and other is not None:
            self._loop.call_soon(other._deliver, bytes(data))

    def _deliver(self, data: bytes) -> None:
        if self._held is not None:
            self._held.append(data)
        elif not self._closing:
            self._protocol.data_received(data)

    def pause_reading(self) -> None:
        self._held = self._held or []

    def resume_reading(self) -> None:
        held, self._held = self._held, None
        for data in held or ():
            self._loop.call_soon(self._deliver, data)

    def _hear_end(self) -> None:
        if not self._closing:
            self._protocol.eof_received()
            self.close()

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._loop.call_soon(self._protocol.connection_lost, None)
            if self.other is not None:
                self._loop.call_soon(self.other._hear_end)

    def abort(self) -> None:
        self.close()


def pipe(client: asyncio.Protocol, server: asyncio.Protocol) -> None:
    """Connect two protocols."""
    ends = MemoryTransport(client), MemoryTransport(server)
    ends[0].other, ends[1].other = ends[1], ends[0]
    server.connection_made(ends[1])
    client.connection_made(ends[0])


def session_with(
    peer: Peer,
    *,
    warnings: int = LOGGED,
    locale: str = "en_US.8859-1",
    capabilities: Capabilities | None = None,
    **options: Any,
) -> Session:
    """A session after its login."""
    channel = Channel()
    pipe(channel, peer)
    own = {name: options.pop(name) for name in ("read_ahead", "autofree") if name in options}
    found = options_with(db_locale=locale, **options)
    session = Session(channel, capabilities or Capabilities(encoding=found.code_set.codec), found, **own)
    session.on_database_opened("", Reply(done=Done(warnings)))
    return session


def options_with(**options: Any) -> ConnectOptions:
    """Options of a connection to a peer in memory."""
    defaults: dict[str, Any] = {"host": "memory", "server": "ol_memory", "user": "scripted"}
    return ConnectOptions(**(defaults | options))


@contextlib.asynccontextmanager
async def talking(
    *script: Exchange | Sequence[Exchange],
    chunks: Chunking = whole,
    row_factory: Any = None,
    peer_dialect: Capabilities = DIALECT,
    statement_cache_size: int = 0,
    **options: Any,
) -> AsyncIterator[tuple[Connection, Peer]]:
    """A connection to a peer with this script, which must have been played when the block ends.

    Without a statement cache, each call sends all of its messages.
    """
    async with talking_to(
        Peer,
        *script,
        chunks=chunks,
        row_factory=row_factory,
        peer_dialect=peer_dialect,
        statement_cache_size=statement_cache_size,
        **options,
    ) as pair:
        yield pair


AnyPeer = TypeVar("AnyPeer", bound=Peer)


@contextlib.asynccontextmanager
async def talking_to(
    kind: Callable[..., AnyPeer],
    *script: Exchange | Sequence[Exchange],
    chunks: Chunking = whole,
    row_factory: Any = None,
    peer_dialect: Capabilities = DIALECT,
    statement_cache_size: int = 0,
    **options: Any,
) -> AsyncIterator[tuple[Connection, AnyPeer]]:
    """`talking` to another kind of peer."""
    peer = kind(flat(script), chunks=chunks, capabilities=peer_dialect)
    session = session_with(peer, **options)
    connection = Connection(
        session,
        statement_cache_size=statement_cache_size,
        address="memory:0",
        server_version="Scripted",
        row_factory=row_factory,
    )
    try:
        yield connection, peer
        await at_rest(session)
    finally:
        if peer.failure is not None:
            peer.check()  # the test's own failure would only be its consequence
        connection.terminate()
        await session.channel.wait_closed()
    peer.check()


def flat(script: Iterable[Exchange | Sequence[Exchange]]) -> Iterator[Exchange]:
    for turn in script:
        if isinstance(turn, list):
            yield from cast(list[Exchange], turn)
        else:
            yield cast(Exchange, turn)


async def at_rest(session: Session) -> None:
    """Wait until the session has sent its cleanup, or is closed."""
    for _ in range(1_000):
        if session.dispatcher.is_idle or not session.is_open:
            return
        await asyncio.sleep(0)


async def until(condition: Callable[[], bool]) -> None:
    """Run the loop until *condition* holds; for peers in memory, where nothing takes time."""
    for _ in range(10_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("the condition never held")


async def cancel_at(delayed: Delayed, call: Coroutine[Any, Any, Any]) -> None:
    """Start *call*, and cancel it when its request has arrived and the reply has not been sent."""
    task = asyncio.ensure_future(call)
    await asyncio.wait_for(delayed.reached.wait(), 10)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert task.cancelled()


def time_is_up(session: Session) -> None:
    """Let the oldest reply that is awaited have taken longer than command_timeout, which must be set."""
    dispatcher = session.dispatcher
    dispatcher._in_flight[0].deadline = 0.0
    dispatcher._on_timer()


async def time_out_at(delayed: Delayed, conn: Connection, call: Coroutine[Any, Any, Any]) -> None:
    """Start *call*, and let its time be up when its request has arrived and the reply has not been sent."""
    task = asyncio.ensure_future(call)
    await asyncio.wait_for(delayed.reached.wait(), 10)
    time_is_up(conn._session)
    await task


# -- on a socket ------------------------------------------------------------------------------------------------------


class Listener:
    """A port on the loopback interface; the n-th connection to it is answered by the n-th peer."""

    def __init__(self, server: asyncio.Server, peers: list[Peer]) -> None:
        self._server = server
        self.peers = peers

    @property
    def port(self) -> int:
        port: int = self._server.sockets[0].getsockname()[1]
        return port


@contextlib.asynccontextmanager
async def listening(*peers: Peer, ssl: tls.SSLContext | None = None) -> AsyncIterator[Listener]:
    coming = iter(peers)
    server = await asyncio.get_running_loop().create_server(
        lambda: next(coming), "127.0.0.1", 0, ssl=ssl, ssl_handshake_timeout=5 if ssl else None
    )
    try:
        yield Listener(server, list(peers))
    finally:
        for peer in peers:
            peer.hang_up(reset=True)
        server.close()
        await server.wait_closed()
        for peer in peers:
            if peer.failure is not None:
                peer.check()
