"""The tables of the database syscdcv1: their columns, and the rows that never change. Never: the sessions of a server.

Source: the tables are documented (CDC API Programmer's Guide, The syscdc system database); their columns are those of
the script that a server has for them (observed). assumed: the columns of syscdcpacketschemes
"""

from __future__ import annotations

from typing import Final

SYSCDC: Final = "syscdcv1"
"""The database of change data capture."""

ERRORS: Final = {
    0: ("CDC_E_OK", "The operation succeeded."),
    -83701: ("CDC_E_NOCDCDB", "There is no database syscdcv1."),
    -83702: ("CDC_E_APIVERS", "The version of the interface is not supported."),
    -83703: ("CDC_E_NODB", "The database does not exist."),
    -83704: ("CDC_E_DBNOTLOGGED", "The database is not logged."),
    -83705: ("CDC_E_NOTAB", "The table does not exist."),
    -83706: ("CDC_E_TABPROPERTIES", "The table cannot be captured: it is a view, temporary, or not logged."),
    -83707: ("CDC_E_NOCOL", "The column does not exist."),
    -83708: ("CDC_E_NOSESS", "The capture session does not exist."),
    -83709: ("CDC_E_NOREOPEN", "The capture session cannot be opened again."),
    -83710: ("CDC_E_TABCAPTURED", "The session already captures the table."),
    -83711: ("CDC_E_TABNOTCAPTURED", "The session does not capture the table."),
    -83712: ("CDC_E_ARGNULL", "An argument is NULL."),
    -83713: ("CDC_E_LSN", "There are no data at the log sequence number."),
    -83714: ("CDC_E_DIRECTION", "The direction differs from that of the session."),
    -83715: ("CDC_E_DUPLSESS", "A capture session is already active."),
    -83716: ("CDC_E_ARG", "An argument is invalid."),
    -83717: ("CDC_E_ARG1", "The first argument is invalid."),
    -83718: ("CDC_E_ARG2", "The second argument is invalid."),
    -83719: ("CDC_E_ARG3", "The third argument is invalid."),
    -83720: ("CDC_E_ARG4", "The fourth argument is invalid."),
    -83721: ("CDC_E_ARG5", "The fifth argument is invalid."),
    -83722: ("CDC_E_ARG6", "The sixth argument is invalid."),
    -83801: ("CDC_E_INTERNAL", "Internal error."),
    -83802: ("CDC_E_NOMEM", "There is no memory."),
}
"""By number: the names are documented; numbers down to -83714 are observed (14.10), the others are assumed."""

NUMBERS: Final = {name: number for number, (name, _) in ERRORS.items()}

RECORDS: Final = {
    1: ("CDC_REC_BEGINTX", "Begin transaction"),
    2: ("CDC_REC_COMMTX", "Commit transaction"),
    3: ("CDC_REC_RBTX", "Rollback transaction"),
    40: ("CDC_REC_INSERT", "Insert"),
    41: ("CDC_REC_DELETE", "Delete"),
    42: ("CDC_REC_UPDBEF", "Update before image"),
    43: ("CDC_REC_UPDAFT", "Update after image"),
    62: ("CDC_REC_DISCARD", "Discard"),
    119: ("CDC_REC_TRUNCATE", "Truncate table"),
    200: ("CDC_REC_TABSCHEM", "Table schema"),
    201: ("CDC_REC_TIMEOUT", "Read timeout"),
    202: ("CDC_REC_ERROR", "Error"),
}
"""By number: the names are observed (JDBC; 14.10 has CDC_REC_TABSCHEM, which fits its column), the texts assumed."""

_SCHEMES: Final = {66: ("CDC_PKTSCHEME_LRECBINARY", "Binary log records")}

COLUMNS: Final = {
    "syscdcvers": "majvers integer, minvers integer",
    "syscdcsess": "sessid integer, majvers integer, minvers integer, seqnum bigint, timeout integer,"
    " createtime bigint, flags integer, status integer, errcode integer, errutc bigint",
    "syscdctabs": "sessid integer, dbname varchar(128), tabname varchar(128), owner char(32), seqnum bigint,"
    " startutc bigint, userdata integer, fixedbytes integer, numfixed integer, fixedcols lvarchar(16000),"
    " numvar integer, varcols lvarchar(16000), flags integer, status integer",
    "syscdcrectypes": "recnum integer, recname varchar(16), recdesc varchar(127)",
    "syscdcpacketschemes": "schemenum integer, schemename varchar(32), schemedesc varchar(127)",
    # errname has 16 characters in the manual, which the longest names do not fit
    "syscdcerrcodes": "errcode integer, errname varchar(32), errdesc varchar(127)",
}


def _values(names: str, rows: list[tuple[int, str, str]]) -> str:
    columns = ", ".join(f"column{at} AS {name}" for at, name in enumerate(names.split(), start=1))
    texts = ", ".join(f"({number}, '{name}', '{text}')" for number, name, text in rows)
    return f"SELECT {columns} FROM (VALUES {texts})"


def _rows(known: dict[int, tuple[str, str]]) -> list[tuple[int, str, str]]:
    return [(number, name, text) for number, (name, text) in known.items()]


GENERATED: Final = {
    "syscdcvers": "SELECT 1 AS majvers, 1 AS minvers",
    "syscdcrectypes": _values("recnum recname recdesc", _rows(RECORDS)),
    "syscdcpacketschemes": _values("schemenum schemename schemedesc", _rows(_SCHEMES)),
    "syscdcerrcodes": _values("errcode errname errdesc", _rows(ERRORS)),
}
"""SQLite texts of the tables whose rows are always the same."""
