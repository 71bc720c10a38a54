"""What the messages of cursors do: open, fetch, scroll, put, close. Never: which SQL makes the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from aioifx.codecs.rows import RowDecoder
from aioifx.server.engine.cursors import Cursor
from aioifx.server.protocol.context import Handler, SessionContext
from aioifx.server.protocol.insert_cursor import Insertion
from aioifx.server.protocol.row_blocks import RowBlockWriter
from aioifx.server.protocol.statement_table import Slot
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Query, StatementType
from aioifx.server.sqlite.databases import LogMode
from aioifx.sqltypes import Column, SqlType, TypeCode
from aioifx.wire import replies, requests

# -- opening and closing -----------------------------------------------------------------------------------------------


def name_cursor(desk: SessionContext, message: requests.CurName) -> None:
    """SQ_CURNAME: what WHERE CURRENT OF says."""
    desk.here.cursor_name = desk.text(message.name)


def make_hold(desk: SessionContext, message: requests.Hold) -> None:
    """SQ_HOLD, for the next opening."""
    desk.here.hold = True


def make_scroll(desk: SessionContext, message: requests.Scroll) -> None:
    """SQ_SCROLL, for the next opening."""
    desk.here.scroll = True


def make_autofree(desk: SessionContext, message: requests.AutoFree) -> None:
    """SQ_AUTOFREE: the statement goes with its cursor."""
    desk.here.autofree = True


def open_cursor(desk: SessionContext, message: requests.Open) -> None:
    """SQ_OPEN; what is open already is closed first (observed: JDBC opens again without closing)."""
    slot = desk.here
    desk.close(slot)
    plan = slot.statement.plan
    try:
        if plan.returns_rows:
            slot.cursor = desk.engine.open(
                slot.statement, slot.values, name=slot.cursor_name, hold=slot.hold, scroll=slot.scroll
            )
        elif plan.type is StatementType.INSERT:
            _open_insert(desk, slot)
        else:
            raise SqlError(-363)
    finally:
        slot.hold = slot.scroll = False


def _open_insert(desk: SessionContext, slot: Slot) -> None:
    desk.engine.check(slot.statement)
    _need_transaction(desk)
    slot.insertion = Insertion(desk.transactions, hold=slot.hold)


def _need_transaction(desk: SessionContext) -> None:
    """Raises:   SqlFault: -265, there are transactions, and none is open."""
    database = desk.engine.database
    if database and database.log_mode is not LogMode.UNLOGGED and not desk.engine.in_transaction:
        raise SqlError(-265)


def close_cursor(desk: SessionContext, message: requests.Close) -> None:
    """SQ_CLOSE; closing twice is no error."""
    slot = desk.here
    desk.close(slot)
    if slot.autofree:
        desk.drop(slot)


# -- fetching ----------------------------------------------------------------------------------------------------------


def fetch(desk: SessionContext, message: requests.Fetch) -> None:
    """SQ_NFETCH: rows, and with the last of them, and after them, SQ_DONE, whose count is that of the whole result.

    Source:   observed: informix-driver's rowcount after the last row, on 12.10, 14.10 and 15

    Raises:   SqlFault: as `_opened`, or the buffer is larger than this server was told to bear.
    """
    slot = desk.here
    cursor = _opened(slot)
    limit = desk.fetch_limit
    if limit.sqlcode and message.size > limit.size:
        raise SqlError(limit.sqlcode)
    portions = _portions(desk, slot)
    rows, _, is_last = portions.take(lambda wanted: desk.engine.fetch(cursor, wanted), message.size)
    desk.outbox.raw(rows)
    if not is_last:
        return
    if desk.environment.get("OPTOFC") == "1":
        # With OPTOFC the server closes the cursor with its last row (observed: 15; JDBC then sends no SQ_CLOSE).
        replies.put_closed(desk.outbox)
        close_cursor(desk, requests.Close())
    desk.put_done(replies.Done(0, cursor.taken))


def _opened(slot: Slot) -> Cursor:
    """The open cursor.

    Raises:   SqlFault: -259, none; -267, the end of a transaction closed it.
    """
    if slot.cursor is None:
        raise SqlError(-259)
    if slot.cursor.released:
        raise SqlError(-267)
    return slot.cursor


def _portions(desk: SessionContext, slot: Slot) -> RowBlockWriter:
    if slot.portions is None:
        plan = slot.statement.plan
        is_single = isinstance(plan.action, Query) and plan.action.for_update
        slot.portions = desk.portions(_retyped(plan.columns, slot.result_types), single=is_single)
    return slot.portions


def scroll(desk: SessionContext, message: requests.ScrollFetch) -> None:
    """SQ_SFETCH: row, row number, SQ_DONE; for the last row no SQ_DONE (observed: informix-driver).

    The row comes first for every kind: with the number first, JDBC cannot go back to a row after `last()` (observed).
    """
    slot = desk.here
    cursor = _opened(slot)
    if not cursor.scroll:
        raise SqlError(-285)
    slot.row = max(0, min(_target(slot.row, cursor.count, message), cursor.count + 1))
    stored = cursor.row(slot.row)
    if stored is None:
        desk.put_done(replies.Done())
        return
    desk.outbox.raw(_portions(desk, slot).encode([stored]))
    replies.put_tupid(desk.outbox, slot.row)
    if message.kind != _LAST:
        desk.put_done(replies.Done(0, 1))


_LAST: Final = 4


def _target(row: int, count: int, message: requests.ScrollFetch) -> int:
    """The number of the row that a scroll fetch goes to; below 1 and above *count* there is none.

    Source:   kinds 1, 4 and 6 are observed; 2, 3 and 5 assumed, from their order in ESQL/C. With kind 1 the client says
              the number of the row that comes next (observed: JDBC), and 0 for the last (observed: informix-driver).
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


# -- the form of rows --------------------------------------------------------------------------------------------------


def choose_types(desk: SessionContext, message: requests.RetType) -> None:
    """SQ_RET_TYPE, for results (1) or for the rows of SQ_PUT (0)."""
    slot = desk.here
    if message.direction == 0:
        slot.put_types = message.types
        slot.put_decoder = None
    else:
        slot.result_types = message.types
        slot.portions = None


def _retyped(columns: Sequence[Column], types: Sequence[SqlType]) -> tuple[Column, ...]:
    """The columns in the form that SQ_RET_TYPE asked for.

    Raises:   SqlFault: -1260, in a form that this server does not convert to.
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
    if wanted.code in (TypeCode.LVARCHAR, TypeCode.BOOLEAN) and wanted.code == described.kind:
        return SqlType(wanted.code, described.length)
    if wanted.code in (described.code, _TWINS.get(described.code)):
        return described
    raise SqlError(-1260)


_TWINS: Final[dict[int, int]] = {
    TypeCode.SERIAL: TypeCode.INTEGER,
    TypeCode.SERIAL8: TypeCode.INT8,
    TypeCode.BIGSERIAL: TypeCode.BIGINT,
    TypeCode.MONEY: TypeCode.DECIMAL,
}
"""Types that look alike in a row."""


# -- insert cursors ----------------------------------------------------------------------------------------------------


def put(desk: SessionContext, message: requests.Put) -> None:
    """SQ_PUT: rows for an insert cursor, which are inserted together with those of the next SQ_PUT.

    Raises:   SqlFault: -259, no cursor is open; -267, the end of a transaction closed it; -265, it is a hold cursor
              outside of any; -999, the INSERT has values of its own.
    """
    slot = desk.here
    insertion, plan = slot.insertion, slot.statement.plan
    if insertion is None:
        raise SqlError(-259)
    if insertion.transaction != desk.transactions:
        if not insertion.hold:
            raise SqlError(-267)
        _need_transaction(desk)
    if len(plan.parameters) != len(plan.columns):
        raise SqlError(-999, token="PUT")
    insertion.put(message.rows)
    desk.putting = slot


def flush(desk: SessionContext) -> None:
    """Insert what SQ_PUT has brought, and tell how many rows: one SQ_DONE for all (observed: JDBC, put.json).

    Raises:   SqlFault: a row failed; those in front of it stay (documented, of insert cursors), those behind it and
              the rest of the group are dropped. How many stayed is not told (assumed: SQ_ERR has no place for it).
    """
    slot, desk.putting = desk.putting, None
    if slot is None or slot.insertion is None:
        return
    if slot.put_decoder is None:
        columns = _retyped(slot.statement.plan.columns, slot.put_types)
        slot.put_decoder = RowDecoder(columns, desk.code_set, padded_varchar=desk.has_padded_varchar)
    rows, is_cut = slot.insertion.take(slot.put_decoder)
    outcome = desk.engine.insert_rows(slot.statement, rows)
    if is_cut:
        raise SqlError(-415)
    desk.put_outcome(outcome)


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
