"""INSERT, UPDATE, DELETE, MERGE, TRUNCATE. Never: whether values and columns match in number or type.

Source: the grammar is documented (Guide to SQL: Syntax, the statements of these names).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias, TypeVar

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.control import parse_execute
from aioifx.server.sql.syntax.primaries import at_query
from aioifx.server.sql.syntax.sources import parse_derived_table, parse_table_ref
from aioifx.server.sql.syntax.token_stream import SYNTAX_ERROR, TokenStream, parse_owner, parse_qualified_name

T = TypeVar("T")


def parse_insert(s: TokenStream) -> nodes.Insert:
    """Read INSERT, whose query is not a UNION (documented: INSERT statement, "Subset of SELECT Statement")."""
    offset = s.expect("insert", "into").offset
    table = parse_qualified_name(s)
    columns = s.names_enclosed() if s.at("(") and not at_query(s, ahead=1) else ()
    values: tuple[nodes.Expression, ...] | None = None
    query: nodes.Query | None = None
    if s.accept("values"):
        values = s.enclosed(s.grammar.value)
    elif s.at("execute"):
        query = _rows_of(parse_execute(s))
    elif s.at("at"):
        raise s.unsupported("INSERT AT")
    elif s.at_any("select", "with", "("):
        query = s.grammar.query(s)
        if isinstance(query.body, nodes.SetOperation):
            raise SqlError(SYNTAX_ERROR, offset=query.body.operator_offset)
    else:
        raise s.refusal()
    return nodes.Insert(offset, table, columns, values, query)


def _rows_of(call: nodes.Execute) -> nodes.Query:
    """The rows of EXECUTE as a query: ``SELECT * FROM TABLE(FUNCTION call)``."""
    offset = call.offset
    named = tuple(each for each in call.arguments if isinstance(each, nodes.NamedArgument))
    values = tuple(each for each in call.arguments if not isinstance(each, nodes.NamedArgument))
    table = nodes.RoutineTable(offset, nodes.Call(offset, call.routine, values, named))
    return nodes.Query(
        offset, nodes.Select(offset, (nodes.SelectItem(offset, nodes.Star(offset)),), (table,))
    )


def parse_update(s: TokenStream) -> nodes.Update:
    """Read UPDATE of a table."""
    offset = s.expect("update").offset
    table = parse_table_ref(s)
    s.expect("set")
    assignments = s.listed(qualified_by(table, _assignment))
    return nodes.Update(offset, table, assignments, _where(s))


def parse_delete(s: TokenStream) -> nodes.Delete:
    """Read DELETE, with or without FROM."""
    offset = s.expect("delete").offset
    s.accept("from")
    table = parse_table_ref(s)
    return nodes.Delete(offset, table, _where(s))


def parse_truncate(s: TokenStream) -> nodes.Truncate:
    """Read TRUNCATE; its storage options have no effect here."""
    offset = s.expect("truncate").offset
    if s.at_qualified_name(1) and not s.at_any("drop", "reuse", "keep", ahead=1):
        s.accept("table")
    table = parse_qualified_name(s)
    if s.accept_any("drop", "reuse"):
        s.expect("storage")
    s.accept("keep", "statistics")
    return nodes.Truncate(offset, table)


def _where(s: TokenStream) -> nodes.Expression | nodes.CurrentOf | None:
    if not s.accept("where"):
        return None
    if s.at("current", "of") and s.at_name(2):
        offset = s.expect("current", "of").offset
        return nodes.CurrentOf(offset, s.name())
    return s.grammar.condition(s)


# --- SET clauses -------------------------------------------------------------


def _assignment(s: TokenStream) -> nodes.Assignment:
    offset = s.token.offset
    if s.at_any("*", "("):
        columns = None if s.accept("*") else s.names_enclosed()
        s.expect("=")
        return nodes.Assignment(offset, columns, s.enclosed(s.grammar.value))
    column = s.name()
    if s.at("["):
        raise s.unsupported("SUBSCRIPT")
    s.expect("=")
    return nodes.Assignment(offset, (column,), (s.grammar.value(s),))


def qualified_by(target: nodes.TableRef, read: Callable[[TokenStream], T]) -> Callable[[TokenStream], T]:
    """A reader like *read* that also accepts a prefix ``target.`` or ``owner.target.``.

    Source: documented for MERGE; observed in the triggers that dbschema writes, for SET and INTO
    """
    qualifier = (target.alias or nodes.Name(0, target.table.name)).text

    def read_qualified(s: TokenStream) -> T:
        if s.at_qualified_name() and s.at(".", qualifier, ".", ahead=1):
            parse_owner(s)
        if s.at_name() and s.token.text == qualifier:
            s.accept(qualifier, ".")
        return read(s)

    return read_qualified


# --- MERGE -------------------------------------------------------------------


def parse_merge(s: TokenStream) -> nodes.Merge:
    """Read MERGE."""
    offset = s.expect("merge", "into").offset
    target = parse_table_ref(s)
    s.expect("using")
    source = parse_derived_table(s) if s.at("(") else parse_table_ref(s)
    s.expect("on")
    condition = s.grammar.condition(s)
    update: tuple[nodes.Assignment, ...] = ()
    delete = False
    insert: nodes.MergeInsert | None = None
    if not s.at("when"):
        raise s.refusal()
    while s.at("when"):
        if s.at("when", "matched") and not (update or delete):
            s.expect("when", "matched", "then")
            if s.accept("delete"):
                delete = True
            else:
                s.expect("update", "set")
                update = s.listed(qualified_by(target, _assignment))
        elif insert is None:
            s.expect("when", "not", "matched", "then")
            insert = _merge_insert(s, target)
        else:
            raise s.refusal()
    return nodes.Merge(offset, target, source, condition, update, delete, insert)


def _merge_insert(s: TokenStream, target: nodes.TableRef) -> nodes.MergeInsert:
    offset = s.expect("insert").offset
    columns: tuple[nodes.Name, ...] = ()
    if s.at("("):
        columns = s.enclosed(qualified_by(target, TokenStream.name))
    s.expect("values")
    return nodes.MergeInsert(offset, columns, s.enclosed(s.grammar.value))


Reader: TypeAlias = Callable[[TokenStream], nodes.Statement]

CHANGES: Final[dict[str, Reader]] = {
    "insert": parse_insert,
    "update": parse_update,
    "delete": parse_delete,
    "merge": parse_merge,
    "truncate": parse_truncate,
}
"""Readers by the first word of a statement."""
