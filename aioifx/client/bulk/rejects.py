"""Rows that a load leaves out, and the numbers of the rows after them. Never: why a row is rejected."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from typing import Any

from aioifx.client.bulk.arguments import OnReject, Reject
from aioifx.errors import DatabaseError
from aioifx.sqltypes import Column


class Rejects:
    """The rejected rows of one load.

    Rows have two numbers, both from 0: the index in the source, and the position among rows that were not rejected by
    this client, by which batches are cut.
    """

    def __init__(self, report: OnReject | None = None) -> None:
        self._report = report
        self.columns: Sequence[Column] = ()
        self._left_out: list[int] = []
        """Indices of rows without a position, in order."""

    def __bool__(self) -> bool:
        """Whether rows are left out, instead of ending the load."""
        return self._report is not None

    def index_of(self, position: int) -> int:
        """The index of the row at a position."""
        left_out = self._left_out
        # As many are left out before it as have at most so many other rows before them.
        return position + bisect_right(range(len(left_out)), position, key=lambda at: left_out[at] - at)

    def leave_out(self, error: DatabaseError, index: int, row: Sequence[Any]) -> None:
        """Report a row that gets no position."""
        insort(self._left_out, index)
        self.report(error, index, row)

    def report(self, error: DatabaseError, index: int, row: Sequence[Any]) -> None:
        """Report a row."""
        assert self._report is not None
        error.row_index = index
        self._report(Reject(error, self.columns, row))
