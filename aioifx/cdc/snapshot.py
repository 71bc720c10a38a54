"""The rows that are there when a capture begins, in chunks, without a gap to the changes. Never: the capture session.

Changes are captured before the first chunk is read. A chunk is read by key under repeatable read, so that it waits for
transactions that have changed its rows. Its window ends when every transaction that was committed before the end of
the read has arrived. Until then changes of the chunk's keys are applied to its rows, and not delivered. A change of a
key in a delivered chunk is delivered. A change of any other key is dropped, because a later chunk has its result.

Source: the order of commits is that of their records, and their times are the server's (documented). Assumed: a read
that waits in vain has delivered every transaction that was committed before it began.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from aioifx.catalog.description import describe
from aioifx.cdc.position import Position
from aioifx.cdc.records import Change, CommittedTransaction, Table
from aioifx.client.api.connection import Connection, statements_of
from aioifx.client.session.waiting import begin_task
from aioifx.codecs.large_objects import is_smart_object
from aioifx.codecs.text import CodeSet
from aioifx.errors import InterfaceError, LockError
from aioifx.rows import Record, tuple_row
from aioifx.sqltypes import INTEGER_CODES, Column, Datetime, Row, TypeCode, Value

logger: Final = logging.getLogger("aioifx.cdc")

_Key: TypeAlias = tuple[Any, ...]
"""The key of a row in the order of the server."""

_MOST_PENDING: Final = 8
"""Chunks in memory whose windows have not ended."""
_LOCK_WAIT: Final = 60
_ATTEMPTS: Final = 10
"""At reading one chunk, when the server refuses a lock."""
_TIME: Final = "select first 1 dbinfo('utc_current') from informix.systables"
_ORDERED: Final = INTEGER_CODES | {TypeCode.DECIMAL, TypeCode.MONEY, TypeCode.DATE, TypeCode.DATETIME}
_TEXTS: Final = frozenset({TypeCode.CHAR, TypeCode.VARCHAR})


@dataclass(slots=True)
class _Chunk:
    rows: dict[_Key, Record]
    high: _Key | None
    """The last key; None: there is no end."""
    ended: int
    """When it had been read, in seconds since 1970 by the server's clock."""
    ended_here: float
    """The same by the event loop's clock."""
    came: dict[_Key, list[Record]] = field(default_factory=dict[_Key, list[Record]])
    """By key: the rows that the transaction being taken has made."""
    gone: set[_Key] = field(default_factory=set[_Key])
    """The keys of the others that it has removed."""

    def remove(self, key: _Key, row: Record) -> None:
        """Note that a row is gone, at once if the same transaction has made it."""
        came = self.came.get(key, [])
        if row in came:
            came.remove(row)
        else:
            self.gone.add(key)

    def settle(self) -> None:
        """Apply what the transaction has done, all removals first: one UPDATE may give a row the key of the next."""
        for key in self.gone:
            self.rows.pop(key, None)
        self.rows.update({key: rows[-1] for key, rows in self.came.items() if rows})
        self.gone.clear()
        self.came.clear()

    def clear(self) -> None:
        """Remove all rows."""
        for each in (self.rows, self.came, self.gone):
            each.clear()


@dataclass(slots=True)
class _Progress:
    """One table."""

    conn: Connection[Any]
    table: Table
    keys: tuple[str, ...]
    key_of: Callable[[Row], _Key]
    pending: deque[_Chunk] = field(default_factory=deque[_Chunk])
    delivered: _Key | None = None
    """The last key that was delivered; None: nothing."""
    last: Row = ()
    """The key of the last row that was read."""
    is_read: bool = False
    is_done: bool = False

    def query(self, size: int) -> str:
        """The query for the next chunk; its parameters are those of `parameters`."""
        columns = ", ".join(column.name for column in self.table.layout.columns)
        text = f"select first {size} {columns} from {self.table.name.partition(':')[2]}"
        if self.last:
            cases = [
                " and ".join([*(f"{key} = ?" for key in self.keys[:place]), f"{self.keys[place]} > ?"])
                for place in range(len(self.keys))
            ]
            text += f" where ({') or ('.join(cases)})"
        return f"{text} order by {', '.join(self.keys)}"

    def parameters(self) -> list[Value]:
        return [value for place in range(len(self.last)) for value in self.last[: place + 1]]


class Snapshot:
    """Reads chunks, and decides what of each transaction is delivered meanwhile.

    Args:
        tables: all tables, with the connections that read them; made by `prepared`.
        size: rows of a chunk.
        position: at which the capture began.
    """

    def __init__(self, tables: Sequence[_Progress], size: int, position: Position) -> None:
        self._tables = {each.table.name: each for each in tables}
        self._size = size
        self._position: Position | None = position  # after the last transaction that was taken
        self._reading: asyncio.Task[None] | None = None
        self.output: deque[CommittedTransaction] = deque()
        """What is to be delivered next."""

    @property
    def is_done(self) -> bool:
        """Whether all rows were delivered."""
        return all(each.is_done for each in self._tables.values())

    @property
    def wants_rows(self) -> bool:
        """Whether another chunk should be read before changes."""
        return self._next_table() is not None and self._pending < _MOST_PENDING

    @property
    def _pending(self) -> int:
        return sum(len(each.pending) for each in self._tables.values())

    def _next_table(self) -> _Progress | None:
        return next((each for each in self._tables.values() if not each.is_read), None)

    # -- chunks -------------------------------------------------------------------------------------------------------

    async def read(self) -> None:
        """Read the next chunk. Cancelling this leaves the read in progress, for the next call.

        Raises:
            DatabaseError: the query failed.
        """
        if self._reading is None:
            progress = self._next_table()
            assert progress is not None
            self._reading = begin_task(self._read(progress))
        reading = self._reading
        await asyncio.wait([reading])
        self._reading = None
        if not reading.cancelled():  # `close` cancels it
            reading.result()

    async def _read(self, progress: _Progress) -> None:
        rows, ended = await self._rows_or_again(progress)
        keys = [progress.key_of(row) for row in rows]
        progress.is_read = len(rows) < self._size
        if rows:
            record = progress.table.make(rows[-1])
            progress.last = tuple(record[name] for name in progress.keys)
        progress.pending.append(
            _Chunk(
                dict(zip(keys, map(progress.table.make, rows), strict=True)),
                None if progress.is_read else keys[-1],
                ended,
                asyncio.get_running_loop().time(),
            )
        )

    async def _rows_or_again(self, progress: _Progress) -> tuple[list[Row], int]:
        for _ in range(_ATTEMPTS - 1):
            try:
                return await self._rows(progress)
            except LockError as error:
                if not error.retryable:
                    raise
                logger.info("a chunk of the snapshot is read again: %s", error)
        return await self._rows(progress)

    async def _rows(self, progress: _Progress) -> tuple[list[Row], int]:
        """The rows of a chunk, and the server's time after them."""
        conn = progress.conn
        async with conn.transaction(isolation="repeatable_read", lock_wait=_LOCK_WAIT):
            rows = await conn.fetch(progress.query(self._size), *progress.parameters(), row_factory=tuple_row)
            return rows, int(await conn.fetchval(_TIME))

    async def close(self) -> None:
        """Wait for a read in progress, whose result is dropped."""
        reading, self._reading = self._reading, None
        if reading is not None:
            reading.cancel()
            await asyncio.wait([reading])

    # -- windows ------------------------------------------------------------------------------------------------------

    def on_silence(self, since: float) -> None:
        """A read that began at *since*, by the event loop's clock, found no data."""
        self._end_windows(lambda chunk: since >= chunk.ended_here)

    def take(self, transaction: CommittedTransaction) -> None:
        """Add what is delivered of *transaction* to `output`, after the chunks whose windows it ends."""
        assert transaction.time is not None
        seconds = int(transaction.time.timestamp())
        self._end_windows(lambda chunk: seconds > chunk.ended)
        self._position = transaction.position
        if self.is_done:
            self.output.append(transaction)
            return
        changes = [placed for change in transaction for placed in self._placed(change)]
        for progress in self._tables.values():
            for chunk in progress.pending:
                chunk.settle()
        if changes:
            self.output.append(
                CommittedTransaction(
                    None,
                    transaction.time,
                    changes,
                    transaction=transaction.transaction,
                    user=transaction.user,
                )
            )

    def _end_windows(self, is_over: Callable[[_Chunk], bool]) -> None:
        for progress in self._tables.values():
            while progress.pending and is_over(progress.pending[0]):
                chunk = progress.pending.popleft()
                progress.delivered, progress.is_done = chunk.high, chunk.high is None
                changes = [
                    Change("read", progress.table.name, None, row, 0) for _, row in sorted(chunk.rows.items())
                ]
                position = self._position if self.is_done else None
                if changes or position is not None:
                    self.output.append(CommittedTransaction(position, None, changes))

    def _placed(self, change: Change) -> Iterator[Change]:
        """The change as it is delivered; parts of it belong to chunks."""
        progress = self._tables[change.table]
        if change.kind == "truncate":
            for chunk in progress.pending:
                chunk.clear()
            if progress.delivered is not None or progress.is_done:
                yield change
            return
        before, after = change.before, change.after
        gone = None if before is None else self._place(progress, progress.key_of(before))
        come = None if after is None else self._place(progress, progress.key_of(after))
        if before is not None and after is not None and gone is come is progress:
            yield change
            return
        if before is not None:
            if isinstance(gone, _Chunk):
                gone.remove(progress.key_of(before), before)
            elif gone is progress:
                yield Change("delete", change.table, before, None, change.sequence)
        if after is not None:
            if isinstance(come, _Chunk):
                come.came.setdefault(progress.key_of(after), []).append(after)
            elif come is progress:
                yield Change("insert", change.table, None, after, change.sequence)

    def _place(self, progress: _Progress, key: _Key) -> _Chunk | _Progress | None:
        """The pending chunk that has a key; the table itself: it was delivered; None: it is not read yet."""
        if progress.is_done or (progress.delivered is not None and key <= progress.delivered):
            return progress
        return next((chunk for chunk in progress.pending if chunk.high is None or key <= chunk.high), None)


# -- keys -------------------------------------------------------------------------------------------------------------


async def prepared(conn: Connection[Any], table: Table) -> _Progress:
    """A table for a snapshot.

    Raises:
        InterfaceError: it has no primary key, one that is not captured, or one whose order is not known here.
    """
    name = table.name.partition(":")[2]
    constraints = (await describe(conn, name)).relation.constraints
    keys = next((each.columns for each in constraints if each.kind == "primary key"), ())
    columns = {column.name: (place, column) for place, column in enumerate(table.layout.columns)}
    if not keys:
        raise InterfaceError(f"snapshot: {table.name} has no primary key")
    for column in table.layout.columns:
        if is_smart_object(column.type):
            raise InterfaceError(
                f"snapshot: expected no {column.type}, which {column.name!r} of {table.name} is"
            )
    parts: list[tuple[int, Callable[[Value], Any]]] = []
    for key in keys:
        if key not in columns:
            raise InterfaceError(f"snapshot: expected the key {key!r} of {table.name} among its columns")
        place, column = columns[key]
        parts.append((place, _order_of(column, table, statements_of(conn).session.code_set)))

    def key_of(row: Row) -> _Key:
        return tuple([order(row[place]) for place, order in parts])

    return _Progress(conn, table, tuple(keys), key_of)


def _order_of(column: Column, table: Table, code_set: CodeSet) -> Callable[[Value], Any]:
    """The function that makes a value comparable as the server compares it.

    Source: documented: CHAR and VARCHAR in the order of the code set, with blanks after the shorter one (GLS guide)
    """
    kind, qualifier = column.type.kind, column.type.qualifier
    if kind in _TEXTS:
        size = column.type.size or 0
        return lambda text: code_set.encode(text).ljust(size, b" ")
    if kind not in _ORDERED or (qualifier is not None and qualifier.datetime_class is Datetime):
        raise InterfaceError(
            f"snapshot: a key of {column.type}, {column.name!r} of {table.name}, is not supported"
        )
    return _same


def _same(value: Value) -> Value:
    return value
