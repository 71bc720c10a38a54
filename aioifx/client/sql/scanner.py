"""Lexical scan of a statement before it is sent: placeholders, verb. Never: its meaning.

Invariants:
1. Each character is examined a bounded number of times: no pattern backtracks.
2. Text that the server rejects anyway is accepted: an open quote or comment extends to the end.
3. The text is sent unchanged, so braces enclose comments, as at the server. JDBC's escapes are therefore comments here,
   too (observed: JDBC resolves {d ..}, {fn ..} and {call ..} before sending).
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from aioifx.errors import InterfaceError, ProgrammingError

_CACHED: Final = 256
"""Number of statements in the cache; a program repeats few different ones."""
_CACHED_SIZE: Final = 8192
"""Longer texts are usually generated: scanned again instead of cached."""

# Parts of patterns with re.VERBOSE, re.DOTALL and re.IGNORECASE.
COMMENTS: Final = r"""
    -- [^\n]*+
  | /\* .*? (?: \*/ | \Z )
  | \{ [^}]*+ \}?+
"""
# A doubled quote inside a string is scanned as two adjacent strings, with the same result. After SET, MULTISET and
# LIST a brace opens a collection instead of a comment (documented: Guide to SQL Syntax, literal collection).
QUOTED_OR_COLLECTION: Final = r"""
    ' [^']*+ '?+
  | " [^"]*+ "?+
  | (?<![\w$]) (?: SET | MULTISET | LIST ) (?: [ \t\r\n\f\v] | -- [^\n]*+ | /\* .*? \*/ )*+ \{
"""
_BEFORE_VERB: Final = re.compile(rf"(?: [ \t\r\n\f\v(] | {COMMENTS} )*+", re.VERBOSE | re.DOTALL)
_BLANK: Final = re.compile(rf"(?: [ \t\r\n\f\v] | {COMMENTS} )*+\Z", re.VERBOSE | re.DOTALL)
_WORD: Final = re.compile(r"[^\W\d]\w*+")
_COMMENT_OR_WORD: Final = re.compile(rf"{COMMENTS} | ( \w++ )", re.VERBOSE | re.DOTALL)
_SKIPPED_OR_PLACEHOLDER: Final = re.compile(
    rf"""
    \?
  | {QUOTED_OR_COLLECTION}
  | [()]
  | (?<![\w$]) WHERE (?![\w$])
  | {COMMENTS}
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
TOKEN: Final = re.compile(
    rf"""
    (?P<skipped> {COMMENTS} | \s++ )
  | {QUOTED_OR_COLLECTION}
  | ::++
  | (?P<placeholder> \? )
  | (?<![\w$'"]) : (?P<name> [^\W\d][\w$]*+ | [0-9]++ (?![\w$]) )
  | (?P<foreign> (?<![\w$]) \$ [0-9]++ | % (?: \( [^\W\d]\w*+ \) )?+ s (?!\w) )
  | (?P<word> [^\W\d][\w$]*+ )
  | \w++
  | .
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
"""One token of a statement.

`skipped` are blanks and comments. `name` is a parameter, :name or :1, without its colon. A colon starts one only where
it has no other meaning in SQL: after a letter, digit or quote it follows a database name (db@server:table) or is part
of a time (12:30). Next to another colon it is a cast. `foreign` is a placeholder in another driver's style.
"""
# DATABASE name [EXCLUSIVE]; CREATE DATABASE [IF NOT EXISTS] name ...; the name may be owned, quoted, or name a server.
_DATABASE: Final = re.compile(
    r"""\bdatabase\s++ (?: if \s++ not \s++ exists \s++ )?+ ["']?+ ([^\s"';]++)""", re.VERBOSE | re.IGNORECASE
)


_FOR_UPDATE: Final = re.compile(
    rf"(?<![\w$]) FOR (?: [ \t\r\n\f\v] | {COMMENTS} )++ UPDATE (?![\w$])",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


class Scan(NamedTuple):
    """Result of `scan`."""

    placeholders: int
    verb: str
    """The first word in lower case, after any parentheses; empty if the text begins with something else."""
    before_where: int = 0
    """Placeholders before the WHERE of the statement itself, not of a subquery; all of them if there is none."""


def check_sql(sql: object) -> None:
    """Raise InterfaceError unless *sql* is a str."""
    if not isinstance(sql, str):
        kind = type(sql).__name__
        hint = "; a t-string has the values of one execution" if kind == "Template" else ""
        raise InterfaceError(f"sql: expected a str, got {kind}{hint}")


def scan(sql: str) -> Scan:
    """Count the placeholders of a statement and find its verb.

    Raises:
        InterfaceError: *sql* is not a str.
        ProgrammingError: only blanks and comments, or a NUL.
    """
    check_sql(sql)
    return _remembered(sql) if len(sql) <= _CACHED_SIZE else _scan(sql)


def _scan(sql: str) -> Scan:
    if (nul := sql.find("\0")) >= 0:
        raise ProgrammingError(f"the statement contains a NUL, character {nul + 1}", offset=nul + 1, sql=sql)
    if _BLANK.match(sql):
        raise ProgrammingError(
            "the statement is empty: only blanks and comments"
            + (" (braces are comments; JDBC's escapes are not resolved)" if "{" in sql else ""),
            sql=sql,
        )
    placeholders, before_where = _count(sql) if "?" in sql else (0, 0)
    before = _BEFORE_VERB.match(sql)
    word = _WORD.match(sql, before.end() if before else 0)
    return Scan(placeholders, word[0].lower() if word else "", before_where)


def _count(sql: str) -> tuple[int, int]:
    """Number of placeholders, and of those before the WHERE outside parentheses."""
    count, depth = 0, 0
    before_where: int | None = None
    for found in _SKIPPED_OR_PLACEHOLDER.finditer(sql):
        match found[0]:
            case "?":
                count += 1
            case "(":
                depth += 1
            case ")":
                depth -= 1
            case word if depth == 0 and before_where is None and word.lower() == "where":
                before_where = count
            case _:
                pass
    return count, count if before_where is None else before_where


def placeholder_values(sql: str) -> list[int | None]:
    """For each value after VALUES the index of the placeholder that it is; None: any other expression.

    Empty without VALUES, or if its parentheses are not closed.
    """
    found: list[int | None] = []
    values: list[int | None] = []
    value: list[str] = []
    depth = placeholders = 0
    begins = is_inside = False
    for token in TOKEN.finditer(sql):
        if token["skipped"]:
            continue
        text = token[0]
        placeholders += text == "?"
        depth += (text[-1] in "({") - (text in (")", "}"))
        if is_inside and (depth == 0 or (depth == 1 and text == ",")):
            values.append(placeholders - 1 if value == ["?"] else None)
            value = []
            if depth == 0:
                found, is_inside = values, False
        elif is_inside:
            value.append(text)
        elif begins and text == "(":
            values, value, is_inside = [], [], True
        begins = depth == 0 and text.lower() == "values"
    return found


_FILE_ROUTINES: Final = frozenset({"filetoblob", "filetoclob", "lotofile"})


def uses_client_file(sql: str) -> bool:
    """Whether a statement certainly reads or writes a file of the client: ``lotofile(..., 'client')``."""
    text = sql.lower()
    if "client" not in text or not any(name in text for name in _FILE_ROUTINES):
        return False
    words = {found[0].lower() for found in TOKEN.finditer(sql) if not found["skipped"]}
    return "'client'" in words and not words.isdisjoint(_FILE_ROUTINES)


_TARGET_TABLE: Final = re.compile(
    r"""
    \s*+ (?: INSERT \s++ INTO | UPDATE ) \s++
    ( (?: (?: [^\W\d][\w$]*+ | " [^"]++ " | ' [^']++ ' ) \. )? (?: [^\W\d][\w$]*+ | " [^"]++ " ) )
    (?= [\s(] )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ASSIGNED: Final = re.compile(r"""( [^\W\d][\w$]*+ | " [^"]++ " ) \s* = \s* \Z""", re.VERBOSE)


def target_table(sql: str) -> str:
    """The table of an INSERT or UPDATE, as written; empty for other statements and unusual forms."""
    found = _TARGET_TABLE.match(sql)
    return found[1] if found else ""


def assigned_columns(sql: str) -> dict[int, str]:
    """The columns that placeholders are assigned to, ``SET column = ?``, by the placeholder's index."""
    assigned: dict[int, str] = {}
    count = 0
    for found in _SKIPPED_OR_PLACEHOLDER.finditer(sql):
        if found[0] == "?":
            if column := _ASSIGNED.search(sql[max(0, found.start() - _LONGEST_NAME) : found.start()]):
                assigned[count] = column[1]
            count += 1
        elif found[0].lower() == "where":
            break
    return assigned


_LONGEST_NAME: Final = 300
"""Characters before a placeholder that are searched; a name has up to 128 bytes (documented)."""


def first_words(sql: str, count: int) -> list[str]:
    """The first *count* words and numbers of a statement, in lower case; skips comments, blanks and signs."""
    words = (found[1].lower() for found in _COMMENT_OR_WORD.finditer(sql) if found[1])
    return list(islice(words, count))


def is_for_update(sql: str) -> bool:
    """Whether a query may be FOR UPDATE; the same words in a string or a comment are found, too."""
    return _FOR_UPDATE.search(sql) is not None


def named_database(sql: str) -> str:
    """The database named by a DATABASE or CREATE DATABASE statement, as written; empty if there is none."""
    found = _DATABASE.search(sql)
    return found[1] if found else ""


_remembered = lru_cache(maxsize=_CACHED)(_scan)
