"""The system catalog, read by one statement for each of its tables. Never: SQLAlchemy's form of what is read.

Source: documented: Guide to SQL Reference, System Catalog Tables: systables, syscolumns, sysdefaults, sysxtdtypes,
sysconstraints, sysreferences, sysindices, syschecks, sysviews, syssyntable, sysprocedures, syssequences; observed: JDBC
names the tables as ``database:informix.systables``; tools read indexkeys as LVARCHAR

Invariants:
1. A statement is sent once for each `Catalog`, or once for each `_CHUNK` tables if tables are named.
2. CHAR columns are padded: owners are stripped, and text over several rows keeps the blanks between them.
"""

# pyright: reportUnknownMemberType=false
# SQLAlchemy's `Connection.exec_driver_sql` is annotated in part.

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from sqlalchemy import exc
from sqlalchemy.engine import Connection

from aioifx.client.execution.type_lookup import resolved_types
from aioifx.errors import UndefinedColumn
from aioifx.sqlalchemy.catalog_text import IndexKeys, Key, Place, column_type, index_keys, joined
from aioifx.sqltypes import NOT_NULL, SqlType

_T = TypeVar("_T")

_Row: TypeAlias = Sequence[Any]

_CHUNK: Final = 250
"""The most tables that one statement names."""

_FIRST_USER_TABID: Final = 100
_FIRST_PARTNUM: Final = 0x100000
"""The part numbers of pseudo tables are lower, and DBINFO('dbspace') rejects them (documented)."""

_OWN_IN_ANSI: Final = "t.owner = USER OR t.owner = UPPER(USER)"
"""The condition for tables of the user in an ANSI database.

Source: documented: ANSIOWNER; unless it is set, the default owner in an ANSI database is the user in upper case, and
USER keeps its case
"""

_HIDDEN: Final = 1
"""The bit of syscolumns.colattr for columns that ``SELECT *`` leaves out."""


class TableEntry(NamedTuple):
    """A row of systables."""

    tabid: int
    name: str
    owner: str
    kind: str
    """T table, E external table, V view, S synonym, P private synonym."""
    lock_level: str
    """P page, R row, B both."""
    first_extent: int
    next_extent: int
    dbspace: str
    """Empty for a fragmented table, which has several."""
    base: int
    """The tabid that a synonym stands for; 0 if it belongs to another database."""
    is_own: bool

    @property
    def source(self) -> int:
        """The tabid of its columns and constraints."""
        return self.base or self.tabid

    @property
    def is_foreign(self) -> bool:
        """Whether it is a synonym for a table of another database, whose columns this catalog does not have."""
        return self.kind in "SP" and not self.base


class ColumnEntry(NamedTuple):
    """A row of syscolumns, with its default."""

    number: int
    name: str
    type: SqlType
    nullable: bool
    default_kind: str
    """A letter of sysdefaults.type; empty without a default."""
    default: str


class IndexEntry(NamedTuple):
    """A row of sysindices."""

    name: str
    is_unique: bool
    is_clustered: bool
    keys: tuple[Key, ...]


class ParentEntry(NamedTuple):
    """The table and the key that a foreign key refers to."""

    name: str
    schema: str | None
    keys: tuple[Key, ...]


class ConstraintEntry(NamedTuple):
    """A row of sysconstraints."""

    constrid: int
    name: str
    kind: str
    """P primary key, U unique, R foreign key, C check."""
    index_name: str
    cascades: bool
    parent: ParentEntry | None


class Catalog:
    """The catalog's entries of all tables of a place, or of those named. Each part is read when it is first asked for.

    Args:
        names: None for all tables that users have created.
    """

    def __init__(self, place: Place, names: Collection[str] | None, *, is_ansi: bool) -> None:
        self._place = place
        self._names = None if names is None else sorted(set(names))
        self._is_ansi = is_ansi
        self._parts: dict[str, Any] = {}

    # -- tables -------------------------------------------------------------------------------------------------------

    def has_read(self, names: Collection[str]) -> bool:
        """Whether all of these tables are among those that have been read."""
        return "tables" in self._parts and self._parts["tables"].keys() >= set(names)

    def tables(self, connection: Connection) -> Mapping[str, TableEntry]:
        """Tables, views and synonyms by name."""
        return self._part("tables", self._read_tables, connection)

    def _read_tables(self, connection: Connection) -> dict[str, TableEntry]:
        found: dict[str, TableEntry] = {}
        for entry in map(_table_entry, self._table_rows(connection)):
            if self._is_visible(entry) and (entry.is_own or entry.name not in found):
                found[entry.name] = entry
        return found

    def _is_visible(self, entry: TableEntry) -> bool:
        """Whether the name without an owner means this table, if the place has none.

        Source: documented: Database Object Name; in an ANSI database, the name of another user's table needs its owner;
        private synonyms are their owners'
        """
        if self._place.owner is not None or entry.is_own:
            return True
        return not self._is_ansi and entry.kind != "P"

    def _table_rows(self, connection: Connection) -> Iterator[_Row]:
        where = ["t.tabtype IN ('T', 'E', 'V', 'S', 'P')"]
        params: list[Any] = []
        if self._place.owner is not None:
            where.append("t.owner = ?")
            params.append(self._place.owner)
        sql = (
            "SELECT t.tabid, t.tabname, t.owner, t.tabtype, t.locklevel, t.fextsize, t.nextsize, s.btabid,"
            f" CASE WHEN {self._is_own} THEN 1 ELSE 0 END, t.partnum, {self._dbspace}"
            f" FROM {self._place.catalog}systables t"
            f" LEFT OUTER JOIN {self._place.catalog}syssyntable s ON s.tabid = t.tabid"
            f" WHERE {' AND '.join(where)}"
        )
        if self._names is None:
            yield from _rows(connection, f"{sql} AND t.tabid >= {_FIRST_USER_TABID}", params)
            return
        for chunk in _chunks(self._names):
            yield from _rows(connection, f"{sql} AND t.tabname IN ({_marks(chunk)})", [*params, *chunk])

    @property
    def _is_own(self) -> str:
        """The condition for tables of the user."""
        return _OWN_IN_ANSI if self._is_ansi else "t.owner = USER"

    @property
    def _dbspace(self) -> str:
        """The dbspace of a table; of a part number that DBINFO rejects, that of the first dbspace instead."""
        if self._place.is_remote:  # part numbers are those of the other server
            return "''"
        partnum = f"CASE WHEN t.partnum >= {_FIRST_PARTNUM} THEN t.partnum ELSE {_FIRST_PARTNUM + 1} END"
        return f"DBINFO('dbspace', {partnum})"

    # -- columns ------------------------------------------------------------------------------------------------------

    def columns(self, connection: Connection) -> Mapping[int, Sequence[ColumnEntry]]:
        """Columns by tabid, in order."""
        return self._part("columns", self._read_columns, connection)

    def _read_columns(self, connection: Connection) -> dict[int, list[ColumnEntry]]:
        catalog = self._place.catalog
        sql = (
            "SELECT c.tabid, c.colno, c.colname, c.coltype, c.collength, c.extended_id, x.owner, x.name, x.source,"
            f" d.type, TRIM(TRAILING FROM d.default), c.colattr FROM {catalog}syscolumns c"
            f" LEFT OUTER JOIN {catalog}sysdefaults d"
            " ON d.tabid = c.tabid AND d.colno = c.colno AND d.class = 'T'"
            f" LEFT OUTER JOIN {catalog}sysxtdtypes x ON x.extended_id = c.extended_id WHERE "
        )
        rows = [
            row
            for row in self._of_tables(connection, sql, "c.tabid", " ORDER BY c.tabid, c.colno")
            if not (row[11] or 0) & _HIDDEN
        ]
        types = self._resolved(connection, [column_type(*row[3:9]) for row in rows])
        columns: dict[int, list[ColumnEntry]] = defaultdict(list)
        for row, sql_type in zip(rows, types, strict=True):
            columns[row[0]].append(
                ColumnEntry(
                    row[1], row[2], sql_type, not row[3] & NOT_NULL, row[9] or "", (row[10] or "").rstrip(" ")
                )
            )
        return columns

    def _resolved(self, connection: Connection, types: Sequence[SqlType]) -> Sequence[SqlType]:
        """The types with the fields of ROW types and collections.

        The client's own look-up awaits nothing but its queries, and these do not suspend here.
        """

        async def fetch(sql: str) -> list[Any]:
            return list(_rows(connection, sql, ()))

        look_up = resolved_types(types, {}, fetch, self._place.catalog)
        try:
            look_up.send(None)
        except StopIteration as end:
            return end.value or types
        raise AssertionError("the look-up of types has suspended")  # pragma: no cover

    def _column_names(self, connection: Connection, tabids: Collection[int]) -> dict[int, dict[int, str]]:
        """Names by number, by tabid; also of tables that are not reflected."""
        known = self.columns(connection)
        names = {tabid: {one.number: one.name for one in known[tabid]} for tabid in tabids if tabid in known}
        catalog = self._place.catalog
        for chunk in _chunks(sorted(set(tabids) - names.keys())):
            sql = f"SELECT tabid, colno, colname FROM {catalog}syscolumns WHERE tabid IN ({_marks(chunk)})"
            for tabid, number, name in _rows(connection, sql, chunk):
                names.setdefault(tabid, {})[number] = name
        return names

    # -- constraints and indexes --------------------------------------------------------------------------------------

    def constraints(self, connection: Connection) -> Mapping[int, Sequence[ConstraintEntry]]:
        """Constraints by tabid, by name; without those for NOT NULL."""
        return self._part("constraints", self._read_constraints, connection)

    def _read_constraints(self, connection: Connection) -> dict[int, list[ConstraintEntry]]:
        catalog = self._place.catalog
        sql = (
            "SELECT k.tabid, k.constrid, k.constrname, k.constrtype, k.idxname, r.delrule, r.ptabid, t.tabname,"
            f" t.owner, CASE WHEN {self._is_own} THEN 1 ELSE 0 END, i.indexkeys::lvarchar"
            f" FROM {catalog}sysconstraints k"
            f" LEFT OUTER JOIN {catalog}sysreferences r ON r.constrid = k.constrid"
            f" LEFT OUTER JOIN {catalog}systables t ON t.tabid = r.ptabid"
            f" LEFT OUTER JOIN {catalog}sysconstraints p ON p.constrid = r.primary"
            f" LEFT OUTER JOIN {catalog}sysindices i ON i.tabid = p.tabid AND i.idxname = p.idxname"
            " WHERE k.constrtype <> 'N' AND "
        )
        rows = list(self._of_tables(connection, sql, "k.tabid", " ORDER BY k.constrname"))
        parents = self._keys(connection, [(row[6], row[10]) for row in rows if row[6] is not None])
        constraints: dict[int, list[ConstraintEntry]] = defaultdict(list)
        for tabid, constrid, name, kind, index, rule, ptabid, pname, powner, is_own, keys in rows:
            parent = None
            if ptabid is not None:
                schema = self._schema_of(powner.rstrip(" "), bool(is_own))
                parent = ParentEntry(pname, schema, parents[ptabid, keys])
            constraints[tabid].append(ConstraintEntry(constrid, name, kind, index or "", rule == "C", parent))
        return constraints

    def _schema_of(self, owner: str, is_own: bool) -> str | None:
        """The schema of another table of the database, in the form of this place's schema."""
        if self._place.owner is not None or (self._is_ansi and not is_own):
            return self._place.database + owner
        return self._place.database or None

    def indexes(self, connection: Connection) -> Mapping[int, Sequence[IndexEntry]]:
        """Indexes by tabid, by name; also those of constraints, whose names start with a blank."""
        return self._part("indexes", self._read_indexes, connection)

    def _read_indexes(self, connection: Connection) -> dict[int, list[IndexEntry]]:
        sql = (
            "SELECT i.tabid, i.idxname, i.idxtype, i.clustered, i.indexkeys::lvarchar"
            f" FROM {self._place.catalog}sysindices i WHERE "
        )
        rows = list(self._of_tables(connection, sql, "i.tabid", " ORDER BY i.idxname"))
        keys = self._keys(connection, [(row[0], row[4]) for row in rows])
        indexes: dict[int, list[IndexEntry]] = defaultdict(list)
        for tabid, name, kind, clustered, text in rows:
            entry = IndexEntry(name, kind in ("U", "u"), clustered == "C", keys[tabid, text])
            indexes[tabid].append(entry)
        return indexes

    def _keys(
        self, connection: Connection, wanted: Collection[tuple[int, str]]
    ) -> dict[tuple[int, str], tuple[Key, ...]]:
        """The keys of indexes by tabid and sysindices.indexkeys."""
        parsed = {one: index_keys(one[1] or "") for one in wanted}
        names = self._column_names(connection, {tabid for tabid, _ in wanted})
        routines = self._routines(connection, parsed.values())
        return {
            (tabid, text): tuple(key.named(names.get(tabid, {}), routines) for key in keys)
            for (tabid, text), keys in parsed.items()
        }

    def _routines(self, connection: Connection, keys: Collection[IndexKeys]) -> dict[int, str]:
        """The names of functions in the keys of functional indexes, by procid."""
        names: dict[int, str] = {}
        procids = sorted({key.procid for each in keys for key in each if key.procid})
        for chunk in _chunks(procids):
            sql = f"SELECT procid, procname FROM {self._place.catalog}sysprocedures WHERE procid IN ({_marks(chunk)})"
            names |= {procid: name for procid, name in _rows(connection, sql, chunk)}
        return names

    # -- texts --------------------------------------------------------------------------------------------------------

    def checks(self, connection: Connection) -> Mapping[int, str]:
        """The conditions of check constraints by constrid."""
        return self._part("checks", self._read_checks, connection)

    def _read_checks(self, connection: Connection) -> dict[int, str]:
        catalog = self._place.catalog
        sql = (
            f"SELECT h.constrid, h.checktext FROM {catalog}syschecks h, {catalog}sysconstraints k"
            " WHERE k.constrid = h.constrid AND h.type = 'T' AND "
        )
        return _texts(self._of_tables(connection, sql, "k.tabid", " ORDER BY h.constrid, h.seqno"), 32)

    def views(self, connection: Connection) -> Mapping[int, str]:
        """The CREATE VIEW statements by tabid."""
        return self._part("views", self._read_views, connection)

    def _read_views(self, connection: Connection) -> dict[int, str]:
        sql = f"SELECT v.tabid, v.viewtext FROM {self._place.catalog}sysviews v WHERE "
        return _texts(self._of_tables(connection, sql, "v.tabid", " ORDER BY v.tabid, v.seqno"), 256)

    # -- reading ------------------------------------------------------------------------------------------------------

    def _part(self, name: str, read: Callable[[Connection], _T], connection: Connection) -> _T:
        if name not in self._parts:
            self._parts[name] = read(connection)
        found: _T = self._parts[name]
        return found

    def _of_tables(self, connection: Connection, sql: str, tabid: str, tail: str) -> Iterator[_Row]:
        """The rows of a statement for these tables; *sql* ends with the place of the condition."""
        if self._names is None and self._place.owner is None:
            yield from _rows(connection, f"{sql}{tabid} >= {_FIRST_USER_TABID}{tail}", ())
            return
        tabids = sorted({entry.source for entry in self.tables(connection).values()})
        for chunk in _chunks(tabids):
            yield from _rows(connection, f"{sql}{tabid} IN ({_marks(chunk)}){tail}", chunk)


def database_is_ansi(connection: Connection, place: Place) -> bool:
    """Whether a database is an ANSI database."""
    name, _, server = place.database.rstrip(":").partition("@")
    sysmaster = f"sysmaster@{server}" if server else "sysmaster"
    sql = f"SELECT is_ansi FROM {sysmaster}:informix.sysdatabases WHERE name = "
    rows = _rows(connection, sql + "?", [name]) if name else _rows(connection, sql + "DBINFO('dbname')", ())
    return bool(rows and rows[0][0])


def owners(connection: Connection) -> list[str]:
    """The owners of tables, views, synonyms and sequences."""
    rows = _rows(connection, "SELECT DISTINCT owner FROM informix.systables", ())
    return sorted(owner for (value,) in rows if (owner := value.rstrip(" ")))


def sequence_names(connection: Connection, place: Place, *, is_ansi: bool) -> list[str]:
    """The sequences of a place; without an owner, those of the user in an ANSI database."""
    sql = f"SELECT t.tabname FROM {place.catalog}systables t WHERE t.tabtype = 'Q'"
    if place.owner is None:
        rows = _rows(connection, f"{sql} AND ({_OWN_IN_ANSI})" if is_ansi else sql, ())
    else:
        rows = _rows(connection, f"{sql} AND t.owner = ?", [place.owner])
    return sorted(name for (name,) in rows)


def temp_table_names(connection: Connection) -> list[str]:
    """The temporary tables of the session, which only sysmaster shows.

    Source: documented: sysptnhdr, with a query for temporary tables by the flag 0x20 and the session's number; assumed:
    old servers lack its column sid, so nothing is found there
    """
    sql = (
        "SELECT n.tabname FROM sysmaster:informix.systabnames n, sysmaster:informix.sysptnhdr h"
        " WHERE h.partnum = n.partnum AND h.sid = DBINFO('sessionid') AND BITAND(h.flags, 32) <> 0"
    )
    try:
        return sorted(name for (name,) in _rows(connection, sql, ()))
    except exc.DBAPIError as error:
        if isinstance(error.orig, UndefinedColumn):
            return []
        raise


def described_columns(connection: Connection, name: str) -> list[ColumnEntry]:
    """The columns of a table that the catalog lacks, from the description of a query; *name* is quoted if needed."""
    cursor: Any = connection.exec_driver_sql(f"SELECT * FROM {name} WHERE 1 = 0").cursor
    return [
        ColumnEntry(number, column[0], column[1], column[6] is not False, "", "")
        for number, column in enumerate(cursor.description, start=1)
    ]


def _table_entry(row: _Row) -> TableEntry:
    tabid, name, owner, kind, lock_level, first, following, base, is_own, partnum, dbspace = row
    is_stored = (partnum or 0) >= _FIRST_PARTNUM
    return TableEntry(
        tabid, name, owner.rstrip(" "), kind, lock_level, first or 0, following or 0,
        (dbspace or "").rstrip(" ") if is_stored else "", base or 0, bool(is_own),
    )  # fmt: skip


def _texts(rows: Iterator[_Row], width: int) -> dict[int, str]:
    grouped = groupby(rows, key=itemgetter(0))
    return {number: joined([row[1] or "" for row in each], width) for number, each in grouped}


def _chunks(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


def _rows(connection: Connection, sql: str, params: Sequence[Any]) -> Sequence[_Row]:
    return connection.exec_driver_sql(sql, tuple(params)).fetchall()
