"""Statements against a scripted peer: JDBC's transcripts, the end of rows, addressing, cleaning up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from aioifx.client.api.connection import Connection
from aioifx.client.execution.statement import _ret_types_of
from aioifx.errors import (
    ConnectionLost,
    DataError,
    Deadlock,
    InterfaceError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    ProtocolError,
    RowLocked,
    SQLSyntaxError,
    UndefinedTable,
    UniqueViolation,
)
from aioifx.rows import tuple_row
from aioifx.sqltypes import SqlType, TypeCode
from aioifx.wire import requests
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.opcodes import StatementType
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import read_reply
from aioifx.wire.requests import CurName
from tests.feeding import feed
from tests.scripted import (
    C1,
    CHUNKINGS,
    COMMAND,
    EOT,
    FLAG,
    INTEGER,
    PREPARE,
    TEXT,
    Chunking,
    Delayed,
    Exchange,
    at_random,
    byte_by_byte,
    cancel_at,
    close,
    closing,
    column,
    described,
    done,
    error,
    executed,
    fetching,
    in_one_group,
    ints,
    opening,
    played,
    raw_row,
    release,
    select_ints,
    takes,
    talking,
    whole,
    without_describe_input,
)
from tests.wire.frames import frames

pytestmark = pytest.mark.usefixtures("tidy")

buffered_or_not = pytest.mark.parametrize("read_ahead", [True, False], ids=["in runs", "field by field"])
any_chunks = pytest.mark.parametrize("chunks", CHUNKINGS, ids=lambda chunks: chunks.__name__)


# -- law: for the same call we send what JDBC sent, byte for byte ------------------------------------------------------


class Call(NamedTuple):
    """A call of ours and JDBC's transcript of the same."""

    file: str
    case: str
    calls: Callable[[Connection], Awaitable[Any]]
    result: Any
    round_trips: int
    changed: Callable[[list[Exchange]], list[Exchange]] = list
    options: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return f"{self.case}"


def rows_of(count: int) -> list[tuple[int, str, str]]:
    """What the rig's tables of three columns hold."""
    return [(n, f"name{n}", f"row {n}".ljust(40)) for n in range(1, count + 1)]


async def _run_prepared(conn: Connection, sql: str, *params: tuple[Any, ...]) -> list[Any]:
    """Execute a statement once for each set of parameters."""
    async with await conn.prepare(sql) as statement:
        return [(await statement.execute(*values)).rowcount for values in params]


async def _fetch_prepared(conn: Connection, sql: str, *params: tuple[Any, ...]) -> list[Any]:
    async with await conn.prepare(sql) as statement:
        return [await statement.fetch(*values) for values in params]


async def _two_prepared(conn: Connection) -> list[Any]:
    one = await conn.prepare("update t set a=?")
    two = await conn.prepare("select rows_5 from t where a=?")
    results: list[Any] = []
    for number in range(2):
        results.append((await one.execute(number)).rowcount)
        results.append(await two.fetch(number))
    await one.close()
    await two.close()
    return results


async def _read_one(conn: Connection) -> Any:
    async with conn.stream("select rows_200 from t", prefetch=False) as stream:
        return await anext(stream)


async def _interleaved(conn: Connection) -> list[Any]:
    # JDBC fetches when a row is wanted.
    one = conn.stream("select rows_200 from t", prefetch=False)
    two = conn.stream("select rows_200 from u", prefetch=False)
    read: tuple[list[Any], list[Any]] = [], []
    blocks = one.blocks(), two.blocks()
    for _ in range(3):
        for rows, block in zip(read, blocks, strict=True):
            rows += await anext(block)
    return [*read]


async def _after_a_syntax_error(conn: Connection) -> Any:
    with pytest.raises(SQLSyntaxError) as caught:
        await conn.fetch("select prep_err_201 frm t")
    assert (caught.value.sqlcode, caught.value.isamcode) == (-201, -111)
    assert (caught.value.offset, caught.value.token) == (14, "t_missing")
    assert caught.value.sql == "select prep_err_201 frm t"
    return await conn.fetch("select c1 from t")


async def _failing(conn: Connection, sql: str, kind: type[Exception]) -> Any:
    with pytest.raises(kind) as caught:
        await conn.fetch(sql)
    return caught.value.args[0]


async def _duplicate_twice(conn: Connection) -> None:
    async with await conn.prepare("insert into exec_err_268 values(?)") as statement:
        for _ in range(2):
            with pytest.raises(UniqueViolation, match="u100_1") as caught:
                await statement.execute(1)
            assert (caught.value.isamcode, caught.value.sqlstate) == (-100, "23000")


def _holding(script: list[Exchange]) -> list[Exchange]:
    """A difference on purpose: our streams outlive a COMMIT of another task; JDBC's are asked to (holdable_int)."""
    return [
        (request.replace(b"\0\6\0\4", b"\0\x2b\0\6\0\4"), answer)
        for request, answer in script
        if isinstance(request, bytes)
    ]


def _renumbered_interleaving(script: list[Exchange]) -> list[Exchange]:
    """Both read two cursors alternately; JDBC closes them at the end, we close each after its last block."""
    script = _holding(in_one_group(script))
    first, second, (close1, release1, close2, release2) = script[0:6], script[6:8], script[8:12]
    assert len(script) == 12
    return [*first, second[0], close1, release1, second[1], close2, release2]


def _without_commit(script: list[Exchange]) -> list[Exchange]:
    """A deliberate difference: JDBC commits after a failed statement in autocommit mode; no transaction can be open."""
    return [turn for turn in script if turn[0] != b"\0\x13" + EOT]


FETCH_4096 = {"fetch_size": 4096}
AUTOFREE = {"autofree": True}
CALLS = [
    Call(
        "select", "statement_select_int", lambda c: c.fetch("select c1 from t"), [(1,)], 4, list, FETCH_4096
    ),
    Call(
        "select",
        "sql_latin1",
        lambda c: c.fetch("select c1 from t where n='Grüße'"),
        [(1,)],
        4,
        list,
        FETCH_4096,
    ),
    Call(
        "select",
        "sql_utf8",
        lambda c: c.fetch("select c1 from t where n='Grüße € 😀'"),
        [(1,)],
        4,
        lambda script: [
            (
                request.replace(b"_ifxc0000000000000", b"_ifxc0000000000001"),
                answer,
            )  # JDBC asked nothing before
            for request, answer in script
            if isinstance(request, bytes)
        ],
        FETCH_4096 | {"locale": "en_US.utf8"},
    ),
    Call(
        "select",
        "wide_row",
        lambda c: c.fetch("select widerow from t"),
        [(f"w{n}".ljust(5000),) for n in range(3)],
        6,
        list,
        FETCH_4096,
    ),
    Call(
        "select",
        "empty_result",
        lambda c: c.fetch("select rows_0 from t"),
        [],
        4,
        lambda script: _once(script),
        FETCH_4096,
    ),
    Call(
        "select",
        "statement_select_varchar",
        lambda c: c.fetch("select rows_5 from t"),
        rows_of(5),
        4,
        in_one_group,
        FETCH_4096,
    ),
    Call(
        "select",
        "fet_buf_size_1024",
        lambda c: c.fetch("select rows_60 from t"),
        rows_of(60),
        4,
        in_one_group,
        FETCH_4096,
    ),
    Call(
        "select",
        "fet_buf_size_32767",
        lambda c: c.fetch("select rows_60 from t"),
        rows_of(60),
        4,
        in_one_group,
    ),
    Call(
        "select",
        "fet_buf_size_100000",
        lambda c: c.fetch("select rows_60 from t"),
        rows_of(60),
        4,
        in_one_group,
        {"fetch_size": 100_000},
    ),
    Call(
        "select",
        "multibatch_done_last",
        lambda c: c.fetch("select rows_200 from t"),
        rows_of(200),
        6,
        in_one_group,
        FETCH_4096,
    ),
    Call(
        "select",
        "multibatch_done_each",
        lambda c: c.fetch("select rows_200 from t"),
        rows_of(200),
        6,
        in_one_group,
        FETCH_4096,
    ),
    Call(
        "select",
        "optofc_server_closes",
        lambda c: c.fetch("select rows_200 from t"),
        rows_of(200),
        5,
        in_one_group,
        FETCH_4096,
    ),
    Call(
        "select",
        "noopt_server_closes",
        lambda c: c.fetch("select rows_5 from t"),
        rows_of(5),
        3,
        in_one_group,
        FETCH_4096,
    ),
    Call(
        "select",
        "interleaved",
        _interleaved,
        [rows_of(200), rows_of(200)],
        12,
        _renumbered_interleaving,
        FETCH_4096,
    ),
    Call(
        "select",
        "optofc_early_close",
        _read_one,
        (1, "name1", "row 1".ljust(40)),
        4,
        lambda script: _holding(in_one_group(script)),
        FETCH_4096,
    ),
    Call(
        "select",
        "autofree_int",
        lambda c: c.fetch("select c1 from t"),
        [(1,)],
        3,
        list,
        FETCH_4096 | AUTOFREE,
    ),
    Call(
        "select",
        "autofree",
        lambda c: c.fetch("select rows_5 from t"),
        rows_of(5),
        3,
        in_one_group,
        FETCH_4096 | AUTOFREE,
    ),
    Call(
        "select",
        "autofree_optofc",
        lambda c: c.fetch("select rows_5 from t"),
        rows_of(5),
        3,
        in_one_group,
        FETCH_4096 | AUTOFREE,
    ),
    Call(
        "select",
        "optofc_autofree_server_closes",
        lambda c: c.fetch("select rows_200 from t"),
        rows_of(200),
        4,
        in_one_group,
        FETCH_4096 | AUTOFREE,
    ),
    Call("select", "dml_insert", lambda c: c.execute("insert into t values (1,'a')"), None, 1),
    Call("select", "dml_update", lambda c: c.execute("update t set a=1 where b=2"), None, 1),
    Call("select", "dml_delete", lambda c: c.execute("delete from t where b=2"), None, 1),
    Call("select", "ddl_create", lambda c: c.execute("create temp table x (a int)"), None, 1),
    Call(
        "prepared",
        "select_int_int",
        lambda c: c.fetch("select c1 from t where a=?", 42),
        [(1,)],
        5,
        list,
        FETCH_4096,
    ),
    Call(
        "prepared",
        "select_int_param",
        lambda c: _fetch_prepared(c, "select rows_5 from t where a=?", (42,), (43,)),
        [rows_of(5), rows_of(5)],
        7,
        in_one_group,
        FETCH_4096,
    ),
    Call(
        "prepared",
        "select_noparam",
        lambda c: _fetch_prepared(c, "select rows_5 from t", (), ()),
        [rows_of(5), rows_of(5)],
        6,
        lambda script: in_one_group(without_describe_input(script)),
        FETCH_4096,
    ),
    Call(
        "select",
        "optofc_prepared",
        lambda c: _fetch_prepared(c, "select rows_5 from t where a=?", (0,), (1,)),
        [rows_of(5), rows_of(5)],
        7,
        in_one_group,
        FETCH_4096,
    ),
    Call(
        "select",
        "optofc_server_closes_prepared",
        lambda c: _fetch_prepared(c, "select rows_5 from t where a=?", (0,), (1,)),
        [rows_of(5), rows_of(5)],
        5,
        in_one_group,
        FETCH_4096,
    ),
    Call(
        "prepared",
        "insert_params",
        lambda c: _run_prepared(
            c, "insert into tput values(?,?,?)", *((n, f"v{n}", Decimal("12.50")) for n in range(2))
        ),
        [1, 1],
        5,
    ),
    Call(
        "prepared",
        "update_params",
        lambda c: _run_prepared(c, "update t set a=?,b=? where c=?", *((n, f"v{n}", 7) for n in range(3))),
        [1, 1, 1],
        6,
    ),
    Call(
        "prepared",
        "delete_noparam",
        lambda c: _run_prepared(c, "delete from t", (), ()),
        [1, 1],
        4,
        without_describe_input,
    ),
    Call(
        "prepared",
        "ddl_prepared",
        lambda c: _run_prepared(c, "create table x (a int)", ()),
        [0],
        3,
        without_describe_input,
    ),
    Call(
        "prepared",
        "two_prepared_interleaved",
        _two_prepared,
        [1, rows_of(5), 1, rows_of(5)],
        12,
        in_one_group,
        FETCH_4096,
    ),
    Call("errors", "prepare_201", _after_a_syntax_error, [(1,)], 5, list, FETCH_4096),
    Call(
        "errors",
        "open_244",
        lambda c: _failing(c, "select open_err_244 from t", RowLocked),
        None,
        4,
        list,
        FETCH_4096,
    ),
    Call(
        "errors",
        "fetch_243",
        lambda c: _failing(c, "select fetch_err_243 from t", Deadlock),
        None,
        5,
        list,
        FETCH_4096,
    ),
    Call("errors", "exec_268", _duplicate_twice, None, 5, _without_commit),
]


def _once(script: list[Exchange]) -> list[Exchange]:
    """A difference on purpose: an empty reply to the first fetch makes JDBC ask once more; nothing can follow it."""
    script = in_one_group(script)
    return script[:2] + script[3:]


@pytest.mark.parametrize(
    ("chunks", "read_ahead"), [(whole, True), (byte_by_byte, True), (whole, False), (at_random, False)]
)
@pytest.mark.parametrize("call", CALLS, ids=repr)
async def test_what_we_send_is_what_jdbc_sent(call: Call, read_ahead: bool, chunks: Chunking) -> None:
    script = call.changed(played(call.file, call.case))
    async with talking(
        script, chunks=chunks, read_ahead=read_ahead, row_factory=tuple_row, **(call.options or {})
    ) as (conn, _):
        result = await call.calls(conn)
        assert conn.stats.round_trips == call.round_trips == len(script)
    if call.result is not None:
        assert result == call.result


def ret_type_in(data: bytes) -> bytes:
    """The last column of the SQ_RET_TYPE in a frame of put.json, whose rows follow it."""
    return data[data.index(b"\0\x2d") : data.index(b"\0\x11\0\0", 60)]


async def test_a_boolean_is_asked_for_as_jdbc_asks_for_it() -> None:
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


async def test_an_lvarchar_is_asked_for_as_43_without_a_name_and_the_other_columns_as_they_are() -> None:
    row = b"\0\0\0\7" + b"\0\0\0\0\3abc"
    async with talking(
        (PREPARE, described(2, C1, TEXT)),
        ("Id(2) CurName Open Id(2) RetType(2) Fetch", raw_row(row) + done(1) + EOT),
        closing(2),
    ) as (conn, peer):
        assert await conn.fetch("select c1, text from t") == [(7, "abc")]
        asked = bytes.fromhex("0064 0001 00020002 00000004002b 0000 0000 00000800")
        assert asked + b"\0\x09" in peer.groups[1]


async def test_ret_type_is_sent_with_the_first_fetch_only() -> None:
    """As JDBC does: what a cursor was asked for holds for later executions of the same statement."""
    answer = raw_row(b"\0\0\0\0\1\1") + done(1) + EOT
    async with (
        talking(
            (PREPARE, described(2, FLAG)),
            ("Id(2) CurName Open Id(2) RetType(1) Fetch", answer),
            close(2),
            ("Id(2) CurName Open Id(2) Fetch", answer),
            close(2),
            release(2),
        ) as (conn, _),
        await conn.prepare("select flag from t") as statement,
    ):
        assert [await statement.fetchval(), await statement.fetchval()] == [True, True]


async def test_a_cursor_keeps_its_name_and_every_statement_has_its_own() -> None:
    async with talking(
        (PREPARE, described(2, C1)),
        (opening(2), done(0) + EOT),
        close(2),
        (opening(2), done(0) + EOT),
        close(2),
        release(2),
        select_ints(2, 1),
    ) as (conn, peer):
        async with await conn.prepare("select c1 from t") as statement:
            await statement.fetch()
            await statement.fetch()
        await conn.fetch("select c1 from t")
        names = [request.name for group in peer.requests for request in group if isinstance(request, CurName)]
        assert names == [b"_ifxc%013d" % n for n in (1, 1, 2)]


# -- the end of rows --------------------------------------------------------------------------------------------------


@buffered_or_not
@any_chunks
@pytest.mark.parametrize(
    ("blocks", "rows"),
    [
        ([ints(1, 2) + done(2) + EOT], 2),  # DONE with rows: the last block
        (
            [ints(1, 2) + EOT, done(0) + EOT],
            2,
        ),  # tuples without DONE: fetch on; a reply without tuples: the end
        (
            [ints(1, 2) + done(0) + EOT, EOT],
            2,
        ),  # DONE with rows 0 after tuples: fetch on; a bare EOT ends it too
        ([ints(1, 2) + done(0) + EOT, ints(3) + done(3) + EOT], 3),
        ([ints(1) + EOT, ints(2) + EOT, ints(3) + EOT, done(3) + EOT], 3),
        ([done(0) + EOT], 0),
        ([EOT], 0),
    ],
)
async def test_rows_end_where_jdbc_ends_them(
    blocks: list[bytes], rows: int, read_ahead: bool, chunks: Chunking
) -> None:
    async with talking(
        (PREPARE, described(0, C1)),
        (opening(0), blocks[0]),
        [(fetching(0), block) for block in blocks[1:]],
        closing(0),
        chunks=chunks,
        read_ahead=read_ahead,
    ) as (conn, _):
        assert await conn.fetch("select c1 from t") == [(n + 1,) for n in range(rows)]
        assert conn.stats.rows == rows


async def test_a_cursor_that_the_server_closed_gets_no_close() -> None:
    async with talking(
        (PREPARE, described(0, C1)),
        (opening(0), ints(1) + b"\0\x0a" + done(0) + EOT),  # SQ_CLOSE ends it, though DONE has no rows
        release(0),
    ) as (conn, _):
        assert await conn.fetch("select c1 from t") == [(1,)]


async def test_the_first_row_asks_for_the_least_buffer_and_for_no_more_than_one_block() -> None:
    async with talking(
        (PREPARE, described(0, C1)),
        (opening(0, 4096), ints(7, 8, 9) + EOT),
        closing(0),
    ) as (conn, _):
        assert await conn.fetchrow("select c1 from t") == (7,)


MARKS = ", ".join("?" * 32_768)
VERY_MANY = tuple(range(32_768))


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
async def test_more_parameters_than_a_count_can_tell_are_refused(
    call: Callable[[Connection], Awaitable[object]],
) -> None:
    async with talking() as (conn, _):
        with pytest.raises(InterfaceError, match="32768 parameters: a statement takes 32767 at most"):
            await call(conn)


async def test_as_many_parameters_as_a_count_can_tell_are_sent() -> None:
    sql = f"delete from t where c1 in ({MARKS[3:]})"
    async with talking(
        (PREPARE, described(0, kind=StatementType.DELETE)),
        (None, takes(*[INTEGER] * 32_767)),
        (None, done(7) + EOT),
        release(0),
    ) as (conn, peer):
        assert (await conn.execute(sql, *VERY_MANY[1:])).rowcount == 7
        assert peer.groups[2].count(bytes.fromhex("0002 0000 0a00")) == 32_767


async def test_a_query_that_is_executed_has_its_rows_counted() -> None:
    async with talking(
        (PREPARE, described(0, C1)),
        (opening(0), ints(7, 8, 9) + EOT),
        (fetching(0), ints(7) + done(4) + EOT),
        closing(0),
    ) as (conn, _):
        assert (await conn.execute("select c1 from t")).rowcount == 4


async def test_short_layouts_are_used_where_the_server_has_no_others() -> None:
    capabilities = Capabilities(long_text=False, bigint=False)
    async with talking(
        (
            bytes.fromhex("0002 0000 0010") + b"select c1 from t" + bytes.fromhex("0016 0031 000c"),
            described(3, C1, capabilities=capabilities),
        ),
        (None, ints(5) + done(1) + EOT),
        closing(3),
        capabilities=capabilities,
        peer_dialect=capabilities,
    ) as (conn, _):
        assert await conn.fetch("select c1 from t") == [(5,)]


async def test_wide_dones_and_describes_are_read_where_both_ends_have_bits_69_and_70() -> None:
    capabilities = Capabilities(long_tuple=True, long_rowid=True)
    async with talking(
        (PREPARE, described(3, C1, row_size=100_000, capabilities=capabilities)),
        (opening(3, 100_000), ints(5) + done(2**40, capabilities=capabilities) + EOT),
        closing(3),
        capabilities=capabilities,
        peer_dialect=capabilities,
    ) as (conn, _):
        assert await conn.fetch("select c1 from t") == [(5,)]


# -- statements that go with their cursors ---------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [error(-243, -143) + EOT, error(-213) + EOT])
async def test_one_whose_cursor_did_not_open_is_released_since_nothing_has_freed_it(answer: bytes) -> None:
    async with talking(
        (PREPARE, described(2, C1)), (opening(2, freed=True), answer), closing(2), autofree=True
    ) as (
        conn,
        _,
    ):
        with pytest.raises(OperationalError):
            await conn.fetch("select c1 from t")


async def test_one_whose_opening_was_cancelled_is_released_too() -> None:
    held = Delayed(error(-213) + EOT)
    async with talking(
        (PREPARE, described(2, C1)), (opening(2, freed=True), held), closing(2), autofree=True
    ) as (
        conn,
        _,
    ):
        await cancel_at(held, conn.fetch("select c1 from t"))
        held.release()


async def test_one_without_rows_is_released() -> None:
    async with talking(
        (PREPARE, described(2, kind=StatementType.UPDATE)),
        ("Id(2) Execute", done(1) + EOT),
        release(2),
        autofree=True,
    ) as (conn, _):
        await conn.fetch("update t set a = 1")


async def test_one_that_the_user_prepared_stays_for_its_next_execution() -> None:
    async with talking(
        (PREPARE, described(2, C1)),
        [(opening(2), ints(1) + done(1) + EOT), close(2)] * 2,
        release(2),
        autofree=True,
    ) as (conn, _):
        async with await conn.prepare("select c1 from t") as statement:
            assert [await statement.fetch() for _ in range(2)] == [[(1,)], [(1,)]]


async def test_one_that_is_kept_does_not_go_with_its_cursor() -> None:
    async with talking(
        (PREPARE, described(2, C1)),
        [(opening(2), ints(1) + done(1) + EOT), close(2)] * 2,
        autofree=True,
        statement_cache_size=1,
    ) as (conn, _):
        assert [await conn.fetch("select c1 from t") for _ in range(2)] == [[(1,)], [(1,)]]


# -- what a statement is ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sql", ["{ hello } select 1 from t", "(select 1 from t)", "with x as (select 1) select 1"]
)
async def test_the_server_decides_what_returns_rows(sql: str) -> None:
    async with talking(select_ints(1, 6)) as (conn, _):
        assert await conn.fetch(sql) == [(6,)]


async def test_a_routine_returns_rows_if_it_describes_columns() -> None:
    async with talking(
        (PREPARE, described(1, C1, kind=StatementType.EXECUTE_ROUTINE)),
        (opening(1), ints(3) + done(1) + EOT),
        closing(1),
        (PREPARE, described(1, kind=StatementType.EXECUTE_ROUTINE)),
        ("Id(1) Execute", done(0) + EOT),
        release(1),
    ) as (conn, _):
        assert await conn.fetch("execute function f()") == [(3,)]
        assert await conn.fetch("execute procedure p()") == []


async def test_an_insert_that_describes_columns_returns_no_rows() -> None:
    async with talking(
        (PREPARE, described(1, C1, kind=StatementType.INSERT)),
        ("Id(1) DescribeInput", takes(INTEGER)),
        ("Id(1) Bind(1) Execute", done(1) + EOT),
        release(1),
    ) as (conn, _):
        assert await conn.fetch("insert into t values(?)", 1) == []


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


async def test_a_value_that_is_compared_may_exceed_the_described_type() -> None:
    async with talking(
        (PREPARE, described(1, C1)),
        ("Id(1) DescribeInput", takes(SqlType(TypeCode.SMALLINT, 2))),
        (opening(1, bound=True), ints(4) + done(1) + EOT),
        closing(1),
    ) as (conn, _):
        assert await conn.fetch("select c1 from t where a < ?", 100_000) == [(4,)]


async def test_a_value_that_is_stored_may_not() -> None:
    async with talking(
        (PREPARE, described(1, column("a", TypeCode.SMALLINT, 2), kind=StatementType.INSERT)),
        ("Id(1) DescribeInput", takes(SqlType(TypeCode.SMALLINT, 2))),
        release(1),
    ) as (conn, _):
        with pytest.raises(DataError, match="parameter 1"):
            await conn.execute("insert into t values(?)", 100_000)


# -- several statements -----------------------------------------------------------------------------------------------


@buffered_or_not
async def test_two_statements_are_open_at_once_and_each_is_addressed_by_its_id(read_ahead: bool) -> None:
    async with talking(
        (PREPARE, described(2, C1)),
        (opening(2, hold=True), ints(1, 2) + EOT),
        (PREPARE, described(3, C1)),
        (opening(3, hold=True), ints(10) + EOT),
        (fetching(2), ints(3) + EOT),
        (fetching(3), ints(20) + done(2) + EOT),
        closing(3),
        (fetching(2), done(3) + EOT),
        closing(2),
        read_ahead=read_ahead,
    ) as (conn, _):
        two = conn.stream("select c1 from t", prefetch=False)
        three = conn.stream("select c1 from u", prefetch=False)
        assert [await anext(two), await anext(three), await anext(two), await anext(two)] == [
            (1,),
            (10,),
            (2,),
            (3,),
        ]
        assert [row async for row in three] == [(20,)]
        assert [row async for row in two] == []


async def test_an_id_that_the_server_gives_again_is_used_for_the_new_statement_only() -> None:
    async with talking(
        select_ints(2, 1),
        (PREPARE, described(2, C1)),
        (COMMAND, executed(3, StatementType.DELETE, 5)),
        (opening(2), ints(9) + done(1) + EOT),
        close(2),
        release(2),
    ) as (conn, _):
        await conn.fetch("select c1 from t")
        statement = await conn.prepare("select c1 from u")
        await conn.execute("delete from t where a = 1")
        assert await statement.fetch() == [(9,)]
        await statement.close()
        await statement.close()


# -- errors -----------------------------------------------------------------------------------------------------------


@buffered_or_not
@any_chunks
async def test_an_error_in_the_middle_of_a_fetch_leaves_the_connection_usable(
    read_ahead: bool, chunks: Chunking
) -> None:
    async with talking(
        (PREPARE, described(4, C1)),
        (opening(4), ints(1, 2) + EOT),
        (fetching(4), ints(3) + error(-243, -143, token="t") + done(0) + EOT),
        closing(4),
        select_ints(4, 5),
        read_ahead=read_ahead,
        chunks=chunks,
    ) as (conn, _):
        with pytest.raises(Deadlock) as caught:
            await conn.fetch("select c1 from t")
        assert caught.value.sql == "select c1 from t"
        assert caught.value.retryable and caught.value.connection_usable
        assert await conn.fetch("select c1 from u") == [(5,)]


async def test_a_statement_that_fails_to_prepare_leaves_nothing_to_release() -> None:
    async with talking(
        (PREPARE, error(-206, -111, offset=15, token="nowhere") + EOT),
        select_ints(0, 1),
    ) as (conn, _):
        with pytest.raises(UndefinedTable, match="nowhere") as caught:
            await conn.fetch("select c1 from nowhere")
        assert (caught.value.sqlstate, caught.value.offset, caught.value.row_index) == ("42S02", 15, None)
        assert await conn.fetch("select c1 from t") == [(1,)]


async def test_a_statement_that_fails_to_execute_is_released() -> None:
    async with talking(
        (PREPARE, described(3, kind=StatementType.UPDATE)),
        ("Id(3) DescribeInput", takes(INTEGER)),
        ("Id(3) Bind Execute", error(-268, -100, token="owner.u1") + EOT),
        release(3),
    ) as (conn, _):
        with pytest.raises(UniqueViolation, match=r"owner\.u1"):
            await conn.execute("update t set a = ?", 1)


@buffered_or_not
@any_chunks
async def test_a_bad_value_in_the_middle_of_a_block_keeps_the_framing(
    read_ahead: bool, chunks: Chunking
) -> None:
    name = column("name", TypeCode.VARCHAR, 10)
    answer = raw_row(b"\2ok") + raw_row(b"\3\xff\xfe!") + raw_row(b"\5later") + done(3) + EOT
    async with talking(
        (PREPARE, described(2, name)),
        (opening(2), answer),
        closing(2),
        select_ints(2, 1),
        read_ahead=read_ahead,
        chunks=chunks,
        locale="en_US.utf8",
    ) as (conn, _):
        with pytest.raises(DataError, match="column 'name'"):
            await conn.fetch("select name from t")
        assert await conn.fetch("select c1 from t") == [(1,)]


async def test_a_bad_value_before_the_end_of_rows_closes_the_cursor() -> None:
    name = column("name", TypeCode.VARCHAR, 10)
    async with talking(
        (PREPARE, described(2, name)),
        (opening(2), raw_row(b"\1\xff") + EOT),
        closing(2),
        locale="en_US.utf8",
    ) as (conn, _):
        with pytest.raises(DataError):
            await conn.fetch("select name from t")


@pytest.mark.parametrize("case", ["ret_type_owner", "ret_type_no_owner"])
def test_the_forms_that_are_asked_for_name_the_owners_that_were_described(case: str) -> None:
    _, prepared, _, _, asked, *_ = [frame.data for frame in frames("owners15") if frame.case == case]
    described, _ = feed(lambda inbox: read_reply(inbox, Capabilities()), [prepared])
    assert described.description is not None
    outbox = Outbox()
    requests.put_ret_type(outbox, Capabilities(), _ret_types_of(described.description.columns))
    assert outbox.take() == asked[4:].removesuffix(b"\0\x09\0\0\x20\0\0\0" + EOT)


@pytest.mark.parametrize("case", ["bind_owner", "bind_no_owner"])
async def test_parameters_name_the_owners_that_were_described(case: str) -> None:
    async with talking(played("owners15", case), statement_cache_size=0) as (conn, _):
        for sql, value in (
            ("insert into boolt values (?)", True),
            ("insert into lvt values (?)", "x"),
            ("insert into jsont values (?)", "{}"),
        ):
            async with await conn.prepare(sql) as statement:
                await statement.execute(value)
                await statement.execute(None)
                if value is True:
                    await statement.execute(None)


def test_nothing_is_asked_for_where_a_column_is_a_row_or_a_collection() -> None:
    """Without any SQ_RET_TYPE they come as text (observed: 12.10, 14.10 and 15)."""
    assert [form.code for form in _ret_types_of([C1, FLAG])] == [TypeCode.INTEGER, TypeCode.BOOLEAN]
    for kind in (TypeCode.ROW, TypeCode.SET, TypeCode.MULTISET, TypeCode.LIST, TypeCode.COLLECTION):
        assert _ret_types_of([C1, FLAG, column("c", kind)]) == ()


async def test_a_column_that_cannot_be_decoded_is_refused_before_the_cursor_opens() -> None:
    blob = column("b", TypeCode.UDTFIXED, 72, extended_id=10, owner="informix", extended_name="blob")
    async with talking((PREPARE, described(2, blob)), release(2)) as (conn, _):
        with pytest.raises(NotSupportedError, match="'b'"):
            await conn.fetch("select b from t")


@pytest.mark.parametrize("answer", [EOT, done() + EOT, error(100) + EOT, error(0) + EOT])
async def test_a_prepare_without_a_description_ends_the_connection(answer: bytes) -> None:
    async with talking((PREPARE, answer)) as (conn, _):
        with pytest.raises(ProtocolError, match="describe") as caught:
            await conn.fetch("select c1 from t")
        assert conn.is_closed() and not caught.value.connection_usable


# -- wrong input: nothing is sent -------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("sql", "args"),
    [
        ("select c1 from t", (1,)),
        ("select c1 from t where a = ?", ()),
        ("select c1 from t where a = ?", (1, 2)),
        ("insert into t values('?', ?)", (1, 2)),
        ("delete from t", (1,)),
    ],
)
async def test_a_wrong_number_of_parameters_is_refused_before_anything_is_sent(
    sql: str, args: tuple[int, ...]
) -> None:
    async with talking() as (conn, peer):
        for call in (conn.fetch, conn.fetchrow, conn.fetchval, conn.execute):
            with pytest.raises(InterfaceError, match=f"{len(args)} given"):
                await call(sql, *args)
        with pytest.raises(InterfaceError, match=f"{len(args)} given"):
            await conn.cursor().execute(sql, args)
        with pytest.raises(InterfaceError, match=f"{len(args)} given"):
            await anext(conn.stream(sql, *args))
        assert peer.received == b""


async def test_a_value_of_the_wrong_type_is_refused_before_it_is_bound() -> None:
    class Stranger:
        pass

    async with talking(
        (PREPARE, described(2, C1)),
        ("Id(2) DescribeInput", takes(INTEGER, INTEGER)),
        release(2),
    ) as (conn, _):
        with pytest.raises(DataError, match="parameter 2"):
            await conn.fetch("select c1 from t where a = ? and b = ?", 1, Stranger())


async def test_a_prepared_statement_refuses_a_wrong_number_too() -> None:
    async with (
        talking(
            (PREPARE, described(2, kind=StatementType.DELETE)),
            ("Id(2) DescribeInput", takes(INTEGER)),
            ("Id(2) Bind(1) Execute", done(1) + EOT),
            release(2),
        ) as (conn, peer),
        await conn.prepare("delete from t where a = ?") as statement,
    ):
        for args in ((), (1, 2)):
            with pytest.raises(InterfaceError, match="1 parameter expected"):
                await statement.execute(*args)
        assert len(peer.groups) == 2
        await statement.execute(1)


# -- rows that are not rows -------------------------------------------------------------------------------------------


@buffered_or_not
@any_chunks
@pytest.mark.parametrize(
    "row",
    [raw_row(b"\0\0\0\1\0"), raw_row(b"\0\0\1"), bytes.fromhex("000e 0000 ffffffff 00000001")],
    ids=["too long", "too short", "of negative size"],
)
async def test_a_row_whose_fields_do_not_fill_it_ends_the_connection(
    row: bytes, read_ahead: bool, chunks: Chunking
) -> None:
    async with talking(
        (PREPARE, described(2, C1)),
        (opening(2), ints(1) + row + done(2) + EOT),
        read_ahead=read_ahead,
        chunks=chunks,
    ) as (conn, _):
        with pytest.raises(ProtocolError):
            await conn.fetch("select c1 from t")
        assert conn.is_closed()
        with pytest.raises(ConnectionLost):
            await conn.fetch("select c1 from t")


async def test_a_negative_row_count_closes_the_connection_and_does_not_hang() -> None:
    async with talking((PREPARE, described(2, C1)), (opening(2), ints(1) + done(-7) + EOT)) as (conn, _):
        with pytest.raises(ProtocolError, match="-7 rows"):
            await conn.fetch("select c1 from t")
        assert conn.is_closed()


async def test_a_block_that_does_not_end_is_cut_off() -> None:
    endless = ints(*range(1000)) * 100  # 1.2 MB, for a buffer of 4 KB
    async with talking(
        (PREPARE, described(2, C1)),
        (opening(2, 4096), endless),
        fetch_size=4096,
    ) as (conn, _):
        with pytest.raises(ProtocolError, match="longer than"):
            await asyncio.wait_for(conn.fetch("select c1 from t"), 10)
