"""The fast path: routines are found once, called in one round trip, and called later without waiting."""

from __future__ import annotations

from functools import partial

import pytest

from aioifx.client.session.fast_path import FastPath, Results, int8, integer, lvarchar, opaque
from aioifx.errors import ProtocolError, UndefinedRoutine
from aioifx.testing.messages import EOT, error
from aioifx.testing.script import Delayed, Exchange, Peer
from aioifx.wire import objects, requests
from aioifx.wire.fields import BindEntry
from aioifx.wire.outbox import Outbox
from tests.scripted import at_rest, cancel_at, talking

DOUBLE = b"function double(integer)"


def found(number: int) -> bytes:
    outbox = Outbox()
    objects.put_routine(outbox, objects.Routine(b"shop", number))
    return outbox.detach() + EOT


def returned(*values: int) -> bytes:
    outbox = Outbox()
    objects.put_returned(outbox, [integer(value) for value in values])
    return outbox.detach() + EOT


FIND: Exchange = ("FindRoutine", found(3))


def values_of(results: Results) -> list[int]:
    return [int.from_bytes(result.data, "big") for result in results]


async def test_a_routine_is_found_once_and_called_in_one_round_trip() -> None:
    call = "CallRoutine Bind(1)"
    async with talking(FIND, (call, returned(14)), (call, returned(16))) as (conn, peer):
        async with conn._session as session:
            assert await session.fast_path.call(DOUBLE, integer(7), convert=values_of) == [14]
            before = session.stats.round_trips
            assert await session.fast_path.call(DOUBLE, integer(8), convert=values_of) == [16]
            assert session.stats.round_trips == before + 1
    assert peer.requests[0] == [objects.FindRoutine(DOUBLE)]
    assert peer.requests[1][0] == objects.CallRoutine(b"shop", 3, 1)


async def test_routines_are_looked_up_again_in_another_database() -> None:
    async with talking(
        FIND,
        ("CallRoutine Bind(0)", returned()),
        ("FindRoutine", found(9)),
        ("CallRoutine Bind(0)", returned()),
    ) as (conn, peer):
        async with conn._session as session:
            await session.fast_path.call(DOUBLE, convert=values_of)
            session.fast_path.forget()
            await session.fast_path.call(DOUBLE, convert=values_of)
    assert peer.requests[-1][0] == objects.CallRoutine(b"shop", 9, 0)


async def test_a_call_that_is_queued_is_sent_when_the_connection_is_free() -> None:
    call = "CallRoutine Bind(1)"
    script: list[Exchange] = [FIND, (call, returned(2)), (call, error(-9810) + EOT), (call, returned(4))]
    async with talking(*script) as (conn, peer):
        async with conn._session as session:
            session.fast_path.call_later(DOUBLE, integer(1))
            assert peer.requests == []
        await at_rest(session)
        assert len(peer.requests) == 2
        session.fast_path.call_later(DOUBLE, integer(1))
        session.fast_path.call_later(DOUBLE, integer(1), still_needed=lambda: False)
        async with session:
            assert await session.fast_path.call(DOUBLE, integer(2), convert=values_of) == [4]


CALL: Exchange = ("CallRoutine Bind(1)", returned(0))


def arguments_of(peer: Peer) -> list[int]:
    """The argument of each call, in order."""
    return [
        int.from_bytes(request.entries[0].data, "big")
        for group in peer.requests
        for request in group
        if isinstance(request, requests.Bind)
    ]


@pytest.mark.parametrize("pipelining", [False, True])
async def test_many_queued_calls_of_a_routine_look_it_up_once(pipelining: bool) -> None:
    async with talking(FIND, CALL, CALL, CALL, CALL, CALL, pipelining=pipelining) as (conn, peer):
        async with conn._session as session:
            for value in range(3):
                session.fast_path.call_later(DOUBLE, integer(value))
        async with session:
            session.fast_path.call_later(DOUBLE, integer(3))
        session.fast_path.call_later(DOUBLE, integer(4))
        await at_rest(session)
        assert arguments_of(peer) == [0, 1, 2, 3, 4]


async def test_a_call_queued_during_the_look_up_waits_for_it() -> None:
    held = Delayed(found(3))
    async with talking(("FindRoutine", held), CALL, CALL) as (conn, peer):
        session = conn._session
        session.fast_path.call_later(DOUBLE, integer(1))
        await held.reached.wait()
        session.fast_path.call_later(DOUBLE, integer(2))
        held.release()
        await at_rest(session)
        assert arguments_of(peer) == [1, 2]


async def test_queued_calls_that_are_needed_no_longer_look_nothing_up() -> None:
    needed = {1: False, 2: False}
    async with talking(FIND, CALL) as (conn, peer):
        for _ in range(2):
            async with conn._session as session:
                for value in needed:
                    is_needed = partial(needed.__getitem__, value)
                    session.fast_path.call_later(DOUBLE, integer(value), still_needed=is_needed)
            await at_rest(session)
            assert len(peer.requests) == 2 * needed[2]
            needed[2] = True
        assert arguments_of(peer) == [2]


async def test_queued_calls_use_what_another_call_has_looked_up() -> None:
    async with talking(FIND, ("CallRoutine Bind(1)", returned(14)), CALL, CALL) as (conn, peer):
        async with conn._session as session:
            session.fast_path.call_later(DOUBLE, integer(1))
            assert await session.fast_path.call(DOUBLE, integer(7), convert=values_of) == [14]
            session.fast_path.call_later(DOUBLE, integer(2))
        await at_rest(session)
        assert arguments_of(peer) == [7, 1, 2]


async def test_queued_calls_of_an_unknown_routine_are_dropped() -> None:
    async with talking(("FindRoutine", error(-674) + EOT), FIND, CALL) as (conn, peer):
        async with conn._session as session:
            for value in range(3):
                session.fast_path.call_later(DOUBLE, integer(value))
        await at_rest(session)
        assert len(peer.requests) == 1
        session.fast_path.call_later(DOUBLE, integer(4))
        await at_rest(session)
        assert arguments_of(peer) == [4]


async def test_results_of_a_cancelled_call_are_given_to_their_callback() -> None:
    held = Delayed(returned(5))
    orphans: list[list[int]] = []
    async with talking(FIND, ("CallRoutine Bind(0)", held)) as (conn, _):
        session = conn._session
        path = session.fast_path

        async def call() -> None:
            async with session:
                await path.call(DOUBLE, convert=values_of, on_orphan=orphans.append)

        await cancel_at(held, call())
        held.release()
        await at_rest(session)
        assert orphans == [[5]]


@pytest.mark.parametrize("answer", [EOT, found(1)])
async def test_a_reply_without_results_ends_the_connection(answer: bytes) -> None:
    async with talking(FIND, ("CallRoutine Bind(0)", answer)) as (conn, _):
        async with conn._session as session:
            with pytest.raises(ProtocolError, match=r"^the server did not answer SQ_EXFPROUTINE$"):
                await session.fast_path.call(DOUBLE, convert=values_of)
        assert not session.is_open


async def test_a_reply_without_a_number_ends_the_connection() -> None:
    async with talking(("FindRoutine", EOT)) as (conn, _):
        async with conn._session as session:
            with pytest.raises(ProtocolError, match=r"^the server did not answer SQ_GETROUTINE$"):
                await session.fast_path.call(DOUBLE, convert=values_of)
        assert not session.is_open


async def test_an_unknown_routine_is_the_servers_error() -> None:
    async with talking(("FindRoutine", error(-674, token="double") + EOT)) as (conn, _):
        async with conn._session as session:
            with pytest.raises(UndefinedRoutine):
                await session.fast_path.call(DOUBLE, convert=values_of)
            assert isinstance(session.fast_path, FastPath)


def test_arguments_have_the_forms_of_jdbc() -> None:
    assert integer(-2) == BindEntry(2, b"", b"", 0, 0x0A00, b"\xff\xff\xff\xfe")
    assert int8(-(1 << 32) - 5) == BindEntry(17, b"", b"", 0, 0x1300, b"\xff\xff\0\0\0\5\0\0\0\1")
    assert lvarchar(b"t.c") == BindEntry(43, b"", b"lvarchar", 0, 0, b"t.c")
    assert opaque(b"blob", b"x") == BindEntry(44, b"", b"blob", 0, 0, b"x")
