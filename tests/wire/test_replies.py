"""Replies: what JDBC accepts is read at any cut; anything may come, and nothing breaks."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Callable
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx._speedups.inbox import YIELD
from aioifx.codecs import native
from aioifx.errors import ConnectionLost, DataError, ProtocolError
from aioifx.sqltypes import Row
from aioifx.wire import completion, replies
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.files import FileWrite
from aioifx.wire.inbox import AT_ONCE, NO_LIMIT, Inbox, Parser
from aioifx.wire.opcodes import Op
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import MAX_WARNINGS, Continuation, Reply, ReplyReader, TryReadReply, read_reply
from aioifx.wire.tuples import RowReader, read_field_by_field, read_in_runs
from tests.feeding import Outcome, cuts, feed, outcome
from tests.wire.frames import JDBC_FILES, frames, load
from tests.wire.putting import messages_of, put_reply, raw_rows
from tests.wire.reply_reading import DIALECT, EOT, raw_row, read, reading, row
from tests.wire.strategies import damaged, dialects, merged, reply_bytes, reply_groups

FastReplyReader = Callable[[Capabilities, RowReader | None, int], TryReadReply]
"""As `native.make_fast_reader`."""

native_only = pytest.mark.skipif(not native.NATIVE, reason="the kernel is not used")
takers = pytest.mark.parametrize(
    "make_reader",
    [
        pytest.param(native.native_fast_reader, id="native", marks=native_only),
        pytest.param(native.pure_fast_reader, id="pure"),
    ],
)

VALUE = b"\0\x27"
"""The tag of a BYTE or TEXT value, which is only read where it was requested."""

# Law (transcripts): what the reference client accepts is read, and put again it is the same bytes.


@pytest.mark.parametrize("file", JDBC_FILES)
def test_everything_jdbc_accepts_is_read_at_any_cut_and_put_back_byte_for_byte(file: str) -> None:
    count = 0
    for frame in frames(file):
        if frame.side != "S" or frame.is_event or frame.is_login:
            continue
        count += 1
        if frame.data[:2] == VALUE:
            continue  # in test_objects and test_blob_replies
        try:
            wholes = [feed(reading(frame.capabilities), chunks) for chunks in cuts(frame.data)]
            assert all(other == wholes[0][0] for other, _ in wholes)
            assert all(
                parks <= len(chunks) for (_, parks), chunks in zip(wholes, cuts(frame.data), strict=True)
            )
            messages = messages_of(frame.data, frame.capabilities)
            outbox = Outbox()
            put_reply(outbox, frame.capabilities, messages)
            assert outbox.detach().hex() == frame.data.hex()
            assert merged(messages).rows == wholes[0][0].rows
        except Exception as error:
            error.add_note(repr(frame))
            raise
    assert count == SERVER_FRAMES[file]


# How many there are; a file that shrinks, or a loader that skips, must not pass unnoticed.
SERVER_FRAMES = {
    "batch": 94, "callable": 23, "cancel": 13, "errors": 43, "errors15": 21, "lob": 85, "login": 46,
    "metadata": 200, "objects15": 72, "outputs15": 5, "owners15": 42, "prepared": 86, "protocols15": 71, "put": 101,
    "scroll": 83, "select": 238, "session": 225, "transactions": 60, "types15": 87,
}  # fmt: skip


@pytest.mark.parametrize("file", JDBC_FILES)
def test_rows_read_field_by_field_are_the_same_rows(file: str) -> None:
    for frame in frames(file):
        is_reply = frame.side == "S" and not frame.is_event and not frame.is_login
        if is_reply and len(frame.data) < 6000 and frame.data[:2] != VALUE:
            expected = feed(reading(frame.capabilities), [frame.data])[0]
            for chunks in cuts(frame.data):
                found = feed(reading(frame.capabilities, read_field_by_field(raw_row)), chunks)[0]
                assert [payload for (payload,) in found.rows] == [payload for _, payload in expected.rows], (
                    frame
                )
                assert (found.done, found.error) == (expected.done, expected.error), frame


@pytest.mark.parametrize("file", JDBC_FILES)
def test_the_messages_are_those_that_the_recording_names(file: str) -> None:
    for frame in frames(file):
        if frame.side != "S" or frame.is_event or frame.is_login or len(frame.means) > 150:
            continue
        named = [part.partition("(")[0] for part in frame.means.removeprefix("S: rig:").split()]
        if "pre" in named or "SQ_BLOB" in named:
            continue  # the rig's shorthand for SQ_CLOSE; a BYTE value, one thing here and many messages there
        tags = [f"SQ_{Op(tag).name}" for tag, _ in messages_of(frame.data, frame.capabilities)]
        assert Counter(tags) == Counter(named), frame


def test_the_replies_of_gbase_are_read() -> None:
    count = 0
    for entry in load("gbase8s_messages")["frames"]:
        if entry["dir"] != "S":
            continue
        data = bytes.fromhex(entry["hex"])
        closed = data if data.endswith(EOT) else data + EOT  # single messages are recorded without their end
        wholes = [feed(reading(), chunks)[0] for chunks in cuts(closed)]
        assert all(reply == wholes[0] for reply in wholes)
        outbox = Outbox()
        put_reply(outbox, DIALECT, messages_of(data, DIALECT))
        assert outbox.detach() == data
        count += 1
    assert count == 6


def test_the_reply_of_gbase_to_prepare_says_what_its_table_has() -> None:
    reply = read(load("gbase8s_messages")["frames"][4]["hex"])
    assert reply.description is not None
    assert (reply.description.statement_type, reply.description.statement_id) == (2, 0)
    assert [(column.name, str(column.type)) for column in reply.description.columns] == [
        ("a", "INTEGER"),
        ("b", "VARCHAR(50)"),
    ]
    assert reply.description.row_size == 55
    assert reply.cost == completion.Cost(1, 1)
    assert reply.done == completion.Done()


def test_the_answer_to_info_is_an_empty_reply() -> None:
    assert read(load("session_init_requests")["frames"][2]["hex"]) == Reply()


def test_the_errors_of_the_recordings_are_read() -> None:
    codes = {
        reply.error.sqlcode
        for frame in frames("errors")
        if frame.side == "S" and not frame.is_event
        for reply in [feed(reading(frame.capabilities), [frame.data])[0]]
        if reply.error is not None
    }
    assert {-201, -268, -206} <= codes


# Law (round trip): read(put(m)) == m, in every layout.


@given(reply_groups())
def test_whatever_is_put_is_read_again(group: tuple[Capabilities, list[tuple[int, Reply]]]) -> None:
    capabilities, messages = group
    outbox = Outbox()
    put_reply(outbox, capabilities, messages)
    replies.put_eot(outbox)
    for chunks in cuts(outbox.detach()):
        found, parks = feed(reading(capabilities), chunks)
        assert found == merged(messages)
        assert parks <= len(chunks)


@given(reply_groups())
def test_the_put_messages_keep_their_order(group: tuple[Capabilities, list[tuple[int, Reply]]]) -> None:
    capabilities, messages = group
    outbox = Outbox()
    put_reply(outbox, capabilities, messages)
    assert messages_of(outbox.detach(), capabilities) == messages


# Law (short way): the end that most replies have is taken in one go, and that makes no difference.


@st.composite
def usual_replies(draw: st.DrawFn) -> tuple[Capabilities, bytes]:
    """``TUPLE* [[CLOSE] [INSERTDONE] DONE COST [XACTSTAT]] EOT``."""
    capabilities = draw(dialects)
    small = st.integers(-(2**31), 2**31 - 1)
    outbox = Outbox()
    for payload in draw(st.lists(st.binary(max_size=9), max_size=3)):
        outbox.raw(row(payload))
    if draw(st.booleans()):  # more rows follow
        replies.put_eot(outbox)
        return capabilities, outbox.detach()
    if draw(st.booleans()):
        replies.put_closed(outbox)
    if draw(st.booleans()):
        serials = completion.Serials(draw(small), draw(small) if capabilities.bigint else 0)
        completion.put_insertdone(outbox, capabilities, serials)
    done = completion.Done(
        draw(st.integers(0, 0xFFFF)), draw(st.integers(0, 2**31 - 1)), draw(small), draw(small)
    )
    completion.put_done(outbox, capabilities, done)
    completion.put_cost(outbox, completion.Cost(draw(small), draw(small)))
    if draw(st.booleans()):
        completion.put_xactstat(
            outbox, completion.TransactionState(*draw(st.tuples(*[st.integers(-9, 9)] * 3)))
        )
    replies.put_eot(outbox)
    return capabilities, outbox.detach()


def by_the_long_way(capabilities: Capabilities, chunks: list[bytes]) -> Outcome:
    """The same, message by message."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replies, "try_read_ending", lambda *_: False)
        return outcome(reading(capabilities), chunks)


@given(usual_replies())
def test_a_usual_reply_is_read_the_short_way_and_says_the_same(usual: tuple[Capabilities, bytes]) -> None:
    capabilities, data = usual
    found = by_the_long_way(capabilities, [data])
    assert isinstance(found.value, Reply)
    for chunks in cuts(data):
        assert outcome(reading(capabilities), chunks) == found
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replies, "MESSAGE_READERS", {})  # what is not taken at once cannot be read now
        assert outcome(reading(capabilities), [data]) == found


@given(st.data(), dialects)
def test_so_does_one_that_is_not_quite_usual(data: st.DataObject, capabilities: Capabilities) -> None:
    accident = data.draw(damaged(usual_replies().map(lambda usual: usual[1])))
    for chunks in cuts(accident):
        assert outcome(reading(capabilities), chunks) == by_the_long_way(capabilities, chunks)


# Law: a reply that a fast reader accepts equals the one that is read message by message; any other reply it leaves
# unread. So a fast reader, native or not, makes no difference.


def picky_rows(data: bytearray, pos: int, end: int, rows: list[Row]) -> int:
    """A run decoder that complains of every payload that begins with a byte above E0."""
    begun = len(rows)
    pos = raw_rows(data, pos, end, rows)
    for at, (_, payload) in enumerate(rows[begun:], begun):
        if isinstance(payload, bytes) and payload > b"\xe0":
            del rows[at:]
            raise DataError("no value")
    return pos


def reply_with(
    make_reader: FastReplyReader,
    capabilities: Capabilities,
    rows: RowReader | None,
    limit: int = replies.MAX_REPLY,
) -> Callable[[Inbox], Parser[Reply]]:
    """As `reading`, but what is here when the first bytes have come may be taken, as a channel does."""
    reader = ReplyReader(capabilities, rows, limit, make_reader(capabilities, rows, limit))

    async def parser(inbox: Inbox) -> Reply:
        await inbox.need(1)
        before, data = inbox.pos, bytes(inbox.data)
        reply = reader.try_read(inbox)
        if reply is not None:
            return reply
        assert (inbox.pos, bytes(inbox.data)) == (before, data)
        return await reader.parser(inbox)

    return parser


def said(found: Outcome) -> str:
    """All that it says, types included: a Done is more than a tuple. An error in a value has no equal but its text."""
    return repr(found)


def timid_rows(data: bytearray, pos: int, end: int, rows: list[Row]) -> int:
    """Those before one that begins with a high byte."""
    found: list[Row] = []
    while pos < end and (behind := raw_rows(data, pos, _behind_tuple(data, pos, end), found)) > pos:
        payload = found[-1][0]
        if isinstance(payload, bytes) and payload > b"\xa0":
            break
        rows.append(found[-1])
        pos = behind
    return pos


def _behind_tuple(data: bytearray, pos: int, end: int) -> int:
    size = int.from_bytes(data[pos + 4 : pos + 8], "big")
    return min(end, pos + 8 + size + (size & 1))


READERS_OF_ROWS = [
    read_in_runs(raw_rows),
    read_in_runs(picky_rows),
    read_in_runs(raw_rows, lambda: timid_rows),
    read_field_by_field(raw_row),
    None,
]


@takers
@given(usual_replies())
def test_a_usual_reply_is_read_and_means_the_same(
    make_reader: FastReplyReader, usual: tuple[Capabilities, bytes]
) -> None:
    capabilities, data = usual
    for rows in READERS_OF_ROWS:
        for chunks in cuts(data):
            assert said(outcome(reply_with(make_reader, capabilities, rows), chunks)) == said(
                outcome(reading(capabilities, rows), chunks)
            )


@takers
@given(
    st.one_of(
        st.binary(max_size=300), damaged(reply_bytes()), damaged(usual_replies().map(lambda usual: usual[1]))
    ),
    dialects,
    st.booleans(),
)
def test_whatever_else_comes_is_left_to_others_or_says_the_same(
    make_reader: FastReplyReader, data: bytes, capabilities: Capabilities, eof: bool
) -> None:
    for rows in READERS_OF_ROWS:
        for chunks in cuts(data):
            assert said(outcome(reply_with(make_reader, capabilities, rows), chunks, eof=eof)) == said(
                outcome(reading(capabilities, rows), chunks, eof=eof)
            )


@takers
@given(usual_replies(), st.integers(0, 80))
def test_a_reply_beyond_its_limit_is_not_read(
    make_reader: FastReplyReader, usual: tuple[Capabilities, bytes], limit: int
) -> None:
    capabilities, data = usual
    rows = read_in_runs(raw_rows)
    for chunks in cuts(data):
        assert said(outcome(reply_with(make_reader, capabilities, rows, limit), chunks)) == said(
            outcome(reading(capabilities, rows, limit), chunks)
        )


@takers
@pytest.mark.parametrize("long_rowid", [False, True])
def test_a_negative_number_of_rows_is_a_protocol_error(
    make_reader: FastReplyReader, long_rowid: bool
) -> None:
    capabilities = Capabilities(long_rowid=long_rowid)
    outbox = Outbox()
    outbox.raw(row(b"ab"))
    completion.put_done(outbox, capabilities, completion.Done(rows=-7))
    completion.put_cost(outbox, completion.Cost())
    replies.put_eot(outbox)
    for chunks in cuts(outbox.detach()):
        assert outcome(reply_with(make_reader, capabilities, read_in_runs(raw_rows)), chunks) == Outcome(
            error=ProtocolError
        )


@takers
def test_a_negative_row_number_is_a_protocol_error(make_reader: FastReplyReader) -> None:
    outbox = Outbox()
    outbox.raw(row(b"ab"))
    replies.put_tupid(outbox, -7)
    completion.put_done(outbox, DIALECT, completion.Done(rows=1))
    replies.put_eot(outbox)
    for chunks in cuts(outbox.detach()):
        assert outcome(reply_with(make_reader, DIALECT, read_in_runs(raw_rows)), chunks) == Outcome(
            error=ProtocolError
        )


@takers
@pytest.mark.parametrize("file", JDBC_FILES)
def test_what_jdbc_accepts_is_read_alike_on_both_paths(make_reader: FastReplyReader, file: str) -> None:
    for frame in frames(file):
        if frame.side == "S" and not frame.is_event and not frame.is_login:
            found = outcome(reply_with(make_reader, frame.capabilities, read_in_runs(raw_rows)), [frame.data])
            assert said(found) == said(outcome(reading(frame.capabilities), [frame.data])), frame


@native_only
@pytest.mark.parametrize("long_rowid", [False, True])
def test_of_several_replies_the_native_reader_reads_the_first_and_leaves_the_others(long_rowid: bool) -> None:
    capabilities = Capabilities(long_rowid=long_rowid)
    outbox = Outbox()
    outbox.raw(row(b"abc") + row(b"defg"))
    replies.put_closed(outbox)
    completion.put_insertdone(outbox, capabilities, completion.Serials(2**40, -7))
    completion.put_done(outbox, capabilities, completion.Done(0x8001, 2, -3, 4))
    completion.put_cost(outbox, completion.Cost(5, -6))
    completion.put_xactstat(outbox, completion.TransactionState(1, -2, 3))
    replies.put_eot(outbox)
    one = outbox.detach()
    inbox = Inbox()
    inbox.feed(one * 3)
    take = native.native_fast_reader(capabilities, read_in_runs(raw_rows), len(one))
    expected = feed(reading(capabilities), [one])[0]
    for place in (1, 2, 3):
        assert repr(take(inbox)) == repr(expected)
        assert inbox.pos == place * len(one)
    assert take(inbox) is None


@native_only
def test_the_native_reader_reads_a_block_without_an_ending_since_more_rows_follow() -> None:
    inbox = Inbox()
    inbox.feed((row(b"abc") + row(b"de") + EOT) * 2)
    take = native.native_fast_reader(DIALECT, read_in_runs(raw_rows), 1000)
    expected = feed(reading(DIALECT), [row(b"abc") + row(b"de") + EOT])[0]
    assert [repr(take(inbox)), repr(take(inbox))] == [repr(expected)] * 2
    inbox.feed(row(b"ab" + EOT))  # its end is a value's
    assert take(inbox) is None
    assert inbox.unread == len(row(b"ab" + EOT))


@native_only
def test_what_is_to_be_sent_after_a_block_is_sent_before_its_rows_are_decoded() -> None:
    events: list[str] = []

    def decode(data: bytearray, pos: int, end: int, rows: list[Row]) -> int:
        events.append("decode")
        return raw_rows(data, pos, end, rows)

    continuation, inbox = Continuation(), Inbox()
    take = native.native_fast_reader(DIALECT, read_in_runs(decode), 1000, continuation)
    outbox = Outbox()
    completion.put_done(outbox, DIALECT, completion.Done())
    completion.put_cost(outbox, completion.Cost())
    last = outbox.detach()
    for data, send in (
        (row(b"ab") + EOT, None),
        (row(b"ab") + EOT, lambda: events.append("send")),
        (row(b"ab") + last + EOT, lambda: events.append("too early")),
        (EOT, lambda: events.append("not a block")),
    ):
        continuation.send = send
        inbox.feed(data)
        assert take(inbox) is not None
        events.append("read")
    assert events == "decode read send decode read decode read read".split()


@native_only
def test_the_native_taker_does_not_even_decode_a_reply_whose_end_has_not_come() -> None:
    def never(data: bytearray, pos: int, end: int, rows: list[Row]) -> int:
        raise AssertionError("decoded twice")

    inbox = Inbox()
    inbox.feed(row(b"abc") + pack(">hhiii", 15, 0, 2, 0, 0))
    assert native.native_fast_reader(DIALECT, read_in_runs(never), 1000)(inbox) is None
    inbox.feed(EOT)  # without SQ_COST: not the usual end
    assert native.native_fast_reader(DIALECT, read_in_runs(never), 1000)(inbox) is None
    assert inbox.pos == 0


# Law (garbage): anything gives a reply, a park, or ProtocolError; and that too does not depend on the cuts.


@given(st.one_of(st.binary(max_size=300), damaged(reply_bytes())), dialects, st.booleans())
def test_any_bytes_give_a_reply_a_park_or_a_protocol_error(
    data: bytes, capabilities: Capabilities, runs: bool
) -> None:
    rows = read_in_runs(raw_rows) if runs else read_field_by_field(raw_row)
    for eof in (False, True):
        outcomes = {repr(outcome(reading(capabilities, rows), chunks, eof=eof)) for chunks in cuts(data)}
        assert len(outcomes) == 1
    assert outcome(reading(capabilities, rows), [data]).error is not ConnectionLost


HOSTILE = [
    pack(">hhhih", 8, 2, 0, 0, 0) + pack(">hi", 0x7FFF, 0x7FFFFFFF),  # as many columns as a short can say
    pack(">hhhihhi", 8, 2, 0, 0, 0, -1, 0),
    pack(">hhhihhi", 8, 2, 0, 0, 0, 0, -1),
    pack(">hhhihhi", 8, 2, 0, 0, 0, 0, 0x7FFFFFFF),
    pack(">hhi", 14, 0, 0x7FFFFFFF),  # a row of two gigabytes
    pack(">hhi", 14, 0, -1),
    pack(">hh", 125, 0x7FFF),
    pack(">hh", 125, -1),
    pack(">hh", 126, 0),
    pack(">hhi", 97, 0, 0x7FFFFFFF),
    pack(">hhih", 97, 0, 0, 1),
    pack(">hhih", 97, 0, 10, 0),
    pack(">hhih", 97, 0, 1, 2) + b"ab",
    pack(">hhi", 97, 9, 0),
    pack(">hh", 103, -1),
    pack(">hh", 103, 0x7FFF),
    pack(">hh", 39, 1) + b"a\0" + pack(">h", 15),  # SQ_DONE in the middle of a BYTE value
    b"\0\2",  # SQ_PREPARE, which a server never sends
    b"HTTP/1.1 400 Bad Request\r\n\r\n",
]


@pytest.mark.parametrize("beginning", HOSTILE, ids=lambda data: data[:16].hex())
def test_a_hostile_beginning_allocates_nothing(beginning: bytes) -> None:
    tracemalloc.start()
    try:
        found = outcome(reading(), [beginning])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.parked or found.error is ProtocolError
    assert peak < 256 * 1024


COLUMN = pack(">iihi", 0, 0, 2, 0) + pack(">hh", 0, 0) + pack(">hhii", 0, 0, 0, 4)
NAMED = pack(">hi", 41, 5) + pack(">h", 200) + bytes(200) + pack(">h", 0) + pack(">hhii", 0, 0, 0, 1)

ENDLESS = {
    "done": pack(">hhiii", 15, 0, 0, 0, 0) * 64,
    "rows": row(bytes(100)) * 10,
    "one row": pack(">hhi", 14, 0, 1 << 20) + bytes(1 << 15),
    "columns": pack(">hhhihhi", 8, 2, 0, 0, 0, 0x7FFF, 0) + COLUMN * 2000,
    "names of columns": pack(">hhhihhi", 8, 2, 0, 0, 0, 0, 1 << 20) + bytes(1 << 15),
    "parameters": pack(">hhh", 125, 0x7FFF, 0) + NAMED * 200,
    "databases": pack(">h", 26) + b"\0\x02ab" * 8000,
    "blob": (pack(">hh", 39, 1000) + bytes(1000)) * 40,
    "large object": pack(">hhi", 97, 0, 1 << 20) + (pack(">h", 1000) + bytes(1000)) * 40,
    "returned": pack(">hh", 103, 0x7FFF) + pack(">hhh", 2, 0, 0) * 200 + bytes(1 << 15),
    "version": pack(">hH", 53, 0xFFFF) + bytes(1 << 16),
}


@pytest.mark.parametrize("piece", [1, 100, 1 << 20], ids=["bytes", "chunks", "whole"])
@pytest.mark.parametrize("kind", ENDLESS)
def test_a_reply_without_an_end_stops_at_the_limit(kind: str, piece: int) -> None:
    data = ENDLESS[kind]
    data = data * (20_000 // len(data) + 1)
    chunks = [data[at : at + piece] for at in range(0, len(data), piece)]
    for rows in (read_in_runs(raw_rows), read_field_by_field(raw_row)):
        assert outcome(reading(rows=rows, limit=10_000), chunks) == Outcome(error=ProtocolError)


def test_a_reply_as_long_as_the_limit_is_read() -> None:
    data = row(b"abc") + row(b"defg") + pack(">hhiii", 15, 0, 2, 0, 0) + EOT
    for chunks in cuts(data):
        assert len(feed(reading(limit=len(data)), chunks)[0].rows) == 2
        assert outcome(reading(limit=len(data) - 1), chunks) == Outcome(error=ProtocolError)


def test_the_limit_of_one_reply_is_not_the_limit_of_the_next() -> None:
    inbox = Inbox()
    inbox.feed(row(bytes(50)) + EOT + row(bytes(5000)) + EOT)
    feed(lambda _: read_reply(inbox, DIALECT, read_in_runs(raw_rows), 100), [])
    assert inbox.limit == NO_LIMIT
    assert len(feed(lambda _: read_reply(inbox, DIALECT, read_in_runs(raw_rows)), [])[0].rows) == 1


def test_the_limit_of_a_reply_that_failed_is_nobodys_limit() -> None:
    inbox = Inbox()
    inbox.feed(row(bytes(500)) + EOT)
    with pytest.raises(ProtocolError):
        feed(lambda _: read_reply(inbox, DIALECT, read_in_runs(raw_rows), 100), [])
    assert inbox.limit == NO_LIMIT


# What the server says.


def test_the_first_error_is_kept_and_the_reply_is_read_to_its_end() -> None:
    outbox = Outbox()
    completion.put_error(outbox, DIALECT, completion.ServerError(-268, -100, 0, "owner.u1"))
    completion.put_error(outbox, DIALECT, completion.ServerError(-201))
    completion.put_xactstat(outbox, completion.TransactionState(2, 0, 1))
    replies.put_eot(outbox)
    for chunks in cuts(outbox.detach()):
        reply, _ = feed(reading(), chunks)
        assert reply.error == completion.ServerError(-268, -100, 0, "owner.u1")
        assert reply.transaction == completion.TransactionState(2, 0, 1)


def test_a_session_may_end_anywhere() -> None:
    assert read("0038").is_session_ended
    reply = read("0063 0001 0001 0000 0038")
    assert reply.is_session_ended and reply.transaction is not None


def test_a_server_that_goes_away_is_connection_lost() -> None:
    for data in (b"", b"\0", EOT[:1], row(b"abcd")[:-1], row(b"abcd")):
        assert outcome(reading(), [data], eof=True) == Outcome(error=ConnectionLost), data


def test_a_list_of_more_databases_than_a_short_can_count_is_a_protocol_error() -> None:
    assert outcome(reading(), [b"\0\x1a" + b"\0\2ab" * 0x8000 + b"\0\0" + EOT]).error is ProtocolError


# -- floods: what a reply may be made of without end -------------------------------------------------------------------


def test_a_value_that_was_not_requested_is_refused() -> None:
    with pytest.raises(ProtocolError, match="not requested") as caught:
        read("0027 0000 000c")
    assert (caught.value.tag, caught.value.position) == (39, 0)


@pytest.mark.parametrize("count", [1, MAX_WARNINGS, MAX_WARNINGS + 1, 5 * MAX_WARNINGS])
def test_the_first_warnings_are_kept_and_the_others_counted(count: int) -> None:
    outbox = Outbox()
    for number in range(count):
        completion.put_error(
            outbox, DIALECT, completion.ServerError(0, 0, number, "", "01U01", f"warning {number}")
        )
    reply, _ = feed(reading(), [outbox.detach() + EOT])
    assert [warning.offset for warning in reply.warnings] == [*range(min(count, MAX_WARNINGS))]
    assert reply.warnings_left_out == max(0, count - MAX_WARNINGS)


def yields(parser: Parser[object]) -> int:
    """How often the parser yields before it parks or ends."""
    found = 0
    try:
        while parser.send(None) is YIELD:
            found += 1
    except StopIteration:
        pass
    finally:
        parser.close()
    return found


@pytest.mark.parametrize(
    ("messages", "expected"), [(1, 0), (AT_ONCE - 1, 0), (AT_ONCE, 1), (10 * AT_ONCE + 5, 10)]
)
def test_a_parser_yields_after_many_messages(messages: int, expected: int) -> None:
    inbox = Inbox()
    inbox.feed(pack(">hii", Op.COST, 0, 0) * messages)
    assert yields(reading()(inbox)) == expected


def test_data_for_a_file_that_is_not_kept_counts_as_part_of_the_reply() -> None:
    piece = pack(">HH", Op.FILE_WRITE, 1000) + bytes(1000)
    data = pack(">hh", Op.FILE, 3) + piece * 20 + EOT

    def parser_of(inbox: Inbox, limit: int, keeps_files: bool) -> Parser[Reply]:
        return read_reply(inbox, DIALECT, None, limit, keeps_files=keeps_files)

    kept, _ = feed(lambda inbox: parser_of(inbox, 100, True), [data])
    dropped, _ = feed(lambda inbox: parser_of(inbox, 100_000, False), [data])
    assert kept.file_request == FileWrite(bytes(20_000)) and dropped.file_request == FileWrite(b"")
    with pytest.raises(ProtocolError, match="within its limit"):
        feed(
            lambda inbox: parser_of(inbox, 10_000, False),
            [data[at : at + 500] for at in range(0, len(data), 500)],
        )


@pytest.mark.parametrize(
    ("data", "tag", "position"),
    [
        (b"\0\x37" + bytes(8) + b"\x7f\xff", 0x7FFF, 10),  # after SQ_COST
        (b"\0\x37" + bytes(8) + pack(">hHiii", Op.DONE, 0, -1, 0, 0), Op.DONE, 10),
        (pack(">hhi", Op.TUPLE, 0, -1), Op.TUPLE, 0),
        (row(b"ab") + pack(">hhi", Op.TUPLE, 0, -1), Op.TUPLE, 10),
    ],
)
def test_the_error_of_a_message_says_which_and_where_it_is(data: bytes, tag: int, position: int) -> None:
    for chunks in cuts(data):
        with pytest.raises(ProtocolError) as caught:
            feed(reading(), chunks)
        assert (caught.value.tag, caught.value.position) == (tag, position)


def never_decoded(data: bytearray, pos: int, end: int, rows: list[Row]) -> int:
    raise DataError("no value can be decoded")


async def no_field(inbox: Inbox, end: int) -> Row:
    return ()


@pytest.mark.parametrize(
    "rows", [read_in_runs(never_decoded), read_field_by_field(no_field)], ids=["skipped", "field by field"]
)
def test_a_parser_yields_after_many_rows_that_it_reads_one_by_one(rows: RowReader) -> None:
    inbox = Inbox()
    inbox.feed(row(b"") * (3 * AT_ONCE + 1))
    assert yields(reading(rows=rows)(inbox)) == 3


def test_data_for_files_is_kept_only_where_that_is_asked_for() -> None:
    data = pack(">hhHH", Op.FILE, 3, Op.FILE_WRITE, 2) + b"ab" + EOT
    readers: list[tuple[ReplyReader, bytes]] = [
        (ReplyReader(DIALECT, None, 100), b""),
        (ReplyReader(DIALECT, None, 100, keeps_files=True), b"ab"),
    ]
    for reader, kept in readers:
        assert feed(reader.parser, [data])[0].file_request == FileWrite(kept)
