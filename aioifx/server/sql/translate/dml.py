"""INSERT, UPDATE, DELETE, TRUNCATE -> Plans. Never: how an expression is translated, how a violation is reported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import ByRow, Change, Event, Plan, Verb
from aioifx.server.sql.model.schema import ColumnDef, DefaultKind, Table, TriggerEvent
from aioifx.server.sql.model.type_rules import Family, family_of, is_large
from aioifx.server.sql.sqlite import tree
from aioifx.server.sql.sqlite.render import Composed, identifiers
from aioifx.server.sql.sqlite.tree import (
    Insert,
    Literal,
    Node,
    Parameter,
    Piece,
    Text,
    call,
    listed,
    logic,
    query_sql,
    sql,
    unquoted,
    walk,
)
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.expressions import Expressions
from aioifx.server.sql.translate.filtering import Written, filtering, is_filtered
from aioifx.server.sql.translate.large_objects import NOT_LARGE, check_large
from aioifx.server.sql.translate.scopes import Context, Scope, stored_rows
from aioifx.server.sql.translate.select import Place, QueryTranslator
from aioifx.server.sql.translate.select_plan import finished
from aioifx.server.sql.translate.typed import UNTYPED_NULL, Typed, assigned
from aioifx.server.sql.translate.views import Target, checked, require_writable, target_of
from aioifx.sqltypes import Column
from aioifx.wire.opcodes import StatementType

_Set: TypeAlias = tuple[tuple[str, ...], Node, Node]
"""The columns that are assigned, the value, and an expression with one value that reads the same rows."""

_SIDE_EFFECTS: Final = frozenset(
    {"ifx_nextval", "ifx_object_of", "ifx_filetoblob", "ifx_locopy", "ifx_lotofile", "ifx_keep", "ifx_lo"}
)
"""Functions that a query must not call when it is run only to test locks."""

_NULL_INTO_COLUMN: Final = -391
_NULL_INTO_PRIMARY_KEY: Final = -703


def dml_plan(
    statement: nodes.Insert | nodes.Update | nodes.Delete | nodes.Truncate, context: Context
) -> Plan:
    """The plan of a DML statement."""
    match statement:
        case nodes.Insert():
            target = target_of(statement.table, statement.table.name, context, QueryTranslator(context))
            return _Insertion(context, statement, target).plan()
        case nodes.Update():
            return _update(statement, context)
        case nodes.Delete():
            return _delete(statement, context)
        case nodes.Truncate():
            table = writable(statement.table, context)
            change = Change(Verb.DELETE, Composed(sql("DELETE FROM {}", table.source)), table)
            return finished(StatementType.TRUNCATE, change, statement, context)


def writable(name: nodes.QualifiedName, context: Context) -> Table:
    """The table of a name, if its rows may be changed.

    Raises:
        SqlError: -511 a catalog table, -999 a view or a table of another database.
    """
    return require_writable(context.table(name), name)


def stored(value: Typed, column: ColumnDef, table: Table) -> Node:
    """The value stored in a column: converted, and refused if it is NULL in a NOT NULL column."""
    if family_of(column.type) is Family.OTHER:
        raise SqlError(-999, token=str(column.type))
    if is_large(column.type) or (value.type is not None and is_large(value.type)):
        check_large(value, column.type)
    made = assigned(value, column.type)
    return made if value.constant is not None else _required(made, column, table)


def _required(value: Node, column: ColumnDef, table: Table) -> Node:
    """A value that is refused if it is NULL in a NOT NULL column."""
    if column.is_nullable or column.is_serial:
        return value
    if column.is_declared_not_null:
        return call("ifx_required", value, table.path_of(column.name), _NULL_INTO_COLUMN)
    return call("ifx_required", value, table.name, _NULL_INTO_PRIMARY_KEY)


def _described(columns: Sequence[ColumnDef]) -> tuple[Column, ...]:
    return tuple(Column(column.name, column.type, column.is_nullable) for column in columns)


# --- INSERT -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Insertion:
    context: Context
    node: nodes.Insert
    target: Target

    def plan(self) -> Plan:
        table = self.target.table
        targets = targets_of(self.target, self.node.columns, self.node.offset)
        values, rows, search = self._values(targets) if self.node.values is not None else self._rows(targets)
        left = list(left_out(table, targets))
        names = tuple(column.name for column in (*targets, *(column for column, _ in left)))
        body = self._body(names, [*values, *(value for _, value in left)], rows)
        insert = Composed(Insert(table.source, names, body))
        event = Event(TriggerEvent.INSERT, tuple(column.name for column in targets))
        by_row, row = ByRow(None, insert), body
        if rows is not None:
            row = bound_row(table, names)
            by_row = ByRow(Composed(body), Composed(Insert(table.source, names, row)))
        change = Change(Verb.INSERT, insert, table, search=search, locked_tables=self.context.locked_tables)
        change = replace(change, events=(event,))
        change = activating(change, by_row, self.context, lambda source: Insert(source, names, row))
        described = _described(self.target.shown(targets))
        return finished(StatementType.INSERT, change, self.node, self.context, described)

    def _body(self, names: Sequence[str], values: Sequence[Node], rows: Node | None) -> tree.Query:
        """VALUES or SELECT; rows are computed in full before WITH CHECK OPTION is checked."""
        alias = self.context.alias()
        new: dict[str, Node] = dict.fromkeys((column.name for column in self.target.table.columns), tree.NULL)
        new |= {name: unquoted(alias, number) for number, name in enumerate(names, start=1)}
        conditions = self.target.checks(new)
        if not conditions:
            listed_values = listed(values)
            if rows is None:
                return query_sql("VALUES ({})", listed_values)
            return query_sql("SELECT {} FROM {}", listed_values, rows)
        named = listed(sql("{} AS c{}", value, number) for number, value in enumerate(values, start=1))
        made = query_sql("SELECT {}{} LIMIT -1", named, "" if rows is None else sql(" FROM {}", rows))
        columns = listed(unquoted(alias, number) for number in range(1, len(values) + 1))
        condition = checked(Literal(1), conditions)
        return query_sql("SELECT {} FROM ({}) AS {} WHERE {}", columns, made, alias, condition)

    def _values(self, targets: Sequence[ColumnDef]) -> tuple[list[Node], None, Composed | None]:
        values = self.node.values or ()
        if len(values) != len(targets):
            raise SqlError(-236)
        translator = Expressions(self.context, Scope(), QueryTranslator(self.context), sequences=0)
        pairs = zip(targets, values, strict=True)
        assigned = [(column, assigned_value(translator, column, value)) for column, value in pairs]
        queries = searching([value.sql for _, value in assigned])
        search = Composed(query_sql("SELECT {}", listed(queries))) if queries else None
        return [inserted(column, value, self.target.table) for column, value in assigned], None, search

    def _rows(self, targets: Sequence[ColumnDef]) -> tuple[list[Node], Node, Composed]:
        assert self.node.query is not None
        relation = QueryTranslator(self.context).query(self.node.query, None, Place.INSERT)
        if len(relation.outputs) != len(targets):
            raise SqlError(-236)
        alias = self.context.alias()
        values = [
            inserted(column, Typed(unquoted(alias, number), output.type), self.target.table)
            for number, (column, output) in enumerate(zip(targets, relation.outputs, strict=True), start=1)
        ]
        query = relation.query()
        return values, sql("({}) AS {}", query, alias), Composed(query)


def searching(values: Sequence[Node]) -> list[Node]:
    """Those of the assigned values that contain queries, for `Change.search`; without those that have side effects."""
    return [
        value
        for value in values
        if any(isinstance(each, tree.Query) for each in walk(value)) and not has_side_effects(value)
    ]


def has_side_effects(node: Node) -> bool:
    """Whether an expression or query, when it is evaluated, changes more than the rows of its statement."""
    return any(isinstance(each, tree.Call) and each.name in _SIDE_EFFECTS for each in walk(node))


def targets_of(target: Target, names: Sequence[nodes.Name], offset: int) -> list[ColumnDef]:
    """The columns that an INSERT names; all columns if it names none.

    Raises:
        SqlError: -217 no such column, -681 a duplicate, -234 and -384 one is computed.
    """
    targets: list[ColumnDef] = []
    for name in names:
        column = target.column(name)
        if column in targets:
            raise SqlError(-681, token=name.text, offset=name.offset)
        targets.append(column)
    every = target.all_columns(offset)
    return targets or every


def inserted(column: ColumnDef, value: Typed, table: Table) -> Node:
    """A new row's value in a column."""
    made = stored(value, column, table)
    return call("ifx_serial", column.name, made) if column.is_serial else made


def left_out(table: Table, targets: Sequence[ColumnDef]) -> Iterator[tuple[ColumnDef, Node]]:
    """The columns that an INSERT does not name and that still get a value."""
    for column in table.columns:
        if column in targets:
            continue
        if column.is_serial:
            yield column, call("ifx_serial", column.name, 0)
        elif column.default is not None:
            is_null = column.default.kind is DefaultKind.NULL
            default = Typed(Text((column.default.sql,)), column.type, is_null)
            yield column, stored(default, column, table)
        elif not column.is_nullable:
            yield column, stored(UNTYPED_NULL, column, table)


def assigned_value(translator: Expressions, column: ColumnDef, node: nodes.Expression) -> Typed:
    """The value assigned to a column; a ``?`` has the column's type."""
    if isinstance(node, nodes.Parameter):
        parameter = translator.context.parameter(node, column.type, column=column.name)
        return Typed(parameter, column.type, is_parameter=True)
    value = translator.any_value(node, column.type)
    if family_of(column.type) is Family.SIMPLE_LARGE and isinstance(node, nodes.Subquery):
        raise SqlError(NOT_LARGE, offset=node.offset)  # observed: 14.10
    return value


# --- UPDATE -----------------------------------------------------------------------------------------------------------


def _update(statement: nodes.Update, context: Context) -> Plan:
    target, translator = _changed(statement.table, context)
    table, alias = target.table, target.source.alias
    columns: list[ColumnDef] = []
    values: list[_Set] = []
    # A value checked by WITH CHECK OPTION occurs twice in the statement, so it must not contain NEXTVAL.
    numbering = replace(translator, sequences=-999 if target.checks({}) else 0)
    for assignment in statement.assignments:
        targets = _updated_columns(target, assignment)
        columns += targets
        values += _assignment_values(numbering, assignment, targets, table)
    assigned_values = listed(_checked(target, values, statement))

    def head(source: str) -> Node:
        return sql("UPDATE {} AS {} SET {}", source, alias, assigned_values)

    where, cursor, type_ = _where(statement.where, translator, target, statement)
    names = tuple(column.name for column in columns)
    change = Change(
        Verb.UPDATE,
        Composed(sql("{}{}", head(table.source), where)),
        table,
        cursor,
        names,
        None if cursor else _search(target, [read for *_, read in values], where),
        context.locked_tables,
        (Event(TriggerEvent.UPDATE, names),),
    )
    change = _by_rowid(change, head, where, alias, statement, context)
    types = (StatementType.UPDATE, StatementType.UPDATE_CURRENT, StatementType.UPDATE_ALL)
    return finished(types[type_], change, statement, context, _described(target.shown(columns)))


def _search(target: Target, values: Sequence[Node], where: Piece) -> Composed:
    """The SELECT of the rows that an UPDATE or DELETE changes."""
    alias = target.source.alias
    columns = listed([unquoted(alias, "rowid"), *searching(values)])
    return Composed(query_sql("SELECT {} FROM {}{}", columns, stored_rows(target.table, alias), where))


def _changed(reference: nodes.TableRef, context: Context) -> tuple[Target, Expressions]:
    """The target of UPDATE or DELETE, and the translator of its conditions."""
    label = reference.alias.text if reference.alias else reference.table.name
    queries = QueryTranslator(context)
    target = target_of(reference.table, label, context, queries)
    return target, Expressions(context, Scope([target.source]), queries)


def _checked(target: Target, values: Sequence[_Set], statement: nodes.Update) -> list[Node]:
    """The SET clause; the conditions of WITH CHECK OPTION precede its first value.

    Raises:
        SqlError: -999, there are such conditions, and a query gives several values at once.
    """
    conditions = target.checks({names[0]: value for names, value, _ in values})
    if conditions and any(len(names) > 1 for names, *_ in values):
        raise SqlError(-999, token="WITH CHECK OPTION", offset=statement.offset)
    (first_names, first, _), *others = values
    return [_set(first_names, checked(first, conditions)), *(_set(names, each) for names, each, _ in others)]


def _set(names: tuple[str, ...], value: Node) -> Node:
    columns = identifiers(names)
    return sql("{} = {}", columns if len(names) == 1 else f"({columns})", value)


def _updated_columns(target: Target, assignment: nodes.Assignment) -> list[ColumnDef]:
    if assignment.columns is None:
        columns = target.all_columns(assignment.offset)
    else:
        columns = [target.column(name) for name in assignment.columns]
    for column in columns:
        if column.is_serial:
            (shown,) = target.shown([column])
            raise SqlError(-232, token=shown.name, offset=assignment.offset)
    return columns


def _assignment_values(
    translator: Expressions, assignment: nodes.Assignment, columns: Sequence[ColumnDef], table: Table
) -> Iterator[_Set]:
    """One item for each value; ``(SELECT ..)`` for a query that sets several columns.

    Raises:
        SqlError: -505, the numbers of columns and values differ.
    """
    left = list(columns)
    for value in assignment.values:
        width = 1
        if isinstance(value, nodes.Subquery) and (len(columns) > 1 or assignment.columns is None):
            relation = translator.subqueries.subquery(value.query, translator.scope)
            width = len(relation.outputs)
        if len(left) < width:
            raise SqlError(-505)
        mine, left = left[:width], left[width:]
        if width > 1 and isinstance(value, nodes.Subquery):
            yield _several(translator, value, mine, table)
            continue
        made = stored(assigned_value(translator, mine[0], value), mine[0], table)
        yield (mine[0].name,), made, made
    if left:
        raise SqlError(-505)


def assignment_values(
    translator: Expressions, assignments: Sequence[nodes.Assignment], target: Target
) -> Iterator[tuple[str, Node]]:
    """Name and value for each column of a SET clause in which each value is for one column.

    Raises:
        SqlError: -505 numbers differ, -232 a serial column.
    """
    for assignment in assignments:
        columns = _updated_columns(target, assignment)
        if len(columns) != len(assignment.values):
            raise SqlError(-505)
        for column, value in zip(columns, assignment.values, strict=True):
            yield column.name, stored(assigned_value(translator, column, value), column, target.table)


def _several(
    translator: Expressions, value: nodes.Subquery, columns: Sequence[ColumnDef], table: Table
) -> _Set:
    relation = translator.subqueries.subquery(value.query, translator.scope)
    values = [
        stored(Typed(call("ifx_single", unquoted("", number)), output.type), column, table)
        for number, (column, output) in enumerate(zip(columns, relation.outputs, strict=True), start=1)
    ]
    rows = relation.query()
    one_text = listed((call("quote", each) for each in values), " || ")
    return (
        tuple(column.name for column in columns),
        sql("({})", query_sql("SELECT {} FROM ({})", listed(values), rows)),
        sql("({})", query_sql("SELECT {} FROM ({})", one_text, rows)),
    )


# --- DELETE -----------------------------------------------------------------------------------------------------------


def _delete(statement: nodes.Delete, context: Context) -> Plan:
    target, translator = _changed(statement.table, context)
    where, cursor, type_ = _where(statement.where, translator, target, statement)
    alias = target.source.alias

    def head(source: str) -> Node:
        return sql("DELETE FROM {} AS {}", source, alias)

    search = None if cursor else _search(target, (), where)
    change = Change(
        Verb.DELETE,
        Composed(sql("{}{}", head(target.table.source), where)),
        target.table,
        cursor,
        (),
        search,
        context.locked_tables,
        (Event(TriggerEvent.DELETE),),
    )
    change = _by_rowid(change, head, where, alias, statement, context)
    types = (StatementType.DELETE, StatementType.DELETE_CURRENT, StatementType.DELETE_ALL)
    return finished(types[type_], change, statement, context)


def activating(change: Change, by_row: ByRow, context: Context, written: Written | None = None) -> Change:
    """The change, which is run row by row if it activates triggers, or if its rows may be filtered.

    Args:
        written: see `filtering`.
    """
    if is_filtered(change.table, change.verb, context.schema):
        return filtering(change, by_row, written, context)
    for event in change.events:
        if any(trigger.is_fired_by(event.kind, event.columns) for trigger in change.table.triggers):
            return replace(change, by_row=by_row)
    return change


def bound_row(table: Table, names: Sequence[str]) -> tree.Query:
    """The values of a row of `ByRow.search` in an INSERT into columns, of which one may be ROWID."""
    values = [(Parameter(number), table.column(name)) for number, name in enumerate(names, start=1)]
    return query_sql(
        "VALUES ({})",
        listed(_required(value, column, table) if column else value for value, column in values),
    )


def _by_rowid(
    change: Change, head: Written, where: Piece, alias: str, statement: nodes.Node, context: Context
) -> Change:
    """An UPDATE or DELETE that consists of *head* and *where*, as `activating`."""
    table = change.table
    if not table.triggers and not is_filtered(table, change.verb, context.schema):
        return change
    width = nodes.bound_count(statement)
    rowid = unquoted(alias, "rowid")
    search = query_sql("SELECT {} FROM {}{}", rowid, stored_rows(table, alias), where)

    def written(source: str) -> Node:
        return sql("{} WHERE {} = {}", head(source), rowid, Parameter(width + 1))

    by_row = ByRow(Composed(search), Composed(written(table.source)), width)
    return activating(change, by_row, context, None if change.verb is Verb.DELETE else written)


def _where(
    where: nodes.Expression | nodes.CurrentOf | None,
    translator: Expressions,
    target: Target,
    statement: nodes.Node,
) -> tuple[Piece, str, int]:
    """The WHERE clause, the cursor of CURRENT OF, and 0, 1 or 2: with a condition, with a cursor, without either."""
    if isinstance(where, nodes.CurrentOf):
        number = nodes.bound_count(statement) + 1
        row = sql(" WHERE {} = {}", unquoted(target.source.alias, "rowid"), Parameter(number))
        return row, where.cursor.text, 1
    conditions = list(target.filters)
    if where is not None:
        conditions.append(translator.condition(where))
    clause: Piece = sql(" WHERE {}", logic("AND", conditions)) if conditions else ""
    return clause, "", 0 if where is not None else 2
