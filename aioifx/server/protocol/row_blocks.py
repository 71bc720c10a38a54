"""The rows of a cursor as SQ_TUPLE messages, one fetch buffer at a time. Never: the request, the end of the reply.

Blocks of rows are read from the cursor, converted to Python values column by column, and encoded together. Rows that
do not fit into one buffer are sent in the next.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from operator import methodcaller
from struct import Struct
from typing import Any, Final

from aioifx.codecs.rows import RowEncoder
from aioifx.codecs.text import CodeSet
from aioifx.errors import DataError, NotSupportedError
from aioifx.server.protocol.complex_fields import complex_codec
from aioifx.server.sql.complex_types import ComplexType
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.storage import Form, form_of
from aioifx.server.sql.runtime.casts import as_text
from aioifx.server.sql.runtime.client_values import loader
from aioifx.server.sqlite.spool import StoredRow
from aioifx.sqltypes import Column, Row, SqlType, TypeCode
from aioifx.wire.inbox import padded
from aioifx.wire.tuples import TUPLE_HEAD

logger: Final = logging.getLogger("aioifx.server")

MAX_BLOCK_BYTES: Final = 16 * 1024 * 1024
"""Default maximum of bytes of rows in one reply, even if the client's buffer is larger."""

_FULL: Final = 0.9
"""A buffer is sent when this part of it is filled: encoding a block for the rest would cost more than it saves."""

_PADDED: Final = (TypeCode.CHAR, TypeCode.NCHAR)
_EXTENDED: Final = frozenset(
    {TypeCode.SET, TypeCode.MULTISET, TypeCode.LIST, TypeCode.ROW, TypeCode.UDTVAR, TypeCode.UDTFIXED}
)
"""The codes of types that may be sent as others."""
_UNPADDED: Final = methodcaller("rstrip", " ")
_NOT_IN_CODE_SET: Final = -23103
_TOO_LONG: Final = -881
_SIZE: Final = Struct(">i")

FetchRows = Callable[[int], tuple[list[StoredRow], bool]]
"""Number of rows requested -> the next rows in storage form, and whether they are the last."""


class RowBlockWriter:
    """Encodes one result; created on the first fetch from a cursor, or when its result types change.

    Args:
        single: one row at a time, so that the row sent last is the client's current row.
        largest: maximum bytes of rows in one reply, unless a single row has more.
        settings: the session's, for dates in rows and collections.
        binary: indexes of the columns with rows or collections that are sent in binary.

    Raises:
        SqlError: -999, a column's type is not supported.
    """

    __slots__ = (
        "_code_set",
        "_encoder",
        "_estimate",
        "_has_ended",
        "_largest",
        "_loaders",
        "_single",
        "_unsent",
        "_unsent_rows",
        "widths",
    )

    def __init__(
        self,
        columns: Sequence[Column],
        code_set: CodeSet,
        *,
        padded_varchar: bool,
        single: bool,
        largest: int = MAX_BLOCK_BYTES,
        settings: Settings | None = None,
        binary: Collection[int] = (),
    ) -> None:
        try:
            sent = [
                replace(column, type=_sent_type(column.type)) if column.type.code in _EXTENDED else column
                for column in columns
            ]
            self._encoder = RowEncoder(sent, code_set, padded_varchar=padded_varchar)
        except NotSupportedError as error:
            raise SqlError(-999, token=str(error)) from None
        settings = settings or Settings()
        if binary:
            self._encoder.fields = tuple(
                field._replace(codec=complex_codec(column.type, code_set, settings))
                if index in binary and isinstance(column.type, ComplexType)
                else field
                for index, (field, column) in enumerate(zip(self._encoder.fields, columns, strict=True))
            )
        # The encoder pads CHAR again: with fewer blanks if the text has more bytes in the client's code set.
        loaders = [
            _UNPADDED
            if (code := column.type.code) in _PADDED
            else sent_loader(column.type, settings)
            if code in _EXTENDED
            else loader(column.type)
            for column in columns
        ]
        self._loaders = [
            (index, load) for index, load in enumerate(loaders) if load is not None and index not in binary
        ]
        self.widths = [
            field.width or field.head + (column.type.size or column.type.length)
            for field, column in zip(self._encoder.fields, columns, strict=True)
        ]
        """The maximum bytes of each column."""
        self._estimate: float = TUPLE_HEAD + padded(sum(self.widths))
        self._code_set = code_set
        self._single = single
        self._largest = largest
        self._unsent = b""  # encoded, not sent
        self._unsent_rows = 0
        self._has_ended = False

    def next_block(self, fetch: FetchRows, size: int) -> tuple[bytes, int, bool]:
        """The messages for a buffer of *size* bytes, their number of rows, and whether they are the last.

        Raises:
            SqlError: a row could not be computed, or text is not in the client's code set.
        """
        size = min(size, self._largest)
        data, rows = self._unsent, self._unsent_rows
        while not self._has_ended and (not rows or (not self._single and len(data) < size * _FULL)):
            count = 1 if self._single else max(1, int((size - len(data)) / self._estimate))
            block, self._has_ended = fetch(count)
            if block:
                messages = self.encode(block)
                self._estimate = len(messages) / len(block)
                data, rows = data + messages, rows + len(block)
        sent, sent_rows = self._cut(data, rows, size)
        self._unsent, self._unsent_rows = data[sent:], rows - sent_rows
        return data[:sent], sent_rows, self._has_ended and not self._unsent

    def encode(self, rows: list[StoredRow]) -> bytes | bytearray:
        """Rows in storage form, encoded as SQ_TUPLE messages."""
        try:
            return self._encoder.encode(self._loaded(rows))
        except DataError as error:
            logger.warning("a row cannot be sent: %s", error)
            raise SqlError(_TOO_LONG if self._is_in_code_set(rows) else _NOT_IN_CODE_SET) from None

    def _is_in_code_set(self, rows: list[StoredRow]) -> bool:
        try:
            for row in rows:
                for value in row:
                    if isinstance(value, str):
                        self._code_set.encode(value)
        except DataError:
            return False
        return True

    def _loaded(self, rows: list[StoredRow]) -> Iterable[Row]:
        if not self._loaders or not rows:
            return rows
        columns: list[Sequence[object]] = list(zip(*rows, strict=True))
        for index, load in self._loaders:
            columns[index] = [None if value is None else load(value) for value in columns[index]]
        return zip(*columns, strict=True)

    def _cut(self, data: bytes, rows: int, size: int) -> tuple[int, int]:
        """Number of bytes and of rows in *data* that fit into the buffer; at least one row."""
        if len(data) <= size or rows <= 1:
            return len(data), rows
        position = count = 0
        while True:
            (payload,) = _SIZE.unpack_from(data, position + 4)
            stop = position + TUPLE_HEAD + padded(payload)
            if count and stop > size:
                return position, count
            position, count = stop, count + 1
            if count == rows:
                return position, count


ENVELOPED: Final = frozenset({Form.COMPLEX, Form.JSON, Form.BSON})
"""Forms of values that are sent as text or bytes in an envelope."""


def _sent_type(type_: SqlType) -> SqlType:
    """The type that encodes a column: text or bytes in an envelope, of any size, for rows, collections, documents."""
    return SqlType(TypeCode.OPAQUE) if form_of(type_) in ENVELOPED else type_


def sent_loader(type_: SqlType, settings: Settings) -> Callable[[Any], Any] | None:
    """Makes the value that is sent of a stored one, for a row or collection its text; None if they are the same."""
    if form_of(type_) is Form.COMPLEX:
        return lambda stored: as_text(stored, type_, settings)
    return loader(type_, settings.code_set)


__all__ = ["ENVELOPED", "MAX_BLOCK_BYTES", "FetchRows", "RowBlockWriter", "sent_loader"]
