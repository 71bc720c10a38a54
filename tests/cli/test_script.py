"""Scripts: places of errors, and what is hidden of statements with passwords."""

from __future__ import annotations

from aioifx.cli.script import Script, cut
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


def test_a_line_shows_no_secret_of_another_statement() -> None:
    script = "set encryption password 'tiny'; select 'a' frm t"
    error = from_server(-201, 0, offset=12, sql="select 'a' frm t")
    failure = Script(script, "a.sql").failure("error", "select 'a' frm t", 32, error)
    assert failure.lines[0] == "    set encryption password '****'; select 'a' frm t"


def test_a_script_with_secrets_and_an_open_quote_is_not_shown() -> None:
    script = "select 'it's; set encryption password 'tiny'"
    failure = Script(script, "a.sql").unreadable(from_server(-282, 0, offset=44, sql=script))
    assert failure.head == "a.sql:1:44: error: quote is not closed (SQLCODE -282)" and not failure.lines


def test_lines_are_cut() -> None:
    assert (cut("abcdef", 6), cut("abcdefg", 6)) == ("abcdef", "abc...")
