"""The value of a BLOB or CLOB column, read and written piece by piece. Never: opcodes, a statement."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final, Generic, Self, TypeVar

from aioifx.client.config.checks import check_whole
from aioifx.client.lobs.smart_object import CHUNK, WHOLE_CHUNK, SmartObject
from aioifx.client.session.loop_binding import NotCopied
from aioifx.client.session.session import Session
from aioifx.codecs.large_objects import Locator
from aioifx.codecs.text import TextDecoder
from aioifx.errors import DataError, InterfaceError

Data = TypeVar("Data", bytes, str)

_MAX_POSITION: Final = 2**63 - 1
"""The largest INT8; the routines take positions and sizes in that type (observed: JDBC, lob.json)."""

_WRITE: Final = "write to a large object"
"""Stands for a statement where one is checked."""


class Lob(NotCopied, Generic[Data]):
    """A BLOB or CLOB value at the server; its data is `bytes` for BLOB, `str` for CLOB.

    Queries with ``lobs="handles"`` return it. Nothing is requested until its first use. Reading needs a round trip for
    each 256,000 bytes, and constant memory. As a parameter, a Lob stores its value in another row.

    Positions and sizes are in bytes, for CLOB in the database's code set.

    A Lob belongs to its connection: it cannot be used after that is closed or released to its pool. What is written
    belongs to the transaction. Outside one, it takes effect immediately.

    ``async with lob:`` closes it at its end, otherwise garbage collection does.

    Raises:
        InterfaceError: the Lob is closed, or its connection was released.
        DatabaseError: SQLCODE -9810, if the value was deleted meanwhile.
    """

    def __init__(self, session: Session, locator: Locator, *, is_text: bool) -> None:
        self.locator = locator.data
        """72 bytes that name the value to the server."""
        self.is_text = is_text
        """Whether it is a CLOB."""
        self._session = session
        self._user = session.users
        self._object = SmartObject(session, locator.data)
        self._decoder = TextDecoder(session.code_set) if is_text else None
        self._position = 0
        self._is_closed = False

    def __repr__(self) -> str:
        return f"<Lob {'CLOB' if self.is_text else 'BLOB'} {'closed' if self._is_closed else 'open'}>"

    # -- reading ------------------------------------------------------------------------------------------------------

    async def read(self, size: int = -1) -> Data:
        """At most *size* bytes from the current position, decoded for CLOB; empty only at the end.

        A character of a CLOB that begins in these bytes and does not end there is left to the next read.

        Args:
            size: -1: everything up to the end.

        Raises:
            DataError: the text is not valid in the database's code set.
        """
        check_whole("size", size, -1, _MAX_POSITION)
        parts: list[Any] = []
        async with self._turn():
            is_whole = size < 0
            most = WHOLE_CHUNK if is_whole else CHUNK
            left = await self._object.size() - self._position if is_whole else size
            while left > 0:
                wanted = min(left, most)
                data = await self._object.read(self._position, wanted)
                self._position += len(data)
                left -= len(data)
                parts.append(self._decoded(data, final=not data or (is_whole and left <= 0)))
                if not data:
                    break
                if left <= 0 or (len(data) < wanted and not is_whole):
                    if any(parts):
                        break
                    left = 0 if is_whole else 1  # a byte more of a character
                self._session.dispatcher.extend_deadline()
        return self._joined(parts)

    def _decoded(self, data: bytes, *, final: bool) -> Any:
        return data if self._decoder is None else self._decoder.decode(data, final=final)

    def _joined(self, parts: list[Any]) -> Data:
        joined: Any = "".join(parts) if self.is_text else b"".join(parts)
        data: Data = joined
        return data

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Data:
        """The next 256,000 bytes or fewer, decoded for CLOB."""
        if data := await self.read(CHUNK):
            return data
        raise StopAsyncIteration

    # -- position -----------------------------------------------------------------------------------------------------

    async def seek(self, offset: int, whence: int = 0) -> int:
        """Move to a position in bytes; returns it. Only a position from the end needs a round trip.

        Within a CLOB, the position must be the start of a character.

        Args:
            whence: 0: from the start, 1: from the current position, 2: from the end.

        Raises:
            InterfaceError: the position is negative, or 2**63 or more.
        """
        check_whole("whence", whence, 0, 2)
        base = 0 if whence == 0 else await self.tell() if whence == 1 else await self.size()
        check_whole("offset", offset, -base, _MAX_POSITION - base)
        self._check()
        self._move(base + offset)
        return self._position

    async def tell(self) -> int:
        """The current position in bytes."""
        self._check()
        return self._position - (0 if self._decoder is None else self._decoder.pending)

    async def size(self) -> int:
        """The size in bytes, as the server reports it now."""
        async with self._turn():
            return await self._object.size()

    def _move(self, position: int) -> None:
        self._position = position
        if self._decoder is not None:
            self._decoder.reset()

    # -- writing ------------------------------------------------------------------------------------------------------

    async def write(self, data: Data) -> int:
        """Write *data* at the current position; returns the number of bytes.

        It replaces what is there, and extends the value beyond its end. Every row that has the value shows the change.

        Args:
            data: `bytes` for BLOB, `str` for CLOB.

        Raises:
            DataError: another type, or a character that is not in the database's code set.
            ProgrammingError: the connection is read-only.
        """
        encoded = encoded_data(self._session, data, is_text=self.is_text)
        start = await self.tell()
        async with self._turn(for_writing=True):
            self._move(start)
            self._move(await self._object.write_all(start, encoded))
        return len(encoded)

    async def truncate(self, size: int | None = None) -> int:
        """Cut off everything after *size* bytes; None: after the current position. Returns the new size."""
        end = await self.tell() if size is None else size
        check_whole("size", end, 0, _MAX_POSITION)
        async with self._turn(for_writing=True):
            await self._object.truncate(end)
        return end

    def duplicate(self) -> Lob[Data]:
        """Another Lob of the same value, at its start."""
        self._check()
        return Lob(self._session, Locator(self.locator), is_text=self.is_text)

    # -- closing ------------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Close the Lob at the server. Waits for nothing. Idempotent."""
        if not self._is_closed:
            self._session.dispatcher.binding.check()
            self._is_closed = True
            self._object.close_later()

    async def __aenter__(self) -> Self:
        self._check()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __del__(self) -> None:
        large_object = getattr(self, "_object", None)
        if large_object is not None and large_object.is_open:
            # Finalizers run in any thread.
            self._session.dispatcher.call_threadsafe(large_object.close_later)

    def _check(self) -> None:
        """Raise InterfaceError if the Lob must not be used here or now."""
        self._session.dispatcher.binding.check()
        if self._is_closed:
            raise InterfaceError("the Lob is closed")
        if self._user != self._session.users:
            raise InterfaceError("the connection of the Lob was released to its pool")

    @asynccontextmanager
    async def _turn(self, *, for_writing: bool = False) -> AsyncGenerator[None, None]:
        """Hold the session's lock for one call."""
        self._check()
        session = self._session
        transactions = session.transactions
        async with session.turn():
            self._check()
            if for_writing:
                await transactions.before_run(_WRITE)
            else:
                transactions.check("select")
            try:
                yield
            except BaseException:
                transactions.commit_later()
                raise
            if for_writing:
                await transactions.commit_implicit()
            else:
                transactions.commit_later()


def belongs_to(lob: Lob[Any], session: Session) -> bool:
    """Whether the value is at the server of *session*, in the same use of it.

    Raises:
        InterfaceError: the Lob can no longer be used.
    """
    lob._check()  # pyright: ignore[reportPrivateUsage] - of this module
    return lob._session is session  # pyright: ignore[reportPrivateUsage] - likewise


def encoded_data(session: Session, data: object, *, is_text: bool) -> bytes:
    """The bytes of a value, or of a chunk of one.

    Raises:
        DataError: a type that the column does not accept, or a character that is not in the code set.
    """
    if is_text and isinstance(data, str):
        return session.code_set.encode(data)
    if not is_text and isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)  # pyright: ignore[reportUnknownArgumentType] - memoryview is generic for it
    raise DataError(
        f"{'CLOB' if is_text else 'BLOB'}: expected {'str' if is_text else 'bytes'}, got {type(data).__name__}"
    )
