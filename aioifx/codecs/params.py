"""Parameters <-> bytes, and errors that name the parameter. Never: SQL text."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from functools import lru_cache
from typing import Final

from aioifx.codecs.base import Decode
from aioifx.codecs.base100 import unpack
from aioifx.codecs.binds import binder_for, is_named
from aioifx.codecs.numbers import decimal_of
from aioifx.codecs.registry import FIXED
from aioifx.codecs.temporal import datetime_decoder, interval_decoder
from aioifx.codecs.text import CodeSet
from aioifx.errors import DataError, InterfaceError, NotSupportedError, ProtocolError
from aioifx.sqltypes import FLOATING_SCALE, SqlType, TypeCode, Value

_MAX_PARAMETERS: Final = 32_767


class ParamEncoder:
    """Encodes the parameters of one statement; made once for the types that the server described.

    Args:     types: one for each parameter; None where the server told nothing.
    """

    __slots__ = ("_binders", "_count")

    def __init__(self, types: Sequence[SqlType | None], code_set: CodeSet) -> None:
        if len(types) > _MAX_PARAMETERS:
            raise InterfaceError(f"{len(types)} parameters: SQLI takes {_MAX_PARAMETERS}")
        self._binders = tuple(binder_for(sql_type, code_set) for sql_type in types)
        self._count = len(types).to_bytes(2, "big")

    def encode(self, params: Sequence[Value], *, row: int | None = None) -> bytes:
        """The body of SQ_BIND behind its tag: 2 count · entries.

        Args:     row: the index of the row in an executemany, for messages.
        Raises:   InterfaceError: the count is wrong.
                  DataError, NotSupportedError: name the parameter, counted from 1, and the row.
        """
        binders = self._binders
        if len(params) != len(binders):
            one = "parameter" if len(binders) == 1 else "parameters"
            place = "" if row is None else f"row {row}: "
            raise InterfaceError(f"{place}{len(binders)} {one} expected, {len(params)} given")
        parts = [self._count]
        try:
            for binder, value in zip(binders, params, strict=True):
                parts.append(binder(value))
        except (DataError, NotSupportedError) as error:
            place = f"parameter {len(parts)}" if row is None else f"row {row}, parameter {len(parts)}"
            raise type(error)(f"{place}: {error}", row_index=row) from None
        return b"".join(parts)


# --- the server's side ----------------------------------------------------------------------------------------------

_SCALED: Final = Context(prec=400)
_MAX_SCALE: Final = 130


def decode_bind(
    code: int,
    owner: bytes,
    name: bytes,
    indicator: int,
    precision: int,
    data: bytes,
    code_set: CodeSet,
) -> tuple[SqlType, Value]:
    """One entry of SQ_BIND -> the type it was sent as, and its value.

    Args:     precision: signed. data: the value without its size in front and without its pad.
    Raises:   DataError: the bytes mean nothing. NotSupportedError: the content of a large object, a column default.
              ProtocolError: the data's size is not its type's.
    """
    fixed = FIXED.get(code)
    length = fixed.width if fixed else precision if precision > 0 else len(data)
    sql_type = SqlType(code, length, owner=owner.decode("latin-1"), extended_name=name.decode("latin-1"))
    if indicator == -1:
        return sql_type, None
    if indicator != 0:
        raise NotSupportedError("a parameter that asks for its column's default")
    if code in (TypeCode.DECIMAL, TypeCode.MONEY):
        return _decode_decimal(code, precision, data)
    if code == TypeCode.DATETIME:
        return sql_type, _datetime_of(precision)(data)
    if code == TypeCode.INTERVAL:
        return sql_type, _interval_of(precision)(data)
    if code == TypeCode.BOOLEAN:
        return sql_type, _decode_boolean(data)
    if fixed is not None:
        if len(data) != fixed.width:
            raise ProtocolError(f"{sql_type} parameter of {len(data)} bytes")
        return sql_type, fixed.decode(data)
    if code in (TypeCode.BYTE, TypeCode.TEXT):
        raise NotSupportedError(f"{sql_type} values are not supported")
    if code in (TypeCode.CHAR, TypeCode.VARCHAR, TypeCode.NCHAR, TypeCode.NVARCHAR) or is_named(code):
        return sql_type, code_set.decode(data)
    raise NotSupportedError(f"{sql_type} parameters are not supported")


@lru_cache(maxsize=128)
def _datetime_of(encoded: int) -> Decode:
    return datetime_decoder(SqlType(TypeCode.DATETIME, encoded))


@lru_cache(maxsize=512)
def _interval_of(encoded: int) -> Decode:
    return interval_decoder(SqlType(TypeCode.INTERVAL, encoded))


def _decode_boolean(data: bytes) -> bool:
    if data in (b"\1", b"t", b"T"):
        return True
    if data in (b"\0", b"f", b"F"):
        return False
    raise DataError("BOOLEAN that is neither true nor false")


def _decode_decimal(code: int, precision: int, data: bytes) -> tuple[SqlType, Decimal | None]:
    """The precision field is the scale (observed: JDBC) or precision * 256 + scale (observed: informix-driver)."""
    sql_type = SqlType(code, 32 * 256 + FLOATING_SCALE)
    number = unpack(data)
    if number is None:
        return sql_type, None
    value = decimal_of(number, FLOATING_SCALE)
    scale = precision & 0xFF if precision > 0xFF else precision
    if 0 < scale <= _MAX_SCALE and -int(value.as_tuple().exponent) < scale:
        value = value.quantize(Decimal((0, (1,), -scale)), context=_SCALED)
    return sql_type, value
