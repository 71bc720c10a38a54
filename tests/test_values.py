"""Values from end to end: over the wire, through the embedded server, and back."""

from __future__ import annotations

import asyncio
import datetime as dt
import enum
import gc
import json
import uuid
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, cast
from zoneinfo import ZoneInfo

import numpy as np
import pydantic
import pytest

import aioifx
from aioifx import Datetime
from aioifx.arrow import fetch_arrow
from aioifx.codecs.bson import encode_document
from aioifx.codecs.native import pure_decoder, pure_fast_reader
from aioifx.rows import class_row, tuple_row


@pytest.fixture
async def conn(dsn: str) -> AsyncIterator[aioifx.Connection]:
    async with aioifx.connect(dsn) as conn:
        yield conn


async def stored(conn: aioifx.Connection, column_type: str, *values: Any) -> list[Any]:
    """What a column gives for each value, stored by a single execution, a run of them, and a load."""
    await conn.execute(f"CREATE TEMP TABLE kept (place SERIAL, v {column_type})")
    for value in values:
        await conn.execute("INSERT INTO kept (v) VALUES (?)", value)
    await conn.executemany("INSERT INTO kept (v) VALUES (?)", [(value,) for value in values])
    await conn.load("kept", [(value,) for value in values], columns=["v"])
    found = [row[0] for row in await conn.fetch("SELECT v FROM kept ORDER BY place", row_factory=tuple_row)]
    await conn.execute("DROP TABLE kept")
    one, many, loaded = (found[start : start + len(values)] for start in range(0, len(found), len(values)))
    assert one == many == loaded
    assert [*map(type, one)] == [*map(type, many)] == [*map(type, loaded)]
    return one


# --- dates and times ------------------------------------------------------------------------------------------------

MOMENT = dt.datetime(2024, 2, 29, 12, 34, 56, 123_456)


@pytest.mark.parametrize(
    ("qualifier", "expected"),
    [
        ("YEAR TO YEAR", Datetime(2024)),
        ("YEAR TO MONTH", Datetime(2024, 2)),
        ("YEAR TO DAY", dt.date(2024, 2, 29)),
        ("YEAR TO HOUR", dt.datetime(2024, 2, 29, 12)),
        ("YEAR TO MINUTE", dt.datetime(2024, 2, 29, 12, 34)),
        ("YEAR TO SECOND", dt.datetime(2024, 2, 29, 12, 34, 56)),
        ("YEAR TO FRACTION(2)", dt.datetime(2024, 2, 29, 12, 34, 56, 120_000)),
        ("MONTH TO DAY", Datetime(month=2, day=29)),
        ("DAY TO SECOND", Datetime(day=29, hour=12, minute=34, second=56)),
        ("HOUR TO HOUR", Datetime(hour=12)),
        ("HOUR TO MINUTE", dt.time(12, 34)),
        ("HOUR TO SECOND", dt.time(12, 34, 56)),
        ("MINUTE TO SECOND", Datetime(minute=34, second=56)),
        ("SECOND TO FRACTION(3)", Datetime(second=56, microsecond=123_000)),
    ],
)
async def test_a_datetime_is_cut_to_the_fields_of_its_column(
    conn: aioifx.Connection, qualifier: str, expected: Any
) -> None:
    assert await stored(conn, f"DATETIME {qualifier}", MOMENT) == [expected]


async def test_a_time_is_cut_to_the_fields_of_its_column(conn: aioifx.Connection) -> None:
    assert await stored(conn, "DATETIME HOUR TO MINUTE", MOMENT.time()) == [dt.time(12, 34)]


async def test_a_datetime_is_a_date_at_midnight(conn: aioifx.Connection) -> None:
    assert await stored(conn, "DATE", dt.datetime(2024, 2, 29), dt.date(2024, 3, 1)) == [
        dt.date(2024, 2, 29),
        dt.date(2024, 3, 1),
    ]
    await conn.execute("CREATE TEMP TABLE kept (v DATE)")
    refused = "datetime with a time of day or zone does not fit DATE"
    with pytest.raises(aioifx.DataError, match=f"parameter 1: {refused}"):
        await conn.execute("INSERT INTO kept VALUES (?)", MOMENT)
    with pytest.raises(aioifx.DataError, match=f"row 0, column 'v': {refused}"):
        await conn.load("kept", [(MOMENT,)])
    assert await conn.fetchval("SELECT COUNT(*) FROM kept") == 0


# --- numbers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "column_type", ["SMALLINT", "INTEGER", "INT8", "BIGINT", "DECIMAL(5,0)", "FLOAT", "SMALLFLOAT"]
)
async def test_a_whole_number_of_any_class_is_stored(conn: aioifx.Connection, column_type: str) -> None:
    values = [5, 5.0, Fraction(10, 2), np.int16(5), np.float32(5)]
    if "FLOAT" not in column_type:  # SQL's FLOAT takes a Decimal as a parameter; `load` converts nothing
        values.append(Decimal("5.0"))
    found = await stored(conn, column_type, *values)
    assert found == [5] * len(values)
    assert {*map(type, found)} == {float if "FLOAT" in column_type else int}


@pytest.mark.parametrize(
    ("column_type", "value", "expected"),
    [
        ("DECIMAL(5)", "1.23445", "1.2345"),
        ("DECIMAL(5)", "-1.23445", "-1.2345"),
        ("DECIMAL(5)", "1.23455", "1.2346"),
        ("DECIMAL(5)", "12344.5", "12345"),
        ("DECIMAL(5)", "99999.5", "100000"),
        ("DECIMAL(5)", "0.000123445", "0.00012345"),
        ("DECIMAL(5)", "1234450000", "1234500000"),
        ("DECIMAL(10,2)", "1.005", "1.01"),
        ("DECIMAL(10,2)", "-1.025", "-1.03"),
        ("MONEY(8,2)", "0.125", "0.13"),
        ("DECIMAL(5,0)", "2.5", "3"),
    ],
)
async def test_a_tie_is_rounded_away_from_zero(
    conn: aioifx.Connection, column_type: str, value: str, expected: str
) -> None:
    """By the server for a parameter, by `load` itself."""
    values = [Decimal(value), float(value)]
    assert await stored(conn, column_type, *values) == [Decimal(expected)] * 2


async def test_a_truth_value_of_numpys_is_stored(conn: aioifx.Connection) -> None:
    assert await stored(conn, "BOOLEAN", np.bool_(True), np.bool_(False)) == [True, False]
    assert await stored(conn, "SMALLINT", np.bool_(True)) == [1]
    with pytest.raises(aioifx.DataError, match=r"parameter 1: BOOLEAN does not accept int"):
        await stored(conn, "BOOLEAN", 1)


async def test_a_decimal_of_scale_0_comes_as_int(dsn: str) -> None:
    query = "SELECT d, m, p, f, COUNT(*) n FROM t GROUP BY 1, 2, 3, 4"
    async with aioifx.connect(dsn) as conn:
        await conn.execute("CREATE TABLE t (d DECIMAL(20,0), m MONEY(8,0), p DECIMAL(8,2), f DECIMAL(8))")
        await conn.execute("INSERT INTO t VALUES (?, ?, ?, ?)", 10**19, 7, 1, 2)
        (row,) = await conn.fetch(query, row_factory=tuple_row)
        assert row == (10**19, 7, 1, 2, 1)
        assert [*map(type, row)] == [int, int, Decimal, Decimal, int]
        assert json.dumps({"total": await conn.fetchval("SELECT COUNT(*) FROM t")}) == '{"total": 1}'
        text: list[bytes] = []
        await conn.unload("SELECT d, m, p FROM t", text.append)
        assert b"".join(text) == b"10000000000000000000|7|1.00|\n"
    for plain in (
        aioifx.connect(dsn, integral_decimals=False),
        aioifx.connect(f"{dsn}&integral_decimals=no"),
    ):
        async with plain as conn:
            (row,) = await conn.fetch(query, row_factory=tuple_row)
            assert [*map(type, row)] == [Decimal] * 5


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", ZoneInfo("America/New_York"), dt.UTC])
async def test_datetimes_of_a_time_zone_are_instants(dsn: str, zone: Any) -> None:
    there = dt.datetime(2026, 7, 1, 12, 30, 5, 123_450, tzinfo=dt.timezone(dt.timedelta(hours=-5)))
    async with aioifx.connect(dsn, timezone=zone) as conn:
        await conn.execute("CREATE TABLE seen (n INTEGER, at DATETIME YEAR TO FRACTION(5), day DATE)")
        await conn.execute("INSERT INTO seen (n, at) VALUES (1, ?)", there)
        await conn.executemany("INSERT INTO seen (n, at) VALUES (?, ?)", [(2, there), (3, None)])
        await conn.load("seen", [(4, there, None), (5, there, dt.date(2026, 7, 1))])
        found = await conn.fetch("SELECT at FROM seen ORDER BY n", row_factory=tuple_row)
        assert found == [(there,), (there,), (None,), (there,), (there,)]
        assert found[0][0].utcoffset() == there.astimezone(zone_of(zone)).utcoffset()
        assert await conn.fetchval("SELECT COUNT(*) FROM seen WHERE at = ?", there) == 4
        assert (
            await conn.fetchval("SELECT COUNT(*) FROM seen WHERE at = ?", found[0][0].replace(tzinfo=None))
            == 4
        )
        async with conn.cursor() as cursor:
            await cursor.execute("SELECT at, day FROM seen WHERE n = 5")
            assert await cursor.fetchone() == (there, dt.date(2026, 7, 1))
        text: list[bytes] = []
        await conn.unload("SELECT at FROM seen WHERE n = 1", text.append)  # files hold what is stored
        stored = there.astimezone(zone_of(zone)).replace(tzinfo=None)
        assert b"".join(text) == f"{stored.isoformat(' ')[:-1]}|\n".encode()
        await conn.load("seen", text, columns=["at"], format="unload")
        assert await conn.fetchval("SELECT COUNT(*) FROM seen WHERE at = ?", there) == 5
        conn.set_type_codec("datetime", decoder=str)
        assert await conn.fetchval("SELECT at FROM seen WHERE n = 1") == str(found[0][0])


def zone_of(zone: Any) -> dt.tzinfo:
    return ZoneInfo(zone) if isinstance(zone, str) else zone


async def test_an_aware_datetime_needs_the_option(dsn: str) -> None:
    async with aioifx.connect(dsn) as conn:
        await conn.execute("CREATE TEMP TABLE seen (at DATETIME YEAR TO SECOND)")
        with pytest.raises(
            aioifx.DataError, match=r"^parameter 1: aware datetime: .*; set the option timezone, or "
        ):
            await conn.execute("INSERT INTO seen VALUES (?)", dt.datetime(2026, 7, 1, tzinfo=dt.UTC))
    with pytest.raises(
        aioifx.InterfaceError, match=r"^timezone: expected an IANA name .*, got 'Mars/Olympus'$"
    ):
        await aioifx.connect(f"{dsn}&timezone=Mars/Olympus")


# --- type codecs and adapters ---------------------------------------------------------------------------------------


class Euros:
    """An amount of money, in a class of its user's."""

    def __init__(self, amount: Decimal) -> None:
        self.amount = amount

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Euros) and other.amount == self.amount

    __hash__ = None  # type: ignore[assignment]


MONEY = aioifx.TypeCodec(lambda euros: euros.amount, Euros)
PRICES = [Euros(Decimal("1.50")), None, Euros(Decimal("2.00"))]


@pytest.fixture
async def shop(dsn: str) -> AsyncIterator[aioifx.Connection]:
    async with aioifx.connect(dsn, type_codecs={"MONEY": MONEY}) as conn:
        await conn.execute("CREATE TABLE item (id SERIAL, price MONEY(8,2))")
        for price in PRICES:
            await conn.execute("INSERT INTO item (price) VALUES (?)", price)
        yield conn


async def test_a_type_codec_holds_for_every_way_of_rows(shop: aioifx.Connection) -> None:
    query = "SELECT price FROM item ORDER BY id"
    assert [row["price"] for row in await shop.fetch(query)] == PRICES
    assert await shop.fetchval(query) == PRICES[0]
    assert [row["price"] async for row in shop.stream(query)] == PRICES
    async with shop.cursor() as cursor:
        await cursor.execute(query)
        assert [row["price"] for row in await cursor.fetchall()] == PRICES
    async with shop.cursor(scroll=True) as scrolling:
        await scrolling.execute(query)
        last = await scrolling.fetch_absolute(-1)
        assert last is not None and last["price"] == PRICES[-1]
    async with await shop.prepare(query) as statement:
        assert [row["price"] for row in await statement.fetch()] == PRICES


async def test_a_type_codec_holds_for_every_way_of_parameters(shop: aioifx.Connection) -> None:
    await shop.execute("DELETE FROM item")
    await shop.executemany("INSERT INTO item (price) VALUES (?)", [(price,) for price in PRICES])
    await shop.load("item", [(price,) for price in PRICES], columns=["price"])
    async with await shop.prepare("INSERT INTO item (price) VALUES (?)") as insert:
        await insert.executemany([(price,) for price in PRICES])
    query = "SELECT price FROM item ORDER BY id"
    assert [row["price"] for row in await shop.fetch(query)] == PRICES * 3


async def test_text_and_arrow_know_nothing_of_type_codecs(shop: aioifx.Connection) -> None:
    text: list[bytes] = []
    await shop.unload("SELECT price FROM item ORDER BY id", text.append)
    assert b"".join(text) == b"1.50|\n|\n2.00|\n"
    await shop.load("item", text, columns=["price"], format="unload")
    assert [row["price"] for row in await shop.fetch("SELECT price FROM item ORDER BY id")] == PRICES * 2
    arrow = pytest.importorskip("aioifx.arrow")
    table = await arrow.fetch_arrow(shop, "SELECT price FROM item WHERE price IS NOT NULL")
    assert table.column("price").to_pylist() == [Decimal("1.50"), Decimal("2.00")] * 2


async def test_a_codec_that_is_set_holds_at_once_for_cached_statements(conn: aioifx.Connection) -> None:
    await conn.execute("CREATE TABLE t (v VARCHAR(20))")
    insert, query = "INSERT INTO t VALUES (?)", "SELECT v FROM t"
    await conn.execute(insert, "a")
    assert await conn.fetchval(query) == "a"
    older = await conn.prepare(query)
    conn.set_type_codec(
        "varchar", encoder=lambda value: "-".join(value), decoder=lambda text: text.split("-")
    )
    await conn.execute("DELETE FROM t")
    await conn.execute(insert, ["b", "c"])
    assert await conn.fetchval(query) == ["b", "c"]
    assert await older.fetchval() == "b-c"  # what was prepared before stays as it is
    await older.close()
    assert await conn.fetchval(query) == ["b", "c"]
    conn.set_type_codec("VARCHAR", decoder=str.upper)
    assert await conn.fetchval(query) == "B-C"
    conn.set_type_codec("VARCHAR")
    assert await conn.fetchval(query) == "b-c"
    with pytest.raises(aioifx.InterfaceError, match=r"^type: expected the name of an Informix type"):
        conn.set_type_codec("VARCHAR(20)", decoder=str)
    with pytest.raises(aioifx.InterfaceError, match=r"^set_type_codec: expected a TypeCodec of callables"):
        conn.set_type_codec("VARCHAR", decoder="str")  # type: ignore[arg-type]


async def test_a_stream_that_is_open_when_a_codec_is_set_does_not_use_it(dsn: str) -> None:
    async with aioifx.connect(dsn, fetch_size=4096) as conn:
        await conn.execute("CREATE TABLE t (v VARCHAR(200))")
        await conn.executemany("INSERT INTO t VALUES (?)", [("x" * 200,)] * 100)
        stream = conn.stream("SELECT v FROM t")
        seen = []
        async for row in stream:
            conn.set_type_codec("varchar", decoder=len)
            seen.append(row["v"])
        assert seen == ["x" * 200] * 100
        assert {row["v"] for row in await conn.fetch("SELECT v FROM t")} == {200}


async def test_a_codec_that_fails_leaves_the_connection_usable(conn: aioifx.Connection) -> None:
    def fails(value: Any) -> Any:
        raise LookupError("no")

    await conn.execute("CREATE TABLE t (v VARCHAR(20))")
    await conn.execute("INSERT INTO t VALUES ('a')")
    conn.set_type_codec("varchar", encoder=fails, decoder=fails)
    calls = {
        "column 'v': the decoder of varchar raised LookupError": conn.fetch("SELECT v FROM t"),
        "parameter 1: the encoder of varchar raised LookupError": conn.execute(
            "INSERT INTO t VALUES (?)", "b"
        ),
        "row 0, parameter 1: the encoder of varchar raised LookupError": conn.executemany(
            "INSERT INTO t VALUES (?)", [("b",)]
        ),
        "row 0, column 'v': the encoder of varchar raised LookupError": conn.load("t", [("b",)]),
    }
    for message, call in calls.items():
        with pytest.raises(aioifx.DataError) as caught:
            await call
        assert str(caught.value) == message
        assert isinstance(caught.value.__cause__, LookupError)
        assert await conn.fetchval("SELECT COUNT(*) FROM t") == 1


class Stop(BaseException):
    """An exception of the user that is not an Exception."""


EXITS = (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit, Stop)


async def _all_of_stream(conn: aioifx.Connection, query: str) -> list[Any]:
    return [row async for row in conn.stream(query)]


async def _all_of_cursor(conn: aioifx.Connection, query: str) -> list[Any]:
    async with conn.cursor() as cursor:
        await cursor.execute(query)
        return await cursor.fetchall()


async def _last_of_scroll_cursor(conn: aioifx.Connection, query: str) -> Any:
    async with conn.cursor(scroll=True) as cursor:
        await cursor.execute(query)
        return await cursor.fetch_absolute(-1)


WAYS: dict[str, Callable[[aioifx.Connection, str], Awaitable[Any]]] = {
    "fetch": lambda conn, query: conn.fetch(query),
    "fetchval": lambda conn, query: conn.fetchval(query + " WHERE v = 'bad'"),
    "stream": _all_of_stream,
    "cursor": _all_of_cursor,
    "scroll": _last_of_scroll_cursor,
}


@pytest.mark.parametrize("exit", EXITS)
@pytest.mark.parametrize("reader", ["native", "pure", "unbuffered"])
async def test_a_decoder_may_raise_anything_and_only_its_call_ends(
    dsn: str, exit: type[BaseException], reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a result in several blocks a row in the middle fails, and the rest of the reply is still read."""
    if reader == "unbuffered":
        monkeypatch.setenv("AIOIFX_BUFFERED_READER", "0")
    elif reader == "pure":
        monkeypatch.setattr("aioifx.codecs.rows.make_decoder", pure_decoder)
        monkeypatch.setattr("aioifx.client.session.conversation.make_fast_reader", pure_fast_reader)
    elif aioifx.speedups != "native":
        pytest.skip("the kernel is not built")

    calls: list[str] = []

    def decoder(text: str) -> str:
        calls.append(text)
        if text == "bad":
            raise exit("boom")
        return text

    codecs = {"varchar": aioifx.TypeCodec(None, decoder)}
    async with aioifx.connect(dsn, type_codecs=codecs, fetch_size=4096) as conn:
        await conn.execute("CREATE TABLE t (v VARCHAR(200))")
        texts = ["x" * 200] * 30
        texts[25] = "bad"
        texts[-1] = "bad"
        await conn.executemany("INSERT INTO t VALUES (?)", [(text,) for text in texts])
        for way, call in WAYS.items():
            calls.clear()
            with pytest.raises(exit, match=r"^boom$"):
                await call(conn, "SELECT v FROM t")
            assert calls.count("bad") == 1, way
            assert await conn.fetchval("SELECT COUNT(*) FROM t") == 30
        assert await conn.fetchval("SELECT FIRST 1 v FROM t") == "x" * 200


@pytest.mark.parametrize("exit", EXITS)
@pytest.mark.parametrize("column", ["JSON", "BSON", "TEXT", "SET(VARCHAR(9) NOT NULL)"])
async def test_so_may_the_functions_of_other_types(dsn: str, exit: type[BaseException], column: str) -> None:
    def fails(value: Any) -> Any:
        raise exit("boom")

    codec = aioifx.TypeCodec(None, fails)
    value = {"SET(VARCHAR(9) NOT NULL)": "SET{'a'}", "BSON": "'{}'::JSON::BSON"}.get(column, "'{}'::JSON")
    codecs = {"varchar": codec, "text": codec, "bson": codec}
    async with aioifx.connect(dsn, type_codecs=codecs, json_loads=fails) as conn:
        await conn.execute(f"CREATE TABLE t (v {column})")
        if column == "TEXT":
            await conn.execute("INSERT INTO t VALUES (?)", "a")
        else:
            await conn.execute(f"INSERT INTO t VALUES ({value})")
        with pytest.raises(exit, match=r"^boom$"):
            await conn.fetch("SELECT v FROM t")
        assert await conn.fetchval("SELECT COUNT(*) FROM t") == 1


async def test_an_element_whose_hash_raises_is_a_data_error(dsn: str) -> None:
    class Odd:
        def __init__(self, text: str) -> None:
            pass

        def __hash__(self) -> int:
            raise RuntimeError

    async with aioifx.connect(dsn, type_codecs={"varchar": aioifx.TypeCodec(None, Odd)}) as conn:
        await conn.execute("CREATE TABLE t (v SET(VARCHAR(9) NOT NULL))")
        await conn.execute("INSERT INTO t VALUES (SET{'a'})")
        message = "column 'v': the hash of an element raised RuntimeError"
        with pytest.raises(aioifx.DataError, match=f"^{message}$"):
            await conn.fetch("SELECT v FROM t")
        assert await conn.fetchval("SELECT COUNT(*) FROM t") == 1


@pytest.mark.parametrize("column", ["BYTE", "BLOB"])
async def test_a_file_whose_read_raises_stop_iteration_is_a_data_error(
    conn: aioifx.Connection, column: str
) -> None:
    class File:
        def read(self, size: int = -1) -> bytes:
            raise StopIteration

    await conn.execute(f"CREATE TABLE t (v {column})")
    with pytest.raises(aioifx.DataError, match=r"raised StopIteration$"):
        await conn.execute("INSERT INTO t VALUES (?)", File())
    assert await conn.fetchval("SELECT COUNT(*) FROM t") == 0


async def test_a_row_factory_that_raises_stop_iteration_does_not_end_the_rows(
    conn: aioifx.Connection,
) -> None:
    def factory(columns: Sequence[aioifx.Column]) -> Callable[[Any], Any]:
        return lambda row: row if row[0] < 30 else next(iter(()))

    await conn.execute("CREATE TABLE t (n INTEGER)")
    await conn.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(50)])
    query, typed = "SELECT n FROM t ORDER BY n", cast("aioifx.rows.RowFactory[Any]", factory)

    async def by_cursor() -> list[Any]:
        async with conn.cursor(row_factory=typed) as cursor:
            await cursor.execute(query)
            return await cursor.fetchall()

    async def by_stream() -> list[Any]:
        async with conn.stream(query, row_factory=typed) as stream:
            return [row async for row in stream]

    async def by_blocks() -> list[Any]:
        async with conn.stream(query, row_factory=typed) as stream:
            return [block async for block in stream.blocks()]

    for call in (conn.fetch(query, row_factory=typed), by_cursor(), by_stream(), by_blocks()):
        with pytest.raises(aioifx.DataError, match=r"^row_factory: its function raised StopIteration$"):
            await call
    assert await conn.fetchval("SELECT COUNT(*) FROM t") == 50


async def test_a_decoder_may_drop_its_connection(conn: aioifx.Connection) -> None:
    await conn.execute("CREATE TABLE t (v VARCHAR(20))")
    await conn.execute("INSERT INTO t VALUES ('a')")
    conn.set_type_codec("varchar", decoder=lambda text: conn.terminate())
    with pytest.raises(aioifx.ConnectionLost):
        await conn.fetch("SELECT v FROM t")
    assert conn.is_closed()


@pytest.mark.parametrize("kernel", ["native", "pure"])
async def test_a_cycle_through_a_row_with_a_decoded_value_is_collected(
    conn: aioifx.Connection, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kernel == "native" and aioifx.speedups != "native":
        pytest.skip("the kernel is not built")
    if kernel == "pure":
        monkeypatch.setattr("aioifx.codecs.rows.make_decoder", pure_decoder)

    class Node:
        row: object

    def decoder(value: Any) -> Node:
        return Node()

    await conn.execute("CREATE TABLE t (v INTEGER)")
    await conn.execute("INSERT INTO t VALUES (7)")
    conn.set_type_codec("integer", decoder=decoder)
    row = (await conn.fetch("SELECT v FROM t"))[0]
    node = row["v"]
    node.row = row
    gone = weakref.ref(node)
    del node, row
    await conn.ping()  # the connection keeps the last reply
    gc.collect()
    assert gone() is None


class Color(enum.Enum):
    RED = "red"


class Name(str):
    pass


async def test_uuid_enum_and_subclasses_are_stored(conn: aioifx.Connection) -> None:
    key = uuid.UUID(int=7)
    found = await stored(conn, "VARCHAR(40)", key, Color.RED, Name("x"))
    assert found == [str(key), "red", "x"]
    assert {*map(type, found)} == {str}
    assert await conn.fetchval("SELECT COUNT(*) FROM systables WHERE tabname = ?", Color.RED) == 0


async def test_an_adapter_makes_parameters_of_a_users_class(dsn: str) -> None:
    def utc(moment: dt.datetime) -> dt.datetime:
        return moment.astimezone(dt.UTC).replace(tzinfo=None)

    adapters = {Euros: lambda euros: euros.amount, uuid.UUID: lambda value: value.hex, dt.datetime: utc}
    async with aioifx.connect(dsn, adapters=adapters) as conn:
        assert await stored(conn, "DECIMAL(8,2)", *PRICES) == [Decimal("1.50"), None, Decimal("2.00")]
        query = "SELECT COUNT(*) FROM systables WHERE nrows < ? AND tabid < ?"
        assert await conn.fetchval(query, Euros(Decimal(10) ** 9), Euros(Decimal(10) ** 20)) > 0
        assert await stored(conn, "CHAR(32)", uuid.UUID(int=7)) == [uuid.UUID(int=7).hex]
        zoned = dt.datetime(2024, 1, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2)))
        assert await stored(conn, "DATETIME YEAR TO SECOND", zoned) == [dt.datetime(2024, 1, 1)]


# --- rows, collections, documents -----------------------------------------------------------------------------------


@dataclass
class Home:
    street: str
    city: str


@pytest.fixture
async def people(conn: aioifx.Connection) -> aioifx.Connection:
    await conn.execute("CREATE ROW TYPE home_t (street VARCHAR(20), city VARCHAR(20))")
    await conn.execute("CREATE DISTINCT TYPE euro AS DECIMAL(8,2)")
    await conn.execute("CREATE DISTINCT TYPE offer AS JSON")
    await conn.execute(
        "CREATE TABLE person (id INTEGER, home home_t, past LIST(home_t NOT NULL), since ROW(d DATE, t DATETIME YEAR TO"
        " SECOND), tags SET(VARCHAR(9) NOT NULL), scores MULTISET(DECIMAL(4,1) NOT NULL), pay euro, likes offer)"
    )
    return conn


PERSON: Any = (
    1,
    ("Main St", "O'Fallon"),
    [Home("A St", "Oslo"), {"street": 'B "St"', "city": None}],
    (dt.date(2026, 1, 2), dt.datetime(2026, 1, 2, 3, 4, 5)),
    {"new", "it's"},
    [Decimal("1.5"), 2, 2],
    Decimal("9.50"),
    {"a": [1, None]},
)
ALL_PARAMETERS = "INSERT INTO person VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


async def test_rows_and_collections_are_stored_and_come_back(people: aioifx.Connection) -> None:
    await people.execute(ALL_PARAMETERS, *PERSON)
    await people.executemany(ALL_PARAMETERS, [PERSON, (2, *[None] * 7)])
    first, second, empty = await people.fetch("SELECT * FROM person")
    assert first == second
    assert empty == (2, *[None] * 7)
    assert isinstance(first["home"], aioifx.Record)
    assert first["home"].asdict() == {"street": "Main St", "city": "O'Fallon"}
    assert first["past"] == [("A St", "Oslo"), ('B "St"', None)]
    assert first["past"][0]["city"] == "Oslo"
    assert first["since"].asdict() == {"d": dt.date(2026, 1, 2), "t": dt.datetime(2026, 1, 2, 3, 4, 5)}
    assert first["tags"] == {"new", "it's"}
    assert first["scores"] == [Decimal("1.5"), Decimal("2.0"), Decimal("2.0")]
    assert (first["pay"], first["likes"]) == (Decimal("9.50"), {"a": [1, None]})
    assert await people.fetchval("SELECT id FROM person WHERE tags = ?", {"it's", "new"}) == 1


@pytest.mark.parametrize(
    ("element", "value"),
    [
        ("INT8", -(2**40)),
        ("BIGINT", 2**60),
        ("FLOAT", 1e300),
        ("SMALLFLOAT", 1.5),
        ("DECIMAL(10)", Decimal("1.5E+20")),
        ("DECIMAL(20,0)", 10**19),
        ("MONEY(8,2)", Decimal("-7.50")),
        ("BOOLEAN", True),
        ("CHAR(3)", "a  "),
        ("VARCHAR(9)", ""),
        ("NVARCHAR(9)", "NULL"),
        ("LVARCHAR(100)", "q'\"x{},() \\"),
        ("DATE", dt.date(2026, 1, 31)),
        ("DATETIME YEAR TO MONTH", Datetime(2026, 1)),
        ("DATETIME HOUR TO FRACTION(3)", dt.time(1, 2, 3, 4000)),
        ("INTERVAL DAY TO SECOND", dt.timedelta(days=-3, seconds=5)),
        ("INTERVAL YEAR TO MONTH", aioifx.IntervalYM(2, 3)),
        ("JSON", {"a": [1, "x'y\"z"]}),
        ("ROW(x INTEGER)", (1,)),
        ("SET(INTEGER NOT NULL)", {1, 2}),
    ],
)
async def test_an_element_of_each_type_comes_back(conn: aioifx.Connection, element: str, value: Any) -> None:
    assert await stored(conn, f"ROW(a {element})", (value,)) == [(value,)]
    assert await stored(conn, f"LIST({element} NOT NULL)", [value, value]) == [[value, value]]


async def test_lists_and_mappings_are_values_by_name_too(people: aioifx.Connection) -> None:
    insert = "INSERT INTO person (id, home, past, likes) VALUES (:id, :home, :past, :likes)"
    values = {"id": 1, "home": {"street": "A", "city": "B"}, "past": [("C", "D")], "likes": {"a": []}}
    await people.execute(insert, named=values)
    statement = await people.prepare(insert, style="named")
    await statement.execute(named=values)
    await people.executemany(insert, named=[values])
    rows = await people.fetch(
        "SELECT id, home, past, likes FROM person WHERE id IN (:ids)", named={"ids": [1, 2]}
    )
    assert rows == [(1, ("A", "B"), [("C", "D")], {"a": []})] * 3


async def test_the_catalog_is_asked_once_for_each_type(people: aioifx.Connection) -> None:
    await people.fetch("SELECT home FROM person")
    before = people.stats.round_trips
    await people.fetch("SELECT home, id FROM person")  # PREPARE, then OPEN with the rows
    assert people.stats.round_trips - before == 2


async def test_objects_of_every_level_can_be_models(people: aioifx.Connection) -> None:
    class Person(pydantic.BaseModel):
        id: int
        home: Home
        tags: set[str]
        likes: dict[str, list[int | None]]

    await people.execute(ALL_PARAMETERS, *PERSON)
    people.set_type_codec("home_t", decoder=lambda record: Home(**record.asdict()))
    query = "SELECT id, home, tags, likes FROM person"
    (person,) = await people.fetch(query, row_factory=class_row(Person))
    assert person == Person(
        id=1, home=Home("Main St", "O'Fallon"), tags={"new", "it's"}, likes={"a": [1, None]}
    )
    assert await people.fetchval("SELECT past FROM person") == [Home("A St", "Oslo"), Home('B "St"', None)]  # type: ignore[arg-type]


async def test_cursors_streams_and_prepared_statements_have_the_same_values(
    people: aioifx.Connection,
) -> None:
    await people.execute(ALL_PARAMETERS, *PERSON)
    query = "SELECT home, past, tags, likes FROM person"
    expected = await people.fetch(query)
    assert [row async for row in people.stream(query)] == expected
    assert await (await people.prepare(query)).fetch() == expected
    async with people.cursor() as cursor:
        await cursor.execute(query)
        assert await cursor.fetchall() == expected
    async with people.cursor(scroll=True) as cursor:  # which cannot have collections (documented: -9605)
        await cursor.execute("SELECT home, likes FROM person")
        assert await cursor.fetchall() == [(row["home"], row["likes"]) for row in expected]


async def test_files_and_arrow_have_the_text(people: aioifx.Connection, tmp_path: Path) -> None:
    await people.execute("INSERT INTO person (id, tags, likes) VALUES (1, ?, ?)", ["a|b"], {"a": 1})
    query = "SELECT id, tags, likes FROM person"
    await people.unload(query, tmp_path / "person.unl")
    assert (tmp_path / "person.unl").read_text() == "1|SET{'a\\|b'}|{\"a\": 1}|\n"
    table = await fetch_arrow(people, query)
    assert table.to_pylist() == [{"id": 1, "tags": "SET{'a|b'}", "likes": '{"a": 1}'}]


@pytest.mark.parametrize("kernel", ["native", "pure"])
async def test_a_row_that_is_part_of_a_cycle_is_collected(
    people: aioifx.Connection, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kernel == "native" and aioifx.speedups != "native":
        pytest.skip("the kernel is not built")
    if kernel == "pure":
        monkeypatch.setattr("aioifx.codecs.rows.make_decoder", pure_decoder)
    await people.execute("INSERT INTO person (id, tags, likes) VALUES (1, ?, ?)", ["a"], {})
    (row,) = await people.fetch("SELECT likes, tags FROM person")
    assert gc.is_tracked(row)
    assert gc.is_tracked(row["tags"])

    class Watched:
        pass

    watched = Watched()
    row["likes"].update(row=row, watched=watched)
    gone = weakref.ref(watched)
    del row, watched
    await people.ping()  # the connection keeps the last reply
    gc.collect()
    assert gone() is None


async def test_rows_and_collections_are_loaded_row_by_row(people: aioifx.Connection, tmp_path: Path) -> None:
    first, none = PERSON, (2, *[None] * 7)
    assert (await people.load("person", [first, none], block=1)).rowcount == 2
    found = await people.fetch("SELECT * FROM person")
    await people.unload("SELECT * FROM person", tmp_path / "person.unl")
    people.set_type_codec("varchar", encoder=len)  # is not for text that is loaded
    await people.execute("DELETE FROM person")
    assert (await people.load("person", tmp_path / "person.unl", format="unload")).rowcount == 2
    assert await people.fetch("SELECT * FROM person") == found
    with pytest.raises(
        aioifx.DataError, match=r"^row 2, column 'home': field 'street': VARCHAR.* does not accept int$"
    ):
        await people.load("person", [none, none, (3, ("a", "b"), *[None] * 6)], block=2)
    assert await people.fetchval("SELECT COUNT(*) FROM person") == 2


async def test_a_row_that_the_server_refuses_is_named_in_later_blocks_too(conn: aioifx.Connection) -> None:
    await conn.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v SET(INTEGER NOT NULL))")
    with pytest.raises(aioifx.UniqueViolation, match=r"^row 3: unique constraint") as caught:
        await conn.load("t", [(1, {1}), (2, None), (3, []), (1, [2, 3])], block=2)
    assert caught.value.row_index == 3
    assert await conn.fetchval("SELECT COUNT(*) FROM t") == 0


async def test_json_is_stored_by_every_way_in(conn: aioifx.Connection) -> None:
    values: list[Any] = [{"a": [1, 2.5, "\N{EURO SIGN}", True, None, {}]}, {}, None]
    assert await stored(conn, "JSON", *values, '{"a": "str is text"}') == [*values, {"a": "str is text"}]


async def test_bson_is_stored_by_every_way_in(conn: aioifx.Connection) -> None:
    document = {"a": [1, {"b": "\N{EURO SIGN}"}], "when": dt.datetime(2026, 1, 2, tzinfo=dt.UTC)}
    found = await stored(conn, "BSON", document, encode_document(document), None)
    assert found == [document, document, None]


async def test_the_functions_for_json_are_options(dsn: str) -> None:
    def dumps(value: Any) -> bytes:
        return json.dumps({"value": value}).encode()

    async with aioifx.create_pool(
        dsn, json_dumps=dumps, json_loads=lambda text: ("mine", json.loads(text))
    ) as pool:
        await pool.execute("CREATE TABLE note (v JSON)")
        await pool.execute("INSERT INTO note VALUES (?)", [1])
        assert await pool.fetchval("SELECT v FROM note") == ("mine", {"value": [1]})


async def test_a_type_codec_for_json_has_the_text(dsn: str) -> None:
    codec = aioifx.TypeCodec(json.dumps, json.loads)
    async with aioifx.connect(dsn, type_codecs={"json": codec}) as conn:
        assert await stored(conn, "JSON", {"a": 1}, None) == [{"a": 1}, None]


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("home", {"street": "x"}, "^parameter 1: field 'city' is missing; the fields are street, city$"),
        (
            "home",
            ("x" * 21, "y"),
            r"^parameter 1: field 'street': text of 21 bytes does not fit VARCHAR\(20\)$",
        ),
        ("tags", 7, r"^parameter 1: SET\(VARCHAR\(9\) NOT NULL\) does not accept int$"),
        ("likes", float("nan"), "^parameter 1: JSON does not accept NaN"),
        ("likes", object(), "^parameter 1: JSON does not accept object"),
    ],
)
async def test_an_object_that_does_not_fit_is_refused_before_it_is_sent(
    people: aioifx.Connection, column: str, value: Any, message: str
) -> None:
    insert = f"INSERT INTO person ({column}) VALUES (?)"
    statement = await people.prepare(insert)
    before = people.stats.round_trips
    with pytest.raises(aioifx.DataError, match=message):
        await statement.execute(value)
    assert people.stats.round_trips == before
    assert await people.fetchval("SELECT COUNT(*) FROM person") == 0


# --- pools ----------------------------------------------------------------------------------------------------------


async def test_every_connection_of_a_pool_has_the_codecs_of_its_options(dsn: str) -> None:
    query = "SELECT FIRST 1 tabname FROM systables"
    async with aioifx.create_pool(dsn, min_size=1, max_size=1, type_codecs={"varchar": (None, len)}) as pool:
        length = await pool.fetchval(query)
        assert isinstance(length, int)
        async with pool.acquire() as conn:
            conn.set_type_codec("varchar", decoder=str.upper)
            name = await conn.fetchval(query)
            assert name.isupper()
        assert await pool.fetchval(query) == length == len(name)


async def test_what_a_pools_init_sets_holds_at_each_acquire(dsn: str) -> None:
    query = "SELECT FIRST 1 tabname FROM systables"

    async def init(conn: aioifx.Connection) -> None:
        conn.set_type_codec("varchar", decoder=len)

    async with aioifx.create_pool(dsn, min_size=1, max_size=1, init=init) as pool:
        for _ in range(2):
            async with pool.acquire() as conn:
                assert isinstance(await conn.fetchval(query), int)
                conn.set_type_codec("varchar")
                assert isinstance(await conn.fetchval(query), str)
