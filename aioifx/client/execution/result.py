"""Result of an execution, besides rows. Never: the reply that it came from."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from aioifx.errors import DatabaseError, Warning, visible
from aioifx.wire.completion import Done, Serials, ServerError, serial_of
from aioifx.wire.opcodes import StatementType


@dataclass(slots=True, unsafe_hash=True)  # not frozen: making one would cost ten times as much
class ExecuteResult:
    """Result of a statement.

    Attributes:
        rowcount: rows inserted, updated, deleted or returned; 0 for other statements.
        serial:   SERIAL, SERIAL8 or BIGSERIAL value of the last row inserted; None if the table has no such column.
        rowid:    ROWID of the last row, as sent by the server; 0 if not sent.
        warnings: the server's warnings, each with its sqlstate.
        errors:   for an executemany that collects errors: one for each failed row, with its row_index.
        serials:  for an executemany of a list or tuple: the serial value of each row, None for one that failed. Empty
            if no row has one, and for other iterables, whose rows are not kept in memory.
    """

    rowcount: int = 0
    serial: int | None = None
    rowid: int = 0
    warnings: tuple[Warning, ...] = ()
    errors: tuple[DatabaseError, ...] = ()
    serials: tuple[int | None, ...] = ()


# Bits of SQ_DONE's warnings (documented: sqlwarn1..7; wire.md 7.9, errors.md 12).
_WARNINGS: Final = (
    (0x01, "01004", "a value was truncated"),
    (0x02, "01003", "an aggregate ignored a NULL"),
    (0x04, "01I09", "the numbers of columns and of target variables differ"),
    (0x08, "01I07", "UPDATE or DELETE without WHERE"),
    (0x10, "01I06", "an extension to ANSI SQL was used"),
    (0x20, "01I11", "a fragment was skipped"),
)


def warnings_of(bits: int) -> tuple[Warning, ...]:
    """The warnings in an SQ_DONE."""
    if not bits:
        return ()
    return tuple(Warning(text, sqlstate) for bit, sqlstate, text in _WARNINGS if bits & bit)


DATABASE_TYPES: Final = frozenset(
    {StatementType.DATABASE, StatementType.CREATE_DATABASE, StatementType.CLOSE_DATABASE}
)
"""Their warning bits describe the database (OpenWarning) and are not warnings."""


_NO_DONE: Final = Done()

_INSERT: Final = int(StatementType.INSERT)


def result_of(
    kind: int,
    done: Done | None,
    serials: Serials | None = None,
    warnings: int = 0,
    *,
    warned: Collection[ServerError] = (),
    left_out: int = 0,
    rowcount: int | None = None,
    errors: tuple[DatabaseError, ...] = (),
    each_serial: tuple[int | None, ...] = (),
) -> ExecuteResult:
    """The result for the last SQ_DONE and SQ_INSERTDONE of an execution.

    Args:
        kind: the statement's type.
        warnings: bits from its preparation.
        warned: warnings of routines.
        left_out: how many more of these there were.
    """
    bits, rows, rowid, number = done or _NO_DONE  # unpacked at once: a field of a named tuple is slow to read
    serial: int | None = None
    if kind == _INSERT:
        serial = number or serial_of(0, serials) or None
    bits |= warnings
    warned_of = warnings_of(bits) if bits and kind not in DATABASE_TYPES else ()
    if warned:
        warned_of += tuple(Warning(visible(one.text or one.token), one.sqlstate) for one in warned)
    if left_out:
        warned_of += (Warning(f"{left_out} more warnings were left out"),)
    return ExecuteResult(
        rows if rowcount is None else rowcount, serial, rowid, warned_of, errors, each_serial
    )
