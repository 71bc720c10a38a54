"""The keywords that are completed."""

from __future__ import annotations

from aioifx.cli.shell.keywords import KEYWORDS


def test_each_keyword_is_one_word_in_capitals_and_there_once() -> None:
    assert all(word.isidentifier() and word.isupper() for word in KEYWORDS)
    assert len(KEYWORDS) == len(set(KEYWORDS)) > 200
