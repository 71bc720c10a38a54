"""Parameters <-> bytes, and errors that name the parameter. Never: SQL text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any, Final, TypeAlias

from aioifx.codecs.base import Decode
from aioifx.codecs.base100 import unpack
from aioifx.codecs.bind_values import binder_for
from aioifx.codecs.conversions import Adapters, with_adapters
from aioifx.codecs.large_objects import Descriptor, Locator
from aioifx.codecs.numbers import decimal_of
from aioifx.codecs.registry import FIXED
from aioifx.codecs.temporal import datetime_decoder, interval_decoder
from aioifx.codecs.text import CodeSet
from aioifx.errors import DataError, InterfaceError, NotSupportedError, ProtocolError
from aioifx.sqltypes import FLOATING_SCALE, SqlType, TypeCode, Value
from aioifx.wire.fields import is_named
from aioifx.wire.opcodes import MAX_COLUMNS

EncodeResult: TypeAlias = tuple[int, tuple[Any] | None]
"""How many rows were encoded, and the next one if `ParamEncoder.encode` must encode it."""

EncodeParamRows: TypeAlias = Callable[[Iterator[Sequence[Value]], bytearray, int], EncodeResult]
"""Appends ``head · entries · tail`` to the buffer for each row.

It stops when the buffer has as many bytes as the limit, at a row that `ParamEncoder.encode` must encode, and at the
end. No row is read before there is room for it. Errors of the iterator propagate."""


class ParamEncoder:
    """Encodes the parameters of one statement; made once for the types that the server described.

    Args:
        types: one for each parameter; None if the server did not describe it.
        adapters: one for each, or none.
    """

    __slots__ = ("_binders", "_count")

    def __init__(self, types: Sequence[SqlType | None], code_set: CodeSet, adapters: Adapters = ()) -> None:
        if len(types) > MAX_COLUMNS:
            raise InterfaceError(f"statement: expected at most {MAX_COLUMNS} parameters, got {len(types)}")
        pairs = with_adapters(types, adapters)
        known = {pair: binder_for(pair[0], code_set, pair[1]) for pair in set(pairs)}
        self._binders = tuple([known[pair] for pair in pairs])
        self._count = len(types).to_bytes(2, "big")

    def encode(self, params: Sequence[Value], *, row: int | None = None) -> bytes:
        """The body of SQ_BIND after its tag: 2 count · entries.

        Args:
            row: the index of the row in an executemany, for messages.

        Raises:
            InterfaceError: the count is wrong.
            DataError, NotSupportedError: name the parameter, counted from 1, and the row.
        """
        binders = self._binders
        if len(params) != len(binders):
            one = "parameter" if len(binders) == 1 else "parameters"
            place = "" if row is None else f"row {row}: "
            raise InterfaceError(f"{place}expected {len(binders)} {one}, got {len(params)}")
        parts = [self._count]
        try:
            for binder, value in zip(binders, params, strict=True):
                parts.append(binder(value))
        except (DataError, NotSupportedError) as error:
            place = f"parameter {len(parts)}" if row is None else f"row {row}, parameter {len(parts)}"
            raise type(error)(f"{place}: {error}", row_index=row, parameter=len(parts)) from error.__cause__
        return b"".join(parts)

    def for_runs(self, head: bytes, tail: bytes) -> EncodeParamRows:
        """An encoder of whole runs. It stops at what is not a row, and at values that `encode` refuses."""
        binders = self._binders

        def run(rows: Iterator[Sequence[Value]], out: bytearray, limit: int) -> EncodeResult:
            count = 0
            for row in rows:
                if not isinstance(row, (tuple, list)) or len(row) != len(binders):
                    return count, (row,)
                try:
                    entries = [binder(value) for binder, value in zip(binders, row, strict=True)]
                except Exception:
                    return count, (row,)
                # At once: a row is in the buffer as a whole, or not at all.
                out += b"".join((head, *entries, tail))
                count += 1
                if len(out) >= limit:
                    break
            return count, None

        return run


# --- the server's side ----------------------------------------------------------------------------------------------

_SCALED: Final = Context(prec=400)
_MAX_SCALE: Final = 130


def decode_value(
    code: int, indicator: int, precision: int, data: bytes, code_set: CodeSet, name: bytes = b""
) -> Value:
    """The value of an entry of SQ_BIND; of a large object only its descriptor or locator, of BSON its bytes.

    Args:
        precision: signed.
        data: the value without its size and its pad.
        name: of a named type.

    Raises:
        DataError: the bytes are invalid.
        NotSupportedError: a column default.
        ProtocolError: the data's size is not its type's.
    """
    if indicator == -1:
        return None
    if indicator != 0:
        raise NotSupportedError("a parameter that asks for its column's default")
    fixed = FIXED.get(code)
    if fixed is not None:
        if len(data) != fixed.width:
            raise ProtocolError(f"{SqlType(code)} parameter of {len(data)} bytes")
        return fixed.decode(data)
    if code in _TEXTS:
        return code_set.decode(data)
    by_precision = _BY_PRECISION.get(code)
    if by_precision is not None:
        return by_precision(precision, data)
    if code in _SIMPLE_LARGE:
        return Descriptor(data)
    if name in _SMART_LARGE:
        return Locator(data)
    if name == _BSON:
        return data
    if is_named(code):
        return code_set.decode(data)
    raise NotSupportedError(f"{SqlType(code)} parameters are not supported")


@lru_cache(maxsize=128)
def _datetime_of(encoded: int) -> Decode:
    return datetime_decoder(SqlType(TypeCode.DATETIME, encoded))


@lru_cache(maxsize=512)
def _interval_of(encoded: int) -> Decode:
    return interval_decoder(SqlType(TypeCode.INTERVAL, encoded))


def _decode_datetime(precision: int, data: bytes) -> Value:
    return _datetime_of(precision)(data)


def _decode_interval(precision: int, data: bytes) -> Value:
    return _interval_of(precision)(data)


def _decode_boolean(precision: int, data: bytes) -> bool:
    if data in (b"\1", b"t", b"T"):
        return True
    if data in (b"\0", b"f", b"F"):
        return False
    raise DataError("BOOLEAN that is neither true nor false")


def _decode_decimal(precision: int, data: bytes) -> Decimal | None:
    """The precision field is the scale (observed: JDBC) or precision * 256 + scale (observed: informix-driver)."""
    number = unpack(data)
    if number is None:
        return None
    value = decimal_of(number, FLOATING_SCALE)
    scale = precision & 0xFF if precision > 0xFF else precision
    if 0 < scale <= _MAX_SCALE and -int(value.as_tuple().exponent) < scale:
        value = value.quantize(Decimal((0, (1,), -scale)), context=_SCALED)
    return value


_BSON: Final = b"bson"
"""The name of the type of documents (observed: JDBC)."""

_TEXTS: Final = frozenset((TypeCode.CHAR, TypeCode.VARCHAR, TypeCode.NCHAR, TypeCode.NVARCHAR))
_SIMPLE_LARGE: Final = frozenset((TypeCode.BYTE, TypeCode.TEXT))
_SMART_LARGE: Final = frozenset((b"blob", b"clob"))

_BY_PRECISION: Final[dict[int, Callable[[int, bytes], Value]]] = {
    TypeCode.DECIMAL: _decode_decimal,
    TypeCode.MONEY: _decode_decimal,
    TypeCode.DATETIME: _decode_datetime,
    TypeCode.INTERVAL: _decode_interval,
    TypeCode.BOOLEAN: _decode_boolean,
}
