"""A prepared statement: columns, row decoder, parameter encoder, fetch blocks. Never: user-facing iteration.

Whoever calls a coroutine of this module holds the session's turn.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

from aioifx.client.options import MIN_FETCH_SIZE
from aioifx.client.session import Session, raise_for
from aioifx.client.sqltext import scan
from aioifx.codecs.params import ParamEncoder
from aioifx.codecs.rows import RowDecoder, Step
from aioifx.errors import DataError, InterfaceError, ProtocolError
from aioifx.sqltypes import Column, Row, SqlType, TypeCode, Value
from aioifx.wire import requests
from aioifx.wire.inbox import Inbox
from aioifx.wire.opcodes import StatementType
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply, RowReader, by_field, in_runs

_REPLY_SLACK: Final = 1 << 20


class Statement:
    """One statement that the server has prepared, and its cursor."""

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
        self.row_size = description.row_size
        self.warnings = prepared.done.warnings if prepared.done else 0
        self.returns_rows = self.kind == StatementType.SELECT or (
            self.kind == StatementType.EXECUTE_ROUTINE and bool(description.columns)
        )
        self.columns = description.columns if self.returns_rows else ()
        self.is_open = False
        """Whether the cursor is open at the server."""
        self.exhausted = True
        self.is_released = False
        """Nothing may be asked of it any more: the server may have given its id to another statement."""
        self._name: bytes | None = None
        self._ret_types = _wanted(self.columns)
        self._typed_once = False
        self._read_rows: RowReader | None = None
        self._encoder: ParamEncoder | None = None
        self._loose: ParamEncoder | None = None
        self._stored = _stored(self.kind, len(description.columns), len(parameters), sql)

    # -- rows ---------------------------------------------------------------------------------------------------------

    def row_reader(self) -> RowReader:
        """What turns tuples of this statement into rows; made once.

        Raises:   NotSupportedError: a column has a type that cannot be decoded.
        """
        if self._read_rows is None:
            decoder = RowDecoder(
                self.columns,
                self.session.code_set,
                strip_char=self.session.strip_char,
                padded_varchar=not self.session.dialect.variable_varchar,
            )
            self._read_rows = (
                in_runs(decoder) if self.session.read_ahead else by_field(_field_reader(decoder.steps))
            )
        return self._read_rows

    async def open(self, params: Sequence[Value], fetch_size: int = 0, *, shared: bool = False) -> list[Row]:
        """Open the cursor and fetch the first block, in one group.

        Args:     fetch_size: bytes; 0 for the session's. shared: the turn is given back between blocks, so a COMMIT
                  of somebody else's may come in between; it spares the cursor if that is not part of a transaction.

        Wire:     ID · CURNAME · [BIND] · [HOLD] · OPEN · ID · [RET_TYPE] · NFETCH
        Source:   observed: JDBC, prepared.json select_int_int; with RET_TYPE in the same group: select.json, OPTOFC
                  with a prepared statement; with HOLD: select.json, holdable_int. That variable-width columns need no
                  second group was observed on 12.10, 14.10 and 15.
        """
        read_rows = self.row_reader()
        outbox = self._addressed()
        if self._name is None:
            self._name = self.session.cursor_name()
        requests.put_curname(outbox, self._name)
        self._put_params(outbox, params)
        if shared and self.session.is_logged and not self.session.in_transaction:
            requests.put_hold(outbox)
        requests.put_open(outbox)
        requests.put_id(outbox, self.statement_id)
        if self._ret_types and not self._typed_once:
            requests.put_ret_type(outbox, self._ret_types)
        self.is_open = True  # from here on the server may have a cursor, whatever comes back
        self.exhausted = False
        rows = await self._fetch(outbox, fetch_size, read_rows)
        self._typed_once = True
        return rows

    async def fetch_block(self) -> list[Row]:
        """The next block; empty when there are no more rows.

        Raises:   InterfaceError: the statement was closed in the middle of its rows.
        """
        outbox = self._addressed()
        if self.exhausted:
            return []
        return await self._fetch(outbox, 0, self.row_reader())

    async def _fetch(self, outbox: Outbox, fetch_size: int, read_rows: RowReader) -> list[Row]:
        # JDBC raises the buffer to the row's size (observed: select.json).
        size = max(fetch_size or self.session.fetch_size, self.row_size)
        requests.put_fetch(outbox, self.session.dialect, size)
        reply = await self.session.exchange(outbox, read_rows, limit=2 * size + _REPLY_SLACK)
        if reply.closed:
            self.is_open = False
        self.exhausted = _is_last(reply)
        if reply.error is not None:
            self.exhausted = True
        raise_for(reply, self.sql)
        return reply.rows

    async def fetch_all(self, params: Sequence[Value]) -> list[Row]:
        """Every row."""
        rows = await self.open(params)
        while not self.exhausted:
            rows += await self.fetch_block()
        return rows

    async def fetch_first(self, params: Sequence[Value]) -> Row | None:
        """The first row; asks for as little as JDBC's least buffer holds."""
        rows = await self.open(params, MIN_FETCH_SIZE)
        while not rows and not self.exhausted:
            rows = await self.fetch_block()
        return rows[0] if rows else None

    async def count_rows(self, params: Sequence[Value]) -> int:
        """Fetch every row and keep none."""
        count = len(await self.open(params))
        while not self.exhausted:
            count += len(await self.fetch_block())
        return count

    # -- execution ----------------------------------------------------------------------------------------------------

    async def execute(self, params: Sequence[Value]) -> Reply:
        """Run a statement that returns no rows.

        Wire:     ID · [BIND] · EXECUTE
        Source:   observed: JDBC, prepared.json
        """
        outbox = self._addressed()
        self._put_params(outbox, params)
        requests.put_execute(outbox)
        reply = await self.session.exchange(
            outbox, done=lambda reply: self.session.executed(self.kind, reply, self.sql)
        )
        raise_for(reply, self.sql)
        return reply

    def put_execution(self, outbox: Outbox, params: Sequence[Value], row: int) -> None:
        """One row of a pipelined executemany: a group of its own."""
        requests.put_id(outbox, self.statement_id)
        self._put_params(outbox, params, row)
        requests.put_execute(outbox)
        requests.put_eot(outbox)

    def _addressed(self) -> Outbox:
        """A request that begins with SQ_ID."""
        if self.is_released:
            raise InterfaceError("the statement is closed")
        outbox = Outbox()
        requests.put_id(outbox, self.statement_id)
        return outbox

    def _put_params(self, outbox: Outbox, params: Sequence[Value], row: int | None = None) -> None:
        if not self.parameters:
            check_count(0, params)
            return
        requests.put_bind(outbox, self._encode(params, row))

    def _encode(self, params: Sequence[Value], row: int | None) -> bytes:
        if self._encoder is None:
            self._encoder = ParamEncoder(self.parameters, self.session.code_set)
        try:
            return self._encoder.encode(params, row=row)
        except DataError:
            if self._stored >= len(self.parameters):
                raise
        # A parameter that is compared, not stored, may exceed the type that the server describes for it:
        # WHERE smallint_column < 100000 is sound. Then it goes out by its own type, and the server judges.
        if self._loose is None:
            loose = [
                sqltype if index < self._stored or (sqltype and sqltype.kind == TypeCode.BOOLEAN) else None
                for index, sqltype in enumerate(self.parameters)
            ]
            self._loose = ParamEncoder(loose, self.session.code_set)
        return self._loose.encode(params, row=row)

    # -- the end ------------------------------------------------------------------------------------------------------

    async def close_cursor(self) -> None:
        """CLOSE, unless the server has done so itself; the statement stays prepared."""
        if self.is_open:
            outbox = self._addressed()
            requests.put_close(outbox)
            self.is_open, self.exhausted = False, True
            await self.session.exchange(outbox)  # sent before anything can cancel the wait

    def leave_cursor(self) -> None:
        """Give the cursor up without waiting; the session's next turn closes it, the statement stays prepared."""
        if self.is_open:
            self.is_open, self.exhausted = False, True
            self.session.leave_cursor(self.statement_id)

    async def release(self) -> None:
        """CLOSE and RELEASE, once."""
        if not self.is_released:
            await self.session.drop(self.statement_id, cursor=self._released())

    def leave(self) -> None:
        """Give the statement up without waiting; the session's next turn closes and releases it."""
        if not self.is_released:
            self.session.leave(self.statement_id, cursor=self._released())

    def _released(self) -> bool:
        """Whether there is a cursor to close."""
        cursor, self.is_open, self.is_released = self.is_open, False, True
        return cursor


async def prepare(session: Session, sql: str, params: Sequence[Value] | None = None) -> Statement:
    """PREPARE, and CIDESCRIBE where there are parameters.

    Args:     params: the values it is prepared for, if they are known.

    Wire:     PREPARE · NDESCRIBE · WANTDONE, then ID · CIDESCRIBE
    Raises:   Before anything is sent: ProgrammingError, DataError: the text is no statement, or not in the code set.
              InterfaceError: the number of values is wrong.
    Source:   observed: JDBC, prepared.json; JDBC asks for parameters even where there are none
    """
    placeholders = scan(sql).placeholders
    if params is not None:
        check_count(placeholders, params)
    outbox = Outbox()
    requests.put_prepare(outbox, session.dialect, session.code_set.encode(sql), placeholders)
    session.stats.statements += 1
    prepared = await session.exchange(outbox, orphaned=lambda reply: _put_down(session, reply))
    raise_for(prepared, sql)
    if prepared.description is None:
        raise ProtocolError("the server prepared a statement and did not describe it")
    statement_id = prepared.description.statement_id
    if not placeholders:
        return Statement(session, sql, prepared, ())
    try:
        parameters = await _describe_parameters(session, prepared, placeholders)
    except BaseException:
        session.leave(statement_id, cursor=False)
        raise
    return Statement(session, sql, prepared, parameters)


def _put_down(session: Session, prepared: Reply) -> None:
    """The answer to a PREPARE that nobody waits for any more."""
    if prepared.description is not None and prepared.error is None:
        session.leave(prepared.description.statement_id, cursor=False)


def check_count(expected: int, params: Sequence[Value]) -> None:
    """Raise unless there is a value for each placeholder."""
    if len(params) != expected:
        one = "parameter" if expected == 1 else "parameters"
        raise InterfaceError(f"{expected} {one} expected, {len(params)} given")


def check_sequence(params: object, what: str) -> None:
    """Raise unless *params* is a sequence of values; text and mappings are none."""
    kind = type(params).__name__
    if isinstance(params, (str, bytes, dict)) or not isinstance(params, Sequence):
        raise InterfaceError(f"{what} must be a sequence, not {kind}")


async def _describe_parameters(
    session: Session, prepared: Reply, placeholders: int
) -> tuple[SqlType | None, ...]:
    description = prepared.description
    assert description is not None
    described: tuple[SqlType, ...] = ()
    if session.dialect.describe_input:
        outbox = Outbox()
        requests.put_id(outbox, description.statement_id)
        requests.put_describe_input(outbox)
        reply = await session.exchange(outbox)
        if reply.error is None:
            described = reply.parameters or ()
    if len(described) == placeholders:
        return described
    if description.statement_type == StatementType.INSERT and len(description.columns) == placeholders:
        return tuple(column.type for column in description.columns)
    return (None,) * placeholders


def _stored(kind: int, columns: int, parameters: int, sql: str) -> int:
    """How many parameters, from the first, are stored into the column that describes them; the others are compared."""
    if kind == StatementType.INSERT and columns == parameters:
        return parameters
    if kind in (StatementType.UPDATE, StatementType.UPDATE_ALL, StatementType.UPDATE_CURRENT):
        return scan(sql).before_where
    return 0


def _is_last(reply: Reply) -> bool:
    """Whether no rows follow: DONE with rows, a reply without tuples, or a cursor that the server closed.

    Source:   observed: JDBC, select.json; an empty reply is the end on 12.10, 14.10 and 15
    """
    if reply.closed or (not reply.rows and reply.bad_value is None):
        return True
    return reply.done is not None and reply.done.rows > 0


def _wanted(columns: Sequence[Column]) -> tuple[SqlType, ...]:
    """What SQ_RET_TYPE asks for; empty when every column comes in its own form anyway.

    Source:   observed: JDBC, select.json: LVARCHAR as 43, BOOLEAN as 45, other extended types as 44, all without owner
    """
    if not any(requests.is_named(column.type.kind) for column in columns):
        return ()
    return tuple(_wanted_type(column.type) for column in columns)


def _wanted_type(sqltype: SqlType) -> SqlType:
    kind = sqltype.kind
    if kind == TypeCode.LVARCHAR:
        return SqlType(TypeCode.LVARCHAR, sqltype.length)
    if kind == TypeCode.BOOLEAN:
        return SqlType(TypeCode.BOOLEAN, sqltype.length, extended_name="boolean")
    if kind in (TypeCode.UDTVAR, TypeCode.UDTFIXED):
        return SqlType(TypeCode.OPAQUE, sqltype.length, extended_name=sqltype.extended_name)
    return SqlType(
        kind, sqltype.length, extended_name=sqltype.extended_name if requests.is_named(kind) else ""
    )


def _field_reader(steps: Sequence[Step]) -> Callable[[Inbox, int], Awaitable[Row]]:
    """Reads one row field by field, each awaited on its own; *end* guards against sizes that lead out of the row."""

    async def read_row(inbox: Inbox, end: int) -> Row:
        values: list[Value] = []
        for step in steps:
            await _need_within(inbox, step.head or step.width, end)
            head = bytes(inbox.data[inbox.pos : inbox.pos + step.head])
            size = step.head + step.rest(head) if step.head else step.width
            await _need_within(inbox, size, end)
            values.append(step.decode(inbox.take(size)))
        return tuple(values)

    return read_row


async def _need_within(inbox: Inbox, count: int, end: int) -> None:
    if inbox.consumed + count > end:
        raise ProtocolError("a field reaches past the end of its row")
    await inbox.need(count)


@asynccontextmanager
async def prepared(
    session: Session, sql: str, params: Sequence[Value] | None = None
) -> AsyncGenerator[Statement, None]:
    """A statement for as long as the block lasts, with the turn held; closed and released behind it.

    An ordinary error releases it too before it goes on; a cancellation leaves that to the next turn.
    """
    async with session:
        statement = await prepare(session, sql, params)
        try:
            yield statement
        except Exception:
            if session.is_open:
                await statement.release()
                await session.autocommit_failed()
            raise
        except BaseException:
            statement.leave()
            raise
        await statement.release()
        await session.autocommit()
