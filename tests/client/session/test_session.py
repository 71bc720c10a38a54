"""Acquire and release, cleanup, cancellation, and the errors of all waiting tasks when the connection breaks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aioifx.channel
from aioifx.client.api.connection import Connection
from aioifx.client.lobs.smart_object import SmartObject
from aioifx.client.session.transaction_status import TransactionEvent
from aioifx.errors import (
    ConnectionLost,
    DatabaseError,
    InterfaceError,
    OperationalError,
    ProtocolError,
    QueryTimeout,
    UndefinedTable,
    UniqueViolation,
    from_server,
)
from aioifx.sqltypes import TypeCode
from aioifx.testing.messages import (
    ANSI,
    EOT,
    EXIT,
    UNLOGGED,
    column,
    described,
    done,
    error,
    executed,
    insert_done,
    ints,
    raw_row,
    takes,
)
from aioifx.testing.script import (
    BEGIN,
    COMMAND,
    COMMIT,
    END_SESSION,
    NO_REPLY,
    PREPARE,
    ROLLBACK,
    Chunking,
    Delayed,
    Disconnect,
    Peer,
    close,
    closing,
    fetching,
    opening,
    release,
    select_ints,
)
from aioifx.wire.opcodes import StatementType
from tests.scripted import C1, CHUNKINGS, INTEGER, cancel_at, session_with, talking, time_is_up, until

QUERY = "select c1 from t"
DELETE = "delete from t where a = 1"
deleted = executed(9, StatementType.DELETE, 1)


# -- turns ------------------------------------------------------------------------------------------------------------


async def test_calls_from_several_tasks_are_served_in_order() -> None:
    async with talking(*(select_ints(n, n) for n in range(5))) as (conn, peer):
        results = await asyncio.gather(*(conn.fetch(f"select c1 from t{n}") for n in range(5)))
        assert results == [[(n,)] for n in range(5)]
        assert peer.statements == [f"select c1 from t{n}".encode() for n in range(5)]


async def test_a_task_that_has_acquired_the_session_cannot_wait_for_it() -> None:
    async with talking() as (conn, _):
        session = conn._session
        async with session:
            with pytest.raises(InterfaceError, match="already uses the connection"):
                await conn.fetch(QUERY)
        assert conn.stats.round_trips == 0


async def test_a_task_that_is_cancelled_in_the_queue_leaves_no_trace() -> None:
    held = Delayed(described(1, C1))
    async with talking(
        (PREPARE, held), (opening(1), ints(1) + done(1) + EOT), closing(1), select_ints(1, 3)
    ) as (conn, _):
        first = asyncio.ensure_future(conn.fetch(QUERY))
        await held.reached.wait()
        second, third = (asyncio.ensure_future(conn.fetch(QUERY)) for _ in range(2))
        await asyncio.sleep(0)
        second.cancel()
        held.release()
        assert await first == [(1,)]
        assert await third == [(3,)]
        assert second.cancelled()


# -- cancelled calls --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunks", CHUNKINGS, ids=lambda chunks: chunks.__name__)
@pytest.mark.parametrize("read_ahead", [True, False], ids=["in runs", "field by field"])
@pytest.mark.parametrize("first", [0, 1, 8, 12, 19, 30])
async def test_a_cancelled_fetch_leaves_the_next_reply_intact(
    first: int, read_ahead: bool, chunks: Chunking
) -> None:
    """The law of cancellation: the reply is read to its end; the next call waits for the cleanup."""
    held = Delayed(ints(1, 2, 3) + EOT, first=first)
    async with talking(
        (PREPARE, described(2, C1)),
        (opening(2), held),
        closing(2),
        select_ints(2, 7),
        chunks=chunks,
        read_ahead=read_ahead,
    ) as (conn, _):
        await cancel_at(held, conn.fetch(QUERY))
        held.release()
        assert await conn.fetch(QUERY) == [(7,)]
        assert not conn.is_closed()


async def test_the_next_call_may_queue_up_before_the_cancelled_reply_has_come() -> None:
    held = Delayed(ints(1, 2, 3) + EOT, first=5)
    async with talking((PREPARE, described(2, C1)), (opening(2), held), closing(2), select_ints(2, 7)) as (
        conn,
        peer,
    ):
        await cancel_at(held, conn.fetch(QUERY))
        after = asyncio.ensure_future(conn.fetch(QUERY))
        for _ in range(5):
            await asyncio.sleep(0)
        assert peer.said[1:] == [opening(2)]  # nothing is sent after a request that is unanswered
        held.release()
        assert await after == [(7,)]


async def test_a_cancelled_fetch_of_a_later_block_is_cleared_too() -> None:
    held = Delayed(ints(2) + EOT)
    async with talking(
        (PREPARE, described(2, C1)),
        (opening(2), ints(1) + EOT),
        (fetching(2), held),
        closing(2),
        (COMMAND, deleted),
    ) as (conn, _):
        await cancel_at(held, conn.fetch(QUERY))
        held.release()
        await conn.execute(DELETE)


async def test_a_statement_whose_prepare_was_cancelled_is_released_without_a_call() -> None:
    held = Delayed(described(5, C1))
    async with talking((PREPARE, held), release(5)) as (conn, peer):
        await cancel_at(held, conn.fetch(QUERY))
        held.release()
        await until(lambda: len(peer.groups) == 2)


async def test_a_prepare_that_is_answered_while_the_next_call_waits_is_released_before_it() -> None:
    held = Delayed(described(5, C1))
    async with talking((PREPARE, held), release(5), select_ints(5, 7), (COMMAND, deleted)) as (conn, _):
        await cancel_at(held, conn.fetch(QUERY))
        after = asyncio.ensure_future(conn.fetch(QUERY))
        await asyncio.sleep(0)
        held.release()
        assert await after == [(7,)]
        await conn.execute(DELETE)


async def test_a_cancelled_prepare_that_failed_leaves_nothing_to_release() -> None:
    held = Delayed(error(-206, token="t") + EOT)
    async with talking((PREPARE, held), select_ints(5, 7)) as (conn, _):
        await cancel_at(held, conn.fetch(QUERY))
        held.release()
        assert await conn.fetch(QUERY) == [(7,)]


async def test_a_statement_cancelled_while_its_parameters_are_described_is_released() -> None:
    held = Delayed(takes(INTEGER))
    async with talking(
        (PREPARE, described(5, C1)), ("Id(5) DescribeInput", held), release(5), (COMMAND, deleted)
    ) as (conn, _):
        await cancel_at(held, conn.fetch("select c1 from t where a = ?", 1))
        held.release()
        await conn.execute(DELETE)


async def test_a_cancelled_command_releases_nothing_since_its_id_may_be_in_use_again() -> None:
    held = Delayed(executed(2, StatementType.DELETE, 1))  # COMMAND releases its statement by itself
    async with talking(
        (COMMAND, held),
        (PREPARE, described(2, C1)),
        (opening(2), ints(4) + done(1) + EOT),
        close(2),
        release(2),
    ) as (conn, _):
        await cancel_at(held, conn.execute(DELETE))
        preparing = asyncio.ensure_future(conn.prepare(QUERY))
        await asyncio.sleep(0)
        held.release()
        statement = await preparing
        assert await statement.fetch() == [(4,)]
        await statement.close()


async def test_a_call_does_not_wait_for_its_own_cleanup_and_the_next_one_does() -> None:
    at_close = Delayed(EOT)
    async with talking(
        (PREPARE, described(2, C1)),
        (opening(2), ints(1) + done(1) + EOT),
        ("Id(2) Close", at_close),
        release(2),
        (COMMAND, deleted),
    ) as (conn, peer):
        assert await asyncio.wait_for(conn.fetch(QUERY), 10) == [(1,)]
        after = asyncio.ensure_future(conn.execute(DELETE))
        await at_close.reached.wait()
        for _ in range(5):
            await asyncio.sleep(0)
        assert peer.said[-1] == "Id(2) Close"
        at_close.release()
        assert (await after).rowcount == 1


async def test_an_acquire_cancelled_during_cleanup_leaves_the_rest_to_the_next() -> None:
    fetch, at_close = Delayed(ints(1) + EOT), Delayed(EOT)
    async with talking(
        (PREPARE, described(2, C1)),
        (opening(2), fetch),
        ("Id(2) Close", at_close),
        release(2),
        (COMMAND, deleted),
    ) as (conn, _):
        await cancel_at(fetch, conn.fetch(QUERY))
        fetch.release()
        await cancel_at(at_close, conn.execute("delete from u"))
        at_close.release()
        await conn.execute(DELETE)


async def test_cleanup_is_sent_first_and_its_errors_fail_no_call() -> None:
    held = Delayed(ints(1) + EOT)
    async with talking(
        (PREPARE, described(2, C1)),
        (opening(2), held),
        ("Id(2) Close", error(-259) + EOT),
        ("Id(2) Release", error(-260) + EOT),
        (COMMAND, deleted),
    ) as (conn, _):
        await cancel_at(held, conn.fetch(QUERY))
        held.release()
        assert (await conn.execute(DELETE)).rowcount == 1


async def test_a_cancelled_call_on_a_connection_that_then_breaks_is_not_logged_by_asyncio() -> None:
    held = Delayed(ints(1)[:-1])
    async with talking((PREPARE, described(2, C1)), (opening(2), held)) as (conn, peer):
        await cancel_at(held, conn.fetch(QUERY))
        peer.hang_up()
        await until(conn.is_closed)


async def test_garbage_in_the_reply_to_a_cancelled_call_is_raised_by_the_next_call() -> None:
    held = Delayed(b"\x77\x77")
    async with talking((PREPARE, held)) as (conn, _):
        await cancel_at(held, conn.fetch(QUERY))
        held.release()
        await until(conn.is_closed)
        with pytest.raises(ConnectionLost, match="unknown message"):
            await conn.fetch(QUERY)


# -- abandoned transactions -------------------------------------------------------------------------------------------


async def test_an_abandoned_transaction_is_rolled_back_before_the_next_call_even_if_its_begin_is_unanswered() -> (
    None
):
    held = Delayed(done() + EOT)
    async with talking(("Begin", held), ROLLBACK, (COMMAND, deleted)) as (conn, _):
        await cancel_at(held, conn.transaction().start())
        after = asyncio.ensure_future(conn.execute(DELETE))
        await asyncio.sleep(0)
        held.release()
        await after
        assert not conn.is_in_transaction()


async def test_a_rollback_with_nothing_to_roll_back_does_not_fail_the_next_call() -> None:
    held = Delayed(error(-256) + EOT)
    async with talking(("Begin", held), ("Rollback", error(-255) + EOT), (COMMAND, deleted)) as (conn, _):
        await cancel_at(held, conn.transaction().start())
        held.release()
        assert (await conn.execute(DELETE)).rowcount == 1


async def test_a_transaction_that_cannot_be_rolled_back_ends_the_connection() -> None:
    held = Delayed(done() + EOT)
    async with talking(("Begin", held), ("Rollback", error(-458, -143) + EOT)) as (conn, _):
        await cancel_at(held, conn.transaction().start())
        held.release()
        with pytest.raises(ConnectionLost, match="could not be rolled back"):
            await conn.execute(DELETE)
        assert conn.is_closed()


# -- the state of the transaction -------------------------------------------------------------------------------------


async def test_transaction_control_in_sql_is_followed() -> None:
    """JDBC prepares these, too (transactions.json): only SQ_DESCRIBE shows for sure what a statement was."""

    def control(statement_id: int, kind: StatementType) -> list[Any]:
        return [
            (PREPARE, described(statement_id, kind=kind)),
            (f"Id({statement_id}) Execute", done() + EOT),
            release(statement_id),
        ]

    async with talking(
        control(2, StatementType.BEGIN_WORK),
        control(3, StatementType.COMMIT_WORK),
        control(2, StatementType.BEGIN_WORK),
        control(2, StatementType.ROLLBACK_WORK),
    ) as (conn, _):
        states = []
        for sql in ("begin work", "commit work", "BEGIN", "rollback"):
            await conn.execute(sql)
            states.append(conn.is_in_transaction())
        assert states == [True, False, True, False]


async def test_a_control_statement_that_failed_changes_nothing() -> None:
    async with talking(("Begin", error(-535) + EOT)) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            await conn.transaction().start()
        assert caught.value.sqlcode == -535
        assert not conn.is_in_transaction()


async def test_an_ansi_database_is_committed_after_each_statement_and_gets_no_begin() -> None:
    async with talking(
        select_ints(2, 1)[:2],
        (fetching(2), done(1) + EOT),
        closing(2),
        COMMIT,
        (COMMAND, deleted),
        ("Commit", error(-255) + EOT),  # there was nothing to commit
        (COMMAND, deleted),
        COMMIT,
        warnings=ANSI,
    ) as (conn, _):
        await conn.fetch(QUERY)
        await conn.execute(DELETE)
        async with conn.transaction():
            assert conn.is_in_transaction()
            await conn.execute(DELETE)


async def test_rows_of_a_read_only_transaction_in_an_ansi_database_come_in_blocks() -> None:
    """Elsewhere in such a database cursors are update cursors (documented)."""
    read_only = (COMMAND, executed(0, 0))
    async with talking(read_only, select_ints(2, 1, 2), COMMIT, warnings=ANSI) as (conn, _):
        async with conn.transaction(read_only=True):
            assert await conn.fetch(QUERY) == [(1,), (2,)]


async def test_no_commit_follows_a_failed_statement_in_autocommit_mode() -> None:
    """JDBC sends one and ignores the answer (errors.json); a statement that failed has left nothing to commit."""
    async with talking((COMMAND, error(-268, -100, token="u") + EOT), (COMMAND, deleted)) as (conn, _):
        with pytest.raises(UniqueViolation):
            await conn.execute("insert into t values (1)")
        await conn.execute(DELETE)


# -- what is not SQLI -------------------------------------------------------------------------------------------------


async def three_waiters(conn: Connection) -> list[BaseException]:
    results = await asyncio.wait_for(
        asyncio.gather(*(conn.fetch(QUERY) for _ in range(3)), return_exceptions=True), 10
    )
    assert all(isinstance(result, DatabaseError) for result in results)
    return [result for result in results if isinstance(result, BaseException)]


GARBAGE = {
    "an unknown message": b"\x12\x34",
    "text": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "a row nobody asked for": ints(1),
    "a description of -1 columns": bytes.fromhex("0008 0002 0000 00000000 0004 ffff 00000000"),
    "a description with a name out of place": described(0, C1).replace(
        bytes.fromhex("00000003 00000000"), b"\0\0\0\3\x7f\0\0\0"
    ),
    "an endless description": bytes.fromhex("0008 0002 0000 00000000 0004 0001 7fffffff"),
    "an answer to something else": b"\0\x7e\0\0",
}


@pytest.mark.parametrize("chunks", CHUNKINGS, ids=lambda chunks: chunks.__name__)
@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE.keys())
async def test_garbage_closes_the_connection_for_all_waiting_tasks(garbage: bytes, chunks: Chunking) -> None:
    async with talking((PREPARE, garbage), chunks=chunks) as (conn, peer):
        first, *others = await three_waiters(conn)
        assert isinstance(first, ProtocolError) and not first.connection_usable
        assert all(isinstance(other, ConnectionLost) for other in others)
        assert conn.is_closed()
        await peer.gone.wait()


async def test_a_reply_of_messages_without_end_is_cut_off() -> None:
    message = error(-201, token="x" * 60_000)
    async with talking((PREPARE, message * 300)) as (conn, _):  # 18 MB
        with pytest.raises(ProtocolError, match="longer than"):
            await asyncio.wait_for(conn.fetch(QUERY), 20)


@pytest.mark.parametrize("chunks", CHUNKINGS, ids=lambda chunks: chunks.__name__)
@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("at", [0, 1, 2, 7, 12, 20])
async def test_a_server_that_dies_in_the_middle_of_a_fetch_is_reported_to_all_waiting_tasks(
    at: int, reset: bool, chunks: Chunking
) -> None:
    answer = (ints(1, 2, 3) + done(3))[:at]
    async with talking(
        (PREPARE, described(2, C1)), (opening(2), Disconnect(answer, reset=reset)), chunks=chunks
    ) as (conn, _):
        errors = await three_waiters(conn)
        assert [type(error) for error in errors] == [ConnectionLost] * 3
        assert not any(error.connection_usable for error in errors if isinstance(error, DatabaseError))
        with pytest.raises(ConnectionLost):
            await conn.execute(DELETE)
        assert conn.is_closed()


async def test_a_server_that_ends_while_no_call_runs_is_noticed_at_once() -> None:
    async with talking() as (conn, peer):
        peer.hang_up()
        await until(conn.is_closed)
        with pytest.raises(ConnectionLost):
            await conn.fetch(QUERY)


@pytest.mark.parametrize(
    ("bytes_", "kind"),
    [
        (EXIT, ConnectionLost),  # the server ends a session without being asked
        (done() + EOT, ProtocolError),
        (EOT, ProtocolError),
        (b"\0", ProtocolError),
        (b"?", ProtocolError),
    ],
)
async def test_unsolicited_bytes_are_never_taken_for_a_reply(bytes_: bytes, kind: type[Exception]) -> None:
    peer = Peer([(None, EOT)] * 3)
    session = session_with(peer)
    conn = Connection(session, address="memory:0", server_version="")
    peer.send(bytes_)
    await until(lambda: session.channel.bytes_in >= len(bytes_))
    with pytest.raises(kind):
        await asyncio.wait_for(conn.execute(DELETE), 10)
    assert conn.is_closed()
    await conn.close()


async def test_an_idle_connection_does_not_buffer_unsolicited_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aioifx.channel, "MAX_UNSOLICITED", 1000)
    async with talking() as (conn, peer):
        for _ in range(11):
            peer.send(bytes(100))
        await until(lambda: conn._session.channel.bytes_in >= 1100)
        assert conn.is_closed()
        with pytest.raises(ConnectionLost, match="unsolicited bytes"):
            await conn.fetch(QUERY)


@pytest.mark.parametrize("answer", [EXIT, done() + EXIT, described(2, C1)[:-2] + EXIT])
async def test_an_exit_that_comes_instead_of_an_answer_ends_the_connection(answer: bytes) -> None:
    async with talking((PREPARE, answer)) as (conn, _):
        errors = await three_waiters(conn)
        assert all(isinstance(error, ConnectionLost) for error in errors)
        assert "ended the session" in str(errors[0])


@given(garbage=st.binary(min_size=1, max_size=60), cut=st.integers(1, 8))
def test_no_answer_at_all_makes_a_call_hang_or_fail_in_an_unknown_way(garbage: bytes, cut: int) -> None:
    """Law (garbage): whatever comes, and then the end, a call gives a result or one of our errors."""

    async def run() -> None:
        peer = Peer(
            [(None, Disconnect(garbage))] * 1,
            chunks=lambda data: [data[n : n + cut] for n in range(0, len(data), cut)],
        )
        conn = Connection(session_with(peer), address="memory:0", server_version="")
        with pytest.raises(DatabaseError):
            await asyncio.wait_for(conn.fetch(QUERY), 10)
        assert conn.is_closed()
        await conn.close()

    asyncio.run(run())


NAMED = column("text", TypeCode.UDTVAR, 64, extended_id=1, owner="informix", extended_name="lvarchar")
REPLIES_TO_A_FETCH = [
    described(2, C1, NAMED),
    takes(INTEGER),
    raw_row(b"\0\0\0\7" + b"\0\0\0\0\2ab") * 2 + insert_done(7, 8) + done(2) + EOT,
]
REPLIES_TO_A_BATCH = [
    described(2, C1, kind=StatementType.INSERT),
    takes(INTEGER),
    done() + EOT,
    insert_done(7, 8) + done(1) + EOT,
    insert_done(7, 8) + done(1) + EOT,
]
HOSTILE = [b"\xff\xff", b"\x7f\xff", b"\x80\0", b"\0\1", b"\xff" * 4, b"\x7f" + b"\xff" * 3, b"\x80\0\0\0"]


@pytest.mark.parametrize("number", HOSTILE, ids=lambda number: number.hex())
@pytest.mark.parametrize(
    ("replies", "call"),
    [
        (REPLIES_TO_A_FETCH, lambda conn: conn.fetch("select c1, text from t where c1 = ?", 7)),
        (REPLIES_TO_A_BATCH, lambda conn: conn.executemany("insert into t values (?)", [(7,), (8,)])),
    ],
    ids=["fetch", "executemany"],
)
async def test_any_number_at_any_place_of_a_reply_gives_a_result_or_an_error(
    replies: list[bytes], call: Callable[[Connection], Awaitable[Any]], number: bytes
) -> None:
    """Law (numbers): no number that a server may send makes a call hang; invalid SQLI closes the connection."""
    for index, reply in enumerate(replies):
        for at in range(0, len(reply) - len(number), 2):
            hostile = reply[:at] + number + reply[at + len(number) :]
            peer = Peer([*((None, answer) for answer in replies[:index]), (None, Disconnect(hostile))])
            conn = Connection(session_with(peer), address="memory:0", server_version="")
            try:
                await asyncio.wait_for(call(conn), 10)
            except DatabaseError as error:
                assert conn.is_closed() or not isinstance(error, ProtocolError), (index, at)
            conn.terminate()


# -- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer", [EXIT, EOT, bytes.fromhex("0063 0002 0000 0001") + EXIT, Disconnect(EXIT), Disconnect()]
)
async def test_exit_is_sent_once_however_the_server_answers_it(answer: Any) -> None:
    async with talking((EXIT, answer)) as (conn, peer):
        await conn.close()
        await conn.close()
        assert conn.is_closed()
        assert bytes(peer.received) == EXIT  # no SQ_EOT, and nothing else (observed: JDBC)
        await peer.gone.wait()


async def test_a_server_that_does_not_answer_exit_is_disconnected_after_a_while() -> None:
    async with talking((EXIT, NO_REPLY)) as (conn, peer):
        await conn.close(timeout=0.05)
        assert conn.is_closed()
        await peer.gone.wait()


async def test_exit_is_sent_after_requests_that_are_still_unanswered() -> None:
    held = Delayed(described(2, C1))
    async with talking((PREPARE, held), END_SESSION) as (conn, _):
        running = asyncio.ensure_future(conn.fetch(QUERY))
        await held.reached.wait()
        closing_ = asyncio.ensure_future(conn.close())
        await asyncio.sleep(0)
        held.release()
        await closing_
        with pytest.raises(ConnectionLost):
            await running


async def test_a_cancelled_close_drops_the_connection() -> None:
    held = Delayed(EXIT)
    async with talking((EXIT, held)) as (conn, peer):
        await cancel_at(held, conn.close())
        assert conn.is_closed()
        await peer.gone.wait()


async def test_closing_in_a_transaction_sends_no_rollback_since_the_server_rolls_back_by_itself() -> None:
    async with talking(BEGIN, END_SESSION) as (conn, _):
        await conn.transaction().start()
        await conn.close()


async def test_everything_after_the_end_says_so() -> None:
    calls: list[Callable[[Connection], Awaitable[Any]]] = [
        lambda c: c.fetch(QUERY),
        lambda c: c.execute(DELETE),
        lambda c: c.executemany("insert into t values(?)", [(1,)]),
        lambda c: c.prepare(QUERY),
        lambda c: anext(c.stream(QUERY)),
        lambda c: c.cursor().execute(QUERY),
        lambda c: c.transaction().start(),
    ]
    async with talking(END_SESSION) as (conn, _):
        await conn.close()
        for call in calls:
            with pytest.raises(ConnectionLost, match="closed"):
                await call(conn)


# -- numbers ----------------------------------------------------------------------------------------------------------


async def test_stats_count_waits_for_the_server_statements_and_rows() -> None:
    async with talking(select_ints(1, 5, 6), (COMMAND, deleted)) as (conn, _):
        await conn.fetch(QUERY)
        await conn.execute(DELETE)
        assert (conn.stats.round_trips, conn.stats.statements, conn.stats.rows) == (5, 2, 2)


async def test_an_error_after_rows_does_not_lose_the_servers_count() -> None:
    async with talking((PREPARE, error(-206, token="t") + EOT)) as (conn, _):
        with pytest.raises(UndefinedTable):
            await conn.fetch(QUERY)
        assert (conn.stats.round_trips, conn.stats.statements, conn.stats.rows) == (1, 1, 0)


def test_no_error_of_the_server_is_an_operational_error_by_accident() -> None:
    assert issubclass(ConnectionLost, OperationalError)


# -- lost replies -----------------------------------------------------------------------------------------------------

LOST: Any = object()
"""Where the script leaves a reply out."""

INSERT = "insert into t values (?)"
prepared_insert: list[Any] = [
    (PREPARE, described(0, kind=StatementType.INSERT)),
    ("Id(0) DescribeInput", takes(INTEGER)),
]
prepared_commit: Any = (PREPARE, described(0, kind=StatementType.COMMIT_WORK))
routine: Any = (PREPARE, described(0, C1, kind=StatementType.EXECUTE_ROUTINE))
one_row: Any = ("Id(0) Bind Execute", LOST)


async def in_a_block(conn: Connection) -> None:
    async with conn.transaction():
        await conn.execute(DELETE)


async def by_hand(conn: Connection) -> None:
    await conn.execute(DELETE)
    await conn.execute("commit work")


async def by_method(conn: Connection) -> None:
    await conn.execute(DELETE)
    await conn.commit()


async def undone(conn: Connection) -> None:
    await conn.execute(DELETE)
    await conn.rollback()


async def prepared(conn: Connection) -> None:
    statement = await conn.prepare(INSERT)
    await statement.execute(1)


async def scrolled(conn: Connection) -> None:
    cursor = conn.cursor(scroll=True)
    await cursor.execute("execute procedure r()")
    await cursor.fetchone()


def executemany(conn: Connection) -> Awaitable[object]:
    return conn.executemany(INSERT, [(1,)])


by_user: dict[str, Any] = {"autocommit": False}
unlogged: dict[str, Any] = {"warnings": UNLOGGED}
ansi: dict[str, Any] = {"warnings": ANSI}

BOTH, NEITHER, LATE = (True, True), (False, False), (False, True)
"""Whether the outcome is not known when the connection is lost, and when time is up."""

OUTCOMES: dict[str, tuple[dict[str, Any], list[Any], Callable[[Connection], Awaitable[object]], Any]] = {
    "text": ({}, [(COMMAND, LOST)], lambda conn: conn.execute(DELETE), BOTH),
    "parameters": ({}, [*prepared_insert, one_row], lambda conn: conn.execute(INSERT, 1), BOTH),
    "fetch": ({}, [*prepared_insert, one_row], lambda conn: conn.fetch(INSERT, 1), BOTH),
    "cursor": ({}, [*prepared_insert, one_row], lambda conn: conn.cursor().execute(INSERT, (1,)), BOTH),
    "prepared": ({}, [*prepared_insert, one_row], prepared, BOTH),
    "routine": ({}, [routine, (opening(0), LOST)], lambda conn: conn.call("r"), BOTH),
    "routine, opened to scroll": ({}, [routine, ("Id(0) CurName Scroll Hold Open", LOST)], scrolled, BOTH),
    "routine, scrolled": (
        {},
        [routine, ("Id(0) CurName Scroll Hold Open", EOT), (None, LOST)],
        scrolled,
        BOTH,
    ),
    "block": ({}, [BEGIN, (COMMAND, deleted), ("Commit", LOST)], in_a_block, BOTH),
    "method": (by_user, [BEGIN, (COMMAND, deleted), ("Commit", LOST)], by_method, BOTH),
    "by hand": (
        by_user,
        [BEGIN, (COMMAND, deleted), prepared_commit, ("Id(0) Execute", LOST)],
        by_hand,
        BOTH,
    ),
    "many": ({}, [*prepared_insert, BEGIN, (None, done(1) + EOT), ("Commit", LOST)], executemany, BOTH),
    "many, without a log": (unlogged, [*prepared_insert, one_row], executemany, BOTH),
    "text, ANSI": (ansi, [(COMMAND, LOST)], lambda conn: conn.execute(DELETE), LATE),
    "commit, ANSI": (ansi, [(COMMAND, deleted), ("Commit", LOST)], lambda conn: conn.execute(DELETE), BOTH),
    "text in a block": ({}, [BEGIN, (COMMAND, LOST)], in_a_block, NEITHER),
    "rollback": (by_user, [BEGIN, (COMMAND, deleted), ("Rollback", LOST)], undone, NEITHER),
    "many, a row": ({}, [*prepared_insert, BEGIN, one_row], executemany, NEITHER),
    "many, BEGIN": ({}, [*prepared_insert, ("Begin", LOST)], executemany, NEITHER),
    "PREPARE": ({}, [(PREPARE, LOST)], lambda conn: conn.execute(INSERT, 1), NEITHER),
    "query": ({}, [(PREPARE, described(0, C1)), (opening(0), LOST)], lambda conn: conn.fetch(QUERY), NEITHER),
    "setting": ({}, [(COMMAND, LOST)], lambda conn: conn.execute("set isolation to dirty read"), NEITHER),
}


@pytest.mark.parametrize("late", [False, True], ids=["cut", "late"])
@pytest.mark.parametrize(("options", "script", "call", "unknown"), OUTCOMES.values(), ids=OUTCOMES)
async def test_a_lost_reply_says_whether_the_outcome_is_known(
    options: dict[str, Any],
    script: list[Any],
    call: Callable[[Connection], Awaitable[object]],
    unknown: tuple[bool, bool],
    late: bool,
) -> None:
    held = Delayed(b"")
    played = [
        (request, (held if late else Disconnect()) if answer is LOST else answer)
        for request, answer in script
    ]
    async with talking(*played, **options, command_timeout=60.0, cancel_timeout=0.01) as (conn, _):
        task = asyncio.ensure_future(call(conn))
        if late:
            await held.reached.wait()
            time_is_up(conn._session)
        with pytest.raises(QueryTimeout if late else ConnectionLost) as caught:
            await task
        assert caught.value.outcome_unknown is unknown[late]
        notes = [note for note in getattr(caught.value, "__notes__", ()) if "whether it took effect" in note]
        assert len(notes) == unknown[late]
        await conn._session.channel.wait_closed()
        with pytest.raises(ConnectionLost) as behind:
            await call(conn)
        assert behind.value.outcome_unknown is False
        assert not hasattr(behind.value, "__notes__")


async def test_the_outcome_of_what_was_never_sent_is_known() -> None:
    async with talking(BEGIN, (COMMAND, deleted)) as (conn, _):
        with pytest.raises(ConnectionLost, match="the connection was closed") as caught:
            async with conn.transaction():
                await conn.execute(DELETE)
                conn.terminate()
        assert caught.value.outcome_unknown is False
        assert not hasattr(caught.value, "__notes__")
        with pytest.raises(ConnectionLost) as caught:
            await conn._session.transactions.commit()  # as if the connection had been lost after the acquire
        assert caught.value.outcome_unknown is False
        assert not hasattr(caught.value, "__notes__")


@pytest.mark.parametrize(("code", "unknown"), [(-698, True), (-716, True), (-458, False), (-238, False)])
def test_a_server_that_does_not_know_the_outcome_is_believed(code: int, unknown: bool) -> None:
    assert from_server(code).outcome_unknown is unknown


async def test_a_lost_connection_says_a_thing_once() -> None:
    async with talking((COMMAND, Disconnect())) as (conn, _):
        with pytest.raises(ConnectionLost) as caught:
            await conn.execute(DELETE)
        assert str(caught.value).count("clos") == 1
        for _ in range(2):
            with pytest.raises(ConnectionLost) as behind:
                await conn.execute(DELETE)
            assert str(behind.value) == str(caught.value)
            assert behind.value.__cause__ is None


CHANGES: dict[str, Callable[[Connection[Any]], object]] = {
    "large object": lambda conn: conn._session.open_objects.setdefault(1, SmartObject.__new__(SmartObject)),
    "transaction": lambda conn: conn._session.transactions._on(TransactionEvent.BEGUN),
    "autocommit": lambda conn: conn._session.transactions.set_autocommit(False),
    "isolation": lambda conn: conn._session.settings.push("dirty read", ""),
    "codec": lambda conn: conn.set_type_codec("integer", decoder=int),
    "settings": lambda conn: setattr(conn._session, "is_resettable", False),
    "primary": lambda conn: setattr(conn._session, "has_lost_primary", True),
    "lock": lambda conn: conn._session.dispatcher.try_acquire(),
    "interrupt": lambda conn: setattr(conn._session.dispatcher.interrupter, "has_unasked", True),
}
"""What a user can leave to be undone, or beyond it."""


async def test_a_session_is_reset_at_once_only_if_nothing_has_changed() -> None:
    for name, change in CHANGES.items():
        async with talking() as (conn, _):
            session = conn._session
            assert session.try_reset() and session.users == 1
            change(conn)
            assert not session.try_reset() and session.users == 1, name
            session.channel.abort()  # what was changed by hand cannot be undone
