"""The statements of one session by id, and the open cursor of each. Never: the layout of a message."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final

from aioifx.codecs.rows import RowDecoder
from aioifx.server.engine.cursors import Cursor
from aioifx.server.engine.planner import Statement
from aioifx.server.protocol.incoming_values import IncomingValues, Insertion
from aioifx.server.protocol.row_blocks import RowBlockWriter
from aioifx.server.protocol.statement_log import SentType, StatementRecord
from aioifx.server.sql.errors import SqlError
from aioifx.sqltypes import SqlType, Value

STATEMENT_LIMIT: Final = 4096
"""Maximum number of prepared statements per session (assumed: any limit will do; a real server's is its memory)."""


@dataclass(slots=True, eq=False)
class PreparedStatement:
    """One prepared statement."""

    statement_id: int
    statement: Statement
    is_command: bool = False
    """Whether it was sent by SQ_COMMAND: it is executed in that group, and dropped after it."""
    is_executed: bool = False
    incoming: IncomingValues | None = None
    """BYTE and TEXT values that are being received for `values`."""
    values: tuple[Value, ...] = ()
    """Values of the last SQ_BIND."""
    value_types: tuple[SentType, ...] = ()
    """Their types, as the client sent them."""
    record: StatementRecord | None = None
    """The last execution."""
    round_trips: int = 0
    """Round trips of its preparation."""
    cursor_name: str = ""
    hold: bool = False
    scroll: bool = False
    autofree: bool = False
    cursor: Cursor | None = None
    row_writer: RowBlockWriter | None = None
    result_types: tuple[SqlType, ...] = ()
    """Types of SQ_RET_TYPE for results; they apply to later executions, too (observed: JDBC sends it once)."""
    row: int = 0
    """Current row number of a scroll cursor; 0 before the first row."""
    insertion: Insertion | None = None
    """The open insert cursor, if any."""
    put_types: tuple[SqlType, ...] = ()
    """Types of SQ_RET_TYPE for SQ_PUT; they apply to later cursors, too (observed: JDBC, put.json `useput_twice`)."""
    put_decoder: RowDecoder | None = None


@dataclass(slots=True)
class StatementTable:
    """All statements of one session; the lowest free id is assigned first."""

    limit: int = STATEMENT_LIMIT
    _used: dict[int, PreparedStatement] = field(default_factory=dict[int, PreparedStatement])
    _free: list[int] = field(default_factory=list[int])

    def __len__(self) -> int:
        return len(self._used)

    def add(self, statement: Statement, *, is_command: bool = False) -> PreparedStatement:
        """Add *statement* under a new id.

        Raises:
            SqlError: -257, too many statements.
        """
        if len(self._used) >= self.limit:
            raise SqlError(-257)
        statement_id = heappop(self._free) if self._free else len(self._used)
        prepared = PreparedStatement(statement_id, statement, is_command)
        self._used[statement_id] = prepared
        return prepared

    def find(self, statement_id: int) -> PreparedStatement:
        """The statement with that id.

        Raises:
            SqlError: -258, unknown id.
        """
        try:
            return self._used[statement_id]
        except KeyError:
            raise SqlError(-258) from None

    def remove(self, prepared: PreparedStatement) -> None:
        """Remove a statement and free its id."""
        if self._used.get(prepared.statement_id) is prepared:
            del self._used[prepared.statement_id]
            heappush(self._free, prepared.statement_id)

    @property
    def open_cursors(self) -> int:
        """Number of statements with an open cursor; safe to call from another thread."""
        statements = tuple(self._used.values())  # atomic
        reading = sum(
            prepared.cursor is not None and not prepared.cursor.is_released for prepared in statements
        )
        return reading + sum(prepared.insertion is not None for prepared in statements)

    def all(self) -> list[PreparedStatement]:
        """Every statement, in the order of ids."""
        return [self._used[statement_id] for statement_id in sorted(self._used)]


_PROCIDS: Final = 1 << 20
_STATEMENTS: Final = 1 << 11


def procid_of(number: int) -> int:
    """The routine's own number in one that `RefusedCalls` gave to a statement."""
    return number % _PROCIDS


class RefusedCalls:
    """Numbers of routines with OUT parameters, one for each statement that was refused.

    A client sends no id with such a call, and JDBC expects the parameters' modes in the reply to the first call of each
    statement only (observed). It finds the routine again for another number.
    """

    def __init__(self) -> None:
        self._refused = 0
        self._texts: dict[int, str] = {}
        self._repeated: set[int] = set()

    def take(self, procid: int, text: str) -> int:
        """A number for the next statement that calls the routine, whose text is kept."""
        self._refused = (self._refused + 1) % _STATEMENTS
        number = self._refused * _PROCIDS + procid
        self._repeated.discard(number)
        self._texts[number] = text
        return number

    def text(self, number: int) -> str:
        """The statement's text; empty for a number that was not given."""
        return self._texts.get(number, "")

    def call(self, number: int) -> bool:
        """Note a call; returns whether it is the first of its statement."""
        is_first = number not in self._repeated
        self._repeated.add(number)
        return is_first
