"""The statements of one session by their ids, and what stands open on each. Never: how a message looks."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final

from aioifx.codecs.rows import RowDecoder
from aioifx.server.engine.cursors import Cursor
from aioifx.server.engine.planner import Statement
from aioifx.server.protocol.insert_cursor import Insertion
from aioifx.server.protocol.row_blocks import RowBlockWriter
from aioifx.server.sql.errors import SqlError
from aioifx.sqltypes import SqlType, Value

STATEMENT_LIMIT: Final = 4096
"""Statements that one session may have prepared (assumed: any limit serves; the real one is memory)."""


@dataclass(slots=True, eq=False)
class Slot:
    """One prepared statement."""

    statement_id: int
    statement: Statement
    is_command: bool = False
    """From SQ_COMMAND: executed in the group that brought it, and forgotten behind it."""
    executed: bool = False
    values: tuple[Value, ...] = ()
    """What SQ_BIND brought last."""
    cursor_name: str = ""
    hold: bool = False
    scroll: bool = False
    autofree: bool = False
    cursor: Cursor | None = None
    portions: RowBlockWriter | None = None
    result_types: tuple[SqlType, ...] = ()
    """SQ_RET_TYPE for results; holds for later executions too (observed: JDBC sends it once)."""
    row: int = 0
    """Where a scroll cursor stands; 0 before the first row."""
    insertion: Insertion | None = None
    """An insert cursor is open."""
    put_types: tuple[SqlType, ...] = ()
    """SQ_RET_TYPE for the rows of SQ_PUT; holds for later openings too (observed: JDBC, put.json `useput_twice`)."""
    put_decoder: RowDecoder | None = None


@dataclass(slots=True)
class StatementTable:
    """All statements of one session; the lowest free id is given out first."""

    limit: int = STATEMENT_LIMIT
    _used: dict[int, Slot] = field(default_factory=dict[int, Slot])
    _free: list[int] = field(default_factory=list[int])

    def __len__(self) -> int:
        return len(self._used)

    def add(self, statement: Statement, *, is_command: bool = False) -> Slot:
        """A slot for *statement*.

        Raises:   SqlFault: -257, too many.
        """
        if len(self._used) >= self.limit:
            raise SqlError(-257)
        statement_id = heappop(self._free) if self._free else len(self._used)
        slot = Slot(statement_id, statement, is_command)
        self._used[statement_id] = slot
        return slot

    def find(self, statement_id: int) -> Slot:
        """The statement with that id.

        Raises:   SqlFault: -258, there is none.
        """
        try:
            return self._used[statement_id]
        except KeyError:
            raise SqlError(-258) from None

    def remove(self, slot: Slot) -> None:
        """Forget a statement; its id is free again."""
        if self._used.get(slot.statement_id) is slot:
            del self._used[slot.statement_id]
            heappush(self._free, slot.statement_id)

    @property
    def open_cursors(self) -> int:
        """Statements with an open cursor; may be asked while another thread works on them."""
        slots = tuple(self._used.values())  # in one step
        reading = sum(slot.cursor is not None and not slot.cursor.released for slot in slots)
        return reading + sum(slot.insertion is not None for slot in slots)

    def all(self) -> list[Slot]:
        """Every statement, in the order of ids."""
        return [self._used[statement_id] for statement_id in sorted(self._used)]
