"""CREATE TRIGGER and DROP TRIGGER -> Plans; a trigger's actions -> TriggerPlan; changes of views. Never: firing.

Source: documented (Guide to SQL: Syntax, CREATE TRIGGER statement; finderr for the codes). The values of columns are
Variables: first all old values in the order of the columns, then all new ones.

The actions of INSTEAD OF triggers on a view run for each row, instead of the statement (documented, same place).
assumed: a column that an INSERT does not name is NULL.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model import plan as plans
from aioifx.server.sql.model.schema import ColumnDef, Schema, Table, TableKind, Trigger, TriggerEvent
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.sqlite.render import Composed, identifier
from aioifx.server.sql.sqlite.tree import (
    EMPTY,
    NULL,
    Node,
    Parameter,
    Piece,
    listed,
    query_sql,
    sql,
    unquoted,
)
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.parser import parse
from aioifx.server.sql.translate.dml import assigned_value, dml_plan, stored, targets_of
from aioifx.server.sql.translate.expressions import Expressions
from aioifx.server.sql.translate.filtering import require_no_violations_table
from aioifx.server.sql.translate.routines import execution
from aioifx.server.sql.translate.scopes import MAIN, Context, Scope, Source, view_statement
from aioifx.server.sql.translate.select import Place, QueryTranslator
from aioifx.server.sql.translate.select_plan import finished
from aioifx.server.sql.translate.typed import Typed, assigned
from aioifx.server.sql.translate.variables import expression_with_variables, with_variables
from aioifx.server.sql.translate.views import table_target
from aioifx.sqltypes import Column, SqlType
from aioifx.wire.opcodes import StatementType

_Statement: TypeAlias = nodes.Insert | nodes.Update | nodes.Delete


def change_plan(statement: _Statement | nodes.Truncate, context: Context) -> plans.Plan:
    """The plan of a DML statement on a table or view."""
    if isinstance(statement, nodes.Truncate):
        return dml_plan(statement, context)
    name = statement.table.table if isinstance(statement.table, nodes.TableRef) else statement.table
    table = context.table(name)
    event = _FIRED[type(statement)]
    has_trigger = any(each.is_fired_by(event, ()) for each in table.triggers)
    if table.kind is not TableKind.VIEW or not has_trigger:
        return dml_plan(statement, context)
    match statement:
        case nodes.Insert():
            return _inserting(statement, table, context)
        case nodes.Update():
            return _updating(statement, table, context)
        case nodes.Delete():
            rows = _rows(statement, table, {}, context)
            type_ = StatementType.DELETE if statement.where is not None else StatementType.DELETE_ALL
            return finished(
                type_, _change(plans.Verb.DELETE, TriggerEvent.DELETE, table, rows), statement, context
            )


_FIRED: Final[dict[type[nodes.Node], TriggerEvent]] = {
    nodes.Insert: TriggerEvent.INSERT,
    nodes.Update: TriggerEvent.UPDATE,
    nodes.Delete: TriggerEvent.DELETE,
}


def _change(
    verb: plans.Verb, event: TriggerEvent, view: Table, rows: Node, columns: Sequence[ColumnDef] = ()
) -> plans.Change:
    names = tuple(column.name for column in columns)
    nothing = Composed(EMPTY)
    by_row = plans.ByRow(Composed(rows), nothing, is_instead=True)
    return plans.Change(
        verb, nothing, view, update_columns=names, events=(plans.Event(event, names),), by_row=by_row
    )


def _described(columns: Iterable[ColumnDef]) -> tuple[Column, ...]:
    return tuple(Column(column.name, column.type, column.is_nullable) for column in columns)


def _inserting(node: nodes.Insert, view: Table, context: Context) -> plans.Plan:
    targets = targets_of(table_target(view, Source(view.name, "", ())), node.columns, node.offset)
    queries = QueryTranslator(context)
    rows: Piece = ""
    if node.values is not None:
        translator = Expressions(context, Scope(), queries, sequences=0)
        values = [assigned_value(translator, *pair) for pair in zip(targets, node.values, strict=False)]
        count = len(node.values)
    else:
        assert node.query is not None
        relation = queries.query(node.query, None, Place.INSERT)
        alias, count = context.alias(), len(relation.outputs)
        values = [
            Typed(unquoted(alias, number), out.type) for number, out in enumerate(relation.outputs, start=1)
        ]
        rows = sql(" FROM ({}) AS {}", relation.query(), alias)
    if count != len(targets):
        raise SqlError(-236)
    made = {column.name: assigned(value, column.type) for column, value in zip(targets, values, strict=True)}
    new = [made.get(column.name, NULL) for column in view.columns]
    search = query_sql("SELECT {}{}", listed([*[NULL] * len(new), *new]), rows)
    change = _change(plans.Verb.INSERT, TriggerEvent.INSERT, view, search, targets)
    return finished(StatementType.INSERT, change, node, context, _described(targets))


def _updating(node: nodes.Update, view: Table, context: Context) -> plans.Plan:
    new: dict[str, nodes.Expression] = {}
    for assignment in node.assignments:
        names = assignment.columns or tuple(nodes.Name(node.offset, each.name) for each in view.columns)
        if len(names) != len(assignment.values):
            raise SqlError(-505)
        for name, value in zip(names, assignment.values, strict=True):
            column = view.column(name.text)
            if column is None:
                raise SqlError(-217, token=name.text, offset=name.offset)
            is_parameter = isinstance(value, nodes.Parameter)
            new[name.text] = nodes.Cast(value.offset, value, column.type) if is_parameter else value
    columns = [column for column in view.columns if column.name in new]
    rows = _rows(node, view, new, context)
    type_ = StatementType.UPDATE if node.where is not None else StatementType.UPDATE_ALL
    change = _change(plans.Verb.UPDATE, TriggerEvent.UPDATE, view, rows, columns)
    return finished(type_, change, node, context, _described(columns))


def _rows(
    node: nodes.Update | nodes.Delete, view: Table, new: dict[str, nodes.Expression], context: Context
) -> Node:
    """The SELECT of the old values of the rows and, for UPDATE, of the new ones.

    Raises:
        SqlError: -999, WHERE CURRENT OF.
    """
    if isinstance(node.where, nodes.CurrentOf):
        raise SqlError(-999, token="CURRENT OF", offset=node.where.offset)
    label = nodes.QualifiedName(
        node.offset, node.table.alias.text if node.table.alias else node.table.table.name
    )
    old = [nodes.Column(node.offset, column.name, label) for column in view.columns]
    values = [new.get(column.name, each) for column, each in zip(view.columns, old, strict=True)]
    items = [*old, *values] if isinstance(node, nodes.Update) else old
    select = nodes.Select(
        node.offset,
        tuple(nodes.SelectItem(node.offset, each, None) for each in items),
        (node.table,),
        node.where,
    )
    relation = QueryTranslator(context).query(nodes.Query(node.offset, select), None, Place.STATEMENT)
    alias = context.alias()
    made = [
        assigned(Typed(unquoted(alias, number), output.type), column.type)
        for number, (output, column) in enumerate(
            zip(relation.outputs, view.columns * 2, strict=False), start=1
        )
    ]
    nulls = [NULL] * (2 * len(old) - len(items))
    return query_sql("SELECT {} FROM ({}) AS {}", listed([*made, *nulls]), relation.query(), alias)


_NO_NAME: Final = " "
"""In place of a correlation name that is not given: no name of SQL."""
_EVENTS: Final = {
    "insert": TriggerEvent.INSERT,
    "update": TriggerEvent.UPDATE,
    "delete": TriggerEvent.DELETE,
    "select": TriggerEvent.SELECT,
}


# -- CREATE and DROP ---------------------------------------------------------------------------------------------------


def create_trigger(node: nodes.CreateTrigger, context: Context) -> plans.Plan:
    """CREATE TRIGGER.

    Raises:
        SqlError: -743 the name exists, -548 on a temporary table, -217 and -542 columns of UPDATE OF. -730, -734 and
            -735 correlation names. -742 DELETE on a table with a cascading key. Others of its actions.
    """
    if context.schema.trigger(node.trigger.name, node.trigger.owner) is not None:
        if node.if_not_exists:
            return plans.Plan(StatementType.CREATE_TRIGGER, plans.Nothing())
        raise SqlError(-743, token=node.trigger.name, offset=node.trigger.offset)
    table = _triggering(node, context)
    trigger = Trigger(
        context.schema.next_trigid,
        node.trigger.name,
        node.trigger.owner or context.settings.user,
        _EVENTS[node.event],
        node.action,
        _columns(node, table),
        node.old.text if node.old else "",
        node.new.text if node.new else "",
        node.is_instead,
        node.is_disabled,
        node.is_delimident,
    )
    _check_names(node, table)
    if trigger.event is TriggerEvent.DELETE and any(key.cascades for key in table.foreign_keys):
        raise SqlError(-742, offset=node.offset)
    _Translator(trigger, table, context.schema, context.settings).plan_of(node)
    changed = replace(table, triggers=(*table.triggers, trigger))
    return plans.Plan(StatementType.CREATE_TRIGGER, plans.Definition((), (plans.PutTable(changed),)))


def _triggering(node: nodes.CreateTrigger, context: Context) -> Table:
    """The table, or for INSTEAD OF the view."""
    table = context.table(node.table)
    if table.is_temp:
        raise SqlError(-548, offset=node.table.offset)
    if table.is_system or table.generated:
        raise SqlError(-511, token=table.name, offset=node.table.offset)
    if table.catalog not in MAIN:
        raise SqlError(-999, token=str(node.table), offset=node.table.offset)
    if table.kind is not (TableKind.VIEW if node.is_instead else TableKind.TABLE):
        raise SqlError(-206, -111, token=table.name, offset=node.table.offset)
    require_no_violations_table(table, node.table.offset, context)
    if table.view:
        if view_statement(table).has_check_option:
            raise SqlError(-999, token="WITH CHECK OPTION", offset=node.table.offset)
    return table


def _columns(node: nodes.CreateTrigger, table: Table) -> tuple[str, ...]:
    names = tuple(name.text for name in node.columns)
    for name in node.columns:
        if table.column(name.text) is None:
            raise SqlError(-217, token=name.text, offset=name.offset)
        if names.count(name.text) > 1:
            raise SqlError(-542, offset=name.offset)
    return names


def _check_names(node: nodes.CreateTrigger, table: Table) -> None:
    given = [name for name in (node.old, node.new) if name is not None]
    if given and not node.each_row:
        raise SqlError(-730, offset=given[0].offset)
    for name in given:
        if name.text == table.name:
            raise SqlError(-734, offset=name.offset)
    if len({name.text for name in given}) < len(given):
        raise SqlError(-734, offset=given[-1].offset)


def drop_trigger(node: nodes.Drop, context: Context) -> plans.Plan:
    """DROP TRIGGER.

    Raises:
        SqlError: -634, no such trigger, and no IF EXISTS.
    """
    found = context.schema.trigger(node.name.name, node.name.owner)
    if found is None:
        if node.if_exists:
            return plans.Plan(StatementType.DROP_TRIGGER, plans.Nothing())
        raise SqlError(-634, offset=node.name.offset)
    table, trigger = found
    kept = tuple(each for each in table.triggers if each is not trigger)
    return plans.Plan(
        StatementType.DROP_TRIGGER, plans.Definition((), (plans.PutTable(replace(table, triggers=kept)),))
    )


# -- actions -----------------------------------------------------------------------------------------------------------


def trigger_plan(trigger: Trigger, table: Table, schema: Schema, settings: Settings) -> plans.TriggerPlan:
    """The actions of a trigger.

    Raises:
        SqlError: an object that an action names does not exist any longer.
    """
    node = parse(f"{trigger.header(table)} {trigger.action}", delimident=trigger.is_delimident)
    assert isinstance(node, nodes.CreateTrigger)
    return _Translator(trigger, table, schema, settings).plan_of(node)


def stored_row(table: Table, numbers: Sequence[int], first: int) -> Composed:
    """The UPDATE of some columns of a row, by number from 0.

    Args:
        first: the number of the parameter with the first value; the rowid is bound after the values.
    """
    values: list[tuple[str, Node]] = []
    for parameter, number in enumerate(numbers, start=first):
        column = table.columns[number]
        if column.is_serial:
            raise SqlError(-232, token=column.name)
        values.append((column.name, stored(Typed(Parameter(parameter), column.type), column, table)))
    return _update(table, values, first + len(numbers))


def _update(table: Table, values: Sequence[tuple[str, Node]], rowid: int) -> Composed:
    """The UPDATE of a row, whose rowid is the parameter with the number *rowid*."""
    settings = listed(sql("{} = {}", identifier(name), value) for name, value in values)
    return Composed(sql("UPDATE {} SET {} WHERE rowid = {}", table.source, settings, Parameter(rowid)))


@dataclass(slots=True)
class _Translator:
    trigger: Trigger
    table: Table
    schema: Schema
    settings: Settings

    def plan_of(self, node: nodes.CreateTrigger) -> plans.TriggerPlan:
        return plans.TriggerPlan(
            self._branches(node.before, is_row=False),
            self._branches(node.each_row, is_row=True),
            self._branches(node.after, is_row=False),
        )

    def _branches(
        self, branches: Sequence[nodes.TriggerBranch], *, is_row: bool
    ) -> tuple[plans.TriggerBranch, ...]:
        return tuple(
            plans.TriggerBranch(
                self._condition(branch.condition, is_row=is_row),
                tuple(self._action(action, is_row=is_row) for action in branch.actions),
            )
            for branch in branches
        )

    def _condition(self, condition: nodes.Expression | None, *, is_row: bool) -> Composed | None:
        if condition is None:
            return None
        self._check(condition)
        types = self._types(is_row=is_row)
        tree, _ = expression_with_variables(condition, types.get, [*types])
        context = self._context(tree)
        translator = Expressions(context, Scope(), QueryTranslator(context))
        return Composed(query_sql("SELECT {}", translator.condition(tree)))

    def _action(self, action: nodes.TriggeredStatement, *, is_row: bool) -> plans.TriggeredAction:
        self._check(action)
        types = self._types(is_row=is_row)
        if not isinstance(action, nodes.TriggeredCall):
            statement, _ = with_variables(action, types.get, [*types])
            change = change_plan(statement, self._context(statement)).action
            assert isinstance(change, plans.Change)
            return plans.TriggeredAction(change)
        if action.has_references and not is_row:
            raise SqlError(-732, offset=action.offset)
        has_no_new = self.trigger.event in (TriggerEvent.DELETE, TriggerEvent.SELECT)
        if action.targets and (not is_row or has_no_new or self.table.view):
            raise SqlError(-732, offset=action.targets[0].offset)
        routine_call, _ = with_variables(action.call, types.get, [*types])
        found, results = self._call(routine_call, self.table if action.has_references else None)
        columns = tuple(name.text for name in action.targets)
        into = self._into(action, results) if columns else None
        return plans.TriggeredAction(found, into, columns, action.has_references)

    def _call(
        self, call: nodes.Execute, table: Table | None
    ) -> tuple[plans.CallRoutine | plans.CallSpl | None, list[Typed]]:
        """The call of a routine, with its results as they are bound; or a built-in function, without a call.

        Source: observed: EXECUTE FUNCTION "informix".lower(n.handle) INTO .. in the output of dbschema
        """
        context = self._context(call)
        plan = execution(call, context, table)
        if isinstance(plan.action, plans.Query):
            arguments = [each for each in call.arguments if not isinstance(each, nodes.NamedArgument)]
            function = nodes.Call(call.offset, replace(call.routine, owner=""), tuple(arguments))
            return None, [Expressions(context, Scope(), QueryTranslator(context)).value(function)]
        assert isinstance(plan.action, plans.CallRoutine | plans.CallSpl)
        first = 2 * len(self.table.columns) + 1
        results = [Typed(Parameter(number), column.type) for number, column in enumerate(plan.columns, first)]
        return plan.action, results

    def _into(self, action: nodes.TriggeredCall, results: Sequence[Typed]) -> Composed:
        """The UPDATE of the columns of INTO by the results of a routine, whose row is bound after those.

        Raises:
            SqlError: -217 no such column, -232 a serial column, -684 and -685 the numbers differ (assumed).
        """
        if len(results) != len(action.targets):
            sqlcode = -684 if len(results) > len(action.targets) else -685
            raise SqlError(sqlcode, token=action.call.routine.name, offset=action.offset)
        values: list[tuple[str, Node]] = []
        for name, result in zip(action.targets, results, strict=True):
            column = self.table.column(name.text)
            if column is None:
                raise SqlError(-217, token=name.text, offset=name.offset)
            if column.is_serial:
                raise SqlError(-232, token=name.text, offset=name.offset)
            values.append((column.name, stored(result, column, self.table)))
        return _update(self.table, values, 2 * len(self.table.columns) + len(results) + 1)

    def _context(self, statement: nodes.Node | None = None) -> Context:
        return Context(self.schema, self.settings, statement=statement)

    def _check(self, node: nodes.Node) -> None:
        """Refuse what an action may not contain.

        Raises:
            SqlError: -201, a ``?`` (documented: no host variables); -217, no such column of the table.
        """
        for each in nodes.walk(node):
            if isinstance(each, nodes.Parameter):
                raise SqlError(-201, offset=each.offset)
            if isinstance(each, nodes.Column) and each.table is not None:
                is_plain = not (each.table.owner or each.table.database)
                is_ours = is_plain and each.table.name in (self.trigger.old, self.trigger.new)
                if is_ours and self.table.column(each.name) is None:
                    raise SqlError(-217, token=each.name, offset=each.offset)

    def _types(self, *, is_row: bool) -> dict[str, SqlType]:
        """The types of ``old.column`` and ``new.column``, in the order in which the values are bound."""
        labels = [self.trigger.old or _NO_NAME, self.trigger.new or 2 * _NO_NAME] if is_row else []
        return {f"{label}.{column.name}": column.type for label in labels for column in self.table.columns}
