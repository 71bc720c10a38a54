"""BYTE and TEXT parameters: every source, JDBC's bytes, nothing sent of a source that fails."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

import aioifx
from aioifx import rows
from aioifx.client.execution import large_parameters
from aioifx.codecs.large_objects import LONG_DESCRIPTOR, SHORT_DESCRIPTOR, parameter_descriptor
from aioifx.errors import DatabaseError, DataError, InterfaceError, QueryTimeout, UniqueViolation
from aioifx.sqltypes import SqlType, TypeCode
from aioifx.testing.messages import EOT, UNLOGGED, column, described, done, error, takes
from aioifx.testing.script import BEGIN, COMMIT, PREPARE, Delayed, Exchange, release, select_ints
from aioifx.wire import requests
from aioifx.wire.blob_replies import MAX_VALUE
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.objects import Blob, BlobCount
from aioifx.wire.opcodes import StatementType
from tests.scripted import C1, INTEGER, played, talking, time_out_at

BYTE = SqlType(TypeCode.BYTE, SHORT_DESCRIPTOR)
TEXT = SqlType(TypeCode.TEXT, SHORT_DESCRIPTOR)
INSERT = "insert into t values(?,?)"
EXECUTED = done(1) + EOT
AFTER = select_ints(3, 7)


def prepared(*types: SqlType, statement_id: int = 2) -> list[Exchange]:
    columns = [column(f"c{number}", sql_type.code, sql_type.length) for number, sql_type in enumerate(types)]
    return [
        (PREPARE, described(statement_id, *columns, kind=StatementType.INSERT)),
        (f"Id({statement_id}) DescribeInput", takes(*types)),
    ]


def words(*values: bytes | None, statement_id: int = 2) -> str:
    """The request to execute with an INTEGER and these values."""
    given = [value for value in values if value is not None]
    blobs = " ".join("Blob " * -(-len(value) // 1024) + "Blob" for value in given)
    return (
        f"Id({statement_id}) Bind({len(values) + 1}) "
        + f"BlobCount({len(given)}) {blobs} " * bool(given)
        + "Execute"
    )


def sent(group: list[requests.Request]) -> list[bytes]:
    """The values in a request."""
    found, value = list[bytes](), b""
    for one in group:
        if isinstance(one, Blob):
            value += one.data
            if not one.data:
                found.append(value)
                value = b""
    assert [one.values for one in group if isinstance(one, BlobCount)] == ([len(found)] if found else [])
    return found


async def given(value: Any, sql_type: SqlType = BYTE, **options: Any) -> bytes:
    """What an INSERT sends for *value*."""
    script = [*prepared(INTEGER, sql_type), (None, EXECUTED), release(2)]
    async with talking(script, **options) as (conn, peer):
        assert (await conn.execute(INSERT, 1, value)).rowcount == 1
    (found,) = sent(peer.requests[2])
    return found


# -- what JDBC sends -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "values"), [("insert_two_bytes", (b"\1\2\3", b"\4\5\6\7")), ("insert_text_null", (None,))]
)
async def test_values_are_sent_as_by_jdbc(case: str, values: Any) -> None:
    script = played("lob", case)
    prepare = script[0][0]
    assert isinstance(prepare, bytes)
    sql = prepare[8 : 8 + int.from_bytes(prepare[4:8], "big")].decode()
    async with talking(script) as (conn, _):
        await conn.execute(sql, *values)


async def test_a_long_value_is_cut_as_by_jdbc() -> None:
    (_, answer), describe, (insert, inserted), drop = played("lob", "insert_byte")
    assert isinstance(insert, bytes)
    value = bytes(number & 0xFF for number in range(2500))
    script = [(None, answer), describe, (None, inserted), drop]
    async with talking(script) as (conn, peer):
        await conn.execute("insert into bt_byte values(?)", value)
    assert sent(peer.requests[2]) == [value]
    assert len(peer.groups[2]) == len(insert)
    sizes = [len(one.data) for one in peer.requests[2] if isinstance(one, Blob)]
    assert sizes == [1024, 1024, 452, 0]


async def test_with_bit_70_the_descriptor_is_long() -> None:
    long = Capabilities(long_rowid=True, long_tuple=True)
    wide = SqlType(TypeCode.BYTE, LONG_DESCRIPTOR)
    columns = [C1, column("c1", TypeCode.BYTE, LONG_DESCRIPTOR)]
    script: list[Exchange] = [
        (PREPARE, described(2, *columns, kind=StatementType.INSERT, capabilities=long)),
        ("Id(2) DescribeInput", takes(INTEGER, wide)),
        (words(b"abc"), done(1, capabilities=long) + EOT),
        release(2),
    ]
    async with talking(script, capabilities=long, peer_dialect=long) as (conn, peer):
        await conn.execute(INSERT, 1, b"abc")
    (bind,) = [one for one in peer.requests[2] if isinstance(one, requests.Bind)]
    entry = bind.entries[1]
    assert (entry.code, entry.precision) == (TypeCode.BYTE, LONG_DESCRIPTOR)
    assert entry.data == parameter_descriptor(3, LONG_DESCRIPTOR).data


# -- sources ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 1025, 2048, 300_000])
async def test_a_value_of_any_size_is_sent_whole(size: int) -> None:
    assert await given(bytes(size)) == bytes(size)


class AsyncFile:
    def __init__(self, *chunks: bytes) -> None:
        self._chunks = [*chunks, b""]

    async def read(self, size: int) -> bytes:
        return self._chunks.pop(0)


async def async_chunks(*chunks: Any) -> AsyncIterator[Any]:
    for chunk in chunks:
        yield chunk


@pytest.mark.parametrize(
    "source",
    [
        lambda: b"abc",
        lambda: bytearray(b"abc"),
        lambda: memoryview(b"xabcx")[1:-1],
        lambda: [b"a", b"", bytearray(b"bc")],
        lambda: iter((b"ab", b"c")),
        lambda: async_chunks(b"a", b"bc"),
        lambda: io.BytesIO(b"abc"),
        lambda: AsyncFile(b"a", b"bc"),
    ],
    ids=["bytes", "bytearray", "memoryview", "list", "iterator", "async", "file", "async file"],
)
async def test_every_source_of_bytes(source: Any) -> None:
    assert await given(source()) == b"abc"
    assert await given(source(), TEXT) == b"abc"


async def test_an_open_file_of_several_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "photo"
    path.write_bytes(bytes(range(256)) * 20)
    monkeypatch.setattr("aioifx.client.lobs.sources.CHUNK", 1000)
    with path.open("rb") as file:
        assert await given(file) == path.read_bytes()


@pytest.mark.parametrize(
    "source",
    [lambda: "a€", lambda: ["a", "€"], lambda: async_chunks("a", "€".encode()), lambda: io.StringIO("a€")],
    ids=["str", "list", "mixed", "text file"],
)
async def test_text_is_encoded_in_the_connections_code_set(source: Any) -> None:
    assert await given(source(), TEXT, locale="en_US.utf8") == "a€".encode()


async def test_an_encoder_gets_the_value_and_not_its_descriptor() -> None:
    assert await given("a", TEXT, type_codecs={"text": (str.upper, None)}) == b"A"


async def test_several_values_follow_in_order_and_null_takes_no_part() -> None:
    both = [*prepared(INTEGER, BYTE, TEXT), (words(b"a" * 1500, b""), EXECUTED), release(2)]
    one = [*prepared(INTEGER, BYTE, TEXT), (words(None, b"t"), EXECUTED), release(2)]
    none = [*prepared(INTEGER, BYTE, TEXT), (words(None, None), EXECUTED), release(2)]
    async with talking(both, one, none) as (conn, peer):
        await conn.execute("insert into t values(?,?,?)", 1, b"a" * 1500, "")
        await conn.execute("insert into t values(?,?,?)", 1, None, "t")
        await conn.execute("insert into t values(:a,:b,:c)", named={"a": 1, "b": None, "c": None})
    assert [sent(peer.requests[number]) for number in (2, 6, 10)] == [[b"a" * 1500, b""], [b"t"], []]


async def test_a_query_takes_large_parameters() -> None:
    script: list[Exchange] = [
        (PREPARE, described(2, C1)),
        ("Id(2) DescribeInput", takes(TEXT)),
        ("Id(2) CurName Bind(1) BlobCount(1) Blob Blob Open Id(2) Fetch(32767)", done(0) + EOT),
        ("Id(2) Close", EOT),
        release(2),
    ]
    async with talking(script) as (conn, _):
        assert await conn.fetch("select c1 from t where f(?::text) = 1", "x") == []


async def test_a_scroll_cursor_takes_large_parameters() -> None:
    script: list[Exchange] = [
        (PREPARE, described(2, C1)),
        ("Id(2) DescribeInput", takes(TEXT)),
        ("Id(2) CurName Bind(1) BlobCount(1) Blob Blob Scroll Hold Open", EOT),
        ("Id(2) Close", EOT),
        release(2),
    ]
    async with talking(script) as (conn, _), conn.cursor(scroll=True) as cursor:
        await cursor.execute("select c1 from t where f(?::text) = 1", ["x"])


# -- executemany and prepared statements -----------------------------------------------------------------------------


async def test_executemany_sends_each_row_with_its_values() -> None:
    values = [b"a" * 2000, None, b"", b"d"]
    script = [
        *prepared(INTEGER, BYTE),
        BEGIN,
        *[(words(value), EXECUTED) for value in values],
        COMMIT,
        release(2),
    ]
    async with talking(script, script) as (conn, peer):
        result = await conn.executemany(INSERT, enumerate(values))
        assert result.rowcount == 4
        assert (await conn.executemany(INSERT, async_chunks(*enumerate(values)))).rowcount == 4
    assert [sent(group) for group in peer.requests[3:7]] == [[b"a" * 2000], [], [b""], [b"d"]]


async def test_executemany_collects_the_errors_of_values() -> None:
    script = [*prepared(INTEGER, BYTE), BEGIN, *[(words(b"x"), EXECUTED)] * 2, COMMIT, release(2)]
    async with talking(script) as (conn, _):
        result = await conn.executemany(INSERT, [(1, b"x"), (2, "no"), (3, b"x")], on_error="collect")
    assert result.rowcount == 2
    assert [str(error) for error in result.errors] == ["row 1, parameter 2: BYTE does not accept str"]
    assert result.errors[0].row_index == 1


async def test_executemany_stops_at_a_value_of_another_type() -> None:
    async with talking(prepared(INTEGER, BYTE), BEGIN, ("Rollback", done() + EOT), release(2)) as (conn, _):
        with pytest.raises(DataError, match=r"^row 0, parameter 2: BYTE does not accept int$"):
            await conn.executemany(INSERT, [(1, 5)])


async def test_a_prepared_statement_executes_again() -> None:
    script = [*prepared(INTEGER, BYTE), *[(words(b"x" * 1025), EXECUTED)] * 2, release(2)]
    async with talking(script) as (conn, _), await conn.prepare(INSERT) as statement:
        for _ in range(2):
            await statement.execute(1, b"x" * 1025)


CHANGED = error(-710) + EOT


async def test_a_stale_statement_is_executed_again_with_bytes() -> None:
    script = [
        *prepared(INTEGER, BYTE),
        (words(b"x"), EXECUTED),
        (words(b"y"), CHANGED),
        *prepared(INTEGER, BYTE, statement_id=4),
        (words(b"y", statement_id=4), EXECUTED),
        release(2),
    ]
    async with talking(script, warnings=UNLOGGED, statement_cache_size=10) as (conn, _):
        await conn.execute(INSERT, 1, b"x")
        assert (await conn.execute(INSERT, 1, [b"y"])).rowcount == 1


async def test_a_stale_statement_is_not_executed_again_from_a_source_that_is_used_up() -> None:
    script = [*prepared(INTEGER, BYTE), (words(b"x"), EXECUTED), (words(b"y"), CHANGED), release(2)]
    async with talking(script, warnings=UNLOGGED, statement_cache_size=10) as (conn, _):
        await conn.execute(INSERT, 1, b"x")
        with pytest.raises(DatabaseError) as caught:
            await conn.execute(INSERT, 1, io.BytesIO(b"y"))
    assert caught.value.sqlcode == -710
    assert "execute it again" in caught.value.__notes__[0]


# -- load ------------------------------------------------------------------------------------------------------------


async def test_load_sends_values_after_their_rows_as_jdbc_does() -> None:
    async with talking(played("lob", "put_byte")) as (conn, _):
        result = await conn.load("bt_byte", [(b"\1\2\3",), (iter((b"\1", b"\2\3")),)])
    assert result.rowcount == 2


async def test_load_names_the_row_and_the_column_of_a_value() -> None:
    async with talking(prepared(INTEGER, BYTE), release(2)) as (conn, _):
        with pytest.raises(DataError, match=r"^row 1, column 'c1': BYTE does not accept str$") as caught:
            await conn.load("t", [(1, b"x"), (2, "x")])
    assert (caught.value.row_index, caught.value.column) == (1, "c1")


# -- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql_type", "value", "message"),
    [
        (BYTE, "abc", "BYTE does not accept str"),
        (BYTE, ["abc"], "BYTE does not accept str"),
        (BYTE, 5, "BYTE does not accept int"),
        (BYTE, {b"a": 1}, "BYTE does not accept dict"),
        (BYTE, [5], "BYTE does not accept chunks of type int"),
        (TEXT, async_chunks(None), "TEXT does not accept chunks of type NoneType"),
        (
            TEXT,
            "€",
            "the character '€' (U+20AC) at offset 0 is not in 8859-1; locale='auto' takes the database's code set",
        ),
        (BYTE, iter((b"x" * 60, b"y" * 60)), "BYTE value of more than 100 bytes exceeds max_lob_size=100"),
        (BYTE, io.BytesIO(b"x" * 101), "BYTE value of more than 100 bytes exceeds max_lob_size=100"),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_a_value_of_another_type_is_refused(sql_type: SqlType, value: Any, message: str) -> None:
    async with talking(prepared(INTEGER, sql_type), release(2), AFTER, max_lob_size=100) as (conn, _):
        with pytest.raises(DataError) as caught:
            await conn.execute(INSERT, 1, value)
        assert await conn.fetch("select c1 from t") == [(7,)]
    assert str(caught.value) == f"parameter 2: {message}"
    assert (caught.value.parameter, caught.value.column, caught.value.sql) == (2, "c1", INSERT)


async def test_bytes_at_hand_have_no_limit() -> None:
    assert await given(b"x" * 101, max_lob_size=100) == b"x" * 101


@pytest.mark.parametrize(
    ("sql_type", "value"), [(BYTE, bytes(101)), (BYTE, bytearray(101)), (TEXT, "é" * 51), (TEXT, bytes(101))]
)
async def test_a_value_beyond_the_wires_limit_is_refused(
    sql_type: SqlType, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_parameters, "MAX_VALUE", 100)
    async with talking(prepared(INTEGER, sql_type), release(2), AFTER, locale="en_US.utf8") as (conn, _):
        with pytest.raises(
            DataError, match=r"^parameter 2: (BYTE|TEXT) value of 10\d bytes: expected at most 100$"
        ):
            await conn.execute(INSERT, 1, value)
        assert await conn.fetch("select c1 from t") == [(7,)]
    # The limit is what fits the descriptor.
    assert parameter_descriptor(MAX_VALUE, SHORT_DESCRIPTOR).size == 2**31 - 1


class Broken(Exception):
    pass


def broken() -> Iterator[bytes]:
    yield b"a"
    raise Broken


async def test_nothing_is_sent_of_a_source_that_fails() -> None:
    closed: list[bool] = []

    async def source() -> AsyncIterator[bytes]:
        try:
            yield b"a"
            raise Broken
        finally:
            closed.append(True)

    async with talking(prepared(INTEGER, BYTE), release(2), AFTER) as (conn, _):
        async with await conn.prepare(INSERT) as statement:
            for value in (broken(), source()):
                with pytest.raises(Broken):
                    await statement.execute(1, value)
        assert await conn.fetch("select c1 from t") == [(7,)]
    assert closed == [True]


async def test_a_source_that_is_too_large_is_closed() -> None:
    closed: list[bool] = []

    async def source() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"x" * 60
        finally:
            closed.append(True)

    async with talking(prepared(INTEGER, BYTE), release(2), max_lob_size=100) as (conn, _):
        with pytest.raises(DataError, match="exceeds max_lob_size"):
            await conn.execute(INSERT, 1, source())
    assert closed == [True]


@pytest.mark.parametrize("first", [0, 3])
async def test_a_value_that_times_out_is_not_sent_again(first: int) -> None:
    value = bytes(range(250)) * 400
    held = Delayed(error(-213) + EOT, first=first)  # the server was interrupted
    script = [*prepared(INTEGER, BYTE), (words(value), held), release(2)]
    again = [*prepared(INTEGER, BYTE), (words(value), EXECUTED), release(2)]
    async with talking(script, again, command_timeout=60.0) as (conn, peer):
        with pytest.raises(QueryTimeout):
            await time_out_at(held, conn, conn.execute(INSERT, 1, value))
        held.release()
        assert (await conn.execute(INSERT, 1, value)).rowcount == 1
        assert [found for group in peer.requests for found in sent(group)] == [value, value]


async def test_a_source_must_not_use_the_connection() -> None:
    async with talking(prepared(INTEGER, BYTE), release(2)) as (conn, _):

        async def source() -> AsyncIterator[bytes]:
            yield await conn.fetchval("select c1 from t")

        with pytest.raises(InterfaceError, match="already uses the connection"):
            await conn.execute(INSERT, 1, source())


async def test_a_wrong_number_of_parameters_is_refused() -> None:
    async with (
        talking(prepared(INTEGER, BYTE), release(2)) as (conn, _),
        await conn.prepare(INSERT) as statement,
    ):
        with pytest.raises(InterfaceError, match="expected 2 parameters, got 1"):
            await statement.execute(1)


async def test_the_servers_error_is_passed_on() -> None:
    script = [*prepared(INTEGER, BYTE), (words(b"x"), error(-268, -100) + EOT), release(2)]
    async with talking(script, AFTER) as (conn, _):
        with pytest.raises(UniqueViolation):
            await conn.execute(INSERT, 1, b"x")
        assert await conn.fetch("select c1 from t", row_factory=rows.tuple_row) == [(7,)]


# -- the embedded server ---------------------------------------------------------------------------------------------

TABLE = "create table large (id int, photo byte in table, note text in table)"


async def test_values_of_every_size_come_back(dsn: str) -> None:
    sizes = [0, 1, 1023, 1024, 1025, 2_000_000]
    async with aioifx.connect(dsn) as conn:
        await conn.execute(TABLE)
        for size in sizes:
            photo, note = bytes(range(256)) * (size // 256 + 1), "aé" * (size // 2 + 1)
            await conn.execute("insert into large values(?,?,?)", size, photo[:size], note[:size])
            found = await conn.fetchrow("select photo, note from large where id = ?", size)
            assert found == (photo[:size], note[:size])
        await conn.execute("insert into large values(?,?,?)", -1, None, None)
        assert await conn.fetch("select * from large where id = -1") == [(-1, None, None)]
        await conn.execute("update large set photo = ?, note = note where id = 1", io.BytesIO(b"new"))
        assert await conn.fetchval("select photo from large where id = 1") == b"new"


async def test_many_rows_of_values_come_back(dsn: str) -> None:
    values = [(number, bytes(number * 20) if number % 3 else None, "x" * number) for number in range(100)]
    async with aioifx.connect(dsn) as conn:
        await conn.execute(TABLE)
        assert (await conn.executemany("insert into large values(?,?,?)", values)).rowcount == 100
        assert await conn.fetch("select * from large order by id") == values
        await conn.execute("delete from large")
        assert (await conn.load("large", async_chunks(*values))).rowcount == 100
        async with conn.cursor() as cursor:
            await cursor.execute("select * from large order by id")
            assert await cursor.fetchall() == values
        streamed: list[Any] = []
        async for number, photo, note in conn.stream("select * from large order by id", lobs="stream"):
            photo = photo and b"".join([chunk async for chunk in photo])
            streamed.append((number, photo, "".join([chunk async for chunk in note])))
        assert streamed == values


async def test_a_row_that_a_load_cannot_insert_is_found(dsn: str) -> None:
    async with aioifx.connect(dsn) as conn:
        await conn.execute("create table large (id int primary key, photo byte in table)")
        with pytest.raises(UniqueViolation) as caught:
            await conn.load("large", [(1, iter((b"a",))), (2, b"b"), (1, iter((b"c",)))])
        assert caught.value.row_index == 2
        assert await conn.fetchval("select count(*) from large") == 0


async def test_values_are_unloaded_as_the_format_says_and_loaded_again(dsn: str, tmp_path: Path) -> None:
    values = [(1, b"\0\xffa", "a|b\n"), (2, None, None), (3, b"", "")]
    async with aioifx.connect(dsn) as conn:
        await conn.execute(TABLE)
        await conn.executemany("insert into large values(?,?,?)", values)
        path = tmp_path / "large.unl"
        assert await conn.unload("select * from large order by id", path) == 3
        assert path.read_bytes().splitlines()[0] == b"1|00ff61|a\\|b\\"
        await conn.execute("delete from large")
        await conn.load("large", path, format="unload")
        found = await conn.fetch("select * from large order by id")
    assert found[:2] == values[:2]
    assert [value or None for value in found[2][1:]] == [None, None]  # the format has no empty BYTE
