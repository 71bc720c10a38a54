"""What may come next in the input: keywords, names of the catalogue, commands, files. Never: reading the catalogue.

Invariants:
1. The statement is only looked at around its last words; nothing is sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from aioifx.catalog.texts import quoted
from aioifx.cli.shell.commands import COMMANDS
from aioifx.cli.shell.keywords import KEYWORDS
from aioifx.cli.shell.names import Names
from aioifx.cli.shell.reader import entries
from aioifx.client.sql.scanner import TOKEN

_LAST_WORD: Final = re.compile(r"[\w$]*\Z")

_TABLES: Final = frozenset(
    {"from", "join", "into", "update", "table", "view", "synonym", "sequence", "references"}
)
_ROUTINES: Final = frozenset({"procedure", "function", "routine", "call"})
_CLAUSES: Final = (
    _TABLES
    | _ROUTINES
    | frozenset(
        "select where set group order having on values database by and or returning using info execute".split()
    )
)
"""Words that decide what kind of name comes next."""


class Suggestion(NamedTuple):
    """A text that may replace the last word."""

    text: str
    kind: str
    """What it is, for the menu."""


def suggestions(before: str, after: str, names: Names) -> tuple[str, list[Suggestion]]:
    """The last word before the cursor, and what may replace it.

    Args:
        before: the input up to the cursor.
        after: the rest.
    """
    last = ""
    for entry in entries(before):
        last = before[entry.start :] if entry.is_command or not entry.is_whole else ""
    if last.startswith("\\") and "\n" not in last:
        return _of_command(last, names)
    word = _LAST_WORD.search(before)
    prefix = word[0] if word else ""
    rest = next((entry.text for entry in entries(after)), "")
    found = _of_statement(last[: len(last) - len(prefix)] if prefix else last, last + rest, prefix, names)
    return prefix, _matching(prefix, found)


def _matching(prefix: str, found: Iterable[Suggestion]) -> list[Suggestion]:
    """Those that begin with the prefix, each text once."""
    start, unique = prefix.lower(), dict[str, Suggestion]()
    for each in found:
        name = each.text.lower().lstrip('"')
        if name.startswith(start):
            unique.setdefault(name, each)
    return [*unique.values()]


# -- statements --------------------------------------------------------------------------------------------------------


def _of_statement(before: str, whole: str, prefix: str, names: Names) -> Iterator[Suggestion]:
    words = [token[0].lower() for token in TOKEN.finditer(before) if not token["skipped"]]
    tables = _named(names.columns, "table")
    if words and words[-1] in (".", ":"):
        owner = words[-2] if len(words) > 1 else ""
        yield from _columns(_tables_of(whole, names).get(owner, owner), names)
        yield from tables
        return
    clause = next((word for word in reversed(words) if word in _CLAUSES), "")
    if clause in _TABLES or (clause == "info" and words[-1] == "for"):
        yield from tables
    elif clause in _ROUTINES:
        yield from _named(names.routines, "routine")
    elif clause == "database":
        yield from _named(names.databases, "database")
        return
    elif words:
        for table in dict.fromkeys(_tables_of(whole, names).values()) or [""]:
            yield from _columns(table, names)
        yield from _named(names.routines, "routine")
    yield from _keywords(prefix)


def _keywords(prefix: str) -> Iterator[Suggestion]:
    """Keywords, in the case of what has been typed."""
    is_lower = prefix[-1:].islower()
    return (Suggestion(word.lower() if is_lower else word, "keyword") for word in KEYWORDS)


def _columns(table: str, names: Names) -> Iterator[Suggestion]:
    """The columns of a table; of all that users made if it is not known, as its name may be yet to be typed."""
    for each in [table] if table in names.columns else names.own:
        yield from _named(names.columns[each], f"column of {each}")


def _named(names: Iterable[str], kind: str) -> Iterator[Suggestion]:
    return (Suggestion(quoted(name), kind) for name in names)


def _tables_of(statement: str, names: Names) -> Mapping[str, str]:
    """The tables of a statement by their aliases and names: words that are tables, and the word after each."""
    words = [token[0].lower() for token in TOKEN.finditer(statement) if not token["skipped"]]
    found: dict[str, str] = {}
    for index, word in enumerate(words):
        if word in names.columns:
            found[word] = word
            following = words[index + 1 : index + 3]
            alias = following[1:] if following[:1] == ["as"] else following[:1]
            if alias and alias[0].isidentifier() and alias[0].upper() not in KEYWORDS:
                found[alias[0]] = word
    return found


# -- commands ----------------------------------------------------------------------------------------------------------


def _of_command(line: str, names: Names) -> tuple[str, list[Suggestion]]:
    command, blank, argument = line.partition(" ")
    if not blank:
        found = [Suggestion(f"\\{name}", each.help) for name, each in COMMANDS.items()]
        return command, _matching(command, found)
    word = argument.rpartition(" ")[2]
    return word, _matching(word, _arguments_of(command, argument, names))


def _arguments_of(command: str, argument: str, names: Names) -> Iterable[Suggestion]:
    match command:
        case "\\d" | "\\dt" | "\\dv":
            return _named(names.columns, "table")
        case "\\df":
            return _named(names.routines, "routine")
        case "\\c" | "\\l":
            return _named(names.databases, "database")
        case "\\i" | "\\o" | "\\e":
            return _files(argument)
        case "\\x":
            return [Suggestion(text, "") for text in ("auto", "off", "on")]
        case "\\timing" | "\\pager":
            return [Suggestion(text, "") for text in ("off", "on")]
        case "\\copy":
            words = argument.split()
            if len(words) > 1 and words[-1 if argument.endswith(" ") else -2].lower() in ("from", "to"):
                return _files(argument.rpartition(" ")[2])
            return [*_named(names.columns, "table"), Suggestion("from", ""), Suggestion("to", "")]
        case _:
            return ()


def _files(start: str) -> Sequence[Suggestion]:
    """The files and folders whose path begins with *start*."""
    folder, slash, _ = start.rpartition("/")
    try:
        found = sorted(Path(folder + slash or ".").expanduser().iterdir())
    except (OSError, RuntimeError):  # RuntimeError: ~ of an unknown user
        return ()
    return [Suggestion(f"{folder}{slash}{each.name}{'/' * each.is_dir()}", "") for each in found]
