"""FROM: tables, joins, old outer joins, derived tables, and their aliases. Never: whether a table exists.

Invariant: a name is an alias unless it starts the next clause, which depends on the following token. ``LIMIT``
starts a clause before a number, and is an alias elsewhere.

Source: the grammar is documented (Guide to SQL: Syntax, SELECT statement, FROM clause).
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.primaries import SET_OPERATORS, at_query
from aioifx.server.sql.syntax.token_stream import TokenStream, parse_qualified_name
from aioifx.server.sql.syntax.tokens import TokenKind

JoinKind: TypeAlias = Literal["inner", "left", "right", "full", "cross"]
CollectionKind: TypeAlias = Literal["set", "multiset", "list"]

_SIDED_JOINS: Final[dict[str, JoinKind]] = {"left": "left", "right": "right", "full": "full"}
_COLLECTIONS: Final[dict[str, CollectionKind]] = {"set": "set", "multiset": "multiset", "list": "list"}
_ALWAYS_CLAUSES: Final = ("where", "having", "on", "into", "set", "using", "when", "values", "as", "join")
_CLAUSES_BEFORE: Final = {
    "group": ("by",),
    "order": ("by", "siblings"),
    "start": ("with",),
    "connect": ("by",),
    "for": ("update", "read"),
    "with": ("check",),
    "inner": ("join",),
    "cross": ("join",),
    "natural": ("join", "left", "right", "full", "inner"),
    "left": ("join", "outer"),
    "right": ("join", "outer"),
    "full": ("join", "outer"),
    **dict.fromkeys(SET_OPERATORS, ("select", "all", "(")),
}
_SPL_WORDS: Final = frozenset(
    "begin call case commit continue create define delete drop end execute exit for foreach grant if insert let lock"
    " loop merge on raise return rollback savepoint select set system trace truncate unlock update while".split()
)
"""Words that begin a statement of SPL, which follows the query of FOREACH without ``;``."""


def at_clause(s: TokenStream, ahead: int = 0) -> bool:
    """Whether the word there starts a clause, so that it cannot be an alias."""
    if s.at_any(*_ALWAYS_CLAUSES, ahead=ahead) or (
        s.ends_at_statement and s.at_any(*_SPL_WORDS, ahead=ahead)
    ):
        return True
    if s.at_any("skip", "limit", ahead=ahead):
        return s.ahead(ahead + 1).kind is TokenKind.NUMBER or s.at("?", ahead=ahead + 1)
    token = s.ahead(ahead)
    followers = _CLAUSES_BEFORE.get(token.text) if token.kind is TokenKind.NAME else None
    return followers is not None and s.at_any(*followers, ahead=ahead + 1)


def parse_alias(s: TokenStream) -> nodes.Name | None:
    """Read ``AS name``, or a name that does not start a clause."""
    if s.accept("as") or (s.at_name() and not at_clause(s)):
        return s.name()
    return None


def parse_table_ref(s: TokenStream) -> nodes.TableRef:
    """Read a table's name with its alias."""
    if s.at("only", "("):
        raise s.unsupported("ONLY")
    table = parse_qualified_name(s)
    return nodes.TableRef(table.offset, table, parse_alias(s))


def parse_derived_table(s: TokenStream) -> nodes.DerivedTable:
    """Read ``[LATERAL] (SELECT ..) alias (columns)``."""
    is_lateral = s.accept("lateral") is not None
    offset = s.expect("(").offset
    query = s.grammar.query(s)
    s.expect(")")
    alias, columns = _alias_and_columns(s)
    return nodes.DerivedTable(offset, query, alias, columns, is_lateral)


def _alias_and_columns(s: TokenStream) -> tuple[nodes.Name | None, tuple[nodes.Name, ...]]:
    alias = parse_alias(s)
    return alias, s.names_enclosed() if alias is not None and s.at("(") else ()


def parse_from_item(s: TokenStream) -> nodes.FromItem:
    """Read one entry of a FROM list."""
    if s.at("outer") and (s.at("(", ahead=1) or _at_table_name(s, 1)):
        return _outer_tables(s)
    return _joined(s)


def _at_table_name(s: TokenStream, ahead: int) -> bool:
    return s.ahead(ahead).kind is TokenKind.STRING or (s.at_name(ahead) and not at_clause(s, ahead))


def _outer_tables(s: TokenStream) -> nodes.OuterTables:
    s.descend()
    offset = s.expect("outer").offset
    if s.at("(") and not at_query(s, ahead=1):
        items = s.enclosed(parse_from_item)
    else:
        items = (_table(s),)
    s.ascend()
    return nodes.OuterTables(offset, items)


def _joined(s: TokenStream) -> nodes.FromItem:
    left = _table(s)
    while (kind := _join_at(s)) is not None:
        left = _join(s, left, kind)
    return left


def _join_at(s: TokenStream) -> JoinKind | None:
    """The kind of join, if its keywords come next."""
    if s.at("join") or s.at("inner", "join"):
        return "inner"
    if s.at("cross", "join"):
        return "cross"
    kind = _SIDED_JOINS.get(s.token.text)
    if kind and (s.at(kind, "join") or s.at(kind, "outer", "join")):
        return kind
    return None


def _join(s: TokenStream, left: nodes.FromItem, kind: JoinKind) -> nodes.Join:
    while s.advance().text != "join":
        pass
    right = _table(s)
    if kind == "cross":
        return nodes.Join(left.offset, kind, left, right, None)
    s.descend()
    while not s.at("on") and (inner := _join_at(s)) is not None:
        right = _join(s, right, inner)
    s.ascend()
    s.expect("on")
    return nodes.Join(left.offset, kind, left, right, s.grammar.condition(s))


def _table(s: TokenStream) -> nodes.FromItem:
    if s.at("("):
        if at_query(s, ahead=1):
            return parse_derived_table(s)
        s.descend()
        s.expect("(")
        item = _joined(s)
        s.expect(")")
        s.ascend()
        return item
    if s.at("table", "("):
        return _collection_table(s)
    if s.at("lateral", "("):
        return parse_derived_table(s)
    return parse_table_ref(s)


def _collection_table(
    s: TokenStream,
) -> nodes.DerivedTable | nodes.CollectionTable | nodes.ElementTable | nodes.RoutineTable:
    offset = s.expect("table", "(").offset
    if s.accept("multiset", "("):
        query = s.grammar.query(s)
        s.expect(")", ")")
        alias, columns = _alias_and_columns(s)
        return nodes.DerivedTable(offset, query, alias, columns)
    kind = _COLLECTIONS.get(s.token.text)
    if s.at_any("function", "procedure") and s.at_name(1):
        s.advance()
        call = s.grammar.value(s)
        if not isinstance(call, nodes.Call):
            raise s.refusal()
        s.expect(")")
        return nodes.RoutineTable(offset, call, *_alias_and_columns(s))
    if kind is None or not s.at("{", ahead=1):
        collection = s.grammar.value(s)
        s.expect(")")
        return nodes.ElementTable(offset, collection, *_alias_and_columns(s))
    s.advance()
    s.expect("{")
    elements = s.listed(s.grammar.value)
    s.expect("}", ")")
    alias, columns = _alias_and_columns(s)
    return nodes.CollectionTable(offset, kind, elements, alias, columns)
