"""The names of a database, read in the background."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from aioifx.cli.address import Destination
from aioifx.cli.shell.names import Catalogue, Names
from aioifx.cli.shell.state import Shell
from aioifx.server import Server


@pytest.fixture
async def catalogue(server: Server) -> AsyncIterator[Catalogue]:
    catalogue = Catalogue(Destination(server.dsn, {}, False))
    yield catalogue
    await catalogue.close()


async def test_names(server: Server, catalogue: Catalogue, shell: Shell) -> None:
    await shell.connection.execute("CREATE SYNONYM goods FOR item")
    await shell.connection.execute("CREATE PROCEDURE p() DEFINE a INT; LET a = 1; END PROCEDURE")
    catalogue.refresh("demo")
    await catalogue.wait()
    names = catalogue.names
    assert names.columns["item"] == ["id", "name", "price", "day"]
    assert names.columns["goods"] == [] and "tabname" in names.columns["systables"]
    assert next(iter(names.columns)) == "item"
    assert names.own == {"item"} and names.routines == ["p"] and "demo" in names.databases


async def test_a_new_refresh_replaces_the_one_before(catalogue: Catalogue) -> None:
    catalogue.refresh("demo")
    catalogue.refresh("sysmaster")
    await catalogue.wait()
    assert catalogue.names.own == set()


async def test_names_that_cannot_be_read_are_those_of_before(catalogue: Catalogue) -> None:
    catalogue.refresh("demo")
    await catalogue.wait()
    catalogue.refresh("nowhere")
    await catalogue.wait()
    assert "item" in catalogue.names.columns


async def test_there_are_none_at_first(catalogue: Catalogue) -> None:
    await catalogue.wait()
    assert catalogue.names == Names()


async def test_an_open_transaction_does_not_hold_the_names_up(catalogue: Catalogue, shell: Shell) -> None:
    async with shell.connection.transaction():
        await shell.connection.execute("CREATE TABLE fresh (a INT)")
        catalogue.refresh("demo")
        await catalogue.wait()
        assert "item" in catalogue.names.columns
