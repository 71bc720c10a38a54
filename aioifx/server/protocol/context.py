"""The state of one session: its engine, its statements, the reply being written. Never: the effect of a message."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from aioifx.codecs.large_objects import LONG_DESCRIPTOR
from aioifx.codecs.params import decode_value
from aioifx.codecs.text import CodeSet
from aioifx.errors import DataError, NotSupportedError
from aioifx.server.engine.engine import Engine
from aioifx.server.engine.session_state import StatementResult, TransactionEvent
from aioifx.server.protocol.complex_fields import collection_values, is_binary_collection
from aioifx.server.protocol.fault_points import ENDING, Execution, FaultPoints
from aioifx.server.protocol.row_blocks import MAX_BLOCK_BYTES, RowBlockWriter
from aioifx.server.protocol.statement_log import Recorder, StatementRecord
from aioifx.server.protocol.statement_table import PreparedStatement, RefusedCalls, StatementTable
from aioifx.server.sql.builtin_types import BYTE, TEXT
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Query, RollbackWork
from aioifx.server.sqlite.databases import Database, LogMode
from aioifx.sqltypes import Column, Row, SqlType
from aioifx.wire import completion
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.fields import BindEntry
from aioifx.wire.objects import CallRoutine
from aioifx.wire.opcodes import OpenWarning
from aioifx.wire.outbox import Outbox

_NOT_TEXT: Final = -23103
_LONGEST_TOKEN: Final = 256
"""Maximum characters of a name or text in an error; its length field has 16 bits."""
_ALWAYS: Final = 0x10  # in every known reply to SQ_DBOPEN; meaning unknown (observed)


def _cost() -> bytes:
    outbox = Outbox()
    completion.put_cost(outbox, completion.Cost(1, 1))
    return outbox.detach()


_COST: Final = _cost()


_LENGTHENED: Final[dict[SqlType | None, SqlType]] = {
    type_: replace(type_, length=LONG_DESCRIPTOR) for type_ in (BYTE, TEXT)
}
"""BYTE and TEXT with bit 70."""
_SIMPLE_LARGE: Final = (int(BYTE.code), int(TEXT.code))


@dataclass(frozen=True, slots=True)
class FetchLimit:
    """The maximum size of a fetch, and the treatment of a larger one."""

    size: int = MAX_BLOCK_BYTES
    sqlcode: int = 0
    """SQLCODE of the error for a larger fetch; 0: fewer rows are sent, so the client fetches more often."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The server's name, version and capabilities, as sent to clients."""

    name: str
    version: str
    mask: bytes
    """Capability bits in the server's reply."""


class SessionContext:
    """The state of one session, read and changed by the handlers of its messages."""

    def __init__(
        self,
        engine: Engine,
        identity: Identity,
        code_set: CodeSet,
        *,
        statement_limit: int,
        fetch_limit: FetchLimit | None = None,
        recorder: Recorder | None = None,
        points: FaultPoints | None = None,
    ) -> None:
        self.engine = engine
        self.recorder = recorder or Recorder()
        self.points = points or FaultPoints()
        self.round_trips = 0
        """Round trips of the group that no statement has been charged with yet; 0 or 1."""
        self.identity = identity
        self.code_set = code_set
        self.capabilities = Capabilities(encoding=code_set.codec)
        self.fetch_limit = fetch_limit or FetchLimit()
        self.outbox = Outbox()
        self.statements = StatementTable(statement_limit)
        self.prepared: PreparedStatement | None = None
        """The statement that messages refer to, until the next SQ_ID or the end of the group."""
        self.inserting: PreparedStatement | None = None
        """The statement with SQ_PUT rows that have not been inserted yet."""
        self.calling: CallRoutine | None = None
        """The SQ_EXFPROUTINE whose arguments follow."""
        self.arguments: Sequence[BindEntry] = ()
        """Those of a routine with OUT parameters, until SQ_FPARAM."""
        self.refused = RefusedCalls()
        self.transactions = 0
        """Number of ended transactions."""
        self.environment: dict[str, str] = {}
        """Environment variables from SQ_INFO."""
        self.has_fixed_database = False
        """Whether the login opened a database; SQ_DBOPEN is then an error."""
        self.has_ended = False
        """Whether the client has sent SQ_EXIT."""
        self.writer_type = RowBlockWriter

    @property
    def current(self) -> PreparedStatement:
        """The statement that messages refer to.

        Raises:
            SqlError: -258, no statement is selected.
        """
        if self.prepared is None:
            raise SqlError(-258)
        return self.prepared

    def text(self, data: bytes) -> str:
        """Text from the client, decoded.

        Raises:
            SqlError: -23103, the bytes are not text in the client's code set.
        """
        try:
            return self.code_set.decode(data)
        except DataError:
            raise SqlError(_NOT_TEXT) from None

    def values_of(self, entries: Sequence[BindEntry]) -> Row:
        """The values of SQ_BIND.

        Raises:
            SqlError: -415, a value cannot be converted; -999, its type is not supported.
        """
        code_set = self.code_set
        try:
            return tuple(
                [
                    collection_values(data, code_set)
                    if is_binary_collection(name, data)
                    else decode_value(code & 0xFF, indicator, precision, data, code_set, name)
                    for code, _, name, indicator, precision, data in entries
                ]
            )
        except DataError:
            raise SqlError(-415) from None
        except NotSupportedError as error:
            raise SqlError(-999, token=str(error)) from None

    # -- rows ----------------------------------------------------------------------------------------------------------

    @property
    def has_padded_varchar(self) -> bool:
        """Whether VARCHAR is sent padded to its full width: by capability, or requested by SQ_INFO (observed: JDBC)."""
        return self.environment.get("IFX_PAD_VARCHAR") == "1"

    def sent_columns(self, columns: tuple[Column, ...]) -> tuple[Column, ...]:
        """The columns of a plan as they are described: with bit 70, descriptors of BYTE and TEXT are longer.

        Source: observed: JDBC, objects15.json
        """
        if not self.capabilities.long_rowid or not any(
            column.type.code in _SIMPLE_LARGE for column in columns
        ):
            return columns
        return tuple(replace(column, type=_LENGTHENED.get(column.type, column.type)) for column in columns)

    def sent_types(self, types: Sequence[SqlType | None]) -> Sequence[SqlType | None]:
        """The types of parameters as they are described; see `sent_columns`."""
        if not self.capabilities.long_rowid:
            return types
        return [_LENGTHENED.get(each, each) for each in types]

    def keeps_open(self, prepared: PreparedStatement) -> bool:
        """Whether OPTOFC leaves the cursor open after its last row, since the client may request values of its rows.

        Assumed: servers do so for BYTE and TEXT, which JDBC requests after the cursor was closed (observed).
        """
        action = prepared.statement.plan.action
        return isinstance(action, Query) and action.keeps

    def row_writer(
        self, columns: Sequence[Column], *, single: bool = False, binary: Collection[int] = ()
    ) -> RowBlockWriter:
        """A writer of rows of *columns* for this client; *binary* as for a RowBlockWriter."""
        return self.writer_type(
            columns,
            self.code_set,
            padded_varchar=self.has_padded_varchar,
            single=single,
            largest=self.fetch_limit.size,
            settings=self.engine.settings,
            binary=binary,
        )

    # -- replies -------------------------------------------------------------------------------------------------------

    def write_error(self, error: SqlError) -> None:
        """SQ_ERR; after an error that ends the transaction, SQ_XACTSTAT."""
        token, text = error.token[:_LONGEST_TOKEN], error.text[:_LONGEST_TOKEN]
        message = completion.ServerError(
            error.sqlcode, error.isamcode, error.offset, token, error.sqlstate, text
        )
        completion.put_error(self.outbox, self.capabilities, message)
        if error.sqlcode in ENDING and self.engine.is_in_transaction:
            self._write_event(self.engine.control(RollbackWork()).event)

    def write_done(self, done: completion.Done) -> None:
        """SQ_DONE and SQ_COST, which are sent together (observed: 12.10 to 15)."""
        completion.put_done(self.outbox, self.capabilities, done)
        self.outbox.raw(_COST)

    def write_serials(self, serials: completion.Serials) -> None:
        """SQ_INSERTDONE."""
        completion.put_insertdone(self.outbox, self.capabilities, serials)

    def write_result(self, result: StatementResult, warnings: int = 0) -> None:
        """The completion of a statement, and the change of the transaction."""
        self.write_done(completion.Done(warnings, result.rows, result.rowid, result.serial))
        if result.event is not TransactionEvent.NONE:
            self._write_event(result.event)
            self.transactions += result.event is not TransactionEvent.BEGUN

    def _write_event(self, event: TransactionEvent) -> None:
        """SQ_XACTSTAT: events 1, 2, 3, level 1 inside a transaction (assumed: only the layout is known)."""
        is_inside = event is TransactionEvent.BEGUN
        state = completion.TransactionState(event, int(is_inside), int(not is_inside))
        completion.put_xactstat(self.outbox, state)

    def write_opened(self, database: Database) -> None:
        """The log mode of the database, as warnings (observed: 0x15 logged, 0x14 not; documented: 0x02 ANSI, 0x20)."""
        warnings = OpenWarning.INFORMIX | _ALWAYS
        if database.log_mode is not LogMode.UNLOGGED:
            warnings |= OpenWarning.LOGGED
        if database.log_mode is LogMode.ANSI:
            warnings |= OpenWarning.ANSI
        if self.engine.is_secondary:
            warnings |= OpenWarning.SECONDARY
        self.write_done(completion.Done(warnings))

    # -- statements ----------------------------------------------------------------------------------------------------

    def record(self, sql: str, prepared: PreparedStatement | None = None) -> StatementRecord:
        """Log a statement that begins; *prepared* unless it was sent by a message without text, or is invalid."""
        engine = self.engine
        database = engine.database
        types = () if prepared is None else prepared.value_types
        record = StatementRecord(
            sql, "" if database is None else database.name, engine.settings.session_id, types
        )
        record.round_trips, self.round_trips = self.round_trips, 0
        if prepared is not None:
            record.round_trips += prepared.round_trips
            prepared.round_trips = 0
            prepared.record = record
        self.recorder.add(record)
        return record

    def executing(self, prepared: PreparedStatement, *, faults: bool = True, sql: str = "") -> Execution:
        """Context of an execution of *prepared*; *sql* is the client's text, if it is another."""
        sql = sql or prepared.statement.text
        return Execution(self.record(sql, prepared), sql, self.points if faults else None)

    def continuing(self, prepared: PreparedStatement, *, faults: bool = False) -> Execution:
        """Context of a fetch from, or a put into, the cursor that *prepared* opened."""
        assert prepared.record is not None
        return Execution(prepared.record, prepared.statement.text, self.points if faults else None)

    def executing_text(self, sql: str) -> Execution:
        """Context of the execution of a message without text; *sql* is the statement that it stands for."""
        return Execution(self.record(sql), sql, self.points)

    def charge(self, prepared: PreparedStatement) -> None:
        """Charge *prepared* with the round trip of the group."""
        if prepared.record is not None:
            prepared.record.round_trips += self.round_trips
        else:
            prepared.round_trips += self.round_trips
        self.round_trips = 0

    def close(self, prepared: PreparedStatement) -> None:
        """Close the statement's open cursor, if any."""
        if prepared.cursor is not None:
            self.engine.close_cursor(prepared.cursor)
        prepared.cursor = prepared.row_writer = None
        prepared.row = 0
        prepared.insertion = prepared.put_decoder = None

    def drop(self, prepared: PreparedStatement) -> None:
        """Close and remove a statement."""
        self.charge(prepared)
        self.close(prepared)
        self.statements.remove(prepared)
        if self.prepared is prepared:
            self.prepared = None

    def close_all(self) -> None:
        """Close all cursors, because the current database changes."""
        for prepared in self.statements.all():
            self.close(prepared)


Handler: TypeAlias = Callable[[SessionContext, Any], None]
"""Handles one message; the second argument is the message, of the type that is the handler's key in `HANDLERS`."""
