"""Declared columns, defaults and constraints -> schema objects. Never: SQLite's DDL, changes of an existing table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import (
    ColumnDef,
    Constraint,
    ConstraintKind,
    Default,
    DefaultKind,
    Index,
    IndexPart,
    Table,
    TriggerEvent,
    require_columns,
)
from aioifx.server.sql.model.storage import type_number
from aioifx.server.sql.model.type_rules import Family, family_of, is_large
from aioifx.server.sql.runtime.casts import assigner
from aioifx.server.sql.runtime.decimals import decimal_text
from aioifx.server.sql.sqlite.render import render, template
from aioifx.server.sql.sqlite.tree import Column
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.complex_types import require_ordered
from aioifx.server.sql.translate.dml import assigned_value
from aioifx.server.sql.translate.expressions import Expressions
from aioifx.server.sql.translate.large_objects import refuse_keys, refuse_nested
from aioifx.server.sql.translate.scopes import Context, Scope, Source, SourceColumn
from aioifx.server.sql.translate.select import QueryTranslator
from aioifx.server.sql.translate.typed import Typed, assigned
from aioifx.sqltypes import (
    SERIALS,
    TypeCode,
)

_LETTERS: Final = {
    ConstraintKind.PRIMARY: "u",
    ConstraintKind.UNIQUE: "u",
    ConstraintKind.REFERENCES: "r",
    ConstraintKind.CHECK: "c",
    ConstraintKind.NOT_NULL: "n",
}
"""Prefixes of generated names (documented for unique: ``u101_5``; the other letters likewise)."""


def column_of(node: nodes.ColumnDef, context: Context) -> ColumnDef:
    """A column without the constraints that follow it.

    Raises:
        SqlError: -999, its type is not supported; -9628, there is no such type.
    """
    type_ = context.resolved(node.type)
    if family_of(type_) is Family.OTHER:
        raise SqlError(-999, token=str(type_), offset=node.offset)
    refuse_nested(type_, node.offset)
    column = ColumnDef(node.name.text, type_, serial_start=node.serial_start or 1, space=node.space)
    if column.is_serial or (node.not_null is not None and not node.not_null.is_disabled):
        column = replace(column, is_nullable=False, is_declared_not_null=True)
    if node.default is not None:
        if is_large(column.type) and not isinstance(node.default.value, nodes.Null):
            raise SqlError(-594, token=column.name, offset=node.default.offset)
        column = replace(column, default=_default(node.default, column, context))
    return column


_SESSION_DEFAULTS: Final = {
    "user": DefaultKind.USER,
    "today": DefaultKind.TODAY,
    "sitename": DefaultKind.SITE,
    "dbservername": DefaultKind.SITE,
}


def _default(node: nodes.Default, column: ColumnDef, context: Context) -> Default:
    translator = Expressions(context, Scope(), QueryTranslator(context))
    value = assigned_value(translator, column, node.value)
    _require_fitting(value, column, node.offset, context)
    sql = render(assigned(value, column.type))
    match node.value:
        case nodes.Null():
            return Default(DefaultKind.NULL, "NULL")
        case nodes.SessionConstant():
            return Default(_SESSION_DEFAULTS[node.value.name], sql)
        case nodes.Current():
            return Default(DefaultKind.CURRENT, sql)
        case nodes.String():
            return Default(DefaultKind.LITERAL, sql, node.value.value)
        case _:
            return Default(DefaultKind.LITERAL, sql, node.text)


def _require_fitting(value: Typed, column: ColumnDef, offset: int, context: Context) -> None:
    """Check that a default is a value of its column's type.

    Raises:
        SqlError: -591 (documented).
    """
    if value.type is None:
        return
    constant = value.constant
    if constant is None and family_of(value.type) is not family_of(column.type):
        raise SqlError(-591, token=column.name, offset=offset)
    stored = decimal_text(constant) if isinstance(constant, Decimal) else constant
    try:
        convert = assigner(type_number(value.type), type_number(column.type))
        if stored is not None:
            convert(stored, context.settings)
    except SqlError:
        raise SqlError(-591, token=column.name, offset=offset) from None


@dataclass(slots=True)
class TableBuilder:
    """Adds constraints to a table, one by one; `table` is the result."""

    context: Context
    table: Table
    next_constrid: int
    added: list[Constraint] = field(default_factory=list[Constraint])
    """The constraints in the order of their addition."""
    new_indexes: list[Index] = field(default_factory=list[Index])

    def not_null(self, column: str, node: nodes.NotNull) -> None:
        """NOT NULL on one column."""
        if not self.table.is_temp or node.is_disabled or node.filtering:
            self._add(ConstraintKind.NOT_NULL, node, (column,))

    def constraint(self, node: nodes.Constraint) -> None:
        """A constraint of a column or of the table.

        Raises:
            SqlError: -217 no such column, -297 no such key in the parent, -893 it is disabled; -548, -576, -891
                temporary tables.
        """
        match node:
            case nodes.PrimaryKey():
                self._primary_key(node)
            case nodes.Unique():
                self._key(ConstraintKind.UNIQUE, node, self._columns(node.columns))
            case nodes.Check():
                self._check(node)
            case nodes.ForeignKey():
                self._foreign_key(node)

    def _columns(self, names: Sequence[nodes.Name]) -> tuple[str, ...]:
        for name in names:
            if self.table.column(name.text) is None:
                raise SqlError(-217, token=name.text, offset=name.offset)
        refuse_keys(self.table, names)
        return tuple(name.text for name in names)

    def _add(
        self, kind: ConstraintKind, node: nodes.Constraint | nodes.NotNull, columns: tuple[str, ...]
    ) -> Constraint:
        name = node.name
        if (node.is_disabled or node.filtering) and self.table.is_temp:
            raise SqlError(-891, offset=node.offset)
        if name is not None and self.table.is_temp:
            raise SqlError(-576, offset=name.offset)
        constrid = self.next_constrid
        self.next_constrid += 1
        called = name.name if name is not None else f"{_LETTERS[kind]}{self.table.tabid}_{constrid}"
        owner = (name.owner if name is not None else "") or self.table.owner
        found = self.context.schema.constraint(called, owner)
        is_elsewhere = found is not None and found[0].tabid != self.table.tabid
        taken = is_elsewhere or any(each.name == called for each in self.table.constraints)
        if name is not None and taken:
            raise SqlError(-743, token=called, offset=name.offset)
        constraint = Constraint(
            constrid, called, owner, kind, columns, is_disabled=node.is_disabled, filtering=node.filtering
        )
        self._put(constraint)
        return constraint

    def _put(self, constraint: Constraint) -> None:
        others = tuple(each for each in self.table.constraints if each.constrid != constraint.constrid)
        self.table = replace(self.table, constraints=(*others, constraint))
        self.added = [*(each for each in self.added if each.constrid != constraint.constrid), constraint]

    def _primary_key(self, node: nodes.PrimaryKey) -> None:
        columns = self._columns(node.columns)
        if self.table.primary_key is not None:
            raise SqlError(-577, offset=node.offset)
        declared = tuple(
            replace(column, is_nullable=False) if column.name in columns and not node.is_disabled else column
            for column in self.table.columns
        )
        self.table = replace(self.table, columns=declared)
        self._key(ConstraintKind.PRIMARY, node, columns)

    def _key(
        self,
        kind: ConstraintKind,
        node: nodes.PrimaryKey | nodes.Unique | nodes.ForeignKey,
        columns: tuple[str, ...],
        is_unique: bool = True,
    ) -> Constraint:
        """A constraint with an index: an existing one, or a new one, which is disabled with the constraint.

        Raises:
            SqlError: -577, the columns are unique already.
        """
        same = (each for each in self.table.constraints if set(each.columns) == set(columns))
        if kind is ConstraintKind.UNIQUE and any(each.kind is kind for each in same):
            raise SqlError(-577)
        for column in self.table.columns:
            if column.name in columns:
                require_ordered(column.type)
        constraint = self._add(kind, node, columns)
        index = next(
            (
                each
                for each in self.table.indexes
                if each.columns == columns
                and not each.is_functional
                and (each.is_unique or not is_unique)
                and (node.is_disabled or not each.is_disabled)
            ),
            None,
        )
        if index is None:
            parts = tuple(IndexPart(column) for column in columns)
            name = f" {self.table.tabid}_{constraint.constrid}"
            disabled = node.is_disabled or (isinstance(node, nodes.ForeignKey) and node.has_disabled_index)
            index = Index(name, self.table.owner, parts, is_unique, is_disabled=disabled)
            self.table = replace(self.table, indexes=(*self.table.indexes, index))
            self.new_indexes.append(index)
        constraint = replace(constraint, index=index.name)
        self._put(constraint)
        return constraint

    def _check(self, node: nodes.Check) -> None:
        names = [
            self._column_in(each) for each in nodes.walk(node.condition) if isinstance(each, nodes.Column)
        ]
        columns = tuple(dict.fromkeys(names))
        check_sql = _check_template(self.context, self.table, node.condition)
        constraint = self._add(ConstraintKind.CHECK, node, columns)
        self._put(replace(constraint, check=f"({node.text})", check_sql=check_sql))

    def _column_in(self, node: nodes.Column) -> str:
        """The column that a name refers to, which may be that of a field."""
        table = node.table
        path = [node.name] if table is None else [node.name, table.name, table.owner]
        return next((name for name in path if self.table.column(name) is not None), node.name)

    def _foreign_key(self, node: nodes.ForeignKey) -> None:
        if self.table.is_temp:
            raise SqlError(-548, offset=node.offset)
        if node.cascades and any(each.event is TriggerEvent.DELETE for each in self.table.triggers):
            raise SqlError(-742, offset=node.offset)
        columns = self._columns(node.columns)
        parent_owner = node.parent.owner or self.context.schema.default_owner
        is_self = node.parent.name == self.table.name and parent_owner in ("", self.table.owner)
        parent = self.table if is_self else self.context.table(node.parent)
        if parent.is_temp or parent.is_system:
            raise SqlError(-297, offset=node.offset)
        key = _parent_key(parent, tuple(name.text for name in node.parent_columns))
        if key is None or len(key.columns) != len(columns):
            raise SqlError(-297, offset=node.offset)
        if key.is_disabled and not node.is_disabled:
            raise SqlError(-893, token=node.name.name if node.name else "", offset=node.offset)
        wanted = tuple(name.text for name in node.parent_columns) or key.columns
        constraint = self._key(ConstraintKind.REFERENCES, node, columns, is_unique=False)
        self._put(
            replace(
                constraint,
                parent=parent.tabid,
                parent_constrid=key.constrid,
                parent_columns=wanted,
                cascades=node.cascades,
            )
        )


def _parent_key(parent: Table, columns: tuple[str, ...]) -> Constraint | None:
    """The primary key or unique constraint that REFERENCES refers to."""
    if not columns:
        return parent.primary_key
    keys = (ConstraintKind.PRIMARY, ConstraintKind.UNIQUE)
    found = (each for each in parent.constraints if each.kind in keys)
    return next((each for each in found if sorted(each.columns) == sorted(columns)), None)


def _check_template(context: Context, table: Table, condition: nodes.Expression) -> tuple[str, ...]:
    """A CHECK condition in SQLite's SQL, as `render.template` gives it.

    Raises:
        SqlError: -201, it contains a ``?`` or a subquery.
    """
    for node in nodes.walk(condition):
        if isinstance(node, nodes.Parameter | nodes.Query):
            raise SqlError(-201, offset=node.offset)
    columns = tuple(
        SourceColumn(column.name, Column("", column.name), column.type, column.is_nullable)
        for column in table.columns
    )
    scope = Scope([Source(table.name, "", columns)])
    return template(Expressions(context, scope, QueryTranslator(context)).condition(condition))


_SERIAL8: Final = SERIALS.keys() - {TypeCode.SERIAL}


def check_columns(columns: Sequence[ColumnDef], offset: int) -> None:
    """Refuse a duplicate name (-328) and more than one SERIAL, or more than one of BIGSERIAL and SERIAL8 (-287)."""
    require_columns(len(columns), offset)
    names: set[str] = set()
    for column in columns:
        if column.name in names:
            raise SqlError(-328, token=column.name, offset=offset)
        names.add(column.name)
    for is_big in (False, True):
        if sum(column.is_serial and (column.type.code in _SERIAL8) is is_big for column in columns) > 1:
            raise SqlError(-287, offset=offset)
