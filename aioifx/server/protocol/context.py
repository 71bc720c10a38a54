"""What one session has in hand: its engine, its statements, the answer being written. Never: what a message does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from aioifx.codecs.text import CodeSet
from aioifx.errors import DataError
from aioifx.server.engine.control_statements import Event, Outcome
from aioifx.server.engine.engine import Engine
from aioifx.server.protocol.row_blocks import LARGEST_PORTION, RowBlockWriter
from aioifx.server.protocol.statement_table import Slot, StatementTable
from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.databases import Database, LogMode
from aioifx.sqltypes import Column
from aioifx.wire import replies
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.opcodes import OpenWarning
from aioifx.wire.outbox import Outbox

_NOT_TEXT: Final = -23103
_LONGEST_TOKEN: Final = 256
"""Characters of a name that an error tells; its size is 16 bits."""
_ALWAYS: Final = 0x10  # in every answer to SQ_DBOPEN seen; meaning unknown (observed)


def _cost() -> bytes:
    outbox = Outbox()
    replies.put_cost(outbox, replies.Cost(1, 1))
    return outbox.take()


_COST: Final = _cost()


@dataclass(frozen=True, slots=True)
class FetchLimit:
    """How large a fetch may be, and what becomes of one that is larger."""

    size: int = LARGEST_PORTION
    sqlcode: int = 0
    """What refuses it; 0: fewer rows are sent, so that the client has to fetch more often."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What the server says of itself."""

    name: str
    version: str
    mask: bytes
    """The capability bits that it answers with."""


class SessionContext:
    """The state of one session, which the acts of its messages read and change."""

    def __init__(
        self,
        engine: Engine,
        identity: Identity,
        code_set: CodeSet,
        *,
        statement_limit: int,
        fetch_limit: FetchLimit | None = None,
    ) -> None:
        self.engine = engine
        self.identity = identity
        self.code_set = code_set
        self.capabilities = Capabilities(encoding=code_set.codec)
        self.fetch_limit = fetch_limit or FetchLimit()
        self.outbox = Outbox()
        self.slots = StatementTable(statement_limit)
        self.slot: Slot | None = None
        """The statement that the messages are for, up to the next SQ_ID or the end of the group."""
        self.putting: Slot | None = None
        """The statement with rows of SQ_PUT that are still to be inserted."""
        self.transactions = 0
        """How many have ended."""
        self.environment: dict[str, str] = {}
        """What SQ_INFO said."""
        self.has_fixed_database = False
        """Whether the login named the database: then SQ_DBOPEN cannot."""
        self.ended = False
        """Whether the client said goodbye."""

    @property
    def here(self) -> Slot:
        """The statement that the messages are for.

        Raises:   SqlFault: -258, none.
        """
        if self.slot is None:
            raise SqlError(-258)
        return self.slot

    def text(self, data: bytes) -> str:
        """What the client wrote.

        Raises:   SqlFault: -23103, no text in its code set.
        """
        try:
            return self.code_set.decode(data)
        except DataError:
            raise SqlError(_NOT_TEXT) from None

    # -- rows ----------------------------------------------------------------------------------------------------------

    @property
    def has_padded_varchar(self) -> bool:
        """Whether VARCHAR travels at its full width: by capability, or because SQ_INFO asked (observed: JDBC)."""
        return self.environment.get("IFX_PAD_VARCHAR") == "1"

    def portions(self, columns: Sequence[Column], *, single: bool = False) -> RowBlockWriter:
        """What writes rows of *columns* for this client."""
        return RowBlockWriter(
            columns,
            self.code_set,
            padded_varchar=self.has_padded_varchar,
            single=single,
            largest=self.fetch_limit.size,
        )

    # -- answers -------------------------------------------------------------------------------------------------------

    def put_fault(self, fault: SqlError) -> None:
        """SQ_ERR."""
        token = fault.token[:_LONGEST_TOKEN]
        error = replies.ServerError(fault.sqlcode, fault.isamcode, fault.offset, token)
        replies.put_error(self.outbox, self.capabilities, error)

    def put_done(self, done: replies.Done) -> None:
        """SQ_DONE and SQ_COST, which come together (observed: 12.10 to 15)."""
        replies.put_done(self.outbox, self.capabilities, done)
        self.outbox.raw(_COST)

    def put_outcome(self, outcome: Outcome, warnings: int = 0) -> None:
        """How a statement ended, and what became of the transaction."""
        self.put_done(replies.Done(warnings, outcome.rows, outcome.rowid, outcome.serial))
        if outcome.event is not Event.NONE:
            self._put_event(outcome.event)
            self.transactions += outcome.event is not Event.BEGUN

    def _put_event(self, event: Event) -> None:
        """SQ_XACTSTAT: events 1, 2, 3, level 1 inside a transaction (assumed: only the layout is known)."""
        is_inside = event is Event.BEGUN
        state = replies.TransactionState(event, int(is_inside), int(not is_inside))
        replies.put_xactstat(self.outbox, state)

    def put_opened(self, database: Database) -> None:
        """The kind of database, in the warnings (observed: 0x15 logged, 0x14 not; documented: 0x02 ANSI)."""
        warnings = OpenWarning.INFORMIX | _ALWAYS
        if database.log_mode is not LogMode.UNLOGGED:
            warnings |= OpenWarning.LOGGED
        if database.log_mode is LogMode.ANSI:
            warnings |= OpenWarning.ANSI
        self.put_done(replies.Done(warnings))

    # -- statements ----------------------------------------------------------------------------------------------------

    def close(self, slot: Slot) -> None:
        """Close what stands open on a statement; nothing open is no error."""
        if slot.cursor is not None:
            self.engine.close_cursor(slot.cursor)
        slot.cursor = slot.portions = None
        slot.row = 0
        slot.insertion = slot.put_decoder = None

    def drop(self, slot: Slot) -> None:
        """Forget a statement."""
        self.close(slot)
        self.slots.remove(slot)
        if self.slot is slot:
            self.slot = None

    def close_all(self) -> None:
        """Close all cursors: another database, or none, is the current one from now on."""
        for slot in self.slots.all():
            self.close(slot)


Handler: TypeAlias = Callable[[SessionContext, Any], None]
"""What a message does; its second argument is the message, of the type that the act stands for in a table."""
