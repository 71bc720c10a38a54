"""What a session has set and what a statement has fixed: now, formats, user, code set. Never: who changes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import NamedTuple

from aioifx.server.sql.model.routines import Routines


class Version(NamedTuple):
    """The parts of the server's version that DBINFO('version', part) tells.

    By default the release whose capability bits and layouts are served, as its login reply writes it (observed). Such
    a release names no operating system, so that part is empty (assumed).
    """

    server_type: str = "IBM Informix Dynamic Server"
    major: str = "15"
    minor: str = "0"
    os: str = ""
    level: str = "1.0.3"

    @property
    def full(self) -> str:
        """As DBINFO('version', 'full') and the login reply say it."""
        return f"{self.server_type} Version {self.major}.{self.minor}.{self.os}{self.level}"


@dataclass(slots=True)
class Settings:
    """One session's settings. The session changes them between statements, never within one.

    A session keeps one object for its life: the functions registered on its SQLite connection look at it.
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
    """How DATE is written as text: order of Y2 or Y4, M, D and a separator (0 for none) at the end."""
    century: str = "R"
    """DBCENTURY: R present, P past, F future, C closest; what two-digit years mean."""
    code_set: str = "iso8859-1"
    """The database's code set by its Python name: CHAR(n) counts its bytes."""
    string_truncate_error: bool = False
    """Whether assigning a string that is too long is -1279 rather than cut."""
    routines: Routines = field(default_factory=Routines)
    """Those written in Python that the server knows."""
    session_id: int = 0
    last_serial: int = 0
    """DBINFO('sqlca.sqlerrd1')."""
    last_serial8: int = 0
    """DBINFO('serial8')."""
    last_bigserial: int = 0
    """DBINFO('bigserial')."""
    affected: int = 0
    """DBINFO('sqlca.sqlerrd2')."""

    @property
    def today(self) -> date:
        """TODAY."""
        return self.now.date()
