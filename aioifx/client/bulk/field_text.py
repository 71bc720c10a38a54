"""Records of text fields <-> rows, by the types of their columns. Never: delimiters, quotes, escapes, files.

Invariants:
1. The encoder of a column checks whether a value fits.
2. No message shows text or a value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from aioifx.codecs.temporal_text import ISO_DATES, FormatField, ParseField
from aioifx.codecs.value_text import formatter_for, parser_for
from aioifx.errors import DataError, NotSupportedError
from aioifx.sqltypes import Column, Row, SqlType, Value

_Form = TypeVar("_Form", ParseField, FormatField)


class FieldParser(Protocol):
    """Converts the fields of one record to a row.

    Raises:
        DataError: names the record, unless its number is 0, and the column.
    """

    def __call__(self, fields: Sequence[str | None], record: int = 0, /) -> Row: ...


class FieldFormatter(Protocol):
    """Converts a row to the fields of one record.

    Raises:
        DataError: names the column.
    """

    def __call__(self, row: Sequence[Value], /) -> list[str | None]: ...


def field_parser(columns: Sequence[Column], *, dbdate: str = ISO_DATES) -> FieldParser:
    """The parser of records with these columns.

    Args:
        dbdate: the date format, as in DBDATE; an UNLOAD in the US uses MDY4/.

    Raises:
        InterfaceError: *dbdate* is invalid, or has two-digit years.
        NotSupportedError: a column's type has no text form; names both.
    """
    parsers = _each(columns, parser_for, dbdate)
    names = tuple(column.name for column in columns)

    def parse(fields: Sequence[str | None], record: int = 0, /) -> Row:
        place = f"record {record}: " if record else ""
        if len(fields) != len(parsers):
            raise DataError(f"{place}{_counted(len(fields), 'field')} for {_counted(len(parsers), 'column')}")
        values: list[Value] = []
        try:
            for parser, text in zip(parsers, fields, strict=True):
                values.append(None if text is None else parser(text))
        except DataError as error:
            name = names[len(values)]
            raise DataError(f"{place}column {name!r}: {error}", column=name) from None
        return tuple(values)

    return parse


def field_formatter(columns: Sequence[Column], *, dbdate: str = ISO_DATES) -> FieldFormatter:
    """The formatter of rows with these columns; the inverse of `field_parser`, with the same exceptions."""
    formatters = _each(columns, formatter_for, dbdate)
    names = tuple(column.name for column in columns)

    def write(row: Sequence[Value], /) -> list[str | None]:
        if len(row) != len(formatters):
            raise DataError(f"{_counted(len(row), 'value')} for {_counted(len(formatters), 'column')}")
        texts: list[str | None] = []
        try:
            for formatter, value in zip(formatters, row, strict=True):
                texts.append(None if value is None else formatter(value))
        except DataError as error:
            name = names[len(texts)]
            raise DataError(f"column {name!r}: {error}", column=name) from None
        return texts

    return write


def _each(columns: Sequence[Column], make: Callable[[SqlType, str], _Form], dbdate: str) -> tuple[_Form, ...]:
    forms: list[_Form] = []
    for column in columns:
        try:
            forms.append(make(column.type, dbdate))
        except NotSupportedError as error:
            raise NotSupportedError(f"column {column.name!r}: {error}") from None
    return tuple(forms)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
