"""INSERT, UPDATE and DELETE on SQLite, so that an interrupt undoes only that statement. Never: what an error means.

SQLite ends an interrupted statement that writes by rolling back the whole transaction (documented for
sqlite3_interrupt; measured on 3.40: savepoints do not help). Outside a transaction that is correct. Inside one:

1. An INSERT of many rows reads all of them before it writes the first. Reading can be interrupted at any time.
   Between two written rows the INSERT can be rolled back to a savepoint.
2. UPDATE and DELETE call a function for each row that they scan. An error in a function undoes one statement.
3. Any other write, such as an UPDATE that spends its time in one subquery, runs to its end. The interrupt then ends
   the next statement.
"""

from __future__ import annotations

import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

from aioifx.server.sql.model.plan import Change, Verb
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.runtime.sqlite_functions import ErrorSink, guarded
from aioifx.server.sqlite.interrupts import Interrupts
from aioifx.server.sqlite.spool import Spool, StoredRow
from aioifx.server.sqlite.transactions import Transactions

STEPS: Final = 4000
"""SQLite VM steps between two checks for an interrupt: less than a millisecond, at little cost (measured)."""

_LOOK: Final = "ifx_look"
_BLOCK: Final = 1000
_ROWS_INSERTED: Final = re.compile(
    r"(?P<head>INSERT INTO \w+\.\"\w+\" \(\"(?:[^\"]|\"\")*\"(?:, \"(?:[^\"]|\"\")*\")*\)) (?P<rows>SELECT .*)",
    re.DOTALL,
)


class Written(Protocol):
    """The result of a change."""

    @property
    def rowcount(self) -> int: ...

    @property
    def lastrowid(self) -> int | None: ...


class _Written(NamedTuple):
    rowcount: int
    lastrowid: int | None


def make_interruptible(connection: sqlite3.Connection, interrupts: Interrupts, on_error: ErrorSink) -> None:
    """Make statements on *connection* check *interrupts*."""

    def look() -> Stored:
        interrupts.check()
        return 1

    connection.create_function(_LOOK, 0, guarded(look, on_error))
    connection.set_progress_handler(interrupts.stops, STEPS)


def write(
    connection: sqlite3.Connection,
    change: Change,
    values: tuple[Stored, ...],
    transactions: Transactions,
    interrupts: Interrupts,
) -> Written:
    """Run a change in the open transaction, if any.

    Raises:   SqlError: -213, interrupted. sqlite3.Error: it failed. Neither leaves any change.
    """
    if not transactions.is_open:
        with interrupts.stopping():
            return connection.execute(change.sql, numbered(change.sql, values))
    many = _ROWS_INSERTED.fullmatch(change.sql) if "SELECT" in change.sql else None
    # Row by row, a child before its parent would be refused.
    if many is None or any(key.parent == change.table.tabid for key in change.table.foreign_keys):
        sql = change.sql if change.verb is Verb.INSERT else _looking(change)
        with interrupts.stopping_permanently():
            return connection.execute(sql, numbered(sql, values))
    with closing(Spool()) as rows:
        width = _read(connection, many["rows"], values, rows, interrupts)
        with transactions.undone_alone():
            return _insert(connection, many["head"], width, rows, interrupts)


def _looking(change: Change) -> str:
    """The text of an UPDATE or DELETE with the check for an interrupt as a condition that is always true."""
    if change.cursor or change.sql == f"DELETE FROM {change.table.source}":
        return change.sql
    return f"{change.sql} {'WHERE' if change.affects_all_rows else 'AND'} {_LOOK}()"


def _read(
    connection: sqlite3.Connection, sql: str, values: tuple[Stored, ...], into: Spool, interrupts: Interrupts
) -> int:
    """Spool the rows of a query; returns their number of columns."""
    with interrupts.stopping(), closing(connection.execute(sql, numbered(sql, values))) as found:
        while block := found.fetchmany(_BLOCK):
            into.append(block)
        return len(found.description)


def _insert(
    connection: sqlite3.Connection, head: str, width: int, rows: Spool, interrupts: Interrupts
) -> Written:
    sql = f"{head} VALUES ({', '.join('?' * width)})"
    done = connection.executemany(sql, _looked_at(rows, interrupts))
    (last,) = connection.execute("SELECT last_insert_rowid()").fetchone()
    return _Written(done.rowcount, last)


def _looked_at(rows: Spool, interrupts: Interrupts) -> Iterator[StoredRow]:
    for start in range(0, len(rows), _BLOCK):
        for row in rows.rows(start, _BLOCK):
            interrupts.check()
            yield row


# -- parameters --------------------------------------------------------------------------------------------------------

_PARAMETERS: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\?(\d+)")

_NUMBERS_ARE_NAMES: Final = (3, 12) <= sys.version_info[:3] < (3, 12, 4)
"""Whether the sqlite3 module treats ?1 as a name, and warns about a sequence of values (measured on 3.12.1)."""


def numbered(sql: str, values: tuple[Stored, ...]) -> tuple[Stored, ...] | dict[str, Stored]:
    """*values* in the form that the sqlite3 module needs for the ``?N`` of *sql*, without unused ones."""
    wanted = values[: _highest_parameter(sql)]
    if _NUMBERS_ARE_NAMES:
        return {str(number): value for number, value in enumerate(wanted, 1)}
    return wanted


@lru_cache(maxsize=2048)
def _highest_parameter(sql: str) -> int:
    """The number of values that SQLite expects: the highest ``?N`` outside quotes."""
    return max((int(number) for number in _PARAMETERS.findall(sql) if number), default=0)
