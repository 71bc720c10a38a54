"""The text of rows and collections, split into its parts: ``SET{1, 'a'}``. Never: the types of parts, stored values.

Source: the grammar is documented (Guide to SQL: Syntax, Literal Row, Literal Collection, Nested Quotation Marks): a
part is a quoted text, a number, a DATETIME or INTERVAL literal, NULL, or another row or collection, which may be
quoted. -1260 for any other text is assumed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from aioifx.server.sql.errors import SqlError

_NO_CONVERSION: Final = -1260
_HEAD: Final = re.compile(r"\s*(row\s*\(|(?:set|multiset|list)\s*\{)", re.IGNORECASE)
_QUOTED: Final = re.compile(r"""\s*(?:'((?:[^']|'')*+)'|"((?:[^"]|"")*+)")\s*""")
_MOMENT: Final = re.compile(r"\s*(?:datetime|interval)\s*\(([^()]*)\)(?:[^,(){}'\"]|\(\d\))*", re.IGNORECASE)
_WORD: Final = re.compile(r"\s*([^\s,(){}'\"]+)\s*")
_BLANKS: Final = re.compile(r"\s*")
_CLOSERS: Final = {"(": ")", "{": "}"}
MAX_DEPTH: Final = 50
"""Maximum nesting depth, as in statements."""


class Part(NamedTuple):
    """One part of a literal."""

    text: str
    is_quoted: bool = False

    @property
    def is_null(self) -> bool:
        """Whether it is the word NULL."""
        return not self.is_quoted and self.text.lower() == "null"


class Literal(NamedTuple):
    """A row or collection as text."""

    kind: str
    """row, set, multiset or list."""
    parts: tuple[Part, ...]


def is_literal(text: str) -> bool:
    """Whether a text begins like a row or collection."""
    return _HEAD.match(text) is not None


def split_literal(text: str) -> Literal:
    """The parts of a literal; a nested literal is one part.

    Raises:
        SqlError: -1260.
    """
    head = _HEAD.match(text)
    if head is None:
        raise SqlError(_NO_CONVERSION)
    closer = _CLOSERS[head[1][-1]]
    parts, end = _parts(text, head.end(), closer)
    if text[end:].strip() or (not parts and closer == ")"):
        raise SqlError(_NO_CONVERSION)
    return Literal(head[1][:-1].rstrip().lower(), tuple(parts))


def _parts(text: str, position: int, closer: str) -> tuple[list[Part], int]:
    """The parts up to *closer*, and the position after it."""
    parts: list[Part] = []
    position = _after_blanks(text, position)
    if text.startswith(closer, position):
        return parts, position + 1
    while True:
        part, position = _part(text, position)
        parts.append(part)
        if text.startswith(closer, position):
            return parts, position + 1
        if not text.startswith(",", position):
            raise SqlError(_NO_CONVERSION)
        position += 1


def _part(text: str, position: int) -> tuple[Part, int]:
    """One part, and the position after it and its blanks."""
    if found := _QUOTED.match(text, position):
        quoted = found[1].replace("''", "'") if found[1] is not None else found[2].replace('""', '"')
        return Part(quoted, is_quoted=True), found.end()
    if found := _HEAD.match(text, position):
        end = _after_nested(text, found)
        return Part(text[found.start() : end].strip()), _after_blanks(text, end)
    if found := _MOMENT.match(text, position):
        return Part(found[1].strip(), is_quoted=True), found.end()
    if found := _WORD.match(text, position):
        return Part(found[1]), found.end()
    raise SqlError(_NO_CONVERSION)


def _after_nested(text: str, head: re.Match[str]) -> int:
    """The position after a literal within another one."""
    expected = [_CLOSERS[head[1][-1]]]
    for position, character in _unquoted(text, head.end()):
        if character in _CLOSERS:
            expected.append(_CLOSERS[character])
            if len(expected) > MAX_DEPTH:
                break
        elif character in ")}":
            if character != expected.pop():
                break
            if not expected:
                return position + 1
    raise SqlError(_NO_CONVERSION)


def _unquoted(text: str, position: int) -> Iterator[tuple[int, str]]:
    """The characters outside quotes, with their positions."""
    quote = ""
    for place in range(position, len(text)):
        character = text[place]
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            yield place, character


def _after_blanks(text: str, position: int) -> int:
    found = _BLANKS.match(text, position)
    assert found is not None
    return found.end()


def quoted(text: str) -> str:
    """A text as a part."""
    return "'" + text.replace("'", "''") + "'"
