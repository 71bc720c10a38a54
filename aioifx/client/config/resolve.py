"""ConnectOptions resolved from keywords, DSN and process environment. Never: a socket, the range of a value.

Invariants:
1. Precedence: keywords, then the DSN, then the process environment, then the defaults.
2. A message shows a value only where it cannot be a piece of a badly quoted password.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, Mapping
from types import NoneType
from typing import Any, Final

from aioifx.client.config.checks import check_seconds
from aioifx.client.config.dsn import split_dsn
from aioifx.client.config.environment import OPTION_OF, checked_variables, raw_environment
from aioifx.client.config.option_kinds import whole_from_text
from aioifx.client.config.options import KINDS, MIN_FETCH_SIZE, AllOptionFields, ConnectOptions
from aioifx.client.sql.hints import closest
from aioifx.errors import InterfaceError

_NO_OPTIONS: Final[AllOptionFields] = {}


def resolve(
    dsn: str | None,
    options: AllOptionFields,
    environ: Mapping[str, str] = os.environ,
    *,
    also: Collection[str] = (),
    defaults: AllOptionFields = _NO_OPTIONS,
) -> ConnectOptions:
    """Merge keywords, DSN, process environment and defaults.

    Args:
        also: further keywords of the calling function, for hints.
        defaults: those that differ from the fields of ConnectOptions.

    Raises:
        InterfaceError: an option is unknown, missing, invalid, or contradicts another.
    """
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    for name in options:
        _check_known(name, also)
    variables = dict(checked_variables(given.pop("environment", {})))
    if dsn is not None:
        if not isinstance(dsn, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InterfaceError(f"dsn: expected a str, got {type(dsn).__name__}")
        from_dsn = split_dsn(dsn)
        variables = {**checked_variables(from_dsn.environment), **variables}
        for name, text in from_dsn.options.items():
            if name == "service":  # ODBC's option for the port, by service name
                given.setdefault("port", _port_of(text))
                continue
            _check_known(name)
            given.setdefault(name, _from_text(name, text))
    _add_environ(given, variables, environ)
    if "fetch_size" not in given and (size := variables.get("FET_BUF_SIZE")) is not None:
        # As in JDBC: the variable sets the buffer size, and a value below 4096 is ignored (observed: select.json).
        given["fetch_size"] = max(whole_from_text("FET_BUF_SIZE", size), MIN_FETCH_SIZE)
    for name, value in defaults.items():
        given.setdefault(name, value)
    if not given.get("user"):
        given["user"] = _operating_system_user(environ)
    # The types of keyword values are not checked here; ConnectOptions checks them.
    return ConnectOptions(environment=variables, **given)


_PLAIN: Final = frozenset({str, int, float, bool, NoneType})
"""Types whose equal values have equal effects."""
_MAX_KNOWN: Final = 16
_known: Final[dict[object, tuple[ConnectOptions, Mapping[object, object]]]] = {}
"""Results by arguments, each with the process environment at the time."""


def resolve_again(dsn: str | None, options: AllOptionFields) -> ConnectOptions:
    """`resolve`, cached by its arguments. The result must not be modified."""
    values = tuple(options.values())
    kinds = tuple(map(type, values))  # True and 1 are the same key in a dict
    if not (isinstance(dsn, str) and _PLAIN.issuperset(kinds)):
        return resolve(dsn, options)
    key = (dsn, tuple(options), values, kinds)
    environment = raw_environment()
    found = _known.get(key)
    if found is not None and found[1] == environment:
        return found[0]
    resolved = resolve(dsn, options)
    if len(_known) >= _MAX_KNOWN:
        _known.clear()
    _known[key] = resolved, dict(environment)
    return resolved


def parse_dsn(dsn: str) -> ConnectOptions:
    """The options that ``connect(dsn)`` would use if the process environment were empty.

    *dsn* is ``informix://user:password@host:port/database?server=name&option=value&VARIABLE=value``, a JDBC URL
    (``jdbc:informix-sqli:`` or ``jdbc:informix:``) or an ODBC connection string (``HOST=...;SERVER=...``).
    """
    return resolve(dsn, {}, {})


def _add_environ(given: dict[str, Any], variables: dict[str, str], environ: Mapping[str, str]) -> None:
    """Add options from the process environment that neither keywords nor DSN set."""
    for variable, name in OPTION_OF.items():
        if name not in given and environ.get(variable):
            given[name] = _from_text(name, environ[variable])
    if environ.get("DBDATE") and not variables.keys() & {"DBDATE", "GL_DATE"}:
        variables.update(checked_variables({"DBDATE": environ["DBDATE"]}))
    if "sqlhosts" not in given and not given.get("host"):
        if environ.get("INFORMIXSQLHOSTS"):
            given["sqlhosts"] = environ["INFORMIXSQLHOSTS"]
        elif environ.get("INFORMIXDIR"):
            given["sqlhosts"] = os.path.join(environ["INFORMIXDIR"], "etc", "sqlhosts")
    seconds = variables.get("INFORMIXCONTIME") or environ.get("INFORMIXCONTIME")
    if "connect_timeout" not in given and seconds:
        given["connect_timeout"] = float(whole_from_text("INFORMIXCONTIME", seconds))
        check_seconds("INFORMIXCONTIME", given["connect_timeout"])


def _operating_system_user(environ: Mapping[str, str]) -> str:
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        if name := environ.get(variable):
            return name
    from getpass import getuser  # imported here because it is rarely needed

    try:
        return getuser()
    except (OSError, KeyError, ImportError):
        raise InterfaceError("user: missing, and the operating system does not provide one") from None


POOL_OPTIONS: Final = (
    "min_size", "max_size", "acquire_timeout", "max_waiting", "max_lifetime", "max_idle", "check_after_idle",
    "init", "setup", "reset", "name", "debug", "slow_release",
)  # fmt: skip
"""Keywords of create_pool alone."""

_OTHERS_NAMES: Final = {
    "timeout": "connect_timeout command_timeout", "login_timeout": "connect_timeout", "username": "user",
    "passwd": "password", "pwd": "password", "hostname": "host", "db": "database", "dbname": "database", "url": "dsn",
    "uri": "dsn", "connection_string": "dsn", "encoding": "db_locale", "charset": "db_locale", "tls": "ssl",
    "ssl_verify": "ssl ssl_ca", "env": "environment", "minsize": "min_size", "maxsize": "max_size",
    "pool_size": "max_size", "retries": "connect_retries", "query_timeout": "command_timeout",
}  # fmt: skip
"""Option names of other clients, with the equivalent names of aioifx, separated by blanks."""


def _check_known(name: str, also: Collection[str] = ()) -> None:
    fields = AllOptionFields.__annotations__
    if name in fields:
        return
    known = ("dsn", *fields, *also)
    meant = _OTHERS_NAMES.get(name) or (name if name in POOL_OPTIONS else "")
    if not meant and (close := closest(name, (*known, *_OTHERS_NAMES))):
        meant = _OTHERS_NAMES.get(close, close)
    names = meant.split()
    if len(names) == 1 and meant in POOL_OPTIONS and meant not in also:
        hint = f"; {meant} is a keyword of create_pool"
    else:
        hint = f"; did you mean {' or '.join(map(repr, names))}?" if names else ""
    raise InterfaceError(f"{name}: unknown option{hint}")


def _from_text(name: str, text: str) -> object:
    read = KINDS[name].from_text
    if read is None:
        raise InterfaceError(f"{name}: not supported in a DSN under this name")
    return read(name, text)


def _port_of(service: str) -> int:
    """The port of a service, by number or by name in this machine's list of services."""
    try:
        return int(service) if service.isdecimal() else socket.getservbyname(service, "tcp")
    except (OSError, ValueError, UnicodeError):
        raise InterfaceError(
            "SERVICE: expected a port or a name in this machine's list of services"
        ) from None
