"""The fixture `party`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from aioifx.server.sqlite.databases import LogMode
from tests.server.sqlite.parties import MakeParty, Party, make_database


@pytest.fixture(params=[LogMode.LOGGED])
def party(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[MakeParty]:
    """Makes sessions in one database."""
    database = make_database(tmp_path, request.param)
    parties: list[Party] = []

    def make() -> Party:
        parties.append(Party(database))
        return parties[-1]

    yield make
    for each in parties:
        each.transactions.abandon()
        each.connection.close()
