"""What the replay server answers: a state and a group in, the next state and a reply out. Never: a socket.

The replies are those of the embedded server for the same requests (test_replay compares their bytes), but rows are
slices of tables that were encoded beforehand, and what is inserted goes nowhere. A state is a value: the same request
in the same state has the same reply.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from struct import Struct
from typing import Any, Final, TypeAlias

from aioifx.codecs.rows import RowEncoder
from aioifx.codecs.text import code_set_of
from aioifx.sqltypes import Column, SqlType, TypeCode
from aioifx.wire import completion, descriptions, replies, requests, session_requests
from aioifx.wire.capabilities import SERVER_MASK, Capabilities
from aioifx.wire.opcodes import StatementType
from aioifx.wire.outbox import Outbox
from aioifx.wire.requests import Request
from tests.bench.shapes import SHAPES, Shape

VERSION: Final = "IBM Informix Dynamic Server Version 15.0.1.0"
LATIN1: Final = code_set_of("en_US.8859-1")
ROWS: Final = 100_000
"""Rows of each table by default."""

Buffer: TypeAlias = bytes | memoryview
Reply: TypeAlias = tuple[Buffer, ...]
"""Pieces to be sent one after the other."""

_CHUNK: Final = 10_000
_HEAD: Final = Struct(">4xi")
_SYNTAX: Final = -201
_NO_MEMORY: Final = -406
_NO_STATEMENT: Final = -258
_NO_CURSOR: Final = -259
_NO_TRANSACTION: Final = -255
_IN_TRANSACTION: Final = -535

_ONE: Final = Shape("one", (Column("(constant)", SqlType(TypeCode.INTEGER, 4)),), lambda i: (1,))
_LOCALE: Final = Shape("locale", (Column("site", SqlType(TypeCode.VARCHAR, 128)),), lambda i: ("en_US.819",))
"""What JDBC asks for when it connects."""

_STATEMENTS: Final = re.compile(
    rb"\s*(?:(?P<insert>insert\s+into\s+(?P<target>narrow|wide)\b.*)"
    rb"|select\s+(?:first\s+(?P<first>\d+)\s+)?(?:(?P<one>1)\s+from\s+\w*systables\b.*"
    rb"|(?P<site>site)\s+from\s.*|.*\sfrom\s+(?P<source>narrow|wide)\s*))\Z",
    re.IGNORECASE | re.DOTALL,
)


class Refused(Exception):
    """The reply is an SQL error."""

    def __init__(self, sqlcode: int) -> None:
        super().__init__(sqlcode)
        self.sqlcode = sqlcode


# -- tables -----------------------------------------------------------------------------------------------------------


class Table:
    """The rows of one result as SQ_TUPLE messages."""

    def __init__(self, shape: Shape, columns: Sequence[Column], count: int, *, padded: bool) -> None:
        encoder = RowEncoder(columns, LATIN1, padded_varchar=padded)
        data = bytearray()
        for start in range(0, count, _CHUNK):
            data += encoder.encode(shape.rows(min(_CHUNK, count - start), start))
        self.data = memoryview(bytes(data))
        self.ends = array("Q", [0])
        """Where each row begins, and the end of all."""
        position = 0
        for _ in range(count):
            (size,) = _HEAD.unpack_from(data, position)
            position += _HEAD.size + size + (size & 1)
            self.ends.append(position)

    def portion(self, row: int, limit: int, size: int) -> tuple[memoryview, int]:
        """Whole rows from *row* on that fit into *size* bytes, one at least, and the row after them."""
        start = self.ends[row]
        stop = min(limit, max(row + 1, bisect_right(self.ends, start + size) - 1))
        return self.data[start : self.ends[stop]], stop


class Tables:
    """All tables, each encoded when a client asks for it first."""

    def __init__(self, rows: int = ROWS) -> None:
        self.rows = rows
        self._made: dict[tuple[object, ...], Table] = {}

    def count(self, shape: Shape) -> int:
        """Rows that a query without FIRST returns."""
        return self.rows if shape.name in SHAPES else 1

    def of(self, shape: Shape, types: tuple[SqlType, ...], *, padded: bool) -> Table:
        """The table, its columns in the form that the client asked for."""
        key = (shape.name, types, padded)
        if key not in self._made:
            columns = _retyped(shape.columns, types)
            self._made[key] = Table(shape, columns, self.count(shape), padded=padded)
        return self._made[key]


def _retyped(columns: tuple[Column, ...], types: tuple[SqlType, ...]) -> tuple[Column, ...]:
    """LVARCHAR and BOOLEAN look different in a row when they are asked for by name."""
    return tuple(
        replace(column, type=SqlType(wanted.code, column.type.length))
        if wanted.code in (TypeCode.LVARCHAR, TypeCode.BOOLEAN)
        else column
        for column, wanted in zip(columns, types or [column.type for column in columns], strict=True)
    )


def _placed(columns: tuple[Column, ...], *, padded: bool) -> tuple[tuple[Column, ...], int]:
    """The columns with their start positions, and the size of the widest row."""
    fields = RowEncoder(columns, LATIN1, padded_varchar=padded).fields
    widths = [
        field.width or field.head + (column.type.size or column.type.length)
        for field, column in zip(fields, columns, strict=True)
    ]
    starts = list(accumulate(widths, initial=0))
    return tuple(
        replace(column, start=start) for column, start in zip(columns, starts, strict=False)
    ), starts[-1]


# -- states -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement, and what stands open on it."""

    kind: StatementType
    shape: Shape
    count: int
    """Rows of the result."""
    is_command: bool = False
    types: tuple[SqlType, ...] = ()
    position: int | None = None
    """The row that is fetched next; None while no cursor is open."""
    autofree: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """All that a session remembers."""

    capabilities: Capabilities = field(default_factory=Capabilities)
    padded: bool = False
    closes_early: bool = False
    """OPTOFC: the cursor is closed with its last row."""
    in_transaction: bool = False
    statements: tuple[Prepared | None, ...] = ()
    """By id."""
    ended: bool = False


class Answers:
    """Answers groups of messages.

    Args:
        max_fetch: a larger fetch buffer is refused with an SQL error; 0 for none.
    """

    def __init__(self, tables: Tables, max_fetch: int = 0) -> None:
        self.tables = tables
        self.max_fetch = max_fetch

    def answer(self, state: State, group: Sequence[Request]) -> tuple[State, Reply]:
        """The state after a group, and its reply."""
        turn = _Turn(self, state)
        for message in group:
            try:
                _ACTS.get(type(message), _Turn.refuse)(turn, message)
            except Refused as fault:
                completion.put_error(
                    turn.outbox, turn.state.capabilities, completion.ServerError(fault.sqlcode)
                )
                break
        else:
            turn.finish_put()
        turn.drop_command()
        if not turn.state.ended:
            replies.put_eot(turn.outbox)
        return turn.state, (*turn.pieces, turn.outbox.detach())


class _Turn:
    """One group being answered."""

    def __init__(self, answers: Answers, state: State) -> None:
        self.answers = answers
        self.state = state
        self.pieces: list[Buffer] = []
        self.outbox = Outbox()
        self.here = -1
        """The id of the statement that messages are for."""
        self.rows_put = -1

    def refuse(self, message: Request) -> None:
        raise Refused(_SYNTAX)

    def ignore(self, message: Request) -> None:
        """Nothing comes of it."""

    def change(self, **changes: Any) -> None:
        self.state = replace(self.state, **changes)

    def done(self, rows: int = 0, *, warnings: int = 0, rowid: int = 0) -> None:
        completion.put_done(self.outbox, self.state.capabilities, completion.Done(warnings, rows, rowid))
        completion.put_cost(self.outbox, completion.Cost(1, 1))

    # -- session ------------------------------------------------------------------------------------------------------

    def agree(self, message: session_requests.Protocols) -> None:
        self.change(capabilities=Capabilities.negotiated(message.mask, SERVER_MASK))
        session_requests.put_protocols(self.outbox, SERVER_MASK)

    def note(self, message: session_requests.Info) -> None:
        variables = dict(message.environment)
        padded = variables.get(b"IFX_PAD_VARCHAR") == b"1"
        self.change(padded=padded, closes_early=variables.get(b"OPTOFC") == b"1")

    def open_database(self, message: session_requests.DbOpen) -> None:
        self.done(warnings=0x15)

    def tell_version(self, message: session_requests.Version) -> None:
        replies.put_version(self.outbox, self.state.capabilities, VERSION)

    def leave(self, message: session_requests.Exit) -> None:
        self.change(ended=True)
        session_requests.put_exit(self.outbox)

    def begin(self, message: session_requests.Begin) -> None:
        if self.state.in_transaction:
            raise Refused(_IN_TRANSACTION)
        self._turn_over(1, True)

    def commit(self, message: session_requests.Commit) -> None:
        self._end_transaction(2)

    def roll_back(self, message: session_requests.Rollback) -> None:
        self._end_transaction(3)

    def _end_transaction(self, event: int) -> None:
        if not self.state.in_transaction:
            raise Refused(_NO_TRANSACTION)
        self._turn_over(event, False)

    def _turn_over(self, event: int, inside: bool) -> None:
        self.change(in_transaction=inside)
        self.done()
        completion.put_xactstat(self.outbox, completion.TransactionState(event, inside, not inside))

    def mark(self, message: Request) -> None:
        """A savepoint, set or left."""
        if not self.state.in_transaction:
            raise Refused(_NO_TRANSACTION)
        self.done()

    # -- statements ---------------------------------------------------------------------------------------------------

    @property
    def statement(self) -> Prepared:
        statements = self.state.statements
        statement = statements[self.here] if 0 <= self.here < len(statements) else None
        if statement is None:
            raise Refused(_NO_STATEMENT)
        return statement

    def keep(self, **changes: Any) -> None:
        """Change the statement that messages are for."""
        self._put(replace(self.statement, **changes))

    def _put(self, statement: Prepared | None) -> None:
        statements = list(self.state.statements)
        statements[self.here : self.here + 1] = [statement]
        while statements and statements[-1] is None:
            statements.pop()
        self.change(statements=tuple(statements))

    def prepare(self, message: requests.Prepare | requests.Command) -> None:
        """The lowest free id is taken."""
        found = _STATEMENTS.match(message.sql)
        if found is None:
            raise Refused(_SYNTAX)
        name = (found["target"] or found["source"] or b"").decode().lower()
        shape = SHAPES[name] if name else _ONE if found["one"] else _LOCALE
        count = min(self.answers.tables.count(shape), int(found["first"] or self.answers.tables.rows))
        kind = StatementType.INSERT if found["insert"] else StatementType.SELECT
        statements = self.state.statements
        self.here = statements.index(None) if None in statements else len(statements)
        self._put(Prepared(kind, shape, count, is_command=isinstance(message, requests.Command)))

    def drop_command(self) -> None:
        """What SQ_COMMAND made goes with its group."""
        statements = self.state.statements
        if 0 <= self.here < len(statements) and (here := statements[self.here]) and here.is_command:
            self._put(None)

    def choose(self, message: requests.Id) -> None:
        self.here = message.statement_id

    def describe(self, message: requests.Describe) -> None:
        statement = self.statement
        columns, size = _placed(statement.shape.columns, padded=self.state.padded)
        description = descriptions.Description(statement.kind, self.here, columns, size, estimate=1)
        descriptions.put_describe(self.outbox, self.state.capabilities, description)

    def tell_done(self, message: requests.WantDone) -> None:
        if self.statement.kind == StatementType.INSERT:
            completion.put_insertdone(self.outbox, self.state.capabilities, completion.Serials())
        self.done()

    def describe_input(self, message: requests.DescribeInput) -> None:
        statement = self.statement
        inserts = statement.kind == StatementType.INSERT
        types = [column.type for column in statement.shape.columns] if inserts else []
        descriptions.put_idescribe(self.outbox, self.state.capabilities, types)

    def execute(self, message: requests.Execute) -> None:
        if self.statement.kind == StatementType.INSERT:
            completion.put_insertdone(self.outbox, self.state.capabilities, completion.Serials())
        self.done(1, rowid=0x101)

    def release(self, message: requests.Release) -> None:
        if not self.statement.is_command:
            self._put(None)

    # -- cursors ------------------------------------------------------------------------------------------------------

    def open_cursor(self, message: requests.Open) -> None:
        self.keep(position=0)

    def make_autofree(self, message: requests.AutoFree) -> None:
        self.keep(autofree=True)

    def choose_types(self, message: requests.RetType) -> None:
        self.keep(types=message.types)

    def close_cursor(self, message: requests.Close | requests.Fetch) -> None:
        self._put(None if self.statement.autofree else replace(self.statement, position=None))

    def fetch(self, message: requests.Fetch) -> None:
        """Rows, and with the last of them SQ_DONE, whose count is that of the whole result."""
        statement = self.statement
        if 0 < self.answers.max_fetch < message.size:
            raise Refused(_NO_MEMORY)
        if statement.position is None:
            raise Refused(_NO_CURSOR)
        behind = statement.position
        if behind < statement.count:
            table = self.answers.tables.of(statement.shape, statement.types, padded=self.state.padded)
            rows, behind = table.portion(behind, statement.count, message.size)
            self.pieces += [self.outbox.detach(), rows] if self.outbox.data else [rows]
            self.keep(position=behind)
            if behind < statement.count:
                return
        total = behind if statement.position < behind else 0
        if self.state.closes_early:
            replies.put_closed(self.outbox)
            self.close_cursor(message)
        self.done(total)

    def put(self, message: requests.Put) -> None:
        if self.statement.position is None:
            raise Refused(_NO_CURSOR)
        self.rows_put = max(self.rows_put, 0) + len(message.rows)

    def finish_put(self) -> None:
        """One SQ_DONE for all rows that SQ_PUT brought."""
        if self.rows_put >= 0:
            self.done(self.rows_put)


_ACTS: Final[dict[type, Callable[[_Turn, Any], None]]] = {
    session_requests.Protocols: _Turn.agree,
    session_requests.Info: _Turn.note,
    session_requests.DbOpen: _Turn.open_database,
    session_requests.Version: _Turn.tell_version,
    session_requests.Exit: _Turn.leave,
    session_requests.Begin: _Turn.begin,
    session_requests.Commit: _Turn.commit,
    session_requests.Rollback: _Turn.roll_back,
    session_requests.SetSavepoint: _Turn.mark,
    session_requests.ReleaseSavepoint: _Turn.mark,
    session_requests.RollbackSavepoint: _Turn.mark,
    requests.Prepare: _Turn.prepare,
    requests.Command: _Turn.prepare,
    requests.Id: _Turn.choose,
    requests.Describe: _Turn.describe,
    requests.WantDone: _Turn.tell_done,
    requests.DescribeInput: _Turn.describe_input,
    requests.Bind: _Turn.ignore,
    requests.Execute: _Turn.execute,
    requests.Release: _Turn.release,
    requests.CurName: _Turn.ignore,
    requests.Hold: _Turn.ignore,
    requests.AutoFree: _Turn.make_autofree,
    requests.AutoGenKeys: _Turn.ignore,
    requests.RetType: _Turn.choose_types,
    requests.Open: _Turn.open_cursor,
    requests.Fetch: _Turn.fetch,
    requests.Put: _Turn.put,
    requests.Close: _Turn.close_cursor,
}
