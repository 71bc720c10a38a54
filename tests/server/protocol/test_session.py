from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypeVar

import pytest

from aioifx.channel import MAX_UNSOLICITED, Channel
from aioifx.codecs.rows import RowDecoder
from aioifx.codecs.text import code_set_of
from aioifx.errors import ConnectError, ConnectionLost
from aioifx.server.host.options import ServerOptions
from aioifx.server.host.server import Server, serve
from aioifx.server.protocol import session
from aioifx.server.protocol.dispatch import Conversation
from aioifx.server.protocol.statement_table import STATEMENT_LIMIT
from aioifx.sqltypes import Column, SqlType, TypeCode
from aioifx.wire import files, requests, session_requests
from aioifx.wire.capabilities import OFFERED, SERVER_MASK, Capabilities
from aioifx.wire.descriptions import read_describe
from aioifx.wire.handshake import LoginReply, LoginRequest, login_frame, put_login, read_login_reply
from aioifx.wire.inbox import Inbox, Parser
from aioifx.wire.opcodes import LoginType, Op
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply, read_reply
from aioifx.wire.tuples import read_in_runs
from tests.injection import eventually
from tests.server.talking import LATIN_1, until

T = TypeVar("T")

PROTOCOLS = b"\x00\x7e\x00\x09" + OFFERED + b"\x00\x00\x0c"
NUMBER = (Column("n", SqlType(TypeCode.INTEGER, 4)),)


class Caller:
    """A client that writes bytes and reads messages."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.capabilities = Capabilities()
        self.outbox = Outbox()

    async def read(self, parser: Parser[T]) -> T:
        return await asyncio.wait_for(self.channel.expect(parser), 20)

    async def reply(self, columns: Sequence[Column] = NUMBER) -> Reply:
        rows = read_in_runs(RowDecoder(columns, LATIN_1))
        return await self.read(read_reply(self.channel.inbox, self.capabilities, rows))

    def send(self, data: bytes = b"") -> None:
        self.channel.send(self.outbox.detach() + data)

    async def login(self, user: bytes = b"anna", password: bytes = b"", **options: object) -> LoginReply:
        server = bytes(options.pop("server", b"any"))  # type: ignore[call-overload]
        login = LoginRequest(user, password, server, **options)  # type: ignore[arg-type]
        put_login(self.outbox, login_frame(login), password)
        self.send()
        return await self.read(read_login_reply(self.channel.inbox))

    async def begin(self, database: bytes = b"demo") -> None:
        assert (await self.login()).type == LoginType.ACCEPT
        self.send(PROTOCOLS)
        await self.reply()
        self.capabilities = Capabilities.negotiated(OFFERED, SERVER_MASK)
        session_requests.put_dbopen(self.outbox, database)
        requests.put_eot(self.outbox)
        self.send()
        assert (await self.reply()).error is None

    def put_command(self, text: str) -> None:
        requests.put_command(self.outbox, self.capabilities, text.encode())
        requests.put_eot(self.outbox)

    def interrupt(self) -> None:
        """One byte of urgent data; a transport of asyncio has no way to send it."""
        own = self.channel.transport.get_extra_info("socket")
        with socket.socket(fileno=socket.dup(own.fileno())) as beside:
            beside.send(b"B", socket.MSG_OOB)

    async def prepare(self, text: str) -> int:
        requests.put_prepare(self.outbox, self.capabilities, text.encode(), 0)
        requests.put_eot(self.outbox)
        self.send()
        reply = await self.reply()
        assert reply.description is not None
        return reply.description.statement_id

    def put_open(self, statement_id: int) -> None:
        requests.put_id(self.outbox, statement_id)
        requests.put_open(self.outbox)
        self.put_fetch(statement_id)

    def put_fetch(self, statement_id: int, size: int = 4096) -> None:
        requests.put_id(self.outbox, statement_id)
        requests.put_fetch(self.outbox, size)
        requests.put_eot(self.outbox)

    async def command(self, text: str) -> Reply:
        self.put_command(text)
        self.send()
        return await self.reply()

    async def until_lost(self) -> None:
        with pytest.raises(ConnectionLost):
            await self.reply()


@asynccontextmanager
async def logged_in(server: Server) -> AsyncIterator[Caller]:
    async with calling(server) as caller:
        await caller.begin()
        yield caller


def code_of(reply: Reply) -> tuple[int, int]:
    """SQLCODE and ISAM code; zeros without an error."""
    return (reply.error.sqlcode, reply.error.isamcode) if reply.error else (0, 0)


@asynccontextmanager
async def calling(server: Server) -> AsyncIterator[Caller]:
    _, channel = await asyncio.get_running_loop().create_connection(Channel, "127.0.0.1", server.port)
    try:
        yield Caller(channel)
    finally:
        channel.abort()
        await channel.wait_closed()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serve(ServerOptions()) as server:
        yield server


# -- login -------------------------------------------------------------------------------------------------------------


async def test_anybody_may_log_in_unless_the_server_says_otherwise(server: Server) -> None:
    async with calling(server) as caller:
        reply = await caller.login(b"whoever", b"whatever", server=b"whichever")
        assert (reply.type, reply.sqlcode, reply.server) == (LoginType.ACCEPT, 0, b"ol_aioifx")
        assert b"Informix" in reply.version
        assert b"Version" in reply.version


@pytest.mark.parametrize(
    ("user", "password", "sqlcode"),
    [(b"app", b"right", 0), (b"app", b"wrong", -951), (b"app", b"", -951), (b"other", b"right", -951)],
)
async def test_a_wrong_user_or_password_is_refused_and_the_connection_closed(
    user: bytes, password: bytes, sqlcode: int
) -> None:
    async with serve(ServerOptions(user="app", password="right")) as server, calling(server) as caller:
        reply = await caller.login(user, password)
        assert reply.sqlcode == sqlcode
        assert reply.type == (LoginType.REJECT if sqlcode else LoginType.ACCEPT)
        if sqlcode:
            assert reply.version == b""
            await caller.until_lost()


async def test_failed_logins_are_logged_and_the_eleventh_in_a_second_waits(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    delays: list[float] = []

    def delay(address: str, now: float) -> float:
        delays.append(5.0)
        return delays[-1]

    async with serve(ServerOptions(user="app", password="right")) as server:
        for _ in range(10):
            async with calling(server) as caller:
                assert (await caller.login(b"app", b"wrong")).sqlcode == -951
        monkeypatch.setattr(server._rules.failed_logins, "delay", delay)
        async with calling(server) as caller:  # a login that waits ends when its client does
            put_login(caller.outbox, login_frame(LoginRequest(b"app", b"right", b"any")), b"right")
            caller.send()
            await eventually(lambda: delays)
        await eventually(lambda: not server._sessions)
        monkeypatch.setattr(server._rules.failed_logins, "delay", lambda address, now: 1000.0)
        async with calling(server) as caller:
            with pytest.raises(ConnectError, match="without an answer to the login"):
                await caller.login(b"app", b"right")
    messages = [record.getMessage() for record in caplog.records]
    assert messages[:10] == ["login from 127.0.0.1: wrong user or password"] * 10
    assert messages[10:] == ["login from 127.0.0.1: closed, more than 10 failed logins a second"]


@pytest.mark.parametrize("password", ["pässwörd", "p€ss", "ключ"])
@pytest.mark.parametrize("locale", ["en_US.8859-1", "en_US.utf8", "en_US.8859-15", "ru_RU.CP1251"])
async def test_a_password_outside_ascii_is_taken_as_the_client_writes_it(password: str, locale: str) -> None:
    async with serve(ServerOptions(user="müller", password=password)) as server:
        for codec in (code_set_of(locale).codec, "latin-1", "utf-8"):
            try:
                user, given = "müller".encode(codec), password.encode(codec)
            except UnicodeEncodeError:
                continue
            for wrong in (b"", b"?"):
                async with calling(server) as caller:
                    environment = ((b"CLIENT_LOCALE", locale.encode()),)
                    reply = await caller.login(user, given + wrong, environment=environment)
                    assert reply.sqlcode == (-951 if wrong else 0)


async def test_a_client_that_does_not_log_in_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "aioifx.server")
    async with serve(ServerOptions(login_timeout=0.05)) as server:
        for begun in (b"", b"\x00", b"\x01\x0e\x01\x3d"):
            async with calling(server) as caller:
                caller.send(begun)
                await caller.until_lost()
        await eventually(lambda: not server._sessions and not server._connections)
        assert {record.getMessage() for record in caplog.records} == {
            "connection closed: no login within 0.05 s"
        }
        server._rules = replace(server._rules, login_timeout=10.0)
        async with logged_in(server) as caller:
            assert code_of(await caller.command("CREATE TABLE t (a INT)")) == (0, 0)


async def test_a_login_beyond_the_last_session_is_refused() -> None:
    async with serve(ServerOptions(max_sessions=2)) as server:
        async with logged_in(server) as one, logged_in(server):
            async with calling(server) as idle, calling(server) as third:
                reply = await third.login()
                assert (reply.type, reply.sqlcode) == (LoginType.REJECT, -25571)
                await third.until_lost()
                one.channel.abort()
                await eventually(lambda: len(server.stats.sessions) == 1)
                await idle.begin()


async def test_a_client_that_does_not_read_its_last_answers_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session, "CLOSING_SECONDS", 0.05)
    seed = "CREATE TABLE t (a CHAR(30000)); INSERT INTO t VALUES ('')"
    async with serve(ServerOptions(seed=seed)) as server, logged_in(server) as caller:
        statement_id = await caller.prepare("SELECT a FROM t")
        caller.channel.transport.pause_reading()
        for _ in range(300):
            caller.put_open(statement_id)
        session_requests.put_exit(caller.outbox)
        caller.send()
        await eventually(lambda: server._ended.groups)
        await eventually(lambda: not server._connections)


async def test_a_wrong_server_name_is_refused_with_the_right_one() -> None:
    async with serve(ServerOptions(server_name="ol_shop")) as server:
        async with calling(server) as caller:
            reply = await caller.login(server=b"ol_other")
            assert (reply.type, reply.sqlcode, reply.server) == (LoginType.REJECT, -761, b"ol_shop")
            await caller.until_lost()
        async with calling(server) as caller:
            assert (await caller.login(server=b"ol_shop")).type == LoginType.ACCEPT


async def test_an_unknown_locale_is_refused(server: Server) -> None:
    async with calling(server) as caller:
        reply = await caller.login(environment=((b"CLIENT_LOCALE", b"tlh.klingon"),))
        assert (reply.type, reply.sqlcode) == (LoginType.REJECT, -23101)


async def test_a_database_in_the_login_is_open_and_stays_so(server: Server) -> None:
    async with calling(server) as caller:
        assert (await caller.login(database=b"demo")).type == LoginType.ACCEPT
        session_requests.put_dbopen(caller.outbox, b"sysmaster")
        requests.put_eot(caller.outbox)
        caller.send()
        error = (await caller.reply()).error
        assert error is not None
        assert error.sqlcode == -759
    async with calling(server) as caller:
        assert (await caller.login(database=b"nowhere")).sqlcode == -329


async def test_the_environment_of_the_login_holds_for_the_session(server: Server) -> None:
    async with calling(server) as caller:
        await caller.login(environment=((b"DBDATE", b"Y4MD-"), (b"DELIMIDENT", b"y")), database=b"demo")
        for text in ('CREATE TABLE "t" ("d" DATE)', "INSERT INTO t VALUES ('2026-05-04')"):
            reply = await caller.command(text)
            assert reply.error is None, reply.error


@pytest.mark.parametrize(
    "noise", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", bytes(64), b"\xff" * 64]
)
async def test_what_is_not_a_login_ends_that_connection_only(server: Server, noise: bytes) -> None:
    async with calling(server) as caller:
        caller.send(noise)
        await caller.until_lost()
    async with logged_in(server):
        pass


# -- requests ----------------------------------------------------------------------------------------------------------


async def test_pipelined_groups_are_answered_in_order(server: Server) -> None:
    async with logged_in(server) as caller:
        caller.put_command("CREATE TABLE t (a INTEGER PRIMARY KEY)")
        numbers = [*range(200), 7, *range(200, 300)]
        for number in numbers:
            caller.put_command(f"INSERT INTO t VALUES ({number})")
        replies = [asyncio.ensure_future(caller.reply()) for _ in range(len(numbers) + 1)]
        await asyncio.sleep(0)
        caller.send()
        answers = await asyncio.gather(*replies)
        failed = [number for number, reply in zip([None, *numbers], answers, strict=True) if reply.error]
        assert failed == [7]


async def test_no_turn_of_the_loop_reads_more_than_a_batch(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    turn = 0
    counting = True
    read_in: Counter[int] = Counter()

    def count_turns() -> None:
        nonlocal turn
        turn += 1
        if counting:
            loop.call_soon(count_turns)

    async def counted(inbox: Inbox, capabilities: Capabilities) -> list[requests.Request]:
        group = await requests.read_request(inbox, capabilities)
        read_in[turn] += 1
        return group

    monkeypatch.setattr(session, "read_request", counted)
    loop.call_soon(count_turns)
    async with logged_in(server) as caller:
        for _ in range(1000):
            session_requests.put_version(caller.outbox)
            requests.put_eot(caller.outbox)
        caller.send()
        for _ in range(1000):
            assert (await caller.reply()).version
    counting = False
    assert sum(read_in.values()) > 1000
    # The first of a batch may share its turn with the last one that the batch before left to it.
    assert max(read_in.values()) <= session.BATCH_GROUPS + 1


async def test_long_groups_are_read_a_few_at_a_time(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[int] = []

    def answer(
        self: Conversation, groups: Sequence[Sequence[requests.Request]], early: object = None
    ) -> bytes:
        batches.append(len(groups))
        return answered(self, groups)

    answered = Conversation.answer
    monkeypatch.setattr(Conversation, "answer", answer)
    text = "CREATE TEMP TABLE a (b INTEGER) --" + "x" * session.BATCH_BYTES
    async with logged_in(server) as caller:
        for _ in range(20):
            caller.put_command(text)
        caller.send()
        for _ in range(20):
            await caller.reply()
    assert max(batches) <= 2


async def test_a_client_may_send_far_more_than_lies_here_unread(server: Server) -> None:
    async with logged_in(server) as one, logged_in(server) as two:
        await one.command("CREATE TABLE t (a INTEGER)")
        await one.command("BEGIN WORK")
        await one.command("LOCK TABLE t IN EXCLUSIVE MODE")
        await two.command("SET LOCK MODE TO WAIT")
        count = 2 * MAX_UNSOLICITED // session.READ_AHEAD
        for _ in range(count):
            two.put_command("INSERT INTO t VALUES (1) --" + "x" * session.READ_AHEAD)
        two.send()
        transports = [each._channel.transport for each in server._sessions.values()]
        await until(lambda: not all(transport.is_reading() for transport in transports))
        await one.command("COMMIT WORK")
        for _ in range(count):
            assert (await two.reply()).error is None


async def test_everything_up_to_the_database_may_be_said_at_once(server: Server) -> None:
    async with calling(server) as caller:
        await caller.login()
        session_requests.put_info(caller.outbox, [(b"OPTCOMPIND", b"0")])
        requests.put_eot(caller.outbox)
        session_requests.put_dbopen(caller.outbox, b"demo")
        requests.put_eot(caller.outbox)
        caller.outbox.data[:0] = PROTOCOLS
        caller.send()
        assert (await caller.reply()).mask == SERVER_MASK
        caller.capabilities = Capabilities.negotiated(OFFERED, SERVER_MASK)
        assert (await caller.reply()).error is None
        opened = await caller.reply()
        assert opened.done is not None
        assert opened.done.warnings == 0x15


async def test_requests_are_read_while_the_client_does_not_read_replies(server: Server) -> None:
    async with logged_in(server) as caller:
        await caller.command("CREATE TABLE t (n INTEGER, pad CHAR(30000))")
        await caller.command("INSERT INTO t VALUES (1, 'x')")
        requests.put_prepare(caller.outbox, caller.capabilities, b"SELECT n, pad FROM t", 0)
        requests.put_eot(caller.outbox)
        caller.send()
        assert (await caller.reply()).error is None
        fetches = 100
        caller.channel.transport.pause_reading()
        for _ in range(fetches):
            requests.put_id(caller.outbox, 0)
            requests.put_open(caller.outbox)
            requests.put_fetch(caller.outbox, 32767)
            requests.put_eot(caller.outbox)
        caller.put_command("DELETE FROM t")
        caller.send()
        # The last statement is done although three megabytes of answers wait.
        async with logged_in(server) as other:
            while (reply := await other.command("UPDATE t SET n = 2")).done is None or reply.done.rows:
                assert reply.error is None or reply.error.sqlcode == -244
        caller.channel.transport.resume_reading()
        columns = (*NUMBER, Column("pad", SqlType(TypeCode.CHAR, 30000)))
        for _ in range(fetches):
            assert len((await caller.reply(columns)).rows) == 1
        assert (await caller.reply()).error is None


@pytest.mark.parametrize(
    "noise",
    [
        b"\x03\xe7",  # an unknown message
        b"\x00\x02\x00\x00\x7f\xff\xff\xff",  # SQL text of two gigabytes
        b"\x00\x05\x80\x00",  # a negative number of parameters
        b"\x00\x04\x00\x00\x00\x05\x00\x01\x00\x02\x00\x00\x00\x00\x00\x00\x00\x01\xff\xff",
    ],
)
async def test_a_malformed_message_ends_that_session_only_with_a_line_in_the_log(
    server: Server, noise: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with logged_in(server) as one, logged_in(server) as two:
        one.send(noise)
        await one.until_lost()
        assert (await two.command("CREATE TABLE t (a INTEGER)")).error is None
    assert "session ended" in caplog.text


async def test_exit_is_answered_and_closes(server: Server) -> None:
    async with logged_in(server) as caller:
        await caller.command("CREATE TABLE t (a INTEGER)")
        await caller.command("BEGIN WORK")
        await caller.command("INSERT INTO t VALUES (1)")
        session_requests.put_exit(caller.outbox)
        caller.send()
        assert (await caller.reply()).is_session_ended
        await caller.until_lost()
        async with logged_in(server) as other:
            changed = (await other.command("UPDATE t SET a = 2")).done
            assert changed is not None
            assert changed.rows == 0


async def test_a_lost_connection_rolls_back_and_unlocks(server: Server) -> None:
    async with logged_in(server) as one, logged_in(server) as two:
        await one.command("CREATE TABLE t (a INTEGER)")
        await one.command("BEGIN WORK")
        await one.command("INSERT INTO t VALUES (1)")
        await two.command("SET LOCK MODE TO WAIT")
        waiting = asyncio.ensure_future(two.command("INSERT INTO t VALUES (2)"))
        one.channel.abort()
        assert (await waiting).error is None
        changed = (await two.command("UPDATE t SET a = 3")).done
        assert changed is not None
        assert changed.rows == 1


@pytest.mark.parametrize("groups", [1, 3 * session.BATCH_GROUPS])
async def test_a_client_that_leaves_while_it_waits_for_a_lock_leaves_no_thread(
    server: Server, groups: int
) -> None:
    async with logged_in(server) as one:
        await one.command("CREATE TABLE t (a INTEGER)")
        await one.command("BEGIN WORK")
        await one.command("INSERT INTO t VALUES (1)")
        before = set(threading.enumerate())
        async with logged_in(server) as two:
            await two.command("SET LOCK MODE TO WAIT")
            for _ in range(groups):
                two.put_command("UPDATE t SET a = 2")
            two.send()
            await until(lambda: any(each.waiting for each in server.stats.sessions))
            (thread,) = set(threading.enumerate()) - before
        await until(lambda: not thread.is_alive())
        assert (await one.command("COMMIT WORK")).error is None
        assert (await one.command("INSERT INTO t VALUES (3)")).error is None


@pytest.mark.exhaustive
async def test_very_many_statements_are_too_many(server: Server) -> None:
    async with logged_in(server) as caller:
        for _ in range(STATEMENT_LIMIT + 1):
            requests.put_prepare(caller.outbox, caller.capabilities, b"SELECT tabid FROM systables", 0)
            requests.put_eot(caller.outbox)
        caller.send()
        codes = [(await caller.reply()).error for _ in range(STATEMENT_LIMIT + 1)]
        assert [error.sqlcode for error in codes if error] == [-257]
        assert codes[-1] is not None


# -- interrupts --------------------------------------------------------------------------------------------------------

SLOW = "SELECT COUNT(*)::INTEGER FROM n a, n b, n c, n d"
"""Takes some seconds unless interrupted."""

NUMBERS = "CREATE TABLE n (a INTEGER); INSERT INTO n VALUES (0);" + 7 * "INSERT INTO n SELECT a FROM n;"

INTERRUPTED = (-213, -157)


@pytest.fixture
async def slow_server() -> AsyncIterator[Server]:
    """One with a table of 128 rows, from which a slow query can be made."""
    async with serve(ServerOptions(seed=NUMBERS)) as server:
        yield server


async def test_a_slow_query_can_be_interrupted(slow_server: Server) -> None:
    async with logged_in(slow_server) as caller:
        statement_id = await caller.prepare(SLOW)
        caller.put_open(statement_id)
        caller.send()
        await eventually(lambda: slow_server.stats.sessions[0].running)
        caller.interrupt()
        assert code_of(await caller.reply()) == INTERRUPTED
        assert code_of(await caller.command("UPDATE n SET a = 1")) == (0, 0)
        assert slow_server.stats.sessions[0].interrupts == 1
        assert not slow_server.stats.sessions[0].running


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO n SELECT a.a FROM n a, n b, n c, n d",
        "UPDATE n SET a = (SELECT COUNT(*) FROM n b, n c, n d WHERE b.a <> n.a + 1)",
    ],
)
async def test_a_slow_change_is_undone_and_the_transaction_goes_on(slow_server: Server, text: str) -> None:
    async with logged_in(slow_server) as caller:
        await caller.command("CREATE TABLE t (a INTEGER)")
        await caller.command("BEGIN WORK")
        await caller.command("INSERT INTO t VALUES (1)")
        caller.put_command(text)
        caller.send()
        await eventually(lambda: slow_server.stats.sessions[0].running)
        caller.interrupt()
        assert code_of(await caller.reply()) == INTERRUPTED
        assert code_of(await caller.command("COMMIT WORK")) == (0, 0)
        unchanged = (await caller.command("UPDATE n SET a = 1 WHERE a = 0")).done
        committed = (await caller.command("DELETE FROM t")).done
        assert unchanged is not None
        assert committed is not None
        assert (unchanged.rows, committed.rows) == (128, 1)


async def test_a_wait_for_a_lock_can_be_interrupted(slow_server: Server) -> None:
    async with logged_in(slow_server) as one, logged_in(slow_server) as two:
        await one.command("BEGIN WORK")
        await one.command("UPDATE n SET a = 1")
        await two.command("SET LOCK MODE TO WAIT")
        await two.command("BEGIN WORK")
        two.put_command("UPDATE n SET a = 2")
        two.send()
        await eventually(lambda: [session.waiting for session in slow_server.stats.sessions] == [False, True])
        two.interrupt()
        assert code_of(await two.reply()) == INTERRUPTED
        assert code_of(await two.command("COMMIT WORK")) == (0, 0)
        assert code_of(await one.command("COMMIT WORK")) == (0, 0)


async def test_a_byte_that_comes_late_hits_the_next_statement(slow_server: Server) -> None:
    async with logged_in(slow_server) as caller:
        caller.interrupt()
        await eventually(lambda: slow_server.stats.interrupts == 1)
        caller.interrupt()
        await eventually(lambda: slow_server.stats.interrupts == 2)  # which means the same
        session_requests.put_version(caller.outbox)
        requests.put_eot(caller.outbox)
        caller.send()
        assert (await caller.reply()).version
        assert code_of(await caller.command("BEGIN WORK")) == (0, 0)
        statement_id = await caller.prepare("SELECT a FROM n")
        assert code_of(await caller.command("COMMIT WORK")) == (0, 0)
        for expected in (INTERRUPTED, (0, 0)):
            caller.put_open(statement_id)
            caller.send()
            assert code_of(await caller.reply()) == expected


async def test_a_byte_that_comes_late_hits_rows_that_lie_ready(slow_server: Server) -> None:
    async with logged_in(slow_server) as caller:
        statement_id = await caller.prepare("SELECT a FROM n")
        caller.put_open(statement_id)
        caller.send()
        assert len((await caller.reply()).rows) == 128
        requests.put_id(caller.outbox, statement_id)
        requests.put_open(caller.outbox)
        caller.put_fetch(statement_id, 64)
        caller.send()
        taken = len((await caller.reply()).rows)
        assert 0 < taken < 128
        caller.interrupt()
        await eventually(lambda: slow_server.stats.interrupts)
        caller.put_fetch(statement_id)
        caller.put_fetch(statement_id)
        caller.send()
        assert code_of(await caller.reply()) == INTERRUPTED
        assert len((await caller.reply()).rows) == 128 - taken  # the cursor kept its position


async def test_an_interrupted_query_has_no_end_of_rows(slow_server: Server) -> None:
    async with logged_in(slow_server) as caller:
        statement_id = await caller.prepare("SELECT a.a FROM n a, n b, n c, n d WHERE b.a + c.a + d.a > 0")
        caller.put_open(statement_id)
        caller.send()
        await eventually(lambda: slow_server.stats.sessions[0].running)
        caller.interrupt()
        assert code_of(await caller.reply()) == INTERRUPTED
        caller.put_fetch(statement_id)
        caller.send()
        assert code_of(await caller.reply())[0] in (-259, -267)


async def test_an_interrupt_ends_the_running_group_and_later_groups_run(slow_server: Server) -> None:
    async with logged_in(slow_server) as caller:
        await caller.command("CREATE TABLE t (a INTEGER)")
        statement_id = await caller.prepare(SLOW)
        session_requests.put_version(caller.outbox)
        requests.put_eot(caller.outbox)
        caller.put_open(statement_id)
        caller.put_command("INSERT INTO t VALUES (1)")
        caller.put_command("UPDATE t SET a = 2")
        caller.send()
        await eventually(lambda: slow_server.stats.sessions[0].running)
        caller.interrupt()
        codes = [code_of(await caller.reply()) for _ in range(4)]
        assert codes == [(0, 0), INTERRUPTED, (0, 0), (0, 0)]


async def test_a_client_that_goes_away_keeps_nothing_of_what_it_had_sent(slow_server: Server) -> None:
    async with logged_in(slow_server) as other:
        async with logged_in(slow_server) as caller:
            caller.put_command("BEGIN WORK")
            caller.put_command("UPDATE n SET a = 1")
            caller.put_command("INSERT INTO n SELECT a.a FROM n a, n b, n c, n d")
            caller.put_command("COMMIT WORK")
            caller.send()
            await eventually(lambda: slow_server.stats.sessions[1].running)
        await eventually(lambda: len(slow_server.stats.sessions) == 1)
        done = (await other.command("UPDATE n SET a = 2 WHERE a = 0")).done
        assert done is not None
        assert done.rows == 128


# -- what it counts ----------------------------------------------------------------------------------------------------


async def test_turns_are_counted_apart_from_groups(server: Server) -> None:
    async with logged_in(server) as caller:
        begun = server.stats
        assert (begun.logins, begun.groups, begun.turns) == (1, 2, 2)  # capabilities, database
        await caller.command("CREATE TABLE t (a INTEGER)")
        await caller.command("INSERT INTO t VALUES (0)")
        assert (server.stats.groups, server.stats.turns) == (4, 4)
        for number in range(2 * session.BATCH_GROUPS):
            caller.put_command(f"INSERT INTO t VALUES ({number})")
        caller.send()
        for _ in range(2 * session.BATCH_GROUPS):
            await caller.reply()
        assert (server.stats.groups, server.stats.turns) == (4 + 2 * session.BATCH_GROUPS, 5)
    await eventually(lambda: not server.stats.sessions)
    assert (server.stats.logins, server.stats.groups, server.stats.turns) == (1, 132, 5)


async def test_a_group_in_pieces_is_one_turn(server: Server) -> None:
    async with logged_in(server) as caller:
        caller.put_command("CREATE TABLE t (a INTEGER)")
        caller.put_command("UPDATE t SET a = 1")
        data = caller.outbox.detach()
        caller.send(data[:-7])  # a whole group, and the most of another
        assert code_of(await caller.reply()) == (0, 0)
        caller.send(data[-7:])
        assert code_of(await caller.reply()) == (0, 0)
        assert server.stats.turns == 3


async def test_what_is_open_is_counted(server: Server) -> None:
    async with logged_in(server) as caller, logged_in(server) as other:
        statement_id = await caller.prepare("SELECT tabid FROM systables")
        await other.prepare("SELECT tabid FROM systables")
        caller.put_open(statement_id)
        caller.send()
        await caller.reply()
        mine, others = server.stats.sessions
        assert (mine.session_id, mine.user, mine.database) == (1, "anna", "demo")
        assert (mine.statements, mine.cursors, mine.running, mine.waiting) == (1, 1, False, False)
        assert (others.session_id, others.statements, others.cursors) == (2, 1, 0)
        requests.put_id(caller.outbox, statement_id)
        requests.put_close(caller.outbox)
        requests.put_eot(caller.outbox)
        requests.put_id(caller.outbox, statement_id)
        requests.put_release(caller.outbox)
        requests.put_eot(caller.outbox)
        caller.send()
        await caller.reply()
        assert server.stats.sessions[0].cursors == 0
        await caller.reply()
        assert server.stats.sessions[0].statements == 0


# -- files at the client -----------------------------------------------------------------------------------------------


async def file_request(caller: Caller) -> files.FileRequest:
    """The next message of SQ_FILE, after the part of the reply before it."""

    async def read(inbox: Inbox) -> files.FileRequest:
        while True:
            await inbox.need(2)
            tag = inbox.u16()
            if tag == Op.FILE:
                return await files.read_file_request(inbox, caller.capabilities)
            assert tag == Op.DESCRIBE
            await read_describe(inbox, caller.capabilities)

    return await caller.read(read(caller.channel.inbox))


def answer(caller: Caller, *messages: bytes) -> None:
    for message in messages:
        caller.outbox.raw(message)
    requests.put_eot(caller.outbox)
    caller.send()


async def test_a_statement_continues_after_a_file_of_the_client(server: Server) -> None:
    content = bytes(range(256)) * 5000
    async with logged_in(server) as caller:
        await caller.command("CREATE TABLE t (n INTEGER, b BLOB)")
        caller.put_command("INSERT INTO t VALUES (7, FILETOBLOB('in', 'client'))")
        caller.send()
        assert await file_request(caller) == files.FileOpen(b"in", 0o644)
        answer(caller)
        assert await file_request(caller) == files.FileRead(32000)
        files.put_file_data(caller.outbox, content)
        answer(caller)
        assert await file_request(caller) == files.FileClose()
        answer(caller)
        reply = await caller.reply()
        assert reply.done is not None and reply.done.rows == 1
        statement = await caller.prepare("SELECT n FROM t WHERE LOTOFILE(b, 'out!', 'client') = 'out'")
        caller.put_open(statement)
        caller.send()
        assert await file_request(caller) == files.FileOpen(b"out", 0o644, 0o1101)
        answer(caller)
        assert await file_request(caller) == files.FileWrite(content)
        files.put_file_written(caller.outbox, len(content))
        answer(caller)
        assert await file_request(caller) == files.FileClose()
        answer(caller)
        assert list((await caller.reply()).rows) == [(7,)]


async def test_a_client_may_hang_up_in_the_middle_of_a_file(server: Server) -> None:
    async with logged_in(server) as caller:
        await caller.command("CREATE TABLE t (n INTEGER, b BLOB)")
        caller.put_command("INSERT INTO t VALUES (7, FILETOBLOB('in', 'client'))")
        caller.send()
        await file_request(caller)
    await eventually(lambda: not server.stats.sessions)
    async with logged_in(server) as caller:
        statement = await caller.prepare("SELECT n FROM t")
        caller.put_open(statement)
        caller.send()
        assert list((await caller.reply()).rows) == []
