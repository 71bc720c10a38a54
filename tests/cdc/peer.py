"""A peer that describes tables, and answers the routines of syscdcv1 and SQ_LODATA, as a server with CDC does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from aioifx.codecs.cdc_records import (
    Begin,
    CdcRecord,
    Commit,
    RecordKind,
    RowImage,
    Timeout,
    encode_record,
    sequence_of,
)
from aioifx.codecs.cdc_rows import RowLayout
from aioifx.codecs.rows import RowEncoder
from aioifx.codecs.text import code_set_of
from aioifx.sqltypes import Column, Row, TypeCode
from aioifx.testing.messages import EOT, LOGGED, column, done
from aioifx.testing.script import Answer
from tests.codecs.samples import INTEGER, VARCHAR
from tests.streams import StreamPeer, data_of

DSN = "informix://informix:secret@127.0.0.1/stores?server=ol_script&db_locale=en_US.utf8"
ORDERS = "stores:informix.orders"
UTF8 = code_set_of("en_US.utf8")
COLUMNS = (Column("id", INTEGER), Column("name", VARCHAR))
LAYOUT = RowLayout(COLUMNS, UTF8)
TEXT = column("env_value", TypeCode.VARCHAR, 127)
NUMBER = column("", TypeCode.INTEGER, 4)
CODES = (column("errcode", TypeCode.INTEGER, 4), column("errname", TypeCode.VARCHAR, 16), TEXT)
SESSION = 1003


def sequence(number: int) -> int:
    """A sequence number in log file 12."""
    return sequence_of(12, number)


def begin(number: int, transaction: int = 7) -> Begin:
    return Begin(sequence(number), transaction, 1_700_000_000, 501)


def commit(number: int, transaction: int = 7, time: int = 1_700_000_001) -> Commit:
    return Commit(sequence(number), transaction, time)


def image(
    kind: RecordKind, number: int, row: Row, transaction: int = 7, label: int = 1, layout: RowLayout = LAYOUT
) -> RowImage:
    sizes, payload = layout.encode(row)
    return RowImage(kind, sequence(number), transaction, label, 0, sizes, payload)


def insert(number: int, key: int, transaction: int = 7, label: int = 1) -> RowImage:
    return image(RecordKind.INSERT, number, (key, f"name {key}"), transaction, label)


def update(number: int, key: int, name: str, transaction: int = 7) -> list[RowImage]:
    return [
        image(RecordKind.UPDBEF, number, (key, f"name {key}"), transaction),
        image(RecordKind.UPDAFT, number + 1, (key, name), transaction),
    ]


def data(*parts: bytes | CdcRecord) -> bytes:
    """A reply to SQ_LODATA with these records."""
    return data_of(b"".join(part if isinstance(part, bytes) else encode_record(part) for part in parts))


NOTHING = data(Timeout(sequence(1)))


class CdcPeer(StreamPeer):
    """Answers by *replies* to reads, in order, then by waiting; routines by *results*, 0 by default.

    Args:
        logs: the oldest and the current log file.
        columns: of every table.
    """

    def __init__(
        self,
        replies: Iterable[Answer] = (),
        *,
        logs: tuple[int, int] = (1, 99),
        columns: Sequence[Column] = COLUMNS,
        warnings: int = LOGGED,
        results: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        super().__init__(replies, NOTHING, warnings)
        self.results = {"opensess": SESSION, **results}
        self.calls: list[tuple[str, ...]] = []
        """Routines with their arguments."""
        self._logs = logs
        self._columns = columns

    def columns_of(self, sql: str) -> Sequence[Column] | None:
        if sql.startswith("set "):
            return None
        if "first 1 *" in sql:
            return self._columns
        if "syscdcerrcodes" in sql:
            return CODES
        if "used" in sql:
            return (NUMBER, NUMBER)
        return (TEXT,) if "sysenv" in sql else (NUMBER,)

    def result(self, sql: str, given: list[str]) -> Answer:
        rows = self._rows(sql, given)
        return bytes(RowEncoder(self.columns_of(sql) or (), UTF8).encode(rows)) + done(len(rows)) + EOT

    def _rows(self, sql: str, given: list[str]) -> list[Row]:
        if "cdc_" in sql:
            routine = sql.partition("cdc_")[2].partition("(")[0]
            self.calls.append((routine, *given))
            return [(self.results.get(routine, 0),)]
        if "syscdcerrcodes" in sql:
            return [(-83713, "CDC_E_LSN", "not in the logs"), (-83708, "CDC_E_NOSESS", "no session")]
        if "sysenv" in sql:
            return [("ol_real",)]
        if "used" in sql:
            return [(12, 0)]
        return [(self._logs[0 if "min(" in sql else 1],)]
