"""The sessions of a server, and the database of each. Never: what a session does."""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from aioifx.server.engine.push_sessions import PushSessions
from aioifx.server.engine.streams import StreamNumbers

if TYPE_CHECKING:
    from aioifx.server.engine.cdc_session import CdcSession


@dataclass(slots=True, eq=False)
class SessionEntry:
    """One session, as sysmaster:syssessions shows it."""

    session_id: int
    user: str
    host: str = ""
    process_id: int = 0
    connected: datetime = field(default_factory=datetime.now)
    database: str = ""
    program: str = ""


class SessionRegistry:
    """The sessions of one server; thread-safe.

    Args:
        server_name: the DBSERVERNAME.
        accepts_any_name: whether clients may call the server by another name.
        quirks: differences of other servers that statements depend on.
    """

    def __init__(
        self,
        server_name: str = "aioifx",
        *,
        accepts_any_name: bool = True,
        quirks: Collection[str] = frozenset(),
    ) -> None:
        self.server_name = server_name
        self.accepts_any_name = accepts_any_name
        self.quirks = quirks
        self._lock = threading.Lock()
        self._entries: dict[int, SessionEntry] = {}
        self._last_id = 0
        self.stream_numbers = StreamNumbers()
        """Those of all sessions."""
        self.cdc_sessions: dict[int, CdcSession] = {}
        """The capture sessions, by number."""
        self.push_sessions = PushSessions()
        """The sessions of push data."""

    def register(self, user: str, host: str = "", process_id: int = 0, program: str = "") -> SessionEntry:
        """Register a session; its id has not been used before."""
        with self._lock:
            self._last_id += 1
            entry = SessionEntry(self._last_id, user, host, process_id, program=program)
            self._entries[entry.session_id] = entry
            return entry

    def unregister(self, entry: SessionEntry) -> None:
        """Remove a session that has ended."""
        with self._lock:
            self._entries.pop(entry.session_id, None)

    def __len__(self) -> int:
        """The number of sessions."""
        return len(self._entries)

    def entries(self) -> list[SessionEntry]:
        """All sessions, oldest first."""
        with self._lock:
            return list(self._entries.values())
