"""Addresses from a list of hosts or from a redirect, and the redirects that are allowed. Never: a socket, a file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final, Literal, TypeAlias, get_args

from aioifx.errors import InterfaceError

Role: TypeAlias = Literal["any", "primary", "secondary"]
"""The role that a server of a cluster must have."""

ROLES: Final = get_args(Role)

_DIGITS: Final = re.compile(r"[0-9]{1,5}")
MAX_PORT: Final = 65535
_NO_HOST: Final = frozenset("@/,[]|=?#'\"\\<>{}")
"""Characters that never occur in a host name or address; a quoting mistake can put them there."""

# Documented: -140 and -7352 reject a write because the server is a secondary one, -7351 because the secondary has lost
# its primary.
WRITE_ON_SECONDARY: Final = frozenset({-140, -7351, -7352})


@dataclass(frozen=True, slots=True)
class Address:
    """Host and port that a server listens on, and the server name for the login."""

    host: str
    port: int
    server: str = ""
    tls: bool | None = None
    """Whether the port uses TLS; None: as in the option ssl."""
    keepalive: bool = True
    """False: no keepalive probes, even if the option keepalive requests them."""

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


# -- hosts of an option -----------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def addresses(hosts: str, port: int, servers: str) -> tuple[Address, ...]:
    """The addresses that the options host, port and server name, in order.

    Args:
        hosts: ``db1,db2:9089,[::1]:9090``, or one bare IPv6 address.
        port: default port.
        servers: one name for all hosts, or one for each.

    Raises:
        InterfaceError: the message begins with the option and shows none of its text.
    """
    found = _split_hosts(hosts)
    names = names_in("server", servers)
    if len(names) == 1:
        names *= len(found)
    if len(names) != len(found):
        raise InterfaceError(
            f"server: expected one name or {len(found)}, one for each host, got {len(names)}"
        )
    return tuple(Address(host, own or port, name) for (host, own), name in zip(found, names, strict=True))


def names_in(option: str, text: str) -> tuple[str, ...]:
    """The items of a comma-separated list.

    Raises:
        InterfaceError: an item is empty.
    """
    names = tuple(part.strip() for part in text.split(","))
    if not all(names):
        raise InterfaceError(f"{option}: expected names separated by commas, got an empty one")
    return names


def _split_hosts(hosts: str) -> tuple[tuple[str, int | None], ...]:
    if hosts.count(":") > 1 and "," not in hosts and not hosts.startswith("["):
        return ((_host(hosts), None),)  # a bare IPv6 address
    parts = map(split_host, names_in("host", hosts))
    return tuple((_host(host), _port(port) if port else None) for host, port in parts)


def split_host(text: str) -> tuple[str, str]:
    """Host and port of ``host``, ``host:port``, ``[v6]`` or ``[v6]:port``; a missing one is empty.

    Raises:
        InterfaceError: brackets do not match, or a colon is outside them.
    """
    if text.startswith("["):
        host, bracket, port = text[1:].partition("]")
        if not bracket or port[:1] not in ("", ":"):
            raise InterfaceError("host: expected [address] or [address]:port for an IPv6 address in brackets")
        return host, port.removeprefix(":")
    host, _, port = text.partition(":")
    if ":" in port:
        raise InterfaceError("host: expected an IPv6 address in brackets")
    return host, port


def _host(text: str) -> str:
    if not text or any(
        character.isspace() or character in _NO_HOST or not character.isprintable() for character in text
    ):
        raise InterfaceError("host: expected names or addresses, separated by commas")
    return text


def _port(text: str) -> int:
    if not _DIGITS.fullmatch(text) or not 1 <= int(text) <= MAX_PORT:
        raise InterfaceError(f"port: expected a whole number from 1 to {MAX_PORT}")
    return int(text)


# -- redirects --------------------------------------------------------------------------------------------------------


def redirect_target(text: str) -> Address | None:
    """The target of a redirect in a login reply; None if the form of the text is unknown.

    Source: observed: JDBC follows exactly three parts, server, host and port, separated by ``|``, ``:`` or ``=``.
    assumed: ``label=server|host|port``, as another client reads it; not in any capture of a server
    """
    if not text.isprintable():
        return None
    parts = re.split("[|:=]", text)
    if len(parts) != 3:
        parts = text.rpartition("=")[2].split("|")
    if len(parts) != 3 or not parts[0].strip():
        return None
    server, host, port = parts
    try:
        return Address(_host(host.strip()), _port(port.strip()), server.strip())
    except InterfaceError:
        return None


def is_allowed(host: str, patterns: str) -> bool:
    """Whether a redirect to *host* is allowed: it matches one of *patterns* (``db*.example.com,10.0.0.7``)."""
    return bool(patterns) and any(
        fnmatchcase(host.lower(), pattern.lower()) for pattern in names_in("allow_redirect_to", patterns)
    )
