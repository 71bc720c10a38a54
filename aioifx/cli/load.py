"""aioifx load: the rows of a file into a table. Never: bytes of the protocol, formats' details."""

from __future__ import annotations

import argparse
import asyncio
import os
import stat
import threading
import time
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from aioifx.cli.address import add_connection
from aioifx.cli.column_types import arrow_columns, create_table, csv_columns
from aioifx.cli.compression import compression_of, decompressed
from aioifx.cli.failures import FAILED
from aioifx.cli.formats import TEXTS, add_format, format_name, read_rows, text_format
from aioifx.cli.output import counted, say
from aioifx.cli.parsing import Verbs, add_verb, examples, whole
from aioifx.cli.progress import progress
from aioifx.cli.rejected import RejectFile
from aioifx.cli.session import run_connected
from aioifx.client.api.connection import Connection, statements_of
from aioifx.client.bulk.text_formats import CsvFormat
from aioifx.client.execution.result import ExecuteResult
from aioifx.client.session.threads import in_thread
from aioifx.client.sql.identifiers import check_column_names, object_name
from aioifx.codecs.text import CodeSet
from aioifx.errors import DatabaseError, Error, InterfaceError, visible
from aioifx.wire.replies import Reply

_MAX_ERRORS: Final = 100
"""Rejected rows that do not end a load."""
_CHUNK: Final = 256 * 1024
"""Bytes that are read at a time."""


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    parser = add_verb(
        verbs,
        "load",
        run,
        description="Insert the rows of a file into a table, in bounded memory: all of them, or none.",
        epilog=examples(
            "aioifx load 'informix://app@db1:9088/shop?server=ol_shop' item item.unl",
            "aioifx load item item.csv.gz --errors rejected.csv --max-errors 50",
            "aioifx load new_item item.parquet --create",
            "aioifx load item - --format csv --columns id,name --truncate < item.csv",
        ),
    )
    add_connection(parser)
    parser.add_argument("table", metavar="TABLE", help="name, owner.name, db:name or db@server:name")
    parser.add_argument("file", metavar="FILE", help="the file; -: stdin")
    parser.add_argument(
        "--columns",
        metavar="NAMES",
        help="columns of the fields, separated by commas; default: those that the file names, else all",
    )
    add_format(parser)
    parser.add_argument(
        "--create",
        action="store_true",
        help="create the table first, and show its statement; names and types are those of csv, arrow or parquet",
    )
    parser.add_argument(
        "--truncate",
        action="store_true",
        help="remove the old rows first; they are gone even if the load fails",
    )
    parser.add_argument(
        "--commit-each", type=whole, metavar="ROWS", help="commit after so many rows, instead of at the end"
    )
    rejected = parser.add_argument_group("rejected rows")
    rejected.add_argument(
        "--errors",
        type=Path,
        metavar="FILE",
        help="leave out rows that cannot be loaded, and write them with the reasons into this CSV file",
    )
    rejected.add_argument(
        "--max-errors",
        type=whole,
        metavar="N",
        help=f"end the load after N such rows (default {_MAX_ERRORS})",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress, no summary")


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    with _opened(arguments) as (name, file):
        return run_connected(arguments, partial(_load, arguments, name, file))


async def load_by(conn: Connection[Any], arguments: argparse.Namespace) -> None:
    """Load by the arguments of the verb."""
    with _opened(arguments) as (name, file):
        await _load(arguments, name, file, conn)


@contextmanager
def _opened(arguments: argparse.Namespace) -> Generator[tuple[str, BinaryIO]]:
    """The name of the format, and the open file."""
    name = format_name(arguments)
    object_name(arguments.table, "table")
    if (columns := _columns(arguments)) is not None:
        check_column_names(columns, "--columns")
    if name == "parquet" and arguments.file == "-":
        raise InterfaceError("FILE: parquet cannot be read from a pipe")
    if arguments.max_errors is not None and arguments.errors is None:
        raise InterfaceError("--max-errors: expected --errors FILE with it")
    if arguments.create and arguments.truncate:
        raise InterfaceError("--create: cannot be combined with --truncate")
    if arguments.create and name == "unload":
        raise InterfaceError("--create: expected the format csv, arrow or parquet, got unload")
    with _open(arguments.file) as file:
        errors: Path | None = arguments.errors
        if (
            errors is not None
            and errors.exists()
            and os.path.samestat(errors.stat(), os.fstat(file.fileno()))
        ):
            raise InterfaceError("--errors: expected another file than FILE, which it would replace")
        if arguments.create and not _is_regular(file):
            raise InterfaceError("--create: expected a file, which is read twice, got a pipe")
        yield name, file


def _open(file: str) -> BinaryIO:
    # A pipe is read through its descriptor, in a thread that may be left waiting.
    return open(0 if file == "-" else Path(file), "rb", closefd=file != "-")


def _is_regular(file: BinaryIO) -> bool:
    return stat.S_ISREG(os.fstat(file.fileno()).st_mode)


async def _load(arguments: argparse.Namespace, name: str, file: BinaryIO, conn: Connection[Any]) -> int:
    began = time.monotonic()
    is_logged = conn.log_mode != "unlogged"
    rejects = RejectFile(arguments.errors, arguments.max_errors or _MAX_ERRORS)
    options: dict[str, Any] = {"columns": _columns(arguments)}
    if arguments.errors is not None or is_logged:  # otherwise rows that are wrong cannot be found again
        options["on_reject"] = rejects
    if arguments.commit_each is not None:
        options |= {"commit": "block", "block": arguments.commit_each}
    source = _Source(arguments, name, file, conn)
    done = _Done(statements_of(conn).session.transactions.orphan)

    def count(rows: int) -> None:
        done.rows = rows - rejects.refused
        update(rows, rows if source.rows is not None else source.done)

    try:
        with progress(f"loading {arguments.table}", source.total, is_quiet=arguments.quiet) as update:
            # A new table is part of the transaction of its rows.
            in_one = arguments.create and is_logged and arguments.commit_each is None
            async with conn.transaction() if in_one else nullcontext():
                await _prepare_table(arguments, name, options, done, conn)
                result = await source.load(options, count)
    except asyncio.CancelledError:
        stored = await _stored(conn, done, arguments.commit_each)
        say("; ".join(filter(None, ("interrupted", f"rows stored: {stored}", done.truncation))))
        raise
    except Error as error:
        if done.truncation:
            error.add_note(done.truncation)
        raise
    finally:
        rejects.close()
    for warning in result.warnings:
        say(f"warning: {warning}")
    if not arguments.quiet:
        say(f"loaded {counted(result.rowcount)} in {time.monotonic() - began:.3f} s")
    if rejects.count:
        say(f"rejected {counted(rejects.count)}: see {visible(str(arguments.errors))}")
    return FAILED if rejects.count else 0


@dataclass(slots=True)
class _Done:
    """What a load has done so far."""

    orphan: Reply | None
    """That of an earlier COMMIT; see `Transactions.orphan`."""
    rows: int = 0
    """Rows that the server has accepted."""
    truncation: str = ""
    """What has happened to the old rows; empty for nothing."""


async def _stored(conn: Connection[Any], done: _Done, block: int | None) -> str:
    """How many rows an interrupted load has stored.

    Args:
        block: of --commit-each.
    """
    rows = done.rows
    if conn.log_mode == "unlogged":
        return f"at least {rows:,}"
    transactions = statements_of(conn).session.transactions
    if transactions.is_open:  # COMMIT is in flight; otherwise ROLLBACK would be queued
        try:
            await conn.ping()  # it is answered after COMMIT
        except Error:
            return "not known, because COMMIT was sent and not answered"
    orphan = transactions.orphan
    if orphan is None or orphan is done.orphan or orphan.error is not None:
        return f"{rows if block else 0:,}"
    if block is None or block == 1:
        return f"{rows + (block or 0):,}"
    return f"{rows + 1:,} to {rows + block:,}"


def _columns(arguments: argparse.Namespace) -> list[str] | None:
    return arguments.columns.split(",") if arguments.columns else None


async def _prepare_table(
    arguments: argparse.Namespace, name: str, options: dict[str, Any], done: _Done, conn: Connection[Any]
) -> None:
    """Create or empty the table, as asked for; a new one decides the columns of the load."""
    if arguments.truncate:
        done.truncation = "the old rows may have been removed by --truncate"
        try:
            await conn.execute(f"TRUNCATE TABLE {arguments.table}")
        except Error as error:
            if not (isinstance(error, DatabaseError) and error.outcome_unknown):
                done.truncation = ""
            raise
        done.truncation = "the old rows were removed by --truncate"
    if arguments.create:
        code_set = statements_of(conn).session.code_set
        columns = await in_thread(_types_of, arguments, name, code_set)
        sql = create_table(arguments.table, columns)
        say("\n".join(map(visible, f"{sql};".splitlines())))
        await conn.execute(sql)
        options["columns"] = [column for column, _ in columns]


def _types_of(arguments: argparse.Namespace, name: str, code_set: CodeSet) -> list[tuple[str, str]]:
    with _open(arguments.file) as raw:
        file = decompressed(raw, compression_of(arguments.file))
        if name != "csv":
            return arrow_columns(name, file, _columns(arguments))
        form = text_format(arguments, code_set)
        assert isinstance(form, CsvFormat)
        return csv_columns(file, form, _columns(arguments), arguments.dbdate, code_set.codec)


class _Source:
    """The rows of the file."""

    def __init__(
        self, arguments: argparse.Namespace, name: str, file: BinaryIO, conn: Connection[Any]
    ) -> None:
        self._arguments = arguments
        self._conn = conn
        self._is_pipe = not _is_regular(file)
        self._raw = _CountedFile(file)
        compression = compression_of(arguments.file)
        self._file = decompressed(cast("BinaryIO", self._raw) if compression else file, compression)
        self._is_compressed = compression is not None
        self.rows = None if name in TEXTS else read_rows(name, self._file)
        """Rows of Arrow or Parquet; None for text."""
        self.total = (
            self.rows.total if self.rows else None if self._is_pipe else os.fstat(file.fileno()).st_size
        )
        """Rows, or bytes of text; None if unknown."""

    @property
    def done(self) -> int:
        """Bytes that were read so far."""
        return self._raw.done

    async def load(self, options: dict[str, Any], count: Callable[[int], None]) -> ExecuteResult:
        arguments, conn = self._arguments, self._conn
        if self.rows is not None:
            columns = options.pop("columns") or self.rows.names
            return await conn.load(
                arguments.table, self.rows.rows, columns=columns, **options, progress=count
            )
        source: Any = self._file if self._is_compressed else self._raw
        if self._is_pipe and not self._is_compressed:
            source = _piped(self._raw.fileno())
        form = text_format(arguments, statements_of(conn).session.file_code_set)
        return await conn.load(
            arguments.table, source, format=form, dbdate=arguments.dbdate, **options, progress=count
        )


class _CountedFile:
    """An open file that counts the bytes read of it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.done = 0

    def fileno(self) -> int:
        return self._file.fileno()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.done += len(data)
        return data


async def _piped(descriptor: int) -> AsyncIterator[bytes]:
    """The chunks of a pipe. Its reader may wait for ever, so it must not delay the end of the program."""
    loop = asyncio.get_running_loop()
    while True:
        chunk: asyncio.Future[bytes] = loop.create_future()
        threading.Thread(target=_read, args=(descriptor, loop, chunk), daemon=True).start()
        data = await chunk
        if not data:
            return
        yield data


def _read(descriptor: int, loop: asyncio.AbstractEventLoop, chunk: asyncio.Future[bytes]) -> None:
    result: bytes | OSError
    try:
        result = os.read(descriptor, _CHUNK)
    except OSError as error:
        result = error

    def settle() -> None:
        if chunk.done():
            return  # interrupted meanwhile
        if isinstance(result, bytes):
            chunk.set_result(result)
        else:
            chunk.set_exception(result)

    with suppress(RuntimeError):  # the loop was closed meanwhile
        loop.call_soon_threadsafe(settle)
