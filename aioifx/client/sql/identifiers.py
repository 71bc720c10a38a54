"""Checks of table, column and routine names from callers, without quoting. Never: SQL around them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, cast

from aioifx.errors import InterfaceError

# Groups that could be possessive are not: CPython before 3.11.5 loses the start of a possessive group that contains
# another repetition (gh-106052). A name matches in only one way, so no alternative is tried twice.
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

_MAX_NAME: Final = 400
"""Maximum characters: three identifiers of 128 bytes, a server name and the separators (documented)."""


def object_name(name: object, what: str) -> str:
    """Return *name* after a check that it is exactly ``[database[@server]:][owner.]name``.

    Args:
        what: its name in messages.

    Raises:
        InterfaceError: *name* has another form, so it could be other SQL.
    """
    return _checked(name, what, _OBJECT, "[database[@server]:][owner.]name")


def column_name(name: object, what: str) -> str:
    """Return *name* after a check that it is one identifier; a delimited one keeps its quotes."""
    return _checked(name, what, _COLUMN, "one identifier")


def catalog_name(name: str) -> str:
    """One identifier, checked by `column_name`, as the catalog has it: in lower case unless it is delimited."""
    return name[1:-1].replace('""', '"') if name[0] == '"' else name.lower()


def plain_name(name: str) -> str:
    """One identifier, checked by `column_name`, in lower case and without its quotes, to compare it with others."""
    return catalog_name(name).lower()


def check_column_names(names: object, option: str) -> None:
    """Raise InterfaceError unless *names* is a sequence of one or more names for `column_name`."""
    kind = type(names).__name__
    if isinstance(names, str) or not isinstance(names, Sequence) or not names:
        raise InterfaceError(f"{option}: expected a sequence of one or more names, got {kind}")
    for name in cast(Sequence[object], names):
        column_name(name, option)


def _checked(name: object, what: str, pattern: re.Pattern[str], form: str) -> str:
    if not isinstance(name, str):
        raise InterfaceError(f"{what}: expected a str, got {type(name).__name__}")
    if len(name) > _MAX_NAME or not pattern.fullmatch(name):
        raise InterfaceError(f"{what}: expected {form}, got {name[:60]!r}")
    return name
