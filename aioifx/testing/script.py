"""A scripted server for tests of drivers: it checks each request of a client and sends prepared replies. Never: SQL.

A script is a list of exchanges: the request that the client must send, and its reply. A request is bytes, which must
be equal, or words, ``"Id(2) CurName Open Id(2) Fetch(4096)"``: the names of `aioifx.wire.requests`, with the first
field in parentheses where it matters. None as a request accepts anything. `read_request` frames the client's bytes;
nothing here decides what a correct request is.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl as tls
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias, cast

from aioifx.errors import ProtocolError
from aioifx.sqltypes import TypeCode
from aioifx.testing.messages import (
    DIALECT,
    EOT,
    EXIT,
    LOGGED,
    accepted,
    agreed,
    column,
    described,
    done,
    ints,
    opened,
)
from aioifx.wire import requests
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.inbox import Inbox, Parser

# -- exchanges --------------------------------------------------------------------------------------------------------


class Delayed:
    """A reply that is sent on `release`; `reached` is set when the request has arrived.

    Args:
        answer: the reply.
        first: how many bytes of it are sent immediately.
    """

    def __init__(self, answer: bytes, *, first: int = 0) -> None:
        self.answer = answer
        self.first = first
        self.reached = asyncio.Event()
        self.released = False
        self.on_release: Callable[[], None] | None = None
        """Set by the `Peer` that sends it."""

    def release(self) -> None:
        """Send the rest of it, as soon as the request has arrived."""
        self.released = True
        if self.on_release is not None:
            self.on_release()


class Disconnect(NamedTuple):
    """A reply after which the server closes the connection; with *reset* it aborts it."""

    answer: bytes = b""
    reset: bool = False


NO_REPLY: Final = b""
"""No reply to this request."""

Answer: TypeAlias = bytes | Delayed | Disconnect
"""A reply."""
Exchange: TypeAlias = tuple[bytes | str | None, Answer]
"""A request, and its reply."""

PREPARE: Final = "Prepare Describe WantDone"
"""The request that prepares a statement, in words."""
COMMAND: Final = "Command Describe Execute Release"
"""The request that runs a statement without rows or parameters, in words."""
BEGIN: Exchange = ("Begin", done() + EOT)
COMMIT: Exchange = ("Commit", done() + EOT)
ROLLBACK: Exchange = ("Rollback", done() + EOT)
END_SESSION: Exchange = (EXIT, EXIT)
"""The end of a session."""


def opening(
    statement_id: int, size: int = 32767, *, bound: bool = False, hold: bool = False, freed: bool = False
) -> str:
    """The request that opens a cursor and fetches its first block, in words."""
    options = "Bind " * bound + "Hold " * hold + "AutoFree " * freed
    return f"Id({statement_id}) CurName {options}Open Id({statement_id}) Fetch({size})"


def fetching(statement_id: int, size: int = 32767) -> str:
    """The request for another block, in words."""
    return f"Id({statement_id}) Fetch({size})"


def close(statement_id: int) -> Exchange:
    """CLOSE, which closes a cursor."""
    return f"Id({statement_id}) Close", EOT


def release(statement_id: int) -> Exchange:
    """RELEASE, which drops a statement."""
    return f"Id({statement_id}) Release", EOT


def closing(statement_id: int) -> list[Exchange]:
    """CLOSE and RELEASE, two exchanges."""
    return [close(statement_id), release(statement_id)]


def select_ints(
    statement_id: int,
    *values: int,
    hold: bool = False,
    freed: bool = False,
    kept: bool = False,
    until_empty: bool = False,
) -> list[Exchange]:
    """A whole query of one INTEGER column, from PREPARE to RELEASE, in one block.

    Args:
        freed: the server releases the statement with its cursor.
        kept: it is not released.
        until_empty: the client fetches until a reply has no rows, as aioifx does at an unknown server.
    """
    return [
        (PREPARE, described(statement_id, column("c1", TypeCode.INTEGER, 4))),
        (opening(statement_id, hold=hold, freed=freed), ints(*values) + done(len(values)) + EOT),
        *([(fetching(statement_id), done() + EOT)] if until_empty else []),
        *([close(statement_id)] if freed or kept else closing(statement_id)),
    ]


def login(database: bool = True, warnings: int = LOGGED) -> list[Exchange]:
    """Everything up to an open connection, for a `Peer` *with_login*."""
    turns: list[Exchange] = [(None, accepted()), ("Protocols", agreed()), ("Info", EOT)]
    return [*turns, ("DbOpen", opened(warnings))] if database else turns


# -- how a reply is split into chunks ---------------------------------------------------------------------------------

Chunking: TypeAlias = Callable[[bytes], Iterable[bytes]]
"""Splits a reply into the chunks that the client receives."""


def whole(data: bytes) -> list[bytes]:
    """One chunk."""
    return [data]


def byte_by_byte(data: bytes) -> list[bytes]:
    """A chunk for each byte."""
    return [data[at : at + 1] for at in range(len(data))]


# -- the peer ---------------------------------------------------------------------------------------------------------


class ScriptBroken(AssertionError):
    """The client did not send what the script says; the message has the number of the exchange, from 1."""


class Peer(asyncio.Protocol):
    """The server's end of one connection. It aborts the connection when the client deviates from the script.

    Args:
        turns: the script; lists of exchanges may be among them.
        with_login: the first request is a login, framed by its size.
        framed: False takes each chunk for one request, for peers that do not speak SQLI.
        greeting: sent before the client's first byte.
        chunks: how replies are split.
        capabilities: the layouts of requests.
    """

    def __init__(
        self,
        turns: Iterable[Exchange | list[Exchange]] = (),
        *,
        with_login: bool = False,
        framed: bool = True,
        greeting: bytes = b"",
        chunks: Chunking = whole,
        capabilities: Capabilities = DIALECT,
    ) -> None:
        self.received = bytearray()
        """All bytes of the client."""
        self.groups: list[bytes] = []
        """The bytes of each request."""
        self.requests: list[list[requests.Request]] = []
        """The messages of each request; none of a login."""
        self.failure: str | None = None
        """How the client has deviated; None: it has not."""
        self.gone = asyncio.Event()
        """Set when the client has closed its end."""
        self._turns = _flat(turns)
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
        """Raise ScriptBroken if the client deviated, or has not sent everything in the script."""
        if self.failure is not None:
            raise ScriptBroken(self.failure)
        if rest := [expected for expected, _ in self._turns]:
            raise ScriptBroken(f"the client did not send: {', '.join(map(_named, rest))}")
        if self._parser is not None and self._taken < len(self.received):
            raise ScriptBroken(
                f"the client sent part of a request: {bytes(self.received[self._taken :]).hex()}"
            )

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
            self._fail(f"the client sent no SQLI: {broken}: {bytes(self.received[self._taken :]).hex()}")

    def _take(self, group: list[requests.Request]) -> None:
        data = bytes(self.received[self._taken : self._inbox.consumed])
        self._taken = self._inbox.consumed
        self.groups.append(data)
        self.requests.append(group)
        if (own := self.own_reply(group)) is not None:
            self._answers.append(own)
            return self._play()
        turn = next(self._turns, None)
        number = f"exchange {len(self.groups)}"
        if turn is None:
            self._fail(f"{number}: the script has ended, the client sent {in_words(group)}\n  {data.hex()}")
            return
        expected, answer = turn
        if isinstance(expected, bytes) and expected != data:
            self._fail(f"{number}: {_difference(data, expected, in_words(group))}")
        elif isinstance(expected, str) and not _fits(group, expected):
            self._fail(f"{number}: the client sent\n  {in_words(group)}\ninstead of\n  {expected}")
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
                    answer.on_release = self._play
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
        """Close the connection; with *reset*, drop what was not sent."""
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


def _named(expected: bytes | str | None) -> str:
    if expected is None:
        return "any request"
    return repr(expected) if isinstance(expected, str) else expected.hex()


def _difference(sent: bytes, expected: bytes, words: str) -> str:
    """What the client sent instead of other bytes, with a mark below the first byte that differs."""
    pairs = enumerate(zip(sent, expected, strict=False))
    offset = next((at for at, (one, other) in pairs if one != other), min(len(sent), len(expected)))
    mark = " " * 2 * offset + "^^"
    return (
        f"the client sent other bytes from offset {offset} ({words})\n"
        f"  {sent.hex()}\n  {mark}\ninstead of\n  {expected.hex()}"
    )


def _fits(group: Sequence[requests.Request], expected: str) -> bool:
    words = expected.split()
    return len(words) == len(group) and all(
        word in (_word(request), re.sub(r"\(.*\)", "", _word(request)))
        for word, request in zip(words, group, strict=True)
    )


def _flat(script: Iterable[Exchange | list[Exchange]]) -> Iterator[Exchange]:
    """The exchanges of a script that has lists of them among its items."""
    for turn in script:
        if isinstance(turn, list):
            yield from turn
        else:
            yield turn


# -- on a socket ------------------------------------------------------------------------------------------------------


class Listener:
    """A port on the loopback interface; the n-th connection to it is answered by the n-th peer."""

    def __init__(self, server: asyncio.Server, peers: list[Peer]) -> None:
        self._server = server
        self.peers = peers

    @property
    def port(self) -> int:
        """The port."""
        port: int = self._server.sockets[0].getsockname()[1]
        return port


class _Unexpected(Peer):
    """Aborts a connection for which there is no peer."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._fail("the client opened another connection, expected one for each peer")


@contextlib.asynccontextmanager
async def listening(*peers: Peer, ssl: tls.SSLContext | None = None) -> AsyncGenerator[Listener, None]:
    """A port for the duration of the block.

    Args:
        peers: one for each connection, in order; further connections are aborted.
        ssl: a context with a certificate, for TLS.

    Raises:
        ScriptBroken: at the end of the block, a client deviated from its script, or opened a connection without a peer.
            `Peer.check` also tells whether it has sent everything.
    """
    coming = iter(peers)
    unexpected: list[Peer] = []

    def accept() -> Peer:
        peer = next(coming, None)
        if peer is None:
            peer = _Unexpected()
            unexpected.append(peer)
        return peer

    server = await asyncio.get_running_loop().create_server(
        accept, "127.0.0.1", 0, ssl=ssl, ssl_handshake_timeout=5 if ssl else None
    )
    try:
        yield Listener(server, list(peers))
    finally:
        # A client may have connected and failed at once. asyncio accepts its connection in three iterations of the
        # loop, and a server that is closed meanwhile leaves it open.
        for _ in range(3):
            await asyncio.sleep(0)
        for peer in peers:
            peer.hang_up(reset=True)
        server.close()
        await server.wait_closed()
        for peer in (*peers, *unexpected):
            if peer.failure is not None:
                peer.check()  # the error of the client is only its consequence
