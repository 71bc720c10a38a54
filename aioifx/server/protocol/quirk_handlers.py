"""Sessions of a server with quirks: what differs from `context`, `dispatch` and the handlers. Never: evidence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from struct import Struct
from typing import Any, Final, TypeAlias

from aioifx.server.engine.session_state import StatementResult, TransactionEvent
from aioifx.server.protocol.context import Handler, SessionContext
from aioifx.server.protocol.dispatch import HANDLERS, Conversation
from aioifx.server.protocol.quirks import Quirk
from aioifx.server.protocol.row_blocks import FetchRows, RowBlockWriter
from aioifx.server.protocol.statement_handlers import refuse
from aioifx.server.protocol.statement_table import PreparedStatement
from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.databases import LogMode
from aioifx.sqltypes import Column, SqlType
from aioifx.wire import completion, replies, requests, session_requests
from aioifx.wire.inbox import padded
from aioifx.wire.opcodes import Op, StatementType
from aioifx.wire.requests import Request
from aioifx.wire.tuples import TUPLE_HEAD

_NO_ROWS: Final = 100
_NOT_OPEN: Final = -259
_NOT_AVAILABLE: Final = -404
_INVALID_MESSAGE: Final = -408
_ANSI_EXTENSION: Final = 0x10
_STANDARD_BLOCK: Final = 4096
_LARGE_BLOCK: Final = 64 * 1024
_XACTSTAT_SIZE: Final = 8
_NULL_INT8: Final = bytes(10)
_NULL_BIGINT: Final = -(2**63)
_SIZE: Final = Struct(">i")
_CHANGES: Final = (
    StatementType.UPDATE,
    StatementType.UPDATE_ALL,
    StatementType.DELETE,
    StatementType.DELETE_ALL,
    StatementType.INSERT,
)


class QuirkyContext(SessionContext):
    """A session whose messages have quirks."""

    def __init__(self, *arguments: Any, quirks: Collection[Quirk], **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.quirks = quirks
        self.fetch: requests.Fetch | requests.ScrollFetch | None = None
        """The fetch that is being handled."""
        self.dones = 0
        """Number of SQ_DONEs and SQ_ERR 100 written."""
        self.opened: PreparedStatement | None = None
        """The statement whose cursor the group has opened without parameters."""
        self.closed = set[PreparedStatement]()
        """Statements whose cursors were closed with their last rows."""
        if Quirk.SEPARATE_END in quirks:
            self.writer_type = _SeparateEnd
        if Quirk.ALWAYS_OPTOFC in quirks:
            self.environment["OPTOFC"] = "1"

    def keeps_open(self, prepared: PreparedStatement) -> bool:
        return Quirk.DROPPED_VALUES not in self.quirks and super().keeps_open(prepared)

    def row_writer(
        self, columns: Sequence[Column], *, single: bool = False, binary: Collection[int] = ()
    ) -> RowBlockWriter:
        return super().row_writer(columns, single=single or Quirk.ROW_BY_ROW in self.quirks, binary=binary)

    def sent_columns(self, columns: tuple[Column, ...]) -> tuple[Column, ...]:
        sent = super().sent_columns(columns)
        if Quirk.NO_OWNERS in self.quirks:
            return tuple(replace(column, type=replace(column.type, owner="")) for column in sent)
        return sent

    def sent_types(self, types: Sequence[SqlType | None]) -> Sequence[SqlType | None]:
        sent = super().sent_types(types)
        if Quirk.NO_OWNERS in self.quirks:
            return [one and replace(one, owner="") for one in sent]
        return sent

    def write_done(self, done: completion.Done) -> None:
        self.dones += 1
        if self._is_end(done):
            self.write_error(SqlError(_NO_ROWS))
            return
        if Quirk.WARNINGS in self.quirks:
            done = done._replace(warnings=done.warnings | _ANSI_EXTENSION)
        if Quirk.NO_COST in self.quirks:
            completion.put_done(self.outbox, self.capabilities, done)
        else:
            super().write_done(done)

    def _is_end(self, done: completion.Done) -> bool:
        """Whether SQ_ERR 100 replaces an SQ_DONE."""
        if Quirk.ERROR_100 not in self.quirks or self.fetch is None:
            return False
        return isinstance(self.fetch, requests.Fetch) or not done.rows

    def write_serials(self, serials: completion.Serials) -> None:
        if any(serials) or not {Quirk.NO_SERIALS, Quirk.NULL_SERIALS}.intersection(self.quirks):
            super().write_serials(serials)
        elif Quirk.NULL_SERIALS in self.quirks:
            self.outbox.u16(Op.INSERTDONE)
            self.outbox.raw(_NULL_INT8)
            if self.capabilities.bigint:
                self.outbox.i64(_NULL_BIGINT)

    def write_result(self, result: StatementResult, warnings: int = 0) -> None:
        if Quirk.ERROR_100 in self.quirks and not result.rows and self._changes_rows:
            self.write_error(SqlError(_NO_ROWS))
            return
        data = self.outbox.data
        begin = len(data)
        super().write_result(result, warnings)
        has_state = result.event is not TransactionEvent.NONE
        if Quirk.NO_TRANSACTION_STATES in self.quirks:
            if has_state:
                del data[-_XACTSTAT_SIZE:]
            return
        if Quirk.TRANSACTION_STATES in self.quirks and not has_state:
            has_state = self.write_state()
        if Quirk.TRANSACTION_STATE_FIRST in self.quirks and has_state:
            data[begin:] = data[-_XACTSTAT_SIZE:] + data[begin:-_XACTSTAT_SIZE]

    @property
    def _changes_rows(self) -> bool:
        return self.prepared is not None and self.prepared.statement.plan.type in _CHANGES

    def write_state(self) -> bool:
        """SQ_XACTSTAT for no change, in a logged database; returns whether it was written."""
        database = self.engine.database
        if database is None or database.log_mode is LogMode.UNLOGGED:
            return False
        level = int(self.engine.is_in_transaction)
        event = TransactionEvent.BEGUN if level else TransactionEvent.COMMITTED
        completion.put_xactstat(self.outbox, completion.TransactionState(event, level, level))
        return True


class _SeparateEnd(RowBlockWriter):
    """The last rows are not known to be the last."""

    __slots__ = ()

    def next_block(self, fetch: FetchRows, size: int) -> tuple[bytes, int, bool]:
        data, rows, is_last = super().next_block(fetch, size)
        return data, rows, is_last and not rows


class QuirkyConversation(Conversation):
    """The requests and replies of a session with quirks."""

    def __init__(self, context: QuirkyContext) -> None:
        super().__init__(context, _handlers(context))
        self._quirks = context.quirks
        self._quirky_context = context
        self._is_answering = False
        self._has_late_interrupt = False

    def _answer(self, group: Sequence[Request]) -> int:
        self._quirky_context.opened = None
        return super()._answer(group)

    def interrupt(self) -> None:
        if Quirk.NO_INTERRUPTS in self._quirks:
            return
        if Quirk.LATE_INTERRUPTS in self._quirks and self._is_answering:
            self._has_late_interrupt = True
            return
        super().interrupt()

    def answer(
        self, groups: Sequence[Sequence[Request]], early: Callable[[bytes], None] | None = None
    ) -> bytes:
        self._is_answering = True
        try:
            return super().answer(groups, early)
        finally:
            self._is_answering = False
            if self._has_late_interrupt:
                self._has_late_interrupt = False
                super().interrupt()


# -- handlers ----------------------------------------------------------------------------------------------------------

_QuirkyHandler: TypeAlias = Callable[[Handler, Any, Any], None]
"""Handles a message; the first argument is the usual handler, the others are its arguments."""


def _handlers(context: QuirkyContext) -> Mapping[type, Handler]:
    found: dict[type, Callable[[Any, Any], None]] = dict(HANDLERS)
    for quirk, messages, handler in _QUIRKY:
        if quirk in context.quirks:
            for message in messages:
                found[message] = partial(handler, found[message])
    for fetch in (requests.Fetch, requests.ScrollFetch):
        found[fetch] = partial(_fetch, found[fetch])
    return found


def _fetch(usual: Handler, context: QuirkyContext, message: requests.Fetch | requests.ScrollFetch) -> None:
    dones, context.fetch = context.dones, message
    prepared = context.current
    try:
        usual(context, message)
    finally:
        context.fetch = None
    if prepared.cursor is None:
        context.closed.add(prepared)
    is_done = context.dones > dones or isinstance(message, requests.ScrollFetch)
    if Quirk.COUNT_WITH_EACH_BLOCK in context.quirks and not is_done:
        assert prepared.cursor is not None
        context.write_done(completion.Done(0, prepared.cursor.fetched))
    elif Quirk.DONE_WITH_EACH_BLOCK in context.quirks and not is_done:
        context.write_done(completion.Done())


def _open(usual: Handler, context: QuirkyContext, message: requests.Open) -> None:
    usual(context, message)
    prepared = context.current
    context.opened = None if prepared.values else prepared


def _refuse_after_open(usual: Handler, context: QuirkyContext, message: requests.RetType) -> None:
    if message.direction and context.opened is context.current:
        raise SqlError(_INVALID_MESSAGE)
    usual(context, message)


def _ignore(usual: Handler, context: SessionContext, message: Request) -> None:
    pass


def _refuse(usual: Handler, context: SessionContext, message: Request) -> None:
    refuse(context, message)


def _close_strictly(usual: Handler, context: SessionContext, message: requests.Close) -> None:
    prepared = context.current
    is_open = prepared.insertion is not None or (
        prepared.cursor is not None and not prepared.cursor.is_released
    )
    usual(context, message)
    if not is_open:
        raise SqlError(_NOT_OPEN)


def _release_with_error(usual: Handler, context: QuirkyContext, message: requests.Release) -> None:
    prepared = context.current
    usual(context, message)
    if prepared in context.closed:
        context.closed.remove(prepared)
        raise SqlError(_NOT_AVAILABLE)


def _exit_by_eot(usual: Handler, context: SessionContext, message: session_requests.Exit) -> None:
    _exit_silently(usual, context, message)
    replies.put_eot(context.outbox)


def _exit_silently(usual: Handler, context: SessionContext, message: session_requests.Exit) -> None:
    context.engine.close()
    context.has_ended = True


def _exit_with_state(usual: Handler, context: QuirkyContext, message: session_requests.Exit) -> None:
    context.write_state()
    usual(context, message)


def _fetch_standard_block(usual: Handler, context: SessionContext, message: requests.Fetch) -> None:
    usual(context, message._replace(size=_STANDARD_BLOCK))


def _fetch_large_block(usual: Handler, context: SessionContext, message: requests.Fetch) -> None:
    usual(context, message._replace(size=max(message.size, _LARGE_BLOCK)))


def _scroll_with_number_first(usual: Handler, context: SessionContext, message: requests.ScrollFetch) -> None:
    data = context.outbox.data
    begin = len(data)
    usual(context, message)
    if message.kind == _LAST or not data.startswith(_TUPLE, begin):
        return
    (size,) = _SIZE.unpack_from(data, begin + 4)
    row = begin + TUPLE_HEAD + padded(size)
    number = row + _TUPID_SIZE
    data[begin:number] = data[row:number] + data[begin:row]


_LAST: Final = 4
_TUPID_SIZE: Final = 6
_TUPLE: Final = Op.TUPLE.to_bytes(2, "big")


def _set_environment_without_optofc(
    usual: Handler, context: SessionContext, message: session_requests.Info
) -> None:
    usual(context, message)
    context.environment.pop("OPTOFC", None)


def _describe_unless_command(usual: Handler, context: SessionContext, message: requests.Describe) -> None:
    if not context.current.is_command:
        usual(context, message)


_SAVEPOINTS: Final = (
    session_requests.SetSavepoint,
    session_requests.ReleaseSavepoint,
    session_requests.RollbackSavepoint,
)

_QUIRKY: Final[tuple[tuple[Quirk, tuple[type, ...], _QuirkyHandler], ...]] = (
    (Quirk.ERROR_ON_CLOSE, (requests.Close,), _close_strictly),
    (Quirk.ERROR_ON_RELEASE, (requests.Release,), _release_with_error),
    (Quirk.NO_AUTOFREE, (requests.AutoFree,), _ignore),
    (Quirk.EXIT_BY_EOT, (session_requests.Exit,), _exit_by_eot),
    (Quirk.SILENT_EXIT, (session_requests.Exit,), _exit_silently),
    (Quirk.TRANSACTION_STATES, (session_requests.Exit,), _exit_with_state),
    (Quirk.STANDARD_BLOCKS, (requests.Fetch,), _fetch_standard_block),
    (Quirk.LARGE_BLOCKS, (requests.Fetch,), _fetch_large_block),
    (Quirk.SEPARATE_RET_TYPE, (requests.Open,), _open),
    (Quirk.SEPARATE_RET_TYPE, (requests.RetType,), _refuse_after_open),
    (Quirk.ROW_NUMBER_FIRST, (requests.ScrollFetch,), _scroll_with_number_first),
    (Quirk.NO_OPTOFC, (session_requests.Info,), _set_environment_without_optofc),
    (Quirk.UNDESCRIBED_COMMANDS, (requests.Describe,), _describe_unless_command),
    (Quirk.PING_BY_EOT, (session_requests.Version,), _ignore),
    (Quirk.NO_PUT, (requests.Put,), _refuse),
    (Quirk.NO_BIT_56, _SAVEPOINTS, _refuse),
)
"""Quirks that change the effect of a message, and how."""
