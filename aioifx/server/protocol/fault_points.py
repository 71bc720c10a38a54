"""Faults that tests arm, and the points at which sessions consult them. Never: who arms a fault.

A session consults `FaultPoints` before its login is answered (`at_login`), before it answers requests (`hold`), and
before and after each execution of a statement (`before`, `after`). When nothing is armed, each point is one test of an
attribute.
"""

from __future__ import annotations

import asyncio
import random
import re
import threading
from collections.abc import Callable
from enum import Enum
from types import TracebackType
from typing import Final, Protocol, TypeAlias

from aioifx.errors import InterfaceError
from aioifx.server.protocol.statement_log import StatementRecord
from aioifx.server.sql.errors import SqlError

Match: TypeAlias = str | re.Pattern[str] | None
"""Statements: those that contain a text, or in which an expression is found; None for all."""

ENDING: Final = frozenset({-458})
"""SQLCODEs with which a server rolls the transaction back (documented: -458, long transaction)."""


class ConnectionDropped(Exception):
    """A fault ends the connection."""


class Effect(Enum):
    """What a fault does to a statement."""

    FAIL = "fail"
    """It is not executed; the client receives an error."""
    DROP_BEFORE = "before"
    """The connection ends; the statement is not executed."""
    DROP_AFTER = "after"
    """The connection ends; the statement was executed, and the client receives no reply."""


class Armed(Protocol):
    """The part of a fault that counts how often it took effect."""

    hits: int


class StatementFault:
    """A fault that takes effect when a statement is executed.

    Args:
        times: how often it takes effect; None for no limit.
        failure: the error of `Effect.FAIL`.

    Raises:
        InterfaceError: *match* or *times* is invalid.
    """

    def __init__(
        self, effect: Effect, match: Match, times: int | None, owner: Armed, failure: SqlError | None = None
    ) -> None:
        if times is not None and (type(times) is not int or times < 1):
            raise InterfaceError(f"times: expected a whole number from 1, or None, got {times!r}")
        self.effect = effect
        self.failure = failure
        self.owner = owner
        self.left = times
        self._is_match = _matcher(match)

    def is_for(self, sql: str, effects: tuple[Effect, ...]) -> bool:
        """Whether it takes effect now."""
        return self.effect in effects and self._is_match(sql)


def _matcher(match: Match) -> Callable[[str], bool]:
    if match is None:
        return lambda sql: True
    if isinstance(match, str):
        if not match.strip():
            raise InterfaceError("match: expected a part of a statement, got only blanks")
        match = re.compile(r"\s+".join(map(re.escape, match.split())), re.IGNORECASE)
    _check_expression(match)
    search = match.search
    return lambda sql: search(sql) is not None


def _check_expression(match: object) -> None:
    if not isinstance(getattr(match, "pattern", None), str):
        raise InterfaceError(f"match: expected text or a compiled expression of text, got {match!r}")


class Connected(Protocol):
    """The connection of a session: a `Channel`."""

    @property
    def is_open(self) -> bool: ...

    async def wait_closed(self) -> None: ...


class FaultPoints:
    """The faults that are armed in one server; thread-safe."""

    def __init__(self) -> None:
        self.on_statements = False
        """Whether `before` and `after` must be called."""
        self.on_requests = False
        """Whether `hold` must be called."""
        self._statement_faults: tuple[StatementFault, ...] = ()
        self._refusals: tuple[tuple[Armed, int], ...] = ()
        self._delays: tuple[tuple[Armed, float, float], ...] = ()
        self._pauses: tuple[Armed, ...] = ()
        self._paused: set[asyncio.Future[None]] = set()
        """One future for each session that waits for the end of a pause; each is set in its own loop."""
        self._ending: set[asyncio.Task[None]] = set()
        """Sessions that were dropped and are still rolling back."""
        self._lock = threading.Lock()

    # -- arming --------------------------------------------------------------------------------------------------------

    def add_statement_fault(self, fault: StatementFault) -> None:
        """Arm a fault of statements; earlier faults take effect before later ones."""
        with self._lock:
            self._statement_faults = (*self._statement_faults, fault)
            self._update()

    def add_refusal(self, owner: Armed, sqlcode: int) -> None:
        """Refuse logins with *sqlcode*; 0: close the connection without a reply."""
        with self._lock:
            self._refusals = (*self._refusals, (owner, sqlcode))

    def add_delay(self, owner: Armed, seconds: float, jitter: float) -> None:
        """Delay replies by *seconds* and a random part of *jitter*."""
        with self._lock:
            self._delays = (*self._delays, (owner, seconds, jitter))
            self._update()

    def add_pause(self, owner: Armed) -> None:
        """Answer nothing until the pause is removed."""
        with self._lock:
            self._pauses = (*self._pauses, owner)
            self._update()

    def remove(self, owner: Armed) -> None:
        """Disarm what *owner* armed; idempotent."""
        with self._lock:
            self._statement_faults = tuple(
                fault for fault in self._statement_faults if fault.owner is not owner
            )
            self._refusals = tuple(refusal for refusal in self._refusals if refusal[0] is not owner)
            self._delays = tuple(delay for delay in self._delays if delay[0] is not owner)
            self._pauses = tuple(each for each in self._pauses if each is not owner)
            self._update()

    def _update(self) -> None:
        self._statement_faults = tuple(fault for fault in self._statement_faults if fault.left != 0)
        self.on_statements = bool(self._statement_faults)
        self.on_requests = bool(self._delays or self._pauses)
        if not self._pauses:
            paused, self._paused = self._paused, set()
            for waiting in paused:
                waiting.get_loop().call_soon_threadsafe(_wake, waiting)

    def wait_for_end(self, task: asyncio.Task[None]) -> None:
        """Let logins wait until a session that was dropped after its login has ended; called in the event loop."""
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    # -- points --------------------------------------------------------------------------------------------------------

    async def at_login(self, connection: Connected) -> None:
        """Before a login is answered.

        Raises:
            SqlError: it is refused.
            ConnectionDropped: it is refused without a reply.
        """
        if self.on_requests:
            await self.hold(connection)
        if self._ending:
            await asyncio.wait(self._ending)
        for owner, sqlcode in self._refusals[:1]:
            owner.hits += 1
            if not sqlcode:
                raise ConnectionDropped
            raise SqlError(sqlcode)

    async def hold(self, connection: Connected) -> None:
        """Before requests are answered: waits as delays and pauses require, or until the client disconnects."""
        closed = asyncio.ensure_future(connection.wait_closed())
        try:
            for owner, seconds, jitter in self._delays:
                owner.hits += 1
                await asyncio.wait((closed,), timeout=seconds + jitter * random.random())
            while connection.is_open and (waiting := self._pause()) is not None:
                await asyncio.wait((closed, waiting), return_when=asyncio.FIRST_COMPLETED)
        finally:
            closed.cancel()

    def _pause(self) -> asyncio.Future[None] | None:
        """A future that is set at the end of the pause; None if there is no pause."""
        with self._lock:
            for owner in self._pauses:
                owner.hits += 1
            if not self._pauses:
                return None
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._paused.add(waiting)
            return waiting

    def before(self, sql: str) -> None:
        """Before a statement is executed; called in the session's thread.

        Raises:
            SqlError: it fails.
            ConnectionDropped: the connection ends.
        """
        fault = self._taken(sql, Effect.FAIL, Effect.DROP_BEFORE)
        if fault is None:
            return
        if fault.failure is None:
            raise ConnectionDropped
        failure = fault.failure
        raise SqlError(failure.sqlcode, failure.isamcode, failure.token)

    def after(self, sql: str) -> None:
        """After a statement was executed without an error, and before its reply.

        Raises:
            ConnectionDropped: the connection ends.
        """
        if self._taken(sql, Effect.DROP_AFTER) is not None:
            raise ConnectionDropped

    def _taken(self, sql: str, *effects: Effect) -> StatementFault | None:
        """The first fault that takes effect, which is counted."""
        with self._lock:
            for fault in self._statement_faults:
                if fault.is_for(sql, effects):
                    fault.owner.hits += 1
                    if fault.left is not None:
                        fault.left -= 1
                        self._update()
                    return fault
        return None


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


INTERNAL: Final = -768
"""SQLCODE of an error inside the server."""


class Execution:
    """Context of an execution, or of a part of it: faults take effect, and the record gets the error.

    Args:
        points: None: faults do not take effect in this part.
    """

    __slots__ = ("_points", "_sql", "record")

    def __init__(self, record: StatementRecord, sql: str, points: FaultPoints | None) -> None:
        self.record = record
        self._sql = sql
        self._points = points

    def __enter__(self) -> StatementRecord:
        if self._points is not None and self._points.on_statements:
            try:
                self._points.before(self._sql)
            except SqlError as failure:
                self.record.fail(failure)
                raise
        return self.record

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            if self._points is not None and self._points.on_statements:
                self._points.after(self._sql)
        elif not isinstance(error, ConnectionDropped):
            self.record.fail(error if isinstance(error, SqlError) else SqlError(INTERNAL))
