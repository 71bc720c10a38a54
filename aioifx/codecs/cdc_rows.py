"""The payload of a captured row <-> a row of values. Never: the record around it.

Wire: every column of fixed width, then every variable one, without padding. Types are as in SQ_TUPLE, except BOOLEAN,
LVARCHAR, BLOB and CLOB.
Source: documented (CDC API Programmer's Guide); VARCHAR and INTEGER were observed on 14.10; the other layouts are those
that clients of others read from 14.10 and 15. Assumed: INTERVAL is as in SQ_TUPLE.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import itemgetter
from struct import Struct
from typing import Final

from aioifx.codecs.base import MAX_BYTES, Codec, Decode, Kind
from aioifx.codecs.cdc_records import RowImage, TableSchema, has_sizes, pack_sizes, split_schema
from aioifx.codecs.conversions import PLAIN, Conversions, Convert
from aioifx.codecs.large_objects import LOCATOR, Locator, is_smart_object
from aioifx.codecs.native import MAX_COMPILED
from aioifx.codecs.numbers import truth_value
from aioifx.codecs.registry import codecs_for
from aioifx.codecs.row_codegen import decode_run_for
from aioifx.codecs.text import CodeSet, text_encoder
from aioifx.codecs.tuple_frames import framed
from aioifx.errors import DataError, ProtocolError
from aioifx.sqltypes import TRAITS, Column, Row, SqlType, TypeCode, Value

_COLLECTIONS: Final = frozenset({TypeCode.SET, TypeCode.MULTISET, TypeCode.LIST, TypeCode.COLLECTION})
_CAPTURED: Final = frozenset(TRAITS) | {
    TypeCode.DECIMAL, TypeCode.MONEY, TypeCode.DATETIME, TypeCode.INTERVAL, TypeCode.BOOLEAN,
    TypeCode.CHAR, TypeCode.NCHAR, TypeCode.VARCHAR, TypeCode.NVARCHAR, TypeCode.LVARCHAR,
}  # fmt: skip
_VARIABLE: Final = frozenset({TypeCode.VARCHAR, TypeCode.NVARCHAR, TypeCode.LVARCHAR})

_SHORT: Final = 2
"""Bytes of the size of an LVARCHAR, which counts its flag."""
_LOCATOR_WIDTH: Final = 4 + LOCATOR


def is_captured(sql_type: SqlType) -> bool:
    """Whether a column of this type can be captured; BYTE, TEXT, ROW, collections and opaque types cannot."""
    return sql_type.kind in _CAPTURED or is_smart_object(sql_type)


def captured_columns(columns: Iterable[Column]) -> list[Column]:
    """The columns of a table that can be captured.

    Columns after a SET, MULTISET or LIST are left out, because they are not replicated (documented: another vendor's
    manual).
    """
    found: list[Column] = []
    for column in columns:
        if column.type.kind in _COLLECTIONS:
            break
        if is_captured(column.type):
            found.append(column)
    return found


# -- codecs that differ from those of SQ_TUPLE ------------------------------------------------------------------------

_BOOLEANS: Final = {b"\0\1": True, b"\0\0": False, b"\1\0": None, b"\1\1": None}


def _decode_boolean(field: bytes) -> bool | None:
    try:
        return _BOOLEANS[field]
    except KeyError:
        raise DataError("BOOLEAN that is neither true nor false") from None


def _encode_boolean(value: Value) -> bytes:
    return b"\1\0" if value is None else b"\0\1" if truth_value(value) else b"\0\0"


_BOOLEAN: Final = Codec(Kind.OTHER, 0, 2, _decode_boolean, _encode_boolean)
"""An indicator, then the value; not the envelope of rows."""


def _lvarchar(sql_type: SqlType, code_set: CodeSet) -> Codec:
    """Two bytes of size, a flag that the size counts, text; NULL is the flag 1 alone."""
    text = text_encoder(sql_type, code_set)

    def decode(field: bytes) -> str | None:
        if len(field) <= _SHORT:
            raise DataError("LVARCHAR without its flag")
        return None if field[_SHORT] else code_set.decode(field[_SHORT + 1 :])

    def encode(value: Value) -> bytes:
        if value is None:
            return b"\0\1\1"
        data = text(value)
        if len(data) > 0x7FFE:
            raise DataError(f"text of {len(data)} bytes does not fit a record of {sql_type}")
        return (len(data) + 1).to_bytes(_SHORT, "big") + b"\0" + data

    return Codec(Kind.OTHER, _SHORT, 0, decode, encode, capacity=sql_type.size or 0)


def _decode_locator(field: bytes) -> Locator | None:
    data = field[_LOCATOR_WIDTH - LOCATOR :]
    return Locator(data) if any(data) else None


def _encode_locator(value: Value) -> bytes:
    if value is None:
        return bytes(_LOCATOR_WIDTH)
    if not isinstance(value, Locator) or len(value.data) != LOCATOR:
        raise DataError(f"a locator: expected {LOCATOR} bytes, got {type(value).__name__}")
    return bytes(_LOCATOR_WIDTH - LOCATOR) + value.data


_LOCATOR: Final = Codec(Kind.OTHER, 0, _LOCATOR_WIDTH, _decode_locator, _encode_locator)
"""Assumed: what the four bytes before the locator mean is not known; they are written as zeros."""


def cdc_codec(
    sql_type: SqlType, code_set: CodeSet, *, strip_char: bool = False, conversions: Conversions = PLAIN
) -> Codec:
    """The codec of a column in a captured row.

    Raises:
        NotSupportedError: a type that is not known.
    """
    if is_smart_object(sql_type):
        return _LOCATOR
    if sql_type.kind not in (TypeCode.BOOLEAN, TypeCode.LVARCHAR):
        (codec,) = codecs_for(
            [Column("", sql_type)], code_set, strip_char=strip_char, conversions=conversions
        )
        return codec
    codec = _BOOLEAN if sql_type.kind == TypeCode.BOOLEAN else _lvarchar(sql_type, code_set)
    convert = conversions.decoder_for(sql_type)
    return codec if convert is None else replace(codec, decode=_decode_by(codec.decode, convert))


def _decode_by(decode: Decode, convert: Convert) -> Decode:
    def decode_further(field: bytes) -> Value:
        value = decode(field)
        return None if value is None else convert(value)

    return decode_further


# -- rows -------------------------------------------------------------------------------------------------------------


class RowLayout:
    """How the rows of one captured table look; made once for its columns.

    Args:
        columns: in the order of `cdc_startcapture`, which is the order of decoded and encoded rows. All must be
            captured ones, see `is_captured`.
        strip_char: trailing blanks of CHAR and NCHAR, the server's padding, are removed.
        conversions: the user's.

    Raises:
        NotSupportedError: a column's type has no codec.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        code_set: CodeSet,
        *,
        strip_char: bool = False,
        conversions: Conversions = PLAIN,
    ) -> None:
        self.columns = tuple(columns)
        places = sorted(range(len(columns)), key=lambda place: columns[place].type.kind in _VARIABLE)
        self.ordered = tuple(columns[place] for place in places)
        """The columns in the order of the payload: those of fixed width first."""
        codecs = [
            cdc_codec(column.type, code_set, strip_char=strip_char, conversions=conversions)
            for column in self.ordered
        ]
        self._places = places
        self._codecs = codecs
        self._fixed = [codec for codec in codecs if not codec.head]
        # The server cuts rows of another table by our columns, so their sizes add up (observed: the second frame), but
        # not by the sizes that columns were declared with.
        self._variable = [(codec, _most_bytes(codec)) for codec in codecs[len(self._fixed) :]]
        self._unpack = Struct(">" + "".join(f"{codec.width}s" for codec in self._fixed)).unpack_from
        self._decoders: list[Decode] = [codec.decode for codec in codecs]
        is_compiled = len(codecs) <= MAX_COMPILED
        self._run = decode_run_for(tuple(codecs), code_set) if is_compiled else _leave
        self._sizes = Struct(f">{len(self._variable)}I")
        order = [places.index(place) for place in range(len(places))]
        self._reorder = itemgetter(*order) if len(order) > 1 and order != sorted(order) else None
        self.fixed_size = sum(codec.width for codec in self._fixed)
        """Bytes of all columns of fixed width."""

    @property
    def variable_columns(self) -> int:
        """How many columns have a size in the header."""
        return len(self._variable)

    def decode(self, image: RowImage) -> Row:
        """The values of a row, in the order of *columns*.

        Raises:
            ProtocolError: the row does not have this layout.
            DataError: a value is invalid; names the column.
        """
        rows: list[Row] = []
        if self._has_usual_sizes(image):
            self._run(framed(image.payload), rows)
        return self._ordered(rows[0]) if rows else self._reference(image)

    def _ordered(self, row: Row) -> Row:
        return self._reorder(row) if self._reorder is not None else row

    def check(self, image: RowImage) -> None:
        """Check that a row has this layout; its values are not decoded.

        Raises:
            ProtocolError: it does not.
        """
        if not self._has_usual_sizes(image):
            self._fields_of(image.payload, image)

    def _has_usual_sizes(self, image: RowImage) -> bool:
        """Whether the header begins with the sizes of the row's fields, big-endian."""
        payload, pos = image.payload, self.fixed_size
        if len(image.sizes) < self._sizes.size:
            return False
        for (codec, most), size in zip(self._variable, self._sizes.unpack_from(image.sizes), strict=True):
            head = codec.head
            if size > most or int.from_bytes(payload[pos : pos + head], "big") + head != size:
                return False
            pos += size
        return pos == len(payload)

    def _reference(self, image: RowImage) -> Row:
        """Decodes what the compiled function leaves: other orders of bytes, uncommon values, invalid rows."""
        fields = self._fields_of(image.payload, image)
        return self._ordered(tuple(map(_decoded, self.ordered, self._decoders, fields)))

    def _fields_of(self, payload: bytes, image: RowImage) -> list[bytes]:
        pos = self.fixed_size
        if len(payload) < pos:
            raise self._mismatch(image)
        fields: list[bytes] = [*self._unpack(payload)]
        for codec, most in self._variable:
            stop = pos + codec.head
            stop += int.from_bytes(payload[pos:stop], "big")
            if stop - pos > most:
                raise self._mismatch(image)
            fields.append(payload[pos:stop])
            pos = stop
        if pos == len(payload) and (
            not self._variable or has_sizes(image, tuple(map(len, fields[-len(self._variable) :])))
        ):
            return fields
        raise self._mismatch(image)

    def _mismatch(self, image: RowImage) -> ProtocolError:
        return ProtocolError(
            f"CDC record {image.kind.name}: a row of {len(image.payload)} bytes with {len(image.sizes) // 4} sizes"
            f" is not one of the columns {', '.join(column.name for column in self.ordered)}"
        )

    def encode(self, row: Row, *, little_endian: bool = False) -> tuple[bytes, bytes]:
        """The sizes and the payload of a row, for a `RowImage`.

        Raises:
            DataError: a value does not fit its column; names the column.
        """
        if len(row) != len(self.columns):
            raise DataError(f"row of {len(row)} values for {len(self.columns)} columns")
        fields = [
            _encoded(column, codec, row[place])
            for column, codec, place in zip(self.ordered, self._codecs, self._places, strict=True)
        ]
        sizes = tuple(map(len, fields[len(self._fixed) :]))
        return pack_sizes(sizes, little_endian=little_endian), b"".join(fields)

    def schema(self, label: int) -> TableSchema:
        """The TABSCHEMA record of these columns."""
        text = ", ".join(f"{column.name} {str(column.type).lower()}" for column in self.ordered)
        return TableSchema(label, 0, self.fixed_size, len(self._fixed), len(self._variable), text)

    def check_schema(self, schema: TableSchema) -> None:
        """Compare with what the server says: names, order, counts and the size of the fixed columns.

        Raises:
            ProtocolError: the server captures other columns.
        """
        ours = self.schema(schema.label)
        names = [name.lower() for name, _ in split_schema(schema.text)]
        expected = [column.name.lower() for column in self.ordered]
        if names != expected:
            raise ProtocolError(
                f"TABSCHEMA: expected the columns {', '.join(expected)}, got {', '.join(names)}"
            )
        for what in ("fixed_columns", "variable_columns", "fixed_size"):
            if getattr(schema, what) != getattr(ours, what):
                raise ProtocolError(
                    f"TABSCHEMA: expected {what} {getattr(ours, what)}, got {getattr(schema, what)}"
                )


def _leave(frame: bytes, rows: list[Row]) -> int:
    """In place of a compiled function, of which the reference decodes every row."""
    return 0


def _most_bytes(codec: Codec) -> int:
    """The most bytes of a field; an LVARCHAR has a flag after its head."""
    return codec.head + (codec.head == _SHORT) + codec.capacity if codec.capacity else MAX_BYTES


def _decoded(column: Column, decode: Decode, field: bytes) -> Value:
    try:
        return decode(field)
    except DataError as error:
        raise DataError(f"column {column.name!r}: {error}", column=column.name) from error.__cause__


def _encoded(column: Column, codec: Codec, value: Value) -> bytes:
    try:
        return codec.encode(value)
    except DataError as error:
        raise DataError(f"column {column.name!r}: {error}", column=column.name) from error.__cause__
