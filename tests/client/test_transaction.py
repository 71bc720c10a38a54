"""Transactions as blocks: JDBC's messages, failures on the way in and out, cancellation."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from aioifx.errors import (
    ConnectionLost,
    DatabaseError,
    ForeignKeyViolation,
    InterfaceError,
    NotSupportedError,
    UniqueViolation,
)
from aioifx.wire.opcodes import StatementType
from tests.scripted import (
    ANSI,
    BEGIN,
    COMMAND,
    COMMIT,
    EOT,
    ROLLBACK,
    UNLOGGED,
    Cut,
    Held,
    Turn,
    cancel_at,
    done,
    error,
    executed,
    played,
    talking,
)

pytestmark = pytest.mark.usefixtures("tidy")

DELETE = "delete from t where a = 1"
deleted: Turn = (COMMAND, executed(9, StatementType.DELETE, 1))


@pytest.mark.parametrize("case", ["commit", "no_xactstat"])
async def test_what_we_send_is_what_jdbc_sent(case: str) -> None:
    """BEGIN, COMMIT and ROLLBACK in their own groups; SQ_XACTSTAT in the answers or not."""
    async with talking(played("transactions", case)) as (conn, _):
        async with conn.transaction():
            assert (await conn.execute("update t set a=1")).rowcount == 1
            assert conn.is_in_transaction()
        assert not conn.is_in_transaction()
        transaction = conn.transaction()
        await transaction.start()
        await conn.execute("update t set a=2")
        await transaction.rollback()
        assert not conn.is_in_transaction()
        assert conn.stats.round_trips == 6


async def test_a_failure_in_a_transaction_is_rolled_back_as_jdbc_does_it() -> None:
    async with talking(played("errors", "exec_in_tx")) as (conn, _):
        with pytest.raises(UniqueViolation):
            async with conn.transaction():
                await conn.execute("insert into exec_err_268 values(1)")
        assert not conn.is_in_transaction()


async def test_any_exception_rolls_back_and_goes_on() -> None:
    async with talking(BEGIN, deleted, ROLLBACK) as (conn, _):
        with pytest.raises(ZeroDivisionError):
            async with conn.transaction():
                await conn.execute(DELETE)
                raise ZeroDivisionError


@pytest.mark.parametrize("how", ["commit", "rollback"])
async def test_a_block_may_end_its_transaction_by_itself(how: str) -> None:
    async with talking(BEGIN, COMMIT if how == "commit" else ROLLBACK) as (conn, _):
        async with conn.transaction() as transaction:
            await getattr(transaction, how)()
            for again in (transaction.commit, transaction.rollback, transaction.start):
                with pytest.raises(InterfaceError):
                    await again()


async def test_a_transaction_that_was_not_started_cannot_be_ended() -> None:
    async with talking() as (conn, peer):
        transaction = conn.transaction()
        for end in (transaction.commit, transaction.rollback):
            with pytest.raises(InterfaceError, match="new"):
                await end()
        assert peer.received == b""


async def test_a_second_transaction_inside_of_the_first_is_refused() -> None:
    async with talking(BEGIN, COMMIT) as (conn, peer):
        async with conn.transaction():
            with pytest.raises(InterfaceError, match="open already"):
                async with conn.transaction():
                    raise AssertionError("not reached")
            assert len(peer.groups) == 1


async def test_a_database_without_a_log_has_no_transactions_and_is_not_asked() -> None:
    async with talking(warnings=UNLOGGED) as (conn, peer):
        with pytest.raises(NotSupportedError, match="log") as caught:
            async with conn.transaction():
                raise AssertionError("not reached")
        assert caught.value.sqlcode == -256
        assert peer.received == b""


async def test_an_ansi_database_is_always_in_a_transaction_and_gets_no_begin() -> None:
    async with talking(deleted, COMMIT, deleted, ROLLBACK, warnings=ANSI) as (conn, _):
        async with conn.transaction():
            await conn.execute(DELETE)
        transaction = conn.transaction()
        await transaction.start()
        await conn.execute(DELETE)
        await transaction.rollback()


# -- failures ---------------------------------------------------------------------------------------------------------


async def test_a_begin_that_fails_may_be_tried_again() -> None:
    async with talking(("Begin", error(-255) + EOT), BEGIN, COMMIT) as (conn, _):
        transaction = conn.transaction()
        with pytest.raises(DatabaseError):
            await transaction.start()
        async with transaction:
            assert conn.is_in_transaction()


async def test_a_commit_that_fails_leaves_no_transaction_open() -> None:
    async with talking(
        BEGIN, deleted, ("Commit", error(-691, -111, token="fk") + EOT), ROLLBACK, BEGIN, COMMIT
    ) as (
        conn,
        _,
    ):
        with pytest.raises(ForeignKeyViolation):
            async with conn.transaction():
                await conn.execute(DELETE)
        assert not conn.is_in_transaction()
        async with conn.transaction():
            pass


async def test_a_commit_without_a_transaction_tells_us_that_there_is_none() -> None:
    nothing = error(-255) + EOT
    async with talking(BEGIN, ("Commit", nothing), ("Rollback", nothing), BEGIN, COMMIT) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            async with conn.transaction():
                pass
        assert caught.value.sqlcode == -255
        async with conn.transaction():
            pass


async def test_the_error_of_the_block_is_not_hidden_by_the_one_of_the_rollback() -> None:
    failed: Turn = (
        COMMAND,
        error(-458, -143) + EOT,
    )  # a long transaction: the server has rolled it back already
    async with talking(BEGIN, failed, ("Rollback", error(-255) + EOT), BEGIN, COMMIT) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            async with conn.transaction():
                await conn.execute(DELETE)
        assert caught.value.sqlcode == -458
        async with conn.transaction():
            pass


async def test_a_rollback_asked_for_says_what_went_wrong() -> None:
    async with talking(BEGIN, ("Rollback", error(-255) + EOT)) as (conn, _):
        transaction = conn.transaction()
        await transaction.start()
        with pytest.raises(DatabaseError) as caught:
            await transaction.rollback()
        assert caught.value.sqlcode == -255
        assert not conn.is_in_transaction()


@pytest.mark.parametrize("turn", ["Begin", "Commit", "Rollback"])
async def test_a_connection_that_breaks_in_transaction_control_says_so(turn: str) -> None:
    script: list[Turn] = [("Begin", Cut())] if turn == "Begin" else [BEGIN, (turn, Cut())]
    async with talking(*script) as (conn, _):
        with pytest.raises(ConnectionLost):
            transaction = conn.transaction()
            await transaction.start()
            await (transaction.commit() if turn == "Commit" else transaction.rollback())
        assert conn.is_closed()


async def test_a_connection_that_breaks_in_the_block_leaves_its_error_alone() -> None:
    async with talking(BEGIN, (COMMAND, Cut())) as (conn, _):
        transaction = conn.transaction()
        with pytest.raises(ConnectionLost):
            async with transaction:
                await conn.execute(DELETE)
        assert "lost" in repr(transaction)


# -- cancellation -----------------------------------------------------------------------------------------------------


async def in_transaction(conn: Any) -> None:
    async with conn.transaction():
        await conn.execute(DELETE)


async def test_a_cancelled_block_is_rolled_back() -> None:
    held = Held(executed(9, StatementType.DELETE, 1))
    async with talking(BEGIN, (COMMAND, held), ROLLBACK, deleted) as (conn, peer):
        task = asyncio.ensure_future(in_transaction(conn))
        await held.reached.wait()
        task.cancel()
        await asyncio.sleep(0)
        held.release()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert peer.said[-1] == "Rollback(0)"
        await conn.execute(DELETE)
        assert not conn.is_in_transaction()


async def test_a_block_cancelled_twice_leaves_its_rollback_to_the_next_turn() -> None:
    held = Held(executed(9, StatementType.DELETE, 1))
    async with talking(BEGIN, (COMMAND, held), ROLLBACK, ("Rollback", error(-255) + EOT), deleted) as (
        conn,
        _,
    ):
        task = asyncio.ensure_future(in_transaction(conn))
        await held.reached.wait()
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        held.release()
        await conn.execute(DELETE)
        assert not conn.is_in_transaction()


async def test_a_cancelled_begin_is_undone_by_the_next_turn() -> None:
    held = Held(done() + EOT)
    async with talking(("Begin", held), ROLLBACK, deleted) as (conn, _):
        await cancel_at(held, in_transaction(conn))
        held.release()
        await conn.execute(DELETE)
        assert not conn.is_in_transaction()


async def test_a_commit_cancelled_on_its_way_is_done_by_the_server_all_the_same() -> None:
    held = Held(done() + EOT)
    async with talking(BEGIN, deleted, ("Commit", held), deleted) as (conn, _):
        await cancel_at(held, in_transaction(conn))
        held.release()
        await conn.execute(DELETE)
        assert not conn.is_in_transaction()


async def test_a_commit_cancelled_before_its_turn_came_is_rolled_back() -> None:
    held = Held(executed(9, StatementType.DELETE, 1))
    async with talking(BEGIN, (COMMAND, held), ROLLBACK, deleted) as (conn, _):

        async def empty() -> None:
            async with conn.transaction():
                entered.set()
                await leave.wait()

        entered, leave = asyncio.Event(), asyncio.Event()
        task = asyncio.ensure_future(empty())
        await entered.wait()
        other = asyncio.ensure_future(conn.execute(DELETE))  # has the turn when the block ends
        await held.reached.wait()
        leave.set()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        held.release()
        await other
        await conn.execute(DELETE)
        assert not conn.is_in_transaction()
