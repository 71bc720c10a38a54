"""A prepared statement: columns, row decoder, parameter encoder, fetch blocks. Never: user-facing iteration.

Callers of this module's coroutines hold the session's lock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NoReturn

from aioifx._speedups.round_trip import InFlight
from aioifx.client.execution.cursor_requests import CursorRequests
from aioifx.client.execution.large_parameters import large_parameters
from aioifx.client.execution.large_values import Fetching
from aioifx.client.execution.parameters import RequestEncoder, RequestTemplate
from aioifx.client.execution.row_plan import RowPlans
from aioifx.client.execution.statement_requests import (
    EXECUTE_EOT,
    execute_template,
    ret_types_of,
    statement_request,
)
from aioifx.client.execution.statement_state import (
    GONE,
    ON_CLOSE,
    ON_LAST_ROWS,
    ON_OPEN,
    ON_RELEASE,
    PREPARED,
    WITH_CURSOR,
    WITH_ROWS,
    StatementState,
)
from aioifx.client.lobs.storing import StoredParameters, lob_parameters
from aioifx.client.session.failures import raise_for
from aioifx.client.session.fetch_size import may_be_about_the_request
from aioifx.client.session.session import DML_TYPES, Session
from aioifx.client.sql.scanner import is_for_update
from aioifx.client.sql.statement_rules import alters_tables
from aioifx.codecs.arrow_rows import ArrowRows
from aioifx.codecs.native import EncodeArrow, leave_all, make_encoder
from aioifx.codecs.objects import adapters_for
from aioifx.codecs.params import EncodeParamRows, EncodeResult
from aioifx.errors import InterfaceError, ProtocolError
from aioifx.sqltypes import Column, Row, SqlType, Value
from aioifx.wire import requests
from aioifx.wire.opcodes import StatementType
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply
from aioifx.wire.tuples import RowReader

_CONTROLS: Final = frozenset(
    map(int, (StatementType.BEGIN_WORK, StatementType.COMMIT_WORK, StatementType.ROLLBACK_WORK))
)
"""Statements that are not interrupted: their outcome would be unknown, and sqlbreak does not end them (documented)."""


_UNNAMED: Final = "(expression)"


def _named(results: tuple[Column, ...]) -> tuple[Column, ...]:
    """The results of a routine, of which those without a name get one by their position."""
    return tuple(
        replace(column, name=f"expression_{number}") if column.name == _UNNAMED else column
        for number, column in enumerate(results, 1)
    )


class Statement:
    """A statement prepared at the server, with its cursor."""

    def __init__(
        self, session: Session, sql: str, prepared: Reply, parameters: tuple[SqlType | None, ...]
    ) -> None:
        description = prepared.description
        assert description is not None
        self.session = session
        self.sql = sql
        self.statement_id = description.statement_id
        self.kind = description.statement_type
        self.parameters = parameters
        self.warnings = prepared.done.warnings if prepared.done else 0
        self.returns_rows = self.kind == StatementType.SELECT or (
            self.kind == StatementType.EXECUTE_ROUTINE and bool(description.columns)
        )
        self.columns = description.columns if self.returns_rows else ()
        if self.kind == StatementType.EXECUTE_ROUTINE:
            self.columns = _named(self.columns)
        self.is_for_update = self.returns_rows and is_for_update(sql)
        """Whether its rows may be changed by WHERE CURRENT OF."""
        self.only_reads = self.kind == StatementType.SELECT and not self.is_for_update
        """Whether a fetch changes nothing: a routine has side effects, and rows to be changed are locked."""
        self.targets = description.columns if self.kind == StatementType.INSERT else ()
        """The target columns of an INSERT."""
        self.state: StatementState = PREPARED
        self.is_one_shot = False
        """Whether the statement is executed only once."""
        self.is_cacheable = False
        """Whether the statement may go into the cache after use."""
        self.is_from_cache = False
        """Whether it was prepared for an earlier call, so that it may be stale."""
        self.is_partly_executed = False
        """Whether rows of a failed executemany are part of the transaction that is still open."""
        self.generation = session.generation
        self._head = statement_request(self.statement_id).detach()
        self.conversions = session.conversions
        adapters = adapters_for(session.conversions, parameters, session.code_set)
        self.large_parameters = large_parameters(session, parameters, adapters)
        """The BYTE and TEXT parameters; None if there are none."""
        self.encoder = RequestEncoder(
            sql, parameters, session.code_set, adapters, self.kind, self.targets, self.large_parameters
        )
        self.lob_parameters = lob_parameters(session, parameters, adapters, self.encoder.target_columns)
        """The BLOB and CLOB parameters; None if there are none."""
        self.takes_large_values = self.large_parameters is not None or self.lob_parameters is not None
        """Whether parameters must be read from their sources, or stored, before they are encoded."""
        self.alters_tables = not self.returns_rows and alters_tables(sql)
        """Whether cached statements may be stale after its execution."""
        on_lost = session.transactions.on_reply_lost
        self.on_lost = None if self.kind == StatementType.SELECT else partial(on_lost, sql)
        """Called if the reply to an execution is lost."""
        self.plans = RowPlans(Fetching(session, self.statement_id, sql, self.on_lost), self.columns)
        self.cursor = CursorRequests(
            session,
            self.statement_id,
            description.row_size,
            ret_types_of(self.columns),
            self.plans,
            has_parameters=bool(parameters),
        )
        self.early: InFlight | None = None
        """The request of the next block that `fetch_ahead` has sent, for the next `send_fetch`; None without one."""
        self._execute_template: RequestTemplate | None = None
        self._encode_executions: EncodeParamRows | None = None
        self._encode_arrow: tuple[object, EncodeArrow] = None, leave_all
        """The columns of the Arrow data, and what encodes it."""

    @property
    def is_open(self) -> bool:
        """Whether the cursor may be open at the server."""
        return self.state in WITH_CURSOR

    @property
    def is_exhausted(self) -> bool:
        """Whether no more rows will come."""
        return self.state not in WITH_ROWS

    @property
    def cursor_name(self) -> str | None:
        """The open cursor's name; None if it is closed."""
        return self.cursor.name().decode("ascii") if self.is_open else None

    # -- rows ---------------------------------------------------------------------------------------------------------

    async def open(
        self,
        params: Sequence[Value],
        fetch_size: int = 0,
        *,
        hold: bool = False,
        read_rows: RowReader | None = None,
        collected: bool = False,
        apart: bool | None = None,
    ) -> list[Row]:
        """Open the cursor and fetch the first block, in one group.

        A server may refuse RET_TYPE in this group. The query is then opened once more as JDBC does it, in two groups,
        and so are later ones at this server.

        Args:
            fetch_size: bytes; 0 for the session's.
            hold: keep the cursor open after the transaction.
            read_rows: reader of its tuples, instead of plain ones.
            collected: large parameters were read from their sources, and stored.
        """
        session = self.session
        if self.takes_large_values and not collected:
            params = await self.encoder.collect(params)
            if self.lob_parameters is not None and not self.lob_parameters.are_stored(params):
                async with await self.store(params) as stored:
                    return await self.open(stored, fetch_size, hold=hold, read_rows=read_rows, collected=True)
        cursor = self.cursor
        size = cursor.fetch_size(fetch_size)
        cursor.read_rows = read_rows
        self.check_usable()
        if apart is None:
            # A routine is not run again, because of its side effects, so its request is never uncertain.
            accepts = session.behavior.ret_type_with_open
            apart = cursor.has_uncertain_ret_types and not (
                accepts or (accepts is None and self.is_repeatable)
            )
        is_trial = cursor.has_uncertain_ret_types and not apart
        template = cursor.open_template(
            self.encoder, 0 if apart else size, hold=hold, is_one_shot=self.is_one_shot
        )
        group = self.encoder.encode(template, params)
        if not session.transactions.runs_unchecked:
            await self.check_may_run()
        reader = cursor.reply_reader(size)
        self.state, cursor.had_done = ON_OPEN[self.state], None
        in_flight = session.conversation.send(group, reader, interruptible=True, on_lost=self.on_lost)
        try:
            reply = await session.dispatcher.reply(in_flight)
        except ProtocolError:  # it may be about the group; another connection avoids it
            if is_trial and session.behavior.ret_type_with_open is None:
                session.behavior.learn("ret_type_with_open", False)
            raise
        if apart:
            if reply.error is not None:  # which has nothing to do with a fetch
                return self.accept_block(reply)
            reply = await session.dispatcher.reply(self.send_fetch(size))
        if is_trial:
            if reply.error is None:
                session.behavior.learn("ret_type_with_open", True)
            elif self.is_repeatable and may_be_about_the_request(reply.error):
                await self._close_to_reopen()
                rows = await self.open(
                    params, fetch_size, hold=hold, read_rows=read_rows, collected=True, apart=True
                )
                if cursor.fetch_size(fetch_size) == size:  # otherwise the size was refused
                    session.behavior.learn("ret_type_with_open", False)
                return rows
        # No row was consumed, and a cursor opened again starts at the first row (assumed); only fetching again could
        # skip rows that were lost with the error.
        if (
            session.fetch_buffer.is_unconfirmed
            and session.fetch_buffer.fall_back_if_rejected(size, reply)
            and self.is_repeatable
        ):
            await self._close_to_reopen()
            return await self.open(params, hold=hold, read_rows=read_rows, collected=True, apart=apart)
        return self.accept_block(reply)

    @property
    def is_repeatable(self) -> bool:
        """Whether its cursor may be opened again after an error: a query, and the server has not ended the
        transaction."""
        return self.kind == StatementType.SELECT and not self.session.transactions.is_aborted

    def try_send_open(
        self,
        params: Sequence[Value],
        read_rows: RowReader | None,
        size: int,
        hold: bool = False,
        future: asyncio.Future[Reply] | None = None,
    ) -> InFlight | None:
        """Send the request of `open`; None if something must be awaited first or may have to be repeated.

        Args:
            future: of the reply; None: a new one.
        """
        session = self.session
        if not session.transactions.runs_unchecked or session.fetch_buffer.is_unconfirmed:
            return None
        cursor = self.cursor
        opening = cursor.last_open
        if (
            opening is None
            or opening.size != size
            or opening.hold is not hold
            or opening.read_rows is not read_rows
        ):
            if self.takes_large_values:
                return None
            opening = cursor.opening(self.encoder, size, read_rows, hold=hold, is_one_shot=self.is_one_shot)
            if opening is None:
                return None
        if self.state is not PREPARED or self.generation != session.generation:
            self.check_usable()
        group = (
            self.encoder.encode(opening.group, params) if params or self.parameters else opening.group.prefix
        )
        cursor.read_rows = read_rows
        self.state, cursor.had_done = ON_OPEN[self.state], None
        return session.dispatcher.send_statement(group, opening.reader, self.on_lost, future)

    async def fetch_block(self, *, ahead: bool = False) -> list[Row]:
        """The next block; empty if there are no more rows.

        Args:
            ahead: the caller fetches until the end, and sends nothing else meanwhile; see `fetch_ahead`.

        Raises:
            InterfaceError: the statement was closed before its last row.
        """
        if self.is_exhausted:
            self.check_usable()
            return []
        reply = self.session.dispatcher.reply(self.send_fetch())
        return await self.fetch_ahead(reply, has_lock=True) if ahead else self.accept_block(await reply)

    async def fetch_ahead(self, reply: Awaitable[Reply], *, has_lock: bool) -> list[Row]:
        """The rows of *reply*. The next block is requested when it has arrived, before its rows are decoded.

        Args:
            has_lock: see `Dispatcher.may_go_on`.
        """
        continuation = self.cursor.continuation
        # A request's operation is that of the task that sends it.
        if self.only_reads and self.session.observation is None:
            continuation.send = partial(self._request_early, has_lock)
        try:
            block = await reply
        except BaseException:
            self._drop_early(interrupt=True)
            raise
        finally:
            continuation.send = None
        return self.accept_block(block)

    def _request_early(self, has_lock: bool) -> None:
        if self.is_usable and self.session.dispatcher.may_go_on(has_lock=has_lock):
            self.early = self.send_fetch()

    def _drop_early(self, *, interrupt: bool = False) -> None:
        early, self.early = self.early, None
        if early is not None:
            self.discard_prefetched(early)
            self.session.dispatcher.abandon(early, interrupt=interrupt)

    def send_fetch(self, wanted: int = 0) -> InFlight:
        """Request the next block without waiting, unless `fetch_ahead` did; `accept_block` converts the reply to rows.

        Args:
            wanted: bytes; 0 for the session's.
        """
        early, self.early = self.early, None
        if early is not None:
            return early
        self.check_usable()
        size = self.cursor.fetch_size(wanted)
        request, reader = self.cursor.next_block(size), self.cursor.reply_reader(size)
        return self.session.conversation.send(request, reader, interruptible=True, on_lost=self.on_lost)

    def accept_block(self, reply: Reply) -> list[Row]:
        """The rows in a fetch's reply; updates the state of the cursor.

        Source: observed: 15: the server closes the cursor with the last rows; 12.10, 14.10 and 15: an empty reply is
        the end
        """
        rows = reply.rows
        cursor = self.cursor
        # AUTOFREE applies only once the cursor has been opened.
        cursor.autofree_granted = cursor.autofree_asked
        if reply.is_cursor_closed:
            self.state = ON_CLOSE[self.state]
        elif not (rows or reply.bad_value is not None) or self._has_last_rows(reply):
            self.state = ON_LAST_ROWS[self.state]
        if not reply.is_plain and (reply.error is not None or reply.bad_value is not None):
            self._raise_block_error(reply)
        if not cursor.are_types_sent:
            cursor.on_types_sent()
        return rows

    def _has_last_rows(self, reply: Reply) -> bool:
        """Whether the rows of a reply without SQ_CLOSE are the last ones.

        If rows may arrive one at a time, only an empty reply or SQ_CLOSE is the end (assumed). So it is for a routine,
        whose blocks show nothing of queries.
        """
        if not self.only_reads or self.session.transactions.sends_row_by_row:
            return False
        return self.cursor.has_last_rows(reply)

    def _raise_block_error(self, reply: Reply) -> NoReturn:
        """Raise the error in a fetch's reply."""
        if reply.error is not None:
            self.state = ON_LAST_ROWS[self.state]
            self.cursor.autofree_granted = False
        raise_for(reply, self.sql, self.session.options)
        raise AssertionError("the reply holds no error")

    def discard_prefetched(self, in_flight: InFlight) -> None:
        """Drop a prefetched block, but note whether it closed the cursor."""
        future = in_flight.future
        if (
            future.done()
            and not future.cancelled()
            and future.exception() is None
            and future.result().is_cursor_closed
        ):
            self.state = ON_CLOSE[self.state]

    # -- execution ----------------------------------------------------------------------------------------------------

    async def execute(
        self, params: Sequence[Value], sent: Awaitable[Reply] | None = None, *, collected: bool = False
    ) -> Reply:
        """Execute a statement that returns no rows.

        Args:
            collected: large parameters were read from their sources, and stored.
            sent: the reply, if the request is sent.
        """
        session = self.session
        if sent is None and (in_flight := self.try_send_execute(params)) is not None:
            sent = session.dispatcher.reply(in_flight)
        if sent is None:
            if self.takes_large_values and not collected:
                params = await self.encoder.collect(params)
                if self.lob_parameters is not None and not self.lob_parameters.are_stored(params):
                    async with await self.store(params) as stored:
                        return await self.execute(stored, collected=True)
            self.check_usable()
            group = self.encoder.encode(self._get_execute_template(), params)
            await self.check_may_run()
            in_flight = session.conversation.send(
                group,
                on_success=self._on_executed,
                interruptible=self.kind not in _CONTROLS,
                on_lost=self.on_lost,
            )
            sent = session.dispatcher.reply(in_flight)
        reply = await sent
        if not reply.is_plain and (reply.error is not None or reply.bad_value is not None):
            raise_for(reply, self.sql, session.options)
        return reply

    def try_send_execute(
        self, params: Sequence[Value], future: asyncio.Future[Reply] | None = None
    ) -> InFlight | None:
        """Send the request of `execute`; None if something must be awaited first, or the reply changes the session.

        Args:
            future: of the reply; None: a new one.
        """
        session = self.session
        if self.kind not in DML_TYPES or self.takes_large_values or not session.transactions.runs_unchecked:
            return None
        if self.state is not PREPARED or self.generation != session.generation:
            self.check_usable()
        group = self.encoder.encode(self._execute_template or self._get_execute_template(), params)
        dispatcher = session.dispatcher
        return dispatcher.send_statement(group, dispatcher.reader, self.on_lost, future)

    async def store(self, params: Sequence[Value], row: int | None = None) -> StoredParameters:
        """Check all parameters, and prepare to store the values of BLOB and CLOB parameters; see `LobParameters.store`.

        Args:
            row: the index of the row in an executemany, for messages.
        """
        assert self.lob_parameters is not None
        self.check_usable()
        self.encoder.put(Outbox(), self.lob_parameters.placeholders(params), row)
        await self.check_may_run()
        return self.lob_parameters.store(params, row, partial(self.encoder.add_context, params=params))

    async def check_may_run(self) -> None:
        """Check before each kind of execution; see `Transactions.before_run`."""
        if not self.session.transactions.runs_unchecked:
            await self.session.transactions.before_run(self.sql, self.kind)

    def _on_executed(self, reply: Reply) -> None:
        self.session.on_executed(self.kind, reply, self.sql)
        # A DATABASE statement belongs to the database that it opened.
        self.generation = self.session.generation

    def put_executions(self, outbox: Outbox, rows: Iterator[Sequence[Value]], limit: int) -> EncodeResult:
        """Encode rows of a pipelined executemany, each as a separate group, up to *limit* bytes.

        Returns:
            The number of rows, and the row that stopped encoding; `put_execution` raises its error.
        """
        if self._encode_executions is None:
            self._encode_executions = self._get_execute_template().encode or make_encoder(
                (), self.session.code_set, self._head, EXECUTE_EOT
            )
        return self._encode_executions(rows, outbox.data, limit)

    def put_arrow(self, outbox: Outbox, rows: ArrowRows, start: int, limit: int) -> int:
        """Encode rows of Arrow data from *start* on, up to *limit* bytes.

        Returns:
            The row after them; `put_executions` encodes it, unless the limit is reached.
        """
        known, encode = self._encode_arrow
        if known is not rows.row:
            arrow = self._get_execute_template().arrow
            encode = leave_all if arrow is None else arrow(rows.row)
            self._encode_arrow = rows.row, encode
        return encode(rows, start, outbox.data, limit)

    def put_execution(self, outbox: Outbox, params: Sequence[Value], row: int) -> None:
        """Encode one row of a pipelined executemany."""
        outbox.raw(self._head)
        self.encoder.put(outbox, params, row)
        outbox.raw(EXECUTE_EOT)

    @property
    def has_consumed(self) -> bool:
        """Whether an execution cannot be repeated: it has read an iterator or a file, or rows of it are stored."""
        return (
            self.is_partly_executed
            or (self.large_parameters is not None and self.large_parameters.has_consumed)
            or (self.lob_parameters is not None and self.lob_parameters.is_single_use)
        )

    @property
    def is_usable(self) -> bool:
        """Whether the statement can be used: not released, and its database is still open."""
        return self.state not in GONE and self.generation == self.session.generation

    def check_usable(self) -> None:
        """Raise InterfaceError unless `is_usable`."""
        if self.state in GONE:
            raise InterfaceError("the statement is closed")
        if self.generation != self.session.generation:
            raise InterfaceError("the statement was prepared before another database was opened")

    def drop_conversions(self) -> None:
        """Take parameters that already have their columns' types; before the first execution."""
        self.large_parameters = large_parameters(self.session, self.parameters, ())
        self.encoder = RequestEncoder(
            self.sql,
            self.parameters,
            self.session.code_set,
            (),
            self.kind,
            self.targets,
            self.large_parameters,
        )
        self.is_cacheable = False

    def _get_execute_template(self) -> RequestTemplate:
        if self._execute_template is None:
            self._execute_template = execute_template(self.encoder, self.statement_id)
        return self._execute_template

    # -- close and release --------------------------------------------------------------------------------------------

    def close_cursor(self) -> None:
        """Close the cursor unless the server has closed it; the statement stays prepared. Never waits."""
        self._drop_early()
        if self.state in WITH_CURSOR:
            self.state = ON_CLOSE[self.state]
            if self.generation == self.session.generation:
                self.session.conversation.release_later(self.statement_id, cursor=True, release=False)

    async def close_and_wait(self) -> None:
        """CLOSE, if the cursor may be open, and wait; an error means that it is already closed."""
        if self.is_open:
            self.state = ON_CLOSE[self.state]
            outbox = statement_request(self.statement_id)
            requests.put_close(outbox)
            await self.session.conversation.exchange(outbox)

    async def _close_to_reopen(self) -> None:
        """Close the cursor where another OPEN does not.

        Source: documented: OPEN closes an open cursor, but is an error in ANSI databases (Guide to SQL Syntax, OPEN)
        """
        if self.session.database.is_ansi:
            await self.close_and_wait()

    def release_later(self) -> None:
        """Release the statement and its cursor, once. Never waits.

        Closing a database releases its statements (documented), and their ids may already be reused.
        """
        self._drop_early()
        if self.state in GONE:
            return
        is_open, self.state = self.is_open, ON_RELEASE[self.state]
        if self.generation == self.session.generation:
            freed = self.cursor.autofree_granted
            self.session.conversation.release_later(self.statement_id, cursor=is_open, release=not freed)
