"""What a statement does for a user's call: rows, results, batches. Never: opcodes, who holds the statement.

Whoever calls a coroutine of this module holds the session's turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from aioifx.client.pipeline import Outcome, execute_many
from aioifx.client.result import ExecuteResult, result_of
from aioifx.client.session import Session
from aioifx.client.sqltext import scan
from aioifx.client.statement import Statement, prepared
from aioifx.errors import DatabaseError, InterfaceError
from aioifx.rows import RowFactory
from aioifx.sqltypes import Row, Value

R = TypeVar("R")

ParamRows: TypeAlias = Iterable[Sequence[Value]] | AsyncIterable[Sequence[Value]]

# Verbs of statements that SQ_COMMAND runs in one round trip (observed: JDBC's executeUpdate, select.json). Everything
# else is prepared first: what it is and what it returns is the server's to say. So are BEGIN, COMMIT and ROLLBACK: the
# answer to SQ_COMMAND may lack their SQ_DESCRIBE (observed: 14.10), and that alone tells ROLLBACK TO SAVEPOINT apart.
_COMMANDS = frozenset(
    "insert update delete merge truncate create alter drop rename grant revoke set lock unlock savepoint release start"
    " stop".split()
)


async def fetch_rows(statement: Statement, params: Sequence[Value], factory: RowFactory[R]) -> list[R]:
    """Every row; none for a statement that returns none, which is executed."""
    if not statement.returns_rows:
        await statement.execute(params)
        return []
    rows = await statement.fetch_all(params)
    return list(map(factory(statement.columns), rows))


async def fetch_row(statement: Statement, params: Sequence[Value]) -> Row | None:
    """The first row, or None."""
    if not statement.returns_rows:
        await statement.execute(params)
        return None
    return await statement.fetch_first(params)


def value_at(row: Row | None, column: int) -> Value:
    """One value of a row that may not be there."""
    if row is None:
        return None
    try:
        return row[column]
    except IndexError:
        raise InterfaceError(f"column {column} of a row with {len(row)} columns") from None


async def execute_statement(statement: Statement, params: Sequence[Value]) -> ExecuteResult:
    """Execute; rows that a query returns are fetched, counted and dropped."""
    if statement.returns_rows:
        count = await statement.count_rows(params)
        return result_of(statement.kind, None, rowcount=count)
    reply = await statement.execute(params)
    return result_of(statement.kind, reply.done, reply.serials, warnings=statement.warnings)


async def execute_text(session: Session, sql: str, params: Sequence[Value]) -> ExecuteResult:
    """Execute a statement once: in one round trip if it has no parameters and can return no rows."""
    found = scan(sql)
    if not params and not found.placeholders and found.verb in _COMMANDS:
        async with session:
            try:
                reply = await session.command(sql)
            except DatabaseError:
                if session.is_open:
                    await session.autocommit_failed()
                raise
            await session.autocommit()
        kind = reply.description.statement_type if reply.description else 0
        return result_of(kind, reply.done, reply.serials)
    async with prepared(session, sql, params) as statement:
        return await execute_statement(statement, params)


def check_rows(rows: object) -> None:
    """Raise unless *rows* can be iterated; text and mappings are no rows."""
    kind = type(rows)
    if issubclass(kind, (str, bytes, Mapping)) or not issubclass(kind, (Iterable, AsyncIterable)):
        raise InterfaceError(f"rows must be an iterable or async iterable, not {kind.__name__}")


async def executemany_statement(statement: Statement, rows: ParamRows) -> ExecuteResult:
    """Execute once for each row, all or nothing: outside of a transaction, one is opened around the rows.

    In a database without a log every row stands for itself.
    """
    session = statement.session
    if not session.is_logged or session.in_transaction:
        return _summary(statement, await execute_many(statement, rows))
    try:
        await session.begin()
    except asyncio.CancelledError:
        session.leave_transaction()
        raise
    try:
        outcome = await execute_many(statement, rows)
        await session.commit()
    except Exception:
        await session.abort_transaction()
        raise
    except BaseException:
        session.leave_transaction()
        raise
    return _summary(statement, outcome)


def _summary(statement: Statement, outcome: Outcome) -> ExecuteResult:
    return result_of(
        statement.kind,
        outcome.last,
        outcome.serials,
        warnings=outcome.warnings | statement.warnings,
        rowcount=outcome.rowcount,
    )
