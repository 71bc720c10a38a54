"""Hints for SQL of other databases, and for what is not SQL, by the place of an error. Never: what is an error.

Loaded with the first error of a statement. Only the token that the server has pointed at has a hint. So the same words
in strings and comments have none, nor as names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from aioifx.client.sql.scanner import TOKEN

_SYNTAX: Final = frozenset({-201, -202})
_COLUMN: Final = frozenset({-217})
_TABLE: Final = frozenset({-206})
_ROUTINE: Final = frozenset({-674})
_NOT_SUPPORTED: Final = frozenset({-999})


class _Hint(NamedTuple):
    codes: frozenset[int]
    pattern: str
    """Found in the tokens around the place, in lower case, separated by blanks; ``@`` precedes the token at the place.

    ``@from`` alone is a place where a SELECT has no FROM.
    """
    text: str
    verbs: str = ""
    """The keywords that may be the last one of these before the place; empty: any."""


_PAGING: Final = "Informix has SKIP n FIRST m after SELECT instead of LIMIT m OFFSET n"
_FIRST: Final = "Informix has FIRST n after SELECT instead of {}"
_CHANGES: Final = "insert update delete"

HINTS: Final = (
    _Hint(_SYNTAX, r"@(limit|offset) (\d|\?)", _PAGING),
    _Hint(_SYNTAX, r"\b(from|join) \S+ offset @(\d|\?)", _PAGING),
    _Hint(_SYNTAX, r"\blimit (\d+|\?) @, (\d|\?)", _PAGING),
    _Hint(_SYNTAX, r"\bselect (distinct )?(top )@(\d|\?)", _FIRST.format("TOP n")),
    _Hint(
        _SYNTAX, r"(@fetch|\bfetch @)( first| next|first|next)\b", _FIRST.format("FETCH FIRST n ROWS ONLY")
    ),
    _Hint(_SYNTAX, r"@from$", "a SELECT needs FROM in Informix, such as FROM sysmaster:sysdual"),
    _Hint(
        _SYNTAX,
        r"@returning (\*|\w|\"|\()",
        "Informix has no RETURNING; the result of execute has the SERIAL value: .serial",
        _CHANGES,
    ),
    _Hint(
        _SYNTAX, r"@on (conflict|duplicate)\b", "Informix has MERGE instead of ON CONFLICT", "insert select"
    ),
    _Hint(
        _SYNTAX,
        r"\bvalues \( .* \) @, \(",
        "Informix inserts one row by VALUES; executemany inserts several",
        "insert",
    ),
    _Hint(
        _SYNTAX,
        r"[\w)\"] @(not )?ilike [\w?'\":(]",
        "Informix has no ILIKE: write LOWER(column) LIKE a text in lower case",
    ),
    _Hint(
        _COLUMN | _SYNTAX,
        r"(=|<>|! =|\bis|\bis not|\bselect|,|\() @(true|false)(?! [.(=])",
        "the BOOLEAN literals of Informix are 't' and 'f'",
    ),
    _Hint(
        _COLUMN, r"(?<![.] )@current_timestamp(?! [.])", "Informix has CURRENT instead of CURRENT_TIMESTAMP"
    ),
    _Hint(_COLUMN, r"(?<![.] )@current_date(?! [.])", "Informix has TODAY instead of CURRENT_DATE"),
    _Hint(
        _ROUTINE | _SYNTAX,
        r"(?<![.] )(@now \( \)|\bnow \( @\))",
        "Informix has CURRENT YEAR TO SECOND instead of now()",
    ),
    _Hint(
        _ROUTINE | _SYNTAX,
        r"(?<![.] )(@getdate \( \)|\bgetdate \( @\))",
        "Informix has CURRENT YEAR TO SECOND instead of getdate()",
    ),
    _Hint(
        _ROUTINE | _SYNTAX,
        r"(?<![.] )(@curdate \( \)|\bcurdate \( @\))",
        "Informix has TODAY instead of curdate()",
    ),
    _Hint(_ROUTINE, r"(?<![.] )@ifnull \(", "Informix has NVL instead of IFNULL"),
    _Hint(_ROUTINE, r"(?<![.] )@date_trunc \(", "Informix has TRUNC instead of DATE_TRUNC"),
    _Hint(_TABLE, r"\b(from|join|,) @dual\b(?! [.:])", "Informix has sysmaster:sysdual instead of DUAL"),
    _Hint(
        _SYNTAX,
        r"@(auto_increment|autoincrement)\b(?! [.(=])",
        "Informix has the type SERIAL instead of AUTO_INCREMENT",
        "create alter",
    ),
    _Hint(_SYNTAX, "@`", "Informix has no backticks; with DELIMIDENT=y names may be in double quotes"),
    _Hint(
        _SYNTAX, r"^@\\ [a-z]", "backslash commands are those of psql; systables and syscolumns list tables"
    ),
    _Hint(
        _SYNTAX,
        r"^@(load from|unload to|info \w)",
        "LOAD, UNLOAD and INFO are commands of dbaccess, not SQL; connections have load and unload",
    ),
    _Hint(
        _SYNTAX | _NOT_SUPPORTED,
        r"^create @?(procedure|function|routine) @?from @?(if|['\"])",
        "ESQL/C reads the file of CREATE PROCEDURE FROM and sends its text; send that, or run the file as a script",
    ),
    _Hint(
        _SYNTAX,
        r"^@(show (tables|columns|databases)|describe \w|desc \w)",
        "systables and syscolumns of Informix list tables and columns, sysmaster:sysdatabases databases",
    ),
    _Hint(_SYNTAX, r"^(@start transaction|start @transaction)", "Informix has BEGIN WORK"),
)
"""All hints; the first one that is found is given."""

_BEFORE: Final = 40
_AFTER: Final = 4
"""Tokens around a place that patterns see."""
_QUOTES: Final = "'\""
"""A text in quotes is seen as its quote."""
_VERBS: Final = frozenset({"select", "insert", "update", "delete", "merge", "create", "alter"})


def hint_at(sql: str, sqlcode: int, offset: int, token: str = "") -> str:
    """The hint for the place of an error; empty if there is none.

    Args:
        offset: of the place in *sql*, from 1; 0 if the server gave none: then the first word that is *token* is it.
    """
    hints = [hint for hint in HINTS if sqlcode in hint.codes]
    if not hints or not (offset or token):
        return ""
    tokens, index = _tokens_at(sql, offset, token.lower())
    if index < 0:
        return ""
    before, after = tokens[max(0, index - _BEFORE) : index], tokens[index : index + _AFTER]
    if _lacks_from(tokens[:index], after):
        after = ["from"]
    elif after == ["from"]:
        return ""
    text = f"{' '.join(before)} @{' '.join(after)}".lstrip()
    verb = next((word for word in reversed(before) if word in _VERBS), "")
    for hint in hints:
        if (not hint.verbs or verb in hint.verbs.split()) and re.search(hint.pattern, text):
            return hint.text
    return ""


def _tokens_at(sql: str, offset: int, word: str) -> tuple[list[str], int]:
    """The tokens up to some after the place, in lower case, and the index of the one at it; -1: there is none."""
    tokens: list[str] = []
    index = -1
    for found in TOKEN.finditer(sql):
        if found["skipped"]:
            continue
        text = found[0].lower() if found[0][0] not in _QUOTES else found[0][0]
        if index < 0 and (found.end() >= offset if offset else text == word):
            index = len(tokens)
        tokens.append(text)
        if 0 <= index <= len(tokens) - _AFTER:
            break
    return tokens, len(tokens) if index < 0 and offset else index


def _lacks_from(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether a SELECT has no FROM at a place where its select list has ended."""
    if after[:1] not in ([], [";"], [")"], ["where"], ["union"]):
        return False
    depth = 0
    for word in reversed(before):
        depth += (word == ")") - (word == "(")
        if depth < 0:
            return False
        if depth == 0 and word in ("from", "select"):
            return word == "select" and before[-1] != "select"
    return False
