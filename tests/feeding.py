"""Parsers without sockets: make an inbox, step the parser, feed a chunk, repeat.

Law (cuts): any chunking of the same bytes gives the same result, and a parser parks at most once per chunk.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from aioifx._speedups.inbox import PARK, YIELD
from aioifx.errors import ConnectionLost, ProtocolError
from aioifx.wire.inbox import Inbox, Parser

T = TypeVar("T")


class StillParked(AssertionError):
    """All bytes are fed and the parser waits for more."""


def feed(
    parser_of: Callable[[Inbox], Parser[T]], chunks: Sequence[bytes], *, eof: bool = False
) -> tuple[T, int]:
    """Run a parser over *chunks*.

    Args:
        eof: the peer closes after the last chunk.

    Returns:
        What the parser returned, and how often it parked.

    Raises:
        StillParked: it waits for more; and whatever the parser raises.
    """
    result, parks, unread = feed_all(parser_of, chunks, eof=eof)
    assert unread == 0, f"{unread} bytes are left"
    return result, parks


def feed_all(
    parser_of: Callable[[Inbox], Parser[T]], chunks: Sequence[bytes], *, eof: bool = False
) -> tuple[T, int, int]:
    """As `feed`, but bytes may be left over; their number is the third result."""
    inbox = Inbox()
    parser = parser_of(inbox)
    parks = 0
    coming = list(reversed(chunks))
    try:
        while True:
            while (parked := parser.send(None)) is YIELD:
                pass
            assert parked is PARK
            parks += 1
            if coming:
                inbox.feed(coming.pop())
            elif eof and not inbox.eof:
                inbox.eof = True
            else:
                raise StillParked(f"the parser waits behind {inbox.consumed} bytes, {inbox.unread} unread")
    except StopIteration as stop:
        for chunk in reversed(coming):
            inbox.feed(chunk)
        # Stepping starts before the first chunk has come, so one park is the test's own.
        return stop.value, parks - 1 if chunks else parks, inbox.unread
    finally:
        parser.close()


class Outcome(NamedTuple):
    """What a parser made of bytes that may be anything."""

    value: object = None
    error: type[Exception] | None = None
    parked: bool = False


def outcome(
    parser_of: Callable[[Inbox], Parser[object]], chunks: Sequence[bytes], *, eof: bool = False
) -> Outcome:
    """A value, a park, ProtocolError or ConnectionLost; any other exception is the test's failure."""
    try:
        return Outcome(feed_all(parser_of, chunks, eof=eof)[0])
    except StillParked:
        return Outcome(parked=True)
    except (ProtocolError, ConnectionLost) as error:
        return Outcome(error=type(error))


def cuts(data: bytes) -> list[list[bytes]]:
    """Whole, byte by byte, and at two sets of random places; the places depend on nothing but the bytes."""
    return [[data], [data[at : at + 1] for at in range(len(data))], random_cut(data, 1), random_cut(data, 2)]


def random_cut(data: bytes, salt: int) -> list[bytes]:
    """*data* in pieces of any size."""
    places = random.Random(zlib.crc32(data, salt))
    count = places.randrange(1, 12)
    at = sorted(places.randrange(len(data) + 1) for _ in range(count)) if data else []
    return [data[begin:end] for begin, end in zip([0, *at], [*at, len(data)], strict=True)]


def name_of(chunks: object) -> str:
    """The id of a parametrised chunking."""
    if not isinstance(chunks, list):
        return repr(chunks)
    return {1: "whole"}.get(len(chunks), f"{len(chunks)} chunks")
