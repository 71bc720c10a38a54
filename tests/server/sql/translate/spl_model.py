"""Random programs in SPL, and what they do by a direct reading of the manual. Never: how the server compiles them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import count
from typing import Literal

from hypothesis import strategies as st

VARIABLES = ("a", "b")
DIVISION = -1202
CODES = (-746, -747, DIVISION)
MOST = 400
"""Statements of a run, so that nested loops end."""


@dataclass(frozen=True)
class Let:
    """``LET target = source + number``"""

    target: str
    source: str
    number: int

    def text(self) -> str:
        return f"LET {self.target} = {self.source} + {self.number};"


@dataclass(frozen=True)
class Divide:
    """A LET that fails if the variable has the number."""

    source: str
    number: int

    def text(self) -> str:
        return f"LET {self.source} = {self.source} + 0 / ({self.source} - {self.number});"


@dataclass(frozen=True)
class Raise:
    """RAISE EXCEPTION."""

    code: int

    def text(self) -> str:
        return f"RAISE EXCEPTION {self.code};"


@dataclass(frozen=True)
class Return:
    """RETURN, which may go on."""

    source: str
    resumes: bool

    def text(self) -> str:
        return f"RETURN {self.source}{' WITH RESUME' if self.resumes else ''};"


@dataclass(frozen=True)
class Leave:
    """EXIT or CONTINUE of the innermost loop, or of the labelled one, WHEN a variable is less than a number."""

    verb: Literal["exit", "continue"]
    label: str
    source: str
    number: int

    def text(self) -> str:
        return f"{self.verb.upper()} {self.label} WHEN {self.source} < {self.number};"


@dataclass(frozen=True)
class If:
    """IF of a variable that is less than a number."""

    source: str
    number: int
    then: Body
    otherwise: Body

    def text(self) -> str:
        return f"IF {self.source} < {self.number} THEN {text_of(self.then)} ELSE {text_of(self.otherwise)} END IF;"


@dataclass(frozen=True)
class For:
    """A labelled loop over a range."""

    label: str
    last: int
    body: Body

    def text(self) -> str:
        variable = f"i_{self.label}"
        loop = f"<<{self.label}>> FOR {variable} IN (1 TO {self.last}) LOOP {text_of(self.body)} END LOOP;"
        return f"BEGIN DEFINE {variable} INT; {loop} END;"


@dataclass(frozen=True)
class Handler:
    """ON EXCEPTION."""

    codes: tuple[int, ...]
    body: Body
    resumes: bool

    def text(self) -> str:
        codes = f" IN ({', '.join(map(str, self.codes))})" if self.codes else ""
        return (
            f"ON EXCEPTION{codes} {text_of(self.body)} END EXCEPTION{' WITH RESUME' if self.resumes else ''};"
        )


@dataclass(frozen=True)
class Block:
    """BEGIN with handlers."""

    handlers: tuple[Handler, ...]
    body: Body

    def text(self) -> str:
        return f"BEGIN {' '.join(each.text() for each in self.handlers)} {text_of(self.body)} END;"


Statement = Let | Divide | Raise | Return | Leave | If | For | Block
Body = tuple[Statement, ...]


def text_of(body: Body) -> str:
    """The statements in SPL."""
    return " ".join(each.text() for each in body)


def program_of(body: Body) -> str:
    """The text of a whole program, where no two loops have the same label."""
    labels: dict[str, str] = {}
    numbers = count()

    def renamed(found: re.Match[str]) -> str:
        if found[1]:  # a loop begins
            labels[found[2]] = f"{found[2]}_{next(numbers)}"
        return f"{found[1]}{labels[found[2]]}"

    return re.sub(r"(<<|)\b(l\d)\b", renamed, text_of(body))


# --- Random programs --------------------------------------------------------------------------------------------------

_NAMES = st.sampled_from(VARIABLES)
_SMALL = st.integers(-1, 3)


@st.composite
def bodies(draw: st.DrawFn, labels: tuple[str, ...] = (), depth: int = 3) -> Body:
    """Statements inside the loops of these labels."""
    return tuple(draw(statements(labels, depth)) for _ in range(draw(st.integers(0, 3))))


@st.composite
def statements(draw: st.DrawFn, labels: tuple[str, ...], depth: int) -> Statement:
    """One statement inside the loops of these labels."""
    kinds = ["let", "divide", "raise", "return"]
    kinds += ["leave"] * 2 if labels else []
    kinds += ["if", "for", "block", "block"] if depth else []
    match draw(st.sampled_from(kinds)):
        case "let":
            return Let(draw(_NAMES), draw(_NAMES), draw(_SMALL))
        case "divide":
            return Divide(draw(_NAMES), draw(_SMALL))
        case "raise":
            return Raise(draw(st.sampled_from(CODES)))
        case "return":
            return Return(draw(_NAMES), draw(st.booleans()))
        case "leave":
            verb: Literal["exit", "continue"] = "exit" if draw(st.booleans()) else "continue"
            return Leave(verb, draw(st.sampled_from(["", *labels])), draw(_NAMES), draw(_SMALL))
        case "if":
            inner = bodies(labels, depth - 1)
            return If(draw(_NAMES), draw(_SMALL), draw(inner), draw(inner))
        case "for":
            label = f"l{depth}"
            return For(label, draw(st.integers(1, 3)), draw(bodies((*labels, label), depth - 1)))
        case _:
            codes = st.lists(st.sampled_from(CODES), max_size=2, unique=True).map(tuple)
            handler = st.builds(Handler, codes, bodies(labels, depth - 1), st.booleans())
            handlers = draw(st.lists(handler, min_size=1, max_size=2).map(tuple))
            return Block(handlers, draw(bodies(labels, depth - 1)))


# --- What they do -----------------------------------------------------------------------------------------------------


class TooLong(Exception):
    """The run has too many statements."""


class Failed(Exception):
    """An error that no handler takes."""

    def __init__(self, code: int) -> None:
        self.code = code


class _Left(Exception):
    def __init__(self, verb: str, label: str) -> None:
        self.verb, self.label = verb, label


class _Ended(Exception):
    pass


class _Unwound(Exception):
    """An error that a handler takes, on the way to its block."""

    def __init__(self, block: Block, depth: int, handler: Handler) -> None:
        self.block, self.depth, self.handler = block, depth, handler


class Run:
    """One run of a program: its rows, and the code of the error that ended it, or 0."""

    def __init__(self, program: Body) -> None:
        self.values: dict[str, int] = dict.fromkeys(VARIABLES, 0)
        self.rows: list[tuple[int]] = []
        self.code = 0
        self._count = 0
        try:
            self._body(program, (), 0)
        except Failed as error:
            self.code = error.code
        except _Ended:
            pass

    def _body(self, body: Body, blocks: tuple[Block, ...], level: int) -> None:
        """Run statements that are in so many blocks, which the handlers of *blocks* see."""
        for statement in body:
            self._count += 1
            if self._count > MOST:
                raise TooLong
            try:
                code = self._statement(statement, blocks, level)
                if code:
                    raise self._taken(code, blocks)
            except _Unwound as error:
                if not error.handler.resumes or error.depth + 1 != level:
                    raise
                self._body(error.handler.body, blocks[: error.depth], level)

    def _taken(self, code: int, blocks: tuple[Block, ...]) -> Exception:
        """The way to the nearest handler for a code."""
        for depth in range(len(blocks) - 1, -1, -1):
            for handler in reversed(blocks[depth].handlers):
                if not handler.codes or code in handler.codes:
                    return _Unwound(blocks[depth], depth, handler)
        return Failed(code)

    def _statement(self, statement: Statement, blocks: tuple[Block, ...], level: int) -> int:
        """Run a statement; returns the code of its own error."""
        values = self.values
        match statement:
            case Let():
                values[statement.target] = values[statement.source] + statement.number
            case Divide():
                return DIVISION if values[statement.source] == statement.number else 0
            case Raise():
                return statement.code
            case Return():
                self.rows.append((values[statement.source],))
                if not statement.resumes:
                    raise _Ended
            case Leave():
                if values[statement.source] < statement.number:
                    raise _Left(statement.verb, statement.label)
            case If():
                holds = values[statement.source] < statement.number
                self._body(statement.then if holds else statement.otherwise, blocks, level)
            case For():
                self._loop(statement, (*blocks, Block((), ())), len(blocks) + 1)  # the BEGIN of its variable
            case Block():
                try:
                    self._body(statement.body, (*blocks, statement), len(blocks) + 1)
                except _Unwound as error:
                    if error.handler.resumes or error.block is not statement or error.depth != len(blocks):
                        raise
                    self._body(error.handler.body, blocks, len(blocks) + 1)
        return 0

    def _loop(self, loop: For, blocks: tuple[Block, ...], level: int) -> None:
        for _ in range(loop.last):
            try:
                self._body(loop.body, blocks, level)
            except _Left as left:
                if left.label not in ("", loop.label):
                    raise
                if left.verb == "exit":
                    return
