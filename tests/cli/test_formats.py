"""Formats of files, by option or by the file's name."""

from __future__ import annotations

from argparse import Namespace

import pytest

from aioifx import CsvFormat, UnloadFormat
from aioifx.cli.formats import add_format, format_name, text_format
from aioifx.cli.parsing import Parser
from aioifx.codecs.text import code_set_of
from aioifx.errors import InterfaceError

LATIN = code_set_of("de_DE.8859-1")


def parse(*line: str) -> Namespace:
    parser = Parser()
    parser.add_argument("file")
    add_format(parser)
    return parser.parse_args(line)


@pytest.mark.parametrize(
    ("file", "name"),
    [("a.csv", "csv"), ("a.UNL", "unload"), ("a.b.parquet", "parquet"), ("d.csv/a", "unload"), ("-", "unload"),
     ("a.arrow", "arrow"), ("a.feather", "arrow"), ("a.txt", "unload")],
)  # fmt: skip
def test_the_name_decides_unless_an_option_does(file: str, name: str) -> None:
    assert format_name(parse(file)) == name
    assert format_name(parse(file, "--format", "csv")) == "csv"


@pytest.mark.parametrize(
    "line",
    [
        "a.unl --no-header",
        "a.unl --null x",
        "a.arrow --null x",
        "a.arrow --encoding ascii",
        "a.parquet --dbdate MDY4/",
    ],
)
def test_options_of_another_format_are_refused(line: str) -> None:
    with pytest.raises(InterfaceError, match=r"^--[\w-]+: not for the format \w+$"):
        format_name(parse(*line.split()))


def test_text_formats() -> None:
    assert text_format(parse("a.csv"), LATIN) == CsvFormat(header=True)
    given = parse("a.csv", "--delimiter", ";", "--null", "NULL", "--no-header", "--encoding", "ascii")
    assert text_format(given, LATIN) == CsvFormat(";", False, "NULL", encoding="ascii")
    assert text_format(parse("a.unl"), LATIN) == UnloadFormat(encoding=LATIN.codec)
    assert text_format(parse("a.unl", "--delimiter", ";"), LATIN).join(["a"]) == "a;\n"
