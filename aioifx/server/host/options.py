"""Options of a server, and their checks. Never: their effect."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from pathlib import Path
from ssl import SSLContext
from types import UnionType
from typing import Final

from aioifx.codecs.text import code_set_of
from aioifx.errors import InterfaceError
from aioifx.server.protocol.pam import PamCheck
from aioifx.server.protocol.quirks import quirks_of
from aioifx.server.protocol.row_blocks import MAX_BLOCK_BYTES
from aioifx.server.sql.model.spl import Routine, System
from aioifx.server.sqlite.connection import MIN_SORT_MEMORY, SORT_MEMORY
from aioifx.server.sqlite.databases import BUSY_TIMEOUT, DEFAULT_LOCALE, SYSMASTER, LogMode, is_database_name
from aioifx.wire.capabilities import SERVER_MASK

_TEXTS: Final = {"host": False, "db_locale": False, "user": True, "password": True, "server_name": True}
"""Options of type str, and whether each may be None."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Options of a server. `running` and the command line create them."""

    databases: tuple[str, ...] = ("demo",)
    """Created if they do not exist; each name may be followed by a locale, as in ``shop:en_US.utf8``.

    The default locale is *db_locale*. sysmaster always exists.
    """
    host: str = "127.0.0.1"
    """The address to listen on."""
    port: int = 0
    """0 for any free port."""
    user: str | None = None
    """The user that a login must have; None accepts any."""
    password: str | None = field(default=None, repr=False)
    """The password that a login must have; None accepts any."""
    server_name: str | None = None
    """The DBSERVERNAME that a login must have; None accepts any."""
    log_mode: LogMode = LogMode.LOGGED
    """Log mode of databases that are created."""
    directory: Path | None = None
    """Directory of the databases; None for a temporary one, removed when the server closes."""
    seed: str | Path | None = None
    """SQL statements for the first database, each terminated by ``;``; or the path of a script in UTF-8."""
    db_locale: str = DEFAULT_LOCALE
    """Locale of databases created without one, and of clients without DB_LOCALE."""
    ssl: SSLContext | None = None
    """A context with a certificate, for a TLS port; None: no TLS."""
    mask: bytes = SERVER_MASK
    """Capability bits in the server's reply."""
    routines: tuple[Routine, ...] = ()
    """Procedures and functions written in Python, available in all databases."""
    login_timeout: float = 10.0
    """Seconds for a client's TLS handshake, and again for its login; after that the connection is closed."""
    busy_timeout: float = BUSY_TIMEOUT
    """Seconds that a statement waits while another session writes to the file of its database."""
    max_sessions: int = 1000
    """Maximum number of concurrent sessions, if the limit of open files allows it; another login gets -25571."""
    sort_memory: int = SORT_MEMORY
    """Bytes of memory of each session for sorting and grouping, and for pages of its database; the rest is on disk."""
    fetch_limit: int = MAX_BLOCK_BYTES
    """Maximum bytes of rows in one reply, even if the client's fetch buffer is larger."""
    fetch_refusal: int = 0
    """SQLCODE that rejects a larger fetch buffer, such as -406; 0: the buffer is filled up to *fetch_limit*."""
    quirks: Collection[str] = frozenset()
    """Differences of other servers, see `Quirk`."""
    pam: PamCheck | None = None
    """Coroutine function that decides on each login by PAM: ``(user, ask) -> bool``, where ``await ask(style, text)``
    sends a challenge to the client and returns its answer. None: no PAM."""
    system: System | None = None
    """Function that runs a command of SPL's SYSTEM, in the thread of the session; a status other than 0 that it returns
    is -668. None: SYSTEM is refused with -668."""
    read_only: bool = False
    """Whether to serve a temporary copy of *directory*, and refuse changes as a secondary server does."""

    def __post_init__(self) -> None:
        """Raise InterfaceError if an option is invalid."""
        for option, optional in _TEXTS.items():
            value = getattr(self, option)
            if not (isinstance(value, str) or (value is None and optional)):
                raise InterfaceError(f"{option}: expected a str, got {type(value).__name__}")
        self._check_types()
        object.__setattr__(self, "quirks", quirks_of(self.quirks))
        for name, locale in map(parts_of, self.databases):
            if not is_database_name(name):
                raise InterfaceError(f"database: expected valid database names, got {name!r}")
            if locale:
                _check_locale("database", locale)
        _check_locale("db_locale", self.db_locale)
        if self.port not in range(0x10000):
            raise InterfaceError(f"port: expected a whole number from 0 to 65535, got {self.port!r}")
        if isinstance(self.seed, Path):
            object.__setattr__(self, "seed", _script_in(self.seed))
        elif not isinstance(self.seed, str | None):  # pyright: ignore[reportUnnecessaryIsInstance] # callers may be untyped
            raise InterfaceError(f"seed: expected SQL or a Path, got {type(self.seed).__name__}")
        if self.read_only and (self.directory is None or self.seed is not None):
            raise InterfaceError("read_only: expected a directory, and no seed")
        if not self.login_timeout > 0:
            raise InterfaceError(f"login_timeout: expected seconds above 0, got {self.login_timeout!r}")
        if not self.busy_timeout >= 0:
            raise InterfaceError(f"busy_timeout: expected seconds from 0 on, got {self.busy_timeout!r}")
        if self.max_sessions < 1:
            raise InterfaceError(f"max_sessions: expected 1 or more, got {self.max_sessions!r}")
        if self.sort_memory < MIN_SORT_MEMORY:
            raise InterfaceError(
                f"sort_memory: expected {MIN_SORT_MEMORY} bytes or more, got {self.sort_memory!r}"
            )
        if self.fetch_limit < 1:
            raise InterfaceError(f"fetch_limit: expected a number of bytes above 0, got {self.fetch_limit!r}")
        if not (self.pam is None or callable(self.pam)):
            raise InterfaceError(f"pam: expected a coroutine function, got {type(self.pam).__name__}")
        if self.system is not None and not _is_plain(self.system):
            raise InterfaceError(f"system: expected a function that is not async, got {self.system!r}")
        if self.fetch_refusal > 0:
            raise InterfaceError(
                f"fetch_refusal: expected a negative SQLCODE or 0, got {self.fetch_refusal!r}"
            )

    def _check_types(self) -> None:
        for option, value, accepted, expected in self._typed():
            if not isinstance(value, accepted) or isinstance(value, bool):
                raise InterfaceError(f"{option}: expected {expected}, got {type(value).__name__}")

    def _typed(self) -> Iterator[tuple[str, object, type | UnionType | tuple[type, ...], str]]:
        """Options with the types that they accept; sequences before their items."""
        yield "databases", self.databases, (tuple, list), "a tuple of names"
        yield from (("database", name, str, "a str") for name in self.databases)
        yield "directory", self.directory, Path | None, "a Path or None"
        yield "ssl", self.ssl, SSLContext | None, "an ssl.SSLContext or None"
        yield "routines", self.routines, (tuple, list), "a tuple of Routine objects"
        yield from (("routines", routine, Routine, "Routine objects") for routine in self.routines)
        yield "login_timeout", self.login_timeout, int | float, "a number of seconds"
        yield "busy_timeout", self.busy_timeout, int | float, "a number of seconds"
        yield "max_sessions", self.max_sessions, int, "a whole number"
        yield "sort_memory", self.sort_memory, int, "a whole number"
        yield "fetch_limit", self.fetch_limit, int, "a whole number"
        yield "fetch_refusal", self.fetch_refusal, int, "a whole number"

    @property
    def first_database(self) -> str:
        """The name of the database that the seed fills and the DSN names."""
        return parts_of(self.databases[0])[0] if self.databases else SYSMASTER


def parts_of(database: str) -> tuple[str, str]:
    """``name:locale`` -> name, locale; the locale is empty if omitted."""
    name, _, locale = database.partition(":")
    return name.lower(), locale


def _is_plain(function: object) -> bool:
    return callable(function) and not iscoroutinefunction(function)


def _check_locale(option: str, locale: str) -> None:
    try:
        code_set_of(locale)
    except InterfaceError as error:
        raise InterfaceError(f"{option}: {error}") from None


def _script_in(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InterfaceError(f"seed: {path} cannot be read: {error}") from None
