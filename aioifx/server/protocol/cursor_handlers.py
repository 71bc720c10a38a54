"""Handlers of cursor messages: open, fetch, scroll, put, close. Never: the SQL that produces the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from aioifx.codecs.large_objects import is_smart_object
from aioifx.codecs.rows import RowDecoder
from aioifx.server.engine.cursors import Cursor
from aioifx.server.protocol.context import Handler, SessionContext
from aioifx.server.protocol.incoming_values import Insertion
from aioifx.server.protocol.row_blocks import ENVELOPED, RowBlockWriter
from aioifx.server.protocol.statement_table import PreparedStatement
from aioifx.server.sql.complex_types import ComplexType
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Query
from aioifx.server.sql.model.storage import form_of
from aioifx.server.sqlite.databases import LogMode
from aioifx.sqltypes import (
    SERIALS,
    Column,
    SqlType,
    TypeCode,
)
from aioifx.wire import completion, replies, requests
from aioifx.wire.opcodes import StatementType

# -- opening and closing -----------------------------------------------------------------------------------------------


def name_cursor(context: SessionContext, message: requests.CurName) -> None:
    """SQ_CURNAME: sets the cursor's name, for WHERE CURRENT OF."""
    context.current.cursor_name = context.text(message.name)


def make_hold(context: SessionContext, message: requests.Hold) -> None:
    """SQ_HOLD: makes the cursor of the next SQ_OPEN a hold cursor."""
    context.current.hold = True


def make_scroll(context: SessionContext, message: requests.Scroll) -> None:
    """SQ_SCROLL: makes the cursor of the next SQ_OPEN a scroll cursor."""
    context.current.scroll = True


def make_autofree(context: SessionContext, message: requests.AutoFree) -> None:
    """SQ_AUTOFREE: closing the cursor releases the statement."""
    context.current.autofree = True


def open_cursor(context: SessionContext, message: requests.Open) -> None:
    """SQ_OPEN; a cursor that is already open is closed first (observed: JDBC opens again without closing)."""
    prepared = context.current
    context.close(prepared)
    plan = prepared.statement.plan
    try:
        # Rows of SQ_PUT are inserted later: faults of an INSERT take effect then.
        with context.executing(prepared, faults=plan.type is not StatementType.INSERT):
            if plan.returns_rows:
                prepared.cursor = context.engine.open(
                    prepared.statement,
                    prepared.values,
                    name=prepared.cursor_name,
                    hold=prepared.hold,
                    scroll=prepared.scroll,
                )
            elif plan.type is StatementType.INSERT and not prepared.statement.parts:
                _open_insert(context, prepared)
            else:
                raise SqlError(-363)
    finally:
        prepared.hold = prepared.scroll = False


def _open_insert(context: SessionContext, prepared: PreparedStatement) -> None:
    context.engine.check(prepared.statement)
    _need_transaction(context)
    prepared.insertion = Insertion(context.transactions, hold=prepared.hold)


def _need_transaction(context: SessionContext) -> None:
    """Raise SqlError -265 if the database is logged and no transaction is open."""
    database = context.engine.database
    if database and database.log_mode is not LogMode.UNLOGGED and not context.engine.is_in_transaction:
        raise SqlError(-265)


def close_cursor(context: SessionContext, message: requests.Close) -> None:
    """SQ_CLOSE; closing twice is not an error."""
    prepared = context.current
    context.close(prepared)
    if prepared.autofree:
        context.drop(prepared)


# -- fetching ----------------------------------------------------------------------------------------------------------


def fetch(context: SessionContext, message: requests.Fetch) -> None:
    """SQ_NFETCH: rows; with the last row, and on each fetch after it, SQ_DONE with the row count of the whole result.

    Source: observed: informix-driver's rowcount after the last row, on 12.10, 14.10 and 15

    Raises:
        SqlError: as `_cursor_of`, or the buffer is larger than the server's limit.
    """
    prepared = context.current
    cursor = _cursor_of(prepared)
    limit = context.fetch_limit
    if limit.sqlcode and message.size > limit.size:
        raise SqlError(limit.sqlcode)
    row_writer = _writer_of(context, prepared)
    with context.continuing(prepared) as record:
        rows, count, is_last = row_writer.next_block(
            lambda wanted: context.engine.fetch(cursor, wanted), message.size
        )
        record.rows += count
    context.outbox.raw(rows)
    if not is_last:
        return
    if context.environment.get("OPTOFC") == "1" and not context.keeps_open(prepared):
        # With OPTOFC the server closes the cursor with its last row (observed: 15; JDBC then sends no SQ_CLOSE).
        replies.put_closed(context.outbox)
        close_cursor(context, requests.Close())
    context.write_done(completion.Done(0, cursor.fetched))


def _cursor_of(prepared: PreparedStatement) -> Cursor:
    """The open cursor.

    Raises:
        SqlError: -259, no cursor is open; -267, the end of a transaction closed it.
    """
    if prepared.cursor is None:
        raise SqlError(-259)
    if prepared.cursor.is_released:
        raise SqlError(-267)
    return prepared.cursor


def _writer_of(context: SessionContext, prepared: PreparedStatement) -> RowBlockWriter:
    if prepared.row_writer is None:
        plan = prepared.statement.plan
        action, columns, wanted = plan.action, plan.columns, prepared.result_types
        is_single = False
        if isinstance(action, Query):
            is_single = action.for_update
            if action.keeps:
                columns = context.sent_columns(columns)
        prepared.row_writer = context.row_writer(
            _retyped(columns, wanted), single=is_single, binary=_binary(columns, wanted) if wanted else ()
        )
    return prepared.row_writer


def _binary(columns: Sequence[Column], wanted: Sequence[SqlType]) -> frozenset[int]:
    """The indexes of rows and collections that the client asked for in binary (observed: JDBC)."""
    pairs = enumerate(zip(columns, wanted, strict=False))
    return frozenset(
        index
        for index, (column, type_) in pairs
        if type_.code == TypeCode.OPAQUE and isinstance(column.type, ComplexType)
    )


def scroll(context: SessionContext, message: requests.ScrollFetch) -> None:
    """SQ_SFETCH: row, row number, SQ_DONE; for the last row no SQ_DONE (observed: informix-driver).

    The row comes first for every kind: with the number first, JDBC cannot go back to a row after `last()` (observed).
    """
    prepared = context.current
    cursor = _cursor_of(prepared)
    if not cursor.scroll:
        raise SqlError(-285)
    with context.continuing(prepared) as record:
        prepared.row = max(0, min(_target(prepared.row, cursor.count, message), cursor.count + 1))
        stored = cursor.row(prepared.row)
        record.rows += stored is not None
    if stored is None:
        context.write_done(completion.Done())
        return
    context.outbox.raw(_writer_of(context, prepared).encode([stored]))
    replies.put_tupid(context.outbox, prepared.row)
    if message.kind != _LAST:
        context.write_done(completion.Done(0, 1))


_LAST: Final = 4


def _target(row: int, count: int, message: requests.ScrollFetch) -> int:
    """The row number that a scroll fetch moves to; below 1 or above *count* it is outside the result.

    Source: kinds 1, 4 and 6 are observed; 2, 3 and 5 assumed, from their order in ESQL/C. With kind 1 the client sends
    the number of the next row (observed: JDBC), or 0 for the last (observed: informix-driver).
    """
    match message.kind:
        case 1:
            return message.row or count
        case 2:
            return row - 1
        case 3:
            return 1
        case 4:
            return count
        case 5:
            return row + message.row
        case 6:
            return message.row if message.row >= 0 else count + 1 + message.row
        case _:
            raise SqlError(-999, token=f"FETCH {message.kind}")


# -- types of rows -----------------------------------------------------------------------------------------------------


def choose_types(context: SessionContext, message: requests.RetType) -> None:
    """SQ_RET_TYPE: sets the types of the result (1) or of the rows of SQ_PUT (0)."""
    prepared = context.current
    if message.direction == 0:
        prepared.put_types = message.types
        prepared.put_decoder = None
    else:
        prepared.result_types = message.types
        prepared.row_writer = None


def _retyped(columns: Sequence[Column], types: Sequence[SqlType]) -> tuple[Column, ...]:
    """The columns with the types that SQ_RET_TYPE requested.

    Raises:
        SqlError: -1260, the server does not convert to a requested type.
    """
    if not types:
        return tuple(columns)
    if len(types) != len(columns):
        raise SqlError(-1260)
    return tuple(
        replace(column, type=_retyped_one(column.type, wanted))
        for column, wanted in zip(columns, types, strict=True)
    )


def _retyped_one(described: SqlType, wanted: SqlType) -> SqlType:
    """The type that the client asked for; rows, collections and documents keep theirs."""
    if wanted.code in (TypeCode.LVARCHAR, TypeCode.BOOLEAN) and wanted.code == described.kind:
        return SqlType(wanted.code, described.length)
    if wanted.code == TypeCode.OPAQUE and is_smart_object(described):
        return replace(described, code=TypeCode.OPAQUE)  # locators as bytes, not as digits
    if wanted.code in (described.code, _TWINS.get(described.code)):
        return described
    if wanted.code == TypeCode.OPAQUE and form_of(described) in ENVELOPED:
        return described
    raise SqlError(-1260)


_TWINS: Final[dict[int, int]] = {
    **SERIALS,
    TypeCode.MONEY: TypeCode.DECIMAL,
}
"""Types with the same encoding in a row."""


# -- insert cursors ----------------------------------------------------------------------------------------------------


def put(context: SessionContext, message: requests.Put) -> None:
    """SQ_PUT: rows for an insert cursor; consecutive SQ_PUTs are inserted together.

    Raises:
        SqlError: -259, no cursor is open; -267, the end of a transaction closed it. Or -265, it is a hold cursor
            outside a transaction; -999, the INSERT has values other than its parameters.
    """
    prepared = context.current
    insertion, plan = prepared.insertion, prepared.statement.plan
    if insertion is None:
        raise SqlError(-259)
    if insertion.transaction != context.transactions:
        if not insertion.hold:
            raise SqlError(-267)
        _need_transaction(context)
    if len(plan.parameters) != len(plan.columns):
        raise SqlError(-999, token="PUT")
    insertion.put(message.rows)
    context.inserting = prepared


def flush(context: SessionContext) -> None:
    """Insert the rows of SQ_PUT, and report their number: one SQ_DONE for all of them (observed: JDBC, put.json).

    Raises:
        SqlError: a row failed. The rows before it are kept (documented for insert cursors); the rows after it and the
            rest of the group are dropped. The number of rows kept is not sent (assumed: SQ_ERR has no field for it).
    """
    prepared, context.inserting = context.inserting, None
    if prepared is None or prepared.insertion is None:
        return
    if prepared.put_decoder is None:
        columns = _retyped(context.sent_columns(prepared.statement.plan.columns), prepared.put_types)
        prepared.put_decoder = RowDecoder(
            columns, context.code_set, padded_varchar=context.has_padded_varchar
        )
    with context.continuing(prepared, faults=True) as record:
        rows, is_cut = prepared.insertion.drain(prepared.put_decoder)
        result = context.engine.insert_rows(prepared.statement, rows)
        record.rows += result.rows
        if is_cut:
            raise SqlError(-415)
    context.write_result(result)


HANDLERS: Final[dict[type, Handler]] = {
    requests.CurName: name_cursor,
    requests.Hold: make_hold,
    requests.Scroll: make_scroll,
    requests.AutoFree: make_autofree,
    requests.Open: open_cursor,
    requests.Close: close_cursor,
    requests.Fetch: fetch,
    requests.ScrollFetch: scroll,
    requests.RetType: choose_types,
    requests.Put: put,
}
