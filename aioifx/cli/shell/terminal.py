"""The shell in a terminal: keys, prompt, history, completion by prompt_toolkit. Never: what a statement does.

Invariants:
1. Ctrl-C clears the input or interrupts a statement; it never ends the shell.
2. The history is a file that only its user can read, without inputs that may have a password. Nothing of these is
   suggested, either.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggest, Suggestion
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import has_focus
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer

from aioifx.cli.address import Destination
from aioifx.cli.output import say
from aioifx.cli.passwords import may_have_secrets
from aioifx.cli.shell.commands import run_entry
from aioifx.cli.shell.completion import suggestions
from aioifx.cli.shell.execution import report
from aioifx.cli.shell.names import Catalogue
from aioifx.cli.shell.reader import entries, is_whole
from aioifx.cli.shell.state import Quit, Shell
from aioifx.errors import Error, visible


async def run(destination: Destination) -> int:
    """Read and run input until it ends; returns the exit code."""
    catalogue = Catalogue(destination)
    shell = Shell(destination, catalogue)
    await shell.connect()  # Ctrl-C ends it
    with shell.interrupts.caught():
        try:
            _greet(shell)
            session = _session(shell, catalogue)
            while await _turn(shell, session):
                pass
        except Quit:
            pass
        finally:
            _say_what_is_lost(shell)
            await shell.end()
    return 0


def _greet(shell: Shell) -> None:
    say(f"{shell.connection.server_version}; database {shell.database or '(none)'}")
    say("\\? lists the commands, \\q ends the shell.")


def _say_what_is_lost(shell: Shell) -> None:
    if shell.is_connected and shell.connection.is_in_transaction() and not shell.connection.is_ansi:
        say("the open transaction is rolled back")


async def _turn(shell: Shell, session: PromptSession[str]) -> bool:
    """Read one input and run it; False at the end of the input."""
    draft, shell.draft = shell.draft, ""
    try:
        text = await session.prompt_async(default=draft)
    except KeyboardInterrupt:
        return True
    except EOFError:
        return False
    await shell.interrupts.run(run_input(shell, text))
    return True


async def run_input(shell: Shell, text: str) -> None:
    """Run the statements and commands of an input up to the first error, which is printed."""
    try:
        for entry in entries(text):
            await run_entry(shell, entry)
    except (Error, OSError) as error:
        report(error)
    except Quit:
        raise
    except Exception:  # a bug must not end the shell, and with it an open transaction
        traceback.print_exc()


# -- what is typed -----------------------------------------------------------------------------------------------------


def _session(shell: Shell, catalogue: Catalogue) -> PromptSession[str]:
    return PromptSession(
        lambda: _prompt(shell),
        multiline=True,
        prompt_continuation=_continuation,
        lexer=PygmentsLexer(import_module("pygments.lexers.sql").SqlLexer),
        completer=_Completer(catalogue),
        auto_suggest=Suggestions(),
        history=history(),
        key_bindings=_keys(),
        refresh_interval=0.5,  # a connection that is lost meanwhile is shown
        enable_suspend=True,
        enable_open_in_editor=True,
        tempfile_suffix=".sql",
    )


def _prompt(shell: Shell) -> StyleAndTextTuples:
    """``shop>``; ``shop*>`` in a transaction; ``shop (lost)>`` without a connection."""
    name = visible(shell.database) or "(no database)"
    if not shell.is_connected:
        return [("bold", name), ("fg:ansired", " (lost)"), ("", "> ")]
    mark = "*" if shell.connection.is_in_transaction() else ""
    return [("bold", name), ("fg:ansiyellow", mark), ("", "> ")]


def _continuation(width: int, line: int, wraps: int) -> StyleAndTextTuples:
    return [("fg:ansibrightblack", ("" if wraps else "-> ").rjust(width))]


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter", filter=has_focus(DEFAULT_BUFFER))
    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_whole(buffer.text):
            buffer.validate_and_handle()
        elif buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
            buffer.complete_state = None
        else:
            buffer.newline()

    return keys


class _Completer(Completer):
    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        before = document.text_before_cursor
        prefix, found = suggestions(before, document.text_after_cursor, self._catalogue.names)
        if not prefix and not complete_event.completion_requested and before[-1:] != ".":
            return  # the menu comes with the first letter, or with Tab
        for each in found:
            yield Completion(each.text, -len(prefix), display_meta=each.kind)


class Suggestions(AutoSuggest):
    """The rest of the line, from an input before."""

    def get_suggestion(self, buffer: Buffer, document: Document) -> Suggestion | None:
        typed = document.text.rpartition("\n")[2]
        if typed.strip():
            for text in reversed(buffer.history.get_strings()):
                for line in reversed(text.splitlines()):
                    if line.startswith(typed) and not may_have_secrets(text):
                        return Suggestion(line.removeprefix(typed))
        return None


# -- history -----------------------------------------------------------------------------------------------------------


class _History(FileHistory):
    def store_string(self, string: str) -> None:
        if not may_have_secrets(string):
            with suppress(
                OSError, UnicodeError
            ):  # the folder is gone, the disk is full; a byte that is no character
                super().store_string(string)


def history_file() -> Path:
    """Where the history is kept."""
    base = os.environ.get("XDG_STATE_HOME") or (os.environ.get("LOCALAPPDATA") if os.name == "nt" else None)
    return Path(base or Path.home() / ".local" / "state") / "aioifx" / "history"


def history() -> History:
    """The history in its file; in memory if that cannot be written."""
    path = history_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
    except OSError:
        return InMemoryHistory()
    return _History(str(path))
