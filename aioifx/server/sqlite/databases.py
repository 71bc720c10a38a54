"""The databases of one server: files, log modes, writers, counters. Never: SQL of Informix, a session."""

from __future__ import annotations

import re
import shutil
import sqlite3
import threading
from collections import deque
from collections.abc import Hashable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import date
from enum import IntEnum, StrEnum
from functools import lru_cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from aioifx.codecs.text import code_set_of
from aioifx.errors import InterfaceError
from aioifx.server.catalog import catalog, systables
from aioifx.server.catalog.cdc_tables import SYSCDC
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.spl import Routines
from aioifx.server.sqlite import undo_log
from aioifx.server.sqlite.captured_tables import CapturedTables
from aioifx.server.sqlite.change_log import ChangeLog
from aioifx.server.sqlite.committed_transactions import CommittedTransactions, path_beside
from aioifx.server.sqlite.connection import SORT_MEMORY, connect
from aioifx.server.sqlite.counters import Sequences, Serials
from aioifx.server.sqlite.lock_manager import LockManager
from aioifx.server.sqlite.private_files import DirectoryLock, copy_private, private
from aioifx.server.sqlite.smart_objects import ObjectsInUse

SYSMASTER: Final = systables.SYSMASTER
"""The database that every server has."""

SYSADMIN: Final = "sysadmin"
"""The database of the functions of administrators."""

OWN_DATABASES: Final = {SYSMASTER: "", SYSADMIN: "", SYSCDC: "en_US.utf8"}
"""The databases that a server creates if they do not exist, and their locales (documented: of syscdcv1); empty: the
server's."""

DEFAULT_LOCALE: Final = "en_US.819"
"""Locale of a new database; 819 is ISO 8859-1 (documented: the server's default)."""

BUSY_TIMEOUT: Final = 5.0
"""The default of the option *busy_timeout*."""

_NAME: Final = re.compile(r"[a-z_][a-z0-9_$]{0,127}")
_SUFFIX: Final = ".sqlite"
_FILES: Final = "files"
_CHANGES: Final = "changes"
_APPLICATION: Final = 0x49465805  # application_id of our files: "IFX" and the version of their format
_FACTS: Final = 'CREATE TABLE "ifx_database" (log_mode TEXT, owner TEXT, created TEXT, locale TEXT)'


def is_database_name(name: str) -> bool:
    """Whether *name* is a valid database name; the file has the same name."""
    return _NAME.fullmatch(name) is not None


_CODE_SET_NUMBERS: Final = {"8859-1": "819", "8859-15": "923", "utf8": "57372", "utf-8": "57372"}


def numbered_locale(locale: str) -> str:
    """A locale in the catalog's form: ``en_US.57372`` for ``en_US.utf8`` (observed: JDBC reads such numbers).

    Raises:
        InterfaceError: unknown code set.
    """
    code_set_of(locale)
    language, _, name = locale.partition(".")
    return f"{language}.{_CODE_SET_NUMBERS.get(name.lower(), name)}"


def have_one_code_set(first: str, second: str) -> bool:
    """Whether two locales have the same code set; False if either code set is unknown."""
    try:
        return code_set_of(first).codec == code_set_of(second).codec
    except InterfaceError:
        return False


class LogMode(StrEnum):
    """Logging of a database, which determines its transactions."""

    UNLOGGED = "unlogged"
    LOGGED = "logged"
    ANSI = "ansi"


class WriteRefusal(IntEnum):
    """Why a server refuses writes; the values are ISAM codes (documented)."""

    SECONDARY = -140
    DISK_FULL = -131


@dataclass(slots=True, eq=False)
class Database:
    """One database, shared by all sessions that have it open."""

    name: str
    path: Path
    log_mode: LogMode
    owner: str
    created: date
    locale: str
    locks: LockManager = field(default_factory=LockManager)
    """Of the whole server; each lock names its database."""
    busy_timeout: float = BUSY_TIMEOUT
    """Seconds that a statement waits while another one writes to the file."""
    transaction_numbers: Iterator[int] = field(default_factory=lambda: count(1))
    """Numbers of transactions in the undo log."""
    exclusive: object | None = None
    """The owner of the open transaction that is exclusive."""
    is_recovered: bool = True
    """Whether what a killed server has left has been rolled back."""
    committed: CommittedTransactions = field(init=False)
    """Committed transactions whose versions are still in the undo log."""
    abandoned: deque[tuple[int, Hashable]] = field(default_factory=deque[tuple[int, Hashable]])
    """Numbers and owners of transactions that ended sessions have not rolled back."""
    captured: frozenset[int] = frozenset()
    """Tabids of the tables with full-row logging, and of those of `watched`, whose changes are logged."""
    watched: frozenset[int] = frozenset()
    """Tabids of the tables with queries of push data."""
    changes: ChangeLog | None = None
    """The server's log of these."""
    table_names: dict[int, str] = field(default_factory=dict[int, str])
    """By tabid: the tables that sessions know, for sysmaster."""
    deleted_rows: dict[int, int] = field(default_factory=dict[int, int])
    """By tabid: the highest rowid that a transaction has deleted or rolled back."""
    serials: Serials = field(default_factory=Serials)
    sequences: Sequences = field(default_factory=Sequences)
    objects_in_use: ObjectsInUse = field(default_factory=ObjectsInUse)
    _version_lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.committed = CommittedTransactions(path_beside(self.path))

    @property
    def codec(self) -> str:
        """The Python name of its code set."""
        return code_set_of(self.locale).codec

    users: int = 0
    """Number of sessions that have it open."""
    version: int = 0
    """Increases whenever the schema may have changed for some session."""
    _keeper: sqlite3.Connection | None = field(default=None, init=False, repr=False)

    def keep_open(self) -> None:
        """Keep the file open until `release_file`, if that can be done.

        SQLite's last connection to a file locks it while it removes the WAL, and refuses other connections (measured).
        """
        if self._keeper is None:
            with suppress(sqlite3.OperationalError):  # the session's own connection reports it
                self._keeper = sqlite3.connect(self.path, check_same_thread=False)
                self._keeper.execute('SELECT 1 FROM "ifx_database"').fetchall()  # opens the WAL

    def release_file(self) -> None:
        """Close the file, which no session has open."""
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None

    def on_schema_changed(self) -> None:
        """Called after a session has changed the schema, or undone or committed a change."""
        with self._version_lock:
            self.version += 1


class Databases:
    """All databases in one directory; thread-safe.

    Without a directory the files are in a temporary one that `close` removes.
    """

    def __init__(
        self,
        directory: Path | None = None,
        locale: str = DEFAULT_LOCALE,
        routines: Routines | None = None,
        busy_timeout: float = BUSY_TIMEOUT,
        sort_memory: int = SORT_MEMORY,
        *,
        read_only: bool = False,
    ) -> None:
        """Find the databases in *directory*; *locale* is the default of databases created without one.

        Args:
            read_only: use a temporary copy of the directory, and refuse writes as a secondary server does.

        Raises:
            ValueError: a file in it is not a database of this server.
            InterfaceError: the locale has an unknown code set; another server uses the directory; there is none.
        """
        self.routines = routines or Routines()
        """Routines written in Python, available in every database."""
        self.refusal = WriteRefusal.SECONDARY if read_only else None
        """Why all writes are refused; None: they are not."""
        self.locks: Final = LockManager()
        """The locks of all databases."""
        self._busy_timeout = busy_timeout
        self.sort_memory: Final = sort_memory
        """Bytes for each session."""
        self._lock = threading.Lock()
        self._closed = threading.Condition(self._lock)
        self.locale: Final = numbered_locale(locale)
        """DB_LOCALE of the server: the default of new databases and of clients."""
        self._temporary: TemporaryDirectory[str] | None = None
        self._directory_lock: DirectoryLock | None = None
        if directory is not None and not read_only:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._directory_lock = DirectoryLock(directory)
            self._directory = directory
        else:
            self._temporary = TemporaryDirectory(prefix="aioifx-", ignore_cleanup_errors=True)
            self._directory = Path(self._temporary.name)
        folder = self._directory / _CHANGES
        self.changes: Final = ChangeLog(folder)
        """The changes of the tables with full-row logging, of all databases."""
        self._captured = CapturedTables(folder / "tables.json")
        try:
            if directory is not None and read_only:
                _copy_directory(directory, self._directory)
            self._known = {
                path.stem: _database_in(path, self.locks, busy_timeout)
                for path in sorted(self._directory.glob(f"*{_SUFFIX}"))
            }
            self._open_changes()
        except BaseException:
            self._known = {}
            self.close()
            raise

    def _open_changes(self) -> None:
        for database in self._known.values():
            self._adopt(database)
        if self.changes.numbers:
            known = self._known.values()
            self.changes.recover({(each.name, number) for each in known for number in unended(each)})
        for database in self._known.values():
            if database.is_recovered:  # the undo log is empty: these numbers are used again
                database.committed.remove(database.committed.numbers)

    def _adopt(self, database: Database) -> None:
        database.changes = self.changes
        database.captured = self._captured.of(database.name)

    def capture(self, database: Database, tabid: int, form: str, *, is_captured: bool) -> None:
        """Turn full-row logging of a table on or off; only under the database's latch.

        Args:
            form: see `Logging.form`.

        Raises:
            OSError: it cannot be written.
        """
        if (tabid in self._captured.of(database.name)) is not is_captured:
            self._captured.set(database.name, tabid, form, self.changes.end, is_on=is_captured)
            self._combine(database)

    def first_captured(self, database: Database, tabid: int) -> int:
        """The position from which on the log has rows of a captured table in its present form."""
        return self._captured.first(database.name, tabid)

    def watch(self, database: Database, tabids: frozenset[int]) -> None:
        """Log the changes of these tables for push data as well, until the server ends."""
        database.watched = tabids
        self._combine(database)

    def _combine(self, database: Database) -> None:
        with self._lock:
            database.captured = self._captured.of(database.name) | database.watched

    def describe(self, address: str) -> None:
        """Tell other servers that want the directory the address of this one."""
        if self._directory_lock is not None:
            self._directory_lock.describe(address)

    @property
    def directory(self) -> Path:
        """The directory of the databases' files."""
        return self._directory

    @property
    def files(self) -> Path:
        """The folder of the files that LOTOFILE and FILETOBLOB use at the server; it may not exist."""
        return self._directory / _FILES

    @property
    def names(self) -> list[str]:
        """The names of all databases, in order."""
        return [database.name for database in self.all()]

    def all(self) -> list[Database]:
        """All databases, by name."""
        with self._lock:
            return sorted(self._known.values(), key=lambda database: database.name)

    def create(self, name: str, log_mode: LogMode, owner: str, locale: str = "") -> Database:
        """Create an empty database; its locale does not change later.

        Raises:
            SqlError: -330, it exists; -354, invalid name (assumed: the SQLCODE).
            InterfaceError: the locale has an unknown code set.
        """
        locale = numbered_locale(locale) if locale else self.locale
        with self._lock:
            database = Database(
                name,
                self._new_path(name),
                log_mode,
                owner,
                date.today(),
                locale,
                self.locks,
                self._busy_timeout,
            )
            _fill(database)
            self._adopt(database)
            self._known[name] = database
            return database

    def copy(self, source: str, name: str) -> Database:
        """Create a database with all that *source* contains, its serials, sequences and large objects included.

        Raises:
            SqlError: -329, *source* is not found; -425, a session has it open; others as `create`.
        """
        original = self.find(source)
        with self._lock:
            if original.users:
                raise SqlError(-425, -107, token=source)
            path = self._new_path(name)
            original.release_file()
            _copy(original.path, path)
            facts = original.log_mode, original.owner, original.created, original.locale
            database = Database(name, path, *facts, self.locks, self._busy_timeout)
            database.is_recovered = original.is_recovered  # the copy has the undo log, too
            self._adopt(database)
            self._known[name] = database
            return database

    def _new_path(self, name: str) -> Path:
        if not is_database_name(name):
            raise SqlError(-354, token=name)
        if name in self._known:
            raise SqlError(-330, -100, token=name)
        return self._directory / f"{name}{_SUFFIX}"

    def find(self, name: str) -> Database:
        """The database of that name.

        Raises:
            SqlError: -329, not found.
        """
        with self._lock:
            return self._find(name)

    def _find(self, name: str) -> Database:
        try:
            return self._known[name]
        except KeyError:
            raise SqlError(-329, -111, token=name) from None

    def open(self, name: str) -> Database:
        """The database of that name, counted as used until `on_closed`.

        Raises:
            SqlError: -329, not found.
        """
        with self._lock:
            database = self._find(name)
            database.keep_open()
            database.users += 1
        return database

    def on_closed(self, database: Database) -> None:
        """Called when a session has closed *database*."""
        with self._closed:
            database.users -= 1
            self._closed.notify_all()

    def drop(self, name: str, wait: float = 0.0) -> None:
        """Remove a database that is not open.

        Args:
            wait: seconds for sessions to close it.

        Raises:
            SqlError: -329, not found; -425, a session has it open; -389, every server has it.
        """
        if name in OWN_DATABASES:
            raise SqlError(-389)
        database = self.find(name)
        with self._closed:
            if not self._closed.wait_for(lambda: not database.users, wait):
                raise SqlError(-425, -107, token=name)
            if self._known.pop(name, None) is None:
                raise SqlError(-329, -111, token=name)
            database.release_file()
            _remove(database.path)
            self._captured.forget(name)

    def close(self) -> None:
        """Close all databases, and remove temporary files."""
        self.changes.close()
        with self._lock:
            for database in self._known.values():
                database.release_file()
            self._known.clear()
        if self._directory_lock is not None:
            self._directory_lock.close()
        if self._temporary is not None:
            self._temporary.cleanup()


def unended(database: Database) -> Iterator[int]:
    """The numbers of the transactions that a killed server has not committed in a database.

    Such a transaction is in the undo log alone. An exclusive one, whose undo log is not written before its COMMIT, is
    among the committed ones alone.
    """
    with closing(sqlite3.connect(database.path)) as connection:
        numbers = undo_log.UndoLog(connection).transactions()
    return iter(database.committed.numbers.symmetric_difference(numbers))


def _fill(database: Database) -> None:
    """Create the file with the system catalog; remove it on failure."""
    try:
        content = _empty_file(database.log_mode, database.owner, database.created, database.locale)
        with open(database.path, "wb", opener=private) as file:
            file.write(content)
    except BaseException:
        _remove(database.path)
        raise


@lru_cache(maxsize=8)
def _empty_file(log_mode: LogMode, owner: str, created: date, locale: str) -> bytes:
    """The file of a database without users' tables; cached, since the catalog takes hundreds of statements."""

    def raise_it(error: SqlError) -> None:
        raise error

    with TemporaryDirectory(prefix="aioifx-", ignore_cleanup_errors=True) as directory:
        path = Path(directory, f"empty{_SUFFIX}")
        with closing(connect(path, Settings(), raise_it)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA application_id={_APPLICATION}")
            connection.execute("BEGIN")
            connection.execute(_FACTS)
            facts = (log_mode, owner, created.isoformat(), locale)
            connection.execute('INSERT INTO "ifx_database" VALUES (?, ?, ?, ?)', facts)
            undo_log.create(connection)
            for step in catalog.creation_steps(owner, locale):
                connection.execute(step.sql, step.values)
            connection.execute("COMMIT")
        return path.read_bytes()  # closing has moved the WAL into it


def _copy(source: Path, target: Path) -> None:
    """Copy the file of a closed database; remove the copy on failure."""
    try:
        if Path(f"{source}-wal").exists():  # its last user was killed
            with closing(sqlite3.connect(source)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        copy_private(source, target)
        if path_beside(source).exists():
            copy_private(path_beside(source), path_beside(target))
    except BaseException:
        _remove(target)
        raise


def _copy_directory(source: Path, target: Path) -> None:
    """Copy all databases, and what a killed server has left of them, without a change of *source*.

    Raises:
        InterfaceError: a server uses *source*, or it does not exist.
    """
    if not source.is_dir():
        raise InterfaceError(f"directory: {source} does not exist")
    with closing(DirectoryLock(source, is_shared=True)):
        for path in source.glob(f"*{_SUFFIX}*"):
            if not path.name.endswith("-shm"):  # an index of the log, which SQLite makes again
                copy_private(path, target / path.name)
        if (source / _FILES).is_dir():
            shutil.copytree(source / _FILES, target / _FILES, copy_function=copy_private)


def _remove(path: Path) -> None:
    for file in (path, Path(f"{path}-wal"), Path(f"{path}-shm"), path_beside(path)):
        file.unlink(missing_ok=True)


def _database_in(path: Path, locks: LockManager, busy_timeout: float) -> Database:
    """The database that a file contains.

    Raises:
        ValueError: the file is not a database of this server.
    """
    try:
        with closing(sqlite3.connect(path)) as connection:
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            if application != _APPLICATION:
                raise ValueError(f"{path} is not a database of aioifx.server")
            facts: tuple[str, str, str, str] = connection.execute('SELECT * FROM "ifx_database"').fetchone()
            is_recovered = undo_log.UndoLog(connection).is_empty
    except sqlite3.DatabaseError as error:
        raise ValueError(f"{path} is not a database of aioifx.server: {error}") from error
    log_mode, owner, created, locale = facts
    born = date.fromisoformat(created)
    return Database(
        path.stem,
        path,
        LogMode(log_mode),
        owner,
        born,
        locale,
        locks,
        busy_timeout,
        is_recovered=is_recovered,
    )
