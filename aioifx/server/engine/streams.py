"""Streams that SQ_LODATA reads as if they were smart large objects: of change data capture and of push data.

A routine adds a stream, and returns its number to the client as a descriptor. A read waits in the session's own thread,
so it keeps no other session waiting. Never: the contents of a stream.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Final, Protocol, TypeAlias, TypeVar

from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.interrupts import INTERRUPTED, Interrupts

_FIRST: Final = 1001
"""The first descriptor; smart large objects have small ones. Made up, since only their equality matters."""
_LAST: Final = 0x7FFF
"""SQ_LODATA has 16 bits for a descriptor (observed: JDBC)."""
_NO_NUMBER: Final = -9810

S = TypeVar("S")

Wait: TypeAlias = Callable[[Callable[[], bool], float | None], bool]
"""``wait(is_ready, seconds)``, see `Streams.wait`."""


class Stream(Protocol):
    """What SQ_LODATA reads under a number."""

    def read(self, size: int, wait: Wait) -> bytes:
        """The next bytes, at most *size*; it may wait for them.

        Raises:
            SqlError: the stream has failed, or the client has disconnected.
        """
        ...

    def close(self) -> None:
        """Called when the stream is removed, or its session ends."""
        ...


class StreamNumbers:
    """The numbers of all streams of a server; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._used: set[int] = set()
        self._last = _FIRST - 1

    def take(self) -> int:
        """A number that no stream has; one that was given back is not used again at once.

        Raises:
            SqlError: -9810, all are used.
        """
        with self._lock:
            for _ in range(_FIRST, _LAST + 1):
                self._last = self._last + 1 if self._last < _LAST else _FIRST
                if self._last not in self._used:
                    self._used.add(self._last)
                    return self._last
            raise SqlError(_NO_NUMBER)

    def give_back(self, number: int) -> None:
        """Make a number available again."""
        with self._lock:
            self._used.discard(number)


class Streams:
    """The streams of one session, used in its thread.

    Args:
        numbers: those of the server.
        interrupts: those of the session.
    """

    def __init__(self, numbers: StreamNumbers, interrupts: Interrupts) -> None:
        self._numbers = numbers
        self._interrupts = interrupts
        self._known: dict[int, Stream] = {}
        self._woken = threading.Event()

    def add(self, stream: Stream) -> int:
        """Make a stream readable; returns its number."""
        number = self._numbers.take()
        self._known[number] = stream
        return number

    def find(self, number: int) -> Stream | None:
        """The stream of that number."""
        return self._known.get(number)

    def of_type(self, kind: type[S]) -> S | None:
        """The first stream of a class."""
        return next((each for each in self._known.values() if isinstance(each, kind)), None)

    def read(self, number: int, size: int) -> bytes:
        """The next bytes of a known stream, at most *size*.

        Raises:
            SqlError: as `Stream.read`; -213, interrupted before the read.
        """
        self._interrupts.check()
        return self._known[number].read(size, self.wait)

    def remove(self, number: int) -> None:
        """Close a stream; ignored if there is none."""
        stream = self._known.pop(number, None)
        if stream is not None:
            self._numbers.give_back(number)
            stream.close()

    def close_all(self) -> None:
        """Close all streams."""
        for number in list(self._known):
            self.remove(number)

    def wake(self) -> None:
        """Let a waiting read look again; callable in any thread."""
        self._woken.set()

    def wait(self, is_ready: Callable[[], bool], seconds: float | None) -> bool:
        """Wait until *is_ready* is true, which is asked first and after each `wake`; returns whether it is.

        An interrupt does not end the wait (observed: a read of changes appears to be uninterruptible). Assumed: it ends
        the session's next statement.

        Args:
            is_ready: whether the read can go on.
            seconds: the longest wait; None: no limit.

        Raises:
            SqlError: -213, the client has disconnected.
        """
        end = None if seconds is None else monotonic() + seconds
        while True:
            self._woken.clear()
            if self._interrupts.is_permanent:
                raise SqlError(*INTERRUPTED)
            if is_ready():
                return True
            left = None if end is None else end - monotonic()
            if left is not None and left <= 0:
                return False
            self._woken.wait(left)
