"""The commands of the shell as a table, and what each does; scripts of statements and commands. Never: typing."""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
import textwrap
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, NamedTuple

from aioifx.cli.explain import lines_of
from aioifx.cli.output import say, terminal_width
from aioifx.cli.parsing import did_you_mean
from aioifx.cli.shell.copying import USAGE, copy
from aioifx.cli.shell.execution import run_statement
from aioifx.cli.shell.listing import show_description, show_list
from aioifx.cli.shell.reader import Entry, entries
from aioifx.cli.shell.state import Quit, Shell, words
from aioifx.cli.statement import text_of
from aioifx.errors import Error, InterfaceError
from aioifx.explain import explain, pairs


class Command(NamedTuple):
    """A command."""

    argument: str
    help: str
    run: Callable[[Shell, str], Awaitable[None]]


# -- statements and scripts --------------------------------------------------------------------------------------------


async def run_entry(shell: Shell, entry: Entry) -> None:
    """Run a statement or a command.

    Raises:
        Quit: the shell ends.
        Error: it has failed.
    """
    if entry.is_command:
        name, _, argument = entry.text[1:].partition(" ")
        if (command := COMMANDS.get(name)) is None:
            known = [f"\\{each}" for each in COMMANDS] if name else []
            hint = did_you_mean(f"\\{name}", known) or "; \\? lists the commands"
            raise InterfaceError(f"unknown command \\{name[:40]}{hint}")
        await command.run(shell, argument.strip())
    elif info := _INFO.fullmatch(entry.text):
        await _info(shell, info)
    else:
        shell.last = entry.text
        await run_statement(shell, entry.text)


async def run_text(shell: Shell, text: str, source: str) -> None:
    """Run the statements and commands of a script, up to the first error, which notes the place.

    Args:
        source: what the note calls the script.
    """
    for entry in entries(text):
        try:
            await run_entry(shell, entry)
        except (Error, OSError) as error:
            error.add_note(f"in {source}, line {text.count(chr(10), 0, entry.start) + 1}")
            raise


async def _script(shell: Shell, argument: str) -> None:
    path = _path("\\i", argument)
    if path.resolve() in shell.scripts:
        raise InterfaceError(f"\\i: {path} is running already")
    text = text_of(str(path), "\\i")
    shell.scripts.append(path.resolve())
    try:
        await run_text(shell, text, path.name)
    finally:
        shell.scripts.pop()


def _path(command: str, argument: str) -> Path:
    """The file that a command names, which may be in quotes."""
    name = argument[1:-1] if len(argument) > 1 and argument[0] == argument[-1] in "'\"" else argument
    if name in ("", "-"):  # stdin is what is typed
        raise InterfaceError(f"{command}: expected the name of a file")
    try:
        return Path(name).expanduser()
    except RuntimeError:  # ~ of an unknown user
        raise InterfaceError(f"{command}: no home directory: {name[:60]}") from None


# -- INFO of dbaccess --------------------------------------------------------------------------------------------------

_INFO: Final = re.compile(
    r"INFO\s+(?:(?P<tables>TABLES)|(?P<part>COLUMNS|INDEXES|REFERENCES|TRIGGERS|ACCESS|PRIVILEGES)\s+FOR\s+"
    r"""(?P<of>(?:"[^"]*"|[^\s"])+))\s*""",
    re.IGNORECASE,
)
_PARTS: Final = {"access": "privileges", "references": "constraints"}


async def _info(shell: Shell, info: re.Match[str]) -> None:
    """Source: documented: DB-Access User's Guide, the INFO statement."""
    if info["tables"]:
        await show_list(shell, "d", "")
    else:
        part = info["part"].lower()
        await show_description(shell, info["of"], only=_PARTS.get(part, part))


# -- what commands do --------------------------------------------------------------------------------------------------


async def _describe(shell: Shell, argument: str) -> None:
    if argument and not set("*?") & set(argument):
        await show_description(shell, argument)
    else:
        await show_list(shell, "d", argument)


def _list(name: str) -> Callable[[Shell, str], Awaitable[None]]:
    return lambda shell, argument: show_list(shell, name, argument)


async def _connect(shell: Shell, argument: str) -> None:
    if shell.is_connected and not argument:
        conn = shell.connection
        say(f"connected to {conn.database or 'no database'} as {conn.user}: {conn.server_version}")
        return
    if re.search(r"[\s:=]", argument):  # it may have a password, which the server would get as a name
        raise InterfaceError("\\c: expected the name of a database; another address needs another shell")
    if shell.is_connected and shell.connection.is_in_transaction():
        raise InterfaceError("\\c: a transaction is open; COMMIT WORK or ROLLBACK WORK first")
    await shell.connect(argument or shell.database)
    say(f"connected to {shell.database}")


def _switch(name: str, command: str, label: str) -> Callable[[Shell, str], Awaitable[None]]:
    """A command that turns the attribute *name* of a shell on or off."""

    async def run(shell: Shell, argument: str) -> None:
        values = {"": not getattr(shell, name), "on": True, "off": False}
        if argument not in values:
            raise InterfaceError(f"{command}: expected on or off, got {argument!r:.40}")
        setattr(shell, name, values[argument])
        say(f"{label} is {'on' if values[argument] else 'off'}")

    return run


async def _expand(shell: Shell, argument: str) -> None:
    match argument or ("on" if shell.expanded == "auto" else "auto"):
        case "on" | "off" | "auto" as given:
            shell.expanded = given
        case _:
            raise InterfaceError(f"\\x: expected on, off or auto, got {argument!r:.40}")
    say(f"rows as lists: {shell.expanded}")


async def _redirect(shell: Shell, argument: str) -> None:
    file = _path("\\o", argument).open("w", encoding="utf-8") if argument else None
    if shell.out is not None:
        shell.out.close()
    shell.out = file
    say(f"rows are written to {argument or 'the terminal'}")


async def _edit(shell: Shell, argument: str) -> None:
    program = words("EDITOR", os.environ.get("VISUAL") or os.environ.get("EDITOR") or _EDITOR)
    with tempfile.TemporaryDirectory() as folder:
        path = _path("\\e", argument) if argument else Path(folder) / "statement.sql"
        if not argument:
            path.write_text(f"{shell.last};\n" if shell.last else "", "utf-8")
        try:
            with shell.interrupts.ignored():  # the editor takes Ctrl-C
                process = await asyncio.create_subprocess_exec(*program, str(path))
                code = await process.wait()
        except OSError as error:
            raise InterfaceError(f"\\e: {error.strerror}: {program[0]}; set EDITOR") from None
        if code:
            raise InterfaceError(f"\\e: the editor ended with exit code {code}; nothing is run")
        shell.draft = text_of(str(path), "\\e").rstrip() if path.exists() else ""


_EDITOR: Final = "notepad" if os.name == "nt" else "vi"


async def _watch(shell: Shell, argument: str) -> None:
    try:
        seconds = float(argument or 2)
    except ValueError:
        seconds = 0
    if not 0 < seconds < 86_400:
        raise InterfaceError(f"\\watch: expected seconds above 0, got {argument!r:.40}")
    if not shell.last:
        raise InterfaceError("\\watch: there is no statement to run again")
    before, shell.is_paged = shell.is_paged, False
    try:
        while True:
            say(f"-- {time.strftime('%H:%M:%S')}, each {seconds:g} s; Ctrl-C ends it")
            await run_statement(shell, shell.last)
            await asyncio.sleep(seconds)
    finally:
        shell.is_paged = before


async def _copy(shell: Shell, argument: str) -> None:
    await copy(shell.connection, argument)


async def _help(shell: Shell, argument: str) -> None:
    codes = re.findall(r"\d+", argument)
    if codes:
        width = terminal_width() or 80
        for sqlcode, isamcode in pairs([-int(code) for code in codes]):
            found = explain(sqlcode, isamcode)
            print("\n".join(lines_of(found, width)) if found else f"{sqlcode or isamcode} is not known")
        return
    name = argument.removeprefix("\\")
    if name and name not in COMMANDS:
        raise InterfaceError(f"\\h: expected a command or an error code, got {argument!r:.40}")
    width = max((terminal_width() or 80) - _INDENT - 1, 20)
    for each, command in COMMANDS.items():
        if name in ("", each):
            head, *rest = textwrap.wrap(command.help, width)
            usage = f"\\{each} {command.argument}".rstrip()
            print("\n".join([f"{usage:<{_INDENT}}{head}", *(" " * _INDENT + line for line in rest)]))
    if not name:
        print("\n".join(("", *_KEYS)))


_INDENT: Final = 22
"""The column of the text in a list of commands."""
_KEYS: Final = (
    "A statement ends with a semicolon; a routine, with END PROCEDURE or END FUNCTION.",
    "INFO TABLES and INFO COLUMNS FOR TABLE are those of dbaccess; so are its INDEXES, TRIGGERS, ...",
    "Tab completes, Ctrl-R searches the history, Ctrl-C interrupts a statement, Ctrl-D ends.",
)


async def _quit(shell: Shell, argument: str) -> None:
    raise Quit


COMMANDS: Final = {
    "?": Command("", "list the commands", _help),
    "h": Command(
        "[COMMAND|CODE]", "what a command does, or what an error code means; `help` alone lists all", _help
    ),
    "d": Command(
        "[TABLE|PATTERN]", "describe a table, view, synonym or sequence; without: list them", _describe
    ),
    "dt": Command("[PATTERN]", "list tables; a pattern has * and ?", _list("dt")),
    "dv": Command("[PATTERN]", "list views", _list("dv")),
    "df": Command("[PATTERN]", "list routines", _list("df")),
    "di": Command("[PATTERN]", "list indexes", _list("di")),
    "l": Command("[PATTERN]", "list databases", _list("l")),
    "c": Command(
        "[DATABASE]",
        "open another database; without: open a lost connection again, or say which is open",
        _connect,
    ),
    "timing": Command("[on|off]", "show how long statements take", _switch("is_timed", "\\timing", "timing")),
    "x": Command("[on|off|auto]", "show each row as a list; auto: where the columns do not fit", _expand),
    "pager": Command(
        "[on|off]", "show long results in a pager, PAGER or less", _switch("is_paged", "\\pager", "pager")
    ),
    "i": Command("FILE", "run a script of statements and commands", _script),
    "o": Command("[FILE]", "write rows to a file; without: to the terminal", _redirect),
    "e": Command("[FILE]", "edit the last statement, or a file, with VISUAL or EDITOR", _edit),
    "watch": Command("[SECONDS]", "run the last statement again and again", _watch),
    "copy": Command("...", f"copy a file into a table, or rows into a file: {USAGE}", _copy),
    "q": Command("", "end the shell", _quit),
}
"""Commands by name. \\copy takes the options of `aioifx load` and `aioifx unload`."""
