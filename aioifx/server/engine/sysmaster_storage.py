"""Tables of sysmaster about storage, configuration and role. Never: sessions, locks, the contents of a database.

All databases are in one dbspace with one chunk, the directory of their files. It grows as needed. The write-ahead files
are its only logical log.

Source: columns and their meaning are documented (Administrator's Reference, syschunks, syslogs, sysconfig,
sysdri).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

from aioifx.server.catalog.systables import PAGE_SIZE, ROOT_SPACE
from aioifx.server.engine.session_registry import SessionRegistry
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sqlite.databases import Databases, WriteRefusal

Rows: TypeAlias = list[tuple[Stored, ...]]
Maker: TypeAlias = Callable[[Databases, SessionRegistry, str], Rows]

_ONLINE: Final = 0x40
"""syschunks.flags of a chunk that is online (documented)."""
_CURRENT: Final = 0x03
"""syslogs.flags: in use, and the current one (documented)."""
_FREE_PAGES: Final = slice(36, 40)
"""The number of free pages in the header of a SQLite file, 4 bytes, and the place of the size of its pages."""
_FILE_PAGE_SIZE: Final = slice(16, 18)


def _syschunks(databases: Databases, registry: SessionRegistry, current: str) -> Rows:
    files = list(_sizes(databases, ""))
    size, free = sum(size for _, size in files), sum(_free(path) for path, _ in files)
    metadata = (None,) * 3  # mdsize, udsize, udfree: of sbspaces
    flags = (0,) * 5 + (1,)  # is_offline, .., is_inconsistent, is_extendable
    mirror = ("", 0, 0, 0, 0)
    return [
        (1, 1, 0, PAGE_SIZE, _pages(size), 0, _pages(free), *metadata, *flags, _ONLINE,
         str(databases.directory), *mirror)
    ]  # fmt: skip


def _syslogs(databases: Databases, registry: SessionRegistry, current: str) -> Rows:
    used = _pages(sum(size for _, size in _sizes(databases, "-wal")))
    return [(1, 1, used, used, 1, 1, 0, 0, 0, 0, _CURRENT)]


def _sysconfig(databases: Databases, registry: SessionRegistry, current: str) -> Rows:
    """The parameters that have a meaning here."""
    values = {
        "ROOTNAME": (ROOT_SPACE, ROOT_SPACE),
        "ROOTPATH": (str(databases.directory), ""),
        "ROOTOFFSET": ("0", "0"),
        "MIRROR": ("0", "0"),
        "SERVERNUM": ("0", "0"),
        "DBSPACETEMP": ("", ""),
        "DEF_TABLE_LOCKMODE": ("page", "page"),
        "DB_LOCALE": (databases.locale, ""),
    }
    return [
        (number, name, 0, value, value, default)
        for number, (name, (value, default)) in enumerate(values.items())
    ]


def _sysdri(databases: Databases, registry: SessionRegistry, current: str) -> Rows:
    """The role in a cluster; JDBC's getHDRType reads it (observed)."""
    is_secondary = databases.refusal is WriteRefusal.SECONDARY
    role, state = ("secondary", "on") if is_secondary else ("standard", "off")
    return [(role, state, "", None, None, "")]


def _sysopendb(databases: Databases, registry: SessionRegistry, current: str) -> Rows:
    return [(entry.session_id, 0, entry.database, "Y") for entry in registry.entries() if entry.database]


def _sizes(databases: Databases, suffix: str) -> Iterator[tuple[Path, int]]:
    """The existing files of all databases, and their bytes."""
    for database in databases.all():
        path = Path(f"{database.path}{suffix}")
        try:
            yield path, path.stat().st_size
        except FileNotFoundError:
            continue  # dropped, or no write-ahead file


def _free(path: Path) -> int:
    """The bytes of a database's file that no table uses."""
    try:
        with path.open("rb") as file:
            header = file.read(_FREE_PAGES.stop)
    except FileNotFoundError:
        return 0
    pages = int.from_bytes(header[_FREE_PAGES], "big")
    size = int.from_bytes(header[_FILE_PAGE_SIZE], "big")
    return pages * (0x10000 if size == 1 else size)


def _pages(size: int) -> int:
    return -(-size // PAGE_SIZE)


MAKERS: Final[dict[str, Maker]] = {
    "syschunks": _syschunks,
    "syslogs": _syslogs,
    "sysconfig": _sysconfig,
    "sysdri": _sysdri,
    "sysopendb": _sysopendb,
}
