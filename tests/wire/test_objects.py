"""Large objects and the fast path: JDBC's conversations, piece by piece."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import pytest

from aioifx._speedups.inbox import YIELD
from aioifx.errors import ProtocolError
from aioifx.wire import objects, requests
from aioifx.wire.blob_replies import read_blob_reply
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.inbox import Inbox, Parser
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply, put_eot, read_reply
from aioifx.wire.requests import Request, read_request
from tests.counting import allocated
from tests.feeding import cuts, feed, outcome
from tests.wire.frames import Frame, frames, load

DIALECT = Capabilities()


def reply_of(inbox: Inbox) -> Parser[Reply]:
    return read_reply(inbox, DIALECT)


def request_of(inbox: Inbox) -> Parser[list[Request]]:
    return read_request(inbox, DIALECT)


def conversation(case: str, side: str) -> list[Frame]:
    return [frame for frame in frames("lob") if frame.case == case and frame.side == side]


def requests_in(case: str) -> list[Request]:
    return [message for frame in conversation(case, "C") for message in feed(request_of, [frame.data])[0]]


def replies_in(case: str) -> list[Reply]:
    found = []
    for frame in conversation(case, "S"):
        if frame.data[:2] not in (
            b"\0\x0e",
            b"\0\x08",
            b"\0\x27",
        ):  # rows and descriptions are in test_replies
            found.append(feed(reply_of, [frame.data])[0])
    return found


def values_in(case: str) -> list[bytes]:
    """The BYTE and TEXT values that JDBC was sent."""
    values: list[bytes] = []
    for frame in conversation(case, "S"):
        if frame.data[:2] == b"\0\x27":
            pieces: list[bytes] = []
            feed(partial(read_blob_reply, capabilities=DIALECT, take=pieces.append), [frame.data])
            values.append(b"".join(pieces))
    return values


def test_jdbc_finds_and_calls_these_routines_to_create_a_blob() -> None:
    sent = requests_in("blob_create")
    found = [message.signature for message in sent if isinstance(message, objects.FindRoutine)]
    assert found == [
        b"function informix.ifx_lo_col_sbinfo(lvarchar,ifx_lo_spec)",
        b"function informix.ifx_lo_create( ifx_lo_spec,integer,blob)",
        b"function informix.ifx_lo_close(integer)",
    ]
    calls = [message for message in sent if isinstance(message, objects.CallRoutine)]
    assert calls == [
        objects.CallRoutine(b"stores", 1, 2),
        objects.CallRoutine(b"stores", 2, 3),
        objects.CallRoutine(b"stores", 3, 1),
    ]
    assert objects.WriteObject(7, b"\1\2\3") in sent


def test_the_arguments_of_a_call_follow_it_as_a_bind() -> None:
    sent = requests_in("blob_create")
    at = sent.index(objects.CallRoutine(b"stores", 1, 2))
    bind = sent[at + 1]
    assert isinstance(bind, requests.Bind)
    column, specification = bind.entries
    assert (column.code, column.name, column.data) == (43, b"lvarchar", b"bt_blob.c1")
    assert (specification.code, specification.name, len(specification.data)) == (44, b"ifx_lo_spec", 596)


def test_what_jdbc_accepts_as_answers_to_its_calls_is_read() -> None:
    got = replies_in("blob_create")
    assert [reply.routine for reply in got if reply.routine] == [
        objects.Routine(b"stores", number) for number in (1, 2, 3)
    ]
    (_, created, closed) = [reply.returned for reply in got if reply.returned is not None]
    assert [entry.name for entry in created] == [b"blob", b""]
    assert created[0].data == bytes(range(72))
    assert [entry.data for entry in closed] == [b"\0\0\0\7"]
    assert objects.ObjectData(2, 3) in [reply.object_data for reply in got]


def test_a_smart_large_object_is_read_through_its_handle() -> None:
    assert objects.ReadObject(7, 10) in requests_in("blob_read")
    assert objects.ObjectData(0, 10, b"0123456789") in [
        reply.object_data for reply in replies_in("blob_read")
    ]


def test_a_byte_value_is_fetched_by_its_descriptor() -> None:
    (fetch,) = [message for message in requests_in("byte_read") if isinstance(message, objects.FetchBlob)]
    assert fetch.descriptor[16:20] == b"\0\0\0\x28"  # the size
    assert values_in("byte_read") == [bytes(range(40))]


def test_an_empty_byte_value_is_one_empty_piece() -> None:
    assert values_in("byte_read_0") == [b"", b""]


def test_a_text_value_of_many_pieces_is_one_value() -> None:
    assert values_in("text_read_3000") == [b"0123456789" * 300] * 2


def test_bound_byte_values_follow_their_parameters_in_pieces() -> None:
    sent = requests_in("insert_byte")
    at = next(index for index, message in enumerate(sent) if isinstance(message, objects.BlobCount))
    assert [type(message).__name__ for message in sent[at - 1 : at + 6]] == [
        "Bind", "BlobCount", "Blob", "Blob", "Blob", "Blob", "Execute",
    ]  # fmt: skip
    pieces = [message.data for message in sent if isinstance(message, objects.Blob)]
    assert [len(piece) for piece in pieces] == [1024, 1024, 452, 0]


def test_a_value_is_put_in_the_pieces_that_jdbc_sends() -> None:
    outbox = Outbox()
    objects.put_blob_count(outbox, 1)
    objects.put_blob(outbox, bytes(2500))
    (frame,) = [frame for frame in conversation("insert_byte", "C") if b"\0\x29\0\1" in frame.data]
    assert outbox.detach() in frame.data


def test_a_signature_stands_at_an_odd_place_and_pads_by_its_own_size() -> None:
    for signature in (b"function f(integer)", b"function ff(integer)"):
        (frame_like := Outbox()).u16(101)
        frame_like.u8(0)
        frame_like.long_char(signature)
        frame_like.u16(0)
        outbox = Outbox()
        objects.put_find_routine(outbox, DIALECT, signature)
        data = outbox.detach()
        assert data == frame_like.detach()
        assert len(data) % 2 == 1
        assert feed(request_of, [data + b"\0\x0c"])[0] == [objects.FindRoutine(signature)]


def test_reading_at_a_place_says_where_and_from_where() -> None:
    outbox = Outbox()
    request = objects.ReadObject(7, 100, -2, 1)
    objects.put_read_object(outbox, request)
    data = outbox.detach()
    assert data == bytes.fromhex("0061 0001 0007 00000064 7d00  ffff 00000002 00000000  0001")
    assert feed(request_of, [data + b"\0\x0c"])[0] == [request]


@pytest.mark.parametrize("data", [b"", b"x", bytes(32000), bytes(32001), bytes(100_001)], ids=len)
def test_data_of_a_large_object_comes_in_pieces_of_one_buffer(data: bytes) -> None:
    outbox = Outbox()
    objects.put_object_data(outbox, objects.ObjectData(0, len(data), data))
    put_eot(outbox)
    sent = outbox.detach()
    count = max(1, -(-len(data) // 32000))
    assert len(sent) == 2 + 2 + 4 + 2 * count + len(data) + len(data) % 2 + 2
    assert feed(reply_of, [sent])[0].object_data == objects.ObjectData(0, len(data), data)


@pytest.mark.parametrize(("mask", "size"), [("14", 56), ("15", 68)])
@pytest.mark.parametrize("described", ["56", "68"])
def test_a_descriptor_is_as_long_as_bit_70_says_and_not_as_described(
    mask: str, described: str, size: int
) -> None:
    sent = [
        message
        for frame in frames("objects15")
        if frame.case == f"text_{mask}_{described}" and frame.side == "C"
        for message in feed(partial(read_request, capabilities=frame.capabilities), [frame.data])[0]
    ]
    fetched = [len(message.descriptor) for message in sent if isinstance(message, objects.FetchBlob)]
    bound = [len(message.entries[0].data) for message in sent if isinstance(message, requests.Bind)]
    assert fetched == [size] and bound == [size, size]


def test_a_negative_size_is_an_error_without_pieces() -> None:
    reply, _ = feed(reply_of, [bytes.fromhex("0061 0000 ffffff9c 0000 000c")])
    assert reply.object_data == objects.ObjectData(0, -100)


def test_data_beyond_the_limit_of_a_reply_is_refused_before_it_arrives() -> None:
    with pytest.raises(
        ProtocolError, match=r"^SQ_LODATA of 2147483647 bytes, beyond the limit of the reply$"
    ):
        feed(reply_of, [bytes.fromhex("0061 0000 7fffffff")])
    with pytest.raises(ProtocolError, match=r"^SQ_LODATA of 93 bytes, beyond the limit of the reply$"):
        feed(
            partial(read_reply, capabilities=Capabilities(), limit=100), [bytes.fromhex("0061 0000 0000005d")]
        )


@pytest.mark.parametrize(
    "messages",
    [
        "0061 0002 00000003" * 2,
        "0061 0000 ffffffff 0000" * 2,
        "0061 0000 00000001 0001 6100 0061 0002 00000003",
    ],
    ids=["writes", "errors", "both"],
)
def test_two_results_in_one_reply_are_refused(messages: str) -> None:
    with pytest.raises(ProtocolError, match=r"^more than one SQ_LODATA$"):
        feed(reply_of, [bytes.fromhex(messages) + b"\0\x0c"])


def test_the_data_of_one_read_may_come_in_several_messages() -> None:
    messages = bytes.fromhex("0061 0000 00000001 0001 6100 0061 0000 00000002 0002 6263 000c")
    for chunks in cuts(messages):
        assert feed(reply_of, chunks)[0].object_data == objects.ObjectData(0, 3, b"abc")


def test_an_error_in_one_of_several_messages_has_its_position() -> None:
    first, following = "0061 0000 00000001 0001 6100", "0061 0002 00000003 000c"
    for chunks in cuts(bytes.fromhex(first + following)):
        with pytest.raises(ProtocolError) as raised:
            feed(reply_of, chunks)
        assert (raised.value.tag, raised.value.position) == (0x61, 12)


def test_the_data_of_many_messages_is_joined_once() -> None:
    size, count, inbox = 1000, 500, Inbox()
    message = bytes.fromhex("0061 0000 000003e8 03e8") + bytes(size)
    parser = reply_of(inbox)

    def step(data: bytes) -> None:
        inbox.feed(data)
        with suppress(StopIteration):
            while parser.send(None) is YIELD:
                pass

    assert allocated(step, [message] * count + [b"\0\x0c"]) < 4 * size * count


def test_a_record_of_change_data_capture_is_data_of_a_large_object() -> None:
    record = bytes.fromhex(load("cdc_frames_14_10")["frames"][0]["hex"])
    outbox = Outbox()
    objects.put_object_data(outbox, objects.ObjectData(0, len(record), record))
    put_eot(outbox)
    for chunks in cuts(outbox.detach()):
        assert feed(reply_of, chunks)[0].object_data == objects.ObjectData(0, len(record), record)


@pytest.mark.parametrize(
    "data",
    [
        "0027 0001 6100 000c",  # a BYTE value that does not end
        "0061 0000 00000003 0002 6162 0002 6364 000c",  # more than announced
        "0061 0000 00000003 0000 000c",  # a piece without bytes
        "0061 0003 00000000 000c",  # an unknown kind
    ],
)
def test_pieces_that_do_not_fit_together_are_a_protocol_error(data: str) -> None:
    for chunks in cuts(bytes.fromhex(data)):
        assert outcome(reply_of, chunks, eof=True).error is ProtocolError


@pytest.mark.parametrize(("descriptor", "handle"), [(0, 0), (0x7FFF, 0x7FFF), (0x8000, -0x8000), (65_540, 4)])
def test_a_descriptor_is_cut_to_16_bits(descriptor: int, handle: int) -> None:
    assert objects.handle_of(descriptor) == handle
