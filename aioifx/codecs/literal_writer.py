"""Python values -> the literals of rows and collections. Never: an entry of SQ_BIND, how literals are read.

Source: documented: Guide to SQL Syntax, Literal Row and Literal Collection. Assumed: servers convert the text of a
parameter to the type as they convert a quoted literal; JDBC sends such text (observed: binds.json).

Invariants:
1. Values are those that a column of the type accepts, checked by its codec. A str is sent as text for every type.
2. An error names Python types, fields and SQL types, and never shows a value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final, TypeAlias, cast

from aioifx.codecs.conversions import Conversions, Convert
from aioifx.codecs.documents import document_encoder
from aioifx.codecs.large_objects import is_large_object
from aioifx.codecs.literal_reader import INTEGERS
from aioifx.codecs.registry import codec_for
from aioifx.codecs.text import CodeSet
from aioifx.codecs.value_text import formatter_for
from aioifx.errors import DataError, InterfaceError, NotSupportedError
from aioifx.rows import Record, listed
from aioifx.sqltypes import SqlType, TypeCode, Value

_Write: TypeAlias = Callable[[Value], str]

_BARE: Final = INTEGERS | frozenset(
    map(int, (TypeCode.SMALLFLOAT, TypeCode.FLOAT, TypeCode.DECIMAL, TypeCode.MONEY))
)
"""Types whose literals have no quotes."""


def literal_writer(sql_type: SqlType, conversions: Conversions, code_set: CodeSet) -> Convert:
    """The function that writes values of a ROW or collection whose fields are known.

    A ROW is a mapping by the names of its fields, a dataclass or Record that has all of them, or a sequence by
    position. A collection is any collection other than a mapping or text. A str is already a literal.

    Raises:
        DataError: of the function, the value does not fit.
    """
    return _composed_writer(sql_type, conversions, code_set)


def _writer_of(sql_type: SqlType, conversions: Conversions, code_set: CodeSet) -> _Write:
    composed = _composed_writer if sql_type.fields else _scalar_writer
    write, adapter = composed(sql_type, conversions, code_set), conversions.adapter_for(sql_type)

    def write_adapted(value: Value) -> str:
        adapted = adapter(value)
        return "NULL" if adapted is None else write(adapted)

    return write_adapted


def _composed_writer(sql_type: SqlType, conversions: Conversions, code_set: CodeSet) -> _Write:
    make = _row_writer if sql_type.code == TypeCode.ROW else _collection_writer
    return make(sql_type, conversions, code_set)


# --- rows and collections -------------------------------------------------------------------------------------------


def _row_writer(sql_type: SqlType, conversions: Conversions, code_set: CodeSet) -> _Write:
    names = tuple(field.name for field in sql_type.fields)
    writers = [_writer_of(field.type, conversions, code_set) for field in sql_type.fields]

    def write(value: Value) -> str:
        if isinstance(value, str):
            return value
        items = _items(value, names, sql_type)
        parts: list[str] = []
        try:
            for writer, item in zip(writers, items, strict=True):
                parts.append(writer(item))
        except DataError as error:
            raise DataError(f"field {names[len(parts)]!r}: {error}") from error.__cause__
        return f"ROW({','.join(parts)})"

    return write


def _items(value: Value, names: tuple[str, ...], sql_type: SqlType) -> Sequence[Value]:
    """The values of a ROW's fields."""
    by_name = _by_name(value)
    if by_name is None:
        if not isinstance(value, (tuple, list)):
            raise DataError(f"{sql_type} does not accept {type(value).__name__}")
        items = cast("Sequence[Value]", value)
        if len(items) != len(names):
            raise DataError(f"{sql_type}: expected {len(names)} values, got {len(items)}")
        return items
    missing = [name for name in names if name not in by_name]
    unknown = [str(name) for name in by_name if name not in names]
    if missing or unknown:
        wrong = f"field {missing[0]!r} is missing" if missing else f"unknown field {unknown[0]!r}"
        raise DataError(f"{wrong}; the fields are {listed(names)}")
    return [by_name[name] for name in names]


def _by_name(value: Value) -> Mapping[str, Value] | None:
    """The values of an object that has names for them; None for another one."""
    if isinstance(value, Mapping):
        return cast("Mapping[str, Value]", value)
    if isinstance(value, Record):
        return value.asdict()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return None


def _collection_writer(sql_type: SqlType, conversions: Conversions, code_set: CodeSet) -> _Write:
    keyword = TypeCode(sql_type.code).name
    write_element = _writer_of(sql_type.fields[0].type, conversions, code_set)

    def write(value: Value) -> str:
        if isinstance(value, str):
            return value
        kind = type(cast("object", value))
        if issubclass(kind, (bytes, bytearray, Mapping)) or not issubclass(kind, Collection):
            raise DataError(f"{sql_type} does not accept {kind.__name__}")
        parts: list[str] = []
        for element in value:
            part = write_element(element)
            if part == "NULL":
                raise DataError(f"{sql_type} does not accept None as an element")
            parts.append(part)
        return f"{keyword}{{{','.join(parts)}}}"

    return write


# --- scalars --------------------------------------------------------------------------------------------------------


def _scalar_writer(sql_type: SqlType, conversions: Conversions, code_set: CodeSet) -> _Write:
    document = document_encoder(sql_type, conversions)
    if document is not None:
        return _document_writer(sql_type, document)
    if is_large_object(sql_type):
        return _refuse(sql_type)
    codec = codec_for(sql_type, code_set)
    try:
        to_text = formatter_for(sql_type, conversions.dbdate)
    except (NotSupportedError, InterfaceError):  # a date in a form with two digits of the year
        return _refuse(sql_type)
    quoted, kind = sql_type.kind not in _BARE, sql_type.kind

    def write(value: Value) -> str:
        if isinstance(value, str):
            if kind in _TEXTS:
                codec.encode(value)
            return _quoted(value)
        text = to_text(codec.decode(codec.encode(value)))
        if kind == TypeCode.DATETIME:
            return f"DATETIME({text}) {_qualifier(sql_type)}"
        if kind == TypeCode.INTERVAL:
            return f"INTERVAL({text}) {_qualifier(sql_type)}"
        return _quoted(text) if quoted else text

    return write


_TEXTS: Final = (TypeCode.CHAR, TypeCode.NCHAR, TypeCode.VARCHAR, TypeCode.NVARCHAR, TypeCode.LVARCHAR)


def _qualifier(sql_type: SqlType) -> str:
    return str(sql_type).partition(" ")[2]


def _document_writer(sql_type: SqlType, encode: Convert) -> _Write:
    def write(value: Value) -> str:
        text: Any = value if isinstance(value, str) else encode(value)
        if not isinstance(text, str):
            raise DataError(f"{sql_type} does not accept {type(value).__name__} within a row or collection")
        return _quoted(text)

    return write


def _refuse(sql_type: SqlType) -> _Write:
    def write(value: Value) -> str:
        if isinstance(value, str):
            return _quoted(value)
        raise DataError(f"{sql_type} does not accept {type(value).__name__} within a row or collection")

    return write


def _quoted(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"
