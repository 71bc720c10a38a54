"""Variables of a script, --var name=value: their values in place of :name. Never: parameters of a statement.

``:name`` is the value as it is, ``:'name'`` a string with the value, ``:"name"`` a delimited name. As in placeholders,
a colon after a letter, digit or quote belongs to SQL: ``stock:item``, ``12:30``, ``a::int``.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from aioifx.client.sql.hints import did_you_mean
from aioifx.client.sql.scanner import TOKEN
from aioifx.errors import ProgrammingError

_NAME: Final = re.compile(r"[^\W\d]\w*")
_MARKED: Final = re.compile(r"""(?<![\w$'":]):(?P<quote>['"])(?P<name>[^\W\d]\w*)(?P=quote)""")


def variable(text: str) -> tuple[str, str]:
    """The type of an argument NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not (equals and _NAME.fullmatch(name)):
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {name!r:.40}")
    return name.lower(), value


class Piece(NamedTuple):
    """A piece of a statement with its variables."""

    start: int
    """In the script's statement, from 0."""
    text: str
    is_value: bool


class Expanded(NamedTuple):
    """A statement with values in place of its variables."""

    pieces: tuple[Piece, ...]

    @property
    def sql(self) -> str:
        """The statement as it is sent."""
        return "".join(piece.text for piece in self.pieces)

    def original(self, offset: int) -> int:
        """The place in the script's statement for one in `sql`, both from 1; 0 for none."""
        left = offset - 1
        if offset <= 0:
            return 0
        for piece in self.pieces:
            if left <= len(piece.text):
                return piece.start + 1 + (0 if piece.is_value else left)
            left -= len(piece.text)
        return 0


def expanded(sql: str, values: Mapping[str, str]) -> Expanded:
    """A statement with these values.

    Args:
        values: by names in lower case; without any, the statement stays as it is.

    Raises:
        ProgrammingError: it has another variable.
    """
    return Expanded((*_pieces(sql, values),)) if values else Expanded((Piece(0, sql, False),))


def _pieces(sql: str, values: Mapping[str, str]) -> Iterator[Piece]:
    done = 0
    for start, end, name, quote in _variables(sql):
        if name.lower() not in values:
            hint = did_you_mean(name.lower(), values)
            raise ProgrammingError(f"no --var gives {name} a value{hint}", offset=start + 1, sql=sql)
        value = values[name.lower()]
        if quote:
            value = quote + value.replace(quote, quote * 2) + quote
        yield Piece(done, sql[done:start], False)
        yield Piece(start, value, True)
        done = end
    yield Piece(done, sql[done:], False)


def _variables(sql: str) -> Iterator[tuple[int, int, str, str]]:
    """Start, end, name and quote of each variable."""
    for token in TOKEN.finditer(sql):
        if token["name"] and not token["name"][0].isdigit():
            yield *token.span(), token["name"], ""
        elif token[0] == ":" and (found := _MARKED.match(sql, token.start())):
            yield *found.span(), found["name"], found["quote"]
