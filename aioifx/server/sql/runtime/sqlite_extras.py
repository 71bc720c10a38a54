"""SQLite functions for translated SQL: NOT NULL, FIRST, JDBC's catalog routines. Never: rules of types.

Source: what the routines ``get_data_type``, ``schema_*`` give is assumed from JDBC's getColumns, which maps their
results to its own columns one to one.
"""

from __future__ import annotations

from typing import Final, Protocol

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.runtime.sqlite_functions import ErrorSink, Function, FunctionSpec, guarded
from aioifx.sqltypes import (
    EXTENDED_BLOB,
    EXTENDED_BOOLEAN,
    EXTENDED_CLOB,
    EXTENDED_LVARCHAR,
    NOT_NULL,
    NUMBER_CODES,
    SERIALS,
    TRAITS,
    Qualifier,
    SqlType,
    TypeCode,
    Unit,
)


def required(value: Stored, column: str, sqlcode: int) -> Stored:
    """``ifx_required``: the value, which must not be NULL."""
    if value is None:
        raise SqlError(sqlcode, token=column)
    return value


def count(value: Stored) -> Stored:
    """``ifx_count``: a number of rows to skip or to return. A negative LIMIT means no limit in SQLite.

    assumed: -415 for NULL and negative ones; no rows would be a plausible answer.
    """
    if not isinstance(value, int) or value < 0:
        raise SqlError(-415)
    return value


# --- What JDBC asks of every column -----------------------------------------------------------------------------------

_JDBC_TYPES: Final[dict[int, int]] = {
    TypeCode.CHAR: 1,
    TypeCode.SMALLINT: 5,
    TypeCode.INTEGER: 4,
    TypeCode.FLOAT: 8,
    TypeCode.SMALLFLOAT: 7,
    TypeCode.DECIMAL: 3,
    TypeCode.DATE: 91,
    TypeCode.MONEY: 3,
    TypeCode.DATETIME: 93,
    TypeCode.BYTE: -4,
    TypeCode.TEXT: -1,
    TypeCode.VARCHAR: 12,
    TypeCode.INTERVAL: 1111,
    TypeCode.NCHAR: 1,
    TypeCode.NVARCHAR: 12,
    TypeCode.INT8: -5,
    TypeCode.BIGINT: -5,
}
_JDBC_TYPES.update({code: _JDBC_TYPES[base] for code, base in SERIALS.items()})
"""java.sql.Types by type code (documented: java.sql.Types and the JDBC guide's table of types)."""

_VARCHAR, _OTHER = 12, 1111
_OPAQUE_NAMES: Final = {EXTENDED_BOOLEAN: "boolean", EXTENDED_BLOB: "blob", EXTENDED_CLOB: "clob"}
_OPAQUE_JDBC_TYPES: Final = {EXTENDED_BOOLEAN: 16, EXTENDED_BLOB: 2004, EXTENDED_CLOB: 2005}
_TEXTS: Final = frozenset({TypeCode.CHAR, TypeCode.NCHAR, TypeCode.VARCHAR, TypeCode.NVARCHAR})


def _code(coltype: int) -> int:
    return coltype & 0xFF


def jdbc_type(coltype: int, extended: int, _: int) -> int:
    """``get_data_type``"""
    code = _code(coltype)
    if code == TypeCode.UDTVAR and extended == EXTENDED_LVARCHAR:
        return _VARCHAR
    if code == TypeCode.UDTFIXED and extended in _OPAQUE_JDBC_TYPES:
        return _OPAQUE_JDBC_TYPES[extended]
    return _JDBC_TYPES.get(TypeCode(code), _OTHER)


def type_name(coltype: int, extended: int) -> str:
    """``schema_coltypename``"""
    code = _code(coltype)
    if code == TypeCode.UDTVAR and extended == EXTENDED_LVARCHAR:
        return "lvarchar"
    if code == TypeCode.UDTFIXED and extended in _OPAQUE_NAMES:
        return _OPAQUE_NAMES[extended]
    return TypeCode(code).name.lower()


def type_precision(coltype: int, extended: int, length: int) -> int:
    """``schema_precision``: digits of numbers, characters of texts and times."""
    code = _code(coltype)
    if code in (TypeCode.DECIMAL, TypeCode.MONEY):
        return length >> 8
    if code in (TypeCode.DATETIME, TypeCode.INTERVAL):
        units = Qualifier.from_encoded(length)
        return (length >> 8) + len(units.units) - 1
    if code in (TypeCode.VARCHAR, TypeCode.NVARCHAR):
        return length & 0xFF
    return TRAITS[code].digits if code in TRAITS else length


def type_scale(coltype: int, length: int) -> int | None:
    """``schema_numscale``"""
    code = _code(coltype)
    if code in (TypeCode.DECIMAL, TypeCode.MONEY):
        scale = length & 0xFF
        return None if scale == 255 else scale
    if code in (TypeCode.DATETIME, TypeCode.INTERVAL):
        qualifier = Qualifier.from_encoded(length)
        return qualifier.scale if qualifier.last == Unit.FRACTION else 0
    return 0 if code in NUMBER_CODES else None


def type_radix(coltype: int) -> int | None:
    """``schema_numprecradix``"""
    return 10 if _code(coltype) in NUMBER_CODES else None


def is_nullable(coltype: int) -> int:
    """``schema_isnullable``"""
    return 0 if coltype & NOT_NULL else 1


def nullable_word(coltype: int) -> str:
    """``schema_nullable``"""
    return "NO" if coltype & NOT_NULL else "YES"


def date_type(coltype: int, length: int) -> int | None:
    """``schema_datetype``: the qualifier's number for DATETIME and INTERVAL."""
    return length & 0xFF if _code(coltype) in (TypeCode.DATETIME, TypeCode.INTERVAL) else None


def char_octets(coltype: int, extended: int, length: int) -> int | None:
    """``schema_charlen``"""
    code = _code(coltype)
    if code in _TEXTS:
        return length & 0xFF if code in (TypeCode.VARCHAR, TypeCode.NVARCHAR) else length
    return length if code == TypeCode.UDTVAR and extended == EXTENDED_LVARCHAR else None


def type_bytes(coltype: int, length: int) -> int:
    """``schema_bufflen``: the bytes of a value; for numbers and times those of their digits."""
    code = _code(coltype)
    if code in (TypeCode.DECIMAL, TypeCode.MONEY, TypeCode.DATETIME, TypeCode.INTERVAL):
        return type_precision(coltype, 0, length) + 2 * (code in (TypeCode.DECIMAL, TypeCode.MONEY))
    return length & 0xFF if code in (TypeCode.VARCHAR, TypeCode.NVARCHAR) else length


def type_text(coltype: int, extended: int, length: int) -> str:
    """The type as in a signature, for ``ifx_param_types`` and ``ifx_ret_types``."""
    if extended:
        return type_name(coltype, extended)
    return str(SqlType(coltype, length)).lower()


def increments_word(coltype: int) -> str:
    """``schema_isautoincr``"""
    return "YES" if _code(coltype) in SERIALS else "NO"


def default_text(coltype: int, extended: int, length: int, default: str) -> str:
    """``get_default_value``: without the six characters that precede literals that are not text."""
    text = default if _code(coltype) in _TEXTS else default[7:]
    return text.rstrip()


def key_column(keys: str, place: int) -> int:
    """``ikeyextractcolno``: the column at a place of sysindices.indexkeys, from 0; 0 when it has fewer (observed)."""
    parts = keys.split(", ")
    return int(parts[place].split(" ")[0]) if 0 <= place < len(parts) and keys else 0


def _strict(call: Function) -> Function:
    """Returns NULL if an argument is NULL."""

    def run(*arguments: Stored) -> Stored:
        return None if None in arguments else call(*arguments)

    return run


def _nullable(value: Stored, column: Stored, sqlcode: Stored) -> Stored:
    """The form of `required` while the constraint is disabled."""
    return value


EXTRAS: Final[tuple[FunctionSpec, ...]] = (
    FunctionSpec("ifx_required", 3, required),
    FunctionSpec("ifx_nullable", 3, _nullable),
    FunctionSpec("ifx_count", 1, count),
    FunctionSpec("ifx_jdbc_type", 3, _strict(jdbc_type)),
    FunctionSpec("ifx_type_name", 2, _strict(type_name)),
    FunctionSpec("ifx_type_precision", 3, _strict(type_precision)),
    FunctionSpec("ifx_type_scale", 2, _strict(type_scale)),
    FunctionSpec("ifx_type_bytes", 2, _strict(type_bytes)),
    FunctionSpec("ifx_type_text", 3, _strict(type_text)),
    FunctionSpec("ifx_type_radix", 1, _strict(type_radix)),
    FunctionSpec("ifx_is_nullable", 1, _strict(is_nullable)),
    FunctionSpec("ifx_nullable_word", 1, _strict(nullable_word)),
    FunctionSpec("ifx_date_type", 2, _strict(date_type)),
    FunctionSpec("ifx_char_octets", 3, _strict(char_octets)),
    FunctionSpec("ifx_increments_word", 1, _strict(increments_word)),
    FunctionSpec("ifx_default_text", 4, _strict(default_text)),
    FunctionSpec("ifx_key_column", 2, _strict(key_column)),
)
"""What `register_extras` registers."""


class Registrar(Protocol):
    """The part of `sqlite3.Connection` that is used here."""

    def create_function(
        self, name: str, narg: int, func: Function, /, *, deterministic: bool = False
    ) -> None:
        """Register a function for SQL."""


def register_extras(connection: Registrar, on_error: ErrorSink) -> None:
    """Register these functions on a SQLite connection, in addition to those of `sqlite_functions.register`."""
    for spec in EXTRAS:
        connection.create_function(
            spec.name, spec.arguments, guarded(spec.call, on_error), deterministic=spec.deterministic
        )
