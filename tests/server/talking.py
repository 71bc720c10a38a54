"""Sessions without sockets: an engine with its database, and a conversation that is spoken to in messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from aioifx.codecs.rows import RowDecoder
from aioifx.codecs.text import CodeSet, code_set_of
from aioifx.server.engine.engine import Engine
from aioifx.server.engine.session_registry import SessionRegistry
from aioifx.server.engine.session_state import StatementResult
from aioifx.server.protocol.context import FetchLimit, Identity, SessionContext
from aioifx.server.protocol.dispatch import Conversation
from aioifx.server.protocol.quirk_handlers import QuirkyContext, QuirkyConversation
from aioifx.server.protocol.quirks import Quirk, without_bits
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.runtime.client_values import load
from aioifx.server.sqlite.databases import OWN_DATABASES, Databases, LogMode
from aioifx.sqltypes import Column, Row, SqlType, TypeCode, Value
from aioifx.wire import requests, session_requests
from aioifx.wire.capabilities import OFFERED, SERVER_MASK, Capabilities
from aioifx.wire.completion import Done, read_done
from aioifx.wire.fields import BindEntry
from aioifx.wire.inbox import Inbox
from aioifx.wire.opcodes import Op
from aioifx.wire.replies import Reply, _read_message, read_reply
from aioifx.wire.requests import Request
from aioifx.wire.tuples import read_in_runs, skip_tuple
from tests.feeding import feed

T = TypeVar("T")

LATIN_1 = code_set_of("en_US.8859-1")
UTF_8 = code_set_of("en_US.utf8")


class ServerCore:
    """The databases of a server, and any number of engines on them."""

    def __init__(self, log_mode: LogMode = LogMode.LOGGED, directory: Path | None = None) -> None:
        self.databases = Databases(directory)
        self.registry = SessionRegistry()
        self._engines: list[Engine] = []
        for name, locale in OWN_DATABASES.items():
            if name not in self.databases.names:
                self.databases.create(name, LogMode.LOGGED, "informix", locale)
        if "demo" not in self.databases.names:
            self.databases.create("demo", log_mode, "informix")

    def engine(
        self,
        database: str = "demo",
        *,
        user: str = "anna",
        delimident: bool = False,
        database_locale: str = "",
    ) -> Engine:
        entry = self.registry.register(user, "desk", 12)
        settings = Settings(user=user, session_id=entry.session_id, routines=self.databases.routines)
        engine = Engine(
            self.databases,
            self.registry,
            entry,
            settings,
            delimident=delimident,
            database_locale=database_locale,
        )
        self._engines.append(engine)
        if database:
            engine.open_database(database)
        return engine

    def close(self) -> None:
        for engine in self._engines:
            engine.close()
        self.databases.close()


@contextmanager
def server_core(log_mode: LogMode = LogMode.LOGGED, directory: Path | None = None) -> Iterator[ServerCore]:
    made = ServerCore(log_mode, directory)
    try:
        yield made
    finally:
        made.close()


async def until(condition: Callable[[], object]) -> None:
    """Return once *condition* holds; something else makes it so."""

    def watch() -> None:
        while not condition():
            pass

    await asyncio.to_thread(watch)


def run(engine: Engine, text: str, *values: Value) -> StatementResult:
    """Prepare and execute."""
    return engine.execute(engine.prepare(text), values)


def run_all(engine: Engine, *texts: str) -> None:
    """Prepare and execute one statement after another."""
    for text in texts:
        run(engine, text)


@contextmanager
def waiting(
    core: ServerCore, work: Callable[[Engine], T], *settings: str
) -> Iterator[tuple[Engine, Future[T]]]:
    """Another session at its work, which waits for a lock as the block begins, and what becomes of the work."""
    started: list[Engine] = []

    def begin() -> T:
        engine = core.engine()
        run_all(engine, "SET LOCK MODE TO WAIT", *settings)
        started.append(engine)
        try:
            return work(engine)
        finally:
            engine.close()

    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(begin)
        while not (started and started[0].is_waiting):
            assert not done.done()
        yield started[0], done


def query(engine: Engine, text: str, *values: Value) -> list[Row]:
    """All rows of a SELECT, as Python values."""
    statement = engine.prepare(text)
    cursor = engine.open(statement, values)
    rows: list[Row] = []
    last = False
    while not last:
        block, last = engine.fetch(cursor, 7)
        rows += [
            tuple(load(value, column.type) for value, column in zip(row, statement.plan.columns, strict=True))
            for row in block
        ]
    engine.close_cursor(cursor)
    return rows


def error_from(engine: Engine, text: str, *values: Value) -> SqlError:
    """The error that a statement ends with."""
    with pytest.raises(SqlError) as raised:
        if engine.prepare(text).plan.returns_rows:
            query(engine, text, *values)
        else:
            run(engine, text, *values)
    return raised.value


def codes(error: SqlError) -> tuple[int, int, str]:
    return error.sqlcode, error.isamcode, error.token


ITEMS = [(1, "pen"), (2, "cup"), (3, "hat"), (4, "map"), (5, "key")]
"""What the table of the fixture `item` holds."""


def error_of(reply: Reply) -> tuple[int, int, str]:
    assert reply.error is not None
    return reply.error.sqlcode, reply.error.isamcode, reply.error.token


@dataclass
class Heard(Reply):
    """A reply with each of its SQ_DONE; the client keeps the last."""

    dones: list[Done] = field(default_factory=list[Done])


async def _read_dones(inbox: Inbox, capabilities: Capabilities) -> list[Done]:
    dones: list[Done] = []
    while True:
        await inbox.need(2)
        tag = inbox.u16()
        if tag == Op.TUPLE:
            inbox.pos -= 2
            await skip_tuple(inbox)
        elif tag == Op.DONE:
            dones.append(await read_done(inbox, capabilities))
        elif tag in (Op.EOT, Op.EXIT):
            return dones
        else:
            await _read_message(inbox, capabilities, Reply(), tag)


class Talk:
    """A client that says messages and hears replies."""

    def __init__(
        self,
        engine: Engine,
        code_set: CodeSet = LATIN_1,
        *,
        statement_limit: int = 100,
        fetch_limit: FetchLimit | None = None,
        quirks: Collection[Quirk] = (),
    ) -> None:
        mask = without_bits(SERVER_MASK, quirks)
        identity = Identity("ol_test", "Informix Dynamic Server Version 15", mask)
        context = (partial(QuirkyContext, quirks=quirks) if quirks else SessionContext)(
            engine, identity, code_set, statement_limit=statement_limit, fetch_limit=fetch_limit
        )
        self.conversation = (
            QuirkyConversation(context) if isinstance(context, QuirkyContext) else Conversation(context)
        )
        self.code_set = code_set
        self.columns: Sequence[Column] = ()

    def say(self, *messages: Request) -> Heard:
        """One group, and the group that answers it."""
        return self.hear(self.conversation.answer([messages]))

    def hear(self, data: bytes) -> Heard:
        """Read one reply; its rows by the description that came last, or as `columns` was set."""
        capabilities = self.conversation.capabilities

        def read_rows() -> RowDecoder:
            return RowDecoder(self.columns, self.code_set)

        reply, _ = feed(lambda inbox: read_reply(inbox, capabilities, read_in_runs(read_rows())), [data])
        if reply.description is not None:
            self.columns = reply.description.columns
        return Heard(**vars(reply), dones=feed(lambda inbox: _read_dones(inbox, capabilities), [data])[0])

    def protocols(self, offer: bytes = OFFERED) -> None:
        self.say(session_requests.Protocols(offer))

    def open_database(self, name: str = "demo") -> Heard:
        return self.say(session_requests.DbOpen(name.encode()))

    def prepare(self, text: str) -> int:
        """The id of a statement that can be prepared."""
        reply = self.say(*prepared(text, self.code_set))
        assert reply.error is None, reply.error
        assert reply.description is not None
        return reply.description.statement_id

    def command(self, text: str) -> Heard:
        return self.say(*commanded(text, self.code_set))

    def select(self, text: str, *values: Value, size: int = 4096) -> list[Row]:
        """All rows, as a plain client asks for them."""
        statement_id = self.prepare(text)
        reply = self.say(
            requests.Id(statement_id),
            bound(*values),
            requests.Open(),
            requests.Id(statement_id),
            requests.Fetch(size),
        )
        rows = list(reply.rows)
        while reply.done is None and reply.error is None:
            reply = self.say(requests.Id(statement_id), requests.Fetch(size))
            rows += reply.rows
        assert reply.error is None, reply.error
        assert reply.done is not None
        assert reply.done.rows == len(rows)
        self.say(requests.Id(statement_id), requests.Close())
        self.say(requests.Id(statement_id), requests.Release())
        return rows


def prepared(text: str, code_set: CodeSet = LATIN_1) -> list[Request]:
    return [
        requests.Prepare(text.count("?"), code_set.encode(text)),
        requests.Describe(),
        requests.WantDone(),
    ]


def commanded(text: str, code_set: CodeSet = LATIN_1) -> list[Request]:
    sql = code_set.encode(text)
    return [requests.Command(0, sql), requests.Describe(), requests.Execute(), requests.Release()]


def bound(*values: int | str | None) -> requests.Bind:
    """SQ_BIND as most clients write integers and texts (documented in the wire reference, section 12.7)."""
    return requests.Bind(tuple(_entry(value) for value in values))


def _entry(value: int | str | None) -> BindEntry:
    if value is None:
        return BindEntry(TypeCode.CHAR, b"", b"", -1, 0, b"")
    if isinstance(value, int):
        return BindEntry(TypeCode.INTEGER, b"", b"", 0, 0x0A00, value.to_bytes(4, "big", signed=True))
    data = value.encode("latin-1")
    return BindEntry(TypeCode.CHAR, b"", b"", 0, 0, data)


def ret_types(*types: SqlType) -> requests.RetType:
    return requests.RetType(1, types)
