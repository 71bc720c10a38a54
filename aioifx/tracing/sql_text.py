"""SQL text without its literals and comments. Never: what a statement means."""

from __future__ import annotations

import re
from typing import Final

HIDDEN: Final = "?"
"""Stands for a literal."""

# Quoted text in double quotes is a string unless DELIMIDENT is set, so it is hidden, too. An open quote or comment
# extends to the end. A number takes the characters after it, so that no part of an odd literal is left.
_LITERAL: Final = re.compile(
    r"""
    (?P<word> [^\W\d][\w$]*+ )
  | (?P<comment> -- [^\n]*+ | /\* .*? (?: \*/ | \Z ) )
  | (?P<brace> \{ [^}]*+ \}?+ )
  | ' [^']*+ '?+ | " [^"]*+ "?+
  | [\d$][\w.$]*+
    """,
    re.VERBOSE | re.DOTALL,
)


def hide_literals(sql: str) -> str:
    """*sql* with ``?`` for each literal, and without the text of comments, hints and collections in braces."""
    return _LITERAL.sub(_replacement, sql)


def _replacement(found: re.Match[str]) -> str:
    if found["word"] is not None:
        return found[0]
    if found["brace"] is not None:
        return "{?}"
    if found["comment"] is not None:
        return "/*?*/"
    return HIDDEN
