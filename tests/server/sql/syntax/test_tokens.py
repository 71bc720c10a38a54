"""The words of a statement."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.syntax.tokens import Token, TokenKind, tokenize


def texts(text: str, *, delimident: bool = False) -> list[str]:
    """The texts of all tokens but the END."""
    return [token.text for token in tokenize(text, delimident=delimident)[:-1]]


def kinds(text: str, *, delimident: bool = False) -> list[TokenKind]:
    return [token.kind for token in tokenize(text, delimident=delimident)[:-1]]


def error_of(text: str, *, delimident: bool = False) -> tuple[int, int]:
    """SQLCODE and offset of the error that a text raises."""
    with pytest.raises(SqlError) as caught:
        tokenize(text, delimident=delimident)
    return caught.value.sqlcode, caught.value.offset


def test_a_token_knows_where_it_begins_and_ends() -> None:
    assert tokenize(" ab 'c'") == [
        Token(TokenKind.NAME, "ab", 2, 4),
        Token(TokenKind.STRING, "c", 5, 8),
        Token(TokenKind.END, "", 8, 8),
    ]


def test_the_end_is_after_the_last_token_not_after_the_blanks() -> None:
    assert tokenize("ab  -- c")[-1] == Token(TokenKind.END, "", 3, 3)
    assert tokenize("") == [Token(TokenKind.END, "", 1, 1)]


def test_names_are_folded_and_may_hold_digits_underscores_and_dollars() -> None:
    assert texts("SELECT Ab_1$x _y") == ["select", "ab_1$x", "_y"]


def test_letters_are_those_of_any_language() -> None:
    assert texts("größe ΣΑΜ 名前") == ["größe", "σαμ", "名前"]


def test_a_name_has_128_bytes_at_most() -> None:
    assert texts("a" * 128) == ["a" * 128]
    assert error_of(" " + "a" * 129) == (-253, 2)
    assert texts("ä" * 64) == ["ä" * 64]
    assert error_of("ä" * 65) == (-253, 1)
    assert error_of('"' + "a" * 129 + '"', delimident=True) == (-253, 1)


def test_numbers_have_points_and_exponents() -> None:
    numbers = ["0", "007", "1.5", "1.", ".5", "1e5", "1E+5", "1.5e-3", ".5e1"]
    assert texts(" ".join(numbers)) == numbers
    assert set(kinds(" ".join(numbers))) == {TokenKind.NUMBER}


def test_a_sign_and_a_second_point_are_no_part_of_a_number() -> None:
    assert texts("-1.2.3") == ["-", "1.2", ".3"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("12abc", (-203, 1)), ("1.5x", (-204, 1)), ("1e", (-203, 1)), ("1.5e+", (-204, 1)), ("1e401", (-204, 1)),
        ("1" * 256, (-203, 1)), ("1." + "1" * 255, (-204, 1)), ("a = 1e" + "9" * 300, (-204, 5)),
    ],
)  # fmt: skip
def test_an_invalid_number_is_refused(text: str, error: tuple[int, int]) -> None:
    assert error_of(text) == error


def test_quotes_inside_strings_are_doubled() -> None:
    assert texts("'it''s' '' '''' \"it's\" \"a\"\"b\" 'a\\'") == ["it's", "", "'", "it's", 'a"b', "a\\"]
    assert set(kinds("'' \"\"")) == {TokenKind.STRING}


def test_a_string_hides_comments_and_semicolons() -> None:
    assert texts("'-- { /* ;'") == ["-- { /* ;"]


@pytest.mark.parametrize("text", ["'", "'a", "'a''", "'''", '"a', "'a\nb'", '"', "'a\""])
def test_an_open_quote_is_refused(text: str) -> None:
    assert error_of("x " + text) == (-282, 3)


def test_with_delimident_double_quotes_stand_round_names() -> None:
    found = tokenize('"Ab""c" x', delimident=True)[:2]
    assert found == [Token(TokenKind.DELIMITED, 'Ab"c', 1, 8), Token(TokenKind.NAME, "x", 9, 10)]
    assert error_of('x ""', delimident=True) == (-201, 3)


def test_comments_of_all_kinds_are_skipped() -> None:
    assert texts("a -- b\nc { d\n -- } e /* f { * ' */ g --") == ["a", "c", "e", "g"]


def test_comments_do_not_nest() -> None:
    assert texts("{ { } }") == ["}"]
    assert texts("/* /* */ a") == ["a"]


def test_a_comment_separates_nothing_but_words() -> None:
    assert texts("a{}b 1/**/2") == ["a", "b", "1", "2"]


@pytest.mark.parametrize(("text", "error"), [("a {b", (-283, 3)), ("a /*b", (-943, 3)), ("/*/", (-943, 1))])
def test_an_open_comment_is_refused(text: str, error: tuple[int, int]) -> None:
    assert error_of(text) == error


@pytest.mark.parametrize("word", ["SET", "List", "multiset"])
def test_after_a_collection_keyword_a_brace_is_a_symbol(word: str) -> None:
    assert texts(f"{word}{{1}} {{2}}") == [word.lower(), "{", "1", "}"]
    assert texts(f"{word} {{1}}") == [word.lower(), "{", "1", "}"]


def test_symbols_are_as_long_as_they_can_be() -> None:
    assert texts("a||b::c<>d!=e<=f>=g<h>i=j==k") == [
        *[
            "a", "||", "b", "::", "c", "<>", "d", "!=", "e", "<=", "f", ">=", "g", "<", "h", ">", "i", "=", "j",
        ],
        *["==", "k"],
    ]  # fmt: skip
    assert texts("+-*/()[]},.:;?@") == list("+-*/()[]},.:;?@")


@pytest.mark.parametrize(
    "character", ["&", "%", "!", "|", "^", "~", "`", "\\", "$", "\0", "\xa0", "²", "€", "\ud800"]
)
def test_an_illegal_character_is_refused(character: str) -> None:
    assert error_of(f"a {character} b") == (-202, 3)


def test_a_number_sign_is_only_before_a_name() -> None:
    assert texts("a # int") == ["a", "#", "int"]
    assert [error_of(text) for text in ("a # 1", "a #")] == [(-202, 3), (-202, 3)]


@given(st.text(), st.booleans())
def test_law_any_text_gives_tokens_or_an_error(text: str, delimident: bool) -> None:
    try:
        tokens = tokenize(text, delimident=delimident)
    except SqlError as error:
        assert error.sqlcode in {-201, -202, -203, -204, -253, -282, -283, -943}
        assert 1 <= error.offset <= len(text)
    else:
        assert tokens[-1].kind is TokenKind.END
        assert all(before.end <= after.offset for before, after in pairwise(tokens))
        assert all(token.offset < token.end for token in tokens[:-1])


_WRITTEN = st.one_of(
    st.from_regex(r"[a-z_][a-z0-9_$]{0,9}", fullmatch=True),
    st.from_regex(r"[0-9]{1,5}(\.[0-9]{1,3})?", fullmatch=True),
    st.text("ab'\"-{};é \t", max_size=8).map(lambda value: "'" + value.replace("'", "''") + "'"),
    st.sampled_from(["||", "::", "<>", "!=", "<=", ">=", "==", *"=<>+-*/()[],.:;?@"]),
)
_BLANKS = st.sampled_from([" ", "\n", " -- note\n", "/* note */ ", " { note } "])


@given(st.lists(st.tuples(_WRITTEN, _BLANKS)))
def test_law_blanks_and_comments_do_not_matter(pieces: list[tuple[str, str]]) -> None:
    spaced = "".join(
        written + " " + blanks for written, blanks in pieces if written not in ("set", "list", "multiset")
    )
    plain = " ".join(written for written, _ in pieces if written not in ("set", "list", "multiset"))
    assert texts(spaced) == texts(plain)
