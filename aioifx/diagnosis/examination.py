"""One server, step by step: name, TCP, TLS, what listens, logins, checks. Never: the order of servers.

A server is reached by one connection, which the first login uses. That login has no database. A second one has it, as
`aioifx.connect` would open it. The steps after it use the second connection.
"""

from __future__ import annotations

import asyncio
import errno
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

from aioifx.client.api.connection import Connection, statements_of
from aioifx.client.config.addresses import Address
from aioifx.client.config.options import ConnectOptions
from aioifx.client.connect.locales import log_in, query_locale, query_sysmaster
from aioifx.client.connect.login import LoginAttempt
from aioifx.client.connect.transport import resolve, start_tls
from aioifx.diagnosis import certificates, checks, logins
from aioifx.diagnosis.listener import (
    BANNER_WAIT,
    SQLI,
    SQLI_PORT,
    TLS,
    ListeningChannel,
    changes_for,
    identify,
    open_listening,
    protocol_of,
    shown,
)
from aioifx.diagnosis.report import DiagnosisChange, Failed, Finding, Steps
from aioifx.errors import ConnectError, ConnectionLost, DatabaseError, Error, InterfaceError

T = TypeVar("T")

_DATABASES: Final = "SELECT name FROM sysdatabases ORDER BY name"
_NO_DATABASE: Final = Finding("no database is given", outcome="skipped")

_QUESTION_SECONDS: Final = 3.0

_PORT: Final = DiagnosisChange("port", SQLI_PORT)
_STARTED: Final = DiagnosisChange("the server", "running: onstat - on its machine should say On-Line")
_FIREWALL: Final = DiagnosisChange("the firewall", "one that lets this machine connect to host and port")
_HOST: Final = DiagnosisChange("host", "the name or address of the server's machine")


class Examination:
    """The steps of one server.

    Args:
        options: those of `aioifx.connect`.
    """

    def __init__(self, options: ConnectOptions, password: str, address: Address, steps: Steps) -> None:
        self._options = replace(
            options,
            connect_timeout=min(options.connect_timeout, steps.limit),
            cancel_timeout=min(options.cancel_timeout, steps.limit / 2),
            command_timeout=None,
            row_factory=None,
        )
        self._password = password
        self._address = address
        self._steps = steps
        self._ips: list[str] = []
        self._uses_tls = False
        self._channel: ListeningChannel
        self._opened: list[Callable[[], object]] = []
        """What closes all that was opened; each may be called again."""

    async def run(self) -> None:
        """Run all steps, and close what they have opened."""
        steps = self._steps
        try:
            await steps.run("dns", self._look_up, _explain_name)
            await steps.run("tcp", self._connect, _explain_tcp)
            began = await self._listen()
            await steps.run("tls", self._negotiate_tls, self._explain_tls)
            conn = await self._log_in(began)
            if self._options.database:
                await conn.close(timeout=steps.limit)
                conn = await self._open_database()
            await self._check(conn)
            await conn.close(timeout=steps.limit)
        except Failed:
            steps.skip_rest(f"{steps.done[-1].name.replace('_', ' ')} failed")
        finally:
            for close in self._opened:
                close()

    # -- network ------------------------------------------------------------------------------------------------------

    async def _look_up(self) -> Finding:
        self._ips = await resolve(self._address)
        if self._ips == [self._address.host]:
            return Finding("not needed: the host is an address", outcome="skipped")
        return Finding(", ".join(self._ips), details={"addresses": self._ips})

    async def _connect(self) -> Finding:
        self._channel = await open_listening(self._address, self._ips)
        self._opened.append(self._channel.abort)
        host, port = self._channel.transport.get_extra_info("peername")[:2]
        self._ips.sort(key=lambda ip: ip.partition("%")[0] != host)  # questions go to the same address
        return Finding(f"connected to {host}, port {port}", details={"address": host, "port": port})

    async def _listen(self) -> float:
        """Wait for a server that speaks first, which SQLI's does not; when the wait began."""
        began = time.perf_counter()
        first = await self._channel.listen(BANNER_WAIT)
        if first or self._channel.heard.is_set():
            self._steps.add("tls", 0.0, Finding("not tried: SQLI does not listen here", outcome="skipped"))
            self._steps.fail("listener", began, await self._explain_listener(ConnectError("closed at once")))
        return began

    async def _negotiate_tls(self) -> Finding:
        context = self._options.ssl_context(self._address.tls)
        if context is None:
            return Finding("not used: data and password are not encrypted", outcome="skipped")
        await start_tls(self._channel, self._address, context)
        self._uses_tls = True
        return certificates.accepted(self._channel.transport.get_extra_info("ssl_object"))

    async def _explain_tls(self, error: Error) -> Failed:
        if isinstance(error, InterfaceError):  # a file of an option
            option = str(error).partition(":")[0]
            return Failed(str(error), DiagnosisChange(option, "a PEM file that this process can read"))
        cause = error.__cause__
        if isinstance(cause, ssl.SSLCertVerificationError):
            return await certificates.rejected(
                cause, self._address, self._ips, self._options.ssl_ca, self._question_seconds
            )
        reason = (cause.reason or "") if isinstance(cause, ssl.SSLError) else ""
        if "ALERT" in reason or "PROTOCOL" in reason:
            return Failed(str(error), *certificates.changes_after_alert(reason))
        spoken = await self._identify(tried_tls=True)
        if spoken == SQLI:
            return Failed(
                f"no TLS: SQLI listens here without it ({error})",
                DiagnosisChange("port", "the port of the server's onsocssl line"),
                self._tls_change(False),
            )
        if spoken:
            return Failed(f"no TLS: {spoken} listens here", *changes_for(spoken))
        return Failed(str(error), _PORT, *certificates.changes_after_alert(""))

    def _tls_change(self, wanted: bool) -> DiagnosisChange:
        """How to turn TLS on or off."""
        if not self._options.host:
            kind = "onsocssl" if wanted else "onsoctcp"
            return DiagnosisChange("sqlhosts", f"type {kind} in the line of {self._address.server}")
        return DiagnosisChange(
            "ssl", "True" if wanted else "False, which sends the password without encryption"
        )

    async def _identify(self, *, tried_tls: bool) -> str:
        seconds = self._question_seconds
        return await identify(self._address, self._ips[:1], tried_tls=tried_tls, seconds=seconds)

    @property
    def _question_seconds(self) -> float:
        """Time limit for a question that finds out why a step has failed; connecting and the reply have one each."""
        return min(self._steps.limit / 2, _QUESTION_SECONDS)

    # -- login --------------------------------------------------------------------------------------------------------

    async def _log_in(self, began: float) -> Connection[Any]:
        """Log in without a database; the steps from "listener" to "capabilities".

        Args:
            began: when the step "listener" began.
        """
        steps = self._steps
        attempt = LoginAttempt(logins.without_database(self._options), self._address)
        attempt.use(self._channel, tls=self._uses_tls)
        self._opened.append(attempt.drop_unless_done)
        began_login = time.perf_counter()
        result = await self._bounded(attempt, attempt.log_in(self._password))
        seconds = time.perf_counter() - began_login
        if not isinstance(result, DatabaseError):
            self._opened.append(result.terminate)
        elif attempt.reply is None:
            steps.fail("listener", began, await self._explain_listener(result, attempt.hint))
        steps.add("listener", began_login - began, Finding(SQLI))
        for name, describe in logins.LOGIN_STEPS.items():
            if isinstance(result, DatabaseError) and name == logins.failed_step(result):
                steps.fail(name, began_login, await logins.explain_login(attempt, result))
            steps.add(name, seconds if name == "login" else 0.0, describe(attempt))
        assert isinstance(result, Connection)
        return result

    async def _bounded(self, attempt: LoginAttempt, work: Awaitable[T]) -> T | DatabaseError:
        """The result of *work*, or its error; an InterfaceError, such as of a PAM handler, as a ConnectError."""
        try:
            async with asyncio.timeout(self._steps.limit):
                return await work
        except DatabaseError as error:
            return error
        except InterfaceError as error:
            return ConnectError(str(error))
        except TimeoutError:
            return attempt.timeout_error(self._steps.limit)

    async def _explain_listener(self, error: Error, hint: str = "") -> Failed:
        """Why there is no login reply.

        Args:
            hint: the end of the message, a guess that is found to be right or wrong here.
        """
        first = self._channel.first
        spoken = protocol_of(first)
        if not (spoken or first or self._uses_tls):
            spoken = await self._identify(tried_tls=False)
        details = {"protocol": spoken, "first_bytes": first.hex()}
        if spoken == TLS:
            return Failed("a TLS port, and TLS is off", self._tls_change(True), **details)
        if spoken and spoken != SQLI:
            answer = f" (it says {shown(first)})" if first else ""
            return Failed(f"{spoken} listens here, not SQLI{answer}", *changes_for(spoken), **details)
        if isinstance(self._channel.lost_by, ssl.SSLError):
            reason = self._channel.lost_by.reason or ""
            changes = certificates.changes_after_alert(reason)
            return Failed(f"the server ended TLS: {reason.lower().replace('_', ' ')}", *changes, **details)
        reason = str(error).removesuffix(hint).removeprefix(f"{self._address}: ")
        return Failed(f"SQLI does not answer here: {reason}", _PORT, _STARTED, **details)

    # -- database -----------------------------------------------------------------------------------------------------

    async def _open_database(self) -> Connection[Any]:
        """Log in with the database; the steps from "database" to "role"."""
        steps, began = self._steps, time.perf_counter()
        attempt = LoginAttempt(replace(self._options, role="any", autocommit=True), self._address)
        self._opened.append(attempt.drop_unless_done)

        async def open_it() -> Connection[Any]:
            await attempt.connect()
            return await log_in(attempt, self._password)

        result = await self._bounded(attempt, open_it())
        if isinstance(result, DatabaseError):
            failed = await self._explain_database(attempt, result)
            if logins.is_locale_failure(result):
                steps.add("database", 0.0, Finding("exists, but its locale is not that of the connection"))
                steps.fail("locale", began, failed)
            steps.fail("database", began, failed)
        self._opened.append(result.terminate)
        database = statements_of(result).session.database
        opened = Finding(f"{database.name} opened", details={"database": database.name})
        steps.add("database", time.perf_counter() - began, opened)
        began = time.perf_counter()
        found = await self._bounded(attempt, query_locale(attempt, self._password))
        try:
            locale = logins.locale(attempt.options, found)
        except Failed as failed:
            steps.fail("locale", began, failed)
        steps.add("locale", time.perf_counter() - began, locale)
        await steps.run("log_mode", partial(_now, logins.log_mode, database, self._options))
        await steps.run("role", partial(_now, logins.role, database, self._options))
        return result

    async def _explain_database(self, attempt: LoginAttempt, error: DatabaseError) -> Failed:
        if attempt.pam is not None:
            return await logins.explain_login(attempt, error)
        databases, locale = await asyncio.gather(
            self._bounded(attempt, query_sysmaster(attempt, self._password, "the databases", _DATABASES)),
            self._bounded(attempt, query_locale(attempt, self._password)),
        )
        return logins.database_failure(
            attempt,
            error,
            databases=[] if isinstance(databases, DatabaseError) else databases,
            locale="" if isinstance(locale, DatabaseError) else locale,
        )

    # -- session ------------------------------------------------------------------------------------------------------

    async def _check(self, conn: Connection[Any]) -> None:
        options = self._options
        if not options.database:
            for name in ("database", "locale", "log_mode", "role", "fetch_size"):
                self._steps.add(name, 0.0, _NO_DATABASE)
            await self._try("round_trip", partial(checks.round_trip, conn))
            for name in ("optofc", "interrupt"):
                self._steps.add(name, 0.0, _NO_DATABASE)
            return
        await self._try("fetch_size", partial(checks.fetch_size, conn, options))
        await self._try("round_trip", partial(checks.round_trip, conn))
        await self._try("optofc", partial(checks.optofc, conn, options))
        await self._try("interrupt", partial(checks.interrupt, conn, options))

    async def _try(self, name: str, check: Callable[[], Awaitable[Finding]]) -> None:
        """Run a step whose outcome is "skipped" if its statement fails. A lost connection is an error."""

        async def tried() -> Finding:
            try:
                return await check()
            except ConnectionLost:
                raise
            except DatabaseError as error:
                return Finding(f"could not be checked: {error}", outcome="skipped")

        await self._steps.run(name, tried, _explain_lost)


async def _now(check: Callable[..., Finding], *arguments: object) -> Finding:
    return check(*arguments)


async def _explain_lost(error: Error) -> Failed:
    return Failed(str(error), logins.CONNECTION_LOST)


async def _explain_name(error: Error) -> Failed:
    return Failed(str(error), _HOST)


async def _explain_tcp(error: Error) -> Failed:
    cause = error.__cause__
    if isinstance(cause, OSError) and cause.errno == errno.ECONNREFUSED:
        return Failed(str(error), _PORT, _STARTED)
    return Failed(str(error), _FIREWALL, _HOST, _PORT)
