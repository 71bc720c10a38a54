"""Types, routines, triggers, sequences, states and privileges in the system catalog. Never: tables, the text of DDL.

Source: documented: Guide to SQL Reference, System Catalog Tables: sysxtdtypes, sysinherits, sysprocedures, sysprocbody,
systriggers, systrigbody, syssequences, syssyntable, sysobjstate, sysexternal, sysextdfiles, systabauth, syscolauth,
sysprocauth, sysusers, sysroleauth; their letters likewise
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from aioifx.catalog.definitions import (
    STATES,
    ExternalFiles,
    Grant,
    RoutineDefinition,
    SequenceDefinition,
    TypeDefinition,
)
from aioifx.catalog.names import field_text, owned, type_text, with_owner
from aioifx.catalog.tables import CatalogRow, Fetch, Tables, resolved, texts
from aioifx.catalog.texts import column_type
from aioifx.sqltypes import DISTINCT, SqlType, TypeCode

_BODY: Final = 256
"""Bytes of sysprocbody.data and systrigbody.data."""
_FIRST_EXTENDED_ID: Final = 2048
"""The first number of types that are not built in (documented)."""


class ObjectNames(NamedTuple):
    """Name and owner by number: tabid, procid or extended id."""

    owner: str
    name: str


# --- belonging to tables ----------------------------------------------------------------------------------------------


async def states(fetch: Fetch, tables: Tables) -> Mapping[tuple[int, str, str], str]:
    """What is not simply enabled, by tabid, kind (C constraint, I index, T trigger) and name."""
    sql = "SELECT o.tabid, o.objtype, o.name, o.state FROM informix.sysobjstate o WHERE o.state <> 'E' AND "
    rows = await tables.of_tables(fetch, sql, "o.tabid", "")
    return {(tabid, kind, name): STATES.get(state, "") for tabid, kind, name, state in rows}


class TriggerEntry(NamedTuple):
    """A row of systriggers, with its text."""

    name: str
    owner: str
    sql: str


async def triggers(fetch: Fetch, tables: Tables) -> Mapping[int, Sequence[TriggerEntry]]:
    """Triggers by tabid, in the order of their making."""
    sql = (
        "SELECT g.trigid, b.data, g.trigname, g.owner, g.tabid, b.datakey FROM informix.systriggers g,"
        " informix.systrigbody b WHERE b.trigid = g.trigid AND b.datakey IN ('A', 'D') AND "
    )
    rows = await tables.of_tables(fetch, sql, "g.tabid", " ORDER BY g.trigid, b.datakey DESC, b.seqno")
    heads = texts((row for row in rows if row[5] == "D"), _BODY)
    actions = texts((row for row in rows if row[5] == "A"), _BODY)
    found: dict[int, list[TriggerEntry]] = defaultdict(list)
    for trigid, (name, owner, tabid) in {row[0]: row[2:5] for row in rows}.items():
        text = f"{heads.get(trigid, '')}\n{actions.get(trigid, '')}"
        found[tabid].append(TriggerEntry(name, owner.rstrip(" "), _statement(text, owner)))
    return found


async def sequences(fetch: Fetch, tables: Tables) -> Mapping[int, SequenceDefinition]:
    """Sequences by tabid."""
    sql = (
        "SELECT q.tabid, q.start_val, q.inc_val, q.min_val, q.max_val, q.cycle, q.cache, q.order"
        " FROM informix.syssequences q WHERE "
    )
    return {
        tabid: SequenceDefinition(
            start=start, increment=increment, minimum=minimum, maximum=maximum, cycles=cycle == "1", cache=cache,
            ordered=order == "1",
        )
        for tabid, start, increment, minimum, maximum, cycle, cache, order in await tables.of_tables(
            fetch, sql, "q.tabid", ""
        )
    }  # fmt: skip


async def synonym_targets(fetch: Fetch) -> Mapping[int, str]:
    """What synonyms stand for, by their tabid."""
    sql = (
        "SELECT s.tabid, s.servername, s.dbname, NVL(b.owner, s.owner), NVL(b.tabname, s.tabname)"
        " FROM informix.syssyntable s LEFT OUTER JOIN informix.systables b ON b.tabid = s.btabid"
    )
    found: dict[int, str] = {}
    for tabid, server, database, owner, name in await fetch(sql, ()):
        place = (database or "").rstrip(" ") + (f"@{server.rstrip(' ')}" if server else "")
        found[tabid] = (f"{place}:" if place else "") + owned(owner or "", name or "")
    return found


class _Fragment(NamedTuple):
    """A row of sysfragments: a fragment, or a rule of the distribution."""

    strategy: str
    position: int
    """From 0; -3 for the key, -2 for the interval, -1 for the dbspaces of intervals (documented)."""
    expression: str
    dbspace: str
    partition: str

    @property
    def text(self) -> str:
        """As in FRAGMENT BY."""
        named = self.partition not in ("", self.dbspace)
        words = (f"partition {self.partition}" if named else "", self.expression, f"in {self.dbspace}")
        return " ".join(filter(None, words))


async def fragments(fetch: Fetch, tables: Tables) -> Mapping[tuple[int, str], str]:
    """The clause that says where a table or index is, by tabid and name of the index; a table's is empty."""
    sql = (
        "SELECT f.tabid, f.indexname, f.strategy, f.evalpos, f.exprtext, f.dbspace, f.partition"
        " FROM informix.sysfragments f WHERE f.fragtype IN ('T', 'I') AND "
    )
    found: dict[tuple[int, str], list[_Fragment]] = defaultdict(list)
    for tabid, index, strategy, position, expression, *places in await tables.of_tables(
        fetch, sql, "f.tabid", ""
    ):
        names = (place.rstrip(" ") if place else "" for place in places)
        found[tabid, index or ""].append(_Fragment(strategy, position, (expression or "").strip(), *names))
    return {key: _clause(sorted(each, key=lambda one: one.position)) for key, each in found.items()}


def _clause(rows: Sequence[_Fragment]) -> str:
    """The clause of rows in order: R round robin, E expression, N range, L list, I in a dbspace (documented)."""
    rules = {one.position: one.expression for one in rows if one.position < 0}
    parts = [one for one in rows if one.position >= 0]
    if parts and parts[0].strategy == "I":
        return f"in {parts[0].dbspace}"
    ways = {
        "R": "round robin",
        "E": "expression",
        "N": f"range({rules.get(-3)})",
        "L": f"list({rules.get(-3)})",
    }
    way = ways.get(parts[0].strategy) if parts else None
    if way is None:  # T: as the table
        return ""
    if -2 in rules:
        way += f" interval({rules[-2]})"
    if -1 in rules:
        way += f" store in ({rules[-1]})"
    texts = [one.text for one in parts]
    if parts[0].strategy == "R":  # only the first of several dbspaces has the word
        texts[1:] = [text.removeprefix("in ") for text in texts[1:]]
    return f"fragment by {way} {', '.join(texts)}"


class IndexNames(NamedTuple):
    """The names of access methods and operator classes by number."""

    methods: Mapping[int, str]
    operators: Mapping[int, str]


async def index_names(fetch: Fetch) -> IndexNames:
    """The access methods and operator classes of all indexes."""
    methods = await fetch("SELECT m.am_id, m.am_name FROM informix.sysams m ORDER BY 1", ())
    operators = await fetch("SELECT c.opclassid, c.opclassname FROM informix.sysopclasses c ORDER BY 1", ())
    return IndexNames({row[0]: row[1] for row in methods}, {row[0]: row[1] for row in operators})


async def row_types(fetch: Fetch) -> Mapping[int, str]:
    """The ROW types of typed tables by tabid."""
    sql = (
        "SELECT t.tabid, x.owner, x.name FROM informix.systables t, informix.sysxtdtypes x"
        f" WHERE x.extended_id = t.type_xid AND t.type_xid >= {_FIRST_EXTENDED_ID}"
    )
    return {tabid: owned(owner, name) for tabid, owner, name in await fetch(sql, ())}


_FORMATS: Final = {"D": "DELIMITED", "F": "FIXED", "I": "INFORMIX"}


async def external_files(fetch: Fetch, tables: Tables) -> Mapping[int, ExternalFiles]:
    """The files of external tables by tabid."""
    sql = "SELECT d.tabid, TRIM(d.dfentry) FROM informix.sysextdfiles d WHERE "
    files: dict[int, list[str]] = defaultdict(list)
    for tabid, entry in await tables.of_tables(fetch, sql, "d.tabid", ""):
        files[tabid].append(entry)
    sql = (
        "SELECT e.tabid, e.fmttype, e.flddelim, e.maxerrors, TRIM(e.rejectfile)"
        " FROM informix.sysexternal e WHERE "
    )
    return {
        tabid: ExternalFiles(
            files=(*files[tabid],), format=_FORMATS.get(kind, ""), delimiter=(delimiter or "").rstrip(" "),
            max_errors=errors, reject_file=reject or "",
        )
        for tabid, kind, delimiter, errors, reject in await tables.of_tables(fetch, sql, "e.tabid", "")
    }  # fmt: skip


class ChildEntry(NamedTuple):
    """A foreign key that refers to a table."""

    owner: str
    table: str
    constraint: str


async def children(fetch: Fetch, tabid: int) -> Sequence[ChildEntry]:
    """The foreign keys that refer to a table."""
    sql = (
        "SELECT t.owner, t.tabname, k.constrname FROM informix.sysreferences r, informix.sysconstraints k,"
        " informix.systables t WHERE k.constrid = r.constrid AND t.tabid = k.tabid AND r.ptabid = ? ORDER BY 2, 3"
    )
    return [ChildEntry(owner.rstrip(" "), table, name) for owner, table, name in await fetch(sql, (tabid,))]


# --- belonging to the database ----------------------------------------------------------------------------------------


async def types(fetch: Fetch) -> list[TypeDefinition]:
    """Named ROW types and DISTINCT types, in the order of their making."""
    sql = (
        "SELECT x.extended_id, x.mode, x.owner, x.name, x.type, x.length, x.source, b.owner, b.name, b.source,"
        " p.owner, p.name, p.extended_id FROM informix.sysxtdtypes x"
        " LEFT OUTER JOIN informix.sysxtdtypes b ON b.extended_id = x.source"
        " LEFT OUTER JOIN informix.sysinherits h ON h.child = x.extended_id"
        " LEFT OUTER JOIN informix.sysxtdtypes p ON p.extended_id = h.parent"
        f" WHERE x.extended_id >= {_FIRST_EXTENDED_ID} AND x.mode IN ('R', 'D') AND x.name IS NOT NULL"
        " ORDER BY x.extended_id"
    )
    rows = await fetch(sql, ())
    described = [_described(row) for row in rows]
    parents = [SqlType(TypeCode.ROW, extended_id=row[12] or 0) for row in rows]
    complete = await resolved(fetch, [*described, *parents], "informix.")
    return [
        TypeDefinition(
            kind="row" if row[1] == "R" else "distinct",
            owner=row[2].rstrip(" "),
            name=row[3],
            definition=_definition(sql_type, row[1], len(parent.fields)),
            supertype=owned(row[10], row[11]) if row[12] else "",
        )
        for row, sql_type, parent in zip(rows, complete[: len(rows)], complete[len(rows) :], strict=True)
    ]


def _described(row: CatalogRow) -> SqlType:
    """The ROW type, or the type that a DISTINCT type is made of."""
    extended_id, mode, code, length, source = row[0], row[1], row[4] & 0xFF, row[5] or 0, row[6]
    if mode == "R":
        return SqlType(TypeCode.ROW, extended_id=extended_id)
    flags = DISTINCT if source >= _FIRST_EXTENDED_ID and row[9] is not None else 0
    return column_type(code | flags, length, source, row[7], row[8], row[9])


def _definition(sql_type: SqlType, mode: str, inherited: int) -> str:
    if mode == "D":
        return type_text(sql_type)
    own = sql_type.fields[inherited:]
    return f"({', '.join(map(field_text, own))})"


async def routines(
    fetch: Fetch, names: Iterable[str] | None = None, *, is_ansi: bool = False
) -> Mapping[int, RoutineDefinition]:
    """Routines of users by procid; letters of the mode are small for those of the server (documented).

    Args:
        names: None for all.
        is_ansi: whether PUBLIC may not execute new ones; else it may, but for those of a DBA (documented: NODEFDAC).
    """
    wanted = None if names is None else sorted(names)
    condition = "" if wanted is None else f" AND p.procname IN ({', '.join('?' * len(wanted))})"
    if wanted == []:
        return {}
    sql = (
        "SELECT p.procid, b.data, p.procname, p.owner, p.isproc, p.paramtypes::lvarchar, p.mode, b.datakey"
        " FROM informix.sysprocedures p, informix.sysprocbody b WHERE b.procid = p.procid"
        f" AND p.mode IN ('D', 'O', 'R', 'T') AND b.datakey = 'T'{condition} ORDER BY p.procid, b.seqno"
    )
    rows = await fetch(sql, wanted or ())
    bodies = texts(rows, _BODY)
    sql = "SELECT a.procid FROM informix.sysprocauth a WHERE a.grantee = 'public'"
    public = {procid for (procid,) in await fetch(sql, ())}
    return {
        procid: RoutineDefinition(
            kind="procedure" if isproc in (True, "t") else "function",
            name=name,
            owner=owner.rstrip(" "),
            arguments=arguments or "",
            sql=_statement(bodies[procid], owner),
            restricted=not is_ansi and mode != "D" and procid not in public,
        )
        for procid, (name, owner, isproc, arguments, mode) in {row[0]: row[2:7] for row in rows}.items()
    }


def _statement(text: str, owner: str) -> str:
    """A CREATE statement whose object has this owner, without a semicolon at its end."""
    return with_owner(text.strip().removesuffix(";").rstrip(), owner.rstrip(" "))


# --- privileges -------------------------------------------------------------------------------------------------------

_TABLE_PRIVILEGES: Final = {
    "s": "select", "u": "update", "i": "insert", "d": "delete", "x": "index", "a": "alter", "r": "references",
    "n": "under",
}  # fmt: skip
_DATABASE_PRIVILEGES: Final = {"D": "dba", "R": "resource", "C": "connect"}
_ROLE: Final = "G"


async def table_grants(fetch: Fetch, tables: Tables, names: Mapping[int, ObjectNames]) -> Iterator[Grant]:
    """The privileges on tables and on columns; a capital letter is one with the grant option (documented)."""
    sql = "SELECT a.tabid, a.grantor, a.grantee, a.tabauth FROM informix.systabauth a WHERE "
    rows = await tables.of_tables(fetch, sql, "a.tabid", " ORDER BY a.tabid, a.grantor, a.grantee")
    sql = "SELECT a.tabid, a.grantor, a.grantee, a.colauth, a.colno FROM informix.syscolauth a WHERE "
    column_rows = await tables.of_tables(
        fetch, sql, "a.tabid", " ORDER BY a.tabid, a.grantor, a.grantee, a.colno"
    )
    columns = await tables.columns(fetch)
    numbered = {tabid: {one.number: one.name for one in each} for tabid, each in columns.items()}
    found = [(row, {letter: "" for letter in row[3]}) for row in rows]
    for row in column_rows:
        name = numbered.get(row[0], {}).get(row[4], "")
        found.append((row, {letter: f" ({name})" for letter in row[3]}))
    return (grant for row, letters in found for grant in _grants_of(row, letters, names))


def _grants_of(
    row: CatalogRow, letters: Mapping[str, str], names: Mapping[int, ObjectNames]
) -> Iterator[Grant]:
    tabid, grantor, grantee = row[:3]
    if tabid not in names:
        return
    for grantable in (False, True):
        privileges = tuple(
            _TABLE_PRIVILEGES[letter.lower()] + columns
            for letter, columns in letters.items()
            if letter.lower() in _TABLE_PRIVILEGES and letter.isupper() == grantable
        )
        if privileges:
            yield Grant(
                privileges=privileges, on="table", owner=names[tabid].owner, name=names[tabid].name,
                grantee=grantee.rstrip(" "), grantor=grantor.rstrip(" "), grantable=grantable,
            )  # fmt: skip


async def routine_grants(fetch: Fetch, known: Mapping[int, RoutineDefinition]) -> Iterator[Grant]:
    """The privilege to execute these routines."""
    sql = "SELECT a.procid, a.grantor, a.grantee, a.procauth FROM informix.sysprocauth a ORDER BY 1, 2, 3"
    return (
        Grant(
            privileges=("execute",), on=routine.kind, owner=routine.owner, name=routine.name,
            arguments=routine.arguments, grantee=grantee.rstrip(" "), grantor=grantor.rstrip(" "),
            grantable=letter == "E",
        )
        for procid, grantor, grantee, letter in await fetch(sql, ())
        if (routine := known.get(procid)) is not None
    )  # fmt: skip


async def roles_and_users(fetch: Fetch) -> tuple[list[str], list[Grant]]:
    """The roles, and the privileges of users and roles on the database and of roles."""
    rows: Sequence[Any] = await fetch("SELECT u.username, u.usertype FROM informix.sysusers u ORDER BY 1", ())
    users = [(name.rstrip(" "), kind) for name, kind in rows]
    grants = [
        Grant(privileges=(_DATABASE_PRIVILEGES[kind],), grantee=name)
        for name, kind in users
        if kind in _DATABASE_PRIVILEGES
    ]
    sql = "SELECT a.rolename, a.grantee, a.is_grantable FROM informix.sysroleauth a ORDER BY 1, 2"
    for role, grantee, grantable in await fetch(sql, ()):
        privilege = owned("", role.rstrip(" "))
        grants.append(
            Grant(privileges=(privilege,), grantee=grantee.rstrip(" "), grantable=grantable in ("y", "Y"))
        )
    return [name for name, kind in users if kind == _ROLE], grants
