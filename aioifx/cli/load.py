"""aioifx load: the rows of a file into a table. Never: bytes of the protocol, formats' details."""

from __future__ import annotations

import argparse
import asyncio
import os
import stat
import threading
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

from aioifx.cli.address import add_connection
from aioifx.cli.formats import TEXTS, add_format, format_name, read_rows, text_format
from aioifx.cli.output import counted, say
from aioifx.cli.parsing import Verbs, add_verb, examples, whole
from aioifx.cli.progress import Update, progress
from aioifx.cli.session import run_connected
from aioifx.client.api.connection import Connection, statements_of
from aioifx.client.execution.result import ExecuteResult
from aioifx.errors import InterfaceError

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
            "aioifx load item item.csv",
            "zcat item.csv.gz | aioifx load item - --format csv --columns id,name",
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
        "--commit-each", type=whole, metavar="ROWS", help="commit after so many rows, instead of at the end"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress, no summary")


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    name = format_name(arguments)
    if name == "parquet" and arguments.file == "-":
        raise InterfaceError("FILE: parquet cannot be read from a pipe")
    try:
        with _open(arguments.file) as file:
            return run_connected(arguments, partial(_load, arguments, name, file))
    except FileNotFoundError as error:
        raise InterfaceError(f"FILE: {error.strerror}: {error.filename}") from None


def _open(file: str) -> BinaryIO:
    # A pipe is read through its descriptor, in a thread that may be left waiting.
    return open(0 if file == "-" else Path(file), "rb", closefd=file != "-")


async def _load(arguments: argparse.Namespace, name: str, file: BinaryIO, conn: Connection[Any]) -> int:
    began = time.monotonic()
    status = os.fstat(file.fileno())
    size = status.st_size if stat.S_ISREG(status.st_mode) else None
    found = None if name in TEXTS else read_rows(name, file)
    total = size if found is None else found.total
    committed = 0

    def count(rows: int, done: int) -> None:
        nonlocal committed
        committed = rows
        update(rows, done)

    try:
        with progress(f"loading {arguments.table}", total, is_quiet=arguments.quiet) as update:
            if found is None:
                result = await _load_text(arguments, file, size is not None, count, conn)
            else:
                result = await conn.load(
                    arguments.table, found.rows, columns=_columns(arguments) or found.names,
                    **_commits(arguments), progress=lambda rows: count(rows, rows),
                )  # fmt: skip
    except asyncio.CancelledError:
        if arguments.commit_each and committed:
            say(f"interrupted; rows committed: {committed:,}")
        raise
    for warning in result.warnings:
        say(f"warning: {warning}")
    if not arguments.quiet:
        say(f"loaded {counted(result.rowcount)} in {time.monotonic() - began:.3f} s")
    return 0


async def _load_text(
    arguments: argparse.Namespace, file: BinaryIO, is_regular: bool, update: Update, conn: Connection[Any]
) -> ExecuteResult:
    counted_file = _CountedFile(file)
    return await conn.load(
        arguments.table,
        counted_file if is_regular else _piped(file.fileno()),
        columns=_columns(arguments),
        format=text_format(arguments, statements_of(conn).session.file_code_set),
        dbdate=arguments.dbdate,
        progress=lambda rows: update(rows, counted_file.done),
        **_commits(arguments),
    )


def _columns(arguments: argparse.Namespace) -> list[str] | None:
    return arguments.columns.split(",") if arguments.columns else None


def _commits(arguments: argparse.Namespace) -> dict[str, Any]:
    """The keywords of `Connection.load` that decide when it commits."""
    if arguments.commit_each is None:
        return {}
    return {"commit": "block", "block": arguments.commit_each}


class _CountedFile:
    """An open file that counts the bytes read of it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.done = 0

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
