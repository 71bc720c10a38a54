"""INSERT, UPDATE, DELETE, TRUNCATE -> Plans. Never: how an expression is translated, how a violation is reported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import ByRow, Change, Event, Plan, Verb
from aioifx.server.sql.model.schema import ColumnDef, Table, TriggerEvent
from aioifx.server.sql.model.type_rules import Family, family_of, is_large
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.expressions import Expressions
from aioifx.server.sql.translate.large_objects import NOT_LARGE, check_large
from aioifx.server.sql.translate.scopes import Context, Scope
from aioifx.server.sql.translate.select import Place, QueryTranslator
from aioifx.server.sql.translate.select_plan import finished
from aioifx.server.sql.translate.sqlite_text import identifier, string
from aioifx.server.sql.translate.typed import NULL, Typed, assigned
from aioifx.server.sql.translate.views import Target, checked, require_writable, target_of
from aioifx.sqltypes import Column
from aioifx.wire.opcodes import StatementType

_Set: TypeAlias = tuple[tuple[str, ...], str, str]
"""The columns that are assigned, the SQLite text of the value, and a text with one value that reads the same rows."""

_SIDE_EFFECTS: Final = (
    "ifx_nextval",
    "ifx_object_of",
    "ifx_filetoblob",
    "ifx_locopy",
    "ifx_lotofile",
    "ifx_keep",
)
"""Functions that a text must not call when it is run only to test locks."""

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
            change = Change(Verb.DELETE, f"DELETE FROM {table.source}", table)
            return finished(StatementType.TRUNCATE, change, statement, context)


def writable(name: nodes.QualifiedName, context: Context) -> Table:
    """The table of a name, if its rows may be changed.

    Raises:
        SqlError: -511 a catalog table, -999 a view or a table of another database.
    """
    return require_writable(context.table(name), name)


def stored(value: Typed, column: ColumnDef, table: Table) -> str:
    """SQLite text of the value stored in a column: converted, and refused if it is NULL in a NOT NULL column."""
    if family_of(column.type) is Family.OTHER:
        raise SqlError(-999, token=str(column.type))
    if is_large(column.type) or (value.type is not None and is_large(value.type)):
        check_large(value, column.type)
    text = assigned(value, column.type)
    if column.is_nullable or column.is_serial or value.constant is not None:
        return text
    if column.is_declared_not_null:
        return f"ifx_required({text}, {string(column.name)}, {_NULL_INTO_COLUMN})"
    return f"ifx_required({text}, {string(table.name)}, {_NULL_INTO_PRIMARY_KEY})"


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
        texts, rows, search = self._values(targets) if self.node.values is not None else self._rows(targets)
        names = [column.name for column in targets]
        for column, text in left_out(table, targets):
            names.append(column.name)
            texts.append(text)
        head = f"INSERT INTO {table.source} ({', '.join(identifier(name) for name in names)})"
        body = self._body(names, texts, rows)
        event = Event(TriggerEvent.INSERT, tuple(column.name for column in targets))
        each = f"{head} VALUES ({values_text(len(names))})"
        by_row = ByRow(body, each) if rows else ByRow("", f"{head} {body}")
        change = Change(
            Verb.INSERT, f"{head} {body}", table, search=search, locked_tables=self.context.locked_tables
        )
        change = activating(replace(change, events=(event,)), by_row)
        described = _described(self.target.shown(targets))
        return finished(StatementType.INSERT, change, self.node, self.context, described)

    def _body(self, names: Sequence[str], texts: Sequence[str], rows: str) -> str:
        """VALUES or SELECT; rows are computed in full before WITH CHECK OPTION is checked."""
        alias = self.context.alias()
        numbers = range(1, len(texts) + 1)
        new = dict.fromkeys((column.name for column in self.target.table.columns), "NULL")
        new |= {name: f"{alias}.c{number}" for name, number in zip(names, numbers, strict=True)}
        conditions = self.target.checks(new)
        if not conditions:
            return f"SELECT {', '.join(texts)} FROM {rows}" if rows else f"VALUES ({', '.join(texts)})"
        made = ", ".join(f"{text} AS c{number}" for text, number in zip(texts, numbers, strict=True))
        made += f" FROM {rows}" if rows else ""
        columns = ", ".join(f"{alias}.c{number}" for number in numbers)
        return f"SELECT {columns} FROM (SELECT {made} LIMIT -1) AS {alias} WHERE {checked('1', conditions)}"

    def _values(self, targets: Sequence[ColumnDef]) -> tuple[list[str], str, str]:
        values = self.node.values or ()
        if len(values) != len(targets):
            raise SqlError(-236)
        translator = Expressions(self.context, Scope(), QueryTranslator(self.context), sequences=0)
        pairs = zip(targets, values, strict=True)
        assigned = [(column, assigned_value(translator, column, value)) for column, value in pairs]
        search = searching([value.sql for _, value in assigned])
        texts = [inserted(column, value, self.target.table) for column, value in assigned]
        return texts, "", f"SELECT {search}" if search else ""

    def _rows(self, targets: Sequence[ColumnDef]) -> tuple[list[str], str, str]:
        assert self.node.query is not None
        relation = QueryTranslator(self.context).query(self.node.query, None, Place.INSERT)
        if len(relation.outputs) != len(targets):
            raise SqlError(-236)
        alias = self.context.alias()
        texts = [
            inserted(column, Typed(f"{alias}.c{number}", output.type), self.target.table)
            for number, (column, output) in enumerate(zip(targets, relation.outputs, strict=True), start=1)
        ]
        return texts, f"({relation.text()}) AS {alias}", relation.text()


def searching(values: Sequence[str]) -> str:
    """Those of the assigned values that contain queries, for `Change.search`; without those that have side effects."""
    return ", ".join(text for text in values if "SELECT " in text and not has_side_effects(text))


def has_side_effects(text: str) -> bool:
    """Whether SQLite text, when it is evaluated, changes more than the rows of its statement."""
    return any(f"{name}(" in text for name in _SIDE_EFFECTS)


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


def inserted(column: ColumnDef, value: Typed, table: Table) -> str:
    """SQLite text of a new row's value in a column."""
    text = stored(value, column, table)
    return f"ifx_serial({string(column.name)}, {text})" if column.is_serial else text


def left_out(table: Table, targets: Sequence[ColumnDef]) -> Iterator[tuple[ColumnDef, str]]:
    """The columns that an INSERT does not name and that still get a value."""
    for column in table.columns:
        if column in targets:
            continue
        if column.is_serial:
            yield column, f"ifx_serial({string(column.name)}, 0)"
        elif column.default is not None:
            default = Typed(column.default.sql, column.type, column.default.sql == "NULL")
            yield column, stored(default, column, table)
        elif not column.is_nullable:
            yield column, stored(NULL, column, table)


def assigned_value(translator: Expressions, column: ColumnDef, node: nodes.Expression) -> Typed:
    """The value assigned to a column; a ``?`` has the column's type."""
    if isinstance(node, nodes.Parameter):
        sql = translator.context.parameter(node, column.type, column=column.name)
        return Typed(sql, column.type, is_parameter=True)
    value = translator.any_value(node, column.type)
    if family_of(column.type) is Family.SIMPLE_LARGE and isinstance(node, nodes.Subquery):
        raise SqlError(NOT_LARGE, offset=node.offset)  # observed: 14.10
    return value


# --- UPDATE -----------------------------------------------------------------------------------------------------------


def _update(statement: nodes.Update, context: Context) -> Plan:
    target, translator = _changed(statement.table, context)
    table, alias = target.table, target.source.alias
    columns: list[ColumnDef] = []
    texts: list[_Set] = []
    # A value checked by WITH CHECK OPTION occurs twice in the statement, so it must not contain NEXTVAL.
    numbering = replace(translator, sequences=-999 if target.checks({}) else 0)
    for assignment in statement.assignments:
        targets = _updated_columns(target, assignment)
        columns += targets
        texts += _assignment_texts(numbering, assignment, targets, table)
    sql = f"UPDATE {table.source} AS {alias} SET {', '.join(_checked(target, texts, statement))}"
    where, cursor, type_ = _where(statement.where, translator, target, statement)
    names = tuple(column.name for column in columns)
    change = Change(
        Verb.UPDATE,
        sql + where,
        table,
        cursor,
        names,
        not where,
        "" if cursor else _search(target, [read for *_, read in texts], where),
        context.locked_tables,
        (Event(TriggerEvent.UPDATE, names),),
    )
    change = _by_rowid(change, sql, where, alias, statement)
    types = (StatementType.UPDATE, StatementType.UPDATE_CURRENT, StatementType.UPDATE_ALL)
    return finished(types[type_], change, statement, context, _described(target.shown(columns)))


def _search(target: Target, values: Sequence[str], where: str) -> str:
    """The SELECT of the rows that an UPDATE or DELETE changes."""
    alias = target.source.alias
    queries = searching(values)
    return f"SELECT {alias}.rowid{', ' + queries if queries else ''} FROM {target.table.source} AS {alias}{where}"


def _changed(reference: nodes.TableRef, context: Context) -> tuple[Target, Expressions]:
    """The target of UPDATE or DELETE, and the translator of its conditions."""
    label = reference.alias.text if reference.alias else reference.table.name
    queries = QueryTranslator(context)
    target = target_of(reference.table, label, context, queries)
    return target, Expressions(context, Scope([target.source]), queries)


def _checked(target: Target, texts: Sequence[_Set], statement: nodes.Update) -> list[str]:
    """The SET clause; the conditions of WITH CHECK OPTION precede its first value.

    Raises:
        SqlError: -999, there are such conditions, and a query gives several values at once.
    """
    conditions = target.checks({names[0]: text for names, text, _ in texts})
    if conditions and any(len(names) > 1 for names, *_ in texts):
        raise SqlError(-999, token="WITH CHECK OPTION", offset=statement.offset)
    (first_names, first, _), *others = texts
    return [_set(first_names, checked(first, conditions)), *(_set(names, text) for names, text, _ in others)]


def _set(names: tuple[str, ...], text: str) -> str:
    columns = ", ".join(identifier(name) for name in names)
    return f"{columns if len(names) == 1 else f'({columns})'} = {text}"


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


def _assignment_texts(
    translator: Expressions, assignment: nodes.Assignment, columns: Sequence[ColumnDef], table: Table
) -> Iterator[_Set]:
    """One text for each value; ``(SELECT ..)`` for a query that sets several columns.

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
        text = stored(assigned_value(translator, mine[0], value), mine[0], table)
        yield (mine[0].name,), text, text
    if left:
        raise SqlError(-505)


def assignment_values(
    translator: Expressions, assignments: Sequence[nodes.Assignment], target: Target
) -> Iterator[tuple[str, str]]:
    """Name and SQLite text for each column of a SET clause in which each value is for one column.

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
    texts: list[str] = []
    for number, (column, output) in enumerate(zip(columns, relation.outputs, strict=True), start=1):
        texts.append(stored(Typed(f"ifx_single(c{number})", output.type), column, table))
    names = tuple(column.name for column in columns)
    rows = f" FROM ({relation.text()}))"
    return (
        names,
        f"(SELECT {', '.join(texts)}{rows}",
        f"(SELECT {' || '.join(f'quote({text})' for text in texts)}{rows}",
    )


# --- DELETE -----------------------------------------------------------------------------------------------------------


def _delete(statement: nodes.Delete, context: Context) -> Plan:
    target, translator = _changed(statement.table, context)
    where, cursor, type_ = _where(statement.where, translator, target, statement)
    sql = f"DELETE FROM {target.table.source} AS {target.source.alias}"
    search = "" if cursor else _search(target, (), where)
    change = Change(
        Verb.DELETE,
        sql + where,
        target.table,
        cursor,
        (),
        not where,
        search,
        context.locked_tables,
        (Event(TriggerEvent.DELETE),),
    )
    change = _by_rowid(change, sql, where, target.source.alias, statement)
    types = (StatementType.DELETE, StatementType.DELETE_CURRENT, StatementType.DELETE_ALL)
    return finished(types[type_], change, statement, context)


def activating(change: Change, by_row: ByRow) -> Change:
    """The change, which is run row by row if it activates triggers."""
    for event in change.events:
        if any(trigger.is_fired_by(event.kind, event.columns) for trigger in change.table.triggers):
            return replace(change, by_row=by_row)
    return change


def values_text(width: int) -> str:
    """The values of a row of `ByRow.search` in an INSERT."""
    return ", ".join(f"?{number}" for number in range(1, width + 1))


def _by_rowid(change: Change, head: str, where: str, alias: str, statement: nodes.Node) -> Change:
    """An UPDATE or DELETE whose text is *head* and *where*, as `activating`."""
    if not change.table.triggers:
        return change
    width = nodes.bound_count(statement)
    search = f"SELECT {alias}.rowid FROM {change.table.source} AS {alias}{where}"
    return activating(change, ByRow(search, f"{head} WHERE {alias}.rowid = ?{width + 1}", width))


def _where(
    where: nodes.Expression | nodes.CurrentOf | None,
    translator: Expressions,
    target: Target,
    statement: nodes.Node,
) -> tuple[str, str, int]:
    """The WHERE clause, the cursor of CURRENT OF, and 0, 1 or 2: with a condition, with a cursor, without either."""
    if isinstance(where, nodes.CurrentOf):
        number = nodes.bound_count(statement) + 1
        return f" WHERE {target.source.alias}.rowid = ?{number}", where.cursor.text, 1
    conditions = list(target.filters)
    if where is not None:
        conditions.append(translator.condition(where))
    return f" WHERE {' AND '.join(conditions)}" if conditions else "", "", 0 if where is not None else 2
