"""Tokens on their way through the parser."""

from __future__ import annotations

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.syntax.dml import parse_insert
from aioifx.server.sql.syntax.expressions import parse_condition, parse_either, parse_value
from aioifx.server.sql.syntax.nodes import Name, Parameter, QualifiedName
from aioifx.server.sql.syntax.queries import parse_item_query, parse_query, parse_subquery
from aioifx.server.sql.syntax.token_stream import (
    MAX_DEPTH,
    Grammar,
    TokenStream,
    parse_database_prefix,
    parse_owner,
    parse_qualified_name,
)
from aioifx.server.sql.syntax.tokens import TokenKind, tokenize


def stream(text: str) -> TokenStream:
    grammar = Grammar(
        parse_value,
        parse_condition,
        parse_either,
        parse_query,
        parse_subquery,
        parse_item_query,
        parse_insert,
    )
    return TokenStream(text, tokenize(text), grammar)


def refused_at(s: TokenStream) -> int:
    """The offset of the refusal that reading one more name meets."""
    with pytest.raises(SqlError) as caught:
        s.name()
    assert caught.value.sqlcode == -201
    return caught.value.offset


def test_looking_reads_nothing() -> None:
    s = stream("group by a")
    assert s.at("group", "by")
    assert s.at("by", ahead=1)
    assert not s.at("by")
    assert s.at_any("order", "group")
    assert not s.at("a", "b", "c", ahead=2)
    assert s.token.text == "group"


def test_a_string_is_not_a_word() -> None:
    s = stream("'group' by")
    assert not s.at("group")
    assert not s.at_any("group")


def test_accept_reads_all_of_the_words_or_none() -> None:
    s = stream("order by a")
    assert s.accept("order", "siblings") is None
    assert s.token.text == "order"
    first = s.accept("order", "by")
    assert first is not None
    assert first.offset == 1
    assert s.token.text == "a"


def test_expect_refuses_the_first_word_that_differs() -> None:
    s = stream("order with a")
    with pytest.raises(SqlError) as caught:
        s.expect("order", "by")
    assert (caught.value.sqlcode, caught.value.offset) == (-201, 7)


def test_the_end_is_never_passed() -> None:
    s = stream("a")
    for _ in range(3):
        s.advance()
    assert s.token.kind is TokenKind.END
    assert s.ahead(9).kind is TokenKind.END
    assert refused_at(s) == 2


def test_lists_are_read_to_their_last_comma() -> None:
    assert stream("a, b , c").listed(TokenStream.name) == (Name(1, "a"), Name(4, "b"), Name(8, "c"))
    assert stream("(a)").names_enclosed() == (Name(2, "a"),)
    with pytest.raises(SqlError) as caught:
        stream("(a,)").names_enclosed()
    assert caught.value.offset == 4


def test_integers_have_a_sign_only_where_one_is_asked_for() -> None:
    assert stream("12").integer() == 12
    assert [stream(text).signed_integer() for text in ("-12", "+12", "12")] == [-12, 12, 12]
    for text in ("-12", "1.5", "1e3", "'1'", "a"):
        with pytest.raises(SqlError):
            stream(text).integer()


def test_parameters_are_numbered_as_they_are_read() -> None:
    s = stream("? ?")
    assert [s.parameter(), s.parameter()] == [Parameter(1, 0), Parameter(3, 1)]


def test_parentheses_know_their_ends() -> None:
    s = stream("(a (b) c) d (")
    after = s.after_parentheses()
    assert after is not None
    assert s.ahead(after).text == "d"
    assert s.after_parentheses(2) == 5
    assert s.after_parentheses(1) is None
    assert s.after_parentheses(8) is None


def test_what_was_written_comes_without_the_blanks_round_it() -> None:
    s = stream("check ( a  > 1 )")
    assert s.written(8, 16) == "a  > 1"


def test_depth_has_a_bottom() -> None:
    s = stream("a")
    for _ in range(MAX_DEPTH):
        s.descend()
    s.ascend(2)
    s.descend()
    s.descend()
    with pytest.raises(SqlError) as caught:
        s.descend()
    assert (caught.value.sqlcode, caught.value.token, caught.value.offset) == (-999, "NESTING", 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("t", QualifiedName(1, "t")),
        ("o.t", QualifiedName(1, "t", "o")),
        ("'O '.t", QualifiedName(1, "t", "O")),
        ("d:t", QualifiedName(1, "t", "", "d")),
        ("d@s:o.t", QualifiedName(1, "t", "o", "d", "s")),
        ("d:'o'.t", QualifiedName(1, "t", "o", "d")),
        ("a.b.c", QualifiedName(1, "b", "a")),
        ("a::b", QualifiedName(1, "a")),
    ],
)
def test_qualified_names(text: str, expected: QualifiedName) -> None:
    assert parse_qualified_name(stream(text)) == expected


@pytest.mark.parametrize("text", ["d@s.t", "d@:t", "'d':t", ":t", "1", ""])
def test_text_that_is_not_a_prefix_is_left_alone(text: str) -> None:
    s = stream(text)
    assert parse_database_prefix(s) == ("", "")
    assert parse_owner(s) == ""
    assert s.index == 0
