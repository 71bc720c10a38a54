"""Traces of real connections to the embedded server, and sinks and peers that fail."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trustme

import aioifx
from aioifx import TraceEvent
from aioifx.client.observation.observation import MeteredChannel
from aioifx.errors import ConnectError, ConnectionLost, InterfaceError
from aioifx.server import Server, ServerOptions, serve
from aioifx.tracing import recorder
from aioifx.tracing.events import event_of
from aioifx.tracing.recorder import ChannelTracer
from tests.certificates import certified, trusting


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serve() as running:
        yield running


class Recorded(list[TraceEvent]):
    """The events of a trace, and a way to wait for one."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = asyncio.Event()

    def __call__(self, event: TraceEvent) -> None:
        self.append(event)
        self._changed.set()

    async def until(self, *, kind: str = "", name: str = "") -> None:
        while not any(kind in ("", event.kind) and name in ("", event.name) for event in self):
            self._changed.clear()
            await self._changed.wait()


def events_in(path: Path) -> list[TraceEvent]:
    found = [event_of(line) for line in path.read_text("utf-8").splitlines()]
    return [event for event in found if event is not None]


def headers_in(path: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [line for line in lines if "aioifx_trace" in line]


async def test_a_connection_from_open_to_closed(server: Server) -> None:
    events = Recorded()
    async with aioifx.connect(server.dsn, trace=events) as conn:
        await conn.fetch("SELECT tabname FROM systables WHERE tabid < ?", 3)
        bytes_in, bytes_out = conn._session.channel.bytes_in, conn._session.channel.bytes_out
        so_far = [*events]
    assert sum(event.size for event in so_far if event.kind == "sent") == bytes_out
    assert sum(event.size for event in so_far if event.kind == "received") == bytes_in
    assert [event.kind for event in events][:3] == ["open", "sent", "received"]
    assert [event.name for event in events][1:3] == ["LOGIN", "LOGIN_REPLY"]
    assert events[-1].kind == "closed"
    assert len({event.connection for event in events}) == 1
    assert [event.time for event in events] == sorted(event.time for event in events)
    names = {event.name for event in events}
    assert {"SQ_PREPARE", "SQ_BIND", "SQ_OPEN", "SQ_NFETCH", "SQ_TUPLE", "SQ_EXIT"} <= names
    (rows,) = [event for event in events if event.name == "SQ_TUPLE"]
    assert rows.count == 2 and rows.fields == {}
    (prepare,) = [event for event in events if event.name == "SQ_PREPARE"]
    assert prepare.fields == {"sql": "SELECT tabname FROM systables WHERE tabid < ?", "placeholders": 1}
    (described,) = [event for event in events if event.name == "SQ_DESCRIBE"]
    assert described.exchange == prepare.exchange


async def test_connections_of_a_pool_share_a_file(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    async with aioifx.create_pool(server.dsn, min_size=2, max_size=2, trace=path) as pool:
        async with pool.acquire() as one, pool.acquire() as other:
            await one.fetchval("SELECT COUNT(*) FROM systables")
            await other.fetchval("SELECT COUNT(*) FROM systables")
    events = events_in(path)
    (header,) = headers_in(path)
    assert header["process"] == os.getpid() and header["values"] is False
    connections = {event.connection for event in events}
    assert len(connections) == 2
    for number in connections:
        kinds = [event.kind for event in events if event.connection == number]
        assert kinds[0] == "open" and kinds[-1] == "closed"
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_file_gets_a_header_each_time_it_is_opened(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    for _ in range(2):
        async with aioifx.connect(server.dsn, trace=str(path), trace_values=True):
            pass
    assert [header["values"] for header in headers_in(path)] == [True, True]
    assert len({event.connection for event in events_in(path)}) == 2


def test_a_file_is_closed_without_connections(tmp_path: Path) -> None:
    options = aioifx.ConnectOptions(host="127.0.0.1", user="u", server="s", trace=tmp_path / "x")
    tracer = options.tracer
    assert isinstance(tracer, ChannelTracer) and tracer._file is not None
    tracer.check()
    assert tracer._file._close is not None
    tracer.on_failure("a", ConnectError("b"))
    assert tracer._file._close is None
    assert [event.kind for event in events_in(tmp_path / "x")] == ["failed"]


@pytest.mark.parametrize(
    "address",
    [
        "informix://u@h/d?server=s&{}={}",
        "jdbc:informix-sqli://h:1/d:INFORMIXSERVER=s;user=u;{}={}",
        "HOST=h;SERVICE=9088;SERVER=s;UID=u;{}={}",
    ],
)
@pytest.mark.parametrize("option", ["trace", "trace_values", "TRACE", "Trace_Values"])
def test_an_address_cannot_begin_a_trace(address: str, option: str, tmp_path: Path) -> None:
    """Of an address from elsewhere, nothing is written here."""
    path = tmp_path / "trace.jsonl"
    value = "true" if "values" in option.lower() else path
    with pytest.raises(InterfaceError, match=r"(?i)^(trace|trace_values|environment): "):
        aioifx.parse_dsn(address.format(option, value))
    assert not path.exists()


async def test_values_are_recorded_if_they_are_wanted(server: Server) -> None:
    events = Recorded()
    async with aioifx.connect(server.dsn, trace=events, trace_values=True) as conn:
        row = await conn.fetchrow(
            "SELECT ?::int, ?::varchar(20), NULL::int FROM systables WHERE tabid = 1", 7, "é"
        )
    assert tuple(row or ()) == (7, "é", None)
    (bind,) = [event for event in events if event.name == "SQ_BIND"]
    assert [entry["value"] for entry in bind.fields["values"]] == [7, "é"]
    (rows,) = [event for event in events if event.name == "SQ_TUPLE"]
    assert rows.fields == {"rows": [[7, "é", None]]}


async def test_the_urgent_byte_is_an_event(server: Server) -> None:
    events = Recorded()
    async with aioifx.connect(server.dsn, trace=events) as conn:
        slow = "SELECT COUNT(*) FROM systables a, systables b, systables c, systables d, systables e"
        query = asyncio.ensure_future(conn.fetchval(slow))
        await events.until(name="SQ_NFETCH")
        conn.cancel()
        with pytest.raises(aioifx.QueryCanceled):
            await query
    (urgent,) = [event for event in events if event.kind == "urgent"]
    assert urgent.fields == {"byte": "42"} and urgent.size == 1


async def test_an_address_that_does_not_answer_is_an_event(unused_tcp_port: int) -> None:
    events = Recorded()
    with pytest.raises(ConnectError):
        await aioifx.connect(
            host="127.0.0.1", port=unused_tcp_port, user="u", password="topsecret", server="s", trace=events
        )
    (failed,) = events
    assert (failed.kind, failed.connection, failed.fields["error"]) == ("failed", 0, "ConnectError")
    assert "Connection refused" in failed.fields["reason"] and "topsecret" not in str(events)


async def peer(answer: bytes) -> asyncio.Server:
    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(answer)
        writer.close()

    return await asyncio.start_server(serve_one, "127.0.0.1", 0)


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0\x20\2\x3c\0", b""])
async def test_another_kind_of_server(answer: bytes) -> None:
    events = Recorded()
    other = await peer(answer)
    port = other.sockets[0].getsockname()[1]
    async with other:
        with pytest.raises(aioifx.DatabaseError):
            await aioifx.connect(
                host="127.0.0.1", port=port, user="u", password="p", server="s", trace=events
            )
        await events.until(kind="closed")
    received = [event for event in events if event.kind == "received"]
    assert [event.name for event in received] == ["UNDECODED"] * bool(answer)
    assert all("hex" not in event.fields for event in received)
    assert events[-1].fields["error"] in ("ConnectError", "ConnectionLost", "ProtocolError")


async def test_an_observed_connection_is_traced_as_any_other(server: Server) -> None:
    ended: list[aioifx.Operation] = []

    class Ending:
        def on_start(self, operation: aioifx.Operation) -> None:
            pass

        def on_end(self, operation: aioifx.Operation) -> None:
            ended.append(operation)

    events = Recorded()
    async with aioifx.connect(server.dsn, trace=events, observer=Ending()) as conn:
        await conn.fetch("SELECT tabname FROM systables WHERE tabid < 3")
        assert isinstance(conn._session.channel, MeteredChannel)
        received = [event for event in events if event.kind == "received"]
        assert sum(event.size for event in received) == sum(operation.bytes_in for operation in ended)
    assert [operation.name for operation in ended] == ["connect", "fetch"]
    assert all(operation.bytes_in > 0 for operation in ended)


async def test_tls_is_traced_below_its_records() -> None:
    authority = trustme.CA()
    events = Recorded()
    async with serve(ServerOptions(ssl=certified(authority, "127.0.0.1"))) as server:
        async with aioifx.connect(server.dsn, ssl=trusting(authority), trace=events) as conn:
            assert await conn.fetchval("SELECT 1 FROM systables WHERE tabid = 1") == 1
    assert events[0].fields["tls"].startswith("TLSv1")
    assert "SQ_TUPLE" in {event.name for event in events}
    assert "UNDECODED" not in {event.name for event in events}


def test_uvloops_transports_are_recorded() -> None:
    uvloop = pytest.importorskip("uvloop")
    events = Recorded()

    async def fetch() -> None:
        async with serve() as server, aioifx.connect(server.dsn, trace=events) as conn:
            assert await conn.fetchval("SELECT 1 FROM systables WHERE tabid = 1") == 1

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(fetch())
    assert events[0].kind == "open" and events[-1].kind == "closed"
    assert {"LOGIN", "SQ_NFETCH", "SQ_TUPLE"} <= {event.name for event in events}


# -- sinks that fail --------------------------------------------------------------------------------------------------


async def test_a_callable_that_raises_is_logged_once_and_not_called_again(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[TraceEvent] = []

    def fail(event: TraceEvent) -> None:
        calls.append(event)
        if len(calls) == 5:
            raise ValueError("full")

    async with aioifx.create_pool(server.dsn, min_size=2, max_size=2, trace=fail) as pool:
        assert await pool.fetchval("SELECT 1 FROM systables WHERE tabid = 1") == 1
    assert len(calls) == 5
    (record,) = [record for record in caplog.records if record.name == "aioifx.trace"]
    assert record.levelno == logging.ERROR
    assert record.getMessage() == "trace: the callable raised, and is not called again"
    assert record.exc_info and isinstance(record.exc_info[1], ValueError)


class Stop(BaseException):
    """An exception of the user that is not an Exception."""


@pytest.mark.parametrize(
    "kind", [asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, StopIteration, Stop]
)
@pytest.mark.parametrize("call", [1, 2, 5, 12])
def test_whatever_the_callable_raises_the_connection_goes_on(
    kind: type[BaseException], call: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Also when it is called as the connection is made, in a write, and for data received."""
    calls: list[TraceEvent] = []
    results: list[object] = []

    def fail(event: TraceEvent) -> None:
        calls.append(event)
        if len(calls) == call:
            raise kind

    async def fetch() -> None:
        async with serve() as server:
            task = asyncio.current_task()
            conn = await aioifx.connect(server.dsn, trace=fail)
            try:
                results.append(await conn.fetchval("SELECT 1 FROM systables WHERE tabid = 1"))
            finally:
                assert task is not None and not task.cancelling()
                results.append(conn.is_closed())
                await conn.close()

    async def main() -> None:
        tasks.append(asyncio.create_task(fetch()))
        await asyncio.shield(tasks[0])

    tasks: list[asyncio.Task[None]] = []
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        if kind is KeyboardInterrupt:
            with pytest.raises(KeyboardInterrupt):
                loop.run_until_complete(main())
        loop.run_until_complete(tasks[0] if tasks else main())
    assert results == [1, False]
    assert len(calls) == call
    (record,) = [record for record in caplog.records if record.name == "aioifx.trace"]
    assert record.getMessage() == "trace: the callable raised, and is not called again"


async def test_a_full_disk_is_logged_once(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, write, lines = tmp_path / "trace.jsonl", os.write, 0

    def fill(descriptor: int, data: bytes) -> int:
        nonlocal lines
        if not data.startswith(b"{"):
            return write(descriptor, data)
        lines += 1
        if lines == 8:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", fill)
    async with aioifx.connect(server.dsn, trace=path) as conn:
        assert await conn.fetchval("SELECT 1 FROM systables WHERE tabid = 1") == 1
    assert lines == 8 and len(path.read_text("utf-8").splitlines()) == 7
    (record,) = [record for record in caplog.records if record.name == "aioifx.trace"]
    assert (
        record.getMessage() == f"trace: no more events are written to {str(path)!r}: No space left on device"
    )


async def test_a_line_that_is_written_in_part_ends_the_trace(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with aioifx.connect(server.dsn, trace=tmp_path / "trace.jsonl") as conn:
        monkeypatch.setattr(os, "write", lambda descriptor, data: len(data) - 1)
        assert await conn.fetchval("SELECT 1 FROM systables WHERE tabid = 1") == 1
        monkeypatch.undo()
    (record,) = [record for record in caplog.records if record.name == "aioifx.trace"]
    assert "a line was written in part" in record.getMessage()


async def test_a_file_that_cannot_be_written_is_refused_before_a_socket_opens(tmp_path: Path) -> None:
    with pytest.raises(
        InterfaceError, match=r"^trace: cannot write to '.*missing/x': No such file or directory$"
    ):
        await aioifx.connect(host="127.0.0.1", port=1, server="s", trace=tmp_path / "missing" / "x")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
async def test_a_disk_that_is_full_from_the_begin_on() -> None:
    with pytest.raises(
        InterfaceError, match=r"^trace: cannot write to '/dev/full': No space left on device$"
    ):
        await aioifx.connect(host="127.0.0.1", port=1, server="s", trace="/dev/full")


async def test_a_file_that_cannot_be_opened_again_does_not_prevent_connections(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    async with aioifx.create_pool(
        server.dsn, min_size=0, max_size=1, trace=folder / "x", max_idle=0.001
    ) as pool:
        async with pool.acquire() as conn:
            conn.terminate()
            await conn._session.channel.wait_closed()
        (folder / "x").unlink()
        folder.rmdir()
        assert await pool.fetchval("SELECT 1 FROM systables WHERE tabid = 1") == 1
    (record,) = [record for record in caplog.records if record.name == "aioifx.trace"]
    assert "No such file or directory" in record.getMessage()


async def test_a_defect_of_the_trace_does_not_reach_the_connection(
    server: Server, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def defective(*arguments: object) -> dict[str, Any]:
        raise RuntimeError("with a value")

    events = Recorded()
    monkeypatch.setattr(recorder, "fields_of", defective)
    async with aioifx.connect(server.dsn, trace=events) as conn:
        assert await conn.fetchval("SELECT 1 FROM systables WHERE tabid = 1") == 1
    assert [event.kind for event in events] == ["open", "closed"]
    (record,) = [record for record in caplog.records if record.name == "aioifx.trace"]
    assert "cannot be traced: RuntimeError" in record.getMessage() and "value" not in record.getMessage()


async def test_a_lost_connection_says_why(server: Server) -> None:
    events = Recorded()
    conn = await aioifx.connect(server.dsn, trace=events)
    channel = conn._session.channel
    channel.abort(ConnectionLost("the connection was cut"))
    await channel.wait_closed()
    await events.until(kind="closed")
    assert events[-1].fields == {"error": "ConnectionLost", "reason": "the connection was cut"}
    conn.terminate()
