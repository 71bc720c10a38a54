from __future__ import annotations

import pytest

from aioifx.server.catalog import catalog, systables
from aioifx.server.sql.model.schema import TableKind
from tests.server.sql.workbench import Workbench

BENCH = Workbench()

# documented: SQL Reference, "System catalog tables", in the order of their tabids
FIRST = (
    "systables syscolumns sysindices systabauth syscolauth sysviews sysusers sysdepend syssynonyms syssyntable"
    " sysconstraints sysreferences syschecks sysdefaults syscoldepend sysprocedures sysprocbody"
).split()


def test_the_catalogs_tables_have_their_numbers() -> None:
    rows = BENCH.rows("SELECT tabname, tabid FROM systables WHERE tabid < 90")
    assert [name for name, _ in rows[: len(FIRST)]] == FIRST
    assert [tabid for _, tabid in rows] == list(range(1, len(systables.NAMES) + 1))
    assert 60 < len(rows) < 80


def test_a_plain_scan_gives_tabid_order() -> None:
    rows = BENCH.rows("SELECT tabid FROM systables")
    assert rows == sorted(rows)


def test_the_catalog_describes_its_own_columns() -> None:
    rows = BENCH.rows(
        "SELECT colname, coltype, collength FROM syscolumns WHERE tabid = 1 AND colno < 5 ORDER BY colno"
    )
    assert rows == [("tabname", 13, 128), ("owner", 0, 32), ("partnum", 2, 4), ("tabid", 256 + 6, 4)]
    for name, table in systables.catalog_tables().items():
        found = BENCH.rows("SELECT COUNT(*) FROM syscolumns WHERE tabid = ?", table.tabid)
        assert found == [(len(table.columns),)], name


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, table in systables.catalog_tables().items()
        if table.columns and name != "sysfragments"  # its TEXT column needs an engine
    ],
)
def test_every_described_table_can_be_read(name: str) -> None:
    rows = BENCH.rows(f"SELECT * FROM informix.{name}")
    assert all(len(row) == len(systables.catalog_tables()[name].columns) for row in rows)


@pytest.mark.parametrize("name", ["sysams", "sysdistrib", "sysfragauth"])
def test_tables_without_described_columns_are_refused_by_name(name: str) -> None:
    assert BENCH.error(f"SELECT * FROM {name}")[:2] == (-999, name)


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO systables (tabname) VALUES ('x')",
        "UPDATE syscolumns SET colname = 'x'",
        "DELETE FROM sysviews",
        "DROP TABLE systables",
        "ALTER TABLE systables ADD (x INT)",
        "CREATE INDEX i ON systables (tabname)",
    ],
)
def test_writing_to_the_catalog_is_rejected(text: str) -> None:
    assert BENCH.error(text)[0] == -511


def test_sysindexes_is_a_view() -> None:
    assert BENCH.rows("SELECT tabtype FROM systables WHERE tabname = 'sysindexes'") == [("V",)]
    assert systables.catalog_tables()["sysindexes"].kind is TableKind.VIEW


def test_the_locale_is_in_rows_with_a_leading_blank() -> None:
    assert BENCH.rows("SELECT FIRST 1 site FROM informix.systables WHERE tabname = ' GL_CTYPE'") == [
        ("en_US.819",)
    ]
    assert BENCH.rows("SELECT flags FROM informix.systables WHERE tabname = ' VERSION';") == [(0,)]


def test_the_opaque_types_have_their_numbers() -> None:
    result = BENCH.rows("SELECT extended_id, name FROM sysxtdtypes ORDER BY 1")
    assert result == [(1, "lvarchar"), (5, "boolean"), (10, "blob"), (11, "clob"), (25, "json"), (26, "bson")]


def test_sysmaster_has_one_row_to_ask() -> None:
    assert BENCH.rows("SELECT * FROM sysmaster:sysdual") == [("X",)]
    assert BENCH.error("SELECT * FROM sysmaster:nowhere")[0] == -206


def test_session_tables_show_what_the_engine_has_filled_in() -> None:
    columns = ", ".join("?" * len(systables.SYSMASTER_TABLES["sysdatabases"].columns))
    row = ("stores", 1, "ann", 0, 1, 0, 0, 0, 0, 0)
    bench = Workbench()
    for step in catalog.shown_steps("sysdatabases"):
        bench.connection.execute(step.sql)
    bench.connection.execute(f"INSERT INTO {systables.session_table('sysdatabases')} VALUES ({columns})", row)
    assert bench.rows("SELECT name, is_logging FROM sysmaster:sysdatabases") == [("stores", 1)]
