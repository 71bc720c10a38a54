from __future__ import annotations

from aioifx.server.engine.session_registry import SessionRegistry


def test_numbers_are_never_given_twice() -> None:
    registry = SessionRegistry()
    first = registry.enter("anna", "desk", 12)
    second = registry.enter("bert")
    registry.leave(first)
    third = registry.enter("carl")
    assert [entry.session_id for entry in (first, second, third)] == [1, 2, 3]
    assert [entry.user for entry in registry.entries()] == ["bert", "carl"]


def test_leaving_twice_does_no_harm() -> None:
    registry = SessionRegistry()
    entry = registry.enter("anna")
    registry.leave(entry)
    registry.leave(entry)
    assert registry.entries() == []
