"""A prepared statement: columns, row decoder, parameter encoder, fetch blocks. Never: user-facing iteration.

Callers of this module's coroutines hold the session's lock.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from struct import pack
from typing import Any, Final, NamedTuple, NoReturn

from aioifx.client.config.checks import row_maker
from aioifx.client.config.options import MIN_FETCH_SIZE
from aioifx.client.session.dispatcher import InFlight
from aioifx.client.session.session import DML_TYPES, Session, raise_for
from aioifx.client.sql.hints import hint_for_values
from aioifx.client.sql.placeholders import ByName
from aioifx.client.sql.scanner import is_for_update, scan
from aioifx.codecs.conversions import PLAIN
from aioifx.codecs.native import make_encoder
from aioifx.codecs.param_codegen import EncodeResult, EncodeRun
from aioifx.codecs.params import ParamEncoder
from aioifx.codecs.rows import FieldPlan, RowDecoder
from aioifx.errors import DatabaseError, DataError, InterfaceError, NotSupportedError, ProtocolError
from aioifx.rows import RowFactory, row_type_of
from aioifx.sqltypes import Column, Row, SqlType, TypeCode, Value
from aioifx.wire import requests
from aioifx.wire.inbox import Inbox
from aioifx.wire.opcodes import MAX_COLUMNS, Op, StatementType
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Done, Reply, ReplyReader, RowReader, read_field_by_field, read_in_runs

_REPLY_SLACK: Final = 1 << 20

_EXECUTE_EOT: Final = pack(">2H", Op.EXECUTE, Op.EOT)

_PLAIN: Final = (tuple, list)
"""Accepted by the bulk encoder."""

_CONTROLS: Final = frozenset(
    map(int, (StatementType.BEGIN_WORK, StatementType.COMMIT_WORK, StatementType.ROLLBACK_WORK))
)
"""Statements that are not interrupted: their outcome would be unknown, and sqlbreak does not end them (documented)."""


class RowPlan(NamedTuple):
    """How tuples are decoded and converted for one row factory."""

    factory: RowFactory[Any]
    read_rows: RowReader | None
    """None for the reader of plain tuples."""
    make: Callable[[Row], Any] | None
    """Converts each row; None if the reader already returns the final form."""


class _RequestTemplate(NamedTuple):
    """Template of a request that is repeated with other parameters."""

    prefix: bytes
    """Bytes before the parameters; the whole request if there are none."""
    suffix: bytes
    encode: EncodeRun | None
    """Encodes parameters of common types into the template; None without parameters."""


class _OpenRequest(NamedTuple):
    """Request of an ordinary opening and the reader of its reply; cached, since most are the same."""

    size: int
    read_rows: RowReader | None
    has_types: bool
    """Whether RET_TYPE had already been sent."""
    group: _RequestTemplate
    reader: ReplyReader


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
        self.row_size = description.row_size
        self.warnings = prepared.done.warnings if prepared.done else 0
        self.returns_rows = self.kind == StatementType.SELECT or (
            self.kind == StatementType.EXECUTE_ROUTINE and bool(description.columns)
        )
        self.columns = description.columns if self.returns_rows else ()
        self._is_for_update = self.returns_rows and is_for_update(sql)
        self._ends_with_done = not (self._is_for_update or session.is_ansi)
        """Whether an SQ_DONE with a row count always marks the last rows; see `_is_last`."""
        self.targets = description.columns if self.kind == StatementType.INSERT else ()
        """The target columns of an INSERT."""
        self.is_open = False
        """Whether the cursor is open at the server."""
        self.exhausted = True
        self.is_released = False
        """Whether the statement was released. Its id may then belong to another statement."""
        self.one_shot = False
        """Whether the statement is executed only once."""
        self.cacheable = False
        """Whether the statement may go into the cache after use."""
        self.from_cache = False
        """Whether it was prepared for an earlier call, so that it may be stale."""
        self.generation = session.generation
        self._autofree_asked = False
        self._autofree_granted = False
        self._failed = False
        self._head = self._new_request().take()
        self._name: bytes | None = None
        self._ret_types = _ret_types_of(self.columns)
        self.conversions = session.conversions
        self._adapters = session.conversions.adapters_for(parameters)
        self._ret_types_sent = not self._ret_types
        """Whether the server knows the form in which to send values."""
        self.verb = scan(sql).verb
        self._lost = None if self.kind == StatementType.SELECT else partial(session.on_reply_lost, sql)
        """Called if the reply to an execution is lost."""
        self._readers: dict[tuple[type[Row], bool], RowReader] = {}
        self._read_open: RowReader | None = None
        """Reader of the open cursor's tuples, if it is not the default row reader."""
        self._last_reader: ReplyReader | None = None
        self._last_open: _OpenRequest | None = None
        self._row_plan: RowPlan | None = None
        self._open_templates: dict[tuple[int, bool, bool, bool], _RequestTemplate] = {}
        self._execute_template: _RequestTemplate | None = None
        self._encode_executions: EncodeRun | None = None
        self._encoder: ParamEncoder | None = None
        self._untyped_encoder: ParamEncoder | None = None
        self._stored_count = _stored_count(self.kind, len(description.columns), len(parameters), sql)

    @property
    def cursor_name(self) -> str | None:
        """The open cursor's name; None if it is closed."""
        return self._name.decode("ascii") if self.is_open and self._name is not None else None

    # -- rows ---------------------------------------------------------------------------------------------------------

    def row_reader(self, row_type: type[Row] = tuple, *, plain: bool = False) -> RowReader:
        """The decoder of this statement's tuples; cached by row type.

        Args:     plain: values have their default types; the user's conversions are not applied.
        Raises:   NotSupportedError: a column has a type that cannot be decoded.
        """
        reader = self._readers.get((row_type, plain))
        if reader is None:
            decoder = RowDecoder(
                self.columns,
                self.session.code_set,
                strip_char=self.session.strip_char,
                row_type=row_type,
                conversions=PLAIN if plain else self.conversions,
            )
            if self.session.read_ahead:
                reader = read_in_runs(decoder, decoder.fast_run)
            else:
                reader = read_field_by_field(_field_reader(decoder.fields, row_type))
            self._readers[row_type, plain] = reader
        return reader

    def row_plan(self, factory: RowFactory[Any]) -> RowPlan:
        """The row plan for *factory*, which is called once.

        Raises:   NotSupportedError: a column has a type that cannot be decoded. Any exception of the factory.
        """
        row_plan = self._row_plan
        if row_plan is None or row_plan.factory is not factory:
            make = row_maker(factory, self.columns)
            row_type = row_type_of(make)
            reader = self.row_reader(tuple if row_type is None else row_type)
            row_plan = self._row_plan = RowPlan(factory, reader, make if row_type is None else None)
        return row_plan

    async def open(
        self,
        params: Sequence[Value],
        fetch_size: int = 0,
        *,
        hold: bool = False,
        read_rows: RowReader | None = None,
        opening: Callable[[Statement], RowReader] | None = None,
    ) -> list[Row]:
        """Open the cursor and fetch the first block, in one group.

        Args:     fetch_size: bytes; 0 for the session's. hold: keep the cursor open after the transaction.
                  read_rows: reader of its tuples, instead of plain ones. opening: returns that reader; called again if
                  the cursor is opened again.

        Wire:     ID · CURNAME · [BIND] · [HOLD] · [AUTOFREE] · OPEN · ID · [RET_TYPE] · NFETCH
        Source:   observed: JDBC, prepared.json select_int_int; with RET_TYPE in the same group: select.json, OPTOFC
                  with a prepared statement; with HOLD: select.json, holdable_int; with AUTOFREE: autofree_int. That
                  variable-width columns need no second group was observed on 12.10, 14.10 and 15.
        """
        session = self.session
        size = self._fetch_size(fetch_size)
        self._read_open = read_rows if opening is None else opening(self)
        self._check_usable()
        group = self._encode_request(self._open_template(size, hold=hold), params)
        if not session.runs_unchecked:
            await self.admit()
        reader = self._reply_reader(size)
        self.is_open, self.exhausted = True, False  # see `_try_send_open`
        reply = await session.dispatcher.reply(
            session.send_group(group, reader, interruptible=True, on_lost=self._lost)
        )
        # No row was consumed, and a cursor opened again starts at the first row; only fetching again could skip rows
        # that were lost with the error. A routine is not run again, because of its side effects.
        if (
            session.fetch_buffer.is_doubted
            and session.fetch_buffer.refused(size, reply)
            and self.kind == StatementType.SELECT
            and not session.transaction_aborted
        ):
            return await self.open(params, hold=hold, read_rows=read_rows, opening=opening)
        return self.accept_block(reply)

    def _try_send_open(
        self, params: Sequence[Value], read_rows: RowReader | None, size: int
    ) -> InFlight[Reply] | None:
        """Send the request of `open`; None if something must be awaited first or may have to be repeated."""
        session = self.session
        if not session.runs_unchecked or session.fetch_buffer.is_doubted:
            return None
        opening = self._last_open
        if (
            opening is None
            or opening.size != size
            or opening.read_rows is not read_rows
            or opening.has_types is not self._ret_types_sent
        ):
            opening = self._open_request(size, read_rows)
        if self.is_released or self.generation != session.generation:
            self._check_usable()
        group = (
            self._encode_request(opening.group, params) if params or self.parameters else opening.group.prefix
        )
        self._read_open = read_rows
        self.is_open = True  # from here on the server may have a cursor, whatever the reply
        self.exhausted = False
        # Positional: keywords would cost each call more than the rest of `submit`.
        return session.dispatcher.send(group, opening.reader, True, session.on_reply, None, self._lost)

    def _open_request(self, size: int, read_rows: RowReader | None) -> _OpenRequest:
        """The request for fetches of *size* bytes, or of a row's size if larger."""
        self._read_open = read_rows
        enough = self._fetch_size(size)
        group, reader = self._open_template(enough, hold=False), self._reply_reader(enough)
        opening = self._last_open = _OpenRequest(size, read_rows, self._ret_types_sent, group, reader)
        return opening

    def _reply_reader(self, size: int) -> ReplyReader:
        """The reader of the reply to a fetch of *size* bytes; cached, since most fetches have the same size."""
        read_rows = self._read_open or self.row_reader()
        limit = 2 * size + _REPLY_SLACK
        reader = self._last_reader
        if reader is None or reader.limit != limit or reader.read_rows is not read_rows:
            reader = self._last_reader = self.session.reader(read_rows, limit)
        return reader

    def _open_template(self, size: int, *, hold: bool) -> _RequestTemplate:
        """The request of `open`."""
        session = self.session
        # A statement that may have to be opened again must not be released by AUTOFREE.
        frees_itself = session.autofree and self.one_shot and not session.fetch_buffer.is_doubted
        self._autofree_asked = frees_itself
        key = (size, hold, frees_itself, self._ret_types_sent)
        group = self._open_templates.get(key)
        if group is None:
            before, after = Outbox(), Outbox()
            self._put_cursor(before)
            if hold:
                requests.put_hold(after)
            if frees_itself:
                requests.put_autofree(after)
            requests.put_open(after)
            requests.put_id(after, self.statement_id)
            if not self._ret_types_sent:
                requests.put_ret_type(after, session.capabilities, self._ret_types)
            requests.put_fetch(after, size)
            requests.put_eot(after)
            group = self._open_templates[key] = self._template(before.take(), after.take())
        return group

    def _put_cursor(self, outbox: Outbox) -> None:
        """ID · CURNAME."""
        requests.put_id(outbox, self.statement_id)
        if self._name is None:
            self._name = self.session.cursor_name()
        requests.put_curname(outbox, self._name)

    async def fetch_block(self) -> list[Row]:
        """The next block; empty if there are no more rows.

        Raises:   InterfaceError: the statement was closed before its last row.
        """
        if self.exhausted:
            self._check_usable()
            return []
        return self.accept_block(await self.session.dispatcher.reply(self.send_fetch()))

    def send_fetch(self) -> InFlight[Reply]:
        """Request the next block without waiting; `accept_block` converts the reply to rows."""
        outbox, size = self._new_request(), self._fetch_size()
        requests.put_fetch(outbox, size)
        return self.session.send(outbox, self._reply_reader(size), interruptible=True, on_lost=self._lost)

    def _fetch_size(self, wanted: int = 0) -> int:
        """Bytes of one fetch, 0 for the session's; JDBC raises it to the row's size (observed: select.json)."""
        return max(wanted or self.session.fetch_buffer.size, self.row_size)

    def accept_block(self, reply: Reply) -> list[Row]:
        """The rows in a fetch's reply; updates the state of the cursor.

        Source:   observed: JDBC, select.json: the last rows have a DONE with a row count (see `_is_last`), or the
                  server closes the cursor with them; an empty reply is the end on 12.10, 14.10 and 15
        """
        rows, done = reply.rows, reply.done
        self._autofree_granted = self._autofree_asked  # AUTOFREE applies only once the cursor has been opened
        if reply.closed:
            self.is_open = False
        self.exhausted = (
            reply.closed
            or not rows
            or (done is not None and done.rows > 0 and (self._ends_with_done or self._is_last(done)))
            or reply.no_rows is not None
        )
        if reply.error is not None or reply.bad_value is not None:
            self._raise_block_error(reply)
        self._ret_types_sent = True
        return rows

    def _is_last(self, done: Done | None) -> bool:
        """Whether the rows before an SQ_DONE are the last ones.

        If rows may arrive one at a time, only an empty reply or SQ_CLOSE is the end (assumed; JDBC continues after a
        bare EOT or an SQ_DONE of 0 rows, and stops at one of 1).
        """
        if done is None or done.rows == 0:
            return False
        return not (self._is_for_update or self.session.sends_row_by_row)

    def _raise_block_error(self, reply: Reply) -> NoReturn:
        """Raise the error in a fetch's reply."""
        if reply.error is not None:
            self.exhausted = self._failed = True
        elif not (reply.closed or reply.rows):
            self.exhausted = self._is_last(reply.done)
        raise_for(reply, self.sql)
        raise AssertionError("the reply holds no error")

    async def open_scroll(self, params: Sequence[Value], *, hold: bool) -> None:
        """Open a scroll cursor, without fetching.

        Wire:     ID · CURNAME · [BIND] · SCROLL · [HOLD] · OPEN
        Source:   observed: JDBC, scroll.json
        """
        self.row_reader()
        self._check_usable()
        outbox = Outbox()
        self._put_cursor(outbox)
        self._put_params(outbox, params)
        requests.put_scroll(outbox)
        if hold:
            requests.put_hold(outbox)
        await self.admit()
        requests.put_open(outbox)
        self.is_open = True
        self.exhausted = False
        raise_for(await self.session.exchange(outbox, interruptible=True), self.sql)

    async def scroll_fetch(self, kind: int, row: int) -> tuple[int, Row, int] | None:
        """Fetch one row of a scroll cursor: its number, the row, and the position of the server's cursor.

        Wire:     ID · [RET_TYPE] · SFETCH; the reply is TUPLE · TUPID · [DONE], or TUPID · TUPLE · DONE
        Source:   observed: JDBC, scroll.json: RET_TYPE every time, one row at a time; an unexpected number ends in an
                  internal error of JDBC. That the row precedes its number: JDBC, which otherwise cannot move back
                  after last(), and informix-driver, which takes the last of several rows for the one of that number
                  (12.10, 14.10 and 15)
        """
        outbox = self._new_request()
        if self._ret_types:
            requests.put_ret_type(outbox, self.session.capabilities, self._ret_types)
        size = max(MIN_FETCH_SIZE, self.row_size)
        requests.put_scroll_fetch(outbox, kind, row, size)
        reply = await self.session.exchange(
            outbox,
            self.session.reader(self.row_reader(), 2 * size + _REPLY_SLACK),
            on_success=lambda reply: _check_scrolled(reply, row),
            interruptible=True,
        )
        if reply.closed:
            self.is_open = False
        raise_for(reply, self.sql)
        if not (reply.rows and reply.row_number):
            return None
        found = row or reply.row_number
        return found, reply.rows[found - reply.row_number - 1], reply.row_number

    def discard_prefetched(self, in_flight: InFlight[Reply]) -> None:
        """Drop a prefetched block, but note whether it closed the cursor."""
        future = in_flight.future
        if future.done() and not future.cancelled() and future.exception() is None and future.result().closed:
            self.is_open = False

    async def fetch_all(self, params: Sequence[Value], factory: RowFactory[Any]) -> list[Any]:
        """All rows, converted block by block to limit memory."""
        session = self.session
        row_plan = self._row_plan
        if row_plan is None or row_plan.factory is not factory:
            row_plan = self.row_plan(factory)
        _, read_rows, make = row_plan
        in_flight = self._try_send_open(params, read_rows, session.fetch_buffer.size)
        rows: list[Any] = (
            await self.open(params, read_rows=read_rows)
            if in_flight is None
            else self.accept_block(await session.dispatcher.reply_future(in_flight))
        )
        if make is not None:
            rows = list(map(make, rows))
        while not self.exhausted:
            block = await self.fetch_block()
            rows += block if make is None else map(make, block)
        return rows

    async def fetch_first(self, params: Sequence[Value], factory: RowFactory[Any]) -> Any:
        """The first row, converted, or None; requests as little as JDBC's smallest buffer holds."""
        row_plan = self._row_plan
        if row_plan is None or row_plan.factory is not factory:
            row_plan = self.row_plan(factory)
        _, read_rows, make = row_plan
        in_flight = self._try_send_open(params, read_rows, MIN_FETCH_SIZE)
        rows = (
            await self.open(params, MIN_FETCH_SIZE, read_rows=read_rows)
            if in_flight is None
            else self.accept_block(await self.session.dispatcher.reply_future(in_flight))
        )
        while not rows and not self.exhausted:
            rows = await self.fetch_block()
        if not rows:
            return None
        return rows[0] if make is None else make(rows[0])

    async def count_rows(self, params: Sequence[Value]) -> int:
        """Fetch and discard all rows; returns their number."""
        count = len(await self.open(params))
        while not self.exhausted:
            count += len(await self.fetch_block())
        return count

    # -- execution ----------------------------------------------------------------------------------------------------

    async def execute(self, params: Sequence[Value]) -> Reply:
        """Execute a statement that returns no rows.

        Wire:     ID · [BIND] · EXECUTE
        Source:   observed: JDBC, prepared.json
        """
        session = self.session
        if self.is_released or self.generation != session.generation:
            self._check_usable()
        group = self._encode_request(self._execute_template or self._get_execute_template(), params)
        if not session.runs_unchecked:
            await self.admit()
        done = None if self.kind in DML_TYPES else self._on_executed
        in_flight = session.send_group(
            group, on_success=done, interruptible=self.kind not in _CONTROLS, on_lost=self._lost
        )
        reply = await session.dispatcher.reply_future(in_flight)
        if reply.error is not None:
            raise_for(reply, self.sql)
        return reply

    async def admit(self) -> None:
        """Check before each kind of execution; see `Session.before_run`."""
        if not self.session.runs_unchecked:
            await self.session.before_run(self.sql, self.kind)

    def _on_executed(self, reply: Reply) -> None:
        self.session.on_executed(self.kind, reply, self.sql)
        self.generation = (
            self.session.generation
        )  # a DATABASE statement belongs to the database that it opened

    def put_executions(self, outbox: Outbox, rows: Iterator[Sequence[Value]], limit: int) -> EncodeResult:
        """Encode rows of a pipelined executemany, each as a separate group, up to *limit* bytes.

        Returns:  the number of rows, and the row that stopped encoding; `put_execution` raises its error.
        """
        if self._encode_executions is None:
            self._encode_executions = self._get_execute_template().encode or make_encoder(
                (), self.session.code_set, self._head, _EXECUTE_EOT
            )
        return self._encode_executions(rows, outbox.data, limit)

    def put_execution(self, outbox: Outbox, params: Sequence[Value], row: int) -> None:
        """Encode one row of a pipelined executemany."""
        outbox.raw(self._head)
        self._put_params(outbox, params, row)
        outbox.raw(_EXECUTE_EOT)

    def _new_request(self) -> Outbox:
        """A new request, starting with SQ_ID."""
        self._check_usable()
        outbox = Outbox()
        requests.put_id(outbox, self.statement_id)
        return outbox

    @property
    def is_usable(self) -> bool:
        """Whether the statement can be used: not released, and its database is still open."""
        return not self.is_released and self.generation == self.session.generation

    def _check_usable(self) -> None:
        if self.is_released:
            raise InterfaceError("the statement is closed")
        if self.generation != self.session.generation:
            raise InterfaceError("the statement was prepared before another database was opened")

    def _template(self, before: bytes, after: bytes) -> _RequestTemplate:
        """A template with parameters between *before* and *after*, if the statement has any."""
        types = self.parameters
        if not types:
            return _RequestTemplate(before + after, b"", None)
        head = before + pack(">2H", Op.BIND, len(types))
        encode = make_encoder(types, self.session.code_set, head, after, self._adapters)
        return _RequestTemplate(before, after, encode)

    def _get_execute_template(self) -> _RequestTemplate:
        if self._execute_template is None:
            self._execute_template = self._template(self._head, _EXECUTE_EOT)
        return self._execute_template

    def _encode_request(self, group: _RequestTemplate, params: Sequence[Value]) -> bytes | bytearray:
        """*group* with encoded parameters."""
        encode = group.encode
        if encode is None:
            if params:
                check_count(self.sql, 0, params)
            return group.prefix
        filled = bytearray()
        plain = params if params.__class__ in _PLAIN else tuple(params)
        if encode(iter((plain,)), filled, 0)[0]:
            return filled
        outbox = Outbox()
        outbox.raw(group.prefix)
        self._put_params(outbox, params)
        outbox.raw(group.suffix)
        return outbox.take()

    def _put_params(self, outbox: Outbox, params: Sequence[Value], row: int | None = None) -> None:
        """Encode parameters with the reference encoder, which raises detailed errors."""
        if self.parameters:
            try:
                body = self._encode(params, row)
            except (DataError, NotSupportedError) as error:
                self._add_context(error, params)
                raise
            requests.put_bind(outbox, body)
        else:
            check_count(self.sql, 0, params)

    def _add_context(self, error: DatabaseError, params: Sequence[Value]) -> None:
        """Add to a parameter's error its name, the target column and the statement."""
        error.sql, number = self.sql, error.parameter
        if number is not None:
            if isinstance(params, ByName):
                text = str(error).replace(f"parameter {number}", f"parameter :{params.names[number - 1]}", 1)
                error.args = (text,)
            elif error.row_index is None and (hint := hint_for_values(self.sql, 1, params)):
                error.args = (f"{error}; {hint}",)
            if len(self.targets) == len(params):
                error.column = self.targets[number - 1].name

    def _encode(self, params: Sequence[Value], row: int | None) -> bytes:
        if self._encoder is None:
            self._encoder = ParamEncoder(self.parameters, self.session.code_set, self._adapters)
        try:
            return self._encoder.encode(params, row=row)
        except DataError:
            if self._stored_count >= len(self.parameters):
                raise
        # A parameter that is compared, not stored, may exceed the type that the server describes for it:
        # WHERE smallint_column < 100000 is valid. It is then sent with its own type, and the server decides.
        if self._untyped_encoder is None:
            types = [
                sqltype
                if index < self._stored_count or (sqltype and sqltype.kind == TypeCode.BOOLEAN)
                else None
                for index, sqltype in enumerate(self.parameters)
            ]
            self._untyped_encoder = ParamEncoder(types, self.session.code_set, self._adapters)
        return self._untyped_encoder.encode(params, row=row)

    # -- close and release --------------------------------------------------------------------------------------------

    def close_cursor(self) -> None:
        """Close the cursor unless the server has closed it; the statement stays prepared. Never waits."""
        if self.is_open:
            self.is_open, self.exhausted = False, True
            if self.generation == self.session.generation:
                self.session.release_later(self.statement_id, cursor=True, release=False)

    def release_later(self) -> None:
        """Release the statement and its cursor, once. Never waits.

        Closing a database releases its statements (documented), and their ids may already be reused.
        """
        if self.is_released:
            return
        self.is_released = True
        if self.generation == self.session.generation:
            freed = self._autofree_granted and not self._failed
            self.session.release_later(self.statement_id, cursor=self.is_open, release=not freed)
        self.is_open, self.exhausted = False, True


async def prepare(session: Session, sql: str, params: Sequence[Value] | None = None) -> Statement:
    """PREPARE, and CIDESCRIBE where there are parameters.

    Args:     params: the values, if known, to choose the parameter types.

    Wire:     PREPARE · NDESCRIBE · WANTDONE, then ID · CIDESCRIBE
    Raises:   Before anything is sent: ProgrammingError, DataError: the text is not a statement, not in the code set, or
              not a query on a read-only connection. InterfaceError: wrong number of values, or see `Session.check`.
    Source:   observed: JDBC, prepared.json; JDBC describes parameters even if there are none
    """
    placeholders = scan(sql).placeholders
    if placeholders > MAX_COLUMNS:
        raise InterfaceError(f"{placeholders} parameters: a statement takes {MAX_COLUMNS} at most")
    if params is not None:
        check_count(sql, placeholders, params)
    session.check(sql)
    outbox = Outbox()
    requests.put_prepare(outbox, session.capabilities, session.code_set.encode(sql), placeholders)
    session.stats.statements += 1
    prepared = await session.exchange(
        outbox, on_success=_check_described, on_orphan=partial(_put_down, session)
    )
    raise_for(prepared, sql)
    assert prepared.description is not None
    statement_id = prepared.description.statement_id
    if not placeholders:
        return Statement(session, sql, prepared, ())
    try:
        parameters = await _describe_parameters(session, prepared, placeholders)
    except BaseException:
        session.release_later(statement_id, cursor=False, release=True)
        raise
    return Statement(session, sql, prepared, parameters)


def _check_described(prepared: Reply) -> None:
    """Raise ProtocolError unless the reply to PREPARE describes the statement; that ends the connection."""
    if prepared.description is None:
        raise ProtocolError("the server did not describe the prepared statement")


def _put_down(session: Session, prepared: Reply) -> None:
    """Release the statement of an abandoned PREPARE."""
    if prepared.description is not None and prepared.error is None:
        session.release_later(prepared.description.statement_id, cursor=False, release=True)


def check_count(sql: str, expected: int, params: Sequence[Value]) -> None:
    """Raise InterfaceError unless there is one value for each placeholder."""
    if len(params) != expected:
        one = "parameter" if expected == 1 else "parameters"
        hint = hint_for_values(sql, expected, params)
        raise InterfaceError(
            f"{expected} {one} expected, {len(params)} given" + (f"; {hint}" if hint else "")
        )


def check_sequence(params: object, what: str) -> None:
    """Raise InterfaceError unless *params* is a sequence of values; text and mappings are not."""
    kind = type(params).__name__
    if isinstance(params, (str, bytes, dict)) or not isinstance(params, Sequence):
        hint = "; pass a mapping as named=, and write :name in the statement"
        raise InterfaceError(
            f"{what}: expected a sequence, got {kind}" + (hint if isinstance(params, dict) else "")
        )


async def _describe_parameters(
    session: Session, prepared: Reply, placeholders: int
) -> tuple[SqlType | None, ...]:
    description = prepared.description
    assert description is not None
    described: tuple[SqlType, ...] = ()
    if session.capabilities.describe_input:
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


def _stored_count(kind: int, columns: int, parameters: int, sql: str) -> int:
    """Number of leading parameters that are stored into the column describing them; the others are compared."""
    if kind == StatementType.INSERT and columns == parameters:
        return parameters
    if kind in (StatementType.UPDATE, StatementType.UPDATE_ALL, StatementType.UPDATE_CURRENT):
        return scan(sql).before_where
    return 0


def _check_scrolled(reply: Reply, asked: int) -> None:
    """Check the reply to a scroll fetch: empty, or rows up to its number, including the *asked* one."""
    count, number = len(reply.rows), reply.row_number or 0
    if reply.bad_value is None and count and not 0 <= number - count < (asked or number) <= number:
        came = f"row {number}" if count == 1 else f"{count} rows up to {number}"
        raise ProtocolError(f"expected row {asked or 'last'}, got {came}")


_TEXT_UNASKED: Final = frozenset(
    map(int, (TypeCode.SET, TypeCode.MULTISET, TypeCode.LIST, TypeCode.ROW, TypeCode.COLLECTION))
)


def _ret_types_of(columns: Sequence[Column]) -> tuple[SqlType, ...]:
    """The types for SQ_RET_TYPE; empty if every column is sent in its own form anyway.

    Source:   observed: JDBC, select.json: LVARCHAR as 43, BOOLEAN as 45, other extended types as 44; owners15.json: the
              latter two with the described owner. Without RET_TYPE, ROW and collections are sent as text on 12.10,
              14.10 and 15; their form with it is unknown.
    """
    kinds = {column.type.kind for column in columns}
    if not any(map(requests.is_named, kinds)) or not kinds.isdisjoint(_TEXT_UNASKED):
        return ()
    return tuple(ret_type(column.type) for column in columns)


def ret_type(sqltype: SqlType) -> SqlType:
    """The type in which a column is sent after SQ_RET_TYPE."""
    kind = sqltype.kind
    if kind == TypeCode.LVARCHAR:
        return SqlType(TypeCode.LVARCHAR, sqltype.length)
    if kind == TypeCode.BOOLEAN:
        owner = (
            sqltype.owner if sqltype.extended_name == "boolean" else ""
        )  # not the owner of a DISTINCT type
        return SqlType(TypeCode.BOOLEAN, sqltype.length, owner=owner, extended_name="boolean")
    if kind in (TypeCode.UDTVAR, TypeCode.UDTFIXED):
        kind = TypeCode.OPAQUE
    owner, name = (sqltype.owner, sqltype.extended_name) if requests.is_named(kind) else ("", "")
    return SqlType(kind, sqltype.length, owner=owner, extended_name=name)


def _field_reader(
    fields: Sequence[FieldPlan], row_type: type[Row] = tuple
) -> Callable[[Inbox, int], Awaitable[Row]]:
    """Reads a row field by field, with one await each; *end* guards against sizes beyond the row."""

    async def read_row(inbox: Inbox, end: int) -> Row:
        values: list[Value] = []
        for field in fields:
            await _need_within(inbox, field.head or field.width, end)
            head = bytes(inbox.data[inbox.pos : inbox.pos + field.head])
            size = field.head + field.rest(head) if field.head else field.width
            await _need_within(inbox, size, end)
            values.append(field.decode(inbox.take(size)))
        return row_type(values)

    return read_row


async def _need_within(inbox: Inbox, count: int, end: int) -> None:
    if inbox.consumed + count > end:
        raise ProtocolError("a field extends beyond its row")
    await inbox.need(count)
