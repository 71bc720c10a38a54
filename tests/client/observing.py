"""An observer in a test: what was started and what has ended; and its clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from aioifx import Operation
from aioifx._speedups import operation, round_trip
from aioifx.client.observation import observation


class Recorder:
    """Keeps every operation; `check` shows that each has ended once."""

    def __init__(self) -> None:
        self.started: list[Operation] = []
        self.ended: list[Operation] = []

    def on_start(self, operation: Operation) -> None:
        assert operation.duration is None
        assert operation.error is None
        self.started.append(operation)

    def on_end(self, operation: Operation) -> None:
        assert operation.duration is not None
        assert operation.duration >= 0
        self.ended.append(operation)

    @property
    def names(self) -> list[str]:
        """Of the operations that have started, in order."""
        return [operation.name for operation in self.started]

    @property
    def last(self) -> Operation:
        """The operation that ended last."""
        return self.ended[-1]

    def check(self) -> None:
        assert sorted(map(id, self.started)) == sorted(map(id, self.ended))

    def clear(self) -> None:
        self.check()
        self.started.clear()
        self.ended.clear()


def replace_clock(monkeypatch: pytest.MonkeyPatch, clock: Callable[[], float]) -> None:
    """Let *clock* tell the times of operations."""
    for module in observation, operation, round_trip:
        monkeypatch.setattr(module, "_now", clock)


def fields(operation: Operation, *names: str) -> dict[str, Any]:
    return {name: getattr(operation, name) for name in names}
