"""MERGE -> a Plan of one SQLite statement. Never: separate INSERT, UPDATE and DELETE.

The rows of source and target are joined. Each result is a whole new row of the target, with the rowid of the row
that it matches. SQLite inserts it, or updates if the rowid exists (documented: SQLite, "UPSERT").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from aioifx.server.sql.builtin_types import BYTE, TEXT
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import ByRow, Change, Event, Plan, Verb
from aioifx.server.sql.model.schema import Table, TriggerEvent
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.dml import (
    activating,
    assigned_value,
    assignment_values,
    inserted,
    left_out,
    searching,
    targets_of,
    values_text,
    writable,
)
from aioifx.server.sql.translate.expressions import Expressions
from aioifx.server.sql.translate.from_clause import FromClause
from aioifx.server.sql.translate.large_objects import NOT_LARGE
from aioifx.server.sql.translate.scopes import Context, Scope, Source
from aioifx.server.sql.translate.select import QueryTranslator
from aioifx.server.sql.translate.select_plan import finished
from aioifx.server.sql.translate.sqlite_text import identifier
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
        source_text = FromClause(self.context, source_scope, queries).text([self.node.source], None)
        both = Expressions(self.context, Scope([target, *source_scope.sources]), queries)
        partners = f"JOIN {self.table.source} AS {target.alias} ON {both.condition(self.node.condition)}"
        if self.node.has_delete:
            rows = f"SELECT {target.alias}.rowid FROM {source_text} {partners}"
            sql = f"DELETE FROM {self.table.source} WHERE rowid"
            width = nodes.bound_count(self.node)
            by_row = ByRow(f"SELECT DISTINCT * FROM ({rows})", f"{sql} = ?{width + 1}", width)
            change = Change(
                Verb.DELETE,
                f"{sql} IN ({rows})",
                self.table,
                search=rows,
                locked_tables=self.context.locked_tables,
                events=(Event(TriggerEvent.DELETE),),
            )
            return activating(change, by_row)
        new = Expressions(self.context, source_scope, queries, sequences=-999)
        updates = dict(
            assignment_values(
                replace(both, sequences=-999), self.node.update, table_target(self.table, target)
            )
        )
        inserts = dict(self._inserts(new, self.node.insert)) if self.node.insert is not None else {}
        if inserts:
            partners = f"LEFT {partners}"
        joined = f"{source_text} {partners}"
        read = searching([*updates.values(), *inserts.values()])
        head, rows, conflict, width = self._upsert(joined, target, updates, inserts)
        change = Change(
            Verb.INSERT,
            f"{head} {rows}{conflict}",
            self.table,
            search=f"SELECT {target.alias}.rowid{', ' + read if read else ''} FROM {joined}",
            locked_tables=self.context.locked_tables,
            events=tuple(self._events(updates, inserts)),
        )
        each = f"{head} VALUES ({values_text(width)}){conflict}"
        return activating(change, ByRow(rows, each, is_merge=True))

    def _events(self, updates: dict[str, str], inserts: dict[str, str]) -> Iterator[Event]:
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

    def _upsert(
        self, rows: str, target: Source, updates: dict[str, str], inserts: dict[str, str]
    ) -> tuple[str, str, str, int]:
        """The INSERT up to its rows, the SELECT of the rows, the clause ON CONFLICT, and the number of columns."""
        rowid = f"{target.alias}.rowid"
        names, texts = ["rowid"], [self._matched_once(rowid)]
        for column in self.table.columns:
            old = updates.get(column.name, f"{target.alias}.{identifier(column.name)}")
            fresh = inserts.get(column.name, "NULL")
            names.append(identifier(column.name))
            texts.append(f"CASE WHEN {rowid} IS NULL THEN {fresh} ELSE {old} END")
        wanted = "true" if updates else f"{rowid} IS NULL"
        head = f"INSERT INTO {self.table.source} ({', '.join(names)})"
        settings = ", ".join(f"{identifier(name)} = excluded.{identifier(name)}" for name in updates)
        conflict = f" ON CONFLICT (rowid) DO UPDATE SET {settings}" if updates else ""
        return head, f"SELECT {', '.join(texts)} FROM {rows} WHERE {wanted}", conflict, len(names)

    def _matched_once(self, rowid: str) -> str:
        """The rowid, or -284 (assumed) if two rows of the source match the same row."""
        times = f"count(*) OVER (PARTITION BY {rowid})"
        return f"CASE WHEN {rowid} IS NOT NULL AND {times} > 1 THEN ifx_raise(-284) ELSE {rowid} END"

    def _inserts(self, new: Expressions, node: nodes.MergeInsert) -> Iterator[tuple[str, str]]:
        source = Source(self.table.name, "", ())
        targets = targets_of(table_target(self.table, source), node.columns, node.offset)
        if len(targets) != len(node.values):
            raise SqlError(-236)
        values: Sequence[nodes.Expression] = node.values
        for column, value in zip(targets, values, strict=True):
            yield column.name, inserted(column, assigned_value(new, column, value), self.table)
        for column, text in left_out(self.table, targets):
            yield column.name, text
