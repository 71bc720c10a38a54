"""What usual mistakes with parameters look like, and what to write instead. Never: whether a statement is wrong."""

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
    """What to write instead of the first placeholder of another driver's; empty where there is none."""
    for found in _FOREIGN.finditer(sql):
        mark = found["number"] or found["format"]
        if mark:
            return f"the placeholder is ?, not {mark}"
        if name := found["name"]:
            return f"the value of {name} goes into named="
    return ""


def hint_for_values(sql: str, expected: int, params: Sequence[Any]) -> str:
    """What to do about values whose number or kind does not fit a statement with so many placeholders."""
    only = params[0] if len(params) == 1 else None
    if isinstance(only, Mapping):
        return "a mapping goes into named=, and its names into the statement as :name"
    if not expected and params:
        return hint_for_text(sql)
    if isinstance(only, (tuple, list)):
        return "give the values one by one: (sql, *values)"
    return ""
