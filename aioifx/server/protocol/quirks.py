"""Names of the ways in which a server may differ from the embedded one, with their evidence. Never: behaviour.

Every quirk was seen in a server, is accepted by IBM's JDBC driver, or is documented; those that are assumed say why.
Differences whose layout is unknown, such as types without bit 2, are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from aioifx.errors import InterfaceError
from aioifx.server.engine import cdc_quirks


class Quirk(StrEnum):
    """A difference between an Informix server and the embedded server."""

    # -- closing -------------------------------------------------------------------------------------------------------

    ERROR_ON_CLOSE = "error-on-close"
    """CLOSE of a cursor that is not open is error -259 (documented for ANSI databases: Guide to SQL Syntax, CLOSE)."""
    ERROR_ON_RELEASE = "error-on-release"
    """RELEASE is error -404 after the cursor was closed with its last row, and releases the statement (assumed: FREE of
    a cursor that the server has freed is this error in ESQL/C; other clients do not survive it)."""
    NO_AUTOFREE = "no-autofree"
    """AUTOFREE is ignored: CLOSE leaves the statement prepared (assumed: servers before 7.24 do not have it)."""
    SILENT_EXIT = "silent-exit"
    """SQ_EXIT has no reply; the connection is closed (assumed: clients that close at once do not miss it)."""
    EXIT_BY_EOT = "exit-by-eot"
    """The reply to SQ_EXIT is SQ_EOT (observed: another client against 14.10 and 15)."""

    # -- fetching ------------------------------------------------------------------------------------------------------

    STANDARD_BLOCKS = "standard-blocks"
    """Fetches have 4,096 bytes, whatever the client asks for (documented: an invalid FET_BUF_SIZE is ignored)."""
    LARGE_BLOCKS = "large-blocks"
    """Fetches have at least 64 KiB, whatever the client asks for (assumed: FET_BUF_SIZE may be set for the server)."""
    ROW_BY_ROW = "row-by-row"
    """Each reply has one row (documented for ANSI databases; observed: JDBC accepts it)."""
    DONE_WITH_EACH_BLOCK = "done-with-each-block"
    """Rows that are not the last are followed by an SQ_DONE of 0 rows (observed: JDBC fetches on after it)."""
    COUNT_WITH_EACH_BLOCK = "count-with-each-block"
    """Rows that are not the last are followed by an SQ_DONE with the number of rows so far (assumed: another client
    expects it of 14.10 and 15; JDBC loses the rows after it)."""
    SEPARATE_END = "separate-end"
    """The last rows end without SQ_DONE; the next fetch has no rows (observed: clients that rely on it work with
    12.10, 14.10 and 15)."""
    ERROR_100 = "error-100"
    """The end of rows, and a change of no rows, is SQ_ERR 100 (observed: JDBC accepts it; documented: the SQLCODE in
    ANSI databases)."""
    NO_OPTOFC = "no-optofc"
    """OPTOFC is ignored: the cursor is open after its last row (documented as the default)."""
    ALWAYS_OPTOFC = "always-optofc"
    """The cursor is closed with its last row even without OPTOFC (observed: JDBC accepts it)."""
    DROPPED_VALUES = "dropped-values"
    """OPTOFC closes cursors with BYTE and TEXT as well, and their values end with them (assumed: the manual names no
    exception from the closing)."""
    SEPARATE_RET_TYPE = "separate-ret-type"
    """RET_TYPE in the group of OPEN is error -408 unless the group has BIND (assumed: no client sends it there)."""
    ROW_NUMBER_FIRST = "row-number-first"
    """In the reply to SQ_SFETCH, SQ_TUPID precedes the row, except for the last row (observed: 12.10, 14.10, 15)."""

    # -- changes -------------------------------------------------------------------------------------------------------

    NO_PUT = "no-put"
    """SQ_PUT is error -999 (assumed: only JDBC with IFX_USEPUT was seen to send it)."""

    # -- interrupts ----------------------------------------------------------------------------------------------------

    NO_INTERRUPTS = "no-interrupts"
    """The urgent byte is ignored (documented: sqlbreak does not end every statement)."""
    LATE_INTERRUPTS = "late-interrupts"
    """The urgent byte ends the statement after the one that it was sent for (observed: 14.10, a late byte)."""

    # -- completion ----------------------------------------------------------------------------------------------------

    NO_COST = "no-cost"
    """SQ_DONE without SQ_COST (observed: JDBC accepts it)."""
    NO_TRANSACTION_STATES = "no-transaction-states"
    """No SQ_XACTSTAT at all (observed: in databases without a log)."""
    TRANSACTION_STATES = "transaction-states"
    """Every completion in a logged database has an SQ_XACTSTAT, and so has SQ_EXIT (observed: DML and SQ_EXIT)."""
    TRANSACTION_STATE_FIRST = "transaction-state-first"
    """SQ_XACTSTAT precedes SQ_DONE (observed: BEGIN, COMMIT and ROLLBACK)."""
    WARNINGS = "warnings"
    """Each completion has the warning of an ANSI extension, 0x10 (documented: sqlwarn5, with DBANSIWARN)."""
    NULL_SERIALS = "null-serials"
    """SQ_INSERTDONE has NULLs if no value was generated (assumed: INT8 and BIGINT have a form for NULL)."""
    NO_SERIALS = "no-serials"
    """No SQ_INSERTDONE if no value was generated (assumed: its purpose is the value)."""
    UNDESCRIBED_COMMANDS = "undescribed-commands"
    """The reply to SQ_COMMAND has no SQ_DESCRIBE (observed: 14.10)."""
    NO_OWNERS = "no-owners"
    """Types are described without an owner (observed: JDBC then sends none)."""
    PING_BY_EOT = "ping-by-eot"
    """The reply to SQ_VERSION is SQ_EOT alone (observed: JDBC accepts it)."""

    # -- change data capture -------------------------------------------------------------------------------------------

    CDC_LITTLE_ENDIAN = cdc_quirks.LITTLE_ENDIAN
    """The sizes of variable columns are little-endian (observed: clients of GBase swap them)."""
    CDC_CUT_RECORDS = cdc_quirks.CUT_RECORDS
    """Reads end anywhere in a record, and have several (documented: 12.10.xC6)."""
    CDC_SEVERAL_RECORDS = cdc_quirks.SEVERAL_RECORDS
    """Reads have several records even if one was asked for (documented as possible otherwise)."""
    CDC_HELD_BACK = cdc_quirks.HELD_BACK
    """A read waits until it has as many records as the session allows, or for its timeout (observed: 14.10)."""
    CDC_LONG_HEADERS = cdc_quirks.LONG_HEADERS
    """Headers of records have four bytes more than are known (observed: JDBC accepts them)."""
    CDC_NUL_AFTER_COLUMNS = cdc_quirks.NUL_AFTER_COLUMNS
    """The list of columns ends with a NUL (observed: JDBC accepts it)."""
    CDC_DISCARDS = cdc_quirks.DISCARDS
    """What a savepoint undoes is sent, and then discarded (documented, with an example of 12.10)."""
    CDC_INTERLEAVED = cdc_quirks.INTERLEAVED
    """Records of transactions that are open at a time are mixed (documented: records have the order of the log)."""
    CDC_FOREIGN_ROWS = cdc_quirks.FOREIGN_ROWS
    """The first transaction has a row of another table (observed: 14.10, after a restart far back)."""
    CDC_DEAD_SESSION = cdc_quirks.DEAD_SESSION
    """After the first transaction the session only accepts cdc_closesess (documented: the ERROR record)."""
    CDC_INFORMIX_ONLY = cdc_quirks.INFORMIX_ONLY
    """Only the user informix can open a session (documented; observed: the error of others)."""

    # -- capabilities --------------------------------------------------------------------------------------------------

    NO_BIT_13 = "no-bit-13"
    """Variable VARCHAR; it switches nothing (observed: JDBC)."""
    NO_BIT_34 = "no-bit-34"
    """SQ_CIDESCRIBE is not announced, so clients do without it, or try (observed: JDBC sends it)."""
    NO_BIT_50 = "no-bit-50"
    """Long offsets; it switches nothing (observed: JDBC)."""
    NO_BIT_52 = "no-bit-52"
    """SQ_IDESCRIBE without a short after its count (observed: JDBC reads it so)."""
    NO_BIT_54 = "no-bit-54"
    """SQ_INSERTDONE without a BIGSERIAL (observed: JDBC reads it so)."""
    NO_BIT_56 = "no-bit-56"
    """No savepoints: SQ_SETSVPT and its like are error -999 (observed: JDBC does not send them)."""
    NO_BIT_62 = "no-bit-62"
    """Lengths of SQL text are shorts (observed: JDBC sends them so)."""
    NO_BIT_63 = "no-bit-63"
    """Large fetch buffers; it switches nothing (observed: JDBC)."""
    NO_BIT_69 = "no-bit-69"
    """The row size in SQ_DESCRIBE is a short (observed: 12.10 and 14.10)."""
    NO_BIT_70 = "no-bit-70"
    """Counts in SQ_DONE have four bytes, descriptors of BYTE and TEXT 56 (observed: 12.10 and 14.10)."""


def quirks_of(names: Iterable[str]) -> frozenset[Quirk]:
    """The quirks with these names.

    Raises:
        InterfaceError: not a set of names, or a name is unknown.
    """
    if isinstance(names, str) or not isinstance(names, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] # callers may be untyped
        raise InterfaceError(f"quirks: expected a set of names, got {type(names).__name__}")
    found: set[Quirk] = set()
    for name in names:
        try:
            found.add(Quirk(name))
        except ValueError:
            raise InterfaceError(f"quirks: expected one of {', '.join(Quirk)}, got {name!r:.40}") from None
    return frozenset(found)


_BIT: Final = "no-bit-"


def without_bits(mask: bytes, quirks: Iterable[Quirk]) -> bytes:
    """The mask without the capability bits that the quirks name."""
    left = bytearray(mask)
    for quirk in quirks:
        if quirk.startswith(_BIT):
            bit = int(quirk.removeprefix(_BIT))
            if bit // 8 < len(left):
                left[bit // 8] &= ~(0x80 >> bit % 8)
    return bytes(left)
