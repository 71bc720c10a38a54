"""Logging in with the database's own locale, learnt from the server where options say so. Never: what text looks like.

House rules:
1. A locale is asked for once in a process for each address and database, and again only when the answer is refused.
2. A connection whose text would be in another code set than the database's is not handed out.
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
"""Host, port, server and database -> the database's locale."""


async def log_in(attempt: LoginAttempt, password: str) -> Connection[Any]:
    """`LoginAttempt.log_in` after `reach`; with ``locale="auto"``, in the database's locale.

    Raises:   DatabaseError: whatever it is that keeps us out.
    """
    options = attempt.options
    if options.locale != "auto" or not options.database:
        return await _log_in(attempt, password)
    key = (attempt.address.host, attempt.address.port, attempt.address.server, options.database)
    is_fresh = key not in _known and options.client_locale is None and options.db_locale is None
    if is_fresh:
        await _learn(key, attempt, password)
    if key in _known:
        attempt.options = _in_locale(options, _known[key])
    try:
        return await _log_in(attempt, password)
    except LocaleError:
        if is_fresh:
            raise
    await _learn(key, attempt, password)
    attempt.options = _in_locale(options, _known[key])
    attempt.drop()
    await attempt.reach()
    return await _log_in(attempt, password)


async def _log_in(attempt: LoginAttempt, password: str) -> Connection[Any]:
    """A connection in whose locale the database is.

    Source:   documented: a server may ignore a locale that does not match, and say so by a warning (GLS guide, Verify
              the database locale)
    """
    conn = await attempt.log_in(password)
    if attempt.locale_ignored:
        found = await _asked(attempt, password)
        if found and code_set_of(found).codec != attempt.options.code_set.codec:
            conn.terminate()
            raise LocaleError(
                f"{attempt.where}: the locale of database {attempt.options.database} is {found}; "
                'give it as db_locale, or locale="auto"',
                sqlcode=_MISMATCH,
            )
    return conn


async def _learn(key: _Key, attempt: LoginAttempt, password: str) -> None:
    """Ask and remember; a database that the server does not know has the default locale, and is refused later."""
    found = await _asked(attempt, password)
    if len(_known) >= _MAX_KNOWN:
        _known.clear()
    _known[key] = found or DEFAULT_LOCALE


async def _asked(attempt: LoginAttempt, password: str) -> str:
    """The locale of the attempt's database, over a connection of its own; empty when the server does not know it.

    That connection names no DB_LOCALE: sysmaster has the server's own, as a client that names none (assumed).
    """
    asking = LoginAttempt(attempt.options.for_question(_SYSMASTER), attempt.address)
    asking.says_db_locale = False
    try:
        await asking.reach()
        conn = await asking.log_in(password)
    finally:
        asking.drop_unless_done()
    try:
        found = await conn.fetchval(_QUERY, attempt.options.database.lower())
    except DatabaseError as error:
        conn.terminate()
        raise ConnectError(
            f"{attempt.where}: the database's locale could not be asked for: {error}"
        ) from error
    except BaseException:
        conn.terminate()
        raise
    await conn.close()
    return str(found or "").rstrip()


def _in_locale(options: ConnectOptions, locale: str) -> ConnectOptions:
    try:
        return options.in_locale(locale)
    except InterfaceError:
        raise LocaleError(
            f"the locale of database {options.database} is {locale!r}, whose code set is unknown here"
        ) from None
