"""The contents of a database: Table, ColumnDef, Constraint, Index, limits, and the Schema of all. Never: its storage.

Invariants:
1. Nouns are frozen. A change creates a new Table; `plan.Definition` takes it to the catalog.
2. `Table.source` is SQLite text for a FROM clause and `Table.physical` the bare SQLite name that error messages
   show. Neither contains a user's name: tables are called ``t<tabid>``.
3. Constraint and index names are unique in a database, table names with their owner.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.frozen import Frozen
from aioifx.server.sql.model.spl import SplRoutine
from aioifx.server.sql.syntax.delimited import delimited
from aioifx.server.sql.syntax.nodes import External, Fragment
from aioifx.sqltypes import (
    SERIALS,
    SqlType,
    TypeCode,
)

FIRST_USER_TABID: Final = 100
"""The first tabid of user tables; system catalog tables are below (documented: SQL Reference, systables)."""


class DefaultKind(StrEnum):
    """The kind of a default, with its letter in sysdefaults.type."""

    LITERAL = "L"
    USER = "U"
    CURRENT = "C"
    TODAY = "T"
    NULL = "N"
    SITE = "S"


class Default(Frozen):
    """A column's default."""

    kind: DefaultKind
    sql: str = ""
    """SQLite text of the stored form, for an INSERT."""
    text: str = ""
    """The literal as sysdefaults shows it; empty for the others."""


class ColumnDef(Frozen):
    """One column of a table."""

    name: str
    type: SqlType
    is_nullable: bool = True
    """False for NOT NULL, SERIAL and members of the primary key."""
    is_declared_not_null: bool = False
    """Whether NOT NULL was declared: NULL is then -391; with only a primary key it is -703."""
    default: Default | None = None
    serial_start: int = 1
    minimum: int = 0
    """The reserved size of VARCHAR; part of collength and of the column's length on the wire."""
    space: str = ""
    """The blobspace of a BYTE or TEXT column, as sysblobs shows it; empty for the table's own space."""

    @property
    def is_serial(self) -> bool:
        """Whether the server generates its values."""
        return self.type.code in SERIALS


class ConstraintKind(StrEnum):
    """The kind of a constraint, with its letter in sysconstraints.constrtype."""

    PRIMARY = "P"
    UNIQUE = "U"
    REFERENCES = "R"
    CHECK = "C"
    NOT_NULL = "N"


class Constraint(Frozen):
    """A constraint with its name, which SQLite's CHECK messages also contain."""

    constrid: int
    name: str
    owner: str
    kind: ConstraintKind
    columns: tuple[str, ...] = ()
    index: str = ""
    """The index that enforces it; empty for CHECK and NOT NULL."""
    check: str = ""
    """The Informix text of a CHECK condition."""
    check_sql: tuple[str, ...] = ()
    """A CHECK condition in SQLite's SQL, as `render.template` gives it."""
    parent: int = 0
    """The tabid that REFERENCES names."""
    parent_constrid: int = 0
    parent_columns: tuple[str, ...] = ()
    cascades: bool = False
    is_disabled: bool = False
    filtering: str = ""
    """The letter of FILTERING in sysobjstate.state: F, or G for WITH ERROR (documented); empty without it."""

    @property
    def full_name(self) -> str:
        """The name in errors -268, -530, -691 and -692."""
        return f"{self.owner}.{self.name}"


class IndexPart(Frozen):
    """One key of an index: a column, or the result of a function of columns."""

    column: str
    """Empty for a function."""
    is_descending: bool = False
    function: str = ""
    procid: int = 0
    """The number of a function written in SPL."""
    arguments: tuple[str, ...] = ()
    """The columns that the function takes."""
    sql: tuple[str, ...] = ()
    """The function's result in SQLite's SQL, as `render.template` gives it."""
    collation: str = ""
    """The collation of the result's type."""


class Index(Frozen):
    """An index; a name that starts with a blank belongs to an unnamed constraint."""

    name: str
    owner: str
    parts: tuple[IndexPart, ...]
    is_unique: bool = False
    is_clustered: bool = False
    is_disabled: bool = False
    """Whether SQLite has no index for it."""
    fragments: tuple[Fragment, ...] = ()
    """Where it is stored, if CREATE INDEX says it."""
    filtering: str = ""
    """As `Constraint.filtering`; only of a unique index."""

    @property
    def is_implicit(self) -> bool:
        """Whether it was created for a constraint, not by CREATE INDEX."""
        return self.name.startswith(" ")

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of its columns, in order, with those that its functions take."""
        return tuple(name for part in self.parts for name in part.arguments or (part.column,))

    @property
    def is_functional(self) -> bool:
        """Whether a key is the result of a function."""
        return any(part.function for part in self.parts)


class SequenceDef(Frozen):
    """The options of CREATE SEQUENCE and ALTER SEQUENCE."""

    start: int
    increment: int
    minimum: int
    maximum: int
    cycles: bool
    cache: int
    """0 for NOCACHE. The server does not reserve numbers, so none is skipped."""
    is_ordered: bool
    restart: int | None = None
    """The number of RESTART WITH."""
    epoch: int = 0
    """Increases with each RESTART; a new epoch starts from the first number."""

    @property
    def first(self) -> int:
        """The first number of the epoch."""
        return self.start if self.restart is None else self.restart


LOCK_LEVELS: Final = {None: "P", "page": "P", "row": "R", "table": "T"}
"""systables.locklevel by the word after LOCK MODE (documented: P and R)."""


class TableKind(StrEnum):
    """The kind of an object in FROM, with its letter in systables.tabtype."""

    TABLE = "T"
    EXTERNAL = "E"
    VIEW = "V"
    SYNONYM = "S"
    PRIVATE_SYNONYM = "P"
    SEQUENCE = "Q"
    MARK = " "
    """Rows of systables that are not tables: `` VERSION``, `` GL_COLLATE``."""


class TriggerEvent(StrEnum):
    """The statements that activate a trigger, with their letters in systriggers.event."""

    INSERT = "I"
    UPDATE = "U"
    DELETE = "D"
    SELECT = "S"


class Trigger(Frozen):
    """A trigger of a table, or an INSTEAD OF trigger of a view."""

    trigid: int
    name: str
    owner: str
    event: TriggerEvent
    action: str
    """Its text from the first of BEFORE, FOR EACH ROW and AFTER on, in Informix SQL."""
    columns: tuple[str, ...] = ()
    """The columns of UPDATE OF and SELECT OF; empty for all."""
    old: str = ""
    """The correlation name of the old values; empty if none."""
    new: str = ""
    is_instead: bool = False
    is_disabled: bool = False
    is_delimident: bool = False
    """Whether double quotes delimit names in `action`."""

    def header(self, table: Table) -> str:
        """The text that precedes the action, as dbschema writes it."""
        event = f"instead of {self.event.name.lower()}" if self.is_instead else self.event.name.lower()
        columns = f" of {','.join(map(delimited, self.columns))}" if self.columns else ""
        names = f" old as {delimited(self.old)}" if self.old else ""
        names += f" new as {delimited(self.new)}" if self.new else ""
        referencing = f" referencing{names}" if names else ""
        on = f'on "{table.owner}".{delimited(table.name)}'
        return f'create trigger "{self.owner}".{delimited(self.name)} {event}{columns} {on}{referencing}'

    def is_fired_by(self, event: TriggerEvent, columns: Collection[str]) -> bool:
        """Whether a statement activates it that gives values to *columns*, or selects them."""
        if self.is_disabled or self.event is not event:
            return False
        is_any = event in (TriggerEvent.INSERT, TriggerEvent.DELETE) or not self.columns
        return is_any or not columns or any(name in columns for name in self.columns)


class Violations(NamedTuple):
    """The violations table and the diagnostics table of a table."""

    violations: int
    """Its tabid."""
    diagnostics: int
    maximum: int | None = None
    """Of the rows of one statement."""


class Table(Frozen):
    """A table, view, synonym or sequence with all that belongs to it."""

    tabid: int
    name: str
    owner: str
    columns: tuple[ColumnDef, ...] = ()
    kind: TableKind = TableKind.TABLE
    constraints: tuple[Constraint, ...] = ()
    indexes: tuple[Index, ...] = ()
    triggers: tuple[Trigger, ...] = ()
    is_temp: bool = False
    is_logged: bool = True
    """False for a temporary table WITH NO LOG."""
    view: str = ""
    """The statement of a view, in Informix SQL, with the columns that each ``*`` stood for."""
    is_delimident: bool = False
    """Whether double quotes delimit names in `view`."""
    synonym_of: int = 0
    """The tabid that a synonym stands for; 0 in another database."""
    foreign_name: tuple[str, str, str] | None = None
    """Database, owner and name of the table in another database that a synonym stands for."""
    depends_on: tuple[int, ...] = ()
    """The tabids of everything a view or synonym reads, directly or not; it is dropped with any of them."""
    sequence: SequenceDef | None = None
    lock_level: str = "P"
    first_extent: int = 16
    """KB; the default is documented (CREATE TABLE, EXTENT SIZE)."""
    next_extent: int = 16
    """KB."""
    fragments: tuple[Fragment, ...] = ()
    """The fragments of a fragmented table."""
    type_id: int = 0
    """The extended id of a typed table's type."""
    catalog: str = "main"
    """The SQLite schema that holds it: main, temp, or the alias of an attached database."""
    stored_order: tuple[str, ...] = ()
    """The columns in SQLite's order, if ALTER TABLE has made it different."""
    generated: str = ""
    """SQLite text that computes the rows of a catalog table that is not stored; replaces `source`."""
    refresh: str = ""
    """The session table that the engine must fill before it is read: a member of `plan.Plan.refresh`."""

    external: External | None = None
    """The files of an external table, whose rows `generated` has while a statement runs."""
    violations: Violations | None = None
    """Those that START VIOLATIONS TABLE has made for it."""
    is_raw: bool = False

    def path_of(self, column: str) -> str:
        """``table.column``, which is the name in error -391 (observed: 11.70.FC6 and 14.10.FC11)."""
        return f"{self.name}.{column}"

    @property
    def physical(self) -> str:
        """Its name in SQLite."""
        return self.name if self.is_system else f"t{self.tabid}"

    @property
    def source(self) -> str:
        """SQLite text for FROM, INSERT INTO, UPDATE and DELETE."""
        return self.generated or f'{self.catalog}."{self.physical}"'

    @property
    def stored_columns(self) -> tuple[ColumnDef, ...]:
        """The columns in SQLite's order."""
        if not self.stored_order:
            return self.columns
        return tuple(column for name in self.stored_order if (column := self.column(name)) is not None)

    @property
    def is_system(self) -> bool:
        """Whether it belongs to the system catalog and so cannot be written."""
        return self.tabid < FIRST_USER_TABID and not self.is_temp

    @property
    def serials(self) -> tuple[ColumnDef, ...]:
        """The columns whose values the server generates."""
        return tuple(column for column in self.columns if column.is_serial)

    @property
    def primary_key(self) -> Constraint | None:
        """The primary key's constraint."""
        return next((c for c in self.constraints if c.kind is ConstraintKind.PRIMARY), None)

    @property
    def foreign_keys(self) -> tuple[Constraint, ...]:
        """The constraints by which this table refers to others."""
        return tuple(c for c in self.constraints if c.kind is ConstraintKind.REFERENCES)

    def column(self, name: str) -> ColumnDef | None:
        """The column of that name."""
        return next((column for column in self.columns if column.name == name), None)

    def column_number(self, name: str) -> int:
        """syscolumns.colno of that column, from 1."""
        return [column.name for column in self.columns].index(name) + 1

    def constraint_of_index(self, index: str) -> Constraint | None:
        """The constraint that an index enforces."""
        return next((c for c in self.constraints if c.index == index), None)

    def index_of(self, constraint: Constraint) -> Index | None:
        """The index that enforces a constraint; None for one that has no index."""
        return next((each for each in self.indexes if each.name == constraint.index), None)

    def key_of_index(self, index: str) -> Constraint | None:
        """The enabled primary key or unique constraint that an index enforces."""
        kinds = (ConstraintKind.PRIMARY, ConstraintKind.UNIQUE)
        found = (c for c in self.constraints if c.index == index and c.kind in kinds and not c.is_disabled)
        return next(found, None)


class UserType(Frozen):
    """A type of the database: named, or the structure of a column."""

    extended_id: int
    mode: str
    """Its letter in sysxtdtypes.mode: R for ROW types, D for DISTINCT types, C for collections."""
    owner: str
    name: str
    """Empty for the types of columns."""
    type: SqlType
    supertype: int = 0
    """The extended id of the type named after UNDER."""


FIRST_EXTENDED_ID: Final = 2048
"""The first number of types that are not built in (documented: sysxtdtypes.extended_id)."""


class Reference(Frozen):
    """A foreign key seen from its parent."""

    child: Table
    constraint: Constraint


class Schema(Protocol):
    """All objects that a statement can name, for one session in one database; an immutable snapshot."""

    @property
    def database(self) -> str:
        """Name of the current database; empty when none is open, and then no table is found."""
        ...

    @property
    def generation(self) -> str:
        """Changes with every change of the database's catalog, also when a change is rolled back."""
        ...

    @property
    def temp_generation(self) -> str:
        """The same for the temporary tables of the session."""
        ...

    @property
    def next_tabid(self) -> int:
        """For the next table, view or synonym of the database."""
        ...

    @property
    def next_temp_tabid(self) -> int:
        """For the session's next temporary table."""
        ...

    @property
    def next_constrid(self) -> int:
        """For the next constraint."""
        ...

    @property
    def default_owner(self) -> str:
        """The owner that names without one have in an ANSI database; empty elsewhere, where names need none.

        Source: documented: Owner Name (Guide to SQL Syntax); in an ANSI database, owner and name are unique together
        """
        ...

    def owned_by(self, owner: str) -> Schema:
        """The schema in which the default owner is another; unchanged if the database is not an ANSI database."""
        ...

    def table(self, name: str, owner: str = "") -> Table | None:
        """The table, view or synonym of that name; a temporary one before a permanent one."""
        ...

    def existing(self, name: str, owner: str = "") -> Table | None:
        """The permanent table, view, synonym or sequence because of which the name is taken."""
        ...

    def table_of(self, tabid: int) -> Table | None:
        """The permanent table with that number."""
        ...

    @property
    def next_extended_id(self) -> int:
        """For the next type of the database."""
        ...

    @property
    def all_tables(self) -> Iterable[Table]:
        """The user's tables, temporary ones included."""
        ...

    @property
    def next_trigid(self) -> int:
        """For the next trigger of the database."""
        ...

    @property
    def types(self) -> Iterable[UserType]:
        """The types of the database."""
        ...

    def type_named(self, name: str, owner: str = "") -> UserType | None:
        """The type of that name."""
        ...

    @property
    def routines(self) -> Sequence[SplRoutine]:
        """The routines written in SPL of the database."""
        ...

    def routines_named(self, name: str, owner: str = "") -> Sequence[SplRoutine]:
        """The routines written in SPL of that name, which differ by their parameters."""
        ...

    @property
    def next_procid(self) -> int:
        """For the next routine of the database."""
        ...

    def foreign(self, database: str) -> Schema | None:
        """Another database of the server, its tables' `catalog` being the alias under which it gets attached."""
        ...

    def index(self, name: str, owner: str = "") -> tuple[Table, Index] | None:
        """The index of that name, with its table."""
        ...

    def constraint(self, name: str, owner: str = "") -> tuple[Table, Constraint] | None:
        """The constraint of that name, with its table."""
        ...

    def trigger(self, name: str, owner: str = "") -> tuple[Table, Trigger] | None:
        """The trigger of that name, with its table or view."""
        ...

    def dependents(self, tabid: int) -> Iterable[Table]:
        """The views and synonyms that are dropped with a table."""
        ...

    def references_to(self, tabid: int) -> Iterable[Reference]:
        """The foreign keys that reference a table."""
        ...

    def with_tables(self, tables: Iterable[Table], types: Iterable[UserType] = ()) -> Schema:
        """The schema with these tables in place of those with their tabids, and these new types."""
        ...


ROW_LIMIT: Final = 32767
"""Maximum bytes of a row, and therefore columns (documented: limits)."""
_SERVED_COLUMNS: Final = 1998
"""SQLite allows 2,000; a cursor FOR UPDATE and a counter may use one each."""


def require_columns(count: int, offset: int) -> None:
    """Refuse more columns than a table or a query may have.

    Raises:
        SqlError: -528, more than Informix allows (assumed: the SQLCODE of a row too long); -999, more than the server
            supports.
    """
    if count > ROW_LIMIT:
        raise SqlError(-528, offset=offset)
    if count > _SERVED_COLUMNS:
        raise SqlError(-999, token=f"more than {_SERVED_COLUMNS} columns", offset=offset)


def width_of(column: ColumnDef) -> int:
    """Bytes of a column in a row."""
    code, length = column.type.kind, column.type.length
    if column.type.precision is not None:
        scale = length & 0xFF
        return (column.type.precision + (scale & 1) + 3) // 2
    qualifier = column.type.qualifier
    if qualifier is not None:
        return ((length >> 8) + 1) // 2 + 1
    if code in (TypeCode.VARCHAR, TypeCode.NVARCHAR):
        return (length & 0xFF) + 1
    return length + 3 if code == TypeCode.LVARCHAR else length


_OF_UNKNOWN_WIDTH: Final = frozenset(
    {TypeCode.SET, TypeCode.MULTISET, TypeCode.LIST, TypeCode.ROW, TypeCode.COLLECTION, TypeCode.UDTVAR}
)
"""Types of which it is not documented what they take in a row."""


def require_row(columns: Iterable[ColumnDef], offset: int) -> None:
    """Refuse a table whose rows may be longer than Informix allows: text counts with its maximum.

    Source: documented: limits, LVARCHAR, systables.rowsize. assumed: the SQLCODE, as users report it; its message names
    32767 bytes

    Raises:
        SqlError: -528.
    """
    if sum(width_of(each) for each in columns if each.type.kind not in _OF_UNKNOWN_WIDTH) > ROW_LIMIT:
        raise SqlError(-528, offset=offset)
