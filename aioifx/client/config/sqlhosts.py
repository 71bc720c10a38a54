"""The sqlhosts file: what stands behind the name of a server or a group. Never: a connection, where the file is.

Evidence: the file's format is documented (Administrator's Guide of the server, "The sqlhosts information"): fields,
comments, network types, groups, and that of two lines with the same name the first counts. Windows keeps it in the
registry instead, which is not read here.
"""

from __future__ import annotations

import os
import random
import re
import socket
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from aioifx.client.config.addresses import Address
from aioifx.client.sql.suggest import did_you_mean
from aioifx.errors import InterfaceError

_PLAIN: Final = re.compile(r"(on|ol)?(soc|tli)tcp")
_TLS: Final = re.compile(r"(on|ol)?socssl")
_OTHERS: Final = (
    (re.compile(r".*shm"), "shared memory, within the server's own machine"),
    (re.compile(r".*(str|nmp)"), "a pipe, within the server's own machine"),
    (re.compile(r"dr.*"), "DRDA, another protocol"),
    (re.compile(r".*imc"), "MaxConnect, another protocol"),
    (re.compile(r".*spx"), "IPX/SPX, another network"),
)
_REPLICATION_ONLY: Final = "6"


class Entry(NamedTuple):
    """One line. Fields that it does not have are empty."""

    name: str
    nettype: str = ""
    host: str = ""
    service: str = ""
    options: Mapping[str, str] = {}

    @property
    def is_group(self) -> bool:
        return self.nettype == "group"


class _Unusable(InterfaceError):
    """This line is no way to a server for us; another one of its group may be."""


def parse(text: str) -> dict[str, Entry]:
    """Every line by its name, in the file's order; of two with one name, the first."""
    entries: dict[str, Entry] = {}
    for line in text.splitlines():
        fields = line.partition("#")[0].split()
        if fields:
            name, nettype, host, service, *options = *fields, *[""] * (4 - len(fields))
            # Options are separated by commas (documented); blanks behind the commas are met as well.
            entries.setdefault(name, Entry(name, nettype, host, service, _options(",".join(options))))
    return entries


def _options(text: str) -> dict[str, str]:
    pairs = (option.partition("=") for option in text.split(","))
    return {name.strip(): value.strip() for name, equals, value in pairs if equals}


def members(
    entries: Mapping[str, Entry], name: str, start: Callable[[int], int] = random.randrange
) -> list[Entry]:
    """The server of this name, or those of the group, in the order in which they are tried.

    Args:     start: where to begin with a group whose option ``c=1`` asks for chance; told how many there are.
    """
    entry = entries[name]
    if not entry.is_group:
        return [entry]
    found = [one for one in entries.values() if one.options.get("g") == name and not one.is_group]
    if found and entry.options.get("c") == "1":
        first = start(len(found))
        found = found[first:] + found[:first]
    return found


# -- a line -> an address ---------------------------------------------------------------------------------------------


def address_of(entry: Entry, tls: bool | None) -> Address:
    """Where the server of this line listens.

    Args:     tls: whether the caller insists on TLS, or on none; None leaves it to the line.
    Raises:   InterfaceError: the line is not complete, or no way for us.
    """
    uses_tls = _uses_tls(entry)
    if tls is not None and tls != uses_tls:
        wish = "TLS is asked for" if tls else "TLS is turned off"
        raise _Unusable(f"ssl: {wish}, but sqlhosts has {entry.name} at a port of type {entry.nettype}")
    if entry.options.get("s") == _REPLICATION_ONLY:
        raise _Unusable(f"server: sqlhosts has {entry.name} for replication only (s=6)")
    return Address(_host(entry), _port(entry), entry.name, uses_tls, keepalive=entry.options.get("k") != "0")


def _uses_tls(entry: Entry) -> bool:
    if _TLS.fullmatch(entry.nettype):
        return True
    if _PLAIN.fullmatch(entry.nettype):
        return False
    what = next((what for kind, what in _OTHERS if kind.fullmatch(entry.nettype)), "which is not known")
    raise _Unusable(
        f"server: sqlhosts has {entry.name} as {entry.nettype or '(nothing)'}: {what}; "
        "aioifx speaks onsoctcp and onsocssl"
    )


def _host(entry: Entry) -> str:
    """The host without the ``*`` that tells the server, not its clients, to listen at all addresses (documented)."""
    host = entry.host.removeprefix("*")
    if not host and entry.host:
        raise _Unusable(
            f"server: sqlhosts has {entry.name} at host *, which says where to listen, not where to call"
        )
    if not host or host == "-":
        raise _Unusable(f"server: the line of {entry.name} in sqlhosts has no host")
    return host.removeprefix("[").removesuffix("]")


def _port(entry: Entry) -> int:
    service = entry.service
    if service.isascii() and service.isdecimal():
        if len(service) <= 5 and 1 <= int(service) <= 65535:
            return int(service)
        raise _Unusable(f"server: the line of {entry.name} in sqlhosts has a port beyond 65535")
    if not service:
        raise _Unusable(f"server: the line of {entry.name} in sqlhosts has no service")
    try:
        return socket.getservbyname(service, "tcp")
    except OSError:
        raise _Unusable(
            f"server: the service {service!r} of {entry.name} in sqlhosts is not in this machine's list of services"
        ) from None


# -- the file ---------------------------------------------------------------------------------------------------------


def lookup(path: str, name: str, tls: bool | None = None) -> tuple[Address, ...]:
    """Where the server or group *name* is, in the order in which to try; at least one address.

    Lines of a group that are no way for us are left out, unless all are.

    Raises:   InterfaceError: the file cannot be read, the name is not in it, or no line of it is of use.
    """
    entries = _read(path)
    if name not in entries:
        raise InterfaceError(f"server: {name!r} is not in {path}{did_you_mean(name, entries)}")
    found = members(entries, name)
    if not found:
        raise InterfaceError(f"server: the group {name!r} has no member in {path}")
    usable: list[Address] = []
    refusals: list[_Unusable] = []
    for entry in found:
        try:
            usable.append(address_of(entry, tls))
        except _Unusable as refused:
            refusals.append(refused)
    if not usable:
        raise InterfaceError(str(refusals[0]))
    return tuple(usable)


def _read(path: str) -> dict[str, Entry]:
    try:
        status = os.stat(path)
        return _parsed(path, status.st_mtime_ns, status.st_size, status.st_ino)
    except OSError as error:
        raise InterfaceError(f"sqlhosts: {path} cannot be read: {error.strerror or error}") from None


@lru_cache(maxsize=8)
def _parsed(path: str, *version: int) -> dict[str, Entry]:
    """The file's entries; read again when its time, size or place has changed."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return parse(file.read())
