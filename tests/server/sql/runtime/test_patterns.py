from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.runtime.patterns import like, matches
from tests.server.sql.kinds import error_of


@pytest.mark.parametrize(
    ("value", "pattern", "expected"),
    [
        ("systables", "s?s[t-v]a*", 1), ("sysxables", "s?s[t-v]a*", 0), ("abc", "ABC", 0), ("abc", "*", 1),
        ("", "*", 1), ("", "?", 0), ("a", "[^a]", 0), ("b", "[^a]", 1), ("^", "[a^]", 1), ("-", "[-a]", 1),
        ("-", "[a-]", 1), ("b", "[a-cx-z]", 1), ("d", "[a-cx-z]", 0), ("b", "[c-a]", 0), ("]", "[\\]]", 1),
        ("a*b", "a\\*b", 1), ("axb", "a\\*b", 0), ("[x", "[x", 1), ("x", "[]", 0), ("a\nb", "a?b", 1),
        ("\\", "\\", 1), (None, "*", None), ("a", None, None),
    ],
)  # fmt: skip
def test_matches(value: str | None, pattern: str | None, expected: int | None) -> None:
    assert matches(value, pattern) == expected


@pytest.mark.parametrize(
    ("value", "pattern", "expected"),
    [
        ("100%", "100\\%", 1), ("1000", "100\\%", 0), ("abc", "a_c", 1), ("abc", "A%", 0), ("a.c", "a.c", 1),
        ("abc", "a.c", 0), ("tennis ball", "%nis%", 1), ("", "%", 1), ("", "", 1), ("x", "", 0),
    ],
)  # fmt: skip
def test_like(value: str, pattern: str, expected: int) -> None:
    assert like(value, pattern) == expected


def test_another_escape_takes_the_place_of_the_backslash() -> None:
    assert like("50%", "50+%", "+") == 1
    assert like("50x", "50+%", "+") == 0
    assert like("a\\b", "a\\_", "+") == 1
    assert matches("a?", "a!?", "!") == 1
    assert like("a", "a", None) is None
    assert error_of(like, "a", "a", "") == -201
    assert error_of(matches, "a", "a", "xy") == -201


def test_trailing_blanks_do_not_count() -> None:
    assert like("ab   ", "ab") == 1
    assert like("ab", "ab   ") == 1
    assert matches("ab   ", "a?") == 1
    assert like("   ", "") == 1


def test_blanks_after_a_wildcard_are_part_of_the_pattern() -> None:
    assert like("ab", "% ") == 0
    assert like("ab ", "% ") == 1


def naive(value: str, pattern: str) -> bool:
    """MATCHES without sets, by its definition."""
    if not pattern:
        return not value.strip(" ")
    head, rest = pattern[0], pattern[1:]
    if head == "*":
        return any(naive(value[cut:], rest) for cut in range(len(value) + 1))
    if head == "\\" and rest:
        head, rest = rest[0], rest[1:]
        return value[:1] == head and naive(value[1:], rest)
    return bool(value) and (head == "?" or value[0] == head) and naive(value[1:], rest)


@given(st.text(alphabet="ab*?\\", max_size=10), st.text(alphabet="ab*?\\", max_size=8))
def test_matches_agrees_with_its_definition(value: str, pattern: str) -> None:
    assert matches(value, pattern) == naive(value, pattern)


@given(st.text(alphabet="ab%_\\", max_size=10), st.text(alphabet="ab%_\\", max_size=8))
def test_like_agrees_with_matches(value: str, pattern: str) -> None:
    swap = str.maketrans("%_*?", "*?%_")
    assert like(value, pattern) == matches(value.translate(swap), pattern.translate(swap))


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_pattern_is_a_pattern(value: str, pattern: str) -> None:
    assert matches(value, pattern) in (0, 1)
    assert like(value, pattern) in (0, 1)


def test_a_hostile_pattern_is_harmless() -> None:
    assert matches("a" * 5000, "*a" * 20 + "b") == 0
