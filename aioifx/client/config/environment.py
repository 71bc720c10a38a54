"""Environment variables sent to the server: the message and the order of each; the process's own. Never: an option.

Evidence: the message of each variable, login or SQ_INFO, and the order are observed. JDBC's login.json and session.json
contain each variable alone. The orders are those of one Java hash table, so they also follow for combinations. The
order of names that share a bucket and never occur together is assumed. Servers accept any order.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from aioifx.client.sql.hints import did_you_mean
from aioifx.errors import InterfaceError


def environment_variable(name: str) -> str | None:
    """``os.environ.get(name)``.

    `os.environ` raises and catches an exception for each variable that is missing, as most are. Reading the dictionary
    inside it saves 4 % of a connect's instructions (measured).
    """
    environ: Any = os.environ
    try:
        raw = environ._data.get(environ.encodekey(name))
    except AttributeError:  # `os.environ` was replaced by another mapping
        found: str | None = environ.get(name)
        return found
    value: str | None = None if raw is None else environ.decodevalue(raw)
    return value


def raw_environment() -> Mapping[object, object]:
    """All variables, encoded as the platform has them if possible; only for comparisons."""
    environ: Any = os.environ
    raw: Mapping[object, object] = getattr(environ, "_data", environ)
    return raw


Pairs: TypeAlias = tuple[tuple[bytes, bytes], ...]

_MAX_ENVIRONMENT: Final = 32_000
"""Maximum bytes of all variables together, since a login has a 16-bit length."""

# Variables of the login, in JDBC's order. CLNT_PAM_CAPABLE announces that the client answers PAM challenges; servers
# without PAM take it, too (observed: JDBC; informix-driver on 12.10 to 15).
_LOGIN_ORDER: Final = (
    "GL_DATE",
    "DBPATH",
    "CLIENT_LOCALE",
    "DBSPACETEMP",
    "CLNT_PAM_CAPABLE",
    "DBDATE",
    "IFX_UPDDESC",
    "DELIMIDENT",
    "STMT_CACHE",
    "DB_LOCALE",
    "INFORMIXSTACKSIZE",
    "NODEFDAC",
    # The others are sent only by other clients, and accepted by 11.50 and GBase 8s (observed). The position is assumed.
    "DBMONEY",
    "LKNOTIFY",
    "LOCKDOWN",
    "SINGLELEVEL",
    "SKALL",
    "SKINHIBIT",
    "SKSHOW",
    "SQLMODE",
)
# Variables of SQ_INFO, in JDBC's order.
_SESSION_ORDER: Final = (
    "DBTIME",
    "INFORMIXCONTIME",
    "PDQPRIORITY",
    "FET_BUF_SIZE",
    "IFX_DIRECTIVES",
    "PSORT_NPROCS",
    "DBTEMP",
    "DBANSIWARN",
    "INFORMIXOPCACHE",
    "OPTOFC",
    "SUBQCACHESZ",
    "IFX_FLAT_UCSQ",
    "IFX_EXTDIRECTIVES",
    "OPTCOMPIND",
    "CLIENT_LABEL",
    "DBUPSPACE",
    "DBCENTURY",
    "OPT_GOAL",
)
_ALWAYS: Final[Mapping[str, str]] = {
    "DBPATH": ".",
    "CLNT_PAM_CAPABLE": "1",
    "IFX_UPDDESC": "1",
    "NODEFDAC": "no",
    "DBTEMP": "/tmp",
    "SUBQCACHESZ": "10",
}
# Variables that have an option of their own.
OPTION_OF: Final = {
    "CLIENT_LOCALE": "client_locale",
    "DB_LOCALE": "db_locale",
    "INFORMIXSERVER": "server",
    "INFORMIXCONRETRY": "connect_retries",
}
_RESERVED: Final = {
    "CLNT_PAM_CAPABLE": "it is always sent",
    "IFX_UPDDESC": "it describes the capabilities of this client",
    "IFX_PAD_VARCHAR": "it changes how rows are sent, and padded VARCHARs are not supported",
}


def login_pairs(variables: Mapping[str, str]) -> Pairs:
    """The variables of the login: *variables* and the ones that are always sent, in JDBC's order."""
    variables = {**_ALWAYS, **variables}
    if "GL_DATE" in variables:
        variables.pop("DBDATE", None)  # GL_DATE also replaces the default of DBDATE (observed)
    return _pairs(_LOGIN_ORDER, variables)


def session_pairs(variables: Mapping[str, str]) -> Pairs:
    """The variables of SQ_INFO: *variables* and the ones that are always sent, in JDBC's order.

    OPTOFC=1 lets the server close a cursor together with its last rows, which saves the round trip of CLOSE (observed:
    JDBC with OPTOFC=1, select.json; documented: a CLOSE after that is not an error).
    Assumed: servers then send SQ_CLOSE with the last rows.
    OPTOFC=0 is sent, because the variable may be set at the server for every client (documented).
    Assumed: servers accept it like any other value; JDBC omits it.
    """
    return _pairs(_SESSION_ORDER, {**_ALWAYS, **variables})


def _pairs(order: tuple[str, ...], variables: Mapping[str, str]) -> Pairs:
    return tuple(
        (name.encode("ascii"), variables[name].encode("ascii")) for name in order if name in variables
    )


def checked_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """A copy with checked names and values.

    Raises:
        InterfaceError: a name is unknown or reserved, or a value cannot be sent.
    """
    if not isinstance(environment, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise InterfaceError(
            f"environment: expected a mapping of str to str, got {type(environment).__name__}"
        )
    checked = dict(_each_checked(environment))
    if sum(len(name) + len(value) + 6 for name, value in checked.items()) > _MAX_ENVIRONMENT:
        raise InterfaceError(f"environment: longer than {_MAX_ENVIRONMENT} bytes")
    if "GL_DATE" in checked and "DBDATE" in checked:
        raise InterfaceError("environment: GL_DATE and DBDATE cannot be combined")
    return checked


def _each_checked(environment: Mapping[Any, Any]) -> Iterator[tuple[str, str]]:
    for name, value in environment.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise InterfaceError(
                f"environment: expected a mapping of str to str, got {type(name).__name__} to {type(value).__name__}"
            )
        if name in OPTION_OF:
            raise InterfaceError(f"environment: use the option {OPTION_OF[name]} instead of {name}")
        if name in _RESERVED:
            raise InterfaceError(f"environment: {name} cannot be set; {_RESERVED[name]}")
        if name not in _LOGIN_ORDER and name not in _SESSION_ORDER:
            raise InterfaceError(
                f"environment: unknown variable {name!r}{did_you_mean(name, _LOGIN_ORDER + _SESSION_ORDER)}"
            )
        if not value.isascii() or "\0" in value:
            raise InterfaceError(f"environment: expected ASCII without NUL as the value of {name}")
        yield name, value
