"""Login with the database's own locale, learnt from the server if options say so. Never: how text is encoded.

Invariants:
1. A locale is queried once per process, address and database, and again only if the server rejects it.
2. A connection whose code set differs from the database's is never returned.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from aioifx.client.api.connection import Connection
from aioifx.client.config.checks import DEFAULT_LOCALE
from aioifx.client.config.options import ConnectOptions
from aioifx.client.connect.login import LoginAttempt
from aioifx.codecs.text import code_set_of
from aioifx.errors import ConnectError, DatabaseError, InterfaceError, LocaleError

_SYSMASTER: Final = "sysmaster"
_QUERY: Final = "select dbs_collate from sysdbslocale where dbs_dbsname = ?"
_MAX_KNOWN: Final = 1000
_MISMATCH: Final = -23197

_Key: TypeAlias = tuple[str, int, str, str]
_known: Final[dict[_Key, str]] = {}
"""Database locale by host, port, server and database."""


async def log_in(attempt: LoginAttempt, password: str) -> Connection[Any]:
    """`LoginAttempt.log_in` after `connect`; with ``locale="auto"``, using the database's locale.

    Raises:
        DatabaseError: the login failed.
    """
    options = attempt.options
    if options.locale != "auto" or not options.database:
        return await _log_in(attempt, password)
    key = (attempt.address.host, attempt.address.port, attempt.address.server, options.database)
    known = _known.get(key)
    is_fresh = known is None and options.client_locale is None and options.db_locale is None
    if is_fresh:
        known = await _learn(key, attempt, password)
    if known is not None:
        attempt.options = _in_locale(options, known)
    try:
        return await _log_in(attempt, password)
    except LocaleError:
        if is_fresh:
            raise
    attempt.options = _in_locale(options, await _learn(key, attempt, password))
    attempt.drop()
    await attempt.connect()
    return await _log_in(attempt, password)


async def _log_in(attempt: LoginAttempt, password: str) -> Connection[Any]:
    """Log in, and check that the database has the locale of the connection.

    Source: documented: a server may ignore a locale that does not match, and signal it by a warning (GLS guide, Verify
    the database locale)
    """
    conn = await attempt.log_in(password)
    if attempt.is_locale_ignored:
        found = await query_locale(attempt, password)
        if found and code_set_of(found).codec != attempt.options.code_set.codec:
            conn.terminate()
            raise LocaleError(
                f"{attempt.where}: database {attempt.options.database} has the locale {found}; "
                'set db_locale to it, or use locale="auto"',
                sqlcode=_MISMATCH,
            )
    return conn


async def _learn(key: _Key, attempt: LoginAttempt, password: str) -> str:
    """Query and remember the locale. An unknown database gets the default locale; opening it fails later."""
    found = await query_locale(attempt, password) or DEFAULT_LOCALE
    if len(_known) >= _MAX_KNOWN:
        _known.clear()
    _known[key] = found
    return found


async def query_locale(attempt: LoginAttempt, password: str) -> str:
    """The locale of the attempt's database, queried over a separate connection; empty if the server has none."""
    name = attempt.options.database.lower()
    found = await query_sysmaster(attempt, password, "the database's locale", _QUERY, name)
    return found[0] if found else ""


async def query_sysmaster(
    attempt: LoginAttempt, password: str, what: str, sql: str, *params: str
) -> list[str]:
    """The first column of a query in the sysmaster of the attempt's server, over a separate connection; texts.

    That connection sends no DB_LOCALE: sysmaster has the server's locale, which applies to such a client (assumed).

    Args:
        what: what the query finds, for the message.
    """
    asking = LoginAttempt(attempt.options.for_question(_SYSMASTER), attempt.address)
    asking.sends_db_locale = False
    try:
        await asking.connect()
        conn = await asking.log_in(password)
    finally:
        asking.drop_unless_done()
        attempt.pam = asking.pam  # if it timed out, the attempt is final, too
    try:
        rows = await conn.fetch(sql, *params)
    except DatabaseError as error:
        conn.terminate()
        raise ConnectError(f"{attempt.where}: {what} could not be queried: {error}") from error
    except BaseException:
        conn.terminate()
        raise
    await conn.close()
    return [str(row[0] or "").rstrip() for row in rows]


def _in_locale(options: ConnectOptions, locale: str) -> ConnectOptions:
    try:
        return options.in_locale(locale)
    except InterfaceError:
        raise LocaleError(
            f"database {options.database} has the locale {locale!r}, whose code set is not supported"
        ) from None
