"""Tables, indexes, triggers, foreign keys, types of columns as SQLite's own DDL. Never: the tree, the catalog's rows.

Invariants:
1. Columns are declared with affinity and collation only. NOT NULL is enforced by `ifx_required` in the texts of
   INSERT and UPDATE. So the error has the column's name, and ALTER TABLE need not rebuild the table.
2. Primary keys are unique indexes: SQLite's INTEGER PRIMARY KEY would be the rowid itself.
3. CHECK is a pair of triggers, whose message encodes the error: ``ifx:-530:owner.name``.
4. Foreign keys are SQLite's own, because it checks them at the end of a statement, as Informix does.
5. NULLs are equal in Informix's unique indexes; a second index over the rows with a NULL enforces that.
6. Triggers count the references to smart large objects, and note what they no longer refer to: `ifx_released(number)`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from aioifx.server.sql.model.plan import Step, Undo
from aioifx.server.sql.model.schema import ColumnDef, Constraint, ConstraintKind, Index, Table
from aioifx.server.sql.model.type_rules import Family, family_of
from aioifx.server.sql.sqlite.render import collate, filled, identifier, identifiers, string
from aioifx.server.sql.sqlite.tree import Collated, Node
from aioifx.sqltypes import SqlType


def affinity(type_: SqlType) -> str:
    """The SQLite declaration of a column of this type, with its collation."""
    match family_of(type_):
        case Family.INTEGER | Family.DATE | Family.MONTHS | Family.TIME:
            return "INTEGER"
        case Family.FLOAT:
            return "REAL"
        case Family.DECIMAL:
            return "TEXT COLLATE ifx_decimal"
        case Family.TEXT:
            return "TEXT COLLATE RTRIM"
        case Family.SIMPLE_LARGE:
            return "BLOB"
        case Family.SMART_LARGE:
            return "INTEGER"
        case _:
            return "TEXT"


def collation(type_: SqlType | None) -> str:
    """The collation by which values of a type are ordered and compared; empty for SQLite's own order."""
    match None if type_ is None else family_of(type_):
        case Family.TEXT:
            return "RTRIM"
        case Family.DECIMAL:
            return "ifx_decimal"
        case _:
            return ""


def collated(node: Node, type_: SqlType | None) -> Node:
    """The expression with the collation of its type."""
    name = collation(type_)
    return Collated(node, name) if name else node


def undo_of(table: Table) -> Undo | None:
    """How a rollback undoes a step that creates the table or something that belongs to it."""
    return Undo.DROP if table.is_temp else None


def column_text(column: ColumnDef) -> str:
    """A column in CREATE TABLE."""
    return f"{identifier(column.name)} {affinity(column.type)}"


def create_table_text(
    name: str, table: Table, parents: Callable[[int], Table | None], deferred: Collection[int] = ()
) -> str:
    """CREATE TABLE with columns and foreign keys.

    Args:
        name: the table's name as SQLite's text has it.
        parents: finds a table by its tabid.
        deferred: the constrids of foreign keys that COMMIT checks.
    """
    parts = [column_text(column) for column in table.stored_columns]
    for key in table.foreign_keys:
        if key.is_disabled:
            continue
        parent = table if key.parent == table.tabid else parents(key.parent)
        if parent is not None:
            text = _foreign_key_text(key, parent)
            parts.append(f"{text} DEFERRABLE INITIALLY DEFERRED" if key.constrid in deferred else text)
    return f"CREATE TABLE {name} ({', '.join(parts)})"


def _foreign_key_text(key: Constraint, parent: Table) -> str:
    columns, targets = identifiers(key.columns), identifiers(key.parent_columns)
    cascade = " ON DELETE CASCADE" if key.cascades else ""
    return (
        f"CONSTRAINT {identifier(key.name)} FOREIGN KEY ({columns})"
        f" REFERENCES {identifier(parent.physical)} ({targets}){cascade}"
    )


# --- Indexes ----------------------------------------------------------------------------------------------------------


def physical_index(table: Table, index: Index) -> str:
    """SQLite's name of an index."""
    return f"{table.physical}:{index.name}"


def index_steps(table: Table, index: Index, duplicate: tuple[int, int, str] | None = None) -> Iterator[Step]:
    """CREATE INDEX, with its twin for NULLs; *duplicate* is the error if the rows are not unique."""
    if index.is_disabled:
        return
    name = physical_index(table, index)
    parts = [(part, table.column(part.column)) for part in index.parts]
    keys = ", ".join(
        (identifier(part.column) if column else filled(part.sql) + collate(part.collation))
        + (" DESC" if part.is_descending else "")
        for part, column in parts
    )
    unique = "UNIQUE " if index.is_unique else ""
    on = identifier(table.physical)
    yield Step(
        f"CREATE {unique}INDEX {table.catalog}.{identifier(name)} ON {on} ({keys})",
        duplicate=duplicate,
        visits_rows=True,
        undo=undo_of(table),
    )
    nullable = [
        filled(part.sql) if column is None else identifier(part.column)
        for part, column in parts
        if column is None or column.is_nullable
    ]
    if index.is_unique and nullable:
        twins = ", ".join(
            f"ifnull({identifier(column.name)}, x''){collate(collation(column.type))}"
            if column
            else f"ifnull({filled(part.sql)}, x''){collate(part.collation)}"
            for part, column in parts
        )
        some = " OR ".join(f"{text} IS NULL" for text in nullable)
        twin = f"{table.catalog}.{identifier(name + TWIN)}"
        yield Step(
            f"CREATE UNIQUE INDEX {twin} ON {on} ({twins}) WHERE {some}",
            duplicate=duplicate,
            visits_rows=True,
            undo=undo_of(table),
        )


TWIN = ":null"
"""Suffix of the name of an index over keys with a NULL."""


def drop_index_steps(table: Table, index: Index) -> Iterator[Step]:
    """DROP INDEX, its twin included."""
    for name in (physical_index(table, index), physical_index(table, index) + TWIN):
        yield Step(f"DROP INDEX IF EXISTS {table.catalog}.{identifier(name)}")


# --- CHECK ------------------------------------------------------------------------------------------------------------


def check_steps(table: Table, constraint: Constraint) -> Iterator[Step]:
    """The triggers of a CHECK constraint, with the new row."""
    if constraint.is_disabled:
        return
    condition = filled(constraint.check_sql, "NEW")
    message = string(f"ifx:-530:{constraint.full_name}")
    temp = "TEMP " if table.is_temp else ""
    place = "" if table.is_temp else f"{table.catalog}."
    for event in ("INSERT", "UPDATE"):
        yield Step(
            f"CREATE {temp}TRIGGER {place}{identifier(_trigger(table, constraint, event))} AFTER {event}"
            f" ON {identifier(table.physical)} WHEN NOT {condition} AND NOT ifx_undoing()"
            f" BEGIN SELECT RAISE(ABORT, {message}); END",
            undo=undo_of(table),
        )


def drop_check_steps(table: Table, constraint: Constraint) -> Iterator[Step]:
    """Drop the triggers of a CHECK constraint."""
    for event in ("INSERT", "UPDATE"):
        name = identifier(_trigger(table, constraint, event))
        yield Step(f"DROP TRIGGER IF EXISTS {table.catalog}.{name}")


def _trigger(table: Table, constraint: Constraint, event: str) -> str:
    return f"{table.physical}:{constraint.name}:{event.lower()}"


# --- References to smart large objects ------------------------------------------------------------------------------

_TABLES_OF_OBJECTS = (
    'CREATE TABLE main."ifx_objects" (id INTEGER PRIMARY KEY, size INTEGER NOT NULL, refs INTEGER NOT NULL)',
    'CREATE TABLE main."ifx_chunks" (id INTEGER PRIMARY KEY, data BLOB NOT NULL)',
)


def object_table_steps() -> Iterator[Step]:
    """The tables of a new database that hold its smart large objects; see `smart_objects`."""
    yield from map(Step, _TABLES_OF_OBJECTS)


def reference_steps(table: Table) -> Iterator[Step]:
    """The triggers that count a table's references to smart large objects."""
    for number, column in enumerate(_smart_columns(table)):
        new, old = f"NEW.{identifier(column.name)}", f"OLD.{identifier(column.name)}"
        added = (
            f'UPDATE "ifx_objects" SET refs = refs + 1 WHERE id = {new};'
            f" SELECT ifx_raise({_BAD_OBJECT}) WHERE {new} IS NOT NULL"
            f' AND NOT EXISTS (SELECT 1 FROM "ifx_objects" WHERE id = {new});'
        )
        removed = (
            f'UPDATE "ifx_objects" SET refs = refs - 1 WHERE id = {old};'
            f" SELECT ifx_released({old}) WHERE {old} IS NOT NULL;"
        )
        changed = f"UPDATE OF {identifier(column.name)}"
        yield _reference_trigger(table, number, "INSERT", added, f"{new} IS NOT NULL")
        yield _reference_trigger(table, number, changed, added + removed, f"{old} IS NOT {new}")
        yield _reference_trigger(table, number, "DELETE", removed, f"{old} IS NOT NULL")


_BAD_OBJECT = -9810


def _smart_columns(table: Table) -> list[ColumnDef]:
    return [column for column in table.columns if family_of(column.type) is Family.SMART_LARGE]


def _reference_trigger(table: Table, number: int, event: str, body: str, condition: str) -> Step:
    temp = "TEMP " if table.is_temp else ""
    place = "" if table.is_temp else f"{table.catalog}."
    name = identifier(_reference_name(table, number, event))
    return Step(
        f"CREATE {temp}TRIGGER {place}{name} AFTER {event} ON {identifier(table.physical)}"
        f" WHEN {condition} AND NOT ifx_undoing() BEGIN {body} END",
        undo=undo_of(table),
    )


def _reference_name(table: Table, number: int, event: str) -> str:
    return f"{table.physical}:object{number}:{event.split()[0].lower()}"


def drop_reference_steps(table: Table) -> Iterator[Step]:
    """Drop the triggers that count a table's references."""
    for number, _ in enumerate(_smart_columns(table)):
        for event in ("INSERT", "UPDATE", "DELETE"):
            name = identifier(_reference_name(table, number, event))
            yield Step(f"DROP TRIGGER IF EXISTS {table.catalog}.{name}")


def release_steps(table: Table) -> Iterator[Step]:
    """Delete the rows of a table that refers to smart large objects, before it is dropped."""
    if _smart_columns(table):
        yield Step(f"DELETE FROM {table.source}", visits_rows=True)


# --- Whole tables -----------------------------------------------------------------------------------------------------


def creation_steps(table: Table, parents: Callable[[int], Table | None]) -> Iterator[Step]:
    """A new table with all that belongs to it."""
    yield Step(create_table_text(table.source, table, parents), undo=undo_of(table))
    for index in table.indexes:
        yield from index_steps(table, index)
    for constraint in table.constraints:
        if constraint.kind is ConstraintKind.CHECK:
            yield from check_steps(table, constraint)
    yield from reference_steps(table)


def redeclaration_steps(
    table: Table, parents: Callable[[int], Table | None], deferred: Collection[int] = ()
) -> Iterator[Step]:
    """Declare the foreign keys of an existing table again, for which SQLite has no ALTER TABLE.

    The text in sqlite_schema is replaced, as SQLite's documentation describes for changes that affect no row. Creating
    and dropping a table makes other connections read the schema again.
    """
    text = create_table_text(identifier(table.physical), table, parents, deferred)
    mark = f'{table.catalog}."ifx_mark"'
    yield Step("PRAGMA writable_schema=ON")
    yield Step(
        f"UPDATE {table.catalog}.sqlite_master SET sql = ? WHERE type = 'table' AND name = ?",
        (text, table.physical),
    )
    yield Step("PRAGMA writable_schema=RESET")
    yield Step(f"CREATE TABLE {mark} (a)")
    yield Step(f"DROP TABLE {mark}")
