"""The log of the model's changes: which records a capture can have, and what was committed. Never: their bytes.

A transaction begins in the log with its first change. What it undoes of itself is a DISCARD. Numbers of transactions
are used again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import count
from typing import Any, Final, NamedTuple

from aioifx.codecs.cdc_records import Begin, Commit, Discard, RecordKind, Rollback, log_of, sequence_of

FILE: Final = 40
"""Records of a log file."""
PAGE_BITS: Final = 12
"""Each record has a page of its own, so that the end of the log is known by its pages."""
_USER: Final = 501


class Changed(NamedTuple):
    """A change of one row."""

    table: str
    before: tuple[Any, ...] | None
    after: tuple[Any, ...] | None

    @property
    def images(self) -> list[tuple[RecordKind, tuple[Any, ...]]]:
        """The rows of its records."""
        before, after = self.before, self.after
        if before is not None and after is not None:
            return [(RecordKind.UPDBEF, before), (RecordKind.UPDAFT, after)]
        return [(RecordKind.INSERT, after)] if after is not None else [(RecordKind.DELETE, before or ())]


class Image(NamedTuple):
    """A record of a row."""

    kind: RecordKind
    transaction: int
    table: str
    row: tuple[Any, ...]


class Committed(NamedTuple):
    """A transaction that was committed, with the sequences of its BEGIN and COMMIT."""

    begin: int
    commit: int
    changes: Sequence[Changed]


class ChangeLog:
    """Shared by all servers, as the database is."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.entries: list[Begin | Commit | Rollback | Discard | Image] = []
        self.committed: list[Committed] = []
        self.readers: dict[object, Callable[[], None]] = {}
        """What is called after each record, by who reads."""
        self._clock = clock
        self._open: dict[Hashable, Begin] = {}

    @property
    def end(self) -> int:
        """The sequence of the next record."""
        return sequence_at(len(self.entries))

    def add(self, transaction: Hashable, changes: Iterable[Changed]) -> int:
        """Note changes; returns the sequence of the first one."""
        if transaction not in self._open:
            used = {begin.transaction for begin in self._open.values()}
            number = next(each for each in count(1) if each not in used)
            begin = self._open[transaction] = Begin(self.end, number, int(self._clock()), _USER)
            self._append(begin)
        first, number = self.end, self._open[transaction].transaction
        for change in changes:
            for kind, row in change.images:
                self._append(Image(kind, number, change.table, row))
        return first

    def discard(self, transaction: Hashable, sequence: int) -> None:
        """The changes of an open transaction from *sequence* on are undone."""
        if transaction in self._open:
            self._append(Discard(sequence, self._open[transaction].transaction))

    def commit(self, transaction: Hashable, changes: Sequence[Changed]) -> None:
        """The transaction is committed, with these changes."""
        if (begin := self._open.pop(transaction, None)) is not None:
            self.committed.append(Committed(begin.sequence, self.end, changes))
            self._append(Commit(self.end, begin.transaction, int(self._clock())))

    def rollback(self, transaction: Hashable) -> None:
        """The transaction is rolled back."""
        if (begin := self._open.pop(transaction, None)) is not None:
            self._append(Rollback(self.end, begin.transaction))

    def _append(self, entry: Begin | Commit | Rollback | Discard | Image) -> None:
        self.entries.append(entry)
        for wake in list(self.readers.values()):
            wake()


def sequence_at(index: int) -> int:
    """The sequence of the record with that index, from 0."""
    return sequence_of(1 + index // FILE, index % FILE << PAGE_BITS)


def index_of(sequence: int) -> int:
    """The index of the first record from *sequence* on."""
    page = (sequence & 0xFFFFFFFF) + (1 << PAGE_BITS) - 1 >> PAGE_BITS
    return (log_of(sequence) - 1) * FILE + min(page, FILE)
