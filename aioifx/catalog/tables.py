"""Tables of the system catalog, read by one statement for each. Never: SQLAlchemy's form of what is read, DDL.

Source: documented: Guide to SQL Reference, System Catalog Tables: systables, syscolumns, sysdefaults, sysxtdtypes,
sysconstraints, sysreferences, sysindices, syschecks, sysviews, syssyntable, sysprocedures, syssequences; observed: JDBC
names the tables as ``database:informix.systables``; tools read indexkeys as LVARCHAR

Invariants:
1. A statement is sent once for each `Tables`, or once for each `_CHUNK` tables if tables are named.
2. CHAR columns are padded: owners are stripped, and text over several rows keeps the blanks between them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from aioifx.catalog.texts import IndexKeys, Key, Place, column_type, index_keys, joined
from aioifx.client.api.connection import Connection
from aioifx.client.execution.type_lookup import resolved_types
from aioifx.rows import tuple_row
from aioifx.sqltypes import NOT_NULL, Row, SqlType

_T = TypeVar("_T")

CatalogRow: TypeAlias = Sequence[Any]

Fetch: TypeAlias = Callable[[str, Sequence[Any]], Awaitable[Sequence[CatalogRow]]]
"""A query and the values of its placeholders -> its rows."""

_CHUNK: Final = 250
"""The most tables that one statement names."""

FIRST_USER_TABID: Final = 100
_FIRST_PARTNUM: Final = 0x100000
"""The part numbers of pseudo tables are lower, and DBINFO('dbspace') rejects them (documented)."""

OWN_IN_ANSI: Final = "t.owner = USER OR t.owner = UPPER(USER)"
"""The condition for tables of the user in an ANSI database.

Source: documented: ANSIOWNER; unless it is set, the default owner in an ANSI database is the user in upper case, and
USER keeps its case
"""

_RAW: Final = 16
"""The bit of systables.flags for RAW tables (documented)."""
_HIDDEN: Final = 1
"""The bit of syscolumns.colattr for columns that ``SELECT *`` leaves out."""


class TableEntry(NamedTuple):
    """A row of systables."""

    tabid: int
    name: str
    owner: str
    kind: str
    """T table, E external table, V view, S synonym, P private synonym, Q sequence."""
    lock_level: str
    """P page, R row, B both."""
    first_extent: int
    next_extent: int
    dbspace: str
    """Empty for a fragmented table, which has several."""
    base: int
    """The tabid that a synonym stands for; 0 if it belongs to another database."""
    is_own: bool
    flags: int = 0

    @property
    def source(self) -> int:
        """The tabid of its columns and constraints."""
        return self.base or self.tabid

    @property
    def is_raw(self) -> bool:
        return bool(self.flags & _RAW)

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
    owner: str = ""
    method: int = 0
    """The number of the access method."""

    @property
    def is_of_constraint(self) -> bool:
        """Whether a constraint has made it."""
        return self.name.startswith(" ")


class ParentEntry(NamedTuple):
    """The table and the key that a foreign key refers to."""

    name: str
    schema: str | None
    keys: tuple[Key, ...]
    owner: str = ""


class ConstraintEntry(NamedTuple):
    """A row of sysconstraints."""

    constrid: int
    name: str
    kind: str
    """P primary key, U unique, R foreign key, C check."""
    index_name: str
    cascades: bool
    parent: ParentEntry | None
    owner: str = ""


class Tables:
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

    async def tables(self, fetch: Fetch) -> Mapping[str, TableEntry]:
        """Tables, views and synonyms by name."""
        return await self._part("tables", self._read_tables, fetch)

    async def entries(self, fetch: Fetch) -> Sequence[TableEntry]:
        """Tables, views, synonyms and sequences, in the order of their making; also those that need an owner."""
        return await self._part("entries", self._read_entries, fetch)

    async def _read_tables(self, fetch: Fetch) -> dict[str, TableEntry]:
        found: dict[str, TableEntry] = {}
        for entry in await self.entries(fetch):
            if entry.kind != "Q" and self._is_visible(entry) and (entry.is_own or entry.name not in found):
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

    async def _read_entries(self, fetch: Fetch) -> list[TableEntry]:
        where = ["t.tabtype IN ('T', 'E', 'V', 'S', 'P', 'Q')"]
        params: list[Any] = []
        if self._place.owner is not None:
            where.append("t.owner = ?")
            params.append(self._place.owner)
        sql = (
            "SELECT t.tabid, t.tabname, t.owner, t.tabtype, t.locklevel, t.fextsize, t.nextsize, s.btabid,"
            f" CASE WHEN {self._is_own} THEN 1 ELSE 0 END, t.partnum, {self._dbspace}, t.flags"
            f" FROM {self._place.catalog}systables t"
            f" LEFT OUTER JOIN {self._place.catalog}syssyntable s ON s.tabid = t.tabid"
            f" WHERE {' AND '.join(where)}"
        )
        if self._names is None:
            rows = await fetch(f"{sql} AND t.tabid >= {FIRST_USER_TABID}", params)
        else:
            rows = await _of_all(fetch, f"{sql} AND t.tabname", self._names, before=params)
        return sorted(_table_entry(row) for row in rows)  # by tabid

    @property
    def _is_own(self) -> str:
        """The condition for tables of the user."""
        return OWN_IN_ANSI if self._is_ansi else "t.owner = USER"

    @property
    def _dbspace(self) -> str:
        """The dbspace of a table; of a part number that DBINFO rejects, that of the first dbspace instead."""
        if self._place.is_remote:  # part numbers are those of the other server
            return "''"
        partnum = f"CASE WHEN t.partnum >= {_FIRST_PARTNUM} THEN t.partnum ELSE {_FIRST_PARTNUM + 1} END"
        return f"DBINFO('dbspace', {partnum})"

    # -- columns ------------------------------------------------------------------------------------------------------

    async def columns(self, fetch: Fetch) -> Mapping[int, Sequence[ColumnEntry]]:
        """Columns by tabid, in order."""
        return await self._part("columns", self._read_columns, fetch)

    async def _read_columns(self, fetch: Fetch) -> dict[int, list[ColumnEntry]]:
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
            for row in await self.of_tables(fetch, sql, "c.tabid", " ORDER BY c.tabid, c.colno")
            if not (row[11] or 0) & _HIDDEN
        ]
        types = await resolved(fetch, [column_type(*row[3:9]) for row in rows], self._place.catalog)
        columns: dict[int, list[ColumnEntry]] = defaultdict(list)
        for row, sql_type in zip(rows, types, strict=True):
            columns[row[0]].append(
                ColumnEntry(
                    row[1], row[2], sql_type, not row[3] & NOT_NULL, row[9] or "", (row[10] or "").rstrip(" ")
                )
            )
        return columns

    async def _column_names(self, fetch: Fetch, tabids: Collection[int]) -> dict[int, dict[int, str]]:
        """Names by number, by tabid; also of tables that are not reflected."""
        known = await self.columns(fetch)
        names = {tabid: {one.number: one.name for one in known[tabid]} for tabid in tabids if tabid in known}
        catalog = self._place.catalog
        sql = f"SELECT tabid, colno, colname FROM {catalog}syscolumns WHERE tabid"
        for tabid, number, name in await _of_all(fetch, sql, sorted(set(tabids) - names.keys())):
            names.setdefault(tabid, {})[number] = name
        return names

    # -- constraints and indexes --------------------------------------------------------------------------------------

    async def constraints(self, fetch: Fetch) -> Mapping[int, Sequence[ConstraintEntry]]:
        """Constraints by tabid, by name; without those for NOT NULL."""
        return await self._part("constraints", self._read_constraints, fetch)

    async def _read_constraints(self, fetch: Fetch) -> dict[int, list[ConstraintEntry]]:
        catalog = self._place.catalog
        sql = (
            "SELECT k.tabid, k.constrid, k.constrname, k.constrtype, k.idxname, r.delrule, k.owner, r.ptabid,"
            f" t.tabname, t.owner, CASE WHEN {self._is_own} THEN 1 ELSE 0 END, i.indexkeys::lvarchar"
            f" FROM {catalog}sysconstraints k"
            f" LEFT OUTER JOIN {catalog}sysreferences r ON r.constrid = k.constrid"
            f" LEFT OUTER JOIN {catalog}systables t ON t.tabid = r.ptabid"
            f" LEFT OUTER JOIN {catalog}sysconstraints p ON p.constrid = r.primary"
            f" LEFT OUTER JOIN {catalog}sysindices i ON i.tabid = p.tabid AND i.idxname = p.idxname"
            " WHERE k.constrtype <> 'N' AND "
        )
        rows = await self.of_tables(fetch, sql, "k.tabid", " ORDER BY k.constrname")
        parents = await self._keys(fetch, [(row[7], row[11]) for row in rows if row[7] is not None])
        constraints: dict[int, list[ConstraintEntry]] = defaultdict(list)
        for tabid, constrid, name, kind, index, rule, owner, ptabid, pname, powner, is_own, keys in rows:
            parent = None
            if ptabid is not None:
                schema = self._schema_of(powner.rstrip(" "), bool(is_own))
                parent = ParentEntry(pname, schema, parents[ptabid, keys], powner.rstrip(" "))
            constraints[tabid].append(
                ConstraintEntry(constrid, name, kind, index or "", rule == "C", parent, owner.rstrip(" "))
            )
        return constraints

    def _schema_of(self, owner: str, is_own: bool) -> str | None:
        """The schema of another table of the database, in the form of this place's schema."""
        if self._place.owner is not None or (self._is_ansi and not is_own):
            return self._place.database + owner
        return self._place.database or None

    async def indexes(self, fetch: Fetch) -> Mapping[int, Sequence[IndexEntry]]:
        """Indexes by tabid, by name; also those of constraints, whose names start with a blank."""
        return await self._part("indexes", self._read_indexes, fetch)

    async def _read_indexes(self, fetch: Fetch) -> dict[int, list[IndexEntry]]:
        sql = (
            "SELECT i.tabid, i.idxname, i.idxtype, i.clustered, i.indexkeys::lvarchar, i.owner, i.amid"
            f" FROM {self._place.catalog}sysindices i WHERE "
        )
        rows = await self.of_tables(fetch, sql, "i.tabid", " ORDER BY i.idxname")
        keys = await self._keys(fetch, [(row[0], row[4]) for row in rows])
        indexes: dict[int, list[IndexEntry]] = defaultdict(list)
        for tabid, name, kind, clustered, text, owner, method in rows:
            entry = IndexEntry(
                name, kind in ("U", "u"), clustered == "C", keys[tabid, text], owner.rstrip(" "), method or 0
            )
            indexes[tabid].append(entry)
        return indexes

    async def _keys(
        self, fetch: Fetch, wanted: Collection[tuple[int, str]]
    ) -> dict[tuple[int, str], tuple[Key, ...]]:
        """The keys of indexes by tabid and sysindices.indexkeys."""
        parsed = {one: index_keys(one[1] or "") for one in wanted}
        names = await self._column_names(fetch, {tabid for tabid, _ in wanted})
        routines = await self._routines(fetch, parsed.values())
        return {
            (tabid, text): tuple(key.named(names.get(tabid, {}), routines) for key in keys)
            for (tabid, text), keys in parsed.items()
        }

    async def _routines(self, fetch: Fetch, keys: Collection[IndexKeys]) -> dict[int, str]:
        """The names of functions in the keys of functional indexes, by procid."""
        procids = sorted({key.procid for each in keys for key in each if key.procid})
        sql = f"SELECT procid, procname FROM {self._place.catalog}sysprocedures WHERE procid"
        return {procid: name for procid, name in await _of_all(fetch, sql, procids)}

    # -- texts --------------------------------------------------------------------------------------------------------

    async def checks(self, fetch: Fetch) -> Mapping[int, str]:
        """The conditions of check constraints by constrid."""
        return await self._part("checks", self._read_checks, fetch)

    async def _read_checks(self, fetch: Fetch) -> dict[int, str]:
        catalog = self._place.catalog
        sql = (
            f"SELECT h.constrid, h.checktext FROM {catalog}syschecks h, {catalog}sysconstraints k"
            " WHERE k.constrid = h.constrid AND h.type = 'T' AND "
        )
        return texts(await self.of_tables(fetch, sql, "k.tabid", " ORDER BY h.constrid, h.seqno"), 32)

    async def views(self, fetch: Fetch) -> Mapping[int, str]:
        """The CREATE VIEW statements by tabid."""
        return await self._part("views", self._read_views, fetch)

    async def _read_views(self, fetch: Fetch) -> dict[int, str]:
        sql = f"SELECT v.tabid, v.viewtext FROM {self._place.catalog}sysviews v WHERE "
        return texts(await self.of_tables(fetch, sql, "v.tabid", " ORDER BY v.tabid, v.seqno"), 256)

    # -- reading ------------------------------------------------------------------------------------------------------

    async def _part(self, name: str, read: Callable[[Fetch], Awaitable[_T]], fetch: Fetch) -> _T:
        if name not in self._parts:
            self._parts[name] = await read(fetch)
        found: _T = self._parts[name]
        return found

    async def of_tables(self, fetch: Fetch, sql: str, tabid: str, tail: str) -> Sequence[CatalogRow]:
        """The rows of a statement for these tables; *sql* ends with the place of the condition."""
        if self._names is None and self._place.owner is None:
            return await fetch(f"{sql}{tabid} >= {FIRST_USER_TABID}{tail}", ())
        tabids = sorted({entry.source for entry in await self.entries(fetch)})
        return await _of_all(fetch, sql + tabid, tabids, tail)


def _table_entry(row: CatalogRow) -> TableEntry:
    tabid, name, owner, kind, lock_level, first, following, base, is_own, partnum, dbspace, flags = row
    is_stored = (partnum or 0) >= _FIRST_PARTNUM
    return TableEntry(
        tabid, name, owner.rstrip(" "), kind, lock_level, first or 0, following or 0,
        (dbspace or "").rstrip(" ") if is_stored else "", base or 0, bool(is_own), flags or 0,
    )  # fmt: skip


def fetch_of(conn: Connection[Any]) -> Fetch:
    """The function that reads the catalog by a connection."""

    async def fetch(sql: str, params: Sequence[Any]) -> list[Row]:
        return await conn.fetch(sql, *params, row_factory=tuple_row)

    return fetch


async def resolved(fetch: Fetch, types: Sequence[SqlType], catalog: str) -> Sequence[SqlType]:
    """The types with the fields of ROW types and collections.

    Args:
        catalog: what precedes the name of a catalog table.
    """

    async def fetch_rows(sql: str) -> list[Any]:
        return list(await fetch(sql, ()))

    return await resolved_types(types, {}, fetch_rows, catalog) or types


def texts(rows: Iterable[CatalogRow], width: int) -> dict[int, str]:
    """The texts of rows that each have a number and a piece of *width* bytes, in order."""
    grouped = groupby(rows, key=itemgetter(0))
    return {number: joined([row[1] or "" for row in each], width) for number, each in grouped}


async def _of_all(
    fetch: Fetch, sql: str, values: Sequence[Any], tail: str = "", *, before: Sequence[Any] = ()
) -> Sequence[CatalogRow]:
    """The rows of a statement, whose condition ends with a column that has one of these values.

    Args:
        before: values of the placeholders in *sql*.
    """
    rows: list[CatalogRow] = []
    for start in range(0, len(values), _CHUNK):
        chunk = values[start : start + _CHUNK]
        rows += await fetch(f"{sql} IN ({', '.join('?' * len(chunk))}){tail}", [*before, *chunk])
    return rows
