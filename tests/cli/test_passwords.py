"""What is hidden of statements with passwords."""

from __future__ import annotations

import pytest

from aioifx.cli.passwords import (
    may_have_secrets,
    note_without_secrets,
    script_without_secrets,
    without_secrets,
)
from aioifx.errors import from_server


@pytest.mark.parametrize(
    ("sql", "shown"),
    [
        ("select 'a' from passwords", "select '*' from passwords"),
        ("CREATE USER ann WITH PASSWORD 'it''s' {'x'}", "CREATE USER ann WITH PASSWORD '**''*' {'x'}"),
        ('select decrypt_char(c, "pw") from t', 'select decrypt_char(c, "**") from t'),
        ("select 'a', '' from t", "select 'a', '' from t"),
        ("set encryption password ''", "set encryption password ''"),
        ("set encryption password 'tiny", "set encryption password '****"),
        ("update t set user_password = 'pw'", "update t set user_password = '**'"),
        ("insert into t values ('https://ann:pw@db1')", f"insert into t values ('{'*' * 18}')"),
        ("grant connect to 'ann'; select 'a'", "grant connect to 'ann'; select 'a'"),
        ("CONNECT TO'shop' USER 'ann' USING 'pw'", "CONNECT TO'****' USER '***' USING '**'"),
        ("CONNECT TO 'shop@a' USER 'ann' USING 'pw'", "CONNECT TO '******' USER '***' USING '**'"),
        (
            f"connect to 'a' {{{'x' * 300}}} user 'ann' using 'pw'",
            f"connect to '*' {{{'x' * 300}}} user '***' using '**'",
        ),
    ],
)
def test_strings_beside_a_password_are_asterisks(sql: str, shown: str) -> None:
    assert without_secrets(sql) == shown and len(shown) == len(sql)


def test_other_statements_of_a_script_are_shown() -> None:
    script = "select 'a' from t;\nset encryption password 'tiny'; select 'b' from t; -- c"
    assert may_have_secrets(script)
    assert script_without_secrets(script) == script.replace("tiny", "****")
    assert script_without_secrets("select 'a;' from t") == "select 'a;' from t"
    assert (
        script_without_secrets("set encryption password 'a'; select 'b")
        == "set encryption password '*'; select '*"
    )


def test_the_place_of_an_error_has_no_secrets() -> None:
    error = from_server(-201, 0, offset=32, sql="set encryption password 'tiny' bad")
    (note,) = error.__notes__
    assert note_without_secrets(error, note) == note.replace("tiny", "****") != note
    assert note_without_secrets(error, "a hint") == "a hint"


@pytest.mark.parametrize(
    "text",
    [
        "\\c" + " " * 300_000,
        "connect " * 50_000,
        "connect" + " " * 300_000,
        "://x" * 100_000,
        "\\c a\n" * 100_000,
    ],
)
def test_hostile_texts_are_read_in_linear_time(text: str) -> None:
    assert not may_have_secrets(text)
