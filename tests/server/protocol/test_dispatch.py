from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from aioifx.server.engine.engine import Engine
from aioifx.server.protocol.context import SessionContext
from aioifx.wire import requests, session_requests
from aioifx.wire.requests import Request
from tests.server.talking import ServerCore, Talk, bound, commanded, error_of, prepared


def test_several_executions_in_one_group_are_answered_each(item: Talk) -> None:
    statement_id = item.prepare("INSERT INTO item VALUES (0, ?)")
    executions: list[Request] = []
    for name in ("a", "b", "c"):
        executions += [bound(name), requests.Execute()]
    reply = item.say(requests.Id(statement_id), *executions)
    assert [done.serial for done in reply.dones] == [6, 7, 8]


def test_the_first_error_ends_the_answer_and_drops_the_rest(item: Talk) -> None:
    statement_id = item.prepare("INSERT INTO item VALUES (?, 'x')")
    executions: list[Request] = []
    for number in (10, 1, 11):
        executions += [bound(number), requests.Execute()]
    reply = item.say(requests.Id(statement_id), *executions)
    assert [done.rows for done in reply.dones] == [1]
    assert error_of(reply) == (-268, -100, "anna.pk_item")
    assert item.select("SELECT id FROM item WHERE id >= 10") == [(10,)]


def test_pipelined_groups_are_answered_in_order_whatever_fails(item: Talk) -> None:
    statement_id = item.prepare("INSERT INTO item VALUES (?, 'x')")
    groups: list[list[Request]] = [
        [requests.Id(statement_id), bound(n), requests.Execute()] for n in (20, 1, 21)
    ]
    together = item.conversation.answer(groups)
    item.say(*commanded("DELETE FROM item WHERE id >= 20"))
    apart = [item.conversation.answer([group]) for group in groups]
    assert together == b"".join(apart)
    assert [item.hear(answer).error is None for answer in apart] == [True, False, True]


def test_a_defect_is_minus_768_and_the_session_goes_on(
    item: Talk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(context: SessionContext, message: Request) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setitem(_actions(), session_requests.Version, broken)
        assert error_of(item.say(session_requests.Version())) == (-768, 0, "")
    assert "ZeroDivisionError" in caplog.text
    assert item.select("SELECT id FROM item WHERE id = 1") == [(1,)]


def _actions() -> dict[type, Callable[..., Any]]:
    from aioifx.server.protocol import dispatch

    return dispatch.HANDLERS


def test_an_empty_group_is_answered_by_an_empty_one(core: ServerCore) -> None:
    talk = Talk(core.engine(""))
    assert talk.conversation.answer([[]]) == b"\x00\x0c"
    assert talk.conversation.answer([[], []]) == b"\x00\x0c\x00\x0c"


# -- interrupts --------------------------------------------------------------------------------------------------------


@pytest.fixture
def engine(item: Talk) -> Engine:
    return item.conversation._context.engine


def test_an_interrupt_hits_the_first_group_that_runs_a_statement(item: Talk, engine: Engine) -> None:
    statement_id = item.prepare("SELECT id FROM item")
    at = requests.Id(statement_id)
    item.say(at, requests.Open(), at, requests.Fetch(4096))
    engine.interrupt()
    for harmless in (
        [session_requests.Version()],
        [session_requests.Begin()],
        prepared("SELECT id FROM item"),
        [at, requests.Close()],
        [session_requests.Commit()],
        commanded("BEGIN WORK"),
        commanded("ROLLBACK WORK"),
        [at, requests.Release()],
    ):
        assert item.say(*harmless).error is None
    assert error_of(item.command("UPDATE item SET name = 'x'")) == (-213, -157, "")
    assert item.command("UPDATE item SET name = 'y' WHERE id = 1").error is None


@pytest.mark.parametrize("fetch", [requests.Fetch(4096), requests.ScrollFetch(6, 2, 4096)])
def test_an_interrupt_hits_a_fetch_and_leaves_the_cursor(item: Talk, engine: Engine, fetch: Request) -> None:
    at = requests.Id(item.prepare("SELECT id FROM item"))
    opening = [requests.Scroll()] if isinstance(fetch, requests.ScrollFetch) else []
    assert item.say(at, *opening, requests.Open()).error is None
    engine.interrupt()
    assert error_of(item.say(at, fetch)) == (-213, -157, "")
    assert item.say(at, fetch).rows != []


def test_groups_after_an_interrupted_one_run(item: Talk, engine: Engine) -> None:
    groups = [commanded(f"UPDATE item SET name = 'n{number}' WHERE id = {number}") for number in (1, 2, 3)]
    engine.interrupt()
    item.hear(item.conversation.answer(groups[:1]))
    item.conversation.answer(groups[1:])
    assert item.select("SELECT name FROM item WHERE id <= 3") == [("pen",), ("n2",), ("n3",)]


def test_nothing_is_done_for_a_client_that_is_gone(item: Talk, engine: Engine) -> None:
    engine.interrupt(permanent=True)
    assert item.conversation.answer([commanded("DELETE FROM item"), [session_requests.Version()]]) == b""
