"""Reading the log of captured changes from a position on. Never: waiting for more, records of a client."""

from __future__ import annotations

from typing import BinaryIO, Final

from aioifx.server.sqlite.change_entries import Entry, Facts, Kind, frames
from aioifx.server.sqlite.change_log import ChangeLog

_CHUNK: Final = 64 * 1024
_OFFSETS: Final = 0xFFFFFFFF


class ChangeReader:
    """The entries of a log from a position on; used by one thread.

    Args:
        position: where to begin; None: at the end, without transactions that have begun before.

    Raises:
        LookupError: the log does not have the position.
    """

    def __init__(self, log: ChangeLog, position: int | None) -> None:
        self._log = log
        self._databases: dict[int, str] = {}
        """Of the transactions that have begun."""
        self._file: BinaryIO | None = None
        self._chunk, self._chunk_at = b"", 0
        self._end = log.end
        """The log's end, as last asked for."""
        self.position = self._end if position is None else position
        """All entries before it have been read."""
        if not log.first <= self.position <= self._end:
            raise LookupError(position)
        if position is not None:
            self._skip()

    def _skip(self) -> None:
        """Read the file up to the entry of the position, to know the databases of the transactions that go on there."""
        wanted, first = self.position, self.position & ~_OFFSETS
        self.position = first
        for begin, after, facts in frames(self._bytes, 0):
            if first + after > wanted:
                break
            self._entry(first + begin, facts)
            self.position = first + after

    def read(self) -> Entry | None:
        """The next entry; None if there is none yet.

        Raises:
            LookupError: the log no longer has it.
        """
        self._end = self._log.end
        while self.position < self._end:
            found = next(frames(self._bytes, self.position & _OFFSETS), None)
            if found is not None:
                begin, after, facts = found
                first = self.position & ~_OFFSETS
                self.position = first + after
                return self._entry(first + begin, facts)
            if self._is_current:
                return None
            self.close()
            self.position = self._number + 1 << 32
        return None

    @property
    def _number(self) -> int:
        return self.position >> 32

    @property
    def _is_current(self) -> bool:
        return self._end >> 32 == self._number

    def _entry(self, position: int, facts: Facts) -> Entry:
        kind, number, *rest = facts
        if kind == Kind.BEGIN:
            self._databases[number] = rest[1]
        database = self._databases.get(number, "")
        if kind in (Kind.COMMIT, Kind.ROLLBACK):
            self._databases.pop(number, None)
        return Entry(position, Kind(kind), number, database, tuple(rest))

    def _bytes(self, offset: int, size: int) -> bytes:
        """Bytes of the current file."""
        begin = offset - self._chunk_at
        if begin < 0 or begin + size > len(self._chunk):
            self._chunk, self._chunk_at, begin = self._loaded(offset, max(size, _CHUNK)), offset, 0
        return self._chunk[begin : begin + size]

    def _loaded(self, offset: int, size: int) -> bytes:
        """Bytes of the file, none beyond the log's end: those may be withdrawn."""
        if self._is_current:
            size = min(size, (self._end & _OFFSETS) - offset)
        if size <= 0:
            return b""
        if self._file is None:
            try:
                self._file = open(self._log.path(self._number), "rb", buffering=0)
            except FileNotFoundError:
                raise LookupError(self.position) from None
        self._file.seek(offset)
        return self._file.read(size)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._chunk, self._chunk_at = b"", 0
