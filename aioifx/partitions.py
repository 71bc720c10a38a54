"""A table or query divided into ranges of an integer key; each row is in exactly one. Never: how they are read.

Invariants:
1. The ranges cover every possible key, not only those that existed when the ends were queried. The first range has no
   lower end, and the last no upper one.
2. Rows whose key is NULL belong to the first range.
3. Ranges have equal lengths, so they hold equal numbers of rows only if the keys are evenly distributed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from aioifx.client.api.connection import Connection
from aioifx.client.config.checks import check_whole
from aioifx.client.sql.identifiers import check_column_names, column_name, object_name
from aioifx.errors import InterfaceError
from aioifx.rows import tuple_row
from aioifx.sqltypes import Value

MAX_PARTITIONS = 10_000
"""Maximum number of partitions; each costs a query and usually a connection."""


@dataclass(frozen=True, slots=True)
class Partition:
    """The keys from *low* up to, but not including, *end*; ``str()`` describes them."""

    number: int
    """Its place, from 0."""
    low: int | None
    """None: there is no lower end, and rows whose key is NULL are included."""
    end: int | None
    """None: there is no upper end."""

    def __str__(self) -> str:
        if self.low is None:
            return "all keys" if self.end is None else f"keys below {self.end}, and NULL"
        return f"keys from {self.low} on" if self.end is None else f"keys from {self.low} to {self.end - 1}"


@dataclass(frozen=True, slots=True)
class Source:
    """What is read in partitions: a table or query, and the integer column by which it is divided.

    Args:
        relation: a table's name (``sale``, ``owner.sale``, ``shop:sale``), or a complete SELECT.
        column: the integer column by which it is divided; of a query, one of its columns.
        columns: names of the columns to read; None: all.
        params: the query's own parameters.

    Raises:
        InterfaceError: an invalid name, or *params* are given with a table.
    """

    relation: str
    column: str
    columns: Sequence[str] | None = None
    params: Sequence[Value] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        column_name(self.column, "column")
        params: object = self.params
        if isinstance(params, (str, bytes)) or not isinstance(params, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InterfaceError(f"params: expected a sequence, got {type(params).__name__}")
        object.__setattr__(self, "params", tuple(self.params))
        if not self.is_query:
            object_name(self.relation, "relation")
            if self.params:
                raise InterfaceError(f"params: expected none for a table, got {len(self.params)}")
        if self.columns is not None:
            check_column_names(self.columns, "columns")

    @property
    def is_query(self) -> bool:
        """Whether *relation* is a query: a name never begins with SELECT or WITH and a blank."""
        words = str(self.relation).split(maxsplit=1)
        return len(words) == 2 and words[0].lower() in ("select", "with")

    @property
    def _names(self) -> str:
        return "*" if self.columns is None else ", ".join(self.columns)

    @property
    def _from(self) -> str:
        # The line's end is for a comment at the end of the query.
        return f"({self.relation}\n) as aioifx_source" if self.is_query else self.relation

    def ends(self) -> str:
        """The query for the least and the greatest key; it takes *params*."""
        return f"select min({self.column}), max({self.column}) from {self._from}"

    def nothing(self) -> str:
        """A query without rows, for its columns; it takes *params*."""
        return f"select {self._names} from {self._from} where 1 = 0"

    def query(self, partition: Partition) -> tuple[str, tuple[Value, ...]]:
        """The query for the rows of *partition*, and its parameters."""
        text = f"select {self._names} from {self._from}"
        low, end, key = partition.low, partition.end, self.column
        if low is None and end is None:
            return text, tuple(self.params)
        if low is None:
            return f"{text} where ({key} < ? or {key} is null)", (*self.params, end)
        if end is None:
            return f"{text} where {key} >= ?", (*self.params, low)
        return f"{text} where {key} >= ? and {key} < ?", (*self.params, low, end)


def split(low: int, high: int, count: int) -> tuple[Partition, ...]:
    """Divide the keys from *low* to *high* into *count* ranges of the same length, or fewer if there are fewer keys.

    Raises:
        InterfaceError: *count* is out of range, or *high* is below *low*.
    """
    check_whole("count", count, 1, MAX_PARTITIONS)
    if high < low:
        raise InterfaceError(f"high: expected {low} or more, got {high}")
    width = high - low + 1
    count = min(count, width)
    return cut_at([low + width * number // count for number in range(1, count)])


def cut_at(bounds: Sequence[int]) -> tuple[Partition, ...]:
    """The ranges between *bounds*, the keys at which a new range begins; one more than there are bounds.

    Raises:
        InterfaceError: they are not whole numbers, not ascending, or too many.
    """
    given: object = bounds
    if not isinstance(given, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise InterfaceError(f"bounds: expected a sequence of whole numbers, got {type(given).__name__}")
    if not all(map(_is_whole, bounds)):
        other = next(type(bound) for bound in bounds if not _is_whole(bound))
        raise InterfaceError(f"bounds: expected whole numbers, got {other.__name__}")
    for place, (first, second) in enumerate(pairwise(bounds), 1):
        if first >= second:
            raise InterfaceError(
                f"bounds: expected ascending numbers, got bounds[{place}] <= bounds[{place - 1}]"
            )
    if len(bounds) >= MAX_PARTITIONS:
        raise InterfaceError(f"bounds: expected at most {MAX_PARTITIONS - 1} numbers, got {len(bounds)}")
    return tuple(
        Partition(number, low, end) for number, (low, end) in enumerate(pairwise([None, *bounds, None]))
    )


async def plan(conn: Connection[Any], source: Source, count: int) -> tuple[Partition, ...]:
    """Divide *source* into *count* ranges between its least and its greatest key, with one query.

    The ranges have equal lengths; there are fewer if there are fewer keys. A source without keys is a single partition.

    Raises:
        InterfaceError: the column does not hold whole numbers.
        DatabaseError: the query failed.
    """
    check_whole("count", count, 1, MAX_PARTITIONS)
    row = await conn.fetchrow(source.ends(), *source.params, row_factory=tuple_row)
    low, high = row if row is not None else (None, None)
    if low is None or high is None:
        return cut_at(())
    if type(low) is not int or type(high) is not int:
        raise InterfaceError(f"column: expected whole numbers in {source.column}, got {type(low).__name__}")
    return split(low, high, count)


def _is_whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)
