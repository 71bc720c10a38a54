"""Groups of messages in, groups of messages out: who acts on what, and what an error ends. Never: a socket, an await.

House rules:
1. It runs in the session's thread.
2. Nothing happens before a group has been read to its end; one group is answered by one.
3. The first error ends the answer and drops the rest of its group, nothing more.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from aioifx.errors import ProtocolError
from aioifx.server import cursor_acts, session_acts, statement_acts
from aioifx.server.desk import Act, Desk
from aioifx.server.sql.fault import SqlFault
from aioifx.wire import replies
from aioifx.wire.dialect import Dialect
from aioifx.wire.requests import Request

logger: Final = logging.getLogger("aioifx.server")

_INTERNAL: Final = -768


class Conversation:
    """One client's requests and their answers, behind its login."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    @property
    def dialect(self) -> Dialect:
        """How the next group is to be read."""
        return self._desk.dialect

    @property
    def ended(self) -> bool:
        """Whether the client said goodbye."""
        return self._desk.ended

    def answer(self, groups: Sequence[Sequence[Request]]) -> bytes:
        """The answers to whole groups, in order.

        Raises:   ProtocolError: a message makes no sense.
        """
        for group in groups:
            self._answer(group)
        return self._desk.outbox.take()

    def _answer(self, group: Sequence[Request]) -> None:
        desk = self._desk
        desk.slot = None
        try:
            for message in group:
                ACTS.get(type(message), statement_acts.refuse)(desk, message)
            cursor_acts.flush(desk)
            statement_acts.finish(desk)
        except SqlFault as fault:
            desk.put_fault(fault)
        except ProtocolError:
            raise
        except Exception:
            logger.exception("a statement failed inside the server")
            desk.put_fault(SqlFault(_INTERNAL))
        finally:
            if desk.slot is not None and desk.slot.is_command:
                desk.drop(desk.slot)
        if not desk.ended:
            replies.put_eot(desk.outbox)


ACTS: Final[dict[type, Act]] = {
    **session_acts.ACTS,
    **statement_acts.ACTS,
    **cursor_acts.ACTS,
}
"""What each message does."""
