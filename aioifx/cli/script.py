"""A script in a file: where its statements are, and how their errors are shown. Never: a connection, how it is cut.

Invariants:
1. No text of a statement that names a password is shown: its strings become asterisks.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from aioifx.cli.output import terminal_width
from aioifx.cli.passwords import may_have_secrets, script_without_secrets, without_secrets
from aioifx.cli.statement import text_of
from aioifx.errors import DatabaseError, Error, describe_codes, point_at, visible

MARGIN: Final = " " * 4
_WIDTH: Final = 120
"""Columns of lines that no terminal shows."""


class Failure(NamedTuple):
    """An error as lines for people."""

    head: str
    lines: list[str]
    """The line of the script with a caret, or the statement's first line; and the notes of the error."""


class Script(NamedTuple):
    """The text of a script, and the name that lines begin with."""

    text: str
    source: str

    @classmethod
    def read(cls, path: str) -> Script:
        """The script in a file, or of stdin for ``-``.

        Raises:
            OSError: the file cannot be read.
            InterfaceError: it is not UTF-8.
        """
        return cls(text_of(path, "SCRIPT"), "stdin" if path == "-" else Path(path).name)

    def place(self, index: int) -> str:
        """The file and the line of a character, from 0."""
        return f"{visible(self.source)}:{bisect_left(_line_ends(self.text), index) + 1}"

    def failure(self, state: str, sql: str, start: int, error: Error, offset: int | None = None) -> Failure:
        """The lines of the error of a statement.

        Args:
            state: what the error is called.
            sql: the statement as it is in the script.
            start: its first character, from 0.
            offset: the place in it, from 1; None: that of the error.
        """
        own: int = getattr(error, "offset", 0)
        offset = own if offset is None else offset
        known = point_at(getattr(error, "sql", None) or sql, own)
        notes = [note for note in getattr(error, "__notes__", ()) if note != known]
        position = start + offset if 0 < offset <= len(sql) + 1 else 0
        script = self._replace(text=script_without_secrets(self.text))
        return script._failure(state, str(error), position, without_secrets(sql), start, notes)

    def unreadable(self, error: DatabaseError) -> Failure:
        """The lines of an error because of which the script cannot be read any further."""
        message = describe_codes(error.sqlcode, error.isamcode, error.token)
        failure = self._failure("error", message, error.offset, "", max(error.offset - 1, 0), [])
        # What is a string is not known, as a quote is not closed.
        return failure._replace(lines=[]) if may_have_secrets(self.text) else failure

    def _failure(
        self, state: str, message: str, position: int, sql: str, start: int, notes: list[str]
    ) -> Failure:
        """Args:
        position: of the place in the script, from 1; 0 for none: then the line is that of *start*.
        """
        column = f":{position - self.text.rfind(chr(10), 0, position - 1) - 1}" if position else ""
        head = f"{self.place(position - 1 if position else start)}{column}: {state}: {visible(message)}"
        return Failure(head, [*self._shown(position, sql, notes)])

    def _shown(self, position: int, sql: str, notes: list[str]) -> Iterator[str]:
        width = line_width() - len(MARGIN)
        if position:
            context = min(50, (width - 8) // 2)
            begin = max(0, position - context - 10)  # it looks at no more, but for the number of the line
            near = self.text[begin : position + context + 10]
            yield from point_at(near, position - begin, context).splitlines()[1:]
        elif sql:
            yield MARGIN + cut(visible(sql.splitlines()[0]), width)
        for note in notes:
            yield from (MARGIN + visible(line) for line in note.splitlines())


@lru_cache(maxsize=4)
def _line_ends(text: str) -> list[int]:
    return [found.start() for found in re.finditer("\n", text)]


def line_width() -> int:
    """Columns of a line about a statement."""
    return max(terminal_width() or _WIDTH, 40)


def cut(line: str, width: int) -> str:
    """A line in *width* characters."""
    return line if len(line) <= width else line[: width - 3] + "..."
