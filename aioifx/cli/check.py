"""aioifx check: each statement of a script, run in an embedded server. Never: how a script is cut, what SQL means."""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aioifx.cli.failures import FAILED
from aioifx.cli.output import LinePrinter, StyledLine, terminal_width
from aioifx.cli.parsing import Verbs, add_verb, examples
from aioifx.cli.session import run_until_signal
from aioifx.cli.statement import text_of
from aioifx.client.api.connection import Connection
from aioifx.client.connect.connect import connect
from aioifx.client.sql.scanner import scan
from aioifx.errors import ConnectionLost, DatabaseError, Error, describe_codes, point_at, visible

if TYPE_CHECKING:
    from aioifx.server import Server

_STYLES: Final = {"accepted": "green", "refused": "yellow", "error": "red"}
"""What may become of a statement, in the order of the last line."""
_NOT_SUPPORTED: Final = -999
_NO_DATABASE: Final = -329
_WIDTH: Final = 120
"""Columns of lines that no terminal shows."""
_MARGIN: Final = " " * 4


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    parser = add_verb(
        verbs,
        "check",
        run,
        description="Run the statements of a script in an embedded server, and say of each whether it is accepted,\n"
        "refused because the server lacks it (-999), or an error. The server is new, and removed at the end.\n"
        "A statement with placeholders is prepared only. The exit code is 1 unless all are accepted.",
        epilog=examples("aioifx check schema.sql", "dbschema -d shop -ss | aioifx check - --quiet"),
    )
    parser.add_argument(
        "script", metavar="SCRIPT", help="file in UTF-8 with statements ended by semicolons; -: stdin"
    )
    parser.add_argument("--quiet", action="store_true", help="show only statements that are not accepted")
    parser.add_argument("--db-locale", metavar="LOCALE", help="locale of databases (default en_US.819)")
    parser.add_argument(
        "--log-mode", type=_log_mode, metavar="MODE", help="logged (default), unlogged or ansi"
    )
    parser.add_argument(
        "--continue",
        dest="continues",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="go on after a statement that is not accepted (default)",
    )


def _log_mode(text: str) -> object:
    from aioifx.server.sqlite.databases import LogMode  # here, because the other verbs need no SQLite

    try:
        return LogMode(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected {', '.join(LogMode)}, got {text!r}") from None


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    source = "stdin" if arguments.script == "-" else Path(arguments.script).name
    script = _Script(text_of(arguments.script, "SCRIPT"), source, arguments.quiet)
    given = {"db_locale": arguments.db_locale, "log_mode": arguments.log_mode}
    options = {name: value for name, value in given.items() if value is not None}
    return run_until_signal(_check(script, arguments.continues, options))


async def _check(script: _Script, continues: bool, options: dict[str, Any]) -> int:
    from aioifx.server import ServerOptions, serve
    from aioifx.server.host.seed import split

    async with serve(ServerOptions(**options)) as server, connect(server.dsn) as conn:
        try:
            for sql, start in split(script.text, script.source):
                error = await _error_of(conn, server, sql)
                script.report(sql, start, error)
                if error is not None and not continues:
                    break
        except DatabaseError as error:
            if error.sql != script.text:
                raise
            script.report_unreadable(error)
    script.sum_up()
    return 0 if script.states.keys() <= {"accepted"} else FAILED


async def _error_of(conn: Connection[Any], server: Server, sql: str) -> Error | None:
    """The error of a statement. A database that DATABASE names is created, because scripts begin with it."""
    try:
        if scan(sql).placeholders:
            async with await conn.prepare(sql):
                return None
        await conn.execute(sql)
    except ConnectionLost:
        raise
    except Error as error:
        if getattr(error, "sqlcode", 0) != _NO_DATABASE or scan(sql).verb != "database":
            return error
        assert isinstance(error, DatabaseError)
        try:
            await asyncio.to_thread(partial(server.create_database, error.token))
            await conn.execute(sql)
        except DatabaseError as second:
            return second
    return None


@dataclass(slots=True)
class _Script:
    """A script, and what became of its statements."""

    text: str
    source: str
    """The name that lines begin with."""
    quiet: bool
    states: Counter[str] = field(default_factory=Counter[str])
    _printer: LinePrinter = field(default_factory=LinePrinter)

    def report(self, sql: str, start: int, error: Error | None) -> None:
        """Print what became of a statement.

        Args:
            start: its first character in the script, from 0.
        """
        if error is None:
            self.states["accepted"] += 1
            if not self.quiet:
                line = f"{self._place(start)}: accepted: {visible(' '.join(sql.split()))}"
                self._printer.print([_styled(_cut(line, _width()), "accepted")])
            return
        offset = getattr(error, "offset", 0)
        place = point_at(sql, offset)
        notes = [note for note in getattr(error, "__notes__", ()) if note != place]
        position = start + offset if place else 0
        state = "refused" if getattr(error, "sqlcode", 0) == _NOT_SUPPORTED else "error"
        self._report(state, str(error), position, sql, start, notes)

    def report_unreadable(self, error: DatabaseError) -> None:
        """Print why the script cannot be read any further."""
        message = describe_codes(error.sqlcode, error.isamcode, error.token)
        self._report("error", message, error.offset, "", max(error.offset - 1, 0), ())

    def sum_up(self) -> None:
        """Print the number of statements in each state."""
        counts = [f"{self.states[state]:,} {state}" for state in _STYLES]
        counts[-1] += "" if self.states["error"] == 1 else "s"
        self._printer.print([[(", ".join(counts), "")]])

    def _report(
        self, state: str, message: str, position: int, sql: str, start: int, notes: Sequence[str]
    ) -> None:
        """Print an error.

        Args:
            position: of the place in the script, from 1; 0 for none: then the line is that of *start*.
        """
        self.states[state] += 1
        column = f":{position - self.text.rfind(chr(10), 0, position - 1) - 1}" if position else ""
        head = f"{self._place(position - 1 if position else start)}{column}: {state}: {visible(message)}"
        self._printer.print(
            [_styled(head, state), *([(line, "")] for line in self._shown(position, sql, notes))]
        )

    def _shown(self, position: int, sql: str, notes: Sequence[str]) -> Iterator[str]:
        """The line with the caret, or the statement's first line; and the notes of the error."""
        width = _width() - len(_MARGIN)
        if position:
            yield from point_at(self.text, position, min(50, (width - 8) // 2)).splitlines()[1:]
        elif sql:
            yield _MARGIN + _cut(visible(sql.splitlines()[0]), width)
        for note in notes:
            yield from (_MARGIN + visible(line) for line in note.splitlines())

    def _place(self, index: int) -> str:
        return f"{visible(self.source)}:{self.text.count(chr(10), 0, index) + 1}"


def _width() -> int:
    return max(terminal_width() or _WIDTH, 40)


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 3] + "..."


def _styled(line: str, state: str) -> StyledLine:
    """The line with its state in colour."""
    before, word, after = line.partition(f": {state}:")
    return [(before, ""), (word, _STYLES[state]), (after, "")]
