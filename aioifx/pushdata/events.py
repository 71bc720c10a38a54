"""Events of push data as an asynchronous iterator, over lost connections as well. Never: SQL, bytes."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Self, TypeAlias, Unpack, cast

from aioifx.client.config.options import ConnectOptions, OptionFields
from aioifx.client.config.resolve import resolve_again
from aioifx.client.session.loop_binding import NotCopied
from aioifx.client.session.waiting import begin_task
from aioifx.errors import ConnectionLost, InterfaceError, ProtocolError, PushDataError, visible
from aioifx.pushdata.documents import Document, read_documents
from aioifx.pushdata.session import BUFFER, DATABASE, PushSession
from aioifx.pushdata.watch import Watch, names_of, registration

logger: Final = logging.getLogger("aioifx.events")

OnSkip: TypeAlias = Literal["report", "raise"]

_LOCK_WAIT: Final = 30
"""Seconds to wait for locks, unless an option says otherwise (observed: JDBC's SET LOCK MODE for push data)."""

_RECENT: Final = 10_000
"""Events remembered of a detachable session, to recognize those that come again after a lost connection."""

_PAUSES: Final = (0.02, 0.1, 0.5, 1.0, 2.0, 5.0)
"""Seconds before each further attempt to join a session whose connection was lost."""

_IDENTITY: Final = ("txnid", "op_num", "database", "owner", "table", "label", "rowdata")
"""What two events of a detachable session have in common only if they are one."""

_NO_START: Final = {"txnid": None, "commit_time": None}
"""Attributes of a session that is joined again after a lost connection: it goes on, and does not begin again."""

_LARGEST: Final = 2**31 - 1
"""Bytes of one read at most (documented: 2 GB)."""

_TIMEOUT: Final = "ifx_isTimeout"
_SKIPPED: Final = "ifx_warn_total_skipcount"
_ERROR: Final = "ifx_error"


@dataclass(frozen=True, slots=True)
class _Settings:
    watches: tuple[Watch, ...]
    detach: bool
    attributes: dict[str, object]
    buffer_size: int
    stall: float
    """Seconds without an answer after which the connection is given up."""
    parse_float: Callable[[str], Any]
    on_skip: OnSkip


def events(
    dsn: str | None = None,
    watches: Sequence[Watch] = (),
    *,
    session_id: str | None = None,
    detach: bool = False,
    timeout: int = 5,
    max_records: int = 1,
    max_pending: int = 0,
    txnid: int | None = None,
    commit_time: int | None = None,
    buffer_size: int = BUFFER,
    parse_float: Callable[[str], Any] = float,
    on_skip: OnSkip = "report",
    **options: Unpack[OptionFields],
) -> Events:
    """Committed changes of the rows of queries, as the server pushes them: ``async for event in events(...)``.

    Nothing is sent until the first event is requested, or ``async with`` is entered.

    Args:
        dsn: as for `connect`; its database is not used, because push data belongs to the database sysadmin.
        watches: the queries, one or more.
        session_id: joins the detached session of this id, with its queries, instead of *watches*.
        detach: the session stays at the server after the connection, which is opened again if it is lost. Queries of
            one table need different labels then.
        timeout: whole seconds that one read waits for an event; then another follows, which you do not notice.
        max_records: events of one read at most. With more than 1, a server may hold events back for *timeout*.
        max_pending: events that the server keeps for this session before it discards some; 0: the server's default.
        txnid: begin after the transaction with this *txnid* of an event; None: with those from now on.
        commit_time: begin after transactions that were committed at this time, in seconds since 1970.
        buffer_size: bytes of one read at most; a larger event is an error of the server.
        parse_float: makes the values of numbers with a fraction, such as `decimal.Decimal`.
        on_skip: events that the server has discarded are reported by `Events.skipped` and the logger
            ``aioifx.events``, or with "raise" by an error.
        options: as for `connect`.

    Raises:
        InterfaceError: an option is invalid or missing; raised by the call itself.
    """
    _check_watches(watches, session_id, detach)
    if type(buffer_size) is int and buffer_size > _LARGEST:
        raise InterfaceError(f"buffer_size: expected at most {_LARGEST}, got {buffer_size!r:.40}")
    for name, value, least in (
        ("timeout", timeout, 1),
        ("max_records", max_records, 1),
        ("max_pending", max_pending, 0),
        ("buffer_size", buffer_size, 1024),
        ("txnid", 0 if txnid is None else txnid, 0),
        ("commit_time", 0 if commit_time is None else commit_time, 0),
    ):
        if type(value) is not int or not least <= value < 2**63:
            raise InterfaceError(f"{name}: expected a whole number, at least {least}, got {value!r:.40}")
    if on_skip not in ("report", "raise"):
        raise InterfaceError(f'on_skip: expected "report" or "raise", got {on_skip!r:.40}')
    resolved = resolve_again(dsn, {**options, "database": DATABASE, "row_factory": None})
    lock_wait = _LOCK_WAIT if resolved.lock_wait is None else resolved.lock_wait
    resolved = replace(resolved, autocommit=True, isolation=None, read_only=False, lock_wait=lock_wait)
    attributes: dict[str, object] = {
        "timeout": timeout,
        "max_pending_ops": max_pending,
        "maxrecs": max_records,
        "txnid": txnid,
        "commit_time": commit_time,
    }
    settings = _Settings(
        tuple(watches), detach, attributes, buffer_size, 3 * timeout + 10, parse_float, on_skip
    )
    return Events(resolved, settings, session_id)


def _check_watches(watches: object, session_id: str | None, detach: bool) -> None:
    if session_id is not None:
        if not re.fullmatch("[0-9]{1,9}", str(session_id)):
            raise InterfaceError(f"session_id: expected digits, got {session_id!r:.40}")
        if watches:
            raise InterfaceError("watches: expected none with session_id, whose session has its own")
        return
    given = cast("Sequence[object]", watches) if isinstance(watches, Sequence) else ()
    known = [watch for watch in given if isinstance(watch, Watch)]
    if not known or len(known) < len(given):
        raise InterfaceError("watches: expected a sequence of one or more Watch, or a session_id")
    if detach and len({(names_of(watch), watch.label) for watch in known}) < len(known):
        raise InterfaceError("watches: expected different labels for queries of one table with detach")


class Events(NotCopied):
    """The events of `events`: dicts of the server's JSON. Use ``async with``, or close it with `aclose`.

    An event has "operation" ("insert", "update", "delete"), "table", "owner", "database", "txnid", "commit_time",
    "op_num", "rowdata", for an update also "before_rowdata", and the "label" of its `Watch`.

    Cancelling the wait for an event loses none: the read goes on, and the next request gets its result.

    Raises:
        PushDataError: when iterated, the server reports an error, or refuses the session or a query.
        ConnectionLost: when iterated, the connection was lost, and the session is not detachable or cannot be joined.
        ConnectError: when iterated, it could not be opened, or not opened again. The next request tries again.
    """

    def __init__(self, options: ConnectOptions, settings: _Settings, session_id: str | None) -> None:
        self._options = options
        self._settings = settings
        self.session_id = session_id
        """Of a detachable session, once it is open: joins it later; None for others."""
        self.skipped = 0
        """Events that the server has discarded since the session was opened, because too many were pending."""
        self._is_detachable = settings.detach or session_id is not None
        self._session: PushSession | None = None
        self._opening = asyncio.Lock()
        self._has_read = False  # since the session was opened or joined
        self._has_lost = False  # a connection
        self._is_repeating = False  # events may come again, which were delivered before a connection was lost
        self._recent: dict[int, None] = {}
        self._pending: deque[Document] = deque()
        self._reading: asyncio.Task[None] | None = None
        self._is_closed = False

    # -- iteration ----------------------------------------------------------------------------------------------------

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Document:
        while True:
            while self._pending:
                event = self._pending.popleft()
                if self._is_event(event):
                    return event
            if self._is_closed:
                raise StopAsyncIteration
            if self._reading is None:
                self._reading = begin_task(self._read())
            reading = self._reading
            await asyncio.wait([reading])  # its cancellation leaves the read alone
            if self._reading is reading:
                self._reading = None
            if not reading.cancelled():
                reading.result()

    def _is_event(self, document: Document) -> bool:
        """Whether the document is an event that was not delivered before.

        Raises:
            PushDataError: it is an error, or tells of discarded events.
        """
        if _ERROR in document:
            self._end()
            raise PushDataError(visible(str(document[_ERROR]).strip()))
        if _SKIPPED in document:
            self._on_skipped(document[_SKIPPED])
            return False
        return _TIMEOUT not in document and not (self._is_detachable and self._is_repeated(document))

    def _on_skipped(self, count: object) -> None:
        """Report the total of discarded events (documented: cumulative).

        Raises:
            PushDataError: with ``on_skip="raise"``.
            ProtocolError: it is not a number.
        """
        try:
            self.skipped = int(str(count))
        except ValueError:
            raise ProtocolError(f"{_SKIPPED}: expected a number, got {count!r:.40}") from None
        report = f"the server has discarded {self.skipped} events, because too many were pending"
        if self._settings.on_skip == "raise":
            raise PushDataError(report)
        logger.warning("%s", report)

    def _is_repeated(self, event: Document) -> bool:
        """Whether a detachable session has delivered the event before (documented: duplicates after a restart)."""
        if "txnid" not in event or "op_num" not in event:  # it cannot be told from others
            return False
        key = hash(tuple([str(event.get(name)) for name in _IDENTITY]))
        if key in self._recent:
            if self._is_repeating:
                return True
        else:
            self._recent[key] = None
            if len(self._recent) > _RECENT:
                del self._recent[next(iter(self._recent))]
        return False

    async def _read(self) -> None:
        """Add the documents of one read; a detachable session is joined again once if its connection is lost."""
        settings = self._settings
        while True:
            session = await self._opened()
            try:
                text = await session.read(settings.buffer_size, settings.stall)
            except ConnectionLost as lost:
                has_read = self._has_read
                self._drop()
                if not has_read or self._is_closed:
                    raise
                logger.warning("%s; joining the session %s again", lost, self.session_id)
                continue
            except BaseException:
                self._drop()
                raise
            self._has_read = True
            try:
                self._pending += read_documents(text, settings.parse_float)
            except BaseException:
                self._end()
                raise
            return

    # -- the session --------------------------------------------------------------------------------------------------

    async def _opened(self) -> PushSession:
        async with self._opening:
            if self._session is None:
                self._session = await self._open()
            return self._session

    async def _open(self) -> PushSession:
        """Open the session and register its queries, or join it, in the order of JDBC (observed)."""
        if self._is_closed:
            raise InterfaceError("the events are closed")
        settings = self._settings
        pauses = _PAUSES if self._has_lost else ()
        session_id, is_new = self.session_id, self.session_id is None
        session = await PushSession.open(self._options, session_id, pauses)
        try:
            registrations = [settings.attributes | (_NO_START if self._has_lost else {})]
            if is_new:
                session_id = await session.detachable() if settings.detach else None
                registrations += [registration(watch) for watch in settings.watches]
            else:
                self._is_repeating = self._has_lost
            await session.register(registrations)
            if self._is_closed:
                raise InterfaceError("the events are closed")
        except BaseException:
            await session.abandon(is_detached=is_new and settings.detach, session_id=session_id)
            raise
        self.session_id = session_id
        self._has_read = False
        return session

    def _drop(self) -> None:
        """Drop the connection. A session that is not detachable has ended with it."""
        session, self._session = self._session, None
        if session is not None:
            session.terminate()
            self._has_lost = True
        self._is_closed = self._is_closed or not self._is_detachable

    def _end(self) -> None:
        """Drop the connection after an error that another connection would meet as well."""
        self._is_closed = True
        self._drop()

    # -- closing ------------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Open the session, so that changes from now on are seen."""
        await self._opened()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connection. A detachable session stays at the server, where `session_id` joins it. Idempotent.

        A read that is in progress is abandoned, and the event that would have ended it is lost.
        """
        self._is_closed = True
        self._pending.clear()
        reading, self._reading = self._reading, None
        if reading is not None:
            self._drop()
            reading.cancel()
            await asyncio.wait([reading])
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def delete(self) -> None:
        """Delete a detachable session at the server, and close the connection.

        A read that is in progress ends first, which takes up to *timeout* seconds. A session whose iteration has ended
        by an error is joined again for it.

        Raises:
            InterfaceError: the session is not detachable.
            PushDataError: the server does not have it.
        """
        if not self._is_detachable:
            raise InterfaceError(
                "delete: expected a detachable session, got one that ends with its connection"
            )
        if self._reading is not None:
            await asyncio.wait([self._reading])
        self._is_closed = False
        try:
            await (await self._opened()).delete()
        except ConnectionLost:  # it may have been lost long before, unnoticed
            self._drop()
            await (await self._opened()).delete()
        finally:
            await self.aclose()
