"""Where statements of a script end, by words alone."""

from __future__ import annotations

import re

import pytest

from aioifx.scripts import Piece, RoutineBody, only_sql, split


def cut(text: str) -> list[str]:
    pieces = [Piece(found[0].lower(), *found.span()) for found in re.finditer(r"\w+|;|\S", text)]
    return [sql for sql, start in split(text, pieces) if text.startswith(sql, start)]


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("", []),
        (" ; ;", []),
        ("a b ; c", ["a b", "c"]),
        ("create dba procedure p ( ) x ; end procedure ; b", ["create dba procedure p ( ) x ; end procedure", "b"]),
        ("create function f x ; end if ; end function document y ; b",
         ["create function f x ; end if ; end function document y", "b"]),
        ("create function f external name x ; b", ["create function f external name x", "b"]),
        ("create procedure from 'p.sql' ; b", ["create procedure from 'p.sql'", "b"]),
        ("create function from if not exists 'f' ; b", ["create function from if not exists 'f'", "b"]),
        ("create function f ; return select function from t ; end function ; b",
         ["create function f ; return select function from t ; end function", "b"]),
        ("drop procedure p ; b", ["drop procedure p", "b"]),
        ("create procedure p ; never ends", ["create procedure p ; never ends"]),
    ],
)  # fmt: skip
def test_statements_end_at_semicolons_outside_of_routines(text: str, statements: list[str]) -> None:
    assert cut(text) == statements


def test_a_body_is_open_until_its_end() -> None:
    body, states = RoutineBody(), list[bool]()
    for word in "create or replace function f ; end while ; end function".split():
        body.read(word)
        states.append(body.is_open)
    assert states == [False] * 3 + [True] * 7 + [False]


def test_lines_of_tools_are_blank() -> None:
    text = "\nDBSCHEMA Schema Utility  INFORMIX\nCopyright IBM\n\na;\nexport DBDELIMITER='|'\nsetenv DBDELIMITERS"
    assert [line.strip() for line in only_sql(text).split("\n")] == [
        "",
        "",
        "",
        "",
        "a;",
        "",
        "setenv DBDELIMITERS",
    ]
    assert len(only_sql(text)) == len(text)
