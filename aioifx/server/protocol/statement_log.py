"""The log of statements that ran: text, types of parameters, rows, round trips, errors. Never: values of parameters.

The last statements of a server are always kept, in bounded memory, so that a failing test can show them. A
`StatementLog` has all statements of a block. Round trips are the *turns* of `stats`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from threading import Lock
from typing import Final, NamedTuple, overload

from aioifx.errors import DatabaseError, from_server
from aioifx.server.sql.errors import SqlError
from aioifx.sqltypes import SqlType, TypeCode
from aioifx.wire.fields import BindEntry

RECENT_STATEMENTS: Final = 100
"""Number of statements that a server always keeps."""

LONGEST_TEXT: Final = 16_000
"""Characters of a statement that are kept."""

_SHOWN: Final = 200
"""Characters of a statement in a list of statements."""

_QUALIFIED: Final = (TypeCode.DATETIME, TypeCode.INTERVAL)


class StatementRecord:
    """One execution of a statement. A query is one record, however often the client fetches."""

    __slots__ = ("_failure", "_types", "database", "round_trips", "rows", "session_id", "sql")

    def __init__(
        self, sql: str, database: str = "", session_id: int = 0, types: tuple[SentType, ...] = ()
    ) -> None:
        self.sql = sql if len(sql) <= LONGEST_TEXT else f"{sql[:LONGEST_TEXT]}..."
        """The text, at most 16,000 characters. ``BEGIN WORK`` and others stand for messages without text."""
        self.database = database
        """The database that was open when it ran; empty if none was."""
        self.session_id = session_id
        """The value of DBINFO('sessionid')."""
        self.rows = 0
        """Rows that were changed, or fetched by the client."""
        self.round_trips = 0
        """Round trips from its preparation to the release of its cursor; 0 if all were shared with other statements."""
        self._types = types
        self._failure: SqlError | None = None

    @property
    def parameter_types(self) -> tuple[str, ...]:
        """The types of the values as the client sent them, without sizes: ``("INTEGER", "CHAR")``."""
        return tuple(map(_name_of, self._types))

    @property
    def error(self) -> DatabaseError | None:
        """The error that the client received; None if there was none."""
        failure = self._failure
        if failure is None:
            return None
        return from_server(
            failure.sqlcode,
            failure.isamcode,
            offset=failure.offset,
            token=failure.token,
            sql=self.sql,
            sqlstate=failure.sqlstate,
            text=failure.text,
        )

    def fail(self, failure: SqlError) -> None:
        """Note the error; a copy without its traceback, which has the values of the statement."""
        self._failure = SqlError(
            failure.sqlcode,
            failure.isamcode,
            failure.token,
            failure.offset,
            sqlstate=failure.sqlstate,
            text=failure.text,
        )

    def __str__(self) -> str:
        """One line: ``SELECT name FROM t WHERE id = ? (INTEGER): 1 row, 3 round trips``."""
        return self.line([self])

    def __repr__(self) -> str:
        return f"<StatementRecord {self}>"

    @property
    def kind(self) -> tuple[object, ...]:
        """Equal for executions that share a line in a list of statements."""
        return self.session_id, self.sql, self._types, str(self._failure)

    def line(self, records: Sequence[StatementRecord]) -> str:
        """One line for executions of this kind."""
        text = " ".join(self.sql.split())
        if len(text) > _SHOWN:
            text = f"{text[:_SHOWN]}..."
        types = f" ({', '.join(self.parameter_types)})" if self._types else ""
        times = "" if len(records) == 1 else f", {len(records)} times"
        rows = _counted(sum(record.rows for record in records), "row")
        trips = _counted(sum(record.round_trips for record in records), "round trip")
        failure = "" if self._failure is None else f", {self._failure}"
        return f"{text}{types}{times}: {rows}, {trips}{failure}"


class SentType(NamedTuple):
    """The type of a value of SQ_BIND."""

    code: int
    name: bytes
    """Of a type that has no number; otherwise empty."""
    precision: int


def sent_types(entries: Sequence[BindEntry]) -> tuple[SentType, ...]:
    """The types of the values of an SQ_BIND."""
    return tuple([SentType(code, name, precision) for code, _, name, _, precision, _ in entries])


def _name_of(sent: SentType) -> str:
    code = sent.code & 0xFF
    if sent.name:
        return sent.name.decode("latin-1").upper()
    if code in _QUALIFIED and sent.precision:
        return str(SqlType(code, sent.precision))
    try:
        return TypeCode(code).name
    except ValueError:
        return f"TYPE {code}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


class StatementLog(Sequence[StatementRecord]):
    """The statements that ran in a block, in the order in which they began; see `Server.statements`."""

    def __init__(self, database: str | None = None) -> None:
        self.round_trips = 0
        """Round trips of all sessions, including those without a statement, such as pings; a login is not counted."""
        self._database = database
        self._records: list[StatementRecord] = []

    @overload
    def __getitem__(self, index: int) -> StatementRecord: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[StatementRecord]: ...
    def __getitem__(self, index: int | slice) -> StatementRecord | Sequence[StatementRecord]:
        return self._records[index]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[StatementRecord]:
        return iter(tuple(self._records))

    def __str__(self) -> str:
        """One line for each statement, also if it was executed again and again; then round trips without one."""
        records = tuple(self._records)
        groups = [tuple(same) for _, same in groupby(records, key=lambda record: record.kind)]
        lines = [same[0].line(same) for same in groups]
        if (others := self.round_trips - sum(record.round_trips for record in records)) > 0:
            lines.append(f"without a statement: {_counted(others, 'round trip')}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        records, trips = len(self._records), self.round_trips
        return f"<StatementLog {_counted(records, 'statement')}, {_counted(trips, 'round trip')}>"

    def assert_round_trips(self, expected: int) -> None:
        """Compare the round trips so far.

        Raises:
            AssertionError: there were more or fewer; the message has the statements.
        """
        __tracebackhide__ = True
        if self.round_trips != expected:
            raise AssertionError(
                f"expected {_counted(expected, 'round trip')}, got {self.round_trips}:\n{self}".rstrip(":\n")
            )

    def includes(self, database: str) -> bool:
        """Whether statements in *database* are logged."""
        return self._database is None or self._database == database

    def append(self, record: StatementRecord) -> None:
        """Add a statement that begins."""
        self._records.append(record)


class Recorder:
    """The statements of one server; thread-safe."""

    def __init__(self) -> None:
        self._recent: deque[StatementRecord] = deque(maxlen=RECENT_STATEMENTS)
        self._logs: tuple[StatementLog, ...] = ()
        self._lock = Lock()
        """Held while `_logs` changes."""

    @property
    def recent(self) -> tuple[StatementRecord, ...]:
        """The last statements, oldest first."""
        return tuple(self._recent.copy())

    @contextmanager
    def logged(self, database: str | None) -> Generator[StatementLog, None, None]:
        """A log of the statements in the block."""
        log = StatementLog(database)
        with self._lock:
            self._logs = (*self._logs, log)
        try:
            yield log
        finally:
            with self._lock:
                self._logs = tuple(each for each in self._logs if each is not log)

    def add(self, record: StatementRecord) -> None:
        """Record a statement that begins."""
        self._recent.append(record)
        for log in self._logs:
            if log.includes(record.database):
                log.append(record)

    def on_round_trip(self, database: str) -> None:
        """Count a round trip of a session in *database*; called in the event loop."""
        for log in self._logs:
            if log.includes(database):
                log.round_trips += 1
