"""Preparation of statements: what is described, and what is not sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from aioifx.client.api.connection import Connection
from aioifx.codecs.bson import encode_document
from aioifx.codecs.rows import RowEncoder
from aioifx.codecs.text import code_set_of
from aioifx.errors import (
    ConnectionLost,
    DatabaseError,
    DataError,
    InterfaceError,
    ProgrammingError,
    ProtocolError,
    UndefinedTable,
)
from aioifx.sqltypes import TypeCode
from aioifx.testing.messages import EOT, EXIT, column, described, done, error, ints, raw_row, takes
from aioifx.testing.script import PREPARE, closing, opening, release, select_ints
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.opcodes import StatementType
from tests.scripted import C1, INTEGER, talking

MARKS = ", ".join("?" * 32_768)
VERY_MANY = tuple(range(32_768))


@pytest.mark.parametrize("verb", ["select c1", "delete"])
@pytest.mark.parametrize("method", ["fetch", "execute", "prepare"])
async def test_a_statement_too_long_for_an_old_server_is_refused(verb: str, method: str) -> None:
    short = Capabilities(long_text=False)
    script = [
        (PREPARE, described(2, C1, capabilities=short)),
        (opening(2), ints(7) + done(1, capabilities=short) + EOT),
        *closing(2),
    ]
    async with talking(script, capabilities=short, peer_dialect=short) as (conn, _):
        with pytest.raises(ProgrammingError, match=r"^text of 65\d\d\d bytes: expected at most 65535$"):
            await getattr(conn, method)(f"{verb} from t where c2 = {'1' * 65_536}")
        assert await conn.fetch("select c1 from t") == [(7,)]


@pytest.mark.parametrize(
    "call",
    [
        lambda conn: conn.fetch(f"select c1 from t where c1 in ({MARKS})", *VERY_MANY),
        lambda conn: conn.fetchrow(f"select c1 from t where c1 in ({MARKS})", *VERY_MANY),
        lambda conn: conn.execute(f"delete from t where c1 in ({MARKS})", *VERY_MANY),
        lambda conn: conn.execute(f"delete from t where c1 in ({MARKS})"),
        lambda conn: conn.executemany(f"delete from t where c1 in ({MARKS})", [VERY_MANY]),
        lambda conn: conn.prepare(f"select c1 from t where c1 in ({MARKS})"),
        lambda conn: conn.cursor().execute(f"select c1 from t where c1 in ({MARKS})", VERY_MANY),
        lambda conn: conn.cursor(scroll=True).execute(f"select c1 from t where c1 in ({MARKS})", VERY_MANY),
        lambda conn: anext(conn.stream(f"select c1 from t where c1 in ({MARKS})", *VERY_MANY)),
        lambda conn: conn.load("t", [VERY_MANY]),
        lambda conn: conn.call("p", *VERY_MANY),
        lambda conn: conn.fetch(
            "select c1 from t where c1 in (" + ", ".join(f":{n}" for n in range(1, 32_769)) + ")",
            named=VERY_MANY,
        ),
    ],
)
async def test_more_parameters_than_a_count_can_hold_are_rejected(
    call: Callable[[Connection], Awaitable[object]],
) -> None:
    async with talking() as (conn, _):
        with pytest.raises(InterfaceError, match="statement: expected at most 32767 parameters, got 32768"):
            await call(conn)


@pytest.mark.exhaustive
async def test_as_many_parameters_as_a_count_can_hold_are_sent() -> None:
    sql = f"delete from t where c1 in ({MARKS[3:]})"
    async with talking(
        (PREPARE, described(0, kind=StatementType.DELETE)),
        (None, takes(*[INTEGER] * 32_767)),
        (None, done(7) + EOT),
        release(0),
    ) as (conn, peer):
        assert (await conn.execute(sql, *VERY_MANY[1:])).rowcount == 7
        assert peer.groups[2].count(bytes.fromhex("0002 0000 0a00")) == 32_767


async def test_the_columns_of_an_insert_describe_its_parameters_when_the_server_does_not() -> None:
    capabilities = Capabilities(describe_input=False)
    async with talking(
        (PREPARE, described(1, column("a", TypeCode.SMALLINT, 2), kind=StatementType.INSERT)),
        (bytes.fromhex("0004 0001 0005 0001 0001 0000 0500 0007 0007 000c"), done(1) + EOT),
        release(1),
        capabilities=capabilities,
        peer_dialect=capabilities,
    ) as (conn, _):
        assert (await conn.execute("insert into t values(?)", 7)).rowcount == 1


async def test_a_parameter_without_a_described_type_goes_by_its_own() -> None:
    async with talking(
        (PREPARE, described(1, C1)),
        ("Id(1) DescribeInput", error(-201) + EOT),  # a server that cannot; its error is ignored
        (opening(1, bound=True), ints(4) + done(1) + EOT),
        closing(1),
    ) as (conn, peer):
        assert await conn.fetch("select c1 from t where a = ?", 7) == [(4,)]
        assert bytes.fromhex("0005 0001 0002 0000 0a00 00000007") in peer.groups[2]


async def test_a_statement_that_fails_to_prepare_leaves_nothing_to_release() -> None:
    async with talking((PREPARE, error(-206, -111, offset=15, token="nowhere") + EOT), select_ints(0, 1)) as (
        conn,
        _,
    ):
        with pytest.raises(UndefinedTable, match="nowhere") as caught:
            await conn.fetch("select c1 from nowhere")
        assert (caught.value.sqlstate, caught.value.offset, caught.value.row_index) == ("42S02", 15, None)
        assert await conn.fetch("select c1 from t") == [(1,)]


@pytest.mark.parametrize("answer", [EOT, done() + EOT, error(100) + EOT, error(0) + EOT])
async def test_a_prepare_without_a_description_ends_the_connection(answer: bytes) -> None:
    async with talking((PREPARE, answer)) as (conn, _):
        with pytest.raises(ProtocolError, match="describe") as caught:
            await conn.fetch("select c1 from t")
        assert conn.is_closed() and not caught.value.connection_usable


@pytest.mark.parametrize("sql", ["", "   ", "-- nothing", "/* only this", "select 'a\0b' from t"])
async def test_text_that_is_not_a_statement_is_not_sent(sql: str) -> None:
    async with talking() as (conn, peer):
        for call in (conn.fetch, conn.execute, conn.prepare, conn.fetchval, conn.cursor().execute):
            with pytest.raises(ProgrammingError):
                await call(sql)
        assert peer.received == b""


async def test_a_text_outside_of_the_code_set_is_not_sent() -> None:
    async with talking() as (conn, peer):
        for call in (conn.fetch, conn.execute, conn.prepare):
            with pytest.raises(DataError, match="offset 8"):
                await call("select '€' from t")
        assert peer.received == b""


@pytest.mark.parametrize("sql", [None, 7, b"select 1", ["select 1"]])
async def test_a_statement_that_is_not_text_is_not_sent(sql: Any) -> None:
    async with talking() as (conn, peer):
        with pytest.raises(InterfaceError, match="sql"):
            await conn.fetch(sql)
        assert peer.received == b""


# --- types that consist of others -----------------------------------------------------------------------------------

NAMED_ROW = 0x1000
PERSON = column("p", TypeCode.ROW, extended_id=2049, owner="me", extended_name="person_t", flags=NAMED_ROW)
TAGS = column("tags", TypeCode.SET, extended_id=2050, extended_name="SET(varchar(9) not null)")
CATALOG = (
    column("extended_id", TypeCode.INTEGER, 4),
    column("owner", TypeCode.CHAR, 8),
    column("name", TypeCode.VARCHAR, 128),
    column("type", TypeCode.SMALLINT, 2),
    column("source", TypeCode.INTEGER, 4),
    column("seqno", TypeCode.SMALLINT, 2),
    column("parent_no", TypeCode.SMALLINT, 2),
    column("fieldname", TypeCode.VARCHAR, 128),
    column("type", TypeCode.SMALLINT, 2),
    column("length", TypeCode.SMALLINT, 2),
    column("xtd_type_id", TypeCode.INTEGER, 4),
)


def catalog_rows() -> bytes:
    encoder = RowEncoder(CATALOG, code_set_of("en_US.8859-1"))
    head = (2049, "me", "person_t", 0x1016, 0)
    rows = [
        (*head, 1, 0, None, 0x1016, 42, 0),
        (*head, 2, 1, "name", 13, 20, 0),
        (*head, 3, 1, "age", 2, 4, 0),
    ]
    return bytes(encoder.encode(rows))


def literal_row(*literals: str | None) -> bytes:
    fields = [
        b"\1" + bytes(4) if text is None else b"\0" + len(text).to_bytes(4, "big") + text.encode()
        for text in literals
    ]
    return raw_row(b"".join(fields))


async def test_a_collection_that_its_description_names_costs_no_round_trip() -> None:
    async with talking(
        (PREPARE, described(2, TAGS)),
        (opening(2), literal_row("SET{'a','b'}") + literal_row(None) + done(2) + EOT),
        closing(2),
    ) as (conn, _):
        assert await conn.fetch("select tags from t") == [({"a", "b"},), (None,)]


async def test_a_named_row_is_looked_up_once_in_a_session() -> None:
    async with talking(
        (PREPARE, described(2, PERSON)),
        (PREPARE, described(3, *CATALOG)),
        (opening(3), catalog_rows() + done(3) + EOT),
        (opening(2), literal_row("ROW('Ann',7)") + done(1) + EOT),
        closing(3),
        closing(2),
        (PREPARE, described(4, PERSON)),
        (opening(4, 4096), literal_row("ROW('Bob',NULL)") + done(1) + EOT),
        closing(4),
    ) as (conn, peer):
        (row,) = await conn.fetch("select p from t")
        assert row["p"].asdict() == {"name": "Ann", "age": 7}
        assert (await conn.fetchval("select p from u"))["age"] is None
        assert peer.groups[1].count(b"sysattrtypes") == 1


async def test_rows_of_a_type_that_the_server_does_not_show_are_literals() -> None:
    async with talking(
        (PREPARE, described(2, PERSON)),
        (PREPARE, error(-272, 0, token="sysattrtypes") + EOT),
        (opening(2), literal_row("ROW('Ann',7)") + done(1) + EOT),
        closing(2),
    ) as (conn, _):
        assert await conn.fetch("select p from t") == [("ROW('Ann',7)",)]


@pytest.mark.parametrize(("code", "isam"), [(-244, -107), (-213, 0)], ids=["locked", "interrupted"])
async def test_a_look_up_that_may_succeed_later_is_an_error_and_repeated(code: int, isam: int) -> None:
    async with talking(
        (PREPARE, described(2, PERSON)),
        (PREPARE, error(code, isam) + EOT),
        release(2),
        (PREPARE, described(4, PERSON)),
        (PREPARE, described(5, *CATALOG)),
        (opening(5), catalog_rows() + done(3) + EOT),
        (opening(4), literal_row("ROW('Ann',7)") + done(1) + EOT),
        closing(5),
        closing(4),
    ) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            await conn.fetch("select p from t")
        assert caught.value.sqlcode == code
        ((person,),) = await conn.fetch("select p from t")
        assert person["name"] == "Ann"


async def test_a_lost_look_up_ends_the_call() -> None:
    async with talking((PREPARE, described(2, PERSON)), (PREPARE, EXIT)) as (conn, _):
        with pytest.raises(ConnectionLost):
            await conn.fetch("select p from t")


async def test_a_literal_that_is_not_understood_names_the_column() -> None:
    async with talking(
        (PREPARE, described(2, TAGS)),
        (
            opening(2),
            literal_row("SET{'a','b'}") + literal_row("SET{'a'") + literal_row("SET{}") + done(3) + EOT,
        ),
        closing(2),
        select_ints(2, 1),
    ) as (conn, _):
        with pytest.raises(
            DataError, match=r"^column 'tags': not a valid literal of SET\(VARCHAR\(9\) NOT NULL\)"
        ):
            await conn.fetch("select tags from t")
        assert await conn.fetch("select c1 from t") == [(1,)]


async def test_json_and_bson_are_objects() -> None:
    json = column("j", TypeCode.UDTVAR, 4096, extended_id=25, owner="informix", extended_name="json")
    bson = column("b", TypeCode.UDTVAR, 4096, extended_id=26, owner="informix", extended_name="bson")
    document = encode_document({"a": 1})
    payload = b"\0\0\0\0\7" + b'{"a":1}' + b"\0" + len(document).to_bytes(4, "big") + document
    async with talking(
        (PREPARE, described(2, json, bson)), (None, raw_row(payload) + done(1) + EOT), closing(2)
    ) as (conn, _):
        assert await conn.fetch("select j, b from t") == [({"a": 1}, {"a": 1})]


async def test_parameters_for_rows_and_documents_are_objects() -> None:
    json = column("j", TypeCode.UDTVAR, 4096, extended_id=25, owner="informix", extended_name="json")
    bson = column("b", TypeCode.UDTVAR, 4096, extended_id=26, owner="informix", extended_name="bson")
    row = column("r", TypeCode.ROW, extended_id=2052, extended_name="ROW(a integer,b varchar(10))")
    types = (json.type, bson.type, row.type, TAGS.type)
    async with talking(
        (PREPARE, described(1, json, bson, row, TAGS, kind=StatementType.INSERT)),
        ("Id(1) DescribeInput", takes(*types)),
        (None, done(1) + EOT),
        release(1),
        (PREPARE, described(1, json, bson, row, TAGS, kind=StatementType.INSERT)),
        ("Id(1) DescribeInput", takes(*types)),
        release(1),
    ) as (conn, peer):
        insert = "insert into t values(?, ?, ?, ?)"
        await conn.execute(insert, [1], {"a": 1}, {"b": "x", "a": 7}, {"tag"})
        bound = peer.groups[2]
        for text in (b"[1]", b"ROW(7,'x')", b"SET{'tag'}"):
            assert b"\0\x2b\0\0\0\0\0\0\0\0" + len(text).to_bytes(4, "big") + text in bound
        document = encode_document({"a": 1})
        assert bytes.fromhex("002c 0008") + b"informix" + b"\0\4bson\0\0\0\0\0\0\0\x0c" + document in bound
        with pytest.raises(DataError, match=r"^parameter 3: field 'a': INTEGER does not accept list"):
            await conn.execute(insert, [1], {"a": 1}, ([], "x"), {"tag"})
