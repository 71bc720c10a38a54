"""Regular expressions of POSIX."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.runtime import regex
from tests.server.sql import kinds
from tests.server.sql.kinds import error_of

BASIC, EXTENDED, BASIC_ANY_CASE, ANY_CASE = range(4)
SETTINGS = kinds.settings()


def found(text: str | None, pattern: str, limit: int = 0, copts: int = EXTENDED) -> list[str]:
    return list(regex.regex_extract(SETTINGS, text, pattern, limit, copts))


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("( |^)[A-Za-z]*ick", "Jack be nimble, Jack be quick, candlestick.", [" quick", " candlestick"]),
        ("wo(ul|o)d", "How much wood would a woodchuck chuck", ["wood", "would", "wood"]),
        ("a|ab|abc", "abcab", ["abc", "ab"]),
        ("(a|ab)(c|bcd)", "abcd", ["abcd"]),
        ("[[:digit:]]{2,3}", "1 22 333 4444", ["22", "333", "444"]),
        ("[[:alpha:]_][[:alnum:]_]*", "x1 = _y", ["x1", "_y"]),
        ("x{2}y?", "xxxxy", ["xx", "xxy"]),
        ("x{2,}", "xx x xxxx", ["xx", "xxxx"]),
        ("x{0,1}y", "xxyy", ["xy", "y"]),
        (r"\.\(\)\\", r"a.()\b", [r".()" + "\\"]),
        ("[]a]+[^]a]", "]a]b", ["]a]b"]),
        ("[a-]+", "a-b", ["a-"]),
        (r"[\n]", "\\n\n", ["\\", "n"]),
        ("[[.-.]]", "a-b", ["-"]),
        ("^a", "aa\na", ["a"]),
        ("a$", "a\naa", ["a"]),
        ("a.b", "a\nb", ["a\nb"]),
        ("(a*)*b", "aab", ["aab"]),
        ("(a*)+", "baa", ["aa"]),
        ("()", "ab", []),
        ("ü+", "grüüße", ["üü"]),
    ],
)
def test_an_extended_expression_has_the_longest_of_the_leftmost_matches(
    pattern: str, text: str, matches: list[str]
) -> None:
    assert found(text, pattern) == matches


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("a+b|c", "a+b|c", ["a+b|c"]),
        (r"\(ab\)*c", "ababc(ab)", ["ababc"]),
        (r"x\{2\}", "xxx{2}", ["xx"]),
        ("*a", "*a", ["*a"]),
        ("a^b$c", "a^b$c", ["a^b$c"]),
        ("^a$", "a", ["a"]),
        ("[0-9]*x", "12x", ["12x"]),
    ],
)
def test_a_basic_expression_escapes_its_metacharacters(pattern: str, text: str, matches: list[str]) -> None:
    assert found(text, pattern, copts=BASIC) == matches


def test_case_is_ignored_by_copts() -> None:
    assert found("aAÄä", "[a]+", copts=ANY_CASE) == ["aA"]
    assert found("aAÄä", "ä+", copts=ANY_CASE) == ["Ää"]
    assert found("aA+", "A+", copts=BASIC_ANY_CASE) == ["A+"]
    assert found("aA", "A", copts=EXTENDED) == ["A"]


def test_the_limit_is_a_number_of_matches() -> None:
    assert found("a b c", "[a-c]", limit=2) == ["a", "b"]
    assert regex.regex_replace(SETTINGS, "aaa", "a", "b", 2) == "bba"
    assert list(regex.regex_split(SETTINGS, "a,b,c", ",", 2)) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a,b", ["a", "b"]),
        ("a,,b", ["a", "", "b"]),
        (",a,", ["a"]),
        (",", []),
        ("a", ["a"]),
        ("", []),
        (None, []),
    ],
)
def test_a_split_has_what_is_between_the_matches(text: str | None, rows: list[str]) -> None:
    assert list(regex.regex_split(SETTINGS, text, ",")) == rows


@pytest.mark.parametrize(
    ("pattern", "replacement", "result"),
    [
        ("b+", "<&>", "a<bb>c"), ("b+", r"<\&\\>", r"a<&\>c"),
        ("(a)(b+)", r"\2\1", "bbac"), ("a(x)?b", r"[\1]", "[]bc"),
        ("x*", "-", "-a-b-b-c-"), ("z", "y", "abbc"), (r"(.)(.)", r"\0\2", "abbbcc"), ("(a|b)*", r"\1", "bc"),
    ],
)  # fmt: skip
def test_a_replacement_refers_to_the_match_and_its_groups(
    pattern: str, replacement: str, result: str
) -> None:
    assert regex.regex_replace(SETTINGS, "abbc", pattern, replacement) == result


def test_a_result_that_is_longer_than_lvarchar_is_refused() -> None:
    assert error_of(regex.regex_replace, SETTINGS, "a" * 20_000, "^a*$", "&&") == -881


def test_a_null_text_counts_as_empty() -> None:
    assert regex.regex_match(SETTINGS, None, "^$") == "t"
    assert regex.regex_match(SETTINGS, None, "a") == "f"
    assert regex.regex_replace(SETTINGS, None, "^", "x") == "x"


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        ")",
        "a)",
        "[a",
        "[[:foo:]]",
        "[z-a]",
        "*a",
        "a|*",
        "{1}",
        "a{1",
        "a{2,1}",
        "a{256}",
        "a{,2}",
        "a\\",
    ],
)
def test_a_wrong_expression_is_an_error_of_a_routine(pattern: str) -> None:
    with pytest.raises(SqlError) as caught:
        regex.regex_match(SETTINGS, "a", pattern)
    assert (caught.value.sqlcode, caught.value.sqlstate) == (-937, "U0001")
    assert caught.value.text.startswith("regular expression: ")


@pytest.mark.parametrize(
    "call",
    [
        lambda: regex.regex_match(SETTINGS, "a", None),
        lambda: regex.regex_match(SETTINGS, "a", "a", 4),
        lambda: regex.regex_match(SETTINGS, "a", "a", None),
        lambda: regex.regex_replace(SETTINGS, "a", "a", None),
        lambda: regex.regex_replace(SETTINGS, "a", "a", "b", -1),
    ],
)
def test_a_wrong_argument_is_an_error_of_a_routine(call: Callable[[], object]) -> None:
    assert error_of(call) == -937


@pytest.mark.parametrize(
    ("pattern", "copts"),
    [
        (r"\(a\)\1", BASIC), ("(" * 30 + "a" + ")" * 30, EXTENDED), ("((a{255}){255}){255}", EXTENDED),
        ("a{255}" * 100, EXTENDED),
    ],
)  # fmt: skip
def test_what_it_lacks_is_refused_by_name(pattern: str, copts: int) -> None:
    assert error_of(regex.regex_match, SETTINGS, "a", pattern, copts) == -999


def test_an_expression_that_takes_exponential_time_elsewhere_does_not_here() -> None:
    assert regex.regex_match(SETTINGS, "a" * 1000, "(a|aa)*(a*)*b") == "f"
    assert regex.regex_match(SETTINGS, "a" * 1000 + "b", "(a|aa)*(a*)*b$") == "t"


def test_the_steps_of_a_call_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex, "_MOST_STEPS", 50_000)
    with pytest.raises(SqlError) as caught:
        regex.regex_match(SETTINGS, "a" * 30_000, "a*a*b")
    assert (caught.value.sqlcode, caught.value.token) == (-999, "REGEX")


def test_the_text_behind_a_match_is_visited_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex, "_MOST_STEPS", 1)  # 16,384: so often it is checked
    text = "ab" * 1000
    assert regex.regex_replace(SETTINGS, text, "a(.*z)?", "c") == "cb" * 1000
    assert [*regex.regex_split(SETTINGS, text, "a(.*z)?")] == ["b"] * 1000


def test_a_search_is_interrupted() -> None:
    class Interrupted(Exception):
        pass

    def interrupt() -> None:
        raise Interrupted

    settings = kinds.settings()
    settings.check_interrupt = interrupt
    with pytest.raises(Interrupted):
        regex.regex_match(settings, "a" * 20_000, "a*b")


_ATOMS = st.sampled_from(["a", "b", "[ab]", "[^a]", "."])


@given(
    st.recursive(
        _ATOMS,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map("".join),
            inner.map(lambda each: f"({each})*"),
            inner.map(lambda each: f"({each})?"),
            inner.map(lambda each: f"({each}){{1,2}}"),
            st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})"),
        ),
        max_leaves=5,
    ),
    st.text(alphabet="abc", max_size=6),
)
def test_it_matches_where_re_matches(pattern: str, text: str) -> None:
    found: list[tuple[int, int]] = []
    position = 0
    while position <= len(text) and (match := re.compile(pattern).search(text, position)):
        start = match.start()
        longest = max(end for end in range(start, len(text) + 1) if re.fullmatch(pattern, text[start:end]))
        found.append((start, longest))
        position = longest + (longest == start)
    assert [own[:2] for own in regex._matches(SETTINGS, text, pattern, 0, EXTENDED)] == found
    assert regex.regex_match(SETTINGS, text, pattern) == ("t" if found else "f")
