"""From options to an open connection: servers in order, each with its share of the time. Never: a message.

Invariants:
1. A rejected user or password is final: no other server is tried with it. So is any failure after a PAM handler was
   asked. After any other failure the next server is tried.
2. Names are looked up again for each connection: hosts in the DNS, servers in their file.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, Unpack, overload

from aioifx.channel import running_loop
from aioifx.client.api.connection import Connection, no_attribute, statements_of
from aioifx.client.config.addresses import Address, addresses, names_in
from aioifx.client.config.options import AllOptionFields, ConnectOptions, OptionFields
from aioifx.client.config.password import password_of
from aioifx.client.config.resolve import resolve_again
from aioifx.client.connect.locales import log_in
from aioifx.client.connect.login import LoginAttempt
from aioifx.client.connect.transport import StaggeredRace
from aioifx.client.observation.observation import Observation, note_session
from aioifx.client.session.session import Session
from aioifx.errors import AuthenticationError, ConnectError, DatabaseError
from aioifx.rows import Item, Record, RowFactory

R = TypeVar("R")

logger: Final = logging.getLogger("aioifx.connect")

_RETRYABLE_CODES: Final = (0, -908)
"""SQLCODEs of unreachable servers, which are worth a retry; other codes are not."""


@overload
def connect(
    dsn: str | None = None, *, row_factory: None = None, **options: Unpack[OptionFields]
) -> ConnectContext[Record]: ...
@overload
def connect(
    dsn: str | None = None, *, row_factory: RowFactory[R], **options: Unpack[OptionFields]
) -> ConnectContext[R]: ...
@overload
def connect(dsn: str | None = None, **options: Unpack[AllOptionFields]) -> ConnectContext[Any]: ...
def connect(
    dsn: str | None = None, *, row_factory: RowFactory[Any] | None = None, **options: Unpack[OptionFields]
) -> ConnectContext[Any]:
    """Open a connection: ``conn = await connect(...)`` or ``async with connect(...) as conn:``.

    The block closes the connection at its end.

    Args:
        dsn: a URL, a JDBC URL or an ODBC connection string; None: the options alone apply.
        row_factory: makes the rows of this connection; None: `Record`.
        options: take precedence over *dsn*; see the page Options.

    Raises:
        InterfaceError: an option is invalid or missing; raised at the call, before a socket is opened. When awaited:
            the sqlhosts file cannot be read or does not list the server.
        ConnectError: when awaited; the server cannot be reached, rejects the login, or does not answer within
            connect_timeout.
        AuthenticationError: it rejects the user, the password or a PAM answer.
    """
    return ConnectContext(resolve_again(dsn, {**options, "row_factory": row_factory}))


class ConnectContext(Generic[Item]):
    """Result of `connect`: await it, or use it with ``async with``."""

    __slots__ = ("_connection", "_options")

    def __init__(self, options: ConnectOptions) -> None:
        self._options = options
        self._connection: Connection[Item] | None = None

    if not TYPE_CHECKING:  # hidden from type checkers, which reject unknown attributes

        def __getattr__(self, name: str) -> Any:
            raise no_attribute(self, name)

    def __await__(self) -> Generator[Any, None, Connection[Item]]:
        return open_connection(self._options).__await__()

    async def __aenter__(self) -> Connection[Item]:
        self._connection = await open_connection(self._options)
        return self._connection

    async def __aexit__(self, *_: object) -> None:
        assert self._connection is not None
        await self._connection.close()


async def open_connection(options: ConnectOptions, observation: Observation | None = None) -> Connection[Any]:
    """Open a connection within *connect_timeout* seconds, or raise ConnectError.

    Args:
        observation: of a pool; None: as by the options.

    Raises:
        InterfaceError: the sqlhosts file is not usable, or asyncio does not run.
    """
    running_loop()
    observation = observation or options.observation()
    opening = _open_logged if logger.isEnabledFor(logging.DEBUG) else _open
    if observation is None:
        return await opening(options, None)
    if options.lock_diagnosis and observation.on_lock_error is None:
        from aioifx.client.connect.locks import LockNotes  # imported here because it is rarely needed

        observation.on_lock_error = LockNotes(options).add
    return await observation.run_opening(
        "connect", _open_observed(options, observation, opening), Connection.terminate
    )


async def _open_observed(
    options: ConnectOptions,
    observation: Observation,
    opening: Callable[[ConnectOptions, Observation], Awaitable[Connection[Any]]],
) -> Connection[Any]:
    connection = await opening(options, observation)
    if options.lock_diagnosis:
        await _learn_session_id(connection, options)
    note_session(statements_of(connection).base_session)
    return connection


async def _learn_session_id(connection: Connection[Any], options: ConnectOptions) -> None:
    """Query the session's number, by which a diagnosis tells its own locks apart.

    Not where the query would start a transaction; the locks of the own session are then shown as those of others. So
    are they if the server refuses the query.

    Raises:
        ConnectError: the connection was lost, or the server does not answer within *connect_timeout*.
    """
    if not connection.database or connection.is_ansi or not options.autocommit:
        return
    try:
        async with asyncio.timeout(options.connect_timeout):
            await connection.session_id()
    except DatabaseError as error:
        if not statements_of(connection).session.is_open:
            raise ConnectError(
                f"the connection was lost after the login: {error}", sqlstate="08001"
            ) from error
        logger.debug("the session's number is unknown: %s", error)
    except TimeoutError:
        connection.terminate()
        raise ConnectError(
            f"the server did not answer within {options.connect_timeout:g} s after the login",
            sqlstate="08001",
        ) from None
    except BaseException:
        connection.terminate()
        raise


async def _open_logged(options: ConnectOptions, observation: Observation | None) -> Connection[Any]:
    now = asyncio.get_running_loop().time
    began = now()
    logger.debug("connecting to %s as %s", options.destination, options.user)
    try:
        connection = await _open(options, observation)
    except BaseException as error:
        what = f"{type(error).__name__}: {error}"
        logger.debug("not connected to %s after %.3f s: %s", options.destination, now() - began, what)
        raise
    server = connection.server_name, connection.server_version
    logger.debug("%r opened in %.3f s, server %s, %s", connection, now() - began, *server)
    return connection


async def _open(options: ConnectOptions, observation: Observation | None) -> Connection[Any]:
    if options.tracer is not None:
        options.tracer.check()
    return await _run(_Connector(options, observation))


async def _run(connector: _Connector) -> Connection[Any]:
    """The connection, within connect_timeout."""
    limit = asyncio.timeout(connector.options.connect_timeout)
    try:
        async with limit:
            return await connector.run()
    except TimeoutError:
        if not limit.expired():
            raise  # not ours: the password callable may have its own timeout
        raise connector.timeout_error() from None
    finally:
        connector.end()


def candidate_addresses(options: ConnectOptions) -> tuple[Address, ...]:
    """The addresses to try, in order.

    Raises:
        InterfaceError: the sqlhosts file is not usable.
    """
    if options.host:
        return addresses(options.host, options.port, options.server)
    from aioifx.client.config.sqlhosts import lookup  # rarely needed

    return tuple(
        address
        for name in names_in("server", options.server)
        for address in lookup(options.sqlhosts, name, options.uses_tls)
    )


@asynccontextmanager
async def _reconnected(options: ConnectOptions, address: Address) -> AsyncGenerator[Session, None]:
    """A session of its own at *address*, whose cursors are not closed by the server.

    Raises:
        DatabaseError: also for an exception of a password callable.
    """
    try:
        connection = await _run(_Connector(options.without_optofc(), None, (address,)))
    except DatabaseError:
        raise
    except Exception as error:
        raise ConnectError(f"{type(error).__name__}: {error}") from error
    try:
        yield statements_of(connection).session
    except BaseException:
        connection.terminate()
        raise
    await connection.close()


class _Connector:
    """One call of `connect`: tries the servers until one accepts the login.

    Args:
        addresses: the servers; None: those of the options.
    """

    def __init__(
        self,
        options: ConnectOptions,
        observation: Observation | None,
        addresses: tuple[Address, ...] | None = None,
    ) -> None:
        self.options = options
        self._addresses = addresses
        self._observation = observation
        self._attempts: list[LoginAttempt] = []
        self._deadline = asyncio.get_running_loop().time() + options.connect_timeout

    async def run(self) -> Connection[Any]:
        """The first connection that succeeds.

        Source: documented: INFORMIXCONRETRY attempts follow the first one at equal intervals within INFORMIXCONTIME
        """
        options = self.options
        password = await password_of(options.password, options.client_code_set)
        for later in range(options.connect_retries, 0, -1):
            seconds = options.connect_timeout / (options.connect_retries + 1)
            connection = await self._timed_round(password, self._deadline - seconds * later)
            if connection is not None:
                return connection
        connection = await self._try_each(password)
        if connection is not None:
            return connection
        raise self._summary()

    async def _timed_round(self, password: str, end: float) -> Connection[Any] | None:
        """One round that must end by *end*, where the next one starts; None if no connection is open by then."""
        limit = asyncio.timeout_at(end)
        try:
            async with limit:
                connection = await self._try_each(password)
                if connection is not None:
                    return connection
                if not any(failure.sqlcode in _RETRYABLE_CODES for failure in self._failures):
                    raise self._summary()
                await asyncio.Event().wait()  # until the limit
        except TimeoutError:
            if not limit.expired():
                raise
            self._raise_if_final()
            self.end()
        return None

    async def _try_each(self, password: str) -> Connection[Any] | None:
        """Try each server once: the first connection that succeeds, or None."""
        options = self.options
        self._attempts = [
            LoginAttempt(options, address, self._observation)
            for address in self._addresses or candidate_addresses(options)
        ]
        if len(self._attempts) == 1:  # the usual case needs no tasks
            (only,) = self._attempts
            try:
                await only.connect()
            except ConnectError:
                return None  # recorded in the attempt
            return await self._log_in(only, password)
        share = options.connect_timeout / len(self._attempts)
        race = StaggeredRace(
            [attempt.connect for attempt in self._attempts], min(options.stagger, share), LoginAttempt.drop
        )
        connection: Connection[Any] | None = None
        try:
            while connection is None and (attempt := await race.next()) is not None:
                connection = await self._log_in(attempt, password)
        finally:
            try:
                await race.close()
            except BaseException:  # cancelled or timed out: the connection is not returned
                if connection is not None:
                    connection.terminate()
                raise
        return connection

    async def _log_in(self, attempt: LoginAttempt, password: str) -> Connection[Any] | None:
        """The connection; None if the next server should be tried."""
        share = self._share()
        limit = None if share is None else asyncio.timeout(share)
        try:
            if limit is None:
                connection = await log_in(attempt, password)
            else:
                async with limit:
                    connection = await log_in(attempt, password)
        except TimeoutError:
            if share is None or limit is None or not limit.expired():
                raise
            attempt.failure = attempt.timeout_error(share)
            if attempt.is_final:
                raise attempt.failure from None
        except AuthenticationError:
            raise
        except DatabaseError as error:
            attempt.failure = error
        else:
            if self.options.pam is None:  # whose answers may be valid once
                session = statements_of(connection).base_session
                session.reconnect = partial(_reconnected, attempt.options, attempt.address)
            return connection
        finally:
            attempt.drop_unless_done()
        logger.debug("login failed: %s", attempt.failure)
        return None

    def _share(self) -> float | None:
        """Time limit in seconds for one login while other servers remain; None for the last one."""
        candidates = sum(attempt.failure is None for attempt in self._attempts)
        if candidates < 2:
            return None
        return max(self._deadline - asyncio.get_running_loop().time(), 0) / candidates

    def timeout_error(self) -> DatabaseError:
        """The error of all attempts after a timeout."""
        seconds = self.options.connect_timeout
        if not self._attempts:
            return ConnectError(
                f"password: the callable did not return within {seconds:g} s", sqlstate="08001"
            )
        self._raise_if_final()
        for attempt in self._attempts:
            if attempt.failure is None:
                attempt.failure = attempt.timeout_error(seconds)
        return self._summary()

    def _raise_if_final(self) -> None:
        """Raise the error of an attempt that timed out during PAM, whose answers must not be given again."""
        for attempt in self._attempts:
            if attempt.is_final:
                raise attempt.timeout_error(self.options.connect_timeout) from None

    @property
    def _failures(self) -> list[DatabaseError]:
        return [attempt.failure for attempt in self._attempts if attempt.failure is not None]

    def _summary(self) -> DatabaseError:
        """One error for all servers, with a note for each."""
        failures = self._failures
        last = failures[-1]
        if len(failures) == 1:
            return _with_advice(last)
        agreed = len({failure.sqlcode for failure in failures}) == 1
        codes: dict[str, Any] = {
            "sqlcode": last.sqlcode if agreed else 0,
            "isamcode": last.isamcode if agreed else 0,
            "sqlstate": last.sqlstate if agreed else "08001",
        }
        kind = type(last) if len({type(failure) for failure in failures}) == 1 else ConnectError
        if issubclass(kind, ConnectError):
            codes["unreachable"] = any(failure.retryable for failure in failures)
        summary = kind(f"all {len(failures)} servers failed; the last one: {last}", **codes)
        for failure in failures:
            for line in (str(failure), *getattr(failure, "__notes__", ())):
                summary.add_note(line)
        return _with_advice(summary)

    def end(self) -> None:
        for attempt in self._attempts:
            attempt.drop_unless_done()
            attempt.failure = None  # break the reference cycle through the traceback


def _with_advice(error: DatabaseError) -> DatabaseError:
    if isinstance(error, ConnectError):
        error.add_note("`aioifx doctor ADDRESS` finds out why, step by step")
    return error
