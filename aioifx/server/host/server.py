"""The listening server: a channel and a session for each connection; `running()` for tests. Never: a message."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from ssl import SSLContext
from types import UnionType
from typing import Final
from urllib.parse import quote

from aioifx.channel import Channel
from aioifx.codecs.text import code_set_of
from aioifx.errors import InterfaceError
from aioifx.server.engine.session_registry import SessionRegistry
from aioifx.server.host.seed import run_script
from aioifx.server.protocol.context import FetchLimit, Identity
from aioifx.server.protocol.oob import Watch
from aioifx.server.protocol.pam import PamCheck
from aioifx.server.protocol.quirks import quirks_of, without_bits
from aioifx.server.protocol.row_blocks import MAX_BLOCK_BYTES
from aioifx.server.protocol.session import READ_AHEAD, LoginPolicy, Session
from aioifx.server.protocol.stats import Counts, ServerStats
from aioifx.server.sql.model.routines import Routine, Routines
from aioifx.server.sql.model.settings import Version
from aioifx.server.sqlite.databases import (
    DEFAULT_LOCALE,
    SYSMASTER,
    Databases,
    LogMode,
    is_database_name,
    numbered_locale,
)
from aioifx.wire.capabilities import SERVER_MASK, with_pam

DEFAULT_NAME: Final = "ol_aioifx"
"""The default DBSERVERNAME."""

_OWNER: Final = "informix"
"""The owner of databases that the server creates, and the user in a DSN when any user may log in."""


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
    max_sessions: int = 1000
    """Maximum number of concurrent sessions; another login is rejected with -25571."""
    fetch_limit: int = MAX_BLOCK_BYTES
    """Maximum bytes of rows in one reply, even if the client's fetch buffer is larger."""
    fetch_refusal: int = 0
    """SQLCODE that rejects a larger fetch buffer, such as -406; 0: the buffer is filled up to *fetch_limit*."""
    quirks: Collection[str] = frozenset()
    """Differences of other servers, see `Quirk`."""
    pam: PamCheck | None = None
    """Coroutine function that decides on each login by PAM: ``(user, ask) -> bool``, where ``await ask(style, text)``
    sends a challenge to the client and returns its answer. None: no PAM."""

    def __post_init__(self) -> None:
        """Raises:   InterfaceError: an option is invalid."""
        for option, optional in _TEXTS.items():
            value = getattr(self, option)
            if not (isinstance(value, str) or (value is None and optional)):
                raise InterfaceError(f"{option}: expected a str, got {type(value).__name__}")
        self._check_types()
        object.__setattr__(self, "quirks", quirks_of(self.quirks))
        for name, locale in map(_parts_of, self.databases):
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
        if not self.login_timeout > 0:
            raise InterfaceError(f"login_timeout: expected seconds above 0, got {self.login_timeout!r}")
        if self.max_sessions < 1:
            raise InterfaceError(f"max_sessions: expected 1 or more, got {self.max_sessions!r}")
        if self.fetch_limit < 1:
            raise InterfaceError(f"fetch_limit: expected a number of bytes above 0, got {self.fetch_limit!r}")
        if not (self.pam is None or callable(self.pam)):
            raise InterfaceError(f"pam: expected a coroutine function, got {type(self.pam).__name__}")
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
        yield "max_sessions", self.max_sessions, int, "a whole number"
        yield "fetch_limit", self.fetch_limit, int, "a whole number"
        yield "fetch_refusal", self.fetch_refusal, int, "a whole number"

    @property
    def first_database(self) -> str:
        """The name of the database that the seed fills and the DSN names."""
        return _parts_of(self.databases[0])[0] if self.databases else SYSMASTER


def _parts_of(database: str) -> tuple[str, str]:
    """``name:locale`` -> name, locale; the locale is empty if omitted."""
    name, _, locale = database.partition(":")
    return name.lower(), locale


def _check_locale(option: str, locale: str) -> None:
    try:
        code_set_of(locale)
    except InterfaceError as error:
        raise InterfaceError(f"{option}: {error}") from None


def _mask_of(options: ServerOptions) -> bytes:
    return options.mask if options.pam is None else with_pam(options.mask)


def _script_in(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InterfaceError(f"seed: {path} cannot be read: {error}") from None


class Server:
    """A listening server: `start` it, and always `close` it."""

    def __init__(self, options: ServerOptions | None = None) -> None:
        self.options = options or ServerOptions()
        self._routines = Routines(self.options.routines)
        self._databases: Databases | None = None
        self._registry = SessionRegistry()
        self._listener: asyncio.Server | None = None
        self._sessions: dict[asyncio.Task[None], Session] = {}
        self._connections: set[_Accepted] = set()
        self._logins = 0
        self._ended = Counts()
        self._is_closing = False
        quirks = quirks_of(self.options.quirks)
        self._rules = LoginPolicy(
            Identity(
                self.options.server_name or DEFAULT_NAME,
                Version().full,
                without_bits(_mask_of(self.options), quirks),
            ),
            self.options.user,
            self.options.password,
            only_own_name=self.options.server_name is not None,
            login_timeout=self.options.login_timeout,
            max_sessions=self.options.max_sessions,
            fetch_limit=FetchLimit(self.options.fetch_limit, self.options.fetch_refusal),
            quirks=quirks,
            pam=self.options.pam,
        )

    async def start(self) -> None:
        """Create the databases, run the seed, and listen.

        Raises:   OSError: the port is in use. DatabaseError: the seed failed.
                  ValueError: the directory contains a foreign file, or a database with another locale.
        """
        self._is_closing = False
        try:
            await asyncio.to_thread(self._prepare)
            options = self.options
            self._listener = await asyncio.get_running_loop().create_server(
                self._accept,
                options.host,
                options.port,
                ssl=options.ssl,
                ssl_handshake_timeout=options.login_timeout if options.ssl else None,
            )
        except BaseException:
            await self.close()
            raise

    def _prepare(self) -> None:
        options = self.options
        self._databases = databases = Databases(options.directory, options.db_locale, self._routines)
        owner = options.user or _OWNER
        if SYSMASTER not in databases.names:
            databases.create(SYSMASTER, LogMode.LOGGED, _OWNER)
        for name, locale in map(_parts_of, options.databases):
            if name not in databases.names:
                databases.create(name, options.log_mode, owner, locale)
            kept = databases.find(name).locale
            if locale and numbered_locale(locale) != kept:
                raise ValueError(f"database: {name} has the locale {kept}, not {locale}")
        if options.seed is not None:
            assert isinstance(options.seed, str)
            run_script(options.seed, options.first_database, databases, self._registry, owner)

    def register(
        self,
        name: str,
        params: Sequence[tuple[str, str]],
        returns: Sequence[str],
        function: Callable[..., object],
    ) -> None:
        """Register *function* as a routine in all databases, effective immediately; arguments as for `Routine`.

        Raises:   InterfaceError: as `Routine`.
        """
        self._routines.add(Routine(name, params, returns, function))

    def _accept(self) -> Channel:
        return _Accepted(self._begin, self._connections)

    def _begin(self, channel: Channel) -> Session | None:
        if self._databases is None or self._is_closing:
            channel.abort()
            return None
        session = Session(self._rules, self._databases, self._registry, channel)
        task = asyncio.get_running_loop().create_task(session.run())
        self._sessions[task] = session
        task.add_done_callback(self._on_session_done)
        return session

    def _on_session_done(self, task: asyncio.Task[None]) -> None:
        session = self._sessions.pop(task)
        self._ended.add(session.counts)
        self._logins += session.stats is not None

    @property
    def stats(self) -> ServerStats:
        """Totals since the server was created, and the state of each session; call it in the server's event loop.

        The counts are independent of the client, so a test can measure the load that a client causes.
        """
        counts = Counts()
        counts.add(self._ended)
        for session in self._sessions.values():
            counts.add(session.counts)
        sessions = tuple(stats for session in self._sessions.values() if (stats := session.stats))
        return ServerStats(
            logins=self._logins + len(sessions),
            groups=counts.groups,
            turns=counts.turns,
            interrupts=counts.interrupts,
            sessions=sessions,
        )

    @property
    def port(self) -> int:
        """The port that the server listens on."""
        assert self._listener is not None, "the server has not been started"
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    @property
    def dsn(self) -> str:
        """DSN of the first database. It includes the TLS option, and the locales unless they are the default."""
        return self._dsn(None if self.options.password is None else quote(self.options.password, safe=""))

    @property
    def printable_dsn(self) -> str:
        """`dsn` with ``***`` in place of the password."""
        return self._dsn(None if self.options.password is None else "***")

    def _dsn(self, password: str | None) -> str:
        assert self._databases is not None, "the server has not been started"
        options = self.options
        user = quote(options.user or _OWNER, safe="") + ("" if password is None else f":{password}")
        host = f"[{options.host}]" if ":" in options.host else options.host
        name = quote(self._rules.identity.name, safe="")
        kept = self._databases.find(options.first_database).locale
        locale = "" if kept == DEFAULT_LOCALE else f"&client_locale={kept}&db_locale={kept}"
        tls = "" if options.ssl is None else "&ssl=true"
        return f"informix://{user}@{host}:{self.port}/{options.first_database}?server={name}{locale}{tls}"

    async def close(self) -> None:
        """Stop listening, close all sessions, and remove temporary files."""
        self._is_closing = True
        if self._listener is not None:
            self._listener.close()
        for session in self._sessions.values():
            session.stop()
        if self._sessions:
            await asyncio.wait(list(self._sessions))
        for connection in list(
            self._connections
        ):  # connections of ended sessions that still have unsent data
            connection.abort()
            await connection.wait_closed()
        if self._listener is not None:
            await self._listener.wait_closed()
            self._listener = None
        if self._databases is not None:
            await asyncio.to_thread(self._databases.close)
            self._databases = None


class _Accepted(Channel):
    """A channel that reports its start, interrupts and end to its session, and bounds what it reads ahead."""

    def __init__(self, begin: Callable[[Channel], Session | None], connections: set[_Accepted]) -> None:
        super().__init__()
        self._begin = begin
        self._connections = connections
        self._session: Session | None = None
        self._watch: Watch | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._connections.add(self)
        self._session = self._begin(self)
        if self._session is not None:
            self._watch = Watch(transport, self._session.interrupt)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self.pending and self.inbox.unread > READ_AHEAD:
            self.transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._connections.discard(self)
        if self._watch is not None:
            self._watch.close()
        if self._session is not None:
            self._session.on_disconnect()


@asynccontextmanager
async def serve(options: ServerOptions | None = None) -> AsyncGenerator[Server, None]:
    """A server for the duration of the block: ``async with serve(ServerOptions(port=9088)) as server:``.

    It is ready on entry. On exit it is closed, and its temporary data are removed.

    Args:     options: None: the defaults of `ServerOptions`.
    Raises:   As `Server.start`.
    """
    server = Server(options)
    await server.start()
    try:
        yield server
    finally:
        await server.close()


@asynccontextmanager
async def running(
    database: str | Sequence[str] = "demo",
    *,
    seed: str | Path | None = None,
    user: str | None = None,
    password: str | None = None,
    server_name: str | None = None,
    log_mode: str = LogMode.LOGGED,
    db_locale: str = DEFAULT_LOCALE,
    directory: str | Path | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    ssl: SSLContext | None = None,
    routines: Iterable[Routine] = (),
    quirks: Iterable[str] = (),
    pam: PamCheck | None = None,
) -> AsyncGenerator[str, None]:
    """A server in this process, for tests; yields the DSN that clients connect with.

    Args:     database: one name or several, each optionally with a locale, as in ``shop:en_US.utf8``; the DSN names
                  the first.
              seed: SQL statements for the first database, each terminated by ``;``. Or the path of a script in UTF-8.
              user, password: those that a login must have; None accepts any.
              server_name: the DBSERVERNAME that a login must have; None accepts any.
              log_mode: of databases that are created; "logged", "unlogged" or "ansi".
              db_locale: of databases created without one, and of clients without DB_LOCALE.
              directory: for the databases, which are found there again; None for a temporary directory.
              host: the address to listen on. port: 0 for any free port.
              ssl: a context with a certificate, for a TLS port; None: no TLS.
              routines: procedures and functions written in Python; see `Routine`.
              quirks: names of differences of other servers; see `Quirk`.
              pam: a coroutine function that decides on each login by challenges; see `ServerOptions.pam`.
    Raises:   InterfaceError: an option is invalid. OSError: the port is in use.
              DatabaseError: a statement of the seed failed; the message has its number, its line in the script and the
              position in it. *row_index* is its number, from 0.
              ValueError: the directory contains a foreign file, or a database with another locale.
    """
    names = (database,) if isinstance(database, str) else tuple(database)
    try:
        mode = LogMode(log_mode)
    except ValueError:
        raise InterfaceError(f"log_mode: expected one of {', '.join(LogMode)}, got {log_mode!r}") from None
    options = ServerOptions(
        names,
        host,
        port,
        user,
        password,
        server_name,
        mode,
        None if directory is None else Path(directory),
        seed,
        db_locale,
        ssl,
        routines=tuple(routines),
        quirks=quirks_of(quirks),
        pam=pam,
    )
    async with serve(options) as server:
        yield server.dsn
