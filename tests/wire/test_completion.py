from __future__ import annotations

import pytest

from aioifx.wire import completion
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply
from tests.feeding import cuts, feed
from tests.wire.frames import frames
from tests.wire.reply_reading import read, reading

BLOB = b"\0\x27"


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("command_368", Reply(error=completion.ServerError(-368, 0, 7))),
        ("command_937", Reply(error=completion.ServerError(-937, 0, 7, "tok", "U0001", "boom text"))),
        ("command_0", Reply(warnings=(completion.ServerError(0, 0, 7, "tok", "01U01", "warn text"),))),
        ("command_100", Reply(no_rows=completion.ServerError(100, 0, 7, "tok"))),
    ],
)
def test_an_error_of_a_special_code_has_a_layout_of_its_own(case: str, expected: Reply) -> None:
    data = next(frame.data for frame in frames("errors15") if frame.case == case and frame.side == "S")
    for chunks in cuts(data):
        assert feed(reading(), chunks)[0] == expected


def test_text_that_cannot_be_decoded_does_not_cost_the_connection() -> None:
    data = "000d fed5 0000 00000000 0002 ff20 000c"
    assert read(data, Capabilities(encoding="utf-8")).error == completion.ServerError(-299, 0, 0, "\ufffd ")
    assert read(data, Capabilities(encoding="latin-1")).error == completion.ServerError(-299, 0, 0, "ÿ ")


@pytest.mark.parametrize(("case", "serial"), [("text_14_56", 0x05060708), ("text_15_56", 0x090A0B0C)])
def test_the_serial_is_the_end_of_a_done(case: str, serial: int) -> None:
    """JDBC's getSerial gave these numbers."""
    done = [
        reply.done
        for frame in frames("objects15")
        if frame.case == case and frame.side == "S" and not frame.is_event and frame.data[:2] != BLOB
        for reply in [feed(reading(frame.capabilities), [frame.data])[0]]
    ]
    assert [end.serial for end in done if end is not None and end.serial] == [serial]


def test_a_long_rowid_dialect_counts_with_eight_bytes() -> None:
    outbox = Outbox()
    completion.put_done(outbox, Capabilities(long_rowid=True), completion.Done(1, 2**40, 2**41, 7))
    data = outbox.detach()
    assert len(data) == 2 + 22
    assert read(data.hex() + "000c", Capabilities(long_rowid=True)).done == completion.Done(
        1, 2**40, 2**41, 7
    )


def test_an_int8_of_nothing_is_zero() -> None:
    reply = read("005e 0000 00000000 00000000 0000000000000000 000c")
    assert reply.serials == completion.Serials(0, 0)
