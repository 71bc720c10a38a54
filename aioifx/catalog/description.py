"""A database, or some of its objects, as definitions. Never: SQL of a query, DDL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from aioifx.catalog import objects
from aioifx.catalog.definitions import (
    ColumnDefinition,
    ConstraintDefinition,
    ExternalFiles,
    Grant,
    IndexDefinition,
    Parent,
    Relation,
    RoutineDefinition,
    Schema,
    SequenceDefinition,
    Storage,
    TriggerDefinition,
)
from aioifx.catalog.names import type_text, with_owner
from aioifx.catalog.objects import ObjectNames
from aioifx.catalog.tables import (
    ColumnEntry,
    ConstraintEntry,
    Fetch,
    IndexEntry,
    TableEntry,
    Tables,
    fetch_of,
)
from aioifx.catalog.texts import Key, Place, default_sql, quoted, without_parentheses
from aioifx.client.api.connection import Connection
from aioifx.client.sql.hints import did_you_mean
from aioifx.client.sql.identifiers import catalog_name, object_name
from aioifx.errors import InterfaceError, UndefinedTable

KINDS: Final = {
    "T": "table",
    "E": "external table",
    "V": "view",
    "S": "synonym",
    "P": "private synonym",
    "Q": "sequence",
}
"""By systables.tabtype."""
_ORDER: Final = ("sequence", "table", "external table")
"""Kinds that come before views and synonyms, which need them."""
_BTREE: Final = 1
"""The number of the access method of most indexes (documented: sysams.am_id)."""
_CONSTRAINTS: Final = {"P": "primary key", "U": "unique", "R": "foreign key", "C": "check"}
_NAMED_BY_SERVER: Final = {"P": "u", "U": "u", "R": "r", "C": "c"}
"""First letters of names that the server gives, before the table's and the constraint's numbers."""
_LOCK_MODES: Final = {"P": "page", "R": "row"}
_NAME: Final = re.compile(
    r"""(?: (?P<owner> "[^"]*" | '[^']*' | [^.:"']+ ) \. )? (?P<name> [^.:"']+ | "(?:[^"]|"")+" )""", re.X
)


class Description(NamedTuple):
    """One table, view, synonym or sequence."""

    relation: Relation
    """A synonym has the columns and all else of its table."""
    children: Sequence[objects.ChildEntry]
    """The foreign keys that refer to it."""
    grants: Sequence[Grant]


async def describe(conn: Connection[Any], name: str) -> Description:
    """Describe a table, view, synonym or sequence.

    Args:
        name: ``name`` or ``owner.name``, as in SQL.

    Raises:
        InterfaceError: *name* has another form.
        UndefinedTable: there is none of that name; the message has a similar one.
    """
    reader = _Reader(conn, [name])
    entry = (await reader.entries())[0]
    (relation,) = await reader.relations([entry], follows=True)
    children = await objects.children(reader.fetch, entry.source)
    return Description(relation, children, await reader.grants([entry]))


async def read_schema(conn: Connection[Any], names: Sequence[str] | None = None) -> Schema:
    """Read the definitions of a database, or of some of its objects.

    Args:
        names: of tables, views, synonyms, sequences and routines, ``name`` or ``owner.name``; None for all.

    Raises:
        InterfaceError: a name has another form.
        UndefinedTable: nothing has one of the names; the message has a similar one.
    """
    reader = _Reader(conn, names)
    routines = await reader.routines()
    entries = await reader.entries(routine.name for routine in routines.values())
    relations = await reader.relations(entries)
    grants = [*await reader.grants(entries), *await objects.routine_grants(reader.fetch, routines)]
    if names is not None:
        return Schema(relations=relations, routines=(*routines.values(),), grants=(*grants,))
    roles, of_database = await objects.roles_and_users(reader.fetch)
    types = await objects.types(reader.fetch)
    return Schema(
        types=(*types,),
        relations=relations,
        routines=(*routines.values(),),
        roles=(*roles,),
        grants=(*of_database, *grants),
    )


class _Name(NamedTuple):
    """A name as it was given."""

    text: str
    owner: str
    """In lower case; empty for any."""
    name: str

    @classmethod
    def of(cls, text: str) -> _Name:
        found = _NAME.fullmatch(object_name(text, "TABLE"))
        if found is None:
            raise InterfaceError(f"TABLE: expected [owner.]name, got {text[:60]!r}")
        return cls(text, (found["owner"] or "").strip("\"'").lower(), catalog_name(found["name"]))

    def means(self, owner: str, name: str) -> bool:
        return name == self.name and self.owner in ("", owner.lower())


class _Reader:
    """Reads definitions by one connection.

    Args:
        names: None for all.
    """

    def __init__(self, conn: Connection[Any], names: Sequence[str] | None) -> None:
        self.fetch = fetch_of(conn)
        self._names = None if names is None else [_Name.of(name) for name in names]
        wanted = None if self._names is None else [name.name for name in self._names]
        self._is_ansi = conn.is_ansi
        self._tables = Tables(Place(), wanted, is_ansi=conn.is_ansi)

    async def entries(self, others: Iterable[str] = ()) -> list[TableEntry]:
        """What has been asked for, the user's own first where a name needs no owner.

        Args:
            others: names that are those of other things.
        """
        found = await self._tables.entries(self.fetch)
        if self._names is None:
            return [*found]
        entries: dict[int, TableEntry] = {}
        others = {*others}
        for name in self._names:
            meant = [each for each in found if name.means(each.owner, each.name)]
            if not meant and name.name not in others:
                raise UndefinedTable(await self._unknown(name), sqlcode=-206)
            chosen = [each for each in meant if each.is_own] or meant[:1]
            entries |= {each.tabid: each for each in chosen}
        return [*entries.values()]

    async def _unknown(self, name: _Name) -> str:
        every = Tables(Place(), None, is_ansi=False)
        known = {entry.name for entry in await every.entries(self.fetch)}
        return f"no table, view, synonym, sequence or routine is named {name.text}{did_you_mean(name.name, known)}"

    async def routines(self) -> dict[int, RoutineDefinition]:
        names = self._names
        wanted = None if names is None else {name.name for name in names}
        found = await objects.routines(self.fetch, wanted, is_ansi=self._is_ansi)
        return {
            procid: each
            for procid, each in found.items()
            if names is None or any(name.means(each.owner, each.name) for name in names)
        }

    async def grants(self, entries: Iterable[TableEntry]) -> list[Grant]:
        names = {entry.tabid: ObjectNames(entry.owner, entry.name) for entry in entries}
        found = await objects.table_grants(self.fetch, self._tables, names)
        return sorted(found, key=lambda grant: (grant.owner, grant.name, grant.grantor, grant.grantee))

    async def relations(
        self, entries: Sequence[TableEntry], *, follows: bool = False
    ) -> tuple[Relation, ...]:
        """The definitions of tables, views, synonyms and sequences.

        Args:
            follows: synonyms have the columns and all else of what they stand for.
        """
        parts = await _Parts.read(self.fetch, self._tables, {entry.kind for entry in entries})
        found = [parts.relation(entry, follows=follows) for entry in entries]
        return tuple(sorted(found, key=_rank))


def _rank(relation: Relation) -> int:
    return _ORDER.index(relation.kind) if relation.kind in _ORDER else len(_ORDER)


class _Parts(NamedTuple):
    """All parts of the catalog that relations have, by tabid."""

    columns: Mapping[int, Sequence[ColumnEntry]]
    constraints: Mapping[int, Sequence[ConstraintEntry]]
    checks: Mapping[int, str]
    indexes: Mapping[int, Sequence[IndexEntry]]
    triggers: Mapping[int, Sequence[objects.TriggerEntry]]
    states: Mapping[tuple[int, str, str], str]
    views: Mapping[int, str]
    sequences: Mapping[int, SequenceDefinition]
    targets: Mapping[int, str]
    row_types: Mapping[int, str]
    external: Mapping[int, ExternalFiles]
    index_names: objects.IndexNames
    fragments: Mapping[tuple[int, str], str]

    @classmethod
    async def read(cls, fetch: Fetch, tables: Tables, kinds: set[str]) -> _Parts:
        """Read the parts that relations of these kinds have."""
        has_synonyms = bool(kinds & {"S", "P"})
        indexes = await tables.indexes(fetch)
        are_other = any(index.method > _BTREE for each in indexes.values() for index in each)
        return cls(
            await tables.columns(fetch),
            await tables.constraints(fetch),
            await tables.checks(fetch),
            indexes,
            await objects.triggers(fetch, tables),
            await objects.states(fetch, tables),
            await tables.views(fetch),
            await objects.sequences(fetch, tables) if "Q" in kinds else {},
            await objects.synonym_targets(fetch) if has_synonyms else {},
            await objects.row_types(fetch),
            await objects.external_files(fetch, tables) if "E" in kinds or has_synonyms else {},
            await objects.index_names(fetch) if are_other else objects.IndexNames({}, {}),
            await objects.fragments(fetch, tables),
        )

    def relation(self, entry: TableEntry, *, follows: bool) -> Relation:
        """The definition of a relation."""
        tabid = entry.source if follows else entry.tabid
        is_stored = entry.kind == "T"
        return Relation(
            kind=KINDS[entry.kind],
            name=entry.name,
            owner=entry.owner,
            columns=tuple(map(_column, self.columns.get(tabid, ()))),
            constraints=self._constraints_of(tabid),
            indexes=tuple(
                self._index(tabid, each) for each in self.indexes.get(tabid, ()) if not each.is_of_constraint
            ),
            triggers=tuple(
                TriggerDefinition(
                    name=each.name, owner=each.owner, sql=each.sql, state=self._state(tabid, "T", each.name)
                )
                for each in self.triggers.get(tabid, ())
            ),
            raw=entry.is_raw,
            row_type=self.row_types.get(tabid, ""),
            storage=_storage(entry, self.fragments.get((tabid, ""), "")) if is_stored else None,
            external=self.external.get(tabid),
            sql=with_owner(self.views.get(tabid, ""), entry.owner).removesuffix(";"),
            target=self.targets.get(entry.tabid, ""),
            sequence=self.sequences.get(tabid),
        )

    def _state(self, tabid: int, kind: str, name: str) -> str:
        return self.states.get((tabid, kind, name), "")

    def _index(self, tabid: int, entry: IndexEntry) -> IndexDefinition:
        return IndexDefinition(
            name=entry.name,
            owner=entry.owner,
            keys=tuple(self._key(key, entry) for key in entry.keys),
            method=self.index_names.methods.get(entry.method, "btree"),
            unique=entry.is_unique,
            clustered=entry.is_clustered,
            state=self._state(tabid, "I", entry.name),
            storage=self.fragments.get((tabid, entry.name), ""),
        )

    def _key(self, key: Key, entry: IndexEntry) -> str:
        operators = self.index_names.operators.get(key.operators, "") if entry.method > _BTREE else ""
        name = key.expression if key.column is None else quoted(key.column)
        return name + (f" {operators}" if operators else "") + (" desc" if key.is_descending else "")

    def _constraints_of(self, tabid: int) -> tuple[ConstraintDefinition, ...]:
        """The constraints of a table: keys before checks, and those of a kind by columns and condition."""
        found = [self._constraint(tabid, each) for each in self.constraints.get(tabid, ())]
        kinds = [*_CONSTRAINTS.values()]
        return (*sorted(found, key=lambda each: (kinds.index(each.kind), each.columns, each.check or "")),)

    def _constraint(self, tabid: int, entry: ConstraintEntry) -> ConstraintDefinition:
        by_server = f"{_NAMED_BY_SERVER[entry.kind]}{tabid}_{entry.constrid}"
        found = {each.name: each for each in self.indexes.get(tabid, ())}.get(entry.index_name)
        parent = entry.parent
        return ConstraintDefinition(
            kind=_CONSTRAINTS[entry.kind],
            name=None if entry.name == by_server else entry.name,
            owner=entry.owner,
            columns=tuple(key.expression for key in found.keys) if found else (),
            check=without_parentheses(self.checks.get(entry.constrid, "")) if entry.kind == "C" else None,
            references=parent and Parent(
                owner=parent.owner, table=parent.name, cascades=entry.cascades,
                columns=tuple(key.expression for key in parent.keys),
            ),
            index=found.name if found and not found.is_of_constraint else None,
            state=self._state(tabid, "C", entry.name),
        )  # fmt: skip


def _column(entry: ColumnEntry) -> ColumnDefinition:
    return ColumnDefinition(
        name=entry.name,
        type=type_text(entry.type),
        nullable=entry.nullable,
        default=default_sql(entry.type, entry.default_kind, entry.default),
    )


def _storage(entry: TableEntry, fragments: str) -> Storage:
    return Storage(
        lock_mode=_LOCK_MODES.get(entry.lock_level, ""),
        extent_size=entry.first_extent,
        next_size=entry.next_extent,
        dbspace=entry.dbspace,
        fragments=fragments,
    )
