"""Scripts: places of errors, and what is hidden of statements with passwords."""

from __future__ import annotations

from typing import Any

import pytest

from aioifx.cli.script import Script, cut
from aioifx.errors import from_server, point_at

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


class Searched(str):
    """A text that adds up how many of its characters are searched."""

    searched = 0

    def count(self, sub: str, start: Any = 0, end: Any = None, /) -> int:
        Searched.searched += (len(self) if end is None else end) - start
        return super().count(sub, start, end)

    def find(self, sub: str, start: Any = 0, end: Any = None, /) -> int:
        found = super().find(sub, start, end)
        Searched.searched += (found if found >= 0 else len(self) if end is None else end) - start
        return found

    def rfind(self, sub: str, start: Any = 0, end: Any = None, /) -> int:
        found = super().rfind(sub, start, end)
        Searched.searched += (len(self) if end is None else end) - max(found, start)
        return found


def test_a_long_script_is_not_searched_for_each_of_its_errors() -> None:
    script = Script(Searched("select a frm t;\n" * 500), "a.sql")
    for line in range(500):
        error = from_server(-201, 0, offset=10, sql="select a frm t")
        failure = script.failure("error", "select a frm t", 16 * line, error)
        assert failure.head.startswith(f"a.sql:{line + 1}:10: error")
        assert failure.lines == ["    select a frm t;", "             ^"]
    assert Searched.searched < 160_000  # 12,001,498 if each searches all of it


@pytest.mark.parametrize("size", [0, 1, 45, 49, 50, 51, 55, 200])
def test_the_line_of_an_error_is_shown_as_if_it_were_the_whole_script(size: int) -> None:
    text = "\r\n".join(["x" * size, "a" * size + "!" + "b" * size, "y" * size])
    position = text.index("!") + 1
    failure = Script(text, "a").failure("error", text, 0, from_server(-201, 0, offset=position, sql=text))
    assert failure.lines == point_at(text, position, 50).splitlines()[1:]
