"""Records of change data capture <-> bytes: headers, kinds, TABSCHEMA's text. Never: the values of a row, the session.

Wire: 4 header size · 4 payload size · 4 scheme 66 · 4 kind · the kind's fields · 4 for each variable column · payload.
All big-endian, except that the sizes of variable columns may be in the server's own order.
Source: documented (CDC API Programmer's Guide); the header and INSERT were observed on 14.10 (two frames, in
tests/codecs/test_cdc_records.py); JDBC's engine reads all kinds in this layout (observed).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from aioifx.errors import DataError, ProtocolError

SCHEME: Final = 66
"""CDC_PKTSCHEME_LRECBINARY, the only scheme there is (documented)."""

MAX_RECORD: Final = 16 * 1024 * 1024
"""The most bytes of a record by default; larger than any row without large objects."""


class RecordKind(IntEnum):
    """The number of a kind of record, as in `syscdcrectypes`."""

    BEGINTX = 1
    COMMTX = 2
    RBTX = 3
    INSERT = 40
    DELETE = 41
    UPDBEF = 42
    UPDAFT = 43
    DISCARD = 62
    TRUNCATE = 119
    TABSCHEMA = 200
    TIMEOUT = 201
    ERROR = 202


class Begin(NamedTuple):
    """BEGINTX: a transaction begins."""

    sequence: int
    transaction: int
    time: int
    """Seconds since 1970 in UTC."""
    user: int
    """The number of the user in the operating system."""


class Commit(NamedTuple):
    """COMMTX: a transaction is committed."""

    sequence: int
    transaction: int
    time: int
    """Seconds since 1970 in UTC."""


class Rollback(NamedTuple):
    """RBTX: a transaction is rolled back."""

    sequence: int
    transaction: int


class RowImage(NamedTuple):
    """INSERT, DELETE, UPDBEF or UPDAFT: one row."""

    kind: RecordKind
    sequence: int
    transaction: int
    label: int
    """The number that `cdc_startcapture` gave the table."""
    flags: int
    sizes: bytes
    """The rest of the header: four bytes for each variable column."""
    payload: bytes


class Discard(NamedTuple):
    """DISCARD: the records of this transaction from this sequence on were rolled back."""

    sequence: int
    transaction: int


class Truncate(NamedTuple):
    """TRUNCATE: a table was emptied."""

    sequence: int
    transaction: int
    label: int


class TableSchema(NamedTuple):
    """TABSCHEMA: the columns of a captured table, before its first row."""

    label: int
    flags: int
    fixed_size: int
    """Bytes of all columns of fixed width."""
    fixed_columns: int
    variable_columns: int
    text: str
    """As in CREATE TABLE: ``id integer, name varchar(20)``; columns of fixed width first."""


class Timeout(NamedTuple):
    """TIMEOUT: nothing happened within the session's time limit."""

    sequence: int
    """Of the last data."""


class Failure(NamedTuple):
    """ERROR: capture failed."""

    flags: int
    code: int

    @property
    def is_final(self) -> bool:
        """Whether the session accepts only `cdc_closesess` from now on."""
        return bool(self.flags & 1)


CdcRecord: TypeAlias = (
    Begin | Commit | Rollback | RowImage | Discard | Truncate | TableSchema | Timeout | Failure
)

_HEADER: Final = Struct(">4I")
_ROW: Final = Struct(">QIII")
_SIZE: Final = 4
_ROW_AT: Final = _HEADER.size + _ROW.size

_FIELDS: Final[dict[RecordKind, tuple[Callable[..., CdcRecord], Struct]]] = {
    RecordKind.BEGINTX: (Begin, Struct(">QIqI")),
    RecordKind.COMMTX: (Commit, Struct(">QIq")),
    RecordKind.RBTX: (Rollback, Struct(">QI")),
    RecordKind.DISCARD: (Discard, Struct(">QI")),
    RecordKind.TRUNCATE: (Truncate, Struct(">QII")),
    RecordKind.TABSCHEMA: (TableSchema, Struct(">5I")),
    RecordKind.TIMEOUT: (Timeout, Struct(">Q")),
    RecordKind.ERROR: (Failure, Struct(">Ii")),
}
"""The fields of each kind except those of rows; what follows them in a longer header is skipped."""

_ROWS: Final = {
    int(kind): kind for kind in (RecordKind.INSERT, RecordKind.DELETE, RecordKind.UPDBEF, RecordKind.UPDAFT)
}
_KINDS: Final = {int(kind): kind for kind in RecordKind}


# -- reading ----------------------------------------------------------------------------------------------------------


class RecordReader:
    """Takes the data of reads, which may end anywhere, and gives the records that are whole.

    Args:
        max_record: bytes; a larger record is an error.
    """

    __slots__ = ("_failure", "_max_record", "_needed", "_rest")

    def __init__(self, max_record: int = MAX_RECORD) -> None:
        self._max_record = max_record
        self._rest = bytearray()
        self._needed = _HEADER.size
        """Bytes without which the next record, or its header, is not whole."""
        self._failure = ""

    @property
    def pending(self) -> int:
        """Bytes of a record that is not whole."""
        return len(self._rest)

    def feed(self, data: bytes) -> list[CdcRecord]:
        """The records that end in *data*, up to one that cannot be read.

        Raises:
            ProtocolError: the same as `check`.
        """
        self.check()
        records: list[CdcRecord] = []
        if self._rest or len(data) < self._needed:
            self._rest += data
            if len(self._rest) < self._needed:
                return records
            data = bytes(self._rest)
            self._rest.clear()
        try:
            self._rest += data[self._split(data, records) :]
        except ProtocolError as error:
            self._failure = str(error)
            if not records:
                raise
        return records

    def check(self) -> None:
        """Check that further records can be read.

        Raises:
            ProtocolError: what follows the last records is not a record, or one of more than *max_record* bytes.
        """
        if self._failure:
            raise ProtocolError(self._failure)

    def _split(self, buffer: bytes, records: list[CdcRecord]) -> int:
        """Append the records that are whole; returns where the next one begins."""
        pos, end = 0, len(buffer)
        self._needed = _HEADER.size
        while end - pos >= _HEADER.size:
            header, payload, scheme, number = _HEADER.unpack_from(buffer, pos)
            if scheme != SCHEME:
                raise ProtocolError(f"CDC record: expected scheme {SCHEME}, got {scheme}")
            stop = pos + header + payload
            if header < _HEADER.size or stop - pos > self._max_record:
                raise ProtocolError(f"CDC record: header of {header} bytes, payload of {payload}")
            if stop > end:
                self._needed = stop - pos
                break
            records.append(_decoded(buffer, pos, pos + header, stop, number))
            pos = stop
        return pos


def _decoded(buffer: bytes, pos: int, payload_at: int, stop: int, number: int) -> CdcRecord:
    payload = buffer[payload_at:stop]
    if (row := _ROWS.get(number)) is not None:
        if payload_at - pos < _ROW_AT:
            raise ProtocolError(f"CDC record {row.name}: header of {payload_at - pos} bytes")
        sequence, transaction, label, flags = _ROW.unpack_from(buffer, pos + _HEADER.size)
        return RowImage(row, sequence, transaction, label, flags, buffer[pos + _ROW_AT : payload_at], payload)
    kind = _KINDS.get(number)
    if kind is None:
        raise ProtocolError(f"CDC record of the unknown kind {number}")
    make, fields = _FIELDS[kind]
    if payload_at - pos < _HEADER.size + fields.size:
        raise ProtocolError(f"CDC record {kind.name}: header of {payload_at - pos} bytes")
    values = fields.unpack_from(buffer, pos + _HEADER.size)
    return make(*values, _schema_text(payload)) if kind == RecordKind.TABSCHEMA else make(*values)


def _schema_text(payload: bytes) -> str:
    # Assumed: UTF-8, the code set of syscdcv1, with or without a NUL at its end; JDBC accepts both.
    try:
        return payload.rstrip(b"\0").decode("utf-8")
    except UnicodeDecodeError:
        raise ProtocolError("CDC record TABSCHEMA: its text is not UTF-8") from None


def has_sizes(image: RowImage, sizes: tuple[int, ...]) -> bool:
    """Whether the header of *image* has these sizes of variable columns, in either byte order.

    A header that is longer than known has them first or last.
    """
    width = _SIZE * len(sizes)
    found = image.sizes
    if len(found) < width:
        return False
    wanted = (pack_sizes(sizes), pack_sizes(sizes, little_endian=True))
    return found[:width] in wanted or found[len(found) - width :] in wanted


# -- TABSCHEMA's text -------------------------------------------------------------------------------------------------

_ITEM: Final = re.compile(r'("(?:[^"]|"")*+"|\S++)\s++(.+)', re.DOTALL)


def split_schema(text: str) -> list[tuple[str, str]]:
    """TABSCHEMA's text as names and types: ``a integer not null, d decimal(10,2)``; quotes around a name are dropped.

    Raises:
        ProtocolError: no such text.
    """
    items: list[str] = []
    begin = depth = 0
    for at, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            items.append(text[begin:at])
            begin = at + 1
    items.append(text[begin:])
    columns: list[tuple[str, str]] = []
    for item in items if text.strip() else []:
        match = _ITEM.fullmatch(item.strip())
        if match is None:
            raise ProtocolError(f"CDC record TABSCHEMA: expected a name and a type, got {item!r}")
        name, sql_type = match.groups()
        columns.append((name[1:-1].replace('""', '"') if name[0] == '"' else name, sql_type))
    return columns


# -- writing ----------------------------------------------------------------------------------------------------------


def encode_record(record: CdcRecord, *, extra: bytes = b"") -> bytes:
    """The bytes of a record.

    Args:
        extra: appended to the header, as a later version of the server might.
    """
    match record:
        case RowImage(kind, sequence, transaction, label, flags, sizes, payload):
            fields = _ROW.pack(sequence, transaction, label, flags) + sizes
        case _:
            kind = next(kind for kind, (made, _) in _FIELDS.items() if made is record.__class__)
            _, packing = _FIELDS[kind]
            payload = record.text.encode("utf-8") if isinstance(record, TableSchema) else b""
            values = record[:-1] if isinstance(record, TableSchema) else record
            fields = packing.pack(*values)
    fields += extra
    return _HEADER.pack(_HEADER.size + len(fields), len(payload), SCHEME, kind) + fields + payload


def pack_sizes(sizes: tuple[int, ...], *, little_endian: bool = False) -> bytes:
    """The sizes of variable columns, as the header of a row has them."""
    return b"".join(size.to_bytes(_SIZE, "little" if little_endian else "big") for size in sizes)


# -- sequences --------------------------------------------------------------------------------------------------------

_LOG_BITS: Final = 32
MAX_SEQUENCE: Final = 2**63 - 1
"""The largest position that `cdc_activatesess` takes, a BIGINT."""


def sequence_of(log: int, position: int) -> int:
    """The sequence number of a position in a log file.

    Source: observed: 14.10 (two frames); other clients use it in live tests

    Raises:
        DataError: it does not fit a BIGINT.
    """
    sequence = log << _LOG_BITS | position
    if not (0 <= position < 1 << _LOG_BITS and 0 <= sequence <= MAX_SEQUENCE):
        raise DataError(
            f"sequence number: expected a log file and a position in it, got {log} and {position}"
        )
    return sequence


def log_of(sequence: int) -> int:
    """The number of the log file, `syslogs.uniqid`, of a sequence number."""
    return sequence >> _LOG_BITS


def lsn_text(sequence: int) -> str:
    """A sequence number as Informix prints it: ``LSN(12,0x4a4c1b8)``."""
    return f"LSN({sequence >> _LOG_BITS},{sequence & 0xFFFFFFFF:#x})"
