from __future__ import annotations

from collections.abc import Sequence

import pytest

from aioifx.server.protocol.client_files import ClientFiles
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
from aioifx.wire.requests import Request
from tests.feeding import feed_all
from tests.server.talking import Talk, error_of


class Client:
    """A client with files in memory, which answers messages of SQ_FILE."""

    def __init__(self, talk: Talk, **content: bytes) -> None:
        self.files = dict(content)
        self.seen: list[FileRequest] = []
        self.before = b""
        """What came before the first message of SQ_FILE."""
        self.override: dict[type, Sequence[Request]] = {}
        self._name = ""
        self._part = b""
        talk.conversation._context.engine.use_client_files(
            ClientFiles(talk.conversation._context, self._ask, self._push)
        )

    def _push(self, data: bytes) -> None:
        self._part += data

    def _ask(self, data: bytes) -> Sequence[Request]:
        data, self._part = self._part + data, b""
        start = data.rindex(b"\0\x62\0")
        self.before += data[:start]
        request = _request_in(data[start:])
        self.seen.append(request)
        if type(request) in self.override:
            return self.override[type(request)]
        match request:
            case FileOpen(name):
                self._name = name.decode()
                return []
            case FileRead():
                return [FileData(self.files[self._name])]
            case FileWrite(written):
                self.files[self._name] = written
                return [FileWritten(len(written))]
            case FileClose():
                return []


def _request_in(data: bytes) -> FileRequest:
    async def read(inbox: Inbox) -> FileRequest:
        await inbox.need(2)
        assert inbox.u16() == Op.FILE
        return await files.read_file_request(inbox, Capabilities())

    request, _, unread = feed_all(read, [data])
    assert unread == 0
    return request


@pytest.fixture
def table(talk: Talk) -> Talk:
    talk.command("CREATE TABLE t (k INT, b BLOB)")
    return talk


PUT_PHOTO = "INSERT INTO t VALUES (1, FILETOBLOB('photo', 'client'))"
GET_PHOTO = "SELECT LOTOFILE(b, 'copy!', 'client') FROM t"


def test_a_file_is_read_in_the_middle_of_an_insert(table: Talk) -> None:
    client = Client(table, photo=b"a photo")
    reply = table.command(PUT_PHOTO)
    assert reply.error is None
    assert [done.rows for done in reply.dones] == [1]
    assert client.seen == [FileOpen(b"photo", 0o644), FileRead(32000), FileClose()]
    assert client.before[:2] == b"\0\x08"  # SQ_DESCRIBE of the command


def test_a_file_is_written_in_the_middle_of_a_fetch(table: Talk) -> None:
    data = bytes(range(256)) * 10_000
    client = Client(table, photo=data)
    table.command(PUT_PHOTO)
    client.seen.clear()
    assert table.select(GET_PHOTO) == [("copy",)]
    assert client.files["copy"] == data
    assert [type(message) for message in client.seen] == [FileOpen, FileWrite, FileClose]


@pytest.mark.parametrize(
    ("override", "isamcode", "closes"),
    [
        ({FileOpen: [FileFailed(13)]}, 13, False),
        ({FileRead: [FileFailed(9)]}, 9, False),
        ({FileRead: []}, 0, False),
        ({FileRead: [FileWritten(5)]}, 0, False),
    ],
)
def test_a_file_that_the_client_cannot_read_fails_the_insert(
    table: Talk, override: dict[type, Sequence[Request]], isamcode: int, closes: bool
) -> None:
    client = Client(table, photo=b"a photo")
    client.override = override
    assert error_of(table.command(PUT_PHOTO)) == (-619, isamcode, "photo")
    assert (FileClose() in client.seen) is closes
    assert table.select("SELECT COUNT(*) FROM t") == [(0,)]


@pytest.mark.parametrize(
    ("override", "isamcode", "closes"),
    [
        ({FileOpen: [FileFailed(13)]}, 13, False),
        ({FileWrite: [FileFailed(28)]}, 28, False),
        ({FileWrite: [FileWritten(3)]}, 0, True),
        ({FileWrite: []}, 0, True),
    ],
)
def test_a_file_that_the_client_cannot_write_fails_the_fetch(
    table: Talk, override: dict[type, Sequence[Request]], isamcode: int, closes: bool
) -> None:
    client = Client(table, photo=b"a photo")
    table.command(PUT_PHOTO)
    client.seen.clear()
    client.override = override
    reply = table.command(
        "INSERT INTO t SELECT 2, NULL::BLOB FROM t WHERE LOTOFILE(b, 'copy!', 'client') IS NULL"
    )
    assert error_of(reply) == (-619, isamcode, "copy")
    assert (FileClose() in client.seen) is closes
    assert table.select("SELECT COUNT(*) FROM t") == [(1,)]


def test_an_interrupt_ends_a_transfer_after_its_message(table: Talk) -> None:
    client = Client(table, photo=b"a photo")
    table.command(PUT_PHOTO)
    client.seen.clear()
    engine = table.conversation._context.engine
    normal = client._ask

    def interrupting(data: bytes) -> Sequence[Request]:
        if not client.seen:
            engine.interrupt()
        return normal(data)

    engine.use_client_files(ClientFiles(table.conversation._context, interrupting, client._push))
    reply = table.command("DELETE FROM t WHERE LOTOFILE(b, 'copy!', 'client') IS NOT NULL")
    assert error_of(reply)[:2] == (-213, -157)
    assert [type(message) for message in client.seen] == [FileOpen, FileWrite, FileClose]
    assert table.select("SELECT COUNT(*) FROM t") == [(1,)]


def test_an_answer_without_a_question_is_refused(talk: Talk) -> None:
    assert error_of(talk.say(FileData(b"unexpected")))[0] == -999
