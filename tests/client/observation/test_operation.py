from __future__ import annotations

import weakref
from dataclasses import replace
from typing import Any

import pytest

import aioifx
from aioifx import Operation
from aioifx.client.config.options import ConnectOptions
from aioifx.client.observation.operation import Stats, checked_observers
from tests.client.observing import Recorder


def test_an_operation_is_itself_alone_and_shows_no_text() -> None:
    operation = Operation("fetch", "select 'secret' from t", 2)
    assert operation != Operation("fetch", "select 'secret' from t", 2)
    assert len({operation, operation}) == 1
    assert weakref.ref(operation)() is operation
    assert repr(operation) == "<Operation fetch running>"
    operation.duration, operation.error = 0.25, aioifx.QueryTimeout("late")
    assert repr(operation) == "<Operation fetch 0.250000 s, QueryTimeout>"


def test_one_observer_or_several() -> None:
    one, two = Recorder(), Recorder()
    assert checked_observers(None) == ()
    assert checked_observers(one) == (one,)
    assert checked_observers([one, two]) == (one, two)
    assert checked_observers(()) == ()


class OnlyStarts:
    def on_start(self, operation: Operation) -> None: ...


class Waits(OnlyStarts):
    async def on_end(self, operation: Operation) -> None: ...


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (print, "expected an object with on_start and on_end, or a sequence of them, got builtin"),
        ([Recorder(), OnlyStarts()], "expected an object with on_start and on_end, .*, got OnlyStarts"),
        (Waits(), "observer: expected on_end not to be a coroutine function"),
    ],
)
def test_what_is_not_an_observer_is_refused_when_the_options_are_made(wrong: Any, message: str) -> None:
    with pytest.raises(aioifx.InterfaceError, match=message):
        _ = aioifx.connect("informix://app@db/shop?server=s", observer=wrong)
    with pytest.raises(aioifx.InterfaceError, match=message):
        _ = aioifx.create_pool("informix://app@db/shop?server=s", observer=wrong)


def test_a_copy_keeps_the_counts_of_its_moment() -> None:
    stats = Stats(statements=1)
    before = replace(stats)
    stats.statements += 1
    assert (before.round_trips, before.statements, before.rows) == (0, 1, 0)
    assert stats != before


def test_before_a_connection_is_open_the_options_name_the_server() -> None:
    """Those without a host name a server of the sqlhosts file."""
    for host, port in ("db1,db2:1526", 9088), ("", 0):
        options = ConnectOptions(
            host=host, sqlhosts="sqlhosts", server="ol", database="shop", user="app", observer=Recorder()
        )
        observation = options.observation("web")
        assert observation is not None
        operation = observation.start("connect")
        assert (operation.host, operation.port) == (host.partition(",")[0], port)
        assert (operation.server_name, operation.database, operation.user) == ("ol", "shop", "app")
        assert (operation.session_id, operation.pool) == (None, "web")
