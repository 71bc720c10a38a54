"""BYTE and TEXT parameters: read whole before anything is sent, then sent after their descriptors. Never: a reply.

Invariants:
1. A source that fails, or has too much data, fails the call before its request: half a value is never sent.
2. A statement without such parameters has no LargeParameters, and its requests are encoded as if there were none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, cast

from aioifx.client.lobs.sources import chunks_of_source
from aioifx.client.session.session import Session
from aioifx.codecs.conversions import STANDARD, Adapter, Adapters, with_adapters
from aioifx.codecs.large_objects import is_large_object, parameter_descriptor
from aioifx.errors import DataError
from aioifx.sqltypes import Row, SqlType, TypeCode, Value
from aioifx.wire.blob_replies import MAX_VALUE
from aioifx.wire.fields import BLOB_DESCRIPTOR
from aioifx.wire.objects import put_blob, put_blob_count
from aioifx.wire.outbox import Outbox

_SIMPLE: Final = (TypeCode.BYTE, TypeCode.TEXT)


class LargeParameters:
    """The BYTE and TEXT parameters of one statement."""

    def __init__(self, session: Session, types: Sequence[SqlType | None], adapters: Adapters) -> None:
        self._session = session
        self._large = [
            (place, sql_type, adapter)
            for place, (sql_type, adapter) in enumerate(with_adapters(types, adapters))
            if sql_type is not None and sql_type.code in _SIMPLE
        ]
        self._count = len(types)
        self._width = BLOB_DESCRIPTOR[session.conversation.capabilities.long_rowid]
        self.has_consumed = False
        """Whether a value came from an iterator or a file, so that it cannot be sent again from its source."""

    async def collect(
        self, params: Sequence[Value], row: int | None = None, name: Callable[[int], str] | None = None
    ) -> Sequence[Value]:
        """The parameters, with each large value as bytes or None. The caller holds the session's lock.

        Args:
            row: the index of the row in an executemany.
            name: of the parameter with an index, for messages.

        Raises:
            DataError: a value is not one of the type's, larger than the type allows, or from a source and larger than
                max_lob_size; names the parameter. Any exception of a source.
        """
        if len(params) != self._count:
            return params  # refused when encoded
        if not row:
            self.has_consumed = False
        collected = [*params]
        for place, sql_type, adapter in self._large:
            try:
                collected[place] = await self._whole(adapter, sql_type, collected[place])
            except DataError as error:
                where = f"parameter {place + 1}" if name is None else name(place)
                if row is not None and name is None:
                    where = f"row {row}, {where}"
                raise DataError(f"{where}: {error}", row_index=row, parameter=place + 1) from error.__cause__
        return collected

    async def _whole(self, adapter: Adapter, sql_type: SqlType, value: Value) -> bytes | None:
        if value is None:
            return None
        value = adapter(value)
        data = self._data(sql_type, value)
        if data is not None:
            if len(data) > MAX_VALUE:
                raise DataError(f"{sql_type} value of {len(data)} bytes: expected at most {MAX_VALUE}")
            return data
        chunks = chunks_of_source(value)
        if chunks is None:
            raise DataError(f"{sql_type} does not accept {type(value).__name__}")
        self.has_consumed = self.has_consumed or not isinstance(value, (list, tuple))
        self._session.dispatcher.note_holder()  # the source is the user's code
        limit, size = self._session.max_lob_size, 0
        found: list[bytes] = []
        try:
            async for chunk in chunks:
                data = self._data(sql_type, chunk)
                if data is None:
                    raise DataError(f"{sql_type} does not accept chunks of type {type(chunk).__name__}")
                size += len(data)
                if size > limit:
                    raise DataError(
                        f"{sql_type} value of more than {limit} bytes exceeds max_lob_size={limit}"
                    )
                found.append(data)
        finally:
            await chunks.aclose()
        return b"".join(found)

    def _data(self, sql_type: SqlType, value: object) -> bytes | None:
        """A value or chunk as bytes; None if it is neither bytes nor text. Bytes for TEXT are in its code set."""
        if isinstance(value, str):
            if sql_type.code != TypeCode.TEXT:
                raise DataError(f"{sql_type} does not accept str")
            return self._session.code_set.encode(value)
        return bytes(cast(bytes, value)) if isinstance(value, (bytes, bytearray, memoryview)) else None

    # -- requests -----------------------------------------------------------------------------------------------------

    def described(self, params: Sequence[Value]) -> tuple[Row, list[bytes]]:
        """Collected parameters with descriptors in place of large values, and these values other than NULL."""
        if len(params) != self._count:
            return tuple(params), []
        bound, values = [*params], list[bytes]()
        for place, _, _ in self._large:
            value = bound[place]
            if value is not None:
                values.append(value)
                bound[place] = parameter_descriptor(len(value), self._width)
        return tuple(bound), values


def put_values(outbox: Outbox, values: Sequence[bytes]) -> None:
    """The values after SQ_BIND.

    Wire: BBIND count · for each value BLOB ... · BLOB of no bytes; nothing if all are NULL
    Source: observed: JDBC, lob.json, insert_two_bytes, insert_text_null
    """
    if values:
        put_blob_count(outbox, len(values))
        for value in values:
            put_blob(outbox, value)


def encoded_values(values: Sequence[bytes]) -> bytes:
    """The values after SQ_PUT with their row: as after SQ_BIND, without a count (observed: JDBC, lob.json, put_byte).

    Assumed: with several such columns in their order.
    """
    outbox = Outbox()
    for value in values:
        put_blob(outbox, value)
    return outbox.detach()


def large_parameters(
    session: Session, types: Sequence[SqlType | None], adapters: Adapters
) -> LargeParameters | None:
    """The large parameters of a statement; None if it has none."""
    if not any(sql_type is not None and sql_type.code in _SIMPLE for sql_type in types):
        return None
    return LargeParameters(session, types, adapters)


def adapters_of_descriptors(types: Sequence[SqlType | None], adapters: Adapters) -> Adapters:
    """The adapters of parameters whose large values have been adapted already; empty if there are none."""
    return adapters and tuple(
        STANDARD if sql_type is not None and is_large_object(sql_type) else adapter
        for sql_type, adapter in with_adapters(types, adapters)
    )
