from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.runtime import strings
from tests.server.sql.kinds import error_of

LATIN_1 = Settings()
UTF_8 = Settings(code_set="utf-8")
letters = st.text(alphabet="abcéü€ 字𝄞", max_size=12)


@given(letters, st.integers(0, 30))
def test_cutting_counts_bytes_and_splits_no_character(text: str, size: int) -> None:
    piece = strings.cut(text, size, "utf-8")
    assert text.startswith(piece)
    assert len(piece.encode()) <= size
    rest = text[len(piece) :]
    assert not rest or len((piece + rest[0]).encode()) > size


@given(letters, st.integers(0, 40))
def test_padding_fills_bytes(text: str, size: int) -> None:
    padded = strings.pad(text, size, "utf-8")
    assert padded.rstrip(" ") == text.rstrip(" ")
    assert len(padded.encode()) == max(size, len(text.encode()))


def test_a_character_outside_the_code_set_is_an_error() -> None:
    assert error_of(strings.cut, "€", 5, "iso8859-1") == -23103
    assert strings.cut("äöü", 2, "iso8859-1") == "äö"


def test_a_part_replaces_bytes() -> None:
    assert strings.with_part(UTF_8, 2, 3, "abcdef", "x") == "ax def"
    assert strings.with_part(UTF_8, 4, 5, None, "xyz") == "   xy"
    assert strings.with_part(UTF_8, 2, 3, "aüd", "xy") == "axyd"
    assert strings.with_part(UTF_8, 1, 2, "aüd", "xy") == "xy d"


def test_subscripts_count_bytes_from_one() -> None:
    assert strings.subscript(UTF_8, "systables", 1, 3) == "sys"
    assert strings.subscript(UTF_8, "abc", 2, 2) == "b"
    assert strings.subscript(UTF_8, "abc", 3, 9) == "c"
    assert strings.subscript(UTF_8, None, 1, 1) is None
    assert error_of(strings.subscript, UTF_8, "abc", 0, 1) == -306
    assert error_of(strings.subscript, UTF_8, "abc", 3, 2) == -306


def test_the_halves_of_a_split_character_are_blanks() -> None:
    assert strings.subscript(UTF_8, "aéb", 1, 2) == "a "
    assert strings.subscript(UTF_8, "aéb", 3, 4) == " b"
    assert strings.subscript(UTF_8, "aéb", 2, 3) == "é"
    assert strings.subscript(UTF_8, "字", 2, 2) == " "
    assert strings.subscript(LATIN_1, "aéb", 2, 3) == "éb"


@given(letters, st.integers(1, 20), st.integers(0, 20))
def test_a_subscript_has_as_many_bytes_as_it_names(text: str, first: int, more: int) -> None:
    last = first + more
    piece = strings.subscript(UTF_8, text, first, last)
    assert piece is not None
    assert len(piece.encode()) == max(0, min(last, len(text.encode())) - first + 1)


def test_lengths_differ_in_blanks_and_bytes() -> None:
    assert strings.length(UTF_8, "ab  ") == 2
    assert strings.length(UTF_8, "é ") == 2
    assert strings.octet_length(UTF_8, "é ") == 3
    assert strings.char_length("é ") == 2
    assert strings.length(UTF_8, "   ") == 0
    assert strings.length(UTF_8, None) is None


def test_case_changes_letter_by_letter() -> None:
    assert strings.upper("straße é") == "STRAßE É"
    assert strings.lower("ABC") == "abc"
    assert strings.initcap("o'HARA and 2nd-born") == "O'Hara And 2nd-Born"


def test_trim_takes_blanks_or_given_characters() -> None:
    assert strings.trim("  a b ") == "a b"
    assert strings.trim("xxaxx", "x") == "a"
    assert strings.trim_leading("xya", "yx") == "a"
    assert strings.trim_trailing("a  ") == "a"
    assert strings.trim("a", None) is None
    assert strings.trim(" a ", "") == " a "


@pytest.mark.parametrize(
    ("text", "count", "filler", "left", "right"),
    [
        ("ab", 5, "xy", "xyxab", "abxyx"),
        ("ab", 5, " ", "   ab", "ab   "),
        ("abcdef", 3, " ", "abc", "abc"),
        ("ab", 0, " ", "", ""),
        ("ab", -1, " ", "", ""),
        ("ab", 5, "", "ab", "ab"),
        ("ab", None, " ", None, None),
    ],
)
def test_pads(text: str, count: int | None, filler: str, left: str | None, right: str | None) -> None:
    assert strings.pad_left(text, count, filler) == left
    assert strings.pad_right(text, count, filler) == right


def test_replace_with_null_takes_away() -> None:
    assert strings.replace("banana", "an", "x") == "bxxa"
    assert strings.replace("banana", "an") == "ba"
    assert strings.replace("banana", "an", None) == "ba"
    assert strings.replace("banana", "", "x") == "banana"
    assert strings.replace("banana", None, "x") is None


@pytest.mark.parametrize(
    ("start", "count", "piece"),
    [
        (1, 2, "ab"), (0, 2, "ab"), (3, 9, "cde"), (-2, 9, "de"), (-2, 1, "d"), (6, 1, ""), (-6, 1, None),
        (1, 0, None),
    ],
)  # fmt: skip
def test_substr(start: int, count: int, piece: str | None) -> None:
    assert strings.substr("abcde", start, count) == piece


@pytest.mark.parametrize(
    ("start", "count", "piece"),
    [(1, 2, "ab"), (0, 2, "a"), (-1, 2, ""), (-1, 5, "abc"), (4, 9, "de"), (2, -1, "")],
)
def test_substring_counts_places_before_the_text(start: int, count: int, piece: str) -> None:
    assert strings.substring_for("abcde", start, count) == piece


def test_substring_without_a_count_goes_to_the_end() -> None:
    assert strings.substring("abcde", 3) == "cde"
    assert strings.substring("abcde", -3) == "abcde"


def test_left_right_space_reverse() -> None:
    assert strings.left("abc", 2) == "ab"
    assert strings.right("abc", 2) == "bc"
    assert strings.right("abc", 9) == "abc"
    assert strings.right("abc", 0) == ""
    assert strings.left("abc", -1) == ""
    assert strings.space(3) == "   "
    assert strings.reverse("abc") == "cba"
    assert strings.space(None) is None


@pytest.mark.parametrize(
    ("part", "start", "nth", "place"),
    [
        ("an", 1, 1, 2), ("an", 3, 1, 4), ("an", 1, 2, 4), ("an", 1, 3, 0), ("x", 1, 1, 0), ("an", -1, 1, 4),
        ("an", -1, 2, 2), ("an", -4, 1, 2), ("", 1, 1, 0), ("a", 99, 1, 0),
    ],
)  # fmt: skip
def test_instr(part: str, start: int, nth: int, place: int) -> None:
    assert strings.instr("banana", part, start, nth) == place


@pytest.mark.parametrize(
    ("part", "start", "place"),
    [("na", 1, 3), ("na", 4, 5), ("na", 6, 0), ("na", -3, 3), ("x", 1, 0), ("a", 9, 0)],
)
def test_charindex(part: str, start: int, place: int) -> None:
    assert strings.charindex(part, "banana", start) == place


def test_charindex_of_null_is_null() -> None:
    assert strings.charindex(None, "a") is None
    assert strings.charindex("a", None) is None
    assert strings.charindex("a", "a", None) is None


@pytest.mark.parametrize(
    ("delimiter", "count", "piece"),
    [
        (".", 1, "www"), (".", 2, "www.ibm"), (".", 3, "www.ibm.com"), (".", -1, "com"), (".", -2, "ibm.com"),
        (".", -9, "www.ibm.com"), (".", 0, None), ("", 1, "www.ibm.com"), (None, 1, None),
    ],
)  # fmt: skip
def test_substring_index(delimiter: str | None, count: int, piece: str | None) -> None:
    assert strings.substring_index("www.ibm.com", delimiter, count) == piece


def test_a_letter_keeps_its_case_when_the_other_one_has_more_bytes() -> None:
    assert strings.upper("\u0250b") == "\u0250B"
    assert strings.lower("\u0391\u03a3") == "\u03b1\u03c2"


def test_characters_of_a_code_set_have_up_to_so_many_bytes() -> None:
    found = [strings.widest_character(each) for each in ("latin-1", "cp1252", "utf-8", "gb18030")]
    assert found == [1, 1, 4, 4]


def test_codes_and_characters() -> None:
    assert strings.ascii_code(UTF_8, "A") == 65
    assert strings.ascii_code(UTF_8, "") is None
    assert strings.ascii_code(LATIN_1, "é") == 0xE9
    assert strings.ascii_code(UTF_8, "é") == 0xC3
    assert error_of(strings.ascii_code, LATIN_1, "€") == -23103
    assert strings.character(UTF_8, 65) == "A"
    assert strings.character(UTF_8, None) is None
    assert strings.character(LATIN_1, 0xE9) == "é"
    assert error_of(strings.character, UTF_8, 0xE9) == -23103
    assert error_of(strings.character, LATIN_1, 256) == -1226


def test_a_result_longer_than_lvarchar_is_refused_before_it_is_made() -> None:
    longest = 32739
    assert len(strings.pad_left("x", longest) or "") == longest
    for grow in (strings.pad_left, strings.pad_right):
        assert error_of(grow, "x", longest + 1) == -881
    assert error_of(strings.space, 2**31 - 1) == -881
    assert error_of(strings.replace, "x" * 32000, "x", "y" * 32000) == -881
    assert strings.replace("x" * longest, "x", "y") == "y" * longest
    assert strings.replace("x" * 32767, "x", "") == ""
