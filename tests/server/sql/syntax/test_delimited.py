"""Names that need quotes."""

from __future__ import annotations

import pytest

from aioifx.server.sql.syntax.delimited import delimited, is_plain


@pytest.mark.parametrize("name", ["item", "a$1", "_b", "from"])
def test_a_plain_name_is_written_as_it_is(name: str) -> None:
    assert is_plain(name) and delimited(name) == name


@pytest.mark.parametrize(
    ("name", "text"), [("Item", '"Item"'), ("a b", '"a b"'), ('a"b', '"a""b"'), ("case", '"case"')]
)
def test_other_names_are_in_quotes(name: str, text: str) -> None:
    assert not is_plain(name) and delimited(name) == text
