"""Scripts: places of errors, and what is hidden of statements with passwords."""

from __future__ import annotations

import pytest

from aioifx.cli.script import Script, cut, without_secrets
from aioifx.errors import from_server

TEXT = "select 1;\nset encryption password 'tiny' bad;"


def test_an_error_has_file_line_column_and_caret() -> None:
    sql, start = TEXT[10:-1], 10
    error = from_server(-201, 0, offset=32, token="", sql=sql)
    error.add_note("a hint\nof two lines")
    failure = Script(TEXT, "a.sql").failure("error", sql, start, error)
    assert failure.head == "a.sql:2:32: error: syntax error (SQLCODE -201)"
    assert failure.lines == [
        "    set encryption password '****' bad;",
        "                                   ^",
        "    a hint",
        "    of two lines",
    ]


def test_an_error_without_a_place_has_the_first_line_of_its_statement() -> None:
    error = from_server(-388, 0, offset=0, token="", sql="create table\nt")
    failure = Script("\n\ncreate table\nt", "a\x1b.sql").failure("refused", "create table\nt", 2, error)
    assert failure.head.startswith("a\\x1b.sql:3: refused: ") and failure.lines[0] == "    create table"


@pytest.mark.parametrize(
    ("sql", "shown"),
    [
        ("select 'a' from passwords", "select '*' from passwords"),
        ("CREATE USER ann WITH PASSWORD 'it''s' {'x'}", "CREATE USER ann WITH PASSWORD '**''*' {'x'}"),
        ('select decrypt_char(c, "pw") from t', 'select decrypt_char(c, "**") from t'),
        ("select 'a', '' from t", "select 'a', '' from t"),
        ("set encryption password ''", "set encryption password ''"),
    ],
)
def test_strings_beside_a_password_are_asterisks(sql: str, shown: str) -> None:
    assert without_secrets(sql) == shown and len(shown) == len(sql)


def test_lines_are_cut() -> None:
    assert (cut("abcdef", 6), cut("abcdefg", 6)) == ("abcdef", "abc...")
