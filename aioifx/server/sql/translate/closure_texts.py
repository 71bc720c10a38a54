"""SQLite text of an expression, as this package writes it -> a tree, by SQLite's precedences. Never: its source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Final, NamedTuple


class Unknown(Exception):
    """The text has a construct that only SQLite evaluates."""


class _Token(NamedTuple):
    kind: str
    text: str


_TOKEN: Final = re.compile(
    r"\s*(?:(?P<string>'(?:[^']|'')*')|(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)|\?(?P<slot>\d+)"
    r"|(?P<word>[A-Za-z_]\w*)|(?P<symbol>\|\||<>|<=|>=|[=<>(),+\-]))"
)
_COMPARISONS: Final = {"=": "==", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_DEEPEST: Final = 40
"""Nesting of a text, and height of its tree; Python's own source is some times as deep, at most 200."""
_GREATEST: Final = 2**63 - 1


# --- The tree ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Value:
    """A literal or variable: its source."""

    source: str
    is_nullable: bool
    is_integer: bool = False
    literal: int | float | str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    arguments: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """``||``, ``-`` between two values, or a comparison with its collation."""

    operator: str
    left: Tree
    right: Tree
    collation: str = ""


@dataclass(frozen=True, slots=True)
class Logic:
    """AND, OR; NOT has one operand."""

    operator: str
    operands: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Is:
    """IS or IS NOT between two values."""

    left: Tree
    right: Tree
    is_negated: bool


@dataclass(frozen=True, slots=True)
class In:
    operand: Tree
    items: tuple[Tree, ...]
    collation: str
    is_negated: bool


@dataclass(frozen=True, slots=True)
class Case:
    branches: tuple[tuple[Tree, Tree], ...]
    otherwise: Tree


Tree = Value | Call | Operation | Logic | Is | In | Case
NULL: Final = Value("None", True)


class _Reader:
    """Reads a text by SQLite's precedences.

    Args:
        variables: for each ``?N``, its source and whether its values are integers.
    """

    def __init__(self, text: str, variables: Sequence[tuple[str, bool]]) -> None:
        self._tokens = _tokens(text)
        self._index = 0
        self._depth = 0
        self._variables = variables

    def whole(self) -> Tree:
        """The tree of the whole text."""
        tree = self._either()
        if self._token.kind != "end":
            raise Unknown(self._token.text)
        return tree

    @property
    def _token(self) -> _Token:
        return self._tokens[self._index]

    def _accept(self, *texts: str) -> bool:
        for ahead, text in enumerate(texts):
            token = self._tokens[min(self._index + ahead, len(self._tokens) - 1)]
            if token.kind in ("string", "end") or token.text != text:
                return False
        self._index += len(texts)
        return True

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise Unknown(self._token.text)

    def _either(self) -> Tree:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Unknown("nesting")
        operands = [self._both()]
        while self._accept("OR"):
            operands.append(self._both())
        self._depth -= 1
        return operands[0] if len(operands) == 1 else Logic("or", tuple(operands))

    def _both(self) -> Tree:
        operands = [self._negation()]
        while self._accept("AND"):
            operands.append(self._negation())
        return operands[0] if len(operands) == 1 else Logic("and", tuple(operands))

    def _negation(self) -> Tree:
        if self._accept("NOT"):
            return Logic("not", (self._negation(),))
        return self._comparison()

    def _comparison(self) -> Tree:
        left = self._sum()
        collation = self._token.text if self._accept("COLLATE") else ""
        if collation:
            collation = self._word()
        if self._accept("IS"):
            is_negated = self._accept("NOT")
            return Is(left, self._sum(), is_negated)
        is_negated = self._accept("NOT")
        if self._accept("IN", "("):
            items = self._list()
            return In(left, items, collation, is_negated)
        if is_negated:
            raise Unknown("NOT")
        operator = _COMPARISONS.get(self._token.text) if self._token.kind == "symbol" else None
        if operator is None:
            return left
        self._index += 1
        right = self._sum()
        if self._token.text in _COMPARISONS and self._token.kind == "symbol":
            raise Unknown("comparison of comparisons")
        return Operation(operator, left, right, collation)

    def _sum(self) -> Tree:
        left = self._joined()
        while self._accept("-"):
            left = Operation("-", left, self._joined())
        return left

    def _joined(self) -> Tree:
        left = self._atom()
        while self._accept("||"):
            left = Operation("||", left, self._atom())
        return left

    def _word(self) -> str:
        token = self._token
        if token.kind != "word":
            raise Unknown(token.text)
        self._index += 1
        return token.text

    def _list(self) -> tuple[Tree, ...]:
        """The items up to the closing parenthesis."""
        items: list[Tree] = []
        if self._accept(")"):
            return ()
        while True:
            items.append(self._either())
            if not self._accept(","):
                break
        self._expect(")")
        return tuple(items)

    def _atom(self) -> Tree:
        token = self._token
        self._index += 1
        match token.kind:
            case "string":
                text = token.text[1:-1].replace("''", "'")
                return Value(repr(text), False, literal=text)
            case "number":
                return _number(token.text, 1)
            case "slot":
                source, is_integer = self._variables[int(token.text) - 1]
                return Value(source, True, is_integer)
            case "word":
                return self._named(token.text)
            case "symbol" if token.text == "(":
                tree = self._either()
                self._expect(")")
                return tree
            case "symbol" if token.text == "-" and self._token.kind == "number":
                self._index += 1
                return _number(self._tokens[self._index - 1].text, -1)
            case _:
                raise Unknown(token.text)

    def _named(self, word: str) -> Tree:
        if word == "NULL":
            return NULL
        if word == "CASE":
            return self._case()
        if not self._accept("("):
            raise Unknown(word)
        arguments = self._list()
        return Call(word, arguments)

    def _case(self) -> Case:
        branches: list[tuple[Tree, Tree]] = []
        self._expect("WHEN")
        while True:
            condition = self._either()
            self._expect("THEN")
            branches.append((condition, self._either()))
            if not self._accept("WHEN"):
                break
        otherwise = self._either() if self._accept("ELSE") else NULL
        self._expect("END")
        return Case(tuple(branches), otherwise)


def tree_of(text: str, variables: Sequence[tuple[str, bool]]) -> Tree:
    """The tree of a text, which is not too high for Python's own parser."""
    tree = _Reader(text, variables).whole()
    level: list[object] = [tree]
    for _ in range(_DEEPEST):
        level = [part for node in level for part in _parts(node)]
        if not level:
            return tree
    raise Unknown("nesting")


def _parts(node: object) -> Iterator[object]:
    """The nodes directly below, in a tuple or as themselves."""
    if isinstance(node, tuple):
        yield from node  # pyright: ignore[reportUnknownVariableType]
    elif is_dataclass(node) and not isinstance(node, Value):
        for field in fields(node):
            value: object = getattr(node, field.name)
            if isinstance(value, tuple) or is_dataclass(value):
                yield value


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        found = _TOKEN.match(text, position)
        if found is None or found.lastgroup is None:
            raise Unknown(text[position : position + 10])
        tokens.append(_Token(found.lastgroup, found[found.lastgroup]))
        position = found.end()
    return [*tokens, _Token("end", "")]


def _number(text: str, sign: int) -> Value:
    if text.isdigit():
        number = sign * int(text)
        if not -_GREATEST <= number <= _GREATEST:
            raise Unknown(text)
        return Value(repr(number), False, True, number)
    value = sign * float(text)
    return Value(repr(value), False, literal=value)
