"""The numeric constants of SQLI, with their evidence. Never: behaviour.

Evidence: every tag below was observed on a real server (11.50 to 15) with at least one client, except the ones marked
"observed: JDBC". IBM's JDBC driver 15.0.1.0 sends or accepts those, but they are in no public capture of a server.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Op(IntEnum):
    """Message tags: the short at the start of every message after the login."""

    COMMAND = 1
    PREPARE = 2
    CURNAME = 3
    ID = 4
    BIND = 5
    OPEN = 6
    EXECUTE = 7
    DESCRIBE = 8
    NFETCH = 9
    CLOSE = 10
    RELEASE = 11
    EOT = 12
    ERR = 13
    TUPLE = 14
    DONE = 15
    PUT = 17  # observed: JDBC
    CMMTWORK = 19
    RBWORK = 20
    NDESCRIBE = 22
    SFETCH = 23
    SCROLL = 24
    TUPID = 25
    DBLIST = 26
    BEGIN = 35
    DBOPEN = 36
    DBCLOSE = 37
    FETCHBLOB = 38
    BLOB = 39
    BBIND = 41
    HOLD = 43
    WANTDONE = 49
    VERSION = 53  # observed: JDBC
    COST = 55
    EXIT = 56
    INFO = 81
    INSERTDONE = 94
    LODATA = 97
    FILE = 98
    XACTSTAT = 99
    RET_TYPE = 100
    GETROUTINE = 101
    EXFPROUTINE = 102
    FPROUTINE = 103
    FPARAM = 104  # observed: JDBC; this name and the next two are ours
    FILE_READ = 106
    FILE_WRITE = 107
    AUTOFREE = 108
    CIDESCRIBE = 124
    IDESCRIBE = 125
    PROTOCOLS = 126
    ACCEPT = 127
    ACK = 128
    CHALLENGE = 129
    RESPONSE = 130
    FPDESCRIBE = 131  # observed: JDBC
    FPDESCRIPTION = 132  # observed: JDBC
    AUTOGENKEYS = 134  # observed: JDBC
    SETSVPT = 137
    RELSVPT = 138
    RBSVPT = 139


class PamStyle(IntEnum):
    """The style of a PAM challenge (documented: JDBC guide, PAM authentication method; observed: JDBC, pam15.json)."""

    ECHO_OFF = 1
    """A question whose answer is not shown as it is typed, such as a password."""
    ECHO_ON = 2
    """A question whose answer may be shown, such as a one-time code."""
    ERROR = 3
    """An error message. It has no answer."""
    INFO = 4
    """A message. It has no answer."""


class LoginBlock(IntEnum):
    """Markers of the blocks inside a login message."""

    ASSOCIATION = 100
    BINARY = 101
    RESULT = 102
    REDIRECT = 103
    INITIALISE = 104
    ENVIRONMENT = 106
    PROCESS = 107
    PARAMETERS = 108
    EXTENSION = 110
    APPLICATION = 116
    END = 127


class LoginType(IntEnum):
    """The third byte of a login message."""

    REQUEST = 1
    ACCEPT = 2
    REJECT = 3
    REDIRECT = 13  # observed: JDBC follows it; no capture of a server has it


class StatementType(IntEnum):
    """The first field of SQ_DESCRIBE (documented: sqlstype.h; observed: 2, 6, 32 to 36, 45, 56).

    The manual lists 2 as reserved, because ESQL/C maps it to 0. 37 is observed with JDBC only. 51, 77, 78 and 94 to
    97 are assumed.
    """

    DATABASE = 1
    SELECT = 2
    SELECT_INTO_TEMP = 3
    UPDATE = 4
    DELETE = 5
    INSERT = 6
    UPDATE_CURRENT = 7
    DELETE_CURRENT = 8
    LOCK_TABLE = 10
    UNLOCK_TABLE = 11
    CREATE_DATABASE = 12
    DROP_DATABASE = 13
    CREATE_TABLE = 14
    DROP_TABLE = 15
    CREATE_INDEX = 16
    DROP_INDEX = 17
    GRANT = 18
    REVOKE = 19
    RENAME_TABLE = 20
    RENAME_COLUMN = 21
    ALTER_TABLE = 29
    UPDATE_STATISTICS = 30
    CLOSE_DATABASE = 31
    DELETE_ALL = 32
    UPDATE_ALL = 33
    BEGIN_WORK = 34
    COMMIT_WORK = 35
    ROLLBACK_WORK = 36
    SAVEPOINT = 37
    CREATE_VIEW = 40
    DROP_VIEW = 41
    CREATE_SYNONYM = 43
    DROP_SYNONYM = 44
    CREATE_TEMP_TABLE = 45
    SET_LOCK_MODE = 46
    SET_ISOLATION = 48
    SET_LOG = 49
    SET_EXPLAIN = 50
    CREATE_SCHEMA = 51
    SET_OPTIMIZATION = 52
    CREATE_PROCEDURE = 53
    DROP_PROCEDURE = 54
    SET_CONSTRAINTS = 55
    EXECUTE_ROUTINE = 56
    SET_DEBUG_FILE = 57
    CREATE_TRIGGER = 70
    DROP_TRIGGER = 71
    SET_DATASKIP = 73
    SET_PDQPRIORITY = 74
    SET_OBJECT_MODE = 76
    START_VIOLATIONS = 77
    STOP_VIOLATIONS = 78
    CREATE_ROLE = 83
    DROP_ROLE = 84
    SET_ROLE = 85
    SET_SESSION_AUTHORIZATION = 86
    RENAME_DATABASE = 87
    CREATE_ROW_TYPE = 94
    CREATE_DISTINCT_TYPE = 95
    DROP_ROW_TYPE = 96
    DROP_TYPE = 97
    SET_ENVIRONMENT = 110
    SET_STATEMENT_CACHE = 115
    RENAME_INDEX = 116
    TRUNCATE = 122
    CREATE_SEQUENCE = 124
    DROP_SEQUENCE = 125
    ALTER_SEQUENCE = 126
    RENAME_SEQUENCE = 127
    MERGE = 128


class OpenWarning(IntEnum):
    """Bits of the warnings in the SQ_DONE that answers SQ_DBOPEN (documented: sqlwarn; observed: 0x14, 0x15)."""

    LOGGED = 0x01
    ANSI = 0x02
    INFORMIX = 0x04
    FLOAT_IS_DECIMAL = 0x08
    SECONDARY = 0x20
    LOCALE_IGNORED = 0x40


MAX_TEXT: Final = 64 * 1024 * 1024
"""Maximum length of a text, row or table of names on the wire; a larger length is a ProtocolError."""

MAX_COLUMNS: Final = 32767
"""Maximum number of columns or values: a count on the wire is a signed short."""

MAX_PAM_ANSWER: Final = 512
"""Maximum bytes of an answer to a PAM challenge (observed: another client; documented: PAM_MAX_RESP_SIZE)."""
