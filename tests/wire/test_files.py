"""SQ_FILE in both directions."""

from __future__ import annotations

from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.errors import ProtocolError
from aioifx.wire import files
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.files import (
    FileClose,
    FileData,
    FileFailed,
    FileOpen,
    FileRead,
    FileRequest,
    FileWrite,
    FileWritten,
)
from aioifx.wire.inbox import Inbox
from aioifx.wire.opcodes import Op
from aioifx.wire.outbox import Outbox
from aioifx.wire.requests import read_request
from tests.feeding import feed

DIALECT = Capabilities()


def request_in(data: bytes) -> FileRequest:
    """The message after the tag of SQ_FILE."""

    async def read(inbox: Inbox) -> FileRequest:
        await inbox.need(2)
        assert inbox.u16() == 98
        return await files.read_file_request(inbox, DIALECT)

    return feed(read, [data])[0]


def sent(request: FileRequest) -> bytes:
    outbox = Outbox()
    files.put_file_request(outbox, request)
    outbox.u16(12)
    return outbox.detach()


@pytest.mark.parametrize(
    ("request_", "data"),
    [
        (FileOpen(b"abc", 1, 2, 3), "00620000 0003 61626300 00000001 00000002 00000003 000c"),
        (FileClose(), "00620001 000c"),
        (FileRead(32000), "00620002 7d00 ffffffff 000c"),
        (FileRead(1024, 5), "00620002 0400 00000005 000c"),
        (FileWrite(b"abc"), "00620003 006b 0003 61626300 000c"),
        (FileWrite(b""), "00620003 000c"),
    ],
)
def test_a_request_has_this_form(request_: FileRequest, data: str) -> None:
    assert sent(request_) == bytes.fromhex(data)
    assert request_in(bytes.fromhex(data)) == request_


@given(st.integers(0, 100_000))
def test_a_file_goes_in_pieces_to_the_client(size: int) -> None:
    data = bytes(range(251)) * (size // 251 + 1)
    assert request_in(sent(FileWrite(data[:size]))) == FileWrite(data[:size])


@given(st.integers(0, 100_000), st.sampled_from([0, 1, 1000, 32000]))
def test_a_file_goes_in_pieces_to_the_server(size: int, buffer: int) -> None:
    size = size if buffer != 1 else size % 500
    data = (bytes(range(251)) * (size // 251 + 1))[:size]
    outbox = Outbox()
    files.put_file_data(outbox, data, buffer)
    outbox.u16(12)
    assert feed(lambda inbox: read_request(inbox, DIALECT), [outbox.detach()])[0] == [FileData(data)]


def test_an_answer_states_the_bytes_written() -> None:
    outbox = Outbox()
    files.put_file_written(outbox, 70_000)
    outbox.u16(12)
    data = outbox.detach()
    assert data.hex() == "006b00011170000c"
    assert feed(lambda inbox: read_request(inbox, DIALECT), [data])[0] == [FileWritten(70_000)]


@pytest.mark.parametrize("code", [9, 13])
def test_a_client_refuses_a_file_by_an_error(code: int) -> None:
    outbox = Outbox()
    files.put_file_failed(outbox, code)
    outbox.u16(12)
    data = outbox.detach()
    assert data.hex() == f"000d{code:04x}0000000000000000000c"  # as JDBC sends it
    assert feed(lambda inbox: read_request(inbox, DIALECT), [data])[0] == [FileFailed(code)]


@pytest.mark.parametrize(
    "data", ["00620009 000c", "00620001 000d", "00620003 0027 0001 6100", "00620002 7d00 ffffffff 000d"]
)
def test_a_broken_request_is_a_protocol_error(data: str) -> None:
    with pytest.raises(ProtocolError):
        request_in(bytes.fromhex(data))


@pytest.mark.parametrize(
    "data",
    [
        "006affffffff",
        "006a7fffffff",
        "006a00000003 006a 0000",
        "006a00000001 006a 0002 6162",
        "006a00000003 000c",
    ],
)
def test_a_broken_answer_is_a_protocol_error(data: str) -> None:
    with pytest.raises(ProtocolError):
        feed(lambda inbox: read_request(inbox, DIALECT), [bytes.fromhex(data)])


@pytest.mark.parametrize("size", [0, 1, 10])
@pytest.mark.parametrize("keep", [False, True])
def test_pieces_without_end_stop_at_the_limit_however_small_they_are(
    monkeypatch: pytest.MonkeyPatch, size: int, keep: bool
) -> None:
    monkeypatch.setattr(files, "MAX_FILE_DATA", 1000)
    piece = pack(">HH", Op.FILE_WRITE, size) + bytes(size + size % 2)
    endless = [b"\0\3" + piece, *[piece] * 1000]
    with pytest.raises(ProtocolError, match="more than 1000 bytes"):
        feed(lambda inbox: files.read_file_request(inbox, DIALECT, keep=keep), endless)
