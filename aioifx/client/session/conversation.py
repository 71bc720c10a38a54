"""Requests and replies of one session, and the deferred cleanup after them. Never: the caller's use of a reply.

Invariants:
1. The caller holds the lock; locking, cancellation and deferred cleanup belong to the dispatcher. `MeteredDispatcher`
   only counts.
2. Every reply is processed when it arrives, whether or not a task waits for it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

from aioifx._speedups.round_trip import InFlight, Waiter
from aioifx.channel import Channel
from aioifx.client.config.options import ConnectOptions
from aioifx.client.observation.observation import current_operation, queueing
from aioifx.client.observation.operation import Stats
from aioifx.client.session.cleanup import Cleanup, probe, put_close, put_release
from aioifx.client.session.dispatcher import Dispatcher
from aioifx.client.session.failures import session_ended
from aioifx.client.session.interrupts import INTERRUPTED
from aioifx.codecs.native import make_fast_reader
from aioifx.errors import DatabaseError, ProtocolError
from aioifx.wire import requests, session_requests
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.completion import ServerError
from aioifx.wire.files import FileRequest
from aioifx.wire.inbox import Reader
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import MAX_REPLY, Continuation, Reply, ReplyReader
from aioifx.wire.tuples import RowReader

if TYPE_CHECKING:
    from aioifx.client.session.client_files import FileServer


class MeteredDispatcher(Dispatcher):
    """The dispatcher of an observed connection."""

    async def acquire(
        self, timeout: float | None = None, *, idle: bool = False, waiter: Waiter | None = None
    ) -> None:
        with queueing(waiter):
            await super().acquire(timeout, idle=idle, waiter=waiter)

    def _send_cleanup(self, cleanup: Cleanup) -> bool:
        """Cleanup belongs to no operation, whatever task it is sent from."""
        outer = current_operation.get()
        current_operation.set(None)
        try:
            return super()._send_cleanup(cleanup)
        finally:
            current_operation.set(outer)


def _exit_request() -> bytes:
    outbox = Outbox()
    session_requests.put_exit(outbox)
    return outbox.detach()


_EXIT: Final = _exit_request()
_UNASKED: Final = "without a cancel of this call; an earlier interrupt may have arrived late"
"""Text of a -213 that no call asked for."""


class Conversation:
    """Requests and replies of a session. Bound to one event loop.

    Args:
        on_error: called with each error in a reply, whether or not a task waits for it.
        is_observed: the requests of operations are counted.
    """

    def __init__(
        self,
        channel: Channel,
        capabilities: Capabilities,
        options: ConnectOptions,
        on_error: Callable[[ServerError, Reply], None],
        *,
        is_observed: bool = False,
    ) -> None:
        self.channel = channel
        self.address: tuple[str, int] = "", 0
        """Host and port of the server, for observers."""
        self.capabilities = capabilities
        self.allows_files = options.client_files is not None
        """Whether the server may read and write files of the client."""
        self._usual_reader = _shared_reader(capabilities, self.allows_files)
        self.stats = Stats()
        make_dispatcher = MeteredDispatcher if is_observed else Dispatcher
        self.dispatcher = make_dispatcher(
            channel,
            self.stats,
            self._usual_reader,
            self.on_reply,
            self._probe,
            options,
        )
        self._on_error = on_error
        self._code_set = options.code_set
        self._client_files = options.client_files
        self._files: FileServer | None = None  # made for the first request
        self._cursors = 0

    def reader(
        self,
        read_rows: RowReader | None = None,
        limit: int = MAX_REPLY,
        continuation: Continuation | None = None,
    ) -> ReplyReader:
        """A reader for replies with rows, or with another limit; reusable."""
        return ReplyReader(
            self.capabilities,
            read_rows,
            limit,
            make_fast_reader(self.capabilities, read_rows, limit, continuation),
            self.allows_files,
        )

    @asynccontextmanager
    async def locked(self, *, idle: bool = False) -> AsyncGenerator[None, None]:
        """Hold the lock only. ``async with session`` also applies pending settings of isolation and lock mode.

        Args:
            idle: wait until no reply is outstanding, with `pipelining` as well.
        """
        await self.dispatcher.acquire(idle=idle)
        try:
            yield
        finally:
            self.dispatcher.release()

    # -- requests and replies -----------------------------------------------------------------------------------------

    async def exchange(
        self,
        outbox: Outbox,
        reader: Reader[Reply] | None = None,
        *,
        on_success: Callable[[Reply], None] | None = None,
        on_orphan: Callable[[Reply], None] | None = None,
        interruptible: bool = False,
        on_lost: Callable[[DatabaseError], None] | None = None,
    ) -> Reply:
        """Send one group and wait for its reply. An error in the reply is not raised.

        Args:
            reader: for a reply with rows, see `reader`; or for a large value.
            on_success: called with a reply without an error, even after the wait was cancelled.
            on_orphan: called with the reply if the wait was cancelled.
            interruptible: the group runs a statement, which can be interrupted.
            on_lost: called with the error if the group was sent but its reply is lost.

        Raises:
            ConnectionLost, ProtocolError: the session has ended.
        """
        requests.put_eot(outbox)
        in_flight = self.send(
            outbox.data,
            reader,
            on_success=on_success,
            on_orphan=on_orphan,
            interruptible=interruptible,
            on_lost=on_lost,
        )
        reply: Reply = await self.dispatcher.reply(in_flight)
        return reply

    def send(
        self,
        group: bytes | bytearray,
        reader: Reader[Reply] | None = None,
        *,
        on_success: Callable[[Reply], None] | None = None,
        on_orphan: Callable[[Reply], None] | None = None,
        interruptible: bool = False,
        on_lost: Callable[[DatabaseError], None] | None = None,
    ) -> InFlight:
        """The first half of `exchange`: send a whole group, SQ_EOT included, without waiting."""
        on_reply = self.on_reply if on_success is None else partial(self._on_success, on_success)
        return self.dispatcher.send(
            group,
            reader or self._usual_reader,
            on_reply=on_reply,
            interruptible=interruptible,
            on_orphan=on_orphan,
            on_lost=on_lost,
        )

    def _on_success(self, on_success: Callable[[Reply], None], reply: Reply) -> bool:
        if self.on_reply(reply):
            return True
        if reply.error is None and reply.file_failure is None:
            on_success(reply)
        return False

    def on_reply(self, reply: Reply) -> bool:
        """Update the session's state from a reply, whether or not a task waits for it.

        Returns:
            Whether more of the reply follows.
        """
        if reply.is_plain and self._files is None:
            self.stats.rows += len(reply.rows)
            return False
        if reply.file_request is not None:
            self._on_file_request(reply, reply.file_request)
            return True
        if self._files is not None:
            self._files.finish(reply)
        self.stats.rows += len(reply.rows)
        if reply.is_session_ended:
            raise session_ended()
        if reply.error is not None:
            if reply.error.sqlcode == INTERRUPTED and not self.dispatcher.interrupter.on_acknowledged():
                reply.error = reply.error._replace(text=_UNASKED)
            self._on_error(reply.error, reply)
        return False

    def _on_file_request(self, reply: Reply, request: FileRequest) -> None:
        """Called with a reply up to SQ_FILE.

        Raises:
            ProtocolError: the next request has been sent, and the server would take it for the answer.
        """
        pending = self.channel.pending_replies
        if len(pending) > 1:
            raise ProtocolError("the server asks for a client's file while other requests are in flight")
        if self._files is None:
            from aioifx.client.session.client_files import FileServer  # rarely needed

            self._files = FileServer(self.channel, self._code_set, self._client_files)
            self.dispatcher.counts_plain = False
            self.dispatcher.on_drop = self._files.on_channel_closed
        self._files.on_request(
            reply,
            request,
            limit=getattr(pending[0].reader, "limit", MAX_REPLY),
            is_abandoned=pending[0].is_abandoned or pending[0].future.cancelled(),
        )

    # -- statements ---------------------------------------------------------------------------------------------------

    def cursor_name(self) -> bytes:
        """A cursor name that is unique in this session; formed like JDBC's (observed: select.json)."""
        self._cursors += 1
        return b"_ifxc%013d" % self._cursors

    def release_later(self, statement_id: int, *, cursor: bool, release: bool) -> None:
        """Release a statement, its cursor, or both: CLOSE, then RELEASE, in two groups as in JDBC (select.json).

        An error in a reply is ignored, because the object no longer exists in that case, either. Assumed: the next
        request may follow in the same write, as observed for executions of one statement.
        """
        if cursor:
            self.dispatcher.defer(Cleanup(partial(put_close, statement_id)))
        if release:
            self.dispatcher.defer(Cleanup(partial(put_release, statement_id)))

    def _probe(self) -> Cleanup:
        return probe(self.capabilities, self.cursor_name, self.dispatcher.defer_first)

    # -- ping, exit ---------------------------------------------------------------------------------------------------

    async def ping(self) -> None:
        """One round trip that runs no statement. Any reply will do.

        Source: observed: JDBC's isValid, session.json. Assumed: servers answer with one group.
        """
        outbox = Outbox()
        session_requests.put_version(outbox)
        await self.exchange(outbox)

    async def exit(self) -> None:
        """SQ_EXIT, then close. The server rolls back an open transaction.

        After an interrupt, SQ_EXIT waits for the statement's reply, as any request does. A server that reads the stream
        past the urgent byte drops the byte (documented: Linux, tcp(7); observed: the embedded server).

        Wire: 2 opcode, no SQ_EOT; the reply is SQ_EXIT, then the server closes (observed: JDBC, login.json)
        """
        dispatcher = self.dispatcher
        if dispatcher.is_open and dispatcher.interrupter.is_pending and self.channel.pending_replies:
            dispatcher.defer_first(Cleanup(requests.put_eot, still_needed=self._begin_exit))
        else:
            self._begin_exit()
        await self.channel.wait_closed()

    def _begin_exit(self) -> bool:
        """Send SQ_EXIT if that has not happened. False, so that nothing else is sent as cleanup."""
        if self.dispatcher.is_open:
            self.dispatcher.send(_EXIT, self._usual_reader)
            self.stats.round_trips += 1
            self.dispatcher.begin_close()
        self.channel.close_when_answered()
        return False


@lru_cache(maxsize=64)
def _shared_reader(capabilities: Capabilities, keeps_files: bool) -> ReplyReader:
    """The reader of replies without rows. It has no state, so all sessions share it."""
    try_read = make_fast_reader(capabilities, None, MAX_REPLY)
    return ReplyReader(capabilities, None, MAX_REPLY, try_read, keeps_files)
