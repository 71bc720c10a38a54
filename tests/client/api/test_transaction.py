"""Transactions as blocks: JDBC's messages, savepoints, settings, failures at both ends, cancellation."""

from __future__ import annotations

import asyncio
import contextlib
import math
from typing import Any

import pytest

import aioifx
import aioifx.server
from aioifx.client.api.transaction import NEXT, BlockState
from aioifx.client.config.isolation import Isolation
from aioifx.errors import (
    ConnectionLost,
    DatabaseError,
    ForeignKeyViolation,
    InterfaceError,
    NotSupportedError,
    ProgrammingError,
    QueryTimeout,
    RowLocked,
    UniqueViolation,
)
from aioifx.testing.messages import (
    ANSI,
    DIALECT,
    EOT,
    UNLOGGED,
    described,
    done,
    error,
    executed,
    ints,
    takes,
)
from aioifx.testing.script import (
    BEGIN,
    COMMAND,
    COMMIT,
    END_SESSION,
    PREPARE,
    ROLLBACK,
    Delayed,
    Disconnect,
    Exchange,
    Peer,
    listening,
    login,
    opening,
    release,
)
from aioifx.wire import completion, requests, session_requests
from aioifx.wire.opcodes import StatementType
from aioifx.wire.outbox import Outbox
from tests.injection import Injection, Manner
from tests.scripted import (
    C1,
    INTEGER,
    at_rest,
    cancel_at,
    cancelled,
    in_one_group,
    played,
    talking,
    time_out_at,
)

DELETE = "delete from t where a = 1"
deleted: Exchange = (COMMAND, executed(9, StatementType.DELETE, 1))

SET_TYPE = 15
"""What the rig says that a SET is; nothing here depends on it."""
READ_ONLY = "set transaction read only"


def command(sql: str, answer: bytes = executed(9, SET_TYPE)) -> Exchange:
    """SQ_COMMAND with exactly this text."""
    outbox = Outbox()
    requests.put_command(outbox, DIALECT, sql.encode())
    requests.put_eot(outbox)
    return outbox.detach(), answer


def savepoint(verb: str, number: int = 1, answer: bytes = done() + EOT) -> Exchange:
    """Set, release or roll back to the savepoint of a block inside *number* - 1 others."""
    outbox = Outbox()
    put = getattr(session_requests, f"put_{verb}_savepoint")
    put(outbox, b"aioifx_%d" % number)
    requests.put_eot(outbox)
    return outbox.detach(), answer


def ended(sqlcode: int, isamcode: int = 0, *, level: int = 0, previous: int = 1) -> bytes:
    """An error, and the state of the transaction that the server sends after it."""
    outbox = Outbox()
    completion.put_xactstat(outbox, completion.TransactionState(3, level, previous))
    return error(sqlcode, isamcode) + outbox.detach() + EOT


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


async def test_any_exception_rolls_back_and_propagates() -> None:
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
    ) as (conn, _):
        with pytest.raises(ForeignKeyViolation):
            async with conn.transaction():
                await conn.execute(DELETE)
        assert not conn.is_in_transaction()
        async with conn.transaction():
            pass


async def test_a_commit_without_a_transaction_shows_that_none_is_open() -> None:
    nothing = error(-255) + EOT
    async with talking(BEGIN, ("Commit", nothing), BEGIN, COMMIT) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            async with conn.transaction():
                pass
        assert caught.value.sqlcode == -255
        async with conn.transaction():
            pass


async def test_the_error_of_the_block_is_not_hidden_by_the_one_of_the_rollback() -> None:
    failed: Exchange = (
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


async def test_a_requested_rollback_raises_its_error() -> None:
    async with talking(BEGIN, ("Rollback", error(-255) + EOT)) as (conn, _):
        transaction = conn.transaction()
        await transaction.start()
        with pytest.raises(DatabaseError) as caught:
            await transaction.rollback()
        assert caught.value.sqlcode == -255
        assert not conn.is_in_transaction()


@pytest.mark.parametrize("turn", ["Begin", "Commit", "Rollback"])
async def test_a_connection_that_breaks_in_transaction_control_says_so(turn: str) -> None:
    script: list[Exchange] = [("Begin", Disconnect())] if turn == "Begin" else [BEGIN, (turn, Disconnect())]
    async with talking(*script) as (conn, _):
        with pytest.raises(ConnectionLost):
            transaction = conn.transaction()
            await transaction.start()
            await (transaction.commit() if turn == "Commit" else transaction.rollback())
        assert conn.is_closed()


async def test_a_connection_that_breaks_in_the_block_leaves_its_error_alone() -> None:
    async with talking(BEGIN, (COMMAND, Disconnect())) as (conn, _):
        transaction = conn.transaction()
        with pytest.raises(ConnectionLost):
            async with transaction:
                await conn.execute(DELETE)
        assert "aborted" in repr(transaction)


# -- savepoints -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["savepoint_first", "savepoint_named", "savepoint_unnamed"])
async def test_the_messages_of_savepoints_are_jdbcs(case: str) -> None:
    """Under JDBC's names; the recordings of the last two begin after BEGIN."""
    script = (
        played("transactions", case) if case == "savepoint_first" else [BEGIN, *played("transactions", case)]
    )
    async with talking(*script) as (conn, _):
        session = conn._session
        async with session:
            await session.transactions.begin()
            if case == "savepoint_unnamed":
                await session.transactions.set_savepoint(b"JDBC_GENERATED_SAVEPOINT_1")
                await session.transactions.rollback_to_savepoint(b"JDBC_GENERATED_SAVEPOINT_1")
            else:
                await session.transactions.set_savepoint(b"sp1")
            if case == "savepoint_named":
                await session.run_command("update t set a=2")
                await session.transactions.rollback_to_savepoint(b"sp1")
                await session.transactions.set_savepoint(b"sp22")
                await session.transactions.release_savepoint(b"sp22")
            await session.transactions.commit()


async def test_a_block_inside_of_another_is_a_savepoint() -> None:
    async with talking(BEGIN, savepoint("set"), deleted, savepoint("release"), deleted, COMMIT) as (conn, _):
        async with conn.transaction() as outer:
            async with conn.transaction() as inner:
                await conn.execute(DELETE)
                assert repr(inner) == "<Transaction open savepoint aioifx_1>"
            assert conn.is_in_transaction()
            await conn.execute(DELETE)
            assert repr(outer) == "<Transaction open>"
        assert not conn.is_in_transaction()


async def test_blocks_nest_as_deep_as_you_like_and_a_name_is_used_again() -> None:
    async with talking(
        BEGIN, savepoint("set"), savepoint("set", 2), savepoint("release", 2), savepoint("release"),
        savepoint("set"), savepoint("release"), COMMIT,
    ) as (conn, _):  # fmt: skip
        async with conn.transaction():
            async with conn.transaction(), conn.transaction():
                pass
            async with conn.transaction():
                pass


async def test_a_failed_inner_block_is_rolled_back_to_its_savepoint_and_the_outer_one_goes_on() -> None:
    async with talking(BEGIN, savepoint("set"), deleted, savepoint("rollback"), deleted, COMMIT) as (conn, _):
        async with conn.transaction():
            with pytest.raises(ZeroDivisionError):
                async with conn.transaction():
                    await conn.execute(DELETE)
                    raise ZeroDivisionError
            assert conn.is_in_transaction()
            await conn.execute(DELETE)


async def test_by_hand_a_savepoint_is_rolled_back_or_released_too() -> None:
    async with talking(
        BEGIN, savepoint("set"), savepoint("rollback"), savepoint("set"), savepoint("release"), COMMIT
    ) as (conn, _):
        async with conn.transaction():
            first, second = conn.transaction(), conn.transaction()
            await first.start()
            await first.rollback()
            await second.start()
            await second.commit()


async def test_a_block_inside_of_a_transaction_that_was_typed_is_a_savepoint_too() -> None:
    begin = [
        (PREPARE, described(2, kind=StatementType.BEGIN_WORK, row_size=0)),
        ("Id(2) Execute", done() + EOT),
        release(2),
    ]
    async with talking(begin, savepoint("set"), savepoint("release"), COMMIT) as (conn, _):
        await conn.execute("BEGIN WORK")
        async with conn.transaction():
            pass
        await conn.commit()
        assert not conn.is_in_transaction()


async def test_rolling_back_to_a_savepoint_that_was_typed_does_not_end_the_transaction() -> None:
    """Whatever type the server gives that statement."""
    to_savepoint = [
        (PREPARE, described(2, kind=StatementType.ROLLBACK_WORK, row_size=0)),
        ("Id(2) Execute", done() + EOT),
        release(2),
    ]
    async with talking(BEGIN, to_savepoint, COMMIT) as (conn, _):
        async with conn.transaction():
            await conn.execute("ROLLBACK WORK TO { the } SAVEPOINT a")
            assert conn.is_in_transaction()


async def test_a_block_that_ends_before_one_inside_of_it_is_refused_and_nothing_is_sent() -> None:
    async with talking(BEGIN, savepoint("set"), savepoint("release"), COMMIT) as (conn, peer):
        outer, inner = conn.transaction(), conn.transaction()
        await outer.start()
        await inner.start()
        with pytest.raises(InterfaceError, match=r"inside this one is still open: .*aioifx_1"):
            await outer.commit()
        assert len(peer.groups) == 2
        await inner.commit()
        await outer.commit()


async def test_a_block_left_before_one_inside_of_it_rolls_both_back_and_says_so() -> None:
    async with talking(BEGIN, savepoint("set"), ROLLBACK, BEGIN, COMMIT) as (conn, _):
        inner = conn.transaction()
        with pytest.raises(InterfaceError, match=r"was still open: .*; both are rolled back"):
            async with conn.transaction():
                await inner.start()
        assert not conn.is_in_transaction()
        with pytest.raises(InterfaceError, match="aborted"):
            await inner.commit()
        async with conn.transaction():
            pass


async def test_a_block_around_which_the_transaction_has_ended_cannot_end_well() -> None:
    async with talking(BEGIN, savepoint("set"), ROLLBACK) as (conn, _):
        outer = conn.transaction()
        await outer.start()
        with pytest.raises(InterfaceError, match="enclosing transaction ended"):
            async with conn.transaction():
                await outer.rollback()


async def test_options_that_cannot_change_inside_are_rejected_by_name() -> None:
    async with talking(BEGIN, COMMIT) as (conn, peer):
        async with conn.transaction():
            wishes: tuple[dict[str, Any], ...] = ({"isolation": "dirty_read"}, {"read_only": True})
            for wish in wishes:
                with pytest.raises(InterfaceError, match=f"^{next(iter(wish))}: cannot change inside"):
                    await conn.transaction(**wish).start()
            assert len(peer.groups) == 1


async def test_a_savepoint_that_cannot_be_set_leaves_the_outer_block_alone() -> None:
    async with talking(BEGIN, savepoint("set", answer=error(-743) + EOT), deleted, COMMIT) as (conn, _):
        async with conn.transaction():
            inner = conn.transaction()
            with pytest.raises(DatabaseError):
                await inner.start()
            assert "new" in repr(inner)
            await conn.execute(DELETE)


async def test_a_savepoint_that_cannot_be_released_is_rolled_back_to() -> None:
    refused = savepoint("release", answer=error(-278) + EOT)
    async with talking(BEGIN, savepoint("set"), refused, savepoint("rollback"), COMMIT) as (conn, _):
        async with conn.transaction():
            with pytest.raises(DatabaseError) as caught:
                async with conn.transaction():
                    pass
            assert caught.value.sqlcode == -278


async def test_what_cannot_be_rolled_back_to_its_savepoint_ends_the_connection() -> None:
    refused = savepoint("rollback", answer=error(-278) + EOT)
    async with talking(BEGIN, savepoint("set"), refused) as (conn, _):
        with pytest.raises(ZeroDivisionError):
            async with conn.transaction(), conn.transaction():
                raise ZeroDivisionError
        assert conn.is_closed()


# -- isolation, lock mode, read only -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "isolation"), [("isolation_1", "dirty_read"), ("isolation_4", "repeatable_read")]
)
async def test_isolation_is_set_as_jdbc_sets_it(case: str, isolation: Any) -> None:
    async with talking(played("transactions", case), BEGIN, COMMIT) as (conn, _):
        async with conn.transaction(isolation=isolation):
            pass


async def test_the_lock_mode_is_set_as_jdbc_sets_it() -> None:
    """JDBC writes a blank after WAIT without a number; we leave it out."""
    jdbc = [turn for turn in played("session", "opt_IFX_LOCK_MODE_WAIT_17") if bytes(turn[0])[:2] == b"\0\1"]  # type: ignore[arg-type] # played in bytes
    wait = command("set lock mode to wait")
    async with talking(jdbc, BEGIN, COMMIT, wait, BEGIN, COMMIT, BEGIN, COMMIT) as (conn, _):
        for seconds in (17, -1, math.inf):
            async with conn.transaction(lock_wait=seconds):
                pass


@pytest.mark.parametrize(
    ("warnings", "default"), [(0x15, "committed read"), (ANSI, "repeatable read")], ids=["logged", "ANSI"]
)
async def test_settings_hold_for_the_block_and_are_restored_by_the_next_call(
    warnings: int, default: str
) -> None:
    begin = [] if warnings == ANSI else [BEGIN]
    behind = [COMMIT] if warnings == ANSI else []
    async with talking(
        command("set lock mode to wait 5"),
        command("set isolation to cursor stability"),
        begin,
        deleted,
        COMMIT,
        command("set lock mode to not wait"),
        command(f"set isolation to {default}"),
        deleted,
        behind,
        deleted,
        behind,
        warnings=warnings,
    ) as (conn, peer):
        async with conn.transaction(isolation="cursor_stability", lock_wait=5):
            await conn.execute(DELETE)
        sent = len(peer.groups)
        await at_rest(conn._session)
        assert len(peer.groups) == sent, "nothing is put back before somebody needs it"
        await conn.execute(DELETE)
        await conn.execute(DELETE)


async def test_the_next_block_that_wants_the_same_sends_nothing_for_it() -> None:
    wanted = command("set isolation to repeatable read")
    async with talking(
        wanted, BEGIN, COMMIT, BEGIN, COMMIT, command("set isolation to dirty read"), BEGIN, COMMIT
    ) as (conn, _):
        levels: tuple[Isolation, ...] = ("repeatable_read", "repeatable_read", "dirty_read")
        for isolation in levels:
            async with conn.transaction(isolation=isolation):
                pass


@pytest.mark.parametrize("name", ["last_committed", "committed_read_last_committed"])
async def test_a_setting_already_in_force_is_not_sent(name: Any) -> None:
    async with talking(
        command("set isolation to committed read last committed"), BEGIN, COMMIT, BEGIN, COMMIT
    ) as (conn, _):
        for isolation in (name, "last_committed"):
            async with conn.transaction(isolation=isolation):
                pass


async def test_the_defaults_of_the_database_cost_nothing() -> None:
    async with talking(BEGIN, COMMIT) as (conn, _):
        async with conn.transaction(isolation="committed_read", lock_wait=0):
            pass


async def test_after_a_block_the_users_own_setting_is_restored() -> None:
    mine, lock_mode = (
        "SET ISOLATION TO Committed Read\n LAST COMMITTED RETAIN UPDATE LOCKS",
        "set lock mode to wait",
    )
    async with talking(
        command(mine),
        command(lock_mode),
        command("set lock mode to wait 1"),
        command("set isolation to dirty read"),
        BEGIN,
        COMMIT,
        command("set lock mode to wait"),
        command("set isolation to committed read last committed retain update locks"),
        deleted,
    ) as (conn, _):
        await conn.execute(mine)
        await conn.execute(lock_mode)
        async with conn.transaction(isolation="dirty_read", lock_wait=1):
            pass
        await conn.execute(DELETE)


async def test_a_users_own_setting_inside_a_block_overrides_and_stays() -> None:
    async with talking(
        command("set isolation to dirty read"),
        BEGIN,
        command("set isolation cursor stability"),
        deleted,
        COMMIT,
        deleted,
    ) as (conn, _):
        async with conn.transaction(isolation="dirty_read"):
            await conn.execute("set isolation cursor stability")
            await conn.execute(DELETE)
        await conn.execute(DELETE)


async def test_a_lock_mode_may_hold_for_an_inner_block_alone() -> None:
    async with talking(
        BEGIN, command("set lock mode to wait 3"), savepoint("set"), deleted, savepoint("release"),
        command("set lock mode to not wait"), deleted, COMMIT,
    ) as (conn, _):  # fmt: skip
        async with conn.transaction():
            async with conn.transaction(lock_wait=3):
                await conn.execute(DELETE)
            await conn.execute(DELETE)


async def test_a_block_that_ends_with_the_one_around_it_leaves_no_lock_mode() -> None:
    async with talking(
        BEGIN, command("set lock mode to wait 3"), savepoint("set"), ROLLBACK,
        command("set lock mode to not wait"), deleted,
    ) as (conn, _):  # fmt: skip
        outer, inner = conn.transaction(), conn.transaction(lock_wait=3)
        await outer.start()
        await inner.start()
        await outer.rollback()
        await conn.execute(DELETE)


async def test_a_setting_that_is_refused_begins_nothing_and_what_was_set_is_restored() -> None:
    async with talking(
        command("set lock mode to wait 3"),
        command("set isolation to dirty read", error(-201) + EOT),
        command("set lock mode to not wait"),
        deleted,
    ) as (conn, _):
        transaction = conn.transaction(isolation="dirty_read", lock_wait=3)
        with pytest.raises(DatabaseError):
            await transaction.start()
        assert not conn.is_in_transaction()
        await conn.execute(DELETE)


async def test_restoring_a_setting_is_tried_again_after_an_error_and_calls_go_on() -> None:
    back = "set isolation to committed read"
    async with talking(
        command("set isolation to dirty read"),
        BEGIN,
        COMMIT,
        command(back, error(-201) + EOT),
        command(back),
        deleted,
    ) as (conn, _):
        async with conn.transaction(isolation="dirty_read"):
            pass
        with pytest.raises(DatabaseError) as caught:
            await conn.execute(DELETE)
        assert caught.value.sql == back
        await conn.execute(DELETE)


async def test_when_the_database_is_closed_nothing_is_restored() -> None:
    closed = [
        (PREPARE, described(2, kind=StatementType.CLOSE_DATABASE, row_size=0)),
        ("Id(2) Execute", done() + EOT),
    ]
    wanted = command("set isolation to dirty read")
    async with talking(wanted, closed, release(2), deleted) as (conn, _):
        await conn.execute("set isolation to dirty read")
        await conn.execute("CLOSE DATABASE")
        await conn.execute(DELETE)


async def test_settings_are_sent_again_for_another_database() -> None:
    database = [
        (PREPARE, described(2, kind=StatementType.DATABASE, row_size=0)),
        ("Id(2) Execute", done(warnings=0x15) + EOT),
        release(2),
    ]
    async with talking(
        command("set isolation to dirty read"), database, command("set isolation to dirty read"), deleted
    ) as (conn, _):
        await conn.execute("set isolation to dirty read")
        await conn.execute("DATABASE other")
        await conn.execute(DELETE)


async def test_a_read_only_transaction_is_declared_after_its_begin() -> None:
    async with talking(BEGIN, command(READ_ONLY), COMMIT, BEGIN, COMMIT) as (conn, _):
        async with conn.transaction(read_only=True):
            pass
        async with conn.transaction():
            pass


async def test_a_read_only_transaction_that_is_refused_is_rolled_back() -> None:
    async with talking(BEGIN, command(READ_ONLY, error(-876) + EOT), ROLLBACK, BEGIN, COMMIT) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            async with conn.transaction(read_only=True):
                raise AssertionError("not reached")
        assert caught.value.sqlcode == -876
        assert not conn.is_in_transaction()
        async with conn.transaction():
            pass


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"isolation": "serializable"}, "isolation: expected one of dirty_read, committed_read,"),
        ({"isolation": 1}, "isolation: expected one of"),
        ({"lock_wait": -2}, "lock_wait: expected a whole number of seconds"),
        ({"lock_wait": 1.5}, "lock_wait: "),
        ({"lock_wait": True}, "lock_wait: "),
        ({"lock_wait": 32768}, "lock_wait: "),
        ({"lock_wait": "5"}, "lock_wait: "),
        ({"lock_wait": math.nan}, "lock_wait: "),
        ({"read_only": 1}, "read_only: expected True or False"),
    ],
)
async def test_a_wrong_option_is_refused_by_name_at_the_call(wrong: dict[str, Any], message: str) -> None:
    async with talking() as (conn, peer):
        with pytest.raises(InterfaceError) as caught:
            conn.transaction(**wrong)
        assert str(caught.value).startswith(message)
        assert peer.received == b""


# -- a connection that is read-only ------------------------------------------------------------------------------------


async def test_on_a_read_only_connection_every_transaction_is() -> None:
    """What may run inside of one is the server's to say."""
    refused = (COMMAND, error(-878) + EOT)
    async with talking(BEGIN, command(READ_ONLY), refused, COMMIT, read_only=True) as (conn, _):
        async with conn.transaction():
            with pytest.raises(ProgrammingError) as caught:
                await conn.execute(DELETE)
            assert caught.value.sqlcode == -878


@pytest.mark.parametrize(
    "sql", [DELETE, "insert into t values (1)", "{ a } create table t (a int)", "set constraints all deferred",
            "execute procedure p()", "lock table t in share mode"],
)  # fmt: skip
async def test_on_a_read_only_connection_a_change_is_refused_and_nothing_is_sent(sql: str) -> None:
    async with talking(read_only=True) as (conn, peer):
        for call in (conn.execute(sql), conn.fetch(sql), conn.prepare(sql), conn.executemany(sql, [])):
            with pytest.raises(ProgrammingError, match="read-only") as caught:
                await call
            assert caught.value.sqlcode == -878
        assert peer.received == b""


async def test_on_a_read_only_connection_queries_run_and_the_session_may_be_set() -> None:
    async with talking(
        (PREPARE, described(2, C1)), (opening(2, 4096), ints(1) + done(1) + EOT), ("Id(2) Close", EOT), release(2),
        command("set lock mode to wait 2"), read_only=True,
    ) as (conn, _):  # fmt: skip
        assert await conn.fetchval("select c1 from t") == 1
        await conn.execute("set lock mode to wait 2")


async def test_on_a_read_only_connection_what_the_server_calls_no_query_does_not_run() -> None:
    kind = StatementType.SELECT_INTO_TEMP
    async with talking((PREPARE, described(2, kind=kind)), release(2), read_only=True) as (conn, _):
        with pytest.raises(ProgrammingError, match="read-only"):
            await conn.execute("select a from t into temp x")


async def test_on_a_read_only_connection_a_transaction_that_was_typed_changes_nothing_either() -> None:
    begin = [
        (PREPARE, described(2, kind=StatementType.BEGIN_WORK, row_size=0)),
        ("Id(2) Execute", done() + EOT),
        release(2),
    ]
    async with talking(begin, ROLLBACK, read_only=True) as (conn, _):
        await conn.execute("BEGIN WORK")
        with pytest.raises(ProgrammingError, match="read-only"):
            await conn.execute(DELETE)
        await conn.rollback()


# -- autocommit=False --------------------------------------------------------------------------------------------------


async def test_without_autocommit_a_prepared_statement_begins_after_its_prepare_as_jdbc_does() -> None:
    async with talking(played("transactions", "prepared_in_tx"), autocommit=False) as (conn, _):
        async with await conn.prepare("update t set a=?") as statement:
            await statement.execute(1)
            await conn.commit()
            await statement.execute(1)
            await conn.rollback()


async def test_without_autocommit_a_query_begins_after_its_prepare_as_jdbc_does() -> None:
    script = in_one_group(played("transactions", "select_in_tx"))
    async with talking(script, autocommit=False, fetch_size=4096) as (conn, _):
        assert len(await conn.fetch("select rows_5 from t")) == 5
        await conn.commit()


@pytest.mark.parametrize("case", ["commit", "no_xactstat"])
async def test_without_autocommit_begin_is_sent_before_a_statement_in_one_group(case: str) -> None:
    async with talking(played("transactions", case), autocommit=False) as (conn, _):
        assert not conn.autocommit
        await conn.execute("update t set a=1")
        await conn.commit()
        await conn.execute("update t set a=2")
        assert conn.is_in_transaction()
        await conn.rollback()
        assert not conn.is_in_transaction()


@pytest.mark.parametrize("options", [{}, {"autocommit": False}, {"warnings": ANSI, "autocommit": False}])
async def test_without_a_transaction_commit_and_rollback_send_nothing(options: dict[str, Any]) -> None:
    async with talking(**options) as (conn, peer):
        await conn.commit()
        await conn.rollback()
        assert peer.received == b""


async def test_without_autocommit_what_belongs_to_no_transaction_begins_none() -> None:
    def prepared(kind: int) -> list[Exchange]:
        return [
            (PREPARE, described(2, kind=kind, row_size=0)),
            ("Id(2) Execute", done(warnings=0x15) + EOT),
            release(2),
        ]

    async with talking(
        command("set lock mode to wait 2"),
        prepared(StatementType.DATABASE),
        prepared(StatementType.BEGIN_WORK),
        prepared(StatementType.COMMIT_WORK),
        command("create database d"),
        autocommit=False,
    ) as (conn, _):
        await conn.execute("set lock mode to wait 2")
        await conn.execute("DATABASE other")
        await conn.execute("BEGIN WORK")
        assert conn.is_in_transaction()
        await conn.execute("COMMIT WORK")
        assert not conn.is_in_transaction()
        await conn.execute("create database d")
        assert not conn.is_in_transaction()


async def test_without_autocommit_executemany_joins_the_transaction() -> None:
    insert: list[Exchange] = [
        (PREPARE, described(2, kind=StatementType.INSERT, row_size=0)),
        ("Id(2) DescribeInput", takes(INTEGER)),
    ]
    row: Exchange = ("Id(2) Bind(1) Execute", done(1) + EOT)
    async with talking(insert, BEGIN, row, row, release(2), deleted, COMMIT, autocommit=False) as (conn, _):
        assert (await conn.executemany("insert into t values (?)", [(1,), (2,)])).rowcount == 2
        await conn.execute(DELETE)
        await conn.commit()


async def test_without_autocommit_a_failed_statement_leaves_the_transaction_open() -> None:
    async with talking(BEGIN, (COMMAND, error(-268, -100) + EOT), ROLLBACK, autocommit=False) as (conn, _):
        with pytest.raises(UniqueViolation):
            await conn.execute(DELETE)
        assert conn.is_in_transaction()
        await conn.rollback()


async def test_without_autocommit_a_commit_that_fails_leaves_the_rollback_to_the_caller() -> None:
    async with talking(BEGIN, deleted, ("Commit", error(-691, -111) + EOT), ROLLBACK, autocommit=False) as (
        conn,
        _,
    ):
        await conn.execute(DELETE)
        with pytest.raises(ForeignKeyViolation):
            await conn.commit()
        assert conn.is_in_transaction()
        await conn.rollback()


async def test_without_autocommit_a_block_begins_and_commits_unless_a_transaction_is_open() -> None:
    async with talking(
        BEGIN,
        deleted,
        COMMIT,
        BEGIN,
        deleted,
        savepoint("set"),
        savepoint("release"),
        COMMIT,
        autocommit=False,
    ) as (conn, _):
        async with conn.transaction():
            await conn.execute(DELETE)
        await conn.execute(DELETE)
        async with conn.transaction():
            pass
        assert conn.is_in_transaction()
        await conn.commit()


async def test_without_autocommit_an_ansi_database_gets_no_begin_and_no_commit_of_ours() -> None:
    async with talking(deleted, deleted, COMMIT, deleted, ROLLBACK, warnings=ANSI, autocommit=False) as (
        conn,
        _,
    ):
        await conn.execute(DELETE)
        await conn.execute(DELETE)
        await conn.commit()
        await conn.execute(DELETE)
        await conn.rollback()


async def test_without_autocommit_a_read_only_connection_begins_read_only_transactions() -> None:
    query: list[Exchange] = [
        (PREPARE, described(2, C1)),
        BEGIN,
        command(READ_ONLY),
        (opening(2), ints(1) + done(1) + EOT),
        ("Id(2) Close", EOT),
        release(2),
    ]
    async with talking(query, COMMIT, autocommit=False, read_only=True) as (conn, _):
        await conn.fetch("select c1 from t")
        await conn.commit()


async def test_a_begin_that_fails_without_autocommit_keeps_the_statement_from_running() -> None:
    async with talking(("Begin", error(-535) + EOT), BEGIN, deleted, COMMIT, autocommit=False) as (conn, _):
        with pytest.raises(DatabaseError):
            await conn.execute(DELETE)
        await conn.execute(DELETE)
        await conn.commit()


async def test_commit_and_rollback_of_the_connection_are_refused_inside_of_a_block() -> None:
    async with talking(BEGIN, COMMIT) as (conn, peer):
        async with conn.transaction():
            for end in (conn.commit, conn.rollback):
                with pytest.raises(InterfaceError, match=r"a transaction\(\) block is open"):
                    await end()
            assert len(peer.groups) == 1


# -- what the connection's options say ---------------------------------------------------------------------------------


async def test_isolation_and_lock_mode_are_set_at_connect_lock_mode_first_as_jdbc_does() -> None:
    script = [
        *login(),
        command("set lock mode to wait 5"),
        command("set isolation to committed read"),
        END_SESSION,
    ]
    async with listening(Peer(script, with_login=True)) as listener:
        async with aioifx.connect(
            host="127.0.0.1", port=listener.port, server="s", user="u", database="d",
            isolation="committed_read", lock_wait=5,
        ) as conn:  # fmt: skip
            assert conn.stats.round_trips == 6
        listener.peers[0].check()


async def test_a_setting_that_is_refused_at_connect_is_a_connect_error() -> None:
    script = [*login(), command("set isolation to dirty read", error(-201) + EOT)]
    async with listening(Peer(script, with_login=True)) as listener:
        with pytest.raises(aioifx.ConnectError) as caught:
            await aioifx.connect(
                host="127.0.0.1",
                port=listener.port,
                server="s",
                user="u",
                database="d",
                isolation="dirty_read",
            )
        assert caught.value.sqlcode == -201


async def test_autocommit_off_is_refused_at_connect_where_there_are_no_transactions() -> None:
    async with aioifx.server.running(log_mode="unlogged") as dsn:
        with pytest.raises(NotSupportedError, match="autocommit=False: the database has no log") as caught:
            await aioifx.connect(dsn, autocommit=False)
        assert caught.value.sqlcode == -256


async def test_after_a_block_the_option_holds_again() -> None:
    script = [
        *login(),
        command("set lock mode to wait 5"),
        command("set isolation to repeatable read"),
        command("set isolation to dirty read"),
        BEGIN,
        COMMIT,
        command("set isolation to repeatable read"),
        deleted,
        END_SESSION,
    ]
    async with listening(Peer(script, with_login=True)) as listener:
        async with aioifx.connect(
            f"informix://u@127.0.0.1:{listener.port}/d?server=s&lock_wait=5&isolation=repeatable_read"
        ) as conn:
            async with conn.transaction(isolation="dirty_read", lock_wait=5):
                pass
            await conn.execute(DELETE)
        listener.peers[0].check()


async def test_without_a_database_settings_wait_for_one() -> None:
    database = [
        (PREPARE, described(2, kind=StatementType.DATABASE, row_size=0)),
        ("Id(2) Execute", done(warnings=0x15) + EOT),
        release(2),
    ]
    script = [*login(database=False), *database, command("set isolation to dirty read"), deleted, END_SESSION]
    async with listening(Peer(script, with_login=True)) as listener:
        async with aioifx.connect(
            host="127.0.0.1", port=listener.port, server="s", user="u", isolation="dirty_read"
        ) as conn:
            await conn.execute("DATABASE d")
            await conn.execute(DELETE)
        listener.peers[0].check()


# -- what the server says of the transaction ---------------------------------------------------------------------------


async def test_an_error_after_which_the_server_has_no_transaction_open_ends_ours() -> None:
    failed: Exchange = (COMMAND, ended(-458, -143))
    async with talking(BEGIN, failed, ("Rollback", error(-255) + EOT), BEGIN, COMMIT) as (conn, peer):
        with pytest.raises(InterfaceError, match="ended and undone the transaction"):
            async with conn.transaction():
                with pytest.raises(DatabaseError):
                    await conn.execute(DELETE)
                assert not conn.is_in_transaction()
                sent = len(peer.groups)
                with pytest.raises(InterfaceError, match="roll back before anything else"):
                    await conn.transaction().start()
                assert len(peer.groups) == sent
                await conn.execute(DELETE)  # would commit by itself, without what came before it
        async with conn.transaction():
            pass


async def test_a_block_whose_transaction_the_server_has_ended_does_not_end_as_if_it_were_there() -> None:
    """COMMIT is sent all the same: the server must say that it is not there."""
    nothing = error(-255) + EOT
    async with talking(BEGIN, (COMMAND, ended(-458)), ("Commit", nothing), deleted) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            async with conn.transaction():
                with pytest.raises(DatabaseError):
                    await conn.execute(DELETE)
        assert caught.value.sqlcode == -255
        await conn.execute(DELETE)


@pytest.mark.parametrize("end", ["commit", "rollback"])
async def test_without_autocommit_work_that_the_server_has_undone_must_be_rolled_back(end: str) -> None:
    async with talking(
        BEGIN,
        (COMMAND, ended(-458)),
        (end.capitalize(), error(-255) + EOT),
        BEGIN,
        deleted,
        COMMIT,
        autocommit=False,
    ) as (conn, peer):
        with pytest.raises(DatabaseError):
            await conn.execute(DELETE)
        for call in (conn.execute(DELETE), conn.fetch("select c1 from t"), conn.executemany(DELETE, [])):
            with pytest.raises(InterfaceError, match="roll back before anything else"):
                await call
        assert len(peer.groups) == 2
        if end == "commit":
            with pytest.raises(DatabaseError) as caught:
                await conn.commit()
            assert caught.value.sqlcode == -255
        else:
            await conn.rollback()
        await conn.execute(DELETE)
        await conn.commit()


@pytest.mark.parametrize(
    ("answer", "warnings"),
    [
        (ended(-268, -100), 0x15),
        (ended(-201), 0x15),
        (ended(-458, level=1, previous=2), 0x15),
        (ended(-458, previous=0), 0x15),
        (ended(-458), ANSI),
    ],
    ids=["undoes itself", "never ran", "still open", "no change", "ANSI"],
)
async def test_an_ambiguous_reply_does_not_end_the_transaction(answer: bytes, warnings: int) -> None:
    begin = [] if warnings == ANSI else [BEGIN]
    async with talking(begin, (COMMAND, answer), deleted, COMMIT, warnings=warnings) as (conn, _):
        async with conn.transaction():
            with pytest.raises(DatabaseError):
                await conn.execute(DELETE)
            assert conn.is_in_transaction()
            await conn.execute(DELETE)


async def test_what_the_server_says_never_opens_a_transaction() -> None:
    async with talking((COMMAND, ended(-458, level=1, previous=0)), BEGIN, COMMIT) as (conn, _):
        with pytest.raises(DatabaseError):
            await conn.execute(DELETE)
        assert not conn.is_in_transaction()
        async with conn.transaction():
            pass


# -- a COMMIT or ROLLBACK statement in a block -------------------------------------------------------------------------

INSIDE = "a {} statement inside the transaction\\(\\) block has ended its transaction"


def typed(sql: str, answer: bytes = done() + EOT) -> list[Exchange]:
    """A statement of transaction control, as executed."""
    kind = getattr(StatementType, sql.replace(" ", "_").upper())
    return [(PREPARE, described(2, kind=kind, row_size=0)), ("Id(2) Execute", answer), release(2)]


@pytest.mark.parametrize("sql", ["COMMIT WORK", "ROLLBACK WORK"])
async def test_a_block_whose_transaction_a_statement_has_ended_says_so_at_its_end(sql: str) -> None:
    """And sends nothing for it."""
    async with talking(BEGIN, deleted, typed(sql), BEGIN, COMMIT) as (conn, _):
        with pytest.raises(InterfaceError, match=INSIDE.format(sql)):
            async with conn.transaction():
                await conn.execute(DELETE)
                await conn.execute(sql)
                assert not conn.is_in_transaction()
        async with conn.transaction():
            pass


async def every_way(conn: Any, prepared: Any) -> None:
    """Each is refused, by the same words."""
    for call in (
        conn.execute(DELETE),
        conn.execute("COMMIT WORK"),
        conn.execute("ROLLBACK WORK"),
        conn.execute("BEGIN WORK"),
        conn.fetch("select c1 from t"),
        conn.executemany(DELETE, [()]),
        conn.load("t", [(1,)]),
        anext(conn.stream("select c1 from t")),
        prepared.execute(),
        conn.transaction().start(),
        conn.prepare(DELETE),
    ):
        with pytest.raises(InterfaceError, match=INSIDE.format("COMMIT WORK")):
            await call


@pytest.mark.parametrize("options", [{}, {"autocommit": False}, {"pipelining": True}], ids=str)
@pytest.mark.parametrize("log_mode", ["logged", "ansi"])
async def test_after_a_statement_that_ends_the_blocks_transaction_every_call_is_refused(
    log_mode: Any, options: dict[str, Any]
) -> None:
    async with (
        aioifx.server.running(log_mode=log_mode) as dsn,
        aioifx.connect(dsn, isolation="dirty_read") as other,
        aioifx.connect(dsn, **options) as conn,
    ):
        await other.execute("create table t (c1 int)")
        trips = 0
        async with await conn.prepare("insert into t values (1)") as prepared:
            with pytest.raises(InterfaceError, match=INSIDE.format("COMMIT WORK")) as caught:
                async with conn.transaction():
                    await prepared.execute()
                    await conn.execute("COMMIT WORK")
                    trips = conn.stats.round_trips
                    await every_way(conn, prepared)
                    assert not conn.is_in_transaction()
                    await prepared.execute()
            assert conn.stats.round_trips == trips
            assert not hasattr(caught.value, "__notes__")
            assert await other.fetchval("select count(*) from t") == 1
            async with conn.transaction():
                await prepared.execute()
            assert await other.fetchval("select count(*) from t") == 2
        await conn.rollback()


@pytest.mark.parametrize("how", ["prepared", "cached", "typed"])
async def test_however_the_commit_is_executed_the_block_notices(how: str) -> None:
    async with aioifx.server.running() as dsn, aioifx.connect(dsn) as conn:
        await conn.execute("create table t (c1 int)")
        if how == "cached":
            await conn.execute("begin work")
            await conn.execute("commit")
        with pytest.raises(InterfaceError, match=INSIDE.format("COMMIT WORK")):
            async with conn.transaction():
                if how == "prepared":
                    async with await conn.prepare("commit work") as prepared:
                        await prepared.execute()
                else:
                    await conn.execute("commit")
        await conn.execute("insert into t values (1)")


async def test_the_error_of_a_block_says_what_was_not_rolled_back() -> None:
    async with talking(BEGIN, deleted, typed("COMMIT WORK"), BEGIN, COMMIT) as (conn, _):
        with pytest.raises(ZeroDivisionError) as caught:
            async with conn.transaction():
                await conn.execute(DELETE)
                await conn.execute("COMMIT WORK")
                raise ZeroDivisionError
        [note] = caught.value.__notes__
        assert note.startswith("a COMMIT WORK statement inside the transaction() block")
        async with conn.transaction():
            pass


async def test_a_cancelled_block_without_a_transaction_rolls_nothing_back() -> None:
    async with talking(BEGIN, typed("COMMIT WORK"), deleted) as (conn, _):
        with pytest.raises(asyncio.CancelledError):
            async with conn.transaction():
                await conn.execute("COMMIT WORK")
                raise asyncio.CancelledError
        await conn.execute(DELETE)


@pytest.mark.parametrize("end", ["commit", "rollback"])
async def test_the_blocks_own_end_is_refused_once_a_statement_has_ended_it(end: str) -> None:
    """Whether the block was entered or started by hand."""
    async with talking(BEGIN, typed("ROLLBACK WORK"), BEGIN, typed("ROLLBACK WORK"), deleted) as (conn, _):
        transaction = conn.transaction()
        await transaction.start()
        await conn.execute("ROLLBACK WORK")
        with pytest.raises(InterfaceError, match=INSIDE.format("ROLLBACK WORK")):
            await getattr(transaction, end)()
        with pytest.raises(InterfaceError, match="the transaction is ended by a statement"):
            await getattr(transaction, end)()
        async with conn.transaction() as transaction:
            await conn.execute("ROLLBACK WORK")
            with pytest.raises(InterfaceError, match=INSIDE.format("ROLLBACK WORK")):
                await getattr(transaction, end)()
            await conn.execute(DELETE)


async def test_a_statement_that_ends_the_transaction_ends_every_block() -> None:
    async with talking(BEGIN, savepoint("set"), typed("COMMIT WORK"), deleted) as (conn, _):
        with pytest.raises(InterfaceError, match=INSIDE.format("COMMIT WORK")):
            async with conn.transaction():
                with pytest.raises(InterfaceError, match=INSIDE.format("COMMIT WORK")):
                    async with conn.transaction():
                        await conn.execute("COMMIT WORK")
                with pytest.raises(InterfaceError, match=INSIDE.format("COMMIT WORK")):
                    await conn.execute(DELETE)
        await conn.execute(DELETE)


async def test_a_block_in_a_transaction_that_was_typed_notices_its_end() -> None:
    async with talking(typed("BEGIN WORK"), savepoint("set"), typed("COMMIT WORK"), deleted) as (conn, _):
        await conn.execute("BEGIN WORK")
        with pytest.raises(InterfaceError, match=INSIDE.format("COMMIT WORK")):
            async with conn.transaction():
                await conn.execute("COMMIT WORK")
        await conn.execute(DELETE)


async def test_another_tasks_commit_ends_the_block_for_all() -> None:
    async with aioifx.server.running() as dsn, aioifx.connect(dsn) as conn:
        await conn.execute("create table t (c1 int)")
        with pytest.raises(InterfaceError, match=INSIDE.format("COMMIT WORK")):
            async with conn.transaction():
                await conn.execute("insert into t values (1)")
                await asyncio.create_task(conn.execute("commit work"))
                with pytest.raises(InterfaceError, match=INSIDE.format("COMMIT WORK")):
                    await asyncio.create_task(conn.execute(DELETE))
                await conn.execute("insert into t values (2)")
        assert await conn.fetch("select c1 from t") == [(1,)]


async def test_a_statement_that_ends_no_transaction_of_a_block_is_as_before() -> None:
    async with talking(
        typed("BEGIN WORK"), typed("COMMIT WORK"), typed("BEGIN WORK"), typed("ROLLBACK WORK"), deleted
    ) as (conn, _):
        for sql in ("BEGIN WORK", "COMMIT WORK", "BEGIN WORK", "ROLLBACK WORK", DELETE):
            await conn.execute(sql)


async def test_a_commit_statement_that_fails_leaves_the_block_open() -> None:
    failed = typed("COMMIT WORK", error(-691, -111, token="fk") + EOT)
    async with talking(BEGIN, failed, deleted, ROLLBACK) as (conn, _):
        with pytest.raises(ZeroDivisionError):
            async with conn.transaction():
                with pytest.raises(ForeignKeyViolation):
                    await conn.execute("COMMIT WORK")
                await conn.execute(DELETE)
                raise ZeroDivisionError


async def test_a_pool_gets_a_connection_back_whose_block_a_statement_has_ended() -> None:
    async with aioifx.server.running() as dsn, aioifx.create_pool(dsn, min_size=1, max_size=1) as pool:
        async with pool.acquire() as conn:
            await conn.execute("create table t (c1 int)")
            await conn.transaction().start()
            await conn.execute("commit work")
        async with pool.acquire() as conn:
            await conn.execute("insert into t values (1)")
            assert await conn.fetchval("select count(*) from t") == 1


async def test_a_block_whose_transaction_a_routine_has_ended_says_so_and_sends_no_rollback() -> None:
    """Only the server's -255 shows that."""
    async with talking(BEGIN, ("Commit", error(-255) + EOT), deleted) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            async with conn.transaction():
                pass
        assert caught.value.sqlcode == -255
        [note] = caught.value.__notes__
        assert note.startswith("the transaction of this block had already ended")
        await conn.execute(DELETE)


async def test_an_inner_block_whose_transaction_a_routine_has_ended_ends_the_outer_one() -> None:
    nothing = error(-255) + EOT
    async with talking(BEGIN, savepoint("set", answer=nothing), deleted) as (conn, peer):
        with pytest.raises(InterfaceError, match="something inside the transaction") as caught:
            async with conn.transaction():
                with pytest.raises(DatabaseError):
                    await conn.transaction().start()
                assert not conn.is_in_transaction()
        assert len(peer.groups) == 2
        assert caught.value.__context__ is None
        await conn.execute(DELETE)


# -- cancellation and time-outs ----------------------------------------------------------------------------------------


async def in_transaction(conn: Any) -> None:
    async with conn.transaction():
        await conn.execute(DELETE)


async def test_a_cancelled_block_is_rolled_back_without_waiting_for_the_reply() -> None:
    rolled_back = Delayed(done() + EOT)
    async with talking(BEGIN, ("Rollback", rolled_back), deleted) as (conn, _):

        async def left() -> None:
            async with conn.transaction():
                entered.set()
                await asyncio.Event().wait()

        entered = asyncio.Event()
        task = asyncio.ensure_future(left())
        await entered.wait()
        await cancelled(task)
        assert not conn.is_in_transaction()
        await asyncio.wait_for(rolled_back.reached.wait(), 10)
        rolled_back.release()
        await conn.execute(DELETE)


async def in_two_blocks(conn: Any) -> None:
    async with conn.transaction():
        await in_transaction(conn)


@pytest.mark.parametrize(
    ("call", "before", "request_", "answer", "behind"),
    [
        (in_transaction, [BEGIN], *deleted, [ROLLBACK]),
        (in_two_blocks, [BEGIN, savepoint("set")], *deleted, [ROLLBACK]),
        (in_transaction, [BEGIN, deleted], *COMMIT, []),
        (in_transaction, [BEGIN, deleted], "Commit", error(-691, -111) + EOT, [ROLLBACK]),
    ],
    ids=["statement", "statement in two blocks", "commit", "commit that fails"],
)
async def test_what_is_cancelled_on_its_way_is_done_or_the_whole_transaction_is_rolled_back_once(
    call: Any, before: list[Exchange], request_: Any, answer: Any, behind: list[Exchange]
) -> None:
    held = Delayed(answer)
    async with talking(before, (request_, held), behind, deleted) as (conn, _):
        await cancel_at(held, call(conn))
        held.release()
        await conn.execute(DELETE)
        assert not conn.is_in_transaction()


SETTINGS: dict[str, Any] = {"isolation": "dirty_read", "lock_wait": 2, "read_only": True}
put_back = [command("set lock mode to not wait"), command("set isolation to committed read")]


@pytest.mark.parametrize("place", range(4))
async def test_a_block_cancelled_on_its_way_in_leaves_no_transaction_and_no_setting(place: int) -> None:
    way_in = [
        command("set lock mode to wait 2"), command("set isolation to dirty read"), BEGIN, command(READ_ONLY)
    ]  # fmt: skip
    held = Delayed(way_in[place][1])  # type: ignore[arg-type] # bytes
    way_in[place : place + 1] = [(way_in[place][0], held)]
    sent = way_in[: place + 1] + ([ROLLBACK] if place >= 2 else [])
    async with talking(sent, put_back[: min(place + 1, 2)], deleted) as (conn, _):
        transaction = conn.transaction(**SETTINGS)
        await cancel_at(held, transaction.start())
        held.release()
        await conn.execute(DELETE)
        assert not conn.is_in_transaction()
        assert "new" in repr(transaction)


@pytest.mark.parametrize(
    ("before", "request_", "answer", "behind"),
    [
        ([], *savepoint("set"), [savepoint("rollback")]),
        ([savepoint("set")], *deleted, [savepoint("rollback")]),
        ([savepoint("set"), deleted], *savepoint("release"), []),
    ],
    ids=["savepoint", "statement", "release"],
)
async def test_what_is_cancelled_in_an_inner_block_is_done_or_rolled_back_to_its_savepoint(
    before: list[Exchange], request_: Any, answer: Any, behind: list[Exchange]
) -> None:
    held = Delayed(answer)
    async with talking(BEGIN, before, (request_, held), behind, deleted, COMMIT) as (conn, _):
        async with conn.transaction():
            await cancel_at(held, in_transaction(conn))
            held.release()
            await conn.execute(DELETE)


@pytest.mark.parametrize("answer", [done() + EOT, error(-255) + EOT], ids=["done", "nothing to roll back"])
async def test_a_rollback_cancelled_on_its_way_is_not_sent_twice(answer: bytes) -> None:
    held = Delayed(answer)
    async with talking(BEGIN, ("Rollback", held), deleted) as (conn, _):
        transaction = conn.transaction()
        await transaction.start()
        await cancel_at(held, transaction.rollback())
        held.release()
        await conn.execute(DELETE)
        assert not conn.is_in_transaction()


async def test_a_rollback_cancelled_on_its_way_that_fails_ends_the_connection() -> None:
    held = Delayed(error(-458) + EOT)
    async with talking(BEGIN, ("Rollback", held)) as (conn, _):
        transaction = conn.transaction()
        await transaction.start()
        await cancel_at(held, transaction.rollback())
        held.release()
        with pytest.raises(ConnectionLost, match="rolled back"):
            await conn.execute(DELETE)


async def test_a_rollback_after_an_error_completes_even_if_the_wait_for_it_is_cancelled() -> None:
    held = Delayed(done() + EOT)
    async with talking(BEGIN, ("Rollback", held), deleted) as (conn, _):

        async def failing() -> None:
            async with conn.transaction():
                raise ZeroDivisionError

        await cancel_at(held, failing())
        held.release()
        await conn.execute(DELETE)


async def test_a_transaction_begun_while_a_deferred_rollback_is_in_flight_is_open() -> None:
    held = Delayed(done() + EOT)
    async with talking(BEGIN, ("Rollback", held), BEGIN, deleted, COMMIT, pipelining=True) as (conn, _):
        abandoned = conn.transaction()
        await abandoned.start()
        await abandoned.__aexit__(asyncio.CancelledError, asyncio.CancelledError(), None)
        transaction = conn.transaction()
        starting = asyncio.ensure_future(transaction.start())
        await held.reached.wait()
        held.release()
        await starting
        assert conn.is_in_transaction()
        await conn.execute(DELETE)
        assert conn.is_in_transaction()
        await transaction.commit()


async def test_an_error_whose_rollback_takes_too_long_is_the_one_that_is_raised() -> None:
    held = Delayed(done() + EOT)
    async with talking(BEGIN, ("Rollback", held), deleted, command_timeout=60.0) as (conn, _):

        async def failing() -> None:
            async with conn.transaction():
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await time_out_at(held, conn, failing())
        held.release()
        await at_rest(conn._session)
        await conn.execute(DELETE)


async def test_an_error_whose_rollback_cannot_acquire_the_session_is_raised_and_the_rollback_deferred() -> (
    None
):
    held = Delayed(executed(9, StatementType.DELETE, 1))
    async with talking(BEGIN, (COMMAND, held), ROLLBACK, command_timeout=0.2) as (conn, _):
        transaction = conn.transaction()
        await transaction.start()
        other = asyncio.ensure_future(conn.execute(DELETE))
        await held.reached.wait()
        failure = ZeroDivisionError()
        await transaction.__aexit__(
            ZeroDivisionError, failure, None
        )  # returns nothing, so the failure propagates
        with pytest.raises(QueryTimeout):
            await other
        held.release()
        await at_rest(conn._session)
        assert not conn.is_in_transaction()


async def test_a_rollback_cancelled_in_the_queue_is_deferred() -> None:
    held = Delayed(executed(9, StatementType.DELETE, 1))
    async with talking(BEGIN, (COMMAND, held), ROLLBACK) as (conn, _):
        transaction = conn.transaction()
        await transaction.start()
        other = asyncio.ensure_future(conn.execute(DELETE))
        await held.reached.wait()
        ending = asyncio.ensure_future(transaction.__aexit__(ZeroDivisionError, ZeroDivisionError(), None))
        await asyncio.sleep(0)
        await cancelled(ending)
        held.release()
        await other
        await at_rest(conn._session)
        assert not conn.is_in_transaction()


async def test_a_commit_whose_connection_breaks_says_that_its_outcome_is_unknown() -> None:
    for autocommit in (True, False):
        async with talking(BEGIN, deleted, ("Commit", Disconnect()), autocommit=autocommit) as (conn, _):
            with pytest.raises(ConnectionLost) as caught:
                if autocommit:
                    await in_transaction(conn)
                else:
                    await conn.execute(DELETE)
                    await conn.commit()
            assert "whether it took effect is unknown" in caught.value.__notes__[0]


@pytest.mark.parametrize("end", ["block", "commit", "rollback"])
async def test_an_end_cancelled_while_it_waits_for_the_session_is_deferred(end: str) -> None:
    held = Delayed(executed(9, StatementType.DELETE, 1))
    behind = [COMMIT] if end == "commit" else [ROLLBACK]
    async with talking(BEGIN, (COMMAND, held), behind, deleted) as (conn, _):
        transaction = conn.transaction()
        await transaction.start()
        other = asyncio.ensure_future(conn.execute(DELETE))  # has acquired the session when the block ends
        await held.reached.wait()
        ending = {
            "block": lambda: transaction.__aexit__(None, None, None),
            "commit": transaction.commit,
            "rollback": transaction.rollback,
        }[end]
        task = asyncio.ensure_future(ending())
        await asyncio.sleep(0)
        await cancelled(task)
        held.release()
        await other
        if end == "commit":  # by hand it may be tried again
            await transaction.commit()
        await conn.execute(DELETE)
        assert not conn.is_in_transaction()


async def test_a_commit_that_takes_too_long_is_not_waited_for_and_says_that_its_outcome_is_unknown() -> None:
    held = Delayed(done() + EOT)
    async with talking(BEGIN, deleted, ("Commit", held), command_timeout=60.0, cancel_timeout=0.05) as (
        conn,
        _,
    ):
        with pytest.raises(QueryTimeout) as caught:
            await time_out_at(held, conn, in_transaction(conn))
        assert caught.value.__notes__ == ["the COMMIT was in flight; whether it took effect is unknown"]


async def test_a_begin_that_takes_too_long_is_rolled_back_when_it_comes() -> None:
    held = Delayed(done() + EOT)
    async with talking(("Begin", held), ROLLBACK, command_timeout=60.0) as (conn, _):
        with pytest.raises(QueryTimeout):
            await time_out_at(held, conn, in_transaction(conn))
        held.release()
        await at_rest(conn._session)
        assert not conn.is_in_transaction()


async def test_a_commit_without_autocommit_that_is_cancelled_is_done_all_the_same() -> None:
    held = Delayed(done() + EOT)
    async with talking(BEGIN, deleted, ("Commit", held), BEGIN, deleted, COMMIT, autocommit=False) as (
        conn,
        _,
    ):
        await conn.execute(DELETE)
        await cancel_at(held, conn.commit())
        held.release()
        await conn.execute(DELETE)
        await conn.commit()


async def test_a_rollback_without_autocommit_that_is_cancelled_in_the_queue_happens() -> None:
    held = Delayed(executed(9, StatementType.DELETE, 1))
    async with talking(BEGIN, (COMMAND, held), ROLLBACK, autocommit=False) as (conn, _):
        other = asyncio.ensure_future(conn.execute(DELETE))
        await held.reached.wait()
        task = asyncio.ensure_future(conn.rollback())
        await asyncio.sleep(0)
        await cancelled(task)
        held.release()
        await other
        await at_rest(conn._session)
        assert not conn.is_in_transaction()


async def test_a_begin_cancelled_without_autocommit_is_rolled_back() -> None:
    held = Delayed(done() + EOT)
    async with talking(("Begin", held), ROLLBACK, BEGIN, deleted, COMMIT, autocommit=False) as (conn, _):
        await cancel_at(held, conn.execute(DELETE))
        held.release()
        await conn.execute(DELETE)
        await conn.commit()


# -- the embedded server -----------------------------------------------------------------------------------------------


async def two_rows(conn: aioifx.Connection) -> None:
    async with conn.transaction(isolation="repeatable_read", lock_wait=1):
        await conn.execute("insert into t values (1)")
        async with conn.transaction(lock_wait=2):
            await conn.execute("insert into t values (?)", 2)


@pytest.mark.parametrize("manner", Manner)
@pytest.mark.parametrize("log_mode", ["logged", "ansi"])
async def test_a_cancellation_at_every_suspension_leaves_all_or_nothing_and_a_usable_connection(
    log_mode: str, manner: Manner
) -> None:
    async with (
        aioifx.server.running(log_mode=log_mode) as dsn,
        aioifx.connect(dsn) as conn,
        aioifx.connect(dsn, lock_wait=20) as witness,  # the COMMIT after a query is not awaited
    ):
        await conn.execute("create table t (a int)")
        point, reached = 0, True
        while reached:
            point += 1
            injection = Injection(manner, point)
            with contextlib.suppress(asyncio.CancelledError, TimeoutError):
                await injection.into(two_rows(conn))
            task = asyncio.current_task()
            while task is not None and task.cancelling():
                task.uncancel()
            assert await conn.fetchval("select count(*) from t") in (0, 2)
            assert not conn.is_in_transaction()
            await witness.execute("delete from t where 1 = 1")  # no session holds a lock
            reached = injection.reached
        assert point > 8


async def test_a_server_without_savepoints_has_no_blocks_in_blocks() -> None:
    async with (
        aioifx.server.running(seed="create table t (a int)", quirks=["no-bit-56"]) as dsn,
        aioifx.connect(dsn) as conn,
    ):
        async with conn.transaction():
            await conn.execute("insert into t values (1)")
            with pytest.raises(NotSupportedError, match="the server has no savepoints"):
                async with conn.transaction():
                    raise AssertionError
            assert conn.is_in_transaction()
            await conn.execute("insert into t values (2)")
        assert await conn.fetchval("select count(*) from t") == 2


@pytest.mark.parametrize("log_mode", ["logged", "ansi"])
async def test_blocks_in_blocks_on_the_embedded_server(log_mode: str) -> None:
    async with aioifx.server.running(log_mode=log_mode) as dsn, aioifx.connect(dsn) as conn:
        await conn.execute("create table t (a int primary key)")
        async with conn.transaction(isolation="repeatable_read"):
            await conn.execute("insert into t values (1)")
            with pytest.raises(UniqueViolation):
                async with conn.transaction():
                    await conn.execute("insert into t values (2)")
                    await conn.execute("insert into t values (1)")
            async with conn.transaction():
                await conn.execute("insert into t values (3)")
        assert [row[0] for row in await conn.fetch("select a from t order by a")] == [1, 3]
        with pytest.raises(ZeroDivisionError):
            async with conn.transaction():
                async with conn.transaction():
                    await conn.execute("insert into t values (4)")
                raise ZeroDivisionError
        assert await conn.fetchval("select count(*) from t") == 2


async def test_an_unlogged_database_refuses_them_with_one_error_on_the_embedded_server() -> None:
    async with aioifx.server.running(log_mode="unlogged") as dsn, aioifx.connect(dsn) as conn:
        each: tuple[dict[str, Any], ...] = ({}, {"isolation": "dirty_read"}, {"read_only": True})
        for options in each:
            with pytest.raises(NotSupportedError, match="not logged") as caught:
                await conn.transaction(**options).start()
            assert caught.value.sqlcode == -256


async def test_a_read_only_transaction_on_the_embedded_server() -> None:
    async with aioifx.server.running() as dsn, aioifx.connect(dsn) as conn:
        await conn.execute("create table t (a int)")
        async with conn.transaction(read_only=True):
            assert await conn.fetchval("select count(*) from t") == 0
            with pytest.raises(ProgrammingError) as caught:
                await conn.execute("insert into t values (1)")
            assert caught.value.sqlcode == -878
        await conn.execute("insert into t values (1)")


@pytest.mark.parametrize("log_mode", ["logged", "ansi"])
async def test_autocommit_off_on_the_embedded_server(log_mode: str) -> None:
    async with aioifx.server.running(log_mode=log_mode) as dsn, aioifx.connect(dsn) as first:
        await first.execute("create table t (a int)")
        async with aioifx.connect(dsn, autocommit=False) as conn:
            await conn.execute("insert into t values (1)")
            await conn.executemany("insert into t values (?)", [(2,), (3,)])
            await conn.rollback()
            assert await conn.fetchval("select count(*) from t") == 0
            await conn.execute("insert into t values (?)", 4)
            await conn.commit()
            await conn.execute("insert into t values (5)")
            assert conn.is_in_transaction()
        assert [row[0] for row in await first.fetch("select a from t")] == [4]


async def test_a_lock_is_waited_for_as_long_as_the_block_says_on_the_embedded_server() -> None:
    async with (
        aioifx.server.running() as dsn,
        aioifx.connect(dsn) as holder,
        aioifx.connect(dsn, lock_wait=-1) as conn,
    ):
        await holder.execute("create table t (a int)")
        await holder.execute("insert into t values (1)")
        held = holder.transaction()
        await held.start()
        await holder.execute("update t set a = 2")
        with pytest.raises(RowLocked) as caught:
            async with conn.transaction(lock_wait=0):
                await conn.execute("update t set a = 3")
        assert caught.value.retryable
        waiting = asyncio.ensure_future(
            conn.execute("update t set a = 4")
        )  # for ever, as the connection's option says
        await asyncio.sleep(0)
        await held.commit()
        await waiting
        assert await holder.fetchval("select a from t") == 4


async def test_a_transaction_that_two_tasks_end_is_ended_once() -> None:
    held = Delayed(done() + EOT)
    async with talking(BEGIN, ("Rollback", held)) as (conn, _):
        transaction = conn.transaction()
        await transaction.start()
        first, second = (asyncio.ensure_future(transaction.rollback()) for _ in range(2))
        await held.reached.wait()
        held.release()
        await first
        with pytest.raises(InterfaceError, match="the transaction is rolled back"):
            await second
        assert not conn.is_in_transaction()


def test_a_block_that_has_ended_is_never_open_again() -> None:
    assert set(NEXT) == set(BlockState)
    for ended in set(BlockState) - {BlockState.NEW, BlockState.OPEN}:
        reachable, left = set[BlockState](), [ended]
        while left:
            following = NEXT[left.pop()] - reachable
            reachable |= following
            left += following
        assert not reachable & {BlockState.NEW, BlockState.OPEN}
