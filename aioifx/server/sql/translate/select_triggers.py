"""Which SELECT triggers a query activates, and the rows for their actions. Never: the actions, running them.

Source: documented (Guide to SQL: Syntax, "SELECT Event", "Circumstances When a Select Trigger Is Not Activated"; Guide
to SQL: Tutorial, "Restrictions on execution of Select triggers"). None is activated by set operators, DISTINCT,
aggregates and OLAP windows, INSERT .. SELECT, scroll cursors, subqueries in WHERE and HAVING, or in actions of another
trigger. A query that may activate one is refused if its rows are not those of one table, or if it has subqueries in its
select list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import ByRow, Change, Event, Verb
from aioifx.server.sql.model.schema import Table, TableKind, TriggerEvent
from aioifx.server.sql.sqlite import tree
from aioifx.server.sql.sqlite.render import Composed
from aioifx.server.sql.sqlite.tree import EMPTY, NULL
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.relations import Block, Relation
from aioifx.server.sql.translate.scopes import Context


def selection(query: nodes.Query, relation: Relation, context: Context) -> Change | None:
    """The run of the triggers that a query activates; None if it activates none.

    Raises:
        SqlError: -999, it may activate one, and is not over the rows of one table.
    """
    tables = [table for table in context.tables.values() if _has_trigger(table)]
    body, rows = query.body, relation.rows
    if not tables or not isinstance(body, nodes.Select) or not isinstance(rows, Block) or rows.is_distinct:
        return None
    items = [item.expression for item in body.items]
    walked = [each for item in items for each in nodes.walk(item)]
    refusal = SqlError(-999, token="SELECT TRIGGER", offset=query.offset)
    if any(isinstance(each, nodes.Subquery) for each in walked):
        raise refusal
    if any(isinstance(each, nodes.Aggregate | nodes.Window) for each in walked):
        return None
    if not _is_of_one_table(body, rows):
        raise refusal
    table = rows.sources[0].table
    assert table is not None
    columns = _columns(table, walked)
    if table not in tables or not columns:
        return None
    event = Event(TriggerEvent.SELECT, columns)
    if not any(trigger.is_fired_by(event.kind, columns) for trigger in table.triggers):
        return None
    if rows.is_grouped or query.common_tables or query.into_temp is not None:
        raise refusal
    return _run(table, event, relation, rows)


def _has_trigger(table: Table) -> bool:
    return any(each.event is TriggerEvent.SELECT and not each.is_disabled for each in table.triggers)


def _is_of_one_table(body: nodes.Select, rows: Block) -> bool:
    return (
        len(body.from_items) == len(rows.sources) == 1
        and isinstance(body.from_items[0], nodes.TableRef)
        and rows.sources[0].table is not None
        and rows.sources[0].table.kind is not TableKind.VIEW
        and body.hierarchy is None
    )


def _columns(table: Table, walked: Sequence[nodes.Node]) -> tuple[str, ...]:
    """The columns of the table that a select list names."""
    if any(isinstance(each, nodes.Star) for each in walked):
        return tuple(column.name for column in table.columns)
    named = {each.name for each in walked if isinstance(each, nodes.Column)}
    return tuple(column.name for column in table.columns if column.name in named)


def _run(table: Table, event: Event, relation: Relation, rows: Block) -> Change:
    """A change in which nothing runs but the actions, for the old values of each row."""
    keyed = replace(relation, rows=rows.with_rowid(rows.sources[0].alias)).query()
    found = tree.unquoted("k", len(rows.outputs) + 1)
    values = [*(tree.unquoted("t", column.name) for column in table.columns), *[NULL] * len(table.columns)]
    search = tree.query_sql(
        "SELECT {} FROM ({}) AS k CROSS JOIN {} AS t ON t.rowid = {}",
        tree.listed(values),
        keyed,
        table.source,
        found,
    )
    nothing = Composed(EMPTY)
    by_row = ByRow(Composed(search), nothing, is_instead=True)
    return Change(Verb.UPDATE, nothing, table, events=(event,), by_row=by_row)
