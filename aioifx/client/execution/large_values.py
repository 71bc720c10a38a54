"""The large values of rows: fetched after a block was read, in place of descriptors and locators. Never: a cursor.

Invariants:
1. A statement without such columns does nothing for them: its plans have no LargeValues.
2. The values of a block are fetched before the next block is requested, one after the other. No client is known to
   request several at a time (observed: JDBC, lob.json, objects15.json).
3. A value beyond max_lob_size is not kept: it is not requested if its descriptor tells its size; otherwise the rest is
   read and dropped. The connection stays usable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from aioifx.client.execution.statement_requests import statement_request
from aioifx.client.lobs.lob import Lob
from aioifx.client.lobs.smart_object import SmartObject
from aioifx.client.session.failures import note_sql, raise_for
from aioifx.client.session.session import Session
from aioifx.codecs.conversions import Conversions
from aioifx.codecs.large_objects import (
    Descriptor,
    Locator,
    is_character_object,
    is_large_object,
)
from aioifx.errors import DatabaseError, DataError
from aioifx.sqltypes import Column, Row, Value
from aioifx.wire.blob_replies import BlobReader
from aioifx.wire.fields import BLOB_DESCRIPTOR
from aioifx.wire.objects import put_fetch_blob
from aioifx.wire.outbox import Outbox


class LargeColumn(NamedTuple):
    """One column of large values, by its position in the row."""

    place: int
    column: Column
    is_text: bool
    convert: Callable[[Value], Value] | None
    """The user's decoder, if there is one."""


class Fetching(NamedTuple):
    """What a request for a value needs of the statement whose cursor is open."""

    session: Session
    statement_id: int
    sql: str
    on_lost: Callable[[DatabaseError], None] | None

    def request(self, descriptor: Descriptor) -> Outbox:
        """The request for a BYTE or TEXT value, without its SQ_EOT.

        Wire:     ID · FETCHBLOB
        Source:   observed: JDBC, lob.json, text_read
        """
        capabilities = self.session.conversation.capabilities
        outbox = statement_request(self.statement_id)
        put_fetch_blob(outbox, descriptor.resized(BLOB_DESCRIPTOR[capabilities.long_rowid]))
        return outbox


class LargeValues:
    """Fetches the large values of rows whose cursor is open. Callers of its coroutines hold the session's lock."""

    streams = False
    """Whether a row's values are requested only when they are iterated."""

    def __init__(self, fetching: Fetching, columns: Sequence[LargeColumn], *, inline: bool = False) -> None:
        """Args:     inline: BLOB and CLOB as bytes and str."""
        self._fetching = fetching
        self._columns = columns
        self._inline = inline
        self._max_size = fetching.session.max_lob_size

    def close(self) -> None:
        """Called before the next block, and when the cursor is closed."""

    async def fill(self, rows: list[Row]) -> list[Row]:
        """The rows with their large values."""
        return [await self.fill_row(row) for row in rows]

    async def fill_row(self, row: Row) -> Row:
        """One row with its large values, of the same class.

        Raises:   DataError: a value is larger than max_lob_size, or is not text; names the column.
        """
        values = [*row]
        for large in self._columns:
            held = values[large.place]
            if held is not None:
                value = await (
                    self._simple_value(large, held)
                    if isinstance(held, Descriptor)
                    else self._smart_value(large, held)
                )
                is_handle = isinstance(value, Lob)
                values[large.place] = value if large.convert is None or is_handle else large.convert(value)
        return type(row)(values)

    async def _simple_value(self, large: LargeColumn, descriptor: Descriptor) -> bytes | str:
        """A BYTE or TEXT value."""
        if descriptor.size > self._max_size:
            raise self._too_large(large, descriptor.size)
        fetching = self._fetching
        conversation = fetching.session.conversation
        pieces: list[bytes] = []
        size = 0

        def take(piece: bytes) -> None:
            nonlocal size
            size += len(piece)
            if size <= self._max_size:
                pieces.append(piece)
            else:
                pieces.clear()

        reply = await conversation.exchange(
            fetching.request(descriptor),
            BlobReader(conversation.capabilities, take),
            interruptible=True,
            on_lost=fetching.on_lost,
        )
        raise_for(reply, fetching.sql)
        if size > self._max_size:
            raise self._too_large(large, size)
        return self._decoded(large, b"".join(pieces))

    def _decoded(self, large: LargeColumn, data: bytes) -> bytes | str:
        if not large.is_text:
            return data
        try:
            return self._fetching.session.code_set.decode(data)
        except DataError as error:
            name = large.column.name
            raise DataError(f"column {name!r}: {error}", column=name) from None

    async def _smart_value(self, large: LargeColumn, locator: Locator) -> Value:
        """A BLOB or CLOB value, or its handle."""
        session = self._fetching.session
        if not self._inline:
            handle: Lob[Any] = Lob(session, locator, is_text=large.is_text)
            return handle
        held = SmartObject(session, locator.data)
        try:
            size = await held.size()
            if size > self._max_size:
                raise self._too_large(large, size)
            return self._decoded(large, await held.read_all(size))
        except DatabaseError as error:
            note_sql(error, self._fetching.sql)
            raise
        finally:
            held.close_later()

    def _too_large(self, large: LargeColumn, size: int) -> DataError:
        column = large.column
        return DataError(
            f"column {column.name!r}: {column.type} value of {size} bytes exceeds max_lob_size={self._max_size}",
            column=column.name,
        )


def large_columns(columns: Sequence[Column], conversions: Conversions) -> tuple[LargeColumn, ...]:
    """The columns whose rows hold only descriptors or locators."""
    found: list[LargeColumn] = []
    for index, column in enumerate(columns):
        if is_large_object(column.type):
            decoder = conversions.decoder_for(column.type)
            found.append(LargeColumn(index, column, is_character_object(column.type), decoder))
    return tuple(found)
