"""Checks of the replies to fetches: sizes, the end of rows, closing, scrolling. Never: the types of values."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any, Final

from aioifx.client.api.connection import Connection, statements_of
from aioifx.client.config.options import STANDARD_FETCH_SIZE
from aioifx.client.execution.large_values import LargeValues, large_columns
from aioifx.client.execution.prepare import prepare
from aioifx.client.execution.statement import Statement
from aioifx.client.execution.statement_requests import statement_request
from aioifx.client.session.fetch_size import may_be_about_the_size
from aioifx.codecs.conversions import PLAIN
from aioifx.errors import DatabaseError
from aioifx.verify.check import Check
from aioifx.verify.lab import Lab, Refuted, describe_error
from aioifx.verify.raw_requests import (
    close_cursor,
    exchange_all,
    fetch_next,
    open_and_fetch,
    open_scrolling,
    prepared,
    scroll_to,
)
from aioifx.wire import requests
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply

_ROWS: Final = 300
_TABLE: Final = "CREATE TEMP TABLE vfy_rows (a INT, t CHAR(250))"
_QUERY: Final = "SELECT a, t FROM vfy_rows"
_LARGE: Final = 1 << 20
_STATEMENTS: Final = 300
_MOST_FETCHES: Final = 2 * _ROWS
_FIRST, _PREVIOUS, _NEXT, _LAST, _RELATIVE, _ABSOLUTE = 3, 2, 1, 4, 5, 6


async def _fill(lab: Lab, conn: Connection[Any] | None = None) -> str:
    """A table of 300 rows of 254 bytes; returns the query of all its rows."""
    conn = lab.conn if conn is None else conn
    await lab.prepare(_TABLE, conn=conn)
    await conn.executemany(lab.named("INSERT INTO vfy_rows VALUES (?, ?)"), [(n, "x") for n in range(_ROWS)])
    lab.forget()
    return lab.named(_QUERY)


def _is_end(reply: Reply) -> bool:
    return reply.is_cursor_closed or reply.no_rows is not None or not reply.rows


async def _blocks(conn: Connection[Any], statement: Statement, size: int) -> list[Reply]:
    """All replies until one that is empty or closes the cursor, as every server ends rows."""
    replies = [await open_and_fetch(conn, statement, size)]
    while not _is_end(replies[-1]) and len(replies) < _MOST_FETCHES:
        replies.append(await fetch_next(conn, statement, size))
    return replies


async def _done_ends_rows(lab: Lab) -> None:
    lab.require_database(ansi=False)
    async with prepared(lab.conn, await _fill(lab)) as statement:
        replies = await _blocks(lab.conn, statement, 8192)
    _require_all_rows(replies)
    for number, reply in enumerate(replies, 1):
        later = sum(len(each.rows) for each in replies[number:])
        if reply.done is not None and reply.done.rows > 0 and later:
            raise Refuted(f"reply {number} had SQ_DONE, and {later} rows followed it")
        if reply.rows and not later and reply.done is None and not reply.is_cursor_closed:
            raise Refuted(f"reply {number} had the last rows, but no SQ_DONE")


def _require_all_rows(replies: list[Reply]) -> None:
    found = sum(len(reply.rows) for reply in replies)
    if found != _ROWS:
        raise Refuted(f"expected {_ROWS} rows, got {found} in {len(replies)} replies")


async def _several_rows_per_reply(lab: Lab) -> None:
    lab.require_database(ansi=False)
    async with prepared(lab.conn, await _fill(lab)) as statement:
        reply = await open_and_fetch(lab.conn, statement, STANDARD_FETCH_SIZE)
    if len(reply.rows) < 2:
        raise Refuted(f"a fetch of {STANDARD_FETCH_SIZE} bytes returned {len(reply.rows)} of {_ROWS} rows")


async def _fetch_size_in_force(lab: Lab) -> None:
    lab.require_database(ansi=False)
    sizes = (4096, STANDARD_FETCH_SIZE)
    query = await _fill(lab)
    found: list[int] = []
    for size in sizes:
        async with prepared(lab.conn, query) as statement:
            reply = await open_and_fetch(lab.conn, statement, size)
        found.append(len(reply.rows) * statement.cursor.row_size)
        if found[-1] > size + statement.cursor.row_size:
            raise Refuted(f"a fetch of {size} bytes returned {found[-1]} bytes of rows")
    if found[1] < STANDARD_FETCH_SIZE // 2:
        raise Refuted(f"fetches of {sizes[0]} and {sizes[1]} bytes returned {found[0]} and {found[1]} bytes")


async def _large_fetch_size(lab: Lab) -> None:
    async with lab.another(fetch_size=_LARGE) as conn:
        query = await _fill(lab, conn)
        async with prepared(conn, query) as statement:
            try:
                replies = await _blocks(conn, statement, _LARGE)
            except DatabaseError as error:
                if error.connection_usable and may_be_about_the_size(error.sqlcode, error.isamcode):
                    return
                raise Refuted(f"a fetch of {_LARGE} bytes failed with {describe_error(error)}") from error
    _require_all_rows(replies)


async def _no_rows_without_error(lab: Lab) -> None:
    await lab.prepare(_TABLE)
    async with prepared(lab.conn, lab.named(_QUERY)) as statement:
        reply = await open_and_fetch(lab.conn, statement, 4096)
    _refuse_100(reply, "a fetch without rows")
    outbox = Outbox()
    sql = lab.named("UPDATE vfy_rows SET a = 1 WHERE a = 2")
    requests.put_command(
        outbox, statements_of(lab.conn).session.conversation.capabilities, sql.encode("ascii")
    )
    (reply,) = await exchange_all(lab.conn, [outbox])
    if not lab.conn.is_ansi:
        _refuse_100(reply, "an UPDATE of no rows")


def _refuse_100(reply: Reply, what: str) -> None:
    if reply.no_rows is not None:
        raise Refuted(f"{what} ended with SQ_ERR 100")


async def _optofc_closes(lab: Lab) -> None:
    lab.require_database(ansi=False)
    query = await _fill(lab)
    async with prepared(lab.conn, query) as statement:
        replies = await _blocks(lab.conn, statement, STANDARD_FETCH_SIZE)
    _require_all_rows(replies)
    if not replies[-1].is_cursor_closed:
        raise Refuted("with OPTOFC=1 the reply with the last rows had no SQ_CLOSE")


async def _optofc_off_keeps_open(lab: Lab) -> None:
    async with lab.another(environment={"OPTOFC": "0"}) as conn:
        async with prepared(conn, await _fill(lab, conn)) as statement:
            replies = await _blocks(conn, statement, STANDARD_FETCH_SIZE)
    _require_all_rows(replies)
    if any(reply.is_cursor_closed for reply in replies):
        raise Refuted("with OPTOFC=0 the server closed the cursor")


_VALUES: Final = 20


async def _optofc_keeps_large_values(lab: Lab) -> None:
    await lab.prepare("CREATE TEMP TABLE vfy_large (a INT, t TEXT)")
    conn = lab.conn
    rows = [(n, f"text {n} " * 50) for n in range(_VALUES)]
    await conn.executemany(lab.named("INSERT INTO vfy_large VALUES (?, ?)"), rows)
    lab.forget()
    async with prepared(conn, lab.named("SELECT a, t FROM vfy_large ORDER BY a")) as statement:
        reply = (await _blocks(conn, statement, STANDARD_FETCH_SIZE))[-1]
        if not reply.is_cursor_closed:
            return  # the cursor is open, so its values are there
        fetching = statement.plans.fetching
        values = LargeValues(fetching, large_columns(statement.columns, PLAIN))
        try:
            async with statements_of(conn).session:
                found = await values.fill(reply.rows)
        except DatabaseError as error:
            if not error.connection_usable:
                raise
            raise Refuted(f"a TEXT value was refused after SQ_CLOSE, with {describe_error(error)}") from error
    if found != rows:
        raise Refuted("the TEXT values that came after SQ_CLOSE were others")


async def _ret_type_with_open(lab: Lab) -> None:
    await lab.prepare("CREATE TEMP TABLE vfy_flag (a INT, b BOOLEAN)", "INSERT INTO vfy_flag VALUES (1, 't')")
    async with prepared(lab.conn, lab.named("SELECT a, b FROM vfy_flag")) as statement:
        try:
            reply = await open_and_fetch(lab.conn, statement, 4096)
        except DatabaseError as error:
            if not error.connection_usable:
                raise
            raise Refuted(f"RET_TYPE in the group of OPEN failed with {describe_error(error)}") from error
    if reply.rows != [(1, True)]:
        raise Refuted("RET_TYPE in the group of OPEN: the row was another one")


async def _autofree_releases(lab: Lab) -> None:
    await lab.prepare(_TABLE)
    conn = lab.conn
    async with prepared(conn, lab.named(_QUERY)) as statement:
        reply = await open_and_fetch(conn, statement, 4096, autofree=True)
        if not reply.is_cursor_closed:
            await close_cursor(conn, statement)
        outbox = statement_request(statement.statement_id)
        requests.put_curname(outbox, statement.cursor.name())
        requests.put_open(outbox)
        (reply,) = await exchange_all(conn, [outbox])
    if reply.error is None:
        raise Refuted("a statement could be opened after AUTOFREE and CLOSE")


async def _reopens_without_close(lab: Lab) -> None:
    async with prepared(lab.conn, await _fill(lab)) as statement:
        first = await open_and_fetch(lab.conn, statement, 4096)
        if not first.is_cursor_closed:
            await fetch_next(lab.conn, statement, 4096)
        again = await open_and_fetch(lab.conn, statement, 4096)
    if first.rows != again.rows:
        raise Refuted("a cursor opened again did not start at its first row")


async def _groups_in_one_write(lab: Lab) -> None:
    await lab.prepare(_TABLE)
    conn, query = lab.conn, lab.named(_QUERY)
    async with statements_of(conn).session as session:
        statement = await prepare(session, query)
    await open_and_fetch(conn, statement, 4096)
    close, release, another = (
        statement_request(statement.statement_id),
        statement_request(statement.statement_id),
        Outbox(),
    )
    requests.put_close(close)
    requests.put_release(release)
    requests.put_prepare(another, session.conversation.capabilities, query.encode("ascii"), 0)
    reply = (await exchange_all(conn, [close, release, another]))[2]
    if reply.error is not None or reply.description is None:
        raise Refuted(
            "CLOSE, RELEASE and PREPARE in one write: the PREPARE was not answered by a description"
        )
    session.conversation.release_later(reply.description.statement_id, cursor=False, release=True)


async def _many_statements(lab: Lab) -> None:
    await lab.prepare(_TABLE)
    async with AsyncExitStack() as stack:
        statements = [
            await stack.enter_async_context(prepared(lab.conn, lab.named(_QUERY))) for _ in range(_STATEMENTS)
        ]
    if len({statement.statement_id for statement in statements}) != _STATEMENTS:
        raise Refuted(f"{_STATEMENTS} statements had fewer ids")


async def _update_cursor(lab: Lab) -> None:
    async with prepared(lab.conn, await _fill(lab) + " FOR UPDATE") as statement:
        replies = await _blocks(lab.conn, statement, 8192)
    _require_all_rows(replies)


async def _scroll_kinds(lab: Lab) -> None:
    conn = lab.conn
    async with prepared(conn, await _fill(lab) + " ORDER BY a") as statement:
        await open_scrolling(conn, statement)
        for kind, row, expected in (
            (_LAST, 0, _ROWS - 1),
            (_FIRST, 0, 0),
            (_ABSOLUTE, 10, 9),
            (_PREVIOUS, 0, 8),
            (_RELATIVE, 5, 13),
            (_NEXT, 15, 14),
        ):
            reply = await scroll_to(conn, statement, kind, row)
            found = [each[0] for each in reply.rows]
            if expected not in found:
                raise Refuted(f"SQ_SFETCH {kind} {row} returned rows {found}, expected row {expected}")
        await close_cursor(conn, statement)


async def _scrolls_over_collections(lab: Lab) -> None:
    await lab.prepare(
        "CREATE TEMP TABLE vfy_nest (r ROW(a INT, s SET(INT NOT NULL)))",
        "INSERT INTO vfy_nest VALUES (ROW(1, SET{1}))",
    )
    async with lab.conn.cursor(scroll=True) as cursor:
        await cursor.execute(lab.named("SELECT r FROM vfy_nest"))
        row = await cursor.fetchone()
    if row is None or row[0][0] != 1:
        raise Refuted("a scroll cursor did not return the row")


FETCHING: Final[tuple[Check, ...]] = (
    Check(
        "done-ends-rows",
        "A reply to a fetch has an SQ_DONE with a row count only with the last rows.",
        ("client/execution/cursor_requests.py: CursorRequests.has_last_rows",),
        _done_ends_rows,
    ),
    Check(
        "several-rows-per-reply",
        "Outside ANSI databases a reply to a fetch holds as many rows as fit.",
        ("client/session/fetch_size.py: FetchBuffer",),
        _several_rows_per_reply,
    ),
    Check(
        "fetch-size-in-force",
        "The size of a fetch limits a reply, up to 32767 bytes.",
        ("client/session/fetch_size.py: FetchBuffer",),
        _fetch_size_in_force,
    ),
    Check(
        "large-fetch-size",
        "A fetch of 1 MiB is accepted, or rejected by an error that may be about its size.",
        (
            "client/session/fetch_size.py: FetchBuffer #2",
            "docs/explanation/fetch-size.md: What happens with a size above 32,767",
        ),
        _large_fetch_size,
    ),
    Check(
        "no-rows-without-error",
        "No rows end with SQ_DONE, not with SQ_ERR 100.",
        ("wire/replies.py: Reply.no_rows",),
        _no_rows_without_error,
    ),
    Check(
        "optofc-closes",
        "With OPTOFC=1 the server closes a cursor with its last rows, and says so by SQ_CLOSE.",
        ("client/config/environment.py: session_pairs",),
        _optofc_closes,
    ),
    Check(
        "optofc-off-keeps-open",
        "OPTOFC=0 is accepted, and a cursor then stays open after its last row.",
        (
            "client/config/environment.py: session_pairs",
            "client/config/environment.py: session_pairs #2",
        ),
        _optofc_off_keeps_open,
    ),
    Check(
        "optofc-keeps-large-values",
        "BYTE and TEXT values can be requested after the server has closed their cursor.",
        (
            "client/execution/large_values.py",
            "server/protocol/context.py: SessionContext.keeps_open",
        ),
        _optofc_keeps_large_values,
    ),
    Check(
        "ret-type-with-open",
        "The group that opens a cursor without parameters may have RET_TYPE.",
        ("client/execution/cursor_requests.py: open_and_fetch_template #2",),
        _ret_type_with_open,
    ),
    Check(
        "autofree-releases",
        "After AUTOFREE, closing the cursor releases its statement.",
        ("client/execution/cursor_requests.py: open_and_fetch_template",),
        _autofree_releases,
    ),
    Check(
        "reopens-without-close",
        "OPEN of an open cursor starts again at the first row.",
        ("client/execution/statement.py: Statement.open",),
        _reopens_without_close,
    ),
    Check(
        "groups-in-one-write",
        "CLOSE, RELEASE and the next request may be sent in one write.",
        ("client/session/conversation.py: Conversation.release_later",),
        _groups_in_one_write,
    ),
    Check(
        "many-statements",
        "A session may have 300 prepared statements, each with an id of its own.",
        ("server/protocol/statement_table.py: STATEMENT_LIMIT",),
        _many_statements,
    ),
    Check(
        "update-cursor-ends-empty",
        "A cursor FOR UPDATE returns all rows before an empty reply or SQ_CLOSE.",
        ("client/execution/statement.py: Statement._has_last_rows",),
        _update_cursor,
    ),
    Check(
        "scroll-kinds",
        "The kinds of a scroll fetch are 1 next, 2 previous, 3 first, 4 last, 5 relative, 6 absolute.",
        ("server/protocol/cursor_handlers.py: _target",),
        _scroll_kinds,
    ),
    Check(
        "scrolls-over-collections",
        "A scroll cursor may have a ROW with a collection.",
        ("server/engine/engine.py: _refuse_scroll",),
        _scrolls_over_collections,
    ),
)
