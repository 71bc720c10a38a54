"""INSERT, UPDATE and DELETE on SQLite, so that an interrupt undoes nothing but them. Never: what an error means.

SQLite ends an interrupted statement that writes by rolling back the whole transaction (documented for
sqlite3_interrupt; measured on 3.40: savepoints do not help). Outside of a transaction that is just right. Inside one:

1. An INSERT of many rows reads them all before it writes the first. Reading may be dropped at any moment, and between
   two rows that are written it can be undone to a savepoint.
2. UPDATE and DELETE call a function for each row that they look at. An error of a function undoes one statement.
3. What is neither runs to its end, and the interrupt hits what comes next: an UPDATE whose time goes into one subquery.
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
from aioifx.server.sql.runtime.sqlite_functions import FaultSink, guarded
from aioifx.server.sqlite.interrupts import Interrupts
from aioifx.server.sqlite.spool import Spool, StoredRow
from aioifx.server.sqlite.transactions import Transactions

STEPS: Final = 4000
"""SQLite's own steps between two looks at the interrupt: less than a millisecond, and hardly a cost (measured)."""

_LOOK: Final = "ifx_look"
_BLOCK: Final = 1000
_ROWS_INSERTED: Final = re.compile(
    r"(?P<head>INSERT INTO \w+\.\"\w+\" \(\"(?:[^\"]|\"\")*\"(?:, \"(?:[^\"]|\"\")*\")*\)) (?P<rows>SELECT .*)",
    re.DOTALL,
)


class Written(Protocol):
    """What is known of a change that was made."""

    @property
    def rowcount(self) -> int: ...

    @property
    def lastrowid(self) -> int | None: ...


class _Written(NamedTuple):
    rowcount: int
    lastrowid: int | None


def make_interruptible(connection: sqlite3.Connection, interrupts: Interrupts, on_fault: FaultSink) -> None:
    """Let what runs on *connection* look at *interrupts*."""

    def look() -> Stored:
        interrupts.check()
        return 1

    connection.create_function(_LOOK, 0, guarded(look, on_fault))
    connection.set_progress_handler(interrupts.stops, STEPS)


def write(
    connection: sqlite3.Connection,
    change: Change,
    values: tuple[Stored, ...],
    transactions: Transactions,
    interrupts: Interrupts,
) -> Written:
    """Make a change in whatever transaction is open.

    Raises:   SqlFault: -213, interrupted. sqlite3.Error: it failed. Nothing is changed then.
    """
    if not transactions.open:
        with interrupts.stopping():
            return connection.execute(change.sql, numbered(change.sql, values))
    many = _ROWS_INSERTED.fullmatch(change.sql) if "SELECT" in change.sql else None
    # Row by row, a child that comes before its parent would be refused.
    if many is None or any(key.parent == change.table.tabid for key in change.table.foreign_keys):
        sql = change.sql if change.verb is Verb.INSERT else _looking(change)
        with interrupts.stopping_for_good():
            return connection.execute(sql, numbered(sql, values))
    with closing(Spool()) as rows:
        width = _read(connection, many["rows"], values, rows, interrupts)
        with transactions.undone_alone():
            return _insert(connection, many["head"], width, rows, interrupts)


def _looking(change: Change) -> str:
    """The text of an UPDATE or DELETE with the look at the interrupt; its condition always holds."""
    if change.cursor or change.sql == f"DELETE FROM {change.table.source}":
        return change.sql
    return f"{change.sql} {'WHERE' if change.all_rows else 'AND'} {_LOOK}()"


def _read(
    connection: sqlite3.Connection, sql: str, values: tuple[Stored, ...], into: Spool, interrupts: Interrupts
) -> int:
    """Spool the rows of a query, and tell how wide they are."""
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
"""Whether the sqlite3 module takes ?1 for a name, and warns when it is given a sequence (measured on 3.12.1)."""


def numbered(sql: str, values: tuple[Stored, ...]) -> tuple[Stored, ...] | dict[str, Stored]:
    """*values* in the form that the sqlite3 module wants for the ``?N`` of *sql*, no more of them than it has."""
    wanted = values[: _highest_parameter(sql)]
    if _NUMBERS_ARE_NAMES:
        return {str(number): value for number, value in enumerate(wanted, 1)}
    return wanted


@lru_cache(maxsize=2048)
def _highest_parameter(sql: str) -> int:
    """How many values SQLite expects: the highest number of a ``?N`` outside quotes."""
    return max((int(number) for number in _PARAMETERS.findall(sql) if number), default=0)
