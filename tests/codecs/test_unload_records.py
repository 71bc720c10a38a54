from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.codecs.unload_records import ends_in_escape, join_fields, split_fields

FIELDS = st.lists(st.none() | st.text(st.sampled_from("ab|;\\\n \r"), max_size=5), min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("fields", "record"),
    [
        (["a", None, ""], "a||\\ |\n"),
        (["a|b", "\\", "x\ny"], "a\\|b|\\\\|x\\\ny|\n"),
        ([" "], " |\n"),
        ([None], "|\n"),
    ],
)
def test_a_record_is_its_fields_with_escapes(fields: list[str | None], record: str) -> None:
    assert join_fields(fields, "|") == record
    assert split_fields(record.removesuffix("\n"), "|") == fields


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("a|b", ["a", "b"]),
        ("a|b|\r", ["a", "b"]),
        ("a|\\b|", ["a", "b"]),
        ("\\||\\ |", ["|", ""]),
        ("|", [None]),
    ],
)
def test_variants_of_a_record_are_read(text: str, fields: list[str | None]) -> None:
    assert split_fields(text, "|") == fields


def test_an_escaped_newline_does_not_end_a_record() -> None:
    assert [ends_in_escape(text) for text in ("", "a", "a\\", "a\\\\", "\\\\\\")] == [
        False, False, True, False, True
    ]  # fmt: skip


@given(FIELDS, st.sampled_from("|;"))
def test_what_is_written_is_read(fields: list[str | None], delimiter: str) -> None:
    record = join_fields(fields, delimiter)
    assert record.endswith("\n") and not ends_in_escape(record[:-1])
    assert split_fields(record[:-1], delimiter) == fields
