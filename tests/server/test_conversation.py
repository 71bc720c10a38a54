from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from aioifx.server.desk import Desk
from aioifx.wire import requests
from aioifx.wire.requests import Request
from tests.server.talking import (
    House,
    Talk,
    bound,
    commanded,
    error_of,
)


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
    def broken(desk: Desk, message: Request) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setitem(_actions(), requests.Version, broken)
        assert error_of(item.say(requests.Version())) == (-768, 0, "")
    assert "ZeroDivisionError" in caplog.text
    assert item.select("SELECT id FROM item WHERE id = 1") == [(1,)]


def _actions() -> dict[type, Callable[..., Any]]:
    from aioifx.server import conversation

    return conversation.ACTS


def test_an_empty_group_is_answered_by_an_empty_one(home: House) -> None:
    talk = Talk(home.engine(""))
    assert talk.conversation.answer([[]]) == b"\x00\x0c"
    assert talk.conversation.answer([[], []]) == b"\x00\x0c\x00\x0c"
