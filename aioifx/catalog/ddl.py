"""Definitions as the SQL that makes them again, in the form of dbschema. Never: a query, the database.

Objects come after those that they need: types, sequences, tables, routines, indexes, foreign keys, views and synonyms,
triggers, privileges. A foreign key has a statement of its own, because tables may refer to each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from aioifx.catalog.definitions import (
    ColumnDefinition,
    ConstraintDefinition,
    ExternalFiles,
    Grant,
    IndexDefinition,
    Relation,
    RoutineDefinition,
    Schema,
    SequenceDefinition,
    Storage,
    TriggerDefinition,
    TypeDefinition,
)
from aioifx.catalog.names import owned, with_owner
from aioifx.catalog.texts import quoted


class DdlOptions(NamedTuple):
    """What statements have."""

    owners: bool = True
    """Names have their owners."""
    storage: bool = False
    """Tables have extents, lock mode and dbspace, as by ``dbschema -ss``."""
    grants: bool = True
    """Privileges are granted."""


def statements(schema: Schema, options: DdlOptions | None = None) -> Iterator[str]:
    """The statements, without semicolons."""
    return _Writer(options or DdlOptions()).schema(schema)


def constraint_text(constraint: ConstraintDefinition) -> str:
    """A constraint as in CREATE TABLE."""
    return _Writer(DdlOptions()).constraint(constraint)


class _Writer:
    def __init__(self, options: DdlOptions) -> None:
        self._options = options

    def schema(self, schema: Schema) -> Iterator[str]:
        relations = schema.relations
        yield from map(self._type, schema.types)
        yield from (self._sequence(each, each.sequence) for each in relations if each.sequence is not None)
        tables = [each for each in relations if each.kind in ("table", "external table")]
        yield from map(self._table, tables)
        yield from map(self._routine, schema.routines)
        for table in tables:
            yield from (self._index(table, each) for each in table.indexes)
        for table in tables:
            yield from (self._added(table, each) for each in table.constraints if each.index)
        for table in tables:
            keys = (each for each in table.constraints if each.references and not each.index)
            yield from (self._added(table, each) for each in keys)
        for each in relations:
            if each.kind == "view":
                yield with_owner(each.sql, self._owner(each.owner))
            elif "synonym" in each.kind:
                yield self._synonym(each)
        for each in relations:
            yield from map(self._trigger, each.triggers)
        if self._options.grants:
            yield from self._grants(schema)

    def _owner(self, owner: str) -> str:
        return owner if self._options.owners else ""

    def _named(self, owner: str, name: str) -> str:
        return owned(self._owner(owner), name)

    # -- tables -------------------------------------------------------------------------------------------------------

    def _table(self, table: Relation) -> str:
        head = f"create {'raw ' if table.raw else ''}{table.kind} {self._named(table.owner, table.name)}"
        if table.row_type:
            head += f" of type {self._other(table.row_type)}"
        typed = bool(table.row_type)
        lines = [] if typed else list(map(self._column, table.columns))
        lines += [
            self.constraint(each) for each in table.constraints if not each.references and not each.index
        ]
        body = "\n  (\n    " + ",\n    ".join(lines) + "\n  )" if lines else ""
        if table.external is not None:
            body += _external(table.external)
        if table.storage is not None and self._options.storage:
            body += _storage(table.storage)
        return head + body

    def _column(self, column: ColumnDefinition) -> str:
        default = "" if column.default is None else f" default {column.default}"
        required = "" if column.nullable else " not null"
        return f"{quoted(column.name)} {self._other(column.type)}{default}{required}"

    def _other(self, text: str) -> str:
        """A type, which may be a name with an owner."""
        if self._options.owners or not text.startswith('"'):
            return text
        return text.partition('".')[2] or text

    def constraint(self, constraint: ConstraintDefinition) -> str:
        text = constraint.kind
        if constraint.check is not None:
            text += f" ({constraint.check})"
        else:
            text += f" ({', '.join(map(quoted, constraint.columns))})"
        if (parent := constraint.references) is not None:
            columns = ", ".join(map(quoted, parent.columns))
            text += f" references {self._named(parent.owner, parent.table)} ({columns})"
            text += " on delete cascade" if parent.cascades else ""
        if constraint.name is not None:
            text += f" constraint {self._named(constraint.owner, constraint.name)}"
        return text + _after(constraint.state)

    def _added(self, table: Relation, constraint: ConstraintDefinition) -> str:
        name = self._named(table.owner, table.name)
        return f"alter table {name} add constraint ({self.constraint(constraint)})"

    def _index(self, table: Relation, index: IndexDefinition) -> str:
        kinds = ("unique " if index.unique else "") + ("cluster " if index.clustered else "")
        name = self._named(index.owner, index.name)
        on = self._named(table.owner, table.name)
        storage = _after(index.storage) if self._options.storage else ""
        keys = ", ".join(index.keys)
        return (
            f"create {kinds}index {name} on {on} ({keys}) using {index.method}{storage}{_after(index.state)}"
        )

    # -- others -------------------------------------------------------------------------------------------------------

    def _type(self, each: TypeDefinition) -> str:
        if each.kind == "distinct":
            return (
                f"create distinct type {self._named(each.owner, each.name)} as {self._other(each.definition)}"
            )
        under = f" under {self._other(each.supertype)}" if each.supertype else ""
        return f"create row type {self._named(each.owner, each.name)} {each.definition}{under}"

    def _sequence(self, relation: Relation, sequence: SequenceDefinition) -> str:
        cycle = "cycle" if sequence.cycles else "nocycle"
        cache = f"cache {sequence.cache}" if sequence.cache else "nocache"
        return (
            f"create sequence {self._named(relation.owner, relation.name)} increment by {sequence.increment}"
            f" start with {sequence.start} maxvalue {sequence.maximum} minvalue {sequence.minimum} {cycle} {cache}"
            f" {'order' if sequence.ordered else 'noorder'}"
        )

    def _synonym(self, synonym: Relation) -> str:
        kind = "private synonym" if synonym.kind == "private synonym" else "synonym"
        return f"create {kind} {self._named(synonym.owner, synonym.name)} for {self._other(synonym.target)}"

    def _routine(self, routine: RoutineDefinition) -> str:
        return with_owner(routine.sql, self._owner(routine.owner))

    def _trigger(self, trigger: TriggerDefinition) -> str:
        return with_owner(trigger.sql, self._owner(trigger.owner)) + _after(trigger.state)

    # -- privileges ---------------------------------------------------------------------------------------------------

    def _grants(self, schema: Schema) -> Iterator[str]:
        yield from (f"create role {_user(role)}" for role in schema.roles)
        of_public: set[str] = set()
        granted = {(grant.owner, grant.name) for grant in schema.grants if grant.on == "table"}
        for each in schema.relations:  # a new table is for everybody (documented: NODEFDAC)
            if each.kind == "table" and (each.owner, each.name) not in granted:
                yield f'revoke all on {self._named(each.owner, each.name)} from "public"{self._as(each.owner)}'
        for routine in schema.routines:
            if routine.restricted:
                yield self._restricted(routine)
        for grant in schema.grants:
            on = self._on(grant)
            if grant.on == "table" and on not in of_public:
                of_public.add(on)
                yield f'revoke all{on} from "public"{self._as(grant.grantor)}'
            option = " with grant option" if grant.grantable else ""
            yield (
                f"grant {', '.join(grant.privileges)}{on} to {_user(grant.grantee)}{option}{self._as(grant.grantor)}"
            )

    def _restricted(self, routine: RoutineDefinition) -> str:
        """Source: observed: dbschema, after the grants; the documentation has it before them"""
        name = f"{self._named(routine.owner, routine.name)}({routine.arguments})"
        return f'revoke execute on {routine.kind} {name} from "public"{self._as(routine.owner)}'

    def _on(self, grant: Grant) -> str:
        if not grant.on:
            return ""
        kind = "" if grant.on == "table" else f"{grant.on} "
        arguments = "" if grant.arguments is None else f"({grant.arguments})"
        return f" on {kind}{self._named(grant.owner, grant.name)}{arguments}"

    def _as(self, grantor: str) -> str:
        return f" as {_user(grantor)}" if grantor and self._options.owners else ""


def _user(name: str) -> str:
    return f'"{name}"'


def _after(state: str) -> str:
    return f" {state}" if state else ""


def _storage(storage: Storage) -> str:
    parts: Iterable[str] = (
        f" in {storage.dbspace}" if storage.dbspace else _after(storage.fragments),
        f" extent size {storage.extent_size}" if storage.extent_size else "",
        f" next size {storage.next_size}" if storage.next_size else "",
        f" lock mode {storage.lock_mode}" if storage.lock_mode else "",
    )
    return " " + "".join(parts)


def _external(external: ExternalFiles) -> str:
    files = ", ".join(_literal(file) for file in external.files)
    parts = [f"datafiles ({files})"]
    parts += [f"format {_literal(external.format)}"] if external.format else []
    parts += [f"delimiter {_literal(external.delimiter)}"] if external.delimiter else []
    parts += [] if external.max_errors is None else [f"maxerrors {external.max_errors}"]
    parts += [f"rejectfile {_literal(external.reject_file)}"] if external.reject_file else []
    return f"\n  using ({', '.join(parts)})"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
