"""ALTER TABLE and RENAME COLUMN -> Definitions. Never: new tables.

Invariants:
1. SQLite's columns may be in another order than Informix's (`Table.stored_order`): ADD .. BEFORE adds a column at
   the end.
2. An error that depends on the rows is raised by a step of `object_modes`, which changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Definition, PutTable, Step
from aioifx.server.sql.model.schema import (
    LOCK_LEVELS,
    ColumnDef,
    Constraint,
    ConstraintKind,
    Index,
    Table,
    Trigger,
    require_row,
)
from aioifx.server.sql.model.type_rules import is_large
from aioifx.server.sql.sqlite.render import identifier, render
from aioifx.server.sql.sqlite.tree import Column
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.delimited import delimited, is_plain
from aioifx.server.sql.syntax.primaries import VALUE_WORDS
from aioifx.server.sql.syntax.tokens import TokenKind, tokenize
from aioifx.server.sql.translate.constraints import TableBuilder, check_columns, column_of
from aioifx.server.sql.translate.large_objects import check_large
from aioifx.server.sql.translate.object_modes import (
    TOO_MANY_DUPLICATES,
    activation_steps,
    loosened,
    null_check,
    nullability_steps,
)
from aioifx.server.sql.translate.scopes import Context
from aioifx.server.sql.translate.sqlite_ddl import (
    affinity,
    column_text,
    drop_check_steps,
    drop_index_steps,
    drop_reference_steps,
    index_steps,
    redeclaration_steps,
    reference_steps,
)
from aioifx.server.sql.translate.typed import Typed, assigned
from aioifx.server.sql.translate.user_types import with_type_numbers
from aioifx.server.sql.translate.view_texts import (
    edited,
    with_column_renamed,
    with_new_columns,
)


def alter_table(node: nodes.AlterTable, table: Table, context: Context) -> Definition:
    """ALTER TABLE, one action after the other."""
    if node.lock_mode is not None:
        table = replace(table, lock_level=LOCK_LEVELS[node.lock_mode])
    if not node.actions:
        return Definition((), (PutTable(table),))
    alteration = _Alteration(context, table, context.schema.next_constrid)
    for action in node.actions:
        alteration.apply(action)
    changed = alteration.table
    require_row(changed.columns, node.offset)
    if changed.is_temp:
        return Definition(tuple(alteration.steps), (PutTable(changed),))
    columns, types = with_type_numbers(changed.columns, context)
    changed = replace(changed, columns=columns)
    views = with_new_columns(changed, table, context)
    changes = tuple(PutTable(each) for each in (changed, *alteration.children.values(), *views))
    return Definition(tuple(alteration.steps), changes, types)


def without_foreign_keys(child: Table, parent: int, context: Context) -> tuple[Table, list[Step]]:
    """A table without its foreign keys to a parent, as DROP TABLE leaves it."""
    gone = [key for key in child.foreign_keys if key.parent == parent]
    freed, steps = _without(child, gone)
    return freed, [*redeclaration_steps(freed, context.schema.table_of), *steps]


def _without(table: Table, gone: Sequence[Constraint]) -> tuple[Table, list[Step]]:
    """A table without some constraints, and without the indexes that were created only for them."""
    kept = tuple(each for each in table.constraints if each not in gone)
    used = {each.index for each in kept}
    dropped = [
        index
        for index in table.indexes
        if index.is_implicit and index.name not in used and index.name in {each.index for each in gone}
    ]
    steps: list[Step] = []
    for index in dropped:
        steps += drop_index_steps(table, index)
    for constraint in gone:
        if constraint.kind is ConstraintKind.CHECK:
            steps += drop_check_steps(table, constraint)
    indexes = tuple(index for index in table.indexes if index not in dropped)
    return replace(table, constraints=kept, indexes=indexes), steps


@dataclass(slots=True)
class _Alteration:
    context: Context
    table: Table
    next_constrid: int
    steps: list[Step] = field(default_factory=list[Step])
    children: dict[int, Table] = field(default_factory=dict[int, Table])
    """Other tables that have lost foreign keys, by tabid."""

    def apply(self, action: nodes.AlterAction) -> None:
        match action:
            case nodes.AddColumn():
                self._add_column(action)
            case nodes.DropColumn():
                self._drop_column(action.column)
            case nodes.ModifyColumn():
                self._modify_column(action.column)
            case nodes.AddConstraint():
                self._build([action.constraint])
            case nodes.DropConstraint():
                self._drop_constraint(action.name)
            case nodes.SetTableType():
                self.table = replace(self.table, is_raw=action.is_raw)

    # --- Constraints --------------------------------------------------------------------------------------------------

    def _build(
        self, constraints: Iterable[nodes.Constraint], not_null: nodes.ColumnDef | None = None
    ) -> None:
        builder = TableBuilder(self.context, self.table, self.next_constrid)
        if not_null is not None and not_null.not_null is not None:
            builder.not_null(not_null.name.text, not_null.not_null)
        accepted: set[int] = set()
        for node in constraints:
            builder.constraint(node)
            if isinstance(node, nodes.Check | nodes.ForeignKey) and node.is_not_validated:
                accepted.add(builder.added[-1].constrid)
        before, self.table, self.next_constrid = self.table, builder.table, builder.next_constrid
        self._require_values(before)
        for index in builder.new_indexes:
            self.steps += index_steps(self.table, index, TOO_MANY_DUPLICATES)
        for constraint in builder.added:
            self.steps += activation_steps(
                self.table, constraint, self._table_of, validates=constraint.constrid not in accepted
            )

    def _table_of(self, tabid: int) -> Table | None:
        return self.context.schema.table_of(tabid)

    def _require_values(self, before: Table) -> None:
        """Refuse NULLs in columns that have become NOT NULL."""
        for column in self.table.columns:
            old = before.column(column.name)
            if old is not None and old.is_nullable and not column.is_nullable:
                self.steps.append(null_check(self.table, column))

    def _drop_constraint(self, name: nodes.QualifiedName) -> None:
        constraint = next((each for each in self.table.constraints if each.name == name.name), None)
        if constraint is None or name.owner not in ("", constraint.owner):
            raise SqlError(-623, token=name.name, offset=name.offset)
        if constraint.kind in (ConstraintKind.PRIMARY, ConstraintKind.UNIQUE):
            self._free_children(constraint)
        was_key = constraint.kind is ConstraintKind.REFERENCES
        self.table, steps = _without(self.table, [constraint])
        if was_key:
            self.steps += redeclaration_steps(self.table, self._table_of)
        self.steps += steps
        before, self.table = self.table, loosened(self.table, constraint)
        self.steps += nullability_steps(before, self.table)

    def _free_children(self, key: Constraint) -> None:
        """Drop the foreign keys that reference a dropped key."""
        self._drop_references(lambda reference: reference.parent_constrid == key.constrid)

    def _drop_references(self, is_dropped: Callable[[Constraint], bool]) -> None:
        """Drop foreign keys that reference this table, in whatever table they are."""
        for reference in list(self.context.schema.references_to(self.table.tabid)):
            if not is_dropped(reference.constraint):
                continue
            is_own = reference.child.tabid == self.table.tabid
            child = self.table if is_own else self.children.get(reference.child.tabid, reference.child)
            gone = [each for each in child.constraints if each.constrid == reference.constraint.constrid]
            freed, steps = _without(child, gone)
            self.steps += [*redeclaration_steps(freed, self._table_of), *steps]
            if is_own:
                self.table = freed
            else:
                self.children[freed.tabid] = freed

    # --- Columns ------------------------------------------------------------------------------------------------------

    def _add_column(self, action: nodes.AddColumn) -> None:
        column = column_of(action.column, self.context)
        if column.is_serial:
            raise SqlError(-287, token=column.name, offset=action.offset)
        columns = list(self.table.columns)
        place = len(columns)
        if action.before is not None:
            place = [each.name for each in columns].index(self._column(action.before).name)
        stored = tuple(each.name for each in self.table.stored_columns)
        columns.insert(place, column)
        check_columns(columns, action.offset)
        self.steps.append(
            Step(f"ALTER TABLE {self.table.source} ADD COLUMN {column_text(column)}", visits_rows=True)
        )
        self.steps += drop_reference_steps(self.table)
        self.table = replace(self.table, columns=tuple(columns), stored_order=(*stored, column.name))
        self.steps += reference_steps(self.table)
        if column.default is not None:
            name = identifier(column.name)
            self.steps.append(
                Step(f"UPDATE {self.table.source} SET {name} = {column.default.sql}", visits_rows=True)
            )
        if not column.is_nullable:
            self.steps.append(null_check(self.table, column))
        self._build(action.column.constraints, action.column)

    def _column(self, name: nodes.Name) -> ColumnDef:
        column = self.table.column(name.text)
        if column is None:
            raise SqlError(-217, token=name.text, offset=name.offset)
        return column

    def _drop_column(self, name: nodes.Name) -> None:
        column = self._column(name)
        if len(self.table.columns) == 1:
            raise SqlError(-999, token="DROP", offset=name.offset)
        gone = [each for each in self.table.constraints if column.name in each.columns]
        for constraint in gone:
            if constraint.kind in (ConstraintKind.PRIMARY, ConstraintKind.UNIQUE):
                self._free_children(constraint)
        had_keys = any(each.kind is ConstraintKind.REFERENCES for each in gone)
        self.table, steps = _without(self.table, [each for each in self.table.constraints if each in gone])
        if had_keys:
            self.steps += redeclaration_steps(self.table, self._table_of)
        self.steps += steps
        for index in self.table.indexes:
            if column.name in index.columns:
                self.steps += drop_index_steps(self.table, index)
        indexes = tuple(index for index in self.table.indexes if column.name not in index.columns)
        if is_large(column.type):
            self.steps.append(
                Step(f"UPDATE {self.table.source} SET {identifier(column.name)} = NULL", visits_rows=True)
            )
        self.steps += drop_reference_steps(self.table)
        self.steps.append(
            Step(f"ALTER TABLE {self.table.source} DROP COLUMN {identifier(column.name)}", visits_rows=True)
        )
        stored = tuple(each.name for each in self.table.stored_columns if each.name != column.name)
        columns = tuple(each for each in self.table.columns if each.name != column.name)
        triggers = _triggers_without(self.table.triggers, column.name)
        self.table = replace(
            self.table, columns=columns, stored_order=stored, indexes=indexes, triggers=triggers
        )
        self.steps += reference_steps(self.table)

    def _modify_column(self, node: nodes.ColumnDef) -> None:
        """Replace a column's definition; its values are assigned to the new type.

        Raises:
            SqlError: -999, a functional index depends on it, or what `_move_column` raises.
        """
        if any(index.is_functional and node.name.text in index.columns for index in self.table.indexes):
            raise SqlError(-999, token="MODIFY", offset=node.offset)
        old, new = self._column(node.name), column_of(node, self.context)
        self._drop_column_constraints(old.name)
        key = self.table.primary_key
        if key is not None and not key.is_disabled and new.name in key.columns:
            new = replace(new, is_nullable=False)
        if new.is_serial and not old.is_serial and self.table.serials:
            raise SqlError(-287, token=new.name, offset=node.offset)
        value = Typed(Column("", old.name), old.type)
        if is_large(old.type) or is_large(new.type):
            check_large(value, new.type)
        made = assigned(value, new.type)
        if affinity(old.type) != affinity(new.type):
            self._move_column(old, new, render(made), node.offset)
        elif made != value.sql:
            self.steps.append(
                Step(
                    f"UPDATE {self.table.source} SET {identifier(old.name)} = {render(made)}",
                    visits_rows=True,
                )
            )
        before = self.table
        self._put_column(new)
        self.steps += nullability_steps(before, self.table)
        keeps = old.is_declared_not_null and not old.is_serial
        if not (node.not_null and keeps):
            constraints = tuple(
                each
                for each in self.table.constraints
                if not (each.kind is ConstraintKind.NOT_NULL and each.columns == (new.name,))
            )
            self.table = replace(self.table, constraints=constraints)
        self._require_values(before)
        self._build(node.constraints, None if keeps else node)

    def _drop_column_constraints(self, name: str) -> None:
        """Drop what MODIFY does not keep: constraints on this column alone, and foreign keys that reference it.

        Source: documented: MODIFY Clause, Altering the Structure of Tables.
        """
        self._drop_references(lambda reference: name in reference.parent_columns)
        gone = [
            each
            for each in self.table.constraints
            if each.columns == (name,) and each.kind is not ConstraintKind.NOT_NULL
        ]
        if not gone:
            return
        self.table, steps = _without(self.table, gone)
        if any(each.kind is ConstraintKind.REFERENCES for each in gone):
            self.steps += redeclaration_steps(self.table, self._table_of)
        self.steps += steps

    def _put_column(self, column: ColumnDef) -> None:
        columns = tuple(column if each.name == column.name else each for each in self.table.columns)
        self.table = replace(self.table, columns=columns)

    def _move_column(self, old: ColumnDef, new: ColumnDef, text: str, offset: int) -> None:
        """Change the affinity: add a second column, copy the values to it, and give it the name.

        Raises:
            SqlError: -999, the column is part of a foreign key or of a CHECK.
        """
        tied = [
            each
            for each in self.table.constraints
            if each.kind in (ConstraintKind.REFERENCES, ConstraintKind.CHECK) and old.name in each.columns
        ]
        pointed = any(
            old.name in each.constraint.parent_columns
            for each in self.context.schema.references_to(self.table.tabid)
        )
        if tied or pointed:
            raise SqlError(-999, token="MODIFY", offset=offset)
        indexes = [index for index in self.table.indexes if old.name in index.columns]
        for index in indexes:
            self.steps += drop_index_steps(self.table, index)
        source, name, spare = self.table.source, identifier(old.name), identifier(f"{old.name}:new")
        self.steps += [
            Step(f"ALTER TABLE {source} ADD COLUMN {spare} {affinity(new.type)}", visits_rows=True),
            Step(f"UPDATE {source} SET {spare} = {text}", visits_rows=True),
            Step(f"ALTER TABLE {source} DROP COLUMN {name}", visits_rows=True),
            Step(f"ALTER TABLE {source} RENAME COLUMN {spare} TO {name}", visits_rows=True),
        ]
        stored = [each.name for each in self.table.stored_columns if each.name != old.name]
        self.table = replace(self.table, stored_order=(*stored, old.name))
        self._put_column(new)
        for index in indexes:
            self.steps += index_steps(self.table, index, TOO_MANY_DUPLICATES)


# --- RENAME COLUMN ----------------------------------------------------------------------------------------------------


def renamed_column(node: nodes.RenameColumn, table: Table, context: Context) -> Definition:
    """RENAME COLUMN: in the table, and in the foreign keys that reference it.

    Raises:
        SqlError: -217 no such column, -328 the new name exists.
    """
    old, new = node.column.text, node.new_name.text
    if table.column(old) is None:
        raise SqlError(-217, token=old, offset=node.column.offset)
    if table.column(new) is not None:
        raise SqlError(-328, token=new, offset=node.new_name.offset)
    step = Step(
        f"ALTER TABLE {table.source} RENAME COLUMN {identifier(old)} TO {identifier(new)}", visits_rows=True
    )
    renamed = _renamed(table, old, new)
    changes: dict[int, Table] = {table.tabid: renamed}
    if not table.is_temp:
        for reference in context.schema.references_to(table.tabid):
            child = changes.get(reference.child.tabid, reference.child)
            constraints = tuple(
                replace(each, parent_columns=_swapped(each.parent_columns, old, new))
                if each.parent == table.tabid
                else each
                for each in child.constraints
            )
            changes[child.tabid] = replace(child, constraints=constraints)
        changes |= {view.tabid: view for view in with_column_renamed(table, renamed, old, new, context)}
    return Definition((step,), tuple(PutTable(each) for each in changes.values()))


def _triggers_without(triggers: Iterable[Trigger], column: str) -> tuple[Trigger, ...]:
    """The triggers of a table that loses a column; one of UPDATE OF no other column is dropped.

    Source: documented: ALTER TABLE, "How Dropping a Column Affects Triggers".
    """
    return tuple(
        replace(each, columns=tuple(name for name in each.columns if name != column))
        for each in triggers
        if each.columns != (column,)
    )


def _swapped(names: Sequence[str], old: str, new: str) -> tuple[str, ...]:
    return tuple(new if name == old else name for name in names)


def _renamed(table: Table, old: str, new: str) -> Table:
    columns = tuple(replace(each, name=new) if each.name == old else each for each in table.columns)
    constraints = tuple(
        replace(
            each,
            columns=_swapped(each.columns, old, new),
            check=_check_renamed(each.check, old, new),
            check_sql=_template_renamed(each.check_sql, old, new),
        )
        for each in table.constraints
    )
    indexes = tuple(_index_renamed(index, old, new) for index in table.indexes)
    stored = _swapped(table.stored_order, old, new)
    return replace(
        table,
        columns=columns,
        constraints=constraints,
        indexes=indexes,
        stored_order=stored,
        triggers=tuple(_trigger_renamed(each, old, new) for each in table.triggers),
    )


def _trigger_renamed(trigger: Trigger, old: str, new: str) -> Trigger:
    """A trigger with another name of a column of its table: in UPDATE OF, and after the correlation names.

    Source: documented: RENAME COLUMN, "How Triggers Are Affected".
    """
    tokens = tokenize(trigger.action, delimident=trigger.is_delimident)
    edits = [
        (token.offset, token.end, delimited(new))
        for values, dot, token in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if values.text in (trigger.old, trigger.new) and dot.text == "." and token.text == old
    ]
    action, is_delimident = edited(trigger.action, tokens, edits, trigger.is_delimident)
    columns = _swapped(trigger.columns, old, new)
    return replace(trigger, columns=columns, action=action, is_delimident=is_delimident)


def _check_renamed(text: str, old: str, new: str) -> str:
    """The text of a CHECK with another name of a column.

    In quotes it is a name only if it needs them: without DELIMIDENT the text may be a string. Without quotes a word
    such as TODAY is a value.

    Source: documented: RENAME COLUMN statement, how views and check constraints are affected.
    """
    kinds = [] if old in VALUE_WORDS else [TokenKind.NAME]
    kinds += [] if is_plain(old) else [TokenKind.DELIMITED]
    name = delimited(new)
    parts, start = list[str](), 0
    for token in tokenize(text, delimident=True):
        if token.kind in kinds and token.text == old:
            parts += (text[start : token.offset - 1], name)
            start = token.end - 1
    return "".join((*parts, text[start:]))


def _template_renamed(parts: Sequence[str], old: str, new: str) -> tuple[str, ...]:
    """A `render.template` with another name of a column."""
    return tuple(new if number % 2 and part == old else part for number, part in enumerate(parts))


def _index_renamed(index: Index, old: str, new: str) -> Index:
    parts = tuple(
        replace(
            part,
            column=new if part.column == old else part.column,
            arguments=_swapped(part.arguments, old, new),
            sql=_template_renamed(part.sql, old, new),
        )
        for part in index.parts
    )
    return replace(index, parts=parts)
