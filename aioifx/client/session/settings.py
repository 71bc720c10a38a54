"""Isolation level and lock mode of a session: current and requested. Never: who sends, when.

Invariants:
1. The base value comes from the connection's options, the user's last SET, or the database's default. A block
   overrides it while it is open; the innermost block wins.
2. A setting is due when the requested and the current value differ. It is sent with the next call, not at block end.
3. Values are the words after TO, in lower case: the user's own text may hold values that no option has.
"""

from __future__ import annotations

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
    base: str = ""
    """Value from an option or the user's own statement; "" if neither is set."""
    in_force: str = ""
    """Current value; "" if unknown."""
    wanted: str = ""

    @property
    def is_due(self) -> bool:
        return self.wanted != self.in_force

    @property
    def sql(self) -> str:
        """The statement that applies the setting."""
        return self.head + self.wanted


class Manners:
    """Isolation and lock mode of one session.

    Args:     isolation, lock_mode: values from the options, as from `isolation_clause` and `lock_mode_clause`.
    """

    def __init__(self, isolation: str = "", lock_mode: str = "") -> None:
        self.due = False
        """Whether a setting must be sent before the next statement."""
        self._isolation = Setting("set isolation to ", "committed read", isolation)
        self._lock_mode = Setting("set lock mode to ", "not wait", lock_mode)
        self._options = (isolation, lock_mode)
        self._wishes: list[Override] = []
        for setting in (self._isolation, self._lock_mode):
            setting.wanted = setting.base or setting.default
            setting.in_force = setting.wanted if not setting.base else ""

    # -- requested values ---------------------------------------------------------------------------------------------

    def wish(self, isolation: str, lock_mode: str) -> Override:
        """Add the override of a block."""
        wish = Override(isolation, lock_mode)
        self._wishes.append(wish)
        self._weigh()
        return wish

    def forget(self, wish: Override) -> None:
        """Remove the override of a block. Idempotent."""
        if wish in self._wishes:
            self._wishes.remove(wish)
            self._weigh()

    def reset(self) -> None:
        """Return to the values of the options: discard blocks and the user's own SETs."""
        self._wishes.clear()
        self._isolation.base, self._lock_mode.base = self._options
        self._weigh()

    def keep(self) -> None:
        """Make the current base the one that `reset` returns to."""
        self._options = self._isolation.base, self._lock_mode.base

    def _weigh(self) -> None:
        wishes = self._wishes
        isolation, lock_mode = self._isolation, self._lock_mode
        isolation.wanted = isolation.base or isolation.default
        lock_mode.wanted = lock_mode.base or lock_mode.default
        for wish in wishes:  # the innermost block is last
            isolation.wanted = wish.isolation or isolation.wanted
            lock_mode.wanted = wish.lock_mode or lock_mode.wanted
        self.due = isolation.is_due or lock_mode.is_due

    def due_settings(self) -> Iterator[Setting]:
        """The settings to send: lock mode before isolation (observed: JDBC, session.json)."""
        return (setting for setting in (self._lock_mode, self._isolation) if setting.is_due)

    # -- current values -----------------------------------------------------------------------------------------------

    def took(self, setting: Setting, value: str) -> None:
        """Called when the server has applied a setting."""
        setting.in_force = value
        self._weigh()

    def follow(self, sql: str) -> None:
        """Called when the user's own SET succeeded. A SET of isolation or lock mode becomes the base value, and
        discards the overrides of open blocks: the last one wins.
        """
        match first_words(sql, _SAYS_AT_MOST):
            case ["set", "isolation", "to", *words] | ["set", "isolation", *words] if words:
                for wish in self._wishes:
                    wish.isolation = ""
                setting = self._isolation
            case ["set", "lock", "mode", "to", *words] if words:
                for wish in self._wishes:
                    wish.lock_mode = ""
                setting = self._lock_mode
            case _:
                return
        setting.base = " ".join(words)
        self.took(setting, setting.base)

    def opened(self, *, is_logged: bool, is_ansi: bool) -> None:
        """Called when a database was opened.

        Source:   documented: the defaults. Assumed: settings may not survive a database switch, so they are set
                  again.
        """
        isolation = self._isolation
        untouched = isolation.in_force == isolation.default and not isolation.base
        isolation.default = "repeatable read" if is_ansi else "committed read" if is_logged else "dirty read"
        isolation.in_force = isolation.default if untouched else ""
        self._weigh()

    def closed(self) -> None:
        """Called when no database is open, so that nothing can be set."""
        self.due = False
