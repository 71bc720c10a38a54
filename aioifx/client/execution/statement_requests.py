"""Requests of a prepared statement: their beginning, EXECUTE, the types of SQ_RET_TYPE. Never: when they are sent."""

from __future__ import annotations

from collections.abc import Sequence
from struct import pack
from typing import Final

from aioifx.client.execution.parameters import RequestEncoder, RequestTemplate
from aioifx.sqltypes import Column, SqlType, TypeCode
from aioifx.wire import requests
from aioifx.wire.opcodes import Op
from aioifx.wire.outbox import Outbox

EXECUTE_EOT: Final = pack(">2H", Op.EXECUTE, Op.EOT)


def statement_request(statement_id: int) -> Outbox:
    """A new request, starting with ID."""
    outbox = Outbox()
    requests.put_id(outbox, statement_id)
    return outbox


def execute_template(encoder: RequestEncoder, statement_id: int) -> RequestTemplate:
    """Execute a statement that returns no rows.

    Wire: ID · [BIND] · EXECUTE
    Source: observed: JDBC, prepared.json
    """
    return encoder.template(statement_request(statement_id).detach(), EXECUTE_EOT)


_TEXT_UNASKED: Final = frozenset(
    map(int, (TypeCode.SET, TypeCode.MULTISET, TypeCode.LIST, TypeCode.ROW, TypeCode.COLLECTION))
)


def ret_types_of(columns: Sequence[Column]) -> tuple[SqlType, ...]:
    """The types for SQ_RET_TYPE; empty if every column is sent in its own form anyway.

    Source: observed: JDBC, select.json: LVARCHAR as 43, BOOLEAN as 45, other extended types as 44; owners15.json: the
    latter two with the described owner. Without RET_TYPE, ROW and collections are sent as text on 12.10, 14.10 and 15;
    their form with it is unknown.
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
        # A DISTINCT type's own owner is not that of BOOLEAN.
        owner = sqltype.owner if sqltype.extended_name == "boolean" else ""
        return SqlType(TypeCode.BOOLEAN, sqltype.length, owner=owner, extended_name="boolean")
    if kind in (TypeCode.UDTVAR, TypeCode.UDTFIXED):
        kind = TypeCode.OPAQUE
    owner, name = (sqltype.owner, sqltype.extended_name) if requests.is_named(kind) else ("", "")
    return SqlType(kind, sqltype.length, owner=owner, extended_name=name)
