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
from typing import IO, Final

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


class _Overflow:
    """Records of a transaction beyond those in memory, in a temporary file."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="aioifx-cdc-")

    def append(self, record: CdcRecord) -> None:
        self._file.write(encode_record(record))

    def __iter__(self) -> Iterator[RowImage | Truncate]:
        if self._file.closed:
            raise InterfaceError("transaction: expected to be iterated before the next one is requested")
        reader, at = RecordReader(2**32), 0
        while True:
            self._file.seek(at)
            data = self._file.read(_BLOCK)
            if not data:
                return
            at = self._file.tell()
            for record in reader.feed(data):
                assert isinstance(record, (RowImage, Truncate))
                yield record

    def discard(self, sequence: int) -> int:
        """Drop the records from *sequence* on; returns how many changes are left."""
        size = changes = 0
        for record in self:
            if record.sequence >= sequence:
                break
            size += len(encode_record(record))
            changes += _completes(record)
        self._file.truncate(size)
        self._file.seek(size)
        return changes

    def close(self) -> None:
        self._file.close()


def _completes(record: RowImage | Truncate) -> bool:
    return isinstance(record, Truncate) or record.kind != RecordKind.UPDBEF


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
        self._spilled = 0

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
        self._spilled += _completes(record)

    def discard(self, sequence: int) -> None:
        self._pairing.discard(sequence)
        self._changes = [change for change in self._changes if change.sequence < sequence]
        if self.overflow is not None:
            self._spilled = self.overflow.discard(sequence)

    def committed(self, commit: Commit, restart: int) -> CommittedTransaction | None:
        """The transaction; None if it changed nothing."""
        if not self._pairing.is_complete:
            raise ProtocolError("CDC record UPDBEF without the other half of its update")
        count = len(self._changes) + self._spilled
        if not count:
            return None
        return CommittedTransaction(
            Position(restart, commit.sequence, self.last),
            utc(commit.time),
            self._changes,
            transaction=commit.transaction,
            user=self.begin.user if self.begin is not None else 0,
            count=count,
            further=self._further if self._spilled else None,
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
