"""The large values of rows: fetched after a block was read, in place of descriptors and locators. Never: a cursor.

Invariants:
1. A statement without such columns does nothing for them: its plans have no LargeValues.
2. The values of a block are fetched before the next block is requested, one after the other. No client is known to
   request several at a time (observed: JDBC, lob.json, objects15.json).
3. A value beyond max_lob_size is not kept: it is not requested if its descriptor tells its size; otherwise the rest is
   read and dropped. The connection stays usable.
4. That a server keeps BYTE and TEXT values after it has closed the cursor (OPTOFC) is assumed. JDBC requests them
   then (observed). The manual names no exception (documented). A refusal is remembered; see `read_again`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from aioifx.client.execution.statement_requests import statement_request
from aioifx.client.lobs.lob import Lob
from aioifx.client.lobs.smart_object import SmartObject
from aioifx.client.observation.observation import Watch
from aioifx.client.session.failures import note_sql, raise_for
from aioifx.client.session.session import Session
from aioifx.codecs.conversions import Conversions
from aioifx.codecs.large_objects import (
    MAY_BE_LARGE,
    Descriptor,
    Locator,
    is_character_object,
    is_large_object,
    is_smart_object,
)
from aioifx.errors import DatabaseError, DataError, LockError, OperationalError, QueryCanceled
from aioifx.sqltypes import Column, Row, Value
from aioifx.wire import requests
from aioifx.wire.blob_replies import BlobReader
from aioifx.wire.fields import BLOB_DESCRIPTOR
from aioifx.wire.objects import put_fetch_blob
from aioifx.wire.replies import Reply

_SMALL: Final = 8192
"""Bytes from which on a piece of a value is kept as it came."""


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

    def request_maker(self) -> Callable[[Descriptor], bytes]:
        """Makes the request for a BYTE or TEXT value.

        Wire: ID · FETCHBLOB
        Source: observed: JDBC, lob.json, text_read
        """
        width = BLOB_DESCRIPTOR[self.session.conversation.capabilities.long_rowid]
        outbox = statement_request(self.statement_id)
        put_fetch_blob(outbox, b"")
        head = outbox.detach()
        requests.put_eot(outbox)
        eot = outbox.detach()
        return lambda descriptor: head + descriptor.resized(width) + eot


class LargeValues:
    """Fetches the large values of rows whose cursor is open. Callers of its coroutines hold the session's lock.

    Args:
        inline: BLOB and CLOB as bytes and str.
    """

    streams = False
    """Whether a row's values are requested only when they are iterated."""
    watch: Watch | None = None
    """The operation of the stream, for values that are requested later."""
    is_cursor_closed = False
    """Whether the server has closed the cursor of the rows."""

    def __init__(self, fetching: Fetching, columns: Sequence[LargeColumn], *, inline: bool = False) -> None:
        self.fetching = fetching
        self._columns = columns
        self._inline = inline
        self.has_handles = not inline and any(is_smart_object(large.column.type) for large in columns)
        """Whether rows have handles, which belong to the session."""
        self.max_size = fetching.session.max_lob_size
        self.request = fetching.request_maker()

    def close(self) -> None:
        """Called before the next block, and when the cursor is closed."""

    def elsewhere(self, fetching: Fetching) -> LargeValues:
        """The same for a statement of another session."""
        return LargeValues(fetching, self._columns, inline=self._inline)

    async def fill(self, rows: list[Row]) -> list[Row]:
        """The rows with their large values, of the same classes.

        Raises:
            DataError: a value is larger than max_lob_size, or is not text; names the column.
        """
        copies = [[*row] for row in rows]
        places = [
            (values, large) for values in copies for large in self._columns if values[large.place] is not None
        ]
        simple = _SimpleValues(self, places)
        at = 0
        while at < len(places):
            values, large = places[at]
            held = values[large.place]
            if isinstance(held, Descriptor):
                at = await simple.fetch(at)
                continue
            value = await self._smart_value(large, held)
            is_handle = isinstance(value, Lob)
            values[large.place] = value if large.convert is None or is_handle else large.convert(value)
            at += 1
        return [type(row)(values) for row, values in zip(rows, copies, strict=True)]

    async def fill_row(self, row: Row) -> Row:
        """One row with its large values."""
        return (await self.fill([row]))[0]

    def decoded(self, large: LargeColumn, data: bytes) -> bytes | str:
        if not large.is_text:
            return data
        try:
            return self.fetching.session.code_set.decode(data)
        except DataError as error:
            name = large.column.name
            raise DataError(f"column {name!r}: {error}", column=name) from None

    async def _smart_value(self, large: LargeColumn, locator: Locator) -> Value:
        """A BLOB or CLOB value, or its handle."""
        session = self.fetching.session
        if not self._inline:
            handle: Lob[Any] = Lob(session, locator, is_text=large.is_text)
            return handle
        held = SmartObject(session, locator.data)
        try:
            size = await held.size()
            if size > self.max_size:
                raise self.too_large(large, size)
            return self.decoded(large, await held.read_all(size))
        except DatabaseError as error:
            note_sql(error, self.fetching.sql)
            raise
        finally:
            held.close_later()

    def too_large(self, large: LargeColumn, size: int) -> DataError:
        column = large.column
        return DataError(
            f"column {column.name!r}: {column.type} value of {size} bytes exceeds max_lob_size={self.max_size}",
            column=column.name,
        )


class _SimpleValues:
    """The BYTE and TEXT values of a block, one after the other.

    Args:
        places: each value's row, in which a descriptor is replaced by the value, and its column.
    """

    def __init__(self, owner: LargeValues, places: Sequence[tuple[list[Value], LargeColumn]]) -> None:
        self._owner = owner
        self._places = places
        self._conversation = owner.fetching.session.conversation
        self._at = 0
        self._pieces: list[bytes | bytearray] = []
        self._size = 0

    async def fetch(self, at: int) -> int:
        """Fetch the value of place *at*, and as many after it as need nothing but their requests.

        Returns:
            The place after the last one.
        """
        owner, dispatcher = self._owner, self._conversation.dispatcher
        values, large = self._places[at]
        descriptor: Any = values[large.place]
        if descriptor.size > owner.max_size:
            raise owner.too_large(large, descriptor.size)
        self._at, self._pieces, self._size = at, [], 0
        in_flight = dispatcher.send(
            owner.request(descriptor),
            BlobReader(self._conversation.capabilities, self._take),
            interruptible=True,
            on_reply=self._on_reply,
            on_lost=owner.fetching.on_lost,
        )
        reply = await dispatcher.reply(in_flight)
        values, large = self._places[self._at]
        if owner.is_cursor_closed:
            check_kept(owner.fetching, reply, is_missing=self._is_missing)
        else:
            raise_for(reply, owner.fetching.sql)
        if self._size > owner.max_size:
            raise owner.too_large(large, self._size)
        value = owner.decoded(large, b"".join(self._pieces))
        values[large.place] = value if large.convert is None else large.convert(value)
        return self._at + 1

    @property
    def _is_missing(self) -> bool:
        """Whether nothing has come of a value that has a size."""
        values, large = self._places[self._at]
        descriptor: Any = values[large.place]
        return not self._size and descriptor.size > 0

    def _take(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._owner.max_size:
            self._pieces.clear()
        elif len(piece) >= _SMALL or not self._pieces or len(self._pieces[-1]) >= _SMALL:
            self._pieces.append(piece if len(piece) >= _SMALL else bytearray(piece))
        else:  # small pieces as objects of their own would take many times the value's memory
            self._pieces[-1] += piece

    def _on_reply(self, reply: Reply) -> bool:
        """Keep the value and request the next one. What may fail, and the user's code, is left to `fetch`.

        Returns:
            Whether more follows: of this reply, or the reply for the next value.
        """
        if self._conversation.on_reply(reply):
            return True
        owner, places, following = self._owner, self._places, self._at + 1
        if following == len(places) or self._size > owner.max_size or self._is_missing:
            return False
        if reply.error is not None or reply.file_failure is not None or reply.bad_value is not None:
            return False
        values, large = places[self._at]
        next_values, next_large = places[following]
        descriptor = next_values[next_large.place]
        if (
            large.convert is not None
            or not isinstance(descriptor, Descriptor)
            or descriptor.size > owner.max_size
        ):
            return False
        try:
            value = owner.decoded(large, b"".join(self._pieces))
        except DataError:
            return False
        if not self._conversation.dispatcher.try_send_next(owner.request(descriptor)):
            return False
        values[large.place] = value
        self._at, self._pieces, self._size = following, [], 0
        return True


class ValueNotKept(Exception):
    """The server may have dropped a BYTE or TEXT value with the cursor that it has closed.

    Args:
        error: what the call raises unless the value is read in another way.
        asked: whether the client has asked for the closing.
    """

    def __init__(self, error: DatabaseError, *, asked: bool) -> None:
        super().__init__(error)
        error.args = (f"{error}; {_NOT_KEPT}{'; optofc=False keeps cursors open' if asked else ''}",)
        self.error = error


_NOT_KEPT: Final = "the server may have dropped the value when it closed the cursor"


def check_kept(fetching: Fetching, reply: Reply, *, is_missing: bool = False) -> None:
    """Raise the error in the reply to the FETCHBLOB for a value whose cursor the server has closed.

    Args:
        is_missing: nothing has come of a value that has a size.

    Raises:
        ValueNotKept: unless the error has another reason for certain.
    """
    asked = fetching.session.options.sends_optofc
    if is_missing and reply.error is None:
        raise ValueNotKept(
            OperationalError("the server sent nothing of a BYTE or TEXT value", sql=fetching.sql), asked=asked
        )
    try:
        raise_for(reply, fetching.sql)
    except DatabaseError as error:
        if reply.error is None or isinstance(error, (LockError, QueryCanceled)):
            raise
        raise ValueNotKept(error, asked=asked) from error
    fetching.session.behavior.learn("keeps_closed_values", True)


def large_columns(columns: Sequence[Column], conversions: Conversions) -> tuple[LargeColumn, ...]:
    """The columns whose rows hold only descriptors or locators."""
    found: list[LargeColumn] = []
    for index, column in enumerate(columns):
        if column.type.code in MAY_BE_LARGE and is_large_object(column.type):
            decoder = conversions.decoder_for(column.type)
            found.append(LargeColumn(index, column, is_character_object(column.type), decoder))
    return tuple(found)
