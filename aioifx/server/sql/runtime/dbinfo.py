"""DBINFO: values of a session and its server, by name. Never: where the values come from.

An option that is not in these tables is -728, even if a real server supports it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.runtime.datetimes import full_form
from aioifx.server.sql.runtime.numerics import whole
from aioifx.sqltypes import Value

_OPTIONS: Final[Mapping[str, Callable[[Settings], Stored]]] = {
    "sqlca.sqlerrd1": lambda settings: settings.last_serial,
    "sqlca.sqlerrd2": lambda settings: settings.affected,
    "serial8": lambda settings: settings.last_serial8,
    "bigserial": lambda settings: settings.last_bigserial,
    "sessionid": lambda settings: settings.session_id,
    "dbname": lambda settings: settings.database,
    "dbhostname": lambda settings: settings.host,
    "cdrsession": lambda settings: 0,  # 1 in a transaction that is replicated (documented)
    "get_tz": lambda settings: settings.time_zone or None,
    "utc_current": lambda settings: int(settings.now.timestamp()),
}

_VERSION_PARTS: Final[Mapping[str, Callable[[Settings], Stored]]] = {
    "full": lambda settings: settings.version.full,
    "server-type": lambda settings: settings.version.server_type,
    "major": lambda settings: settings.version.major,
    "minor": lambda settings: settings.version.minor,
    "os": lambda settings: settings.version.os,
    "level": lambda settings: settings.version.level,
}


def dbinfo(settings: Settings, option: str | None) -> Stored:
    """DBINFO(option)."""
    return _answer(_OPTIONS, option, settings)


def dbinfo_about(settings: Settings, option: str | None, argument: Value) -> Stored:
    """DBINFO('version', part), DBINFO('utc_to_datetime', seconds) and DBINFO('dbspace', partnum)."""
    match _name(option):
        case "version":
            return _answer(_VERSION_PARTS, argument, settings)
        case "utc_to_datetime":
            return None if argument is None else _local_time(whole(argument))
        case "dbspace":
            return _dbspace(argument)
        case _:
            raise SqlError(-728)


def user(settings: Settings) -> Stored:
    """USER."""
    return settings.user


def server_name(settings: Settings) -> Stored:
    """DBSERVERNAME and SITENAME."""
    return settings.server


def _name(option: Value) -> str:
    return str(option).strip(" ").lower()


def _answer(table: Mapping[str, Callable[[Settings], Stored]], option: Value, settings: Settings) -> Stored:
    answer = table.get(_name(option))
    if answer is None:
        raise SqlError(-728)
    return answer(settings)


def _dbspace(partnum: Value) -> str:
    """All tables are in the root dbspace.

    Source: documented: -727 for NULL and for the part numbers of pseudo tables
    """
    if partnum is None or whole(partnum) < _FIRST_PARTNUM:
        raise SqlError(-727)
    return "rootdbs"


_FIRST_PARTNUM: Final = 0x100000


def _local_time(seconds: int) -> str:
    try:
        return full_form(datetime.fromtimestamp(seconds))[:19]
    except (ValueError, OverflowError, OSError):
        raise SqlError(-1267) from None
