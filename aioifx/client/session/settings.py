"""How a session meets the work of others: isolation and lock mode, in force and wanted. Never: who sends, when.

House rules:
1. The base is what the connection's options say, or the last SET of the user's own, or the database's default. What a
   block says holds while it is open, and the innermost block wins.
2. A setting is due when what is wanted is not what is in force; it is set with the next turn, not with the block's end.
3. Values are the words behind TO, in lower case: the user's own text may say things that no option does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from aioifx.client.sql.scanner import first_words

_SAYS_AT_MOST: Final = 12
"""Words of the longest SET ISOLATION, with some to spare."""


@dataclass(slots=True, eq=False)
class Override:
    """What one block wants; "" where it wants nothing special."""

    isolation: str = ""
    lock_mode: str = ""


@dataclass(slots=True)
class Setting:
    """One of the two settings."""

    head: str
    """The statement up to its value."""
    default: str
    """What holds when nobody has said anything."""
    base: str = ""
    """What an option said, or the user's own statement; "" when neither did."""
    in_force: str = ""
    """"" when it is not known."""
    wanted: str = ""

    @property
    def is_due(self) -> bool:
        return self.wanted != self.in_force

    @property
    def sql(self) -> str:
        """What sets it."""
        return self.head + self.wanted


class Manners:
    """Isolation and lock mode of one session.

    Args:     isolation, lock_mode: what the options say, in the words of `isolation_clause` and `lock_mode_clause`.
    """

    def __init__(self, isolation: str = "", lock_mode: str = "") -> None:
        self.due = False
        """Whether something must be set in front of the next statement."""
        self._isolation = Setting("set isolation to ", "committed read", isolation)
        self._lock_mode = Setting("set lock mode to ", "not wait", lock_mode)
        self._options = (isolation, lock_mode)
        self._wishes: list[Override] = []
        for setting in (self._isolation, self._lock_mode):
            setting.wanted = setting.base or setting.default
            setting.in_force = setting.wanted if not setting.base else ""

    # -- what is wanted -----------------------------------------------------------------------------------------------

    def wish(self, isolation: str, lock_mode: str) -> Override:
        """A block begins."""
        wish = Override(isolation, lock_mode)
        self._wishes.append(wish)
        self._weigh()
        return wish

    def forget(self, wish: Override) -> None:
        """A block has ended; forgetting it twice is fine."""
        if wish in self._wishes:
            self._wishes.remove(wish)
            self._weigh()

    def reset(self) -> None:
        """Nothing is wanted but what the options say: neither blocks nor the user's own SETs count any more."""
        self._wishes.clear()
        self._isolation.base, self._lock_mode.base = self._options
        self._weigh()

    def keep(self) -> None:
        """What the user's own SETs have said so far counts from now on as if the options had said it."""
        self._options = self._isolation.base, self._lock_mode.base

    def _weigh(self) -> None:
        wishes = self._wishes
        isolation, lock_mode = self._isolation, self._lock_mode
        isolation.wanted = isolation.base or isolation.default
        lock_mode.wanted = lock_mode.base or lock_mode.default
        for wish in wishes:  # the innermost is the last
            isolation.wanted = wish.isolation or isolation.wanted
            lock_mode.wanted = wish.lock_mode or lock_mode.wanted
        self.due = isolation.is_due or lock_mode.is_due

    def due_settings(self) -> Iterator[Setting]:
        """What must be set: the lock mode in front of the isolation (observed: JDBC, session.json)."""
        return (setting for setting in (self._lock_mode, self._isolation) if setting.is_due)

    # -- what came about ----------------------------------------------------------------------------------------------

    def took(self, setting: Setting, value: str) -> None:
        """The server has set it."""
        setting.in_force = value
        self._weigh()

    def follow(self, sql: str) -> None:
        """A SET of the user's own succeeded. If it is about isolation or lock mode, it is the base from now on, and no
        open block asks for something else any more: who says it last is right.
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
        """A database was opened.

        Source:   documented: the defaults. That what was set before may not hold in another database is assumed: a
                  SET more does no harm.
        """
        isolation = self._isolation
        untouched = isolation.in_force == isolation.default and not isolation.base
        isolation.default = "repeatable read" if is_ansi else "committed read" if is_logged else "dirty read"
        isolation.in_force = isolation.default if untouched else ""
        self._weigh()

    def closed(self) -> None:
        """No database is open: there is nothing to set."""
        self.due = False
