from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import aioifx
import aioifx.arrow
import aioifx.server
from aioifx.client.api.connection import statements_of
from aioifx.client.execution.statement_requests import ret_types_of, statement_request
from aioifx.client.session.server_behavior import ServerBehavior
from aioifx.errors import DatabaseError, ProtocolError, UndefinedTable
from aioifx.sqltypes import TypeCode
from aioifx.testing.messages import ANSI, CLOSED, EOT, column, described, done, error, raw_row
from aioifx.testing.script import COMMIT, PREPARE, Exchange, close, closing, release
from aioifx.wire import requests
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.opcodes import StatementType
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import read_reply
from tests.feeding import feed
from tests.scripted import C1, FLAG, TEXT, talking
from tests.wire.frames import frames


def test_a_request_starts_with_the_id_of_its_statement() -> None:
    assert statement_request(258).detach() == b"\0\4\1\2"


def ret_type_in(data: bytes) -> bytes:
    """The last column of the SQ_RET_TYPE in a frame of put.json, whose rows follow it."""
    return data[data.index(b"\0\x2d") : data.index(b"\0\x11\0\0", 60)]


async def test_a_boolean_is_requested_as_jdbc_requests_it() -> None:
    frame = next(f for f in frames("put") if f.side == "C" and b"boolean" in f.data and b"\0\x64" in f.data)
    wanted = ret_type_in(frame.data)
    assert wanted == bytes.fromhex("002d 0000 0007 626f6f6c65616e 00 00000001")
    ownerless = column(
        "flag", TypeCode.UDTFIXED, 1, extended_id=5, extended_name="boolean"
    )  # as the rig described it
    async with talking(
        (PREPARE, described(2, ownerless)),
        ("Id(2) CurName Open Id(2) RetType(1) Fetch", raw_row(b"\0\0\0\0\1\1") + done(1) + EOT),
        closing(2),
    ) as (conn, peer):
        assert await conn.fetchval("select flag from t") is True
        assert wanted + b"\0\x09" in peer.groups[1]


async def test_an_lvarchar_is_requested_as_43_without_a_name_and_the_other_columns_as_they_are() -> None:
    row = b"\0\0\0\7" + b"\0\0\0\0\3abc"
    async with talking(
        (PREPARE, described(2, C1, TEXT)),
        ("Id(2) CurName Open Id(2) RetType(2) Fetch", raw_row(row) + done(1) + EOT),
        closing(2),
    ) as (conn, peer):
        assert await conn.fetch("select c1, text from t") == [(7, "abc")]
        asked = bytes.fromhex("0064 0001 00020002 00000004002b 0000 0000 00000800")
        assert asked + b"\0\x09" in peer.groups[1]


@pytest.mark.parametrize("case", ["ret_type_owner", "ret_type_no_owner"])
def test_the_forms_that_are_requested_name_the_owners_that_were_described(case: str) -> None:
    _, prepared, _, _, asked, *_ = [frame.data for frame in frames("owners15") if frame.case == case]
    described, _ = feed(lambda inbox: read_reply(inbox, Capabilities()), [prepared])
    assert described.description is not None
    outbox = Outbox()
    requests.put_ret_type(outbox, Capabilities(), ret_types_of(described.description.columns))
    assert outbox.detach() == asked[4:].removesuffix(b"\0\x09\0\0\x20\0\0\0" + EOT)


def test_nothing_is_requested_where_a_column_is_a_row_or_a_collection() -> None:
    """Without any SQ_RET_TYPE they come as text (observed: 12.10, 14.10 and 15)."""
    assert [form.code for form in ret_types_of([C1, FLAG])] == [TypeCode.INTEGER, TypeCode.BOOLEAN]
    for kind in (TypeCode.ROW, TypeCode.SET, TypeCode.MULTISET, TypeCode.LIST, TypeCode.COLLECTION):
        assert ret_types_of([C1, FLAG, column("c", kind)]) == ()


@pytest.mark.parametrize(
    ("case", "value"),
    [
        ("json_read", {"a": 1}),
        ("bson_read", {"a": 1}),
        ("row_read", ("Alice", 30)),
        ("set_read", {1, 2}),
        ("list_read", ["ab", "cd"]),
    ],
)
async def test_described_values_are_objects_and_documents_are_requested_as_by_jdbc(
    case: str, value: object
) -> None:
    recorded = [frame for frame in frames("types15") if frame.case == case]
    describing = next(frame.data for frame in recorded if frame.data[:2] == b"\0\x08")
    rows = next(frame.data for frame in recorded if frame.data[:2] == b"\0\x0e")
    asking = next(frame.data for frame in recorded if frame.side == "C" and b"\0\x64" in frame.data[4:8])
    async with talking((PREPARE, describing), (None, rows), closing(0)) as (conn, peer):
        assert await conn.fetch("select * from t") == [(value, 1234567)]
        types = asking[4 : asking.index(b"\0\x09\0\0")]
        # A literal is text, which only a request without types gives (observed: 12.10 to 15).
        assert (types in peer.groups[1]) is (case in ("json_read", "bson_read"))


# -- servers that do not take it in the group of OPEN ------------------------------------------------------------------

TRUE = raw_row(b"\0\0\0\0\1\1")
TOGETHER = "Id({0}) CurName Open Id({0}) RetType(1) Fetch(32767)"
OPEN_ALONE = "Id({0}) CurName Open"
FETCH_WITH_TYPES = "Id({0}) RetType(1) Fetch(32767)"


def flags(statement_id: int, **options: Any) -> Exchange:
    return PREPARE, described(statement_id, FLAG, **options)


async def test_at_an_unknown_server_it_is_tried_and_remembered() -> None:
    async with talking(
        flags(1),
        (TOGETHER.format(1).replace("32767", "4096"), TRUE + CLOSED + done(1) + EOT),
        release(1),
        behavior=ServerBehavior(),
    ) as (conn, _):
        assert await conn.fetchval("select flag from t") is True
        assert conn.server_behavior.ret_type_with_open is True


@pytest.mark.parametrize("sqlcode", [-408, -201, -999, -206, -29_999])
async def test_a_refusal_is_followed_by_jdbcs_two_groups_and_remembered(sqlcode: int) -> None:
    async with talking(
        flags(1),
        (TOGETHER.format(1), error(sqlcode) + EOT),
        (OPEN_ALONE.format(1), EOT),
        (FETCH_WITH_TYPES.format(1), TRUE + CLOSED + done(1) + EOT),
        release(1),
        flags(2),
        (OPEN_ALONE.format(2), EOT),
        (FETCH_WITH_TYPES.format(2), TRUE + CLOSED + done(1) + EOT),
        release(2),
        behavior=ServerBehavior(),
    ) as (conn, _):
        for _ in range(2):
            assert await conn.fetch("select flag from t") == [(True,)]
            assert conn.server_behavior.ret_type_with_open is False


async def test_the_fetch_size_is_not_blamed_for_a_refusal() -> None:
    async with talking(
        (PREPARE, described(1, FLAG)),
        (TOGETHER.format(1).replace("32767", "1000000"), error(-408) + EOT),
        (OPEN_ALONE.format(1), EOT),
        (FETCH_WITH_TYPES.format(1).replace("32767", "1000000"), TRUE + CLOSED + done(1) + EOT),
        release(1),
        fetch_size=1_000_000,
        behavior=ServerBehavior(),
    ) as (conn, _):
        assert await conn.fetch("select flag from t") == [(True,)]
        assert statements_of(conn).session.fetch_buffer.size == 1_000_000
        assert conn.server_behavior.ret_type_with_open is False


async def test_a_refused_size_says_nothing_of_the_types() -> None:
    types = FETCH_WITH_TYPES.format(1)
    async with talking(
        (PREPARE, described(1, FLAG)),
        (TOGETHER.format(1).replace("32767", "1000000"), error(-408) + EOT),
        (OPEN_ALONE.format(1), EOT),
        (types.replace("32767", "1000000"), error(-408) + EOT),
        (OPEN_ALONE.format(1), EOT),
        (types, TRUE + CLOSED + done(1) + EOT),
        release(1),
        fetch_size=1_000_000,
        behavior=ServerBehavior(),
    ) as (conn, _):
        assert await conn.fetch("select flag from t") == [(True,)]
        assert statements_of(conn).session.fetch_buffer.size == 32767
        assert conn.server_behavior.ret_type_with_open is None


async def test_an_opening_without_a_fetch_says_nothing_of_the_size() -> None:
    async with talking(
        (PREPARE, described(1, FLAG)),
        (OPEN_ALONE.format(1), error(-408) + EOT),
        closing(1),
        fetch_size=1_000_000,
        behavior=ServerBehavior(ret_type_with_open=False),
    ) as (conn, _):
        with pytest.raises(DatabaseError):
            await conn.fetch("select flag from t")
        assert statements_of(conn).session.fetch_buffer.size == 1_000_000


async def test_a_statement_that_may_be_opened_again_is_not_to_go_with_its_cursor() -> None:
    """OPEN may close the cursor of the refused group, and AUTOFREE would release the statement."""
    async with talking(
        flags(1),
        (TOGETHER.format(1), error(-408) + EOT),
        (OPEN_ALONE.format(1), EOT),
        (FETCH_WITH_TYPES.format(1), TRUE + CLOSED + done(1) + EOT),
        release(1),
        flags(2),
        (OPEN_ALONE.format(2).replace("Open", "AutoFree Open"), EOT),
        (FETCH_WITH_TYPES.format(2), TRUE + CLOSED + done(1) + EOT),
        autofree=True,
        behavior=ServerBehavior(),
    ) as (conn, _):
        for _ in range(2):
            assert await conn.fetch("select flag from t") == [(True,)]


async def test_in_an_ansi_database_the_cursor_is_closed_before_it_is_opened_again() -> None:
    async with talking(
        flags(1),
        (TOGETHER.format(1), error(-408) + EOT),
        close(1),
        (OPEN_ALONE.format(1), EOT),
        (FETCH_WITH_TYPES.format(1), TRUE + CLOSED + done(1) + EOT),
        release(1),
        COMMIT,
        warnings=ANSI,
        behavior=ServerBehavior(),
    ) as (conn, _):
        assert await conn.fetch("select flag from t") == [(True,)]


async def test_after_a_reply_that_cannot_be_read_another_connection_sends_jdbcs_two_groups() -> None:
    behavior = ServerBehavior()
    async with talking(flags(1), (TOGETHER.format(1), b"\x7f\x7f\0\0"), behavior=behavior) as (conn, _):
        with pytest.raises(ProtocolError):
            await conn.fetch("select flag from t")
    async with talking(
        flags(1),
        (OPEN_ALONE.format(1), EOT),
        (FETCH_WITH_TYPES.format(1), TRUE + CLOSED + done(1) + EOT),
        release(1),
        behavior=behavior,
    ) as (conn, _):
        assert await conn.fetch("select flag from t") == [(True,)]


async def test_an_error_that_both_forms_have_is_the_statements_own() -> None:
    async with talking(
        flags(1),
        (TOGETHER.format(1), error(-206) + EOT),
        (OPEN_ALONE.format(1), error(-206) + EOT),
        closing(1),
        behavior=ServerBehavior(),
    ) as (conn, _):
        with pytest.raises(UndefinedTable):
            await conn.fetch("select flag from t")
        assert conn.server_behavior.ret_type_with_open is None


@pytest.mark.parametrize(
    ("sqlcode", "isamcode"), [(-213, 0), (-244, -107), (-1202, 0), (-272, 0), (-268, -100)]
)
async def test_an_error_of_the_rows_is_not_tried_again(sqlcode: int, isamcode: int) -> None:
    async with talking(
        flags(1), (TOGETHER.format(1), error(sqlcode, isamcode) + EOT), closing(1), behavior=ServerBehavior()
    ) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            await conn.fetch("select flag from t")
        assert caught.value.sqlcode == sqlcode
        assert conn.server_behavior.ret_type_with_open is None


async def test_a_routine_is_opened_as_jdbc_does_it_until_the_server_is_known() -> None:
    routine = {"kind": StatementType.EXECUTE_ROUTINE}
    async with talking(
        flags(1, **routine),
        (OPEN_ALONE.format(1), EOT),
        (FETCH_WITH_TYPES.format(1), TRUE + CLOSED + done(1) + EOT),
        release(1),
        behavior=ServerBehavior(),
    ) as (conn, _):
        assert await conn.fetch("execute function f()") == [(True,)]
    async with talking(
        flags(1, **routine),
        (TOGETHER.format(1), TRUE + CLOSED + done(1) + EOT),
        release(1),
        behavior=ServerBehavior(ret_type_with_open=True),
    ) as (conn, _):
        assert await conn.fetch("execute function f()") == [(True,)]


async def _by_cursor(conn: aioifx.Connection, sql: str) -> list[Any]:
    async with conn.cursor() as cursor:
        await cursor.execute(sql)
        return await cursor.fetchall()


async def _by_prepared(conn: aioifx.Connection, sql: str) -> list[Any]:
    async with await conn.prepare(sql) as statement:
        assert await statement.fetch() == await statement.fetch()
        return await statement.fetch()


async def _by_stream(conn: aioifx.Connection, sql: str) -> list[Any]:
    return [row async for row in conn.stream(sql)]


async def _by_arrow(conn: aioifx.Connection, sql: str) -> list[Any]:
    pytest.importorskip("pyarrow")
    table: Any = await aioifx.arrow.fetch_arrow(conn, sql)
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize("mask", [frozenset[str](), frozenset({"no-bit-70"})], ids=["bit 70", "no bit 70"])
@pytest.mark.parametrize(
    "way", [lambda conn, sql: conn.fetch(sql), _by_cursor, _by_prepared, _by_stream, _by_arrow]
)
async def test_every_call_works_at_a_server_that_refuses_it(
    way: Callable[[aioifx.Connection, str], Awaitable[list[Any]]], mask: frozenset[str]
) -> None:
    sql, expected = "SELECT b, l FROM t ORDER BY n", [(True, "x"), (None, None), (False, "y" * 300)]
    quirks = mask | {"separate-ret-type"}
    async with aioifx.server.serve(aioifx.server.ServerOptions(quirks=quirks)) as server:
        async with aioifx.connect(server.dsn) as conn:
            await conn.execute("CREATE TABLE t (n SERIAL, b BOOLEAN, l LVARCHAR(500))")
            await conn.executemany("INSERT INTO t (b, l) VALUES (?, ?)", expected)
            assert await way(conn, sql) == expected
            assert conn.server_behavior.ret_type_with_open is False
            assert await conn.fetch(f"{sql[:-11]} WHERE n = ?", 1) == expected[:1]
        async with aioifx.create_pool(server.dsn) as pool:
            assert await pool.fetch(sql) == expected
