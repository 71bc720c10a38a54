"""What a BLOB or CLOB parameter accepts, as chunks of bytes: values, Lobs, iterables, files. Never: the server."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from aioifx.client.lobs.lob import Lob, encoded_data
from aioifx.client.lobs.smart_object import CHUNK
from aioifx.client.session.session import Session
from aioifx.client.session.threads import in_thread
from aioifx.errors import DataError

T = TypeVar("T")

_VALUES = (str, bytes, bytearray, memoryview)


class ChunkSource:
    """The chunks of one parameter.

    Raises:
        DataError: a type that the column does not accept; for chunks of an iterable or file, when they are read.
    """

    def __init__(self, session: Session, value: Any, *, is_text: bool) -> None:
        self._session = session
        self._is_text = is_text
        kind: type[object] = value.__class__
        self.is_single_use = not issubclass(kind, (*_VALUES, Lob))
        """Whether it cannot be read twice."""
        self._read: Callable[[], AsyncGenerator[Any, None] | None]
        if issubclass(kind, _VALUES):
            data = encoded_data(session, value, is_text=is_text)
            self._encode: Callable[[Any], bytes] = bytes
            self._read = partial(_chunks_of_value, data)
            return
        self._encode = self._encoded
        if kind is Lob:
            if value.is_text is not is_text:
                kinds = ("CLOB", "BLOB") if is_text else ("BLOB", "CLOB")
                raise DataError("{}: expected a Lob of the same type, got one of {}".format(*kinds))
            self._read = partial(_chunks_of_lob, value)
        elif chunks_of_source(value) is None:
            encoded_data(session, value, is_text=is_text)  # raises DataError
        else:
            self._read = partial(chunks_of_source, value)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The value in chunks of `CHUNK` bytes, of which only the last one is smaller. Memory is constant."""
        pending = bytearray()
        source = self._read()
        assert source is not None
        try:
            async for chunk in source:
                data = self._encode(chunk)
                if len(data) == CHUNK and not pending:
                    yield data
                    continue
                pending += data
                while len(pending) >= CHUNK:
                    with memoryview(pending) as view:
                        data = bytes(view[:CHUNK])
                    del pending[:CHUNK]
                    yield data
        finally:
            await source.aclose()
        if pending:
            yield bytes(pending)

    def _encoded(self, chunk: Any) -> bytes:
        return encoded_data(self._session, chunk, is_text=self._is_text)


async def _chunks_of_value(data: bytes) -> AsyncGenerator[bytes, None]:
    for start in range(0, len(data), CHUNK):
        yield data[start : start + CHUNK]


async def _chunks_of_lob(lob: Lob[Any]) -> AsyncGenerator[Any, None]:
    """The whole value, whatever the Lob's position is; its position does not change."""
    async with lob.duplicate() as copy:
        async for chunk in copy:
            yield chunk


def chunks_of_source(value: Any) -> AsyncGenerator[Any, None] | None:
    """The chunks of the user's file or sync or async iterable; None for anything else."""
    kind: type[object] = value.__class__
    if callable(reader := getattr(value, "read", None)):
        return _chunks_of_file(reader)
    if issubclass(kind, (AsyncIterable, Iterable)) and not issubclass(kind, (dict, set, frozenset)):
        return items_of(value)
    return None


async def _chunks_of_file(read: Callable[[int], Any]) -> AsyncGenerator[Any, None]:
    """A file is read in a thread, an asynchronous one in the event loop."""
    is_async = inspect.iscoroutinefunction(read)
    while True:
        chunk = await read(CHUNK) if is_async else await in_thread(read, CHUNK)
        if inspect.isawaitable(chunk):  # an asynchronous file whose method is an ordinary function
            chunk = await chunk
        if not chunk:
            return
        yield chunk


async def items_of(values: Iterable[T] | AsyncIterable[T]) -> AsyncGenerator[T, None]:
    """The items of a sync or async iterable."""
    if isinstance(values, AsyncIterable):
        async for value in values:
            yield value
    else:
        for value in values:
            yield value
