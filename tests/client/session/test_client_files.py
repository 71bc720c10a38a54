"""Files that the server reads and writes at the client: allowed in one directory, refused elsewhere, never a hang."""

from __future__ import annotations

import asyncio
import io
import os
import threading
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from aioifx.client.session import client_files
from aioifx.client.session.client_files import joined, open_in
from aioifx.errors import (
    ConnectionLost,
    InterfaceError,
    NotSupportedError,
    OperationalError,
    ProtocolError,
)
from aioifx.testing.messages import EOT, described, done, error, ints, takes
from aioifx.testing.script import (
    PREPARE,
    Delayed,
    Disconnect,
    Exchange,
    closing,
    opening,
    release,
    select_ints,
)
from aioifx.wire.completion import ServerError
from aioifx.wire.files import (
    FileClose,
    FileOpen,
    FileRead,
    FileRequest,
    FileWrite,
    put_file_data,
    put_file_request,
)
from aioifx.wire.opcodes import StatementType
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import MAX_WARNINGS, Reply
from tests.injection import eventually
from tests.scripted import C1, cancelled_or_late, end_early, options_with, talking

QUERY = "select export(?) from t"
INSERT = "insert into t values(import(?))"
AFTER = select_ints(9, 7)


def asks(*wanted: FileRequest) -> bytes:
    outbox = Outbox()
    for request in wanted:
        put_file_request(outbox, request)
    outbox.raw(EOT)
    return outbox.detach()


def opens(name: str, offset: int = 0) -> bytes:
    return asks(FileOpen(name.encode("latin-1"), 0, 0, offset))


CLOSES = asks(FileClose())
ENDED = done(1) + EOT
FAILED = error(-619) + EOT
BAD_OPEN = bytes.fromhex("000d 000d 0000000000000000") + EOT
BAD_FILE = bytes.fromhex("000d 0009 0000000000000000") + EOT


def query(*file_exchanges: Exchange, last: bytes = EOT, end: bytes = ints(5) + ENDED) -> list[Exchange]:
    """A query whose server asks for files, in the order of requests and answers.

    Args:
        last: the answer to the last request.
        end: the rest of the reply.
    """
    answers = [answer for _, answer in file_exchanges]
    sent = [request for request, _ in file_exchanges]
    script: list[Exchange] = [
        (PREPARE, described(2, C1)),
        ("Id(2) DescribeInput", takes(C1.type)),
        (opening(2, bound=True), answers[0]),
        *zip(sent[1:], answers[1:], strict=True),
        (last, end),
        *closing(2),
    ]
    return script


def writing(name: str, *pieces: bytes) -> list[Exchange]:
    """LOTOFILE: the server writes a file."""
    script: list[Exchange] = [("", opens(name))]
    answer: bytes | str = EOT
    for piece in pieces:
        script.append((answer, asks(FileWrite(piece))))
        answer = b"\0\x6b" + len(piece).to_bytes(4, "big") + EOT
    return [*script, (answer, CLOSES)]


def reading(name: str, *amounts: int, expected: list[bytes]) -> list[Exchange]:
    """FILETOBLOB: the server reads a file."""
    script: list[Exchange] = [("", opens(name))]
    answer = EOT
    for amount, data in zip(amounts, expected, strict=True):
        script.append((answer, asks(FileRead(4, amount))))
        answer = b"\0\x6a" + len(data).to_bytes(4, "big")
        for at in range(0, len(data), 4):
            piece = data[at : at + 4]
            answer += b"\0\x6a" + len(piece).to_bytes(2, "big") + piece + b"\0" * (len(piece) & 1)
        answer += EOT
    return [*script, (answer, CLOSES)]


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


# --- allowed --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["photo.jpg", "/etc/photo.jpg", r"C:\tmp\photo.jpg", "../../photo.jpg"])
async def test_the_server_writes_a_file_into_the_directory(tmp_path: Path, name: str) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"what was there before")
    async with talking(query(*writing(name, b"abc", b"defg")), AFTER, client_files=tmp_path) as (conn, _):
        assert await conn.fetch(QUERY, 1) == [(5,)]
        assert (tmp_path / "photo.jpg").read_bytes() == b"abcdefg"
        assert await conn.fetch("select c1 from t") == [(7,)]
    assert names_in(tmp_path) == ["photo.jpg"]


@pytest.mark.parametrize("writes", [True, False])
async def test_an_empty_value_makes_an_empty_file(tmp_path: Path, writes: bool) -> None:
    (tmp_path / "out").write_bytes(b"what was there before")
    exchanges = writing("out", b"") if writes else [("", b""), (EOT, CLOSES)]
    exchanges[0] = ("", asks(FileOpen(b"out", 0o644, os.O_WRONLY | os.O_CREAT)))
    async with talking(query(*exchanges), AFTER, client_files=tmp_path) as (conn, _):
        assert await conn.fetch(QUERY, 1) == [(5,)]
        assert (tmp_path / "out").read_bytes() == b""
        assert await conn.fetch("select c1 from t") == [(7,)]


async def test_a_file_that_is_opened_for_reading_and_not_read_is_left_alone(tmp_path: Path) -> None:
    async with talking(query(("", opens("in")), (EOT, CLOSES)), AFTER, client_files=tmp_path) as (conn, _):
        assert await conn.fetch(QUERY, 1) == [(5,)]
        assert await conn.fetch("select c1 from t") == [(7,)]
    assert names_in(tmp_path) == []


async def test_the_server_reads_a_file_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"0123456789")
    exchanges = reading("in.txt", 6, -1, 5, expected=[b"012345", b"6789", b""])
    async with talking(query(*exchanges), AFTER, client_files=str(tmp_path)) as (conn, _):
        assert await conn.fetch(QUERY, 1) == [(5,)]
        assert await conn.fetch("select c1 from t") == [(7,)]


async def test_several_files_between_the_rows_of_one_reply(tmp_path: Path) -> None:
    first, second = writing("a", b"1"), writing("b", b"2")
    script = [*first, (EOT, ints(5) + opens("b")), *second[1:]]
    async with talking(query(*script, end=ints(6) + done(2) + EOT), client_files=tmp_path) as (conn, _):
        assert await conn.fetch(QUERY, 1) == [(5,), (6,)]
        assert [(tmp_path / name).read_bytes() for name in "ab"] == [b"1", b"2"]


async def test_a_file_may_be_opened_at_an_offset(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"0123456789")
    exchanges = reading("in", -1, expected=[b"89"])
    exchanges[0] = ("", opens("in", 8))
    async with talking(query(*exchanges), client_files=tmp_path) as (conn, _):
        assert await conn.fetch(QUERY, 1) == [(5,)]


async def test_a_statement_without_rows(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"01")
    exchanges = reading("in", -1, expected=[b"01"])
    script: list[Exchange] = [
        (PREPARE, described(2, kind=StatementType.INSERT)),
        ("Id(2) DescribeInput", takes(C1.type)),
        ("Id(2) Bind(1) Execute", exchanges[0][1]),
        *exchanges[1:],
        (EOT, done(1) + EOT),
        release(2),
    ]
    async with talking(script, client_files=tmp_path) as (conn, _):
        assert (await conn.execute(INSERT, 1)).rowcount == 1


async def test_a_function_opens_files() -> None:
    opened: list[tuple[str, str]] = []
    written = io.BytesIO()
    written.close = lambda: None  # type: ignore[method-assign]

    def open_file(name: str, mode: str) -> BinaryIO:
        opened.append((name, mode))
        return written if mode == "wb" else io.BytesIO(b"data")

    script = [*writing("/any/näme!", b"abc"), *reading("in", -1, expected=[b"data"])]
    script[3] = (EOT, script[3][1])
    async with talking(query(*script), client_files=open_file) as (conn, _):
        assert await conn.fetch(QUERY, 1) == [(5,)]
    assert opened == [("/any/näme!", "wb"), ("in", "rb")]
    assert written.getvalue() == b"abc"


# --- refused --------------------------------------------------------------------------------------------------------


async def test_without_the_option_a_file_is_refused_by_name() -> None:
    script = query(("", opens("/etc/passwd")), last=BAD_OPEN, end=FAILED)
    async with talking(script, AFTER) as (conn, _):
        message = r"^the server asks for the client's file '/etc/passwd'; client_files= allows that$"
        with pytest.raises(NotSupportedError, match=message) as caught:
            await conn.fetch(QUERY, 1)
        assert caught.value.sql == QUERY
        assert not caught.value.outcome_unknown
        assert await conn.fetch("select c1 from t") == [(7,)]


async def test_a_server_that_goes_on_after_a_refusal_gets_nothing() -> None:
    script = query(
        ("", opens("out")),
        (BAD_OPEN, asks(FileWrite(b"abc"))),
        (BAD_FILE, asks(FileRead(4, -1))),
        (BAD_FILE, CLOSES),
    )
    async with talking(script, AFTER) as (conn, _):
        with pytest.raises(NotSupportedError) as caught:
            await conn.fetch(QUERY, 1)
        assert caught.value.outcome_unknown
        assert caught.value.__notes__ == ["the server has executed the statement nevertheless"]
        assert await conn.fetch("select c1 from t") == [(7,)]


@pytest.mark.parametrize(
    "sql", ["select LOTOFILE(b, 'x', 'client') from t", "insert into t values(filetoblob('x', 'CLIENT'))"]
)
async def test_a_statement_that_names_the_client_is_refused_before_it_is_sent(sql: str) -> None:
    async with talking() as (conn, peer):
        for call in (conn.fetch(sql), conn.execute(sql), conn.executemany(sql, [()])):
            with pytest.raises(NotSupportedError, match=r"client_files= allows that$"):
                await call
        assert peer.requests == []


@pytest.mark.parametrize("name", ["", ".", "..", "/", "a/..", "a/", "a\0b", "C:x", "a\nb", "con:"], ids=ascii)
async def test_a_name_that_is_not_safe_is_refused(tmp_path: Path, name: str) -> None:
    script = query(("", opens(name)), last=BAD_OPEN, end=FAILED)
    async with talking(script, AFTER, client_files=tmp_path) as (conn, _):
        with pytest.raises(NotSupportedError, match=r": the name is not allowed$"):
            await conn.fetch(QUERY, 1)
        assert await conn.fetch("select c1 from t") == [(7,)]
    assert names_in(tmp_path) == []


async def test_links_and_devices_are_refused(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "secret"
    inside.mkdir()
    outside.write_bytes(b"secret")
    (inside / "link").symlink_to(outside)
    (inside / "folder").mkdir()
    for mode in ("rb", "wb"):
        with pytest.raises(OSError, match="link is a symbolic link"):
            open_in(inside, "link", mode)
        with pytest.raises(OSError):
            open_in(inside, "folder", mode)
        if hasattr(os, "mkfifo"):
            if not (inside / "pipe").exists():
                os.mkfifo(inside / "pipe")
            with pytest.raises(OSError):
                open_in(inside, "pipe", mode)
    assert outside.read_bytes() == b"secret"


async def test_a_missing_file_is_an_error_with_its_reason(tmp_path: Path) -> None:
    script = query(("", opens("nothing")), (EOT, asks(FileRead(4, -1))), last=BAD_FILE, end=FAILED)
    async with talking(script, AFTER, client_files=tmp_path) as (conn, _):
        with pytest.raises(
            OperationalError, match=r"^the client's file 'nothing': No such file or directory$"
        ) as caught:
            await conn.fetch(QUERY, 1)
        assert isinstance(caught.value.__cause__, FileNotFoundError)
        assert await conn.fetch("select c1 from t") == [(7,)]


async def test_an_exception_of_the_function_refuses_the_file() -> None:
    def refuse(name: str, mode: str) -> Any:
        raise PermissionError(f"not {name}")

    script = query(("", opens("x")), (EOT, asks(FileWrite(b"abc"))), last=BAD_FILE, end=FAILED)
    async with talking(script, AFTER, client_files=refuse) as (conn, _):
        with pytest.raises(OperationalError, match=r"^the client's file 'x': not x$"):
            await conn.fetch(QUERY, 1)
        assert await conn.fetch("select c1 from t") == [(7,)]


class Stop(BaseException):
    """An exception of the user that is not an Exception."""


@pytest.mark.parametrize("kind", [asyncio.CancelledError, GeneratorExit, SystemExit, StopIteration, Stop])
async def test_whatever_the_function_raises_the_server_is_answered(kind: type[BaseException]) -> None:
    def refuse(name: str, mode: str) -> Any:
        raise kind

    script = query(("", opens("x")), (EOT, asks(FileWrite(b"abc"))), last=BAD_FILE, end=FAILED)
    async with talking(script, AFTER, client_files=refuse) as (conn, _):
        with pytest.raises(OperationalError if kind is StopIteration else kind):
            await conn.fetch(QUERY, 1)
        assert await conn.fetch("select c1 from t") == [(7,)]


class _ShortFile(io.BytesIO):
    def write(self, data: Any) -> int:
        return super().write(data[:1])


@pytest.mark.parametrize(
    ("file", "request_", "reason"),
    [
        (io.StringIO("text"), FileRead(4, -1), "read: expected bytes, got str"),
        (None, FileRead(4, -1), "'NoneType' object has no attribute 'read'"),
        (io.StringIO(), FileWrite(b"abc"), "string argument expected, got 'bytes'"),
        (_ShortFile(), FileWrite(b"abc"), "1 of 3 bytes were written"),
    ],
)
async def test_a_file_of_the_function_that_is_not_binary_is_refused(
    file: Any, request_: FileRequest, reason: str
) -> None:
    script = query(("", opens("x")), (EOT, asks(request_)), last=BAD_FILE, end=FAILED)
    async with talking(script, AFTER, client_files=lambda name, mode: file) as (conn, _):
        with pytest.raises(OperationalError) as caught:
            await conn.fetch(QUERY, 1)
        assert str(caught.value) == f"the client's file 'x': {reason}"
        assert await conn.fetch("select c1 from t") == [(7,)]


@pytest.mark.parametrize("request_", [FileRead(4, -1), FileWrite(b"abc")])
async def test_a_file_that_the_server_has_closed_is_not_opened_again(
    tmp_path: Path, request_: FileRequest
) -> None:
    (tmp_path / "x").write_bytes(b"before")
    script = query(("", opens("x")), (EOT, CLOSES), (EOT, asks(request_)), last=BAD_FILE, end=FAILED)
    async with talking(script, AFTER, client_files=tmp_path) as (conn, _):
        with pytest.raises(OperationalError, match="the client's file '': the server has not opened it"):
            await conn.fetch(QUERY, 1)
        assert await conn.fetch("select c1 from t") == [(7,)]
    assert (tmp_path / "x").read_bytes() == b"before"


def test_the_option_is_checked(tmp_path: Path) -> None:
    for wrong in (str(tmp_path / "nothing"), 7):
        with pytest.raises(InterfaceError, match=r"^client_files: expected "):
            options_with(client_files=wrong)


# --- the conversation -----------------------------------------------------------------------------------------------


async def test_a_statement_that_asks_in_the_middle_of_a_batch_ends_the_connection(tmp_path: Path) -> None:
    script: list[Exchange] = [
        (PREPARE, described(2, kind=StatementType.INSERT)),
        ("Id(2) DescribeInput", takes(C1.type)),
        ("Begin", done() + EOT),
        ("Id(2) Bind(1) Execute", opens("x")),
    ]
    async with talking(script, client_files=tmp_path) as (conn, _):
        with pytest.raises(ProtocolError, match="in the middle of a batch"):
            await conn.executemany(INSERT, [(1,)])


@pytest.mark.parametrize("at", [0, 1, 2])
async def test_a_lost_connection_closes_the_file(tmp_path: Path, at: int) -> None:
    script = query(*writing("out", b"abc"))[: 3 + at]
    script[-1] = (script[-1][0], Disconnect())
    files: list[BinaryIO] = []

    def open_file(name: str, mode: str) -> BinaryIO:
        files.append(open_in(tmp_path, name, mode))
        return files[-1]

    async with talking(script, client_files=open_file) as (conn, _):
        with pytest.raises(ConnectionLost):
            await conn.fetch(QUERY, 1)
        await eventually(lambda: all(file.closed for file in files))


@cancelled_or_late
async def test_a_call_cancelled_or_timed_out_ends_the_conversation_and_writes_no_more(
    end: str, tmp_path: Path
) -> None:
    held = Delayed(asks(FileWrite(b"abc")))
    script = query(("", opens("out")), (EOT, held), last=BAD_FILE, end=error(-213, -157) + EOT)
    async with talking(script, AFTER, client_files=tmp_path, command_timeout=60) as (conn, _):
        await end_early(end, held, conn, conn.fetch(QUERY, 1))
        assert await conn.fetch("select c1 from t") == [(7,)]
    assert names_in(tmp_path) == []


async def test_the_parts_of_a_reply_between_requests_have_one_limit(tmp_path: Path) -> None:
    many = ints(*range(80_000))  # more than half of what a fetch of 32,767 bytes may have
    script = query(("", many + CLOSES), (EOT, many + CLOSES))[:-3]
    async with talking(script, client_files=tmp_path) as (conn, _):
        with pytest.raises(ProtocolError, match="longer than"):
            await conn.fetch(QUERY, 1)
        assert conn.is_closed()


async def test_the_data_of_files_is_not_part_of_that_limit(tmp_path: Path) -> None:
    piece = bytes(30_000)
    pieces = [piece] * 60  # 1.8 MB
    async with talking(query(*writing("a", *pieces)), client_files=tmp_path) as (conn, _):
        assert await conn.fetch(QUERY, 1) == [(5,)]
    assert (tmp_path / "a").read_bytes() == piece * 60


@pytest.mark.parametrize("allowed", [False, True])
async def test_a_server_that_does_not_wait_for_an_answer_is_refused(tmp_path: Path, allowed: bool) -> None:
    script = query(("", CLOSES * 1000))[:3]
    async with talking(script, client_files=tmp_path if allowed else None) as (conn, _):
        with pytest.raises(ProtocolError, match="before the answer"):
            await conn.fetch(QUERY, 1)
        assert conn.is_closed()


async def test_a_reply_that_ends_before_the_answer_to_its_request_is_refused(tmp_path: Path) -> None:
    """The server would take the answer for its next request."""
    script = query(("", opens("in") + ints(5) + ENDED))[:3]
    async with talking(script, client_files=tmp_path) as (conn, _):
        with pytest.raises(ProtocolError, match="before the answer"):
            await conn.fetch(QUERY, 1)
        assert conn.is_closed()


async def test_the_answer_is_built_in_the_thread_that_reads_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server may ask for a large file in pieces of a byte; that takes seconds."""
    threads: list[threading.Thread] = []

    def put(outbox: Outbox, data: bytes, buffer: int) -> None:
        threads.append(threading.current_thread())
        put_file_data(outbox, data, buffer)

    monkeypatch.setattr(client_files, "put_file_data", put)
    (tmp_path / "in").write_bytes(b"abcdef")
    script = query(*reading("in", -1, expected=[b"abcdef"]))
    async with talking(script, client_files=tmp_path) as (conn, _):
        assert await conn.fetch(QUERY, 1) == [(5,)]
    assert len(threads) == 1 and threads[0] is not threading.current_thread()


def test_parts_of_a_reply_are_joined_without_a_copy_of_the_rows() -> None:
    before, after = Reply(rows=[(1,)]), Reply(rows=[(2,)])
    rows = before.rows
    assert joined(before, after).rows is rows
    assert rows == [(1,), (2,)]


def test_a_part_of_a_reply_does_not_replace_the_error_and_warnings_of_an_earlier_one() -> None:
    first, second = ServerError(-1, 0), ServerError(-2, 0)
    many = [ServerError(0, 0, number) for number in range(MAX_WARNINGS + 5)]
    before = Reply(error=first, warnings=tuple(many[:60]), warnings_left_out=2)
    whole = joined(before, Reply(error=second, warnings=tuple(many[60:]), warnings_left_out=3))
    assert whole.error is first
    assert [*whole.warnings] == many[:MAX_WARNINGS]
    assert whole.warnings_left_out == 10
