"""Groups of messages in, groups of messages out: who acts on what, and what an error ends. Never: a socket, an await.

House rules:
1. It runs in the session's thread.
2. Nothing happens before a group has been read to its end; one group is answered by one.
3. The first error ends the answer and drops the rest of its group, nothing more.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from aioifx.errors import ProtocolError
from aioifx.server.protocol import cursor_handlers, session_handlers, statement_handlers
from aioifx.server.protocol.context import Handler, SessionContext
from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.interrupts import INTERRUPTED
from aioifx.wire import replies
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.requests import Fetch, Request, ScrollFetch

logger: Final = logging.getLogger("aioifx.server")

_INTERNAL: Final = -768

_FETCHES: Final = (Fetch, ScrollFetch)


class Conversation:
    """One client's requests and their answers, behind its login."""

    def __init__(self, desk: SessionContext) -> None:
        self._desk = desk

    @property
    def capabilities(self) -> Capabilities:
        """How the next group is to be read."""
        return self._desk.capabilities

    @property
    def ended(self) -> bool:
        """Whether the client said goodbye."""
        return self._desk.ended

    def answer(
        self, groups: Sequence[Sequence[Request]], early: Callable[[bytes], None] | None = None
    ) -> bytes:
        """The answers to whole groups, in order.

        Args:     early: gets the answers up to a statement that was interrupted: its client may want to interrupt the
                  next one, too, when it sees them.
        Raises:   ProtocolError: a message makes no sense.
        """
        for group in groups:
            if self._desk.engine.abandoned:
                break  # a COMMIT must not keep the half that was done before the client went away
            if self._answer(group) == INTERRUPTED[0] and early is not None:
                early(self._desk.outbox.take())
        return self._desk.outbox.take()

    def _answer(self, group: Sequence[Request]) -> int:
        """Answer one group; the SQLCODE of what went wrong, or 0."""
        desk, sqlcode = self._desk, 0
        desk.slot = None
        try:
            for message in group:
                if isinstance(message, _FETCHES):
                    desk.engine.check_interrupt()  # the rows may lie ready, and nothing else would look
                act = HANDLERS.get(type(message), statement_handlers.refuse)
                if desk.putting is not None and act is not cursor_handlers.put:
                    cursor_handlers.flush(desk)
                act(desk, message)
            cursor_handlers.flush(desk)
            statement_handlers.finish(desk)
        except SqlError as fault:
            sqlcode = fault.sqlcode
            desk.put_fault(fault)
        except ProtocolError:
            raise
        except Exception:
            logger.exception("a statement failed inside the server")
            sqlcode = _INTERNAL
            desk.put_fault(SqlError(_INTERNAL))
        finally:
            if desk.slot is not None and desk.slot.is_command:
                desk.drop(desk.slot)
        if not desk.ended:
            replies.put_eot(desk.outbox)
        return sqlcode


HANDLERS: Final[dict[type, Handler]] = {
    **session_handlers.HANDLERS,
    **statement_handlers.HANDLERS,
    **cursor_handlers.HANDLERS,
}
"""What each message does."""
