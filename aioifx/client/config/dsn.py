"""The three ways to write a connection on one line, taken apart: URL, JDBC's, ODBC's. Never: what a value means.

House rules:
1. Nothing of the text stands in a message but names left of a "=": a slip in the quoting may turn any other part
   into a piece of the password.
2. A setting of another driver that changes what its user sees is refused, never dropped; what only steers that
   driver's own machinery is dropped.

Source: the keywords of JDBC and ODBC are documented (JDBC Driver Guide, ODBC Driver Guide); what JDBC's do on the
wire was observed (session.json).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple
from urllib.parse import unquote

from aioifx.errors import InterfaceError

_URL: Final = "informix://"
_JDBC: Final = ("jdbc:informix-sqli:", "jdbc:informix:")
"""The second one is new with version 15 (documented)."""

_OPTION: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_VARIABLE: Final = re.compile(r"[A-Z][A-Z0-9_]*")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")

# Variables that have an option of their own, in whatever form they are written.
_VARIABLE_OPTIONS: Final[Mapping[str, str]] = {
    "CLIENT_LOCALE": "client_locale",
    "DB_LOCALE": "db_locale",
    "INFORMIXSERVER": "server",
    "INFORMIXSQLHOSTS": "sqlhosts",
    "INFORMIXCONRETRY": "connect_retries",
}
_JDBC_OPTIONS: Final[Mapping[str, str]] = {
    **_VARIABLE_OPTIONS,
    "USER": "user",
    "PASSWORD": "password",
    "SSLCONNECTION": "ssl",
    "IFX_LOCK_MODE_WAIT": "lock_wait",
    "SQLH_FILE": "sqlhosts",
}
# What JDBC was seen to send for them (session.json). For 0, 5 and 8 it sends COMMITTED READ, which is not what is
# documented of them, and a U behind the number keeps update locks: none of that has a name here.
_JDBC_ISOLATIONS: Final = {"1": "dirty_read", "2": "committed_read", "4": "repeatable_read"}
# No trace of them on the wire (observed), and none in results: buffers, caches, and when messages are sent.
_JDBC_MACHINERY: Final = frozenset(
    {
        "BIG_FET_BUF_SIZE",
        "ENABLE_CACHE_TYPE",
        "ENABLE_TYPE_CACHE",
        "FETBUFSIZE",
        "IFX_AUTOFREE",
        "IFX_DEFERRED_PREPARE",
        "IFX_USEPUT",
        "JDBCTEMP",
        "LOBCACHE",
    }
)
_ODBC_OPTIONS: Final[Mapping[str, str]] = {
    **_VARIABLE_OPTIONS,
    "CLOC": "client_locale",
    "DLOC": "db_locale",
    "HOST": "host",
    "SERV": "service",
    "SERVICE": "service",
    "SERVER": "server",
    "SRVR": "server",
    "DATABASE": "database",
    "DB": "database",
    "UID": "user",
    "LOGONID": "user",
    "PWD": "password",
    "PASSWORD": "password",
}
_ODBC_PROTOCOLS: Final = {
    "onsoctcp": "false",
    "olsoctcp": "false",
    "ontlitcp": "false",
    "onsocssl": "true",
    "olsocssl": "true",
}


class Parts(NamedTuple):
    """What a DSN says, as text: options by their names here, and Informix environment variables."""

    options: dict[str, str]
    environment: dict[str, str]

    def put(self, name: str, text: str) -> None:
        """Add an option.

        Raises:   InterfaceError: the DSN has said it before.
        """
        if name in self.options:
            raise InterfaceError(f"{name}: the DSN gives it twice")
        self.options[name] = text

    def put_variable(self, name: str, text: str) -> None:
        """Add an environment variable.

        Raises:   InterfaceError: the DSN has said it before.
        """
        if not _VARIABLE.fullmatch(name):
            raise InterfaceError("dsn: a name in it is none; ';' in a value is the usual reason")
        if name in self.environment:
            raise InterfaceError(f"environment: the DSN gives {name} twice")
        self.environment[name] = text


def split_dsn(dsn: str) -> Parts:
    """Take a DSN apart, in whichever of the three forms it is written.

    Raises:   InterfaceError: none of them, or something twice.
    """
    head = dsn[:32].lower()
    if head.startswith(_URL):
        return _split_url(dsn[len(_URL) :])
    for scheme in _JDBC:
        if head.startswith(scheme):
            return _split_jdbc(dsn[len(scheme) :])
    if "=" in dsn and not _SCHEME.match(dsn) and not head.startswith("jdbc:"):
        return _split_odbc(dsn)
    raise InterfaceError(
        "dsn: must be informix://user:password@host:port/database?server=name, "
        "a JDBC URL (jdbc:informix-sqli://..., jdbc:informix://...) or an ODBC connection string (HOST=...;SERVER=...)"
    )


# -- informix:// ------------------------------------------------------------------------------------------------------


def _split_url(rest: str) -> Parts:
    if "#" in rest:
        raise InterfaceError("dsn: '#' must be written %23")
    rest, _, query = rest.partition("?")
    authority, _, path = rest.partition("/")
    if "@" in path or "/" in path:
        raise InterfaceError(
            "database: has '@' or '/'; in the password, '/' must be written %2F, '?' %3F and '#' %23"
        )
    parts = Parts({}, {})
    credentials, at, address = authority.rpartition("@")
    if at:
        user, colon, password = credentials.partition(":")
        if user:
            parts.put("user", _unquoted("user", user))
        if colon:
            parts.put("password", _unquoted("password", password))
    _put_address(parts, address)
    if path:
        parts.put("database", _unquoted("database", path))
    for pair in filter(None, query.split("&")):
        key, equals, text = pair.partition("=")
        if not equals:
            raise InterfaceError("dsn: a part of the query has no '='; in a value, '&' must be written %26")
        key = _unquoted("dsn", key)
        if key in _VARIABLE_OPTIONS:
            parts.put(_VARIABLE_OPTIONS[key], _unquoted(key, text))
        elif _VARIABLE.fullmatch(key):
            parts.put_variable(key, _unquoted(key, text))
        elif _OPTION.fullmatch(key):
            parts.put(key, _unquoted(key, text))
        else:
            raise InterfaceError("dsn: a name in the query is none; '&' in a value is the usual reason")
    return parts


def _unquoted(name: str, text: str) -> str:
    if _BAD_ESCAPE.search(text):
        raise InterfaceError(f"{name}: '%' must be written %25 in a DSN")
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise InterfaceError(f"{name}: its %-escapes are not UTF-8") from None


def _put_address(parts: Parts, address: str) -> None:
    """``host``, ``host:port``, ``[v6]`` or ``[v6]:port``; several with commas are a host of several."""
    if "," in address:
        parts.put("host", _unquoted("host", address))
        return
    if address.startswith("["):
        host, bracket, port = address[1:].partition("]")
        if not bracket or port[:1] not in ("", ":"):
            raise InterfaceError("host: a bracketed IPv6 address must be [address] or [address]:port")
        port = port.removeprefix(":")
    else:
        host, _, port = address.partition(":")
        if ":" in port:
            raise InterfaceError("host: an IPv6 address must stand in brackets")
    if host:
        parts.put("host", _unquoted("host", host))
    if port:
        parts.put("port", port)


# -- JDBC -------------------------------------------------------------------------------------------------------------


def _split_jdbc(rest: str) -> Parts:
    """``//host:port/database:NAME=value;NAME=value``; address and database may be missing."""
    parts = Parts({}, {})
    if rest.startswith("//"):
        # The address ends at the database's slash, or at the colon before the first NAME=.
        before, equals, settings = rest[2:].partition("=")
        address, colon, first = before.rpartition(":") if equals else (before, "", "")
        if equals and not colon:
            raise InterfaceError("dsn: a JDBC URL is //host:port/database:NAME=value;NAME=value")
        address, _, database = address.partition("/")
        _put_address(parts, address)
        if database:
            parts.put("database", database)
        rest = f"{first}={settings}" if equals else ""
    for pair in filter(str.strip, rest.split(";")):
        name, equals, text = pair.partition("=")
        if not equals:
            raise InterfaceError("dsn: a part of the JDBC URL has no '='")
        _put_jdbc(parts, name.strip().upper(), text.strip())
    return parts


def _put_jdbc(parts: Parts, name: str, text: str) -> None:
    if name in _JDBC_OPTIONS:
        parts.put(_JDBC_OPTIONS[name], text)
    elif name == "LOGINTIMEOUT":  # milliseconds (documented)
        if not (text.isascii() and text.isdecimal()):
            raise InterfaceError("LOGINTIMEOUT: must be a number of milliseconds")
        parts.put("connect_timeout", str(int(text) / 1000))
    elif name == "IFX_ISOLATION_LEVEL":
        if text not in _JDBC_ISOLATIONS:
            raise InterfaceError(f"{name}: must be one of {', '.join(_JDBC_ISOLATIONS)}; or give isolation=")
        parts.put("isolation", _JDBC_ISOLATIONS[text])
    elif name == "SQLH_TYPE":
        if text.upper() != "FILE":
            raise InterfaceError("SQLH_TYPE: must be FILE; servers are looked up in no other place")
    elif name.startswith("SSL_"):
        raise InterfaceError(
            f"{name}: Java's trust stores are not read here; give PEM files as ssl_ca, ssl_cert and ssl_key"
        )
    elif name not in _JDBC_MACHINERY:
        parts.put_variable(name, text)


# -- ODBC -------------------------------------------------------------------------------------------------------------


def _split_odbc(dsn: str) -> Parts:
    parts = Parts({}, {})
    for name, text in _odbc_pairs(dsn):
        if name in _ODBC_OPTIONS:
            is_port = _ODBC_OPTIONS[name] == "service" and text.isdecimal()
            parts.put("port" if is_port else _ODBC_OPTIONS[name], text)
        elif name in ("PROTOCOL", "PRO"):
            if text.lower() not in _ODBC_PROTOCOLS:
                raise InterfaceError(f"{name}: must be one of {', '.join(_ODBC_PROTOCOLS)}")
            parts.put("ssl", _ODBC_PROTOCOLS[text.lower()])
        elif name in ("DSN", "FILEDSN"):
            raise InterfaceError(
                f"{name}: data source names are not looked up; give HOST, SERVICE and SERVER"
            )
        elif name != "DRIVER":
            parts.put_variable(name, text)
    return parts


def _odbc_pairs(text: str) -> Iterator[tuple[str, str]]:
    """``NAME=value;NAME={value}``; in braces, a semicolon stands for itself and ``}}`` for one brace."""
    pos = 0
    while (pos := _behind_blanks(text, pos)) < len(text):
        equals = text.find("=", pos)
        if equals < 0:
            raise InterfaceError("dsn: a part of the ODBC connection string has no '='")
        name = text[pos:equals].strip().upper()
        start = _behind_blanks(text, equals + 1, " ")
        if braced := _BRACED.match(text, start):
            yield name, braced[1].replace("}}", "}")
            pos = braced.end()
        elif text.startswith("{", start):
            raise InterfaceError(f"{name}: its brace must be closed, and a ';' follow")
        else:
            end = text.find(";", start)
            end = len(text) if end < 0 else end
            yield name, text[start:end].strip()
            pos = end


_BRACED: Final = re.compile(r"\{((?:[^}]++|\}\})*+)\}\s*+(?=;|\Z)")


def _behind_blanks(text: str, pos: int, blanks: str = " ;\t\r\n") -> int:
    while pos < len(text) and text[pos] in blanks:
        pos += 1
    return pos
