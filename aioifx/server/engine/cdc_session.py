"""A capture session: which records the next read has. Never: the routines that open it, the layout of a record.

A read has whole records, at most as many as the session allows and as fit; one that alone does not fit comes in parts
(documented). It waits for the first one (documented: the timeout of cdc_opensess).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator
from time import time
from typing import Final

from aioifx.codecs import cdc_records
from aioifx.codecs.cdc_records import RecordKind
from aioifx.server.engine import cdc_quirks
from aioifx.server.engine.cdc_rows import CapturedTable, CdcError, encoded
from aioifx.server.engine.streams import Wait
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sqlite.change_entries import Entry, Kind
from aioifx.server.sqlite.change_log import ChangeLog
from aioifx.server.sqlite.change_reader import ChangeReader

_NO_USER: Final = 0
"""The number of the user in the operating system, which is not known; as in sysmaster:syssessions."""
_MANY: Final = 64
"""Records of a read if a quirk ignores the session's limit."""
_LONGEST_CUT: Final = 61
_AFTER: Final = 4
"""From the position of an UPDATE, which is that of UPDBEF, to the sequence of UPDAFT; an entry is longer."""
_IMAGES: Final = {Kind.INSERT: RecordKind.INSERT, Kind.DELETE: RecordKind.DELETE}


class CdcSession:
    """A capture session; used in the thread of the session that has opened it.

    Args:
        log: the server's log of changes.
        timeout: seconds for which a read waits; below 0: no limit.
        max_records: the most records of a read.
        version: the minor version of the interface.
        quirks: of the server.
        wake: lets a waiting read look again.
    """

    def __init__(
        self,
        log: ChangeLog,
        timeout: int,
        max_records: int,
        version: int,
        quirks: Collection[str],
        wake: Callable[[], None],
    ) -> None:
        self._log = log
        self._wake = wake
        log.add_listener(self._on_added)
        self.timeout = timeout
        self._max_records = max_records
        self._version = version
        self._quirks = quirks
        self._created = int(time())
        self.tables: dict[tuple[str, int], CapturedTable] = {}
        """By database and tabid."""
        self._databases: set[str] = set()
        self.error: tuple[int, int] = (0, 0)
        """The number of the last error of a routine, and its time."""
        self._reader: ChangeReader | None = None
        self._first = 0
        self._sequence = 0
        """Of the last record with data."""
        self._records: deque[bytes | memoryview] = deque()
        self._cut = b""
        """The whole of the record that has been read in part."""
        self._reads = 0
        self.on_close: Callable[[], object] = self._wake
        """Called when it is closed."""
        self.is_dead = False
        """Whether only cdc_closesess is allowed."""
        self._foreign = cdc_quirks.FOREIGN_ROWS in quirks

    # -- what routines change ------------------------------------------------------------------------------------------

    def activate(self, position: int) -> None:
        """Begin at a position; 0: now.

        Raises:
            CdcError: DUPLSESS, it is active (assumed); LSN.
        """
        if self._reader is not None:
            raise CdcError("DUPLSESS")
        try:
            self._reader = ChangeReader(self._log, position or None)
        except LookupError:
            raise CdcError("LSN") from None
        self._first = self._sequence = position or self._reader.position
        self._records.extend(table.schema_record() for table in self.tables.values())

    def deactivate(self) -> None:
        """End the capture; what has not been read is lost."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        self._records.clear()
        self._cut = b""

    def add_table(self, tabid: int, table: CapturedTable) -> None:
        """Capture a table; at once if the session is active (documented)."""
        self.tables[table.database, tabid] = table
        self._databases.add(table.database)
        if self._reader is not None:
            self._records.append(table.schema_record())

    def restart_record(self) -> int:
        """Let the next read begin with the record that the last one has cut; returns the number of such records."""
        if not self._cut:
            return 0
        self._records[0] = self._cut
        self._cut = b""
        return 1

    def close(self) -> None:
        """See `Stream.close`."""
        self._log.remove_listener(self._on_added)
        self.deactivate()
        self.on_close()

    def _on_added(self) -> None:
        self._wake()

    def row_of_syscdcsess(self, number: int) -> tuple[Stored, ...]:
        """Its row of syscdcsess (assumed: the status is 1 while it is active)."""
        status = int(self._reader is not None)
        return number, 1, self._version, self._sequence, self.timeout, self._created, 0, status, *self.error

    # -- reading -------------------------------------------------------------------------------------------------------

    def read(self, size: int, wait: Wait) -> bytes:
        """See `Stream.read`; nothing if the session is not active (assumed)."""
        if self._reader is None or (self.is_dead and not self._records):
            return b""
        wait(self._is_ready, None if self.timeout < 0 else self.timeout)
        if self._records:
            return self._taken(size)
        return encoded(cdc_records.Timeout(self._sequence), self._quirks)[:size]

    def _is_ready(self) -> bool:
        self._fill()
        wanted = self._max_records if cdc_quirks.HELD_BACK in self._quirks and not self.is_dead else 1
        return len(self._records) >= wanted

    @property
    def _limit(self) -> int:
        is_ignored = cdc_quirks.SEVERAL_RECORDS in self._quirks or cdc_quirks.CUT_RECORDS in self._quirks
        return _MANY if is_ignored else self._max_records

    def _fill(self) -> None:
        """Read as many records from the log as a read can have."""
        try:
            while len(self._records) < self._limit and not self.is_dead:
                entry = None if self._reader is None else self._reader.read()
                if entry is None:
                    return
                self._records.extend(self._records_of(entry))
        except LookupError:  # the log no longer has the file, or the table the form of the row
            self._die("LSN")

    def _die(self, name: str) -> None:
        """The last record says that only cdc_closesess is allowed."""
        self.is_dead = True
        self._records.append(encoded(cdc_records.Failure(1, CdcError(name).number), self._quirks))

    def _taken(self, size: int) -> bytes:
        cuts = cdc_quirks.CUT_RECORDS in self._quirks
        if cuts:
            self._reads += 1
            size = min(size, self._reads % _LONGEST_CUT + 1)
        taken: list[bytes | memoryview] = []
        while self._records and len(taken) < self._limit and size:
            record = memoryview(self._records[0])  # a slice of it copies nothing
            if len(record) > size:
                if taken and not cuts:
                    break
                self._cut = self._cut or bytes(record)
                self._records[0] = record[size:]
                taken.append(record[:size])
                break
            self._cut = b""
            taken.append(self._records.popleft())
            size -= len(record)
        return b"".join(taken)

    # -- records -------------------------------------------------------------------------------------------------------

    def _records_of(self, entry: Entry) -> Iterator[bytes]:
        """The records of an entry; none if no captured table can be concerned."""
        if entry.database not in self._databases:
            return
        sequence, transaction = entry.position, entry.transaction
        match entry.kind:
            case Kind.BEGIN:
                record: cdc_records.CdcRecord = cdc_records.Begin(
                    sequence, transaction, entry.facts[0], _NO_USER
                )
            case Kind.COMMIT:
                record = cdc_records.Commit(sequence, transaction, entry.facts[0])
            case Kind.ROLLBACK:
                record = cdc_records.Rollback(sequence, transaction)
            case Kind.DISCARD:
                record = cdc_records.Discard(entry.facts[0], transaction)
            case _:
                yield from self._records_of_change(entry)
                return
        if sequence >= self._first:
            self._sequence = sequence
            yield encoded(record, self._quirks)
            yield from self._odd_records(entry)

    def _odd_records(self, entry: Entry) -> Iterator[bytes]:
        """Those of quirks: a row of another table in the first transaction, an error after it."""
        if self._foreign and entry.kind is Kind.BEGIN:
            self._foreign = False
            table = next(iter(self.tables.values()))
            yield table.foreign_record(entry.position + _AFTER, entry.transaction)
        if cdc_quirks.DEAD_SESSION in self._quirks and entry.kind is Kind.COMMIT:
            self.is_dead = True
            yield encoded(cdc_records.Failure(1, CdcError("INTERNAL").number), self._quirks)

    def _records_of_change(self, entry: Entry) -> Iterator[bytes]:
        tabid, *rows = entry.facts
        table = self.tables.get((entry.database, tabid))
        if table is None:
            return
        position, transaction = entry.position, entry.transaction
        if entry.kind is Kind.TRUNCATE:
            if position >= self._first:
                self._sequence = position
                yield encoded(cdc_records.Truncate(position, transaction, table.label), self._quirks)
            return
        before, after = rows
        images = (
            ((RecordKind.UPDBEF, position, before), (RecordKind.UPDAFT, position + _AFTER, after))
            if entry.kind is Kind.UPDATE
            else ((_IMAGES[entry.kind], position, before or after),)
        )
        for kind, sequence, row in images:
            if sequence >= self._first:
                if position < table.first:  # assumed: what a server does with rows from before an ALTER TABLE
                    raise LookupError(position)
                self._sequence = sequence
                yield table.row_record(kind, sequence, transaction, row)
