from __future__ import annotations

from aioifx.server.engine.session_registry import SessionRegistry


def test_numbers_are_never_given_twice() -> None:
    roster = SessionRegistry()
    first = roster.enter("anna", "desk", 12)
    second = roster.enter("bert")
    roster.leave(first)
    third = roster.enter("carl")
    assert [member.session_id for member in (first, second, third)] == [1, 2, 3]
    assert [member.user for member in roster.members()] == ["bert", "carl"]


def test_leaving_twice_does_no_harm() -> None:
    roster = SessionRegistry()
    member = roster.enter("anna")
    roster.leave(member)
    roster.leave(member)
    assert roster.members() == []
