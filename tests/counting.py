"""Counts of work, which show what grows faster than its input: bytes, comparisons, lines. Never: a clock."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any


def allocated(step: Callable[[bytes], object], parts: Sequence[bytes]) -> int:
    """Bytes that *step* allocates for each part, at its peak, added up: what it copies of the parts before counts."""
    total = 0
    tracemalloc.start()
    try:
        for part in parts:
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            step(part)
            total += tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    return total


class Counted(int):
    """A number that counts how often another one is compared with it."""

    count = 0

    def __le__(self, other: int) -> bool:
        self.count += 1
        return int(self) <= int(other)

    def __gt__(self, other: int) -> bool:
        self.count += 1
        return int(self) > int(other)


def lines_run(work: Callable[[], object]) -> int:
    """Lines of Python that *work* runs, those of generators and comprehensions included."""
    count = 0

    def trace(_: FrameType, event: str, __: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
