"""aioifx unload: the rows of a query into a file. Never: bytes of the protocol, formats' details.

Invariants:
1. A file is written beside its place, and takes it when it is whole. After a failure the old one remains.
"""

from __future__ import annotations

import argparse
import os
import stat
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from aioifx.cli.address import add_connection
from aioifx.cli.compression import compressed, compression_of
from aioifx.cli.formats import ESCAPE_FORMULAS, TEXTS, add_format, format_name, text_format, write_batches
from aioifx.cli.output import counted, is_terminal, say, write_bytes, write_text
from aioifx.cli.parsing import Verbs, add_verb, examples
from aioifx.cli.progress import progress
from aioifx.cli.session import run_connected
from aioifx.cli.statement import Parameters, add_statement, statement_of
from aioifx.client.api.connection import Connection, statements_of
from aioifx.errors import InterfaceError


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    parser = add_verb(
        verbs,
        "unload",
        run,
        description="Write the rows of a query into a file, in constant memory. `aioifx load` reads each format.",
        epilog=examples(
            "aioifx unload 'informix://app@db1:9088/shop?server=ol_shop' 'SELECT * FROM item' item.unl",
            "aioifx unload @dsn.txt 'SELECT * FROM item WHERE id < ?' item.csv --param 1000",
            "aioifx unload 'SELECT * FROM item' item.parquet",
            "aioifx unload 'SELECT * FROM item' item.csv.zst",
            "aioifx unload 'SELECT * FROM item' - --format csv | head",
        ),
    )
    add_connection(parser)
    add_statement(parser, "query", "a query; @FILE: from a file; -: from stdin")
    parser.add_argument("file", metavar="FILE", help="the file, which is replaced; -: stdout")
    add_format(parser)
    parser.add_argument("--escape-formulas", action="store_true", help=ESCAPE_FORMULAS)
    parser.add_argument("--quiet", action="store_true", help="no progress, no summary")


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    name, statement = _request(arguments)
    return run_connected(arguments, partial(_unload, arguments, name, statement))


async def unload_by(conn: Connection[Any], arguments: argparse.Namespace) -> None:
    """Unload by the arguments of the verb."""
    name, statement = _request(arguments)
    await _unload(arguments, name, statement, conn)


def _request(arguments: argparse.Namespace) -> tuple[str, Parameters]:
    """The name of the format, and the query."""
    name = format_name(arguments)
    if arguments.file == "-" and name not in TEXTS and is_terminal(sys.stdout):
        raise InterfaceError(f"--format: {name} is binary; write it to a file or a pipe")
    return name, statement_of(arguments, arguments.query)


async def _unload(
    arguments: argparse.Namespace, name: str, statement: Parameters, conn: Connection[Any]
) -> int:
    began = time.monotonic()
    compression = compression_of(arguments.file)
    async with await conn.prepare(statement.sql) as prepared:
        values = statement.values(prepared.parameters)
        with (
            progress(f"unloading {arguments.file}", is_quiet=arguments.quiet) as update,
            _target(arguments.file) as path,
        ):
            if name in TEXTS:
                await prepared.close()  # the statement cache has it
                form = text_format(arguments, statements_of(conn).session.file_code_set)
                show = partial(_show, form.encoding or "utf-8") if is_terminal(sys.stdout) else write_bytes
                with nullcontext(show) if path is None else _opened(path, compression) as out:
                    count = await conn.unload(
                        statement.sql, out, *values, format=form, dbdate=arguments.dbdate,
                        progress=lambda rows: update(rows, rows),
                    )  # fmt: skip
            else:
                with _opened(path, compression) as file:
                    count = await write_batches(
                        name, file, prepared, values, progress=lambda rows: update(rows, rows)
                    )
    if not arguments.quiet:
        say(f"unloaded {counted(count)} in {time.monotonic() - began:.3f} s")
    return 0


def _show(encoding: str, data: bytes) -> None:
    """Write whole records to a terminal."""
    write_text(data.decode(encoding, "replace"))


@contextmanager
def _target(file: str) -> Generator[Path | None]:
    """The file to write, which takes its place at the end; None for stdout."""
    if file == "-":
        yield None
        return
    path = Path(os.path.realpath(file))
    is_device = path.exists() and not stat.S_ISREG(path.stat().st_mode)  # or a pipe
    part = path if is_device else path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if path.exists() and not is_device:
            part.touch(stat.S_IMODE(path.stat().st_mode))  # others may not be allowed to read it
        yield part
        if not is_device:
            part.replace(path)
    except OSError as error:
        if error.filename in (None, str(part)):
            error.filename = file
            error.filename2 = None
        raise
    finally:
        if not is_device:
            part.unlink(missing_ok=True)


@contextmanager
def _opened(path: Path | None, compression: str | None) -> Generator[BinaryIO]:
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif compression is None:
        with path.open("wb") as file:
            yield file
    else:
        with path.open("wb") as file, compressed(file, compression) as packed:
            yield packed
