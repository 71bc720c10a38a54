"""The commands ``pushdata`` and ``grant admin`` of sysadmin's functions ``task`` and ``admin``. Never: a document.

Source: documented: Enterprise Replication manual, "Push data", "Push data session survival". observed: JDBC 15 takes
"OK" alone for a registration that succeeded, and a positive number for a descriptor. assumed: the texts of errors;
sessions end with the server (documented for 12.10; later ones keep them); every user may register.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, cast

from aioifx.server.engine.cdc_routines import latched
from aioifx.server.engine.push_queries import PushQueries, PushQuery
from aioifx.server.engine.push_sessions import PushSession, Refused, Registration, reason
from aioifx.server.engine.session_state import SessionState
from aioifx.server.engine.streams import Wait
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.spl import SystemRoutine
from aioifx.server.sql.runtime.json_text import read_json

_OK: Final = "OK"
_FAILED: Final = "-1"
_DIGITS: Final = 19
"""Those of the largest number of eight bytes."""
_NEVER: Final = 1 << 31
"""Seconds of a timeout that is as good as none."""


class PushStream:
    """The session of push data that one session reads.

    Args:
        state: of the reading session.
        pushed: what is read.
    """

    def __init__(self, state: SessionState, pushed: PushSession) -> None:
        self._state = state
        self.pushed = pushed
        self._queries: dict[tuple[str, str, bool], PushQueries] = {}
        """By database, owner, whose tables have different names, and the meaning of double quotes."""
        pushed.log.add_listener(state.streams.wake)

    def read(self, size: int, wait: Wait) -> bytes:
        """See `PushSession.read`."""
        return self.pushed.read(size, wait, self.query)

    def query(self, registration: Registration) -> PushQuery:
        """The query of a registration.

        Raises:
            Refused, SqlError: see `PushQueries.query`; -329, there is no such database.
        """
        database, is_delimident = registration.database, registration.is_delimident
        place = database, registration.owner, is_delimident
        if place not in self._queries:
            self._queries[place] = PushQueries(self._state, database, is_delimident=is_delimident)
        return self._queries[place].query(registration)

    def close(self) -> None:
        """Called when the session ends."""
        self.pushed.log.remove_listener(self._state.streams.wake)
        for queries in self._queries.values():
            queries.close()
        self._state.registry.push_sessions.leave(self.pushed, self._state.databases)


def task(state: SessionState, command: str, *values: str | None) -> str:
    """``task(command, ...)``.

    Raises:
        SqlError: -999, another command.
    """
    words = " ".join(command.lower().split())
    if words == "grant admin":
        return _OK
    function = _COMMANDS.get(words)
    if function is None:
        raise SqlError(-999, token=f"task('{words}')")
    try:
        return function(
            state, cast("Mapping[str, object]", read_json(values[0])) if values and values[0] else {}
        )
    except (Refused, SqlError) as error:
        return reason(error)


def _stream(state: SessionState) -> PushStream:
    """The session of push data that the session has opened or joined.

    Raises:
        Refused: it has none.
    """
    found = state.streams.of_type(PushStream)
    if found is None:
        raise Refused("no session of push data is open")
    return found


def _open(state: SessionState, values: Mapping[str, object]) -> str:
    return _attach(state, lambda: state.registry.push_sessions.open(state.databases.changes))


def _join(state: SessionState, values: Mapping[str, object]) -> str:
    session_id = _number(values, "session_id", 0)
    return _attach(state, lambda: state.registry.push_sessions.join(session_id))


def _attach(state: SessionState, find: Callable[[], PushSession | None]) -> str:
    """Open or join; not both in one session (documented)."""
    if state.streams.of_type(PushStream) is not None or (pushed := find()) is None:
        return _FAILED
    return str(state.streams.add(PushStream(state, pushed)))


def _register(state: SessionState, values: Mapping[str, object]) -> str:
    stream = _stream(state)
    if "query" in values:
        names = ("database", "owner", "table", "query", "label")
        texts = [str(values.get(name, "")) for name in names]
        registration = Registration._make([*texts, state.planner.is_delimident])
        query = stream.query(registration)
        key = registration.database, query.table.tabid
        with latched(state, state.databases.find(registration.database)):
            state.registry.push_sessions.add(stream.pushed, key, registration, state.databases)
        return _OK
    pushed = stream.pushed
    timeout = _number(values, "timeout", -1)
    pushed.timeout = timeout if 0 <= timeout < _NEVER else None
    pushed.max_records = max(1, _number(values, "maxrecs", 1))
    pushed.max_pending = _number(values, "max_pending_ops", 0)
    pushed.after_txnid = _number(values, "txnid", 0)
    pushed.after_time = _number(values, "commit_time", 0)
    if pushed.after_txnid or pushed.after_time:
        pushed.begin_again()
    return _OK


def _number(values: Mapping[str, object], name: str, default: int) -> int:
    value = str(values.get(name, default))
    digits = value.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS):
        raise Refused(f"{name} is not a number")
    return int(value)


def _set_detach(state: SessionState, values: Mapping[str, object]) -> str:
    pushed = _stream(state).pushed
    pushed.is_detachable = True
    return str(pushed.session_id)


def _delete(state: SessionState, values: Mapping[str, object]) -> str:
    """Delete the own session, a detached one, or all of these."""
    sessions = state.registry.push_sessions
    if "delete_all" in values:
        chosen = sessions.detached()
    elif "session_id" in values:
        wanted = _number(values, "session_id", 0)
        chosen = [each for each in sessions.detached() if each.session_id == wanted]
        own = state.streams.of_type(PushStream)
        if (
            own is not None and own.pushed.session_id == wanted
        ):  # observed: JDBC deletes the session that it has joined
            chosen = [own.pushed]
        if not chosen:
            raise Refused(f"there is no detached session {wanted}")
    else:
        chosen = [_stream(state).pushed]
    for pushed in chosen:
        sessions.delete(pushed, state.databases)
    return _OK


_COMMANDS: Final[Mapping[str, Callable[[SessionState, Mapping[str, object]], str]]] = {
    "pushdata open": _open,
    "pushdata join": _join,
    "pushdata register": _register,
    "pushdata setdetach": _set_detach,
    "pushdata delete": _delete,
}

_PARAMETERS: Final = tuple((name, "LVARCHAR(32739)") for name in ("command", "value", "another"))

ROUTINES: Final[Mapping[str, SystemRoutine]] = {
    "task": SystemRoutine(_PARAMETERS, ("LVARCHAR(2048)",), task, 1),
}
"""By name."""
