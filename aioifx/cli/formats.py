"""Formats of files for load and unload; Arrow and Parquet, for which pyarrow is loaded on use. Never: SQL."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from importlib import import_module
from pathlib import PurePath
from typing import Any, BinaryIO, Final, NamedTuple

from aioifx.cli.compression import compression_of, plain_name
from aioifx.cli.parsing import Parser
from aioifx.client.api.prepared import PreparedStatement
from aioifx.client.bulk.arguments import TextFormat
from aioifx.client.bulk.text_formats import CsvFormat, UnloadFormat, format_by_name, format_of
from aioifx.codecs.text import CodeSet
from aioifx.errors import DataError, InterfaceError
from aioifx.sqltypes import Row, Value

_BY_SUFFIX: Final = {
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".parquet": "parquet",
}
TEXTS: Final = ("csv", "unload")
FORMATS: Final = sorted({*TEXTS, *_BY_SUFFIX.values()})

ESCAPE_FORMULAS: Final = "csv: a ' before text that a spreadsheet would execute as a formula"
"""Help of --escape-formulas."""


def add_format(parser: Parser) -> None:
    """Add the options of a format."""
    group = parser.add_argument_group("format")
    group.add_argument(
        "--format",
        choices=FORMATS,
        help="default: by the name of FILE: .csv, .unl or .arrow, each also with .gz or .zst, or .parquet; unload if"
        " the name has no suffix",
    )
    group.add_argument("--delimiter", metavar="CHARACTER", help="default: , for csv, | for unload")
    group.add_argument("--no-header", action="store_true", help="csv: the first line is not the column names")
    group.add_argument(
        "--null", metavar="TEXT", help="csv: text of NULL (default: nothing between delimiters)"
    )
    group.add_argument(
        "--encoding", help="default: UTF-8 for csv, the code set of the connection's locale for unload"
    )
    group.add_argument(
        "--dbdate", metavar="FORMAT", default="Y4MD-", help="dates in text, as in DBDATE (default Y4MD-)"
    )


def format_name(arguments: argparse.Namespace) -> str:
    """The name of the format: as given, or by the name of the file.

    Raises:
        InterfaceError: the name tells none, or an option does not belong to the format.
    """
    file = plain_name(arguments.file)
    suffix = PurePath(file).suffix.lower()
    name: str | None = arguments.format or format_by_name(file) or _BY_SUFFIX.get(suffix)
    if name is None and suffix:
        raise InterfaceError(
            f"--format: expected one of {', '.join(FORMATS)}, because the name of FILE does not tell it: {file}"
        )
    name = name or "unload"
    if name == "parquet" and compression_of(arguments.file):
        raise InterfaceError(
            "FILE: expected .parquet without .gz or .zst, because Parquet compresses its columns"
        )
    given = {
        "--delimiter": (arguments.delimiter is not None, TEXTS),
        "--encoding": (arguments.encoding is not None, TEXTS),
        "--dbdate": (arguments.dbdate != "Y4MD-", TEXTS),
        "--null": (arguments.null is not None, ("csv",)),
        "--no-header": (arguments.no_header, ("csv",)),
        "--escape-formulas": (_escapes(arguments), ("csv",)),
    }
    for option, (is_given, formats) in given.items():
        if is_given and name not in formats:
            raise InterfaceError(f"{option}: not for the format {name}")
    return name


def text_format(arguments: argparse.Namespace, code_set: CodeSet) -> TextFormat:
    """The format of a text file.

    Args:
        code_set: of files in UNLOAD's format.

    Raises:
        InterfaceError: an option is invalid.
    """
    delimiter, encoding = arguments.delimiter, arguments.encoding
    if format_name(arguments) == "unload":
        return format_of(UnloadFormat("|" if delimiter is None else delimiter, encoding), code_set)
    return CsvFormat(
        "," if delimiter is None else delimiter,
        header=not arguments.no_header,
        null=arguments.null or "",
        encoding=encoding,
        escape_formulas=_escapes(arguments),
    )


def _escapes(arguments: argparse.Namespace) -> bool:
    """Whether --escape-formulas is given, which `load` does not have."""
    return getattr(arguments, "escape_formulas", False)


_ROWS: Final = 10_000
"""Rows of a Parquet file that are decoded at a time."""
_FILE_MAGIC: Final = b"ARROW1"
"""The first bytes of an Arrow file with an index; a stream has none (documented: Arrow columnar format)."""


def arrow_modules(name: str = "pyarrow") -> Any:
    """A module that needs pyarrow.

    Raises:
        InterfaceError: pyarrow is not installed.
    """
    try:
        return import_module(name)
    except ImportError:
        raise InterfaceError("format: arrow and parquet need pyarrow: pip install 'aioifx[arrow]'") from None


async def write_batches(
    form: str,
    file: BinaryIO | Callable[[], BinaryIO],
    statement: PreparedStatement[Any],
    values: Sequence[Value],
    *,
    limit: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> int:
    """Write the rows of a query, batch by batch; returns their number.

    An output that fails is left without its end, so that no reader takes it for a whole one.

    Args:
        form: "arrow", a stream, or "parquet".
        file: open, or a function that opens it, called when there are rows.
        limit: rows at most.
        progress: called with the number of rows so far.
    """
    arrow = arrow_modules("aioifx.arrow")
    count, writer = 0, None
    schema = arrow.schema_of(statement)
    async with aclosing(arrow.fetch_batches(statement, *values)) as batches:
        async for batch in batches:
            if limit is not None:
                batch = batch.slice(0, limit - count)
            if writer is None:
                writer = _writer(form, file, schema)
            writer.write_batch(batch)
            count += batch.num_rows
            if progress is not None:
                progress(count)
            if count == limit:
                break
    if writer is None:
        writer = _writer(form, file, schema)
    writer.close()
    return count


def _writer(form: str, file: BinaryIO | Callable[[], BinaryIO], schema: Any) -> Any:
    opened = file() if callable(file) else file
    if form == "arrow":
        return arrow_modules("pyarrow.ipc").new_stream(opened, schema)
    return arrow_modules("pyarrow.parquet").ParquetWriter(opened, schema)


class RowFile(NamedTuple):
    """Rows of a file."""

    names: list[str]
    rows: Iterator[Row]
    total: int | None
    """Number of rows; None if it is unknown."""


def read_rows(form: str, file: BinaryIO) -> RowFile:
    """The rows of a Parquet file, or of an Arrow file or stream, in bounded memory.

    Raises:
        DataError: the file has another format.
    """
    found = read_batches(form, file)
    rows = (
        row
        for batch in found.batches
        for row in zip(*(one.to_pylist() for one in batch.columns), strict=True)
    )
    return RowFile(found.schema.names, rows, found.rows)


class Batches(NamedTuple):
    """Record batches of a file."""

    schema: Any
    batches: Iterator[Any]
    rows: int | None
    """Number of rows; None if it is unknown."""


def read_batches(form: str, file: BinaryIO) -> Batches:
    """The record batches of a Parquet file, or of an Arrow file or stream.

    Raises:
        DataError: the file has another format.
    """
    ipc = arrow_modules("pyarrow.ipc")
    try:
        if form == "parquet":
            parquet = arrow_modules("pyarrow.parquet").ParquetFile(file)
            batches = _checked(parquet.iter_batches(batch_size=_ROWS), form)
            return Batches(parquet.schema_arrow, batches, parquet.metadata.num_rows)
        if file.seekable():
            magic = file.read(len(_FILE_MAGIC))
            file.seek(0)
            if magic == _FILE_MAGIC:
                reader = ipc.open_file(file)
                batches = _checked(map(reader.get_batch, range(reader.num_record_batches)), form)
                return Batches(reader.schema, batches, None)
        stream = ipc.open_stream(file)
        return Batches(stream.schema, _checked(stream, form), None)
    except (arrow_modules().ArrowException, ValueError, OSError) as error:
        raise _unreadable(form, error) from None


def _checked(batches: Iterable[Any], form: str) -> Iterator[Any]:
    try:
        yield from batches
    except (arrow_modules().ArrowException, ValueError, OSError) as error:
        raise _unreadable(form, error) from None


def _unreadable(form: str, error: Exception) -> DataError:
    return DataError(f"the file is not in the format {form}, or is cut short: {str(error).splitlines()[0]}")
