"""How the tuples of one statement become rows: decoder, reader, row factory. Never: a cursor, a request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from aioifx.client.config.checks import Lobs, check_lobs, row_maker
from aioifx.client.execution.large_values import Fetching, LargeValues, large_columns
from aioifx.client.execution.value_streams import StreamedValues
from aioifx.client.session.session import Session
from aioifx.codecs.conversions import PLAIN, Conversions
from aioifx.codecs.rows import FieldPlan, RowDecoder
from aioifx.errors import DataError, ProtocolError
from aioifx.rows import RowFactory, row_type_of
from aioifx.sqltypes import Column, Row, Value
from aioifx.wire.inbox import Inbox
from aioifx.wire.tuples import DecoderError, RowReader, read_field_by_field, read_in_runs

T = TypeVar("T")

_STOPPED: Final = "row_factory: its function raised StopIteration"


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

    Raises:
        InterfaceError: *lobs* is unknown, or "stream" without *streams*.
    """

    def __init__(self, factory: RowFactory[Any], lobs: Lobs, *, streams: bool = False) -> None:
        check_lobs(lobs, streams=streams)
        self._factory = factory
        self.lobs: Lobs = lobs

    def __call__(self, columns: Sequence[Column]) -> Callable[[Row], Any]:
        return self._factory(columns)


class RowPlans:
    """The row plans of one statement.

    Args:
        fetching: how its large values are fetched.
    """

    def __init__(self, fetching: Fetching, columns: Sequence[Column]) -> None:
        self.fetching = fetching
        self.columns = columns
        self._conversions = fetching.session.conversions
        self._readers: dict[tuple[type[Row], bool], RowReader] = {}
        self.last: RowPlan | None = None
        """The plan that `of_factory` made last."""

    def reader(self, row_type: type[Row] = tuple, *, plain: bool = False) -> RowReader:
        """The reader of the statement's tuples; cached by row type.

        Args:
            plain: values have their default types; the user's conversions are not applied.

        Raises:
            NotSupportedError: a column has a type that cannot be decoded.
        """
        reader = self._readers.get((row_type, plain))
        if reader is None:
            conversions = PLAIN if plain else self._conversions
            reader = row_reader(self.fetching.session, self.columns, row_type, conversions)
            self._readers[row_type, plain] = reader
        return reader

    def of_factory(self, factory: RowFactory[Any]) -> RowPlan:
        """The plan for *factory*, which is called once.

        Raises:
            NotSupportedError: a column has a type that cannot be decoded. Any exception of the factory.
        """
        plan = self.last
        if plan is None or plan.factory is not factory:
            make = row_maker(factory, self.columns)
            row_type = row_type_of(make)
            reader = self.reader(tuple if row_type is None else row_type)
            large = self.large_values(factory.lobs if isinstance(factory, LobRows) else None)
            plan = self.last = RowPlan(reader, make if row_type is None else None, factory, large)
        return plan

    def of_stream(
        self, factory: RowFactory[Any], lobs: Lobs | None = None, timeout: float | None = None
    ) -> RowPlan:
        """The plan for a stream, whose large values may be read in chunks.

        Args:
            timeout: seconds for each chunk; None: command_timeout.
        """
        default = self.fetching.session.lobs
        lobs = lobs or default
        plan = self.of_factory(factory if lobs == default else LobRows(factory, lobs, streams=True))
        if lobs != "stream" or plan.large is None:
            return plan
        large = large_columns(self.columns, self._conversions)
        streamed = StreamedValues(self.fetching, large, timeout=timeout)
        return plan._replace(convert=streamed.converter(plan.convert), large=streamed)

    def plain(self) -> RowPlan:
        """The plan for tuples of values in their default types."""
        return RowPlan(self.reader(plain=True), large=self.large_values("inline", plain=True))

    def large_values(self, lobs: Lobs | None = None, *, plain: bool = False) -> LargeValues | None:
        """What fetches the large values of the statement's rows; None if it has none.

        Args:
            lobs: None: the connection's.
            plain: the user's conversions are not applied.
        """
        large = large_columns(self.columns, PLAIN if plain else self._conversions)
        if not large:
            return None
        lobs = lobs or self.fetching.session.lobs
        return LargeValues(self.fetching, large, inline=lobs == "inline")


def converted(rows: Sequence[Row], convert: Callable[[Row], T]) -> list[T]:
    """The rows, as a row factory makes them.

    Raises:
        DataError: it has raised StopIteration, which `map` takes for the end of the rows.
    """
    made = list(map(convert, rows))
    if len(made) != len(rows):
        raise DataError(_STOPPED)
    return made


def converting(rows: Iterable[Row], convert: Callable[[Row], T]) -> Iterator[T]:
    """`converted`, one row at a time."""
    for row in rows:
        try:
            made = convert(row)
        except StopIteration as error:
            raise DataError(_STOPPED) from error
        yield made


def row_reader(
    session: Session, columns: Sequence[Column], row_type: type[Row], conversions: Conversions
) -> RowReader:
    """The reader of tuples with these columns, which makes rows of *row_type*.

    Raises:
        NotSupportedError: a column has a type that cannot be decoded.
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
            try:
                values.append(field.decode(inbox.take(size)))
            except Exception:
                raise
            except BaseException as error:
                raise DecoderError(error) from error
        return row_type(values)

    return read_row


async def _need_within(inbox: Inbox, count: int, end: int) -> None:
    if inbox.consumed + count > end:
        raise ProtocolError("a field extends beyond its row")
    await inbox.need(count)
