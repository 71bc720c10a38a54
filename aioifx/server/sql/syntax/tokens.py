"""The tokens of a statement: names, numbers, strings, symbols, with their positions. Never: what is a keyword.

Invariants:
1. No word is reserved; the parser decides by position, so a keyword is a name here.
2. Every character is scanned once: each pattern is tried at one position only, and no pattern backtracks.
3. An invalid token is refused here, with the position of its first character.

Source: codes -202, -203, -204, -253, -282, -283 and -943 are documented (finderr); where their offsets point
is assumed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Final, NamedTuple

from aioifx.server.sql.errors import SqlError


class TokenKind(Enum):
    """The kind of a token."""

    NAME = "name"
    DELIMITED = "delimited"
    """A name in double quotes, which DELIMIDENT allows; never a keyword."""
    NUMBER = "number"
    STRING = "string"
    SYMBOL = "symbol"
    END = "end"


class Token(NamedTuple):
    """One token; `text` is folded for names, without quotes for strings, empty at the end."""

    kind: TokenKind
    text: str
    offset: int
    """Position of its first character, from 1."""
    end: int
    """Position after its last character, from 1."""


ILLEGAL_CHARACTER: Final = -202
ILLEGAL_INTEGER: Final = -203
ILLEGAL_FLOAT: Final = -204
NAME_TOO_LONG: Final = -253
OPEN_QUOTE: Final = -282
OPEN_BRACE_COMMENT: Final = -283
OPEN_SLASH_COMMENT: Final = -943

NAME_SIZE: Final = 128
"""Maximum bytes of a name (documented: identifiers)."""
NUMBER_SIZE: Final = 255
"""Maximum characters of a number; assumed, but far more digits than DECIMAL and FLOAT have."""
EXPONENT_LIMIT: Final = 400
"""Larger exponents fit neither DECIMAL (126) nor FLOAT (308)."""

_COLLECTIONS: Final = frozenset({"set", "multiset", "list"})
"""The words after which a brace opens a collection instead of a comment."""

_SKIPPED: Final = re.compile(r"[ \t\r\n\f\v]+|--[^\n]*")
_NAME: Final = re.compile(r"[^\W\d][\w$]*")
_NUMBER: Final = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SYMBOL: Final = re.compile(r"\|\||::|<>|!=|<=|>=|==|[=<>+\-*/()\[\]{},.:;?@]|#(?=\s*[^\W\d])")
_QUOTED: Final = {
    # A newline in a string is refused unless ALLOW_NEWLINE is set in the server (documented: default 0).
    "'": re.compile(r"'((?:[^'\n]++|'')*+)'"),
    '"': re.compile(r'"((?:[^"\n]++|"")*+)"'),
}


def tokenize(text: str, *, delimident: bool = False, check: Callable[[], None] = lambda: None) -> list[Token]:
    """The tokens of a text, the last one being the END.

    Args:
        delimident: double quotes delimit names instead of strings.
        check: called at each token; an exception ends the reading of a long text.

    Raises:
        SqlError: an invalid character, number, string or comment.
    """
    tokens: list[Token] = []
    for token in tokens_of(text, delimident=delimident):
        check()
        tokens.append(token)
    return tokens


def tokens_of(text: str, *, delimident: bool = False) -> Iterator[Token]:
    """The same as an iterator, so that the tokens before an invalid one are available."""
    pos, size, before, last_end = 0, len(text), "", 0
    while pos < size:
        if skipped := _SKIPPED.match(text, pos):
            pos = skipped.end()
        elif text.startswith("/*", pos):
            pos = _end_of_comment(text, pos, "*/", OPEN_SLASH_COMMENT)
        elif text[pos] == "{" and before not in _COLLECTIONS:
            pos = _end_of_comment(text, pos, "}", OPEN_BRACE_COMMENT)
        else:
            token = _token_at(text, pos, delimident)
            before = token.text if token.kind is TokenKind.NAME else ""
            pos = last_end = token.end - 1
            yield token
    yield Token(TokenKind.END, "", last_end + 1, last_end + 1)


def _end_of_comment(text: str, start: int, closing: str, sqlcode: int) -> int:
    end = text.find(closing, start + len(closing))
    if end < 0:
        raise SqlError(sqlcode, offset=start + 1)
    return end + len(closing)


def _token_at(text: str, pos: int, delimident: bool) -> Token:
    if found := _NAME.match(text, pos):
        return Token(TokenKind.NAME, _checked_name(found[0].lower(), pos), pos + 1, found.end() + 1)
    if found := _NUMBER.match(text, pos):
        return _number(text, found)
    if text[pos] in _QUOTED:
        return _quoted(text, pos, delimident)
    if found := _SYMBOL.match(text, pos):
        return Token(TokenKind.SYMBOL, found[0], pos + 1, found.end() + 1)
    raise SqlError(ILLEGAL_CHARACTER, offset=pos + 1)


def _checked_name(name: str, pos: int) -> str:
    """The name; refused if it is too long, or has characters that are not valid in an identifier."""
    _require_size(name, pos)
    if not name.isascii() and not name.replace("$", "_").isidentifier():
        raise SqlError(ILLEGAL_CHARACTER, offset=pos + 1)
    return name


def _number(text: str, found: re.Match[str]) -> Token:
    digits, exponent = found[0], found[0].lower().partition("e")[2]
    offset, end = found.start() + 1, found.end() + 1
    is_integer = digits.isdigit()
    if len(digits) > NUMBER_SIZE or (exponent and abs(int(exponent)) > EXPONENT_LIMIT):
        raise SqlError(ILLEGAL_INTEGER if is_integer else ILLEGAL_FLOAT, offset=offset)
    if _NAME.match(text, found.end()):
        # Assumed: "12abc" is refused rather than read as 12 with the label abc.
        raise SqlError(ILLEGAL_INTEGER if is_integer else ILLEGAL_FLOAT, offset=offset)
    return Token(TokenKind.NUMBER, digits, offset, end)


def _quoted(text: str, pos: int, delimident: bool) -> Token:
    quote = text[pos]
    found = _QUOTED[quote].match(text, pos)
    if found is None:
        raise SqlError(OPEN_QUOTE, offset=pos + 1)
    value = found[1].replace(quote * 2, quote)
    if quote == '"' and delimident:
        if not value:
            raise SqlError(-201, offset=pos + 1)
        return Token(TokenKind.DELIMITED, _delimited(value, pos), pos + 1, found.end() + 1)
    return Token(TokenKind.STRING, value, pos + 1, found.end() + 1)


def _delimited(name: str, pos: int) -> str:
    _require_size(name, pos)
    return name


def _require_size(name: str, pos: int) -> None:
    if len(name.encode("utf-8", "surrogatepass")) > NAME_SIZE:
        raise SqlError(NAME_TOO_LONG, token=name[:NAME_SIZE], offset=pos + 1)
