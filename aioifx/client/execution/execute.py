"""Execution of a statement for a user's call: rows, results, batches. Never: opcodes, who holds the statement.

Callers of this module's coroutines hold the session's lock.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

from aioifx.client.execution.parameters import check_rows
from aioifx.client.execution.pipeline import ParamRows, execute_many, is_single_use
from aioifx.client.execution.result import ExecuteResult, result_of
from aioifx.client.execution.statement import Statement
from aioifx.client.execution.statement_cache import StatementCache
from aioifx.client.session.session import Session, is_cancelled_or_timed_out
from aioifx.client.sql.identifiers import column_name, object_name
from aioifx.client.sql.placeholders import MappingRows, NamedRows, NamedValues, bind_named, named_statement
from aioifx.client.sql.scanner import scan
from aioifx.errors import DatabaseError, InterfaceError
from aioifx.rows import Record, RowFactory, record_row, tuple_row
from aioifx.sqltypes import Row, Value
from aioifx.wire.batch_replies import BatchTally

R = TypeVar("R")
T = TypeVar("T")

OnError: TypeAlias = Literal["raise", "collect"]
"""On a failed row: stop with its error, or continue and collect errors in the result."""

# Verbs of statements that SQ_COMMAND runs in one round trip (observed: JDBC's executeUpdate, select.json). All others
# are prepared first, since only the server knows what they return. So are BEGIN, COMMIT and ROLLBACK: the reply to
# SQ_COMMAND may lack their SQ_DESCRIBE (observed: 14.10), which is needed to recognise ROLLBACK TO SAVEPOINT.
_COMMANDS: Final = frozenset(
    "insert update delete merge truncate create alter drop rename grant revoke set lock unlock savepoint release start"
    " stop".split()
)


class RowFetcher(Generic[R]):
    """Fetches the rows of a statement with one row factory."""

    __slots__ = ("_factory",)

    def __init__(self, factory: RowFactory[R]) -> None:
        self._factory = factory

    def fetch_all(self, statement: Statement, params: Sequence[Value]) -> Awaitable[list[R]]:
        """Every row; empty for a statement that returns none, which is executed."""
        if not statement.returns_rows:
            return _execute_without_rows(statement, params, [])
        return statement.fetch_all(params, self._factory)

    def fetch_first(self, statement: Statement, params: Sequence[Value]) -> Awaitable[R | None]:
        """The first row, or None."""
        if not statement.returns_rows:
            return _execute_without_rows(statement, params, None)
        return statement.fetch_first(params, self._factory)


TUPLES: Final[RowFetcher[Row]] = RowFetcher(tuple_row)
"""Fetches rows as plain tuples."""

RECORDS: Final[RowFetcher[Row]] = RowFetcher(record_row)
"""Fetches rows as records."""


async def _execute_without_rows(statement: Statement, params: Sequence[Value], nothing: T) -> T:
    await statement.execute(params)
    return nothing


def value_at(row: Row | None, column: Any) -> Value:
    """One value of a row, or None without a row: by position, or of a record by name."""
    if row is None:
        return None
    try:
        return row[column]
    except IndexError:
        raise InterfaceError(f"column: expected a place below {len(row)}, got {column}") from None
    except KeyError:
        names = ", ".join(row.keys()) if isinstance(row, Record) else ""
        raise InterfaceError(f"column: unknown column {column!r:.40}; the row has {names}") from None
    except TypeError:
        kind = type(column).__name__
        raise InterfaceError(f"column: expected a place or a name, got {kind}") from None


async def execute_statement(statement: Statement, params: Sequence[Value]) -> ExecuteResult:
    """Execute; rows of a query are fetched, counted and discarded."""
    if statement.returns_rows:
        count = await statement.count_rows(params)
        return result_of(statement.kind, None, rowcount=count)
    reply = await statement.execute(params)
    return result_of(
        statement.kind, reply.done, reply.serials, warnings=statement.warnings, warned=reply.warnings
    )


async def execute_text(
    statements: StatementCache,
    sql: str,
    timeout: float | None = None,
) -> ExecuteResult:
    """Execute a statement without parameters once, in one round trip if it cannot return rows."""
    found = scan(sql)
    if found.placeholders or found.verb not in _COMMANDS:
        return await statements.run(sql, (), execute_statement, timeout)
    session = statements.session
    async with session.turn(timeout):
        try:
            reply = await session.run_command(sql)
        except BaseException:
            session.commit_later()
            raise
        statements.invalidate_after_text(sql)
        await session.autocommit()
    kind = reply.description.statement_type if reply.description else 0
    return result_of(kind, reply.done, reply.serials, warned=reply.warnings)


def call_of(
    routine: str, args: Sequence[Value], named: Mapping[str, Value] | None
) -> tuple[str, tuple[Value, ...]]:
    """The statement that calls a routine, with its parameters.

    Source:   observed: JDBC, callable.json: procedures and functions alike; ``name = value`` is documented
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


def by_position(sql: str, args: Sequence[Value], named: NamedValues) -> tuple[str, tuple[Value, ...]]:
    """The statement with placeholders, and its values by position."""
    if args:
        raise InterfaceError("named: cannot be combined with values by position")
    return bind_named(sql, named)


def rows_by_position(
    sql: str, rows: ParamRows | None, named: MappingRows | None
) -> tuple[str, ParamRows | NamedRows]:
    """The statement with placeholders, and the rows of its executions by position."""
    if named is None:
        check_rows(rows)
        assert rows is not None
        return sql, rows
    if rows is not None:
        raise InterfaceError("named: cannot be combined with values by position")
    statement = named_statement(sql)
    return statement.sql, NamedRows(statement, named)


def check_on_error(on_error: str) -> bool:
    """Whether errors are collected. Raises InterfaceError for an unknown value."""
    if on_error not in ("raise", "collect"):
        raise InterfaceError(f'on_error: expected "raise" or "collect", got {on_error!r:.40}')
    return on_error == "collect"


async def executemany_text(
    statements: StatementCache,
    sql: str,
    rows: ParamRows | NamedRows,
    *,
    collect: bool = False,
    timeout: float | None = None,
) -> ExecuteResult:
    """`executemany_statement` as a complete call."""
    return await statements.run(
        sql,
        None,
        lambda statement, _: executemany_statement(statement, rows, collect=collect),
        timeout,
        once=is_single_use(rows, statements.session),
    )


async def executemany_statement(
    statement: Statement, rows: ParamRows | NamedRows, *, collect: bool = False
) -> ExecuteResult:
    """Execute once for each row, in a transaction: outside one, a transaction is started for all rows.

    All or nothing, unless errors are collected. In a database without a log every row commits by itself.
    """
    session = statement.session
    await statement.admit()
    if not session.is_logged or session.in_transaction:
        return _summary(statement, *await execute_many(statement, rows, collect=collect))
    async with implicit_transaction(session):
        outcome = await execute_many(statement, rows, collect=collect)
    return _summary(statement, *outcome)


@asynccontextmanager
async def implicit_transaction(session: Session) -> AsyncGenerator[None, None]:
    """A transaction around the block, with the lock held: committed after it, rolled back on failure.

    The rollback is awaited after an ordinary error, and deferred after a cancellation or a timeout.
    """
    await session.begin()
    try:
        yield
    except BaseException as error:
        await session.rollback_after(error)
        raise
    try:
        await session.commit()
    except BaseException as error:
        if not is_cancelled_or_timed_out(
            error
        ):  # otherwise COMMIT is in flight and its reply is checked on arrival
            await session.rollback_or_close()
        raise


def _summary(statement: Statement, tally: BatchTally, errors: tuple[DatabaseError, ...]) -> ExecuteResult:
    return result_of(
        statement.kind,
        tally.done,
        tally.serials,
        warnings=tally.warnings | statement.warnings,
        warned=tally.warned,
        rowcount=tally.rowcount,
        errors=errors,
    )
