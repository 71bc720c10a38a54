"""The captured tables of a capture session, and the records of their rows. Never: which rows, when they are read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from time import time
from typing import Final

from aioifx.codecs.cdc_records import CdcRecord, RecordKind, RowImage, encode_record, pack_sizes
from aioifx.codecs.cdc_rows import RowLayout, is_captured
from aioifx.codecs.text import code_set_of
from aioifx.server.catalog.cdc_tables import NUMBERS
from aioifx.server.engine import cdc_quirks
from aioifx.server.sql.model.schema import ColumnDef, Schema, Table, TableKind
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.runtime.client_values import load
from aioifx.server.sqlite.databases import Database
from aioifx.server.sqlite.undo_log import unpacked
from aioifx.sqltypes import Column

_MORE: Final = bytes(4)
"""What a longer header has after the fields that are known."""

_FOREIGN_SIZES: Final = (111,)
_FOREIGN_ROW: Final = b"\x07tabname" + bytes.fromhex("000000010001000d00808000000080000000") + bytes(89)
"""A row of syscolumns, as 14.10 gave it under the label of another table (observed: its first bytes and its sizes)."""


class CdcError(Exception):
    """A routine returns the number of an error.

    Args:
        name: as in `cdc_tables.ERRORS`, without its prefix.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.number = NUMBERS[f"CDC_E_{name}"]


def encoded(record: CdcRecord, quirks: Collection[str]) -> bytes:
    """The bytes of a record."""
    return encode_record(record, extra=_MORE if cdc_quirks.LONG_HEADERS in quirks else b"")


def found_table(schema: Schema | None, owner: str, name: str) -> Table:
    """A table that can be captured.

    Raises:
        CdcError: NODB, NOTAB or TABPROPERTIES.
    """
    if schema is None:
        raise CdcError("NODB")
    table = schema.table(name, owner)
    if table is None:
        raise CdcError("NOTAB")
    if table.kind is not TableKind.TABLE or table.is_temp or table.is_system or table.generated:
        raise CdcError("TABPROPERTIES")
    return table


class CapturedTable:
    """A table that a session captures.

    Args:
        names: of the columns.
        label: the number that the client has given it.
        first: the position from which on the log has rows of the table's present form.
        quirks: of the server.

    Raises:
        CdcError: NOCOL; TABPROPERTIES, a column cannot be captured (assumed: its number).
    """

    def __init__(
        self,
        database: Database,
        table: Table,
        names: Sequence[str],
        label: int,
        first: int,
        quirks: Collection[str],
    ) -> None:
        columns = [_column(table, name) for name in names]
        self.database = database.name
        self.table = table
        self.label = label
        self.first = first
        self.started = int(time())
        self._quirks = quirks
        self._types = [column.type for column in columns]
        stored = table.stored_columns
        self._places = [stored.index(column) for column in columns]
        code_set = code_set_of(database.locale)
        self._codec = code_set.codec
        self.layout = RowLayout([Column(column.name, column.type) for column in columns], code_set)

    def schema_record(self) -> bytes:
        """TABSCHEMA."""
        schema = self.layout.schema(self.label)
        if cdc_quirks.NUL_AFTER_COLUMNS in self._quirks:
            schema = schema._replace(text=schema.text + "\0")
        return encoded(schema, self._quirks)

    def row_record(self, kind: RecordKind, sequence: int, transaction: int, row: bytes) -> bytes:
        """INSERT, DELETE, UPDBEF or UPDAFT of a row of `undo_log.packed` values."""
        values: Sequence[Stored] = unpacked(row)
        loaded = tuple(
            load(values[place], type_, self._codec)
            for place, type_ in zip(self._places, self._types, strict=True)
        )
        sizes, payload = self.layout.encode(loaded, little_endian=cdc_quirks.LITTLE_ENDIAN in self._quirks)
        return encoded(RowImage(kind, sequence, transaction, self.label, 0, sizes, payload), self._quirks)

    def foreign_record(self, sequence: int, transaction: int) -> bytes:
        """INSERT of a row of another table."""
        sizes = pack_sizes(_FOREIGN_SIZES)
        return encoded(
            RowImage(RecordKind.INSERT, sequence, transaction, self.label, 0, sizes, _FOREIGN_ROW),
            self._quirks,
        )

    def row_of_syscdctabs(self, number: int) -> tuple[Stored, ...]:
        """Its row of syscdctabs (assumed: seqnum is 0)."""
        ordered, layout = self.layout.ordered, self.layout
        fixed = len(ordered) - layout.variable_columns
        names = [column.name for column in ordered]
        return (
            number, self.database, self.table.name, self.table.owner, 0, self.started, self.label, layout.fixed_size,
            fixed, ",".join(names[:fixed]), layout.variable_columns, ",".join(names[fixed:]), 0, 0,
        )  # fmt: skip


def _column(table: Table, name: str) -> ColumnDef:
    column = table.column(name)
    if column is None:
        raise CdcError("NOCOL")
    if not is_captured(column.type):
        raise CdcError("TABPROPERTIES")
    return column
