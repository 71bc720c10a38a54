"""The open database: its name, and what its warnings say about the log."""

from __future__ import annotations

import pytest

from aioifx.client.session.database import Database
from aioifx.testing.messages import ANSI, LOGGED, UNLOGGED


@pytest.mark.parametrize(
    ("warnings", "mode", "is_logged", "is_ansi"),
    [(LOGGED, "logged", True, False), (UNLOGGED, "unlogged", False, False), (ANSI, "ansi", True, True)],
)
def test_the_warnings_of_the_opening_give_the_log_mode(
    warnings: int, mode: str, is_logged: bool, is_ansi: bool
) -> None:
    database = Database()
    database.on_opened("shop", warnings)
    assert (database.name, database.log_mode) == ("shop", mode)
    assert (database.is_logged, database.is_ansi) == (is_logged, is_ansi)


def test_without_an_open_database_there_is_no_log() -> None:
    database = Database()
    assert (database.name, database.log_mode, database.is_logged) == ("", None, False)
    database.on_opened("shop", ANSI)
    database.on_opened("", 0)
    assert (database.name, database.log_mode, database.is_ansi) == ("", None, False)
