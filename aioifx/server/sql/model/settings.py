"""Settings of a session and of one statement: now, formats, user, code set. Never: the statements that change them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import NamedTuple

from aioifx.server.sql.model.spl import Routine, Routines


class Version(NamedTuple):
    """The parts of the server's version, as in DBINFO('version', part).

    The default is the release whose capability bits and layouts the server uses, as in its login reply (observed).
    That reply has no operating system, so this part is empty (assumed).
    """

    server_type: str = "IBM Informix Dynamic Server"
    major: str = "15"
    minor: str = "0"
    os: str = ""
    level: str = "1.0.3"

    @property
    def full(self) -> str:
        """The version in DBINFO('version', 'full') and in the login reply."""
        return f"{self.server_type} Version {self.major}.{self.minor}.{self.os}{self.level}"


def no_check() -> None:
    """Nothing interrupts."""


def no_system_routine(database: str, name: str, count: int) -> Routine | None:
    """No database has routines of its own."""
    return None


@dataclass(slots=True)
class Settings:
    """One session's settings. The session changes them between statements, never within one.

    A session uses one object for its lifetime: the functions registered on its SQLite connection read it.
    """

    now: datetime = field(default_factory=datetime.now)
    """CURRENT, SYSDATE and TODAY: local time without zone; the session sets it before each statement."""
    user: str = "informix"
    database: str = ""
    server: str = "aioifx"
    """DBSERVERNAME and SITENAME."""
    host: str = "localhost"
    version: Version = field(default_factory=Version)
    dbdate: str = "MDY4/"
    """The text form of DATE: order of Y2 or Y4, M, D, then the separator (0 for none)."""
    time_zone: str = ""
    """The client's environment variable TZ; empty if not sent."""
    century: str = "R"
    """DBCENTURY, the century of two-digit years: R present, P past, F future, C closest."""
    code_set: str = "iso8859-1"
    """The database's code set by its Python name: CHAR(n) counts its bytes."""
    string_truncate_error: bool = False
    """Whether assigning a string that is too long is -1279, instead of truncating it."""
    routines: Routines = field(default_factory=Routines)
    """The server's routines written in Python."""
    system_routine: Callable[[str, str, int], Routine | None] = field(
        default=no_system_routine, repr=False, compare=False
    )
    """Finds a routine that the server has in one database, by the database, its name and the number of arguments."""
    encryption: tuple[str, str] = field(default=("", ""), repr=False)
    """SET ENCRYPTION PASSWORD: the password and the hint, or empty."""
    session_id: int = 0
    last_serial: int = 0
    """DBINFO('sqlca.sqlerrd1')."""
    last_serial8: int = 0
    """DBINFO('serial8')."""
    last_bigserial: int = 0
    """DBINFO('bigserial')."""
    affected: int = 0
    """DBINFO('sqlca.sqlerrd2')."""
    check_interrupt: Callable[[], None] = field(default=no_check, repr=False, compare=False)
    """Raises SqlError -213 if the running statement, or its translation, must end."""

    @property
    def today(self) -> date:
        """TODAY."""
        return self.now.date()
