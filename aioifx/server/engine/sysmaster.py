"""Tables of sysmaster and syscdcv1: databases, sessions, locks, storage. Never: the contents of a database.

Locks are those of the lock manager. An open database is shown as a shared lock on its row of sysdatabases, as by
Informix (documented: performance guide, Monitoring locks).

All databases are in one dbspace with one chunk, the directory of their files. It grows as needed. The logical log
has only the changes of tables with full-row logging.

Source: columns and their meaning are documented (Administrator's Reference, syschunks, syslogs, sysconfig,
sysdri).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from aioifx.server.catalog import catalog, systables
from aioifx.server.catalog.sysrows import TABLES_PARTNUM
from aioifx.server.catalog.systables import PAGE_SIZE, ROOT_SPACE
from aioifx.server.engine.session_registry import SessionEntry, SessionRegistry
from aioifx.server.sql.builtin_types import SYSTEM_OWNER
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.runtime.dates import days_of
from aioifx.server.sqlite.databases import SYSMASTER, Database, Databases, LogMode, WriteRefusal
from aioifx.server.sqlite.lock_manager import Kind
from aioifx.server.sqlite.transactions import Transactions

Rows: TypeAlias = list[tuple[Stored, ...]]
Maker: TypeAlias = Callable[[Databases, SessionRegistry, str], Rows]

_ONLINE: Final = 0x40
"""syschunks.flags of a chunk that is online (documented)."""
_CURRENT: Final = 0x03
"""syslogs.flags: in use, and the current one (documented)."""
_USED: Final = 0x01
"""syslogs.flags: in use (documented)."""
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
    """The files of the log of changes; what follows begins a page, so that clients can compute the present position.

    The pages of a position have 4 KB (observed: other clients shift their number by 12 bits).
    """
    log = databases.changes
    used = log.close_page()
    number = log.end >> 32
    files = [(each, log.pages(each)) for each in log.numbers if each < number]
    return [
        (
            row,
            uniqid,
            pages,
            pages,
            1,
            int(uniqid == number),
            0,
            0,
            0,
            0,
            _CURRENT if uniqid == number else _USED,
        )
        for row, (uniqid, pages) in enumerate([*files, (number, used)], start=1)
    ]


def _sysenv(databases: Databases, registry: SessionRegistry, current: str) -> Rows:
    """The environment of the server, of which only its name is known here."""
    return [(1, "INFORMIXSERVER", registry.server_name)]


def _sysconfig(databases: Databases, registry: SessionRegistry, current: str) -> Rows:
    """The parameters that have a meaning here, and those that scripts read."""
    values = {
        "ROOTNAME": (ROOT_SPACE, ROOT_SPACE),
        "ROOTPATH": (str(databases.directory), ""),
        "ROOTOFFSET": ("0", "0"),
        "MIRROR": ("0", "0"),
        "SERVERNUM": ("0", "0"),
        "DBSPACETEMP": ("", ""),
        "DEF_TABLE_LOCKMODE": ("page", "page"),
        "DB_LOCALE": (databases.locale, ""),
        **{name: (value, value) for name, value in _PARAMETERS.items()},
    }
    return [
        (number, name, 0, value, value, default)
        for number, (name, (value, default)) in enumerate(values.items())
    ]


_PARAMETERS: Final = {
    "LOCKS": "20000",
    "DEADLOCK_TIMEOUT": "60",
    "LTXHWM": "70",
    "LTXEHWM": "80",
    "FILLFACTOR": "90",
    "OPTCOMPIND": "2",
    "DIRECTIVES": "1",
    "EXT_DIRECTIVES": "0",
    "MAX_PDQPRIORITY": "100",
    "STMT_CACHE": "0",
    "USELASTCOMMITTED": "NONE",
    "SQL_LOGICAL_CHAR": "OFF",
    "AUTO_STAT_MODE": "1",
    "STATCHANGE": "10",
    "EXPLAIN_STAT": "1",
}
"""Parameters that have their default: names documented (Administrator's Reference), values but LOCKS assumed."""


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


_FLAGS: Final = {LogMode.UNLOGGED: 0, LogMode.LOGGED: 1, LogMode.ANSI: 5}
"""sysdatabases.flags: 1 logged, 4 ANSI (documented: sysmaster, sysdatabases)."""


def refresh(
    name: str,
    connection: sqlite3.Connection,
    databases: Databases,
    registry: SessionRegistry,
    session: SessionEntry | None = None,
) -> None:
    """Fill the session's copy of one of `systables.SESSION_TABLES`, as of now.

    Args:
        session: whose temporary tables are shown; those of other sessions are not. Part numbers of its database are
            those of its systables.
    """
    table = systables.session_table(name)
    for step in catalog.shown_steps(name):
        connection.execute(step.sql)
    rows = _MAKERS[name](databases, registry, session.database if session else "")
    if session is not None and name in _OF_TEMPS:
        rows += _temp_rows(name, connection, session)
    marks = ", ".join("?" * len(systables.SESSION_TABLES[name].columns))
    connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)


def _sysdatabases(databases: Databases, registry: SessionRegistry, current: str) -> Rows:
    return [
        (
            database.name,
            first + 1,
            database.owner,
            days_of(database.created),
            int(database.log_mode is not LogMode.UNLOGGED),
            0,  # is_buff_log
            int(database.log_mode is LogMode.ANSI),
            0,  # is_nls
            0,  # is_case_insens
            _FLAGS[database.log_mode],
        )
        for database, first in _numbered(databases, current)
    ]


def _sysdbslocale(databases: Databases, registry: SessionRegistry, current: str) -> Rows:
    return [(database.name, database.locale) for database in databases.all()]


def _syssessions(databases: Databases, registry: SessionRegistry, current: str) -> Rows:
    waiting = _waiting(databases)
    return [
        (
            entry.session_id,
            entry.user,
            0,  # uid
            entry.process_id,
            entry.host,
            "",  # tty
            int(entry.connected.timestamp()),
            entry.program,
            0,  # pooladdr
            0,  # is_wlatch
            int(entry.session_id in waiting),
            *_NO_FLAGS,
        )
        for entry in registry.entries()
    ]


_NO_FLAGS: Final = (0,) * 7
"""is_wbuff, is_wckpt, is_wlogbuf, is_wtrans, is_monitor, is_incrit, state"""


# -- locks ------------------------------------------------------------------------------------------------------------


class _Lock(NamedTuple):
    """A row of syslocks, and of the tables underneath."""

    partnum: int
    database: str
    table: str
    rowid: int
    keynum: int
    type: str
    owner: int
    waiter: int | None
    granted: int


def _locks(databases: Databases, registry: SessionRegistry, current: str) -> list[_Lock]:
    numbers = {database.name: first for database, first in _numbered(databases, current)}
    rows = {name: number for number, name in enumerate(databases.names, start=1)}
    locks = [
        _Lock(
            _SYSDATABASES, SYSMASTER, "sysdatabases", rows[entry.database], 0, "S", entry.session_id, None,
            int(entry.connected.timestamp()),
        )
        for entry in registry.entries()
        if entry.database in numbers
    ]  # fmt: skip
    for held in databases.locks.locks():
        database, tabid, kind, key = held.resource
        if tabid < 0 or database not in numbers:
            continue  # a smart large object
        partnum = numbers[database] + tabid
        name = databases.find(database).table_names.get(tabid, f"t{tabid}")
        rowid = key if kind is Kind.ROW and isinstance(key, int) else 0
        number = 1 if kind is Kind.KEY else 0
        waiter = next((number for number in map(_session_of, held.waiters) if number), None)
        owner = _session_of(held.owner)
        locks.append(
            _Lock(partnum, database, name, rowid, number, str(held.mode), owner, waiter, int(held.since))
        )
    return locks


def _session_of(owner: object) -> int:
    return owner.session_id if isinstance(owner, Transactions) else 0


def _waiting(databases: Databases) -> set[int]:
    return {_session_of(owner) for owner in databases.locks.waiting()}


def _syslocks(databases: Databases, registry: SessionRegistry, current: str) -> Rows:
    return [
        (lock.database, lock.table, lock.rowid, lock.keynum, lock.type, lock.owner, lock.waiter)
        for lock in _locks(databases, registry, current)
    ]


def _sysprofile(databases: Databases, registry: SessionRegistry, current: str) -> Rows:
    """The counts of locks; the others are 0, because the server does not count their events."""
    counts = databases.locks.counts
    counted = {
        "lockreqs": counts.requests,
        "lockwts": counts.waits,
        "deadlks": counts.deadlocks,
        "lktouts": counts.timeouts,
    }
    return [(name, counted.get(name, 0)) for name in _PROFILED]


_PROFILED: Final = """
dskreads bufreads dskwrites bufwrites isamtot isopens isstarts isreads iswrites isrewrites isdeletes iscommits
isrollbacks ovlock ovuser ovtrans latchwts bufwts lockreqs lockwts ckptwts deadlks lktouts numckpts plgpagewrites
plgwrites llgrecs llgpagewrites llgwrites pagreads pagwrites flushes compress fgwrites lruwrites chunkwrites btraidx
dpra rapgs_used seqscans totalsorts memsorts disksorts maxsortspace
""".split()
"""The events of sysprofile (documented: Administrator's Reference, sysprofile; from `pagreads` on assumed)."""


def _systabnames(databases: Databases, registry: SessionRegistry, current: str) -> Rows:
    """The tables of all databases; temporary ones are added."""
    return [
        (_SYSDATABASES, SYSMASTER, SYSTEM_OWNER, "sysdatabases", ""),
        *(
            (first + tabid, database.name, owner, name, "")
            for database, first in _numbered(databases, current)
            for tabid, owner, name in _stored_tables(database)
        ),
    ]


def _numbered(databases: Databases, current: str) -> list[tuple[Database, int]]:
    """All databases, and what is added to a tabid of each to make a part number."""
    known = databases.all()
    others = [database for database in known if database.name != current]
    numbers = {database.name: number for number, database in enumerate(others, start=1)}
    return [(each, TABLES_PARTNUM + (numbers.get(each.name, 0) << 20)) for each in known]


def _stored_tables(database: Database) -> list[tuple[int, str, str]]:
    """Tabid, owner and name of each table, as committed."""
    with closing(
        sqlite3.connect(f"{database.path.absolute().as_uri()}?mode=rw", timeout=5, uri=True)
    ) as connection:
        return connection.execute(
            "SELECT tabid, owner, tabname FROM systables WHERE tabtype = 'T' ORDER BY tabid"
        ).fetchall()


def _syslcktab(databases: Databases, registry: SessionRegistry, current: str) -> Rows:
    return [
        (
            _LOCK + number, lock.partnum, lock.rowid, lock.rowid, lock.keynum, lock.granted, _LOCK_TYPES[lock.type],
            _TRANSACTION + lock.owner, 0 if lock.waiter is None else _THREAD + lock.waiter,
        )
        for number, lock in enumerate(_locks(databases, registry, current))
    ]  # fmt: skip


def _systxptab(databases: Databases, registry: SessionRegistry, current: str) -> Rows:
    return [(_TRANSACTION + entry.session_id, _THREAD + entry.session_id) for entry in registry.entries()]


def _sysrstcb(databases: Databases, registry: SessionRegistry, current: str) -> Rows:
    waited = {
        lock.waiter: _LOCK + number
        for number, lock in enumerate(_locks(databases, registry, current))
        if lock.waiter is not None
    }
    return [
        (_THREAD + entry.session_id, entry.session_id, entry.user, waited.get(entry.session_id, 0))
        for entry in registry.entries()
    ]


def _flags_text(databases: Databases, registry: SessionRegistry, current: str) -> Rows:
    return [("syslcktab", code, text) for text, code in _LOCK_TYPES.items()]


def _temp_rows(name: str, connection: sqlite3.Connection, session: SessionEntry) -> Rows:
    """The rows of the session's temporary tables."""
    texts = connection.execute('SELECT noun FROM temp."ifx_tables" ORDER BY tabid').fetchall()
    tables = [catalog.table_from_json(text, "temp") for (text,) in texts]
    first = _TEMP_PARTNUM + (session.session_id << 16)
    if name == "sysptnhdr":
        return [(first + table.tabid, _TEMPORARY, len(table.indexes), session.session_id) for table in tables]
    return [(first + table.tabid, session.database, table.owner, table.name, "") for table in tables]


_OF_TEMPS: Final = ("systabnames", "sysptnhdr")
_TEMPORARY: Final = 0x20
"""sysptnhdr.flags: a temporary table (documented: sysptnhdr, the query for temporary tables)."""
_TEMP_PARTNUM: Final = 0x40000000
"""Part numbers of temporary tables; made up, since only their equality matters."""

_SYSDATABASES: Final = 0x100002
"""Its part number (observed: 100002 in the manual's output of onstat -k)."""
_LOCK, _TRANSACTION, _THREAD = 0x10000000, 0x20000000, 0x30000000
"""Addresses of the first lock, transaction and thread; made up, since only their equality matters."""
_LOCK_TYPES: Final = {
    "B": 1, "IS": 2, "S": 3, "SR": 4, "U": 5, "UR": 6, "IX": 7, "SIX": 8, "X": 9, "XR": 10,
}  # fmt: skip
"""Observed: scripts for Informix decode syslcktab.type so."""


# -- capture sessions --------------------------------------------------------------------------------------------------


def _syscdcsess(databases: Databases, registry: SessionRegistry, current: str) -> Rows:
    return [each.row_of_syscdcsess(number) for number, each in sorted(registry.cdc_sessions.items())]


def _syscdctabs(databases: Databases, registry: SessionRegistry, current: str) -> Rows:
    return [
        table.row_of_syscdctabs(number)
        for number, each in sorted(registry.cdc_sessions.items())
        for table in [*each.tables.values()]
    ]


_MAKERS: Final[dict[str, Maker]] = {
    "sysdatabases": _sysdatabases,
    "sysdbslocale": _sysdbslocale,
    "syssessions": _syssessions,
    "syslocks": _syslocks,
    "sysprofile": _sysprofile,
    "systabnames": _systabnames,
    "sysptnhdr": lambda databases, registry, current: [],
    "syslcktab": _syslcktab,
    "systxptab": _systxptab,
    "sysrstcb": _sysrstcb,
    "flags_text": _flags_text,
    "syschunks": _syschunks,
    "syslogs": _syslogs,
    "sysconfig": _sysconfig,
    "sysdri": _sysdri,
    "sysenv": _sysenv,
    "sysopendb": _sysopendb,
    "syscdcsess": _syscdcsess,
    "syscdctabs": _syscdctabs,
}
