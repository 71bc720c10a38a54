"""Arrow by the names of ADBC's cursors."""

from __future__ import annotations

import contextlib
import datetime as dt
import decimal
from typing import Any

import polars
import pyarrow as pa
import pytest

import aioifx
from aioifx import arrow, dbapi
from aioifx.dbapi.adbc import create_statements, sql_type, table_name
from tests.dbapi.conftest import Host

TYPES = {
    "smallint": "7",
    "bigint": "8",
    "float": "1.5",
    "decimal(8,2)": "3.25",
    "decimal(12,0)": "12",
    "decimal(10)": "1.5",
    "char(5)": "'ab'",
    "lvarchar(50)": "'cd'",
    "date": "'2026-05-04'",
    "datetime year to second": "datetime(2026-05-04 03:02:01) year to second",
    "datetime hour to minute": "datetime(03:02) hour to minute",
    "interval day to second": "interval(1 02:03:04) day to second",
    "interval year to month": "interval(1-02) year to month",
    "boolean": "'t'",
}


@pytest.fixture
def cursor(conn: dbapi.Connection) -> dbapi.Cursor:
    return conn.cursor()


def test_rows_become_the_table_that_the_arrow_module_makes(
    conn: dbapi.Connection, cursor: dbapi.Cursor
) -> None:
    columns = ", ".join(f"c{number} {text}" for number, text in enumerate(TYPES))
    cursor.execute(f"create temp table t ({columns})")
    cursor.execute(f"insert into t values ({', '.join(TYPES.values())})")
    cursor.execute("insert into t (c0) values (0)")
    table = cursor.execute("select * from t").fetch_arrow_table()
    assert table.equals(conn.run(arrow.fetch_arrow, "select * from t"))
    assert cursor.fetchall() == []


def test_rows_are_read_in_batches_after_those_that_were_fetched(cursor: dbapi.Cursor) -> None:
    cursor.execute("select n from number order by n")
    assert cursor.fetchone() == (0,)
    frame = polars.DataFrame(cursor.fetch_record_batch())
    assert frame["n"].to_list() == list(range(1, 200))
    empty = cursor.execute("select n from number where n < 0").fetch_arrow_table()
    assert empty.num_rows == 0 and empty.schema.names == ["n"]
    assert pa.table(cursor.execute("select n from number where n = 3").fetch_arrow()).to_pydict() == {
        "n": [3]
    }


def test_times_of_a_zone_are_ingested_and_read_with_it(host: Host) -> None:
    noon = dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)
    data = pa.table({"at": pa.array([noon, None], pa.timestamp("us", "UTC"))})
    with contextlib.closing(dbapi.connect(host.dsn, timezone="Europe/Madrid")) as conn:
        cursor = conn.cursor()
        assert cursor.adbc_ingest("times", data, "create", temporary=True) == 2
        table = cursor.execute("select * from times").fetch_arrow_table()
        assert table.schema.field("at").type == pa.timestamp("us", "Europe/Madrid")
        assert table.to_pydict() == {"at": [noon, None]}
        assert cursor.execute("select at::char(25) from times").fetchone() == ("2026-07-01 14:00:00.00000",)


def test_what_is_no_table_is_an_error(conn: dbapi.Connection, cursor: dbapi.Cursor) -> None:
    with pytest.raises(dbapi.InterfaceError, match="the cursor has no result"):
        cursor.fetch_arrow_table()
    cursor.execute("create temp table t (tags set(int not null), doc json)")
    with pytest.raises(dbapi.NotSupportedError, match=r"^column tags: SET.* needs Connection.run"):
        cursor.execute("select tags from t").fetch_record_batch()
    with pytest.raises(dbapi.NotSupportedError, match=r"^column doc: JSON"):
        cursor.execute("select doc from t").fetch_record_batch()
    dicts = conn.cursor(row_factory=aioifx.rows.dict_row).execute("select n from number")
    with pytest.raises(dbapi.InterfaceError, match=r"^row_factory: expected one that makes tuples"):
        dicts.fetch_arrow_table()
    cursor.close()
    with pytest.raises(dbapi.InterfaceError, match="the cursor is closed"):
        cursor.fetch_arrow_table()
    with pytest.raises(dbapi.InterfaceError, match="the cursor is closed"):
        cursor.adbc_ingest("t", pa.table({"a": [1]}))


def test_data_is_loaded_into_tables_by_mode(conn: dbapi.Connection, cursor: dbapi.Cursor) -> None:
    row: dict[str, list[Any]] = {
        "id": [1],
        "town": ["Bonn"],
        "photo": [b"\x00\x01"],
        "born": [dt.date(2026, 5, 4)],
        "at": [dt.datetime(2026, 5, 4, 3, 2, 1)],
        "opens": [dt.time(8, 30)],
        "lasts": [dt.timedelta(hours=30)],
        "price": [decimal.Decimal("1.25")],
        "paid": [True],
        "rate": [0.5],
    }
    data = pa.table(row)
    count = "select count(*) from made"
    assert cursor.adbc_ingest("made", data) == 1
    with pytest.raises(dbapi.ProgrammingError, match="already exists"):
        cursor.adbc_ingest("made", data)
    assert cursor.adbc_ingest("made", polars.DataFrame(data), "append") == 1
    assert cursor.adbc_ingest("made", data.to_batches()[0], "create_append") == 1
    assert cursor.execute(count).fetchone() == (3,)
    assert cursor.adbc_ingest("made", data.to_reader(), "replace", catalog_name="shop") == 1
    assert cursor.execute("select * from made").fetch_arrow_table().to_pydict() == row
    conn.rollback()
    assert cursor.adbc_ingest("made", data, temporary=True) == 1
    assert cursor.execute(count).fetchone() == (1,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"data": [(1,)]}, "data: expected Arrow data or a data frame, got list"),
        (
            {"temporary": True, "db_schema_name": "joe"},
            "temporary: expected neither catalog_name nor db_schema_name beside it",
        ),
        ({"mode": "upsert"}, "mode: expected one of create, append, replace, create_append, got 'upsert'"),
        ({"table_name": "made; drop table number"}, "table_name: expected"),
        ({"data": pa.table({"a b": [1]})}, "data: expected one identifier, got 'a b'"),
    ],
)
def test_what_cannot_be_loaded_is_an_error_before_anything_is_made(
    cursor: dbapi.Cursor, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(dbapi.InterfaceError, match=f"^{message}"):
        cursor.adbc_ingest(**{"table_name": "made", "data": pa.table({"a": [1]}), **arguments})
    with pytest.raises(dbapi.ProgrammingError):
        cursor.execute("select * from made")


@pytest.mark.parametrize(
    ("arrow_type", "text"),
    [
        (pa.uint8(), "SMALLINT"),
        (pa.uint32(), "BIGINT"),
        (pa.uint64(), "DECIMAL(20,0)"),
        (pa.float16(), "SMALLFLOAT"),
        (pa.decimal128(10, 2), "DECIMAL(10,2)"),
        (pa.dictionary(pa.int8(), pa.large_utf8()), "LVARCHAR(2048)"),
        (pa.binary(16), "BYTE"),
        (pa.timestamp("s"), "DATETIME YEAR TO SECOND"),
        (pa.timestamp("ns"), "DATETIME YEAR TO FRACTION(5)"),
        (pa.timestamp("us", "UTC"), "DATETIME YEAR TO FRACTION(5)"),
        (pa.time32("ms"), "DATETIME HOUR TO FRACTION(3)"),
        (pa.duration("s"), "INTERVAL DAY(9) TO SECOND"),
    ],
)
def test_the_type_of_a_column_that_is_made(arrow_type: Any, text: str) -> None:
    assert sql_type("a", arrow_type) == text


@pytest.mark.parametrize("arrow_type", [pa.null(), pa.list_(pa.int8())])
def test_a_type_without_a_counterpart_is_an_error(arrow_type: Any) -> None:
    with pytest.raises(dbapi.NotSupportedError, match=r"^column a: no SQL type for Arrow's type"):
        create_statements("t", pa.schema([("a", arrow_type)]), "create", temporary=False)


def test_a_table_has_a_database_and_an_owner() -> None:
    assert table_name("t", None, None) == "t"
    assert table_name("t", "shop", "joe") == "shop:joe.t"
