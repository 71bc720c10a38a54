"""Hints for common mistakes with parameters. Never: the decision that a statement is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from aioifx.client.sql.scanner import COMMENTS, QUOTED_OR_COLLECTION

_FOREIGN: Final = re.compile(
    rf"""
    {QUOTED_OR_COLLECTION}
  | {COMMENTS}
  | ::++
  | (?P<number> (?<![\w$]) \$[0-9]++ )
  | (?P<format> % (?: \([^\W\d]\w*+\) )?+ s (?!\w) )
  | (?<![\w$'"]) (?P<name> :[^\W\d][\w$]*+ | :[0-9]++ (?![\w$]) )
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


def hint_for_text(sql: str) -> str:
    """A hint for the first placeholder in another driver's style; empty if there is none."""
    for found in _FOREIGN.finditer(sql):
        mark = found["number"] or found["format"]
        if mark:
            return f"the placeholder is ?, not {mark}"
        if name := found["name"]:
            return f"pass the value of {name} as named="
    return ""


def hint_for_values(sql: str, expected: int, params: Sequence[Any]) -> str:
    """A hint for values whose number or kind does not fit the statement's placeholders."""
    only = params[0] if len(params) == 1 else None
    if isinstance(only, Mapping):
        return "pass a mapping as named=, and write :name in the statement"
    if not expected and params:
        return hint_for_text(sql)
    if isinstance(only, (tuple, list)):
        return "pass the values one by one: (sql, *values)"
    return ""
