"""A prepared statement: columns, row decoder, parameter encoder, fetch blocks. Never: user-facing iteration.

Whoever calls a coroutine of this module holds the session's turn.
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
from aioifx.codecs.rows import RowDecoder, Step
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
"""What the encoding of whole runs takes."""

_CONTROLS: Final = frozenset(
    map(int, (StatementType.BEGIN_WORK, StatementType.COMMIT_WORK, StatementType.ROLLBACK_WORK))
)
"""What is not interrupted: its outcome would not be known, and sqlbreak does not end it (documented)."""


class RowPlan(NamedTuple):
    """How the tuples of a statement become rows of a user's kind."""

    factory: RowFactory[Any]
    read_rows: RowReader | None
    """None for the reader of plain tuples."""
    make: Callable[[Row], Any] | None
    """What is still to be done to each row; None for nothing: they are read as what they shall be."""


class _Group(NamedTuple):
    """What is sent again and again, with other parameters each time."""

    before: bytes
    """What stands in front of the parameters; all of it where there are none."""
    behind: bytes
    encode: EncodeRun | None
    """Encodes parameters of the usual kind, with what surrounds them; None where there are none."""


class _OpenRequest(NamedTuple):
    """What a usual opening sends and how its answer is read; most are like the one before."""

    size: int
    read_rows: RowReader | None
    has_types: bool
    """Whether the forms of values had been agreed on before."""
    group: _Group
    reader: ReplyReader


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
        self._is_for_update = self.returns_rows and is_for_update(sql)
        self._ends_with_done = not (self._is_for_update or session.is_ansi)
        """Whether a SQ_DONE that counts rows always says that none follow; see `_is_last`."""
        self.targets = description.columns if self.kind == StatementType.INSERT else ()
        """The columns that an INSERT stores into."""
        self.is_open = False
        """Whether the cursor is open at the server."""
        self.exhausted = True
        self.is_released = False
        """Nothing may be asked of it any more: the server may have given its id to another statement."""
        self.one_shot = False
        """Nobody will execute it a second time."""
        self.may_be_kept = False
        """Somebody else may execute it, when whoever has it gives it back."""
        self.reused = False
        """It was prepared for an earlier call, and what it names may have changed since."""
        self.generation = session.generation
        self._autofree_asked = False
        self._autofree_granted = False
        self._failed = False
        self._head = self._addressed().take()
        self._name: bytes | None = None
        self._ret_types = _wanted(self.columns)
        self.conversions = session.conversions
        self._adapters = session.conversions.adapters_for(parameters)
        self._ret_types_sent = not self._ret_types
        """Whether the server knows in which forms values shall come."""
        self.verb = scan(sql).verb
        self._lost = None if self.kind == StatementType.SELECT else partial(session.doubt, sql)
        """Told of a lost reply to an execution."""
        self._readers: dict[tuple[type[Row], bool], RowReader] = {}
        self._read_open: RowReader | None = None
        """What reads the tuples of the open cursor, if it is not the row reader."""
        self._last_reader: ReplyReader | None = None
        self._last_opening: _OpenRequest | None = None
        self._making: RowPlan | None = None
        self._openings: dict[tuple[int, bool, bool, bool], _Group] = {}
        self._execution: _Group | None = None
        self._executions: EncodeRun | None = None
        self._encoder: ParamEncoder | None = None
        self._loose: ParamEncoder | None = None
        self._stored = _stored(self.kind, len(description.columns), len(parameters), sql)

    @property
    def cursor_name(self) -> str | None:
        """The open cursor's name; None without one."""
        return self._name.decode("ascii") if self.is_open and self._name is not None else None

    # -- rows ---------------------------------------------------------------------------------------------------------

    def row_reader(self, row_type: type[Row] = tuple, *, plain: bool = False) -> RowReader:
        """What turns tuples of this statement into rows; made once for each type of them.

        Args:     plain: values are those of their types, whatever the user wants of them.
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
                reader = read_in_runs(decoder, decoder.usual)
            else:
                reader = read_field_by_field(_field_reader(decoder.steps, row_type))
            self._readers[row_type, plain] = reader
        return reader

    def making(self, factory: RowFactory[Any]) -> RowPlan:
        """How this statement's rows become what *factory* makes; the factory is asked once.

        Raises:   NotSupportedError: a column has a type that cannot be decoded. Whatever the factory raises.
        """
        making = self._making
        if making is None or making.factory is not factory:
            make = row_maker(factory, self.columns)
            row_type = row_type_of(make)
            reader = self.row_reader(tuple if row_type is None else row_type)
            making = self._making = RowPlan(factory, reader, make if row_type is None else None)
        return making

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

        Args:     fetch_size: bytes; 0 for the session's. hold: the cursor outlives the transaction's end.
                  read_rows: reads its tuples, instead of the reader of plain ones. opening: gives what does; asked
                  again if the cursor is opened again.

        Wire:     ID · CURNAME · [BIND] · [HOLD] · [AUTOFREE] · OPEN · ID · [RET_TYPE] · NFETCH
        Source:   observed: JDBC, prepared.json select_int_int; with RET_TYPE in the same group: select.json, OPTOFC
                  with a prepared statement; with HOLD: select.json, holdable_int; with AUTOFREE: autofree_int. That
                  variable-width columns need no second group was observed on 12.10, 14.10 and 15.
        """
        session = self.session
        size = self._fetch_size(fetch_size)
        self._read_open = read_rows if opening is None else opening(self)
        self._check_usable()
        group = self._filled(self._opening_group(size, hold=hold), params)
        if not session.runs_unchecked:
            await self.admit()
        reader = self._reply_reader(size)
        self.is_open, self.exhausted = True, False  # see `_try_send_open`
        reply = await session.line.wait(session.submit_group(group, reader, running=True, lost=self._lost))
        # Nothing of the result was consumed, and a cursor that is opened anew begins with its first row; just to fetch
        # again might pass over rows that were lost with the error. What a routine did would be done twice.
        if (
            session.fetch_buffer.is_doubted
            and session.fetch_buffer.refused(size, reply)
            and self.kind == StatementType.SELECT
            and not session.transaction_aborted
        ):
            return await self.open(params, hold=hold, read_rows=read_rows, opening=opening)
        return self.arrived(reply)

    def _try_send_open(
        self, params: Sequence[Value], read_rows: RowReader | None, size: int
    ) -> InFlight[Reply] | None:
        """What `open` sends, where nothing has to be awaited first, or may have to be done again; otherwise None."""
        session = self.session
        if not session.runs_unchecked or session.fetch_buffer.is_doubted:
            return None
        opening = self._last_opening
        if (
            opening is None
            or opening.size != size
            or opening.read_rows is not read_rows
            or opening.has_types is not self._ret_types_sent
        ):
            opening = self._opening(size, read_rows)
        if self.is_released or self.generation != session.generation:
            self._check_usable()
        group = self._filled(opening.group, params) if params or self.parameters else opening.group.before
        self._read_open = read_rows
        self.is_open = True  # from here on the server may have a cursor, whatever comes back
        self.exhausted = False
        # By position: names would cost each call more than all of `submit`'s own.
        return session.line.submit(group, opening.reader, True, session.observe, None, self._lost)

    def _opening(self, size: int, read_rows: RowReader | None) -> _OpenRequest:
        """The usual one, for fetches of *size* bytes or whatever a row needs."""
        self._read_open = read_rows
        enough = self._fetch_size(size)
        group, reader = self._opening_group(enough, hold=False), self._reply_reader(enough)
        opening = self._last_opening = _OpenRequest(size, read_rows, self._ret_types_sent, group, reader)
        return opening

    def _reply_reader(self, size: int) -> ReplyReader:
        """What reads the answer to a fetch of *size* bytes; most fetches are like the one before."""
        read_rows = self._read_open or self.row_reader()
        limit = 2 * size + _REPLY_SLACK
        reader = self._last_reader
        if reader is None or reader.limit != limit or reader.read_rows is not read_rows:
            reader = self._last_reader = self.session.reader(read_rows, limit)
        return reader

    def _opening_group(self, size: int, *, hold: bool) -> _Group:
        """What `open` sends."""
        session = self.session
        # A statement that may have to be opened a second time must not be gone by then.
        frees_itself = session.autofree and self.one_shot and not session.fetch_buffer.is_doubted
        self._autofree_asked = frees_itself
        key = (size, hold, frees_itself, self._ret_types_sent)
        group = self._openings.get(key)
        if group is None:
            before, behind = Outbox(), Outbox()
            self._put_cursor(before)
            if hold:
                requests.put_hold(behind)
            if frees_itself:
                requests.put_autofree(behind)
            requests.put_open(behind)
            requests.put_id(behind, self.statement_id)
            if not self._ret_types_sent:
                requests.put_ret_type(behind, session.capabilities, self._ret_types)
            requests.put_fetch(behind, size)
            requests.put_eot(behind)
            group = self._openings[key] = self._group(before.take(), behind.take())
        return group

    def _put_cursor(self, outbox: Outbox) -> None:
        """ID · CURNAME."""
        requests.put_id(outbox, self.statement_id)
        if self._name is None:
            self._name = self.session.cursor_name()
        requests.put_curname(outbox, self._name)

    async def fetch_block(self) -> list[Row]:
        """The next block; empty when there are no more rows.

        Raises:   InterfaceError: the statement was closed in the middle of its rows.
        """
        if self.exhausted:
            self._check_usable()
            return []
        return self.arrived(await self.session.line.wait(self.submit_fetch()))

    def submit_fetch(self) -> InFlight[Reply]:
        """Ask for the next block and wait for nothing; `arrived` makes rows of the answer."""
        outbox, size = self._addressed(), self._fetch_size()
        requests.put_fetch(outbox, size)
        return self.session.submit(outbox, self._reply_reader(size), running=True, lost=self._lost)

    def _fetch_size(self, wanted: int = 0) -> int:
        """Bytes of one fetch, 0 for the session's; JDBC raises it to the row's size (observed: select.json)."""
        return max(wanted or self.session.fetch_buffer.size, self.row_size)

    def arrived(self, reply: Reply) -> list[Row]:
        """The rows of a fetch's answer, and what it says of the cursor.

        Source:   observed: JDBC, select.json: the last rows come with a DONE that counts rows (see `_is_last`), or with
                  a cursor that the server has closed; an empty reply is the end on 12.10, 14.10 and 15
        """
        rows, done = reply.rows, reply.done
        self._autofree_granted = (
            self._autofree_asked
        )  # now it is known whether there is a cursor to take it along
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
        """Whether no rows follow those that came with a SQ_DONE.

        Where rows may come one at a time, only an empty reply or SQ_CLOSE is the end (assumed; JDBC goes on after a
        bare EOT or a SQ_DONE of 0 rows, and stops at one of 1).
        """
        if done is None or done.rows == 0:
            return False
        return not (self._is_for_update or self.session.sends_row_by_row)

    def _raise_block_error(self, reply: Reply) -> NoReturn:
        """Raise what a fetch's answer says went wrong."""
        if reply.error is not None:
            self.exhausted = self._failed = True
        elif not (reply.closed or reply.rows):
            self.exhausted = self._is_last(reply.done)
        raise_for(reply, self.sql)
        raise AssertionError("it says that nothing did")

    async def open_scroll(self, params: Sequence[Value], *, hold: bool) -> None:
        """Open a cursor that can be moved in; no row comes yet.

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
        raise_for(await self.session.exchange(outbox, running=True), self.sql)

    async def scroll_fetch(self, kind: int, row: int) -> tuple[int, Row, int] | None:
        """Fetch one row of a scroll cursor: its number, the row, and the number that the server's cursor stands on.

        Wire:     ID · [RET_TYPE] · SFETCH; the answer is TUPLE · TUPID · [DONE], or TUPID · TUPLE · DONE
        Source:   observed: JDBC, scroll.json: RET_TYPE every time, one row at a time, and a number that is not the one
                  asked for ends JDBC's work with an internal error; that the row comes first: JDBC, which cannot go
                  back after last() otherwise, and informix-driver, which takes the last of several rows for the
                  one of that number (12.10, 14.10 and 15)
        """
        outbox = self._addressed()
        if self._ret_types:
            requests.put_ret_type(outbox, self.session.capabilities, self._ret_types)
        size = max(MIN_FETCH_SIZE, self.row_size)
        requests.put_scroll_fetch(outbox, kind, row, size)
        reply = await self.session.exchange(
            outbox,
            self.session.reader(self.row_reader(), 2 * size + _REPLY_SLACK),
            done=lambda reply: _check_scrolled(reply, row),
            running=True,
        )
        if reply.closed:
            self.is_open = False
        raise_for(reply, self.sql)
        if not (reply.rows and reply.row_number):
            return None
        found = row or reply.row_number
        return found, reply.rows[found - reply.row_number - 1], reply.row_number

    def discard_prefetched(self, ticket: InFlight[Reply]) -> None:
        """Nobody wants these rows; but if they have come, the server may have closed the cursor with them."""
        future = ticket.future
        if future.done() and not future.cancelled() and future.exception() is None and future.result().closed:
            self.is_open = False

    async def fetch_all(self, params: Sequence[Value], factory: RowFactory[Any]) -> list[Any]:
        """Every row, as it is made; of no block more is kept than that."""
        session = self.session
        making = self._making
        if making is None or making.factory is not factory:
            making = self.making(factory)
        _, read_rows, make = making
        ticket = self._try_send_open(params, read_rows, session.fetch_buffer.size)
        rows: list[Any] = (
            await self.open(params, read_rows=read_rows)
            if ticket is None
            else self.arrived(await session.line.answer(ticket))
        )
        if make is not None:
            rows = list(map(make, rows))
        while not self.exhausted:
            block = await self.fetch_block()
            rows += block if make is None else map(make, block)
        return rows

    async def fetch_first(self, params: Sequence[Value], factory: RowFactory[Any]) -> Any:
        """The first row, as it is made, or None; asks for as little as JDBC's least buffer holds."""
        making = self._making
        if making is None or making.factory is not factory:
            making = self.making(factory)
        _, read_rows, make = making
        ticket = self._try_send_open(params, read_rows, MIN_FETCH_SIZE)
        rows = (
            await self.open(params, MIN_FETCH_SIZE, read_rows=read_rows)
            if ticket is None
            else self.arrived(await self.session.line.answer(ticket))
        )
        while not rows and not self.exhausted:
            rows = await self.fetch_block()
        if not rows:
            return None
        return rows[0] if make is None else make(rows[0])

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
        session = self.session
        if self.is_released or self.generation != session.generation:
            self._check_usable()
        group = self._filled(self._execution or self._execution_group(), params)
        if not session.runs_unchecked:
            await self.admit()
        done = None if self.kind in DML_TYPES else self._executed
        ticket = session.submit_group(group, done=done, running=self.kind not in _CONTROLS, lost=self._lost)
        reply = await session.line.answer(ticket)
        if reply.error is not None:
            raise_for(reply, self.sql)
        return reply

    async def admit(self) -> None:
        """In front of an execution, in whatever way: see `Session.admit`."""
        if not self.session.runs_unchecked:
            await self.session.admit(self.sql, self.kind)

    def _executed(self, reply: Reply) -> None:
        self.session.executed(self.kind, reply, self.sql)
        self.generation = self.session.generation  # a DATABASE statement belongs to what it opened

    def put_executions(self, outbox: Outbox, rows: Iterator[Sequence[Value]], limit: int) -> EncodeResult:
        """Rows of a pipelined executemany, each a group of its own, until there are *limit* bytes.

        Returns:  how many were put, and the one that stopped it: `put_execution` tells what is the matter with it.
        """
        if self._executions is None:
            self._executions = self._execution_group().encode or make_encoder(
                (), self.session.code_set, self._head, _EXECUTE_EOT
            )
        return self._executions(rows, outbox.data, limit)

    def put_execution(self, outbox: Outbox, params: Sequence[Value], row: int) -> None:
        """One row of them."""
        outbox.raw(self._head)
        self._put_params(outbox, params, row)
        outbox.raw(_EXECUTE_EOT)

    def _addressed(self) -> Outbox:
        """A request that begins with SQ_ID."""
        self._check_usable()
        outbox = Outbox()
        requests.put_id(outbox, self.statement_id)
        return outbox

    @property
    def is_usable(self) -> bool:
        """Whether anything may be asked of it: it is not released, and its database is still open."""
        return not self.is_released and self.generation == self.session.generation

    def _check_usable(self) -> None:
        if self.is_released:
            raise InterfaceError("the statement is closed")
        if self.generation != self.session.generation:
            raise InterfaceError("the statement was prepared before another database was opened")

    def _group(self, before: bytes, behind: bytes) -> _Group:
        """One with parameters between *before* and *behind*, if the statement has any."""
        types = self.parameters
        if not types:
            return _Group(before + behind, b"", None)
        head = before + pack(">2H", Op.BIND, len(types))
        encode = make_encoder(types, self.session.code_set, head, behind, self._adapters)
        return _Group(before, behind, encode)

    def _execution_group(self) -> _Group:
        if self._execution is None:
            self._execution = self._group(self._head, _EXECUTE_EOT)
        return self._execution

    def _filled(self, group: _Group, params: Sequence[Value]) -> bytes | bytearray:
        """*group* with these parameters."""
        encode = group.encode
        if encode is None:
            if params:
                check_count(self.sql, 0, params)
            return group.before
        filled = bytearray()
        plain = params if params.__class__ in _PLAIN else tuple(params)
        if encode(iter((plain,)), filled, 0)[0]:
            return filled
        outbox = Outbox()
        outbox.raw(group.before)
        self._put_params(outbox, params)
        outbox.raw(group.behind)
        return outbox.take()

    def _put_params(self, outbox: Outbox, params: Sequence[Value], row: int | None = None) -> None:
        """Encode parameters as the reference does, which also says what is wrong with them."""
        if self.parameters:
            try:
                body = self._encode(params, row)
            except (DataError, NotSupportedError) as error:
                self._explain(error, params)
                raise
            requests.put_bind(outbox, body)
        else:
            check_count(self.sql, 0, params)

    def _explain(self, error: DatabaseError, params: Sequence[Value]) -> None:
        """Let the error of a parameter tell its statement, its name if it has one, and the column it is stored into."""
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
            if self._stored >= len(self.parameters):
                raise
        # A parameter that is compared, not stored, may exceed the type that the server describes for it:
        # WHERE smallint_column < 100000 is sound. Then it goes out by its own type, and the server judges.
        if self._loose is None:
            loose = [
                sqltype if index < self._stored or (sqltype and sqltype.kind == TypeCode.BOOLEAN) else None
                for index, sqltype in enumerate(self.parameters)
            ]
            self._loose = ParamEncoder(loose, self.session.code_set, self._adapters)
        return self._loose.encode(params, row=row)

    # -- the end ------------------------------------------------------------------------------------------------------

    def close_cursor(self) -> None:
        """Give the cursor up, unless the server has closed it; the statement stays prepared. Never waits."""
        if self.is_open:
            self.is_open, self.exhausted = False, True
            if self.generation == self.session.generation:
                self.session.release_later(self.statement_id, cursor=True, release=False)

    def release_later(self) -> None:
        """Give the statement up, once, and its cursor. Never waits.

        A database that is closed takes its statements along (documented), and their ids may be others' by now.
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

    Args:     params: the values it is prepared for, if they are known.

    Wire:     PREPARE · NDESCRIBE · WANTDONE, then ID · CIDESCRIBE
    Raises:   Before anything is sent: ProgrammingError, DataError: the text is no statement, not in the code set, or
              no query on a read-only connection. InterfaceError: the number of values is wrong, or see `Session.check`.
    Source:   observed: JDBC, prepared.json; JDBC asks for parameters even where there are none
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
    prepared = await session.exchange(outbox, done=_check_described, orphaned=partial(_put_down, session))
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
    """Raise unless the answer to a PREPARE says what was prepared; an error here ends the connection."""
    if prepared.description is None:
        raise ProtocolError("the server prepared a statement and did not describe it")


def _put_down(session: Session, prepared: Reply) -> None:
    """The answer to a PREPARE that nobody waits for any more."""
    if prepared.description is not None and prepared.error is None:
        session.release_later(prepared.description.statement_id, cursor=False, release=True)


def check_count(sql: str, expected: int, params: Sequence[Value]) -> None:
    """Raise unless there is a value for each placeholder."""
    if len(params) != expected:
        one = "parameter" if expected == 1 else "parameters"
        hint = hint_for_values(sql, expected, params)
        raise InterfaceError(
            f"{expected} {one} expected, {len(params)} given" + (f"; {hint}" if hint else "")
        )


def check_sequence(params: object, what: str) -> None:
    """Raise unless *params* is a sequence of values; text and mappings are none."""
    kind = type(params).__name__
    if isinstance(params, (str, bytes, dict)) or not isinstance(params, Sequence):
        hint = "; a mapping goes into named=, and its names into the statement as :name"
        raise InterfaceError(
            f"{what} must be a sequence, not {kind}" + (hint if isinstance(params, dict) else "")
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


def _stored(kind: int, columns: int, parameters: int, sql: str) -> int:
    """How many parameters, from the first, are stored into the column that describes them; the others are compared."""
    if kind == StatementType.INSERT and columns == parameters:
        return parameters
    if kind in (StatementType.UPDATE, StatementType.UPDATE_ALL, StatementType.UPDATE_CURRENT):
        return scan(sql).before_where
    return 0


def _check_scrolled(reply: Reply, asked: int) -> None:
    """Raise unless the answer to a scroll fetch holds no row, or rows up to its number, the *asked* one among them."""
    count, number = len(reply.rows), reply.row_number or 0
    if reply.bad_value is None and count and not 0 <= number - count < (asked or number) <= number:
        came = f"row {number}" if count == 1 else f"{count} rows up to {number}"
        raise ProtocolError(f"{came} came instead of row {asked or 'last'}")


_TEXT_UNASKED: Final = frozenset(
    map(int, (TypeCode.SET, TypeCode.MULTISET, TypeCode.LIST, TypeCode.ROW, TypeCode.COLLECTION))
)


def _wanted(columns: Sequence[Column]) -> tuple[SqlType, ...]:
    """What SQ_RET_TYPE asks for; empty when every column comes in its own form anyway.

    Source:   observed: JDBC, select.json: LVARCHAR as 43, BOOLEAN as 45, other extended types as 44; owners15.json: the
              latter two with the described owner. ROW and collections come as text on 12.10, 14.10 and 15 if nothing
              is asked for, and how they come otherwise is not known.
    """
    kinds = {column.type.kind for column in columns}
    if not any(map(requests.is_named, kinds)) or not kinds.isdisjoint(_TEXT_UNASKED):
        return ()
    return tuple(wanted_type(column.type) for column in columns)


def wanted_type(sqltype: SqlType) -> SqlType:
    """The form in which one column travels once SQ_RET_TYPE has asked for it."""
    kind = sqltype.kind
    if kind == TypeCode.LVARCHAR:
        return SqlType(TypeCode.LVARCHAR, sqltype.length)
    if kind == TypeCode.BOOLEAN:
        owner = sqltype.owner if sqltype.extended_name == "boolean" else ""  # not that of a DISTINCT type
        return SqlType(TypeCode.BOOLEAN, sqltype.length, owner=owner, extended_name="boolean")
    if kind in (TypeCode.UDTVAR, TypeCode.UDTFIXED):
        kind = TypeCode.OPAQUE
    owner, name = (sqltype.owner, sqltype.extended_name) if requests.is_named(kind) else ("", "")
    return SqlType(kind, sqltype.length, owner=owner, extended_name=name)


def _field_reader(
    steps: Sequence[Step], row_type: type[Row] = tuple
) -> Callable[[Inbox, int], Awaitable[Row]]:
    """Reads one row field by field, each awaited on its own; *end* guards against sizes that lead out of the row."""

    async def read_row(inbox: Inbox, end: int) -> Row:
        values: list[Value] = []
        for step in steps:
            await _need_within(inbox, step.head or step.width, end)
            head = bytes(inbox.data[inbox.pos : inbox.pos + step.head])
            size = step.head + step.rest(head) if step.head else step.width
            await _need_within(inbox, size, end)
            values.append(step.decode(inbox.take(size)))
        return row_type(values)

    return read_row


async def _need_within(inbox: Inbox, count: int, end: int) -> None:
    if inbox.consumed + count > end:
        raise ProtocolError("a field reaches past the end of its row")
    await inbox.need(count)
