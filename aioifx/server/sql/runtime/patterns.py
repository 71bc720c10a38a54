"""LIKE and MATCHES: patterns compiled once, matched as a whole, case-sensitive. Never: how the result is used.

Invariants:
1. Trailing blanks of the value are ignored, and so are trailing blanks of a pattern after an ordinary character;
   so CHAR matches as it compares. After a wildcard, blanks are part of the pattern.
2. Matching takes polynomial time: a wildcard's first match is never retried, because the segment between two
   wildcards has a fixed length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, TypeAlias

from aioifx.server.sql.errors import SqlError

BACKSLASH: Final = "\\"

_ANY_RUN: Final = ""
"""The token for any number of characters; other tokens are expressions for exactly one."""

_Test: TypeAlias = Callable[[str], object]


def like(value: str | None, pattern: str | None, escape: str | None = BACKSLASH) -> int | None:
    """LIKE: ``%`` any run, ``_`` any character; the escape makes the next character literal."""
    if value is None or pattern is None or escape is None:
        return None
    return 1 if _like_test(pattern, escape)(value) else 0


def matches(value: str | None, pattern: str | None, escape: str | None = BACKSLASH) -> int | None:
    """MATCHES: ``*`` any run, ``?`` any character, ``[a-z]`` and ``[^a-z]`` one of a set, and the escape."""
    if value is None or pattern is None or escape is None:
        return None
    return 1 if _matches_test(pattern, escape)(value) else 0


@lru_cache(maxsize=1024)
def _like_test(pattern: str, escape: str) -> _Test:
    return _compiled(list(_like_tokens(pattern, _checked(escape))))


@lru_cache(maxsize=1024)
def _matches_test(pattern: str, escape: str) -> _Test:
    return _compiled(list(_matches_tokens(pattern, _checked(escape))))


def _checked(escape: str) -> str:
    if len(escape) == 1:
        return escape
    raise SqlError(-201, token="ESCAPE")  # assumed: the number for an escape that is not one character


def _compiled(tokens: list[str]) -> _Test:
    blanks = 0
    while blanks < len(tokens) and tokens[-1 - blanks] == r"\ ":
        blanks += 1
    if blanks and (blanks == len(tokens) or tokens[-1 - blanks] not in (_ANY_RUN, ".")):
        del tokens[len(tokens) - blanks :]
    segments = [""]
    for token in tokens:
        if token == _ANY_RUN:
            segments.append("")
        else:
            segments[-1] += token
    first, *rest = segments
    last = rest.pop() if rest else None
    # The first fit of a segment of fixed length is as good as any later one, except for the last, bound to the end
    text = first + "".join(f"(?>.*?{segment})" for segment in rest if segment)
    text += " *" if last is None else f".*{last} *"
    return re.compile(text, re.DOTALL).fullmatch


def _like_tokens(pattern: str, escape: str) -> Iterator[str]:
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            yield re.escape(next(characters, escape))
        elif character == "%":
            yield _ANY_RUN
        else:
            yield "." if character == "_" else re.escape(character)


def _matches_tokens(pattern: str, escape: str) -> Iterator[str]:
    pos, closes = 0, True
    while pos < len(pattern):
        character = pattern[pos]
        pos += 1
        if character == escape:
            yield re.escape(pattern[pos : pos + 1] or escape)
            pos += 1
        elif character == "*":
            yield _ANY_RUN
        elif character == "?":
            yield "."
        elif character == "[" and closes and (found := _set(pattern, pos, escape)):
            token, pos = found
            yield token
        else:
            closes = closes and character != "["  # nothing closes a later set either
            yield re.escape(character)


def _set(pattern: str, pos: int, escape: str) -> tuple[str, int] | None:
    """The expression for a set that starts at *pos*, and its end; None if no bracket closes it."""
    negated = pattern[pos : pos + 1] == "^"
    pos += negated
    members: list[tuple[str, bool]] = []  # a character, and whether it is an ordinary one
    while pos < len(pattern) and pattern[pos] != "]":
        escaped = pattern[pos] == escape and pos + 1 < len(pattern)
        pos += escaped
        members.append((pattern[pos], escaped or pattern[pos] != "-"))
        pos += 1
    if pos >= len(pattern):
        return None
    parts: list[str] = []
    index = 0
    while index < len(members):
        low = members[index][0]
        if index + 2 < len(members) and members[index + 1] == ("-", False):
            high = members[index + 2][0]
            parts.append(f"{re.escape(low)}-{re.escape(high)}" if low <= high else "")
            index += 3
        else:
            parts.append(re.escape(low))
            index += 1
    inside = "".join(parts)
    if not inside:  # an empty set: no character, or any
        return ("." if negated else "(?!)."), pos + 1
    return f"[{'^' if negated else ''}{inside}]", pos + 1
