"""The smart large objects that a session has open or has created: descriptors, positions. Never: bytes of SQLI.

Invariants:
1. A descriptor stays open until it is closed or the session closes the database. The end of a transaction does not
   close it (documented: ODBC manual, "Duration of an open operation"). After a rollback that removes its object,
   every use of the descriptor is -9810.
2. An object without references is deleted when no session has it open and its creator has released it or ended
   (documented: a smart large object exists as long as its reference count is not 0, or it is open).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from functools import partial
from sqlite3 import Connection
from typing import Final, TypeVar

from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite import smart_objects
from aioifx.server.sqlite.smart_objects import ObjectsInUse
from aioifx.server.sqlite.transactions import Transactions

T = TypeVar("T")

BAD_OBJECT: Final = -9810

# Access modes (documented: ifx_lo_create and ifx_lo_open). JDBC reads with 4, and with modes that have none of these
# bits, 16 and 2048 (observed). APPEND alone is for reading (documented).
_APPEND, _WRITE, _READ_WRITE = 1, 2, 8
_WRITABLE: Final = _WRITE | _READ_WRITE

_START, _CURRENT, _END = 0, 1, 2


@dataclass(slots=True)
class _Open:
    number: int
    mode: int
    position: int = 0

    @property
    def is_writable(self) -> bool:
        return bool(self.mode & _WRITABLE)

    @property
    def is_readable(self) -> bool:
        return not self.mode & _WRITABLE or bool(self.mode & _READ_WRITE)


class OpenObjects:
    """The objects of one session in one database.

    Args:
        settle: called before a write, so that no cursor keeps an older snapshot open.
    """

    def __init__(
        self,
        connection: Connection,
        transactions: Transactions,
        in_use: ObjectsInUse,
        settle: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._transactions = transactions
        self._in_use = in_use
        self._settle = settle
        self._open: dict[int, _Open] = {}
        self._created: set[int] = set()
        self._released: set[int] = set()

    # -- descriptors ---------------------------------------------------------------------------------------------------

    def create(self) -> int:
        """A new object, which this session keeps until it releases it or ends."""
        number = self._writing(lambda: smart_objects.create(self._connection))
        self._keep(number)
        return number

    def _keep(self, number: int) -> None:
        self._created.add(number)
        self._in_use.add(number)

    def open(self, number: int, mode: int) -> int:
        """A descriptor of an object, at its start.

        Raises:
            SqlError: -9810, no such object.
        """
        if smart_objects.size_of(self._connection, number) is None:
            self._settle()  # it may be newer than the snapshot of a cursor
            if smart_objects.size_of(self._connection, number) is None:
                raise SqlError(BAD_OBJECT)
        descriptor = next(each for each in range(1, len(self._open) + 2) if each not in self._open)
        self._open[descriptor] = _Open(number, mode)
        self._in_use.add(number)
        return descriptor

    def close(self, descriptor: int, *, is_swept: bool = True) -> None:
        """Close a descriptor.

        Args:
            is_swept: False inside a statement: an object without references is deleted after a later change.

        Raises:
            SqlError: -9810, it is not open.
        """
        opened = self._open.pop(descriptor, None)
        if opened is None:
            raise SqlError(BAD_OBJECT)
        self._in_use.remove(opened.number)
        self._released.add(opened.number)
        if is_swept:
            self.sweep()

    def release(self, number: int) -> None:
        """Delete an object that this session has created, unless a row refers to it (documented: ifx_lo_release)."""
        if number in self._created:
            self._created.remove(number)
            self._in_use.remove(number)
        self._released.add(number)
        self.sweep()

    def _found(self, descriptor: int) -> tuple[_Open, int]:
        """An open object and its size.

        Raises:
            SqlError: -9810, it is not open, or no longer exists.
        """
        opened = self._open.get(descriptor)
        if opened is None:
            raise SqlError(BAD_OBJECT)
        size = smart_objects.size_of(self._connection, opened.number)
        if size is None:
            raise SqlError(BAD_OBJECT)
        return opened, size

    def _writable(self, descriptor: int) -> tuple[_Open, int]:
        """The same for a write.

        Raises:
            SqlError: -9810, it is not open for writing.
        """
        opened, size = self._found(descriptor)
        if not opened.is_writable:
            raise SqlError(BAD_OBJECT)
        return opened, size

    # -- data ----------------------------------------------------------------------------------------------------------

    def size(self, descriptor: int) -> int:
        """The size in bytes."""
        return self._found(descriptor)[1]

    def tell(self, descriptor: int) -> int:
        """The position."""
        return self._found(descriptor)[0].position

    def seek(self, descriptor: int, offset: int, whence: int) -> int:
        """Move the position, which may be after the end; returns it.

        Raises:
            SqlError: -9810, it would be before the start, or *whence* is not 0, 1 or 2.
        """
        opened, size = self._found(descriptor)
        origins = {_START: 0, _CURRENT: opened.position, _END: size}
        position = origins.get(whence, -smart_objects.MAX_SIZE) + offset
        if not 0 <= position <= smart_objects.MAX_SIZE:
            raise SqlError(BAD_OBJECT)
        opened.position = position
        return position

    def read(self, descriptor: int, size: int) -> bytes:
        """At most *size* bytes from the position on; fewer only at the end."""
        opened, _ = self._found(descriptor)
        if not opened.is_readable:
            raise SqlError(BAD_OBJECT)
        data = smart_objects.read(self._connection, opened.number, opened.position, size)
        opened.position += len(data)
        return data

    def write(self, descriptor: int, data: bytes) -> int:
        """Write *data* at the position, or at the end in mode APPEND; returns its size."""

        def work() -> None:
            opened, size = self._writable(descriptor)
            position = size if opened.mode & _APPEND else opened.position
            if position + len(data) > smart_objects.MAX_SIZE:
                raise SqlError(BAD_OBJECT)
            smart_objects.write(self._connection, opened.number, position, data)
            opened.position = position + len(data)

        self._writing(work)
        return len(data)

    def truncate(self, descriptor: int, size: int) -> None:
        """Set the size."""

        def work() -> None:
            opened, _ = self._writable(descriptor)
            if not 0 <= size <= smart_objects.MAX_SIZE:
                raise SqlError(BAD_OBJECT)
            smart_objects.truncate(self._connection, opened.number, size)

        self._writing(work)

    def _writing(self, work: Callable[[], T]) -> T:
        def attempt() -> T:
            with self._transactions.changing_objects():
                return work()

        self._settle()
        return self._transactions.run(attempt)

    # -- inside a statement --------------------------------------------------------------------------------------------

    def call(self, name: str, *arguments: int | None) -> int | None:
        """The result of a routine that SQL calls; NULL for a NULL argument.

        Raises:
            SqlError: -9810, a bad descriptor, object or position.
        """
        match [argument for argument in arguments if argument is not None]:
            case given if len(given) < len(arguments):
                return None
            case [number, mode]:
                if smart_objects.size_of(self._connection, number) is None:
                    raise SqlError(BAD_OBJECT)
                return self.open(number, mode)
            case [descriptor, offset, whence]:
                return self.seek(descriptor, offset, whence)
            case [descriptor] if name == "ifx_lo_close":
                self.close(descriptor, is_swept=False)
                return 0
            case [descriptor, *_]:
                return self.tell(descriptor)
            case _:
                raise AssertionError(name)

    def _need_writer(self) -> None:
        """Raise SqlError -999 if the statement does not write, so it has no lock for a new object."""
        if not self._transactions.is_writing:
            raise SqlError(-999, token="a new large object in a query")

    def stored(self, pieces: Iterable[bytes]) -> int:
        """A new object with these bytes, for the running statement."""
        self._need_writer()
        number = smart_objects.create(self._connection)
        self._released.add(number)
        position = 0
        for piece in pieces:
            smart_objects.write(self._connection, number, position, piece)
            position += len(piece)
        return number

    def copied(self, number: int | None) -> int | None:
        """LOCOPY: a new object with the bytes of another, for the running statement."""
        if number is None:
            return None
        self._need_writer()
        made = smart_objects.copy(self._connection, number)
        if made is None:
            raise SqlError(BAD_OBJECT)
        self._released.add(made)
        return made

    def pieces(self, number: int, size: int) -> Generator[bytes, None, None]:
        """The bytes of an object, *size* at a time."""
        position = 0
        while piece := smart_objects.read(self._connection, number, position, size):
            position += len(piece)
            yield piece

    # -- deleting ------------------------------------------------------------------------------------------------------

    def on_released(self, number: int) -> None:
        """Called when a row no longer refers to an object."""
        self._released.add(number)

    def sweep(self) -> None:
        """Delete objects that nothing refers to any more; later, if a transaction is open or another session writes."""
        if not self._released or self._transactions.is_used:
            return
        unused = self._in_use.without(self._released)
        numbers = self._transactions.unlocked_objects(unused)
        delete = partial(smart_objects.delete_unreferenced, self._connection, numbers)
        if numbers:
            self._settle()
        if not numbers or self._transactions.aside(delete):
            self._released = set(unused) - set(numbers)

    def sweep_all(self) -> None:
        """Delete what ended sessions have left; called by the first session of a database."""
        self._released.update(smart_objects.unreferenced(self._connection))
        self.sweep()

    def close_all(self) -> None:
        """Close all descriptors, and release what the session has created."""
        for opened in self._open.values():
            self._in_use.remove(opened.number)
            self._released.add(opened.number)
        for number in self._created:
            self._in_use.remove(number)
        self._released |= self._created
        self._open.clear()
        self._created.clear()
        self.sweep()
