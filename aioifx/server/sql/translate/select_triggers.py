"""Which SELECT triggers a query activates, and the rows for their actions. Never: the actions, running them.

Source: documented (Guide to SQL: Syntax, "SELECT Event", "Circumstances When a Select Trigger Is Activated" and ".. Not
Activated"; Guide to SQL: Tutorial, "Select triggers"). A query activates those of the columns in its select list, also
in those of its views, of table expressions in FROM, and of subqueries in its select list, for each row that it returns.
None is activated by set operators, DISTINCT, aggregates and OLAP windows, INSERT .. SELECT, scroll cursors, subqueries
in WHERE and HAVING, or in actions of another trigger. The Tutorial says that a table expression activates none.

assumed: GROUP BY activates none, as DISTINCT; the columns of a view are those in its own select list; a row that an
outer join fills with NULLs, and a condition of the select list with a subquery activate none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import ByRow, Change, Event, Verb
from aioifx.server.sql.model.schema import Table, TableKind, TriggerEvent
from aioifx.server.sql.sqlite import tree
from aioifx.server.sql.sqlite.render import Composed
from aioifx.server.sql.sqlite.tree import EMPTY, NULL
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.scopes import MAIN, ROWID, Context, view_statement
from aioifx.server.sql.translate.select import Place, QueryTranslator

_HIDDEN: Final = "ifx_selected"
"""The name of a column with the rowid of a row inside a view or table expression, and of one without a name."""
_QUERIES: Final = (nodes.Subquery, nodes.MultisetQuery, nodes.Exists, nodes.InQuery, nodes.Quantified)


class _Selected(NamedTuple):
    """A table whose rows a query selects."""

    table: Table
    columns: tuple[str, ...]
    """The columns in a select list."""
    rowid: nodes.Expression
    """The rowid of its row, in the query or item of FROM that comes with it."""


def selection(query: nodes.Query, context: Context) -> tuple[Change, ...]:
    """The runs of the triggers that a query activates, one for each table.

    Raises:
        SqlError: -999, it may activate one, and its rows are those of WITH, CONNECT BY or a FULL JOIN, are put INTO
            TEMP, or are elements of a MULTISET.
    """
    if not any(_has_trigger(table) for table in context.tables.values()):
        return ()
    found: dict[int, list[tuple[_Selected, nodes.Query]]] = {}
    for selected, keyed in _selected(query, context):
        if any(
            trigger.is_fired_by(TriggerEvent.SELECT, selected.columns) for trigger in selected.table.triggers
        ):
            found.setdefault(selected.table.tabid, []).append((selected, keyed))
    if found and query.into_temp is not None:
        raise _refusal(query)
    return tuple(_run(each, context) for each in found.values())


def _has_trigger(table: Table) -> bool:
    return any(each.event is TriggerEvent.SELECT and not each.is_disabled for each in table.triggers)


def _refusal(node: nodes.Node) -> SqlError:
    return SqlError(-999, token="SELECT TRIGGER", offset=node.offset)


# -- the rows of a query -----------------------------------------------------------------------------------------------


def _selected(query: nodes.Query, context: Context) -> Iterator[tuple[_Selected, nodes.Query]]:
    """The tables with triggers whose rows a query selects, each with the query whose tables have the rowid."""
    body = query.body
    if not isinstance(body, nodes.Select) or body.is_distinct or body.group_by:
        return
    inside = [each for item in body.items for each in _of_block(item.expression)]
    if any(isinstance(each, nodes.Aggregate | nodes.Window) for each in inside):
        return
    if body.hierarchy is not None or query.common_tables:
        if any(_has_trigger(table) for table in context.tables.values()):
            raise _refusal(query)
        return
    for index in range(len(body.from_items)):
        for item, found in _in_from(body.from_items[index], inside, len(_tables(body)) == 1, context):
            items = (*body.from_items[:index], item, *body.from_items[index + 1 :])
            yield found, replace(query, body=replace(body, from_items=items))
    for each in inside:
        if isinstance(each, nodes.MultisetQuery) and [*_selected(each.query, context)]:
            raise _refusal(each)
        if isinstance(each, nodes.Subquery):
            yield from ((found, query) for found in _in_list(each, context))


def _of_block(expression: nodes.Node) -> Iterator[nodes.Node]:
    """The node and those below it, except inside subqueries and except conditions with subqueries."""
    yield expression
    if not isinstance(expression, _QUERIES):
        for each in nodes.children(expression):
            yield from _of_block(each)


def _in_list(subquery: nodes.Subquery, context: Context) -> Iterator[_Selected]:
    """The tables of a subquery of the select list: the rowid is the value of the same subquery for it."""
    for found, query in _selected(subquery.query, context):
        if any(isinstance(order.expression, nodes.Number) for order in query.order_by):
            raise _refusal(subquery)
        assert isinstance(query.body, nodes.Select)
        body = replace(query.body, items=(nodes.SelectItem(subquery.offset, found.rowid),))
        yield found._replace(rowid=replace(subquery, query=replace(query, body=body)))


def _in_from(
    item: nodes.FromItem, inside: Sequence[nodes.Node], is_only: bool, context: Context
) -> Iterator[tuple[nodes.FromItem, _Selected]]:
    """The tables of an item of FROM, each with the item in which their rowids are."""
    match item:
        case nodes.Join(kind="full"):  # its tables have no rowid
            if any([*_in_from(side, inside, False, context)] for side in (item.left, item.right)):
                raise _refusal(item)
        case nodes.Join():
            for part, found in _in_from(item.left, inside, False, context):
                yield replace(item, left=part), found
            for part, found in _in_from(item.right, inside, False, context):
                yield replace(item, right=part), found
        case nodes.OuterTables():
            for index, each in enumerate(item.items):
                for part, found in _in_from(each, inside, False, context):
                    yield replace(item, items=(*item.items[:index], part, *item.items[index + 1 :])), found
        case nodes.TableRef():
            yield from _in_table(item, inside, is_only, context)
        case nodes.DerivedTable():
            yield from _in_derived(item, context)
        case _:
            pass


def _in_table(
    item: nodes.TableRef, inside: Sequence[nodes.Node], is_only: bool, context: Context
) -> Iterator[tuple[nodes.FromItem, _Selected]]:
    table = context.table(item.table)
    if table.catalog not in MAIN or table.is_system:
        return  # documented: none of a remote table
    label = item.alias or nodes.Name(item.offset, item.table.name)
    if table.kind is TableKind.VIEW:
        names = tuple(nodes.Name(item.offset, column.name) for column in table.columns)
        view = nodes.DerivedTable(item.offset, view_statement(table).query, label, names)
        yield from _in_derived(view, context)
    elif _has_trigger(table):
        columns = _columns(table, inside, label.text, is_only)
        if columns:
            yield item, _Selected(table, columns, _column(item.offset, label.text, ROWID))


def _in_derived(item: nodes.DerivedTable, context: Context) -> Iterator[tuple[nodes.FromItem, _Selected]]:
    """The tables of a view or table expression, which gets another column with the rowid.

    Raises:
        SqlError: -999, its columns are named, and ``*`` has the column of another one in it, too.
    """
    label, hidden = item.alias or nodes.Name(item.offset, _HIDDEN), nodes.Name(item.offset, _HIDDEN)
    for found, query in _selected(item.query, context):
        assert isinstance(query.body, nodes.Select)
        has_star = any(isinstance(each.expression, nodes.Star) for each in query.body.items)
        if item.columns and has_star and query.body.from_items != _from_items(item.query):
            raise _refusal(item)
        rowid = nodes.SelectItem(item.offset, found.rowid, hidden)
        query = replace(query, body=replace(query.body, items=(*query.body.items, rowid)))
        columns = (*item.columns, hidden) if item.columns else ()
        derived = replace(item, query=query, alias=label, columns=columns)
        yield derived, found._replace(rowid=_column(item.offset, label.text, _HIDDEN))


def _from_items(query: nodes.Query) -> tuple[nodes.FromItem, ...]:
    assert isinstance(query.body, nodes.Select)
    return query.body.from_items


def _column(offset: int, table: str, name: str) -> nodes.Column:
    return nodes.Column(offset, name, nodes.QualifiedName(offset, table))


def _tables(body: nodes.Select) -> list[nodes.Node]:
    """The tables, views and other items of FROM, those of joins one by one."""
    return [
        each
        for item in body.from_items
        for each in _of_block(item)
        if isinstance(
            each,
            nodes.TableRef
            | nodes.DerivedTable
            | nodes.CollectionTable
            | nodes.ElementTable
            | nodes.RoutineTable,
        )
    ]


def _columns(table: Table, inside: Sequence[nodes.Node], label: str, is_only: bool) -> tuple[str, ...]:
    """The columns of the table that a select list names."""
    stars = [each for each in inside if isinstance(each, nodes.Star)]
    if any(each.table is None or each.table.name == label for each in stars):
        return tuple(column.name for column in table.columns)
    named = {
        each.name
        for each in inside
        if isinstance(each, nodes.Column) and (each.table is None or each.table.name == label or is_only)
    }
    return tuple(column.name for column in table.columns if column.name in named)


# -- the run of the actions --------------------------------------------------------------------------------------------


def _run(found: Sequence[tuple[_Selected, nodes.Query]], context: Context) -> Change:
    """A change in which nothing runs but the actions, for the old values of each row."""
    table = found[0][0].table
    named = {name for selected, _ in found for name in selected.columns}
    columns = tuple(column.name for column in table.columns if column.name in named)
    searches = [_search(*each, context) for each in found]
    search = searches[0]
    for each in searches[1:]:
        search = tree.query_sql("{} UNION ALL {}", search, each)
    nothing = Composed(EMPTY)
    by_row = ByRow(Composed(search), nothing, is_instead=True)
    return Change(Verb.UPDATE, nothing, table, events=(Event(TriggerEvent.SELECT, columns),), by_row=by_row)


def _search(selected: _Selected, query: nodes.Query, context: Context) -> tree.Query:
    table = selected.table
    assert isinstance(query.body, nodes.Select)
    rowid = nodes.SelectItem(query.offset, selected.rowid)
    keyed = replace(query, body=replace(query.body, items=(*query.body.items, rowid)))
    relation = QueryTranslator(context).query(keyed, None, Place.STATEMENT)
    values = [*(tree.unquoted("t", column.name) for column in table.columns), *[NULL] * len(table.columns)]
    return tree.query_sql(
        "SELECT {} FROM ({}) AS k CROSS JOIN {} AS t ON t.rowid = {}",
        tree.listed(values),
        relation.query(),
        table.source,
        tree.unquoted("k", len(relation.outputs)),
    )
