"""Groups of messages handled, and their replies: the handler of each message, errors. Never: a socket, an await.

Invariants:
1. All code here runs in the session's thread.
2. A group is handled only after all of it has been read; the reply to a group is one group.
3. The first error ends the reply and drops the rest of its group; later groups are handled.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Final

from aioifx.errors import ProtocolError
from aioifx.server.protocol import (
    cursor_handlers,
    fast_path,
    large_object_handlers,
    output_parameters,
    session_handlers,
    statement_handlers,
)
from aioifx.server.protocol.context import Handler, SessionContext
from aioifx.server.protocol.fault_points import INTERNAL, ConnectionDropped
from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.interrupts import INTERRUPTED
from aioifx.wire import replies
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.requests import Fetch, Request, ScrollFetch

logger: Final = logging.getLogger("aioifx.server")

_FETCHES: Final = (Fetch, ScrollFetch)

_OF_PUT: Final = (cursor_handlers.put, large_object_handlers.take_piece)
"""The handlers that do not end a run of SQ_PUT."""


class Conversation:
    """The requests and replies of one client after its login.

    Args:
        handlers: of each message; None: `HANDLERS`.
    """

    def __init__(self, context: SessionContext, handlers: Mapping[type, Handler] | None = None) -> None:
        self._context = context
        self._handlers = HANDLERS if handlers is None else handlers

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities that determine how the next group is read."""
        return self._context.capabilities

    @property
    def has_ended(self) -> bool:
        """Whether the client has sent SQ_EXIT."""
        return self._context.has_ended

    def interrupt(self) -> None:
        """Interrupt the running statement, or else the next one; safe to call from any thread."""
        self._context.engine.interrupt()

    def answer(
        self, groups: Sequence[Sequence[Request]], early: Callable[[bytes], None] | None = None
    ) -> bytes:
        """The replies to whole groups, in order.

        Args:
            early: called with the replies up to an interrupted statement, so that the client receives them in time to
                interrupt the next one.

        Raises:
            ProtocolError: a message is invalid.
            ConnectionDropped: a fault ends the connection.
        """
        with self._context.engine.batch() if len(groups) > 1 else nullcontext():
            return self._answer_all(groups, early)

    def _answer_all(
        self, groups: Sequence[Sequence[Request]], early: Callable[[bytes], None] | None
    ) -> bytes:
        for group in groups:
            if self._context.engine.is_abandoned:
                break  # a COMMIT must not commit half of the work after the client disconnected
            if self._answer(group) == INTERRUPTED[0] and early is not None:
                early(self._context.outbox.detach())
        return self._context.outbox.detach()

    def _answer(self, group: Sequence[Request]) -> int:
        """Handle one group; returns the SQLCODE of its error, or 0."""
        context, sqlcode = self._context, 0
        context.prepared = context.calling = None
        try:
            for message in group:
                if isinstance(message, _FETCHES):
                    context.engine.check_interrupt()  # there is no other check if the rows are buffered
                handler = self._handlers.get(type(message), statement_handlers.refuse)
                if context.inserting is not None and handler not in _OF_PUT:
                    cursor_handlers.flush(context)
                handler(context, message)
            cursor_handlers.flush(context)
            statement_handlers.finish(context)
        except SqlError as error:
            sqlcode = error.sqlcode
            context.write_error(error)
        except (ProtocolError, ConnectionDropped):
            raise
        except Exception:
            logger.exception("a statement failed inside the server")
            sqlcode = INTERNAL
            context.write_error(SqlError(INTERNAL))
        finally:
            if context.prepared is not None:
                context.charge(context.prepared)
                if context.prepared.is_command:
                    context.drop(context.prepared)
            context.round_trips = 0
        if not context.has_ended:
            replies.put_eot(context.outbox)
        return sqlcode


HANDLERS: Final[dict[type, Handler]] = {
    **session_handlers.HANDLERS,
    **statement_handlers.HANDLERS,
    **cursor_handlers.HANDLERS,
    **large_object_handlers.HANDLERS,
    **fast_path.HANDLERS,
    **output_parameters.HANDLERS,
}
"""The handler of each message."""
