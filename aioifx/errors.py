"""PEP 249's exceptions, what Informix adds to them, SQLCODE and ISAM code -> class. Never: any other module of ours.

    Warning
    Error
    ├─ InterfaceError             a wrong call; raised before anything is sent
    │  └─ PoolClosed              the pool is closed, or is closing
    └─ DatabaseError              .sqlcode .isamcode .sqlstate .offset .token .sql .row_index
       ├─ OperationalError        network, login, locks, resources
       │  ├─ ConnectError         no session was opened
       │  │  ├─ AuthenticationError
       │  │  └─ LocaleError
       │  ├─ ConnectionLost       the session ended while in use
       │  ├─ QueryCanceled        SQLCODE -213
       │  ├─ QueryTimeout         longer than command_timeout; a TimeoutError, too
       │  ├─ PoolTimeout          no connection of a pool in time; a TimeoutError, too
       │  ├─ CdcError             change data capture refused a call, or ended; .code .name .text
       │  ├─ PushDataError        the server refuses or ends a session of push data
       │  └─ LockError            retryable
       │     ├─ RowLocked         another session has the lock, and this one does not wait
       │     ├─ LockTimeout       still locked after the time of SET LOCK MODE
       │     └─ Deadlock
       ├─ IntegrityError
       │  ├─ UniqueViolation
       │  ├─ ForeignKeyViolation
       │  ├─ NotNullViolation
       │  └─ CheckViolation
       ├─ DataError               a value does not fit, in the client or at the server
       ├─ ProgrammingError
       │  ├─ SQLSyntaxError
       │  ├─ UndefinedTable
       │  ├─ UndefinedColumn
       │  ├─ UndefinedRoutine
       │  └─ PermissionDenied
       ├─ InternalError
       │  └─ ProtocolError        bytes that are not SQLI; always closes the connection
       └─ NotSupportedError

Invariants:
1. The SQLCODE says what failed, and the ISAM code why. The ISAM code is used first.
2. An unknown code is a plain DatabaseError, never a guess.
3. No message, note, repr or field holds a parameter's value or a password; `sql` and the note are the statement's
   own text, with its placeholders. A DataError names the one character that is not in a code set.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple


class Warning(Exception):  # the name is PEP 249's
    """A warning of the server about a statement that succeeded; never raised.

    `ExecuteResult` has the warnings of its statement: the server's own, and the warnings of routines in C. Warnings
    of queries are not kept.

    Attributes:
        sqlstate: five characters, class 01.
    """

    def __init__(self, message: str = "", sqlstate: str = "01000") -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


class Error(Exception):
    """The base class of all errors of this package."""


class InterfaceError(Error):
    """A call was wrong. Nothing was sent, and the connection is unchanged."""


class PoolClosed(InterfaceError):
    """The pool is closed, or is closing."""


class DatabaseError(Error):
    """An error of the server, or of the way to it.

    Attributes:
        sqlcode:    Informix's SQLCODE, negative; 0 if the error is not from a server.
        isamcode:   the ISAM code, which gives the reason; or 0.
        sqlstate:   five characters; derived from the codes, unless a routine in C gave one (-937).
        offset:     character position in the SQL text, from 1; 0 if the server gives none.
        token:      the name in the server's message: a table, a column, a constraint ("owner.name").
        sql:        the statement, if it is known.
        row_index:  which row of an executemany or load failed, from 0; otherwise None.
        parameter:  which parameter has a value that does not fit, from 1; otherwise None. With named= the message has
                    its name.
        constraint: the constraint in the server's message, without its owner; otherwise None.
        table:      the table in the server's message, without its owner; otherwise None.
        column:     the column in the server's message, or whose type a value does not fit; otherwise None.
        outcome_unknown: the request was sent and its reply was lost, so it may have taken effect. False if the outcome
                    is certain: nothing was sent, nothing was to change, or the transaction was rolled back.
        retryable:  the same transaction may succeed when it is run again; for a ConnectError, the same connect.
        connection_usable: False if the connection ended with this error. By default the class and the SQLCODE decide.
    """

    def __init__(
        self,
        message: str = "",
        *,
        sqlcode: int = 0,
        isamcode: int = 0,
        sqlstate: str = "",
        offset: int = 0,
        token: str = "",
        sql: str | None = None,
        row_index: int | None = None,
        parameter: int | None = None,
        column: str | None = None,
        connection_usable: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.sqlcode = sqlcode
        self.isamcode = isamcode
        self.sqlstate = sqlstate or sqlstate_of(sqlcode, isamcode)
        self.offset = offset
        self.token = token
        self.sql = sql
        self.row_index = row_index
        self.parameter = parameter
        self.constraint, self.table, self.column = _named_by(sqlcode, token) if token else (None, None, None)
        if column is not None:
            self.column = column
        if connection_usable is None:
            connection_usable = not ends_session(type(self), sqlcode)
        self.connection_usable = connection_usable
        self.outcome_unknown = sqlcode in _OUTCOME_UNKNOWN

    @property
    def retryable(self) -> bool:
        return is_retryable(self.sqlcode, self.isamcode)


class OperationalError(DatabaseError):
    """The operation failed for a reason outside the statement: network, login, locks, resources."""


class ConnectError(OperationalError):
    """No session was opened. *retryable* is True if the server could not be reached or did not answer in time."""

    def __init__(self, message: str = "", *, unreachable: bool = False, **codes: Any) -> None:
        super().__init__(message, **codes)
        self._unreachable = unreachable

    @property
    def retryable(self) -> bool:
        return self._unreachable or super().retryable


class AuthenticationError(ConnectError):
    """The server rejected the user, the password (SQLCODE -951, -952 and similar) or an answer to a PAM challenge.

    Or a PAM challenge was not answered.
    """


class LocaleError(ConnectError):
    """The server has no conversion between the client's locale and the database's (SQLCODE -23197 and similar).

    Or *db_locale* is not the database's locale.
    """


class ConnectionLost(OperationalError):
    """The session ended during the call, or before it. Every later call on the connection raises it."""


class QueryCanceled(OperationalError):
    """The statement was interrupted on a client's request (SQLCODE -213)."""


class QueryTimeout(OperationalError, TimeoutError):
    """The reply did not arrive within the call's timeout. It is a `TimeoutError`, too."""


class PoolTimeout(OperationalError, TimeoutError):
    """No connection was free in time, too many tasks are waiting, or the server cannot be reached; see ``__cause__``.

    Nothing was sent. It is a `TimeoutError`, too.
    """


class CdcError(OperationalError):
    """Change data capture refused a call, or ended.

    Attributes:
        code: the server's number, negative; 0 if the client found the reason.
        name: the server's name of it, such as ``CDC_E_LSN``; empty for code 0.
        text: what it says.
    """

    def __init__(self, message: str = "", *, code: int = 0, name: str = "", text: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.name = name
        self.text = text or message


class PushDataError(OperationalError):
    """The server refused a session of push data or a query, ended it by an error, or has discarded events."""


class LockError(OperationalError):
    """Another session has a lock that this statement needs. *retryable* is True if the codes say so."""


class RowLocked(LockError):
    """The row or table is locked and this session does not wait (ISAM -106, -107, -113, -144; SQLCODE -233, -289)."""


class LockTimeout(LockError):
    """The lock was not free within the time of SET LOCK MODE TO WAIT (ISAM -154)."""


class Deadlock(LockError):
    """Two sessions wait for each other (ISAM -143)."""


class IntegrityError(DatabaseError):
    """A constraint is violated."""


class UniqueViolation(IntegrityError):
    """A unique index, unique constraint or primary key already has the value.

    SQLCODE -239, -268, -371; ISAM -100.
    """


class ForeignKeyViolation(IntegrityError):
    """The parent row is missing (-691) or still referenced (-692)."""


class NotNullViolation(IntegrityError):
    """NULL for a column that is NOT NULL (SQLCODE -391, -292, -703)."""


class CheckViolation(IntegrityError):
    """A check constraint is violated (SQLCODE -530)."""


class DataError(DatabaseError):
    """A value does not fit its type. In an error of the client, *sqlcode* is 0 and the message names the parameter."""


class ProgrammingError(DatabaseError):
    """The statement is wrong."""


class SQLSyntaxError(ProgrammingError):
    """The statement's text is not valid SQL (SQLCODE -201 and similar)."""


class UndefinedTable(ProgrammingError):
    """No such table, view or synonym (SQLCODE -206)."""


class UndefinedColumn(ProgrammingError):
    """No such column (SQLCODE -217)."""


class UndefinedRoutine(ProgrammingError):
    """No such routine, or none for these arguments (SQLCODE -674)."""


class PermissionDenied(ProgrammingError):
    """The user lacks a privilege (SQLCODE -272 to -275 and similar)."""


class InternalError(DatabaseError):
    """A defect of the server, or of this client."""


class ProtocolError(InternalError):
    """Bytes that are not SQLI. The connection can no longer be trusted, and is closed.

    Attributes:
        tag:      number of the message that could not be read; None outside a message.
        position: bytes that the connection had received before that message; None outside a message.
        data:     up to 256 bytes of it, in hexadecimal; of a message that came in several parts, the last of them.
                  Without *trace_values*, all but the tag and zeros are "..".
    """

    tag: int | None = None
    position: int | None = None
    data: str = ""


class NotSupportedError(DatabaseError):
    """This server or database cannot do it, or aioifx cannot yet. From the embedded server: SQLCODE -999."""


# Tracebacks and pickles name the public path, also where only a part of the package is imported.
def _show_public_paths() -> None:
    for definition in globals().values():
        if isinstance(definition, type) and issubclass(definition, Exception):
            definition.__module__ = "aioifx"


_show_public_paths()


class Rule(NamedTuple):
    """What is known of a code. Cause and remedy are in `explain`, which is loaded only to explain."""

    error: type[DatabaseError]
    sqlstate: str
    meaning: str  # own words; "{}" is where the server's token goes
    retryable: bool = False
    vague: bool = False  # says only that it failed; a known ISAM code decides
    ends_session: bool = False  # although the class does not say so


class Reason(NamedTuple):
    """What is known of an ISAM code, the reason for an SQLCODE."""

    meaning: str
    error: type[DatabaseError] | None = None  # None: the SQLCODE decides
    sqlstate: str = ""
    retryable: bool = False


# ISAM codes. Numbers and their sense: the vendor's list of error messages; -100, -111, -154 and -157 were seen
# from real servers.
ISAM_CODES: Final[dict[int, Reason]] = {
    -100: Reason("duplicate key", UniqueViolation, "23000"),
    -101: Reason("file is not open", InternalError, "IX000"),
    -102: Reason("illegal argument inside the storage layer", InternalError, "IX000"),
    -103: Reason("index key has too many parts or is too long"),
    -104: Reason("too many files open", OperationalError, "IX000"),
    -105: Reason("damaged storage", InternalError, "IX000"),
    -106: Reason("exclusive access is needed", RowLocked, "40001", retryable=True),
    -107: Reason("record is locked", RowLocked, "40001", retryable=True),
    -108: Reason("index already exists", ProgrammingError, "42S11"),
    -109: Reason("key is the primary key"),
    -110: Reason("beginning or end of the table"),
    -111: Reason("no such record"),
    -112: Reason("no current record"),
    -113: Reason("table is locked", RowLocked, "40001", retryable=True),
    -114: Reason("file name is too long"),
    -115: Reason("lock file could not be created", OperationalError, "IX000"),
    -116: Reason("no memory in the storage layer", OperationalError, "53200"),
    -118: Reason("log record cannot be read", OperationalError, "IX000"),
    -119: Reason("log record is damaged", InternalError, "IX000"),
    -120: Reason("log file cannot be opened", OperationalError, "IX000"),
    -121: Reason("log record cannot be written", OperationalError, "IX000"),
    -122: Reason("database has no transactions"),
    -123: Reason("shared memory is missing", OperationalError, "IX000"),
    -124: Reason("no transaction has begun"),
    -126: Reason("row identifier is invalid"),
    -127: Reason("no primary key"),
    -128: Reason("no logging"),
    -129: Reason("too many users", OperationalError, "IX000"),
    -130: Reason("no such dbspace"),
    -131: Reason("disk full", OperationalError, "53100"),
    -132: Reason("row is too long"),
    -134: Reason("no more locks", OperationalError, "53000"),
    -135: Reason("storage of the table does not exist"),
    -136: Reason("no more extents", OperationalError, "53100"),
    -140: Reason("not allowed on a secondary server", OperationalError, "IX000"),
    -143: Reason("deadlock", Deadlock, "40001", retryable=True),
    -144: Reason("key value is locked", RowLocked, "40001", retryable=True),
    -149: Reason("the server's daemon is gone", OperationalError, "IX000"),
    -154: Reason("lock was not free in time", LockTimeout, "40001", retryable=True),
    -155: Reason("chunk and its mirror are bad", InternalError, "IX000"),
    -157: Reason("interrupted", QueryCanceled, "57014"),
    -158: Reason("not allowed on a table of the monitoring interface"),
    -162: Reason("no such blobspace"),
    -166: Reason("blobspace is full", OperationalError, "53100"),
    -168: Reason("an archive blocks the blobspace", OperationalError, "IX000"),
    -171: Reason("format of the table has changed"),
    -172: Reason("internal error of the storage layer", InternalError, "IX000"),
    -178: Reason("a change of the database's log mode is pending", OperationalError, "IX000"),
    -179: Reason("no disk space for sorting", OperationalError, "53100"),
    -186: Reason("an index is being built or dropped online", OperationalError, "IX000"),
    -187: Reason("user-defined routine failed"),
    -190: Reason("too many transactions", OperationalError, "IX000"),
    -196: Reason("not allowed in a temporary dbspace"),
    -197: Reason("table was loaded without logging and needs an archive first", OperationalError, "IX000"),
    -198: Reason("too many alterations of the table are pending", OperationalError, "IX000"),
    -199: Reason("dbspace is full", OperationalError, "53100"),
    -7350: Reason("row has changed since it was read", OperationalError, "IX000"),
    -7351: Reason("secondary server has lost its primary", OperationalError, "IX000"),
    -7352: Reason("not allowed on a secondary server of this kind", OperationalError, "IX000"),
    -12031: Reason("sbspace is full", OperationalError, "53100"),
    -12037: Reason("position in the smart large object is invalid"),
    -12048: Reason("smart large object was deleted, probably"),
    -12051: Reason("smart large object is not open for reading"),
    -12052: Reason("smart large object is not open for writing"),
    -12092: Reason("sbspace is down", OperationalError, "IX000"),
    -12097: Reason("address of the smart large object is bad"),
    -12204: Reason("long transaction"),
}

# SQLCODE -> class, SQLSTATE, meaning in our own words. Numbers and their sense: the vendor's list of error
# messages. SQLSTATE: the published class list, IX000 where ANSI has nothing.
SQLCODES: Final[dict[int, Rule]] = {
    # Integrity
    -239: Rule(UniqueViolation, "23000", "duplicate value in a column with a unique index"),
    -268: Rule(UniqueViolation, "23000", "unique constraint {} is violated"),
    -271: Rule(DatabaseError, "IX000", "row could not be inserted into table {}", vague=True),
    -292: Rule(NotNullViolation, "23000", "column {} has no value and is NOT NULL"),
    -346: Rule(DatabaseError, "IX000", "row of table {} could not be updated", vague=True),
    -371: Rule(UniqueViolation, "23000", "unique index on duplicate values"),
    -386: Rule(NotNullViolation, "23000", "column contains NULLs"),
    -391: Rule(NotNullViolation, "23000", "column {} cannot be NULL"),
    -525: Rule(ForeignKeyViolation, "23000", "existing rows break referential constraint {}"),
    -530: Rule(CheckViolation, "23000", "check constraint {} is violated"),
    -540: Rule(IntegrityError, "23000", "constraint check failed while writing"),
    -691: Rule(ForeignKeyViolation, "23000", "no parent row for referential constraint {}"),
    -692: Rule(ForeignKeyViolation, "23000", "row is still referenced by constraint {}"),
    -703: Rule(NotNullViolation, "23000", "primary key of table {} has a NULL"),
    -9978: Rule(NotNullViolation, "23000", "an element of a collection cannot be NULL"),  # assumed
    -772: Rule(IntegrityError, "23000", "row belongs to no fragment of its table or index"),
    -896: Rule(
        IntegrityError, "IX000", "row violates an object in FILTERING mode; no violations table for {}"
    ),
    -899: Rule(IntegrityError, "IX000", "statement has more violations than MAX ROWS"),
    -971: Rule(IntegrityError, "23000", "constraint or index violations found"),
    # The text of the statement
    -201: Rule(SQLSyntaxError, "42000", "syntax error"),
    -202: Rule(SQLSyntaxError, "42000", "illegal character in the statement"),
    -203: Rule(SQLSyntaxError, "42000", "illegal integer in the statement"),
    -204: Rule(SQLSyntaxError, "42000", "illegal floating-point number in the statement"),
    -280: Rule(SQLSyntaxError, "42000", "quoted string is too long"),
    -282: Rule(SQLSyntaxError, "42000", "quote is not closed"),
    -283: Rule(SQLSyntaxError, "42000", "comment in braces is not closed"),
    -460: Rule(ProgrammingError, "54000", "statement is too long"),
    -543: Rule(ProgrammingError, "22019", "ESCAPE requires a single character"),
    -554: Rule(NotSupportedError, "0A000", "syntax is not supported by this server"),
    -555: Rule(ProgrammingError, "42000", "not allowed in a multi-statement text"),
    -943: Rule(SQLSyntaxError, "42000", "comment is not closed"),
    -944: Rule(ProgrammingError, "42000", "FIRST, LIMIT or SKIP is not allowed here"),
    # Names
    -200: Rule(ProgrammingError, "42000", "identifier exceeds the maximum length"),
    -206: Rule(UndefinedTable, "42S02", "table {} does not exist"),
    -217: Rule(UndefinedColumn, "42S22", "column {} does not exist in any table of the query"),
    -218: Rule(UndefinedTable, "42S02", "synonym {} does not exist"),
    -223: Rule(ProgrammingError, "42000", "table {} appears twice in FROM"),
    -253: Rule(ProgrammingError, "42000", "identifier is too long"),
    -310: Rule(ProgrammingError, "42S01", "table {} already exists"),
    -316: Rule(ProgrammingError, "42S11", "index {} already exists"),
    -319: Rule(ProgrammingError, "42S12", "index {} does not exist"),
    -324: Rule(ProgrammingError, "42000", "column {} is ambiguous"),
    -328: Rule(ProgrammingError, "42S21", "column {} already exists"),
    -350: Rule(ProgrammingError, "42S11", "these columns are already indexed"),
    -352: Rule(UndefinedColumn, "42S22", "column {} does not exist"),
    -354: Rule(ProgrammingError, "42000", "invalid name of a database or cursor: {}"),
    -390: Rule(ProgrammingError, "42S01", "{} already exists as a table or synonym"),
    -394: Rule(UndefinedTable, "42S02", "view {} does not exist"),
    -518: Rule(ProgrammingError, "42000", "referential constraint {} does not exist"),
    -522: Rule(UndefinedTable, "42000", "table {} is not in the query"),
    -537: Rule(UndefinedColumn, "42S22", "column {} of the constraint does not exist in the table"),
    -549: Rule(UndefinedColumn, "42S22", "column {} of the unique constraint does not exist in the table"),
    -623: Rule(ProgrammingError, "42000", "constraint {} does not exist"),
    -625: Rule(ProgrammingError, "42000", "constraint {} already exists"),
    -673: Rule(ProgrammingError, "42000", "routine {} already exists"),
    -674: Rule(UndefinedRoutine, "42000", "routine {} cannot be resolved"),
    -743: Rule(ProgrammingError, "42S01", "{} already exists"),
    -894: Rule(ProgrammingError, "42000", "object {} does not exist"),
    -909: Rule(ProgrammingError, "42000", "database name is malformed"),
    -958: Rule(ProgrammingError, "42S01", "temporary table {} already exists"),
    -8300: Rule(ProgrammingError, "42704", "sequence {} does not exist"),
    -8301: Rule(ProgrammingError, "42710", "sequence {} already exists"),
    -9628: Rule(ProgrammingError, "42704", "type {} does not exist"),
    -9631: Rule(ProgrammingError, "42710", "type {} already exists"),
    -9700: Rule(ProgrammingError, "42725", "routine {} is ambiguous"),
    -9992: Rule(ProgrammingError, "42704", "named row type {} does not exist"),
    -19804: Rule(ProgrammingError, "42704", "role does not exist"),
    # Queries
    -205: Rule(ProgrammingError, "42000", "ROWID of a view that is not a simple table"),
    -219: Rule(ProgrammingError, "42000", "LIKE or MATCHES on a type without pattern matching"),
    -249: Rule(ProgrammingError, "42000", "virtual column needs a name"),
    -251: Rule(ProgrammingError, "42000", "ORDER BY or GROUP BY position is out of range"),
    -254: Rule(ProgrammingError, "07001", "wrong number of parameters"),
    -284: Rule(DataError, "21000", "subquery returned more than one row"),
    -293: Rule(ProgrammingError, "42000", "IS NULL requires a column"),
    -294: Rule(ProgrammingError, "42000", "column {} must be in GROUP BY"),
    -300: Rule(ProgrammingError, "42000", "too many GROUP BY columns"),
    -301: Rule(ProgrammingError, "42000", "GROUP BY columns are too long in total"),
    -303: Rule(ProgrammingError, "42000", "columns and aggregates are mixed"),
    -304: Rule(ProgrammingError, "42000", "HAVING names a column that is not in GROUP BY"),
    -305: Rule(ProgrammingError, "42000", "subscript on column {}, which is not text"),
    -306: Rule(ProgrammingError, "42000", "subscript is out of range"),
    -307: Rule(ProgrammingError, "42000", "subscript is malformed"),
    -308: Rule(ProgrammingError, "42000", "types of UNION parts are incompatible"),
    -309: Rule(ProgrammingError, "42000", "ORDER BY column {} must be in the select list"),
    -317: Rule(ProgrammingError, "42000", "UNION parts have different numbers of columns"),
    -321: Rule(ProgrammingError, "42000", "GROUP BY contains an aggregate"),
    -360: Rule(ProgrammingError, "42000", "target table is also read in a subquery"),
    -367: Rule(ProgrammingError, "42000", "SUM or AVG of text"),
    -374: Rule(ProgrammingError, "42000", "ORDER BY of a UNION allows only positions"),
    -393: Rule(ProgrammingError, "42000", "both sides of an outer join are optional"),
    -395: Rule(ProgrammingError, "42000", "an outer join requires a join condition"),
    -396: Rule(ProgrammingError, "42000", "a nested outer join is joined from the wrong side"),
    -544: Rule(ProgrammingError, "42000", "aggregate inside an aggregate"),
    -561: Rule(ProgrammingError, "42000", "SUM or AVG of DATETIME values"),
    -574: Rule(ProgrammingError, "42000", "subquery returns more than one column"),
    -575: Rule(ProgrammingError, "42000", "LENGTH of a value that is not text"),
    -595: Rule(ProgrammingError, "42000", "aggregate is not allowed here"),
    -664: Rule(ProgrammingError, "42000", "wrong number of arguments for {}"),
    -717: Rule(ProgrammingError, "42000", "invalid argument for {}"),
    -726: Rule(ProgrammingError, "42000", "first argument of DBINFO must be a quoted string"),
    -727: Rule(ProgrammingError, "42000", "invalid tblspace number for DBINFO"),
    -728: Rule(ProgrammingError, "42000", "unknown argument for DBINFO"),
    -800: Rule(ProgrammingError, "42000", "types of CASE branches are incompatible"),
    -879: Rule(ProgrammingError, "22027", "TRIM requires a single character"),
    -880: Rule(ProgrammingError, "42000", "TRIM accepts only text"),
    -946: Rule(ProgrammingError, "42000", "UPPER, LOWER and INITCAP accept only text"),
    -9634: Rule(ProgrammingError, "42846", "no cast from {}"),
    -9635: Rule(ProgrammingError, "42846", "no cast function from this opaque type"),
    -9643: Rule(ProgrammingError, "42000", "type {} cannot be hashed"),
    -9644: Rule(ProgrammingError, "42000", "type {} has no equality function"),
    -9650: Rule(ProgrammingError, "42000", "right side of IN is not a collection"),  # assumed
    -9926: Rule(ProgrammingError, "42000", "ORDER BY, DISTINCT, UNION, an index or a key on a row type"),
    -9877: Rule(ProgrammingError, "42000", "NULL in a row or collection requires a cast"),
    # INSERT, UPDATE, DELETE
    -228: Rule(ProgrammingError, "42000", "{} cannot be written by INSERT or UPDATE"),
    -232: Rule(ProgrammingError, "42000", "serial column {} cannot be updated"),
    -234: Rule(ProgrammingError, "42000", "virtual column {} cannot be assigned a value"),
    -236: Rule(ProgrammingError, "21S01", "number of columns and number of values differ"),
    -277: Rule(ProgrammingError, "42000", "table {} is not the table of the cursor"),
    -364: Rule(ProgrammingError, "42000", "column {} is not in FOR UPDATE OF"),
    -384: Rule(ProgrammingError, "42000", "view is not updatable"),
    -505: Rule(ProgrammingError, "21S01", "number of columns and number of values in UPDATE differ"),
    -511: Rule(ProgrammingError, "42000", "a system catalog table cannot be modified"),
    -519: Rule(DataError, "22000", "column cannot be updated to this value"),
    -681: Rule(ProgrammingError, "42000", "column {} is named twice"),
    -9632: Rule(ProgrammingError, "42846", "type of the value does not match column {}"),
    # Definitions
    -207: Rule(ProgrammingError, "42000", "SELECT INTO and FOR UPDATE are mutually exclusive"),
    -227: Rule(ProgrammingError, "42000", "definition of {} cannot be changed"),
    -235: Rule(ProgrammingError, "42000", "character column is too long"),
    -269: Rule(ProgrammingError, "42000", "new column {} cannot be NULL and existing rows have no value"),
    -281: Rule(OperationalError, "IX000", "temporary table could not be indexed", vague=True),
    -286: Rule(ProgrammingError, "42000", "primary key column has NULL as default"),
    -287: Rule(ProgrammingError, "42000", "serial column {} cannot be added"),
    -295: Rule(ProgrammingError, "42000", "a referential constraint cannot cross databases"),
    -296: Rule(UndefinedTable, "42S02", "referenced table {} is not available"),
    -297: Rule(
        ProgrammingError, "42000", "the referenced table has no unique or primary key on these columns"
    ),
    -314: Rule(OperationalError, "IX000", "table {} is in use"),
    -322: Rule(ProgrammingError, "42000", "{} is a view, which cannot be altered or renamed"),
    -326: Rule(ProgrammingError, "42000", "referential constraint has too many columns"),
    -330: Rule(ProgrammingError, "42000", "database cannot be created"),
    -337: Rule(ProgrammingError, "42000", "no view on temporary table {}"),
    -356: Rule(ProgrammingError, "42000", "types of referencing and referenced columns differ"),
    -357: Rule(ProgrammingError, "42000", "a table of view {} was altered"),
    -359: Rule(ProgrammingError, "42000", "the open database cannot be dropped"),
    -361: Rule(ProgrammingError, "42000", "column is too long"),
    -362: Rule(ProgrammingError, "42000", "table has more than one serial column"),
    -366: Rule(ProgrammingError, "42000", "scale is larger than precision"),
    -370: Rule(ProgrammingError, "42000", "the last column cannot be dropped"),
    -382: Rule(ProgrammingError, "42000", "view and SELECT have different numbers of columns"),
    -383: Rule(ProgrammingError, "42000", "view requires names for its columns"),
    -500: Rule(ProgrammingError, "42S11", "table already has a clustered index: {}"),
    -508: Rule(ProgrammingError, "42000", "a temporary table cannot be renamed"),
    -509: Rule(ProgrammingError, "42000", "a column of a temporary table cannot be renamed"),
    -510: Rule(ProgrammingError, "42000", "no synonym for temporary table {}"),
    -517: Rule(ProgrammingError, "54000", "index is too long or has too many parts"),
    -531: Rule(ProgrammingError, "42000", "column {} is named twice in the view"),
    -532: Rule(ProgrammingError, "42000", "temporary table {} cannot be altered"),
    -533: Rule(ProgrammingError, "42000", "extent size is too small"),
    -536: Rule(ProgrammingError, "42000", "constraint and referenced key have different numbers of columns"),
    -542: Rule(ProgrammingError, "42000", "column is named twice in a constraint, trigger or index"),
    -546: Rule(ProgrammingError, "42000", "view {} cannot have parameters"),
    -548: Rule(ProgrammingError, "42000", "no foreign keys or triggers on temporary tables"),
    -550: Rule(ProgrammingError, "54000", "columns of the constraint are too long in total"),
    -551: Rule(ProgrammingError, "23000", "constraint has too many columns"),
    -559: Rule(ProgrammingError, "42000", "no synonym for a synonym"),
    -576: Rule(ProgrammingError, "42000", "no constraint names on temporary tables"),
    -577: Rule(ProgrammingError, "42S11", "these columns already have a constraint of this kind"),
    -584: Rule(ProgrammingError, "42000", "a system catalog table cannot be renamed"),
    -591: Rule(ProgrammingError, "42000", "default of column {} does not match its type"),
    -592: Rule(ProgrammingError, "42000", "NOT NULL column has NULL as default"),
    -593: Rule(ProgrammingError, "42000", "serial column cannot have a default"),
    -634: Rule(ProgrammingError, "42000", "the object does not exist"),
    -650: Rule(ProgrammingError, "42000", "VARCHAR is too long"),
    -651: Rule(ProgrammingError, "42000", "VARCHAR reserves more than its maximum size"),
    -676: Rule(ProgrammingError, "42000", "check constraint names a column that is not allowed"),
    -677: Rule(ProgrammingError, "42000", "check constraint contains a subquery or routine"),
    -704: Rule(ProgrammingError, "42000", "table already has a primary key"),
    -729: Rule(ProgrammingError, "42000", "trigger has no action"),
    -730: Rule(ProgrammingError, "42000", "REFERENCING in a trigger without FOR EACH ROW"),
    -732: Rule(ProgrammingError, "42000", "old or new value of a trigger is not available here"),
    -734: Rule(ProgrammingError, "42000", "correlation name of a trigger is the name of another object"),
    -741: Rule(ProgrammingError, "42000", "trigger for the same event already exists"),
    -742: Rule(ProgrammingError, "42000", "trigger and cascading constraint are mutually exclusive"),
    -785: Rule(ProgrammingError, "42000", "column is used for fragmentation and cannot be dropped"),
    -886: Rule(ProgrammingError, "42000", "other objects depend on the table or view"),
    -893: Rule(ProgrammingError, "42000", "object {} depends on a disabled object"),
    -895: Rule(ProgrammingError, "IX000", "violations tables for {} cannot be created"),
    -897: Rule(ProgrammingError, "IX000", "violations or diagnostics table cannot be changed or dropped"),
    -898: Rule(ProgrammingError, "IX000", "columns of a table with violations tables cannot be altered"),
    -948: Rule(ProgrammingError, "42000", "the index of a constraint cannot be renamed"),
    -972: Rule(OperationalError, "IX000", "table {} could not be altered", vague=True),
    -973: Rule(ProgrammingError, "IX000", "rows of a violations table cannot be inserted into its own table"),
    -974: Rule(ProgrammingError, "42000", "NOT NULL cannot be dropped from a serial column"),
    -8302: Rule(ProgrammingError, "42000", "invalid value in the definition of a sequence"),
    -8304: Rule(ProgrammingError, "42000", "MAXVALUE is less than MINVALUE"),
    -8305: Rule(ProgrammingError, "42000", "INCREMENT of a sequence is 0"),
    -9604: Rule(ProgrammingError, "42000", "no index on a collection"),
    -9630: Rule(ProgrammingError, "42846", "type {} is in use"),
    -9633: Rule(ProgrammingError, "42846", "no cast to the new type of column {}"),
    -9816: Rule(ProgrammingError, "42000", "no B-tree index on BLOB or CLOB"),
    -9820: Rule(ProgrammingError, "42000", "sbspace {} does not exist"),
    # What cannot be done here
    -440: Rule(NotSupportedError, "0A001", "transaction uses more than one foreign server"),
    -513: Rule(NotSupportedError, "0A000", "statement is not available on this server"),
    -527: Rule(NotSupportedError, "0A000", "lock mode is not available on this operating system"),
    -528: Rule(NotSupportedError, "54000", "row is longer than the server allows"),
    -568: Rule(NotSupportedError, "0A000", "a database with a log cannot access one without"),
    -569: Rule(NotSupportedError, "0A000", "a database without a log cannot access one with a log"),
    -570: Rule(NotSupportedError, "0A000", "an ANSI database cannot be accessed from this database"),
    -571: Rule(NotSupportedError, "0A000", "an ANSI database can access only other ANSI databases"),
    -589: Rule(NotSupportedError, "0A001", "several servers cannot be updated in one transaction"),
    -999: Rule(NotSupportedError, "0A000", "not implemented: {}"),
    # Permissions
    -272: Rule(PermissionDenied, "42501", "no SELECT privilege for {}"),
    -273: Rule(PermissionDenied, "42501", "no UPDATE privilege for {}"),
    -274: Rule(PermissionDenied, "42501", "no DELETE privilege for {}"),
    -275: Rule(PermissionDenied, "42501", "no INSERT privilege for {}"),
    -298: Rule(ProgrammingError, "42000", "PUBLIC cannot be given the grant option"),
    -299: Rule(ProgrammingError, "42000", "users cannot grant to themselves"),
    -302: Rule(PermissionDenied, "42501", "no permission to grant or revoke"),
    -313: Rule(PermissionDenied, "42501", "not the owner of {}"),
    -315: Rule(PermissionDenied, "42501", "no INDEX privilege"),
    -320: Rule(PermissionDenied, "42501", "not the owner of the index"),
    -323: Rule(ProgrammingError, "42000", "no privileges on temporary tables"),
    -388: Rule(PermissionDenied, "42501", "no RESOURCE privilege"),
    -389: Rule(PermissionDenied, "42501", "no DBA privilege"),
    -506: Rule(PermissionDenied, "42501", "no permission to update all of these columns"),
    -512: Rule(PermissionDenied, "42501", "no REFERENCES privilege on the referenced columns"),
    -514: Rule(PermissionDenied, "42501", "only a DBA can do this for another user"),
    -541: Rule(PermissionDenied, "42501", "no ALTER privilege"),
    -545: Rule(PermissionDenied, "42501", "table {} cannot be written"),
    -579: Rule(PermissionDenied, "42501", "not the owner of the synonym"),
    -580: Rule(PermissionDenied, "42501", "privilege cannot be revoked"),
    -706: Rule(PermissionDenied, "42501", "no EXECUTE privilege on routine {}"),
    -764: Rule(PermissionDenied, "42501", "only a DBA can update these statistics"),
    -887: Rule(ProgrammingError, "2B000", "other privileges or objects depend on the privilege"),
    -977: Rule(PermissionDenied, "42501", "no privilege on fragment {}"),
    -9629: Rule(PermissionDenied, "42501", "not the owner of the type"),
    -9997: Rule(PermissionDenied, "42501", "no USAGE privilege on type {}"),
    -19803: Rule(PermissionDenied, "42501", "only a DBA or the role's administrator can do this"),
    -19805: Rule(PermissionDenied, "42501", "the role was not granted to the user"),
    # Login
    -387: Rule(AuthenticationError, "28000", "no CONNECT privilege on the database"),
    -950: Rule(AuthenticationError, "28000", "user {} is unknown to the server"),
    -951: Rule(AuthenticationError, "28000", "incorrect user or password: {}"),
    -952: Rule(AuthenticationError, "28000", "incorrect password for user {}"),
    -956: Rule(AuthenticationError, "28000", "the server does not trust this host: {}"),
    -960: Rule(AuthenticationError, "28000", "rejected by a rule for local connections"),
    -25590: Rule(AuthenticationError, "28000", "authentication failed in the network layer"),
    # On the way to a session. Nothing has run yet, so another try does no harm where one may help.
    -761: Rule(ConnectError, "08001", "the server is not named {}"),
    -905: Rule(ConnectError, "08001", "unknown service"),
    -906: Rule(ConnectError, "08001", "server cannot be located"),
    -907: Rule(ConnectError, "08001", "socket could not be created", retryable=True),
    -908: Rule(ConnectError, "08004", "server {} cannot be reached", retryable=True),
    -930: Rule(ConnectError, "08004", "could not connect to server {}", retryable=True),
    -931: Rule(ConnectError, "08001", "service lookup failed: {}"),
    -932: Rule(ConnectError, "08001", "network call failed", retryable=True),
    -954: Rule(ConnectError, "08004", "client is unknown to the server"),
    -1809: Rule(ConnectError, "08004", "the server refused the connection"),
    -25571: Rule(ConnectError, "08004", "the server cannot accept another session", retryable=True),
    -25588: Rule(ConnectError, "08001", "the application cannot connect to server {}"),
    -25596: Rule(ConnectError, "08001", "server name is not in sqlhosts"),
    -25599: Rule(ConnectError, "08001", "no listener at the server's address", retryable=True),
    -27001: Rule(ConnectError, "08001", "read failed while connecting", retryable=True),
    -27002: Rule(ConnectError, "08004", "the server is in quiescent mode"),
    -27009: Rule(ConnectError, "08001", "no server of the group accepts connections"),
    -27010: Rule(ConnectError, "08004", "the server accepts only administrators"),
    # The session
    -329: Rule(ProgrammingError, "3D000", "database {} not found, or no permission to open it"),
    -349: Rule(ProgrammingError, "3D000", "no database is selected"),
    -358: Rule(ProgrammingError, "25000", "close the database first"),
    -377: Rule(OperationalError, "25000", "end the transaction before the database is closed"),
    -407: Rule(InternalError, "08S01", "the server reported error number zero", ends_session=True),
    -408: Rule(InternalError, "08S01", "the server received an invalid message", ends_session=True),
    -410: Rule(ProgrammingError, "26000", "statement is not prepared"),
    -425: Rule(OperationalError, "08004", "database is opened exclusively by another user", retryable=True),
    -439: Rule(ProgrammingError, "08000", "a statement is running on this connection"),
    -457: Rule(ConnectionLost, "08S01", "the server process ended"),
    -459: Rule(ConnectionLost, "08S01", "the server was shut down"),
    -702: Rule(OperationalError, "IX000", "database cannot be opened exclusively"),
    -759: Rule(OperationalError, "08000", "database statements are not allowed on this connection"),
    -911: Rule(ConnectionLost, "08S01", "pipe could not be read"),
    -912: Rule(ConnectionLost, "08S01", "network write failed"),
    -913: Rule(ConnectionLost, "08S01", "network read failed"),
    -914: Rule(ConnectionLost, "08S01", "pipe could not be written"),
    -917: Rule(ProgrammingError, "25000", "another database is open"),
    -929: Rule(InternalError, "08S01", "protocol error, the server ended the session", ends_session=True),
    -934: Rule(OperationalError, "08006", "connection between two servers is no longer valid"),
    -936: Rule(OperationalError, "08006", "connection between two servers failed: {}"),
    -955: Rule(ConnectionLost, "08S01", "the server could not read from the client"),
    -1800: Rule(OperationalError, "25000", "state of the transaction does not allow this"),
    -1801: Rule(OperationalError, "0A001", "transactions over several servers are not supported"),
    -1802: Rule(OperationalError, "08002", "connection name is already in use"),
    -1803: Rule(OperationalError, "08003", "connection does not exist"),
    -1805: Rule(OperationalError, "08000", "connection name is invalid"),
    -1806: Rule(OperationalError, "08006", "connection failed"),
    -1807: Rule(OperationalError, "08003", "no connection to close"),
    -11020: Rule(ConnectionLost, "08S01", "communication link failed"),
    -25580: Rule(ConnectionLost, "08S01", "network call failed at the server"),
    -25582: Rule(ConnectionLost, "08S01", "network connection is broken"),
    -25583: Rule(ConnectionLost, "08S01", "network failed for an unknown reason"),
    -25586: Rule(ConnectionLost, "08S01", "data could not be sent"),
    -25587: Rule(ConnectionLost, "08S01", "data could not be received"),
    # Locales
    -23101: Rule(LocaleError, "IX000", "locale cannot be loaded"),
    -23103: Rule(DataError, "22021", "code set conversion found an invalid sequence"),
    -23104: Rule(LocaleError, "IX000", "no code set conversion between the locales"),
    -23105: Rule(LocaleError, "IX000", "this server does not convert code sets"),
    -23109: Rule(LocaleError, "IX000", "locale name is invalid"),
    -23115: Rule(LocaleError, "IX000", "code sets of client and database are not convertible"),
    -23195: Rule(LocaleError, "IX000", "locale could not be reset"),
    -23196: Rule(LocaleError, "IX000", "locale of the database is unknown"),
    -23197: Rule(LocaleError, "IX000", "locale of the database does not match"),
    # Transactions, locks, cancellation
    -213: Rule(QueryCanceled, "57014", "statement was interrupted"),
    -220: Rule(OperationalError, "3B000", "savepoint could not be set"),
    -233: Rule(RowLocked, "40001", "record is locked by another user", retryable=True),
    -237: Rule(OperationalError, "25000", "transaction could not begin"),
    -238: Rule(OperationalError, "40003", "commit failed"),
    -240: Rule(OperationalError, "IX000", "row could not be deleted", vague=True),
    -241: Rule(OperationalError, "40003", "rollback failed"),
    -242: Rule(OperationalError, "IX000", "table {} could not be opened", vague=True),
    -243: Rule(OperationalError, "IX000", "could not position within table {}", vague=True),
    -244: Rule(OperationalError, "IX000", "could not read next row of table {}", vague=True),
    -245: Rule(OperationalError, "IX000", "could not position through an index of table {}", vague=True),
    -246: Rule(OperationalError, "IX000", "could not read next row through an index of table {}", vague=True),
    -248: Rule(OperationalError, "IX000", "savepoint could not be released", vague=True),
    -250: Rule(OperationalError, "IX000", "row could not be read for update", vague=True),
    -255: Rule(OperationalError, "25000", "not in a transaction"),
    -256: Rule(NotSupportedError, "25000", "the database has no transactions"),
    -263: Rule(OperationalError, "IX000", "row could not be locked for update", vague=True),
    -265: Rule(ProgrammingError, "25000", "insert cursor requires a transaction"),
    -278: Rule(OperationalError, "3B000", "rollback to the savepoint failed"),
    -288: Rule(ProgrammingError, "25000", "table {} is not locked by this session"),
    -289: Rule(RowLocked, "40001", "table {} could not be locked", retryable=True, vague=True),
    -291: Rule(OperationalError, "IX000", "lock mode could not be changed", vague=True),
    -327: Rule(ProgrammingError, "25000", "a table cannot be unlocked inside a transaction"),
    -347: Rule(OperationalError, "IX000", "table could not be opened exclusively", vague=True),
    -348: Rule(OperationalError, "IX000", "row could not be read from its table", vague=True),
    -378: Rule(RowLocked, "40001", "another user has the record locked", retryable=True),
    -398: Rule(ProgrammingError, "25000", "cursor requires a transaction"),
    -458: Rule(OperationalError, "40000", "transaction was too long and has been rolled back"),
    -503: Rule(OperationalError, "53000", "too many tables are locked"),
    -504: Rule(ProgrammingError, "42000", "a view cannot be locked"),
    -521: Rule(OperationalError, "IX000", "system catalog {} could not be locked", vague=True),
    -524: Rule(ProgrammingError, "25000", "LOCK TABLE requires a transaction"),
    -535: Rule(ProgrammingError, "25001", "already in a transaction"),
    -572: Rule(ProgrammingError, "42000", "lock wait is too long"),
    -573: Rule(ProgrammingError, "42000", "an ANSI database has no buffered log"),
    -582: Rule(NotSupportedError, "25000", "the database has no logging"),
    -698: Rule(OperationalError, "40003", "transaction ended differently on several servers: {}"),
    -699: Rule(OperationalError, "40000", "the server rolled back a part of a global transaction by itself"),
    -700: Rule(ProgrammingError, "25000", "not allowed in a global transaction"),
    -701: Rule(ProgrammingError, "25000", "not allowed under a transaction manager"),
    -710: Rule(
        OperationalError, "IX000", "table {} was altered; prepare the statement again", retryable=True
    ),
    -715: Rule(OperationalError, "25000", "transaction is in the wrong state"),
    -716: Rule(OperationalError, "40003", "transaction may have ended differently on several servers: {}"),
    -768: Rule(InternalError, "XX000", "internal error of the server"),
    -875: Rule(ProgrammingError, "25000", "access mode and isolation level are mutually exclusive"),
    -876: Rule(ProgrammingError, "25001", "SET TRANSACTION inside a transaction"),
    -877: Rule(ProgrammingError, "25001", "SET TRANSACTION twice"),
    -878: Rule(ProgrammingError, "25006", "write is not allowed in a read-only transaction"),
    -942: Rule(OperationalError, "40000", "commit failed, the transaction is rolled back"),
    -959: Rule(InternalError, "XX000", "internal error, transaction was rolled back"),
    # Cursors and statements
    -208: Rule(OperationalError, "53200", "the server is out of memory for the query"),
    -257: Rule(OperationalError, "IX000", "too many prepared statements"),
    -258: Rule(InternalError, "26000", "unknown statement id"),
    -259: Rule(ProgrammingError, "24000", "cursor is not open"),
    -260: Rule(InternalError, "07003", "a query was executed without a cursor"),
    -262: Rule(ProgrammingError, "24000", "no current cursor"),
    -266: Rule(ProgrammingError, "24000", "cursor has no current row"),
    -267: Rule(ProgrammingError, "24000", "cursor is closed, possibly by the end of a transaction"),
    -276: Rule(ProgrammingError, "34000", "no such cursor {}"),
    -285: Rule(InternalError, "24000", "the server received an invalid cursor"),
    -290: Rule(ProgrammingError, "24000", "cursor is not FOR UPDATE"),
    -363: Rule(ProgrammingError, "24000", "cursor requires a statement that returns rows"),
    -365: Rule(ProgrammingError, "42000", "FOR UPDATE needs a simple SELECT from one table"),
    -400: Rule(ProgrammingError, "24000", "fetch on a cursor that is not open"),
    -404: Rule(ProgrammingError, "24000", "cursor is not available"),
    -413: Rule(ProgrammingError, "24000", "insert on a cursor that is not open"),
    -422: Rule(ProgrammingError, "24000", "flush on a cursor that is not open"),
    -481: Rule(ProgrammingError, "26000", "prepared statement does not exist"),
    -482: Rule(ProgrammingError, "24000", "cursor is forward-only"),
    -507: Rule(ProgrammingError, "34000", "cursor {} not found"),
    -526: Rule(ProgrammingError, "42000", "a scroll cursor cannot be FOR UPDATE"),
    -538: Rule(ProgrammingError, "42000", "cursor {} is already declared"),
    -586: Rule(ProgrammingError, "24000", "cursor is already open"),
    -598: Rule(ProgrammingError, "34000", "invalid cursor name: {}"),
    -611: Rule(ProgrammingError, "42000", "a scroll cursor cannot read BYTE or TEXT"),
    -765: Rule(ProgrammingError, "42000", "statement of a cursor cannot be executed"),
    -890: Rule(ProgrammingError, "42000", "insert cursor requires INSERT with VALUES"),
    -938: Rule(ProgrammingError, "42000", "insert cursor cannot have expressions in VALUES"),
    -9605: Rule(ProgrammingError, "42000", "a scroll cursor cannot read collections"),
    # Data
    -385: Rule(DataError, "44000", "row is outside the view (WITH CHECK OPTION)"),
    -415: Rule(DataError, "22018", "data conversion error"),
    -605: Rule(DataError, "22000", "BYTE or TEXT value could not be written"),
    -608: Rule(DataError, "22000", "BYTE and TEXT do not convert into each other"),
    -609: Rule(DataError, "22000", "BYTE or TEXT parameter is not allowed here"),
    -619: Rule(DataError, "22000", "BYTE or TEXT value failed on the client"),
    -881: Rule(DataError, "22001", "result of a string function is too long"),
    -1200: Rule(DataError, "22003", "value is too large for DECIMAL"),
    -1201: Rule(DataError, "22003", "value is too small for DECIMAL"),
    -1202: Rule(DataError, "22012", "division by zero"),
    -1203: Rule(ProgrammingError, "42000", "MATCHES requires text"),
    -1204: Rule(DataError, "22007", "year of the date is invalid"),
    -1205: Rule(DataError, "22007", "month of the date is invalid"),
    -1206: Rule(DataError, "22007", "day of the date is invalid"),
    -1207: Rule(DataError, "22001", "converted value does not fit"),
    -1208: Rule(DataError, "42846", "value cannot be converted to text"),
    -1209: Rule(DataError, "22007", "text without separators is not a date"),
    -1210: Rule(DataError, "22007", "date cannot be converted"),
    -1212: Rule(DataError, "22007", "date format is invalid"),
    -1213: Rule(DataError, "22018", "text is not a number"),
    -1214: Rule(DataError, "22003", "value is too large for SMALLINT"),
    -1215: Rule(DataError, "22003", "value is too large for INTEGER"),
    -1216: Rule(DataError, "22018", "exponent is invalid"),
    -1217: Rule(DataError, "22001", "format is too long"),
    -1218: Rule(DataError, "22007", "text is not a date"),
    -1222: Rule(DataError, "22003", "value is too large for SMALLFLOAT"),
    -1223: Rule(DataError, "22003", "value is too large for FLOAT"),
    -1224: Rule(DataError, "22018", "decimal number is invalid"),
    -1226: Rule(DataError, "22003", "decimal has too many digits"),
    -1233: Rule(DataError, "22007", "hour, minute or second is invalid"),
    -1234: Rule(ProgrammingError, "42000", "function accepts only DATETIME"),
    -1260: Rule(DataError, "42846", "types cannot be converted"),
    -1261: Rule(DataError, "22007", "first field of DATETIME or INTERVAL has too many digits"),
    -1262: Rule(DataError, "22007", "DATETIME or INTERVAL text is not numeric"),
    -1263: Rule(DataError, "22007", "field of DATETIME or INTERVAL is out of range"),
    -1264: Rule(DataError, "22007", "extra characters after the DATETIME or INTERVAL"),
    -1265: Rule(DataError, "22008", "overflow in DATETIME or INTERVAL arithmetic"),
    -1266: Rule(ProgrammingError, "42000", "DATETIME and INTERVAL are incompatible"),
    -1267: Rule(DataError, "22008", "result of DATETIME arithmetic is out of range"),
    -1268: Rule(ProgrammingError, "42000", "DATETIME or INTERVAL qualifier is invalid"),
    -1270: Rule(DataError, "22007", "minus sign inside an INTERVAL"),
    -1271: Rule(DataError, "22007", "decimal point is missing in DATETIME or INTERVAL"),
    -1275: Rule(DataError, "22007", "width or precision in a DATETIME format is invalid"),
    -1276: Rule(DataError, "22007", "unknown letter in a DATETIME format"),
    -1277: Rule(DataError, "22007", "text does not match the format"),
    -1278: Rule(DataError, "22025", "escape sequence is invalid"),
    -1279: Rule(DataError, "22001", "text is longer than the column"),
    -1284: Rule(DataError, "22003", "value is too large for BIGINT or INT8"),
    -8313: Rule(DataError, "2200H", "sequence {} is past its MAXVALUE"),
    -8314: Rule(DataError, "2200H", "sequence {} is past its MINVALUE"),
    -8315: Rule(ProgrammingError, "55000", "CURRVAL of sequence {} is not defined in this session yet"),
    -9636: Rule(DataError, "22001", "value is too long for its opaque type"),
    -9648: Rule(DataError, "22018", "value is not a BOOLEAN"),
    -9652: Rule(DataError, "22018", "value is not a JSON object or BSON document"),  # assumed
    # BYTE, TEXT, smart large objects
    -594: Rule(ProgrammingError, "42000", "BYTE or TEXT with a default other than NULL"),
    -600: Rule(OperationalError, "IX000", "BYTE or TEXT value could not be created", vague=True),
    -602: Rule(OperationalError, "IX000", "BYTE or TEXT value could not be opened", vague=True),
    -603: Rule(OperationalError, "IX000", "BYTE or TEXT value could not be closed", vague=True),
    -604: Rule(OperationalError, "IX000", "BYTE or TEXT value could not be read", vague=True),
    -606: Rule(ProgrammingError, "42000", "blobspace does not exist"),
    -607: Rule(ProgrammingError, "42000", "invalid subscript on a BYTE or TEXT column"),
    -610: Rule(ProgrammingError, "42000", "no index on BYTE or TEXT"),
    -612: Rule(ProgrammingError, "42000", "BYTE or TEXT in GROUP BY"),
    -613: Rule(ProgrammingError, "42000", "BYTE or TEXT with DISTINCT"),
    -614: Rule(ProgrammingError, "42000", "BYTE or TEXT in ORDER BY"),
    -615: Rule(ProgrammingError, "42000", "BYTE or TEXT in an expression"),
    -616: Rule(ProgrammingError, "42000", "BYTE or TEXT subscript is not allowed here"),
    -617: Rule(ProgrammingError, "42000", "a BYTE or TEXT value is required here"),
    -618: Rule(OperationalError, "IX000", "BYTE or TEXT value could not be copied", vague=True),
    -9810: Rule(OperationalError, "IX000", "smart large object error"),
    -9811: Rule(ProgrammingError, "IX000", "descriptor of the smart large object is invalid"),
    -9814: Rule(OperationalError, "IX000", "no default sbspace: {}"),
    -9822: Rule(OperationalError, "IX000", "smart large object could not be deleted"),
    # Routines and triggers
    -647: Rule(DataError, "22000", "mathematical function {} failed"),
    -655: Rule(DatabaseError, "21000", "routine returned the wrong number of values"),
    -656: Rule(ProgrammingError, "42000", "RETURN in a routine that declares no values"),
    -657: Rule(ProgrammingError, "42000", "a routine cannot create a routine or trigger"),
    -658: Rule(ProgrammingError, "42000", "a global variable requires DEFAULT"),
    -659: Rule(ProgrammingError, "42000", "SELECT in a routine requires INTO"),
    -660: Rule(ProgrammingError, "42000", "variable {} of a FOR loop is changed in the loop"),
    -661: Rule(ProgrammingError, "42000", "there is a different number of values than there are variables"),
    -666: Rule(ProgrammingError, "42000", "variable {} of a FOR loop must be an INTEGER or SMALLINT"),
    -667: Rule(ProgrammingError, "42000", "variable {} is not declared"),
    -668: Rule(OperationalError, "IX000", "system command failed: {}"),
    -669: Rule(ProgrammingError, "42000", "variable {} is declared twice"),
    -670: Rule(ProgrammingError, "42000", "a variable of a routine is declared as SERIAL"),
    -671: Rule(ProgrammingError, "42000", "parameter of {} is named twice"),
    -675: Rule(ProgrammingError, "42000", "statement is not allowed in a routine"),
    -683: Rule(ProgrammingError, "42000", "STEP of a FOR loop leads away from its end"),
    -684: Rule(ProgrammingError, "42000", "function {} returns too many values"),
    -685: Rule(ProgrammingError, "42000", "function {} returns too few values"),
    -686: Rule(DatabaseError, "21000", "routine returned more than one row"),
    -689: Rule(ProgrammingError, "42000", "global variable {} is declared with another type"),
    -694: Rule(ProgrammingError, "42000", "too many arguments for routine {}"),
    -695: Rule(ProgrammingError, "42000", "routine {} has no parameter by this name"),
    -696: Rule(DatabaseError, "IX000", "variable {} of a routine has no value"),
    -697: Rule(ProgrammingError, "42000", "STEP of a FOR loop is zero"),
    -705: Rule(OperationalError, "IX000", "routine {} is in use"),
    -26005: Rule(DataError, "IX000", "value is not encrypted"),
    -26007: Rule(DataError, "IX000", "password or hint has a wrong length"),  # assumed
    -26008: Rule(DataError, "IX000", "value was encrypted with another password"),  # assumed
    -26027: Rule(ProgrammingError, "42000", "label {} of GOTO is unknown"),
    -26028: Rule(ProgrammingError, "42000", "label {} occurs twice in a routine"),
    -26029: Rule(ProgrammingError, "42000", "GOTO or a label is in an exception handler"),
    -9752: Rule(ProgrammingError, "42000", "the argument for an OUT or INOUT parameter is not a variable"),
    -26051: Rule(ProgrammingError, "42000", "the text for PREPARE or EXECUTE IMMEDIATE is NULL"),
    -26052: Rule(ProgrammingError, "24000", "cursor {} of a routine is already open"),
    -26053: Rule(ProgrammingError, "24000", "cursor {} of a routine is not open"),
    -26054: Rule(ProgrammingError, "24000", "FREE of cursor {}, which is open"),
    -26055: Rule(ProgrammingError, "26000", "statement or cursor {} of a routine is unknown"),
    -26056: Rule(ProgrammingError, "42000", "cursor {} of a function cannot be WITH HOLD"),
    -26057: Rule(ProgrammingError, "42000", "name {} of a statement or cursor is in use"),
    -26058: Rule(ProgrammingError, "42000", "PREPARE and EXECUTE IMMEDIATE of a routine take one statement"),
    -26062: Rule(ProgrammingError, "20000", "no WHEN of CASE matches, and it has no ELSE"),
    -721: Rule(ProgrammingError, "42000", "routine {} is no longer valid"),
    -744: Rule(ProgrammingError, "42000", "statement is not allowed in a trigger"),
    -745: Rule(DatabaseError, "09000", "trigger failed"),
    -746: Rule(DatabaseError, "U0001", "{}"),
    -747: Rule(ProgrammingError, "42000", "trigger uses the table of its own statement"),
    -748: Rule(OperationalError, "54000", "triggers are nested too deeply"),
    -937: Rule(DatabaseError, "U0001", "error inside a routine: {}"),
    -9791: Rule(DatabaseError, "38000", "routine {} failed"),
    -9793: Rule(OperationalError, "IX000", "module of routine {} cannot be loaded"),
    -9794: Rule(OperationalError, "IX000", "routine {} cannot be loaded"),
    # Resources, storage, the server itself
    -209: Rule(OperationalError, "IX000", "database format is incompatible with this server"),
    -211: Rule(InternalError, "IX000", "system catalog cannot be read", vague=True),
    -212: Rule(OperationalError, "IX000", "index could not be added", vague=True),
    -214: Rule(OperationalError, "IX000", "storage of table {} could not be removed", vague=True),
    -215: Rule(OperationalError, "IX000", "storage of table {} could not be opened", vague=True),
    -216: Rule(OperationalError, "IX000", "index could not be removed", vague=True),
    -229: Rule(OperationalError, "IX000", "temporary file could not be created", vague=True),
    -230: Rule(OperationalError, "IX000", "temporary file could not be read", vague=True),
    -252: Rule(OperationalError, "IX000", "system information of a table cannot be read", vague=True),
    -261: Rule(OperationalError, "IX000", "storage of table {} could not be created", vague=True),
    -264: Rule(OperationalError, "IX000", "temporary file could not be written", vague=True),
    -270: Rule(OperationalError, "IX000", "could not position within a temporary file", vague=True),
    -311: Rule(OperationalError, "IX000", "system catalog {} could not be opened", vague=True),
    -312: Rule(OperationalError, "IX000", "system catalog {} could not be updated", vague=True),
    -392: Rule(InternalError, "XX000", "internal error, an unexpected null pointer"),
    -397: Rule(InternalError, "IX000", "system catalog is damaged"),
    -406: Rule(OperationalError, "53200", "out of memory"),
    -502: Rule(OperationalError, "IX000", "index could not be clustered", vague=True),
    -520: Rule(OperationalError, "IX000", "storage of the database could not be opened", vague=True),
    -564: Rule(OperationalError, "IX000", "rows could not be sorted", vague=True),
    -565: Rule(OperationalError, "IX000", "sorted rows could not be read", vague=True),
    -566: Rule(OperationalError, "IX000", "sort could not begin", vague=True),
    -567: Rule(OperationalError, "IX000", "sorted rows could not be written", vague=True),
    -626: Rule(OperationalError, "IX000", "serial value could not be generated", vague=True),
    -682: Rule(OperationalError, "IX000", "index of a constraint on {} could not be read", vague=True),
    -690: Rule(OperationalError, "IX000", "keys of referencing table {} could not be read", vague=True),
    -722: Rule(OperationalError, "54001", "out of stack space"),
    -762: Rule(ProgrammingError, "54001", "statement is nested too deeply"),
    -874: Rule(InternalError, "XX000", "internal error of the optimizer"),
    -927: Rule(OperationalError, "54000", "statement refers to too many servers"),
    -1211: Rule(OperationalError, "53200", "out of memory for a conversion"),
    -9600: Rule(InternalError, "XX000", "internal error in the handling of types"),
    -26040: Rule(OperationalError, "IX000", "encryption could not be initialized"),
}

# Codes of which nothing is known but the SQLSTATE that JDBC gives (observed).
_SQLSTATES: Final = {
    -467: "22002",
    -471: "33000",
    -472: "22003",
    -483: "37000",
    -766: "22024",
    -839: "42S02",
    -901: "28000",
    -902: "28000",
}

# The server itself does not know how the transaction has ended.
_OUTCOME_UNKNOWN: Final = frozenset({-698, -716})

# The outcome is unknown, or would be the same: never run again automatically, whatever the ISAM code says.
_NEVER_AGAIN: Final = frozenset({-238, -241, -458, -698, -699, -716})


def _judgement(sqlcode: int, isamcode: int) -> tuple[type[DatabaseError], str]:
    """Class and SQLSTATE: the ISAM code's where the SQLCODE is vague or unknown, else the SQLCODE's."""
    rule = SQLCODES.get(sqlcode)
    if rule is None or rule.vague:
        reason = ISAM_CODES.get(isamcode)
        if reason is not None and reason.error is not None:
            return reason.error, reason.sqlstate
    return (rule.error, rule.sqlstate) if rule else (DatabaseError, _SQLSTATES.get(sqlcode, "IX000"))


def class_for(sqlcode: int, isamcode: int = 0) -> type[DatabaseError]:
    """The exception class for a pair of codes; DatabaseError for what is not known."""
    return _judgement(sqlcode, isamcode)[0]


def sqlstate_of(sqlcode: int, isamcode: int = 0) -> str:
    """SQLSTATE derived from the codes; the server sends none with ordinary errors."""
    return _judgement(sqlcode, isamcode)[1] if sqlcode else ""


def is_retryable(sqlcode: int, isamcode: int = 0) -> bool:
    """Whether running the same transaction again may succeed."""
    if sqlcode in _NEVER_AGAIN:
        return False
    known = (SQLCODES.get(sqlcode), ISAM_CODES.get(isamcode))
    return any(entry.retryable for entry in known if entry is not None)


def ends_session(error: type[DatabaseError], sqlcode: int = 0) -> bool:
    """Whether no call on the connection can succeed after such an error."""
    if issubclass(error, (ConnectError, ConnectionLost, ProtocolError)):
        return True
    rule = SQLCODES.get(sqlcode)
    return rule is not None and rule.ends_session


def meaning_of(sqlcode: int, token: str = "") -> str:
    """What an SQLCODE says, in our words, with what the server named in its place."""
    rule = SQLCODES.get(sqlcode)
    if rule is None:
        return f"the server reports error {sqlcode}" + (f": {token}" if token else "")
    if "{}" not in rule.meaning:
        return rule.meaning + (f": {token}" if token else "")
    return (
        " ".join(rule.meaning.replace("{}", token).split()).removesuffix(":")
        or "a routine raised an exception"
    )


def _named_by(sqlcode: int, token: str) -> tuple[str | None, str | None, str | None]:
    """Constraint, table and column, as far as the token of an SQLCODE names one.

    Source: which one: the vendor's list of messages (documented). ``owner.name`` for a constraint: observed. A table
    before a column's name is assumed, from the texts of later releases.
    """
    rule = SQLCODES.get(sqlcode)
    owner, _, name = token.rpartition(".")
    if rule is None:
        return None, None, None
    if "constraint {}" in rule.meaning:
        return name, None, None
    if "table {}" in rule.meaning:
        return None, name.rpartition(":")[2], None
    if "column {}" in rule.meaning:
        return None, owner.rpartition(".")[2] or None, name
    return None, None, None


def describe_codes(sqlcode: int, isamcode: int = 0, token: str = "") -> str:
    """One line for people: what happened, the codes, and the reason."""
    codes = f"SQLCODE {sqlcode}"
    if isamcode:
        reason = ISAM_CODES.get(isamcode)
        codes += f", ISAM {isamcode}" + (f": {reason.meaning}" if reason else "")
    return f"{meaning_of(sqlcode, token)} ({codes})"


def from_server(
    sqlcode: int,
    isamcode: int = 0,
    *,
    offset: int = 0,
    token: str = "",
    sql: str | None = None,
    row_index: int | None = None,
    sqlstate: str = "",
    text: str = "",
) -> DatabaseError:
    """The exception for what the server answered; a note shows the place in *sql* that *offset* names.

    Args:
        sqlstate: the server's own, where it sends one.
        text: its whole message, which stands for the token then.
    """
    message = describe_codes(sqlcode, isamcode, visible(text or token))
    if row_index is not None:
        message = f"row {row_index}: {message}"
    error = class_for(sqlcode, isamcode)
    if sql is not None and issubclass(error, ConnectError):
        error = OperationalError  # a statement ran, so there is a session: another server refused this one
    exception = error(
        message,
        sqlcode=sqlcode,
        isamcode=isamcode,
        sqlstate=sqlstate.strip("\0 "),
        offset=offset,
        token=token,
        sql=sql,
        row_index=row_index,
    )
    if sql is not None and (place := point_at(sql, offset)):
        exception.add_note(place)
    return exception


# -- the place in the SQL ----------------------------------------------------------------------------------------------

_CONTEXT: Final = 50  # characters on either side of the place, where its line is long
_MARGIN: Final = " " * 4


def point_at(sql: str, offset: int, context: int = _CONTEXT) -> str:
    """Three lines for people: where *offset* is, that line of *sql*, and a caret beneath the character.

    Args:
        offset: in characters, from 1; one after the last is the end of the text.
        context: maximum characters on either side of the place.

    Returns:
        "" where there is no such place.
    """
    if not sql or not 0 < offset <= len(sql) + 1:
        return ""
    pos = offset - 1
    if pos and sql[pos - 1 : pos + 1] == "\r\n":
        pos -= 1  # the line has ended before both
    start = max(sql.rfind("\n", 0, pos), sql.rfind("\r", 0, pos)) + 1
    end = min((found for mark in "\r\n" if (found := sql.find(mark, pos)) >= 0), default=len(sql))
    first, last = max(start, pos - context), min(end, pos + context)
    before = "..." if first > start else ""
    before += visible(sql[first:pos])
    line = before + visible(sql[pos:last]) + ("..." if last < end else "")
    place = f"column {pos - start + 1}"
    if start or end < len(sql):
        ends = sql.count("\n", 0, start) + sql.count("\r", 0, start) - sql.count("\r\n", 0, start)
        place = f"line {ends + 1}, {place}"
    # What is zero cells wide stands on the character before it, and the caret with it.
    under = cell_width(before) - (1 if before and pos < end and not cell_width(visible(sql[pos])) else 0)
    return f"SQL, {place}:\n{_MARGIN}{line}\n{_MARGIN}{' ' * under}^"


def visible(text: str) -> str:
    """*text* for people: tabs as four blanks; control characters and bidirectional marks as Python writes them."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else " " * 4 if char == "\t" else repr(char)[1:-1] for char in text
    )


def cell_width(text: str) -> int:
    """Cells on a terminal: combining marks have none, East Asian wide characters two."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width  # here, because ASCII text does not need the library

    return sum(
        0 if category(char) in ("Mn", "Me") else 2 if east_asian_width(char) in "WF" else 1 for char in text
    )
