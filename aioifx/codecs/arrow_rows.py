"""Rows of a batch in Arrow's layout, kept as columns until a row is needed. Never: where they go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from aioifx.codecs.arrow_c_data import ArrowBatch
from aioifx.codecs.arrow_values import ReadValues
from aioifx.sqltypes import Row


class ArrowRows(Sequence[Row]):
    """A range of a batch's rows.

    Args:     readers: by the index of the column, in the order of the values of a row.
    """

    def __init__(
        self, batch: ArrowBatch, readers: Sequence[tuple[int, ReadValues]], first: int, last: int
    ) -> None:
        self.batch = batch
        self.first = first
        self.last = last
        self._readers = readers
        self._rows: list[Row] | None = None

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
            columns = self.batch.columns
            values = [read(columns[index], self.first, self.last) for index, read in self._readers]
            self._rows = list(zip(*values, strict=True)) if values else [()] * len(self)
        return self._rows
