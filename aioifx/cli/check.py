"""aioifx check: each statement of a script, run in an embedded server. Never: how a script is cut, what SQL means."""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from aioifx.cli.failures import FAILED
from aioifx.cli.output import LinePrinter, StyledLine
from aioifx.cli.parsing import Verbs, add_verb, examples
from aioifx.cli.passwords import without_secrets
from aioifx.cli.script import Failure, Script, cut, line_width
from aioifx.cli.session import run_until_signal
from aioifx.client.api.connection import Connection
from aioifx.client.connect.connect import connect
from aioifx.client.sql.scanner import scan
from aioifx.errors import ConnectionLost, DatabaseError, Error, visible

if TYPE_CHECKING:
    from aioifx.server import Server

_STYLES: Final = {"accepted": "green", "refused": "yellow", "error": "red"}
"""What may become of a statement, in the order of the last line."""
_NOT_SUPPORTED: Final = -999
_NO_DATABASE: Final = -329


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
    report = _Report(Script.read(arguments.script), arguments.quiet)
    given = {"db_locale": arguments.db_locale, "log_mode": arguments.log_mode}
    options = {name: value for name, value in given.items() if value is not None}
    return run_until_signal(_check(report, arguments.continues, options))


async def _check(report: _Report, continues: bool, options: dict[str, Any]) -> int:
    from aioifx.server import ServerOptions, serve
    from aioifx.server.host.seed import split

    script = report.script
    async with serve(ServerOptions(**options)) as server, connect(server.dsn) as conn:
        try:
            for sql, start in split(script.text, script.source):
                error = await _error_of(conn, server, sql)
                report.tell(sql, start, error)
                if error is not None and not continues:
                    break
        except DatabaseError as error:
            if error.sql != script.text:
                raise
            report.fail("error", script.unreadable(error))
    report.sum_up()
    return 0 if report.states.keys() <= {"accepted"} else FAILED


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
class _Report:
    """What became of the statements of a script."""

    script: Script
    quiet: bool
    states: Counter[str] = field(default_factory=Counter[str])
    _printer: LinePrinter = field(default_factory=LinePrinter)

    def tell(self, sql: str, start: int, error: Error | None) -> None:
        """Print what became of a statement.

        Args:
            start: its first character in the script, from 0.
        """
        if error is not None:
            state = "refused" if getattr(error, "sqlcode", 0) == _NOT_SUPPORTED else "error"
            self.fail(state, self.script.failure(state, sql, start, error))
            return
        self.states["accepted"] += 1
        if not self.quiet:
            text = visible(" ".join(without_secrets(sql).split()))
            line = f"{self.script.place(start)}: accepted: {text}"
            self._printer.print([_styled(cut(line, line_width()), "accepted")])

    def fail(self, state: str, failure: Failure) -> None:
        """Print an error."""
        self.states[state] += 1
        self._printer.print([_styled(failure.head, state), *([(line, "")] for line in failure.lines)])

    def sum_up(self) -> None:
        """Print the number of statements in each state."""
        counts = [f"{self.states[state]:,} {state}" for state in _STYLES]
        counts[-1] += "" if self.states["error"] == 1 else "s"
        self._printer.print([[(", ".join(counts), "")]])


def _styled(line: str, state: str) -> StyledLine:
    """The line with its state in colour."""
    before, word, after = line.partition(f": {state}:")
    return [(before, ""), (word, _STYLES[state]), (after, "")]
