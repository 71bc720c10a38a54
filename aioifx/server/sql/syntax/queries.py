"""SELECT from WITH to INTO: the clauses of a query and their order. Never: whether its names exist.

Invariant: FROM is required; FOR UPDATE, FOR READ ONLY and INTO belong to the outermost query alone.

Source: the grammar is documented (Guide to SQL: Syntax, SELECT statement), and -944 for SKIP, FIRST and LIMIT
inside expressions is too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal, TypeAlias

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.primaries import SET_OPERATORS, parse_number, parse_order_item
from aioifx.server.sql.syntax.sources import parse_from_item
from aioifx.server.sql.syntax.storage_clauses import parse_table_storage
from aioifx.server.sql.syntax.token_stream import (
    TokenStream,
    parse_database_prefix,
    parse_owner,
    parse_qualified_name,
)
from aioifx.server.sql.syntax.tokens import TokenKind

LIMIT_NOT_ALLOWED: Final = -944

CommonTables: TypeAlias = tuple[bool, tuple[nodes.CommonTable, ...]]
"""Whether RECURSIVE follows WITH, and the common tables."""

SetOperator: TypeAlias = Literal["union", "intersect", "minus"]

_SET_OPERATORS: Final[dict[str, SetOperator]] = {
    "union": "union",
    "intersect": "intersect",
    "minus": "minus",
    "except": "minus",
}


# --- Whole queries -----------------------------------------------------------


def parse_statement_query(
    s: TokenStream, common: CommonTables | None = None
) -> nodes.Query | nodes.CreateTableAs:
    """Read a query that is a statement, with its final clauses; *common* has been read before it."""
    query = parse_query(s, common)
    for_update: nodes.ForUpdate | None = None
    for_read_only = False
    if s.at("for") and not (s.ends_at_statement and not s.at_any("read", "update", ahead=1)):
        s.advance()
        if s.accept("read", "only"):
            for_read_only = True
        else:
            offset = s.expect("update").offset
            for_update = nodes.ForUpdate(offset, s.listed(TokenStream.name) if s.accept("of") else ())
    query = replace(query, for_update=for_update, for_read_only=for_read_only)
    if not s.at("into"):
        return query
    if s.at("temp", ahead=1) and s.at_name(2):
        return replace(query, into_temp=_into_temp(s))
    return _into_table(s, query)


def parse_subquery(s: TokenStream) -> nodes.Query:
    """Read a query inside an expression, without SKIP, FIRST and LIMIT."""
    start = s.token
    query = parse_query(s)
    if _is_limited(query):
        raise SqlError(LIMIT_NOT_ALLOWED, offset=start.offset)
    return query


def parse_item_query(s: TokenStream) -> nodes.Query:
    """Read ``SELECT ITEM ..`` in MULTISET, which has one SELECT without UNION."""
    offset = s.expect("select", "item").offset
    return nodes.Query(offset, _select_list(s, offset))


def _is_limited(query: nodes.Query) -> bool:
    """Whether the query itself, not one of its derived tables, has SKIP, FIRST or LIMIT."""
    pending: list[nodes.QueryBody] = [query]
    while pending:
        part = pending.pop()
        if isinstance(part, nodes.SetOperation):
            pending += (part.left, part.right)
        elif isinstance(part, nodes.Select):
            if part.skip or part.first:
                return True
        elif part.skip or part.limit:
            return True
        else:
            pending.append(part.body)
    return False


def parse_query(s: TokenStream, common: CommonTables | None = None) -> nodes.Query:
    """Read ``[WITH ..] SELECT .. [UNION ..] [ORDER BY ..] [SKIP n] [LIMIT n]``; *common* has been read before it."""
    s.descend()
    start = s.token
    if common is None:
        common = parse_common_tables(s) if s.at("with") else (False, ())
    recursive, common_tables = common
    body = _combined(s)
    order_by: tuple[nodes.OrderItem, ...] = ()
    orders_siblings = s.at("order", "siblings")
    if orders_siblings:
        if not isinstance(body, nodes.Select) or body.hierarchy is None:
            raise s.refusal(s.ahead(1))
        s.expect("order", "siblings", "by")
        order_by = s.listed(parse_order_item)
    elif s.accept("order", "by"):
        order_by = s.listed(parse_order_item)
    skip = _row_count(s, "skip", is_last=True)
    limit = _row_count(s, "limit", is_last=True)
    s.ascend()
    if isinstance(body, nodes.Query) and not (common_tables or order_by or skip or limit):
        return body
    query = nodes.Query(start.offset, body, common_tables, recursive, order_by, skip, limit)
    return replace(query, orders_siblings=orders_siblings)


def parse_common_tables(s: TokenStream) -> CommonTables:
    """Read WITH and its common tables."""
    s.expect("with")
    recursive = s.at_name(1) and not s.at("as", ahead=1) and s.accept("recursive") is not None
    return recursive, s.listed(_common_table)


def _common_table(s: TokenStream) -> nodes.CommonTable:
    name = s.name()
    columns = s.names_enclosed() if s.at("(") else ()
    s.expect("as", "(")
    query = parse_query(s)
    s.expect(")")
    return nodes.CommonTable(name.offset, name, columns, query)


def _combined(s: TokenStream) -> nodes.QueryBody:
    left = _part(s)
    while s.at_any(*SET_OPERATORS):
        token = s.advance()
        operator = _SET_OPERATORS[token.text]
        with_all = operator == "union" and s.accept("all") is not None
        left = nodes.SetOperation(left.offset, operator, with_all, left, _part(s), token.offset)
    return left


def _part(s: TokenStream) -> nodes.QueryBody:
    if s.accept("("):
        query = parse_query(s)
        s.expect(")")
        return query
    return _select(s)


def _into_temp(s: TokenStream) -> nodes.IntoTemp:
    offset = s.expect("into", "temp").offset
    name = s.name()
    return nodes.IntoTemp(offset, name, s.accept("with", "no", "log") is not None)


def _into_table(s: TokenStream, query: nodes.Query) -> nodes.CreateTableAs:
    """Read ``INTO [STANDARD | RAW] table`` with storage clauses.

    Source: documented: SELECT statement, INTO STANDARD and INTO RAW Clauses.
    """
    into = s.expect("into")
    if query.for_update is not None:
        raise s.refusal(into)
    if s.at("external") and s.at_name(1):
        raise s.unsupported("INTO EXTERNAL")
    if s.at_any("standard", "raw") and s.at_qualified_name(1):
        s.advance()
    table = parse_qualified_name(s)
    storage = parse_table_storage(s)
    return nodes.CreateTableAs(query.offset, table, query, is_select=True, **storage._asdict())


# --- One SELECT --------------------------------------------------------------


def _select(s: TokenStream) -> nodes.Select:
    offset = s.expect("select").offset
    skip = _row_count(s, "skip")
    first = _row_count(s, "first") or _row_count(s, "limit")
    return replace(_select_list(s, offset), skip=skip, first=first)


def _select_list(s: TokenStream, offset: int) -> nodes.Select:
    """Read a SELECT from its DISTINCT or first column on."""
    distinct = _distinct(s)
    items = s.listed(_select_item)
    if s.in_routine and s.accept("into"):
        s.keep_targets(s.listed(TokenStream.target))
    s.expect("from")
    from_items = s.listed(parse_from_item)
    where = s.grammar.condition(s) if s.accept("where") else None
    hierarchy = _hierarchy(s) if s.at("start", "with") or s.at("connect", "by") else None
    group_by: tuple[nodes.Expression, ...] = ()
    if s.accept("group", "by"):
        if s.at("grouping", "sets"):
            raise s.unsupported("GROUPING SETS")
        group_by = s.listed(s.grammar.value)
    having = s.grammar.condition(s) if s.accept("having") else None
    return nodes.Select(offset, items, from_items, where, group_by, having, distinct, hierarchy=hierarchy)


def _hierarchy(s: TokenStream) -> nodes.Hierarchy:
    offset = s.token.offset
    start = s.grammar.condition(s) if s.accept("start", "with") else None
    s.expect("connect", "by")
    is_nocycle = s.at("nocycle") and not s.at_any(".", "=", "[", ahead=1) and s.accept("nocycle") is not None
    outer, s.is_hierarchical = s.is_hierarchical, True
    condition = s.grammar.condition(s)
    s.is_hierarchical = outer
    return nodes.Hierarchy(offset, start, condition, is_nocycle)


def _row_count(s: TokenStream, word: str, *, is_last: bool = False) -> nodes.RowCount | None:
    """Read ``word n``, ``word ?`` or, in a routine, ``word variable``; otherwise the word is a name.

    Args:
        is_last: whether it is behind ORDER BY, where no select list follows.
    """
    if not s.at(word):
        return None
    if s.in_routine and s.at_name(1) and (is_last or _is_before_list(s)):
        s.advance()
        name = s.name()
        return nodes.Column(name.offset, name.text)
    if s.at("?", ahead=1):
        s.advance()
        return s.parameter()
    if s.ahead(1).kind is not TokenKind.NUMBER:
        return None
    s.advance()
    if not s.token.text.isdigit():
        raise s.refusal()
    return parse_number(s)


def _is_before_list(s: TokenStream) -> bool:
    """Whether the name after FIRST or SKIP is a variable: a select list follows; the label of a column is the end."""
    is_word = s.at_any("from", "into", "as", "units", ahead=1)
    return not is_word and not any(s.at(end, ahead=2) for end in (",", ".", ";", "from", "into"))


def _distinct(s: TokenStream) -> bool:
    if not s.at_any("all", "distinct", "unique"):
        return False
    following = s.ahead(1)
    if following.kind is TokenKind.SYMBOL and following.text not in ("(", "?", "+", "-", "*"):
        return False
    if following.kind is TokenKind.END or s.at_any("from", "as", ahead=1):
        return False
    return s.advance().text != "all"


def _select_item(s: TokenStream) -> nodes.SelectItem:
    offset = s.token.offset
    if s.at("from") and not s.at_any("from", "as", ",", ".", ahead=1):
        raise s.refusal()
    expression = _star(s) if _at_star(s) else s.grammar.value(s)
    label: nodes.Name | None = None
    if s.accept("as") or (s.at_name() and not s.at_any("from", "into")):
        label = s.name()
    return nodes.SelectItem(offset, expression, label)


def _at_star(s: TokenStream) -> bool:
    """Whether ``*`` comes next, or a table's name followed by ``.*``."""
    ahead = 0
    if s.at_name() and s.at(":", ahead=1):
        ahead = 2
    elif s.at_name() and s.at("@", ahead=1) and s.at(":", ahead=3):
        ahead = 4
    while s.at(".", ahead=ahead + 1) and (s.at_name(ahead) or s.ahead(ahead).kind is TokenKind.STRING):
        ahead += 2
    return s.at("*", ahead=ahead)


def _star(s: TokenStream) -> nodes.Star:
    offset = s.token.offset
    if s.accept("*"):
        return nodes.Star(offset)
    database, server = parse_database_prefix(s)
    owner = parse_owner(s) if s.at(".", ahead=3) else ""
    table = nodes.QualifiedName(offset, s.name().text, owner, database, server)
    s.expect(".", "*")
    return nodes.Star(offset, table)
