"""Queries and DML as Informix's SQL. Never: DDL.

What Informix lacks is written in what it has. UPDATE of a table from another one and upserts become MERGE, DELETE with
other tables EXISTS, and FIRST in a subquery a derived table. GROUP BY and ORDER BY use positions where an expression
is not allowed. What has no counterpart is a `CompileError`: SKIP LOCKED, FETCH .. WITH TIES.

Source: documented (Guide to SQL: Syntax; SELECT, UPDATE, DELETE, INSERT, MERGE, "Restricting return values with the
SKIP, LIMIT, and FIRST options", "Dependencies between the GROUP BY and Projection clauses", "Optimizer Directives as
Comments").
"""

# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false, reportMissingParameterType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportIncompatibleMethodOverride=false
# pyright: reportPrivateUsage=false
# mypy: disable-error-code="no-untyped-call, no-any-return, override"
# SQLAlchemy's compilers are annotated in part, and a dialect overrides methods that start with an underscore.

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import exc
from sqlalchemy.sql import compiler, crud, elements, selectable, visitors
from sqlalchemy.sql.base import _from_objects

from aioifx.sqlalchemy.expressions import NO_TABLE
from aioifx.sqlalchemy.functions import FunctionCompiler
from aioifx.sqlalchemy.upsert import SOURCE

_UNORDERED: Final = "unordered"
"""The place of the clauses of a subquery that cannot have ORDER BY, where it has no effect anyway."""

_MARK: Final = "\x00"
_CTE_END: Final = "\x01"
"""Stand between clauses that SQLAlchemy writes, until they are put into another order."""


_NAMED: Final = (elements.ColumnClause, elements.Label, elements._textual_label_reference)
"""What ORDER BY names; other expressions of a select list get their position."""


class InformixCompiler(FunctionCompiler):
    """Compiles SELECT, INSERT, UPDATE and DELETE."""

    compound_keywords = {  # noqa: RUF012 - as in the base class
        **compiler.SQLCompiler.compound_keywords,
        selectable._CompoundSelectKeyword.EXCEPT: "MINUS",
    }

    _is_correlated = False
    """Whether the SELECT compiled last refers to tables of an outer query."""

    # -- SELECT -------------------------------------------------------------------------------------------------------

    def default_from(self) -> str:
        """What follows a SELECT without FROM; a derived table if a WHERE of its own comes next."""
        has_where = bool(getattr(self.stack[-1]["selectable"], "_where_criteria", ()))
        return f" FROM (SELECT tabid{NO_TABLE}) AS one_row" if has_where else NO_TABLE

    def visit_textclause(self, textclause: Any, *args: Any, **kw: Any) -> str:
        """The text as it is; but ``SELECT 1``, by which libraries ask whether a database is there, gets its FROM."""
        text = super().visit_textclause(textclause, *args, **kw)
        return text + NO_TABLE if text.strip().lower() == "select 1" else text

    def visit_select(
        self, select_stmt: Any, asfrom: bool = False, place: str | None = None, **kw: Any
    ) -> str:
        in_expression = bool(self.stack) and not asfrom and not kw.get("insert_into")
        in_expression = in_expression and kw.get("compound_index") is None
        limited = select_stmt._has_row_limiting_clause
        if in_expression and not limited:
            kw["place"] = _UNORDERED
        text = super().visit_select(select_stmt, asfrom=asfrom, **kw).rstrip()
        if limited and _is_inserted(kw):
            return _inserted(text, len(select_stmt.selected_columns))
        return _derived(text, is_correlated=self._is_correlated) if in_expression and limited else text

    def _compose_select_body(
        self, text: Any, select: Any, compile_state: Any, inner_columns: Any, froms: Any, *args: Any
    ) -> Any:
        body = super()._compose_select_body(text, select, compile_state, inner_columns, froms, *args)
        hidden = set(_from_objects(*getattr(compile_state, "froms", ()))) - set(_from_objects(*froms))
        outer: Any = self.stack[-2]["correlate_froms"] if len(self.stack) > 1 else ()
        self._is_correlated = not hidden.isdisjoint(outer)
        return body

    def _label_select_column(
        self,
        select: Any,
        column: Any,
        populate_result_map: Any,
        asfrom: Any,
        column_clause_args: Any,
        **kw: Any,
    ) -> Any:
        arguments = {**column_clause_args, "place": "item"}
        return super()._label_select_column(select, column, populate_result_map, asfrom, arguments, **kw)

    def get_select_precolumns(self, select: Any, **kw: Any) -> str:
        """Directives of the whole statement, SKIP, FIRST and DISTINCT, which come before the columns."""
        directives = "" if select._hints else _directives(self._statement_directives(select))
        text = directives + self._limits(select, **kw)
        return text + super().get_select_precolumns(select, **kw)

    def _limits(self, select: Any, **kw: Any) -> str:
        text = ""
        if select._offset_clause is not None:
            text += f"SKIP {self._row_count(select._offset_clause, **kw)} "
        limit = select._limit_clause if select._fetch_clause is None else select._fetch_clause
        if select._fetch_clause is not None and any(select._fetch_clause_options.values()):
            raise exc.CompileError("FETCH FIRST: Informix lacks WITH TIES and PERCENT")
        if limit is not None:
            text += f"FIRST {self._row_count(limit, **kw)} "
        return text

    def _row_count(self, element: Any, **kw: Any) -> str:
        if not isinstance(element, elements.BindParameter):
            raise exc.CompileError("LIMIT and OFFSET: expected a number or parameter, got an expression")
        kw.pop("place", None)
        return str(self.process(element, **kw))

    def limit_clause(self, select: Any, **kw: Any) -> str:
        return ""  # they come first

    def fetch_clause(self, select: Any, *args: Any, **kw: Any) -> str:
        return ""

    def for_update_clause(self, select: Any, **kw: Any) -> str:
        """FOR UPDATE, with the columns of *of*. A shared lock becomes an update lock, the only kind there is."""
        locking = select._for_update_arg
        if locking.nowait or locking.skip_locked:
            word = "NOWAIT" if locking.nowait else "SKIP LOCKED"
            raise exc.CompileError(
                f"FOR UPDATE: Informix lacks {word}; lock_wait of the connection tells how to wait"
            )
        columns = locking.of or ()
        if not columns or any(isinstance(of, selectable.FromClause) for of in columns):
            return " FOR UPDATE"
        names = [self.process(column, include_table=False) for column in columns]
        return f" FOR UPDATE OF {', '.join(names)}"

    def visit_join(self, join: Any, place: str | None = None, **kw: Any) -> str:
        return super().visit_join(join, **kw)

    def get_cte_preamble(self, recursive: bool) -> str:
        return "WITH"  # no RECURSIVE (documented: WITH statement)

    # -- GROUP BY and ORDER BY ----------------------------------------------------------------------------------------

    def group_by_clause(self, select: Any, **kw: Any) -> str:
        """GROUP BY; an expression of the select list by its position, as Informix takes columns and positions."""
        kw["place"] = "value"
        items = self._items_of(select)
        keys = [self._group_key(element, items, **kw) for element in select._group_by_clauses]
        return f" GROUP BY {', '.join(keys)}" if keys else ""

    def _group_key(self, element: Any, items: list[Any], **kw: Any) -> str:
        if type(element) is elements.ClauseList and len(element.clauses) == 1:  # of a function
            element = element.clauses[0]
        if not isinstance(_unlabelled(element), elements.ColumnClause):
            position = _position(element, items)
            if position:
                return str(position)
        return str(self.process(element, **kw))

    def order_by_clause(self, select: Any, **kw: Any) -> str:
        """ORDER BY; positions after UNION and its kind, where expressions are not allowed."""
        if kw.get("place") == _UNORDERED:
            return ""
        kw["place"] = "typed"
        items = self._items_of(select)
        keys = [self._order_key(element, items, **kw) for element in select._order_by_clauses]
        text = f" ORDER BY {', '.join(keys)}" if keys else ""
        return _MARK + text if self._is_limited_compound() else text

    def _order_key(self, element: Any, items: list[Any], **kw: Any) -> str:
        inner, suffix = element, ""
        while isinstance(inner, elements.UnaryExpression | elements._label_reference):
            if isinstance(inner, elements.UnaryExpression):
                if inner.modifier is None:
                    break
                suffix = f"{compiler.OPERATORS[inner.modifier]}{suffix}"
            inner = inner.element
        if not self._is_compound() and isinstance(inner, _NAMED):
            return str(self.process(element, **kw))
        position = _position(inner, items)
        return f"{position}{suffix}" if position else str(self.process(element, **kw))

    def _items_of(self, select: Any) -> list[Any]:
        """The select list, as far as its positions are known."""
        if isinstance(select, selectable.CompoundSelect):
            return list(select.selected_columns)
        entry: Any = self.stack[-1]
        return [item[3] for item in entry["compile_state"].columns_plus_names]

    # -- UNION and its kind -------------------------------------------------------------------------------------------

    def visit_compound_select(
        self,
        cs: Any,
        asfrom: bool = False,
        compound_index: int | None = None,
        place: str | None = None,
        **kw: Any,
    ) -> str:
        """UNION and its kind. A limit needs a derived table: before a part it would limit that part."""
        in_expression = (
            bool(self.stack) and not asfrom and compound_index is None and not kw.get("insert_into")
        )
        text = super().visit_compound_select(cs, asfrom=asfrom, compound_index=compound_index, **kw)
        columns = len(cs.selected_columns)
        if not cs._has_row_limiting_clause:
            return _inserted(text, columns) if _is_inserted(kw) and compound_index is None else text
        common_tables, mark, rest = text.rpartition(_CTE_END)
        body, _, order = (rest if mark else text).rpartition(_MARK)
        limits = self._limits(cs, literal_binds=kw.get("literal_binds", False))
        text = f"{common_tables}SELECT {limits}* FROM ({body}) AS limited{order}"
        if _is_inserted(kw):
            return _inserted(text, columns)
        return _derived(text) if in_expression else text

    def _render_cte_clause(self, **kw: Any) -> str:
        return super()._render_cte_clause(**kw) + (_CTE_END if self._is_limited_compound() else "")

    def _is_compound(self) -> bool:
        return isinstance(self.stack[-1]["selectable"], selectable.CompoundSelect)

    def _is_limited_compound(self) -> bool:
        statement: Any = self.stack[-1]["selectable"]
        return self._is_compound() and bool(statement._has_row_limiting_clause)

    def _row_limit_clause(self, cs: Any, **kw: Any) -> str:
        return ""  # it comes first

    def visit_select_statement_grouping(self, grouping: Any, **kw: Any) -> str:
        """A query in parentheses. A part of a UNION with an order or a limit becomes a derived table."""
        element = grouping.element
        if kw.get("compound_index") is None:
            return super().visit_select_statement_grouping(grouping, **kw)
        text = self.process(element, **kw)
        limited = element._has_row_limiting_clause or element._order_by_clauses
        return _derived(text) if limited else f"({text})"

    # -- directives ---------------------------------------------------------------------------------------------------

    def get_select_hint_text(self, byfroms: Any) -> str:
        return _directives(
            [*byfroms.values(), *self._statement_directives(self.stack[-1]["selectable"])]
        ).rstrip()

    def _statement_directives(self, statement: Any) -> list[str]:
        return [text for dialect, text in statement._statement_hints if dialect in ("*", self.dialect.name)]

    def get_statement_hint_text(self, hint_texts: Any) -> str:
        return ""  # they follow the word SELECT

    def format_from_hint_text(self, sqltext: str, table: Any, hint: str, iscrud: bool) -> str:
        return f"{_directives([hint])}{sqltext}" if iscrud else sqltext

    # -- UPDATE and DELETE --------------------------------------------------------------------------------------------

    def visit_update(self, update_stmt: Any, *args: Any, **kw: Any) -> str:
        """UPDATE. With another table it becomes a MERGE."""
        state = update_stmt._compile_state_factory(update_stmt, self, **kw)
        if state._extra_froms:
            self._check_values(state)
        text = super().visit_update(update_stmt, *args, place="value", **kw)
        head, mark, condition = text.partition(_MARK)
        if not mark:
            return text
        if not head.startswith("UPDATE "):
            raise exc.CompileError("UPDATE: expected no common table together with another table")
        prefix, _, changes = head.partition(" SET ")
        source, _, condition = condition.partition(_MARK)
        table = prefix.removeprefix("UPDATE ")
        condition = condition.strip().removeprefix("WHERE ")
        return f"MERGE INTO {table} USING {source} ON ({condition}) WHEN MATCHED THEN UPDATE SET {changes.strip()}"

    def update_from_clause(
        self, update_stmt: Any, from_table: Any, extra_froms: Any, from_hints: Any, **kw: Any
    ) -> str:
        if len(extra_froms) != 1 or not update_stmt._where_criteria:
            raise exc.CompileError("UPDATE: expected one other table and a WHERE that joins it")
        kw.pop("place", None)
        return f"{_MARK}{self.process(extra_froms[0], asfrom=True, **kw)}{_MARK}"

    def visit_delete(self, delete_stmt: Any, *args: Any, **kw: Any) -> str:
        """DELETE. The join with another table becomes an EXISTS."""
        text = super().visit_delete(delete_stmt, *args, **kw)
        head, mark, tables = text.partition(_MARK)
        text = f"{head}WHERE EXISTS (SELECT 1 FROM {tables})" if mark else text
        return re.sub(r"^DELETE FROM (\{\+ .*? \}) ", r"DELETE \1 FROM ", text)

    def delete_extra_from_clause(
        self, delete_stmt: Any, from_table: Any, extra_froms: Any, from_hints: Any, **kw: Any
    ) -> str:
        return _MARK + ", ".join(self.process(table, asfrom=True, **kw) for table in extra_froms)

    # -- INSERT -------------------------------------------------------------------------------------------------------

    def visit_insert(self, insert_stmt: Any, *args: Any, **kw: Any) -> str:
        """INSERT; an upsert is a MERGE, and several rows are a query."""
        kw["place"] = "value"
        if insert_stmt._post_values_clause is not None:
            return self._merge(insert_stmt, **kw)
        if insert_stmt._multi_values:
            return self._insert_rows(insert_stmt, **kw)
        if insert_stmt._return_defaults and not insert_stmt._returning:
            self.for_executemany = False  # the replies have the keys of many rows as that of one
        text = super().visit_insert(insert_stmt, *args, **kw)
        head, empty, _ = text.partition(" () VALUES ()")
        return f"{head}{self._values_of_no_columns(insert_stmt.table)}" if empty else text

    def _insert_rows(self, insert_stmt: Any, **kw: Any) -> str:
        """INSERT of several rows: VALUES has one, so they come from a UNION ALL."""
        statement, row, rows = self._values_of(insert_stmt, **kw)
        types = [self.cast_type(column.type) for column, *_ in row]
        if any(self.is_large(column.type) for column, *_ in row):
            raise exc.CompileError("INSERT of several rows: expected a list of parameters for large objects")
        selects = (
            ", ".join(
                f"CAST({value} AS {type_})" if type_ else value
                for (_, _, value, _), type_ in zip(row, types, strict=True)
            )
            for row in rows
        )
        text = f"INSERT INTO {self.preparer.format_table(statement.table)} ({', '.join(item[1] for item in row)}) "
        return text + _inserted(
            " UNION ALL ".join(f"SELECT {values}{NO_TABLE}" for values in selects), len(row)
        )

    def _values_of(self, insert_stmt: Any, **kw: Any) -> tuple[Any, Any, Any]:
        """The statement, and its first row and all rows: column, name, text of the value, which is to be cast."""
        state = insert_stmt._compile_state_factory(insert_stmt, self, **kw)
        toplevel = not self.stack
        if toplevel:
            self.isinsert = True
            self.dml_compile_state = self.dml_compile_state or state
            self.compile_state = self.compile_state or state
        statement = state.statement
        self._check_values(state)
        self.stack.append({"correlate_froms": set(), "asfrom_froms": set(), "selectable": statement})
        values = crud._get_crud_params(self, statement, state, toplevel, visited_bindparam=[], **kw)
        self.stack.pop(-1)
        return statement, values.single_params, values.all_multi_params

    def _check_values(self, state: Any) -> None:
        """Check the text of values that a MERGE, or a query with casts, would cut silently."""
        columns = state.statement.table.c
        self.stored = {column.key: column for column in columns}
        for number, row in enumerate(state._multi_parameters or [state._dict_parameters or {}]):
            for key, value in row.items():
                column = columns.get(key) if isinstance(key, str) else key
                if column is not None:
                    is_parameter = isinstance(value, elements.BindParameter)
                    self.stored[value.key if is_parameter else f"{column.key}_m{number}"] = column

    def _values_of_no_columns(self, table: Any) -> str:
        """Informix has no DEFAULT VALUES: 0 stands for the next SERIAL, and a column can be NULL anyway."""
        for column in table.columns:
            if column is table._autoincrement_column:
                return f" ({self.preparer.format_column(column)}) VALUES (0)"
        for column in table.columns:
            if column.nullable and column.server_default is None:
                return f" ({self.preparer.format_column(column)}) VALUES (NULL)"
        raise exc.CompileError("INSERT: expected values, a SERIAL or a column that takes NULL")

    def _merge(self, insert_stmt: Any, **kw: Any) -> str:
        """An upsert: the row to insert is the source of a MERGE.

        A BLOB or CLOB cannot be cast, and so not be in the source: its parameter is where its column is set. There
        MERGE refuses BYTE and TEXT (observed: -617).
        """
        if insert_stmt._multi_values or insert_stmt.select is not None:
            raise exc.CompileError(
                "on_conflict: expected the values of one row; pass several as a list of parameters"
            )
        statement, row, _ = self._values_of(insert_stmt, **kw)
        return self._merge_text(statement, row, **kw)

    def _merge_text(self, statement: Any, row: Any, **kw: Any) -> str:
        merging = statement._post_values_clause
        source: list[str] = []
        values: dict[str, str] = {}
        for column, name, value, _ in row:
            if self.is_simple_large(column.type):
                raise exc.CompileError(
                    f"on_conflict: expected no BYTE or TEXT, which MERGE refuses, got {column.name}"
                )
            cast_type = None if self.is_large(column.type) else self.cast_type(column.type)
            values[column.name] = f"{SOURCE}.{name}" if cast_type else value
            if cast_type:
                source.append(f"CAST({value} AS {cast_type}) AS {name}")
        missing = [key for key in merging.keys if key not in values]
        if missing:
            raise exc.CompileError(f"index_elements: expected columns with a value, got {', '.join(missing)}")
        table = self.preparer.format_table(statement.table)
        names = {column.name: name for column, name, _, _ in row}
        text = f"MERGE INTO {table} USING (SELECT {', '.join(source)}{NO_TABLE}) AS {SOURCE} ON ("
        text += " AND ".join(f"{table}.{names[key]} = {values[key]}" for key in merging.keys) + ")"
        changes = self._merge_changes(statement, merging, values, **kw) if merging.updates else []
        if changes:
            text += f" WHEN MATCHED THEN UPDATE SET {', '.join(changes)}"
        inserted = ", ".join(values[name] for name in names)
        return f"{text} WHEN NOT MATCHED THEN INSERT ({', '.join(names.values())}) VALUES ({inserted})"

    def _merge_changes(self, statement: Any, merging: Any, values: dict[str, str], **kw: Any) -> list[str]:
        columns = statement.table.c
        if merging.names is None:
            return [
                f"{self.preparer.quote(name)} = {text}"
                for name, text in values.items()
                if name not in merging.keys
            ]
        changes: list[str] = []
        for name, value in zip(merging.names, merging.values, strict=True):
            of_source = (
                isinstance(value, elements.ColumnClause) and getattr(value.table, "name", None) == SOURCE
            )
            text = values.get(value.name) if of_source else None
            if isinstance(value, elements.TypeCoerce):
                value = value.typed_expression
            elif isinstance(value, elements.BindParameter):
                value = value._with_binary_element_type(columns[name].type)
            if isinstance(value, elements.BindParameter):
                value = self.bounded(value, columns[name])
            changes.append(f"{self.preparer.quote(name)} = {text or self.process(value.self_group(), **kw)}")
        return changes


def _derived(text: str, *, is_correlated: bool = False) -> str:
    """A query as a derived table, in which FIRST and ORDER BY are allowed.

    Source: documented: derived tables with references to others need LATERAL ("Lateral derived tables"); assumed: to
    those of an outer query, too
    """
    return f"SELECT * FROM {'LATERAL ' if is_correlated else ''}({text}) AS limited"


def _is_inserted(kw: Mapping[str, Any]) -> bool:
    """Whether a query is that of an INSERT itself."""
    return bool(kw.get("insert_into")) and kw.get("compound_index") is None


def _inserted(text: str, columns: int) -> str:
    """A query with FIRST or UNION for INSERT, which takes them in a derived table only.

    Source: documented: INSERT statement, "Subset of SELECT Statement". The names are for items without one.
    """
    names = ", ".join(f"c{number}" for number in range(1, columns + 1))
    return f"SELECT * FROM ({text}) AS inserted ({names})"


def _directives(texts: list[str]) -> str:
    """The comment of optimizer directives that follows SELECT, UPDATE or DELETE."""
    return f"{{+ {', '.join(texts)} }} " if texts else ""


def _unlabelled(element: Any) -> Any:
    """An expression without label and parentheses. A function is in a list, as SQLAlchemy takes it as a table."""
    while True:
        if isinstance(element, elements.Label | elements._label_reference | elements.Grouping):
            element = element.element
        elif type(element) is elements.ClauseList and len(element.clauses) == 1:
            element = element.clauses[0]
        else:
            return element


def _position(element: Any, items: list[Any]) -> int | None:
    """The position in the select list, counted from 1, of an expression or a label's name."""
    if isinstance(element, elements._textual_label_reference):
        named = [i for i, item in enumerate(items, 1) if getattr(item, "name", None) == element.element]
        return named[0] if named else None
    plain = _unlabelled(element)
    if not isinstance(plain, elements.ColumnElement):
        return None
    # The copies that the ORM makes of an expression have its hash.
    same = [i for i, item in enumerate(items, 1) if hash(_unlabelled(item)) == hash(plain)]
    if not same and isinstance(plain, elements.ColumnClause):
        same = [i for i, item in enumerate(items, 1) if item.shares_lineage(plain)]
    elif not same and not _has_parameters(plain):
        same = [i for i, item in enumerate(items, 1) if plain.compare(_unlabelled(item))]
    return same[0] if same else None


def _has_parameters(element: Any) -> bool:
    """Whether an expression has parameters: the text is cached for others of their values, which differ."""
    return any(isinstance(part, elements.BindParameter) for part in visitors.iterate(element))
