"""A prepared INSERT and its cursor: rows in blocks, SQ_PUT. Never: transactions, where rows come from.

Wire: ID · CURNAME · OPEN · [RET_TYPE] · PUT ... for each block; if all rows have one size, ID alone after it
Source: observed: JDBC with IFX_USEPUT, put.json. Rows of one size share an SQ_PUT (up to 20,000 observed); others have
one SQ_PUT each, and RET_TYPE before the first of them declares their form. So have rows with BYTE or TEXT, whose values
follow (lob.json, put_byte).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from struct import Struct, pack
from typing import Final

from aioifx._speedups.round_trip import InFlight
from aioifx.client.execution.large_parameters import (
    LargeParameters,
    adapters_of_descriptors,
    encoded_values,
    large_parameters,
)
from aioifx.client.execution.statement import Statement
from aioifx.client.execution.statement_requests import ret_type
from aioifx.client.execution.statement_state import ON_CLOSE, ON_OPEN
from aioifx.client.session.session import Session
from aioifx.codecs.objects import adapters_for
from aioifx.codecs.rows import RowEncoder
from aioifx.codecs.tuple_frames import Frame
from aioifx.errors import DataError, InterfaceError, NotSupportedError
from aioifx.sqltypes import Row, TypeCode
from aioifx.wire import requests
from aioifx.wire.completion import ServerError
from aioifx.wire.opcodes import Op
from aioifx.wire.outbox import Outbox

MAX_ROWS: Final = 0x7FFF
"""Rows of one SQ_PUT: a signed count is assumed, like the other counts of the protocol."""

_PUT: Final = Struct(">HiH")
"""SQ_PUT: tag, bytes of one row, rows."""
_ONE: Final = Frame(pack(">H", Op.PUT), pack(">H", 1))
"""SQ_PUT for one row."""

_NEVER_PUT: Final = (TypeCode.ROW, TypeCode.SET, TypeCode.MULTISET, TypeCode.LIST, TypeCode.COLLECTION)
"""Types of which no client was seen to put values."""
_VARYING: Final = (TypeCode.VARCHAR, TypeCode.NVARCHAR)


class InsertCursor:
    """Inserts rows through a cursor. Callers of methods that send hold the session's lock.

    Args:
        adapts: False: values already have their columns' types; codecs and adapters are not applied.

    Raises:
        NotSupportedError: a column has a type that SQ_PUT cannot carry here; the message names both.
    """

    def __init__(self, statement: Statement, *, adapts: bool = True) -> None:
        columns = statement.targets
        if len(columns) != len(statement.parameters):
            raise NotSupportedError(
                "the server did not describe the columns of the INSERT", sql=statement.sql
            )
        self._lobs = statement.lob_parameters
        is_refused = statement.session.behavior.takes_put is False
        self.can_put = (
            not is_refused
            and self._lobs is None
            and all(column.type.kind not in _NEVER_PUT for column in columns)
        )
        """Whether SQ_PUT can carry the rows; the others must be executed one by one."""
        self.statement = statement
        self.columns = columns
        types = [column.type for column in columns]
        varies = any(one.kind in _VARYING or requests.is_named(one.kind) for one in types)
        code_set = statement.session.code_set
        adapters = adapters_for(statement.conversions, types, code_set) if adapts else ()
        self._large = large_parameters(statement.session, types, adapters)
        self.is_fixed_width = not varies and self._large is None
        """Whether rows share an SQ_PUT: all have the same size, and no values follow."""
        self._session: Session = statement.session
        self._name = self._session.conversation.cursor_name()
        self._types = [ret_type(one) for one in types]
        self._are_types_known = not varies
        self._encoder = RowEncoder(
            [replace(column, type=form) for column, form in zip(columns, self._types, strict=True)],
            self._session.code_set,
            frame=None if self.is_fixed_width else _ONE,
            adapters=adapters_of_descriptors(types, adapters),
        )
        self._lost = partial(self._session.transactions.on_reply_lost, statement.sql)
        self._row_size = sum(field.width for field in self._encoder.fields)

    # -- encoding -----------------------------------------------------------------------------------------------------

    def encode(
        self, rows: Sequence[Row], first: int, place: Callable[[int], str] = "row {}".format
    ) -> bytes | bytearray:
        """Encode rows for `messages`.

        Args:
            first: index of the first row, for errors.
            place: formats a row's index for messages.

        Raises:
            InterfaceError: wrong number of values in a row.
            DataError: a value does not fit. Both name the row.
        """
        if self._lobs is not None:
            rows = [tuple(self._lobs.placeholders(row)) for row in rows]
        try:
            if self._large is not None:
                return self._encode_large(rows, self._large)
            return self._encoder.encode(rows)
        except Exception:
            self._raise_row_error(rows, first, place)
            raise

    @property
    def has_large_values(self) -> bool:
        """Whether rows must be collected before they are encoded."""
        return self._large is not None

    async def collect(
        self, rows: Sequence[Row], first: int, place: Callable[[int], str] = "row {}".format
    ) -> list[Row]:
        """The rows, with large values read from their sources; see `LargeParameters.collect`."""
        large, collected = self._large, list[Row]()
        assert large is not None
        for index, row in enumerate(rows, first):
            where = partial(self._place_of_column, place(index))
            try:
                collected.append(tuple(await large.collect(row, index, where)))
            except DataError as error:
                error.sql, error.column = self.statement.sql, self.columns[(error.parameter or 1) - 1].name
                raise
        return collected

    def _place_of_column(self, row: str, index: int) -> str:
        return f"{row}, column {self.columns[index].name!r}"

    def _encode_large(self, rows: Sequence[Row], large: LargeParameters) -> bytearray:
        encoded = bytearray()
        for row in rows:
            bound, values = large.described(row)
            encoded += self._encoder.encode([bound])
            encoded += encoded_values(values)
        return encoded

    def _raise_row_error(self, rows: Sequence[Row], first: int, place: Callable[[int], str]) -> None:
        """Raise the error of the first row that cannot be encoded."""
        for index, row in enumerate(rows, first):
            if len(row) != len(self.columns):
                raise InterfaceError(f"{place(index)}: expected {len(self.columns)} values, got {len(row)}")
            try:
                self._encoder.encode_payload(row if self._large is None else self._large.described(row)[0])
            except DataError as error:
                raise DataError(
                    f"{place(index)}, {error}", row_index=index, column=error.column, sql=self.statement.sql
                ) from error.__cause__

    def messages(self, encoded: list[bytes | bytearray], count: int) -> list[bytes | bytearray]:
        """SQ_PUT for *count* encoded rows, at most MAX_ROWS, in pieces."""
        return [_PUT.pack(Op.PUT, self._row_size, count), *encoded] if self.is_fixed_width else encoded

    # -- sending ------------------------------------------------------------------------------------------------------

    def send(self, messages: Sequence[bytes | bytearray]) -> InFlight:
        """Open the cursor and send rows, without waiting.

        Source: observed: JDBC opens the cursor again for each batch, after a COMMIT. That OPEN closes an open cursor is
        documented (Guide to SQL Syntax, OPEN), but for ANSI databases: see `Statement.close_and_wait`.
        """
        outbox = self._new_request()
        requests.put_curname(outbox, self._name)
        requests.put_open(outbox)
        if not self._are_types_known:
            requests.put_ret_type(outbox, self._session.conversation.capabilities, self._types, direction=0)
            self._are_types_known = True
        for piece in messages:
            outbox.raw(piece)
        self.statement.state = ON_OPEN[self.statement.state]
        requests.put_eot(outbox)
        # The outbox's own buffer: `detach` would copy the block again.
        return self._session.conversation.send(outbox.data, interruptible=True, on_lost=self._lost)

    async def finish_block(self) -> ServerError | None:
        """After a block: ID alone if rows have one size (observed: JDBC; its purpose is unknown).

        Returns:
            The server's error, if any.
        """
        if not self.is_fixed_width:
            return None
        return (await self._session.conversation.exchange(self._new_request(), on_lost=self._lost)).error

    def on_transaction_end(self) -> None:
        """Called when the transaction has ended, which closes the cursor (documented)."""
        self.statement.state = ON_CLOSE[self.statement.state]

    def _new_request(self) -> Outbox:
        outbox = Outbox()
        requests.put_id(outbox, self.statement.statement_id)
        return outbox
