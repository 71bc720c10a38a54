"""Calls of routines with OUT and INOUT parameters, which the server refuses to prepare. Never: opcodes, the lock.

Source: observed: JDBC, outputs15.json; see `wire.routines`
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Generic, NamedTuple, ParamSpec, TypeVar

from aioifx.client.config.checks import row_maker
from aioifx.client.execution.actions import fetch_all_rows
from aioifx.client.execution.execute import call
from aioifx.client.execution.parameters import RequestEncoder
from aioifx.client.execution.prepare import with_fields
from aioifx.client.execution.statement_cache import StatementCache
from aioifx.client.session.failures import note_sql, raise_for
from aioifx.client.session.session import Session
from aioifx.client.sql.identifiers import plain_name
from aioifx.codecs.large_objects import is_large_object
from aioifx.codecs.objects import adapters_for
from aioifx.codecs.params import decode_value
from aioifx.codecs.rows import RowDecoder, RowEncoder
from aioifx.errors import DatabaseError, InterfaceError, NotSupportedError
from aioifx.rows import RowFactory
from aioifx.sqltypes import Column, Row, Value
from aioifx.wire.fields import BindEntry
from aioifx.wire.objects import Routine
from aioifx.wire.opcodes import StatementType
from aioifx.wire.outbox import Outbox
from aioifx.wire.routines import NEEDS_VARIABLE, RoutineParameter, routine_in

P = ParamSpec("P")
T = TypeVar("T")

_UNNAMED: Final = "named: the server did not name the parameters of the routine; pass them by position"

_IN: Final = 1


class Outputs(NamedTuple):
    """The values of a routine's OUT and INOUT parameters."""

    columns: tuple[Column, ...]
    """Their names and types."""
    values: Row
    positions: tuple[int, ...]
    """The index of each among the parameters."""

    def put_into(self, args: Sequence[Value]) -> list[Value]:
        """A copy of the arguments with these values."""
        found = dict(zip(self.positions, self.values, strict=True))
        return [found.get(index, value) for index, value in enumerate(args)]


class CallAction(Generic[P, T]):
    """An action for a prepared statement that notes its error: a -9752 is then the routine's own."""

    def __init__(self, action: Callable[P, Awaitable[T]]) -> None:
        self._action = action
        self._own: DatabaseError | None = None

    async def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await self._action(*args, **kwargs)
        except DatabaseError as error:
            self._own = error
            raise

    def refused(self, error: DatabaseError) -> Routine | None:
        """The routine that the server refused to prepare because of its OUT parameters; None for any other error."""
        is_refusal = error.sqlcode == NEEDS_VARIABLE and error is not self._own
        return routine_in(error.token) if is_refusal else None


async def call_routine(
    statements: StatementCache,
    sql: str,
    values: Sequence[Value],
    factory: RowFactory[Any],
    args: Sequence[Value],
    named: Mapping[str, Value] | None,
    timeout: float | None,
) -> list[Any]:
    """Call a routine: its results as rows, or the values of its OUT and INOUT parameters as a single row.

    Args:
        sql: the call, with *values* for its placeholders.
        args: see `call_outputs`.
        timeout: seconds for each of the two steps; None: command_timeout.
    """
    action = CallAction(fetch_all_rows)
    try:
        return await call(statements, sql, values, action, factory, timeout)
    except DatabaseError as error:
        routine = action.refused(error)
        if routine is None:
            raise
    outputs = await call_outputs(statements, routine, sql, args, named, timeout)
    return [row_maker(factory, outputs.columns)(outputs.values)]


async def call_outputs(
    statements: StatementCache,
    routine: Routine,
    sql: str,
    args: Sequence[Value],
    named: Mapping[str, Value] | None = None,
    timeout: float | None = None,
) -> Outputs:
    """Call a routine by its number, in three round trips.

    Args:
        sql: the statement that was refused, for errors.
        args: the values by position; *named* instead, by name.

    Raises:
        InterfaceError: *args* are too many, or *named* has other names than the first parameters.
        NotSupportedError: a large object, before the routine is called.
        DatabaseError: the routine failed.
    """
    session = statements.session
    async with session.turn(timeout):
        try:
            outputs = await _call_numbered(session, routine, sql, args, named)
        except BaseException as error:
            note_sql(error, sql)
            session.transactions.commit_later()  # as after any failed statement
            raise
        await session.transactions.commit_implicit()
        return outputs


async def _call_numbered(
    session: Session, routine: Routine, sql: str, args: Sequence[Value], named: Mapping[str, Value] | None
) -> Outputs:
    transactions, fast_path = session.transactions, session.fast_path
    described = await fast_path.describe_numbered(routine)
    raise_for(described, sql, session.options)
    parameters = await _resolved(session, described.routine_parameters or ())
    _check_supported(parameters)
    values = _by_position(parameters, args, named)
    types = [parameter.type for parameter in parameters[: len(values)]]
    adapters = adapters_for(session.conversions, types, session.code_set)
    encoder = RequestEncoder(sql, types, session.code_set, adapters, StatementType.EXECUTE_ROUTINE, ())
    arguments = Outbox()
    encoder.put(arguments, values)
    await transactions.before_run(sql, StatementType.EXECUTE_ROUTINE)
    lost = partial(transactions.on_reply_lost, sql)
    reply = await fast_path.call_numbered(routine, len(values), arguments.data, len(parameters), lost)
    raise_for(reply, sql, session.options)
    return _read(session, parameters, reply.outputs or (), reply.returned or ())


async def _resolved(session: Session, parameters: Sequence[RoutineParameter]) -> tuple[RoutineParameter, ...]:
    """The parameters, with the fields of ROW types and collections."""
    types = await with_fields(session, [parameter.type for parameter in parameters])
    return tuple([parameter._replace(type=found) for parameter, found in zip(parameters, types, strict=True)])


def _check_supported(parameters: Sequence[RoutineParameter]) -> None:
    for number, (mode, _, sql_type) in enumerate(parameters, 1):
        if mode != _IN and is_large_object(sql_type):
            message = f"parameter {number}: {sql_type} values are not supported"
            raise NotSupportedError(message, parameter=number)


def _by_position(
    parameters: Sequence[RoutineParameter], args: Sequence[Value], named: Mapping[str, Value] | None
) -> Sequence[Value]:
    if named is None:
        if len(args) > len(parameters):
            raise InterfaceError(f"expected at most {len(parameters)} arguments, got {len(args)}")
        return args
    values = {plain_name(name): value for name, value in named.items()}
    names = [parameter.name.lower() for parameter in parameters]
    if not any(names):
        raise NotSupportedError(_UNNAMED)
    first = names[: len(values)]
    if set(first) != set(values):
        raise InterfaceError(f"named: expected the parameters {', '.join(names)}, got {', '.join(named)}")
    return [values[name] for name in first]


def _read(
    session: Session,
    parameters: Sequence[RoutineParameter],
    has_value: Sequence[bool],
    returned: Sequence[BindEntry],
) -> Outputs:
    positions = tuple([index for index, found in enumerate(has_value) if found])
    columns = tuple([Column(parameters[index].name, parameters[index].type) for index in positions])
    values = tuple([_value(session, *pair) for pair in zip(columns, returned, strict=True)])
    return Outputs(columns, values, positions)


def _value(session: Session, column: Column, entry: BindEntry) -> Value:
    """A value as the same column of a row has it, with the connection's conversions."""
    code_set, columns = session.code_set, (column,)
    value = decode_value(
        entry.code & 0xFF, entry.indicator, entry.precision, entry.data, code_set, entry.name
    )
    decoder = RowDecoder(columns, code_set, strip_char=session.strip_char, conversions=session.conversions)
    return decoder.decode_payload(RowEncoder(columns, code_set).encode_payload((value,)))[0]
