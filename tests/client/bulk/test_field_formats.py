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
    assert format_of("unload", LATIN, delimiter=";", encoding="utf-8") == UnloadFormat(";", "utf-8")


def test_csv_is_in_utf_8_and_only_what_is_read_may_have_a_byte_order_mark() -> None:
    assert format_of("csv", LATIN) == CsvFormat(encoding="utf-8")
    assert format_of("csv", LATIN, reading=True) == CsvFormat(encoding="utf-8-sig")
    assert format_of("csv", LATIN, delimiter=";", header=True, encoding="cp1252") == CsvFormat(
        ";", header=True, encoding="cp1252"
    )


def test_a_format_of_the_callers_own_goes_through() -> None:
    own = CsvFormat(null="NULL", header=True)
    assert format_of(own, LATIN) is own


@pytest.mark.parametrize("more", [{"delimiter": ";"}, {"header": True}, {"encoding": "utf-8"}])
def test_a_format_of_the_callers_own_says_all_by_itself(more: dict[str, Any]) -> None:
    with pytest.raises(InterfaceError, match="format: cannot be combined with"):
        format_of(CsvFormat(), LATIN, **more)


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("xml", {}, 'expected "unload" or "csv"'),
        ("unload", {"header": True}, "header: not supported by UNLOAD's format"),
        ("unload", {"delimiter": "a"}, "delimiter"),
        ("csv", {"delimiter": '"'}, "delimiter"),
        ("csv", {"delimiter": "||"}, "delimiter"),
        ("csv", {"encoding": "klingon"}, "encoding"),
    ],
)
def test_an_impossible_format_is_rejected(name: str, more: dict[str, Any], message: str) -> None:
    with pytest.raises(InterfaceError, match=message):
        format_of(name, LATIN, **more)
