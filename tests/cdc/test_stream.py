"""Changes as an iterator: opening, order, errors, cancellation, stalls, closing, observers."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

import aioifx
import aioifx.server
from aioifx import (
    Capture,
    CdcError,
    Changes,
    ConnectionLost,
    InterfaceError,
    Operation,
    Position,
    ProtocolError,
)
from aioifx.client.api.connection import statements_of
from aioifx.codecs.cdc_records import CdcRecord, Failure, encode_record
from aioifx.testing.script import Delayed, listening
from tests.cdc.peer import (
    DSN,
    LAYOUT,
    NOTHING,
    ORDERS,
    CdcPeer,
    begin,
    commit,
    data,
    insert,
    sequence,
)
from tests.injection import Manner, eventually, is_cancelled
from tests.scripted import until
from tests.streams import LOST

ONE: list[CdcRecord] = [begin(10), insert(11, 1), commit(12)]
TWO: list[CdcRecord] = [begin(20), insert(21, 2), insert(22, 3), commit(23)]


@asynccontextmanager
async def capturing(*peers: CdcPeer, source: CdcPeer | None = None, **options: Any) -> AsyncIterator[Changes]:
    async with listening(source or CdcPeer(), *peers) as listener:
        options.setdefault("tables", [ORDERS])
        async with aioifx.changes(DSN, port=listener.port, **options) as changes:
            yield changes


async def keys(changes: Changes, count: int) -> list[list[int]]:
    found = []
    for _ in range(count):
        found.append([change.after["id"] for change in await anext(changes) if change.after is not None])
    return found


async def test_transactions_arrive_in_order() -> None:
    peer = CdcPeer([data(LAYOUT.schema(1)), NOTHING, data(*ONE), data(*TWO[:2]), data(*TWO[2:])])
    async with capturing(peer) as changes:
        assert changes.position is None
        assert await keys(changes, 2) == [[1], [2, 3]]
        assert changes.position == Position(sequence(20), sequence(23), sequence(22))
        assert changes.lag is not None and changes.lag > 1_000_000
    assert peer.has_ended
    assert [call[0] for call in peer.calls] == [
        "opensess", "set_fullrowlogging", "startcapture", "activatesess", "endcapture", "closesess"
    ]  # fmt: skip


@pytest.mark.parametrize("size", [1, 7, 40, 1000])
async def test_records_are_cut_anywhere(size: int) -> None:
    content = b"".join(encode_record(record) for record in (LAYOUT.schema(1), *ONE, *TWO))
    parts = [data(content[at : at + size]) for at in range(0, len(content), size)]
    async with capturing(CdcPeer(parts)) as changes:
        assert await keys(changes, 2) == [[1], [2, 3]]


async def test_a_capture_continues_at_a_position() -> None:
    start = Position(sequence(10), sequence(12), sequence(11))
    peer = CdcPeer([data(*ONE, *TWO)])
    async with capturing(peer, start=start) as changes:
        assert changes.position == start
        assert await keys(changes, 1) == [[2, 3]]


async def test_a_heartbeat_sets_the_lag() -> None:
    async with capturing(CdcPeer([data(*ONE), NOTHING, data(*TWO)])) as changes:
        await anext(changes)
        waiting = asyncio.ensure_future(anext(changes))
        await until(lambda: changes.lag == 0.0 or waiting.done())
        await waiting


async def test_a_cancelled_wait_loses_nothing() -> None:
    late = Delayed(data(*ONE, *TWO))
    peer = CdcPeer([late])
    async with capturing(peer) as changes:
        for _ in range(3):
            waiting = asyncio.ensure_future(anext(changes))
            await late.reached.wait()
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        late.release()
        assert await keys(changes, 2) == [[1], [2, 3]]
    assert len(peer.reads) == 1


def limit_calls(changes: Changes, seconds: float) -> None:
    """A shorter stall_timeout, below the one second that a read may take."""
    assert changes._session is not None
    dispatcher = statements_of(changes._session.conn).session.dispatcher
    dispatcher.command_timeout = dispatcher._timeout = seconds


async def test_no_answer_ends_the_connection() -> None:
    async with capturing(CdcPeer([Delayed(NOTHING)]), cancel_timeout=0.01) as changes:
        limit_calls(changes, 0.01)
        for _ in range(2):
            with pytest.raises(ConnectionLost, match="the capture session did not answer within"):
                await anext(changes)


async def test_waits_that_are_cancelled_do_not_extend_the_limit_of_a_read() -> None:
    late = Delayed(NOTHING)
    async with capturing(CdcPeer([late]), cancel_timeout=0.01) as changes:
        limit_calls(changes, 0.01)
        waiting = asyncio.ensure_future(anext(changes))
        await late.reached.wait()
        waiting.cancel()
        await asyncio.wait([waiting])
        assert changes._reading is not None
        await asyncio.wait([changes._reading])  # ends without a wait for a transaction
        with pytest.raises(ConnectionLost, match="the capture session did not answer within"):
            await anext(changes)


async def test_two_tasks_cannot_iterate_at_once() -> None:
    late = Delayed(data(*ONE, *TWO))
    async with capturing(CdcPeer([late])) as changes:
        waiting = asyncio.ensure_future(keys(changes, 2))
        await late.reached.wait()
        with pytest.raises(InterfaceError, match="expected one task that iterates, got two at once"):
            await anext(changes)
        late.release()
        assert await waiting == [[1], [2, 3]]


async def test_what_precedes_an_unreadable_record_is_delivered() -> None:
    async with capturing(CdcPeer([data(*ONE, b"\0" * 16)])) as changes:
        assert await keys(changes, 1) == [[1]]
        for _ in range(2):
            with pytest.raises(ProtocolError, match="expected scheme 66, got 0"):
                await anext(changes)


async def test_an_incomplete_transaction_is_skipped_on_demand() -> None:
    start = Position(sequence(5), sequence(6), sequence(5))
    records = [insert(11, 1, 9), commit(12, 9), *TWO]
    async with capturing(CdcPeer([data(*records)]), start=start) as changes:
        with pytest.raises(CdcError, match="transaction 9 began before"):
            await anext(changes)
    async with capturing(CdcPeer([data(*records)]), start=start, incomplete="skip") as changes:
        assert await keys(changes, 1) == [[2, 3]]
    async with capturing(CdcPeer([data(*records)]), start=start, incomplete="deliver") as changes:
        assert await keys(changes, 2) == [[1], [2, 3]]


async def test_a_lost_connection_is_an_error_each_time() -> None:
    async with capturing(CdcPeer([data(*ONE), LOST])) as changes:
        assert await keys(changes, 1) == [[1]]
        for _ in range(2):
            with pytest.raises(ConnectionLost):
                await anext(changes)
        assert changes.position is not None


async def test_a_capture_goes_on_over_lost_connections(caplog: pytest.LogCaptureFixture) -> None:
    late: list[CdcRecord] = [begin(8, 9), insert(9, 9, 9)]
    first, second = CdcPeer([NOTHING, LOST]), CdcPeer([data(*late, *ONE), LOST])
    third = CdcPeer([data(*late, *ONE, *TWO), data(commit(30, 9))])
    with caplog.at_level(logging.WARNING, "aioifx.cdc"):
        async with capturing(first, second, third, restart=True) as changes:
            assert await keys(changes, 3) == [[1], [2, 3], [9]]
    starts = [int.from_bytes(peer.calls[3][2].encode("latin-1"), "big") for peer in (first, second, third)]
    assert starts == [sequence(0), sequence(0), sequence(8)]
    assert [message.count("the capture continues at") for message in caplog.messages] == [1, 1]


async def test_a_capture_that_is_lost_again_at_once_is_an_error_until_the_next_request() -> None:
    again, last = CdcPeer([LOST]), CdcPeer([data(*ONE, *TWO)])
    refused = CdcPeer(results={"startcapture": -83708})
    async with capturing(CdcPeer([data(*ONE), LOST]), again, last, restart=True) as changes:
        assert await keys(changes, 1) == [[1]]
        with pytest.raises(ConnectionLost):
            await anext(changes)
        assert changes.position == Position(sequence(10), sequence(12), sequence(11))
        assert await keys(changes, 1) == [[2, 3]]
    async with capturing(CdcPeer([NOTHING, LOST]), refused, restart=True) as changes:
        for _ in range(2):
            with pytest.raises(CdcError):
                await anext(changes)


@pytest.mark.parametrize("is_open_before", [False, True], ids=["waiting", "open"])
async def test_a_capture_is_reopened_though_the_wait_for_it_is_cancelled(is_open_before: bool) -> None:
    class Silent(CdcPeer):
        started = asyncio.Event()

        def _rows(self, sql: str, given: list[str]) -> list[Any]:
            self.started.set()
            return super()._rows(sql, given)

    second, third = Silent([data(*ONE), LOST]), CdcPeer([data(*ONE, *TWO)])
    async with capturing(CdcPeer([NOTHING, LOST]), second, third, restart=True) as changes:
        waiting = asyncio.ensure_future(anext(changes))
        await second.started.wait()
        waiting.cancel()
        await asyncio.wait([waiting])
        if is_open_before:
            await eventually(lambda: changes._reopening is not None and changes._reopening.done())
        assert await keys(changes, 2) == [[1], [2, 3]]


async def test_a_connection_that_brings_no_transaction_is_not_reopened_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("aioifx.cdc.stream._PAUSE", 0.001)
    lost = [CdcPeer([data(*ONE[:2]), LOST]) for _ in range(3)]
    async with capturing(*lost, CdcPeer([data(*ONE)]), restart=True) as changes:
        pauses = []
        activate = changes._activate

        async def noted(start: Position | None) -> None:
            pauses.append(changes._pause)
            await activate(start)

        monkeypatch.setattr(changes, "_activate", noted)
        assert await keys(changes, 1) == [[1]]
    assert pauses == [0.0, 0.001, 0.001]


async def test_closing_ends_an_attempt_to_reopen() -> None:
    class Silent(CdcPeer):
        late = Delayed(NOTHING)

        def own_reply(self, group: list[Any]) -> Any:
            return self.late

    silent = Silent()
    async with capturing(CdcPeer([NOTHING, LOST]), silent, restart=True) as changes:
        waiting = asyncio.ensure_future(anext(changes))
        await silent.late.reached.wait()
        await changes.aclose()
        with pytest.raises(StopAsyncIteration):
            await waiting


@pytest.mark.parametrize(("flags", "calls"), [(1, 0), (0, 1)])
async def test_an_error_record_comes_after_what_was_before_it(flags: int, calls: int) -> None:
    peer = CdcPeer([data(*ONE, Failure(flags, -83713), *TWO)])
    async with capturing(peer) as changes:
        assert await keys(changes, 1) == [[1]]
        with pytest.raises(CdcError, match=r"CDC_E_LSN \(-83713\): .*: not in the logs"):
            await anext(changes)
    assert [call[0] for call in peer.calls].count("endcapture") == calls
    assert peer.calls[-1][0] == "closesess"


async def test_foreign_rows_end_the_capture() -> None:
    foreign = insert(21, 2)._replace(payload=b"\7tabname")
    async with capturing(CdcPeer([data(*ONE, begin(20), foreign, commit(23))])) as changes:
        assert await keys(changes, 1) == [[1]]
        with pytest.raises(ProtocolError, match="is not one of the columns id, name"):
            await anext(changes)


async def test_closing_waits_for_the_read() -> None:
    late = Delayed(NOTHING)
    peer = CdcPeer([late])
    async with capturing(peer) as changes:
        waiting = asyncio.ensure_future(anext(changes))
        await late.reached.wait()
        waiting.cancel()
        await asyncio.wait([waiting])
        closing = asyncio.ensure_future(changes.aclose())
        await asyncio.sleep(0)
        late.release()
        await closing
        with pytest.raises(StopAsyncIteration):
            await anext(changes)
        await changes.aclose()
    assert peer.has_ended


@pytest.mark.parametrize("close_timeout", [10.0, 0.01])
async def test_closing_ends_the_iteration_of_another_task(close_timeout: float) -> None:
    late = Delayed(NOTHING)
    async with capturing(CdcPeer([late]), close_timeout=close_timeout) as changes:

        async def iterate() -> list[Any]:
            return [transaction async for transaction in changes]

        waiting = asyncio.ensure_future(iterate())
        await late.reached.wait()
        closing = asyncio.ensure_future(changes.aclose())
        await asyncio.sleep(0)
        if close_timeout > 1:
            late.release()
        await closing
        assert await waiting == []


async def test_closing_has_a_time_limit(caplog: pytest.LogCaptureFixture) -> None:
    late = Delayed(NOTHING)
    with caplog.at_level(logging.WARNING, "aioifx.cdc"):
        async with capturing(CdcPeer([late]), close_timeout=0.01) as changes:
            waiting = asyncio.ensure_future(anext(changes))
            await late.reached.wait()
            waiting.cancel()
            await asyncio.wait([waiting])
    assert caplog.messages == ["the capture session did not close within 0.01 s"]


async def test_a_close_that_is_cancelled_leaves_nothing() -> None:
    """Neither the temporary file of an open transaction, nor the error of the read that it ends."""
    reported: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    late = Delayed(NOTHING)
    peer = CdcPeer([data(*ONE, begin(20), insert(21, 2)), late])
    async with capturing(peer, max_transaction_changes=0) as changes:
        await keys(changes, 1)
        waiting = asyncio.ensure_future(anext(changes))
        await late.reached.wait()
        waiting.cancel()
        await asyncio.wait([waiting])
        assert changes._assembler is not None and changes._reading is not None
        overflow, reading = changes._assembler._open[7].overflow, changes._reading
        assert await is_cancelled(changes.aclose, Manner.SCOPE, 1)
        assert overflow is not None and overflow._file.closed
        await asyncio.wait([reading])
        del changes, reading
    gc.collect()
    assert not reported


async def test_observers_get_lag_and_position() -> None:
    ended: list[Operation] = []

    class Seen:
        def on_start(self, operation: Operation, /) -> None: ...

        def on_end(self, operation: Operation, /) -> None:
            if operation.name == "changes":
                ended.append(operation)

    async with capturing(CdcPeer([data(*TWO), data(*ONE), LOST]), observer=Seen()) as changes:
        await keys(changes, 2)
        with pytest.raises(ConnectionLost):
            await anext(changes)
        lag = changes.lag
    assert [(operation.rows, operation.position) for operation in ended] == [
        (2, sequence(23)), (1, sequence(12)), (0, None)
    ]  # fmt: skip
    assert ended[1].lag == lag
    assert [type(operation.error) for operation in ended] == [type(None), type(None), ConnectionLost]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tables": []}, "tables: expected a sequence of one or more tables"),
        ({"tables": ORDERS}, "tables: expected a sequence"),
        ({"tables": [ORDERS, Capture("informix.Orders", ["id"])]}, "tables: expected each table once"),
        ({"start": "x"}, "start: expected a Position or None, got str"),
        ({"snapshot": True, "start": Position(1, 2, 2)}, "snapshot: expected False with start, got True"),
        ({"incomplete": "some"}, "incomplete: expected one of error, skip, deliver, got 'some'"),
        ({"timeout": 0}, "timeout: expected"),
        ({"max_records": 257}, "max_records: expected"),
        ({"stall_timeout": 1}, "stall_timeout: expected more than timeout, 1, got 1"),
        ({"cdc_locale": "nonsense"}, "locale"),
        ({"hots": "x"}, "hots: unknown option"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InterfaceError, match=message):
        aioifx.changes(DSN, **{"tables": [ORDERS], **arguments})


async def test_it_is_opened_once_and_before_it_is_iterated() -> None:
    changes = aioifx.changes(DSN, [ORDERS])
    with pytest.raises(InterfaceError, match="expected async with before async for"):
        await anext(changes)
    await changes.aclose()
    with pytest.raises(InterfaceError, match="expected to be opened once"):
        await changes.__aenter__()
    async with capturing(CdcPeer()) as opened:
        with pytest.raises(InterfaceError, match="expected to be opened once"):
            await opened.__aenter__()


async def test_a_failed_start_closes_the_connections() -> None:
    peer, source = CdcPeer(results={"startcapture": -83708}), CdcPeer()
    with pytest.raises(CdcError):
        async with capturing(peer, source=source):
            raise AssertionError
    assert source.has_ended


# -- with the embedded server -----------------------------------------------------------------------------------------

SQL = """
create table t (id integer primary key, name varchar(40), note lvarchar(300), ok boolean, price decimal(10,2),
    at datetime year to fraction(3), big int8, code char(5), ratio float);
"""
ROWS = [
    (1, "a", "note", True, Decimal("1.50"), datetime(2026, 11, 28, 1, 2, 3, 456000), 5, "ab   ", 0.5),
    (2, None, None, None, None, None, None, None, None),
    (3, "", "", False, Decimal("-2.00"), datetime(1, 1, 1), -(2**62), "     ", -0.0),
]
QUIRKS = [
    "cdc-little-endian", "cdc-cut-records", "cdc-several-records", "cdc-held-back", "cdc-long-headers",
    "cdc-nul-after-columns", "cdc-discards", "cdc-interleaved",
]  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize("max_records", [1, 256])
@pytest.mark.parametrize(
    "quirks",
    # Not all at once: each part of a record would be held back for as long as the time limit.
    [[], *([name] for name in QUIRKS), [name for name in QUIRKS if name != "cdc-held-back"]],
    ids=lambda names: "all" if len(names) > 1 else "".join(names),
)
async def test_changes_of_other_servers_are_the_same(quirks: list[str], max_records: int) -> None:
    async with aioifx.server.running(seed=SQL, quirks=quirks, db_locale="en_US.8859-1") as dsn:
        async with (
            aioifx.connect(dsn) as conn,
            aioifx.changes(
                dsn, ["informix.t"], max_records=max_records, max_transaction_changes=2
            ) as changes,
        ):
            async with conn.transaction():
                await conn.executemany(f"insert into t values ({', '.join('?' * 9)})", ROWS)
                with contextlib.suppress(ZeroDivisionError):
                    async with conn.transaction():
                        await conn.execute("delete from t")
                        raise ZeroDivisionError
                await conn.execute("update t set name = 'é' where id = 2")
            await conn.execute("truncate table t")
            assert [(change.kind, change.before, change.after) for change in await anext(changes)] == [
                *(("insert", None, row) for row in ROWS), ("update", ROWS[1], (2, "é", *ROWS[1][2:]))
            ]  # fmt: skip
            assert [change.kind for change in await anext(changes)] == ["truncate"]


@pytest.mark.exhaustive
async def test_foreign_rows_of_a_server_are_an_error() -> None:
    async with aioifx.server.running(seed=SQL, quirks=["cdc-foreign-rows"]) as dsn:
        async with aioifx.connect(dsn) as conn, aioifx.changes(dsn, ["informix.t"]) as changes:
            await conn.execute(f"insert into t values ({', '.join('?' * 9)})", *ROWS[0])
            with pytest.raises((ProtocolError, CdcError)):
                async for _ in changes:
                    pass


@pytest.mark.exhaustive
async def test_a_dead_session_is_an_error() -> None:
    async with aioifx.server.running(seed=SQL, quirks=["cdc-dead-session"]) as dsn:
        async with aioifx.connect(dsn) as conn, aioifx.changes(dsn, ["informix.t"]) as changes:
            await conn.execute(f"insert into t values ({', '.join('?' * 9)})", *ROWS[0])
            with pytest.raises(CdcError):
                async for _ in changes:
                    pass


async def test_an_alter_of_a_captured_table_is_refused() -> None:
    async with aioifx.server.running(seed=SQL) as dsn, aioifx.connect(dsn) as conn:
        async with aioifx.changes(dsn, ["informix.t"], stop_logging=True):
            with pytest.raises(aioifx.DatabaseError) as caught:
                await conn.execute("alter table t add (extra integer)")
            assert caught.value.sqlcode == -19816
        await conn.execute("alter table t add (extra integer)")
