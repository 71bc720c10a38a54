"""executemany: one group for each row, a bounded window, the first error, cancellation."""

from __future__ import annotations

import asyncio
import math
from collections import namedtuple
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.client.api.connection import Connection
from aioifx.client.execution import pipeline
from aioifx.client.execution.result import ExecuteResult
from aioifx.errors import (
    ConnectionLost,
    DatabaseError,
    DataError,
    InterfaceError,
    NotNullViolation,
    ProgrammingError,
    ProtocolError,
    QueryCanceled,
    QueryTimeout,
    UniqueViolation,
)
from aioifx.sqltypes import SqlType, TypeCode
from aioifx.testing.messages import (
    DIALECT,
    EOT,
    UNLOGGED,
    described,
    done,
    error,
    executed,
    insert_done,
    takes,
)
from aioifx.testing.script import (
    BEGIN,
    COMMAND,
    COMMIT,
    NO_REPLY,
    PREPARE,
    ROLLBACK,
    Answer,
    Chunking,
    Delayed,
    Disconnect,
    Exchange,
    release,
    select_ints,
)
from aioifx.wire import completion
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.opcodes import StatementType
from aioifx.wire.outbox import Outbox
from tests.scripted import (
    C1,
    CHUNKINGS,
    INTEGER,
    cancel_at,
    cancelled,
    cancelled_or_late,
    end_early,
    played,
    talking,
    until,
)

INSERT = "insert into t values(?)"
ROW = "Id(2) Bind(1) Execute"
ROW_SIZE = len(bytes.fromhex("0004 0002 0005 0001 0002 0000 0a00 00000001 0007 000c"))
one_done = done(1) + EOT
duplicate = error(-268, -100, token="owner.u1") + EOT
opened: list[Exchange] = [
    (PREPARE, described(2, C1, kind=StatementType.INSERT)),
    ("Id(2) DescribeInput", takes(INTEGER)),
]
deleted: Exchange = (COMMAND, executed(9, StatementType.DELETE, 1))


def rows(count: int) -> list[tuple[int]]:
    return [(n,) for n in range(count)]


def answers(count: int, **others: bytes) -> list[Exchange]:
    """A turn for each row; *others* by the row's number, as in ``row_3=...``."""
    return [(ROW, others.get(f"row_{n}", one_done)) for n in range(count)]


# -- what is sent -----------------------------------------------------------------------------------------------------


async def test_every_row_is_a_group_of_its_own_with_jdbcs_parameters_in_it() -> None:
    """A deliberate difference: JDBC sends all rows in one group.

    It is unknown whether a server goes on after a row that failed. informix-driver sends one group for each row to
    12.10, 14.10 and 15.
    """
    prepare, describe, (batch, _), drop = played("batch", "default_insert_3")
    assert isinstance(batch, bytes)
    rows = batch.removeprefix(b"\0\4\0\2").removesuffix(b"\0\7" + EOT).split(b"\0\7")
    groups: list[Exchange] = [(b"\0\4\0\2" + row + b"\0\7" + EOT, one_done) for row in rows]
    values = [(n, f"name{n - 1}", Decimal(f"{n + 9}.25")) for n in range(1, 4)]
    async with talking(prepare, describe, groups, drop, warnings=UNLOGGED) as (conn, _):
        assert (await conn.executemany("insert into tput values(?,?,?)", values)).rowcount == 3


@pytest.mark.parametrize("chunks", CHUNKINGS, ids=lambda chunks: chunks.__name__)
async def test_all_rows_leave_in_one_write_and_their_replies_are_drained_in_order(chunks: Chunking) -> None:
    async with talking(opened, BEGIN, answers(100), COMMIT, release(2), chunks=chunks) as (conn, _):
        result = await conn.executemany(INSERT, rows(100))
        assert result.rowcount == 100
        assert conn.stats.round_trips == 6  # PREPARE, CIDESCRIBE, BEGIN, all rows, COMMIT, RELEASE


async def test_no_rows_at_all_are_no_error() -> None:
    async with talking(opened, BEGIN, COMMIT, release(2)) as (conn, _):
        assert (await conn.executemany(INSERT, [])).rowcount == 0


async def test_counts_serials_warnings_and_row_ids_are_kept() -> None:
    replies = [
        insert_done(2**40, 7) + done(1, rowid=0x101, serial=5) + EOT,
        insert_done(0, 8) + done(2, rowid=0x102, serial=6, warnings=1) + EOT,
        done(0, rowid=0x103, serial=9) + EOT,
    ]
    async with talking(opened, BEGIN, [(ROW, reply) for reply in replies], COMMIT, release(2)) as (conn, _):
        result = await conn.executemany(INSERT, rows(3))
    assert (result.rowcount, result.serial, result.rowid) == (3, 9, 0x103)
    assert [warning.sqlstate for warning in result.warnings] == ["01004"]


async def test_serial8_and_bigserial_are_found_where_there_is_no_serial() -> None:
    for reply, serial in ((insert_done(2**40, 0), 2**40), (insert_done(0, 2**50), 2**50)):
        async with talking(opened, BEGIN, (ROW, reply + one_done), COMMIT, release(2)) as (conn, _):
            assert (await conn.executemany(INSERT, rows(1))).serial == serial


async def sync_rows(count: int) -> AsyncIterator[tuple[int]]:
    for n in range(count):
        await asyncio.sleep(0)
        yield (n,)


@pytest.mark.parametrize("kind", ["list", "generator", "iterator", "async generator", "lists as rows"])
async def test_rows_may_come_from_anything_that_can_be_iterated(kind: str) -> None:
    source: Any = {
        "list": rows(5),
        "generator": ((n,) for n in range(5)),
        "iterator": iter(rows(5)),
        "async generator": sync_rows(5),
        "lists as rows": [[n] for n in range(5)],
    }[kind]
    async with talking(opened, BEGIN, answers(5), COMMIT, release(2)) as (conn, peer):
        assert (await conn.executemany(INSERT, source)).rowcount == 5
        bound = [group[-8:-4] for group in peer.groups[3:8]]
        assert bound == [n.to_bytes(4, "big") for n in range(5)]


async def test_records_and_named_tuples_are_rows_too() -> None:
    point = namedtuple("point", "x")
    async with talking(select_ints(2, 0, 1), opened, BEGIN, answers(3), COMMIT, release(2)) as (conn, peer):
        records: list[Any] = list(await conn.fetch("select c1 from t"))
        assert (await conn.executemany(INSERT, [*records, point(2)])).rowcount == 3
        bound = [group[-8:-4] for group, said in zip(peer.groups, peer.said, strict=True) if said == ROW]
        assert bound == [n.to_bytes(4, "big") for n in range(3)]


async def test_values_of_every_kind_may_be_mixed_between_usual_ones() -> None:
    """Values that the fast encoder rejects are encoded by the reference encoder, in their order."""

    class Whole(int):
        """An int by another class."""

    async with talking(opened, BEGIN, [("Id(2) Bind(1) Execute", one_done)] * 200, COMMIT, release(2)) as (
        conn,
        peer,
    ):
        source = [(Whole(n) if n % 7 == 0 else True if n == 1 else n,) for n in range(200)]
        assert (await conn.executemany(INSERT, source)).rowcount == 200
        bound = [group[-8:-4] for group, said in zip(peer.groups, peer.said, strict=True) if said == ROW]
        assert bound == [n.to_bytes(4, "big") for n in range(200)]


# -- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunks", CHUNKINGS, ids=lambda chunks: chunks.__name__)
@pytest.mark.parametrize("failing", [0, 7, 19])
async def test_every_row_has_its_reply_and_the_failing_one_is_named(failing: int, chunks: Chunking) -> None:
    script = answers(20, **{f"row_{failing}": duplicate})
    async with talking(opened, BEGIN, script, ROLLBACK, release(2), select_ints(2, 1), chunks=chunks) as (
        conn,
        _,
    ):
        with pytest.raises(UniqueViolation, match=f"row {failing}: .*owner.u1") as caught:
            await conn.executemany(INSERT, rows(20))
        assert (caught.value.row_index, caught.value.isamcode) == (failing, -100)
        assert caught.value.sql == INSERT
        assert await conn.fetch("select c1 from t") == [(1,)]


async def test_of_several_failures_the_first_is_raised() -> None:
    script = answers(6, row_2=error(-391, token="a") + EOT, row_4=duplicate)
    async with talking(opened, BEGIN, script, ROLLBACK, release(2)) as (conn, _):
        with pytest.raises(NotNullViolation) as caught:
            await conn.executemany(INSERT, rows(6))
        assert caught.value.row_index == 2


async def test_the_rows_error_is_raised_even_if_nothing_was_left_to_roll_back() -> None:
    script = answers(2, row_1=error(-458, -143) + EOT)
    async with talking(opened, BEGIN, script, ("Rollback", error(-255) + EOT), release(2)) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            await conn.executemany(INSERT, rows(2))
        assert (caught.value.sqlcode, caught.value.row_index) == (-458, 1)
        assert not conn.is_in_transaction()


def ended(sqlcode: int) -> bytes:
    """An error with which the server has ended the transaction."""
    outbox = Outbox()
    completion.put_xactstat(outbox, completion.TransactionState(3, 0, 1))
    return error(sqlcode) + outbox.detach() + EOT


@pytest.mark.parametrize("collect", [False, True])
@pytest.mark.parametrize(("last", "unknown"), [(one_done, True), (duplicate, False)])
async def test_rows_in_flight_as_the_transaction_ends_may_be_stored(
    collect: bool, last: bytes, unknown: bool
) -> None:
    script = answers(4, row_1=duplicate, row_2=ended(-458), row_3=last)
    async with talking(opened, BEGIN, script, ("Rollback", error(-255) + EOT), release(2)) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            await conn.executemany(INSERT, rows(4), on_error="collect" if collect else "raise")
        assert caught.value.sqlcode == (-458 if collect else -268)
        assert caught.value.outcome_unknown is unknown
        assert not conn.is_in_transaction()


async def test_no_row_is_sent_after_the_transaction_has_ended() -> None:
    in_one_write = -(-pipeline.FLUSH // ROW_SIZE)
    sent = pipeline.WINDOW * in_one_write
    script = answers(sent, row_0=ended(-458))
    async with talking(opened, BEGIN, script, ("Rollback", error(-255) + EOT), release(2)) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            await conn.executemany(INSERT, rows(3 * sent), on_error="collect")
        assert (caught.value.sqlcode, caught.value.row_index) == (-458, 0)
        assert caught.value.outcome_unknown


async def test_a_commit_that_fails_is_rolled_back_and_raised() -> None:
    async with talking(
        opened, BEGIN, answers(1), ("Commit", error(-691, -111) + EOT), ROLLBACK, release(2)
    ) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            await conn.executemany(INSERT, rows(1))
        assert caught.value.sqlcode == -691
        assert not conn.is_in_transaction()


async def test_a_begin_that_fails_does_not_roll_back_another_transaction() -> None:
    async with talking(opened, ("Begin", error(-535) + EOT), release(2)) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            await conn.executemany(INSERT, rows(1))
        assert caught.value.sqlcode == -535


async def test_a_value_that_does_not_fit_names_row_and_parameter_and_is_not_sent() -> None:
    smallint = SqlType(TypeCode.SMALLINT, 2)
    async with talking(
        (PREPARE, described(2, C1, kind=StatementType.INSERT)),
        ("Id(2) DescribeInput", takes(smallint)),
        BEGIN,
        ROLLBACK,  # nothing of the three rows had left
        release(2),
    ) as (conn, peer):
        with pytest.raises(DataError, match="row 3, parameter 1") as caught:
            await conn.executemany(INSERT, [(1,), (2,), (3,), (100_000,), (5,)])
        assert caught.value.row_index == 3
        assert "Bind(1)" not in " ".join(peer.said)


async def test_a_value_that_does_not_fit_waits_for_the_replies_to_rows_in_flight() -> None:
    count = pipeline.FLUSH // ROW_SIZE + 10

    def source() -> Iterator[tuple[Any]]:
        yield from rows(count)
        yield ("\u20ac",)

    sent = -(-pipeline.FLUSH // ROW_SIZE)
    async with talking(opened, BEGIN, answers(sent), ROLLBACK, release(2)) as (conn, peer):
        with pytest.raises(DataError) as caught:
            await conn.executemany(INSERT, source())
        assert caught.value.row_index == count
        assert peer.said.count(ROW) == sent


@pytest.mark.parametrize("row", ["ab", b"ab", {"a": 1}, 7, None, {1}])
async def test_a_row_that_is_not_a_sequence_is_rejected(row: Any) -> None:
    async with talking(opened, BEGIN, ROLLBACK, release(2)) as (conn, _):
        with pytest.raises(InterfaceError, match="sequence"):
            await conn.executemany(INSERT, [(1,), row])


async def test_a_row_with_a_wrong_number_of_values_is_refused_and_named() -> None:
    async with talking(opened, BEGIN, ROLLBACK, release(2)) as (conn, _):
        with pytest.raises(InterfaceError, match="row 1: expected 1 parameter, got 2"):
            await conn.executemany(INSERT, [(1,), (1, 2)])


async def test_an_error_in_the_source_of_rows_is_raised_after_the_replies() -> None:
    def source() -> Iterator[tuple[int]]:
        yield from rows(3)
        raise ZeroDivisionError("no more")

    async with talking(opened, BEGIN, ROLLBACK, release(2), select_ints(2, 1)) as (conn, _):
        with pytest.raises(ZeroDivisionError):
            await conn.executemany(INSERT, source())
        assert await conn.fetch("select c1 from t") == [(1,)]


async def test_an_async_source_that_fails_is_closed_with_everything_else() -> None:
    closed: list[bool] = []

    async def source() -> AsyncGenerator[tuple[Any], None]:
        try:
            yield (1,)
            yield ("\u20ac",)
            raise AssertionError("never asked for")
        finally:
            closed.append(True)

    generator = source()
    async with talking(opened, BEGIN, ROLLBACK, release(2)) as (conn, _):
        with pytest.raises(DataError):
            await conn.executemany(INSERT, generator)
    await generator.aclose()
    assert closed == [True]


async def test_a_query_is_refused() -> None:
    async with talking((PREPARE, described(2, C1)), release(2), warnings=UNLOGGED) as (conn, _):
        with pytest.raises(ProgrammingError, match="no rows"):
            await conn.executemany("select c1 from t", [()])


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_rows_that_use_the_connection_are_refused_instead_of_waiting_for_themselves(kind: str) -> None:
    async with talking(opened, BEGIN, ROLLBACK, release(2)) as (conn, _):

        async def asking() -> AsyncIterator[tuple[int]]:
            yield (1,)
            await conn.execute("delete from t where a = 1")

        def streaming() -> Iterator[tuple[int]]:
            yield (1,)
            call = conn.execute("delete from t where a = 1")
            while True:  # what a driver of coroutines would do
                call.send(None)

        source: Any = asking() if kind == "async" else streaming()
        with pytest.raises(InterfaceError, match="already uses the connection"):
            await asyncio.wait_for(conn.executemany(INSERT, source), 10)


# -- errors that are collected ----------------------------------------------------------------------------------------

SMALL: list[Exchange] = [
    (PREPARE, described(2, C1, kind=StatementType.INSERT)),
    ("Id(2) DescribeInput", takes(SqlType(TypeCode.SMALLINT, 2))),
]


@pytest.mark.parametrize("chunks", CHUNKINGS, ids=lambda chunks: chunks.__name__)
async def test_every_error_is_collected_with_its_row_and_the_other_rows_are_committed(
    chunks: Chunking,
) -> None:
    script = answers(20, row_0=duplicate, row_7=error(-391, token="a") + EOT, row_19=duplicate)
    async with talking(opened, BEGIN, script, COMMIT, release(2), chunks=chunks) as (conn, _):
        result = await conn.executemany(INSERT, rows(20), on_error="collect")
    assert result.rowcount == 17
    assert [(type(failed), failed.row_index) for failed in result.errors] == [
        (UniqueViolation, 0),
        (NotNullViolation, 7),
        (UniqueViolation, 19),
    ]
    assert result.errors[0].sql == INSERT and "owner.u1" in str(result.errors[0])


async def test_without_an_error_nothing_is_collected() -> None:
    async with talking(opened, BEGIN, answers(3), COMMIT, release(2)) as (conn, _):
        result = await conn.executemany(INSERT, rows(3), on_error="collect")
    assert (result.rowcount, result.errors) == (3, ())


async def test_a_value_that_does_not_fit_is_collected_and_its_row_is_not_sent() -> None:
    async with talking(SMALL, BEGIN, answers(2), COMMIT, release(2)) as (conn, peer):
        result = await conn.executemany(INSERT, [(1,), (100_000,), (3,)], on_error="collect")
        assert peer.said.count(ROW) == 2
    assert (result.rowcount, [failed.row_index for failed in result.errors]) == (2, [1])
    assert isinstance(result.errors[0], DataError) and "row 1, parameter 1" in str(result.errors[0])


@given(
    kinds=st.lists(st.sampled_from(["done", "refused here", "refused there"]), min_size=1, max_size=25),
    flush=st.integers(1, 5),
)
def test_an_error_names_the_row_that_failed_whether_client_or_server_rejected_it(
    kinds: list[str], flush: int
) -> None:
    """Law (row_index): what does not fit is not sent, so the server counts without it; the caller's count is kept."""
    replies = {"done": one_done, "refused there": duplicate}
    there: list[Exchange] = [(ROW, replies[kind]) for kind in kinds if kind in replies]
    values: list[tuple[Any]] = [(100_000 if kind == "refused here" else n,) for n, kind in enumerate(kinds)]

    async def run() -> ExecuteResult:
        async with talking(SMALL, BEGIN, there, COMMIT, release(2)) as (conn, _):
            return await conn.executemany(INSERT, values, on_error="collect")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "FLUSH", flush * ROW_SIZE)
        result = asyncio.run(run())
    wrong = {"refused here": DataError, "refused there": UniqueViolation}
    assert [(type(failed), failed.row_index) for failed in result.errors] == [
        (wrong[kind], n) for n, kind in enumerate(kinds) if kind in wrong
    ]
    assert result.rowcount == kinds.count("done")


async def test_a_cursor_collects_them_too() -> None:
    async with talking(opened, BEGIN, answers(2, row_1=duplicate), COMMIT, release(2)) as (conn, _):
        cursor = await conn.cursor().executemany(INSERT, rows(2), on_error="collect")
        assert cursor.rowcount == 1


async def test_inside_a_transaction_the_owner_decides_what_becomes_of_the_rows_that_succeeded() -> None:
    async with talking(BEGIN, opened, answers(2, row_0=duplicate), release(2), ROLLBACK) as (conn, _):
        with pytest.raises(ZeroDivisionError):
            async with conn.transaction():
                result = await conn.executemany(INSERT, rows(2), on_error="collect")
                assert (result.rowcount, len(result.errors)) == (1, 1)
                raise ZeroDivisionError


async def test_sending_goes_on_after_a_failure_that_is_collected() -> None:
    count = 3 * (-(-pipeline.FLUSH // ROW_SIZE))
    async with talking(opened, BEGIN, answers(count, row_5=duplicate), COMMIT, release(2)) as (conn, _):
        result = await conn.executemany(INSERT, rows(count), on_error="collect")
    assert (result.rowcount, [failed.row_index for failed in result.errors]) == (count - 1, [5])


async def test_a_value_that_is_not_a_row_is_the_callers_mistake_and_never_collected() -> None:
    async with talking(opened, BEGIN, ROLLBACK, release(2)) as (conn, _):
        with pytest.raises(InterfaceError, match="row 1: expected 1 parameter, got 2"):
            await conn.executemany(INSERT, [(1,), (1, 2)], on_error="collect")


async def test_a_commit_that_fails_is_raised_though_errors_are_collected() -> None:
    async with talking(
        opened, BEGIN, answers(1), ("Commit", error(-691, -111) + EOT), ROLLBACK, release(2)
    ) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            await conn.executemany(INSERT, rows(1), on_error="collect")
        assert caught.value.sqlcode == -691


async def test_a_connection_that_breaks_is_reported_even_if_errors_are_collected() -> None:
    async with talking(opened, BEGIN, (ROW, Disconnect())) as (conn, _):
        with pytest.raises(ConnectionLost):
            await conn.executemany(INSERT, rows(1), on_error="collect")


@pytest.mark.parametrize("wrong", ["ignore", "", None, True])
async def test_another_word_for_on_error_is_refused_before_anything_is_sent(wrong: Any) -> None:
    async with talking() as (conn, peer):
        for call in (conn.executemany, conn.cursor().executemany):
            with pytest.raises(InterfaceError, match="on_error"):
                await call(INSERT, rows(1), on_error=wrong)
        assert peer.received == b""


# -- transactions -----------------------------------------------------------------------------------------------------


async def test_an_unlogged_database_gets_no_transaction() -> None:
    async with talking(opened, answers(2, row_1=duplicate), release(2), warnings=UNLOGGED) as (conn, _):
        with pytest.raises(UniqueViolation):
            await conn.executemany(INSERT, rows(2))


async def test_inside_a_transaction_nothing_is_begun_committed_or_rolled_back() -> None:
    async with talking(
        BEGIN, opened, answers(2), release(2), opened, answers(2, row_0=duplicate), release(2), COMMIT
    ) as (conn, _):
        async with conn.transaction():
            await conn.executemany(INSERT, rows(2))
            with pytest.raises(UniqueViolation):
                await conn.executemany(INSERT, rows(2))
            assert conn.is_in_transaction()


async def test_a_prepared_statement_is_pipelined_again_and_again() -> None:
    async with talking(opened, BEGIN, answers(3), COMMIT, BEGIN, answers(2), COMMIT, release(2)) as (conn, _):
        async with await conn.prepare(INSERT) as statement:
            assert (await statement.executemany(rows(3))).rowcount == 3
            assert (await statement.executemany(rows(2))).rowcount == 2


@pytest.mark.parametrize("source", [list, tuple])
async def test_one_whose_cached_statement_is_stale_is_executed_again_automatically(source: Any) -> None:
    stale = answers(2, row_0=error(-710) + EOT, row_1=error(-710) + EOT)
    again: list[Exchange] = [
        (PREPARE, described(3, C1, kind=StatementType.INSERT)),
        ("Id(3) DescribeInput", takes(INTEGER)),
        BEGIN,
        *[("Id(3) Bind(1) Execute", one_done)] * 2,
        COMMIT,
    ]
    async with talking(
        *(opened, BEGIN, answers(2), COMMIT, BEGIN, stale, ROLLBACK, again, release(2)),
        statement_cache_size=10,
    ) as (conn, _):
        for _ in range(2):
            assert (await conn.executemany(INSERT, source(rows(2)))).rowcount == 2


async def test_one_that_collects_errors_is_executed_again_too() -> None:
    stale = answers(2, row_0=error(-710) + EOT, row_1=error(-710) + EOT)
    again: list[Exchange] = [
        (PREPARE, described(3, C1, kind=StatementType.INSERT)),
        ("Id(3) DescribeInput", takes(INTEGER)),
        BEGIN,
        ("Id(3) Bind(1) Execute", one_done),
        ("Id(3) Bind(1) Execute", duplicate),
        COMMIT,
    ]
    async with talking(
        *(opened, BEGIN, answers(2), COMMIT, BEGIN, stale, ROLLBACK, again, release(2)),
        statement_cache_size=10,
    ) as (conn, _):
        assert not (await conn.executemany(INSERT, rows(2), on_error="collect")).errors
        result = await conn.executemany(INSERT, rows(2), on_error="collect")
        assert result.rowcount == 1
        assert [(error.sqlcode, error.row_index) for error in result.errors] == [(-268, 1)]


async def test_one_that_collects_errors_raises_that_of_a_stale_statement_inside_a_transaction() -> None:
    stale = answers(2, row_0=error(-710) + EOT, row_1=error(-710) + EOT)
    again: list[Exchange] = [
        (PREPARE, described(3, C1, kind=StatementType.INSERT)),
        ("Id(3) DescribeInput", takes(INTEGER)),
        release(2),
        *[("Id(3) Bind(1) Execute", one_done)] * 2,
    ]
    async with talking(opened, BEGIN, answers(1), stale, again, COMMIT, release(3)) as (conn, _):
        async with await conn.prepare(INSERT) as statement, conn.transaction():
            await statement.executemany(rows(1), on_error="collect")
            with pytest.raises(DatabaseError) as caught:
                await statement.executemany(rows(2), on_error="collect")
            assert (caught.value.sqlcode, caught.value.row_index) == (-710, 0)
            assert any("execute it again" in note for note in caught.value.__notes__)
            assert (await statement.executemany(rows(2), on_error="collect")).rowcount == 2


async def test_one_that_collects_errors_collects_that_of_a_change_between_its_rows() -> None:
    """The rows before it were stored."""
    stale = answers(2, row_1=error(-710) + EOT)
    async with talking(opened, answers(1), stale, warnings=UNLOGGED, statement_cache_size=10) as (conn, _):
        await conn.executemany(INSERT, rows(1), on_error="collect")
        result = await conn.executemany(INSERT, rows(2), on_error="collect")
        assert result.rowcount == 1
        assert [(error.sqlcode, error.row_index) for error in result.errors] == [(-710, 1)]


async def test_one_whose_rows_are_gone_is_not_done_again() -> None:
    stale = answers(2, row_1=error(-710) + EOT)
    async with talking(
        opened, BEGIN, answers(2), COMMIT, BEGIN, stale, ROLLBACK, release(2), statement_cache_size=10
    ) as (conn, _):
        await conn.executemany(INSERT, rows(2))
        with pytest.raises(DatabaseError) as caught:
            await conn.executemany(INSERT, iter(rows(2)))
        assert (caught.value.sqlcode, caught.value.row_index) == (-710, 1)


async def test_nor_is_one_whose_first_rows_are_part_of_a_transaction_without_autocommit() -> None:
    """The transaction was begun by the call, so nothing else tells that its rows would be there twice."""
    stale = answers(2, row_1=error(-710) + EOT)
    async with talking(
        *(opened, BEGIN, answers(2), COMMIT, BEGIN, stale, release(2), ROLLBACK),
        statement_cache_size=10,
        autocommit=False,
    ) as (conn, _):
        await conn.executemany(INSERT, rows(2))
        await conn.commit()
        with pytest.raises(DatabaseError) as caught:
            await conn.executemany(INSERT, rows(2))
        assert (caught.value.sqlcode, caught.value.row_index) == (-710, 1)
        await conn.rollback()


async def test_nor_is_one_without_a_log_whose_first_rows_may_be_stored() -> None:
    stale = answers(2, row_1=error(-710) + EOT)
    async with talking(opened, answers(2), stale, release(2), warnings=UNLOGGED, statement_cache_size=10) as (
        conn,
        _,
    ):
        await conn.executemany(INSERT, rows(2))
        with pytest.raises(DatabaseError) as caught:
            await conn.executemany(INSERT, rows(2))
        assert (caught.value.sqlcode, caught.value.row_index) == (-710, 1)


# -- the window -------------------------------------------------------------------------------------------------------


async def test_no_more_than_the_window_is_ever_unanswered() -> None:
    """Law (window): what is outstanding never exceeds WINDOW writes, each FLUSH bytes and what is left of one row."""
    count = 5 * (-(-pipeline.FLUSH // ROW_SIZE))
    pulled = 0

    def source() -> Iterator[tuple[int]]:
        nonlocal pulled
        for n in range(count):
            pulled += 1
            yield (n,)

    held = Delayed(one_done)
    script: list[Exchange] = [(ROW, held), *answers(count - 1)]
    async with talking(opened, BEGIN, script, COMMIT, release(2)) as (conn, peer):
        task = asyncio.ensure_future(conn.executemany(INSERT, source()))
        await held.reached.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        outstanding = sum(
            len(group) for group, said in zip(peer.groups, peer.said, strict=True) if said == ROW
        )
        assert outstanding <= pipeline.WINDOW * (pipeline.FLUSH + ROW_SIZE)
        assert outstanding >= pipeline.WINDOW * pipeline.FLUSH  # the server is kept busy
        assert pulled == outstanding // ROW_SIZE  # and no row is read before it can be sent
        held.release()
        assert (await task).rowcount == count


async def test_sending_stops_at_the_first_failure_that_shows() -> None:
    per_write = -(-pipeline.FLUSH // ROW_SIZE)
    pulled = 0

    def source() -> Iterator[tuple[int]]:
        nonlocal pulled
        for n in range(10 * per_write):
            pulled += 1
            yield (n,)

    script = answers(pipeline.WINDOW * per_write, row_5=duplicate)
    async with talking(opened, BEGIN, script, ROLLBACK, release(2)) as (conn, _):
        with pytest.raises(UniqueViolation) as caught:
            await conn.executemany(INSERT, source())
        assert caught.value.row_index == 5
        assert pulled == pipeline.WINDOW * per_write


# -- servers that drop what follows an error --------------------------------------------------------------------------

LONG = Capabilities(long_tuple=True, long_rowid=True)
MASKS = pytest.mark.parametrize("mask", [DIALECT, LONG], ids=["short counts", "long counts"])

BATCHES: dict[str, Callable[[Connection[Any], int], Awaitable[object]]] = {
    "connection": lambda conn, count: conn.executemany(INSERT, rows(count)),
    "collected": lambda conn, count: conn.executemany(INSERT, rows(count), on_error="collect"),
    "cursor": lambda conn, count: conn.cursor().executemany(INSERT, rows(count)),
    "async": lambda conn, count: conn.executemany(INSERT, sync_rows(count)),
    "arrow": lambda conn, count: conn.executemany(INSERT, pa.table({"a": range(count)})),
}


async def prepared_batch(conn: Connection[Any], count: int) -> None:
    await (await conn.prepare(INSERT)).executemany(rows(count))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing replies are noticed at once, and ten rows are one write."""
    monkeypatch.setattr(pipeline, "ANSWER_TIMEOUT", 0)
    monkeypatch.setattr(pipeline, "FLUSH", 10 * ROW_SIZE)


def dropping(mask: Capabilities, failing: int, answered: int, count: int) -> list[Exchange]:
    """Replies up to the row that fails, and to those from *answered* on.

    They come at once, after the last row: none is late for the time limit that begins with the failure.
    """
    fine = done(1, capabilities=mask) + EOT
    replies = [fine] * failing + [duplicate] + [fine] * (count - answered)
    return [*[(ROW, NO_REPLY)] * (count - 1), (ROW, b"".join(replies))]


@MASKS
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(("failing", "answered"), [(3, 99), (12, 99), (3, 10)], ids=str)
@pytest.mark.parametrize("run", [*BATCHES.values(), prepared_batch], ids=[*BATCHES, "prepared"])
async def test_missing_replies_after_a_failed_row_end_the_call_and_the_connection(
    run: Callable[[Connection[Any], int], Awaitable[object]], failing: int, answered: int, mask: Capabilities
) -> None:
    opened: list[Exchange] = [
        (PREPARE, described(2, C1, kind=StatementType.INSERT, capabilities=mask)),
        ("Id(2) DescribeInput", takes(INTEGER)),
    ]
    begin: Exchange = ("Begin", done(capabilities=mask) + EOT)
    script = dropping(mask, failing, answered, 20)
    async with talking(opened, begin, script, capabilities=mask, peer_dialect=mask) as (conn, _):
        with pytest.raises((ConnectionLost, UniqueViolation)) as caught:
            await run(conn, 20)
        assert conn.is_closed() and not caught.value.connection_usable
        assert caught.value.row_index == failing
        assert not caught.value.outcome_unknown, "the transaction ends with the connection"
        said = "\n".join([str(caught.value), *caught.value.__notes__])
        assert f"no reply came to {min(answered, 20) - failing - 1} rows that were sent after it" in said
        assert "unique constraint owner.u1 is violated" in said


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("collect", [False, True])
async def test_without_a_log_rows_without_a_reply_may_be_stored(collect: bool) -> None:
    script = dropping(DIALECT, 12, 99, 20)
    async with talking(opened, script, warnings=UNLOGGED) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            await conn.executemany(INSERT, rows(20), on_error="collect" if collect else "raise")
        assert (caught.value.row_index, caught.value.outcome_unknown) == (12, True)
        assert not caught.value.connection_usable


@pytest.mark.usefixtures("impatient")
async def test_a_time_limit_of_the_call_ends_the_wait_for_missing_replies_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pipeline, "ANSWER_TIMEOUT", 3600)
    script = dropping(DIALECT, 3, 99, 10)
    async with talking(opened, BEGIN, script, cancel_timeout=0.01) as (conn, _):
        with pytest.raises(QueryTimeout, match=r"no answer within 0.5 s") as caught:
            await conn.executemany(INSERT, rows(10), timeout=0.5)  # the replies that do come take less
        assert caught.value.row_index == 3
        assert "no reply came to 6 rows" in "".join(caught.value.__notes__)
        with pytest.raises(ConnectionLost, match="no reply to a cancelled call"):
            await conn.ping()


class Watched:
    """The timers of all batches, which a test lets expire."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.batches: list[Any] = []
        start = pipeline._ExecutePipeline._expect_replies

        def starting(batch: Any) -> None:
            self.batches.append(batch)
            start(batch)

        monkeypatch.setattr(pipeline._ExecutePipeline, "_expect_replies", starting)

    def expire(self) -> None:
        self.batches[-1]._timer.cancel()
        self.batches[-1]._on_silence(self.batches[-1]._seen)


async def test_rows_that_are_slow_after_a_failed_one_are_awaited_while_replies_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watched, held = Watched(monkeypatch), [Delayed(one_done), Delayed(one_done)]
    monkeypatch.setattr(pipeline, "FLUSH", 2 * ROW_SIZE)
    script: list[Exchange] = [(ROW, duplicate), *((ROW, one) for one in held)]
    async with talking(opened, BEGIN, script, COMMIT, release(2)) as (conn, _):
        task = asyncio.ensure_future(conn.executemany(INSERT, rows(3), on_error="collect"))
        await held[0].reached.wait()
        await until(lambda: watched.batches[0].tally.answered == 1)
        held[0].release()
        await held[1].reached.wait()
        await until(lambda: watched.batches[0].tally.answered == 2)
        watched.expire()
        assert len(watched.batches) == 2, "the limit starts again"
        held[1].release()
        assert [error.row_index for error in (await task).errors] == [0]
        assert watched.batches[0]._timer is None
        assert conn._session.behavior.answers_after_error


async def test_rows_that_no_reply_follows_are_not_awaited_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    watched, held = Watched(monkeypatch), Delayed(one_done)
    async with talking(opened, BEGIN, (ROW, duplicate), (ROW, held)) as (conn, _):
        task = asyncio.ensure_future(conn.executemany(INSERT, rows(2)))
        await held.reached.wait()
        await until(lambda: bool(watched.batches))
        watched.expire()
        with pytest.raises(ConnectionLost, match="no reply came to rows") as caught:
            await task
        assert caught.value.row_index == 0


@pytest.mark.parametrize(
    ("setting", "least", "most"),
    [
        ("set lock mode to wait 300", 300 + pipeline.ANSWER_TIMEOUT, 10_000),
        ("set lock mode to not wait", 0, pipeline.ANSWER_TIMEOUT),
    ],
)
async def test_a_row_may_wait_for_a_lock_as_long_as_the_session_allows(
    monkeypatch: pytest.MonkeyPatch, setting: str, least: float, most: float
) -> None:
    watched, held = Watched(monkeypatch), Delayed(one_done)
    script: list[Exchange] = [(COMMAND, done() + EOT), *opened, BEGIN, (ROW, duplicate), (ROW, held)]
    async with talking(script, COMMIT, release(2)) as (conn, _):
        await conn.execute(setting)
        before = conn._session.channel.loop.time()
        task = asyncio.ensure_future(conn.executemany(INSERT, rows(2), on_error="collect"))
        await held.reached.wait()
        await until(lambda: bool(watched.batches))
        timer = watched.batches[0]._timer
        after = conn._session.channel.loop.time()
        assert timer.when() - before >= least and timer.when() - after <= most
        held.release()
        assert len((await task).errors) == 1


@pytest.mark.parametrize("by_option", [False, True])
async def test_a_wait_for_locks_without_a_limit_has_none_here_either(
    monkeypatch: pytest.MonkeyPatch, by_option: bool
) -> None:
    watched, held = Watched(monkeypatch), Delayed(one_done)
    script: list[Exchange] = [(COMMAND, done() + EOT), *opened, BEGIN, (ROW, duplicate), (ROW, held)]
    async with talking(script, COMMIT, release(2), lock_wait=math.inf if by_option else None) as (conn, _):
        if not by_option:
            await conn.execute("SET LOCK MODE TO WAIT")
        task = asyncio.ensure_future(conn.executemany(INSERT, rows(2), on_error="collect"))
        await held.reached.wait()
        await until(lambda: bool(watched.batches))
        assert watched.batches[0]._timer is None
        held.release()
        assert len((await task).errors) == 1


async def test_a_cancelled_batch_leaves_no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    watched, held = Watched(monkeypatch), Delayed(one_done)
    async with talking(opened, BEGIN, (ROW, duplicate), (ROW, held), ROLLBACK, release(2), deleted) as (
        conn,
        _,
    ):
        await cancel_at(held, conn.executemany(INSERT, rows(2)))
        assert watched.batches[0]._timer is None
        held.release()
        await conn.execute("delete from t where a = 1")


async def test_a_row_that_fails_after_its_batch_was_cancelled_starts_no_timer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watched, held = Watched(monkeypatch), Delayed(duplicate)
    async with talking(opened, BEGIN, (ROW, held), (ROW, one_done), ROLLBACK, release(2), deleted) as (
        conn,
        _,
    ):
        await cancel_at(held, conn.executemany(INSERT, rows(2)))
        held.release()
        await conn.execute("delete from t where a = 1")
        assert not watched.batches


async def test_a_slow_source_of_rows_is_not_taken_for_a_missing_reply(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watched, more = Watched(monkeypatch), asyncio.Event()
    monkeypatch.setattr(pipeline, "FLUSH", 2 * ROW_SIZE)

    async def source() -> AsyncGenerator[tuple[int], None]:
        for row in rows(4):
            if row == (2,):
                await more.wait()
            yield row

    async with talking(opened, BEGIN, answers(4, row_0=duplicate), COMMIT, release(2)) as (conn, _):
        task = asyncio.ensure_future(conn.executemany(INSERT, source(), on_error="collect"))
        await until(lambda: bool(watched.batches) and watched.batches[0].tally.answered == 2)
        watched.expire()
        more.set()
        assert (await task).rowcount == 3


@pytest.mark.parametrize(
    ("write", "shown", "limited"),
    [(2 * ROW_SIZE, True, 1), (pipeline.FLUSH, None, 2)],
    ids=["rows of a later write", "rows of its own write"],
)
async def test_only_replies_to_a_later_write_show_that_rows_after_a_failed_one_are_answered(
    monkeypatch: pytest.MonkeyPatch, write: int, shown: bool | None, limited: int
) -> None:
    watched = Watched(monkeypatch)
    monkeypatch.setattr(pipeline, "FLUSH", write)
    once = (opened, BEGIN, answers(3, row_1=duplicate), COMMIT, release(2))
    async with talking(*once, *once) as (conn, _):
        for _ in range(2):
            assert len((await conn.executemany(INSERT, rows(3), on_error="collect")).errors) == 1
        assert conn._session.behavior.answers_after_error is shown
        assert len(watched.batches) == limited
        assert all(batch._timer is None for batch in watched.batches)


@pytest.mark.parametrize("failing", [0, 2])
async def test_a_failed_row_without_others_in_flight_after_it_shows_nothing_of_a_server(
    monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    monkeypatch.setattr(pipeline, "FLUSH", 1 if failing == 0 else pipeline.FLUSH)
    monkeypatch.setattr(pipeline, "WINDOW", 1)
    script = answers(3, **{f"row_{failing}": duplicate})
    async with talking(opened, BEGIN, script, COMMIT, release(2)) as (conn, _):
        assert (await conn.executemany(INSERT, rows(3), on_error="collect")).rowcount == 2
        assert conn._session.behavior.answers_after_error is None


async def test_an_interrupted_row_ends_a_batch_that_collects_errors_also_if_another_fails_after_it() -> None:
    script = answers(4, row_1=error(-213) + EOT, row_3=duplicate)
    async with talking(opened, BEGIN, script, ROLLBACK, release(2)) as (conn, _):
        with pytest.raises(QueryCanceled) as caught:
            await conn.executemany(INSERT, rows(4), on_error="collect")
        assert caught.value.row_index == 1


# -- cancellation and the end -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, 3, 9])
@cancelled_or_late
async def test_one_cancelled_or_timed_out_is_rolled_back_before_the_next_call(end: str, at: int) -> None:
    held = Delayed(one_done, first=3)
    rest: list[Exchange] = [(ROW, held), *answers(9 - at), ROLLBACK, release(2), deleted]
    async with talking(opened, BEGIN, answers(at), rest, command_timeout=60.0) as (conn, _):
        await end_early(end, held, conn, conn.executemany(INSERT, rows(10)))
        await conn.execute("delete from t where a = 1")
        assert not conn.is_in_transaction()


async def test_that_rollback_waits_for_no_call() -> None:
    held = Delayed(one_done)
    async with talking(opened, BEGIN, (ROW, held), ROLLBACK, release(2)) as (conn, peer):
        await cancel_at(held, conn.executemany(INSERT, rows(1)))
        held.release()
        await until(lambda: peer.said[-1] == "Id(2) Release")


async def test_one_cancelled_while_it_begins_is_rolled_back_too() -> None:
    held = Delayed(done() + EOT)
    async with talking(opened, ("Begin", held), ROLLBACK, release(2), deleted) as (conn, _):
        await cancel_at(held, conn.executemany(INSERT, rows(10)))
        held.release()
        await conn.execute("delete from t where a = 1")
        assert not conn.is_in_transaction()


@pytest.mark.parametrize(
    ("answer", "behind"),
    [(done() + EOT, []), (error(-255) + EOT, []), (error(-691, -111) + EOT, [ROLLBACK])],
    ids=["committed", "nothing to commit", "failed"],
)
async def test_one_cancelled_while_it_commits_is_committed_or_not_but_never_left_open(
    answer: bytes, behind: list[Exchange]
) -> None:
    held = Delayed(answer)
    async with talking(opened, BEGIN, answers(1), ("Commit", held), release(2), behind, deleted) as (conn, _):
        await cancel_at(held, conn.executemany(INSERT, rows(1)))
        held.release()
        await conn.execute("delete from t where a = 1")
        assert not conn.is_in_transaction()


async def test_one_cancelled_inside_a_transaction_leaves_that_to_its_owner() -> None:
    held = Delayed(one_done)
    async with talking(BEGIN, opened, (ROW, held), release(2), COMMIT) as (conn, _):
        async with conn.transaction():
            await cancel_at(held, conn.executemany(INSERT, rows(1)))
            held.release()


async def test_one_cancelled_while_it_waits_for_its_rows_leaves_no_task() -> None:
    asked = asyncio.Event()

    async def source() -> AsyncGenerator[tuple[int], None]:
        yield (1,)
        asked.set()
        await asyncio.Event().wait()

    generator = source()
    async with talking(opened, BEGIN, ROLLBACK, release(2), deleted) as (conn, _):
        task = asyncio.ensure_future(conn.executemany(INSERT, generator))
        await asked.wait()
        await cancelled(task)
        await conn.execute("delete from t where a = 1")
    await generator.aclose()


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("answer", "kind"),
    [(Disconnect(), ConnectionLost), (b"\x66\x66", ProtocolError), (b"\0\x38", ConnectionLost)],
)
@pytest.mark.parametrize("chunks", CHUNKINGS, ids=lambda chunks: chunks.__name__)
async def test_a_connection_that_breaks_in_the_middle_is_reported_once(
    answer: Answer, kind: type[Exception], chunks: Chunking
) -> None:
    count = 3 * (-(-pipeline.FLUSH // ROW_SIZE))
    script: list[Exchange] = [*answers(5), (ROW, answer)]
    async with talking(
        opened, BEGIN, script, [(ROW, b"")] * (2 * (-(-pipeline.FLUSH // ROW_SIZE)) - 6), chunks=chunks
    ) as (conn, peer):
        with pytest.raises(kind):
            await conn.executemany(INSERT, rows(count))
        assert conn.is_closed()
        peer._turns = iter(())  # how many rows were sent before the error is not defined
