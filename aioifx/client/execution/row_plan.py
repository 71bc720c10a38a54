"""How the tuples of one statement become rows: decoder, reader, row factory. Never: a cursor, a request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from aioifx.client.config.checks import Lobs, check_lobs
from aioifx.client.execution.large_values import LargeValues
from aioifx.client.session.session import Session
from aioifx.codecs.conversions import Conversions
from aioifx.codecs.rows import FieldPlan, RowDecoder
from aioifx.errors import ProtocolError
from aioifx.rows import RowFactory
from aioifx.sqltypes import Column, Row, Value
from aioifx.wire.inbox import Inbox
from aioifx.wire.tuples import RowReader, read_field_by_field, read_in_runs


class RowPlan(NamedTuple):
    """How tuples are read and converted."""

    read_rows: RowReader | None
    """None for the reader of plain tuples."""
    convert: Callable[[Row], Any] | None = None
    """Converts each row; None if the reader already returns the final form."""
    factory: RowFactory[Any] | None = None
    """The row factory that the plan was made for."""
    large: LargeValues | None = None
    """Fetches the large values of the rows; None if there are none."""


class LobRows:
    """A row factory for one call, together with its option lobs.

    Raises:   InterfaceError: *lobs* is unknown, or "stream" without *streams*.
    """

    def __init__(self, factory: RowFactory[Any], lobs: Lobs, *, streams: bool = False) -> None:
        check_lobs(lobs, streams=streams)
        self._factory = factory
        self.lobs: Lobs = lobs

    def __call__(self, columns: Sequence[Column]) -> Callable[[Row], Any]:
        return self._factory(columns)


def row_reader(
    session: Session, columns: Sequence[Column], row_type: type[Row], conversions: Conversions
) -> RowReader:
    """The reader of tuples with these columns, which makes rows of *row_type*.

    Raises:   NotSupportedError: a column has a type that cannot be decoded.
    """
    decoder = RowDecoder(
        columns, session.code_set, strip_char=session.strip_char, row_type=row_type, conversions=conversions
    )
    if session.read_ahead:
        return read_in_runs(decoder, decoder.fast_run)
    return read_field_by_field(_field_reader(decoder.fields, row_type))


def _field_reader(
    fields: Sequence[FieldPlan], row_type: type[Row] = tuple
) -> Callable[[Inbox, int], Awaitable[Row]]:
    """Reads a row field by field, with one await each; *end* guards against sizes beyond the row."""

    async def read_row(inbox: Inbox, end: int) -> Row:
        values: list[Value] = []
        for field in fields:
            await _need_within(inbox, field.head or field.width, end)
            head = bytes(inbox.data[inbox.pos : inbox.pos + field.head])
            size = field.head + field.rest(head) if field.head else field.width
            await _need_within(inbox, size, end)
            values.append(field.decode(inbox.take(size)))
        return row_type(values)

    return read_row


async def _need_within(inbox: Inbox, count: int, end: int) -> None:
    if inbox.consumed + count > end:
        raise ProtocolError("a field extends beyond its row")
    await inbox.need(count)
