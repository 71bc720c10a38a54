"""A peer that describes tables, and answers the routines of syscdcv1 and SQ_LODATA, as a server with CDC does."""

from __future__ import annotations

from collections import deque
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
from aioifx.sqltypes import Column, Row, SqlType, TypeCode
from aioifx.testing.messages import EOT, EXIT, column, described, done, takes
from aioifx.testing.script import Answer, Delayed, Disconnect, Peer, login
from aioifx.wire import objects, requests
from aioifx.wire.outbox import Outbox
from aioifx.wire.session_requests import Exit
from tests.codecs.samples import INTEGER, VARCHAR

ROUTINE = 56
"""Statement type of EXECUTE FUNCTION (observed)."""

DSN = "informix://informix:secret@127.0.0.1/stores?server=ol_script&db_locale=en_US.utf8"
ORDERS = "stores:informix.orders"
UTF8 = code_set_of("en_US.utf8")
COLUMNS = (Column("id", INTEGER), Column("name", VARCHAR))
LAYOUT = RowLayout(COLUMNS, UTF8)
TEXT = column("env_value", TypeCode.VARCHAR, 127)
NUMBER = column("", TypeCode.INTEGER, 4)
CODES = (column("errcode", TypeCode.INTEGER, 4), column("errname", TypeCode.VARCHAR, 16), TEXT)
LOST = Disconnect(reset=True)
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
    content = b"".join(part if isinstance(part, bytes) else encode_record(part) for part in parts)
    outbox = Outbox()
    objects.put_object_data(outbox, objects.ObjectData(0, len(content), content))
    return outbox.detach() + EOT


NOTHING = data(Timeout(sequence(1)))


class CdcPeer(Peer):
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
        warnings: int | None = None,
        results: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        super().__init__(login() if warnings is None else login(warnings=warnings), with_login=True)
        self.results = {"opensess": SESSION, **results}
        self.replies = deque(replies)
        self.calls: list[tuple[str, ...]] = []
        """Routines with their arguments."""
        self.reads: list[tuple[int, int]] = []
        self.has_ended = False
        self._logs = logs
        self._columns = columns
        self._prepared: dict[int, str] = {}
        self._given: tuple[str, ...] = ()

    def own_reply(self, group: list[requests.Request]) -> Answer | None:
        match group:
            case [Exit()]:
                self.has_ended = True
                return EXIT
            case [objects.ReadObject(handle, size)]:
                self.reads.append((handle, size))
                return self.replies.popleft() if self.replies else Delayed(NOTHING)
            case [requests.Prepare(_, sql), *_] if not sql.startswith(b"set "):
                number = len(self._prepared) + 1
                self._prepared[number] = sql.decode()
                kind = ROUTINE if b"cdc_" in sql else 2
                return described(number, *self._described(sql.decode()), kind=kind, row_size=200)
            case [requests.Id(number), *rest] if number in self._prepared:
                return self._run(self._prepared[number], rest)
        return None

    def _described(self, sql: str) -> Sequence[Column]:
        if "first 1 *" in sql:
            return self._columns
        if "syscdcerrcodes" in sql:
            return CODES
        if "used" in sql:
            return (NUMBER, NUMBER)
        return (TEXT,) if "sysenv" in sql else (NUMBER,)

    def _run(self, sql: str, rest: list[requests.Request]) -> Answer:
        if any(isinstance(request, requests.DescribeInput) for request in rest):
            return takes(*(SqlType(TypeCode.LVARCHAR, 2048) for _ in range(sql.count("?"))))
        for request in rest:
            if isinstance(request, requests.Bind):
                self._given = tuple(entry.data.decode("latin-1") for entry in request.entries)
        if not any(isinstance(request, requests.Fetch) for request in rest):
            return EOT
        if not any(isinstance(request, requests.Open) for request in rest):
            return done() + EOT
        rows = self._rows(sql)
        framed = RowEncoder(self._described(sql), UTF8).encode(rows)
        return bytes(framed) + done(len(rows)) + EOT

    def _rows(self, sql: str) -> list[Row]:
        if "cdc_" in sql:
            routine = sql.partition("cdc_")[2].partition("(")[0]
            self.calls.append((routine, *self._given))
            return [(self.results.get(routine, 0),)]
        if "syscdcerrcodes" in sql:
            return [(-83713, "CDC_E_LSN", "not in the logs"), (-83708, "CDC_E_NOSESS", "no session")]
        if "sysenv" in sql:
            return [("ol_real",)]
        if "used" in sql:
            return [(12, 0)]
        return [(self._logs[0 if "min(" in sql else 1],)]
