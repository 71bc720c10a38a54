"""Variables of a script: what is replaced, what is not, and where errors point."""

from __future__ import annotations

import argparse

import pytest

from aioifx.cli.variables import expanded, variable
from aioifx.errors import ProgrammingError

VALUES = {"t": "item", "day": "it's", "n": '3 or a"b'}


@pytest.mark.parametrize(
    ("sql", "sent"),
    [
        ("select * from :t where id = :N", 'select * from item where id = 3 or a"b'),
        ("insert into :t values (:'day', :\"n\")", "insert into item values ('it''s', \"3 or a\"\"b\")"),
        ("select ':t', \":t\" from stock:t {:t} -- :t", None),
        ("select 12:30, a::t, 'a':'t' from b", None),
        (":t", "item"),
    ],
)
def test_variables_are_replaced_outside_of_strings_and_comments(sql: str, sent: str | None) -> None:
    assert expanded(sql, VALUES).sql == (sql if sent is None else sent)
    assert expanded(sql, {}).sql == sql


def test_a_variable_without_a_value_is_refused() -> None:
    with pytest.raises(
        ProgrammingError, match=r"^no --var gives dya a value; did you mean 'day'\?$"
    ) as caught:
        expanded("select :dya", VALUES)
    assert caught.value.offset == 8


def test_places_are_those_of_the_script() -> None:
    found = expanded("ab :t cd :'day' e", VALUES)
    assert found.sql == "ab item cd 'it''s' e"
    places = [found.original(offset) for offset in (0, 1, 4, 6, 9, 12, 20, 21, 22)]
    assert places == [0, 1, 4, 4, 7, 10, 17, 18, 0]


def test_an_argument_is_a_name_and_a_value() -> None:
    assert variable("Day=a=b") == ("day", "a=b") and variable("x=") == ("x", "")
    for text in ("x", "=x", "1=x", "a b=secret"):
        with pytest.raises(argparse.ArgumentTypeError, match="expected NAME=VALUE") as caught:
            variable(text)
        assert "secret" not in str(caught.value)
