"""Results of one statement to stdout: a table, CSV, JSON or Arrow. Never: bytes of the protocol, a command line.

Invariants:
1. At most two blocks of rows are in memory, and the rows of one page of a table.
2. A limit ends the query at the server: no further rows are fetched.
"""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final, Protocol, TypeAlias

from aioifx.cli.formats import write_batches
from aioifx.cli.output import LinePrinter, counted, say, terminal_width, write_text
from aioifx.cli.row_texts import LONGEST, Table, json_lines, text_writer
from aioifx.cli.statement import Parameters
from aioifx.client.api.connection import Connection, statements_of
from aioifx.client.bulk.text_formats import CsvFormat
from aioifx.client.execution.block_reader import BlockReader
from aioifx.client.execution.execute import COMMANDS
from aioifx.client.execution.result import ExecuteResult
from aioifx.client.execution.row_plan import RowPlan, RowPlans
from aioifx.client.lobs.lob import Lob
from aioifx.client.sql.scanner import scan
from aioifx.codecs.large_objects import is_smart_object
from aioifx.rows import tuple_row
from aioifx.sqltypes import Column, Row, Value

PAGE: Final = 500
"""Rows of a table by which the widths of columns are chosen."""


class Reading(Protocol):
    """How rows are read."""

    longest: int
    """Bytes of a large object that are needed; -1: all."""

    def plan(self, plans: RowPlans) -> RowPlan:
        """How rows are read, large objects as handles."""
        ...


class Writer(Reading, Protocol):
    """Writes the rows of one query to stdout."""

    def write(self, rows: Sequence[Row]) -> None:
        """Write these rows."""
        ...

    def end(self, seconds: float, *, is_limited: bool) -> None:
        """Write what comes after the last row."""
        ...


def _plain(plans: RowPlans) -> RowPlan:
    """Values as UNLOAD writes them: JSON, rows and collections are text."""
    return RowPlan(plans.reader(plain=True), large=plans.large_values("handles", plain=True))


class TableReading:
    """Rows for a table."""

    longest = 2 * LONGEST

    def plan(self, plans: RowPlans) -> RowPlan:
        """How rows are read, large objects as handles."""
        return _plain(plans)


class _TableWriter(TableReading):
    def __init__(self, columns: Sequence[Column]) -> None:
        self._table = Table(columns, terminal_width())
        self._printer = LinePrinter()
        self._page: list[Row] = []
        self._count = 0

    def write(self, rows: Sequence[Row]) -> None:
        self._page += rows
        if len(self._page) >= PAGE:
            self._print()

    def _print(self) -> None:
        self._count += len(self._page)
        self._printer.print(self._table.page(self._page))
        self._page.clear()

    def end(self, seconds: float, *, is_limited: bool) -> None:
        if self._page or not self._count:
            self._print()
        more = ", as limited" if is_limited else ""
        self._printer.print([((f"({counted(self._count)}{more}, {seconds:.3f} s)", "dim"),)])


class CsvWriter:
    longest = -1

    def __init__(self, columns: Sequence[Column], *, escape_formulas: bool = False) -> None:
        self._texts = [text_writer(column.type) for column in columns]
        self._join = CsvFormat(escape_formulas=escape_formulas).join
        write_text(self._join([column.name for column in columns]))

    def plan(self, plans: RowPlans) -> RowPlan:
        return _plain(plans)

    def write(self, rows: Sequence[Row]) -> None:
        write_text("".join(map(self._line, rows)))

    def _line(self, row: Row) -> str:
        fields = [
            None if value is None else text(value) for text, value in zip(self._texts, row, strict=True)
        ]
        # Of a single column, NULL is an empty line, which readers of CSV may skip.
        return "\n" if fields == [None] else self._join(fields)

    def end(self, seconds: float, *, is_limited: bool) -> None:
        pass


class _JsonWriter:
    longest = -1

    def __init__(self, columns: Sequence[Column]) -> None:
        self._lines = json_lines(columns)

    def plan(self, plans: RowPlans) -> RowPlan:
        return plans.of_stream(tuple_row, "handles")

    def write(self, rows: Sequence[Row]) -> None:
        write_text(self._lines(rows))

    def end(self, seconds: float, *, is_limited: bool) -> None:
        pass


MakeWriter: TypeAlias = Callable[[Sequence[Column]], Writer]

WRITERS: Final[Mapping[str, MakeWriter]] = {
    "table": _TableWriter,
    "csv": CsvWriter,
    "json": _JsonWriter,
}
"""By the name of the format."""


def say_result(result: ExecuteResult, began: float) -> None:
    """Print what a statement without rows has done to stderr."""
    for warning in result.warnings:
        say(f"warning: {warning}")
    serial = "" if result.serial is None else f", serial {result.serial}"
    say(f"done, {counted(result.rowcount)}{serial} in {time.monotonic() - began:.3f} s")


async def print_results(
    conn: Connection[Any],
    statement: Parameters,
    form: str,
    *,
    limit: int | None = None,
    make: MakeWriter | None = None,
    say_result: Callable[[ExecuteResult, float], object] = say_result,
    before: Callable[[], object] = lambda: None,
) -> None:
    """Execute a statement; print its rows to stdout, or what it has done to stderr.

    Args:
        form: one of WRITERS, or "arrow".
        limit: rows at most.
        make: makes the writer, instead of that of *form*.
        say_result: gets the result of a statement without rows, and `time.monotonic` at its begin.
        before: called before anything is printed.
    """
    sql, began = statement.sql, time.monotonic()
    if not statement.texts and (found := scan(sql)).verb in COMMANDS and not found.placeholders:
        say_result(await conn.execute(sql), began)  # some of these cannot be prepared
        return
    async with await conn.prepare(sql) as prepared:
        values = statement.values(prepared.parameters)
        columns = prepared.columns
        if not columns:
            say_result(await prepared.execute(*values), began)
            return
        before()
        if form == "arrow":
            await write_batches(form, sys.stdout.buffer, prepared, values, limit=limit)
            sys.stdout.buffer.flush()
            return
    # The statement cache has the statement, so it is not prepared again.
    writer = (make or WRITERS[form])(columns)
    left = sys.maxsize if limit is None else limit
    async with aclosing(rows_of(conn, sql, values, columns, writer, is_whole=limit is None)) as blocks:
        async for rows in blocks:
            writer.write(rows[:left])
            left -= len(rows)
            if left <= 0:
                break
    writer.end(time.monotonic() - began, is_limited=left <= 0)


async def rows_of(
    conn: Connection[Any],
    sql: str,
    values: Sequence[Value],
    columns: Sequence[Column],
    reading: Reading,
    *,
    is_whole: bool = True,
) -> AsyncGenerator[Sequence[Row]]:
    """The rows of a query in blocks, with large objects as values; rows with them one by one.

    Args:
        columns: of its rows.
        is_whole: all blocks will be read, so each is requested early.
    """
    lobs = [index for index, column in enumerate(columns) if is_smart_object(column.type)]
    async with BlockReader(statements_of(conn), sql, values, reading.plan, prefetch=is_whole) as reader:
        while rows := await reader.next_block():
            if not lobs:
                yield rows
                continue
            for row in rows:
                yield [await _without_lobs(row, lobs, reading.longest)]


async def _without_lobs(row: Row, lobs: Sequence[int], longest: int) -> Row:
    """The row with values instead of the handles at *lobs*: at most *longest* bytes of each; -1: all."""
    values = [*row]
    for index in lobs:
        if isinstance(lob := values[index], Lob):
            async with lob:
                values[index] = await lob.read(longest)
    return tuple(values)
