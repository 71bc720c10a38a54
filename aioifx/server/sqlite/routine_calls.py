"""Calls of routines written in Python: arguments as Python values, rows in storage form. Never: what SQL means.

Invariants:
1. A routine runs in the thread of the calling session, and up to its first row before that row is fetched.
2. A `DatabaseError` that it raises is sent to the client with its codes. Any other exception is an internal error,
   which is logged and reported as -768.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from sqlite3 import Connection
from typing import Final

from aioifx.errors import DatabaseError
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.spl import Routine
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.runtime.client_values import loader, storer
from aioifx.server.sql.runtime.sqlite_functions import ErrorSink, guarded
from aioifx.server.sqlite.spool import StoredRow
from aioifx.sqltypes import Value

logger: Final = logging.getLogger("aioifx.server")

_RAISED: Final = -746
_RAISED_IN_C: Final = -937
_INTERNAL: Final = -768
_WRONG_VALUES: Final = -655  # number of values and results differ (documented, of SPL's RETURN)
_TWO_ROWS: Final = -686


class RoutineRows:
    """The rows of a routine, as a cursor's source."""

    __slots__ = ("_ahead", "_rows")

    def __init__(self, rows: Generator[StoredRow, None, None]) -> None:
        """Run the routine up to its first row."""
        self._rows = rows
        self._ahead = list(islice(rows, 1))

    def fetchmany(self, size: int, /) -> list[StoredRow]:
        """The next rows, at most *size*; an empty list after the last.

        Raises:
            SqlError: the routine raised.
        """
        rows, self._ahead = self._ahead, []
        rows += islice(self._rows, size - len(rows))
        return rows

    def close(self) -> None:
        """Stop the routine."""
        self._ahead = []
        self._rows.close()


def called(
    routine: Routine,
    arguments: Sequence[Stored],
    settings: Settings,
    check: Callable[[], None] = lambda: None,
) -> RoutineRows:
    """Call *routine* with arguments in storage form, and run it up to its first row.

    Args:
        check: called before each row; an exception ends the rows.

    Raises:
        SqlError: the routine raised, or its values do not match its registered results.
    """
    return RoutineRows(_rows(routine, arguments, settings, check))


def _rows(
    routine: Routine, arguments: Sequence[Stored], settings: Settings, check: Callable[[], None]
) -> Generator[StoredRow, None, None]:
    storers = [storer(type_) for type_ in routine.returns]
    with _mapped_errors(routine):
        result = routine.function(*_loaded(routine, arguments, settings))
        check()
        for values in _as_rows(result) if storers else ():
            check()
            if len(values) != len(storers):
                raise SqlError(_WRONG_VALUES)
            yield tuple(
                None if value is None else store(value, settings)
                for store, value in zip(storers, values, strict=True)
            )


def _loaded(routine: Routine, arguments: Sequence[Stored], settings: Settings) -> Iterator[Value]:
    for (_, type_), value in zip(routine.params, arguments, strict=True):
        load = loader(type_, settings.code_set)
        yield value if value is None or load is None else load(value)


def _as_rows(result: Value) -> Iterable[tuple[Value, ...]]:
    """Rows of a result: a tuple is one row, another iterable except text is many, any other value is a row of one."""
    if _is_row(result) or isinstance(result, str | bytes) or not hasattr(result, "__iter__"):
        return (_as_row(result),)
    return map(_as_row, result)


def _as_row(result: Value) -> tuple[Value, ...]:
    return result if _is_row(result) else (result,)


def _is_row(result: object) -> bool:
    return isinstance(result, tuple)


@contextmanager
def _mapped_errors(routine: Routine) -> Generator[None, None, None]:
    """Convert an exception of a routine to an `SqlError`; SystemExit, too, since it would end the server."""
    try:
        yield
    except (SqlError, GeneratorExit):
        raise
    except DatabaseError as error:
        raise _sql_error_of(error) from None
    except BaseException as error:
        logger.exception("routine %s failed", routine.name)
        raise SqlError(_INTERNAL) from error


def _sql_error_of(error: DatabaseError) -> SqlError:
    """The `SqlError` for an error of a routine; without a code it is -746 with the text as its token (documented)."""
    sqlcode = error.sqlcode or _RAISED
    if sqlcode == _RAISED_IN_C:
        return SqlError(sqlcode, error.isamcode, error.token, sqlstate=error.sqlstate, text=str(error))
    return SqlError(sqlcode, error.isamcode, error.token or (str(error) if sqlcode == _RAISED else ""))


# -- in expressions ----------------------------------------------------------------------------------------------------


def register_calls(connection: Connection, settings: Settings, on_error: ErrorSink) -> None:
    """Register functions that return the single result of a routine on *connection*.

    They are ``ifx_routine(name, argument, ..)`` and ``ifx_not_variant`` with the same arguments. SQLite may keep a
    result of the latter in an index, and takes it from there when a query has the same call.
    """

    def call(name: str, *arguments: Stored) -> Stored:
        routine = settings.routines.find(name)
        if routine is None:  # it was dropped while the statement ran
            raise SqlError(-674, token=name)
        return _single(called(routine, arguments, settings).fetchmany(2))

    function: Callable[..., Stored] = guarded(call, on_error)
    connection.create_function("ifx_routine", -1, function)
    connection.create_function("ifx_not_variant", -1, function, deterministic=True)


def _single(rows: Sequence[StoredRow]) -> Stored:
    """The value of the only row; assumed: NULL without a row.

    Raises:
        SqlError: -686, more than one row.
    """
    if len(rows) > 1:
        raise SqlError(_TWO_ROWS)
    value: Stored = rows[0][0] if rows else None
    return value
