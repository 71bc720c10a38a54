"""Records of interleaved transactions -> committed transactions in commit order. Never: a session, a wait.

Invariants:
1. Transactions are told apart by their numbers between BEGIN and COMMIT only, because the server reuses the numbers.
2. Every row is decoded, or at least split into its columns, when it arrives; one that does not fit ends the capture.
3. A transaction without BEGIN is never delivered in part, except while a snapshot holds what came before.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Final, NamedTuple

from aioifx.cdc.position import Position
from aioifx.cdc.records import Change, CommittedTransaction, Incomplete, Table, utc
from aioifx.codecs.cdc_records import (
    Begin,
    CdcRecord,
    Commit,
    Discard,
    RecordKind,
    RecordReader,
    Rollback,
    RowImage,
    TableSchema,
    Truncate,
    encode_record,
)
from aioifx.errors import CdcError, InterfaceError, ProtocolError

logger: Final = logging.getLogger("aioifx.cdc")

_BLOCK: Final = 64 * 1024

_HINT: Final = (
    'start at an earlier position; if it was open when the first capture began: incomplete="skip", which leaves it out,'
    ' or after a snapshot incomplete="deliver"'
)


class Pairing:
    """Records of one transaction -> changes: UPDBEF waits for the next UPDAFT of its table."""

    __slots__ = ("_before", "_tables")

    def __init__(self, tables: Mapping[int, Table]) -> None:
        self._tables = tables
        self._before: dict[int, RowImage] = {}

    @property
    def is_complete(self) -> bool:
        """Whether no UPDBEF waits."""
        return not self._before

    def table(self, label: int) -> Table:
        """The table of a label."""
        try:
            return self._tables[label]
        except KeyError:
            raise ProtocolError(f"CDC record with the label {label}, which no table has") from None

    def discard(self, sequence: int) -> None:
        """Forget an UPDBEF from *sequence* on."""
        self._before = {label: image for label, image in self._before.items() if image.sequence < sequence}

    def take(self, record: RowImage | Truncate) -> Change | None:
        """The change that *record* completes; None for an UPDBEF."""
        table = self.table(record.label)
        if isinstance(record, Truncate):
            return Change("truncate", table.name, None, None, record.sequence)
        if (before := self.pair(record)) is record:
            return None
        row = table.make(table.layout.decode(record))
        match record.kind:
            case RecordKind.INSERT:
                return Change("insert", table.name, None, row, record.sequence)
            case RecordKind.DELETE:
                return Change("delete", table.name, row, None, record.sequence)
            case _:
                assert before is not None
                old = table.make(table.layout.decode(before))
                return Change("update", table.name, old, row, record.sequence)

    def pair(self, image: RowImage) -> RowImage | None:
        """The UPDBEF of an UPDAFT; *image* itself if it is an UPDBEF; None for others.

        Raises:
            ProtocolError: an UPDBEF or UPDAFT without the other, or a row of another table.
        """
        before = self._before.pop(image.label, None)
        if (before is not None) != (image.kind == RecordKind.UPDAFT):
            alone = image.kind.name if before is None else before.kind.name
            raise ProtocolError(f"CDC record {alone} without the other half of its update")
        if image.kind != RecordKind.UPDBEF:
            return before
        self.table(image.label).layout.check(image)
        self._before[image.label] = image
        return image


class _Mark(NamedTuple):
    """A place in a temporary file."""

    sequence: int
    """Of the record there."""
    at: int
    changes: int
    """How many are before it."""


class _Overflow:
    """Records of a transaction beyond those in memory, in a temporary file."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="aioifx-cdc-")
        self._size = 0
        self._marks: list[_Mark] = []
        """One for each block, so that a discard reads one or two blocks, however large the file is."""
        self.changes = 0

    def append(self, record: RowImage | Truncate) -> None:
        if not self._marks or self._size - self._marks[-1].at >= _BLOCK:
            self._marks.append(_Mark(record.sequence, self._size, self.changes))
        self._add(record, self._file.write(encode_record(record)))

    def _add(self, record: RowImage | Truncate, size: int) -> None:
        self._size += size
        self.changes += isinstance(record, Truncate) or record.kind != RecordKind.UPDBEF

    def __iter__(self) -> Iterator[RowImage | Truncate]:
        return self._records(0)

    def _records(self, at: int) -> Iterator[RowImage | Truncate]:
        if self._file.closed:
            raise InterfaceError("transaction: expected to be iterated before the next one is requested")
        reader = RecordReader(2**32)
        while True:
            self._file.seek(at)
            data = self._file.read(_BLOCK)
            if not data:
                return
            at = self._file.tell()
            for record in reader.feed(data):
                assert isinstance(record, (RowImage, Truncate))
                yield record

    def discard(self, sequence: int) -> None:
        """Drop the records from *sequence* on."""
        while len(self._marks) > 1 and self._marks[-1].sequence >= sequence:
            self._marks.pop()
        _, self._size, self.changes = self._marks[-1]
        for record in self._records(self._size):
            if record.sequence >= sequence:
                break
            self._add(record, len(encode_record(record)))
        self._file.truncate(self._size)
        self._file.seek(self._size)

    def close(self) -> None:
        self._file.close()


class _Open:
    """A transaction that has not ended."""

    def __init__(self, tables: Mapping[int, Table], begin: Begin | None, first: int, memory: int) -> None:
        self.begin = begin
        self.first = first
        """The sequence of its BEGIN, or else of its first change."""
        self.last = first
        self._tables = tables
        self._memory = memory
        self._pairing = Pairing(tables)
        self._changes: list[Change] = []
        self.overflow: _Overflow | None = None

    def add(self, record: RowImage | Truncate) -> None:
        self.last = record.sequence
        if self.overflow is None and (len(self._changes) < self._memory or not self._pairing.is_complete):
            change = self._pairing.take(record)
            if change is not None:
                self._changes.append(change)
            return
        if self.overflow is None:
            self.overflow = _Overflow()
        table = self._pairing.table(record.label)
        if isinstance(record, RowImage):
            self._pairing.pair(record)
            table.layout.check(record)
        self.overflow.append(record)

    def discard(self, sequence: int) -> None:
        self._pairing.discard(sequence)
        while self._changes and self._changes[-1].sequence >= sequence:
            self._changes.pop()
        if self.overflow is not None:
            self.overflow.discard(sequence)

    def committed(self, commit: Commit, restart: int) -> CommittedTransaction | None:
        """The transaction; None if it changed nothing."""
        if not self._pairing.is_complete:
            raise ProtocolError("CDC record UPDBEF without the other half of its update")
        spilled = 0 if self.overflow is None else self.overflow.changes
        count = len(self._changes) + spilled
        if not count:
            return None
        return CommittedTransaction(
            Position(restart, commit.sequence, self.last),
            utc(commit.time),
            self._changes,
            transaction=commit.transaction,
            user=self.begin.user if self.begin is not None else 0,
            count=count,
            further=self._further if spilled else None,
        )

    def _further(self) -> Iterator[Change]:
        assert self.overflow is not None
        pairing = Pairing(self._tables)
        for record in self.overflow:
            if (change := pairing.take(record)) is not None:
                yield change

    def close(self) -> None:
        if self.overflow is not None:
            self.overflow.close()


class Assembler:
    """Takes records in the order of the log, and gives transactions in the order of their commits.

    Args:
        tables: by label.
        start: the position at which the capture was continued; None: it began now.
        memory: changes of one transaction that are held in memory; the others go to a temporary file.
        incomplete: what becomes of a transaction that was open at the start.
    """

    def __init__(
        self,
        tables: Mapping[int, Table],
        start: Position | None = None,
        *,
        memory: int,
        incomplete: Incomplete = "error",
    ) -> None:
        self._tables = tables
        self._start = start
        self._memory = memory
        self._incomplete: Incomplete = incomplete
        self._open: dict[int, _Open] = {}
        self._delivered: _Open | None = None
        self.position = start
        """After the last transaction, also one without changes."""

    def feed(self, records: Iterable[CdcRecord]) -> Iterator[CommittedTransaction]:
        """The transactions that *records* complete. Each closes the temporary file of the one before.

        Raises:
            ProtocolError, DataError: a record is not what was asked for.
            CdcError: a transaction began before the start.
        """
        for record in records:
            if isinstance(record, (RowImage, Truncate)):
                self._opened(record).add(record)
            elif isinstance(record, Commit):
                if (transaction := self._on_commit(record)) is not None:
                    yield transaction
            elif isinstance(record, Begin):
                self._on_begin(record)
            elif isinstance(record, Rollback):
                self._drop(record.transaction)
            elif isinstance(record, Discard):
                if (found := self._open.get(record.transaction)) is not None:
                    found.discard(record.sequence)
            elif isinstance(record, TableSchema):
                table = self._tables.get(record.label)
                if table is None:
                    raise ProtocolError(f"TABSCHEMA with the label {record.label}, which no table has")
                table.layout.check_schema(record)

    def _on_begin(self, begin: Begin) -> None:
        if begin.transaction in self._open:
            raise ProtocolError(f"CDC record BEGINTX: transaction {begin.transaction} is open")
        self._open[begin.transaction] = _Open(self._tables, begin, begin.sequence, self._memory)

    def _opened(self, record: RowImage | Truncate) -> _Open:
        found = self._open.get(record.transaction)
        if found is None:
            found = self._open[record.transaction] = _Open(self._tables, None, record.sequence, self._memory)
        if record.sequence < found.last:
            raise ProtocolError(
                f"CDC record: sequence {record.sequence} after {found.last} in transaction {record.transaction}"
            )
        return found

    def _on_commit(self, commit: Commit) -> CommittedTransaction | None:
        self.release()
        found = self._open.pop(commit.transaction, None)
        start = self._start
        if found is None:
            return None
        if start is not None and commit.sequence <= start.commit:
            found.close()
            return None
        if found.begin is None and self._incomplete != "deliver":
            found.close()
            self._on_rest(commit.transaction)
            return None
        restart = min([commit.sequence, found.first, *(other.first for other in self._open.values())])
        if start is not None and any(other.begin is None for other in self._open.values()):
            restart = min(restart, start.restart)
        self._delivered = found
        transaction = found.committed(commit, restart)
        self.position = Position(restart, commit.sequence, found.last)
        return transaction

    def _on_rest(self, number: int) -> None:
        """A transaction that had begun before the start was committed."""
        if self._incomplete == "skip":
            logger.warning("transaction %d was open when the capture began, and is left out", number)
            return
        error = CdcError(f"transaction {number} began before the position of the start")
        error.add_note(_HINT)
        raise error

    def _drop(self, number: int) -> None:
        if (found := self._open.pop(number, None)) is not None:
            found.close()

    def release(self) -> None:
        """Close the temporary file of the transaction that was delivered last."""
        if self._delivered is not None:
            self._delivered.close()
            self._delivered = None

    def close(self) -> None:
        """Close all temporary files."""
        self.release()
        for number in [*self._open]:
            self._drop(number)
