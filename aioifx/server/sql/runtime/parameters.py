"""Python values bound to parameters, converted for SQLite. Never: bytes, SQL text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import Final, TypeAlias

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Parameter
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.storage import TEXT_FORMS, Stored, form_of
from aioifx.server.sql.model.type_rules import NUMERIC, Family, family_of, qualifier_of
from aioifx.server.sql.runtime.casts import convert
from aioifx.server.sql.runtime.client_values import natural, store, storer
from aioifx.sqltypes import Qualifier, SqlType, Value

_CONVERSION_FAILED: Final = -415
_WIDEST_INTEGER: Final = 2**63 - 1


def bound(parameter: Parameter, value: Value, settings: Settings) -> Stored:
    """One value."""
    if value is None:
        return None
    if parameter.type is None:
        return natural(value, settings)[0]
    if parameter.is_compared:
        return _compared(value, parameter.type, settings)
    if parameter.is_exact and family_of(parameter.type) is Family.INTEGER:
        return _whole(value, parameter.type, settings)
    return store(value, parameter.type, settings)


def _whole(value: Value, type_: SqlType, settings: Settings) -> Stored:
    """An operand of integer arithmetic: rounding it would change the result."""
    if isinstance(value, float | Decimal) and value != int(value):
        raise SqlError(_CONVERSION_FAILED)
    return store(value, type_, settings)


def _compared(value: Value, type_: SqlType, settings: Settings) -> Stored:
    """A value that is compared with others of the type: in their form, but not truncated or rounded."""
    stored, own = natural(value, settings)
    family = family_of(type_)
    if family is Family.INTEGER:
        return _number(stored, own, settings)
    if family is Family.DATETIME:
        return _moment(stored, own, type_, settings)
    if own == type_ or (family is Family.TEXT and form_of(own) in TEXT_FORMS):
        return stored
    return convert(stored, own, type_, settings)


def _number(stored: Stored, own: SqlType, settings: Settings) -> Stored:
    """A number compared with integers: an int if exact, otherwise the nearest REAL, which SQLite compares exactly."""
    if family_of(own) not in NUMERIC:
        stored = convert(stored, own, _EXACT, settings)
    number = Decimal(str(stored))
    if number == int(number) and abs(number) <= _WIDEST_INTEGER:
        return int(number)
    return float(number)


_EXACT: Final = SqlType(5, 32 * 256 + 255)


def _moment(stored: Stored, own: SqlType, type_: SqlType, settings: Settings) -> Stored:
    """A DATETIME compared with others: truncated to their fields if that is lossless, so that equal ones match.

    Otherwise the finer text is kept: it sorts after the shorter text that it starts with, and equals none.
    """
    cut = convert(stored, own, type_, settings)
    if family_of(own) is not Family.DATETIME or _is_within(qualifier_of(own), qualifier_of(type_)):
        return cut
    text, short = str(stored), str(cut)
    return cut if text.startswith(short) and not text[len(short) :].strip("0:-. ") else stored


def _is_within(own: Qualifier, other: Qualifier) -> bool:
    return (own.last, own.scale) <= (other.last, other.scale)


Binder: TypeAlias = Callable[[Value, Settings], Stored]

_WRONG_COUNT: Final = -254


class Binders:
    """Binds the parameters of one plan, any number of times.

    Raises:
        SqlError: -1260, a parameter's type is not supported.
    """

    __slots__ = ("_binders",)

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self._binders = tuple(_binder_of(parameter) for parameter in parameters)

    def bind(self, values: Sequence[Value], settings: Settings) -> tuple[Stored, ...]:
        """The values in storage form.

        Raises:
            SqlError: -254, wrong number of values; -415 and similar, a value does not convert to the type.
        """
        binders = self._binders
        if len(values) != len(binders):
            raise SqlError(_WRONG_COUNT)
        return tuple(
            [
                None if value is None else binder(value, settings)
                for binder, value in zip(binders, values, strict=True)
            ]
        )

    def bind_rows(
        self, rows: Sequence[Sequence[Value]], settings: Settings
    ) -> tuple[list[tuple[Stored, ...]], SqlError | None]:
        """Bind many rows: returns the rows before the first failure, and its error."""
        try:
            columns = [
                [None if value is None else binder(value, settings) for value in column]
                for binder, column in zip(self._binders, zip(*rows, strict=True), strict=True)
            ]
            return list(zip(*columns, strict=True)), None
        except (SqlError, ValueError):
            return self._bound_in_front(rows, settings)

    def _bound_in_front(
        self, rows: Sequence[Sequence[Value]], settings: Settings
    ) -> tuple[list[tuple[Stored, ...]], SqlError | None]:
        done: list[tuple[Stored, ...]] = []
        for row in rows:
            try:
                done.append(self.bind(row, settings))
            except SqlError as error:
                return done, error
        return done, None


def _binder_of(parameter: Parameter) -> Binder:
    if parameter.type is None or parameter.is_compared or parameter.is_exact:
        return partial(bound, parameter)
    return storer(parameter.type)
