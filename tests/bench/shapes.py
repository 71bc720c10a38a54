"""The two tables of every bench: columns, rows, SQL for Informix and PostgreSQL. Never: a connection.

Rows depend on their number alone, so every client can be checked against them. 5 % of each nullable column is NULL.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from aioifx.sqltypes import (
    EXTENDED_BOOLEAN,
    EXTENDED_LVARCHAR,
    FLOATING_SCALE,
    Column,
    Row,
    SqlType,
    TypeCode,
    Unit,
    datetime_qualifier,
)

SELECT_ONE: Final = "SELECT FIRST 1 1 FROM systables"
"""SELECT 1 as Informix has it."""

_POSTGRES: Final = {
    "FLOAT": "DOUBLE PRECISION",
    "SMALLFLOAT": "REAL",
    "INT8": "BIGINT",
    "DECIMAL(16)": "NUMERIC",
    "MONEY(16,2)": "NUMERIC(16,2)",
    "DATETIME YEAR TO SECOND": "TIMESTAMP",
    "DATETIME YEAR TO FRACTION(5)": "TIMESTAMP",
    "DATETIME HOUR TO SECOND": "TIME",
    "LVARCHAR(200)": "VARCHAR(200)",
}
"""Types that PostgreSQL calls otherwise."""


@dataclass(frozen=True)
class Shape:
    """A table."""

    name: str
    columns: tuple[Column, ...]
    row: Callable[[int], Row]
    """The row with that number, from 0."""

    def rows(self, count: int, start: int = 0) -> Iterator[Row]:
        """The first *count* rows after *start*."""
        return map(self.row, range(start, start + count))

    @property
    def _names(self) -> str:
        return ", ".join(column.name for column in self.columns)

    def select(self, first: int | None = None) -> str:
        """All rows, or the first ones, in Informix's SQL."""
        return f"SELECT {f'FIRST {first} ' if first is not None else ''}{self._names} FROM {self.name}"

    def create(self, table: str | None = None) -> str:
        """CREATE TABLE in Informix's SQL."""
        return f"CREATE TABLE {table or self.name} ({', '.join(map(_definition, self.columns))})"

    def insert(self, table: str | None = None) -> str:
        """INSERT of one row of parameters; both Informix clients mark them so."""
        return f"INSERT INTO {table or self.name} VALUES ({', '.join('?' * len(self.columns))})"

    def postgres_select(self, first: int | None = None) -> str:
        """All rows, or the first ones, in PostgreSQL's SQL; rows are in the order of their insertion."""
        return f"SELECT {self._names} FROM {self.name}{f' LIMIT {first}' if first is not None else ''}"

    def postgres_create(self, table: str | None = None) -> str:
        """CREATE TABLE in PostgreSQL's SQL."""
        definitions = [_definition(column, postgres=True) for column in self.columns]
        return f"CREATE TABLE {table or self.name} ({', '.join(definitions)})"


def _definition(column: Column, *, postgres: bool = False) -> str:
    name = str(column.type)
    name = _POSTGRES.get(name, name) if postgres else name
    return f"{column.name} {name}{'' if column.nullable else ' NOT NULL'}"


def _column(name: str, code: TypeCode, length: int, extended_id: int = 0, extended_name: str = "") -> Column:
    owner = "informix" if extended_name else ""
    return Column(name, SqlType(code, length, extended_id, owner, extended_name), nullable=name != "id")


def _moment(name: str, first: Unit, last: Unit, scale: int = 0) -> Column:
    return _column(name, TypeCode.DATETIME, datetime_qualifier(first, last, scale).encoded)


_DAY: Final = dt.date(2020, 1, 1)
_NOON: Final = dt.datetime(2021, 6, 1, 12)


def _narrow_row(i: int) -> Row:
    phase = i % 20
    return (
        i,
        None if phase == 3 else i * 1_000_003,
        None if phase == 7 else f"customer {i % 9973}",
        None if phase == 11 else i / 7,
        None if phase == 17 else _DAY + dt.timedelta(days=i % 2000),
    )


def _wide_row(i: int) -> Row:
    values = (
        i,
        i % 30_000 - 15_000,
        i * 1_000_003,
        -i * 1_000_033,
        i / 7,
        i % 4096 / 8,
        -i / 3,
        Decimal(i * 12_347 % 10**13).scaleb(-2),
        Decimal(i * 7919 + 1).scaleb(i % 9 - 6),
        Decimal(i * 997 % 10**9 - 5 * 10**8).scaleb(-2),
        _DAY + dt.timedelta(days=i % 2000),
        _NOON + dt.timedelta(seconds=i * 61 % 10**8),
        _NOON + dt.timedelta(seconds=i % 10**7, microseconds=i * 130 % 1_000_000),
        dt.time(1 + i % 23, i % 60, i * 7 % 60),  # informix-driver 2026.9.3 fails before one o'clock
        f"{i % 10**10:010d}",
        f"{i * 2_654_435_761 % 2**128:032x}",
        f"customer {i % 9973}",
        f"a town of {i % 997}",
        i % 3 == 0,
        f"note {i % 89} on this row, of no use",
    )
    phase = i % 20
    return values if phase == 0 else (*values[:phase], None, *values[phase + 1 :])


NARROW: Final = Shape(
    "narrow",
    (
        _column("id", TypeCode.INTEGER, 4),
        _column("big", TypeCode.BIGINT, 8),
        _column("name", TypeCode.VARCHAR, 20),
        _column("ratio", TypeCode.FLOAT, 8),
        _column("day", TypeCode.DATE, 4),
    ),
    _narrow_row,
)
"""45 bytes a row on the wire."""

WIDE: Final = Shape(
    "wide",
    (
        _column("id", TypeCode.INTEGER, 4),
        _column("small", TypeCode.SMALLINT, 2),
        _column("big", TypeCode.BIGINT, 8),
        _column("huge", TypeCode.INT8, 10),
        _column("ratio", TypeCode.FLOAT, 8),
        _column("part", TypeCode.SMALLFLOAT, 4),
        _column("share", TypeCode.FLOAT, 8),
        _column("price", TypeCode.DECIMAL, 16 << 8 | 2),
        _column("measure", TypeCode.DECIMAL, 16 << 8 | FLOATING_SCALE),
        _column("paid", TypeCode.MONEY, 16 << 8 | 2),
        _column("day", TypeCode.DATE, 4),
        _moment("made", Unit.YEAR, Unit.SECOND),
        _moment("seen", Unit.YEAR, Unit.FRACTION, 5),
        _moment("opens", Unit.HOUR, Unit.SECOND),
        _column("code", TypeCode.CHAR, 10),
        _column("hash", TypeCode.CHAR, 32),
        _column("name", TypeCode.VARCHAR, 40),
        _column("town", TypeCode.VARCHAR, 60),
        _column("active", TypeCode.UDTFIXED, 1, EXTENDED_BOOLEAN, "boolean"),
        _column("note", TypeCode.UDTVAR, 200, EXTENDED_LVARCHAR, "lvarchar"),
    ),
    _wide_row,
)
"""217 bytes a row on the wire."""

SHAPES: Final = {shape.name: shape for shape in (NARROW, WIDE)}
