"""Hints for common mistakes with parameters and names. Never: the decision that a statement is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aioifx.client.sql.scanner import TOKEN


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The end of a message about an unknown *name*: a suggestion from *names*, if one is similar."""
    close = closest(name, names)
    return f"; did you mean {close!r}?" if close else ""


def closest(name: str, names: Iterable[str]) -> str:
    """The one of *names* that is most similar to *name*; empty if none is similar."""
    from difflib import get_close_matches  # imported here because it is rarely needed

    return next(iter(get_close_matches(name, names, n=1)), "")


def hint_for_text(sql: str) -> str:
    """A hint for the first placeholder in another driver's style; empty if there is none."""
    for found in TOKEN.finditer(sql):
        if found["foreign"]:
            return f"the placeholder is ?, not {found[0]}"
        if found["name"]:
            return f"pass the value of {found[0]} as named="
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
