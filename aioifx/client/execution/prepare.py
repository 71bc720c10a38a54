"""Preparation of a statement: PREPARE, and CIDESCRIBE for its parameters. Never: its execution, the cache.

Callers of this module's coroutines hold the session's lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from aioifx.client.execution.parameters import check_count
from aioifx.client.execution.statement import Statement
from aioifx.client.execution.type_lookup import resolved_types
from aioifx.client.session.failures import is_cancelled_or_timed_out, raise_for
from aioifx.client.session.interrupts import INTERRUPTED
from aioifx.client.session.session import Session
from aioifx.client.sql.scanner import scan
from aioifx.errors import DatabaseError, InterfaceError, ProtocolError
from aioifx.sqltypes import Row, SqlType, Value
from aioifx.wire import requests
from aioifx.wire.descriptions import Description
from aioifx.wire.opcodes import MAX_COLUMNS, StatementType
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply


async def prepare(session: Session, sql: str, params: Sequence[Value] | None = None) -> Statement:
    """PREPARE, and CIDESCRIBE where there are parameters.

    Wire: PREPARE · NDESCRIBE · WANTDONE, then ID · CIDESCRIBE
    Source: observed: JDBC, prepared.json; JDBC describes parameters even if there are none

    Args:
        params: the values, if known, to choose the parameter types.

    Raises:
        ProgrammingError, DataError: before anything is sent: the text is not a statement, not in the code set, or not a
            query on a read-only connection.
        InterfaceError: before anything is sent: wrong number of values, or see `Session.check`.
    """
    placeholders = scan(sql).placeholders
    if placeholders > MAX_COLUMNS:
        raise InterfaceError(f"statement: expected at most {MAX_COLUMNS} parameters, got {placeholders}")
    if params is not None:
        check_count(sql, placeholders, params)
    session.transactions.check(sql)
    session.check_files(sql)
    outbox = Outbox()
    requests.put_prepare(
        outbox, session.conversation.capabilities, session.code_set.encode(sql), placeholders
    )
    session.stats.statements += 1
    prepared = await session.conversation.exchange(
        outbox, on_success=_check_described, on_orphan=partial(_release_orphan, session)
    )
    raise_for(prepared, sql)
    description = prepared.description
    assert description is not None
    parameters: tuple[SqlType | None, ...] = ()
    try:
        if placeholders:
            parameters = await _describe_parameters(session, prepared, placeholders)
        types = [column.type for column in description.columns]
        if any([sql_type is not None and sql_type.extended_name for sql_type in (*types, *parameters)]):
            description, parameters = await _resolve_types(session, description, parameters)
            prepared.description = description
    except BaseException:
        session.conversation.release_later(description.statement_id, cursor=False, release=True)
        raise
    return Statement(session, sql, prepared, parameters)


async def _resolve_types(
    session: Session, description: Description, parameters: tuple[SqlType | None, ...]
) -> tuple[Description, tuple[SqlType | None, ...]]:
    """The fields of ROW types and collections; see `type_lookup`."""
    columns, known = description.columns, session.known_types
    fetch = partial(_fetch_catalog, session)
    types = await resolved_types([column.type for column in columns], known, fetch)
    if types is not None:
        pairs = zip(columns, types, strict=True)
        description = description._replace(columns=tuple(replace(column, type=one) for column, one in pairs))
    described = [sql_type for sql_type in parameters if sql_type is not None]
    types = await resolved_types(described, known, fetch)
    if types is not None:
        found = iter(types)
        parameters = tuple(None if sql_type is None else next(found) for sql_type in parameters)
    return description, parameters


async def with_fields(session: Session, types: Sequence[SqlType]) -> Sequence[SqlType]:
    """The types, with the fields of ROW types and collections; see `type_lookup`."""
    return await resolved_types(types, session.known_types, partial(_fetch_catalog, session)) or types


async def _fetch_catalog(session: Session, sql: str) -> list[Row]:
    """The rows of a query of the catalog; none if the server rejects it.

    Raises:
        DatabaseError: a row of the catalog is locked, as while another session creates a type; the query was
            interrupted.
    """
    try:
        statement = await prepare(session, sql)
        try:
            rows = await statement.open((), read_rows=statement.plans.plain().read_rows)
            while not statement.is_exhausted:
                rows += await statement.fetch_block()
        finally:
            statement.release_later()
    except DatabaseError as error:
        if is_cancelled_or_timed_out(error) or not session.is_open or not error.sqlcode:
            raise
        if error.retryable or error.sqlcode == INTERRUPTED:  # says nothing about the type
            raise
        return []
    return rows


def _check_described(prepared: Reply) -> None:
    """Raise ProtocolError unless the reply to PREPARE describes the statement; that ends the connection."""
    if prepared.description is None:
        raise ProtocolError("the server did not describe the prepared statement")


def _release_orphan(session: Session, prepared: Reply) -> None:
    """Release the statement of an abandoned PREPARE."""
    if prepared.description is not None and prepared.error is None:
        session.conversation.release_later(prepared.description.statement_id, cursor=False, release=True)


async def _describe_parameters(
    session: Session, prepared: Reply, placeholders: int
) -> tuple[SqlType | None, ...]:
    description = prepared.description
    assert description is not None
    described: tuple[SqlType, ...] = ()
    if session.conversation.capabilities.describe_input:
        outbox = Outbox()
        requests.put_id(outbox, description.statement_id)
        requests.put_describe_input(outbox)
        reply = await session.conversation.exchange(outbox)
        if reply.error is None:
            described = reply.parameters or ()
    if len(described) == placeholders:
        return described
    if description.statement_type == StatementType.INSERT and len(description.columns) == placeholders:
        return tuple(column.type for column in description.columns)
    return (None,) * placeholders
