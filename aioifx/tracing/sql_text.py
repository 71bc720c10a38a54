"""SQL text without its literals and comments. Never: what a statement means."""

from __future__ import annotations

import re
from typing import Final

HIDDEN: Final = "?"
"""Stands for a literal."""

# Quoted text in double quotes is a string unless DELIMIDENT is set, so it is hidden, too. An open quote or comment
# extends to the end. A number takes the characters after it, so that no part of an odd literal is left.
_TOKEN: Final = re.compile(
    r"""
    [^\W\d][\w$]*+
  | (?P<comment> -- [^\n]*+ | /\* .*? (?: \*/ | \Z ) )
  | \{ (?P<braces> [^}]*+ ) \}?+
  | (?P<literal> ' [^']*+ '?+ | " [^"]*+ "?+ | [\d$][\w.$]*+ )
    """,
    re.VERBOSE | re.DOTALL,
)


def hide_literals(sql: str) -> str:
    """*sql* with ``?`` for each literal, and without the text of comments, hints and collections in braces.

    Braces enclose a comment or, after SET, MULTISET and LIST, a collection. Quoted text in a collection may contain
    braces. If a quote is open at the first closing brace, the end of the braces is ambiguous, and the rest is hidden.
    """
    parts: list[str] = []
    end = 0
    for found in _TOKEN.finditer(sql):
        parts.append(sql[end : found.start()])
        end = found.end()
        braces = found["braces"]
        if braces is not None:
            parts.append("{?}")
            if braces.count("'") % 2 or braces.count('"') % 2:
                return "".join([*parts, HIDDEN])
        elif found["comment"] is not None:
            parts.append("/*?*/")
        else:
            parts.append(found[0] if found["literal"] is None else HIDDEN)
    return "".join([*parts, sql[end:]])
