"""An open cursor: rows in blocks or by position. Never: how rows are encoded; the SQL that produces them.

A cursor reads from SQLite until another statement runs on its connection. Before that, the engine settles it: the
remaining rows are read into a spool. So a cursor does not depend on other cursors, on later writes or on the end of
the transaction. It does not keep an old snapshot alive. A result that is fetched without interruption is never held
in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from aioifx.server.sqlite.spool import Spool, StoredRow

_SETTLE_ROWS: Final = 1000


class RowSource(Protocol):
    """The source of rows: SQLite's cursor, or a routine written in Python."""

    def fetchmany(self, size: int, /) -> list[StoredRow]: ...

    def close(self) -> None: ...


class LockingRow(Protocol):
    """The row that a cursor was moved to last, and its lock."""

    def moved_with(self, rows: list[StoredRow], /) -> list[StoredRow]: ...

    def leave(self) -> None: ...


class Postponed:
    """A query that runs when its first row is fetched, because it transfers files."""

    __slots__ = ("_rows", "_run")

    def __init__(self, run: Callable[[], RowSource]) -> None:
        self._run = run
        self._rows: RowSource | None = None

    def fetchmany(self, size: int, /) -> list[StoredRow]:
        """The next rows, at most *size*."""
        if self._rows is None:
            self._rows = self._run()
        return self._rows.fetchmany(size)

    def close(self) -> None:
        """Stop the query."""
        if self._rows is not None:
            self._rows.close()


class NoRows:
    """The rows of a query that is not executed."""

    __slots__ = ()

    def fetchmany(self, size: int, /) -> list[StoredRow]:
        """None."""
        return []

    def close(self) -> None:
        """Nothing to stop."""


class Cursor:
    """The rows of one opened query.

    Args:
        independent: no other statement can change the rows, so they need not be settled.
        on_close: called when it is closed; may be called more than once.
        current: moved with each block that is fetched; it must not keep an old snapshot, so the cursor is settled.
        is_done: whether no row is left; then rows are not read ahead, because reading locks them.
    """

    __slots__ = (
        "_ahead",
        "_current",
        "_fetched",
        "_has_rowid",
        "_is_done",
        "_is_reading",
        "_live",
        "_on_close",
        "_settled_at",
        "_spool",
        "_taken",
        "hold",
        "is_independent",
        "is_released",
        "name",
        "rowid",
        "scroll",
        "update_columns",
    )

    def __init__(
        self,
        rows: RowSource,
        *,
        name: str = "",
        hold: bool = False,
        scroll: bool = False,
        has_rowid: bool = False,
        update_columns: tuple[str, ...] | None = None,
        independent: bool = False,
        on_close: Callable[[], None] | None = None,
        current: LockingRow | None = None,
        is_done: Callable[[], bool] | None = None,
    ) -> None:
        self._current = current
        self._is_done = is_done
        self._taken = 0
        self._on_close = on_close
        self._live: RowSource | None = rows
        self._spool: Spool | None = None
        self._ahead: list[StoredRow] = []
        self._fetched = 0
        self._settled_at = 0  # rows taken before others were spooled
        self._is_reading = False
        self._has_rowid = has_rowid
        self.name = name
        self.hold = hold
        self.scroll = scroll
        self.is_released = False
        """Whether the end of a transaction closed it."""
        self.rowid: int | None = None
        """Of the row sent last, for WHERE CURRENT OF."""
        self.update_columns = update_columns
        """None unless FOR UPDATE; empty for all columns."""
        self.is_independent = independent

    @property
    def fetched(self) -> int:
        """Rows fetched so far."""
        return self._fetched

    @property
    def is_live(self) -> bool:
        """Whether its rows are still being read from the source."""
        return self._live is not None

    @property
    def is_reading(self) -> bool:
        """Whether its source runs, which may be a routine that runs statements."""
        return self._is_reading

    @property
    def locks_rows(self) -> bool:
        """Whether a fetch may have to wait for the lock of a row."""
        return self._current is not None or self._is_done is not None

    @property
    def needs_settling(self) -> bool:
        """Whether all rows are read when it opens."""
        return self.scroll or self._current is not None

    def fetch(self, count: int) -> tuple[list[StoredRow], bool]:
        """The next rows, at most *count*, and whether they are the last."""
        rows: list[StoredRow] = []
        last = False
        while not rows and not last:
            rows, last = self._block(count)
        self._fetched += len(rows)
        return self._bare(rows), last

    def next_row(self) -> list[StoredRow]:
        """The next row alone, so that a routine does not go on before its row is used; empty after the last."""
        if self._live is None or self._ahead or self._spool is not None or self.locks_rows:
            return self.fetch(1)[0]
        rows = self._next_rows(self._live, 1)
        self._taken += len(rows)
        self._fetched += len(rows)
        return self._bare(rows)

    def _block(self, count: int) -> tuple[list[StoredRow], bool]:
        if self._spool is not None:
            start = self._taken - self._settled_at
            while self._live is not None and start + count >= len(self._spool):  # one row more, as in `_read`
                self._spool_block(self._spool, self._live)
            taken = self._spool.rows(start, count)
            last = start + len(taken) >= len(self._spool)
        else:
            taken, last = self._read(count)
        rows = taken if self._current is None or not taken else self._current.moved_with(taken)
        self._taken += len(taken)
        return rows, last

    def _read(self, count: int) -> tuple[list[StoredRow], bool]:
        """Read one row more than requested, to detect the last block."""
        if self._live is None:
            return [], True
        if self._is_done is not None:
            return self._live.fetchmany(count), self._is_done()
        rows = self._ahead + self._next_rows(self._live, count + 1 - len(self._ahead))
        self._ahead = rows[count:]
        if self._ahead:
            return rows[:count], False
        self._live.close()
        self._live = None
        return rows, True

    def _next_rows(self, source: RowSource, count: int) -> list[StoredRow]:
        self._is_reading = True
        try:
            return source.fetchmany(count)
        finally:
            self._is_reading = False

    def row(self, number: int) -> StoredRow | None:
        """The row with that number, from 1; None outside the result. The cursor must be settled."""
        assert self._spool is not None and self._live is None, "row() needs a settled cursor"
        if not 1 <= number <= len(self._spool):
            return None
        return self._bare(self._spool.rows(number - 1, 1))[0]

    @property
    def count(self) -> int:
        """Total number of rows. The cursor must be settled."""
        assert self._spool is not None and self._live is None, "count needs a settled cursor"
        return len(self._spool)

    def _bare(self, rows: list[StoredRow]) -> list[StoredRow]:
        if not self._has_rowid or not rows:
            return rows
        self.rowid = rows[-1][-1]
        return [row[:-1] for row in rows]

    def settle(self, check: Callable[[], None] = lambda: None) -> None:
        """Read the remaining rows, so that later statements cannot change them.

        No effect while it reads a row: the statements of a routine that its query calls change nothing.

        Args:
            check: called between blocks. If it raises, the cursor keeps its rows and can be settled later.
        """
        if self._live is None or self._is_reading:
            return
        if self._spool is None:
            self._spool = Spool()
            self._spool.append(self._ahead)
            self._ahead = []
            self._settled_at = self._taken
        while self._spool_block(self._spool, self._live):
            check()

    def _spool_block(self, spool: Spool, live: RowSource) -> bool:
        """Read the next rows into the spool; False if there were none, and the source is closed."""
        if block := self._next_rows(live, _SETTLE_ROWS):
            spool.append(block)
            return True
        live.close()
        self._live = None
        return False

    def close(self) -> None:
        """Drop the rows."""
        if self._live is not None:
            self._live.close()
            self._live = None
        if self._spool is not None:
            self._spool.close()
        if self._current is not None:
            self._current.leave()
        if self._on_close is not None:
            self._on_close()
