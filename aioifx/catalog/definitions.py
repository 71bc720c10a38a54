"""What a database consists of, as JSON and DDL show it. Never: a query, the text of a statement.

Names are those of the catalog: lower case unless they were delimited. Texts of types and defaults are SQL. What the
server has named itself, such as the constraint u100_1, has no name here: the number differs from database to database.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Final

STATES: Final = {"D": "disabled", "F": "filtering", "G": "filtering with error"}
"""Letters of sysobjstate.state, but E for enabled (documented)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDefinition:
    """A column."""

    name: str
    type: str
    nullable: bool
    default: str | None = None
    """The SQL after DEFAULT."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """The table and columns that a foreign key refers to."""

    owner: str
    table: str
    columns: tuple[str, ...]
    cascades: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintDefinition:
    """A constraint, but not NOT NULL."""

    kind: str
    """``primary key``, ``unique``, ``foreign key`` or ``check``."""
    name: str | None = None
    owner: str = ""
    columns: tuple[str, ...] = ()
    check: str | None = None
    references: Parent | None = None
    index: str | None = None
    """The index that it uses, if that was created by itself."""
    state: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexDefinition:
    """An index that no constraint has made."""

    name: str
    owner: str
    keys: tuple[str, ...]
    """Columns and calls of functions; with the operator class if it is not of a B-tree, and ``desc``."""
    method: str = "btree"
    unique: bool = False
    clustered: bool = False
    state: str = ""
    storage: str = ""
    """The clause IN or FRAGMENT BY, if it is stored apart from its table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerDefinition:
    """A trigger."""

    name: str
    owner: str
    sql: str
    state: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceDefinition:
    """The numbers of a sequence."""

    start: int
    increment: int
    minimum: int
    maximum: int
    cycles: bool
    cache: int
    ordered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """How a table is stored; sizes are in kilobytes."""

    lock_mode: str = ""
    extent_size: int = 0
    next_size: int = 0
    dbspace: str = ""
    fragments: str = ""
    """The clause FRAGMENT BY of a table that is in several dbspaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalFiles:
    """The files of an external table."""

    files: tuple[str, ...]
    format: str
    delimiter: str = ""
    max_errors: int | None = None
    reject_file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A table, external table, view, synonym, private synonym or sequence."""

    kind: str
    name: str
    owner: str
    columns: tuple[ColumnDefinition, ...] = ()
    constraints: tuple[ConstraintDefinition, ...] = ()
    indexes: tuple[IndexDefinition, ...] = ()
    triggers: tuple[TriggerDefinition, ...] = ()
    raw: bool = False
    """Whether it is a RAW table, which has no log."""
    row_type: str = ""
    """The ROW type of a typed table."""
    storage: Storage | None = None
    external: ExternalFiles | None = None
    sql: str = ""
    """The CREATE statement of a view."""
    target: str = ""
    """What a synonym stands for."""
    sequence: SequenceDefinition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutineDefinition:
    """A procedure or function in SPL, or the declaration of one in another language."""

    kind: str
    name: str
    owner: str
    arguments: str
    """The types of its parameters."""
    sql: str
    restricted: bool = False
    """Whether PUBLIC may not execute it, although it may execute a new one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeDefinition:
    """A named ROW type or a DISTINCT type."""

    kind: str
    """``row`` or ``distinct``."""
    name: str
    owner: str
    definition: str
    """The fields in parentheses, or the type that it is made of."""
    supertype: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Privileges that one user or role has from another."""

    privileges: tuple[str, ...]
    on: str = ""
    """``table``, ``procedure``, ``function``; empty for the database and for roles."""
    owner: str = ""
    name: str = ""
    arguments: str | None = None
    """Of a routine, the types of its parameters."""
    grantee: str
    grantor: str = ""
    grantable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """A database, or some of its objects; each kind in the order of its making."""

    types: tuple[TypeDefinition, ...] = ()
    relations: tuple[Relation, ...] = ()
    routines: tuple[RoutineDefinition, ...] = ()
    roles: tuple[str, ...] = ()
    grants: tuple[Grant, ...] = ()


def plain(value: Any) -> Any:
    """A definition as JSON has it: objects, arrays and scalars, without what is empty."""
    if isinstance(value, tuple):
        return list(map(plain, value))  # pyright: ignore[reportUnknownArgumentType] - of Any
    return dict(_entries(value)) if hasattr(value, "__dataclass_fields__") else value


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    for field in fields(value):
        item = getattr(value, field.name)
        if (item is not None and item is not False and item not in ("", ())) or field.name == "nullable":
            yield field.name, plain(item)
