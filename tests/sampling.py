"""How much of a test the default suite keeps."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import pytest
from hypothesis import settings

LARGE = 40
"""A family of so many cases is a table of vectors or types, of which the default suite keeps one case of four."""


def not_in_the_sample(cases: Sequence[pytest.Function]) -> list[pytest.Function]:
    """All but a few: these have each value of each parameter at least once, and are always the same."""
    left = sorted(cases, key=lambda case: zlib.crc32(case.name.encode()))
    seen: set[tuple[str, int]] = set()
    for is_kept in (seen.isdisjoint, lambda values: not seen.issuperset(values)):
        for case in left.copy():
            values = {(name, id(value)) for name, value in case.callspec.params.items()}
            if is_kept(values):
                seen.update(values)
                left.remove(case)
    return left


def is_left_out(name: str) -> bool:
    """Whether the default suite leaves out a case with many like it; it keeps one of four, the same ones."""
    return zlib.crc32(name.encode()) % 4 != 0


def examples(count: int) -> settings:
    """As many examples in the exhaustive suite; in the default suite fewer, in the same proportion as elsewhere."""
    return settings(max_examples=max(count * settings().max_examples // 100, 1))
