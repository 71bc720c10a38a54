"""Parsing of a DSN in its three forms: URL, JDBC URL, ODBC connection string. Never: the meaning of a value.

Invariants:
1. A message shows nothing of the text but names left of a "=". After a quoting mistake, any other part may be a piece
   of the password.
2. A setting of another driver that changes results is rejected, never ignored. One that only tunes that driver's
   internals is ignored.

Source: the keywords of JDBC and ODBC are documented (JDBC Driver Guide, ODBC Driver Guide). The effect of JDBC's
keywords on the wire was observed (session.json). The properties of jdbc:informix:, in any case, and their effects were
observed with JDBC 15.0.1.0; that loginTimeout is in milliseconds there, too, is assumed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from aioifx.client.config.addresses import split_host
from aioifx.errors import InterfaceError

_URL: Final = "informix://"
_JDBC: Final = ("jdbc:informix-sqli:", "jdbc:informix:")
"""The second prefix is new in version 15 (documented)."""

_OPTION: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_VARIABLE: Final = re.compile(r"[A-Z][A-Z0-9_]*")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ESCAPE: Final = re.compile(rb"%(..)")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")

# Variables that have an option of their own, however they are written.
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
    # Of jdbc:informix:
    "DATABASE": "database",
    "ENCRYPT": "ssl",
    "HOST": "host",
    "LOCKTIMEOUT": "lock_wait",
    "LOGINRETRIES": "connect_retries",
    "PORT": "port",
    "SERVERNAME": "server",
}
# The levels that JDBC sends for these numbers (observed: session.json). For 0, 5 and 8 it sends COMMITTED READ,
# contrary to the documentation. A U after the number retains update locks. Neither is supported here.
_JDBC_ISOLATIONS: Final = {"1": "dirty_read", "2": "committed_read", "4": "repeatable_read"}
# No effect on the wire (observed) or on results: buffers, caches, when messages are sent, and what Java's classes tell.
_JDBC_MACHINERY: Final = frozenset(
    {
        "APPENDISAMCODETOSQLEXCEPTION",
        "AUTOCASESCHEMA",
        "AUTOFREECURSORS",
        "BIG_FET_BUF_SIZE",
        "COMMITBEFOREISOLATIONCHANGE",
        "CONNECTIONCLEANERDELAY",
        "DEFAULTCURSORHOLDABILITY",
        "EMULATEINFORMIXSERVER",
        "ENABLE_CACHE_TYPE",
        "ENABLE_TYPE_CACHE",
        "FETBUFSIZE",
        "IFX_AUTOFREE",
        "IFX_DEFERRED_PREPARE",
        "IFX_USEPUT",
        "INVALIDAUTOCOMMITTHROWERROR",
        "JDBCTEMP",
        "LOBBUFFERSIZE",
        "LOBCACHE",
        "LOBCODESETCONVERSIONMEMORY",
        "LOBREADONLY",
        "METADATAREPLICATIONCOLUMN",
        "METADATAUPPERCASEVALUES",
        "OPTIMIZEOPENFETCHCLOSE",
        "OVERRIDEDATABASEPRODUCTNAME",
        "PREPAREDSTATEMENTCACHESIZE",
        "PROCESSTABLENAMEINRESULTSETS",
        "QUERYBUFFERSIZE",
        "REMOVELOBTEMPFILESONRSCLOSE",
        "SETJVMLOCALE",
        "UPPERCASEMETADATARSCOLUMNNAMES",
    }
)
_LOCALES: Final = "not supported; use client_locale and db_locale"
_VERIFIED: Final = "certificates are always verified; use ssl_ca"
_JDBC_REFUSED: Final[Mapping[str, str]] = {
    "CERTIFICATEVERFICATION": _VERIFIED,  # so spelled in JDBC 15.0.1.0
    "CERTIFICATEVERIFICATION": _VERIFIED,
    "CUSTOMCODESET": _LOCALES,
    "CUSTOMLOCALE": _LOCALES,
    "CUSTOMNLSMAP": _LOCALES,
    "SECONDARYSWITCH": "not supported; list the hosts of both servers",
    "SESSIONVARIABLES": "not supported; execute SET ENVIRONMENT after connecting",
}
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
    """The contents of a DSN as text: options by the names in `ConnectOptions`, and Informix environment variables."""

    options: dict[str, str]
    environment: dict[str, str]

    def put(self, name: str, text: str) -> None:
        """Add an option.

        Raises:
            InterfaceError: the DSN has already set it.
        """
        if name in self.options:
            raise InterfaceError(f"{name}: set twice in the DSN")
        self.options[name] = text

    def put_variable(self, name: str, text: str) -> None:
        """Add an environment variable.

        Raises:
            InterfaceError: the DSN has already set it.
        """
        if not _VARIABLE.fullmatch(name):
            raise InterfaceError("dsn: invalid option name (is a value missing quotes around ';'?)")
        if name in self.environment:
            raise InterfaceError(f"environment: {name} is set twice in the DSN")
        self.environment[name] = text


def split_dsn(dsn: str) -> Parts:
    """Parse a DSN in any of the three forms.

    Raises:
        InterfaceError: unknown form, or an option is set twice.
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
        "dsn: expected informix://user:password@host:port/database?server=name, "
        "a JDBC URL (jdbc:informix-sqli://..., jdbc:informix://...) or an ODBC connection string (HOST=...;SERVER=...)"
    )


# -- informix:// ------------------------------------------------------------------------------------------------------


def _split_url(rest: str) -> Parts:
    if "#" in rest:
        raise InterfaceError("dsn: expected '#' to be written as %23")
    rest, _, query = rest.partition("?")
    authority, _, path = rest.partition("/")
    if "@" in path or "/" in path:
        raise InterfaceError(
            "database: contains '@' or '/'; in a password, write '/' as %2F, '?' as %3F and '#' as %23"
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
            raise InterfaceError("dsn: a part of the query has no '='; in a value, write '&' as %26")
        key = _unquoted("dsn", key)
        if key in _VARIABLE_OPTIONS:
            parts.put(_VARIABLE_OPTIONS[key], _unquoted(key, text))
        elif _VARIABLE.fullmatch(key):
            parts.put_variable(key, _unquoted(key, text))
        elif _OPTION.fullmatch(key):
            parts.put(key, _unquoted(key, text))
        else:
            raise InterfaceError(
                "dsn: invalid option name in the query (is an '&' in a value not written as %26?)"
            )
    return parts


def _unquoted(name: str, text: str) -> str:
    if _BAD_ESCAPE.search(text):
        raise InterfaceError(f"{name}: expected '%' to be written as %25 in a DSN")
    if "%" not in text:
        return text
    try:
        return _ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()), text.encode()).decode()
    except UnicodeError:
        raise InterfaceError(f"{name}: expected %-escapes of UTF-8 text") from None


def _put_address(parts: Parts, address: str) -> None:
    """``host``, ``host:port``, ``[v6]`` or ``[v6]:port``; a comma-separated list becomes the option host."""
    if "," in address:
        parts.put("host", _unquoted("host", address))
        return
    host, port = split_host(address)
    if host:
        parts.put("host", _unquoted("host", host))
    if port:
        parts.put("port", port)


# -- JDBC -------------------------------------------------------------------------------------------------------------


def _split_jdbc(rest: str) -> Parts:
    """``//host:port/database:NAME=value;NAME=value``; address and database are optional.

    With jdbc:informix: a semicolon is written before the first NAME (observed); both are accepted for both.
    """
    parts = Parts({}, {})
    address, semicolon, settings = rest[2:].partition(";")
    if rest.startswith("//") and semicolon and "=" not in address:
        _put_jdbc_address(parts, address)
        rest = settings
    elif rest.startswith("//"):
        # The address ends at the database's slash, or at the colon before the first NAME=.
        before, equals, settings = rest[2:].partition("=")
        address, colon, first = before.rpartition(":") if equals else (before, "", "")
        if equals and not colon:
            raise InterfaceError("dsn: expected a JDBC URL like //host:port/database:NAME=value;NAME=value")
        _put_jdbc_address(parts, address)
        rest = f"{first}={settings}" if equals else ""
    for pair in filter(str.strip, rest.split(";")):
        name, equals, text = pair.partition("=")
        if not equals:
            raise InterfaceError("dsn: a part of the JDBC URL has no '='")
        _put_jdbc(parts, name.strip(), text.strip())
    return parts


def _put_jdbc_address(parts: Parts, address: str) -> None:
    address, _, database = address.partition("/")
    _put_address(parts, address)
    if database:
        parts.put("database", database)


def _put_jdbc(parts: Parts, given: str, text: str) -> None:
    name = given.upper()
    if name in _JDBC_OPTIONS:
        parts.put(_JDBC_OPTIONS[name], text)
    elif name == "LOGINTIMEOUT":  # milliseconds (documented)
        if not (text.isascii() and text.isdecimal()):
            raise InterfaceError("LOGINTIMEOUT: expected a number of milliseconds")
        parts.put("connect_timeout", str(int(text) / 1000))
    elif name in ("IFX_ISOLATION_LEVEL", "TRANSACTIONISOLATIONLEVEL"):
        if text not in _JDBC_ISOLATIONS:
            raise InterfaceError(f"{name}: expected one of {', '.join(_JDBC_ISOLATIONS)}; or use isolation=")
        parts.put("isolation", _JDBC_ISOLATIONS[text])
    elif name == "SQLH_TYPE":
        if text.upper() != "FILE":
            raise InterfaceError("SQLH_TYPE: expected FILE; servers are looked up only in the sqlhosts file")
    elif name.startswith(("SSL_", "TRUSTSTORE")):
        raise InterfaceError(
            f"{name}: Java trust stores are not supported; use PEM files with ssl_ca, ssl_cert and ssl_key"
        )
    elif name in _JDBC_REFUSED:
        raise InterfaceError(f"{name}: {_JDBC_REFUSED[name]}")
    elif name not in _JDBC_MACHINERY:
        if _VARIABLE.fullmatch(name) and given not in (name, given.lower()):
            raise InterfaceError(f"{given}: unknown property; write an environment variable in capitals")
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
                raise InterfaceError(f"{name}: expected one of {', '.join(_ODBC_PROTOCOLS)}")
            parts.put("ssl", _ODBC_PROTOCOLS[text.lower()])
        elif name in ("DSN", "FILEDSN"):
            raise InterfaceError(f"{name}: data source names are not supported; use HOST, SERVICE and SERVER")
        elif name != "DRIVER":
            parts.put_variable(name, text)
    return parts


def _odbc_pairs(text: str) -> Iterator[tuple[str, str]]:
    """``NAME=value;NAME={value}``; inside braces a semicolon is literal and ``}}`` means one brace."""
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
            raise InterfaceError(f"{name}: expected a closing brace followed by ';'")
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
