"""Faults on demand: what tests arm at a server, and how each is undone. Never: when a session consults a fault."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Literal, Self

from aioifx.errors import InterfaceError, from_server
from aioifx.server.engine.engine import Engine
from aioifx.server.engine.session_registry import SessionRegistry
from aioifx.server.protocol.fault_points import Effect, FaultPoints, Match, StatementFault
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sqlite.databases import Databases, WriteRefusal

QUIESCENT: Final = -27002
"""The server accepts no connections in quiescent mode (documented)."""

_USER: Final = "informix"
_MODES: Final = ("exclusive", "share")


class Fault:
    """An armed fault, which is undone at the end of its block: ``with`` or ``async with``, or by `undo`."""

    def __init__(self, on_undo: Callable[[Fault], None]) -> None:
        self.hits = 0
        """How often it took effect: statements, logins or groups of requests."""
        self._on_undo: Callable[[Fault], None] | None = on_undo

    def undo(self) -> None:
        """Disarm it; idempotent. What it has done is not undone."""
        on_undo, self._on_undo = self._on_undo, None
        if on_undo is not None:
            on_undo(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.undo()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.undo()


@dataclass(frozen=True, slots=True)
class Host:
    """The server that the faults belong to."""

    databases: Callable[[], Databases]
    registry: SessionRegistry
    first_database: str
    """Empty if the server was started without databases."""
    drop_sessions: Callable[[], int]
    """Ends all connections; returns their number. Callable in any thread."""


class Faults:
    """The faults of a server: ``with server.faults.fail_next(-244, -107):``.

    Usable in any thread, without pytest as well. Each method arms a fault at once and returns it; as a context it is
    undone at the end of the block. Otherwise it stays armed until it has taken effect *times* times, or until `clear`.

    A statement is matched by its text. *match* is a part of it, in any case and with any white space; or a compiled
    expression, which is searched for. None matches every statement. ``BEGIN WORK``, ``COMMIT WORK``, ``ROLLBACK WORK``
    and ``SAVEPOINT name`` match also if the client sends a message without text. ``READ CHANGES`` matches a read of
    captured changes or of events. Faults of statements take effect when
    a statement is executed, or its cursor opened, not when it is prepared. Statements in routines and triggers are not
    matched.
    """

    def __init__(self, points: FaultPoints, host: Host) -> None:
        self._points = points
        self._host = host
        self._armed: dict[Fault, None] = {}
        self._pauses: dict[Fault, None] = {}
        self._refusals: dict[Fault, WriteRefusal] = {}
        self._usual_refusal: WriteRefusal | None = None

    def _new(self, on_undo: Callable[[], object] | None = None) -> Fault:
        def undo(fault: Fault) -> None:
            self._armed.pop(fault, None)
            self._points.remove(fault)
            if on_undo is not None:
                on_undo()

        fault = Fault(undo)
        self._armed[fault] = None
        return fault

    def clear(self) -> None:
        """Undo all faults."""
        for fault in list(self._armed):
            fault.undo()

    # -- statements ----------------------------------------------------------------------------------------------------

    def fail_next(
        self, sqlcode: int, isam: int = 0, *, match: Match = None, times: int | None = 1, token: str = ""
    ) -> Fault:
        """Let statements fail without being executed.

        The transaction stays open, as after most errors of Informix. After -458, a long transaction, it is rolled back
        (documented).

        Args:
            sqlcode: the codes of the error.
            isam: the codes of the error.
            match: see `Faults`.
            times: how often; None: until undone.
            token: the name in the error, such as that of a table or constraint.

        Raises:
            InterfaceError: an argument is invalid.
        """
        _check_code("sqlcode", sqlcode, -1)
        _check_code("isam", isam, 0)
        return self._of_statements(Effect.FAIL, match, times, SqlError(sqlcode, isam, token))

    def kill_during(
        self, match: Match = None, *, effect: Literal["before", "after"] = "before", times: int | None = 1
    ) -> Fault:
        """End connections in the middle of a statement, as when the server process is killed: without a reply.

        An open transaction is rolled back before the client notices the end of its connection (documented: the server
        rolls back what was not committed).

        Args:
            match: see `Faults`.
            effect: "before": the statement has had no effect. "after": it was executed; a COMMIT has committed, and so
                has a change outside a transaction.
            times: how many connections; None: until undone.

        Raises:
            InterfaceError: an argument is invalid.
        """
        if effect not in ("before", "after"):
            raise InterfaceError(f"effect: expected 'before' or 'after', got {effect!r}")
        return self._of_statements(Effect(effect), match, times)

    def _of_statements(
        self, effect: Effect, match: Match, times: int | None, failure: SqlError | None = None
    ) -> Fault:
        fault = self._new()
        try:
            self._points.add_statement_fault(StatementFault(effect, match, times, fault, failure))
        except InterfaceError:
            fault.undo()
            raise
        return fault

    # -- connections ---------------------------------------------------------------------------------------------------

    def drop_connections(self, match: Match = None) -> Fault:
        """End connections: all of them now, or each one that sends a statement that matches.

        The server closes the socket, as after onmode -z. Open transactions are rolled back; logins are answered after
        that. Statements that match are not executed. A pool replaces idle connections when its event loop reads that
        they have ended; a call before that is a `ConnectionLost`.

        Args:
            match: see `Faults`. None: all connections are ended now, and none later.

        Returns:
            A fault whose *hits* are the connections that were ended.
        """
        if match is not None:
            return self._of_statements(Effect.DROP_BEFORE, match, None)
        fault = self._new()
        fault.hits = self._host.drop_sessions()
        return fault

    def refuse(self, sqlcode: int = QUIESCENT) -> Fault:
        """Refuse logins; open connections are not affected.

        Args:
            sqlcode: the code in the reply: -27002, the server is in quiescent mode; -951, a wrong password; -25571, no
                more sessions (documented). 0: the connection is closed without a reply.
        """
        _check_code("sqlcode", sqlcode, 0)
        fault = self._new()
        self._points.add_refusal(fault, sqlcode)
        return fault

    def pause(self) -> Fault:
        """Answer nothing: neither logins nor requests. A statement that is running is completed and answered.

        Clients see what they see of a server that is blocked, or whose network drops packets.
        """
        fault = self._new(lambda: self._pauses.pop(fault, None))
        self._pauses[fault] = None
        self._points.add_pause(fault)
        return fault

    def resume(self) -> None:
        """Undo all pauses; waiting requests are answered."""
        for fault in list(self._pauses):
            fault.undo()

    def delay(self, seconds: float, jitter: float = 0.0) -> Fault:
        """Delay the reply to each login and to each group of requests, as a slow network does.

        Args:
            seconds: the delay.
            jitter: most seconds that are added at random.
        """
        _check_seconds("seconds", seconds)
        _check_seconds("jitter", jitter)
        fault = self._new()
        self._points.add_delay(fault, seconds, jitter)
        return fault

    # -- the whole server ----------------------------------------------------------------------------------------------

    def become_secondary(self, *, drop: bool = True) -> Fault:
        """Answer as a secondary server of an HDR or RSS cluster that is not updatable.

        Opening a database warns of a secondary server (documented: sqlwarn6), so ``role="primary"`` rejects it, and
        sysmaster:sysdri says so (documented; observed: JDBC's getHDRType reads it). Changes
        are -271, -346 or -240 with ISAM -140, and definitions likewise (see `aioifx.server.engine.write_refusals`).
        Temporary tables must be WITH NO LOG; others are -229 with -140. The isolation level is not changed.

        Args:
            drop: end all connections first, since a server restarts when its role changes (documented: switching roles
                shuts the server down). False: open connections remain, and their changes are refused.
        """
        return self._refusing(WriteRefusal.SECONDARY, drop)

    def full_disk(self) -> Fault:
        """Refuse what needs space: INSERT with -271, CREATE TABLE with -261, CREATE INDEX with -212, temporary tables
        with -229, each with ISAM -131 (documented codes). UPDATE and DELETE work: rows are changed in place.
        """
        return self._refusing(WriteRefusal.DISK_FULL, False)

    def _refusing(self, refusal: WriteRefusal, drop: bool) -> Fault:
        databases = self._host.databases()
        if not self._refusals:
            self._usual_refusal = databases.refusal

        def on_undo() -> None:
            del self._refusals[fault]
            databases.refusal = next(reversed(self._refusals.values()), self._usual_refusal)

        fault = self._new(on_undo)
        self._refusals[fault] = databases.refusal = refusal
        if drop:
            self._host.drop_sessions()
        return fault

    def lock(
        self, table: str, *, database: str | None = None, mode: Literal["exclusive", "share"] = "exclusive"
    ) -> Fault:
        """Hold a lock on a table in a session of its own, by LOCK TABLE in a transaction.

        Others meet it as any lock of another session, and sysmaster:syslocks shows it. An exclusive lock keeps out
        changes, and reads other than DIRTY READ; a shared one keeps out changes (documented: LOCK TABLE).

        Args:
            table: its name.
            database: the database; None: the server's first one.
            mode: "exclusive" or "share".

        Raises:
            DatabaseError: the table cannot be locked: -289, another session has locked it; -206, it does not exist.
            InterfaceError: *mode* is invalid; *database* is not a name, or is None and the server was started without
                databases.
        """
        if mode not in _MODES:
            raise InterfaceError(f"mode: expected one of {', '.join(_MODES)}, got {mode!r}")
        name = self._host.first_database if database is None else database
        _check_name("database", name or None)
        held = _HeldLock(self._host, name, f"LOCK TABLE {table} IN {mode.upper()} MODE")
        return self._new(held.release)


def _check_name(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise InterfaceError(f"{name}: expected the name of a database, got {value!r}")


def _check_seconds(name: str, value: object) -> None:
    if not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise InterfaceError(f"{name}: expected a number of seconds from 0, got {value!r}")


def _check_code(name: str, code: object, highest: int) -> None:
    """SQ_ERR has 16 bits for a code."""
    if not isinstance(code, int) or not -32768 <= code <= highest:
        raise InterfaceError(f"{name}: expected a code from -32768 to {highest}, got {code!r}")


class _HeldLock:
    """A session that holds a lock; it has a thread of its own, as every session."""

    def __init__(self, host: Host, database: str, sql: str) -> None:
        self._host = host
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="aioifx-fault")
        self._engine: Engine | None = None
        try:
            self._thread.submit(self._acquire, database, sql).result()
        except SqlError as error:
            self.release()
            raise from_server(error.sqlcode, error.isamcode, token=error.token, sql=sql) from None
        except BaseException:
            self.release()
            raise

    def _acquire(self, database: str, sql: str) -> None:
        databases, registry = self._host.databases(), self._host.registry
        entry = registry.register(_USER, program="faults.lock")
        settings = Settings(user=_USER, session_id=entry.session_id, routines=databases.routines)
        locale = databases.find(database).locale
        self._engine = Engine(databases, registry, entry, settings, database_locale=locale)
        self._engine.open_database(database)
        for text in ("BEGIN WORK", sql):
            self._engine.execute(self._engine.prepare(text))

    def release(self) -> None:
        """Roll back and end the session."""
        if self._engine is not None:
            self._thread.submit(self._engine.close).result()
        self._thread.shutdown()
