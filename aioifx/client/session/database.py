"""The open database of a session: its name and logging mode. Never: a transaction, a setting."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from aioifx.wire.opcodes import OpenWarning

LogMode: TypeAlias = Literal["ansi", "logged", "unlogged"]
"""Logging mode of a database."""

# As plain ints: arithmetic on flags costs a microsecond.
_LOGGED: Final = int(OpenWarning.LOGGED | OpenWarning.ANSI)
_ANSI: Final = int(OpenWarning.ANSI)


class Database:
    """Name and logging mode of the open database; ``""`` and no log if none is open."""

    __slots__ = ("is_ansi", "is_logged", "name", "warnings")

    def __init__(self) -> None:
        self.on_opened("", 0)

    def on_opened(self, name: str, warnings: int) -> None:
        """Called when a database was opened or, with ``""``, closed.

        Args:
            warnings: bits of the reply; see OpenWarning.
        """
        self.name = name
        self.warnings = warnings
        self.is_logged = warnings & _LOGGED != 0
        """Whether it has transactions; an ANSI database always has (observed: JDBC, session.json)."""
        self.is_ansi = warnings & _ANSI != 0
        """Whether a transaction is always open."""

    @property
    def log_mode(self) -> LogMode | None:
        """None if no database is open."""
        if not self.name:
            return None
        return "ansi" if self.is_ansi else "logged" if self.is_logged else "unlogged"
