"""Committed changes as an asynchronous iterator. Never: SQL, bytes.

Invariants:
1. A read goes on when the wait for it is cancelled, and the next call gets its result: a cancellation loses nothing.
2. A transaction is delivered once, and only after all of its records were checked.
3. After an error, the iterator raises the same error again, and a new one continues at the last position. With
   *restart*, the iterator itself continues there after a lost connection.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any, Final, Self, Unpack, get_args

from aioifx.cdc.assembler import Assembler
from aioifx.cdc.position import Position
from aioifx.cdc.records import Capture, CommittedTransaction, Incomplete, Table
from aioifx.cdc.session import DATABASE, LOCALE, Captured, CdcSession
from aioifx.cdc.snapshot import Snapshot, prepared
from aioifx.cdc.tables import table_of
from aioifx.channel import running_loop
from aioifx.client.api.connection import Connection
from aioifx.client.config.checks import check_flag, check_seconds, check_whole
from aioifx.client.config.options import ConnectOptions, OptionFields
from aioifx.client.config.resolve import resolve_again
from aioifx.client.connect.connect import open_connection
from aioifx.client.observation.observation import current_operation
from aioifx.client.session.loop_binding import NotCopied
from aioifx.client.session.waiting import begin_task
from aioifx.codecs.cdc_records import MAX_RECORD, CdcRecord, Failure, RecordReader, Timeout
from aioifx.errors import ConnectError, ConnectionLost, InterfaceError
from aioifx.sqltypes import Column

logger: Final = logging.getLogger("aioifx.cdc")

_MAX_TIMEOUT: Final = 60
_PAUSE: Final = 1.0
"""Seconds before another session, if the one before has brought no transaction."""
_MAX_RECORDS: Final = 256
"""The most records of a read that other clients ask for (observed)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The arguments of `changes`, apart from the connection's options."""

    captures: tuple[Capture, ...]
    start: Position | None
    snapshot: bool
    chunk_size: int
    incomplete: Incomplete
    restart: bool
    timeout: int
    max_records: int
    max_transaction_changes: int
    max_record: int
    stall_timeout: float
    close_timeout: float
    stop_logging: bool
    cdc_locale: str


def changes(
    dsn: str | None = None,
    tables: Sequence[str | Capture] = (),
    *,
    start: Position | None = None,
    snapshot: bool = False,
    chunk_size: int = 5_000,
    incomplete: Incomplete = "error",
    restart: bool = False,
    timeout: int = 1,
    max_records: int = _MAX_RECORDS,
    max_transaction_changes: int = 10_000,
    max_record: int = MAX_RECORD,
    stall_timeout: float = 30.0,
    close_timeout: float = 10.0,
    stop_logging: bool = False,
    cdc_locale: str = LOCALE,
    **options: Unpack[OptionFields],
) -> Changes:
    """Committed changes of tables, by change data capture: ``async with aioifx.changes(...) as changes:``.

    Args:
        dsn: as for `connect`. Its database is that of tables without one.
        tables: names, ``database:owner.table``, or a `Capture` with columns.
        start: the position of the last transaction that was processed; None: now.
        snapshot: deliver the rows that are there first, as changes of the kind "read". Not with *start*.
        chunk_size: rows of a snapshot that are read, and locked, at once.
        incomplete: what becomes of a transaction that began before the logs of *start* that are read: a `CdcError`,
            "skip" or "deliver". Without *start* it is left out, except that a snapshot needs its changes.
        restart: continue at `Changes.position` on a new connection when the connection is lost, with as many attempts
            as *connect_retries* says. A snapshot that is not whole cannot be continued.
        timeout: seconds after which a read without data ends. A read may be held back for as long until *max_records*
            are there.
        max_records: the most records of a read; 1: the lowest latency.
        max_transaction_changes: changes of one transaction that are held in memory; the others go to a temporary file.
        max_record: the most bytes of one record.
        stall_timeout: seconds without any answer after which the connection is dropped.
        close_timeout: seconds for closing, after which the connections are dropped.
        stop_logging: turn off full-row logging of the tables at the end. Changes until it is turned on again cannot be
            captured.
        cdc_locale: DB_LOCALE of the connection to syscdcv1.
        options: as for `connect`.

    Raises:
        InterfaceError: an argument or option is invalid; raised by the call itself.
    """
    if isinstance(tables, (str, Capture)) or not tables:
        raise InterfaceError("tables: expected a sequence of one or more tables")
    captures = tuple(table if isinstance(table, Capture) else Capture(table) for table in tables)
    if start is not None and not isinstance(start, Position):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise InterfaceError(f"start: expected a Position or None, got {type(start).__name__}")
    check_flag("snapshot", snapshot)
    check_flag("restart", restart)
    check_flag("stop_logging", stop_logging)
    if incomplete not in get_args(Incomplete):
        raise InterfaceError(
            f"incomplete: expected one of {', '.join(get_args(Incomplete))}, got {incomplete!r:.40}"
        )
    if snapshot and start is not None:
        raise InterfaceError("snapshot: expected False with start, got True")
    check_whole("chunk_size", chunk_size, 1)
    check_whole("timeout", timeout, 1, _MAX_TIMEOUT)
    check_whole("max_records", max_records, 1, _MAX_RECORDS)
    check_whole("max_transaction_changes", max_transaction_changes, 0)
    check_whole("max_record", max_record, 1024, 2**31 - 1)
    check_seconds("stall_timeout", stall_timeout)
    check_seconds("close_timeout", close_timeout)
    if stall_timeout <= timeout:
        raise InterfaceError(f"stall_timeout: expected more than timeout, {timeout}, got {stall_timeout}")
    resolved = resolve_again(dsn, {**options, "row_factory": None})
    resolved.in_locale(cdc_locale)  # checks it
    names = [capture.parts(resolved.database) for capture in captures]
    if len(set(names)) < len(names):
        raise InterfaceError("tables: expected each table once")
    return Changes(
        resolved,
        Settings(
            captures=captures, start=start, snapshot=snapshot, chunk_size=chunk_size,
            incomplete="deliver" if snapshot else incomplete if start is not None else "skip",
            restart=restart, timeout=timeout, max_records=max_records,
            max_transaction_changes=max_transaction_changes, max_record=max_record, stall_timeout=stall_timeout,
            close_timeout=close_timeout, stop_logging=stop_logging, cdc_locale=cdc_locale,
        ),
    )  # fmt: skip


class Changes(NotCopied):
    """The committed transactions of `changes`, in commit order. Use it with ``async with``.

    Cancelling the wait for a transaction loses none.

    Raises:
        CdcError: when opened or iterated; the server refuses the capture, or reports an error.
        ConnectionLost: when iterated; the connection was lost, or the server does not answer. Continue at `position`.
        ConnectError: when opened, or with *restart* when iterated, and then the next request tries again.
        ProtocolError: when iterated; a record is not of the captured columns, as in logs that were used again.
    """

    def __init__(self, options: ConnectOptions, settings: Settings) -> None:
        self._options = options
        self._settings = settings
        self.lag: float | None = None
        """Seconds from the last commit to its delivery, by the clocks of both machines; 0 while nothing happens."""
        self._session: CdcSession | None = None
        self._assembler: Assembler | None = None
        self._reader = RecordReader(settings.max_record)
        self._ready: Iterator[CommittedTransaction] = iter(())
        self._columns: dict[str, tuple[Column, ...]] = {}
        self._sources = AsyncExitStack()
        self._tables: dict[int, Table] = {}
        self._origin: Position | None = None
        """Where a capture began that had no start, if it can be needed."""
        self._snapshot: Snapshot | None = None
        self._read_since = 0.0
        self._error_record: Failure | None = None
        self._reading: asyncio.Task[bytes] | None = None
        self._reopening: asyncio.Task[None] | None = None
        self._lost_at: Position | None = None
        """Where the capture continued after the last lost connection."""
        self._pause = 0.0
        self._failure: BaseException | None = None
        self._has_read = False  # since the session was opened
        self._is_iterating = False
        self._is_dead = False
        self._is_closed = False
        self._observation = options.observation()

    @property
    def position(self) -> Position | None:
        """After the last transaction that was delivered or had no changes of these tables; None: none yet."""
        return self._settings.start if self._assembler is None else self._assembler.position

    @property
    def columns(self) -> Mapping[str, tuple[Column, ...]]:
        """The captured columns by table, ``database:owner.table``; known when it is open."""
        return self._columns

    # -- opening ------------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Open the session and start to capture: later changes are seen."""
        running_loop()
        if self._session is not None or self._is_closed:
            raise InterfaceError("changes: expected to be opened once")
        try:
            await self._open()
        except BaseException:
            self._is_closed = True
            if self._session is not None:
                self._session.terminate()
            await self._sources.aclose()
            raise
        return self

    async def _open(self) -> None:
        settings = self._settings
        conns = await self._describe()
        read = [
            await prepared(conns[table.name.partition(":")[0]], table)
            for table in self._tables.values()
            if settings.snapshot
        ]
        await self._activate(settings.start)
        if settings.snapshot:
            assert self._origin is not None
            self._snapshot = Snapshot(read, settings.chunk_size, self._origin)
            self._sources.push_async_callback(self._snapshot.close)
        else:
            await self._sources.aclose()

    async def _activate(self, start: Position | None) -> None:
        """Open a session that captures the tables from *start* on; None: from now on."""
        settings = self._settings
        capturing = replace(
            self._options.in_locale(settings.cdc_locale), database=DATABASE, role="any",
            command_timeout=settings.stall_timeout, autocommit=True, isolation=None, read_only=False,
            strip_char=False, lock_diagnosis=False,
        )  # fmt: skip
        captured = [
            Captured(table.name, [column.name for column in table.layout.columns], label)
            for label, table in self._tables.items()
        ]
        session = await CdcSession.open(capturing, seconds=settings.timeout, max_records=settings.max_records)
        try:
            if start is None and (settings.snapshot or settings.restart):
                now = await session.present()
                self._origin = Position(now, now, now)
            first = start or self._origin
            await session.start(captured, 0 if first is None else first.restart)
            if self._is_closed:
                raise StopAsyncIteration
        except BaseException:
            session.terminate()
            raise
        self._session, self._has_read = session, False
        self._reader = RecordReader(settings.max_record)
        self._assembler = Assembler(
            self._tables,
            start,
            memory=settings.max_transaction_changes,
            incomplete=settings.incomplete,
        )

    @property
    def _continuation(self) -> Position | None:
        """Where another session continues."""
        return self.position or self._origin

    async def _describe(self) -> dict[str, Connection[Any]]:
        """Describe the tables over a connection to each database; returns these connections."""
        conns: dict[str, Connection[Any]] = {}
        for label, capture in enumerate(self._settings.captures, 1):
            place, _, _ = capture.parts(self._options.database)
            if place not in conns:
                conn = await open_connection(replace(self._options, database=place))
                conns[place] = await self._sources.enter_async_context(conn)
            self._tables[label] = await table_of(conns[place], capture, self._options.database)
        self._columns = {table.name: table.layout.columns for table in self._tables.values()}
        return conns

    # -- iteration ----------------------------------------------------------------------------------------------------

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> CommittedTransaction:
        if self._observation is None:
            return await self._next()
        operation = self._observation.start("changes")
        outer = current_operation.get()
        current_operation.set(operation)
        try:
            transaction = await self._next()
            operation.rows, operation.lag = len(transaction), self.lag
            if transaction.position is not None:
                operation.position = transaction.position.commit
        except BaseException as error:
            self._observation.end(operation, None if isinstance(error, StopAsyncIteration) else error)
            raise
        finally:
            current_operation.set(outer)
            self._observation.end(operation)
        return transaction

    async def _next(self) -> CommittedTransaction:
        if self._failure is not None:
            raise self._failure
        if self._is_closed:
            raise StopAsyncIteration
        if self._assembler is None:
            raise InterfaceError("changes: expected async with before async for")
        if self._is_iterating:
            raise InterfaceError("changes: expected one task that iterates, got two at once")
        self._is_iterating = True
        try:
            return await self._delivered_or_again(self._assembler)
        except (asyncio.CancelledError, StopAsyncIteration):
            raise
        except BaseException as error:
            if self._session is not None or not isinstance(error, (ConnectError, ConnectionLost)):
                self._failure = error
            raise
        finally:
            self._is_iterating = False

    async def _delivered_or_again(self, assembler: Assembler) -> CommittedTransaction:
        """The next transaction; with *restart*, over a lost connection as well."""
        while True:
            # An attempt that outlived a cancelled wait has to be taken first, even if it has a session by now.
            if (self._session is None or self._reopening is not None) and not self._is_closed:
                assembler = await self._reopened()
            try:
                return await self._delivered(assembler)
            except ConnectionLost as lost:
                if not self._settings.restart or self._snapshot is not None:
                    raise
                self._session = None
                assembler.close()
                if not self._has_read:  # it was lost again at once
                    raise
                self._pause = _PAUSE if self._continuation == self._lost_at else 0.0
                self._lost_at = self._continuation
                logger.warning("%s; the capture continues at %s", lost, self._continuation)

    async def _reopened(self) -> Assembler:
        """The assembler of another session. Cancelling this leaves the attempt in progress, for the next call.

        Raises:
            StopAsyncIteration: it was closed meanwhile.
        """
        if self._reopening is None:
            self._reopening = begin_task(self._activate_again())
        reopening = self._reopening
        await asyncio.wait([reopening])
        if self._is_closed:
            raise StopAsyncIteration
        self._reopening = None
        reopening.result()
        assert self._assembler is not None
        return self._assembler

    async def _activate_again(self) -> None:
        await asyncio.sleep(self._pause)
        await self._activate(self._continuation)

    async def _delivered(self, assembler: Assembler) -> CommittedTransaction:
        """The next transaction, or chunk of a snapshot.

        Raises:
            StopAsyncIteration: it was closed meanwhile.
        """
        while not self._is_closed:
            snapshot = self._snapshot
            if snapshot is not None and snapshot.output:
                return self._noted(snapshot.output.popleft())
            if snapshot is not None and snapshot.is_done:
                self._snapshot = None
                await self._sources.aclose()
            elif (transaction := next(self._ready, None)) is not None:
                if snapshot is None:
                    return self._noted(transaction)
                snapshot.take(transaction)
            elif self._error_record is not None:
                await self._raise_error_record()
            elif snapshot is not None and snapshot.wants_rows:
                await snapshot.read()
            elif snapshot is None or not snapshot.output:  # a TIMEOUT may have ended windows
                self._ready = assembler.feed(self._heard(self._reader.feed(await self._read())))
        raise StopAsyncIteration

    def _noted(self, transaction: CommittedTransaction) -> CommittedTransaction:
        if transaction.time is not None:
            self.lag = max(time.time() - transaction.time.timestamp(), 0.0)
        return transaction

    def _heard(self, records: Sequence[CdcRecord]) -> Iterator[CdcRecord]:
        """The records for the assembler, up to an ERROR."""
        for record in records:
            if isinstance(record, Failure):
                self._error_record = record
                return
            if isinstance(record, Timeout):
                self.lag = 0.0
                if self._snapshot is not None:
                    self._snapshot.on_silence(self._read_since)
                continue
            yield record

    async def _raise_error_record(self) -> None:
        """Raise the CdcError of an ERROR record. The session stays usable if the record says so, but not trusted."""
        failure, session = self._error_record, self._session
        assert failure is not None and session is not None
        self._is_dead = failure.is_final
        raise await session.error(failure.code, "the capture session ended" if failure.is_final else "read")

    async def _read(self) -> bytes:
        """The next bytes. Cancelling this leaves the read in progress.

        Raises:
            ConnectionLost: the server has not answered for *stall_timeout* seconds.
            ProtocolError: what was read after the last records is not one.
            StopAsyncIteration: it was closed meanwhile.
        """
        self._reader.check()
        if self._reading is None:
            assert self._session is not None
            self._read_since = asyncio.get_running_loop().time()
            self._reading = begin_task(self._session.read())
        reading = self._reading
        await asyncio.wait([reading])
        if self._is_closed:  # `aclose` has waited for the read, or ended it
            raise StopAsyncIteration
        self._reading = None
        found = reading.result()
        self._has_read = True
        return found

    # -- closing ------------------------------------------------------------------------------------------------------

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the capture and close the connections, within *close_timeout* seconds. Idempotent.

        A read in progress ends first, at the latest after *timeout* seconds.
        """
        self._is_closed = True
        if self._reopening is not None:
            self._reopening.cancel()
            await asyncio.wait([self._reopening])
        session, self._session = self._session, None
        if session is None:
            return
        try:
            async with asyncio.timeout(self._settings.close_timeout):
                if self._reading is not None:
                    await asyncio.wait([self._reading])
                await session.close(stop_logging=self._settings.stop_logging, is_dead=self._is_dead)
        except TimeoutError:
            logger.warning("the capture session did not close within %g s", self._settings.close_timeout)
        except ConnectionLost as error:
            logger.debug("closing the capture session: %s", error)
        finally:
            session.terminate()
            if self._assembler is not None:
                self._assembler.close()
            async with self._sources:  # closed also if the wait is cancelled
                if self._reading is not None:
                    await asyncio.wait([self._reading])
                    self._reading = None
