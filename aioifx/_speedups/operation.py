# cython: language_level=3, annotation_typing=False, binding=False, nonecheck=True, auto_pickle=False
# cython: freethreading_compatible=True
"""What every call of an observed connection runs: its start and its end. Never: an await, what an observer does.

Compiled from this file, with the types that operation.pxd declares.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeAlias

Identity: TypeAlias = "tuple[str, int, str, str, str, int | None]"
"""Host, port, server name, database and user of an operation, and its session number."""

_now = time.perf_counter
_epoch = time.time

_INTERRUPTS = (KeyboardInterrupt, SystemExit)
"""Raised by an observer, these reach the caller after all observers were called. A CancelledError, as of a future that
an observer asks for its result, does not cancel the caller."""


class CoreOperation:
    """The fields of `aioifx.Operation`, with what is needed until its end."""

    def __init__(self, name: Any, sql: str = "", parameters: int = 0) -> None:
        self.name, self.sql, self.parameters = name, sql, parameters
        self.batch_size: int | None = None
        self.host, self.port, self.server_name, self.database, self.user = "", 0, "", "", ""
        self.session_id: int | None = None
        self.pool = ""
        self.started_at = self.began = 0.0
        self.duration: float | None = None
        self.wait_time = self.queue_time = self.server_time = self.decode_time = 0.0
        self.rows = self.bytes_in = self.bytes_out = self.round_trips = 0
        self.lag: float | None = None
        self.position: int | None = None
        self.error: BaseException | None = None
        self.meter: Any = None
        """The channel of its last request; None at its end."""

    def set_identity(self, identity: Identity) -> None:
        """Set the fields about the server and the session."""
        self.host, self.port, self.server_name, self.database, self.user, self.session_id = identity


class CoreObservation:
    """The observers of one connection, or of a pool and its connections."""

    def __init__(self, make: type[Any], observers: tuple[Any, ...], identity: Identity, pool: str) -> None:
        self._make = make
        self.observers = observers
        self._on_start = tuple(observer.on_start for observer in observers)
        self._on_end = tuple(observer.on_end for observer in observers)
        self._identity = identity
        self._pool = pool

    def start(self, name: Any, sql: object = "", parameters: int = 0, session: Any = None) -> Any:
        """Start an operation; the caller must `end` it.

        Args:
            sql: a text of another type is rejected later, when it is prepared.
            session: None: the server is the one that the options name.
        """
        operation = self._make(name, sql if isinstance(sql, str) else "", parameters)
        operation.set_identity(self._identity if session is None else session.identity())
        operation.pool = self._pool
        operation.started_at = _epoch()
        operation.began = _now()
        try:
            self._notify(self._on_start, operation)
        except _INTERRUPTS as interrupt:
            self.end(operation, interrupt)
            raise
        return operation

    def end(
        self, operation: CoreOperation, error: BaseException | None = None, waited: float | None = None
    ) -> None:
        """End an operation. Idempotent.

        Args:
            waited: seconds that the caller waited; None: all the time.
        """
        if operation.duration is not None:
            return
        meter = operation.meter
        if meter is not None:
            operation.meter = None
            meter.add_outstanding_time(operation)
        duration = _now() - operation.began
        operation.duration = duration
        operation.wait_time = duration if waited is None else min(waited, duration)
        operation.error = error
        self._notify(self._on_end, operation)

    def _notify(self, methods: tuple[Callable[[Any], object], ...], operation: CoreOperation) -> None:
        """Call a method of each observer; an exception that interrupts is raised after all were called."""
        interrupt: BaseException | None = None
        for method in methods:
            try:
                method(operation)
            except _INTERRUPTS as error:
                interrupt = error
            except BaseException as error:
                self._log(self.observers[methods.index(method)], error)
        if interrupt is not None:
            raise interrupt

    def _log(self, observer: Any, error: BaseException) -> None:
        """Called with what an observer has raised."""
        raise NotImplementedError
