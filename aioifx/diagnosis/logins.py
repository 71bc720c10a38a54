"""What logins show, without a database and with one, and why they failed. Never: a socket, a query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Final

from aioifx.client.config.addresses import Role, redirect_target
from aioifx.client.config.checks import DEFAULT_LOCALE
from aioifx.client.config.options import ConnectOptions
from aioifx.client.connect.login import LoginAttempt
from aioifx.client.session.database import Database
from aioifx.codecs.text import code_set_of
from aioifx.diagnosis.report import DiagnosisChange, Failed, Finding
from aioifx.errors import (
    AuthenticationError,
    DatabaseError,
    InterfaceError,
    LocaleError,
    NotSupportedError,
    visible,
)
from aioifx.explain import explain
from aioifx.wire.handshake import LoginReply
from aioifx.wire.opcodes import LoginType, OpenWarning

_UNKNOWN_SERVER: Final = -761
_NO_TRUST: Final = -956
_NO_CONNECT: Final = -387
_NO_DATABASE: Final = frozenset({-329, -349, -354, -759})
_FULL: Final = frozenset({-25571, -25580, -27001})


def without_database(options: ConnectOptions) -> ConnectOptions:
    """The same login without a database and what depends on it."""
    return replace(
        options, database="", role="any", locale=None, autocommit=True, isolation=None, lock_wait=None,
        read_only=False, row_factory=None, command_timeout=None,
    )  # fmt: skip


# -- accepted ---------------------------------------------------------------------------------------------------------


def server_name(attempt: LoginAttempt) -> Finding:
    """The name in the login, and the server's own."""
    given, own = attempt.address.server, _own_name(attempt)
    alias = f"; the server is {own}" if own and own != given else ""
    return Finding(f"{given} accepted{alias}", details={"server_name": given, "dbservername": own})


def _own_name(attempt: LoginAttempt) -> str:
    """The DBSERVERNAME in the login reply."""
    return visible(attempt.reply.server.decode("latin-1")) if attempt.reply is not None else ""


def user(attempt: LoginAttempt) -> Finding:
    """Who has logged in."""
    return Finding(f"as {attempt.options.user}", details={"user": attempt.options.user})


def version(attempt: LoginAttempt) -> Finding:
    """The server's version."""
    text = attempt.reply.version.decode("latin-1") if attempt.reply is not None else ""
    return Finding(visible(text), details={"version": visible(text)})


def capabilities(attempt: LoginAttempt) -> Finding:
    """The negotiated capabilities."""
    found = {name: value for name, value in asdict(attempt.capabilities).items() if isinstance(value, bool)}
    names = [name for name, value in found.items() if value]
    lacking = ", ".join(name for name, value in found.items() if not value) or "none"
    return Finding(f"{', '.join(names)}; not: {lacking}".replace("_", " "), details=found)


LOGIN_STEPS: Final[Mapping[str, Callable[[LoginAttempt], Finding]]] = {
    "server_name": server_name,
    "login": user,
    "version": version,
    "capabilities": capabilities,
}
"""The steps of a login that the server has answered, each with what it found."""


# -- rejected ---------------------------------------------------------------------------------------------------------


def failed_step(error: DatabaseError) -> str:
    """Which of `LOGIN_STEPS` has failed."""
    if error.sqlcode == _UNKNOWN_SERVER:
        return "server_name"
    if isinstance(error, NotSupportedError):
        return "capabilities"
    return "login"


async def explain_login(attempt: LoginAttempt, error: DatabaseError) -> Failed:
    """Why a login without a database failed, and what to change."""
    return Failed(_text(attempt, error), *_login_changes(attempt, error), **_codes(error))


def _text(attempt: LoginAttempt, error: DatabaseError) -> str:
    """The message without its guess what listens, which is known by now."""
    return str(error).removesuffix(attempt.hint) if attempt.hint else str(error)


def _codes(error: DatabaseError) -> dict[str, int]:
    return {"sqlcode": error.sqlcode, "isamcode": error.isamcode} if error.sqlcode else {}


def _login_changes(attempt: LoginAttempt, error: DatabaseError) -> tuple[DiagnosisChange, ...]:
    options, reply = attempt.options, attempt.reply
    if error.sqlcode == _UNKNOWN_SERVER:
        own = _own_name(attempt)
        return (
            DiagnosisChange("server", own or "the DBSERVERNAME, or one of the DBSERVERALIASES, in onconfig"),
        )
    if reply is not None and (reply.type == LoginType.REDIRECT or reply.redirect is not None):
        return _redirect_changes(reply)
    if attempt.pam is not None and options.pam is not None:
        return (DiagnosisChange("pam", "a handler that answers what the server's PAM module asks"),)
    if attempt.pam is not None or isinstance(error, AuthenticationError):
        return (*_password_changes(options, error), *((_PAM,) if attempt.pam is not None else ()))
    if isinstance(error, LocaleError):
        return _locale_changes("")
    if isinstance(error, NotSupportedError):
        return (DiagnosisChange("the server", "version 12.10 or later"),)
    if error.sqlcode in _FULL:
        return (
            DiagnosisChange("the server", "more sessions (onconfig: LIMITNUMSESSIONS), or smaller pools"),
        )
    return _general(error)


_PAM: Final = DiagnosisChange("pam", "a callable, if the server's PAM module asks for more than the password")


def _password_changes(options: ConnectOptions, error: DatabaseError) -> tuple[DiagnosisChange, ...]:
    if options.password is None or error.sqlcode == _NO_TRUST:
        return (DiagnosisChange("password", f"the password of {options.user}; none was given"),)
    return (
        DiagnosisChange("password", f"the password of {options.user} on the server's machine"),
        DiagnosisChange("user", "a user that may log in there; the account may be locked or expired"),
    )


def _redirect_changes(reply: LoginReply) -> tuple[DiagnosisChange, ...]:
    target = redirect_target((reply.redirect or b"").decode("latin-1"))
    if target is None:
        return (DiagnosisChange("host", "the server itself instead of its connection manager"),)
    return (
        DiagnosisChange("allow_redirect_to", target.host),
        DiagnosisChange("host", f"{target}, with server={target.server}"),
    )


def _locale_changes(found: str) -> tuple[DiagnosisChange, ...]:
    if found:
        return (DiagnosisChange("db_locale", found), DiagnosisChange("locale", '"auto"'))
    return (DiagnosisChange("db_locale", "the database's locale, or locale='auto'"),)


CONNECTION_LOST: Final = DiagnosisChange(
    "the way to the server",
    "one that keeps connections open; the server's message log (onstat -m) may say why it closed this one",
)


def _general(error: DatabaseError) -> tuple[DiagnosisChange, ...]:
    """What is known of the SQLCODE; 0 if the server has not answered."""
    if not error.sqlcode:
        return (CONNECTION_LOST,)
    known = explain(error.sqlcode, error.isamcode)
    remedy = known.advice.remedy if known is not None else f"see finderr {error.sqlcode} on its machine"
    return (DiagnosisChange("the server", remedy),)


# -- database ---------------------------------------------------------------------------------------------------------


def is_locale_failure(error: DatabaseError) -> bool:
    """Whether a database was not opened because of its locale."""
    return isinstance(error, LocaleError)


def database_failure(
    attempt: LoginAttempt, error: DatabaseError, *, databases: list[str], locale: str
) -> Failed:
    """Why the database was not opened, and what to change.

    Args:
        databases: those of the server.
        locale: the database's; empty if it is unknown.
    """
    changes = _database_changes(attempt.options, error, databases, locale)
    return Failed(_text(attempt, error), *changes, **_codes(error))


def _database_changes(
    options: ConnectOptions, error: DatabaseError, databases: list[str], locale: str
) -> tuple[DiagnosisChange, ...]:
    if is_locale_failure(error):
        return _locale_changes(locale)
    name, user = options.database, options.user
    if error.sqlcode == _NO_CONNECT or (error.sqlcode in _NO_DATABASE and name in databases):
        return (
            DiagnosisChange("the database", f"CONNECT privilege: GRANT CONNECT TO {user}"),
            DiagnosisChange("user", f"one with the CONNECT privilege on {name}"),
        )
    if error.sqlcode in _NO_DATABASE:
        others = f"one of {', '.join(databases)}" if databases else "the name of a database of this server"
        return (DiagnosisChange("database", others),)
    return _general(error)


# -- the open database ------------------------------------------------------------------------------------------------


def locale(options: ConnectOptions, found: str | DatabaseError) -> Finding:
    """The database's locale beside that of the connection.

    Args:
        options: those that the connection was opened with.
        found: the database's locale, or why it is unknown.

    Raises:
        Failed: their code sets differ.
    """
    if isinstance(found, DatabaseError):
        return Finding(str(found), outcome="skipped")
    own = options.db_locale or options.client_locale or DEFAULT_LOCALE
    details = {"database": found, "connection": own, "code_set": options.code_set.codec}
    if not found:
        return Finding(f"the server does not tell it; yours is {own}", (), details, "skipped")
    try:
        codec = code_set_of(found).codec
    except InterfaceError:
        return Finding(
            f"the database has {found}, whose code set is not supported here", (), details, "warning"
        )
    if codec != options.code_set.codec:
        raise Failed(f"the database has {found}, the connection {own}", *_locale_changes(found), **details)
    return Finding(f"the database has {found}, the connection {own}: the same code set", details=details)


def log_mode(database: Database, options: ConnectOptions) -> Finding:
    """The logging mode of the open database.

    Raises:
        Failed: it has no log, and the options need one.
    """
    details = {"log_mode": database.log_mode}
    if database.is_ansi:
        return Finding("ansi: a transaction is always open", details=details)
    if database.is_logged:
        return Finding("logged: it has transactions", details=details)
    found = "unlogged: it has no transactions"
    logged = DiagnosisChange(
        "the database", "a log, if you need transactions: ondblog or ontape on the server"
    )
    if not options.autocommit:
        raise Failed(found, DiagnosisChange("autocommit", "True"), logged, **details)
    return Finding(found, (logged,), details, "warning")


def role(database: Database, options: ConnectOptions) -> Finding:
    """The server's role in its cluster.

    Raises:
        Failed: it is not the one that the options need.
    """
    found: Role = "secondary" if database.warnings & OpenWarning.SECONDARY else "primary"
    details = {"role": found}
    if options.role not in ("any", found):
        raise Failed(
            f"{found}, but role={options.role!r}",
            DiagnosisChange("host", f"a {options.role} server of the cluster"),
            DiagnosisChange("role", f'"{found}", or "any"'),
            **details,
        )
    alone = "primary, or not in a cluster" if found == "primary" else "secondary: writes may be rejected"
    return Finding(alone, details=details)
