"""Statements run by the shell, their rows and errors printed. Never: how SQL is typed, a terminal's keys."""

from __future__ import annotations

import shutil
import sys
import textwrap
import time
from collections.abc import Sequence
from contextlib import aclosing
from typing import Final

from aioifx.cli.failures import error_lines
from aioifx.cli.output import LinePrinter, StyledLine, counted, say, terminal_width
from aioifx.cli.results import PAGE, TableReading, rows_of
from aioifx.cli.row_texts import Table
from aioifx.cli.shell.pages import Pages, pages
from aioifx.cli.shell.state import LOST, Shell
from aioifx.client.execution.execute import COMMANDS
from aioifx.client.execution.result import ExecuteResult
from aioifx.client.sql.scanner import scan
from aioifx.errors import ConnectionLost, DatabaseError, Error, InterfaceError
from aioifx.explain import explain
from aioifx.sqltypes import Column, Row, Value

_DEFINING: Final = frozenset({"create", "drop", "alter", "rename", "rollback"})
"""Verbs after which the names of a database may be others."""
_CHANGING: Final = frozenset({"insert", "update", "delete", "merge"})
"""Verbs of statements that change a number of rows, which may be 0."""


async def run_statement(shell: Shell, sql: str, values: Sequence[Value] = ()) -> None:
    """Run a statement, and print its rows, or what it has done.

    Raises:
        InterfaceError: there is no connection, or a value for a placeholder is missing.
        Error: of the statement.
    """
    conn, began = shell.connection, time.monotonic()
    found = scan(sql)
    if found.placeholders != len(values):
        raise InterfaceError("the statement has placeholders; `aioifx query --param` gives them values")
    result: ExecuteResult | None
    if found.verb in COMMANDS and not values:
        result = await conn.execute(sql)  # some of these cannot be prepared
    else:
        async with await conn.prepare(sql) as prepared:
            result = None if prepared.columns else await prepared.execute(*values)
            columns = prepared.columns
        if result is None:
            await _print_rows(shell, sql, values, columns)
    if result is not None:
        _say_result(shell, result, time.monotonic() - began, is_counted=found.verb in _CHANGING)
    if conn.database != shell.database:
        shell.database = conn.database
        shell.refresh_names()
    elif found.verb in _DEFINING:
        shell.refresh_names()


def _say_result(shell: Shell, result: ExecuteResult, seconds: float, *, is_counted: bool) -> None:
    """Print what a statement without rows has done; a number of 0 rows only if *is_counted*."""
    for warning in result.warnings:
        say(f"warning: {warning}")
    rows = f", {counted(result.rowcount)}" if is_counted or result.rowcount else ""
    serial = "" if result.serial is None else f", serial {result.serial}"
    say(f"done{rows}{serial}" + (f" in {seconds:.3f} s" if shell.is_timed else ""))


async def _print_rows(shell: Shell, sql: str, values: Sequence[Value], columns: Sequence[Column]) -> None:
    # The statement cache has the statement, so it is not prepared again.
    began, count = time.monotonic(), 0
    width = None if shell.out or shell.expanded == "off" else terminal_width()
    table = Table(columns, width, is_vertical=shell.expanded == "on")
    kept: list[Row] = []
    async with pages(shell.out, shell.interrupts, is_paged=shell.is_paged) as lines:
        async with aclosing(rows_of(shell.connection, sql, values, columns, TableReading())) as blocks:
            async for rows in blocks:
                kept += rows
                count += len(rows)
                if len(kept) >= PAGE:
                    await lines.write(table.page(kept))
                    kept.clear()
                    if lines.is_ended:
                        return
        if kept or not count:
            await lines.write(table.page(kept))
        await lines.write([_footer(shell, count, began, lines)])


def _footer(shell: Shell, count: int, began: float, lines: Pages) -> StyledLine:
    seconds = f", {time.monotonic() - began - lines.waited:.3f} s" if shell.is_timed else ""
    return ((f"({counted(count)}{seconds})", "dim"),)


def report(error: Error | OSError) -> None:
    """Print an error: its message, the place in the SQL, what it means, and what can be done."""
    first, *others = error_lines(error)
    lines: list[StyledLine] = [((first, "red"),), *(((line, ""),) for line in others)]
    if isinstance(error, DatabaseError) and (
        found := explain(error.sqlcode, error.isamcode) or explain(error.sqlcode)
    ):
        width = max(shutil.get_terminal_size().columns, 40)
        for name, text in (("cause", found.advice.cause), ("remedy", found.advice.remedy)):
            lines += (((line, "dim"),) for line in _wrapped(f"{name}: ", text, width))
    if isinstance(error, ConnectionLost):
        lines.append(((LOST, ""),))
    LinePrinter(sys.stderr).print(lines)


def _wrapped(head: str, text: str, width: int) -> list[str]:
    """A text after *head* in lines; none for no text."""
    indent = " " * len(head)
    return textwrap.wrap(
        text,
        width,
        initial_indent=head,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
