"""Calls: the lock, a statement, its execution, and the release of both, in the order of the wire. Never: opcodes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, Literal, TypeAlias, TypeVar, cast

from aioifx._speedups.round_trip import Waiter
from aioifx.client.execution.actions import SENDERS, Action, execute_statement
from aioifx.client.execution.arrow_reader import ArrowData, ArrowTable, is_arrow
from aioifx.client.execution.parameters import check_rows, check_sequence
from aioifx.client.execution.pipeline import BatchRows, ParamRows, is_single_use, run_pipeline
from aioifx.client.execution.queued_call import queued_call, reply_of
from aioifx.client.execution.result import ExecuteResult, result_of
from aioifx.client.execution.statement import Statement
from aioifx.client.execution.statement_cache import StatementCache, StatementSource
from aioifx.client.observation.observation import note
from aioifx.client.session.failures import is_cancelled_or_timed_out, note_sql
from aioifx.client.session.session import Session, command_type
from aioifx.client.sql.identifiers import column_name, object_name
from aioifx.client.sql.placeholders import (
    MappingRows,
    NamedRows,
    NamedStatement,
    NamedValues,
    UnnamedRows,
    bind_mapping,
    bind_named,
    named_statement,
)
from aioifx.client.sql.scanner import check_sql, scan
from aioifx.client.sql.templates import Sql, bind_template, is_template, note_place
from aioifx.errors import DatabaseError, InterfaceError
from aioifx.rows import Record, listed
from aioifx.sqltypes import Row, Value
from aioifx.wire.batch_replies import BatchTally
from aioifx.wire.replies import Reply

A = TypeVar("A")
T = TypeVar("T")

OnError: TypeAlias = Literal["raise", "collect"]
"""On a failed row: stop with its error, or continue and collect errors in the result."""

# Verbs of statements that SQ_COMMAND runs in one round trip (observed: JDBC's executeUpdate, select.json). All others
# are prepared first, since only the server knows what they return. So are BEGIN, COMMIT and ROLLBACK: the reply to
# SQ_COMMAND may lack their SQ_DESCRIBE (observed: 14.10), which is needed to recognise ROLLBACK TO SAVEPOINT.
COMMANDS: Final = frozenset(
    "insert update delete merge truncate create alter drop rename grant revoke set lock unlock savepoint release start"
    " stop".split()
)


# -- calls ------------------------------------------------------------------------------------------------------------


async def call(
    source: StatementSource,
    sql: str,
    params: Sequence[Value] | None,
    action: Action[A, T],
    argument: A,
    timeout: float | None = None,
    once: bool = False,
) -> T:
    """A complete call: acquire the lock and a statement, use it, release both.

    Args:
        params: None if *action* supplies them itself.
        argument: passed on to *action*.
        timeout: seconds; None: command_timeout.
        once: *action* cannot be repeated, so a stale statement is not prepared again.
    """
    # `session` only raises the error here: as a property it is slower.
    session = source.session if source.is_closed else source.base_session
    dispatcher = session.dispatcher
    waiter: Waiter | None = None
    # ``async with session.turn(timeout)``, without awaiting if nothing has to be awaited.
    if not (dispatcher.try_acquire() if timeout is None else dispatcher.try_acquire_within(timeout)):
        waiter = queued_call(source, sql, params, SENDERS.get(action), argument)
        try:
            await dispatcher.acquire(timeout, waiter=waiter)
        except DatabaseError as error:
            note_sql(error, sql)
            raise
    try:
        sent: Awaitable[Reply] | None = None
        if waiter is not None and waiter.in_flight is not None:
            sent, (statement, may_repeat) = reply_of(waiter), waiter.started
        else:
            if session.settings.pending:
                await session.apply_settings()
            may_repeat = not (once or session.transactions.is_open)
            statement = source.lookup(sql, params) or await source.prepare(sql, params)
        while True:
            try:
                result = await action(statement, () if params is None else params, argument, sent)
                break
            except BaseException as error:
                repeats = may_repeat and not statement.has_consumed
                fresh = await source.recover(statement, error, params, repeats)
                if fresh is None:
                    raise
                statement, sent = fresh, None
        if statement.alters_tables:
            source.clear()
        source.release(statement)
        if session.database.is_ansi:
            if statement.returns_rows:
                session.transactions.commit_later()  # after the cursor's CLOSE
            else:
                await session.transactions.commit_implicit()
        return result
    finally:
        dispatcher.release()


async def execute_text(
    statements: StatementCache, sql: str, timeout: float | None = None, params: Sequence[Value] = ()
) -> ExecuteResult:
    """Execute a statement without parameters, in one round trip if it cannot return rows.

    Args:
        params: none, or those of a template, for the note of an error.
    """
    found = scan(sql)
    if found.placeholders or found.verb not in COMMANDS:
        return await call(statements, sql, params, execute_statement, None, timeout)
    session = statements.session
    async with session.turn(timeout):
        try:
            reply = await session.run_command(sql)
        except BaseException as error:
            note_place(error, params)
            # Only in an ANSI database: ends the implicit transaction, as JDBC does after a failed statement.
            session.transactions.commit_later()
            raise
        statements.invalidate_after_text(sql)
        await session.transactions.commit_implicit()
    return result_of(
        command_type(reply, sql),
        reply.done,
        reply.serials,
        warned=reply.warnings,
        left_out=reply.warnings_left_out,
    )


def executemany(
    source: StatementSource,
    sql: str,
    rows: BatchRows,
    *,
    collect: bool = False,
    timeout: float | None = None,
) -> Awaitable[ExecuteResult]:
    """Execute once for each row, pipelined, in a transaction; see `_executemany`."""
    once = is_single_use(rows, source.session)
    work = call(source, sql, None, _executemany, (rows, collect), timeout, once)
    if not isinstance(rows, ArrowData):
        return work
    return _with_arrow(rows, work, takes_aware=source.session.conversions.takes_aware)


async def _with_arrow(
    rows: ArrowData, work: Coroutine[Any, Any, ExecuteResult], *, takes_aware: bool
) -> ExecuteResult:
    try:
        async with rows.opened(takes_aware=takes_aware):
            return await work
    finally:
        work.close()  # it has not begun if the data cannot be used


async def start(
    source: StatementSource,
    sql: str,
    params: Sequence[Value],
    action: Callable[[Statement, Sequence[Value]], Awaitable[T]],
) -> tuple[Statement, T]:
    """The first part of `call`: acquire a statement and use it. The caller holds the lock, and releases both."""
    # `call` repeats these lines: as a coroutine of its own they cost a small query 2 % more instructions (measured).
    may_repeat = not source.session.transactions.is_open
    statement = source.lookup(sql, params) or await source.prepare(sql, params)
    while True:
        try:
            result = await action(statement, params)
            break
        except BaseException as error:
            repeats = may_repeat and not statement.has_consumed
            fresh = await source.recover(statement, error, params, repeats)
            if fresh is None:
                raise
            statement = fresh
    if statement.alters_tables:
        source.clear()
    return statement, result


# -- executemany ------------------------------------------------------------------------------------------------------


async def _executemany(
    statement: Statement, _: Sequence[Value], batch: tuple[BatchRows, bool], sent: Awaitable[Reply] | None
) -> ExecuteResult:
    """Execute once for each row, in a transaction: outside one, a transaction is started for all rows.

    All or nothing, unless errors are collected. In a database without a log every row commits by itself.

    Args:
        batch: the rows, and whether errors are collected.
    """
    session, (rows, collect) = statement.session, batch
    await statement.check_may_run()
    if session.observation is not None:
        note(parameters=len(statement.parameters))
    if not session.database.is_logged or session.transactions.is_open:
        try:
            outcome = await run_pipeline(statement, rows, collect=collect)
        except DatabaseError as error:
            statement.is_partly_executed = error.row_index != 0
            raise
    else:
        async with implicit_transaction(session):
            outcome = await run_pipeline(statement, rows, collect=collect)
    tally, errors = outcome
    if session.observation is not None:
        note(batch_size=tally.answered + sum(not error.sqlcode for error in errors))
    return _summary(statement, tally, errors)


@asynccontextmanager
async def implicit_transaction(session: Session) -> AsyncGenerator[None, None]:
    """A transaction around the block, with the lock held: committed after it, rolled back on failure.

    The rollback is awaited after an ordinary error, and deferred after a cancellation or a timeout.
    """
    await session.transactions.begin()
    try:
        yield
    except BaseException as error:
        await session.transactions.rollback_after(error)
        raise
    try:
        await session.transactions.commit()
    except BaseException as error:
        # Otherwise COMMIT is in flight and its reply is checked on arrival.
        if not is_cancelled_or_timed_out(error):
            await session.transactions.rollback_or_close()
        raise


def _summary(statement: Statement, tally: BatchTally, errors: tuple[DatabaseError, ...]) -> ExecuteResult:
    return result_of(
        statement.kind,
        tally.done,
        tally.serials,
        warnings=tally.warnings | statement.warnings,
        warned=tally.warned,
        left_out=tally.warnings_left_out,
        rowcount=tally.rowcount,
        errors=errors,
        each_serial=_serials_of(tally, errors),
    )


def _serials_of(tally: BatchTally, errors: tuple[DatabaseError, ...]) -> tuple[int | None, ...]:
    """One a row, also for rows that failed or were not sent; empty if no row has one."""
    if not tally.each_serial or not any(tally.each_serial):
        return ()
    serials = [serial or None for serial in tally.each_serial]
    for error in errors:
        if error.row_index is not None and not error.sqlcode:  # a row that was not sent has no reply
            serials.insert(error.row_index, None)
    return tuple(serials)


# -- arguments and results of users -----------------------------------------------------------------------------------


def call_of(
    routine: str, args: Sequence[Value], named: Mapping[str, Value] | None
) -> tuple[str, tuple[Value, ...]]:
    """The statement that calls a routine, with its parameters.

    Source: observed: JDBC, callable.json: procedures and functions alike; ``name = value`` is documented
    """
    object_name(routine, "routine")
    if named is None:
        return f"execute procedure {routine}({', '.join('?' * len(args))})", tuple(args)
    if not isinstance(named, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise InterfaceError(f"named: expected a mapping, got {type(named).__name__}")
    if args:
        raise InterfaceError("named: cannot be combined with arguments by position")
    marks = ", ".join(f"{column_name(name, 'named')} = ?" for name in named)
    return f"execute procedure {routine}({marks})", tuple(named.values())


def by_position(sql: Sql, args: Sequence[Value], named: NamedValues | None) -> tuple[str, tuple[Value, ...]]:
    """The statement with placeholders, and its values by position."""
    if not isinstance(sql, str):
        if is_template(sql) and (args or named is not None):
            raise InterfaceError("sql: a template has its values; expected none besides them")
        return bind_template(sql)
    if named is None:
        return sql, tuple(args)
    if args:
        raise InterfaceError("named: cannot be combined with values by position")
    return bind_named(sql, named)


def by_name_or_position(
    sql: Sql, params: Sequence[Value] | Mapping[str, Value], named: NamedValues | None
) -> tuple[str, Sequence[Value]]:
    """PEP 249: parameters are a sequence for ``?``, or else a mapping; decided by text and value, as in sqlite3."""
    if named is not None or not isinstance(sql, str):
        return by_position(sql, cast("Sequence[Value]", params), named)
    if params.__class__ is not tuple:  # the check of an abstract class is slow
        if isinstance(params, Mapping) and not scan(sql).placeholders:
            return bind_mapping(sql, params)
        check_sequence(params, "parameters")
    return sql, cast("Sequence[Value]", params)


def rows_by_name_or_position(
    sql: str, rows: ParamRows | MappingRows | ArrowTable | None, named: MappingRows | ArrowTable | None
) -> tuple[str, BatchRows]:
    """PEP 249: as `rows_by_position`; rows are mappings if the text names its parameters, or may be if it has none."""
    statement = None if named is not None or scan(sql).placeholders else named_statement(sql)
    if statement is None or (is_arrow(rows) and not statement.names):
        return rows_by_position(sql, cast("ParamRows | ArrowTable | None", rows), named)
    if is_arrow(rows):
        return statement.sql, named_rows(statement, rows)
    check_rows(rows)
    of_kind = NamedRows if statement.names else UnnamedRows
    return statement.sql, of_kind(cast("MappingRows", rows), statement.values_in)


def rows_by_position(
    sql: str, rows: ParamRows | ArrowTable | None, named: MappingRows | ArrowTable | None
) -> tuple[str, BatchRows]:
    """The statement with placeholders, and the rows of its executions by position."""
    check_sql(sql)
    if named is None:
        if is_arrow(rows):
            return sql, ArrowData(rows)
        check_rows(rows)
        return sql, cast("ParamRows", rows)
    if rows is not None:
        raise InterfaceError("named: cannot be combined with values by position")
    statement = named_statement(sql)
    return statement.sql, named_rows(statement, named)


def named_rows(statement: NamedStatement, named: MappingRows | ArrowTable) -> NamedRows | ArrowData:
    """The rows of mappings, or of Arrow data by the names of its columns, by position."""
    if is_arrow(named):
        return ArrowData(named, statement.indices)
    return NamedRows(cast("MappingRows", named), statement.values)


def check_on_error(on_error: str) -> bool:
    """Whether errors are collected. Raises InterfaceError for an unknown value."""
    if on_error not in ("raise", "collect"):
        raise InterfaceError(f'on_error: expected "raise" or "collect", got {on_error!r:.40}')
    return on_error == "collect"


def value_at(row: Row | None, column: Any) -> Value:
    """One value of a row, or None without a row: by position, or of a record by name."""
    if row is None:
        return None
    try:
        return row[column]
    except IndexError:
        raise InterfaceError(
            f"column: index {column} is out of range; the row has {len(row)} {'value' if len(row) == 1 else 'values'}"
        ) from None
    except KeyError:
        names = listed(row.keys()) if isinstance(row, Record) else ""
        raise InterfaceError(f"column: unknown column {column!r:.40}; the row has {names}") from None
    except TypeError:
        kind = type(column).__name__
        raise InterfaceError(f"column: expected an index or a name, got {kind}") from None
