"""The frames of tests/vectors are the reference: each decodes into the messages that its recorder named."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aioifx.tracing.decoder import LOGIN, LOGIN_REPLY, UNDECODED, Decoder, EncodedRows, Message, name_of
from aioifx.tracing.fields import View, fields_of
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.handshake import LoginReply, LoginRequest, login_frame, put_login, put_login_reply
from aioifx.wire.opcodes import LoginType, Op
from aioifx.wire.outbox import Outbox
from tests.feeding import random_cut
from tests.wire.frames import JDBC_FILES, VECTORS, Frame, frames, load
from tests.wire.strategies import damaged, reply_bytes, request_bytes

FILES = (*JDBC_FILES, "locales", "pam15")

NOT_CONVERSATIONS = {
    "binds": "parameter blocks of SQ_BIND without messages",
    "cdc_frames_14_10": "the data of large objects, not messages",
    "collections15": "binds of collections, without the messages around them",
    "csdk_text_login": "the text form of the login, which aioifx does not send",
    "jdbc_ids15_login_prefix": "the first 80 bytes of logins",
    "metadata_sql": "SQL texts",
    "native_values_14_10": "values without messages",
    "nmap_informix_1150_constants": "pieces of messages",
    "protocols_masks": "masks without messages",
    "tuple_payloads": "rows without messages",
    "tuples": "rows without messages",
}
NAMES_OF_JDBC = {
    "SQ_SQLISETSVPT": "SQ_SETSVPT",
    "SQ_SQLIRELSVPT": "SQ_RELSVPT",
    "SQ_SQLIRBACKSVPT": "SQ_RBSVPT",
}


def names(messages: list[Message]) -> list[str]:
    return [message.name for message in messages for _ in range(message.count)]


def conversations(file: str) -> Iterator[list[Frame]]:
    bytes_only = [frame for frame in frames(file) if not frame.is_event]
    for _, case in groupby(bytes_only, key=lambda frame: frame.case):
        yield list(case)


def decoder_of(first: Frame) -> Decoder:
    return Decoder(starts_with_login=first.is_login, capabilities=first.capabilities)


def fed(decoder: Decoder, frame: Frame) -> list[Message]:
    return decoder.sent(frame.data) if frame.side == "C" else decoder.received(frame.data)


def named(means: str) -> list[str] | None:
    """The messages that a recorder noted; None if it did not, or not all."""
    if "login" in means:
        return [LOGIN if "request" in means else LOGIN_REPLY]
    without_fields = re.sub(r"\([^()]*(\([^()]*\)[^()]*)*\)", "", means)
    if (
        " pre " in without_fields
        or " ... " in means
        or not re.search(r"SQ_(EOT|EXIT)$", without_fields.strip())
    ):
        return None
    found: list[str] = re.findall(r"SQ_[A-Z0-9_]+", without_fields)
    return [NAMES_OF_JDBC.get(name, name) for name in found]


def test_each_file_of_vectors_is_decoded_or_listed() -> None:
    others = {"gbase8s_login", "gbase8s_messages", "session_init_requests"}
    files = {path.stem for path in VECTORS.glob("*.json")}
    assert files == {*FILES, *NOT_CONVERSATIONS, *others}


def without_pieces(found: list[str]) -> list[str]:
    """Some recorders noted one SQ_BLOB for all pieces of a value."""
    return [
        name for name, before in zip(found, ["", *found], strict=False) if name != "SQ_BLOB" or before != name
    ]


def test_each_frame_decodes_without_remainder_into_the_messages_that_were_noted() -> None:
    compared: Counter[str] = Counter()
    for file in FILES:
        for case in conversations(file):
            decoder = decoder_of(case[0])
            for frame in case:
                messages = fed(decoder, frame)
                assert UNDECODED not in names(messages), frame
                assert sum(message.size for message in messages) == len(frame.data), frame
                if (expected := named(frame.means)) is not None:
                    assert without_pieces(names(messages)) == without_pieces(expected), frame
                    compared[file] += 1
            assert decoder.end() == []
    assert {*FILES} - {*compared} == set()


def test_the_login_of_another_client_and_its_messages() -> None:
    decoder = Decoder()
    request, reply = load("gbase8s_login")["frames"]
    assert names(decoder.sent(bytes.fromhex(request["hex"]))) == [LOGIN]
    assert names(decoder.received(bytes.fromhex(reply["hex"]))) == [LOGIN_REPLY]
    for entry in load("session_init_requests")["frames"]:
        decoder = Decoder(starts_with_login=False)
        messages = decoder.sent(bytes.fromhex(entry["hex"]))
        assert names(messages)[-1] == "SQ_EOT" and UNDECODED not in names(messages)


@pytest.mark.parametrize("index", range(8))
def test_messages_of_gbase(index: int) -> None:
    entry = load("gbase8s_messages")["frames"][index]
    decoder = Decoder(starts_with_login=False)
    data = bytes.fromhex(entry["hex"])
    messages = decoder.sent(data) if entry["dir"] == "C" else decoder.received(data)
    assert sum(message.size for message in messages) == len(data)
    assert UNDECODED not in names(messages)


def merged(messages: list[Message]) -> list[tuple[bool, str, int, int, list[Any]]]:
    """Runs that were cut, in one piece again."""
    found: list[tuple[bool, str, int, int, list[Any]]] = []
    for message in messages:
        contents = [*message.contents]
        if isinstance(message.content, EncodedRows):
            contents = [payload for run in message.contents for payload in run.payloads]
            assert len(contents) == message.count
        is_run = message.name in ("SQ_TUPLE", "SQ_BLOB", "SQ_PUT")
        if is_run and found and found[-1][:3] == (message.is_sent, message.name, message.exchange):
            last = found.pop()
            found.append((*last[:3], last[3] + message.size, last[4] + contents))
        else:
            found.append((message.is_sent, message.name, message.exchange, message.size, contents))
    return found


@pytest.mark.parametrize("file", ["lob", "login", "put", "objects15"])
def test_any_cut_gives_the_same_messages(file: str) -> None:
    for case in conversations(file):
        whole, cut = decoder_of(case[0]), decoder_of(case[0])
        for number, frame in enumerate(case):
            expected = fed(whole, frame)
            pieces = [
                message
                for piece in random_cut(frame.data, number)
                for message in fed(cut, frame._replace(data=piece))
            ]
            assert merged(pieces) == merged(expected), frame


def test_a_reply_has_the_number_of_its_request() -> None:
    case = next(case for case in conversations("login") if case[0].case == "connect_db")
    decoder = decoder_of(case[0])
    messages = [message for frame in case for message in fed(decoder, frame)]
    requests = [message.exchange for message in messages if message.is_sent]
    replies = [message.exchange for message in messages if not message.is_sent]
    assert sorted({*requests}) == [*range(max(requests) + 1)]
    assert {*replies} <= {*requests}
    assert messages[0].name == LOGIN and messages[0].exchange == 0
    protocols = [message.exchange for message in messages if message.name == "SQ_PROTOCOLS"]
    assert protocols[0] == protocols[1]


def test_a_message_of_pam_without_an_answer_does_not_count_as_a_reply() -> None:
    case = next(case for case in conversations("pam15") if case[0].case == "style_1_then_4")
    decoder = decoder_of(case[0])
    messages = [message for frame in case for message in fed(decoder, frame)]
    (info,) = [message.exchange for message in messages if message.name == "SQ_INFO"]
    (accept,) = [message.exchange for message in messages if message.name == "SQ_ACCEPT"]
    (response,) = [message.exchange for message in messages if message.name == "SQ_RESPONSE"]
    assert accept == response == info - 1
    assert messages[-1].exchange == max(message.exchange for message in messages if message.is_sent)


def test_the_login_states_the_code_set_of_later_texts() -> None:
    decoder, outbox = Decoder(), Outbox()
    login = LoginRequest(
        b"u", b"", b"s", ((b"CLIENT_LOCALE", b"en_us.8859-1"), (b"DB_LOCALE", b"en_us.utf8"))
    )
    put_login(outbox, login_frame(login), b"")
    decoder.sent(outbox.detach())
    assert decoder.code_set.codec == "utf-8"
    assert decoder.capabilities.encoding == "utf-8"


@pytest.mark.parametrize("locale", [b"", b"xx_xx.nonsense", b"\xff\xff"])
def test_an_unknown_locale_changes_nothing(locale: bytes) -> None:
    decoder, outbox = Decoder(), Outbox()
    put_login(outbox, login_frame(LoginRequest(b"u", b"", b"s", ((b"CLIENT_LOCALE", locale),))), b"")
    assert names(decoder.sent(outbox.detach())) == [LOGIN]
    assert decoder.code_set.codec == "latin-1" or decoder.code_set.name


@given(st.data())
@settings(max_examples=80)
def test_any_bytes_become_messages_of_all_their_sizes(data: st.DataObject) -> None:
    decoder = Decoder(starts_with_login=data.draw(st.booleans()))
    is_sent = data.draw(st.booleans())
    originals = request_bytes() if is_sent else reply_bytes()
    given = data.draw(st.one_of(originals, damaged(originals), st.binary(max_size=60)))
    feed = decoder.sent if is_sent else decoder.received
    messages = [message for piece in random_cut(given, 1) for message in feed(piece)]
    messages += decoder.end()
    assert sum(message.size for message in messages) == len(given)
    assert all(message.size > 0 for message in messages)
    view = View(decoder.code_set, values=data.draw(st.booleans()))
    for message in messages:
        json.dumps(fields_of(message, view), allow_nan=False)


# -- bytes that are no messages ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_sent", [True, False])
def test_an_unknown_message_and_all_after_it_are_undecoded(is_sent: bool) -> None:
    decoder = Decoder(starts_with_login=False, capabilities=Capabilities())
    feed = decoder.sent if is_sent else decoder.received
    begin = Op.CLOSE.to_bytes(2, "big")
    first = feed(begin + b"\x77\x77abc")
    assert names(first) == ["SQ_CLOSE", UNDECODED]
    assert first[1].size == 5 and first[1].content.data == b"\x77\x77abc"
    assert first[1].content.reason == "unknown message 30583"
    later = feed(b"\0\x0c")
    assert names(later) == [UNDECODED] and later[0].size == 2
    assert decoder.end() == []


def test_a_message_that_is_not_whole_is_undecoded_at_the_end() -> None:
    decoder = Decoder(starts_with_login=False)
    assert decoder.sent(b"\0\x02\0\0\0\0\0\x09sel") == []
    (rest,) = decoder.end()
    assert (rest.name, rest.size, rest.content.reason) == (UNDECODED, 11, "the connection ended")
    assert decoder.end() == []


def test_an_answer_in_another_protocol_is_undecoded() -> None:
    decoder = Decoder()
    (message,) = decoder.received(b"HTTP/1.1 400 Bad Request\r\n")
    assert message.name == UNDECODED and message.size == 26


def test_a_message_whose_begin_has_left_the_buffer_keeps_its_size() -> None:
    decoder = Decoder(starts_with_login=False)
    whole = b"\0\5\0\2" + b"\0\2\0\0\0\0\0\0\0\7"  # SQ_BIND of two values, the first one
    assert decoder.sent(whole) == []
    broken = b"\0\x2b\0\0\0\0\0\0\0\0\xff\xff\xff\xff"  # an LVARCHAR of -1 bytes
    (message,) = decoder.sent(broken)
    assert message.name == UNDECODED and message.size == len(whole) + len(broken)
    assert message.content.data.endswith(broken)


def test_a_row_knows_the_columns_of_its_statement() -> None:
    case = next(case for case in conversations("select") if case[0].case == "autofree")
    decoder = decoder_of(case[0])
    messages = [message for frame in case for message in fed(decoder, frame)]
    (rows,) = [message for message in messages if message.name == "SQ_TUPLE"]
    assert rows.count == 5 and len(rows.content.payloads) == 5
    assert [column.name for column in rows.content.columns] == ["id", "name", "pad"]


def test_rows_are_counted_if_they_are_not_kept() -> None:
    case = next(case for case in conversations("select") if case[0].case == "autofree")
    decoder = Decoder(starts_with_login=False, keeps_rows=False)
    messages = [message for frame in case for message in fed(decoder, frame)]
    (rows,) = [message for message in messages if message.name == "SQ_TUPLE"]
    assert rows.count == 5 and rows.size == 290 and rows.content.payloads == []


def test_a_redirect_is_a_login_reply() -> None:
    outbox = Outbox()
    put_login_reply(outbox, LoginReply(LoginType.REDIRECT, redirect=b"a|b|9088"))
    decoder = Decoder()
    (reply,) = decoder.received(outbox.detach())
    assert reply.name == LOGIN_REPLY and reply.content.redirect == b"a|b|9088"


def test_names_of_messages() -> None:
    assert name_of(Op.NFETCH) == "SQ_NFETCH"
    assert name_of(9999) == "SQ_9999"
