"""The columns of a table for a file: names, and types by the values of the file. Never: a connection, SQL that runs.

A CSV file is read as a whole, so no later row can fail for its type. A field of Arrow or Parquet has its type in the
schema, and the file is read for the lengths of texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, BinaryIO, Final

from aioifx.cli.formats import arrow_modules, read_batches
from aioifx.client.bulk.text_formats import CsvFormat, records
from aioifx.codecs.value_text import parser_for
from aioifx.errors import DataError, InterfaceError
from aioifx.sqltypes import SqlType, TypeCode, Unit, datetime_qualifier

_MAX_INTEGER: Final = 2**31 - 1
_MAX_BIGINT: Final = 2**63 - 1
_MAX_DIGITS: Final = 32
_LENGTHS: Final = (20, 40, 80, 160, 255)
"""Lengths of VARCHAR, in bytes, in steps that leave room for later rows."""
_MAX_LVARCHAR: Final = 32_739
_MAX_NAME: Final = 128

_INTEGER: Final = re.compile(r"-?(?:0|[1-9]\d*+)", re.ASCII)
_DECIMAL: Final = re.compile(r"-?(0|[1-9]\d*+)?\.(\d++)", re.ASCII)
_FLOAT: Final = re.compile(r"-?(?:0|[1-9]\d*+)(?:\.\d*+)?[eE][-+]?\d++", re.ASCII)
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.(\d{1,5}))?", re.ASCII)
_PARENTHESES: Final = re.compile(r"\([\w ,]*+\)")
_WORDS: Final = re.compile(r"[a-zA-Z][\w ]*+")
_DEPTH: Final = 4
"""Parentheses in parentheses of a type, at most."""
_BOOLEANS: Final = frozenset({"t", "f", "true", "false"})
_DATE: Final = SqlType(TypeCode.DATE)
_DATETIME: Final = SqlType(TypeCode.DATETIME, datetime_qualifier(Unit.YEAR, Unit.FRACTION, 5).encoded)


def create_table(table: str, columns: Sequence[tuple[str, str]]) -> str:
    """The CREATE TABLE statement for names and types."""
    lines = ",\n".join(f"    {name} {sql_type}" for name, sql_type in columns)
    return f"CREATE TABLE {table} (\n{lines}\n)"


def column_names(found: Iterable[str]) -> list[str]:
    """Identifiers for the names in a file, each once; in lower case, as unquoted names are."""
    names: list[str] = []
    for number, text in enumerate(found, 1):
        name = re.sub(r"[^a-z0-9_]+", "_", text.strip().lower()).strip("_")[:_MAX_NAME] or f"column_{number}"
        if name[0].isdecimal():
            name = f"column_{name}"
        unique, repetition = name, 1
        while unique in names:
            repetition += 1
            unique = f"{name}_{repetition}"
        names.append(unique)
    return names


# -- CSV --------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Texts:
    """What the texts of a column are."""

    dbdate: str
    codec: str
    kinds: set[str] = field(default_factory=set[str])
    whole: int = 0
    """Digits before the point, at most."""
    scale: int = 0
    """Digits after it, at most."""
    largest: int = 0
    """The largest whole number, without its sign."""
    length: int = 0
    """Bytes."""

    def add(self, text: str) -> None:
        self.length = max(self.length, len(text.encode(self.codec, "replace")))
        if self.kinds == {"text"}:
            return
        kind = self._kind(text)
        if kind == "text":
            self.kinds.clear()
        self.kinds.add(kind)

    def _kind(self, text: str) -> str:
        if _INTEGER.fullmatch(text):
            self.whole = max(self.whole, len(text.lstrip("-")))
            if len(text) <= _MAX_DIGITS:
                self.largest = max(self.largest, abs(int(text)))
            return "integer"
        if found := _DECIMAL.fullmatch(text):
            self.whole = max(self.whole, len(found[1] or ""))
            self.scale = max(self.scale, len(found[2]))
            return "decimal"
        if _FLOAT.fullmatch(text) and isfinite(float(text)):
            return "float"
        if text.lower() in _BOOLEANS:
            return "boolean"
        found = _MOMENT.fullmatch(text)
        try:
            parser_for(_DATETIME if found else _DATE, self.dbdate)(text)
        except DataError:
            return "text"
        if found:
            self.scale = max(self.scale, len(found[1] or ""))
        return "moment" if found else "date"

    def sql_type(self) -> str:
        match sorted(self.kinds):
            case ["integer"] if self.largest <= _MAX_INTEGER and self.whole <= _MAX_DIGITS:
                return "INTEGER"
            case ["integer"] if self.largest <= _MAX_BIGINT and self.whole <= _MAX_DIGITS:
                return "BIGINT"
            case ["integer"] | ["decimal"] | ["decimal", "integer"] if self.whole + self.scale <= _MAX_DIGITS:
                return f"DECIMAL({self.whole + self.scale},{self.scale})"
            case [*kinds] if "float" in kinds and {*kinds} <= {"decimal", "float", "integer"}:
                return "FLOAT"
            case ["boolean"]:
                return "BOOLEAN"
            case ["date"]:
                return "DATE"
            case ["moment"]:
                return f"DATETIME YEAR TO {f'FRACTION({self.scale})' if self.scale else 'SECOND'}"
            case _:
                return _text_type(self.length)


def _text_type(length: int) -> str:
    """The type of texts of up to so many bytes."""
    for step in _LENGTHS:
        if length <= step:
            return f"VARCHAR({step})"
    if length <= _MAX_LVARCHAR:
        return f"LVARCHAR({min(2 ** (length - 1).bit_length(), _MAX_LVARCHAR)})"
    return "TEXT"


def csv_columns(
    file: BinaryIO, form: CsvFormat, given: Sequence[str] | None, dbdate: str, codec: str
) -> list[tuple[str, str]]:
    """Names and types of the columns of a CSV file.

    Args:
        given: the names; None for those of the header.
        codec: encoding of texts in the table.

    Raises:
        InterfaceError: there are no names.
        DataError: the file is not valid CSV, or a record has another number of fields than names.
    """
    source = records(file, form)
    header = form.names(next(source, list[str | None]())) if form.header else None
    names = given or (None if header is None else column_names(header))
    if not names:
        raise InterfaceError("--create: expected a header in FILE, or --columns")
    columns = [_Texts(dbdate, codec) for _ in names]
    for fields in source:
        for column, text in zip(columns, fields, strict=False):  # the load says which record is too short
            if text is not None:
                column.add(text)
    return [(name, column.sql_type()) for name, column in zip(names, columns, strict=True)]


# -- Arrow ------------------------------------------------------------------------------------------------------------


def arrow_columns(form: str, file: BinaryIO, given: Sequence[str] | None) -> list[tuple[str, str]]:
    """Names and types of the columns of an Arrow or Parquet file.

    Raises:
        InterfaceError: a field's type has no equivalent.
    """
    schema, batches, _ = read_batches(form, file)
    texts = [place for place, one in enumerate(schema) if _sql_type(one) is None]
    lengths = dict.fromkeys(texts, 0)
    compute = arrow_modules("pyarrow.compute") if texts else None
    for batch in batches if texts else ():
        for place in texts:
            lengths[place] = max(lengths[place], _longest(compute, batch.column(place)))
    names = given or column_names(schema.names)
    types = (
        _text_type(lengths[place]) if place in lengths else _sql_type(one) or ""
        for place, one in enumerate(schema)
    )
    return list(zip(names, types, strict=False))


def _longest(compute: Any, column: Any) -> int:
    types = arrow_modules("pyarrow.types")
    if types.is_null(column.type):
        return 0
    if types.is_dictionary(column.type):
        column = column.dictionary
    return compute.max(compute.binary_length(column)).as_py() or 0


def _sql_type(one: Any) -> str | None:
    """The type of a field; None for text, whose type depends on its length."""
    types, kind = arrow_modules("pyarrow.types"), one.type
    metadata: dict[bytes, bytes] = one.metadata or {}
    known = metadata.get(b"sql_type", b"").decode(errors="replace")  # `aioifx unload` writes it
    if _is_type(known):
        return known
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_decimal(kind) and kind.precision <= _MAX_DIGITS and 0 <= kind.scale <= kind.precision:
        return f"DECIMAL({kind.precision},{kind.scale})"
    if types.is_timestamp(kind):
        return "DATETIME YEAR TO " + {"s": "SECOND", "ms": "FRACTION(3)"}.get(kind.unit, "FRACTION(5)")
    for is_kind, name in _ARROW_TYPES:
        if getattr(types, is_kind)(kind):
            return name
    raise InterfaceError(f"--create: the field {one.name!r} has the type {kind}, which has no equivalent")


def _is_type(text: str) -> bool:
    """Whether a text from a file, which anyone may have written, can only be the type of one column."""
    for _ in range(_DEPTH):
        text = _PARENTHESES.sub("", text)
    return _WORDS.fullmatch(text) is not None


_ARROW_TYPES: Final = (
    ("is_boolean", "BOOLEAN"),
    ("is_int8", "SMALLINT"), ("is_uint8", "SMALLINT"), ("is_int16", "SMALLINT"),
    ("is_uint16", "INTEGER"), ("is_int32", "INTEGER"),
    ("is_uint32", "BIGINT"), ("is_int64", "BIGINT"),
    ("is_uint64", "DECIMAL(20,0)"),
    ("is_float16", "SMALLFLOAT"), ("is_float32", "SMALLFLOAT"), ("is_float64", "FLOAT"),
    ("is_date", "DATE"),
    ("is_time", "DATETIME HOUR TO FRACTION(5)"),
    ("is_duration", "INTERVAL DAY(9) TO FRACTION(5)"),
    ("is_string", None), ("is_large_string", None), ("is_string_view", None), ("is_null", None),
    ("is_binary", "BYTE"), ("is_large_binary", "BYTE"), ("is_fixed_size_binary", "BYTE"),
)  # fmt: skip
"""Tests of pyarrow.types, and the SQL type of what they accept."""
