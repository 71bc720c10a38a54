"""The log of captured changes, as transactions append to it: its files and its positions. Never: SQLite, a reader.

A position is the number of a log file, shifted by 32 bits, plus an offset in it, as in Informix (documented: CDC API,
sequence numbers). The files are in a folder beside the databases. Each server begins a new one when it first has
something to append.

Invariants:
1. Who appends has the lock until its transaction has ended in the database's file. So the log has the order of the
   commits, and at most the last entry of a killed server is the end of a transaction that has not ended.
2. Readers have entries only after that.
3. All changes of a transaction are in one file.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import time
from typing import BinaryIO, Final

from aioifx.server.sqlite.change_entries import PAGE, Facts, Kind, encoded, frames
from aioifx.server.sqlite.private_files import private

LOG_BYTES: Final = 16 * 1024 * 1024
"""A file of at least that size gets a successor."""
LOG_FILES: Final = 16
"""Files that are kept."""

_SUFFIX: Final = ".log"
_FIRST_TRANSACTION: Final = 20
"""Numbers of transactions are small, and are used again (observed: real frames). Made up."""


class LoggedTransaction:
    """A transaction of which the log has the beginning and not the end."""

    __slots__ = ("changes", "logged", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        """Its number in the log."""
        self.logged = 0
        """The number of its entries in the undo log that the log has."""
        self.changes: list[tuple[int, int]] = []
        """Their numbers and their positions, of those that are changes of captured tables."""

    def copy(self) -> LoggedTransaction:
        """Its present state."""
        made = LoggedTransaction(self.number)
        made.logged, made.changes = self.logged, [*self.changes]
        return made


class ChangeLog:
    """The log of one server; thread-safe.

    Args:
        folder: of the files; it may not exist.
        size: see `LOG_BYTES`.
        files: see `LOG_FILES`.
    """

    def __init__(self, folder: Path, size: int = LOG_BYTES, files: int = LOG_FILES) -> None:
        self._folder = folder
        self._size = size
        self._files = files
        self._lock = threading.RLock()
        self._file: BinaryIO | None = None
        self._listeners: tuple[Callable[[], None], ...] = ()
        self._open: dict[tuple[str, int], LoggedTransaction] = {}
        self._ended: set[tuple[str, int]] = set()
        last = max(self.numbers, default=0)
        self._number = last if last and not self.pages(last) else last + 1
        self._offset = 0
        self.end = self._position
        """The position of the next entry; readers have those before it."""
        self.interleaves = False
        """Whether a COMMIT also logs what the other open transactions of the database have changed so far."""
        self.discards = False
        """Whether what a savepoint undoes is logged before, and discarded then."""

    # -- files and positions -------------------------------------------------------------------------------------------

    @property
    def numbers(self) -> list[int]:
        """The numbers of the files that exist."""
        return sorted(int(path.stem) for path in self._folder.glob(f"*{_SUFFIX}"))

    def path(self, number: int) -> Path:
        """The path of a file."""
        return self._folder / f"{number}{_SUFFIX}"

    def pages(self, number: int) -> int:
        """The number of pages of a file that is not the current one."""
        return -(-self.path(number).stat().st_size // PAGE)

    @property
    def first(self) -> int:
        """The first position that can be read."""
        return min([*self.numbers, self._number]) << 32

    @property
    def _position(self) -> int:
        return (self._number << 32) + self._offset

    def close_page(self) -> int:
        """Let the next entry begin a page; returns the number of pages of the current file before it."""
        with self._lock:
            if self._offset % PAGE:
                file = self._ready()
                self._offset = -(-self._offset // PAGE) * PAGE
                file.truncate(self._offset)
                self.end = self._position
            return self._offset // PAGE

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    # -- listeners -----------------------------------------------------------------------------------------------------

    def add_listener(self, listener: Callable[[], None]) -> None:
        """Call *listener* after each addition, in the thread that made it."""
        with self._lock:
            self._listeners += (listener,)

    def remove_listener(self, listener: Callable[[], None]) -> None:
        """Call it no more."""
        with self._lock:
            self._listeners = tuple(each for each in self._listeners if each != listener)

    # -- appending -----------------------------------------------------------------------------------------------------

    @contextmanager
    def appending(self) -> Generator[None, None, None]:
        """Context of additions; if it fails, there are none.

        Raises:
            OSError: the file cannot be written.
        """
        with self._lock:
            file = self._ready()
            offset = self._offset
            known = {key: each.copy() for key, each in self._open.items()}
            try:
                yield
                file.flush()
            except BaseException:
                self._cut(offset)
                self._open = known
                raise
            self.end = self._position
            for listener in self._listeners:
                listener()

    def _ready(self) -> BinaryIO:
        """The file to append to: the current one, or its successor."""
        if self._file is not None and self._offset >= self._size and not self._open:
            self._file.close()
            self._file = None
            self._number += 1
            self._offset = 0
            for number in self.numbers[: max(0, len(self.numbers) - self._files + 1)]:
                with suppress(OSError):  # Windows keeps a file that is being read
                    self.path(number).unlink()
        if self._file is None:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._file = open(self.path(self._number), "ab", opener=private)
        return self._file

    def _cut(self, offset: int) -> None:
        """Withdraw what was appended. The file is opened again: its buffer keeps what could not be written."""
        file, self._file = self._file, None
        with suppress(OSError):
            if file is not None:
                file.close()
        os.truncate(self.path(self._number), offset)
        self._offset = offset

    def _append(self, *facts: object) -> int:
        """Append an entry; returns its position."""
        assert self._file is not None, "only inside `appending`"
        position, data = self._position, encoded(facts)
        self._file.write(data)
        self._offset += len(data)
        return position

    def begun(self, database: str, number: int, started: float) -> LoggedTransaction:
        """The transaction that a database's undo log has under a number; its beginning is appended unless it was.

        Args:
            started: when it began, in seconds since the epoch; 0: now.
        """
        known = self._open.get((database, number))
        if known is None:
            used = {each.number for each in self._open.values()}
            free = next(each for each in range(_FIRST_TRANSACTION, 2**31) if each not in used)
            known = self._open[database, number] = LoggedTransaction(free)
            self._append(int(Kind.BEGIN), free, int(started or time()), database, number)
        return known

    def transaction(self, database: str, number: int) -> LoggedTransaction | None:
        """The same, or None if its beginning is not logged."""
        return self._open.get((database, number))

    def has_ended(self, database: str, number: int) -> bool:
        """Whether the log has the end of that transaction; known only if the log interleaves."""
        return (database, number) in self._ended

    def add_change(
        self, transaction: LoggedTransaction, entry: int, kind: Kind, *facts: int | bytes | None
    ) -> None:
        """Append a change.

        Args:
            transaction: whose change it is.
            entry: its number in the undo log.
            kind: the kind of the change.
            facts: see `Entry`.
        """
        transaction.changes.append((entry, self._append(int(kind), transaction.number, *facts)))

    def discard(self, database: str, number: int, kept: int) -> None:
        """Append that a transaction has only its first *kept* entries of the undo log, if the log has more."""
        transaction = self._open.get((database, number))
        if transaction is None:
            return
        transaction.logged = min(transaction.logged, kept)
        changes, position = transaction.changes, 0
        while changes and changes[-1][0] >= kept:
            _, position = changes.pop()
        if position:
            self._append(int(Kind.DISCARD), transaction.number, position)

    def end_transaction(self, database: str, number: int, kind: Kind) -> None:
        """Append COMMIT or ROLLBACK, unless the log does not have the beginning."""
        transaction = self._open.pop((database, number), None)
        if transaction is not None:
            self._append(int(kind), transaction.number, int(time()))
            if self.interleaves:
                self._ended.add((database, number))

    def flush(self) -> None:
        """Write what is appended, so that it survives the process.

        Raises:
            OSError: it cannot be written.
        """
        assert self._file is not None, "only inside `appending`"
        self._file.flush()

    # -- recovery ------------------------------------------------------------------------------------------------------

    def recover(self, unended: Collection[tuple[str, int]]) -> None:
        """Complete what a killed server has written: transactions that have no end are rolled back.

        A new file follows, so that the next recovery leaves this one: databases use numbers of transactions again.

        Args:
            unended: databases and numbers of the transactions that are rolled back there, whatever the log says.
        """
        last = max(self.numbers, default=0)
        if not last or not self.pages(last):
            return
        with open(self.path(last), "r+b") as file:

            def read(offset: int, size: int) -> bytes:
                file.seek(offset)
                return file.read(size)

            end, begun = 0, dict[int, tuple[str, int]]()
            void: tuple[int, dict[int, tuple[str, int]]] | None = None
            for start, after, facts in frames(read, 0):
                is_void = facts[0] == Kind.COMMIT and begun.get(facts[1]) in unended
                void = (start, {**begun}) if is_void else None
                _note(begun, facts)
                end = after
            if void is not None:  # the last entry; a number before it may be of a transaction that has ended
                end, begun = void
            file.seek(end)
            file.truncate()
            for number in begun:
                file.write(encoded((int(Kind.ROLLBACK), number, int(time()))))
        open(self.path(last + 1), "wb", opener=private).close()


def _note(begun: dict[int, tuple[str, int]], facts: Facts) -> None:
    if facts[0] == Kind.BEGIN:
        begun[facts[1]] = facts[3], facts[4]
    elif facts[0] in (Kind.COMMIT, Kind.ROLLBACK):
        begun.pop(facts[1], None)
