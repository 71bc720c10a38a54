"""The stream of a statement's tokens for the parser: look ahead, accept, refuse. Never: the meaning of a statement.

Invariants:
1. `at`, `accept` and `expect` take words and symbols in textual order: ``at("group", "by")``.
2. A syntax error is `raise stream.refusal()`: -201 at the unexpected token.
3. A reader of anything recursive calls `descend` and `ascend`, so that no text exhausts the stack.

Source: code -201 is documented; that its offset is the beginning of the offending token is assumed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.syntax.nodes import Expression, Name, Parameter, Part, QualifiedName, Query, Statement
from aioifx.server.sql.syntax.tokens import Token, TokenKind

SYNTAX_ERROR: Final = -201
NOT_IMPLEMENTED: Final = -999

MAX_DEPTH: Final = 50
"""Maximum nesting depth, which takes about 500 of Python's 1000 frames."""

_NAMES: Final = (TokenKind.NAME, TokenKind.DELIMITED)
_WORDS: Final = (TokenKind.NAME, TokenKind.SYMBOL)

T = TypeVar("T")


class Grammar(NamedTuple):
    """Readers that are recursive across modules; passed in, so that no module imports a higher layer."""

    value: Callable[[TokenStream], Expression]
    condition: Callable[[TokenStream], Expression]
    either: Callable[[TokenStream], Expression]
    """Reads a condition or a value, for parentheses in a condition."""
    query: Callable[[TokenStream], Query]
    subquery: Callable[[TokenStream], Query]
    """Reads a query without SKIP, FIRST and LIMIT."""
    items: Callable[[TokenStream], Query]
    """Reads the same with the word ITEM after SELECT."""
    statement: Callable[[TokenStream], Statement]
    """Reads any SQL statement, for the bodies of routines."""


class TokenStream:
    """The tokens of one statement, with a read position."""

    __slots__ = (
        "_closers",
        "_depth",
        "_targets",
        "_tokens",
        "check",
        "ends_at_statement",
        "grammar",
        "in_routine",
        "index",
        "is_hierarchical",
        "parameter_count",
        "text",
    )

    def __init__(
        self, text: str, tokens: list[Token], grammar: Grammar, check: Callable[[], None] = lambda: None
    ) -> None:
        self.text = text
        self.grammar = grammar
        self.check = check
        """Called at each value; an exception ends the reading of a long text."""
        self.index = 0
        self.parameter_count = 0
        self.is_hierarchical = False
        """Whether PRIOR is a keyword, which it is in CONNECT BY alone."""
        self.in_routine = False
        """Whether a routine's body is read, where SELECT may have INTO."""
        self.ends_at_statement = False
        """Whether a statement may follow without ``;``, so that its first word is not an alias."""
        self._targets: tuple[Name, ...] = ()
        self._tokens = tokens
        self._closers = _closers(tokens)
        self._depth = 0

    @property
    def token(self) -> Token:
        """The next token."""
        return self._tokens[self.index]

    def ahead(self, count: int) -> Token:
        """The token *count* places after the next one; the END beyond the end of the text."""
        return self._tokens[min(self.index + count, len(self._tokens) - 1)]

    def after_parentheses(self, count: int = 0) -> int | None:
        """The distance to the token after the ``(..)`` that opens *count* tokens ahead; None if it is not closed."""
        closer = self._closers.get(self.index + count)
        return None if closer is None else closer + 1 - self.index

    def is_doubled(self) -> bool:
        """Whether two ``(`` come next that are closed together: ``((..))``."""
        outer, inner = self._closers.get(self.index), self._closers.get(self.index + 1)
        return outer is not None and inner is not None and outer == inner + 1

    def at(self, *words: str, ahead: int = 0) -> bool:
        """Whether these words and symbols come next."""
        last = len(self._tokens) - 1
        for place, word in enumerate(words, self.index + ahead):
            token = self._tokens[min(place, last)]
            if token.text != word or token.kind not in _WORDS:
                return False
        return True

    def at_any(self, *words: str, ahead: int = 0) -> bool:
        """Whether one of these words and symbols comes next."""
        token = self.ahead(ahead)
        return token.text in words and token.kind in _WORDS

    def has_ahead(self, word: str) -> bool:
        """Whether this word comes anywhere in the rest of the text."""
        return any(token.text == word and token.kind in _WORDS for token in self._tokens[self.index :])

    def at_name(self, ahead: int = 0) -> bool:
        """Whether a name comes next, which any word can be."""
        return self.ahead(ahead).kind in _NAMES

    def at_qualified_name(self, ahead: int = 0) -> bool:
        """Whether a name comes next, or its owner in quotes."""
        is_quoted = self.ahead(ahead).kind is TokenKind.STRING and self.at(".", ahead=ahead + 1)
        return is_quoted or self.at_name(ahead)

    def advance(self) -> Token:
        """Read any one token. The position never moves past the END."""
        token = self._tokens[self.index]
        if token.kind is not TokenKind.END:
            self.index += 1
        return token

    def accept(self, *words: str) -> Token | None:
        """Read these words if they come next; returns the first token."""
        if not self.at(*words):
            return None
        token = self.token
        self.index += len(words)
        return token

    def accept_any(self, *words: str) -> Token | None:
        """Read one of these words if it comes next."""
        return self.advance() if self.at_any(*words) else None

    def expect(self, *words: str) -> Token:
        """Read these words, or refuse the first token that differs; returns the first token."""
        first = self.token
        for word in words:
            if not self.at(word):
                raise self.refusal()
            self.index += 1
        return first

    def expect_any(self, *words: str) -> Token:
        """Read one of these words, or refuse the next token."""
        if not self.at_any(*words):
            raise self.refusal()
        return self.advance()

    def name(self) -> Name:
        """Read a simple name."""
        if not self.at_name():
            raise self.refusal()
        token = self.advance()
        return Name(token.offset, token.text)

    def target(self) -> Name:
        """Read a variable, its field, ``new.column`` in a trigger procedure, or a part: ``variable[first, last]``."""
        name = self.name()
        text = name.text
        while self.accept("."):
            text += f".{self.name().text}"
        if not self.accept("["):
            return Name(name.offset, text)
        first = self.integer()
        last = self.integer() if self.accept(",") else first
        self.expect("]")
        return Part(name.offset, text, first, last)

    def integer(self) -> int:
        """Read an integer without a sign."""
        token = self.token
        if token.kind is not TokenKind.NUMBER or not token.text.isdigit():
            raise self.refusal()
        self.advance()
        return int(token.text)

    def signed_integer(self) -> int:
        """Read an integer with or without a sign."""
        sign = self.accept_any("-", "+")
        return -self.integer() if sign is not None and sign.text == "-" else self.integer()

    def string(self) -> str:
        """Read a quoted text."""
        if self.token.kind is not TokenKind.STRING:
            raise self.refusal()
        return self.advance().text

    def parameter(self) -> Parameter:
        """Read a ``?`` and assign the next index; a routine has none (documented)."""
        if self.in_routine:
            raise self.refusal()
        parameter = Parameter(self.expect("?").offset, self.parameter_count)
        self.parameter_count += 1
        return parameter

    def keep_targets(self, targets: tuple[Name, ...]) -> None:
        """Keep the variables of INTO until the statement has been read; only one SELECT of it has them."""
        if self._targets:
            raise SqlError(SYNTAX_ERROR, offset=targets[0].offset)
        self._targets = targets

    def take_targets(self) -> tuple[Name, ...]:
        """The variables of INTO in the statement that was read."""
        targets, self._targets = self._targets, ()
        return targets

    def listed(self, read: Callable[[TokenStream], T]) -> tuple[T, ...]:
        """Read one or more items, separated by commas."""
        items = [read(self)]
        while self.accept(","):
            items.append(read(self))
        return tuple(items)

    def enclosed(self, read: Callable[[TokenStream], T]) -> tuple[T, ...]:
        """Read one or more items in parentheses, separated by commas."""
        self.expect("(")
        items = self.listed(read)
        self.expect(")")
        return items

    def names_enclosed(self) -> tuple[Name, ...]:
        """Read ``(name, ..)``."""
        return self.enclosed(TokenStream.name)

    def written(self, start: int, end: int) -> str:
        """The text from one offset up to another."""
        return self.text[start - 1 : end - 1].strip()

    @property
    def last_end(self) -> int:
        """The offset after the last token that was read."""
        return self._tokens[self.index - 1].end if self.index else 1

    def descend(self) -> None:
        """Enter a recursive construct."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.unsupported("NESTING")

    def ascend(self, levels: int = 1) -> None:
        """Leave a recursive construct."""
        self._depth -= levels

    def refusal(self, token: Token | None = None) -> SqlError:
        """The error for an unexpected token, by default the next one."""
        return SqlError(SYNTAX_ERROR, offset=(token or self.token).offset)

    def unsupported(self, keyword: str, token: Token | None = None) -> SqlError:
        """The error for valid Informix SQL that is not supported."""
        return SqlError(NOT_IMPLEMENTED, token=keyword, offset=(token or self.token).offset)


def _closers(tokens: list[Token]) -> dict[int, int]:
    """For each ``(`` by its index, the index of its ``)``."""
    closers: dict[int, int] = {}
    unclosed: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind is not TokenKind.SYMBOL:
            continue
        if token.text == "(":
            unclosed.append(index)
        elif token.text == ")" and unclosed:
            closers[unclosed.pop()] = index
    return closers


def parse_database_prefix(s: TokenStream) -> tuple[str, str]:
    """Read ``database:`` or ``database@server:`` if present; returns both names, empty if absent."""
    if not s.at_name():
        return "", ""
    if s.at(":", ahead=1):
        database = s.name().text
        s.expect(":")
        return database, ""
    if s.at("@", ahead=1) and s.at_name(ahead=2) and s.at(":", ahead=3):
        database = s.name().text
        s.expect("@")
        server = s.name().text
        s.expect(":")
        return database, server
    return "", ""


def parse_owner(s: TokenStream) -> str:
    """Read ``owner.`` or ``'owner'.`` if present."""
    if (s.at_name() or s.token.kind is TokenKind.STRING) and s.at(".", ahead=1):
        owner = s.advance().text
        s.expect(".")
        return owner.rstrip()
    return ""


def parse_qualified_name(s: TokenStream) -> QualifiedName:
    """Read the name of a table, an index, a routine."""
    offset = s.token.offset
    database, server = parse_database_prefix(s)
    owner = parse_owner(s)
    return QualifiedName(offset, s.name().text, owner, database, server)
