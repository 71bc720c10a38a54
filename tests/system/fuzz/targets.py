"""What fuzzers call: one function for each parser that reads a peer's bytes. Anything but the right errors gets out.

Hypothesis and atheris share these; none needs a socket, an event loop or a clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from aioifx._speedups.inbox import YIELD
from aioifx.codecs.conversions import JSON, Conversions
from aioifx.codecs.literal_reader import literal_reader
from aioifx.codecs.rows import RowDecoder
from aioifx.codecs.text import code_set_of
from aioifx.codecs.type_text import parse_type, structured
from aioifx.errors import ConnectError, ConnectionLost, DataError, NotSupportedError, ProtocolError
from aioifx.wire.batch_replies import BatchTally, read_executions
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.handshake import read_login, read_login_reply
from aioifx.wire.inbox import Inbox, Parser
from aioifx.wire.replies import Reply, read_reply
from aioifx.wire.requests import read_request
from aioifx.wire.tuples import read_in_runs

DIALECTS: Final = (
    Capabilities(),
    Capabilities(long_tuple=True, long_rowid=True),
    Capabilities(bigint=False, long_text=False, long_tuple=False, long_rowid=False),
)

CONVERSIONS: Final = Conversions(json=JSON, integral_decimals=True, dbdate="Y4MD-")
"""Those of a connection: literals and documents are read, too."""

CODE_SET: Final = code_set_of("en_US.8859-1")


def step(parser: Parser[object], inbox: Inbox, data: bytes) -> object:
    """Feed everything, then the end; the value, or None after an error that invalid bytes may cause."""
    try:
        parser.send(None)
        inbox.feed(data)
        while parser.send(None) is YIELD:
            pass
        inbox.eof = True
        while parser.send(None) is YIELD:
            pass
    except StopIteration as stop:
        return stop.value
    except (ProtocolError, ConnectionLost, ConnectError):
        return None
    finally:
        parser.close()
    raise AssertionError("the parser waits behind the end")


def login_reply(data: bytes) -> None:
    """What a client reads first."""
    inbox = Inbox()
    step(read_login_reply(inbox), inbox, data)


def login_request(data: bytes) -> None:
    """What the embedded server reads first."""
    inbox = Inbox()
    step(read_login(inbox), inbox, data)


def reply(data: bytes) -> None:
    """One reply without rows, in every layout: describe, done, errors, large objects."""
    for capabilities in DIALECTS:
        inbox = Inbox()
        step(read_reply(inbox, capabilities), inbox, data)


def query(data: bytes) -> None:
    """A description, and rows that are decoded by it."""
    for capabilities in DIALECTS:
        inbox = Inbox()
        prepared = step(read_reply(inbox, capabilities), inbox, data)
        if not isinstance(prepared, Reply) or prepared.description is None:
            continue
        columns = [replace(one, type=structured(one.type)) for one in prepared.description.columns]
        try:
            decoder = RowDecoder(columns, CODE_SET, conversions=CONVERSIONS)
        except NotSupportedError:
            continue
        rest = Inbox()
        step(read_reply(rest, capabilities, read_in_runs(decoder)), rest, bytes(inbox.data[inbox.pos :]))


def literal(data: bytes) -> None:
    """The text of a type, NUL, and a literal of a row or collection."""
    type_text, _, text = data.decode("latin-1").partition("\0")
    sql_type = parse_type(type_text)
    if sql_type is None or not sql_type.fields:
        return
    try:
        literal_reader(sql_type, CONVERSIONS)(text)
    except DataError:
        pass


def executions(data: bytes) -> None:
    """The replies to a pipeline, which are counted."""
    for capabilities in DIALECTS:
        inbox = Inbox()
        step(read_executions(inbox, capabilities, 3, BatchTally(), lambda _: None), inbox, data)


def request(data: bytes) -> None:
    """One group of a client's, in every layout."""
    for capabilities in DIALECTS:
        inbox = Inbox()
        step(read_request(inbox, capabilities), inbox, data)


REPLIES: Final[tuple[Callable[[bytes], None], ...]] = (login_reply, reply, query, executions, literal)
REQUESTS: Final[tuple[Callable[[bytes], None], ...]] = (login_request, request)
