"""What replies have shown of a server, shared by the process's connections to it. Never: a request, a reply.

Servers differ in ways that no message announces. A fact is None until a reply has shown it. Until then the client does
what is right with any server, or what it can take back. A fact that was refuted once stays so.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

logger: Final = logging.getLogger("aioifx.session")

Fact: TypeAlias = Literal[
    "done_ends_rows", "keeps_closed_values", "ret_type_with_open", "takes_put", "answers_after_error"
]

_COSTS: Final[Mapping[Fact, str]] = {
    "done_ends_rows": "the end of a query's rows takes one more round trip unless the server closes the cursor",
    "keeps_closed_values": "new connections send OPTOFC=0",
    "ret_type_with_open": "the first execution of some queries takes one more round trip",
    "takes_put": "load() uses executemany",
    "answers_after_error": "executemany cannot go on after a row that fails",
}
"""What follows when a fact is refuted."""


@dataclass(slots=True, eq=False)
class ServerBehavior:
    """What is known of one server. None: not shown yet.

    Attributes:
        host, port, version: the server, and its version text as sent at login.
        done_ends_rows:      an SQ_DONE with a row count comes only with the last rows. Otherwise rows end with an empty
                             reply or SQ_CLOSE.
        keeps_closed_values: BYTE and TEXT values can be requested after the server has closed the cursor (OPTOFC).
        ret_type_with_open:  the request that opens a cursor without parameters may have RET_TYPE.
        takes_put:           an insert cursor accepts rows.
        answers_after_error: after a row of an executemany that fails, the rows in flight get their replies. It is never
                             False: a slow row looks like one without a reply.
    """

    host: str = ""
    port: int = 0
    version: str = ""
    done_ends_rows: bool | None = None
    keeps_closed_values: bool | None = None
    ret_type_with_open: bool | None = None
    takes_put: bool | None = None
    answers_after_error: bool | None = None

    def learn(self, fact: Fact, holds: bool) -> None:
        """Remember what a reply has shown."""
        with _lock:  # another thread may refute it between the look and the change
            known: bool | None = getattr(self, fact)
            if known is False or known is holds:
                return
            setattr(self, fact, holds)
        if holds:
            logger.debug("%s:%d: %s", self.host, self.port, fact)
        else:
            logger.warning("%s:%d: not %s; %s", self.host, self.port, fact, _COSTS[fact])

    @property
    def facts(self) -> dict[Fact, bool | None]:
        """Each fact by its name."""
        return {fact: getattr(self, fact) for fact in _COSTS}


_lock: Final = threading.Lock()
_MAX_KNOWN: Final = 1000
_known: Final[dict[tuple[str, int, str], ServerBehavior]] = {}


def behavior_of(host: str, port: int, version: str) -> ServerBehavior:
    """What is known of the server at an address. One that was upgraded is another server."""
    key = host, port, version
    known = _known.get(key)
    if known is None:
        if len(_known) >= _MAX_KNOWN:
            _known.clear()
        known = _known.setdefault(key, ServerBehavior(*key))
    return known


def forget_servers() -> None:
    """Forget what is known of all servers; for tests, whose servers share addresses."""
    _known.clear()
