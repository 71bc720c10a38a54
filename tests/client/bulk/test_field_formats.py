"""Formats by name."""

from __future__ import annotations

from typing import Any

import pytest

from aioifx.client.bulk.field_formats import format_of
from aioifx.client.bulk.text_formats import CsvFormat, UnloadFormat
from aioifx.codecs.text import code_set_of
from aioifx.errors import InterfaceError

LATIN = code_set_of("en_US.8859-1")


def test_unloads_format_is_in_the_clients_code_set_and_has_pipes() -> None:
    assert format_of("unload", LATIN) == UnloadFormat("|", "latin-1")
    assert format_of(UnloadFormat(";"), LATIN) == UnloadFormat(";", "latin-1")
    assert format_of(UnloadFormat(";", "utf-8"), LATIN) == UnloadFormat(";", "utf-8")


def test_the_name_csv_is_the_format_with_its_defaults() -> None:
    assert format_of("csv", LATIN) == CsvFormat()


def test_a_format_of_the_callers_own_is_unchanged() -> None:
    own = CsvFormat(null="NULL", header=True)
    assert format_of(own, LATIN) is own


def test_an_unknown_name_is_rejected() -> None:
    with pytest.raises(InterfaceError, match='expected "unload" or "csv"'):
        format_of("xml", LATIN)


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (UnloadFormat, {"delimiter": "a"}, "delimiter"),
        (CsvFormat, {"delimiter": '"'}, "delimiter"),
        (CsvFormat, {"delimiter": "||"}, "delimiter"),
        (CsvFormat, {"encoding": "klingon"}, "encoding"),
        (CsvFormat, {"header": "no"}, "header"),
    ],
)
def test_an_impossible_format_is_rejected(make: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InterfaceError, match=message):
        make(**options)
