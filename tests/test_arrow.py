from __future__ import annotations

import asyncio
import datetime as dt
import gc
import importlib.util
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from decimal import Decimal
from importlib import import_module
from typing import Any

import pyarrow as pa
import pytest

import aioifx
from aioifx.arrow import fetch_arrow, fetch_batches, schema_of
from aioifx.rows import tuple_row
from tests.codecs.arrow_batches import by
from tests.codecs.exporter import Exporter
from tests.codecs.test_columns import kernels
from tests.injection import eventually
from tests.template_strings import template

CREATE = """
    CREATE TABLE everything (
        id INTEGER NOT NULL, small SMALLINT, big BIGINT, huge INT8, ratio FLOAT, part SMALLFLOAT, price DECIMAL(16,2),
        measure DECIMAL(16), paid MONEY(10,2), day DATE, made DATETIME YEAR TO SECOND,
        seen DATETIME YEAR TO FRACTION(5), tick DATETIME YEAR TO FRACTION(3), opens DATETIME HOUR TO SECOND,
        laps DATETIME HOUR TO FRACTION(2),
        at DATETIME HOUR TO MINUTE, span INTERVAL DAY(4) TO FRACTION(5), age INTERVAL YEAR(4) TO MONTH,
        code CHAR(6), name VARCHAR(40), active BOOLEAN, note LVARCHAR(200)
    )
"""
VALUES: tuple[Any, ...] = (
    *(
        1,
        -2,
        3 << 40,
        -(4 << 40),
        1.5,
        0.25,
        Decimal("-12.34"),
        Decimal("1.5"),
        Decimal("99.90"),
        dt.date(1899, 12, 30),
    ),
    *(dt.datetime(1969, 12, 31, 23, 59, 58), dt.datetime(2024, 2, 29, 1, 2, 3, 456_780)),
    *(dt.datetime(2000, 1, 1, 0, 0, 0, 500_000), dt.time(0, 0, 1), dt.time(23, 59, 59, 990_000)),
    *(dt.time(7, 5), -dt.timedelta(days=3, microseconds=10), aioifx.IntervalYM(-2, -3)),
    *("ab", "na\xefve", True, "a note"),
)
ARROW_VALUES = {"measure": 1.5, "age": -27, "code": "ab    "}
TYPES = {
    "id": pa.int32(),
    "small": pa.int16(),
    "big": pa.int64(),
    "huge": pa.int64(),
    "ratio": pa.float64(),
    "part": pa.float32(),
    "price": pa.decimal128(16, 2),
    "measure": pa.float64(),
    "paid": pa.decimal128(10, 2),
    "day": pa.date32(),
    "made": pa.timestamp("s"),
    "seen": pa.timestamp("us"),
    "tick": pa.timestamp("ms"),
    "opens": pa.time32("s"),
    "laps": pa.time32("ms"),
    "at": pa.time32("s"),
    "span": pa.duration("us"),
    "age": pa.int32(),
    "code": pa.utf8(),
    "name": pa.utf8(),
    "active": pa.bool_(),
    "note": pa.utf8(),
}


@pytest.fixture
async def conn(dsn: str) -> AsyncIterator[aioifx.Connection]:
    async with aioifx.connect(dsn, fetch_size=4096) as conn:
        yield conn


async def number_rows(conn: aioifx.Connection, count: int = 1500) -> str:
    """A table of that many numbers and names; its query."""
    await conn.execute("CREATE TABLE numbers (n INTEGER, name VARCHAR(20))")
    rows = ((n, None if n % 10 == 0 else f"row {n}") for n in range(count))
    await conn.executemany("INSERT INTO numbers VALUES (?, ?)", rows)
    return "SELECT n, name FROM numbers ORDER BY n"


# --- tables ---------------------------------------------------------------------------------------------------------


@kernels
async def test_every_type_arrives_as_its_type_of_arrow(conn: aioifx.Connection, kernel: str) -> None:
    await conn.execute(CREATE)
    marks = ", ".join("?" * len(VALUES))
    await conn.execute(f"INSERT INTO everything VALUES ({marks})", *VALUES)
    await conn.execute(f"INSERT INTO everything VALUES ({marks})", 2, *[None] * (len(VALUES) - 1))
    with by(kernel):
        table = await fetch_arrow(conn, "SELECT * FROM everything ORDER BY id")
    table.validate(full=True)
    assert dict(zip(table.column_names, table.schema.types, strict=True)) == TYPES
    first, second = table.to_pylist()
    assert first == {**dict(zip(TYPES, VALUES, strict=True)), **ARROW_VALUES}
    assert second == {**dict.fromkeys(TYPES), "id": 2}
    assert table.schema.field("at").metadata == {b"sql_type": b"DATETIME HOUR TO MINUTE"}
    assert all(field.nullable for field in table.schema)


async def test_a_table_has_the_rows_that_fetch_has(conn: aioifx.Connection) -> None:
    query = await number_rows(conn)
    table = await fetch_arrow(conn, query)
    rows = await conn.fetch(query, row_factory=tuple_row)
    assert [*zip(*table.to_pydict().values(), strict=True)] == rows
    assert table.column("name").null_count == 150


async def test_no_rows_are_a_table_with_its_schema(conn: aioifx.Connection) -> None:
    await conn.execute(CREATE)
    table = await fetch_arrow(conn, "SELECT * FROM everything")
    assert (table.num_rows, table.schema.types) == (0, [*TYPES.values()])
    assert [batch async for batch in fetch_batches(conn, "SELECT * FROM everything")] == []


async def test_parameters_go_by_position_or_by_name(conn: aioifx.Connection) -> None:
    await number_rows(conn, 20)
    by_position = await fetch_arrow(conn, "SELECT n FROM numbers WHERE n > ? AND n < ?", 3, 6)
    by_name = await fetch_arrow(
        conn, "SELECT n FROM numbers WHERE n > :low AND n < :high", named={"low": 3, "high": 6}
    )
    assert by_position.to_pydict() == by_name.to_pydict() == {"n": [4, 5]}


async def test_a_duplicate_name_is_numbered(conn: aioifx.Connection) -> None:
    await conn.execute("CREATE TABLE one (n INTEGER)")
    await conn.execute("INSERT INTO one VALUES (7)")
    table = await fetch_arrow(conn, "SELECT n, n, n AS n_2, n FROM one")
    assert table.column_names == ["n", "n_3", "n_2", "n_4"]


async def test_a_prepared_statement_has_the_schema_of_its_results(conn: aioifx.Connection) -> None:
    async with await conn.prepare("SELECT tabname, tabid, tabid FROM systables") as statement:
        assert schema_of(statement) == (await fetch_arrow(statement)).schema
    async with await conn.prepare("SELECT AVG(nrows) FROM systables") as statement:
        for floating in ("float", "text", 2):
            found = schema_of(statement, floating_decimal=floating)
            assert found == (await fetch_arrow(statement, floating_decimal=floating)).schema
        with pytest.raises(aioifx.InterfaceError, match="floating_decimal: "):
            schema_of(statement, floating_decimal="exact")  # type: ignore[arg-type]
    await conn.execute("CREATE TABLE one (n INTEGER)")
    async with await conn.prepare("DELETE FROM one WHERE n = 1") as statement:
        with pytest.raises(aioifx.InterfaceError, match="expected one that returns rows"):
            schema_of(statement)


async def test_a_floating_decimal_is_what_was_requested(conn: aioifx.Connection) -> None:
    await conn.execute("CREATE TABLE measured (m DECIMAL(16))")
    await conn.execute("INSERT INTO measured VALUES (?)", Decimal("0.125"))
    found = {
        floating: (await fetch_arrow(conn, "SELECT m FROM measured", floating_decimal=floating)).column("m")
        for floating in ("float", "text", 2)
    }
    assert {floating: (column.type, column[0].as_py()) for floating, column in found.items()} == {
        "float": (pa.float64(), 0.125),
        "text": (pa.utf8(), "0.125"),
        2: (pa.decimal128(38, 2), Decimal("0.13")),
    }
    for unknown in ("decimal", 39, -1, True):
        with pytest.raises(aioifx.InterfaceError, match="floating_decimal: expected"):
            await fetch_arrow(conn, "SELECT m FROM measured", floating_decimal=unknown)  # type: ignore[arg-type]


async def test_char_is_stripped_when_the_connection_says_so(dsn: str) -> None:
    async with aioifx.connect(dsn, strip_char=True) as conn:
        await conn.execute("CREATE TABLE codes (c CHAR(6))")
        await conn.execute("INSERT INTO codes VALUES ('ab')")
        assert (await fetch_arrow(conn, "SELECT c FROM codes")).to_pydict() == {"c": ["ab"]}


async def test_prepared_statements_are_sources_too(conn: aioifx.Connection) -> None:
    await number_rows(conn, 20)
    async with await conn.prepare("SELECT n FROM numbers WHERE n < ?") as statement:
        for limit in (3, 2):
            assert (await fetch_arrow(statement, limit)).to_pydict() == {"n": [*range(limit)]}
            batches = [batch async for batch in fetch_batches(statement, limit)]
            assert [batch.num_rows for batch in batches] == [limit]
        assert await statement.fetch(1, row_factory=tuple_row) == [(0,)]  # rows again, from the same cursor
        with pytest.raises(aioifx.InterfaceError, match="by position"):
            await fetch_arrow(statement, named={"n": 1})  # type: ignore[call-overload]


async def test_a_pool_acquires_and_releases_a_connection(dsn: str) -> None:
    async with aioifx.create_pool(dsn, min_size=1, max_size=1) as pool:
        async with pool.acquire() as conn:
            query = await number_rows(conn, 3000)
        assert (await fetch_arrow(pool, query)).num_rows == 3000
        assert sum([batch.num_rows async for batch in fetch_batches(pool, query, batch_rows=1)]) == 3000
        async with aclosing(fetch_batches(pool, query, batch_rows=1)) as batches:
            async for _ in batches:
                assert pool.stats.in_use == 1
                break
        assert await pool.fetchval("SELECT COUNT(*) FROM numbers") == 3000


# --- batches --------------------------------------------------------------------------------------------------------


async def test_batches_are_whole_blocks_combined(conn: aioifx.Connection) -> None:
    query = await number_rows(conn)
    blocks = [len(block) async for block in conn.stream(query).blocks()]
    single = [batch.num_rows async for batch in fetch_batches(conn, query, batch_rows=1)]
    assert len(blocks) > 5 and single == [block for block in blocks if block]
    combined = [batch.num_rows async for batch in fetch_batches(conn, query, batch_rows=700)]
    assert sum(combined) == 1500
    assert min(combined[:-1]) >= 700
    assert max(combined) < 700 + max(blocks)
    whole = [batch async for batch in fetch_batches(conn, query)]
    assert [batch.num_rows for batch in whole] == [1500]
    whole[0].validate(full=True)
    with pytest.raises(aioifx.InterfaceError, match="batch_rows: expected a whole number, 1 or more, got 0"):
        await anext(fetch_batches(conn, query, batch_rows=0))


@pytest.mark.parametrize("prefetch", [True, False])
async def test_other_statements_run_between_two_batches(conn: aioifx.Connection, prefetch: bool) -> None:
    query = await number_rows(conn)
    seen: list[int] = []
    async for batch in fetch_batches(conn, query, batch_rows=1, prefetch=prefetch):
        seen += batch.column("n").to_pylist()
        assert await conn.fetchval("SELECT MAX(n) FROM numbers") == 1499
    assert seen == [*range(1500)]


async def test_two_results_may_be_read_side_by_side(conn: aioifx.Connection) -> None:
    query = await number_rows(conn)
    first, second = (fetch_batches(conn, query, batch_rows=1) for _ in range(2))
    pairs = [(one, await anext(second)) async for one in first]
    assert all(one.equals(other) for one, other in pairs)
    assert sum(one.num_rows for one, _ in pairs) == 1500
    await second.aclose()


async def test_an_iteration_left_early_leaves_the_connection_free(conn: aioifx.Connection) -> None:
    query = await number_rows(conn)
    async with aclosing(fetch_batches(conn, query, batch_rows=1)) as batches:
        kept = await anext(batches)
    assert await conn.fetchval("SELECT COUNT(*) FROM numbers") == 1500
    assert kept.column("n").to_pylist() == [*range(kept.num_rows)]  # its memory is its own
    assert (await fetch_arrow(conn, query)).num_rows == 1500


async def test_a_cancelled_fetch_leaves_the_connection_usable(conn: aioifx.Connection) -> None:
    query = await number_rows(conn)
    before = conn.stats.round_trips
    task = asyncio.create_task(fetch_arrow(conn, query))
    while conn.stats.round_trips < before + 3:  # noqa: ASYNC110 - in the middle of its blocks
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await fetch_arrow(conn, query)).num_rows == 1500


# --- errors ---------------------------------------------------------------------------------------------------------


@kernels
async def test_a_value_that_arrow_cannot_hold_names_its_column(conn: aioifx.Connection, kernel: str) -> None:
    await conn.execute("CREATE TABLE spans (n INTEGER, span INTERVAL DAY(9) TO FRACTION(5))")
    days = (1, 123_456_789, 2)
    await conn.executemany("INSERT INTO spans VALUES (?, ?)", [(n, dt.timedelta(n)) for n in days])
    with by(kernel):
        with pytest.raises(aioifx.DataError, match=r"column 'span': .* does not fit int64"):
            await fetch_arrow(conn, "SELECT * FROM spans")
        table = await fetch_arrow(conn, "SELECT span FROM spans WHERE n < 3")
    assert table.to_pydict() == {"span": [dt.timedelta(1), dt.timedelta(2)]}


async def test_a_template_has_its_values(conn: aioifx.Connection) -> None:
    query = template("SELECT tabid FROM systables WHERE tabid = {n}", n=1)
    assert (await fetch_arrow(conn, query)).to_pydict() == {"tabid": [1]}


async def test_what_returns_no_rows_is_refused(conn: aioifx.Connection) -> None:
    with pytest.raises(aioifx.InterfaceError, match="statement that returns rows"):
        await fetch_arrow(conn, "CREATE TABLE nothing (n INTEGER)")
    with pytest.raises(aioifx.InterfaceError, match="sql: expected a str, got int"):
        await fetch_arrow(conn, 1)  # type: ignore[call-overload]
    with pytest.raises(aioifx.InterfaceError, match="sql: expected a str, got NoneType"):
        await fetch_arrow(conn)  # type: ignore[call-overload]


async def test_an_error_of_the_server_is_the_server_s_error(conn: aioifx.Connection) -> None:
    with pytest.raises(aioifx.ProgrammingError, match="gone"):
        await fetch_arrow(conn, "SELECT * FROM gone")


async def test_a_table_that_has_changed_since_is_prepared_again(dsn: str) -> None:
    async with aioifx.connect(dsn) as conn, aioifx.connect(dsn) as other:
        await conn.execute("CREATE TABLE shifting (n INTEGER)")
        await conn.execute("INSERT INTO shifting VALUES (1)")
        assert (await fetch_arrow(conn, "SELECT * FROM shifting")).to_pydict() == {"n": [1]}
        await other.execute("ALTER TABLE shifting ADD name VARCHAR(10)")
        assert (await fetch_arrow(conn, "SELECT * FROM shifting")).to_pydict() == {"n": [1], "name": [None]}


# --- who reads it ---------------------------------------------------------------------------------------------------


async def test_polars_reads_it_through_the_pycapsule_interface(conn: aioifx.Connection) -> None:
    await conn.execute(CREATE)
    marks = ", ".join("?" * len(VALUES))
    await conn.execute(f"INSERT INTO everything VALUES ({marks})", *VALUES)
    table = await fetch_arrow(conn, "SELECT * FROM everything")
    (batch,) = [batch async for batch in fetch_batches(conn, "SELECT * FROM everything")]
    assert hasattr(table, "__arrow_c_stream__")
    assert hasattr(batch, "__arrow_c_array__")
    assert hasattr(table.schema, "__arrow_c_schema__")

    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(table)
    assert frame.rows() == polars.DataFrame(batch).rows()
    assert frame["price"].to_list() == [Decimal("-12.34")]
    assert frame["seen"].to_list() == [dt.datetime(2024, 2, 29, 1, 2, 3, 456_780)]


async def test_pandas_reads_it(conn: aioifx.Connection) -> None:
    pandas = pytest.importorskip("pandas")
    query = await number_rows(conn, 30)
    table = await fetch_arrow(conn, query)
    frame = (
        pandas.DataFrame.from_arrow(table) if hasattr(pandas.DataFrame, "from_arrow") else table.to_pandas()
    )
    assert frame["n"].sum() == sum(range(30))
    assert frame["name"].isna().sum() == 3


def test_duckdb_reads_it() -> None:
    if importlib.util.find_spec("duckdb") is None:
        pytest.skip("duckdb is not installed")
    assert python(DUCKDB) == "[(435, 27)]\n"


# In a process of its own: where the garbage collector has frozen objects, duckdb says at the end that it leaks.
DUCKDB = """
import asyncio, duckdb, aioifx, aioifx.server
from aioifx.arrow import fetch_arrow

async def main():
    async with aioifx.server.running() as dsn, aioifx.connect(dsn) as conn:
        await conn.execute("CREATE TABLE numbers (n INTEGER, name VARCHAR(20))")
        rows = ((n, f"row {n}" if n % 10 else None) for n in range(30))
        await conn.executemany("INSERT INTO numbers VALUES (?, ?)", rows)
        numbers = await fetch_arrow(conn, "SELECT * FROM numbers")
    print(duckdb.sql("SELECT SUM(n), COUNT(name) FROM numbers").fetchall())

asyncio.run(main())
"""


# --- importing ------------------------------------------------------------------------------------------------------


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=50)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_aioifx_itself_loads_no_pyarrow() -> None:
    assert python("import sys, aioifx; print({'pyarrow', 'aioifx.arrow'} & {*sys.modules})") == "set()\n"


def test_without_pyarrow_the_extra_is_named() -> None:
    code = """
import sys
sys.modules["pyarrow"] = None
try:
    import aioifx.arrow
except ImportError as error:
    print(error)
"""
    assert python(code) == "aioifx.arrow needs pyarrow: pip install 'aioifx[arrow]'\n"


async def test_large_values_are_whole_in_tables_and_batches(dsn: str) -> None:
    values: list[Any] = [(number, bytes(number), "é" * number, None) for number in range(40)]
    values[3] = (3, None, None, None)
    async with aioifx.connect(dsn, fetch_size=4096) as conn:
        await conn.execute("create table large (id int, photo byte in table, note text in table, none text)")
        await conn.executemany("insert into large values(?,?,?,?)", values)
        table = await fetch_arrow(conn, "select * from large order by id")
        assert table.schema.types == [pa.int32(), pa.binary(), pa.utf8(), pa.utf8()]
        assert [tuple(row.values()) for row in table.to_pylist()] == values
        batches = fetch_batches(conn, "select photo from large where id < 2 order by id", batch_rows=1)
        async with aclosing(batches):
            assert [batch.to_pylist() async for batch in batches] == [[{"photo": b""}, {"photo": b"\0"}]]
        assert (await fetch_arrow(conn, "select photo from large where id < 0")).num_rows == 0


# --- Arrow in -------------------------------------------------------------------------------------------------------

PEOPLE = pa.table(
    {
        "id": pa.array([1, 2, None, 4], pa.int64()),
        "name": pa.chunked_array([["Ann", None], ["Bo", "Çi"]]),
        "rate": [0.5, None, 1.5, 2.0],
    }
)
PEOPLE_ROWS = [(1, "Ann", 0.5), (2, None, None), (None, "Bo", 1.5), (4, "Çi", 2.0)]


@pytest.fixture
async def people(dsn: str) -> AsyncIterator[aioifx.Connection[Any]]:
    async with await aioifx.connect(dsn, row_factory=tuple_row) as conn:
        await conn.execute("CREATE TABLE people (id INTEGER, name VARCHAR(20), rate FLOAT)")
        yield conn


async def stored(conn: aioifx.Connection[Any]) -> list[Any]:
    rows = await conn.fetch("SELECT * FROM people ORDER BY name, id")
    await conn.execute("DELETE FROM people")
    return sorted(rows, key=repr)


def exports_of(table: pa.Table) -> dict[str, Any]:
    pd, polars = import_module("pandas"), import_module("polars")  # without types
    return {
        "table": table,
        "record batch": table.combine_chunks().to_batches()[0],
        "reader": pa.RecordBatchReader.from_batches(table.schema, table.to_batches()),
        "slice": pa.concat_tables([table.slice(2), table, table]).slice(2, 4),
        "polars": polars.from_arrow(table),
        "pandas": table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get),
    }


@pytest.mark.parametrize("kind", exports_of(PEOPLE))
async def test_load_and_executemany_take_what_exports_arrow(
    people: aioifx.Connection[Any], kind: str
) -> None:
    expected = sorted(PEOPLE_ROWS, key=repr)
    assert (await people.load("people", exports_of(PEOPLE)[kind])).rowcount == 4
    assert await stored(people) == expected
    sql = "INSERT INTO people VALUES (?, ?, ?)"
    assert (await people.executemany(sql, exports_of(PEOPLE)[kind])).rowcount == 4
    assert await stored(people) == expected
    async with await people.prepare(sql) as statement:
        assert (await statement.executemany(exports_of(PEOPLE)[kind])).rowcount == 4
    assert await stored(people) == expected
    async with people.cursor() as cursor:
        assert (await cursor.executemany(sql, exports_of(PEOPLE)[kind])).rowcount == 4
    assert await stored(people) == expected


async def test_a_pool_takes_arrow_data(dsn: str, people: aioifx.Connection[Any]) -> None:
    async with aioifx.create_pool(dsn, max_size=1) as pool:
        await pool.load("people", PEOPLE)
        await pool.executemany("INSERT INTO people VALUES (?, ?, ?)", PEOPLE)
    assert await stored(people) == sorted(PEOPLE_ROWS * 2, key=repr)


async def test_columns_are_found_by_their_names(people: aioifx.Connection[Any]) -> None:
    moved = PEOPLE.select(["rate", "id", "name"])
    await people.load("people", moved)
    await people.load("people", named=moved, columns=["name", "id", "rate"])
    await people.load("people", moved.rename_columns(["a", "b", "c"]), columns=["rate", "id", "name"])
    await people.executemany("INSERT INTO people VALUES (:id, :name, :rate)", named=moved)
    async with await people.prepare(
        "INSERT INTO people VALUES (:id, :name, :rate)", style="named"
    ) as statement:
        await statement.executemany(named=moved)
    assert await stored(people) == sorted(PEOPLE_ROWS * 5, key=repr)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (PEOPLE.select(["id"]), "no value for parameter :name"),
        (PEOPLE, "the statement has no parameter :rate"),
        (
            PEOPLE.select(["id", "name"]).rename_columns(["id", "id"]),
            "named: expected one column 'id' in the Arrow data, got several",
        ),
    ],
)
async def test_a_name_without_a_column_is_refused(
    people: aioifx.Connection[Any], data: Any, message: str
) -> None:
    sent = people.stats.round_trips
    with pytest.raises(aioifx.InterfaceError, match=f"^{message}$"):
        await people.executemany("INSERT INTO people (id, name) VALUES (:id, :name)", named=data)
    assert people.stats.round_trips == sent


async def test_the_columns_of_a_load_are_checked(people: aioifx.Connection[Any]) -> None:
    with pytest.raises(
        aioifx.InterfaceError, match=r"^columns: expected one column 'town' in the Arrow data, got none$"
    ):
        await people.load("people", named=PEOPLE, columns=["town"])
    with pytest.raises(aioifx.InterfaceError, match=r"^row 0: expected 2 values, got 3$"):
        await people.load("people", PEOPLE, columns=["id", "name"])
    with pytest.raises(aioifx.InterfaceError, match=r"^row 0: expected 2 parameters, got 3"):
        await people.executemany("INSERT INTO people (id, name) VALUES (?, ?)", PEOPLE)
    with pytest.raises(aioifx.InterfaceError, match=r"^Arrow data: .*'to wn'"):
        await people.load("people", pa.table({"to wn": [1]}))
    with pytest.raises(aioifx.InterfaceError, match=r"^Arrow data: expected a column, got none$"):
        await people.load("people", PEOPLE.select([]))
    assert (await people.load("people", pa.table({}))).rowcount == 0
    assert await stored(people) == []


async def test_unsupported_columns_are_refused_before_anything_is_sent(
    people: aioifx.Connection[Any],
) -> None:
    sent = people.stats.round_trips
    data, message = pa.table({"id": pa.array([[1]])}), "column 'id': Arrow's type list is not supported"
    with pytest.raises(aioifx.NotSupportedError, match=f"^{message}$"):
        await people.load("people", data)
    with pytest.raises(aioifx.NotSupportedError, match=f"^{message}$"):
        await people.executemany("INSERT INTO people (id) VALUES (?)", data)
    assert people.stats.round_trips == sent
    assert await people.fetchval("SELECT COUNT(*) FROM people") == 0


async def test_nan_is_refused_where_a_column_cannot_hold_it_and_null_is_null(
    people: aioifx.Connection[Any],
) -> None:
    nan = pa.table({"id": [1.0, None, float("nan")]})
    with pytest.raises(
        aioifx.DataError, match=r"^row 2, column 'id': INTEGER accepts float only when it is"
    ) as load:
        await people.load("people", nan)
    assert (load.value.row_index, load.value.column) == (2, "id")
    sql = "INSERT INTO people (id) VALUES (?)"
    with pytest.raises(aioifx.DataError, match=r"^row 2, parameter 1: INTEGER accepts float only") as many:
        await people.executemany(sql, nan)
    assert (many.value.row_index, many.value.parameter) == (2, 1)
    done = await people.executemany(sql, nan, on_error="collect")
    assert [error.row_index for error in done.errors] == [2]
    assert await stored(people) == [(1, None, None), (None, None, None)]


async def test_rows_are_counted_over_all_record_batches(people: aioifx.Connection[Any]) -> None:
    whole_but_one = pa.table({"id": pa.chunked_array([[1.0, 2.0], [3.0], [4.0, 4.5]])})
    with pytest.raises(aioifx.DataError, match=r"^row 4, parameter 1: ") as caught:
        await people.executemany("INSERT INTO people (id) VALUES (?)", whole_but_one)
    assert caught.value.row_index == 4


async def test_the_row_that_a_server_rejects_is_found(people: aioifx.Connection[Any]) -> None:
    await people.execute("CREATE UNIQUE INDEX ones ON people (id)")
    ids = pa.chunked_array([range(1000), [7]])
    with pytest.raises(aioifx.UniqueViolation, match=r"^row 1000: "):
        await people.load("people", pa.table({"id": ids}))
    assert await stored(people) == []


async def test_batches_are_read_as_they_are_sent_and_released(people: aioifx.Connection[Any]) -> None:
    made = 0
    live = 0

    def batches() -> Iterator[Any]:
        nonlocal made, live
        for _ in range(20):
            made += 1
            live = max(live, pa.total_allocated_bytes() - before)
            yield pa.record_batch({"name": pa.array(["x" * 20] * 1_000)})

    gc.collect()  # what earlier tests have left is not counted
    before = pa.total_allocated_bytes()
    reader = pa.RecordBatchReader.from_batches(pa.schema({"name": pa.string()}), batches())
    done = await people.load("people", reader)
    assert (done.rowcount, made) == (20_000, 20)
    assert live < 10 * 24_000, "the blocks in flight hold a few batches"
    del reader
    assert pa.total_allocated_bytes() <= before


async def test_a_stream_that_fails_ends_the_call_with_nothing_stored(people: aioifx.Connection[Any]) -> None:
    def batches() -> Iterator[Any]:
        yield pa.record_batch({"id": [1]})
        raise ValueError("secret value 42")

    schema = pa.schema({"id": pa.int64()})
    for call in (
        lambda data: people.load("people", data),
        lambda data: people.executemany("INSERT INTO people (id) VALUES (?)", data),
    ):
        with pytest.raises(
            aioifx.InterfaceError, match=r"^Arrow data: the stream failed with error 22$"
        ) as caught:
            await call(pa.RecordBatchReader.from_batches(schema, batches()))
        assert "42" in str(caught.value.__cause__)
    assert await stored(people) == []


async def test_large_values_of_arrow_columns(people: aioifx.Connection[Any]) -> None:
    await people.execute("CREATE TABLE papers (scan BYTE, body TEXT, whole BLOB)")
    data = pa.table(
        {
            "scan": [b"\0\1", None],
            "body": ["text", None],
            "whole": pa.array([b"x" * 5000, None], pa.large_binary()),
        }
    )
    await people.load("papers", data)
    await people.executemany("INSERT INTO papers VALUES (?, ?, ?)", data)
    rows = await people.fetch("SELECT * FROM papers", lobs="inline")
    assert rows == [(b"\0\1", "text", b"x" * 5000), (None, None, None)] * 2


@pytest.mark.parametrize("ends_with", ["cancellation", "error"])
async def test_a_load_that_ends_early_releases_every_batch(
    people: aioifx.Connection[Any], ends_with: str
) -> None:
    data = Exporter(*([number] * 1000 for number in range(200)))

    def progress(count: int) -> None:
        if ends_with == "error":
            raise ValueError
        loading.cancel()

    loading = asyncio.create_task(people.load("people", data, columns=["id"], block=1500, progress=progress))
    with pytest.raises(ValueError if ends_with == "error" else asyncio.CancelledError):
        await loading
    await eventually(lambda: data.released.count("stream") == 1)  # a thread may still read when the call ends
    assert 2 <= data.released.count("batch") < 20
    assert await people.fetchval("SELECT COUNT(*) FROM people") == 0


async def test_an_executemany_that_is_rejected_releases_every_batch(people: aioifx.Connection[Any]) -> None:
    await people.execute("CREATE UNIQUE INDEX ones ON people (id)")
    data = Exporter(*([number] for number in range(5)), [3], *([number] for number in range(6, 9)))
    with pytest.raises(aioifx.UniqueViolation, match=r"^row 5: "):
        await people.executemany("INSERT INTO people (id) VALUES (?)", data)
    assert data.released.count("stream") == 1
    assert await people.fetchval("SELECT COUNT(*) FROM people") == 0


# --- the option timezone --------------------------------------------------------------------------------------------

INSTANTS = [dt.datetime(2026, 3, 29, 1, 30, 0, 123_450, tzinfo=dt.UTC), None]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
@pytest.mark.parametrize("of_data", ["UTC", "America/New_York"])
async def test_timestamps_of_a_zone_are_instants(dsn: str, zone: str, of_data: str) -> None:
    data = pa.table({"at": pa.array(INSTANTS, pa.timestamp("us", of_data))})
    async with aioifx.connect(dsn, timezone=zone) as conn:
        await conn.execute(
            "CREATE TEMP TABLE seen (at DATETIME YEAR TO FRACTION(5), day DATETIME YEAR TO DAY)"
        )
        await conn.load("seen", data, columns=["at"])
        await conn.executemany("INSERT INTO seen (at) VALUES (?)", data)
        found = await fetch_arrow(conn, "SELECT at FROM seen")
        async with await conn.prepare("SELECT at, day FROM seen") as statement:
            assert [field.type for field in schema_of(statement)] == [pa.timestamp("us", zone), pa.date32()]
        assert found.schema.field("at").type == pa.timestamp("us", zone)
        assert found.column("at").to_pylist() == INSTANTS * 2
        text = "2026-03-29 01:30:00.12345" if zone == "UTC" else "2026-03-29 03:30:00.12345"
        assert await conn.fetchval("SELECT MAX(at)::LVARCHAR FROM seen") == text


async def test_timestamps_of_a_zone_need_the_option(people: aioifx.Connection[Any]) -> None:
    await people.execute("CREATE TEMP TABLE seen (at DATETIME YEAR TO FRACTION(5), day DATE)")
    data = pa.table({"at": pa.array(INSTANTS, pa.timestamp("us", "UTC"))})
    by_name = "INSERT INTO seen (at) VALUES (:at)"
    before = people.stats.round_trips
    refused = pytest.raises(
        aioifx.InterfaceError, match=r"^timezone: expected .* column 'at' .* zone 'UTC'; got None$"
    )
    for table in (data, pa.table({"at": data["at"].dictionary_encode()}), data[:0]):
        for call in (
            people.load("seen", table),
            people.load("seen", named=table),
            people.executemany("INSERT INTO seen (at) VALUES (?)", table),
            people.executemany(by_name, named=table),
        ):
            with refused:
                await call
    assert people.stats.round_trips == before
    day = pa.array([dt.date(2026, 3, 29), None], pa.date32())
    await people.load("seen", named=data.append_column("day", day), columns=["day"])
    assert await people.fetchval("SELECT COUNT(day) FROM seen") == 1


@pytest.mark.parametrize(
    "options",
    [
        {"adapters": {dt.datetime: lambda value: value.replace(tzinfo=None)}},
        {"type_codecs": {"datetime": (lambda value: value and value.replace(tzinfo=None), None)}},
    ],
    ids=lambda options: next(iter(options)),
)
async def test_timestamps_of_a_zone_are_stored_as_a_function_converts_them(
    dsn: str, options: dict[str, Any]
) -> None:
    data = pa.table({"at": pa.array(INSTANTS, pa.timestamp("us", "UTC"))})
    async with aioifx.connect(dsn, **options) as conn:
        await conn.execute("CREATE TEMP TABLE seen (at DATETIME YEAR TO FRACTION(5))")
        await conn.load("seen", data)
        await conn.executemany("INSERT INTO seen (at) VALUES (?)", data)
        assert await conn.fetchval("SELECT MIN(at)::LVARCHAR FROM seen") == "2026-03-29 01:30:00.12345"
