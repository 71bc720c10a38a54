"""The entry points of the parser: text to tree, script to statements. Never: what a name refers to.

Invariants:
1. A statement is read to its end; a semicolon may end it, and nothing may follow.
2. The tree is at most MAX_HEIGHT nodes high, so that code that walks it may recurse.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Final

from aioifx.server.sql.complex_types import TypeName
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.syntax.control import SESSIONS, parse_update_statistics
from aioifx.server.sql.syntax.ddl import OBJECTS
from aioifx.server.sql.syntax.dml import CHANGES, parse_insert
from aioifx.server.sql.syntax.expressions import parse_condition, parse_either, parse_value
from aioifx.server.sql.syntax.nodes import Node, Statement, children
from aioifx.server.sql.syntax.primaries import at_query
from aioifx.server.sql.syntax.queries import (
    parse_common_tables,
    parse_item_query,
    parse_query,
    parse_statement_query,
    parse_subquery,
)
from aioifx.server.sql.syntax.settings import parse_set
from aioifx.server.sql.syntax.token_stream import NOT_IMPLEMENTED, SYNTAX_ERROR, Grammar, TokenStream
from aioifx.server.sql.syntax.tokens import Token, TokenKind, tokenize, tokens_of
from aioifx.server.sql.syntax.types import parse_type
from aioifx.sqltypes import SqlType

MAX_HEIGHT: Final = 160
"""Maximum height of a tree: long chains of ``||`` and UNION are high without deep nesting."""

_GRAMMAR: Final = Grammar(
    parse_value, parse_condition, parse_either, parse_query, parse_subquery, parse_item_query
)
_READERS: Final[dict[str, Callable[[TokenStream], Statement]]] = {
    **CHANGES,
    **OBJECTS,
    **SESSIONS,
    "set": parse_set,
}
_NOT_EXECUTED: Final = (
    ("connect", "to"),
    ("disconnect",),
    ("start", "violations", "table"),
    ("stop", "violations", "table"),
    ("save", "external", "directives"),
)


def parse(text: str, *, delimident: bool = False) -> Statement:
    """The tree of one statement.

    Args:     delimident: double quotes delimit names instead of strings.
    Raises:   SqlError: -201 for a syntax error, -999 for Informix SQL that is not supported, or what
              `tokenize` refuses.
    """
    s = TokenStream(text, tokenize(text, delimident=delimident), _GRAMMAR)
    statement = _statement(s)
    if s.accept(";") and s.token.kind is not TokenKind.END:
        raise s.unsupported(";")
    if s.token.kind is not TokenKind.END:
        raise s.refusal()
    _require_height(statement)
    return statement


def parse_type_text(text: str) -> SqlType:
    """The type in *text*, written as in a column or parameter declaration.

    Raises:   SqlError: as `parse`; -9628, it is not a built-in type.
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
    """Read the statement that begins with WITH: a query, or INSERT, which gives the common tables to its query.

    Source:   documented: WITH statement; it precedes SELECT, INSERT, UPDATE and DELETE
    """
    common = parse_common_tables(s)
    if s.at_any("update", "delete"):
        raise s.unsupported(f"WITH {s.token.text.upper()}")
    if not s.at("insert"):
        return parse_statement_query(s, common)
    insert = parse_insert(s)
    if insert.query is None or insert.query.common_tables:
        raise SqlError(SYNTAX_ERROR, offset=insert.offset)
    recursive, common_tables = common
    return replace(insert, query=replace(insert.query, is_recursive=recursive, common_tables=common_tables))


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

    Routine bodies keep their semicolons. The first lines of dbschema's output are not a statement.

    Raises:   SqlError: what `tokenize` refuses; its offset counts from the beginning of the script.
    """
    begun: list[Token] = []
    banner = _BANNER.match(text)
    for token in tokens_of(_blanked(banner[0]) + text[banner.end() :] if banner else text):
        ends = token.kind is TokenKind.END or (token.kind is TokenKind.SYMBOL and token.text == ";")
        if not ends or (token.kind is not TokenKind.END and _in_routine(begun)):
            begun.append(token)
        elif begun:
            start = begun[0].offset - 1
            yield text[start : begun[-1].end - 1], start
            begun = []


_BANNER: Final = re.compile(
    r"\s*DBSCHEMA Schema Utility[^\n]*(?:\n(?:Copyright|Software Serial Number)[^\n]*)*"
)
"""Observed in dbschema's output on stdout, releases 7.31 to 14.10."""


def _blanked(text: str) -> str:
    """Blanks in place of a text, so that later offsets stay the same."""
    return re.sub(r"[^\n]", " ", text)


def _in_routine(begun: list[Token]) -> bool:
    """Whether these tokens start a CREATE PROCEDURE or CREATE FUNCTION without its END yet.

    DOCUMENT and WITH LISTING IN may follow the END. An external routine has no body, and may have no END.
    """
    words = [token.text if token.kind is TokenKind.NAME else "" for token in begun]
    if not words or words[0] != "create":
        return False
    kind = next((word for word in words[1:] if word not in ("dba", "or", "replace")), "")
    if kind not in ("procedure", "function"):
        return False
    return _ENDS.isdisjoint(pairwise(words))


_ENDS: Final = {("end", "procedure"), ("end", "function"), ("external", "name")}
