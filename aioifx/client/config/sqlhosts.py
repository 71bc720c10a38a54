"""The sqlhosts file: from the name of a server or group to addresses. Never: a connection, where the file is.

Evidence: the file's format is documented (Administrator's Guide of the server, "The sqlhosts information"): fields,
comments, network types and groups. Of two lines with the same name the first counts (documented). Windows stores the
same in the registry instead, which is not supported.
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
from aioifx.client.sql.hints import did_you_mean
from aioifx.errors import InterfaceError

_PLAIN: Final = re.compile(r"(on|ol)?(soc|tli)tcp")
_TLS: Final = re.compile(r"(on|ol)?socssl")
_OTHERS: Final = (
    (re.compile(r".*shm"), "shared memory, only within the server's machine"),
    (re.compile(r".*(str|nmp)"), "a pipe, only within the server's machine"),
    (re.compile(r"dr.*"), "DRDA, another protocol"),
    (re.compile(r".*imc"), "MaxConnect, another protocol"),
    (re.compile(r".*spx"), "IPX/SPX, another network"),
)
_REPLICATION_ONLY: Final = "6"


class Entry(NamedTuple):
    """One line of the file. Missing fields are empty."""

    name: str
    nettype: str = ""
    host: str = ""
    service: str = ""
    options: Mapping[str, str] = {}

    @property
    def is_group(self) -> bool:
        return self.nettype == "group"


class _Unusable(InterfaceError):
    """A line that aioifx cannot use; another line of its group may be usable."""


def parse(text: str) -> dict[str, Entry]:
    """The lines by name, in the file's order; of two lines with the same name the first counts."""
    entries: dict[str, Entry] = {}
    for line in text.splitlines():
        fields = line.partition("#")[0].split()
        if fields:
            name, nettype, host, service, *options = *fields, *[""] * (4 - len(fields))
            # Options are separated by commas (documented); some files have blanks after the commas.
            entries.setdefault(name, Entry(name, nettype, host, service, _options(",".join(options))))
    return entries


def _options(text: str) -> dict[str, str]:
    pairs = (option.partition("=") for option in text.split(","))
    return {name.strip(): value.strip() for name, equals, value in pairs if equals}


def members(
    entries: Mapping[str, Entry], name: str, start: Callable[[int], int] = random.randrange
) -> list[Entry]:
    """The server of this name, or the members of the group, in the order in which to try them.

    Args:
        start: returns the index to start at, given the size of the group; used with the group option ``c=1``.
    """
    entry = entries[name]
    if not entry.is_group:
        return [entry]
    found = [one for one in entries.values() if one.options.get("g") == name and not one.is_group]
    if found and entry.options.get("c") == "1":
        first = start(len(found))
        found = found[first:] + found[:first]
    return found


# -- a line to an address ---------------------------------------------------------------------------------------------


def address_of(entry: Entry, tls: bool | None) -> Address:
    """The address of a line.

    Args:
        tls: whether the caller requires TLS or its absence; None: as in the line.

    Raises:
        InterfaceError: the line is incomplete or not usable.
    """
    uses_tls = _uses_tls(entry)
    if tls is not None and tls != uses_tls:
        required = "TLS is required" if tls else "TLS is turned off"
        raise _Unusable(f"ssl: {required}, but {entry.name} in sqlhosts has the type {entry.nettype}")
    if entry.options.get("s") == _REPLICATION_ONLY:
        raise _Unusable(f"server: {entry.name} in sqlhosts is for replication only (s=6)")
    return Address(_host(entry), _port(entry), entry.name, uses_tls, keepalive=entry.options.get("k") != "0")


def _uses_tls(entry: Entry) -> bool:
    if _TLS.fullmatch(entry.nettype):
        return True
    if _PLAIN.fullmatch(entry.nettype):
        return False
    what = next((what for kind, what in _OTHERS if kind.fullmatch(entry.nettype)), "an unknown type")
    raise _Unusable(
        f"server: {entry.name} in sqlhosts has the type {entry.nettype or '(nothing)'}: {what}; "
        "aioifx supports onsoctcp and onsocssl"
    )


def _host(entry: Entry) -> str:
    """The host without ``*``, which tells the server to listen on all addresses (documented)."""
    host = entry.host.removeprefix("*")
    if not host and entry.host:
        raise _Unusable(
            f"server: {entry.name} in sqlhosts has the host *, which is an address to listen on, not to connect to"
        )
    if not host or host == "-":
        raise _Unusable(f"server: {entry.name} in sqlhosts has no host")
    return host.removeprefix("[").removesuffix("]")


def _port(entry: Entry) -> int:
    service = entry.service
    if service.isascii() and service.isdecimal():
        if len(service) <= 5 and 1 <= int(service) <= 65535:
            return int(service)
        raise _Unusable(f"server: {entry.name} in sqlhosts has a port that is not from 1 to 65535")
    if not service:
        raise _Unusable(f"server: {entry.name} in sqlhosts has no service")
    try:
        return socket.getservbyname(service, "tcp")
    except OSError:
        raise _Unusable(
            f"server: {entry.name} in sqlhosts has the service {service!r}, which is unknown on this machine"
        ) from None


# -- the file ---------------------------------------------------------------------------------------------------------


def lookup(path: str, name: str, tls: bool | None = None) -> tuple[Address, ...]:
    """The addresses of the server or group *name*, in the order in which to try them; at least one.

    Unusable lines of a group are skipped, unless all are unusable.

    Raises:
        InterfaceError: the file cannot be read, does not contain the name, or has no usable line for it.
    """
    entries = _read(path)
    if name not in entries:
        raise InterfaceError(f"server: unknown server {name!r} in {path}{did_you_mean(name, entries)}")
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
    """The entries of the file; parsed again if its time, size or location changes."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return parse(file.read())
