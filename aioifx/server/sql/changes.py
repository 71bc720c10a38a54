"""INSERT, UPDATE, DELETE, TRUNCATE -> Plans. Never: how an expression is translated, how a violation is reported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from aioifx.server.sql import tree
from aioifx.server.sql.expressions import Expressions
from aioifx.server.sql.fault import SqlFault
from aioifx.server.sql.names import MAIN, Context, Scope
from aioifx.server.sql.operands import NULL, Typed, assigned
from aioifx.server.sql.plan import Change, Plan, StatementType, Verb
from aioifx.server.sql.queries import Place, QueryTranslator
from aioifx.server.sql.schema import ColumnDef, Table, TableKind
from aioifx.server.sql.statements import finished
from aioifx.server.sql.texts import identifier, string
from aioifx.server.sql.types import Family, family_of
from aioifx.sqltypes import Column

_NULL_INTO_COLUMN: Final = -391
_NULL_INTO_PRIMARY_KEY: Final = -703


def plan_of(statement: tree.Insert | tree.Update | tree.Delete | tree.Truncate, context: Context) -> Plan:
    """The plan of a DML statement."""
    match statement:
        case tree.Insert():
            return _Insertion(context, statement, writable(statement.table, context)).plan()
        case tree.Update():
            return _update(statement, context)
        case tree.Delete():
            return _delete(statement, context)
        case tree.Truncate():
            table = writable(statement.table, context)
            change = Change(Verb.DELETE, f"DELETE FROM {table.source}", table)
            return finished(StatementType.TRUNCATE, change, statement, context)


def writable(name: tree.QualifiedName, context: Context) -> Table:
    """The table that a name means, if its rows may be changed.

    Raises:   SqlFault: -511 a catalog table, -999 a view or a table of another database.
    """
    table = context.table(name)
    if table.is_system or table.generated:
        raise SqlFault(-511, token=table.name, offset=name.offset)
    if table.kind is TableKind.VIEW:
        raise SqlFault(-999, token="VIEW", offset=name.offset)
    if table.catalog not in MAIN:
        raise SqlFault(-999, token=str(name), offset=name.offset)
    return table


def stored(value: Typed, column: ColumnDef, table: Table) -> str:
    """SQLite text of what goes into a column: converted, and refused when it is NULL where there must be a value."""
    if family_of(column.type) is Family.OTHER:
        raise SqlFault(-999, token=str(column.type))
    text = assigned(value, column.type)
    if column.nullable or column.is_serial or value.constant is not None:
        return text
    if column.declared_not_null:
        return f"ifx_required({text}, {string(column.name)}, {_NULL_INTO_COLUMN})"
    return f"ifx_required({text}, {string(table.name)}, {_NULL_INTO_PRIMARY_KEY})"


def _described(columns: Sequence[ColumnDef]) -> tuple[Column, ...]:
    return tuple(Column(column.name, column.type, column.nullable) for column in columns)


# --- INSERT -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Insertion:
    context: Context
    node: tree.Insert
    table: Table

    def plan(self) -> Plan:
        targets = targets_of(self.table, self.node.columns)
        texts, rows = self._values(targets) if self.node.values is not None else self._rows(targets)
        names = [column.name for column in targets]
        for column, text in left_out(self.table, targets):
            names.append(column.name)
            texts.append(text)
        head = f"INSERT INTO {self.table.source} ({', '.join(identifier(name) for name in names)})"
        body = f"SELECT {', '.join(texts)} FROM {rows}" if rows else f"VALUES ({', '.join(texts)})"
        change = Change(Verb.INSERT, f"{head} {body}", self.table)
        return finished(StatementType.INSERT, change, self.node, self.context, _described(targets))

    def _values(self, targets: Sequence[ColumnDef]) -> tuple[list[str], str]:
        values = self.node.values or ()
        if len(values) != len(targets):
            raise SqlFault(-236)
        translator = Expressions(self.context, Scope(), QueryTranslator(self.context), sequences=0)
        pairs = zip(targets, values, strict=True)
        return [
            inserted(column, assigned_value(translator, column, value), self.table) for column, value in pairs
        ], ""

    def _rows(self, targets: Sequence[ColumnDef]) -> tuple[list[str], str]:
        assert self.node.query is not None
        relation = QueryTranslator(self.context).query(self.node.query, None, Place.STATEMENT)
        if len(relation.outputs) != len(targets):
            raise SqlFault(-236)
        alias = self.context.alias()
        texts = [
            inserted(column, Typed(f"{alias}.c{number}", output.type), self.table)
            for number, (column, output) in enumerate(zip(targets, relation.outputs, strict=True), start=1)
        ]
        return texts, f"({relation.text()}) AS {alias}"


def targets_of(table: Table, names: Sequence[tree.Name]) -> list[ColumnDef]:
    """The columns that an INSERT names; all when it names none.

    Raises:   SqlFault: -217 no such column, -681 one twice.
    """
    targets: list[ColumnDef] = []
    for name in names:
        column = _column(table, name)
        if column in targets:
            raise SqlFault(-681, token=name.text, offset=name.offset)
        targets.append(column)
    return targets or list(table.columns)


def inserted(column: ColumnDef, value: Typed, table: Table) -> str:
    """SQLite text of what a new row has in a column."""
    text = stored(value, column, table)
    return f"ifx_serial({string(column.name)}, {text})" if column.is_serial else text


def left_out(table: Table, targets: Sequence[ColumnDef]) -> Iterator[tuple[ColumnDef, str]]:
    """The columns that an INSERT does not name and that get something all the same."""
    for column in table.columns:
        if column in targets:
            continue
        if column.is_serial:
            yield column, f"ifx_serial({string(column.name)}, 0)"
        elif column.default is not None:
            default = Typed(column.default.sql, column.type, column.default.sql == "NULL")
            yield column, stored(default, column, table)
        elif not column.nullable:
            yield column, stored(NULL, column, table)


def _column(table: Table, name: tree.Name) -> ColumnDef:
    column = table.column(name.text)
    if column is None:
        raise SqlFault(-217, token=name.text, offset=name.offset)
    return column


def assigned_value(translator: Expressions, column: ColumnDef, node: tree.Expression) -> Typed:
    """The value that a column is to get; a ``?`` is of the column's type."""
    if isinstance(node, tree.Parameter):
        sql = translator.context.parameter(node, column.type, column=column.name)
        return Typed(sql, column.type, is_parameter=True)
    return translator.value(node, column.type)


# --- UPDATE -----------------------------------------------------------------------------------------------------------


def _update(statement: tree.Update, context: Context) -> Plan:
    table = writable(statement.table.table, context)
    label = statement.table.alias.text if statement.table.alias else table.name
    source = context.source(table, label)
    translator = Expressions(context, Scope([source]), QueryTranslator(context))
    columns: list[ColumnDef] = []
    texts: list[str] = []
    numbering = replace(translator, sequences=0)
    for assignment in statement.assignments:
        targets = _updated_columns(table, assignment)
        columns += targets
        texts += _assignment_texts(numbering, assignment, targets, table)
    sql = f"UPDATE {table.source} AS {source.alias} SET {', '.join(texts)}"
    where, cursor, type_ = _where(statement.where, translator, source.alias, statement)
    change = Change(
        Verb.UPDATE, sql + where, table, cursor, tuple(column.name for column in columns), not where
    )
    types = (StatementType.UPDATE, StatementType.UPDATE_CURRENT, StatementType.UPDATE_ALL)
    return finished(types[type_], change, statement, context, _described(columns))


def _updated_columns(table: Table, assignment: tree.Assignment) -> list[ColumnDef]:
    if assignment.columns is None:
        columns = [column for column in table.columns if not column.is_serial]
        if len(columns) != len(table.columns):
            raise SqlFault(-232, token=table.serials[0].name, offset=assignment.offset)
        return columns
    columns = [_column(table, name) for name in assignment.columns]
    for column in columns:
        if column.is_serial:
            raise SqlFault(-232, token=column.name, offset=assignment.offset)
    return columns


def _assignment_texts(
    translator: Expressions, assignment: tree.Assignment, columns: Sequence[ColumnDef], table: Table
) -> Iterator[str]:
    """``"a" = ..`` for each value, ``("a", "b") = (SELECT ..)`` for a query that gives several.

    Raises:   SqlFault: -505, the numbers of columns and values differ.
    """
    left = list(columns)
    for value in assignment.values:
        width = 1
        if isinstance(value, tree.Subquery) and (len(columns) > 1 or assignment.columns is None):
            relation = translator.subqueries.subquery(value.query, translator.scope)
            width = len(relation.outputs)
        if len(left) < width:
            raise SqlFault(-505)
        mine, left = left[:width], left[width:]
        if width > 1 and isinstance(value, tree.Subquery):
            yield _several(translator, value, mine, table)
            continue
        text = stored(assigned_value(translator, mine[0], value), mine[0], table)
        yield f"{identifier(mine[0].name)} = {text}"
    if left:
        raise SqlFault(-505)


def assignment_values(
    translator: Expressions, assignments: Sequence[tree.Assignment], table: Table
) -> Iterator[tuple[str, str]]:
    """Name and SQLite text for each column of a SET clause in which every value stands for one column.

    Raises:   SqlFault: -505 numbers differ, -232 a serial column.
    """
    for assignment in assignments:
        columns = _updated_columns(table, assignment)
        if len(columns) != len(assignment.values):
            raise SqlFault(-505)
        for column, value in zip(columns, assignment.values, strict=True):
            yield column.name, stored(assigned_value(translator, column, value), column, table)


def _several(
    translator: Expressions, value: tree.Subquery, columns: Sequence[ColumnDef], table: Table
) -> str:
    relation = translator.subqueries.subquery(value.query, translator.scope)
    texts: list[str] = []
    for number, (column, output) in enumerate(zip(columns, relation.outputs, strict=True), start=1):
        texts.append(stored(Typed(f"ifx_single(c{number})", output.type), column, table))
    names = ", ".join(identifier(column.name) for column in columns)
    return f"({names}) = (SELECT {', '.join(texts)} FROM ({relation.text()}))"


# --- DELETE -----------------------------------------------------------------------------------------------------------


def _delete(statement: tree.Delete, context: Context) -> Plan:
    table = writable(statement.table.table, context)
    label = statement.table.alias.text if statement.table.alias else table.name
    source = context.source(table, label)
    translator = Expressions(context, Scope([source]), QueryTranslator(context))
    where, cursor, type_ = _where(statement.where, translator, source.alias, statement)
    change = Change(
        Verb.DELETE, f"DELETE FROM {table.source} AS {source.alias}{where}", table, cursor, all_rows=not where
    )
    types = (StatementType.DELETE, StatementType.DELETE_CURRENT, StatementType.DELETE_ALL)
    return finished(types[type_], change, statement, context)


def _where(
    where: tree.Expression | tree.CurrentOf | None, translator: Expressions, alias: str, statement: tree.Node
) -> tuple[str, str, int]:
    """WHERE, the cursor of CURRENT OF, and 0, 1 or 2: with a condition, by a cursor, without."""
    if where is None:
        return "", "", 2
    if isinstance(where, tree.CurrentOf):
        number = len(tree.parameters(statement)) + 1
        return f" WHERE {alias}.rowid = ?{number}", where.cursor.text, 1
    return f" WHERE {translator.condition(where)}", "", 0
