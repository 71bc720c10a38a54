"""Values of BLOB and CLOB parameters, created at the server before a statement is executed. Never: the statement.

Callers of this module's coroutines hold the session's lock.

Invariants:
1. Each chunk is a round trip of its own, so a source that fails leaves no request half sent.
2. What was created is deleted if the statement was not executed: no column refers to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, NamedTuple

from aioifx.client.lobs.lob import Lob, belongs_to
from aioifx.client.lobs.smart_object import DEFAULT_STORAGE, SmartObject, column_storage
from aioifx.client.lobs.sources import ChunkSource
from aioifx.client.session.session import Session
from aioifx.codecs.conversions import Adapter, Adapters, with_adapters
from aioifx.codecs.large_objects import LOCATOR, Locator, is_character_object, is_smart_object
from aioifx.errors import DatabaseError, DataError
from aioifx.sqltypes import SqlType, Value

_ANY: Final = Locator(bytes(LOCATOR))


def lob_parameters(
    session: Session,
    types: Sequence[SqlType | None],
    adapters: Adapters,
    columns: Callable[[], Mapping[int, str]],
) -> LobParameters | None:
    """The BLOB and CLOB parameters of a statement; None if it has none.

    Args:
        types: of all its parameters; None where the server describes none.
        columns: returns ``table.column`` by the parameter's index, where it is known.
    """
    large = {
        index: LobParameter(is_character_object(sql_type), adapter)
        for index, (sql_type, adapter) in enumerate(with_adapters(types, adapters))
        if sql_type is not None and is_smart_object(sql_type)
    }
    return LobParameters(session, large, columns()) if large else None


class LobParameter(NamedTuple):
    """One BLOB or CLOB parameter."""

    is_text: bool
    adapter: Adapter


class LobParameters:
    """The BLOB and CLOB parameters of one statement.

    Args:
        large: by the parameter's index.
        columns: see `lob_parameters`.
    """

    def __init__(
        self, session: Session, large: Mapping[int, LobParameter], columns: Mapping[int, str]
    ) -> None:
        self._session = session
        self._large = large
        self._columns = columns
        self._storage: dict[int, bytes] = {}
        self.is_single_use = False
        """Whether the parameters of the last execution cannot be read again."""

    def are_stored(self, params: Sequence[Value]) -> bool:
        """Whether every value is at the server already, or NULL."""
        self.is_single_use = False
        return all(
            index >= len(params) or params[index] is None or isinstance(params[index], Locator)
            for index in self._large
        )

    def placeholders(self, params: Sequence[Value]) -> list[Value]:
        """*params* with a locator for each value, to check the others."""
        return [
            _ANY if index in self._large and value is not None else value
            for index, value in enumerate(params)
        ]

    def store(
        self, params: Sequence[Value], row: int | None, on_error: Callable[[DataError], None]
    ) -> StoredParameters:
        """Create the values: ``async with lobs.store(...) as stored:``.

        Args:
            row: the index of the row in an executemany.
            on_error: adds what is known to an error before it is raised.

        Raises:
            DataError: a type that a column does not accept; names the parameter. Nothing was sent.
        """

        def place_error(error: DataError, index: int) -> DataError:
            place = f"parameter {index + 1}" if row is None else f"row {row}, parameter {index + 1}"
            placed = DataError(f"{place}: {error}", row_index=row, parameter=index + 1)
            on_error(placed)
            return placed

        sources: dict[int, ChunkSource | Locator | None] = {}
        for index, (is_text, adapter) in self._large.items():
            value: Any = params[index]
            if value is None or isinstance(value, Locator):
                continue
            try:
                value = adapter(value)
                if value is None:
                    sources[index] = None
                elif value.__class__ is Lob and value.is_text is is_text and belongs_to(value, self._session):
                    sources[index] = Locator(value.locator)
                else:
                    sources[index] = ChunkSource(self._session, value, is_text=is_text)
            except DataError as error:
                raise place_error(error, index) from None
        self.is_single_use = any(
            isinstance(source, ChunkSource) and source.is_single_use for source in sources.values()
        )
        return StoredParameters(self, self._session, params, sources, place_error)

    async def storage(self, index: int) -> bytes:
        """Where the values of a parameter are stored: as its column says, otherwise by the server's default."""
        found = self._storage.get(index)
        if found is None:
            found = DEFAULT_STORAGE
            if column := self._columns.get(index):
                try:
                    found = await column_storage(self._session, column)
                except DatabaseError as error:
                    if not error.sqlcode:  # an error of the client, such as a lost connection
                        raise
            self._storage[index] = found
        return found


class StoredParameters:
    """Parameters with locators, and what was created for them: kept if the block succeeds, otherwise deleted."""

    def __init__(
        self,
        parameters: LobParameters,
        session: Session,
        params: Sequence[Value],
        sources: Mapping[int, ChunkSource | Locator | None],
        place_error: Callable[[DataError, int], DataError],
    ) -> None:
        self._place_error = place_error
        self._parameters = parameters
        self._session = session
        self._params = params
        self._sources = sources
        self._created: list[SmartObject] = []

    async def __aenter__(self) -> list[Value]:
        stored = [*self._params]
        try:
            for index, source in self._sources.items():
                stored[index] = (
                    await self._create(index, source) if isinstance(source, ChunkSource) else source
                )
        except BaseException:
            self.release()
            raise
        return stored

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.release()

    def release(self) -> None:
        """Delete what was created. Waits for nothing."""
        for created in self._created:
            created.release_later()

    async def _create(self, index: int, source: ChunkSource) -> Locator:
        session = self._session
        session.dispatcher.note_holder()  # the source may be the user's, and must not use the connection
        created = await SmartObject.create(session, await self._parameters.storage(index))
        self._created.append(created)
        position = 0
        chunks = source.chunks()
        try:
            async for chunk in chunks:
                position = await created.write_all(position, chunk)
        except DataError as error:
            raise self._place_error(error, index) from None
        finally:
            await chunks.aclose()
        await created.close()
        return Locator(created.locator)
