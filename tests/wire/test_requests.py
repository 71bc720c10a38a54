"""Requests: what JDBC sends is read and put back byte for byte; anything may come, and nothing breaks."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.errors import ConnectionLost, ProtocolError
from aioifx.sqltypes import SqlType
from aioifx.wire import objects, requests, routines, session_requests
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.inbox import Inbox, Parser
from aioifx.wire.outbox import Outbox
from aioifx.wire.requests import Request, read_request
from tests.feeding import Outcome, cuts, feed, outcome
from tests.wire.frames import JDBC_FILES, frames, load
from tests.wire.putting import put_group
from tests.wire.strategies import conversations, damaged, dialects, groups, request_bytes

DIALECT = Capabilities()


def reading(
    capabilities: Capabilities = DIALECT, limit: int = requests.MAX_REQUEST
) -> Callable[[Inbox], Parser[list[Request]]]:
    def parser_of(inbox: Inbox) -> Parser[list[Request]]:
        return read_request(inbox, capabilities, limit)

    return parser_of


def read(hexadecimal: str, capabilities: Capabilities = DIALECT) -> list[Request]:
    return feed(reading(capabilities), [bytes.fromhex(hexadecimal)])[0]


def put(capabilities: Capabilities, messages: Sequence[Request]) -> bytes:
    outbox = Outbox()
    put_group(outbox, capabilities, messages)
    return outbox.detach()


# Law (transcripts): what the reference client sends is read, and put again it is the same bytes.


@pytest.mark.parametrize("file", JDBC_FILES)
def test_everything_jdbc_sends_is_read_and_put_back_byte_for_byte(file: str) -> None:
    count = 0
    for frame in frames(file):
        if frame.side != "C" or frame.is_event or frame.is_login:
            continue
        try:
            wholes = [feed(reading(frame.capabilities), chunks) for chunks in cuts(frame.data)]
            messages = wholes[0][0]
            assert all(other == messages for other, _ in wholes)
            assert all(
                parks <= len(chunks) for (_, parks), chunks in zip(wholes, cuts(frame.data), strict=True)
            )
            assert put(frame.capabilities, messages).hex() == frame.data.hex()
        except Exception as error:
            error.add_note(repr(frame))
            raise
        count += 1
    assert count == CLIENT_FRAMES[file]


# How many there are; a file that shrinks, or a loader that skips, must not pass unnoticed.
CLIENT_FRAMES = {
    "batch": 94, "callable": 23, "cancel": 13, "errors": 44, "errors15": 21, "lob": 85, "login": 46,
    "metadata": 200, "objects15": 72, "outputs15": 5, "owners15": 42, "prepared": 86, "protocols15": 71,
    "put": 101, "scroll": 83, "select": 238, "session": 225, "transactions": 60, "types15": 87,
}  # fmt: skip


@pytest.mark.parametrize("file", JDBC_FILES)
def test_the_messages_are_those_that_the_recording_names(file: str) -> None:
    # The recorder's own words are the second witness: a parser and a putter may agree and both be wrong.
    for frame in frames(file):
        if frame.side != "C" or frame.is_event or frame.is_login or "(" in frame.means:
            continue
        if "..." in frame.means or "SQ_PUT" in frame.means:
            continue
        named = [part.removeprefix("SQ_").removeprefix("SQLI") for part in frame.means.split()]
        found = [NAMES[type(message)] for message in read_messages(frame.data, frame.capabilities)]
        assert Counter(found) == Counter(named) - Counter(["EOT"]), frame


def read_messages(data: bytes, capabilities: Capabilities) -> list[Request]:
    return feed(reading(capabilities), [data])[0]


NAMES: dict[type, str] = {
    requests.Prepare: "PREPARE",
    requests.RetType: "RET_TYPE",
    objects.FetchBlob: "FETCHBLOB",
    objects.BlobCount: "BBIND",
    routines.FindNumbered: "GETROUTINE",
    routines.DescribeRoutine: "FPDESCRIBE",
    objects.Blob: "BLOB",
    requests.Command: "COMMAND",
    requests.CurName: "CURNAME",
    requests.Id: "ID",
    requests.Open: "OPEN",
    requests.Execute: "EXECUTE",
    requests.Fetch: "NFETCH",
    requests.ScrollFetch: "SFETCH",
    requests.Close: "CLOSE",
    requests.Release: "RELEASE",
    session_requests.Begin: "BEGIN",
    session_requests.Commit: "CMMTWORK",
    session_requests.Rollback: "RBWORK",
    requests.Describe: "NDESCRIBE",
    requests.Scroll: "SCROLL",
    requests.Hold: "HOLD",
    requests.AutoFree: "AUTOFREE",
    requests.WantDone: "WANTDONE",
    requests.DescribeInput: "CIDESCRIBE",
    requests.AutoGenKeys: "AUTOGENKEYS",
    requests.Bind: "BIND",
    session_requests.DbOpen: "DBOPEN",
    session_requests.Ack: "ACK",
    session_requests.PamResponse: "RESPONSE",
    session_requests.DbList: "DBLIST",
    session_requests.Version: "VERSION",
    session_requests.Exit: "EXIT",
    session_requests.Info: "INFO",
    session_requests.Protocols: "PROTOCOLS",
    session_requests.SetSavepoint: "SETSVPT",
    session_requests.ReleaseSavepoint: "RELSVPT",
    session_requests.RollbackSavepoint: "RBACKSVPT",
}


def test_the_sql_of_metadata_is_what_the_driver_is_known_to_prepare() -> None:
    for method, texts in load("metadata_sql")["methods"].items():
        sent = [
            message.sql.decode()
            for frame in frames("metadata")
            if frame.case == method and frame.side == "C"
            for message in read_messages(frame.data, frame.capabilities)
            if isinstance(message, (requests.Prepare, requests.Command))
        ]
        assert sent == texts, method


def test_the_session_requests_of_two_other_clients_are_read() -> None:
    offer, info, _ = load("session_init_requests")["frames"]
    assert read(offer["hex"]) == [session_requests.Protocols(bytes.fromhex("fffc7ffc3c8c8a"))]
    assert read(info["hex"]) == [session_requests.Info(((b"DBTEMP", b"/tmp"), (b"SUBQCACHESZ", b"10")))]
    for entry in (offer, info):
        assert put(DIALECT, read(entry["hex"])).hex() == entry["hex"]


def test_the_requests_of_gbase_are_read() -> None:
    for entry in load("gbase8s_messages")["frames"]:
        if entry["dir"] == "C":
            data = bytes.fromhex(entry["hex"]) + b"\0\x0c"  # recorded without their end
            messages = read_messages(data, DIALECT)
            assert put(DIALECT, messages) == data
            assert len(messages) == 1


def test_the_text_login_of_other_clients_is_not_a_request() -> None:
    for entry in load("csdk_text_login")["frames"]:
        assert outcome(reading(), [bytes.fromhex(entry["hex"])], eof=True).error is ProtocolError


# Law (round trip): read(put(m)) == m, in every layout.


@given(groups())
def test_whatever_is_put_is_read_again(group: tuple[Capabilities, list[Request]]) -> None:
    capabilities, messages = group
    data = put(capabilities, messages)
    for chunks in cuts(data):
        found, parks = feed(reading(capabilities), chunks)
        assert found == messages
        assert parks <= len(chunks)


@given(conversations(2))
def test_a_group_ends_where_it_ends(conversation: tuple[Capabilities, list[list[Request]]]) -> None:
    capabilities, (messages, following) = conversation
    inbox = Inbox()
    inbox.feed(put(capabilities, messages) + put(capabilities, following))
    assert feed(lambda _: read_request(inbox, capabilities), [])[0] == messages
    assert feed(lambda _: read_request(inbox, capabilities), [])[0] == following
    assert inbox.unread == 0


# Law (garbage): anything gives messages, a park, or ProtocolError; and that too does not depend on the cuts.


@given(st.one_of(st.binary(max_size=300), damaged(request_bytes())), dialects)
def test_any_bytes_give_messages_a_park_or_a_protocol_error(data: bytes, capabilities: Capabilities) -> None:
    for eof in (False, True):
        outcomes = {repr(outcome(reading(capabilities), chunks, eof=eof)) for chunks in cuts(data)}
        assert len(outcomes) == 1
    assert outcome(reading(capabilities), [data]).error is not ConnectionLost


@pytest.mark.parametrize(
    "beginning",
    [
        pack(">hhi", 2, 0, 0x7FFFFFFF),  # SQL of two gigabytes
        pack(">hhi", 2, 0, -1),
        pack(">hh", 5, 0x7FFF),  # as many parameters as a short can say
        pack(">hh", 5, -1),
        pack(">hih", 17, 0x7FFFFFFF, 0x7FFF),
        pack(">hih", 17, -2, 1),
        pack(">hhh", 100, 1, 0x7FFF),
        pack(">hhh", 100, 1, -1),
        pack(">hhh", 134, 3, -1),
        pack(">hhh", 134, 2, 0x7FFF),
        pack(">hhh", 134, 9, 1),
        pack(">hhhhh", 81, 6, 0x7FFF, 0, 0) + b"\0\1a\0" * 8,
        pack(">hhhhh", 81, 5, 6, 0, 0),
        pack(">hhhih", 97, 2, 1, 0x7FFFFFFF, 32000),
        pack(">hhhih", 97, 2, 1, -1, 32000),
        pack(">hhhih", 97, 7, 1, 1, 32000),
        pack(">hbi", 101, 0, 0x7FFFFFFF),
        b"\0\6" * 1000,
        b"\0\x7f",  # SQ_ACCEPT, which a client never sends
        b"\xff\xff",
    ],
    ids=lambda data: data[:14].hex(),
)
def test_a_hostile_beginning_allocates_nothing(beginning: bytes) -> None:
    tracemalloc.start()
    try:
        found = outcome(reading(), [beginning])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.parked or found.error is ProtocolError
    assert peak < 256 * 1024


@pytest.mark.parametrize(
    "message",
    [
        pack(">hhi", 2, 0, -1),
        pack(">hh", 5, -1),
        pack(">hih", 17, -2, 1),
        pack(">hhh", 100, 1, -1),
        pack(">hhh", 134, 2, -1),
        pack(">hhh", 134, 3, -1),
        pack(">hhhih", 97, 0, 1, -1, 32000),
    ],
    ids=lambda data: data.hex(),
)
def test_a_negative_count_or_size_is_a_protocol_error(message: bytes) -> None:
    for chunks in cuts(message):
        assert outcome(reading(), chunks) == Outcome(error=ProtocolError)


@pytest.mark.parametrize(
    "message",
    [
        b"\0\6" * 512,
        pack(">hh", 39, 1000) + bytes(1000),
        pack(">hhi", 2, 0, 1000) + bytes(1000),
        pack(">hh", 5, 0x7FFF) + pack(">hhh", 0, -1, 0) * 200,
        pack(">hhhhh", 81, 6, 0x7FFF, 0, 0) + b"\0\1a\0\0\1a\0" * 100,
    ],
    ids=lambda data: data[:8].hex(),
)
@pytest.mark.parametrize("piece", [1, 100, 1 << 20], ids=["bytes", "chunks", "whole"])
def test_a_request_without_an_end_stops_at_the_limit(message: bytes, piece: int) -> None:
    data = message * (20_000 // len(message) + 1)
    chunks = [data[at : at + piece] for at in range(0, len(data), piece)]
    assert outcome(reading(limit=10_000), chunks) == Outcome(error=ProtocolError)


def test_a_request_as_long_as_the_limit_is_read() -> None:
    data = put(DIALECT, [session_requests.Begin(), session_requests.Commit()])
    for chunks in cuts(data):
        assert feed(reading(limit=len(data)), chunks)[0] == [
            session_requests.Begin(),
            session_requests.Commit(),
        ]
        assert outcome(reading(limit=len(data) - 1), chunks) == Outcome(error=ProtocolError)


def test_a_client_that_goes_away_is_connection_lost() -> None:
    assert outcome(reading(), [], eof=True) == Outcome(error=ConnectionLost)
    assert outcome(reading(), [b"\0\2\0"], eof=True) == Outcome(error=ConnectionLost)


# Bytes as documented, written out once by hand.


def test_prepare_pads_its_text_and_asks_for_a_description() -> None:
    outbox = Outbox()
    requests.put_prepare(outbox, DIALECT, b"select * from test", 0)
    expected = "0002 0000 00000012 73656c656374202a2066726f6d2074657374 0016 0031"
    assert outbox.detach() == bytes.fromhex(expected)
    requests.put_prepare(outbox, Capabilities(long_text=False), b"odd", 2)
    assert outbox.detach() == bytes.fromhex("0002 0002 0003 6f646400 0016 0031")


def test_a_cursor_is_opened_and_fetched_from_in_one_group() -> None:
    outbox = Outbox()
    requests.put_id(outbox, 0)
    requests.put_curname(outbox, b"_ifxc0000000000001")
    requests.put_open(outbox)
    requests.put_id(outbox, 0)
    requests.put_fetch(outbox, 4096)
    requests.put_eot(outbox)
    assert outbox.detach() == bytes.fromhex(
        "0004 0000 0003 0012 5f6966786330303030303030303030303031 0006 0004 0000 0009 00001000 0000 000c"
    )


def test_a_scroll_fetch_has_every_field_that_the_server_waits_for() -> None:
    outbox = Outbox()
    requests.put_scroll_fetch(outbox, 6, 3, 4096)
    assert outbox.detach() == bytes.fromhex("0017 0006 00000003 00001000")


def test_a_wanted_type_is_named_only_where_names_travel() -> None:
    outbox = Outbox()
    requests.put_ret_type(
        outbox, DIALECT, [SqlType(2, 4), SqlType(44, 72, extended_name="blob"), SqlType(52, 8)]
    )
    assert outbox.detach() == bytes.fromhex(
        "0064 0001 0003  0002 00000004  002c 0000 0004 626c6f62 00000048  0034 00000008"
    )


def test_more_messages_or_pairs_than_anybody_sends_are_a_protocol_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pairs = pack(">hhhhh", 81, 6, 0x7FFF, 0, 0) + b"\0\2ab\0\0" * 0x8000
    assert outcome(reading(), [pairs + bytes(4) + b"\0\x0c"]).error is ProtocolError
    monkeypatch.setattr(requests, "_MAX_MESSAGES", 100)
    assert feed(reading(), [b"\0\6" * 100 + b"\0\x0c"])[0] == [requests.Open()] * 100
    assert outcome(reading(), [b"\0\6" * 101 + b"\0\x0c"]).error is ProtocolError
