"""Rows of a batch in Arrow's layout, kept as columns until a row is needed. Never: an address, where rows go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias, overload

from aioifx.errors import InterfaceError
from aioifx.sqltypes import Row, Value


@dataclass(frozen=True, slots=True)
class ArrowField:
    """The name and type of a column."""

    name: str
    format: str
    """As the C data interface spells the type; for a dictionary the type of its indices."""
    dictionary: ArrowField | None = None
    """The type of the dictionary's values."""
    children: tuple[ArrowField, ...] = ()


@dataclass(slots=True, eq=False)
class ArrowColumn:
    """The buffers of a column in one batch."""

    length: int
    offset: int
    """Index of the first value in the buffers."""
    has_nulls: bool
    """False if it is known that there are none."""
    buffers: tuple[int, ...]
    """Addresses; 0 for an absent buffer. The first is the validity bitmap, which the null type lacks."""
    dictionary: ArrowColumn | None = None
    values: list[Value] | None = None
    """Those of a dictionary, once they are read."""
    entries: dict[Any, Any] = field(default_factory=dict[Any, Any])
    """Those of a dictionary, encoded: see `aioifx.codecs.arrow_plan`."""

    def buffer(self, index: int) -> int:
        """The address of a buffer that values need.

        Raises:
            InterfaceError: there is none.
        """
        address = self.buffers[index] if 0 <= index < len(self.buffers) else 0
        if not address:
            raise InterfaceError(f"Arrow data: expected buffer {index} of a column, got none")
        return address


ReadValues: TypeAlias = Callable[[ArrowColumn, int, int], list[Value]]
"""A column, and the range of its rows -> their values."""


class RowColumn(NamedTuple):
    """One value of a row."""

    position: int
    """Of the column in its batch."""
    field: ArrowField
    read: ReadValues
    read_dictionary: ReadValues | None
    """For the values of its dictionary, if it has one."""


class Batch(Protocol):
    """What holds the columns of a batch, and their buffers."""

    @property
    def columns(self) -> Sequence[ArrowColumn]:
        """All of them, in order."""
        ...


class ArrowRows(Sequence[Row]):
    """A range of a batch's rows.

    Args:
        row: the values of a row, in order. It is the same object for all rows of one source.
    """

    def __init__(self, batch: Batch, row: tuple[RowColumn, ...], first: int, last: int) -> None:
        self._batch = batch
        self.row = row
        self.first = first
        self.last = last
        self._values: dict[int, list[Value]] = {}
        self._rows: list[Row] | None = None
        self.readings: tuple[object, list[Any]] = None, []
        """Plans, and their readings: see `aioifx.codecs.arrow_plan`."""

    def __len__(self) -> int:
        return self.last - self.first

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        return self.rows[index]

    @property
    def rows(self) -> list[Row]:
        """The rows as tuples."""
        if self._rows is None:
            values = [self.values(place) for place in range(len(self.row))]
            self._rows = list(zip(*values, strict=True)) if values else [()] * len(self)
        return self._rows

    def column(self, place: int) -> ArrowColumn:
        """The column of the values at *place* of a row."""
        return self._batch.columns[self.row[place].position]

    def values(self, place: int) -> list[Value]:
        """The values at *place* of these rows."""
        if (values := self._values.get(place)) is None:
            values = self._values[place] = self.row[place].read(self.column(place), self.first, self.last)
        return values

    def dictionary_value(self, place: int) -> Callable[[int], Value]:
        """The function that reads one value of the dictionary at *place*."""
        dictionary, read = self.column(place).dictionary, self.row[place].read_dictionary
        assert dictionary is not None and read is not None, "the column has a dictionary"
        return lambda index: read(dictionary, index, index + 1)[0]
