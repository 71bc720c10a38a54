from __future__ import annotations

from collections.abc import Iterator

import pytest

from aioifx import connect
from aioifx.errors import UndefinedTable
from aioifx.server import running
from aioifx.server.seeds import run_script
from tests.server.talking import House, house, query


@pytest.fixture
def home() -> Iterator[House]:
    with house() as made:
        yield made


SCRIPT = """
-- a shop; with a semicolon in a comment
CREATE TABLE item (id SERIAL, name VARCHAR(40));
INSERT INTO item VALUES (0, 'pen; blue');
INSERT INTO item VALUES (0, 'cup');
"""


def test_a_script_fills_a_database(home: House) -> None:
    run_script(SCRIPT, "demo", home.databases, home.roster, "anna")
    assert query(home.engine(), "SELECT id, name FROM item ORDER BY id") == [(1, "pen; blue"), (2, "cup")]
    assert [member.user for member in home.roster.members()] == ["anna"]  # the engine of the line above


def test_a_failing_statement_is_named(home: House) -> None:
    with pytest.raises(UndefinedTable) as raised:
        run_script(SCRIPT + "DELETE FROM nothing", "demo", home.databases, home.roster, "anna")
    assert raised.value.sql == "DELETE FROM nothing"
    assert raised.value.row_index == 3
    assert home.roster.members() == []


async def test_a_script_is_kept_in_an_ansi_database_too() -> None:
    async with running(seed=SCRIPT, log_mode="ansi") as dsn, connect(dsn) as conn:
        assert await conn.fetchval("SELECT COUNT(*) FROM item") == 2
