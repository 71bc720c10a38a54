"""Statements against a scripted peer: JDBC's transcripts, the end of rows, statement ids, cleanup."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any, NamedTuple

import pytest

import aioifx
import aioifx.arrow
import aioifx.server
from aioifx.client.api.connection import Connection
from aioifx.client.session.server_behavior import ServerBehavior
from aioifx.errors import (
    DataError,
    Deadlock,
    OperationalError,
    ProtocolError,
    RowLocked,
    SQLSyntaxError,
    UniqueViolation,
)
from aioifx.rows import dict_row, tuple_row
from aioifx.testing.messages import CLOSED, EOT, described, done, error, executed, ints, raw_row, takes
from aioifx.testing.script import (
    COMMAND,
    PREPARE,
    Answer,
    Chunking,
    Delayed,
    Exchange,
    byte_by_byte,
    close,
    closing,
    fetching,
    opening,
    release,
    select_ints,
    whole,
)
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.opcodes import StatementType
from aioifx.wire.requests import CurName
from tests.scripted import (
    C1,
    CHUNKINGS,
    FLAG,
    INTEGER,
    at_random,
    cancel_at,
    in_one_group,
    played,
    talking,
    without_describe_input,
)

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
    """A deliberate difference: our streams outlive a COMMIT of another task; JDBC's do on request (holdable_int)."""
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
        "select", "sql_latin1", lambda c: c.fetch("select c1 from t where n='Grüße'"), [(1,)], 4, list,
        FETCH_4096,
    ),
    Call(
        "select", "sql_utf8", lambda c: c.fetch("select c1 from t where n='Grüße € 😀'"), [(1,)], 4,
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
        "select", "wide_row", lambda c: c.fetch("select widerow from t"),
        [(f"w{n}".ljust(5000),) for n in range(3)], 6, list, FETCH_4096,
    ),
    Call(
        "select", "empty_result", lambda c: c.fetch("select rows_0 from t"), [], 4,
        lambda script: _once(script), FETCH_4096,
    ),
    Call(
        "select", "statement_select_varchar", lambda c: c.fetch("select rows_5 from t"), rows_of(5), 4,
        in_one_group, FETCH_4096,
    ),
    Call(
        "select", "fet_buf_size_1024", lambda c: c.fetch("select rows_60 from t"), rows_of(60), 4,
        in_one_group, FETCH_4096,
    ),
    Call(
        "select", "fet_buf_size_32767", lambda c: c.fetch("select rows_60 from t"), rows_of(60), 4,
        in_one_group,
    ),
    Call(
        "select", "fet_buf_size_100000", lambda c: c.fetch("select rows_60 from t"), rows_of(60), 4,
        in_one_group, {"fetch_size": 100_000},
    ),
    Call(
        "select", "multibatch_done_last", lambda c: c.fetch("select rows_200 from t"), rows_of(200), 6,
        in_one_group, FETCH_4096,
    ),
    Call(
        "select", "multibatch_done_each", lambda c: c.fetch("select rows_200 from t"), rows_of(200), 6,
        in_one_group, FETCH_4096,
    ),
    Call(
        "select", "optofc_server_closes", lambda c: c.fetch("select rows_200 from t"), rows_of(200), 5,
        in_one_group, FETCH_4096,
    ),
    Call(
        "select", "noopt_server_closes", lambda c: c.fetch("select rows_5 from t"), rows_of(5), 3,
        in_one_group, FETCH_4096,
    ),
    Call(
        "select", "interleaved", _interleaved, [rows_of(200), rows_of(200)], 12, _renumbered_interleaving,
        FETCH_4096,
    ),
    Call(
        "select", "optofc_early_close", _read_one, (1, "name1", "row 1".ljust(40)), 4,
        lambda script: _holding(in_one_group(script)), FETCH_4096,
    ),
    Call(
        "select", "autofree_int", lambda c: c.fetch("select c1 from t"), [(1,)], 3, list,
        FETCH_4096 | AUTOFREE,
    ),
    Call(
        "select", "autofree", lambda c: c.fetch("select rows_5 from t"), rows_of(5), 3, in_one_group,
        FETCH_4096 | AUTOFREE,
    ),
    Call(
        "select", "autofree_optofc", lambda c: c.fetch("select rows_5 from t"), rows_of(5), 3, in_one_group,
        FETCH_4096 | AUTOFREE,
    ),
    Call(
        "select", "optofc_autofree_server_closes", lambda c: c.fetch("select rows_200 from t"), rows_of(200),
        4, in_one_group, FETCH_4096 | AUTOFREE,
    ),
    Call("select", "dml_insert", lambda c: c.execute("insert into t values (1,'a')"), None, 1),
    Call("select", "dml_update", lambda c: c.execute("update t set a=1 where b=2"), None, 1),
    Call("select", "dml_delete", lambda c: c.execute("delete from t where b=2"), None, 1),
    Call("select", "ddl_create", lambda c: c.execute("create temp table x (a int)"), None, 1),
    Call(
        "prepared", "select_int_int", lambda c: c.fetch("select c1 from t where a=?", 42), [(1,)], 5, list,
        FETCH_4096,
    ),
    Call(
        "prepared", "select_int_param",
        lambda c: _fetch_prepared(c, "select rows_5 from t where a=?", (42,), (43,)),
        [rows_of(5), rows_of(5)], 7, in_one_group, FETCH_4096,
    ),
    Call(
        "prepared", "select_noparam", lambda c: _fetch_prepared(c, "select rows_5 from t", (), ()),
        [rows_of(5), rows_of(5)], 6, lambda script: in_one_group(without_describe_input(script)), FETCH_4096,
    ),
    Call(
        "select", "optofc_prepared",
        lambda c: _fetch_prepared(c, "select rows_5 from t where a=?", (0,), (1,)), [rows_of(5), rows_of(5)],
        7, in_one_group, FETCH_4096,
    ),
    Call(
        "select", "optofc_server_closes_prepared",
        lambda c: _fetch_prepared(c, "select rows_5 from t where a=?", (0,), (1,)), [rows_of(5), rows_of(5)],
        5, in_one_group, FETCH_4096,
    ),
    Call(
        "prepared", "insert_params",
        lambda c: _run_prepared(
            c, "insert into tput values(?,?,?)", *((n, f"v{n}", Decimal("12.50")) for n in range(2))
        ),
        [1, 1], 5,
    ),
    Call(
        "prepared", "update_params",
        lambda c: _run_prepared(c, "update t set a=?,b=? where c=?", *((n, f"v{n}", 7) for n in range(3))),
        [1, 1, 1], 6,
    ),
    Call(
        "prepared", "delete_noparam", lambda c: _run_prepared(c, "delete from t", (), ()), [1, 1], 4,
        without_describe_input,
    ),
    Call(
        "prepared", "ddl_prepared", lambda c: _run_prepared(c, "create table x (a int)", ()), [0], 3,
        without_describe_input,
    ),
    Call(
        "prepared", "two_prepared_interleaved", _two_prepared, [1, rows_of(5), 1, rows_of(5)], 12,
        in_one_group, FETCH_4096,
    ),
    Call("errors", "prepare_201", _after_a_syntax_error, [(1,)], 5, list, FETCH_4096),
    Call(
        "errors", "open_244", lambda c: _failing(c, "select open_err_244 from t", RowLocked), None, 4, list,
        FETCH_4096,
    ),
    Call(
        "errors", "fetch_243", lambda c: _failing(c, "select fetch_err_243 from t", Deadlock), None, 5, list,
        FETCH_4096,
    ),
    Call("errors", "exec_268", _duplicate_twice, None, 5, _without_commit),
]  # fmt: skip


def _once(script: list[Exchange]) -> list[Exchange]:
    """A deliberate difference: after an empty reply to the first fetch JDBC fetches again; nothing can follow it."""
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


async def test_ret_type_is_sent_with_the_first_fetch_only() -> None:
    """As in JDBC, the types requested of a cursor hold for later executions of the same statement."""
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


async def test_the_first_row_requests_the_least_buffer_and_no_more_than_one_block() -> None:
    async with talking((PREPARE, described(0, C1)), (opening(0, 4096), ints(7, 8, 9) + EOT), closing(0)) as (
        conn,
        _,
    ):
        assert await conn.fetchrow("select c1 from t") == (7,)


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
    ) as (conn, _):
        with pytest.raises(OperationalError):
            await conn.fetch("select c1 from t")


async def test_one_whose_opening_was_cancelled_is_released_too() -> None:
    held = Delayed(error(-213) + EOT)
    async with talking(
        (PREPARE, described(2, C1)), (opening(2, freed=True), held), closing(2), autofree=True
    ) as (conn, _):
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
        (fetching(1), done(1) + EOT),  # what is known of queries need not be true of routines
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


async def test_a_statement_that_fails_to_execute_is_released() -> None:
    async with talking(
        (PREPARE, described(3, kind=StatementType.UPDATE)),
        ("Id(3) DescribeInput", takes(INTEGER)),
        ("Id(3) Bind Execute", error(-268, -100, token="owner.u1") + EOT),
        release(3),
    ) as (conn, _):
        with pytest.raises(UniqueViolation, match=r"owner\.u1"):
            await conn.execute("update t set a = ?", 1)


# -- the next block ----------------------------------------------------------------------------------------------------

NATIVE = aioifx.speedups == "native"
"""Then a block is known to be whole before its rows are decoded."""
ALL = "select c1 from t"
Way = Callable[[Connection], Awaitable[list[Any]]]


async def _rows(conn: Connection) -> list[Any]:
    return await conn.fetch(ALL)


async def _prepared_rows(conn: Connection) -> list[Any]:
    async with await conn.prepare(ALL) as statement:
        return await statement.fetch()


async def _streamed_rows(conn: Connection) -> list[Any]:
    return [row async for row in conn.stream(ALL)]


in_any_way = pytest.mark.parametrize(
    ("way", "hold"), [(_rows, False), (_prepared_rows, False), (_streamed_rows, True)]
)


def _three_blocks(hold: bool, last: Answer) -> list[Exchange]:
    blocks = [(opening(4, hold=hold), ints(1) + EOT), (fetching(4), ints(2) + EOT), (fetching(4), last)]
    return [(PREPARE, described(4, C1)), *blocks]


@in_any_way
async def test_the_next_block_is_requested_before_the_rows_of_one_are_decoded(way: Way, hold: bool) -> None:
    async with talking(_three_blocks(hold, ints(3) + done(3) + EOT), closing(4)) as (conn, _):
        pending: list[int] = []

        def decode(value: int) -> int:
            pending.append(conn._session.channel.pending)
            return value

        conn.set_type_codec("integer", decoder=decode)
        assert await way(conn) == [(1,), (2,), (3,)]
        assert pending == [1, 2 if NATIVE else 1, 1]
        assert conn.stats.round_trips == 6


@in_any_way
@pytest.mark.parametrize("end", ["bad value", "cancelled"])
async def test_a_block_that_was_requested_early_is_dropped_if_the_call_ends(
    way: Way, hold: bool, end: str
) -> None:
    script = _three_blocks(hold, ints(3) + EOT)
    async with talking(script if NATIVE else script[:-1], closing(4), select_ints(5, 7)) as (conn, _):

        def decode(value: int) -> int:
            if value == 2 and end == "bad value":
                raise ValueError("two")
            if value == 2:
                task.cancel()
            return value

        conn.set_type_codec("integer", decoder=decode)
        task = asyncio.ensure_future(way(conn))
        with pytest.raises(asyncio.CancelledError if end == "cancelled" else DataError):
            await task
        assert await conn.fetch("select c1 from u") == [(7,)]


async def test_a_block_that_was_requested_early_is_not_one_of_the_next_execution() -> None:
    script = _three_blocks(False, ints(3) + EOT)
    again: list[Exchange] = [(opening(4), ints(7) + EOT), (fetching(4), ints(8) + done(2) + EOT), *closing(4)]
    async with talking(script if NATIVE else script[:-1], close(4), again) as (conn, _):

        def decode(value: int) -> int:
            return value if value != 2 else 1 // 0

        conn.set_type_codec("integer", decoder=decode)
        async with await conn.prepare(ALL) as statement:
            with pytest.raises(DataError):
                await statement.fetch()
            assert await statement.fetch() == [(7,), (8,)]


async def test_a_stream_requests_no_block_early_while_another_task_waits() -> None:
    held = Delayed(ints(2) + EOT)
    async with talking(
        (PREPARE, described(4, C1)),
        (opening(4, hold=True), ints(1) + EOT),
        (fetching(4), held),
        (COMMAND, executed(9, StatementType.DELETE, 1)),
        (fetching(4), ints(3) + done(3) + EOT),
        closing(4),
    ) as (conn, _):
        rows = asyncio.ensure_future(_streamed_rows(conn))
        await held.reached.wait()
        other = asyncio.ensure_future(conn.execute("delete from t where a = 1"))
        await asyncio.sleep(0)
        held.release()
        await other
        assert await rows == [(1,), (2,), (3,)]


@in_any_way
async def test_bytes_after_a_block_are_not_taken_for_the_next_one(way: Way, hold: bool) -> None:
    script = _three_blocks(hold, EOT)[:-1]
    script[-1] = (script[-1][0], ints(2) + EOT + ints(9) + EOT)
    async with talking(script) as (conn, _):
        with pytest.raises(ProtocolError, match="an unsolicited row"):
            await way(conn)


@in_any_way
async def test_a_block_that_was_requested_early_is_interrupted_if_the_call_was_cancelled(
    way: Way, hold: bool
) -> None:
    late = Delayed(error(-213) + EOT)
    script = _three_blocks(hold, late)
    async with talking(script if NATIVE else script[:-1], closing(4), select_ints(5, 7)) as (conn, _):
        urgent: list[bytes] = []
        conn._session.channel.send_urgent = lambda byte: not urgent.append(byte)  # type: ignore[method-assign,func-returns-value]

        def decode(value: int) -> int:
            if value == 2:
                task.cancel()
            return value

        conn.set_type_codec("integer", decoder=decode)
        task = asyncio.ensure_future(way(conn))
        with pytest.raises(asyncio.CancelledError):
            await task
        assert urgent == [b"B"] * NATIVE
        late.release()
        assert await conn.fetch("select c1 from u") == [(7,)]


async def test_a_stream_that_is_closed_while_it_waits_requests_no_block_early() -> None:
    held = Delayed(ints(2) + EOT)
    async with talking(_three_blocks(True, EOT)[:2], (fetching(4), held), closing(4)) as (conn, _):
        stream = conn.stream(ALL)
        assert await anext(stream) == (1,)
        waiting = asyncio.ensure_future(anext(stream, None))
        await held.reached.wait()
        await stream.aclose()
        held.release()
        assert await waiting is None


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("execute function f()", StatementType.EXECUTE_ROUTINE),
        ("select c1 from t for update", StatementType.SELECT),
    ],
)
async def test_what_a_fetch_may_change_at_the_server_is_not_requested_early(sql: str, kind: int) -> None:
    async with talking(
        (PREPARE, described(4, C1, kind=kind)),
        (opening(4), ints(1) + EOT),
        (fetching(4), ints(2) + EOT),
        closing(4),
    ) as (conn, _):
        conn.set_type_codec("integer", decoder=lambda value: value if value != 2 else 1 // 0)
        with pytest.raises(DataError):
            await conn.fetch(sql)


# -- what is learned of the server -------------------------------------------------------------------------------------

Ways = Callable[[Connection], Awaitable[list[Any]]]
NUMBERS = "SELECT n, '....................' FROM t ORDER BY n"
COUNTING = frozenset({"count-with-each-block", "no-optofc"})


async def test_at_an_unknown_server_rows_end_with_an_empty_reply() -> None:
    async with talking(
        *(select_ints(n, 1, 2, until_empty=True) for n in (1, 2)), behavior=ServerBehavior()
    ) as (conn, _):
        for _ in range(2):  # a result of one block teaches nothing
            assert await conn.fetch("select c1 from t") == [(1,), (2,)]
        assert conn.server_behavior.done_ends_rows is None


async def test_a_block_in_the_middle_without_done_teaches_that_done_is_the_end() -> None:
    async with talking(
        (PREPARE, described(1, C1)),
        (opening(1), ints(1) + EOT),
        (fetching(1), ints(2) + done(2) + EOT),
        closing(1),
        select_ints(2, 3),
        behavior=ServerBehavior(),
    ) as (conn, _):
        assert await conn.fetch("select c1 from t") == [(1,), (2,)]
        assert conn.server_behavior.done_ends_rows is True
        assert await conn.fetch("select c1 from t") == [(3,)]


async def test_rows_after_a_done_teach_that_it_is_not_the_end_for_good() -> None:
    async with talking(
        (PREPARE, described(1, C1)),
        (opening(1), ints(1) + done(1) + EOT),
        (fetching(1), ints(2) + EOT),
        (fetching(1), ints(3) + done(3) + EOT),
        (fetching(1), done(3) + EOT),
        closing(1),
        behavior=ServerBehavior(),
    ) as (conn, _):
        assert await conn.fetch("select c1 from t") == [(1,), (2,), (3,)]
        assert conn.server_behavior.done_ends_rows is False


async def test_an_error_100_and_a_close_are_the_end_at_any_server() -> None:
    async with talking(
        (PREPARE, described(1, C1)),
        (opening(1), ints(1) + error(100) + EOT),
        closing(1),
        (PREPARE, described(1, C1)),
        (opening(1), ints(2) + CLOSED + done(1) + EOT),
        release(1),
        behavior=ServerBehavior(),
    ) as (conn, _):
        assert await conn.fetch("select c1 from t") == [(1,)]
        assert await conn.fetch("select c1 from t") == [(2,)]


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("execute function f()", StatementType.EXECUTE_ROUTINE),
        ("select c1 from t for update", StatementType.SELECT),
    ],
)
async def test_routines_and_update_cursors_teach_nothing_of_queries(sql: str, kind: int) -> None:
    async with talking(
        (PREPARE, described(1, C1, kind=kind)),
        (opening(1), ints(1) + EOT),
        (fetching(1), ints(2) + done(2) + EOT),
        (fetching(1), done(2) + EOT),
        closing(1),
        behavior=ServerBehavior(),
    ) as (conn, _):
        assert await conn.fetch(sql) == [(1,), (2,)]
        assert conn.server_behavior.done_ends_rows is None


async def test_a_stream_that_was_left_between_blocks_teaches_nothing_to_the_next_one() -> None:
    async with talking(
        (PREPARE, described(1, C1)),
        ("Id(1) CurName Hold Open Id(1) Fetch(32767)", ints(1) + done(1) + EOT),
        close(1),
        ("Id(1) CurName Open Id(1) Fetch(32767)", ints(1) + done(1) + EOT),
        (fetching(1), done(1) + EOT),
        close(1),
        behavior=ServerBehavior(),
        statement_cache_size=1,
    ) as (conn, _):
        stream = conn.stream("select c1 from t", prefetch=False)
        assert await anext(stream) == (1,)
        await stream.aclose()
        assert await conn.fetch("select c1 from t") == [(1,)]
        assert conn.server_behavior.done_ends_rows is None


async def _by_cursor(conn: Connection) -> list[Any]:
    async with conn.cursor() as cursor:
        await cursor.execute(NUMBERS)
        return await cursor.fetchall()


async def _by_prepared(conn: Connection) -> list[Any]:
    async with await conn.prepare(NUMBERS) as statement:
        return await statement.fetch()


async def _by_stream(conn: Connection) -> list[Any]:
    return [row async for row in conn.stream(NUMBERS)]


async def _by_blocks(conn: Connection) -> list[Any]:
    return [row async for block in conn.stream(NUMBERS, prefetch=False).blocks() for row in block]


async def _by_arrow(conn: Connection) -> list[Any]:
    pytest.importorskip("pyarrow")
    table: Any = await aioifx.arrow.fetch_arrow(conn, NUMBERS)
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize(
    "way", [lambda conn: conn.fetch(NUMBERS), _by_cursor, _by_prepared, _by_stream, _by_blocks, _by_arrow]
)
@pytest.mark.parametrize("mask", [frozenset[str](), frozenset({"no-bit-70"})], ids=["bit 70", "no bit 70"])
async def test_no_row_is_lost_at_a_server_that_counts_the_rows_of_each_block(
    way: Ways, mask: frozenset[str]
) -> None:
    async with aioifx.server.serve(aioifx.server.ServerOptions(quirks=COUNTING | mask)) as server:
        async with aioifx.connect(server.dsn, fetch_size=4096) as conn:
            await conn.execute("CREATE TABLE t (n INTEGER)")
            await conn.executemany("INSERT INTO t VALUES (?)", ((n,) for n in range(500)))
            expected = [(n, "." * 20) for n in range(500)]
            assert await way(conn) == expected
            assert conn.server_behavior.done_ends_rows is False
            assert await way(conn) == expected
        async with aioifx.create_pool(server.dsn, fetch_size=4096) as pool:
            assert await pool.fetch(NUMBERS) == expected


async def test_results_of_a_routine_without_names_are_numbered() -> None:
    async with aioifx.server.running() as dsn, aioifx.connect(dsn) as conn:
        await conn.execute("CREATE FUNCTION f() RETURNING INT, INT RETURN 1, 2; END FUNCTION")
        await conn.execute(
            "CREATE FUNCTION g() RETURNING INT AS total, INT AS rest RETURN 1, 2; END FUNCTION"
        )
        (row,) = await conn.fetch("EXECUTE FUNCTION f()")
        assert row.asdict() == {"expression_1": 1, "expression_2": 2}
        assert await conn.fetch("EXECUTE FUNCTION f()", row_factory=dict_row) == [row.asdict()]
        (row,) = await conn.fetch("EXECUTE FUNCTION g()")
        assert row.asdict() == {"total": 1, "rest": 2}
