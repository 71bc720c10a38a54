"""MERGE -> a Plan of one SQLite statement. Never: separate INSERT, UPDATE and DELETE.

The rows of source and target are joined. Each result is a whole new row of the target, with the rowid of the row
that it matches. SQLite inserts it, or updates if the rowid exists (documented: SQLite, "UPSERT").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from aioifx.server.sql.builtin_types import BYTE, TEXT
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import ByRow, Change, Event, Plan, Verb
from aioifx.server.sql.model.schema import Table, TriggerEvent
from aioifx.server.sql.sqlite import tree
from aioifx.server.sql.sqlite.render import Composed, identifier
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.dml import (
    activating,
    assigned_value,
    assignment_values,
    bound_row,
    inserted,
    left_out,
    searching,
    targets_of,
    writable,
)
from aioifx.server.sql.translate.expressions import Expressions
from aioifx.server.sql.translate.from_clause import FromClause
from aioifx.server.sql.translate.large_objects import NOT_LARGE
from aioifx.server.sql.translate.scopes import Context, Scope, Source, stored_rows
from aioifx.server.sql.translate.select import QueryTranslator
from aioifx.server.sql.translate.select_plan import finished
from aioifx.server.sql.translate.views import table_target
from aioifx.wire.opcodes import StatementType


def merge_plan(node: nodes.Merge, context: Context) -> Plan:
    """MERGE.

    Raises:
        SqlError: -999, it both deletes and inserts; others for invalid names and types.
    """
    if node.has_delete and node.insert is not None:
        raise SqlError(-999, token="MERGE", offset=node.offset)
    merge = _Merge(context, node, writable(node.target.table, context))
    return finished(StatementType.MERGE, merge.change(), node, context)


@dataclass(slots=True)
class _Merge:
    context: Context
    node: nodes.Merge
    table: Table

    def change(self) -> Change:
        label = self.node.target.alias.text if self.node.target.alias else self.table.name
        target = self.context.source(self.table, label)
        queries = QueryTranslator(self.context)
        self._refuse_large_parameters()
        source_scope = Scope()
        source = FromClause(self.context, source_scope, queries).joined([self.node.source], None)
        both = Expressions(self.context, Scope([target, *source_scope.sources]), queries)
        matched = stored_rows(self.table, target.alias)
        partners = tree.sql("JOIN {} ON {}", matched, both.condition(self.node.condition))
        if self.node.has_delete:
            rows = tree.query_sql(
                "SELECT {} FROM {} {}", tree.unquoted(target.alias, "rowid"), source, partners
            )
            head = tree.sql("DELETE FROM {} WHERE rowid", self.table.source)
            width = nodes.bound_count(self.node)
            by_row = ByRow(
                Composed(tree.query_sql("SELECT DISTINCT * FROM ({})", rows)),
                Composed(tree.sql("{} = {}", head, tree.Parameter(width + 1))),
                width,
            )
            change = Change(
                Verb.DELETE,
                Composed(tree.sql("{} IN ({})", head, rows)),
                self.table,
                search=Composed(rows),
                locked_tables=self.context.locked_tables,
                events=(Event(TriggerEvent.DELETE),),
            )
            return activating(change, by_row, self.context)
        new = Expressions(self.context, source_scope, queries, sequences=-999)
        updates = dict(
            assignment_values(
                replace(both, sequences=-999), self.node.update, table_target(self.table, target)
            )
        )
        inserts = dict(self._inserts(new, self.node.insert)) if self.node.insert is not None else {}
        if inserts:
            partners = tree.sql("LEFT {}", partners)
        joined = tree.sql("{} {}", source, partners)
        read = searching([*updates.values(), *inserts.values()])
        columns = tree.listed([tree.unquoted(target.alias, "rowid"), *read])
        names = ("rowid", *(column.name for column in self.table.columns))
        rows = self._rows(joined, target, updates, inserts)
        conflict = _conflict(updates)
        change = Change(
            Verb.INSERT,
            Composed(tree.sql("{}{}", tree.Insert(self.table.source, names, rows), conflict)),
            self.table,
            search=Composed(tree.query_sql("SELECT {} FROM {}", columns, joined)),
            locked_tables=self.context.locked_tables,
            events=tuple(self._events(updates, inserts)),
        )
        row = bound_row(self.table, names)
        each = tree.Insert(self.table.source, names, row)
        by_row = ByRow(Composed(rows), Composed(tree.sql("{}{}", each, conflict)), is_merge=True)
        # The rowid is that of a matched row. In the violations table a new row has a rowid of its own.
        filed = tree.query_sql("SELECT {} FROM ({})", _columns_of(range(2, len(names) + 1)), row)
        return activating(change, by_row, self.context, lambda source: tree.Insert(source, names[1:], filed))

    def _events(self, updates: dict[str, tree.Node], inserts: dict[str, tree.Node]) -> Iterator[Event]:
        if updates:
            yield Event(TriggerEvent.UPDATE, tuple(updates))
        if inserts:
            yield Event(TriggerEvent.INSERT, tuple(inserts))

    def _refuse_large_parameters(self) -> None:
        """Refuse a ``?`` for a BYTE or TEXT column: the values of MERGE come from its source (observed: 14.10, 15).

        Raises:
            SqlError: -617.
        """
        pairs: list[tuple[nodes.Name, nodes.Expression]] = []
        for assignment in self.node.update:
            pairs += zip(assignment.columns or (), assignment.values, strict=False)
        if self.node.insert is not None:
            pairs += zip(self.node.insert.columns, self.node.insert.values, strict=False)
        for name, value in pairs:
            column = self.table.column(name.text)
            if isinstance(value, nodes.Parameter) and column is not None and column.type in (BYTE, TEXT):
                raise SqlError(NOT_LARGE, offset=value.offset)

    def _rows(
        self, joined: tree.Node, target: Source, updates: dict[str, tree.Node], inserts: dict[str, tree.Node]
    ) -> tree.Query:
        """The SELECT of the rows with their rowids."""
        rowid = tree.unquoted(target.alias, "rowid")
        values = [self._matched_once(rowid)]
        for column in self.table.columns:
            old = updates.get(column.name, tree.Column(target.alias, column.name))
            values.append(tree.Case(((tree.Is(rowid), inserts.get(column.name, tree.NULL)),), old))
        wanted = "true" if updates else tree.Is(rowid)
        return tree.query_sql("SELECT {} FROM {} WHERE {}", tree.listed(values), joined, wanted)

    def _matched_once(self, rowid: tree.Node) -> tree.Node:
        """The rowid, or -284 (assumed) if two rows of the source match the same row."""
        times = tree.sql("count(*) OVER (PARTITION BY {})", rowid)
        is_repeated = tree.Logic(
            "AND", (tree.Is(rowid, is_negated=True), tree.Operation(">", times, tree.Literal(1)))
        )
        return tree.Case(((is_repeated, tree.call("ifx_raise", -284)),), rowid)

    def _inserts(self, new: Expressions, node: nodes.MergeInsert) -> Iterator[tuple[str, tree.Node]]:
        source = Source(self.table.name, "", ())
        targets = targets_of(table_target(self.table, source), node.columns, node.offset)
        if len(targets) != len(node.values):
            raise SqlError(-236)
        values: Sequence[nodes.Expression] = node.values
        for column, value in zip(targets, values, strict=True):
            yield column.name, inserted(column, assigned_value(new, column, value), self.table)
        for column, value_left_out in left_out(self.table, targets):
            yield column.name, value_left_out


def _columns_of(numbers: Iterable[int]) -> tree.Node:
    """Columns of VALUES, by their numbers."""
    return tree.listed(tree.unquoted("", f"column{number}") for number in numbers)


def _conflict(updates: dict[str, tree.Node]) -> tree.Piece:
    """The clause ON CONFLICT."""
    if not updates:
        return ""
    names = (identifier(name) for name in updates)
    return tree.sql(
        " ON CONFLICT (rowid) DO UPDATE SET {}", tree.listed(f"{name} = excluded.{name}" for name in names)
    )
