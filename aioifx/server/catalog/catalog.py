"""Tables, columns and types as Informix declares them; systables and related tables. Never: bytes of SQLI.

Invariants:
1. The source of truth is one row per table in ``ifx_tables``: a `Table` as JSON. The rows of systables, syscolumns and
   the others are derived from it, for queries only, and are written by the same steps.
2. The catalog consists of ordinary rows, so that a rollback undoes DDL.
3. ``ifx_state.generation`` is a random text that every change replaces. A counter would return to an old value
   after a rollback, and a cache would then return the wrong schema.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import Any, Final, Protocol, TypeAlias

from aioifx.server.catalog import sysrows, systables
from aioifx.server.catalog.sysrows import FIRST_PROCID, ROUTINES_TABLE, routine_from_json, steps_of_routine
from aioifx.server.sql.builtin_types import SYSTEM_OWNER
from aioifx.server.sql.complex_types import ComplexType
from aioifx.server.sql.model.plan import CatalogChange, Definition, PutTable, PutType, Step, TypeChange
from aioifx.server.sql.model.schema import (
    FIRST_EXTENDED_ID,
    FIRST_USER_TABID,
    ColumnDef,
    Constraint,
    ConstraintKind,
    Default,
    DefaultKind,
    Index,
    IndexPart,
    Reference,
    Schema,
    SequenceDef,
    Table,
    TableKind,
    Trigger,
    TriggerEvent,
    UserType,
    Violations,
)
from aioifx.server.sql.model.spl import SplRoutine
from aioifx.server.sql.sqlite.render import identifier
from aioifx.server.sql.syntax.nodes import External, Fragment
from aioifx.server.sql.translate.sqlite_ddl import affinity, object_table_steps
from aioifx.sqltypes import Column, SqlType

SqlValue: TypeAlias = str | int | float | None


class Connection(Protocol):
    """The part of a SQLite connection that the catalog uses."""

    def execute(self, sql: str, values: Sequence[SqlValue], /) -> Iterable[tuple[Any, ...]]:
        """Run one statement and return its rows."""
        ...


# --- Making -----------------------------------------------------------------------------------------------------------

_STATE: Final = (
    'CREATE TABLE {catalog}."ifx_state" (generation TEXT, next_tabid INTEGER, next_constrid INTEGER)',
    'CREATE TABLE {catalog}."ifx_tables" (tabid INTEGER PRIMARY KEY, noun TEXT NOT NULL)',
)
_TYPES: Final = ('CREATE TABLE {catalog}."ifx_types" (extended_id INTEGER PRIMARY KEY, noun TEXT NOT NULL)',)
_FIRST_TEMP_TABID: Final = 1


def creation_steps(user: str, locale: str = "en_US.819") -> list[Step]:
    """Steps that make an empty SQLite file a database: the catalog's tables, including their own rows."""
    steps = [Step(text.format(catalog="main")) for text in (*_STATE, *_TYPES, ROUTINES_TABLE)]
    steps.append(sysrows.insert("ifx_state", (_token(), FIRST_USER_TABID, 1)))
    steps += object_table_steps()
    tables = [table for table in systables.catalog_tables().values() if table.columns]
    steps += [Step(f"CREATE TABLE {table.source} ({_columns_of(table)})") for table in tables]
    steps += _INDEXES
    for table in systables.catalog_tables().values():
        steps += sysrows.rows_of(table)
    for name, tabid in systables.MARKS.items():
        site = None if name == " VERSION" else locale
        steps.append(sysrows.systables_row(Table(tabid, name, SYSTEM_OWNER, kind=TableKind.MARK), site))
    steps.append(sysrows.insert("sysusers", (user, "D", 9, None, None)))
    for number, mode, name, code, maximum, length, align in systables.EXTENDED_TYPES:
        row = (number, "", mode, SYSTEM_OWNER, name, int(code), 0, maximum, length, "", "", align, 0)
        steps.append(sysrows.insert("sysxtdtypes", row))
    return steps


# No index on tabname: SQLite would scan systables through it, and a table scan returns the order of tabid.
_INDEXES: Final = [
    Step(f'CREATE INDEX main."x_{table}_tabid" ON "{table}" ("tabid")')
    for table in ("systables", "syscolumns")
]


def session_steps() -> list[Step]:
    """Steps that create the temp schema of each new SQLite connection."""
    steps = [Step(text.format(catalog="temp")) for text in _STATE]
    steps.append(Step('INSERT INTO temp."ifx_state" VALUES (?, ?, ?)', (_token(), _FIRST_TEMP_TABID, 1)))
    return steps


def shown_steps(name: str) -> list[Step]:
    """Steps that leave one of `systables.SESSION_TABLES` empty; most connections never need it."""
    table, columns = systables.session_table(name), _columns_of(systables.SESSION_TABLES[name])
    created = f"CREATE TEMP TABLE IF NOT EXISTS {table.removeprefix('temp.')} ({columns})"
    return [Step(created), Step(f"DELETE FROM {table}")]


def _columns_of(table: Table) -> str:
    return ", ".join(f"{identifier(column.name)} {affinity(column.type)}" for column in table.columns)


def _token() -> str:
    """A new unique generation."""
    return secrets.token_hex(8)


# --- Changing ---------------------------------------------------------------------------------------------------------


def steps_of(definition: Definition, codec: str = "latin-1", *, is_ansi: bool = False) -> list[Step]:
    """A definition's own steps, followed by those that update the catalog.

    Args:
        codec: the Python name of the database's code set.
        is_ansi: whether PUBLIC has no privileges on what is new.
    """
    steps = list(definition.steps)
    for change in definition.changes:
        steps += _steps_of_change(change, codec, is_ansi=is_ansi)
    for type_change in definition.types:
        steps += _steps_of_type(type_change)
    for routine_change in definition.routines:
        steps += steps_of_routine(routine_change, codec, is_ansi=is_ansi)
    if definition.routines:
        steps.append(Step('UPDATE main."ifx_state" SET generation = ?', (_token(),)))
    return steps


def _steps_of_type(change: TypeChange) -> Iterator[Step]:
    known = change.type
    if isinstance(change, PutType):
        noun = json.dumps(known, separators=(",", ":"), default=_fields_of)
        yield Step('INSERT INTO main."ifx_types" VALUES (?, ?)', (known.extended_id, noun))
        yield from sysrows.rows_of_type(known)
    else:
        # The row stays: an id is not given twice, as sysxtdtypes.extended_id is a SERIAL (documented).
        yield Step("UPDATE main.\"ifx_types\" SET noun = '' WHERE extended_id = ?", (known.extended_id,))
        yield from sysrows.without_type(known.extended_id)
    yield Step('UPDATE main."ifx_state" SET generation = ?', (_token(),))


def _steps_of_change(change: CatalogChange, codec: str, *, is_ansi: bool) -> Iterator[Step]:
    table = change.table
    catalog = "temp" if table.is_temp else "main"
    yield Step(f'DELETE FROM {catalog}."ifx_tables" WHERE tabid = ?', (table.tabid,))
    if not table.is_temp:
        yield from sysrows.without(table.tabid)
    if isinstance(change, PutTable):
        yield Step(f'INSERT INTO {catalog}."ifx_tables" VALUES (?, ?)', (table.tabid, table_to_json(table)))
        if not table.is_temp:
            yield from sysrows.rows_of(table, codec, is_ansi=is_ansi)
    last_constrid = max((constraint.constrid for constraint in table.constraints), default=0)
    yield Step(
        f'UPDATE {catalog}."ifx_state" SET generation = ?, next_tabid = max(next_tabid, ?),'
        " next_constrid = max(next_constrid, ?)",
        (_token(), table.tabid + 1, last_constrid + 1),
    )


# --- Reading ----------------------------------------------------------------------------------------------------------


def generation(connection: Connection, catalog: str = "main") -> str:
    """The generation of one SQLite schema, to be compared with that of a Snapshot before reusing it."""
    return str(_only(connection.execute(f'SELECT generation FROM {catalog}."ifx_state"', ())))


def read_schema(
    connection: Connection,
    database: str,
    *,
    catalog: str = "main",
    foreign: Callable[[str], Schema | None] | None = None,
    default_owner: str = "",
) -> Snapshot:
    """The schema of one database, with the session's temporary tables if it is the current one (catalog main).

    Args:
        default_owner: the user, if it is an ANSI database.
        catalog: the SQLite schema that the database is attached as.
        foreign: returns the schema of another database, or None if not found.
    """
    tables, state = _read(connection, catalog)
    temps, temp_state = _read(connection, "temp") if catalog == "main" else ([], ("", 0, 0))
    return Snapshot(
        database=database,
        generation=state[0],
        temp_generation=temp_state[0],
        next_tabid=state[1],
        next_temp_tabid=temp_state[1],
        next_constrid=max(state[2], temp_state[2]),
        tables={table.tabid: table for table in tables},
        temps={table.name: table for table in temps},
        catalog=catalog,
        foreign_schema=foreign,
        types=_read_types(connection, catalog),
        next_extended_id=_next_extended_id(connection, catalog),
        routines=_read_routines(connection, catalog),
        default_owner=default_owner,
    )


def empty_schema(foreign: Callable[[str], Schema | None] | None = None) -> Snapshot:
    """The schema of a session without a database: no tables."""
    return Snapshot("", "", "", FIRST_USER_TABID, _FIRST_TEMP_TABID, 1, {}, {}, "main", foreign)


def _read(connection: Connection, catalog: str) -> tuple[list[Table], tuple[str, int, int]]:
    state = next(
        iter(
            connection.execute(f'SELECT generation, next_tabid, next_constrid FROM {catalog}."ifx_state"', ())
        )
    )
    texts = connection.execute(f'SELECT noun FROM {catalog}."ifx_tables" ORDER BY tabid', ())
    return [table_from_json(str(text), catalog) for (text,) in texts], (
        str(state[0]),
        int(state[1]),
        int(state[2]),
    )


def _read_types(connection: Connection, catalog: str) -> tuple[UserType, ...]:
    texts = connection.execute(f'SELECT noun FROM {catalog}."ifx_types" ORDER BY extended_id', ())
    return tuple(_user_type_from(str(text)) for (text,) in texts if text)


def _read_routines(connection: Connection, catalog: str) -> tuple[SplRoutine, ...]:
    texts = connection.execute(f'SELECT noun FROM {catalog}."ifx_routines" ORDER BY procid', ())
    return tuple(routine_from_json(str(text), _type_from) for (text,) in texts)


def _next_extended_id(connection: Connection, catalog: str) -> int:
    last = _only(connection.execute(f'SELECT max(extended_id) FROM {catalog}."ifx_types"', ()))
    return FIRST_EXTENDED_ID if last is None else int(last) + 1


def _only(rows: Iterable[tuple[Any, ...]]) -> Any:
    return next(iter(rows))[0]


@dataclass(frozen=True)
class Snapshot:
    """A `Schema`: the contents of one database when it was read. Shared by all statements of one generation."""

    database: str
    generation: str
    temp_generation: str
    next_tabid: int
    next_temp_tabid: int
    next_constrid: int
    tables: Mapping[int, Table]
    temps: Mapping[str, Table]
    catalog: str = "main"
    foreign_schema: Callable[[str], Schema | None] | None = field(default=None, repr=False)
    types: tuple[UserType, ...] = ()
    next_extended_id: int = FIRST_EXTENDED_ID
    routines: tuple[SplRoutine, ...] = ()
    default_owner: str = ""

    def routines_named(self, name: str, owner: str = "") -> Sequence[SplRoutine]:
        """The routines written in SPL of that name."""
        return [each for each in self.routines if each.name == name and owner in ("", each.owner)]

    @property
    def next_procid(self) -> int:
        """For the next routine."""
        return max((each.procid + 1 for each in self.routines), default=FIRST_PROCID)

    @property
    def all_tables(self) -> Iterable[Table]:
        """The user's tables, temporary ones included."""
        return (*self.tables.values(), *self.temps.values())

    def type_named(self, name: str, owner: str = "") -> UserType | None:
        """The type of that name."""
        found = (known for known in self.types if known.name == name and owner in ("", known.owner))
        return next(found, None) if name else None

    @cached_property
    def _by_name(self) -> dict[str, list[Table]]:
        named: dict[str, list[Table]] = {}
        for table in self.tables.values():
            named.setdefault(table.name, []).append(table)
        return named

    @cached_property
    def _system(self) -> Mapping[str, Table]:
        if not self.database:
            return {}
        own = systables.DATABASE_TABLES.get(self.database, {})
        return own if self is _SYSMASTER else {**systables.catalog_tables(self.catalog), **own}

    def table(self, name: str, owner: str = "") -> Table | None:
        """The table, view or synonym of that name; a temporary one before a permanent one."""
        if not owner and name in self.temps:
            return self.temps[name]
        return self._permanent(name, owner or self.default_owner)

    def _permanent(self, name: str, owner: str) -> Table | None:
        found = [each for each in self._by_name.get(name, ()) if owner in ("", each.owner)]
        if found:
            return found[0]
        system = self._system.get(name)
        return system if system and owner in ("", SYSTEM_OWNER) else None

    def existing(self, name: str, owner: str = "") -> Table | None:
        """The permanent table, view, synonym or sequence because of which the name is taken."""
        return self._permanent(name, (owner or self.default_owner) if self.default_owner else "")

    def _is_meant(self, owner: str, found: str) -> bool:
        """Whether a name means what *found* owns; only an ANSI database heeds the owner of a constraint or index."""
        return not self.default_owner or found == (owner or self.default_owner)

    def owned_by(self, owner: str) -> Snapshot:
        """The schema in which the default owner is another."""
        return replace(self, default_owner=owner) if self.default_owner not in ("", owner) else self

    def table_of(self, tabid: int) -> Table | None:
        """The permanent table with that number."""
        return self.tables.get(tabid) or next((t for t in self._system.values() if t.tabid == tabid), None)

    def foreign(self, database: str) -> Schema | None:
        """Another database of the server."""
        if database == self.database:
            return self
        if database == systables.SYSMASTER:
            return (self.foreign_schema(database) if self.foreign_schema else None) or _SYSMASTER
        return self.foreign_schema(database) if self.foreign_schema else None

    def index(self, name: str, owner: str = "") -> tuple[Table, Index] | None:
        """The index of that name, with its table."""
        for table in (*self.temps.values(), *self.tables.values()):
            for index in table.indexes:
                if index.name == name and self._is_meant(owner, index.owner):
                    return table, index
        return None

    def constraint(self, name: str, owner: str = "") -> tuple[Table, Constraint] | None:
        """The constraint of that name, with its table."""
        for table in (*self.temps.values(), *self.tables.values()):
            for constraint in table.constraints:
                if constraint.name == name and self._is_meant(owner, constraint.owner):
                    return table, constraint
        return None

    def trigger(self, name: str, owner: str = "") -> tuple[Table, Trigger] | None:
        """The trigger of that name, with its table or view."""
        found = ((table, each) for table in self.tables.values() for each in table.triggers)
        named = ((table, each) for table, each in found if each.name == name)
        return next((each for each in named if self._is_meant(owner, each[1].owner)), None)

    @property
    def next_trigid(self) -> int:
        """For the next trigger of the database."""
        return 1 + max((each.trigid for table in self.tables.values() for each in table.triggers), default=0)

    def dependents(self, tabid: int) -> Iterable[Table]:
        """The views and synonyms that are dropped with a table."""
        return [table for table in self.tables.values() if tabid in table.depends_on]

    def references_to(self, tabid: int) -> Iterable[Reference]:
        """The foreign keys that reference a table."""
        return self._references.get(tabid, ())

    @cached_property
    def _references(self) -> dict[int, list[Reference]]:
        found: dict[int, list[Reference]] = {}
        for table in self.tables.values():
            for constraint in table.foreign_keys:
                found.setdefault(constraint.parent, []).append(Reference(table, constraint))
        return found

    def with_tables(self, tables: Iterable[Table], types: Iterable[UserType] = ()) -> Snapshot:
        """The schema with these tables in place of those with their tabids, and these new types."""
        known = {**self.tables, **{table.tabid: table for table in tables}}
        constrids = (constraint.constrid for table in known.values() for constraint in table.constraints)
        added = (*self.types, *types)
        return replace(
            self,
            tables=known,
            types=added,
            next_tabid=max([self.next_tabid, *(tabid + 1 for tabid in known)]),
            next_constrid=max([self.next_constrid, *(constrid + 1 for constrid in constrids)]),
            next_extended_id=max([self.next_extended_id, *(each.extended_id + 1 for each in added)]),
        )


_SYSMASTER: Final = Snapshot(systables.SYSMASTER, "", "", FIRST_USER_TABID, _FIRST_TEMP_TABID, 1, {}, {})
"""The schema of sysmaster if the engine has no file of that name: only its own tables."""


# --- Tables as JSON --------------------------------------------------------------------------------------------------


def table_to_json(table: Table) -> str:
    """A table in the form stored in ``ifx_tables``."""
    return json.dumps(replace(table, catalog=""), separators=(",", ":"), default=_fields_of)


def _fields_of(part: Any) -> _Fields:
    """Those of a part of a table, by name. `dataclasses.asdict` copies each value first."""
    return {each.name: getattr(part, each.name) for each in fields(part)}


@lru_cache(maxsize=4096)  # most tables are unchanged when the schema is read again
def table_from_json(text: str, catalog: str = "main") -> Table:
    """The table that `table_to_json` wrote, found in the SQLite schema *catalog*."""
    fields: _Fields = json.loads(text)
    fields["columns"] = tuple(_column_from(each) for each in fields["columns"])
    fields["constraints"] = tuple(_constraint_from(each) for each in fields["constraints"])
    fields["indexes"] = tuple(_index_from(each) for each in fields["indexes"])
    fields["triggers"] = tuple(_trigger_from(each) for each in fields.get("triggers", ()))
    fields["stored_order"] = tuple(fields["stored_order"])
    fields["fragments"] = tuple(Fragment(*each) for each in fields["fragments"])
    fields["depends_on"] = tuple(fields["depends_on"])
    if fields.get("external"):
        files, *rest = fields["external"]
        fields["external"] = External(tuple(files), *rest)
    if fields.get("violations"):
        fields["violations"] = Violations(*fields["violations"])
    if fields.get("foreign_name"):
        fields["foreign_name"] = tuple(fields["foreign_name"])
    fields["kind"] = TableKind(fields["kind"])
    if fields.get("sequence"):
        fields["sequence"] = SequenceDef(**fields["sequence"])
    fields["catalog"] = catalog
    return Table(**fields)


_Fields: TypeAlias = dict[str, Any]


def _column_from(fields: _Fields) -> ColumnDef:
    default: _Fields | None = fields["default"]
    fields["type"] = _type_from(fields["type"])
    if default is not None:
        default["kind"] = DefaultKind(default["kind"])
        fields["default"] = Default(**default)
    return ColumnDef(**fields)


def _type_from(fields: _Fields) -> SqlType:
    members = [
        Column(member["name"], _type_from(member["type"]), member["nullable"], member["start"])
        for member in fields["fields"]
    ]
    known: _Fields = {**fields, "fields": tuple(members)}
    if "parts" not in fields:
        return SqlType(**known)
    known["parts"] = tuple(_type_from(each) for each in fields["parts"])
    known["names"] = tuple(fields["names"])
    known["required"] = tuple(fields["required"])
    return ComplexType(**known)


def _user_type_from(text: str) -> UserType:
    fields: _Fields = json.loads(text)
    fields["type"] = _type_from(fields["type"])
    return UserType(**fields)


def _constraint_from(fields: _Fields) -> Constraint:
    fields["columns"] = tuple(fields["columns"])
    fields["parent_columns"] = tuple(fields["parent_columns"])
    fields["check_sql"] = tuple(fields["check_sql"])
    fields["kind"] = ConstraintKind(fields["kind"])
    return Constraint(**fields)


def _trigger_from(fields: _Fields) -> Trigger:
    fields["event"] = TriggerEvent(fields["event"])
    fields["columns"] = tuple(fields["columns"])
    return Trigger(**fields)


def _index_from(fields: _Fields) -> Index:
    fields["parts"] = tuple(_index_part_from(part) for part in fields["parts"])
    fields["fragments"] = tuple(Fragment(*each) for each in fields["fragments"])
    return Index(**fields)


def _index_part_from(fields: _Fields) -> IndexPart:
    fields["arguments"] = tuple(fields["arguments"])
    fields["sql"] = tuple(fields["sql"])
    return IndexPart(**fields)
