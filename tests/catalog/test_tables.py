"""Reading the catalog, with a server that answers from a table of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from aioifx.catalog.tables import Tables
from aioifx.catalog.texts import Key, Place


class FakeServer:
    """Answers a statement by the first word of *rows* that it has, and keeps what it was sent."""

    def __init__(self, rows: Mapping[str, Sequence[tuple[Any, ...]]]) -> None:
        self._rows = rows
        self.sent: list[tuple[str, tuple[Any, ...]]] = []

    async def fetch(self, sql: str, params: Sequence[Any]) -> Sequence[tuple[Any, ...]]:
        self.sent.append((sql, tuple(params)))
        return next((rows for word, rows in self._rows.items() if f"FROM {word} " in sql), ())


def read(
    rows: Mapping[str, Sequence[tuple[Any, ...]]],
    schema: str | None = None,
    names: Sequence[str] | None = None,
) -> tuple[Tables, FakeServer]:
    return Tables(Place.of(schema), names, is_ansi=False), FakeServer(rows)


def table(
    tabid: int, name: str, kind: str = "T", *, base: int | None = None, own: int = 1
) -> tuple[Any, ...]:
    partnum = 0x100000 + tabid if kind == "T" else 0
    return (tabid, name, "ann     ", kind, "P", 16, 16, base, own, partnum, "rootdbs  ", 16)


async def test_each_part_is_read_once() -> None:
    catalog, fake = read({"informix.systables t": [table(100, "a")]})
    for _ in range(2):
        assert (await catalog.tables(fake.fetch))["a"].owner == "ann"
        assert (await catalog.tables(fake.fetch))["a"].dbspace == "rootdbs"
        assert (await catalog.checks(fake.fetch)) == {}
    assert len(fake.sent) == 2


@pytest.mark.parametrize(("count", "statements"), [(1, 1), (250, 1), (251, 2), (600, 3)])
async def test_names_are_sent_in_groups(count: int, statements: int) -> None:
    catalog, fake = read({}, names=[f"t{number}" for number in range(count)])
    assert (await catalog.tables(fake.fetch)) == {}
    assert len(fake.sent) == statements
    assert sum(len(params) for _, params in fake.sent) == count


async def test_a_synonym_has_the_columns_of_its_table() -> None:
    rows = {
        "informix.systables t": [table(101, "s", "S", base=100)],
        "informix.syscolumns c": [(100, 1, "k", 258, 4, 0, None, None, None, None, None, 0)],
    }
    catalog, fake = read(rows, names=["s"])
    entry = (await catalog.tables(fake.fetch))["s"]
    assert [column.name for column in (await catalog.columns(fake.fetch))[entry.source]] == ["k"]
    assert entry.dbspace == "" and not entry.is_foreign
    assert fake.sent[-1][1] == (100,)


async def test_the_users_own_table_comes_before_those_of_others() -> None:
    rows = {"informix.systables t": [table(100, "s", "S", base=90, own=0), table(101, "s", "P", base=91)]}
    catalog, fake = read(rows)
    assert (await catalog.tables(fake.fetch))["s"].tabid == 101


async def test_hidden_columns_are_left_out() -> None:
    rows = {
        "informix.syscolumns c": [
            (100, 1, "a", 2, 4, 0, None, None, None, None, None, 0),
            (100, 2, "ifx_insert_checksum", 2, 4, 0, None, None, None, None, None, 1),
            (100, 3, "b", 2, 4, 0, None, None, None, None, None, None),
        ]
    }
    catalog, fake = read(rows)
    assert [column.name for column in (await catalog.columns(fake.fetch))[100]] == ["a", "b"]


async def test_functional_indexes_are_read_with_their_functions() -> None:
    rows: dict[str, list[tuple[Any, ...]]] = {
        "informix.sysindices i": [(100, "ix", "D", " ", "<145>(1) [1], -2 [1]", "ann", 1)],
        "informix.syscolumns c": [
            (100, 1, "name", 13, 20, 0, None, None, None, None, None, 0),
            (100, 2, "n", 2, 4, 0, None, None, None, None, None, 0),
        ],
        "informix.sysprocedures": [(145, "sp_upper")],
    }
    catalog, fake = read(rows)
    (index,) = (await catalog.indexes(fake.fetch))[100]
    assert index.keys == (Key(None, "sp_upper(name)", False, 1), Key("n", "n", True, 1))
    assert not index.is_unique


async def test_dbspaces_are_those_of_the_servers_own_tables_only() -> None:
    catalog, fake = read({}, "stock@far:joe")
    (await catalog.tables(fake.fetch))
    (sent,) = fake.sent
    assert "DBINFO" not in sent[0] and "stock@far:informix.systables" in sent[0]
    assert sent[1] == ("joe",)
