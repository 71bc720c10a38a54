"""Operation, Observer and Stats: what is reported of a call, and what is counted. Never: when it is reported."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias, cast

from aioifx._speedups.operation import CoreOperation
from aioifx.errors import InterfaceError

OperationName: TypeAlias = Literal[
    "connect", "acquire", "prepare", "fetch", "fetchrow", "fetchval", "call", "execute", "executemany", "stream",
    "cursor", "load", "unload", "begin", "commit", "rollback", "cancel", "changes",
]  # fmt: skip


class Operation(CoreOperation):
    """One call of a user: what it was, what it cost, and how it ended. Observers must not change it.

    A stream and the result of a cursor are one operation each, from the first request to the last row or the close.
    The fields after `started_at` change while the operation runs, and are final in `Observer.on_end`.
    """

    name: OperationName
    """The method: "connect", "acquire", "prepare", "fetch", "fetchrow", "fetchval", "call", "execute", "executemany",
    "stream", "load", "unload", "begin", "commit", "rollback" or "cancel". "cursor": `Cursor.execute` and its rows.
    "changes": the wait for a transaction of `changes`, with the number of its changes as `rows`."""
    sql: str
    """The statement's text as the server gets it, with ``?`` for parameters; empty if there is none."""
    parameters: int
    """Number of parameters, of each row for "executemany" and "load". Their values are not kept."""
    batch_size: int | None
    """Rows given to "executemany", once they are known, or inserted by "load"; None for other operations."""
    host: str
    """Host of the server, or the option's first one while no connection is open."""
    port: int
    """Port of the server."""
    server_name: str
    """The DBSERVERNAME or alias."""
    database: str
    """The open database, at the start of the operation; empty: none."""
    user: str
    """User name of the login."""
    session_id: int | None
    """The server's session number, if `Connection.session_id` has been called, also by *lock_diagnosis*; else None."""
    pool: str
    """Name of the pool, if the connection belongs to one."""
    started_at: float
    """Seconds since the epoch."""
    duration: float | None
    """Seconds from start to end; None until then."""
    wait_time: float
    """Seconds that the caller waited. Less than `duration` for "stream" and "cursor" alone: without the time between
    two calls."""
    rows: int
    """Rows returned, inserted, updated or deleted; 0 after an error, except for "stream" and "cursor"."""
    bytes_in: int
    """Bytes received, without TLS."""
    bytes_out: int
    """Bytes sent, without TLS."""
    round_trips: int
    """Requests whose reply was awaited."""
    queue_time: float
    """Seconds of waiting for a connection of the pool and for other calls on the connection, with their cleanup."""
    server_time: float
    """Seconds in which a reply was outstanding and nothing arrived: the server and the network."""
    decode_time: float
    """Seconds of processing what arrived, mostly of decoding rows."""
    lag: float | None
    """For "changes": seconds from the commit to its delivery, by the clocks of both machines; else None."""
    position: int | None
    """For "changes": the sequence number of the commit; else None."""
    error: BaseException | None
    """The exception that the operation ended with, also `asyncio.CancelledError`; None after a success."""

    def __repr__(self) -> str:
        took = "running" if self.duration is None else f"{self.duration:.6f} s"
        failed = f", {type(self.error).__name__}" if self.error is not None else ""
        return f"<Operation {self.name} {took}{failed}>"

    def __reduce__(self) -> tuple[object, ...]:
        # copy and pickle do not find the fields of a compiled class.
        fields = {field: getattr(self, field) for field in Operation.__annotations__}
        return type(self), (self.name,), (None, {**vars(self), **fields, "meter": None})


class Observer(Protocol):
    """Gets the operations of `connect(observer=...)` and `create_pool(observer=...)`.

    Both methods are called in the event loop, and must not wait. What they raise is logged and goes no further,
    except KeyboardInterrupt and SystemExit.
    """

    def on_start(self, operation: Operation, /) -> object:
        """Called when an operation begins, in the task that runs it."""
        ...

    def on_end(self, operation: Operation, /) -> object:
        """Called once for each `on_start`. For a stream that was forgotten, this is when it is garbage-collected."""
        ...


Observers: TypeAlias = Observer | Sequence[Observer]
"""One observer, or several, which are called in order."""

default_observers: Final[list[Observer]] = []
"""Observers of all new connections and pools, in addition to their own, unless the option is an empty sequence."""

_EXPECTED: Final = "observer: expected an object with on_start and on_end, or a sequence of them"


def checked_observers(option: Observers | None) -> tuple[Observer, ...]:
    """The observers of an option.

    Raises:
        InterfaceError: one lacks a method, or has a coroutine function for it.
    """
    if option is None:
        return (*default_observers,)
    given = cast("Sequence[Observer]", option if isinstance(option, (list, tuple)) else (option,))
    for observer in given:
        for name in ("on_start", "on_end"):
            method = getattr(observer, name, None)
            if not callable(method):
                raise InterfaceError(f"{_EXPECTED}, got {type(observer).__name__}")
            if inspect.iscoroutinefunction(method):
                raise InterfaceError(f"observer: expected {name} not to be a coroutine function")
    return (*given, *default_observers) if given else ()


@dataclass(slots=True)
class Stats:
    """Counters of one connection."""

    round_trips: int = 0
    """Requests whose reply had to be awaited, by a call or, for deferred cleanup, by the next call. The login counts as
    four."""
    statements: int = 0
    """Statements prepared, or executed without preparation."""
    rows: int = 0
    """Rows received."""
