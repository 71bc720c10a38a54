"""aioifx run: the statements of scripts, one after the other. Never: how a script is cut, bytes of the protocol."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from aioifx.cli.address import add_connection, take_operands
from aioifx.cli.failures import FAILED
from aioifx.cli.output import is_terminal, say, write_text
from aioifx.cli.parsing import Verbs, add_verb, examples
from aioifx.cli.passwords import without_secrets
from aioifx.cli.progress import StatusLine
from aioifx.cli.results import WRITERS, print_results, say_result
from aioifx.cli.script import Script
from aioifx.cli.session import run_connected
from aioifx.cli.statement import Parameters
from aioifx.cli.variables import Expanded, expanded, variable
from aioifx.client.api.connection import Connection
from aioifx.client.execution.result import ExecuteResult
from aioifx.client.sql.scanner import first_words, scan
from aioifx.client.sql.script import statements_of
from aioifx.errors import ConnectionLost, DatabaseError, Error, InterfaceError, ProgrammingError

_LONG: Final = 1.0
"""Seconds after which a script has a line about its progress."""
_INTERVAL: Final = 0.1
"""Seconds between two updates of that line."""
_TRANSACTIONS: Final = frozenset({"begin", "commit", "rollback"})
_DATABASES: Final = (["close"], ["connect"], ["database"], ["disconnect"])


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    parser = add_verb(
        verbs,
        "run",
        run,
        description="Run the statements of scripts, each ended by a semicolon, and print the rows of queries.\n"
        "The scripts are read before the first statement runs. Without --single-transaction each statement is a\n"
        "transaction of its own, unless the script begins one.",
        epilog=examples(
            "aioifx run 'informix://app@db1:9088/shop?server=ol_shop' schema.sql data.sql",
            "aioifx run schema.sql --single-transaction",
            "aioifx run monthly.sql --var month=2026-11 --var table=sales --format csv > sales.csv",
            "aioifx schema --all | aioifx run @other.dsn -",
        ),
    )
    add_connection(parser)
    parser.add_argument("scripts", nargs="*", metavar="SCRIPT", help="files in UTF-8; -: stdin")
    parser.add_argument(
        "--single-transaction",
        action="store_true",
        help="run all in one transaction, which is rolled back at an error",
    )
    parser.add_argument(
        "--on-error",
        choices=("stop", "continue"),
        default="stop",
        help="what follows a statement that fails: the end (default), or the next one",
    )
    parser.add_argument(
        "--var",
        metavar="NAME=VALUE",
        action="append",
        type=variable,
        default=[],
        dest="variables",
        help="value of :NAME, of :'NAME' as a string, and of :\"NAME\" as a delimited name",
    )
    parser.add_argument("--echo", action="store_true", help="print each statement before it runs")
    parser.add_argument("--format", choices=[*WRITERS], default="table", help="of rows; default: table")
    parser.add_argument("--quiet", action="store_true", help="no progress, no summary")


class _Statement(NamedTuple):
    """A statement of a script."""

    script: Script
    text: str
    """As it is in the script."""
    start: int
    expanded: Expanded


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    paths = take_operands(arguments, "scripts")
    if not paths:
        raise InterfaceError("SCRIPT: missing")
    if arguments.single_transaction and arguments.on_error == "continue":
        raise InterfaceError(
            "--single-transaction: not with --on-error continue, after which nothing is rolled back"
        )
    scripts = [Script.read(path) for path in paths]
    statements: list[_Statement] = []
    for script in scripts:
        try:
            found = _read(script, dict(arguments.variables))
            if arguments.single_transaction:
                _check_transaction(found, has_begun=bool(statements))
        except _Unreadable as error:
            _say_lines(*error.args)
            return FAILED
        statements += found
    return run_connected(arguments, partial(_run, arguments, statements))


class _Unreadable(Exception):
    """A script that cannot be run; its arguments are lines for people."""


def _read(script: Script, values: dict[str, str]) -> list[_Statement]:
    try:
        found = statements_of(script.text)
    except DatabaseError as error:
        head, lines = script.unreadable(error)
        raise _Unreadable(head, *lines) from None
    statements: list[_Statement] = []
    for sql, start in found:
        try:
            statements.append(_Statement(script, sql, start, expanded(sql, values)))
        except ProgrammingError as error:
            head, lines = script.failure("error", sql, start, error)
            raise _Unreadable(head, *lines) from None
    return statements


def _check_transaction(statements: Sequence[_Statement], *, has_begun: bool) -> None:
    """Refuse statements that end the one transaction, or begin another."""
    for statement in statements:
        words, moves = first_words(statement.text, 4), _moves(statement.text)
        ends = words[:1] and words[0] in _TRANSACTIONS and "savepoint" not in words
        if ends or (moves and has_begun):
            error = ProgrammingError(f"{words[0].upper()}: not with --single-transaction")
            head, lines = statement.script.failure("error", statement.text, statement.start, error)
            raise _Unreadable(head, *lines)
        has_begun = has_begun or not moves


def _moves(sql: str) -> bool:
    """Whether a statement opens, closes, makes or drops a database, which no transaction can have."""
    words = first_words(sql, 2)
    return words[:1] in _DATABASES or words[1:] == ["database"]


async def _run(arguments: argparse.Namespace, statements: Sequence[_Statement], conn: Connection[Any]) -> int:
    runner = _Runner(arguments, conn, len(statements))
    try:
        return await runner.run(statements)
    finally:
        runner.sum_up()


class _Runner:
    """Runs statements, and says what becomes of them."""

    def __init__(self, arguments: argparse.Namespace, conn: Connection[Any], total: int) -> None:
        self._arguments = arguments
        self._conn = conn
        self._total = total
        self._done = self._failed = 0
        self._outcome = ""
        self._began = self._shown = time.monotonic()
        self._line = StatusLine() if is_terminal(sys.stderr) and not arguments.quiet else None

    async def run(self, statements: Sequence[_Statement]) -> int:
        """Run them; returns the exit code."""
        transaction = None
        for statement in statements:
            if self._arguments.single_transaction and transaction is None and not _moves(statement.text):
                transaction = self._conn.transaction()
                await transaction.start()
                self._outcome = "; all is rolled back"
            self._show(statement)
            if not await self._succeeds(statement) and self._arguments.on_error == "stop":
                if transaction is not None:
                    await transaction.rollback()
                elif self._conn.is_in_transaction():
                    self._outcome = "; the open transaction is rolled back"
                return FAILED
        if transaction is not None:
            self._outcome = "; the COMMIT was not confirmed"
            await transaction.commit()
            self._outcome = ""
        elif self._conn.is_in_transaction():
            self._outcome = "; the transaction that was left open is rolled back"
            return FAILED
        return FAILED if self._failed else 0

    async def _succeeds(self, statement: _Statement) -> bool:
        sql = statement.expanded.sql
        if self._arguments.echo:
            self._clear()
            write_text(f"{without_secrets(sql)};\n")
        try:
            scan(sql)
            await print_results(
                self._conn,
                Parameters(sql, ()),
                self._arguments.format,
                say_result=partial(self._say_result, statement),
                before=self._clear,
            )
        except ConnectionLost:
            raise
        except Error as error:
            self._failed += 1
            self._report(statement, error)
            if self._conn.is_closed():
                raise
            return False
        self._done += 1
        return True

    def _report(self, statement: _Statement, error: Error) -> None:
        place = statement.expanded.original(getattr(error, "offset", 0))
        head, lines = statement.script.failure("error", statement.text, statement.start, error, place)
        self._clear()
        _say_lines(head, *lines)

    def _say_result(self, statement: _Statement, result: ExecuteResult, began: float) -> None:
        if self._arguments.quiet:
            return
        if self._arguments.echo:
            self._clear()
            say_result(result, began)
            return
        for warning in result.warnings:
            self._clear()
            say(f"{statement.script.place(statement.start)}: warning: {warning}")

    # -- progress -----------------------------------------------------------------------------------------------------

    def _show(self, statement: _Statement) -> None:
        now = time.monotonic()
        if self._line is not None and now - self._began >= _LONG and now - self._shown >= _INTERVAL:
            self._shown = now
            count = self._done + self._failed
            share = 100 * count // self._total
            self._line.show(
                f"{statement.script.place(statement.start)}  {count:,} of {self._total:,} statements, {share} %"
            )

    def _clear(self) -> None:
        if self._line is not None:
            self._line.clear()

    def sum_up(self) -> None:
        """Print how many statements have succeeded."""
        self._clear()
        if self._arguments.quiet and not self._failed:
            return
        seconds = time.monotonic() - self._began
        count = f"{self._done:,}" if self._done == self._total else f"{self._done:,} of {self._total:,}"
        failed = f", {self._failed:,} failed" if self._failed else ""
        plural = "" if self._total == 1 else "s"
        say(f"{count} statement{plural} done{failed} in {seconds:.3f} s{self._outcome}")


def _say_lines(*lines: str) -> None:
    for line in lines:
        say(line)
