"""Checks of login, capabilities, interrupts, errors and transactions on the wire. Never: rows of a table."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

from aioifx.client.api.connection import Connection, statements_of
from aioifx.client.config.isolation import MAX_LOCK_WAIT
from aioifx.client.connect import login_messages
from aioifx.client.pool.locks import diagnose_locks
from aioifx.client.session.interrupts import INTERRUPTED, URGENT_BYTE
from aioifx.errors import DatabaseError, QueryCanceled, QueryTimeout
from aioifx.verify.check import ONE_ROW, Check
from aioifx.verify.lab import CannotTry, Lab, Refuted, describe_error
from aioifx.verify.raw_requests import exchange_all, prepared
from aioifx.wire import requests, session_requests
from aioifx.wire.completion import TransactionState
from aioifx.wire.opcodes import StatementType
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply

_SLOW_ROWS: Final = 600
_SLOW: Final = "SELECT COUNT(*) FROM vfy_slow x, vfy_slow y, vfy_slow z WHERE x.a + y.a + z.a < 0"
"""It takes seconds, and ends by itself if it cannot be interrupted."""
_SLOW_BODY: Final = "DEFINE i, n INT; LET n = 0; FOR i = 1 TO 20000000 LET n = n + 1; END FOR; RETURN n;"
_MOST_SECONDS: Final = 300
"""From the creation of a lock to a query that shows it, with slow servers and clocks."""
_BEFORE_INTERRUPT: Final = 0.5
_NEEDED: Final = ("type_names", "describe_input", "bigint", "savepoints", "long_text")
_RAISED: Final = (-746, 100, -368, -937, -201)
_OTHER_VARIABLES: Final = {
    "LKNOTIFY": "yes",
    "LOCKDOWN": "no",
    "SINGLELEVEL": "no",
    "SKALL": "0",
    "SKSHOW": "0",
    "SKINHIBIT": "0",
}


async def _is_in_step(conn: Connection[Any]) -> None:
    """Raise `Refuted` unless the next query has the right row."""
    found = await conn.fetchval(f"SELECT 7 {ONE_ROW}")
    if found != 7:
        raise Refuted(f"the next query returned {found!r}")


# -- login ------------------------------------------------------------------------------------------------------------


async def _capability_bits(lab: Lab) -> None:
    capabilities = statements_of(lab.conn).session.conversation.capabilities
    missing = [name for name in _NEEDED if not getattr(capabilities, name)]
    if missing:
        raise Refuted(f"the server lacks {', '.join(missing)}")


async def _same_login_messages(lab: Lab) -> None:
    async with lab.another():
        pass
    async with lab.another():
        before = login_messages.known_replies()
        async with lab.another():
            pass
        if login_messages.known_replies() != before:
            raise Refuted("two logins of one kind had different replies")


async def _ping_is_answered(lab: Lab) -> None:
    await lab.conn.ping()
    await _is_in_step(lab.conn)


async def _locale_from_sysmaster(lab: Lab) -> None:
    async with lab.another(locale="auto", db_locale=None, client_locale=None) as conn:
        await _is_in_step(conn)
        found = await conn.fetchval(f"SELECT 'A\u00e9' || 'z' {ONE_ROW}")
    if found != "A\u00e9z":
        raise Refuted(f"a text came back as {found!a}")


async def _other_variables(lab: Lab) -> None:
    async with lab.another(environment=_OTHER_VARIABLES) as conn:
        await _is_in_step(conn)


async def _longest_lock_wait(lab: Lab) -> None:
    async with lab.another(lock_wait=MAX_LOCK_WAIT) as conn:
        await _is_in_step(conn)


# -- interrupts -------------------------------------------------------------------------------------------------------


async def _interrupt(conn: Connection[Any], call: asyncio.Task[Any]) -> None:
    """Interrupt *call* while it runs; raise `Refuted` unless it ends with -213 in time."""
    done, _ = await asyncio.wait([call], timeout=_BEFORE_INTERRUPT)
    if done:
        call.result()
        raise CannotTry("the statement ended before it could be interrupted")
    conn.cancel()
    started = time.monotonic()
    try:
        await call
    except QueryCanceled as error:
        if error.sqlcode != INTERRUPTED:
            raise Refuted(f"the urgent byte ended the statement with {describe_error(error)}") from error
    except DatabaseError as error:
        seconds = time.monotonic() - started
        raise Refuted(
            f"{seconds:.1f} s after the urgent byte the statement ended with {describe_error(error)}"
        ) from error
    else:
        raise Refuted("the urgent byte did not end the statement")
    await _is_in_step(conn)


async def _run_slowly(lab: Lab, conn: Connection[Any]) -> asyncio.Task[Any]:
    await lab.prepare("CREATE TEMP TABLE vfy_slow (a INT)", conn=conn)
    await conn.executemany(lab.named("INSERT INTO vfy_slow VALUES (?)"), [(n,) for n in range(_SLOW_ROWS)])
    return asyncio.ensure_future(conn.fetchval(lab.named(_SLOW), timeout=30))


async def _urgent_byte(lab: Lab) -> None:
    async with lab.another(cancel_timeout=3) as conn:
        await _interrupt(conn, await _run_slowly(lab, conn))


async def _urgent_byte_keeps_transaction(lab: Lab) -> None:
    lab.require_database(logged=True)
    async with lab.another(cancel_timeout=3) as conn, conn.transaction():
        await lab.prepare("CREATE TEMP TABLE vfy_kept (a INT)", "INSERT INTO vfy_kept VALUES (1)", conn=conn)
        await _interrupt(conn, await _run_slowly(lab, conn))
        if await conn.fetchval(lab.named("SELECT COUNT(*) FROM vfy_kept")) != 1:
            raise Refuted("the interrupt undid an earlier statement of the transaction")


async def _interrupts_count_once(lab: Lab) -> None:
    async with lab.another(cancel_timeout=3) as conn:
        channel = statements_of(conn).session.channel
        if not (channel.send_urgent(URGENT_BYTE) and channel.send_urgent(URGENT_BYTE)):
            raise CannotTry("this platform sends no urgent data")
        try:
            await _is_in_step(conn)
        except QueryCanceled:
            pass
        for _ in range(3):
            try:
                await _is_in_step(conn)
            except QueryCanceled as error:
                raise Refuted("two urgent bytes interrupted two statements") from error


async def _interrupted_call(lab: Lab) -> None:
    await lab.prepare(f"CREATE FUNCTION vfy_slow() RETURNING INT; {_SLOW_BODY} END FUNCTION")
    await lab.prepare("CREATE FUNCTION vfy_quick() RETURNING INT; RETURN 1; END FUNCTION")
    session = statements_of(lab.conn).session

    async def call(name: str) -> object:
        async with session.turn(30):
            signature = lab.named(f"function {name}()").encode("ascii")
            return await session.fast_path.call(signature, convert=tuple)

    try:
        await call("vfy_quick")
    except DatabaseError as error:
        if error.sqlcode != -674:
            raise
        raise CannotTry("the fast path does not call routines in SPL") from error
    await _interrupt(lab.conn, asyncio.ensure_future(call("vfy_slow")))


# -- errors -----------------------------------------------------------------------------------------------------------


async def _error_layouts(lab: Lab) -> None:
    for code in _RAISED:
        name = f"vfy_raise_{abs(code)}"
        await lab.prepare(f"CREATE PROCEDURE {name}() RAISE EXCEPTION {code}, 0, 'vfy'; END PROCEDURE")
        try:
            await lab.run(f"EXECUTE PROCEDURE {name}()")
        except QueryTimeout as error:
            raise Refuted(f"the reply with SQLCODE {code} is shorter than assumed") from error
        except DatabaseError as error:
            if not error.connection_usable:
                raise Refuted(
                    f"the reply with SQLCODE {code} could not be read: {describe_error(error)}"
                ) from error
        await _is_in_step(lab.conn)


# -- transactions -----------------------------------------------------------------------------------------------------


async def _transaction_levels(lab: Lab) -> None:
    lab.require_database(ansi=False, logged=True)
    begin, rollback = Outbox(), Outbox()
    session_requests.put_begin(begin)
    session_requests.put_rollback(rollback)
    states = [_state_of(reply) for reply in await exchange_all(lab.conn, [begin, rollback])]
    begun, ended = states
    if not (begun.previous == 0 < begun.level) or not (ended.level == 0 < ended.previous):
        raise Refuted(f"SQ_XACTSTAT of BEGIN and ROLLBACK: {tuple(begun)} and {tuple(ended)}")


def _state_of(reply: Reply) -> TransactionState:
    if reply.error is not None:
        raise CannotTry(f"BEGIN WORK or ROLLBACK WORK failed with SQLCODE {reply.error.sqlcode}")
    if reply.transaction is None:
        raise Refuted("BEGIN WORK or ROLLBACK WORK was answered without SQ_XACTSTAT")
    return reply.transaction


async def _ansi_commit(lab: Lab) -> None:
    lab.require_database(ansi=True)
    async with lab.another() as conn:
        await conn.execute(lab.named("CREATE TEMP TABLE vfy_ansi (a INT)"))
        insert, rollback = Outbox(), Outbox()
        sql = lab.named("INSERT INTO vfy_ansi VALUES (1)").encode("ascii")
        requests.put_command(insert, statements_of(conn).session.conversation.capabilities, sql)
        session_requests.put_rollback(rollback)
        await exchange_all(conn, [insert, rollback])
        if await conn.fetchval(lab.named("SELECT COUNT(*) FROM vfy_ansi")):
            raise Refuted("an INSERT took effect without a COMMIT")


async def _constraints_outside(lab: Lab) -> None:
    lab.require_database(logged=True, ansi=False)
    async with lab.another() as conn:
        try:
            await conn.execute("SET CONSTRAINTS ALL DEFERRED")
        except DatabaseError as error:
            if error.sqlcode != -255:
                raise Refuted(f"expected SQLCODE -255, got {describe_error(error)}") from error
        else:
            raise Refuted("SET CONSTRAINTS is accepted outside a transaction")


async def _lock_holder(lab: Lab) -> None:
    lab.require_database(logged=True)
    await lab.prepare("CREATE TABLE vfy_locked (a INT)")
    table = lab.named("vfy_locked")
    async with lab.another(application_name="aioifx-verify", lock_wait=None) as holder, holder.transaction():
        await holder.execute(f"INSERT INTO {table} VALUES (1)")
        failed = DatabaseError("", sqlcode=-244, isamcode=-107, sql=f"SELECT a FROM {table}")
        found = await diagnose_locks(lab.conn, failed)
        if found.failure:
            raise CannotTry("sysmaster could not be queried")
        session_id = await holder.session_id()
    locks = [lock for lock in found.locks if lock.table == table and lock.holder.session_id == session_id]
    if not locks:
        raise Refuted("sysmaster does not show who holds a lock")
    if "aioifx-verify" not in locks[0].holder.program:
        raise Refuted("syssessions does not show the option application_name")
    if any(lock.age is None or not 0 <= lock.age < _MOST_SECONDS for lock in locks):
        raise Refuted(f"the ages of new locks are {[lock.age for lock in locks]} s")


async def _statement_types(lab: Lab) -> None:
    for sql, kind in (
        ("CREATE ROW TYPE vfy_row (a INT)", StatementType.CREATE_ROW_TYPE),
        ("CREATE DISTINCT TYPE vfy_own AS INT", StatementType.CREATE_DISTINCT_TYPE),
    ):
        async with prepared(lab.conn, lab.named(sql)) as statement:
            found = statement.kind
        if found != kind:
            raise Refuted(f"{sql}: the statement type is {found}, expected {int(kind)}")


SESSIONS: Final[tuple[Check, ...]] = (
    Check(
        "capability-bits",
        "Servers have the capability bits 2, 34, 54, 56 and 62.",
        ("wire/capabilities.py",),
        _capability_bits,
    ),
    Check(
        "same-login-replies",
        "A server answers all logins of one kind with the same bytes.",
        ("client/connect/login_messages.py",),
        _same_login_messages,
    ),
    Check(
        "ping-is-answered",
        "SQ_VERSION is answered by one group.",
        ("client/session/conversation.py: Conversation.ping",),
        _ping_is_answered,
    ),
    Check(
        "locale-from-sysmaster",
        "Without DB_LOCALE a client can open sysmaster, and read a database's locale there.",
        ("client/connect/locales.py: query_sysmaster",),
        _locale_from_sysmaster,
    ),
    Check(
        "variables-of-other-clients",
        "Servers accept LKNOTIFY and other variables at the end of the login's list.",
        ("client/config/environment.py: _LOGIN_ORDER",),
        _other_variables,
    ),
    Check(
        "longest-lock-wait",
        "A lock wait of 32767 seconds is accepted.",
        ("client/config/isolation.py: MAX_LOCK_WAIT",),
        _longest_lock_wait,
    ),
    Check(
        "urgent-byte-interrupts",
        "The urgent byte ends a running query with -213 within seconds.",
        ("client/session/interrupts.py: Interrupter.interrupt_abandoned",),
        _urgent_byte,
        in_transaction=False,
    ),
    Check(
        "interrupt-keeps-transaction",
        "An interrupt leaves the transaction open, with its earlier changes.",
        ("client/session/interrupts.py: Interrupter.interrupt_abandoned",),
        _urgent_byte_keeps_transaction,
        in_transaction=False,
    ),
    Check(
        "interrupts-count-once",
        "Two urgent bytes that arrive before a statement interrupt one statement at most.",
        (
            "server/sqlite/interrupts.py",
            "docs/explanation/cancellation.md: Evidence",
        ),
        _interrupts_count_once,
        in_transaction=False,
    ),
    Check(
        "call-is-interrupted",
        "A call through the fast path is interrupted as EXECUTE PROCEDURE is.",
        ("client/session/fast_path.py: FastPath.call",),
        _interrupted_call,
    ),
    Check(
        "error-layouts",
        "SQ_ERR has the assumed layout for -937, -368, 100 and other codes.",
        ("wire/completion.py: read_error",),
        _error_layouts,
    ),
    Check(
        "transaction-levels",
        "SQ_XACTSTAT has level 0 outside a transaction, and a higher one inside.",
        (
            "client/session/transactions.py: Transactions.on_error",
            "server/protocol/context.py: SessionContext._write_event",
        ),
        _transaction_levels,
        in_transaction=False,
    ),
    Check(
        "ansi-needs-commit",
        "In an ANSI database a statement without rows takes effect only with a COMMIT.",
        ("client/session/transactions.py: Transactions.commit_implicit",),
        _ansi_commit,
        in_transaction=False,
    ),
    Check(
        "constraints-outside",
        "SET CONSTRAINTS ALL DEFERRED outside a transaction is -255.",
        ("server/engine/control_statements.py: _set_constraints",),
        _constraints_outside,
        in_transaction=False,
    ),
    Check(
        "lock-holder",
        "sysmaster shows who holds a lock, by the option application_name, and since when.",
        (
            "client/connect/locks.py",
            "client/connect/locks.py: LockSession.program",
            "client/connect/locks.py: _connect",
        ),
        _lock_holder,
        in_transaction=False,
    ),
    Check(
        "statement-types",
        "CREATE ROW TYPE and CREATE DISTINCT TYPE are statement types 94 and 95.",
        ("wire/opcodes.py: StatementType",),
        _statement_types,
    ),
)
