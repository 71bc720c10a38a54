"""Text of the shell cut into statements and commands; whether it is whole. Never: what they do.

Invariants:
1. A statement ends with ``;`` outside strings, comments and bodies of routines: these end at END PROCEDURE or END
   FUNCTION. A trigger has no semicolons inside (documented: CREATE TRIGGER), so it needs no such rule.
2. A command is one line that begins with a backslash where a statement could begin, or one of the words `WORDS` alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from aioifx.client.sql.scanner import TOKEN
from aioifx.client.sql.script import unclosed
from aioifx.scripts import RoutineBody, only_sql

WORDS: Final = {"help": "\\?", "quit": "\\q", "exit": "\\q", "?": "\\?"}
"""Words that are commands if they are alone in a line."""
_WORD: Final = re.compile(
    rf"[ \t]*({'|'.join(map(re.escape, WORDS))})[ \t]*;?[ \t]*(?=\r?\n|\Z)", re.IGNORECASE
)


class Entry(NamedTuple):
    """A statement without its semicolon, or a command."""

    text: str
    start: int
    """The index of its first character."""
    is_command: bool = False
    is_whole: bool = True
    """Whether a statement has its semicolon."""


def entries(text: str) -> Iterator[Entry]:
    """The statements and commands of a text; the last statement may lack its semicolon."""
    text = only_sql(text)
    position, start, end = 0, -1, -1
    body = RoutineBody()
    while position < len(text):
        if start < 0 and (command := _command(text, position)):
            yield command[0]
            position = command[1]
            continue
        token = TOKEN.match(text, position)
        assert token is not None  # it matches any character
        position = token.end()
        if token["skipped"]:
            if unclosed(token[0]) and start < 0:
                yield Entry(token[0], token.start(), is_whole=False)
        elif token[0] != ";" or body.is_open:
            start, end = token.start() if start < 0 else start, position
            body.read(token["word"].lower() if token["word"] else token[0])
        elif start >= 0:
            yield Entry(text[start:end], start)
            start, body = -1, RoutineBody()
    if start >= 0:
        yield Entry(text[start:end], start, is_whole=False)


def _command(text: str, position: int) -> tuple[Entry, int] | None:
    """The command at a place where a statement may begin, and where it ends."""
    is_first = not text[text.rfind("\n", 0, position) + 1 : position].strip()
    if is_first and (word := _WORD.match(text, position)):
        return Entry(WORDS[word[1].lower()], word.start(1), is_command=True), word.end()
    if text[position] != "\\":
        return None
    end = text.find("\n", position)
    end = len(text) if end < 0 else end
    return Entry(text[position:end].rstrip(), position, is_command=True), end


def is_whole(text: str) -> bool:
    """Whether nothing has to follow: Enter runs *text*, instead of beginning another line."""
    return all(entry.is_whole for entry in entries(text))
