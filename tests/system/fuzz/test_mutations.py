"""Recorded bytes, mutated: the result is a value or an error for invalid bytes, and memory stays bounded.

What `tests/wire` tests of any bytes is not repeated here: these are whole conversations, with rows that are decoded.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import islice
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.errors import ProtocolError
from aioifx.sqltypes import Column, SqlType, TypeCode
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.descriptions import Description, put_describe
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import read_reply
from tests.feeding import feed
from tests.sampling import examples
from tests.system.fuzz import corpus, targets
from tests.wire.strategies import damaged

Target = Callable[[bytes], None]

SLACK = 512 * 1024
"""Bytes that reading may take whatever comes: the classes, caches and frames of a first time."""

PER_BYTE = 64
"""And for each byte received: a Python object is that much larger than its bytes on the wire."""

EACH, EACH_IF_EXHAUSTIVE = 21, 3
"""One mutation of so many is tried: each byte has ten, so that in the end each kind comes."""

STARTS: dict[Target, Callable[[], tuple[bytes, ...]]] = {
    targets.login_reply: lambda: corpus.logins("S"),
    targets.login_request: lambda: corpus.logins("C"),
    targets.reply: corpus.replies,
    targets.executions: corpus.replies,
    targets.query: corpus.queries,
    targets.literal: corpus.literals,
    targets.request: corpus.requests,
}


def name_of(target: Target) -> str:
    return target.__name__


@pytest.mark.parametrize("target", STARTS, ids=name_of)
def test_the_recordings_themselves_are_read(target: Target) -> None:
    starts = STARTS[target]()
    assert starts
    for data in starts:
        target(data)


@examples(300)
@pytest.mark.parametrize("target", STARTS, ids=name_of)
@given(data=st.data())
def test_accidents_in_recorded_bytes_cause_no_other_error(target: Target, data: st.DataObject) -> None:
    target(data.draw(damaged(st.sampled_from(STARTS[target]()))))


@examples(200)
@pytest.mark.parametrize("target", STARTS, ids=name_of)
@given(data=st.data())
def test_messages_in_another_order_cause_no_other_error(target: Target, data: st.DataObject) -> None:
    """Pieces of recordings one after the other: misplaced messages, a second description, rows without one."""
    pieces = data.draw(st.lists(st.sampled_from(STARTS[target]()), min_size=2, max_size=4))
    cut = [piece[data.draw(st.integers(0, len(piece))) :] for piece in pieces[1:]]
    target(pieces[0][: data.draw(st.integers(0, len(pieces[0])))] + b"".join(cut))


# Law (lengths): every number on the wire may be any number; nothing is made for it before its bytes are here.

NUMBERS = [pack(">H", number) for number in (0, 1, 0x7FFF, 0xFFFF)] + [
    pack(">i", number) for number in (-1, 0x7FFFFFFF, 64 * 1024 * 1024, 0x00100000)
]


def spoilt(data: bytes) -> Iterator[bytes]:
    """Each byte changed, and each place overwritten by each number."""
    for at in range(len(data)):
        yield data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
        yield data[:at] + bytes([data[at] ^ 0x01]) + data[at + 1 :]
        for number in NUMBERS:
            yield data[:at] + number + data[at + len(number) :]


def memory_for(target: Target, data: bytes) -> int:
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    target(data)
    _, peak = tracemalloc.get_traced_memory()
    return peak - before


@pytest.mark.parametrize("target", STARTS, ids=name_of)
def test_no_single_wrong_byte_or_number_costs_memory_or_raises_anything_else(
    target: Target, record_property: Callable[[str, object], None], is_exhaustive: bool
) -> None:
    starts = STARTS[target]()
    each = EACH_IF_EXHAUSTIVE if is_exhaustive else EACH
    count = 0
    tracemalloc.start()
    try:
        for data in starts[:: max(1, len(starts) // 8)]:
            mutations = spoilt(data if target is targets.query else data[:200] + data[-12:])
            for bad in islice(mutations, 0, None, each):
                try:
                    peak = memory_for(target, bad)
                    if peak >= (limit := SLACK + PER_BYTE * len(bad)):
                        gc.collect()
                        peak = memory_for(
                            target, bad
                        )  # what earlier tests left may have been finalized meanwhile
                except Exception as error:
                    error.add_note(f"bytes: {bad.hex()}")
                    raise
                assert peak < limit, bad.hex()
                count += 1
    finally:
        tracemalloc.stop()
    record_property("mutations", count)
    assert count > 500 // each


WIDE = [
    SqlType(TypeCode.CHAR, 0x7FFFFFFF),
    SqlType(TypeCode.NCHAR, 32768),
    SqlType(TypeCode.CHAR, -1),
    SqlType(TypeCode.DECIMAL, 0x7FFF1000),
    SqlType(TypeCode.MONEY, 0x2100),
    SqlType(TypeCode.DECIMAL, -1),
]


@pytest.mark.parametrize("sqltype", WIDE, ids=lambda sqltype: f"{sqltype.code}-{sqltype.length:x}")
def test_a_type_of_impossible_length_is_a_protocol_error(sqltype: SqlType) -> None:
    for capabilities in targets.DIALECTS:
        outbox = Outbox()
        put_describe(outbox, capabilities, Description(2, 1, (Column("c", sqltype),), 4))
        data = outbox.detach() + b"\0\x0c"
        with pytest.raises(ProtocolError, match="length"):
            feed(lambda inbox, capabilities=capabilities: read_reply(inbox, capabilities), [data])  # type: ignore[misc]


def test_a_row_of_impossible_size_is_a_protocol_error() -> None:
    """It would lift the limit of every fetch."""
    outbox = Outbox()
    capabilities = Capabilities(long_tuple=True)
    put_describe(outbox, capabilities, Description(2, 1, (), 0x7FFFFFFF))
    with pytest.raises(ProtocolError, match="rows of"):
        feed(lambda inbox: read_reply(inbox, capabilities), [outbox.detach() + b"\0\x0c"])


REPEATED = {
    "rows of nothing": pack(">hih", 17, 0, -1) * 500,
    "rows of little": (pack(">hih", 17, 1, 4) + b"a\0" * 4) * 500,
    "values that are NULL": (pack(">hh", 5, 200) + pack(">hhh", 2, -1, 0) * 200) * 10,
    "bare messages": pack(">h", 6) * 10_000,
    "ids": pack(">hh", 4, 1) * 10_000,
    "pieces of nothing": pack(">hh", 39, 0) * 10_000,
    "wanted types": (pack(">hhh", 100, 1, 200) + pack(">hi", 2, 4) * 200) * 10,
    "columns by number": (pack(">hhh", 134, 2, 1000) + pack(">h", 1) * 1000) * 10,
    "pairs": pack(">hhhhh", 81, 6, 100, 2, 2) + (pack(">h", 1) + b"a\0" + pack(">h", 0)) * 5000 + bytes(4),
}


@pytest.mark.parametrize("kind", REPEATED)
def test_what_a_client_repeats_costs_memory_by_its_bytes(kind: str) -> None:
    data = REPEATED[kind] + b"\0\x0c"
    targets.request(data[:50])
    tracemalloc.start()
    try:
        targets.request(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < SLACK + PER_BYTE * len(data)
