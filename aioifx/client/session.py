"""One session's conversations: exchange, pipeline, transaction state. Never: a Python value, a cursor.

House rules:
1. One turn at a time, first come first served: whoever converses holds the turn.
2. A waiter that is cancelled loses nothing but its own interest: the reply is read to its end, and what it left behind
   at the server (a statement, an open transaction) is put down as debris.
3. Debris is cleared, one group at a time, by whoever has the next turn, before anything of its own is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

from aioifx.channel import Channel
from aioifx.client.sqltext import named_database
from aioifx.codecs.text import CodeSet
from aioifx.errors import (
    ConnectionLost,
    DatabaseError,
    InterfaceError,
    NotSupportedError,
    ProtocolError,
    from_server,
)
from aioifx.wire import requests
from aioifx.wire.dialect import Dialect
from aioifx.wire.opcodes import OpenWarning, StatementType
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import DEFAULT_LIMIT, Reply, RowReader, read_reply

_NOT_IN_TRANSACTION: Final = -255


@dataclass(slots=True)
class Stats:
    """What one connection did so far."""

    round_trips: int = 0
    """Times that somebody waited for the server; the login and its three companions included."""
    statements: int = 0
    """Statements prepared, or executed without being prepared."""
    rows: int = 0
    """Rows that came."""


class Session:
    """A logged-in session. It belongs to one event loop."""

    def __init__(
        self,
        channel: Channel,
        dialect: Dialect,
        code_set: CodeSet,
        *,
        fetch_size: int = 32767,
        strip_char: bool = False,
        read_ahead: bool = True,
    ) -> None:
        self.channel = channel
        self.dialect = dialect
        self.code_set = code_set
        self.fetch_size = fetch_size
        """Bytes of rows that one fetch asks for."""
        self.strip_char = strip_char
        self.read_ahead = read_ahead
        """False: rows are read field by field, without read-ahead."""
        self.stats = Stats()
        self.in_transaction = False
        self.database = ""
        """The open database; empty when none is open."""
        self.open_warnings = 0
        """What SQ_DBOPEN's answer said of the database; see OpenWarning."""
        self._turn = asyncio.Lock()
        self._holder: asyncio.Task[Any] | None = None
        self._debris: list[tuple[int, bool]] = []
        self._stray_cursors: list[int] = []
        self._unfinished = False
        self._abandoned = False
        self._leaving = False
        self._cursors = 0

    # -- turns --------------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Take the turn: nobody else converses until it is given back.

        Raises:   ConnectionLost: the session has ended.
        """
        self.check_open()
        if self._holder is not None and self._holder is asyncio.current_task():
            raise InterfaceError(
                "this task holds the connection already; an executemany's rows must not use it"
            )
        await self._turn.acquire()
        try:
            self.check_open()
            self._holder = asyncio.current_task()
            if self._debris or self._stray_cursors or self._unfinished or self._abandoned:
                await self._clear_debris()
        except BaseException:
            self._holder = None
            self._turn.release()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._holder = None
        self._turn.release()

    def check_open(self) -> None:
        """Raise what ended the session, if it has ended."""
        failure = self.channel.failure
        if failure is not None:
            raise ConnectionLost(f"the connection is closed: {failure}") from failure
        if self._leaving:
            raise ConnectionLost("the connection is being closed")

    @property
    def is_open(self) -> bool:
        return self.channel.is_open and not self._leaving

    # -- one request, one reply ---------------------------------------------------------------------------------------

    async def exchange(
        self,
        outbox: Outbox,
        read_rows: RowReader | None = None,
        *,
        limit: int = DEFAULT_LIMIT,
        done: Callable[[Reply], None] | None = None,
        orphaned: Callable[[Reply], None] | None = None,
    ) -> Reply:
        """Send one group and wait for the reply to it. What the server says in it is not judged.

        Args:     done: called with a reply that holds no error, even when nobody waits for it any more.
                  orphaned: called with the reply if nobody waits for it any more.
        Raises:   ConnectionLost, ProtocolError: the session has ended.
        """
        requests.put_eot(outbox)
        reply: Reply = await self.wait(
            self.submit(outbox.take(), self._reply(read_rows, limit, done)), orphaned
        )
        return reply

    def submit(self, request: bytes, parser: Coroutine[Any, None, Any]) -> asyncio.Future[Any]:
        """Queue *parser* for the reply, then send *request*; waits for nothing.

        Raises:   ConnectionLost: good-bye is said already, by another task.
        """
        if self._leaving:
            parser.close()
            self.check_open()
        channel = self.channel
        if not channel.pending and channel.inbox.unread:
            # Nobody asked for these bytes: the server said good-bye, or does not speak SQLI any more.
            parser = self._unasked(parser)
        future = channel.expect(parser)
        channel.send(request)
        return future

    async def wait(self, future: asyncio.Future[Any], orphaned: Callable[[Any], None] | None = None) -> Any:
        """Wait for what `submit` promised; when cancelled, the reply is read all the same, and shown to *orphaned*."""
        self.stats.round_trips += 1
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            self.abandon(future, orphaned)
            raise

    def abandon(self, future: asyncio.Future[Any], orphaned: Callable[[Any], None] | None = None) -> None:
        """Wait no longer for what `submit` promised."""
        self._abandoned = True

        def arrived(future: asyncio.Future[Any]) -> None:
            # To look at the exception keeps it from being reported as forgotten.
            if not future.cancelled() and future.exception() is None and orphaned is not None:
                orphaned(future.result())

        future.add_done_callback(arrived)

    async def _reply(
        self, read_rows: RowReader | None, limit: int, done: Callable[[Reply], None] | None
    ) -> Reply:
        reply = await read_reply(self.channel.inbox, self.dialect, read_rows, limit)
        self._observe(reply)
        if done is not None and reply.error is None:
            done(reply)
        return reply

    async def replies(self, count: int) -> list[Reply]:
        """Parser of *count* groups in a row, for pipelines."""
        replies: list[Reply] = []
        for _ in range(count):
            replies.append(await read_reply(self.channel.inbox, self.dialect))
            self._observe(replies[-1])
        return replies

    async def _unasked(self, parser: Coroutine[Any, None, Any]) -> Any:
        parser.close()
        reply = await read_reply(self.channel.inbox, self.dialect, None, DEFAULT_LIMIT)
        self._observe(reply)
        raise ProtocolError("the server sent a message that nobody asked for")

    def _observe(self, reply: Reply) -> None:
        """What every reply may change, whoever waits for it."""
        self.stats.rows += len(reply.rows)
        if reply.exited:
            raise ConnectionLost("the server ended the session")

    # -- debris -------------------------------------------------------------------------------------------------------

    def leave(self, statement_id: int, *, cursor: bool) -> None:
        """Put a statement down that nobody needs any more; the next turn closes and releases it. Never waits."""
        self._debris.append((statement_id, cursor))

    def leave_cursor(self, statement_id: int) -> None:
        """Put a cursor down whose statement stays prepared; the next turn closes it. Never waits."""
        self._stray_cursors.append(statement_id)

    def leave_transaction(self) -> None:
        """Put an open transaction down that nobody will finish; the next turn rolls it back. Never waits."""
        self._unfinished = True

    async def _clear_debris(self) -> None:
        while self._debris:
            statement_id, cursor = self._debris.pop()
            await self.drop(statement_id, cursor=cursor)
        while self._stray_cursors:
            outbox = Outbox()
            requests.put_id(outbox, self._stray_cursors.pop())
            requests.put_close(outbox)
            await self.exchange(outbox)
        if self._unfinished:
            # Whether BEGIN or ROLLBACK came through may not be known yet, so the server is asked in any case.
            self._unfinished = False
            await self.abort_transaction()
            self.check_open()
        if self._abandoned:
            self._abandoned = False
            await self.autocommit_failed()

    async def drop(self, statement_id: int, *, cursor: bool) -> None:
        """CLOSE the cursor if one is open, then RELEASE the statement; two groups, as JDBC sends them (select.json).

        An error in either answer is ignored: the statement is gone then.
        """
        outbox = Outbox()
        if cursor:
            requests.put_id(outbox, statement_id)
            requests.put_close(outbox)
            try:
                await self.exchange(outbox)
            except asyncio.CancelledError:
                self.leave(statement_id, cursor=False)
                raise
        requests.put_id(outbox, statement_id)
        requests.put_release(outbox)
        await self.exchange(outbox)

    # -- statements without a name ------------------------------------------------------------------------------------

    async def command(self, sql: str) -> Reply:
        """Prepare, execute and release in one group: for statements without rows and parameters.

        Source:   observed: JDBC, select.json (executeUpdate)
        """
        outbox = Outbox()
        requests.put_command(outbox, self.dialect, self.code_set.encode(sql))
        self.stats.statements += 1
        reply = await self.exchange(
            outbox,
            done=lambda reply: self.executed(
                reply.description.statement_type if reply.description else 0, reply, sql
            ),
        )
        raise_for(reply, sql)
        return reply

    def executed(self, statement_type: int, reply: Reply, sql: str = "") -> None:
        """A statement of this type succeeded: follow what it did to the transaction, or to the open database."""
        if statement_type == StatementType.BEGIN_WORK:
            self.in_transaction = True
        elif statement_type in (StatementType.COMMIT_WORK, StatementType.ROLLBACK_WORK):
            self.in_transaction = False
        elif statement_type in (StatementType.DATABASE, StatementType.CREATE_DATABASE):
            self.opened(named_database(sql), reply)
        elif statement_type == StatementType.CLOSE_DATABASE:
            self.opened("", Reply())

    def opened(self, database: str, reply: Reply) -> None:
        """A database was opened; *reply* says what it is like.

        Source:   observed: the answer to SQ_DBOPEN; documented for the statements DATABASE and CREATE DATABASE: sqlwarn
        """
        self.database = database
        self.open_warnings = reply.done.warnings if reply.done else 0

    def cursor_name(self) -> bytes:
        """A name that no other cursor of this session has; shaped like JDBC's (observed: select.json)."""
        self._cursors += 1
        return b"_ifxc%013d" % self._cursors

    # -- transactions -------------------------------------------------------------------------------------------------

    @property
    def is_logged(self) -> bool:
        """Whether the open database has transactions; an ANSI one always has (observed: JDBC, session.json)."""
        return bool(self.open_warnings & (OpenWarning.LOGGED | OpenWarning.ANSI))

    @property
    def is_ansi(self) -> bool:
        """Whether a transaction is always open."""
        return bool(self.open_warnings & OpenWarning.ANSI)

    async def begin(self) -> None:
        """BEGIN WORK; nothing is sent in an ANSI database, where it would be an error.

        Raises:   NotSupportedError: the database has no log, so nothing could be rolled back.
                  InterfaceError: in one already.
        """
        if not self.is_logged:
            raise NotSupportedError("the database is not logged: it has no transactions", sqlcode=-256)
        if self.in_transaction:
            raise InterfaceError("a transaction is open already")
        if self.is_ansi:
            self.in_transaction = True
        else:
            await self._control(requests.put_begin, StatementType.BEGIN_WORK)

    async def commit(self) -> None:
        """COMMIT WORK."""
        await self._control(requests.put_commit, StatementType.COMMIT_WORK)

    async def rollback(self) -> None:
        """ROLLBACK WORK."""
        await self._control(requests.put_rollback, StatementType.ROLLBACK_WORK)

    async def abort_transaction(self) -> None:
        """ROLLBACK WORK behind a failure, which may have ended the transaction already (-255).

        What cannot be rolled back ends the connection: whatever came next would run inside of that transaction.
        """
        try:
            await self.rollback()
        except DatabaseError as error:
            if self.is_open and error.sqlcode != _NOT_IN_TRANSACTION:
                self.channel.abort(ConnectionLost(f"a transaction could not be rolled back: {error}"))

    async def autocommit(self) -> None:
        """In an ANSI database, outside of a transaction of the user's: commit what the server began by itself.

        Source:   assumed, from JDBC's commit behind its own query in such a database (session.json); a live ANSI
                  database would show whether a statement without rows needs it too. -255, nothing to commit, is no
                  error here.
        """
        if self.is_ansi and not self.in_transaction:
            outbox = Outbox()
            requests.put_commit(outbox)
            reply = await self.exchange(outbox)
            if reply.error is not None and reply.error.sqlcode != _NOT_IN_TRANSACTION:
                raise_for(reply)

    async def autocommit_failed(self) -> None:
        """`autocommit` behind a statement that failed: what it locked is set free. Only the first failure is raised.

        Source:   observed: JDBC commits behind every failed statement (errors.json, exec_268)
        """
        try:
            await self.autocommit()
        except DatabaseError:
            pass

    async def _control(self, put: Callable[[Outbox], None], effect: StatementType) -> None:
        outbox = Outbox()
        put(outbox)
        reply = await self.exchange(outbox, done=lambda reply: self.executed(effect, reply))
        if reply.error is not None and reply.error.sqlcode == _NOT_IN_TRANSACTION:
            self.in_transaction = False
        raise_for(reply)

    # -- the end ------------------------------------------------------------------------------------------------------

    async def exit(self) -> None:
        """SQ_EXIT, then close. The server rolls back what is open.

        Wire:     2 opcode, no SQ_EOT; the answer is SQ_EXIT, then the server closes (observed: JDBC, login.json)
        """
        if self.is_open:
            outbox = Outbox()
            requests.put_exit(outbox)
            farewell = self.submit(outbox.take(), read_reply(self.channel.inbox, self.dialect))
            self._leaving = True
            self.stats.round_trips += 1
            try:
                await asyncio.shield(farewell)
            except DatabaseError:
                pass  # a server that closes without a farewell has closed all the same
            except asyncio.CancelledError:
                self.abandon(farewell)
                raise
        self.channel.close()
        await self.channel.wait_closed()


def raise_for(reply: Reply, sql: str | None = None, row_index: int | None = None) -> None:
    """Raise what a reply says went wrong: the server's error first, then a value that could not be decoded."""
    if (error := reply.error) is not None:
        raise from_server(
            error.sqlcode,
            error.isamcode,
            offset=error.offset,
            token=error.token,
            sql=sql,
            row_index=row_index,
        )
    if reply.bad_value is not None:
        raise reply.bad_value


def first_failure(replies: Sequence[Reply]) -> int | None:
    """The index of the first reply with an error."""
    return next((index for index, reply in enumerate(replies) if reply.error is not None), None)
