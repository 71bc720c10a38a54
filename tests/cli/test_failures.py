"""Errors as text for people."""

from __future__ import annotations

import pytest

from aioifx.cli.failures import report
from aioifx.errors import LockTimeout, UndefinedColumn, from_server


def test_a_report_has_the_place_in_the_sql_and_the_way_to_learn_more(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = UndefinedColumn("column colour does not exist (SQLCODE -217)", sqlcode=-217)
    error.add_note("SQL, column 8:\n    SELECT colour\n           ^")
    report(error)
    assert capsys.readouterr().err == (
        "aioifx: column colour does not exist (SQLCODE -217)\n"
        "SQL, column 8:\n"
        "    SELECT colour\n"
        "           ^\n"
        "`aioifx explain -217` tells more\n"
    )
    report(LockTimeout("locked", sqlcode=-244, isamcode=-154))
    assert capsys.readouterr().err == "aioifx: locked\n`aioifx explain -244 -154` tells more\n"


def test_a_report_cannot_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    report(UndefinedColumn("column \x1b[31mred is missing"))
    assert capsys.readouterr().err == "aioifx: column \\x1b[31mred is missing\n"


def test_a_report_has_no_password_of_the_statement(capsys: pytest.CaptureFixture[str]) -> None:
    report(from_server(-201, 0, offset=32, sql="set encryption password 'tiny' bad"))
    assert "    set encryption password '****' bad\n" in capsys.readouterr().err


def test_an_error_without_a_message_is_named_by_its_class(capsys: pytest.CaptureFixture[str]) -> None:
    report(LockTimeout())
    assert capsys.readouterr().err == "aioifx: LockTimeout\n"
