"""What the model's sessions know of change data capture: queries, routines, reads. Never: a wait, a message."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from aioifx.codecs.cdc_records import CdcRecord, RowImage, Timeout, encode_record, log_of
from aioifx.codecs.cdc_rows import RowLayout
from tests.system.simulation.model.changes import PAGE_BITS, ChangeLog, Image, index_of, sequence_at
from tests.system.simulation.model.statements import CODE_SET, TABLES

SESSION: Final = 0x1_0003
"""The number of the first session; SQ_LODATA has only 16 bits of it."""
NO_SESSION: Final = -83708
_NOT_FULL: Final = -83706
_CAPTURED: Final = -83710
_NOT_CAPTURED: Final = -83711


class Capture:
    """The capture session of a connection.

    Args:
        number: of the session.
        seconds: after which a read without data ends.
        most: records of a read.
    """

    def __init__(self, log: ChangeLog, dice: random.Random, number: int, seconds: int, most: int) -> None:
        self.number = number
        self.seconds = seconds
        self._log = log
        self._dice = dice
        self._most = most
        self._full: set[str] = set()
        self._labels: dict[str, int] = {}
        self._next: int | None = None
        self._unread = b""

    def call(self, routine: str, values: Sequence[Any]) -> int:
        """The result of a routine."""
        if routine == "set_fullrowlogging":
            (self._full.add if values[1] else self._full.discard)(values[0])
            return 0
        if values[0] != self.number:
            return NO_SESSION
        if routine == "activatesess":
            self._next = index_of(values[1]) if values[1] else len(self._log.entries)
            schemas = (layout_of(name).schema(label) for name, label in self._labels.items())
            self._unread = b"".join(map(encode_record, schemas))
            return 0
        table = values[2].rpartition(".")[2]
        if routine == "endcapture":
            return 0 if self._labels.pop(table, 0) else _NOT_CAPTURED
        if values[2] not in self._full or table in self._labels:
            return _CAPTURED if table in self._labels else _NOT_FULL
        self._labels[table] = values[4]
        return 0

    def take(self, size: int) -> bytes:
        """The next bytes; none if there are none yet."""
        records: list[bytes] = []
        while self._next is not None and self._next < len(self._log.entries) and len(records) < self._most:
            record = self._record(self._next)
            self._next += 1
            if record is not None:
                records.append(encode_record(record))
        data = self._unread + b"".join(records)
        if data and self._dice.random() < 0.3:  # records are cut anywhere
            size = min(size, self._dice.randint(1, len(data)))
        self._unread = data[size:]
        return data[:size]

    def silence(self) -> bytes:
        """TIMEOUT."""
        return encode_record(Timeout(sequence_at(max((self._next or 0) - 1, 0))))

    def _record(self, index: int) -> CdcRecord | None:
        """The record with that index; None if it is of a table that is not captured."""
        entry = self._log.entries[index]
        if not isinstance(entry, Image):
            return entry
        if entry.table not in self._labels:
            return None
        sizes, payload = layout_of(entry.table).encode(entry.row)
        label = self._labels[entry.table]
        return RowImage(entry.kind, sequence_at(index), entry.transaction, label, 0, sizes, payload)


@lru_cache
def layout_of(table: str) -> RowLayout:
    """The layout of the records of a table."""
    return RowLayout(TABLES[table], CODE_SET)


def rows_of(name: str, log: ChangeLog) -> list[tuple[Any, ...]]:
    """The row of a query on the logs, or on a server's name; of others one number."""
    end = log.end
    match name:
        case "server name":
            return [("ol_sim",)]
        case "current log":
            return [(log_of(end),)]
        case "end of the log":
            return [(log_of(end), (end & 0xFFFFFFFF) >> PAGE_BITS)]
        case _:
            return [(1,)]
