"""Names of tables, columns and routines as a caller writes them: checked, never quoted. Never: SQL around them."""

from __future__ import annotations

import re
from typing import Final

from aioifx.errors import InterfaceError

# Groups give back what they have, and need not: CPython before 3.11.5 forgets where a possessive one began that has
# another repetition in it (gh-106052). There is but one way to match a name, so that nothing is tried twice.
_IDENTIFIER: Final = r"(?: [^\W\d][\w$]*+ | \" (?:[^\"\0]|\"\")+ \" )"
_OBJECT: Final = re.compile(
    rf"""
    (?: [^\W\d][\w$]*+ (?: @ [^\W\d][\w$.-]*+ )? : )?   # database, and its server
    (?: (?: {_IDENTIFIER} | '[^'\0]++' ) \. )?            # owner, in either quotes or none
    {_IDENTIFIER}
    """,
    re.VERBOSE,
)
_COLUMN: Final = re.compile(_IDENTIFIER, re.VERBOSE)

_LONGEST: Final = 400
"""Characters; three identifiers of 128 bytes, a server's name and the marks between them (documented)."""


def object_name(name: object, what: str) -> str:
    """*name*, if it is ``[database[@server]:][owner.]name`` and nothing else.

    Args:     what: what a message calls it.
    Raises:   InterfaceError: it could be SQL.
    """
    return _checked(name, what, _OBJECT, "[database[@server]:][owner.]name")


def column_name(name: object, what: str) -> str:
    """*name*, if it is one identifier; a delimited one keeps its quotes."""
    return _checked(name, what, _COLUMN, "one identifier")


def _checked(name: object, what: str, pattern: re.Pattern[str], form: str) -> str:
    if not isinstance(name, str):
        raise InterfaceError(f"{what}: must be a str, not {type(name).__name__}")
    if len(name) > _LONGEST or not pattern.fullmatch(name):
        raise InterfaceError(f"{what}: {name[:60]!r} is not {form}")
    return name
