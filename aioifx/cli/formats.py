"""Formats of files for load and unload, by option or by the file's name. Never: a file's content."""

from __future__ import annotations

import argparse
from pathlib import PurePath
from typing import Final

from aioifx.cli.parsing import Parser
from aioifx.client.bulk.arguments import TextFormat
from aioifx.client.bulk.field_formats import format_of
from aioifx.client.bulk.text_formats import CsvFormat, UnloadFormat, format_by_name
from aioifx.codecs.text import CodeSet
from aioifx.errors import InterfaceError

_BY_SUFFIX: Final = {
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".parquet": "parquet",
}
TEXTS: Final = ("csv", "unload")

ESCAPE_FORMULAS: Final = "csv: a ' before text that a spreadsheet would execute as a formula"
"""Help of --escape-formulas."""


def add_format(parser: Parser) -> None:
    """Add the options of a format."""
    group = parser.add_argument_group("format")
    group.add_argument(
        "--format",
        choices=sorted({*TEXTS, *_BY_SUFFIX.values()}),
        help="default: by the name of FILE: .csv, .unl, .arrow, .parquet; else unload",
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
        InterfaceError: an option does not belong to the format.
    """
    suffix = PurePath(arguments.file).suffix.lower()
    name: str = arguments.format or format_by_name(arguments.file) or _BY_SUFFIX.get(suffix, "unload")
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
