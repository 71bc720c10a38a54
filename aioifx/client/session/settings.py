"""Isolation level and lock mode of a session: current and requested. Never: a request.

Invariants:
1. The base value comes from the connection's options, the user's last SET, or the database's default. A block
   overrides it while it is open; the innermost block wins.
2. A setting is pending while the requested and the current value differ. It is sent with the next call, not at the
   end of a block.
3. Values are the words after TO, in lower case: a SET of the user may have values that are not available as options.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from aioifx.client.sql.scanner import first_words

_SAYS_AT_MOST: Final = 12
"""Words of the longest SET ISOLATION, with a margin."""


@dataclass(slots=True, eq=False)
class Override:
    """Values requested by one block; "" for no override."""

    isolation: str = ""
    lock_mode: str = ""


@dataclass(slots=True)
class Setting:
    """Isolation level or lock mode."""

    head: str
    """The SQL text before the value."""
    default: str
    """The database's default."""
    configured: str = ""
    """Value from an option or the user's own statement; "" if neither is set."""
    in_force: str = ""
    """Current value; "" if unknown."""
    wanted: str = ""

    @property
    def is_pending(self) -> bool:
        return self.wanted != self.in_force

    @property
    def sql(self) -> str:
        """The statement that applies the setting."""
        return self.head + self.wanted


def _setting(head: str, default: str, configured: str) -> Setting:
    """A setting of a new session: the default is in force."""
    return Setting(head, default, configured, "" if configured else default, configured or default)


class SessionSettings:
    """Isolation and lock mode of one session.

    Args:
        isolation: values from the options, as from `isolation_clause` and `lock_mode_clause`.
        lock_mode: values from the options, as from `isolation_clause` and `lock_mode_clause`.
    """

    def __init__(self, isolation: str = "", lock_mode: str = "") -> None:
        self.pending = False
        """Whether a setting must be sent before the next statement."""
        self._isolation = _setting("set isolation to ", "committed read", isolation)
        self._lock_mode = _setting("set lock mode to ", "not wait", lock_mode)
        self._baseline = (isolation, lock_mode)
        self._overrides: list[Override] = []
        self.is_changed = False
        """Whether anything differs from the baseline."""

    @property
    def isolation(self) -> str:
        """The isolation level of the next statement, as the words of SET ISOLATION."""
        return self._isolation.wanted

    @property
    def lock_mode(self) -> str:
        """The lock mode of the next statement, as the words of SET LOCK MODE."""
        return self._lock_mode.wanted

    @property
    def lock_wait(self) -> float:
        """Seconds that the next statement may wait for a lock."""
        match self.lock_mode.split():
            case ["wait"]:
                return math.inf
            case ["wait", seconds] if seconds.isdecimal():
                return int(seconds)
            case _:
                return 0

    # -- requested values ---------------------------------------------------------------------------------------------

    def push(self, isolation: str, lock_mode: str) -> Override:
        """Add the override of a block."""
        override = Override(isolation, lock_mode)
        self._overrides.append(override)
        self._recompute()
        return override

    def pop(self, override: Override) -> None:
        """Remove the override of a block. Idempotent."""
        if override in self._overrides:
            self._overrides.remove(override)
            self._recompute()

    def reset(self) -> None:
        """Return to the baseline: discard blocks and the user's own SETs."""
        if self.is_changed:
            self._overrides.clear()
            self._isolation.configured, self._lock_mode.configured = self._baseline
            self._recompute()

    def save_baseline(self) -> None:
        """Make the current base the one that `reset` returns to."""
        self._baseline = self._isolation.configured, self._lock_mode.configured
        self.is_changed = bool(self._overrides)

    def _recompute(self) -> None:
        overrides = self._overrides
        isolation, lock_mode = self._isolation, self._lock_mode
        isolation.wanted = isolation.configured or isolation.default
        lock_mode.wanted = lock_mode.configured or lock_mode.default
        for override in overrides:  # the innermost block is last
            isolation.wanted = override.isolation or isolation.wanted
            lock_mode.wanted = override.lock_mode or lock_mode.wanted
        self.pending = isolation.is_pending or lock_mode.is_pending
        self.is_changed = bool(overrides) or (isolation.configured, lock_mode.configured) != self._baseline

    def pending_changes(self) -> Iterator[Setting]:
        """The settings to send: lock mode before isolation (observed: JDBC, session.json)."""
        return (setting for setting in (self._lock_mode, self._isolation) if setting.is_pending)

    # -- current values -----------------------------------------------------------------------------------------------

    def on_applied(self, setting: Setting, value: str) -> None:
        """Called when the server has applied a setting."""
        setting.in_force = value
        self._recompute()

    def on_user_set(self, sql: str) -> None:
        """Called when the user's own SET succeeded. A SET of isolation or lock mode becomes the base value, and
        discards the overrides of open blocks.
        """
        match first_words(sql, _SAYS_AT_MOST):
            case ["set", "isolation", "to", *words] | ["set", "isolation", *words] if words:
                for override in self._overrides:
                    override.isolation = ""
                setting = self._isolation
            case ["set", "lock", "mode", "to", *words] if words:
                for override in self._overrides:
                    override.lock_mode = ""
                setting = self._lock_mode
            case _:
                return
        setting.configured = " ".join(words)
        self.on_applied(setting, setting.configured)

    def on_database_opened(self, *, is_logged: bool, is_ansi: bool) -> None:
        """Called when a database was opened.

        Source: documented: the defaults. Assumed: settings may not survive a database switch, so they are set again.
        """
        isolation = self._isolation
        untouched = isolation.in_force == isolation.default and not isolation.configured
        isolation.default = "repeatable read" if is_ansi else "committed read" if is_logged else "dirty read"
        isolation.in_force = isolation.default if untouched else ""
        self._recompute()

    def on_database_closed(self) -> None:
        """Called when the database was closed; settings require an open database."""
        self.pending = False
