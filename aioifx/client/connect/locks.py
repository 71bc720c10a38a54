"""Which sessions hold or wait for locks, from sysmaster, over a connection of its own. Never: the failed connection.

Invariants:
1. The failed connection, its transaction and its locks are not touched: the queries are dirty reads elsewhere.
2. A diagnosis ends within its time limit, and no failure of it is raised.

Source: documented: syslocks, syssessions (Administrator's Reference, SMI tables); assumed: syslcktab.grtime is the time
of the lock in UTC, as scripts for Informix read it (observed: OpenAdmin Tool and others)
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias

from aioifx.client.api.connection import Connection
from aioifx.client.config.addresses import Address
from aioifx.client.config.options import ConnectOptions
from aioifx.client.config.password import password_of
from aioifx.client.config.sqlhosts import lookup
from aioifx.client.connect.login import LoginAttempt
from aioifx.client.observation.operation import Operation
from aioifx.errors import DatabaseError, LockError, visible

NOTE_SECONDS: Final = 2.0
"""Time limit of a diagnosis that is added to an error."""

_MAX_LOCKS: Final = 500
_SYSMASTER: Final = "sysmaster"
_LOCKS: Final = (
    f"select first {_MAX_LOCKS} tabname, type, owner, max(waiter), count(*) from syslocks where dbsname = ? "
    "group by 1, 2, 3"
)
_SESSIONS: Final = (
    "select sid, username, hostname, pid, feprogram, connected, is_wlock, dbinfo('utc_current') from syssessions "
    "where sid in ({})"
)
_TIMES: Final = (
    "select n.tabname, t.sid, min(l.grtime) from syslcktab l, systabnames n, systxptab x, sysrstcb t "
    "where n.dbsname = ? and l.partnum = n.partnum and l.owner = x.address and x.owner = t.address "
    "and t.sid in ({}) group by 1, 2"
)
_WORDS: Final = re.compile(r"\w+")
_INTENT: Final = ("IS", "IX")
"""Locks of a table whose session also has locks of rows in it (documented)."""


@dataclass(frozen=True, slots=True)
class LockSession:
    """A session that holds a lock or waits for one."""

    session_id: int
    user: str = ""
    host: str = ""
    """Host of the client."""
    process_id: int = 0
    """Process of the client."""
    program: str = ""
    """Program of the client; of aioifx, its option *application_name* (assumed)."""
    connected: float | None = None
    """Seconds since it has connected; None: unknown, because the session has ended."""
    is_waiting: bool = False
    """Whether it waits for a lock itself."""

    @property
    def is_own_process(self) -> bool:
        """Whether this process opened it, for example another connection of the same pool."""
        return self.process_id == os.getpid() and self.host == socket.gethostname()

    def __str__(self) -> str:
        parts = [
            f"user {visible(self.user)}" if self.user else "",
            f"host {visible(self.host)}" if self.host else "",
        ]
        parts.append(f"program {visible(self.program)!r}" if self.program else "")
        if self.process_id:
            parts.append(f"process {self.process_id}{' (this one)' if self.is_own_process else ''}")
        parts.append(f"connected for {self.connected:.0f} s" if self.connected is not None else "")
        parts.append("waits for a lock itself" if self.is_waiting else "")
        described = ", ".join(filter(None, parts))
        return f"session {self.session_id}" + (f" ({described})" if described else "")


@dataclass(frozen=True, slots=True)
class TableLock:
    """The locks of one type that one session holds on one table, its rows or an index."""

    table: str
    """Name of the table or index."""
    type: str
    """As in sysmaster:syslocks: S shared, X exclusive, U update, IS, IX and SIX intent, XS and XR of keys, B byte."""
    count: int
    holder: LockSession
    waiter: LockSession | None
    """The first session that waits for one of them."""
    age: float | None
    """Seconds since the oldest lock of the session on the table; None: unknown."""

    def __str__(self) -> str:
        details = [self.type, f"{self.count} locks" if self.count > 1 else ""]
        details.append("" if self.age is None else f"for {self.age:.0f} s")
        text = f"{visible(self.table)} is locked ({', '.join(filter(None, details))}) by {self.holder}"
        return text if self.waiter is None else f"{text}; first waiter: {self.waiter}"


@dataclass(frozen=True, slots=True)
class LockDiagnosis:
    """The locks in a database at one moment, which is after the error: its cause may be gone.

    ``str`` describes it, one line for each lock.
    """

    database: str
    locks: tuple[TableLock, ...] = ()
    """Locks of other sessions. Only those on tables that the statement names, if there are any. The ones that other
    sessions wait for are first, then the oldest."""
    own_locks: tuple[TableLock, ...] = ()
    """Locks of the failed session that another session waits for, as after a deadlock. Empty unless the session number
    of its connection was known."""
    failure: str = ""
    """Why the locks are unknown; empty: they are not."""

    def __str__(self) -> str:
        if self.failure:
            return f"locks: unknown: {self.failure}"
        lines = [f"locks: {lock}" for lock in self.locks]
        lines += [f"locks: own: {lock}" for lock in self.own_locks]
        return "\n".join(lines) or f"locks: no other session has a lock in {self.database} any more"


_Locks: TypeAlias = list[TableLock] | str
"""The locks in a database, or why they are unknown."""


async def diagnose(
    options: ConnectOptions, target: Operation, database: str, error: DatabaseError, seconds: float
) -> LockDiagnosis:
    """The locks that may have caused *error*, within *seconds*. A failure is part of the result.

    Args:
        target: names the server, and the failed session if it is known.
    """
    locks = await _within(seconds, _locks_in(options, target, database))
    return _diagnosis(locks, target, database, error)


class LockNotes:
    """Adds the locks that caused errors of a connection or a pool to their notes.

    Errors of the same moment share the queries, so that many of them do not cause as many logins.
    """

    def __init__(self, options: ConnectOptions) -> None:
        self._options = options
        self._shared: dict[tuple[str, int, str], _SharedQueries] = {}

    async def add(self, operation: Operation, error: LockError) -> None:
        """Add a note, once."""
        if any(note.startswith("locks: ") for note in getattr(error, "__notes__", ())):
            return
        database = operation.database or self._options.database
        key = operation.host, operation.port, database
        shared = self._shared.get(key)
        if shared is None:
            query = partial(_locks_in, self._options, operation, database)
            shared = self._shared[key] = _SharedQueries(query)
        locks = await _within(NOTE_SECONDS, shared.result())
        error.add_note(str(_diagnosis(locks, operation, database, error)))


class _SharedQueries:
    """One run of the queries at a time. Those who ask during a run share the next one, which sees their locks."""

    def __init__(self, query: Callable[[], Coroutine[Any, Any, _Locks]]) -> None:
        self._query = query
        self._turn = asyncio.Lock()
        self._next: asyncio.Task[_Locks] | None = None
        self._waiting: Counter[asyncio.Task[_Locks]] = Counter()

    async def result(self) -> _Locks:
        if self._next is None:
            self._next = asyncio.Task(
                self._run()
            )  # not create_task: an eager one would begin before it is the next
        task = self._next
        self._waiting[task] += 1
        try:
            return await asyncio.shield(task)
        finally:
            self._waiting[task] -= 1
            if not self._waiting[task]:
                del self._waiting[task]
                if task is self._next:
                    self._next = None
                task.cancel()

    async def _run(self) -> _Locks:
        async with self._turn:
            self._next = None
            return await self._query()


async def _locks_in(options: ConnectOptions, target: Operation, database: str) -> _Locks:
    try:
        conn = await _connect(options, _address_of(options, target))
        try:
            return await _query(conn, database)
        finally:
            conn.terminate()
    except Exception as failure:
        return f"{type(failure).__name__}: {failure}"


async def _within(seconds: float, locks: Awaitable[_Locks]) -> _Locks:
    try:
        async with asyncio.timeout(seconds):
            return await locks
    except TimeoutError:
        return f"no answer within {seconds:g} s"


def _diagnosis(locks: _Locks, target: Operation, database: str, error: DatabaseError) -> LockDiagnosis:
    """The locks that may have caused *error*, of all or of those of the tables that its statement names."""
    if isinstance(locks, str):
        return LockDiagnosis(database, failure=locks)
    own = target.session_id
    others = [lock for lock in locks if lock.holder.session_id != own]
    named = {word.lower() for word in _WORDS.findall(f"{error.sql or ''} {error.token}")}
    relevant = [lock for lock in others if lock.table.lower() in named] or others
    return LockDiagnosis(
        database,
        tuple(sorted(relevant, key=lambda lock: (lock.waiter is None, -(lock.age or 0)))),
        tuple(lock for lock in locks if lock.holder.session_id == own and lock.waiter is not None),
    )


def _address_of(options: ConnectOptions, target: Operation) -> Address:
    """The address of the server; one from a file of servers may say whether it has TLS."""
    if not options.host:
        for address in lookup(options.sqlhosts, target.server_name, options.uses_tls):
            if (address.host, address.port) == (target.host, target.port):
                return address
    return Address(target.host, target.port, target.server_name)


async def _connect(options: ConnectOptions, address: Address) -> Connection[Any]:
    """A connection to sysmaster, in the server's locale, which applies to a client without DB_LOCALE (assumed)."""
    options = replace(options.for_question(_SYSMASTER), isolation="dirty_read", lock_wait=0, strip_char=True)
    attempt = LoginAttempt(options, address)
    attempt.sends_db_locale = False
    try:
        await attempt.connect()
        return await attempt.log_in(await password_of(options.password, options.client_code_set))
    finally:
        attempt.drop_unless_done()


async def _query(conn: Connection[Any], database: str) -> list[TableLock]:
    rows = await conn.fetch(_LOCKS, database)
    numbers = {int(number) for _, _, owner, waiter, _ in rows for number in (owner, waiter) if number}
    if not numbers:
        return []
    sessions, now = await _sessions(conn, numbers)
    times = await _times(conn, database, numbers)
    strong = {(table, owner) for table, type_, owner, _, _ in rows if type_.strip() not in _INTENT}
    found: list[TableLock] = []
    for table, type_, owner, waiter, count in rows:
        if type_.strip() in _INTENT and (table, owner) in strong:
            continue
        since = times.get((table, owner))
        found.append(
            TableLock(
                table,
                type_.strip(),
                int(count),
                sessions.get(owner) or LockSession(owner),
                None if not waiter else sessions.get(int(waiter)) or LockSession(int(waiter)),
                None if since is None or not now else max(0.0, now - since),
            )
        )
    return found


async def _sessions(conn: Connection[Any], numbers: Iterable[int]) -> tuple[dict[int, LockSession], float]:
    """The sessions by number, and the server's time in seconds."""
    rows = await conn.fetch(_SESSIONS.format(_list(numbers)))
    found = {
        sid: LockSession(
            sid,
            user.strip(),
            host.strip(),
            pid or 0,
            (program or "").strip(),
            max(0.0, now - connected),
            bool(waits),
        )
        for sid, user, host, pid, program, connected, waits, now in rows
    }
    return found, rows[0][-1] if rows else 0


async def _times(conn: Connection[Any], database: str, numbers: Iterable[int]) -> dict[tuple[str, int], int]:
    """When the oldest lock on a table was granted to a session; empty if the server has other tables for it."""
    try:
        rows = await conn.fetch(_TIMES.format(_list(numbers)), database)
    except DatabaseError:
        return {}
    return {(table, sid): granted for table, sid, granted in rows if granted}


def _list(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


for _class in (LockDiagnosis, LockSession, TableLock):  # tracebacks, reprs and pickles show the public path
    _class.__module__ = "aioifx.diagnosis"
