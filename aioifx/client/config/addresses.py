"""Addresses: from a list of hosts, from a redirect; which redirects are followed. Never: a socket, a file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final, Literal, TypeAlias, get_args

from aioifx.errors import InterfaceError

Role: TypeAlias = Literal["any", "primary", "secondary"]
"""What a server of a cluster must be to be used."""

ROLES: Final = get_args(Role)

_DIGITS: Final = re.compile(r"[0-9]{1,5}")
_MAX_PORT: Final = 65535
_NO_HOST: Final = frozenset("@/,[]|=?#'\"\\<>{}")
"""Characters that stand in no host's name or address, and that a slip in the quoting may bring there."""

# Documented: -140 and -7352 refuse a write because the server is a secondary one, -7351 because it is one that has
# lost its primary.
WRITE_ON_SECONDARY: Final = frozenset({-140, -7351, -7352})


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens, and by which name it wants to be asked for."""

    host: str
    port: int
    server: str = ""
    tls: bool | None = None
    """None: as the option ssl says."""
    keepalive: bool = True
    """False: TCP is not to find out that the server's machine has gone, whatever the option says."""

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


# -- the hosts that an option names -----------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def addresses(hosts: str, port: int, servers: str) -> tuple[Address, ...]:
    """What the options host, port and server name together, in order.

    Args:     hosts: ``db1,db2:9089,[::1]:9090``, or one bare IPv6 address. port: of those that name none.
              servers: one name for all of them, or one for each.
    Raises:   InterfaceError: begins with the option's name and shows none of its text.
    """
    places = _places(hosts)
    names = names_in("server", servers)
    if len(names) == 1:
        names *= len(places)
    if len(names) != len(places):
        raise InterfaceError(
            f"server: {len(names)} names for {len(places)} hosts; give one for all, or one each"
        )
    return tuple(Address(host, own or port, name) for (host, own), name in zip(places, names, strict=True))


def names_in(option: str, text: str) -> tuple[str, ...]:
    """The parts of a list with commas.

    Raises:   InterfaceError: one of them is empty.
    """
    names = tuple(part.strip() for part in text.split(","))
    if not all(names):
        raise InterfaceError(f"{option}: one of the names between the commas is empty")
    return names


def _places(hosts: str) -> tuple[tuple[str, int | None], ...]:
    if hosts.count(":") > 1 and "," not in hosts and not hosts.startswith("["):
        return ((_host(hosts), None),)  # a bare IPv6 address
    return tuple(_place(part) for part in names_in("host", hosts))


def _place(text: str) -> tuple[str, int | None]:
    if text.startswith("["):
        host, bracket, port = text[1:].partition("]")
        if not bracket or port[:1] not in ("", ":"):
            raise InterfaceError("host: a bracketed IPv6 address must be [address] or [address]:port")
        port = port.removeprefix(":")
    else:
        host, _, port = text.partition(":")
        if ":" in port:
            raise InterfaceError("host: an IPv6 address among several hosts must stand in brackets")
    return _host(host), _port(port) if port else None


def _host(text: str) -> str:
    if not text or any(
        character.isspace() or character in _NO_HOST or not character.isprintable() for character in text
    ):
        raise InterfaceError("host: must be names or addresses, separated by commas")
    return text


def _port(text: str) -> int:
    if not _DIGITS.fullmatch(text) or not 1 <= int(text) <= _MAX_PORT:
        raise InterfaceError(f"port: must be a whole number from 1 to {_MAX_PORT}")
    return int(text)


# -- redirects --------------------------------------------------------------------------------------------------------


def redirect_target(text: str) -> Address | None:
    """Where a login reply redirects to; None when the text is not of a form that is known.

    Source:   observed: JDBC follows exactly three parts, server, host and port, split at ``|``, ``:`` or ``=``.
              assumed: ``label=server|host|port``, as one other client reads it; no capture shows what a server sends
    """
    if not text.isprintable():
        return None
    parts = re.split("[|:=]", text)
    if len(parts) != 3:
        parts = text.rpartition("=")[2].split("|")
    if len(parts) != 3 or not parts[0].strip():
        return None
    server, *place = parts
    try:
        return Address(_host(place[0].strip()), _port(place[1].strip()), server.strip())
    except InterfaceError:
        return None


def is_allowed(host: str, patterns: str) -> bool:
    """Whether a redirect to *host* may be followed: one of *patterns* (``db*.example.com,10.0.0.7``) fits it."""
    return bool(patterns) and any(
        fnmatchcase(host.lower(), pattern.lower()) for pattern in names_in("allow_redirect_to", patterns)
    )
