"""Reading the catalog, with a connection that answers from a table of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest
from sqlalchemy import exc
from sqlalchemy.engine import Connection

import aioifx
from aioifx.sqlalchemy.catalog import Catalog, temp_table_names
from aioifx.sqlalchemy.catalog_text import Key, Place


class FakeConnection:
    """Answers a statement by the first word of *rows* that it has, and keeps what it was sent."""

    def __init__(self, rows: Mapping[str, Sequence[tuple[Any, ...]]]) -> None:
        self._rows = rows
        self.sent: list[tuple[str, tuple[Any, ...]]] = []

    def exec_driver_sql(self, sql: str, params: tuple[Any, ...]) -> FakeConnection:
        self.sent.append((sql, params))
        self._found = next((rows for word, rows in self._rows.items() if f"FROM {word} " in sql), ())
        return self

    def fetchall(self) -> list[tuple[Any, ...]]:
        return list(self._found)


def read(
    rows: Mapping[str, Sequence[tuple[Any, ...]]],
    schema: str | None = None,
    names: Sequence[str] | None = None,
) -> tuple[Catalog, FakeConnection, Connection]:
    fake = FakeConnection(rows)
    return Catalog(Place.of(schema), names, is_ansi=False), fake, cast(Connection, fake)


def table(
    tabid: int, name: str, kind: str = "T", *, base: int | None = None, own: int = 1
) -> tuple[Any, ...]:
    partnum = 0x100000 + tabid if kind == "T" else 0
    return (tabid, name, "ann     ", kind, "P", 16, 16, base, own, partnum, "rootdbs  ")


def test_each_part_is_read_once() -> None:
    catalog, fake, connection = read({"informix.systables t": [table(100, "a")]})
    for _ in range(2):
        assert catalog.tables(connection)["a"].owner == "ann"
        assert catalog.tables(connection)["a"].dbspace == "rootdbs"
        assert catalog.checks(connection) == {}
    assert len(fake.sent) == 2


@pytest.mark.parametrize(("count", "statements"), [(1, 1), (250, 1), (251, 2), (600, 3)])
def test_names_are_sent_in_groups(count: int, statements: int) -> None:
    catalog, fake, connection = read({}, names=[f"t{number}" for number in range(count)])
    assert catalog.tables(connection) == {}
    assert len(fake.sent) == statements
    assert sum(len(params) for _, params in fake.sent) == count


def test_a_synonym_has_the_columns_of_its_table() -> None:
    rows = {
        "informix.systables t": [table(101, "s", "S", base=100)],
        "informix.syscolumns c": [(100, 1, "k", 258, 4, 0, None, None, None, None, None, 0)],
    }
    catalog, fake, connection = read(rows, names=["s"])
    entry = catalog.tables(connection)["s"]
    assert [column.name for column in catalog.columns(connection)[entry.source]] == ["k"]
    assert entry.dbspace == "" and not entry.is_foreign
    assert fake.sent[-1][1] == (100,)


def test_the_users_own_table_comes_before_those_of_others() -> None:
    rows = {"informix.systables t": [table(100, "s", "S", base=90, own=0), table(101, "s", "P", base=91)]}
    catalog, _, connection = read(rows)
    assert catalog.tables(connection)["s"].tabid == 101


def test_hidden_columns_are_left_out() -> None:
    rows = {
        "informix.syscolumns c": [
            (100, 1, "a", 2, 4, 0, None, None, None, None, None, 0),
            (100, 2, "ifx_insert_checksum", 2, 4, 0, None, None, None, None, None, 1),
            (100, 3, "b", 2, 4, 0, None, None, None, None, None, None),
        ]
    }
    catalog, _, connection = read(rows)
    assert [column.name for column in catalog.columns(connection)[100]] == ["a", "b"]


def test_functional_indexes_are_read_with_their_functions() -> None:
    rows: dict[str, list[tuple[Any, ...]]] = {
        "informix.sysindices i": [(100, "ix", "D", " ", "<145>(1) [1], -2 [1]")],
        "informix.syscolumns c": [
            (100, 1, "name", 13, 20, 0, None, None, None, None, None, 0),
            (100, 2, "n", 2, 4, 0, None, None, None, None, None, 0),
        ],
        "informix.sysprocedures": [(145, "sp_upper")],
    }
    catalog, _, connection = read(rows)
    (index,) = catalog.indexes(connection)[100]
    assert index.keys == (Key(None, "sp_upper(name)", False), Key("n", "n", True))
    assert not index.is_unique


def test_servers_without_the_sessions_of_temporary_tables_have_none() -> None:
    class Old(FakeConnection):
        error: aioifx.Error = aioifx.UndefinedColumn(sqlcode=-217)

        def exec_driver_sql(self, sql: str, params: tuple[Any, ...]) -> FakeConnection:
            raise exc.ProgrammingError(sql, params, self.error)

    old = Old({})
    assert temp_table_names(cast(Connection, old)) == []
    old.error = aioifx.ProgrammingError(sqlcode=-387)
    with pytest.raises(exc.ProgrammingError):
        temp_table_names(cast(Connection, old))


def test_dbspaces_are_those_of_the_servers_own_tables_only() -> None:
    catalog, fake, connection = read({}, "stock@far:joe")
    catalog.tables(connection)
    (sent,) = fake.sent
    assert "DBINFO" not in sent[0] and "stock@far:informix.systables" in sent[0]
    assert sent[1] == ("joe",)
