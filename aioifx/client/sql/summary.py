"""Summary and sanitized text of a statement, for telemetry. Never: a value; which class of error a text is.

    SELECT name FROM item i, stock s WHERE price < 9.99 AND kind = 'pen'
    summary: SELECT item stock                       text: SELECT name FROM item i, stock s WHERE price < ? AND kind = ?

Invariants:
1. Each character is examined a bounded number of times: no pattern backtracks.
2. Literals and comments are in neither. A text in double quotes is a literal, as without DELIMIDENT, except in a name.
3. Braces after SET, MULTISET and LIST are a collection or a comment, which is hidden. If they have an open quote, the
   rest of the statement is hidden too, since it depends on which of them they are.
4. Any text is accepted. A summary has known operations and the names after them; it is empty for an unknown verb.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from aioifx.client.sql.scanner import COMMENTS

_CACHED: Final = 512
_MAX_TEXT: Final = 8192
"""Characters of a statement that are examined; the rest is replaced by "..."."""
_MAX_SUMMARY: Final = 255
"""Limit of OpenTelemetry's `db.query.summary`; no name is cut."""

_WORD: Final = r"[^\W\d][\w$]*+"
_TOKEN: Final = re.compile(
    rf"""
    (?P<directive> --\+ [^\n]*+ | /\*\+ .*? (?: \*/ | \Z ) | \{{\+ [^}}]*+ \}}?+ )
  | (?P<comment> {COMMENTS} )
  | (?P<braces> (?: SET | MULTISET | LIST ) \s*+ \{{ [^}}]*+ \}}?+ )
  | (?P<time> (?: DATETIME | INTERVAL ) \s*+ \( [^()'"]*+ \) )
  | (?P<name>
      (?: {_WORD} | "[^"]*+" (?= \. ) | '[^']*+' (?= \. ) )
      (?: [.:@] (?: {_WORD} | "[^"]*+" | '[^']*+' (?= \. ) ) )*
    )
  | (?P<number> \.?+ \d [\w.]*+ (?: (?<= [eE] ) [+-] \d++ )? )
  | (?P<literal> (?: ' [^']*+ '?+ )+ | (?: " [^"]*+ "?+ )+ )
  | (?P<blank> \s++ )
  | .
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_LIST: Final = re.compile(r"\b(IN\s*+)\(\s*+\?(?:\s*+,\s*+\?)++\s*+\)", re.IGNORECASE)

_DEFINITIONS: Final = frozenset({"alter", "create", "drop", "rename"})
_OBJECTS: Final = frozenset(
    "access_method aggregate cast column constraint database fragment function index procedure role routine security"
    " sequence synonym table trigger trusted type user view xadatasource".split()
)
"""Kinds of objects, the last word of a definition's operation: CREATE UNIQUE INDEX."""
_MODIFIERS: Final = frozenset(
    "cluster dba default distinct external global opaque private public raw row standard temp temporary unique".split()
)
_VERBS_WITH_TARGET: Final = frozenset({"call", "database", "lock", "truncate", "unlock", "update"})
_VERBS_ALONE: Final = frozenset(
    "begin close commit connect disconnect grant info release revoke rollback save savepoint start stop".split()
)
_VERBS: Final = (
    _DEFINITIONS
    | _VERBS_WITH_TARGET
    | _VERBS_ALONE
    | {"delete", "execute", "insert", "merge", "select", "set"}
)
_INTRODUCES_TARGET: Final = frozenset({("insert", "into"), ("merge", "into"), ("merge", "using")})
_BEFORE_TARGET: Final = frozenset(
    "exists function if lateral list multiset not only outer procedure set table".split()
)
"""Words between an operation or FROM and the name."""
_AFTER_FROM: Final = frozenset("connect for group having into order start union where window".split())


class Description(NamedTuple):
    """Result of `describe`."""

    summary: str
    """Operations and the names after them, as written: at most 255 characters. Empty for an unknown verb."""
    text: str
    """The statement with ``?`` for each literal, and without comments. Optimizer directives stay."""


def describe(sql: str) -> Description:
    """Summary and sanitized text of a statement."""
    if len(sql) <= _MAX_TEXT:
        return _describe(sql)
    summary, text = _describe(sql[:_MAX_TEXT])
    return Description(summary, f"{text}...")


@lru_cache(_CACHED)
def _describe(sql: str) -> Description:
    summary, text = _Summary(), list[str]()
    for token in _TOKEN.finditer(sql):
        kind, value = token.lastgroup, token[0]
        match kind:
            case "name":
                summary.add_name(value)
            case "literal" if value[0] == '"' and summary.block.expects_name:  # quoted, with DELIMIDENT
                summary.add_name(value)
            case "braces":
                head, _, content = value.partition("{")
                text.append(f"{head}{{?}}")
                if content.count("'") % 2 or content.count('"') % 2:
                    text.append("?")
                    break
                continue
            case "time":
                value = f"{value[: value.index('(')]}(?)"
            case "number" | "literal":
                value = "?"
            case "comment":
                value = " " if text and not text[-1].isspace() else ""
            case "blank" | "directive":
                pass
            case _:
                summary.add_mark(value[-1])
        text.append(value)
    return Description(str(summary), _LIST.sub(r"\1(?)", "".join(text).strip()))


@dataclass(slots=True)
class _Block:
    """What is between two parentheses, or outside all."""

    is_query: bool = False
    """Whether its FROM lists tables; that of TRIM(LEADING x FROM y) does not."""
    is_in_from: bool = False
    expects_name: bool = False


class _Summary:
    """Collects operations and their targets, token by token."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._outer: list[_Block] = []
        self.block = _Block()
        self._verb = ""
        self._begins = True
        """A statement's verb is next."""
        self._is_defining = False
        """The kind of a definition's object is next."""
        self._is_done = False
        """The rest of the statement is skipped: a routine's body, arguments."""

    def __str__(self) -> str:
        parts = self._parts
        while len(summary := " ".join(parts)) > _MAX_SUMMARY:
            parts = parts[:-1]
        return summary

    def add_name(self, text: str) -> None:
        """Add a keyword, or a name with its owner and database."""
        word = text.lower()
        if self._is_done:
            return
        if self._begins:
            self._begin(word, text)
        elif self._is_defining:
            self._define(word, text)
        elif word == "select":
            self._parts.append(text)
            self.block = _Block(is_query=True)
        elif word == "from" and self.block.is_query:
            self.block.is_in_from = self.block.expects_name = True
        elif self.block.is_in_from and word in _AFTER_FROM:
            self.block.is_in_from = self.block.expects_name = False
        elif self.block.is_in_from and word == "join":
            self.block.expects_name = True
        elif not self._outer and (self._verb, word) in _INTRODUCES_TARGET:
            self.block.expects_name = True
        elif self.block.expects_name:
            self._add_target(word, text)

    def add_mark(self, mark: str) -> None:
        """Add punctuation."""
        if mark == "(":
            # In FROM: OUTER (a, b), TABLE (FUNCTION f()), or a subquery, which begins with SELECT.
            is_list = self.block.is_in_from and self.block.expects_name
            self.block.expects_name = False
            self._outer.append(self.block)
            self.block = _Block(is_in_from=is_list, expects_name=is_list)
        elif mark == ")" and self._outer:
            self.block = self._outer.pop()
        elif mark == ",":
            self.block.expects_name = self.block.is_in_from
        elif mark == ";" and self._verb not in _DEFINITIONS:
            self.block, self._verb = _Block(), ""
            self._outer.clear()
            self._begins, self._is_done = True, False

    def _begin(self, word: str, text: str) -> None:
        if word == "with":  # the SELECTs in it and after it follow
            self._begins = False
            return
        self._begins, self._verb = False, word
        if word not in _VERBS:
            self._is_done = True
            return
        self._parts.append(text)
        self._is_done = word in _VERBS_ALONE
        self._is_defining = word in _DEFINITIONS or word in ("execute", "set")
        self.block.is_query = word in ("delete", "select")
        self.block.expects_name = word in _VERBS_WITH_TARGET

    def _define(self, word: str, text: str) -> None:
        """Add a word of the operation: the kind of object ends it."""
        if self._verb == "set" or word in _OBJECTS:
            self._is_defining, self._is_done = False, self._verb == "set"
            self.block.expects_name = not self._is_done
        elif word not in _MODIFIERS:
            self._is_defining, self._is_done = False, True
            return
        self._parts.append(text)

    def _add_target(self, word: str, text: str) -> None:
        if self._verb == "update" and word == "statistics":
            self._is_done = True
        elif word in _BEFORE_TARGET:
            return
        self.block.expects_name = False
        self._parts.append(text)
        if self._verb not in ("delete", "insert", "merge", "select", "update", ""):
            self._is_done = True
