"""The entry points of the parser: text to tree, script to statements. Never: what a name refers to.

Invariants:
1. A statement is read to its end; a semicolon may end it, and nothing may follow.
2. The tree is at most MAX_HEIGHT nodes high, so that code that walks it may recurse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from operator import is_
from typing import Any, Final, TypeVar, cast

from aioifx.scripts import Piece, only_sql, split
from aioifx.server.sql.complex_types import TypeName
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.syntax.control import SESSIONS, parse_update_statistics
from aioifx.server.sql.syntax.ddl import OBJECTS
from aioifx.server.sql.syntax.dml import CHANGES, parse_insert
from aioifx.server.sql.syntax.expressions import parse_condition, parse_either, parse_value
from aioifx.server.sql.syntax.nodes import (
    CreateSchema,
    CreateTrigger,
    CreateView,
    Node,
    Query,
    Statement,
    children,
)
from aioifx.server.sql.syntax.primaries import at_query
from aioifx.server.sql.syntax.queries import (
    CommonTables,
    parse_common_tables,
    parse_item_query,
    parse_query,
    parse_statement_query,
    parse_subquery,
)
from aioifx.server.sql.syntax.settings import parse_set
from aioifx.server.sql.syntax.spl_nodes import CreateRoutine
from aioifx.server.sql.syntax.token_stream import NOT_IMPLEMENTED, SYNTAX_ERROR, Grammar, TokenStream
from aioifx.server.sql.syntax.tokens import Token, TokenKind, tokenize, tokens_of
from aioifx.server.sql.syntax.types import parse_type
from aioifx.sqltypes import SqlType

Tree = TypeVar("Tree", bound=Node)

MAX_HEIGHT: Final = 160
"""Maximum height of a tree: long chains of ``||`` and UNION are high without deep nesting."""

_READERS: Final[dict[str, Callable[[TokenStream], Statement]]] = {
    **CHANGES,
    **OBJECTS,
    **SESSIONS,
    "set": parse_set,
}
_NOT_EXECUTED: Final = (
    ("connect", "to"),
    ("disconnect",),
    ("save", "external", "directives"),
)


def parse(text: str, *, delimident: bool = False, check: Callable[[], None] = lambda: None) -> Statement:
    """The tree of one statement.

    Args:
        delimident: double quotes delimit names instead of strings.
        check: called often; an exception ends the reading of a long text.

    Raises:
        SqlError: -201 for a syntax error, -999 for Informix SQL that is not supported, or what `tokenize` refuses.
    """
    s = TokenStream(text, tokenize(text, delimident=delimident, check=check), _GRAMMAR, check)
    statement = _statement(s)
    s.accept(";")
    if s.token.kind is not TokenKind.END:
        raise s.refusal()
    _require_height(statement)
    return _with_quotes(statement) if delimident else statement


def _with_quotes(statement: Statement) -> Statement:
    """The statement, whose text is read later, with the mark that double quotes delimit names."""
    if isinstance(statement, CreateSchema):
        return replace(statement, statements=tuple(map(_with_quotes, statement.statements)))
    if isinstance(statement, CreateRoutine | CreateTrigger | CreateView):
        return replace(statement, is_delimident=True)
    return statement


def parse_type_text(text: str) -> SqlType:
    """The type in *text*, written as in a column or parameter declaration.

    Raises:
        SqlError: as `parse`; -9628, it is not a built-in type.
    """
    s = TokenStream(text, tokenize(text), _GRAMMAR)
    token = s.token
    type_ = parse_type(s)
    if isinstance(type_, TypeName):
        raise SqlError(-9628, token=type_.extended_name, offset=token.offset)
    if s.token.kind is not TokenKind.END:
        raise s.refusal()
    return type_


def _after_with(s: TokenStream) -> Statement:
    """Read the statement that begins with WITH: a query, or a change, which gives the common tables to its queries.

    Source: documented: WITH statement; it precedes SELECT, INSERT, UPDATE and DELETE
    """
    common = parse_common_tables(s)
    if s.at_any("update", "delete"):
        token = s.token
        change = CHANGES[token.text](s)
        changed = _with_common(change, common)
        if changed is change:  # no query in it could refer to them
            raise s.unsupported(f"WITH {token.text.upper()}", token)
        return changed
    if not s.at("insert"):
        return parse_statement_query(s, common)
    insert = parse_insert(s)
    if insert.query is None or insert.query.common_tables:
        raise SqlError(SYNTAX_ERROR, offset=insert.offset)
    recursive, common_tables = common
    return replace(insert, query=replace(insert.query, is_recursive=recursive, common_tables=common_tables))


def _with_common(node: Tree, common: CommonTables) -> Tree:
    """The tree with the common tables in each of its queries that is not in another."""
    recursive, common_tables = common
    if isinstance(node, Query):
        tables = (*common_tables, *node.common_tables)
        return replace(node, common_tables=tables, is_recursive=recursive or node.is_recursive)
    changes: dict[str, Any] = {}
    for field in fields(node):
        value: object = getattr(node, field.name)
        if isinstance(value, Node):
            new: object = _with_common(value, common)
        elif type(value) is tuple:
            items = cast("tuple[object, ...]", value)
            parts = [_with_common(item, common) if isinstance(item, Node) else item for item in items]
            new = items if all(map(is_, parts, items)) else tuple(parts)
        else:
            continue
        if new is not value:
            changes[field.name] = new
    return replace(node, **changes) if changes else node


def _statement(s: TokenStream) -> Statement:
    if at_query(s) or s.at("("):
        return _after_with(s) if s.at("with") else parse_statement_query(s)
    if s.at("update", "statistics") and not s.at("set", ahead=2):
        return parse_update_statistics(s)
    token = s.token
    reader = _READERS.get(token.text) if token.kind is TokenKind.NAME else None
    if reader is not None:
        return reader(s)
    for words in _NOT_EXECUTED:
        if s.at(*words):
            raise s.unsupported(" ".join(words).upper())
    raise s.refusal()


_GRAMMAR: Final = Grammar(
    parse_value, parse_condition, parse_either, parse_query, parse_subquery, parse_item_query, _statement
)


def _require_height(statement: Statement) -> None:
    level: list[Node] = [statement]
    for _ in range(MAX_HEIGHT):
        level = [child for node in level for child in children(node)]
        if not level:
            return
    raise SqlError(NOT_IMPLEMENTED, token="NESTING", offset=level[0].offset)


# --- Scripts -----------------------------------------------------------------


def split_script(text: str) -> Iterator[tuple[str, int]]:
    """The statements of a script, terminated by ``;`` (not included), with the start of each, from 0.

    Routine bodies keep their semicolons. The first lines of dbschema's output and lines with DBDELIMITER are skipped.

    Raises:
        SqlError: what `tokenize` refuses; its offset counts from the beginning of the script.
    """
    return split(text, _pieces(tokens_of(only_sql(text))))


def split_statements(text: str, *, delimident: bool = False) -> list[tuple[str, int]]:
    """The statements of a text for PREPARE, separated by ``;``, with the start of each, from 0.

    Raises:
        SqlError: what `tokenize` refuses.
    """
    if ";" not in text[:-1]:
        return [(text, 0)]
    return list(split(text, _pieces(tokenize(text, delimident=delimident))))


def _pieces(tokens: Iterable[Token]) -> Iterator[Piece]:
    for token in tokens:
        if token.kind is not TokenKind.END:
            is_word = token.kind is TokenKind.NAME or (token.text == ";" and token.kind is TokenKind.SYMBOL)
            yield Piece(token.text if is_word else "", token.offset - 1, token.end - 1)
