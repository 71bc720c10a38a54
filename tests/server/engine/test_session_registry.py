from __future__ import annotations

from aioifx.server.engine.session_registry import SessionRegistry


def test_numbers_are_never_given_twice() -> None:
    registry = SessionRegistry()
    first = registry.register("anna", "desk", 12)
    second = registry.register("bert")
    registry.unregister(first)
    third = registry.register("carl")
    assert [entry.session_id for entry in (first, second, third)] == [1, 2, 3]
    assert [entry.user for entry in registry.entries()] == ["bert", "carl"]


def test_leaving_twice_does_no_harm() -> None:
    registry = SessionRegistry()
    entry = registry.register("anna")
    registry.unregister(entry)
    registry.unregister(entry)
    assert registry.entries() == []
