"""PEP 249's exceptions, what Informix adds to them, SQLCODE and ISAM code -> class. Never: any other module of ours.

    Warning
    Error
    ├─ InterfaceError             the caller misused us; raised before anything is sent
    └─ DatabaseError              .sqlcode .isamcode .sqlstate .offset .token .sql .row_index
       ├─ OperationalError        network, login, locks, resources
       │  ├─ ConnectError         no session came about
       │  │  ├─ AuthenticationError
       │  │  └─ LocaleError
       │  ├─ ConnectionLost       the session ended under us
       │  ├─ QueryCanceled        SQLCODE -213
       │  └─ LockError            worth another try
       │     ├─ RowLocked         somebody holds it and we do not wait
       │     ├─ LockTimeout       we waited as long as SET LOCK MODE says
       │     └─ Deadlock
       ├─ IntegrityError
       │  ├─ UniqueViolation
       │  ├─ ForeignKeyViolation
       │  ├─ NotNullViolation
       │  └─ CheckViolation
       ├─ DataError               a value does not fit, here or at the server
       ├─ ProgrammingError
       │  ├─ SQLSyntaxError
       │  ├─ UndefinedTable
       │  ├─ UndefinedColumn
       │  ├─ UndefinedRoutine
       │  └─ PermissionDenied
       ├─ InternalError
       │  └─ ProtocolError        bytes that are not SQLI; always closes the connection
       └─ NotSupportedError

House rules:
1. The ISAM code says why, the SQLCODE what: the ISAM code is asked first.
2. An unknown code is a plain DatabaseError, never a guess.
3. No message, repr or field holds a parameter's value or a password.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Warning(Exception):  # the name is PEP 249's
    """Something that the caller should know of and that stopped nothing.

    Attributes:
        sqlstate: five characters, class 01.
    """

    def __init__(self, message: str = "", sqlstate: str = "01000") -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


class Error(Exception):
    """The root of every error that this package raises."""


class InterfaceError(Error):
    """The caller misused the interface; nothing was sent, and the connection is as it was."""


class DatabaseError(Error):
    """What the server answered, or what kept it from answering.

    Attributes:
        sqlcode:    Informix's SQLCODE, negative; 0 when no server spoke.
        isamcode:   the reason behind it, or 0.
        sqlstate:   five characters; the server sends none, so it is derived from the codes.
        offset:     character position in the SQL text, from 1; 0 when the server names none.
        token:      what the server put into its message: a table, a column, a constraint ("owner.name").
        sql:        the statement, when it is known.
        row_index:  which row of an executemany failed, from 0; None elsewhere.
        retryable:  the same transaction may succeed when it is run again.
        connection_usable: False when the connection ended with this error.
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
    ) -> None:
        super().__init__(message)
        self.sqlcode = sqlcode
        self.isamcode = isamcode
        self.sqlstate = sqlstate or sqlstate_of(sqlcode, isamcode)
        self.offset = offset
        self.token = token
        self.sql = sql
        self.row_index = row_index

    @property
    def retryable(self) -> bool:
        return is_retryable(self.sqlcode, self.isamcode)

    @property
    def connection_usable(self) -> bool:
        return not isinstance(self, (ConnectError, ConnectionLost, ProtocolError))


class OperationalError(DatabaseError):
    """The database could not do it now: network, login, locks, resources."""


class ConnectError(OperationalError):
    """No session came about."""


class AuthenticationError(ConnectError):
    """The server refused the user or the password."""


class LocaleError(ConnectError):
    """The server has no conversion between the client's locale and the database's."""


class ConnectionLost(OperationalError):
    """The session ended while somebody still needed it."""


class QueryCanceled(OperationalError):
    """The statement was interrupted on a client's request (SQLCODE -213)."""


class LockError(OperationalError):
    """Another session holds what this statement needs."""


class RowLocked(LockError):
    """The row or table is locked and this session does not wait (ISAM -107, -113, -144)."""


class LockTimeout(LockError):
    """The lock was not free in time (ISAM -154)."""


class Deadlock(LockError):
    """Two sessions wait for each other (ISAM -143)."""


class IntegrityError(DatabaseError):
    """A constraint does not hold."""


class UniqueViolation(IntegrityError):
    """A unique index, unique constraint or primary key has the value already."""


class ForeignKeyViolation(IntegrityError):
    """The parent row is missing (-691) or still referenced (-692)."""


class NotNullViolation(IntegrityError):
    """NULL for a column that takes none."""


class CheckViolation(IntegrityError):
    """A check constraint does not hold."""


class DataError(DatabaseError):
    """A value does not fit its type, on this side or on the server's."""


class ProgrammingError(DatabaseError):
    """The statement is wrong."""


class SQLSyntaxError(ProgrammingError):
    """The statement's text is not SQL as the server knows it."""


class UndefinedTable(ProgrammingError):
    """No such table, view or synonym."""


class UndefinedColumn(ProgrammingError):
    """No such column."""


class UndefinedRoutine(ProgrammingError):
    """No such routine, or none for these arguments."""


class PermissionDenied(ProgrammingError):
    """The user may not do this."""


class InternalError(DatabaseError):
    """The server, or this client, is broken."""


class ProtocolError(InternalError):
    """Bytes that are not SQLI; nothing on this connection can be trusted any more."""


class NotSupportedError(DatabaseError):
    """This server or database cannot do it."""


class _Rule(NamedTuple):
    error: type[DatabaseError]
    sqlstate: str
    meaning: str  # own words; "{}" is where the server's token goes


# ISAM codes that decide the class by themselves (vendor's list of error messages; -100, -111, -154 and -157
# were seen from real servers).
_BY_ISAM: Final[dict[int, _Rule]] = {
    -100: _Rule(UniqueViolation, "23000", "duplicate key"),
    -101: _Rule(InternalError, "IX000", "file is not open"),
    -104: _Rule(OperationalError, "IX000", "too many files open"),
    -105: _Rule(InternalError, "IX000", "damaged storage"),
    -106: _Rule(RowLocked, "40001", "exclusive access is needed"),
    -107: _Rule(RowLocked, "40001", "record is locked"),
    -113: _Rule(RowLocked, "40001", "table is locked"),
    -131: _Rule(OperationalError, "53100", "disk full"),
    -134: _Rule(OperationalError, "53000", "no more locks"),
    -136: _Rule(OperationalError, "53100", "no more extents"),
    -143: _Rule(Deadlock, "40001", "deadlock"),
    -144: _Rule(RowLocked, "40001", "key value is locked"),
    -154: _Rule(LockTimeout, "40001", "lock was not free in time"),
    -157: _Rule(QueryCanceled, "57014", "interrupted"),
}

# SQLCODE -> class, SQLSTATE, meaning in our own words. Numbers and their sense: the vendor's published list
# of error messages. SQLSTATE: the published class list, IX000 where ANSI has nothing.
_BY_SQLCODE: Final[dict[int, _Rule]] = {
    # Integrity
    -239: _Rule(UniqueViolation, "23000", "duplicate value in a column with a unique index"),
    -268: _Rule(UniqueViolation, "23000", "unique constraint {} is violated"),
    -292: _Rule(NotNullViolation, "23000", "column {} was left out and takes no NULL"),
    -391: _Rule(NotNullViolation, "23000", "column {} takes no NULL"),
    -703: _Rule(NotNullViolation, "23000", "primary key of {} has a NULL"),
    -386: _Rule(NotNullViolation, "23000", "column holds NULLs already"),
    -525: _Rule(ForeignKeyViolation, "23000", "existing rows break referential constraint {}"),
    -530: _Rule(CheckViolation, "23000", "check constraint {} does not hold"),
    -540: _Rule(IntegrityError, "23000", "constraint check failed while writing"),
    -691: _Rule(ForeignKeyViolation, "23000", "no parent row for referential constraint {}"),
    -692: _Rule(ForeignKeyViolation, "23000", "row is still referenced by constraint {}"),
    -971: _Rule(IntegrityError, "23000", "constraint or index violations found"),
    # The text of the statement, and the names in it
    -201: _Rule(SQLSyntaxError, "42000", "syntax error"),
    -202: _Rule(SQLSyntaxError, "42000", "illegal character in the statement"),
    -203: _Rule(SQLSyntaxError, "42000", "illegal integer in the statement"),
    -204: _Rule(SQLSyntaxError, "42000", "illegal floating-point number in the statement"),
    -206: _Rule(UndefinedTable, "42S02", "table {} is not in the database"),
    -217: _Rule(UndefinedColumn, "42S22", "column {} is not in any table of the query"),
    -218: _Rule(UndefinedTable, "42S02", "synonym {} is not in the database"),
    -223: _Rule(ProgrammingError, "42000", "table {} stands twice in FROM"),
    -228: _Rule(ProgrammingError, "42000", "a system catalog table cannot be written"),
    -232: _Rule(ProgrammingError, "42000", "serial column {} cannot be updated"),
    -236: _Rule(ProgrammingError, "21S01", "number of columns and number of values differ"),
    -249: _Rule(ProgrammingError, "42000", "virtual column needs a name"),
    -251: _Rule(ProgrammingError, "42000", "ORDER BY or GROUP BY position is out of range"),
    -253: _Rule(ProgrammingError, "42000", "identifier is too long"),
    -254: _Rule(ProgrammingError, "07001", "wrong number of parameters"),
    -282: _Rule(SQLSyntaxError, "42000", "quote is not closed"),
    -283: _Rule(SQLSyntaxError, "42000", "comment is not closed"),
    -284: _Rule(DataError, "21000", "subquery gave more than one row"),
    -286: _Rule(ProgrammingError, "42000", "primary key column has the default NULL"),
    -287: _Rule(ProgrammingError, "42000", "serial column {} cannot be added"),
    -293: _Rule(ProgrammingError, "42000", "IS NULL needs a column"),
    -294: _Rule(ProgrammingError, "42000", "column {} must be in GROUP BY"),
    -297: _Rule(
        ProgrammingError, "42000", "the referenced table has no unique or primary key on these columns"
    ),
    -303: _Rule(ProgrammingError, "42000", "columns and aggregates are mixed"),
    -304: _Rule(ProgrammingError, "42000", "HAVING names a column that is not grouped"),
    -306: _Rule(ProgrammingError, "42000", "subscript is out of range"),
    -307: _Rule(ProgrammingError, "42000", "subscript is malformed"),
    -308: _Rule(ProgrammingError, "42000", "types of UNION parts differ"),
    -309: _Rule(ProgrammingError, "42000", "ORDER BY column {} must be in the select list"),
    -310: _Rule(ProgrammingError, "42S01", "table {} exists already"),
    -316: _Rule(ProgrammingError, "42S11", "index {} exists already"),
    -317: _Rule(ProgrammingError, "42000", "UNION parts have different numbers of columns"),
    -319: _Rule(ProgrammingError, "42S12", "index {} does not exist"),
    -324: _Rule(ProgrammingError, "42000", "column {} is ambiguous"),
    -328: _Rule(ProgrammingError, "42S21", "column {} exists already"),
    -330: _Rule(ProgrammingError, "42000", "database cannot be created"),
    -350: _Rule(ProgrammingError, "42S11", "these columns are indexed already"),
    -352: _Rule(UndefinedColumn, "42S22", "column {} does not exist"),
    -354: _Rule(ProgrammingError, "42000", "incorrect name of a database or cursor: {}"),
    -359: _Rule(ProgrammingError, "42000", "the open database cannot be dropped"),
    -360: _Rule(ProgrammingError, "42000", "target table is also read in a subquery"),
    -363: _Rule(ProgrammingError, "24000", "cursor on a statement that returns no rows"),
    -364: _Rule(ProgrammingError, "42000", "column {} is not in FOR UPDATE OF"),
    -365: _Rule(ProgrammingError, "42000", "FOR UPDATE needs a simple SELECT from one table"),
    -371: _Rule(UniqueViolation, "23000", "unique index on duplicate values"),
    -393: _Rule(ProgrammingError, "42000", "both sides of an outer join are optional"),
    -395: _Rule(ProgrammingError, "42000", "an outer join needs a joining condition"),
    -396: _Rule(ProgrammingError, "42000", "a nested outer join is joined from the wrong side"),
    -505: _Rule(ProgrammingError, "21S01", "number of columns and number of values differ"),
    -511: _Rule(ProgrammingError, "42000", "a system catalog table cannot be modified"),
    -522: _Rule(UndefinedTable, "42000", "table {} is not in the query"),
    -526: _Rule(ProgrammingError, "42000", "a scroll cursor cannot be FOR UPDATE"),
    -548: _Rule(ProgrammingError, "42000", "no foreign keys on temporary tables"),
    -555: _Rule(ProgrammingError, "42000", "not allowed among several statements"),
    -576: _Rule(ProgrammingError, "42000", "no constraint names on temporary tables"),
    -577: _Rule(ProgrammingError, "42S11", "a constraint of this kind is on these columns already"),
    -591: _Rule(ProgrammingError, "42000", "default of column {} does not suit its type"),
    -659: _Rule(ProgrammingError, "42000", "SELECT in a routine needs INTO"),
    -664: _Rule(ProgrammingError, "42000", "wrong number of arguments for {}"),
    -673: _Rule(ProgrammingError, "42000", "routine {} exists already"),
    -674: _Rule(UndefinedRoutine, "42000", "routine {} cannot be resolved"),
    -681: _Rule(ProgrammingError, "42000", "column {} is named twice"),
    -728: _Rule(ProgrammingError, "42000", "unknown argument of DBINFO"),
    -743: _Rule(ProgrammingError, "42S01", "{} exists already"),
    -800: _Rule(ProgrammingError, "42000", "types of CASE branches differ"),
    -943: _Rule(SQLSyntaxError, "42000", "comment is not closed"),
    -944: _Rule(ProgrammingError, "42000", "FIRST, LIMIT or SKIP is not allowed here"),
    -958: _Rule(ProgrammingError, "42S01", "temporary table {} exists already"),
    -9628: _Rule(ProgrammingError, "42704", "type {} not found"),
    -9630: _Rule(ProgrammingError, "42846", "type {} is in use"),
    -9634: _Rule(ProgrammingError, "42846", "no cast from {}"),
    -9635: _Rule(ProgrammingError, "42846", "no unique cast from {}"),
    -440: _Rule(NotSupportedError, "0A001", "two foreign servers in one transaction"),
    -513: _Rule(NotSupportedError, "0A000", "statement is not available on this server"),
    -999: _Rule(NotSupportedError, "0A000", "not implemented: {}"),
    # Permissions and login
    -272: _Rule(PermissionDenied, "42501", "no SELECT privilege for {}"),
    -273: _Rule(PermissionDenied, "42501", "no UPDATE privilege for {}"),
    -274: _Rule(PermissionDenied, "42501", "no DELETE privilege for {}"),
    -275: _Rule(PermissionDenied, "42501", "no INSERT privilege for {}"),
    -302: _Rule(PermissionDenied, "42501", "no right to grant or revoke"),
    -313: _Rule(PermissionDenied, "42501", "not the owner of {}"),
    -315: _Rule(PermissionDenied, "42501", "no index privilege"),
    -329: _Rule(OperationalError, "3D000", "database {} not found, or no permission to open it"),
    -387: _Rule(AuthenticationError, "28000", "no CONNECT privilege on the database"),
    -388: _Rule(PermissionDenied, "42501", "no RESOURCE privilege"),
    -389: _Rule(PermissionDenied, "42501", "no DBA privilege"),
    -908: _Rule(ConnectError, "08001", "server {} cannot be reached"),
    -930: _Rule(ConnectError, "08001", "server {} cannot be reached"),
    -950: _Rule(AuthenticationError, "28000", "user {} is not known at the server"),
    -951: _Rule(AuthenticationError, "28000", "incorrect user or password: {}"),
    -952: _Rule(AuthenticationError, "28000", "incorrect password for user {}"),
    -956: _Rule(AuthenticationError, "28000", "the server does not trust this host: {}"),
    -960: _Rule(AuthenticationError, "28000", "refused by a rule for local connections"),
    -25590: _Rule(AuthenticationError, "28000", "authentication failed in the network layer"),
    # Session
    -349: _Rule(ProgrammingError, "3D000", "no database is selected"),
    -377: _Rule(OperationalError, "25000", "end the transaction before the database is closed"),
    -407: _Rule(InternalError, "08S01", "the server received an impossible message"),
    -408: _Rule(InternalError, "08S01", "the server received an impossible message"),
    -410: _Rule(ProgrammingError, "26000", "statement is not prepared"),
    -425: _Rule(OperationalError, "08004", "database is opened exclusively by another user"),
    -439: _Rule(ProgrammingError, "08000", "a statement is running on this connection"),
    -457: _Rule(ConnectionLost, "08S01", "the server ended"),
    -459: _Rule(ConnectionLost, "08S01", "the server was shut down"),
    -759: _Rule(OperationalError, "08000", "database statements are not allowed on this connection"),
    -761: _Rule(ConnectError, "08001", "the server does not go by the name {}"),
    -907: _Rule(ConnectError, "08001", "network call failed"),
    -913: _Rule(ConnectionLost, "08S01", "network write failed"),
    -914: _Rule(ConnectionLost, "08S01", "network read failed"),
    -929: _Rule(InternalError, "08S01", "protocol error, the server ended the session"),
    -931: _Rule(ConnectError, "08001", "service lookup failed: {}"),
    -932: _Rule(ConnectError, "08001", "network call failed"),
    -1809: _Rule(ConnectError, "08004", "the server refused the connection"),
    -11020: _Rule(ConnectionLost, "08S01", "communication link failed"),
    -23101: _Rule(LocaleError, "IX000", "locale cannot be loaded"),
    -23103: _Rule(DataError, "22021", "code set conversion met an illegal sequence"),
    -23104: _Rule(LocaleError, "IX000", "no code set conversion between the locales"),
    -23105: _Rule(LocaleError, "IX000", "no code set conversion between the locales"),
    -23115: _Rule(LocaleError, "IX000", "code sets of client and database do not convert"),
    -23195: _Rule(LocaleError, "IX000", "locale of the database does not match"),
    -23197: _Rule(LocaleError, "IX000", "locale of the database does not match"),
    # Transactions, locks, cancellation
    -213: _Rule(QueryCanceled, "57014", "statement was interrupted"),
    -233: _Rule(RowLocked, "40001", "record is locked by another user"),
    -240: _Rule(OperationalError, "IX000", "row could not be deleted"),
    -241: _Rule(OperationalError, "40003", "rollback failed"),
    -243: _Rule(OperationalError, "IX000", "could not position within table {}"),
    -244: _Rule(OperationalError, "IX000", "could not read next row of table {}"),
    -245: _Rule(OperationalError, "IX000", "could not position by an index of table {}"),
    -246: _Rule(OperationalError, "IX000", "could not read next row by an index of table {}"),
    -250: _Rule(OperationalError, "IX000", "row could not be read for update"),
    -255: _Rule(OperationalError, "25000", "not in a transaction"),
    -256: _Rule(NotSupportedError, "25000", "the database has no transactions"),
    -263: _Rule(OperationalError, "IX000", "row could not be locked for update"),
    -265: _Rule(ProgrammingError, "25000", "insert cursor outside a transaction"),
    -271: _Rule(DatabaseError, "IX000", "row could not be inserted into table {}"),
    -278: _Rule(OperationalError, "3B000", "rollback to the savepoint is impossible"),
    -289: _Rule(RowLocked, "40001", "table {} could not be locked"),
    -291: _Rule(OperationalError, "IX000", "lock mode could not be changed"),
    -327: _Rule(ProgrammingError, "25000", "a table cannot be unlocked inside a transaction"),
    -346: _Rule(DatabaseError, "IX000", "row of table {} could not be updated"),
    -458: _Rule(OperationalError, "40000", "transaction was too long and has been rolled back"),
    -524: _Rule(ProgrammingError, "25000", "LOCK TABLE outside a transaction"),
    -534: _Rule(RowLocked, "40001", "insert refused, table is locked"),
    -535: _Rule(ProgrammingError, "25001", "already in a transaction"),
    -710: _Rule(OperationalError, "IX000", "table {} was altered; prepare the statement again"),
    -768: _Rule(InternalError, "XX000", "internal error of the server"),
    -876: _Rule(ProgrammingError, "25001", "SET TRANSACTION inside a transaction"),
    -877: _Rule(ProgrammingError, "25001", "SET TRANSACTION twice"),
    -878: _Rule(ProgrammingError, "25006", "write in a read-only transaction"),
    -959: _Rule(InternalError, "XX000", "internal error, transaction was rolled back"),
    # Cursors and statements
    -208: _Rule(OperationalError, "53200", "the server has no memory for the query"),
    -257: _Rule(OperationalError, "IX000", "too many statements"),
    -258: _Rule(InternalError, "26000", "unknown statement id"),
    -259: _Rule(ProgrammingError, "24000", "cursor is not open"),
    -260: _Rule(InternalError, "07003", "a query was executed without a cursor"),
    -266: _Rule(ProgrammingError, "24000", "cursor has no current row"),
    -267: _Rule(ProgrammingError, "24000", "cursor was closed, by the end of a transaction perhaps"),
    -276: _Rule(ProgrammingError, "34000", "cursor {} not found"),
    -285: _Rule(InternalError, "24000", "the server received an invalid cursor"),
    -290: _Rule(ProgrammingError, "24000", "cursor is not FOR UPDATE"),
    -400: _Rule(ProgrammingError, "24000", "fetch on a cursor that is not open"),
    -404: _Rule(ProgrammingError, "24000", "cursor is not available"),
    -507: _Rule(ProgrammingError, "34000", "cursor {} not found"),
    -528: _Rule(NotSupportedError, "54000", "row is longer than the server allows"),
    # Data
    -385: _Rule(DataError, "22003", "value is out of range"),
    -415: _Rule(DataError, "22018", "data conversion error"),
    -605: _Rule(DataError, "22000", "BYTE or TEXT value cannot be converted"),
    -608: _Rule(DataError, "22000", "BYTE or TEXT value is not valid"),
    -609: _Rule(DataError, "22000", "BYTE or TEXT value is not valid"),
    -1202: _Rule(DataError, "22012", "division by zero"),
    -1204: _Rule(DataError, "22007", "year of the date is invalid"),
    -1205: _Rule(DataError, "22007", "month of the date is invalid"),
    -1206: _Rule(DataError, "22007", "day of the date is invalid"),
    -1207: _Rule(DataError, "22001", "converted value does not fit"),
    -1209: _Rule(DataError, "22007", "text is not a date"),
    -1210: _Rule(DataError, "22007", "date cannot be converted"),
    -1212: _Rule(DataError, "22007", "date format is invalid"),
    -1213: _Rule(DataError, "22018", "text is not a number"),
    -1214: _Rule(DataError, "22003", "value is too large for SMALLINT"),
    -1215: _Rule(DataError, "22003", "value is too large for INTEGER"),
    -1218: _Rule(DataError, "22007", "text is not a date"),
    -1222: _Rule(DataError, "22003", "value is too large for SMALLFLOAT"),
    -1223: _Rule(DataError, "22003", "value is too large for FLOAT"),
    -1226: _Rule(DataError, "22003", "decimal has too many digits"),
    -1260: _Rule(DataError, "42846", "no conversion between the types"),
    -1261: _Rule(DataError, "22007", "too many digits in the first field of DATETIME or INTERVAL"),
    -1262: _Rule(DataError, "22007", "DATETIME or INTERVAL text is not numeric"),
    -1263: _Rule(DataError, "22007", "field of DATETIME or INTERVAL is out of range"),
    -1264: _Rule(DataError, "22007", "text goes on behind the DATETIME or INTERVAL"),
    -1265: _Rule(DataError, "22008", "overflow in DATETIME or INTERVAL arithmetic"),
    -1266: _Rule(ProgrammingError, "42000", "DATETIME and INTERVAL do not combine"),
    -1267: _Rule(DataError, "22008", "result of DATETIME arithmetic is out of range"),
    -1268: _Rule(ProgrammingError, "42000", "DATETIME or INTERVAL qualifier is invalid"),
    -1271: _Rule(DataError, "22007", "decimal point is missing in DATETIME or INTERVAL"),
    -1277: _Rule(DataError, "22007", "text does not match the format"),
    -1279: _Rule(DataError, "22001", "text is longer than the column"),
    -1284: _Rule(DataError, "22003", "value is too large for BIGINT or INT8"),
    # Routines, large objects, resources
    -655: _Rule(DatabaseError, "21000", "routine gave the wrong number of values"),
    -686: _Rule(DatabaseError, "21000", "routine gave more than one row"),
    -696: _Rule(DatabaseError, "IX000", "variable of a routine has no value"),
    -668: _Rule(OperationalError, "IX000", "system command failed"),
    -746: _Rule(DatabaseError, "U0001", "{}"),
    -937: _Rule(DatabaseError, "U0001", "error inside a routine: {}"),
    -9810: _Rule(OperationalError, "IX000", "smart large object error"),
    -406: _Rule(OperationalError, "53200", "out of memory"),
    -1211: _Rule(OperationalError, "53200", "out of memory"),
    -211: _Rule(InternalError, "IX000", "system catalog cannot be read"),
    -397: _Rule(InternalError, "IX000", "system catalog is damaged"),
    -26040: _Rule(OperationalError, "IX000", "encryption could not start"),
}

_RETRYABLE_ISAM: Final = frozenset({-107, -113, -143, -144, -154})
_RETRYABLE_SQLCODE: Final = frozenset({-710, -425, -233, -289, -534})

# Codes that only say *that* it failed; with one of these the ISAM code's class wins over the SQLCODE's.
# With any other SQLCODE a unique violation or a lock still shows, for both sides say the same then.
_DECIDED_BY_ISAM: Final = frozenset(
    {-211, -212, -216, -240, -242, -243, -244, -245, -246, -248, -250, -261, -263, -264, -271, -291, -346}
)


def _rule(sqlcode: int, isamcode: int) -> _Rule | None:
    known = _BY_SQLCODE.get(sqlcode)
    if known is None or sqlcode in _DECIDED_BY_ISAM:
        return _BY_ISAM.get(isamcode, known)
    return known


def class_for(sqlcode: int, isamcode: int = 0) -> type[DatabaseError]:
    """The exception class for a pair of codes; DatabaseError for what is not known."""
    rule = _rule(sqlcode, isamcode)
    return rule.error if rule else DatabaseError


def sqlstate_of(sqlcode: int, isamcode: int = 0) -> str:
    """SQLSTATE derived from the codes; the server sends none with ordinary errors."""
    if sqlcode == 0:
        return ""
    rule = _rule(sqlcode, isamcode)
    return rule.sqlstate if rule else "IX000"


def is_retryable(sqlcode: int, isamcode: int = 0) -> bool:
    """Whether running the same transaction again may succeed."""
    return isamcode in _RETRYABLE_ISAM or sqlcode in _RETRYABLE_SQLCODE


def describe_codes(sqlcode: int, isamcode: int = 0, token: str = "") -> str:
    """One line for people: what happened, the codes, and the reason behind them."""
    rule = _BY_SQLCODE.get(sqlcode)
    if rule is None:
        text = f"the server reports error {sqlcode}" + (f": {token}" if token else "")
    elif "{}" in rule.meaning:
        text = " ".join(rule.meaning.replace("{}", token).split())
    else:
        text = rule.meaning + (f": {token}" if token else "")
    codes = f"SQLCODE {sqlcode}"
    if isamcode:
        reason = _BY_ISAM.get(isamcode)
        codes += f", ISAM {isamcode}" + (f": {reason.meaning}" if reason else "")
    return f"{text} ({codes})"


def from_server(
    sqlcode: int,
    isamcode: int = 0,
    *,
    offset: int = 0,
    token: str = "",
    sql: str | None = None,
    row_index: int | None = None,
) -> DatabaseError:
    """The exception for what the server answered."""
    message = describe_codes(sqlcode, isamcode, token)
    if row_index is not None:
        message = f"row {row_index}: {message}"
    return class_for(sqlcode, isamcode)(
        message,
        sqlcode=sqlcode,
        isamcode=isamcode,
        offset=offset,
        token=token,
        sql=sql,
        row_index=row_index,
    )
