"""Events as an iterator: their order, timeouts, errors, cancellation, lost connections, closing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any

import pytest

import aioifx
from aioifx import ConnectionLost, Events, InterfaceError, ProtocolError, PushDataError, Watch
from aioifx.testing.script import Delayed, listening
from tests.pushdata.peer import TIMEOUT, PushPeer, data, insert
from tests.scripted import until
from tests.streams import LOST

BIG = Watch("stores:informix.orders", "select * from orders where qty > 10", label="big")
ALL = Watch("stores:informix.items", "select * from items")
DSN = "informix://anna:secret@127.0.0.1/stores?server=ol_script&db_locale=en_US.utf8"
SESSION = 'pushdata register {timeout:"5", max_pending_ops:"0", maxrecs:"1"}'


@asynccontextmanager
async def pushed(*peers: PushPeer, **options: Any) -> AsyncIterator[Events]:
    async with listening(*peers) as listener:
        options.setdefault("watches", () if "session_id" in options else [BIG])
        events = aioifx.events(DSN, port=listener.port, **options)
        try:
            yield events
        finally:
            await events.aclose()


async def numbers(events: Events, count: int) -> list[int]:
    return [(await anext(events))["rowdata"]["id"] for _ in range(count)]


async def test_events_arrive_in_order_without_timeouts() -> None:
    peer = PushPeer(
        [
            data(insert(1)),
            data(TIMEOUT),
            data(insert(2), insert(3)),
            data("{ifx_isTimeout:”true”}", insert(4)),
        ]
    )
    async with pushed(peer, watches=[BIG, ALL]) as events:
        assert await numbers(events, 4) == [1, 2, 3, 4]
        assert (events.session_id, events.skipped) == (None, 0)
    assert peer.tasks == [
        "set lock mode to wait 30",
        "pushdata open",
        SESSION,
        'pushdata register {table:"orders", owner:"informix", database:"stores", '
        'query:"select * from orders where qty > 10", label:"big"}',
        'pushdata register {table:"items", owner:"informix", database:"stores", query:"select * from items"}',
    ]
    assert peer.reads == [(12, 256_000)] * 4
    assert peer.has_ended


async def test_a_block_opens_the_session_and_closes_it() -> None:
    peer = PushPeer([data(insert(1))])
    async with listening(peer) as listener:
        async with aioifx.events(DSN, [BIG], port=listener.port) as events:
            assert len(peer.tasks) == 4
            assert not peer.reads
            async for event in events:
                assert event["operation"] == "insert"
                break
        with pytest.raises(StopAsyncIteration):
            await anext(events)
    assert peer.has_ended


async def test_options_become_attributes() -> None:
    peer = PushPeer([data('{"rowdata":{"id":0.1}}')])
    options: dict[str, Any] = {
        "timeout": 1,
        "max_records": 9,
        "max_pending": 7,
        "txnid": 78,
        "commit_time": 77,
    }
    async with pushed(peer, **options, buffer_size=5000, parse_float=Decimal, lock_wait=4) as events:
        assert await numbers(events, 1) == [Decimal("0.1")]
    assert peer.tasks[0] == "set lock mode to wait 4"
    assert peer.tasks[2] == (
        'pushdata register {timeout:"1", max_pending_ops:"7", maxrecs:"9", txnid:"78", commit_time:"77"}'
    )
    assert peer.reads == [(12, 5000)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"watches": []}, "^watches: expected a sequence of one or more Watch"),
        ({"watches": BIG}, "^watches: expected a sequence of one or more Watch"),
        ({"watches": ["stores:informix.orders"]}, "^watches: expected a sequence of one or more Watch"),
        ({"watches": iter([BIG])}, "^watches: expected a sequence of one or more Watch"),
        (
            {"watches": [BIG, ALL, BIG], "detach": True},
            "^watches: expected different labels for queries of one",
        ),
        (
            {"watches": [ALL, Watch("STORES:informix.Items", "SELECT id FROM items")], "detach": True},
            "^watches: expected different labels for queries of one table with detach$",
        ),
        ({"watches": [BIG], "session_id": "1"}, "^watches: expected none with session_id"),
        ({"session_id": "1; drop"}, "^session_id: expected digits, got '1; drop'$"),
        ({"watches": [BIG], "timeout": 0}, "^timeout: expected a whole number, at least 1, got 0$"),
        ({"watches": [BIG], "timeout": 0.5}, r"^timeout: expected a whole number, at least 1, got 0\.5$"),
        (
            {"watches": [BIG], "max_records": True},
            "^max_records: expected a whole number, at least 1, got True$",
        ),
        (
            {"watches": [BIG], "buffer_size": 2**31},
            "^buffer_size: expected at most 2147483647, got 2147483648$",
        ),
        ({"watches": [BIG], "txnid": -1}, "^txnid: expected a whole number, at least 0, got -1$"),
        ({"watches": [BIG], "on_skip": "ignore"}, '^on_skip: expected "report" or "raise", got \'ignore\'$'),
        ({"watches": [BIG], "nonsense": 1}, "nonsense"),
    ],
)
def test_wrong_options_are_refused_by_the_call(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InterfaceError, match=message):
        aioifx.events(DSN, **options)


async def test_options_of_other_sessions_do_not_apply() -> None:
    events = aioifx.events(DSN, [BIG], autocommit=False, read_only=True, isolation="repeatable read")
    found = events._options
    assert (found.autocommit, found.read_only, found.isolation, found.database) == (
        True,
        False,
        None,
        "sysadmin",
    )


async def test_an_error_of_the_server_is_raised_and_ends_it() -> None:
    peer = PushPeer([data('{ifx_error:” Smartblob read API buffer size ## is too small"}')])
    async with pushed(peer) as events:
        with pytest.raises(PushDataError, match=r"^Smartblob read API buffer size ## is too small$"):
            await anext(events)
        with pytest.raises(StopAsyncIteration):
            await anext(events)


async def test_events_before_an_error_in_one_reply_are_delivered() -> None:
    async with pushed(PushPeer([data(insert(1), '{"ifx_error":"\\u001b[31mred"}', insert(2))])) as events:
        assert await numbers(events, 1) == [1]
        with pytest.raises(PushDataError, match=r"^\\x1b\[31mred$"):
            await anext(events)


async def test_a_reply_that_is_not_json_ends_it() -> None:
    async with pushed(PushPeer([data("nothing")]), detach=True) as events:
        with pytest.raises(aioifx.ProtocolError):
            await anext(events)
        with pytest.raises(StopAsyncIteration):
            await anext(events)


async def test_discarded_events_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    peer = PushPeer([data(insert(1), "{ifx_warn_total_skipcount:10}", insert(12))])
    with caplog.at_level(logging.WARNING, "aioifx.events"):
        async with pushed(peer) as events:
            assert await numbers(events, 2) == [1, 12]
            assert events.skipped == 10
    assert caplog.messages == ["the server has discarded 10 events, because too many were pending"]


async def test_discarded_events_are_raised_on_request() -> None:
    peer = PushPeer([data('{"ifx_warn_total_skipcount":"10"}', insert(12))])
    async with pushed(peer, on_skip="raise") as events:
        with pytest.raises(PushDataError, match=r"^the server has discarded 10 events"):
            await anext(events)
        assert await numbers(events, 1) == [12]


async def test_a_count_of_discarded_events_that_is_not_a_number_is_an_error() -> None:
    async with pushed(PushPeer([data('{"ifx_warn_total_skipcount":"many"}')])) as events:
        with pytest.raises(ProtocolError, match="ifx_warn_total_skipcount: expected a number, got 'many'"):
            await anext(events)


async def test_a_registration_that_is_refused_closes_the_connection() -> None:
    peer = PushPeer(register="no primary key")
    async with pushed(peer) as events:
        with pytest.raises(PushDataError, match=r"^pushdata register: no primary key$"):
            await anext(events)
        await peer.gone.wait()


async def test_a_detached_session_whose_query_is_refused_is_deleted() -> None:
    peer = PushPeer(register="\x1b[31mno primary key")
    async with pushed(peer, detach=True) as events:
        with pytest.raises(PushDataError, match=r"^pushdata register: \\x1b\[31mno primary key$"):
            await anext(events)
        await peer.gone.wait()
        assert events.session_id is None
    assert peer.tasks[1:] == ["pushdata open", "pushdata setdetach", SESSION, "pushdata delete"]


async def test_a_detached_session_that_cannot_be_deleted_is_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with pushed(PushPeer(register="no", delete="lost"), detach=True) as events:
        with pytest.raises(PushDataError, match=r"^pushdata register: no$"):
            await anext(events)
    (message,) = caplog.messages
    assert message.startswith("the session 245 may have stayed detached at the server: ")


# -- cancellation -----------------------------------------------------------------------------------------------------


async def test_a_cancelled_wait_loses_no_event() -> None:
    late = Delayed(data(insert(1)))
    peer = PushPeer([late, data(insert(2))])
    async with pushed(peer) as events:
        waiting = asyncio.ensure_future(anext(events))
        await late.reached.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        late.release()
        assert await numbers(events, 2) == [1, 2]
    assert len(peer.reads) == 2


async def test_closing_while_it_is_opened_ends_the_opening() -> None:
    peer = PushPeer(register="late")
    async with pushed(peer, detach=True) as events:
        opening = asyncio.ensure_future(events.__aenter__())
        await peer.late.reached.wait()
        await events.aclose()
        peer.late.release()
        with pytest.raises(InterfaceError, match=r"^the events are closed$"):
            await opening
        await peer.gone.wait()
    assert peer.tasks[-1] == "pushdata delete"


async def test_two_tasks_share_the_events() -> None:
    late = Delayed(data(insert(1), insert(2)))
    async with pushed(PushPeer([late])) as events:
        tasks = [asyncio.ensure_future(numbers(events, 1)) for _ in range(2)]
        await late.reached.wait()
        late.release()
        assert sorted(number for (number,) in await asyncio.gather(*tasks)) == [1, 2]


async def test_closing_during_a_read_ends_the_wait() -> None:
    late = Delayed(data(insert(1)))
    peer = PushPeer([late])
    async with pushed(peer) as events:
        waiting = asyncio.ensure_future(anext(events))
        await late.reached.wait()
        await events.aclose()
        with pytest.raises(StopAsyncIteration):
            await waiting
        await peer.gone.wait()
        await events.aclose()


# -- lost connections -------------------------------------------------------------------------------------------------


async def test_a_lost_connection_ends_a_session_that_is_not_detachable() -> None:
    async with pushed(PushPeer([data(insert(1)), LOST])) as events:
        assert await numbers(events, 1) == [1]
        with pytest.raises(ConnectionLost):
            await anext(events)
        with pytest.raises(StopAsyncIteration):
            await anext(events)


async def test_a_detachable_session_is_joined_again(caplog: pytest.LogCaptureFixture) -> None:
    first = PushPeer([data(insert(1)), data(insert(2)), LOST])
    second = PushPeer([data(insert(1)), data(insert(2), insert(3)), LOST])
    third = PushPeer([data(insert(4)), data(insert(4))])
    with caplog.at_level(logging.WARNING, "aioifx.events"):
        async with pushed(first, second, third, detach=True, max_records=2) as events:
            assert await numbers(events, 4) == [1, 2, 3, 4]
            assert events.session_id == "245"
    register = SESSION.replace('"1"', '"2"')
    assert first.tasks[1:4] == ["pushdata open", "pushdata setdetach", register]
    assert second.tasks[1:] == third.tasks[1:] == ['pushdata join {session_id:"245"}', register]
    assert [message.partition("; ")[2] for message in caplog.messages] == [
        "joining the session 245 again"
    ] * 2


async def test_a_session_that_is_joined_again_goes_on_where_it_was() -> None:
    first, second = PushPeer([data(insert(1)), LOST]), PushPeer([data(insert(2))])
    async with pushed(first, second, detach=True, txnid=78, commit_time=77) as events:
        assert await numbers(events, 2) == [1, 2]
    assert first.tasks[3] == SESSION.replace("}", ', txnid:"78", commit_time:"77"}')
    assert second.tasks[1:] == ['pushdata join {session_id:"245"}', SESSION]


async def test_events_of_two_queries_are_not_taken_for_repeated_ones() -> None:
    first = PushPeer([data(insert(1)), LOST])
    second = PushPeer([data(insert(1, rowdata={"id": 1, "qty": 5}), insert(1), insert(2))])
    async with pushed(first, second, session_id="77") as events:
        assert [(await anext(events))["rowdata"] for _ in range(3)] == [
            {"id": 1}, {"id": 1, "qty": 5}, {"id": 2},
        ]  # fmt: skip


async def test_a_session_is_joined_by_its_id_and_stays_when_it_is_closed() -> None:
    peer = PushPeer([data(insert(1))])
    async with pushed(peer, session_id="77") as events:
        assert await numbers(events, 1) == [1]
        assert events.session_id == "77"
    assert peer.tasks[1:] == ['pushdata join {session_id:"77"}', SESSION]


async def test_a_connection_that_is_lost_again_at_once_is_an_error() -> None:
    async with pushed(
        PushPeer([data(insert(1)), LOST]), PushPeer([LOST]), PushPeer([data(insert(2))]), detach=True
    ) as events:
        assert await numbers(events, 1) == [1]
        with pytest.raises(ConnectionLost):
            await anext(events)
        assert await numbers(events, 1) == [2]  # the next request tries again


async def test_a_session_that_the_server_has_forgotten_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aioifx.pushdata.events._PAUSES", (0, 0))
    gone = PushPeer(join="-1")
    async with pushed(PushPeer([data(insert(1)), LOST]), gone, detach=True) as events:
        assert await numbers(events, 1) == [1]
        with pytest.raises(PushDataError, match=r"^pushdata join: -1$"):
            await anext(events)
    assert gone.tasks.count('pushdata join {session_id:"245"}') == 3


async def test_events_without_numbers_are_not_taken_for_repeated_ones() -> None:
    plain = '{"operation":"insert","rowdata":{"id":1}}'
    first = PushPeer([data(plain), data(insert(2)), LOST])
    async with pushed(first, PushPeer([data(plain), data(insert(2), insert(3))]), detach=True) as events:
        assert await numbers(events, 4) == [1, 2, 1, 3]


async def test_events_that_come_twice_on_one_connection_are_delivered_twice() -> None:
    async with pushed(PushPeer([data(insert(1), insert(1))]), detach=True) as events:
        assert await numbers(events, 2) == [1, 1]


async def test_only_so_many_events_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aioifx.pushdata.events._RECENT", 3)
    first = PushPeer([data(*(insert(number) for number in range(9))), LOST])
    async with pushed(first, PushPeer([data(*map(insert, (4, 7, 9)))]), detach=True) as events:
        assert await numbers(events, 9) == [*range(9)]
        assert await numbers(events, 2) == [4, 9]


# -- deleting ---------------------------------------------------------------------------------------------------------


async def test_a_detachable_session_is_deleted() -> None:
    late = Delayed(data(insert(1)))
    peer = PushPeer([late])
    async with pushed(peer, detach=True) as events:
        waiting = asyncio.ensure_future(anext(events))
        await late.reached.wait()
        deleting = asyncio.ensure_future(events.delete())
        late.release()
        await deleting
        await until(waiting.done)
        assert not waiting.cancelled()
        waiting.exception()
    assert peer.tasks[-1] == "pushdata delete"
    assert peer.has_ended


async def test_a_session_is_deleted_after_an_error_has_ended_it() -> None:
    second = PushPeer()
    async with pushed(PushPeer([data('{"ifx_error":"too small"}')]), second, detach=True) as events:
        with pytest.raises(PushDataError, match=r"^too small$"):
            await anext(events)
        await events.delete()
        with pytest.raises(StopAsyncIteration):
            await anext(events)
    assert second.tasks[1:] == ['pushdata join {session_id:"245"}', SESSION, "pushdata delete"]


async def test_only_a_detachable_session_can_be_deleted() -> None:
    async with pushed(PushPeer()) as events:
        with pytest.raises(InterfaceError, match=r"^delete: expected a detachable session"):
            await events.delete()
