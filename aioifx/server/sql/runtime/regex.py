"""REGEX_MATCH, REGEX_REPLACE, REGEX_SPLIT and REGEX_EXTRACT: POSIX expressions. Never: LIKE and MATCHES, SQL types.

Source: documented (Database Extensions Guide, "Regex pattern matching": basic and extended expressions of POSIX 1003.2,
copts, limit, metacharacters). The match is the leftmost one, and the longest of those that begin there (POSIX).

Expressions are not translated to those of `re`: it takes exponential time for some, and nothing ends it. Here a search
visits each instruction at most once at each character outside matches, and checks for interrupts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.runtime.strings import byte_length, require_length

_FAILED: Final = -937
"""An error of a routine written in C, with its text; assumed: of these functions."""
_STATE: Final = "U0001"
_MOST_STEPS: Final = 5_000_000
"""Of one call: some seconds."""
_CHECKED_EVERY: Final = 0x3FFF
_MOST_INSTRUCTIONS: Final = 20_000
_MOST_REPEATS: Final = 255
"""RE_DUP_MAX of POSIX."""

_Kind: TypeAlias = Literal["one", "split", "jump", "save", "start", "end"]


class _Instruction(NamedTuple):
    """One step of a match; *first* and *second* are distances to other instructions, or the number of a group's end."""

    kind: _Kind
    first: int = 0
    second: int = 0
    one: re.Pattern[str] | None = None
    """An expression of `re` for exactly one character."""


_Code: TypeAlias = list[_Instruction]


_Marks: TypeAlias = "tuple[int, int, _Marks] | None"
"""The last mark of a group and those before it: twice its number, and one more for its end; the position."""


class Match(NamedTuple):
    """Where an expression matches, and its groups."""

    start: int
    end: int
    marks: _Marks

    def group(self, number: int, text: str) -> str:
        """The text of a group; 0 is the whole match, and a group without a match is empty."""
        found = {1: self.end} if number == 0 else {}
        marks = self.marks
        while marks is not None and len(found) < 2:
            mark, position, marks = marks
            if mark >> 1 == number:
                found.setdefault(mark & 1, position)
        return text[found.get(0, self.start) : found[1]] if 1 in found else ""


def _error(text: str) -> SqlError:
    return SqlError(_FAILED, sqlstate=_STATE, text=f"regular expression: {text}")


# -- functions of SQL --------------------------------------------------------------------------------------------------


def regex_match(settings: Settings, text: str | None, pattern: str | None, copts: int | None = 1) -> str:
    """REGEX_MATCH: whether a part of the text matches."""
    return "t" if next(_matches(settings, text, pattern, 1, copts), None) is not None else "f"


def regex_replace(
    settings: Settings,
    text: str | None,
    pattern: str | None,
    replacement: str | None,
    limit: int | None = 0,
    copts: int | None = 1,
) -> str:
    """REGEX_REPLACE: ``&`` and ``\\0`` are the match, ``\\1`` to ``\\9`` its groups, another ``\\x`` is x."""
    if replacement is None:
        raise _error("the replacement is NULL")
    source, parts, end = text or "", list[str](), 0
    for match in _matches(settings, text, pattern, limit, copts):
        parts += source[end : match.start], _replaced(replacement, match, source)
        end = match.end
    result = "".join([*parts, source[end:]])
    require_length(byte_length(result, settings.code_set))
    return result


def _replaced(replacement: str, match: Match, source: str) -> str:
    def part(found: re.Match[str]) -> str:
        mark = found[0][-1]
        if found[0] == "&":
            return match.group(0, source)
        return match.group(int(mark), source) if mark in "0123456789" else mark

    return re.sub(r"&|\\(?s:.)", part, replacement)


def regex_extract(
    settings: Settings, text: str | None, pattern: str | None, limit: int | None = 0, copts: int | None = 1
) -> Iterator[str]:
    """REGEX_EXTRACT: the matches, except empty ones (documented)."""
    return (
        (text or "")[match.start : match.end]
        for match in _matches(settings, text, pattern, limit, copts)
        if match.end > match.start
    )


def regex_split(
    settings: Settings, text: str | None, pattern: str | None, limit: int | None = 0, copts: int | None = 1
) -> Iterator[str]:
    """REGEX_SPLIT: what is between the matches. No row if the match is the whole text (documented).

    assumed: an empty text at the start or the end is no row, and *limit* is the number of rows.
    """
    source, end, rows = text or "", 0, 0
    most = _number(limit, "limit")
    for match in _matches(settings, text, pattern, 0, copts):
        if match.end == match.start:
            continue
        if match.start:
            yield source[end : match.start]
            rows += 1
            if rows == most:
                return
        end = match.end
    if end < len(source):
        yield source[end:]


def _number(value: int | None, name: str) -> int:
    if value is None or value < 0:
        raise _error(f"{name}: expected a number from 0, got {'NULL' if value is None else value}")
    return value


def _matches(
    settings: Settings, text: str | None, pattern: str | None, limit: int | None, copts: int | None
) -> Iterator[Match]:
    """The matches that do not overlap; after an empty one the next begins at least a character later."""
    if pattern is None:
        raise _error("the expression is NULL")
    if copts not in (0, 1, 2, 3):
        raise _error(f"copts: expected 0 to 3, got {'NULL' if copts is None else copts}")
    source, most = text or "", _number(limit, "limit")
    search = _Search(_compiled(pattern, bool(copts & 1), bool(copts & 2)), source, settings)
    position = count = 0
    while position <= len(source) and (not most or count < most):
        match = search.next(position)
        if match is None:
            return
        yield match
        count += 1
        position = match.end + (match.end == match.start)


class _Search:
    """The matches of one expression in one text."""

    def __init__(self, code: _Code, text: str, settings: Settings) -> None:
        self._code = code
        self._text = text
        self._settings = settings
        self._steps = 0
        self._seen: set[int] = set()
        """What leads to no match: from one start, so from later ones, too."""
        self._added: list[int] = []
        """What of it was added since the last match."""

    def next(self, position: int) -> Match | None:
        """The leftmost match that begins at *position* or later.

        Raises:
            SqlError: -999, it takes too many steps; -213, interrupted.
        """
        for start in range(position, len(self._text) + 1):
            match = self._longest(start)
            if match is not None:
                # After the end of the longest match nothing has led to one, so it is not visited again.
                limit = (match.end + 1) * (len(self._code) + 1)
                self._seen.difference_update([key for key in self._added if key < limit])
                self._added.clear()
                return match
        return None

    def _longest(self, start: int) -> Match | None:
        code, text, best, seen, added = self._code, self._text, None, self._seen, self._added
        last, width = len(code), len(code) + 1
        waiting: list[tuple[int, int, _Marks]] = [(0, start, None)]
        while waiting:
            at, position, marks = waiting.pop()
            while (key := position * width + at) not in seen:
                seen.add(key)
                added.append(key)
                self._count()
                if at == last:
                    if best is None or position > best.end:
                        best = Match(start, position, marks)
                    break
                kind, first, second, one = code[at]
                step = 1
                if kind == "one":
                    assert one is not None
                    if position == len(text) or not one.match(text, position):
                        break
                    position += 1
                elif kind == "split":
                    waiting.append((at + second, position, marks))
                    step = first
                elif kind == "jump":
                    step = first
                elif kind == "save":
                    marks = (first, position, marks)
                elif position != (0 if kind == "start" else len(text)):
                    break
                at += step
        return best

    def _count(self) -> None:
        self._steps += 1
        if not self._steps & _CHECKED_EVERY:
            self._settings.check_interrupt()
            if self._steps > _MOST_STEPS:
                raise SqlError(-999, token="REGEX")


# -- expressions -------------------------------------------------------------------------------------------------------

_CLASSES: Final = {
    "alnum": "A-Za-z0-9",
    "alpha": "A-Za-z",
    "blank": r"\ \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"\x21-\x7e",
    "lower": "a-z",
    "print": r"\x20-\x7e",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\ \t\n\r\f\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
"""Classes of single-byte code sets (documented)."""


@lru_cache(maxsize=256)
def _compiled(pattern: str, is_extended: bool, ignores_case: bool) -> _Code:
    parser = _Parser(pattern, is_extended, re.IGNORECASE if ignores_case else re.NOFLAG)
    code = parser.alternatives(0)
    if parser.position < len(pattern):
        raise _error("a parenthesis is not opened")
    return code


class _Parser:
    """One expression; the escapes of a basic one are metacharacters (documented)."""

    def __init__(self, pattern: str, is_extended: bool, flags: re.RegexFlag) -> None:
        self._pattern = pattern
        self._is_extended = is_extended
        self._flags = flags
        self.position = 0
        self._groups = 0

    def _at(self, mark: str) -> bool:
        """Whether a metacharacter comes next."""
        text = mark if self._is_extended or mark in "*^$.[" else f"\\{mark}"
        return self._pattern.startswith(text, self.position)

    def _accept(self, mark: str) -> bool:
        found = self._at(mark)
        if found:
            self.position += 1 if self._is_extended or mark in "*^$.[" else 2
        return found

    def alternatives(self, depth: int) -> _Code:
        """Read branches up to the end or a closing parenthesis."""
        if depth > 20:
            raise SqlError(-999, token="NESTING")
        code = self._branch(depth)
        while self._is_extended and self._accept("|"):
            other = self._branch(depth)
            code = [
                _Instruction("split", 1, len(code) + 2),
                *code,
                _Instruction("jump", len(other) + 1),
                *other,
            ]
        return code

    def _branch(self, depth: int) -> _Code:
        code: _Code = []
        is_start = True
        while self.position < len(self._pattern) and not self._at(")"):
            if self._is_extended and self._at("|"):
                break
            code += self._repeated(self._atom(depth, is_start), depth)
            is_start = False
            if len(code) > _MOST_INSTRUCTIONS:
                raise SqlError(-999, token="REGEX")
        return code

    def _repeated(self, code: _Code, depth: int) -> _Code:
        while True:
            if self._accept("*"):
                code = _optional([*code, _Instruction("jump", -len(code) - 1)])
            elif self._is_extended and self._accept("+"):
                code = [*code, _Instruction("split", -len(code), 1)]
            elif self._is_extended and self._accept("?"):
                code = _optional(code)
            elif self._accept("{"):
                code = self._bounded(code)
            else:
                return code

    def _bounded(self, code: _Code) -> _Code:
        close = "}" if self._is_extended else r"\\}"
        found = re.compile(rf"([0-9]{{1,3}})(,?)([0-9]{{0,3}}){close}").match(self._pattern, self.position)
        if found is None:
            raise _error("a bound is not {n}, {n,} or {n,m}")
        self.position = found.end()
        least, most = int(found[1]), int(found[3] or (0 if found[2] else found[1]))
        is_open = bool(found[2]) and not found[3]
        if max(least, most) > _MOST_REPEATS or (most < least and not is_open):
            raise _error("a bound is out of range")
        if len(code) * max(least, most) > _MOST_INSTRUCTIONS:
            raise SqlError(-999, token="REGEX")
        rest: _Code = _optional([*code, _Instruction("jump", -len(code) - 1)]) if is_open else []
        for _ in range(most - least):
            rest = _optional([*code, *rest])
        return code * least + rest

    def _atom(self, depth: int, is_start: bool) -> _Code:
        if self._accept("("):
            self._groups += 1
            number = self._groups
            inside = self.alternatives(depth + 1)
            if not self._accept(")"):
                raise _error("a parenthesis is not closed")
            return [_Instruction("save", 2 * number), *inside, _Instruction("save", 2 * number + 1)]
        if self._at("^") and (self._is_extended or is_start):
            self.position += 1
            return [_Instruction("start")]
        if self._at("$") and (self._is_extended or self._ends_branch(self.position + 1)):
            self.position += 1
            return [_Instruction("end")]
        if self._accept("."):
            return self._one(".")
        if self._accept("["):
            return self._one(self._set())
        return self._one(re.escape(self._literal(is_start)))

    def _ends_branch(self, position: int) -> bool:
        return position == len(self._pattern) or self._pattern.startswith(r"\)", position)

    def _literal(self, is_start: bool) -> str:
        character = self._pattern[self.position]
        self.position += 1
        if character == "\\":
            if self.position == len(self._pattern):
                raise _error("it ends with a backslash")
            character = self._pattern[self.position]
            self.position += 1
            if not self._is_extended and character in "123456789":
                raise SqlError(-999, token="REGEX BACK REFERENCE")
        elif character in ("*+?{" if self._is_extended else ""):
            raise _error("a repetition has nothing to repeat")
        return character

    def _one(self, text: str) -> _Code:
        return [_Instruction("one", one=re.compile(text, self._flags | re.DOTALL))]

    def _set(self) -> str:
        """The expression of `re` for a set, whose bracket is open."""
        negated = self._pattern.startswith("^", self.position)
        self.position += negated
        parts: list[str] = []
        while not parts or not self._pattern.startswith("]", self.position):
            found = re.compile(r"\[:(\w+):\]").match(self._pattern, self.position)
            if found is not None:
                self.position = found.end()
                if found[1] not in _CLASSES:
                    raise _error(f"there is no class {found[1]}")
                parts.append(_CLASSES[found[1]])
                continue
            low = self._member()
            high = low
            if re.compile(r"-[^]]", re.DOTALL).match(self._pattern, self.position):
                self.position += 1
                high = self._member()
            if high < low:
                raise _error("a range ends before it begins")
            parts.append(f"{re.escape(low)}-{re.escape(high)}")
        self.position += 1
        return f"[{'^' if negated else ''}{''.join(parts)}]"

    def _member(self) -> str:
        """Read a character of a set, where a backslash is one (POSIX), or ``[.x.]`` or ``[=x=]``."""
        found = re.compile(r"\[([.=])(.)\1\]", re.DOTALL).match(self._pattern, self.position)
        if found is not None:
            self.position = found.end()
            return found[2]
        if self.position >= len(self._pattern):
            raise _error("a bracket is not closed")
        self.position += 1
        return self._pattern[self.position - 1]


def _optional(code: Sequence[_Instruction]) -> _Code:
    return [_Instruction("split", 1, len(code) + 1), *code]


ITERATORS: Final[dict[str, Callable[..., Iterator[str]]]] = {
    "regex_extract": regex_extract,
    "regex_split": regex_split,
}
"""The functions that return rows; they take the settings of the session before the arguments of SQL."""
