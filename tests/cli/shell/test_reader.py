"""Text cut into statements and commands."""

from __future__ import annotations

import pytest

from aioifx.cli.shell.reader import entries, is_whole

PROCEDURE = "CREATE PROCEDURE p() LET a = 1; END PROCEDURE"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        (";;", []),
        ("-- only a comment", []),
        ("SELECT 1; SELECT 2", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';' /* ; */ { ; } -- ;\n;", ["SELECT ';'"]),
        ("\\dt\nSELECT 1;", ["\\dt", "SELECT 1"]),
        ("\\dt a b  \n", ["\\dt a b"]),
        ("SELECT 1; \\dt", ["SELECT 1", "\\dt"]),
        ("SELECT '\n\\dt\n';", ["SELECT '\n\\dt\n'"]),
        ("help", ["\\?"]),
        ("QUIT;\nexit\n?", ["\\q", "\\q", "\\?"]),
        ("quit\r\nSELECT 1;\r\n\\dt\r\n", ["\\q", "SELECT 1", "\\dt"]),
        ("SELECT\nhelp;", ["SELECT\nhelp"]),
        ("help me;", ["help me"]),
        ("CREATE PROCEDURE p() LET a = 1; END PROCEDURE; SELECT 1;", [PROCEDURE, "SELECT 1"]),
        ("DBDELIMITER='|'\nSELECT 1;", ["SELECT 1"]),
    ],
)  # fmt: skip
def test_entries(text: str, found: list[str]) -> None:
    assert [entry.text for entry in entries(text)] == found
    assert all(text[entry.start :].startswith(entry.text) for entry in entries(text) if not entry.is_command)


@pytest.mark.parametrize(
    "text",
    ["", "\\d", "help", "SELECT 1;", "SELECT 1; -- done", "CREATE FUNCTION f() RETURN 1; END FUNCTION;"],
)
def test_enter_runs_what_is_whole(text: str) -> None:
    assert is_whole(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "SELECT 1; SELECT",
        "SELECT 'a;",
        "/* a;",
        "{ a;",
        "CREATE FUNCTION f() RETURN 1;",
        "CREATE OR REPLACE PROCEDURE p() LET a = 1; END",
    ],
)
def test_enter_begins_a_line_in_what_is_not_whole(text: str) -> None:
    assert not is_whole(text)


def test_an_external_routine_has_no_body() -> None:
    assert is_whole("CREATE FUNCTION f() RETURNING INT EXTERNAL NAME 'a.so(f)' LANGUAGE C;")
