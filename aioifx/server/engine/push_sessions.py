"""Sessions of push data: what they have registered, the documents that they return, detaching and joining. Never: SQL.

Source: documented: Enterprise Replication manual, "Push data"; the sample of an event. assumed: an update is an event
if its new row satisfies the condition; TRUNCATE is none; registering begins at the end of the log.
"""

from __future__ import annotations

import json
import threading
from collections import Counter, deque
from collections.abc import Callable
from itertools import count
from typing import Final, NamedTuple, Protocol, TypeAlias

from aioifx.server.engine.streams import Wait
from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.change_entries import Entry, Kind
from aioifx.server.sqlite.change_log import ChangeLog
from aioifx.server.sqlite.change_reader import ChangeReader
from aioifx.server.sqlite.databases import Databases

_OPERATIONS: Final = {Kind.INSERT: "insert", Kind.UPDATE: "update", Kind.DELETE: "delete"}
_TIMEOUT: Final = b'{"ifx_isTimeout":"true"}'
_POSITIONS: Final = 32


class Refused(Exception):
    """A query is not accepted, or has no result for a row; says why."""


def reason(error: Refused | SqlError) -> str:
    """The text of an answer or of an event's document for an error (assumed)."""
    if isinstance(error, Refused):
        return str(error)
    return f"{error.sqlcode}{f' {error.token}' if error.token else ''}"


class Registration(NamedTuple):
    """One registered query."""

    database: str
    owner: str
    table: str
    query: str
    label: str
    is_delimident: bool = False
    """Whether double quotes in the query delimit names, as in the session that registered it (assumed)."""


class Watched(Protocol):
    """A registered query, ready to be used.

    Raises:
        Refused, SqlError: it has no result for the row.
    """

    def selected(self, image: bytes) -> str | None:
        """The query's columns of a row, as JSON; None if the row does not satisfy its condition."""
        ...

    def columns(self, image: bytes) -> str:
        """The same of any row."""
        ...


Apply: TypeAlias = Callable[[Registration], Watched]
"""The query of a registration; it raises Refused or SqlError if that can no longer be used."""


class PushSession:
    """A session of push data; used by the thread of the session that reads it.

    Args:
        session_id: by which a detached one is joined.
        log: of the changes.
    """

    def __init__(self, session_id: int, log: ChangeLog) -> None:
        self.session_id = session_id
        self.log = log
        self.is_detachable = False
        self.is_attached = True
        self.timeout: float | None = None
        """Seconds that a read waits; None: for ever."""
        self.max_records = 1
        self.max_pending = 0
        """Documents kept before others are discarded; 0: no limit."""
        self.after_txnid = 0
        self.after_time = 0
        self.watched: dict[tuple[str, int], list[Registration]] = {}
        """By database and tabid: the registered queries."""
        self._reader = ChangeReader(log, None)
        self._changes: dict[int, list[Entry]] = {}  # by transaction
        self._begins: dict[int, int] = {}
        self._pending: deque[str] = deque()
        self._skipped = self._reported = 0

    def begin_again(self) -> None:
        """Read the log from its first position on, for events after a transaction or a time."""
        self._reader.close()
        self._reader = ChangeReader(self.log, self.log.first)
        self._changes.clear()
        self._pending.clear()

    def read(self, size: int, wait: Wait, apply: Apply) -> bytes:
        """The next documents, whole ones, at most *size* bytes; or the document of a timeout.

        Args:
            wait: see `Streams.wait`.
            apply: see `Apply`.
        """
        try:
            if not wait(lambda: self._collect(apply), self.timeout):
                return _TIMEOUT
        except LookupError:
            return _error("the log no longer has the changes of the session")
        if self._skipped > self._reported:
            self._reported = self._skipped
            return json.dumps({"ifx_warn_total_skipcount": self._skipped}).encode()
        taken, left = list[bytes](), size
        while self._pending and len(taken) < self.max_records:
            document = self._pending[0].encode()
            left -= len(document)
            if left < 0:
                break
            taken.append(document)
            self._pending.popleft()
        if taken:
            return b"".join(taken)
        self._pending.popleft()
        return _error(f"Smartblob read API buffer size {size} is too small")

    def _collect(self, apply: Apply) -> bool:
        """Read the log until there is a document, or with a limit of pending ones to its end."""
        while self.max_pending or len(self._pending) < self.max_records:
            entry = self._reader.read()
            if entry is None:
                break
            self._take(entry, apply)
        return bool(self._pending)

    def _take(self, entry: Entry, apply: Apply) -> None:
        number = entry.transaction
        match entry.kind:
            case Kind.BEGIN:
                self._begins[number] = entry.position
                self._changes[number] = []
            case Kind.ROLLBACK:
                self._changes.pop(number, None)
            case Kind.DISCARD:
                (position,) = entry.facts
                kept = self._changes.get(number, [])
                while kept and kept[-1].position >= position:
                    kept.pop()
            case Kind.COMMIT:
                changes = self._changes.pop(number, [])
                if entry.position > self.after_txnid and entry.facts[0] > self.after_time:
                    for place, change in enumerate(changes, 1):
                        self._add(entry, place, change, apply)
            case _:
                self._changes.setdefault(number, []).append(entry)

    def _add(self, commit: Entry, place: int, change: Entry, apply: Apply) -> None:
        """Add the events of one change; a query that fails gives an error in place of its event."""
        operation = _OPERATIONS.get(change.kind)
        if operation is None:
            return
        tabid, before, after = change.facts
        begun = self._begins.get(change.transaction, 0)
        for registered in self.watched.get((change.database, tabid), ()):
            try:
                query = apply(registered)
                row = query.selected(before if after is None else after)
                old = query.columns(before) if row is not None and operation == "update" else None
            except (Refused, SqlError) as error:
                self._append(_error(reason(error)).decode())
                continue
            if row is None:
                continue
            facts = {
                "operation": operation,
                "table": registered.table,
                "owner": registered.owner,
                "database": registered.database,
                **({"label": registered.label} if registered.label else {}),
                "txnid": commit.position,
                "commit_time": commit.facts[0],
                "op_num": place,
                "restart_logid": begun >> _POSITIONS,
                "restart_logpos": begun & ((1 << _POSITIONS) - 1),
            }
            more = "" if old is None else f', "before_rowdata":{old}'
            self._append(f'{json.dumps(facts)[:-1]}, "rowdata":{row}{more}}}')

    def _append(self, document: str) -> None:
        if self.max_pending and len(self._pending) >= self.max_pending:
            self._skipped += 1
        else:
            self._pending.append(document)

    def close(self) -> None:
        """Close the log's file."""
        self._reader.close()


def _error(text: str) -> bytes:
    return json.dumps({"ifx_error": text}).encode()


class PushSessions:
    """The sessions of push data of one server, attached or not; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids = count(1)
        self._known: dict[int, PushSession] = {}
        self._watchers: Counter[tuple[str, int]] = Counter()

    def open(self, log: ChangeLog) -> PushSession:
        """A new session."""
        with self._lock:
            session = PushSession(next(self._ids), log)
            self._known[session.session_id] = session
            return session

    def join(self, session_id: int) -> PushSession | None:
        """Attach a detached session; None if there is none of that id, or it is attached."""
        with self._lock:
            session = self._known.get(session_id)
            if session is None or session.is_attached or not session.is_detachable:
                return None
            session.is_attached = True
            return session

    def leave(self, session: PushSession, databases: Databases) -> None:
        """Detach a session, which ends unless it is detachable."""
        session.close()
        session.is_attached = False
        if not session.is_detachable:
            self.delete(session, databases)

    def detached(self) -> list[PushSession]:
        """All that are not attached."""
        with self._lock:
            return [session for session in self._known.values() if not session.is_attached]

    def add(
        self, session: PushSession, key: tuple[str, int], registered: Registration, databases: Databases
    ) -> None:
        """Register a query of a table, whose changes are logged from now on."""
        with self._lock:
            session.watched.setdefault(key, []).append(registered)
            self._watchers[key] += 1
        self._watch(key[0], databases)

    def delete(self, session: PushSession, databases: Databases) -> None:
        """End a session and its registrations."""
        with self._lock:
            self._known.pop(session.session_id, None)
            for key, registered in session.watched.items():
                self._watchers[key] -= len(registered)
            left, session.watched = session.watched, {}
        session.is_detachable = False
        for database in {database for database, _ in left}:
            self._watch(database, databases)

    def _watch(self, name: str, databases: Databases) -> None:
        with self._lock:
            if name in databases.names:
                tabids = frozenset(
                    tabid for (each, tabid), times in self._watchers.items() if times and each == name
                )
                databases.watch(databases.find(name), tabids)
