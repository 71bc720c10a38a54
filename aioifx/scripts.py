"""Scripts of SQL: where a statement ends, bodies of routines included. Never: how tokens are read, what SQL means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple


class Piece(NamedTuple):
    """A token of a script."""

    text: str
    """A word in lower case, or ``;``; empty for any other token."""
    start: int
    end: int


def split(text: str, pieces: Iterable[Piece]) -> Iterator[tuple[str, int]]:
    """The statements of *text*, terminated by ``;`` (not included), with the start of each, from 0.

    Args:
        pieces: its tokens, without comments.
    """
    start = end = -1
    body = RoutineBody()
    for piece in pieces:
        if piece.text != ";" or body.is_open:
            start, end = piece.start if start < 0 else start, piece.end
            body.read(piece.text)
        elif start >= 0:
            yield text[start:end], start
            start, body = -1, RoutineBody()
    if start >= 0:
        yield text[start:end], start


_NOT_SQL: Final = re.compile(
    r"""
    \A \s* DBSCHEMA [ ] Schema [ ] Utility [^\n]* (?: \n (?: Copyright | Software [ ] Serial [ ] Number ) [^\n]* )*
  | ^ [ \t]* (?: (?: export | setenv ) [ \t]+ )? DBDELIMITER (?: = | [ \t] ) [^\n]*
    """,
    re.VERBOSE | re.MULTILINE,
)
"""Lines that are not SQL.

The first ones of dbschema's output on stdout (observed, releases 7.31 to 14.10); a setting of the shell beside SQL.
"""


def only_sql(text: str) -> str:
    """A script with blanks in place of lines that are not SQL; offsets stay the same."""
    return _NOT_SQL.sub(lambda lines: re.sub(r"[^\n]", " ", lines[0]), text)


class RoutineBody:
    """Whether a statement's tokens are a CREATE PROCEDURE or CREATE FUNCTION without its END yet.

    DOCUMENT and WITH LISTING IN may follow the END. An external routine has no body, and may have no END. Nor
    has CREATE PROCEDURE FROM, which names a file.
    """

    __slots__ = ("_is_create", "_last", "is_open")

    def __init__(self) -> None:
        self.is_open = False
        self._is_create = True
        """Whether the next token decides about it."""
        self._last: str | None = None

    def read(self, word: str) -> None:
        """Take the statement's next token, as in `Piece`."""
        if self._last is None:
            self._is_create = word == "create"
        elif self._is_create and self.is_open:
            self._is_create, self.is_open = False, word != "from"
        elif self._is_create and word not in ("dba", "or", "replace"):
            self._is_create = self.is_open = word in ("procedure", "function")
        elif self.is_open:
            self.is_open = (self._last, word) not in _ENDS
        self._last = word


_ENDS: Final = {("end", "procedure"), ("end", "function"), ("external", "name")}
