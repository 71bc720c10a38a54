"""SUM, AVG, STDEV, VARIANCE, RANGE, exact over decimals, as classes that SQLite steps. Never: COUNT, MIN, MAX.

Invariants:
1. NULLs are ignored. Over NULLs alone the result is NULL.
2. All sums are kept exactly, as Decimal; a FLOAT counts by its shortest digits, and one FLOAT makes the result FLOAT.
3. SQLite builds an instance per group without arguments; `inverse` and `value` serve OVER (..).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from decimal import Decimal
from typing import ClassVar, Protocol

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.runtime.complex_values import stored_parts
from aioifx.server.sql.runtime.decimals import (
    ARITHMETIC,
    EXACT,
    MAX_DIGITS,
    decimal_of,
    decimal_text,
    fit_decimal,
)
from aioifx.server.sql.runtime.numerics import checked_float
from aioifx.sqltypes import Value


class Aggregate(Protocol):
    """An aggregate, as SQLite calls it for the rows of a group."""

    def step(self, value: Value) -> None:
        """Add one row."""

    def finalize(self) -> Stored:
        """The result."""
        ...


class WindowAggregate(Aggregate, Protocol):
    """An aggregate, as SQLite calls it for the rows of a window."""

    def inverse(self, value: Value) -> None:
        """Remove the oldest row of the window."""

    def value(self) -> Stored:
        """The result so far."""
        ...


class Moments(ABC):
    """Number, sum and sum of squares of the values in the group."""

    squared: ClassVar[bool] = False

    def __init__(self) -> None:
        self.count = 0
        self.floats = 0
        self.total = Decimal(0)
        self.squares = Decimal(0)

    def step(self, value: Value) -> None:
        """Add one row."""
        self._change(value, 1)

    def inverse(self, value: Value) -> None:
        """Remove the oldest row of the window."""
        self._change(value, -1)

    def _change(self, value: Value, sign: int) -> None:
        if value is None:
            return
        number = decimal_of(value)
        self.count += sign
        self.floats += sign * isinstance(value, float)
        change = EXACT.add if sign > 0 else EXACT.subtract  # an operator would round to 28 digits
        self.total = change(self.total, number)
        if self.squared:
            self.squares = change(self.squares, EXACT.multiply(number, number))

    def finalize(self) -> Stored:
        """The result."""
        return self.value()

    def value(self) -> Stored:
        """The result so far."""
        return self._stored(self.result()) if self.count else None

    def _stored(self, number: Decimal) -> Stored:
        if self.floats:
            return checked_float(float(number))
        return decimal_text(fit_decimal(number, MAX_DIGITS, None))

    @abstractmethod
    def result(self) -> Decimal:
        """The result over at least one row."""

    def variance(self) -> Decimal:
        """The variance of a sample; 0 for one row (documented)."""
        if self.count < 2:
            return Decimal(0)
        mean_part = EXACT.divide(EXACT.multiply(self.total, self.total), Decimal(self.count))
        return EXACT.divide(EXACT.subtract(self.squares, mean_part), Decimal(self.count - 1))


class Sum(Moments):
    """SUM of numbers."""

    def result(self) -> Decimal:
        return self.total


class Average(Moments):
    """AVG of numbers."""

    def result(self) -> Decimal:
        return EXACT.divide(self.total, Decimal(self.count))


class Variance(Moments):
    """VARIANCE of a sample."""

    squared: ClassVar[bool] = True

    def result(self) -> Decimal:
        return self.variance()


class StandardDeviation(Moments):
    """STDEV: the square root of VARIANCE."""

    squared: ClassVar[bool] = True

    def result(self) -> Decimal:
        # Far from the mean, the exact difference of two sums may still end just below zero by rounding
        return ARITHMETIC.sqrt(max(self.variance(), Decimal(0)))


class IntervalSum:
    """SUM of INTERVALs of one family."""

    def __init__(self) -> None:
        self.count = 0
        self.total = 0

    def step(self, value: Value) -> None:
        """Add one row."""
        if value is not None:
            self.count += 1
            self.total += value

    def inverse(self, value: Value) -> None:
        """Remove the oldest row of the window."""
        if value is not None:
            self.count -= 1
            self.total -= value

    def finalize(self) -> Stored:
        """The result."""
        return self.value()

    def value(self) -> Stored:
        """The result so far."""
        return self._checked(self.total) if self.count else None

    def _checked(self, amount: int) -> int:
        if abs(amount) < 2**63:
            return amount
        raise SqlError(-1265)


class IntervalAverage(IntervalSum):
    """AVG of INTERVALs, cut to months or to 10 microseconds."""

    def value(self) -> Stored:
        """The result so far."""
        if not self.count:
            return None
        average = abs(self.total) // self.count
        return self._checked(-average if self.total < 0 else average)


class Single:
    """The value of a single row; -284 for more rows: the value of a scalar subquery."""

    def __init__(self) -> None:
        self.count = 0
        self.only: Stored = None

    def step(self, value: Value) -> None:
        """Add one row."""
        self.count += 1
        if self.count > 1:
            raise SqlError(-284)
        self.only = value

    def finalize(self) -> Stored:
        """The result."""
        return self.only


class Collection:
    """MULTISET(SELECT ..): the parts of a collection."""

    def __init__(self) -> None:
        self.parts: list[Stored] = []

    def step(self, value: Value) -> None:
        """Add one row."""
        self.parts.append(value)

    def finalize(self) -> Stored:
        """The result."""
        return stored_parts(self.parts)


class RangeAggregate:
    """RANGE: the greatest minus the least."""

    def __init__(self) -> None:
        self.least: Decimal | None = None
        self.greatest: Decimal | None = None
        self.has_float = False

    def step(self, value: Value) -> None:
        """Add one row."""
        if value is None:
            return
        number = decimal_of(value)
        self.has_float |= isinstance(value, float)
        self.least = number if self.least is None else min(self.least, number)
        self.greatest = number if self.greatest is None else max(self.greatest, number)

    def finalize(self) -> Stored:
        """The result."""
        if self.least is None or self.greatest is None:
            return None
        spread = ARITHMETIC.subtract(self.greatest, self.least)
        return checked_float(float(spread)) if self.has_float else decimal_text(spread)
