"""The listening server: a channel and a session for each connection; `running()` for tests. Never: a message."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from ssl import SSLContext
from typing import Final
from urllib.parse import quote

from aioifx.channel import Channel, running_loop
from aioifx.errors import InterfaceError, from_server
from aioifx.server.engine.session_registry import SessionRegistry
from aioifx.server.host.descriptors import session_limit
from aioifx.server.host.faults import Faults, Host
from aioifx.server.host.options import ServerOptions, parts_of
from aioifx.server.host.seed import run_script
from aioifx.server.protocol.context import FetchLimit, Identity
from aioifx.server.protocol.oob import Watch
from aioifx.server.protocol.pam import PamCheck
from aioifx.server.protocol.quirks import Quirk, quirks_of, without_bits
from aioifx.server.protocol.session import READ_AHEAD, LoginPolicy, Session
from aioifx.server.protocol.statement_log import StatementLog, StatementRecord
from aioifx.server.protocol.stats import Counts, ServerStats
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Version
from aioifx.server.sql.model.spl import Routine, Routines, System
from aioifx.server.sqlite.databases import (
    BUSY_TIMEOUT,
    DEFAULT_LOCALE,
    OWN_DATABASES,
    Databases,
    LogMode,
    numbered_locale,
)
from aioifx.wire.capabilities import with_pam

DEFAULT_NAME: Final = "ol_aioifx"
"""The default DBSERVERNAME."""

_IN_USE: Final = -425
_DROP_ATTEMPTS: Final = 20
_DROP_SECONDS: Final = 0.1
"""To drop a database that sessions are opening: attempts, and the length of each."""

_OWNER: Final = "informix"
"""The owner of databases that the server creates, and the user in a DSN when any user may log in."""


def _mask_of(options: ServerOptions) -> bytes:
    return options.mask if options.pam is None else with_pam(options.mask)


@contextmanager
def _public_errors() -> Generator[None, None, None]:
    try:
        yield
    except SqlError as error:
        raise from_server(error.sqlcode, error.isamcode, token=error.token) from None


class Server:
    """A listening server: `start` it, and always `close` it."""

    def __init__(self, options: ServerOptions | None = None) -> None:
        self.options = options or ServerOptions()
        self._routines = Routines(self.options.routines, self.options.system)
        self._databases: Databases | None = None
        quirks = quirks_of(self.options.quirks)
        name = self.options.server_name
        self._registry = SessionRegistry(name or DEFAULT_NAME, accepts_any_name=name is None, quirks=quirks)
        self._listener: asyncio.Server | None = None
        self._sessions: dict[asyncio.Task[None], Session] = {}
        self._connections: set[_Accepted] = set()
        self._logins = 0
        self._ended = Counts()
        self._is_closing = False
        self.max_sessions = session_limit(self.options.max_sessions)
        """Maximum number of concurrent sessions, within the limit of open files at the creation of the server."""
        self._rules = LoginPolicy(
            Identity(
                self._registry.server_name,
                Version().full,
                without_bits(_mask_of(self.options), quirks),
            ),
            self.options.user,
            self.options.password,
            only_own_name=self.options.server_name is not None,
            login_timeout=self.options.login_timeout,
            max_sessions=self.max_sessions,
            fetch_limit=FetchLimit(self.options.fetch_limit, self.options.fetch_refusal),
            quirks=quirks,
            pam=self.options.pam,
        )
        self._loop: asyncio.AbstractEventLoop | None = None
        """The event loop that the server runs in."""
        self._faults = Faults(
            self._rules.points,
            Host(
                self._started,
                self._registry,
                self.options.first_database if self.options.databases else "",
                self._drop_sessions,
            ),
        )

    async def start(self) -> None:
        """Create the databases, run the seed, and listen.

        Raises:
            OSError: the port is in use.
            DatabaseError: the seed failed.
            InterfaceError: asyncio does not run; or another server uses the directory.
            ValueError: the directory contains a foreign file, or a database with another locale; or it has not the
                databases, and is only read.
        """
        self._is_closing = False
        self._loop = running_loop()
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
            self._started().describe(f"{options.host}:{self.port}")
        except BaseException:
            await self.close()
            raise

    def _prepare(self) -> None:
        options = self.options
        self._databases = databases = Databases(
            options.directory,
            options.db_locale,
            self._routines,
            options.busy_timeout,
            options.sort_memory,
            read_only=options.read_only,
        )
        owner = options.user or _OWNER
        for database in databases.all():
            if not database.is_recovered:  # opening it does so, also for queries from other databases
                run_script("", database.name, databases, self._registry, owner)
        for name, locale in OWN_DATABASES.items():
            if name not in databases.names:
                databases.create(name, LogMode.LOGGED, _OWNER, locale)
        databases.changes.interleaves = Quirk.CDC_INTERLEAVED in self._registry.quirks
        databases.changes.discards = Quirk.CDC_DISCARDS in self._registry.quirks
        for name, locale in map(parts_of, options.databases):
            if name not in databases.names:
                if options.read_only:
                    raise ValueError(f"database: expected one of {', '.join(databases.names)}, got {name}")
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
        *,
        variant: bool = True,
    ) -> None:
        """Register *function* as a routine in all databases, effective immediately; arguments as for `Routine`.

        Raises:
            InterfaceError: as `Routine`.
        """
        self._routines.add(Routine(name, params, returns, function, variant=variant))

    def create_database(
        self, name: str, *, copy_of: str | None = None, seeds: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Create a database: empty, or a copy of another one; then run seeds in it. Thread-safe, and blocking.

        A copy takes as long as copying a file. It has the rows, serials, sequences and large objects of the original,
        its log mode and its locale.

        Args:
            copy_of: a database that no session has open; None: an empty database.
            seeds: scripts, each with what messages call it: ``[("CREATE TABLE t (a INT);", "schema.sql")]``.

        Raises:
            DatabaseError: the name is invalid or exists; a session has the original open; a statement of a seed failed,
                and the database was dropped again.
        """
        databases, options = self._started(), self.options
        owner = options.user or _OWNER
        with _public_errors():
            if copy_of is None:
                databases.create(name, options.log_mode, owner)
            else:
                databases.copy(copy_of, name)
        try:
            for script, source in seeds:
                run_script(script, name, databases, self._registry, owner, source)
        except BaseException:
            databases.drop(name)
            raise

    async def drop_database(self, name: str) -> None:
        """Drop a database; sessions that have opened it are ended first.

        Raises:
            DatabaseError: not found; or a fault holds a lock in it.
        """
        databases = self._started()
        for remaining in reversed(range(_DROP_ATTEMPTS)):
            users = [task for task, session in self._sessions.items() if session.uses(name)]
            for task in users:
                self._sessions[task].stop()
            if users:
                await asyncio.wait(users)
            try:  # a login or a query may be opening it: wait for that, and end its session next time
                await asyncio.to_thread(databases.drop, name, _DROP_SECONDS)
                return
            except SqlError as error:
                if error.sqlcode != _IN_USE or not remaining:
                    raise from_server(error.sqlcode, error.isamcode, token=error.token) from None

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
    def faults(self) -> Faults:
        """Faults that tests arm: errors, lost connections, pauses and others; usable in any thread."""
        return self._faults

    def _drop_sessions(self) -> int:
        """End all connections; callable in any thread."""
        loop = self._loop
        if loop is None or not loop.is_running() or loop is _running_loop():
            return self._drop_here()
        dropped: Future[int] = Future()
        loop.call_soon_threadsafe(lambda: dropped.set_result(self._drop_here()))
        return dropped.result()

    def _drop_here(self) -> int:
        sessions = list(self._sessions.items())
        for task, session in sessions:
            if session.stats is not None:  # a login waits for these, and has nothing to roll back
                self._rules.points.wait_for_end(task)
            session.stop()
        return len(sessions)

    def _started(self) -> Databases:
        assert self._databases is not None, "the server has not been started"
        return self._databases

    def statements(self, database: str | None = None) -> AbstractContextManager[StatementLog]:
        """The statements that clients run in a block: ``with server.statements() as log:``.

        Usable in any thread. A statement is in the log before its client receives the reply.

        Args:
            database: log the statements in this database only; None: in all.
        """
        return self._rules.recorder.logged(database)

    @property
    def recent_statements(self) -> tuple[StatementRecord, ...]:
        """The last 100 statements of all sessions, oldest first; usable in any thread."""
        return self._rules.recorder.recent

    @property
    def port(self) -> int:
        """The port that the server listens on."""
        assert self._listener is not None, "the server has not been started"
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    @property
    def dsn(self) -> str:
        """DSN of the first database. It includes the TLS option, and the locales unless they are the default."""
        return self.dsn_of(self.options.first_database)

    @property
    def printable_dsn(self) -> str:
        """`dsn` with ``***`` in place of the password."""
        return self._dsn(None if self.options.password is None else "***")

    def dsn_of(self, database: str) -> str:
        """As `dsn`, of another database.

        Raises:
            DatabaseError: not found.
        """
        password = self.options.password
        with _public_errors():
            return self._dsn(None if password is None else quote(password, safe=""), database)

    def _dsn(self, password: str | None, database: str | None = None) -> str:
        options = self.options
        database = database or options.first_database
        user = quote(options.user or _OWNER, safe="") + ("" if password is None else f":{password}")
        host = f"[{options.host}]" if ":" in options.host else options.host
        name = quote(self._rules.identity.name, safe="")
        kept = self._started().find(database).locale
        locale = "" if kept == DEFAULT_LOCALE else f"&client_locale={kept}&db_locale={kept}"
        tls = "" if options.ssl is None else "&ssl=true"
        return f"informix://{user}@{host}:{self.port}/{database}?server={name}{locale}{tls}"

    async def close(self) -> None:
        """Stop listening, close all sessions, and remove temporary files."""
        self._is_closing = True
        self._faults.clear()
        if self._listener is not None:
            self._listener.close()
        for session in self._sessions.values():
            session.stop()
        if self._sessions:
            await asyncio.wait(list(self._sessions))
        # Connections of ended sessions that still have unsent data.
        for connection in list(self._connections):
            connection.abort()
            await connection.wait_closed()
        if self._listener is not None:
            await self._listener.wait_closed()
            self._listener = None
        if self._databases is not None:
            await asyncio.to_thread(self._databases.close)
            self._databases = None


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


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

    Args:
        options: None: the defaults of `ServerOptions`.

    Raises:
        Error: as `Server.start`.
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
    system: System | None = None,
    busy_timeout: float = BUSY_TIMEOUT,
) -> AsyncGenerator[str, None]:
    """A server in this process, for tests; yields the DSN that clients connect with.

    Args:
        database: one name or several, each optionally with a locale, as in ``shop:en_US.utf8``; the DSN names the
            first.
        seed: SQL statements for the first database, each terminated by ``;``. Or the path of a script in UTF-8.
        user: those that a login must have; None accepts any.
        password: those that a login must have; None accepts any.
        server_name: the DBSERVERNAME that a login must have; None accepts any.
        log_mode: of databases that are created; "logged", "unlogged" or "ansi".
        db_locale: of databases created without one, and of clients without DB_LOCALE.
        directory: for the databases, which are found there again; None for a temporary directory.
        host: the address to listen on.
        port: 0 for any free port.
        ssl: a context with a certificate, for a TLS port; None: no TLS.
        routines: procedures and functions written in Python; see `Routine`.
        quirks: names of differences of other servers; see `Quirk`.
        pam: a coroutine function that decides on each login by challenges; see `ServerOptions.pam`.
        system: a function that runs the commands of SPL's SYSTEM; None refuses them. See `ServerOptions.system`.
        busy_timeout: seconds that a statement waits while another session writes to the file of its database.

    Raises:
        InterfaceError: an option is invalid.
        OSError: the port is in use.
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
        system=system,
        busy_timeout=busy_timeout,
    )
    async with serve(options) as server:
        yield server.dsn
